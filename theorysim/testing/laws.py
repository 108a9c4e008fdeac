"""Hypothesis strategies for laws: any of them, with numbers inside their ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import laws

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def signal_noise(*, signal: float = 100.0, noise: float = 10.0) -> SearchStrategy[laws.SignalNoise]:
    """Laws of a signal and a noise patch: symmetric or one-sided flips, noise projected or not.

    **Arguments:** `signal`, `noise`: the largest values of these fields.

    **Returns:** a Hypothesis strategy of `laws.SignalNoise`.

    >>> from hypothesis import find
    >>> find(signal_noise(), lambda law: law.signal > 50).signal > 50
    True
    """
    from hypothesis import strategies as st

    def number(high: float) -> SearchStrategy[float]:
        # what float32 can hold: a smaller one would be zero in the run
        return st.floats(0, high, width=32, allow_subnormal=False)

    size = {"signal": number(signal), "noise": number(noise), "projected": st.booleans()}
    share = number(0.5)
    symmetric = st.builds(laws.SignalNoise, **size, flip=share)
    return symmetric | st.builds(laws.SignalNoise, **size, flip_plus=share, flip_minus=share)


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
