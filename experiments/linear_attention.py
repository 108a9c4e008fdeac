r"""Linear attention learns linear regression in context.

Four papers on one layer, or a few. Zhang, Frei, Bartlett (JMLR 2024, arXiv 2306.09927): gradient flow on the population loss
ends at one step of preconditioned gradient descent, which tolerates shifts of tasks and queries, not of the inputs. Von Oswald
et al. (ICML 2023): the trained layer is one step of gradient descent of the best size. Ahn et al. (NeurIPS 2023, arXiv
2306.00297): more layers are more steps, preconditioned. Lu et al. (2024, arXiv 2405.11751): the ridgeless layer's error on
fresh tasks has a double descent in the number of contexts and turns from memorising to learning in the number of tasks.

Prompts enter through their second moments (exact for a last token that is read alone and is no key). Training on the finite
length $N$ leaves a bias on endless prompts even without any shift: shifts are compared with that.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import optax
import xarray as xr
from flax import nnx

import theorysim as ts

THEORY, BAYES = ts.theory.linear_attention, ts.theory.in_context
NONE, TASK, QUERY, INPUTS = range(4)  # shifts
SCALES = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0)  # of the inputs of a layer trained at 1
ENDLESS = 1e9


@dataclass(frozen=True)
class Params:
    setting: str = ts.field(
        "population", choices=("population", "trained", "ridge"), doc="the loss in closed form, prompts, ridge"
    )
    dim: int = ts.field(5, low=1, doc="d")
    layers: int = ts.field(1, low=1, doc="of a trained model")
    contexts: int = ts.field(1000, low=2, doc="training contexts of the ridge setting, tau d (d + 1)")
    batch: int = ts.field(256, low=1, doc="prompts a step")
    steps: int = ts.field(4000, low=1, doc="of gradient descent, or of Adam")
    records: int = ts.field(40, low=1, doc="observation times")
    tests: int = ts.field(4000, low=1, doc="test prompts of a trained model")
    inputs: str = ts.field("gaussian", choices=("gaussian", "uniform"), doc="of trained models; uniform on (-1/2, 1/2)")
    full: bool = ts.field(False, doc="train all entries of P and Q, not their blocks")
    context: float = ts.field(20.0, low=1, whole=True, doc="examples in a prompt, N")
    variance: float = ts.field(1.0, low=0, doc="of a coordinate of the inputs, population loss")
    kurtosis: float = ts.field(3.0, low=1, doc="of a coordinate of the inputs, population loss")
    condition: float = ts.field(1.0, low=1, doc="largest over smallest eigenvalue of the inputs' covariance")
    spread: float = ts.field(0.0, low=0, doc="of the logarithms of 32 random diagonal covariances; 0: all alike")
    start: float = ts.field(0.5, low=0, doc="sigma")
    matched: float = ts.field(0.0, low=0, high=1, whole=True, doc="1: tasks from N(0, Sigma^-1), 0: from N(0, I)")
    free: float = ts.field(1.0, low=0, high=1, whole=True, doc="0: only a step size a layer is trained (gradient descent)")
    tasks: float = ts.field(30.0, low=1, whole=True, doc="training tasks of the ridge setting, kappa d, at most 4 d")
    noise: float = ts.field(0.0, low=0, doc="variance of the labels' noise, rho")
    ridge: float = ts.field(1e-8, low=0, doc="lambda")
    lr: float = ts.field(0.05, low=0, doc="step")


class Layer(nnx.Module):
    """The corner of $W^{PV}$ and the block of $W^{KQ}$: all that moves."""

    def __init__(self, corner, block):
        self.corner, self.block = nnx.Param(corner), nnx.Param(block)


def eigenvalues(p: Params):
    return p.condition ** -jnp.linspace(0.0, 1.0, p.dim) if p.dim > 1 else jnp.ones(1)


def population(p: Params, key):
    """Gradient descent on the exact loss of 12.1's layer, averaged over 32 covariances."""
    keys = ts.streams(key, "start", "covariances", "shifted")
    base = p.variance * eigenvalues(p)

    def covariances(key):
        return jax.vmap(jnp.diag)(base * jnp.exp(p.spread * jax.random.normal(key, (32, p.dim))))

    seen, fresh = covariances(keys.covariances), covariances(keys.shifted)
    excess = (p.kurtosis - 3) * p.variance**2

    def loss(model, key=None):
        gamma = model.corner[...] * model.block[...]
        return jnp.mean(jax.vmap(lambda c: ts.exact.linear_attention_loss(gamma, c, p.context, excess=excess))(seen))

    def relative(gamma, covariance, length, task=1.0, query=None):
        of_query = covariance if query is None else query
        scale = jnp.trace(of_query) * task
        return 2 * ts.exact.linear_attention_loss(gamma, covariance, length, task=task, query=query, excess=excess) / scale

    def observe(state):
        u, block = state.model.corner[...], state.model.block[...]
        gamma, here = u * block, jnp.diag(base)
        shifts = [
            relative(gamma, here, ENDLESS),
            relative(gamma, here, ENDLESS, task=4.0),
            relative(gamma, here, ENDLESS, query=jnp.diag(base[::-1]) * 3),
            relative(gamma, 2 * here, ENDLESS),
        ]
        return {
            "loss": loss(state.model),
            "test_error": relative(gamma, here, p.context) * jnp.sum(base),
            "shifted": ts.named(jnp.stack(shifts), "shift", shift=range(4)),
            "fresh": jnp.mean(jax.vmap(lambda c: relative(gamma, c, ENDLESS))(fresh)),
            "corner": u,
            "block": ts.named(jnp.diag(block), "direction", direction=range(1, p.dim + 1)),
            "off_diagonal": jnp.linalg.norm(block - jnp.diag(jnp.diag(block))),
            "imbalance": u**2 - jnp.sum(block**2),
        }

    theta = jax.random.normal(keys.start, (p.dim, p.dim))
    square = theta @ theta.T
    rule = ts.dynamics.gradient_descent(loss, optax.sgd(p.lr))
    model = Layer(jnp.asarray(p.start, theta.dtype), p.start * square / jnp.linalg.norm(square))
    return ts.simulate(rule, model, key=key, times=ts.log_times(p.steps, p.records), observe=observe).records


