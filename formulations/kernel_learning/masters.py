"""Problems over weights of any sign under linear cuts, which stand for a combination that is semi-definite."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from scipy.optimize import linprog, nnls

from formulations.kernel_learning.corner import Corner
from formulations.kernel_learning.span import Span

Array = np.ndarray

# The tightest tolerances that HiGHS takes.
TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class Master(Protocol):
    """max a'mu over a bounded set of weights mu."""

    def solve(self, G: Array) -> tuple[Array, Array, float]:
        """The best mu with G'mu >= 0, the multipliers of these cuts, and the value: no semi-definite one is better."""

    def value(self, mu: Array) -> float:
        """The value of a mu of any size, brought into the set."""


@dataclass(frozen=True)
class NormMaster:
    """max a'mu with mu'M mu <= 1: the shortest a + G w with w >= 0, by non-negative least squares.

    >>> master = NormMaster(Span(np.eye(2), np.array([0.6, -0.8])))
    >>> master.solve(np.array([[0.0], [1.0]]))[0].round(6).tolist()
    [1.0, 0.0]
    """

    span: Span

    def solve(self, G: Array) -> tuple[Array, Array, float]:
        """Non-negative least squares in the coordinates of the span, the cuts at length 1."""
        target, cuts = self.span.inverse @ self.span.a, self.span.inverse @ G
        lengths = np.linalg.norm(cuts, axis=0)
        lengths = np.where(lengths > 0, lengths, 1.0)
        w = nnls(-cuts / lengths, target)[0] / lengths if G.size else np.zeros(0)
        shortest = target + cuts @ w
        length = float(np.linalg.norm(shortest))
        mu = self.span.inverse.T @ shortest
        return mu / length if length > 0 else mu, w, length

    def value(self, mu: Array) -> float:
        """a'mu / ||K(mu)||."""
        length = float(np.linalg.norm(self.span.F @ mu))
        return float(self.span.a @ mu) / length if length > 0 else 0.0


@dataclass(frozen=True)
class TraceMaster:
    """max a'mu with r'mu <= c, a linear program.

    The eigenvalues of a semi-definite combination lie between 0 and its trace, and so does its norm: a box in the
    coordinates of the span keeps the first rounds bounded.

    >>> master = TraceMaster(Span(np.eye(2), np.array([0.6, -0.8])), np.ones(2), 2.0)
    >>> master.solve(np.array([[0.0], [1.0]]))[0].round(6).tolist()
    [2.0, 0.0]
    """

    span: Span
    r: Array
    c: float
    corners: list[Corner] = field(default_factory=list, compare=False, repr=False)

    def solve(self, G: Array) -> tuple[Array, Array, float]:
        """In coordinates of the span divided by c, every row at length 1: tolerances are absolute."""
        inverse = self.span.inverse
        gain, cuts = inverse @ self.span.a, inverse @ G
        size = float(np.linalg.norm(gain)) or 1.0
        lengths = np.linalg.norm(cuts, axis=0)
        lengths = np.where(lengths > 0, lengths, 1.0)
        m = len(gain)
        rows = np.vstack([np.eye(m), -np.eye(m), (inverse @ self.r)[None], -(cuts / lengths).T])
        limits = np.concatenate([np.full(2 * m, 2.0), [1.0], np.zeros(G.shape[1])])
        x, multipliers = self._solved(gain / size, rows, limits)
        # Multipliers that are not negative bound the value from above, where x may miss a row by rounding.
        value = float(multipliers @ limits) * size * self.c
        return self.c * inverse.T @ x, multipliers[2 * m + 1 :] * size / lengths, value

    def _solved(self, gain: Array, rows: Array, limits: Array) -> tuple[Array, Array]:
        """From the last corner, or else from that of the box; by HiGHS where neither leads to the end."""
        m = len(gain)
        for corner in [*self.corners, Corner(np.arange(m) + m * (gain < 0))]:
            found = corner.move(gain, rows, limits)
            if found is not None:
                self.corners[:] = [corner]
                return found
        answer = linprog(-gain, A_ub=rows, b_ub=limits, bounds=(None, None), options=TIGHT)
        return answer.x, np.maximum(-np.asarray(answer.ineqlin.marginals), 0.0)

    def value(self, mu: Array) -> float:
        """a'mu at the trace c."""
        trace = float(self.r @ mu)
        return max(0.0, float(self.span.a @ mu) * self.c / trace) if trace > 0 else 0.0
