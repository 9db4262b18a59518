"""The Karush-Kuhn-Tucker conditions of an answer, residual by residual."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Residual:
    """By how much one condition fails: in the user's units, and relative to the size of its terms."""

    absolute: float
    relative: float

    @classmethod
    def of(cls, absolute: float, scale: float) -> Residual:
        """A residual against its scale; what is not finite, or measured against infinity, counts as infinity."""
        if not np.isfinite(absolute) or np.isnan(scale):
            return cls(np.inf, np.inf)
        if absolute == 0:
            return cls(0.0, 0.0)
        if np.isinf(scale):
            return cls(float(absolute), np.inf)
        return cls(float(absolute), float(absolute / scale) if scale > 0 else np.inf)


MISSING = Residual(np.inf, np.inf)


@dataclass(frozen=True)
class Record:
    """An answer as it was given, measured.

    primal_feasibility   per primal constraint
    dual_feasibility     per dual constraint (under the name of its multiplier, or its text) and the sign of each
                         multiplier
    stationarity         per primal variable: gradient of the Lagrangian; for variables under an atom that is not
                         differentiable, L(x, multipliers) - dual value
    complementarity      per primal constraint: sum_i |multiplier_i residual_i|
    gap                  primal value - dual value

    Relative residuals compare with the terms that make up the quantity, so they do not change when K and C are
    rescaled together: a constraint with its own terms, a gradient with its contributions, gap and complementarity
    with `scale`, the sum of the absolute terms of the primal objective. Where the optimum is 0 because norms cancel,
    a norm counts for a hundredth of its value for orthogonal points.
    """

    primal_value: float
    dual_value: float
    gap: Residual
    scale: float
    primal_feasibility: Mapping[str, Residual] = field(default_factory=dict)
    dual_feasibility: Mapping[str, Residual] = field(default_factory=dict)
    stationarity: Mapping[str, Residual] = field(default_factory=dict)
    complementarity: Mapping[str, Residual] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def blocks(self) -> dict[str, Mapping[str, Residual]]:
        """All residuals by block."""
        return {
            "primal feasibility": self.primal_feasibility,
            "dual feasibility": self.dual_feasibility,
            "stationarity": self.stationarity,
            "complementarity": self.complementarity,
            "gap": {"gap": self.gap},
        }

    def __iter__(self) -> Iterator[tuple[str, str, Residual]]:
        for block, residuals in self.blocks.items():
            for name, residual in residuals.items():
                yield block, name, residual

    @property
    def worst(self) -> float:
        """The largest relative residual."""
        return max(residual.relative for _, _, residual in self)

    def failures(self, tolerance: float) -> list[tuple[str, str, Residual]]:
        """What does not hold to the tolerance, as (block, name, residual), the worst first."""
        return sorted((r for r in self if not r[2].relative <= tolerance), key=lambda r: -r[2].relative)

    def holds(self, tolerance: float) -> bool:
        """Whether every residual is within the tolerance."""
        return not self.failures(tolerance)
