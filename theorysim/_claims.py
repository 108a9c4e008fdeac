"""A theorem's statement as a check on data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._errors import InvalidArgument
from .theory import Bound, fields, tested

if TYPE_CHECKING:
    import xarray as xr

VERDICTS = ("holds", "fails", "undecided", "not applicable")


class Effect(NamedTuple):
    """What was measured, beside what the theorem states: an exponent, an error, a time.

    >>> str(Effect("exponent", 0.2481, 0.2475, 0.2488, 0.25))
    'exponent 0.248 [0.247, 0.249] against 0.25'
    """

    name: str
    value: float
    low: float
    high: float
    stated: float

    def __str__(self) -> str:
        interval = f" [{self.low:.3g}, {self.high:.3g}]" if np.isfinite([self.low, self.high]).all() else ""
        return f"{self.name} {self.value:.3g}{interval} against {self.stated:.3g}"


@dataclass(frozen=True)
class Claim:
    """A statement that data can decide.

    **Arguments:**

    - `name`: an identifier.
    - `statement`: what is claimed, in a sentence; mathtext between dollar signs.
    - `source`: authors, year and theorem number, or where else it comes from.
    - `study`: the study whose data decide it.
    - `check`: `check(dataset) -> DataArray` with a dimension `seed`: the signed margin by which each seed supports the
      claim, positive where it holds. Further dimensions are parts of the claim, all of which must hold.
    - `expected`: the verdict that is expected: `holds`, unless the claim is a control or a documented contradiction.
    - `preset`: the preset that has the study at the size at which the claim is to be decided; by default the first that
      has the study.
    - `regime`: `regime(dataset) -> dict` of the theorem's conditions in words and by how much each is met (negative: it
      fails). A claim outside its regime is not applicable, whatever its margins.
    - `effect`: `effect(dataset) -> Effect`: the measured number beside the stated one.
    - `figure`: the name of the figure that shows it, as `draw` of the drawing file names it.
    - `bound`, `along`: the bound that it states and the scale of its open constant, if it was made by `Claim.of`.

    **Raises:** `InvalidArgument` for a name that is no identifier, or another verdict.

    >>> Claim("floor", "the error is at least the flip rate", "by definition", "map", lambda data: data.error - 0.1).expected
    'holds'
    """

    name: str
    statement: str
    source: str
    study: str
    check: Callable[[xr.Dataset], xr.DataArray]
    expected: str = "holds"
    preset: str = ""
    regime: Callable[[xr.Dataset], Mapping[str, float]] | None = None
    effect: Callable[[xr.Dataset], Effect] | None = None
    figure: str = ""
    bound: Bound | None = None
    along: str | None = None

    def __post_init__(self):
        if not self.name.isidentifier():
            raise InvalidArgument("claim", self.name, "its name must be an identifier")
        if self.expected not in VERDICTS:
            raise InvalidArgument("expected", self.expected, f"must be one of {', '.join(VERDICTS)}")

    @classmethod
    def of(cls, bound: Bound, study: str, *, along: str | None = None, **options: Any) -> Claim:
        """The claim that a bound holds in every cell of a study inside its regime.

        An open constant is fitted on the lower half of the scale `along` and on half of the seeds, and tested on the upper half
        with the other seeds.

        **Arguments:** `bound`; `study`: whose data decide it; `along`: the swept scale, needed for a bound with an open
        constant; `options`: `name`, `expected`, `preset` as for a claim.

        **Returns:** a `Claim`, whose margins are the bound's slacks.

        **Raises:** `InvalidArgument` for an open constant without `along`.

        >>> import theorysim as ts
        >>> Claim.of(ts.theory.benign_relu.HARMFUL, "exponent").source
        'Kou et al. (2023), theorem 4.3'
        """
        if bound.constants and along is None:
            raise InvalidArgument("along", None, f"{bound.name} has an open constant: name the scale of its fit")

        def check(data: xr.Dataset) -> xr.DataArray:
            part, constants = tested(bound, data, along)
            return inside_only(bound.slack(part, **constants), bound.inside(part))

        def effect(data: xr.Dataset) -> Effect:
            part, constants = tested(bound, data, along)
            inside, left = bound.inside(part), bound.left(part)
            k = int(np.argmin(np.asarray(inside_only(bound.slack(part, **constants), inside).mean("seed"))))
            right = left * 0 + bound.right(fields(part), **constants)
            measured, stated = (float(inside_only(side, inside).isel(cell=k).mean("seed")) for side in (left, right))
            fitted = "".join(f" ({name} = {value:.3g} fitted)" for name, value in constants.items())
            return Effect(f"left side{fitted}", measured, np.nan, np.nan, stated)

        named = {"name": bound.name, "statement": bound.statement, "source": bound.source} | options
        return cls(study=study, check=check, regime=bound.outside, effect=effect, bound=bound, along=along, **named)


def inside_only(margins: xr.DataArray, inside: Any) -> xr.DataArray:
    """Margins over `seed` and one flat `cell` axis that holds the cells inside a regime, labelled by their coordinates."""
    import xarray as xr

    rest = [dim for dim in margins.dims if dim != "seed"]
    flat = margins.transpose("seed", *rest)
    values = np.asarray(flat).reshape(flat.sizes["seed"], -1)
    kept = (xr.DataArray(inside) & xr.ones_like(flat.isel(seed=0), dtype=bool)).transpose(*rest)
    keep = np.asarray(kept).ravel()
    grid = np.meshgrid(*(margins[dim].values for dim in rest), indexing="ij")
    labels = [", ".join(f"{dim}={v.ravel()[i]:g}" for dim, v in zip(rest, grid, strict=True)) for i in np.flatnonzero(keep)]
    return xr.DataArray(values[:, keep], {"seed": margins["seed"], "cell": labels}, ("seed", "cell"))
