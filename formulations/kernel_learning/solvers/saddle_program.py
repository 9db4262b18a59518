"""Saddle points of quadratic programs whose matrix is a weighted sum, the weights being chosen against them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Protocol

import numpy as np

from formulations.kernel_learning.solvers.weight_set import largest_gain

Vector = np.ndarray
Matrix = np.ndarray


class Sums(Protocol):
    """The sums sum_k theta_k K_k of some matrices K_k.

    n, count    the order of the matrices, and their number
    diagonals   those of the matrices, a row for each
    """

    n: int
    count: int
    diagonals: Matrix

    def images(self, e: Vector) -> Matrix:
        """The vectors K_k e, a row for each matrix."""

    def lower_sum(self, theta: Vector) -> Matrix:
        """The sum on and below its diagonal; the next one may be in the same memory."""


@dataclass(frozen=True, eq=False)
class SaddleProgram:
    """max over z, min over theta of  gain'z - 1/2 z' diag(shift) z - 1/2 sum_k theta_k e'K_k e,  e = J z,

        s.t.  lower <= z <= upper,   B z = c,   theta >= 0,   sum_k theta_k^p <= 1.

    J has at most one entry in each column: z_i belongs to the point `owner[i]`, or to none where that is -1, and
    enters e there with the factor a_i. Rows are few and dense.
    """

    grams: Sums
    owner: np.ndarray
    a: Vector
    gain: Vector
    shift: Vector
    lower: Vector
    upper: Vector
    B: Matrix
    c: Vector
    p: float

    def spread(self, z: Vector) -> Vector:
        """e = J z."""
        used = self.owner >= 0
        return np.bincount(self.owner[used], (self.a * z)[used], minlength=self.grams.n)

    def gathered(self, values: Vector) -> Vector:
        """J' v, for one vector v or for several in rows."""
        return np.where(self.owner >= 0, self.a * values[..., self.owner], 0.0)

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """All ordered pairs of different variables that belong to one point."""
        used = np.flatnonzero(self.owner >= 0)
        order = used[np.argsort(self.owner[used], kind="stable")]
        several = np.flatnonzero(np.bincount(self.owner[used], minlength=1) > 1)
        left = np.searchsorted(self.owner[order], several, side="left")
        right = np.searchsorted(self.owner[order], several, side="right")
        groups = [order[start:stop].tolist() for start, stop in zip(left, right, strict=True)]
        pairs = [pair for group in groups for pair in permutations(group, 2)]
        first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        return first, second

    @property
    def curvature(self) -> Vector:
        """The mean over k of the diagonals of J'K_kJ, and the shift."""
        return self.shift + self.gathered(self.grams.diagonals.mean(axis=0)) * self.a

    def value(self, z: Vector, q: Vector) -> float:
        """The objective at z, with the weights that are best against it."""
        return float(self.gain @ z - z @ (self.shift * z) / 2) - largest_gain(q, self.p) / 2
