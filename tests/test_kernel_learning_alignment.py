"""Kernels learnt by alignment: closed forms, other forms of the same problem, degenerate samples, refusals."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import kopt
from formulations.classification import SoftMargin
from formulations.kernel_learning import (
    Alignment,
    AlignmentSpectrum,
    CentredAlignment,
    LeastSquaresAlignment,
    SchurAlignment,
    SemidefiniteAlignment,
    TraceBoundedAlignment,
    TransductiveAlignment,
    independent_weights,
)
from formulations.kernel_learning.cone import is_semidefinite
from formulations.kernel_learning.instances import not_semidefinite, partly_labelled, several_kernels
from formulations.kernel_learning.span import Span
from kopt import (
    Formulation,
    InputError,
    Judgement,
    Kind,
    Program,
    Sample,
    Solution,
    alignment,
    centred_alignment,
    referee,
)
from kopt.kernels import Gaussian, Linear, Polynomial, Precomputed, Reweighted
from tests.test_bad_input import refusal
from tests.tolerances import CERTIFIED, DIFFERENT, MAP, MULTIPLIER, VALUE

WEIGHTS = (Alignment, LeastSquaresAlignment, CentredAlignment)
SEMIDEFINITE = (SemidefiniteAlignment, SchurAlignment, TraceBoundedAlignment)
ALL = (*WEIGHTS, *SEMIDEFINITE, TransductiveAlignment, AlignmentSpectrum)
every_machine = pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
every_seed = pytest.mark.parametrize("seed", range(4))


def sample_of(seed: int) -> Sample:
    return next(several_kernels(np.random.default_rng(seed)))


def active(seed: int) -> Sample:
    """A sample on which the semi-definite constraint counts."""
    return next(not_semidefinite(several_kernels(np.random.default_rng(seed)), Span.plain))


def partly(sample: Sample) -> Sample:
    return sample.relabelled(np.where(np.arange(sample.n) % 3 == 1, 0.0, sample.y))


def suited(cls: type[Formulation], sample: Sample) -> Sample:
    """The sample with test points, or with one kernel, for the machine that needs that."""
    if cls is AlignmentSpectrum:
        return sample.under(sample.gram().kernel)
    return partly(sample) if cls is TransductiveAlignment else sample


def value_of(formulation: Formulation, sample: Sample, **options) -> float:
    solution = kopt.solve(formulation, sample, **options)
    assert solution.certificate.holds(CERTIFIED)
    return solution.value


def matrix_of(solution: Solution) -> np.ndarray:
    return (solution.sample.stacked_grams @ solution.primal.mu).reshape(solution.sample.n, -1)


class TestTheOptimum:
    @every_seed
    def test_no_single_kernel_is_better(self, seed):
        sample = sample_of(seed)
        alone = [alignment(gram.dense, sample.y) for gram in sample.grams.values()]
        centred = [centred_alignment(gram.dense, sample.y) for gram in sample.grams.values()]
        np.testing.assert_allclose(Span.plain(sample).alone, alone, rtol=1e-12)
        np.testing.assert_allclose(independent_weights(sample), centred, rtol=1e-10)
        assert value_of(Alignment(), sample) >= max(alone) - CERTIFIED
        assert value_of(SemidefiniteAlignment(), sample) >= max(alone) - CERTIFIED
        assert value_of(CentredAlignment(), sample) >= max(centred) - CERTIFIED

    @every_seed
    @pytest.mark.parametrize("cls", [Alignment, SemidefiniteAlignment, CentredAlignment])
    def test_it_is_the_alignment_of_the_learnt_kernel(self, cls, seed):
        solution = kopt.solve(cls(), sample_of(seed))
        measure = centred_alignment if cls is CentredAlignment else alignment
        learnt = solution.kernel(solution.sample.X)
        assert measure(learnt, solution.sample.y) == pytest.approx(solution.value, rel=VALUE)
        assert np.linalg.norm(learnt) == pytest.approx(1.0, rel=VALUE)

    @every_seed
    def test_weights_of_any_sign_are_no_worse(self, seed):
        sample = active(seed)
        assert value_of(SemidefiniteAlignment(), sample) >= value_of(Alignment(), sample) - CERTIFIED

    @every_seed
    def test_the_semidefinite_constraint_costs_something(self, seed):
        sample = active(seed)
        span = Span.plain(sample)
        unconstrained = float(np.linalg.norm(span.inverse @ span.a))
        assert value_of(SemidefiniteAlignment(), sample) <= unconstrained + CERTIFIED
        assert not is_semidefinite((sample.stacked_grams @ span.solve(span.a)).reshape(sample.n, sample.n))

    @every_seed
    def test_the_direct_and_the_schur_form_agree(self, seed):
        sample = active(seed)
        direct = kopt.solve(SemidefiniteAlignment(), sample)
        schur = kopt.solve(SchurAlignment(), sample)
        assert schur.certificate.holds(CERTIFIED)
        assert schur.value == pytest.approx(direct.value, abs=VALUE)
        converted = kopt.convert(direct, to=SchurAlignment)
        assert converted.certificate.holds(CERTIFIED)
        assert converted.value == pytest.approx(schur.value, abs=VALUE)

    @every_seed
    def test_the_distance_to_the_target_says_the_same(self, seed):
        sample = sample_of(seed)
        A = value_of(Alignment(), sample)
        solution = kopt.solve(LeastSquaresAlignment(), sample)
        assert solution.value == pytest.approx((1 - A**2) / 2, abs=VALUE)
        target = np.outer(sample.y, sample.y) / sample.n
        assert np.sum((matrix_of(solution) - target) ** 2) / 2 == pytest.approx(solution.value, abs=VALUE)

    @pytest.mark.parametrize("cls", [*SEMIDEFINITE, TransductiveAlignment])
    def test_solvers_agree(self, cls):
        sample = suited(cls, active(1))
        by_clarabel = value_of(cls(), sample, method="CLARABEL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", kopt.CertificateWarning)
            bounds = kopt.solve(cls(), sample, method="SCS").certificate.bounds
        assert bounds.lower - 1e-9 <= by_clarabel <= bounds.upper + 1e-9
        assert bounds.relative_gap <= 1e-4

    @every_seed
    @pytest.mark.parametrize("cls", [*SEMIDEFINITE, TransductiveAlignment])
    def test_the_multiplier_is_semidefinite_and_complementary(self, cls, seed):
        _, sample = next(cls.instances(np.random.default_rng(seed)))
        solution = kopt.solve(cls(), sample)
        Z, K = solution.dual.Z, matrix_of(solution)
        size = np.linalg.norm(Z) * np.linalg.norm(K)
        assert np.linalg.eigvalsh(Z)[0] >= -CERTIFIED * np.linalg.norm(Z)
        assert np.linalg.eigvalsh(K)[0] >= -CERTIFIED * np.linalg.norm(K)
        # <Z, K> is at most the gap, and ||Z K|| at most the square root of it times the sizes.
        assert np.linalg.norm(Z @ K) <= MULTIPLIER * max(size, 1.0)


class TestClosedForms:
    @pytest.mark.parametrize("cls", [Alignment, SemidefiniteAlignment, SchurAlignment])
    def test_one_kernel_is_taken_as_it_is(self, cls):
        sample = Sample(sample_of(0).X, sample_of(0).y, kernel=Gaussian(sigma=1.3))
        K = sample.gram().dense
        solution = kopt.solve(cls(), sample)
        assert solution.value == pytest.approx(alignment(K, sample.y), rel=VALUE)
        assert solution.primal.mu == pytest.approx([1 / np.linalg.norm(K)], rel=MAP)

    def test_one_kernel_of_bounded_trace(self):
        sample = Sample(sample_of(0).X, sample_of(0).y, kernel=Linear())
        K, y = sample.gram().dense, sample.y
        solution = kopt.solve(TraceBoundedAlignment(c=1.7), sample)
        assert solution.value == pytest.approx(1.7 * sample.n * (y @ K @ y) / (y @ y) / np.trace(K), rel=VALUE)
        assert solution.primal.mu == pytest.approx([1.7 * sample.n / np.trace(K)], rel=MAP)

    def test_the_target_among_the_kernels_reaches_every_bound(self):
        sample = sample_of(0)
        grams = {"target": np.outer(sample.y, sample.y), "other": sample.gram("gaussian").dense}
        given = Sample.from_gram(grams, sample.y)
        for cls in (Alignment, SemidefiniteAlignment, SchurAlignment):
            assert value_of(cls(), given) == pytest.approx(1.0, abs=VALUE)
        assert value_of(LeastSquaresAlignment(), given) == pytest.approx(0.0, abs=VALUE)
        assert value_of(TraceBoundedAlignment(c=0.4), given) == pytest.approx(0.4 * sample.n, rel=VALUE)

    @pytest.mark.parametrize("cls", [Alignment, SemidefiniteAlignment])
    def test_orthogonal_kernels(self, cls):
        """Kernels on separate points: mu_k is proportional to a_k / ||K_k||^2."""
        rng, y = np.random.default_rng(5), np.array([1.0, -1, -1, 1, 1, -1, 1])
        grams, places = {}, {"first": [0, 1, 2], "second": [3, 4], "third": [5, 6]}
        for name, place in places.items():
            F = rng.standard_normal((len(place), 3))
            grams[name] = np.zeros((7, 7))
            grams[name][np.ix_(place, place)] = F @ F.T
        solution = kopt.solve(cls(), Sample.from_gram(grams, y))
        a = np.array([y @ K @ y for K in grams.values()]) / 7
        norms = np.array([np.linalg.norm(K) for K in grams.values()])
        optimum = np.linalg.norm(a / norms)
        assert solution.value == pytest.approx(optimum, rel=VALUE)
        np.testing.assert_allclose(solution.primal.mu, a / norms**2 / optimum, rtol=MAP)

    def test_the_semidefinite_optimum_of_two_kernels_by_hand(self):
        """K = I + mu (I - 1/2 J) on two points is what the directions (1, t) say: eigenvalues along j and (1, -1)."""
        J = np.ones((2, 2))
        sample = Sample.from_gram({"I": np.eye(2), "J": J}, [1.0, -1.0])
        solution = kopt.solve(SemidefiniteAlignment(), sample)
        # yy' = 2 I - J is itself a combination, of eigenvalues 0 and 2.
        assert solution.value == pytest.approx(1.0, abs=VALUE)
        np.testing.assert_allclose(matrix_of(solution), (2 * np.eye(2) - J) / 2, atol=MAP)
        assert value_of(Alignment(), sample) == pytest.approx(1 / np.sqrt(2), abs=VALUE)


class TestSpectrum:
    @every_seed
    @pytest.mark.parametrize("kernel", [Gaussian(sigma=1.3), Polynomial(degree=2, R=0.7), Linear()], ids=repr)
    def test_the_eigenvalues_are_the_squares_of_the_inner_products(self, kernel, seed):
        sample = Sample(sample_of(seed).X, sample_of(seed).y, kernel=kernel)
        values, V = np.linalg.eigh(sample.gram().dense)
        kept = values > 1e-10 * values[-1]
        a = (V[:, kept].T @ sample.y) ** 2 / sample.n
        solution = kopt.solve(AlignmentSpectrum(), sample)
        assert solution.value == pytest.approx(np.linalg.norm(a), abs=VALUE)
        np.testing.assert_allclose(np.sort(solution.primal.mu), np.sort(a) / np.linalg.norm(a), atol=MAP)
        assert solution.value >= alignment(sample.gram().dense, sample.y)

    def test_the_learnt_kernel_is_that_matrix_and_works_on_new_points(self):
        sample = Sample(sample_of(1).X, sample_of(1).y, kernel=Gaussian(sigma=1.3))
        solution = kopt.solve(AlignmentSpectrum(), sample)
        values, V = np.linalg.eigh(sample.gram().dense)
        a = (V.T @ sample.y) ** 2
        matrix = (V * (a / np.linalg.norm(a))) @ V.T
        np.testing.assert_allclose(solution.kernel(sample.X), matrix, atol=MAP)
        new = np.array([[0.3, -0.2, 0.1], [1.0, 0.0, 0.4]])
        k = Gaussian(sigma=1.3)(new, sample.X)
        by_hand = k @ (V / values * (a / np.linalg.norm(a)) / values) @ V.T @ k.T
        np.testing.assert_allclose(solution.kernel(new), by_hand, rtol=MAP, atol=MAP)

    def test_in_a_multiple_eigenvalue_one_vector_takes_all_of_the_target(self):
        """The identity has all directions for eigenvectors: the best choice among them is y itself."""
        y = np.array([1.0, -1, -1, 1, 1])
        solution = kopt.solve(AlignmentSpectrum(), Sample.from_gram(np.eye(5), y))
        assert solution.value == pytest.approx(1.0, abs=VALUE)
        np.testing.assert_allclose(solution.kernel(np.eye(5), np.arange(5)), np.outer(y, y) / 5, atol=MAP)

    def test_no_eigenvalue_at_all(self):
        refusal(lambda: kopt.solve(AlignmentSpectrum(), Sample(np.zeros((3, 2)), [1, -1, 1])), "0 on all 3 points")

    def test_a_kernel_that_has_nothing_to_do_with_the_target(self):
        pairs = np.repeat([[1.0, 2], [3, 4], [0, 1]], 2, axis=0)
        refusal(lambda: kopt.solve(AlignmentSpectrum(), Sample(pairs, [1, -1] * 3)), "no combination has any")

    def test_several_kernels(self):
        refusal(lambda: kopt.solve(AlignmentSpectrum(), sample_of(0)), "has 3 kernels", "kernels['linear']")

    @pytest.mark.parametrize("n", [5, 150])
    def test_the_closed_form_comes_first(self, n):
        X = np.random.default_rng(n).standard_normal((n, 3))
        sample = Sample(X, np.where(X[:, 0] > 0.3, 1.0, -1.0), kernel=Gaussian(sigma=1.0))
        solution = kopt.solve(AlignmentSpectrum(), sample)
        assert [attempt.method for attempt in solution.attempts] == ["CLOSED_FORM"]
        assert "closed form" in solution.attempts[0].reason
        assert solution.certificate.holds(1e-12)
        assert not solution.dual.nu.any()

    def test_the_closed_form_is_of_duals_that_state_it(self):
        sample = sample_of(0)
        refusal(lambda: kopt.solve(Alignment(), sample, method="closed_form"), "no `closed_form(s)`")
        sample = suited(AlignmentSpectrum, sample)
        refusal(lambda: kopt.solve(AlignmentSpectrum(), sample, "primal", "closed_form"), "it solves duals only")


class TestTransductive:
    @every_seed
    def test_the_blocks_belong_to_the_points(self, seed):
        sample = next(partly_labelled(np.random.default_rng(seed)))
        solution = kopt.solve(TransductiveAlignment(), sample)
        blocks = solution.formulation.learnt_blocks(sample, solution.primal)
        training, test = sample.y != 0, sample.y == 0
        K = solution.kernel(sample.X)
        np.testing.assert_allclose(blocks.training, K[np.ix_(training, training)], atol=MAP)
        np.testing.assert_allclose(blocks.cross, K[np.ix_(training, test)], atol=MAP)
        np.testing.assert_allclose(blocks.test, K[np.ix_(test, test)], atol=MAP)
        assert alignment(blocks.training, sample.y[training]) == pytest.approx(solution.value, rel=VALUE)

    @every_seed
    def test_it_asks_for_more_than_the_training_points_do(self, seed):
        sample = next(partly_labelled(np.random.default_rng(seed)))
        on = sample.y != 0
        kernels = {name: gram.kernel for name, gram in sample.grams.items()}
        alone = value_of(SemidefiniteAlignment(), Sample(sample.X[on], sample.y[on], kernel=kernels))
        assert value_of(TransductiveAlignment(), sample) <= alone + CERTIFIED

    def grams(self, seed: int, m: int, n: int) -> list[np.ndarray]:
        rng = np.random.default_rng(seed)
        factors = (rng.standard_normal((n, n)) for _ in range(m))
        return [F @ F.T for F in factors]

    @every_seed
    def test_more_kernels_than_the_training_points_can_tell_apart(self, seed):
        """Two training points see three numbers of a matrix; five kernels differ on the test points."""
        grams = {f"k{i}": K for i, K in enumerate(self.grams(seed, 5, 6))}
        sample = Sample.from_gram(grams, [1.0, -1, 0, 0, 0, 0])
        solution = kopt.solve(TransductiveAlignment(), sample)
        assert solution.certificate.holds(CERTIFIED)
        assert solution.certificate.bounds.relative_gap <= CERTIFIED
        problem = TransductiveAlignment().problem(sample)
        assert problem.solve(solver="CLARABEL") == pytest.approx(solution.value, abs=1e-5)

    def test_kernels_that_differ_on_test_points_only(self):
        """The difference of the two is 0 but for the test points, where it is definite: Z lives on the others."""
        (K,) = self.grams(3, 1, 6)
        other = K.copy()
        other[4:, 4:] += np.eye(2)
        sample = Sample.from_gram({"one": K, "other": other}, [1.0, -1, -1, 1, 0, 0])
        with warnings.catch_warnings():
            # At the optimum Z is 0, up to a solver's rounding, which has no sign.
            warnings.simplefilter("ignore", kopt.CertificateWarning)
            solution = kopt.solve(TransductiveAlignment(), sample)
        assert solution.certificate.bounds.relative_gap <= CERTIFIED
        assert solution.value == pytest.approx(alignment(K[:4, :4], [1, -1, -1, 1]), abs=VALUE)
        junk = np.random.default_rng(0).standard_normal((6, 6))
        bounds = kopt.verify(TransductiveAlignment(), sample, {"Z": junk + junk.T}).bounds
        assert bounds.lower <= solution.value + CERTIFIED
        assert solution.value - CERTIFIED <= bounds.upper < np.inf

    def test_labels_that_differ_in_their_last_digits_are_shown_apart(self):
        sample = Sample(np.arange(4.0)[:, None] + 1, [1e6 + 0.2, 1e6 + 0.1, 1e6 + 0.2, 0])
        refusal(lambda: kopt.solve(TransductiveAlignment(), sample), "labels include 1000000.2, 1000000.1, but")

    def test_it_says_which_labels_it_takes(self):
        X, kernel = np.arange(4.0)[:, None] + 1, {"linear": Linear(), "gaussian": Gaussian(sigma=1.0)}
        for y, part in (
            ([1.0, -1, 1, -1], "no test point"),
            ([1.0, -1, 2, 0], "labels include 2, but"),
            ([0.0, 0, 0, 0], "All 4 targets are 0"),
        ):
            refusal(lambda y=y: kopt.solve(TransductiveAlignment(), Sample(X, y, kernel=kernel)), part)


class TestCentred:
    def test_a_constant_added_to_a_kernel_or_to_the_targets_changes_nothing(self):
        sample = sample_of(0)
        grams = {name: gram.dense for name, gram in sample.grams.items()}
        shifted = {name: K + shift for (name, K), shift in zip(grams.items(), (3.0, 0.5, 40.0), strict=True)}
        plain = value_of(CentredAlignment(), Sample.from_gram(grams, sample.y))
        assert value_of(CentredAlignment(), Sample.from_gram(shifted, sample.y + 0.7)) == pytest.approx(
            plain, abs=VALUE
        )
        uncentred = (value_of(Alignment(), Sample.from_gram(each, sample.y)) for each in (grams, shifted))
        assert abs(np.subtract(*uncentred)) > DIFFERENT

    def test_points_far_from_the_origin_keep_their_digits(self):
        sample = sample_of(0)
        kernels = {"linear": Linear(), "gaussian": Gaussian(sigma=1.3)}
        near = kopt.solve(CentredAlignment(), Sample(sample.X, sample.y, kernel=kernels))
        far = kopt.solve(CentredAlignment(), Sample(sample.X + 1e5, sample.y, kernel=kernels))
        assert far.value == pytest.approx(near.value, abs=VALUE)
        np.testing.assert_allclose(far.primal.mu, near.primal.mu, rtol=1e-3)

    def test_independent_weights_by_the_formula(self):
        sample = sample_of(2)
        sample = Sample(sample.X[:6], [1.0, -1, -1, 1, -1, -1], kernel={k: g.kernel for k, g in sample.grams.items()})
        H = np.eye(6) - np.ones((6, 6)) / 6
        y = H @ sample.y
        expected = [y @ K @ y / np.linalg.norm(H @ K @ H) / (y @ y) for K in (g.dense for g in sample.grams.values())]
        np.testing.assert_allclose(independent_weights(sample), expected, rtol=1e-10)

    def test_targets_that_do_not_vary(self):
        X = np.arange(3.0)[:, None]
        refusal(lambda: kopt.solve(CentredAlignment(), Sample(X, [2.0, 2, 2])), "All 3 targets are 2")
        refusal(lambda: independent_weights(Sample(X, [2.0, 2, 2])), "All 3 targets are 2")

    def test_one_target(self):
        for cls, y in ((CentredAlignment, 2), (Alignment, 0)):
            refusal(lambda cls=cls, y=y: kopt.solve(cls(), Sample([[1.0]], [y])), f"The only target is {y}")


class TestDegenerate:
    @pytest.mark.parametrize("cls", [*WEIGHTS, *SEMIDEFINITE, TransductiveAlignment])
    def test_duplicated_kernels_share_their_weight(self, cls):
        sample = suited(cls, active(2))
        kernels = [gram.kernel for gram in sample.grams.values()]
        names = ("one", "two", "three", "one again", "two again")
        twice = Sample(sample.X, sample.y, kernel=dict(zip(names, [*kernels, *kernels[:2]], strict=True)))
        once, solution = kopt.solve(cls(), sample), kopt.solve(cls(), twice)
        assert solution.certificate.holds(CERTIFIED)
        assert solution.value == pytest.approx(once.value, abs=VALUE * max(1.0, abs(once.value)))
        K = once.kernel(sample.X)
        np.testing.assert_allclose(solution.kernel(sample.X), K, atol=1e-3 * np.max(np.abs(K)))

    @pytest.mark.parametrize("cls", [*WEIGHTS, *SEMIDEFINITE])
    def test_two_points(self, cls):
        sample = Sample(
            [[0.3, -1.0], [1.2, 0.4]], [-1.0, 1.0], kernel={"linear": Linear(), "wide": Gaussian(sigma=2.0)}
        )
        assert kopt.solve(cls(), sample).certificate.holds(CERTIFIED)

    @pytest.mark.parametrize("cls", [*WEIGHTS, *SEMIDEFINITE])
    def test_a_constant_kernel_beside_another(self, cls):
        sample = active(1)
        grams = {"constant": np.ones((sample.n, sample.n)), "gaussian": sample.gram("gaussian").dense}
        assert kopt.solve(cls(), Sample.from_gram(grams, sample.y)).certificate.holds(CERTIFIED)

    @pytest.mark.parametrize("cls", [Alignment, LeastSquaresAlignment, *SEMIDEFINITE])
    def test_one_class(self, cls):
        sample = sample_of(1).relabelled(np.ones(sample_of(1).n))
        assert kopt.solve(cls(), sample).certificate.holds(CERTIFIED)

    @pytest.mark.parametrize("cls", [*WEIGHTS, *SEMIDEFINITE, TransductiveAlignment])
    def test_kernels_of_rank_one_and_two_and_one_that_is_0(self, cls):
        rng = np.random.default_rng(2)
        u, V = rng.standard_normal(7), rng.standard_normal((7, 2))
        grams = {"one": np.outer(u, u), "two": V @ V.T, "nothing": np.zeros((7, 7))}
        sample = suited(cls, Sample.from_gram(grams, [1.0, -1, -1, 1, 1, -1, 1]))
        solution = kopt.solve(cls(), sample)
        assert solution.certificate.holds(CERTIFIED)
        assert solution.certificate.bounds.relative_gap <= CERTIFIED


class TestResemblingKernels:
    """Twenty Gaussians between which weights of 1e5 cancel."""

    @staticmethod
    def sample(seed: int, kernels: int = 20) -> Sample:
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(20, 2))
        widths = np.geomspace(0.1, 10, kernels)
        return Sample(X, np.sign(X[:, 0] + 0.7 * rng.normal(size=20)), kernel={f"{w:.2g}": Gaussian(w) for w in widths})

    @pytest.mark.parametrize("seed", range(2))
    @pytest.mark.parametrize("cls", SEMIDEFINITE)
    @pytest.mark.parametrize("method", ["CLARABEL", "EIGENVALUE_CUTS"])
    @pytest.mark.filterwarnings("ignore::kopt.CertificateWarning")
    def test_what_is_certified_has_narrow_bounds(self, cls, seed, method):
        """In the units of the optimum, not of terms that cancel."""
        side = "dual" if method == "EIGENVALUE_CUTS" else "primal"
        certificate = kopt.solve(cls(), self.sample(seed), method=method, side=side).certificate
        narrow = certificate.bounds.upper - certificate.bounds.lower <= 3 * CERTIFIED * certificate.as_given.scale
        assert narrow or not certificate.holds(CERTIFIED)
        assert certificate.as_given.scale <= self.sample(seed).n

    @pytest.mark.parametrize("cls", SEMIDEFINITE)
    def test_the_cuts_enclose_the_optimum_of_the_direct_form(self, cls):
        """The bounds of the two forms of one problem overlap; with ten kernels all digits are certified."""
        sample = self.sample(3, kernels=10)
        solution = kopt.solve(cls(), sample)
        assert solution.certificate.holds(CERTIFIED)
        if cls is not TraceBoundedAlignment:
            direct = kopt.solve(SemidefiniteAlignment(), sample).certificate.bounds
            assert solution.certificate.bounds.lower <= direct.upper
            assert direct.lower <= solution.certificate.bounds.upper


class TestRefusals:
    X, y = np.array([[0.0, 1.0], [1.0, 0.5], [3.0, 2.0], [2.0, 2.5]]), np.array([-1.0, 1.0, 1.0, -1.0])
    kernels = {"linear": Linear(), "gaussian": Gaussian(sigma=1.0)}  # noqa: RUF012

    @every_machine
    def test_targets_that_are_0(self, cls):
        refusal(lambda: kopt.solve(cls(), Sample(self.X, np.zeros(4), kernel=self.kernels)), "All 4 targets are 0")

    @every_machine
    def test_no_targets(self, cls):
        refusal(lambda: kopt.solve(cls(), Sample(self.X, kernel=self.kernels)), "no y")

    @pytest.mark.parametrize("cls", [*WEIGHTS, *SEMIDEFINITE])
    def test_kernels_that_have_nothing_to_do_with_the_target(self, cls):
        sample = Sample.from_gram({"constant": np.ones((4, 4)), "0": np.zeros((4, 4))}, self.y)
        refusal(lambda: kopt.solve(cls(), sample), "no combination has any")

    def test_kernels_that_are_not_positive_semidefinite(self):
        refusal(lambda: Sample.from_gram({"K": np.eye(4), "L": np.diag([1.0, 1, 1, -1])}, self.y), "-1")

    @every_machine
    def test_kernels_that_turn_out_not_to_be(self, cls):
        indefinite = Precomputed(np.diag([1.0, 2, 1, -1]))
        sample = Sample(np.arange(4), [1.0, -1, 1, 0], kernel={"K": indefinite, "L": Precomputed(np.eye(4))})
        refusal(lambda: kopt.solve(cls(), suited(cls, sample)), "positive semidefinite")

    def test_kernels_of_different_sizes(self):
        refusal(lambda: Sample.from_gram({"K": np.eye(4), "L": np.eye(3)}, self.y), "different sizes")

    @every_machine
    def test_a_decision_is_not_theirs(self, cls):
        solution = kopt.solve(cls(), suited(cls, sample_of(1)))
        for call in (solution.predict, solution.decision_function):
            refusal(
                lambda call=call: call(solution.sample.X), "learns a kernel, and no function", "kernel=solution.kernel"
            )


class TestLearntKernels:
    @every_machine
    def test_they_evaluate_on_new_points_print_and_go_into_a_machine(self, cls):
        sample = suited(cls, sample_of(1))
        solution = kopt.solve(cls(), sample)
        kernel, new = solution.kernel, np.array([[0.3, -0.2, 0.1], [1.0, 0.0, 0.4], [-1.0, 0.5, 0.0]])
        assert kernel(new, sample.X).shape == (3, sample.n)
        names = [repr(gram.kernel) for gram in sample.grams.values()]
        assert any(name in repr(kernel) for name in names)
        machine = kopt.solve(SoftMargin(C=3.0), Sample(sample.X, sample_of(1).y, kernel=kernel))
        assert machine.certificate.holds(CERTIFIED)
        by_hand = kernel(new, sample.X) @ machine.primal.w.coefficients + machine.primal.b
        np.testing.assert_allclose(machine.decision_function(new), by_hand, rtol=1e-9, atol=1e-9)

    def test_centred_kernels_are_bound_to_the_training_points(self):
        sample = sample_of(1)
        kernel = kopt.solve(CentredAlignment(), sample).kernel
        np.testing.assert_allclose(kernel(sample.X).sum(axis=0), 0.0, atol=1e-12)
        assert abs(np.sum(kernel(sample.X[:4]))) > DIFFERENT

    def test_of_gram_matrices_they_take_rows_of_new_points(self):
        sample = sample_of(1)
        grams = {name: gram.dense for name, gram in sample.grams.items()}
        solution = kopt.solve(AlignmentSpectrum(), Sample.from_gram(grams["gaussian"], sample.y))
        cross = grams["gaussian"][:2]
        inside = solution.kernel(np.arange(sample.n))
        np.testing.assert_allclose(solution.kernel(cross, np.arange(sample.n)), inside[:2], atol=1e-8)


class TestReweighted:
    X = np.random.default_rng(3).standard_normal((6, 2))

    def eigen(self):
        return np.linalg.eigh(Gaussian(sigma=1.0)(self.X))

    def test_the_old_eigenvalues_give_the_old_matrix(self):
        values, V = self.eigen()
        K = Reweighted(Gaussian(sigma=1.0), self.X, V, values, values)
        np.testing.assert_allclose(K(self.X), Gaussian(sigma=1.0)(self.X), atol=1e-12)
        np.testing.assert_allclose(K.diagonal(self.X), np.diag(K(self.X)), rtol=1e-12)
        assert np.array_equal(K(self.X), K(self.X).T)
        assert K.fit(self.X[:2]) is K
        assert K.positive_semidefinite

    def test_what_does_not_fit_is_refused(self):
        values, V = self.eigen()
        kernel = Gaussian(sigma=1.0)
        refusal(lambda: Reweighted(kernel, self.X, V, values[:-1], values), "shape (6, 6)")
        refusal(lambda: Reweighted(kernel, self.X, V, values - 1, values), "smallest eigenvalue")
        refusal(lambda: Reweighted(kernel, self.X, V, values, -values), "smallest weight")


def squares(n: int):
    return arrays(float, (n, 3), elements=st.floats(-3, 3, allow_subnormal=False).map(lambda v: round(v, 2)))


class TestFunctions:
    @settings(max_examples=60, deadline=None)
    @given(squares(4), squares(4), st.floats(1e-3, 1e3))
    def test_it_is_a_cosine(self, F, G, factor):
        K, L = F @ F.T, G @ G.T
        if not K.any() or not L.any():
            return
        A = alignment(K, L)
        assert 0 <= A <= 1
        assert alignment(L, K) == pytest.approx(A, abs=1e-14)
        assert alignment(factor * K, L) == pytest.approx(A, abs=1e-12)
        assert alignment(K, K) == pytest.approx(1.0, abs=1e-12)
        squared = np.sum((K / np.linalg.norm(K) - L / np.linalg.norm(L)) ** 2)
        assert squared == pytest.approx(2 - 2 * A, abs=1e-12)

    @settings(max_examples=60, deadline=None)
    @given(squares(4), arrays(float, 4, elements=st.floats(-3, 3).map(lambda v: round(v, 2))))
    def test_labels_stand_for_their_matrix(self, F, y):
        K, H = F @ F.T, np.eye(4) - 0.25
        if not K.any() or not y.any():
            return
        assert alignment(K, y) == pytest.approx(alignment(K, np.outer(y, y)), abs=1e-12)
        assert alignment(y, y) == pytest.approx(1.0, abs=1e-12)
        if np.ptp(y) > 0 and np.max(np.abs(H @ K @ H)) > 1e-9:
            by_hand = alignment(H @ K @ H, H @ y)
            assert centred_alignment(K, y) == pytest.approx(by_hand, abs=1e-9)
            assert centred_alignment(K + 2.0, y - 1.0) == pytest.approx(by_hand, abs=1e-6)

    def test_numbers_of_any_size(self):
        K = np.array([[2.0, 1.0], [1.0, 3.0]])
        for size in (1e-200, 1e200):
            assert alignment(size * K, [size, -size]) == pytest.approx(alignment(K, [1, -1]), rel=1e-14)

    @pytest.mark.parametrize("measure", [alignment, centred_alignment])
    def test_refusals(self, measure):
        K = np.array([[2.0, 1.0], [1.0, 3.0]])
        refusal(lambda: measure(np.zeros((2, 2)), K), "The first argument is 0 everywhere")
        refusal(lambda: measure(K, [0.0, 0.0]), "The second argument is 0 everywhere")
        refusal(lambda: measure(K, np.eye(3)), "on 2 and on 3 points")
        refusal(lambda: measure(K, np.ones((2, 3))), "not square")
        refusal(lambda: measure(K, [1.0, np.nan]), "NaN or infinite")

    @pytest.mark.parametrize("measure", [alignment, centred_alignment])
    def test_arguments_that_are_no_kernel_values_and_no_targets(self, measure):
        K = np.array([[2.0, 1.0], [1.0, 3.0]])
        refusal(lambda: measure(["a", "b"], K), "The first argument is neither")
        refusal(lambda: measure(K, [[1.0, 2.0], [3.0]]), "The second argument is neither")
        refusal(lambda: measure([[2.0, 1.0], [0.5, 3.0]], [1, -1]), "The first argument is not symmetric", "0.5")
        refusal(lambda: measure(K, np.ones((2, 3))), "The second argument has shape (2, 3)")
        refusal(lambda: measure(K, 1.0), "The second argument has shape ()")
        for empty in ([], np.empty((0, 0))):
            refusal(lambda empty=empty: measure(empty, empty), "The first argument is empty")

    def test_what_centring_makes_0_is_refused(self):
        K = np.array([[2.0, 1.0], [1.0, 3.0]])
        refusal(lambda: centred_alignment(K, [0.1, 0.1]), "The second argument is constant")
        refusal(lambda: centred_alignment(np.full((2, 2), 0.1), K), "The first argument is constant")


class HalfTheLength(SemidefiniteAlignment):
    """A factor 2 forgotten."""

    def dual(self, s):
        program = super().dual(s)
        return Program(cp.Minimize(program.objective.expr / 2), domain=program.domain, multipliers=program.multipliers)


class WrongSign(SemidefiniteAlignment):
    """a - z for a + z."""

    def dual(self, s):
        span, Z = Span.plain(s), s.matrix("Z")
        length = cp.norm(span.inverse @ (span.a - s.against(Z)))
        return Program(cp.Minimize(length), domain=[Z >> 0], multipliers={"lambda": length / 2})


class AnyMatrix(SemidefiniteAlignment):
    """Z of any kind."""

    def dual(self, s):
        program = super().dual(s)
        return Program(program.objective, multipliers=program.multipliers)


class OneBlock(SchurAlignment):
    """<W12, K_k> once, where the two blocks of W give it twice."""

    def dual(self, s):
        program, span = super().dual(s), Span.plain(s)
        W, Z, n = program.variables["W"], program.variables["Z"], s.n
        mu = span.a + s.against(Z) + s.against(W[:n, n:]) == 0
        return Program(program.objective, {"A": program.constraints["A"], "mu": mu}, domain=program.domain)


class NoPrice(SchurAlignment):
    """t left out of the objective."""

    def dual(self, s):
        program = super().dual(s)
        trace = cp.trace(program.variables["W"][s.n :, s.n :])
        return Program(cp.Minimize(trace), program.constraints, domain=program.domain)


class NoEquations(TraceBoundedAlignment):
    """The equations of the weights left out."""

    def dual(self, s):
        program = super().dual(s)
        return Program(program.objective, domain=program.domain)


class WithoutTheSize(TraceBoundedAlignment):
    """c for c l."""

    def dual(self, s):
        program = super().dual(s)
        objective = cp.Minimize(program.objective.expr / s.n)
        return Program(objective, program.constraints, domain=program.domain)


class FreeMultipliers(LeastSquaresAlignment):
    """nu of any sign."""

    def dual(self, s):
        return Program(super().dual(s).objective)


class TwiceTheSquare(LeastSquaresAlignment):
    """The factor 1/2 of the square forgotten."""

    def dual(self, s):
        span, nu = Span.plain(s), cp.Variable(len(s.kernels), name="nu")
        return Program(cp.Maximize(0.5 - cp.sum_squares(span.inverse @ (span.a + nu))), domain=[nu >= 0])


class WholeMatrices(TransductiveAlignment):
    """M of the whole matrices, not of their training parts."""

    def dual(self, s):
        span, Z = Span.plain(s), s.matrix("Z")
        length = cp.norm(span.inverse @ (span.a + s.against(Z)))
        return Program(cp.Minimize(length), domain=[Z >> 0], multipliers={"lambda": length / 2})


class Uncentred(CentredAlignment):
    """The plain kernels in the dual."""

    def dual(self, s):
        return Alignment().dual(s)


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (HalfTheLength, Kind.WRONG_COEFFICIENT),
        (WrongSign, None),
        (AnyMatrix, Kind.MISSING_BOUND),
        (OneBlock, Kind.MISSING_CONSTRAINT),
        (NoPrice, Kind.MISSING_TERM),
        (NoEquations, Kind.MISSING_CONSTRAINT),
        (WithoutTheSize, None),
        (FreeMultipliers, Kind.MISSING_BOUND),
        (TwiceTheSquare, Kind.WRONG_COEFFICIENT),
        (WholeMatrices, None),
        (Uncentred, None),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_referee_refuses_a_wrong_dual(wrong, kind):
    """And names the fault, where it has one name; on the instances of the right declaration."""
    verdict = referee(wrong, instances=2)
    assert verdict.judgement in (Judgement.WRONG, Judgement.SCALED)
    assert kind is None or kind in {fault.kind for fault in verdict.faults}, verdict


@every_machine
def test_the_referee_calls_the_right_dual_exact(cls):
    assert referee(cls, instances=2 if cls is SchurAlignment else 4).judgement is Judgement.EXACT


def test_the_largest_alignment_by_hand_of_the_lengths():
    """No conversion where the alignment is 0: the length of the nearest combination vanishes."""
    sample = sample_of(0)
    solution = kopt.solve(Alignment(), sample)
    there = kopt.convert(solution, to=LeastSquaresAlignment)
    assert np.linalg.norm(matrix_of(there)) == pytest.approx(solution.value, rel=VALUE)
    with pytest.raises(InputError, match="No map leads"):
        kopt.convert(solution, to=AlignmentSpectrum)
