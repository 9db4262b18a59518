"""The price C of a slack and the fraction nu, with a weight vector of length 1 (Algorithms 7.29 and 7.32)."""

from formulations.classification import UnitNuSoftMargin, UnitSoftMargin
from formulations.maps.sizes import as_fraction
from kopt import Equivalent, Solution, converts

SAME = ("w", "b", "gamma", "xi")


@converts(UnitSoftMargin, UnitNuSoftMargin, law="nu = 1 / (C l)")
def to_nu(solution: Solution) -> Equivalent:
    """The same problem; nu <= 1 asks for C >= 1 / l."""
    nu = as_fraction(1 / (solution.formulation.C * solution.sample.n))
    return Equivalent(UnitNuSoftMargin(nu=nu), _same(solution))


@converts(UnitNuSoftMargin, UnitSoftMargin, law="C = 1 / (nu l)")
def to_soft_margin(solution: Solution) -> Equivalent:
    """The same problem."""
    C = 1 / (solution.formulation.nu * solution.sample.n)
    return Equivalent(UnitSoftMargin(C=C), _same(solution))


def _same(solution: Solution) -> dict[str, object]:
    return {**{name: solution.primal[name] for name in SAME}, "alpha": solution.dual.alpha}
