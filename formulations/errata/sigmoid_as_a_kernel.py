"""The sigmoid kernel."""

import numpy as np

from kopt import Claim, Reference, WrongStatement, at_most


class SigmoidAsAKernel(WrongStatement):
    """The example says when the sigmoid is not positive definite, a < 0 or b < 0, and so that it is one otherwise.

    It is none for positive a and b either. Counter-example: the points 1 and 2 on a line with a = b = 1.
    """

    reference = Reference("Mohri, Rostamizadeh and Talwalkar", "Example 6.6")
    printed = "tanh(a <x, x'> + b) is PDS, but for a < 0 or b < 0 (implied)"
    correct = "it is not PDS for positive a and b either"

    def claims(self) -> tuple[Claim, Claim]:
        """The smallest eigenvalue of a kernel matrix of two points."""
        x = np.array([1.0, 2.0])
        smallest, largest = np.linalg.eigvalsh(np.tanh(np.outer(x, x) + 1))
        return (
            at_most("a = b = 1: 0 <= smallest eigenvalue", 0.0, smallest, scale=float(largest)),
            at_most("a = b = 1: smallest eigenvalue < 0", smallest, 0.0, scale=float(largest)),
        )
