"""The offset in the code of the kernel Fisher discriminant."""

import numpy as np

from formulations.errata.fisher import regularised_system
from formulations.errata.samples import two_classes
from kopt import Claim, Reference, WrongStatement, equal


class OffsetInTheFisherCode(WrongStatement):
    """The vector `rescale` is 2 l+ l- / l times the t of (5.21), and the code forgets that l.

    The boundary should pass midway between the two projected means, (5.20); the code's offset is l times too small.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Code Fragment 5.6")
    printed = "b = 0.25*(alpha'*K*rescale)/(ellplus*ellminus)"
    correct = "b = 0.25*ell*(alpha'*K*rescale)/(ellplus*ellminus)"

    def claims(self) -> tuple[Claim, Claim]:
        """Both offsets against the midpoint of the projected means."""
        sample = two_classes(distance=2.0)
        K, y, n = sample.gram().dense, sample.y, sample.n
        alpha = np.linalg.solve(regularised_system(K, y, 1.5), y)
        projections = K @ alpha
        midpoint = (projections[y > 0].mean() + projections[y < 0].mean()) / 2
        n_plus, n_minus = np.sum(y > 0), np.sum(y < 0)
        rescale = 1 + y * (n_minus - n_plus) / n
        b = 0.25 * alpha @ K @ rescale / (n_plus * n_minus)
        return (
            equal("b = midpoint of the means", b, midpoint),
            equal("l b = midpoint of the means", n * b, midpoint),
        )
