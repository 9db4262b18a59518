"""The price C of a slack and the fraction nu of margin errors ((9) and (11) of 6.867)."""

import numpy as np

from formulations.classification import NuSoftMargin, SoftMargin
from formulations.classification.margins import largest_nu
from formulations.maps.sizes import divisor, radius
from kopt import Equivalent, Solution, converts


@converts(NuSoftMargin, SoftMargin, law="C = 1 / (l rho)")
def to_soft_margin(solution: Solution) -> Equivalent:
    """Everything in units of rho. (The lectures print C = 1 / rho, which belongs to a mean of the slacks.)"""
    primal, dual = solution.primal, solution.dual
    rho = divisor("The margin rho", float(primal.rho), radius(solution) ** 2, solution)
    answer = {"w": primal.w / rho, "b": primal.b / rho, "xi": primal.xi / rho, "alpha": dual.alpha / rho}
    return Equivalent(SoftMargin(C=1 / (solution.sample.n * rho)), answer)


@converts(SoftMargin, NuSoftMargin, law="nu = sum_i alpha_i / (C l)")
def to_nu(solution: Solution) -> Equivalent:
    """The margin of functional size 1 has rho = 1 / (C l)."""
    primal, alpha, s = solution.primal, solution.dual.alpha, solution.sample
    rho = 1 / (solution.formulation.C * s.n)
    answer = {"w": rho * primal.w, "b": rho * primal.b, "rho": rho, "xi": rho * primal.xi, "alpha": rho * alpha}
    nu = min(rho * float(np.sum(alpha)), largest_nu(s))
    return Equivalent(NuSoftMargin(nu=nu), answer)
