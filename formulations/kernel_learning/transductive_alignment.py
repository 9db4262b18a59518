"""Kernels on training and test points together, aligned on the training points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.kernel_learning.cone import is_semidefinite, positive_part, raised
from formulations.kernel_learning.cut_program import CutProgram
from formulations.kernel_learning.free_weights import FreeWeights
from formulations.kernel_learning.instances import not_semidefinite, partly_labelled
from formulations.kernel_learning.masters import NormMaster
from formulations.kernel_learning.span import Span, check_aligned, check_target
from kopt import Claim, Formulation, InputError, Point, Program, Reference, Sample, Task, View, at_most, equal
from kopt.kernels import Kernel

# Parts of combinations that count as 0, relative to the largest.
SINGULAR = 1e-12


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
        check_aligned(Blocks(s).span)

    def primal(self, s: View) -> Program:
        """The inner product with the target, of a combination of length 1 on the training points."""
        span, weights = Blocks(s).span, FreeWeights(s)
        mu = weights.variable()
        constraints = {"lambda": cp.sum_squares(span.F @ mu) <= 1, "Z": weights.mixture(mu) >> 0}
        return Program(cp.Maximize(span.a @ mu), constraints)

    def dual(self, s: View) -> Program:
        """The length of the projection of yy' / ||y||^2 + Z on the span of the training parts."""
        blocks, Z = Blocks(s), s.matrix("Z")
        z = FreeWeights(s).against(Z)
        length = cp.norm(blocks.span.inverse @ (blocks.span.a + z))
        in_range = [blocks.unseen.T @ z == 0] if blocks.unseen.size else []
        return Program(cp.Minimize(length), domain=[Z >> 0, *in_range], multipliers={"lambda": length / 2})

    def master(self, s: View) -> NormMaster | str:
        """The problem without the matrix inequality; the reason why it is unbounded, where it is."""
        blocks = Blocks(s)
        if blocks.unseen.size:
            return (
                "some combinations of the kernels vanish on the training points, so that their weights are not bounded"
            )
        return NormMaster(blocks.span)

    def with_multiplier(self, s: View, Z: np.ndarray, value: float) -> dict[str, object]:
        """The dual variables that belong to the multiplier of the matrix inequality: itself."""
        return {"Z": Z}

    def repair(self, s: View, dual: Point) -> dict[str, object]:
        """The nearest positive semi-definite matrix, made orthogonal to what no training point sees."""
        return {"Z": Blocks(s).repaired(positive_part(dual.Z))}

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """mu is the direction of M^-1 (a + z), with what no training point sees, and moved, until K is semi-definite.

        The sum of the kernels by which it is moved is the least for which some weights of the unseen directions do.
        """
        blocks = Blocks(s)
        mu = blocks.span.solve(blocks.span.a + FreeWeights(s).against(dual.Z))
        if blocks.unseen.size:
            mu = blocks.continued(mu, dual.Z)
        mu = raised(s, mu)
        length = np.linalg.norm(blocks.span.F @ mu)
        return {"mu": mu / length if length > 0 else mu}

    def learnt_kernel(self, s: Sample, primal: Point) -> Kernel:
        """sum_k mu_k k_k."""
        return FreeWeights(s).combined(primal.mu)

    def alignment_target(self, s: Sample) -> np.ndarray:
        """The labels of the training points."""
        return np.where(s.y == 0, np.nan, s.y)

    def learnt_blocks(self, s: Sample, primal: Point) -> LearntBlocks:
        """The learnt matrix between training points, between training and test points, and between test points."""
        K = (s.stacked_grams @ FreeWeights(s).only(primal.mu)).reshape(s.n, s.n)
        training, test = np.flatnonzero(s.y), np.flatnonzero(s.y == 0)
        parts = (K[np.ix_(rows, columns)] for rows, columns in ((training, training), (training, test), (test, test)))
        return LearntBlocks(*parts)

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """At least the alignment of every kernel on the training points; Z and K are orthogonal."""
        span = Blocks(s).span
        value = float(span.a @ primal.mu)
        yield at_most("the alignment of every single kernel <= the optimum", span.best_alone, value, scale=1.0)
        yield at_most("alignment <= 1", value, 1.0)
        yield equal("<Z, K> = 0", FreeWeights(s).against(dual.Z) @ primal.mu, 0.0, scale=1.0)

    @classmethod
    def instances(cls, rng: np.random.Generator) -> Iterator[tuple[Formulation, Sample]]:
        """Three kernels, labels on two points of three, and a constraint that counts."""
        samples = not_semidefinite(partly_labelled(rng), lambda sample: Blocks(sample).span)
        return ((cls(), sample) for sample in samples)


