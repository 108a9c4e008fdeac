"""Masks as graphs: what a stack of layers lets through."""

from __future__ import annotations

import numpy as np
import pytest

import theorysim as ts
from theorysim.models import masks


def reach(mask, layers):
    """Which tokens each token depends on after some layers."""
    seen = np.eye(len(mask), dtype=bool)
    for _ in range(layers):
        seen = (np.asarray(mask, int) @ seen) > 0
    return seen


def test_every_token_sees_itself():
    for mask in (masks.full(4), masks.causal(4), masks.window(4, 2), masks.prefix(4, 2), masks.bag(3), masks.invariant(3)):
        assert np.diag(mask).all()


def test_a_window_reaches_further_with_depth():
    assert reach(masks.window(10, 3), 3)[9].tolist() == [False] * 3 + [True] * 7
    assert np.array_equal(masks.window(6, 6), masks.causal(6))
    assert np.array_equal(masks.window(6, 6, sides=2), masks.full(6))


def test_prefixes_are_between_causal_and_full():
    assert np.array_equal(masks.prefix(5, 0), masks.causal(5))
    assert np.array_equal(masks.prefix(5, 5), masks.full(5))


@pytest.mark.parametrize("n", [1, 4])
def test_invariant_prompts_do_not_leak(n):
    """No second copy depends on the first copy of its own example, at any depth, and the query on all examples."""
    mask = masks.invariant(n)
    assert int(mask.sum()) == n + n**2 + (n + 1)
    seen = reach(mask, 5)
    for i in range(n):
        assert not seen[n + i, i]
        assert seen[n + i, [j for j in range(n) if j != i]].all()
    if n > 1:
        assert seen[2 * n].all()


def test_lifted_masks_keep_what_the_examples_see():
    assert np.array_equal(masks.lifted(masks.causal(4), (2, 2, 2, 1)), masks.causal(7))
    lifted = np.asarray(masks.lifted(masks.invariant(2), (2,) * 4 + (1,)))
    seen, owner = reach(lifted, 5), np.repeat(np.arange(5), [2, 2, 2, 2, 1])
    for i in range(2):  # no input of a second copy depends on a token of its own first copy
        assert not seen[4 + 2 * i, owner == i].any()
        assert seen[4 + 2 * i, owner == 1 - i].all()
    blind = masks.lifted(~np.eye(2, dtype=bool), (2, 1))
    assert np.asarray(blind).astype(int).tolist() == [[0, 0, 1], [0, 0, 1], [1, 1, 0]]
    with pytest.raises(ts.InvalidArgument, match="sizes"):
        masks.lifted(masks.causal(3), (2, 1))


def test_bad_sizes_are_told():
    for call in (lambda: masks.full(0), lambda: masks.window(3, 0), lambda: masks.prefix(3, 4), lambda: masks.invariant(0)):
        with pytest.raises(ts.InvalidArgument):
            call()
    with pytest.raises(ts.InvalidArgument, match="sides"):
        masks.window(3, 1, sides=3)
