"""Claims decided: run what is missing, weigh each claim on its study, and give verdicts at one error rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._claims import Claim
from .._errors import InvalidArgument
from .._experiment import Experiment, told
from .._verdicts import Evidence, verdicts, weigh
from ._run import papers, store_of

if TYPE_CHECKING:
    import xarray as xr

#: the data of each study that was needed, by experiment, preset and study
Data = dict[tuple[str, str, str], "xr.Dataset"]


@dataclass(frozen=True)
class Row:
    """One claim with its evidence and its verdict."""

    paper: Experiment
    claim: Claim
    preset: str
    evidence: Evidence
    verdict: str

    @property
    def own_preset(self) -> str:
        """The preset that is large enough to decide the claim."""
        return _preset(self.paper, self.claim, None) or ""

    @property
    def open(self) -> bool:
        """Whether it is left to the claim's own preset: another one may be too small to decide it."""
        unsettled = self.verdict in ("undecided", "not applicable") and self.verdict != self.claim.expected
        return unsettled and self.preset != self.own_preset

    @property
    def as_expected(self) -> bool:
        return self.verdict == self.claim.expected or self.open

    @property
    def words(self) -> str:
        """The evidence in words."""
        found = self.evidence
        if not found.seeds:
            return f"its study {self.claim.study} is in {self.own_preset}"
        if found.outside:
            return found.outside
        text = f"margin {found.mean:.3g} [{found.low:.3g}, {found.high:.3g}]"
        text += f" at {found.part}" if found.part else ""
        text += f"; {found.effect}" if found.effect else ""
        text += f"; {found.depth:.2g} decades inside the regime" if found.depth is not None and found.depth >= 0.005 else ""
        if self.verdict == "undecided" and found.needed:
            text += f"; about {found.needed} seeds would decide"
        return text

    def plain(self) -> dict[str, Any]:
        """The object of `--json`."""
        return {
            "experiment": self.paper.name,
            "claim": self.claim.name,
            "statement": self.claim.statement,
            "source": self.claim.source,
            "verdict": self.verdict,
            "expected": self.claim.expected,
            "evidence": self.words,
            "seeds": self.evidence.seeds,
        }


def _preset(paper: Experiment, claim: Claim, asked: str | None) -> str | None:
    """The preset at which a claim is decided; None if the asked one lacks its study."""
    if asked is not None:
        return asked if claim.study in paper.preset(asked) else None
    return claim.preset or next(name for name, studies in paper.presets.items() if claim.study in studies)


def elsewhere(rows: list[Row], preset: str | None) -> list[Row]:
    """The claims of the same experiments whose study the asked preset lacks: they are undecided there."""
    unseen = Evidence(math.nan, -math.inf, math.inf, "", 1.0, 1.0, 0, 0)
    chosen = {row.paper.name: row.paper for row in rows}.values()
    return [
        Row(paper, claim, preset or "", unseen, "undecided")
        for paper in chosen
        for claim in paper.claims
        if _preset(paper, claim, preset) is None
    ]


def decide(chosen: list[str], preset: str | None, fresh: bool = False) -> tuple[list[Row], Data]:
    """All claims of the chosen experiments (of all by default), with the data that decided them."""
    chosen_papers = papers(chosen, [] if preset is None else [preset])
    weighed: list[tuple[Experiment, Claim, str, Evidence]] = []
    data: Data = {}
    for paper in chosen_papers:
        if preset is not None and preset not in paper.presets:
            continue  # asked of all experiments
        for claim in paper.claims:
            size = _preset(paper, claim, preset)
            if size is None:
                continue
            key = (paper.name, size, claim.study)
            if key not in data:
                tree = paper.run(size, claim.study, store=store_of(paper.name, size), progress=True, fresh=fresh)
                data[key] = tree[claim.study].to_dataset()
            assert paper.path is not None
            with told(paper.path, f"claim {claim.name}: "):
                found = weigh(claim, data[key])
            weighed.append((paper, claim, size, found))
    if not weighed:
        sizes = sorted({_preset(paper, claim, None) or "" for paper in chosen_papers for claim in paper.claims})
        rule = (
            f"no claim is decided there; leave it out to decide them at {', '.join(sizes)}" if sizes else "there are no claims"
        )
        raise InvalidArgument("preset", preset or "(any)", rule)
    decided = verdicts([evidence for *_, evidence in weighed])
    return [Row(*parts, verdict) for parts, verdict in zip(weighed, decided, strict=True)], data
