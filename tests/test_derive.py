"""Derived duals against declared ones, against plain CVXPY, on the way from a primal to a prediction, and typeset."""

import re
from dataclasses import replace
from functools import cache

import cvxpy as cp
import numpy as np
import pytest

import kopt
from kopt import CannotDerive, Formulation, Program, Sample, Task
from kopt.derive import derivation as derivation_module
from kopt.derive.derivation import OF_ONE_SAMPLE, Unconfirmed, raw_dual
from kopt.derive.monomial import Monomial
from kopt.derive.writing import Writing
from kopt.kernels import Gaussian, Linear
from kopt.referee import Judgement, referee
from kopt.show.formula import Number, Product, Relation, Sum
from kopt.views import ExplicitView, ProductView
from tests.derivations import (
    DERIVED,
    NEWCOMERS,
    NOT_DERIVED,
    HuberWithPricedOffset,
    TwoKernels,
    as_typed,
    between_dollars,
    derivation,
    displayed,
    section,
)
from tests.instances import BY_NAME, data, draw_parameters, instance, parameters
from tests.mathjax import errors
from tests.tolerances import CERTIFIED, DIFFERENT, VALUE

# One matrix product against another, at a point that a solver made feasible to 1e-9.
SAME = 1e-7


every_class = pytest.mark.parametrize("cls", DERIVED, ids=lambda cls: cls.__name__)
every_derivation = pytest.mark.parametrize("cls", [*DERIVED, *NEWCOMERS], ids=lambda cls: cls.__name__)


@pytest.mark.parametrize("name", NOT_DERIVED)
def test_what_is_not_derived_has_a_reason(name):
    with pytest.raises(CannotDerive, match=re.escape(NOT_DERIVED[name])):
        derivation(BY_NAME[name])


@cache
def pair(name: str) -> tuple[Program, Program]:
    """The declared and the derived dual on one sample, with costs per point where the machine uses them."""
    given = instance(name, "sum", 1)
    derived = derivation(BY_NAME[name]).machine(**parameters(given.formulation))
    return given.formulation.dual(ExplicitView(given.sample)), derived.dual(ExplicitView(given.sample))


def constraints(program: Program) -> list[cp.Constraint]:
    return [*program.constraints.values(), *program.domain]


def rows(program: Program) -> int:
    return sum(int(constraint.size) for constraint in constraints(program))


def violation(program: Program) -> float:
    """The largest violation of any row at the present values."""
    return max((float(np.max(constraint.violation())) for constraint in constraints(program)), default=0.0)


