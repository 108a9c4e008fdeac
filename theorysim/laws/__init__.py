"""What data are drawn: a law turns Gaussian vectors of a frame, or a user's arrays, into a batch."""

from ._batch import Batch
from .arrays import Arrays
from .signal_noise import SignalNoise

__all__ = ["Arrays", "Batch", "SignalNoise"]
