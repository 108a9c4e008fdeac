r"""Benign overfitting in two-layer ReLU CNNs for XOR data (Meng, Zou, Cao, ICML 2024, arXiv 2310.01975).

The signal patch is $\pm u$ for one class and $\pm v$ for the other, with $\|u\|=\|v\|=\|\mu\|$ at the angle $\theta$: no
line separates them. The other patch is Gaussian noise orthogonal to both, labels are flipped with probability $p$, and a
two-layer ReLU CNN is trained by gradient descent until the training data are fitted. The test error on noisy labels is

    p + exp(-n |mu|^4 / (C2 sigma_p^4 d))   if   n |mu|^4 >= C1 sigma_p^4 d   (theorem 3.2, cos < 1/2)
    at least p + a constant                 if   n |mu|^4 <= C3 sigma_p^4 d

and where the features are highly correlated (cos >= 1/2) |mu|^2 (1 - cos) takes the place of |mu|^2. At fixed n the boundary is
at |mu| ~ d^(1/4); the exponent shows at d >> n^2, where the preset `asymptotic` looks, with the theorem's scaling.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import optax
import xarray as xr

import theorysim as ts

THEORY = ts.theory.benign_xor


@dataclass(frozen=True)
class Params:
    n: int = ts.field(80, low=1, doc="training samples")
    width: int = ts.field(40, low=1, doc="filters of each class, m")
    steps: int = ts.field(400, low=1, doc="gradient steps")
    tests: int = ts.field(2000, low=1, doc="fresh points of the test error")
    activation: str = ts.field("relu", choices=("relu", "identity"), doc="identity: a linear network, the control")
    scaling: str = ts.field("fixed", choices=("fixed", "theorem"), doc="how lr and init depend on dim")
    frame: str = "reduced"
    dim: float = ts.field(200.0, low=4, whole=True, doc="dimension of a patch, d")
    signal: float = ts.field(6.0, low=0, doc="signal strength, |mu|")
    ratio: float = ts.field(0.0, low=0, doc="more signal: so much that n |mu|^4/(sigma_p^4 d) has this value")
    cosine: float = ts.field(0.0, low=-1, high=1, doc="cos theta between the features of the two classes")
    noise: float = ts.field(1.0, low=0, doc="sigma_p")
    flip: float = ts.field(0.1, low=0, high=0.5, doc="probability of a wrong label, p")
    lr: float = ts.field(0.5, low=0, doc="step size; with the theorem's scaling in units of n m/(sigma_p^2 d)")
    init: float = ts.field(0.01, low=0, doc="std of the first filters, sigma_0; with the theorem's scaling times 1/d")


def trial(p: Params, key):
    keys = ts.streams(key, "space", "train", "test", "steps")
    signal = p.signal + THEORY.signal_of_ratio(p.ratio, p.n, p.dim, p.noise)
    law = ts.laws.XOR(signal, cosine=p.cosine, noise=p.noise, flip=p.flip)
    space = ts.exact.frame(keys.space, p.dim, fixed=law.fixed, kind=p.frame, train=p.n, filters=2 * p.width)
    train = law(keys.train, space.train)
    lr, scale = {
        "fixed": (p.lr, p.init),
        "theorem": (p.lr * p.n * p.width / (p.noise**2 * p.dim), p.init / p.dim),
    }[p.scaling]
    model = ts.models.TwoLayerCNN(scale * space.filters, activation=p.activation)
    loss, test = ts.objectives.logistic(train), ts.observers.fresh_errors(law, keys.test, p.tests)

    def observe(state):
        error = test(state.model)
        return {
            "train_loss": loss(state.model, None),
            "train_error_noisy": ts.observers.errors(state.model, train).noisy,
            "test_error": error.clean,
            "test_error_noisy": error.noisy,
        }

    rule = ts.dynamics.gradient_descent(loss, optax.sgd(lr))
    return ts.simulate(rule, model, frame=space, key=keys.steps, times=p.steps, observe=observe).records


# --- where the numbers come from ---------------------------------------------------------------------------------------

SUGGESTED = "assumed: the paper's values were not found; with these its effects show"
SOURCES = {
    **dict.fromkeys(("n", "width", "steps", "dim", "signal", "cosine", "noise", "flip", "lr", "init"), SUGGESTED),
    **dict.fromkeys(("ratio", "tests", "seeds"), "assumed"),
}
THEOREM = SOURCES | {
    **dict.fromkeys(("lr", "init", "dim"), "assumed: within the theorem's conditions, as recalled"),
    "signal": "assumed: none beside ratio",
    "width": "derived: >= 2 log2 n, so that no sample is without a live filter",
}
SCALE = {"scaling": "theorem", "lr": 1.0, "signal": 0.0, "width": 20, "steps": 200}


def at_scale(over, ratio, seeds, sources=THEOREM, **base):
    """A study of the boundary along x = n |mu|^4/(sigma_p^4 d), in double precision: the first filters are tiny."""
    return ts.Study({**over, "ratio": ratio}, seeds, SCALE | base, sources, x64=True)


def published(signal, dim, seeds, spots):
    """The heat map, its spots at d = 200 on more seeds, and a linear network on the same data."""
    strengths = [0.0, 2.0, 4.0, 6.0, 8.0]
    return {
        "map": ts.Study({"cosine": [0.0, 0.8], "signal": signal, "dim": dim}, seeds, sources=SOURCES),
        # it sweeps the same fields as the map, so that both share one compiled program
        "spots": ts.Study({"cosine": [0.0, 0.4, 0.8, 1.0], "signal": strengths, "dim": [200.0]}, spots, sources=SOURCES),
        "linear": ts.Study(
            {"cosine": [0.0, 0.8], "signal": strengths[1:]}, spots, {"activation": "identity"}, SOURCES
        ),
    }  # fmt: skip


HALF_OCTAVES = 2 * 2 ** (np.arange(15) / 2)
PRESETS = {
    "quick": published([0.0, 2.0, 4.0, 6.0, 9.0], [200.0, 500.0, 1000.0], 2, 3),
    "paper": published(np.linspace(0, 9, 13), np.linspace(200, 1000, 9), 10, 40),
    "asymptotic": {
        "exponent": at_scale({"cosine": [0.0, 0.5, 0.65], "dim": np.geomspace(1e4, 1e8, 5)}, HALF_OCTAVES, 20),
        "angle": at_scale({"cosine": [0.0, 0.25, 0.4, 0.5, 0.6, 0.7, 0.8]}, HALF_OCTAVES / 2, 40, n=160, dim=1e6),
        "above": at_scale({"cosine": [0.0, 0.5], "dim": [1e4, 1e6, 1e8]}, [16.0, 64.0, 256.0], 60),
        "below": at_scale({"cosine": [0.0, 0.5], "dim": [1e4, 1e6, 1e8]}, [0.1, 0.3, 1.0], 20),
        "no_labels": at_scale({"dim": [1e4, 1e6]}, [100.0, 200.0], 20, THEOREM | {"flip": "assumed: the control"}, flip=0.5),
    },
}


# --- what the paper states ----------------------------------------------------------------------------------------------

ABOVE, HARD = "Meng et al. (2024), theorem 3.2", "Meng et al. (2024), theorem 3.3, recalled"
EDGE, WIDE = 0.2, 0.3
within, jackknife = ts.analysis.within, ts.analysis.jackknife


def boundary(data: xr.Dataset, edge: float = EDGE) -> xr.DataArray:
    """The signal at which the clean test error is 20 %."""
    ratio = ts.analysis.phase_boundary(data, "test_error", edge, along="ratio")
    p = ts.theory.fields(data)
    return THEORY.signal_of_ratio(ratio, p.n, p.dim)


def slopes(data: xr.Dataset) -> xr.DataArray:
    """The exponent of the boundary in d for each angle, one jackknife value a seed."""

    def fit(part: xr.Dataset) -> xr.DataArray:
        curve = boundary(part).transpose("dim", "cosine")
        found = np.polyfit(np.log(curve.dim), np.log(curve.values), 1)[0]
        return xr.DataArray(found, {"cosine": curve.cosine}, ("cosine",))

    return jackknife(data, fit)


def in_dim(data: xr.Dataset) -> ts.Effect:
    """The measured exponent in d at cos 0 beside the theorem's."""
    fit = ts.analysis.fit_exponent(data.sel(cosine=0), boundary, against="dim")
    return ts.Effect("exponent", fit.slope, fit.low, fit.high, 0.25)


