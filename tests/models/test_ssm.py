"""State-space layers against explicit loops, and the two scans against each other."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import theorysim as ts

B, K, D, H = 2, 9, 3, 4


@pytest.fixture
def parts():
    keys = jax.random.split(jax.random.key(0), 8)
    return {
        "tokens": jax.random.normal(keys[0], (B, K, D)),
        "write": jax.random.normal(keys[1], (H, D)),
        "read": jax.random.normal(keys[2], (H, D)),
        "rate": jnp.exp(jax.random.normal(keys[3], (D, H))),
        "step": (jax.random.normal(keys[4], (D, 2)), jax.random.normal(keys[5], (2, D))),
        "step_bias": jax.random.normal(keys[6], (D,)),
        "skip": jax.random.normal(keys[7], (D,)),
    }


def by_hand(parts, hold):
    """The definition, token by token, channel by channel."""
    tokens, rate = np.asarray(parts["tokens"], float), np.asarray(parts["rate"], float)
    write, read = (np.asarray(parts[name], float) for name in ("write", "read"))
    said = np.zeros((B, K, D))
    for b in range(B):
        h = np.zeros((D, H))
        for t in range(K):
            u = tokens[b, t]
            step = np.log1p(np.exp(u @ np.asarray(parts["step"][0]) @ np.asarray(parts["step"][1]) + parts["step_bias"]))
            for c in range(D):
                decay = np.exp(-step[c] * rate[c])
                gain = (1 - decay) / rate[c] if hold == "zero" else step[c]
                h[c] = decay * h[c] + gain * (write @ u) * u[c]
                said[b, t, c] = (read @ u) @ h[c] + parts["skip"][c] * u[c]
    return said


@pytest.mark.parametrize("hold", ["zero", "euler"])
def test_selective(parts, hold):
    options = {name: parts[name] for name in ("rate", "step", "step_bias", "skip")}
    layer = ts.models.S6(parts["write"], parts["read"], **options, hold=hold)
    wanted = by_hand(parts, hold)
    np.testing.assert_allclose(layer(parts["tokens"]), wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(layer(parts["tokens"], channel=-1)[..., 0], wanted[..., -1], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(layer(parts["tokens"], channel=1)[..., 0], wanted[..., 1], rtol=1e-4, atol=1e-4)
    if hold == "euler":  # planted: the other hold
        assert np.max(abs(wanted - by_hand(parts, "zero"))) > 0.01


def test_the_two_scans_agree(parts):
    options = {name: parts[name] for name in ("rate", "step", "step_bias", "skip")}
    layer = ts.models.S6(parts["write"], parts["read"], **options)
    static = ts.models.S4(parts["write"].T, parts["read"].T, rate=parts["rate"], step_bias=parts["step_bias"])
    block = ts.models.MambaBlock(jax.random.key(1), D, states=H)
    for model in (layer, static, block):
        one, other = (model(parts["tokens"], scan=scan) for scan in ("sequential", "associative"))
        np.testing.assert_allclose(one, other, atol=1e-5 * float(1 + abs(one).max()))
        assert float(abs(one - model(parts["tokens"][:, ::-1])[:, ::-1]).max()) > 0.01  # the order of tokens matters


def test_static_is_a_convolution(parts):
    layer = ts.models.S4(parts["write"].T, parts["read"].T, rate=parts["rate"], step_bias=parts["step_bias"])
    kernel, tokens = np.asarray(layer.kernel(K)), np.asarray(parts["tokens"])
    wanted = np.stack([[np.convolve(tokens[b, :, c], kernel[c])[:K] for c in range(D)] for b in range(B)]).swapaxes(1, 2)
    np.testing.assert_allclose(layer(parts["tokens"]), wanted, rtol=1e-4, atol=1e-5)
    # linear in the tokens: no layer like it multiplies labels and inputs
    np.testing.assert_allclose(layer(2 * parts["tokens"]), 2 * layer(parts["tokens"]), rtol=1e-5)


def test_causal_and_convolved(parts):
    """A later token changes nothing before it; the block's convolution sees the last four."""
    model = ts.models.Mamba(jax.random.key(0), D, 1, width=8, depth=2, states=H)
    changed = parts["tokens"].at[:, 5].add(1.0)
    moved = np.asarray(abs(model(changed) - model(parts["tokens"])).max(axis=(0, 2)))
    assert np.all(moved[:5] == 0)
    assert np.all(moved[5:] > 0)


def test_only_the_selection_moves():
    from flax import nnx

    for make in (ts.models.S4, ts.models.S6):
        few = make(jnp.ones((D, D)), jnp.ones((D, D)), trained="selection")
        every = make(jnp.ones((D, D)), jnp.ones((D, D)))
        count = [len(jax.tree.leaves(nnx.state(model, nnx.Param))) for model in (few, every)]
        assert count[1] == count[0] + 2


@pytest.mark.parametrize("bad", [{"hold": "first"}, {"trained": "some"}])
def test_bad_words(bad):
    with pytest.raises(ts.InvalidArgument):
        ts.models.S6(jnp.ones((H, D)), jnp.ones((H, D)), **bad)
    with pytest.raises(ts.InvalidArgument):
        ts.models.ssm.recurrence(jnp.ones((1, 1)), jnp.ones((1, 1)), scan="parallel")
    with pytest.raises(ts.InvalidArgument):
        ts.models.MambaBlock(jax.random.key(0), 0)
    with pytest.raises(ts.InvalidArgument):
        ts.models.Mamba(jax.random.key(0), 1, 1, width=4, depth=0)
