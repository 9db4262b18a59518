"""The norm of the pattern function of canonical correlation analysis."""

import numpy as np

from formulations.errata.spectra import cloud
from kopt import Claim, Reference, WrongStatement, equal


class NormOfTheCorrelationFunction(WrongStatement):
    """g(x) = (w'phi(x))^2 with w = (w_a, -w_b) is the inner product of ww' with phi phi', of norm ||w||^2.

    The print keeps only the mixed blocks of ww', and loses a factor 2 on the way. A product of the two norms can be
    made as small as one likes by one of them; the sum, which Theorem 6.33 needs in its place, cannot.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Section 6.5, before Theorem 6.33")
    printed = "norm^2 = 2 ||w_a w_b'||^2 = ||w_a||^2 ||w_b||^2"
    correct = "norm^2 = (||w_a||^2 + ||w_b||^2)^2"

    def claims(self) -> tuple[Claim, Claim]:
        """g'K^+ g over points that span the quadratic feature space is the squared norm in it."""
        a, b = cloud(30, 2), cloud(30, 3, seed=3)
        w_a, w_b = np.array([1.0, -0.6]), np.array([0.4, 1.1, -0.7])
        g = (a @ w_a - b @ w_b) ** 2
        K = (a @ a.T + b @ b.T) ** 2
        norm_squared = g @ np.linalg.pinv(K, rcond=1e-10, hermitian=True) @ g
        A, B = w_a @ w_a, w_b @ w_b
        return (
            equal("norm^2 of g = ||w_a||^2 ||w_b||^2", norm_squared, A * B),
            equal("norm^2 of g = (||w_a||^2 + ||w_b||^2)^2", norm_squared, (A + B) ** 2),
        )
