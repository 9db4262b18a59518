"""Weights of any sign with the largest alignment, the trace of the combination bounded."""

from collections.abc import Iterator

import cvxpy as cp
import numpy as np

from formulations.kernel_learning.cone import lacking, positive_part, raised, with_products, without_rounding
from formulations.kernel_learning.cut_program import CutProgram
from formulations.kernel_learning.free_weights import FreeWeights
from formulations.kernel_learning.instances import several_kernels
from formulations.kernel_learning.masters import TraceMaster
from formulations.kernel_learning.span import Span, check_aligned, check_target
from kopt import Claim, Formulation, Point, Program, Reference, Sample, Task, View, at_most, equal, positive
from kopt.kernels import Kernel

# tau I - yy' / ||y||^2 is positive definite for tau > 1; any such tau serves.
SAFE = 2.0


class TraceBoundedAlignment(Formulation):
    r"""Weights of any sign whose combination is positive semi-definite, of bounded trace, and nearest in direction.

    Primal   max   sum_k mu_k a_k
             s.t.  sum_k mu_k tr K_k <= c l                                     : tau
                   sum_k mu_k K_k positive semi-definite                        : Z
    Dual     min   tau c l
             s.t.  tau tr K_k - <Z, K_k> = a_k                                  : mu_k
                   Z positive semi-definite,  tau >= 0

    a_k = <K_k, yy'> / ||y||^2, and l is the number of points: the mean of k(x, x) is at most c. The optimum is at most
    c l, because y' K y <= ||y||^2 tr K, also where combinations of the kernels vanish and the weights are not
    determined; tau I - yy' / ||y||^2 is positive definite for tau > 1 and satisfies the equations, whatever the
    kernels. The bound is linear, so that this problem prefers combinations of low rank, where `SemidefiniteAlignment`
    bounds the norm.

    A kernel that is a combination of others has no weight: theirs make up for it.

    >>> import kopt
    >>> from kopt.kernels import Gaussian, Linear
    >>> kernels = {"linear": Linear(), "gaussian": Gaussian(sigma=1.0)}
    >>> sample = kopt.Sample([[-1.0], [0.5], [1.0]], [-1, 1, 1], kernel=kernels)
    >>> solution = kopt.solve(TraceBoundedAlignment(c=2.0), sample)
    >>> round(solution.value, 4), solution.kernel
    (5.5556, 2.667 * Linear())
    """

    reference = Reference("Lanckriet et al., JMLR 5 (2004)", "Section 4.7")
    task = Task.OTHER

    c: float = positive(default=1.0)

    def requires(self, s: Sample) -> None:
        """The target must not vanish, and some kernel has to have to do with it."""
        check_target(s.y)
        check_aligned(Span.free(s))

    def primal(self, s: View) -> Program:
        """The inner product with the target, of a positive semi-definite combination of bounded trace."""
        weights = FreeWeights(s)
        mu = weights.variable()
        constraints = {"tau": weights.traces @ mu <= self.c * s.n, "Z": weights.mixture(mu) >> 0}
        return Program(cp.Maximize(Span.free(s).a @ mu), constraints)

    def dual(self, s: View) -> Program:
        """The least tau for which some matrix tau I - Z agrees with the target on the kernels."""
        weights, Z, tau = FreeWeights(s), s.matrix("Z"), cp.Variable(name="tau")
        equations = tau * weights.traces - weights.against(Z) == Span.free(s).a
        return Program(cp.Minimize(self.c * s.n * tau), {"mu": equations}, domain=[Z >> 0, tau >= 0])

    def master(self, s: View) -> TraceMaster:
        """The problem without the matrix inequality."""
        return TraceMaster(Span.free(s), FreeWeights(s).traces, self.c * s.n)

    def with_multiplier(self, s: View, Z: np.ndarray, value: float) -> dict[str, object]:
        """The multiplier of the matrix inequality; that of the trace, times the trace, is the value."""
        return {"Z": Z, "tau": value / (self.c * s.n)}

    def repair(self, s: View, dual: Point) -> dict[str, object]:
        """The equations corrected by a combination of the kernels; mixed with a safe point if that leaves the cone."""
        tau = max(0.0, float(dual.tau))
        Z = with_products(s, positive_part(dual.Z), tau * FreeWeights(s).traces - Span.free(s).a)
        lack = lacking(Z)
        if not lack:
            return {"Z": Z, "tau": tau}
        share = lack / (lack + SAFE - 1)
        safe = SAFE * np.eye(s.n) - np.outer(s.y, s.y) / (s.y @ s.y)
        return {"Z": (1 - share) * Z + share * safe, "tau": (1 - share) * tau + share * SAFE}

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """The linear program over the vectors of Z, cut further until its solution is positive semi-definite."""
        span, nothing = Span.free(s), np.zeros(len(s.kernels))
        D = span.inverse.T
        if not D.size or not np.any(span.a):
            return {"mu": nothing}
        bound = self.c * s.n
        cuts = CutProgram(s, nothing, D, cost=-span.a @ D, A=(s.traces @ D)[None], b=np.array([bound]))
        mu = raised(s, without_rounding(s, cuts.solved(np.linalg.eigh(dual.Z)[1])))
        trace = float(s.traces @ mu)
        return {"mu": mu * (bound / trace) if span.a @ mu > 0 else nothing}

    def scale(self, s: View) -> float:
        """The optimum is c l at most; the terms of a'mu are of any size where kernels resemble each other."""
        return self.c * s.n

    def learnt_kernel(self, s: Sample, primal: Point) -> Kernel:
        """sum_k mu_k k_k."""
        return FreeWeights(s).combined(primal.mu)

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """No kernel of that trace does better; the trace is used up; Z and K are orthogonal."""
        a, bound, weights = Span.free(s).a, self.c * s.n, FreeWeights(s)
        value, trace = float(a @ primal.mu), float(weights.traces @ primal.mu)
        yield at_most("c l a_k / tr K_k <= the optimum", bound * np.max(weights.even * a), value, scale=bound)
        yield at_most("the optimum <= c l", value, bound)
        yield equal("tau (tr K - c l) = 0", dual.tau * (trace - bound), 0.0, scale=bound)
        yield equal("<Z, K> = 0", weights.against(dual.Z) @ primal.mu, 0.0, scale=bound)

    @classmethod
    def instances(cls, rng: np.random.Generator) -> Iterator[tuple[Formulation, Sample]]:
        """Three kernels and labels, with a bound of three digits."""
        return ((cls(c=float(f"{rng.uniform(0.3, 3):.3g}")), sample) for sample in several_kernels(rng))
