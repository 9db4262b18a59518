"""Margins over semi-definite combinations, kernel by kernel: against a conic solver, plain machines, many points."""

import warnings

import cvxpy as cp
import numpy as np
import pytest

import kopt
from formulations.classification import SoftMargin
from formulations.kernel_learning import (
    Alignment,
    SemidefiniteHardMarginKernelLearning,
    SemidefiniteSoftMarginKernelLearning,
    SemidefiniteTwoNormKernelLearning,
    SoftMarginKernelLearning,
)
from formulations.kernel_learning.masters import TraceMaster
from formulations.kernel_learning.solvers import kernel_generation
from formulations.kernel_learning.solvers.kernel_generation import Generation, HeldSums, KernelGeneration
from formulations.regression import EpsilonInsensitive
from kopt import Sample
from kopt.kernels import Gaussian, Linear, Polynomial
from kopt.solvers import Problem
from kopt.solvers.solver import INTERRUPTED
from kopt.views import ProductView
from tests.test_bad_input import refusal
from tests.tolerances import CERTIFIED, MULTIPLIER, PRIMAL_SIDE, VALUE

METHOD = "KERNEL_GENERATION"
SOFT, HARD, TWO = (
    SemidefiniteSoftMarginKernelLearning(C=1.7, c=0.6),
    SemidefiniteHardMarginKernelLearning(c=0.6),
    SemidefiniteTwoNormKernelLearning(C=1.7, c=0.6),
)
KERNELS = {
    "narrow": Gaussian(sigma=0.5),
    "wide": Gaussian(sigma=2.0),
    "linear": Linear(),
    "quadratic": Polynomial(degree=2, R=1.0),
}
every_machine = pytest.mark.parametrize("machine", [SOFT, HARD, TWO], ids=["soft", "hard", "two-norm"])


