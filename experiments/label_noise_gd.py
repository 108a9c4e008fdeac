r"""How does label noise gradient descent improve generalization in the low SNR regime? (Huang et al., NeurIPS 2025).

arXiv 2510.17526. A signal patch and a noise patch, clean labels, a CNN with squared ReLU. Gradient descent fits the noise,
and its test error stays above .24 (theorem 3.2). If at each step every label is flipped afresh with probability p, the loss
stays of order one, the noise stops growing, and the signal goes on until the test error is small (theorem 3.3). At the
published settings, with the first filters assumed here, that takes 5000 steps, not 2000.

Why the signal goes on is derived in `theory.label_noise_gd.drift`: an effect of second order in the step size. Its rate,
eta^2 |mu|^2 sigma_p^2 d p(1-p)/(n m^2), has no free constant. The time is then ~ n/eta^2, where the theorem states n^0/eta.
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
    n: int = ts.field(200, low=2, doc="training samples")
    width: int = ts.field(20, low=1, doc="filters of each class, m")
    steps: int = ts.field(5000, low=1, doc="gradient steps")
    records: int = ts.field(40, low=1, doc="observation times; 1 observes the end only")
    tests: int = ts.field(2000, low=1, doc="fresh points of the test error")
    power: int = ts.field(2, low=1, doc="power of the ReLU, q; with three layers it is 1")
    layers: int = ts.field(2, choices=(2, 3), doc="layers of the network, the last one fixed")
    scaling: str = ts.field("absolute", choices=("absolute", "memorising"), doc="units of lr and init")
    noisy: bool = ts.field(True, doc="whether labels have noise at all; without it gradient descent alone is cheaper")
    frame: str = "reduced"
    dim: float = ts.field(2000.0, low=2, whole=True, doc="dimension of a patch, d")
    signal: float = ts.field(2.0, low=0, doc="signal strength, |mu|")
    snr: float = ts.field(0.0, low=0, doc="more signal, in units of sigma_p sqrt(d)")
    strength: float = ts.field(0.0, low=0, doc="more signal, in units of sigma_p sqrt(d/n): the root of n SNR^2")
    noise: float = ts.field(0.5, low=0, doc="sigma_p")
    flip: float = ts.field(0.1, low=0, high=1, doc="probability of e = -1 at each step, p; 0 is gradient descent")
    shift: float = ts.field(0.0, doc="what is added to the factor e of a label")
    gauss: float = ts.field(0.0, low=0, doc="std of a Gaussian that is added to e")
    spread: float = ts.field(0.0, low=0, doc="half-width of a uniform number that is added to e")
    lr: float = ts.field(0.5, low=0, doc="step size, eta; memorising: in units of n m/(sigma_p^2 d)")
    init: float = ts.field(0.01, low=0, doc="std of the first filters, sigma_0; memorising: in units of 1/(sigma_p sqrt(d))")
    init_second: float = ts.field(1.0, low=0, doc="std of the second of three layers")


def factors(p: Params, key, label):
    """The factors e of the labels at one step: +1 or -1, and what is added to it."""
    keys = ts.streams(key, "flips", "gaussian", "uniform")
    flips, gaussian, uniform = (getattr(ts.objectives, name) for name in ("flips", "gaussian", "uniform"))
    drawn = flips(p.flip)(keys.flips, label) + gaussian(p.shift, p.gauss)(keys.gaussian, label)
    return drawn + uniform(-p.spread, p.spread)(keys.uniform, label)


def network(p: Params, space, init, key):
    if p.layers == 2:
        return ts.models.TwoLayerCNN(init * space.filters, power=p.power)
    second = p.init_second * jax.random.normal(key, (2 * p.width, p.width))
    return ts.models.ThreeLayerCNN(init * space.filters, second=second)


def trial(p: Params, key):
    keys = ts.streams(key, "space", "train", "test", "second", "steps")
    length = p.noise * p.dim**0.5
    signal = p.signal + p.snr * length + p.strength * length / p.n**0.5
    lr, init = {"absolute": (p.lr, p.init), "memorising": (p.lr * p.n * p.width / length**2, p.init / length)}[p.scaling]
    law = ts.laws.SignalNoise(signal=signal, noise=p.noise, projected=True)
    filters = 2 * p.width if p.layers == 2 else p.width
    space = ts.exact.frame(keys.space, p.dim, fixed=law.fixed, kind=p.frame, train=p.n, filters=filters)
    train, test = law(keys.train, space.train), ts.observers.fresh_errors(law, keys.test, p.tests)
    model, clean = network(p, space, init, keys.second), ts.objectives.logistic(train)
    span = ts.exact.span(train, law.fixed)  # half the cost of a step
    coefficients = ts.observers.decomposition(space, train, model) if p.layers == 2 and p.records > 1 else None
    first, xi = model.filters[...], train.patches[1]
    classes = jnp.array([1.0, -1.0])

    def observe(state):
        now = state.model.model
        filters, alone = now.filters[...], classes * now((signal * classes[:, None],))
        seen = {
            "train_loss": clean(now, None),
            "test_error": test(now).clean,
            "signal_margin": jnp.mean(alone),
            "learned": jnp.mean(alone > 0.5),
            "signal_response": jnp.max(jnp.abs(filters[:, 0])) * signal,
        }
        if p.records == 1:  # a map: the end alone
            return seen
        if coefficients:
            found = coefficients(now)
            iota = jnp.sum(found.rho_bar**2, axis=0) / p.width
            seen |= {"iota": jnp.mean(iota), "iota_min": jnp.min(iota), "iota_max": jnp.max(iota)}
            learned, memorised = found.signal_learning, found.noise_memorization
        else:  # filters of both classes: how far their responses have moved
            moved = filters - first
            learned, memorised = jnp.max(jnp.abs(moved[:, 0])) * signal, jnp.max(moved[:, : xi.shape[1]] @ xi.T)
        return seen | {"signal_learning": learned, "noise_memorization": memorised}

    loss = ts.objectives.with_label_noise(ts.objectives.logistic_loss, span.batch, partial(factors, p))
    loss = loss if p.noisy else ts.objectives.logistic(span.batch)
    rule, times = ts.dynamics.gradient_descent(loss, optax.sgd(lr)), ts.log_times(p.steps, p.records)
    return ts.simulate(rule, span.enter(model), frame=space, key=keys.steps, times=times, observe=observe).records


# --- where the numbers come from ---------------------------------------------------------------------------------------

TEXT = "found: the paper's section 5 and appendix G"
SOURCES = {
    **dict.fromkeys(("n", "width", "tests", "power", "layers", "dim", "signal", "noise", "flip", "lr"), TEXT),
    "steps": "assumed: the paper shows 2000, where label-noise descent has not converged with these first filters",
    "init": "assumed: not found",
    "init_second": "assumed: not found (with .5 the two rules differ less); unused with two layers",
    **dict.fromkeys(("snr", "strength"), "assumed: no more signal"),
    **dict.fromkeys(("shift", "gauss", "spread"), "assumed: flips alone"),
    "records": "assumed",
    "seeds": "assumed: the paper names none",
}
MAP = SOURCES | {
    "steps": TEXT,
    **dict.fromkeys(("signal", "noise"), "assumed: sigma_p as in figure 2; all signal is in snr"),
    **dict.fromkeys(("n", "snr"), "found: the ranges of figure 3; the grid is assumed"),
}
DRAWN = SOURCES | dict.fromkeys(("shift", "gauss", "spread", "flip"), "found: figures 10 to 13; no flips beside them")
THEORY_OWN = SOURCES | dict.fromkeys(
    ("n", "width", "dim", "signal", "noise", "lr", "steps", "strength", "scaling", "tests"), "assumed: an asymptotic setting"
)
CONTROL = SOURCES | {"flip": "found: 0, .1, .3, .4; assumed: 1/2, the control"}

CUBIC, QUARTIC = {"power": 3, "steps": 8000}, {"power": 4, "n": 50, "lr": 0.1, "signal": 5.0}
THREE = {"layers": 3, "signal": 1.0, "noise": 1.0}
RACE = {
    "frame": "infinite", "dim": 1e8, "noise": 1.0, "signal": 0.0, "scaling": "memorising", "tests": 100,
}  # fmt: skip
# a sample without a live filter of its class, probability 2^-m, would feed the signal for ever: m = 20
ALONE = {"n": 50, "init": 0.01, "steps": 8000, "records": 160}  # the label-noise side at infinite dimension
BOTH, NO_FLIPS = {"flip": [0.0, 0.1]}, {"flip": [0.0]}


def cells(n, snr, seeds):
    """A part of the published heat maps."""
    return ts.Study({"n": n, "snr": snr, **BOTH}, seeds, {"signal": 0.0, "lr": 1.0, "steps": 1000, "records": 1}, MAP)


def drawn(seeds, **base):
    """Other factors of the labels than flips."""
    return ts.Study(NO_FLIPS, seeds, base, DRAWN)


def published(seeds, flips, n, **base):
    """The published curves, one of the other noises, and rows of the heat maps."""
    return {
        "curves": ts.Study({"flip": flips}, seeds, base, CONTROL),
        "uniform_3": drawn(seeds, spread=2.5, shift=-0.5, **base),
        "rows": cells(n, [0.03, 0.05, 0.07, 0.1], seeds),
    }


def variants(seeds):
    """The other noises and networks, and the whole heat maps: programs of their own, which `quick` leaves out."""
    return {
        "gaussian_1": drawn(seeds, gauss=1.0),
        "gaussian_06": drawn(seeds, gauss=1.0, shift=-0.4),
        "uniform_2": drawn(seeds, spread=1.5, shift=-0.5),
        "cubic": ts.Study(BOTH, seeds, CUBIC, SOURCES),
        "quartic": ts.Study(BOTH, seeds, QUARTIC, SOURCES),
        "three_layers": ts.Study(BOTH, seeds, THREE, SOURCES),
        "map": cells([100 * k for k in range(1, 8)], np.round(0.01 * np.arange(3, 11), 2), 10),
    }


def law(over, **base):
    base = RACE | ALONE | base
    return ts.Study(over, 40, {name: value for name, value in base.items() if name not in over}, THEORY_OWN)


AT_50 = 50 * 20 / 1e8  # n m/(sigma_p^2 d) at n = 50
PRESETS = {
    "quick": published(3, [0.0, 0.1, 0.3, 0.5], [100], records=20),
    "paper": published(20, [0.0, 0.1, 0.3, 0.4, 0.5], [100, 400]) | variants(20),
    "asymptotic": {
        "boundary": ts.Study(
            {"n": [40, 80, 160, 320, 640], "init": [0.1, 0.01, 0.001], "strength": np.linspace(1.36, 1.76, 6)},
            80,
            RACE | {"noisy": False, "flip": 0.0, "lr": 0.1, "steps": 400, "records": 1},
            THEORY_OWN,
        ),
        "law": law({**BOTH, "lr": [0.05, 0.1, 0.2, 0.4], "strength": np.sqrt([0.05, 0.1, 0.2, 0.4])}),
        "samples": law({"n": [50, 100, 200]}, scaling="absolute", lr=0.1 * AT_50, init=1e-6, signal=1e4 * (0.2 / 50) ** 0.5),
        "inside": law({}, n=20, dim=1e9, lr=1 / 400, init=0.3, signal=0.2, steps=20_000, tests=1000, flip=0.0, noisy=False),
    },
}


# --- what the paper states ----------------------------------------------------------------------------------------------

THEORY, within, first_time = ts.theory.label_noise_gd, ts.analysis.within, ts.analysis.first_time
at_end, DERIVED = THEORY.at_end, "derived here: theory.label_noise_gd.drift"
GD_SIDE, NOISE_SIDE, NOISES, NETWORKS, IOTA = (
    f"Huang et al. (2025), {place}"
    for place in ("theorem 3.2", "theorem 3.3", "figures 8 to 13", "figures 4, 14, 15", "section 4")
)


def gd(data: xr.Dataset) -> xr.Dataset:
    return data.sel(flip=0.0)


def noisy(data: xr.Dataset) -> xr.Dataset:
    return data.sel(flip=0.1)


def parts(*margins: xr.DataArray) -> xr.DataArray:
    return xr.concat(margins, dim="part", coords="minimal", compat="override")


def memorises(data: xr.Dataset) -> xr.DataArray:
    """Gradient descent has fitted, with large coefficients of the noise (the error alone would also be that of chance)."""
    seen = gd(data).sel(time=slice(1900, None))
    margins = (0.01 - seen.train_loss, seen.test_error - THEORY.gd_error(), seen.noise_memorization / 5 - 1)
    return parts(*(margin.min("time") for margin in margins))


def ahead(data: xr.Dataset) -> xr.DataArray:
    """How far label-noise descent is below gradient descent at the published end."""
    return (gd(data) - noisy(data)).test_error.sel(time=2000, method="nearest")


def plateau(data: xr.Dataset) -> xr.Dataset:
    """While the noise is fitted and the signal still small."""
    return noisy(data).sel(time=slice(500, 2000))


def noise_growth(data: xr.Dataset) -> xr.DataArray:
    rho = noisy(data).noise_memorization
    return rho.sel(time=slice(500, None)).mean("time") / rho.sel(time=500, method="nearest")


def growth(data: xr.Dataset) -> xr.DataArray:
    """The growth rate of the signal on the plateau, over the derived one."""
    first, last = (plateau(data).isel(time=k) for k in (0, -1))
    rate = np.log(last.signal_response / first.signal_response) / (last.time - first.time)
    return rate / THEORY.drift(200, 20, 2.0, 2000, 0.5, 0.1, 0.5)


def learns(level: float):
    """Label-noise descent ends below an error; a gradient descent beside it has fitted and stays above .24."""

    def check(data: xr.Dataset) -> xr.DataArray:
        end = at_end(data)
        if data.sizes["flip"] == 1:
            return level - end.test_error.isel(flip=0)
        return parts(level - noisy(end).test_error, gd(end).test_error - THEORY.gd_error(), 0.01 - gd(end).train_loss)

    return check


def boundary(data: xr.Dataset) -> xr.DataArray:
    """SNR* at which half of all seeds and classes have a margin of the signal above 1/2."""
    return ts.analysis.phase_boundary(data, "learned", 0.5, along="strength") / data.n**0.5


def slopes(data: xr.Dataset) -> xr.DataArray:
    """The boundary's exponent in n for each size of the first filters, one value a seed."""
    each = [ts.analysis.slope_by_seed(data.sel(init=init), boundary, against="n") for init in data.init.values]
    return xr.concat(each, dim=data.init)


