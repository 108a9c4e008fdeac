r"""SignGD on a two-layer transformer: fast to fit, attention on noise, no generalisation (ICLR 2025, arXiv 2410.04870).

A sample has a signal token $y\mu$ and a token of sparse noise. SignGD, and Adam, move every coordinate by about $\eta$: the
mean value's product with noise grows linearly from the first steps (slope $2\kappa\eta s\sigma_p\sqrt{2/\pi}$, where $\kappa$
counts overlapping supports), queries and keys of each sample align and grow, the noise token's attention leaves the signal at
$T\sim1/(\eta s\sigma_p\sqrt{m_k})$, then the signal token's does. Training loss falls exponentially and the test error stays
near chance; gradient descent on the same data generalises.

The rule acts on coordinates, so the frame is ambient. Settings are suggestions that give the paper's time scale. Of the later
sub-stages (majority vote, flips) only the dip of alignment is claimed.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import optax
import xarray as xr

import theorysim as ts

THEORY = ts.theory.signgd_transformer
RULES = {"sign": optax.sign_sgd, "adam": optax.adam, "gd": optax.sgd}


@dataclass(frozen=True)
class Params:
    rule: str = ts.field("sign", choices=tuple(RULES), doc="SignGD, Adam or gradient descent")
    n: int = ts.field(20, low=2, doc="training samples")
    dim: int = ts.field(2000, low=3, doc="d")
    sparsity: int = ts.field(40, low=1, doc="s, coordinates of the noise")
    width: int = ts.field(50, low=1, doc="m_k, neurons of queries and keys")
    steps: int = ts.field(900, low=1, doc="of the rule")
    every: int = ts.field(25, low=1, doc="steps between observations")
    tests: int = ts.field(200, low=1, doc="test samples")
    signal: float = ts.field(1.0, low=0, doc="||mu||, on one coordinate")
    noise: float = ts.field(2.0, low=0, doc="sigma_p")
    disjoint: float = ts.field(0.0, low=0, high=1, whole=True, doc="1: no two training samples share a coordinate")
    init: float = ts.field(0.003, low=0, doc="sigma_0")
    lr: float = ts.field(1e-4, low=0, doc="eta")


def samples(p: Params, key, count: int, disjoint=0.0):
    """Tokens of signal and of sparse noise, off the signal's coordinate, and labels."""
    keys = ts.streams(key, "label", "support", "noise", "blocks")
    y = jax.random.rademacher(keys.label, (count,), jnp.result_type(float))
    order = jax.random.uniform(keys.support, (count, p.dim - 1))
    free = order <= jnp.sort(order, axis=1)[:, p.sparsity - 1 : p.sparsity]
    place = jax.random.permutation(keys.blocks, p.dim - 1) // p.sparsity
    own = place == jnp.arange(count)[:, None]
    support = jnp.where(disjoint > 0, own, free)
    noise = p.noise * jnp.pad(support * jax.random.normal(keys.noise, support.shape), ((0, 0), (1, 0)))
    signal = jnp.zeros_like(noise).at[:, 0].set(p.signal * y)
    return jnp.stack([signal, noise], axis=1), y


def trial(p: Params, key):
    keys = ts.streams(key, "train", "test", "model", "run")
    tokens, y = samples(p, keys.train, p.n, p.disjoint)
    fresh, label = samples(p, keys.test, p.tests)
    filters = p.init * jax.random.normal(keys.model, (2 * p.width + 2, p.dim))
    q, k, v = jnp.split(filters, [p.width, 2 * p.width])
    xi = y[:, None] * tokens[:, 1]

    def losses(model, tokens, y):
        return jax.nn.softplus(-y * model(tokens))

    def loss(model, key):
        return jnp.mean(losses(model, tokens, y))

    def observe(state):
        model = state.model
        weight = model.attention(tokens)
        of_query, of_key = model.query[...] @ xi.T, model.key[...] @ xi.T
        return {
            "loss": loss(model, None),
            "test_loss": jnp.mean(losses(model, fresh, label)),
            "test_error": jnp.mean(label * model(fresh) <= 0),
            "value_noise": jnp.mean(xi @ model.mean_value),
            "query_noise": jnp.mean(jnp.abs(of_query)),
            "key_noise": jnp.mean(jnp.abs(of_key)),
            "agreement": ts.observers.sign_agreement(of_query, of_key),
            "query_signal": p.signal * jnp.mean(jnp.abs(model.query[...][:, 0])),
            "key_signal": p.signal * jnp.mean(jnp.abs(model.key[...][:, 0])),
            "signal_attention": ts.observers.attention_mass(weight, 0, 0),
            "noise_attention": ts.observers.attention_mass(weight, 1, 0),
        }

    rule = ts.dynamics.gradient_descent(loss, RULES[p.rule](p.lr))
    times = np.unique(np.r_[0:6, np.arange(0, p.steps + 1, p.every)])
    return ts.simulate(rule, ts.models.TwoLayerTransformer(q, k, v), key=keys.run, times=times, observe=observe).records


