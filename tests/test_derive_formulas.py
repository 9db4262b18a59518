"""The formulas that a derivation prints, evaluated: they say what the programs compute, line by line."""

from dataclasses import dataclass, fields, replace
from functools import cache, cached_property

import cvxpy as cp
import numpy as np
import pytest

import kopt
from kopt import losses
from kopt.derive.document import Document
from kopt.derive.dual import raw_dual
from kopt.derive.evaluate import Absent, Evaluation
from kopt.derive.numbers import Numbers, constants_of
from kopt.derive.printed import Pair, agree, draw_multipliers, dual_pairs, printed_dual_agrees
from kopt.derive.reading import read_program
from kopt.derive.simplify import simplified
from kopt.derive.trace import Ledger, TracingView, traced
from kopt.formulation import primal_of
from kopt.referee.instances import random_instances
from kopt.show.formula import Formula, Kernel, Name, Number, Over, Phi, Power, Product, Quotient, Relation, Sum, Words
from kopt.views import ExplicitView

DRAWS = 3
# Difference quotients of quadratic functions are exact up to rounding; slopes of conjugates are known to 1e-7.
DIFFERENCE = 1e-6


class NotingView(TracingView):
    """Remembers what the letters stand for that a declaration names."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.noted = {}

    def named(self, letter, values):
        self.noted[letter] = np.asarray(values)
        return super().named(letter, values)


@dataclass(frozen=True)
class Case:
    """A document with the numbers of its letters, and the program of its dual."""

    document: Document
    constants: dict
    program: kopt.Program

    @cached_property
    def numbers(self):
        return Numbers(self.document, self.constants)

    @property
    def primal(self):
        return self.document.reading.primal

    def draw_primal(self, rng):
        """Random values of the primal variables, left in them; coordinates for a vector."""
        reading, values = self.document.reading, {}
        for vector in {id(each): each for each in reading.vectors.values()}.values():
            values[vector.name] = rng.normal(size=vector.gram.factor.shape[1])
        values |= {name: rng.normal(size=variable.shape) for name, variable in reading.variables.items()}
        return self.set_primal(values)

    def set_primal(self, values):
        reading = self.document.reading
        for vector in {id(each): each for each in reading.vectors.values()}.values():
            w = values[vector.name]
            vector.values.save_value(vector.gram.factor[vector.seen] @ w)
            vector.norm_squared.save_value(float(w @ w))
            vector.norm.save_value(float(np.linalg.norm(w)))
        for name, variable in reading.variables.items():
            variable.save_value(np.asarray(values[name]))
        return values

    def lagrangian(self, values, multipliers):
        """Objective plus multipliers times residuals, in the numbers of the program."""
        self.set_primal(values)
        total = self.primal.sign * float(self.primal.objective.expr.value)
        return total + sum(
            float(np.sum(multipliers[name] * cone.residual.value)) for name, cone in self.primal.cones.items()
        )

    def draw_multipliers(self, rng, largest=1.0, signs=(1,)):
        raw = self.document.raw.multipliers
        return {name: rng.choice(signs) * rng.uniform(largest / 5, largest, m.shape) for name, m in raw.items()}


def documented(primal, ledger, view=None):
    reading = read_program(primal, ledger, view)
    return Document(reading, raw_dual(reading), simplified(raw_dual(reading)))


def of_machine(formulation, sample, costs):
    ledger = Ledger()
    view = NotingView(sample, ledger, costs)
    document = documented(primal_of(traced(formulation, ledger), view), ledger, view)
    program = document.dual.program(ExplicitView(sample))
    return Case(document, constants_of(formulation, sample, view.noted), program)


def of_class(cls):
    """On the instance with the most targets, so that sums over ranks have more than one term."""
    instances = list(random_instances(cls, 6, 0))
    targets = [0 if each.sample.y is None else len(np.unique(each.sample.y)) for each in instances]
    chosen = instances[int(np.argmax(targets))]
    # The centres and coefficients that the texts call c leave no letter for costs.
    taken = cls.__name__ in ("ConvexHulls", "ReducedConvexHulls") or cls.__module__.startswith("formulations.novelty")
    sample = chosen.sample.relabelled(chosen.sample.y, costs=None) if taken else chosen.sample
    return of_machine(chosen.formulation, sample, costs=not taken)


def of_loss(loss, offset):
    machine = kopt.regularised_risk(loss, offset, cost=1.7)
    sample = next(random_instances(type(machine), 1, 0)).sample
    return of_machine(machine, sample, costs=True)


def of_program(primal):
    document = documented(primal, Ledger())
    return Case(document, {"l": 4}, document.dual.program(None))


def programs():
    rng = np.random.default_rng(0)
    A, a, D = rng.normal(size=(4, 3)), rng.normal(size=4), rng.normal(size=(4, 4))
    x, z, u = cp.Variable(3, name="x"), cp.Variable(4, name="z"), cp.Variable(name="u")
    yield "least norm", kopt.Program(cp.Minimize(cp.sum_squares(x)), {"nu": A[:2] @ x == a[:2]})
    yield "smallest absolute residuals", kopt.Program(cp.Minimize(cp.norm1(z)), {"nu": A @ x - z == a})
    yield (
        "linear program",
        kopt.Program(cp.Maximize(a @ z), {"alpha": D @ z <= 2.5, "mu": z >= 0, "beta": cp.sum(z) <= u, "nu": u <= 3}),
    )
    yield (
        "two losses",
        kopt.Program(
            cp.Minimize(cp.sum(cp.huber(z)) + 0.7 * cp.sum(cp.logistic(x)) + cp.square(u)),
            {"nu": A @ x + u == z, "mu": x <= 5},
        ),
    )
    yield "length", kopt.Program(cp.Minimize(cp.norm(x, 2) + 0.3 * cp.sum(z)), {"nu": A @ x - a <= z, "mu": z >= -1})


MACHINES = {cls.__name__: cls for cls in kopt.discover()}
LOSSES = {name: cls for name in losses.__all__ if isinstance(cls := getattr(losses, name), type) and hasattr(cls, "on")}
PROGRAMS = dict(programs())


@cache
def case(name):
    if name in MACHINES:
        return of_class(MACHINES[name])
    if name in PROGRAMS:
        return of_program(PROGRAMS[name])
    loss, _, without = name.partition(" without")
    return of_loss(LOSSES[loss](), not without)


NAMES = [*MACHINES, *LOSSES, "Huber without offset", *PROGRAMS]


@pytest.mark.parametrize("name", NAMES)
def test_primal_and_lagrangian(name):
    each, rng = case(name), np.random.default_rng(1)
    document, found = each.document, []
    for _ in range(DRAWS):
        values, multipliers = each.draw_primal(rng), each.draw_multipliers(rng)
        evaluation = each.numbers.at(values | multipliers)
        printed = evaluation.value(document.primal_objective)
        pairs = {"objective": Pair("value", *map(np.atleast_1d, (printed, each.primal.objective.expr.value)))}
        for constraint, relation in document.primal_relations.items():
            rows = each.numbers.rows(evaluation, relation, constraint)
            pairs[constraint] = Pair(relation.sign, rows, np.atleast_1d(each.primal.cones[constraint].residual.value))
        for constraint, relation in document.complementary.items():
            value = multiplier_of(document, evaluation, each, constraint, multipliers)
            residual = np.atleast_1d(each.primal.cones[constraint].residual.value)
            pairs[f"{constraint} * residual"] = Pair(
                "=", each.numbers.rows(evaluation, relation, constraint), value * residual
            )
        lagrangian = (evaluation.value(document.lagrangian_formula), each.lagrangian(values, multipliers))
        pairs["Lagrangian"] = Pair("value", *map(np.atleast_1d, lagrangian))
        found.append(pairs)
    assert [line for line in found[0] if not agree([pairs[line] for pairs in found])] == []


def multiplier_of(document, evaluation, each, name, multipliers):
    """The value of a multiplier, by its formula where the complementarity condition has that in its place."""
    eliminated = document.dual.eliminated.get(name)
    if eliminated is None or eliminated.form is None:
        return np.atleast_1d(multipliers[name])
    return entries(each, evaluation, document.eliminated[name], name)


def entries(each, evaluation, formula, name):
    """A formula for each entry of a name."""
    return each.numbers.rows(evaluation, Relation(formula, "=", Number(0)), name)


@pytest.mark.parametrize("name", NAMES)
def test_stationarity(name):
    """Where it is an equation, it is that the derivative of the Lagrangian in the variable vanishes."""
    each, rng = case(name), np.random.default_rng(2)
    found = []
    for _ in range(DRAWS):
        values, multipliers, pairs = each.draw_primal(rng), each.draw_multipliers(rng), {}
        evaluation = each.numbers.at(values | multipliers)
        for variable, relation in each.document.stationary.items():
            if relation.sign == "=":
                rows = each.numbers.rows(evaluation, relation, variable)
                pairs[variable] = Pair("=", rows, gradient(each, values, multipliers, variable))
        found.append(pairs)
    wrong = [line for line in found[0] if not parallel([pairs[line] for pairs in found])]
    assert wrong == []


def gradient(each, values, multipliers, name):
    """Central differences, exact where the Lagrangian is quadratic."""
    base, found = np.atleast_1d(values[name]), []
    for k in range(base.size):
        step = np.eye(base.size)[k]
        ends = [(base + sign * step).reshape(np.shape(values[name])) for sign in (1, -1)]
        above, below = (each.lagrangian(values | {name: end}, multipliers) for end in ends)
        found.append((above - below) / 2)
    return np.array(found)


def parallel(pairs):
    """Whether each row is a multiple of the derivative, the same at all points."""
    printed, computed = (np.stack(side) for side in list(zip(*pairs, strict=True))[1:])
    factor = np.sum(printed * computed, axis=0) / np.maximum(np.sum(computed**2, axis=0), 1e-300)
    apart = np.abs(printed - factor * computed)
    return bool(np.all(factor != 0) and np.all(apart <= DIFFERENCE * np.max(np.abs(printed))))


@pytest.mark.parametrize("name", NAMES)
def test_substitution(name):
    """The Lagrangian at the printed minimisers; a variable that it is affine in drops out, and may be 0."""
    each = case(name)
    for multipliers in inside(each, np.random.default_rng(3)):
        values = minimisers(each, multipliers)
        printed = each.numbers.at(multipliers).value(each.document.raw_objective)
        assert printed == pytest.approx(each.lagrangian(values, multipliers), rel=DIFFERENCE, abs=DIFFERENCE)


def inside(each, rng):
    """Multipliers at which every conjugate is finite."""
    found = []
    for attempt in range(100):
        multipliers = each.draw_multipliers(rng, 0.9**attempt, signs=(1, -1) if attempt else (1,))
        evaluation = each.numbers.at(multipliers)
        if all(in_domain(each, evaluation, name) for name in each.document.solved):
            found.append(multipliers)
        if len(found) == DRAWS:
            break
    assert len(found) == DRAWS
    return found


def in_domain(each, evaluation, name):
    relation = each.document.solved[name]
    if relation.sign != "in":
        return True
    lower, upper = each.document.write.losses[relation.right.function[2:]].conjugate_domain
    u = entries(each, evaluation, relation.left, name)
    return bool(np.all(u > lower) and np.all(u < upper))


def minimisers(each, multipliers):
    document, values = each.document, {}
    for vector in document.reading.vectors.values():
        values[vector.name] = np.zeros(vector.gram.factor.shape[1])
    values |= {name: np.zeros(variable.shape) for name, variable in document.reading.variables.items()}
    for name, relation in document.solved.items():
        values[name] = solution(each, values, multipliers, name, relation)
    return values


def solution(each, values, multipliers, name, relation):
    """The value of a variable for which left = right, both affine in it, each entry by itself."""
    zero, one = (
        each.numbers.at({**values, **multipliers, name: np.full(np.shape(values[name]), end)}) for end in (0.0, 1.0)
    )
    if relation.sign == "in":
        loss = document_loss(each, relation)
        u, (argument,) = entries(each, zero, relation.left, name), relation.right.arguments
        step = 1e-6 * np.minimum(1.0, np.min(np.abs(u[:, None] - np.array(loss.conjugate_domain)), axis=1))
        slope = (loss.conjugate(u + step) - loss.conjugate(u - step)) / (2 * step)
        start, end = (entries(each, evaluation, argument, name) for evaluation in (zero, one))
        return ((slope - start) / (end - start)).reshape(np.shape(values[name]))
    start, end = (each.numbers.rows(evaluation, relation, name) for evaluation in (zero, one))
    return (-start / (end - start)).reshape(np.shape(values[name]))


def document_loss(each, relation):
    return each.document.write.losses[relation.right.function[2:]]


@pytest.mark.parametrize("name", NAMES)
def test_dual(name):
    each = case(name)
    rng = np.random.default_rng(4)
    draws = [dual_pairs(each.numbers, each.program, draw_multipliers(each.program, rng)) for _ in range(DRAWS)]
    wrong = [k for k, pairs in enumerate(zip(*draws, strict=True)) if not agree(pairs)]
    assert [(["objective"] + [line.about for line in each.document.dual_lines])[k] for k in wrong] == []
    assert printed_dual_agrees(each.document, each.program, each.constants)


@pytest.mark.parametrize("name", NAMES)
def test_elimination(name):
    """Where the equalities of the dual hold, it has the value of the Lagrangian with all multipliers, and that does not
    depend on the variables whose equalities were used up."""
    each, rng = case(name), np.random.default_rng(5)
    document, done = each.document, 0
    for _ in range(40):
        left = feasible(each, draw_multipliers(each.program, rng))
        evaluation = each.numbers.at(left)
        multipliers = dict(left)
        for eliminated, formula in document.eliminated.items():
            shape = document.raw.multipliers[eliminated].shape
            multipliers[eliminated] = entries(each, evaluation, formula, eliminated).reshape(shape)
        value = evaluation.value(document.dual_objective) * each.primal.sign
        if not np.isfinite(value):
            continue
        whole = each.numbers.at(multipliers).value(document.raw_objective)
        assert whole == pytest.approx(value, rel=DIFFERENCE, abs=DIFFERENCE)
        values = each.draw_primal(rng)
        for variable in document.raw.equalities:
            flat = gradient(each, values, multipliers, variable)
            np.testing.assert_allclose(flat, 0, atol=DIFFERENCE * max(1.0, abs(value)))
        done += 1
        if done == DRAWS:
            return
    pytest.fail("no multipliers with a finite value")


def feasible(each, multipliers):
    """The nearest multipliers that satisfy the printed equalities, which are affine."""
    lines = [line for line in each.document.dual_lines if line.relation.sign == "="]
    names = list(multipliers)
    start = np.concatenate([np.ravel(multipliers[name]) for name in names])

    def residuals(flat):
        split = np.split(flat, np.cumsum([np.size(multipliers[name]) for name in names])[:-1])
        at = {name: part.reshape(np.shape(multipliers[name])) for name, part in zip(names, split, strict=True)}
        evaluation = each.numbers.at(at)
        rows = [each.numbers.rows(evaluation, line.relation, line.about) for line in lines]
        return at, np.concatenate([*rows, np.zeros(0)])

    base = residuals(start)[1]
    if not base.size:
        return multipliers
    slopes = np.stack([residuals(start + step)[1] - base for step in np.eye(start.size)], axis=1)
    return residuals(start - np.linalg.pinv(slopes) @ base)[0]


def mutants(formula):
    """The formula with one number or one sign changed, at each place where that is possible."""
    if isinstance(formula, Name | Over):
        yield Product((Number(-1), formula))
    if isinstance(formula, Number):
        yield Number(formula.value + 1)
    for field in fields(formula):
        value = getattr(formula, field.name)
        parts = value if isinstance(value, tuple) else (value,)
        for k, part in enumerate(parts):
            if isinstance(part, Formula):
                for changed in mutants(part):
                    new = (*parts[:k], changed, *parts[k + 1 :])
                    yield replace(formula, **{field.name: new if isinstance(value, tuple) else changed})


@pytest.mark.parametrize(
    "name", ["SoftMargin", "NuRanking", "SoftHypersphere", "EpsilonInsensitive", "FisherDiscriminant"]
)
def test_a_changed_sign_or_number_is_found(name):
    each = of_class(MACHINES[name])
    document, objective, lines = each.document, each.document.dual_objective, each.document.dual_lines
    tried = 0
    for changed in mutants(objective):
        document.dual_objective = changed
        value = Numbers(document, each.constants).at
        if same(value, objective, changed, each):
            continue
        tried += 1
        assert not printed_dual_agrees(document, each.program, each.constants)
    document.dual_objective = objective
    for k, line in enumerate(lines):
        for changed in mutants(line.relation):
            document.dual_lines = [*lines[:k], replace(line, relation=changed), *lines[k + 1 :]]
            tried += not printed_dual_agrees(document, each.program, each.constants)
    document.dual_lines = lines
    assert tried > 8
    assert printed_dual_agrees(document, each.program, each.constants)


def same(at, objective, changed, each):
    """Whether the change leaves the value, as that of the sign of a square does."""
    multipliers = draw_multipliers(each.program, np.random.default_rng(6))
    evaluation = at(multipliers)
    return evaluation.value(objective) == pytest.approx(evaluation.value(changed), rel=1e-12)


def test_evaluation():
    y, b = {(0.0,): 1.0, (1.0,): 2.0, (2.0,): 2.0}, {(1.0,): 10.0, (2.0,): 20.0}
    images = {(0.0,): np.array([1.0, 0.0]), (1.0,): np.array([1.0, 1.0]), (2.0,): np.array([0.0, 2.0])}
    evaluation = Evaluation({"y": y, "b": b, "a": {(1.0,): 3.0}, "C": {(): 4.0}, "phi": images})
    i, own = ("i",), Name("b", ("y_i",))
    assert evaluation.value(Over(own, i)) == 50
    assert evaluation.value(Over(Product((Name("a", i), own)), i)) == 60
    assert evaluation.value(Over(Name("b", ("y_i - 1",)), i)) == 20
    assert evaluation.value(Over(Power(Over(Name("y", i), i, "y_i = j"), Number(2)), ("j",))) == 1 + 16
    assert evaluation.value(Over(Product((Words("[y_i > 1]"), Name("y", i))), i)) == 4
    assert evaluation.value(Over(Kernel("i", "j"), ("i", "j"))) == 2**2 + 3**2
    np.testing.assert_array_equal(evaluation.value(Over(Product((Name("y", i), Phi("i"))), i)), [3, 6])
    assert evaluation.value(Quotient(Sum((Name("C"), Number(2))), Number(3))) == 2
    with pytest.raises(Absent):
        evaluation.value(Name("a", i), {"i": 0.0})
