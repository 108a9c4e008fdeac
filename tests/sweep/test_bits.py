"""Equality to the bit for a given batch, on a paper's trial: chunks, order, neighbours, devices and resuming change nothing.

The grid is such that most sweeps here take at least eight batches, so that they share one program.
"""

from functools import cache

import jax
import numpy as np
import pytest

import theorysim as ts
from theorysim._sweep.store import StoredPart

SIGNAL, DIM, SEEDS = [0.0, 2.0, 4.0, 6.0, 8.0, 9.0, 10.0], [50.0, 1e3, 1e6], 3
ONE = {"signal": SIGNAL[2:3], "dim": DIM[1:2]}
SMOOTH = ["train_loss", "margin_min", "margin_max", "signal_learning", "noise_memorization"]


@cache
def paper():
    return ts.load("benign_relu")


def params(**more):
    return paper().params(n=6, width=3, steps=12, tests=50, records=3, **more)


def run(signal=SIGNAL, dim=DIM, seeds=SEEDS, batch=2, **more):
    return ts.sweep(paper().trial, params(), {"signal": signal, "dim": dim}, seeds=seeds, batch=batch, **more)


@cache
def whole():
    """The reference, on two devices."""
    return run()


@pytest.fixture(autouse=True)
def two_devices(on_devices):
    on_devices(2)


def test_order(same):
    same(whole(), run(SIGNAL[::-1], DIM).sel(signal=SIGNAL))
    same(whole(), run(SIGNAL, DIM[::-1]).sel(dim=DIM))  # other places in the batches


def test_neighbours(same):
    few = {"signal": SIGNAL[2:5], "dim": DIM[:1]}  # the second batch holds a cell and its repetition
    same(whole().sel(few), run(**few, seeds=SEEDS + 1).isel(seed=slice(SEEDS)))


def test_devices(same, on_devices):
    on_devices(1)
    same(whole(), run())


def test_a_single_batch(same, on_devices):
    on_devices(1)  # its loop has one round, which a compiler may unroll
    same(whole().sel(ONE).isel(seed=[0]), run(**ONE, seeds=1))


def test_chunks_and_resuming(same, chunks_of, ran, tmp_path, monkeypatch):
    chunks_of(5)
    store, write = tmp_path / "store", StoredPart.write

    def stop(self, index, columns):
        if index == 3:
            raise KeyboardInterrupt
        write(self, index, columns)

    with monkeypatch.context() as patch:
        patch.setattr(StoredPart, "write", stop)
        with pytest.raises(KeyboardInterrupt):
            run(store=store)
    ran.clear()
    same(whole(), run(store=store))
    assert 0 < sum(ran) < whole().status.size
    same(whole(), ts.open(store)["sweep"].to_dataset())


def test_appended_seeds(same, tmp_path):
    run(seeds=SEEDS - 1, store=tmp_path / "store")
    same(whole(), run(store=tmp_path / "store"))


def test_a_cell_is_the_trial_and_batches_agree(alone):
    one = run(**ONE, seeds=1, batch=1).squeeze()
    single = alone(paper().trial, params(signal=SIGNAL[2], dim=DIM[1]))
    other = whole().sel(ONE).isel(seed=0).squeeze()
    for name in SMOOTH:
        np.testing.assert_allclose(one[name], single[name], rtol=1e-5, atol=1e-5, err_msg=name)
        np.testing.assert_allclose(one[name], other[name], rtol=1e-4, atol=1e-4, err_msg=name)


def test_batches_agree_in_float64():
    with jax.enable_x64(False):  # the sweep's own precision counts, not the one around it
        one, two = (run(**ONE, seeds=1, batch=batch, x64=True) for batch in (1, 2))
    for name in SMOOTH:
        assert one[name].dtype == np.float64
        np.testing.assert_allclose(one[name], two[name], rtol=1e-9, atol=1e-9, err_msg=name)
