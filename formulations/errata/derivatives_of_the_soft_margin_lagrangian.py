"""Two derivatives of the Lagrangian of the soft margin machine."""

import numpy as np

from formulations.classification import UnitSoftMargin
from formulations.errata.samples import two_classes
from kopt import Claim, Reference, WrongStatement, equal, lagrangian
from kopt.views import ExplicitView


class DerivativesOfTheSoftMarginLagrangian(WrongStatement):
    """The derivatives by b and by gamma are printed with the opposite sign; the conditions that follow are the same.

    The Lagrangian above them has -gamma and -sum_i alpha_i (y_i (<w, phi(x_i)> + b) - gamma + xi_i). The same for
    the machine with squared slacks; those of the hard margin machine, (7.10), are right.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Section 7.2.2, the derivatives before (7.14)")
    printed = "dL/db = sum_i y_i alpha_i, dL/dgamma = 1 - sum_i alpha_i"
    correct = "dL/db = -sum_i y_i alpha_i, dL/dgamma = -1 + sum_i alpha_i"

    def claims(self) -> tuple[Claim, Claim]:
        """The slopes of L, which is affine in both, at random points and multipliers."""
        sample = two_classes()
        program = UnitSoftMargin(C=0.3).primal(ExplicitView(sample))
        L, multipliers = lagrangian(program)
        rng = np.random.default_rng(0)
        for variable in (*program.variables.values(), *multipliers.values()):
            variable.value = rng.uniform(0.1, 1.0, variable.shape)
        slopes = []
        for name in ("b", "gamma"):
            before = float(L.value)
            program.variables[name].value += 1.0
            slopes.append(float(L.value) - before)
        alpha = multipliers["alpha"].value
        correct = np.array([-sample.y @ alpha, -1 + alpha.sum()])
        statement = "distance of (dL/db, dL/dgamma) from the formula = 0"
        return (
            equal(statement, np.linalg.norm(slopes + correct), 0.0, scale=float(np.linalg.norm(correct))),
            equal(statement, np.linalg.norm(slopes - correct), 0.0, scale=float(np.linalg.norm(correct))),
        )
