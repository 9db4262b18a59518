"""No duality gap of the nu-machine for a weight vector of length exactly 1?"""

import numpy as np

import kopt
from formulations.classification import UnitNuSoftMargin
from formulations.classification.margins import best_margin_and_offset
from formulations.errata.samples import classes_on_a_line
from kopt import Claim, Reference, WrongStatement, equal


class StrongDualityOfTheNuMachine(WrongStatement):
    """If nu is so small that the reduced convex hulls meet, the problem with ||w||^2 = 1 has a duality gap.

    The optimum of its Lagrangian dual is then 0, which is that of ||w||^2 <= 1. The text admits every nu > 0.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Remark 7.25 for (7.12), Theorem 7.33")
    printed = "no duality gap for ||w||^2 = 1 and every nu in (0, 1] (implied)"
    correct = "no duality gap for ||w||^2 <= 1, or for nu so large that sqrt(-W) > 0"

    def claims(self) -> tuple[Claim, Claim]:
        """On a line, where the unit vectors are 1 and -1."""
        sample, nu = classes_on_a_line(), 0.15
        unit = min(_value(sample.y, w * sample.X[:, 0], 1 / (nu * sample.n)) for w in (1.0, -1.0))
        relaxed = kopt.solve(UnitNuSoftMargin(nu=nu), sample, side="dual").certificate.as_given
        scale = float(np.max(np.abs(sample.X)))
        return (
            equal("the optimum for ||w|| = 1 is max -sqrt(-W)", unit, relaxed.dual_value, scale),
            equal("the optimum for ||w|| <= 1 is max -sqrt(-W)", relaxed.primal_value, relaxed.dual_value, scale),
        )


def _value(y: np.ndarray, values: np.ndarray, C: float) -> float:
    """The objective with the best margin and offset for these values."""
    gamma, b = best_margin_and_offset(y, values, np.full(len(y), C))
    return float(-gamma + C * np.maximum(0.0, gamma - y * (values + b)).sum())
