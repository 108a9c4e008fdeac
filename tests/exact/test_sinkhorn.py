"""Entropic optimal transport: marginals, limits, and a plain implementation beside it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import theorysim as ts

sinkhorn = ts.exact.sinkhorn
compiled = jax.jit(sinkhorn, static_argnums=2)


def plain(cost, strength, steps, rows, columns):
    """The textbook's iteration, which underflows for large costs."""
    kernel = np.exp(-cost / strength)
    u, v = np.ones(len(rows)), np.ones(len(columns))
    for _ in range(steps):
        u = rows / (kernel @ v)
        v = columns / (kernel.T @ u)
    return u[:, None] * kernel * v


@given(st.integers(0, 2**31 - 1), st.floats(0.05, 2))
def test_marginals_and_the_textbook(seed, strength):
    rng = np.random.default_rng(seed)
    cost, rows, columns = rng.uniform(size=(6, 4)), rng.uniform(0.5, 1, 6), rng.uniform(0.5, 1, 4)
    rows, columns = rows / rows.sum(), columns / columns.sum()
    with jax.enable_x64(True):
        found = np.asarray(compiled(jnp.asarray(cost), strength, 400, jnp.asarray(rows), jnp.asarray(columns)))
    np.testing.assert_allclose(found, plain(cost, strength, 400, rows, columns), atol=1e-10)
    np.testing.assert_allclose(found.sum(axis=1), rows, atol=1e-4)
    np.testing.assert_allclose(found.sum(axis=0), columns, atol=1e-12)


def test_uniform_by_default_in_float32():
    cost = jnp.asarray(np.random.default_rng(0).uniform(size=(40, 10)), jnp.float32)
    plan = sinkhorn(cost, 0.05, 300)
    assert plan.dtype == jnp.float32
    np.testing.assert_allclose(plan.sum(axis=1), 1 / 40, atol=1e-6)
    np.testing.assert_allclose(plan.sum(axis=0), 1 / 10, atol=1e-6)


def test_weak_entropy_gives_the_best_assignment():
    """At costs of a thousand strengths, where the textbook's kernel is zero."""
    cost = np.random.default_rng(1).uniform(size=(5, 5))
    plan = sinkhorn(jnp.asarray(cost, jnp.float32), 1e-3, 3000)
    assert np.argmax(plan, axis=1).tolist() == linear_sum_assignment(cost)[1].tolist()
    with np.errstate(all="ignore"):
        assert not np.isfinite(plain(2 * cost + 1, 1e-3, 10, np.full(5, 0.2), np.full(5, 0.2))).all()


def test_strong_entropy_gives_the_product():
    plan = sinkhorn(jnp.asarray(np.random.default_rng(2).uniform(size=(3, 5)), jnp.float32), 1e4, 5)
    np.testing.assert_allclose(plan, 1 / 15, rtol=1e-3)


@given(st.integers(0, 2**31 - 1))
def test_what_is_added_to_a_row_or_column_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    cost, row, column = rng.uniform(size=(4, 3)), rng.normal(size=(4, 1)), rng.normal(size=3)
    one, other = (np.asarray(compiled(jnp.asarray(c, jnp.float32), 0.3, 300)) for c in (cost, cost + row + column))
    np.testing.assert_allclose(one, other, atol=1e-5)


def test_a_single_normalisation_is_no_transport():
    """A planted defect: a softmax of each column has the marginals of the columns, but not those of the rows."""
    cost = jnp.asarray(np.random.default_rng(3).uniform(size=(6, 4)), jnp.float32)
    defect = jax.nn.softmax(-cost / 0.05, axis=0) / 4
    np.testing.assert_allclose(defect.sum(axis=0), 1 / 4, atol=1e-6)
    assert abs(defect.sum(axis=1) - 1 / 6).max() > 1e-2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"strength": 0.0}, "strength = 0"),
        ({"steps": 0}, "steps = 0"),
        ({"rows": jnp.ones(3)}, "rows = "),
        ({"columns": jnp.ones(2)}, "columns = "),
    ],
)
def test_refused(options, said):
    with pytest.raises(ts.InvalidArgument, match=said):
        sinkhorn(jnp.ones((2, 3)), **{"strength": 0.1, "steps": 5, **options})
