"""The frame as it is asked for: its blocks, its streams, and what it refuses."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theorysim as ts

frame = ts.exact.frame


@jax.jit
def grown(seed, dim):
    """Frames of the same key without and with another block, in both kinds."""
    key = jax.random.key(seed)
    lists = ({"train": 3}, {"train": 3, "filters": 4})
    return [
        [frame(key, d, fixed=2, kind=kind, **blocks).blocks for blocks in lists]
        for kind, d in (("reduced", dim), ("ambient", 6), ("infinite", dim))
    ]  # fmt: skip


@given(st.integers(0, 2**31 - 1), st.integers(2, 12) | st.integers(13, 10**9))
def test_a_later_block_changes_no_earlier_one(seed, dim):
    *grids, _ = kinds = grown(seed, float(dim))
    assert len(kinds) == 3
    for few, more in grids:
        assert np.array_equal(few["train"], more["train"])
        # and no block repeats another
        drawn = more["filters"][more["filters"] != 0]
        assert np.isin(drawn, more["train"]).mean() < 0.5


def test_shapes(key):
    seen = []

    def make(key):
        seen.extend(
            frame(key, dim, fixed=2, kind=kind, train=3, filters=4) for kind, dim in (("reduced", 1e6), ("ambient", 11))
        )
        return [space.blocks for space in seen]

    jax.eval_shape(make, key)
    reduced, ambient = seen
    assert (reduced.size, reduced.kind, reduced.fixed) == (9, "reduced", 2)
    assert (reduced.train.shape, reduced.filters.shape) == ((3, 5), (4, 9))
    assert (ambient.size, ambient.train.shape, ambient.filters.shape) == (11, (3, 11), (4, 11))


def test_ambient_is_plain_gaussian(key):
    """Mean and variance of 2e5 entries by z-tests, each at level 1e-6."""
    x = np.asarray(frame(key, 100, fixed=1, kind="ambient", train=2000).train, float)
    assert abs(x.mean()) < 4.9 / np.sqrt(x.size)
    assert abs(x.var() - 1) < 4.9 * np.sqrt(2 / x.size)


def test_unknown_block_is_named(key):
    with pytest.raises(AttributeError, match="no block 'test'; it has train"):
        jax.eval_shape(lambda key: frame(key, 10.0, fixed=1, train=3).test, key)


@pytest.mark.parametrize(
    ("dim", "more", "said"),
    [
        (2.5, {}, "dim = 2.5: must be a whole number >= 1"),
        (0.0, {}, "dim = 0.0"),
        (float("inf"), {}, "dim = inf"),
        (float("nan"), {}, "dim = nan"),
        (10.0, {"kind": "projected"}, "frame = projected: must be one of reduced, ambient, infinite"),
        (10.0, {"train": 0}, "train = 0: a block holds a whole number >= 1"),
    ],
)
def test_refused(key, dim, more, said):
    with pytest.raises(ts.InvalidArgument, match=said.replace(".", r"\.")) as refusal:
        frame(key, dim, **{"fixed": 1, "train": 3, **more})
    assert "\n" not in str(refusal.value)


def test_a_traced_dimension_gives_no_ambient_shapes(key):
    with pytest.raises(ts.InvalidArgument, match="dim = "):
        jax.eval_shape(lambda dim: frame(key, dim, fixed=1, kind="ambient", train=3).train, jnp.float32(10))
