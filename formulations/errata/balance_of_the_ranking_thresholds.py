"""The condition for the thresholds in the dual of the ranking machine."""

import cvxpy as cp
import numpy as np

from formulations.ranking.nu_ranking import NuRanking
from formulations.ranking.thresholds import Thresholds
from kopt import Program, Reference, View, WrongPair


class BalanceOfTheRankingThresholds(WrongPair):
    """The threshold b_y has the points of rank y below it (alpha_l) and those of rank y + 1 above it (alpha_u).

    The print exchanges u and l, against (8.4), the formula for w and the last lines of Code Fragment 8.1. Nor does it
    say that points of the lowest rank have no alpha_u and those of the highest no alpha_l; that is supplied here.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "the relations after (8.4), Code Fragment 8.1")
    printed = "sum_(i: y_i = y) alpha_l_i = sum_(i: y_i = y - 1) alpha_u_i, y = 2..|Y|"
    correct = "sum_(i: y_i = y) alpha_u_i = sum_(i: y_i = y - 1) alpha_l_i, y = 2..|Y|"

    class Printed(NuRanking):
        r"""The balance as printed.

        Dual     s.t.  sum_(i: y_i = y) alpha_l_i = sum_(i: y_i = y - 1) alpha_u_i,  y = 2..k   : b
        """

        def dual(self, s: View) -> Program:
            """The right dual with another balance."""
            right, t = super().dual(s), Thresholds(s.y)
            alpha_l, alpha_u = right.variables["alpha_l"], right.variables["alpha_u"]
            ranks = np.arange(2, t.count + 2)
            balance = _sums(ranks, s.y[t.lower]) @ alpha_l == _sums(ranks - 1, s.y[t.upper]) @ alpha_u
            return Program(
                cp.Maximize(right.objective.expr),
                {**right.constraints, "b": balance},
                domain=right.domain,
                multipliers=right.multipliers,
            )

    Corrected = NuRanking


def _sums(ranks: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The matrix that sums over the points of each of the ranks."""
    return (ranks[:, None] == y).astype(float)
