"""What data are drawn: a law turns Gaussian vectors of a frame into a batch."""

from ._batch import Batch
from .signal_noise import SignalNoise

__all__ = ["Batch", "SignalNoise"]
