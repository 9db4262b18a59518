"""A sum taken apart into its terms."""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.affine.unary_operators import NegExpression


@dataclass(frozen=True)
class Term:
    """coefficient * expression, the numerical factors taken out of the expression."""

    coefficient: float
    expression: cp.Expression


def additive_terms(expression: cp.Expression, coefficient: float = 1.0) -> list[Term]:
    """The terms of which an expression is the sum.

    >>> x, y = cp.Variable(name="x"), cp.Variable(name="y")
    >>> [(t.coefficient, str(t.expression)) for t in additive_terms(3 * x - (x - cp.exp(y)) / 2)]
    [(3.0, 'x'), (-0.5, 'x'), (0.5, 'exp(y)')]
    """
    match expression:
        case AddExpression():
            return [term for part in expression.args for term in additive_terms(part, coefficient)]
        case NegExpression():
            return additive_terms(expression.args[0], -coefficient)
        case DivExpression() if _is_number(expression.args[1]):
            return additive_terms(expression.args[0], coefficient / float(expression.args[1].value))
        case MulExpression() | multiply():
            for factor, other in (expression.args, expression.args[::-1]):
                if _is_number(factor) and other.shape == expression.shape:
                    return additive_terms(other, coefficient * float(factor.value))
    return [Term(coefficient, expression)]


def _is_number(expression: cp.Expression) -> bool:
    return bool(expression.is_constant() and expression.is_scalar() and not expression.parameters())