def move(program: Program, point: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Project a point to the feasible set, and leave the program's variables there."""
    variables = program.variables
    distance = sum(cp.sum_squares(v - point[name]) for name, v in variables.items())
    problem = cp.Problem(cp.Minimize(distance), constraints(program))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert problem.status == cp.OPTIMAL
    return multipliers(program)


def multipliers(program: Program) -> dict[str, np.ndarray]:
    """Every multiplier of the primal at the present values: the variables, and what is an expression of them."""
    known = {**program.variables, **program.multipliers}
    return {name: np.asarray(expression.value) for name, expression in known.items()}


def put(program: Program, point: dict[str, np.ndarray]) -> None:
    for name, variable in program.variables.items():
        variable.value = point[name]


def random_points(program: Program, rng: np.random.Generator) -> list[dict[str, np.ndarray]]:
    """Points near the origin, and so far from it that their projections lie on the boundary."""
    return [{n: scale * rng.standard_normal(v.shape) for n, v in program.variables.items()} for scale in (0.03, 1, 20)]


def assert_agree_at(point: dict[str, np.ndarray], one: Program, other: Program) -> None:
    """At a point that is feasible for one program, the other says the same."""
    put(other, point)
    scale = 1 + max(float(np.max(np.abs(value))) for value in point.values())
    assert violation(other) <= SAME * scale
    assert other.objective.value == pytest.approx(one.objective.value, rel=SAME, abs=SAME * scale)
    for name, value in multipliers(other).items():
        if name in point:
            np.testing.assert_allclose(value, point[name], rtol=SAME, atol=SAME * scale)


class TestDeclaredAndDerived:
    """The derived dual of every machine of the library is its declared one."""

    @every_class
    def test_the_referee_calls_the_derived_dual_exact(self, cls):
        derived = derivation(cls)
        assert derived.verdict.judgement is Judgement.EXACT
        assert derived.machine.dual is not cls.dual

    @every_class
    def test_feasible_sets_values_and_multipliers_are_the_same(self, cls):
        declared, derived = pair(cls.__name__)
        rng = np.random.default_rng(5)
        for one, other in ((declared, derived), (derived, declared)):
            for start in random_points(one, rng):
                assert_agree_at(move(one, start), one, other)

    @every_class
    def test_constraints_are_named_after_the_same_variables(self, cls):
        declared, derived = pair(cls.__name__)
        assert set(declared.constraints) == set(derived.constraints)
        assert declared.sign == derived.sign

    @pytest.mark.parametrize("name", [cls.__name__ for cls in DERIVED if cls.__name__ != "ParzenClassifier"])
    def test_the_multipliers_that_are_left_are_those_of_the_declaration(self, name):
        declared, derived = pair(name)
        assert {n: v.shape for n, v in declared.variables.items()} == {n: v.shape for n, v in derived.variables.items()}

    # The declared dual of the centre of mass leaves out alpha >= 0, which alpha = 1/l implies.
    @pytest.mark.parametrize("name", [cls.__name__ for cls in DERIVED if cls.__name__ != "CentreOfMass"])
    def test_there_are_as_many_rows(self, name):
        declared, derived = pair(name)
        assert rows(declared) == rows(derived)

    @pytest.mark.parametrize("lost", ["b", "xi", "domain"])
    def test_a_dual_that_lacks_a_constraint_is_told_apart(self, lost):
        declared, derived = pair("SoftMargin")
        kept = {name: each for name, each in derived.constraints.items() if name != lost}
        weaker = Program(derived.objective, kept, domain=() if lost == "domain" else derived.domain)
        start = random_points(weaker, np.random.default_rng(5))[-1]
        with pytest.raises(AssertionError):
            assert_agree_at(move(weaker, start), weaker, declared)

    def test_a_dual_with_a_wrong_factor_is_told_apart(self):
        declared, derived = pair("Ridge")
        scaled = Program(cp.Maximize(derived.objective.expr * (1 + DIFFERENT)))
        with pytest.raises(AssertionError):
            assert_agree_at(move(scaled, random_points(scaled, np.random.default_rng(5))[1]), scaled, declared)

    @pytest.mark.parametrize("name", ["SoftMargin", "NuRegression", "OrderedNuRanking", "SoftHypersphere"])
    def test_the_derived_dual_is_the_same_through_products_by_the_kernel_matrix(self, name):
        given = instance(name, "sum", 1)
        derived = derivation(BY_NAME[name]).machine(**parameters(given.formulation))
        declared, _ = pair(name)
        point = move(declared, random_points(declared, np.random.default_rng(5))[1])
        view = ProductView(given.sample)
        seen = derived.dual(view)
        view.bind(seen.variables, point)
        assert seen.objective.value == pytest.approx(declared.objective.value, rel=SAME)
        assert violation(seen) <= SAME


class TestTypeset:
    """Every formula of every derivation goes through MathJax, as in a notebook."""

    @every_derivation
    def test_every_section_is_typeset(self, cls):
        mistakes = {title: errors(formula) for title, formula in derivation(cls).formulas.items()}
        assert {title: found for title, found in mistakes.items() if found} == {}

    @every_derivation
    def test_the_fragment_and_the_notebook_show_the_same_formulas(self, cls):
        derived = derivation(cls)
        assert displayed(derived.latex()) == list(derived.formulas.values())
        assert between_dollars(derived._repr_markdown_()) == list(derived.formulas.values())

    @every_derivation
    def test_nothing_is_left_as_plain_text(self, cls):
        assert {title: as_typed(f) for title, f in derivation(cls).formulas.items() if as_typed(f)} == {}


@every_derivation
def test_the_formulas_hold_on_other_samples(cls):
    assert "Note" not in derivation(cls).formulas


def sample_for(cls: type[Formulation], n: int, seed: int) -> Sample:
    rng = np.random.default_rng(seed)
    X, y = data(cls.task, n, 1.0, rng)
    two = {"smooth": Linear(), "rough": Gaussian(sigma=1.3)}
    kernel = two if cls is TwoKernels else Gaussian(sigma=1.3)
    return Sample(X, y, kernel=kernel, costs=rng.uniform(0.4, 2.5, n))


def plain_value(problem: cp.Problem) -> float:
    problem.solve(solver=cp.CLARABEL)
    assert problem.status == cp.OPTIMAL
    return float(problem.value)


class TestFromPrimalToPrediction:
    """Machines that stand in no text, declared by their primal alone."""

    @pytest.mark.parametrize("cls", NEWCOMERS, ids=lambda cls: cls.__name__)
    def test_the_whole_way(self, cls):
        sample = sample_for(cls, 19, 2)
        machine = draw_parameters(derivation(cls).machine, np.random.default_rng(7))
        assert cls(**parameters(machine)).dual(ExplicitView(sample)) is None
        solution = kopt.solve(machine, sample, side="dual")
        assert solution.certificate.holds(CERTIFIED)
        optimum = plain_value(cls(**parameters(machine)).problem(sample, "primal"))
        assert solution.value == pytest.approx(optimum, rel=VALUE, abs=VALUE)
        new = data(cls.task, 5, 1.0, np.random.default_rng(3))[0]
        by_primal = kopt.solve(cls(**parameters(machine)), sample, side="primal")
        np.testing.assert_allclose(solution.decision_function(new), by_primal.decision_function(new), atol=1e-3)
        assert solution.predict(new).shape == (5,)

    def test_an_instance_keeps_its_parameters(self):
        machine = NEWCOMERS[0](C=3.0, tau=0.2)
        derived = kopt.derive(machine, instances=1)
        assert (derived.machine.C, derived.machine.tau) == (3.0, 0.2)
        sample = sample_for(NEWCOMERS[0], 9, 1)
        assert plain_value(derived.program(sample).problem()) == pytest.approx(
            plain_value(machine.problem(sample, "primal")), rel=VALUE
        )

    def test_a_program_on_a_sample_needs_both(self):
        with pytest.raises(kopt.InputError, match=r"given as a class.* Derive Quantile\(\.\.\.\)"):
            derivation(NEWCOMERS[0]).program(sample_for(NEWCOMERS[0], 9, 1))
        with pytest.raises(kopt.InputError, match=r"needs a sample.*derivation\.program\(sample\)"):
            derivation(NEWCOMERS[0]).program()

    def test_the_dual_of_a_quantile_machine_reads_as_in_a_book(self):
        assert section(derivation(NEWCOMERS[0]), "Dual") == [
            "max   sum_i y_i (alpha_i - beta_i) - 1/2 sum_ij (alpha_i - beta_i) (alpha_j - beta_j) k(x_i, x_j)",
            "s.t.  sum_i (alpha_i - beta_i) = 0  : b",
            "      alpha_i <= tau C              : above_i",
            "      beta_i <= (1 - tau) C         : below_i",
            "      alpha_i, beta_i >= 0",
        ]


ONE_POINT = Sample([[2.0]], [1.5])
SAME_POINT = Sample([[0.5], [0.5], [0.5], [0.5]], [1.0, 1, -1, -1])
ONE_CLASS = Sample([[0.5], [1.5], [-1.0]], [1.0, 1, 1])
NOTHING = Sample.from_gram(np.zeros((4, 4)), [1.0, 1, -1, -1])
TWICE = Sample([[0.5], [0.5], [2.0], [2.0], [3.0]], [1.0, -1, -1, -1, 1])
TARGETS = Sample([[0.5], [0.5], [2.0]], [3.0, 3.0, 3.0])
DEGENERATE = [
    ("SoftMarginWithoutOffset", ONE_CLASS),
    ("SoftMargin", ONE_CLASS),
    ("TwoNormSoftMargin", ONE_CLASS),
    ("SoftMargin", SAME_POINT),
    ("SoftMargin", NOTHING),
    ("SoftMargin", TWICE),
    ("TwoNormSoftMargin", NOTHING),
    ("TwoNormSoftMargin", TWICE),
    ("LogisticRegression", NOTHING),
    ("UnitSoftMargin", NOTHING),
    ("Hypersphere", ONE_POINT),
    ("Hypersphere", TWICE),
    ("SoftHypersphere", NOTHING),
    ("OneClass", ONE_POINT),
    ("Ridge", ONE_POINT),
    ("RidgeInBall", NOTHING),
    ("RidgeWithOffset", ONE_POINT),
    ("EpsilonInsensitive", ONE_POINT),
    ("EpsilonInsensitive", TARGETS),
    ("NuRegression", TARGETS),
]


class TestDegenerate:
    """Samples on which something vanishes: the derived dual has the value of the plain primal."""

    @pytest.mark.parametrize(("name", "sample"), DEGENERATE)
    def test_values_agree(self, name, sample):
        cls = BY_NAME[name]
        dual = plain_value(derivation(cls).machine().problem(sample, "dual"))
        assert dual == pytest.approx(plain_value(cls().problem(sample, "primal")), rel=VALUE, abs=VALUE)

    def test_a_single_point_by_hand(self):
        derived = derivation(BY_NAME["Ridge"]).machine(ridge=0.5)
        solution = kopt.solve(derived, ONE_POINT, side="dual")
        assert solution.value == pytest.approx(0.5 * 1.5**2 / (4 + 0.5), rel=VALUE)


RNG = np.random.default_rng(11)
A = RNG.standard_normal((3, 5))
B = A @ np.array([1.0, -0.5, 0.0, 2.0, 0.3])


def x_of(size: int, name: str = "x") -> cp.Variable:
    return cp.Variable(size, name=name)


def least_norm() -> Program:
    x = x_of(5)
    return Program(cp.Minimize(0.5 * cp.sum_squares(x)), {"nu": A @ x == B})


def basis_pursuit() -> Program:
    x = x_of(5)
    return Program(cp.Minimize(cp.norm1(x)), {"nu": A @ x == B})


def least_length() -> Program:
    x = x_of(5)
    return Program(cp.Minimize(cp.norm(x, 2)), {"nu": A @ x == B})


def linear_program() -> Program:
    x = x_of(5)
    return Program(cp.Minimize(np.arange(1.0, 6.0) @ x), {"p": np.abs(A) @ x >= np.ones(3), "q": x >= 0})


def greatest_linear_program() -> Program:
    x = x_of(5)
    return Program(cp.Maximize(np.arange(1.0, 6.0) @ x), {"p": np.abs(A) @ x <= np.ones(3), "q": x >= 0})


CORNER = np.array([-1.0, 0.2, 0.5, 3.0, 0.9])


def nearest_in_box() -> Program:
    x = x_of(5)
    return Program(cp.Minimize(0.5 * cp.sum_squares(x - CORNER)), {"p": x >= 0, "q": x <= 1})


def linear_on_ball() -> Program:
    x = x_of(5)
    return Program(cp.Minimize(CORNER @ x), {"lambda": cp.sum_squares(x) <= 4, "p": x >= 0})


def linear_in_length() -> Program:
    x = x_of(5)
    return Program(cp.Minimize(CORNER @ x), {"lambda": cp.norm(x, 2) <= 3, "p": x >= 0})


def closed_forms() -> dict:
    """Each program with its value by other means than its dual."""
    inside = np.clip(CORNER, 0, 1)
    half = 0.5 * B @ np.linalg.solve(A @ A.T, B)
    return {
        least_norm: half,
        least_length: np.sqrt(2 * half),
        nearest_in_box: 0.5 * np.sum((inside - CORNER) ** 2),
        linear_on_ball: -2 * np.linalg.norm(np.minimum(CORNER, 0)),
    }


PROGRAMS = [*closed_forms(), basis_pursuit, linear_program, greatest_linear_program]
every_program = pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)


