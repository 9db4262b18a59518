"""The regression function of principal components regression."""

import numpy as np

from formulations.errata.spectra import centred, cloud, leading, targets
from kopt import Claim, Reference, WrongStatement, equal


class PrincipalComponentsRegressionWithoutMeans(WrongStatement):
    """Training centres the kernel matrix; the function returned knows neither that mean nor that of the outputs.

    The coefficients add up to 0, so that what is missing is the constant mean(y) - sum_i alpha_i mean_s k(x_i, x_s).
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Algorithm 6.39, Code Fragment 6.4")
    printed = "f(x) = sum_i alpha_i k(x_i, x)"
    correct = "f(x) = mean(y) + sum_i alpha_i (k(x_i, x) - 1/l sum_s k(x_i, x_s))"

    def claims(self) -> tuple[Claim, Claim]:
        """Against least squares with a constant on the first two principal coordinates."""
        X, k = cloud(), 2
        y, K = targets(X)[:, 0], X @ X.T
        eigenvalues, V = leading(centred(X) @ centred(X).T, k)
        alpha = V @ (V.T @ y / eigenvalues)
        design = np.column_stack([np.ones(len(X)), centred(X) @ centred(X).T @ V])
        fitted = design @ np.linalg.lstsq(design, y, rcond=None)[0]
        printed, correct = K @ alpha, y.mean() + (K - K.mean(axis=0)) @ alpha
        scale = float(np.linalg.norm(y))
        return (
            equal("||f - least squares|| = 0", np.linalg.norm(printed - fitted), 0.0, scale),
            equal("||f with both means - least squares|| = 0", np.linalg.norm(correct - fitted), 0.0, scale),
        )
