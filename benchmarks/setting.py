"""The published setting of the heat map (Kou, Chen, Chen, Gu, ICML 2023), which all contestants share."""

from __future__ import annotations

import numpy as np

N, TESTS, WIDTH, STEPS = 20, 1000, 10, 100
LR, FLIP, NOISE = 0.1, 0.1, 1.0
SEEDS = 10  # repetitions of each cell of the map

#: the signal of a single timed run; the cost does not depend on it
SIGNAL = 5.0

SIGNALS = np.round(0.1 * np.arange(100), 1)
DIMS = 100 + 10 * np.arange(100)
