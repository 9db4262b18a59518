"""Ridge regression with an offset is the quadratic epsilon-insensitive machine without a tube ((7.22))."""

import numpy as np

from formulations.regression import QuadraticEpsilonInsensitive, RidgeWithOffset
from kopt import Equivalent, InputError, Solution, converts


@converts(RidgeWithOffset, QuadraticEpsilonInsensitive, law="C = 1 / ridge, epsilon = 0")
def to_quadratic_loss(solution: Solution) -> Equivalent:
    """The residual is a slack on one side, beta = alpha - alpha_hat divided by C."""
    C, xi = 1 / solution.formulation.ridge, solution.primal.xi
    answer = {
        "w": solution.primal.w,
        "b": solution.primal.b,
        "xi": np.maximum(0.0, -xi),
        "xi_hat": np.maximum(0.0, xi),
        "alpha": C * np.maximum(0.0, solution.dual.beta),
        "alpha_hat": C * np.maximum(0.0, -solution.dual.beta),
    }
    return Equivalent(QuadraticEpsilonInsensitive(C=C, epsilon=0.0), answer)


@converts(QuadraticEpsilonInsensitive, RidgeWithOffset, law="ridge = 1 / C")
def to_ridge(solution: Solution) -> Equivalent:
    """The same where the tube has no width."""
    machine, primal, dual = solution.formulation, solution.primal, solution.dual
    if machine.epsilon != 0:
        raise InputError(f"epsilon is {machine.epsilon:g}, but ridge regression has no tube.", "Choose epsilon = 0.")
    answer = {
        "w": primal.w,
        "b": primal.b,
        "xi": primal.xi_hat - primal.xi,
        "beta": (dual.alpha - dual.alpha_hat) / machine.C,
    }
    return Equivalent(RidgeWithOffset(ridge=1 / machine.C), answer)
