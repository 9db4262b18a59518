"""Sums of rows that are kept while there is room."""

import numpy as np
import pytest

from kopt import Sample
from kopt.gram import row_cache
from kopt.gram.columns import Columns
from kopt.gram.row_cache import RowCache
from kopt.kernels import Gaussian, Laplacian

N = 700


def cache(K: np.ndarray, rows: int) -> tuple[RowCache, list[int]]:
    """A cache with room for some rows, and the rows that it asked for, in order."""
    asked: list[int] = []

    def compute(where, out):
        asked.extend(where.tolist())
        out[:] = K[where]

    return RowCache(len(K), K.dtype, rows * len(K) * K.itemsize, compute), asked


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("capacity", [1, 3, 50, N])
@pytest.mark.parametrize("at_a_time", [1, 4, 10**9])
def test_sums_are_those_of_the_matrix(monkeypatch, dtype, capacity, at_a_time):
    monkeypatch.setattr(row_cache, "BLOCK_BYTES", at_a_time)
    rng = np.random.default_rng(0)
    K = rng.standard_normal((N, N)).astype(dtype)
    kept, _ = cache(K, capacity)
    for size in (1, 2, 5, 30, 120, 3):
        where, c = rng.choice(N, size, replace=size > 30), rng.standard_normal(size)
        out = np.ones(N)
        kept.add(where, c, out)
        tolerance = 32 * np.finfo(dtype).eps * np.abs(c).sum() * np.abs(K).max()
        np.testing.assert_allclose(out, 1 + c @ K[where].astype(float), atol=tolerance)
        assert kept.kept <= kept.capacity == capacity


def test_a_row_that_is_there_is_not_computed_again():
    kept, asked = cache(np.eye(N), 10)
    for _ in range(3):
        kept.add(np.arange(10), np.ones(10), np.zeros(N))
    assert asked == list(range(10))


def test_the_rows_not_used_for_longest_make_room():
    kept, asked = cache(np.eye(N), 4)
    for where in ([0, 1, 2, 3], [0, 1], [4, 5], [0, 1], [2]):
        kept.add(np.array(where), np.ones(len(where)), np.zeros(N))
    assert asked == [0, 1, 2, 3, 4, 5, 2]


@pytest.mark.parametrize("kernel", [Gaussian(sigma=9.0), Laplacian(sigma=9.0)], ids=["wide", "without compiled code"])
def test_columns_are_kept_where_they_are_slow_and_within_the_budget(kernel):
    X, budget = np.random.default_rng(0).standard_normal((N, 90)), 1_500_000
    gram = Sample(X, np.ones(N), kernel=kernel, budget=budget).gram()
    columns, rng = Columns(gram), np.random.default_rng(1)
    for _ in range(3):
        where, c, out = rng.choice(N, 200, replace=False), rng.standard_normal(200), np.zeros(N)
        columns.add(where, c, out)
        np.testing.assert_allclose(out, gram.rows(where).T @ c, atol=1e-5)
    assert columns._kept is not None
    assert 0 < columns._kept._rows.nbytes <= budget / 2


def test_columns_that_are_fast_are_not_kept():
    assert Columns(Sample(np.ones((N, 3)), np.ones(N), kernel=Gaussian(sigma=1.0)).gram())._kept is None


def test_after_an_interrupt_nothing_is_taken_for_a_row():
    interrupts = iter([False, True])

    def compute(where, out):
        if next(interrupts, False):
            raise KeyboardInterrupt
        out[:] = np.eye(N)[where]

    kept = RowCache(N, np.float64, 2 * N * 8, compute)
    kept.add(np.array([0, 1]), np.ones(2), np.zeros(N))
    with pytest.raises(KeyboardInterrupt):
        kept.add(np.array([2]), np.ones(1), np.zeros(N))
    for row in (0, 1, 2):
        out = np.zeros(N)
        kept.add(np.array([row]), np.ones(1), out)
        np.testing.assert_array_equal(out, np.eye(N)[row])
