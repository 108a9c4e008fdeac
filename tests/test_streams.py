"""Named streams do not depend on each other."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theorysim as ts

names = st.lists(st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True), min_size=3, max_size=3, unique=True)


def bits(streams) -> dict[str, bytes]:
    return {name: np.asarray(jax.random.key_data(key)).tobytes() for name, key in streams._asdict().items()}


@given(names, st.permutations(range(3)), st.integers(0, 2**31 - 1))
def test_order_and_other_names_do_not_matter(chosen, order, seed):
    key = jax.random.key(seed)
    all_of, turned = bits(ts.streams(key, *chosen)), bits(ts.streams(key, *(chosen[i] for i in order)))
    assert all_of == turned
    assert len(set(all_of.values())) == 3
    alone = bits(ts.streams(key, chosen[0]))
    assert alone[chosen[0]] == all_of[chosen[0]]


def test_another_key_gives_other_streams():
    one, other = (bits(ts.streams(jax.random.key(seed), "train", "test")) for seed in (0, 1))
    assert not set(one.values()) & set(other.values())


@pytest.mark.parametrize("bad", [("two words",), ("",), ("_hidden",), ("train", "train")])
def test_refused(bad):
    with pytest.raises(ts.InvalidArgument, match="streams"):
        ts.streams(jax.random.key(0), *bad)
