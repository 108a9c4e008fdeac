"""Exact reduction: frames of the vectors that a run can depend on, moments of prompts, and population losses."""

from .bilinear_ridge import bilinear_ridge
from .denoising import denoising_loss
from .diagonal import Diagonal
from .frame import Frame, frame
from .linear_attention import linear_attention_loss
from .mamba import forgetting_sums, mamba_loss
from .mesa import StartMoments, mesa_loss, start_moments
from .moments import Moments, label_moments, moments, moments_of
from .own_basis import own_basis
from .sinkhorn import sinkhorn
from .span import InSpan, Span, span

__all__ = [
    "Diagonal",
    "Frame",
    "InSpan",
    "Moments",
    "Span",
    "StartMoments",
    "bilinear_ridge",
    "denoising_loss",
    "forgetting_sums",
    "frame",
    "label_moments",
    "linear_attention_loss",
    "mamba_loss",
    "mesa_loss",
    "moments",
    "moments_of",
    "own_basis",
    "sinkhorn",
    "span",
    "start_moments",
]
