"""What is minimised: `objective(model, key) -> scalar`, often a mean loss of the margin $y f(x)$ with the observed label."""

from .autoregressive import autoregressive
from .contrastive import info_nce, similarity
from .environments import feat, irm, irm_gradients, vrex
from .label_noise import Noise, flips, gaussian, uniform, with_label_noise
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
from .on_sample import OnSample, additive_noise, on_sample
from .ranking import plackett_luce
from .regression import regression
from .two_class import mae, mae_loss, softmax, softmax_loss

__all__ = [
    "Noise",
    "Objective",
    "OnSample",
    "additive_noise",
    "autoregressive",
    "feat",
    "flips",
    "gaussian",
    "hinge",
    "hinge_loss",
    "info_nce",
    "irm",
    "irm_gradients",
    "logistic",
    "logistic_loss",
    "mae",
    "mae_loss",
    "of_margins",
    "on_sample",
    "plackett_luce",
    "regression",
    "similarity",
    "softmax",
    "softmax_loss",
    "square",
    "square_loss",
    "uniform",
    "vrex",
    "with_label_noise",
]
