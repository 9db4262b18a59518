"""The dual of the soft margin machine in vectors."""

import cvxpy as cp

from formulations.classification.soft_margin import SoftMargin
from kopt import Program, Reference, View, WrongPair


class FactorOfTheVectorForm(WrongPair):
    """The vector form has twice the objective of (6.13): its maximisers are right, its value is not.

    A duality gap, or a bound on the primal, that is computed from it is wrong. It is the dual of twice the primal only
    in multipliers that are twice the alpha of (6.14).
    """

    reference = Reference("Mohri, Rostamizadeh and Talwalkar", "(6.15)")
    printed = "(6.13) is max 2 1'alpha - (alpha o y)'K (alpha o y)"
    correct = "(6.13) is max 1'alpha - 1/2 (alpha o y)'K (alpha o y)"

    class Printed(SoftMargin):
        r"""The soft margin machine with the vector form as its dual.

        Dual     max   2 sum_i alpha_i - sum_ij y_i y_j alpha_i alpha_j k(x_i, x_j)
        """

        def dual(self, s: View) -> Program:
            """The right dual with its objective doubled."""
            dual = super().dual(s)
            doubled = cp.Maximize(2 * dual.objective.expr)
            return Program(doubled, dual.constraints, domain=dual.domain, multipliers=dual.multipliers)

    Corrected = SoftMargin
