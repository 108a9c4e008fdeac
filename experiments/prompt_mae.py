r"""NLPrompt: noise-label prompt learning for vision-language models (Pan et al., CVPR 2025, arXiv 2412.01256).

An image feature $(y, x_1, .., x_L)$ of one task-relevant and $L$ irrelevant latent features, $x\sim N(0,\sigma^2I)$, has a
label that is flipped with probability $p$. The prompt behind a frozen, in effect linear, text encoder is trained by gradient
descent on cross-entropy (PromptCE) or on the mean absolute error (PromptMAE). Once the signal is learned, a flipped sample is
confidently wrong: its weight in the gradient is largest for cross-entropy and vanishes for the mean absolute error. So
PromptMAE keeps more of the signal, and its test error is lower. PromptOT splits off the clean samples beforehand: entropic
optimal transport between samples and class prototypes gives pseudo-labels, and a sample is called clean if its pseudo-label is
its given label.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import optax
import xarray as xr

import theorysim as ts


@dataclass(frozen=True)
class Params:
    task: str = ts.field("prompt", choices=("prompt", "purify"), doc="train prompts, or split by optimal transport")
    n: int = ts.field(256, low=2, doc="training samples; to purify, in all classes")
    steps: int = ts.field(2000, low=1, doc="gradient steps, or Sinkhorn's iterations")
    records: int = ts.field(40, low=1, doc="observation times")
    tests: int = ts.field(10_000, low=1, doc="fresh points of the test error")
    classes: int = ts.field(10, low=2, doc="classes to purify, C")
    frame: str = "ambient"
    dim: float = ts.field(65.0, low=2, whole=True, doc="latent features, 1 + L; to purify, of an image feature")
    noise: float = ts.field(0.5, low=0, doc="std of an irrelevant feature, sigma; to purify, of a whole image feature")
    flip: float = ts.field(0.2, low=0, high=0.9, doc="probability of a wrong label, p")
    init: float = ts.field(0.05, doc="coefficient of the relevant feature in the first prompt, beta(0)")
    lr: float = ts.field(0.5, low=0, doc="step size")
    strength: float = ts.field(0.05, low=1e-4, doc="of the entropy in optimal transport, epsilon")
    tilt: float = ts.field(0.3, low=0, doc="std of the noise of a whole prototype; 1000: a random prototype")


def trial(p: Params, key):
    return purify(p, key) if p.task == "purify" else prompts(p, key)


def prompts(p: Params, key):
    """Train on both losses, from the same prompt on the same samples."""
    keys = ts.streams(key, "space", "train", "test", "steps")
    law = ts.laws.Features([1.0], noise=p.noise, flip=p.flip, projected=True)
    space = ts.exact.frame(keys.space, p.dim, fixed=law.fixed, kind=p.frame, train=p.n)
    train, test = law(keys.train, space.train), ts.observers.fresh_errors(law, keys.test, p.tests)
    start = ts.models.Prompt(jnp.zeros(space.size).at[0].set(p.init))
    noisy, found = train.label != train.sign, {}

    for name, loss in (("ce", "softmax"), ("mae", "mae")):
        objective, each = getattr(ts.objectives, loss)(train), getattr(ts.objectives, f"{loss}_loss")

        def observe(state, objective=objective, each=each):
            prompt, margin = state.model.prompt[...], train.label * state.model(train.patches)
            weight = -jax.grad(lambda z: jnp.sum(each(z)))(margin)  # how strongly each sample pulls the prompt
            clean, flipped = (ts.observers.mean_over(weight, group) for group in (~noisy, noisy))
            return {
                "loss": objective(state.model, None),
                "error": test(state.model).clean,
                "beta": prompt[0],
                "phi": jnp.linalg.norm(prompt[1:]),
                "share": jnp.sum(weight * noisy) / jnp.sum(weight),
                "ratio": ts.named(flipped / clean, partial=True),
            }

        rule = ts.dynamics.gradient_descent(objective, optax.sgd(p.lr))
        times = ts.log_times(p.steps, p.records)
        records = ts.simulate(rule, start, frame=space, key=keys.steps, times=times, observe=observe).records
        found |= {f"{quantity}_{name}": value for quantity, value in records.items()}
    return found


def purify(p: Params, key):
    """Pseudo-labels of noisy samples of several classes, by optimal transport to the classes' prototypes."""
    keys, dim = ts.streams(key, "means", "prototypes", "features", "flip", "wrong"), int(p.dim)

    def unit(rows):
        return rows / jnp.linalg.norm(rows, axis=1, keepdims=True)

    means = unit(jax.random.normal(keys.means, (p.classes, dim)))
    prototypes = unit(means + p.tilt * dim**-0.5 * jax.random.normal(keys.prototypes, (p.classes, dim)))
    truth = jnp.arange(p.n) % p.classes
    features = unit(means[truth] + p.noise * dim**-0.5 * jax.random.normal(keys.features, (p.n, dim)))
    wrong = (truth + jax.random.randint(keys.wrong, (p.n,), 1, p.classes)) % p.classes
    given = jnp.where(jax.random.uniform(keys.flip, (p.n,)) < p.flip, wrong, truth)

    cost = -jax.nn.log_softmax(features @ prototypes.T, axis=1)
    plan = ts.exact.sinkhorn(cost, p.strength, p.steps)
    pseudo, nearest = jnp.argmax(plan, axis=1), jnp.argmin(cost, axis=1)
    kept, clean = pseudo == given, given == truth
    off = [jnp.max(jnp.abs(plan.sum(axis=axis) - 1 / plan.shape[1 - axis])) for axis in (0, 1)]
    return {
        "precision": ts.named(ts.observers.mean_over(1.0 * clean, kept), partial=True),
        "recall": ts.named(ts.observers.mean_over(1.0 * kept, clean), partial=True),
        "kept": jnp.mean(1.0 * kept),
        "hit": jnp.mean(1.0 * (pseudo == truth)),
        "hit_nearest": jnp.mean(1.0 * (nearest == truth)),
        "marginals": jnp.max(jnp.stack(off)),
    }


