r"""PromptFolio: federated learning from vision-language foundation models (Pan et al., NeurIPS 2024, arXiv 2409.19610).

$K$ clients in $S$ groups. An image feature of a client is $y$ times a task-relevant latent feature that all clients share and
one of its group alone, plus $L$ irrelevant Gaussian ones. Each client trains a local prompt behind a frozen, in effect linear,
text encoder (CoOp); averaging in rounds gives a global prompt (PromptFL). PromptFolio mixes their text features, each of
length one, $(1-\theta)h_G+\theta h_L$. As in a portfolio of two assets, the accuracy is a function of the mean of the score
over its standard deviation, and the best share $\theta^*$ has a closed form. More clients average more of the noise out of the
global prompt, so $\theta^*$ falls; more groups make it less relevant, so $\theta^*$ grows.
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
    most: int = ts.field(50, low=2, doc="clients that are simulated, of which the first `clients` take part")
    n: int = ts.field(16, low=1, doc="training samples of a client")
    features: int = ts.field(400, low=1, doc="irrelevant latent features, L")
    rounds: int = ts.field(50, low=1, doc="rounds of averaging")
    tests: int = ts.field(4000, low=1, doc="fresh points of the first client")
    clients: float = ts.field(10.0, low=2, whole=True, doc="K, at most `most`")
    groups: float = ts.field(5.0, low=1, whole=True, doc="groups of clients, S")
    common: float = ts.field(0.3, low=0, doc="amplitude of the signal that all clients share, a_G")
    own: float = ts.field(0.3, low=0, doc="amplitude of the signal of a group, a_L")
    noise: float = ts.field(0.3, low=0, doc="std of an irrelevant feature, sigma")
    lr: float = ts.field(0.5, low=0, doc="step size")
    local_steps: float = ts.field(2.0, low=1, whole=True, doc="steps of a round, E")


SHARES = np.linspace(0, 1, 5)


def trial(p: Params, key):
    keys = ts.streams(key, "space", "train", "rounds", "test")
    client = jnp.arange(p.most)
    here = client < p.clients
    group = jnp.floor(client * p.groups / p.clients).astype(int)  # equal groups of neighbours
    signals = jnp.column_stack([jnp.full(p.most, p.common), p.own * jax.nn.one_hot(group, p.most)])
    law = partial(ts.laws.Features, noise=p.noise, projected=True)

    fixed = 1 + p.most
    space = ts.exact.frame(keys.space, fixed + p.features, fixed=fixed, kind="ambient", train=p.most * p.n)
    noise = space.train.reshape(p.most, p.n, -1)
    batches = jax.vmap(lambda row, k, rows: law(row[None])(k, rows))(signals, jax.random.split(keys.train, p.most), noise)

    def text_features(weights):
        """The text feature of each client after training, of length one."""
        rule = ts.dynamics.federated(
            ts.objectives.logistic, batches, optax.sgd(p.lr), local_steps=p.local_steps, weights=weights
        )
        start = ts.models.Prompt(jnp.zeros(space.size))
        run = ts.simulate(rule, start, key=keys.rounds, times=p.rounds, observe=lambda state: {}, frame=space)
        feature = ts.dynamics.each_client(run.state, lambda model: model.feature)
        return feature / jnp.linalg.norm(feature, axis=1, keepdims=True)

    # those who take part average with each other, the others train alone and nobody sees them
    glob = text_features(ts.dynamics.weights_by_group(jnp.where(here, 0, 1 + client)))
    local = text_features(jnp.eye(p.most))

    def product(one, other):
        return p.noise**2 * jnp.sum(one[:, fixed:] * other[:, fixed:], axis=1)

    test = ts.observers.fresh_errors(law(signals[:1]), keys.test, p.tests)
    mixtures = (1 - SHARES[:, None]) * glob[0] + SHARES[:, None] * local[0]
    errors = jax.vmap(lambda feature: test(ts.models.Prompt(feature)).clean)(mixtures)
    each = {
        "mean_global": jnp.sum(glob[:, :fixed] * signals, axis=1),
        "mean_local": jnp.sum(local[:, :fixed] * signals, axis=1),
        "var_global": product(glob, glob),
        "covariance": product(glob, local),
        "var_local": product(local, local),
    }
    found = {name: ts.named(jnp.where(here, value, jnp.nan), "client", partial=True) for name, value in each.items()}
    return found | {"accuracy_fresh": ts.named(1 - errors, "share", share=SHARES)}


# --- where the numbers come from ---------------------------------------------------------------------------------------

SUGGESTED = "assumed: the paper has no synthetic numbers"
SOURCES = {
    **dict.fromkeys(("n", "features", "rounds", "clients", "groups", "common", "own", "noise", "lr", "local_steps"), SUGGESTED),
    **dict.fromkeys(("most", "tests", "seeds"), "assumed"),
}
CLIENTS, GROUPS = [5.0, 10.0, 20.0, 50.0], [1.0, 2.0, 5.0, 10.0]
SMALL = SOURCES | {"lr": "assumed: so small that the prompts stay in the linear regime"}
NO_GLOBAL = SOURCES | {"common": "assumed: the control"}


def studies(clients, groups, seeds):
    base = {"most": int(max(clients))}
    return {
        "users": ts.Study({"clients": clients, "groups": groups}, seeds, base, SOURCES),
        "small_steps": ts.Study({"clients": clients, "groups": groups}, seeds, base | {"lr": 1e-4}, SMALL),
        "no_global": ts.Study({"clients": clients, "groups": groups}, seeds, base | {"common": 0.0}, NO_GLOBAL),
    }


PRESETS = {"quick": studies([5.0, 10.0, 20.0], [1.0, 5.0, 10.0], 4), "paper": studies(CLIENTS, GROUPS, 24)}


# --- what the paper states ----------------------------------------------------------------------------------------------

within, THEORY = ts.analysis.within, ts.theory.prompt_portfolio
GRID = xr.DataArray(np.arange(201) / 200, dims="share")
PAPER, DERIVED = "Pan et al. (2024), in outline", "derived here from the portfolio analogy"
#: the share that the released code uses for all clients
RELEASED = 0.4


def best(data: xr.Dataset) -> xr.DataArray:
    """The best share of each client, by the closed form."""
    return THEORY.best_share(*THEORY.assets(data))


def best_on_grid(data: xr.Dataset) -> xr.DataArray:
    """The best share of each client by trying all of a grid."""
    accuracy = THEORY.accuracy(GRID, *THEORY.assets(data))
    return GRID[accuracy.fillna(-1).argmax("share")].where(accuracy.isel(share=0).notnull())


def off(data: xr.Dataset, formula) -> xr.DataArray:
    """How far a formula for the best share is from the grid's, at the worst client."""
    return abs(formula(*THEORY.assets(data)) - best_on_grid(data)).max("client")


