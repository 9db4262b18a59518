"""Sweeps: every value of the parameters is solved, each from its neighbour, and nothing that is finished is lost."""

import dataclasses
import warnings
from dataclasses import dataclass, field
from importlib import import_module
from itertools import product

import numpy as np
import pytest

import kopt
import kopt.solvers.problem as problem_module
from kopt import CertificateWarning, Infeasible, InputError, Sample, Sweep
from kopt.examples import example
from kopt.kernels import Gaussian, Linear, Polynomial, Precomputed
from kopt.polyhedra import nearby_point
from kopt.solvers import Problem, RawAnswer, Solver
from kopt.solvers.choice import available
from kopt.solvers.dense import Dense
from kopt.solvers.solver import INTERRUPTED
from kopt.sweep.kernel_parameters import kernel_parameters
from kopt.sweep.moved_start import _moved, boxes_of, moved_start
from kopt.task import Task
from tests.instances import BY_NAME, instance
from tests.tolerances import CERTIFIED, ENCLOSURE, VALUE

SoftMargin, HardMargin, NuSoftMargin = BY_NAME["SoftMargin"], BY_NAME["HardMargin"], BY_NAME["NuSoftMargin"]
SAMPLE = example(Task.CLASSIFICATION, n=40)
TWO_KERNELS = Sample(SAMPLE.X, SAMPLE.y, kernel={"near": Gaussian(sigma=0.5), "far": Gaussian(sigma=2.0)})
PROBLEM = Problem(SoftMargin(C=1.0), SAMPLE)
METHODS = [
    name
    for name, solver in available().items()
    if solver.place(PROBLEM) is not None and solver.accepts(PROBLEM) is None
]


class PrimalOnly(SoftMargin):
    def dual(self, s):
        return None


@dataclass
class Recording(Solver):
    """The dense solver, which keeps the problems it was given and reports one iteration of each.

    interrupted_at   the problem at which Ctrl-C is pressed, counted from 1
    catching         whether the method answers then, or lets the interruption pass
    wrong_above      the C above which its answers are wrong
    silent_above     the C above which it reports nothing
    """

    name: str = "RECORDING"
    interrupted_at: int = 0
    catching: bool = False
    wrong_above: float = np.inf
    silent_above: float = np.inf
    problems: list[Problem] = field(default_factory=list)

    def accepts(self, problem):
        return None

    def solve(self, problem):
        self.problems.append(problem)
        if self.silent_above >= problem.formulation.C:
            problem.watch.report(primal=2.0, dual=2.0 - 8e-7, support_vectors=3)
        answer = Dense().solve(problem)
        if len(self.problems) == self.interrupted_at:
            if self.catching:
                return RawAnswer(INTERRUPTED, answer.values)
            raise KeyboardInterrupt
        if self.wrong_above < problem.formulation.C:
            return RawAnswer("solved", {name: value / 2 for name, value in answer.values.items()})
        return answer

    def solved(self, *names):
        return [tuple(getattr(problem.formulation, name) for name in names) for problem in self.problems]


@pytest.fixture
def recording(monkeypatch):
    solver = Recording()
    methods = {**available(), solver.name: solver}
    monkeypatch.setattr("kopt.solvers.choice.available", lambda: methods)
    return solver


@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_every_point_agrees_with_a_solution_of_its_own(method):
    swept = kopt.sweep(SoftMargin, SAMPLE, C=[0.1, 1.0, 4.0], method=method)
    assert not swept.interrupted
    for C, (parameters, solution) in zip([0.1, 1.0, 4.0], swept, strict=True):
        alone = kopt.solve(SoftMargin(C=C), SAMPLE, method="CLARABEL")
        assert parameters == {"C": C}
        assert solution.formulation == SoftMargin(C=C)
        assert solution.certificate.holds(CERTIFIED)
        assert solution.value == pytest.approx(alone.value, rel=VALUE)
        assert method in ("auto", solution.method)


