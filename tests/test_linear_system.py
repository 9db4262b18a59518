"""Duals without inequalities, solved as one linear system: exactly, and by conjugate gradients where K is too large."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import kopt
from kopt import Sample
from kopt.gram import Gram
from kopt.kernels import Gaussian, Linear, Precomputed
from kopt.projection import Polyhedron
from kopt.quadratic import KernelTerm, QuadraticProgram
from kopt.solvers import Problem, conjugate_gradients, linear_system, preconditioner
from kopt.solvers.equality_program import EqualityProgram
from kopt.solvers.factorisation import minimiser
from kopt.solvers.linear_system import LinearSystem
from kopt.solvers.preconditioner import Preconditioner
from kopt.solvers.solver import INTERRUPTED
from tests.instances import BY_NAME, KERNELS, instance
from tests.test_conformance import degenerate
from tests.tolerances import CERTIFIED, ENCLOSURE, VALUE

EPS = np.finfo(float).eps
MACHINES = (
    "FisherDiscriminant",
    "ParzenClassifier",
    "CentreOfMass",
    "LeastSquares",
    "MinimumNormInterpolation",
    "Ridge",
    "RidgeWithOffset",
)
# With a shift in every variable, so that conjugate gradients have both bounds.
SHIFTED = ("FisherDiscriminant", "Ridge", "RidgeWithOffset")
# A direct solution, against an interior point method that stops at 1e-11.
EXACT = 1e-9


def quadratic(K, shift, linear, rows=None, sides=(), lower=None, upper=None, J=None):
    n = len(linear)
    free = np.full(n, np.inf)
    feasible = Polyhedron(-free if lower is None else lower, free if upper is None else upper, rows, sides)
    term = KernelTerm(0.5, Gram(Precomputed(K), np.arange(len(K))), sp.csr_array(np.eye(n) if J is None else J))
    return QuadraticProgram({"z": cp.Variable(n, name="z")}, (term,), np.asarray(shift, dtype=float), linear, feasible)


def answered(program):
    """The solver's answer to a program that no formulation has declared."""
    problem = Problem(BY_NAME["Ridge"](), Sample([[0.0]], [0.0]))
    vars(problem)["quadratic"] = program
    return LinearSystem().solve(problem)


def minimised(program):
    system = EqualityProgram(program)
    return minimiser(system, system.nearest(np.zeros(len(program.linear))))


def kkt(P, q, A, b):
    """The shortest solution of the bordered system by the pseudo-inverse."""
    m = len(A)
    bordered = np.block([[P, A.T], [A, np.zeros((m, m))]])
    return (np.linalg.pinv(bordered, rcond=1e-11) @ np.concatenate([-q, b]))[: len(q)]


def positive(rng, n, rank=None):
    F = rng.standard_normal((n, n if rank is None else rank))
    return F @ F.T


def regression(n=300, kernel=None, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) + 0.5
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(n)
    return Sample(X, y, kernel=kernel or Gaussian(sigma=1.0), costs=rng.uniform(0.5, 2.0, n), **options)


def labelled(name, sample):
    if BY_NAME[name].task is kopt.Task.REGRESSION:
        return sample
    return sample.relabelled(np.where(sample.y > 0.7, 1, -1), costs=None)


def beyond_memory(name, n=300, ridge=0.05, **options):
    """A problem whose K is one byte larger than the budget."""
    sample = labelled(name, regression(n, budget=8 * n * n - 1))
    return Problem(BY_NAME[name](ridge=ridge), sample, **options)


def in_memory(problem):
    """The certified optimum of the same problem, factorised."""
    given = problem.sample
    sample = Sample(given.X, given.y, kernel=given.gram().kernel, costs=given.costs)
    solution = kopt.solve(problem.formulation, sample, method="LINEAR_SYSTEM")
    assert solution.history == ()
    assert solution.certificate.holds(EXACT)
    return solution


