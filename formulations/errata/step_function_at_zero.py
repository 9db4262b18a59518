"""The probability of an error as the expectation of a step function."""

import numpy as np

from kopt import Claim, Reference, WrongStatement, at_most, equal


class StepFunctionAtZero(WrongStatement):
    """With H(0) = 0 and sgn(0) = 1 a negative point on the hyperplane is an error that H does not count.

    Counter-example: a function that is 0 with positive probability. The theorem stands, because its loss is 1 there.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Section 4.3, Theorem 4.17")
    printed = "P(y != sgn g(x)) = E H(-y g(x))"
    correct = "E H(-y g(x)) <= P(y != sgn g(x)) <= E A(-y g(x))"

    def claims(self) -> tuple[Claim, Claim]:
        """g takes the values -1, 0 and 1, with either label, all six pairs equally likely."""
        g, y, gamma = np.repeat([-1.0, 0.0, 1.0], 2), np.tile([-1.0, 1.0], 3), 0.5
        errors = np.mean(np.where(g >= 0, 1.0, -1.0) != y)
        step = np.mean(-y * g > 0)
        ramp = np.mean(np.clip(1 - y * g / gamma, 0.0, 1.0))
        return (
            equal("P(y != sgn g) = E H(-y g)", errors, step),
            at_most(
                "E H(-y g) <= P(y != sgn g) <= E A(-y g): excess <= 0",
                max(step - errors, errors - ramp),
                0.0,
                scale=1.0,
            ),
        )
