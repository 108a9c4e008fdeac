"""A law simple enough that its bounds are known: the mean of n standard Gaussians times sigma, with n and sigma traced."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import theorysim as ts
from theorysim.theory import Bound


@dataclass(frozen=True)
class Params:
    n: float = ts.field(100.0, low=1, whole=True)
    sigma: float = ts.field(1.0, low=0)


def trial(p, key):
    return {"size": jnp.abs(p.sigma * jax.random.normal(key) / jnp.sqrt(p.n))}


MEAN = (2 / np.pi) ** 0.5
DELTA = 0.2


def deep(p):
    return {"n >= 10": np.log10(p.n / 10)}


def bound(right, sense="<=", delta=0.0, constants=None):
    """A bound on |mean|, for n >= 10."""
    return Bound(
        "planted", "|mean| <= ..", "test", lambda ds: ds["size"], right, sense, deep, delta, constants or {}, tolerance=0.0
    )


@pytest.fixture
def gaussian():
    """The trial and its params."""
    return trial, Params()


#: true statements: an equality as two inequalities, and a tail bound
TRUE = {
    "upper": bound(lambda p: MEAN * p.sigma * p.n**-0.5),
    "lower": bound(lambda p: MEAN * p.sigma * p.n**-0.5, ">="),
    "tail": bound(lambda p: p.sigma * (2 * np.log(2 / DELTA) / p.n) ** 0.5, delta=DELTA),
}
#: the same with one mistake each
FALSE = {
    "exponent of n off by a half": bound(lambda p: MEAN * p.sigma / p.n),
    "exponent of sigma off by a half": bound(lambda p: MEAN * p.sigma**0.5 * p.n**-0.5),
    "a factor n is missing": bound(lambda p: MEAN * p.sigma * p.n**0.5, ">="),
    "the sense is turned": bound(lambda p: p.sigma * (2 * np.log(2 / DELTA) / p.n) ** 0.5, ">=", DELTA),
    "tail with the wrong exponent": bound(lambda p: p.sigma * (2 * np.log(2 / DELTA)) ** 0.5 / p.n, delta=DELTA),
}
