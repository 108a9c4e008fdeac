r"""Local constant against local linear attention: risks at an edge and inside, best bandwidths, exponents, the correction.

"Local linear attention" (ICLR 2026), arXiv 2510.01450: of its theorems the order of the integrated risks is known, from
summaries. The formulas are derived here, after Fan and Gijbels (1996), chapter 3: keys uniform on [0, 1],
$v_j=f(k_j)+\sigma\epsilon_j$, a Gaussian kernel of bandwidth $b$, which on keys of unit length is softmax attention with logits
$\langle q,k\rangle/b^2$. Functions of numbers broadcast.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._errors import InvalidArgument

ORDERS, PLACES = ("constant", "linear"), ("edge", "inside")
_HALF = float(np.sqrt(2 / np.pi))  # mean of |z|, z ~ N(0, 1)
#: variance in units of sigma^2/(nb): the integral of the squared equivalent kernel
_WHOLE, _HALVED = float(1 / (2 * np.sqrt(np.pi))), float(1 / np.sqrt(np.pi))
_ONE_SIDED = float((_HALVED * np.pi / 2 - _HALF + _HALF**2 * _WHOLE * np.pi / 2) / ((1 - _HALF**2) ** 2 * np.pi / 2))


def _checked(order: str, place: str) -> None:
    for name, value, known in (("order", order, ORDERS), ("place", place, PLACES)):
        if value not in known:
            raise InvalidArgument(name, value, f"must be {' or '.join(known)}")


def bias(order: str, place: str, bandwidth: Any, slope: Any, curvature: Any) -> Any:
    r"""The leading bias of a kernel fit at a point.

    $$ \text{inside: } \tfrac12f''b^2;\qquad \text{edge, local constant: } \sqrt{\tfrac2\pi}\,f'b;\qquad
       \text{edge, local linear: } -\tfrac12f''b^2\,\frac{4-\pi}{\pi-2}. $$

    **Arguments:** `order`: `"constant"` (softmax attention) or `"linear"`; `place`: `"edge"` or `"inside"`; `bandwidth`: $b$;
    `slope`, `curvature`: $f',f''$ at the point.

    **Raises:** `InvalidArgument` for another word.

    Regime: $b\to0$, $nb\to\infty$. Source: Fan and Gijbels (1996), section 3.2; the moments of the half kernel derived here.

    >>> round(bias("constant", "edge", 0.1, 1.0, 5.0), 4), round(bias("linear", "edge", 0.1, 1.0, 5.0), 4)
    (0.0798, -0.0188)
    """
    _checked(order, place)
    if place == "inside":
        return curvature * bandwidth**2 / 2
    return _HALF * slope * bandwidth if order == "constant" else curvature * bandwidth**2 / 2 * (np.pi - 4) / (np.pi - 2)


def risk(order: str, place: str, n: Any, bandwidth: Any, slope: Any, curvature: Any, noise: Any) -> Any:
    r"""The leading mean squared error at a point, $\text{bias}^2+V\sigma^2/(nb)$.

    $V$ is $1/(2\sqrt\pi)$ inside; at the edge $1/\sqrt\pi$ for the local constant fit and 1.786 for the local linear one.

    **Arguments:** as `bias`; `n`: keys; `noise`: $\sigma$.

    **Raises:** `InvalidArgument` for another word.

    >>> round(risk("constant", "edge", 100, 0.1, 0.0, 0.0, 1.0), 4), round(risk("linear", "edge", 100, 0.1, 0.0, 0.0, 1.0), 4)
    (0.0564, 0.1786)
    """
    spread = _WHOLE if place == "inside" else (_HALVED if order == "constant" else _ONE_SIDED)
    return bias(order, place, bandwidth, slope, curvature) ** 2 + spread * noise**2 / (n * bandwidth)


def best_bandwidth(order: str, place: str, n: Any, slope: Any, curvature: Any, noise: Any) -> Any:
    r"""The bandwidth of the least `risk`: with $\text{bias}=ab^p$ it is $(V\sigma^2/(2pa^2n))^{1/(2p+1)}$.

    **Arguments:** as `risk`.

    **Raises:** `InvalidArgument` for another word.

    >>> b = best_bandwidth("linear", "edge", 1e4, 1.0, 5.0, 0.3)
    >>> bool(risk("linear", "edge", 1e4, b, 1.0, 5.0, 0.3) < risk("linear", "edge", 1e4, 1.01 * b, 1.0, 5.0, 0.3))
    True
    """
    power = 1 if (order, place) == ("constant", "edge") else 2
    scale = bias(order, place, 1.0, slope, curvature) ** 2
    variance = risk(order, place, n, 1.0, slope, curvature, noise) - scale
    return (variance / (2 * power * scale)) ** (1 / (2 * power + 1))


def exponent(order: str, place: str) -> float:
    r"""The power of $n$ in the risk at the best bandwidth: $-\frac23$ for a local constant fit at an edge, else $-\frac45$.

    **Arguments:** as `bias`. One dimension.

    **Raises:** `InvalidArgument` for another word.

    >>> exponent("constant", "edge"), exponent("linear", "edge")
    (-0.6666666666666666, -0.8)
    """
    _checked(order, place)
    return -2 / 3 if (order, place) == ("constant", "edge") else -4 / 5


def integrated_exponent(order: str, dim: int) -> float:
    r"""The power of $n$ in the risk averaged over the cube: $-\frac3{d+3}$ (local constant), $-\frac4{d+4}$ (local linear).

    The edge is a layer of width $b$, so the local constant fit has $b^3+1/(nb^d)$, the local linear one $b^4+1/(nb^d)$. In
    one dimension both nearly coincide: the `exponent` at the edge tells them apart.

    **Arguments:** `order`: as `bias`; `dim`: $d\ge1$.

    **Raises:** `InvalidArgument` for another word.

    Regime: smooth targets; steps between pieces break both. Source: derived here; the order of the risks is the paper's.

    >>> integrated_exponent("constant", 1), integrated_exponent("linear", 1)
    (-0.75, -0.8)
    """
    _checked(order, "edge")
    return -3 / (dim + 3) if order == "constant" else -4 / (dim + 4)


def equivalent_kernel(order: str, place: str, offset: Any) -> Any:
    r"""The weight of a key in the limit of many keys, in units of $1/(nb)$, against its offset $u=(k-q)/b$.

    $$ \text{inside: }\varphi(u);\qquad\text{edge, }u\geq0:\quad 2\varphi(u),\qquad
       \frac{1-\sqrt{2/\pi}\,u}{1-2/\pi}\,2\varphi(u). $$

    The local linear one at an edge is negative beyond $u=\sqrt{\pi/2}$, so that its first moment vanishes.

    **Arguments:** as `bias`; `offset`: $u$.

    **Raises:** `InvalidArgument` for another word.

    >>> equivalent_kernel("linear", "edge", np.array([0.0, 2.0])).round(3).tolist()
    [2.196, -0.177]
    """
    _checked(order, place)
    density = np.exp(-np.square(offset) / 2) / np.sqrt(2 * np.pi)
    if place == "inside":
        return density
    shape = 1.0 if order == "constant" else (1 - _HALF * offset) / (1 - _HALF**2)
    return np.where(np.asarray(offset) >= 0, 2 * density * shape, 0.0)


def correction(query: Any, key: Any, value: Any, weights: Any, ridge: Any) -> tuple[Any, Any, Any]:
    r"""Local linear attention as a correction of softmax attention, for one query.

    $$ o=o_{SA}-(1+\eta)\,\Sigma_{KV}^\top\rho,\qquad \rho=(S+\lambda I)^{-1}m,\qquad
       \eta=m^\top(\Sigma_K+\lambda I)^{-1}m, $$

    with $m=\bar k-q$, $S=\sum_jp_jz_jz_j^\top$, $z_j=k_j-q$: $\eta$ is the squared (ridged) Mahalanobis distance of the query
    from the mean key.

    **Arguments:** `query`: $q$, shape `(d,)`; `key`: shape `(j, d)`; `value`: shape `(j, e)`; `weights`: $p$, shape `(j,)`,
    sum 1; `ridge`: $\lambda\ge0$.

    **Returns:** $o$, $o_{SA}$ and $\eta$.

    Source: the form: summaries of the paper; $\eta$ derived here.

    >>> key = np.array([[1.0], [2.0]])
    >>> out, softmax, eta = correction(np.zeros(1), key, key, np.full(2, 0.5), 0.0)
    >>> out.round(6).tolist(), softmax.tolist(), round(float(eta), 6)
    ([0.0], [1.5], 9.0)
    """
    query, key, value, weights = (np.asarray(a, float) for a in (query, key, value, weights))
    mean, softmax, penalty = weights @ key, weights @ value, ridge * np.eye(key.shape[1])
    m, z, centred = mean - query, key - query, key - mean
    rho = np.linalg.solve((z.T * weights) @ z + penalty, m)
    eta = m @ np.linalg.solve((centred.T * weights) @ centred + penalty, m)
    return softmax - (1 + eta) * rho @ ((centred.T * weights) @ (value - softmax)), softmax, eta
