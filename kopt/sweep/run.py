"""A formulation solved for many values of its parameters, each solution the start of the next."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kopt.errors import Infeasible, InputError, SolverError
from kopt.formulation import Formulation, check_arguments
from kopt.locations import BriefTraceback
from kopt.sample import Sample
from kopt.solution import Solution
from kopt.solvers.problem import Problem
from kopt.solvers.solve import CertificateWarning, best_answer
from kopt.solvers.solver import INTERRUPTED
from kopt.sweep.given import check, values_of
from kopt.sweep.kernel_parameters import KERNEL, forget_matrices, replaced
from kopt.sweep.moved_start import Boxes, boxes_of, moved_start
from kopt.sweep.path import Place, path_through
from kopt.sweep.sweep import Sweep
from kopt.sweep.sweep_point import Parameters, SweepPoint, equations
from kopt.verify.certificate import TOLERANCE
from kopt.watch import Line, Progress, Watch

#: What a parameter's value may lead to without ending the sweep.
FAILURES = (InputError, Infeasible, SolverError)


def sweep(
    cls: type[Formulation],
    sample: Sample,
    /,
    *,
    method: str = "auto",
    tolerance: float = TOLERANCE,
    callback: Callable[[Progress], object] | None = None,
    progress: bool | None = None,
    **parameters: Any,
) -> Sweep:
    """The solutions of a formulation for many values of its parameters.

    parameters   by name, a number or a list of numbers; several lists mean every combination, the last parameter
                 fastest. Parameters of the sample's kernel are named kernel__sigma, those of one of several kernels
                 kernel__<name>__sigma, and those of a part of a composed kernel kernel__<field>__sigma

    method, tolerance, callback and progress are those of `kopt.solve`.

    Whatever order the values are given in, the points are solved from the smallest value to the largest, kernel after
    kernel, each beginning at the solution of its neighbour (see `moved_start`). A value that is refused, or for which
    there is no solution, has a row with the error and costs nothing else; a fault that all values share is raised.
    Certificates that do not hold are said in the table, and in one warning. Ctrl-C returns what is finished.

    >>> import kopt
    >>> from kopt.examples import example
    >>> [SoftMargin] = [f for f in kopt.discover() if f.__name__ == "SoftMargin"]
    >>> swept = sweep(SoftMargin, example(SoftMargin.task), C=[0.1, 1.0], kernel__sigma=[0.5, 0.7, 1.0])
    >>> len(swept), swept[1].parameters
    (6, {'C': 0.1, 'kernel__sigma': 0.7})
    >>> all(row["holds"] for row in swept.table)
    True
    >>> swept.best(lambda solution: -len(solution.certificate.support_vectors)).parameters
    {'C': 1.0, 'kernel__sigma': 0.7}
    """
    with BriefTraceback():
        check(cls, sample, parameters)
        grid = {name: values_of(name, given) for name, given in parameters.items()}
        run = _Run(cls, sample, grid, _Options(method, tolerance, callback))
        with Line(run.words, progress):
            interrupted = run.until_interrupted()
    points = tuple(run.points[place] for place in sorted(run.points))
    swept = Sweep(cls, points, tolerance, len(run.path), interrupted)
    _raise_shared(swept)
    if swept.doubtful:
        warnings.warn(_doubt(swept), CertificateWarning, stacklevel=2)
    return swept


def _raise_shared(swept: Sweep) -> None:
    """Raise a fault that all points share: it does not lie in the values."""
    errors = [point.error for point in swept.points]
    if len(errors) == swept.planned and len(set(map(str, errors))) == 1 and errors[0] is not None:
        raise errors[0]


def _doubt(swept: Sweep) -> str:
    doubtful = swept.doubtful
    where = ", ".join(equations(doubtful[0].parameters))
    return (
        f"At {len(doubtful)} of {len(swept)} points the certificate does not hold to {swept.tolerance:g}, first at "
        f"{where}. Look at sweep.doubtful, and at the bounds in the certificates of these solutions."
    )


@dataclass(frozen=True)
class _Options:
    """How each point is solved."""

    method: str
    tolerance: float
    callback: Callable[[Progress], object] | None


class _Run:
    """A sweep under way: the points so far, by their place in the grid."""

    def __init__(
        self, cls: type[Formulation], sample: Sample, grid: Mapping[str, list[Any]], options: _Options
    ) -> None:
        self.cls, self.sample, self.grid, self.options = cls, sample, grid, options
        self.path = path_through(grid)
        self.points: dict[Place, SweepPoint] = {}
        self._boxes: dict[Place, Boxes | None] = {}
        self._began = time.perf_counter()
        self._under_way, self._gap = f"{len(self.path)} points", ""
        self._kernels: Parameters = {}
        self._sample = sample
        self._raised: Exception | None = None

    def words(self) -> str:
        """Such as: 7 of 20, C = 0.3, gap 4e-07, 12.0 s."""
        return f"{self._under_way}{self._gap}, {time.perf_counter() - self._began:.1f} s"

    def until_interrupted(self) -> bool:
        """Solve point after point; whether Ctrl-C ended it."""
        try:
            for count, place in enumerate(self.path, start=1):
                parameters = {name: values[i] for (name, values), i in zip(self.grid.items(), place, strict=True)}
                self._under_way = ", ".join([f"{count} of {len(self.path)}", *equations(parameters)])
                self._gap = ""
                self.points[place] = self._point(parameters, place)
        except KeyboardInterrupt:
            return True
        return False

    def _point(self, parameters: Parameters, place: Place) -> SweepPoint:
        try:
            own = {name: value for name, value in parameters.items() if not name.startswith(KERNEL)}
            kernels = {name: value for name, value in parameters.items() if name.startswith(KERNEL)}
            return SweepPoint(parameters, self._solution(self.cls(**own), self._with_kernels(kernels), place))
        except FAILURES as error:
            if error is self._raised:
                raise
            return SweepPoint(parameters, None, error)

    def _solution(self, formulation: Formulation, sample: Sample, place: Place) -> Solution:
        check_arguments(formulation, sample)
        watch = Watch(self._tell, progress=False)
        problem = Problem(formulation, sample, tolerance=self.options.tolerance, watch=watch)
        self._boxes[place] = boxes_of(problem)
        solution = best_answer(problem.beginning_at(self._start(place)), None, self.options.method)
        if any(attempt.status == INTERRUPTED for attempt in solution.attempts):
            raise KeyboardInterrupt
        return solution

    def _start(self, place: Place) -> dict[str, Any] | None:
        """The neighbour's solution, moved: the one a step below along a parameter, the fastest first, or the last."""
        for before in (*self.path[place], *reversed(self.points)):
            solution = self.points[before].solution
            if solution is not None:
                return moved_start(solution.dual, self._boxes[before], self._boxes[place])
        return None

    def _tell(self, moment: Progress) -> None:
        self._gap = f", gap {moment.relative_gap:.0e}"
        if self.options.callback is None:
            return
        try:
            self.options.callback(moment)
        except Exception as error:
            self._raised = error
            raise

    def _with_kernels(self, kernels: Parameters) -> Sample:
        """The sample with parameters of its kernels replaced."""
        if kernels != self._kernels:
            if self._sample is not self.sample:
                forget_matrices(self._sample)
            self._sample, self._kernels = replaced(self.sample, kernels), kernels
        return self._sample
