"""What nu counts in the ranking machine."""

import numpy as np

import kopt
from formulations.errata.points_with_the_ranking_margin import ROUNDING, excesses
from formulations.errata.samples import three_ranks
from formulations.ranking import NuRanking
from kopt import Claim, Reference, WrongStatement, at_most


class PointsForConstraintsInTheRankingTheorem(WrongStatement):
    """Even with "margin at most gamma" the lower half of the theorem counts too many points.

    A point between two thresholds has two constraints and may carry two multipliers 1/(nu l), so that nu l bounds the
    number of constraints, and half of it the number of points.
    """

    reference = Reference("Shawe-Taylor and Cristianini", 'Theorem 8.10, with "at most" for "at least gamma"')
    printed = "at least nu l of the training points have margin at most gamma"
    correct = "at least nu l / 2 of the training points have margin at most gamma"

    def claims(self) -> tuple[Claim, Claim]:
        """The points with one of their margins at most gamma."""
        sample, nu = three_ranks(), 0.9
        lower, upper = excesses(sample, kopt.solve(NuRanking(nu=nu), sample).primal)
        points = np.sum(np.maximum(lower, upper) >= -ROUNDING)
        return (
            at_most("nu l <= points with margin at most gamma", nu * sample.n, points),
            at_most("nu l / 2 <= points with margin at most gamma", nu * sample.n / 2, points),
        )
