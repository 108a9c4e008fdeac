"""The law of nodes on a stochastic block model: its edges, its averages, and the controls that it offers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import theorysim as ts

Graph = ts.laws.SignalNoiseGraph
N, WITHIN, BETWEEN, LEVEL = 300, 0.4, 0.1, 1e-4
LAWS = {
    "gcn": Graph(3.0, WITHIN, BETWEEN, noise=2.0),
    "mlp": Graph(3.0, WITHIN, BETWEEN, noise=2.0, average=False),
    "half": Graph(3.0, WITHIN, BETWEEN, noise=2.0, average=0.5),
    "rewired": Graph(3.0, WITHIN, BETWEEN, noise=2.0, rewired=True),
    "no edges": Graph(3.0, 0.0, 0.0, noise=2.0),
}


@pytest.fixture(scope="module")
def drawn():
    """Each law's own nodes, edges and batch from one key, and a batch of turned vectors."""

    def draw(key):
        vectors = jax.random.normal(jax.random.fold_in(key, 1), (N, 6))
        turn = jnp.eye(6).at[1:, 1:].set(jnp.linalg.qr(jax.random.normal(key, (5, 5)))[0])  # leaves the signal where it is
        found = {"vectors": vectors, "turn": turn, "plain": ts.laws.SignalNoise(3.0, 2.0, projected=True)(key, vectors)}
        for name, law in LAWS.items():
            nodes = law.nodes(key, vectors)
            found[name] = (nodes, law.adjacency(key, nodes.sign), law(key, vectors), law(key, vectors @ turn))
        return found

    return jax.device_get(jax.jit(draw)(jax.random.key(5)))


def pairs(edges: np.ndarray, sign: np.ndarray, same: bool) -> np.ndarray:
    """The entries above the diagonal between nodes of one class, or of different ones."""
    upper = np.triu(np.ones((N, N), bool), 1)
    return edges[upper & ((sign[:, None] == sign[None, :]) == same)]


@pytest.mark.parametrize(("same", "rate"), [(True, WITHIN), (False, BETWEEN)])
def test_edges_have_their_rates(drawn, same, rate):
    """Binomial tests at level 1e-4; a rate .02 higher, and that of the other kind of pair, are rejected."""
    nodes, edges, *_ = drawn["gcn"]
    found = pairs(edges, nodes.sign, same)
    linked = int(found.sum())
    assert stats.binomtest(linked, found.size, rate).pvalue > LEVEL
    assert stats.binomtest(linked, found.size, rate + 0.02).pvalue < LEVEL
    assert stats.binomtest(linked, found.size, WITHIN + BETWEEN - rate).pvalue < LEVEL


@pytest.mark.parametrize("name", LAWS)
def test_graphs_are_simple(drawn, name):
    """Symmetric, without loops, no multiple edges."""
    edges = drawn[name][1]
    np.testing.assert_array_equal(edges, edges.T)
    assert not np.diagonal(edges).any()
    assert set(np.unique(edges)) <= {0.0, 1.0}


def test_edges_are_independent(drawn):
    """Degrees within a class vary as sums of independent edges do; an edge drawn once for each node would vary far more."""
    nodes, edges, *_ = drawn["gcn"]
    sizes = {side: int((nodes.sign == side).sum()) for side in (1, -1)}
    for side in (1, -1):
        variance = (sizes[side] - 1) * WITHIN * (1 - WITHIN) + sizes[-side] * BETWEEN * (1 - BETWEEN)
        degrees = edges.sum(axis=1)[nodes.sign == side]
        assert 0.6 < degrees.var(ddof=1) / variance < 1.5


def test_patches_are_means_over_node_and_neighbours(drawn):
    nodes, edges, batch, _ = drawn["gcn"]
    for own, seen in zip(nodes.patches, batch.patches, strict=True):
        for i in (0, 7, N - 1):
            group = [i, *np.flatnonzero(edges[i])]
            np.testing.assert_allclose(seen[i], own[group].mean(axis=0), rtol=1e-4, atol=1e-5)


def test_without_averaging_the_draws_are_those_of_the_law_without_a_graph(drawn):
    for name in ("mlp", "no edges"):
        for mine, plain in zip(jax.tree.leaves(drawn[name][2]), jax.tree.leaves(drawn["plain"]), strict=True):
            np.testing.assert_allclose(mine, plain, rtol=1e-6, atol=1e-6)


def test_a_share_of_averaging_is_between(drawn):
    own, half, full = (drawn[name][2].patches for name in ("mlp", "half", "gcn"))
    for a, b, c in zip(own, half, full, strict=True):
        np.testing.assert_allclose(b, (a + c) / 2, rtol=1e-4, atol=1e-5)


def test_noise_stays_orthogonal_to_the_signal(drawn):
    assert all(not drawn[name][2].patches[1][:, 0].any() for name in LAWS)


def agreement(edges: np.ndarray, sign: np.ndarray) -> float:
    return float(sign @ edges @ sign / edges.sum())


def test_rewiring_keeps_degrees_and_loses_homophily(drawn):
    """The agreement over edges is (p - s)/(p + s) = .6 on the graph; on the rewired one within 4 standard deviations of 0."""
    nodes, edges, *_ = drawn["gcn"]
    moved = drawn["rewired"][1]
    np.testing.assert_array_equal(np.sort(edges.sum(axis=1)), np.sort(moved.sum(axis=1)))
    assert agreement(edges, nodes.sign) == pytest.approx(0.6, abs=0.05)
    # sum of y y' over edges: its spread over permutations is that of a quadratic form, here about sqrt(2 edges)
    assert abs(agreement(moved, nodes.sign)) < 4 * (2 / edges.sum()) ** 0.5 * 3


@pytest.mark.parametrize("name", LAWS)
def test_commutes_with_rotations(drawn, name):
    """Turned vectors give turned patches: why a reduced frame is exact. A mean over coordinates would not."""
    _, _, batch, turned = drawn[name]
    np.testing.assert_allclose(turned.patches[1], batch.patches[1] @ drawn["turn"], atol=1e-5)
    np.testing.assert_array_equal(turned.patches[0], batch.patches[0])
    centred = batch.patches[1] - batch.patches[1].mean(axis=1, keepdims=True)
    moved = turned.patches[1] - turned.patches[1].mean(axis=1, keepdims=True)
    assert np.abs(moved - centred @ drawn["turn"]).max() > 1e-2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"signal": -1.0}, "signal = -1.0: must be in"),
        ({"noise": -0.1}, "noise = -0.1: must be in"),
        ({"within": 1.1}, "within = 1.1: must be in"),
        ({"between": -0.1}, "between = -0.1: must be in"),
        ({"average": 2.0}, "average = 2.0: must be in"),
        ({"rewired": float("nan")}, "rewired = nan: must be in"),
    ],
)
def test_refused(arguments, said):
    with pytest.raises(ts.InvalidArgument, match=said) as refusal:
        Graph(**({"signal": 1.0, "within": 0.5, "between": 0.1} | arguments))
    assert "\n" not in str(refusal.value)
