"""What is looked at: the signal-noise decomposition, errors, groups of samples."""

from .attention import attention_mass, sign_agreement
from .decomposition import Decomposition, decomposition
from .errors import Errors, errors, fresh_errors, on_fresh
from .fisher import diagonal_fisher
from .groups import auroc, max_over, mean_over
from .norms import alignment, balance, balance_change, moved, norms
from .tokens import collapse_distance, diameter, effective_rank, mean_cosine, numerical_rank

__all__ = [
    "Decomposition",
    "Errors",
    "alignment",
    "attention_mass",
    "auroc",
    "balance",
    "balance_change",
    "collapse_distance",
    "decomposition",
    "diagonal_fisher",
    "diameter",
    "effective_rank",
    "errors",
    "fresh_errors",
    "max_over",
    "mean_cosine",
    "mean_over",
    "moved",
    "norms",
    "numerical_rank",
    "on_fresh",
    "sign_agreement",
]
