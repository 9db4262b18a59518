"""The part of a Lagrangian that is neither affine nor quadratic, minimised by a solver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import cvxpy as cp
import numpy as np

from kopt.cones import NonNegative
from kopt.program import Program
from kopt.referee.features import Pull
from kopt.referee.one_by_one import least_one_by_one
from kopt.referee.one_variable import OneVariable
from kopt.referee.quiet import status_of

# Regularisations under which an escaping minimiser keeps running away.
RIDGES = (1e-4, 1e-6, 1e-8)
# From one to the next, by how much an escaping minimiser grows at least.
GROWTH = 5.0
# A solver's minimiser is none if the Lagrangian falls on, by more than this part of its value.
FALLS = 1e-6
# It falls without end along a ray if, so many steps out, it still falls at half the rate of the first step.
FAR = 1000.0
OPTIONS: dict[str, Any] = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


class Remainder:
    """min over some variables of the Lagrangian, all others at 0; the multipliers are parameters of one problem.

    divisors   entries of variables that divide squared norms: they are non-negative, and the vectors pull at them
    """

    def __init__(
        self, primal: Program, variables: list[cp.Variable], divisors: Sequence[tuple[cp.Variable, int]] = ()
    ) -> None:
        self.variables = variables
        self.multipliers = {
            name: cp.Parameter(cone.residual.shape, nonneg=isinstance(cone, NonNegative))
            for name, cone in primal.cones.items()
        }
        # Solvers stop at absolute tolerances, so the Lagrangian is handed over divided by its size.
        self.slope = _typical_slope(primal)
        self.scale = cp.Parameter(nonneg=True)
        lagrangian = self.scale * (primal.sign * primal.objective.expr)
        for name, cone in primal.cones.items():
            lagrangian += cp.sum(cp.multiply(self.multipliers[name], cone.residual))
        ids = {v.id for v in variables}
        divided = [cp.vec(v, order="F")[entry] for v, entry in divisors if v.id in ids]
        self.strengths = cp.Parameter(len(divided), nonneg=True) if divided else None
        if self.strengths is not None:
            lagrangian -= self.strengths @ cp.hstack(divided)
        constraints = [t >= 0 for t in divided]
        self.fixed_variables = [v for v in primal.variables.values() if v.id not in ids]
        constraints += [v == 0 for v in self.fixed_variables]
        only_divisors = len(variables) == 1 and len(divided) == variables[0].size
        self.alone = OneVariable(primal, variables[0]) if only_divisors else None
        self.ridge = cp.Parameter(nonneg=True)
        squares = sum((cp.sum_squares(v) for v in variables), cp.Constant(0.0))
        self.problem = cp.Problem(cp.Minimize(lagrangian), constraints)
        self.with_ridge = cp.Problem(cp.Minimize(lagrangian + self.ridge * squares), constraints)

    def minimise(self, multipliers: Mapping[str, np.ndarray], pulls: Sequence[Pull] = ()) -> tuple[float, str | None]:
        """The minimum; -inf and the variable that escapes; nan where the solver does not say."""
        if self.alone is not None:
            least = self._one_by_one(self.alone, multipliers, pulls)
            if least is not None:
                return least, None if np.isfinite(least) else str(self.alone.variable.name())
        size = max([self.slope, *(float(np.max(np.abs(m), initial=0.0)) for m in multipliers.values())]) or 1.0
        self.scale.value = 1 / size
        for name, parameter in self.multipliers.items():
            value = np.asarray(multipliers[name]).reshape(parameter.shape, order="F") / size
            parameter.value = np.maximum(value, 0.0) if parameter.attributes["nonneg"] else value
        ids = {v.id for v in self.variables}
        if self.strengths is not None:
            self.strengths.value = np.array([pull.strength for pull in pulls if pull.variable.id in ids]) / size
        if _solved(self.problem):
            least = float(self.problem.value)
            falls, escaping = self._beyond()
            if not falls:
                return size * least, None
            if escaping:
                return -np.inf, escaping
        least, escaping = self._judged_by(RIDGES[::2] if self.problem.status == cp.UNBOUNDED else RIDGES)
        return size * least, escaping

    def _one_by_one(
        self, alone: OneVariable, multipliers: Mapping[str, np.ndarray], pulls: Sequence[Pull]
    ) -> float | None:
        """The minimum where all variables divide squared norms: these may have any size, and solvers be lost."""
        gains = np.zeros(alone.variable.size)
        for pull in pulls:
            if pull.variable is alone.variable:
                gains[pull.entry] += pull.strength
        if np.isinf(gains).any():
            return -np.inf
        return least_one_by_one(alone.lagrangian(multipliers, gains), len(gains))

    def _beyond(self) -> tuple[bool, str | None]:
        """Whether the Lagrangian falls beyond a solver's minimiser x, and the variable in which it does so without end.

        Solvers call the far point where they gave up on an escaping minimiser optimal. The rays are those from x along
        x itself and along its positive and its negative part, by themselves: others may rise faster than one falls.
        """
        start = [np.asarray(v.value, dtype=float) for v in self.variables]
        falls = False
        for part in (np.positive, lambda x: np.maximum(x, 0.0), lambda x: np.minimum(x, 0.0)):
            ray = [part(x) for x in start]
            here, there = self._at(start, ray, 0.0), self._at(start, ray, 1.0)
            if there - here < -FALLS * max(1.0, abs(here)):
                falls = True
                if self._at(start, ray, 2 * FAR) - self._at(start, ray, FAR) <= FAR * (there - here) / 2:
                    longest = int(np.argmax([np.linalg.norm(x) for x in ray]))
                    return True, str(self.variables[longest].name())
        return falls, None

    def _at(self, start: list[np.ndarray], ray: list[np.ndarray], steps: float) -> float:
        """The Lagrangian so many steps along a ray; infinite or nan outside its domain."""
        for variable, x, step in zip(self.variables, start, ray, strict=True):
            variable.save_value(x + steps * step)
        with np.errstate(all="ignore"):
            return float(self.problem.objective.value)

    def _judged_by(self, ridges: tuple[float, ...]) -> tuple[float, str | None]:
        values, sizes = [], []
        for ridge in ridges:
            self.ridge.value = ridge
            if not _solved(self.with_ridge):
                return np.nan, None
            values.append(float(self.with_ridge.value))
            sizes.append([float(np.linalg.norm(v.value)) for v in self.variables])
        growing = np.array(sizes[1:]) > GROWTH * np.maximum(np.array(sizes[:-1]), 1e-6)
        running = growing.all(axis=0)
        if running.any() and np.all(np.diff(values) < 0):
            escaping = int(np.argmax(np.where(running, sizes[-1], -1.0)))
            return -np.inf, str(self.variables[escaping].name())
        settled = abs(values[-1] - values[-2]) <= 1e-6 * max(1.0, abs(values[-1]))
        return (values[-1], None) if settled else (np.nan, None)


def _typical_slope(primal: Program) -> float:
    """By how much the objective changes over one unit of all variables; 0 where it is not defined there."""
    values = []
    for level in (0.0, 1.0):
        for variable in primal.objective.variables():
            variable.save_value(np.full(variable.shape, level))
        values.append(np.nan if primal.objective.value is None else float(primal.objective.value))
    change = abs(values[1] - values[0])
    return change if np.isfinite(change) else 0.0


def _solved(problem: cp.Problem) -> bool:
    return status_of(problem, **OPTIONS) == cp.OPTIMAL
