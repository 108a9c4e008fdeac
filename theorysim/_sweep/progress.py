"""What a sweep says while it runs: cells per second, time left, non-finite cells, compile and run time apart."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class Reporter:
    """A progress bar on a terminal, one line at the end elsewhere; silent if not `shown`."""

    def __init__(self, label: str, cells: int, shown: bool):
        self.console = Console(stderr=True, highlight=False)
        self.label, self.cells, self.shown = label, cells, shown
        self.ran = self.stored = self.nonfinite = 0
        self.compile_seconds, self.start = 0.0, time.perf_counter()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
            disable=not (shown and self.console.is_terminal),
        )
        self._task = self._bar.add_task(label, total=cells, note="")

    def __enter__(self) -> Reporter:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bar.stop()
        if kind is None and self.shown:
            self.console.print(self.summary(), soft_wrap=True)

    @property
    def run_seconds(self) -> float:
        """Time since the start that was not spent compiling."""
        return time.perf_counter() - self.start - self.compile_seconds

    def traced(self, seconds: float) -> None:
        """Count as compilation what was done before the start."""
        self.start -= seconds
        self.compile_seconds += seconds

    def compiled(self, seconds: float) -> None:
        self.compile_seconds += seconds

    def advance(self, cells: int, nonfinite: int, stored: bool = False) -> None:
        """Count finished cells, just run or found in the store."""
        if stored:
            self.stored += cells
        else:
            self.ran += cells
        self.nonfinite += nonfinite
        rate = self.ran / max(self.run_seconds, 1e-9)
        note = f"{rate:.0f} cells/s" + (f", {self.nonfinite} non-finite" if self.nonfinite else "")
        self._bar.update(self._task, completed=self.ran + self.stored, note=note)

    def summary(self) -> str:
        """The last line."""
        parts = [f"{self.label}: {self.ran + self.stored} cells"]
        if self.stored:
            parts.append(f"{self.stored} from the store")
        if self.ran:
            parts.append(f"compile {self.compile_seconds:.1f} s")
            parts.append(f"run {self.run_seconds:.1f} s ({self.ran / max(self.run_seconds, 1e-9):.0f} cells/s)")
        if self.nonfinite:
            parts.append(f"{self.nonfinite} non-finite")
        return ", ".join(parts)
