"""The generalisation bound of the machine with squared slacks."""

import numpy as np

import kopt
from formulations.classification import UnitHardMargin
from formulations.errata.samples import two_classes
from kopt import Claim, Reference, WrongStatement, equal


class SlackTermOfTheTwoNormBound(WrongStatement):
    """The slacks are mu alpha_i / gamma, as the proof says, so that their squares have mu^2.

    The first term of the bound is that of (7.13), sum_i xi_i^2 / (l gamma^2).
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Theorem 7.38")
    printed = "mu ||alpha||^2 / (l gamma^4)"
    correct = "mu^2 ||alpha||^2 / (l gamma^4)"

    def claims(self) -> tuple[Claim, Claim]:
        """With the slacks of the function that Algorithm 7.37 returns, divided by gamma."""
        sample, mu = two_classes(distance=1.0), 3.0
        K, y, n = sample.gram().dense, sample.y, sample.n
        shifted = kopt.Sample.from_gram(K + mu * np.eye(n), y)
        solution = kopt.solve(UnitHardMargin(), shifted)
        alpha, gamma, b = solution.dual.alpha, solution.primal.gamma, solution.primal.b
        xi = np.maximum(0.0, gamma - y * (K @ (y * alpha) / gamma + b))
        term = np.sum(xi**2) / (n * gamma**2)
        return (
            equal("sum xi^2/(l gamma^2) = mu ||alpha||^2/(l gamma^4)", term, mu * alpha @ alpha / (n * gamma**4)),
            equal("sum xi^2/(l gamma^2) = mu^2 ||alpha||^2/(l gamma^4)", term, mu**2 * alpha @ alpha / (n * gamma**4)),
        )
