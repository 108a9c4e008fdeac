"""What is computed from a Dataset: boundaries, exponents, collapses, intervals, margins."""

from .collapse import Collapse, collapse
from .exponent import Exponent, fit_exponent, slope_by_seed
from .first_time import first_time
from .jackknife import jackknife
from .phase_boundary import phase_boundary
from .within import within

__all__ = [
    "Collapse",
    "Exponent",
    "collapse",
    "first_time",
    "fit_exponent",
    "jackknife",
    "phase_boundary",
    "slope_by_seed",
    "within",
]