def test_several_lists_are_a_grid_with_the_last_fastest():
    swept = kopt.sweep(BY_NAME["EpsilonInsensitive"], example(Task.REGRESSION, n=20), C=[2.0, 0.5], epsilon=[0.3, 0.1])
    assert [tuple(point.parameters.values()) for point in swept] == list(product([2.0, 0.5], [0.3, 0.1]))
    for point in swept:
        assert dataclasses.asdict(point.solution.formulation) == point.parameters


def test_a_number_beside_a_list_is_fixed():
    swept = kopt.sweep(
        BY_NAME["EpsilonInsensitive"], example(Task.REGRESSION, n=20), C=[0.5, 2.0], epsilon=0.2, kernel__sigma=0.9
    )
    assert [point.parameters for point in swept] == [{"C": C, "epsilon": 0.2, "kernel__sigma": 0.9} for C in (0.5, 2.0)]
    assert all(point.solution.sample.gram().kernel == Gaussian(sigma=0.9) for point in swept)


@pytest.mark.parametrize("values", [np.array([1.0, 0.5]), (1, 0.5), iter([1, 0.5]), [np.float64(1.0), np.float32(0.5)]])
def test_values_may_come_in_any_sequence(values):
    swept = kopt.sweep(SoftMargin, SAMPLE, C=values, method="DENSE")
    assert [point.parameters["C"] for point in swept] == [1.0, 0.5]
    assert all(type(point.parameters["C"]) in (int, float) for point in swept)


def test_points_are_solved_ascending_and_shown_as_given(recording):
    swept = kopt.sweep(SoftMargin, SAMPLE, C=[1.0, 0.1, 10.0], method="RECORDING")
    assert recording.solved("C") == [(0.1,), (1.0,), (10.0,)]
    assert [row["C"] for row in swept.table] == [1.0, 0.1, 10.0]


def test_each_point_begins_at_the_solution_of_its_neighbour(recording):
    sample = example(Task.REGRESSION, n=20)
    swept = kopt.sweep(BY_NAME["EpsilonInsensitive"], sample, epsilon=[0.2, 0.1], C=[0.5, 2.0], method="RECORDING")
    assert recording.solved("epsilon", "C") == [(0.1, 0.5), (0.1, 2.0), (0.2, 0.5), (0.2, 2.0)]
    first, *others = recording.problems
    assert first.start is None
    solutions = {tuple(point.parameters.values()): point.solution for point in swept}
    for problem, neighbour in zip(others, [(0.1, 0.5), (0.1, 0.5), (0.2, 0.5)], strict=True):
        expected = moved_from(solutions[neighbour], problem)
        assert set(problem.start) == {"alpha", "alpha_hat"}
        for name, start in problem.start.items():
            assert np.array_equal(start, expected[name])


def test_after_a_failure_the_last_solution_is_the_start(recording):
    class Refusing(SoftMargin):
        def requires(self, s):
            if self.C == 0.5:
                raise InputError("C is 0.5.", "Choose another.")

    swept = kopt.sweep(Refusing, SAMPLE, C=[0.2, 0.5, 1.0], method="RECORDING")
    assert recording.solved("C") == [(0.2,), (1.0,)]
    expected = moved_from(swept[0].solution, recording.problems[1])
    assert np.array_equal(recording.problems[1].start["alpha"], expected["alpha"])


def test_kernels_change_last_and_keep_one_matrix_at_a_time(recording):
    swept = kopt.sweep(SoftMargin, SAMPLE, C=[0.5, 1.0], kernel__sigma=[2.0, 1.0, 0.5], method="RECORDING")
    sigmas = [problem.sample.gram().kernel.sigma for problem in recording.problems]
    assert sigmas == [0.5, 0.5, 1.0, 1.0, 2.0, 2.0]
    grams = {point.parameters["kernel__sigma"]: point.solution.sample.gram() for point in swept}
    assert [sigma for sigma, gram in grams.items() if "dense" in vars(gram)] == [2.0]
    for point in swept:
        assert point.solution.sample.gram().kernel.sigma == point.parameters["kernel__sigma"]
        fresh = kopt.verify(point.solution.formulation, point.solution.sample, point.solution.dual)
        assert fresh.holds(CERTIFIED)


