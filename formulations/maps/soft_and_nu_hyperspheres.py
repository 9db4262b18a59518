"""The price C of a point outside the sphere and the fraction nu of them (Algorithms 7.8 and 7.11)."""

import numpy as np

from formulations.maps.sizes import as_fraction
from formulations.novelty import NuHypersphere, SoftHypersphere
from kopt import Equivalent, InputError, Solution, converts

# Multipliers that add up to 1 but for so much are a solver's.
NEARLY_ONE = 1e-6


@converts(SoftHypersphere, NuHypersphere, law="nu = 1 / (C l)")
def to_nu(solution: Solution) -> Equivalent:
    """The same sphere, the multipliers times nu; nu <= 1 asks for C >= 1 / l."""
    refuse_a_point(solution)
    nu = as_fraction(1 / (solution.formulation.C * solution.sample.n))
    return Equivalent(NuHypersphere(nu=nu), {**_sphere(solution), "alpha": nu * solution.dual.alpha})


@converts(NuHypersphere, SoftHypersphere, law="C = 1 / (nu l)")
def to_soft(solution: Solution) -> Equivalent:
    """The same sphere, the multipliers divided by nu."""
    nu = solution.formulation.nu
    alpha = solution.dual.alpha / nu
    return Equivalent(SoftHypersphere(C=1 / (nu * solution.sample.n)), {**_sphere(solution), "alpha": alpha})


def refuse_a_point(solution: Solution) -> None:
    """Refuse a soft sphere of radius 0 whose multipliers add up to less than 1, as those of no other sphere do."""
    total = float(np.sum(solution.dual.alpha))
    if total < 1 - NEARLY_ONE:
        raise InputError(
            f"The radius is 0 and the multipliers add up to {total:.3g}, less than 1, so that it has no counterpart.",
            "Choose a C for which the sphere is more than a point.",
        )


def _sphere(solution: Solution) -> dict[str, object]:
    return {name: solution.primal[name] for name in ("c", "R", "xi")}
