"""What is looked at: the signal-noise decomposition, errors, groups of samples."""

from .decomposition import Decomposition, decomposition
from .errors import Errors, errors, fresh_errors, on_fresh
from .fisher import diagonal_fisher
from .groups import auroc, max_over, mean_over
from .norms import alignment, balance, balance_change, moved, norms

__all__ = [
    "Decomposition",
    "Errors",
    "alignment",
    "auroc",
    "balance",
    "balance_change",
    "decomposition",
    "diagonal_fisher",
    "errors",
    "fresh_errors",
    "max_over",
    "mean_over",
    "moved",
    "norms",
    "on_fresh",
]
