"""The dual of the soft enclosing sphere in an exercise."""

from formulations.errata.soft_sphere_dual_for_small_costs import SoftSphereDualForSmallCosts
from formulations.novelty import SoftHypersphere
from kopt import Reference, WrongPair


class EnclosingSphereDualForSmallCosts(WrongPair):
    """The exercise asks to show an equivalence that fails if C < 1/m: no alpha <= C then adds up to 1.

    The primal has an optimum for every C > 0; below 1/m it is r = 0 with c the mean of the points.
    """

    reference = Reference("Mohri, Rostamizadeh and Talwalkar", "Exercise 6.22 (d)")
    printed = "the dual has 0 <= alpha_i <= C and sum_i alpha_i = 1"
    correct = "sum_i alpha_i <= 1, and the quadratic term divided by sum_i alpha_i; as printed for C >= 1/m"

    Printed = SoftSphereDualForSmallCosts.Printed
    Corrected = SoftHypersphere
