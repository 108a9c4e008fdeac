"""What every model, objective and rule must do when it trains. A new one gets a row in its table."""

from __future__ import annotations

import inspect
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import theorysim as ts
from theorysim.dynamics import Dynamics, Training

CNN = ts.models.TwoLayerCNN
#: name -> model, given its filters
MODELS = {
    "TwoLayerCNN": lambda filters: CNN(filters),
    "TwoLayerCNN cubed": lambda filters: CNN(filters, power=3, over_filters="sum"),
    "TwoLayerCNN linear": lambda filters: CNN(filters, activation="identity"),
    "TwoLayerCNN biased": lambda filters: CNN(filters, bias=0.1 * filters[:, 0], over_patches="mean"),
    "ThreeLayerCNN": lambda filters: ts.models.ThreeLayerCNN(filters, second=2 * filters[:, :4]),
    "TwoLayerLinear": lambda filters: ts.models.TwoLayerLinear(filters, filters[:, 0]),
    "TwoLayerLinear frozen": lambda filters: ts.models.TwoLayerLinear(filters, filters[:, 0], trained="first"),
    "Prompt": lambda filters: ts.models.Prompt(filters[0]),
    "Prompt encoded": lambda filters: ts.models.Prompt(filters[0], jnp.eye(5, dtype=filters.dtype)[::-1] + 0.5),
}
#: name -> objective, given a batch
OBJECTIVES = {
    "logistic": ts.objectives.logistic,
    "hinge": ts.objectives.hinge,
    "square": ts.objectives.square,
    "regression": ts.objectives.regression,
    "logistic with label noise": lambda batch: ts.objectives.with_label_noise(
        ts.objectives.logistic_loss, batch, ts.objectives.gaussian(1.0, 0.05)
    ),
    "softmax": ts.objectives.softmax,
    "mae": ts.objectives.mae,
    "irm": lambda batch: ts.objectives.irm(of_two_environments(batch), 1.0, 2),
    "vrex": lambda batch: ts.objectives.vrex(of_two_environments(batch), 1.0, 2),
    "feat": lambda batch: ts.objectives.feat(of_two_environments(batch), batch.label != batch.sign, 0.1, 2),
}


def of_two_environments(batch):
    return batch._replace(group=jnp.arange(batch.label.size) % 2)


#: name -> rule, given an objective and a traced number
RULES = {
    "gradient_descent": lambda objective, lr: ts.dynamics.gradient_descent(objective, optax.sgd(lr)),
    "gradient_descent momentum": lambda objective, lr: ts.dynamics.gradient_descent(objective, optax.sgd(lr, momentum=0.9)),
    "gradient_descent adam": lambda objective, lr: ts.dynamics.gradient_descent(objective, optax.adam(lr)),
    "sam": lambda objective, lr: ts.dynamics.sam(objective, optax.sgd(lr), rho=0.05),
    "sam momentum": lambda objective, lr: ts.dynamics.sam(objective, optax.sgd(lr, momentum=0.9), rho=lr),
    "accumulated": lambda objective, lr: ts.dynamics.accumulated(
        ts.dynamics.gradient_descent(objective, optax.sgd(lr)), lambda before, after, key: {"loss": objective(after.model, key)}
    ),
    "driven": lambda objective, lr: ts.dynamics.driven(
        ts.dynamics.gradient_descent(objective, optax.sgd(lr)), lambda model, key: model
    ),
    "elastic": lambda objective, lr: ts.dynamics.elastic(objective, optax.sgd(lr), *held(), strength=0.1),
    "until": lambda objective, lr: ts.dynamics.until(ts.dynamics.gradient_descent(objective, optax.sgd(lr)), objective, 0.01),
    "federated": lambda objective, lr: of_client(federation(objective, optax.sgd(lr))),
}


def held():
    """An anchor for the elastic rule, and how much each of its parameters matters."""
    anchor = CNN(jnp.zeros((4, 5)))
    return anchor, jax.tree.map(jnp.ones_like, nnx.state(anchor, nnx.Param))


def federation(objective, transformation) -> Dynamics:
    """Two clients with one objective, two local steps a round."""
    nothing = ts.laws.Batch((), jnp.ones((2, 1)), jnp.ones((2, 1)))
    average = jnp.full((2, 2), 0.5)
    return ts.dynamics.federated(lambda _: objective, nothing, transformation, local_steps=2, weights=average)


def of_client(rule: Dynamics) -> Dynamics:
    """A federated rule as its first client sees it: after a round, all that receive the same average are alike."""

    def step(state, key):
        moved = rule.step(rule.init(state.model), key)
        return replace(state, params=jax.tree.map(lambda leaf: leaf[0], moved.params))

    return Dynamics(lambda model: Training.begin(model, lambda _: None), step, rule.commutes)


def naive(objective, lr) -> Dynamics:
    """A planted defect: every leaf is taken for a parameter."""
    sound = RULES["gradient_descent"](objective, lr)

    def init(model):
        graph, everything = nnx.split(model)
        return Training(everything, nnx.State({}), optax.sgd(lr).init(everything), graph)

    return Dynamics(init, sound.step, sound.commutes)


