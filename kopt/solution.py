"""A solved formulation: the answer, how it came about, and its certificate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kopt.claim import Claim
from kopt.combination import Combination, Evaluated
from kopt.errors import DeclarationError, InputError
from kopt.kernels import Kernel
from kopt.kernels.cross_matrices import CrossMatrices
from kopt.kernels.precomputed import Precomputed, precomputed_in, refuse_shared
from kopt.locations import BriefTraceback, FaultsOf, method_with_place
from kopt.point import Point
from kopt.sample import Sample
from kopt.show.kernel_figure import kernel_figure
from kopt.show.text import claims_tree
from kopt.verify import Certificate
from kopt.verify.certificate import TOLERANCE
from kopt.watch import Progress


@dataclass(frozen=True)
class Attempt:
    """One solver's try: what it said, and what its answer was worth.

    worst   the largest relative residual, or the relative width of the bounds where a formulation says how to find
            them; infinite where there is no answer, or none that they bound
    """

    method: str
    side: str
    status: str
    seconds: float
    worst: float
    reason: str

    def __str__(self) -> str:
        worth = f"worst relative residual {self.worst:.1e}" if np.isfinite(self.worst) else "no usable answer"
        return f'{self.method} on the {self.side} side said "{self.status}" in {self.seconds:.2f} s: {worth}'


class NewPoints:
    """New points, and the sample they are seen from; their numbers are computed only when a decision asks for them.

    dual   the dual point, for functions that are written with multipliers
    """

    def __init__(self, sample: Sample, X_new: Any, diagonal: Any, dual: Point) -> None:
        self.sample = sample
        self.dual = dual
        self._X_new = CrossMatrices(X_new) if isinstance(X_new, Mapping) else X_new
        self._diagonal = diagonal
        self._precomputed: set[Precomputed] = set()
        self.n = len(self._X_new)

    def diagonal(self, kernel: str | None = None) -> np.ndarray:
        """The numbers k(x, x) of the new points."""
        if self._diagonal is not None:
            given = np.asarray(self._diagonal, dtype=float)
            if given.shape != (self.n,):
                raise InputError(f"diagonal has shape {given.shape} for {self.n} points.", f"Give {self.n} values.")
            return given
        return self.sample.gram(kernel).kernel.diagonal(self._X_new)

    def combination(self, coefficients: np.ndarray, kernel: str | None = None) -> Evaluated:
        """The vector sum_i c_i phi(x_i) of the sample, seen from the new points."""
        seen = self.see(Combination(self.sample.gram(kernel), coefficients))
        if kernel is not None:
            # Who names a kernel uses several, even where this solution gives the others no weight.
            self._use(self.sample.kernels.values())
        return seen

    def see(self, vector: Combination) -> Evaluated:
        """A vector of the solution, seen from the new points."""
        seen = vector.at(self._X_new)
        self._use([vector.gram.kernel])
        return seen

    def _use(self, kernels: Iterable[Kernel]) -> None:
        self._precomputed.update(*map(precomputed_in, kernels))
        refuse_shared(self._precomputed, self._X_new)


@dataclass(frozen=True)
class Solution:
    """The best answer found, with its certificate.

    formulation    with its parameters as attributes
    primal, dual   the values by name; weight vectors are combinations of the points
    attempts       every solver tried, in order, and why there
    claims         what the theory of the method says about its run; the certificate has those about the optimum
    history        how far the method had come after each of its iterations, where it says so
    origin         what it was converted from, step by step; empty for a solution that was solved
    """

    formulation: Any
    sample: Sample
    side: str
    method: str
    attempts: tuple[Attempt, ...]
    certificate: Certificate
    claims: tuple[Claim, ...] = ()
    history: tuple[Progress, ...] = ()
    origin: tuple[str, ...] = ()

    @property
    def primal(self) -> Point:
        """The primal point."""
        return self.certificate.primal

    @property
    def dual(self) -> Point:
        """The dual point: dual variables and multipliers."""
        return self.certificate.dual

    @property
    def value(self) -> float:
        """The value of the objective on the side that was solved."""
        record = self.certificate.as_given
        return record.dual_value if self.side == "dual" else record.primal_value

    @property
    def kernel(self) -> Kernel:
        """The kernel that was learnt, by a formulation that learns one; it works on new points.

        >>> import kopt
        >>> from formulations.kernel_learning import Alignment
        >>> from kopt.kernels import Gaussian, Linear
        >>> kernels = {"linear": Linear(), "narrow": Gaussian(sigma=0.3)}
        >>> kernel = kopt.solve(Alignment(), kopt.Sample([[-1.0], [0.9], [1.0]], [-1, 1, 1], kernel=kernels)).kernel
        >>> kernel
        0.3484 * Linear() + 0.01292 * Gaussian(sigma=0.3)
        >>> kernel([[2.0]], [[3.0]]).round(4)
        array([[2.0906]])
        """
        with BriefTraceback(), FaultsOf(self.formulation, "learnt_kernel"):
            return self.formulation.learnt_kernel(self.sample, self.primal)

    def kernel_figure(self) -> Any:
        """A matplotlib figure of the weights, and of the kernel before and after, points ordered by class."""
        with BriefTraceback():
            return kernel_figure(self)

    def decision_function(self, X_new: Any, diagonal: Any = None) -> np.ndarray:
        """The learnt function at new points.

        For a sample made from a Gram matrix, X_new is the matrix of kernel values between new and training points,
        and for a machine with several Gram matrices a mapping from their names to such matrices; machines that need
        k(x, x) of the new points as well (the hyperspheres) take it as `diagonal`.
        """
        points = NewPoints(self.sample, X_new, diagonal, self.dual)
        moved = {
            name: points.see(each) if isinstance(each, Combination) else each for name, each in self.primal.items()
        }
        with BriefTraceback(), FaultsOf(self.formulation, "decision"):
            decision = self.formulation.decision(points, Point(moved))
        if np.shape(decision)[:1] != (points.n,):
            raise DeclarationError(
                f"{method_with_place(self.formulation, 'decision')} returned {decision!r:.80} for {points.n} points.",
                "Return an array with one entry, or one row, per point.",
            )
        return decision

    def predict(self, X_new: Any, diagonal: Any = None) -> np.ndarray:
        """Labels -1/+1, values, ranks, or +1 for normal and -1 for novel points, by the task."""
        return self.formulation.task.predict(self.decision_function(X_new, diagonal))

    def __str__(self) -> str:
        seconds = sum(attempt.seconds for attempt in self.attempts)
        lines = [f"solved on the {self.side} side by {self.method} in {seconds:.2f} s"] if self.attempts else []
        lines += [f"{each.method} because {each.reason}" for each in self.attempts[-1:] if len(self.attempts) == 1]
        lines += [f"converted from {step}" for step in self.origin]
        if len(self.attempts) > 1:
            lines += [f"tried {attempt}" for attempt in self.attempts]
        if self.claims:
            lines.append(claims_tree(f"claims about the run of {self.method}", self.claims, TOLERANCE))
        return "\n".join([*lines, str(self.certificate)])