@dataclass(frozen=True)
class LearntBlocks:
    """A learnt matrix by training and test points, each kind in the order of the sample.

    cross   a row for each training point, a column for each test point
    """

    training: np.ndarray
    cross: np.ndarray
    test: np.ndarray


@dataclass(frozen=True)
class Blocks:
    """The kernels of a view by training and test points."""

    s: Any

    @cached_property
    def span(self) -> Span:
        """The parts between training points as vectors, and the target."""
        n, y = self.s.n, self.s.y
        parts = self.s.stacked_grams.reshape(n, n, -1)[np.ix_(y != 0, y != 0)] * FreeWeights(self.s).used
        flat, labels = parts.reshape(-1, parts.shape[2]), y[y != 0]
        return Span.of(np.asarray(np.linalg.qr(flat, mode="r")), np.outer(labels, labels).ravel() @ flat / (y @ y))

    @cached_property
    def unseen(self) -> np.ndarray:
        """Weights, as columns, of combinations that are 0 on the training points, but not on all: independent ones."""
        null = self.span.null
        if not null.size:
            return null
        root = self.s.frobenius.root * FreeWeights(self.s).used
        lengths = np.linalg.norm(root, axis=0)
        _, values, Vt = np.linalg.svd(root @ null / np.max(lengths, initial=0.0))
        seen = np.flatnonzero(values > SINGULAR)
        return np.asarray(null @ Vt[seen].T)

    @property
    def _matrices(self) -> list[np.ndarray]:
        return [self.s.mixture(nu) for nu in self.unseen.T]

    def repaired(self, Z: np.ndarray) -> np.ndarray:
        """A semi-definite matrix near one, orthogonal to the unseen combinations."""
        if not self.unseen.size:
            return Z
        N = np.column_stack([each.ravel() for each in self._matrices])
        corrected = Z - (N @ np.linalg.lstsq(N.T @ N, N.T @ Z.ravel())[0]).reshape(Z.shape)
        if is_semidefinite(corrected):
            return corrected
        safe = self._safe()
        if safe is None:  # no definite matrix is orthogonal to them, but all that live on training points are
            seen = self.s.y != 0
            return np.asarray(positive_part(Z * np.outer(seen, seen)))
        lacking = max(0.0, -float(np.linalg.eigvalsh(corrected)[0]))
        share = lacking / (lacking + float(np.linalg.eigvalsh(safe)[0]))
        return np.asarray((1 - share) * corrected + share * safe)

    def _safe(self) -> np.ndarray | None:
        """A definite matrix [[q I, B], [B', I]] that is orthogonal to the unseen combinations; None if there is none.

        Their parts between training points vanish, so that B alone has to make up for the traces on test points.
        """
        seen = self.s.y != 0
        crosses = np.array([2 * each[np.ix_(seen, ~seen)].ravel() for each in self._matrices])
        traces = np.array([np.trace(each[np.ix_(~seen, ~seen)]) for each in self._matrices])
        crosses[np.abs(crosses) <= SINGULAR * np.max(np.abs(self._matrices))] = 0.0
        B = np.linalg.lstsq(crosses, -traces)[0]
        if np.max(np.abs(crosses @ B + traces)) > SINGULAR * np.max(np.abs(traces)):
            return None
        B = B.reshape(np.sum(seen), -1)
        safe = np.eye(self.s.n)
        safe[np.ix_(seen, seen)] *= 2 + np.linalg.norm(B) ** 2
        safe[np.ix_(seen, ~seen)], safe[np.ix_(~seen, seen)] = B, B.T
        return safe

    def continued(self, mu: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """mu with the weights of the unseen directions that need the least of the sum of the kernels beside them."""
        D = np.column_stack([self.unseen, FreeWeights(self.s).even])
        cost, free = np.eye(D.shape[1])[-1], D.shape[1] - 1
        cuts = CutProgram(self.s, mu, D, cost, A=np.zeros((0, len(cost))), b=np.zeros(0), bounds=_bounds(free))
        return cuts.solved(np.linalg.eigh(Z)[1])


def _bounds(free: int) -> list[tuple[float | None, float | None]]:
    return [*[(None, None)] * free, (0.0, None)]
