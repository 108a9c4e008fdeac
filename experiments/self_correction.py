r"""Self-correction as in-context alignment (Wang et al., NeurIPS 2024, arXiv 2405.18634).

A prompt shows an input, responses of varying quality and their rewards, and asks for a better response. Ranking the responses
by a Plackett-Luce loss and descending it improves with their number and degrades with the rewards' noise. A transformer trained
on that loss does as well, in context; one block of softmax heads makes a step of descent on a pair (an identity in the tests).

The descent of the paper is no strong baseline: copying the response of highest reward comes far nearer to the truth. The
transformers of a CPU are small: most runs align as well as descent does, some never leave the start's error (near .9), so that
their mean is claimed no further than that they learn. Preset `gpu` holds the published setting.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import optax
import xarray as xr

import theorysim as ts

SIZES = [2, 3, 5, 8, 12, 15, 20]
NOISES = [0.0, 0.25, 0.5, 0.75, 1.0]
#: 1 - cos of descent, measured independently of this code: 128 prompts, one draw; rows are NOISES, columns SIZES
TABLE = np.array([
    [0.381, 0.337, 0.318, 0.305, 0.289, 0.285, 0.283],
    [0.652, 0.574, 0.449, 0.393, 0.343, 0.325, 0.305],
    [0.741, 0.693, 0.593, 0.561, 0.488, 0.456, 0.419],
    [0.841, 0.864, 0.831, 0.805, 0.694, 0.648, 0.606],
    [1.060, 1.130, 1.120, 1.090, 1.080, 1.050, 0.990],
])  # fmt: skip


@dataclass(frozen=True)
class Params:
    setting: str = ts.field("descent", choices=("descent", "transformer"), doc="gradient descent, or a transformer")
    dim: int = ts.field(5, low=2, doc="of inputs and responses")
    responses: int = ts.field(20, low=3, doc="N, responses in a prompt")
    tests: int = ts.field(256, low=1, doc="test prompts")
    width: int = ts.field(48, low=2, doc="of a transformer")
    depth: int = ts.field(3, low=1, doc="its layers")
    heads: int = ts.field(3, low=1, doc="its heads")
    hidden: int = ts.field(1, low=0, high=1, doc="whether it has a feed-forward network")
    softmax: bool = ts.field(True, doc="whether its attention is softmax, not linear")
    batch: int = ts.field(64, low=1, doc="prompts a step")
    steps: int = ts.field(50, low=1, doc="of descent, or of Adam in training")
    noise: float = ts.field(0.0, low=0, high=1, doc="p, probability that a reward is replaced by a random one")
    lr: float = ts.field(0.1, low=0, doc="step of Adam")


def prompts(p: Params, key, count: int):
    """Inputs, responses between the truth and a perturbation, the rewards that are seen, and the truth."""
    keys = ts.streams(key, "input", "truth", "perturbation", "reward", "replaced", "other")
    x = jax.random.normal(keys.input, (count, p.dim))
    truth, astray = (
        jnp.einsum("bd,bde->be", x, jax.random.normal(k, (count, p.dim, p.dim))) for k in (keys.truth, keys.perturbation)
    )
    reward = jax.random.uniform(keys.reward, (count, p.responses))
    response = reward[..., None] * truth[:, None] + (1 - reward[..., None]) * astray[:, None]
    replaced = jax.random.uniform(keys.replaced, reward.shape) < p.noise
    return x, response, jnp.where(replaced, jax.random.uniform(keys.other, reward.shape), reward), truth


def cosine(a, b):
    return jnp.sum(a * b, -1) / (jnp.linalg.norm(a, axis=-1) * jnp.linalg.norm(b, axis=-1) + 1e-12)


def copies(response, reward, truth, sizes):
    """The errors of the best-rewarded response among the first n, and of their mean."""
    given = jnp.arange(reward.shape[1]) < jnp.asarray(sizes)[:, None]
    best = jnp.argmax(jnp.where(given[:, None], reward, -1.0), axis=-1)
    picked = jnp.take_along_axis(response[None], best[..., None, None], axis=2)[:, :, 0]
    mean = jnp.einsum("sn,bne->sbe", given / given.sum(1, keepdims=True), response)
    return [jnp.mean(1 - cosine(said, truth), axis=1) for said in (picked, mean)]


def descent(p: Params, key):
    """Adam on the loss of the first n responses, from a random start, as the paper's baseline."""
    keys = ts.streams(key, "prompts", "start")
    x, response, reward, truth = prompts(p, keys.prompts, p.tests)
    sizes = [n for n in SIZES if n <= p.responses]
    start = jax.random.uniform(keys.start, (p.tests, p.dim, p.dim), minval=-1, maxval=1) / np.sqrt(p.dim)
    adam, count = optax.adam(p.lr), jnp.round(p.steps * (1 - p.noise / 2))  # fewer steps on noisy rewards

    def fitted(n):
        given = jnp.arange(p.responses) < n

        def loss(w):
            scores = cosine(jnp.einsum("bd,bde->be", x, w)[:, None], response)
            return jnp.sum(ts.objectives.plackett_luce(scores, reward, given))

        def step(t, carry):
            w, memory = carry
            update, following = adam.update(jax.grad(loss)(w), memory)
            return jnp.where(t < count, w + update, w), following

        w = jax.lax.fori_loop(0, p.steps, step, (start, adam.init(start)))[0]
        return jnp.mean(1 - cosine(jnp.einsum("bd,bde->be", x, w), truth))

    best, mean = copies(response, reward, truth, sizes)
    found = {"error": jax.lax.map(fitted, jnp.array(sizes)), "best": best, "mean": mean}
    return {name: ts.named(value, "examples", examples=sizes) for name, value in found.items()}


