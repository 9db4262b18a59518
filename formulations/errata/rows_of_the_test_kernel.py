"""The rows of the test kernel in the code of kernel principal components analysis."""

import numpy as np

from formulations.errata.spectra import centred, cloud, leading
from kopt import Claim, Reference, WrongStatement, equal


class RowsOfTheTestKernel(WrongStatement):
    """Ktest has l rows of inner products with the training points and one more of those of a point with itself.

    All four places leave out the last training point, so that V' * Ktest(1:ell - 1,:) cannot be formed.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Code Fragment 6.1")
    printed = "TestFeat = invsqrtL * V' * Ktest(1:ell - 1,:)"
    correct = "TestFeat = invsqrtL * V' * Ktest(1:ell,:)"

    def claims(self) -> tuple[Claim, Claim]:
        """The sizes of the factors for 15 training and 6 test points."""
        X, X_test = cloud(15), cloud(6, seed=3)
        Ktest = np.vstack([X @ X_test.T, np.sum(X_test**2, axis=1)])
        _, V = leading(centred(X) @ centred(X).T, 2)
        columns, ell = V.T.shape[1], len(X)
        return (
            equal("rows of Ktest(1:ell - 1,:) = columns of V'", len(Ktest[: ell - 1]), columns),
            equal("rows of Ktest(1:ell,:) = columns of V'", len(Ktest[:ell]), columns),
        )
