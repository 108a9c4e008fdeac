"""Values of a field: as text on the command line, and as a grid."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np

from .._errors import InvalidArgument
from .params import Field

_GRIDS = {"lin": np.linspace, "log": np.geomspace}

#: values of one axis of a grid given as text
MOST_VALUES = 100_000


def parse(item: Field, text: str) -> list[Any]:
    """Read `0.3`, `1,2,5`, `lin:0:8:33` or `log:1e2:1e9:8` as values of a field."""
    head, *rest = text.split(":")
    if head in _GRIDS and item.kind in (int, float):
        return list(_grid(item, text, head, rest))
    return list(grid_values(item, [_scalar(item, part.strip()) for part in text.split(",")]))


def _grid(item: Field, text: str, head: str, rest: list[str]) -> Iterable[Any]:
    form = f"a grid is {head}:FROM:TO:COUNT with a whole COUNT in [1, {MOST_VALUES}]"
    try:
        low, high, count = float(rest[0]), float(rest[1]), float(rest[2])
    except (ValueError, IndexError):
        raise InvalidArgument(item.name, text, form) from None
    if len(rest) != 3 or not 1 <= count <= MOST_VALUES or count != int(count) or not np.isfinite([low, high]).all():
        raise InvalidArgument(item.name, text, form)
    if head == "log" and (low <= 0 or high <= 0):
        raise InvalidArgument(item.name, text, "a log grid needs both ends > 0")
    values = _GRIDS[head](low, high, int(count))
    if item.kind is int or item.whole:
        values = np.unique(np.rint(values))
    return grid_values(item, values)


def _scalar(item: Field, text: str) -> Any:
    if item.kind in (int, float):
        for read in (int, float):
            with suppress(ValueError):
                return read(text)
        raise InvalidArgument(item.name, text, item.rule)
    if item.kind is bool:
        words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        if text.lower() not in words:
            raise InvalidArgument(item.name, text, item.rule)
        return words[text.lower()]
    return text


def grid_values(item: Field, values: Any) -> list[Any]:
    """The values of one axis of a grid, checked, in the order given; each once."""
    try:
        listed = np.atleast_1d(values).tolist() if item.kind is not tuple else list(values)
    except ValueError:  # lists of different lengths
        raise InvalidArgument(item.name, values, item.rule) from None
    if not listed:
        raise InvalidArgument(item.name, listed, "an empty grid: give at least one value")
    if item.whole:  # a log grid of dimensions is rounded, and the rounded values are what is stored
        listed = [round(v) if isinstance(v, float) and np.isfinite(v) and _nearly_whole(v, listed) else v for v in listed]
    checked = [item.check(value) for value in listed]
    if len(set(checked)) < len(checked):
        raise InvalidArgument(item.name, listed, "a grid holds each value once")
    return checked


def _nearly_whole(value: float, listed: list[Any]) -> bool:
    """Rounding noise of geomspace is removed; 2.5 is a mistake, and stays to be refused."""
    return abs(value - round(value)) <= 1e-9 * max(abs(value), 1)
