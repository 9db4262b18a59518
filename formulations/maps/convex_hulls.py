"""The hard margin and the closest points of the convex hulls ((5) and (8) of 6.867)."""

from formulations.classification import ConvexHulls, HardMargin
from formulations.maps.sizes import divisor, radius
from kopt import Equivalent, Solution, converts


@converts(ConvexHulls, HardMargin, law="w / d^2, alpha = 2 c / d^2")
def to_hard_margin(solution: Solution) -> Equivalent:
    """w = 2 (p - q) has length 2 d, d the distance of the hulls."""
    primal = solution.primal
    distance = divisor("The distance of the hulls", primal.w.norm / 2, radius(solution), solution)
    answer = {
        "w": primal.w / distance**2,
        "b": -(primal.rho_plus + primal.rho_minus) / (2 * distance**2),
        "alpha": 2 * solution.dual.c / distance**2,
    }
    return Equivalent(HardMargin(), answer)


@converts(HardMargin, ConvexHulls, law="d = 2 / ||w||, c = d^2 alpha / 2")
def to_hulls(solution: Solution) -> Equivalent:
    """The hyperplanes <w, phi(x)> + b = 1 and -1 support the two hulls."""
    primal = solution.primal
    square = (2 / primal.w.norm) ** 2
    answer = {
        "w": square * primal.w,
        "rho_plus": square * (1 - primal.b),
        "rho_minus": -square * (1 + primal.b),
        "c": square * solution.dual.alpha / 2,
    }
    return Equivalent(ConvexHulls(), answer)
