"""The hard margin in canonical form and with a weight vector of length 1 (Algorithms 7.21 and 7.26)."""

from formulations.classification import HardMargin, UnitHardMargin
from formulations.maps.sizes import divisor, radius
from kopt import Equivalent, Solution, converts


@converts(UnitHardMargin, HardMargin, law="w / gamma, alpha / gamma^2")
def to_canonical(solution: Solution) -> Equivalent:
    """The vector whose functional margin is 1 has length 1 / gamma."""
    primal = solution.primal
    gamma = divisor("The margin gamma", primal.gamma, radius(solution), solution)
    answer = {"w": primal.w / gamma, "b": primal.b / gamma, "alpha": solution.dual.alpha / gamma**2}
    return Equivalent(HardMargin(), answer)


@converts(HardMargin, UnitHardMargin, law="gamma = 1 / ||w||, gamma w, gamma^2 alpha")
def to_unit(solution: Solution) -> Equivalent:
    """The direction of w, and its geometric margin."""
    primal = solution.primal
    gamma = 1 / primal.w.norm
    answer = {"w": gamma * primal.w, "b": gamma * primal.b, "gamma": gamma, "alpha": gamma**2 * solution.dual.alpha}
    return Equivalent(UnitHardMargin(), answer)
