r"""Feature learning for out-of-distribution generalisation (Chen et al., NeurIPS 2023, arXiv 2304.11327).

Two bits agree with the class: an invariant one with probability $1-\alpha$ everywhere, a spurious one with $1-\beta_e$ in
environment $e$. A two-layer CNN with $\psi(z)=z$ learns both under ERM, the one of the larger correlation faster. IRMv1 learns
hardly any new feature: from scratch it drives its gradients $C_e$ to 0 at the origin, and whether it keeps the invariant
feature depends on how far ERM went before. A round of FeAT (wrong samples first, the others retained) helps where that was
too short.

The paper's theorems and the numbers of its synthetic experiment were not seen: the statements are those of its abstract or
recalled, the numbers are chosen here. The network is linear, so all of it is a map of two numbers (`theory.spurious_features`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import xarray as xr

import theorysim as ts

THEORY = ts.theory.spurious_features


@dataclass(frozen=True)
class Params:
    n: int = ts.field(500, low=1, doc="training samples of each environment")
    width: int = ts.field(10, low=1, doc="filters of each class, m")
    longest: int = ts.field(1000, low=1, doc="steps of the loop of ERM pre-training, of which `pretraining` move")
    longest_round: int = ts.field(151, low=1, doc="steps of the loop of the FeAT round, of which `augmenting` move")
    steps: int = ts.field(2000, low=1, doc="steps of IRMv1 (of ERM where lambda is 0)")
    records: int = ts.field(40, low=1, doc="observation times")
    tests: int = ts.field(500, low=1, doc="fresh points of the unseen environment")
    frame: str = "ambient"
    dim: float = ts.field(50.0, low=2, whole=True, doc="dimension of a patch, d")
    invariant_flip: float = ts.field(0.25, low=0, high=1, doc="alpha")
    spurious_flip: float = ts.field(0.15, low=0, high=1, doc="mean of beta_1 and beta_2")
    spread: float = ts.field(0.05, low=-0.5, high=0.5, doc="beta_2 minus the mean")
    test_flip: float = ts.field(0.9, low=0, high=1, doc="beta of the unseen environment")
    noise: float = ts.field(0.01, low=0, doc="sigma_p")
    init: float = ts.field(0.01, low=0, doc="std of the first filters, sigma_0")
    lr: float = ts.field(0.5, low=0, doc="step size of pre-training and of FeAT")
    pretraining: float = ts.field(0.0, low=0, doc="steps of ERM pre-training, at most `longest`")
    shown: float = ts.field(1.0, low=0, doc="strength of the invariant feature while pre-training; 0 hides it")
    augmenting: float = ts.field(0.0, low=0, doc="steps of a FeAT round after it, at most `longest_round`")
    retention: float = ts.field(0.01, low=0, doc="weight of the retained samples, rho")
    forgetting: float = ts.field(1.3, low=0, doc="FeAT stops when training plus retention accuracy falls below it")
    strength: float = ts.field(1e4, low=0, doc="weight of the penalty of IRMv1, lambda")
    rate: float = ts.field(1e-3, low=0, doc="step size of IRMv1, eta")


def trial(p: Params, key):
    keys = ts.streams(key, "space", "train", "test", "noise", "steps")
    betas = p.spurious_flip - p.spread, p.spurious_flip + p.spread
    law, hidden = (ts.laws.TwoBit(p.invariant_flip, betas, p.noise, (s, 1.0)) for s in (1.0, p.shown))
    unseen = ts.laws.TwoBit(p.invariant_flip, (p.test_flip,), p.noise)
    space = ts.exact.frame(keys.space, p.dim, fixed=law.fixed, kind=p.frame, train=2 * p.n, filters=2 * p.width)
    train, test = law(keys.train, space.train), unseen(keys.test, space.fresh(keys.noise, p.tests))
    descent, run = ts.dynamics.gradient_descent, partial(ts.simulate, key=keys.steps, frame=space)

    def moving(steps):
        """A step size that is 0 after some steps, whose number may be traced."""
        return optax.sgd(lambda count: jnp.where(count < steps, p.lr, 0.0))

    model = ts.models.TwoLayerCNN(p.init * space.filters, activation="identity")
    erm = descent(ts.objectives.logistic(hidden(keys.train, space.train)), moving(p.pretraining))
    model = run(erm, model, times=p.longest, observe=lambda state: {}).state.model

    wrong = train.label * model(train.patches) <= 0
    feat = descent(ts.objectives.feat(train, wrong, p.retention, law.environments), moving(p.augmenting))

    def until_forgetting(state, step_key):
        moved = feat.step(state, step_key)
        right = 1.0 * (train.label * moved.model(train.patches) > 0)
        keep = jnp.mean(right) + ts.observers.mean_over(right, ~wrong) >= p.forgetting
        return jax.tree.map(partial(jnp.where, keep), moved, state)

    model = run(feat._replace(step=until_forgetting), model, times=p.longest_round, observe=lambda state: {}).state.model

    bits = train.label[:, None] * train.patches[0]
    pattern = jnp.all(bits[:, None] == THEORY.PATTERNS, axis=-1)
    share = jnp.mean(pattern.reshape(law.environments, p.n, 4), axis=1)

    def observe(state):
        features = jnp.mean(state.model.side[:, None] * state.model.filters[:, :2], axis=0)
        return {
            "invariant": features[0],
            "spurious": features[1],
            "gradient": ts.named(ts.objectives.irm_gradients(state.model, train, law.environments), "environment"),
            "ood_accuracy": 1 - ts.observers.errors(state.model, test).clean,
        }

    irm = descent(ts.objectives.irm(train, p.strength, law.environments), optax.sgd(p.rate))
    records = run(irm, model, times=ts.log_times(p.steps, p.records), observe=observe).records
    return records | {"share": ts.named(share, "environment", "pattern")}


# --- where the numbers come from ---------------------------------------------------------------------------------------

SUGGESTED = "assumed: the paper's values were not found; these show its statements"
CODE = "found: the authors' code, for ColoredMNIST"
SOURCES = {
    **dict.fromkeys(("n", "width", "longest", "steps", "dim", "noise", "init", "lr", "rate", "pretraining"), SUGGESTED),
    **dict.fromkeys(("invariant_flip", "spurious_flip", "spread", "test_flip"), CODE),
    **dict.fromkeys(("longest_round", "retention", "forgetting", "strength"), CODE),
    "shown": "assumed: both features are shown; 0 in the study of spurious features alone",
    "augmenting": "assumed: no FeAT but in its study, there the code's 151",
    **dict.fromkeys(("records", "tests", "seeds"), "assumed"),
}
OTHER = SOURCES | dict.fromkeys(("invariant_flip", "spurious_flip", "spread"), "assumed: the other order of the correlations")

ERM = {"rate": 0.5}
REVERSED = {"invariant_flip": 0.1, "spurious_flip": 0.25, "spread": 0.0}
SHORT = {"strength": 0.0, "steps": 200, "records": 20, "longest": 1, "longest_round": 1}
LAMBDA, ROUND = 1e4, 151.0


def runs(strength=(LAMBDA,), pretraining=(0.0,), augmenting=(0.0,)):
    """All studies but one sweep the same fields, some of them over a single value: they share one compiled program."""
    return {"strength": list(strength), "pretraining": list(pretraining), "augmenting": list(augmenting)}


def studies(seeds, pairs, lengths, hidden, alphas, betas, base):
    """ERM in both orders and over a grid of them; IRMv1 and its control; IRMv1 after ERM of several lengths and after FeAT."""
    return {
        "erm": ts.Study(runs([0.0]), seeds, base | ERM, SOURCES),
        "reversed": ts.Study(runs([0.0]), seeds, base | ERM | REVERSED, OTHER),
        "order": ts.Study({"invariant_flip": alphas, "spurious_flip": betas}, seeds, ERM | SHORT, OTHER),
        "control": ts.Study(runs([0.0, LAMBDA], [0.0, 200.0]), pairs, base, SOURCES),
        "after": ts.Study(runs(pretraining=lengths, augmenting=[0.0, ROUND]), seeds, base, SOURCES),
        "spurious_only": ts.Study(runs(pretraining=hidden), seeds, base | {"shown": 0.0}, SOURCES),
    }


PRESETS = {
    "quick": studies(
        3, 3, [0.0, 20.0, 50.0, 200.0], [20.0, 500.0], [0.05, 0.25, 0.45], [0.1, 0.4], {"longest": 500, "steps": 1000}
    ),
    "paper": studies(
        20, 60, [0.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 1000.0], [10.0, 20.0, 50.0, 100.0, 200.0, 1000.0],
        [0.05, 0.15, 0.25, 0.35, 0.45], [0.1, 0.2, 0.3, 0.4], {},
    ),
}  # fmt: skip


# --- what the paper states ----------------------------------------------------------------------------------------------

within = ts.analysis.within


def at(data: xr.Dataset, pretraining: Any = 0.0, strength: float = LAMBDA, augmenting: float = 0.0) -> xr.Dataset:
    return data.sel(pretraining=pretraining, strength=strength, augmenting=augmenting)


def end(data: xr.Dataset) -> xr.Dataset:
    return data.isel(time=-1)


def lead(data: xr.Dataset) -> xr.DataArray:
    """By how much the spurious feature is ahead."""
    return data.spurious - data.invariant


def from_ten(data: xr.Dataset) -> xr.Dataset:
    return data.sel(time=slice(10, None))


def size(data: xr.Dataset) -> xr.DataArray:
    """The larger feature, without its sign."""
    return np.maximum(abs(data.invariant), abs(data.spurious))


def order(data: xr.Dataset) -> xr.DataArray:
    """The least lead of the feature with the larger correlation, from step 10 on."""
    expected = np.sign(THEORY.correlation(data.spurious_flip) - THEORY.correlation(data.invariant_flip))
    return (expected * lead(from_ten(data))).min("time")


def grown(data: xr.Dataset, until: int) -> xr.Dataset:
    return data[["invariant", "spurious"]].sel(time=until, method="nearest") - data[["invariant", "spurious"]].isel(time=0)


def over_theory(data: xr.Dataset, alpha: float, beta: float) -> xr.DataArray:
    """The ratio of both features' growth until step 10 over the ratio of their correlations."""
    gained = grown(data, 10)
    return gained.spurious / gained.invariant * THEORY.correlation(alpha) / THEORY.correlation(beta)


