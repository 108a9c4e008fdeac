"""`theorysim verify`."""

from __future__ import annotations

import json
import re

from rich.console import Console
from rich.table import Table

from ._decide import Row, decide

_COLOURS = {"holds": "green", "fails": "red", "undecided": "yellow", "not applicable": "cyan"}


def verify(chosen: list[str], preset: str | None, as_json: bool, fresh: bool) -> int:
    rows, _ = decide(chosen, preset, fresh)
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
