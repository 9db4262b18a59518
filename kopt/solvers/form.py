"""A kernel term, and its products with K as the variables change."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kopt.gram.columns import Columns
from kopt.quadratic import KernelTerm

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]


class Form:
    """A kernel term factor (J z)' K (J z), and the products K (J z) at the point z where a descent is."""

    def __init__(self, term: KernelTerm, budget: float) -> None:
        self.factor, self.gram, self.J = term.factor, term.gram, sp.csc_array(term.J)
        self.columns = Columns(self.gram)
        self.products = np.zeros(self.gram.n)
        if self.gram.features is None and self.gram.fused is None and 8 * self.gram.n**2 <= budget:
            _ = self.gram.dense  # values that no compiled code computes are computed once

    @property
    def gradient(self) -> Vector:
        """2 factor J' K J z."""
        return np.asarray(2 * self.factor * (self.J.T @ self.products))

    def value(self, z: Vector) -> float:
        """The term itself."""
        return self.factor * self.gram.norm_squared(self.J @ z, self.products)

    def orthogonal(self, z: Vector) -> float:
        """What the term would be if the points were orthogonal."""
        return self.factor * float((self.J @ z) ** 2 @ self.gram.diagonal)

    def rounding(self, z: Vector) -> float:
        """What of the term may be rounding."""
        return self.factor * self.gram.rounding(self.J @ z)

    def refresh(self, z: Vector) -> None:
        """Compute the products anew, in double precision."""
        self.products = self.gram.product(self.J @ z)

    def add(self, where: Indices, change: Vector, single: bool) -> None:
        """Bring the products up to date after some variables have changed."""
        coefficients = self.J[:, where] @ change
        points = np.flatnonzero(coefficients)
        self.columns.add(points, coefficients[points], self.products, single)

    def block(self, where: Indices) -> Matrix:
        """The rows and columns `where` of 2 factor J' K J."""
        J = sp.csr_array(self.J[:, where].T)
        points = np.unique(J.indices)
        J = J[:, points]
        return np.asarray(2 * self.factor * (J @ (J @ self.columns.block(points, single=False)).T))
