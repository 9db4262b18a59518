"""Criteria for clusterings from a kernel matrix, and seeded points in groups."""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from kopt import Sample
from kopt.kernels import Gaussian

Criterion = Callable[[np.ndarray, np.ndarray], float]


def groups(*sizes: int) -> tuple[np.ndarray, np.ndarray]:
    """The Gaussian kernel matrix of well separated groups in the plane, and the number of each point's group."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    centres = 4.0 * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    points = centres[labels] + 0.6 * rng.normal(size=(len(labels), 2))
    return Sample(points, kernel=Gaussian(sigma=1.0)).gram().dense, labels


def pairwise(K: np.ndarray, labels: np.ndarray) -> float:
    """(8.6): the squared distances of all pairs in the same cluster."""
    distances = K.diagonal()[:, None] + K.diagonal() - 2 * K
    return float(distances[labels[:, None] == labels].sum())


def sum_of_squares(K: np.ndarray, labels: np.ndarray) -> float:
    """(8.9): the squared distances of the points from the centroids of their clusters, of which some may be empty."""
    labels = np.unique(labels, return_inverse=True)[1]
    return float(to_centroids(K, labels)[np.arange(len(K)), labels].sum())


def to_centroids(K: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The squared distance of each point from each centroid."""
    mean = indicator(labels) / np.bincount(labels)
    return np.asarray(K.diagonal()[:, None] - 2 * K @ mean + np.einsum("ik,ij,jk->k", mean, K, mean))


def indicator(labels: np.ndarray) -> np.ndarray:
    """The cluster matrix A."""
    return np.eye(labels.max() + 1)[labels]


def best_in_two(criterion: Criterion, K: np.ndarray) -> np.ndarray:
    """The division into two clusters that minimises a criterion, by trying them all."""
    return min(_divisions(len(K)), key=lambda labels: criterion(K, labels))


def _divisions(n: int) -> Iterator[np.ndarray]:
    for rest in product((0, 1), repeat=n - 1):
        if any(rest):
            yield np.array((0, *rest))


def uneven_line() -> np.ndarray:
    """The linear kernel matrix of eight numbers around 0 and two around 4."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0.0, 1.0, 8), rng.normal(4.0, 1.0, 2)])
    return np.outer(x, x)
