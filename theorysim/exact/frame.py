"""Coordinates of a run's Gaussian vectors: reduced to their span, ambient, or at infinite dimension."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.core import Tracer
from jaxtyping import Float

from .._errors import InvalidArgument
from .._streams import streams
from ._chi import chi
from .diagonal import Diagonal

KINDS = ("reduced", "ambient", "infinite")


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Frame:
    """Blocks of standard Gaussian vectors of $R^d$ in one system of coordinates; made by `frame`.

    - `dim`: the dimension $d$ (traced in a reduced frame).
    - `blocks`: the arrays (or `Diagonal` ones), also attributes under their own names: `space.train`.
    - `fixed`: dimension of the law's fixed span: coordinates `0 .. fixed - 1`.
    - `size`: working dimension.
    - `kind`: `"reduced"`, `"ambient"` or `"infinite"`.

    >>> import jax.numpy as jnp
    >>> space = Frame(7.0, {"train": jnp.eye(2, 3)}, fixed=1, size=3, kind="reduced")
    >>> space.train.tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """

    dim: Any
    blocks: dict[str, Any]
    fixed: int = field(metadata={"static": True})
    size: int = field(metadata={"static": True})
    kind: str = field(metadata={"static": True})

    def __getattr__(self, name: str) -> Any:
        blocks = self.__dict__.get("blocks", {})
        if name in blocks:
            return blocks[name]
        raise AttributeError(f"the frame has no block {name!r}; it has {', '.join(blocks)}")

    def fresh(self, key: Array, count: int) -> Float[Array, "{count} {self.size}"]:
        """Draw `count` new standard Gaussian vectors, seen from the frame: i.i.d. N(0, 1) in its coordinates.

        But in an ambient frame only products of a fresh vector with vectors of the frame are represented, not its norm, nor
        products of two fresh vectors.
        """
        rows = jax.random.normal(key, (count, self.size))
        return jnp.where(jnp.arange(self.size) < self.dim, rows, 0)


def _reduced(keys: Any, pivot_key: Array, dim: Any, fixed: int, blocks: dict[str, int]) -> dict[str, Array]:
    """Rows of the Gram-Schmidt basis, each block as wide as its own last pivot."""
    total = sum(blocks.values())
    rows = jnp.arange(total)
    dtype = jnp.result_type(float)
    # every row has a key of its own, so a later block changes no earlier pivot, and one loop draws them all
    pivots = chi(jax.vmap(jax.random.fold_in, (None, 0))(pivot_key, rows), jnp.asarray(dim, dtype) - fixed - rows)
    drawn, before = {}, 0
    for name, count in blocks.items():
        width = fixed + before + count
        column, pivot = jnp.arange(width), fixed + rows[before : before + count, None]
        entries = jax.random.normal(getattr(keys, name), (count, width))
        diagonal = jnp.where(column == pivot, pivots[before : before + count, None], 0)
        drawn[name] = jnp.where(column < jnp.minimum(pivot, dim), entries, diagonal)
        before += count
    return drawn


def _infinite(keys: Any, dim: Any, fixed: int, blocks: dict[str, int]) -> dict[str, Any]:
    """Orthogonal vectors, of which the last block alone has products with the others; draws as in the reduced frame."""
    total, (*data, last) = sum(blocks.values()), blocks
    length = jnp.sqrt(jnp.asarray(dim, jnp.result_type(float)))
    drawn, first = {}, fixed
    for name in data:
        drawn[name] = Diagonal(jnp.full(blocks[name], length), first)
        first += blocks[name]
    entries = jax.random.normal(getattr(keys, last), (blocks[last], fixed + total))[:, :first]
    own = Diagonal(jnp.full(blocks[last], length), 0).dense()
    return {**drawn, last: jnp.concatenate([entries, own], axis=1)}


def frame(key: Array, dim: Any, *, fixed: int, kind: str = "reduced", **blocks: int) -> Frame:
    r"""Draw blocks of independent N(0, I) vectors of $R^d$ in coordinates that begin with the fixed directions.

    Reduced: the law of everything that depends on inner products alone, drawn in the Gram-Schmidt basis of the vectors
    themselves. Row $i = 0, 1, \dots$ (counted through all blocks) is

    $$ (z_1,\dots,z_{f+i},\ \chi_{d-f-i},\ 0,\dots),\qquad z\sim N(0,1)\ \text{i.i.d.}, $$

    with the pivot 0 where $d\le f+i$, and every column $\ge d$ zero. The working dimension is $f$ plus the number of
    vectors, whatever $d$. Ambient: all $d$ coordinates. Infinite: the leading order in $1/\sqrt d$ of the reduced frame, of
    the same draws. All vectors have length $\sqrt d$ and are orthogonal, to each other and to the fixed span; only the last
    block (the first filters) keeps its products with the fixed directions and with the blocks before it, from which a run
    starts. A step then costs O(nm) in place of O(n^2 m), since a block of data is a `Diagonal`.

    **Arguments:**

    - `key`: the stream of the frame; each block draws from a stream of its own.
    - `dim`: $d$, a whole number of at least `fixed`; traced, but static in an ambient frame.
    - `fixed`: $f$, dimension of the law's fixed span (`law.fixed`).
    - `kind`: `"reduced"`, `"ambient"` or `"infinite"`.
    - `blocks`: name and number of vectors of each block, as in `train=n, filters=2 * width`. A later block never
      changes an earlier one.

    **Returns:** a `Frame`; `space.train` has shape `(n, fixed + n)` if it is the first block of a reduced frame.

    **Raises:** `InvalidArgument` for an unknown kind, a bad count, or a `dim` that is not a whole number >= `fixed`.

    The infinite frame is the limit of runs whose first responses to the noise are large beside the products of two noise
    vectors. For a ReLU ($q=1$) from filters so small that $\sigma_0\ll\sqrt n/(\sigma d)$ it is not: there those products
    decide which filters are on.

    Exact if the model and the objective see $R^d$ only through inner products of these vectors and fresh ones, and each
    update is a combination of them with coefficients from their Gram matrix.

    Source: Bartlett's decomposition of a Wishart matrix, with fixed directions added.

    >>> import jax
    >>> space = frame(jax.random.key(0), 1e9, fixed=1, train=3, filters=2)
    >>> space.train.shape, space.filters.shape, space.size
    ((3, 4), (2, 6), 6)
    """
    if kind not in KINDS:
        raise InvalidArgument("frame", kind, f"must be one of {', '.join(KINDS)}")
    for name, rows in blocks.items():
        if not isinstance(rows, int) or rows < 1:
            raise InvalidArgument(name, rows, "a block holds a whole number >= 1 of vectors")
    if not isinstance(dim, Tracer):
        if not (math.isfinite(dim) and dim == int(dim) and dim >= fixed):
            raise InvalidArgument("dim", dim, f"must be a whole number >= {fixed}, the dimension of the fixed span")
    elif kind == "ambient":
        raise InvalidArgument("dim", "(traced)", "gives the shapes of an ambient frame, so it must be static there")

    keys = streams(key, "pivots", *blocks)
    if kind == "ambient":
        size = int(dim)
        drawn = {name: jax.random.normal(getattr(keys, name), (rows, size)) for name, rows in blocks.items()}
        return Frame(size, drawn, fixed, size, kind)
    size = fixed + sum(blocks.values())
    if kind == "infinite":
        return Frame(dim, _infinite(keys, dim, fixed, blocks), fixed, size, kind)
    return Frame(dim, _reduced(keys, keys.pivots, dim, fixed, blocks), fixed, size, kind)
