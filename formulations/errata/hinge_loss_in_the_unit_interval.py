"""The hinge loss as an example of a loss with values in [0, 1]."""

import numpy as np

import kopt
from formulations.classification import SoftMargin
from formulations.errata.samples import two_classes
from kopt import Claim, Reference, WrongStatement, at_most


class HingeLossInTheUnitInterval(WrongStatement):
    """The definition asks for values in [0, 1], as Theorem 4.9 does, and the hinge loss given next grows beyond 1.

    Cut off at 1, as in the proof of Theorem 4.17, it still dominates the discrete loss.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Definition 4.10 and the example after it")
    printed = "A(f) = (1 + f)_+ is a loss function with values in [0, 1]"
    correct = "A(f) = min(1, (1 + f)_+) is one, and H(f) <= A(f)"

    def claims(self) -> tuple[Claim, Claim]:
        """The losses of a soft margin machine on classes that overlap."""
        sample = two_classes(distance=1.0)
        solution = kopt.solve(SoftMargin(C=2.0), sample)
        f = -sample.y * (solution.primal.w.values + solution.primal.b)
        hinge = np.maximum(0.0, 1 + f)
        return (
            at_most("max (1 + f)_+ <= 1", np.max(hinge), 1.0),
            at_most("max H(f) - min(1, (1 + f)_+) <= 0", np.max((f > 0) - np.minimum(1.0, hinge)), 0.0, scale=1.0),
        )
