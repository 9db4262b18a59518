"""The width epsilon of the tube and the fraction nu of points outside it (Computations 7.46 and 7.50)."""

import numpy as np

from formulations.maps.sizes import as_fraction, divisor
from formulations.regression import EpsilonInsensitive, NuRegression
from kopt import Equivalent, Solution, converts


@converts(NuRegression, EpsilonInsensitive, law="C / l, and the epsilon that was found")
def to_epsilon(solution: Solution) -> Equivalent:
    """With that width given, nu epsilon is a constant."""
    C = solution.formulation.C / solution.sample.n
    return Equivalent(EpsilonInsensitive(C=C, epsilon=float(solution.primal.epsilon)), _same(solution))


@converts(EpsilonInsensitive, NuRegression, law="C l, nu = sum_i (alpha_i + alpha_hat_i) / (C l)")
def to_nu(solution: Solution) -> Equivalent:
    """epsilon is the multiplier of the sum of the multipliers, so that the sum is at its bound C l nu."""
    machine, dual = solution.formulation, solution.dual
    C = machine.C * solution.sample.n
    total = divisor("The sum of the multipliers", float(np.sum(dual.alpha + dual.alpha_hat)), C, solution)
    nu = as_fraction(total / C)
    return Equivalent(NuRegression(C=C, nu=nu), {**_same(solution), "epsilon": machine.epsilon})


def _same(solution: Solution) -> dict[str, object]:
    primal = {name: solution.primal[name] for name in ("w", "b", "xi", "xi_hat")}
    return {**primal, "alpha": solution.dual.alpha, "alpha_hat": solution.dual.alpha_hat}
