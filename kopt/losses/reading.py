"""What the losses need to recognise themselves in a CVXPY expression."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.atoms.elementwise.power import Power

from kopt.gradients import affine_parts

# Coefficients that were computed in two ways differ by rounding.
ROUNDING = 1e-12


def number(expression: cp.Expression) -> float | None:
    """The number that a constant has in every entry; None for anything else."""
    if not expression.is_constant() or expression.parameters():
        return None
    values = np.unique(np.asarray(expression.value, dtype=float))
    return float(values[0]) if values.size == 1 else None


def scaled(expression: cp.Expression) -> tuple[float, cp.Expression]:
    """A positive factor and what it multiplies; the negative of a minimum is a maximum.

    >>> scaled(cp.abs(cp.Variable(2, name="z")) * 3 / 2)
    (1.5, Expression(CONVEX, NONNEGATIVE, (2,)))
    """
    factor, core = _factored(expression)
    if factor < 0 and isinstance(core, cp.minimum):
        return -factor, cp.maximum(*(-arg for arg in core.args))
    return (factor, core) if factor > 0 else (1.0, expression)


def _factored(expression: cp.Expression) -> tuple[float, cp.Expression]:
    match expression:
        case NegExpression():
            factor, core = _factored(expression.args[0])
            return -factor, core
        case DivExpression() if (divisor := number(expression.args[1])) is not None:
            factor, core = _factored(expression.args[0])
            return factor / divisor, core
        case MulExpression() | multiply():
            for one, other in (expression.args, expression.args[::-1]):
                coefficient = number(one)
                if coefficient is not None and other.shape == expression.shape:
                    factor, core = _factored(other)
                    return coefficient * factor, core
    return 1.0, expression


def affine(expression: cp.Expression) -> bool:
    """Whether an expression is affine, and depends on something."""
    return bool(expression.is_affine() and not expression.is_constant())


def pieces(expression: cp.Expression) -> tuple[list[cp.Expression], bool] | None:
    """The arguments of a maximum that are not the number 0, and whether 0 is among the others."""
    if not isinstance(expression, cp.maximum):
        return None
    others = [arg for arg in expression.args if number(arg) != 0]
    if any(arg.shape != expression.shape for arg in others):
        return None
    return others, len(others) < len(expression.args)


def positive_part(expression: cp.Expression) -> cp.Expression | None:
    """The z of max(z, 0), also written -min(-z, 0); None where the expression is not one."""
    factor, core = scaled(expression)
    match pieces(core):
        case [z], True:
            return z if factor == 1 else factor * z
    return None


def power(expression: cp.Expression) -> tuple[cp.Expression, float] | None:
    """The base and the exponent of a power; None where the expression is not one."""
    if not isinstance(expression, Power):
        return None
    exponent = number(expression.p)
    return None if exponent is None else (expression.args[0], exponent)


def width_of_tube(expression: cp.Expression) -> tuple[cp.Expression, float] | None:
    """The z and the epsilon >= 0 of max(|z| - epsilon, 0), also written max(z - epsilon, -z - epsilon, 0)."""
    match pieces(expression):
        case [inside], True:
            return _beyond(inside)
        case [a, b], True if affine(a) and affine(b):
            half = number_of_affine(a + b)
            return None if half is None or half > 0 else ((a - b) / 2, -half / 2)
    return None


def _beyond(expression: cp.Expression) -> tuple[cp.Expression, float] | None:
    """The z and the epsilon of |z| - epsilon."""
    terms = expression.args if isinstance(expression, AddExpression) else [expression]
    constants = [number(term) for term in terms if term.is_constant()]
    absolute = [scaled(term) for term in terms if not term.is_constant()]
    if None in constants or len(absolute) != 1 or not isinstance(absolute[0][1], cp.abs):
        return None
    (factor, core), epsilon = absolute[0], -sum(value for value in constants if value is not None)
    z = core.args[0]
    return (z if factor == 1 else factor * z, epsilon) if affine(z) and epsilon >= 0 else None


def number_of_affine(expression: cp.Expression) -> float | None:
    """The number that an affine expression is, its variables cancelling; None where it is none."""
    jacobian, offset = affine_parts(expression)
    size = float(np.max(np.abs(offset), initial=0.0))
    if any(np.max(np.abs(block.data), initial=0.0) > ROUNDING for block in jacobian.values()):
        return None
    return float(offset[0]) if np.ptp(offset) <= ROUNDING * size else None


def ratio(a: cp.Expression, b: cp.Expression) -> float | None:
    """The r with b = r a; None where there is none."""
    if not (affine(a) and affine(b)) or a.shape != b.shape:
        return None
    (of_a, at_a), (of_b, at_b) = affine_parts(a), affine_parts(b)
    if set(of_a) != set(of_b):
        return None
    products = sum(float(of_a[v].multiply(of_b[v]).sum()) for v in of_a) + float(at_a @ at_b)
    squares = sum(float(of_a[v].multiply(of_a[v]).sum()) for v in of_a) + float(at_a @ at_a)
    r = products / squares
    size = max(1.0, abs(r)) * np.sqrt(squares)
    apart = max([np.max(np.abs(at_b - r * at_a)), *(np.max(abs(of_b[v] - r * of_a[v])) for v in of_a)])
    return r if apart <= ROUNDING * size else None
