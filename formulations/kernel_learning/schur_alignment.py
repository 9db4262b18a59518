"""The semidefinite alignment problem with its norm written as a Schur complement."""

from collections.abc import Iterator

import cvxpy as cp
import numpy as np

from formulations.kernel_learning.cone import positive_part
from formulations.kernel_learning.free_weights import FreeWeights
from formulations.kernel_learning.instances import SMALL_SIZES, levelled, not_semidefinite, several_kernels
from formulations.kernel_learning.semidefinite_alignment import SemidefiniteAlignment
from formulations.kernel_learning.span import Span
from kopt import Claim, Formulation, Point, Program, Reference, Sample, View, at_most, equal


class SchurAlignment(SemidefiniteAlignment):
    r"""Weights of any sign with the largest alignment, as a semidefinite program that is linear in all variables.

    Primal   max   sum_k mu_k a_k
             s.t.  [[A, K], [K, I]] positive semi-definite,  K = sum_k mu_k K_k : W
                   tr A <= 1                                                    : t
                   K positive semi-definite                                     : Z
    Dual     min   t + tr W22
             s.t.  W11 = t I                                                    : A
                   a_k + <Z, K_k> + 2 <W12, K_k> = 0                            : mu_k
                   W = [[W11, W12], [W12', W22]] and Z positive semi-definite

    a_k = <K_k, yy'> / ||y||^2. The first constraint says that A - K K is positive semi-definite, so that
    ||K||^2 <= tr A <= 1: this is `SemidefiniteAlignment`, with the same optimum, in a form of twice the order. For a
    given Z the best W has W12 = U / 2 and W22 = U U / (4 t), with U the shortest matrix for which
    <U, K_k> = -a_k - <Z, K_k>, and t = ||U|| / 2: then t + tr W22 = ||U||.

    A kernel that is a combination of others has no weight: theirs make up for it.

    >>> import kopt
    >>> from kopt.kernels import Gaussian, Linear
    >>> kernels = {"linear": Linear(), "gaussian": Gaussian(sigma=1.0)}
    >>> sample = kopt.Sample([[-1.0], [0.5], [1.0]], [-1, 1, 1], kernel=kernels)
    >>> round(kopt.solve(SchurAlignment(), sample).value, 4)
    0.9345
    """

    reference = Reference("Lanckriet et al., JMLR 5 (2004)", "Section 4.7")

    def primal(self, s: View) -> Program:
        """A bounds K K from above."""
        weights, A = FreeWeights(s), s.matrix("A")
        mu = weights.variable()
        K = weights.mixture(mu)
        constraints = {"W": cp.bmat([[A, K], [K, np.eye(s.n)]]) >> 0, "t": cp.trace(A) <= 1, "Z": K >> 0}
        return Program(cp.Maximize(Span.free(s).a @ mu), constraints)

    def dual(self, s: View) -> Program:
        """Two matrices and a number; t >= 0 follows from W11."""
        n, against = s.n, FreeWeights(s).against
        W, Z, t = s.matrix("W", blocks=2), s.matrix("Z"), cp.Variable(name="t")
        equations = Span.free(s).a + against(Z) + 2 * against(W[:n, n:]) == 0
        return Program(
            cp.Minimize(t + cp.trace(W[n:, n:])),
            {"A": W[:n, :n] == t * np.eye(n), "mu": equations},
            domain=[W >> 0, Z >> 0],
        )

    def with_multiplier(self, s: View, Z: np.ndarray, value: float) -> dict[str, object]:
        """Z with the best W and t for it."""
        return completed(s, Z)

    def repair(self, s: View, dual: Point) -> dict[str, object]:
        """Z positive semi-definite, and the best W and t for it."""
        return completed(s, positive_part(dual.Z))

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """mu from Z as in the direct form, and A = K K."""
        mu = super().recover(s, dual)["mu"]
        K = s.mixture(mu)
        return {"mu": mu, "A": K @ K}

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """At least the alignment of every kernel; the two parts of the dual are equal; the multipliers meet nothing."""
        n, span = s.n, Span.free(s)
        value = float(span.a @ primal.mu)
        yield at_most("the alignment of every single kernel <= the optimum", span.best_alone, value, scale=1.0)
        yield at_most("alignment <= 1", value, 1.0)
        yield equal("tr W22 = t", np.trace(dual.W[n:, n:]), dual.t, scale=1.0)
        yield equal("<Z, K> = 0", FreeWeights(s).against(dual.Z) @ primal.mu, 0.0, scale=1.0)
        yield at_most("||K||^2 <= tr A", np.sum((span.F @ primal.mu) ** 2), np.trace(primal.A), scale=1.0)

    @classmethod
    def instances(cls, rng: np.random.Generator) -> Iterator[tuple[Formulation, Sample]]:
        """Three kernels and labels, on few points: W has twice the order. No kernel outweighs the others in W."""
        samples = not_semidefinite(map(levelled, several_kernels(rng, SMALL_SIZES)), Span.free)
        return ((cls(), sample) for sample in samples)


def completed(s: View, Z: np.ndarray) -> dict[str, object]:
    """Z with the best W and t for it; W = 0 and t = 0 where U = 0."""
    span = Span.free(s)
    U = -s.mixture(span.solve(span.a + FreeWeights(s).against(Z)))
    t = float(np.linalg.norm(U)) / 2
    W22 = U @ U / (4 * t) if t > 0 else np.zeros_like(U)
    return {"Z": Z, "t": t, "W": np.block([[t * np.eye(s.n), U / 2], [U / 2, W22]])}
