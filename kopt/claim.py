"""A checkable statement of the theory about an optimum, with its numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


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


def equal(statement: str, left: float, right: float, scale: float | None = None) -> Claim:
    """The claim that left = right."""
    return Claim(statement, float(left), "=", float(right), scale)


def at_most(statement: str, left: float, right: float, scale: float | None = None) -> Claim:
    """The claim that left <= right."""
    return Claim(statement, float(left), "<=", float(right), scale)