# --- where the numbers come from ---------------------------------------------------------------------------------------

SUGGESTED = "assumed: the paper has no synthetic numbers"
SOURCES = {
    **dict.fromkeys(("n", "dim", "noise", "flip", "init", "steps"), SUGGESTED),
    **dict.fromkeys(("records", "tests", "seeds"), "assumed"),
    "lr": "assumed: step 1 for the weights 1-s and 2s(1-s) of cross-entropy and MAE, whose gradients are twice as large",
    **dict.fromkeys(("classes", "strength", "tilt"), "assumed: unused, these are of the purification"),
}
OVER = SOURCES | dict.fromkeys(("n", "dim"), "assumed: more irrelevant features than samples")
PURIFY = {
    **dict.fromkeys(("classes", "dim", "noise", "tilt", "flip", "seeds"), SUGGESTED),
    "n": "found: 16 shots a class",
    "strength": "found: .05, the default of the code",
    "steps": "found: the code's iterations at most",
    **dict.fromkeys(("records", "tests", "init", "lr"), "assumed: unused, these are of the prompts"),
}
OT = {"task": "purify", "n": 160, "dim": 128.0, "steps": 1000}
TILTS = [0.3, 1.0, 2.0, 3.0, 4.0, 6.0, 10.0, 1000.0]


def studies(seeds, over, purified):
    return {
        "curves": ts.Study({"flip": [0.0, 0.2, 0.4]}, seeds, sources=SOURCES),
        "over": ts.Study(seeds=over, base={"n": 64, "dim": 257.0}, sources=OVER),
        "purified": ts.Study({"tilt": TILTS, "flip": [0.25, 0.5, 0.75]}, purified, OT, PURIFY),
    }


PRESETS = {"quick": studies(8, 8, 6), "paper": studies(100, 100, 100)}


# --- what the paper states ----------------------------------------------------------------------------------------------

within, THEORY = ts.analysis.within, ts.theory.prompt_mae
MAIN = "Pan et al. (2025), main theorem, in outline"
SUPPRESSED = "Pan et al. (2025), explanation of the theorem, in outline"
PURIFICATION, DERIVED = "Pan et al. (2025), PromptOT", "derived here"
LOSSES = ("ce", "mae")


