"""A checkable statement of the theory about an optimum, with its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Number = float | np.floating[Any]


@dataclass(frozen=True)
class Claim:
    """`left relation right`, where relation is "=" or "<=".

    scale   what a deviation is compared with; by default the larger of the two sides

    >>> Claim("sum alpha = 1 / gamma^2", 4.0, "=", 4.0 + 1e-9).holds(1e-6)
    True
    """

    statement: str
    left: float
    relation: str
    right: float
    scale: float | None = None

    @property
    def deviation(self) -> float:
        """By how much the statement fails, relative to its scale; 0 where it holds exactly."""
        excess = self.left - self.right
        if np.isnan(excess):
            return float("inf")
        absolute = abs(excess) if self.relation == "=" else max(0.0, excess)
        scale = max(abs(self.left), abs(self.right)) if self.scale is None else self.scale
        if absolute == 0:
            return 0.0
        return float(absolute / scale) if scale > 0 and np.isfinite(absolute) else float("inf")

    def holds(self, tolerance: float) -> bool:
        """Whether the statement holds up to the tolerance."""
        return bool(self.deviation <= tolerance)

    def __str__(self) -> str:
        return f"{self.statement}: {self.left:.8g} {self.relation} {self.right:.8g}"


def equal(statement: str, left: Number, right: Number, scale: float | None = None) -> Claim:
    """The claim that left = right."""
    return Claim(statement, float(left), "=", float(right), scale)


def at_most(statement: str, left: Number, right: Number, scale: float | None = None) -> Claim:
    """The claim that left <= right."""
    return Claim(statement, float(left), "<=", float(right), scale)


def counting_claims(excess: np.ndarray, weights: np.ndarray, budget: float, unit: float) -> list[Claim]:
    """The nu-property: the budget lies between the weight on the wrong side of the margin and that with the margin.

    excess   by how far each point is on the wrong side of the margin (negative: on the right side)
    unit     the size of the values that the excess is a difference of; a thousandth of a percent of it is rounding
    """
    rounding = 1e-5 * unit
    beyond = float(weights[excess > rounding].sum())
    at_least = float(weights[excess >= -rounding].sum())
    return [
        at_most("weight on the wrong side of the margin <= nu l", beyond, budget, scale=max(budget, 1.0)),
        at_most("nu l <= weight on the margin or its wrong side", budget, at_least, scale=max(budget, 1.0)),
    ]