class Steps(nnx.Module):
    """Blocks A of Q and B of P, a layer each; P's last entry is 1."""

    def __init__(self, a, b, free):
        self.a, self.b, self.free = nnx.Param(a), nnx.Param(b), nnx.data(free)

    def attention(self):
        eye = jnp.eye(self.a[...].shape[-1])
        steps = jnp.einsum("lii->l", self.a[...])[:, None, None] / len(eye) * eye
        a = jnp.where(self.free > 0, self.a[...], steps)
        pad = ((0, 0), (0, 1), (0, 1))
        value = jnp.pad(self.free * self.b[...], pad).at[:, -1, -1].set(1.0)
        return ts.models.LinearAttention(value, jnp.pad(a, pad))


def trained(p: Params, key):
    """Adam on fresh prompts, seen through their moments; predictions have the sign of von Oswald's and Ahn's label slot."""
    keys = ts.streams(key, "model", "steps", "test")
    root = jnp.sqrt(eigenvalues(p))
    task_root = jnp.where(p.matched > 0, 1 / root, jnp.ones_like(root))
    law = ts.laws.LinearPrompts(p.dim, root, task_root, 0.0, p.inputs)

    def prompts(key, count):
        """The moments of the examples, queries and their labels."""
        if p.inputs == "uniform":  # explicit: its moments are not Wishart
            drawn = law(key, count, 10)
            return ts.exact.moments_of(drawn).tokens, drawn.x[:, -1], drawn.target
        k = ts.streams(key, "task", "examples", "query")
        task, query = law.tasks(k.task, count), root * jax.random.normal(k.query, (count, p.dim))
        return ts.exact.moments(k.examples, task, p.context, root=root).tokens, query, jnp.sum(task * query, axis=1)

    def attention(model):
        return model if p.full else model.attention()

    def predict(model, seen, query):
        token = jnp.pad(query, ((0, 0), (0, 1)))
        return -attention(model).of_moments(seen, token, p.context)

    def loss(model, key):
        seen, query, label = prompts(key, p.batch)
        return jnp.mean((predict(model, seen, query) - label) ** 2) / 2

    seen, query, label = prompts(keys.test, p.tests)
    variance, kurtosis = (1 / 12, 1.8) if p.inputs == "uniform" else (1.0, 3.0)
    step = BAYES.best_step(p.dim, p.context, variance=variance, kurtosis=kurtosis) / p.context

    def by_step(seen, query):
        return step * jnp.einsum("bd,bd->b", seen[:, : p.dim, -1], query)

    def observe(state):
        model, said = state.model, predict(state.model, seen, query)
        weight, known = jax.grad(lambda q: jnp.sum(predict(model, seen, q)))(query), step * seen[:, : p.dim, -1]
        cosine = jnp.sum(weight * known, 1) / (jnp.linalg.norm(weight, axis=1) * jnp.linalg.norm(known, axis=1) + 1e-30)

        def off(predict):
            """Losses with inputs, and so labels, of another scale."""
            at = jax.vmap(lambda s: jnp.mean((predict(s * s * seen, s * query) / s - label) ** 2) / 2)
            return at(jnp.array(SCALES))

        a = jnp.sqrt(eigenvalues(p))
        white = a[:, None] * attention(model).key_query[0, : p.dim, : p.dim] * a
        scale = jnp.trace(white) / p.dim
        return {
            "test_loss": jnp.mean((said - label) ** 2) / 2,
            "step_loss": jnp.mean((by_step(seen, query) - label) ** 2) / 2,
            "difference": jnp.sqrt(jnp.mean((said - by_step(seen, query)) ** 2) / jnp.mean(label**2)),
            "cosine": jnp.mean(cosine),
            "scaled": ts.named(off(lambda s, q: predict(model, s, q)), "scale", scale=SCALES),
            "step_scaled": ts.named(off(by_step), "scale", scale=SCALES),
            "from_identity": jnp.linalg.norm(white - scale * jnp.eye(p.dim)) / (jnp.linalg.norm(white) + 1e-30),
            "first_scale": -scale * p.context,
        }

    size = p.dim + 1 if p.full else p.dim
    a, b = 2e-3 / p.layers * jax.random.normal(keys.model, (2, p.layers, size, size))
    model = ts.models.LinearAttention(b, a) if p.full else Steps(a, b, jnp.asarray(p.free))
    rate = optax.cosine_decay_schedule(1.0, p.steps)
    rule = ts.dynamics.gradient_descent(loss, optax.chain(optax.adam(p.lr, b2=0.99), optax.scale_by_schedule(rate)))
    return ts.simulate(rule, model, key=keys.steps, times=ts.log_times(p.steps, p.records), observe=observe).records


