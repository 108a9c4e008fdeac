"""What data are drawn: a law turns Gaussian vectors of a frame, or a user's arrays, into a batch."""

from ._batch import Batch, join, pick
from .arrays import Arrays
from .features import Features
from .linear_regression import LinearRegression
from .prompts import LinearPrompts, Prompts
from .signal_noise import SignalNoise
from .signal_noise_graph import SignalNoiseGraph
from .tilt import tilt
from .two_bit import TwoBit
from .xor import XOR

__all__ = [
    "XOR",
    "Arrays",
    "Batch",
    "Features",
    "LinearPrompts",
    "LinearRegression",
    "Prompts",
    "SignalNoise",
    "SignalNoiseGraph",
    "TwoBit",
    "join",
    "pick",
    "tilt",
]