def angle_slope(data: xr.Dataset, low: float, high: float) -> xr.DataArray:
    """The exponent of the boundary (at an error of 30 %) in 1 - cos between two angles, one jackknife value a seed."""

    def fit(part: xr.Dataset) -> xr.DataArray:
        curve = boundary(part.sel(cosine=slice(low, high)), WIDE)
        return xr.DataArray(np.polyfit(np.log(1 - curve.cosine), np.log(curve.values), 1)[0])

    return jackknife(data, fit)


def narrow(data: xr.Dataset) -> xr.DataArray:
    """Its exponent in 1/(1 - cos) where the features are highly correlated."""
    return -angle_slope(data, 0.5, 0.8)


def widening(data: xr.Dataset) -> xr.DataArray:
    """By what share the boundary moves from cos 0 to .25."""

    def share(part: xr.Dataset) -> xr.DataArray:
        edge = boundary(part, WIDE)
        return edge.sel(cosine=0.25, drop=True) / edge.sel(cosine=0, drop=True) - 1

    return jackknife(data, share)


def rate_ratio(data: xr.Dataset, power: float = 1.0) -> xr.DataArray:
    """The late slope of log(sqrt(x) error) over its early one, against x^power; pooled over d at cos 0."""

    def fit(part: xr.Dataset) -> xr.DataArray:
        error = part.test_error.sel(cosine=0).mean(("seed", "dim"))
        heights = np.log(error * error.ratio**0.5)
        slope = np.diff(heights) / np.diff(heights.ratio**power)
        return xr.DataArray(slope[1] / slope[0])

    return jackknife(data, fit)


