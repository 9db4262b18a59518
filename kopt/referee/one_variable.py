"""A Lagrangian in one of its variables, for many multipliers one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

import cvxpy as cp
import numpy as np

from kopt.cones import NonNegative
from kopt.gradients import affine_parts
from kopt.program import Program

#: The values at so many points for each entry are kept: those that are asked for with all multipliers are among them.
KEPT = 64
#: Stands for the objective among the names of constraints.
OBJECTIVE = ""


class OneVariable:
    """Objective and constraints as functions of one variable, all others at 0.

    Affine ones have a slope. The values of the others do not depend on the multipliers, and are kept where the same
    points come again.
    """

    def __init__(self, primal: Program, variable: cp.Variable) -> None:
        self.variable = variable
        self.others = [v for v in primal.variables.values() if v is not variable]
        self.nonnegative = {name: isinstance(cone, NonNegative) for name, cone in primal.cones.items()}
        parts = {OBJECTIVE: primal.sign * primal.objective.expr}
        parts |= {name: cone.residual for name, cone in primal.cones.items()}
        self.affine = {name: affine_parts(e) for name, e in parts.items() if e.is_affine()}
        self.curved = {name: e for name, e in parts.items() if not e.is_affine()}
        self._values = lru_cache(maxsize=KEPT * variable.size)(self._evaluated)

    def lagrangian(self, multipliers: Mapping[str, np.ndarray], gains: np.ndarray) -> Callable[[np.ndarray], float]:
        """The Lagrangian less gains'x, as a function of the entries x of the variable."""
        for other in self.others:
            other.save_value(np.zeros(other.shape))
        m = {OBJECTIVE: np.ones(1)}
        for name, multiplier in multipliers.items():
            m[name] = np.ravel(np.maximum(multiplier, 0.0) if self.nonnegative[name] else multiplier, order="F")
        slope, constant = -gains, 0.0
        for name, (slopes, offset) in self.affine.items():
            constant += float(m[name] @ offset)
            if self.variable.id in slopes:
                slope = slope + slopes[self.variable.id].T @ m[name]

        def value(entries: np.ndarray) -> float:
            curved = self._values(np.asarray(entries, dtype=float).tobytes())
            return constant + float(slope @ entries) + sum(float(m[name] @ v) for name, v in curved.items())

        return value

    def _evaluated(self, entries: bytes) -> dict[str, np.ndarray]:
        self.variable.save_value(np.frombuffer(entries).reshape(self.variable.shape, order="F"))
        return {name: np.ravel(np.asarray(e.value, dtype=float), order="F") for name, e in self.curved.items()}