def transformer(p: Params, key):
    """A decoder on x, y_1, r_1, x, y_2, ..; trained by the same loss at every x that has two responses before it."""
    keys = ts.streams(key, "model", "steps", "test")
    n = p.responses

    def said(model, x, response, reward):
        third = jnp.pad(reward[..., None], ((0, 0), (0, 0), (0, p.dim - 1)))
        tokens = jnp.stack([jnp.broadcast_to(x[:, None], response.shape), response, third], axis=2)
        return model(tokens.reshape(x.shape[0], 3 * n, p.dim))[:, ::3]

    def loss(model, key):
        x, response, reward, _ = prompts(p, key, p.batch)
        scores = cosine(said(model, x, response, reward)[:, 2:, None], response[:, None])
        given = jnp.arange(n) < jnp.arange(2, n)[:, None]
        rewards = jnp.broadcast_to(reward[:, None], scores.shape)
        return jnp.mean(ts.objectives.plackett_luce(scores, rewards, given))

    def observe(state):
        x, response, reward, truth = prompts(p, keys.test, p.tests)
        error = jnp.mean(1 - cosine(said(state.model, x, response, reward)[:, 2:], truth[:, None]), axis=0)
        best, mean = copies(response, reward, truth, np.arange(2, n))
        found = {"error": error, "best": best, "mean": mean}
        return {name: ts.named(value, "examples", examples=range(2, n)) for name, value in found.items()}

    model = ts.models.Decoder(
        keys.model, p.dim, p.dim, width=p.width, depth=p.depth, heads=p.heads, mask=ts.models.masks.causal(3 * n),
        positions=range(3 * n), attention="softmax" if p.softmax else "linear", hidden=4 * p.width * p.hidden,
    )  # fmt: skip
    rate = optax.warmup_cosine_decay_schedule(0.0, 1.0, p.steps // 10, p.steps, 0.05)
    descent = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(p.lr), optax.scale_by_schedule(rate))
    rule = ts.dynamics.gradient_descent(loss, descent)
    return ts.simulate(rule, model, key=keys.steps, times=p.steps, observe=observe).records


def trial(p: Params, key):
    return {"descent": descent, "transformer": transformer}[p.setting](p, key)


# --- where the numbers come from ---------------------------------------------------------------------------------------

FOUND, SMALL = "found: the authors' code", "assumed: small, to run on a CPU"
NUMBERS = [name for name in Params.__dataclass_fields__ if name not in ("setting", "softmax")]
CODE = dict.fromkeys(NUMBERS, FOUND) | {"tests": "assumed", "seeds": "assumed"}
CPU = dict.fromkeys([*NUMBERS, "seeds"], SMALL)
PUBLISHED = {"setting": "transformer", "width": 96, "batch": 256, "steps": 3000, "lr": 1e-4}
DEEP = {"depth": 20}  # and 3 heads, the default
TINY = {"setting": "transformer", "responses": 6, "width": 24, "depth": 2, "heads": 2, "lr": 3e-3}


