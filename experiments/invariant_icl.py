r"""Invariant in-context learning: a mask for which the order of examples does not matter (InvICL, ICLR 2025, arXiv 2505.04994).

Under the causal mask (AR) the order of examples matters; under a prefix mask their labels leak; in a bag of examples (BoE) they
do not see each other. No single mask over the examples has all three virtues (propositions 3.4 to 3.6; here all masks of three
examples are tried). A prompt that holds its examples twice has: second copies see the first copies of the others, and the query
sees the second copies. In linear attention its layers are gradient descent with a look ahead (theorem C.1).

The four masks are four arrays, given to one transformer. The order of the trained errors in the paper (InvICL first, then AR,
prefix, BoE, and InvICL alone on longer prompts) was not seen on transformers that a CPU trains in seconds, nor on linear
attention of three layers: their training is shown and nothing is claimed of it. Preset `gpu` holds the published setting.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product

import jax
import jax.numpy as jnp
import numpy as np
import optax
import xarray as xr

import theorysim as ts

THEORY, MASKS = ts.theory.invariant_icl, ts.models.masks
AR, PREFIX, BOE, INV = range(4)
DESCENT, ONLINE, BAG, AHEAD = range(4)  # recursions of linear attention


@dataclass(frozen=True)
class Params:
    setting: str = ts.field("recursion", choices=("recursion", "masks", "properties", "trained"), doc="what is looked at")
    n: int = ts.field(12, low=2, doc="examples, in training")
    longer: int = ts.field(12, low=2, doc="examples in longer prompts in test")
    dim: int = ts.field(4, low=1, doc="d")
    layers: int = ts.field(200, low=1, doc="of linear attention")
    width: int = ts.field(32, low=2, doc="of a transformer")
    depth: int = ts.field(3, low=1, doc="its layers")
    heads: int = ts.field(2, low=1, doc="its heads")
    batch: int = ts.field(64, low=1, doc="prompts a step")
    steps: int = ts.field(1000, low=1, doc="of Adam")
    tests: int = ts.field(500, low=1, doc="test prompts")
    kind: float = ts.field(0.0, low=0, high=3, whole=True, doc="0 AR, 1 prefix, 2 bag of examples, 3 InvICL")
    rate: float = ts.field(0.01, low=0, doc="eta of linear attention")
    lr: float = ts.field(3e-3, low=0, doc="step of Adam")


def recursion(p: Params, key):
    """The query's weights, layer by layer, of four masks in linear attention."""
    keys = ts.streams(key, "prompt")
    prompt = ts.laws.LinearPrompts(p.dim)(keys.prompt, 1, p.n)
    x, y, task = prompt.x[0, :-1], prompt.y[0, :-1], prompt.task[0]

    def online_pass(w, x, y):
        """Each example's update sees the ones before it."""
        return jax.lax.fori_loop(0, p.n, lambda i, v: v - p.rate * x[i] * (x[i] @ v - y[i]), w)

    def layer(w, key):
        descent, online, ahead, frozen = w
        return (
            descent - p.rate * x.T @ (x @ descent - y),
            online_pass(online, x, y),
            THEORY.step(ahead, x, y, p.rate),
            frozen + p.rate * x.T @ y,  # a bag of examples: the gradient at 0, again and again
        )

    rule = ts.dynamics.Dynamics(lambda start: start, layer, lambda: None)
    order = jax.random.permutation(keys.prompt, p.n)

    def observe(state):
        descent, online, ahead, frozen = state
        found = jnp.stack([descent, online, frozen, ahead])
        turned = THEORY.step(ahead, x[order], y[order], p.rate), online_pass(online, x[order], y[order])
        still = THEORY.step(ahead, x, y, p.rate), online_pass(online, x, y)
        return {
            "error": ts.named(jnp.sum((found - task) ** 2, axis=1) / jnp.sum(task**2), "recursion", recursion=range(4)),
            "order": jnp.max(jnp.abs(turned[0] - still[0])),
            "order_online": jnp.max(jnp.abs(turned[1] - still[1])),
        }

    start = (jnp.zeros(p.dim),) * 4
    return ts.simulate(rule, start, key=key, times=ts.log_times(p.layers, 30), observe=observe).records


def every_mask(p: Params, key):
    """All masks over three examples that see themselves, and which of the three virtues each has."""
    free = [(i, j) for i in range(3) for j in range(3) if i != j]
    found = []
    for bits in product([False, True], repeat=len(free)):
        mask = np.eye(3, dtype=bool)
        mask[tuple(np.transpose(free))] = bits
        turned = all(np.array_equal(mask[np.ix_(o, o)], mask) for o in permutations(range(3)))
        found.append([turned, not THEORY.leaks(mask), THEORY.depends(mask)])
    virtues = jnp.asarray(np.array(found, float), jnp.result_type(float)) + 0 * jax.random.normal(key, (len(found), 3))
    return {"virtue": ts.named(virtues, "mask", "which", which=range(3)), "drawn": jax.random.normal(key)}