def solve(machine, sample, **options):
    """The answer, whose certificate is for the test to judge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kopt.CertificateWarning)
        return kopt.solve(machine, sample, method=METHOD, **options)


def classes(n, kernels=None, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    y = np.where(X[:, 0] + X[:, 1] ** 2 - 1 + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return Sample(X, y, kernel=dict(kernels or KERNELS), **options)


def assert_certified(solution):
    assert solution.certificate.holds(CERTIFIED), str(solution.certificate)
    assert solution.certificate.bounds.known


def stopping_at(iteration):
    def stop(moment):
        if moment.iteration == iteration:
            raise KeyboardInterrupt

    return stop


class TestTheOptimum:
    @every_machine
    @pytest.mark.parametrize(("n", "seed"), [(12, 0), (18, 1), (25, 2)])
    def test_a_conic_solver_finds_the_same(self, machine, n, seed):
        sample = classes(n, seed=seed)
        found = solve(machine, sample)
        assert found.attempts[0].status == "converged"
        assert_certified(found)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", kopt.CertificateWarning)
            conic = kopt.solve(machine, sample, method="CLARABEL", side="dual")
        assert conic.certificate.bounds.relative_gap <= PRIMAL_SIDE
        assert found.value == pytest.approx(conic.value, rel=VALUE)
        np.testing.assert_allclose(
            found.kernel(sample.X), conic.kernel(sample.X), atol=1e-2 * np.max(np.abs(conic.kernel(sample.X)))
        )

    @every_machine
    def test_costs_per_point_are_counted(self, machine):
        if machine is HARD:
            pytest.skip("it has no costs")
        sample = classes(15, costs=np.linspace(0.5, 2.0, 15))
        found, conic = solve(machine, sample), kopt.solve(machine, sample, method="CLARABEL", side="primal")
        assert_certified(found)
        assert found.value == pytest.approx(conic.value, rel=PRIMAL_SIDE)

    @every_machine
    def test_a_negative_weight_pays(self, machine):
        sample = classes(18, seed=1)
        found = solve(machine, sample)
        assert np.min(found.primal.mu) < -1e-3
        K = ProductView(sample).mixture(found.primal.mu)
        assert np.linalg.eigvalsh(K)[0] >= -1e-12 * np.linalg.norm(K)
        assert np.trace(K) == pytest.approx(0.6 * 18)
        if machine is SOFT:
            assert found.value < 0.99 * kopt.solve(SoftMarginKernelLearning(C=1.7, c=0.6), sample).value

    @every_machine
    def test_the_multiplier_is_semidefinite_and_complementary(self, machine):
        found = solve(machine, classes(18, seed=1))
        V, primal = found.dual.V, found.primal
        K = ProductView(found.sample).mixture(primal.mu)
        block = np.block([[K, primal.f[:, None]], [primal.f, np.full((1, 1), primal.t)]])
        assert np.linalg.eigvalsh(V)[0] >= -1e-14 * np.linalg.norm(V)
        assert np.linalg.eigvalsh(block)[0] >= -1e-12 * np.linalg.norm(block)
        assert np.sum(V * block) == pytest.approx(0.0, abs=CERTIFIED * found.value)


class TestOneKernel:
    @every_machine
    def test_it_gives_the_plain_machine_back(self, machine):
        """In the first round both values belong to the same kernel, however rough z is: that is no reason to stop."""
        sample = classes(14, {"k": Gaussian(sigma=1.0)}, seed=3)
        found = solve(machine, sample)
        assert_certified(found)
        plain = kopt.solve(machine.machine(), Sample(sample.X, sample.y, kernel=0.6 * Gaussian(sigma=1.0)))
        assert found.value == pytest.approx(plain.value, rel=VALUE)
        np.testing.assert_allclose(found.primal.mu, [0.6], rtol=1e-10)
        f = plain.decision_function(sample.X)
        np.testing.assert_allclose(found.decision_function(sample.X), f, atol=MULTIPLIER * np.max(np.abs(f)))

    @every_machine
    def test_the_learnt_kernel_in_the_plain_machine_gives_the_same(self, machine):
        found = solve(machine, classes(18, seed=1))
        plain = kopt.solve(machine.machine(), Sample(found.sample.X, found.sample.y, kernel=found.kernel))
        assert found.value == pytest.approx(plain.value, rel=VALUE)


class TestBetweenTheBounds:
    @every_machine
    @pytest.mark.parametrize(("n", "seed"), [(18, 1), (120, 0)])
    def test_both_values_enclose_the_optimum_at_each_round(self, machine, n, seed):
        found = solve(machine, classes(n, seed=seed))
        bounds = found.certificate.bounds
        width = bounds.relative_gap + VALUE
        for moment in found.history:
            assert moment.dual <= bounds.upper * (1 + width)
            assert bounds.lower * (1 - width) <= moment.primal
        lower = np.array([moment.dual for moment in found.history])
        assert np.all(np.diff(lower) >= 0)
        gaps = [moment.relative_gap for moment in found.history]
        assert gaps[-1] <= 0.1 * CERTIFIED < 1e-3 < gaps[0]
        assert found.history[-1].dual == pytest.approx(found.value, rel=VALUE)

    def test_a_rough_answer_takes_fewer_rounds(self):
        rough, fine = (solve(SOFT, classes(25), tolerance=tolerance) for tolerance in (1e-2, 1e-6))
        assert rough.certificate.bounds.relative_gap <= 1e-2
        assert len(rough.history) < len(fine.history)

    @every_machine
    def test_a_limit_of_rounds_leaves_an_answer_and_bounds_on_it(self, machine, monkeypatch):
        sample = classes(18, seed=1)
        known = solve(machine, sample).certificate.bounds
        monkeypatch.setattr(kernel_generation, "MOST_ROUNDS", 3)
        found = solve(machine, sample)
        assert found.attempts[0].status == "stopped after 3 rounds"
        assert found.certificate.bounds.lower <= known.upper
        assert known.lower <= found.certificate.bounds.upper
        assert not found.certificate.holds(CERTIFIED)


class TestInterrupt:
    @every_machine
    def test_the_best_answer_so_far_is_returned_with_bounds_that_hold(self, machine):
        sample = classes(18, seed=1)
        known, gaps = solve(machine, sample).certificate.bounds, []
        for iteration in (1, 6):
            found = solve(machine, sample, callback=stopping_at(iteration))
            assert [attempt.status for attempt in found.attempts] == [INTERRUPTED]
            assert len(found.history) == iteration
            bounds = found.certificate.bounds
            assert bounds.lower <= known.upper
            assert known.lower <= bounds.upper
            assert not found.certificate.holds(CERTIFIED)
            gaps.append(bounds.relative_gap)
        assert gaps[1] < gaps[0] < np.inf

    def test_in_the_middle_of_a_search_too(self, monkeypatch):
        """Most of the time goes there; an interrupt of the cuts ends the rounds, not the cuts alone."""
        plain, calls = TraceMaster.solve, []

        def stop(master, G):
            calls.append(master)
            if sum(call is not calls[0] for call in calls) == 2:  # the second call of the second search
                raise KeyboardInterrupt
            return plain(master, G)

        monkeypatch.setattr(TraceMaster, "solve", stop)
        found = solve(SOFT, classes(18, seed=1))
        assert found.attempts[0].status == INTERRUPTED
        assert [call is calls[0] for call in calls[-3:]] == [True, False, False]
        assert found.certificate.bounds.relative_gap < np.inf

    def test_before_the_first_round_there_is_no_answer(self, monkeypatch):
        def stop(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(Generation, "_machine_solved", stop)
        answer = KernelGeneration().solve(Problem(SOFT, classes(12)))
        assert (answer.status, dict(answer.values)) == (INTERRUPTED, {})


class TestManyPoints:
    @every_machine
    def test_above_a_hundred_points_no_matrix_variable_is_solved_for(self, machine, monkeypatch):
        sizes, plain = [], cp.Problem.solve

        def counted(problem, *args, **options):
            sizes.extend(variable.size for variable in problem.variables())
            return plain(problem, *args, **options)

        monkeypatch.setattr(cp.Problem, "solve", counted)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", kopt.CertificateWarning)
            found = kopt.solve(machine, classes(120))
        assert [attempt.method for attempt in found.attempts] == [METHOD]
        assert_certified(found)
        assert max(sizes, default=0) < 120**2

    def test_few_points_come_first_too(self):
        found = kopt.solve(SOFT, classes(12))
        assert [attempt.method for attempt in found.attempts] == [METHOD]
        assert "stand for all of them" in found.attempts[0].reason


class TestDegenerate:
    @every_machine
    @pytest.mark.parametrize(
        "factors", [(1e-6,) * 4, (1e6,) * 4, (1e-6, 1.0, 1e6, 1e3)], ids=["small", "large", "uneven"]
    )
    def test_the_scales_of_the_kernels_do_not_matter(self, machine, factors):
        scaled = {name: f * kernel for f, (name, kernel) in zip(factors, KERNELS.items(), strict=True)}
        plain, found = (solve(machine, classes(12, kernels)) for kernels in (KERNELS, scaled))
        assert_certified(found)
        assert found.value == pytest.approx(plain.value, rel=VALUE)

    @every_machine
    def test_a_kernel_that_is_there_twice_changes_nothing(self, machine):
        twice = {**KERNELS, "again": KERNELS["narrow"], "double": 2.0 * KERNELS["linear"]}
        once, again = (solve(machine, classes(12, kernels)) for kernels in (KERNELS, twice))
        assert_certified(again)
        assert again.value == pytest.approx(once.value, rel=VALUE)

    @every_machine
    def test_kernels_of_rank_one(self, machine):
        sample = classes(14, seed=3)
        vectors = [*sample.X.T, sample.y + 0.3 * sample.X[:, 0]]
        found = solve(machine, Sample.from_gram({f"{j}": np.outer(v, v) for j, v in enumerate(vectors)}, sample.y))
        assert_certified(found)

    @every_machine
    def test_duplicated_points(self, machine):
        sample = classes(8, seed=3)
        twice = Sample(np.vstack([sample.X] * 2), np.append(sample.y, sample.y), kernel=KERNELS)
        assert_certified(solve(machine, twice))

    @every_machine
    def test_two_points(self, machine):
        found = solve(machine, Sample([[0.3, -1.0], [1.2, 0.4]], [-1.0, 1.0], kernel=KERNELS))
        assert_certified(found)

    @every_machine
    def test_a_kernel_that_is_0_everywhere_is_refused(self, machine):
        sample = Sample.from_gram({"good": np.eye(4), "void": np.zeros((4, 4))}, [1.0, -1.0, 1.0, -1.0])
        refusal(lambda: kopt.solve(machine, sample, method=METHOD), "trace of the kernel 'void' is 0")

    @pytest.mark.parametrize("C", [1e-4, 1e4])
    def test_penalties_of_any_size(self, C):
        assert_certified(solve(SemidefiniteSoftMarginKernelLearning(C=C), classes(15)))


class TestWhatItTakes:
    def test_other_problems_are_refused(self):
        sample = classes(10)
        for formulation in (Alignment(), SoftMargin(), SoftMarginKernelLearning()):
            reason = KernelGeneration().accepts(Problem(formulation, sample))
            assert reason.startswith("it learns semi-definite combinations, and the formulation has no `")
            assert reason.endswith("no `with_multipliers(s, dual, Z, tau)`")
            assert KernelGeneration().place(Problem(formulation, sample)) is None
        assert KernelGeneration().accepts(Problem(SOFT, sample, "primal")) == "it solves duals only"
        refusal(lambda: solve(SOFT, sample, side="primal"), "it solves duals only")

    def test_kernels_that_do_not_fit_are_refused(self):
        sample = classes(30, budget=100_000)
        assert "take 1.15e+05 bytes, more than 1e+05" in KernelGeneration().accepts(Problem(SOFT, sample))

    def test_a_machine_of_another_form_is_refused(self):
        class Regression(SemidefiniteSoftMarginKernelLearning):
            def machine(self):
                return EpsilonInsensitive()

        # the variables of both signs belong to the same points, which is no obstacle
        assert KernelGeneration().accepts(Problem(Regression(), classes(10))) is None

        class Other(SemidefiniteSoftMarginKernelLearning):
            def machine(self):
                return Alignment()

        class Nothing(SemidefiniteSoftMarginKernelLearning):
            def machine(self):
                return None

        reason = KernelGeneration().accepts(Problem(Nothing(), classes(10)))
        assert reason == "`machine()` returns None, and not a formulation"
        assert "machine for one kernel has 0 kernel terms" in KernelGeneration().accepts(Problem(Other(), classes(10)))


@pytest.mark.parametrize("factor", [1.0, 0.3])
def test_sums_of_matrices_that_are_held(factor):
    rng = np.random.default_rng(0)
    matrices = [F @ F.T for F in rng.standard_normal((3, 6, 6))]
    sums, theta, e = HeldSums(matrices, factor), np.array([0.5, 0.0, 2.0]), rng.standard_normal(6)
    for _ in range(2):  # the memory is used again
        np.testing.assert_allclose(sums.lower_sum(theta), factor * (0.5 * matrices[0] + 2 * matrices[2]))
    np.testing.assert_allclose(sums.images(e), [factor * K @ e for K in matrices])
    np.testing.assert_allclose(sums.diagonals, [factor * np.diag(K) for K in matrices])
