"""Saddle points of quadratic programs whose matrix is a weighted sum, the weights being chosen against them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

Vector = np.ndarray
Matrix = np.ndarray

#: Added to the diagonal that is factorised, relative to that of the matrices, and per row.
PROXIMAL, ROUNDING = 1e-12, 1e-15
#: So many times that is added once more, one after the other, where a factor does not exist.
MORE = (0.0, 1e3, 1e6)
#: Points to which no variable belongs do not move.
FIXED = 1e200


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

    def dual_size(self, q: Vector) -> float:
        """max theta'q over the weights: the norm of q in p* = p / (p - 1)."""
        largest = float(np.max(q))
        if self.p == 1 or largest <= 0:
            return max(largest, 0.0)
        return largest * float(np.sum((np.maximum(q, 0.0) / largest) ** (self.p / (self.p - 1)))) ** (1 - 1 / self.p)

    def value(self, z: Vector, q: Vector) -> float:
        """The objective at z, with the weights that are best against it."""
        return float(self.gain @ z - z @ (self.shift * z) / 2) - self.dual_size(q) / 2


class Newton:
    """H = D + J'G J factorised, with G = sum_k theta_k K_k and a diagonal D >= 0.

    With T_j = sum_i a_i^2 / D_i over the variables of point j, and omega_i = a_i^2 / (D_i T_j),

        H z = f   where   (G + T^-1) e = m,   m_j = sum_i omega_i f_i / a_i,

        a_i z_i = omega_i e_j + a_i^2 / D_i (f_i / a_i - m_j).

    The last bracket vanishes where i is alone with its point; among several it is a sum over the others, free of
    cancellation: the entries of D differ by many orders of magnitude.
    """

    def __init__(self, program: SaddleProgram, theta: Vector, D: Vector) -> None:
        grams = program.grams
        small = (PROXIMAL + ROUNDING * grams.n) * float(theta @ grams.diagonals.mean(axis=1))
        self.used, self.alone = np.flatnonzero(program.owner >= 0), np.flatnonzero(program.owner < 0)
        self.owner, self.a = program.owner[self.used], program.a[self.used]
        self.D = D[self.alone] + small
        self.parts = self.a**2 / (D[self.used] + small * self.a**2)
        T = np.bincount(self.owner, self.parts, minlength=grams.n)
        self.inverse = np.divide(1.0, T, out=np.full(grams.n, FIXED), where=T > 0)
        self.omega = self.parts * self.inverse[self.owner]
        self.pairs = np.searchsorted(self.used, program.pairs)
        self.factor = self._factorised(grams, theta, small)

    def _factorised(self, grams: Sums, theta: Vector, small: float) -> Matrix:
        for times in MORE:
            M = grams.lower_sum(theta)
            M[np.diag_indices(grams.n)] += self.inverse + times * small
            factor, missing = dpotrf(M.T, lower=0, overwrite_a=1, clean=0)
            if not missing:
                return np.asarray(factor)
        raise np.linalg.LinAlgError("The matrix of the Newton system is not positive definite.")

    def solve(self, f: Matrix) -> Matrix:
        """H^-1 f, for several columns f."""
        z, targets = np.empty_like(f), f[self.used] / self.a[:, None]
        z[self.alone] = f[self.alone] / self.D[:, None]
        means = np.zeros((len(self.inverse), f.shape[1]))
        np.add.at(means, self.owner, self.omega[:, None] * targets)
        e, _ = dpotrs(self.factor, means, lower=0)
        moves, (i, j) = self.omega[:, None] * e[self.owner], self.pairs
        np.add.at(moves, i, (self.parts[i] * self.omega[j])[:, None] * (targets[i] - targets[j]))
        z[self.used] = moves / self.a[:, None]
        return z
