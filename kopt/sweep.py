"""A formulation solved for many values of its parameters, each solution the start of the next."""

from __future__ import annotations

import dataclasses
import itertools
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, overload

import numpy as np

from kopt.errors import Infeasible, InputError, KoptError, SolverError
from kopt.formulation import Formulation, dual_of
from kopt.kernels import Kernel
from kopt.locations import BriefTraceback
from kopt.polyhedra import feasible_polyhedron, split
from kopt.sample import Sample
from kopt.show import html
from kopt.show.verdict import counted
from kopt.solution import Solution
from kopt.solvers.problem import Problem
from kopt.solvers.solve import CertificateWarning, solve
from kopt.solvers.solver import INTERRUPTED
from kopt.verify.certificate import TOLERANCE
from kopt.views import ProductView
from kopt.watch import Line, Progress

KERNEL = "kernel__"
#: A variable so close to its bound, relative to it, is at the bound.
AT_BOUND = 1e-9
#: What a parameter's value may lead to without ending the sweep.
FAILURES = (InputError, Infeasible, SolverError)

#: The columns of the table after the parameters, and how each is written.
COLUMNS = {
    "value": "{:.9g}",
    "relative_gap": "{:.1e}",
    "holds": "{}",
    "support_vectors": "{}",
    "seconds": "{:.2f}",
    "method": "{}",
}

Parameters = Mapping[str, Any]
Place = tuple[int, ...]
Box = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class SweepPoint:
    """One point of a sweep: `parameters, solution = point`; where it failed the solution is None and error says why."""

    parameters: Parameters
    solution: Solution | None
    error: KoptError | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter((self.parameters, self.solution))

    def row(self, tolerance: float) -> dict[str, Any]:
        """The point as a row of a table; None for what is not known."""
        solution, error = self.solution, None if self.error is None else str(self.error)
        numbers = dict.fromkeys(COLUMNS) if solution is None else _numbers(solution, tolerance)
        return {**self.parameters, **numbers, "error": error}


def _numbers(solution: Solution, tolerance: float) -> dict[str, Any]:
    return {
        "value": solution.value,
        "relative_gap": _gap(solution),
        "holds": solution.certificate.holds(tolerance),
        "support_vectors": len(solution.certificate.support_vectors),
        "seconds": sum(attempt.seconds for attempt in solution.attempts),
        "method": solution.method,
    }


def _gap(solution: Solution) -> float:
    certificate = solution.certificate
    return certificate.bounds.relative_gap if certificate.bounds.known else certificate.as_given.gap.relative


