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
import jax.numpy as jnp
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
            "signal_learning": found.signal_learning,
            "noise_memorization": found.noise_memorization,
        }

    times = p.steps if p.records == 1 else ts.log_times(p.steps, p.records)
    rule = ts.dynamics.gradient_descent(loss, optax.sgd(lr))
    return ts.simulate(rule, model, frame=space, key=keys.steps, times=times, observe=observe).records


# --- where the numbers come from ---------------------------------------------------------------------------------------

PUBLISHED = {
    **dict.fromkeys(("n", "width", "steps", "tests", "filters", "patches", "bias", "noise", "flip", "lr"), CODE),
    "dim": CODE,
    "signal": CODE,
    "seeds": CODE + " (10 repetitions)",
    "init": "assumed: Gaussian with the variance 1/(3 d) of the code's uniform; the biases are uniform as in the code",
    "records": "assumed",
    "scaling": "assumed: the code's step and initialisation",
    "strength": "assumed: no more signal than `signal`",
}
FEWER = {"seeds": "assumed: fewer than the code's 10"}
THEOREM = {
    **dict.fromkeys(("n", "width", "tests", "noise", "flip"), CODE),
    **dict.fromkeys(("filters", "patches", "bias"), "found: the paper's model, section 3"),
    **dict.fromkeys(("scaling", "lr", "init"), "assumed: within the theorem's condition 4.1"),
    **dict.fromkeys(("dim", "strength", "signal", "seeds", "steps", "records"), "assumed"),
}

AT_SCALE = {
    "scaling": "theorem", "filters": "mean", "patches": "sum", "bias": False,
    "lr": 20.0, "init": 0.01, "signal": 0.0, "steps": 400,
}  # fmt: skip
CUT = 0.2  # the published figure's cut of the test error on noisy labels
EDGE = 0.1  # the exponent's cut of the test error on true labels

signals, dims = np.round(0.1 * np.arange(100), 1), 100.0 + 10 * np.arange(100)

PRESETS = {
    "quick": {
        "map": ts.Study(over={"signal": signals[::5], "dim": dims[::5]}, seeds=4, sources=PUBLISHED | FEWER),
        "curves": ts.Study(base={"records": 101}, seeds=10, sources=PUBLISHED),
    },
    "paper": {
        "map": ts.Study(over={"signal": signals, "dim": dims}, seeds=10, sources=PUBLISHED),
        "curves": ts.Study(base={"records": 101}, seeds=10, sources=PUBLISHED),
    },
    "asymptotic": {
        "exponent": ts.Study(
            over={"dim": np.geomspace(1e4, 1e9, 6), "strength": np.geomspace(0.5, 4, 25)},
            base=AT_SCALE, seeds=40, x64=True, sources=THEOREM,
        ),
        "published_range": ts.Study(
            over={"dim": np.array([100.0, 180.0, 320.0, 560.0, 1000.0]), "strength": np.geomspace(0.25, 4, 25)},
            base=AT_SCALE, seeds=40, x64=True, sources=THEOREM,
        ),
        "no_labels": ts.Study(
            over={"dim": np.array([1e4, 1e6]), "strength": np.geomspace(0.5, 4, 5)},
            base=AT_SCALE | {"flip": 0.5}, seeds=40, x64=True, sources=THEOREM | {"flip": "assumed: the control"},
        ),
    },
}  # fmt: skip


# --- what the paper states ----------------------------------------------------------------------------------------------


def boundary(data: xr.Dataset) -> xr.DataArray:
    """The signal strength at which the clean test error is `EDGE`."""
    return ts.analysis.phase_boundary(data, "test_error", EDGE, along="strength") * data.dim**0.25


def within(value: xr.DataArray, low: float, high: float) -> xr.DataArray:
    """Margins of low <= value <= high."""
    return xr.concat([value - low, high - value], dim="side")


def blocks(error: xr.DataArray) -> xr.DataArray:
    """Means over a tenth of the map's signals and a tenth of its dimensions."""
    tenths = {name: error.sizes[name] // 10 for name in ("signal", "dim")}
    return error.coarsen(tenths, boundary="trim").mean()  # pyright: ignore[reportAttributeAccessIssue]


def slope(data: xr.Dataset) -> xr.DataArray:
    """The exponent of the boundary, one jackknife value a seed."""

    def fit(part: xr.Dataset) -> xr.DataArray:
        curve = boundary(part)
        return xr.DataArray(np.polyfit(np.log(curve.dim), np.log(curve), 1)[0])

    return ts.analysis.jackknife(data, fit)


def falls_with_signal(data: xr.Dataset) -> xr.DataArray:
    return 0.01 - blocks(data.test_error_noisy).diff("signal")


def grows_with_dim(data: xr.Dataset) -> xr.DataArray:
    means = blocks(data.test_error_noisy)
    return 0.01 + means.where(means.signal < 4, drop=True).diff("dim")


MAP = "the authors' result matrix, data_test100.csv"
THRESHOLD = "Kou et al. (2023), theorems 4.2 and 4.3"
CLAIMS = [
    ts.Claim(
        "chance_without_signal", r"without signal the error on noisy labels is in [.47, .53]", MAP, "map",
        lambda data: within(data.test_error_noisy.sel(signal=0).mean("dim"), 0.47, 0.53),
    ),
    ts.Claim(
        "benign_floor", r"for $\|\mu\|\geq6$ the error on noisy labels is in [.08, .20] everywhere", MAP, "map",
        lambda data: within(data.test_error_noisy.sel(signal=slice(6, None)), 0.08, 0.20),
    ),
    ts.Claim(
        "benign_mean", r"for $\|\mu\|\geq6$ the mean error on noisy labels is within .01 of the published .112", MAP, "map",
        lambda data: within(data.test_error_noisy.sel(signal=slice(6, None)).mean(("signal", "dim")), 0.102, 0.122),
    ),
    ts.Claim("falls_with_signal", r"block means fall with $\|\mu\|$, up to .01", MAP, "map", falls_with_signal),
    ts.Claim("grows_with_dim", r"for $\|\mu\|<4$ block means grow with $d$, up to .01", MAP, "map", grows_with_dim),
    ts.Claim(
        "fits_training_data", r"the training loss is below .01 on both sides of the boundary", THRESHOLD, "exponent",
        lambda data: 0.01 - data.train_loss.mean(("dim", "strength")),
    ),
    ts.Claim(
        "exponent", r"the 10 % boundary follows $\|\mu\|^*\propto d^{1/4}$: exponent in [.23, .27]", THRESHOLD, "exponent",
        lambda data: within(slope(data), 0.23, 0.27),
    ),
    ts.Claim(
        "exponent_published_range", r"the exponent is in [.23, .27] already at $d=100..1000$", "a control: it is not",
        "published_range", lambda data: within(slope(data), 0.23, 0.27), expected="fails",
    ),
    ts.Claim(
        "needs_labels", r"labels that say nothing still give an error under .1 at the strongest signal", "a control",
        "no_labels", lambda data: EDGE - data.test_error.isel(strength=-1), expected="fails",
    ),
]  # fmt: skip

EXPERIMENT = ts.Experiment(
    params=Params,
    trial=trial,
    presets={"quick": PRESETS["quick"], "paper": PRESETS["paper"], "asymptotic": PRESETS["asymptotic"]},
    claims=CLAIMS,
)
