"""The examples that on-line ranking updates on."""

import numpy as np

from kopt import Claim, Reference, WrongStatement, at_most, equal


class LengthOfTheCompoundRankingExample(WrongStatement):
    """A sum of y' - y copies of phi(x) has y' - y times its length, and not its root.

    The bound on the updates that follows is true all the same, because the margin of the sum grows by the same factor
    (with the margin of Novikoff's theorem, see Corollary 8.16). A counter-example needs two ranks in between.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Section 8.1.2, before Corollary 8.16")
    printed = "||phi(x, y:y')||^2 <= (|Y| - 1) (||phi(x)||^2 + 1)"
    correct = "||phi(x, y:y')||^2 = (y' - y)^2 ||phi(x)||^2 + (y' - y)"

    def claims(self) -> tuple[Claim, Claim]:
        """The example of an update from rank 1 to rank 4, of four ranks."""
        ranks, y, other = 4, 1, 4
        phi = np.random.default_rng(0).normal(size=3)
        length = float(phi @ phi)
        examples = [np.concatenate([phi, np.eye(ranks)[u - 1]]) for u in range(y, other)]
        square = np.sum(np.sum(examples, axis=0) ** 2)
        return (
            at_most("||phi(x, 1:4)||^2 <= 3 (||phi(x)||^2 + 1)", square, (ranks - 1) * (length + 1)),
            equal("||phi(x, 1:4)||^2 = 9 ||phi(x)||^2 + 3", square, (other - y) ** 2 * length + (other - y)),
        )
