"""The dual of the soft minimal hypersphere where C < 1/l."""

from collections.abc import Iterator

import cvxpy as cp
import numpy as np

from formulations.novelty.soft_hypersphere import SoftHypersphere
from kopt import Formulation, Program, Reference, Sample, View, WrongPair
from kopt.kernels import Gaussian, Linear, Polynomial

KERNELS = (0.3 * Linear() + Gaussian(sigma=0.9), Polynomial(degree=2, R=0.7), Linear())


class SoftSphereDualForSmallCosts(WrongPair):
    """If C < 1/l no alpha <= C adds up to 1, but the primal has an optimum: radius 0 around the mean.

    The text divides the derivative 2 r (1 - sum_i alpha_i) by r, which may be 0. In R = r^2 >= 0 the condition is
    sum_i alpha_i <= 1, and the mean with weights alpha takes the place of the sum.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Computation 7.7, Code Fragment 7.2, Theorem 7.9")
    printed = "sum_i alpha_i = 1"
    correct = "sum_i alpha_i <= 1, and the quadratic term divided by sum_i alpha_i"

    class Printed(SoftHypersphere):
        r"""The soft hypersphere with its printed dual, for every C > 0.

        Dual     max   sum_i alpha_i k(x_i, x_i) - sum_ij alpha_i alpha_j k(x_i, x_j)
                 s.t.  sum_i alpha_i = 1                                            : R
                       alpha_i <= C                                                 : xi_i
                       alpha_i >= 0
        """

        @classmethod
        def instances(cls, rng: np.random.Generator) -> Iterator[tuple[Formulation, Sample]]:
            """C below and above 1/l."""
            while True:
                for n, kernel, low, high in ((5, 0, 0.3, 0.8), (7, 1, 1.5, 3.0), (9, 2, 0.3, 0.8), (7, 0, 1.5, 3.0)):
                    X = rng.normal(loc=(0.5, -0.3, 0.2), size=(n, 3))
                    yield cls(C=rng.uniform(low, high) / n), Sample(X, kernel=KERNELS[kernel])

        def dual(self, s: View) -> Program:
            """A quadratic program over a box with one row."""
            alpha = cp.Variable(s.n, name="alpha")
            c = s.combination(alpha)
            return Program(
                cp.Maximize(s.diagonal() @ alpha - c.norm_squared),
                {
                    "R": cp.sum(alpha) == 1,
                    "xi": alpha <= self.C * s.costs,
                },
                domain=[alpha >= 0],
                multipliers={"mu": self.C * s.costs - alpha, "rho": 1 - cp.sum(alpha)},
            )

    Corrected = SoftHypersphere
