"""0-1 errors, against signs and against labels."""

from __future__ import annotations

import jax.numpy as jnp
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theorysim as ts
from theorysim.laws import Batch


@pytest.mark.parametrize(
    ("output", "clean", "noisy"),
    [([2.0, -1.0, 3.0, -0.5], 0.0, 0.25), ([-2.0, 1.0, -3.0, 0.5], 1.0, 0.75), ([0.0, 0.0, 0.0, 0.0], 0.5, 0.5)],
)
def test_values(output, clean, noisy):
    batch = Batch((jnp.ones((4, 1)),), jnp.array([1.0, -1, 1, -1]), jnp.array([1.0, -1, 1, 1]))
    found = ts.observers.errors(lambda patches: jnp.array(output), batch)
    assert (float(found.clean), float(found.noisy)) == (clean, noisy)


@given(st.lists(st.sampled_from([-1.0, 1.0]), min_size=8, max_size=8), st.integers(0, 255))
def test_bounds_and_complement(signs, mask):
    """Errors are in [0, 1]; the opposite model has the complement."""
    label = jnp.array([s if mask >> i & 1 else -s for i, s in enumerate(signs)])
    batch, output = Batch((jnp.ones((8, 1)),), jnp.array(signs), label), jnp.arange(8.0) - 3.5
    one, other = (ts.observers.errors(lambda patches, s=s: s * output, batch) for s in (1, -1))
    for a, b in zip(one, other, strict=True):
        assert 0 <= float(a) <= 1
        assert float(a + b) == 1
