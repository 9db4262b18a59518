"""Every refusal: two sentences, with the number, at the call the user made, before any solver runs."""

import re
from collections.abc import Callable

import cvxpy as cp
import numpy as np
import pytest

import kopt
from formulations.classification import (
    HardMargin,
    NuSoftMargin,
    SoftMargin,
    UnitNuSoftMargin,
    UnitSoftMargin,
    UnitTwoNormSoftMargin,
)
from formulations.novelty import Hypersphere, NuHypersphere, SoftHypersphere
from formulations.regression import EpsilonInsensitive, Ridge
from kopt import DeclarationError, Formulation, InputError, KoptError, Program, Sample, Task
from kopt.kernels import FromFunction, Gaussian, Linear, Polynomial
from tests.instances import BY_NAME

X = np.array([[0.0, 1.0], [1.0, 0.5], [3.0, 2.0], [4.0, 1.0], [2.5, 2.5]])
Y = np.array([-1.0, -1.0, 1.0, 1.0, 1.0])
T = np.array([0.1, 0.9, 2.0, 3.5, 2.2])


def refusal(call: Callable[[], object], *fragments: str, kind: type[KoptError] = InputError) -> KoptError:
    """The error of a call: exactly one sentence on what is wrong and one on what to do, with these fragments."""
    with pytest.raises(kind) as caught:
        call()
    error = caught.value
    assert str(error) == f"{error.what} {error.remedy}"
    for sentence in (error.what, error.remedy):
        assert sentence.endswith("."), sentence
        assert not re.search(r"[.!?]['\")]?\s+[A-Z]", sentence), f"more than one sentence: {sentence}"
    for fragment in fragments:
        assert fragment in str(error), f"{fragment!r} is not in {str(error)!r}"
    return error


@pytest.fixture
def no_solver(monkeypatch):
    """A solver that runs fails the test."""

    def run(*args, **kwargs):
        raise AssertionError("a solver ran before the refusal")

    monkeypatch.setattr(cp.Problem, "solve", run)
    monkeypatch.setattr("kopt.solvers.dense.piqp.DenseSolver", run)


@pytest.fixture
def solves():
    """For the tests whose refusal needs a solution first, or a proof that there is none."""


@pytest.fixture(autouse=True)
def _guard(request):
    if "solves" not in request.fixturenames:
        request.getfixturevalue("no_solver")


def test_the_guard_itself_notices_a_solver():
    for method in ("CLARABEL", "DENSE"):
        with pytest.raises(AssertionError, match="a solver ran"):
            kopt.solve(SoftMargin(), Sample(X, Y), method=method)


def replaced(values: np.ndarray, index: object, value: object) -> np.ndarray:
    changed = values.copy()
    changed[index] = value
    return changed


# --- the sample ---

