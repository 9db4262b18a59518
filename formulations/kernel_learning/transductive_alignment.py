"""Kernels on training and test points together, aligned on the training points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from formulations.kernel_learning.cone import positive_part, raised
from formulations.kernel_learning.free_weights import FreeWeights
from formulations.kernel_learning.instances import not_semidefinite, partly_labelled
from formulations.kernel_learning.masters import NormMaster
from formulations.kernel_learning.span import check_aligned, check_target
from formulations.kernel_learning.training_parts import TrainingParts
from kopt import Claim, Formulation, InputError, Point, Program, Reference, Sample, Task, View, at_most, equal
from kopt.kernels import Kernel
from kopt.views import ProductView


class TransductiveAlignment(Formulation):
    r"""Weights of any sign whose combination is semi-definite on all points and most aligned on the labelled ones.

    Primal   max   sum_k mu_k a_k
             s.t.  || sum_k mu_k (K_k)_tr ||^2 <= 1                             : lambda
                   sum_k mu_k K_k positive semi-definite                        : Z
    Dual     min   ( (a + z)' M^-1 (a + z) )^(1/2),  z_k = <K_k, Z>
             s.t.  a + z in the range of M
                   Z positive semi-definite

    Labels are -1 and +1 on the training points, and 0 on the test points, whose kernel values are known but not their
    labels. (K)_tr is the part of K between training points, M_kl = <(K_k)_tr, (K_l)_tr> and
    a_k = <K_k, yy'> / ||y||^2: the optimum is the alignment on the training points. The semi-definite constraint is on
    the whole matrix, so that the learnt part between test points, `learnt_blocks`, fits the training part. M is
    singular where kernels, or combinations of them, differ on test points only; their weights are then free as far as
    the norm is concerned, and Z has to be orthogonal to them.

    A kernel that is a combination of others has no weight: theirs make up for it.

    >>> import kopt
    >>> from kopt.kernels import Gaussian, Linear
    >>> kernels = {"linear": Linear(), "gaussian": Gaussian(sigma=1.0)}
    >>> sample = kopt.Sample([[-1.0], [0.5], [1.0], [0.8]], [-1, 1, 1, 0], kernel=kernels)
    >>> solution = kopt.solve(TransductiveAlignment(), sample)
    >>> blocks = solution.formulation.learnt_blocks(sample, solution.primal)
    >>> round(solution.value, 4), blocks.test.round(3), blocks.cross.round(3)
    (0.9345, array([[0.331]]), array([[-0.309],
           [ 0.231],
           [ 0.394]]))
    """

    reference = Reference("Lanckriet et al., JMLR 5 (2004)", "Section 4.7, with the test points as in Section 3")
    task = Task.OTHER

    def requires(self, s: Sample) -> None:
        """Labels -1 and +1 on training points, 0 on test points, and points of both kinds."""
        check_target(s.y)
        wrong = s.y[~np.isin(s.y, (-1.0, 0.0, 1.0))]
        if len(wrong):
            first = ", ".join([repr(value).removesuffix(".0") for value in dict.fromkeys(wrong.tolist())][:3])
            raise InputError(
                f"The labels include {first}, but must be -1 and +1 on training points and 0 on test points.",
                "Convert them, and give the label 0 to the points whose label is not known.",
            )
        if np.all(s.y):
            raise InputError(
                f"All {len(s.y)} points have labels, so that there is no test point.",
                "Give test points the label 0, or use SemidefiniteAlignment.",
            )
        check_aligned(TrainingParts(ProductView(s)).span)

    def primal(self, s: View) -> Program:
        """The inner product with the target, of a combination of length 1 on the training points."""
        span, weights = TrainingParts(s).span, FreeWeights(s)
        mu = weights.variable()
        constraints = {"lambda": cp.sum_squares(span.F @ mu) <= 1, "Z": weights.mixture(mu) >> 0}
        return Program(cp.Maximize(span.a @ mu), constraints)

    def dual(self, s: View) -> Program:
        """The length of the projection of yy' / ||y||^2 + Z on the span of the training parts."""
        parts, Z = TrainingParts(s), s.matrix("Z")
        z = FreeWeights(s).against(Z)
        length = cp.norm(parts.span.inverse @ (parts.span.a + z))
        in_range = [cp.sum(cp.multiply(N, Z)) == 0 for N in parts.unseen_matrices]
        return Program(cp.Minimize(length), domain=[Z >> 0, *in_range], multipliers={"lambda": length / 2})

    def master(self, s: View) -> NormMaster | str:
        """The problem without the matrix inequality; the reason why it is unbounded, where it is."""
        parts = TrainingParts(s)
        if parts.unseen.size:
            return (
                "some combinations of the kernels vanish on the training points, so that their weights are not bounded"
            )
        return NormMaster(parts.span)

    def with_multiplier(self, s: View, Z: np.ndarray, value: float) -> dict[str, object]:
        """The dual variables that belong to the multiplier of the matrix inequality: itself."""
        return {"Z": Z}

    def repair(self, s: View, dual: Point) -> dict[str, object]:
        """The nearest positive semi-definite matrix, made orthogonal to what no training point sees."""
        return {"Z": TrainingParts(s).repaired(positive_part(dual.Z))}

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """mu is the direction of M^-1 (a + z), with what no training point sees, and moved, until K is semi-definite.

        The sum of the kernels by which it is moved is the least for which some weights of the unseen directions do.
        """
        parts = TrainingParts(s)
        mu = parts.span.solve(parts.span.a + FreeWeights(s).against(dual.Z))
        if parts.unseen.size:
            mu = parts.continued(mu, dual.Z)
        mu = raised(s, mu)
        length = np.linalg.norm(parts.span.F @ mu)
        return {"mu": mu / length if length > 0 else mu}

    def scale(self, s: View) -> float:
        """An alignment is 1 at most; the terms of a'mu are of any size where kernels resemble each other."""
        return 1.0

    def learnt_kernel(self, s: Sample, primal: Point) -> Kernel:
        """sum_k mu_k k_k."""
        return FreeWeights(s).combined(primal.mu)

    def alignment_target(self, s: Sample) -> np.ndarray:
        """The labels of the training points."""
        return np.where(s.y == 0, np.nan, s.y)

    def learnt_blocks(self, s: Sample, primal: Point) -> LearntBlocks:
        """The learnt matrix between training points, between training and test points, and between test points."""
        K = FreeWeights(s).mixture(primal.mu)
        training, test = np.flatnonzero(s.y), np.flatnonzero(s.y == 0)
        return LearntBlocks(
            training=K[np.ix_(training, training)], cross=K[np.ix_(training, test)], test=K[np.ix_(test, test)]
        )

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """At least the alignment of every kernel on the training points; Z and K are orthogonal."""
        span = TrainingParts(s).span
        value = float(span.a @ primal.mu)
        yield at_most("the alignment of every single kernel <= the optimum", span.best_alone, value, scale=1.0)
        yield at_most("alignment <= 1", value, 1.0)
        yield equal("<Z, K> = 0", FreeWeights(s).against(dual.Z) @ primal.mu, 0.0, scale=1.0)

    @classmethod
    def instances(cls, rng: np.random.Generator) -> Iterator[tuple[Formulation, Sample]]:
        """Three kernels, labels on two points of three, and a constraint that counts."""
        samples = not_semidefinite(partly_labelled(rng), lambda sample: TrainingParts(ProductView(sample)).span)
        return ((cls(), sample) for sample in samples)


@dataclass(frozen=True)
class LearntBlocks:
    """A learnt matrix by training and test points, each kind in the order of the sample.

    cross   a row for each training point, a column for each test point
    """

    training: np.ndarray
    cross: np.ndarray
    test: np.ndarray