def numbered(program: Program) -> dict[str, np.ndarray]:
    """Values for the variables of a program, to be found again."""
    return {name: np.arange(1.0, v.size + 1) for name, v in program.variables.items()}


@cache
def of_program(make) -> tuple[Program, kopt.Derivation]:
    """A program whose variables have values, and its derivation."""
    program = make()
    put(program, numbered(program))
    return program, kopt.derive(program, instances=1)


class TestPrograms:
    """Programs without a sample."""

    @every_program
    def test_primal_and_dual_have_the_same_value(self, make):
        _, derived = of_program(make)
        assert derived.machine is None
        assert plain_value(derived.program().problem()) == pytest.approx(plain_value(make().problem()), rel=VALUE)

    @pytest.mark.parametrize("make", closed_forms(), ids=lambda make: make.__name__)
    def test_the_value_is_the_closed_form(self, make):
        value = plain_value(of_program(make)[1].program().problem())
        assert value == pytest.approx(closed_forms()[make], rel=VALUE)

    def test_a_ball_of_a_plain_variable(self):
        value = plain_value(kopt.derive(linear_in_length(), instances=1).program().problem())
        assert value == pytest.approx(-3 * np.linalg.norm(np.minimum(CORNER, 0)), rel=VALUE)

    def test_a_ball_alone(self):
        x = x_of(5)
        program = Program(cp.Minimize(CORNER @ x), {"lambda": cp.sum_squares(x) <= 4})
        value = plain_value(kopt.derive(program, instances=1).program().problem())
        assert value == pytest.approx(-2 * np.linalg.norm(CORNER), rel=VALUE)

    def test_the_dual_of_basis_pursuit_bounds_the_correlations(self):
        dual = of_program(basis_pursuit)[1].program()
        dual.problem().solve(solver=cp.CLARABEL)
        assert np.max(np.abs(A.T @ dual.variables["nu"].value)) == pytest.approx(1, abs=1e-6)

    def test_the_dual_of_a_linear_program_has_no_multiplier_of_the_signs(self):
        dual = of_program(linear_program)[1].program()
        assert list(dual.variables) == ["p"]
        assert list(dual.constraints) == ["x"]

    @every_program
    def test_the_values_of_the_variables_stay_as_they_were(self, make):
        program, _ = of_program(make)
        for name, value in numbered(program).items():
            np.testing.assert_array_equal(program.variables[name].value, value)

    def test_variables_without_values_stay_without(self):
        program = least_norm()
        kopt.derive(program, instances=1)
        assert program.variables["x"].value is None


