"""Ranking with two ranks is classification, b_1 = -b ((8.4) and (7.12))."""

import numpy as np

from formulations.classification import UnitNuSoftMargin
from formulations.ranking import NuRanking
from kopt import Equivalent, InputError, Solution, converts


@converts(NuRanking, UnitNuSoftMargin, law="b = -b_1, rank 2 is the positive class")
def to_classes(solution: Solution) -> Equivalent:
    """The points below the threshold are the negative class."""
    s, primal, dual = solution.sample, solution.primal, solution.dual
    if s.y.max() > 2:
        raise InputError(f"There are {int(s.y.max())} ranks, but only two of them are classes.", "Keep two ranks.")
    answer = {
        "w": primal.w.coefficients,
        "b": -primal.b[0],
        "gamma": primal.gamma,
        "xi": _merged(s.y == 1, primal.xi_l, primal.xi_u),
        "alpha": _merged(s.y == 1, dual.alpha_l, dual.alpha_u),
    }
    return Equivalent(UnitNuSoftMargin(nu=solution.formulation.nu), answer, s.relabelled(np.where(s.y == 1, -1, 1)))


@converts(UnitNuSoftMargin, NuRanking, law="b_1 = -b, the positive class is rank 2")
def to_ranks(solution: Solution) -> Equivalent:
    """The negative class is below the threshold."""
    s, primal, alpha = solution.sample, solution.primal, solution.dual.alpha
    minus, plus = s.y < 0, s.y > 0
    answer = {
        "w": primal.w.coefficients,
        "b": np.array([-primal.b]),
        "gamma": primal.gamma,
        "xi_l": primal.xi[minus],
        "xi_u": primal.xi[plus],
        "alpha_l": alpha[minus],
        "alpha_u": alpha[plus],
    }
    return Equivalent(NuRanking(nu=solution.formulation.nu), answer, s.relabelled(np.where(plus, 2, 1)))


def _merged(lower: np.ndarray, of_lower: np.ndarray, of_upper: np.ndarray) -> np.ndarray:
    """One value per point, from those of the points below and above the threshold."""
    values = np.empty(len(lower))
    values[lower], values[~lower] = of_lower, of_upper
    return values