# --- where the numbers come from ---------------------------------------------------------------------------------------

OURS = "assumed: not found; it gives the time scale of the paper's figure"
SOURCES = dict.fromkeys([name for name in Params.__dataclass_fields__ if name != "rule"] + ["seeds"], OURS)
ATTENTION = {"dim": 1000, "sparsity": 40, "steps": 250, "every": 2}
SMALL = {"dim": 1000, "sparsity": 20, "width": 30, "steps": 600, "every": 50}


def studies(seeds, widths, main, small):
    return {
        "sign": ts.Study({"disjoint": [0.0, 1.0]}, seeds, main, SOURCES),
        "attention": ts.Study({"width": widths, "noise": [1.0, 2.0, 4.0]}, seeds, small | ATTENTION, SOURCES),
        "small": ts.Study({"signal": [1.0, 4.0]}, seeds, small | SMALL, SOURCES),
        "adam": ts.Study({"signal": [1.0, 4.0]}, seeds, small | SMALL | {"rule": "adam"}, SOURCES),
        "gd": ts.Study({"signal": [1.0, 4.0]}, seeds, small | SMALL | {"rule": "gd", "lr": 0.5}, SOURCES),
    }


PRESETS = {
    "quick": studies(2, [30], {"dim": 1000, "width": 25, "steps": 600, "tests": 100}, {"tests": 100}),
    "paper": studies(32, [25, 100], {}, {}),
}


# --- what is claimed ---------------------------------------------------------------------------------------------------


def claim(name, statement, source, check, expected="holds", study="sign", figure="stages"):
    return ts.Claim(name, statement, source, study, check, expected, preset="paper", figure=figure)


within = ts.analysis.within


def usual(data: xr.Dataset, time: int) -> xr.Dataset:
    return data.sel(disjoint=0.0, drop=True).sel(time=time, drop=True)


def slope(data: xr.Dataset, disjoint: float, kappa: float | None = None) -> xr.DataArray:
    """The value noise's growth a step from step 5 to 300, over the formula."""
    p, value = ts.theory.fields(data), data.value_noise.sel(disjoint=disjoint, drop=True)
    kappa = THEORY.overlap(int(p.n), int(p.sparsity), int(p.dim)) if kappa is None else kappa
    stated = THEORY.value_slope(p.lr, p.sparsity, p.noise, kappa)
    return (value.sel(time=300, drop=True) - value.sel(time=5, drop=True)) / 295 / stated


def half(data: xr.Dataset, noise: str) -> xr.DataArray:
    """The growth of query or key noise a step from 25 to 50, over that of disjoint supports."""
    p, value = ts.theory.fields(data), data[noise].sel(disjoint=0.0, drop=True)
    return (
        (value.sel(time=50, drop=True) - value.sel(time=25, drop=True)) / 12.5 / THEORY.value_slope(p.lr, p.sparsity, p.noise)
    )


def decades_off(data: xr.Dataset) -> xr.DataArray:
    p, seen = ts.theory.fields(data), usual(data, 50).noise_attention
    kappa = THEORY.overlap(int(p.n), int(p.sparsity), int(p.dim))
    stated = float(THEORY.noise_attention(50, p.width, p.lr, p.sparsity, p.noise, kappa))
    return seen.copy(data=np.log10(seen.clip(1e-12) / stated))


