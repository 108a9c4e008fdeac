"""XOR clusters: their geometry, that no line separates them, and planted defects that these tests see."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import theorysim as ts

N = 4000
VECTORS = jax.random.normal(jax.random.key(1), (N, 6))


def draw(law, key=0):
    return law(jax.random.key(key), VECTORS)


def clusters(batch):
    """The distinct signals, and the classes in which each occurs."""
    found: dict[tuple[float, ...], set[float]] = {}
    for row, sign in zip(np.asarray(batch.patches[0]).round(4) + 0.0, np.asarray(batch.sign), strict=True):
        found.setdefault(tuple(row.tolist()), set()).add(float(sign))
    return found


def is_xor(batch, cosine, signal=2.0):
    """Four signals of one norm, opposite ones of one class, the classes at the angle theta."""
    found = clusters(batch)
    if len(found) != 4 or any(len(classes) != 1 for classes in found.values()):
        return False
    plus, minus = (np.array([v for v, c in found.items() if c == {side}]) for side in (1.0, -1.0))
    if len(plus) != 2 or not np.allclose(plus[0], -plus[1], atol=1e-3) or not np.allclose(minus[0], -minus[1], atol=1e-3):
        return False
    norms = np.linalg.norm(np.concatenate([plus, minus]), axis=1)
    return np.allclose(norms, signal, atol=1e-3) and abs(abs(plus[0] @ minus[0]) / signal**2 - abs(cosine)) < 1e-3


@pytest.mark.parametrize("cosine", [-0.5, 0.0, 0.3, 0.8])
def test_geometry(cosine):
    assert is_xor(draw(ts.laws.XOR(2.0, cosine=cosine)), cosine)


def linear(batch):
    """A planted defect: the sign of one cluster of each class is flipped, so a line separates them."""
    return batch._replace(sign=jnp.sign(batch.patches[0][:, 0]), label=jnp.sign(batch.patches[0][:, 0]))


def stretched(batch):
    """A planted defect: a and b are swapped in one class, so the angle is wrong."""
    signal = batch.patches[0]
    return batch._replace(patches=(jnp.where(batch.sign[:, None] > 0, signal, signal[:, ::-1]), batch.patches[1]))


def test_planted_defects_are_seen():
    batch = draw(ts.laws.XOR(2.0, cosine=0.3))
    assert is_xor(batch, 0.3)
    assert not is_xor(linear(batch), 0.3)
    assert not is_xor(stretched(batch), 0.3)


def test_clusters_are_equally_frequent():
    signal = np.asarray(draw(ts.laws.XOR(2.0, cosine=0.3)).patches[0])
    counts = np.unique(signal.round(4), axis=0, return_counts=True)[1]
    np.testing.assert_allclose(counts / N, 0.25, atol=0.03)


def test_every_linear_classifier_errs_on_half():
    """Exactly: x and -x are equally likely in each class."""
    batch, rng = draw(ts.laws.XOR(3.0, cosine=0.6)), np.random.default_rng(0)
    signal, noise = (np.asarray(patch) for patch in batch.patches)
    for _ in range(5):
        w = rng.normal(size=6)
        assert abs(np.mean(np.sign(signal @ w[:2] + noise @ w) != np.asarray(batch.sign)) - 0.5) < 0.03


def test_flips_and_shares():
    batch = draw(ts.laws.XOR([1.0, 2.0], flip=0.2, shares=[0.7, 0.3]))
    assert abs(float(jnp.mean(batch.sign != batch.label)) - 0.2) < 0.03
    assert abs(float(np.mean(np.asarray(batch.group))) - 0.3) < 0.03
    signal = np.asarray(batch.patches[0])
    for feature in (0, 1):
        here = np.asarray(batch.group) == feature
        assert not signal[here][:, 2 * (1 - feature) : 2 * (2 - feature)].any()  # a plane of its own
        np.testing.assert_allclose(np.linalg.norm(signal[here], axis=1), feature + 1.0, rtol=1e-5)


def test_noise_is_projected_or_not():
    law = ts.laws.XOR(2.0)
    assert not np.asarray(draw(law).patches[1])[:, :2].any()
    whole = replace(law, projected=False)
    assert abs(float(draw(whole).patches[1][:, 0].std()) - 1) < 0.05


@pytest.mark.parametrize("wrong", [{"cosine": 1.5}, {"signal": -1.0}, {"flip": 0.6}, {"noise": -1.0}])
def test_numbers_out_of_range(wrong):
    with pytest.raises(ts.InvalidArgument, match=next(iter(wrong))):
        ts.laws.XOR(**{"signal": 1.0, **wrong})


def test_one_share_for_each_feature():
    with pytest.raises(ts.InvalidArgument, match="shares"):
        ts.laws.XOR([1.0, 2.0], shares=[1.0])
