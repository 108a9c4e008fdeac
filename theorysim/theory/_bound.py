"""A theorem's inequality as an object: two sides, a sense, a regime."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import InvalidArgument

if TYPE_CHECKING:
    import xarray as xr

SENSES = ("<=", ">=", "=")
#: a bound that holds with probability 1 - delta is tested at no less than this delta: fewer seeds could not tell
LEAST_DELTA = 0.1


def fields(data: xr.Dataset) -> SimpleNamespace:
    """The parameters of a Dataset: swept fields as coordinates, the others as numbers.

    **Arguments:** `data`: from a sweep or a store; its attribute `params` holds the base point.

    **Returns:** a namespace with the params' fields as attributes, as formulas take it.

    >>> import xarray as xr
    >>> p = fields(xr.Dataset(coords={"dim": [1.0, 2.0]}, attrs={"params": '{"dim": 1.0, "n": 20}'}))
    >>> p.n, p.dim.values.tolist()
    (20, [1.0, 2.0])
    """
    values = json.loads(data.attrs["params"])
    return SimpleNamespace(**(values | {name: data[name] for name in values if name in data.coords}))


@dataclass(frozen=True)
class Bound:
    r"""A closed inequality (or identity) between what a run shows and a formula.

    $$ \mathrm{left}(\text{data})\ \le\ \mathrm{right}(p;\,C)\qquad p\in\text{regime},\ \text{with probability } 1-\delta. $$

    **Arguments:**

    - `name`: an identifier.
    - `statement`: the inequality, in mathtext.
    - `source`: authors, year, theorem number.
    - `left`: `left(dataset) -> DataArray` with a dimension `seed`: the measured side.
    - `right`: `right(p, **constants) -> number or array`: the formula; `p` has the params' fields as attributes.
    - `sense`: `"<="`, `">="`, or `"="` (to a relative `tolerance`).
    - `regime`: `regime(p) -> dict` of conditions in words and how deep inside each is, in decades (negative: outside).
    - `delta`: 0 for a bound on the mean over seeds, else the theorem holds for each run with probability $1-\delta$.
    - `constants`: the constants that the theorem leaves open: their names, and +1 if a larger one loosens the bound, -1 if a
      smaller one does.
    - `tolerance`: relative, for identities.
    - `resolution`: `resolution(p) -> number`: the least difference that a run can show, such as one test point; an inequality
      is asked to hold up to it, for a right side that falls below it could be neither confirmed nor refuted.

    **Raises:** `InvalidArgument` for a bad name, sense or delta.

    >>> from types import SimpleNamespace
    >>> floor = Bound("floor", "error >= p", "by definition", lambda ds: ds.error, lambda p: p.flip, ">=")
    >>> floor.right(SimpleNamespace(flip=0.1)), floor.depth(SimpleNamespace(flip=0.1))
    (0.1, inf)
    """

    name: str
    statement: str
    source: str
    left: Callable[[xr.Dataset], xr.DataArray]
    right: Callable[..., Any]
    sense: str = "<="
    regime: Callable[[Any], Mapping[str, Any]] | None = None
    delta: float = 0.0
    constants: Mapping[str, int] = field(default_factory=dict)
    tolerance: float = 1e-6
    resolution: Callable[[Any], Any] | None = None

    def __post_init__(self):
        if not self.name.isidentifier():
            raise InvalidArgument("bound", self.name, "its name must be an identifier")
        if self.sense not in SENSES:
            raise InvalidArgument("sense", self.sense, f"must be {', '.join(SENSES)}")
        if not 0 <= self.delta < 1:
            raise InvalidArgument("delta", self.delta, "must be in [0, 1)")

    def conditions(self, p: Any) -> dict[str, Any]:
        """The conditions of the regime at `p`, in decades inside."""
        return dict(self.regime(p)) if self.regime else {}

    def depth(self, p: Any) -> Any:
        """How deep `p` is inside the regime: the least of its conditions, in decades; negative outside."""
        inside: Any = math.inf
        for value in self.conditions(p).values():
            inside = np.minimum(inside, value)
        return inside

    def inside(self, data: xr.Dataset) -> Any:
        """Which cells of a Dataset are inside the regime."""
        return np.asarray(True) if self.regime is None else self.depth(fields(data)) >= 0

    def outside(self, data: xr.Dataset) -> dict[str, float]:
        """Conditions that no cell of a Dataset meets, or that fail in the least bad cell: by how much (negative). Empty if some
        cell is inside."""
        import xarray as xr

        conditions = self.conditions(fields(data))
        if not conditions or bool(np.any(self.inside(data))):
            return {}
        depths = xr.broadcast(*(xr.DataArray(value) for value in conditions.values()))
        flat = np.stack([np.asarray(depth, float).ravel() for depth in depths])
        best = int(np.argmax(flat.min(axis=0)))
        return {words: float(by) for words, by in zip(conditions, flat[:, best], strict=True) if by < 0}

    def log_ratio(self, data: xr.Dataset, **constants: float) -> xr.DataArray:
        """$\\log(\\mathrm{left}/\\mathrm{right})$, signed so that a positive value violates the bound, per seed."""
        left, right = self.left(data), self.right(fields(data), **constants)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(left / right)
        if self.sense == "=":
            return abs(ratio) - math.log1p(self.tolerance)  # pyright: ignore[reportReturnType]
        return ratio if self.sense == "<=" else -ratio

    def slack(self, data: xr.Dataset, **constants: float) -> xr.DataArray:
        """Margins per seed, positive where the bound holds.

        For a bound on means: the distance between the sides. For one in probability: whether it holds, minus the share of runs
        for which it must, $1-\\max(\\delta, 0.1)$.
        """
        left, right = self.left(data), self.right(fields(data), **constants)
        if self.sense == "=":
            distance = self.tolerance * abs(right) - abs(left - right)
        else:
            distance = right - left if self.sense == "<=" else left - right
            distance = distance + (self.resolution(fields(data)) if self.resolution else 0.0)
        distance = distance.transpose(*left.dims, ...)
        return (distance >= 0) * 1.0 - (1 - max(self.delta, LEAST_DELTA)) if self.delta else distance
