"""Weights of any sign of given kernels, with the largest alignment among positive semi-definite combinations."""

from collections.abc import Iterator

import cvxpy as cp
import numpy as np

from formulations.kernel_learning.cone import positive_part, raised
from formulations.kernel_learning.free_weights import FreeWeights
from formulations.kernel_learning.instances import not_semidefinite, several_kernels
from formulations.kernel_learning.masters import NormMaster
from formulations.kernel_learning.span import Span, check_aligned, check_target
from kopt import Claim, Formulation, Point, Program, Reference, Sample, Task, View, at_most, equal
from kopt.kernels import Kernel


class SemidefiniteAlignment(Formulation):
    r"""Weights of any sign whose combination is positive semi-definite and has the largest alignment with the target.

    Primal   max   sum_k mu_k a_k
             s.t.  || sum_k mu_k K_k ||^2 <= 1                                  : lambda
                   sum_k mu_k K_k positive semi-definite                        : Z
    Dual     min   ( (a + z)' M^-1 (a + z) )^(1/2),  z_k = <K_k, Z>
             s.t.  Z positive semi-definite

    Norms and inner products are those of Frobenius, M_kl = <K_k, K_l> and a_k = <K_k, yy'> / ||yy'||: the optimum is
    the alignment A(sum_k mu_k K_k, yy') itself. The multiplier Z is a matrix, with Z K = 0 at the optimum. With
    mu_k >= 0 the problem is `Alignment`, whose optimum is no larger.

    A kernel that is a combination of others has no weight: theirs make up for it.

    >>> import kopt
    >>> from kopt.kernels import Gaussian, Linear
    >>> kernels = {"linear": Linear(), "gaussian": Gaussian(sigma=1.0)}
    >>> sample = kopt.Sample([[-1.0], [0.5], [1.0]], [-1, 1, 1], kernel=kernels)
    >>> round(kopt.solve(SemidefiniteAlignment(), sample).value, 4)
    0.9345
    """

    reference = Reference("Lanckriet et al., JMLR 5 (2004)", "Section 4.7")
    task = Task.OTHER

    def requires(self, s: Sample) -> None:
        """The target must not vanish, and some kernel has to have to do with it."""
        check_target(s.y)
        check_aligned(Span.free(s))

    def primal(self, s: View) -> Program:
        """The inner product with the target, of a positive semi-definite combination of length 1."""
        span, weights = Span.free(s), FreeWeights(s)
        mu = weights.variable()
        constraints = {"lambda": cp.sum_squares(span.F @ mu) <= 1, "Z": weights.mixture(mu) >> 0}
        return Program(cp.Maximize(span.a @ mu), constraints)

    def dual(self, s: View) -> Program:
        """The length of the projection of yy' / ||yy'|| + Z on the span of the kernels."""
        span, Z = Span.free(s), s.matrix("Z")
        length = cp.norm(span.inverse @ (span.a + FreeWeights(s).against(Z)))
        return Program(cp.Minimize(length), domain=[Z >> 0], multipliers={"lambda": length / 2})

    def master(self, s: View) -> NormMaster:
        """The problem without the matrix inequality."""
        return NormMaster(Span.free(s))

    def with_multiplier(self, s: View, Z: np.ndarray, value: float) -> dict[str, object]:
        """The dual variables that belong to the multiplier of the matrix inequality: itself."""
        return {"Z": Z}

    def repair(self, s: View, dual: Point) -> dict[str, object]:
        """The nearest positive semi-definite matrix."""
        return {"Z": positive_part(dual.Z)}

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """mu is the direction of M^-1 (a + z), moved towards the sum of the kernels until K is semi-definite."""
        span = Span.free(s)
        mu = raised(s, span.solve(span.a + FreeWeights(s).against(dual.Z)))
        length = np.linalg.norm(span.F @ mu)
        return {"mu": mu / length if length > 0 else mu}

    def scale(self, s: View) -> float:
        """An alignment is 1 at most; the terms of a'mu are of any size where kernels resemble each other."""
        return 1.0

    def learnt_kernel(self, s: Sample, primal: Point) -> Kernel:
        """sum_k mu_k k_k."""
        return FreeWeights(s).combined(primal.mu)

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """At least the alignment of every kernel; Z and K are orthogonal."""
        span = Span.free(s)
        value = float(span.a @ primal.mu)
        yield at_most("the alignment of every single kernel <= the optimum", span.best_alone, value, scale=1.0)
        yield at_most("alignment <= 1", value, 1.0)
        yield equal("<Z, K> = 0", FreeWeights(s).against(dual.Z) @ primal.mu, 0.0, scale=1.0)

    @classmethod
    def instances(cls, rng: np.random.Generator) -> Iterator[tuple[Formulation, Sample]]:
        """Three kernels and labels, and a constraint that counts."""
        return ((cls(), sample) for sample in not_semidefinite(several_kernels(rng), Span.free))
