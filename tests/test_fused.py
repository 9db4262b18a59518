"""Compiled kernel values against naive ones, entry by entry."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest

from kopt import InputError
from kopt.fused import weighted
from kopt.fused.features import FusedFeatures
from kopt.fused.gaussian import MANY_FEATURES, FusedGaussian
from kopt.fused.threads import threads
from kopt.gram import Gram
from kopt.gram.columns import Columns
from kopt.kernels import Gaussian, Laplacian, Linear, Polynomial, Weighted

EPS = float(np.finfo(np.float64).eps)


def naive(V: np.ndarray) -> np.ndarray:
    """exp(-|v_i - v_j|^2 / 2), one entry at a time."""
    return np.array([[math.exp(-math.fsum((a - b) ** 2) / 2) for b in V] for a in V])


def drawn(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d)) * math.sqrt(2 / d)


def exp(x: np.ndarray, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """The compiled exponentials of negative numbers near those of x, as values between 0 and points; and theirs."""
    points = np.sqrt(-2 * x).astype(dtype).astype(float)
    V = np.concatenate([[0.0], points])[:, None]
    exponents = -(points.astype(dtype) ** 2 / 2)
    return FusedGaussian(V).block(np.arange(len(V)), np.empty((len(V), len(V)), dtype))[0, 1:], exponents.astype(float)


class TestExponential:
    def test_double(self):
        found, x = exp(np.concatenate([-np.geomspace(1e-12, 700.0, 1001), [0.0]]), np.float64)
        np.testing.assert_allclose(found, [math.exp(each) for each in x], rtol=4 * EPS)

    def test_single(self):
        found, x = exp(np.concatenate([-np.geomspace(1e-6, 80.0, 1001), [0.0]]), np.float32)
        np.testing.assert_allclose(found, [math.exp(each) for each in x], rtol=1e-5)
        near = x > -1
        np.testing.assert_allclose(found[near], np.exp(x[near]), rtol=4e-7)

    def test_far_below_nothing_is_left(self):
        far = np.array([-1e4])
        assert 0 <= exp(far, np.float64)[0][0] < 1e-300
        assert 0 <= exp(far, np.float32)[0][0] < 1e-37


class TestGaussian:
    @pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 8, 21, MANY_FEATURES, 130])
    @pytest.mark.parametrize("n", [1, 2, 5, 33])
    def test_every_entry(self, n, d):
        V = drawn(n, d)
        K, fused = naive(V), FusedGaussian(V)
        for j in range(n):
            np.testing.assert_allclose(fused.product(np.array([j]), np.ones(1)), K[:, j], rtol=64 * EPS * d)
        for dtype, rtol in ((np.float32, 3e-6), (np.float64, 64 * EPS * d)):
            block = fused.block(np.arange(n), np.empty((n, n), dtype))
            assert block.dtype == dtype
            np.testing.assert_allclose(block, K, rtol=rtol)
            np.testing.assert_array_equal(block, block.T)

    @pytest.mark.parametrize("d", [2, 20, MANY_FEATURES + 1])
    @pytest.mark.parametrize("chosen", [1, 3, 4, 7, 600])
    def test_sums_over_some_columns(self, d, chosen):
        V = drawn(1300, d)
        rng = np.random.default_rng(1)
        where, c = rng.choice(len(V), chosen, replace=False), rng.standard_normal(chosen)
        expected = np.exp(-0.5 * ((V[:, None, :] - V[where]) ** 2).sum(axis=2)) @ c
        fused, size = FusedGaussian(V), np.abs(c).sum()
        np.testing.assert_allclose(fused.product(where, c), expected, atol=1e-14 * size)
        out = np.ones(len(V))
        fused.add(where, c, out)
        np.testing.assert_allclose(out, 1 + expected, atol=2e-6 * size)
        assert not np.allclose(out, 1 + expected, rtol=0, atol=1e-15 * size)  # or it is not single precision

    @pytest.mark.parametrize(("n", "d"), [(1, 1), (130, 3), (517, 90)])
    def test_a_multiple_is_added_below_the_diagonal(self, n, d):
        V = drawn(n, d)
        total = np.tri(n)
        FusedGaussian(V).add_lower(-0.5, total)
        np.testing.assert_allclose(np.tril(total), np.tril(1 - naive(V) / 2), atol=1e-13)

    def test_the_number_of_threads_changes_nothing(self, monkeypatch):
        V = drawn(3000, 7)
        where, c = np.arange(0, 3000, 7), np.random.default_rng(0).standard_normal(429)
        results = []
        for count in ("1", "2", "3"):
            monkeypatch.setenv("KOPT_THREADS", count)
            out = np.zeros(len(V))
            FusedGaussian(V).add(where, c, out)
            results.append((FusedGaussian(V).product(where, c), out))
        for product, out in results[1:]:
            np.testing.assert_array_equal(product, results[0][0])
            np.testing.assert_array_equal(out, results[0][1])

    def test_points_that_are_too_far_apart_are_left_to_differences(self):
        X = np.array([[0.0], [1e6], [1e6 + 1]])
        assert Gaussian(sigma=1.0).fused(X) is None
        assert Gaussian(sigma=1e6).fused(X) is not None


class TestGram:
    def test_a_long_product_is_the_short_one(self, monkeypatch):
        X, c = drawn(900, 3), np.random.default_rng(0).standard_normal(900)
        c[::3] = 0
        expected = Gram(Gaussian(sigma=1.3), X).product(c)
        monkeypatch.setattr("kopt.gram.gram.MANY_ENTRIES", 1000)
        np.testing.assert_allclose(Gram(Gaussian(sigma=1.3), X).product(c), expected, atol=1e-12)

    def test_what_is_kept_is_not_given_for_another_product(self, monkeypatch):
        monkeypatch.setattr("kopt.gram.gram.MANY_ENTRIES", 1000)
        gram, c = Gram(Gaussian(sigma=1.3), drawn(200, 3)), np.ones(200)
        first = gram.product(c)
        first += 1e9  # the caller's own
        c[0] = 3.0
        np.testing.assert_allclose(gram.product(c), gram.dense @ c, rtol=1e-12)

    @pytest.mark.parametrize("change", [0.0, 1e-14, 1e-3])
    def test_a_multiple_of_what_is_kept_costs_nothing(self, monkeypatch, change):
        monkeypatch.setattr("kopt.gram.gram.MANY_ENTRIES", 1000)
        gram, c = Gram(Gaussian(sigma=1.3), drawn(200, 3)), np.random.default_rng(0).standard_normal(200)
        gram.product(c)
        computed = []
        product = gram.fused.product
        monkeypatch.setattr(gram.fused, "product", lambda *given: computed.append(given) or product(*given))
        other = -1.7 / 3 * c * 3
        other[5] += change * np.abs(other).sum()
        found = gram.product(other)
        assert len(computed) == (change > 0)
        expected = Gram(Gaussian(sigma=1.3), gram.X).dense @ other
        assert np.abs(found - expected).max() <= 1e-15 * np.abs(other).sum()

    @pytest.mark.parametrize(
        "kernel", [Gaussian(sigma=1.1), Linear(), Polynomial(degree=2), 0.5 * Gaussian(sigma=2.0) + Linear()]
    )
    @pytest.mark.parametrize("single", [False, True])
    @pytest.mark.parametrize("formed", [False, True])
    def test_columns(self, kernel, single, formed):
        X = drawn(120, 4)
        gram, K = Gram(kernel, X), kernel(X)
        if formed:
            _ = gram.dense
        columns, where = Columns(gram), np.array([5, 3, 99, 7])
        c, out = np.array([1.0, -2.0, 0.5, 3.0]), np.zeros(120)
        columns.add(where, c, out, single)
        tolerance = 1e-5 if single else 1e-12
        np.testing.assert_allclose(out, K[:, where] @ c, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(columns.block(where, single), K[np.ix_(where, where)], rtol=tolerance)
        everything = np.arange(120)[::-1]
        np.testing.assert_allclose(columns.block(everything, single), K[::-1, ::-1], rtol=tolerance, atol=tolerance)

    def test_columns_may_repeat(self):
        gram, out = Gram(Gaussian(sigma=1.0), drawn(10, 2)), np.zeros(10)
        Columns(gram).add(np.array([1, 1, 2]), np.array([1.0, 2.0, 1.0]), out, single=False)
        np.testing.assert_allclose(out, gram.dense[:, [1, 2]] @ [3.0, 1.0], rtol=1e-12)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system starts processes otherwise")
def test_a_forked_process_has_threads_of_its_own():
    fork = """
