"""The formulas that a derivation prints, evaluated: they say what the programs compute, line by line."""

from copy import copy
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
from kopt.derive.pieces import Conjugate
from kopt.derive.printed import (
    Pair,
    agree,
    draw_both,
    draw_multipliers,
    dual_pairs,
    lagrangian,
    primal_pairs,
    printed_dual_agrees,
    printed_primal_agrees,
    set_primal,
)
from kopt.derive.reading import is_squared, read_program
from kopt.derive.simplify import simplified
from kopt.derive.trace import Ledger, TracingView, traced
from kopt.formulation import primal_of
from kopt.referee.instances import random_instances
from kopt.show.formula import Formula, Kernel, Name, Number, Over, Phi, Power, Product, Quotient, Relation, Sum, Words
from kopt.show.mathematics import text
from kopt.views import ExplicitView
from tests.derivations import DERIVED, InBall, TwoKernels

DRAWS = 3
# Central differences with this step, and slopes of conjugates, are known to 1e-7.
STEP = 1e-4
DIFFERENCE = 1e-6


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


def documented(primal, ledger, view=None):
    reading = read_program(primal, ledger, view)
    return Document(reading, raw_dual(reading), simplified(raw_dual(reading)))


def of_machine(formulation, sample, costs):
    """costs: their letter, nothing where they are all 1."""
    ledger = Ledger()
    view = TracingView(sample, ledger, costs)
    document = documented(primal_of(traced(formulation, ledger), view), ledger, view)
    program = document.dual.program(ExplicitView(sample))
    return Case(document, constants_of(formulation, sample, view.letters), program)


def of_class(cls, costs="price"):
    """On the instance with the most targets, so that sums over ranks have more than one term."""
    instances = list(random_instances(cls, 3, 0))
    targets = [0 if each.sample.y is None else len(np.unique(each.sample.y)) for each in instances]
    chosen = instances[int(np.argmax(targets))]
    sample = chosen.sample if costs else chosen.sample.relabelled(chosen.sample.y, costs=None)
    return of_machine(chosen.formulation, sample, costs)


def of_loss(loss, offset):
    machine = kopt.regularised_risk(loss, offset, cost=1.7)
    sample = next(random_instances(type(machine), 1, 0)).sample
    return of_machine(machine, sample, costs="c")


def of_program(primal):
    document = documented(primal, Ledger())
    return Case(document, {}, document.dual.program(None))


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
            cp.Minimize(cp.sum(cp.huber(z)) + 0.7 * cp.sum(cp.logistic(x)) + cp.huber(u, 0.3)),
            {"nu": A @ x + u == z, "mu": x <= 5},
        ),
    )
    yield "ball", kopt.Program(cp.Minimize(a @ z), {"lambda": cp.sum_squares(z) <= 2.3})
    yield "length", kopt.Program(cp.Minimize(cp.norm(x, 2) + 0.3 * cp.sum(z)), {"nu": A @ x - a <= z, "mu": z >= -1})


class Differences(kopt.Formulation):
    """Values of neighbours that are close: their differences are a matrix times the values."""

    task = kopt.Task.REGRESSION
    C: float = kopt.positive(default=1.3)

    def primal(self, s):
        w, xi = s.weight("w"), cp.Variable(s.n - 1, name="xi")
        price = 0.5 * w.norm_squared + self.C * cp.sum(xi)
        D = np.diff(np.eye(s.n), axis=0)
        return kopt.Program(cp.Minimize(price), {"alpha": D @ w.values <= xi, "mu": xi >= 0, "beta": w.values >= s.y})


class OneClassLogistic(kopt.Formulation):
    """A loss of the positive points, and another one of the negative points."""

    task = kopt.Task.CLASSIFICATION
    C: float = kopt.positive(default=1.3)

    def primal(self, s):
        positive, negative = np.flatnonzero(s.y > 0), np.flatnonzero(s.y < 0)
        w, t, u = s.weight("w"), cp.Variable(len(positive), name="t"), cp.Variable(len(negative), name="u")
        price = 0.5 * w.norm_squared + self.C * cp.sum(cp.logistic(-t)) + cp.sum(cp.huber(u, 0.3))
        return kopt.Program(cp.Minimize(price), {"alpha": w.values[positive] == t, "beta": w.values[negative] == u})


MACHINES = {cls.__name__: cls for cls in (*DERIVED, TwoKernels, InBall, Differences, OneClassLogistic)}
LOSSES = {
    f"{name} loss": cls
    for name in losses.__all__
    if isinstance(cls := getattr(losses, name), type) and hasattr(cls, "on")
}
PROGRAMS = dict(programs())


@cache
def case(name):
    if name in MACHINES:
        return of_class(MACHINES[name])
    if name in PROGRAMS:
        return of_program(PROGRAMS[name])
    loss, _, without = name.partition(" without")
    return of_loss(LOSSES[loss](), not without)


NAMES = [*MACHINES, *LOSSES, "Huber loss without offset", *PROGRAMS]


