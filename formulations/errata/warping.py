"""Dynamic time warping, for the errata about it."""

import numpy as np


def warped(costs: np.ndarray) -> float:
    """The least sum of costs along a path from the first to the last pair, by the recursion of the slides."""
    gamma = np.full((len(costs) + 1, len(costs[0]) + 1), np.inf)
    gamma[0, 0] = 0.0
    for k, row in enumerate(costs, start=1):
        for j, cost in enumerate(row, start=1):
            gamma[k, j] = cost + min(gamma[k - 1, j - 1], gamma[k - 1, j], gamma[k, j - 1])
    return float(gamma[-1, -1])


def squared_differences(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """(x_k - z_l)^2 for all k and l."""
    return np.subtract.outer(x, z) ** 2
