"""Kernels against their formulas, explicit features and scikit-learn; their algebra; every refusal."""

import doctest
import importlib
import pkgutil
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import pairwise

import kopt.kernels
from kopt.errors import InputError
from kopt.kernels import (
    Centred,
    FromFunction,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Normalised,
    Polynomial,
    Precomputed,
    Product,
    Scaled,
    Sum,
)
from kopt.kernels.kernel import Kernel as Base
from kopt.kernels.points import blocks

rng = np.random.default_rng(7)
X = rng.normal(size=(9, 3))
Z = rng.normal(size=(5, 3))


def dot(x, z):
    return sum(a * b for a, b in zip(x, z, strict=True))


def squared_distance(x, z):
    return sum((a - b) ** 2 for a, b in zip(x, z, strict=True))


FORMULAS = [
    (Linear(), dot),
    (Polynomial(), lambda x, z: (dot(x, z) + 1) ** 2),
    (Polynomial(degree=1, R=0.5), lambda x, z: dot(x, z) + 0.5),
    (Polynomial(degree=5, R=0.0), lambda x, z: dot(x, z) ** 5),
    (Gaussian(sigma=0.7), lambda x, z: np.exp(-squared_distance(x, z) / (2 * 0.7**2))),
    (Laplacian(sigma=0.7), lambda x, z: np.exp(-np.sqrt(squared_distance(x, z)) / 0.7)),
    (Linear() + Gaussian(1.0), lambda x, z: dot(x, z) + np.exp(-squared_distance(x, z) / 2)),
    (Linear() * Gaussian(1.0), lambda x, z: dot(x, z) * np.exp(-squared_distance(x, z) / 2)),
    (3 * Linear(), lambda x, z: 3 * dot(x, z)),
    (Linear().normalised(), lambda x, z: dot(x, z) / np.sqrt(dot(x, x) * dot(z, z))),
    (FromFunction(dot), dot),
]
KERNELS = [kernel for kernel, _ in FORMULAS] + [
    Gaussian(1.3).centred().fit(X),
    (2 * Linear() + Polynomial(3)).normalised() * Laplacian(2.0),
    (Gaussian(1.0) + Linear()).centred().fit(X).normalised(),
]


def refused(what):
    return pytest.raises(InputError, match=re.escape(what))


def check_two_sentences(error):
    for sentence in (error.value.what, error.value.remedy):
        assert re.fullmatch(r"[A-Za-z(].*\.", sentence), sentence
        assert not re.search(r"\. [A-Z]", sentence), sentence


# Values


@pytest.mark.parametrize(("kernel", "formula"), FORMULAS, ids=lambda v: repr(v) if isinstance(v, Base) else "")
def test_values_are_those_of_the_formula(kernel, formula):
    for A, B in ((X, None), (X, Z)):
        wanted = [[formula(x, z) for z in (A if B is None else B)] for x in A]
        np.testing.assert_allclose(kernel(A, B), wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_matrix_is_exactly_symmetric_and_owned_and_has_the_diagonal(kernel):
    K = kernel(X)
    assert K.dtype == np.float64
    assert K.shape == (9, 9)
    assert (K.T == K).all()
    np.testing.assert_allclose(kernel.diagonal(X), K.diagonal(), rtol=1e-12, atol=1e-14)
    kept = K.copy()
    kernel(X)[...] = 0
    np.testing.assert_array_equal(kernel(X), kept)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(3), Gaussian(1.0), Linear().normalised()], ids=repr)