def test_the_sample_of_the_user_stays_as_it_is():
    sample = example(Task.CLASSIFICATION, n=20)
    dense = sample.gram().dense
    swept = kopt.sweep(SoftMargin, sample, kernel__sigma=[0.5, 1.0], C=1.0)
    assert sample.gram().kernel == Gaussian(sigma=0.7)
    assert sample.gram().dense is dense
    assert kopt.sweep(SoftMargin, sample, C=[0.5])[0].solution.sample is sample
    assert np.array_equal(swept[0].solution.sample.y, sample.y)


def test_labels_costs_and_budget_go_with_the_kernel():
    costs = np.linspace(0.5, 2.0, SAMPLE.n)
    sample = Sample(SAMPLE.X, SAMPLE.y, kernel=Gaussian(sigma=0.7), costs=costs, budget=10_000_000)
    [(_, solution)] = kopt.sweep(SoftMargin, sample, kernel__sigma=[1.0])
    assert np.array_equal(solution.sample.costs, costs)
    assert solution.sample.budget == 10_000_000


def test_one_of_several_kernels_is_named():
    swept = kopt.sweep(SoftMargin, TWO_KERNELS, kernel__near__sigma=[0.4, 0.8])
    for sigma, point in zip([0.4, 0.8], swept, strict=True):
        assert point.solution.sample.gram("near").kernel == Gaussian(sigma=sigma)
        assert point.solution.sample.gram("far").kernel == Gaussian(sigma=2.0)
    assert swept[0].solution.value != pytest.approx(swept[1].solution.value, rel=VALUE)


def test_parts_of_a_composed_kernel_are_reached():
    sample = Sample(SAMPLE.X, SAMPLE.y, kernel=(2 * Gaussian(sigma=1.0) + Linear()).centred())
    [point] = kopt.sweep(SoftMargin, sample, kernel__kernel__left__kernel__sigma=[0.6])
    own = Sample(SAMPLE.X, SAMPLE.y, kernel=(2 * Gaussian(sigma=0.6) + Linear()).centred())
    assert point.solution.value == pytest.approx(kopt.solve(SoftMargin(), own).value, rel=VALUE)


def test_a_kernel_without_numbers_has_no_parameters():
    assert kernel_parameters(Sample.from_gram(np.eye(2))) == {}
    assert kernel_parameters(Sample([[0.0]], kernel=Linear())) == {}
    assert isinstance(Sample.from_gram(np.eye(2)).gram().kernel, Precomputed)


@pytest.mark.parametrize(
    ("sample", "parameters", "message"),
    [
        (SAMPLE, {"D": [1.0]}, "SoftMargin on this sample has no parameter 'D'. Known are: C, kernel__sigma."),
        (SAMPLE, {"kernel__gamma": 1}, "has no parameter 'kernel__gamma'. Known are: C, kernel__sigma."),
        (TWO_KERNELS, {"kernel__sigma": 1}, "Known are: C, kernel__near__sigma, kernel__far__sigma."),
        (SAMPLE, {"C": []}, "The list of values for C is empty. Give at least one number."),
        (SAMPLE, {"C": [1.0], "method": "NONE"}, "There is no method 'NONE'. Known are: "),
        (SAMPLE, {"C": [1.0, 2.0], "tolerance": 3.0}, "The tolerance is 3.0. Choose a relative gap"),
        (SAMPLE.relabelled(np.arange(40)), {"C": [1.0, 2.0]}, "label"),
        (SAMPLE.X, {"C": [1.0]}, "The second argument is of type ndarray. Wrap the data"),
    ],
    ids=["unknown", "unknown in the kernel", "several kernels", "empty", "method", "tolerance", "labels", "no sample"],
)
def test_what_no_value_can_mend_is_refused(sample, parameters, message):
    with pytest.raises(InputError) as refused:
        kopt.sweep(SoftMargin, sample, **parameters)
    assert message in str(refused.value)


@pytest.mark.parametrize(("cls", "message"), [(SoftMargin(), "Give the class SoftMargin"), (3, "of type int")])
def test_a_sweep_is_of_a_class(cls, message):
    with pytest.raises(InputError, match=message):
        kopt.sweep(cls, SAMPLE, C=[1.0])


