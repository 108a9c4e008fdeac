r"""Federated learning of features: what sharing a signal is worth.

Huang, Shi, Cai, Suzuki (ICLR 2024), "Understanding convergence and generalization in federated learning through feature
learning theory". The paper's formulas were not found: these are derived here, at leading order, from one round of small steps.
In a round each client moves its copy along its own gradient, and the average of K copies keeps 1/K of each move. A sample's
noise is seen by one client; a signal by all that hold it, the $K_k$ clients like client $k$. So noise is memorised $K$ times
slower than at a lone client, the signal $K/K_k$ times slower, and their race is that of $\bar nK_k$ pooled samples.

All functions take numbers or arrays and broadcast.
"""

from __future__ import annotations

from typing import Any


def shared(clients: Any, groups: Any) -> Any:
    r"""How many clients hold the signal of one of them: $K_k=\sum_{k'}\langle\mu_k,\mu_{k'}\rangle/\|\mu\|^2=K/C$.

    **Arguments:** `clients`: $K\ge1$; `groups`: $C\in[1,K]$, the orthogonal signals, each held by as many clients.

    Regime: signals of one length, dealt out evenly. Source: derived, as the module says.

    >>> shared(20, 4)
    5.0
    """
    return clients / groups


def signal_ratio(n: Any, sharing: Any, snr: Any, power: Any) -> Any:
    r"""What decides between signal and noise: $\bar nK_k\,\mathrm{SNR}^q$, with $\mathrm{SNR}=\|\mu\|/(\sigma_p\sqrt d)$.

    **Arguments:** `n`: samples of a client, $\bar n$; `sharing`: $K_k$, 1 without communication; `snr`; `power`: $q>2$.

    Regime: small steps and drift, $d\gg\bar nK$. Source: derived, as the module says; one client: Cao et al. (2022).

    >>> signal_ratio(50, 20, 0.1, 3)
    1.0000000000000002
    """
    return n * sharing * snr**power


def critical_snr(n: Any, sharing: Any, power: Any, constant: Any) -> Any:
    r"""The SNR at which learning turns from noise to signal, $\mathrm{SNR}^*=(c/(\bar nK_k))^{1/q}$: exponent $-1/q$ in $K_k$.

    **Arguments:** `n`: $\bar n$; `sharing`: $K_k$; `power`: $q$; `constant`: $c>0$, which the theory leaves open.

    Regime and source: as `signal_ratio`, of which it is the inverse.

    >>> round(critical_snr(50, 20, 3, 1.0), 6)
    0.1
    """
    return (constant / (n * sharing)) ** (1 / power)


def drift(local_steps: Any, lr: Any, dim: Any, n: Any, width: Any, noise: Any = 1.0) -> Any:
    r"""How far a client's noise is memorised within a round: $D=E\,\eta\,\sigma_p^2d/(\bar nm)$.

    It is the growth of a response $\langle w,\xi_i\rangle$ in a round, up to its own power and a constant. At $D\ll1$ FedAvg is
    gradient descent on the pooled data; at large $D$ each client has fitted its noise before it hears of the others.

    **Arguments:** `local_steps`: $E$; `lr`: $\eta$; `dim`: $d$; `n`: $\bar n$; `width`: $m$; `noise`: $\sigma_p$.

    Regime: any. Source: derived.

    >>> drift(5, 1.0, 1000, 50, 10)
    10.0
    """
    return local_steps * lr * noise**2 * dim / (n * width)


def slowdown(clients: Any, sharing: Any) -> Any:
    r"""How many more rounds FedAvg needs than averages over the clients of one's own signal: $K/K_k$.

    Both have the threshold of `signal_ratio`, since FedAvg slows signal and noise alike.

    **Arguments:** `clients`: $K$; `sharing`: $K_k$.

    Regime: small drift, before the loss falls. Source: derived, as the module says.

    >>> slowdown(20, 5)
    4.0
    """
    return clients / sharing
