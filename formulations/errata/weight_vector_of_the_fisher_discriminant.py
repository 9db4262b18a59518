"""The weight vector of the Fisher discriminant."""

from formulations.classification.fisher_discriminant import FisherDiscriminant
from formulations.classification.means import other_class
from kopt import Point, Reference, View, WrongPair


class WeightVectorOfTheFisherDiscriminant(WrongPair):
    """The mistake of (5.16) where the text prints it, in the solution, for B X w from the right dual."""

    reference = Reference("Shawe-Taylor and Cristianini", "(5.18)")
    printed = "alpha = (y - nu B X w) / (lambda nu)"
    correct = "alpha = (D y - nu B X w) / (lambda nu)"

    class Printed(FisherDiscriminant):
        """The right dual with the printed solution."""

        def recover(self, s: View, dual: Point) -> dict[str, object]:
            """ridge w = sum_i (y_i - eta_i) phi(x_i) with eta = B X w = D y - alpha."""
            eta = other_class(s.y) * s.y - dual.alpha
            return super().recover(s, Point(alpha=s.y - eta))

    Corrected = FisherDiscriminant
