r"""Provable in-context vector arithmetic (ICML 2025, arXiv 2508.09820).

A concept has a task vector $a_k$ and a low-level vector $b_k$, orthonormal; words are $x_aa_k\pm b_k$, answers $a_k\pm b_k$.
The layer adds a unit vector that it retrieves from the prompt to the query.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def margin(along: Any, across: Any, share: Any) -> Any:
    r"""The logit of the answer over that of the best other word of its concept, without noise.

    With $v$ the retrieved unit vector, $v_a=\langle v,a\rangle$, $v_b=e\langle v,b\rangle$ and $h=v+x_aa+eb$:

    $$ \min\{\,1+v_b,\ v_a+x_a,\ 2(1+v_b),\ (1-x_a)(v_a+x_a)\,\}. $$

    The competitors are $a$, $eb$, $a-eb$ and the query's own word $x_aa+eb$.

    **Arguments:** `along`: $v_a$; `across`: $v_b$, negative if the layer retrieves low-level parts of the other sign; `share`:
    $x_a$, in $[0,1)$.

    **Returns:** the margin; negative if another word of the concept wins.

    Source: derived.

    >>> float(margin(1.0, 0.0, 0.1)), round(float(margin(0.8, -0.6, 0.1)), 3)
    (0.9900000000000001, 0.4)
    """
    a, b = np.asarray(along, float) + share, 1 + np.asarray(across, float)
    return np.minimum(np.minimum(b, a), np.minimum(2 * b, (1 - share) * a))
