"""What is looked at: the signal-noise decomposition, errors and margins."""

from .decomposition import Decomposition, decomposition
from .errors import errors, fresh_errors

__all__ = ["Decomposition", "decomposition", "errors", "fresh_errors"]
