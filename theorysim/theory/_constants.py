"""Constants that a theorem leaves open: fitted on the lower half of a scale, tested on the upper half.

A constant can always be fitted in a bounded box, so the box is never the test: what counts is whether the fitted bound goes on
to hold where it was not fitted, on seeds that it has not seen.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._errors import InvalidArgument
from ._bound import Bound

if TYPE_CHECKING:
    import xarray as xr

#: decades that a ray must span, and the range in which constants are sought
DECADES, LIMITS = 2.0, (1e-9, 1e9)
#: the fitted constant touches the data where it was fitted; it is loosened by this factor before it is tested elsewhere
ROOM = 2.0


class NoConstant(InvalidArgument):
    """No value of the open constant makes the bound hold; `loosest` is the last one tried."""

    def __init__(self, name: str, bound: str, loosest: float):
        super().__init__(name, f"{loosest:g}", f"even this leaves {bound} violated, so no constant is fitted")
        self.loosest = {name: loosest}


class Halves(NamedTuple):
    """Two parts of a Dataset without a cell or a seed in common.

    - `fit`: the lower half of the scale, the first half of the seeds.
    - `test`: the upper half, the other seeds.

    >>> Halves._fields
    ('fit', 'test')
    """

    fit: xr.Dataset
    test: xr.Dataset


def halves(data: xr.Dataset, along: str) -> Halves:
    """Split a Dataset along a scale, in logarithms, and by seeds.

    **Arguments:** `data`: with a dimension `seed`; `along`: a swept field whose positive values span two decades or more.

    **Returns:** `Halves`.

    **Raises:** `InvalidArgument` if the field is not swept, spans less, or there are fewer than 4 seeds.

    >>> import numpy as np, xarray as xr
    >>> ds = xr.Dataset({"x": (("dim", "seed"), np.ones((3, 4)))}, {"dim": [1.0, 10.0, 100.0], "seed": range(4)})
    >>> fit, test = halves(ds, "dim")
    >>> fit.dim.values.tolist(), test.dim.values.tolist(), test.seed.values.tolist()
    ([1.0, 10.0], [100.0], [2, 3])
    """
    if along not in data.dims:
        raise InvalidArgument("along", along, f"must be a swept field: {', '.join(map(str, data.dims))}")
    scale = np.asarray(data[along], float)
    if scale.min() <= 0 or math.log10(scale.max() / scale.min()) < DECADES - 1e-9:
        raise InvalidArgument("along", along, f"must have positive values that span {DECADES:g} decades or more")
    count = data.sizes["seed"]
    if count < 4:
        raise InvalidArgument("seeds", count, "must be at least 4, half to fit the constant and half to test it")
    middle = math.sqrt(scale.min() * scale.max()) * (1 + 1e-9)
    low, high = data.isel({along: scale <= middle}), data.isel({along: scale > middle})
    return Halves(low.isel(seed=slice(0, count // 2)), high.isel(seed=slice(count // 2, None)))


def fit_constant(bound: Bound, data: xr.Dataset) -> dict[str, float]:
    """The tightest constant with which a bound holds, on the mean over seeds, in every cell of a Dataset inside its regime.

    **Arguments:** `bound`: with at most one open constant; `data`: such as the first of `halves`.

    **Returns:** the constant by its name, found by bisection of its logarithm; empty if the bound has none.

    **Raises:** `InvalidArgument` for more than one constant; `NoConstant` if none makes it hold.

    >>> import numpy as np, xarray as xr
    >>> ds = xr.Dataset({"x": (("dim", "seed"), [[2.0], [3.0]])}, {"dim": [1.0, 2.0]}, {"params": '{"dim": 1.0}'})
    >>> linear = Bound("linear", "x <= C d", "example", lambda d: d.x, lambda p, C: C * p.dim, constants={"C": 1})
    >>> round(fit_constant(linear, ds)["C"], 4)
    2.0
    """
    if not bound.constants:
        return {}
    if len(bound.constants) > 1:
        raise InvalidArgument("constants", ", ".join(bound.constants), "one constant at most can be fitted")
    ((name, looser),) = bound.constants.items()
    inside = bound.inside(data)

    def holds(log_value: float) -> bool:
        slack = bound.slack(data, **{name: math.exp(log_value)}).mean("seed")
        return bool((slack.where(inside, 0.0) >= 0).all())

    tight, loose = (math.log(v) for v in (LIMITS if looser > 0 else LIMITS[::-1]))
    if not holds(loose):
        raise NoConstant(name, bound.name, math.exp(loose))
    for _ in range(80):
        middle = (tight + loose) / 2
        tight, loose = (tight, middle) if holds(middle) else (middle, loose)
    return {name: math.exp(loose)}


def tested(bound: Bound, data: xr.Dataset, along: str | None) -> tuple[xr.Dataset, dict[str, float]]:
    """The part of a Dataset on which a bound is to be tested, and its constants, fitted on the other part.

    Without an open constant all data are tested. A fitted constant is loosened by a factor 2. If no constant makes the bound
    hold where it was to be fitted, that part and the loosest constant are returned: there the bound is violated.

    **Arguments:** `bound`; `data`: with a dimension `seed`; `along`: the scale for an open constant.

    **Returns:** a Dataset and the constants.

    **Raises:** `InvalidArgument` as `halves`, or for an open constant without a scale.

    >>> import numpy as np, xarray as xr
    >>> ds = xr.Dataset({"x": ("seed", np.ones(3))}, {"seed": range(3)})
    >>> tested(Bound("one", "x <= 2", "example", lambda d: d.x, lambda p: 2.0), ds, None)[1]
    {}
    """
    if not bound.constants:
        return data, {}
    if along is None:
        raise InvalidArgument(
            "along", None, f"{bound.name} has an open constant: name the scale on which it is fitted and tested"
        )
    fit, test = halves(data, along)
    try:
        return test, {name: value * ROOM ** bound.constants[name] for name, value in fit_constant(bound, fit).items()}
    except NoConstant as error:
        return fit, error.loosest
