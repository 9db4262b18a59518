"""Alignments over non-negative weights by an active set: against a conic solver, all supports, and by hand."""

import warnings
from itertools import chain, combinations

import numpy as np
import pytest

import kopt
from formulations.classification import SoftMargin
from formulations.kernel_learning import (
    Alignment,
    AlignmentSpectrum,
    CentredAlignment,
    LeastSquaresAlignment,
    SemidefiniteAlignment,
    SoftMarginKernelLearning,
    TraceBoundedAlignment,
    TransductiveAlignment,
)
from formulations.kernel_learning.solvers.non_negative_least_squares import NonNegativeLeastSquares
from formulations.kernel_learning.span import Span
from kopt import Sample
from kopt.kernels import Gaussian, Linear, Polynomial
from kopt.solvers import Problem
from tests.test_bad_input import refusal
from tests.tolerances import CERTIFIED, ENCLOSURE, VALUE, WEIGHT

METHOD = "NON_NEGATIVE_LEAST_SQUARES"
#: The active set is exact: what it leaves is rounding.
EXACT = 1e-12
KERNELS = {
    "narrow": Gaussian(sigma=0.5),
    "wide": Gaussian(sigma=2.0),
    "linear": Linear(),
    "quadratic": Polynomial(degree=2, R=1.0),
}
every_machine = pytest.mark.parametrize(
    "cls", [Alignment, LeastSquaresAlignment, CentredAlignment], ids=lambda cls: cls.__name__
)


def solve(cls, sample, **options):
    return kopt.solve(cls(), sample, method=METHOD, **options)


