"""The squared slacks: canonical, with a unit vector ((7.19)), and as a hard margin for K + mu I (Algorithm 7.37)."""

import numpy as np

from formulations.classification import HardMargin, TwoNormSoftMargin, UnitHardMargin, UnitTwoNormSoftMargin
from formulations.maps.sizes import divisor, in_lengths, in_margins, radius
from kopt import Equivalent, Sample, Solution, converts


@converts(UnitTwoNormSoftMargin, TwoNormSoftMargin, law="2 C / sqrt(alpha' G alpha)")
def to_canonical(solution: Solution) -> Equivalent:
    """Everything in units of the margin."""
    _, root, answer = in_margins(solution)
    return Equivalent(TwoNormSoftMargin(C=2 * solution.formulation.C / root), answer)


@converts(TwoNormSoftMargin, UnitTwoNormSoftMargin, law="C ||w|| / (2 sum_i alpha_i)")
def to_unit(solution: Solution) -> Equivalent:
    """Everything in units of ||w||, and multipliers that add up to 1."""
    length, total, answer = in_lengths(solution)
    return Equivalent(UnitTwoNormSoftMargin(C=solution.formulation.C * length / (2 * total)), answer)


@converts(TwoNormSoftMargin, HardMargin, law="mu = 1/C on the diagonal of K")
def to_hard_margin(solution: Solution) -> Equivalent:
    """A private feature of length sqrt(1/C) for every point takes up its slack; alpha is the same."""
    s = solution.sample
    shifted = _with_diagonal(s, 1 / (solution.formulation.C * s.costs))
    alpha = solution.dual.alpha
    return Equivalent(HardMargin(), {"w": s.y * alpha, "b": solution.primal.b, "alpha": alpha}, shifted)


@converts(UnitTwoNormSoftMargin, UnitHardMargin, law="mu = sqrt(alpha' G alpha) / (2 C) on the diagonal of K")
def to_unit_hard_margin(solution: Solution) -> Equivalent:
    """The mu of Algorithm 7.37 that belongs to C; alpha is the same, the margin that of the enlarged space."""
    s, alpha = solution.sample, solution.dual.alpha
    root = divisor("The multiplier lambda", 2 * float(solution.dual["lambda"]), radius(solution), solution)
    mu = root / (2 * solution.formulation.C * s.costs)
    gamma = float(np.sqrt(root**2 + mu @ alpha**2))
    answer = {"w": s.y * alpha / gamma, "b": solution.primal.b * root / gamma, "gamma": gamma, "alpha": alpha}
    return Equivalent(UnitHardMargin(), answer, _with_diagonal(s, mu))


def _with_diagonal(s: Sample, mu: np.ndarray) -> Sample:
    return Sample.from_gram(s.gram().dense + np.diag(mu), s.y)
