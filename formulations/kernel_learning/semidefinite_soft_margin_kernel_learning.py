"""The soft margin machine that learns its kernel, with weights of any sign."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.classification.soft_margin import SoftMargin
from formulations.kernel_learning.completion import Completion, Hinges
from formulations.kernel_learning.instances import several_kernels
from formulations.kernel_learning.semidefinite_margin import SemidefiniteMargin
from kopt import Claim, Formulation, Point, Program, Reference, Sample, Task, View, equal, positive


class SemidefiniteSoftMarginKernelLearning(SemidefiniteMargin, Formulation):
    r"""Soft margin machine, optimised over the positive semi-definite combinations of given kernels as well.

    Primal   min   1/2 t + C sum_i xi_i
             s.t.  y_i (f_i + b) >= 1 - xi_i                                    : alpha_i
                   xi_i >= 0                                                    : eta_i
                   sum_k mu_k tr K_k <= c l                                     : tau
                   [[sum_k mu_k K_k, f], [f', t]] positive semi-definite        : V
    Dual     max   sum_i alpha_i - c l tau
             s.t.  <K_k, Omega> = tau tr K_k                                    : mu_k
                   v_i = y_i alpha_i                                            : f_i
                   kappa = 1/2                                                  : t
                   sum_i y_i alpha_i = 0                                        : b
                   alpha_i <= C                                                 : xi_i
                   alpha_i >= 0
                   V = [[Omega, -v/2], [-v'/2, kappa]] positive semi-definite

    The weights may have any sign, as long as K = sum_k mu_k K_k is positive semi-definite; t >= f' K^-1 f is the
    squared length. With mu_k >= 0 the problem is `SoftMarginKernelLearning` with p = 1, whose optimum is no smaller.
    For the weights found it is the soft margin machine with the kernel sum_k mu_k k_k. With costs c_i per point, C
    becomes C c_i.

    A kernel that is a combination of others has no weight: theirs make up for it.

    >>> import kopt
    >>> from kopt.kernels import Gaussian, Linear
    >>> kernels = {"linear": Linear(), "gaussian": Gaussian(sigma=1.0)}
    >>> sample = kopt.Sample([[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1], kernel=kernels)
    >>> kopt.solve(SemidefiniteSoftMarginKernelLearning(C=2.0), sample).certificate.holds(1e-6)
    True
    """

    reference = Reference("Lanckriet et al., JMLR 5 (2004)", "the 1-norm soft margin, the semidefinite program")
    task = Task.CLASSIFICATION

    C: float = positive(default=1.0)
    c: float = positive(default=1.0)

    def machine(self) -> Formulation:
        """The machine for one kernel."""
        return SoftMargin(C=self.C)

    def primal(self, s: View) -> Program:
        """Half of t, which is the squared length in the learnt feature space, against slacks."""
        mu, f, t, b = self._variables(s)
        xi = cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(0.5 * t + self.C * s.costs @ xi),
            {"alpha": cp.multiply(s.y, f + b) >= 1 - xi, "eta": xi >= 0, **self._constraints(s, mu, f, t)},
        )

    def dual(self, s: View) -> Program:
        """The trace costs tau, so much that no combination of the kernels is worth more."""
        alpha, V, tau = self._multipliers(s)
        return Program(
            cp.Maximize(cp.sum(alpha) - self.c * s.n * tau),
            {**self._stationarity(s, alpha, V, tau), "xi": alpha <= self.C * s.costs},
            domain=[alpha >= 0, V >> 0],
            multipliers={"eta": self.C * s.costs - alpha},
        )

    def completion(self, s: Any) -> Completion:
        """Slacks that cost C c_i."""
        return Hinges(s.y, self.C * s.costs)

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The claims about the learnt kernel, and what the multipliers add up to."""
        yield from self._common_claims(s, primal, dual)
        spent = primal.t + self.C * s.costs @ primal.xi
        yield equal("sum alpha = t + C sum xi", np.sum(dual.alpha), spent)

    @classmethod
    def instances(cls, rng: np.random.Generator) -> Iterator[tuple[Formulation, Sample]]:
        """Three kernels and labels."""
        for sample in several_kernels(rng):
            C, c = (float(f"{rng.uniform(0.2, 4):.3g}") for _ in range(2))
            yield cls(C=C, c=c), sample