@dataclass(frozen=True, eq=False)
class Sweep(Sequence[SweepPoint]):
    """The points of a sweep in the order in which the values were given, the last parameter fastest.

    planned       how many points were asked for; an interrupted sweep has the finished ones only
    interrupted   whether Ctrl-C ended it
    """

    formulation: type[Formulation]
    points: tuple[SweepPoint, ...]
    tolerance: float
    planned: int
    interrupted: bool = False

    def __len__(self) -> int:
        return len(self.points)

    @overload
    def __getitem__(self, index: int) -> SweepPoint: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[SweepPoint, ...]: ...
    def __getitem__(self, index: int | slice) -> SweepPoint | tuple[SweepPoint, ...]:
        return self.points[index]

    @property
    def table(self) -> list[dict[str, Any]]:
        """A row for each point, as pandas.DataFrame(sweep.table) takes it.

        The parameters, then value, relative_gap, holds (to the tolerance of the sweep), support_vectors, seconds and
        method, which are None where the point failed; then the error, which is None where it did not.
        """
        return [point.row(self.tolerance) for point in self.points]

    def best(self, score: Callable[[Solution], float]) -> SweepPoint:
        """The point whose solution has the largest score, the first of several; failed points have none.

        The accuracy on other points, for example, is `lambda solution: np.mean(solution.predict(X_new) == y_new)`.
        """
        scores = [(float(score(each.solution)), each) for each in self.points if each.solution is not None]
        comparable = [pair for pair in scores if not np.isnan(pair[0])]
        if not comparable:
            raise InputError(
                f"None of the {len(self)} points of the sweep has a score.",
                "Look at the errors in sweep.table, and let the score be a number.",
            )
        return max(comparable, key=lambda pair: pair[0])[1]

    @property
    def doubtful(self) -> list[SweepPoint]:
        """The points whose certificate does not hold to the tolerance of the sweep."""
        solved = [(point, point.solution) for point in self.points if point.solution is not None]
        return [point for point, solution in solved if not solution.certificate.holds(self.tolerance)]

    def __str__(self) -> str:
        header, rows = self._cells()
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        lines = [
            "  ".join([*(cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=False)), row[-1]])
            for row in (header, *rows)
        ]
        return "\n".join([self._headline, *(line.rstrip() for line in lines)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        header, rows = self._cells()
        tone = html.Tone.MIXED if self.interrupted or len(self._solved) < len(self) else html.Tone.GOOD
        headline = html.badge(self._headline, html.Tone.BAD if self.doubtful else tone)
        return str(html.block(headline, html.table(rows, header)))

    @property
    def _solved(self) -> list[SweepPoint]:
        return [point for point in self.points if point.solution is not None]

    @property
    def _headline(self) -> str:
        """How many points there are, and what is wrong with how many of them."""
        planned = counted(self.planned, "point")
        count = f"{len(self)} of {planned}, interrupted" if self.interrupted else planned
        solved, doubtful = len(self._solved), len(self.doubtful)
        parts = [f"sweep of {self.formulation.__name__}: {count}"]
        if solved < len(self):
            parts.append(f"{len(self) - solved} failed")
        if solved:
            holding = f"{doubtful} of {solved} certificates DO NOT HOLD" if doubtful else "all certificates hold"
            parts.append(f"{holding} to {self.tolerance:g}")
        return ", ".join(parts)

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows as text; the last column names the method, or says what is wrong."""
        names = list(self.points[0].parameters) if self.points else []
        return [*names, *(name.replace("_", " ") for name in COLUMNS)], [self._row(point) for point in self.points]

    def _row(self, point: SweepPoint) -> list[str]:
        row = point.row(self.tolerance)
        cells = [_text(value) for value in point.parameters.values()]
        if point.error is not None:
            return [*cells, *["-"] * (len(COLUMNS) - 1), point.error.what]
        row["holds"] = "yes" if row["holds"] else "NO"
        return [*cells, *(form.format(row[name]) for name, form in COLUMNS.items())]


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
        _check(cls, sample, parameters)
        grid = {name: _values(name, given) for name, given in parameters.items()}
        run = _Run(cls, sample, grid, _Options(method, tolerance, callback))
        with Line(run.words, progress):
            interrupted = run.until_interrupted()
    points = tuple(run.points[place] for place in sorted(run.points))
    swept = Sweep(cls, points, tolerance, len(run.path), interrupted)
    _raise_shared(swept)
    if swept.doubtful:
        warnings.warn(_doubt(swept), CertificateWarning, stacklevel=2)
    return swept


def moved_start(previous: Solution, problem: Problem) -> dict[str, Any] | None:
    """The dual variables of a solution, moved to where another problem of the same kind probably has its own.

    A variable at a bound moves with it, the others stay where they are:

        z_i = u_new_i  where  |z_i - u_old_i| <= 1e-9 |u_old_i|,   and so for the lower bounds;   then into the new box

    Rows such as sum_i y_i alpha_i = 0 are left to the solver, which repairs any start. None where the variables are
    not the same; where the dual's feasible set is not a box with a few rows, the variables as they are.

    >>> import kopt
    >>> [SoftMargin] = [f for f in kopt.discover() if f.__name__ == "SoftMargin"]
    >>> sample = kopt.Sample([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1])
    >>> previous = kopt.solve(SoftMargin(C=0.3), sample, method="DENSE")
    >>> moved_start(previous, Problem(SoftMargin(C=0.5), sample))["alpha"].round(6).tolist()
    [0.122222, 0.5, 0.5, 0.122222]
    """
    before, after = _boxes(previous.formulation, previous.sample), _boxes(problem.formulation, problem.sample)
    if before is None or after is None:
        return dict(previous.dual)
    start = {}
    for name, box in after.items():
        z = np.asarray(previous.dual.get(name, np.nan))
        if name not in before or not z.shape == box[0].shape == before[name][0].shape or not np.isfinite(z).all():
            return None
        start[name] = _moved(z, before[name], box)
    return start


def _boxes(formulation: Formulation, sample: Sample) -> dict[str, Box] | None:
    """The bounds on the dual variables by name; None where there is no such thing."""
    view = ProductView(sample)
    dual = dual_of(formulation, view)
    if dual is None:
        return None
    variables = {name: variable for name, variable in dual.variables.items() if variable.id not in view.leaves}
    polyhedron = feasible_polyhedron(dual, variables)
    if polyhedron is None:
        return None
    lower, upper = (split(bound, variables) for bound in polyhedron.box)
    return {name: (lower[name], upper[name]) for name in variables}


def _moved(z: np.ndarray, before: Box, after: Box) -> np.ndarray:
    moved = z
    for old, new in zip(before, after, strict=True):
        there = np.isfinite(old) & np.isfinite(new) & (np.abs(z - old) <= AT_BOUND * np.abs(old))
        moved = np.where(there, new, moved)
    return np.clip(moved, *after)


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
        self.path = _path(grid)
        self.points: dict[Place, SweepPoint] = {}
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
                self._under_way = ", ".join([f"{count} of {len(self.path)}", *_equations(parameters)])
                self._gap = ""
                self.points[place] = self._point(parameters, self._neighbour(place))
        except KeyboardInterrupt:
            return True
        return False

    def _point(self, parameters: Parameters, previous: Solution | None) -> SweepPoint:
        try:
            own = {name: value for name, value in parameters.items() if not name.startswith(KERNEL)}
            kernels = {name: value for name, value in parameters.items() if name.startswith(KERNEL)}
            return SweepPoint(parameters, self._solution(self.cls(**own), self._with_kernels(kernels), previous))
        except FAILURES as error:
            if error is self._raised:
                raise
            return SweepPoint(parameters, None, error)

    def _solution(self, formulation: Formulation, sample: Sample, previous: Solution | None) -> Solution:
        start = None
        if previous is not None:
            with suppress(KoptError):  # solve says better what is wrong
                start = moved_start(previous, Problem(formulation, sample))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CertificateWarning)  # one warning at the end speaks for all
            solution = solve(
                formulation,
                sample,
                method=self.options.method,
                tolerance=self.options.tolerance,
                start=start,
                callback=self._tell,
                progress=False,
            )
        if any(attempt.status == INTERRUPTED for attempt in solution.attempts):
            raise KeyboardInterrupt
        return solution

    def _tell(self, moment: Progress) -> None:
        self._gap = f", gap {moment.relative_gap:.0e}"
        if self.options.callback is None:
            return
        try:
            self.options.callback(moment)
        except Exception as error:
            self._raised = error
            raise

    def _neighbour(self, place: Place) -> Solution | None:
        """The solution one step below along a parameter, the fastest first; else the one found last."""
        near = [self.points[below] for below in self.path[place]]
        solutions = (point.solution for point in (*near, *reversed(self.points.values())))
        return next((solution for solution in solutions if solution is not None), None)

    def _with_kernels(self, kernels: Parameters) -> Sample:
        """The sample with parameters of its kernels replaced."""
        if kernels != self._kernels:
            if self._sample is not self.sample:
                _forget_matrices(self._sample)
            self._sample, self._kernels = _replaced(self.sample, kernels), kernels
        return self._sample


def _path(grid: Mapping[str, list[Any]]) -> dict[Place, list[Place]]:
    """The places of a grid in the order in which they are solved, each with those one step below it.

    Values ascend: bounds then open rather than close, and a start stays inside. Kernels change last, because each
    has a matrix of its own.
    """
    orders = [_ascending(values) for values in grid.values()]
    axes = sorted(range(len(grid)), key=lambda axis: not list(grid)[axis].startswith(KERNEL))
    path = {}
    for ranks in itertools.product(*(range(len(orders[axis])) for axis in axes)):
        rank = dict(zip(axes, ranks, strict=True))
        place = tuple(order[rank[axis]] for axis, order in enumerate(orders))
        path[place] = [
            (*place[:axis], orders[axis][rank[axis] - 1], *place[axis + 1 :]) for axis in reversed(axes) if rank[axis]
        ]
    return path


def _ascending(values: list[Any]) -> list[int]:
    """The indices of values from the smallest to the largest; as given where they cannot be compared."""
    try:
        return sorted(range(len(values)), key=values.__getitem__)
    except TypeError:
        return list(range(len(values)))


def kernel_parameters(sample: Sample) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The numbers in a sample's kernels: the name in a sweep, the kernel's name, and the fields that lead there.

    >>> from kopt.kernels import Gaussian, Linear
    >>> list(kernel_parameters(Sample([[0.0]], kernel=2 * Gaussian(sigma=1.0) + Linear())))
    ['kernel__left__scale', 'kernel__left__kernel__sigma']
    """
    known = {}
    for name, gram in sample.grams.items():
        prefix = f"{KERNEL}{name}__" if len(sample.grams) > 1 else KERNEL
        known.update({prefix + "__".join(fields): (name, fields) for fields in _numbers_in(gram.kernel)})
    return known


def _numbers_in(kernel: Any) -> Iterator[tuple[str, ...]]:
    for field in dataclasses.fields(kernel) if dataclasses.is_dataclass(kernel) else ():
        value = getattr(kernel, field.name)
        if isinstance(value, Kernel):
            yield from ((field.name, *rest) for rest in _numbers_in(value))
        elif field.init and isinstance(value, Real) and not isinstance(value, bool):
            yield (field.name,)


def _replaced(sample: Sample, values: Parameters) -> Sample:
    """The same points with other numbers in the kernels."""
    kernels = {name: gram.kernel for name, gram in sample.grams.items()}
    known = kernel_parameters(sample)
    for parameter, value in values.items():
        name, fields = known[parameter]
        kernels[name] = _with_number(kernels[name], fields, value)
    return Sample(sample.X, sample.y, kernel=kernels, costs=sample.costs, budget=sample.budget)


def _with_number(kernel: Any, fields: tuple[str, ...], value: Any) -> Any:
    first, *rest = fields
    return dataclasses.replace(
        kernel, **{first: _with_number(getattr(kernel, first), tuple(rest), value) if rest else value}
    )


def _forget_matrices(sample: Sample) -> None:
    """Give up what the Gram matrices of a sample have cached: twenty of them may not fit, and nothing is lost."""
    for gram in sample.grams.values():
        for name, kind in vars(type(gram)).items():
            if isinstance(kind, cached_property):
                vars(gram).pop(name, None)


def _check(cls: object, sample: object, given: Parameters) -> None:
    """Refuse what no point of the sweep could be solved with."""
    if not isinstance(cls, type) or not issubclass(cls, Formulation):
        name = type(cls).__name__
        remedy = f"Give the class {name}, and its parameters by name." if isinstance(cls, Formulation) else "Give one."
        raise InputError(f"The first argument is of type {name}, which is not a class of formulations.", remedy)
    if not isinstance(sample, Sample):
        raise InputError(
            f"The second argument is of type {type(sample).__name__}.", "Wrap the data: kopt.Sample(X, y, kernel=...)."
        )
    fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    known = [*fields, *kernel_parameters(sample)]
    for name in given:
        if name not in known:
            raise InputError(f"{cls.__name__} on this sample has no parameter {name!r}.", f"Known are: {_list(known)}.")
    for name, field in fields.items():
        if name not in given and field.default is field.default_factory is dataclasses.MISSING:
            raise InputError(f"{cls.__name__} needs its parameter {name}.", f"Give a number or a list: {name}=[...].")


def _values(name: str, given: Any) -> list[Any]:
    """What was given for a parameter as a list."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        return [given]
    values = [each.item() if isinstance(each, np.generic) else each for each in given]
    if not values:
        raise InputError(f"The list of values for {name} is empty.", "Give at least one number.")
    return values


def _raise_shared(swept: Sweep) -> None:
    """Raise a fault that all points share: it does not lie in the values."""
    errors = [point.error for point in swept.points]
    if len(errors) == swept.planned and len(set(map(str, errors))) == 1 and errors[0] is not None:
        raise errors[0]


def _doubt(swept: Sweep) -> str:
    doubtful = swept.doubtful
    where = ", ".join(_equations(doubtful[0].parameters))
    return (
        f"At {len(doubtful)} of {len(swept)} points the certificate does not hold to {swept.tolerance:g}, first at "
        f"{where}. Look at sweep.doubtful, and at the bounds in the certificates of these solutions."
    )


def _equations(parameters: Parameters) -> list[str]:
    return [f"{name} = {_text(value)}" for name, value in parameters.items()]


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, Real) else str(value)


def _list(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
