"""Linear programs over weights whose combination has to be positive semi-definite."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import linprog

from formulations.kernel_learning.cone import AT_ONCE, COUNTS, INDEFINITE, forms, is_semidefinite, most_negative
from formulations.kernel_learning.masters import TIGHT
from kopt import View

MOST_ROUNDS = 200
# From so many points on a few eigenvectors cost less than all of them.
LARGE = 60


@dataclass(frozen=True)
class CutProgram:
    """min cost' x over A x <= b such that the combination of the kernels with mu = base + D x is semi-definite.

    Every vector v cuts off the weights with v' K v < 0: a linear program, to which the eigenvectors of the negative
    eigenvalues at its solution are added until there is none.
    """

    s: View
    base: np.ndarray
    D: np.ndarray
    cost: np.ndarray
    A: np.ndarray
    b: np.ndarray
    bounds: list[tuple[float | None, float | None]] = field(default_factory=lambda: [(None, None)])

    def solved(self, V: np.ndarray) -> np.ndarray:
        """The weights, beginning with the columns of V as cuts; semi-definite up to the rounding of the programs."""
        A, b, mu = self.A, self.b, self.base
        for _ in range(MOST_ROUNDS):
            rows, limits = self._rows(V)
            A, b = np.vstack([A, rows]), np.append(b, limits)
            answer: Any = linprog(self.cost, A_ub=A, b_ub=b, bounds=self.bounds, options=TIGHT)
            if answer.x is None:
                return mu
            mu = self.base + self.D @ answer.x
            K = self.s.mixture(mu)
            if is_semidefinite(K):
                return mu
            V = self._cutting(K)
        return mu

    def _cutting(self, K: np.ndarray) -> np.ndarray:
        """What `most_negative` finds; of a large matrix no other eigenvectors are computed."""
        if len(K) < LARGE:
            return most_negative(K)
        values, vectors = eigh(K, subset_by_index=(0, AT_ONCE - 1), check_finite=False)
        return np.asarray(vectors[:, values <= COUNTS * values[0]])

    def _rows(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """-v' K(D x) v <= v' K(base) v for every column v, each divided by its largest number.

        Vectors on which all kernels vanish, up to rounding, cut nothing off.
        """
        images = forms(self.s, V).T
        rows, limits = -images @ self.D, images @ self.base
        size = np.max(np.abs(rows), axis=1, initial=0.0)
        seen = size > INDEFINITE * len(V) * np.max(self.s.traces @ np.abs(self.D), initial=0.0)
        return rows[seen] / size[seen, None], limits[seen] / size[seen]
