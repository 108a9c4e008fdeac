"""Nodes with a signal and a noise patch, averaged over their neighbours in a stochastic block model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._errors import InvalidArgument
from .._streams import streams
from ._batch import Batch
from .signal_noise import SignalNoise


@dataclass(frozen=True)
class SignalNoiseGraph:
    r"""SNM-SBM: the features of a signal-noise law on the nodes of a two-class stochastic block model.

    $$ x_i=[\,y_i\mu,\ \xi_i\,],\quad y_i\sim\mathrm{Rad},\quad \xi_i\sim N(0,\sigma_p^2(I-\mu\mu^\top/\|\mu\|^2)),\quad
       P(A_{ij}=1)=p\ \text{if}\ y_i=y_j,\ \text{else}\ s, $$

    with independent edges, $A$ symmetric, no loops and no multiple edges. Both patches are averaged over the neighbours of each
    node and itself, $\hat AX$ with $\hat A=\tilde D^{-1}(A+I)$, which is what a graph convolution makes of them.

    **Arguments:**

    - `signal`: $\|\mu\|\ge0$.
    - `within`, `between`: $p$ and $s$, in [0, 1].
    - `noise`: $\sigma_p\ge0$.
    - `average`: $a$ in [0, 1], or a bool: patches are $(1-a)X+a\hat AX$. At 0 they are the nodes' own: the same draws without a
      graph, as a model that does not know it sees them.
    - `rewired`: 0 or 1, or a bool: whether the nodes of the drawn graph are permuted at random. All degrees stay, and the edges
      know nothing of the classes any more: a control for homophily.

    All may be traced, so that all variants are one program.

    **Raises:** `InvalidArgument` for a number (not a traced one) out of range.

    Exact in a reduced frame: an average is a combination of the nodes' own vectors. A fresh batch is a fresh graph of its own.

    Source: Huang, Cao, Wang, Cao, Suzuki (2023), arXiv 2306.13926, definition of SNM-SBM.

    >>> import jax
    >>> law = SignalNoiseGraph(signal=2.0, within=1.0, between=0.0)
    >>> batch = law(jax.random.key(0), jax.random.normal(jax.random.key(1), (6, 8)))
    >>> bool(abs(batch.patches[0][:, 0] - 2 * batch.sign).max() < 1e-6)  # only nodes of one class are neighbours
    True
    """

    signal: Any
    within: Any
    between: Any
    noise: Any = 1.0
    average: Any = 1.0
    rewired: Any = 0.0

    #: dimension of the span of the law's fixed directions
    fixed = 1

    def __post_init__(self):
        shares = ((name, 1) for name in ("within", "between", "average", "rewired"))
        for name, high in (("signal", jnp.inf), ("noise", jnp.inf), *shares):
            value = getattr(self, name)
            if isinstance(value, float | int) and not 0 <= value <= high:
                raise InvalidArgument(name, value, f"must be in [0, {high}]")

    def nodes(self, key: Array, vectors: Float[Array, "n d"]) -> Batch:
        """The nodes' own features, before any averaging; arguments as for a call, of which this is the first part."""
        return SignalNoise(self.signal, self.noise, projected=True)(key, vectors)

    def adjacency(self, key: Array, sign: Float[Array, " n"]) -> Float[Array, "n n"]:
        """The edges $A$ between nodes of these classes: 0 or 1, symmetric, with a zero diagonal; `key` as for a call."""
        n, dtype = sign.shape[0], sign.dtype
        keys = streams(key, "edges", "places")
        rate = jnp.where(sign[:, None] == sign[None, :], self.within, self.between)
        drawn = jnp.triu(jax.random.uniform(keys.edges, (n, n), dtype) < rate, 1)
        place = jnp.where(self.rewired, jax.random.permutation(keys.places, n), jnp.arange(n))
        return (drawn | drawn.T)[place][:, place].astype(dtype)

    def averaging(self, key: Array, sign: Float[Array, " n"]) -> Float[Array, "n n"]:
        """The matrix that averages, $(1-a)I+a\\tilde D^{-1}(A+I)$; its rows sum to 1."""
        loops = jnp.eye(sign.shape[0], dtype=sign.dtype)
        linked = self.adjacency(key, sign) + loops
        return loops + self.average * (linked / jnp.sum(linked, axis=1, keepdims=True) - loops)

    def __call__(self, key: Array, vectors: Float[Array, "n d"]) -> Batch:
        """Draw classes and edges, and turn i.i.d. Gaussian vectors of a frame into patches.

        **Arguments:**

        - `key`: the stream of classes and edges.
        - `vectors`: standard Gaussian rows, one for each node; coordinate 0 is along $\\mu$.

        **Returns:** a `Batch` of `n` nodes, averaged; the signal patch has width `fixed`.
        """
        own = self.nodes(key, vectors)
        mean = self.averaging(key, own.sign)
        return own._replace(patches=tuple(mean @ patch for patch in own.patches))
