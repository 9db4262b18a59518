"""For which C the soft margin machine with a unit vector has a solution."""

import numpy as np
from scipy.optimize import linprog

from formulations.errata.samples import two_classes
from kopt import Claim, Reference, WrongStatement, at_most


class SmallestBoxOfTheSoftMarginMachine(WrongStatement):
    """Each class has to collect half of the multipliers, so the smaller class decides, not the number of points.

    For unbalanced classes and C = 1/l, or nu = 1, no alpha is feasible, and the primal is unbounded.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Theorems 7.30 and 7.33, Remark 7.31")
    printed = "C >= 1/l, nu in (0, 1]"
    correct = "C >= 1/(2 min(l+, l-)), nu <= 2 min(l+, l-)/l"

    def claims(self) -> tuple[Claim, Claim]:
        """The largest sum of multipliers in the box, which has to reach 1."""
        y = two_classes().y
        smaller = min(np.sum(y > 0), np.sum(y < 0))
        return (
            at_most("1 <= largest sum of alpha for C = 1/l", 1.0, _largest_sum(y, 1 / len(y))),
            at_most("1 <= largest sum of alpha for C = 1/(2 min(l+, l-))", 1.0, _largest_sum(y, 0.5 / smaller)),
        )


def _largest_sum(y: np.ndarray, C: float) -> float:
    """The largest sum of alpha with sum_i y_i alpha_i = 0 and 0 <= alpha_i <= C."""
    return -float(linprog(-np.ones(len(y)), A_eq=y[None, :], b_eq=[0.0], bounds=(0.0, C)).fun)
