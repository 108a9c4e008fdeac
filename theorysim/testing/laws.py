"""Hypothesis strategies for laws: any of them, with numbers inside their ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import laws

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def _number(high: float) -> SearchStrategy[float]:
    """What float32 can hold: a smaller number would be zero in the run."""
    from hypothesis import strategies as st

    return st.floats(0, high, width=32, allow_subnormal=False)


def signal_noise(*, signal: float = 100.0, noise: float = 10.0) -> SearchStrategy[laws.SignalNoise]:
    """Laws of a signal and a noise patch: symmetric or one-sided flips, noise projected or not.

    **Arguments:** `signal`, `noise`: the largest values of these fields.

    **Returns:** a Hypothesis strategy of `laws.SignalNoise`.

    >>> from hypothesis import find
    >>> find(signal_noise(), lambda law: law.signal > 50).signal > 50
    True
    """
    from hypothesis import strategies as st

    size = {"signal": _number(signal), "noise": _number(noise), "projected": st.booleans()}
    share = _number(0.5)
    symmetric = st.builds(laws.SignalNoise, **size, flip=share)
    return symmetric | st.builds(laws.SignalNoise, **size, flip_plus=share, flip_minus=share)


def signal_noise_graph(*, signal: float = 100.0, noise: float = 10.0) -> SearchStrategy[laws.SignalNoiseGraph]:
    """Laws of nodes on a stochastic block model, homophilous or not, averaged wholly, in part or not at all.

    **Arguments:** `signal`, `noise`: the largest values of these fields.

    **Returns:** a Hypothesis strategy of `laws.SignalNoiseGraph`.

    >>> from hypothesis import find
    >>> find(signal_noise_graph(), lambda law: law.within > law.between).within > 0
    True
    """
    from hypothesis import strategies as st

    within, between, average = (_number(1) for _ in range(3))
    return st.builds(laws.SignalNoiseGraph, _number(signal), within, between, _number(noise), average, st.booleans())


def features(*, signal: float = 100.0, noise: float = 10.0, most: int = 3) -> SearchStrategy[laws.Features]:
    """Laws of one to several orthogonal signals in any shares.

    **Arguments:** `signal`, `noise`: the largest values of these fields; `most`: the largest number of signals.

    **Returns:** a Hypothesis strategy of `laws.Features`.

    >>> from hypothesis import find
    >>> find(features(), lambda law: law.fixed == 2).fixed
    2
    """
    from hypothesis import strategies as st

    # a list's annotation would be checked at a random place, which Hypothesis forbids
    def build(norms: Any, weights: Any, level: float, flip: float, projected: bool) -> laws.Features:
        shares = [weight / max(sum(weights[: len(norms)]), 1) for weight in weights[: len(norms)]]
        return laws.Features(norms, shares if sum(shares) else [1.0, *[0.0] * (len(norms) - 1)], level, flip, projected)

    norms = st.lists(_number(signal), min_size=1, max_size=most)
    weights = st.lists(st.integers(0, 9), min_size=most, max_size=most)
    return st.builds(build, norms, weights, _number(noise), _number(0.5), st.booleans())


def xor(*, signal: float = 100.0, noise: float = 10.0) -> SearchStrategy[laws.XOR]:
    """Laws of XOR clusters at any angle.

    **Arguments:** `signal`, `noise`: the largest values of these fields.

    **Returns:** a Hypothesis strategy of `laws.XOR`.

    >>> from hypothesis import find
    >>> find(xor(), lambda law: law.cosine > 0.5).cosine > 0.5
    True
    """
    from hypothesis import strategies as st

    cosine = st.floats(-1, 1, width=32, allow_subnormal=False)
    return st.builds(laws.XOR, _number(signal), cosine=cosine, noise=_number(noise), flip=_number(0.5), projected=st.booleans())


def two_bit(*, strength: float = 10.0, noise: float = 10.0, most: int = 3) -> SearchStrategy[laws.TwoBit]:
    """Laws of an invariant and a spurious feature in one to several environments, with flips of any rate.

    **Arguments:** `strength`, `noise`: the largest values of these fields; `most`: the largest number of environments.

    **Returns:** a Hypothesis strategy of `laws.TwoBit`.

    >>> from hypothesis import find
    >>> find(two_bit(), lambda law: law.environments > 1).environments
    2
    """
    from hypothesis import strategies as st

    def build(alpha: float, betas: Any, level: float, strengths: Any) -> laws.TwoBit:
        return laws.TwoBit(alpha, betas, level, strengths)

    betas, size = st.lists(_number(1), min_size=1, max_size=most), _number(strength)
    return st.builds(build, _number(1), betas, _number(noise), st.tuples(size, size))


def linear_regression(*, target: float = 100.0, noise: float = 10.0) -> SearchStrategy[laws.LinearRegression]:
    """Laws of a linear function of Gaussian inputs.

    **Arguments:** `target`, `noise`: the largest values of these fields.

    **Returns:** a Hypothesis strategy of `laws.LinearRegression`.

    >>> from hypothesis import find
    >>> find(linear_regression(), lambda law: law.target > 50).target > 50
    True
    """
    from hypothesis import strategies as st

    return st.builds(laws.LinearRegression, _number(target), _number(noise))


def arrays(*, samples: int = 30, dim: int = 8) -> SearchStrategy[laws.Arrays]:
    """Data of two classes as a user might have them: any two labels, each at least once.

    **Arguments:** `samples`: the largest number, >= 2; `dim`: the largest dimension.

    **Returns:** a Hypothesis strategy of `laws.Arrays`.

    >>> from hypothesis import find
    >>> len(find(arrays(), lambda law: law.dim > 1).labels) >= 2
    True
    """
    from hypothesis import strategies as st

    def build(count: int, d: int, seed: int, pair: tuple[int, int], flips: tuple[float, float]) -> Any:
        rng = np.random.default_rng(seed)
        labels = rng.permutation([*pair, *rng.choice(pair, count - 2)])
        return laws.Arrays(rng.normal(size=(count, d)), labels, *flips)

    pair = st.tuples(st.integers(-5, 5), st.integers(-5, 5)).filter(lambda labels: labels[0] != labels[1])
    flips = st.tuples(st.floats(0, 0.5), st.floats(0, 0.5))
    return st.builds(build, st.integers(2, samples), st.integers(1, dim), st.integers(0, 2**32 - 1), pair, flips)
