"""The sign convention, and everything that depends on it: one class per cone.

Every constraint is read as `residual(x) in -cone`, so that the Lagrangian of a minimisation is

    L(x, multipliers) = objective(x) + sum over constraints of <multiplier, residual(x)>

with each multiplier in the dual cone:

| written                  | residual       | multiplier                    |
|--------------------------|----------------|-------------------------------|
| `lhs <= rhs`             | lhs - rhs      | non-negative                  |
| `lhs == rhs`             | lhs - rhs      | free                          |
| `cp.SOC(t, X)`           | -(t, X)        | second-order cone, as (t, X)  |
| `A >> B`, `A << B`       | B - A, A - B   | positive semi-definite        |

A caution that comes from Python: in `array == expression` CVXPY sees `expression == array`, so write the
expression on the left of an equality.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints.constraint import Constraint
from cvxpy.constraints.nonpos import Inequality, NonNeg, NonPos
from cvxpy.constraints.zero import Equality, Zero

from kopt.errors import DeclarationError


class Cone(ABC):
    """A constraint `residual in -cone` and its multiplier in the dual cone."""

    def __init__(self, residual: cp.Expression) -> None:
        self.residual = residual

    def violation(self, residual: np.ndarray) -> float:
        """How far a residual is from satisfying the constraint."""
        return float(np.max(self.violations(residual), initial=0.0))

    @abstractmethod
    def violations(self, residual: np.ndarray) -> np.ndarray:
        """The same for each part of the constraint that stands for itself."""

    @abstractmethod
    def multiplier_violation(self, multiplier: np.ndarray) -> float:
        """How far a multiplier is from the dual cone."""

    @abstractmethod
    def complementarity(self, multiplier: np.ndarray, residual: np.ndarray) -> float:
        """sum |<multiplier, residual>| over the parts of which each has to vanish at an optimum."""

    @abstractmethod
    def price(self, multiplier: np.ndarray, residual: np.ndarray) -> float:
        """What the violation of the constraint is worth at a multiplier: by so much it can undercut the optimum."""

    def from_cvxpy(self, dual_value: Any) -> np.ndarray:
        """CVXPY's `dual_value` of the constraint as a multiplier in this convention."""
        return np.asarray(dual_value, dtype=float).reshape(self.residual.shape, order="F")


class NonNegative(Cone):
    """`residual <= 0`, entry by entry."""

    def violations(self, residual: np.ndarray) -> np.ndarray:
        """Positive entries."""
        return np.maximum(residual, 0.0)

    def multiplier_violation(self, multiplier: np.ndarray) -> float:
        """Size of the most negative entry."""
        return float(np.max(-multiplier, initial=0.0))

    def complementarity(self, multiplier: np.ndarray, residual: np.ndarray) -> float:
        """Entry by entry."""
        return float(np.sum(np.abs(multiplier * residual)))

    def price(self, multiplier: np.ndarray, residual: np.ndarray) -> float:
        """Violated entries only."""
        return float(np.sum(np.abs(multiplier) * np.maximum(residual, 0.0)))


class Free(Cone):
    """`residual == 0`; the multiplier is free."""

    def violations(self, residual: np.ndarray) -> np.ndarray:
        """Entries in absolute value."""
        return np.abs(residual)

    def multiplier_violation(self, multiplier: np.ndarray) -> float:
        """Nothing is asked of a free multiplier, except that it is known."""
        return 0.0 if np.isfinite(multiplier).all() else np.nan

    def complementarity(self, multiplier: np.ndarray, residual: np.ndarray) -> float:
        """Entry by entry."""
        return float(np.sum(np.abs(multiplier * residual)))

    price = complementarity


