"""Which points are support vectors, as far as the gap lets it be known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kopt.cones import NonNegative
from kopt.gradients import affine_parts
from kopt.verify.conditions import Conditions

# Below this, a relative slack or multiplier says nothing in double precision.
SMALLEST_THRESHOLD = 1e-7


@dataclass(frozen=True)
class Points:
    """The points by the status of one constraint and its multiplier.

    zero        the constraint is inactive: not a support vector
    free        active, and the multiplier is strictly below its bound
    bound       active, and the multiplier is at its bound (where it has one)
    undecided   the accuracy of the answer leaves it open
    rows        the point to which each entry of the constraint belongs: all in order, unless it is about some of them
    margins     slack of the constraint at each of its points, in its own units
    """

    multiplier: str
    zero: np.ndarray
    free: np.ndarray
    bound: np.ndarray
    undecided: np.ndarray
    rows: np.ndarray
    margins: np.ndarray

    @property
    def support(self) -> np.ndarray:
        """Indices of the support vectors that are known to be so."""
        return np.sort(np.concatenate([self.free, self.bound]))

    def __str__(self) -> str:
        n = len(self.margins)
        return (
            f"{len(self.free)} free, {len(self.bound)} at the bound, {len(self.zero)} not support vectors, "
            f"{len(self.undecided)} undecided, of {n}"
        )


def classify(conditions: Conditions, accuracy: float) -> dict[str, Points]:
    """The points for every primal inequality whose entries belong to a point each, with a dual variable of its own.

    accuracy   the worst relative residual of the answer

    For a feasible pair multiplier_i * slack_i is at most the gap, so at most one of the two can exceed its root: the
    one that does decides. Slacks are looked at first, because the multipliers need not be unique.
    """
    if not np.isfinite(accuracy):
        return {}
    threshold = max(np.sqrt(accuracy), SMALLEST_THRESHOLD)
    result = {}
    for name, cone in conditions.primal.cones.items():
        rows = _rows(conditions, name)
        if not isinstance(cone, NonNegative) or rows is None or _eliminated(conditions, name):
            continue
        n = len(rows)
        inactive, active = _decided(conditions, name, threshold)
        partner = _bounding_multiplier(conditions, name)
        if partner is None:
            at_bound, below = np.zeros(n, dtype=bool), np.ones(n, dtype=bool)
        else:
            at_bound, below = _decided(conditions, partner, threshold)
        # A strict violation of the margin settles it: the slack variable is positive, so the bound is reached.
        bound = at_bound & ~inactive
        free = active & below & ~bound
        zero = inactive & ~bound
        result[name] = Points(
            multiplier=name,
            zero=rows[zero],
            free=rows[free],
            bound=rows[bound],
            undecided=rows[~(zero | free | bound)],
            rows=rows,
            margins=-conditions.constraints[name].value,
        )
    return result


def _rows(conditions: Conditions, name: str) -> np.ndarray | None:
    """The point to which each entry of a constraint belongs; None where there is no such thing.

    A constraint with one entry per point is about the points in order; one on some of them, such as w.values[rows],
    takes one value of a weight vector in each entry.
    """
    shape = conditions.primal.cones[name].residual.shape
    if shape == (conditions.primal_view.n,):
        return np.arange(conditions.primal_view.n)
    for weight in conditions.primal_view.weights.values():
        slopes = conditions.constraints[name].gradients.get(weight.values.id)
        if len(shape) == 1 and weight.values.ndim == 1 and slopes is not None:
            point, entry = slopes.nonzero()
            if np.array_equal(np.sort(entry), np.arange(shape[0])):
                return weight.seen[point[np.argsort(entry)]]
    return None


def _decided(conditions: Conditions, name: str, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    """Where a constraint is certainly inactive, and where it is certainly active."""
    slack = -conditions.constraints[name].value / (conditions.constraint_scale(name) or 1.0)
    multiplier = conditions.multipliers[name] / (conditions.multiplier_scale(name) or 1.0)
    return (slack > threshold) & (slack > multiplier), (multiplier > threshold) & (multiplier > slack)


def _eliminated(conditions: Conditions, name: str) -> bool:
    return conditions.dual is not None and name in conditions.dual.multipliers


def _bounding_multiplier(conditions: Conditions, name: str) -> str | None:
    """The eliminated multiplier that falls as this one rises, such as mu = C - alpha for alpha."""
    if conditions.dual is None:
        return None
    variable = conditions.dual.variables.get(name)
    for other, expression in conditions.dual.multipliers.items():
        variables = expression.variables()
        if len(variables) != 1 or variables[0] is not variable or not expression.is_affine():
            continue
        if expression.shape == variable.shape:
            slope = affine_parts(expression)[0][variable.id].diagonal()
            if np.all(slope < 0):
                return other
    return None