class TestAcceptance:
    @pytest.mark.parametrize("name", list(BY_NAME))
    def test_every_dual_is_accepted_or_refused_with_a_reason(self, name):
        given = instance(name, "gaussian", 0)
        problem = Problem(given.formulation, given.sample)
        reason = LinearSystem().accepts(problem)
        if name in MACHINES:
            assert reason is None
            return
        assert reason.strip()
        if not isinstance(problem.quadratic, str):
            lower, upper = problem.quadratic.feasible.box
            inequalities = problem.quadratic.feasible.G is not None
            assert inequalities or np.any(np.isfinite(lower) & (lower < upper))

    def test_the_reason_counts_the_bounds(self):
        given = instance("SoftMargin", "gaussian", 0)
        n = given.sample.n
        with pytest.raises(kopt.InputError, match=f"{n} of its {n} dual variables have a bound"):
            kopt.solve(given.formulation, given.sample, method="LINEAR_SYSTEM")

    def test_primals_are_left_alone(self):
        given = instance("Ridge", "gaussian", 0)
        assert LinearSystem().accepts(Problem(given.formulation, given.sample, "primal"))

    def test_it_comes_first_and_says_why(self):
        given = instance("Ridge", "gaussian", 0)
        solution = kopt.solve(given.formulation, given.sample)
        assert solution.method == "LINEAR_SYSTEM"
        assert "LINEAR_SYSTEM because the optimum of a dual without inequalities is" in str(solution)


class TestMachines:
    @pytest.mark.parametrize("seed", [0, 1])
    @pytest.mark.parametrize("kernel", list(KERNELS))
    @pytest.mark.parametrize("name", MACHINES)
    def test_the_answer_is_exact(self, name, kernel, seed):
        given = instance(name, kernel, seed)
        solution = kopt.solve(given.formulation, given.sample, method="LINEAR_SYSTEM")
        assert solution.attempts[0].status == "solved"
        assert solution.certificate.holds(EXACT)
        assert abs(solution.value - given.optimum) <= VALUE * solution.certificate.as_given.scale

    def test_means_that_coincide(self):
        """The optimum is 0, and so is every term of it: only the exact multipliers are certified."""
        X, y = degenerate("opposite duplicates")
        solution = kopt.solve(BY_NAME["FisherDiscriminant"](), Sample(X, y), method="LINEAR_SYSTEM")
        assert solution.certificate.holds(CERTIFIED)
        np.testing.assert_array_equal(solution.dual.alpha, y)

    def test_targets_that_no_function_takes(self):
        sample = Sample([[1.0], [1.0], [2.0]], [1.0, 2.0, 3.0])
        problem = Problem(BY_NAME["MinimumNormInterpolation"](), sample)
        answer = LinearSystem().solve(problem)
        assert (answer.status, answer.values) == ("unbounded", {})
        with pytest.raises(kopt.Infeasible, match="No function of this kernel takes these targets"):
            kopt.solve(problem.formulation, sample)

    def test_a_kernel_on_several_scales(self):
        """Lengths from 1e-4 to 1e4: without units of their own the short points would count as 0."""
        X = np.diag(np.logspace(-4, 4, 9))
        y = np.arange(1.0, 10.0) * np.diag(X)
        solution = kopt.solve(BY_NAME["MinimumNormInterpolation"](), Sample(X, y), method="LINEAR_SYSTEM")
        np.testing.assert_allclose(solution.dual.alpha * np.diag(X), np.arange(1.0, 10.0), rtol=4 * EPS)

    def test_multipliers_that_are_fixed_need_no_matrix(self):
        sample = Sample(np.linspace(0.0, 1.0, 20_000)[:, None], kernel=Gaussian(sigma=1.0))
        answer = LinearSystem().solve(Problem(BY_NAME["CentreOfMass"](), sample))
        np.testing.assert_array_equal(answer.values["alpha"], np.full(sample.n, 1 / sample.n))
        assert "dense" not in vars(sample.gram())


