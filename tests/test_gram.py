"""Gram matrices: products without the matrix, factors, diagnosis, repair, and every refusal."""

import doctest
import importlib
import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import kopt.gram.diagnosis
from kopt.errors import InputError
from kopt.gram import Gram, check_positive_semidefinite, diagnose, repair
from kopt.kernels import FromFunction, Gaussian, Laplacian, Linear, Polynomial, Precomputed

rng = np.random.default_rng(3)
X = rng.normal(size=(23, 3))
Z = rng.normal(size=(7, 3))
SIGMOID = np.tanh(np.outer([1.0, 2.0], [1.0, 2.0]))
KERNELS = [
    Linear(),
    2 * Linear() + Linear().normalised(),
    Linear().centred(),
    Polynomial(3),
    Gaussian(1.0),
    Laplacian(1.0),
    0.5 * Gaussian(1.0) + Polynomial(2) * Laplacian(2.0),
    Polynomial(2).normalised(),
    Gaussian(1.0).centred(),
    (Gaussian(1.0).centred() + Linear()).normalised(),
    FromFunction(lambda x, z: float(np.exp(-abs(x - z).sum()))),
]


def refused(what):
    return pytest.raises(InputError, match=re.escape(what))


def check_two_sentences(error):
    for sentence in (error.value.what, error.value.remedy):
        assert re.fullmatch(r"[A-Za-z(].*\.", sentence), sentence
        assert not re.search(r"\. [A-Z]", sentence), sentence


