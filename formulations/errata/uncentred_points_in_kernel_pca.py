"""New points in kernel principal components analysis."""

import numpy as np

from formulations.errata.spectra import centred, cloud, leading
from kopt import Claim, Reference, WrongStatement, equal
from kopt.kernels import Linear


class UncentredPointsInKernelPca(WrongStatement):
    """The kernel matrix is centred, and new points are projected by their plain kernel values.

    The mean of the training points has to be subtracted from a new point as well, by the formula of Algorithm 5.3.
    Whitening, Algorithm 6.16, repeats it.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Algorithm 6.13, Code Fragments 6.1 and 6.2")
    printed = "x~ = (sum_i alpha^j_i k(x_i, x))_j with the plain kernel"
    correct = "x~ = (sum_i alpha^j_i k^(x_i, x))_j with the centred kernel"

    def claims(self) -> tuple[Claim, Claim]:
        """Against the coordinates U_k'(x - mu), for a linear kernel."""
        X, X_test = cloud(15), cloud(6, seed=3)
        eigenvalues, V = leading(centred(X) @ centred(X).T, 2)
        alpha = V / np.sqrt(eigenvalues)
        coordinates = (X_test - X.mean(axis=0)) @ (centred(X).T @ alpha)
        plain, of_centred = Linear()(X_test, X), Linear().centred().fit(X)(X_test, X)
        scale = float(np.linalg.norm(coordinates))
        return (
            equal("||k alpha - (x - mu)'U_k|| = 0", np.linalg.norm(plain @ alpha - coordinates), 0.0, scale),
            equal("||k^ alpha - (x - mu)'U_k|| = 0", np.linalg.norm(of_centred @ alpha - coordinates), 0.0, scale),
        )
