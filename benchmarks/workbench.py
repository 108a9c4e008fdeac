"""This workbench: the paper's file through `sweep`, on one device.

The dimension is swept too (over a single value), so that all dimensions are the same program and cost alike. A lap sweeps 96
signals and some seeds, its batches full, as those of the whole map are.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import theorysim as ts

from .pace import Contestant, Lap, race
from .setting import SIGNAL, SIGNALS

NAME = "theorysim"


def swept(sweep: Callable[[], Any]) -> tuple[Any, float]:
    """A sweep's data, and its seconds on this clock, less those it says it compiled: so its own account is not relied on."""
    start = time.perf_counter()
    data = sweep()
    return data, time.perf_counter() - start - data.attrs["compile_seconds"]


def contestant(dim: float, seeds: int = 20) -> Contestant:
    """The paper `benign_relu` at one dimension, with the published settings."""
    paper = ts.load("benign_relu")

    def sweep():
        return ts.sweep(paper.trial, paper.params(), over={"dim": [float(dim)], "signal": SIGNALS[:96]}, seeds=seeds)

    def lap() -> Lap:
        data, seconds = swept(sweep)
        return Lap(seconds / data.status.size, float(data.test_error_noisy.sel(signal=SIGNAL).mean()))

    return Contestant(NAME, lap, sweep().attrs["compile_seconds"], f"sweep of 96 signals x {seeds} seeds")


def dimension_ratio(laps: int, seeds: int = 20) -> float:
    """Time at dim = 1e9 over time at dim = 1e3; the two take turns."""
    near, far = race("", [contestant(1e3, seeds), contestant(1e9, seeds)], laps)
    return far.seconds / near.seconds
