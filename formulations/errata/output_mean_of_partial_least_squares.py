"""The training outputs of partial least squares."""

import numpy as np

from formulations.errata.spectra import centred, cloud, partial_least_squares, targets
from kopt import Claim, Reference, WrongStatement, equal


class OutputMeanOfPartialLeastSquares(WrongStatement):
    """The pseudocode centres the inputs only, so that whatever it fits has mean 0.

    The Matlab code of Code Fragment 6.7 centres the outputs as well, and adds their mean to what it predicts.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Algorithm 6.45, Code Fragment 6.6")
    printed = "training outputs sum_j X_j u_j c_j'"
    correct = "training outputs mean(Y) + sum_j X_j u_j c_j'"

    def claims(self) -> tuple[Claim, Claim]:
        """Against least squares with a constant on the extracted features."""
        X = cloud()
        Y = targets(X, m=2)
        T = partial_least_squares(centred(X), Y, 2).features
        design = np.column_stack([np.ones(len(X)), T])
        fitted = design @ np.linalg.lstsq(design, Y, rcond=None)[0]
        outputs = T @ (T.T @ Y / np.sum(T**2, axis=0)[:, None])
        scale = float(np.linalg.norm(Y))
        return (
            equal("||outputs - least squares|| = 0", np.linalg.norm(outputs - fitted), 0.0, scale),
            equal(
                "||outputs with the mean - least squares|| = 0",
                np.linalg.norm(outputs + Y.mean(axis=0) - fitted),
                0.0,
                scale,
            ),
        )
