"""Values, gradients and sizes of CVXPY expressions at a point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.affine_atom import AffAtom
from cvxpy.atoms.atom import Atom

from kopt.gradients import gradients_of
from kopt.views import ProductView

# CVXPY modules whose atoms are differentiable inside their domain.
_SMOOTH = {
    "power", "quad_over_lin", "quad_form", "logistic", "exp", "log", "log1p", "entr", "huber", "log_sum_exp",
    "kl_div", "rel_entr", "log_det", "tr_inv", "matrix_frac", "xexp",
}  # fmt: skip


@dataclass(frozen=True)
class FirstOrder:
    """An expression at a point: value and gradient, entries in column-major order.

    gradients   by id of the variable, variable size x expression size
    magnitude   per entry, the sum of the absolute values of its first-order terms
    floor       what the norms in it count for at least, but no more than the terms beside them where there are any
    rounding    an estimate of the rounding that its norms carry
    """

    value: np.ndarray
    gradients: dict[int, sp.csr_array]
    magnitude: np.ndarray
    floor: float
    rounding: float

    @property
    def size(self) -> float:
        """The largest magnitude of an entry."""
        return float(np.max(self.magnitude, initial=0.0))

    def typical(self, variable: int) -> float:
        """How large a variable would be if its terms alone made up an entry of the expression."""
        if variable not in self.gradients:
            return np.inf
        weight = np.abs(self.gradients[variable]).sum(axis=0)
        seen = weight > 0
        return float(np.max(self.magnitude[seen] / weight[seen])) if seen.any() else np.inf


def first_order(expression: cp.Expression, view: ProductView) -> FirstOrder:
    """Value, gradient and magnitude of an expression at the point to which the view is bound."""
    value = np.asarray(expression.value, dtype=float).ravel(order="F")
    leaves = view.leaves
    gradients: dict[int, sp.csr_array] = {}
    linear = np.zeros(value.size)
    magnitude = np.zeros(value.size)
    floor = rounding = 0.0
    beside = np.zeros(value.size)
    for variable, gradient in gradients_of(expression).items():
        matrix = _matrix(gradient, variable.size, value.size)
        gradients[variable.id] = matrix
        if gradient is None:  # the whole value then counts as one term
            continue
        x = np.asarray(variable.value, dtype=float).ravel(order="F")
        linear += matrix.T @ x
        terms = np.abs(matrix).T @ np.abs(x)
        magnitude += terms
        if variable.id not in leaves:
            beside += terms
        else:
            slopes = np.asarray(np.abs(matrix).sum(axis=1)).ravel()
            floor += float(np.sum(slopes)) * leaves[variable.id].floor(variable)
            rounding += float(np.sum(slopes * leaves[variable.id].rounding(variable)))
    constant = np.abs(value - linear)
    others = float(np.max(beside + constant, initial=0.0))
    floor = min(floor, others) if others > 0 else floor
    return FirstOrder(value, gradients, magnitude + constant, floor, rounding)


def _matrix(gradient: Any, rows: int, columns: int) -> sp.csr_array:
    if gradient is None:  # outside the domain of an atom: no slope is known
        return sp.csr_array((np.full(rows, np.nan), (np.arange(rows), np.zeros(rows, dtype=int))), (rows, columns))
    if not sp.issparse(gradient):
        gradient = np.asarray(gradient, dtype=float).reshape(rows, columns)
    return sp.csr_array(gradient)


def kinked_variables(expression: cp.Expression) -> set[int]:
    """The variables, by id, that enter through an atom that is not differentiable everywhere."""
    curved = isinstance(expression, Atom) and not isinstance(expression, AffAtom)
    if curved and type(expression).__module__.rsplit(".", 1)[-1] not in _SMOOTH:
        return {variable.id for variable in expression.variables()}
    return set().union(*(kinked_variables(arg) for arg in expression.args))
