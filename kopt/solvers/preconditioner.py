"""An approximate inverse of a quadratic program's matrix, from a partial Cholesky factor of each Gram matrix."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from kopt.gram import Gram
from kopt.gram.pivoted import pivoted_cholesky
from kopt.solvers.equality_program import EqualityProgram, Matrix, Vector

# Diagonal entries of the rest that count as 0, relative to the largest of K.
DEPENDENT = 1e-10
# The least entry of d: far above rounding, and far below any curvature that counts.
LEAST = 1e-8
# What the factor may leave of the trace, relative to the shift: a tenth costs an iteration at most.
NEGLIGIBLE = 0.1


class Preconditioner:
    """M^{-1} for M = F F' + diag(d), on the directions of a program that keep its rows.

    F F' stands for the kernel terms, and d is the shift with the mean of what F F' leaves of their diagonal. With
    B = diag(d)^{-1/2} F,

        M^{-1} = diag(d)^{-1/2} (I - B (I + B' B)^{-1} B') diag(d)^{-1/2}

    by Woodbury's formula, and what leaves the rows is taken out: M^{-1} - M^{-1} W (W' M^{-1} W)^{-1} W' M^{-1}.
    """

    def __init__(self, program: EqualityProgram, rank: int) -> None:
        self._B, rest = _factor(program, rank)
        self._root = 1 / np.sqrt(np.maximum(program.shift + rest.mean(), LEAST))
        self._B *= self._root[:, None]
        small = self._B.T @ self._B
        self._small = cho_factor(small + np.eye(len(small)))
        self._W, self._MW = program.W, np.zeros_like(program.W)
        for j, w in enumerate(program.W.T):
            self._MW[:, j] = self._inverse(w)

    def __call__(self, slope: Vector) -> Vector:
        """M^{-1} slope, within the rows."""
        x = self._inverse(slope)
        return np.asarray(x - self._MW @ np.linalg.solve(self._W.T @ self._MW, self._W.T @ x))

    def _inverse(self, slope: Vector) -> Vector:
        u = self._root * slope
        along = self._B.T @ u
        return np.asarray(self._root * (u - self._B @ cho_solve(self._small, along) if along.size else u))


def _factor(program: EqualityProgram, rank: int) -> tuple[Matrix, Vector]:
    """F with F F' near the kernel terms between the rows, and what it leaves of their diagonal.

    What the rows forbid is taken out, because it may be all that is large: the mean of points far from the origin.
    """
    factors, rest = [], np.zeros(program.size)
    for term in program.program.terms:
        columns = program.columns(term)
        enough = NEGLIGIBLE * float(program.shift.mean() * term.gram.diagonal.mean())
        L, remaining = _partial(term.gram, rank, enough)
        factors.append(program.within(columns.T @ L))
        rest += columns.power(2).T @ remaining
    return factors[0] if len(factors) == 1 else np.hstack([np.zeros((program.size, 0)), *factors]), rest


def _partial(gram: Gram, rank: int, enough: float) -> tuple[Matrix, Vector]:
    """L with K = L L' + rest, and the diagonal of the rest; explicit features are L where they are few enough."""
    if gram.features is not None and gram.features.shape[1] <= rank:
        return gram.features, np.zeros(gram.n)
    part = pivoted_cholesky(gram, DEPENDENT, rank, enough=enough)
    return part.L, part.remaining