@pytest.mark.parametrize("name", NAMES)
def test_primal_and_lagrangian(name):
    each, rng = case(name), np.random.default_rng(1)
    draws = [primal_pairs(each.numbers, *draw_both(each.document, rng)) for _ in range(DRAWS)]
    lines = ["Lagrangian", "objective", *each.document.primal_relations]
    assert [line for line, *pairs in zip(lines, *draws, strict=True) if not agree(pairs)] == []
    assert printed_primal_agrees(each.document, each.constants)


@pytest.mark.parametrize("name", NAMES)
def test_complementarity(name):
    """Each condition is a multiplier, or the formula that it was eliminated by, times the residual."""
    each, rng, draws = case(name), np.random.default_rng(7), []
    document = each.document
    for _ in range(DRAWS):
        values, multipliers = draw_both(document, rng)
        set_primal(document, values)
        evaluation = each.numbers.at(values | multipliers)
        draws.append([])
        for constraint, relation in document.complementary.items():
            residual = np.atleast_1d(each.primal.cones[constraint].residual.value)
            multiplier = multiplier_of(each, evaluation, constraint, multipliers)
            draws[-1].append(Pair("=", each.numbers.rows(evaluation, relation, constraint), multiplier * residual))
    assert [name for name, *pairs in zip(document.complementary, *draws, strict=True) if not agree(pairs)] == []


def multiplier_of(each, evaluation, name, multipliers):
    eliminated = each.document.dual.eliminated.get(name)
    if eliminated is None or eliminated.form is None:
        return np.atleast_1d(multipliers[name])
    return entries(each, evaluation, each.document.eliminated[name], name)


def entries(each, evaluation, formula, name):
    """A formula for each entry of a name."""
    return each.numbers.rows(evaluation, Relation(formula, "=", Number(0)), name)


@pytest.mark.parametrize("name", NAMES)
def test_stationarity(name):
    """Where it is an equation, it is that the derivative of the Lagrangian in the variable vanishes."""
    each, rng = case(name), np.random.default_rng(2)
    found = []
    for _ in range(DRAWS):
        (values, multipliers), pairs = draw_both(each.document, rng), {}
        evaluation = each.numbers.at(values | multipliers)
        for variable, relation in each.document.stationary.items():
            if relation.sign == "=":
                rows = each.numbers.rows(evaluation, relation, variable)
                pairs[variable] = Pair("=", rows, gradient(each, values, multipliers, variable))
        found.append(pairs)
    wrong = [line for line in found[0] if not parallel([pairs[line] for pairs in found])]
    assert wrong == []


def gradient(each, values, multipliers, name):
    """Central differences."""
    base, found = np.atleast_1d(values[name]), []
    for k in range(base.size):
        step = STEP * np.eye(base.size)[k]
        ends = [(base + sign * step).reshape(np.shape(values[name])) for sign in (1, -1)]
        above, below = (lagrangian(each.document, values | {name: end}, multipliers) for end in ends)
        found.append((above - below) / (2 * STEP))
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
        assert printed == pytest.approx(lagrangian(each.document, values, multipliers), rel=DIFFERENCE, abs=DIFFERENCE)


def inside(each, rng):
    """Multipliers at which every conjugate is finite."""
    found = []
    for attempt in range(100):
        multipliers = {
            name: 0.9**attempt * rng.choice([-1, 1]) * rng.uniform(0.2, 1.0, m.shape)
            for name, m in each.document.raw.multipliers.items()
        }
        evaluation = each.numbers.at(multipliers)
        if all(in_domain(each, evaluation, name) for name in each.document.solved):
            found.append(multipliers)
        if len(found) == DRAWS:
            break
    assert len(found) == DRAWS
    return found


def in_domain(each, evaluation, name):
    piece = each.document.raw.pieces[name]
    if not isinstance(piece, Conjugate):
        return True
    lower, upper = piece.cost.loss.conjugate_domain
    u = entries(each, evaluation, each.document.write.form(piece.u), name)
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
    """The value of a variable for which left = right, both affine in it, each entry by itself; or by its conjugate."""
    zero, one = (
        each.numbers.at({**values, **multipliers, name: np.full(np.shape(values[name]), end)}) for end in (0.0, 1.0)
    )
    piece = each.document.raw.pieces[name]
    if isinstance(piece, Conjugate) and not is_squared(piece.cost):
        loss, u = piece.cost.loss, entries(each, zero, each.document.write.form(piece.u), name)
        step = 1e-6 * np.minimum(1.0, np.min(np.abs(u[:, None] - np.array(loss.conjugate_domain)), axis=1))
        slope = (loss.conjugate(u + step) - loss.conjugate(u - step)) / (2 * step)
        return ((slope - piece.cost.shift) / piece.cost.slope).reshape(np.shape(values[name]))
    start, end = (each.numbers.rows(evaluation, relation, name) for evaluation in (zero, one))
    return (-start / (end - start)).reshape(np.shape(values[name]))


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
        try:
            value = evaluation.value(document.dual_objective) * each.primal.sign
        except ValueError:  # the logarithm of a negative number, where the conjugate is infinite
            continue
        if not np.isfinite(value):
            continue
        whole = each.numbers.at(multipliers).value(document.raw_objective)
        assert whole == pytest.approx(value, rel=DIFFERENCE, abs=DIFFERENCE)
        values, _ = draw_both(document, rng)
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
    if not lines:
        return multipliers
    names = list(multipliers)
    start = np.concatenate([np.ravel(multipliers[name]) for name in names])

    def residuals(flat):
        split = np.split(flat, np.cumsum([np.size(multipliers[name]) for name in names])[:-1])
        at = {name: part.reshape(np.shape(multipliers[name])) for name, part in zip(names, split, strict=True)}
        evaluation = each.numbers.at(at)
        return at, np.concatenate([each.numbers.rows(evaluation, line.relation, line.about) for line in lines])

    base = residuals(start)[1]
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


