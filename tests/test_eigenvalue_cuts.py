"""Semi-definite combinations by eigenvalue cuts: against conic solvers, between bounds, with no n x n variable."""

import warnings

import cvxpy as cp
import numpy as np
import pytest

import kopt
from formulations.kernel_learning import (
    Alignment,
    SchurAlignment,
    SemidefiniteAlignment,
    SemidefiniteHardMarginKernelLearning,
    SemidefiniteSoftMarginKernelLearning,
    SemidefiniteTwoNormKernelLearning,
    TraceBoundedAlignment,
    TransductiveAlignment,
)
from formulations.kernel_learning.cone import is_semidefinite, raised
from formulations.kernel_learning.cut_program import CutProgram
from formulations.kernel_learning.instances import not_semidefinite, several_kernels
from formulations.kernel_learning.masters import NormMaster, TraceMaster
from formulations.kernel_learning.solvers import eigenvalue_cuts
from formulations.kernel_learning.solvers.eigenvalue_cuts import Cuts, EigenvalueCuts
from formulations.kernel_learning.span import Span
from formulations.kernel_learning.training_parts import TrainingParts
from kopt import Formulation, Sample
from kopt.kernels import Gaussian, Linear, Polynomial
from kopt.solvers import Problem, RawAnswer
from kopt.solvers.choice import candidates
from kopt.solvers.solver import INTERRUPTED
from kopt.views import ProductView
from kopt.watch import Watch
from tests.test_bad_input import refusal
from tests.tolerances import CERTIFIED, VALUE

METHOD = "EIGENVALUE_CUTS"
#: Its own gap, and what the smallest eigenvalue that counts as none may hide of it.
OWN_GAP = 1e-8
ALIGNMENTS = (SemidefiniteAlignment, SchurAlignment, TraceBoundedAlignment, TransductiveAlignment)
MARGINS = (
    SemidefiniteSoftMarginKernelLearning,
    SemidefiniteHardMarginKernelLearning,
    SemidefiniteTwoNormKernelLearning,
)
KERNELS = {
    "narrow": Gaussian(sigma=0.5),
    "wide": Gaussian(sigma=2.0),
    "linear": Linear(),
    "quadratic": Polynomial(degree=2, R=1.0),
}
every_alignment = pytest.mark.parametrize("cls", ALIGNMENTS, ids=lambda cls: cls.__name__)


def solve(cls, sample, **options):
    return kopt.solve(cls(), sample, method=METHOD, **options)


def suited(cls, sample):
    """With the label 0 on every third point, for the machine that needs test points."""
    if cls is not TransductiveAlignment:
        return sample
    return sample.relabelled(np.where(np.arange(sample.n) % 3 == 1, 0.0, sample.y))


def active(cls, n, seed=0):
    """A sample on which the most aligned of all combinations is not semi-definite."""
    samples = (suited(cls, sample) for sample in several_kernels(np.random.default_rng(seed), (n,)))
    return next(
        not_semidefinite(
            samples, lambda s: TrainingParts(ProductView(s)).span if cls is TransductiveAlignment else Span.plain(s)
        )
    )