# each item beside the first ones of the other two tables
CASES = {
    **{f"model {name}": (model, OBJECTIVES["logistic"], RULES["gradient_descent"]) for name, model in MODELS.items()},
    **{
        f"objective {name}": (MODELS["TwoLayerCNN"], made, RULES["gradient_descent"])
        for name, made in [*OBJECTIVES.items()][1:]
    },
    **{f"rule {name}": (MODELS["TwoLayerCNN"], OBJECTIVES["logistic"], rule) for name, rule in [*RULES.items()][1:]},
}
#: rows of models without any leaf but parameters
ALL_TRAINED = {"model TwoLayerLinear"}
PLANTED = (MODELS["TwoLayerCNN"], OBJECTIVES["logistic"], naive)
STEPS, KEYS = 5, 4
cases = pytest.mark.parametrize("case", CASES)
both = pytest.mark.parametrize("x64", [False, True])


def draw(key):
    """What all rows train on: filters and a batch."""
    keys = ts.streams(key, "filters", "batch", "noise")
    batch = ts.laws.SignalNoise(signal=2.0, flip=0.2)(keys.batch, jax.random.normal(keys.noise, (6, 5)))
    return 0.3 * jax.random.normal(keys.filters, (4, 5)), batch


def train(case, filters, batch, key, lr):
    """Leaves before and after a few steps, and what the model gives and the objective says."""
    make, objective, rule = case
    model, loss = make(filters), objective(batch)
    moved = ts.simulate(rule(loss, lr), model, key=key, times=STEPS, observe=lambda state: {}).state.model
    both = [[jax.tree.leaves(part) for part in nnx.split(m, nnx.Param, ...)[1:]] for m in (model, moved)]
    return {"before": both[0], "after": both[1], "output": moved(batch.patches), "loss": (loss(model, key), loss(moved, key))}


def train_all(key, lr):
    filters, batch = draw(key)
    return {name: train(case, filters, batch, key, lr) for name, case in {**CASES, "planted": PLANTED}.items()}


@pytest.fixture(scope="module")
def runs():
    """All rows in one program for each precision, under jit and vmap; run twice."""

    def make(x64: bool):
        with jax.enable_x64(x64):
            run = jax.jit(jax.vmap(train_all))
            arguments = jax.random.split(jax.random.key(3), KEYS), jnp.linspace(0.005, 0.02, KEYS)
            return [jax.device_get(run(*arguments)) for _ in range(2)]

    return {x64: make(x64) for x64 in (False, True)}


def test_every_model_objective_and_rule_has_a_row():
    models = {name: getattr(ts.models, name) for name in ts.models.__all__ if inspect.isclass(getattr(ts.models, name))}
    # those of patches; models of tokens have a table of their own
    of_patches = {name for name, model in models.items() if "patches" in inspect.signature(model.__call__).parameters}
    assert {name.split()[0] for name in MODELS} == of_patches
    # an objective is made from a batch, and numbers
    functions = {name: value for name, value in vars(ts.objectives).items() if inspect.isfunction(value)}
    made = {name for name, value in functions.items() if next(iter(inspect.signature(value).parameters)) == "batch"}
    assert {name.split()[0] for name in OBJECTIVES} == made
    functions = {name: value for name, value in vars(ts.dynamics).items() if inspect.isfunction(value)}
    # a map from layer to layer is a rule that trains nothing
    rules = {name for name, value in functions.items() if inspect.signature(value).return_annotation == "Dynamics"} - {"layers"}
    assert {name.split()[0] for name in RULES} == rules


@cases
@both
def test_parameters_move_and_nothing_else_does(runs, case, x64):
    (params, rest), (moved, untouched) = (runs[x64][0][case][when] for when in ("before", "after"))
    assert bool(rest) != (case in ALL_TRAINED), "where there are no other leaves, nothing is shown"
    assert all(np.array_equal(a, b) for a, b in zip(rest, untouched, strict=True))
    assert all(np.any(a != b) for a, b in zip(params, moved, strict=True))


def test_a_rule_that_moves_every_leaf_is_seen(runs):
    (_, rest), (_, touched) = (runs[False][0]["planted"][when] for when in ("before", "after"))
    assert any(not np.array_equal(a, b) for a, b in zip(rest, touched, strict=True))


@cases
@both
def test_finite_shaped_and_typed(runs, case, x64):
    run = runs[x64][0][case]
    assert run["output"].shape == (KEYS, 6)
    for leaf in jax.tree.leaves(run):
        assert np.isfinite(leaf).all()
        assert leaf.dtype == (np.float64 if x64 else np.float32)


@cases
@both
def test_deterministic(runs, case, x64):
    first, second = (jax.tree.leaves(run[case]) for run in runs[x64])
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@cases
@both
def test_objective_falls(runs, case, x64):
    before, after = runs[x64][0][case]["loss"]
    assert before.shape == (KEYS,)
    assert np.all(after < before)


@cases
def test_traces_by_itself(case):
    """One row at a time, so that a failure of the common program is blamed on the row that made it."""
    shapes = jax.eval_shape(lambda key, lr: train(CASES[case], *draw(key), key, lr), jax.random.key(0), 0.1)
    assert shapes["output"].shape == (6,)
