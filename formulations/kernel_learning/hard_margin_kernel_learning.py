"""The maximal margin machine that learns its kernel."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.classification.hard_margin import HardMargin
from formulations.kernel_learning.completion import Completion, NoSlack
from formulations.kernel_learning.instances import several_kernels
from formulations.kernel_learning.learnt_margin import (
    LearntMargin,
    norm_of_weights,
    scores,
    spent_length,
    weight_claims,
)
from formulations.kernel_learning.separability import check_separable
from kopt import Claim, Formulation, Point, Program, Reference, Sample, Task, View, equal, positive


class HardMarginKernelLearning(LearntMargin, Formulation):
    r"""Maximal margin machine, optimised over non-negative weights of given kernels as well.

    Primal   min   1/2 sum_k <w_k, w_k> / mu_k
             s.t.  y_i (sum_k <w_k, phi_k(x_i)> + b) >= 1                       : alpha_i
                   sum_k (r_k mu_k)^p <= c^p                                    : tau
                   mu_k >= 0                                                    : nu_k
    Dual     max   sum_i alpha_i - c/2 ||(q_k / r_k)||_p*,  q_k = sum_ij y_i y_j alpha_i alpha_j k_k(x_i, x_j)
             s.t.  sum_i y_i alpha_i = 0                                        : b
                   alpha_i >= 0

    r_k is the mean of k_k(x, x) over the points. With p = 1, p* is infinite: the trace of sum_k mu_k K_k is at most
    c l, few weights are positive, and the dual is a quadratic program with quadratic constraints. For the weights
    found it is the hard margin machine with the kernel sum_k mu_k k_k.

    >>> import kopt
    >>> from kopt.kernels import Gaussian, Linear
    >>> kernels = {"linear": Linear(), "gaussian": Gaussian(sigma=1.0)}
    >>> sample = kopt.Sample([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], kernel=kernels)
    >>> kopt.solve(HardMarginKernelLearning(), sample).certificate.holds(1e-6)
    True
    """

    reference = Reference("Lanckriet et al., JMLR 5 (2004)", "the hard margin; p-norms: Kloft et al., JMLR 12 (2011)")
    task = Task.CLASSIFICATION

    c: float = positive(default=1.0)
    p: float = norm_of_weights()

    def machine(self) -> Formulation:
        """The machine for one kernel."""
        return HardMargin()

    def requires(self, s: Sample) -> None:
        """Some combination of the kernels must separate the classes."""
        super().requires(s)
        check_separable(s)

    def primal(self, s: View) -> Program:
        """Lengths in each feature space, divided by the weights."""
        weights = self._weights(s)
        mu, w, b = weights.variable(), weights.vectors(), cp.Variable(name="b")
        length = sum(vector.norm_squared_over(mu[k]) for k, vector in enumerate(w.values()))
        values = sum(vector.values for vector in w.values())
        return Program(
            cp.Minimize(0.5 * length),
            {"alpha": cp.multiply(s.y, values + b) >= 1, **weights.constraints(mu)},
        )

    def dual(self, s: View) -> Program:
        """The length in the best kernel counts."""
        weights, alpha = self._weights(s), cp.Variable(s.n, name="alpha")
        e = cp.multiply(s.y, alpha)
        return Program(
            cp.Maximize(cp.sum(alpha) - weights.length(e)),
            {"b": s.y @ alpha == 0},
            domain=[alpha >= 0],
            multipliers=weights.multipliers(e),
        )

    def completion(self, s: Any) -> Completion:
        """No slacks."""
        return NoSlack(s.y)

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The claims about the weights; the margin from the multipliers, which sit on it only."""
        yield from weight_claims(self._weights(s), primal, dual, s.y * dual.alpha)
        total = float(np.sum(dual.alpha))
        yield equal("sum alpha = sum ||w_k||^2 / mu_k = 1 / gamma^2", total, spent_length(primal))
        away = np.abs(dual.alpha) @ np.abs(s.y * (scores(primal) + primal.b) - 1)
        yield equal("alpha > 0 only where y f = 1: sum alpha |y f - 1| = 0", away, 0.0, scale=total)

    @classmethod
    def instances(cls, rng: np.random.Generator) -> Iterator[tuple[Formulation, Sample]]:
        """Three kernels and labels that combinations with a Gaussian separate; p = 1 and other norms."""
        for i, sample in enumerate(several_kernels(rng)):
            yield cls(c=float(f"{rng.uniform(0.2, 4):.3g}"), p=(1.0, 2.0, 1.5)[i % 3]), sample
