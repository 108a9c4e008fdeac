"""Exact reduction: frames of the vectors that a run can depend on, at a cost free of the dimension."""

from .diagonal import Diagonal
from .frame import Frame, frame
from .own_basis import own_basis
from .sinkhorn import sinkhorn
from .span import InSpan, Span, span

__all__ = ["Diagonal", "Frame", "InSpan", "Span", "frame", "own_basis", "sinkhorn", "span"]
