"""Whether a changed formulation is truly different from the right one, decided without the referee.

A claimed dual is a function of the dual variables: its objective where its constraints hold, and -inf elsewhere. The
truth is the dual function of the primal alone, g = min over the primal variables of the Lagrangian, solved as a plain
conic program. A mutant is different if there is a point at which its value and g at its multipliers disagree by far
more than any tolerance. The points come from the original's set, from that set without one of its constraints at a
time, and from the mutant's own; where the mutant agrees with the original there is nothing to ask (the tests compare
every original with g at all of these points), so that few programs have to be solved.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import cvxpy as cp
import numpy as np
from cvxpy.constraints.constraint import Constraint

from kopt import Combination, Formulation, InputError, Point, Program, Sample, Task
from kopt.cones import NonNegative, Semidefinite, cone_of
from kopt.gradients import gradients_of
from kopt.kernels import Gaussian, Linear, Polynomial
from kopt.parameters import FRACTION, NONNEGATIVE, POSITIVE
from kopt.views import ExplicitView

# A violation below the first number is none, above the second it is one, in between it is no evidence; relative to
# the numbers that are compared. Interior point methods leave about 1e-9.
HOLDS, FAILS = 1e-6, 1e-3
# Values that agree, and values that differ.
SAME, OTHER = 1e-5, 1e-3
# A solution all of whose numbers are smaller is 0, and tells nothing about the size of others.
ZERO = 1e-6
SOLVERS = (
    (cp.CLARABEL, {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}),
    (cp.CLARABEL, {}),
    (cp.ECOS, {}),
)
KERNELS = (
    Polynomial(degree=2, R=0.7),
    0.3 * Linear() + Gaussian(sigma=0.9),
    0.6 * Linear() + Polynomial(degree=3, R=1),
)
SIZES = (5, 7, 6, 8)
# One range per instance in turn, so that bounds of either kind are met: those that bind and those that do not.
POSITIVE_RANGES = ((0.06, 0.2), (0.2, 0.6), (0.6, 3.0))
DRAWS = 60

Values = dict[str, np.ndarray]


@dataclass(frozen=True)
class Opinion:
    """What the oracle says of a mutant.

    different    whether it is not the dual
    restricted   whether it differs in nothing but a smaller feasible set with the same optimum on every instance
    evidence     the point that proves it, in words
    """

    different: bool
    restricted: bool = False
    evidence: str = ""


@dataclass(frozen=True)
class Instance:
    """A formulation with parameters, and a sample on which its primal has a solution."""

    formulation: Formulation
    sample: Sample


def instances(cls: type[Formulation], count: int, seed: int = 0) -> list[Instance]:
    """Small instances on which a wrong factor shows: nothing is 1, nothing is constant, nothing is balanced."""
    found: list[Instance] = []
    own = cls.instances(np.random.default_rng([seed, *map(ord, cls.__name__)]))
    if own is not None:
        pairs = (Instance(*pair) for pair in islice(own, DRAWS))
        return list(islice((each for each in pairs if _has_solution(each)), count))
    for i in range(count):
        rng = np.random.default_rng([seed, i, *map(ord, cls.__name__)])
        candidates = (_draw(cls, i, i + 3 * attempt // DRAWS, rng) for attempt in range(DRAWS))
        solvable = (each for each in candidates if each is not None and _has_solution(each))
        found += [each for each in [next(solvable, None)] if each is not None]
    assert found, f"no instance of {cls.__name__} has a solution"
    return found


def _draw(cls: type[Formulation], i: int, level: int, rng: np.random.Generator) -> Instance | None:
    formulation = cls(**{f.name: _parameter(f, level, rng) for f in dataclasses.fields(cls)})
    X, y = _data(cls.task, SIZES[i % len(SIZES)], rng)
    kernel = KERNELS[i % len(KERNELS)]
    sample = Sample(X, y, kernel=kernel, costs=rng.uniform(0.5, 2.0, len(X)))
    view = ExplicitView(sample)
    formulation.primal(view)
    if i % 2 == 0 or not view.uses_costs:
        sample = Sample(X, y, kernel=kernel)
    try:
        formulation.check(sample)
    except InputError:
        return None
    return Instance(formulation, sample)


def _parameter(field: dataclasses.Field, level: int, rng: np.random.Generator) -> float:
    if field.metadata.get("domain") is FRACTION:
        return float(rng.uniform(0.15, 0.85))
    if field.metadata.get("domain") is NONNEGATIVE:
        return float(rng.uniform(0.05, 0.4))
    if field.metadata.get("domain") is not POSITIVE:
        return float(field.metadata["domain"].draw(rng))
    low, high = POSITIVE_RANGES[level % len(POSITIVE_RANGES)]
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _data(task: Task, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray | None]:
    X = rng.standard_normal((n, 3)) * [1.0, 1.3, 0.7] + [0.4, -0.2, 0.3]
    if task is Task.NOVELTY:
        return X, None
    if task is Task.REGRESSION:
        return X, X @ [0.5, -0.4, 0.2] + 0.6 + rng.standard_normal(n)
    if task is Task.RANKING:
        return X, rng.permutation(np.searchsorted([0.2, 0.55, 0.8], (np.arange(n) + 0.5) / n) + 1.0)
    y = np.where(np.arange(n) < (n + 2) // 3, 1.0, -1.0)
    return X, rng.permutation(y)


def _has_solution(instance: Instance) -> bool:
    return solved(instance.formulation.problem(instance.sample, "primal")) == "optimal"


def solved(problem: cp.Problem) -> str:
    """Solve, and say how it went; what no solver is certain of is "no evidence"."""
    for solver, tolerances in SOLVERS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                problem.solve(solver=solver, **tolerances)
            except (cp.error.DCPError, ValueError):
                return "no evidence"
            except cp.error.SolverError:
                continue
        if problem.status in ("optimal", "unbounded", "infeasible"):
            return str(problem.status)
    return "no evidence"


class Declared:
    """What a formulation claims on one instance: an extended-valued function, and the multipliers behind it."""

    def __init__(self, formulation: Formulation, sample: Sample) -> None:
        self.formulation = formulation
        program = formulation.dual(ExplicitView(sample))
        assert program is not None, f"{type(formulation).__name__} declares no dual"
        self.program: Program = program
        self.constraints: list[Constraint] = [*program.constraints.values(), *program.domain]
        self._cones = [cone_of(constraint) for constraint in self.constraints]
        self._constants = [_size(_at_zero(cone.residual)) for cone in self._cones]

    def value(self, z: Values) -> float:
        """The value to be maximised; -inf where a constraint fails, nan where it nearly does.

        Nor is a point evidence that satisfies the constraints but for the last digits, with which it leaves the domain
        of the objective.
        """
        size = max(_size(each) for each in self.multipliers(z).values())
        worst = 0.0
        for cone, constant in zip(self._cones, self._constants, strict=True):
            worst = max(worst, cone.violation(cone.residual.value) / max(size, constant, 1e-12))
        if worst > HOLDS:
            return -np.inf if worst > FAILS else np.nan
        value = -self.program.sign * float(self.program.objective.value)
        return value if np.isfinite(value) or worst == 0 else np.nan

    def multipliers(self, z: Values) -> Values:
        """The multipliers that z stands for."""
        assign(self.program.variables, z)
        return {**z, **{name: np.asarray(e.value, dtype=float) for name, e in self.program.multipliers.items()}}

    def optimum(self) -> tuple[float, Values]:
        """The largest value and where it is attained; nan where a solver does not find it."""
        problem = self.program.problem()
        if solved(problem) != "optimal":
            return np.nan, {}
        return -self.program.sign * float(problem.value), read(self.program.variables)


def assign(variables: Mapping[str, cp.Variable], values: Values) -> None:
    """Give the variables of a program their values; a mutant may have lost some."""
    for name, variable in variables.items():
        variable.save_value(values[name])


def read(variables: Mapping[str, cp.Variable]) -> Values:
    """The values that a solver left in the variables of a program."""
    return {name: np.asarray(v.value, dtype=float) for name, v in variables.items()}


def _size(values: np.ndarray) -> float:
    finite = np.asarray(values)[np.isfinite(values)]
    return float(np.max(np.abs(finite), initial=0.0))


def _at_zero(expression: cp.Expression) -> np.ndarray:
    for variable in expression.variables():
        variable.save_value(np.zeros(variable.shape))
    with np.errstate(all="ignore"):
        return np.asarray(expression.value, dtype=float)


class Truth:
    """The dual function of a primal, and whether a primal point is optimal."""

    def __init__(self, instance: Instance) -> None:
        self.view = ExplicitView(instance.sample)
        self.primal = instance.formulation.primal(self.view)
        self.variables = self.primal.variables

    @cached_property
    def optimum(self) -> float:
        """The optimum of the primal as a minimisation."""
        problem = self.primal.problem()
        assert solved(problem) == "optimal"
        return self.primal.sign * float(problem.value)

    def minimum(self, multipliers: Values) -> float:
        """min over x of L(x; multipliers), -inf outside the dual cone or without a minimum; nan without evidence."""
        size = max(_size(each) for each in multipliers.values())
        lagrangian = self.primal.sign * self.primal.objective.expr
        for name, cone in self.primal.cones.items():
            outside = cone.multiplier_violation(multipliers[name]) / max(size, 1e-12)
            if outside > HOLDS:
                return -np.inf if outside > FAILS else np.nan
            lagrangian = lagrangian + cp.sum(cp.multiply(_into_cone(cone, multipliers[name]), cone.residual))
        return self._minimised(lagrangian, size)

    def _minimised(self, lagrangian: cp.Expression, size: float) -> float:
        """Affine variables are taken out first: a solver cannot tell a slope of 1e-9 from none."""
        first, second = self._gradients(lagrangian, 1.0), self._gradients(lagrangian, -1.7)
        size = max(size, self._slope)
        fixed = []
        for name, variable in self.variables.items():
            affine = np.abs(first[name] - second[name]) <= 1e-9 * size
            slope = _size(first[name][affine]) / size
            if slope > HOLDS:
                return -np.inf if slope > FAILS else np.nan
            if affine.any():
                fixed.append(cp.vec(variable, order="F")[np.flatnonzero(affine)] == 0)
        problem = cp.Problem(cp.Minimize(lagrangian), fixed)
        status = solved(problem)
        return float(problem.value) if status in ("optimal", "unbounded") else np.nan

    @cached_property
    def _slope(self) -> float:
        """The size of the objective's own gradient."""
        return max(_size(each) for each in self._gradients(self.primal.objective.expr, 1.0).values())

    def _gradients(self, expression: cp.Expression, scale: float) -> Values:
        rng = np.random.default_rng(3)
        for variable in self.variables.values():
            variable.save_value(scale * rng.standard_normal(variable.shape))
        gradients = dict.fromkeys(self.variables, np.nan) | {v.name(): g for v, g in gradients_of(expression).items()}
        absent = set(self.variables) - {v.name() for v in expression.variables()}
        return {
            name: np.zeros(v.size) if name in absent else _dense(gradients[name], v.size)
            for name, v in self.variables.items()
        }

    def error(self, point: Mapping[str, object]) -> float:
        """How far a primal point is from feasible and optimal, relative."""
        for name, variable in self.variables.items():
            value = point[name]
            if isinstance(value, Combination):
                value = self.view.weights[name].gram.factor.T @ value.coefficients
            variable.save_value(np.reshape(np.asarray(value, dtype=float), variable.shape))
        value = self.primal.sign * float(self.primal.objective.value)
        errors = [abs(value - self.optimum) / max(abs(self.optimum), 1e-3)]
        errors += [cone.violation(cone.residual.value) for cone in self.primal.cones.values()]
        return max(errors)


