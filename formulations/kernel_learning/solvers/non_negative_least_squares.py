"""Alignments over non-negative weights, as least squares in as many coordinates as there are kernels."""

from __future__ import annotations

import numpy as np

from formulations.kernel_learning.solvers.contracts import AlignsInSpan, lacking
from kopt.solvers import Problem, RawAnswer, Solver
from kopt.views import ProductView


class NonNegativeLeastSquares(Solver):
    r"""The combination of kernels nearest to the target, over mu >= 0, by an active set: exact.

    min ||F mu - f|| over mu >= 0, F the kernels and f the target in coordinates of the span of the kernels, has the
    multipliers nu = M mu - a. The direction of F mu is that of the largest alignment, with the same nu. The matrices
    are only met in their inner products, m (m + 1) / 2 of them.

    >>> import kopt
    >>> from formulations.kernel_learning import Alignment
    >>> from kopt.kernels import Gaussian, Linear
    >>> kernels = {"linear": Linear(), "gaussian": Gaussian(sigma=1.0)}
    >>> sample = kopt.Sample([[-1.0], [0.5], [1.0]], [-1, 1, 1], kernel=kernels)
    >>> kopt.solve(Alignment(), sample).method
    'NON_NEGATIVE_LEAST_SQUARES'
    """

    name = "NON_NEGATIVE_LEAST_SQUARES"

    def place(self, problem: Problem) -> tuple[float, str]:
        """First."""
        return -1.0, "it is exact, and takes a millisecond once the kernels' inner products are there"

    def accepts(self, problem: Problem) -> str | None:
        """Duals in the multipliers nu of mu >= 0 alone, of formulations that say which span they work in."""
        if problem.side != "dual":
            return "it solves duals only"
        if not isinstance(problem.formulation, AlignsInSpan):
            return f"it takes alignments over non-negative weights, and {lacking(problem.formulation, AlignsInSpan)}"
        return None

    def solve(self, problem: Problem) -> RawAnswer:
        """nu = F'F mu - a, and 0 where mu > 0."""
        assert isinstance(problem.formulation, AlignsInSpan)
        span = problem.formulation.span(ProductView(problem.sample))
        mu = span.nearest_cone_point(span.inverse @ span.a)
        nu = np.where(mu > 0, 0.0, np.maximum(span.F.T @ (span.F @ mu) - span.a, 0.0))
        return RawAnswer("solved", {"nu": nu})
