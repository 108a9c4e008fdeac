"""Trials over a grid and seeds, for one figure or claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._errors import InvalidArgument

#: where a number may come from
MARKS = ("found", "derived", "assumed")


@dataclass(frozen=True)
class Study:
    """Trials over a grid and seeds.

    **Arguments:**

    - `over`: the swept fields and their values, slowest first. Empty: a single cell.
    - `seeds`: how many seeds, >= 1.
    - `base`: the fields that differ from the defaults of the params.
    - `sources`: for each field, where its numbers come from: a text that begins with `found` (in the paper or its code),
      `derived` or `assumed`.
    - `x64`: whether it needs float64.

    **Raises:** `InvalidArgument` for a source with another mark, or a field both swept and fixed.

    >>> Study(over={"signal": [1.0, 2.0]}, seeds=3, sources={"signal": "assumed"}).seeds
    3
    """

    over: Mapping[str, Any] = field(default_factory=dict)
    seeds: int = 1
    base: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    x64: bool = False

    def __post_init__(self):
        for name, source in self.sources.items():
            if not source.startswith(MARKS):
                raise InvalidArgument(f"source of {name}", source, f"must begin with {', '.join(MARKS)}")
        for name in self.over:
            if name in self.base:
                raise InvalidArgument(name, self.base[name], "is swept in this study, so it has no base value")
