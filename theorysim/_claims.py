"""A theorem's statement as a check on data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ._errors import InvalidArgument

if TYPE_CHECKING:
    import xarray as xr

VERDICTS = ("holds", "fails", "undecided", "not applicable")


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

    def __post_init__(self):
        if not self.name.isidentifier():
            raise InvalidArgument("claim", self.name, "its name must be an identifier")
        if self.expected not in VERDICTS:
            raise InvalidArgument("expected", self.expected, f"must be one of {', '.join(VERDICTS)}")
