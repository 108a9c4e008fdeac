"""How the state moves: rules `(init, step, commutes)`."""

from ._rule import Dynamics, Training
from .gradient_descent import gradient_descent

__all__ = ["Dynamics", "Training", "gradient_descent"]
