"""Points, eigenvectors and projections that the errata of the spectral methods share."""

from typing import NamedTuple

import numpy as np


def cloud(n: int = 15, d: int = 4, seed: int = 0) -> np.ndarray:
    """Points whose spread differs from direction to direction, and whose mean is not the origin."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * np.linspace(2.0, 0.5, d) + np.linspace(1.0, 0.4, d)


def targets(X: np.ndarray, m: int = 1, seed: int = 1) -> np.ndarray:
    """m noisy linear functions of the points, with a mean that is not 0."""
    rng = np.random.default_rng(seed)
    return X @ rng.normal(size=(X.shape[1], m)) + 0.3 * rng.normal(size=(len(X), m)) + 2.0


def centred(X: np.ndarray) -> np.ndarray:
    """The points minus their mean."""
    return X - X.mean(axis=0)


def leading(K: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues of a symmetric matrix, in falling order, and their eigenvectors as columns."""
    values, vectors = np.linalg.eigh(K)
    return values[::-1][:k], vectors[:, ::-1][:, :k]


def root(A: np.ndarray, power: float) -> np.ndarray:
    """A positive definite matrix to a power such as 1/2 or -1/2."""
    values, vectors = np.linalg.eigh(A)
    return np.asarray(vectors * values**power @ vectors.T)


class PartialLeastSquares(NamedTuple):
    """What Algorithm 6.42 extracts: directions u_j, loadings p_j and features X_j u_j, as columns."""

    U: np.ndarray
    P: np.ndarray
    features: np.ndarray


def partial_least_squares(X: np.ndarray, Y: np.ndarray, k: int) -> PartialLeastSquares:
    """Code Fragment 6.5, with singular vectors in place of the power method."""
    directions, loadings, features = [], [], []
    for _ in range(k):
        u = np.linalg.svd(X.T @ Y)[0][:, 0]
        t = X @ u
        p = X.T @ t / (t @ t)
        X = X - np.outer(t, p)
        directions.append(u)
        loadings.append(p)
        features.append(t)
    return PartialLeastSquares(np.transpose(directions), np.transpose(loadings), np.transpose(features))


def off_diagonal(A: np.ndarray) -> float:
    """The largest entry off the diagonal, relative to the largest of all."""
    return float(np.max(np.abs(A - np.diag(np.diag(A)))) / np.max(np.abs(A)))
