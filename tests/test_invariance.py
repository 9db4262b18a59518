"""The same machine written another way: points in another order, K in other units, costs as repetitions."""

import dataclasses
from collections.abc import Iterator, Mapping
from functools import cache

import cvxpy as cp
import numpy as np
import pytest

import kopt
from formulations.classification import (
    NuSoftMargin,
    SoftMargin,
    TwoNormSoftMargin,
    UnitNuSoftMargin,
    UnitSoftMargin,
    UnitTwoNormSoftMargin,
)
from formulations.novelty import NuHypersphere, SoftHypersphere
from formulations.regression import EpsilonInsensitive, Ridge
from kopt import Combination, Formulation, Program, Sample, Task
from kopt.gradients import affine_parts
from kopt.kernels import Scaled
from kopt.terms import additive_terms
from kopt.views import ProductView
from tests.instances import (
    BY_NAME,
    FULL_RANK,
    KERNELS,
    data,
    instance,
    parameters,
    permuted,
    uses_costs,
    variable_names,
)
from tests.tolerances import (
    CERTIFIED,
    DIFFERENT,
    MAP,
    MULTIPLIER,
    PRIMAL_SIDE,
    SAME_RESIDUAL,
    SAME_RESIDUAL_ABSOLUTE,
    VALUE,
)

every_name = pytest.mark.parametrize("name", list(BY_NAME))


@cache
def solved(name: str, kernel: str) -> kopt.Solution:
    given = instance(name, kernel, 1)
    return kopt.solve(given.formulation, given.sample)


@cache
def imperfect_answer(name: str, kernel: str) -> dict[str, np.ndarray]:
    """Every primal and dual variable of an instance, a percent away from the optimum."""
    given = instance(name, kernel, 1)
    solution = solved(name, kernel)
    rng = np.random.default_rng(8)
    answer = {}
    for side, point in {"primal": solution.primal, "dual": solution.dual}.items():
        for key in variable_names(given.formulation.problem(given.sample, side)):
            value = point[key].coefficients if isinstance(point[key], Combination) else np.asarray(point[key], float)
            answer[key] = value + 0.01 * np.max(np.abs(value)) * rng.standard_normal(value.shape)
    return answer


@cache
def certified(name: str, kernel: str) -> kopt.Certificate:
    """The certificate of the imperfect answer."""
    given = instance(name, kernel, 1)
    return kopt.verify(given.formulation, given.sample, imperfect_answer(name, kernel))


def relative_residuals(certificate: kopt.Certificate) -> dict[tuple[str, int], float]:
    """By block and place: the text of an unnamed constraint may hold numbers that change with the sample."""
    return {(block, i): residual.relative for i, (block, _, residual) in enumerate(certificate.as_given)}


def assert_same_residuals(one: kopt.Certificate, other: kopt.Certificate) -> None:
    expected = relative_residuals(one)
    assert relative_residuals(other) == pytest.approx(expected, rel=SAME_RESIDUAL, abs=SAME_RESIDUAL_ABSOLUTE)
    for tolerance in (CERTIFIED, 1e-3, 1e-1, 1e1):
        assert one.holds(tolerance) == other.holds(tolerance)