def test_symmetry_is_exact_in_any_memory_layout(kernel):
    A = rng.normal(size=(300, 40))
    for P in (A[::2, ::2], A[::-1], np.asfortranarray(A), A[:, :7], A.astype(np.float32)):
        K = kernel(P)
        assert np.array_equal(K, K.T)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_cross_values_agree_with_the_matrix(kernel):
    np.testing.assert_allclose(kernel(X[2:4], X), kernel(X)[2:4], rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(kernel(Z, X), kernel(X, Z).T, rtol=1e-11, atol=1e-13)


def test_scikit_learn_agrees():
    np.testing.assert_allclose(Linear()(X, Z), pairwise.linear_kernel(X, Z), rtol=1e-12)
    poly = pairwise.polynomial_kernel(X, Z, degree=3, gamma=1, coef0=2)
    np.testing.assert_allclose(Polynomial(3, R=2.0)(X, Z), poly, rtol=1e-11)
    np.testing.assert_allclose(Gaussian.from_gamma(0.3)(X, Z), pairwise.rbf_kernel(X, Z, gamma=0.3), rtol=1e-12)
    np.testing.assert_allclose(Linear().normalised()(X, Z), pairwise.cosine_similarity(X, Z), rtol=1e-12)
    line = pairwise.laplacian_kernel(X[:, :1], Z[:, :1], gamma=0.5)
    np.testing.assert_allclose(Laplacian(2.0)(X[:, :1], Z[:, :1]), line, rtol=1e-12)


def test_homogeneous_quadratic_has_the_three_monomials_as_features():
    def phi(x):
        return [x[0] ** 2, np.sqrt(2) * x[0] * x[1], x[1] ** 2]

    P = X[:, :2]
    F = np.array([phi(x) for x in P])
    np.testing.assert_allclose(Polynomial(2, R=0.0)(P), F @ F.T, rtol=1e-12, atol=1e-14)


def test_inhomogeneous_quadratic_has_six_features():
    c = 0.7

    def phi(x):
        a, b = x
        return [a * a, b * b, np.sqrt(2) * a * b, np.sqrt(2 * c) * a, np.sqrt(2 * c) * b, c]

    P = X[:, :2]
    F = np.array([phi(x) for x in P])
    np.testing.assert_allclose(Polynomial(2, R=c)(P), F @ F.T, rtol=1e-12, atol=1e-14)


def test_gaussian_is_the_normalised_exponential_of_the_inner_product():
    exponential = FromFunction(lambda x, z: np.exp(dot(x, z) / 4), positive_semidefinite=True)
    np.testing.assert_allclose(exponential.normalised()(X, Z), Gaussian(sigma=2.0)(X, Z), rtol=1e-12)


def test_gaussian_converters():
    assert Gaussian.from_gamma(Gaussian(0.3).gamma).sigma == pytest.approx(0.3, rel=1e-15)
    assert Gaussian(2.0).gamma == 0.125
    width = 1.7
    np.testing.assert_allclose(
        Gaussian.from_width(width)(X, Z),
        [[np.exp(-squared_distance(x, z) / width**2) for z in Z] for x in X],
        rtol=1e-12,
    )


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Laplacian(1.0)], ids=repr)
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_radial_kernels_do_not_lose_near_duplicates(kernel, offset):
    step = 2.0**-12
    P = np.array([[0.0], [step], [1.0]]) + offset
    exact = np.exp(-(step**2) / 2) if isinstance(kernel, Gaussian) else np.exp(-step)
    assert kernel(P)[0, 1] == pytest.approx(exact, rel=0, abs=1e-12)


def test_gaussian_is_accurate_when_the_spread_is_huge_in_units_of_sigma():
    P = np.array([[0.0], [1e-5], [1e5], [1e5 + 1e-5], [1e200]])
    K = Gaussian(sigma=1e-5)(P)
    assert K[0, 1] == pytest.approx(np.exp(-0.5), rel=1e-9)
    assert K[2, 3] == pytest.approx(np.exp(-0.5), rel=1e-5)
    assert K[0, 2] == 0
    assert (K.diagonal() == 1).all()


def test_gaussian_stays_fast_far_from_the_origin(monkeypatch):
    wanted = Gaussian(1.0)(X)
    monkeypatch.setattr("kopt.kernels.gaussian.cdist", lambda *_: pytest.fail("slow path"))
    np.testing.assert_allclose(Gaussian(1.0)(X + 1e6), wanted, rtol=1e-8)


@pytest.mark.parametrize("kernel", [Gaussian(0.1), Laplacian(0.1), Polynomial(2).normalised()], ids=repr)
def test_diagonal_is_exactly_one_and_nothing_exceeds_it(kernel):
    P = np.vstack([X, X, X * (1 + 1e-15)])
    assert (kernel(P).diagonal() == 1).all()
    assert kernel(P, P.copy()).max() <= 1 + 1e-15


