"""The two nu-machines: with a squared norm (Schoelkopf; (11) of 6.867) and with a unit vector (Algorithm 7.32)."""

from formulations.classification import NuSoftMargin, UnitNuSoftMargin
from formulations.maps.sizes import divisor, radius
from kopt import Equivalent, Solution, converts


@converts(UnitNuSoftMargin, NuSoftMargin, law="nu alpha, rho = nu sqrt(-W) gamma")
def to_squared_norm(solution: Solution) -> Equivalent:
    """w = nu sum_i y_i alpha_i phi(x_i), whose length is nu sqrt(-W) = 2 nu lambda."""
    primal, dual, nu = solution.primal, solution.dual, solution.formulation.nu
    length = 2 * nu * float(dual["lambda"])
    answer = {
        "w": length * primal.w,
        "b": length * primal.b,
        "rho": length * primal.gamma,
        "xi": length * primal.xi,
        "alpha": nu * dual.alpha,
    }
    return Equivalent(NuSoftMargin(nu=nu), answer)


@converts(NuSoftMargin, UnitNuSoftMargin, law="alpha / nu, gamma = rho / ||w||")
def to_unit(solution: Solution) -> Equivalent:
    """Everything in units of ||w||."""
    primal, nu = solution.primal, solution.formulation.nu
    length = divisor("The length of w", primal.w.norm, radius(solution), solution)
    answer = {
        "w": primal.w / length,
        "b": primal.b / length,
        "gamma": primal.rho / length,
        "xi": primal.xi / length,
        "alpha": solution.dual.alpha / nu,
    }
    return Equivalent(UnitNuSoftMargin(nu=nu), answer)
