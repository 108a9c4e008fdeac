"""Fields of a params dataclass: their ranges, and whether they are static or traced."""

from __future__ import annotations

import dataclasses
import math
import sys
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from .._errors import InvalidArgument

T = TypeVar("T")
_STATIC, _TRACED = "theorysim.static", "theorysim.traced"

#: A field that gives shapes or branches, whatever its type: `Static[float]`. One program is compiled for each value.
Static = Annotated[T, _STATIC]
#: A field that is swept for free, whatever its type: `Traced[int]`.
Traced = Annotated[T, _TRACED]

_RULES = "theorysim.rules"


def field(
    default: Any,
    *,
    low: float | None = None,
    high: float | None = None,
    whole: bool = False,
    choices: tuple[Any, ...] | None = None,
    doc: str = "",
) -> Any:
    """A field of a params dataclass with the range of its values.

    Whether it is static or traced is decided by its annotation: `int`, `bool`, `str`, `tuple` are static, `float` is
    traced; `ts.Static[float]` and `ts.Traced[int]` override.

    **Arguments:** `default`; `low`, `high`: the closed range; `whole`: whole numbers only (a traced dimension);
    `choices`: the only values; `doc`: what it is, in a few words.

    **Returns:** a dataclass field.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Params:
    ...     flip: float = field(0.1, low=0, high=0.5)
    >>> Params().flip
    0.1
    """
    rules = {"low": low, "high": high, "whole": whole, "choices": choices, "doc": doc}
    return dataclasses.field(default=default, metadata={_RULES: rules})


@dataclass(frozen=True)
class Field:
    """What is known of one field: its `kind` is `int`, `float`, `bool`, `str` or `tuple`."""

    name: str
    kind: type
    traced: bool
    default: Any
    low: float | None = None
    high: float | None = None
    whole: bool = False
    choices: tuple[Any, ...] | None = None
    doc: str = ""

    @property
    def rule(self) -> str:
        """The rule for its values, in words."""
        if self.choices:
            return f"must be one of {', '.join(map(str, self.choices))}"
        if self.kind in (int, float):
            noun = "a whole number" if self.kind is int or self.whole else "a number"
            if self.low is not None and self.high is not None:
                return f"must be {noun} in [{self.low:g}, {self.high:g}]"
            ends = ((">=", self.low), ("<=", self.high))
            return " ".join([f"must be a finite {noun[2:]}", *(f"{sign} {end:g}" for sign, end in ends if end is not None)])
        return {bool: "must be true or false", str: "must be text", tuple: "must be a tuple"}[self.kind]

    def check(self, value: Any) -> Any:
        """The value in the field's own type; raises `InvalidArgument` if it breaks the rule."""
        bad = InvalidArgument(self.name, value, self.rule)
        if isinstance(value, np.generic):
            value = value.item()
        if self.kind in (int, float):
            # written so that NaN, infinity and an integer too large for a float are all refused
            if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
                raise bad
            if (self.kind is int or self.whole) and value != math.floor(value):
                raise bad
            if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
                raise bad
            value = self.kind(value)
        elif self.kind is tuple and isinstance(value, list):
            value = tuple(value)
        elif not isinstance(value, self.kind):
            raise bad
        if self.choices and value not in self.choices:
            raise bad
        return value


def fields_of(params: Any) -> dict[str, Field]:
    """The fields of a params dataclass or of an instance of it.

    The reserved field `frame` holds `"reduced"`, `"ambient"` or `"infinite"`; in an ambient frame `dim` gives shapes, so it is
    static.
    """
    if not dataclasses.is_dataclass(params):
        raise InvalidArgument("params", params, "must be a dataclass, or an instance of one")
    kind = params if isinstance(params, type) else type(params)
    hints, known = get_type_hints(kind, include_extras=True), {}
    ambient = getattr(params, "frame", "reduced") == "ambient"
    for item in dataclasses.fields(params):
        hint, mark = hints[item.name], None
        if get_origin(hint) is Annotated:
            hint, *marks = get_args(hint)
            mark = next((m for m in marks if m in (_STATIC, _TRACED)), None)
        hint = get_origin(hint) or hint
        if hint not in (int, float, bool, str, tuple):
            raise InvalidArgument(item.name, hint, "a field is an int, float, bool, str or tuple")
        rules = dict(item.metadata.get(_RULES, {}))
        if item.name == "frame":
            rules["choices"] = ("reduced", "ambient", "infinite")
        traced = mark == _TRACED or (mark is None and hint is float)
        if item.name == "dim" and ambient:
            traced = False
        default = None if item.default is dataclasses.MISSING else item.default
        known[item.name] = Field(item.name, hint, traced, default, **rules)
    return known


def checked(params: Any, changes: dict[str, Any] | None = None) -> Any:
    """An instance of params with these changes, every value checked against its field."""
    changes = changes or {}
    known = fields_of(params)
    for name in changes:
        if name not in known:
            raise InvalidArgument("field", name, f"unknown; the fields are {', '.join(known)}")
    values = {name: changes.get(name, getattr(params, name, item.default)) for name, item in known.items()}
    values = {name: known[name].check(value) for name, value in values.items()}
    return params(**values) if isinstance(params, type) else dataclasses.replace(params, **values)
