"""The Lagrangian of a program as a CVXPY expression, for a derivation in a notebook."""

from __future__ import annotations

import cvxpy as cp

from kopt.cones import Cone, Semidefinite
from kopt.errors import DeclarationError
from kopt.program import Program


def lagrangian(program: Program) -> tuple[cp.Expression, dict[str, cp.Variable]]:
    r"""The Lagrangian of a program, and its multipliers by name.

    L(x, multipliers) = objective(x) + sum over constraints of <multiplier, residual(x)>

    with the residuals and signs of `kopt.cones`; a maximisation counts as the minimisation of its negative. The
    variables of L are those of the program and one new variable for each named constraint.

    >>> x = cp.Variable(name="x")
    >>> L, multipliers = lagrangian(Program(cp.Minimize(cp.square(x)), {"lambda": x >= 3}))
    >>> x.value, multipliers["lambda"].value = 1.0, 5.0
    >>> float(L.value)
    11.0
    """
    if not isinstance(program, Program):
        raise DeclarationError(
            f"The Lagrangian of a {type(program).__name__} is asked for.",
            'Give a kopt.Program: its constraints name their multipliers, as in {"alpha": x >= 0}.',
        )
    if program.domain:
        raise DeclarationError(
            f"The program has constraints in domain=, such as {program.domain[0]}, which name no multiplier.",
            "Name each constraint by its multiplier.",
        )
    clash = set(program.variables) & set(program.cones)
    if clash:
        raise DeclarationError(
            f"A variable and a multiplier are both named {min(clash)!r}.", "Give each a name of its own."
        )
    multipliers = {name: _multiplier(name, cone) for name, cone in program.cones.items()}
    products = (_inner(multipliers[name], cone.residual) for name, cone in program.cones.items())
    objective = program.objective.expr if program.sign > 0 else -program.objective.expr
    return sum(products, start=objective), multipliers


def _multiplier(name: str, cone: Cone) -> cp.Variable:
    return cp.Variable(cone.residual.shape, name=name, symmetric=isinstance(cone, Semidefinite))


def _inner(multiplier: cp.Variable, residual: cp.Expression) -> cp.Expression:
    match multiplier.ndim:
        case 0:
            return multiplier * residual
        case 1:
            return multiplier @ residual
    return cp.sum(cp.multiply(multiplier, residual))
