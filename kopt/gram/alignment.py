"""How well two matrices of kernel values point in the same direction."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kopt.errors import InputError
from kopt.kernels.checks import square, symmetric
from kopt.kernels.points import Matrix

#: What centring leaves of a constant, relative to it.
LAST_DIGITS = 1e-14


def alignment(K: ArrayLike, L: ArrayLike) -> float:
    """A(K, L) = <K, L> / (||K|| ||L||), with the inner product and norm of Frobenius (KMPA Definition 3.20).

    Either may be a vector of labels or targets y, which stands for the matrix yy'. The alignment is a cosine: it does
    not change when a matrix is multiplied by a positive number, it lies between 0 and 1 for positive semi-definite
    matrices, and the squared distance of the two matrices, each divided by its norm, is 2 - 2 A(K, L).

    >>> alignment([[2.0, 0.0], [0.0, 2.0]], [1, -1])
    0.7071067811865475
    """
    return _cosine(_scaled(K, "The first"), _scaled(L, "The second"))


def centred_alignment(K: ArrayLike, L: ArrayLike) -> float:
    """A(H K H, H L H) with H = I - jj'/l, for matrices or vectors (Cortes, Mohri and Rostamizadeh, 2012).

    Adding a constant to all values of a kernel, or to all targets, changes nothing.

    >>> centred_alignment([[2.0, 0.0], [0.0, 2.0]], [1, -1])
    1.0
    """
    return _cosine(_centred(_scaled(K, "The first"), "The first"), _centred(_scaled(L, "The second"), "The second"))


def _scaled(given: ArrayLike, which: str) -> Matrix:
    """A matrix or vector divided by its largest entry: the squares of what is left neither overflow nor vanish."""
    array = _numbers(given, which)
    if not np.isfinite(array).all():
        raise InputError(
            f"{which} argument has {np.sum(~np.isfinite(array))} values that are NaN or infinite.",
            "Remove those points, or repair their values.",
        )
    if array.ndim == 2:
        symmetric(array, f"{which} argument")
    largest = np.max(np.abs(array))
    if largest == 0:
        raise InputError(
            f"{which} argument is 0 everywhere: its alignment with anything is 0 / 0.",
            "Give a kernel matrix or targets that are not all 0.",
        )
    return np.asarray(array / largest)


def _numbers(given: ArrayLike, which: str) -> Matrix:
    """The argument as a vector or a square matrix."""
    try:
        array = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise InputError(
            f"{which} argument is neither a matrix nor a vector of real numbers.",
            "Give kernel values between points, or one number for each point: labels or targets.",
        ) from None
    if array.size == 0:
        raise InputError(f"{which} argument is empty: its shape is {array.shape}.", "Give at least one point.")
    return array if array.ndim == 1 else square(array, f"{which} argument")


def _centred(array: Matrix, which: str) -> Matrix:
    centred = array - array.mean(axis=0)
    if array.ndim == 2:
        centred -= centred.mean(axis=1)[:, None]
    if np.max(np.abs(centred)) <= LAST_DIGITS * len(array):
        raise InputError(
            f"{which} argument is constant, and centring makes it 0: its alignment with anything is 0 / 0.",
            "Give a kernel matrix or targets that vary between the points.",
        )
    return centred


def _cosine(K: Matrix, L: Matrix) -> float:
    if len(K) != len(L):
        raise InputError(
            f"The two arguments are on {len(K)} and on {len(L)} points.", "Give both on the same points, in one order."
        )
    cosine = _product(K, L) / (_norm(K) * _norm(L))
    return float(np.clip(cosine, -1.0, 1.0))  # rounding may carry it beyond


def _product(K: Matrix, L: Matrix) -> Any:
    if K.ndim == L.ndim:
        return np.sum(K * L) if K.ndim == 2 else (K @ L) ** 2
    matrix, y = (K, L) if K.ndim == 2 else (L, K)
    return y @ matrix @ y


def _norm(K: Matrix) -> Any:
    return np.linalg.norm(K) if K.ndim == 2 else K @ K
