"""`theorysim verify`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from .._claims import Claim
from .._errors import InvalidArgument
from .._experiment import Experiment, load
from .._find import names
from .._verdicts import Evidence, verdicts, weigh
from ._run import store_of

_COLOURS = {"holds": "green", "fails": "red", "undecided": "yellow", "not applicable": "cyan"}


@dataclass(frozen=True)
class Row:
    """One claim with its evidence and its verdict."""

    paper: Experiment
    claim: Claim
    preset: str
    evidence: Evidence
    verdict: str

    @property
    def as_expected(self) -> bool:
        return self.verdict == self.claim.expected

    @property
    def words(self) -> str:
        """The evidence in words."""
        found = self.evidence
        if found.outside:
            return found.outside
        text = f"margin {found.mean:.3g} [{found.low:.3g}, {found.high:.3g}]"
        text += f" at {found.part}" if found.part else ""
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


def _readable(statement: str) -> str:
    """Mathtext as a terminal can show it."""
    words = {r"\|": "|", r"\geq": ">=", r"\leq": "<=", r"\propto": "~", r"\frac{1}{2}": "1/2 ", r"\bar": "", "$": ""}
    for old, new in words.items():
        statement = statement.replace(old, new)
    return re.sub(r"\\([A-Za-z]+)", r"\1 ", statement).replace("  ", " ").replace("mu |", "mu|")


def _preset(paper: Experiment, claim: Claim, asked: str | None) -> str | None:
    """The preset at which a claim is decided; None if the asked one lacks its study."""
    if asked is not None:
        return asked if claim.study in paper.preset(asked) else None
    return claim.preset or next(name for name, studies in paper.presets.items() if claim.study in studies)


def verify(chosen: list[str], preset: str | None, as_json: bool) -> int:
    papers = [load(name) for name in chosen or names()]
    weighed: list[tuple[Experiment, Claim, str, Evidence]] = []
    data: dict[tuple[str, str, str], Any] = {}
    for paper in papers:
        if preset is not None and preset not in paper.presets and not chosen:
            continue
        for claim in paper.claims:
            size = _preset(paper, claim, preset)
            if size is None:
                continue
            key = (paper.name, size, claim.study)
            if key not in data:
                tree = paper.run(size, claim.study, store=store_of(paper.name, size), progress=True)
                data[key] = tree[claim.study].to_dataset()
            weighed.append((paper, claim, size, weigh(claim, data[key])))
    if not weighed:
        raise InvalidArgument("preset", preset or "(any)", "no claim is decided there")
    found = verdicts([evidence for *_, evidence in weighed])
    rows = [Row(*parts, verdict) for parts, verdict in zip(weighed, found, strict=True)]
    if as_json:
        print(json.dumps([row.plain() for row in rows], indent=2))
    else:
        _print(rows)
    return 0 if all(row.as_expected for row in rows) else 1


def _print(rows: list[Row]) -> None:
    table = Table("claim", "statement", "verdict", "evidence", "seeds", box=None, header_style="bold", pad_edge=False)
    table.columns[0].no_wrap = True
    for row in rows:
        colour = _COLOURS[row.verdict]
        verdict = f"[{colour}]{row.verdict}[/{colour}]" + (
            "" if row.as_expected else f" ([red]expected {row.claim.expected}[/red])"
        )
        if row.as_expected and row.claim.expected != "holds":
            verdict += " (as expected)"
        table.add_row(row.claim.name, _readable(row.claim.statement), verdict, row.words, str(row.evidence.seeds))
    console = Console()
    for name in dict.fromkeys(row.paper.name for row in rows):
        console.print(f"[bold]{name}[/bold]")
    console.print(table)
    wrong = sum(not row.as_expected for row in rows)
    console.print(f"{len(rows)} claims, {len(rows) - wrong} as expected" + (f", [red]{wrong} not[/red]" if wrong else ""))