def derived_slopes(data: xr.Dataset) -> xr.DataArray:
    curve = boundary(data)
    return THEORY.boundary_slope(20, curve.init, curve).mean("n")


def learned(data: xr.Dataset) -> xr.DataArray:
    """With the largest step size, the step at which the margin of the signal patch alone passes 1/2 under label noise."""
    return first_time(noisy(data).sel(lr=0.4).signal_margin, 0.5)


def fitted(data: xr.Dataset) -> xr.DataArray:
    """With the largest step size, the step at which gradient descent's training loss falls below .01."""
    return first_time(-gd(data).sel(lr=0.4).train_loss, -0.01)


def rate_between(data: xr.Dataset, start: float, stop: float) -> xr.DataArray:
    """The growth rate of the response to the signal between two steps."""
    first, last = (data.sel(time=when, method="nearest") for when in (start, stop))
    return np.log(last.signal_response / first.signal_response) / (last.time - first.time)


def rates(data: xr.Dataset) -> xr.DataArray:
    """The growth rates under label noise when margins have settled; the noise is memorised in some 10/lr steps."""
    found = noisy(data).isel(strength=slice(2, None))
    return xr.concat([rate_between(found.sel(lr=lr), 50 / lr, 200 / lr) for lr in data.lr.values], dim=data.lr)


