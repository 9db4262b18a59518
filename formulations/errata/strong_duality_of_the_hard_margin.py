"""No duality gap for a weight vector of length exactly 1?"""

import numpy as np

import kopt
from formulations.classification import UnitHardMargin
from formulations.errata.samples import classes_on_a_line
from kopt import Claim, Reference, WrongStatement, equal


class StrongDualityOfTheHardMargin(WrongStatement):
    """||w||^2 = 1 is no convex constraint, and for classes that overlap the problem has a duality gap.

    The Lagrangian dual is that of ||w||^2 <= 1, whose optimum is then 0, reached by w = 0; the margin of every unit
    vector is negative. Where the classes are separable the two problems agree.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "(7.9), Remark 7.25")
    printed = "no duality gap for ||w||^2 = 1"
    correct = "no duality gap for ||w||^2 <= 1"

    def claims(self) -> tuple[Claim, Claim]:
        """On a line, where the unit vectors are 1 and -1."""
        sample = classes_on_a_line()
        unit = max(_margin(sample.y, w * sample.X[:, 0]) for w in (1.0, -1.0))
        relaxed = kopt.solve(UnitHardMargin(), sample, side="dual").certificate.as_given
        scale = float(np.max(np.abs(sample.X)))
        return (
            equal("max gamma for ||w|| = 1 is min sqrt(-W)", unit, relaxed.dual_value, scale),
            equal("max gamma for ||w|| <= 1 is min sqrt(-W)", relaxed.primal_value, relaxed.dual_value, scale),
        )


def _margin(y: np.ndarray, values: np.ndarray) -> float:
    """The largest margin that an offset gives these values."""
    return float(values[y > 0].min() - values[y < 0].max()) / 2