def noisy(data: xr.Dataset) -> xr.Dataset:
    return data.sel(flip=[0.2, 0.4])


def trained(data: xr.Dataset) -> xr.Dataset:
    """All records but the start, which is the same for both."""
    return data.sel(time=slice(1, None))


def at_end(data: xr.Dataset) -> xr.Dataset:
    return data.isel(time=-1)


def both(data: xr.Dataset, measure) -> xr.DataArray:
    """A measure of each loss, `measure(data, loss)`, as parts of one claim."""
    parts: list[xr.DataArray] = [measure(data, loss) for loss in LOSSES]
    return xr.concat(parts, dim=xr.DataArray([*LOSSES], dims="loss"))


def exact(data: xr.Dataset, loss: str) -> xr.DataArray:
    """The test error by its closed form."""
    noise = ts.theory.fields(data).noise
    beta, phi = data[f"beta_{loss}"], data[f"phi_{loss}"]
    return xr.apply_ufunc(lambda b, f: THEORY.error(b, f, noise), beta, phi)


def advantage(data: xr.Dataset) -> xr.DataArray:
    """How much lower the error of PromptMAE is, averaged over the time of training."""
    gap = exact(data, "ce") - exact(data, "mae")
    return gap.integrate("time") / float(data.time[-1])


def strength(data: xr.Dataset, loss: str) -> xr.DataArray:
    """Mean of the score over its standard deviation, of which the test error is a falling function."""
    return data[f"beta_{loss}"] / data[f"phi_{loss}"]


def first_step(data: xr.Dataset, loss: str) -> xr.DataArray:
    """The first step over what the formula gives for the run's own share of flips, as margins: of beta, and of phi^2."""
    p, now = ts.theory.fields(data), data.sel(time=1)
    share = data.share_mae.isel(time=0)  # all weights are equal there
    beta, square = THEORY.first_step(p.n, p.dim - 1, share, p.noise, p.lr, p.init, getattr(THEORY, f"{loss}_weight"))
    signal, noise = now[f"beta_{loss}"] / beta, now[f"phi_{loss}"] ** 2 / square
    return xr.concat([within(signal, 0.9999, 1.0001), within(noise, 0.9, 1.1)], dim="coefficient")


def at_start(data: xr.Dataset, loss: str) -> xr.DataArray:
    """The weight ratio at the start over its closed form."""
    ratio = THEORY.weight_ratio(ts.theory.fields(data).init, getattr(THEORY, f"{loss}_weight"))
    return noisy(data)[f"ratio_{loss}"].isel(time=0) - ratio


def removed(data: xr.Dataset) -> xr.DataArray:
    """The precision of the clean split, less one that leaves half of the wrong labels in."""
    return data.precision - (1 - data.flip / 2)


def off_formula(data: xr.Dataset) -> xr.DataArray:
    """The precision over the samples of all seeds, less what the formula gives; one jackknife value a seed."""

    def pooled(part: xr.Dataset) -> xr.DataArray:
        right = (part.precision * part.kept).mean("seed") / part.kept.mean("seed")
        return right - THEORY.precision(part.hit.mean("seed"), part.flip, ts.theory.fields(part).classes)

    return ts.analysis.jackknife(data, pooled)


def claim(name, statement, source, check, study="curves", expected="holds", figure="error"):
    return ts.Claim(name, statement, source, study, check, expected, "paper", figure=figure)


