"""Bounds under test: strategies for parameters, and an assertion; public, for a user's own bounds too."""

from . import laws
from .assert_bound import assert_bound
from .hunt import Hit, hunt
from .strategies import params_in

__all__ = ["Hit", "assert_bound", "hunt", "laws", "params_in"]
