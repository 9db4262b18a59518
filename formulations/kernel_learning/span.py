"""The span of some kernels with its inner product: the numbers that an alignment is made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.optimize import nnls

from formulations.kernel_learning.free_weights import FreeWeights
from kopt import InputError
from kopt.gram.alignment import LAST_DIGITS

# Combinations of kernels of length 1 that are shorter than this, relative to the longest, count as 0: rounding in the
# kernel values leaves them six digits or fewer. It is less than the distance from the span of the others at which a
# kernel is kept, `DEPENDENT` in kopt.gram.frobenius: some combination of the kept ones is shorter than that.
DEPENDENT = 1e-10
# Cosines, and weights relative to the largest, that count as 0.
ROUNDING = 1e-13


@dataclass(frozen=True, eq=False)
class Span:
    """Kernels as vectors: columns of `root`, and a_k = <K_k, T> for the target T = yy' / ||y||^2, of length 1.

    An alignment is a cosine in this space, A(K, yy') = a' mu / (mu' M mu)^(1/2) for K = sum_k mu_k K_k and
    M_kl = <K_k, K_l>. A combination that is 0 up to ten digits has no direction: what is in it of inner products is
    left out.
    """

    root: np.ndarray
    a: np.ndarray

    @classmethod
    def of(cls, root: np.ndarray, a: np.ndarray) -> Span:
        """From inner products a as they were computed."""
        return cls(root, cls(root, a).kept(a))

    def towards(self, a: np.ndarray) -> Span:
        """The same kernels with other inner products."""
        return Span.of(self.root, a)

    @classmethod
    def plain(cls, s: Any) -> Span:
        """The kernels as they are."""
        return cls.of(s.frobenius.root, s.frobenius.seen @ s.y / (s.y @ s.y))

    @classmethod
    def free(cls, s: Any) -> Span:
        """For weights of any sign: a kernel that is a combination of the others is 0."""
        used = FreeWeights(s).used
        return cls.of(s.frobenius.root * used, used * (s.frobenius.seen @ s.y) / (s.y @ s.y))

    @classmethod
    def centred(cls, s: Any) -> Span:
        """Kernels and target centred: H K_k H and Hy, H = I - jj'/l; a kernel that is constant up to rounding is 0."""
        span, largest = cls.plain(s.centred), np.array([np.max(gram.diagonal) for gram in s.frobenius.grams])
        varies = span.lengths > LAST_DIGITS * s.n * largest
        return cls.of(span.root * varies, span.a * varies)

    @cached_property
    def lengths(self) -> np.ndarray:
        """||K_k||."""
        return np.asarray(np.linalg.norm(self.root, axis=0))

    @property
    def alone(self) -> np.ndarray:
        """The alignment of every kernel by itself; 0 for one that is 0 everywhere."""
        return self.a / self._unit

    @property
    def best_alone(self) -> float:
        """The largest of them."""
        return float(np.max(self.alone))

    @cached_property
    def _unit(self) -> np.ndarray:
        """The lengths of the kernels; 1 for one that is 0 everywhere."""
        return np.where(self.lengths > 0, self.lengths, 1.0)

    @cached_property
    def _spectrum(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Singular values of the kernels at length 1, weights that belong to them, and weights of nothing."""
        _, values, Vt = np.linalg.svd(self.root / self._unit)
        rank = int(np.sum(values > DEPENDENT * values[0]))
        return values[:rank], Vt[:rank].T, Vt[rank:].T

    @cached_property
    def F(self) -> np.ndarray:
        """The kernels in coordinates, as columns: F'F = M."""
        values, vectors, _ = self._spectrum
        return values[:, None] * vectors.T * self._unit

    @cached_property
    def inverse(self) -> np.ndarray:
        """A root of a generalised inverse of M: P'P b solves M x = b, and ||P b||^2 = b' x, for b in its range."""
        values, vectors, _ = self._spectrum
        return vectors.T / values[:, None] / self._unit

    @property
    def null(self) -> np.ndarray:
        """Weights, as columns, of the combinations that are 0."""
        return np.asarray(self._spectrum[2] / self._unit[:, None])

    def kept(self, b: Any) -> Any:
        """Inner products b with the kernels, without what only combinations that are 0 would see: in the range of M."""
        return self.F.T @ (self.inverse @ b) if self.null.size else b

    def in_range(self, nu: cp.Expression) -> list[cp.Constraint]:
        """nu in the range of M, as a is; nothing where the kernels are independent, and this holds by itself."""
        return [self.null.T @ nu == 0] if self.null.size else []

    def feasible(self, nu: np.ndarray) -> np.ndarray:
        """Multipliers near nu that are not negative, and in the range of M, as a is.

        Of the kernels at length 1 the sum has a positive inner product with every kernel: some of it is enough.
        """
        near = self.kept(nu)
        safe = self.F.T @ np.sum(self.F / self._unit, axis=1)
        lacking = np.divide(-near, safe, out=np.zeros_like(near), where=safe > 0)
        return np.asarray(np.maximum(near + max(0.0, float(np.max(lacking))) * safe, 0.0))

    def solve(self, b: np.ndarray) -> np.ndarray:
        """An x with M x = b, for b in the range of M."""
        return np.asarray(self.inverse.T @ (self.inverse @ b))

    def nearest_cone_point(self, f: np.ndarray) -> np.ndarray:
        """The mu >= 0 for which F mu is nearest to f; what rounding leaves of a weight is 0."""
        lengths = nnls(self.F / self._unit, f)[0]
        return np.asarray(np.where(lengths > ROUNDING * np.max(lengths), lengths, 0.0) / self._unit)


def check_target(y: np.ndarray | None, centred: bool = False) -> None:
    """Refuse targets that align with nothing."""
    if y is None:
        raise InputError("The sample has no y, but an alignment needs a target.", "Give labels: Sample(X, y, ...).")
    all_are = f"All {len(y)} targets are" if len(y) > 1 else "The only target is"
    if not np.any(y):
        raise InputError(
            f"{all_are} 0: every kernel has the same inner product, 0, with yy'.",
            "Give labels -1 and +1, or targets that are not all 0.",
        )
    if centred and np.ptp(y) == 0:
        raise InputError(f"{all_are} {y[0]:g}, and 0 after centring.", "Give targets that differ.")


def check_aligned(span: Span) -> None:
    """Refuse kernels that have nothing to do with the target: K y = 0 for all of them."""
    if span.best_alone <= ROUNDING:
        raise InputError(
            f"The largest alignment of a kernel with the target is {span.best_alone:.1g}: no combination has any.",
            "Add a kernel that tells points of different targets apart.",
        )