def _into_cone(cone: object, multiplier: np.ndarray) -> np.ndarray:
    """Rounding that leaves the cone makes the Lagrangian non-convex for CVXPY."""
    if isinstance(cone, NonNegative):
        return np.maximum(multiplier, 0.0)
    if isinstance(cone, Semidefinite):
        values, vectors = np.linalg.eigh((multiplier + multiplier.T) / 2)
        return (vectors * np.maximum(values, 0.0)) @ vectors.T
    return multiplier


def _dense(gradient: object, size: int) -> np.ndarray:
    if gradient is None:
        return np.full(size, np.nan)
    return np.asarray(gradient.toarray() if hasattr(gradient, "toarray") else gradient, dtype=float).reshape(size)


def conflict(claimed: float, true: float, unit: float) -> bool | None:
    """Whether a claimed and a true value differ; None where there is no evidence."""
    if np.isnan(claimed) or np.isnan(true):
        return None
    if np.isinf(claimed) or np.isinf(true):
        return bool(claimed != true)
    difference = abs(claimed - true) / max(abs(claimed), abs(true), unit)
    return None if SAME < difference <= OTHER else bool(difference > OTHER)


class Ground:
    """An instance, what is true on it, and the points at which claims are compared."""

    def __init__(self, instance: Instance, seed: int = 0) -> None:
        self.instance = instance
        self.original = Declared(instance.formulation, instance.sample)
        self.truth = Truth(instance)
        self.rng = np.random.default_rng(seed)
        self.best, self.solution = self.original.optimum()
        size = max([_size(each) for each in self.solution.values()] or [0.0])
        self.size = size if size > ZERO else 1.0

    @property
    def unit(self) -> float:
        """Differences are measured by this where the values themselves are smaller."""
        return 1e-2 * max(abs(self.truth.optimum), 1e-2)

    @cached_property
    def points(self) -> list[Values]:
        """Interior, faces and vertices of the original's set, and points at which one constraint fails."""
        constraints = self.original.constraints
        inside = [*self.near(self.original, constraints, 4), *self.extreme(self.original, 4)]
        inside += [self.solution] if self.solution else []
        middle = [_between(a, b) for a, b in zip(inside, inside[2:], strict=False)]
        outside = [
            z
            for left_out in constraints
            for z in self.near(self.original, [c for c in constraints if c is not left_out], 3)
        ]
        return [*inside, *middle, *outside]

    def near(self, declared: Declared, constraints: Sequence[Constraint], count: int) -> Iterator[Values]:
        """Points of a convex set: the nearest to random points near and far."""
        variables = declared.program.variables
        targets = {name: cp.Parameter(v.shape) for name, v in variables.items()}
        distance = sum(cp.sum_squares(v - targets[name]) for name, v in variables.items())
        problem = cp.Problem(cp.Minimize(distance), list(constraints))
        for i in range(count):
            for target in targets.values():
                target.value = self.size * 3.0 ** (i % 3 - 1) * (self.rng.standard_normal(target.shape) + 0.5)
            if solved(problem) == "optimal":
                yield self.complete(read(variables))

    def extreme(self, declared: Declared, count: int) -> Iterator[Values]:
        """Vertices of a convex set, not too far away."""
        variables = declared.program.variables
        costs = {name: cp.Parameter(v.shape) for name, v in variables.items()}
        total = sum(cp.sum(cp.multiply(costs[name], v)) for name, v in variables.items())
        box = [cp.abs(v) <= 5 * self.size for v in variables.values()]
        problem = cp.Problem(cp.Minimize(total), [*declared.constraints, *box])
        for _ in range(count):
            for cost in costs.values():
                cost.value = self.rng.standard_normal(cost.shape)
            if solved(problem) == "optimal":
                yield self.complete(read(variables))

    def complete(self, z: Values) -> Values:
        """A point of a mutant that has lost a dual variable, with any value for it."""
        return {name: z.get(name, np.zeros(v.shape)) for name, v in self.original.program.variables.items()}

    def claimed_by(self, mutant: type[Formulation]) -> Declared:
        """What a mutant claims on this instance."""
        fields = dataclasses.fields(self.instance.formulation)
        parameters = {f.name: getattr(self.instance.formulation, f.name) for f in fields}
        return Declared(mutant(**parameters), self.instance.sample)

    def points_of(self, claimed: Declared) -> Iterator[Values]:
        """Points of a mutant's own set."""
        yield from self.near(claimed, claimed.constraints, 3)
        yield from self.extreme(claimed, 2)

    def differs(self, claimed: Declared, z: Values) -> tuple[float, float] | None:
        """The mutant's value at a point and the true one, where the two and the original's disagree."""
        before, after = self.original.value(z), claimed.value(z)
        if not conflict(after, before, self.unit) and not (np.isfinite(after) and self._other_map(claimed, z)):
            return None
        true = self.truth.minimum(claimed.multipliers(z))
        if after == -np.inf:  # forbidden, although some choice of the eliminated multipliers may allow it
            true = np.fmax(true, self.truth.minimum(self.original.multipliers(z)))
        return (after, true) if conflict(after, true, self.unit) else None

    def _other_map(self, claimed: Declared, z: Values) -> bool:
        right, given = self.original.multipliers(z), claimed.multipliers(z)
        return any(_size(right[name] - given[name]) > OTHER * _size(right[name]) for name in right)

    def recovery_differs(self, mutant: type[Formulation]) -> float | None:
        """How far a mutant's recovered point is from optimal, where the original's is optimal and it is not."""
        if not self.solution:
            return None
        view = ExplicitView(self.instance.sample)
        dual = Point(self.original.multipliers(self.solution))
        right = self.instance.formulation.recover(view, dual)
        given = self.claimed_by(mutant).formulation.recover(view, dual)
        if right is None or given is None or self.truth.error(right) > OTHER / 10:
            return None
        error = self.truth.error(given)
        return error if error > 10 * OTHER else None

    def same_optimum(self, mutant: type[Formulation]) -> bool:
        """What a check at the optimum alone would say: the optimum of the mutant is that of the primal."""
        value, _ = self.claimed_by(mutant).optimum()
        return conflict(value, self.truth.optimum, self.unit) is False


