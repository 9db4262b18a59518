"""New points of several precomputed kernels: each kernel sees its own cross matrix, or the points are refused."""

import numpy as np
import pytest

import kopt
from formulations.classification import SoftMargin
from formulations.kernel_learning import (
    Alignment,
    CentredAlignment,
    SemidefiniteSoftMarginKernelLearning,
    SoftMarginKernelLearning,
)
from kopt import Sample
from kopt.kernels import FromFunction, Linear, Precomputed, Weighted
from tests.test_bad_input import refusal

MARGINS = (SoftMarginKernelLearning, SemidefiniteSoftMarginKernelLearning)
RNG = np.random.default_rng(0)
K_A, K_B = (F @ F.T for F in RNG.normal(size=(2, 20, 5)))
Y = np.where(RNG.normal(size=16) > 0, 1.0, -1.0)
TRAIN, NEW = np.arange(16), np.arange(16, 20)
GRAMS = {"a": K_A[:16, :16], "b": K_B[:16, :16]}
CROSS = {"a": K_A[16:, :16], "b": K_B[16:, :16]}
FULL = Sample(TRAIN, Y, kernel={"a": Precomputed(K_A), "b": Precomputed(K_B)})
REFUSED = "(4, 16)", "2 different precomputed kernels", "mapping from name to cross matrix", "indices as points"


def from_gram() -> Sample:
    return Sample.from_gram(GRAMS, Y)


@pytest.fixture(scope="module")
def margins():
    return {cls: kopt.solve(cls(), from_gram()) for cls in MARGINS}


class TestPredictions:
    def test_every_vector_sees_its_own_matrix(self):
        solution = kopt.solve(SoftMarginKernelLearning(p=2.0), from_gram())
        mixed = sum(mu * K for mu, K in zip(solution.primal.mu, CROSS.values(), strict=True))
        expected = mixed @ (Y * solution.dual.alpha) + solution.primal.b
        np.testing.assert_allclose(solution.decision_function(CROSS), expected, atol=1e-6)
        swapped_order = {"b": CROSS["b"].tolist(), "a": CROSS["a"].tolist()}
        np.testing.assert_array_equal(solution.decision_function(swapped_order), solution.decision_function(CROSS))
        assert solution.predict(CROSS).tolist() == np.where(expected >= 0, 1, -1).tolist()

    @pytest.mark.parametrize("cls", MARGINS)
    def test_full_matrices_with_indices_say_the_same(self, cls, margins):
        by_index = kopt.solve(cls(), FULL).decision_function(NEW)
        np.testing.assert_allclose(margins[cls].decision_function(CROSS), by_index, atol=1e-5)

    @pytest.mark.parametrize("cls", MARGINS)
    def test_one_matrix_for_several_kernels_is_refused(self, cls, margins):
        for given in (CROSS["a"], CROSS["a"].tolist()):
            refusal(lambda given=given: margins[cls].decision_function(given), *REFUSED)
        refusal(lambda: margins[cls].predict(CROSS["b"]), *REFUSED)

    def test_one_matrix_for_several_kernels_without_names_is_refused_with_how_to_name_them(self):
        kernels = {name: Precomputed(K) for name, K in GRAMS.items()}
        solution = kopt.solve(SoftMarginKernelLearning(), Sample(TRAIN, Y, kernel=kernels))
        refusal(lambda: solution.predict(CROSS["a"]), *REFUSED, "name='a'")
        refusal(lambda: solution.predict(CROSS), "'a', 'b'", "has no name", "name='a'")
        named = {name: Precomputed(K, name=name) for name, K in GRAMS.items()}
        solution = kopt.solve(SoftMarginKernelLearning(), Sample(TRAIN, Y, kernel=named))
        expected = kopt.solve(SoftMarginKernelLearning(), from_gram()).decision_function(CROSS)
        np.testing.assert_allclose(solution.decision_function(CROSS), expected, atol=1e-6)

    def test_a_machine_that_uses_one_of_the_matrices_takes_it_alone(self):
        solution = kopt.solve(SoftMargin(), from_gram())
        np.testing.assert_array_equal(solution.decision_function(CROSS["a"]), solution.decision_function(CROSS))

    def test_one_kernel_under_two_names_is_one_kernel(self):
        kernel = Precomputed(GRAMS["a"])
        solution = kopt.solve(SoftMarginKernelLearning(), Sample(TRAIN, Y, kernel={"one": kernel, "again": kernel}))
        alone = kopt.solve(SoftMarginKernelLearning(), Sample(TRAIN, Y, kernel={"one": kernel}))
        np.testing.assert_allclose(
            solution.decision_function(CROSS["a"]), alone.decision_function(CROSS["a"]), atol=1e-5
        )

    def test_mappings_that_do_not_fit_are_refused(self, margins):
        predict = margins[SoftMarginKernelLearning].predict
        refusal(lambda: predict({"a": CROSS["a"]}), "no cross matrix for the kernel 'b'", "only for 'a'", "Add")
        refusal(lambda: predict({**CROSS, "b": CROSS["b"][:3]}), "different numbers of rows: 'a' 4, 'b' 3", "one row")
        refusal(lambda: predict({**CROSS, "b": CROSS["b"][:, :5]}), "'b' has 5 columns", "16 points", "K(new, train)")
        refusal(lambda: predict({**CROSS, "b": CROSS["b"][0]}), "'b' is 1-D", "(16,)")
        refusal(lambda: predict({**CROSS, "b": np.full((4, 16), np.nan)}), "'b' has 64 values", "NaN")
        refusal(lambda: predict({**CROSS, "b": [["x"]]}), "'b' is not a matrix of real numbers")
        refusal(lambda: predict({name: K[:0] for name, K in CROSS.items()}), "no new point")
        refusal(lambda: predict({}), "0 cross matrices")

    def test_other_kernels_refuse_a_mapping(self):
        points = RNG.normal(size=(16, 2))
        for kernel in (Linear(), FromFunction(lambda x, z: float(np.dot(x, z)), positive_semidefinite=True)):
            solution = kopt.solve(SoftMargin(), Sample(points, Y, kernel=kernel))
            refusal(lambda solution=solution: solution.predict({"a": points}), "X is a CrossMatrices", "array")


