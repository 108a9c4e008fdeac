"""Figures as the papers draw them: style, heat maps, seed bands, power laws."""

from .band import band
from .heat_map import heat_map
from .power_law import local_slopes, power_law
from .style import COLORS, MARKERS, canvas, save, style

__all__ = ["COLORS", "MARKERS", "band", "canvas", "heat_map", "local_slopes", "power_law", "save", "style"]
