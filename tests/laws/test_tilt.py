"""Tilted signals keep their length, make the angle they are given, and lie in planes of their own."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import theorysim as ts

N, DIM = 2000, 30
law = ts.laws.Features([[3.0, 4.0]], noise=0.5)


@pytest.fixture(scope="module")
def drawn():
    """A batch, the same tilted by 50 degrees, and the unit vectors of the tilted signals with the class taken off."""
    keys = ts.streams(jax.random.key(0), "law", "noise", "towards")
    batch = law(keys.law, jax.random.normal(keys.noise, (N, DIM)))
    turned = ts.laws.tilt(batch, jax.random.normal(keys.towards, (N, DIM)), jnp.radians(50.0))
    return batch, turned, np.asarray(batch.sign[:, None] * turned.patches[0]) / 5


def test_length_angle_and_the_rest(drawn):
    batch, turned, unit = drawn
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(unit[:, :2] @ [0.6, 0.8], np.cos(np.radians(50)), rtol=1e-5)
    assert turned.patches[0].shape == (N, DIM)
    np.testing.assert_array_equal(turned.patches[1], batch.patches[1])
    np.testing.assert_array_equal(turned.label, batch.label)


def test_planes_are_random(drawn):
    """The parts off the fixed span have mean 0 whatever the class, and no direction is preferred."""
    off = drawn[2][:, 2:] / np.sin(np.radians(50))
    assert np.abs(off.mean(axis=0)).max() < 5 / np.sqrt(N * (DIM - 2))
    np.testing.assert_allclose((off**2).mean(axis=0) * (DIM - 2), 1, atol=0.3)


def test_no_tilt_and_a_tilt_for_each(drawn):
    batch = drawn[0]
    towards = jax.random.normal(jax.random.key(1), (N, DIM))
    np.testing.assert_allclose(ts.laws.tilt(batch, towards, 0.0).patches[0][:, :2], batch.patches[0], atol=1e-6)
    angle = jnp.linspace(0, 3, N)
    unit = batch.sign[:, None] * ts.laws.tilt(batch, towards, angle).patches[0] / 5
    np.testing.assert_allclose(unit[:, :2] @ jnp.array([0.6, 0.8]), np.cos(angle), atol=1e-5)


def test_a_reduced_frame_has_the_same_gram_matrix():
    """A block of vectors of the frame: lengths and angles are those asked for, though the coordinates are few."""
    space = ts.exact.frame(jax.random.key(2), 1e6, fixed=2, train=20, towards=20)
    turned = ts.laws.tilt(law(jax.random.key(3), space.train), space.towards, jnp.radians(70.0)).patches[0]
    np.testing.assert_allclose(jnp.linalg.norm(turned, axis=1), 5, rtol=1e-5)
    cosines = turned @ turned.T / 25
    # in a million dimensions the random parts are orthogonal: what remains is cos^2 of the tilt
    others = np.abs(cosines[~np.eye(20, dtype=bool)])
    np.testing.assert_allclose(others, np.cos(np.radians(70)) ** 2, atol=0.01)
