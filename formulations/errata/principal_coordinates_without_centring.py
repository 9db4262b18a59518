"""The coordinates that primal principal components analysis returns."""

import numpy as np

from formulations.errata.spectra import centred, cloud, leading
from kopt import Claim, Reference, WrongStatement, equal


class PrincipalCoordinatesWithoutCentring(WrongStatement):
    """The covariance is that of the points minus their mean, and the points are then projected with their mean.

    Only for the centred points do the squared coordinates add up to the eigenvalues, as before (6.6).
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Algorithm 6.6")
    printed = "x~_i = U_k' x_i"
    correct = "x~_i = U_k' (x_i - mu)"

    def claims(self) -> tuple[Claim, Claim]:
        """Two principal axes of four."""
        X = cloud()
        eigenvalues, U = leading(centred(X).T @ centred(X), 2)
        total = np.sum(eigenvalues)
        return (
            equal("sum_i ||U_k' x_i||^2 = sum_j lambda_j", np.sum((X @ U) ** 2), total),
            equal("sum_i ||U_k' (x_i - mu)||^2 = sum_j lambda_j", np.sum((centred(X) @ U) ** 2), total),
        )
