"""The first time above a level: against a loop, at the edges, and never."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import theorysim as ts
from theorysim.analysis import first_time

TIMES = [0, 1, 10, 100, 1000]


def records(rows):
    return xr.DataArray(np.asarray(rows, float), {"time": TIMES}, ("seed", "time"))


def test_against_a_loop():
    values = np.random.default_rng(0).normal(size=(50, 5))
    expected = [next((t for t, v in zip(TIMES, row, strict=True) if v > 0.5), np.nan) for row in values]
    np.testing.assert_array_equal(first_time(records(values), 0.5), expected)


def test_edges():
    found = first_time(records([[1, 0, 0, 0, 0], [0, 0, 0, 0, 1], [0.5] * 5]), 0.5)
    assert found[:2].values.tolist() == [0.0, 1000.0]
    assert np.isnan(found[2])  # on the level is not above it
    assert found.dims == ("seed",)


def test_without_time_it_is_refused():
    with pytest.raises(ts.InvalidArgument, match="time"):
        first_time(xr.DataArray([1.0], dims="seed"), 0.0)
