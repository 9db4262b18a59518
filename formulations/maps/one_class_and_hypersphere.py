"""The hyperplane and the sphere of novelty detection, which agree where k(x, x) is constant (Remark 7.16)."""

import numpy as np

from formulations.novelty import NuHypersphere, OneClass
from kopt import Equivalent, InputError, Solution, converts

# Kernel values on the diagonal that differ by less than this fraction are the same.
CONSTANT = 1e-12


@converts(NuHypersphere, OneClass, law="w = c, 2 rho = k(x, x) - R + ||c||^2")
def to_plane(solution: Solution) -> Equivalent:
    """The distance from c is k(x, x) + ||c||^2 - 2 <c, phi(x)>: where it ends is where the inner product begins."""
    primal, nu = solution.primal, solution.formulation.nu
    rho = (_diagonal(solution) - primal.R + primal.c.norm_squared) / 2
    answer = {"w": primal.c, "rho": rho, "xi": primal.xi / 2, "alpha": solution.dual.alpha / nu}
    return Equivalent(OneClass(nu=nu), answer)


@converts(OneClass, NuHypersphere, law="c = w, R = k(x, x) - 2 rho + ||w||^2")
def to_sphere(solution: Solution) -> Equivalent:
    """The same the other way round."""
    primal, nu = solution.primal, solution.formulation.nu
    R = _diagonal(solution) - 2 * primal.rho + primal.w.norm_squared
    answer = {"c": primal.w, "R": R, "xi": 2 * primal.xi, "alpha": nu * solution.dual.alpha}
    return Equivalent(NuHypersphere(nu=nu), answer)


def _diagonal(solution: Solution) -> float:
    """The value of k(x, x), refused where it varies."""
    diagonal = solution.sample.gram().diagonal
    low, high = float(np.min(diagonal)), float(np.max(diagonal))
    if high - low > CONSTANT * high:
        raise InputError(
            f"k(x, x) varies between {low:.3g} and {high:.3g}, where the sphere and the hyperplane differ.",
            "Use a normalised kernel: kernel.normalised().",
        )
    return high
