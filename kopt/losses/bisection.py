"""Bisection over the floating-point numbers themselves: after 64 halvings nothing is left between two of them."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

HALVINGS = 64
ALL_BUT_SIGN = np.int64(2**63 - 1)


def first(holds: Callable[[Array], NDArray[np.bool_]], low: ArrayLike, high: ArrayLike) -> Array:
    """The smallest number of [low, high] at which a condition holds that stays true once it is; else high.

    >>> float(first(lambda x: x**3 >= 8.0, -1e9, 1e9))
    2.0
    """
    below, above = _place(np.nextafter(low, -np.inf)), _place(np.asarray(high, dtype=float))
    for _ in range(HALVINGS):
        middle = (below | above) - ((below ^ above) >> 1)  # the mean rounded up, without overflow
        true = holds(_number(middle))
        below, above = np.where(true, below, middle), np.where(true, middle, above)
    return _number(above)


def _place(x: Array) -> NDArray[np.int64]:
    """The place of a number in the order of all."""
    bits = np.asarray(x, dtype=np.float64).view(np.int64)
    return bits ^ ((bits >> 63) & ALL_BUT_SIGN)


def _number(place: NDArray[np.int64]) -> Array:
    bits = np.asarray(place ^ ((place >> 63) & ALL_BUT_SIGN))
    return bits.view(np.float64)