def test_a_parameter_without_default_is_asked_for():
    class Demanding(SoftMargin):
        C: float = kopt.positive()

    with pytest.raises(InputError, match=r"Demanding needs its parameter C\. Give a number or a list: C=\[\.\.\.\]\."):
        kopt.sweep(Demanding, SAMPLE, kernel__sigma=[1.0])


def test_a_value_that_is_refused_costs_the_others_nothing():
    swept = kopt.sweep(SoftMargin, SAMPLE, C=[1.0, -1.0, 0.5], kernel__sigma=[0.7, 0.0])
    failed = [point for point in swept if point.solution is None]
    assert [point.parameters for point in failed] == [
        {"C": 1.0, "kernel__sigma": 0.0},
        {"C": -1.0, "kernel__sigma": 0.7},
        {"C": -1.0, "kernel__sigma": 0.0},
        {"C": 0.5, "kernel__sigma": 0.0},
    ]
    assert all(isinstance(point.error, InputError) for point in failed)
    assert swept.table[2]["error"] == str(failed[1].error)
    assert swept.table[2]["value"] is None
    assert [row["holds"] for row in swept.table] == [True, None, None, None, True, None]
    assert "The parameter C is -1.0, but must be" in str(swept)
    assert "6 points, 4 failed, all certificates hold" in str(swept)


def test_a_value_without_a_solution_costs_the_others_nothing():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    sample = Sample(X, [1, 1, -1, -1], kernel=Polynomial(degree=2))
    swept = kopt.sweep(HardMargin, sample, kernel__degree=[1, 2, 3])
    assert isinstance(swept[0].error, Infeasible)
    assert [point.error for point in swept[1:]] == [None, None]
    assert swept.table[0]["error"] == str(swept[0].error)


def test_a_sweep_of_one_refused_value_is_refused():
    with pytest.raises(InputError, match="The parameter C is -1"):
        kopt.sweep(SoftMargin, SAMPLE, C=-1)


def test_a_faulty_declaration_is_raised_at_once(recording):
    class Faulty(SoftMargin):
        def primal(self, s):
            raise RuntimeError("mine")

    with pytest.raises(kopt.DeclarationError, match="mine"):
        kopt.sweep(Faulty, SAMPLE, C=[1.0, 2.0], method="RECORDING")
    assert not recording.problems


def test_certificates_that_do_not_hold_are_said_once(recording):
    recording.wrong_above = 0.5
    with pytest.warns(CertificateWarning) as warned:
        swept = kopt.sweep(SoftMargin, SAMPLE, C=[4.0, 0.1, 1.0], method="RECORDING")
    assert [str(each.message) for each in warned] == [
        "At 2 of 3 points the certificate does not hold to 1e-06, first at C = 4. Look at sweep.doubtful, and at the "
        "bounds in the certificates of these solutions."
    ]
    assert warned[0].filename == __file__
    assert [row["holds"] for row in swept.table] == [False, True, False]
    assert swept.doubtful == [swept[0], swept[2]]
    assert str(swept).startswith("sweep of SoftMargin: 3 points, 2 of 3 certificates DO NOT HOLD to 1e-06")
    assert str(swept).count(" NO ") == 2


def test_other_warnings_pass(recording):
    with pytest.warns(UserWarning, match="mine"):
        kopt.sweep(
            SoftMargin, SAMPLE, C=[1.0], method="RECORDING", callback=lambda moment: warnings.warn("mine", stacklevel=1)
        )


@pytest.mark.parametrize("catching", [False, True])
def test_what_is_finished_is_returned_after_an_interruption(recording, catching):
    recording.interrupted_at, recording.catching = 3, catching
    swept = kopt.sweep(SoftMargin, SAMPLE, C=[4.0, 0.1, 1.0, 2.0], method="RECORDING")
    assert swept.interrupted
    assert [point.parameters["C"] for point in swept] == [0.1, 1.0]
    assert all(point.solution.certificate.holds(CERTIFIED) for point in swept)
    assert str(swept).startswith("sweep of SoftMargin: 2 of 4 points, interrupted, all certificates hold")
    assert recording.solved("C") == [(0.1,), (1.0,), (2.0,)]


