"""Which batches make up a chunk of cells, and where their outputs go."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .plan import Part


@dataclass(frozen=True)
class Layout:
    """Cells of a part, flat with the seed slowest, in batches of `batch` that share a seed.

    The last batch of a seed is filled up by repeating the seed's last cell.
    """

    part: Part
    batch: int

    @property
    def per_seed(self) -> int:
        """Batches of one seed."""
        return -(-self.part.per_seed // self.batch)

    def rows(self, start: int, stop: int) -> np.ndarray:
        """The batches that hold the cells `start .. stop - 1`, as flat numbers."""
        cells = np.arange(start, stop)
        seed, place = np.divmod(cells, self.part.per_seed)
        return np.unique(seed * self.per_seed + place // self.batch)

    def inputs(self, rows: np.ndarray, grid: dict[str, np.ndarray]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The seed of each batch and the swept values of its cells."""
        seed, place = np.divmod(rows, self.per_seed)
        index = np.minimum(place[:, None] * self.batch + np.arange(self.batch), self.part.per_seed - 1)
        return seed.astype(np.uint32), {name: values[index] for name, values in grid.items()}

    def cells(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The flat cell of each entry of each batch, and which entries are no repetition."""
        seed, place = np.divmod(rows, self.per_seed)
        inner = place[:, None] * self.batch + np.arange(self.batch)
        real = inner < self.part.per_seed
        return seed[:, None] * self.part.per_seed + np.where(real, inner, 0), real
