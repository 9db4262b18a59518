"""What people see of a learnt kernel: the weights by name, and the matrix before and after, ordered by class."""

import builtins

import numpy as np
import pytest

import kopt
from formulations.classification import SoftMargin
from formulations.kernel_learning import (
    Alignment,
    AlignmentSpectrum,
    CentredAlignment,
    SchurAlignment,
    SemidefiniteAlignment,
    SemidefiniteSoftMarginKernelLearning,
    SoftMarginKernelLearning,
    TransductiveAlignment,
)
from formulations.novelty import Hypersphere
from kopt import DeclarationError, Sample, alignment
from kopt.kernels import FromFunction, Gaussian, Kernel, Linear, Polynomial
from kopt.show import kernel_figure
from kopt.show.kernel_figure import MOST_POINTS, NEGATIVE, POSITIVE
from tests.test_bad_input import refusal

matplotlib = pytest.importorskip("matplotlib", reason="figures need matplotlib")
from matplotlib.colors import to_rgba  # noqa: E402

KERNELS = {"narrow": Gaussian(sigma=0.5), "wide": Gaussian(sigma=2.0), "linear": Linear()}

#: What is maximised by these is an alignment.
LARGEST = (
    Alignment,
    CentredAlignment,
    SemidefiniteAlignment,
    SchurAlignment,
    TransductiveAlignment,
    AlignmentSpectrum,
)


