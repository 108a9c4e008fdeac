"""Thresholds, rates and bounds: formulas with citations, no simulation."""

from . import (
    active_learning,
    benign_polynomial,
    benign_relu,
    benign_xor,
    continual_angle,
    federated,
    gcn_vs_mlp,
    in_context,
    label_noise_gd,
    label_noise_sgd,
    label_noise_stages,
    prompt_mae,
    prompt_portfolio,
    spurious_features,
)
from ._bound import Bound, fields
from ._constants import Halves, fit_constant, halves, tested

__all__ = [
    "Bound",
    "Halves",
    "active_learning",
    "benign_polynomial",
    "benign_relu",
    "benign_xor",
    "continual_angle",
    "federated",
    "fields",
    "fit_constant",
    "gcn_vs_mlp",
    "halves",
    "in_context",
    "label_noise_gd",
    "label_noise_sgd",
    "label_noise_stages",
    "prompt_mae",
    "prompt_portfolio",
    "spurious_features",
    "tested",
]