def first_step(data: xr.Dataset) -> xr.DataArray:
    """The growth of both features in the first step over the theory's, at the flips that the run's sample has."""
    gained, p = grown(data, 1), ts.theory.fields(data)
    flips = (1 - data.share.mean("environment").dot(xr.DataArray(THEORY.PATTERNS, dims=("pattern", "feature")))) / 2
    both = xr.concat([gained.invariant, gained.spurious], dim="feature")
    return both / THEORY.growth(flips, p.rate, p.width)


def gain(data: xr.Dataset) -> xr.DataArray:
    """How much the accuracy in the unseen environment gains in the last phase."""
    return end(data).ood_accuracy - data.ood_accuracy.isel(time=0)


def beside(data: xr.Dataset) -> xr.DataArray:
    """The largest distance, over all times, of a run's features from the map of two numbers with the run's own frequencies."""
    p, seen = ts.theory.fields(data), data[["invariant", "spurious"]].to_array("feature").transpose("time", ..., "feature")
    share = data.share.transpose(*seen.dims[1:-1], "environment", "pattern")
    found = xr.zeros_like(seen)
    for strength in data.strength.values:
        here = {"strength": float(strength)}
        found.loc[here] = THEORY.path(
            share.sel(here).values, seen.sel(here)[0].values, data.time.values, p.rate, p.width, float(strength)
        )
    return abs(seen - found).max(("time", "feature"))


