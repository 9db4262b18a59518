"""The bounds that the rows of a polyhedron imply where its box has none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kopt.projection import Polyhedron

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]


def implied_box(feasible: Polyhedron) -> tuple[Vector, Vector]:
    """The bounds of each variable; where they are infinite, what the rows say given the bounds of the others.

    >>> lower, upper = implied_box(Polyhedron(np.zeros(3), np.full(3, np.inf), np.ones((1, 3)), [2.0]))
    >>> upper.tolist()
    [2.0, 2.0, 2.0]
    """
    lower, upper = (bound.copy() for bound in feasible.box)
    B, right, equality = feasible.rows
    for _ in range(len(right)):  # a bound from one row may give another from the next
        if np.isfinite(lower).all() and np.isfinite(upper).all():
            break
        for i, side in enumerate(right):
            where, b = B.indices[B.indptr[i] : B.indptr[i + 1]], B.data[B.indptr[i] : B.indptr[i + 1]]
            _imply(lower, upper, where, b, side)
            if equality[i]:
                _imply(lower, upper, where, -b, -side)
    return lower, upper


def _imply(lower: Vector, upper: Vector, where: Indices, b: Vector, side: float) -> None:
    """Replace infinite bounds by those that sum_j b_j v_j <= side implies when all others are at their least."""
    least = b * np.where(b > 0, lower[where], upper[where])
    unknown = np.isinf(least)
    if np.sum(unknown) > 1:
        return
    others = np.sum(least[~unknown]) - np.where(unknown, 0.0, least)
    said = unknown if unknown.any() else np.ones(len(b), dtype=bool)
    above, below = said & (b > 0) & np.isinf(upper[where]), said & (b < 0) & np.isinf(lower[where])
    upper[where[above]] = np.maximum((side - others[above]) / b[above], lower[where[above]])
    lower[where[below]] = np.minimum((side - others[below]) / b[below], upper[where[below]])
