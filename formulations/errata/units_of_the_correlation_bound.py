"""The generalisation bound of canonical correlation analysis."""

from math import log, sqrt

from kopt import Claim, Reference, WrongStatement, at_most

LENGTH, DELTA = 50, 0.05
RARE, FAR = 2 / LENGTH, 3.0
UNIT = 0.01


class UnitsOfTheCorrelationBound(WrongStatement):
    """The left side does not change when phi is divided and w multiplied by a number; R^2 shrinks with its square.

    A bounded function is needed for Theorem 4.9, and g is bounded by (A^2 + B^2) R^2, not by R^2; the complexity has
    the same factor in place of A B. Counter-example: the two views agree, and in 2 of 50 draws are opposite and far.
    Every eighth sample has no such draw. Moving 2 A B / l in front of the root does not save the print.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Theorem 6.33")
    printed = "E g <= 2 (1 - w_a'C_ab w_b) + root(2 A B/l sum_i (k_a + k_b)^2) + 3 R^2 root(ln(2/delta)/(2 l))"
    correct = (
        "factors (A^2 + B^2) for A B and at R^2: 2 (A^2 + B^2)/l root(sum_i (k_a + k_b)^2) + 3 (A^2 + B^2) R^2 ..."
    )

    def claims(self) -> tuple[Claim, Claim]:
        """One feature per view, UNIT or -UNIT, or FAR times that; w_a = w_b = A = B = 1/UNIT."""
        A = B = 1 / UNIT
        expected = RARE * (2 * FAR) ** 2
        empirical = 2 * (1 - A * UNIT**2 * B)
        squares = LENGTH * (2 * UNIT**2) ** 2
        spread = 3 * 2 * (FAR * UNIT) ** 2 * sqrt(log(2 / DELTA) / (2 * LENGTH))
        printed = empirical + max(sqrt(2 * A * B / LENGTH * squares), 2 * A * B / LENGTH * sqrt(squares)) + spread
        correct = empirical + (A**2 + B**2) * (2 / LENGTH * sqrt(squares) + spread)
        nothing_rare = (1 - RARE) ** LENGTH
        return (
            at_most("P(E g > bound) <= delta", nothing_rare * (expected > printed), DELTA),
            at_most("P(E g > bound) <= delta, without rare draws", nothing_rare * (expected > correct), DELTA),
        )
