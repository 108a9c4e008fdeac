r"""Provable in-context vector arithmetic: questions teach task vectors, prompts to memorise (ICML 2025, arXiv 2508.09820).

A concept has a task vector $a_k$ and a low-level vector $b_k$. A layer of attention adds what it retrieves from the prompt to
the query, $h=\mathrm{LN}(h_0)+T_L$, and reads the answer $a_k\pm b_k$ off the vocabulary. Trained on sentences with a
question (whose prefix holds $a_k$ and never $b$), it retrieves a task vector that serves any query of the concept, read from
demonstrations that it has never seen. Trained on word-label prompts, it also retrieves low-level parts.

Settings were not found. The paper's plateau of a fifth of ICL errors is not reproduced: what is reproduced is the memorisation.
Nor is $h_0$ the task vector and nothing else: with its length fixed by LN the logits of 36 words never part, the loss stays at
1.7, and it pays to point away from the words of another concept; $\cos(h_0,a)$ rises to .86 and falls back to .71. Thresholds
of cosines and margins were chosen after pilots.
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

QA, BOTH, ICL = 0.0, 0.5, 1.0  # shares of prompts in training
USUAL, SAME_SIGN, LONGER, UNSEEN, MIXED = range(5)  # prompts in test


@dataclass(frozen=True)
class Params:
    concepts: int = ts.field(4, low=2, doc="K")
    common: int = ts.field(8, low=1, doc="common tokens, K'")
    dim: int = ts.field(60, low=4, doc="at least 3 K + K'")
    pairs: int = ts.field(4, low=1, doc="demonstrations in a prompt, J")
    longer: int = ts.field(12, low=1, doc="demonstrations of longer prompts in test")
    prefix: int = ts.field(4, low=1, doc="tokens before the question's word")
    batch: int = ts.field(128, low=1, doc="fresh prompts, or sentences, a step")
    steps: int = ts.field(750, low=1, doc="of gradient descent")
    records: int = ts.field(31, low=2, doc="observation times, even")
    tests: int = ts.field(500, low=1, doc="test prompts of each kind")
    prompts: float = ts.field(QA, low=0, high=1, doc="share of word-label prompts in the loss; 0 is QA, 1 is ICL")
    share: float = ts.field(0.1, low=0, high=1, doc="x_a, of the task vector in a word")
    noise: float = ts.field(0.05, low=0, doc="of each coordinate")
    init: float = ts.field(0.05, low=0, doc="standard deviation of the start's entries")
    decay: float = ts.field(1e-3, low=0, doc="lambda")
    lr: float = ts.field(0.3, low=0, doc="step")


class Retriever(nnx.Module):
    r"""$h=\mathrm{LN}(\sum_{l<L}W_VT_l\,\mathrm{softmax}_l(\langle W_KT_l,W_QT_L\rangle))+T_L$, $\mathrm{LN}(z)=z/\|z\|$."""

    def __init__(self, query, key, value):
        self.query, self.key, self.value = nnx.Param(query), nnx.Param(key), nnx.Param(value)

    def retrieved(self, tokens):
        """The unit vectors that are added to the queries."""
        rest, last = tokens[:, :-1], tokens[:, -1]
        scores = jnp.einsum("bld,bd->bl", rest @ self.key[...].T, last @ self.query[...].T)
        mean = jnp.einsum("bl,bld->bd", jax.nn.softmax(scores, axis=1), rest)
        out = mean @ self.value[...].T
        return out / jnp.linalg.norm(out, axis=1, keepdims=True)

    def __call__(self, tokens):
        return self.retrieved(tokens) + tokens[:, -1]


def vocabulary(a, b, share, common):
    """All words: answers first, then words, and their parts."""
    words = [a + b, a - b, share * a + b, share * a - b, a, b, -b]
    return jnp.concatenate([*words, common])


def prompt(p: Params, key, count, pairs, a, b, same=False):
    """Word-label prompts, the place of the answer, and the query's sign."""
    keys = ts.streams(key, "concept", "other", "sign", "other_sign", "noise")
    k = a.shape[0]
    concept = jax.random.randint(keys.concept, (count,), 0, k)
    own = jax.nn.one_hot(concept, k)[:, None]
    other = (concept[:, None] + jax.random.randint(keys.other, (count, pairs), 1, k)) % k  # an irrelevant concept in each word
    sign = jax.random.rademacher(keys.sign, (count, pairs + 1, 1), a.dtype)
    sign = sign[:, -1:] + 0 * sign if same else sign
    besides = jax.nn.one_hot(other, k)
    astray = besides * jax.random.rademacher(keys.other_sign, (count, pairs, 1), a.dtype)
    x = p.share * (own @ a) + (own * sign) @ b
    words = x[:, :-1] + p.share * besides @ a + astray @ b
    labels = own @ a + (own * sign[:, :-1]) @ b
    paired = jnp.stack([words, labels], axis=2).reshape(count, 2 * pairs, -1)
    tokens = jnp.concatenate([paired, x[:, -1:]], axis=1)
    tokens = tokens + p.noise * jax.random.normal(keys.noise, tokens.shape)
    return tokens, concept + k * (sign[:, -1, 0] < 0), sign[:, -1, 0]