SAMPLES = {
    "X of three dimensions": (lambda: Sample(np.zeros((2, 3, 4))), ["3-D", "(2, 3, 4)"]),
    "X of one dimension": (lambda: Sample([1.0, 2.0, 3.0]), ["1-D with 3 numbers", "reshape(-1, 1)"]),
    "X a number": (lambda: Sample(3.0), ["shape ()"]),
    "X ragged": (lambda: Sample([[1.0, 2.0], [3.0]]), ["rows of different lengths"]),
    "no points": (lambda: Sample(np.empty((0, 2))), ["(0, 2)", "at least one point"]),
    "no points, other kernel": (lambda: Sample([], kernel=FromFunction(lambda a, b: 1.0)), ["no points"]),
    "NaN in X": (lambda: Sample(replaced(X, (2, 1), np.nan), Y), ["1 values", "row 2, column 1"]),
    "inf in X": (lambda: Sample(replaced(X, (3, 0), np.inf), Y), ["1 values", "row 3, column 0"]),
    "too few y": (lambda: Sample(X, Y[:4]), ["y has shape (4,)", "5 points"]),
    "y of two dimensions": (lambda: Sample(X, Y[:, None]), ["y has shape (5, 1)", "5 points"]),
    "NaN in y": (lambda: Sample(X, replaced(Y, 1, np.nan)), ["1 values", "position 1"]),
    "inf in y": (lambda: Sample(X, replaced(Y, slice(3, 5), -np.inf)), ["2 values", "position 3"]),
    "strings in y": (lambda: Sample(X, ["spam", "spam", "ham", "ham", "ham"]), ["'spam'", "np.where"]),
    "too few costs": (lambda: Sample(X, Y, costs=[1.0, 2.0]), ["costs has shape (2,)", "5 points"]),
    "costs of two dimensions": (lambda: Sample(X, Y, costs=np.ones((5, 1))), ["costs has shape (5, 1)"]),
    "costs a number": (lambda: Sample(X, Y, costs=2.0), ["costs has shape ()"]),
    "NaN in costs": (lambda: Sample(X, Y, costs=[1, 1, np.nan, 1, 1]), ["1 values", "position 2"]),
    "inf in costs": (lambda: Sample(X, Y, costs=[1, 1, 1, 1, np.inf]), ["1 values", "position 4"]),
    "a cost of zero": (lambda: Sample(X, Y, costs=[1, 1, 0, 1, 1]), ["cost of point 2 is 0", "> 0"]),
    "a negative cost": (lambda: Sample(X, Y, costs=[1, 1, 1, -2.5, 1]), ["cost of point 3 is -2.5"]),
    "text with a Gaussian": (lambda: Sample(["cat", "car"], kernel=Gaussian(1.0)), ["FromFunction"]),
    "kernel a name": (lambda: Sample(X, Y, kernel="rbf"), ["'rbf'", "of type str", "kopt.kernels"]),
    "kernel a class": (lambda: Sample(X, Y, kernel=Linear), ["of type ABCMeta"]),
    "no kernel in the mapping": (lambda: Sample(X, Y, kernel={}), ["empty", "at least one"]),
    "unknown kernel": (lambda: Sample(X, Y, kernel={"a": Linear()}).gram("b"), ["'b'", "Known are: a"]),
    "K not square": (lambda: Sample.from_gram(np.ones((2, 3))), ["(2, 3)", "not square"]),
    "K a vector": (lambda: Sample.from_gram(np.ones(4)), ["(4,)", "not square"]),
    "K not symmetric": (lambda: Sample.from_gram([[1.0, 0.5], [0.2, 1.0]]), ["0.3", "(0, 1)", "(K + K.T) / 2"]),
    "NaN in K": (lambda: Sample.from_gram([[1.0, np.nan], [np.nan, 1.0]]), ["2 values", "(0, 1)"]),
    "inf in K": (lambda: Sample.from_gram([[np.inf, 0.0], [0.0, 1.0]]), ["1 values", "(0, 0)"]),
    "K indefinite": (
        lambda: Sample.from_gram([[1.0, 2.0], [2.0, 1.0]]),
        ["smallest eigenvalue is -1", "largest 3", '"clip"', '"shift"', '"flip"'],
    ),
    "one of two K indefinite": (
        lambda: Sample.from_gram({"a": np.eye(2), "b": [[1.0, 2.0], [2.0, 1.0]]}),
        ["The matrix 'b' is not positive semidefinite", "smallest eigenvalue is -1"],
    ),
    "one of two K not symmetric": (
        lambda: Sample.from_gram({"a": np.eye(2), "b": [[1.0, 0.5], [0.2, 1.0]]}),
        ["The matrix 'b' is not symmetric"],
    ),
    "one of two K not square": (
        lambda: Sample.from_gram({"a": np.eye(2), "b": np.ones((2, 3))}),
        ["The matrix 'b' has shape (2, 3)"],
    ),
    "NaN in one of two K": (
        lambda: Sample.from_gram({"a": np.eye(2), "b": np.diag([1.0, np.nan])}),
        ["The matrix 'b' has 1 values", "(1, 1)"],
    ),
    "y for another K": (lambda: Sample.from_gram(np.eye(3), [1, -1]), ["y has shape (2,)", "3 points"]),
    "two K of different sizes": (lambda: Sample.from_gram({"a": np.eye(2), "b": np.eye(3)}), ["2", "3"]),
}


@pytest.mark.parametrize("fault", SAMPLES)
def test_a_sample_is_refused(fault):
    call, fragments = SAMPLES[fault]
    refusal(call, *fragments)


