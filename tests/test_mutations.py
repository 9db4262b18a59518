"""The verifier under mutation: every wrong answer is refused, in the block that names the fault.

A correct answer to each formulation is taken apart into all its numbers (primal variables, weight vectors as
representer coefficients, multipliers), one of them is made wrong, and the record of the answer *as given* must fail
where the fault is, and nowhere that the fault cannot reach. Which constraints and variables a number reaches is read
off the two programs; whether a mutant is wrong at all is decided by `Coordinates`, without the verifier.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import ClassVar

import cvxpy as cp
import numpy as np
import pytest

import kopt
from kopt.cones import Cone, Free, NonNegative
from kopt.formulation import Pair
from kopt.kernels import Gaussian, Linear, Polynomial
from kopt.views import ExplicitView, ProductView

REFUSED_AT = 1e-6
# An answer whose violations and gap are below this, relative, is optimal for the independent check.
LUCKY = 1e-9
FORMULATIONS = {formulation.__name__: formulation for formulation in kopt.discover()}
KERNELS = {"linear": Linear(), "gaussian": Gaussian(sigma=1.3), "polynomial": Polynomial(degree=2)}
# Values at which each machine has slacks of both kinds and a weight vector that is not zero; others scale the default.
PARAMETERS = {
    "UnitSoftMargin": {"C": 0.12},
    "UnitTwoNormSoftMargin": {"C": 0.05},
    "SoftHypersphere": {"C": 0.12},
    "NuSoftMargin": {"nu": 0.6},
    "UnitNuSoftMargin": {"nu": 0.6},
    "NuHypersphere": {"nu": 0.3},
    "EpsilonInsensitive": {"C": 0.8, "epsilon": 0.2},
}
N = 19

Answer = dict[str, np.ndarray]
Place = tuple[str, str]


def machine(name: str) -> kopt.Formulation:
    cls = FORMULATIONS[name]
    chosen = PARAMETERS.get(name, {})
    others = {f.name: 0.8 * f.default for f in dataclasses.fields(cls) if f.name not in chosen}
    return cls(**{**others, **chosen})


def draw(formulation: kopt.Formulation, kernel: str, seed: int) -> kopt.Sample:
    """Unbalanced classes that overlap, and are apart only for machines without slack variables."""
    rng = np.random.default_rng(seed)
    X = rng.normal(loc=(0.3, -0.2), size=(N, 2))
    y = np.where(np.arange(N) < 8, 1.0, -1.0)
    if formulation.task is kopt.Task.CLASSIFICATION:
        slacks = Structure(formulation, kopt.Sample(X, y)).vectors
        X[y > 0] += 1.6 if slacks else 5.0
        return kopt.Sample(X, y, kernel=KERNELS[kernel])
    if formulation.task is kopt.Task.REGRESSION:
        return kopt.Sample(X, np.sin(X[:, 0]) + 0.5 * rng.normal(size=N), kernel=KERNELS[kernel])
    return kopt.Sample(X, kernel=KERNELS[kernel])


class Structure:
    """Which names meet in which constraint: read off the declaration, before anything is evaluated."""

    def __init__(self, formulation: kopt.Formulation, sample: kopt.Sample) -> None:
        self.primal_view, self.dual_view = ProductView(sample), ProductView(sample)
        pair = Pair(formulation, self.primal_view, self.dual_view)
        assert pair.dual is not None, "mutations of a primal without a dual are tested apart"
        self.primal, self.dual = pair.primal, pair.dual
        self.cones: Mapping[str, Cone] = self.primal.cones
        self.weights = list(self.primal_view.weights)
        leaves = self.primal_view.leaves
        plain = {name: v for name, v in self.primal.variables.items() if v.id not in leaves}
        self.scalars = [name for name, v in plain.items() if v.size == 1]
        self.vectors = [name for name, v in plain.items() if v.size > 1]
        self.dual_variables = [name for name, v in self.dual.variables.items() if v.id not in self.dual_view.leaves]
        self.eliminated = list(self.dual.multipliers)
        self.equalities = [name for name, cone in self.dual.cones.items() if isinstance(cone, Free)]

    def names_in(self, expression: cp.Expression) -> set[str]:
        """The plain variables and weight vectors of a primal expression."""
        leaves = self.primal_view.leaves
        return {leaves[v.id].name if v.id in leaves else v.name() for v in expression.variables()}

    def reached_by(self, variable: str) -> list[str]:
        """The primal constraints in which a variable or weight vector occurs."""
        return [name for name, cone in self.cones.items() if variable in self.names_in(cone.residual)]

    def curved_in(self, variable: str) -> bool:
        if variable in self.weights:
            return True
        expressions = [self.primal.objective.expr, *(cone.residual for cone in self.cones.values())]
        return any(not e.is_affine() and variable in self.names_in(e) for e in expressions)

    def places_of_variable(self, variable: str) -> set[Place]:
        """Where a wrong primal variable can show."""
        places = {(block, c) for c in self.reached_by(variable) for block in ("primal feasibility", "complementarity")}
        if self.curved_in(variable):
            places |= {("stationarity", variable)}
        if variable in self.names_in(self.primal.objective.expr):
            places |= {("gap", "gap")}
        return places

    def stationarity(self, multiplier: str) -> set[Place]:
        return {("stationarity", variable) for variable in self.names_in(self.cones[multiplier].residual)}

    def places_of_multiplier(self, multiplier: str) -> set[Place]:
        """Where a wrong multiplier can show."""
        places = self.stationarity(multiplier)
        places |= {("complementarity", multiplier), ("dual feasibility", f"multiplier {multiplier}")}
        if multiplier in self.dual_variables:
            places |= {("dual feasibility", name) for name in (*self.dual.cones, *self.dual.domain_cones)}
            places |= {("gap", "gap")}
        return places

    def signed(self) -> list[str]:
        return [name for name, cone in self.cones.items() if isinstance(cone, NonNegative)]


class Coordinates:
    """Both programs in coordinates of feature space, evaluated by CVXPY: whether an answer is optimal.

    Nothing of the verifier is used, neither its view of the sample nor its cones, residuals and scales.
    """

    def __init__(self, formulation: kopt.Formulation, sample: kopt.Sample) -> None:
        self.view = ExplicitView(sample)
        self.primal = formulation.primal(self.view)
        self.dual = formulation.dual(ExplicitView(sample))

    def error(self, answer: Mapping[str, np.ndarray]) -> float:
        """The largest of violations, gap and inconsistency of the eliminated multipliers, in units of the optimum."""
        for name, variable in self.primal.variables.items():
            weight = self.view.weights.get(name)
            value = answer[name] if weight is None else weight.gram.factor.T @ answer[name]
            variable.save_value(np.reshape(value, variable.shape))
        for name, variable in self.dual.variables.items():
            variable.save_value(np.reshape(answer[name], variable.shape))
        primal, dual = float(self.primal.objective.value), float(self.dual.objective.value)
        errors = [abs(primal - dual) / max(abs(primal), abs(dual), 1e-3)]
        for program in (self.primal, self.dual):
            errors += [np.max(c.violation()) for c in (*program.constraints.values(), *program.domain)]
        for name, expression in self.dual.multipliers.items():
            if name in answer:
                errors.append(np.max(np.abs(answer[name] - np.reshape(expression.value, np.shape(answer[name])))))
        return float(np.max(errors))


def tight(problem: cp.Problem) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # CVXPY: may be inaccurate; both sides are compared instead
        tolerances = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
        return float(problem.solve(solver="CLARABEL", **tolerances))


def taken_apart(certificate: kopt.Certificate) -> Answer:
    """Every number of an answer, under the names that `verify` takes."""
    values = {**certificate.primal, **certificate.dual}
    return {
        name: np.array(value.coefficients if isinstance(value, kopt.Combination) else value, dtype=float)
        for name, value in values.items()
    }


@dataclass(frozen=True)
class Case:
    formulation: kopt.Formulation
    sample: kopt.Sample
    answer: Answer

    @cached_property
    def structure(self) -> Structure:
        return Structure(self.formulation, self.sample)

    @cached_property
    def coordinates(self) -> Coordinates:
        return Coordinates(self.formulation, self.sample)

    @property
    def unit(self) -> float:
        """The size of a decision value."""
        weights = [self.sample.gram().product(self.answer[name]) for name in self.structure.weights]
        return max(float(np.max(np.abs(w))) for w in weights)

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(7)


@cache
def case(name: str, kernel: str, side: str, seed: int = 3) -> Case:
    formulation = machine(name)
    sample = draw(formulation, kernel, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kopt.CertificateWarning)  # judged by test_a_correct_answer_is_not_refused
        solution = kopt.solve(formulation, sample, side=side)
    return Case(formulation, sample, taken_apart(solution.certificate))


@dataclass(frozen=True)
class Mutant:
    """A wrong answer, and where it is wrong.

    every   each of these places must fail
    some    at least one of these must fail (where not empty)
    within  no other place may fail (where not None)
    """

    label: str
    answer: Answer
    every: frozenset[Place] = frozenset()
    some: frozenset[Place] = frozenset()
    within: frozenset[Place] | None = None


def mutated(case: Case, name: str, change: Callable[[np.ndarray], np.ndarray]) -> Answer:
    answer = dict(case.answer)
    answer[name] = change(np.array(answer[name]))
    return answer


def with_entry(index: int, change: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    def changed(values: np.ndarray) -> np.ndarray:
        values.flat[index] = change(values.flat[index])
        return values

    return changed


def feasible_or_complementary(case: Case, variable: str) -> frozenset[Place]:
    s = case.structure
    return frozenset(p for p in s.places_of_variable(variable) if p[0] in ("primal feasibility", "complementarity"))


def dual_variable_noise(case: Case) -> Iterator[Mutant]:
    s = case.structure
    for name in s.dual_variables:
        noise = 1e-3 * case.rng().standard_normal(N)
        answer = mutated(case, name, lambda v, noise=noise: v * (1 + noise))
        # Noise is stationary in no direction, so that every variable that the multiplier meets must say so.
        yield Mutant(
            f"{name} with relative noise 1e-3",
            answer,
            every=frozenset(s.stationarity(name)),
            within=frozenset(s.places_of_multiplier(name)),
        )


def dual_variable_entry(case: Case) -> Iterator[Mutant]:
    s = case.structure
    for name in s.dual_variables:
        unit = np.max(np.abs(case.answer[name]))
        index = int(case.rng().integers(N))
        yield Mutant(
            f"{name}[{index}] changed",
            mutated(case, name, with_entry(index, lambda v, unit=unit: v + 0.01 * unit)),
            every=frozenset(s.stationarity(name)),
            within=frozenset(s.places_of_multiplier(name)),
        )


def dual_variable_scaled(case: Case) -> Iterator[Mutant]:
    s = case.structure
    for name in s.dual_variables:
        yield Mutant(
            f"{name} times 1.01",
            mutated(case, name, lambda v: 1.01 * v),
            some=frozenset(s.stationarity(name)),
            within=frozenset(s.places_of_multiplier(name)),
        )


def dual_variable_followed(case: Case) -> Iterator[Mutant]:
    """Wrong dual variables to which the eliminated multipliers are consistent."""
    s = case.structure
    for name in s.dual_variables:
        noise = 1e-3 * case.rng().standard_normal(N)
        answer = mutated(case, name, lambda v, noise=noise: v * (1 + noise))
        within = s.places_of_multiplier(name).union(*(s.places_of_multiplier(m) for m in s.eliminated))
        yield Mutant(
            f"{name} with noise, {', '.join(s.eliminated) or 'nothing'} left to follow",
            {key: value for key, value in answer.items() if key not in s.eliminated},
            every=frozenset(("stationarity", w) for w in s.weights if ("stationarity", w) in s.stationarity(name)),
            within=frozenset(within),
        )


def row_broken(case: Case) -> Iterator[Mutant]:
    s = case.structure
    for row in s.equalities:
        variable = s.dual_variables[0]
        index = int(np.argmax(np.abs(case.answer[variable])))
        yield Mutant(
            f"the row of {row} broken",
            mutated(case, variable, with_entry(index, lambda v: 0.9 * v)),
            every=frozenset({("dual feasibility", row), ("stationarity", row)}),
            within=frozenset(s.places_of_multiplier(variable)),
        )


def sign_flipped(case: Case) -> Iterator[Mutant]:
    s = case.structure
    for name in s.cones:
        index = int(np.argmax(np.abs(case.answer[name])))
        if np.abs(case.answer[name].flat[index]) < 1e-4:  # delta and rho vanish where the margin or radius is positive
            continue
        sign = {("dual feasibility", f"multiplier {name}")} if name in s.signed() else s.stationarity(name)
        yield Mutant(
            f"sign of {name}[{index}] flipped",
            mutated(case, name, with_entry(index, lambda v: -v)),
            every=frozenset(sign),
            within=frozenset(s.places_of_multiplier(name)),
        )


def all_negated(case: Case) -> Iterator[Mutant]:
    s = case.structure
    answer = {name: -value if name in s.cones else value for name, value in case.answer.items()}
    signed = [name for name in s.signed() if np.max(np.abs(case.answer[name])) > 1e-4]
    free = [name for name in s.cones if name not in s.signed()]
    every = {("dual feasibility", f"multiplier {name}") for name in signed}
    yield Mutant("all multipliers negated", answer, frozenset(every.union(*(s.stationarity(name) for name in free))))


def eliminated_inconsistent(case: Case) -> Iterator[Mutant]:
    s = case.structure
    for name in s.eliminated:
        index = int(np.argmin(case.answer[name]))
        unit = max(float(np.max(np.abs(case.answer[v]))) for v in s.dual_variables)
        yield Mutant(
            f"{name}[{index}] inconsistent",
            mutated(case, name, with_entry(index, lambda v, unit=unit: v + 0.01 * unit)),
            every=frozenset(s.stationarity(name)),
            within=frozenset(s.places_of_multiplier(name)),
        )


def scalar_shifted(case: Case) -> Iterator[Mutant]:
    """A wrong offset, radius or margin, in both directions."""
    s = case.structure
    for name in s.scalars:
        for sign in (1, -1):
            yield Mutant(
                f"{name} shifted by {sign * 0.01:+g}",
                mutated(case, name, lambda v, sign=sign: v + sign * 0.01 * case.unit),
                some=feasible_or_complementary(case, name),
                within=frozenset(s.places_of_variable(name)),
            )


def slack_dropped(case: Case) -> Iterator[Mutant]:
    s = case.structure
    for name in s.vectors:
        index = int(np.argmax(case.answer[name]))
        assert case.answer[name][index] > 1e-3, f"the instance has no positive {name}"
        shared = [c for c in s.reached_by(name) if len(s.names_in(s.cones[c].residual)) > 1]
        yield Mutant(
            f"{name}[{index}] dropped",
            mutated(case, name, with_entry(index, lambda _: 0.0)),
            every=frozenset(("primal feasibility", c) for c in shared),
            within=frozenset(s.places_of_variable(name)),
        )


def slack_negative(case: Case) -> Iterator[Mutant]:
    s = case.structure
    for name in s.vectors:
        unit = float(np.max(np.abs(case.answer[name])))
        alone = [c for c in s.reached_by(name) if s.names_in(s.cones[c].residual) == {name}]
        # Without a sign constraint a negative slack breaks the constraint that defines it.
        index = int(np.argmin(case.answer[name]) if alone else np.argmax(case.answer[name]))
        yield Mutant(
            f"{name}[{index}] negative",
            mutated(case, name, with_entry(index, lambda _, unit=unit: -0.01 * unit)),
            every=frozenset(("primal feasibility", c) for c in (alone or s.reached_by(name))),
            within=frozenset(s.places_of_variable(name)),
        )


def weight_scaled(case: Case) -> Iterator[Mutant]:
    s = case.structure
    for name in s.weights:
        yield Mutant(
            f"{name} times 1.001",
            mutated(case, name, lambda v: 1.001 * v),
            every=frozenset({("stationarity", name)}),
            within=frozenset(s.places_of_variable(name)),
        )


def weight_entry(case: Case) -> Iterator[Mutant]:
    s = case.structure
    for name in s.weights:
        index = int(case.rng().integers(N))
        unit = float(np.max(np.abs(case.answer[name])))
        yield Mutant(
            f"coefficient {index} of {name} changed",
            mutated(case, name, with_entry(index, lambda v, unit=unit: v + 0.01 * unit)),
            every=frozenset({("stationarity", name)}),
            within=frozenset(s.places_of_variable(name)),
        )


def dual_variable_missing(case: Case) -> Iterator[Mutant]:
    s = case.structure
    for name in s.dual_variables:
        yield Mutant(
            f"{name} missing",
            {key: value for key, value in case.answer.items() if key != name},
            every=frozenset({("dual feasibility", f"multiplier {name}"), *s.stationarity(name)}),
        )


def not_a_number(case: Case) -> Iterator[Mutant]:
    s = case.structure
    for name in case.answer:
        if name in s.cones:
            every = {("dual feasibility", f"multiplier {name}"), ("complementarity", name), *s.stationarity(name)}
        else:
            every = {(b, c) for c in s.reached_by(name) for b in ("primal feasibility", "complementarity")}
        answer = mutated(case, name, with_entry(0, lambda _: np.nan))
        yield Mutant(f"NaN in {name}", answer, frozenset(every))


def infinite(case: Case) -> Iterator[Mutant]:
    s = case.structure
    for i, name in enumerate(case.answer):
        # An infinite number may have the right sign: what it is multiplied with or added to shows it.
        every = s.stationarity(name) if name in s.cones else {("complementarity", c) for c in s.reached_by(name)}
        value = np.inf if i % 2 else -np.inf
        yield Mutant(f"{value} in {name}", mutated(case, name, with_entry(0, lambda _, v=value: v)), frozenset(every))


MUTATIONS: dict[Callable[[Case], Iterator[Mutant]], Callable[[Structure], object]] = {
    dual_variable_noise: lambda s: s.dual_variables,
    dual_variable_entry: lambda s: s.dual_variables,
    dual_variable_scaled: lambda s: s.dual_variables,
    dual_variable_followed: lambda s: s.dual_variables,
    row_broken: lambda s: s.equalities,
    sign_flipped: lambda s: s.cones,
    all_negated: lambda s: s.cones,
    eliminated_inconsistent: lambda s: s.eliminated,
    scalar_shifted: lambda s: s.scalars,
    slack_dropped: lambda s: s.vectors,
    slack_negative: lambda s: s.vectors,
    weight_scaled: lambda s: s.weights,
    weight_entry: lambda s: s.weights,
    dual_variable_missing: lambda s: s.dual_variables,
    not_a_number: lambda s: True,
    infinite: lambda s: True,
}
# The numbers do not matter where one of them is not finite: one instance is enough.
ONE_INSTANCE = {not_a_number, infinite}


def applicable() -> list[object]:
    pairs = []
    for name in FORMULATIONS:
        structure = Structure(machine(name), draw(machine(name), "linear", 0))
        for mutation, needs in MUTATIONS.items():
            if needs(structure):
                pairs.append(pytest.param(name, mutation, id=f"{name}-{mutation.__name__}"))
    return pairs


class Tally:
    tried: ClassVar[Counter[str]] = Counter()
    refused: ClassVar[Counter[str]] = Counter()
    located: ClassVar[Counter[str]] = Counter()
    lucky: ClassVar[Counter[str]] = Counter()


def judge(kind: str, case: Case, mutant: Mutant) -> str | None:
    """None if the mutant is refused in the right place or not wrong at all; otherwise what went wrong."""
    if all(np.isfinite(value).all() for value in mutant.answer.values()) and set(mutant.answer) == set(case.answer):
        error = case.coordinates.error(mutant.answer)
        if error <= LUCKY:
            Tally.tried[kind] += 1
            Tally.lucky[kind] += 1
            return None
    certificate = kopt.verify(case.formulation, case.sample, mutant.answer)
    Tally.tried[kind] += 1
    failures = {(block, name) for block, name, _ in certificate.as_given.failures(REFUSED_AT)}
    if certificate.holds(REFUSED_AT):
        return f"{mutant.label}: not refused"
    Tally.refused[kind] += 1
    if not mutant.every <= failures:
        return f"{mutant.label}: not located, {sorted(mutant.every - failures)} missing among {sorted(failures)}"
    if mutant.some and not mutant.some & failures:
        return f"{mutant.label}: not located, none of {sorted(mutant.some)} among {sorted(failures)}"
    if mutant.within is not None and not failures <= mutant.within:
        return f"{mutant.label}: blamed on {sorted(failures - mutant.within)}"
    Tally.located[kind] += 1
    return None


INSTANCES = [("gaussian", "dual"), ("linear", "primal")]


@pytest.mark.parametrize(("name", "mutation"), applicable())
def test_a_mutant_is_refused_where_it_is_wrong(name, mutation):
    objections = []
    for kernel, side in INSTANCES[:1] if mutation in ONE_INSTANCE else INSTANCES:
        correct = case(name, kernel, side)
        mutants = list(mutation(correct))
        assert mutants, "the instance offers nothing to mutate"
        objections += [f"{kernel}, {o}" for mutant in mutants if (o := judge(mutation.__name__, correct, mutant))]
    assert not objections, "\n".join(objections)


SEEDS = {"linear": 3, "gaussian": 3, "polynomial": 4}


@pytest.mark.parametrize("side", ["primal", "dual"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", FORMULATIONS)
def test_a_correct_answer_is_not_refused(name, kernel, side):
    correct = case(name, kernel, side, SEEDS[kernel])
    certificate = kopt.verify(correct.formulation, correct.sample, correct.answer)
    assert certificate.holds(REFUSED_AT), str(certificate)
    assert correct.coordinates.error(correct.answer) <= 1e-5


def test_an_offset_moved_within_its_interval_is_still_right():
    """Luck, recognised without the verifier: all multipliers at their bound, so that b has an interval."""
    X = np.array([[-3.0], [-2.0], [2.0], [3.5]])
    y = np.array([-1.0, -1.0, 1.0, 1.0])
    C = 1e-3
    w = C * y @ X[:, 0]
    values = w * X[:, 0]
    objectives = []
    for b in (-0.3, 0.0, 0.2):
        xi = np.maximum(0.0, 1 - y * (values + b))
        objectives.append(0.5 * w**2 + C * xi.sum())
        answer = {"w": C * y, "b": b, "xi": xi, "alpha": np.full(4, C), "mu": np.zeros(4)}
        certificate = kopt.verify(FORMULATIONS["SoftMargin"](C=C), kopt.Sample(X, y), answer)
        assert certificate.holds(1e-12), str(certificate)
    assert np.ptp(objectives) <= 1e-15
    # Beyond the interval the same step is a fault.
    xi = np.maximum(0.0, 1 - y * (values + 1.5))
    outside = {"w": C * y, "b": 1.5, "xi": xi, "alpha": np.full(4, C), "mu": np.zeros(4)}
    failures = kopt.verify(FORMULATIONS["SoftMargin"](C=C), kopt.Sample(X, y), outside).as_given.failures(REFUSED_AT)
    assert ("complementarity", "alpha") in {(block, name) for block, name, _ in failures}


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
@pytest.mark.parametrize("name", ["UnitHardMargin", "UnitSoftMargin", "UnitNuSoftMargin"])
def test_an_optimum_with_a_vanishing_weight_vector_is_not_refused(name, kernel):
    """Every point carries both labels: w = 0 and lambda = 0 are optimal, and the optimum is 0, by hand."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(5, 2))
    sample = kopt.Sample(np.vstack([Z, Z]), np.repeat([1.0, -1.0], 5), kernel=KERNELS[kernel])
    weights = rng.uniform(0.5, 1.0, size=5)
    alpha = np.tile(weights / (2 * weights.sum()), 2)
    answer = {"w": np.zeros(10), "b": 0.0, "gamma": 0.0, "alpha": alpha, "lambda": 0.0}
    formulation = FORMULATIONS[name]()
    if name != "UnitHardMargin":
        bound = 1.0 if name == "UnitSoftMargin" else 1 / (0.5 * 10)
        answer |= {"xi": np.zeros(10), "mu": bound - alpha}
    certificate = kopt.verify(formulation, sample, answer)
    assert certificate.holds(REFUSED_AT), str(certificate)