def over_derived(data: xr.Dataset) -> xr.DataArray:
    found = rates(data.sel(lr=[0.05, 0.1]))  # n = 50; lr in units of n m/(sigma_p^2 d) is the step size at sigma_p^2 d = n m
    return found / THEORY.drift(50, 20, found.strength / 50**0.5, 1.0, found.lr * 50 * 20, 0.1)


def stated_time(data: xr.Dataset, lr: float) -> xr.DataArray:
    return THEORY.label_noise_time(50, 20, data.strength / 50**0.5, 1.0, lr * 50 * 20, 0.01)


def at_stated_time(data: xr.Dataset) -> xr.DataArray:
    """The margin of the signal at ten times the stated time, for the smallest step size and the strongest signal."""
    seen = noisy(data).sel(lr=0.05).isel(strength=-1)
    return seen.signal_margin.sel(time=10 * float(stated_time(seen, 0.05)), method="nearest")


def exponent(measure, against: str, stated: float, tolerance: float, part=lambda data: data):
    """The check and the effect of a claim on the exponent of a mean over seeds, on a part of the grid."""

    def mean(seeds: xr.Dataset) -> xr.DataArray:
        return measure(seeds).mean("seed")

    def check(data: xr.Dataset) -> xr.DataArray:
        return within(ts.analysis.slope_by_seed(part(data), mean, against=against), stated - tolerance, stated + tolerance)

    def effect(data: xr.Dataset) -> ts.Effect:
        fit = ts.analysis.fit_exponent(part(data), mean, against=against, resamples=100)
        return ts.Effect("exponent", fit.slope, fit.low, fit.high, stated)

    return {"check": check, "effect": effect}