def question(p: Params, key, count, a, b, common):
    """Sentences of common tokens, one of which carries the task vector, then the word that is asked for."""
    keys = ts.streams(key, "concept", "tokens", "place", "sign", "noise")
    k = a.shape[0]
    concept = jax.random.randint(keys.concept, (count,), 0, k)
    sign = jax.random.rademacher(keys.sign, (count, 1), a.dtype)
    place = jax.nn.one_hot(jax.random.randint(keys.place, (count,), 0, p.prefix), p.prefix)
    before = (
        common[jax.random.randint(keys.tokens, (count, p.prefix), 0, common.shape[0])] + place[..., None] * a[concept][:, None]
    )
    tokens = jnp.concatenate([before, (p.share * a[concept] + sign * b[concept])[:, None]], axis=1)
    return tokens + p.noise * jax.random.normal(keys.noise, tokens.shape), concept + k * (sign[:, 0] < 0)


def trial(p: Params, key):
    keys = ts.streams(key, "model", "steps", "test")
    k, eye = p.concepts, jnp.eye(p.dim)
    a, b, common, new = eye[:k], eye[k : 2 * k], eye[2 * k : 2 * k + p.common], eye[2 * k + p.common : 3 * k + p.common]
    words = vocabulary(a, b, p.share, common)
    mixed = (a + jnp.roll(a, 1, axis=0)) / jnp.sqrt(2.0)

    def entropy(model, tokens, answer):
        return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(model(tokens) @ words.T, answer))

    def loss(model, key):
        of_prompts, of_questions = (ts.streams(key, "prompts", "questions")[i] for i in range(2))
        said = entropy(model, *prompt(p, of_prompts, p.batch, p.pairs, a, b)[:2])
        asked = entropy(model, *question(p, of_questions, p.batch, a, b, common))
        penalty = sum(jnp.sum(w[...] ** 2) for w in (model.query, model.key, model.value))
        return p.prompts * said + (1 - p.prompts) * asked + p.decay / 2 * penalty

    kinds = [
        (p.pairs, a, b, False, words),
        (p.pairs, a, b, True, words),
        (p.longer, a, b, False, words),
        (p.pairs, a, new, False, jnp.concatenate([vocabulary(a, new, p.share, common), words])),
        (p.pairs, mixed, b, False, jnp.concatenate([vocabulary(mixed, b, p.share, common), words[: 2 * k]])),
    ]
    drawn = [(prompt(p, keys.test, p.tests, *kind[:4]), kind[4]) for kind in kinds]
    (usual, answer, _), _ = drawn[USUAL]
    concept = answer % k
    # the next prompt of the same concept, and of any other
    alike = jnp.argsort(concept, stable=True)
    same_concept = jnp.zeros(p.tests, int).at[alike].set(jnp.roll(alike, 1))
    kept = concept[same_concept] == concept

    def margins(logits, answer):
        own = jnp.take_along_axis(logits, answer[:, None], axis=1)[:, 0]
        others = jnp.where(jax.nn.one_hot(answer, logits.shape[1]) > 0, -jnp.inf, logits)
        return own - jnp.max(others, axis=1)

    def observe(state):
        model = state.model
        q, key_matrix, v = (w[...] for w in (model.query, model.key, model.value))
        scores = key_matrix.T @ q
        found = jnp.stack([margins(model(tokens) @ of.T, answer) for (tokens, answer, _), of in drawn])
        task = model.retrieved(usual)

        def size_of(matrix, u):
            return jnp.mean(jnp.abs(jnp.einsum("kd,de,ke->k", u, matrix, u)))

        swapped, shuffled = (
            margins((task[other] + usual[:, -1]) @ words.T, answer)
            for other in (same_concept, jnp.roll(jnp.arange(p.tests), 1))
        )
        return {
            "loss": loss(model, keys.test),
            "test_error": ts.named(jnp.mean(found <= 0, axis=1), "kind", kind=range(5)),
            "margin": ts.named(jnp.mean(found, axis=1), "kind", kind=range(5)),
            "swapped": ts.observers.mean_over(jnp.where(swapped <= 0, 1.0, 0.0), kept),
            "shuffled": jnp.mean(jnp.where(shuffled <= 0, 1.0, 0.0)),
            "along": jnp.mean(jnp.sum(task * a[concept], axis=1)),
            "across": jnp.sqrt(jnp.mean(jnp.sum(task * b[concept], axis=1) ** 2)),
            "value": ts.named(jnp.stack([size_of(v, a), size_of(v, b)]), "of", of=range(2)),
            "score": ts.named(jnp.stack([size_of(scores, a), size_of(scores, b)]), "of", of=range(2)),
        }

    model = Retriever(*(p.init * jax.random.normal(keys.model, (3, p.dim, p.dim))))
    rule = ts.dynamics.gradient_descent(loss, optax.sgd(p.lr))
    times = np.linspace(0, p.steps, p.records).round().astype(int)
    return ts.simulate(rule, model, key=keys.steps, times=times, observe=observe).records


