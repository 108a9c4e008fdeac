"""What is looked at: the signal-noise decomposition, errors, groups of samples."""

from .decomposition import Decomposition, decomposition
from .errors import Errors, errors, fresh_errors
from .groups import auroc, max_over, mean_over

__all__ = ["Decomposition", "Errors", "auroc", "decomposition", "errors", "fresh_errors", "max_over", "mean_over"]
