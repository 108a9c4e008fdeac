r"""On the emergence of position bias in transformers (Wu, Wang, Jegelka, Jadbabaie, ICML 2025, arXiv 2502.01951).

A stack of attention layers without residuals mixes tokens by $P=A^{T-1}\cdots A^0$. The mask decides where the mass of its rows
goes with depth: to the first token under the causal mask (theorem 4.1), later under a window (4.2), to the prefix under a
prefix mask (4.3), and to a distance that grows with depth under a decay mask (4.5). Trained stacks that read labels in context
show the same bias, and are lost in the middle if training asked for both ends.

Settings of the trained stacks are smaller than the paper's (2048 classes, 32 labels, width 64): signs and order of the gaps are
to be compared, not their sizes. RoPE is shown without content, as the bias $g(\cos((i-j)\theta)-1)$ of equal queries and keys.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import optax
import xarray as xr

import theorysim as ts

THEORY, MASKS = ts.theory.position_bias, ts.models.masks
FULL, CAUSAL, WINDOW, PREFIX = range(4)
FIRST_MIDDLE, FIRST_LAST, MIDDLE_LAST = range(3)  # pairs of positions
DEPTHS = [1, 2, 4, 8, 12, 16, 24, 40, 64]


@dataclass(frozen=True)
class Params:
    setting: str = ts.field("stack", choices=("stack", "trained"), doc="random weights, or trained ones")
    tokens: int = ts.field(16, low=2, doc="of a random stack, N")
    width: int = ts.field(32, low=2, doc="dimension of a token, d; even for trained stacks")
    steps: int = ts.field(1000, low=1, doc="steps of AdamW, batch of 128 new sequences")
    layers: int = ts.field(2, low=1, doc="of a trained stack")
    pairs: int = ts.field(4, low=2, doc="items with labels in a sequence")
    classes: int = ts.field(1024, low=2, doc="classes of items")
    labels: int = ts.field(8, low=2, doc="labels")
    tests: int = ts.field(2000, low=1, doc="test sequences")
    graph: float = ts.field(1.0, low=0, high=3, whole=True, doc="0 full, 1 causal, 2 window, 3 prefix of 2 tokens")
    reach: float = ts.field(4.0, low=1, whole=True, doc="tokens in a window, w")
    gain: float = ts.field(1.0, low=0, doc="factor of the logits of a random stack; 0 is uniform attention")
    decay: float = ts.field(0.0, low=0, doc="m of the bias -(i - j) m")
    pull: float = ts.field(0.0, low=0, doc="g of RoPE without content, the bias g (cos((i - j) theta) - 1)")
    turn: float = ts.field(0.05, low=0, doc="theta of RoPE")
    table: float = ts.field(
        0.0, low=0, high=1, whole=True, doc="0: no residual, any item asked for; 1: residual, the ends alone"
    )
    positions: float = ts.field(0.0, low=0, high=1, whole=True, doc="whether sinusoidal positions are added")
    noise: float = ts.field(0.75, low=0, doc="spread of the items of a class")
    lr: float = ts.field(3e-3, low=0, doc="step of AdamW")


def graph_of(p: Params, k: int):
    """The mask and the bias of k tokens."""
    graphs = [MASKS.full(k), MASKS.causal(k), MASKS.window(k, p.reach), MASKS.prefix(k, 2)]
    back = jnp.arange(k)[:, None] - jnp.arange(k)
    bias = -p.decay * back + p.pull * (jnp.cos(p.turn * back) - 1)
    return jnp.stack(graphs)[jnp.asarray(p.graph).astype(int)], bias


def stack(p: Params, key):
    keys = ts.streams(key, "tokens", "layers")
    mask, bias = graph_of(p, p.tokens)
    layer = ts.dynamics.attention_layer(mask, ts.dynamics.random_weights(p.gain, "identity"), bias=bias)
    rule = ts.dynamics.layers(layer)

    def observe(state):
        last = state.context[-1]
        return {
            "drawn": ts.named(last, "source", source=np.arange(p.tokens)),
            "rest": jnp.sum(last[1:]),  # 1 - P would be lost in rounding
            # of a causal graph P is triangular: how slowly a token after the first forgets itself
            "slowest": jnp.log(jnp.max(jnp.diagonal(state.context)[1:])),
            "rows": jnp.max(jnp.abs(jnp.sum(state.context, axis=1) - 1)),
        }

    start = rule.init(jax.random.normal(keys.tokens, (p.tokens, p.width)))
    return ts.simulate(rule, start, key=keys.layers, times=DEPTHS, observe=observe).records


def sinusoids(k: int, d: int):
    angle = np.arange(k)[:, None] * 10_000.0 ** (-np.arange(0, d, 2) / d)
    return jnp.asarray(np.concatenate([np.sin(angle), np.cos(angle)], axis=1) / np.sqrt(d / 2), jnp.result_type(float))


def trained(p: Params, key):
    keys = ts.streams(key, "classes", "model", "steps", "test", "conflict")
    law = ts.laws.ItemLabels(p.classes, p.labels, p.width, p.pairs, p.noise, p.table)
    known, k, middle = law.dictionary(keys.classes), 2 * p.pairs + 1, p.pairs // 2
    mask, bias = graph_of(p, k)
    model = ts.models.AttentionStack(
        keys.model, p.width, p.labels, depth=p.layers, hidden=2 * p.width, mask=mask, bias=bias,
        residual=p.table, positions=p.positions * sinusoids(k, p.width),
    )  # fmt: skip

    def loss(model, key):
        tokens, label = law(key, 128, known)
        return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(model(tokens), label))

    def said(model, tokens):
        return jnp.argmax(model(tokens), axis=1)

    def observe(state):
        def preferred(first, second):
            """How often the label at each of two positions is given."""
            tokens, labels = law.conflict(keys.conflict, p.tests, known, first, second)
            answer = said(state.model, tokens)
            return tuple(jnp.mean(answer == labels[:, place]) for place in (first, second))

        tokens, label = law(keys.test, p.tests, known)
        earlier, later = jax.vmap(preferred)(*jnp.array([[0, 0, middle], [middle, p.pairs - 1, p.pairs - 1]]))
        pair = [FIRST_MIDDLE, FIRST_LAST, MIDDLE_LAST]
        return {
            "test_accuracy": jnp.mean(said(state.model, tokens) == label),
            "gap": ts.named(earlier - later, "pair", pair=pair),
            "either": ts.named(earlier + later, "pair", pair=pair),
        }

    rule = ts.dynamics.gradient_descent(loss, optax.adamw(p.lr, weight_decay=1e-6))
    return ts.simulate(rule, model, key=keys.steps, times=p.steps, observe=observe).records


def trial(p: Params, key):
    return stack(p, key) if p.setting == "stack" else trained(p, key)


# --- where the numbers come from ---------------------------------------------------------------------------------------

SHOWN = "assumed: not found; measured here to show the effect"
SMALL = "assumed: smaller than the paper's, to run on a CPU"
FOUND = "found: the authors' code"
SOURCES = dict.fromkeys(("tokens", "width", "reach", "gain", "decay", "pull", "turn", "seeds", "graph"), SHOWN) | {
    **dict.fromkeys(("steps", "layers", "pairs", "classes", "labels", "tests", "lr"), SMALL),
    "layers": FOUND + ", its smallest depth",
    "noise": FOUND,
    **dict.fromkeys(("table", "positions"), FOUND),
}
KINDS, LONG = [float(k) for k in range(4)], {"gain": 0.0, "tokens": 64}
AGE = SOURCES | {"decay": "assumed: .3 has no ties; .223 is -ln .8, found in the authors' code"}
TRAIN = {"setting": "trained"}


def studies(seeds, decays, reaches, **train):
    return {
        "masks": ts.Study({"graph": KINDS, "gain": [1.0, 0.0]}, seeds, {}, SOURCES, x64=True),
        "windows": ts.Study({"reach": reaches}, seeds, {"graph": 2.0}, SOURCES, x64=True),
        "decay": ts.Study({"decay": decays, "pull": [0.0, 8.0]}, seeds, LONG, AGE, x64=True),
        "trained": ts.Study({"table": [0.0, 1.0], "graph": [0.0, 1.0], "positions": [0.0, 1.0]}, seeds, TRAIN | train, SOURCES),
    }


PRESETS = {
    "quick": studies(2, [0.0, 0.223, 0.3], [2.0, 4.0, 8.0], steps=150, tests=500),
    "paper": studies(20, [0.0, 0.1, 0.223, 0.3], [2.0, 3.0, 4.0, 8.0, 16.0]),
}


# --- what the paper states ---------------------------------------------------------------------------------------------

T41, T42, T43, T45 = (f"Wu et al. (2025), theorem 4.{k}" for k in (1, 2, 3, 5))
TABLES = "Wu et al. (2025), the trained stacks"
DERIVED, CONTROL = "derived here", "control"


def first(data: xr.Dataset) -> xr.DataArray:
    """The weight of the last token on the first."""
    return data.drawn.sel(source=0)


def rate(data: xr.Dataset, low: int = 24, high: int = 40) -> xr.DataArray:
    """-d log(1 - P(last, first))/dT between two depths."""
    return (np.log(data.rest.sel(time=low)) - np.log(data.rest.sel(time=high))) / (high - low)


def own_rate(data: xr.Dataset, low: int = 24, high: int = 40) -> xr.DataArray:
    """-max_j of the mean log A_jj over the same layers."""
    return (data.slowest.sel(time=low) - data.slowest.sel(time=high)) / (high - low)


def wide(data: xr.Dataset) -> xr.Dataset:
    """Windows of 4 tokens and more."""
    return data.sel(reach=slice(4, None))


def leading(data: xr.Dataset, graph: int) -> xr.DataArray:
    """The weights on the first two tokens at 16 layers."""
    return data.drawn.sel(graph=graph, time=16).isel(source=[0, 1])


def mass_margin(data: xr.Dataset) -> xr.DataArray:
    """log10 of the bound over the mass on the tokens from j on, under uniform causal attention."""
    part = data.sel(graph=CAUSAL, gain=0, time=slice(2, None))  # at one layer, and of the last token, both sides are equal
    source = part.source[::-1]
    mass = part.drawn.sel(source=source).cumsum("source").assign_coords(source=source).isel(source=slice(1, -1))
    bound = THEORY.mass_bound(mass.source + 1, 1 / part.sizes["source"], mass.time)
    return np.log10(bound) - np.log10(mass)


def distance(data: xr.Dataset) -> xr.DataArray:
    """The distance at which the last token draws most."""
    return data.sizes["source"] - 1 - data.drawn.argmax("source")


def off_peak(data: xr.Dataset, layers: list[int], decay: float = 0.3) -> xr.DataArray:
    """1/2 less how far the peak is from where it should be at m = .3."""
    part = data.sel(decay=decay, pull=0, time=layers)
    return 0.5 - abs(distance(part) - np.floor(THEORY.peak(part.time, 0.3)))


def likeness(data: xr.Dataset, layers: int = 8) -> xr.DataArray:
    """The correlation of log P with the binomial formula, over the nearer half of the tokens."""
    part, n = data.drawn.sel(decay=0.3, pull=0, time=layers), data.sizes["source"]
    back = np.arange(n // 2)
    seen = np.log(part.sel(source=n - 1 - back))
    stated = xr.DataArray(np.log(THEORY.decay_profile(back, layers, 0.3)), dims="source", coords={"source": seen.source})
    return xr.corr(seen, stated, dim="source")


def parts(*margins: xr.DataArray) -> xr.DataArray:
    return xr.concat([margin.drop_vars("time", errors="ignore") for margin in margins], dim="part")


def ends_over_middle(data: xr.Dataset, **cell: float) -> xr.DataArray:
    """By how much the first and the last are preferred to the middle, in stacks of table B."""
    data = data.sel({"table": 1, **cell})
    return parts(data.gap.sel(pair=FIRST_MIDDLE), -data.gap.sel(pair=MIDDLE_LAST))


def turning(data: xr.Dataset, pull: float) -> xr.DataArray:
    """Growth of the peak's distance over depth, and how far it is from the first token."""
    at = distance(data.sel(decay=0, pull=pull, time=[1, 2, 4]))
    return parts(at.diff("time").min("time") - 0.5, data.sizes["source"] - 1.5 - at.sel(time=4))


