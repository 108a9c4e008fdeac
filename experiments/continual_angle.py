r"""Understanding the forgetting of (replay-based) continual learning via feature learning: angle matters (ICML 2025).

Two tasks, one after the other: the samples of task $k$ carry $y\mu_k$ in one patch and Gaussian noise in the other, and
$\mu_2$ is $\mu_1$ turned by an angle $\theta$. A two-layer CNN with the activation ReLU^3 learns task 1, then task 2 from
there. Forgetting is the test error of task 1 after task 2. There are constants 0 < C_1 <= C_2 < 1 such that it is

    small    if  cos(theta) >= -C_1;                           with replay  if  cos(theta) >= -(C_2 + 1) / 2
    near 1   if  cos(theta) <  -C_2: the predictions invert, they are not lost at random

Filters that hold $\mu_1$ are pushed off $-\mu_2$, and keep $\sin^2\theta$ of it; others learn $\mu_2$, and answer to $-\mu_1$
with $|\cos\theta|$. The two balance at 128.2 degrees (see `theory.continual_angle`), close to where forgetting crosses 1/2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import xarray as xr

import theorysim as ts


@dataclass(frozen=True)
class Params:
    n: int = ts.field(100, low=1, doc="training samples of each task")
    width: int = ts.field(10, low=1, doc="filters of each class, m")
    power: int = ts.field(3, low=1, doc="power of the activation, q")
    steps: int = ts.field(3000, low=1, doc="gradient steps on each task")
    records: int = ts.field(1, low=1, doc="observation times in each task; 1 observes the end only")
    tests: int = ts.field(1000, low=1, doc="fresh points of the test errors")
    stored: int = ts.field(10, low=1, doc="places for stored samples of task 1, at least as many as are replayed")
    coefficients: bool = ts.field(False, doc="whether to recover gamma and rho, unique only for dim >= 2 + 2 n")
    tilted: bool = ts.field(False, doc="whether each sample of task 1 has a direction of its own around mu_1")
    frame: str = "ambient"
    dim: float = ts.field(100.0, low=2, whole=True, doc="dimension of a patch, d")
    angle: float = ts.field(150.0, low=0, high=180, doc="angle between the signals, in degrees")
    signal: float = ts.field(8.0, low=0, doc="signal strength of both tasks, |mu|")
    noise: float = ts.field(1.0, low=0, doc="sigma")
    lr: float = ts.field(0.01, low=0, doc="step size, eta")
    init: float = ts.field(1.0, low=0, doc="first filters and biases are uniform in +- this times dim^(-1/2)")
    replayed: float = ts.field(0.0, low=0, whole=True, doc="samples of task 1 that stand for as many of task 2")
    flip: float = ts.field(0.0, low=0, high=0.5, doc="probability that a stored label is wrong; 1/2 tells nothing")
    strength: float = ts.field(0.0, low=0, doc="of the elastic weights (EWC), lambda")
    spread: float = ts.field(70.0, low=0, high=180, doc="largest tilt of a direction of task 1, in degrees")
    place: float = ts.field(0.5, low=0, high=1, doc="tilts that are stored, as a quantile: 0 the smallest, 1 the largest")
    chance: float = ts.field(0.0, low=0, high=1, doc="1 stores by chance instead")


def remembered(batch, key, p: Params):
    """The stored samples of task 1: any, or those whose angle to the prototype is nearest to a quantile."""
    if not p.tilted:
        return ts.laws.pick(batch, slice(p.stored))
    signal = batch.sign[:, None] * batch.patches[0]
    cosine = signal @ signal.mean(axis=0) / jnp.linalg.norm(signal, axis=1)
    rank = jnp.argsort(jnp.argsort(-cosine)) / (p.n - 1)
    score = jnp.where(p.chance > 0, jax.random.uniform(key, (p.n,)), jnp.abs(rank - p.place))
    return ts.laws.pick(batch, jnp.argsort(score)[: p.stored])


def in_plane(model):
    """The filters in the plane of the signals, those of the class -1 turned over."""
    return ts.named(model.side[:, None] * model.filters[...][:, :2], "filter", "axis")


def trial(p: Params, key):
    keys = ts.streams(key, "space", "fresh", "filters", "bias", "one", "two", "memory", "flips", "test", "tilts", "steps")
    blocks = {"tilts": p.n} if p.tilted else {}
    space = ts.exact.frame(keys.space, p.dim, fixed=2, kind=p.frame, one=p.n, two=p.n, **blocks)
    theta = jnp.deg2rad(p.angle)
    # task 1 is made without the angle, so that all angles of a batch share its training
    law_one = ts.laws.Features(signals=[[p.signal, 0.0]], noise=p.noise)
    law_two = ts.laws.Features(signals=[[p.signal * jnp.cos(theta), p.signal * jnp.sin(theta)]], noise=p.noise)
    one, two = law_one(keys.one, space.one), law_two(keys.two, space.two)
    test_one, test_two = (ts.observers.fresh_errors(law, keys.test, p.tests) for law in (law_one, law_two))
    if p.tilted:
        test = law_one(keys.test, space.fresh(keys.fresh, p.tests))
        angles = jnp.deg2rad(p.spread) * jax.random.uniform(keys.tilts, (p.n + p.tests,))
        one = ts.laws.tilt(one, space.tilts, angles[: p.n])
        test = ts.laws.tilt(test, space.fresh(keys.tilts, p.tests), angles[p.n :])
        test_one = partial(ts.observers.errors, batch=test)

    bound = p.init * p.dim**-0.5
    filters = jax.random.uniform(keys.filters, (2 * p.width, space.size), minval=-bound, maxval=bound)
    bias = jax.random.uniform(keys.bias, (2 * p.width,), minval=-bound, maxval=bound)
    model = ts.models.TwoLayerCNN(filters, power=p.power, over_filters="sum", over_patches="mean", bias=bias)

    stored = remembered(one, keys.memory, p)
    wrong = jax.random.uniform(keys.flips, (p.stored,)) < p.flip
    stored = stored._replace(label=jnp.where(wrong, -stored.label, stored.label))
    used = jnp.concatenate([jnp.arange(p.n) < p.n - p.replayed, jnp.arange(p.stored) < p.replayed]).astype(filters.dtype)
    loss_one = ts.objectives.logistic(one)
    loss_two = ts.objectives.of_margins(ts.objectives.logistic_loss, ts.laws.join(two, stored), used)
    directions = jnp.concatenate([law_one.directions, law_two.directions])
    recover = ts.observers.decomposition(space, ts.laws.join(one, two), model, directions) if p.coefficients else None

    def run(rule, start, loss):
        def observe(state):
            seen = {"train_loss": loss(state.model, None), "plane": in_plane(state.model)}
            seen |= {"error_one": test_one(state.model).clean, "error_two": test_two(state.model).clean}
            if recover:
                gamma, rho, _ = recover(state.model)
                seen |= {"gamma_one": gamma[0].max(), "gamma_two": gamma[1].max()}
                seen |= {"rho_one": rho[:, : p.n].max(), "rho_two": rho[:, p.n :].max()}
            return seen

        times = ts.log_times(p.steps, p.records)
        return ts.simulate(rule, start, frame=space, key=keys.steps, times=times, observe=observe)

    descent = optax.sgd(p.lr)
    first = run(ts.dynamics.gradient_descent(loss_one, descent), model, loss_one)
    learned = first.state.model
    fisher = ts.observers.diagonal_fisher(ts.objectives.logistic, one)(learned)
    second = run(ts.dynamics.elastic(loss_two, descent, learned, fisher, p.strength), first.state, loss_two)
    return {
        **{f"{name}_first": value for name, value in first.records.items()},
        **{"forgetting" if name == "error_one" else name: value for name, value in second.records.items()},
        "plane_start": in_plane(model),
        "stiffness": p.lr * p.strength * jnp.stack([part.max() for part in jax.tree.leaves(fisher)]).max(),
    }


# --- where the numbers come from ---------------------------------------------------------------------------------------

CODE = "found: the authors' code, cl_cnn_replay_ewc.py"
GRID = "derived: a part of the code's grid, which has every degree"
SOURCES = {
    **dict.fromkeys(("n", "width", "power", "steps", "tests", "dim", "signal", "noise", "lr", "init"), CODE),
    **dict.fromkeys(("replayed", "stored", "strength"), CODE),
    "angle": GRID,
    "seeds": "assumed: the code has one",
    "flip": "assumed: 0 but in the control",
    "records": "assumed",
    **dict.fromkeys(("spread", "place", "chance"), "assumed: unused, no sample is tilted"),
}
BUFFER = SOURCES | dict.fromkeys(("replayed", "stored"), "assumed: around the code's 10")
SHUFFLED = SOURCES | {"flip": "assumed: the control"}
NO_SIGNAL = SOURCES | {"signal": "assumed: the control"}
SMALL = SOURCES | dict.fromkeys(("lr", "init", "angle"), "assumed: smaller than the code's, where the balance is derived")
COEFFICIENTS = SOURCES | {"dim": "assumed: gamma and rho are unique only for d >= 2 + 2 n", "records": "assumed"}
TOY = SOURCES | dict.fromkeys(("spread", "place", "chance", "angle", "tests"), "assumed: a toy, not the paper's")

EIGHT = [100.0, 120.0, 130.0, 140.0, 150.0, 160.0, 170.0, 180.0]
PLAIN, METHODS = {"replayed": [0.0], "strength": [0.0]}, {"replayed": [0.0, 10.0], "strength": [0.0, 1e6]}


def studies(seeds, angles, buffers, around, near, methods):
    """The published sweep, the buffer's size, two controls, and small filters and steps, by as few programs as can be."""

    def study(sources, over, base=None):
        return ts.Study(over, seeds, base or {}, sources)

    return {
        "angles": study(SOURCES, {"angle": angles} | METHODS),
        "buffer": study(BUFFER, {"angle": around} | PLAIN | {"replayed": buffers}, {"stored": int(max(buffers))}),
        "shuffled": study(SHUFFLED, {"angle": EIGHT} | methods | {"replayed": [0.0, 10.0]}, {"flip": 0.5}),
        "small": study(SMALL, {"angle": near} | methods, {"init": 0.1, "lr": 0.003}),
    }


