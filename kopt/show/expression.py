"""CVXPY expressions and constraints as short text."""

from __future__ import annotations

import re

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.affine.promote import Promote
from cvxpy.atoms.affine.sum import Sum
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.atoms.elementwise.power import Power
from cvxpy.atoms.pnorm import Pnorm
from cvxpy.atoms.quad_over_lin import quad_over_lin
from cvxpy.constraints.constraint import Constraint
from cvxpy.constraints.nonpos import Inequality
from cvxpy.constraints.zero import Equality

LONGEST = 80


class Writer:
    """Expressions as CVXPY writes them, but for brackets, arrays and the arguments that nobody wrote.

    Subclasses say what to call a variable and an array of numbers.

    >>> alpha, b = cp.Variable(3, name="alpha"), cp.Variable(name="b")
    >>> Writer().text(cp.sum(alpha) - 0.5 * cp.sum_squares(np.eye(3) @ alpha))
    'sum(alpha) - 0.5 * sum_squares([..] @ alpha)'
    >>> Writer().text(np.arange(3) @ alpha + alpha[0] * b == 1), Writer().text(alpha >= 0)
    ('[..] @ alpha + alpha[0] * b == 1', 'alpha >= 0')
    """

    def variable(self, variable: cp.Variable) -> str:
        """What a variable is called."""
        return str(variable.name())

    def number(self, value: float) -> str:
        """What a number is called."""
        return f"{value:.6g}"

    def array(self, value: np.ndarray) -> str:
        """What an array of numbers is called."""
        return "[..]"

    def text(self, expression: cp.Expression | Constraint) -> str:
        """An expression, or a constraint with its constant on the right, on one line of bounded length."""
        match expression:
            case Equality() | Inequality():
                left, right = expression.args
                relation, turned = ("==", "==") if isinstance(expression, Equality) else ("<=", ">=")
                if left.is_constant():
                    left, right, relation = right, left, turned
                line = f"{self._written(left)} {relation} {self._written(right)}"
            case cp.PSD():
                line = f"{self._written(expression.args[0])} >> 0"
            case Constraint():
                line = str(expression)
            case _:
                line = self._written(expression)
        line = re.sub(r"\s+", " ", line).replace("+ -", "- ")
        return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."

    def _written(self, expression: cp.Expression) -> str:
        args = expression.args
        match expression:
            case cp.Variable():
                return self.variable(expression)
            case _ if expression.is_constant() and not expression.parameters():
                return self._constant(expression)
            case AddExpression():
                return " + ".join(map(self._written, args))
            case NegExpression():
                return f"-{self._factor(args[0])}"
            case Promote():
                return self._written(args[0])
            case multiply():
                return " * ".join(self._factor(arg) for arg in args if not is_ones(arg)) or "1"
            case MulExpression():
                return self._matrix_product(args)
            case DivExpression():
                return f"{self._factor(args[0])} / {_bracketed(self._factor(args[1], matrix=True))}"
            case Sum():
                return f"sum({self._written(args[0])})"
            case quad_over_lin() if is_ones(args[1]):
                return f"sum_squares({self._written(args[0])})"
            case Power():
                return f"{self._factor(args[0], matrix=True)}^{float(expression.p.value):g}"
            case Pnorm() if expression.p == 2:
                return f"norm({self._written(args[0])})"
        if args and not expression.get_data():
            return f"{type(expression).__name__}({', '.join(map(self._written, args))})"
        return re.sub(r"(?<!\w)\[[-+.,e\d\s\[\]]*\]", "[..]", str(expression.name()))

    def _matrix_product(self, args: list[cp.Expression]) -> str:
        for one, other in (args, args[::-1]):
            if one.ndim == other.ndim == 1 and is_ones(one):
                return f"sum({self._written(other)})"
        return " @ ".join(self._factor(arg, matrix=True) for arg in args)

    def _factor(self, expression: cp.Expression, matrix: bool = False) -> str:
        """A factor of a product, in brackets where it is a sum, or a product inside a product of matrices."""
        loose = (AddExpression, NegExpression, multiply, DivExpression) if matrix else (AddExpression, NegExpression)
        inner = expression.args[0] if isinstance(expression, Promote) else expression
        written = self._written(inner)
        return f"({written})" if isinstance(inner, loose) and not inner.is_constant() else written

    def _constant(self, expression: cp.Expression) -> str:
        value, name = _dense(expression), str(expression.name())
        if value.size and np.all(value == value.flat[0]):
            return self.number(float(value.flat[0]))
        return self.array(value) if "[" in name else name  # a name without brackets was given by somebody


def _bracketed(divisor: str) -> str:
    """A divisor of several words in brackets, unless it stands in some already."""
    return f"({divisor})" if " " in divisor and not divisor.startswith("(") else divisor


def is_ones(expression: cp.Expression) -> bool:
    """Whether an expression is the constant 1 in every entry."""
    return bool(expression.is_constant() and np.all(_dense(expression) == 1))


def _dense(constant: cp.Expression) -> np.ndarray:
    value = constant.value
    return value.toarray() if sp.issparse(value) else np.asarray(value)
