r"""Convergence and generalization in federated learning through feature learning theory (Huang, Shi, Cai, Suzuki, ICLR 2024).

K clients hold n samples each: a signal patch $y\mu_k$ and a noise patch. Client k's signal is one of C orthogonal ones of equal
length. All train a two-layer CNN with activation max(0, z)^q, q > 2, for E local steps a round, and then receive averages:

    none, the identity:          local training, which learns its signal iff n SNR^q is large
    1/K everywhere (FedAvg):     iff n K_k SNR^q is large, with K_k clients of the same signal
    over clients like oneself:   the same, K / K_k times sooner (weighted FedAvg)

so with communication the test error vanishes where it stays constant without. At small drift D = E eta sigma_p^2 d / (n m) the
boundary is SNR* ~ (n K_k)^(-1/q); at large drift each client fits its noise before it hears of the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import optax
import xarray as xr

import theorysim as ts

THEORY, within = ts.theory.federated, ts.analysis.within
AVERAGES = ("local", "fedavg", "weighted", "similar")
LOCAL, FEDAVG, WEIGHTED, SIMILAR = range(4)


@dataclass(frozen=True)
class Params:
    clients: int = ts.field(20, low=1, doc="K")
    n: int = ts.field(50, low=1, doc="samples of each client")
    width: int = ts.field(10, low=1, doc="filters of each class, m")
    power: int = ts.field(3, low=3, doc="power of the ReLU, q")
    rounds: int = ts.field(40, low=1, doc="rounds of communication; with the theorem's scaling times the clients")
    records: int = ts.field(1, low=1, doc="observation times; 1 observes the end only")
    tests: int = ts.field(400, low=1, doc="fresh points of the test error")
    averages: tuple = ts.field(AVERAGES, doc="which averages the clients receive")
    scaling: str = ts.field("plain", choices=("plain", "theorem"), doc="what lr and init are in units of")
    frame: str = "ambient"
    dim: float = ts.field(1000.0, low=2, whole=True, doc="dimension of a patch, d")
    signal: float = ts.field(6.5, low=0, doc="signal strength, |mu|")
    ratio: float = ts.field(0.0, low=0, doc="n K_k SNR^q; the signal is chosen for it, beside `signal`")
    groups: float = ts.field(1.0, low=1, whole=True, doc="orthogonal signals, C")
    noise: float = ts.field(1.0, low=0, doc="sigma_p")
    local_steps: float = ts.field(5.0, low=1, whole=True, doc="local steps of a round, E")
    lr: float = ts.field(0.5, low=0, doc="step size, eta; theorem: in units of n m/(sigma_p^2 d), so that D = E lr")
    init: float = ts.field(0.01, low=0, doc="std of the first filters; theorem: in units of 1/(sigma_p sqrt d)")
    temperature: float = ts.field(0.25, low=1e-3, doc="of the weights from similar features")


def trial(p: Params, key):
    keys = ts.streams(key, "space", "signals", "train", "test", "points", "steps")
    length, count = p.noise * jnp.sqrt(p.dim), p.clients
    signal = p.signal + length * THEORY.critical_snr(p.n, THEORY.shared(count, p.groups), p.power, p.ratio)
    lr, init, rounds = {
        "plain": (p.lr, p.init, p.rounds),
        "theorem": (p.lr * p.n * p.width / length**2, p.init / length, p.rounds * count),
    }[p.scaling]
    # as many directions as clients, so that the number of signals in use may be traced
    space = ts.exact.frame(keys.space, p.dim, fixed=count, kind=p.frame, train=count * p.n, filters=2 * p.width)
    group = jnp.mod(jnp.arange(count), p.groups).astype(int)
    shares, mu = jax.nn.one_hot(group, count), signal * jnp.eye(count)[group]

    def law(own):
        return ts.laws.Features(signals=signal * jnp.ones(count), shares=own, noise=p.noise)

    def each(stream):
        return jax.random.split(stream, count)

    vectors = space.train.reshape(count, p.n, -1)
    batches = jax.vmap(lambda own, key, rows: law(own)(key, rows))(shares, each(keys.train), vectors)
    # the first products with each signal have a stream of their own: they are the same for any number of clients
    products = jax.vmap(lambda k: jax.random.normal(jax.random.fold_in(keys.signals, k), (2 * p.width,)))(jnp.arange(count))
    first, loss = init * space.filters.at[:, :count].set(products.T), ts.objectives.logistic
    model = ts.models.TwoLayerCNN(first, power=p.power)

    def feature(batch):
        """The mean first-layer feature of a client, each sample times its label: common filters see the mean input."""
        return jnp.asarray(sum(first[:, : patch.shape[1]] @ (batch.label @ patch) for patch in batch.patches))

    weights = {
        "local": jnp.eye(count),
        "fedavg": jnp.full((count, count), 1 / count),
        "weighted": ts.dynamics.weights_by_group(group),
        "similar": ts.dynamics.weights_by_similarity(jax.vmap(feature)(batches), p.temperature),
    }

    fresh = space.fresh(keys.points, p.tests)  # one set of noise patches tests all clients

    def look(net, batch, own, mu, key):
        side, filters = net.side, net.filters[...]
        along = side * (filters[:, :count] @ mu)
        response = jnp.mean(jnp.maximum(along, 0).reshape(2, -1) ** p.power, axis=1)
        noise = batch.patches[1]
        moved = (filters - first)[:, : noise.shape[1]] @ noise.T
        return {
            "train_loss": loss(batch)(net, None),
            "test_error": ts.observers.errors(net, law(own)(key, fresh)).clean,
            # read off by products: the decomposition is not unique at d < K + K n
            "signal_learning": jnp.max(side * ((filters - first)[:, :count] @ mu)),
            "noise_memorization": jnp.max(jnp.where(side[:, None] * batch.label > 0, moved, -jnp.inf)),
            "signal_learnt": jnp.mean(response > 0.5, dtype=along.dtype),  # shares of the classes with F_j(j mu) > 1/2
        }

    def run(average):
        rule = ts.dynamics.federated(loss, batches, optax.sgd(lr), local_steps=p.local_steps, weights=average)

        def observe(state):
            return jax.tree.map(jnp.mean, ts.dynamics.each_client(state, look, batches, shares, mu, each(keys.test)))

        times = ts.log_times(rounds, p.records)
        return ts.simulate(rule, model, frame=space, key=keys.steps, times=times, observe=observe).records

    runs = jax.vmap(run)(jnp.stack([weights[name] for name in p.averages]))
    which = [AVERAGES.index(name) for name in p.averages]
    seen = {name: stacked(value, which) for name, value in runs.items()}
    return seen | ({"similar_weights": ts.named(weights["similar"], "client", "other")} if "similar" in p.averages else {})


def stacked(records, which):
    """Records of runs with several averages, which become their first dimension."""
    value, dims, coords = (records.value, records.dims, dict(records.coords)) if hasattr(records, "dims") else (records, (), {})
    return ts.named(value, "average", *dims, average=which, **coords)


# --- where the numbers come from ---------------------------------------------------------------------------------------

REVIEWS = "found: the paper's reviews"
SOURCES = {
    "dim": REVIEWS,
    "lr": "assumed: the reviews have 1 with m n = 5000; here m n = 500, and at 1 some runs diverge",
    **dict.fromkeys(("clients", "n", "width", "power", "rounds", "signal", "groups", "noise", "local_steps", "init"),
                    "assumed: not found; the reviews have m n = 5000, here it is 500, at a tenth of the cost"),
    **dict.fromkeys(("ratio", "records", "tests", "seeds"), "assumed"),
    "temperature": "assumed: between local training and FedAvg",
}  # fmt: skip
AT_SCALE = SOURCES | {
    "dim": "assumed: far above K n; the value sets the unit alone",
    "lr": "derived: a tenth of n m/(sigma_p^2 d), so that a step is small",
    "init": "derived: kappa = sigma_0 sigma_p sqrt(d) must be small",
    "signal": "derived: none beside the ratio",
    "rounds": "derived: some times K/D, the time in which the noise is memorised",
    "width": "derived: >= 2 log2 of K n at K = 8, so that nearly every sample has a live filter of its class",
}
IN_TIME = {"records": 12}
SHORT = {"records": 10, "rounds": 20}
LAW = {"averages": ("fedavg",), "frame": "reduced", "scaling": "theorem", "dim": 1e8, "signal": 0.0, "lr": 0.1, "init": 0.1,
       "n": 10, "width": 12, "tests": 1}  # fmt: skip
K = [2, 4, 8, 16]


def at_drift(local_steps, rounds, ratio, seeds):
    """The boundary in K where the small steps of a round add up to the drift D = E/10."""
    base = LAW | {"local_steps": local_steps, "rounds": rounds}
    return ts.Study({"clients": K, "ratio": ratio}, seeds, base, AT_SCALE)


PRESETS = {
    "quick": {
        "curves": ts.Study({"signal": [3.0, 6.5]}, 2, SHORT, SOURCES),
        "groups": ts.Study({"groups": [4.0, 10.0, 20.0]}, 2, SHORT | {"signal": 8.0}, SOURCES),
    },
    "paper": {
        "curves": ts.Study({"signal": [3.0, 6.5]}, 20, IN_TIME, SOURCES),
        "groups": ts.Study({"groups": [1.0, 4.0, 10.0, 20.0]}, 20, IN_TIME | {"signal": 8.0}, SOURCES),
        "map": ts.Study({"groups": [1.0, 4.0], "signal": np.arange(3.0, 12.0, 1.5)}, 4, sources=SOURCES),
    },
    "asymptotic": {
        "exponent": at_drift(2.0, 70, np.geomspace(1.2, 3.2, 5), 120),
        "drift_one": at_drift(10.0, 16, np.geomspace(0.9, 8.0, 8), 24),
        "drift_four": at_drift(40.0, 5, np.geomspace(1.2, 16.0, 8), 24),
    },
}


# --- what the paper states ----------------------------------------------------------------------------------------------

ABSTRACT, THRESHOLD = "Huang et al. (2024), abstract", "the threshold derived in theory.federated"
BETTER = "Huang et al. (2024), weighted FedAvg"


def at_end(data: xr.Dataset) -> xr.Dataset:
    return data.isel(time=-1)


def early(data: xr.Dataset) -> xr.Dataset:
    return data.sel(time=4)


def lead(error: xr.DataArray, first: int, second: int) -> xr.DataArray:
    """By how much the second's error is below the first's, seed by seed."""
    return (error.isel(average=first) - error.isel(average=second)).drop_vars("average", errors="ignore")


def error(data: xr.Dataset, average: int, stated: float) -> ts.Effect:
    seen = at_end(data).test_error.sel(signal=6.5).isel(average=average)
    low, high = seen.quantile([0.1, 0.9], "seed").values
    return ts.Effect("error (central 80 % of seeds)", float(seen.mean()), float(low), float(high), stated)


def critical_ratio(data: xr.Dataset) -> xr.DataArray:
    """n K SNR^q where half of the classes have learned their signal: F_j(j mu) > 1/2."""
    return ts.analysis.phase_boundary(data.isel(average=0), "signal_learnt", 0.5, along="ratio")


def critical_snr(data: xr.Dataset) -> xr.DataArray:
    """The measured boundary. `ratio` is n K SNR^3 by its definition, whatever the theory says of it."""
    return (critical_ratio(data) / (LAW["n"] * data.clients)) ** (1 / 3)


def slope(data: xr.Dataset) -> xr.DataArray:
    return ts.analysis.slope_by_seed(data, critical_snr, against="clients")


def exponent(data: xr.Dataset) -> ts.Effect:
    fit = ts.analysis.fit_exponent(data, critical_snr, against="clients")
    return ts.Effect("exponent", fit.slope, fit.low, fit.high, -1 / 3)


def predicted(data: xr.Dataset) -> xr.DataArray:
    """The boundary at the largest K over the formula's, its constant measured at the smallest; a value a seed."""

    def share(part: xr.Dataset) -> xr.DataArray:
        curve = critical_snr(part)
        near, far = curve.isel(clients=0), curve.isel(clients=-1)
        constant = THEORY.signal_ratio(LAW["n"], near.clients, near, 3)
        return far / THEORY.critical_snr(LAW["n"], far.clients, 3, float(constant))

    return ts.analysis.jackknife(data, share)