UNIQUE = {"coefficients": True, "dim": 400.0, "records": 40}
TILTED, PLACES = {"tilted": True, "tests": 250}, [0.0, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 1.0]
PRESETS = {
    # as many cells everywhere: one program
    "quick": studies(
        2, [0.0, 90.0, 120.0, 130.0, 140.0, 150.0, 165.0, 180.0], [0.0, 2.0, 5.0, 10.0], EIGHT,
        [118.0, 122.0, 125.0, 128.0, 131.0, 134.0, 138.0, 142.0], METHODS,
    ),
    "paper": studies(
        20, [0.0, 30.0, 45.0, 60.0, 75.0, 80.0, 90.0, 100.0, *np.arange(105.0, 181.0, 5.0)], [0.0, 2.0, 10.0, 40.0],
        [100.0, 120.0, 130.0, 140.0, 150.0, 158.0, 164.0, 168.0, 172.0, 175.0, 178.0, 180.0],
        [118.0, *np.arange(121.0, 135.0, 1.0), 138.0], PLAIN,
    ) | {
        "no_signal": ts.Study({"angle": EIGHT} | PLAIN | {"replayed": [0.0, 10.0]}, 20, {"signal": 0.0}, NO_SIGNAL),
        "coefficients": ts.Study({"angle": [60.0, 150.0]}, 20, UNIQUE, COEFFICIENTS),
        "sampling": ts.Study({"angle": [135.0, 150.0], "place": PLACES}, 20, TILTED | {"replayed": 10.0}, TOY),
        "by_chance": ts.Study({"angle": [135.0, 150.0], "replayed": [0.0, 10.0]}, 20, TILTED | {"chance": 1.0}, TOY),
    },
}  # fmt: skip