def test_an_interruption_of_the_first_point_returns_no_points(recording):
    recording.interrupted_at = 1
    swept = kopt.sweep(SoftMargin, SAMPLE, C=[0.1, 1.0], method="RECORDING")
    assert swept.interrupted
    assert len(swept) == 0
    assert str(swept).startswith("sweep of SoftMargin: 0 of 2 points, interrupted")
    assert "0 of 2 points" in swept._repr_html_()


@pytest.mark.parametrize("error", [RuntimeError("mine"), InputError("Mine.", "Yours.")], ids=["any", "of kopt"])
def test_an_exception_of_the_callback_propagates_unchanged(recording, capsys, error):
    def callback(moment):
        raise error

    with pytest.raises(type(error)) as caught:
        kopt.sweep(SoftMargin, SAMPLE, C=[0.1, 1.0], method="RECORDING", callback=callback, progress=True)
    assert caught.value is error
    assert len(recording.problems) == 1
    assert capsys.readouterr().err.endswith("\n")


def test_the_line_says_which_point_is_under_way(recording, capsys):
    told = []
    kopt.sweep(
        SoftMargin,
        SAMPLE,
        kernel__sigma=0.7,
        C=[0.1, 1.0, 10.0],
        method="RECORDING",
        callback=told.append,
        progress=True,
    )
    written = capsys.readouterr().err
    assert written.count("\n") == 1
    assert "\r3 of 3, kernel__sigma = 0.7, C = 10, gap 4e-07, " in written
    assert written.rstrip().endswith(" s")
    assert len(told) == 3


def test_the_gap_of_one_point_is_not_shown_for_the_next(recording, capsys):
    recording.silent_above = 0.5
    kopt.sweep(SoftMargin, SAMPLE, C=[0.1, 1.0], method="RECORDING", progress=True)
    last = capsys.readouterr().err.split("\r")[-1]
    assert last.startswith("2 of 2, C = 1, ")
    assert "gap" not in last


def test_nothing_is_written_where_nobody_watches(capsys):
    kopt.sweep(SoftMargin, SAMPLE, C=[0.1, 1.0])
    assert capsys.readouterr() == ("", "")


def test_the_table_has_a_row_for_each_point():
    swept = kopt.sweep(SoftMargin, SAMPLE, C=[0.5, 2.0], method="DENSE")
    for row, (_, solution) in zip(swept.table, swept, strict=True):
        certificate = solution.certificate
        assert row == {
            "C": solution.formulation.C,
            "value": solution.value,
            "relative_gap": certificate.bounds.relative_gap,
            "holds": True,
            "support_vectors": len(certificate.support_vectors),
            "seconds": solution.attempts[0].seconds,
            "method": "DENSE",
            "error": None,
        }


def test_without_bounds_the_gap_is_that_of_the_answer():
    [point] = swept = kopt.sweep(PrimalOnly, SAMPLE, C=[1.0], kernel__sigma=[0.7])
    assert not point.solution.certificate.bounds.known
    assert swept.table[0]["relative_gap"] == point.solution.certificate.as_given.gap.relative
    assert swept.table[0]["relative_gap"] <= CERTIFIED


def test_a_sweep_is_a_sequence():
    swept = kopt.sweep(SoftMargin, SAMPLE, C=[0.5, 1.0, 2.0], method="DENSE")
    assert isinstance(swept, Sweep)
    assert len(swept) == 3
    assert swept[-1].parameters == {"C": 2.0}
    assert swept[:2] == swept.points[:2]
    assert [point for point in swept] == list(swept.points)  # noqa: C416
    parameters, solution = swept[0]
    assert parameters == {"C": 0.5}
    assert solution is swept[0].solution


