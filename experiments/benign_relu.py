r"""Benign overfitting in two-layer ReLU CNNs (Kou, Chen, Chen, Gu, ICML 2023, arXiv 2303.04145).

A signal patch $y\mu$ and a noise patch $\xi\sim N(0,\sigma_p^2 I)$, labels flipped with probability $p$, a two-layer ReLU CNN
trained by gradient descent on the logistic loss until the training data are fitted. The test error on noisy labels is

    p + exp(-n |mu|^4 / (C2 sigma_p^4 d))   if   n |mu|^4 >= C1 sigma_p^4 d   (theorem 4.2)
    at least p + 0.1                        if   n |mu|^4 <= C3 sigma_p^4 d   (theorem 4.3)

so at fixed n the boundary is at |mu| ~ d^(1/4). The paper shows the heat map at d = 100 .. 1090; the exponent shows at 10^5.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
import optax
import xarray as xr

import theorysim as ts

CODE = "found: the authors' code, syntheticrelu.py"


@dataclass(frozen=True)
class Params:
    n: int = ts.field(20, low=1, doc="training samples")
    width: int = ts.field(10, low=1, doc="filters of each class, m")
    steps: int = ts.field(100, low=1, doc="gradient steps")
    records: int = ts.field(1, low=1, doc="observation times; 1 observes the end only")
    tests: int = ts.field(1000, low=1, doc="fresh points of the test error")
    filters: str = ts.field("sum", choices=("sum", "mean"), doc="over filters: the code sums, the theorem averages")
    patches: str = ts.field("mean", choices=("sum", "mean"), doc="over patches: the code averages, the theorem sums")
    bias: bool = ts.field(True, doc="whether filters have a trained bias")
    scaling: str = ts.field("published", choices=("published", "theorem"), doc="how lr and init depend on dim")
    frame: str = "reduced"
    dim: float = ts.field(100.0, low=2, whole=True, doc="dimension of a patch, d")
    signal: float = ts.field(5.0, low=0, doc="signal strength, |mu|")
    strength: float = ts.field(0.0, low=0, doc="more signal, in units of dim^(1/4)")
    noise: float = ts.field(1.0, low=0, doc="sigma_p")
    flip: float = ts.field(0.1, low=0, high=0.5, doc="probability of a wrong label, p")
    lr: float = ts.field(0.1, low=0, doc="step size; with the theorem's scaling in units of m/d")
    init: float = ts.field(
        3**-0.5, low=0, doc="std of the first filters, times dim^(-1/2), or dim^(-1) with the theorem's scaling"
    )


def trial(p: Params, key):
    keys = ts.streams(key, "space", "train", "test", "bias", "steps")
    law = ts.laws.SignalNoise(signal=p.signal + p.strength * p.dim**0.25, noise=p.noise, flip=p.flip)
    space = ts.exact.frame(keys.space, p.dim, fixed=law.fixed, kind=p.frame, train=p.n, filters=2 * p.width)
    lr, scale = {
        "published": (p.lr, p.init * p.dim**-0.5),  # a framework's default: std (3 d)^(-1/2)
        "theorem": (p.lr * p.width / p.dim, p.init / p.dim),  # eta ~ m / (sigma_p^2 d), small sigma_0
    }[p.scaling]
    bias = jax.random.uniform(keys.bias, (2 * p.width,), minval=-1.0) * p.dim**-0.5 if p.bias else None
    model = ts.models.TwoLayerCNN(scale * space.filters, over_filters=p.filters, over_patches=p.patches, bias=bias)
    train = law(keys.train, space.train)
    loss = ts.objectives.logistic(train)
    coefficients = ts.observers.decomposition(space, train, model)
    test = ts.observers.fresh_errors(law, keys.test, p.tests)

    def observe(state):
        margin, found, error = train.label * state.model(train.patches), coefficients(state.model), test(state.model)
        return {
            "train_loss": loss(state.model, None),
            "test_error": error.clean,
            "test_error_noisy": error.noisy,
            "margin_min": margin.min(),
            "margin_max": margin.max(),
            # not unique, so NaN, where dim < 1 + n
            "signal_learning": ts.named(found.signal_learning, partial=True),
            "noise_memorization": ts.named(found.noise_memorization, partial=True),
        }

    rule, times = ts.dynamics.gradient_descent(loss, optax.sgd(lr)), ts.log_times(p.steps, p.records)
    return ts.simulate(rule, model, frame=space, key=keys.steps, times=times, observe=observe).records


# --- where the numbers come from ---------------------------------------------------------------------------------------

PUBLISHED = {
    **dict.fromkeys(("n", "width", "steps", "tests", "filters", "patches", "bias", "noise", "flip", "lr"), CODE),
    **dict.fromkeys(("dim", "signal", "seeds"), CODE),
    "init": "assumed: Gaussian with the variance 1/(3 d) of the code's uniform; the biases are uniform as in the code",
    **dict.fromkeys(("records", "scaling", "strength"), "assumed: the code's step and first filters, no more signal"),
}
EVERY_FIFTH = dict.fromkeys(("signal", "dim"), "derived: every fifth value of the code's grid")
MORE = EVERY_FIFTH | {"seeds": "assumed: as many as the claims need"}
FEWER = EVERY_FIFTH | {"seeds": "assumed: fewer than the code's 10"}
THEOREM = {
    **dict.fromkeys(("n", "width", "tests", "noise", "flip"), CODE),
    **dict.fromkeys(("filters", "patches", "bias"), "assumed: recalled, the model of the paper's section 3"),
    **dict.fromkeys(("scaling", "lr", "init"), "assumed: within the theorem's condition 4.1, as recalled"),
    **dict.fromkeys(("dim", "strength", "signal", "seeds", "steps", "records"), "assumed"),
}

SIGNAL, DIM = np.round(0.1 * np.arange(100), 1), 100.0 + 10 * np.arange(100)
COARSE = {"signal": SIGNAL[::5], "dim": DIM[::5]}
CURVES = ts.Study(base={"records": 101}, seeds=10, sources=PUBLISHED | {"seeds": "assumed: the paper shows one run"})

SCALE = {
    "scaling": "theorem", "filters": "mean", "patches": "sum", "bias": False,
    "lr": 20.0, "init": 0.01, "signal": 0.0, "steps": 400,
}  # fmt: skip


def at_scale(over, strength, sources=THEOREM, seeds=40, **base):
    """A study of the boundary where signal = strength * dim^(1/4)."""
    return ts.Study({**over, "strength": strength}, seeds=seeds, base=SCALE | base, sources=sources, x64=True)


#: samples without a live filter of their class are never fitted: width >= 2 log2(n) makes them rare
SAMPLES = THEOREM | {"n": "assumed", "lr": "assumed: 20 m/d for every n", "width": "derived: >= 2 log2 of the largest n"}

PRESETS = {
    "quick": {"map": ts.Study(COARSE, seeds=4, sources=PUBLISHED | FEWER), "curves": CURVES},
    "paper": {
        "map": ts.Study({"signal": SIGNAL, "dim": DIM}, seeds=10, sources=PUBLISHED),
        "curves": CURVES,
        "coarse": ts.Study(COARSE, seeds=200, sources=PUBLISHED | MORE),
    },
    "asymptotic": {
        "exponent": at_scale({"dim": np.geomspace(1e4, 1e9, 6)}, np.geomspace(0.5, 4, 25)),
        "published_range": at_scale({"dim": [100.0, 180.0, 320.0, 560.0, 1000.0]}, np.geomspace(0.25, 4, 25)),
        "below": at_scale({"dim": [1e4, 1e6, 1e8]}, [0.15, 0.25, 0.4]),
        "no_labels": at_scale({"dim": [1e4, 1e6]}, [1.0, 2.0, 4.0], THEOREM | {"flip": "assumed: the control"}, flip=0.5),
        # no claim: the theorem's condition n |mu|^4 >= C d says -1/4 in n as well, which the figure compares
        "samples": at_scale({"n": [10, 20, 40, 80]}, np.geomspace(0.25, 1.25, 9), SAMPLES, 30, width=14, dim=1e8, steps=600),
    },
}


# --- what the paper states ----------------------------------------------------------------------------------------------

STORED = "the authors' stored result matrix, data_test100.csv"
THRESHOLD = "Kou et al. (2023), theorems 4.2 and 4.3"
within, THEORY = ts.analysis.within, ts.theory.benign_relu


def noisy(data: xr.Dataset, flip: float = 0.1) -> xr.DataArray:
    """The error on noisy labels, the flips of the test points averaged out: p + (1 - 2 p) times the clean error."""
    return flip + (1 - 2 * flip) * data.test_error


def blocks(error: xr.DataArray) -> xr.DataArray:
    """Means over a tenth of the map's signals and a tenth of its dimensions."""
    tenths = {name: error.sizes[name] // 10 for name in ("signal", "dim")}
    return error.coarsen(tenths, boundary="trim").mean()  # pyright: ignore[reportAttributeAccessIssue]


def part(data: xr.Dataset, field: str, low: float, high: float) -> xr.DataArray:
    """The mean error on noisy labels over the part of the map with low <= field < high, for each seed."""
    error = noisy(data)
    return error.where((error[field] >= low) & (error[field] < high), drop=True).mean(("signal", "dim"))


def middle(data: xr.Dataset) -> xr.Dataset:
    return data.sel(signal=slice(2, 3.9))


def below_four(error: xr.DataArray) -> xr.DataArray:
    return error.where(error.signal < 4, drop=True)


def boundary(data: xr.Dataset) -> xr.DataArray:
    """The signal at which the clean test error is 10 %."""
    return ts.analysis.phase_boundary(data, "test_error", 0.1, along="strength") * data.dim**0.25


def slope(data: xr.Dataset) -> xr.DataArray:
    """The exponent of the boundary in d, a value a seed."""
    return ts.analysis.slope_by_seed(data, boundary, "dim")


def ratio_slope(data: xr.Dataset) -> xr.DataArray:
    """That of n |mu|^4 / d along the boundary."""
    return ts.analysis.slope_by_seed(data, lambda part: THEORY.signal_to_noise(20, boundary(part), part.dim), "dim")


def exponent(data: xr.Dataset) -> ts.Effect:
    """The measured exponent beside the theorem's."""
    fit = ts.analysis.fit_exponent(data, boundary, against="dim")
    return ts.Effect("exponent", fit.slope, fit.low, fit.high, 0.25)


def predicted(data: xr.Dataset) -> xr.DataArray:
    """The boundary at the largest d over what the theorem says, its constant fitted three decades below; a value a seed."""

    def share(part: xr.Dataset) -> xr.DataArray:
        curve = boundary(part)
        near, far = curve.isel(dim=2), curve.isel(dim=-1)
        constant = float(THEORY.signal_to_noise(20, near, near.dim))
        return far / THEORY.critical_signal(20, far.dim, constant)

    return ts.analysis.jackknife(data, share)


CLAIMS = [
    ts.Claim(
        "chance_without_signal", r"without signal the error on noisy labels is in [.47, .53]", STORED, "coarse",
        lambda data: within(noisy(data).sel(signal=0).mean("dim"), 0.47, 0.53), figure="map",
    ),
    ts.Claim(
        "benign_floor", r"for $\|\mu\|\geq6$ the error on noisy labels is in [.08, .20] in every cell", STORED, "coarse",
        lambda data: within(noisy(data).sel(signal=slice(6, None)), 0.08, 0.20), figure="map",
    ),
    ts.Claim(
        "benign_mean", r"for $\|\mu\|\geq6$ its mean is within .01 of the stored .112", STORED, "coarse",
        lambda data: within(noisy(data).sel(signal=slice(6, None)).mean(("signal", "dim")), 0.102, 0.122), figure="map",
    ),
    ts.Claim(
        "falls_with_signal", r"block means fall with $\|\mu\|$, up to .01", STORED, "coarse",
        lambda data: 0.01 - blocks(noisy(data)).diff("signal"), figure="map",
    ),
    ts.Claim(
        "grows_with_dim", r"for $\|\mu\|<4$ block means grow with $d$, up to .01", STORED, "coarse",
        lambda data: 0.01 + below_four(blocks(noisy(data))).diff("dim"), figure="map",
    ),
    ts.Claim(
        "signal_matters", r"the mean over $d$ falls by more than .2 from $\|\mu\|<1$ to $4\leq\|\mu\|<5$", STORED, "coarse",
        lambda data: part(data, "signal", 0, 1) - part(data, "signal", 4, 5) - 0.2, figure="map",
    ),
    ts.Claim(
        "dimension_matters", r"for $2\leq\|\mu\|<4$ it rises by more than .05 from $d\leq200$ to $d\geq900$", STORED, "coarse",
        lambda data: part(middle(data), "dim", 900, 2000) - part(middle(data), "dim", 0, 201) - 0.05, figure="map",
    ),
    ts.Claim(
        "fits_training_data", r"the training loss is below .01 on both sides of the boundary", THRESHOLD, "exponent",
        lambda data: 0.01 - data.train_loss, figure="exponent",
    ),
    ts.Claim(
        "exponent", r"the 10 % boundary follows $\|\mu\|^*\propto d^{1/4}$: exponent in [.23, .27]", THRESHOLD, "exponent",
        lambda data: within(slope(data), 0.23, 0.27), effect=exponent, figure="exponent",
    ),
    ts.Claim(
        "threshold_is_constant", r"$n\|\mu\|^4/(\sigma_p^4d)$ is constant along the boundary: slope in [-.05, .05]",
        THRESHOLD, "exponent", lambda data: within(ratio_slope(data), -0.05, 0.05), figure="collapse",
    ),
    ts.Claim(
        "predicts_the_boundary", r"$\|\mu\|^*=\sigma_p(Cd/n)^{1/4}$ with $C$ from $d=10^6$ holds within 5 % at $d=10^9$",
        THRESHOLD, "exponent", lambda data: within(predicted(data), 0.95, 1.05), figure="exponent",
    ),
    ts.Claim(
        "reaches_the_floor", r"at $\|\mu\|=4\,d^{1/4}$ the error is the bound's limit $p$, within .01", THRESHOLD, "exponent",
        lambda data: within(noisy(data).isel(strength=-1) - THEORY.benign_error(0.1, 20 * 4.0**4, 20.0), -0.01, 0.01),
        figure="collapse",
    ),
    ts.Claim.of(THEORY.BENIGN, "exponent", along="dim", figure="collapse"),
    ts.Claim.of(THEORY.HARMFUL, "below", figure="exponent"),
    ts.Claim(
        "fits_below_too", r"below the threshold the training loss is below .01 as well", THRESHOLD, "below",
        lambda data: 0.01 - data.train_loss, figure="exponent",
    ),
    ts.Claim(
        "boundary_grows_at_published_dims", r"at $d=100..1000$ the exponent is in [.10, .22]: growth, but no power law yet",
        "measured here, with the theorem's scaling", "published_range", lambda data: within(slope(data), 0.10, 0.22),
        effect=exponent, figure="exponent",
    ),
    ts.Claim(
        "exponent_at_published_dims", r"the exponent is in [.23, .27] already at $d=100..1000$", "control: too small d",
        "published_range", lambda data: within(slope(data), 0.23, 0.27), expected="fails", effect=exponent, figure="exponent",
    ),
    ts.Claim(
        "needs_labels", r"coin-flip labels still give an error under .1 at the strongest signal", "control: flips 1/2",
        "no_labels", lambda data: 0.1 - data.test_error.isel(strength=-1), expected="fails", figure="exponent",
    ),
]  # fmt: skip

EXPERIMENT = ts.Experiment(params=Params, trial=trial, presets=PRESETS, claims=CLAIMS)
