"""The maximal margin machine that learns its kernel, with weights of any sign."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.classification.hard_margin import HardMargin
from formulations.kernel_learning.completion import Completion, NoSlack
from formulations.kernel_learning.instances import several_kernels
from formulations.kernel_learning.semidefinite_margin import SemidefiniteMargin
from formulations.kernel_learning.separability import check_separable
from kopt import Claim, Formulation, Point, Program, Reference, Sample, Task, View, equal, positive


class SemidefiniteHardMarginKernelLearning(SemidefiniteMargin, Formulation):
    r"""Maximal margin machine, optimised over the positive semi-definite combinations of given kernels as well.

    Primal   min   1/2 t
             s.t.  y_i (f_i + b) >= 1                                           : alpha_i
                   sum_k mu_k tr K_k <= c l                                     : tau
                   [[sum_k mu_k K_k, f], [f', t]] positive semi-definite        : V
    Dual     max   sum_i alpha_i - c l tau
             s.t.  <K_k, Omega> = tau tr K_k                                    : mu_k
                   v_i = y_i alpha_i                                            : f_i
                   kappa = 1/2                                                  : t
                   sum_i y_i alpha_i = 0                                        : b
                   alpha_i >= 0
                   V = [[Omega, -v/2], [-v'/2, kappa]] positive semi-definite

    The weights may have any sign, as long as K = sum_k mu_k K_k is positive semi-definite; t >= f' K^-1 f is the
    squared length. With mu_k >= 0 the problem is `HardMarginKernelLearning` with p = 1, whose optimum is no smaller.
    For the weights found it is the hard margin machine with the kernel sum_k mu_k k_k.

    A kernel that is a combination of others has no weight: theirs make up for it.

    >>> import kopt
    >>> from kopt.kernels import Gaussian, Linear
    >>> kernels = {"linear": Linear(), "gaussian": Gaussian(sigma=1.0)}
    >>> sample = kopt.Sample([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], kernel=kernels)
    >>> kopt.solve(SemidefiniteHardMarginKernelLearning(), sample).certificate.holds(1e-6)
    True
    """

    reference = Reference("Lanckriet et al., JMLR 5 (2004)", "the hard margin, the semidefinite program")
    task = Task.CLASSIFICATION

    c: float = positive(default=1.0)

    def machine(self) -> Formulation:
        """The machine for one kernel."""
        return HardMargin()

    def requires(self, s: Sample) -> None:
        """Some combination of the kernels must separate the classes."""
        super().requires(s)
        check_separable(s)

    def primal(self, s: View) -> Program:
        """Half of t, which is the squared length in the learnt feature space."""
        mu, f, t, b = self._variables(s)
        return Program(
            cp.Minimize(0.5 * t),
            {"alpha": cp.multiply(s.y, f + b) >= 1, **self._constraints(s, mu, f, t)},
        )

    def dual(self, s: View) -> Program:
        """The trace costs tau, so much that no combination of the kernels is worth more."""
        alpha, V, tau = self._multipliers(s)
        return Program(
            cp.Maximize(cp.sum(alpha) - self.c * s.n * tau),
            self._stationarity(s, alpha, V, tau),
            domain=[alpha >= 0, V >> 0],
        )

    def completion(self, s: Any) -> Completion:
        """No slacks."""
        return NoSlack(s.y)

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The claims about the learnt kernel, and the margin from the multipliers, which sit on it only."""
        yield from self._common_claims(s, primal, dual)
        total = float(np.sum(dual.alpha))
        yield equal("sum alpha = t = 1 / gamma^2", total, primal.t)
        away = np.abs(dual.alpha) @ np.abs(s.y * (primal.f + primal.b) - 1)
        yield equal("alpha > 0 only where y f = 1: sum alpha |y f - 1| = 0", away, 0.0, scale=total)

    @classmethod
    def instances(cls, rng: np.random.Generator) -> Iterator[tuple[Formulation, Sample]]:
        """Three kernels and labels, which all combinations with a Gaussian separate."""
        for sample in several_kernels(rng):
            yield cls(c=float(f"{rng.uniform(0.2, 4):.3g}")), sample