# --- what the paper states ----------------------------------------------------------------------------------------------

THEORY, within = ts.theory.continual_angle, ts.analysis.within
SUMMARY = "Angle matters (ICML 2025), as summarised"
HERE, LAYOUT = "derived here", "measured here, at the setting of the authors' code"
BALANCE = float(THEORY.critical_angle(THEORY.balance_constant()))
REPLAYED = float(THEORY.critical_angle(THEORY.replay_constant(THEORY.balance_constant())))


def method(data: xr.Dataset, replayed: float = 0, strength: float = 0) -> xr.Dataset:
    return data.sel(replayed=replayed, strength=strength)


def crossing(data: xr.Dataset, level: float = 0.5) -> xr.DataArray:
    """The angle at which forgetting reaches a level, for each seed."""
    seeds = [data.isel(seed=[k]) for k in range(data.sizes["seed"])]
    return xr.concat([ts.analysis.phase_boundary(one, "forgetting", level, "angle") for one in seeds], dim=data.seed)


def measured(replayed: float, stated: float):
    """The crossing angle with twice its standard error, beside the derived one."""

    def effect(data: xr.Dataset) -> ts.Effect:
        value = crossing(method(data, replayed))
        mean, error = float(value.mean()), float(value.std(ddof=1)) / value.size**0.5
        return ts.Effect("crossing angle", mean, mean - 2 * error, mean + 2 * error, stated)

    return effect


