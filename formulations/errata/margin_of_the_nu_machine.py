"""The margin of a point of the nu-machine."""

import numpy as np

import kopt
from formulations.classification import NuSoftMargin
from formulations.errata.samples import two_classes
from kopt import Claim, Reference, WrongStatement, equal


class MarginOfTheNuMachine(WrongStatement):
    """2 rho/||w|| is the width between the two margins; the distance of a point from the hyperplane is half of it.

    Nor is it the margin of every point without slack, only the least of theirs.
    """

    reference = Reference("6.867 lectures 7-8", "Section 3.1, after (11)")
    printed = "a point with xi_i = 0 has margin 2 rho/||w||"
    correct = "a point with xi_i = 0 has margin at least rho/||w||, the support vectors among them exactly that"

    def claims(self) -> tuple[Claim, Claim]:
        """The least distance from the hyperplane among the points without slack."""
        sample = two_classes(distance=1.0)
        primal = kopt.solve(NuSoftMargin(nu=0.5), sample).primal
        margins = sample.y * (primal.w.values + primal.b) / primal.w.norm
        least, half = np.min(margins[primal.xi < 1e-6 * primal.rho]), primal.rho / primal.w.norm
        return (
            equal("least margin without slack = 2 rho/||w||", least, 2 * half),
            equal("least margin without slack = rho/||w||", least, half),
        )
