"""How the soft hyperspheres find their radius."""

import numpy as np

import kopt
from formulations.novelty import NuHypersphere
from kopt import Claim, Reference, WrongStatement, at_most, equal
from kopt.kernels import Gaussian


class RadiusFromAFreeSupportVector(WrongStatement):
    """The code takes the radius from a multiplier strictly between its bounds, and there may be none.

    If nu l is a whole number, nu l multipliers at the bound add up to 1, and for an open set of samples no other is
    positive. The radius is then any number between two distances, an order statistic that always exists.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Code Fragments 7.2 and 7.3, line 4")
    printed = "choose i such that 0 < alpha_i < 1/(nu l)"
    correct = "r^2 = the ceil(nu l)-th largest squared distance from the centre"

    def claims(self) -> tuple[Claim, Claim]:
        """How many such i there are, and that the order statistic gives the optimal value."""
        nu, n = 0.75, 12
        sample = kopt.Sample(np.random.default_rng(1).normal(size=(n, 2)), kernel=Gaussian(sigma=1.0))
        alpha = kopt.solve(NuHypersphere(nu=nu), sample, side="dual").dual.alpha / nu
        K = sample.gram().dense
        distances = K.diagonal() - 2 * K @ alpha + alpha @ K @ alpha
        radius = np.sort(distances)[-int(np.ceil(nu * n))]
        slacks = np.maximum(0.0, distances - radius).sum() / (nu * n)
        free = np.sum((alpha * nu * n > 1e-4) & (alpha * nu * n < 1 - 1e-4))
        return (
            at_most("1 <= number of i with 0 < alpha_i < 1/(nu l)", 1, free),
            equal("r^2 + sum xi/(nu l) = W(alpha)", radius + slacks, K.diagonal() @ alpha - alpha @ K @ alpha),
        )
