"""Linear programs over weights whose combination has to be positive semi-definite."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import linprog

from formulations.kernel_learning.cone import INDEFINITE, forms, is_semidefinite, most_negative
from formulations.kernel_learning.masters import TIGHT
from kopt import View

MOST_ROUNDS = 200


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
            V = most_negative(K)
        return mu

    def _rows(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """-v' K(D x) v <= v' K(base) v for every column v, each divided by its largest number.

        Vectors on which all kernels vanish, up to rounding, cut nothing off.
        """
        images = forms(self.s, V).T
        rows, limits = -images @ self.D, images @ self.base
        size = np.max(np.abs(rows), axis=1, initial=0.0)
        seen = size > INDEFINITE * len(V) * np.max(self.s.traces @ np.abs(self.D), initial=0.0)
        return rows[seen] / size[seen, None], limits[seen] / size[seen]
