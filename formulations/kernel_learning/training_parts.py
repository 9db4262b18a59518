"""Kernels on training and test points as the training points see them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from formulations.kernel_learning.cone import is_semidefinite, lacking, positive_part
from formulations.kernel_learning.cut_program import CutProgram
from formulations.kernel_learning.free_weights import FreeWeights
from formulations.kernel_learning.span import Span
from kopt import View

# Parts of combinations that count as 0, relative to the largest. The kernels are not brought to one length for this,
# and what a short one leaves on the test points counts: it is less than `DEPENDENT` in span.py.
SINGULAR = 1e-12


@dataclass(frozen=True)
class TrainingParts:
    """The parts of kernels between training points, and the combinations that these parts say nothing about."""

    s: View

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

    @cached_property
    def unseen_matrices(self) -> list[np.ndarray]:
        """These combinations themselves."""
        return [self.s.mixture(nu) for nu in self.unseen.T]

    def repaired(self, Z: np.ndarray) -> np.ndarray:
        """A semi-definite matrix near one, orthogonal to the unseen combinations."""
        if not self.unseen.size:
            return Z
        N = np.column_stack([each.ravel() for each in self.unseen_matrices])
        corrected = Z - (N @ np.linalg.lstsq(N.T @ N, N.T @ Z.ravel())[0]).reshape(Z.shape)
        lack = lacking(corrected)
        if not lack:
            return corrected
        safe = self._safe()
        if safe is None:  # no definite matrix is orthogonal to them, but all that live on training points are
            seen = self.s.y != 0
            return corrected if is_semidefinite(corrected) else positive_part(Z * np.outer(seen, seen))
        share = lack / (lack + float(np.linalg.eigvalsh(safe)[0]))
        return np.asarray((1 - share) * corrected + share * safe)

    def _safe(self) -> np.ndarray | None:
        """A definite matrix [[q I, B], [B', I]] that is orthogonal to the unseen combinations; None if there is none.

        Their parts between training points vanish, so that B alone has to make up for the traces on test points.
        """
        seen = self.s.y != 0
        crosses = np.array([2 * each[np.ix_(seen, ~seen)].ravel() for each in self.unseen_matrices])
        traces = np.array([np.trace(each[np.ix_(~seen, ~seen)]) for each in self.unseen_matrices])
        crosses[np.abs(crosses) <= SINGULAR * np.max(np.abs(self.unseen_matrices))] = 0.0
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