def test_the_columns_of_the_text_are_aligned():
    swept = kopt.sweep(SoftMargin, SAMPLE, C=[0.05, 10.0, -1.0], method="DENSE")
    headline, header, *rows = str(swept).splitlines()
    assert headline == "sweep of SoftMargin: 3 points, 1 failed, all certificates hold to 1e-06"
    assert header.split("  ")[-1] == "method"
    column = header.index("method")
    assert rows[0][column:] == rows[1][column:] == "DENSE"
    assert rows[2][column:] == "The parameter C is -1.0, but must be a finite number > 0."
    end = header.index("value") + len("value")
    assert [row[:end].split()[0] for row in rows] == ["0.05", "10", "-1"]
    assert all(row[end] == " " and row[end - 1] != " " for row in rows)
    assert repr(swept) == str(swept)


def test_a_notebook_shows_a_table():
    swept = kopt.sweep(SoftMargin, SAMPLE, C=[0.5, -1.0], method="DENSE")
    shown = swept._repr_html_()
    assert shown.count("<tr") == 3
    assert "support vectors" in shown
    assert "The parameter C is -1.0, but must be a finite number &gt; 0." in shown


def test_the_best_point_has_the_largest_score():
    swept = kopt.sweep(SoftMargin, SAMPLE, C=[0.5, -1.0, 2.0, 1.0], method="DENSE")
    assert swept.best(lambda solution: solution.formulation.C).parameters == {"C": 2.0}
    assert swept.best(lambda solution: -solution.formulation.C).parameters == {"C": 0.5}
    assert swept.best(lambda solution: 0.0) is swept[0]
    nan_first = swept.best(lambda solution: np.nan if solution.formulation.C == 0.5 else -solution.formulation.C)
    assert nan_first.parameters == {"C": 1.0}
    with pytest.raises(InputError, match="None of the 4 points of the sweep has a score"):
        swept.best(lambda solution: np.nan)


def moved_from(previous, problem):
    before = boxes_of(Problem(previous.formulation, previous.sample))
    return moved_start(previous.dual, before, boxes_of(problem))


def moved(old, new, sample=SAMPLE, method="DENSE"):
    previous = kopt.solve(old, sample, method=method)
    return previous, moved_from(previous, Problem(new, sample))


@pytest.mark.parametrize("C", [3.0, 0.2])
def test_what_is_at_its_bound_moves_with_it(C):
    costs = np.linspace(0.5, 2.0, SAMPLE.n)
    sample = Sample(SAMPLE.X, SAMPLE.y, kernel=Gaussian(sigma=0.7), costs=costs)
    previous, start = moved(SoftMargin(C=0.5), SoftMargin(C=C), sample)
    alpha = previous.dual.alpha
    at_bound = np.abs(alpha - 0.5 * costs) <= 1e-9 * 0.5 * costs
    assert 0 < at_bound.sum() < SAMPLE.n
    assert np.array_equal(start["alpha"][at_bound], C * costs[at_bound])
    assert start["alpha"] == pytest.approx(alpha * C / 0.5, rel=1e-12)
    assert (start["alpha"] <= C * costs).all()


def test_a_lower_bound_is_followed_as_well():
    z = np.array([-1.0, -0.5, 1.0, 0.0])
    old, new = (np.full(4, -1.0), np.full(4, 1.0)), (np.full(4, -3.0), np.full(4, 2.0))
    assert _moved(z, old, new).tolist() == [-3.0, -1.75, 2.0, -0.5]


def test_a_single_bound_is_followed_and_nothing_else_moves():
    z = np.array([0.0, 0.5, 3.0, -np.pi])
    old = np.array([0.0, 0.0, 0.0, -np.inf]), np.full(4, np.inf)
    new = np.array([1.0, 0.0, 0.0, -np.inf]), np.array([np.inf, np.inf, 2.0, np.inf])
    assert _moved(z, old, new).tolist() == [1.0, 0.5, 2.0, -np.pi]


def test_bounds_that_cross_are_told_apart():
    old, new = (np.zeros(2), np.ones(2)), (np.ones(2), np.full(2, 2.0))
    assert _moved(np.array([0.0, 1.0]), old, new).tolist() == [1.0, 2.0]


