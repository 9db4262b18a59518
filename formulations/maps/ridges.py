"""The penalty and the bound on the norm of the weight vector (Computations 2.5 and 7.40)."""

import numpy as np

from formulations.maps.sizes import divisor
from formulations.regression import Ridge, RidgeInBall
from kopt import Equivalent, Solution, converts


@converts(Ridge, RidgeInBall, law="B = ||w||")
def to_ball(solution: Solution) -> Equivalent:
    """The smallest ball that contains w; the ridge is the multiplier of its bound."""
    length = divisor("The length of w", solution.primal.w.norm, 0.0, solution)
    return Equivalent(RidgeInBall(B=length), _same(solution))


@converts(RidgeInBall, Ridge, law="ridge = lambda")
def to_ridge(solution: Solution) -> Equivalent:
    """The multiplier of ||w||^2 <= B^2, where the bound has a price."""
    unit = float(np.mean(solution.sample.gram().diagonal))
    ridge = divisor("The multiplier lambda", float(solution.dual["lambda"]), unit, solution)
    return Equivalent(Ridge(ridge=ridge), _same(solution))


def _same(solution: Solution) -> dict[str, object]:
    return {"w": solution.primal.w, "xi": solution.primal.xi, "beta": solution.dual.beta}
