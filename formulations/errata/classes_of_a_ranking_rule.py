"""Into how many classes a linear ranking rule divides its inputs."""

import numpy as np

from formulations.errata.ranking_step import rank_of
from kopt import Claim, Reference, WrongStatement, equal


class ClassesOfARankingRule(WrongStatement):
    """The last of the |Y| thresholds is larger than every value, so that |Y| - 1 of them divide: |Y| classes."""

    reference = Reference("Shawe-Taylor and Cristianini", "Definition 8.4")
    printed = "|Y| + 1 equivalence classes"
    correct = "|Y| equivalence classes"

    def claims(self) -> tuple[Claim, Claim]:
        """The ranks of many values under four thresholds."""
        b = np.array([-1.0, 0.5, 2.0, np.inf])
        found = len({rank_of(value, b) for value in np.linspace(-10.0, 10.0, 401)})
        return (
            equal("ranks that occur = |Y| + 1", found, len(b) + 1),
            equal("ranks that occur = |Y|", found, len(b)),
        )
