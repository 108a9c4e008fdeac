"""The one error that a user of the workbench meets: an argument, its value, and the rule it breaks."""

from __future__ import annotations


class InvalidArgument(ValueError):
    """An argument that breaks a rule; its text is one line: `name = value: rule`."""

    def __init__(self, name: str, value: object, rule: str):
        self.name, self.value, self.rule = name, value, rule
        shown = " ".join((value if isinstance(value, str) and value else repr(value)).split())
        shown = shown if len(shown) <= 200 else f"{shown[:197]}..."
        super().__init__(f"{name} = {shown}: {rule}")


class Refused(RuntimeError):
    """Something that the workbench will not do, with the reason and the remedy in one line."""
