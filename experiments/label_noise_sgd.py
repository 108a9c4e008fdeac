r"""On the learning dynamics of two-layer linear networks with label noise SGD (AAAI 2026, arXiv 2603.10397).

Both layers of $f(x)=a^\top Wx$ learn $y=\langle\theta^*,x\rangle$ by SGD on one sample at a time, whose label is $y\pm\sigma$.
Without noise the run is lazy: neurons stay within $1/\sqrt m$ of their start. Label noise makes the second layer oscillate, and
every oscillation shrinks the first layer (phase I):

    ||w_i||^2 - a_i^2   changes by   eta^2 r^2 (a_i^2 ||x||^2 - <w_i,x>^2)   at each step, exactly.

Once the norms are small, the neurons align with the target (phase II). SAM does the same without label noise, at the order
eta rho. The width costs nothing here: a trial runs d + 1 neurons that stand for all m exactly (`model.narrow()`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import xarray as xr
from jax import lax

import theorysim as ts

SAMPLES = 20  # of the training set, on which the signs of the norm's changes are looked at


@dataclass(frozen=True)
class Params:
    n: int = ts.field(200, low=1, doc="training samples")
    most: int = ts.field(1000, low=1, doc="neurons drawn; those beyond the width are zero and stay so")
    windows: int = ts.field(1, low=1, doc="windows of label noise; the neurons are shown at their ends")
    steps: int = ts.field(5000, low=1, doc="steps of a window")
    records: int = ts.field(5, low=1, doc="observation times of a window: even, or logarithmic if there is only one window")
    neurons: int = ts.field(200, low=1, doc="neurons shown one by one")
    second: str = ts.field(
        "trained", choices=("trained", "frozen", "chain"), doc="the second layer; with the chain W follows GD"
    )
    balance: bool = ts.field(False, doc="whether to add up the exact changes of the norms")
    frame: str = "ambient"
    dim: float = ts.field(20.0, low=2, whole=True, doc="d")
    width: float = ts.field(1000.0, low=2, whole=True, doc="m")
    target: float = ts.field(1.0, low=0, doc="|theta*|")
    sigma: float = ts.field(4.0, low=0, doc="size of the label noise")
    off: float = ts.field(0.0, low=0, high=1, doc="share of the label noise that is off in every other window")
    lr: float = ts.field(1e-3, low=0, doc="step size, eta")
    rho: float = ts.field(0.0, low=0, doc="radius of SAM; at 0 it is SGD, to the bit")
    init: float = ts.field(1.0, low=0, doc="factor of the first weights, W ~ N(0, 1/d), a ~ N(0, 1/m)")
    held: float = ts.field(0.0, low=0, high=1, doc="share of neurons whose chain stands still")


THEORY, see = ts.theory.label_noise_sgd, ts.observers


def chain(p: Params, second, key):
    r"""The law of lemma 4: from $\pm\eta^{1/4}$ always back to 0, from 0 to either with probability 1/2."""
    return jnp.where(second == 0, p.lr**0.25 * jax.random.rademacher(key, second.shape, second.dtype), 0)


def drive(p: Params, model, key):
    second, held = model.second[...], jnp.arange(p.most) < p.held * p.most
    model.second[...] = jnp.where(held, second, chain(p, second, key))
    return model


def trial(p: Params, key):
    keys = ts.streams(key, "space", "train", "steps", "chain", "still")
    law, kept = ts.laws.LinearRegression(p.target), jnp.arange(p.most) < p.width
    space = ts.exact.frame(keys.space, p.dim, fixed=law.fixed, kind=p.frame, train=p.n, filters=p.most, second=p.most)
    train = law(keys.train, space.train)
    filters = p.init * jnp.where(kept[:, None], space.filters, 0) * p.dim**-0.5
    second = p.init * jnp.where(kept, space.second[:, 0], 0) * p.width**-0.5
    if p.second == "chain":  # half of the neurons start at 0
        second = jnp.where(jax.random.bernoulli(keys.still, 0.5, kept.shape), 0, chain(p, 0 * second, keys.chain))
    start = ts.models.TwoLayerLinear(filters, second, trained="both" if p.second == "trained" else "first")
    small = start.narrow()
    if p.second == "chain":  # there every neuron has a law of its own
        small = small._replace(model=start, rows=jnp.eye(p.most))
    full, step = ts.objectives.regression(train), optax.sgd(p.lr)

    def rule_of(sigma):
        """The rule at one level of the label noise, and the sums along its steps."""
        loss = ts.objectives.on_sample(ts.objectives.regression, train, perturb=ts.objectives.additive_noise(sigma))

        def sums(before, after, key):
            found = {"oscillation": jnp.sum((after.model.second[...] - before.model.second[...]) ** 2)}
            if p.second != "chain":
                found["square_residual"] = 2 * loss(before.model, key)
            if p.balance:
                found["change"] = see.balance_change(before.model, loss.draw(key), p.lr, p.rho)
                found["change_sgd"] = see.balance_change(before.model, loss.draw(key), p.lr)
            return found

        if p.second == "chain":
            rule = ts.dynamics.driven(ts.dynamics.gradient_descent(full, step), partial(drive, p))
        else:
            rule = ts.dynamics.sam(loss, step, p.rho)
        return ts.dynamics.accumulated(rule, sums)

    def observe(state):
        wide = small.wide(state.model)
        norm, along, moved = see.norms(wide), see.alignment(wide), see.moved(start)(wide)
        off_target = state.model.second[...] @ state.model.filters[...] - p.target * jnp.eye(space.size)[0]
        seen = {
            "norm": see.mean_over(norm, kept),
            "norm_min": -see.max_over(-norm, kept),
            "mean_square": see.mean_over(norm**2, kept),
            "alignment": see.mean_over(jnp.abs(along), kept),
            "cosine": see.mean_over(jnp.abs(along) / jnp.where(kept, norm, 1), kept),
            "moved_max": see.max_over(moved, kept),
            "moved_min": -see.max_over(-moved, kept),
            "train_loss": full(state.model, None),
            "test_loss": jnp.sum(off_target**2) / 2,  # of the whole law: half the squared distance from the target
            **{name: value for name, value in state.total.items() if not name.startswith("change")},
        }
        if p.balance:
            for name, change in (("identity_error", "change"), ("identity_error_sgd", "change_sgd")):
                wrong = small.rows @ (see.balance(state.model) - see.balance(small.model) - state.total[change])
                seen[name] = jnp.max(jnp.abs(jnp.sum(wrong * small.rows, axis=1)))  # of the worst neuron
        elif p.second == "trained":
            few = ts.laws.pick(train, slice(SAMPLES))
            residual = state.model(few.patches) - few.label + p.sigma * jnp.array([[[1.0]], [[-1.0]]])
            along, square = wide.filters[...] @ few.patches[0].T, jnp.sum(few.patches[0] ** 2, axis=1)
            change = THEORY.norm_change(1, residual, wide.second[...][:, None], along, square)
            for name, level in (("falling", 0.0), ("falling_much", (p.sigma / 4) ** 2)):
                seen[name] = see.mean_over(jnp.mean(change <= -level, axis=(0, 2)), kept)
        return seen

    def shown(state):
        wide = small.wide(state.model)
        return {"neuron_norm": see.norms(wide)[: p.neurons], "neuron_alignment": see.alignment(wide)[: p.neurons]}

    even = p.steps * np.arange(p.records + 1) // p.records
    times = np.asarray(ts.log_times(p.steps, p.records)) if p.windows == 1 else even

    def window(state, item):
        index, sigma = item
        key = jax.random.fold_in(keys.steps, index)
        run = ts.simulate(rule_of(sigma), state, key=key, times=times, observe=observe, frame=space)
        return run.state, ({name: value.value for name, value in run.records.items()}, shown(run.state))

    first, index = rule_of(p.sigma).init(small.model), jnp.arange(p.windows)
    _, (records, neurons) = lax.scan(window, first, (index, p.sigma * (1 - p.off * (index % 2))))
    # a window begins where the last one ended: there one record is enough
    end = p.steps * np.arange(p.windows + 1)
    time = np.append(0, (end[:-1, None] + times[1:]).ravel())
    once = {name: jnp.append(value[0, 0], value[:, 1:].ravel()) for name, value in records.items()}
    ends = {name: jnp.concatenate([value[None], neurons[name]]) for name, value in shown(first).items()}
    return {name: ts.named(value, "time", time=time) for name, value in once.items()} | {
        name: ts.named(value, "end", "neuron", end=end) for name, value in ends.items()
    }


# --- where the numbers come from ---------------------------------------------------------------------------------------

README = "found: the authors' repository, README"
SOURCES = {
    **dict.fromkeys(("n", "dim", "width", "lr"), README),
    "sigma": "assumed: the README's noise level 4 taken for sigma, beside none and two higher levels",
    "steps": "found: label noise is switched every 5000 steps",
    "windows": "derived: the published 100 000 iterations in windows of 5000; fewer at quick",
    "init": "found: W ~ N(0, 1/d), a ~ N(0, 1/m)",
    "off": "found: label noise on and off in turns, in the periodic experiment",
    "target": "assumed: not found",
    "rho": "assumed: not found; .3 shows both phases",
    **dict.fromkeys(("most", "records", "neurons", "held", "seeds"), "assumed"),
}
SCALED = SOURCES | dict.fromkeys(("n", "width", "sigma", "lr", "steps", "windows"), "assumed: small eta sigma^2, eta (m + d)")
PHASE = SCALED | dict.fromkeys(("init", "sigma"), "assumed: the start of phase II, all norms <= sqrt(eta), no label noise")
INSIDE = SCALED | {"n": "derived: >= eta^-2", "target": "derived: <= m^-1/4"}
SHORT = SOURCES | dict.fromkeys(("steps", "windows"), "assumed: an identity holds at every step")
LEMMA = SCALED | {"steps": "derived: eta^-2 at the least step size", "held": "found: the chain of lemma 4; 1 is the control"}

LEVELS, RADII = [0.0, 4.0, 6.0, 8.0], [0.0, 0.1, 0.3, 1.0]
ALONE = {"windows": 1, "records": 60}
FEW = ALONE | {"most": 512, "n": 1150}
CHAIN = ALONE | {"second": "chain", "most": 100, "width": 100.0}
PURE = {"sigma": [0.0], "lr": [1e-3, 2e-3, 4e-3, 8e-3], "width": [32.0, 64.0]}


def studies(seeds, windows, exits, inside, rates, test):
    """The published runs are of so many windows; then the grids of exit times, of theorem 2's regime and of lemma 4."""
    long, chained = {"windows": windows}, CHAIN | {"steps": int(min(rates) ** -2)}
    return {
        "noise": ts.Study({"sigma": LEVELS, "rho": [0.0]}, seeds, long, SOURCES),
        "periodic": ts.Study({"sigma": LEVELS, "rho": [0.0]}, seeds, long | {"off": 1.0}, SOURCES),
        "sam": ts.Study({"sigma": [0.0], "rho": RADII}, seeds, long, SOURCES),
        "frozen": ts.Study({}, seeds, {"windows": windows // 4, "second": "frozen"}, SOURCES),
        "exit": ts.Study(exits[0], seeds, FEW | exits[1], SCALED),
        "in_regime": ts.Study(inside[0], seeds, FEW | inside[1], INSIDE),
        "phase_two": ts.Study(PURE, seeds, FEW | {"init": 0.02, "steps": 20_000}, PHASE),
        "oscillation": ts.Study({"lr": rates, "held": [0.0]}, seeds, chained, LEMMA),
        "held": ts.Study({"lr": rates, "held": [1.0]}, seeds, chained, LEMMA),
        "identity": ts.Study({"rho": RADII}, seeds, ALONE | {"balance": True, "records": 12, "steps": test}, SHORT, x64=True),
    }


PRESETS = {
    "quick": studies(
        4, 10,
        ({"sigma": [5.66, 8.0], "lr": [1e-3, 1.41e-3], "width": [32.0, 128.0]}, {"steps": 20_000}),
        ({"sigma": [1.0, 2.0], "lr": [0.03, 0.031], "width": [6.0, 9.0]}, {"target": 0.45, "steps": 20_000}),
        [0.02, 0.03, 0.04, 0.05], 500,
    ),
    "paper": studies(
        20, 20,
        ({"sigma": [4.0, 5.66], "lr": [5e-4, 1e-3], "width": [64.0, 128.0, 256.0, 512.0]}, {"steps": 160_000}),
        ({"sigma": [2.0, 4.0], "lr": [5e-3], "width": [100.0, 200.0]}, {"n": 40_000, "target": 0.25, "steps": 4000}),
        [0.01, 0.014, 0.02, 0.03], 2000,
    ),
}  # fmt: skip


# --- what the paper states ----------------------------------------------------------------------------------------------

within, jackknife = ts.analysis.within, ts.analysis.jackknife
PAPER, DERIVED = "arXiv 2603.10397", "derived here"


def noisy(data: xr.Dataset, sigma: float = 4.0) -> xr.Dataset:
    return data.sel(sigma=sigma).isel(rho=0)


def sam(data: xr.Dataset, rho: float = 0.3) -> xr.Dataset:
    return data.sel(rho=rho).isel(sigma=0)


def at_end(data: xr.Dataset) -> xr.Dataset:
    return data.isel(time=-1)


def shrunk(data: xr.Dataset) -> xr.DataArray:
    r"""$-\log$ of the mean norm, relative to its start."""
    return -np.log(data.norm / data.norm.isel(time=0))


def rate(data: xr.Dataset) -> xr.DataArray:
    r"""What has been lost when the mean norm is down to 3/4, over $\frac{\eta^2}2\sum r^2$, at each level of label noise."""
    runs = noisy(data, slice(1, None))  # pyright: ignore[reportArgumentType]
    last = (shrunk(runs).mean("seed") < np.log(4 / 3)).sum("time") - 1
    return (shrunk(runs) / THEORY.shrink_rate(ts.theory.fields(data).lr, runs.square_residual)).isel(time=last)


def residual(data: xr.Dataset) -> xr.DataArray:
    """The mean squared residual of the first 1000 steps over the stationary one of the lazy regime."""
    p, runs = ts.theory.fields(data), noisy(data, slice(1, None))  # pyright: ignore[reportArgumentType]
    return runs.square_residual.sel(time=1000) / 1000 / THEORY.square_residual(runs.sigma, p.lr, p.width, p.dim)


def by_oscillation(data: xr.Dataset) -> xr.DataArray:
    """The squared norms that the first layer has lost, over the squared steps of the second layer."""
    lost = data.mean_square.isel(time=0) - at_end(data).mean_square
    return ts.theory.fields(data).width * lost / at_end(data).oscillation


def change(data: xr.Dataset, name: str) -> tuple[xr.DataArray, xr.DataArray]:
    """By how much a record changes at sigma = 4 in all windows with label noise, and in all without."""
    steps = abs(noisy(data)[name].sel(time=data.end.values).diff("time"))
    return steps.isel(time=slice(0, None, 2)).sum("time"), steps.isel(time=slice(1, None, 2)).sum("time")


def farthest(data: xr.Dataset) -> xr.DataArray:
    r"""The largest $\max_i\|w_i(t)-w_i(0)\|\sqrt m$ of the run."""
    return data.moved_max.max("time") * np.sqrt(ts.theory.fields(data).width)


def when_halved(data: xr.Dataset) -> xr.Dataset:
    """The records when half of the mean norm is lost."""
    return data.isel(time=int((shrunk(data).mean("seed") < np.log(2)).argmin("time")))


def exit_ratio(data: xr.Dataset) -> xr.DataArray:
    """The measured exit time over the derived one, with the shortest first neuron of each seed."""
    p = ts.theory.fields(data)
    return THEORY.left_lazy(data) / THEORY.exit_time(p.sigma, p.lr, p.width, p.dim, data.norm_min.isel(time=0))


def distance(data: xr.Dataset) -> xr.DataArray:
    r"""$\|W^\top a-\theta^*\|$ at the time of lemma 6, over $\eta\log(1/\eta)$."""
    p = ts.theory.fields(data)
    late = THEORY.alignment_time(p.lr, p.target) + THEORY.convergence_time(p.lr, p.target)
    return np.sqrt(2 * THEORY.at(data, late).test_loss) / (p.lr * np.log(1 / p.lr))


def exponent(name: str, field: str, stated: float, words: str) -> ts.Claim:
    r"""The exit time's exponent in a field, what the bound leaves aside divided out: $(1-\eta(m+d)/2)/\min_i\|w_i(0)\|$."""

    def curve(data: xr.Dataset) -> xr.DataArray:
        p = ts.theory.fields(data)
        reduced = THEORY.left_lazy(data) * data.norm_min.isel(time=0) * THEORY.square_residual(1, p.lr, p.width, p.dim)
        return np.exp(np.log(reduced).mean([other for other in reduced.dims if other != field]))

    def slope(data: xr.Dataset) -> xr.DataArray:
        times = curve(data)
        return xr.DataArray(np.polyfit(np.log(times[field]), np.log(times), 1)[0])

    def effect(data: xr.Dataset) -> ts.Effect:
        fit = ts.analysis.fit_exponent(data, curve, against=field)
        return ts.Effect("exponent", fit.slope, fit.low, fit.high, stated)

    return ts.Claim(
        name, rf"exit time $\times\min_i\|w_i(0)\|/(1-\eta(m+d)/2)$ follows {words}, within .15 in the exponent",
        f"{PAPER}, theorem 2", "exit", lambda data: within(jackknife(data, slope), stated - 0.15, stated + 0.15),
        preset="paper", effect=effect, figure="exit",
    )  # fmt: skip


def claim(name, statement, source, study, check, figure, expected="holds", **more):
    return ts.Claim(name, statement, source, study, check, expected, "paper", figure=figure, **more)


CLAIMS = [
    claim("identity", r"SGD: $\|w_i\|^2-a_i^2$ changes by $\eta^2\sum\Delta_i$, to $10^{-12}$ for every neuron", PAPER,
          "identity", lambda data: 1e-12 - data.identity_error.sel(rho=0).max("time"), "identity"),
    claim("identity_sam", r"SAM has an exact identity of its own, to $10^{-12}$", DERIVED,
          "identity", lambda data: 1e-12 - data.identity_error.sel(rho=slice(0.1, None)).max("time"), "identity"),
    claim("identity_mixed", r"that of SGD holds for SAM to $10^{-3}$", "control: the wrong identity", "identity",
          lambda data: 1e-3 - data.identity_error_sgd.sel(rho=slice(0.1, None)).max("time"), "identity", "fails"),
    claim("rate", r"until mean$\|w\|$ is down to 3/4, $-\log$ of it is $\frac{\eta^2}{2}\sum r^2$ within 5 %", DERIVED,
          "noise", lambda data: within(rate(data), 0.95, 1.05), "collapse"),
    claim("residual", r"in the first 1000 steps $E\,r^2=\sigma^2/(1-\eta(m+d)/2)$ within 10 %", DERIVED,
          "noise", lambda data: within(residual(data), 0.9, 1.1), "collapse"),
    claim("order", r"at the end mean$\|w\|$ is less by .1 at $\sigma=4$ than at 0, and at 8 than at 4", PAPER, "noise",
          lambda data: -at_end(data.sel(sigma=[0, 4, 8]).isel(rho=0)).norm.diff("sigma") - 0.1, "noise_levels"),
    claim("rate_ratio", r"up to step 20 000 the norm decays 2.5 to 5 times as fast at $\sigma=8$ as at 4", DERIVED, "noise",
          lambda data: within((shrunk(noisy(data, 8)) / shrunk(noisy(data))).sel(time=20_000), 2.5, 5), "noise_levels"),
    claim("shrinks_by_oscillation", r"$\sum_i\|w_i\|^2$ loses $\sum_t\|a(t+1)-a(t)\|^2$, within 10 % at $\sigma=4$", PAPER,
          "noise", lambda data: within(by_oscillation(noisy(data)), 0.9, 1.1), "noise_levels"),
    claim("sam_by_oscillation", "so it does under SAM", r"control: SAM shrinks at the order $\eta\rho$", "sam",
          lambda data: within(by_oscillation(sam(data)), 0.9, 1.1), "sam", "fails"),
    claim("lazy", r"without label noise $\max_i\|w_i(t)-w_i(0)\|\leq1/\sqrt{m}$ at all times", PAPER, "noise",
          lambda data: 1 - farthest(noisy(data, 0)), "noise_levels"),
    claim("lazy_with_noise", r"at $\sigma=4$ as well", "control: label noise", "noise",
          lambda data: 1 - farthest(noisy(data)), "noise_levels", "fails"),
    claim("second_frozen", r"with a frozen second layer mean$\|w\|$ falls by more than 5 % too", "control: no oscillation",
          "frozen", lambda data: shrunk(data).isel(time=-1) - 0.05, "noise_levels", "fails"),
    claim("falling", r"in the lazy regime (step 1000) $\Delta_i\leq0$ with probability at least $1-Cm^{-1/8}$, $C=1$ assumed",
          f"{PAPER}, lemma 3", "noise", lambda data: noisy(data).falling.sel(time=1000) - 1 + 1000**-0.125, "noise_levels"),
    claim("falling_much", r"and $\Delta_i\leq-(\sigma/4)^2$ with probability at least 1/4", f"{PAPER}, lemma 3", "noise",
          lambda data: noisy(data).falling_much.sel(time=1000) - 0.25, "noise_levels"),
    claim("periodic", "the norm changes less than 5 % as much without label noise as with it", PAPER, "periodic",
          lambda data: 0.05 * change(data, "norm")[0] - change(data, "norm")[1], "periodic"),
    claim("periodic_oscillation", r"and $\sum\|a(t+1)-a(t)\|^2$ less than 1 % as much", PAPER, "periodic",
          lambda data: 0.01 * change(data, "oscillation")[0] - change(data, "oscillation")[1], "periodic"),
    claim("sam_shrinks_first", r"SAM, $\rho=.3$: when half of the norm is lost the mean cosine is below .25", PAPER, "sam",
          lambda data: 0.25 - when_halved(sam(data)).cosine, "sam"),
    claim("sam_aligns", r"SAM, $\rho=.3$: at the end it is above .7", PAPER, "sam",
          lambda data: at_end(sam(data)).cosine - 0.7, "sam"),
    claim("sam_fits", r"SAM, $\rho=.3$: at the end the training loss is below .01", PAPER, "sam",
          lambda data: 0.01 - at_end(sam(data)).train_loss, "sam"),
    claim("without_sam", "without SAM the cosine comes above .7 too", r"control: $\rho=0$", "sam",
          lambda data: at_end(sam(data, 0.0)).cosine - 0.7, "sam", "fails"),
    claim("exit_time", r"the last neuron exits at $2(1-\eta(m+d)/2)/(\sigma^2\eta^2\sqrt{m}\,\min_i\|w_i(0)\|)$ within 20 %",
          DERIVED, "exit", lambda data: within(exit_ratio(data), 0.8, 1.2), "exit"),
    exponent("exit_in_sigma", "sigma", -2, r"$\sigma^{-2}$"),
    exponent("exit_in_lr", "lr", -2, r"$\eta^{-2}$"),
    exponent("exit_in_width", "width", -0.5, r"$m^{-1/2}$"),
    ts.Claim.of(THEORY.EXIT, "in_regime", name="exit_bound", preset="paper", figure="exit"),
    ts.Claim.of(THEORY.EXIT, "noise", name="exit_bound_published", preset="paper", expected="not applicable", figure="exit"),
    ts.Claim.of(THEORY.OSCILLATION, "oscillation", preset="paper", figure="oscillation"),
    ts.Claim.of(THEORY.OSCILLATION, "held", name="held", statement="so it does while the second layer stands still",
                source="control: no oscillation", preset="paper", expected="fails", figure="oscillation"),
    ts.Claim.of(THEORY.ALIGNED, "phase_two", preset="paper", figure="phase_two"),
    claim("aligned_early", r"the cosine is there after $\log(1/\eta)/\|\theta^*\|$ steps already", "lemma 5 in our summary",
          "phase_two", lambda data: THEORY.at(data, np.log(1 / data.lr)).cosine - THEORY.aligned_cosine(data.lr),
          "phase_two", "fails"),
    claim("converged", r"after $\log(1/\eta)/(\eta\|\theta^*\|^2)$ further steps $\|W^\top a-\theta^*\|\leq\eta\log(1/\eta)$",
          f"{PAPER}, lemma 6", "phase_two", lambda data: 1 - distance(data), "phase_two"),
]  # fmt: skip

EXPERIMENT = ts.Experiment(params=Params, trial=trial, presets=PRESETS, claims=CLAIMS)
