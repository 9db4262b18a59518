"""On-line support vector regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.online.coordinate_ascent import Run, ascend, box_program, matrix, steepest
from kopt.quadratic import KernelTerm
from kopt.solvers import Problem, RawAnswer, Solver


class OnlineRegression(Solver):
    r"""Each coefficient in turn is set to its best value, the others fixed: Algorithm 7.61 with step size and clip.

        t       = k(x_i, x_i) beta_i + y_i - sum_j beta_j k(x_i, x_j)
        beta_i <- sgn(t) max(0, |t| - epsilon) / k(x_i, x_i),   clipped to [-C, C]

    beta = alpha_hat - alpha, one of the two being 0 at each point. As printed the step is 1 instead of
    1/k(x_i, x_i), and there is no clip: that is the hard tube, not the epsilon-insensitive loss, and on smooth kernels
    it hardly converges. It takes every dual over a box in which alpha and alpha_hat enter by their difference, apart
    from linear terms and their own squares: the tubes without offset.

    >>> import kopt
    >>> from formulations.regression import EpsilonInsensitiveWithoutOffset
    >>> sample = kopt.Sample([[1.0], [2.0]], [1.0, 2.0])
    >>> solution = kopt.solve(EpsilonInsensitiveWithoutOffset(C=0.2, epsilon=0.5), sample, method="ONLINE_REGRESSION")
    >>> solution.dual.alpha_hat.round(6).tolist(), solution.certificate.holds(1e-6)
    ([0.1, 0.2], True)
    """

    name = "ONLINE_REGRESSION"

    def accepts(self, problem: Problem) -> str | None:
        """Duals over a box in which alpha and alpha_hat enter by their difference."""
        tube = tube_program(problem)
        return tube if isinstance(tube, str) else None

    def solve(self, problem: Problem) -> RawAnswer:
        """Sweep over the coefficients, beginning at 0."""
        tube = tube_program(problem)
        assert isinstance(tube, Tube)
        run = regression(matrix(tube.shift, tube.terms), tube.y, tube.epsilon, tube.lower, tube.upper)
        return run.answer({"alpha": np.maximum(0.0, -run.z), "alpha_hat": np.maximum(0.0, run.z)})


@dataclass(frozen=True)
class Tube:
    """max sum_i y_i beta_i - sum_i epsilon_i |beta_i| - 1/2 beta' (K + shift) beta over lower <= beta <= upper."""

    terms: tuple[KernelTerm, ...]
    shift: np.ndarray
    y: np.ndarray
    epsilon: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def tube_program(problem: Problem) -> Tube | str:
    """The dual in beta = alpha_hat - alpha, or the reason why it cannot be written so."""
    program = box_program(problem)
    if isinstance(program, str):
        return program
    if set(program.variables) != {"alpha", "alpha_hat"}:
        return "the dual is not written in alpha and alpha_hat"
    linear, shift = program.by_name(program.linear), program.by_name(program.shift)
    lowest, highest = (program.by_name(bound) for bound in program.feasible.box)
    columns = program.by_name(np.arange(program.linear.size))
    if any((term.J[:, columns["alpha"]] + term.J[:, columns["alpha_hat"]]).count_nonzero() for term in program.terms):
        return "alpha and alpha_hat do not enter the kernel terms by their difference"
    epsilon, y = (linear["alpha"] + linear["alpha_hat"]) / 2, (linear["alpha"] - linear["alpha_hat"]) / 2
    if np.any(epsilon < 0) or np.any(shift["alpha"] != shift["alpha_hat"]) or any(map(np.any, lowest.values())):
        return "the dual does not make one of alpha and alpha_hat 0 at each point"
    terms = tuple(KernelTerm(term.factor, term.gram, term.J[:, columns["alpha_hat"]]) for term in program.terms)
    return Tube(terms, shift["alpha_hat"], y, epsilon, -highest["alpha"], highest["alpha_hat"])


def regression(P: np.ndarray, y: np.ndarray, epsilon: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Run:
    """Maximise y' beta - epsilon' |beta| - 1/2 beta' P beta over the box lower <= beta <= upper, which contains 0.

    A coefficient whose diagonal entry is 0 has no curvature: outside the tube it moves to its bound.
    """
    diagonal, widths = P.diagonal().tolist(), epsilon.tolist()
    targets, lows, highs = y.tolist(), lower.tolist(), upper.tolist()

    def best(i: int, beta_i: float, product: float) -> float:
        t = diagonal[i] * beta_i + targets[i] - product
        shrunk = max(0.0, t - widths[i]) - max(0.0, -t - widths[i])
        if diagonal[i] > 0:
            return float(min(max(shrunk / diagonal[i], lows[i]), highs[i]))
        return float(0.0 if shrunk == 0 else highs[i] if shrunk > 0 else lows[i])

    def value(beta: np.ndarray, products: np.ndarray) -> float:
        return float(y @ beta - epsilon @ np.abs(beta) - beta @ products / 2)

    def violation(beta: np.ndarray, products: np.ndarray) -> float:
        slope = y - products
        upwards = slope - np.where(beta >= 0, epsilon, -epsilon)
        downwards = np.where(beta > 0, epsilon, -epsilon) - slope
        return steepest(beta, lower, upper, upwards, downwards)

    return ascend(P, np.zeros(len(y)), best, value, violation, size=float(np.max(np.abs(y))))