def scaled_time(data: xr.Dataset) -> xr.DataArray:
    """When the noise's attention on the signal falls below .1, times eta s sigma_p sqrt(m_k), over its mean, in decades."""
    p = ts.theory.fields(data)
    time = ts.analysis.first_time(-data.noise_attention, -0.1)
    scaled = time * p.lr * p.sparsity * data.noise * data.width**0.5
    log = scaled.copy(data=np.log10(scaled.clip(1e-12)))
    return log - log.mean(["noise", "width"])


def last(data: xr.Dataset, signal: float = 1.0) -> xr.Dataset:
    return data.isel(time=-1).sel(signal=signal, drop=True)


CLAIMS = [
    claim("value_slope", r"the mean value's noise grows by $2\kappa\eta s\sigma_p\sqrt{2/\pi}$ a step within 5 %",
          "derived; stage I", lambda data: within(slope(data, 0.0), 0.95, 1.05), figure="slopes"),
    claim("without_overlap", r"with $\kappa=1$ too", "control: overlap not counted",
          lambda data: within(slope(data, 0.0, 1.0), 0.95, 1.05), "fails", figure="slopes"),
    claim("disjoint_slope", r"for disjoint supports it is that with $\kappa=1$ within 5 %", "derived",
          lambda data: within(slope(data, 1.0, 1.0), 0.95, 1.05), figure="slopes"),
    claim("query_slope", r"query and key noise grow by .75 to 1 of $\eta s\sigma_p\sqrt{2/\pi}$", "derived; stage II",
          lambda data: xr.concat([within(half(data, name), 0.75, 1.0) for name in ("query_noise", "key_noise")],
                                 xr.DataArray(["query", "key"], dims="of")), figure="slopes"),
    claim("align", "query and key noise agree in sign on .95 at step 50", "stage II",
          lambda data: usual(data, 50).agreement - 0.95),
    claim("dip", "on less than .75 at step 200", "stage IV", lambda data: 0.75 - usual(data, 200).agreement),
    claim("align_again", "and on .9 at step 500", "stage IV", lambda data: usual(data, 500).agreement - 0.9),
    claim("noise_first", "at step 100 the noise token has left the signal (.01), the signal token has not (.4)",
          "stages II, IV",
          lambda data: xr.concat([0.01 - usual(data, 100).noise_attention, usual(data, 100).signal_attention - 0.4],
                                 xr.DataArray(["noise", "signal"], dims="of"))),
    claim("then_signal", "at step 500 both have: below .01", "theorem 4.1",
          lambda data: xr.concat([0.01 - usual(data, 500).noise_attention, 0.01 - usual(data, 500).signal_attention],
                                 xr.DataArray(["noise", "signal"], dims="of"))),
    claim("formula_of_attention", "at step 50 the noise's attention is that of the formula within a factor of 4", "derived",
          lambda data: within(decades_off(data), -0.602, 0.602), figure="collapse"),
    claim("time_of_attention", r"the time at which it falls below .1 scales as $1/(\eta s\sigma_p\sqrt{m_k})$ within 30 %",
          "theorem 4.1", lambda data: within(scaled_time(data), -0.114, 0.114), study="attention", figure="collapse"),
    claim("fits", "training loss ends below 1e-6", "theorem 4.1",
          lambda data: 1e-6 - data.loss.sel(disjoint=0.0).isel(time=-1), figure="losses"),
    claim("does_not_generalise", "and the test error above .35", "theorem 4.1",
          lambda data: data.test_error.sel(disjoint=0.0).isel(time=-1) - 0.35, figure="losses"),
    claim("adam_does_not", "Adam's too", "section 5", lambda data: last(data).test_error - 0.35, study="adam",
          figure="losses"),
    claim("gd_does_not", "gradient descent's too", "control: gradient descent", lambda data: last(data).test_error - 0.35,
          "fails", study="gd", figure="losses"),
    claim("gd_generalises", "gradient descent's is below .1, on the same data", "section 5",
          lambda data: 0.1 - last(data).test_error, study="gd", figure="losses"),
    claim("stronger_signal", r"with $\|\mu\|=4$ SignGD still errs on more than .1", "beyond the paper",
          lambda data: last(data, 4.0).test_error - 0.1, study="small", figure="losses"),
]  # fmt: skip

EXPERIMENT = ts.Experiment(params=Params, trial=trial, presets=PRESETS, claims=CLAIMS)
