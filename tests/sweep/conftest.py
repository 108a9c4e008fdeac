"""A trial of a few operations, and ways to look into a sweep."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import theorysim as ts
from theorysim._sweep import program, runner
from theorysim._sweep.params import fields_of


@dataclass(frozen=True)
class Params:
    n: int = ts.field(2, low=1)
    kind: str = "sum"
    scale: float = ts.field(1.0, low=0)
    shift: float = 0.0


def trial(p: Params, key):
    """Numbers in [0, 1) that depend on the seed, with a scale and a shift; infinite where the scale is 13.

    They have few enough digits for the arithmetic to be exact, in whatever order a compiler does it.
    """
    draw = (jax.random.key_data(key) >> 20) * jnp.float32(2**-12)
    total = p.scale * draw.sum() + p.shift
    samples = p.n * draw[0] * jnp.arange(1, 4) + p.shift
    return {"total": jnp.where(p.scale == 13, jnp.inf, total), "samples": ts.named(samples, "sample", sample=[10, 20, 30])}


@pytest.fixture
def tiny() -> SimpleNamespace:
    """`params`, `trial`, and `sweep` of the two with a batch of 2."""
    return SimpleNamespace(
        params=Params, trial=trial, sweep=lambda over=None, **more: ts.sweep(trial, Params(), over, **{"batch": 2, **more})
    )


@pytest.fixture
def programs(monkeypatch) -> list[int]:
    """The rows of every program that is compiled during the test."""
    compiled: list[int] = []
    original = program._compile

    def compile_and_note(item, devices, rows):
        compiled.append(rows)
        return original(item, devices, rows)

    monkeypatch.setattr(program, "_compile", compile_and_note)
    return compiled


@pytest.fixture
def ran(monkeypatch) -> list[int]:
    """The cells of every step that is run during the test."""
    counts: list[int] = []
    original = runner.Columns.put

    def put_and_note(self, cells, values):
        counts.append(len(cells))
        return original(self, cells, values)

    monkeypatch.setattr(runner.Columns, "put", put_and_note)
    return counts


@pytest.fixture
def chunks_of(monkeypatch):
    """Set how many cells a chunk of the next new store has."""
    return lambda cells: monkeypatch.setattr(runner, "_chunk_cells", lambda *args: cells)


@pytest.fixture
def on_devices(monkeypatch):
    """Set how many devices the next sweeps use."""
    jax.devices()
    return lambda count: monkeypatch.setenv("THEORYSIM_DEVICES", str(count))


@pytest.fixture
def same():
    """Assert that two Datasets hold the same bits under the same labels."""

    def check(one: xr.Dataset, other: xr.Dataset) -> None:
        assert set(one.variables) == set(other.variables)
        for name in one.variables:
            assert one[name].dims == other[name].dims
            assert one[name].dtype == other[name].dtype
            np.testing.assert_array_equal(np.asarray(one[name]), np.asarray(other[name]), err_msg=name, strict=True)

    return check


@pytest.fixture
def chunk_files():
    """The files of the chunks of one output, in order."""

    def find(store: Path, name: str = "total", group: str = "sweep") -> list[Path]:
        return sorted((store / group / name / "c").iterdir(), key=lambda path: int(path.name))

    return find


@pytest.fixture
def alone():
    """A trial run by itself, outside any sweep: its traced fields are numbers of the precision in force."""

    def run(trial, params, seed: int = 0, root: int = 0) -> dict[str, np.ndarray]:
        kind = jnp.result_type(float)
        numbers = {name: np.asarray(getattr(params, name), kind) for name, item in fields_of(params).items() if item.traced}
        key = jax.random.fold_in(jax.random.key(np.uint32(root), impl="threefry2x32"), seed)
        out = jax.jit(lambda numbers, key: trial(replace(params, **numbers), key))(numbers, key)
        return {name: np.asarray(value) for name, value in out.items()}

    return run
