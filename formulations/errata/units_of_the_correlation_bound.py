"""The generalisation bound of canonical correlation analysis."""

from math import comb, log, sqrt

import numpy as np

from kopt import Claim, Reference, WrongStatement, at_most

LENGTH, DELTA = 50, 0.05
RARE, FAR = 2 / LENGTH, 3.0
UNIT = 0.01


class UnitsOfTheCorrelationBound(WrongStatement):
    """The left side does not change when phi is divided and w multiplied by a number; R^2 shrinks with its square.

    Theorem 4.9 needs a bounded function, and g is bounded by (A^2 + B^2) R^2, not by R^2; the complexity has the same
    factor in place of A B. Counter-example: two views agree, but in 2 of 50 draws are far and opposite; every eighth
    sample has no such draw. Moving 2 A B / l in front of the root does not save the print.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Theorem 6.33")
    printed = "E g <= 2 (1 - w_a'C_ab w_b) + root(2 A B/l sum_i (k_a + k_b)^2) + 3 R^2 root(ln(2/delta)/(2 l))"
    correct = "... + 2 (A^2 + B^2)/l root(sum_i (k_a + k_b)^2) + 3 (A^2 + B^2) R^2 root(ln(2/delta)/(2 l))"

    def claims(self) -> tuple[Claim, Claim]:
        """One feature per view, UNIT or -UNIT, or FAR times that; A = B = 1/UNIT; exact sums over the rare draws."""
        A = B = 1 / UNIT
        rare = np.arange(LENGTH + 1)
        likely = np.array([comb(LENGTH, r) * RARE**r * (1 - RARE) ** (LENGTH - r) for r in rare])
        # w_a = w_b such that w'C w = 1 on the sample, as Computation 6.30 has it.
        w_squared = 1 / (UNIT**2 * (1 + rare / LENGTH * (FAR**2 - 1)))
        expected, empirical = (w_squared * share * (2 * FAR * UNIT) ** 2 for share in (RARE, rare / LENGTH))
        squares = (LENGTH - rare) * (2 * UNIT**2) ** 2 + rare * (2 * (FAR * UNIT) ** 2) ** 2
        spread = 3 * 2 * (FAR * UNIT) ** 2 * sqrt(log(2 / DELTA) / (2 * LENGTH))
        complexity = np.maximum(np.sqrt(2 * A * B / LENGTH * squares), 2 * A * B / LENGTH * np.sqrt(squares))
        printed = empirical + complexity + spread
        correct = empirical + (A**2 + B**2) * (2 / LENGTH * np.sqrt(squares) + spread)
        return (
            at_most("P(E g > printed bound) <= delta", np.sum(likely[expected > printed]), DELTA),
            at_most("P(E g > corrected bound) <= delta", np.sum(likely[expected > correct]), DELTA),
        )