def test_without_a_dual_a_missing_multiplier_counts_as_infinite():
    class PrimalOnly(FORMULATIONS["SoftMargin"]):
        def dual(self, s):
            return None

    correct = case("SoftMargin", "gaussian", "dual")
    formulation = PrimalOnly(C=correct.formulation.C)
    assert kopt.verify(formulation, correct.sample, correct.answer).holds(REFUSED_AT)
    for name in ("alpha", "mu"):
        answer = {key: value for key, value in correct.answer.items() if key != name}
        certificate = kopt.verify(formulation, correct.sample, answer)
        assert not certificate.holds(REFUSED_AT)
        assert certificate.as_given.dual_feasibility[f"multiplier {name}"].relative == np.inf
        assert certificate.as_given.complementarity[name].relative == np.inf


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", FORMULATIONS)
def test_dual_variables_alone_that_are_not_finite_are_refused_by_name(name, value):
    """Nothing can be recovered from them: either no certificate holds, or the refusal says which number it is."""
    correct = case(name, "gaussian", "dual")
    variables = correct.structure.dual_variables
    answer = {variable: np.array(correct.answer[variable]) for variable in variables}
    answer[variables[0]][2] = value
    blamed = []
    try:
        certificate = kopt.verify(correct.formulation, correct.sample, answer)
        blamed = [where for _, where, residual in certificate.as_given if residual.relative == np.inf]
        assert not certificate.holds(REFUSED_AT)
    except kopt.InputError as error:
        blamed = [error.what]
    assert any(variables[0] in where for where in blamed), blamed


