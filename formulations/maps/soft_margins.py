"""The soft margin in canonical form and with a weight vector of length 1 ((9) of 6.867, and (7.12))."""

from formulations.classification import SoftMargin, UnitSoftMargin
from formulations.classification.margins import smallest_cost
from formulations.maps.sizes import in_lengths, in_margins
from kopt import Equivalent, Solution, converts


@converts(UnitSoftMargin, SoftMargin, law="C / (sqrt(-W) gamma)")
def to_canonical(solution: Solution) -> Equivalent:
    """Everything in units of the margin; -W = alpha' G alpha."""
    gamma, root, answer = in_margins(solution)
    return Equivalent(SoftMargin(C=solution.formulation.C / (root * gamma)), answer)


@converts(SoftMargin, UnitSoftMargin, law="C / sum_i alpha_i")
def to_unit(solution: Solution) -> Equivalent:
    """Everything in units of ||w||, and multipliers that add up to 1."""
    _, total, answer = in_lengths(solution)
    # Where the bound holds with equality, rounding must not carry C below it.
    C = max(solution.formulation.C / total, smallest_cost(solution.sample))
    return Equivalent(UnitSoftMargin(C=C), answer)