def test_default_diagonal_evaluates_point_by_point():
    kernel = Polynomial(3)
    np.testing.assert_allclose(Base.evaluate_diagonal(kernel, X), kernel.diagonal(X), rtol=1e-12)


# Algebra


def test_algebra_builds_what_it_says():
    a, b = Linear(), Gaussian(1.0)
    assert a + b == Sum(a, b)
    assert a * b == Product(a, b)
    assert 2 * a == a * 2.0 == np.float64(2) * a == Scaled(2.0, a)
    assert sum([a, b]) == Sum(a, b)
    assert a.normalised() == Normalised(a)
    assert isinstance(a.centred(), Centred)
    assert hash(a + b) == hash(Linear() + Gaussian(1))
    for wrong in (lambda: a + 1.0, lambda: a * "2", lambda: 1.0 + a, lambda: np.ones(2) * a):
        with pytest.raises(TypeError):
            wrong()


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.0) + 2.0 * Linear(),
        2.0 * (Gaussian(1) + Linear()),
        (Gaussian(1) + Linear()) * (Linear() + Polynomial(3, 0.5)),
        Linear() + (Linear() + Linear()),
        2.0 * (3.0 * Linear()),
        Linear() * (2.0 * Laplacian(0.5)),
        Linear() * (Linear() * Linear()),
        Normalised(Linear() + Linear()),
    ],
    ids=repr,
)
def test_repr_is_the_expression_that_builds_it(kernel):
    assert eval(repr(kernel), vars(kopt.kernels).copy()) == kernel


def test_repr_is_short():
    assert repr(Gaussian(1) + 2 * Linear()) == "Gaussian(sigma=1.0) + 2.0 * Linear()"
    assert repr(Polynomial()) == "Polynomial(degree=2, R=1.0)"
    assert repr(Linear().centred().fit(X)) == "Centred(kernel=Linear())"
    assert repr(Precomputed(np.eye(3))) == "Precomputed(3 x 3 matrix)"
    assert repr(FromFunction(dot)) == "FromFunction(dot)"
    assert repr(FromFunction(dot, positive_semidefinite=True)) == "FromFunction(dot, positive_semidefinite=True)"


def test_positive_semidefinite_follows_from_the_parts():
    unknown = FromFunction(dot)
    assert not unknown.positive_semidefinite
    assert not Precomputed(np.eye(2)).positive_semidefinite
    for kernel in (Linear(), Polynomial(), Gaussian(1.0), Laplacian(1.0), FromFunction(dot, True)):
        assert kernel.positive_semidefinite
        assert (2 * kernel + Linear() * kernel).normalised().centred().positive_semidefinite
    for part in (unknown + Linear(), Linear() * unknown, 2 * unknown, unknown.normalised(), unknown.centred()):
        assert not part.positive_semidefinite


@pytest.mark.parametrize(
    "kernel",
    [
        Linear(),
        4 * Linear(),
        Linear() + 0.5 * Linear(),
        Linear().normalised(),
        Linear().centred().fit(X),
        (2 * Linear().normalised() + Linear()).centred().fit(X),
    ],
    ids=repr,
)
def test_features_reproduce_the_matrix(kernel):
    F, G = kernel.features(X), kernel.features(Z)
    np.testing.assert_allclose(F @ F.T, kernel(X), atol=1e-12)
    np.testing.assert_allclose(G @ F.T, kernel(Z, X), atol=1e-12)
    np.testing.assert_allclose((F**2).sum(axis=1), kernel.diagonal(X), atol=1e-12)


def test_features_are_absent_where_they_are_not_cheap():
    for kernel in (Gaussian(1.0), Linear() + Gaussian(1.0), 2 * Gaussian(1.0), Gaussian(1.0).centred().fit(X)):
        assert kernel.features(X) is None


def test_every_kernel_file_is_discovered_and_exported():
    assert {"Centred", "FromFunction", "Gaussian", "Laplacian", "Linear", "Normalised"} <= set(kopt.kernels.__all__)
    assert {"Polynomial", "Precomputed", "Product", "Scaled", "Sum", "Kernel"} <= set(kopt.kernels.__all__)
    for name in kopt.kernels.__all__:
        assert issubclass(getattr(kopt.kernels, name), Kernel)