def end_of_replay(data: xr.Dataset) -> xr.DataArray:
    """The angle of cos(theta) = -(C_2 + 1)/2, with C_2 from the angle at which plain forgetting is .95."""
    constant = -np.cos(np.radians(crossing(method(data), 0.95)))
    return THEORY.critical_angle(THEORY.replay_constant(constant)) + 0 * constant


def kept_by_first(data: xr.Dataset) -> xr.DataArray:
    """Of filters that start with the signal of task 1: what the largest has of it after task 2, over what it had before."""
    first = data.plane_start.isel(axis=0) > 0
    after, before = (plane.isel(axis=0).where(first).max("filter") for plane in (data.plane, data.plane_first))
    return after / before


def learned_by_second(data: xr.Dataset) -> xr.DataArray:
    """Of filters that start against it, but with the rest of task 2's signal: their share of the response (cubes) to that."""
    angle, start = np.radians(data.angle), data.plane_start
    second = (start.isel(axis=0) < 0) & (start.isel(axis=1) > 0)
    along = np.cos(angle) * data.plane.isel(axis=0) + np.sin(angle) * data.plane.isel(axis=1)
    cubes = np.maximum(along, 0) ** 3
    return cubes.where(second, 0).sum("filter") / cubes.sum("filter")


def moved_in_task_two(data: xr.Dataset, name: str) -> xr.DataArray:
    """By how much a coefficient changes during task 2, relative."""
    return abs(data[name].isel(time=-1) / data[f"{name}_first"].isel(time=-1) - 1)


def claim(name, statement, source, check, study="angles", expected="holds", figure="forgetting", effect=None):
    return ts.Claim(name, statement, source, study, check, expected, "paper", effect=effect, figure=figure)


