"""Feature space in coordinates, for programs that are handed to a solver."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from kopt.gram import Gram
from kopt.views.view import View


class ExplicitVector:
    """A vector given by its coordinates z in the basis of the factor Phi, K = Phi Phi'."""

    def __init__(self, gram: Gram, coordinates: cp.Expression, rows: Any) -> None:
        self.gram = gram
        self.coordinates = coordinates
        self.rows = slice(None) if rows is None else rows

    @property
    def values(self) -> cp.Expression:
        """Phi z."""
        return self.gram.factor[self.rows] @ self.coordinates

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
        return cp.quad_over_lin(self.coordinates, t)

    def __add__(self, other: ExplicitVector) -> ExplicitVector:
        return ExplicitVector(self.gram, self.coordinates + other.coordinates, self.rows)

    def __sub__(self, other: ExplicitVector) -> ExplicitVector:
        return ExplicitVector(self.gram, self.coordinates - other.coordinates, self.rows)

    def __mul__(self, factor: Any) -> ExplicitVector:
        return ExplicitVector(self.gram, factor * self.coordinates, self.rows)

    __rmul__ = __mul__


class ExplicitCombination(ExplicitVector):
    """sum_i e_i phi(x_i) for an expression e: needs the factor only where K itself does not serve."""

    def __init__(self, gram: Gram, coefficients: cp.Expression, rows: Any) -> None:
        self.gram = gram
        self.coefficients = coefficients
        self.rows = slice(None) if rows is None else rows

    @property
    def coordinates(self) -> cp.Expression:  # type: ignore[override]
        """Phi' e."""
        return self.gram.factor[self.rows].T @ self.coefficients

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
    def norm_squared(self) -> cp.Expression:
        """e' K e, as a quadratic form in the variable itself where e is a multiple of it, entry by entry.

        A bare quad_form(alpha, G) canonicalises to the n x n problem; other spellings add variables to it.
        """
        if self.coefficients.ndim > 1:
            return cp.sum_squares(self.coordinates)
        scaled = as_scaled_variable(self.coefficients)
        if scaled is None:
            return cp.quad_form(self.coefficients, cp.psd_wrap(self._matrix))
        variable, scale = scaled
        return cp.quad_form(variable, cp.psd_wrap(scale[:, None] * self._matrix * scale))


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
        rank = gram.factor.shape[1]
        variable = cp.Variable(rank if outputs is None else (rank, outputs), name=name)
        self.weights[name] = ExplicitVector(gram, variable, rows)
        return self.weights[name]

    def _symbolic_combination(self, gram: Gram, coefficients: cp.Expression, rows: Any) -> ExplicitVector:
        return ExplicitCombination(gram, coefficients, rows)


def as_scaled_variable(expression: cp.Expression) -> tuple[cp.Variable, np.ndarray] | None:
    """(variable, scale) if the expression is `scale * variable` entry by entry, else None."""
    variables = expression.variables()
    if len(variables) != 1 or variables[0].shape != expression.shape or not expression.is_affine():
        return None
    jacobian, offset = affine_parts(expression)
    matrix = jacobian[variables[0].id]
    diagonal = matrix.diagonal()
    if np.any(offset) or (matrix - sp.diags_array(diagonal)).count_nonzero():
        return None
    return variables[0], diagonal


def affine_parts(expression: cp.Expression) -> tuple[dict[int, sp.csr_array], np.ndarray]:
    """The Jacobian of an affine expression by variable id (entries x variable size), and its value at 0."""
    saved = [(variable, variable.value) for variable in expression.variables()]
    for variable, _ in saved:
        variable.save_value(np.zeros(variable.shape))
    offset = np.asarray(expression.value, dtype=float).ravel(order="F")
    jacobian = {v.id: sp.csr_array(np.atleast_2d(g) if np.isscalar(g) else g).T.tocsr()
                for v, g in expression.grad.items()}
    for variable, value in saved:
        variable.save_value(value)
    return jacobian, offset
