"""Kernels learnt from data: weights of given kernels, and of directions in one."""

from typing import TYPE_CHECKING, Any

from formulations.kernel_learning.independent import independent_weights as independent_weights
from kopt.discovery import exported

globals().update(exported(__name__))
__all__ = sorted([*exported(__name__), "independent_weights"])

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
