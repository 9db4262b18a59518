"""Norms c' K c: they agree with the values K c, and vanish where vectors cancel."""

import numpy as np
import pytest

import kopt
from formulations.classification import LogisticRegression, PowerSoftMargin
from kopt.gram import Gram
from kopt.gram.gram import DIGITS
from kopt.kernels import Gaussian, Laplacian, Linear, Polynomial
from tests.tolerances import CERTIFIED

X = np.random.default_rng(1).normal(size=(80, 2))


def exact(K, c):
    """c' K c with more digits."""
    c = c.astype(np.longdouble)
    return float(c @ K.astype(np.longdouble) @ c)


def test_what_a_factor_leaves_out_counts():
    gram = Gram(Gaussian(1.0), X)
    rank = gram.factor.shape[1]
    vectors = np.linalg.eigh(gram.dense)[1]
    left_out = vectors[:, gram.n - rank - 1]
    assert rank < gram.n
    for c in (300 * left_out, vectors[:, -1] + 300 * left_out, 1e5 * left_out + 1e-3):
        expected = exact(gram.dense, c)
        assert abs(np.sum((gram.factor.T @ c) ** 2) - expected) > 2 * gram.rounding(c)
        for product in (None, gram.product(c)):
            assert gram.norm_squared(c, product) == pytest.approx(expected, rel=0, abs=gram.rounding(c))


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Gaussian(1.0), Laplacian(1.0)], ids=repr)
def test_norms_of_vectors_that_cancel_have_all_their_digits(kernel):
    gram = Gram(kernel, np.vstack([X[:9], X[:9]]))
    assert gram.factor.shape[1] <= 9
    half = np.random.default_rng(0).normal(size=(9, 2))
    c = np.vstack([half, -half])
    for cancelling in (c, c[:, 0], 1e8 * c[:, 1]):
        least = np.square(DIGITS * gram.uncancelled(cancelling))
        assert gram.norm_squared(cancelling) <= 10 * least
        assert gram.rounding(cancelling) <= 10 * least


def test_the_norm_of_what_is_missing_is_missing():
    gram = Gram(Gaussian(1.0), X)
    for _ in range(2):
        assert np.isnan(gram.norm_squared(np.full(80, np.nan)))
        _ = gram.factor


@pytest.mark.parametrize("machine", [LogisticRegression(C=300.0), PowerSoftMargin(C=300.0, p=1.2)], ids=repr)
def test_bounds_are_consistent_where_the_multipliers_are_large(machine):
    rng = np.random.default_rng(4)
    y = np.where(np.sin(X[:, 0]) + 0.3 * rng.normal(size=80) > 0.2, 1, -1)
    sample = kopt.Sample(X, y, kernel=Gaussian(sigma=1.2), costs=rng.uniform(0.4, 2.5, 80))
    _ = sample.gram().factor
    certificate = kopt.solve(machine, sample).certificate
    assert certificate.bounds.consistent
    assert certificate.holds(CERTIFIED)
