"""Laws that are drawn are sound, and every law has a strategy."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import theorysim as ts
from theorysim.testing import laws

#: law -> its strategy
STRATEGIES = {"SignalNoise": "signal_noise", "Arrays": "arrays", "Features": "features", "XOR": "xor"}


def test_every_law_has_a_strategy():
    kinds = {name for name in ts.laws.__all__ if hasattr(getattr(ts.laws, name), "fixed")}
    assert {STRATEGIES[name] for name in kinds} <= set(dir(laws))


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


@settings(max_examples=20)
@given(laws.features(), st.integers(0, 100))
def test_features(law, seed):
    vectors = jnp.asarray(np.random.default_rng(seed).normal(size=(6, 5)), jnp.float32)
    batch = law(jax.random.key(seed), vectors)
    group = np.asarray(batch.group)
    np.testing.assert_allclose(np.abs(np.asarray(batch.patches[0]))[range(6), group], np.asarray(law.signals)[group], rtol=1e-6)
    assert set(np.flatnonzero(np.asarray(law.shares) == 0)).isdisjoint(group)


@settings(max_examples=20)
@given(laws.xor(), st.integers(0, 100))
def test_xor(law, seed):
    """All signals have the stated norm, and those of the two classes the stated angle."""
    vectors = jnp.asarray(np.random.default_rng(seed).normal(size=(6, 5)), jnp.float32)
    batch = law(jax.random.key(seed), vectors)
    signal, sign = np.asarray(batch.patches[0], float), np.asarray(batch.sign)
    np.testing.assert_allclose(np.linalg.norm(signal, axis=1), law.signal, rtol=1e-5)
    if law.signal > 1e-9:
        unit = signal / np.linalg.norm(signal, axis=1, keepdims=True)
        across = np.abs(unit[sign > 0] @ unit[sign < 0].T)
        np.testing.assert_allclose(across, abs(law.cosine), atol=1e-5)