def studies(seeds, runs, size):
    return {
        "descent": ts.Study({"noise": NOISES}, seeds, {}, CODE),
        "transformer": ts.Study({"noise": [0.0, 0.5]}, runs, TINY | size, CPU),
    }


PRESETS = {
    "quick": studies(3, 2, {"steps": 300}),
    "paper": studies(20, 20, {"steps": 1500}),
    "gpu": {
        "transformer": ts.Study({"noise": NOISES}, 1, PUBLISHED | DEEP, CODE),
        "depth": ts.Study({"depth": [5, 10, 15, 20]}, 1, PUBLISHED, CODE),
        "heads": ts.Study({"heads": [1, 3, 4, 6], "hidden": [0, 1]}, 1, PUBLISHED | DEEP, CODE),
        "linear": ts.Study({"hidden": [0, 1]}, 1, PUBLISHED | DEEP | {"softmax": False}, CODE),
    },
}


# --- what is claimed ---------------------------------------------------------------------------------------------------


def claim(name, statement, source, check, expected="holds", study="descent", figure="descent"):
    return ts.Claim(name, statement, source, study, check, expected, preset="paper", figure=figure)


def off_table(data: xr.Dataset) -> xr.DataArray:
    return data.error - xr.DataArray(TABLE, {"noise": NOISES, "examples": SIZES}, ("noise", "examples"))


CLAIMS = [
    claim("table", "descent on clean rewards: the independently measured errors within .03", "the authors' baseline",
          lambda data: ts.analysis.within(off_table(data).sel(noise=0.0), -0.03, 0.03)),
    claim("noisy_table", "and on noisy ones within .16", "the authors' baseline",
          lambda data: ts.analysis.within(off_table(data).sel(noise=NOISES[1:]), -0.16, 0.16)),
    claim("improves", "it improves with the number of responses: by .05 from 2 to 20", "figure 2",
          lambda data: data.error.sel(noise=0.0, examples=2) - data.error.sel(noise=0.0, examples=20) - 0.05),
    claim("degrades", "and degrades with the rewards' noise, at 15 responses", "figure 2",
          lambda data: data.error.sel(examples=15).diff("noise")),
    claim("no_information", "rewards of pure noise tell nothing: error 1 within .1", "figure 2",
          lambda data: ts.analysis.within(data.error.sel(noise=1.0), 0.9, 1.1)),
    claim("noise_helps", "at $p=1$ the error falls by .05 from 2 to 20 responses too", "control: rewards of pure noise",
          lambda data: data.error.sel(noise=1.0, examples=2) - data.error.sel(noise=1.0, examples=20) - 0.05, "fails"),
    claim("copy", "copying the best of 15 responses errs by .008 within .004", "derived",
          lambda data: ts.analysis.within(data.best.sel(noise=0.0, examples=15), 0.004, 0.012)),
    claim("beats_copying", "descent beats it", "control: copying the best-rewarded response",
          lambda data: data.best.sel(noise=0.0) - data.error.sel(noise=0.0), "fails"),
    claim("beats_the_mean", "descent on 20 responses beats their mean", "beyond the paper",
          lambda data: (data["mean"] - data.error).sel(noise=0.0, examples=20)),
    claim("transformer_improves", "a trained transformer's error falls from 2 to 5 responses", "figure 2",
          lambda data: trained(data, 2) - trained(data, 5), study="transformer", figure="transformer"),
    claim("transformer_aligns", "and is at 5 responses below .75, in the mean of all runs", "figure 2",
          lambda data: 0.75 - trained(data, 5), study="transformer", figure="transformer"),
    claim("transformer_needs_rewards", "on rewards of which half are random it is higher", "figure 2",
          lambda data: trained(data, 5, 0.5) - trained(data, 5), study="transformer", figure="transformer"),
    claim("noise_is_harmless", "there it is below .6 too", "control: random rewards",
          lambda data: 0.6 - trained(data, 5, 0.5), "fails", study="transformer", figure="transformer"),
]  # fmt: skip


def trained(data: xr.Dataset, responses: int, noise: float = 0.0) -> xr.DataArray:
    return data.error.sel(noise=noise, examples=responses, drop=True)


EXPERIMENT = ts.Experiment(params=Params, trial=trial, presets=PRESETS, claims=CLAIMS)
