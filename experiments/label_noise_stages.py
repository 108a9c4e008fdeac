r"""On the role of label noise in the feature learning process (Huang et al., ICML 2025, arXiv 2505.18909).

Signal and noise patches with n SNR^2 of order one, a two-layer ReLU CNN, and labels flipped once and for all. Gradient descent
first learns the signal: at T1 = Theta(n m / (eta sigma^2 d)) every flipped sample is still classified as its true class, so its
loss is above log 2 (theorem 4.1, proposition 4.3). Then it memorises the noise of the flipped samples, and the test error rises
(theorem 4.2). Without flips there is no second stage (theorem 4.4). The preset `digits` shows how that begins on real data.

The stages depend on the signal: at n SNR^2 = 18, as here, one step is enough for the first; at 2 there is none (study `onset`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial

import jax.numpy as jnp
import numpy as np
import optax
import xarray as xr

import theorysim as ts

T1 = 5  # assumed: the theorem's n m / (eta sigma^2 d) times .05, as THEORY.at_first_stage has it


@dataclass(frozen=True)
class Params:
    n: int = ts.field(200, low=2, doc="training samples")
    width: int = ts.field(20, low=1, doc="filters of each class, m")
    steps: int = ts.field(3000, low=1, doc="gradient steps")
    records: int = ts.field(60, low=1, doc="observation times; 1 observes the end only")
    tests: int = ts.field(2000, low=1, doc="fresh points of the test error")
    loss: str = ts.field("logistic", choices=("logistic", "hinge", "square"), doc="what is minimised")
    samples: bool = ts.field(False, doc="whether to keep the loss of each training sample")
    data: str = ts.field("signal_noise", choices=("signal_noise", "digits"), doc="the law, or handwritten digits")
    frame: str = "reduced"
    dim: float = ts.field(400.0, low=2, whole=True, doc="dimension of a patch, d")
    signal: float = ts.field(6.0, low=0, doc="signal strength, |mu|")
    noise: float = ts.field(1.0, low=0, doc="sigma_xi")
    flip_plus: float = ts.field(0.3, low=0, high=0.5, doc="tau_+ = P(label -1 | class +1)")
    flip_minus: float = ts.field(0.3, low=0, high=0.5, doc="tau_- = P(label +1 | class -1)")
    lr: float = ts.field(0.1, low=0, doc="step size, eta")
    init: float = ts.field(1e-3, low=0, doc="std of the first filters, sigma_0")


@cache
def digits() -> tuple[np.ndarray, np.ndarray]:
    """The digits 3 and 5 that come with scikit-learn, centred, each of norm 8."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise ts.Refused("the digits come with scikit-learn: pip install 'theorysim[real]'") from None
    images, digit = load_digits(return_X_y=True)
    kept = np.isin(digit, (3, 5))
    images = np.asarray(images)[kept] - np.asarray(images)[kept].mean(axis=0)
    return 8 * images / np.linalg.norm(images, axis=1, keepdims=True), np.asarray(digit)[kept]


def trial(p: Params, key):
    keys = ts.streams(key, "space", "train", "test", "steps")
    if p.data == "digits":
        law = ts.laws.Arrays(*digits(), flip_plus=p.flip_plus, flip_minus=p.flip_minus)
        space = ts.exact.frame(keys.space, p.dim, fixed=law.fixed, kind=p.frame, filters=2 * p.width)
        train, held_out = law.split(keys.train, p.n, space)
        test = partial(ts.observers.errors, batch=held_out)
    else:
        law = ts.laws.SignalNoise(signal=p.signal, noise=p.noise, flip_plus=p.flip_plus, flip_minus=p.flip_minus)
        space = ts.exact.frame(keys.space, p.dim, fixed=law.fixed, kind=p.frame, train=p.n, filters=2 * p.width)
        train = law(keys.train, space.train)
        test = ts.observers.fresh_errors(law, keys.test, p.tests)
    model = ts.models.TwoLayerCNN(p.init * space.filters)
    loss, each = getattr(ts.objectives, p.loss)(train), getattr(ts.objectives, f"{p.loss}_loss")
    coefficients = ts.observers.decomposition(space, train, model) if p.data == "signal_noise" else None
    noisy = train.label != train.sign

    def observe(state):
        margin = train.label * state.model(train.patches)
        fitted, losses = (1 + jnp.sign(margin)) / 2, each(margin)
        seen = {
            "train_loss": jnp.mean(losses),
            "test_error": test(state.model).clean,
            "accuracy": jnp.mean(fitted),
            "accuracy_clean": ts.observers.mean_over(fitted, ~noisy),
            "accuracy_noisy": ts.named(ts.observers.mean_over(fitted, noisy), partial=True),
            "loss_clean_max": ts.observers.max_over(losses, ~noisy),
            "loss_noisy_min": ts.named(-ts.observers.max_over(-losses, noisy), partial=True),
            "auroc": ts.named(ts.observers.auroc(losses, noisy), partial=True),
        }
        if coefficients:
            found = coefficients(state.model)
            seen["signal_learning"] = ts.named(found.signal_learning, partial=True)
            seen["noise_clean"] = ts.named(ts.observers.max_over(found.rho_bar, ~noisy), partial=True)
            seen["noise_noisy"] = ts.named(ts.observers.max_over(found.rho_bar, noisy), partial=True)
        if p.samples:
            seen["loss_each"] = ts.named(losses, "sample")
            seen["flipped"] = ts.named(noisy, "sample")
        return seen

    rule, times = ts.dynamics.gradient_descent(loss, optax.sgd(p.lr)), ts.log_times(p.steps, p.records)
    return ts.simulate(rule, model, frame=space, key=keys.steps, times=times, observe=observe).records