def ridge(p: Params, key):
    """The ridge solution over contexts of few tasks, and its exact errors on fresh tasks (ICL) and on the known ones (IDG)."""
    keys = ts.streams(key, "tasks", "which", "examples", "query", "noise")
    n, d, rho, length = p.contexts, p.dim, p.noise, p.context
    every = jax.random.normal(keys.tasks, (4 * d, d))
    every = every * jnp.sqrt(d) / jnp.linalg.norm(every, axis=1, keepdims=True)
    w = every[jnp.floor(p.tasks * jax.random.uniform(keys.which, (n,))).astype(int)]
    seen = ts.exact.label_moments(keys.examples, w, length, root=1 / np.sqrt(d), noise=rho)
    query = jax.random.normal(keys.query, (n, d)) / np.sqrt(d)
    label = jnp.sum(w * query, axis=1) + jnp.sqrt(rho) * jax.random.normal(keys.noise, (n,))
    features = jnp.concatenate([seen.xy * d, seen.yy[:, None]], axis=1) / length
    gamma = ts.exact.bilinear_ridge(query, features, label, p.ridge * n / d)

    def error(second, mean):
        """Of a fresh prompt whose task has these moments."""
        s2 = 1 + rho
        across = s2 * (1 + 2 / length) * mean[:, None]
        block = s2 * d / length * jnp.eye(d) + (1 + 1 / length) * second
        corner = jnp.full((1, 1), s2**2 * (1 + 2 / length))
        moments = jnp.block([[block, across], [across.T, corner]])
        with_task = jnp.concatenate([second, s2 * mean[None]])
        return s2 + (jnp.trace(gamma @ moments @ gamma.T) - 2 * jnp.trace(gamma @ with_task)) / d

    known = (jnp.arange(4 * d) < p.tasks)[:, None] / p.tasks
    return {
        "icl_error": error(jnp.eye(d), jnp.zeros(d)),
        "idg_error": error(every.T @ (known * every), jnp.sum(known * every, axis=0)),
    }


def trial(p: Params, key):
    return {"population": population, "trained": trained, "ridge": ridge}[p.setting](p, key)


# --- where the numbers come from ---------------------------------------------------------------------------------------