def test_a_function_that_is_no_kernel_is_refused():
    distance = FromFunction(lambda x, z: float(abs(x - z)))
    sample = Sample([0.0, 1.0, 3.0], [-1, 1, 1], kernel=distance)
    refusal(lambda: kopt.solve(SoftMargin(), sample), "smallest eigenvalue is -", '"clip"', '"shift"', '"flip"')


def test_an_indefinite_function_is_refused_by_verify_as_well():
    distance = FromFunction(lambda x, z: float(abs(x - z)))
    sample = Sample([0.0, 1.0, 3.0], [-1, 1, 1], kernel=distance)
    refusal(lambda: kopt.verify(SoftMargin(), sample, {"alpha": [1.0, 0.5, 0.5]}), "eigenvalue", '"clip"')


# --- labels and targets ---

CLASSIFIERS = kopt.discover("formulations.classification")
LABELS = {
    "0 and 1": (np.array([0, 0, 1, 1, 1]), ["0, 1", "-1 and +1", "np.where(y == 1, 1, -1)"]),
    "1 and 2": (np.array([1, 1, 2, 2, 2]), ["1, 2", "np.where(y == 2, 1, -1)"]),
    "1, 2 and 3": (np.array([1, 2, 3, 1, 2]), ["1, 2, 3", "np.where(y == positive, 1, -1)"]),
    "many": (np.arange(5) + 0.5, ["0.5, 1.5"]),
    "only +1": (np.ones(5), ["All 5 labels are +1", "both classes"]),
    "only -1": (-np.ones(5), ["All 5 labels are -1", "novelty"]),
    "None": (None, ["no y", "-1 and +1"]),
}


