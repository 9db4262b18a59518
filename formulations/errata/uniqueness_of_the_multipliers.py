"""Is the solution of a convex dual unique?"""

import numpy as np

import kopt
from formulations.novelty import Hypersphere
from kopt import Claim, Reference, WrongStatement, at_most, equal


class UniquenessOfTheMultipliers(WrongStatement):
    """A positive semi-definite matrix makes the dual convex, not strictly convex: the multipliers need not be unique.

    The centre, the radius and the weight vector are. A counter-example: the centre of a rectangle lies on both
    diagonals.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Remarks 7.4 and 7.24")
    printed = "the optimisation has a unique solution (implied: alpha)"
    correct = "c and r are unique; where K is singular alpha need not be"

    def claims(self) -> tuple[Claim, Claim]:
        """Two optimal alphas of the smallest sphere around a rectangle, their gaps, and their centres."""
        sample = kopt.Sample([[0.0, 0.0], [3.0, 0.0], [3.0, 2.0], [0.0, 2.0]])
        one, other = np.array([0.5, 0.0, 0.5, 0.0]), np.array([0.0, 0.5, 0.0, 0.5])
        found = [kopt.verify(Hypersphere(), sample, {"alpha": alpha}) for alpha in (one, other)]
        gaps = sum(certificate.bounds.relative_gap for certificate in found)
        centres = (found[0].primal.c - found[1].primal.c).norm
        return (
            equal("distance of two optimal alphas = 0", np.linalg.norm(one - other), 0.0, scale=1.0),
            at_most("their gaps and the distance of their centres = 0", gaps + centres, 0.0, scale=1.0),
        )
