"""Expressions, numbers and factors of a derivation as short text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import cvxpy as cp
import numpy as np
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
from numpy.typing import ArrayLike

LONGEST = 80
# A ratio of two differences of rounded values that equals a fraction agrees with it to this.
AGREES = 1e-6
LARGEST_DENOMINATOR = 12


def text(expression: cp.Expression | Constraint) -> str:
    """An expression or a condition on one line; arrays without a name are shown as [..].

    >>> alpha, b = cp.Variable(3, name="alpha"), cp.Variable(name="b")
    >>> text(cp.sum(alpha) - 0.5 * cp.sum_squares(np.eye(3) @ alpha)), text(np.arange(3) @ alpha + alpha[0] * b == 1)
    ('sum(alpha) - 0.5 * sum_squares([..] @ alpha)', '[..] @ alpha + alpha[0] * b == 1')
    """
    match expression:
        case Equality():
            line = " == ".join(map(_written, expression.args))
        case Inequality():
            line = " <= ".join(map(_written, expression.args))
        case Constraint():
            line = str(expression)
        case _:
            line = _written(expression)
    line = re.sub(r"\s+", " ", line).replace("+ -", "- ")
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."


def _written(expression: cp.Expression) -> str:
    """As CVXPY does it, but for brackets, arrays and the arguments that nobody wrote."""
    args = expression.args
    match expression:
        case AddExpression():
            return " + ".join(map(_written, args))
        case NegExpression():
            return f"-{_factor(args[0])}"
        case Promote():
            return _written(args[0])
        case multiply():
            return " * ".join(map(_factor, args))
        case MulExpression():
            sums = [other for one, other in (args, args[::-1]) if one.ndim == other.ndim == 1 and is_one(one)]
            return f"sum({_written(sums[0])})" if sums else " @ ".join(_factor(arg, matrix=True) for arg in args)
        case DivExpression():
            return f"{_factor(args[0])} / {_factor(args[1], matrix=True)}"
        case Sum():
            return f"sum({_written(args[0])})"
        case quad_over_lin() if is_one(args[1]):
            return f"sum_squares({_written(args[0])})"
        case Power():
            return f"{_factor(args[0], matrix=True)}^{float(expression.p.value):g}"
        case Pnorm() if expression.p == 2:
            return f"norm({_written(args[0])})"
        case cp.Constant() if expression.size == 1:
            return re.sub(r"(?<=\d)\.0$", "", expression.name())
    if args and not expression.get_data():
        return f"{type(expression).__name__}({', '.join(map(_written, args))})"
    return re.sub(r"(?<!\w)\[[-+.,e\d\s\[\]]*\]", "[..]", expression.name())


def _factor(expression: cp.Expression, matrix: bool = False) -> str:
    """A factor of a product, in brackets where it is a sum, or a product inside a product of matrices."""
    loose = (AddExpression, NegExpression, multiply, DivExpression) if matrix else (AddExpression, NegExpression)
    inner = expression.args[0] if isinstance(expression, Promote) else expression
    return f"({_written(inner)})" if isinstance(inner, loose) else _written(inner)


def is_one(expression: cp.Expression) -> bool:
    """Whether an expression is the constant 1 in every entry."""
    return bool(expression.is_constant() and np.all(np.asarray(expression.value) == 1))


def shown(value: Any, most: int = 4) -> str:
    """A number, or the first entries of an array.

    >>> shown(0.25), shown(np.arange(6) / 3)
    ('0.25', '[0, 0.3333, 0.6667, 1, ...]')
    """
    entries = [f"{x + 0.0:.4g}" for x in np.ravel(np.asarray(value, dtype=float), order="F")]
    if np.ndim(value) == 0:
        return entries[0]
    return f"[{', '.join(entries[:most])}{', ...' if len(entries) > most else ''}]"


def factor(ratios: ArrayLike, scalars: Mapping[str, ArrayLike], numbers: Sequence[float]) -> str | None:
    """The factor that is meant by its values at several points; None where it is not one number or power.

    scalars   the values of the scalar variables at these points, by name
    numbers   the constants that the expressions are written with

    >>> factor([0.5, 0.5], {}, []), factor([0.5, 0.25], {"lambda": [1.0, 2.0]}, []), factor([1 / 2.3] * 2, {}, [2.3])
    ('1/2', '1/2 / lambda', '1 / 2.3')
    """
    values = np.asarray(ratios)
    for name, power in [("", 0), *((name, power) for name in scalars for power in (1, -1, 2, -2))]:
        rest = values / np.asarray(scalars[name]) ** power if power else values
        if np.isfinite(rest).all() and np.ptp(rest) <= AGREES * np.max(np.abs(rest)):
            size = "" if abs(power) < 2 else f"^{abs(power)}"
            constant = number(float(np.mean(rest)), numbers)
            if not power:
                return constant
            return f"{constant} {'*' if power > 0 else '/'} {name}{size}"
    return None


def number(value: float, numbers: Sequence[float] = ()) -> str:
    """A number as a fraction, or a fraction times or over one of some constants, or in digits.

    >>> number(-0.75), number(4.69, [2.345]), number(0.1234567)
    ('-3/4', '2 * 2.345', '0.123457')
    """
    for constant, sign in [(1.0, ""), *((c, sign) for c in numbers for sign in "/*")]:
        part = value * constant if sign == "/" else value / constant
        fraction = Fraction(part).limit_denominator(LARGEST_DENOMINATOR)
        if abs(part - fraction) <= AGREES * abs(part):
            if sign == "/":
                return f"{fraction.numerator} / {fraction.denominator * constant:g}"
            return f"{fraction} * {constant:g}" if sign else str(fraction)
    return f"{value:.6g}"


def affine(coefficients: Mapping[str, np.ndarray], constant: float, most: int = 4) -> str:
    """constant + sum over the variables of <coefficients, variable>, with its first terms only.

    >>> affine({"alpha": np.array([-1.0, 0.0, 2.5]), "lambda": np.array(1.0)}, 3.0)
    '3 - alpha[0] + 2.5 alpha[2] + lambda'
    """
    size = max([abs(constant), *(float(np.max(np.abs(c))) for c in coefficients.values())])
    pairs = [(constant, "")] if abs(constant) > AGREES * size else []
    for name, entries in coefficients.items():
        used = [(c, index) for index, c in np.ndenumerate(entries) if abs(c) > AGREES * size]
        pairs += [(c, f"{name}[{', '.join(map(str, index))}]" if index else name) for c, index in used]
    parts = [_signed(float(c), label) for c, label in pairs[:most]] + ["+ ..."] * (len(pairs) > most)
    line = " ".join(parts) or "0"
    return line.removeprefix("+ ") if line[0] == "+" else line.replace("- ", "-", 1)


def _signed(coefficient: float, label: str) -> str:
    size = f"{abs(coefficient):.4g}"
    body = f"{size} {label}".strip() if size != "1" or not label else label
    return f"{'-' if coefficient < 0 else '+'} {body}"
