"""A quadratic program without inequalities: gradients, feasible directions, and units that fit both."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kopt.gram import Gram
from kopt.kernels.points import blocks
from kopt.quadratic import KernelTerm, QuadraticProgram

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Product = Callable[[Gram, Vector], Vector]

EPS = float(np.finfo(float).eps)
# Rows are in conflict when the nearest point misses them by more than this, relative to their terms.
CONFLICT = 1e-10
# Entries of P that are filled at a time.
TILE = 2**17


class EqualityProgram:
    """min 1/2 z' P z + q' z  subject to  A z = b, and z_j = lower_j where the bounds are equal.

    A direction x holds one number for each free coordinate, in units in which no diagonal entry of P exceeds 1: it
    stands for the change D x of these coordinates, D_j = 1 / sqrt(P_jj). It keeps the rows where W' x = 0, with W an
    orthonormal basis of the rows of A D.

    >>> from kopt.projection import Polyhedron
    >>> free = np.full(2, np.inf)
    >>> rows = Polyhedron(-free, free, A=[[1.0, 1.0]], b=[2.0])
    >>> program = EqualityProgram(QuadraticProgram({}, (), np.array([1.0, 4.0]), np.zeros(2), rows))
    >>> z = program.nearest(np.zeros(2))
    >>> z.round(6).tolist(), program.directional(program.gradient(z)).round(6).tolist()
    ([1.6, 0.4], [0.0, 0.0])
    """

    def __init__(self, program: QuadraticProgram) -> None:
        self.program = program
        lower, upper = program.feasible.box
        self.free = np.flatnonzero(lower < upper)
        self.fixed = np.flatnonzero(lower == upper)
        self.A, self.b, _ = program.feasible.rows

    @property
    def size(self) -> int:
        """The number of free coordinates."""
        return len(self.free)

    @cached_property
    def unit(self) -> Vector:
        """The diagonal of D; a coordinate without curvature has the unit of a typical one."""
        curvature = self.program.shift[self.free]
        for term in self.program.terms:
            curvature += 2 * term.factor * (abs(term.J[:, self.free]).T @ term.gram.lengths) ** 2
        typical = float(curvature.mean()) if curvature.any() else 1.0
        return 1 / np.sqrt(np.where(curvature > EPS**2 * typical, curvature, typical))

    @cached_property
    def shift(self) -> Vector:
        """The diagonal that P has apart from its kernel terms, in the units of directions."""
        return np.maximum(self.unit**2 * self.program.shift[self.free], 0.0)

    @cached_property
    def _rows(self) -> tuple[Matrix, Matrix, Matrix]:
        """W, and for the rows scaled to length 1 the map from what they miss to the shortest x that mends it."""
        rows = self.A[:, self.free].toarray() * self.unit
        length = np.linalg.norm(rows, axis=1)
        length[length == 0] = 1.0
        U, s, Vt = np.linalg.svd(rows / length[:, None], full_matrices=False)
        kept = s > max(rows.shape) * EPS * s.max(initial=0.0)
        W = np.ascontiguousarray(Vt[kept].T)
        return W, (W / s[kept]) @ U[:, kept].T, length

    @property
    def W(self) -> Matrix:
        """An orthonormal basis of the rows of A D, one column each."""
        return self._rows[0]

    def nearest(self, z: Vector) -> Vector | None:
        """The point with A z = b that lies nearest to z in the units of directions; None where there is none."""
        z = z.copy()
        z[self.fixed] = self.program.feasible.box[0][self.fixed]
        for _ in range(2):  # once more, for the last digits
            z = self.moved(z, self.missing(z))
        terms = abs(self.A) @ np.abs(z) + np.abs(self.b)
        return z if (np.abs(self.A @ z - self.b) <= CONFLICT * terms).all() else None

    def missing(self, z: Vector) -> Vector:
        """The shortest direction from z to the rows."""
        _, mend, length = self._rows
        missed = self.b - self.A @ z.astype(np.longdouble)
        return np.asarray(mend @ (missed / length).astype(float))

    def moved(self, z: Vector, x: Vector) -> Vector:
        """The point z + D x."""
        z = z.copy()
        z[self.free] += self.unit * x
        return z

    def gradient(self, z: Vector, product: Product = Gram.product) -> Vector:
        """P z + q, with one product by each Gram matrix."""
        return self._curvature(z, product) + self.program.linear

    def directional(self, gradient: Vector) -> Vector:
        """A gradient as a slope along directions, without the part that the rows forbid."""
        return self.within(self.unit * gradient[self.free])

    def slope_size(self, z: Vector) -> float:
        """The length that the slope at z would have if q and P z did not cancel."""
        parts = self.program.linear, self._curvature(z)
        return sum(float(np.linalg.norm(self.unit * part[self.free])) for part in parts)

    def within(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """The part of x, or of each of its columns, along which the rows stay as they are."""
        return np.asarray(x - self.W @ (self.W.T @ x)) if self.W.size else x

    def product(self, x: Vector) -> Vector:
        """D P D x on the free coordinates."""
        z = np.zeros_like(self.program.linear)
        z[self.free] = self.unit * x
        return np.asarray(self.unit * self._curvature(z)[self.free])

    def _curvature(self, z: Vector, product: Product = Gram.product) -> Vector:
        Pz = self.program.shift * z
        for term in self.program.terms:
            Pz += 2 * term.factor * (term.J.T @ product(term.gram, term.J @ z))
        return Pz

    def columns(self, term: KernelTerm) -> sp.csr_array:
        """J D of a kernel term, on the free coordinates, times sqrt(2 factor)."""
        return sp.csr_array(term.J[:, self.free] * (np.sqrt(2 * term.factor) * self.unit))

    def matrix(self) -> Matrix:
        """The matrix D P D of the free coordinates."""
        P = np.zeros((self.size, self.size))
        for term in self.program.terms:
            F = term.gram.features  # products by F are nearer to the truth than those by F F', once that is formed
            _add_congruent(P, term.gram.dense if F is None else F @ F.T, self.columns(term))
        P.flat[:: self.size + 1] += self.shift
        return P


def _add_congruent(P: Matrix, K: Matrix, J: sp.csr_array) -> None:
    """P += J' K J; by tiles where J is diagonal, because memory costs more time than the products."""
    scale = J.diagonal()
    if J.shape != K.shape or J.nnz != np.count_nonzero(scale):
        P += J.T @ (J.T @ K).T
    else:
        for rows in blocks(len(P), TILE // len(P)):
            P[rows] += scale[rows, None] * K[rows] * scale
