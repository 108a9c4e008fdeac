"""`theorysim list`: read from the files, without running them."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from .._find import find, names, outline


def show() -> None:
    table = Table("experiment", "presets", "paper", box=None, pad_edge=False, header_style="bold")
    for name in names():
        said = outline(find(name))
        table.add_row(name, " ".join(said.presets), said.title)
    Console().print(table)