# Centring


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.0), Polynomial(2) + Laplacian(1.0)], ids=repr)
def test_centring_is_H_K_H(kernel):
    K, n = kernel(X), len(X)
    H = np.eye(n) - np.ones((n, n)) / n
    centred = kernel.centred().fit(X)
    np.testing.assert_allclose(centred(X), H @ K @ H, atol=1e-12)
    np.testing.assert_allclose(centred(X).sum(axis=0), 0, atol=1e-11)


@pytest.mark.parametrize("kernel", [Linear(), FromFunction(dot)], ids=["by features", "by means"])
def test_centring_of_new_points_subtracts_the_training_mean(kernel):
    mean = X.mean(axis=0)
    centred = kernel.centred().fit(X)
    np.testing.assert_allclose(centred(Z, X), (Z - mean) @ (X - mean).T, atol=1e-12)
    np.testing.assert_allclose(centred(Z), (Z - mean) @ (Z - mean).T, atol=1e-12)
    np.testing.assert_allclose(centred.diagonal(Z), ((Z - mean) ** 2).sum(axis=1), atol=1e-12)


def test_centring_inside_a_composite_is_bound_by_its_fit():
    kernel = (Gaussian(1.0).centred() + Linear()).normalised().fit(X)
    inner = Gaussian(1.0).centred().fit(X)(X) + X @ X.T
    norms = np.sqrt(inner.diagonal())
    np.testing.assert_allclose(kernel(X), inner / np.outer(norms, norms), atol=1e-12)


def test_centring_means_do_not_depend_on_the_block(monkeypatch):
    wanted = Gaussian(1.0).centred().fit(X)(Z)
    for size in (1, 8 * len(X) * 2, 8 * len(X) * 4):
        monkeypatch.setattr("kopt.kernels.centred.BLOCK_BYTES", size)
        np.testing.assert_allclose(Gaussian(1.0).centred().fit(X)(Z), wanted, atol=1e-15)


def test_centring_before_fit_is_refused():
    for use in (lambda k: k(X), lambda k: k.diagonal(X), lambda k: k.features(X)):
        for kernel in (Linear(), Gaussian(1.0)):
            with refused("does not know its mean before it has seen the training points") as error:
                use(kernel.centred())
            check_two_sentences(error)


# Precomputed and functions


def test_precomputed_looks_values_up():
    K = Gaussian(1.0)(X)
    kernel = Precomputed(K)
    np.testing.assert_array_equal(kernel(kernel.points), K)
    np.testing.assert_array_equal(kernel([1, 3], [2, 0]), K[np.ix_([1, 3], [2, 0])])
    np.testing.assert_array_equal(kernel.diagonal([4, 4]), [1, 1])
    assert kernel == kernel
    assert kernel != Precomputed(K)
    assert len({kernel, Precomputed(K)}) == 2


def test_precomputed_keeps_its_own_copy():
    K = np.eye(3)
    kernel = Precomputed(K)
    K[0, 0] = 7
    assert kernel.diagonal([0]) == [1]
    with pytest.raises(ValueError, match="read-only"):
        kernel.K[0, 0] = 7


def test_precomputed_takes_new_points_as_a_cross_matrix():
    K, K_new = Gaussian(1.0)(X), Gaussian(1.0)(Z, X)
    kernel = Precomputed(K)
    np.testing.assert_array_equal(kernel(K_new, [2, 5]), K_new[:, [2, 5]])
    np.testing.assert_array_equal(kernel([2, 5], K_new), K_new[:, [2, 5]].T)
    centred = kernel.centred().fit(kernel.points)
    np.testing.assert_allclose(
        centred(K_new, kernel.points), Gaussian(1.0).centred().fit(X)(Z, X), rtol=1e-11, atol=1e-13
    )