# --- where the numbers come from ---------------------------------------------------------------------------------------

SUGGESTED = "assumed: the paper's values were not found; these show its stages on every seed"
SOURCES = {
    **dict.fromkeys(("n", "width", "steps", "dim", "signal", "noise", "flip_plus", "flip_minus", "lr", "init"), SUGGESTED),
    **dict.fromkeys(("records", "tests", "seeds"), "assumed"),
    "samples": "assumed: kept where the histogram needs them",
}
DIGITS = SOURCES | {
    "dim": "found: 64 pixels, given by the data",
    **dict.fromkeys(("signal", "noise", "tests"), "assumed: unused, the data have their own"),
    **dict.fromkeys(("n", "width", "steps"), "assumed"),
}
CLEAN, NO_SIGNAL = {"flip_plus": 0.0, "flip_minus": 0.0}, {"signal": 0.0}
AT_T1 = {"steps": T1, "records": 1, "samples": True}
REAL = {"data": "digits", "frame": "ambient", "dim": 64.0, "n": 100, "width": 50, "steps": 6000}


def stages(seeds, of_control):
    """The published figure with and without flips, a control without signal, and the losses at T1."""
    return {
        "curves": ts.Study(seeds=seeds, sources=SOURCES),
        "control": ts.Study(seeds=of_control, base=CLEAN, sources=SOURCES),
        "no_signal": ts.Study(seeds=of_control, base=NO_SIGNAL, sources=SOURCES | {"signal": "assumed: the control"}),
        "selection": ts.Study(seeds=2 * seeds, base=AT_T1, sources=SOURCES),
        "onset": ts.Study({"signal": [2.0, 4.0, 6.0, 10.0]}, seeds, AT_T1 | {"samples": False}, SOURCES),
    }


PRESETS = {
    "quick": stages(4, 4),
    "paper": stages(50, 20),
    "digits": {
        "digits": ts.Study(seeds=80, base=REAL, sources=DIGITS),
        "digits_control": ts.Study(seeds=40, base=REAL | CLEAN, sources=DIGITS),
        "digits_selection": ts.Study(seeds=80, base=REAL | AT_T1, sources=DIGITS),
    },
}


# --- what the paper states ----------------------------------------------------------------------------------------------

THEORY = ts.theory.label_noise_stages
LOG2 = THEORY.LOG2
at_t1 = THEORY.at_first_stage


def ten_t1(data: xr.Dataset) -> xr.Dataset:
    return data.sel(time=10 * T1, method="nearest")


def late(data: xr.Dataset) -> xr.Dataset:
    return data.sel(time=slice(50, None))


def at_end(data: xr.Dataset) -> xr.Dataset:
    return data.isel(time=-1)


def early_digits(data: xr.Dataset) -> xr.Dataset:
    """The digits have no known noise level, hence no T1 of their own: the synthetic one."""
    return data.sel(time=T1)


def rise(data: xr.Dataset, first=at_t1) -> xr.DataArray:
    """How much the test error grows after T1."""
    return at_end(data).test_error - first(data).test_error


def converged(data: xr.Dataset) -> dict[str, float]:
    """Theorem 4.2 speaks of a converged training loss; how far the last one is below .01, in decades."""
    return {"train loss <= .01": float(np.log10(0.01 / at_end(data).train_loss.mean()))}


FIRST, SECOND = "Huang et al. (2025), theorem 4.1", "Huang et al. (2025), theorem 4.2"
STOP, CLEAN_LABELS = "Huang et al. (2025), proposition 4.3", "Huang et al. (2025), theorem 4.4"
ON_DIGITS = "the idea of theorems 4.1 and 4.2, on data that are not the paper's"


PANEL = {
    "curves": "stages",
    "digits": "early_stopping",
    "digits_control": "early_stopping",
    "onset": "selection",
    "selection": "selection",
    "digits_selection": "selection",
}


def claim(name, statement, source, check, study="curves", preset="paper", expected="holds", applies=THEORY.LATE.outside):
    return ts.Claim(name, statement, source, study, check, expected, preset, applies, figure=PANEL.get(study, "stages"))


