"""A convex program whose constraints are named by their multipliers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import cvxpy as cp
from cvxpy.constraints.constraint import Constraint

from kopt.cones import Cone, cone_of
from kopt.errors import DeclarationError
from kopt.locations import calling_place

# Every other attribute is a constraint that CVXPY enforces itself, without a multiplier.
_HARMLESS_ATTRIBUTES = ("symmetric",)


class Program:
    r"""An objective and constraints, each constraint under the name of its multiplier.

    In a primal the margin constraint is called `alpha`, because alpha is its multiplier; in a dual the constraint
    whose multiplier is the offset is called `b`.

    objective     `cp.Minimize(...)` or `cp.Maximize(...)`
    constraints   a mapping from multiplier to constraint; write members of a family as `"alpha[0]"`, `"alpha[1]"`
    domain        constraints whose multiplier nobody names, such as alpha >= 0 in a dual
    multipliers   in a dual: the multipliers of the primal that are not dual variables themselves, as expressions of
                  the dual variables, such as `{"mu": C - alpha}`

    >>> x = cp.Variable(name="x")
    >>> program = Program(cp.Minimize(cp.square(x)), {"lambda": x >= 3})
    >>> round(program.problem().solve(solver="CLARABEL"), 6), sorted(program.variables)
    (9.0, ['x'])
    """

    def __init__(
        self,
        objective: cp.Minimize | cp.Maximize,
        constraints: Mapping[str, Constraint] | None = None,
        *,
        domain: Iterable[Constraint] = (),
        multipliers: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(objective, cp.Minimize | cp.Maximize):
            raise DeclarationError(
                f"The objective of a Program is {objective!r:.80}, of type {type(objective).__name__}.",
                "Wrap it: cp.Minimize(...) or cp.Maximize(...).",
            )
        if constraints is not None and not isinstance(constraints, Mapping):
            raise DeclarationError(
                f"The constraints of a Program are of type {type(constraints).__name__}.",
                'Name each by its multiplier: {"alpha": ..., "mu": ...}.',
            )
        self.owner = "a Program"
        self.place = calling_place()
        self.objective = objective
        self.constraints = dict(constraints or {})
        self.domain = tuple(domain)
        self.multipliers = {name: _expression(name, value) for name, value in (multipliers or {}).items()}
        for name, constraint in [*self.constraints.items(), *(("domain", c) for c in self.domain)]:
            if not isinstance(constraint, Constraint):
                raise DeclarationError(
                    f"The constraint {name!r} is {constraint!r:.80}, of type {type(constraint).__name__}.",
                    "Compare CVXPY expressions with <=, >=, == or >> (a comparison of plain arrays is not one).",
                )

    @cached_property
    def variables(self) -> dict[str, cp.Variable]:
        """The variables by name, in the order in which they appear."""
        parts = [self.objective, *self.constraints.values(), *self.domain, *self.multipliers.values()]
        found: dict[str, cp.Variable] = {}
        for variable in (v for part in parts for v in part.variables()):
            name = variable.name()
            if found.setdefault(name, variable) is not variable:
                raise DeclarationError(
                    f"{self.where} two different variables are both named {name!r}.",
                    "Give every variable a name of its own.",
                )
            self._check_variable(variable)
        return found

    @cached_property
    def cones(self) -> dict[str, Cone]:
        """The named constraints as cones, in kopt's sign convention."""
        return {name: cone_of(constraint, self.where) for name, constraint in self.constraints.items()}

    @cached_property
    def domain_cones(self) -> dict[str, Cone]:
        """The unnamed constraints as cones, under their text."""
        cones: dict[str, Cone] = {}
        for i, constraint in enumerate(self.domain):
            text = _shortened(str(constraint))
            cones[text if text not in cones else f"{text} ({i})"] = cone_of(constraint, self.where)
        return cones

    @property
    def sign(self) -> float:
        """1 for a minimisation, -1 for a maximisation."""
        return 1.0 if isinstance(self.objective, cp.Minimize) else -1.0

    def problem(self) -> cp.Problem:
        """The plain CVXPY problem."""
        return cp.Problem(self.objective, [*self.constraints.values(), *self.domain])

    @property
    def where(self) -> str:
        """How a message about this program begins: whose it is, and where it was made."""
        return f"In {self.owner} ({self.place})"

    def check_convex(self) -> None:
        """Refuse what CVXPY cannot tell to be convex."""
        parts = {f"constraint {name!r}": constraint for name, constraint in self.constraints.items()}
        parts |= {f"constraint {i} of domain": constraint for i, constraint in enumerate(self.domain)}
        for part, constraint in parts.items():
            if not constraint.is_dcp():
                raise DeclarationError(
                    f"{self.where} the {part} is not convex as written: {constraint}.",
                    "Rewrite it by CVXPY's rules: a convex expression on the small side of <=, affine ones in ==.",
                )
        if not self.objective.is_dcp():
            verb, curvature = ("minimise", "convex") if self.sign > 0 else ("maximise", "concave")
            raise DeclarationError(
                f"{self.where} the objective is not {curvature} as written.",
                f"Rewrite it by CVXPY's rules: {verb} a {curvature} expression.",
            )

    def _check_variable(self, variable: cp.Variable) -> None:
        name = variable.name()
        if name == f"var{variable.id}":
            raise DeclarationError(
                f"{self.where} a variable of shape {variable.shape} has no name.",
                'Name it: cp.Variable(n, name="alpha").',
            )
        for attribute, value in variable.attributes.items():
            # `bounds` may hold arrays, whose truth value is not defined.
            if attribute not in _HARMLESS_ATTRIBUTES and value is not None and value is not False:
                raise DeclarationError(
                    f"{self.where} the variable {name!r} is declared with {attribute}=..., a constraint without a "
                    "multiplier.",
                    f'Write it as a constraint under the name of its multiplier, such as "mu": {name} >= 0.',
                )


def _expression(name: str, value: Any) -> cp.Expression:
    if isinstance(value, str):
        raise DeclarationError(
            f"The multiplier {name!r} is given as the text {value!r}.", "Give an expression of the dual variables."
        )
    return cp.Constant(value) if not isinstance(value, cp.Expression) else value


def _shortened(text: str) -> str:
    return text if len(text) <= 48 else f"{text[:45]}..."