def classes(n=20, kernels=None, y=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    if y is None:
        y = np.where(X[:, 0] + 0.3 * rng.standard_normal(n) > 0.2, 1.0, -1.0)
    return Sample(X, y, kernel=dict(kernels or KERNELS))


def parts(figure):
    """The axes of the weights, of the matrix before, and of the matrix after."""
    return figure.axes[:3]


def drawn(axes):
    [image] = axes.get_images()
    return np.asarray(image.get_array())


def bars(axes):
    return np.array([bar.get_width() for bar in axes.patches if bar.get_height() == pytest.approx(0.8)])


def labels(ticks):
    return [tick.get_text() for tick in ticks]


def tenth(x, z):
    return 0.1


def suited(cls, sample, shift=0.0):
    """The sample moved, with points without labels or with one kernel where the machine needs that."""
    y = np.where(np.arange(sample.n) % 3 == 1, 0.0, sample.y) if cls is TransductiveAlignment else sample.y
    kernels = sample.gram("wide").kernel if cls is AlignmentSpectrum else sample.kernels
    return Sample(sample.X + np.array([shift, 0.0, 0.0]), y, kernel=kernels)


class TestWeights:
    @pytest.mark.parametrize(
        "formulation",
        [Alignment(), CentredAlignment(), SoftMarginKernelLearning(C=2.0)],
        ids=lambda f: type(f).__name__,
    )
    def test_they_are_shares_of_the_trace_beside_their_names(self, formulation):
        """Of the kernels that the learnt one is made of: far from the origin centred ones are quite others."""
        solution = kopt.solve(formulation, suited(type(formulation), classes(), shift=5.0))
        weights, _, _ = parts(solution.kernel_figure())
        assert labels(weights.get_yticklabels()) == ["narrow", "wide", "linear"]
        traces = [np.trace(part(solution.sample.X)) for part in solution.kernel.kernels]
        expected = solution.primal.mu * traces / np.trace(solution.kernel(solution.sample.X))
        np.testing.assert_allclose(bars(weights), expected, rtol=1e-10, atol=1e-14)
        assert weights.get_xlabel() == "share of the trace"
        assert weights.get_title() == "weights"
        # the first kernel is on top
        bottom, top = weights.get_ylim()
        assert bottom > top

    def test_negative_weights_have_a_colour_of_their_own(self):
        solution = kopt.solve(SemidefiniteSoftMarginKernelLearning(), classes(seed=1))
        weights, _, _ = parts(solution.kernel_figure())
        shares = bars(weights)
        assert np.min(shares) < 0 < np.max(shares)
        for bar, share in zip(weights.patches, shares, strict=False):
            assert bar.get_facecolor() == to_rgba(NEGATIVE if share < 0 else POSITIVE)
        assert shares.sum() == pytest.approx(1.0)

    def test_the_scales_of_the_kernels_do_not_show(self):
        scaled = {name: 10.0 ** (4 * i - 4) * kernel for i, (name, kernel) in enumerate(KERNELS.items())}
        one, other = (
            kopt.solve(Alignment(), classes(kernels=kernels)).kernel_figure() for kernels in (KERNELS, scaled)
        )
        np.testing.assert_allclose(bars(parts(one)[0]), bars(parts(other)[0]), rtol=1e-8)
        np.testing.assert_allclose(drawn(parts(one)[1]), drawn(parts(other)[1]), rtol=1e-10, atol=1e-12)

    def test_many_kernels_each_have_a_bar_and_a_name(self):
        kernels = {f"sigma = {sigma:.3g}": Gaussian(sigma=float(sigma)) for sigma in np.geomspace(0.1, 10.0, 60)}
        weights, _, _ = parts(kopt.solve(Alignment(), classes(kernels=kernels)).kernel_figure())
        assert labels(weights.get_yticklabels()) == list(kernels)
        assert len(bars(weights)) == 60

    def test_one_kernel(self):
        weights, before, after = parts(kopt.solve(Alignment(), classes(kernels={"k": Linear()})).kernel_figure())
        np.testing.assert_allclose(bars(weights), [1.0])
        np.testing.assert_allclose(drawn(before), drawn(after), rtol=1e-10)

    def test_a_kernel_that_is_0_everywhere_has_no_share(self):
        sample = classes()
        grams = {"good": Gaussian(sigma=1.0)(sample.X), "void": np.zeros((20, 20))}
        weights, before, _ = parts(kopt.solve(Alignment(), Sample.from_gram(grams, sample.y)).kernel_figure())
        np.testing.assert_allclose(bars(weights), [1.0, 0.0])
        assert np.isfinite(drawn(before)).all()

    def test_a_kernel_that_centring_makes_0_has_no_share(self):
        sample = classes(7)
        sample = Sample(sample.X, sample.y, kernel={"good": Gaussian(sigma=1.0), "constant": FromFunction(tenth, True)})
        assert sample.centred.gram("constant").diagonal.any()  # rounding
        weights, before, _ = parts(kopt.solve(CentredAlignment(), sample).kernel_figure())
        np.testing.assert_allclose(bars(weights), [1.0, 0.0], atol=1e-14)
        good = sample.centred.gram("good").dense
        order = np.argsort(sample.y, kind="stable")
        expected = (good / np.trace(good) * 7)[np.ix_(order, order)]
        np.testing.assert_allclose(drawn(before), expected, rtol=1e-10, atol=1e-12)

    def test_a_kernel_that_is_no_weighted_sum_is_written(self):
        solution = kopt.solve(AlignmentSpectrum(), classes(kernels={"k": Gaussian(sigma=1.0)}))
        weights, _, _ = parts(solution.kernel_figure())
        assert [text.get_text() for text in weights.texts] == [repr(solution.kernel)]
        assert not weights.axison


class TestAlignments:
    @pytest.mark.parametrize("cls", LARGEST, ids=lambda cls: cls.__name__)
    @pytest.mark.parametrize("shift", [0.0, 5.0])
    @pytest.mark.parametrize("targets", [False, True], ids=["classes", "targets"])
    def test_the_title_has_the_optimum(self, cls, shift, targets):
        """Of whatever the machine aligns: kernels and target centred, or parts between labelled points."""
        y = np.linspace(-1.0, 2.0, 21) if targets and cls is not TransductiveAlignment else None
        solution = kopt.solve(cls(), suited(cls, classes(21, y=y), shift))
        assert solution.certificate.holds(1e-6)
        _, _, after = parts(solution.kernel_figure())
        number = float(after.get_title().split("alignment ")[1])
        assert number == pytest.approx(solution.value, abs=0.0005 + 1e-6)

    @pytest.mark.parametrize("cls", LARGEST, ids=lambda cls: cls.__name__)
    def test_before_nothing_was_learnt_it_was_no_larger(self, cls):
        _, before, after = parts(kopt.solve(cls(), suited(cls, classes(21), 5.0)).kernel_figure())
        first, second = (float(axes.get_title().split("alignment ")[1]) for axes in (before, after))
        assert first <= second

    def test_the_kernel_of_a_spectrum_is_what_was_before(self):
        solution = kopt.solve(AlignmentSpectrum(), classes(kernels={"k": Gaussian(sigma=1.0)}))
        _, before, _ = parts(solution.kernel_figure())
        K, y = solution.sample.gram().dense, solution.sample.y
        assert before.get_title() == f"before\nalignment {alignment(K, y):.3f}"

    def test_of_many_points_it_says_how_many_it_is_about(self):
        _, _, after = parts(kopt.solve(Alignment(), classes(MOST_POINTS + 50)).kernel_figure())
        assert after.get_title().endswith(f" on {MOST_POINTS} of {MOST_POINTS + 50} points")

    def test_a_target_that_cannot_be_computed_is_the_declarations_fault(self):
        class Broken(Alignment):
            def alignment_target(self, s):
                return s.labels

        refusal(kopt.solve(Broken(), classes()).kernel_figure, "alignment_target", kind=DeclarationError)


class TestPointsThatAreNoVectors:
    def test_words(self):
        words = ["cat", "car", "cart", "dog", "dot", "do"]
        common = FromFunction(lambda a, b: len(set(a) & set(b)), positive_semidefinite=True)
        same = FromFunction(lambda a, b: a == b, positive_semidefinite=True)
        sample = Sample(words, [1, -1, 1, -1, 1, -1], kernel={"common": common, "same": same})
        solution = kopt.solve(Alignment(), sample)
        _, _, after = parts(solution.kernel_figure())
        order = [1, 3, 5, 0, 2, 4]
        K = solution.kernel([words[i] for i in order])
        np.testing.assert_allclose(drawn(after), K / np.mean(np.diag(K)), rtol=1e-12)


class TestMatrices:
    def test_before_and_after_are_ordered_by_class_and_brought_to_one_diagonal(self):
        solution = kopt.solve(Alignment(), classes())
        sample = solution.sample
        _, before, after = parts(solution.kernel_figure())
        order = np.argsort(sample.y, kind="stable")
        grams = [gram.dense for gram in sample.grams.values()]
        even = sum(K / np.trace(K) for K in grams) * sample.n / 3
        np.testing.assert_allclose(drawn(before), even[np.ix_(order, order)], rtol=1e-10, atol=1e-14)
        learnt = solution.kernel(sample.X)
        learnt = learnt / np.mean(np.diag(learnt))
        np.testing.assert_allclose(drawn(after), learnt[np.ix_(order, order)], rtol=1e-10, atol=1e-14)
        assert before.get_images()[0].get_clim() == after.get_images()[0].get_clim()

    def test_titles_tell_the_alignments(self):
        solution = kopt.solve(Alignment(), classes())
        _, before, after = parts(solution.kernel_figure())
        assert after.get_title() == f"after: learnt\nalignment {solution.value:.3f}"
        even = sum(K / np.trace(K) for K in (gram.dense for gram in solution.sample.grams.values()))
        assert before.get_title() == f"before: equal traces\nalignment {alignment(even, solution.sample.y):.3f}"

    def test_lines_and_names_part_the_classes(self):
        solution = kopt.solve(Alignment(), classes())
        negative = np.sum(solution.sample.y < 0)
        for axes in parts(solution.kernel_figure())[1:]:
            assert labels(axes.get_yticklabels()) == ["y = -1", "y = 1"]
            np.testing.assert_allclose(axes.get_yticks(), [(negative - 1) / 2, (negative + 19) / 2])
            across, down = axes.lines
            assert across.get_ydata()[0] == down.get_xdata()[0] == negative - 0.5

    def test_three_kinds_of_labels(self):
        sample = classes(21)
        sample = sample.relabelled(np.where(np.arange(21) % 3 == 1, 0.0, sample.y))
        _, before, _ = parts(kopt.solve(TransductiveAlignment(), sample).kernel_figure())
        assert labels(before.get_yticklabels()) == ["y = -1", "y = 0", "y = 1"]
        assert len(before.lines) == 4

    def test_targets_that_are_no_classes_have_no_lines(self):
        _, before, _ = parts(kopt.solve(Alignment(), classes(y=np.linspace(-1.0, 2.0, 20))).kernel_figure())
        assert list(before.lines) == []
        assert labels(before.get_yticklabels()) == []

    def test_one_class_is_named_and_has_no_lines(self):
        _, before, _ = parts(kopt.solve(Alignment(), classes(y=np.ones(20))).kernel_figure())
        assert labels(before.get_yticklabels()) == ["y = 1"]
        assert list(before.lines) == []

    def test_of_gram_matrices(self):
        sample = classes()
        grams = {name: gram.dense for name, gram in sample.grams.items()}
        one, other = (
            kopt.solve(Alignment(), each).kernel_figure() for each in (sample, Sample.from_gram(grams, sample.y))
        )
        for mine, theirs in zip(parts(one)[1:], parts(other)[1:], strict=True):
            np.testing.assert_allclose(drawn(mine), drawn(theirs), rtol=1e-8, atol=1e-12)


class Counting(Kernel):
    """A Gaussian kernel that knows how many values it was asked for at once, at most."""

    positive_semidefinite = True

    def __init__(self):
        self.largest = 0

    def check(self, X):
        return Linear().check(X)

    def evaluate(self, X, Z):
        self.largest = max(self.largest, len(X) * len(Z))
        return Gaussian(sigma=1.0).evaluate(X, Z)


class TestManyPoints:
    def test_no_more_points_are_drawn_than_are_seen(self):
        solution = kopt.solve(Alignment(), classes(3 * MOST_POINTS))
        for axes in parts(solution.kernel_figure())[1:]:
            assert drawn(axes).shape == (MOST_POINTS, MOST_POINTS)

    def test_the_points_drawn_are_spread_over_the_classes(self):
        solution = kopt.solve(Alignment(), classes(3 * MOST_POINTS))
        across, down = parts(solution.kernel_figure())[1].lines
        negative = np.mean(solution.sample.y < 0) * MOST_POINTS
        assert across.get_ydata()[0] == down.get_xdata()[0] == pytest.approx(negative, abs=2)

    def test_no_whole_matrix_is_formed_for_the_figure(self):
        counting = Counting()
        solution = kopt.solve(Alignment(), classes(3 * MOST_POINTS, {"counting": counting, "linear": Linear()}))
        assert counting.largest > MOST_POINTS**2
        counting.largest = 0
        solution.kernel_figure()
        assert counting.largest == MOST_POINTS**2

    @pytest.mark.parametrize("n", [2, MOST_POINTS - 1, MOST_POINTS, MOST_POINTS + 1])
    def test_every_point_of_few_is_drawn_once(self, n):
        rows = kernel_figure._rows(np.resize([1.0, -1.0], n), n)
        assert len(np.unique(rows)) == len(rows) == min(n, MOST_POINTS)


class TestTheFigure:
    def test_it_is_a_figure_of_its_own_that_no_window_knows(self, tmp_path):
        import matplotlib.pyplot as plt

        solution, before = kopt.solve(Alignment(), classes()), plt.get_fignums()
        one, other = solution.kernel_figure(), solution.kernel_figure()
        assert isinstance(one, matplotlib.figure.Figure)
        assert one is not other
        assert plt.get_fignums() == before
        assert len(one.axes) == 4
        assert one.axes[3].get_ylabel() == "entry / mean of the diagonal"
        one.savefig(tmp_path / "kernel.png")
        assert (tmp_path / "kernel.png").stat().st_size > 1000

    @pytest.mark.parametrize("machine", [SoftMargin(), Hypersphere()], ids=lambda machine: type(machine).__name__)
    def test_a_machine_that_learns_no_kernel_is_refused(self, machine):
        solution = kopt.solve(machine, classes(kernels={"k": Gaussian(sigma=1.0)}))
        refusal(solution.kernel_figure, "learn")

    def test_without_matplotlib_it_says_what_to_install(self, monkeypatch):
        plain = builtins.__import__

        def none_there(name, *args, **options):
            if name.startswith("matplotlib"):
                raise ImportError(name)
            return plain(name, *args, **options)

        solution = kopt.solve(Alignment(), classes())
        monkeypatch.setattr(builtins, "__import__", none_there)
        refusal(solution.kernel_figure, "needs matplotlib, which is not installed", "pip install matplotlib")

    def test_a_figure_does_not_change_the_solution(self):
        solution = kopt.solve(Alignment(), classes(kernels={**KERNELS, "quadratic": Polynomial(degree=2, R=1.0)}))
        mu = solution.primal.mu.copy()
        solution.kernel_figure()
        assert np.array_equal(solution.primal.mu, mu)