def mean_best(data: xr.Dataset, **cell: float) -> xr.DataArray:
    return best(data.sel(cell)).mean("client")


def accuracy(data: xr.Dataset, share: float, **cell: float) -> xr.DataArray:
    """The accuracy at one share for all clients, averaged over them."""
    return THEORY.accuracy(share, *THEORY.assets(data.sel(cell))).mean("client")


def lead_of_released(data: xr.Dataset, clients: float) -> xr.DataArray:
    """How much better the released share is than the better of both prompts."""
    shares = (RELEASED, 0.0, 1.0)
    mixed, glob, local = (accuracy(data, share, clients=clients, groups=5) for share in shares)
    return mixed - np.maximum(glob, local)


def off_early(data: xr.Dataset) -> xr.DataArray:
    """The mean best share less the formula for small prompts, where the groups are of one size."""
    p = ts.theory.fields(data)
    formula = THEORY.early_share(p.clients, p.groups, p.common, p.own, p.noise, p.features, p.n)
    rest = (best(data).mean("client") - formula).stack(cell=("clients", "groups"))
    return rest.isel(cell=(rest.clients >= rest.groups).values).reset_index("cell")


def off_fresh(data: xr.Dataset) -> xr.DataArray:
    """The accuracy of the first client on fresh points, less its closed form."""
    means, covariance = (tuple(v.isel(client=0) for v in part) for part in THEORY.assets(data))
    return data.accuracy_fresh - THEORY.accuracy(data.share, means, covariance)