def points_of(formulation: Formulation, sample: Sample) -> dict[str, np.ndarray]:
    """The point to which each entry of a variable belongs, where there is one.

    A vector with one entry per point has them in order. The others are read off the constraints: an entry takes one
    value of a weight vector, and a slack stands in one entry each. A matrix between points has them in order, in its
    rows and in its columns; where it has several blocks, the points are counted on from block to block.
    """
    view = ProductView(sample)
    program = formulation.primal(view)
    everywhere = np.arange(sample.n)
    plain = {name: v for name, v in program.variables.items() if v.id not in view.leaves}
    points = {name: everywhere for name, v in plain.items() if v.shape == (sample.n,)}
    points |= {name: everywhere for name, cone in program.cones.items() if cone.residual.shape == (sample.n,)}
    points |= dict.fromkeys(view.weights, everywhere)
    # A matrix has the points in its rows and its columns; one of a row and a column more has a border.
    shapes = {name: v.shape for name, v in plain.items()} | {n: c.residual.shape for n, c in program.cones.items()}
    squares = {name: shape[0] for name, shape in shapes.items() if len(shape) == 2 and shape[0] == shape[1]}
    points |= {name: np.arange(m) for name, m in squares.items() if m % sample.n == 0 or m == sample.n + 1}
    partial = {name: c.residual for name, c in program.cones.items() if name not in points and c.residual.is_affine()}
    for name, residual in partial.items():
        slopes, _ = affine_parts(residual)
        for weight in (w for w in view.weights.values() if w.values.id in slopes):
            points[name] = weight.seen[slopes[weight.values.id].indices]
            assert len(points[name]) == residual.size, f"an entry of {name} takes several values"
        for slack, v in plain.items():
            if name in points and v.id in slopes and v.size == residual.size > 1 and slack not in points:
                points[slack] = points[name][slopes[v.id].tocsc().indices]
    return points