# The changed formulas that say the same: an equality times -1, the square of a negative number.
HARMLESS = {
    "SoftMargin": ["-sum_i y_i alpha_i = 0", "sum_i (-y_i alpha_i) = 0", "sum_i (-y_i alpha_i) = 0"],
    "NuRanking": [],
    "FisherDiscriminant": [
        "ridge/2 <w, w> + 1/2 sum_i D_i (-xi_i)^2 - sum_i D_i y_i (m_(y_i) + xi_i)"
        " + sum_i alpha_i (m_(y_i) - <w, phi(x_i)> + xi_i)"
    ],
}


@pytest.mark.parametrize("name", HARMLESS)
def test_a_changed_sign_or_number_is_found(name):
    each = of_class(MACHINES[name], costs="")
    document, tried, missed = copy(each.document), 0, []
    for attribute, whole, changed in changes(each.document):
        before, tried = getattr(document, attribute), tried + 1
        setattr(document, attribute, whole)
        if printed_dual_agrees(document, each.program, each.constants) and printed_primal_agrees(
            document, each.constants
        ):
            missed.append(text(changed))
        setattr(document, attribute, before)
    assert tried > 40
    assert missed == HARMLESS[name]


def changes(document):
    """(attribute of the document, with one formula in it changed, that formula)."""
    for attribute in ("dual_objective", "lagrangian_formula"):
        for changed in mutants(getattr(document, attribute)):
            yield attribute, changed, changed
    for k, line in enumerate(document.dual_lines):
        for changed in mutants(line.relation):
            lines = [*document.dual_lines[:k], replace(line, relation=changed), *document.dual_lines[k + 1 :]]
            yield "dual_lines", lines, changed
    for name, relation in document.primal_relations.items():
        for changed in mutants(relation):
            yield "primal_relations", {**document.primal_relations, name: changed}, changed


def test_evaluation():
    y, b = {(1.0,): 1.0, (2.0,): 2.0, (3.0,): 2.0}, {(1.0,): 10.0, (2.0,): 20.0}
    images = {(1.0,): np.array([1.0, 0.0]), (2.0,): np.array([1.0, 1.0]), (3.0,): np.array([0.0, 2.0])}
    evaluation = Evaluation({"y": y, "b": b, "a": {(2.0,): 3.0}, "C": {(): 4.0}, "phi": images})
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
        evaluation.value(Name("a", i), {"i": 1.0})


def section(name, title):
    [found] = [each for each in case(name).document.sections if each.title.startswith(title)]
    return found


def test_each_loss_has_a_name_of_its_own():
    where, primal = section("two losses", "Where").text(), section("two losses", "Primal").text()
    assert "loss1(z_i)" in primal
    assert "loss2(u)" in primal
    assert "loss1(t) = " in where
    assert "loss2(t) = " in where


def test_numbers_in_brackets_are_added_up():
    assert "(-epsilon + t[0]_i)" not in section("SquaredEpsilonInsensitive loss", "Primal").text()
    assert "(t[0]_i - epsilon)_+^2" in section("SquaredEpsilonInsensitive loss", "Primal").text()
    assert "epsilon sum_i (alpha[0]_i - alpha[1]_i)" in section("SquaredEpsilonInsensitive loss", "Dual").text()


def test_names_that_some_points_do_not_have_are_explained():
    assert section("NuRanking", "Where").text().splitlines()[1:] == [
        "  xi_l_i, alpha_l_i, mu_l_i: for the points with y_i != max_j y_j",
        "  xi_u_i, alpha_u_i, mu_u_i: for the points with y_i != min_j y_j",
    ]


def test_signs_of_multipliers_are_in_both_dialects():
    lagrangian = section("SoftMargin", "Lagrangian")
    assert lagrangian.text().endswith("with alpha_i, mu_i >= 0")
    assert r"\text{with }\alpha_i, \mu_i \ge 0" in lagrangian.latex()


@pytest.mark.parametrize("name", NAMES)
def test_recovery_solves_for_variables(name):
    """A subdifferential in it is that of a conjugate, which the multipliers are put into."""
    lines = [line for line in section(name, "Recovery").text().splitlines() if " in d " in line]
    assert [line for line in lines if "*(" not in line] == []
