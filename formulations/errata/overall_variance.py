"""The overall variance of a sample."""

import numpy as np

from formulations.errata.spectra import centred, cloud
from kopt import Claim, Reference, WrongStatement, equal


class OverallVariance(WrongStatement):
    """The eigenvalues that are variances are those of C; the trace of K adds up those of l C."""

    reference = Reference("Shawe-Taylor and Cristianini", "Remark 6.4")
    printed = "the overall variance is the trace of the kernel matrix, the sum of the squared norms"
    correct = "the overall variance is 1/l times that"

    def claims(self) -> tuple[Claim, Claim]:
        """The variances of all features against the trace of the centred kernel matrix."""
        X = cloud()
        variance, trace = np.sum(np.var(X, axis=0)), np.trace(centred(X) @ centred(X).T)
        return (
            equal("sum of the variances = tr K", variance, trace),
            equal("sum of the variances = tr K / l", variance, trace / len(X)),
        )