PANEL = {"masks": "depth", "windows": "windows", "decay": "decay", "trained": "trained"}


def claim(name, statement, source, study, check, expected="holds", effect=None, figure=None):
    return ts.Claim(name, statement, source, study, check, expected, "paper", None, effect, figure or PANEL[study])


CLAIMS = [
    claim("stochastic", "rows of P sum to 1 within 1e-12", "by definition", "masks", lambda data: 1e-12 - data.rows),
    claim("first_wins", "causal: the weight on the first token is at least .9 at 8 layers and .99 at 16, and grows", T41,
          "masks", lambda data: parts(*(first(data).sel(graph=CAUSAL, time=t) - least for t, least in ((8, 0.9), (16, 0.99))),
                                      first(data).sel(graph=CAUSAL, time=DEPTHS[:6]).diff("time").min("time"))),
    claim("full_control", "under the full mask it is at least .9 at 16 layers too", CONTROL, "masks",
          lambda data: first(data).sel(graph=FULL, time=16) - 0.9, "fails"),
    claim("bound", r"uniform attention: mass from $j$ on is at most $(1-(j-1)/N)^T$, $2\leq j<N$, $T\geq2$", T41, "masks",
          mass_margin, figure="slope"),
    claim("rate", r"causal: the rate of $1-P_{N1}$ (layers 24-40) is $-\max_{j\geq2}\langle\log A_{jj}\rangle$ within 5 %",
          DERIVED, "masks",
          lambda data: ts.analysis.within((rate(data) / own_rate(data)).sel(graph=CAUSAL), 0.95, 1.05), figure="slope",
          effect=lambda data: ts.Effect("rate", float(rate(data).sel(graph=CAUSAL, gain=1).mean()), np.nan, np.nan, np.log(2))),
    claim("rate_uniform", r"uniform attention: it is $\ln2$ within 1 %", DERIVED, "masks",
          lambda data: ts.analysis.within(rate(data).sel(graph=CAUSAL, gain=0) / np.log(2), 0.99, 1.01), figure="slope"),
    claim("window_later", "a window of 4 draws less on the first token than the causal mask, at 4, 8 and 16 layers", T42,
          "masks", lambda data: (first(data).sel(graph=CAUSAL) - first(data).sel(graph=WINDOW)).sel(time=[4, 8, 16])),
    claim("window_limit", "windows of 4 and more draw at least .99 on it at 64 layers", T42, "windows",
          lambda data: first(wide(data)).sel(time=64) - 0.99),
    claim("window_delays", "their asymptotic rate (layers 40-64) is the causal one within 5 %: a window delays, no more",
          DERIVED, "windows", figure="slope",
          check=lambda data: ts.analysis.within(rate(wide(data), 40, 64) / own_rate(wide(data), 40, 64), 0.95, 1.05)),
    claim("window_slows", "the rate of a window of 4 is at most twice the causal rate over the factor of theorem 4.2",
          "Wu et al. (2025), theorem 4.2, were its exponent sharp", "windows",
          lambda data: 2 * np.log(2) / THEORY.delay(ts.theory.fields(data).tokens, 4) - rate(data, 40, 64).sel(reach=4),
          "fails", figure="slope"),
    claim("prefix", "a prefix of 2 holds .98 of the mass at 16 layers, each of its tokens at least .2", T43, "masks",
          lambda data: parts(leading(data, PREFIX).sum("source") - 0.98, leading(data, PREFIX).min("source") - 0.2)),
    claim("prefix_control", "under the causal mask the second token has at least .2 too", CONTROL, "masks",
          lambda data: leading(data, CAUSAL).min("source") - 0.2, "fails"),
    claim("peak", r"decay $m=.3$: the last token draws most at distance $\lfloor x^*\rfloor$, at 2, 4 and 8 layers", T45,
          "decay", lambda data: off_peak(data, [2, 4, 8])),
    claim("peak_control", "without decay it draws most there too, at 4 and 8 layers", CONTROL + ": m = 0", "decay",
          lambda data: off_peak(data, [4, 8], 0.0), "fails"),
    claim("profile", "at 8 layers log P and the binomial formula correlate by .9995 or more, over the nearer half", T45,
          "decay", lambda data: likeness(data) - 0.9995),
    claim("boundary", "at 16 layers the peak is still at that distance", "a limit: the first token takes over", "decay",
          lambda data: off_peak(data, [16]), "fails"),
    claim("rope", "RoPE without content: the distance of the peak grows from 1 over 2 to 4 layers, and is inside",
          "Wu et al. (2025), theorem 4.7, its direction", "decay", lambda data: turning(data, 8.0), figure="rope"),
    claim("rope_control", "so it does under the causal mask alone", CONTROL, "decay", lambda data: turning(data, 0.0), "fails",
          figure="rope"),
    claim("trained_causal", "trained, causal, without positions: the first is preferred to the middle and to the last, by .1",
          TABLES, "trained",
          lambda data: data.gap.sel(table=0, graph=1, positions=0, pair=[FIRST_MIDDLE, FIRST_LAST]) - 0.1),
    claim("trained_full", "without mask and positions no gap is above .05 in size", "control, and " + TABLES, "trained",
          lambda data: 0.05 - abs(data.gap.sel(graph=0, positions=0))),
    claim("lost", "asked for both ends, with positions: first and last are preferred to the middle by .1, whatever the mask",
          TABLES, "trained", lambda data: ends_over_middle(data, positions=1) - 0.1),
    claim("mask_alone", "so are they by the causal mask alone, without positions", TABLES + ": it captures the first only",
          "trained", lambda data: ends_over_middle(data, positions=0, graph=1) - 0.1, "fails"),
    claim("mask_first", "the causal mask alone prefers the first to the middle by .1", TABLES, "trained",
          lambda data: data.gap.sel(table=1, positions=0, graph=1, pair=FIRST_MIDDLE) - 0.1),
]  # fmt: skip

EXPERIMENT = ts.Experiment(params=Params, trial=trial, presets=PRESETS, claims=CLAIMS)
