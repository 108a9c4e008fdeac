"""Laws that are drawn are sound, and every law has a strategy."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import theorysim as ts
from theorysim.testing import laws


def test_every_law_has_a_strategy():
    kinds = {name for name in ts.laws.__all__ if name != "Batch"}
    assert kinds == {"SignalNoise", "Arrays"}
    assert {"signal_noise", "arrays"} <= set(dir(laws))


@settings(max_examples=20)
@given(laws.signal_noise(), st.integers(0, 100))
def test_signal_noise(law, seed):
    vectors = jnp.asarray(np.random.default_rng(seed).normal(size=(6, 5)), jnp.float32)
    batch = law(jax.random.key(seed), vectors)
    assert set(np.unique(batch.sign)) | set(np.unique(batch.label)) <= {-1.0, 1.0}
    np.testing.assert_allclose(np.abs(batch.patches[0]), law.signal, rtol=1e-6)
    along_the_signal = np.asarray(batch.patches[1])[:, 0]
    if law.projected:
        assert not along_the_signal.any()
    elif law.noise > 1e-30:
        assert along_the_signal.any()


@settings(max_examples=20)
@given(laws.arrays(), st.integers(0, 100))
def test_arrays(law, seed):
    space = ts.exact.frame(jax.random.key(seed), law.dim, fixed=0, kind="ambient", filters=2)
    train, test = law.split(jax.random.key(seed), len(law.labels) - 1, space)
    assert test.sign.shape == (1,)
    seen = np.concatenate([train.sign, test.sign])
    assert sorted(seen) == sorted(np.where(law.labels == law.labels.max(), 1.0, -1.0))