def examples_twice(kind, n: int):
    """The four masks over twice `n` examples and a query; first copies stand alone where one copy would do."""

    def single(mask):
        alone, nobody = jnp.eye(n, dtype=bool), jnp.zeros((n, n + 1), bool)
        return jnp.block([[alone, nobody], [nobody.T, mask]])

    masks = [single(MASKS.causal(n + 1)), single(MASKS.prefix(n + 1, n)), single(MASKS.bag(n)), MASKS.invariant(n)]
    return jnp.stack(masks)[jnp.asarray(kind).astype(int)]


def unrolled(kind, n: int):
    """The same over tokens: an input and a label for each copy, and the query's input."""
    return MASKS.lifted(examples_twice(kind, n), (2,) * (2 * n) + (1,))


def tokens(prompt):
    """Inputs and labels apart, the examples twice, then the query."""
    x, y = prompt.x, prompt.y
    label = jnp.pad(y[..., None], ((0, 0), (0, 0), (1, x.shape[2] - 1)))
    pairs = jnp.stack([jnp.pad(x, ((0, 0), (0, 0), (0, 1))), jnp.roll(label, -1, axis=2)], axis=2)
    flat = pairs[:, :-1].reshape(x.shape[0], -1, x.shape[2] + 1)
    return jnp.concatenate([flat, flat, pairs[:, -1:, 0]], axis=1)


def read(model, prompt, mask):
    """What is said at the inputs of the second copies, and at the query."""
    n = prompt.x.shape[1] - 1
    return model(tokens(prompt), mask)[:, 2 * n :: 2, 0]


def decoder(p: Params, key):
    return ts.models.Decoder(key, p.dim + 1, 1, width=p.width, depth=p.depth, heads=p.heads, mask=unrolled(p.kind, p.n))


def properties(p: Params, key):
    """What an untrained transformer's outputs depend on."""
    keys = ts.streams(key, "model", "prompt")
    prompt, model, mask = ts.laws.LinearPrompts(p.dim)(keys.prompt, 2, p.n), decoder(p, keys.model), unrolled(p.kind, p.n)
    base = read(model, prompt, mask)
    turn = np.r_[np.roll(np.arange(p.n), 1), p.n]
    turned = read(model, prompt._replace(x=prompt.x[:, turn], y=prompt.y[:, turn]), mask)
    own = read(model, prompt._replace(y=prompt.y.at[:, 0].add(1.0)), mask)
    return {
        "order": jnp.max(jnp.abs(turned[:, -1] - base[:, -1])),
        "own_label": jnp.max(jnp.abs(own[:, 0] - base[:, 0])),
        "other_label": jnp.max(jnp.abs(own[:, 1] - base[:, 1])),
    }


def trained(p: Params, key):
    """Adam on the square error at every input of the second copies; the query's error in test, also on longer prompts."""
    keys = ts.streams(key, "model", "steps", "test")
    law, mask = ts.laws.LinearPrompts(p.dim), unrolled(p.kind, p.n)

    def loss(model, key):
        prompt = law(key, p.batch, p.n)
        return jnp.mean((read(model, prompt, mask) - prompt.y) ** 2) / p.dim

    def at_query(model, k):
        prompt = law(keys.test, p.tests, k)
        return jnp.mean((read(model, prompt, unrolled(p.kind, k))[:, -1] - prompt.target) ** 2) / p.dim

    def observe(state):
        error = [at_query(state.model, k) for k in (p.n, p.longer)]
        return {"loss": loss(state.model, keys.test), "error": ts.named(jnp.stack(error), "length", length=[p.n, p.longer])}

    rate = optax.linear_schedule(1.0, 0.1, p.steps)
    rule = ts.dynamics.gradient_descent(loss, optax.chain(optax.adam(p.lr), optax.scale_by_schedule(rate)))
    times = ts.log_times(p.steps, 12)
    return ts.simulate(rule, decoder(p, keys.model), key=keys.steps, times=times, observe=observe).records


def trial(p: Params, key):
    return {"recursion": recursion, "masks": every_mask, "properties": properties, "trained": trained}[p.setting](p, key)


# --- where the numbers come from ---------------------------------------------------------------------------------------

FOUND, SMALL = "found: a summary of the paper", "assumed: small, to run on a CPU"
NUMBERS = [name for name in Params.__dataclass_fields__ if name != "setting"]
CPU = dict.fromkeys([*NUMBERS, "seeds"], SMALL)
GPU = dict.fromkeys(NUMBERS, FOUND) | dict.fromkeys(("width", "heads", "batch", "lr", "tests", "seeds"), "assumed: not found")
KINDS = {"kind": [0.0, 1.0, 2.0, 3.0]}
TINY = {"setting": "trained", "n": 4, "longer": 8, "dim": 1, "width": 16, "depth": 2, "batch": 32, "lr": 5e-3}