def primal_only(primal, task: Task = Task.CLASSIFICATION) -> type[Formulation]:
    """A machine from the function that states its primal."""
    return type("Given", (Formulation,), {"primal": primal, "task": task, "__module__": __name__})


def slacks(s) -> tuple[cp.Variable, dict[str, cp.Constraint]]:
    xi = cp.Variable(s.n, name="xi")
    return xi, {"mu": xi >= 0}


def difference_of_vectors(self, s):
    w, v, (xi, signs) = s.weight("w"), s.weight("v"), slacks(s)
    return Program(
        cp.Minimize(0.5 * (w - v).norm_squared + 0.3 * v.norm_squared + cp.sum(xi)),
        {"alpha": cp.multiply(s.y, w.values) >= 1 - xi, **signs},
    )


def difference_renamed(self, s):
    """The same machine in u = w - v, as the refusal advises."""
    u, v, (xi, signs) = s.weight("u"), s.weight("v"), slacks(s)
    return Program(
        cp.Minimize(0.5 * u.norm_squared + 0.3 * v.norm_squared + cp.sum(xi)),
        {"alpha": cp.multiply(s.y, u.values + v.values) >= 1 - xi, **signs},
    )


def loss_of_the_values(self, s):
    w = s.weight("w")
    return Program(cp.Minimize(0.5 * w.norm_squared + cp.sum(cp.logistic(-cp.multiply(s.y, w.values)))))


def loss_of_balanced_values(self, s):
    w = s.weight("w")
    loss = cp.sum(cp.logistic(-cp.multiply(s.y, w.values)))
    return Program(cp.Minimize(0.5 * w.norm_squared + loss), {"kappa": cp.sum(w.values) == 0})


def loss_of_a_variable(self, s):
    """The same machine with a variable of its own in the loss, as the refusal advises."""
    w, m = s.weight("w"), cp.Variable(s.n, name="m")
    return Program(
        cp.Minimize(0.5 * w.norm_squared + cp.sum(cp.logistic(-m))), {"alpha": m == cp.multiply(s.y, w.values)}
    )


def hinge_of_two(self, s):
    w, b = s.weight("w"), cp.Variable(name="b")
    return Program(cp.Minimize(0.5 * w.norm_squared + cp.sum(cp.pos(1 - cp.multiply(s.y, w.values + b)))))


def both_norms(self, s):
    w, (xi, signs) = s.weight("w"), slacks(s)
    return Program(
        cp.Minimize(0.5 * w.norm_squared + w.norm + cp.sum(xi)),
        {"alpha": cp.multiply(s.y, w.values) >= 1 - xi, **signs},
    )


def several_outputs(self, s):
    w = s.weight("w", outputs=2)
    return Program(cp.Minimize(w.norm_squared), {"alpha": w.values >= 1})


