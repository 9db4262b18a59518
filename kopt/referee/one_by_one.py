"""The minimum of a convex function over non-negative numbers that do not meet each other, each of any size."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar

#: Minimisers other than 0 are looked for between these powers of ten, two of them apart at first.
POWERS = np.arange(-30.0, 31.0, 2.0)
#: The power of ten of a minimiser is found to this; its square is what the minimum is missed by.
FOUND = 1e-9
#: Sums over the numbers are the function, up to this part of their terms.
SAME = 1e-9


def least_one_by_one(function: Callable[[np.ndarray], float], size: int) -> float | None:
    """min f(x) over x >= 0, if f(x) - f(0) is a sum over the entries of x and None otherwise; -inf if it falls on.

    Solvers, which stop at absolute tolerances, lose minimisers of 1e-9 or 1e9; along a single number none is lost.

    >>> function = lambda x: (1e-9 * x[0]) ** 1.5 - 3e-27 * x[0] + x[1] ** 2 - 6 * x[1] + x[2]
    >>> least_one_by_one(function, 3)
    -9.0
    """
    origin, ones = np.zeros(size), np.ones(size)
    with np.errstate(all="ignore"):
        least_alone = [_least_along(function, axis) for axis in np.eye(size)]
        point = np.array([minimiser for minimiser, _ in least_alone])
        if not (_is_sum(function, ones) and _is_sum(function, np.where(np.isfinite(point), point, 1.0))):
            return None
        if not np.isfinite(point).all():
            return -np.inf
        return float(function(origin) + sum(least for _, least in least_alone))


def _least_along(function: Callable[[np.ndarray], float], axis: np.ndarray) -> tuple[float, float]:
    """The minimiser on an axis, infinite where the function falls on, and by how much it is above the value at 0."""
    at_zero = function(0 * axis)
    values = np.array([function(10.0**power * axis) for power in POWERS])
    best = int(np.argmin(values))
    if best == len(POWERS) - 1:
        return np.inf, -np.inf
    around = POWERS[max(best - 1, 0)], POWERS[best + 1]
    found = minimize_scalar(
        lambda power: function(10.0**power * axis), bounds=around, method="bounded", options={"xatol": FOUND}
    )
    return (10.0**found.x, found.fun - at_zero) if found.fun < at_zero else (0.0, 0.0)


def _is_sum(function: Callable[[np.ndarray], float], point: np.ndarray) -> bool:
    """Whether the value at a point is the sum of the values on the axes, up to rounding."""
    at_zero = function(0 * point)
    alone = np.array([function(row) for row in np.diag(point)]) - at_zero
    allowed = SAME * (abs(at_zero) + float(np.sum(np.abs(alone))))
    return bool(abs(function(point) - at_zero - float(np.sum(alone))) <= allowed)
