"""`theorysim verify`."""

from __future__ import annotations

import json
import re
from itertools import groupby

from rich.console import Console
from rich.table import Table

from ._decide import Row, decide, elsewhere

_COLOURS = {"holds": "green", "fails": "red", "undecided": "yellow", "not applicable": "cyan"}


def verify(chosen: list[str], preset: str | None, as_json: bool, fresh: bool) -> int:
    rows, _ = decide(chosen, preset, fresh)
    rows = sorted([*rows, *elsewhere(rows, preset)], key=lambda row: row.paper.name)
    if as_json:
        print(json.dumps([row.plain() for row in rows], indent=2))
    else:
        _print(rows)
    return 0 if all(row.as_expected for row in rows) else 1


def _readable(statement: str) -> str:
    """Mathtext as a terminal can show it."""
    words = {
        r"\|": "|",
        r"\,": " ",
        r"\geq": ">=",
        r"\leq": "<=",
        r"\propto": "~",
        r"\frac{1}{2}": "1/2 ",
        r"\bar": "",
        "$": "",
    }
    for old, new in words.items():
        statement = statement.replace(old, new)
    return re.sub(r"\\([A-Za-z]+)", r"\1 ", statement).replace("  ", " ").replace("mu |", "mu|")


def _print(rows: list[Row]) -> None:
    console = Console()
    for name, paper in groupby(rows, key=lambda row: row.paper.name):
        console.print(f"[bold]{name}[/bold]")
        console.print(_table(list(paper)))
    left, wrong = sum(row.open for row in rows), sum(not row.as_expected for row in rows)
    said = f"{len(rows)} claims, {len(rows) - wrong - left} as expected"
    said += f", {left} left open at this size" if left else ""
    console.print(said + (f", [red]{wrong} not[/red]" if wrong else ""))


def _table(rows: list[Row]) -> Table:
    table = Table("claim", "statement", "verdict", "evidence", "seeds", box=None, header_style="bold", pad_edge=False)
    table.columns[0].no_wrap = True
    for row in rows:
        colour = _COLOURS[row.verdict]
        verdict = f"[{colour}]{row.verdict}[/{colour}]"
        if row.open:
            verdict += f" (expected at {row.own_preset}: {row.claim.expected})"
        elif not row.as_expected:
            verdict += f" ([red]expected {row.claim.expected}[/red])"
        elif row.claim.expected != "holds":
            verdict += " (as expected)"
        table.add_row(row.claim.name, _readable(row.claim.statement), verdict, row.words, str(row.evidence.seeds))
    return table
