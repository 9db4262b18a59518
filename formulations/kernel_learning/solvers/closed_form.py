"""Answers that formulations state themselves."""

from __future__ import annotations

from formulations.kernel_learning.solvers.contracts import StatesItsAnswer, lacking
from kopt.solvers import Problem, RawAnswer, Solver
from kopt.views import ProductView


class ClosedForm(Solver):
    """The dual variables that a formulation gives by its method `closed_form(s)`: a formula, and no iterations.

    >>> import kopt
    >>> from formulations.kernel_learning import AlignmentSpectrum
    >>> from kopt.kernels import Gaussian
    >>> sample = kopt.Sample([[-1.0], [0.5], [1.0]], [-1, 1, 1], kernel=Gaussian(sigma=1.0))
    >>> kopt.solve(AlignmentSpectrum(), sample).method
    'CLOSED_FORM'
    """

    name = "CLOSED_FORM"

    def place(self, problem: Problem) -> tuple[float, str]:
        """Before everything else."""
        return -2.0, "the formulation states its answer in closed form"

    def accepts(self, problem: Problem) -> str | None:
        """Duals of formulations that state their answer."""
        if problem.side != "dual":
            return "it solves duals only"
        if not isinstance(problem.formulation, StatesItsAnswer):
            return lacking(problem.formulation, StatesItsAnswer)
        return None

    def solve(self, problem: Problem) -> RawAnswer:
        """What the formulation says; the certificate judges it like any other answer."""
        assert isinstance(problem.formulation, StatesItsAnswer)
        return RawAnswer("solved", problem.formulation.closed_form(ProductView(problem.sample)))