PAPER, RECALLED, HERE = "Chen et al. (2023), abstract", "Chen et al. (2023), section 4, as recalled", "derived here"


def claim(name, statement, source, study, check, expected="holds", figure="after", **options):
    return ts.Claim(name, statement, source, study, check, expected, "paper", figure=figure, **options)


CLAIMS = [
    claim("spurious_first", "under ERM the spurious feature leads from step 10 on if its mean correlation is larger: .7 > .5",
          PAPER, "erm", lambda data: lead(from_ten(data)).min("time"), figure="erm"),
    claim("invariant_first", "the invariant one leads from step 10 on in the other order: .8 > .5", PAPER, "reversed",
          lambda data: -lead(from_ten(data)).max("time"), figure="erm"),
    claim("order", "in every cell the feature of the larger correlation leads from step 10 to 200", PAPER, "order", order,
          figure="order"),
    claim("both_learned", "ERM learns both: each ends within .1 of half its log-odds", PAPER, "erm",
          lambda data: xr.concat([0.1 - abs(end(data)[name] - THEORY.calibrated(flip))
                                  for name, flip in (("invariant", 0.25), ("spurious", 0.15))], dim="part"), figure="erm"),
    claim("growth", r"the first step of ERM adds $\eta(1-2\delta)/(2m)$ to each feature, within 3 %", HERE, "erm",
          lambda data: within(first_step(data), 0.97, 1.03), figure="erm"),
    claim("growth_ratio", "until step 10 the features grow in the ratio of their correlations within 15 %: 1.4", HERE, "erm",
          lambda data: within(over_theory(data, 0.25, 0.15), 0.85, 1.15), figure="erm"),
    claim("growth_ratio_reversed", "the same in the other order: 1/1.6", HERE, "reversed",
          lambda data: within(over_theory(data, 0.1, 0.25), 0.85, 1.15), figure="erm"),
    claim("map_erm", "the map of two numbers gives both features of every run of ERM within .002", HERE, "erm",
          lambda data: 0.002 - beside(data), figure="erm"),
    claim("map_irm", "it gives those of IRMv1 within .002, after ERM and FeAT of any length", HERE, "after",
          lambda data: 0.002 - beside(data)),
    claim("scratch", r"from scratch IRMv1 ends with features of at most 1/50 of ERM's at equal $\eta t$", PAPER, "control",
          lambda data: np.minimum(end(at(data, strength=0)).invariant, end(at(data, strength=0)).spurious) / 50
          - size(end(at(data))), figure="scratch"),
    claim("scratch_always", "they stay below .02 all the time", PAPER, "control",
          lambda data: 0.02 - size(at(data)).max("time"), figure="scratch"),
    claim("scratch_control", r"at $\lambda=0$ they stay below .02 too", r"control: $\lambda=0$", "control",
          lambda data: 0.02 - size(at(data, strength=0)).max("time"), "fails", figure="scratch"),
    ts.Claim.of(THEORY.REST, "control", preset="paper", figure="scratch"),
    claim("rest_value", r"from scratch every $C_e$ comes to rest at $-1/\lambda$, within 30 %", HERE, "control",
          lambda data: within(end(at(data)).gradient / THEORY.rest_gradient(LAMBDA), 0.7, 1.3), figure="scratch"),
    claim("gradient_control", r"at $\lambda=0$ they end below $2/10^4$ as well", r"control: $\lambda=0$", "control",
          lambda data: 2e-4 - abs(end(at(data, strength=0)).gradient), "fails", figure="scratch"),
    claim("after_erm", "after 200 steps of ERM, IRMv1 raises the invariant feature by .1 and lowers the spurious one by .2",
          RECALLED, "control",
          lambda data: xr.concat([at(data, 200).invariant.max("time") - at(data, 200).invariant[..., 0] - 0.1,
                                  at(data, 200).spurious[..., 0] - at(data, 200).spurious.min("time") - 0.2], dim="part")),
    claim("crosses", "after 200 steps of ERM there is a time when the invariant feature leads by .1", RECALLED, "control",
          lambda data: -lead(at(data, 200)).min("time") - 0.1),
    claim("crosses_control", "ERM at the same step size gets there as well", r"control: $\lambda=0$", "control",
          lambda data: -lead(at(data, 200, strength=0)).min("time") - 0.1, "fails"),
    claim("short_pretraining", "after 20 steps of ERM it ends with both features below .1", PAPER, "after",
          lambda data: 0.1 - size(end(at(data, 20))), figure="pretraining"),
    claim("long_pretraining", "after 50 steps or more the invariant feature ends above .2", PAPER, "after",
          lambda data: end(at(data, slice(50, None))).invariant - 0.2, figure="pretraining"),
    claim("no_longer_matters", "beyond 50 steps their number changes its end by less than .05", "measured here", "after",
          lambda data: 0.05 - abs(end(at(data, data.pretraining[-1])).invariant - end(at(data, 50)).invariant),
          figure="pretraining"),
    claim("ood_decided", "its accuracy in the unseen environment is better after 200 steps of ERM than from scratch", PAPER,
          "control", lambda data: end(at(data, 200)).ood_accuracy - end(at(data)).ood_accuracy, figure="pretraining"),
    claim("ood_gain", "after 200 steps of ERM, IRMv1 gains .4 of accuracy in the unseen environment", PAPER, "control",
          lambda data: gain(at(data, 200)) - 0.4, figure="pretraining"),
    claim("ood_control", "ERM at the same step size gains it as well", r"control: $\lambda=0$", "control",
          lambda data: gain(at(data, 200, strength=0)) - 0.4, "fails", figure="pretraining"),
    claim("hidden_step", "after 20 steps on the spurious feature alone, the first step of IRMv1 lowers the invariant one",
          RECALLED, "spurious_only", lambda data: -grown(at(data, 20), 1).invariant, figure="portrait"),
    claim("hidden_short", "after 20 steps on the spurious feature alone it never learns .1 of the invariant one", RECALLED,
          "spurious_only", lambda data: 0.1 - at(data, 20).invariant.max("time"), figure="portrait"),
    claim("hidden_long", "neither after ERM on the spurious feature alone until that is learned", RECALLED, "spurious_only",
          lambda data: 0.1 - at(data, data.pretraining[-1]).invariant.max("time"), "fails", figure="portrait"),
    claim("feat", "after 20 steps of ERM a FeAT round makes IRMv1 end with more of the invariant feature", PAPER, "after",
          lambda data: end(at(data, 20, augmenting=ROUND)).invariant - end(at(data, 20)).invariant, figure="pretraining"),
    claim("feat_ood", "after 20 steps of ERM a FeAT round alone makes the accuracy in the unseen environment .4 better", PAPER,
          "after", lambda data: (at(data, 20, augmenting=ROUND).ood_accuracy - at(data, 20).ood_accuracy)[..., 0] - 0.4,
          figure="pretraining"),
    claim("feat_against_erm", "it also makes IRMv1 end with more of the invariant feature than 200 steps of ERM do",
          "control: more ERM", "after",
          lambda data: end(at(data, 20, augmenting=ROUND)).invariant - end(at(data, 200)).invariant, "fails",
          figure="pretraining"),
]  # fmt: skip

EXPERIMENT = ts.Experiment(params=Params, trial=trial, presets=PRESETS, claims=CLAIMS)
