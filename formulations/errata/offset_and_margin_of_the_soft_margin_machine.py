"""Offset and margin in the code of the soft margin machine."""

from formulations.classification.unit_soft_margin import UnitSoftMargin
from formulations.errata.free_points import as_printed, from_free_points
from kopt import Point, Reference, View, WrongPair


class OffsetAndMarginOfTheSoftMarginMachine(WrongPair):
    """The sums s_i = sum_k y_k alpha_k k(x_k, x_i) are multiplied by 2 lambda instead of divided by it.

    (7.15) and (7.16), which the code implements, are right: there <w, phi(x_i)> = s_i / (2 lambda). The function of
    line 8 has the sums without a factor, and needs b without one as well: -1/2 (s_i + s_j).
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Code Fragment 7.6, lines 6 and 7")
    printed = "b = -lambda (s_i + s_j), gamma = 2 lambda s_j + b"
    correct = "b = -(s_i + s_j) / (4 lambda), gamma = s_j / (2 lambda) + b"

    class Printed(UnitSoftMargin):
        """Offset and margin as printed; the weight vector is the right one, of length 1."""

        def recover(self, s: View, dual: Point) -> dict[str, object]:
            """By the printed rule, where there are two free support vectors."""
            return from_free_points(s, dual.alpha, self.C * s.costs, as_printed) or super().recover(s, dual)

    Corrected = UnitSoftMargin