OURS = "assumed: smaller than in the paper, or not in it"
ZHANG = dict.fromkeys([*Params.__dataclass_fields__, "seeds"], OURS)
SOURCES = {name: source for name, source in ZHANG.items() if name not in ("setting", "inputs", "full")}
OSWALD = SOURCES | dict.fromkeys(("dim", "context", "variance", "kurtosis"), "found: the authors' code")
AHN = SOURCES | dict.fromkeys(("dim", "context", "layers"), "found: the authors' code")
LU = SOURCES | {"noise": "found: the authors' code", "contexts": "assumed: tau = n / (d (d + 1)) of .25 to 2"}
UNIFORM = {"dim": 10, "context": 10.0}
GAMMA = UNIFORM | {"variance": 1 / 12, "kurtosis": 1.8, "start": 2.0, "lr": 1.0, "steps": 2000}
BOTH = {"condition": [1.0, 4.0]}
TAUS, ALPHAS, KAPPAS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0), (1.0, 10.0), (0.25, 0.5, 1.0, 2.0, 4.0)


def ridges(sizes, seeds):
    """Contexts at one number of tasks, and tasks at one number of contexts."""
    d, taus, small, tau = sizes
    few = {"setting": "ridge", "dim": d, "tasks": d / 2, "noise": 0.01}
    counts = [round(t * d * (d + 1)) for t in taus]
    many = {"setting": "ridge", "dim": small, "context": 10.0 * small, "contexts": tau * small * (small + 1), "noise": 0.01}
    return {
        "contexts": ts.Study({"contexts": counts, "context": [a * d for a in ALPHAS]}, seeds, few, LU, x64=True),
        "tasks": ts.Study({"tasks": [k * small for k in KAPPAS]}, seeds, many, LU, x64=True),
    }


def studies(seeds, runs, one, deep, layers, ridge_sizes):
    prompts = {"setting": "trained", "records": 20}
    return {
        "flow": ts.Study({"context": [20.0, 100.0]} | BOTH, seeds, sources=SOURCES, x64=True),
        "saddle": ts.Study(seeds=seeds, base={"start": 0.0, "records": 2}, sources=SOURCES, x64=True),
        "random": ts.Study({"spread": [0.0, 0.25, 0.5]}, seeds, {"context": 1e6, "lr": 0.02, "records": 2}, SOURCES, x64=True),
        "uniform": ts.Study(seeds=seeds, base=GAMMA | {"records": 2}, sources=OSWALD, x64=True),
        "one_step": ts.Study(seeds=runs, base=UNIFORM | prompts | {"inputs": "uniform", "full": True} | one, sources=OSWALD),
        "depth": ts.Study(
            {"layers": layers, "free": [0.0, 1.0]} | BOTH, runs, prompts | {"matched": 1.0, "records": 2} | deep, AHN
        ),
        **ridges(ridge_sizes, runs),
    }


SMALL = {"lr": 0.02, "batch": 128, "tests": 1000}
PRESETS = {
    "quick": studies(3, 2, {"steps": 300} | SMALL, {"steps": 200} | SMALL, [1, 2], (16, TAUS[1::2], 12, 20)),
    "paper": studies(20, 20, {"steps": 1500, "lr": 5e-3}, {"steps": 1000, "lr": 0.01}, [1, 2, 3], (60, TAUS, 24, 20)),
}  # fmt: skip


# --- what is claimed ---------------------------------------------------------------------------------------------------


def claim(name, statement, source, study, check, expected="holds", figure=""):
    return ts.Claim(name, statement, source, study, check, expected, preset="paper", figure=figure)


within = ts.analysis.within


def end(data: xr.Dataset) -> xr.Dataset:
    return data.isel(time=-1)


def over_limits(data: xr.Dataset, what: str) -> xr.DataArray:
    """What training reached, over theorem 4.1's limit."""
    stated = end(data)[what].mean("seed") * 0
    for n in data.context.values:
        for condition in data.condition.values:
            corner, block = THEORY.limits(np.diag(float(condition) ** -np.linspace(0, 1, 5)), float(n))
            stated.loc[{"context": n, "condition": condition}] = corner if what == "corner" else np.diag(block)
    return end(data)[what] / stated


def shifted(data: xr.Dataset, shift: int | list[int]) -> xr.DataArray:
    """The relative error on endless prompts, of a layer trained on the covariance I."""
    return end(data).shifted.sel(shift=shift, condition=1)


def over_theory(data: xr.Dataset) -> xr.DataArray:
    """Errors of the ridge solution over the limit of large d, away from tau = 1."""
    d = ts.theory.fields(data).dim
    ratio = data.icl_error / xr.apply_ufunc(lambda n, k: THEORY.ridgeless_error(n / d / (d + 1), k / d, 0.5, 0.01),
                                            data.contexts, data.context)  # fmt: skip
    return ratio.sel(contexts=abs(data.contexts / d / (d + 1) - 1) > 0.3)