def offset_called_l(self, s):
    w, b, (xi, signs) = s.weight("w"), cp.Variable(name="l"), slacks(s)
    return Program(
        cp.Minimize(0.5 * w.norm_squared + cp.sum(xi) / s.n),
        {"alpha": cp.multiply(s.y, w.values + b) >= 1 - xi, **signs},
    )


class AlphaTwice(Formulation):
    """A parameter with the name of a multiplier."""

    task = Task.CLASSIFICATION
    alpha: float = kopt.positive(default=1.3)

    def primal(self, s):
        w, (xi, signs) = s.weight("w"), slacks(s)
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.alpha * cp.sum(xi)),
            {"alpha": cp.multiply(s.y, w.values) >= 1 - xi, **signs},
        )


class SlackTwice(Formulation):
    """A parameter with the name of a variable."""

    task = Task.CLASSIFICATION
    xi: float = kopt.positive(default=1.3)

    def primal(self, s):
        w, (xi, signs) = s.weight("w"), slacks(s)
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.xi * cp.sum(xi)),
            {"alpha": cp.multiply(s.y, w.values) >= 1 - xi, **signs},
        )


def with_rows(objective, **more: cp.Constraint) -> Program:
    """A program with the rows A x = B beside others."""
    [x] = [v for v in objective.variables() if v.name() == "x"]
    return Program(cp.Minimize(objective), {"nu": A @ x == B, **more})


X, V, T = x_of(5), x_of(5, "v"), cp.Variable(name="t")
MATRIX, SYMMETRIC = cp.Variable((2, 2), name="M"), cp.Variable((2, 2), name="M", symmetric=True)
SPREAD = np.eye(5) + 0.1
NEW_VARIABLE = "a variable of its own, with its defining constraint"
KNOWN = "squares, powers, absolute values, positive parts, logistic, exp"

# What is given, what the message must name (the variables, the term), and the form that it must ask for.
REFUSED = {
    "mixed variables": (with_rows(cp.sum_squares(X - V)), ["sum_squares(x - v)", "x, v"], NEW_VARIABLE),
    "mixed with a scalar": (with_rows(cp.sum(cp.logistic(X - T))), ["sum(logistic(x - t))", "x, t"], NEW_VARIABLE),
    "unknown atom": (with_rows(-cp.sum(cp.entr(X))), ["sum(entr(x))", "in x"], KNOWN),
    "unknown norm": (with_rows(cp.norm_inf(X)), ["norm_inf(x)", "in x"], KNOWN),
    "quadratic form": (with_rows(cp.quad_form(X, SPREAD)), ["QuadForm(x", "in x"], KNOWN),
    "several curved terms": (with_rows(cp.sum_squares(X) + cp.norm1(X)), ["variable x"], "one curved term"),
    "image of a variable": (
        Program(cp.Minimize(cp.sum_squares(A @ X - B)), {"q": X >= 0}),
        ["sum_squares(", "@ x", "entries of x"],
        "a new variable with its defining equality",
    ),
    "curved rows": (with_rows(cp.sum(X), q=cp.square(X) <= 4), ["'q'"], "a single row, or affine rows"),
    "shifted ball": (with_rows(cp.sum(X), q=cp.sum_squares(X - 1) <= 9), ["'q'", "in x"], "cp.sum_squares(x)"),
    "second-order cone": (with_rows(cp.sum(X) + T, q=cp.SOC(T, X)), ["'q'", "SecondOrder cone"], "<= or =="),
    "semidefinite cone": (
        Program(cp.Minimize(cp.trace(SYMMETRIC)), {"S": SYMMETRIC >> np.eye(2)}),
        ["'S'", "Semidefinite cone"],
        "<= or ==",
    ),
    "difference of vectors": (
        primal_only(difference_of_vectors),
        ["w", "v", "sum of others"],
        "the values of each vector, and each norm by itself",
    ),
    "loss of the values": (primal_only(loss_of_balanced_values), ["vector w", "values"], "a variable of its own"),
    "no constraint": (primal_only(loss_of_the_values), ["has no constraint"], "with its defining constraint"),
    "no constraint, no sample": (Program(cp.Minimize(cp.sum_squares(X - 1))), ["no multipliers"], "constraint"),
    "a matrix": (Program(cp.Minimize(cp.sum(MATRIX)), {"a": MATRIX >= 1}), ["M is a matrix"], "scalars and vectors"),
    "squares of a matrix": (
        Program(cp.Minimize(cp.sum_squares(MATRIX)), {"a": MATRIX >= 1}),
        ["M is a matrix"],
        "scalars and vectors",
    ),
    "several outputs": (
        primal_only(several_outputs),
        ["the vector w has several outputs"],
        "one weight vector for each",
    ),
    "multiplier like a parameter": (AlphaTwice, ["'alpha'", "a multiplier and of a parameter"], "another name"),
    "variable like a parameter": (SlackTwice, ["'xi'", "a variable or"], "another name"),
    "variable like the size": (primal_only(offset_called_l), ["'l'", "the number of points"], "another name"),
    "loss of values and offset": (primal_only(hinge_of_two), ["w, b", "maximum(1 -"], NEW_VARIABLE),
    "norm and square": (primal_only(both_norms), ["norm of w and its square"], "one of the two"),
    "a weight of zero": (with_rows(np.array([0.0, 1, 1, 1, 1]) @ cp.square(X)), ["@ x^2"], "positive weights"),
}