# Products


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("rows", [0, 1, 4, 22, 23, 1000])
def test_products_equal_dense_products(kernel, rows):
    K = kernel.fit(X)(X)
    gram = Gram(kernel, X, block_bytes=rows * 8 * 4 * len(X))
    c = rng.normal(size=(len(X), 2))
    for coefficients in (c, c[:, 0]):
        np.testing.assert_allclose(gram.product(coefficients), K @ coefficients, rtol=1e-10, atol=1e-11)
    K_new = kernel.fit(X)(Z, X)
    np.testing.assert_allclose(gram.cross_product(Z, c), K_new @ c, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(gram.cross(Z), K_new, rtol=1e-12, atol=1e-13)
    assert "dense" not in vars(gram)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_products_use_the_matrix_once_it_is_there(kernel):
    gram = Gram(kernel, X)
    c = rng.normal(size=len(X))
    before, row = gram.product(c), gram.rows([3, 3, 20])
    np.testing.assert_allclose(gram.dense @ c, before, atol=1e-11)
    np.testing.assert_allclose(gram.rows([3, 3, 20]), row, atol=1e-12)
    np.testing.assert_array_equal(gram.product(c), gram.dense @ c)
    np.testing.assert_allclose(gram.diagonal, gram.dense.diagonal(), atol=1e-12)


class Spy:
    """Counts the points that a function kernel is asked about."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x, z):
        self.calls += 1
        return float(np.dot(x, z))


def test_products_skip_points_with_zero_coefficients():
    spy = Spy()
    gram = Gram(FromFunction(spy), X)
    c = np.zeros((len(X), 2))
    assert not gram.product(c).any()
    assert gram.product(c[:, 0]).shape == (23,)
    assert spy.calls == 0
    c[4, 0], c[9, 1] = 2.0, -1.0
    np.testing.assert_allclose(gram.product(c), X @ X.T @ c, atol=1e-12)
    assert spy.calls == 2 * len(X)
    np.testing.assert_allclose(gram.cross_product(Z, c[:, 0]), Z @ X.T @ c[:, 0], atol=1e-12)
    assert spy.calls == 2 * len(X) + len(Z)


def test_nothing_is_computed_before_it_is_asked_for():
    spy = Spy()
    gram = Gram(FromFunction(spy).centred().normalised(), X)
    assert gram.n == 23
    assert repr(gram).endswith("23 points)")
    assert spy.calls == 0


def test_matrix_and_diagonal_are_computed_once():
    spy = Spy()
    gram = Gram(FromFunction(spy), X)
    gram.dense, gram.diagonal  # noqa: B018
    calls = spy.calls
    gram.dense, gram.diagonal, gram.product(np.ones(23)), gram.rows(0)
    assert spy.calls == calls


def test_centring_computes_the_means_of_the_columns_once_per_product():
    spy = Spy()
    n = len(X)
    Gram(FromFunction(spy).centred(), X, block_bytes=1).product(np.ones(n))
    assert spy.calls <= n * n * 3 + n


def test_product_of_many_points_never_forms_the_matrix():
    n = 20_000
    gram = Gram(Gaussian(1.0), rng.normal(size=(n, 2)))
    c = rng.normal(size=n)
    tracemalloc.start()
    try:
        values = gram.product(c)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < gram.block_bytes < 8 * n * n / 40
    np.testing.assert_allclose(values[:3], gram.rows([0, 1, 2]) @ c, rtol=1e-9)


def test_centred_product_of_many_points_never_forms_the_matrix():
    n = 3_000
    gram = Gram(Gaussian(1.0).centred(), rng.normal(size=(n, 2)), block_bytes=1_000_000)
    tracemalloc.start()
    try:
        gram.product(np.ones(n))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * n * n / 2


def test_points_are_copied():
    P = X.copy()
    gram = Gram(Gaussian(1.0), P)
    P[:] = 0
    np.testing.assert_array_equal(gram.dense, Gaussian(1.0)(X))


def test_linear_products_use_the_features():
    n = 200_000
    P = rng.normal(size=(n, 2))
    c = rng.normal(size=n)
    np.testing.assert_allclose(Gram(Linear(), P).product(c), P @ (P.T @ c))


def test_matrix_is_read_only():
    with pytest.raises(ValueError, match="read-only"):
        Gram(Gaussian(1.0), X).dense[0, 0] = 2


# Other points


def test_strings():
    words = ["cat", "car", "bar", "bat", "dog"]
    common = FromFunction(lambda a, b: len(set(a) & set(b)))
    gram = Gram(common, words, block_bytes=1)
    c = np.array([1.0, 0.0, -2.0, 0.0, 0.5])
    np.testing.assert_allclose(gram.product(c), common(words) @ c)
    np.testing.assert_allclose(gram.cross_product(["tar"], c), [2 - 4])
    np.testing.assert_allclose(gram.factor @ gram.factor.T, gram.dense, atol=1e-12)


def test_precomputed():
    K, K_new = Gaussian(1.0)(X), Gaussian(1.0)(Z, X)
    kernel = Precomputed(K)
    gram = Gram(kernel, kernel.points)
    c = rng.normal(size=len(X))
    c[::3] = 0
    np.testing.assert_allclose(gram.product(c), K @ c)
    np.testing.assert_allclose(gram.cross_product(K_new, c), K_new @ c)
    np.testing.assert_array_equal(gram.cross(K_new), K_new)
    part = Gram(kernel, [3, 1, 4])
    np.testing.assert_array_equal(part.dense, K[np.ix_([3, 1, 4], [3, 1, 4])])
    np.testing.assert_array_equal(part.cross([0]), K[np.ix_([0], [3, 1, 4])])
    np.testing.assert_array_equal(part.cross(K_new), K_new[:, [3, 1, 4]])


# Factor


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("points", [X, X[:1], np.vstack([X, X[:5], X[:5]])], ids=["points", "one point", "duplicates"])
def test_factor_reproduces_the_matrix_and_coefficients_invert_it(kernel, points):
    gram = Gram(kernel, points)
    Phi = gram.factor
    K = kernel.fit(points)(points)
    np.testing.assert_allclose(Phi @ Phi.T, K, atol=1e-10 * max(1.0, np.abs(K).max()))
    assert Phi.shape[1] <= len(X)
    W = rng.normal(size=(Phi.shape[1], 2))
    for w in (W, W[:, 0]):
        c = gram.coefficients(w)
        np.testing.assert_allclose(Phi.T @ c, w, atol=1e-6)
        np.testing.assert_allclose(K @ c, Phi @ w, atol=1e-6)


def test_factor_of_features_does_not_form_the_matrix():
    gram = Gram(Linear(), np.hstack([X, X[:, :1]]))
    assert gram.factor.shape == (23, 3)
    assert "dense" not in vars(gram)


def test_factor_of_more_features_than_points():
    P = rng.normal(size=(4, 50))
    gram = Gram(Linear(), P)
    assert gram.factor.shape == (4, 4)
    np.testing.assert_allclose(gram.factor @ gram.factor.T, P @ P.T, atol=1e-11)


@pytest.mark.parametrize("kernel", [Linear(), FromFunction(lambda x, z: 0.0)], ids=["features", "matrix"])
def test_factor_of_the_zero_matrix_has_rank_zero(kernel):
    gram = Gram(kernel, np.zeros((3, 2)))
    assert gram.factor.shape == (3, 0)
    np.testing.assert_array_equal(gram.coefficients(np.empty(0)), np.zeros(3))


def test_factor_of_a_singular_matrix_drops_the_null_space():
    kernel = Precomputed([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 4.0]])
    assert Gram(kernel, kernel.points).factor.shape == (3, 2)


# Refusals


@pytest.mark.parametrize(
    ("use", "what"),
    [
        (lambda g: g.product(np.ones(22)), "c has shape (22,), but the number of points is 23."),
        (lambda g: g.product(np.ones((23, 1, 1))), "c has shape (23, 1, 1), but"),
        (lambda g: g.product(1.0), "c has shape (), but"),
        (lambda g: g.cross_product(Z, np.ones(7)), "c has shape (7,), but the number of points is 23."),
        (lambda g: g.cross(Z[:, :2]), "The new points have 2 features but the training points have 3."),
        (lambda g: g.cross_product(Z[:, :2], np.ones(23)), "The new points have 2 features"),
        (lambda g: g.rows([0, 23]), "There is no row 23 among 23."),
        (lambda g: g.rows(-1), "There is no row -1 among 23."),
        (lambda g: g.rows(np.ones(23, dtype=bool)), "Rows are named by integers, not by bool values of shape (23,)."),
        (lambda g: Gram(Linear(), X).coefficients(np.ones(4)), "w has shape (4,), but the rank of the factor is 3."),
    ],
)
def test_refusals(use, what):
    with refused(what) as error:
        use(Gram(Gaussian(1.0), X))
    check_two_sentences(error)


def test_matrix_beyond_the_budget_is_refused():
    gram = Gram(Gaussian(1.0), np.zeros((100_000, 1)))
    with refused("K for n = 100000 points needs 80 GB, more than the budget of 2 GB.") as error:
        gram.dense  # noqa: B018
    check_two_sentences(error)
    with refused("K(new, train) for n = 23 points needs"):
        Gram(Gaussian(1.0), X, budget=8 * 23 * 7 - 1).cross(Z)
    assert Gram(Gaussian(1.0), X, budget=8 * 23 * 23).dense.shape == (23, 23)
    with refused("more than the budget"):
        Gram(Gaussian(1.0), X, budget=8 * 23 * 23 - 1).factor  # noqa: B018


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2)], ids=repr)
@pytest.mark.parametrize(
    "use",
    [lambda g: g.dense, lambda g: g.product([1.0, 1.0]), lambda g: g.rows([1]), lambda g: g.diagonal],
    ids=["dense", "product", "rows", "diagonal"],
)
def test_values_that_overflow_are_refused_even_when_the_kernel_is_positive_semidefinite(kernel, use):
    with refused("values that are NaN or infinite") as error:
        use(Gram(kernel, [[1.0], [1e200]]))
    check_two_sentences(error)


def test_indefinite_kernel_is_refused_with_its_eigenvalue():
    smallest = np.linalg.eigvalsh(SIGMOID)[0]
    assert np.linalg.det(SIGMOID) == pytest.approx(-0.16827, abs=1e-5)
    gram = Gram(FromFunction(lambda x, z: np.tanh(np.dot(x, z))), [[1.0], [2.0]])
    for use in (lambda: gram.dense, lambda: gram.factor, lambda: check_positive_semidefinite(SIGMOID)):
        with refused(f"K is not positive semidefinite: its smallest eigenvalue is {smallest:.4g}") as error:
            use()
        check_two_sentences(error)
        assert all(f'"{how}"' in error.value.remedy for how in ("clip", "shift", "flip"))
    assert f"{smallest:.4g}" == "-0.09087"


def test_kernels_positive_semidefinite_by_construction_are_not_checked(monkeypatch):
    monkeypatch.setattr("kopt.gram.gram.check_positive_semidefinite", lambda K: pytest.fail("checked"))
    P = np.linspace(0, 1, 200)[:, None]
    K = Gram(Gaussian(1.0), P).dense
    assert np.linalg.eigvalsh(K)[0] < 0


# Diagnosis


def test_diagnosis_of_a_gaussian_matrix_calls_rounding_rounding():
    K = Gaussian(1.0)(np.linspace(0, 1, 200)[:, None])
    diagnosis = diagnose(K)
    assert diagnosis.smallest < 0
    assert diagnosis.positive_semidefinite
    assert diagnosis.finite
    assert diagnosis.asymmetry == 0
    assert diagnosis.rank < 20
    assert diagnosis.tolerance == pytest.approx(1e-10 * diagnosis.largest)
    assert "is positive semidefinite" in str(diagnosis)


def test_diagnosis_of_what_is_wrong():
    wrong = diagnose(SIGMOID)
    assert not wrong.positive_semidefinite
    assert wrong.rank == 2
    assert "is not positive semidefinite" in str(wrong)
    assert diagnose([[1.0, 0.5], [0.25, 1.0]]).asymmetry == 0.25
    holes = diagnose([[1.0, np.nan], [0.0, 1.0]])
    assert not holes.finite
    assert not holes.positive_semidefinite
    assert str(holes) == "K (2 x 2) has values that are not finite."
    assert diagnose(np.zeros((3, 3))).positive_semidefinite
    assert diagnose(np.zeros((3, 3))).rank == 0


@pytest.mark.parametrize(
    ("K", "what"),
    [
        (np.ones((2, 3)), "K has shape (2, 3), which is not square."),
        (np.ones(4), "K has shape (4,), which is not square."),
        (np.ones((0, 0)), "K has shape (0, 0), which is not square."),
        ([[1.0, np.nan], [np.nan, np.inf]], "K has 3 values that are NaN or infinite, the first at (0, 1)."),
        ([[1.0, 0.5], [0.25, 1.0]], "K is not symmetric: the largest |K_ij - K_ji| is 0.25, at (0, 1)."),
        ([[1.0, 0.0], [0.0, -1e-6]], "its smallest eigenvalue is -1e-06, its largest 1."),
        (-np.eye(2), "its smallest eigenvalue is -1, its largest -1."),
    ],
)
def test_matrices_refused(K, what):
    with refused(what) as error:
        check_positive_semidefinite(K)
    check_two_sentences(error)


@pytest.mark.parametrize(
    "K",
    [np.eye(3), np.ones((50, 50)), np.zeros((2, 2)), [[2.0]], [[1.0, 0.0], [0.0, -1e-12]], [[1, 1 + 1e-13], [1, 1]]],
    ids=["identity", "rank one", "zero", "one point", "rounding", "rounding of symmetry"],
)
def test_matrices_accepted(K):
    np.testing.assert_array_equal(check_positive_semidefinite(K), K)


def test_eigenvalues_are_computed_only_when_cholesky_fails(monkeypatch):
    monkeypatch.setattr(kopt.gram.diagnosis, "diagnose", lambda K: pytest.fail("eigenvalues"))
    check_positive_semidefinite(np.ones((100, 100)))
    check_positive_semidefinite(Gaussian(1.0)(np.linspace(0, 1, 300)[:, None]))


square = st.integers(1, 6).flatmap(lambda n: arrays(np.float64, (n, n), elements=st.floats(-5, 5)))


@settings(max_examples=60, deadline=None)
@given(A=square)
def test_check_agrees_with_the_diagnosis(A):
    for K in (A @ A.T, A + A.T):
        diagnosis = diagnose(K)
        if diagnosis.positive_semidefinite:
            check_positive_semidefinite(K)
        elif diagnosis.smallest < -1.01 * diagnosis.tolerance:
            with refused("not positive semidefinite"):
                check_positive_semidefinite(K)


# Repair


def indefinite():
    Q, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    return Q, (Q * [-2.0, -1.0, 0.0, 1.0, 3.0]) @ Q.T


@pytest.mark.parametrize(
    ("how", "spectrum", "changed"),
    [("clip", [0, 0, 0, 1, 3], 2), ("flip", [2, 1, 0, 1, 3], 2), ("shift", [0, 1, 2, 3, 5], 5)],
)
def test_repair_replaces_the_eigenvalues_and_says_so(how, spectrum, changed):
    Q, K = indefinite()
    K = (K + K.T) / 2
    record = repair(K, how)
    np.testing.assert_allclose(record.matrix, (Q * spectrum) @ Q.T, atol=1e-12)
    assert np.array_equal(record.matrix, record.matrix.T)
    assert record.changed == changed
    assert record.smallest_before == pytest.approx(-2)
    assert record.smallest_after == pytest.approx(np.linalg.eigvalsh(record.matrix)[0], abs=1e-12)
    assert record.distance == pytest.approx(np.linalg.norm(record.matrix - K) / np.linalg.norm(K))
    assert re.fullmatch(rf"{how.capitalize()} changed {changed} of 5 eigenvalues: .* in Frobenius norm\.", str(record))
    assert "[" not in repr(record)
    kernel = Precomputed(record.matrix)
    assert Gram(kernel, kernel.points).dense.shape == (5, 5)


def test_clip_is_the_nearest_repair():
    _, K = indefinite()
    distances = {how: repair(K, how).distance for how in ("clip", "flip", "shift")}
    assert min(distances, key=distances.get) == "clip"


@pytest.mark.parametrize("how", ["clip", "flip", "shift"])
def test_repair_leaves_rounding_alone(how):
    K = Gaussian(1.0)(np.linspace(0, 1, 100)[:, None])
    record = repair(K, how)
    np.testing.assert_array_equal(record.matrix, K)
    assert (record.changed, record.distance) == (0, 0)
    assert str(record) == f"K is positive semidefinite up to rounding, and {how} changed nothing."


def test_repair_refusals():
    for use, what in (
        (lambda: repair(SIGMOID, "pray"), "There is no repair 'pray'."),
        (lambda: repair([[1.0, 0.5], [0.25, 1.0]], "clip"), "the largest |K_ij - K_ji| is 0.25, at (0, 1)."),
    ):
        with refused(what) as error:
            use()
        check_two_sentences(error)


@pytest.mark.parametrize("name", ["gram", "diagnosis", "repair"])
def test_examples_in_the_docstrings(name):
    assert doctest.testmod(importlib.import_module(f"kopt.gram.{name}")).failed == 0