class TestFactorisation:
    @pytest.mark.parametrize("seed", range(6))
    def test_it_solves_the_bordered_system(self, seed):
        rng = np.random.default_rng(seed)
        n, m = 12, seed % 4
        K, shift, q = positive(rng, n), rng.uniform(0.0, 1.0, n), rng.standard_normal(n)
        A, b = rng.standard_normal((m, n)), rng.standard_normal(m)
        z = minimised(quadratic(K, shift, q, A, b))
        np.testing.assert_allclose(z, kkt(K + np.diag(shift), q, A, b), rtol=EXACT, atol=EXACT)

    def test_curvature_is_needed_between_the_rows_only(self):
        """P has a null space of dimension 2, and the two rows pin it down."""
        rng = np.random.default_rng(0)
        K, A, b = positive(rng, 8, rank=6), rng.standard_normal((2, 8)), np.array([1.0, -2.0])
        q = rng.standard_normal(8)
        z = minimised(quadratic(K, np.zeros(8), q, A, b))
        np.testing.assert_allclose(z, kkt(K, q, A, b), rtol=EXACT, atol=EXACT)

    @pytest.mark.parametrize("last", [0.0, 1e-14])
    def test_redundant_rows_count_once(self, last):
        """Also where they contradict each other in their last digits."""
        rng = np.random.default_rng(1)
        K, q, a = positive(rng, 7), rng.standard_normal(7), rng.standard_normal(7)
        A, b = np.array([a, a / 3, 7 * a]), np.array([1.0, 1 / 3, 7.0 * (1 + last)])
        answer = answered(quadratic(K, np.zeros(7), q, A, b))
        assert answer.status == "solved"
        np.testing.assert_allclose(answer.values["z"], kkt(K, q, A[:1], b[:1]), rtol=EXACT, atol=EXACT)

    def test_rows_in_conflict_have_no_point(self):
        a = np.array([1.0, 2.0])
        answer = answered(quadratic(np.eye(2), np.zeros(2), a, [a, a], [1.0, 1.001]))
        assert (answer.status, answer.values) == ("infeasible", {})

    def test_the_rows_are_met_to_rounding(self):
        rng = np.random.default_rng(10)
        K, q, A = positive(rng, 40), rng.standard_normal(40), rng.standard_normal((3, 40))
        program = quadratic(K, np.zeros(40), q, A, [1.0, 2.0, 3.0])
        assert program.feasible.contains(answered(program).values["z"])

    def test_fixed_coordinates_stay(self):
        rng = np.random.default_rng(2)
        K, q, a = positive(rng, 6), rng.standard_normal(6), rng.standard_normal(6)
        free = np.full(6, np.inf)
        lower, upper = -free, free.copy()
        lower[[1, 4]] = upper[[1, 4]] = [0.7, -1.3]
        z = minimised(quadratic(K, np.zeros(6), q, [a], [2.0], lower, upper))
        np.testing.assert_array_equal(z[[1, 4]], [0.7, -1.3])
        unit = np.eye(6)
        expected = kkt(K, q, np.array([a, unit[1], unit[4]]), np.array([2.0, 0.7, -1.3]))
        np.testing.assert_allclose(z, expected, rtol=EXACT, atol=EXACT)

    def test_a_combination_of_several_variables(self):
        """J stacks alpha and alpha_hat with opposite signs, so that P is singular; the shift mends it."""
        rng = np.random.default_rng(3)
        K, q = positive(rng, 5), rng.standard_normal(10)
        J = np.hstack([np.eye(5), -np.eye(5)])
        z = minimised(quadratic(K, np.full(10, 0.1), q, J=J))
        np.testing.assert_allclose(z, np.linalg.solve(J.T @ K @ J + 0.1 * np.eye(10), -q), rtol=EXACT, atol=EXACT)

    def test_of_many_solutions_it_finds_the_shortest(self):
        rng = np.random.default_rng(4)
        X = np.repeat(rng.standard_normal((6, 2)), 2, axis=0)
        K = Gaussian(sigma=1.0)(X, X)
        y = K @ rng.standard_normal(12)
        z = minimised(quadratic(K, np.zeros(12), -y))
        np.testing.assert_allclose(z, np.linalg.pinv(K, rcond=1e-11) @ y, rtol=EXACT, atol=EXACT)

    def test_a_pivot_that_is_rounding_counts_as_none(self):
        """A Cholesky factor exists, but what it makes of the last digits is no solution to prefer."""
        K = np.array([[1.0, 1.0], [1.0, 1.0 + 4 * EPS]])
        np.testing.assert_allclose(minimised(quadratic(K, np.zeros(2), -np.ones(2))), [0.5, 0.5], rtol=EXACT)

    def test_a_matrix_that_is_singular_to_rounding(self):
        """A wide Gaussian: the smallest eigenvalues are rounding, and the targets do not need them."""
        X = np.linspace(0.0, 1.0, 40)[:, None]
        K = Gaussian(sigma=1.0)(X, X)
        y = K @ np.ones(40)
        z = minimised(quadratic(K, np.zeros(40), -y))
        assert np.linalg.norm(K @ z - y) <= 1e-13 * np.linalg.norm(y)
        assert np.linalg.norm(z) <= 2 * np.sqrt(40)

    def test_a_slope_without_curvature_has_no_minimum(self):
        flat = quadratic(np.diag([1.0, 0.0]), np.zeros(2), np.array([0.0, 1.0]))
        assert minimised(flat) is None
        pinned = quadratic(np.diag([1.0, 0.0]), np.zeros(2), np.array([0.0, 1.0]), [[1.0, -1.0]], [0.0])
        np.testing.assert_allclose(minimised(pinned), [-1.0, -1.0], rtol=EXACT)

    @pytest.mark.skipif(np.finfo(np.longdouble).eps == EPS, reason="no precision beyond double on this machine")
    def test_the_solution_is_good_to_its_last_digits(self):
        rng = np.random.default_rng(5)
        X = rng.integers(-9, 10, (8, 3))
        K, q = (X @ X.T + 1) ** 2, rng.integers(-9, 10, 8)
        exact = rational_solution(K + 2 * np.eye(8, dtype=int), -q)
        z = minimised(quadratic(K.astype(float), np.full(8, 2.0), q.astype(float)))
        assert np.linalg.cond(K + 2 * np.eye(8)) > 1e3
        np.testing.assert_allclose(z, exact, rtol=4 * EPS)