class TestRefusals:
    """What is not derived is refused by name, and nothing is printed."""

    @pytest.mark.parametrize("case", REFUSED)
    def test_the_message_names_what_is_in_the_way_and_what_would_do(self, case, capfd):
        given, names, form = REFUSED[case]
        with pytest.raises(CannotDerive) as refusal:
            kopt.derive(given)
        what, _, needed = str(refusal.value).partition(" It would need ")
        assert what.startswith("No dual is derived: ")
        assert [name for name in names if name not in what] == []
        assert form in needed
        assert capfd.readouterr() == ("", "")

    @pytest.mark.parametrize(
        ("case", "terms"),
        [
            ("curved rows", ["x^2"]),
            ("several curved terms", ["sum_squares(x)", "norm1(x)"]),
            ("shifted ball", ["sum_squares(x - 1)"]),
            ("loss of the values", ["logistic("]),
            ("no constraint", ["logistic("]),
        ],
    )
    def test_the_message_names_the_term(self, case, terms):
        with pytest.raises(CannotDerive) as refusal:
            kopt.derive(REFUSED[case][0])
        assert [term for term in terms if term not in str(refusal.value)] == []

    @pytest.mark.parametrize("name", NOT_DERIVED)
    def test_machines_of_the_library_that_are_not_derived(self, name):
        with pytest.raises(CannotDerive, match=re.escape(NOT_DERIVED[name])):
            kopt.derive(BY_NAME[name])

    def test_a_symmetric_matrix_is_refused_as_one(self):
        with pytest.raises(CannotDerive, match="the variable M is a matrix"):
            kopt.derive(Program(cp.Minimize(cp.sum(SYMMETRIC)), {"a": SYMMETRIC >= 1}))

    @pytest.mark.parametrize(
        ("refused", "advised"), [(difference_of_vectors, difference_renamed), (loss_of_the_values, loss_of_a_variable)]
    )
    def test_a_machine_rewritten_as_advised_is_derived(self, refused, advised):
        sample = sample_for(BY_NAME["SoftMargin"], 11, 4).relabelled(sample_for(BY_NAME["SoftMargin"], 11, 4).y, None)
        derived = kopt.derive(primal_only(advised)(), instances=1)
        optimum = plain_value(primal_only(refused)().problem(sample, "primal"))
        assert plain_value(derived.program(sample).problem()) == pytest.approx(optimum, rel=VALUE)

    def test_a_program_rewritten_as_advised_is_derived(self):
        r = x_of(3, "r")
        advised = Program(cp.Minimize(cp.sum_squares(r)), {"nu": r == A @ X - B - 1, "q": X >= 0})
        optimum = plain_value(cp.Problem(cp.Minimize(cp.sum_squares(A @ X - B - 1)), [X >= 0]))
        assert plain_value(kopt.derive(advised).program().problem()) == pytest.approx(optimum, rel=VALUE, abs=VALUE)

    @pytest.mark.parametrize("given", [3, "SoftMargin", Formulation, None, Sample([[1.0]])])
    def test_what_declares_no_primal_is_refused(self, given):
        with pytest.raises(kopt.InputError, match=r"declares no primal\. Give a subclass of kopt\.Formulation"):
            kopt.derive(given)

    def test_a_derivation_that_the_referee_does_not_confirm_is_not_returned(self, monkeypatch, capfd):
        def doubled(reading):
            dual = raw_dual(reading)
            dual.linear = dual.linear.scaled(Monomial.constant(2.0), 2.0)
            return dual

        monkeypatch.setattr(derivation_module, "raw_dual", doubled)
        with pytest.raises(Unconfirmed, match=r"The referee calls the derived dual (wrong|scaled), not exact"):
            kopt.derive(BY_NAME["SoftMargin"], instances=1)
        assert capfd.readouterr() == ("", "")

    @pytest.mark.parametrize("written", ["bound", "dual_objective", "priced", "relation"])
    def test_a_wrong_sign_in_print_is_not_returned(self, written, monkeypatch, capfd):
        right = getattr(Writing, written)
        monkeypatch.setattr(Writing, written, lambda self, given: with_a_wrong_sign(right(self, given)))
        with pytest.raises(Unconfirmed, match="its formulas do not evaluate to it"):
            kopt.derive(BY_NAME["SoftMargin"], instances=1)
        assert capfd.readouterr() == ("", "")

    def test_a_wrong_recovery_is_no_fault_of_the_dual(self):
        derived = kopt.derive(Misrecovered, instances=1)
        assert section(derived, "Dual") == section(derivation(BY_NAME["SoftMargin"]), "Dual")
        assert referee(derived.machine, instances=1).judgement is Judgement.WRONG


class Misrecovered(BY_NAME["SoftMargin"]):
    """A soft margin machine whose w points the wrong way."""

    def recover(self, s, dual):
        return super().recover(s, dual) | {"w": s.combination(-s.y * dual.alpha)}


def with_a_wrong_sign(formula):
    """A relation turned around, a sum with its last term negated, any other formula negated."""
    if isinstance(formula, Relation):
        return replace(formula, sign={"<=": ">=", ">=": "<=", "=": "="}[formula.sign])
    if isinstance(formula, Sum):
        return Sum((*formula.terms[:-1], with_a_wrong_sign(formula.terms[-1])))
    return Product((Number(-1), formula))


