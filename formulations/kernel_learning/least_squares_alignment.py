"""Alignment as a problem of least squares: the quadratic program in the weights."""

from collections.abc import Iterator

import cvxpy as cp
import numpy as np

from formulations.kernel_learning.alignment import Alignment
from kopt import Claim, Point, Program, Reference, View, at_most, equal


class LeastSquaresAlignment(Alignment):
    r"""Non-negative weights of given kernels whose combination is nearest to the target.

    Primal   min   1/2 || sum_k mu_k K_k - T ||^2,  T = yy' / ||y||^2
             s.t.  mu_k >= 0                                                    : nu_k
    Dual     max   1/2 - 1/2 (a + nu)' M^-1 (a + nu)
             s.t.  nu_k >= 0

    Norms and inner products are those of Frobenius, M_kl = <K_k, K_l> and a_k = <K_k, T>: non-negative least squares
    with one variable for each kernel, 1/2 mu' M mu - a' mu + 1/2. The combination nearest to T is as long as its
    alignment A with T, which is the largest there is: the optimum is (1 - A^2) / 2, and the weights are A times those
    of `Alignment`.

    >>> import kopt
    >>> from kopt.kernels import Gaussian, Linear
    >>> kernels = {"linear": Linear(), "gaussian": Gaussian(sigma=1.0)}
    >>> sample = kopt.Sample([[-1.0], [0.5], [1.0]], [-1, 1, 1], kernel=kernels)
    >>> solution = kopt.solve(LeastSquaresAlignment(), sample)
    >>> round((1 - 2 * solution.value) ** 0.5, 4), solution.kernel
    (0.9345, 0.3778 * Linear() + 0.06723 * Gaussian(sigma=1.0))
    """

    reference = Reference("Cortes, Mohri and Rostamizadeh, JMLR 13 (2012)", "Proposition 9")

    def primal(self, s: View) -> Program:
        """The squared distance from the target, of length 1."""
        span, mu = self.span(s), cp.Variable(len(s.kernels), name="mu")
        return Program(cp.Minimize(0.5 * cp.sum_squares(span.F @ mu) - span.a @ mu + 0.5), {"nu": mu >= 0})

    def dual(self, s: View) -> Program:
        """What is left of the target's length by the shortest matrix with the inner products a_k + nu_k."""
        span, nu = self.span(s), cp.Variable(len(s.kernels), name="nu")
        length_squared = cp.sum_squares(span.inverse @ (span.a + nu))
        return Program(cp.Maximize(0.5 - 0.5 * length_squared), domain=[nu >= 0, *span.in_range(nu)])

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """mu = M^-1 (a + nu), or the nearest one that is not negative."""
        span = self.span(s)
        return {"mu": span.nearest_cone_point(span.inverse @ (span.a + dual.nu))}

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The error is orthogonal to the combination; the optimum is (1 - A^2) / 2."""
        span = self.span(s)
        reached, squared = float(span.a @ primal.mu), float(np.sum((span.F @ primal.mu) ** 2))
        yield equal("<K - T, K> = 0", squared, reached, scale=1.0)
        A = reached / np.sqrt(squared) if squared > 0 else 0.0
        value = (squared - 2 * reached + 1) / 2
        yield equal("||K - T||^2 = 1 - A^2", 2 * value, 1 - A**2, scale=1.0)
        yield at_most("the alignment of every single kernel <= A", span.best_alone, A, scale=1.0)
        yield equal("nu_k > 0 only where mu_k = 0: nu' mu = 0", dual.nu @ primal.mu, 0.0, scale=1.0)