in_snr = partial(exponent, learned, "strength")
of_ratio = partial(exponent, lambda data: fitted(data) / learned(data), "strength")
in_lr = partial(exponent, lambda data: rates(data).isel(strength=-1), "lr", part=lambda data: data.sel(lr=slice(0, 0.3)))
in_n = partial(exponent, lambda data: rate_between(data, 2000, 8000), "n")


def claim(name, statement, source, study, check, preset="paper", figure="curves", **options):
    return ts.Claim(name, statement, source, study, check, preset=preset, figure=figure, **options)


def asymptotic(name, statement, source, study, check, figure="law", **options):
    return claim(name, statement, source, study, check, "asymptotic", figure, **options)


OTHERS = [
    ("gaussian_1", r"$e\sim N(1,1)$", NOISES, 0.05), ("gaussian_06", r"$e\sim N(.6,1)$", NOISES, 0.05),
    ("uniform_2", r"$e\sim U[-1,2]$", NOISES, 0.05), ("uniform_3", r"$e\sim U[-2,3]$", NOISES, 0.05),
    ("cubic", "$q=3$, and GD fits with .24", NETWORKS, 0.15), ("quartic", "$q=4$, and GD fits with .24", NETWORKS, 0.05),
]  # fmt: skip

CLAIMS = [
    claim("gd_memorises", r"GD from step 2000 on: loss below .01, error at least .24, $\max\bar\rho$ above 5", GD_SIDE,
          "curves", memorises),
    claim("label_noise_generalises", "label-noise GD at step 5000: error at most .01", NOISE_SIDE, "curves",
          lambda data: 0.01 - at_end(noisy(data)).test_error),
    claim("ahead_at_2000", "at the published 2000 steps its error is .1 below GD's, not small yet", NOISE_SIDE, "curves",
          lambda data: ahead(data) - 0.1),
    claim("loss_of_order_one", "its mean clean loss from step 500 on is in [.05, .5]", NOISE_SIDE, "curves",
          lambda data: within(noisy(data).train_loss.sel(time=slice(500, None)).mean("time"), 0.05, 0.5)),
    claim("noise_stops", r"at the end its $\max\bar\rho$ is below .8 of GD's; after step 500 it is below 1.3 of that at 500",
          NOISE_SIDE, "curves",
          lambda data: parts(0.8 - at_end(noisy(data)).noise_memorization / at_end(gd(data)).noise_memorization,
                             1.3 - noise_growth(data))),
    claim("more_signal", r"at the end its $\max\gamma$ is above 5 times GD's", NOISE_SIDE, "curves",
          lambda data: at_end(noisy(data)).signal_learning - 5 * at_end(gd(data)).signal_learning),
    claim("iota_settles", r"the mean $\iota_i$ from step 500 to 2000 is in [.5, 1] of $\log\frac{1-p}{p}$", IOTA, "curves",
          lambda data: within(plateau(data).iota.mean("time") / THEORY.stationary_margin(0.1), 0.5, 1), figure="iota"),
    claim("drift", "the signal grows at .8 to 1.5 times the derived rate (no constant fitted)", DERIVED, "curves",
          lambda data: within(growth(data), 0.8, 1.5), figure="iota"),
    ts.Claim.of(THEORY.GROWTH, "curves", preset="paper", figure="iota"),
    claim("more_flips", "with p = .3 and .4 the error at step 5000 is at most .01", NOISES, "curves",
          lambda data: 0.01 - at_end(data).test_error.sel(flip=slice(0.2, 0.45)), figure="variants"),
    claim("half", "with p = 1/2 it is at most .01 too", "control: p = 1/2", "curves",
          lambda data: 0.01 - at_end(data).test_error.sel(flip=0.5), expected="fails", figure="variants"),
    *(claim(f"learns_{name}", f"label-noise GD: {words}, error at most {level}", source, name, learns(level), figure="variants")
      for name, words, source, level in OTHERS),
    claim("learns_three_layers", "three layers: error at least .1 below GD's, whose loss is below .01", NETWORKS,
          "three_layers",
          lambda data: parts((gd(at_end(data)) - noisy(at_end(data))).test_error - 0.1, 0.01 - gd(at_end(data)).train_loss),
          figure="variants"),
    claim("map_noise_helps", "n = 100, SNR = .07, .1: GD's error is at least .4, label-noise GD's at most .05", NOISE_SIDE,
          "rows", lambda data: parts(gd(data).test_error - 0.4, 0.05 - noisy(data).test_error).sel(n=100, snr=[0.07, 0.1]),
          figure="rows"),
    claim("map_never_worse", "at n = 100, 400 label-noise GD's error is nowhere more than .03 above GD's", NOISE_SIDE,
          "rows", lambda data: 0.03 + gd(data).test_error - noisy(data).test_error, figure="rows"),
    claim("map_too_low", "at SNR = .03, n = 100 label-noise GD's error is at most .05 at step 1000", "control: little signal",
          "rows", lambda data: 0.05 - noisy(data).test_error.sel(n=100, snr=0.03), expected="fails", figure="rows"),
    asymptotic("boundary_slope", r"GD: the exponent of SNR* in $n$ is the derived one within .02, for three $\sigma_0$",
               "derived: theory.label_noise_gd.boundary_slope", "boundary",
               lambda data: within(slopes(data) - derived_slopes(data), -0.02, 0.02), "boundary"),
    asymptotic("boundary_half", "GD: it is -1/2 within .02", "n SNR^2 ~ 1 read as a power law", "boundary",
               lambda data: within(slopes(data) + 0.5, -0.02, 0.02), "boundary", expected="fails"),
    asymptotic("time_in_snr", r"label-noise GD's time has exponent -2 in SNR, within .3, up to $n\,$SNR$^2=.4$", NOISE_SIDE,
               "law", **in_snr(-2, 0.3)),
    asymptotic("time_ratio", r"$T$(GD)$/T$(label noise) has exponent 1 in $n\,$SNR$^2$: 2 in SNR, within .3", NOISE_SIDE, "law",
               **of_ratio(2, 0.3)),
    asymptotic("rate", r"for $\eta\leq.1\,nm/(\sigma_p^2d)$ the signal grows at .75 to 1.35 times the derived rate", DERIVED,
               "law", lambda data: within(over_derived(data), 0.75, 1.35)),
    asymptotic("rate_in_lr", r"there its rate has exponent 2 in $\eta$, within .25", DERIVED, "law",
               **in_lr(2, 0.25)),
    asymptotic("stated_in_lr", r"it has exponent 1 in $\eta$, within .25, as stated", NOISE_SIDE, "law", expected="fails",
               **in_lr(1, 0.25)),
    asymptotic("rate_in_n", r"at fixed $\eta$ and $\|\mu\|$ the rate has exponent -1 in $n$, within .25", DERIVED, "samples",
               **in_n(-1, 0.25)),
    asymptotic("stated_in_n", r"at fixed $\eta$ and $\|\mu\|$ it has exponent 0 in $n$, within .25, as stated", NOISE_SIDE,
               "samples", expected="fails", **in_n(0, 0.25)),
    asymptotic("stated_time", r"at ten times the stated time the signal's margin is above 1/2, $\eta=.05\,nm/(\sigma_p^2d)$",
               NOISE_SIDE, "law", lambda data: at_stated_time(data) - 0.5, expected="fails"),
    ts.Claim.of(THEORY.MEMORISES, "inside", name="theorem_3_2", preset="asymptotic", figure="law"),
    asymptotic("theorem_3_2_fits", r"inside its assumption GD's loss ends below .01, and $\max\bar\rho$ above 2", GD_SIDE,
               "inside", lambda data: parts(0.01 - at_end(data).train_loss, at_end(data).noise_memorization - 2)),
    asymptotic("theorem_3_3", r"label-noise GD: error at most $2\exp(-C\,d/n^2)$, $C=1$ (assumed)", NOISE_SIDE, "law",
               lambda data: 0.01 - at_end(noisy(data)).test_error, regime=THEORY.GENERALISES.outside,
               expected="not applicable"),
]  # fmt: skip

EXPERIMENT = ts.Experiment(params=Params, trial=trial, presets=PRESETS, claims=CLAIMS)