class SecondOrder(Cone):
    """`norm(X) <= t`, column by column of the stacked residual -(t, X).

    by_rows   whether CVXPY has one cone per row of X
    """

    def __init__(self, residual: cp.Expression, by_rows: bool = False) -> None:
        super().__init__(residual)
        self.by_rows = by_rows

    @staticmethod
    def _excess(stacked: np.ndarray) -> float:
        columns = stacked.reshape(stacked.shape[0], -1)
        return float(np.max(np.linalg.norm(columns[1:], axis=0) - columns[0], initial=0.0))

    def violations(self, residual: np.ndarray) -> np.ndarray:
        """Largest norm(X) - t."""
        return np.array([self._excess(-residual)])

    def multiplier_violation(self, multiplier: np.ndarray) -> float:
        """The second-order cone is its own dual."""
        return self._excess(multiplier)

    def complementarity(self, multiplier: np.ndarray, residual: np.ndarray) -> float:
        """Column by column."""
        return float(np.sum(np.abs(np.sum(multiplier * residual, axis=0))))

    def price(self, multiplier: np.ndarray, residual: np.ndarray) -> float:
        """Raising t by the violation makes the point feasible."""
        return self.violation(residual) * float(np.sum(np.abs(multiplier[0])))

    def from_cvxpy(self, dual_value: Any) -> np.ndarray:
        """CVXPY gives the two parts apart."""
        t, X = (np.asarray(part, dtype=float) for part in dual_value)
        if self.residual.ndim == 1:
            return np.concatenate([t.ravel(), X.ravel()])
        return np.vstack([t.reshape(1, -1), X.T if self.by_rows else X])


class Semidefinite(Cone):
    """`residual` negative semi-definite."""

    @staticmethod
    def _excess(matrix: np.ndarray) -> float:
        if not np.isfinite(matrix).all():
            return float("nan")
        return max(0.0, -float(np.linalg.eigvalsh((matrix + matrix.T) / 2)[0]))

    def violations(self, residual: np.ndarray) -> np.ndarray:
        """Size of the most negative eigenvalue of the constrained matrix."""
        return np.array([self._excess(-residual)])

    def multiplier_violation(self, multiplier: np.ndarray) -> float:
        """The semi-definite cone is its own dual; a multiplier has to be symmetric as well."""
        return float(np.maximum(self._excess(multiplier), np.max(np.abs(multiplier - multiplier.T)) / 2))

    def complementarity(self, multiplier: np.ndarray, residual: np.ndarray) -> float:
        """One inner product of matrices."""
        return abs(float(np.sum(multiplier * residual)))

    def price(self, multiplier: np.ndarray, residual: np.ndarray) -> float:
        """Adding to the diagonal, in the units of each row or the same everywhere, makes the point feasible."""
        own = np.abs(np.diag(residual))
        units = np.where(own > 0, own, 1.0)
        in_units = self._excess(-residual / np.sqrt(np.outer(units, units))) if np.isfinite(residual).all() else np.nan
        prices = np.abs(np.diag(multiplier))
        return min(self.violation(residual) * float(np.sum(prices)), in_units * float(prices @ units))


def cone_of(constraint: Constraint, where: str = "In a program") -> Cone:
    """The cone of a CVXPY constraint, with its residual in the convention of this module.

    where   how the message begins if there is none
    """
    match constraint:
        case Inequality():
            return NonNegative(constraint.args[0] - constraint.args[1])
        case Equality():
            return Free(constraint.args[0] - constraint.args[1])
        case NonNeg():
            return NonNegative(-constraint.args[0])
        case NonPos():
            return NonNegative(constraint.args[0])
        case Zero():
            return Free(constraint.args[0])
        case cp.SOC():
            return SecondOrder(-_stacked(constraint), by_rows=constraint.axis == 1)
        case cp.PSD():
            return Semidefinite(-constraint.args[0])
    raise DeclarationError(
        f"{where} the constraint {constraint} is of type {type(constraint).__name__}, for which no multiplier is "
        "defined.",
        "Write it with <=, ==, >>, << or cp.SOC; exponentials and powers are atoms (cp.logistic, cp.power, ...).",
    )


def _stacked(constraint: cp.SOC) -> cp.Expression:
    t, X = constraint.args
    if X.ndim <= 1:
        return cp.hstack([t, X])
    columns = X if constraint.axis == 0 else X.T
    return cp.vstack([cp.reshape(t, (1, columns.shape[1]), order="F"), columns])
