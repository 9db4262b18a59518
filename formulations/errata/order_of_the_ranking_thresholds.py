"""Whether the thresholds of the ranking machine come out in order."""

import kopt
from formulations.errata.samples import three_ranks
from formulations.ranking import NuRanking, OrderedNuRanking
from kopt import Claim, Reference, WrongStatement, at_most


class OrderOfTheRankingThresholds(WrongStatement):
    """A linear ranking rule needs thresholds in order (Definition 8.4), and nothing in (8.4) keeps them so.

    Where ranks overlap much, the optimum may exchange two of them. The order is a constraint of its own, with
    multipliers that enter the balance of the thresholds.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Computation 8.8, (8.4)")
    printed = "(8.4) gives a ranking rule: b_1 <= ... <= b_(|Y|-1) (implied)"
    correct = "(8.4) with the constraints b_y <= b_(y+1)"

    def claims(self) -> tuple[Claim, Claim]:
        """The two thresholds between three ranks."""
        sample = three_ranks()
        free, ordered = (kopt.solve(machine(nu=0.9), sample).primal.b for machine in (NuRanking, OrderedNuRanking))
        return (
            at_most("b_1 <= b_2 by (8.4)", free[0], free[1], scale=1.0),
            at_most("b_1 <= b_2 with the constraint", ordered[0], ordered[1], scale=1.0),
        )