def rational_solution(matrix, right):
    """The solution of a linear system of integers without rounding, by elimination."""
    rows = [[Fraction(int(v)) for v in (*row, side)] for row, side in zip(matrix, right, strict=True)]
    for k in range(len(rows)):
        pivot = next(i for i in range(k, len(rows)) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for i in range(len(rows)):
            if i != k:
                rows[i] = [v - rows[i][k] * w for v, w in zip(rows[i], rows[k], strict=True)]
    return np.array([float(row[-1]) for row in rows])


class TestConjugateGradients:
    @pytest.mark.parametrize("name", SHIFTED)
    def test_they_agree_with_the_factorisation(self, name):
        problem = beyond_memory(name)
        solution = kopt.solve(problem.formulation, problem.sample)
        assert solution.attempts[0].status == "solved"
        assert solution.certificate.holds(CERTIFIED)
        assert "dense" not in vars(problem.sample.gram())
        known = in_memory(problem)
        assert abs(solution.value - known.value) <= VALUE * known.certificate.as_given.scale

    @pytest.mark.parametrize("name", SHIFTED)
    def test_every_report_encloses_the_optimum(self, name, monkeypatch):
        monkeypatch.setattr(linear_system, "RANK", 5)
        problem = beyond_memory(name, tolerance=1e-9)
        assert LinearSystem().solve(problem).status == "solved"
        known, history = in_memory(problem), problem.watch.history
        slack = ENCLOSURE * known.certificate.as_given.scale
        assert len(history) > 5
        for moment in history:
            assert moment.dual <= known.value + slack
            assert moment.primal >= known.value - slack
        assert all(a.dual <= b.dual + slack for a, b in pairwise(history))
        assert history[0].relative_gap > 1e-3
        assert history[-1].relative_gap <= 1e-9
        assert history[-1].support_vectors == problem.sample.n

    def test_the_tolerance_is_the_one_asked_for(self, monkeypatch):
        monkeypatch.setattr(linear_system, "RANK", 5)
        counts, residuals = [], []
        for tolerance in (1e-3, 1e-6, 1e-10):
            problem = beyond_memory("Ridge", tolerance=tolerance)
            answer = LinearSystem().solve(problem)
            certificate = kopt.verify(problem.formulation, problem.sample, answer.values)
            assert certificate.holds(tolerance)
            counts.append(len(problem.watch.history))
            residuals.append(certificate.as_given.worst)
        assert counts == sorted(set(counts))
        assert residuals[0] > 1e-6 > residuals[1] > 1e-10

    def test_a_larger_factor_saves_iterations(self, monkeypatch):
        counts = []
        for rank in (0, 20, 200):
            monkeypatch.setattr(linear_system, "RANK", rank)
            problem = beyond_memory("RidgeWithOffset")
            assert LinearSystem().solve(problem).status == "solved"
            counts.append(len(problem.watch.history))
        assert counts[0] > 1.5 * counts[1] > 3 * counts[2]

    def test_explicit_features_are_the_whole_factor(self):
        sample = regression(1500, kernel=Linear())
        problem = Problem(BY_NAME["RidgeWithOffset"](ridge=0.3), sample)
        answer = LinearSystem().solve(problem)
        assert answer.status == "solved"
        assert len(problem.watch.history) <= 2
        assert kopt.verify(problem.formulation, sample, answer.values).holds(CERTIFIED)

    @pytest.mark.parametrize(("name", "iterations"), [("Ridge", 3), ("RidgeWithOffset", 1)])
    def test_points_far_from_the_origin(self, name, iterations):
        """K is 3e6 times the ridge; with an offset, what is large of it lies across the rows and costs nothing."""
        near = regression(1100, kernel=Linear())
        problem = Problem(BY_NAME[name](ridge=1e-2), Sample(near.X + 100, near.y))
        answer = LinearSystem().solve(problem)
        assert answer.status == "solved"
        assert len(problem.watch.history) <= iterations
        assert kopt.verify(problem.formulation, problem.sample, answer.values).holds(CERTIFIED)

    def test_a_matrix_that_fits_is_formed_once(self, monkeypatch):
        monkeypatch.setattr(linear_system, "FACTORISED", 100)
        problem = Problem(BY_NAME["Ridge"](ridge=0.05), regression(300))
        answer = LinearSystem().solve(problem)
        assert len(problem.watch.history) > 1
        assert "dense" in vars(problem.sample.gram())
        assert kopt.verify(problem.formulation, problem.sample, answer.values).holds(CERTIFIED)

    def test_interpolation_of_targets_in_the_range(self):
        rng = np.random.default_rng(6)
        X = rng.standard_normal((1100, 4))
        problem = Problem(BY_NAME["MinimumNormInterpolation"](), Sample(X, X @ [1.0, -2.0, 0.5, 3.0]))
        answer = LinearSystem().solve(problem)
        assert answer.status == "solved"
        np.testing.assert_allclose(X.T @ answer.values["alpha"], [1.0, -2.0, 0.5, 3.0], rtol=1e-6)

    def test_targets_beyond_the_range_are_unbounded(self):
        rng = np.random.default_rng(7)
        sample = Sample(rng.standard_normal((1100, 4)), rng.standard_normal(1100))
        answer = LinearSystem().solve(Problem(BY_NAME["MinimumNormInterpolation"](), sample))
        assert (answer.status, answer.values) == ("unbounded", {})

    def test_a_dual_without_linear_term(self, monkeypatch):
        """The shortest vector of an affine hull: nothing but the first slope says how large a slope is."""
        monkeypatch.setattr(linear_system, "FACTORISED", 10)
        rng = np.random.default_rng(11)
        K = positive(rng, 30) / 30
        program = quadratic(K, np.zeros(30), np.zeros(30), np.ones((1, 30)), [1.0])
        answer = answered(program)
        assert answer.status == "solved"
        np.testing.assert_allclose(answer.values["z"], kkt(K, np.zeros(30), np.ones((1, 30)), np.ones(1)), rtol=1e-4)


class TestStart:
    def test_at_the_optimum_there_is_nothing_to_do(self):
        problem = beyond_memory("Ridge")
        known = in_memory(problem)
        again = Problem(problem.formulation, problem.sample, start=known.dual)
        answer = LinearSystem().solve(again)
        assert answer.status == "solved"
        assert again.watch.history == []
        np.testing.assert_array_equal(answer.values["beta"], known.dual.beta)

    def test_from_a_neighbouring_ridge_it_begins_nearer(self):
        near = LinearSystem().solve(beyond_memory("Ridge", ridge=0.0501))
        cold, warm = beyond_memory("Ridge"), beyond_memory("Ridge", start=near.values)
        assert {LinearSystem().solve(each).status for each in (cold, warm)} == {"solved"}
        assert warm.watch.history[0].relative_gap < 0.1 * cold.watch.history[0].relative_gap

    def test_one_that_leaves_the_rows_is_moved(self):
        n = 300
        problem = beyond_memory("RidgeWithOffset", start={"beta": np.ones(n)})
        answer = LinearSystem().solve(problem)
        assert answer.status == "solved"
        assert abs(answer.values["beta"].sum()) <= 4 * EPS * np.abs(answer.values["beta"]).sum()
        assert kopt.verify(problem.formulation, problem.sample, answer.values).holds(CERTIFIED)

    @pytest.mark.parametrize("beta", [np.zeros(7), np.full(300, np.nan)])
    def test_one_of_another_sample_is_refused(self, beta):
        problem = beyond_memory("Ridge")
        with pytest.raises(kopt.InputError, match=r"The (value of beta has shape|start has 300 values of beta)"):
            kopt.solve(problem.formulation, problem.sample, method="LINEAR_SYSTEM", start={"beta": beta})


class TestEnds:
    def test_an_interrupt_returns_the_best_so_far(self, monkeypatch):
        monkeypatch.setattr(linear_system, "RANK", 5)

        def stop(moment):
            if moment.iteration == 3:
                raise KeyboardInterrupt

        problem = beyond_memory("RidgeWithOffset")
        with pytest.warns(kopt.CertificateWarning):
            solution = kopt.solve(problem.formulation, problem.sample, callback=stop)
        assert [attempt.status for attempt in solution.attempts] == [INTERRUPTED]
        assert len(solution.history) == 3
        known = in_memory(problem)
        bounds = solution.certificate.bounds
        assert bounds.lower <= known.value <= bounds.upper
        assert np.isclose(solution.history[-1].dual, bounds.lower, rtol=1e-9)

    def test_a_limit_on_the_iterations_is_said(self, monkeypatch):
        monkeypatch.setattr(linear_system, "RANK", 5)
        monkeypatch.setattr(conjugate_gradients, "MOST_ITERATIONS", 4)
        problem = beyond_memory("Ridge")
        answer = LinearSystem().solve(problem)
        assert answer.status == "stopped after 4 iterations"
        assert len(problem.watch.history) == 4
        certificate = kopt.verify(problem.formulation, problem.sample, answer.values)
        assert not certificate.holds(CERTIFIED)
        assert certificate.bounds.lower <= in_memory(problem).value <= certificate.bounds.upper

    def test_a_tolerance_below_rounding_ends(self):
        problem = beyond_memory("Ridge", tolerance=1e-16)
        answer = LinearSystem().solve(problem)
        assert answer.status == "stopped where rounding ends its progress"
        bounds = kopt.verify(problem.formulation, problem.sample, answer.values).bounds
        assert bounds.relative_gap <= CERTIFIED


class TestPreconditioner:
    @pytest.mark.parametrize("m", [0, 2])
    def test_with_a_whole_factor_it_is_the_inverse(self, monkeypatch, m):
        monkeypatch.setattr(preconditioner, "NEGLIGIBLE", 0.0)
        rng = np.random.default_rng(9)
        A = rng.standard_normal((m, 9))
        program = EqualityProgram(quadratic(positive(rng, 9), rng.uniform(1.0, 2.0, 9), np.ones(9), A, np.zeros(m)))
        slope = rng.standard_normal(9)
        x = Preconditioner(program, rank=9)(slope)
        np.testing.assert_allclose(program.W.T @ x, np.zeros(m), atol=1e-12)
        np.testing.assert_allclose(program.within(program.product(x)), program.within(slope), atol=1e-10)

    def test_explicit_features_are_the_factor_where_they_are_few_enough(self):
        X = np.random.default_rng(10).standard_normal((20, 3))
        term = KernelTerm(0.5, Gram(Linear(), X), sp.csr_array(np.eye(20)))
        program = EqualityProgram(replace(quadratic(np.eye(20), np.ones(20), np.ones(20)), terms=(term,)))
        F, rest = preconditioner._factor(program, rank=3)
        np.testing.assert_allclose(F, program.unit[:, None] * X)
        assert not rest.any()
        F, rest = preconditioner._factor(program, rank=2)
        assert F.shape == (20, 2)
        assert rest.max() > 0
