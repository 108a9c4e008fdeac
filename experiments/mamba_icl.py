r"""Trained Mamba emulates online gradient descent in in-context linear regression (Jiang et al., NeurIPS 2025, 2509.23779).

One selective layer (S6) reads the examples $(x_i,y_i)$ of a task one by one, then a query. Its step size is $\ln2/N$; its
matrices $W_B=[B\,b]$ and $W_C=[C\,c]$ start Gaussian and follow gradient descent on the population loss, here in closed form.

Theorem 4.1: with high probability $C^\top W_B\to[\beta I\ 0]$, so that $\tilde h_l=C^\top h_l$ takes steps of online gradient
descent, $\tilde h_l=\alpha\tilde h_{l-1}+(1-\alpha)\beta y_lx_l$, and the loss ends at most at $3d(d+1)/(2N)$.
A static layer (S4) is linear in the labels and cannot get below the loss of saying 0.
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

THEORY = ts.theory.mamba_icl


@dataclass(frozen=True)
class Params:
    dim: int = ts.field(4, low=1, doc="dimension of the inputs, d")
    states: int = ts.field(80, low=1, doc="states of each channel, d_h; width of the whole Mamba")
    length: int = ts.field(50, low=1, doc="examples of the prompts that are drawn")
    steps: int = ts.field(2000, low=1, doc="gradient steps")
    records: int = ts.field(60, low=2, doc="observation times")
    sample: int = ts.field(0, low=0, doc="training prompts; 0 is the population")
    tests: int = ts.field(0, low=0, doc="prompts that the layer itself reads, at the start and at the end; 0 for none")
    layer: str = ts.field("s6", choices=("s6", "s4", "mamba"), doc="selective, static, or a whole Mamba with Adam")
    context: float = ts.field(50.0, low=1, whole=True, doc="examples of a prompt, N; at most length where prompts are drawn")
    retained: float = ts.field(0.5, low=1e-6, high=0.999, doc="what is left of the first example, alpha^N")
    noise: float = ts.field(0.0, low=0, doc="variance of the labels' noise, rho")
    alive: float = ts.field(1.0, low=0, high=1, doc="scale of the first column of B and of C at the start")
    lr: float = ts.field(5e-4, low=0, doc="step size, eta")


def trial(p: Params, key):
    keys = ts.streams(key, "write", "read", "train", "test", "shuffle", "steps")
    law = ts.laws.LinearPrompts(p.dim, noise=p.noise)

    def prompts(key, count):
        """Prompts of N examples: those before them are 0, which leaves no trace in any memory."""
        drawn = law(key, count, p.length)
        kept = jnp.arange(p.length + 1) >= p.length - p.context
        return drawn._replace(x=drawn.x * kept[:, None], y=drawn.y * kept)

    if p.layer == "mamba":
        model = ts.models.Mamba(keys.write, p.dim + 1, 1, width=p.states, depth=1, states=8)
        test = prompts(keys.test, p.tests)

        def loss(model, drawn):
            return jnp.mean((model(drawn.tokens)[:, -1, 0] - drawn.target) ** 2) / 2

        rule = ts.dynamics.gradient_descent(lambda model, key: loss(model, prompts(key, 64)), optax.adam(p.lr))
        return ts.simulate(rule, model, key=keys.steps, times=ts.log_times(p.steps, p.records),
                           observe=lambda state: {"loss": loss(state.model, test)}).records  # fmt: skip

    # softplus(step_bias) = ln(1/r) / N
    bias = jnp.full(p.dim + 1, jnp.log(jnp.expm1(-jnp.log(p.retained) / p.context)))
    columns = jnp.ones(p.dim + 1).at[0].set(p.alive)
    write, read = (columns * jax.random.normal(k, (p.states, p.dim + 1)) for k in (keys.write, keys.read))
    if p.layer == "s4":
        model = ts.models.S4(write.T, read.T, step_bias=bias, trained="selection")
    else:
        model = ts.models.S6(write, read, step_bias=bias, trained="selection")

    def parts(model):
        """C_+ = [C, b_C] and [B, b, b_B]: what the query meets, and what an example writes."""
        reads = jnp.concatenate([model.read[...][:, : p.dim], model.read_bias[...][:, None]], axis=1)
        return reads, jnp.concatenate([model.write[...], model.write_bias[...][:, None]], axis=1)

    def static(model, key=None):
        used = jnp.where(jnp.arange(p.length + 1) <= p.context, model.kernel(p.length + 1)[-1], 0)[1:]  # the query's label is 0
        return THEORY.static_loss(jnp.sum(used**2), p.dim, p.noise)

    def population(model, key=None):
        biases = {"write_bias": model.write_bias[...], "read_bias": model.read_bias[...]}
        setting = {"noise": p.noise, "retained": p.retained}
        return ts.exact.mamba_loss(model.write[...], model.read[...], p.context, **biases, **setting)

    exact = static if p.layer == "s4" else population
    objective = on_sample(prompts(keys.train, p.sample), p, parts) if p.sample else exact

    def observe(state):
        seen = {"loss": exact(state.model)}
        if p.layer == "s6":
            reads, writes = parts(state.model)
            seen["matrix"] = ts.named(reads[:, : p.dim].T @ writes[:, : p.dim + 1], "row", "column")
            seen["biases"] = jnp.maximum(jnp.max(abs(reads[:, -1])), jnp.max(abs(writes[:, -1])))
        return seen

    rule, times = ts.dynamics.gradient_descent(objective, optax.sgd(p.lr)), ts.log_times(p.steps, p.records)
    run = ts.simulate(rule, model, key=keys.steps, times=times, observe=observe)
    found = dict(run.records)
    if p.layer == "s6":
        reads, writes = (part[:, : p.dim] for part in parts(run.state.model))
        found |= {
            "gram_read": ts.named(reads.T @ reads, "row", "other"),
            "gram_write": ts.named(writes.T @ writes, "row", "other"),
        }
    if p.tests and p.layer == "s6":
        drawn = prompts(keys.test, p.tests)
        pair = jax.tree.map(lambda *leaves: jnp.stack(leaves), model, run.state.model)
        for name, value in lax.map(partial(explicit, drawn=drawn, p=p), pair).items():
            found[name] = ts.named(value, *("when", "position")[: value.ndim], when=[0, 1])
        if p.sample:
            said = ts.theory.in_context.ridge(drawn.x, drawn.y, p.noise + 1e-4)[:, -1]
            found["ridge"] = half_square(said, drawn)
    return found


def half_square(said, drawn):
    """Half the mean square error at the query, whose label is taken without noise."""
    return jnp.mean((said - jnp.sum(drawn.x[:, -1] * drawn.task, axis=1)) ** 2) / 2


def on_sample(drawn, p, parts):
    """The loss of the layer on given prompts: a quadratic form in C_+^T [B, b, b_B], whose coefficients are computed once."""
    alpha = p.retained ** (1 / p.context)
    weights = (1 - alpha) * alpha ** jnp.arange(p.length, 0, -1) * drawn.y[:, :-1]
    ones = jnp.ones_like(drawn.y[..., None])
    written = jnp.concatenate([drawn.x, drawn.y[..., None], ones], axis=-1)[:, :-1]
    sums = jnp.einsum("bk,bke->be", weights, written)
    asked = jnp.concatenate([drawn.x, ones], axis=-1)[:, -1]
    features = (asked[:, :, None] * sums[:, None]).reshape(p.sample, -1)
    gram, target = features.T @ features / p.sample, features.T @ drawn.target / p.sample

    def loss(model, key):
        reads, writes = parts(model)
        flat = (reads.T @ writes).reshape(-1)
        return (flat @ gram @ flat + jnp.mean(drawn.target**2)) / 2 - target @ flat

    return loss


def explicit(model, drawn, p):
    """What the layer itself says on prompts, token by token, and how far its states are from the recursion of the theorem."""
    # each example gets the label of its neighbour
    shifted = drawn._replace(y=jnp.concatenate([jnp.roll(drawn.y[:, :-1], 1, axis=1), drawn.y[:, -1:]], axis=1))
    tokens = jnp.concatenate([drawn.tokens, shifted.tokens])
    states = model.states(tokens, channel=-1)
    said = model.outputs(tokens[:, -1:], states[:, -1:], channel=-1).reshape(2, -1)
    found = {"explicit": half_square(said[0], drawn), "label_shuffled": half_square(said[1], drawn)}
    s, q = ts.exact.forgetting_sums(p.context, p.retained)
    alpha, beta = p.retained ** (1 / p.context), s / (s**2 + (p.dim + 1 + p.noise) * q)
    memory = states[: p.tests, :-1, 0] @ model.read[...][:, : p.dim]
    before = jnp.pad(memory[:, :-1], ((0, 0), (1, 0), (0, 0)))
    off = memory - alpha * before - (1 - alpha) * beta * drawn.y[:, :-1, None] * drawn.x[:, :-1]
    dot, square = jnp.einsum("bkd,bd->bk", memory, drawn.task), jnp.sum(memory**2, axis=-1)
    task = jnp.sum(drawn.task**2, axis=-1)
    cosine = dot / jnp.sqrt(jnp.maximum(square * task[:, None], 1e-30))
    pooled = jnp.mean(dot, axis=0) / jnp.sqrt(jnp.maximum(jnp.mean(square, axis=0) * jnp.mean(task), 1e-30))
    follows = jnp.max(abs(off)) / jnp.max(abs(memory))
    return found | {"recursion": follows, "cosine": jnp.mean(cosine, axis=0), "alignment": pooled}


# --- where the numbers come from ---------------------------------------------------------------------------------------

SOURCES = {
    **dict.fromkeys(("dim", "states"), "found: the paper's experiments"),
    **dict.fromkeys(("context", "length"), "found: N = 50, and 4 to 80, in the paper; assumed: the larger ones"),
    "tests": "assumed: 1000 in the paper",
    "sample": "derived: 0, the population of the theorem",
    "retained": "found: the paper's step size ln 2 / N",
    "noise": "found: the paper's labels are noiseless",
    "alive": "found: the paper's Gaussian start",
    "lr": "assumed: not found in the paper; stable",
    "steps": "assumed: not found in the paper; enough for 1e-6",
    **dict.fromkeys(("records", "seeds"), "assumed"),
}
CLOSED = SOURCES | {"tests": "derived: none, the loss is in closed form"}
PUBLISHED = SOURCES | {
    **dict.fromkeys(("sample", "tests"), "found: the paper's experiments"),
    "noise": "found: 0 in the paper; assumed: the other, for ridge regression",
}
STATIC = CLOSED | {"lr": "assumed: ten times that of S6, whose gradients are larger"}
WHOLE = SOURCES | dict.fromkeys(
    ("dim", "states", "context", "length", "lr", "steps", "tests", "sample"), "assumed: small, to show that it learns"
)

SWEPT = CLOSED | dict.fromkeys(("retained", "alive"), "assumed: swept to see what they do")
MANY = [1e3, 1e4, 1e5, 1e6]
NOISY = 0.25


def runs(context=(50.0,), retained=(0.5,), alive=(1.0,)):
    """Studies that sweep the same fields share one compiled program."""
    return {"context": list(context), "retained": list(retained), "alive": list(alive)}


def studies(seeds, tests, sizes, retained, published, prompts, few=None):
    ends = {"records": 2}
    return {
        "gaussian": ts.Study(seeds=2 * seeds, base={"tests": tests}, sources=SOURCES, x64=True),
        "sizes": ts.Study(runs(context=[*sizes, *MANY]), seeds, ends, CLOSED, x64=True),
        "forgetting": ts.Study(runs([1e4], retained), seeds, ends, SWEPT, x64=True),
        "dead_column": ts.Study(runs(alive=[0.0, 1.0]), seeds, ends, SWEPT, x64=True),
        "published": ts.Study(
            {"noise": [0.0, NOISY], "context": published}, few or seeds,
            {"sample": prompts, "tests": 300 if few else 1000, "length": 80, "steps": 1000, "records": 2},
            PUBLISHED,
        ),
        "static": ts.Study(seeds=seeds, base={"layer": "s4", "lr": 5e-3}, sources=STATIC, x64=True),
    }  # fmt: skip


PRESETS = {
    "quick": studies(2, 200, [4.0, 8.0, 20.0, 50.0, 200.0], [0.1, 0.5, 0.7], [4.0, 20.0, 80.0], 3000, few=2),
    "paper": studies(
        20, 2000, [4.0, 6.0, 8.0, 12.0, 20.0, 30.0, 50.0, 80.0, 120.0, 200.0], [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7],
        [4.0, 8.0, 12.0, 20.0, 30.0, 40.0, 60.0, 80.0], 3000,
    ) | {
        "whole": ts.Study(seeds=20, base={
            "layer": "mamba", "dim": 2, "states": 16, "length": 16, "context": 16.0, "lr": 0.01, "steps": 400, "records": 12,
            "tests": 1000,
        }, sources=WHOLE),
    },
}  # fmt: skip


# --- what the paper states ----------------------------------------------------------------------------------------------

within = ts.analysis.within


def end(data: xr.Dataset) -> xr.Dataset:
    return data.isel(time=-1)


def setting(data: xr.Dataset):
    p = ts.theory.fields(data)
    return p.dim, p.context, p.retained


def off_limit(data: xr.Dataset) -> xr.DataArray:
    """The largest distance of an entry of C^T W_B from the limit [beta I, 0]."""
    limit = xr.DataArray(np.eye(data.sizes["row"], data.sizes["column"]), dims=("row", "column"))
    return abs(end(data).matrix - THEORY.best(*setting(data)) * limit).max(("row", "column"))


def excess(data: xr.Dataset) -> xr.DataArray:
    """L - L* from the matrix, without the rounding of the difference."""
    matrix = data.matrix.transpose(..., "row", "column").values
    dim, *other = setting(data)
    values = THEORY.excess(matrix[..., :-1], matrix[..., -1], dim, *(float(np.squeeze(value)) for value in other))
    return data.loss.copy(data=values)


def fall(data: xr.Dataset, first: float, last: float) -> xr.DataArray:
    """The rate a step at which log(L - L*) falls between two times, by least squares."""
    part = excess(data).sel(time=slice(first, last))
    part = part.copy(data=np.log(part))
    return -part.polyfit("time", 1).polyfit_coefficients.sel(degree=1, drop=True)


def stated_rate(data: xr.Dataset) -> float:
    p = ts.theory.fields(data)
    return THEORY.stated_rate(p.lr, p.states, p.dim, p.context)


def slow_mode(data: xr.Dataset) -> xr.DataArray:
    """The rate at which the square of the slowest mode of C^T B - beta I falls late, over that of the theory."""
    p = ts.theory.fields(data)
    grams = [data[name].transpose("seed", ...).values for name in ("gram_read", "gram_write")]
    left, right = (np.linalg.eigh(gram)[1][..., 0] for gram in grams)
    off = data.matrix.transpose("time", "seed", ...).values[..., :-1] - THEORY.best(p.dim, p.context) * np.eye(p.dim)
    mode = data.loss.transpose("time", "seed").copy(data=np.log(np.einsum("si,tsij,sj->ts", left, off, right) ** 2))
    found = -mode.sel(time=slice(700, 1500)).polyfit("time", 1).polyfit_coefficients.sel(degree=1, drop=True)
    first, second = grams
    return found / THEORY.rate(first, second, p.lr, p.dim, p.context)


def dead(data: xr.Dataset) -> float:
    """What a diagonal entry that stays 0 adds to the loss."""
    p = ts.theory.fields(data)
    first, _, third = THEORY.betas(p.dim, p.context.item(), p.retained.item())
    return float(third**2 / (2 * first))


def scaled(data: xr.Dataset) -> xr.DataArray:
    """N L over d (d + 1) / 2, its limit for linear attention."""
    p = ts.theory.fields(data)
    return p.context * end(data).loss / (p.dim * (p.dim + 1) / 2)


def over_limit(data: xr.Dataset) -> xr.DataArray:
    p = ts.theory.fields(data)
    return end(data).loss / THEORY.least_loss(p.dim, p.context, p.retained, p.noise)


THEOREM, PROOF, FIGURE = (f"Jiang et al. (2025), {where}" for where in ("theorem 4.1", "proof of theorem 4.1", "section 5"))
HERE = "derived here"


def claim(name, statement, source, study, check, expected="holds", figure="training", preset="paper", **options):
    return ts.Claim(name, statement, source, study, check, expected, preset, figure=figure, **options)


CLAIMS = [
    claim("converges", r"after 2000 steps $C^\top W_B$ is $[\beta I\ 0]$ within $10^{-6}$", THEOREM, "gaussian",
          lambda data: 1e-6 - off_limit(data), figure="heat_map"),
    claim("biases", "the biases stay 0", PROOF, "gaussian", lambda data: 1e-12 - data.biases.max("time"), figure="heat_map"),
    claim("online_gd", r"the layer's states obey $\tilde h_l=\alpha\tilde h_{l-1}+(1-\alpha)\beta y_lx_l$ within $10^{-5}$",
          THEOREM + " (a)", "gaussian", lambda data: 1e-5 - data.recursion.sel(when=1), figure="cosine"),
    claim("untrained", "they do before training", "control: no step", "gaussian",
          lambda data: 1e-5 - data.recursion.sel(when=0), "fails", figure="cosine"),
    claim("alignment", r"the alignment of $\tilde h_l$ and $w$ is $s_l/\sqrt{s_l^2+(d+1)q_l}$ within .01, at every $l$", HERE,
          "gaussian", lambda data: within(data.alignment.sel(when=1) - THEORY.alignment(data.position + 1, *setting(data)),
                                          -0.01, 0.01), figure="cosine"),
    claim("cosine", "after the last example the mean cosine is .97 within .01", FIGURE, "gaussian",
          lambda data: within(data.cosine.sel(when=1).isel(position=-1), 0.96, 0.98), figure="cosine"),
    claim("closed_form", "the closed form is the loss of the layer itself within 10 %, untrained and trained", HERE, "gaussian",
          lambda data: within(data.explicit / data.loss.isel(time=[0, -1]).rename(time="when").assign_coords(when=data.when),
                              0.9, 1.1)),
    claim("rate_bound", r"from step 100 to 400 $L-L^*$ falls at least at the rate $2\eta\beta_1d_h/2$", PROOF, "gaussian",
          lambda data: fall(data, 100, 400) / stated_rate(data) - 1),
    claim("rate_loose", "in truth 2.5 to 4 times as fast", "measured here", "gaussian",
          lambda data: within(fall(data, 100, 400) / stated_rate(data), 2.5, 4)),
    claim("rate", r"late its slowest mode falls at the rate of $\lambda_{\min}(C^\top C)+\lambda_{\min}(B^\top B)$, within 3 %",
          HERE, "gaussian", lambda data: within(slow_mode(data), 0.97, 1.03)),
    ts.Claim.of(THEORY.LOSS, "sizes", preset="paper", figure="sizes"),
    claim("limit_loss", r"the loss ends at $\frac d2(1-\beta_3^2/\beta_1)$ within .01 %, $N$ up to $10^6$", FIGURE, "sizes",
          lambda data: within(over_limit(data), 0.9999, 1.0001), figure="sizes"),
    claim("constant", r"for $N\geq1000$ $NL$ is $\frac{3\ln2}4d(d+1)$ within 2 %", HERE, "sizes",
          lambda data: within(scaled(data.sel(context=slice(1000, None))) / THEORY.price(0.5), 0.98, 1.02), figure="sizes"),
    claim("price", r"$NL$ is $\frac12d(d+1)\frac{(1+r)\ln(1/r)}{2(1-r)}$, $r=\alpha^N$, within 2 % at $N=10^4$", HERE,
          "forgetting", lambda data: within(scaled(data) / THEORY.price(data.retained), 0.98, 1.02), figure="forgetting"),
    claim("dead_column", r"with first columns of 0 in $B$ and $C$ it ends at $L^*+\beta_3^2/(2\beta_1)$ within $10^{-9}$",
          PROOF, "dead_column", lambda data: 1e-9 - abs(excess(end(data.sel(alive=0))) - dead(data)), figure="heat_map"),
    claim("dead_converges", r"it converges to $\beta I$ all the same", "control: a column of zeros", "dead_column",
          lambda data: 1e-6 - off_limit(data.sel(alive=0)), "fails", figure="heat_map"),
    claim("published", "trained on 3000 prompts it ends within 8 % of the least loss, for every $N$ of 4 to 80", FIGURE,
          "published", lambda data: within(over_limit(data.sel(noise=0)), 1.0, 1.08), figure="test_loss"),
    ts.Claim.of(THEORY.LOSS, "published", name="published_bound", preset="paper", figure="test_loss"),
    claim("noisy_order", "with noisy labels ridge regression is better than Mamba from $N=8$ on", HERE, "published",
          lambda data: (data.explicit.sel(when=1) - data.ridge).sel(noise=NOISY, context=slice(8, None)), figure="test_loss"),
    claim("learns", "trained it errs at most a quarter of saying 0", FIGURE, "gaussian",
          lambda data: 0.5 - data.explicit.sel(when=1)),
    claim("labels_shuffled", "so it does with labels shuffled among the examples", "control: labels shuffled", "gaussian",
          lambda data: 0.5 - data.label_shuffled.sel(when=1), "fails"),
    claim("static_floor", r"the static layer never gets below $d/2$, the loss of saying 0", THEOREM, "static",
          lambda data: data.loss.min("time") - 2 + 1e-12),
    claim("static_end", r"trained, it ends at $d/2$ within $10^{-6}$", HERE, "static",
          lambda data: 1e-6 - abs(end(data).loss - 2)),
    claim("static_learns", "it errs at most a quarter of saying 0", "control: S4", "static", lambda data: 0.5 - end(data).loss,
          "fails"),
    claim("whole", "a whole Mamba with Adam on fresh prompts errs at most half of saying 0", "measured here", "whole",
          lambda data: 0.5 - end(data).loss, figure="whole"),
]  # fmt: skip

EXPERIMENT = ts.Experiment(params=Params, trial=trial, presets=PRESETS, claims=CLAIMS)
