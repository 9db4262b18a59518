"""The minimum of a convex function over non-negative numbers that do not meet each other, each of any size."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from kopt.gradients import gradients_of

#: Minimisers are looked for between these powers of ten, and are zero where a slope is positive at the lower one.
LOWEST, HIGHEST = -30.0, 30.0
STEPS = 64
#: A slope vanishes if it is this small beside those a thousandth further on either side.
VANISHES, BESIDE = 1e-6, 1e-3


def least_one_by_one(function: cp.Expression, x: cp.Variable) -> float | None:
    """The minimum over x >= 0 by bisection of every slope at once; -inf where it falls on; None where entries meet.

    Where the slopes vanish together the point is a minimiser, whether or not entries meet: the function is convex.

    >>> x = cp.Variable(3)
    >>> function = cp.sum(cp.power(cp.multiply([1e-9, 1.0, 1e9], x), 1.5)) - 3 * x[0] - x[2]
    >>> f"{least_one_by_one(function, x):.6g}, at {x.value[0]:.6g}, {x.value[1]:.6g}, {x.value[2]:.6g}"
    '-4e+27, at 4e+27, 0, 4.44444e-28'
    """
    low, high = np.full(x.size, LOWEST), np.full(x.size, HIGHEST)
    with np.errstate(all="ignore"):
        if np.any(_slopes(function, x, 10.0**high) < 0):
            return -np.inf
        rising = _slopes(function, x, 10.0**low) >= 0
        for _ in range(STEPS):
            middle = (low + high) / 2
            above = _slopes(function, x, 10.0**middle) > 0
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        point = 10.0 ** ((low + high) / 2)
        beside = [np.abs(_slopes(function, x, point * (1 + t))) for t in (-BESIDE, BESIDE)]
        missed = np.where(rising, 0.0, np.abs(_slopes(function, x, point)))
        if not np.all(missed <= VANISHES / BESIDE * np.maximum(*beside)):
            return None
        x.save_value(np.where(rising, 0.0, point).reshape(x.shape, order="F"))
        return float(function.value)


def _slopes(function: cp.Expression, x: cp.Variable, point: np.ndarray) -> np.ndarray:
    x.save_value(point.reshape(x.shape, order="F"))
    gradient = gradients_of(function).get(x)
    if gradient is None:
        return np.full(x.size, np.nan)
    return np.asarray(gradient.toarray() if sp.issparse(gradient) else gradient, dtype=float).ravel()