LOOSE = {
    "SCS-1e-2-dual": ("SCS", "dual", {"eps": 1e-2}),
    "SCS-1e-3-primal": ("SCS", "primal", {"eps": 1e-3}),
    "OSQP-default-primal": ("OSQP", "primal", {"eps_abs": 1e-3, "eps_rel": 1e-3, "polishing": False}),
    "OSQP-25-iterations-dual": ("OSQP", "dual", {"max_iter": 25, "polishing": False}),
}


def takes(solver: str, problem: cp.Problem) -> bool:
    return problem.is_qp() if solver == "OSQP" else bool(problem.constraints)


def loose_pairs() -> list[object]:
    pairs = []
    for name in FORMULATIONS:
        for label, (solver, side, options) in LOOSE.items():
            if takes(solver, machine(name).problem(draw(machine(name), "linear", 0), side)):
                pairs.append(pytest.param(name, solver, side, options, id=f"{name}-{label}"))
    return pairs


@pytest.mark.parametrize(("name", "solver", "side", "options"), loose_pairs())
def test_a_loose_answer_of_a_solver_is_refused(name, solver, side, options):
    correct = case(name, "gaussian", "dual")
    structure = correct.structure
    problem = correct.formulation.problem(correct.sample, side)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # CVXPY: the solution may be inaccurate
        problem.solve(solver=solver, **options)
    answer = {}
    for variable in problem.variables():
        is_weight = side == "primal" and variable.name() in structure.weights
        answer[variable.name()] = correct.sample.gram().coefficients(variable.value) if is_weight else variable.value
    if side == "primal":
        for (multiplier, cone), constraint in zip(structure.cones.items(), problem.constraints, strict=False):
            answer[multiplier] = cone.from_cvxpy(constraint.dual_value)
    completed = {**correct.answer, **answer}
    if side == "dual":  # what the solver did not say is right, so that the error is its own
        completed = {key: value for key, value in completed.items() if key not in structure.eliminated}
    error = correct.coordinates.error(completed)
    Tally.tried["loose"] += 1
    certificate = kopt.verify(correct.formulation, correct.sample, answer)
    if certificate.holds(REFUSED_AT):
        assert error <= 1e-6, f"accepted although its error is {error:.1e}\n{certificate}"
        Tally.lucky["loose"] += 1
    else:
        Tally.refused["loose"] += 1
        Tally.located["loose"] += 1
        assert error >= 1e-12, f"refused although its error is {error:.1e}\n{certificate}"


