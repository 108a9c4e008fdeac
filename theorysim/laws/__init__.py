"""What data are drawn: a law turns Gaussian vectors of a frame, or a user's arrays, into a batch."""

from ._batch import Batch, join, pick
from .arrays import Arrays
from .concepts import ConceptPrompts, Concepts
from .features import Features
from .item_labels import Dictionary, ItemLabels
from .linear_regression import LinearRegression
from .prompts import LinearPrompts, Prompts
from .rotations import Rotations, Sequences
from .signal_noise import SignalNoise
from .signal_noise_graph import SignalNoiseGraph
from .tilt import tilt
from .two_bit import TwoBit
from .xor import XOR

__all__ = [
    "XOR",
    "Arrays",
    "Batch",
    "ConceptPrompts",
    "Concepts",
    "Dictionary",
    "Features",
    "ItemLabels",
    "LinearPrompts",
    "LinearRegression",
    "Prompts",
    "Rotations",
    "Sequences",
    "SignalNoise",
    "SignalNoiseGraph",
    "TwoBit",
    "join",
    "pick",
    "tilt",
]