def test_a_single_number_moves_like_a_vector():
    old, new = (np.array(0.0), np.array(1.0)), (np.array(0.0), np.array(2.0))
    assert _moved(np.array(1.0), old, new) == 2.0


def test_without_an_upper_bound_the_variables_stay():
    previous, start = moved(BY_NAME["TwoNormSoftMargin"](C=0.5), BY_NAME["TwoNormSoftMargin"](C=2.0))
    assert np.array_equal(start["alpha"], np.maximum(previous.dual.alpha, 0.0))


def test_without_a_dual_the_multipliers_are_passed_on():
    previous = kopt.solve(PrimalOnly(C=1.0), SAMPLE)
    start = moved_from(previous, Problem(PrimalOnly(C=2.0), SAMPLE))
    assert set(start) == {"alpha", "mu"}
    assert start == dict(previous.dual)


@pytest.mark.parametrize("values", [[0.5, 1.0], [1.0, -1.0, 2.0]])
def test_the_dual_of_each_point_is_read_once(recording, monkeypatch, values):
    read = []
    counted = problem_module.quadratic_program
    monkeypatch.setattr(problem_module, "quadratic_program", lambda *given: read.append(given[0].C) or counted(*given))
    # kopt.sweep is the function; a module below has to be asked for.
    monkeypatch.setattr(import_module("kopt.sweep.moved_start"), "feasible_polyhedron", None)
    kopt.sweep(SoftMargin, SAMPLE, C=values, method="RECORDING")
    assert read == [C for C in values if C > 0]
    assert all("quadratic" in vars(problem) for problem in recording.problems)


def test_a_dual_that_is_no_quadratic_program_is_read_for_its_bounds():
    problem = Problem(BY_NAME["LogisticRegression"](C=3.0), SAMPLE)
    assert isinstance(problem.quadratic, str)
    lower, upper = boxes_of(problem)["alpha"]
    assert lower.tolist() == [0.0] * SAMPLE.n
    assert upper.tolist() == [3.0] * SAMPLE.n


def test_an_empty_box_is_left_to_the_solvers():
    class Empty(SoftMargin):
        def dual(self, s):
            program = super().dual(s)
            program.domain = (program.variables["alpha"] >= 2 * self.C,)
            return program

    problem = Problem(Empty(), SAMPLE)
    assert "empty" in problem.quadratic
    assert boxes_of(problem) is None


def test_a_dual_with_a_single_number_among_its_variables_can_be_moved():
    fisher = instance("FisherQuotient", "gaussian", 0)
    previous = kopt.solve(fisher.formulation, fisher.sample)
    start = moved_from(previous, Problem(fisher.formulation, fisher.sample))
    assert start["nu"].shape == ()
    assert start["alpha"] == pytest.approx(previous.dual.alpha, abs=ENCLOSURE)


def test_a_start_for_other_points_is_none():
    previous = kopt.solve(SoftMargin(C=1.0), SAMPLE)
    assert moved_from(previous, Problem(SoftMargin(C=1.0), example(Task.CLASSIFICATION, n=20))) is None
    assert moved_from(previous, Problem(BY_NAME["EpsilonInsensitive"](), SAMPLE)) is None


def test_the_same_problem_keeps_its_solution():
    previous, start = moved(SoftMargin(C=1.0), SoftMargin(C=1.0))
    assert start["alpha"] == pytest.approx(previous.dual.alpha, abs=ENCLOSURE)


@pytest.mark.parametrize(("old", "new"), [(0.1, 0.16), (0.5, 0.8), (1.0, 1.6)])
def test_a_moved_start_is_nearer_to_the_optimum_than_the_solution_it_came_from(old, new):
    previous, start = moved(SoftMargin(C=old), SoftMargin(C=new))
    program = Problem(SoftMargin(C=new), SAMPLE).quadratic
    P, q = program.dense()

    def value(alpha):
        z = nearby_point(alpha, program.feasible)
        return z @ P @ z / 2 + q @ z

    best = value(kopt.solve(SoftMargin(C=new), SAMPLE).dual.alpha)
    assert value(start["alpha"]) - best < 0.7 * (value(previous.dual.alpha) - best)
