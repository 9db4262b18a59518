"""What the hyperspheres share."""

from typing import Any

import numpy as np


def squared_distances(s: Any, c: Any) -> np.ndarray:
    """||phi(x) - c||^2 for the points of s, from the values and the norm of c."""
    return np.asarray(s.diagonal() - 2 * c.values + c.norm_squared)