# --- where the numbers come from ---------------------------------------------------------------------------------------

OURS = "assumed: the paper's setting was not found"
SOURCES = dict.fromkeys([*Params.__dataclass_fields__, "seeds"], OURS)
RUNS = {"prompts": [QA, BOTH, ICL]}
PRESETS = {
    "quick": {"trained": ts.Study(RUNS, 2, {"steps": 500, "records": 11, "tests": 200, "batch": 64}, SOURCES)},
    "paper": {"trained": ts.Study(RUNS, 40, {"batch": 64}, SOURCES)},
}


# --- what is claimed ---------------------------------------------------------------------------------------------------


def claim(name, statement, source, check, expected="holds", figure="errors"):
    return ts.Claim(name, statement, source, "trained", check, expected, preset="paper", figure=figure)


def end(data: xr.Dataset, prompts: float = QA) -> xr.Dataset:
    return data.isel(time=-1).sel(prompts=prompts)


def error(data: xr.Dataset, kind: int, prompts: float = QA) -> xr.DataArray:
    return end(data, prompts).test_error.sel(kind=kind)


def low_over_task(data: xr.Dataset, prompts: float) -> xr.DataArray:
    value = abs(end(data, prompts).value)
    return value.sel(of=1, drop=True) / value.sel(of=0, drop=True)


def drop(data: xr.Dataset, prompts: float) -> xr.DataArray:
    """By what share of the usual margin prompts of one sign lose."""
    margin = end(data, prompts).margin
    return 1 - margin.sel(kind=SAME_SIGN, drop=True) / margin.sel(kind=USUAL, drop=True)


CLAIMS = [
    claim("task_vector", r"trained on questions, $\cos(h_0,a)$ ends above .6", "theorem 3.2",
          lambda data: end(data).along - 0.6, figure="retrieved"),
    claim("early_task_vector", r"at its best it exceeds .8", "theorem 3.2",
          lambda data: data.along.sel(prompts=QA).max("time") - 0.8, figure="retrieved"),
    claim("nothing_else", r"and the low-level part of $h_0$ is below .15 at the end", "theorem 3.2",
          lambda data: 0.15 - end(data).across, "fails", figure="retrieved"),
    claim("low_level_kept", "trained on prompts, the low-level part exceeds .4", "theorem 3.2",
          lambda data: end(data, ICL).across - 0.4, figure="retrieved"),
    claim("value_of_questions", r"trained on questions, $|b^\top W_Vb|$ is below .05 of $|a^\top W_Va|$", "theorem 3.2",
          lambda data: 0.05 - low_over_task(data, QA), figure="plane"),
    claim("value_of_prompts", "trained on prompts, above .2 of it", "theorem 3.2",
          lambda data: low_over_task(data, ICL) - 0.2, figure="plane"),
    claim("never_shown", "trained on questions and never shown a prompt, it errs on below 1 % of prompts", "proposition 3.3",
          lambda data: 0.01 - error(data, USUAL)),
    claim("plateau", "trained on prompts, it errs on a tenth of prompts or more", "proposition 3.3; figure 2 shows a fifth",
          lambda data: error(data, USUAL, ICL) - 0.1, "fails"),
    claim("swapped", "a task vector from another prompt of the concept serves as well: error below 1 %", "proposition 3.3",
          lambda data: 0.01 - end(data).swapped),
    claim("shuffled", "one from any other prompt does", "control: task vectors shuffled",
          lambda data: 0.01 - end(data).shuffled, "fails"),
    claim("margin_of_prompts", "where all demonstrations have the query's sign, prompts' training loses 5 % of the margin",
          "after theorem 3.2", lambda data: drop(data, ICL) - 0.05, figure="margins"),
    claim("longer", "trained on questions: error below 1 % on prompts of twelve pairs", "proposition 3.4",
          lambda data: 0.01 - error(data, LONGER)),
    claim("unseen", "below 1 % with unseen low-level vectors", "proposition 3.4", lambda data: 0.01 - error(data, UNSEEN)),
    claim("questions_lose_margin", "and that on questions loses 5 % too", "control: questions",
          lambda data: drop(data, QA) - 0.05, "fails", figure="margins"),
    claim("mixed", "at step 300, below 2 % for the mean of two task vectors", "proposition 3.4",
          lambda data: 0.02 - data.test_error.sel(prompts=QA, kind=MIXED, time=300)),
]  # fmt: skip

EXPERIMENT = ts.Experiment(params=Params, trial=trial, presets=PRESETS, claims=CLAIMS)
