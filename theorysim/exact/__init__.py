"""Exact reduction: frames of the vectors that a run can depend on, at a cost free of the dimension."""

from .frame import Frame, frame
from .own_basis import own_basis

__all__ = ["Frame", "frame", "own_basis"]
