"""What data are drawn: a law turns Gaussian vectors of a frame, or a user's arrays, into a batch."""

from ._batch import Batch, join, pick
from .arrays import Arrays
from .features import Features
from .signal_noise import SignalNoise
from .xor import XOR

__all__ = ["XOR", "Arrays", "Batch", "Features", "SignalNoise", "join", "pick"]
