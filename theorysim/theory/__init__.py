"""Thresholds, rates and bounds: formulas with citations, no simulation."""

from . import benign_relu, label_noise_stages
from ._bound import Bound, fields
from ._constants import Halves, fit_constant, halves, tested

__all__ = ["Bound", "Halves", "benign_relu", "fields", "fit_constant", "halves", "label_noise_stages", "tested"]
