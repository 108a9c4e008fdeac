"""Hypothesis strategies for parameters inside, at the edge of and outside a regime."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import InvalidArgument
from .._sweep.params import Field, checked, fields_of
from ..theory import Bound

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

WHERE = ("inside", "edge", "outside")
#: how far a field without a range may go from its base value, as a factor; how near the edge is, in decades
REACH, NEAR = 100.0, 0.05


def box(item: Field, base: float) -> tuple[float, float, bool]:
    """The range in which a field is varied, and whether on a logarithmic scale."""
    if item.low is not None and item.high is not None:
        return float(item.low), float(item.high), False
    low, high = base / REACH, base * REACH
    low = low if item.low is None else max(low, item.low)
    return low, high if item.high is None else min(high, item.high), low > 0


def place(item: Field, base: float, share: float) -> float:
    """The value at a share in [0, 1] of the way through a field's box."""
    low, high, logarithmic = box(item, base)
    value = low * (high / low) ** share if logarithmic else low + (high - low) * share
    if item.whole or item.kind is int:
        return item.check(min(max(round(value), math.ceil(low)), math.floor(high)))
    return item.check(min(max(value, low), high))


def params_in(params: Any, bound: Bound, where: str = "inside", fields: Sequence[str] | None = None) -> SearchStrategy[Any]:
    """Parameters inside a bound's regime, within a few percent of its edge, or outside.

    **Arguments:**

    - `params`: a params dataclass instance, the base point; its other fields stay as they are.
    - `bound`: whose regime it is.
    - `where`: `"inside"`, `"edge"` or `"outside"`.
    - `fields`: which traced fields vary; by default all whose base value is positive. A field with a range varies in it,
      another within a factor 100 of its base value.

    **Returns:** a Hypothesis strategy of params instances.

    **Raises:** `InvalidArgument` for another word, or a field that is not traced.

    >>> import theorysim as ts
    >>> paper = ts.load("benign_relu")
    >>> strategy = params_in(paper.params(dim=1e6, signal=50.0), ts.theory.benign_relu.BENIGN, fields=["dim", "signal"])
    >>> point = strategy.example()  # doctest: +SKIP
    """
    from hypothesis import strategies as st

    if where not in WHERE:
        raise InvalidArgument("where", where, f"must be {', '.join(WHERE)}")
    params, known = checked(params), fields_of(params)
    names = list(fields) if fields is not None else [n for n, f in known.items() if f.traced and getattr(params, n) > 0]
    for name in names:
        if name not in known or not known[name].traced:
            raise InvalidArgument("fields", name, "must be a traced field of the params")

    def at(shares: dict[str, float]) -> Any:
        values = {name: place(known[name], float(getattr(params, name)), share) for name, share in shares.items()}
        return dataclasses.replace(params, **values)

    def depth(point: Any) -> float:
        return float(np.asarray(bound.depth(point)))

    anywhere = st.fixed_dictionaries({name: st.floats(0, 1) for name in names})
    if where == "inside":
        return anywhere.map(at).filter(lambda point: depth(point) >= NEAR)
    if where == "outside":
        return anywhere.map(at).filter(lambda point: depth(point) <= -NEAR)

    def to_edge(pair: tuple[dict[str, float], dict[str, float]]) -> Any:
        """The point where the line from a point inside to one outside leaves the regime, by bisection."""
        inside, outside = pair
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            between = {name: inside[name] + middle * (outside[name] - inside[name]) for name in names}
            low, high = (middle, high) if depth(at(between)) >= 0 else (low, middle)
        return at({name: inside[name] + low * (outside[name] - inside[name]) for name in names})

    return (
        st.tuples(anywhere.filter(lambda s: depth(at(s)) >= 0), anywhere.filter(lambda s: depth(at(s)) < 0))
        .map(to_edge)
        .filter(lambda point: math.isfinite(depth(point)) and abs(depth(point)) <= NEAR)
    )