class TestKernels:
    A, B = (Precomputed(K, name=name) for name, K in GRAMS.items())

    @pytest.mark.parametrize("cls", [Alignment, CentredAlignment])
    def test_a_learnt_kernel_takes_cross_matrices_by_name(self, cls):
        learnt, full = kopt.solve(cls(), from_gram()).kernel, kopt.solve(cls(), FULL).kernel
        np.testing.assert_allclose(learnt(CROSS, TRAIN), full(NEW, TRAIN), atol=1e-5)
        np.testing.assert_array_equal(learnt(TRAIN, CROSS), learnt(CROSS, TRAIN).T)
        refusal(lambda: learnt(CROSS["a"], TRAIN), *REFUSED)
        again = kopt.solve(SoftMargin(), Sample(TRAIN, Y, kernel=learnt))
        by_index = kopt.solve(SoftMargin(), Sample(TRAIN, Y, kernel=full)).decision_function(NEW)
        np.testing.assert_allclose(again.decision_function(CROSS), by_index, atol=1e-4)
        refusal(lambda: again.decision_function(CROSS["a"]), *REFUSED)

    def test_compositions_take_cross_matrices_by_name(self):
        A, B = CROSS.values()
        for kernel, expected in (
            (self.A + self.B, A + B),
            (self.A * self.B, A * B),
            (Weighted((2.0, -1.0), (self.A, self.B)), 2 * A - B),
            (2 * (self.A + self.A * self.B), 2 * (A + A * B)),
        ):
            np.testing.assert_allclose(kernel(CROSS, TRAIN), expected, rtol=1e-13)
            refusal(lambda kernel=kernel: kernel(A, TRAIN), *REFUSED)
            refusal(lambda kernel=kernel: kernel(TRAIN, A), *REFUSED)
            refusal(lambda kernel=kernel: kernel(CROSS), "between two new points")
            refusal(lambda kernel=kernel: kernel.diagonal(CROSS), "k(x, x)")

    def test_one_kernel_used_twice_takes_one_matrix(self):
        A = CROSS["a"]
        np.testing.assert_allclose((self.A * self.A + self.A)(A, TRAIN), A**2 + A, rtol=1e-13)

    def test_full_matrices_take_indices(self):
        kernel = Precomputed(K_A) + Precomputed(K_B)
        np.testing.assert_array_equal(kernel(NEW, TRAIN), (K_A + K_B)[16:, :16])

    def test_different_kernels_of_one_name_are_refused(self):
        other = Precomputed(GRAMS["b"], name="a")
        refusal(lambda: (self.A + other)(CROSS, TRAIN), "2 different", "1 different names", "name='a'")
        solution = kopt.solve(SoftMarginKernelLearning(), Sample(TRAIN, Y, kernel={"a": self.A, "b": other}))
        refusal(lambda: solution.predict(CROSS), "2 different", "1 different names")

    def test_names_are_printed(self):
        assert repr(self.A) == "Precomputed('a', 16 x 16 matrix)"
        assert repr(Sample.from_gram(GRAMS["a"]).gram().kernel) == "Precomputed(16 x 16 matrix)"
        assert repr(from_gram().combined([0.5, 2.0])) == (
            "0.5 * Precomputed('a', 16 x 16 matrix) + 2 * Precomputed('b', 16 x 16 matrix)"
        )
