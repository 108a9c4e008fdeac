"""From a grid to a Dataset: grid -> plan -> run -> store."""

from .dataset import open
from .params import Static, Traced, field
from .study import Study
from .sweep import sweep

__all__ = ["Static", "Study", "Traced", "field", "open", "sweep"]