CLAIMS = [
    claim("advantage", "averaged over training, the error of PromptMAE is lower by more than .01, at p = .2 and .4", MAIN,
          lambda data: advantage(noisy(data)) - 0.01),
    claim("advantage_clean", "without flips it is so too", "control: p = 0",
          lambda data: advantage(data.sel(flip=0)) - 0.01, expected="fails"),
    claim("at_every_time", r"at every logged $t\geq1$ PromptMAE has the larger $\beta/\|\phi\|$, so the lower error", MAIN,
          lambda data: strength(trained(noisy(data)), "mae") - strength(trained(noisy(data)), "ce")),
    ts.Claim.of(THEORY.LOWER, "curves", preset="paper", figure="error"),
    ts.Claim.of(THEORY.LOWER, "over", name="lower_error_over", preset="paper", expected="not applicable",
                figure="overparameterised"),
    claim("signal_kept", r"$\beta$ is larger under the mean absolute error at every logged $t\geq1$", SUPPRESSED,
          lambda data: trained(noisy(data)).beta_mae - trained(noisy(data)).beta_ce, figure="coefficients"),
    claim("alike_at_start", "at the start MAE weighs flipped samples as clean ones, CE $e^{2\\beta(0)}=1.105$ times",
          DERIVED, lambda data: within(both(data, at_start), -0.002, 0.002), figure="gradient_share"),
    claim("suppressed", r"at every logged $t\geq1$ flipped samples have a smaller share of the gradient under MAE", SUPPRESSED,
          lambda data: trained(noisy(data)).share_ce - trained(noisy(data)).share_mae, figure="gradient_share"),
    claim("suppressed_clean_labels", "PromptCE keeps its share of flipped samples below .45 as well", "control: the other loss",
          lambda data: 0.45 - at_end(noisy(data)).share_ce, expected="fails", figure="gradient_share"),
    claim("stationary_share", "at the end of PromptCE flipped and clean samples pull alike: share in [.49, .51]", DERIVED,
          lambda data: within(at_end(noisy(data)).share_ce, 0.49, 0.51), figure="gradient_share"),
    claim("error_formula", r"the error on fresh points is $\Phi(-\beta/(\sigma\|\phi\|))$, within .003", DERIVED,
          lambda data: within(both(noisy(data), lambda d, loss: d[f"error_{loss}"] - exact(d, loss)), -0.003, 0.003)),
    claim("first_step", r"after one step $\beta$ is that of the formula, the mean of $\|\phi\|^2$ within 10 %", DERIVED,
          lambda data: both(noisy(data), first_step), figure="coefficients"),
    claim("coincide", "with more features than samples (n = 64, L = 256) the errors at the end agree within .01", DERIVED,
          lambda data: within((at_end(data).pipe(exact, "ce") - at_end(data).pipe(exact, "mae")), -0.01, 0.01), "over",
          figure="overparameterised"),
    claim("coincide_few_features", "they agree within .01 at n = 256, L = 64, p = .2", "control: n > L",
          lambda data: within(exact(at_end(data.sel(flip=0.2)), "ce") - exact(at_end(data.sel(flip=0.2)), "mae"), -0.01, 0.01),
          expected="fails"),
    claim("advantage_over", "with more features than samples PromptMAE's error is lower by more than .01 too", MAIN,
          lambda data: advantage(data) - 0.01, "over", expected="fails", figure="overparameterised"),
    claim("marginals", "the marginals of the transport plan, 1/160 and 1/10, are met to 1e-5", PURIFICATION,
          lambda data: 1e-5 - data.marginals, "purified", figure="purification"),
    claim("precision", "up to tilt 4 the clean split has at most half of the wrong labels: precision above $1-r/2$",
          PURIFICATION, lambda data: removed(data.sel(tilt=slice(0, 4))), "purified", figure="purification"),
    claim("precision_random", "so it has with random prototypes", "control: prototypes that know nothing",
          lambda data: removed(data.sel(tilt=1000)), "purified", expected="fails", figure="purification"),
    claim("precision_formula", "up to tilt 4 the precision follows from the pseudo-labels' accuracy $a$ within .03", DERIVED,
          lambda data: within(off_formula(data.sel(tilt=slice(0, 4))), -0.03, 0.03), "purified", figure="purification"),
    claim("better_than_nearest", "at tilts 3 and 4 transport gives better pseudo-labels than the nearest prototype",
          PURIFICATION, lambda data: (data.hit - data.hit_nearest).sel(tilt=[3, 4], flip=0.5), "purified",
          figure="purification"),
]  # fmt: skip

EXPERIMENT = ts.Experiment(params=Params, trial=trial, presets=PRESETS, claims=CLAIMS)
