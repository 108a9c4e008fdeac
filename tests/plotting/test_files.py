"""Figures as files: the same bytes each time, in every process, without a window system or shared state."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import matplotlib as mpl
import pytest
from matplotlib.image import imread

import theorysim as ts

#: prints the digests of three files of one figure, and whether pyplot was used
SCRIPT = """
import hashlib, sys, tempfile
from pathlib import Path
import numpy as np, xarray as xr, theorysim as ts

figure, ((axes,),) = ts.plotting.canvas()
data = xr.DataArray(np.random.default_rng(0).random((3, 4)), {"x": range(3), "y": range(4)}, ("x", "y"))
ts.plotting.heat_map(axes, data, "x", "y", label=r"$\\alpha$")
axes.plot([0, 2], [0, 3], label="line")
axes.legend()
with tempfile.TemporaryDirectory() as folder:
    for ending in ("png", "pdf", "svg"):
        ts.plotting.save(figure, Path(folder) / f"f.{ending}")
        print(hashlib.sha256((Path(folder) / f"f.{ending}").read_bytes()).hexdigest())
print("matplotlib.pyplot" in sys.modules, {"jax", "flax"} & set(sys.modules))
"""


def draw(label="line"):
    with ts.plotting.style():
        figure, ((axes,),) = ts.plotting.canvas()
        axes.plot([0, 1], [0, 1], label=label)
        axes.legend()
    return figure


def test_two_processes_write_the_same_bytes():
    runs = [subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True) for _ in range(2)]
    one, other = (run.stdout.splitlines() for run in runs)
    assert one == other
    assert len(set(one[:3])) == 3
    assert one[3] == "False set()"  # pyplot keeps every figure for ever


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_the_bytes_depend_on_the_figure_and_on_no_setting(tmp_path, ending):
    def digest(figure, name):
        ts.plotting.save(figure, tmp_path / "deep" / "er" / f"{name}.{ending}")
        return hashlib.sha256((tmp_path / "deep" / "er" / f"{name}.{ending}").read_bytes()).hexdigest()

    first = digest(draw(), "first")
    with mpl.rc_context({"font.size": 20, "lines.linewidth": 9, "savefig.dpi": 30, "svg.hashsalt": None}):
        assert digest(draw(), "second") == first
    assert digest(draw("another"), "third") != first


def test_dots_per_inch(tmp_path):
    figure, _ = ts.plotting.canvas(width=2.0, height=1.0)
    ts.plotting.save(figure, tmp_path / "a.png", dpi=50)
    ts.plotting.save(figure, str(tmp_path / "b.png"))
    assert imread(tmp_path / "a.png").shape[:2] == (50, 100)
    assert imread(tmp_path / "b.png").shape[:2] == (200, 400)
