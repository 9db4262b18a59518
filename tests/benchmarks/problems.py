"""The problems that the benchmarks share, each by its number of points."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_classification, make_friedman1, make_moons
from sklearn.preprocessing import StandardScaler

import kopt
from kopt.kernels import Gaussian, Kernel


def mc(n: int, seed: int = 0) -> kopt.Sample:
    """Twenty features, four clusters in each class, five percent of the labels flipped: a slow kernel spectrum."""
    X, y = make_classification(
        n,
        n_features=20,
        n_informative=10,
        n_redundant=2,
        n_clusters_per_class=4,
        class_sep=1.0,
        flip_y=0.05,
        random_state=seed,
    )
    return _classes(X, y > 0, gamma=1 / 20)


def moons(n: int, seed: int = 0) -> kopt.Sample:
    """Two interleaved half circles in the plane, blurred: a fast kernel spectrum."""
    X, y = make_moons(n, noise=0.3, random_state=seed)
    return _classes(X, y > 0, gamma=1.0)


def wide(n: int, seed: int = 0) -> kopt.Sample:
    """Five hundred features: a kernel value costs far more than its exponential."""
    X, y = make_classification(
        n,
        n_features=500,
        n_informative=50,
        n_redundant=50,
        n_clusters_per_class=4,
        class_sep=1.0,
        flip_y=0.05,
        random_state=seed,
    )
    return _classes(X, y > 0, gamma=1 / 500)


def digits(n: int = 1797) -> kopt.Sample:
    """The first handwritten digits of scikit-learn's, odd against even, without the columns that are constant."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:n], y[:n]
    X = X[:, np.ptp(X, axis=0) > 0]
    return _classes(X, y % 2 == 1, gamma=1 / X.shape[1])


def breast_cancer(n: int = 569) -> kopt.Sample:
    """The first tumours of scikit-learn's, benign against malignant."""
    X, y = load_breast_cancer(return_X_y=True)
    return _classes(X[:n], y[:n] > 0, gamma=1 / X.shape[1])


def regression(n: int, seed: int = 0) -> kopt.Sample:
    """Friedman's first function of five of ten features, with noise; points and values in units of their spread."""
    X, y = make_friedman1(n, n_features=10, noise=1.0, random_state=seed)
    kernel = Gaussian.from_gamma(1 / 10)
    return kopt.Sample(StandardScaler().fit_transform(X), (y - y.mean()) / y.std(), kernel=kernel)


def novelty(n: int, seed: int = 0, kernel: Kernel | None = None) -> kopt.Sample:
    """The points of `mc` without their classes."""
    labelled = mc(n, seed)
    return kopt.Sample(labelled.X, kernel=kernel or labelled.gram().kernel)


def _classes(X: np.ndarray, positive: np.ndarray, gamma: float) -> kopt.Sample:
    return kopt.Sample(StandardScaler().fit_transform(X), np.where(positive, 1, -1), kernel=Gaussian.from_gamma(gamma))
