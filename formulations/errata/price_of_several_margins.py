"""What it costs to choose gamma after seeing the data."""

import numpy as np

from kopt import Claim, Reference, WrongStatement, equal


class PriceOfSeveralMargins(WrongStatement):
    """With delta/k for delta the term under the root is ln(2 k / delta) / (2 l): ln k is divided by 2 l, not by l."""

    reference = Reference("Shawe-Taylor and Cristianini", "Remark 7.13")
    printed = "the penalty is ln(k)/l under the root"
    correct = "the penalty is ln(k)/(2 l) under the root"

    def claims(self) -> tuple[Claim, Claim]:
        """For ten values of gamma, two hundred points and delta = 0.05."""
        k, n, delta = 10, 200, 0.05
        added = np.log(2 / (delta / k)) / (2 * n) - np.log(2 / delta) / (2 * n)
        return (
            equal("the term under the root grows by ln(k)/l", added, np.log(k) / n),
            equal("the term under the root grows by ln(k)/(2 l)", added, np.log(k) / (2 * n)),
        )