def small_drift(data: xr.Dataset) -> dict[str, float]:
    p = ts.theory.fields(data)
    return {"D <= 1/4": float(np.log10(0.25 / (p.local_steps * p.lr)))}


def same_signal(data: xr.Dataset) -> xr.DataArray:
    """How much of the weights from similar features goes to clients of the same signal."""
    group = data.client % data.groups
    return data.similar_weights.where(group == (data.other % data.groups), 0).sum("other").mean("client")


def claim(name, statement, source, check, study="groups", figure="groups", preset="paper", expected="holds", regime=None,
          effect=None):  # fmt: skip
    return ts.Claim(name, statement, source, study, check, expected, preset, regime, effect, figure)


CLAIMS = [
    claim("fedavg_generalises", r"at $\|\mu\|=6.5$, one signal, the test error of FedAvg is at most .1", ABSTRACT,
          lambda data: 0.1 - at_end(data).test_error.sel(signal=6.5).isel(average=FEDAVG), "curves", "rounds",
          effect=lambda data: error(data, FEDAVG, 0.0)),
    claim("local_does_not", r"on the same data that of local training is at least .4", ABSTRACT,
          lambda data: at_end(data).test_error.sel(signal=6.5).isel(average=LOCAL) - 0.4, "curves", "rounds"),
    claim("too_weak_a_signal", r"at $\|\mu\|=3$, $\bar nK\,\mathrm{SNR}^3=.85$, the test error of FedAvg is at least .4",
          THRESHOLD, lambda data: at_end(data).test_error.sel(signal=3.0).isel(average=FEDAVG) - 0.4, "curves", "rounds"),
    claim("training_converges", "for any number of signals the training loss ends below .01, with or without communication",
          ABSTRACT, lambda data: 0.01 - at_end(data).train_loss.isel(average=[LOCAL, FEDAVG, WEIGHTED])),
    claim("fedavg_beats_local", "with 4 signals the test error of FedAvg is below that of local training by .1", ABSTRACT,
          lambda data: lead(at_end(data).test_error.sel(groups=4), LOCAL, FEDAVG) - 0.1),
    claim("weighted_beats_fedavg", "with 10 signals, 2 clients each, weighted FedAvg ends below FedAvg and local training",
          BETTER, lambda data: xr.concat([lead(at_end(data).test_error.sel(groups=10), other, WEIGHTED)
                                          for other in (LOCAL, FEDAVG)], dim="part")),
    claim("weighted_is_sooner", r"with 4 signals weighted FedAvg is ahead of FedAvg after four rounds, $K/K_k=4$ times sooner",
          THRESHOLD, lambda data: lead(early(data).test_error.sel(groups=4), FEDAVG, WEIGHTED)),
    claim("similar_finds_the_clients", "with 4 signals similarity puts 3/4 of each client's weights on its own signal",
          BETTER, lambda data: same_signal(data.sel(groups=4)) - 0.75, figure="weights"),
    claim("similar_beats_local", "with 4 signals weights from similar features end below local training", BETTER,
          lambda data: lead(at_end(data).test_error.sel(groups=4), LOCAL, SIMILAR)),
    claim("control_all_different", "with a signal of its own for each client FedAvg still ends below local training",
          "control: C = K", lambda data: lead(at_end(data).test_error.sel(groups=20), LOCAL, FEDAVG), expected="fails"),
    claim("exponent", r"at drift $D=.2$ the boundary is $\mathrm{SNR}^*\propto K^{-1/3}$: exponent in $-1/3\pm.03$", THRESHOLD,
          lambda data: within(slope(data), -1 / 3 - 0.03, -1 / 3 + 0.03), "exponent", "exponent", preset="asymptotic",
          regime=small_drift, effect=exponent),
    claim("predicts_the_boundary", r"$\mathrm{SNR}^*=(c/(\bar nK))^{1/3}$ with $c$ from $K=2$ holds within 10 % at $K=16$",
          THRESHOLD, lambda data: within(predicted(data), 0.9, 1.1), "exponent", "exponent", preset="asymptotic",
          regime=small_drift),
    claim("control_large_drift", r"at drift $D=4$ the exponent is in $-1/3\pm.03$ as well", "control: large drift",
          lambda data: within(slope(data), -1 / 3 - 0.03, -1 / 3 + 0.03), "drift_four", "exponent", preset="asymptotic",
          expected="fails", effect=exponent),
]  # fmt: skip

EXPERIMENT = ts.Experiment(params=Params, trial=trial, presets=PRESETS, claims=CLAIMS)