CLAIMS = [
    claim("clean_first", "at T1 (n SNR^2 = 18) clean samples are classified as their labels", FIRST,
          lambda data: at_t1(data).accuracy_clean - 0.999),
    claim("noisy_as_true", "at T1 at most 5 % of the flipped samples are classified as their label", FIRST,
          lambda data: 0.05 - at_t1(data).accuracy_noisy),
    claim("signal_leads", r"at T1 $\max\gamma$ exceeds $\max\bar\rho$ by half", FIRST,
          lambda data: at_t1(data).signal_learning - 1.5 * np.maximum(at_t1(data).noise_clean, at_t1(data).noise_noisy)),
    claim("of_order_one", r"at $10\,T_1$ $\max\gamma$ still leads $\max\bar\rho$, and both exceed .2", FIRST,
          lambda data: xr.concat([ten_t1(data).signal_learning - 1.2 * ten_t1(data).noise_noisy,
                                  ten_t1(data).noise_clean - 0.2], dim="part")),
    claim("onset_at_two", "at n SNR^2 = 2 at most 5 % of the flipped samples are fitted at T1", "a limit of the stages",
          lambda data: 0.05 - data.accuracy_noisy.sel(signal=2), "onset", expected="fails", applies=None),
    claim("onset_at_fifty", "at n SNR^2 = 50 at most 1 % of the flipped samples are fitted at T1", "a limit of the stages",
          lambda data: 0.01 - data.accuracy_noisy.sel(signal=10), "onset", applies=None),
    claim("all_fitted_late", "at the end 95 % of the flipped samples are fitted, and all clean ones", SECOND,
          lambda data: np.minimum(at_end(data).accuracy_noisy - 0.95, at_end(data).accuracy_clean - 0.999)),
    claim("noise_leads_late", r"at the end $\max\bar\rho$ of flipped samples exceeds $\max\gamma$ twofold", SECOND,
          lambda data: at_end(data).noise_noisy - 2 * at_end(data).signal_learning),
    claim("error_rises", "the test error rises by more than .05 after T1", SECOND, lambda data: rise(data) - 0.05),
    replace(
        ts.Claim.of(THEORY.LATE, "curves", name="late_error_bound", preset="paper", expected="not applicable"),
        regime=lambda data: THEORY.LATE.outside(data) | converged(data), figure="early_stopping",
    ),
    claim("early_stopping", r"at T1 the test error is at most $\exp(-d/(Cn))$, $C=.43$ (assumed): .01", STOP,
          lambda data: THEORY.early_error(200, 400, 0.43) - at_t1(data).test_error),
    claim("selection", "at T1 the loss tells flips: AUROC at least .999", STOP, lambda data: data.auroc - 0.999, "selection"),
    claim("log2_clean", r"at T1 the largest clean loss is below $\log2$", STOP,
          lambda data: LOG2 - data.loss_clean_max, "selection"),
    claim("log2_noisy", r"at T1 the least flipped loss is above $\log2$", STOP,
          lambda data: data.loss_noisy_min - LOG2, "selection"),
    claim("clean_labels_fitted", "without flips all samples are correct from T1 on", CLEAN_LABELS,
          lambda data: data.accuracy.sel(time=slice(T1, None)).min("time") - 0.999, "control", applies=None),
    claim("clean_labels_generalise",
          r"without flips the error is at most $\exp(-n\|\mu\|^4/(C\sigma_\xi^4d))$ from step 50 on, $C=140$ (assumed): .01",
          CLEAN_LABELS, lambda data: THEORY.clean_error(200, 6, 400, 140) - late(data).test_error.max("time"),
          "control", applies=None),
    claim("control_first_stage", "without flips: at T1 the flipped samples are not fitted", "control: tau = 0",
          lambda data: 0.05 - at_t1(data).accuracy_noisy, "control", expected="not applicable"),
    claim("control_rise", "without flips the test error rises by more than .05 all the same", "control: tau = 0",
          lambda data: rise(data) - 0.05, "control", expected="fails", applies=None),
    claim("control_signal", "without signal at most 5 % of the flipped samples are fitted at T1 too", "control: mu = 0",
          lambda data: 0.05 - at_t1(data).accuracy_noisy, "no_signal", expected="fails", applies=None),
    claim("digits_first_stage", "at step 5 at most 12 % of the flipped digits are fitted", ON_DIGITS,
          lambda data: 0.12 - early_digits(data).accuracy_noisy, study="digits", preset="digits", applies=None),
    claim("digits_selection", "at step 5 the loss detects flipped digits: AUROC at least .97", ON_DIGITS,
          lambda data: data.auroc - 0.97, "digits_selection", "digits", applies=None),
    claim("digits_rise", "on digits the test error rises by more than .03 from step 5 to 6000", ON_DIGITS,
          lambda data: rise(data, early_digits) - 0.03, study="digits", preset="digits", applies=None),
    claim("digits_control", "without flips it rises all the same", "control: tau = 0",
          lambda data: rise(data, early_digits) - 0.03, "digits_control", "digits", expected="fails", applies=None),
]  # fmt: skip

EXPERIMENT = ts.Experiment(params=Params, trial=trial, presets=PRESETS, claims=CLAIMS)
