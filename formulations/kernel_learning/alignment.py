"""Weights of given kernels with the largest alignment."""

from collections.abc import Iterator

import cvxpy as cp
import numpy as np

from formulations.kernel_learning.instances import one_weight_0, several_kernels
from formulations.kernel_learning.span import Span, check_aligned, check_target
from kopt import Claim, Formulation, Point, Program, Reference, Sample, Task, View, at_most, equal
from kopt.kernels import Kernel


class Alignment(Formulation):
    r"""Non-negative weights of given kernels whose combination has the largest alignment with the target.

    Primal   max   sum_k mu_k a_k
             s.t.  || sum_k mu_k K_k ||^2 <= 1                                  : lambda
                   mu_k >= 0                                                    : nu_k
    Dual     min   ( (a + nu)' M^-1 (a + nu) )^(1/2)
             s.t.  nu_k >= 0

    Norms and inner products are those of Frobenius, M_kl = <K_k, K_l> and a_k = <K_k, yy'> / ||yy'||: the optimum is
    the alignment A(sum_k mu_k K_k, yy') itself. Both programs have one variable for each kernel, whatever the number of
    points.

    >>> import kopt
    >>> from kopt.kernels import Gaussian, Linear
    >>> kernels = {"linear": Linear(), "gaussian": Gaussian(sigma=1.0)}
    >>> sample = kopt.Sample([[-1.0], [0.5], [1.0]], [-1, 1, 1], kernel=kernels)
    >>> solution = kopt.solve(Alignment(), sample)
    >>> round(solution.value, 4), solution.kernel
    (0.9345, 0.4043 * Linear() + 0.07195 * Gaussian(sigma=1.0))
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Definition 3.20, Section 3.4.2")
    task = Task.OTHER

    def requires(self, s: Sample) -> None:
        """The target must not vanish, and some kernel has to have to do with it."""
        check_target(s.y)
        check_aligned(Span.plain(s))

    def span(self, s: View | Sample) -> Span:
        """The kernels and the target."""
        return Span.plain(s)

    def primal(self, s: View) -> Program:
        """The inner product with the target, of a combination of length 1."""
        span, mu = self.span(s), cp.Variable(len(s.kernels), name="mu")
        return Program(cp.Maximize(span.a @ mu), {"lambda": cp.sum_squares(span.F @ mu) <= 1, "nu": mu >= 0})

    def dual(self, s: View) -> Program:
        """The length of the shortest matrix with the inner products a_k + nu_k."""
        span, nu = self.span(s), cp.Variable(len(s.kernels), name="nu")
        length = cp.norm(span.inverse @ (span.a + nu))
        return Program(cp.Minimize(length), domain=[nu >= 0, *span.in_range(nu)], multipliers={"lambda": length / 2})

    def repair(self, s: View, dual: Point) -> dict[str, object]:
        """Multipliers of inner products that there are, not negative."""
        return {"nu": self.span(s).feasible(dual.nu)}

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """mu is the direction of M^-1 (a + nu), or the nearest one that is not negative."""
        span = self.span(s)
        mu = span.nearest_cone_point(span.inverse @ (span.a + dual.nu))
        length = np.linalg.norm(span.F @ mu)
        return {"mu": mu / length if length > 0 else mu}

    def learnt_kernel(self, s: Sample, primal: Point) -> Kernel:
        """sum_k mu_k k_k."""
        return s.combined(primal.mu)

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The alignment is at least that of every kernel, and the combination has length 1 where it is not 0."""
        span = self.span(s)
        value, length = float(span.a @ primal.mu), float(np.linalg.norm(span.F @ primal.mu))
        yield at_most("the alignment of every single kernel <= the optimum", span.best_alone, value, scale=1.0)
        yield at_most("alignment <= 1", value, 1.0)
        yield equal("lambda (||K||^2 - 1) = 0", dual["lambda"] * (length**2 - 1), 0.0, scale=1.0)

    @classmethod
    def instances(cls, rng: np.random.Generator) -> Iterator[tuple[Formulation, Sample]]:
        """Three kernels and labels, and a weight that is 0."""
        return ((cls(), sample) for sample in one_weight_0(several_kernels(rng), cls().span))
