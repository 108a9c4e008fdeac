"""The whole published map, 100 x 100 cells of 10 runs: this workbench on all cores, the others estimated on one.

`python -m benchmarks.whole_map CORES` runs the map on those cores and prints one line of JSON. It is a process of its own,
since jax takes its devices when it starts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .pace import Contestant, race
from .setting import DIMS, SEEDS, SIGNALS

#: where the cost of the others is measured; between them it is interpolated
AT = (100, 350, 600, 850, 1090)


@dataclass(frozen=True)
class Whole:
    """The map: seconds on a clock, of `cores` cores."""

    cells: int
    compile_seconds: float
    run_seconds: float
    cores: int

    @property
    def core_seconds(self) -> float:
        return self.run_seconds * self.cores


def measure(cores: set[int]) -> Whole:
    """Run the map in a new process on these cores."""
    names = ",".join(map(str, sorted(cores)))
    # a pinned parent hands its one core down: the child takes its own
    command = [sys.executable, "-m", "benchmarks.whole_map", names]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Whole(**json.loads(done.stdout.splitlines()[-1]), cores=len(cores))


def estimate(make: Callable[[int], Contestant], laps: int) -> float:
    """Seconds of the whole map on one core, from runs at five dimensions; the signal does not change the cost."""
    seconds = [race("", [make(dim)], laps)[0].seconds for dim in AT]
    return float(np.interp(DIMS, AT, seconds).sum()) * len(SIGNALS) * SEEDS


def _child(cores: str) -> None:
    os.sched_setaffinity(0, {int(core) for core in cores.split(",")})
    import theorysim as ts

    from .workbench import swept

    paper = ts.load("benign_relu")
    data, run = swept(lambda: paper.run("paper", "map")["map"])
    print(json.dumps({"cells": data["status"].size, "compile_seconds": data.attrs["compile_seconds"], "run_seconds": run}))


if __name__ == "__main__":
    _child(sys.argv[1])
