"""The kernel perceptron."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.classification.hard_margin_without_offset import HardMarginWithoutOffset
from formulations.classification.linear_separation import LinearSeparation
from formulations.online.mistake_driven import MOST_EPOCHS, SEPARATED, UNFINISHED, best_multiple, refused, witness
from kopt import Claim, Sample, at_most, equal
from kopt.solvers import Problem, RawAnswer, Solver


class KernelPerceptron(Solver):
    r"""On a mistake at a point, add the point: Algorithm 7.52.

        alpha_i <- alpha_i + 1   if   y_i sum_j y_j alpha_j k(x_i, x_j) <= 0

    cyclically, until an epoch passes without mistakes. Then w = sum_i y_i alpha_i phi(x_i) separates the classes
    through the origin, and scaled to functional margin 1 it solves LinearSeparation, with multipliers 0. These are not
    the alpha_i of the algorithm, which count mistakes. With R the length of the longest point and gamma the margin of
    the hard margin machine without offset, there are at most R^2 / gamma^2 of them (Theorem 7.53). Where nothing
    separates the classes, the status says so after a fixed number of epochs, and the certificate does not hold.

    >>> import kopt
    >>> sample = kopt.Sample([[-1.0], [2.0]], [-1, 1])
    >>> solution = kopt.solve(LinearSeparation(), sample, method="PERCEPTRON")
    >>> solution.primal.w.values.tolist(), solution.certificate.holds(1e-6)
    ([-1.0, 2.0], True)
    """

    name = "PERCEPTRON"

    def accepts(self, problem: Problem) -> str | None:
        """The linear separation, whose two sides it solves together."""
        if not isinstance(problem.formulation, LinearSeparation):
            return "it solves LinearSeparation only"
        return refused(problem.sample)

    def solve(self, problem: Problem) -> RawAnswer:
        """Run the algorithm, and scale what it finds."""
        sample = problem.sample
        run = perceptron(sample.gram().dense, sample.y)
        margins = sample.y * run.values
        t = best_multiple(margins, sample.costs)
        values = {
            "w": t * sample.y * run.alpha,
            "m": np.minimum(1.0, t * margins),
            "alpha": np.zeros(sample.n),
            "mu": sample.costs,
        }
        claims = run.claims() + (novikoff(run, sample) if run.separated else ())
        return RawAnswer(SEPARATED if run.separated else UNFINISHED, values, claims)


@dataclass(frozen=True)
class Run:
    """What happened in a run.

    alpha            how often each point was added
    updates          the number of mistakes
    values           <w, phi(x_i)> at the end
    norm_squared     <w, w> at the end
    radius_squared   R^2, the largest k(x_i, x_i)
    separated        whether the last epoch had no mistakes
    """

    alpha: np.ndarray
    updates: int
    values: np.ndarray
    norm_squared: float
    radius_squared: float
    separated: bool

    def claims(self) -> tuple[Claim, ...]:
        """Each mistake adds 1 to the multipliers and at most R^2 to the squared norm."""
        return (
            equal("sum alpha = number of mistakes t", np.sum(self.alpha), self.updates),
            at_most("||w||^2 <= t R^2", self.norm_squared, self.updates * self.radius_squared),
        )


def perceptron(K: np.ndarray, y: np.ndarray) -> Run:
    """Cycle through the points until an epoch passes without mistakes."""
    alpha, values, updates, separated = np.zeros(len(y)), np.zeros(len(y)), 0, False
    for _ in range(MOST_EPOCHS):
        before = updates
        for i in range(len(y)):
            if y[i] * values[i] <= 0:
                alpha[i] += 1
                values += y[i] * K[i]
                updates += 1
        if updates == before:
            separated = True
            break
    return Run(alpha, updates, values, float(y * alpha @ values), float(np.max(K.diagonal())), separated)


def novikoff(run: Run, sample: Sample) -> tuple[Claim, ...]:
    """Theorem 7.53, with gamma the margin of the best vector w* through the origin, of length 1."""
    best = witness(HardMarginWithoutOffset(), sample)
    if best is None:
        return ()
    gamma = 1 / best.primal.w.norm
    along = gamma * run.alpha @ (sample.y * best.primal.w.values)
    return (
        at_most("t gamma <= <w*, w>", run.updates * gamma, along),
        at_most("t <= R^2 / gamma^2", run.updates, run.radius_squared / gamma**2),
    )