def claim(name, statement, source, check, study="users", expected="holds", figure="accuracy"):
    return ts.Claim(name, statement, source, study, check, expected, "paper", figure=figure)


CLAIMS = [
    claim("formula_of_accuracy", r"client 1: the accuracy on fresh points is $\Phi$ of mean score over sd, within .015",
          DERIVED, lambda data: within(off_fresh(data), -0.015, 0.015)),
    claim("best_share", r"$\theta^*=v_2/(v_1+v_2)$, $v=\Sigma^{-1}m$, is within .01 of the grid's best share for every client",
          PAPER, lambda data: 0.01 - off(data, THEORY.best_share), figure="optimum"),
    claim("best_share_uncorrelated", "so is the formula that ignores the correlation of both prompts", "control",
          lambda data: 0.01 - off(data, THEORY.best_share_uncorrelated), expected="fails", figure="optimum"),
    ts.Claim.of(THEORY.MIXED, "users", preset="paper", figure="accuracy"),
    claim("gain", "at K = 5, S = 5 the best mixtures gain more than .003 over the better prompt", PAPER,
          lambda data: THEORY.gain(data.sel(clients=5, groups=5)).mean("client") - 0.003),
    claim("gain_one_group", "so they do with a single group", "control: S = 1, no local signal of one's own",
          lambda data: THEORY.gain(data.sel(clients=5, groups=1)).mean("client") - 0.003, expected="fails"),
    claim("falls_with_clients", r"at S = 5 $\theta^*$ falls from K = 5 to 10, 20 and 50", PAPER,
          lambda data: -mean_best(data, groups=5).diff("clients"), figure="optimum"),
    claim("grows_with_groups", r"at K = 10 $\theta^*$ grows from S = 1 to 2, 5 and 10", PAPER,
          lambda data: mean_best(data, clients=10).diff("groups"), figure="optimum"),
    claim("clients_help", "the global prompt gains more than .005 of accuracy with each step from K = 5 to 50", PAPER,
          lambda data: accuracy(data, 0.0).diff("clients") - 0.005),
    claim("clients_do_not_help_alone", "so does the local prompt", "control: no communication",
          lambda data: accuracy(data, 1.0).diff("clients") - 0.005, expected="fails"),
    claim("prefers_global", r"$\theta^*<1/2$ at K = S = 10", DERIVED,
          lambda data: 0.5 - mean_best(data, clients=10, groups=10), figure="optimum"),
    claim("prefers_global_without_it", r"$\theta^*<1/2$ at K = S = 10 without a global signal", "control: $a_G=0$",
          lambda data: 0.5 - mean_best(data, clients=10, groups=10), "no_global", expected="fails", figure="optimum"),
    claim("released_share_few", "the released share .4 beats both prompts at K = 5, S = 5", "the released code's default",
          lambda data: lead_of_released(data, 5)),
    claim("released_share_many", "it beats both prompts at K = 20, S = 5", "the released code's default",
          lambda data: lead_of_released(data, 20), expected="fails"),
    claim("small_steps", r"while prompts are small, $\theta^*$ is that of the closed form in K and S, within .03", DERIVED,
          lambda data: within(off_early(data), -0.03, 0.03), "small_steps", figure="optimum"),
    claim("large_steps", "it is so after training with large steps as well", "control: outside the linear regime",
          lambda data: within(off_early(data), -0.03, 0.03), expected="fails", figure="optimum"),
]  # fmt: skip

EXPERIMENT = ts.Experiment(params=Params, trial=trial, presets=PRESETS, claims=CLAIMS)