def soft_margin_with(price) -> type[Formulation]:
    """A soft margin machine whose slacks cost what a function of (machine, view, slacks) says."""

    class Priced(Formulation):
        task = Task.CLASSIFICATION
        C: float = kopt.positive(default=1.0)

        def primal(self, s):
            w, b, xi = s.weight("w"), cp.Variable(name="b"), cp.Variable(s.n, name="xi")
            return Program(
                cp.Minimize(0.5 * w.norm_squared + price(self, s, xi)),
                {"alpha": cp.multiply(s.y, w.values + b) >= 1 - xi, "mu": xi >= 0},
            )

    return Priced


def bound_on_alpha(price) -> str:
    """The line of the dual that belongs to the slacks, of formulas that hold on every sample."""
    derived = kopt.derive(soft_margin_with(price), instances=1)
    assert "Note" not in derived.formulas
    [line] = [line for line in section(derived, "Dual") if ": xi_i" in line]
    return line.removeprefix("s.t.").partition(":")[0].strip()


# How a price is written in Python, and how the bound on alpha reads.
PRICES = {
    "C sum xi": (lambda m, s, xi: m.C * cp.sum(xi), "alpha_i <= C"),
    "C @ xi": (lambda m, s, xi: m.C * np.ones(s.n) @ xi, "alpha_i <= C"),
    "mean": (lambda m, s, xi: m.C * cp.mean(xi), "alpha_i <= C/l"),
    "divided": (lambda m, s, xi: m.C * cp.sum(xi) / s.n, "alpha_i <= C/l"),
    "inverse": (lambda m, s, xi: cp.sum(xi) / (2 * m.C), "alpha_i <= 1/(2 C)"),
    "square": (lambda m, s, xi: m.C**2 * cp.sum(xi), "alpha_i <= C^2"),
    "tenth": (lambda m, s, xi: 0.1 * m.C * cp.sum(xi), "alpha_i <= 0.1 C"),
    "by float": (lambda m, s, xi: float(m.C) * cp.sum(xi), "alpha_i <= C"),
}


class TestNumbers:
    """What is written is true of every sample and of every parameter, not of the ones it was read from."""

    @pytest.mark.parametrize("spelling", PRICES)
    def test_a_price_is_written_in_its_letters(self, spelling):
        price, bound = PRICES[spelling]
        assert bound_on_alpha(price) == bound

    def test_costs_are_written_out_on_demand(self):
        assert "      alpha_i <= C c_i       : xi_i" in section(
            kopt.derive(BY_NAME["SoftMargin"], costs=True, instances=1), "Dual"
        )

    def test_parameters_that_happen_to_be_equal_keep_their_letters(self):
        machine = BY_NAME["EpsilonInsensitive"](C=0.7, epsilon=0.7)
        assert section(kopt.derive(machine, instances=1), "Dual") == section(derivation(type(machine)), "Dual")

    @pytest.mark.parametrize("value", [1.0, 2.0, 11.0])
    def test_a_parameter_that_is_a_plain_number_keeps_its_letter(self, value):
        machine = BY_NAME["SoftMargin"](C=value)
        assert section(kopt.derive(machine, instances=1), "Dual") == section(derivation(type(machine)), "Dual")

    def test_the_letter_of_a_loss_is_not_that_of_a_parameter(self):
        assert "delta = M" not in section(derivation(HuberWithPricedOffset), "Where")

    def test_the_size_of_a_sample_below_squares_is_a_letter(self):
        derived = kopt.derive(soft_margin_with(lambda m, s, xi: m.C * cp.sum_squares(xi) / s.n), instances=1)
        assert "C/l sum_i xi_i^2" in section(derived, "Primal")[0]
        assert "l/(4 C) sum_i" in " ".join(section(derived, "Dual"))

    @pytest.mark.parametrize(
        "factor",
        [
            lambda m, s: m.C / len(s.y),
            lambda m, s: m.C / np.sqrt(float(s.n)),
            lambda m, s: m.C * (1 + np.mean(np.asarray(s.y) > 0)),
            lambda m, s: np.exp(m.C),
        ],
        ids=["len", "root", "share", "exp"],
    )
    def test_formulas_that_hold_on_one_sample_only_say_so(self, factor):
        derived = kopt.derive(soft_margin_with(lambda m, s, xi: factor(m, s) * cp.sum(xi)), instances=1)
        assert derived.sections[-1].title == "Note"
        assert section(derived, "Note") == [OF_ONE_SAMPLE]
        assert errors(derived.formulas["Note"]) == []

    @pytest.mark.parametrize(("costs", "bound"), [(False, "alpha_i <= c"), (True, "alpha_i <= c p_i")])
    def test_a_parameter_may_have_the_letter_of_the_costs(self, costs, bound):
        [line] = [each for each in section(kopt.derive(SmallC, costs=costs, instances=1), "Dual") if ": xi_i" in each]
        assert line.removeprefix("s.t.").partition(":")[0].strip() == bound


class SmallC(Formulation):
    """A soft margin machine without an offset, whose price is called c."""

    task = Task.CLASSIFICATION
    c: float = kopt.positive(default=1.3)

    def primal(self, s):
        w, (xi, signs) = s.weight("w"), slacks(s)
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.c * s.costs @ xi),
            {"alpha": cp.multiply(s.y, w.values) >= 1 - xi, **signs},
        )


@cache
def of_primal(primal, task: Task) -> kopt.Derivation:
    return kopt.derive(primal_only(primal, task), instances=1)


