"""What is computed from a Dataset: boundaries, exponents, intervals."""

from .exponent import Exponent, fit_exponent
from .jackknife import jackknife
from .phase_boundary import phase_boundary

__all__ = ["Exponent", "fit_exponent", "jackknife", "phase_boundary"]