def at_one(data: xr.Dataset) -> xr.DataArray:
    """The error at as many contexts as parameters, over those at half and at twice as many, in decades."""
    d = ts.theory.fields(data).dim
    peak, half, twice = (data.icl_error.sel(contexts=t * d * (d + 1), method="nearest", drop=True) for t in (1, 0.5, 2))
    sides: list[xr.DataArray] = [peak / half, peak / twice]
    ratio = xr.concat(sides, dim=xr.DataArray(["half", "twice"], dims="beside"))
    return ratio.copy(data=np.log10(ratio))


def gain(data: xr.Dataset, **where) -> xr.DataArray:
    """The trained layers' loss over that of as many steps of gradient descent."""
    loss = end(data).test_loss.sel(**where)
    return loss.sel(free=1) / loss.sel(free=0)


ZFB, OSW, AHNS, LUS = (
    "Zhang, Frei, Bartlett (2024), ", "von Oswald et al. (2023), ", "Ahn et al. (2023), ", "Lu et al. (2024), ",
)  # fmt: skip

CLAIMS = [
    claim("corner", "gradient descent takes $W^{PV}$ to its limit within 1 %", ZFB + "theorem 4.1", "flow",
          lambda data: within(over_limits(data, "corner"), 0.99, 1.01), figure="flow"),
    claim("block", "and $W^{KQ}$ to its own, eigenvalue by eigenvalue, within 1 %", ZFB + "theorem 4.1", "flow",
          lambda data: within(over_limits(data, "block"), 0.99, 1.01), figure="spectrum"),
    claim("norms_stay_equal", "the two norms' squares stay equal within .05", ZFB + "lemma on balance", "flow",
          lambda data: 0.05 - abs(data.imbalance), figure="flow"),
    claim("error", r"for $\Lambda=I$ the error is $d(d+1)/(N+d+1)$ within 1 %", "derived; " + ZFB + "theorem 4.2", "flow",
          lambda data: within(end(data).test_error.sel(condition=1) * (data.context + 6) / 30, 0.99, 1.01), figure="length"),
    claim("trained_bias", r"on endless prompts $(1-c)^2$ of the error stays, within 1 %", "derived", "flow",
          lambda data: within(shifted(data, NONE) / THEORY.shifted_bias(5, data.context, 1), 0.99, 1.01),
          figure="shifts"),
    claim("consistent", "on endless prompts the relative error is below .001", "control: training on finite prompts", "flow",
          lambda data: 1e-3 - shifted(data, NONE), "fails", figure="shifts"),
    claim("tasks_and_queries_may_shift", r"tasks of four times the variance, queries of three: the same error within .1 %",
          ZFB + "section 5", "flow",
          lambda data: within(shifted(data, [TASK, QUERY]) / shifted(data, NONE), 0.999, 1.001), figure="shifts"),
    claim("inputs_may_not", "inputs of twice the variance: $(1-2c)^2$ within 1 %", "derived; " + ZFB + "section 5", "flow",
          lambda data: within(shifted(data, INPUTS) / THEORY.shifted_bias(5, data.context, 2), 0.99, 1.01), figure="shifts"),
    claim("inputs_cost", "which is at least four times the bias without shift", ZFB + "section 5", "flow",
          lambda data: shifted(data, INPUTS) - 4 * shifted(data, NONE), figure="shifts"),
    claim("inputs_shift_tolerated", "inputs of twice the variance: the same error within 10 %", "control: shifted inputs",
          "flow", lambda data: within(shifted(data, INPUTS) / shifted(data, NONE), 0.9, 1.1), "fails", figure="shifts"),
    claim("zero_is_a_saddle", "from $\\sigma=0$ it learns too: the loss falls below half", "control: a start of zeros",
          "saddle", lambda data: 0.5 * data.loss.isel(time=0) - end(data).loss, "fails", figure="flow"),
    claim("random_covariances", "trained on random covariances, a relative error of .05 stays on endless prompts",
          ZFB + "section 6", "random", lambda data: end(data).fresh.sel(spread=[0.25, 0.5]) - 0.05, figure="shifts"),
    claim("one_covariance", "trained on one, less than .001", "control: no spread", "random",
          lambda data: 1e-3 - end(data).fresh.sel(spread=0.0), figure="shifts"),
    claim("best_step", r"on uniform inputs the layer ends at $\eta^*/N=.606$ within .002", OSW + "figure 2; derived", "uniform",
          lambda data: within((end(data).corner * end(data).block) / 10, 0.604, 0.608), figure="one_step"),
    claim("best_loss", "at the loss .206 within .001", OSW + "figure 2; derived", "uniform",
          lambda data: within(end(data).loss, 0.205, 0.207), figure="one_step"),
    claim("is_one_step", "all entries trained by Adam: predictions within 5 % of one step's", OSW + "proposition 1", "one_step",
          lambda data: 0.05 - end(data).difference, figure="one_step"),
    claim("same_sensitivity", "the cosine with the step's sensitivity exceeds .999", OSW + "figure 2", "one_step",
          lambda data: end(data).cosine - 0.999, figure="one_step"),
    claim("same_loss", "its loss is the step's within 1 %", OSW + "figure 2", "one_step",
          lambda data: within(end(data).test_loss / end(data).step_loss, 0.99, 1.01), figure="one_step"),
    claim("same_out_of_distribution", "on inputs scaled by .5 to 2 too, within 3 %", OSW + "figure 3", "one_step",
          lambda data: within(end(data).scaled / end(data).step_scaled, 0.97, 1.03), figure="one_step"),
    claim("before_training", "before training it predicts within 50 % of the step", "control: untrained", "one_step",
          lambda data: 0.5 - data.difference.isel(time=0), "fails", figure="one_step"),
    claim("preconditions", r"one layer learns $Q=-\frac N{N+d+1}\Sigma^{-1}$ within 2 %, also for unequal eigenvalues",
          AHNS + "theorem 1, corrected for $w\\sim N(0,\\Sigma^{-1})$", "depth",
          lambda data: within(end(data).first_scale.sel(layers=1, free=1) / 20 / THEORY.best_scale(5, 20), 0.98, 1.02),
          figure="depth"),
    claim("all_of_it", r"what is not a multiple of $\Sigma^{-1}$ is below 4 % of it", AHNS + "theorem 1", "depth",
          lambda data: 0.04 - end(data).from_identity.sel(layers=1, free=1), figure="depth"),
    claim("one_step_each", "with equal eigenvalues one layer is one step of gradient descent: losses within 1 %",
          AHNS + "theorem 1", "depth", lambda data: within(gain(data, layers=1, condition=1), 0.99, 1.01), figure="depth"),
    claim("beats_plain_steps", "with unequal ones its loss is at most .8 of a step's", AHNS + "figure 3", "depth",
          lambda data: 0.8 - gain(data, layers=1, condition=4), figure="depth"),
    claim("more_than_steps", "two and three layers have at most .7 of the loss of as many best steps", AHNS + "theorem 4",
          "depth", lambda data: 0.7 - gain(data, layers=slice(2, None)), figure="depth"),
    claim("one_is_enough", "one layer has at most .7 of the loss of one step, for equal eigenvalues", "control: one layer",
          "depth", lambda data: 0.7 - gain(data, layers=1, condition=1), "fails", figure="depth"),
    claim("asymptotics", "the ridgeless error is that of large $d$ within 15 %, .3 away from $\\tau=1$", LUS + "result 1",
          "contexts", lambda data: within(over_theory(data), 0.85, 1.15), figure="contexts"),
    claim("double_descent", "at $\\tau=1$ it is at least ten times that at 1/2 and at 2", LUS + "figure 2", "contexts",
          lambda data: at_one(data) - 1, figure="contexts"),
    claim("memorises", "few tasks ($\\kappa=1/4$): fresh tasks cost five times the known ones", LUS + "figure 4", "tasks",
          lambda data: (data.icl_error - 5 * data.idg_error).isel(tasks=0), figure="tasks"),
    claim("learns", "many ($\\kappa=4$): fresh tasks cost at most a fifth more", LUS + "figure 4", "tasks",
          lambda data: (1.2 * data.idg_error - data.icl_error).isel(tasks=-1), figure="tasks"),
    claim("few_tasks_suffice", "few ($\\kappa=1/4$): fresh tasks cost at most a fifth more", "control: few tasks", "tasks",
          lambda data: (1.2 * data.idg_error - data.icl_error).isel(tasks=0), "fails", figure="tasks"),
]  # fmt: skip

EXPERIMENT = ts.Experiment(params=Params, trial=trial, presets=PRESETS, claims=CLAIMS)