def written(primal, title: str, task: Task = Task.CLASSIFICATION) -> str:
    """A section of the derivation of a primal."""
    return " ".join(section(of_primal(primal, task), title))


def class_prices(self, s):
    w, b, (xi, signs) = s.weight("w"), cp.Variable(name="b"), slacks(s)
    return Program(
        cp.Minimize(0.5 * w.norm_squared + 2 * cp.sum(xi[s.y > 0]) + 3 * cp.sum(xi[s.y < 0])),
        {"alpha": cp.multiply(s.y, w.values + b) >= 1 - xi, **signs},
    )


def dear_first_point(self, s):
    w, b, (xi, signs) = s.weight("w"), cp.Variable(name="b"), slacks(s)
    return Program(
        cp.Minimize(0.5 * w.norm_squared + 2 * cp.sum(xi) + 3 * xi[0]),
        {"alpha": cp.multiply(s.y, w.values + b) >= 1 - xi, **signs},
    )


def two_offsets(self, s):
    w, b, (xi, signs) = s.weight("w"), cp.Variable(2, name="b"), slacks(s)
    return Program(
        cp.Minimize(0.5 * w.norm_squared + cp.sum_squares(b) + 2 * cp.sum(xi)),
        {"alpha": cp.multiply(s.y, w.values + b[0] - b[1]) >= 1 - xi, **signs},
    )


def offsets_of_groups(self, s):
    w, b, (xi, signs) = s.weight("w"), cp.Variable(3, name="b"), slacks(s)
    return Program(
        cp.Minimize(0.5 * w.norm_squared + cp.sum_squares(b) + 2 * cp.sum(xi)),
        {"alpha": cp.multiply(s.y, w.values + b[np.arange(s.n) % 3]) >= 1 - xi, **signs},
    )


def steps_between_neighbours(self, s):
    w, r, d = s.weight("w"), cp.Variable(s.n, name="r"), cp.Variable(s.n - 1, name="d")
    return Program(
        cp.Minimize(w.norm_squared + cp.sum_squares(r) + cp.norm1(d)),
        {"alpha": r == s.y - w.values, "beta": d == cp.diff(w.values)},
    )


def mean_of_the_values(self, s):
    w, (xi, signs) = s.weight("w"), slacks(s)
    return Program(
        cp.Minimize(0.5 * w.norm_squared + 2 * cp.sum(xi)),
        {"alpha": cp.multiply(s.y, w.values) >= 1 - xi, **signs, "kappa": cp.sum(w.values) == 0},
    )


def ellipsoid(self, s):
    w, v, r = s.weight("w"), s.weight("v"), cp.Variable(s.n, name="r")
    return Program(
        cp.Minimize(cp.sum_squares(r)),
        {"alpha": r == s.y - w.values - v.values, "lambda": w.norm_squared + 2 * v.norm_squared <= 3},
    )


class TestSelections:
    """Variables that are seen at some of their entries."""

    def test_sums_over_the_two_classes_are_told_apart(self):
        assert "alpha_i <= 3 [y_i < 0] + 2 [y_i > 0]" in written(class_prices, "Dual")

    def test_a_single_entry_is_not_every_entry(self):
        assert "alpha_i <= 3 [i = 1] + 2 " in written(dear_first_point, "Dual")

    def test_two_entries_of_one_variable_do_not_cancel(self):
        assert "1/4 sum_j ( sum_i (F_ij alpha_i + H_ij alpha_i) )^2" in written(two_offsets, "Dual")

    def test_signs_stay_in_sums_over_groups(self):
        assert "1/4 sum_j ( sum_i E_ij alpha_i )^2" in written(offsets_of_groups, "Dual")

    def test_neighbours_are_told_apart(self):
        objective = written(steps_between_neighbours, "Dual", Task.REGRESSION).partition("s.t.")[0]
        assert "(beta_i - alpha_i - sum_m E_mi beta_m)" in objective

    def test_points_that_are_left_out_are_not_told_by_their_targets(self):
        assert "y_i !=" not in written(steps_between_neighbours, "Where", Task.REGRESSION)

    def test_a_multiplier_that_moves_the_weight_vector_alone(self):
        sample = sample_for(BY_NAME["SoftMargin"], 11, 4)
        machine = primal_only(mean_of_the_values)()
        value = plain_value(kopt.derive(machine, instances=1).program(sample).problem())
        assert value == pytest.approx(plain_value(machine.problem(sample, "primal")), rel=VALUE)

    def test_two_vectors_in_one_ellipsoid(self):
        sample = sample_for(BY_NAME["Ridge"], 11, 4)
        machine = primal_only(ellipsoid, Task.REGRESSION)()
        value = plain_value(kopt.derive(machine, instances=1).program(sample).problem())
        assert value == pytest.approx(plain_value(machine.problem(sample, "primal")), rel=VALUE)


class TestDeterminism:
    def test_the_same_seed_gives_the_same_text(self):
        cls = BY_NAME["OrderedNuRanking"]
        once, again = derivation(cls), kopt.derive(cls, instances=1)
        assert once.text() == again.text()
        assert once.latex() == again.latex()

    @pytest.mark.parametrize("name", ["FisherDiscriminant", "RankSeparation"])
    def test_the_formulas_do_not_depend_on_the_seed(self, name):
        assert kopt.derive(BY_NAME[name], instances=1, seed=8).text() == derivation(BY_NAME[name]).text()
