"""InvICL: its mask in linear attention against the recursion, its invariance, and the graphs' counts."""

from __future__ import annotations

from itertools import permutations, product

import jax
import numpy as np
import pytest

import theorysim as ts

theory, masks = ts.theory.invariant_icl, ts.models.masks


def message_passing(mask, w, x, y, rate, query):
    """One layer of linear attention under a mask over twice the examples and a query: second copies, then the query."""
    n, mask = len(y), np.asarray(mask)
    residual = x @ w - y
    first, second = mask[n : 2 * n, :n], mask[2 * n, n : 2 * n]
    moved = residual - rate * (first * (x @ x.T)) @ residual
    return query @ w - rate * (query @ x.T * second) @ moved


def test_the_recursion_is_linear_attention_under_the_mask():
    rng = np.random.default_rng(0)
    x, y, w, query = rng.normal(size=(6, 3)), rng.normal(size=6), rng.normal(size=3), rng.normal(size=3)
    stated = query @ theory.step(w, x, y, 0.05)
    assert np.isclose(message_passing(masks.invariant(6), w, x, y, 0.05, query), stated, rtol=1e-13)
    # if examples saw themselves too, it would be another step
    leaky = np.asarray(masks.invariant(6)).copy()
    leaky[6:12, :6] = True
    assert not np.isclose(message_passing(leaky, w, x, y, 0.05, query), stated, rtol=1e-3)


def test_the_step_does_not_know_the_order():
    rng = np.random.default_rng(1)
    x, y, w, turn = rng.normal(size=(6, 3)), rng.normal(size=6), rng.normal(size=3), rng.permutation(6)
    np.testing.assert_allclose(theory.step(w, x[turn], y[turn], 0.05), theory.step(w, x, y, 0.05), rtol=1e-13)


def every_mask(n):
    free = [(i, j) for i in range(n) for j in range(n) if i != j]
    for bits in product([False, True], repeat=len(free)):
        mask = np.eye(n, dtype=bool)
        mask[tuple(np.transpose(free))] = bits
        yield mask


def test_no_single_mask_has_all_three():
    found = [*every_mask(3)]
    assert sum(not theory.leaks(mask) for mask in found) == 25  # labelled directed acyclic graphs
    for mask in found:
        turned = all(np.array_equal(mask[np.ix_(o, o)], mask) for o in permutations(range(3)))
        assert turned == theory.is_invariant(mask)
        assert not (turned and not theory.leaks(mask) and theory.depends(mask))


@pytest.mark.parametrize("kind", range(4))
def test_a_transformer_under_each_mask(kind, key):
    """Exact in x64: the order matters for the causal mask alone, own labels leak through the prefix alone."""
    with jax.enable_x64(True):
        paper = ts.load("invariant_icl")
        found = ts.sweep(paper.trial, paper.params(setting="properties", n=4, kind=float(kind)), seeds=1, x64=True).isel(seed=0)
    assert (found.order > 1e-9) == (kind == 0)
    assert (found.own_label > 1e-9) == (kind == 1)
    assert (found.other_label > 1e-9) == (kind != 2)
