"""The mean of the projections of centred data."""

import numpy as np

from formulations.errata.spectra import centred, cloud
from kopt import Claim, Reference, WrongStatement, equal


class MeanNormOfAProjection(WrongStatement):
    """A norm is not negative, and its mean is 0 only if every point is orthogonal to v.

    What has mean 0, and the variance that follows, is the coordinate <v, phi(x)>, whose absolute value is the norm.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Section 5.2, Section 5.3 before (5.9)")
    printed = "||P_v(phi(x))|| = <v, phi(x)>, so that its mean over centred data is 0"
    correct = "||P_v(phi(x))|| = |<v, phi(x)>|, and the mean of <v, phi(x)> is 0"

    def claims(self) -> tuple[Claim, Claim]:
        """Centred points projected onto a unit vector."""
        X, v = centred(cloud()), np.full(4, 0.5)
        norms, coordinates = np.linalg.norm(np.outer(X @ v, v), axis=1), X @ v
        scale = float(np.max(norms))
        return (
            equal("mean ||P_v(phi(x))|| = 0", np.mean(norms), 0.0, scale=scale),
            equal("mean <v, phi(x)> = 0", np.mean(coordinates), 0.0, scale=scale),
        )
