"""Domains of parameters, and the properties that a matrix of kernel values must have."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kopt.errors import InputError
from kopt.kernels.points import Matrix

#: Relative to the largest value or eigenvalue, what arithmetic may have done to an exact matrix; solvers stop at 1e-8.
ROUNDING = 1e-10


def positive(name: str, value: Any) -> float:
    """A finite number above zero.

    >>> positive("sigma", 2)
    2.0
    """
    if not (_is_finite(value) and value > 0):
        raise InputError(f"{name} is {_shown(value)}, not a finite positive number.", f"Choose {name} > 0.")
    return float(value)


def non_negative(name: str, value: Any) -> float:
    """A finite number, zero or above.

    >>> non_negative("R", 0)
    0.0
    """
    if not (_is_finite(value) and value >= 0):
        raise InputError(f"{name} is {_shown(value)}, not a finite non-negative number.", f"Choose {name} >= 0.")
    return float(value)


def positive_integer(name: str, value: Any) -> int:
    """A whole number of an integer type, one or above.

    >>> positive_integer("degree", 3)
    3
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise InputError(f"{name} is {_shown(value)}, not a positive integer.", f"Choose {name} = 1, 2, 3 and so on.")
    return int(value)


def _is_finite(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and bool(np.isfinite(float(value)))


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, Real) else repr(value)


def square(K: ArrayLike, name: str = "K") -> Matrix:
    """K as a square float64 array; the name is what a refusal calls it."""
    try:
        matrix = np.asarray(K, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} is not a matrix of real numbers.", "Give a square array of kernel values.") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise InputError(
            f"{name} has shape {matrix.shape}, which is not square.",
            "Give the kernel values between the points themselves.",
        )
    return matrix


def finite(K: Matrix, name: str = "K") -> Matrix:
    """K itself, when all its values are finite."""
    with np.errstate(all="ignore"):
        total = K.sum()
    # A finite sum proves finite terms without a matrix of booleans; the sum alone may overflow.
    if not np.isfinite(total) and not np.isfinite(K).all():
        wrong = np.argwhere(~np.isfinite(K))
        raise InputError(
            f"{name} has {len(wrong)} values that are NaN or infinite, the first at {_place(wrong[0])}.",
            "Scale the features down, or choose a kernel that does not overflow on them.",
        )
    return K


def symmetric(K: Matrix, name: str = "K") -> Matrix:
    """K itself, when K equals its transpose up to rounding."""
    gap, row, column = asymmetry(K)
    if gap > ROUNDING * np.abs(K).max():
        raise InputError(
            f"{name} is not symmetric: the largest |K_ij - K_ji| is {gap:.4g}, at ({row}, {column}).",
            "Use (K + K.T) / 2 if the difference has no meaning.",
        )
    return K


def asymmetry(K: Matrix) -> tuple[float, int, int]:
    """The largest |K_ij - K_ji| and where it is.

    >>> asymmetry(np.array([[0.0, 1.0], [1.5, 0.0]]))
    (0.5, 0, 1)
    """
    gap = K - K.T
    np.abs(gap, out=gap)
    row, column = np.unravel_index(gap.argmax(), gap.shape)
    return float(gap[row, column]), int(row), int(column)


def _place(index: Any) -> str:
    return f"({', '.join(str(i) for i in index)})"