import os, numpy as np
from kopt.fused.threads import over_ranges
filled = np.zeros(5000)
def fill(start, stop): filled[start:stop] += 1
over_ranges(fill, 5000)
child = os.fork()
if child == 0:
    over_ranges(fill, 5000)
    os._exit(int(filled.min() != 2))
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    environment = {**os.environ, "KOPT_THREADS": "2"}
    assert subprocess.run([sys.executable, "-c", fork], timeout=60, check=False, env=environment).returncode == 0


@pytest.mark.parametrize("given", ["many", "0", "-1", "1.5", ""])
def test_a_number_of_threads_that_is_none_is_refused(monkeypatch, given):
    monkeypatch.setenv("KOPT_THREADS", given)
    with pytest.raises(InputError, match=f"KOPT_THREADS is '{given}'. Give the number"):
        threads()


class TestWeighted:
    """Sums of compiled kernels and features against matrices."""

    @pytest.fixture(params=["at once", "in pieces"])
    def setting(self, request, monkeypatch):
        if request.param == "in pieces":
            monkeypatch.setattr(weighted, "BLOCK_BYTES", 3 * 8 * 40)
        X = drawn(40, 3)
        kernel = Weighted(
            (0.5, 2.0, 0.0, 0.3), (Gaussian(sigma=1.0), Gaussian(sigma=0.4), Laplacian(sigma=1.0), Linear())
        )
        return X, kernel(X), kernel.fused(X)

    def test_everything_that_is_asked_of_it(self, setting):
        _, K, fused = setting
        rng = np.random.default_rng(0)
        where, of = rng.permutation(40)[:17], np.array([3, 5, 39])
        c = rng.standard_normal(17)
        np.testing.assert_allclose(fused.product(where, c), K[:, where] @ c, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(fused.values(of, where, c), K[np.ix_(of, where)] @ c, rtol=1e-12, atol=1e-13)
        near = 20 * fused.single_error
        out = np.ones(40)
        fused.add(where, c, out)
        np.testing.assert_allclose(out - 1, K[:, where] @ c, atol=near)
        np.testing.assert_allclose(fused.block(where, np.empty((17, 17))), K[np.ix_(where, where)], rtol=1e-12)
        rows = np.empty((17, 40), np.float32)
        fused.rows(where, rows)
        np.testing.assert_allclose(rows, K[where], atol=near)

    def test_rows_of_a_block(self):
        V = drawn(40, 3)
        K, where, rows = naive(V), np.arange(1, 30, 2), np.array([0, 7, 21, 22, 39])
        out = FusedGaussian(V).block(where, np.empty((5, 15)), rows)
        np.testing.assert_allclose(out, K[np.ix_(rows, where)], rtol=1e-12)
        out = FusedFeatures(V).block(where, np.empty((5, 15)), rows)
        np.testing.assert_allclose(out, V[rows] @ V[where].T, rtol=1e-12)

    def test_slow_from_so_many_multiplications_on(self):
        few, many = (Weighted((1.0,) * m, (Gaussian(sigma=1.0),) * m).fused(drawn(9, 20)) for m in (3, 4))
        assert not few.slow
        assert many.slow

    def test_none_where_a_kernel_has_none(self):
        assert Weighted((1.0, 1.0), (Gaussian(sigma=1.0), Laplacian(sigma=1.0))).fused(drawn(9, 2)) is None
        assert Weighted((0.0,), (Gaussian(sigma=1.0),)).fused(drawn(9, 2)) is None