def _between(a: Values, b: Values) -> Values:
    return {name: (a[name] + b[name]) / 2 for name in a}


class Oracle:
    """Opinions on the mutants of one formulation."""

    def __init__(self, cls: type[Formulation], count: int = 9, seed: int = 0, drawn: Iterable[Instance] | None = None):
        self.cls = cls
        self.grounds = [Ground(each, seed) for each in (instances(cls, count, seed) if drawn is None else drawn)]

    def judge(self, mutant: type[Formulation]) -> Opinion:
        """Whether a mutant is different; it stops at the first point that proves more than a smaller set."""
        if mutant.recover is not self.cls.recover:
            return self._of_recovery(mutant)
        smaller: Opinion | None = None
        for ground in self.grounds:
            claimed = ground.claimed_by(mutant)
            for z in _chained(ground, claimed):
                if smaller is not None and not np.isfinite(claimed.value(z)):
                    continue
                found = ground.differs(claimed, z)
                if found is None:
                    continue
                opinion = Opinion(True, evidence=f"claimed {found[0]:.6g}, true {found[1]:.6g}")
                if np.isfinite(found[0]):
                    return opinion
                smaller = opinion
        if smaller is None:
            return Opinion(False)
        return dataclasses.replace(smaller, restricted=self.survives_at_the_optimum(mutant))

    def _of_recovery(self, mutant: type[Formulation]) -> Opinion:
        for ground in self.grounds:
            error = ground.recovery_differs(mutant)
            if error is not None:
                return Opinion(True, evidence=f"the recovered point is off by {error:.2g}")
        return Opinion(False)

    def survives_at_the_optimum(self, mutant: type[Formulation]) -> bool:
        """Whether the mutant's optimum is the primal's on every instance."""
        return all(ground.same_optimum(mutant) for ground in self.grounds)

    def share_at_the_optimum(self, mutant: type[Formulation]) -> float:
        """The share of the instances on which the mutant's optimum is the primal's."""
        return float(np.mean([ground.same_optimum(mutant) for ground in self.grounds]))


def _chained(ground: Ground, claimed: Declared) -> Iterator[Values]:
    yield from ground.points
    yield from ground.points_of(claimed)
