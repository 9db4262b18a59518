"""Between which numbers the norm of the multipliers of the two-norm machine varies."""

import numpy as np

import kopt
from formulations.classification import UnitTwoNormSoftMargin
from formulations.errata.samples import two_classes
from kopt import Claim, Reference, WrongStatement, equal


class SmallestNormOfTheMultipliers(WrongStatement):
    """alpha_i = 1/l is feasible for classes of equal size only: each class has half of the multipliers.

    The smallest norm belongs to multipliers that are equal in each class.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Section 7.2.2, after (7.20)")
    printed = "||alpha||^2 varies from 1/l"
    correct = "||alpha||^2 varies from (1/l+ + 1/l-)/4"

    def claims(self) -> tuple[Claim, Claim]:
        """For a C that is nearly 0, where the dual is -||alpha||^2 / (4 C) and little else."""
        sample = two_classes(distance=1.0)
        alpha = kopt.solve(UnitTwoNormSoftMargin(C=1e-8), sample, side="dual").dual.alpha
        plus, minus = np.sum(sample.y > 0), np.sum(sample.y < 0)
        return (
            equal("min ||alpha||^2 = 1/l", alpha @ alpha, 1 / sample.n),
            equal("min ||alpha||^2 = (1/l+ + 1/l-)/4", alpha @ alpha, (1 / plus + 1 / minus) / 4),
        )