def dual_points(correct: Case) -> Iterator[tuple[str, Answer]]:
    """Dual variables of every kind; those named "feasible" are so by construction."""
    rng = correct.rng()
    names = correct.structure.dual_variables
    best = {name: correct.answer[name] for name in names}
    sample, formulation = correct.sample, correct.formulation
    yield "zeros", {name: np.zeros(N) for name in names}
    yield "huge", {name: np.full(N, 1e12) for name in names}
    yield "random signs", {name: rng.standard_normal(N) for name in names}
    yield "scale 1e6", {name: 1e6 * rng.random(N) for name in names}
    yield "one entry", {name: np.eye(N)[5] for name in names}
    yield "near optimal", {name: best[name] * (1 + 1e-4 * rng.standard_normal(N)) for name in names}
    if formulation.task is kopt.Task.CLASSIFICATION:
        share = np.where(sample.y > 0, 0.5 / np.sum(sample.y > 0), 0.5 / np.sum(sample.y < 0))
    else:
        share = np.full(N, 1.0 / N)
    for total in (1.0, getattr(formulation, "nu", 0.5), 1e-3):
        yield f"feasible {total:g}", dict.fromkeys(names, total * share)


@cache
def optimum(name: str, kernel: str, side: str) -> tuple[float, float]:
    """The tight values of both sides, the smaller first."""
    correct = case(name, kernel, side)
    values = [tight(correct.formulation.problem(correct.sample, each)) for each in ("primal", "dual")]
    assert np.ptp(values) <= 1e-7 * max(1.0, *np.abs(values))
    return min(values), max(values)