CLAIMS = [
    claim("tasks_learned", "up to 165 degrees each task's own test error is at most .01 after it, by every method", LAYOUT,
          lambda data: 0.01 - xr.concat([data.error_one_first, data.error_two], "task").sel(angle=slice(None, 165))),
    ts.Claim.of(THEORY.BENIGN, "angles", preset="paper", figure="forgetting"),
    ts.Claim.of(THEORY.HARMFUL, "angles", preset="paper", figure="forgetting"),
    ts.Claim.of(THEORY.REPLAY, "angles", preset="paper", figure="forgetting"),
    claim("inverts", r"for $\theta\geq150^\circ$ forgetting exceeds .9, where lost predictions would give .5", SUMMARY,
          lambda data: method(data).forgetting.sel(angle=slice(150, None)) - 0.9),
    claim("crossing", "forgetting crosses 1/2 between 122 and 138 degrees", LAYOUT,
          lambda data: within(crossing(method(data)), 122, 138), effect=measured(0, BALANCE)),
    claim("crossing_replay", "with 10 replayed samples it crosses between 150 and 175 degrees", LAYOUT,
          lambda data: within(crossing(method(data, 10)), 150, 175), effect=measured(10, REPLAYED)),
    claim("monotone", "forgetting grows, up to .05: from 0 to 90, 120, 130, 140, 150, 180 degrees", SUMMARY,
          lambda data: 0.05 + method(data).forgetting.sel(angle=[0, 90, 120, 130, 140, 150, 180]).diff("angle")),
    claim("monotone_replay", "with replay it grows, up to .05: from 0 to 90, 120, 165, 180 degrees", SUMMARY,
          lambda data: 0.05 + method(data, 10).forgetting.sel(angle=[0, 90, 120, 165, 180]).diff("angle")),
    claim("replay_extends", "replay moves the crossing by more than 10 degrees", SUMMARY,
          lambda data: crossing(method(data, 10)) - crossing(method(data)) - 10),
    claim("replay_reaches", r"with $C_2$ where plain forgetting is .95, replay crosses 1/2 beyond $\cos\theta=-(C_2+1)/2$",
          SUMMARY, lambda data: crossing(method(data, 10)) - end_of_replay(data)),
    claim("opposite_signals", "at 180 degrees no method saves task 1: forgetting at least .8", "by definition of the tasks",
          lambda data: data.forgetting.sel(angle=180) - 0.8),
    claim("elastic_extends", "elastic weights alone move the crossing by more than 10 degrees", LAYOUT,
          lambda data: crossing(method(data, 0, 1e6)) - crossing(method(data)) - 10),
    claim("elastic_replay", "elastic weights with replay cross later than either alone", LAYOUT,
          lambda data: crossing(method(data, 10, 1e6))
          - xr.concat([crossing(method(data, 0, 1e6)), crossing(method(data, 10))], "other")),
    claim("elastic_stable", r"the published $\lambda=10^6$ is stable: $\eta\lambda\max F<2$", "derived: see dynamics.elastic",
          lambda data: 2 - data.stiffness.sel(strength=1e6).max(("angle", "replayed"))),
    claim("first_group_keeps", r"up to 100 degrees filters that start with $\mu_1$ keep .9 of it", SUMMARY,
          lambda data: kept_by_first(method(data)).sel(angle=slice(None, 100)) - 0.9, figure="mechanism"),
    claim("second_group_learns", r"from 120 to 140 degrees filters against $\mu_1$, with its complement, hold half of $\mu_2$",
          SUMMARY, lambda data: learned_by_second(method(data)).sel(angle=slice(120, 140)) - 0.5, figure="mechanism"),
    claim("balance", rf"small filters and steps cross within 3 degrees of $\sin^2\theta=-\cos\theta$: {BALANCE:.1f}", HERE,
          lambda data: within(crossing(method(data)), BALANCE - 3, BALANCE + 3), "small", figure="mechanism",
          effect=measured(0, BALANCE)),
    claim("buffer_extends", "each larger buffer moves the crossing on (180 if there is none)", LAYOUT,
          lambda data: crossing(data.sel(strength=0)).fillna(180).diff("replayed"), "buffer", figure="buffer"),
    claim("coefficients_stay", r"task 2 moves no coefficient of task 1: $\max\gamma_1,\max\rho_1$ within 1 %", "by definition",
          lambda data: 0.01 - xr.concat([moved_in_task_two(data, name) for name in ("gamma_one", "rho_one")], "part"),
          "coefficients", figure="coefficients"),
    claim("large_angles_worst", "toy, 150 degrees: the most tilted samples are worse to store than any up to rank .6", LAYOUT,
          lambda data: (data.sel(place=1) - data.sel(place=PLACES[:-2])).forgetting.sel(angle=150),
          "sampling", figure="sampling"),
    claim("control_shuffled", "with shuffled labels replay keeps forgetting at 150 degrees below 1/4", "control: coin labels",
          lambda data: 0.25 - method(data, 10).forgetting.sel(angle=150), "shuffled", expected="fails"),
    claim("control_same_task", "at 0 degrees forgetting exceeds .9 too", "control: the same task twice",
          lambda data: method(data).forgetting.sel(angle=0) - 0.9, expected="fails"),
    claim("control_no_signal", "without signal predictions invert all the same, above .9", "control: mu = 0",
          lambda data: method(data).forgetting.sel(angle=slice(150, None)) - 0.9, "no_signal", expected="fails"),
]  # fmt: skip

EXPERIMENT = ts.Experiment(params=Params, trial=trial, presets=PRESETS, claims=CLAIMS)