@pytest.mark.parametrize(
    ("use", "what"),
    [
        (lambda k: k(np.ones((2, 4))), "The cross matrix has 4 columns but the precomputed kernel has 3 points."),
        (lambda k: k([0, 3]), "Index 3 is outside the 3 points of the precomputed kernel."),
        (lambda k: k([0, -1]), "Index -1 is outside the 3 points"),
        (lambda k: k([0.5]), "are indices, not float64 values of shape (1,)"),
        (lambda k: k([]), "are indices, not float64 values of shape (0,)"),
        (
            lambda k: k([[0.0, np.nan, 0.0]], [0]),
            "The cross matrix has 1 values that are NaN or infinite, the first at (0, 1).",
        ),
        (lambda k: k(np.ones((2, 3))), "has no values between two new points"),
        (lambda k: k.diagonal(np.ones((2, 3))), "has no k(x, x) of new points"),
        (lambda k: k.normalised()(np.ones((2, 3)), [0]), "has no k(x, x) of new points"),
        (lambda _: Precomputed(np.ones((2, 3))), "K has shape (2, 3), which is not square."),
        (lambda _: Precomputed([["a"]]), "K is not a matrix of real numbers."),
        (lambda _: Precomputed([[1.0, np.inf], [0, 1]]), "K has 1 values that are NaN or infinite"),
        (lambda _: Precomputed([[1.0, 0.5], [0.25, 1]]), "the largest |K_ij - K_ji| is 0.25, at (0, 1)."),
    ],
)
def test_precomputed_refusals(use, what):
    with refused(what) as error:
        use(Precomputed(np.eye(3)))
    check_two_sentences(error)


def test_function_of_strings():
    common = FromFunction(lambda a, b: len(set(a) & set(b)), positive_semidefinite=True)
    words = ["cat", "car", "bar", "bat"]
    wanted = [[len(set(a) & set(b)) for b in words] for a in words]
    np.testing.assert_array_equal(common(words), wanted)
    np.testing.assert_array_equal(common(words, ["tar"]), [[2], [2], [2], [2]])
    np.testing.assert_array_equal(common(iter(words)), wanted)
    np.testing.assert_allclose(common.normalised()(words), np.array(wanted) / 3)
    H = np.eye(4) - 0.25
    np.testing.assert_allclose(common.centred().fit(words)(words), H @ wanted @ H, atol=1e-12)


def test_function_mixes_with_vector_kernels_on_vectors():
    kernel = FromFunction(lambda x, z: min(x[0], z[0])) + Linear()
    np.testing.assert_allclose(kernel([[1, 2], [3, 4]]), [[1 + 5, 1 + 11], [1 + 11, 3 + 25]])


def test_function_is_called_once_per_pair_and_once_more_per_neighbour():
    calls = []
    FromFunction(lambda x, z: calls.append(1) or float(x == z))(list(range(6)))
    assert len(calls) == 6 * 7 // 2 + 5


@pytest.mark.parametrize(
    ("use", "what"),
    [
        (lambda: FromFunction(lambda x, z: x - z)([1, 4]), "f(x, z) = 3 but f(z, x) = -3 at points 1 and 0."),
        (lambda: FromFunction(lambda x, z: "much")([1, 2]), "The function returned 'much' for a pair of points"),
        (lambda: FromFunction(dot)(3), "X is a int, not a sequence of points."),
        (lambda: FromFunction(dot)([]), "X has no points."),
        (lambda: FromFunction(lambda x, z: np.nan)([1]), "K has 1 values that are NaN or infinite"),
    ],
)
def test_function_refusals(use, what):
    with refused(what) as error:
        use()
    check_two_sentences(error)


# Refusals of points and parameters

HOLES = np.ones((4, 3))
HOLES[2, 1], HOLES[3, 0] = np.nan, -np.inf


@pytest.mark.parametrize(
    ("points", "what"),
    [
        ([1.0, 2.0, 3.0], "X is 1-D with 3 numbers"),
        (np.ones((2, 3, 4)), "X is 3-D with shape (2, 3, 4)"),
        (5.0, "X is 0-D with shape ()"),
        ([], "X is empty: its shape is (0,)."),
        (np.ones((0, 3)), "X is empty: its shape is (0, 3)."),
        (np.ones((3, 0)), "X is empty: its shape is (3, 0)."),
        (HOLES, "X has 2 values that are NaN or infinite, the first at row 2, column 1."),
        ([["a", "b"]], "X holds <U1 values, not real numbers."),
        ([[1, None], [2, "x"]], "X holds object values, not real numbers."),
        ([[1j]], "X holds complex128 values, not real numbers."),
        ([[1, 2], [3]], "X has rows of different lengths."),
        (pytest.importorskip("scipy.sparse").eye_array(3), "X is a sparse matrix"),
    ],
)
@pytest.mark.parametrize("use", [lambda X: Linear()(X), lambda X: (Gaussian(1.0) + Linear()).diagonal(X)])
def test_points_refused(points, what, use):
    with refused(what) as error:
        use(points)
    check_two_sentences(error)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), 2 * Linear() + Laplacian(1.0), Linear().normalised()], ids=repr)