@pytest.mark.parametrize(("kernel", "side"), INSTANCES)
@pytest.mark.parametrize("name", FORMULATIONS)
def test_the_repaired_bounds_contain_the_optimum(name, kernel, side):
    correct = case(name, kernel, side)
    below, above = optimum(name, kernel, side)
    accuracy = (above - below) + 1e-10 * max(1.0, abs(above))
    feasible = 0
    for label, answer in dual_points(correct):
        if kernel != INSTANCES[0][0] and label in ("huge", "scale 1e6", "one entry", "feasible 0.001"):
            continue  # seen on the first instance
        bounds = kopt.verify(correct.formulation, correct.sample, answer).bounds
        assert bounds.lower <= above + accuracy, f"{label}: {bounds} against {above!r}"
        assert bounds.upper >= below - accuracy, f"{label}: {bounds} against {below!r}"
        assert np.isfinite(bounds.lower if correct.structure.primal.sign > 0 else bounds.upper), f"{label}: {bounds}"
        for variable, value in answer.items():
            correct.coordinates.dual.variables[variable].save_value(value)
        program = correct.coordinates.dual
        violation = max((np.max(c.violation()) for c in (*program.constraints.values(), *program.domain)), default=0.0)
        if violation <= 1e-15:
            assert bounds.moved <= 1e-15, f"{label}: {bounds}"
            feasible += label.startswith("feasible")
        elif violation > 1e-12:
            assert bounds.moved > 0, f"{label}: {bounds}"
        if label == "near optimal":
            assert bounds.relative_gap <= 1e-2, f"{label}: {bounds}"
    assert feasible, "no point of the instance was feasible"


def test_how_many_mutants_were_refused_and_located():
    if not Tally.tried:
        pytest.skip("no mutant was tried in this run")
    tried, refused, located, lucky = (
        sum(count.values()) for count in (Tally.tried, Tally.refused, Tally.located, Tally.lucky)
    )
    print(f"\n{tried} mutants tried, {lucky} of them right by luck, {refused} refused, {located} located")
    for kind in Tally.tried:
        print(f"  {kind}: {Tally.tried[kind]} tried, {Tally.lucky[kind]} lucky, {Tally.located[kind]} located")
    assert refused == tried - lucky
    assert located == refused
    assert lucky <= tried / 20
