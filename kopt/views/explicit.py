"""Feature space in coordinates, for programs that are handed to a solver."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from kopt.gram import Gram
from kopt.views.view import View


class ExplicitVector:
    """A vector given by its coordinates z in the basis of the factor Phi, K = Phi Phi'."""

    def __init__(self, gram: Gram, coordinates: cp.Expression, rows: Any) -> None:
        self.gram = gram
        self.coordinates = coordinates
        self.rows = slice(None) if rows is None else rows
        self.divisors: list[Any] = []

    @property
    def values(self) -> cp.Expression:
        """Phi z."""
        Phi = self.gram.factor[self.rows]
        if Phi.shape[1] == 0:  # K = 0: one coordinate that is seen nowhere
            Phi = np.zeros((len(Phi), 1))
        return Phi @ self.coordinates

    @property
    def norm_squared(self) -> cp.Expression:
        """<z, z>."""
        return cp.sum_squares(self.coordinates)

    @property
    def norm(self) -> cp.Expression:
        """sqrt(<z, z>)."""
        return cp.norm(cp.vec(self.coordinates, order="F"), 2)

    def norm_squared_over(self, t: Any) -> cp.Expression:
        """<z, z> / t."""
        self.divisors.append(t)
        return cp.quad_over_lin(self.coordinates, t)

    def __add__(self, other: ExplicitVector) -> ExplicitVector:
        return ExplicitVector(self.gram, self.coordinates + other.coordinates, self.rows)

    def __sub__(self, other: ExplicitVector) -> ExplicitVector:
        return ExplicitVector(self.gram, self.coordinates - other.coordinates, self.rows)

    def __mul__(self, factor: Any) -> ExplicitVector:
        return ExplicitVector(self.gram, factor * self.coordinates, self.rows)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> ExplicitVector:
        return self * (1.0 / divisor)

    def __neg__(self) -> ExplicitVector:
        return self * -1.0


class ExplicitCombination(ExplicitVector):
    """sum_i e_i phi(x_i) for an expression e: needs the factor only where K itself does not serve."""

    def __init__(self, gram: Gram, coefficients: cp.Expression, rows: Any) -> None:
        self.gram = gram
        self.coefficients = coefficients
        self.rows = slice(None) if rows is None else rows

    @property
    def coordinates(self) -> cp.Expression:
        """Phi' e."""
        Phi = self.gram.factor[self.rows]
        return (Phi if Phi.shape[1] else np.zeros((len(Phi), 1))).T @ self.coefficients

    @property
    def values(self) -> cp.Expression:
        """K e."""
        return self._matrix @ self.coefficients

    @property
    def _matrix(self) -> np.ndarray:
        if isinstance(self.rows, slice):
            return self.gram.dense
        return self.gram.dense[np.ix_(self.rows, self.rows)]

    @property
    def norm(self) -> cp.Expression:
        """(e' K e)^(1/2), as a multiple of a norm of size 1: solvers measure cones in absolute terms."""
        return self._unit * cp.norm(cp.vec(self.coordinates / self._unit, order="F"), 2)

    def norm_squared_over(self, t: Any) -> cp.Expression:
        """e' K e / t, likewise."""
        return self._unit**2 * cp.quad_over_lin(self.coordinates / self._unit, t)

    @property
    def _unit(self) -> float:
        return float(np.sqrt(np.mean(self.gram.diagonal))) or 1.0

    @property
    def norm_squared(self) -> cp.Expression:
        """e' K e; K has been diagnosed, so CVXPY need not."""
        if self.coefficients.ndim > 1:
            return cp.sum_squares(self.coordinates)
        return cp.quad_form(self.coefficients, cp.psd_wrap(self._matrix))


class ExplicitView(View):
    """Weight vectors are variables in the coordinates of a factor of K."""

    def __init__(self, sample: Any) -> None:
        super().__init__(sample)
        self.weights: dict[str, ExplicitVector] = {}

    def weight(
        self, name: str, kernel: str | None = None, rows: Any = None, outputs: int | None = None
    ) -> ExplicitVector:
        """A variable with one coordinate per column of the factor."""
        gram = self.sample.gram(kernel)
        rank = max(1, gram.factor.shape[1])
        variable = cp.Variable(rank if outputs is None else (rank, outputs), name=name)
        self.weights[name] = ExplicitVector(gram, variable, rows)
        return self.weights[name]

    def _symbolic_combination(self, gram: Gram, coefficients: cp.Expression, rows: Any) -> ExplicitVector:
        return ExplicitCombination(gram, coefficients, rows)