def test_new_points_must_have_the_features_of_the_training_points(kernel):
    with refused("The new points have 2 features but the training points have 3.") as error:
        kernel(X[:, :2], X)
    check_two_sentences(error)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: Gaussian(0), "sigma is 0, not a finite positive number."),
        (lambda: Gaussian(-1.5), "sigma is -1.5, not"),
        (lambda: Gaussian(np.inf), "sigma is inf, not"),
        (lambda: Gaussian("1"), "sigma is '1', not"),
        (lambda: Gaussian(True), "sigma is True, not"),
        (lambda: Gaussian(1e-200), "With sigma = 1e-200, gamma = 1 / (2 sigma^2) is inf"),
        (lambda: Gaussian.from_gamma(-2), "gamma is -2, not"),
        (lambda: Gaussian.from_width(np.nan), "width is nan, not"),
        (lambda: Laplacian(np.float64(0)), "sigma is 0.0, not"),
        (lambda: Polynomial(0), "degree is 0, not a positive integer."),
        (lambda: Polynomial(2.0), "degree is 2.0, not a positive integer."),
        (lambda: Polynomial(True), "degree is True, not a positive integer."),
        (lambda: Polynomial(2, R=-0.1), "R is -0.1, not a finite non-negative number."),
        (lambda: -2 * Linear(), "The scale of a kernel is -2.0, not a finite non-negative number."),
        (lambda: Linear() * np.nan, "The scale of a kernel is nan, not"),
    ],
)
def test_parameters_refused(make, what):
    with refused(what) as error:
        make()
    assert error.value.remedy.endswith(".")


def test_parameters_become_plain_numbers():
    assert repr(Gaussian(np.float32(2))) == "Gaussian(sigma=2.0)"
    assert repr(Polynomial(np.int64(3), R=0)) == "Polynomial(degree=3, R=0.0)"


def test_normalising_a_point_of_norm_zero_is_refused():
    with refused("divides by k(x, x), which is 0 at point 1.") as error:
        Linear().normalised()([[1.0], [0.0]])
    check_two_sentences(error)


def test_overflow_is_refused():
    with refused("K has 1 values that are NaN or infinite, the first at (1, 1).") as error:
        Polynomial(3)([[1.0], [1e60]])
    check_two_sentences(error)


# Properties

points = arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(1, 3)), elements=st.floats(-10, 10))


@settings(max_examples=30, deadline=None)
@given(P=points, kernel=st.sampled_from([Linear(), Polynomial(2), Gaussian(0.8), Laplacian(2.0)]), other=st.booleans())
def test_gram_matrices_are_symmetric_and_positive_semidefinite(P, kernel, other):
    for k in (kernel, (kernel + Gaussian(1.0) if other else kernel * Laplacian(1.0)), kernel.centred().fit(P)):
        K = k(P)
        assert (K.T == K).all()
        assert np.linalg.eigvalsh(K)[0] >= -1e-11 * max(1.0, np.abs(kernel(P)).max())


@given(n=st.integers(0, 50), size=st.integers(-1, 60))
def test_blocks_cover_every_index_once(n, size):
    covered = [i for rows in blocks(n, size) for i in range(n)[rows]]
    assert covered == list(range(n))
    assert all(rows.stop - rows.start <= max(1, size) for rows in blocks(n, size))


@pytest.mark.parametrize("name", [m.name for m in pkgutil.iter_modules(kopt.kernels.__path__)])
def test_examples_in_the_docstrings(name):
    assert doctest.testmod(importlib.import_module(f"kopt.kernels.{name}")).failed == 0