def classes(n, kernels=None, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    y = np.where(X[:, 0] + X[:, 1] ** 2 - 1 + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return Sample(X, y, kernel=dict(kernels or KERNELS))


def stopping_at(iteration):
    def stop(moment):
        if moment.iteration == iteration:
            raise KeyboardInterrupt

    return stop


def conic(cls, sample, solver):
    """The answer of a conic solver, whatever its certificate."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kopt.CertificateWarning)
        return kopt.solve(cls(), sample, method=solver, side="dual")


class TestTheOptimum:
    @every_alignment
    @pytest.mark.parametrize("n", [8, 14, 25])
    @pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
    def test_conic_solvers_find_the_same(self, cls, n, solver):
        if cls is SchurAlignment and n == 25:
            pytest.skip("the matrix of twice the order takes conic solvers seconds")
        sample = active(cls, n, seed=n)
        found, other = solve(cls, sample), conic(cls, sample, solver)
        assert found.certificate.holds(CERTIFIED)
        assert found.certificate.bounds.relative_gap <= OWN_GAP
        assert found.value == pytest.approx(other.value, rel=VALUE + other.certificate.bounds.relative_gap)

    @every_alignment
    @pytest.mark.parametrize("seed", range(8))
    def test_certificates_hold(self, cls, seed):
        """The weights too, also where K is nearly singular in all directions."""
        for sample in (suited(cls, classes(14, seed=seed)), active(cls, 11, seed=seed)):
            solution = solve(cls, sample)
            assert solution.attempts[0].status == "converged"
            assert solution.certificate.holds(CERTIFIED), str(solution.certificate)

    @every_alignment
    @pytest.mark.parametrize("n", [9, 40, 120])
    def test_the_multiplier_is_semidefinite_and_complementary(self, cls, n):
        sample = active(cls, n, seed=n)
        solution = solve(cls, sample)
        view, Z = ProductView(sample), solution.dual.Z
        K = view.mixture(solution.primal.mu)
        size = np.linalg.norm(Z) * np.linalg.norm(K)
        assert size > CERTIFIED
        assert np.linalg.eigvalsh(Z)[0] >= -1e-14 * np.linalg.norm(Z)
        assert np.linalg.eigvalsh(K)[0] >= -1e-12 * np.linalg.norm(K)
        assert np.sum(Z * K) <= OWN_GAP * max(1.0, abs(solution.value))
        # ||Z K|| is at most the square root of <Z, K> times the sizes.
        assert np.linalg.norm(Z @ K) <= 10 * np.sqrt(OWN_GAP * size * max(1.0, abs(solution.value)))
        # the span of three kernels leaves no room for more than a few eigenvectors
        assert np.linalg.matrix_rank(Z, tol=1e-6 * np.linalg.norm(Z)) <= 3

    def test_the_direct_and_the_schur_form_have_one_multiplier(self):
        sample = active(SemidefiniteAlignment, 14)
        direct, schur = (solve(cls, sample) for cls in (SemidefiniteAlignment, SchurAlignment))
        np.testing.assert_allclose(schur.dual.Z, direct.dual.Z, rtol=1e-12)
        assert schur.value == pytest.approx(direct.value, rel=1e-10)

    def test_where_nothing_is_negative_the_first_round_is_the_last(self):
        sample = classes(14, {"wide": Gaussian(sigma=2.0)})
        solution = solve(SemidefiniteAlignment, sample)
        assert len(solution.history) == 1
        assert not solution.dual.Z.any()
        assert solution.value == pytest.approx(kopt.solve(Alignment(), sample).value, rel=VALUE)


class TestBetweenTheBounds:
    @every_alignment
    @pytest.mark.parametrize("n", [14, 25, 120])
    def test_both_values_enclose_the_optimum_at_each_round(self, cls, n):
        solution = solve(cls, active(cls, n, seed=n))
        bounds = solution.certificate.bounds
        assert bounds.relative_gap <= OWN_GAP
        for moment in solution.history:
            assert moment.dual <= bounds.upper * (1 + OWN_GAP)
            assert bounds.lower * (1 - OWN_GAP) <= moment.primal
        upper = np.array([moment.primal for moment in solution.history])
        assert np.all(np.diff(upper) <= 1e-10 * upper[0])
        gaps = [moment.relative_gap for moment in solution.history]
        assert gaps[-1] <= OWN_GAP < 1e-4 < gaps[0]
        # an answer in between is better than the first by more than rounding
        assert upper[-1] < upper[0] * (1 - 1e-5)

    @every_alignment
    def test_few_rounds_are_enough(self, cls):
        assert 1 < len(solve(cls, active(cls, 120, seed=120)).history) <= 60

    @every_alignment
    def test_a_rough_answer_takes_fewer_rounds(self, cls):
        rough, fine = (solve(cls, active(cls, 25, seed=25), tolerance=tolerance) for tolerance in (1e-2, 1e-6))
        assert len(rough.history) < len(fine.history)

    @every_alignment
    def test_a_limit_of_rounds_leaves_an_answer_and_bounds_on_it(self, cls, monkeypatch):
        sample = active(cls, 25, seed=25)
        optimum = solve(cls, sample).value
        monkeypatch.setattr(eigenvalue_cuts, "MOST_ROUNDS", 3)
        with pytest.warns(kopt.CertificateWarning):
            solution = solve(cls, sample)
        assert solution.attempts[0].status == "stopped after 3 rounds"
        bounds = solution.certificate.bounds
        assert bounds.lower <= optimum * (1 + OWN_GAP)
        assert optimum <= bounds.upper * (1 + OWN_GAP)
        assert not solution.certificate.holds(CERTIFIED)


class TestInterrupt:
    @every_alignment
    def test_the_answer_so_far_is_returned_with_bounds_that_hold(self, cls):
        sample = active(cls, 25, seed=25)
        optimum = solve(cls, sample).value
        gaps = []
        for iteration in (1, 3):
            with pytest.warns(kopt.CertificateWarning):
                solution = solve(cls, sample, callback=stopping_at(iteration))
            assert solution.attempts[-1].status == INTERRUPTED
            assert len(solution.history) == iteration
            bounds = solution.certificate.bounds
            assert bounds.lower <= optimum * (1 + OWN_GAP)
            assert optimum <= bounds.upper * (1 + OWN_GAP)
            gaps.append(bounds.relative_gap)
        assert gaps[1] < gaps[0] < np.inf

    @pytest.mark.parametrize("master", [NormMaster, TraceMaster])
    def test_before_the_first_round_there_is_no_answer(self, master, monkeypatch):
        def stop(*_):
            raise KeyboardInterrupt

        cls = TraceBoundedAlignment if master is TraceMaster else SemidefiniteAlignment
        monkeypatch.setattr(master, "solve", stop)
        answer = EigenvalueCuts().solve(Problem(cls(), active(cls, 9)))
        assert (answer.status, dict(answer.values)) == (INTERRUPTED, {})

    def test_what_runs_the_cuts_is_interrupted_with_them(self):
        """The search for one more kernel does not end as if nothing had been."""

        class Impatient(Watch):
            def report(self, *_):
                raise KeyboardInterrupt

        s = ProductView(active(SemidefiniteAlignment, 9))
        with pytest.raises(KeyboardInterrupt):
            Cuts(s).run(NormMaster(Span.plain(s)), CERTIFIED, Impatient())


class TestManyPoints:
    @pytest.mark.parametrize("side", ["dual", "primal"])
    @pytest.mark.parametrize("cls", [*ALIGNMENTS, *MARGINS], ids=lambda cls: cls.__name__)
    def test_above_a_hundred_points_no_conic_solver_is_offered(self, cls, side):
        for n, offered in ((100, True), (101, False)):
            problem = Problem(cls(), suited(cls, classes(n)), side)
            names = [solver.name for solver, _ in candidates(problem, "auto")]
            assert ({"CLARABEL", "SCS"} <= set(names)) == offered
            assert bool(set(names) & set(cp.installed_solvers())) == offered
            if side == "dual":
                assert names[0] == (METHOD if cls in ALIGNMENTS else "KERNEL_GENERATION")

    def test_machines_without_matrices_are_still_offered_them(self):
        names = [solver.name for solver, _ in candidates(Problem(Alignment(), classes(120)), "auto")]
        assert "CLARABEL" in names

    @pytest.fixture
    def orders(self, monkeypatch):
        """The orders of the largest variables of all that is handed to CVXPY."""
        seen, plain = [], cp.Problem.solve

        def solve(problem, *args, **options):
            seen.append(max((max(variable.shape, default=1) for variable in problem.variables()), default=1))
            seen.extend(variable.size for variable in problem.variables())
            return plain(problem, *args, **options)

        monkeypatch.setattr(cp.Problem, "solve", solve)
        return seen

    def test_what_is_handed_to_a_conic_solver_is_counted(self, orders):
        """The control of the two tests below."""
        conic(SemidefiniteAlignment, classes(10), "CLARABEL")
        assert max(orders) == 100

    @pytest.mark.parametrize("cls", [*ALIGNMENTS, *MARGINS[:2]], ids=lambda cls: cls.__name__)
    def test_no_matrix_variable_is_solved_for(self, cls, orders):
        n = 120
        sample = active(cls, n, seed=n) if cls in ALIGNMENTS else classes(n)
        solution = kopt.solve(cls(), sample)
        assert solution.certificate.holds(CERTIFIED)
        assert len(solution.attempts) == 1
        assert max(orders, default=0) < n**2

    @pytest.mark.parametrize("cls", [SemidefiniteAlignment, TraceBoundedAlignment], ids=lambda cls: cls.__name__)
    def test_neither_where_the_cuts_fail(self, cls, orders, monkeypatch):
        monkeypatch.setattr(EigenvalueCuts, "solve", lambda *_: RawAnswer("failed"))
        with pytest.raises(kopt.SolverError, match="EIGENVALUE_CUTS said failed"):
            kopt.solve(cls(), active(cls, 120, seed=120))
        assert max(orders, default=0) < 120**2


class TestWhatItTakes:
    def test_others_than_duals_with_a_master_are_refused(self):
        sample = active(SemidefiniteAlignment, 9)
        refusal(lambda: solve(Alignment, sample), "has no `master(s)`")
        refusal(lambda: solve(SemidefiniteAlignment, sample, side="primal"), "it solves duals only")

    def test_a_master_alone_is_not_enough_and_others_solve_the_problem(self):
        """A user's own declaration may have one, and know nothing of cuts."""
        plain = SemidefiniteAlignment()

        class OnlyAMaster(Formulation):
            def primal(self, s):
                return plain.primal(s)

            def dual(self, s):
                return plain.dual(s)

            def recover(self, s, dual):
                return plain.recover(s, dual)

            def master(self, s):
                return plain.master(s)

        sample = active(SemidefiniteAlignment, 9)
        reason = "the formulation has no `with_multiplier(s, Z, value)`"
        assert EigenvalueCuts().accepts(Problem(OnlyAMaster(), sample)) == reason
        refusal(lambda: solve(OnlyAMaster, sample), reason)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", kopt.CertificateWarning)
            solution = kopt.solve(OnlyAMaster(), sample)
        assert solution.value == pytest.approx(solve(SemidefiniteAlignment, sample).value, rel=1e-4)

    def test_kernels_that_do_not_fit_are_refused(self):
        sample = classes(20)
        tight = Sample(sample.X, sample.y, kernel=KERNELS, budget=8 * 4 * 400 - 1)
        reason = EigenvalueCuts().accepts(Problem(SemidefiniteAlignment(), tight))
        assert reason == "the kernels take 1.28e+04 bytes, more than the budget of 1.28e+04"
        refusal(lambda: solve(SemidefiniteAlignment, tight), "more than the budget of")

    def test_weights_that_nothing_bounds_are_refused_and_solved_by_others(self):
        rng = np.random.default_rng(0)
        grams = {f"k{k}": F @ F.T for k, F in enumerate(rng.standard_normal((5, 6, 6)))}
        sample = Sample.from_gram(grams, [1.0, -1, 0, 0, 0, 0])
        refusal(lambda: solve(TransductiveAlignment, sample), "vanish on the training points")
        assert kopt.solve(TransductiveAlignment(), sample).certificate.holds(CERTIFIED)


def scaled(factors):
    return {name: factor * kernel for factor, (name, kernel) in zip(factors, KERNELS.items(), strict=True)}


class TestDegenerate:
    @every_alignment
    @pytest.mark.parametrize(
        "factors", [(1e-6,) * 4, (1e6,) * 4, (1e-6, 1.0, 1e6, 1e3)], ids=["small", "large", "uneven"]
    )
    def test_the_scales_of_the_kernels_do_not_matter(self, cls, factors):
        plain, found = (solve(cls, suited(cls, classes(14, kernels))) for kernels in (KERNELS, scaled(factors)))
        assert found.certificate.holds(CERTIFIED)
        assert found.value == pytest.approx(plain.value, rel=OWN_GAP)

    @every_alignment
    def test_kernels_that_are_there_twice_and_one_that_is_0_change_nothing(self, cls):
        sample = suited(cls, classes(14))
        grams = {name: gram.dense for name, gram in sample.grams.items()}
        once = solve(cls, Sample.from_gram(grams, sample.y))
        for more in ({"again": grams["narrow"], "double": 2 * grams["linear"]}, {"zero": np.zeros((14, 14))}):
            found = solve(cls, Sample.from_gram({**grams, **more}, sample.y))
            assert found.certificate.holds(CERTIFIED)
            assert found.value == pytest.approx(once.value, rel=OWN_GAP)

    @every_alignment
    def test_one_kernel_is_the_same_as_with_weights_that_are_not_negative(self, cls):
        sample = suited(cls, classes(14, {"k": Gaussian(sigma=1.0)}))
        found = solve(cls, sample)
        assert found.certificate.holds(CERTIFIED)
        K, y = sample.gram().dense, sample.y
        seen = y != 0
        size = np.trace(K) / 14 if cls is TraceBoundedAlignment else np.linalg.norm(K[np.ix_(seen, seen)])
        assert found.value == pytest.approx(y @ K @ y / (y @ y) / size, rel=OWN_GAP)

    @every_alignment
    def test_kernels_of_rank_one(self, cls):
        """The box around the weights of bounded trace would be tight here: the norm is the trace."""
        sample = suited(cls, classes(14))
        vectors = np.column_stack([sample.X, classes(14).y + 0.3 * sample.X[:, 0]])
        grams = {f"x{j}": np.outer(v, v) for j, v in enumerate(vectors.T)}
        found = solve(cls, Sample.from_gram(grams, sample.y))
        assert found.certificate.holds(CERTIFIED)
        assert found.value == pytest.approx(conic(cls, found.sample, "CLARABEL").value, rel=VALUE)

    @every_alignment
    def test_kernels_that_are_nearly_alike(self, cls):
        kernels = {f"{sigma:.3f}": Gaussian(sigma=float(sigma)) for sigma in np.geomspace(0.3, 5.0, 8)}
        assert solve(cls, suited(cls, classes(14, kernels))).certificate.holds(CERTIFIED)

    @every_alignment
    def test_duplicated_points(self, cls):
        sample = classes(7)
        twice = Sample(np.vstack([sample.X] * 2), np.append(sample.y, sample.y), kernel=KERNELS)
        assert solve(cls, suited(cls, twice)).certificate.holds(CERTIFIED)


class TestMasters:
    """Against CVXPY, which takes the cuts as they are."""

    @pytest.mark.parametrize("cuts", [0, 1, 6])
    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("kind", [NormMaster, TraceMaster])
    def test_the_best_weights_under_cuts_and_their_multipliers(self, kind, seed, cuts):
        rng = np.random.default_rng(seed)
        sample = classes(12, seed=seed)
        s, span = ProductView(sample), Span.plain(sample)
        V = rng.standard_normal((12, cuts))
        G = np.array([np.sum(V * (s.gram(name) @ V), axis=0) for name in s.kernels]).reshape(4, cuts)
        # v'K v is positive for all kernels, so that two of them are turned round to bite
        G[:2] *= -1
        trace = 1.7
        master = NormMaster(span) if kind is NormMaster else TraceMaster(span, s.traces, trace)
        found, multipliers, value = master.solve(G)
        mu = cp.Variable(4)
        limits = [cp.norm(span.F @ mu) <= 1]
        if kind is TraceMaster:
            limits = [s.traces @ mu <= trace, cp.norm_inf(span.F @ mu) <= 2 * trace]
        problem = cp.Problem(cp.Maximize(span.a @ mu), [*limits, *([G.T @ mu >= 0] if cuts else [])])
        problem.solve(cp.CLARABEL)
        assert value == pytest.approx(problem.value, rel=1e-6, abs=1e-8)
        assert np.all(multipliers >= 0)
        assert np.all(G.T @ found >= -1e-8 * np.abs(G.T) @ np.abs(found))
        assert multipliers @ (G.T @ found) == pytest.approx(0.0, abs=1e-7)
        assert span.a @ found == pytest.approx(value, rel=1e-8, abs=1e-10)

    def test_a_value_is_that_of_the_weights_brought_into_the_set(self):
        sample = classes(12)
        span, traces = Span.plain(sample), ProductView(sample).traces
        mu = np.array([1.0, 2.0, 0.1, 0.2])
        norm, trace = NormMaster(span), TraceMaster(span, traces, 3.0)
        for size in (1e-9, 1.0, 1e9):
            assert norm.value(size * mu) == pytest.approx(span.a @ mu / np.linalg.norm(span.root @ mu))
            assert trace.value(size * mu) == pytest.approx(3 * span.a @ mu / (traces @ mu))
        assert norm.value(0 * mu) == trace.value(0 * mu) == trace.value(-mu) == 0


class TestParts:
    def test_cuts_cut_off_what_they_are_made_from(self):
        s = ProductView(classes(14))
        mu = np.array([1.0, 1.0, -0.5, -0.1])
        cuts = Cuts(s)
        moved = cuts.cut(mu)
        assert 1 <= cuts.V.shape[1] <= eigenvalue_cuts.AT_ONCE
        assert np.all(cuts.G.T @ mu < 0)
        np.testing.assert_allclose(cuts.G.T @ mu, np.einsum("ij,ik,kj->j", cuts.V, s.mixture(mu), cuts.V), rtol=1e-9)
        assert np.min(cuts.G.T @ moved) >= -1e-12 * np.max(np.abs(cuts.G))
        assert not is_semidefinite(s.mixture(mu))

    def test_what_is_semidefinite_is_not_cut(self):
        cuts = Cuts(ProductView(classes(14)))
        mu = np.array([1.0, 0.0, 0.5, 0.0])
        assert np.array_equal(cuts.cut(mu), mu)
        assert cuts.V.shape[1] == 0

    @pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
    def test_raised_weights_are_semidefinite_and_hardly_more(self, size):
        s = ProductView(classes(14))
        mu = size * np.array([1.0, 1.0, -0.5, -0.1])
        found = raised(s, mu)
        assert is_semidefinite(s.mixture(found))
        assert not is_semidefinite(s.mixture(mu + 0.97 * (found - mu)))

    def test_a_linear_program_over_the_cone_against_a_conic_solver(self):
        sample = classes(10)
        s = ProductView(sample)
        cost = np.array([1.0, -2.0, 0.3, 0.1])
        program = CutProgram(s, np.zeros(4), np.eye(4), cost, A=s.traces[None], b=np.array([1.0]))
        # the first cuts keep the first program bounded
        found = program.solved(np.linalg.qr(np.random.default_rng(0).standard_normal((10, 10)))[0])
        mu = cp.Variable(4)
        K = sum(weight * gram.dense for weight, gram in zip(mu, sample.grams.values(), strict=True))
        problem = cp.Problem(cp.Minimize(cost @ mu), [K >> 0, s.traces @ mu <= 1])
        problem.solve(cp.CLARABEL)
        assert cost @ found == pytest.approx(problem.value, rel=1e-5)
        assert is_semidefinite(s.mixture(found), rounding=1e-8)
