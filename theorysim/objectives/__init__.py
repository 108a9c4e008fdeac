"""What is minimised: `objective(model, key) -> scalar`, often a mean loss of the margin $y f(x)$ with the observed label."""

from .margins import (
    Objective,
    hinge,
    hinge_loss,
    logistic,
    logistic_loss,
    of_margins,
    square,
    square_loss,
)

__all__ = ["Objective", "hinge", "hinge_loss", "logistic", "logistic_loss", "of_margins", "square", "square_loss"]
