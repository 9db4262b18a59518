"""The function of the kernel Fisher discriminant."""

import numpy as np

from formulations.errata.fisher import regularised_system
from formulations.errata.samples import two_classes
from kopt import Claim, Reference, WrongStatement, equal


class TransposedFisherDiscriminant(WrongStatement):
    """B K + lambda I is not symmetric, so that labels and kernel values cannot change places.

    The transpose of k'(B K + lambda I)^-1 y, (5.19), has K B where the proposition has B K.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Proposition 5.17")
    printed = "f(x) = y'(B K + lambda I)^-1 k - b"
    correct = "f(x) = y'(K B + lambda I)^-1 k - b"

    def claims(self) -> tuple[Claim, Claim]:
        """Both at a new point against <w, x> with the dual variables of Computation 5.15."""
        sample, x = two_classes(distance=2.0), np.array([0.7, -1.2])
        X, y, K = sample.X, sample.y, sample.gram().dense
        system, k = regularised_system(K, y, 1.5), X @ x
        value = X.T @ np.linalg.solve(system, y) @ x
        return (
            equal("<w, x> = y'(B K + lambda I)^-1 k", value, y @ np.linalg.solve(system, k)),
            equal("<w, x> = y'(K B + lambda I)^-1 k", value, y @ np.linalg.solve(system.T, k)),
        )
