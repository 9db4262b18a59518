"""How many points have the margin of the ranking machine."""

import numpy as np

import kopt
from formulations.errata.samples import three_ranks
from formulations.ranking import NuRanking
from formulations.ranking.thresholds import Thresholds
from kopt import Claim, Point, Reference, Sample, WrongStatement, at_most

ROUNDING = 1e-6


class PointsWithTheRankingMargin(WrongStatement):
    """nu l bounds from below what lies on or beyond the margin (at most gamma), not what achieves it (at least gamma).

    That is what the bounds on the multipliers give, and what Theorem 7.33 says for two classes. Of points, which may
    stand at two thresholds each, there may be fewer.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Theorem 8.10")
    printed = "at least nu l of the training points have margin at least gamma"
    correct = "at least nu l of the constraints have margin at most gamma"

    def claims(self) -> tuple[Claim, Claim]:
        """The points whose smaller margin is at least gamma, and the constraints whose margin is at most gamma."""
        sample, nu = three_ranks(), 0.9
        lower, upper = excesses(sample, kopt.solve(NuRanking(nu=nu), sample).primal)
        achieving = int(np.sum(np.maximum(lower, upper) <= ROUNDING))
        constraints = int(np.sum(np.concatenate([lower, upper]) >= -ROUNDING))
        return (
            at_most("nu l <= points with margin at least gamma", nu * sample.n, achieving),
            at_most("nu l <= constraints with margin at most gamma", nu * sample.n, constraints),
        )


def excesses(sample: Sample, primal: Point) -> tuple[np.ndarray, np.ndarray]:
    """How far each point is beyond the margin of its upper and of its lower threshold; -inf where it has none."""
    t = Thresholds(sample.y)
    below, above = np.full((2, sample.n), -np.inf)
    below[t.lower], above[t.upper] = t.excess(primal.w.values, primal.b, primal.gamma)
    return below, above
