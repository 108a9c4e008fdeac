"""What every law must do. A new law gets a row in `LAWS`; all tests then hold for it."""

from __future__ import annotations

import inspect

import jax
import numpy as np
import pytest

import theorysim as ts

#: name -> law, given one traced number
LAWS = {
    "SignalNoise": lambda number: ts.laws.SignalNoise(signal=number),
    "SignalNoise projected": lambda number: ts.laws.SignalNoise(signal=number, noise=number, projected=True),
    "SignalNoise flipped": lambda number: ts.laws.SignalNoise(signal=number, flip=number / 20),
    "SignalNoise one-sided": lambda number: ts.laws.SignalNoise(signal=number, flip_plus=0.4, flip_minus=number / 20),
    "SignalNoiseGraph": lambda number: ts.laws.SignalNoiseGraph(number, 0.5, number / 20, noise=number),
    "SignalNoiseGraph rewired": lambda number: ts.laws.SignalNoiseGraph(2.0, number / 5, 0.1, average=number / 5, rewired=True),
    "Features": lambda number: ts.laws.Features([number, 2.0], [0.8, 0.2], flip=number / 20),
    "Features at an angle": lambda number: ts.laws.Features(jax.numpy.array([[2.0, 0.0], [1.0, 2.0]]), noise=number),
    "Features in rows": lambda number: ts.laws.Features([[number, 0.0], [1.0, number]]),
    "Features projected": lambda number: ts.laws.Features([1.0, 2.0], noise=number, projected=True),
    "XOR": lambda number: ts.laws.XOR(number, flip=number / 20),
    "XOR of two features": lambda number: ts.laws.XOR([1.0, 2.0], cosine=number / 5, shares=[0.7, 0.3], projected=False),
    "LinearRegression": lambda number: ts.laws.LinearRegression(target=number),
    "LinearRegression noisy": lambda number: ts.laws.LinearRegression(target=1.0, noise=number),
    "TwoBit": lambda number: ts.laws.TwoBit(number / 10, [0.1, number / 20], noise=number),
    "TwoBit of one feature": lambda number: ts.laws.TwoBit(0.2, [0.1, 0.2, 0.9], strengths=(number, 0.0)),
}
#: laws of real labels
REGRESSION = {"LinearRegression"}
N, DIM, KEYS = 12, 7, 5
rows = pytest.mark.parametrize("row", LAWS)
both = pytest.mark.parametrize("x64", [False, True])


def draw_all(key: jax.Array, number: jax.Array) -> dict[str, ts.laws.Batch]:
    vectors = jax.random.normal(jax.random.fold_in(key, 1), (N, DIM))
    return {row: make(number)(key, vectors) for row, make in LAWS.items()}


@pytest.fixture(scope="module")
def batches():
    """All rows under jit and vmap, one program for each precision: the same draws twice over."""

    def make(x64: bool) -> tuple[dict, dict]:
        with jax.enable_x64(x64):
            keys, numbers = jax.random.split(jax.random.key(0), KEYS), np.linspace(1, 4, KEYS).astype(float)
            numbers = jax.numpy.asarray(numbers)
            run = jax.jit(jax.vmap(draw_all))
            return jax.device_get(run(keys, numbers)), jax.device_get(run(keys, numbers))

    return {x64: make(x64) for x64 in (False, True)}


def test_every_law_has_a_row():
    """Every class that turns Gaussian vectors into a batch."""
    kinds = {name: getattr(ts.laws, name) for name in ts.laws.__all__}
    laws = {name for name, kind in kinds.items() if hasattr(kind, "fixed") and "__call__" in vars(kind)}
    assert laws == {row.split()[0] for row in LAWS}


@rows
@both
def test_shapes_and_types(batches, row, x64):
    batch = batches[x64][0][row]
    for patch in batch.patches:
        assert patch.shape[:2] == (KEYS, N)
        assert patch.shape[2] <= DIM
        assert patch.dtype == (np.float64 if x64 else np.float32)
    assert batch.sign.shape == batch.label.shape == (KEYS, N)


@rows
@both
def test_patches_of_the_fixed_span_are_narrow(batches, row, x64):
    fixed = LAWS[row](1.0).fixed
    widths = [patch.shape[2] for patch in batches[x64][0][row].patches]
    assert set(widths) <= {fixed, DIM}
    assert fixed in widths or len(widths) == 1  # of a single patch the signal is a part


@rows
@both
def test_finite_and_signed(batches, row, x64):
    batch = batches[x64][0][row]
    assert all(np.isfinite(patch).all() for patch in batch.patches)
    assert set(np.unique(batch.sign)) == {-1.0, 1.0}
    if row.split()[0] in REGRESSION:
        assert np.isfinite(batch.label).all()
        assert np.unique(batch.label).size == batch.label.size
    else:
        assert set(np.unique(batch.label)) == {-1.0, 1.0}


@rows
@both
def test_same_key_same_bits(batches, row, x64):
    first, second = (jax.tree.leaves(run[row]) for run in batches[x64])
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@rows
def test_other_key_other_draw(batches, row):
    noise = batches[False][0][row].patches[-1]
    assert not np.isclose(noise[0], noise[1]).any(where=noise[0] != 0)


def test_compiled_is_uncompiled(batches):
    keys = jax.random.split(jax.random.key(0), KEYS)
    alone = draw_all(keys[-1], jax.numpy.asarray(4.0))
    for a, b in zip(jax.tree.leaves(alone), jax.tree.leaves(batches[False][0]), strict=True):
        np.testing.assert_allclose(a, b[-1], rtol=1e-6, atol=1e-6)


@rows
def test_traces_by_itself(row):
    """One row at a time, so that a failure of the common program is blamed on the row that made it."""
    shapes = jax.eval_shape(lambda key, number: LAWS[row](number)(key, jax.numpy.ones((N, DIM))), jax.random.key(0), 1.0)
    assert shapes.sign.shape == (N,)


def test_laws_are_frozen():
    for make in LAWS.values():
        law = make(1.0)
        with pytest.raises((AttributeError, TypeError)):
            law.signal = 2.0
        assert not inspect.ismethod(law.fixed)
