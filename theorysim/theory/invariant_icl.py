r"""Invariant in-context learning, InvICL (ICLR 2025, arXiv 2505.04994).

A mask is a directed graph of who sees whom. Three things are wanted of it: the output is free of the order of the examples, the
prediction at an example's input is free of its own label, and examples see each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def is_invariant(mask: Any) -> bool:
    r"""Whether a mask over examples treats all of them alike.

    $$ M_{\pi(i)\pi(j)}=M_{ij}\ \text{ for all permutations }\pi. $$

    **Arguments:** `mask`: over $n$ examples, shape `(n, n)`.

    **Returns:** whether all diagonal entries agree, and all others.

    Source: InvICL (2025), proposition 3.4: such masks are diagonal, off-diagonal, or full.

    >>> is_invariant(np.eye(3)), is_invariant(np.tri(3))
    (True, False)
    """
    mask = np.asarray(mask, bool)
    own = np.eye(len(mask), dtype=bool)
    return len({*mask[own]}) <= 1 and len({*mask[~own]}) <= 1


def leaks(mask: Any) -> bool:
    r"""Whether, through any number of layers, an example's label comes back to its own input.

    $$ \exists\,i\ne j:\ i\to\dots\to j\to\dots\to i. $$

    **Arguments:** `mask`: over $n$ examples, shape `(n, n)`; row $i$ says whom $i$ sees.

    **Returns:** whether the graph, without its loops, has a cycle.

    Source: InvICL (2025), proposition 3.5: what does not leak is a directed acyclic graph.

    >>> leaks(np.tri(3)), leaks(np.ones((3, 3)))
    (False, True)
    """
    edges = np.asarray(mask, bool) & ~np.eye(len(mask), dtype=bool)
    reach = edges.copy()
    for _ in range(len(edges)):
        reach |= (reach.astype(int) @ edges) > 0
    return bool(np.diag(reach).any())


def depends(mask: Any) -> bool:
    """Whether some example sees another.

    **Arguments:** `mask`: over $n$ examples, shape `(n, n)`.

    **Returns:** whether an entry off the diagonal is true.

    Source: InvICL (2025), section 3.

    >>> depends(np.eye(3)), depends(np.tri(3))
    (False, True)
    """
    mask = np.asarray(mask, bool)
    return bool(mask[~np.eye(len(mask), dtype=bool)].any())


def step(w: Any, x: Any, y: Any, rate: Any) -> Any:
    r"""What one layer of linear attention does to the query's weights under the mask of InvICL.

    $$ w_l=w_{l-1}-\eta X^\top r+\eta^2X^\top\big(XX^\top-\operatorname{diag}(XX^\top)\big)r,\qquad r=Xw_{l-1}-y. $$

    **Arguments:** `w`: $w_{l-1}$, shape `(d,)`; `x`, `y`: examples, shapes `(n, d)` and `(n,)`; `rate`: $\eta>0$. Arrays of
    numpy or of jax.

    **Returns:** $w_l$, shape `(d,)`: gradient descent with a look ahead, free of the examples' order.

    Source: InvICL (2025), theorem C.1.

    >>> float(step(np.zeros(1), np.array([[1.0], [1.0]]), np.array([1.0, 1.0]), 0.1)[0])
    0.18
    """
    r = x @ w - y
    others = x @ (x.T @ r) - (x * x).sum(axis=1) * r
    return w - rate * (x.T @ r) + rate**2 * (x.T @ others)
