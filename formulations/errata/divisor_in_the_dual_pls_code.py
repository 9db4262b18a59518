"""The code of kernel partial least squares."""

import numpy as np

from formulations.errata.spectra import centred, cloud, targets
from kopt import Claim, Reference, WrongStatement, equal


class DivisorInTheDualPlsCode(WrongStatement):
    """The features are divided by tau't, and there is no t in this code.

    With the t = X u of Code Fragment 6.7, of which tau is the multiple a t, the outputs come out a times too large.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Code Fragment 6.9")
    printed = "val = tau(:,i)'*t(:,i)"
    correct = "val = tau(:,i)'*tau(:,i)"

    def claims(self) -> tuple[Claim, Claim]:
        """The outputs after one step against least squares on the first feature."""
        X = centred(cloud())
        Y = centred(targets(X, m=2))
        beta = Y @ np.linalg.svd(X.T @ Y)[2][0]
        beta /= np.linalg.norm(beta)
        tau, t = X @ X.T @ beta, X @ (X.T @ beta) / np.linalg.norm(X.T @ beta)
        fitted = np.outer(tau, np.linalg.lstsq(tau[:, None], Y, rcond=None)[0])
        printed, correct = (np.outer(tau, Y.T @ tau / divisor) for divisor in (tau @ t, tau @ tau))
        scale = float(np.linalg.norm(Y))
        return (
            equal("||trainY - least squares|| = 0, by tau't", np.linalg.norm(printed - fitted), 0.0, scale),
            equal("||trainY - least squares|| = 0, by tau'tau", np.linalg.norm(correct - fitted), 0.0, scale),
        )
