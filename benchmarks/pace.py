"""How contestants are timed: warm, in turn, by the median.

What is compared takes turns, so that a slow minute of the machine falls on all and ratios survive it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple


class Lap(NamedTuple):
    """One timing: seconds of one run, and what the runs found (an error or a loss), as evidence that they did the job."""

    seconds: float
    found: float


@dataclass(frozen=True)
class Contestant:
    """Something to time: `lap()` runs it, warm, once or often; `compile_seconds` were spent before, and `note` says how."""

    name: str
    lap: Callable[[], Lap]
    compile_seconds: float = 0.0
    note: str = ""
    most_laps: int = 99


@dataclass(frozen=True)
class Result:
    """The median of the laps."""

    case: str
    name: str
    compile_seconds: float
    seconds: float
    found: float
    note: str


def pin() -> set[int]:
    """Keep this process to one core; returns those that it had. It must come before jax and torch start their threads."""
    had = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(had)})
    return had


def timed(call: Callable[[], object]) -> float:
    """Seconds of a call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def repeated(call: Callable[[], float], at_least: float = 0.3) -> Lap:
    """Seconds a call, and the mean of what the calls return, over calls that take `at_least` so long in all."""
    start, found = time.perf_counter(), []
    while not found or time.perf_counter() - start < at_least:
        found.append(call())
    return Lap((time.perf_counter() - start) / len(found), sum(found) / len(found))


def race(case: str, contestants: Sequence[Contestant], laps: int) -> list[Result]:
    """Time the contestants in turn, `laps` times."""
    seen: list[list[Lap]] = [[] for _ in contestants]
    for turn in range(laps):
        for contestant, got in zip(contestants, seen, strict=True):
            if turn < contestant.most_laps:
                got.append(contestant.lap())
    return [
        Result(
            case,
            c.name,
            c.compile_seconds,
            median(lap.seconds for lap in got),
            sum(lap.found for lap in got) / len(got),
            c.note,
        )
        for c, got in zip(contestants, seen, strict=True)
    ]