def effect(name: str, measure, stated: float):
    """The mean over jackknife values, with its normal interval, beside what is stated."""

    def measured(data: xr.Dataset) -> ts.Effect:
        values = measure(data)
        middle, half = float(values.mean()), 1.96 * float(values.std(ddof=1)) / values.size**0.5
        return ts.Effect(name, middle, middle - half, middle + half, stated)

    return measured


def spots(**options: Any) -> dict[str, Any]:
    return {"source": ABOVE, "study": "spots", "preset": "paper", "figure": "angle"} | options


def large(**options: Any) -> dict[str, Any]:
    return {"source": ABOVE, "study": "exponent", "preset": "asymptotic", "figure": "exponent"} | options


CLAIMS = [
    ts.Claim("learns", r"at $\|\mu\|=6$, $\cos\theta=0$ the clean error is below 2 %", **spots(
        check=lambda data: 0.02 - data.test_error.sel(signal=6, cosine=0))),
    ts.Claim("floor", r"at $\|\mu\|=8$, $\cos\theta=0$ the error on noisy labels is at most $p+.01$", **spots(
        check=lambda data: 0.01 - 0.8 * data.test_error.sel(signal=8, cosine=0))),
    ts.Claim("overfits", "all flipped training labels are fitted, at every angle but 0", **spots(
        check=lambda data: 0.005 - data.train_error_noisy.sel(signal=slice(2, None), cosine=slice(0, 0.8)))),
    ts.Claim("falls_with_signal", r"the error falls with $\|\mu\|$ at each angle", **spots(
        check=lambda data: -data.test_error.sel(cosine=slice(0, 0.8)).diff("signal"))),
    ts.Claim("grows_with_cosine", r"at $\|\mu\|=2,4,6$ the error grows with $\cos\theta=0,.4,.8$", **spots(
        source=HARD, check=lambda data: data.test_error.sel(cosine=slice(0, 0.8), signal=slice(2, 6)).diff("cosine"))),
    ts.Claim("chance_without_signal", "without signal the clean error is in [.47, .53]", **spots(
        source="control: mu = 0", check=lambda data: within(data.test_error.sel(signal=0).mean("cosine"), 0.47, 0.53))),
    ts.Claim("needs_an_angle", r"at $\cos\theta=1$, where $u=v$, the clean error is below .3 at $\|\mu\|=8$", **spots(
        source="control: theta = 0", expected="fails", check=lambda data: 0.3 - data.test_error.sel(signal=8, cosine=1))),
    ts.Claim("linear_stays_at_chance", "a linear network stays at a clean error of at least .45", **spots(
        source="derived: x and -x are equally likely in each class", study="linear",
        check=lambda data: data.test_error - (THEORY.linear_error() - 0.05))),
    ts.Claim("linear_learns", r"a linear network too is below 2 % at $\|\mu\|=6$", **spots(
        source="control: identity activation", study="linear", expected="fails",
        check=lambda data: 0.02 - data.test_error.sel(signal=6))),
    ts.Claim("exponent", r"at $d=10^4..10^8$ the boundary is at $\|\mu\|\sim d^a$, $a$ in [.24, .26], at each angle", **large(
        check=lambda data: within(slopes(data), 0.24, 0.26), effect=in_dim)),
    ts.Claim("log_linear", r"$\log(\sqrt{x}\,\mathrm{error})$ is linear in $x=n\|\mu\|^4/(\sigma_p^4d)$: its slopes over "
             "16..64 and 64..256 agree within 35 %", **large(
        study="above", figure="collapse", check=lambda data: within(rate_ratio(data), 0.65, 1.35),
        effect=effect("ratio of slopes", rate_ratio, 1.0))),
    ts.Claim("log_linear_in_square", r"it is linear in $\|\mu\|^2\sqrt{n/d}$ just as well", **large(
        source="control: a wrong power", study="above", figure="collapse", expected="fails",
        check=lambda data: within(rate_ratio(data, 0.5), 0.65, 1.35))),
    ts.Claim.of(THEORY.BENIGN, "above", along="dim", preset="asymptotic", figure="collapse"),
    ts.Claim.of(THEORY.HARMFUL, "below", preset="asymptotic", figure="exponent"),
    ts.Claim("fits_below_too", "below the threshold the training loss is below .02 as well", **large(
        study="below", check=lambda data: 0.02 - data.train_loss)),
    ts.Claim("classic_angles", r"from $\cos\theta=0$ to .25 the boundary moves by less than 10 %", **large(
        study="angle", figure="angle_law", check=lambda data: 0.1 - widening(data))),
    ts.Claim("challenging_angles", r"from .5 to .8 it is at $\|\mu\|\sim(1-\cos\theta)^{-a}$, $a$ in [.3, .7]", **large(
        source=HARD, study="angle", figure="angle_law", check=lambda data: within(narrow(data), 0.3, 0.7),
        effect=effect("exponent", narrow, 0.5))),
    ts.Claim("challenging_from_zero", "the same exponent holds from 0 to .4", **large(
        source="control: the classic regime", study="angle", figure="angle_law", expected="fails",
        check=lambda data: within(-angle_slope(data, 0.0, 0.4), 0.3, 0.7))),
    ts.Claim("needs_labels", "coin-flip labels still give an error below .2", **large(
        source="control: flips 1/2", study="no_labels", expected="fails", check=lambda data: 0.2 - data.test_error)),
]  # fmt: skip

EXPERIMENT = ts.Experiment(params=Params, trial=trial, presets=PRESETS, claims=CLAIMS)
