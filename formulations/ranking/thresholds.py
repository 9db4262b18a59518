"""What the ranking machines share: which points stand at which threshold, and the best margin for given scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from kopt import Claim, Domain, Point, Sample, View, counting_claims, equal, minimise_hinges

# nu bounds a number of constraints, of which a point may have two: it may exceed 1.
NU = Domain("a finite number > 0", lambda value: value > 0, typical=(0.08, 1.2))


@dataclass(frozen=True)
class Thresholds:
    """The thresholds b_1..b_(k-1) between the ranks y_i in 1..k, and the points on either side of each.

    lower, above   the points with a threshold above them (y_i != k), and its index: b_(y_i)
    upper, below   the points with a threshold below them (y_i != 1), and its index: b_(y_i - 1)

    >>> t = Thresholds(np.array([1, 2, 3, 2]))
    >>> t.count, t.lower.tolist(), t.above.tolist(), t.upper.tolist(), t.below.tolist()
    (2, [0, 1, 3], [0, 1, 1], [1, 2, 3], [0, 1, 0])
    """

    y: np.ndarray

    @property
    def count(self) -> int:
        """k - 1."""
        return int(self.y.max()) - 1

    @cached_property
    def lower(self) -> np.ndarray:
        """The points with y_i != k."""
        return np.flatnonzero(self.y <= self.count)

    @cached_property
    def upper(self) -> np.ndarray:
        """The points with y_i != 1."""
        return np.flatnonzero(self.y > 1)

    @cached_property
    def above(self) -> np.ndarray:
        """The threshold above each lower point."""
        return self.y[self.lower].astype(int) - 1

    @cached_property
    def below(self) -> np.ndarray:
        """The threshold below each upper point."""
        return self.y[self.upper].astype(int) - 2

    def sums_of_lower(self, values: Any) -> Any:
        """sum_(i: y_i = y) of values of the lower points, one sum for each threshold b_y."""
        return _incidence(self.above, self.count) @ values

    def sums_of_upper(self, values: Any) -> Any:
        """sum_(i: y_i = y + 1) of values of the upper points, one sum for each threshold b_y."""
        return _incidence(self.below, self.count) @ values

    def difference(self, of_upper: Any, of_lower: Any) -> Any:
        """One number per point: that of the upper points less that of the lower ones, 0 where there is none."""
        n = len(self.y)
        return _incidence(self.upper, n) @ of_upper - _incidence(self.lower, n) @ of_lower

    def excess(self, scores: np.ndarray, b: np.ndarray, gamma: float) -> tuple[np.ndarray, np.ndarray]:
        """By how much each lower and each upper constraint is beyond the margin."""
        return scores[self.lower] - b[self.above] + gamma, b[self.below] + gamma - scores[self.upper]


def _incidence(rows: np.ndarray, count: int) -> sp.csr_matrix:
    """The matrix that adds the j-th number to the row rows[j]."""
    return sp.csr_matrix((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=(count, len(rows)))


def above_thresholds(primal: Point) -> np.ndarray:
    """<w, phi(x)> - b_y, one column for each threshold: the rank is the first y where it is negative."""
    return np.asarray(primal.w.values[:, None] - primal.b[None, :])


def rank_costs(s: Sample) -> np.ndarray:
    """The total cost of each rank."""
    assert s.y is not None
    return np.bincount(s.y.astype(int), weights=s.costs)[1:]


def margin_claims(s: View, nu: float, primal: Point, dual: Point, unit: float) -> Iterator[Claim]:
    """Theorem 8.10 for constraints instead of points, the sum of the slacks, and which multipliers are at a bound.

    unit   the size of a score
    """
    t = Thresholds(s.y)
    excess = np.concatenate(t.excess(primal.w.values, primal.b, primal.gamma))
    costs = np.concatenate([s.costs[t.lower], s.costs[t.upper]])
    alpha, xi = np.concatenate([dual.alpha_l, dual.alpha_u]), np.concatenate([primal.xi_l, primal.xi_u])
    C = costs / (nu * s.n)
    yield from counting_claims(excess, costs, nu * s.n, float(np.max(np.abs(above_thresholds(primal)))))
    u = s.combination(t.difference(dual.alpha_u, dual.alpha_l))
    yield equal("1/(nu l) sum xi = gamma - sqrt(-W)", C @ xi, primal.gamma - u.norm, scale=unit)
    idle = alpha @ np.maximum(0.0, -excess)
    yield equal("alpha = 0 inside the margin: sum alpha (-excess)_+ = 0", idle, 0.0, scale=unit)
    unpaid = (C - alpha) @ np.maximum(0.0, excess)
    yield equal("alpha = 1/(nu l) beyond it: sum (1/(nu l) - alpha) (excess)_+ = 0", unpaid, 0.0, scale=unit)


def best_margin_and_thresholds(t: Thresholds, scores: np.ndarray, costs: np.ndarray) -> tuple[float, np.ndarray]:
    """The (gamma, b) that minimise -gamma + sum_i c_i (xi_l_i + xi_u_i), the slacks as small as they can be.

    At each threshold the highest lower point is paired with the lowest upper one, and so on, until the costs of one
    side are spent. With its best b_y the threshold then costs the sum of 2 m (gamma - g)_+ over the pairs, m their
    shared cost and 2 g the score of the upper less that of the lower point: gamma is an order statistic of the g.
    """
    masses, gaps = (np.concatenate(each) for each in zip(*_pairs_at_thresholds(t, scores, costs), strict=True))
    gamma = minimise_hinges(-1.0, rising=(2 * masses, gaps)).chosen
    b = np.zeros(t.count)
    for y in range(t.count):
        low, high = t.lower[t.above == y], t.upper[t.below == y]
        b[y] = minimise_hinges(
            0.0,
            rising=(costs[high], scores[high] - gamma),
            falling=(costs[low], scores[low] + gamma),
        ).chosen
    return gamma, b


def best_margin_and_ordered_thresholds(
    t: Thresholds, scores: np.ndarray, costs: np.ndarray
) -> tuple[float, np.ndarray]:
    """The same with b_1 <= ... <= b_(k-1): a linear program where the thresholds do not come in order by themselves."""
    masses = np.concatenate([m for m, _ in _pairs_at_thresholds(t, scores, costs)])
    if 2 * masses.sum() >= 1:  # otherwise there is no margin that is best without the order
        gamma, b = best_margin_and_thresholds(t, scores, costs)
        if np.all(np.diff(b) >= 0):
            return gamma, b
    return _by_linear_program(t, scores, costs)


def shortest_with_margin(t: Thresholds, scores: np.ndarray, norm: float) -> tuple[float | None, np.ndarray]:
    """The (a, b) that minimise (a norm)^2 + sum_y b_y^2 with margin 1 for the scores times a; a is None without any.

    p_y is the highest score below the threshold b_y and q_y the lowest one above it. Then b_y is the point next to 0
    of [a p_y + 1, a q_y - 1], and costs (1 + a p_y)_+^2 + (1 - a q_y)_+^2, a sum of squared hinges in a.
    """
    p, q = np.full(t.count, -np.inf), np.full(t.count, np.inf)
    np.maximum.at(p, t.above, scores[t.lower])
    np.minimum.at(q, t.below, scores[t.upper])
    unit = float(np.max(np.abs(scores)))
    if np.min(q - p) <= 1e-12 * unit:
        return None, np.zeros(t.count)
    slopes = np.concatenate([p, -q])
    rising, falling = slopes[slopes > 1e-12 * unit], slopes[slopes < -1e-12 * unit]
    a = minimise_hinges(
        0.0,
        rising=(np.append(rising**2, norm**2), np.append(-1 / rising, 0.0)),
        falling=(falling**2, -1 / falling),
        power=2,
        t_min=float(np.max(2 / (q - p))),
    ).chosen
    return a, np.clip(0.0, a * p + 1, a * q - 1)


def _pairs_at_thresholds(t: Thresholds, scores: np.ndarray, costs: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    pairs = []
    for y in range(t.count):
        low, high = t.lower[t.above == y], t.upper[t.below == y]
        low, high = low[np.argsort(-scores[low])], high[np.argsort(scores[high])]
        spent_low, spent_high = np.cumsum(costs[low]), np.cumsum(costs[high])
        ends = np.unique(np.concatenate([[0.0], spent_low, spent_high]))
        ends = ends[ends <= min(spent_low[-1], spent_high[-1])]
        middles = (ends[1:] + ends[:-1]) / 2
        of_low, of_high = low[np.searchsorted(spent_low, middles)], high[np.searchsorted(spent_high, middles)]
        pairs.append((np.diff(ends), (scores[of_high] - scores[of_low]) / 2))
    return pairs


def _by_linear_program(t: Thresholds, scores: np.ndarray, costs: np.ndarray) -> tuple[float, np.ndarray]:
    """Over gamma, b and the slacks, in units of the largest score."""
    unit = float(np.max(np.abs(scores))) or 1.0
    m_l, m_u, k = len(t.lower), len(t.upper), t.count
    step = sp.diags_array([np.ones(k - 1), -np.ones(k - 1)], offsets=[0, 1], shape=(k - 1, k))
    rows = [
        [np.ones((m_l, 1)), -_incidence(t.above, k).T, -sp.eye(m_l), None],
        [np.ones((m_u, 1)), _incidence(t.below, k).T, None, -sp.eye(m_u)],
        [np.zeros((k - 1, 1)), step, None, None],
    ]
    right = np.concatenate([-scores[t.lower], scores[t.upper], np.zeros(k - 1)]) / unit
    found = linprog(
        np.concatenate([[-1.0], np.zeros(k), costs[t.lower], costs[t.upper]]),
        A_ub=sp.bmat(rows if k > 1 else rows[:2], format="csr"),
        b_ub=right,
        bounds=[(None, None)] * (1 + k) + [(0, None)] * (m_l + m_u),
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.x is None:
        return 0.0, np.zeros(k)
    return float(found.x[0]) * unit, np.maximum.accumulate(found.x[1 : 1 + k]) * unit
