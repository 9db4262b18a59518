"""The linear system of the Fisher discriminant."""

import cvxpy as cp

from formulations.classification.fisher_discriminant import FisherDiscriminant
from formulations.classification.means import members, other_class
from kopt import Program, Reference, View, WrongPair


class RightHandSideOfTheFisherDiscriminant(WrongPair):
    """(5.16) puts the mean of y_i <w, phi(x_i)> for the difference of the means of the two classes.

    The two are proportional for classes of equal size only; the weights D_i of (5.13) make up for the sizes. The text
    gives no dual program: judged is the one whose optimality condition is the printed system.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Computation 5.15, (5.16)-(5.18)")
    printed = "(B K + lambda I) alpha = y"
    correct = "(B K + lambda I) alpha = D y"

    class Printed(FisherDiscriminant):
        r"""The printed system, for alpha / ridge, and w = 1/ridge sum_i alpha_i phi(x_i) as printed.

        Dual     max   -1/2 sum_i (y_i - alpha_i)^2 / D_i - 1/(2 ridge) sum_ij alpha_i alpha_j k(x_i, x_j)
                 s.t.  sum_(i: y_i = 1) alpha_i = l+,  sum_(i: y_i = -1) alpha_i = -l-             : m
        """

        def dual(self, s: View) -> Program:
            """With y for D y."""
            alpha = cp.Variable(s.n, name="alpha")
            D, w = other_class(s.y), s.combination(alpha)
            return Program(
                cp.Maximize(-0.5 * (1 / D) @ cp.square(s.y - alpha) - 0.5 / self.ridge * w.norm_squared),
                {"m": members(s.y) @ alpha == members(s.y) @ s.y},
            )

    Corrected = FisherDiscriminant