@pytest.mark.parametrize("cls", CLASSIFIERS, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("fault", LABELS)
def test_labels_are_refused_by_every_classifier(fault, cls):
    y, fragments = LABELS[fault]
    refusal(lambda: kopt.solve(cls(), Sample(X, y)), *fragments)
    refusal(lambda: kopt.verify(cls(), Sample(X, y), {"alpha": np.zeros(5)}), *fragments)


@pytest.mark.parametrize("cls", kopt.discover("formulations.regression"), ids=lambda cls: cls.__name__)
def test_regression_without_targets_is_refused(cls):
    refusal(lambda: kopt.solve(cls(), Sample(X)), "no y", "needs targets", "Sample(X, y, ...)")


# --- parameters ---


def parameters(domain: str) -> list[object]:
    found = []
    for cls in kopt.discover():
        for name, field in cls.__dataclass_fields__.items():
            words = field.metadata["domain"].words
            if domain in words:
                found.append(pytest.param(cls, name, id=f"{cls.__name__}.{name}"))
    assert found
    return found


NOT_NUMBERS = [float("nan"), float("inf"), -float("inf"), "1", True, None, [1.0], np.array([0.5])]


@pytest.mark.parametrize("value", [0, -1, -1e-300, *NOT_NUMBERS], ids=repr)
@pytest.mark.parametrize(("cls", "name"), parameters("> 0"))
def test_a_parameter_that_must_be_positive(cls, name, value):
    refusal(lambda: cls(**{name: value}), f"The parameter {name} is {value!r}", "finite number > 0")


@pytest.mark.parametrize("value", [-0.1, -1e-300, *NOT_NUMBERS], ids=repr)
@pytest.mark.parametrize(("cls", "name"), parameters(">= 0"))
def test_a_parameter_that_must_not_be_negative(cls, name, value):
    refusal(lambda: cls(**{name: value}), f"The parameter {name} is {value!r}", "finite number >= 0")
    cls(**{name: 0.0})


@pytest.mark.parametrize("value", [0, -0.2, 1.1, 1 + 1e-9, *NOT_NUMBERS], ids=repr)
@pytest.mark.parametrize(("cls", "name"), parameters("(0, 1]"))
def test_a_parameter_that_must_be_a_fraction(cls, name, value):
    refusal(lambda: cls(**{name: value}), f"The parameter {name} is {value!r}", "(0, 1]")
    cls(**{name: 1})


@pytest.mark.parametrize("number", [np.float32(0.5), np.float64(0.5), np.int64(1), 1])
def test_numbers_of_every_type_are_parameters(number):
    assert SoftMargin(C=number) == SoftMargin(C=float(number))


@pytest.mark.parametrize(
    ("call", "fragments"),
    [
        (lambda: Gaussian(0.0), ["sigma is 0.0"]),
        (lambda: Gaussian(-1.0), ["sigma is -1.0"]),
        (lambda: Gaussian(float("nan")), ["sigma is nan"]),
        (lambda: Polynomial(degree=0), ["degree is 0"]),
        (lambda: Polynomial(degree=1.5), ["degree is 1.5"]),
    ],
)
def test_a_parameter_of_a_kernel(call, fragments):
    refusal(call, *fragments)


# --- parameters that depend on the sample ---


@pytest.mark.parametrize("cls", [NuSoftMargin, UnitNuSoftMargin])
def test_nu_beyond_the_smaller_class_is_refused_with_the_largest_value(cls):
    for call in (kopt.solve, lambda f, s: kopt.verify(f, s, {"alpha": np.zeros(5)})):
        refusal(lambda call=call: call(cls(nu=0.81), Sample(X, Y)), "nu is 0.81", "at most 0.8", "Choose nu <= 0.8")
    cls(nu=0.8).check(Sample(X, Y))


@pytest.mark.parametrize("cls", [NuSoftMargin, UnitNuSoftMargin])
def test_the_largest_nu_counts_the_costs(cls):
    sample = Sample(X, Y, costs=[0.5, 0.75, 1.0, 1.0, 1.0])
    refusal(lambda: kopt.solve(cls(nu=0.6), sample), "nu is 0.6", "at most 0.5")
    cls(nu=0.5).check(sample)


def test_nu_of_the_sphere_counts_the_costs():
    sample = Sample(X, costs=[0.5, 0.5, 0.5, 0.5, 0.5])
    refusal(lambda: kopt.solve(NuHypersphere(nu=0.7), sample), "nu is 0.7", "at most 0.5")


def test_a_C_at_which_the_unit_soft_margin_is_unbounded_is_refused_with_the_smallest_value():
    refusal(lambda: kopt.solve(UnitSoftMargin(C=0.2), Sample(X, Y)), "C is 0.2", "at least 0.25", "Choose C >= 0.25")
    UnitSoftMargin(C=0.25).check(Sample(X, Y))


BEYOND = {
    "NuSoftMargin": 0.99,
    "UnitNuSoftMargin": 0.99,
    "UnitSoftMargin": 1e-3,
    "ReducedConvexHulls": 1e-3,
    "OneClass": 0.99,
    "NuHypersphere": 0.99,
    "NuRanking": 9.0,
    "OrderedNuRanking": 9.0,
}


@pytest.mark.usefixtures("solves")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", BEYOND)
def test_the_extreme_value_that_the_refusal_names_is_accepted_and_solves(name, seed):
    cls, rng = BY_NAME[name], np.random.default_rng(seed)
    n = int(rng.integers(9, 30))
    y = np.where(np.arange(n) < n // 3, 1.0, -1.0)
    points = rng.normal(size=(n, 2)) + np.where(y > 0, 1.5, 0.0)[:, None]
    labels = {Task.RANKING: 1.0 + (np.arange(n) >= n // 3) + (np.arange(n) >= n // 2), Task.NOVELTY: None}
    sample = Sample(points, labels.get(cls.task, y), kernel=Gaussian(1.5), costs=np.full(n, 0.7))
    [parameter] = cls.__dataclass_fields__
    with pytest.raises(kopt.InputError) as caught:
        cls(**{parameter: BEYOND[name]}).check(sample)
    named = float(caught.value.remedy.split()[-1].rstrip("."))
    solution = kopt.solve(cls(**{parameter: named}), sample)
    assert solution.certificate.holds(1e-6), str(solution)


@pytest.mark.parametrize("formulation", [HardMargin(), Hypersphere()], ids=repr)
def test_costs_that_nobody_reads_are_refused(formulation):
    y = Y if formulation.task is Task.CLASSIFICATION else None
    sample = Sample(X, y, costs=[1.0, 1.0, 2.0, 1.0, 1.0])
    refusal(lambda: kopt.solve(formulation, sample), type(formulation).__name__, "no use of them")
    formulation.check(Sample(X, y, costs=np.ones(5)))


@pytest.mark.parametrize(
    "formulation",
    [SoftMargin(), UnitTwoNormSoftMargin(), SoftHypersphere(), EpsilonInsensitive(), Ridge(), NuSoftMargin(nu=0.3)],
    ids=repr,
)
def test_costs_that_are_used_are_accepted(formulation):
    y = None if formulation.task is Task.NOVELTY else Y
    formulation.check(Sample(X, y, costs=[1.0, 1.0, 2.0, 1.0, 1.0]))


# --- the call ---


@pytest.mark.parametrize("side", ["Dual", "both", "", 1])
def test_an_unknown_side(side):
    refusal(lambda: kopt.solve(SoftMargin(), Sample(X, Y), side=side), f"{side!r}", '"primal" or "dual"')
    refusal(lambda: SoftMargin().problem(Sample(X, Y), side=side), f"{side!r}", '"primal" or "dual"')


@pytest.mark.parametrize("method", ["SIMPLEX", "", "clarabelle"])
def test_an_unknown_method(method):
    refusal(lambda: kopt.solve(SoftMargin(), Sample(X, Y), method=method), f"{method!r}", "CLARABEL")


@pytest.mark.parametrize(
    ("formulation", "y", "side", "reason"),
    [
        (SoftMargin(), Y, "primal", "duals only"),
        (UnitTwoNormSoftMargin(), Y, "dual", "norm"),
        (SoftHypersphere(), None, "dual", "norm"),
    ],
    ids=["a primal", "a norm beside squares", "a quotient"],
)
def test_a_method_that_cannot_take_the_problem(formulation, y, side, reason):
    call = lambda: kopt.solve(formulation, Sample(X, y), side=side, method="DENSE")  # noqa: E731
    refusal(call, "DENSE cannot solve", reason, "Choose one of CLARABEL")


ANSWERS = {
    "empty": ({}, ["empty", "alpha, b, mu, w, xi"]),
    "unknown name": ({"alpha": np.zeros(5), "beta": np.zeros(5)}, ["'beta'", "alpha, b, mu, w, xi"]),
    "alpha too short": ({"alpha": np.zeros(4)}, ["alpha", "(4,)", "(5,)"]),
    "alpha a matrix": ({"alpha": np.zeros((5, 1))}, ["alpha", "(5, 1)", "(5,)"]),
    "xi too long": ({"alpha": np.zeros(5), "xi": np.zeros(6)}, ["xi", "(6,)", "(5,)"]),
    "b a vector": ({"alpha": np.zeros(5), "b": np.zeros(2)}, ["b", "(2,)", "()"]),
    "w in other coordinates": ({"alpha": np.zeros(5), "w": np.zeros(2)}, ["w", "(2,)", "(5,)"]),
    "mu too short": ({"alpha": np.zeros(5), "mu": np.zeros(3)}, ["mu", "(3,)", "(5,)"]),
    "alpha text": ({"alpha": ["a", "b", "c", "d", "e"]}, ["alpha", "'a'"]),
    "alpha ragged": ({"alpha": [[1.0], [1.0, 2.0]]}, ["alpha"]),
}


@pytest.mark.parametrize("fault", ANSWERS)
def test_an_answer_is_refused(fault):
    answer, fragments = ANSWERS[fault]
    refusal(lambda: kopt.verify(SoftMargin(), Sample(X, Y), answer), *fragments)


def test_there_is_no_such_file(tmp_path):
    refusal(lambda: kopt.discover(tmp_path / "nowhere.py"), "nowhere.py", "Check the path")


@pytest.mark.usefixtures("solves")
def test_no_solver_has_an_answer(monkeypatch):
    def fail(*args, **kwargs):
        raise cp.error.SolverError(
            "Solver 'CLARABEL' failed. Try another solver, or solve with verbose=True for more information."
        )

    monkeypatch.setattr(cp.Problem, "solve", fail)
    call = lambda: kopt.solve(SoftMargin(), Sample(X, Y), method="CLARABEL")  # noqa: E731
    refusal(call, "CLARABEL", "SoftMargin(C=1.0)", kind=kopt.SolverError)


# --- predictions ---


@pytest.fixture(scope="module")
def solutions():
    K = X @ X.T
    return {
        "vectors": kopt.solve(SoftMargin(), Sample(X, Y)),
        "gram": kopt.solve(SoftMargin(), Sample.from_gram(K, Y)),
        "sphere": kopt.solve(Hypersphere(), Sample.from_gram(K)),
    }


@pytest.mark.usefixtures("solves")
def test_prediction_on_points_that_do_not_fit(solutions):
    vectors = solutions["vectors"]
    refusal(lambda: vectors.predict(np.zeros((2, 3))), "3 features", "2")
    refusal(lambda: vectors.predict(np.zeros(2)), "1-D with 2 numbers")
    refusal(lambda: vectors.predict(np.array([[0.0, np.nan]])), "1 values", "row 0, column 1")
    refusal(lambda: vectors.predict([["a", "b"]]), "not real numbers")


@pytest.mark.usefixtures("solves")
def test_prediction_from_a_gram_matrix_takes_kernel_values_with_the_training_points(solutions):
    new = np.array([[0.5, 0.5], [3.5, 2.0], [2.0, 2.0]])
    expected = solutions["vectors"].decision_function(new)
    np.testing.assert_allclose(solutions["gram"].decision_function(new @ X.T), expected, atol=1e-6)
    refusal(lambda: solutions["gram"].predict(new), "2 columns", "5 points", "K(new, train)")
    refusal(lambda: solutions["gram"].predict(np.full((1, 5), np.nan)), "5 values")


@pytest.mark.usefixtures("solves")
def test_a_sphere_from_a_gram_matrix_needs_the_diagonal_of_the_new_points(solutions):
    new = np.array([[0.5, 0.5], [30.0, 20.0]])
    refusal(lambda: solutions["sphere"].predict(new @ X.T), "k(x, x)")
    refusal(lambda: solutions["sphere"].predict(new @ X.T, diagonal=[1.0]), "(1,)", "2 points")
    diagonal = np.sum(new**2, axis=1)
    assert solutions["sphere"].predict(new @ X.T, diagonal=diagonal).tolist() == [1, -1]


# --- declarations ---


def declared(primal: Callable, dual: Callable | None = None, parent: type = Formulation) -> Formulation:
    members = {"primal": lambda self, s: primal(s)}
    if dual is not None:
        members["dual"] = lambda self, s: dual(s)
    return type("Mistaken", (parent,), members)()


def good_primal(s):
    w, b, xi = s.weight("w"), cp.Variable(name="b"), cp.Variable(s.n, name="xi")
    constraints = {"alpha": cp.multiply(s.y, w.values + b) >= 1 - xi, "mu": xi >= 0}
    return Program(cp.Minimize(0.5 * w.norm_squared + cp.sum(xi)), constraints)


def of_unit_length(w):
    return Program(cp.Minimize(cp.sum(w.values)), {"m": w.norm_squared == 1})


def dual_with(constraints=None, multipliers=None, size=None):
    def dual(s):
        alpha = cp.Variable(size or s.n, name="alpha")
        named = {"b": cp.sum(alpha) == 0} if constraints is None else constraints(alpha)
        given = {"mu": 1 - alpha} if multipliers is None else multipliers(alpha)
        return Program(cp.Maximize(cp.sum(alpha)), named, multipliers=given)

    return dual


def primal_with(objective=None, constraints=None):
    def primal(s):
        x = cp.Variable(s.n, name="x")
        goal = cp.Minimize(cp.sum_squares(x)) if objective is None else objective(x)
        return Program(goal, {"alpha": x >= 1} if constraints is None else constraints(x))

    return primal


DECLARATIONS = {
    "objective not wrapped": (declared(primal_with(objective=cp.sum_squares)), ["quad_over_lin", "cp.Minimize"]),
    "objective a number": (declared(primal_with(objective=lambda x: 3.0)), ["3.0", "of type float"]),
    "constraint a truth value": (
        declared(primal_with(constraints=lambda x: {"alpha": bool(1 >= 0)})),
        ["'alpha' is True", "of type bool"],
    ),
    "constraint an array": (
        declared(primal_with(constraints=lambda x: {"alpha": np.ones(2) >= 0})),
        ["'alpha'", "of type ndarray"],
    ),
    "variable without a name": (
        declared(lambda s: Program(cp.Minimize(cp.sum_squares(cp.Variable(s.n))))),
        ["shape (5,)", "no name", 'name="alpha"'],
    ),
    "two variables of one name": (
        declared(lambda s: Program(cp.Minimize(cp.square(cp.Variable(name="x")) + cp.square(cp.Variable(name="x"))))),
        ["both named 'x'"],
    ),
    "nonneg=True": (
        declared(lambda s: Program(cp.Minimize(cp.sum(cp.Variable(s.n, name="xi", nonneg=True))))),
        ["'xi'", "nonneg", '"mu": xi >= 0'],
    ),
    "PSD=True": (
        declared(lambda s: Program(cp.Minimize(cp.trace(cp.Variable((2, 2), name="S", PSD=True))))),
        ["'S'", "PSD"],
    ),
    "bounds": (
        declared(lambda s: Program(cp.Minimize(cp.sum(cp.Variable(s.n, name="xi", bounds=[0, 1]))))),
        ["'xi'", "bounds"],
    ),
    "no program": (declared(lambda s: 3), ["Mistaken.primal (", "returned int", "kopt.Program"]),
    "a problem instead of a program": (
        declared(lambda s: cp.Problem(cp.Minimize(cp.Variable(name="x")))),
        ["Mistaken.primal (", "returned Problem"],
    ),
    "no primal": (type("Mistaken", (Formulation,), {})(), ["Mistaken declares no primal", "def primal(self, s)"]),
    "dual is no program": (declared(good_primal, lambda s: "?"), ["Mistaken.dual (", "returned str"]),
    "dual constraint after no variable": (
        declared(good_primal, dual_with(constraints=lambda alpha: {"beta": cp.sum(alpha) == 0})),
        ["dual constraint 'beta'", "no primal variable", "domain=[...]"],
    ),
    "primal constraint without a multiplier": (
        declared(good_primal, dual_with(multipliers=lambda alpha: {})),
        ["primal constraint 'mu'", "no multiplier", "multipliers={'mu': ...}"],
    ),
    "multiplier of no constraint": (
        declared(good_primal, dual_with(multipliers=lambda alpha: {"mu": 1 - alpha, "nu": alpha})),
        ["multiplier 'nu'", "no primal constraint", "alpha, mu"],
    ),
    "multiplier as text": (
        declared(good_primal, dual_with(multipliers=lambda alpha: {"mu": "C - alpha"})),
        ["'mu'", "'C - alpha'", "expression"],
    ),
    "shape of a dual variable": (
        declared(good_primal, dual_with(size=3, multipliers=lambda alpha: {"mu": np.ones(5)})),
        ["'alpha'", "(5,)", "(3,)"],
    ),
    "shape of a multiplier": (
        declared(good_primal, dual_with(multipliers=lambda alpha: {"mu": cp.sum(alpha)})),
        ["'mu'", "(5,)", "()"],
    ),
    "shape of a dual constraint": (
        declared(good_primal, dual_with(constraints=lambda alpha: {"b": alpha == 0})),
        ["dual constraint 'b'", "(5,)", "()"],
    ),
    "objective not convex": (
        declared(primal_with(objective=lambda x: cp.Minimize(-cp.sum_squares(x)))),
        ["In Mistaken (", "the objective is not convex", "minimise"],
    ),
    "constraint not convex": (
        declared(primal_with(constraints=lambda x: {"alpha": cp.sum_squares(x) >= 1})),
        ["In Mistaken (", "the constraint 'alpha' is not convex"],
    ),
    "unit length": (
        declared(lambda s: of_unit_length(s.weight("w"))),
        ["not convex", "'m'"],
    ),
    "a cone without a multiplier": (
        declared(primal_with(constraints=lambda x: {"alpha": cp.ExpCone(x[0], x[1], x[2])})),
        ["ExpCone", "no multiplier is defined"],
    ),
}


@pytest.mark.parametrize("fault", DECLARATIONS)
def test_a_declaration_is_refused(fault):
    formulation, fragments = DECLARATIONS[fault]
    refusal(lambda: kopt.solve(formulation, Sample(X, Y)), *fragments, kind=DeclarationError)


def test_a_dual_that_is_not_declared():
    formulation = declared(good_primal)
    refusal(lambda: kopt.solve(formulation, Sample(X, Y), side="dual"), "Mistaken declares no dual", 'side="primal"')
    refusal(lambda: formulation.problem(Sample(X, Y), "dual"), "Mistaken declares no dual", 'side="primal"')


@pytest.mark.usefixtures("solves")
def test_a_decision_without_a_weight_vector_of_that_name():
    solution = kopt.solve(declared(lambda s: Program(cp.Minimize(0.5 * s.weight("v").norm_squared))), Sample(X, Y))
    refusal(lambda: solution.predict(X), "Mistaken has no weight vector named w", "decision", kind=DeclarationError)


# --- hard margin ---


def separated_by(margin: float, seed: int) -> Sample:
    """Points at a distance of at least `margin` from a line through the origin, on either side."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, size=(16, 2))
    normal = np.array([np.cos(seed), np.sin(seed)])
    distances = points @ normal
    y = np.where(distances > 0, 1.0, -1.0)
    points += np.outer(y * margin - distances, normal) * (np.abs(distances) < margin)[:, None]
    points[0] += (y[0] * margin - points[0] @ normal) * normal
    points[np.argmax(y != y[0])] += (-y[0] * margin - points[np.argmax(y != y[0])] @ normal) * normal
    return Sample(points, y)


OVERLAPPING = np.random.default_rng(5)
NOT_SEPARABLE = {
    "overlapping": (OVERLAPPING.normal(size=(20, 2)), np.where(np.arange(20) % 2, 1.0, -1.0), Linear()),
    "one point of both classes": (
        np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 3.0], [4.0, 3.0], [1.0, 0.0]]),
        np.array([-1.0, -1.0, 1.0, 1.0, 1.0]),
        Linear(),
    ),
    "exclusive or": (
        np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]]),
        np.array([1.0, 1.0, -1.0, -1.0]),
        Linear(),
    ),
    "inner point": (
        np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [1.0, 1.0]]),
        np.array([1.0, 1.0, 1.0, -1.0]),
        Linear(),
    ),
    "one point of both classes, Gaussian": (
        np.array([[0.0], [1.0], [3.0], [1.0]]),
        np.array([-1.0, -1.0, 1.0, 1.0]),
        Gaussian(1.0),
    ),
    "far from the origin": (
        1e3 + np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]]),
        np.array([1.0, 1.0, -1.0, -1.0]),
        Linear(),
    ),
}


@pytest.mark.usefixtures("solves")
@pytest.mark.parametrize("side", ["dual", "primal"])
@pytest.mark.parametrize("data", NOT_SEPARABLE)
def test_classes_that_are_not_separable_are_refused_with_a_proof(data, side):
    points, y, kernel = NOT_SEPARABLE[data]
    call = lambda: kopt.solve(HardMargin(), Sample(points, y, kernel=kernel), side=side)  # noqa: E731
    error = refusal(call, "not separable", "distance of the two means", "soft margin", kind=kopt.Infeasible)
    # The proof, in plain numpy: convex weights of either class whose means coincide in feature space.
    alpha = error.ray.alpha
    assert np.all(alpha >= 0)
    plus, minus = alpha[y > 0].sum(), alpha[y < 0].sum()
    assert plus > 0
    assert abs(plus - minus) <= 1e-9 * plus
    weights = y * alpha / plus
    K = points @ points.T if isinstance(kernel, Linear) else np.exp(-0.5 * (points - points.T) ** 2)
    distance = np.sqrt(max(0.0, weights @ K @ weights))
    assert distance <= 1e-6 * np.sqrt(np.max(np.diag(K)))


@pytest.mark.usefixtures("solves")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("margin", [0.1, 1e-2, 1e-3, 1e-4])
def test_separable_classes_are_never_called_infeasible(margin, seed):
    sample = separated_by(margin, seed)
    solution = kopt.solve(HardMargin(), sample)
    assert solution.certificate.holds(1e-6), str(solution)
    assert np.all(sample.y * solution.decision_function(sample.X) >= 1 - 1e-5)
    assert 1 / solution.primal.w.norm >= 0.99 * margin


@pytest.mark.parametrize(
    ("source", "fragment"), [("no_such_module", "'no_such_module'"), ("no/such/file.py", "no/such")]
)
def test_formulations_that_are_nowhere(source, fragment):
    refusal(lambda: kopt.discover(source), fragment)
