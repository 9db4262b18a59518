"""Small linear programs to which rows are added one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray

# Rows of length 1 that miss their limit by less than this hold; what is smaller than PIVOT is no pivot.
MISSED, PIVOT = 1e-12, 1e-9
MOST_PIVOTS = 500


@dataclass
class Corner:
    """The x with the largest gain'x under rows x <= limits, found by the dual simplex method from the last one on.

    For a few variables and rows that are added from call to call, a pivot or two take the place of a program that is
    set up anew, which takes HiGHS milliseconds.

    basis   as many rows as variables, independent, that hold with equality
    """

    basis: Array

    def move(self, gain: Array, rows: Array, limits: Array) -> tuple[Array, Array] | None:
        """x and the multipliers of the rows; None where the basis does not suit the gain, or pivots come to no end."""
        for _ in range(MOST_PIVOTS):
            B = rows[self.basis]
            try:
                inverse = np.linalg.inv(B)
            except np.linalg.LinAlgError:
                return None
            y, x = gain @ inverse, inverse @ limits[self.basis]
            if np.min(y) < -MISSED:
                return None
            x += inverse @ (limits[self.basis] - B @ x)
            excess = rows @ x - limits
            worst = int(np.argmax(excess))
            if excess[worst] <= MISSED:
                multipliers = np.zeros(len(rows))
                multipliers[self.basis] = np.maximum(y, 0.0)
                return x, multipliers
            shares = rows[worst] @ inverse
            possible = np.flatnonzero(shares > PIVOT)
            if not len(possible):
                return None
            # Of the rows that may leave but for rounding, the one that leaves the basis most independent.
            y, shares = np.maximum(y[possible], 0.0), shares[possible]
            least = np.min((y + MISSED / 10) / shares)
            self.basis[possible[np.argmax(np.where(y / shares <= least, shares, 0.0))]] = worst
        return None
