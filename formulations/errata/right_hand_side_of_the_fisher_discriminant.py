"""The linear system of the Fisher discriminant."""

import cvxpy as cp

from formulations.classification.fisher_discriminant import FisherDiscriminant
from formulations.classification.means import members, other_class
from kopt import Point, Program, Reference, View, WrongPair


class RightHandSideOfTheFisherDiscriminant(WrongPair):
    """(5.16) puts the mean of y_i <w, phi(x_i)> for the difference of the means of the two classes.

    The two are proportional for classes of equal size only; the weights D_i of (5.13) make up for the sizes. The text
    gives no dual program: judged is the one whose optimality condition is the printed system.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Computation 5.15, (5.16)-(5.18)")
    printed = "(B K + lambda I) alpha = y"
    correct = "(B K + lambda I) alpha = D y"

    class Printed(FisherDiscriminant):
        r"""The printed system, for ridge alpha = y - eta, and w = sum_i alpha_i phi(x_i) as printed.

        Dual     max   -1/2 sum_i eta_i^2 / D_i - 1/(2 ridge) sum_ij (y_i - eta_i) (y_j - eta_j) k(x_i, x_j)
                 s.t.  sum_(i: y_i = 1) eta_i = sum_(i: y_i = -1) eta_i = 0          : m

        eta is the text's B X w, so that the multiplier of the primal is D y - eta.
        """

        def dual(self, s: View) -> Program:
            """With y for D y in the quadratic term."""
            eta, D = cp.Variable(s.n, name="eta"), other_class(s.y)
            u = s.combination(s.y - eta)
            return Program(
                cp.Maximize(-0.5 * (1 / D) @ cp.square(eta) - 0.5 / self.ridge * u.norm_squared),
                {"m": members(s.y) @ eta == 0},
                multipliers={"alpha": D * s.y - eta},
            )

        def recover(self, s: View, dual: Point) -> dict[str, object]:
            """By (5.18)."""
            return super().recover(s, Point(alpha=s.y - dual.eta))

    Corrected = FisherDiscriminant
