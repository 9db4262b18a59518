"""Values and gradients of CVXPY expressions, and the parts of affine ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.cvxcore.python.canonInterface import get_problem_matrix
from cvxpy.lin_ops import lin_op as lo

#: Where an affine expression keeps its gradient, which is the same at every point.
KEPT = "_kopt_slopes"


def gradients_of(expression: cp.Expression) -> dict[cp.Variable, Any]:
    """CVXPY's gradient by variable; None where it has none, at this point or for this atom."""
    if expression.is_affine() and not expression.is_constant() and not expression.parameters():
        # A few affine atoms, such as x ** 1, have no coefficients that could be read off.
        with suppress(NotImplementedError):
            if KEPT not in expression.__dict__:
                expression.__dict__[KEPT] = _slopes_of_affine(expression)
            return dict(expression.__dict__[KEPT])
    try:
        with np.errstate(all="ignore"):
            return dict(expression.grad)
    except (NotImplementedError, TypeError, ValueError):  # atoms without a gradient, or outside their domain
        return dict.fromkeys(expression.variables())


def affine_parts(expression: cp.Expression) -> tuple[dict[int, sp.csr_array], np.ndarray]:
    """The Jacobian of an affine expression by variable id (entries x variable size), and its value at 0."""
    with restored(expression.variables()):
        for variable in expression.variables():
            variable.save_value(np.ones(variable.shape))  # CVXPY has no gradient of x ** 1 at 0
        gradients = gradients_of(expression)
        for variable in expression.variables():
            variable.save_value(np.zeros(variable.shape))
        offset = np.asarray(expression.value, dtype=float).ravel(order="F")
    return {v.id: sp.csr_array(g.T) for v, g in gradients.items()}, offset


def _slopes_of_affine(expression: cp.Expression) -> dict[cp.Variable, sp.csc_array]:
    """The gradient of an affine expression in one pass over its tree, where CVXPY's `grad` takes one for each atom."""
    variable, sign = (expression.args[0], -1.0) if isinstance(expression, NegExpression) else (expression, 1.0)
    if isinstance(variable, cp.Variable):
        return {variable: sp.csc_array(sp.diags_array(np.full(variable.size, sign)))}
    variables = expression.variables()
    ends = np.cumsum([0, *(variable.size for variable in variables)])
    offsets = {variable.id: int(start) for variable, start in zip(variables, ends, strict=False)}
    tree, _ = expression.canonical_form
    one = {lo.CONSTANT_ID: 1}
    tensor = get_problem_matrix([tree], int(ends[-1]), offsets, one, {lo.CONSTANT_ID: 0}, expression.size)
    stacked = sp.csr_array(tensor.reshape((int(ends[-1]) + 1, expression.size)))
    return {v: sp.csc_array(stacked[a:b]) for v, a, b in zip(variables, ends[:-1], ends[1:], strict=True)}


@contextmanager
def restored(variables: Iterable[cp.Variable]) -> Iterator[None]:
    """Give the variables back the values that they had."""
    saved = [(v, v.value) for v in variables]
    try:
        yield
    finally:
        for variable, value in saved:
            variable.save_value(value)
