"""Offset and margin in the code of the nu-machine."""

from formulations.classification.unit_nu_soft_margin import UnitNuSoftMargin
from formulations.errata.free_points import as_printed, from_free_points
from kopt import Point, Reference, View, WrongPair


class OffsetAndMarginOfTheNuMachine(WrongPair):
    """The lines of Code Fragment 7.6 again: multiplied by 2 lambda instead of divided."""

    reference = Reference("Shawe-Taylor and Cristianini", "Code Fragment 7.7, lines 6 and 7")
    printed = "b = -lambda (s_i + s_j), gamma = 2 lambda s_j + b"
    correct = "b = -(s_i + s_j) / (4 lambda), gamma = s_j / (2 lambda) + b"

    class Printed(UnitNuSoftMargin):
        """Offset and margin as printed; the weight vector is the right one, of length 1."""

        def recover(self, s: View, dual: Point) -> dict[str, object]:
            """By the printed rule, where there are two free support vectors."""
            return from_free_points(s, dual.alpha, self.bound(s), as_printed) or super().recover(s, dual)

    Corrected = UnitNuSoftMargin
