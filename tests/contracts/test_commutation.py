"""Which rules a reduced frame carries: those that commute with rotations. A new rule gets a row."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax
import pytest

import theorysim as ts


def broken() -> optax.GradientTransformation:
    """Something that cannot be probed."""

    def update(updates, state, params=None):
        raise ValueError("no such layer\nand a second line")

    return optax.GradientTransformation(lambda params: (), update)


def objective(model, key):
    return jnp.float32(0)


def federated(transformation):
    nothing = ts.laws.Batch((), jnp.ones((2, 1)), jnp.ones((2, 1)))
    return ts.dynamics.federated(lambda _: objective, nothing, transformation, local_steps=2, weights=jnp.eye(2))


def gradient_descent(*transformations):
    return ts.dynamics.gradient_descent(objective, optax.chain(*transformations))


#: name -> rule, given a number that may be traced
COMMUTE = {
    "sgd": lambda lr: gradient_descent(optax.sgd(lr)),
    "momentum": lambda lr: gradient_descent(optax.sgd(lr, momentum=0.9, nesterov=True)),
    "weight decay": lambda lr: gradient_descent(optax.add_decayed_weights(0.1), optax.sgd(lr)),
    "clip_by_global_norm": lambda lr: gradient_descent(optax.clip_by_global_norm(1.0), optax.sgd(lr)),
    "sam": lambda lr: ts.dynamics.sam(objective, optax.sgd(lr, momentum=0.9), rho=lr),
    "accumulated": lambda lr: ts.dynamics.accumulated(gradient_descent(optax.sgd(lr)), lambda before, after, key: {}),
    "driven": lambda lr: ts.dynamics.driven(gradient_descent(optax.sgd(lr)), lambda model, key: model),
    "federated sgd": lambda lr: federated(optax.sgd(lr)),
}
DO_NOT = {
    "adam": lambda lr: gradient_descent(optax.adam(lr)),
    "sign_sgd": lambda lr: gradient_descent(optax.sign_sgd(lr)),
    "elementwise clip": lambda lr: gradient_descent(optax.clip(1.0), optax.sgd(lr)),
    "not to be probed": lambda lr: gradient_descent(broken()),
    "sam adam": lambda lr: ts.dynamics.sam(objective, optax.adam(lr), rho=lr),
    "accumulated adam": lambda lr: ts.dynamics.accumulated(gradient_descent(optax.adam(lr)), lambda before, after, key: {}),
    "driven adam": lambda lr: ts.dynamics.driven(gradient_descent(optax.adam(lr)), lambda model, key: model),
    "federated adam": lambda lr: federated(optax.adam(lr)),
    "layers": lambda lr: ts.dynamics.layers(lambda tokens, key: (lr * tokens, jnp.eye(2))),
    "elastic": lambda lr: ts.dynamics.elastic(objective, optax.sgd(lr), ts.models.TwoLayerCNN(jnp.eye(2)), None, 1.0),
}


@pytest.mark.parametrize("row", COMMUTE)
def test_accepted(row):
    COMMUTE[row](0.1).commutes()


def test_accepted_with_a_traced_number():
    def inside(lr):
        COMMUTE["momentum"](lr).commutes()
        return lr

    assert float(jax.jit(inside)(0.25)) == 0.25


@pytest.mark.parametrize("row", DO_NOT)
def test_refused_in_one_line(row):
    with pytest.raises(ts.Refused, match="reduced frame") as refusal:
        DO_NOT[row](0.1).commutes()
    assert "\n" not in str(refusal.value)
    assert "frame=ambient" in str(refusal.value)


def test_refused_with_a_traced_number():
    def inside(lr):
        DO_NOT["adam"](lr).commutes()
        return lr

    with pytest.raises(ts.Refused, match="does not commute"):
        jax.eval_shape(inside, 0.1)