def studies(seeds, runs, size):
    return {
        "recursion": ts.Study({}, 10 * seeds, {}, CPU, x64=True),
        "masks": ts.Study({}, seeds, {"setting": "masks"}, CPU),
        "properties": ts.Study(KINDS, 4 * seeds, {"setting": "properties", "n": 5}, CPU, x64=True),
        "trained": ts.Study(KINDS, runs, TINY | size, CPU),
    }


PUBLISHED = {"n": 40, "longer": 100, "dim": 20, "width": 256, "depth": 12, "heads": 8, "steps": 200_000, "lr": 1e-4}
PRESETS = {
    "quick": studies(4, 2, {"steps": 200, "tests": 200}),
    "paper": studies(20, 5, {"steps": 1500}),
    "gpu": {"trained": ts.Study(KINDS, 1, TINY | PUBLISHED, GPU)},
}


# --- what is claimed ---------------------------------------------------------------------------------------------------


def claim(name, statement, source, study, check, expected="holds", figure=""):
    return ts.Claim(name, statement, source, study, check, expected, preset="paper", figure=figure)


def at_end(data: xr.Dataset, which: int) -> xr.DataArray:
    return data.error.isel(time=-1).sel(recursion=which, drop=True)


def virtues(data: xr.Dataset, *which: int) -> xr.DataArray:
    """How many masks have all of these virtues."""
    return data.virtue.sel(which=list(which)).prod("which").sum("mask")


CLAIMS = [
    claim("few_are_invariant", "of the 64 masks of three examples two are invariant: each alone, all", "proposition 3.4",
          "masks", lambda data: 0.5 - abs(virtues(data, 0) - 2), figure="masks"),
    claim("many_do_not_leak", "25 do not leak: the directed acyclic graphs", "proposition 3.5", "masks",
          lambda data: 0.5 - abs(virtues(data, 1) - 25), figure="masks"),
    claim("none_has_all", "none is invariant, without leaks, and lets examples see each other", "proposition 3.6", "masks",
          lambda data: 0.5 - virtues(data, 0, 1, 2), figure="masks"),
    claim("some_mask_will_do", "some single mask has all three", "control: single masks", "masks",
          lambda data: virtues(data, 0, 1, 2) - 0.5, "fails", figure="masks"),
    claim("invariant_output", "InvICL's output does not change by 1e-12 if examples are turned", "proposition 3.7",
          "properties", lambda data: 1e-12 - data.order.sel(kind=INV), figure="properties"),
    claim("causal_output", "that of the causal mask does not either", "control: AR", "properties",
          lambda data: 1e-12 - data.order.sel(kind=AR), "fails", figure="properties"),
    claim("no_leak", "InvICL, AR and BoE: the prediction at an input is free of its label, within 1e-12", "proposition 3.5",
          "properties", lambda data: 1e-12 - data.own_label.sel(kind=[AR, BOE, INV]), figure="properties"),
    claim("prefix_does_not_leak", "so is that of the prefix mask", "control: prefix", "properties",
          lambda data: 1e-12 - data.own_label.sel(kind=PREFIX), "fails", figure="properties"),
    claim("examples_depend", "InvICL: the prediction at one input depends on another's label, by 1e-6 or more",
          "section 4", "properties", lambda data: data.other_label.sel(kind=INV) - 1e-6, figure="properties"),
    claim("bag_depends", "so it does in a bag of examples", "control: BoE", "properties",
          lambda data: data.other_label.sel(kind=BOE) - 1e-6, "fails", figure="properties"),
    claim("like_descent", "InvICL's recursion ends within 30 % of gradient descent's error, in the logarithmic mean",
          "theorem C.1", "recursion", lambda data: ts.analysis.within(log_ratio(data, AHEAD, DESCENT), -0.114, 0.114),
          figure="recursion"),
    claim("bag_is_worse", "a bag of examples, which uses the gradient at 0 alone, ends with an error above 1", "theorem C.1",
          "recursion", lambda data: at_end(data, BAG) - 1, figure="recursion"),
    claim("recursion_invariant", "InvICL's step is free of the order within 1e-12", "theorem C.1", "recursion",
          lambda data: 1e-12 - data.order, figure="recursion"),
    claim("online_invariant", "that of the causal mask is", "control: AR", "recursion",
          lambda data: 1e-9 - data.order_online.isel(time=5), "fails", figure="recursion"),
]  # fmt: skip


def log_ratio(data: xr.Dataset, first: int, second: int) -> xr.DataArray:
    ratio = at_end(data, first) / at_end(data, second)
    return ratio.copy(data=np.log10(ratio))


EXPERIMENT = ts.Experiment(params=Params, trial=trial, presets=PRESETS, claims=CLAIMS)
