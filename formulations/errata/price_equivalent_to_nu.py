"""The soft margin machine that agrees with a nu-machine."""

import numpy as np

import kopt
from formulations.classification import NuSoftMargin, SoftMargin
from formulations.errata.samples import two_classes
from kopt import Claim, Reference, WrongStatement, equal


class PriceEquivalentToNu(WrongStatement):
    """(11) divided by rho^2, with w and the slacks divided by rho, prices a slack at 1/(n rho).

    The price 1/rho is that of a machine whose slacks are averaged; (9) adds them up.
    """

    reference = Reference("6.867 lectures 7-8", "Section 3.1, note")
    printed = "C = 1/rho gives the same decision function"
    correct = "C = 1/(n rho) gives the same decision function"

    def claims(self) -> tuple[Claim, Claim]:
        """The distances of the points from the hyperplanes of the machines."""
        sample = two_classes(distance=1.0)
        nu_machine = kopt.solve(NuSoftMargin(nu=0.5), sample)
        rho, distances = float(nu_machine.primal.rho), _distances(nu_machine)
        printed, correct = (_distances(kopt.solve(SoftMargin(C=C), sample)) for C in (1 / rho, 1 / (sample.n * rho)))
        scale = float(np.linalg.norm(distances))
        return (
            equal("C = 1/rho: ||difference of the distances|| = 0", np.linalg.norm(printed - distances), 0.0, scale),
            equal("C = 1/(n rho): ||difference|| = 0", np.linalg.norm(correct - distances), 0.0, scale),
        )


def _distances(solution: kopt.Solution) -> np.ndarray:
    w, b = solution.primal.w, solution.primal.b
    return np.asarray((w.values + b) / w.norm)
