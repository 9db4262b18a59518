"""What the hyperspheres share."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from formulations.statements import case_claims
from kopt import Claim, Point


def squared_distances(s: Any, c: Any) -> np.ndarray:
    """||phi(x) - c||^2 for the points of s, from the values and the norm of c."""
    return np.asarray(s.diagonal() - 2 * c.values + c.norm_squared)


def sphere_claims(
    s: Any, primal: Point, alpha: np.ndarray, price: np.ndarray, scale: float, bound: str
) -> Iterator[Claim]:
    """alpha is 0 in the interior and at its bound outside; points with another alpha are on the surface."""
    excess, unit = squared_distances(s, primal.c) - primal.R, float(np.max(s.diagonal()))
    yield from case_claims(alpha, primal.xi, excess, price, scale, unit, ("r^2", "d^2"), bound)
