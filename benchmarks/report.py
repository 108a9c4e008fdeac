"""The tables, in the terminal and in `README.md`."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from .pace import Result

README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
PACKAGES = ("theorysim", "jax", "jaxlib", "numpy", "torch")


@dataclass(frozen=True)
class Sheet:
    """A table in words: a title, the heads of its columns (numbers from the third on) and its rows."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()


def _time(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:,.0f} s"


def times(ratio: float) -> str:
    """A ratio with three digits, and no exponent."""
    return f"{ratio:.3g}x" if ratio < 1000 else f"{float(f'{ratio:.3g}'):,.0f}x"


def race_sheet(results: Sequence[Result], reference: str) -> Sheet:
    """Seconds a run, and how many times longer than the reference of the same case."""
    base = {r.case: r.seconds for r in results if r.name == reference}
    rows = tuple(
        (
            r.case, r.name, _time(r.seconds), times(r.seconds / base[r.case]),
            _time(r.compile_seconds) if r.compile_seconds else "none", f"{r.found:.3f}", r.note,
        )
        for r in results
    )  # fmt: skip
    heads = ("case", "who", "time a run", f"times {reference}", "compile, apart", "found", "how")
    return Sheet("One core, seconds a run", heads, rows, (2, 3, 4, 5))


def machine() -> str:
    """Processor, cores, versions and date, in one line."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        model = next(
            (line.split(":")[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")), model
        )
    return f"{model}, {os.cpu_count()} cores; {', '.join(_versions())}; {datetime.now(UTC):%Y-%m-%d}"


def _versions() -> Iterable[str]:
    yield f"Python {platform.python_version()}"
    for name in PACKAGES:
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            yield f"no {name}"


def show(sheets: Sequence[Sheet], notes: Sequence[str]) -> None:
    """Print the tables."""
    console = Console()
    if not console.is_terminal:
        console.width = 140  # a log has room for the columns
    for sheet in sheets:
        table = Table(title=sheet.title, title_justify="left")
        for index, head in enumerate(sheet.heads):
            table.add_column(head, justify="right" if index in sheet.numbers else "left")
        for row in sheet.rows:
            table.add_row(*row)
        console.print(table)
    for note in (machine(), *notes):
        console.print(note, highlight=False, markup=False)  # brackets are no markup: [bench]


def rewrite(sheets: Sequence[Sheet], notes: Sequence[str]) -> None:
    """Put the tables between the markers of the README."""
    before, rest = README.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    parts = [machine() + "."]
    for sheet in sheets:
        rule = "|".join("---:" if index in sheet.numbers else "---" for index in range(len(sheet.heads)))
        lines = ["| " + " | ".join(cells) + " |" for cells in (sheet.heads, *sheet.rows)]
        parts.append(f"**{sheet.title}**\n\n" + "\n".join([lines[0], f"|{rule}|", *lines[1:]]))
    parts += [note + "\n" for note in notes]
    body = "\n\n".join(part.strip() for part in parts)
    README.write_text(f"{before}{BEGIN}\n{body}\n{END}{after}", encoding="utf-8")
