"""The soft margin machine that learns its kernel."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.classification.soft_margin import SoftMargin
from formulations.kernel_learning.completion import Completion, Hinges
from formulations.kernel_learning.instances import several_kernels
from formulations.kernel_learning.learnt_margin import LearntMargin, norm_of_weights, spent_length, weight_claims
from kopt import Claim, Formulation, Point, Program, Reference, Sample, Task, View, equal, positive


class SoftMarginKernelLearning(LearntMargin, Formulation):
    r"""Soft margin machine, optimised over non-negative weights of given kernels as well.

    Primal   min   1/2 sum_k <w_k, w_k> / mu_k + C sum_i xi_i
             s.t.  y_i (sum_k <w_k, phi_k(x_i)> + b) >= 1 - xi_i                : alpha_i
                   xi_i >= 0                                                    : eta_i
                   sum_k (r_k mu_k)^p <= c^p                                    : tau
                   mu_k >= 0                                                    : nu_k
    Dual     max   sum_i alpha_i - c/2 ||(q_k / r_k)||_p*,  q_k = sum_ij y_i y_j alpha_i alpha_j k_k(x_i, x_j)
             s.t.  sum_i y_i alpha_i = 0                                        : b
                   alpha_i <= C                                                 : xi_i
                   alpha_i >= 0

    r_k is the mean of k_k(x, x) over the points. With p = 1, p* is infinite: the trace of sum_k mu_k K_k is at most
    c l, few weights are positive, and the dual is a quadratic program with quadratic constraints. For the weights
    found it is the soft margin machine with the kernel sum_k mu_k k_k. With costs c_i per point, C becomes C c_i.

    >>> import kopt
    >>> from kopt.kernels import Gaussian, Linear
    >>> kernels = {"linear": Linear(), "gaussian": Gaussian(sigma=1.0)}
    >>> sample = kopt.Sample([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], kernel=kernels)
    >>> solution = kopt.solve(SoftMarginKernelLearning(C=10.0), sample)
    >>> solution.certificate.holds(1e-6)
    True
    """

    reference = Reference(
        "Lanckriet et al., JMLR 5 (2004)", "Theorem 18, Section 4.4; p-norms: Kloft et al., JMLR 12 (2011)"
    )
    task = Task.CLASSIFICATION

    C: float = positive(default=1.0)
    c: float = positive(default=1.0)
    p: float = norm_of_weights()

    def machine(self) -> Formulation:
        """The machine for one kernel."""
        return SoftMargin(C=self.C)

    def primal(self, s: View) -> Program:
        """Lengths in each feature space, divided by the weights, against slacks."""
        weights = self._weights(s)
        mu, w, b, xi = weights.variable(), weights.vectors(), cp.Variable(name="b"), cp.Variable(s.n, name="xi")
        length = sum(vector.norm_squared_over(mu[k]) for k, vector in enumerate(w.values()))
        values = sum(vector.values for vector in w.values())
        return Program(
            cp.Minimize(0.5 * length + self.C * s.costs @ xi),
            {"alpha": cp.multiply(s.y, values + b) >= 1 - xi, "eta": xi >= 0, **weights.constraints(mu)},
        )

    def dual(self, s: View) -> Program:
        """The length in the best kernel counts."""
        weights, alpha = self._weights(s), cp.Variable(s.n, name="alpha")
        e = cp.multiply(s.y, alpha)
        return Program(
            cp.Maximize(cp.sum(alpha) - weights.length(e)),
            {"b": s.y @ alpha == 0, "xi": alpha <= self.C * s.costs},
            domain=[alpha >= 0],
            multipliers={"eta": self.C * s.costs - alpha, **weights.multipliers(e)},
        )

    def completion(self, s: Any) -> Completion:
        """Slacks that cost C c_i."""
        return Hinges(s.y, self.C * s.costs)

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The claims about the weights, and what the multipliers add up to."""
        yield from weight_claims(self._weights(s), primal, dual, s.y * dual.alpha)
        spent = spent_length(primal) + self.C * s.costs @ primal.xi
        yield equal("sum alpha = sum ||w_k||^2 / mu_k + C sum xi", np.sum(dual.alpha), spent)

    @classmethod
    def instances(cls, rng: np.random.Generator) -> Iterator[tuple[Formulation, Sample]]:
        """Three kernels and labels, with p = 1 and with other norms."""
        for i, sample in enumerate(several_kernels(rng)):
            C, c = (float(f"{rng.uniform(0.2, 4):.3g}") for _ in range(2))
            yield cls(C=C, c=c, p=(1.0, 2.0, 1.5)[i % 3]), sample
