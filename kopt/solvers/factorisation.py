"""Linear systems of a size that can be factorised: Cholesky, or the eigenvectors where the matrix is singular."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.linalg.lapack import dpocon

from kopt.gram import Gram
from kopt.kernels.points import blocks
from kopt.solvers.equality_program import EPS, TILE, EqualityProgram, Matrix, Vector

#: Corrections by the residual; each that helps gains several digits.
CORRECTIONS = 8
#: Eigenvalues below this fraction of the largest count as 0, the first that leaves the smallest residual.
CUTS = (0.0, 1e-12, 1e-10, 1e-8)
# A slope that is left, relative to its terms: none, so that no other factor is tried, and one that no point takes away.
EXACT = 1e-9
UNBOUNDED = 1e-6

#: Residuals of systems up to this size are computed in extended precision.
EXTENDED = 1000

Solve = Callable[[Vector], Vector]


def minimiser(program: EqualityProgram, z: Vector) -> Vector | None:
    """The z that minimises a program from a feasible point on; None where it is unbounded.

    With M = D P D between the directions that keep the rows, and 1 across them,

        z <- z - D M^{-1} D (P z + q)

    is exact in one step; it is repeated for the last digits. Where M is singular, x = M^+ slope is the shortest of
    the directions that lead to a minimiser.

    >>> from kopt.projection import Polyhedron
    >>> from kopt.quadratic import QuadraticProgram
    >>> free, q = np.full(2, np.inf), np.array([-3.0, 0.0])
    >>> curved = QuadraticProgram({}, (), np.array([1.0, 0.0]), q, Polyhedron(-free, free))
    >>> minimiser(EqualityProgram(curved), np.zeros(2)).tolist()
    [3.0, 0.0]
    >>> flat = QuadraticProgram({}, (), np.array([0.0, 1.0]), q, Polyhedron(-free, free))
    >>> print(minimiser(EqualityProgram(flat), np.zeros(2)))
    None
    """
    if program.size == 0:
        return z
    best, left, size = z, np.inf, program.slope_size(z)
    for solve in _inverses(program):
        candidate, slope = _corrected(program, z, solve)
        if slope < left:
            best, left = candidate, slope
        if left <= EXACT * size:
            break
    return best if left <= UNBOUNDED * size else None


def _inverses(program: EqualityProgram) -> Iterator[Solve]:
    """Ways to solve M x = slope, the fastest first."""
    factor = _cholesky(_between_rows(program))
    if factor is not None:
        yield lambda slope: cho_solve((factor, True), slope, check_finite=False)
    values, V = eigh(_between_rows(program), driver="evd", overwrite_a=True, check_finite=False)
    for cut in CUTS:
        kept = values > max(cut, len(values) * EPS) * values[-1]
        yield partial(_pseudo_inverse, V[:, kept], values[kept])


def _pseudo_inverse(V: Matrix, values: Vector, slope: Vector) -> Vector:
    return np.asarray(V @ ((V.T @ slope) / values))


def _between_rows(program: EqualityProgram) -> Matrix:
    """(I - W W') D P D (I - W W') + W W'."""
    M, W = program.matrix(), program.W
    if W.shape[1]:
        MW = M @ W
        left = np.hstack([W, MW])
        right = np.hstack([W @ (W.T @ MW + np.eye(W.shape[1])) - MW, -W])
        for rows in blocks(len(M), TILE // len(M)):
            M[rows] += left[rows] @ right.T
    return M


def _cholesky(M: Matrix) -> Matrix | None:
    """The lower factor of M, in the place of M; None where M is singular to rounding."""
    try:
        factor, _ = cho_factor(M.T, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    smallest, _ = dpocon(factor, 1.0, uplo="L")
    return factor if smallest > 10 * len(M) * EPS else None


def _corrected(program: EqualityProgram, z: Vector, solve: Solve) -> tuple[Vector, float]:
    """The point that a solver of M x = slope leads to, and the length of the slope that is left there."""
    slope = _slope(program, z)
    left = float(np.linalg.norm(slope))
    for _ in range(CORRECTIONS):
        candidate = program.moved(z, program.missing(z) - program.within(solve(slope)))
        slope = _slope(program, candidate)
        length = float(np.linalg.norm(slope))
        if not length < left:
            break
        z, left = candidate, length
    return z, left


def _slope(program: EqualityProgram, z: Vector) -> Vector:
    """The slope at z; of small programs in extended precision, which makes the solution good to its last digits."""
    precise = program.size <= EXTENDED
    gradient = program.gradient(z.astype(np.longdouble), _extended_product) if precise else program.gradient(z)
    return program.directional(gradient).astype(float)


def _extended_product(gram: Gram, c: Any) -> Any:
    if gram.features is None:
        return gram.dense.astype(np.longdouble) @ c
    F = gram.features.astype(np.longdouble)
    return F @ (F.T @ c)
