"""`theorysim list`: read from the files, without running them."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from .._find import find, names, outline


def show() -> None:
    table = Table("experiment", "presets", "paper", box=None, pad_edge=False, header_style="bold")
    for name in names():
        said = outline(find(name))
        table.add_row(name, marked(said.presets), said.title)
    Console().print(table)


def marked(presets: tuple[str, ...]) -> str:
    """The presets, with a word beside the one that is not for this kind of machine."""
    return " ".join(f"{name} (needs a GPU)" if name == "gpu" else name for name in presets)
