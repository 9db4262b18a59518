"""The soft margin in canonical form and with a weight vector of length 1 ((9) of 6.867, and (7.12))."""

import numpy as np

from formulations.classification import SoftMargin, UnitSoftMargin
from formulations.classification.margins import smallest_cost
from formulations.maps.sizes import divisor, per_radius, radius
from kopt import Equivalent, Solution, converts


@converts(UnitSoftMargin, SoftMargin, law="C / (sqrt(-W) gamma)")
def to_canonical(solution: Solution) -> Equivalent:
    """Everything in units of the margin; sqrt(-W) is the length of sum_i y_i alpha_i phi(x_i), twice lambda."""
    primal, dual = solution.primal, solution.dual
    gamma = divisor("The margin gamma", primal.gamma, radius(solution), solution)
    root = divisor("The multiplier lambda", 2 * float(dual["lambda"]), radius(solution), solution)
    answer = {
        "w": primal.w / gamma,
        "b": primal.b / gamma,
        "xi": primal.xi / gamma,
        "alpha": dual.alpha / (root * gamma),
    }
    return Equivalent(SoftMargin(C=solution.formulation.C / (root * gamma)), answer)


@converts(SoftMargin, UnitSoftMargin, law="C / sum_i alpha_i")
def to_unit(solution: Solution) -> Equivalent:
    """Everything in units of ||w||, and multipliers that add up to 1.

    The margin 1 / ||w|| is one of several where a class has no free multiplier.
    """
    primal, alpha = solution.primal, solution.dual.alpha
    length = divisor("The length of w", primal.w.norm, per_radius(solution), solution)
    total = float(np.sum(alpha))
    answer = {
        "w": primal.w / length,
        "b": primal.b / length,
        "gamma": 1 / length,
        "xi": primal.xi / length,
        "alpha": alpha / total,
    }
    # Where the bound holds with equality, rounding must not carry C below it.
    C = max(solution.formulation.C / total, smallest_cost(solution.sample))
    return Equivalent(UnitSoftMargin(C=C), answer)