def classes(n, kernels=None, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    y = np.where(X[:, 0] + X[:, 1] ** 2 - 1 + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return Sample(X, y, kernel=dict(kernels or KERNELS), **options)


def gaussians(count):
    """Kernels that are nearly alike."""
    return {f"{sigma:.3f}": Gaussian(sigma=float(sigma)) for sigma in np.geomspace(0.1, 10.0, count)}


def low_rank(n, count, seed=0):
    """Kernels of rank 2 that have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    factors = (rng.standard_normal((n, 2)) for _ in range(count))
    return Sample.from_gram({f"k{k}": F @ F.T for k, F in enumerate(factors)}, classes(n).y)


def stacked(cls, sample):
    """The matrices as columns, and the target of length 1, both centred where the machine centres."""
    n = sample.n
    H = np.eye(n) - 1 / n if cls is CentredAlignment else np.eye(n)
    y = H @ sample.y
    grams = [gram.kernel(sample.X) for gram in sample.grams.values()]
    return np.column_stack([(H @ K @ H).ravel() for K in grams]), np.outer(y, y).ravel() / (y @ y)


def value_of(cls, distance):
    """The optimum of a machine, from the least squared distance to the target."""
    return distance / 2 if cls is LeastSquaresAlignment else np.sqrt(1 - distance)


class TestTheOptimum:
    @every_machine
    @pytest.mark.parametrize("n", [9, 24, 60])
    def test_a_conic_solver_finds_the_same(self, cls, n):
        sample = classes(n, seed=n)
        found, conic = solve(cls, sample), kopt.solve(cls(), sample, method="CLARABEL")
        assert found.certificate.holds(EXACT * 10)
        assert conic.certificate.holds(CERTIFIED)
        assert found.value == pytest.approx(conic.value, rel=VALUE)
        np.testing.assert_allclose(found.primal.mu, conic.primal.mu, atol=WEIGHT * np.max(found.primal.mu))

    @every_machine
    @pytest.mark.parametrize("seed", range(4))
    def test_no_support_is_better(self, cls, seed):
        """Least squares on every set of kernels; those whose weights are not negative are allowed."""
        sample = classes(15, seed=seed)
        A, T = stacked(cls, sample)
        distances = []
        for support in chain.from_iterable(combinations(range(4), size) for size in range(1, 5)):
            weights = np.linalg.lstsq(A[:, support], T)[0]
            if np.all(weights >= 0):
                distances.append(np.sum((A[:, support] @ weights - T) ** 2))
        assert solve(cls, sample).value == pytest.approx(value_of(cls, min(distances)), rel=1e-10)

    @every_machine
    @pytest.mark.parametrize(
        "sample",
        [classes(20, seed=3), classes(8, gaussians(12)), low_rank(12, 30)],
        ids=["four kernels", "nearly alike", "more than points"],
    )
    def test_the_conditions_of_least_squares_by_hand(self, cls, sample):
        """G'(G mu - T) >= 0, and 0 where mu > 0, for the weights at the length of the nearest point."""
        A, T = stacked(cls, sample)
        solution = solve(cls, sample)
        mu, seen = solution.primal.mu, A @ solution.primal.mu
        mu = mu * (T @ seen) / (seen @ seen)
        assert np.all(mu >= 0)
        lengths = np.linalg.norm(A, axis=0)
        slopes = A.T @ (A @ mu - T) / lengths
        assert np.min(slopes) >= -CERTIFIED
        np.testing.assert_allclose(slopes[mu > WEIGHT * np.max(mu)], 0.0, atol=CERTIFIED)
        np.testing.assert_allclose(solution.dual.nu / lengths, slopes, atol=CERTIFIED)
        assert solution.value == pytest.approx(value_of(cls, np.sum((A @ mu - T) ** 2)), abs=CERTIFIED)

    def test_weights_and_multipliers_exclude_each_other(self):
        solution = solve(Alignment, classes(24, seed=24))
        off = solution.primal.mu == 0
        assert 0 < np.sum(off) < 4
        assert np.all(solution.dual.nu[off] > 0)
        assert np.all(solution.dual.nu[~off] == 0)

    def test_the_weights_of_the_nearest_point_are_the_alignment_times_those_of_the_direction(self):
        sample = classes(30, seed=1)
        largest, nearest = solve(Alignment, sample), solve(LeastSquaresAlignment, sample)
        np.testing.assert_allclose(nearest.primal.mu, largest.value * largest.primal.mu, rtol=1e-10)


class TestDegenerate:
    @every_machine
    def test_a_kernel_that_is_there_twice_changes_nothing_but_the_weights(self, cls):
        twice = {**KERNELS, "narrow again": KERNELS["narrow"], "wide again": KERNELS["wide"]}
        once, again = (solve(cls, classes(24, kernels, seed=2)) for kernels in (KERNELS, twice))
        assert again.certificate.holds(CERTIFIED)
        assert again.value == pytest.approx(once.value, rel=1e-10)
        mu = again.primal.mu
        np.testing.assert_allclose([mu[0] + mu[4], mu[1] + mu[5], mu[2], mu[3]], once.primal.mu, atol=1e-9)

    @every_machine
    @pytest.mark.parametrize(
        "scales", [(1e-6, 1e-6, 1e-6, 1e-6), (1e6, 1e6, 1e6, 1e6), (1e-6, 1.0, 1e6, 1e-3)], ids=str
    )
    def test_the_scales_of_the_kernels_do_not_matter(self, cls, scales):
        scaled = {name: scale * kernel for scale, (name, kernel) in zip(scales, KERNELS.items(), strict=True)}
        plain, found = (solve(cls, classes(30, kernels, seed=1)) for kernels in (KERNELS, scaled))
        assert found.certificate.holds(CERTIFIED)
        assert found.value == pytest.approx(plain.value, rel=1e-10)
        np.testing.assert_allclose(found.primal.mu * scales, plain.primal.mu, rtol=1e-9)

    @every_machine
    @pytest.mark.parametrize("size", [1e-150, 1e-6, 1e6])
    def test_the_scale_of_the_target_does_not_matter(self, cls, size):
        sample = classes(20)
        found = solve(cls, sample.relabelled(size * sample.y))
        assert found.value == pytest.approx(solve(cls, sample).value, rel=1e-10)

    @every_machine
    def test_a_kernel_that_is_orthogonal_to_the_target_gets_no_weight(self, cls):
        sample = classes(12, seed=5)
        y = sample.y - sample.y.mean() if cls is CentredAlignment else sample.y
        F = np.random.default_rng(0).standard_normal((12, 3))
        F -= np.outer(y, y @ F) / (y @ y)
        grams = {"good": Gaussian(sigma=2.0)(sample.X), "orthogonal": F @ F.T}
        both = Sample.from_gram(grams, sample.y)
        found, alone = solve(cls, both), solve(cls, Sample.from_gram(grams["good"], sample.y))
        assert found.primal.mu[1] == 0
        assert found.value == pytest.approx(alone.value, rel=1e-10)
        np.testing.assert_allclose(found.primal.mu[0], alone.primal.mu[0], rtol=1e-10)

    @every_machine
    def test_a_kernel_that_is_0_everywhere_gets_no_weight(self, cls):
        sample = classes(12)
        grams = {"good": Gaussian(sigma=2.0)(sample.X), "zero": np.zeros((12, 12))}
        found = solve(cls, Sample.from_gram(grams, sample.y))
        assert found.certificate.holds(CERTIFIED)
        assert found.primal.mu[1] == 0
        assert np.isfinite(found.dual.nu).all()

    @every_machine
    def test_the_target_itself_is_all_that_is_wanted(self, cls):
        sample = classes(12)
        grams = {"noise": Gaussian(sigma=0.5)(sample.X), "target": np.outer(sample.y, sample.y)}
        found = solve(cls, Sample.from_gram(grams, sample.y))
        assert found.value == pytest.approx(value_of(cls, 0.0), abs=EXACT)
        assert found.primal.mu[0] == pytest.approx(0.0, abs=EXACT)

    def test_one_kernel(self):
        sample = classes(20, {"k": Gaussian(sigma=1.5)})
        K = sample.gram().dense
        np.testing.assert_allclose(solve(Alignment, sample).primal.mu, [1 / np.linalg.norm(K)], rtol=1e-12)

    @every_machine
    @pytest.mark.parametrize("count", [30, 80, 150])
    @pytest.mark.parametrize("n", [10, 20])
    def test_more_kernels_than_points(self, cls, n, count):
        """Nearly alike they are dependent up to rounding, and the rows of the dual are more than a repair takes."""
        for sample in (classes(n, gaussians(count), seed=2), low_rank(n, count)):
            found = solve(cls, sample)
            assert found.certificate.holds(CERTIFIED)
            assert found.certificate.bounds.known
            assert found.certificate.bounds.relative_gap <= 1e-9
            assert np.sum(found.primal.mu > 0) <= n * (n + 1) / 2

    def test_a_target_outside_the_span_of_dependent_kernels_leaves_the_bounds_consistent(self):
        """Of any answer, also of the rough ones that conic solvers give to the dual here."""
        sample = classes(12, gaussians(30), seed=2)
        optimum = solve(Alignment, sample).value
        for method, side in (("CLARABEL", "primal"), ("SCS", "dual"), ("ECOS", "dual")):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", kopt.CertificateWarning)
                bounds = kopt.solve(Alignment(), sample, method=method, side=side).certificate.bounds
            assert bounds.known
            assert bounds.consistent
            assert bounds.lower - ENCLOSURE <= optimum <= bounds.upper + ENCLOSURE


class TestBounds:
    @every_machine
    @pytest.mark.parametrize("size", [0.0, 1e-6, 1.0, 1e6])
    @pytest.mark.parametrize("kernels", [KERNELS, gaussians(30), gaussians(80)], ids=len)
    def test_any_multipliers_enclose_the_optimum(self, cls, kernels, size):
        sample = classes(20, kernels, seed=4)
        known = solve(cls, sample).certificate.bounds
        nu = size * np.random.default_rng(0).standard_normal(len(kernels))
        bounds = kopt.verify(cls(), sample, {"nu": nu}).bounds
        assert bounds.known
        assert bounds.lower <= known.upper + ENCLOSURE
        assert known.lower <= bounds.upper + ENCLOSURE

    @pytest.mark.parametrize("kernels", [KERNELS, gaussians(30)], ids=len)
    def test_repaired_multipliers_are_feasible_and_stay(self, kernels):
        span = Span.plain(classes(20, kernels))
        nu = np.random.default_rng(1).standard_normal(len(kernels))
        once = span.feasible(nu)
        assert np.all(once >= 0)
        np.testing.assert_allclose(span.null.T @ (span.a + once), 0.0, atol=1e-10)
        np.testing.assert_allclose(span.feasible(once), once, atol=1e-10)


class TestWhatItTakes:
    @every_machine
    @pytest.mark.parametrize("n", [10, 120])
    def test_it_comes_first(self, cls, n):
        solution = kopt.solve(cls(), classes(n))
        assert [(attempt.method, attempt.status) for attempt in solution.attempts] == [(METHOD, "solved")]
        assert "exact" in solution.attempts[0].reason

    @pytest.mark.parametrize(
        "formulation",
        [
            SemidefiniteAlignment(),
            TraceBoundedAlignment(),
            TransductiveAlignment(),
            AlignmentSpectrum(),
            SoftMargin(),
            SoftMarginKernelLearning(),
        ],
        ids=lambda formulation: type(formulation).__name__,
    )
    def test_other_problems_are_refused(self, formulation):
        sample = classes(10)
        if isinstance(formulation, TransductiveAlignment):
            sample = sample.relabelled(np.append(sample.y[:7], np.zeros(3)))
        if isinstance(formulation, AlignmentSpectrum):
            sample = sample.under(sample.gram().kernel)
        refusal(lambda: kopt.solve(formulation, sample, method=METHOD), "the formulation has no `span(s)`")

    @every_machine
    def test_primals_are_refused(self, cls):
        assert NonNegativeLeastSquares().accepts(Problem(cls(), classes(10), "primal")) == "it solves duals only"
        refusal(lambda: solve(cls, classes(10), side="primal"), "it solves duals only")

    def test_kernels_that_align_with_nothing_are_refused_before(self):
        y = np.array([1.0, -1.0, 1.0, -1.0])
        refusal(lambda: solve(Alignment, Sample.from_gram(np.ones((4, 4)), y)), "no combination has any")
