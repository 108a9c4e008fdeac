"""Laws that are drawn are sound, and every law has a strategy."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import theorysim as ts
from theorysim.testing import laws

#: law -> its strategy
STRATEGIES = {
    "SignalNoise": "signal_noise",
    "Arrays": "arrays",
    "Features": "features",
    "XOR": "xor",
    "TwoBit": "two_bit",
    "SignalNoiseGraph": "signal_noise_graph",
    "LinearRegression": "linear_regression",
}


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


@settings(max_examples=20)
@given(laws.two_bit(), st.integers(0, 100))
def test_two_bit(law, seed):
    """Each feature has its strength, and bits that never or always flip do not or do."""
    vectors = jnp.asarray(np.random.default_rng(seed).normal(size=(6, 5)), jnp.float32)
    batch = law(jax.random.key(seed), vectors)
    features, sign = np.asarray(batch.patches[0]), np.asarray(batch.sign)
    np.testing.assert_allclose(np.abs(features), np.broadcast_to(law.strengths, (6, 2)), rtol=1e-6)
    flips = np.stack([np.full(6, law.invariant_flip), np.asarray(law.spurious_flips)[np.asarray(batch.group)]], axis=1)
    sure = (flips == 0) | (flips == 1)
    agree = np.where(flips == 1, -1, 1) * sign[:, None] * np.abs(features)
    np.testing.assert_array_equal(features[sure], agree[sure])


@settings(max_examples=20)
@given(laws.signal_noise_graph(), st.integers(0, 100))
def test_signal_noise_graph(law, seed):
    """Averages are no larger than the largest of what they average, and weights sum to 1."""
    vectors = jnp.asarray(np.random.default_rng(seed).normal(size=(6, 5)), jnp.float32)
    key = jax.random.key(seed)
    own, batch = law.nodes(key, vectors), law(key, vectors)
    np.testing.assert_allclose(law.averaging(key, own.sign).sum(axis=1), 1, rtol=1e-5)
    for mine, seen in zip(own.patches, batch.patches, strict=True):
        assert np.abs(np.asarray(seen)).max() <= np.abs(np.asarray(mine)).max() * (1 + 1e-5)


@settings(max_examples=20)
@given(laws.linear_regression(), st.integers(0, 100))
def test_linear_regression(law, seed):
    """The label is the target's multiple of one coordinate, up to the noise; the sign is that of the coordinate."""
    vectors = jnp.asarray(np.random.default_rng(seed).normal(size=(6, 5)), jnp.float32)
    batch = law(jax.random.key(seed), vectors)
    value = law.target * np.asarray(vectors[:, 0])
    np.testing.assert_allclose(batch.label, value, atol=1e-5 * abs(value).max() + 6 * law.noise)
    np.testing.assert_array_equal(batch.sign, np.where(np.asarray(vectors[:, 0]) < 0, -1, 1))
