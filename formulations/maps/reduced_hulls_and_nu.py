"""The nu-machine and the closest points of the reduced convex hulls ((11) of 6.867; Bennett and Bredensteiner)."""

from formulations.classification import NuSoftMargin, ReducedConvexHulls
from formulations.classification.margins import largest_nu
from formulations.maps.sizes import divisor, radius
from kopt import Equivalent, Solution, converts


@converts(ReducedConvexHulls, NuSoftMargin, law="nu = 2 / (D l)")
def to_nu(solution: Solution) -> Equivalent:
    """w = nu/2 (p - q), a quarter of nu times the w here; alpha = nu/2 c."""
    primal, s = solution.primal, solution.sample
    nu = min(2 / (solution.formulation.D * s.n), largest_nu(s))
    answer = {
        "w": nu / 4 * primal.w,
        "b": -nu / 8 * (primal.rho_plus + primal.rho_minus),
        "rho": nu / 8 * (primal.rho_plus - primal.rho_minus),
        "xi": nu / 4 * primal.xi,
        "alpha": nu / 2 * solution.dual.c,
    }
    return Equivalent(NuSoftMargin(nu=nu), answer)


@converts(NuSoftMargin, ReducedConvexHulls, law="D = 2 / (nu l)")
def to_reduced_hulls(solution: Solution) -> Equivalent:
    """Where rho > 0 the multipliers of each class add up to nu/2, and are weights times that."""
    primal, nu, s = solution.primal, solution.formulation.nu, solution.sample
    rho = divisor("The margin rho", float(primal.rho), radius(solution) ** 2, solution)
    answer = {
        "w": 4 / nu * primal.w,
        "rho_plus": 4 / nu * (rho - primal.b),
        "rho_minus": -4 / nu * (rho + primal.b),
        "xi": 4 / nu * primal.xi,
        "c": 2 / nu * solution.dual.alpha,
    }
    D = 2 / (min(nu, largest_nu(s)) * s.n)
    return Equivalent(ReducedConvexHulls(D=D), answer)
