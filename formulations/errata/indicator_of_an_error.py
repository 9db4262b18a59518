"""The number of errors as a loss."""

import numpy as np

import kopt
from formulations.classification import SoftMargin
from formulations.errata.samples import two_classes
from kopt import Claim, Reference, WrongStatement, equal


class IndicatorOfAnError(WrongStatement):
    """The bracket lost its sgn: as printed every point is an error that is not exactly on its margin."""

    reference = Reference("6.867 lectures 7-8", "Section 4, after (12)")
    printed = "[y != sgn(w'x + b)] = [y (w'x + b) != 1]"
    correct = "[y != sgn(w'x + b)] = [y sgn(w'x + b) != 1]"

    def claims(self) -> tuple[Claim, Claim]:
        """Counts over a sample whose classes overlap; equal to 1 means up to a thousandth."""
        sample = two_classes(distance=1.0)
        solution = kopt.solve(SoftMargin(C=2.0), sample)
        margins = sample.y * (solution.primal.w.values + solution.primal.b)
        errors = np.sum(solution.predict(sample.X) != sample.y)
        return (
            equal("errors = number of y f != 1", errors, np.sum(np.abs(margins - 1) > 1e-3)),
            equal("errors = number of y sgn(f) != 1", errors, np.sum(np.sign(margins) != 1)),
        )
