"""The norm of a weight vector from its dual representation."""

import numpy as np

import kopt
from formulations.errata.spectra import cloud, targets
from formulations.regression import Ridge
from kopt import Claim, Reference, WrongStatement, equal


class NormOfADualWeightVector(WrongStatement):
    """alpha'K alpha is the squared norm, as Remark 4.11 derives two pages before; Theorem 4.12 needs its root."""

    reference = Reference("Shawe-Taylor and Cristianini", "Remark 4.13")
    printed = "the norm B is alpha'K alpha"
    correct = "the norm B is the root of alpha'K alpha"

    def claims(self) -> tuple[Claim, Claim]:
        """The weight vector of ridge regression, explicitly and by its dual variables."""
        X, ridge = cloud(), 2.0
        solution = kopt.solve(Ridge(ridge=ridge), kopt.Sample(X, targets(X)[:, 0]))
        alpha = -solution.dual.beta / (2 * ridge)
        B, form = np.linalg.norm(X.T @ alpha), alpha @ (X @ X.T) @ alpha
        return (
            equal("||w|| = alpha'K alpha", B, form),
            equal("||w|| = root of alpha'K alpha", B, np.sqrt(form)),
        )
