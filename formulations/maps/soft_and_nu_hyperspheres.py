"""The price C of a point outside the sphere and the fraction nu of them (Algorithms 7.8 and 7.11)."""

from formulations.novelty import NuHypersphere, SoftHypersphere
from kopt import Equivalent, Solution, converts


@converts(SoftHypersphere, NuHypersphere, law="nu = 1 / (C l)")
def to_nu(solution: Solution) -> Equivalent:
    """The same sphere, the multipliers times nu; nu <= 1 asks for C >= 1 / l."""
    nu = 1 / (solution.formulation.C * solution.sample.n)
    return Equivalent(NuHypersphere(nu=nu), {**_sphere(solution), "alpha": nu * solution.dual.alpha})


@converts(NuHypersphere, SoftHypersphere, law="C = 1 / (nu l)")
def to_soft(solution: Solution) -> Equivalent:
    """The same sphere, the multipliers divided by nu."""
    nu = solution.formulation.nu
    alpha = solution.dual.alpha / nu
    return Equivalent(SoftHypersphere(C=1 / (nu * solution.sample.n)), {**_sphere(solution), "alpha": alpha})


def _sphere(solution: Solution) -> dict[str, object]:
    return {name: solution.primal[name] for name in ("c", "R", "xi")}
