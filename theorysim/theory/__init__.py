"""Thresholds, rates and bounds: formulas with citations, no simulation."""

from . import benign_relu

__all__ = ["benign_relu"]