def in_other_order(
    values: Mapping[str, np.ndarray], before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The same values for a sample whose entries belong to the points `after`, in the numbering of `before`."""
    result = dict(values)
    for name in set(values) & set(before):
        place = {point: entry for entry, point in enumerate(before[name])}
        entries, value = [place[point] for point in after[name]], np.asarray(values[name])
        result[name] = value[np.ix_(entries, entries)] if value.shape == (len(entries),) * 2 else value[entries]
    return result


class Permutation:
    """An instance with its points in another order."""

    def __init__(self, name: str, kernel: str, seed: int) -> None:
        given = instance(name, kernel, 1)
        self.order = np.random.default_rng(seed).permutation(given.sample.n)
        self.sample = permuted(given.sample, self.order)
        self.before = points_of(given.formulation, given.sample)
        after = points_of(given.formulation, self.sample)
        self.after = {key: self._reordered(points) for key, points in after.items()}

    def _reordered(self, points: np.ndarray) -> np.ndarray:
        """The points in the new order, from block to block; a border stays where it is."""
        n = len(self.order)
        if len(points) == n + 1:
            return np.append(self.order, n)[points]
        return self.order[points % n] + n * (points // n)

    def moved(self, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return in_other_order(values, self.before, self.after)

    def moved_back(self, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return in_other_order(values, self.after, self.before)


@every_name
class TestPermutedSample:
    def test_the_certificate_of_an_answer_is_permuted(self, name):
        given, answer = instance(name, "sum", 1), imperfect_answer(name, "sum")
        other_order = Permutation(name, "sum", 2)
        one = certified(name, "sum")
        other = kopt.verify(given.formulation, other_order.sample, other_order.moved(answer))
        assert not one.holds(CERTIFIED)
        assert_same_residuals(one, other)
        assert other.bounds.lower == pytest.approx(one.bounds.lower, rel=SAME_RESIDUAL)
        assert other.bounds.upper == pytest.approx(one.bounds.upper, rel=SAME_RESIDUAL)
        assert other.points.keys() == one.points.keys()
        order = other_order.order
        for key, points in one.points.items():
            margins = other_order.moved_back({key: other.points[key].margins})[key]
            np.testing.assert_allclose(margins, points.margins, rtol=SAME_RESIDUAL, atol=SAME_RESIDUAL_ABSOLUTE)
            assert np.array_equal(points.rows, other_order.before[key])
            for kind in ("zero", "free", "bound", "undecided"):
                assert set(order[getattr(other.points[key], kind)]) == set(getattr(points, kind))

    def test_the_solution_is_permuted(self, name):
        kernel = FULL_RANK[-1]
        given, other_order = instance(name, kernel, 1), Permutation(name, kernel, 4)
        one = solved(name, kernel)
        other = kopt.solve(given.formulation, other_order.sample)
        assert abs(other.value - one.value) <= VALUE * one.certificate.as_given.scale
        keys = variable_names(given.formulation.problem(given.sample, "dual"))
        back = other_order.moved_back({key: other.dual[key] for key in keys})
        assert kopt.verify(given.formulation, given.sample, back).holds(CERTIFIED)
        if any(gram.factor.shape[1] < given.sample.n for gram in given.sample.grams.values()):
            return  # a formulation brought a kernel of its own, under which the multipliers need not be unique
        for key in keys:
            size = max(np.max(np.abs(one.dual[each])) for each in keys)
            np.testing.assert_allclose(back[key], one.dual[key], atol=MULTIPLIER * size)
        support = other_order.order[other.certificate.support_vectors]
        assert set(support) == set(one.certificate.support_vectors)


@dataclasses.dataclass(frozen=True)
class Term:
    """A term of a sum: the power of each variable in it, NaN where it enters in another way, and its numbers."""

    powers: Mapping[str, float]
    numbers: np.ndarray


def power_in(numbers: np.ndarray, once: np.ndarray, again: np.ndarray, factor: float) -> float:
    """The k by which numbers grow as factor^k, once and again; NaN where there is none."""
    if not numbers.shape == once.shape == again.shape:  # a parameter that changes the form of the term
        return np.nan
    seen = numbers != 0
    growth = np.concatenate([once[seen] / numbers[seen], again[seen] / once[seen]])
    if not np.allclose(growth, growth[0], rtol=1e-9) or growth[0] <= 0:
        return np.nan
    return float(np.log(growth[0]) / np.log(factor))


def power_of(expression: cp.Expression, variable: cp.Variable) -> float:
    """The power of a variable in an expression at the point that is bound; NaN where it enters in another way."""
    x, values = np.array(variable.value), []
    for factor in (4.0, 2.0, 1.0):
        variable.save_value(factor * x)
        values.append(np.atleast_1d(expression.value))
    return power_in(*values[::-1], 2.0)


def terms_of(expression: cp.Expression) -> Iterator[Term]:
    """The terms of a sum, at the point that is bound; affine ones variable by variable."""
    for part in additive_terms(expression):
        if part.expression.is_affine():
            slopes, offset = affine_parts(part.expression)
            for v in sorted(part.expression.variables(), key=lambda v: v.name()):
                yield Term({v.name(): 1.0}, part.coefficient * slopes[v.id].toarray().ravel())
            if offset.any():
                yield Term({}, part.coefficient * offset)
        else:
            powers = {v.name(): power_of(part.expression, v) for v in part.expression.variables()}
            value = np.atleast_1d(part.expression.value)
            yield Term(powers, part.coefficient * value)


def sums_of(formulation: Formulation, sample: Sample) -> dict[str, list[Term]]:
    """The objective and the constraints as sums of terms, at a point by chance that is always the same."""
    view, rng = ProductView(sample), np.random.default_rng(5)
    program = formulation.primal(view)
    for variable in program.variables.values():
        variable.save_value(rng.uniform(0.5, 1.5, variable.shape))
    sums = {"value": program.objective.expr} | {f"({name})": cone.residual for name, cone in program.cones.items()}
    over = {q.leaf.name(): (v.name, q.entry[0].name()) for v in view.vectors for q in v.quotients}
    return {name: [without_quotients(term, over) for term in terms_of(e)] for name, e in sums.items()}


def without_quotients(term: Term, over: Mapping[str, tuple[str, str]]) -> Term:
    """<w, w> / t as the product of two powers."""
    powers: dict[str, float] = {}
    for name, power in term.powers.items():
        w, t = over.get(name, ("", ""))
        parts = {f"{w}.norm_squared": power, t: -power} if w else {name: power}
        powers |= {key: powers.get(key, 0.0) + value for key, value in parts.items()}
    return Term(powers, term.numbers)


def changed(formulation: Formulation, key: str, factor: float) -> Formulation:
    """The formulation with one parameter multiplied."""
    return dataclasses.replace(formulation, **{key: factor * getattr(formulation, key)})


def growing(formulation: Formulation, key: str) -> tuple[float, Formulation, Formulation]:
    """The formulation with one parameter multiplied by a factor once, and again: 2, or 1/2 where the domain ends."""
    try:
        return 2.0, changed(formulation, key, 2.0), changed(formulation, key, 4.0)
    except kopt.InputError:
        return 0.5, changed(formulation, key, 0.5), changed(formulation, key, 0.25)


def scaled(sample: Sample, s: float) -> Sample:
    """The sample with s K for K."""
    return sample.under({name: Scaled(s, kernel) for name, kernel in sample.kernels.items()})


@cache
def powers(name: str, kernel: str) -> dict[str, float] | None:
    """How each quantity changes when K becomes s K: by the power s^e. None where the machine has no such powers.

    The terms of a sum have the same unit, and those of the objective the unit of the value. A vector with coefficients
    of unit e has values of unit e + 1 and a squared norm of unit 2 e + 1; labels, targets and whatever enters in
    another way than as a power have none. The unit of a multiplier is that of the value by that of its constraint.
    """
    given = instance(name, kernel, 1)
    declared = sums_of(given.formulation, given.sample)
    one, two = (sums_of(given.formulation, scaled(given.sample, s)) for s in (2.0, 4.0))
    variants = {"K": (2.0, one, two)}
    for key in parameters(given.formulation):
        factor, once, again = growing(given.formulation, key)
        variants[key] = factor, sums_of(once, given.sample), sums_of(again, given.sample)
    equations: list[dict[str, float]] = []
    for whole, terms in declared.items():
        for i, term in enumerate(terms):
            found = dict(term.powers)
            for key, (factor, once, again) in variants.items():
                found[key] = power_in(term.numbers, once[whole][i].numbers, again[whole][i].numbers, factor)
            equation = {whole: -1.0, "K": 0.0}
            for key, k in found.items():
                owner, _, leaf = key.partition(".")
                if np.isnan(k):
                    equations.append({owner: 1.0})
                else:
                    own, of_kernel = LEAVES[leaf]
                    equation[owner] = equation.get(owner, 0.0) + own * k
                    equation["K"] += of_kernel * k
            equations.append(equation)
    units = solution_of(equations)
    if units is None:
        return None
    return units | {whole[1:-1]: units["value"] - units[whole] for whole in declared if whole != "value"}


# The unit of what a program sees of a vector, in that of its coefficients and in that of K.
LEAVES = {"": (1.0, 0.0), "values": (1.0, 1.0), "norm_squared": (2.0, 1.0), "norm": (1.0, 0.5)}


def solution_of(equations: list[dict[str, float]]) -> dict[str, float] | None:
    """Units that satisfy all equations, where K has the unit 1; None where there are none."""
    names = sorted({name for equation in equations for name in equation})
    A = np.array([[equation.get(name, 0.0) for name in names] for equation in [*equations, {"K": 1.0}]])
    b = np.append(np.zeros(len(equations)), 1.0)
    units = np.round(np.linalg.lstsq(A, b)[0], 12)  # what has no unit has none: p = 1 stays 1
    return dict(zip(names, units.tolist(), strict=True)) if np.allclose(A @ units, b) else None


@pytest.mark.parametrize("s", [1e-6, 1e6])
@pytest.mark.parametrize("kernel", ["sum"])
@every_name
class TestScaledKernel:
    def units(self, name, kernel):
        units = powers(name, kernel)
        if units is None:
            pytest.skip(f"{name} adds quantities that grow differently with K, whatever the units of its parameters")
        return units

    def rescaled(self, name, kernel, s):
        given, units = instance(name, kernel, 1), self.units(name, kernel)
        changed = {key: value * s ** units[key] for key, value in parameters(given.formulation).items()}
        return dataclasses.replace(given.formulation, **changed), scaled(given.sample, s)

    def test_relative_residuals_of_an_answer_stay(self, name, kernel, s):
        answer, units = imperfect_answer(name, kernel), self.units(name, kernel)
        formulation, sample = self.rescaled(name, kernel, s)
        one = certified(name, kernel)
        other = kopt.verify(formulation, sample, {key: v * s ** units[key] for key, v in answer.items()})
        assert not one.holds(CERTIFIED)
        assert_same_residuals(one, other)
        factor = s ** units["value"]
        assert other.as_given.scale == pytest.approx(factor * one.as_given.scale, rel=SAME_RESIDUAL)
        for bound in ("lower", "upper"):
            expected = factor * getattr(one.bounds, bound)
            # The bounds carry an estimate of their rounding, which depends on how the norms were computed.
            rounding = 2 * (other.bounds.rounding + factor * one.bounds.rounding)
            assert getattr(other.bounds, bound) == pytest.approx(expected, rel=SAME_RESIDUAL, abs=rounding)

    def test_the_solution_is_rescaled(self, name, kernel, s):
        one = solved(name, kernel)
        other = kopt.solve(*self.rescaled(name, kernel, s))
        factor = s ** self.units(name, kernel)["value"]
        assert other.certificate.holds(CERTIFIED)
        assert abs(other.value - factor * one.value) <= VALUE * factor * one.certificate.as_given.scale


def test_the_units_are_those_of_the_texts():
    """By hand: where ||w||^2 is paid for, C is in units of 1/K; where it is bounded, f grows as sqrt(K); R is in K."""
    known = {
        "SoftMargin": {"alpha": -1, "w": -1, "b": 0, "xi": 0, "value": -1, "C": -1},
        "NuSoftMargin": {"alpha": 0, "w": 0, "b": 1, "rho": 1, "xi": 1, "value": 1, "nu": 0},
        "UnitTwoNormSoftMargin": {"alpha": 0, "w": -0.5, "b": 0.5, "gamma": 0.5, "xi": 0.5, "value": 0.5, "C": -0.5},
        "SoftHypersphere": {"alpha": 0, "c": 0, "R": 1, "xi": 1, "value": 1, "C": 0},
        "Ridge": {"beta": 0, "w": -1, "xi": 0, "value": 0, "ridge": 1},
    }
    for name, expected in known.items():
        found = powers(name, "sum")
        assert {key: found[key] for key in expected} == pytest.approx(expected, abs=1e-9)
    # A threshold that is bounded together with w, and added to its values.
    assert powers("AugmentedHardRanking", "sum") is None


# With costs the term c_i xi_i stands c_i times in the objective. The nu-machines divide by the number of points and
# are therefore not among these.
WITH_COSTS = [
    SoftMargin(C=0.7),
    TwoNormSoftMargin(C=1.6),
    UnitSoftMargin(C=0.12),
    UnitTwoNormSoftMargin(C=0.15),
    EpsilonInsensitive(C=2.3, epsilon=0.15),
    Ridge(ridge=0.6),
    SoftHypersphere(C=0.09),
    SoftHypersphere(C=0.02),
]


@pytest.mark.parametrize("kernel", ["polynomial", "sum"])
@pytest.mark.parametrize("formulation", WITH_COSTS, ids=repr)
def test_costs_are_repetitions(formulation, kernel):
    rng = np.random.default_rng(21)
    X, y = data(formulation.task, 17, 1.0, rng)
    times = rng.integers(1, 4, len(X))
    weighted = Sample(X, y, kernel=KERNELS[kernel], costs=times)
    repeated = Sample(np.repeat(X, times, axis=0), None if y is None else np.repeat(y, times), kernel=KERNELS[kernel])
    assert uses_costs(formulation, weighted)
    one, other = kopt.solve(formulation, weighted), kopt.solve(formulation, repeated)
    plain = kopt.solve(formulation, Sample(X, y, kernel=KERNELS[kernel]))
    scale = one.certificate.as_given.scale
    assert abs(one.value - other.value) <= VALUE * scale
    assert abs(one.value - plain.value) > 10 * VALUE * scale
    new = rng.standard_normal((9, 3))
    f = one.decision_function(new)
    np.testing.assert_allclose(other.decision_function(new), f, atol=MULTIPLIER * np.max(np.abs(f)))


@pytest.mark.parametrize("cls", [NuSoftMargin, UnitNuSoftMargin, NuHypersphere], ids=lambda cls: cls.__name__)
def test_costs_of_a_nu_machine_are_repetitions_for_another_nu(cls):
    # 1/l is in units of the number of points, so nu l is what stays.
    rng = np.random.default_rng(22)
    X, y = data(cls.task, 23, 1.0, rng)
    times = rng.integers(1, 4, len(X))
    one = kopt.solve(cls(nu=0.31), Sample(X, y, kernel=KERNELS["sum"], costs=times))
    y_repeated = None if y is None else np.repeat(y, times)
    repeated = Sample(np.repeat(X, times, axis=0), y_repeated, kernel=KERNELS["sum"])
    other = kopt.solve(cls(nu=0.31 * len(X) / times.sum()), repeated)
    new = rng.standard_normal((9, 3))
    f, g = one.decision_function(new), other.decision_function(new)
    # The form with a squared norm scales its function with nu.
    if cls is NuSoftMargin:
        f, g = f / one.primal.rho, g / other.primal.rho
    np.testing.assert_allclose(g, f, atol=MULTIPLIER * np.max(np.abs(f)))


@every_name
def test_costs_are_used_or_refused(name):
    given = instance(name, "sum", 0)
    sample = Sample(given.sample.X, given.sample.y, kernel=KERNELS["sum"], costs=np.linspace(1.1, 2.0, given.sample.n))
    if uses_costs(given.formulation, sample):
        given.formulation.check(sample)
    else:
        with pytest.raises(kopt.InputError, match="costs"):
            kopt.solve(given.formulation, sample)


class OneClass(Formulation):
    """One-class machine: the hyperplane that separates the points from the origin."""

    task = Task.NOVELTY
    nu: float = kopt.fraction(default=0.5)

    def primal(self, s):
        w, rho, xi = s.weight("w"), cp.Variable(name="rho"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(0.5 * w.norm_squared - rho + cp.sum(xi) / (self.nu * s.n)),
            {"alpha": w.values >= rho - xi, "mu": xi >= 0},
        )


def away_from_the_origin() -> tuple[np.ndarray, np.ndarray]:
    """Points and new points; around the origin the normalised linear kernel has no hyperplane but w = 0."""
    rng = np.random.default_rng(31)
    return tuple(data(Task.NOVELTY, size, 1.0, rng)[0] + [3.0, 0.0, 0.0] for size in (23, 11))


@pytest.mark.parametrize("nu", [0.13, 0.37, 0.8])
@pytest.mark.parametrize("kernel", list(KERNELS))
def test_the_sphere_is_the_one_class_machine_for_a_normalised_kernel(kernel, nu):
    """With k(x, x) = 1: w = c and r^2 = 1 - 2 rho + ||c||^2."""
    X, new = away_from_the_origin()
    sample = Sample(X, kernel=KERNELS[kernel].normalised())
    sphere, plane = kopt.solve(NuHypersphere(nu=nu), sample), kopt.solve(OneClass(nu=nu), sample)
    c, w, rho = sphere.primal.c, plane.primal.w, plane.primal.rho
    assert plane.certificate.as_given.worst <= PRIMAL_SIDE
    assert (c - w).norm <= MULTIPLIER * c.norm
    assert abs(sphere.primal.R - (1 - 2 * rho + c.norm_squared)) <= MAP
    np.testing.assert_allclose(sphere.decision_function(new), 2 * (plane.decision_function(new) - rho), atol=MAP)


def test_the_sphere_is_another_machine_where_the_diagonal_varies():
    X, _ = away_from_the_origin()
    sphere, plane = kopt.solve(NuHypersphere(nu=0.37), Sample(X)), kopt.solve(OneClass(nu=0.37), Sample(X))
    assert (sphere.primal.c - plane.primal.w).norm > DIFFERENT * plane.primal.w.norm
