"""The soft margin machine with squared slacks that learns its kernel."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.classification.two_norm_soft_margin import TwoNormSoftMargin
from formulations.kernel_learning.completion import Completion, SquaredHinges
from formulations.kernel_learning.instances import several_kernels
from formulations.kernel_learning.learnt_margin import LearntMargin, norm_of_weights, spent_length, weight_claims
from kopt import Claim, Formulation, Point, Program, Reference, Sample, Task, View, equal, positive


class TwoNormKernelLearning(LearntMargin, Formulation):
    r"""Soft margin machine with squared slacks, optimised over non-negative weights of given kernels as well.

    Primal   min   1/2 sum_k <w_k, w_k> / mu_k + C/2 sum_i xi_i^2
             s.t.  y_i (sum_k <w_k, phi_k(x_i)> + b) >= 1 - xi_i                : alpha_i
                   sum_k (r_k mu_k)^p <= c^p                                    : tau
                   mu_k >= 0                                                    : nu_k
    Dual     max   sum_i alpha_i - 1/(2C) sum_i alpha_i^2 - c/2 ||(q_k / r_k)||_p*,
                   q_k = sum_ij y_i y_j alpha_i alpha_j k_k(x_i, x_j)
             s.t.  sum_i y_i alpha_i = 0                                        : b
                   alpha_i >= 0

    r_k is the mean of k_k(x, x) over the points. With p = 1, p* is infinite: the trace of sum_k mu_k K_k is at most
    c l, few weights are positive, and the dual is a quadratic program with quadratic constraints. For the weights
    found it is the two-norm soft margin machine with the kernel sum_k mu_k k_k. With costs c_i per point, C becomes
    C c_i.

    >>> import kopt
    >>> from kopt.kernels import Gaussian, Linear
    >>> kernels = {"linear": Linear(), "gaussian": Gaussian(sigma=1.0)}
    >>> sample = kopt.Sample([[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1], kernel=kernels)
    >>> kopt.solve(TwoNormKernelLearning(C=2.0), sample).certificate.holds(1e-6)
    True
    """

    reference = Reference(
        "Lanckriet et al., JMLR 5 (2004)", "the 2-norm soft margin; p-norms: Kloft et al., JMLR 12 (2011)"
    )
    task = Task.CLASSIFICATION

    C: float = positive(default=1.0)
    c: float = positive(default=1.0)
    p: float = norm_of_weights()

    def machine(self) -> Formulation:
        """The machine for one kernel."""
        return TwoNormSoftMargin(C=self.C)

    def primal(self, s: View) -> Program:
        """Lengths in each feature space, divided by the weights, against squared slacks."""
        weights = self._weights(s)
        mu, w, b, xi = weights.variable(), weights.vectors(), cp.Variable(name="b"), cp.Variable(s.n, name="xi")
        length = sum(vector.norm_squared_over(mu[k]) for k, vector in enumerate(w.values()))
        values = sum(vector.values for vector in w.values())
        return Program(
            cp.Minimize(0.5 * length + self.C / 2 * cp.sum(cp.multiply(s.costs, cp.square(xi)))),
            {"alpha": cp.multiply(s.y, values + b) >= 1 - xi, **weights.constraints(mu)},
        )

    def dual(self, s: View) -> Program:
        """The length in the best kernel counts; the squared slacks add 1/C to the diagonal of the learnt kernel."""
        weights, alpha = self._weights(s), cp.Variable(s.n, name="alpha")
        e = cp.multiply(s.y, alpha)
        squares = cp.sum(cp.multiply(1 / s.costs, cp.square(alpha)))
        return Program(
            cp.Maximize(cp.sum(alpha) - 0.5 / self.C * squares - weights.length(e)),
            {"b": s.y @ alpha == 0},
            domain=[alpha >= 0],
            multipliers=weights.multipliers(e),
        )

    def completion(self, s: Any) -> Completion:
        """Slacks whose squares cost C/2 c_i."""
        return SquaredHinges(s.y, self.C * s.costs)

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The claims about the weights; what the multipliers add up to, and the slacks that they are."""
        yield from weight_claims(self._weights(s), primal, dual, s.y * dual.alpha)
        total, prices = float(np.sum(dual.alpha)), self.C * s.costs
        spent = spent_length(primal) + prices @ primal.xi**2
        yield equal("sum alpha = sum ||w_k||^2 / mu_k + C sum xi^2, twice the optimum", total, spent)
        missed = float(np.sum(np.abs(prices * primal.xi - dual.alpha)))
        yield equal("the slacks are alpha / C: sum |C xi - alpha| = 0", missed, 0.0, scale=total)

    @classmethod
    def instances(cls, rng: np.random.Generator) -> Iterator[tuple[Formulation, Sample]]:
        """Three kernels and labels, with p = 1 and with other norms."""
        for i, sample in enumerate(several_kernels(rng)):
            C, c = (float(f"{rng.uniform(0.2, 4):.3g}") for _ in range(2))
            yield cls(C=C, c=c, p=(1.0, 2.0, 1.5)[i % 3]), sample
