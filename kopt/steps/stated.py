"""What a user states about a Lagrangian, read and refused early."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints.constraint import Constraint

from kopt.cones import Free, NonNegative, cone_of
from kopt.errors import DeclarationError, InputError
from kopt.steps.allowed import distinct
from kopt.steps.notation import text

Claim = tuple[cp.Variable, cp.Expression]


def scalar(name: str, expression: Any) -> cp.Expression:
    """A scalar expression."""
    if isinstance(expression, cp.Minimize | cp.Maximize):
        raise DeclarationError(f"{name} is an objective.", "Give the expression in it: objective.expr.")
    expression = _expression(name, expression)
    if expression.size != 1:
        raise InputError(f"{name} has shape {expression.shape}.", "Give a scalar: sum the entries with cp.sum.")
    return expression


def _expression(name: str, value: Any) -> cp.Expression:
    if isinstance(value, cp.Expression):
        return value
    try:
        return cp.Constant(np.asarray(value, dtype=float))
    except (TypeError, ValueError):
        raise DeclarationError(
            f"{name} is of type {type(value).__name__}.", "Give a CVXPY expression or numbers."
        ) from None


def occurring(L: cp.Expression, variable: Any, where: str) -> cp.Variable:
    """A variable that occurs in L."""
    if not isinstance(variable, cp.Variable):
        raise DeclarationError(
            f"{where} names {variable!r:.60}, of type {type(variable).__name__}.", "Name the cp.Variable itself."
        )
    if variable.id not in {v.id for v in L.variables()}:
        raise InputError(
            f"{variable.name()} in {where} does not occur in L.",
            "Use the very variable that L was built with; a new one of the same name is another variable.",
        )
    return variable


def claim(L: cp.Expression, key: Any, value: Any) -> Claim:
    """A claimed stationary point."""
    variable = occurring(L, key, "stationarity={...}")
    claimed = _expression(f"The claim for {variable.name()}", value)
    if claimed.shape != variable.shape:
        raise InputError(
            f"{variable.name()} has shape {variable.shape}, but the claim for it has shape {claimed.shape}.",
            "Give both the same shape.",
        )
    if variable.id in {v.id for v in claimed.variables()}:
        raise InputError(
            f"The claim for {variable.name()} contains {variable.name()} itself.",
            "Solve for it: a claim is an expression of the other variables.",
        )
    return variable, claimed


def in_order(claims: list[Claim]) -> list[Claim]:
    """The claims, each after those that it uses."""
    ordered: list[Claim] = []
    waiting = list(claims)
    while waiting:
        ids = {v.id for v, _ in waiting}
        ready = [each for each in waiting if not ids & {v.id for v in each[1].variables()}]
        if not ready:
            names = ", ".join(v.name() for v, _ in waiting)
            raise InputError(
                f"The claims for {names} use each other in a circle.", "Substitute until one is free of the others."
            )
        ordered += ready
        done = {v.id for v, _ in ready}
        waiting = [each for each in waiting if each[0].id not in done]
    return ordered


def affine_cone(condition: Any) -> Free | NonNegative:
    """An affine equality or inequality as a cone."""
    if not isinstance(condition, Constraint):
        raise DeclarationError(
            f"A condition is {condition!r:.60}, of type {type(condition).__name__}.",
            "Compare CVXPY expressions: conditions=[y @ alpha == 0].",
        )
    cone = cone_of(condition)
    if not isinstance(cone, Free | NonNegative) or not cone.residual.is_affine():
        raise InputError(
            f"The condition {text(condition)} is not an affine equality or inequality.",
            "State it with ==, <= or >= between affine expressions, or substitute it: stationarity={...}.",
        )
    return cone


def check_primal(cones: Sequence[tuple[Constraint, Free | NonNegative]], claimed: set[int], over: set[int]) -> None:
    """Refuse conditions on variables over which L is minimised."""
    for condition, cone in cones:
        for variable in cone.residual.variables():
            if variable.id in claimed or (variable.id in over and isinstance(cone, Free)):
                raise InputError(
                    f"The condition {text(condition)} contains {variable.name()}, over which L is minimised.",
                    f"Conditions are about multipliers; write a claim stationarity={{{variable.name()}: ...}} instead.",
                )


def check_leaves(parts: Sequence[cp.Expression]) -> None:
    """Refuse two variables of one name, and parameters without a value."""
    names: dict[str, cp.Variable] = {}
    for variable in distinct(v for part in parts for v in part.variables()):
        if names.setdefault(variable.name(), variable) is not variable:
            raise DeclarationError(
                f"Two different variables are both named {variable.name()!r}.",
                "Build L and the claims with one and the same variable, or give each a name of its own.",
            )
    for parameter in (p for part in parts for p in part.parameters()):
        if parameter.value is None:
            raise InputError(f"The parameter {parameter.name()} has no value.", "Set its value first.")
