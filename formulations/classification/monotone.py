"""The zero of an increasing function: offsets of machines with a smooth loss."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

LAST_DIGITS = 4 * float(np.finfo(float).eps)


def zero_of_increasing(f: Callable[[float], float], low: float, high: float) -> float:
    """Where an increasing function changes sign in [low, high], to the last digits; an end where it does not.

    >>> round(zero_of_increasing(lambda t: t**3 - 8, 0.0, 5.0), 14)
    2.0
    """
    if f(low) >= 0:
        return low
    if f(high) <= 0:
        return high
    finest = LAST_DIGITS * max(abs(low), abs(high))
    return float(brentq(f, low, high, xtol=finest, rtol=LAST_DIGITS, maxiter=1000))
