"""Small built-in samples, one for each task."""

from __future__ import annotations

import numpy as np

from kopt.kernels import Gaussian
from kopt.sample import Sample
from kopt.task import Task


def example(task: Task, n: int = 60, seed: int = 0) -> Sample:
    """A sample for a task: two moons, a noisy sine, ranks along a curve, or a cloud with some points far out.

    >>> example(Task.CLASSIFICATION, n=10).n
    10
    """
    rng = np.random.default_rng(seed)
    kernel = Gaussian(sigma=0.7)
    if task is Task.CLASSIFICATION:
        X, y = _moons(rng, n)
        return Sample(X, y, kernel=kernel)
    if task is Task.REGRESSION:
        x = np.sort(rng.uniform(0, 2 * np.pi, n))
        return Sample(x[:, None], np.sin(x) + 0.2 * rng.standard_normal(n), kernel=kernel)
    if task is Task.RANKING:
        X = rng.standard_normal((n, 2))
        height = X[:, 0] + np.sin(X[:, 1]) + 0.3 * rng.standard_normal(n)
        ranks = 1 + np.arange(n) * min(4, n) // n
        return Sample(X[np.argsort(height)], ranks, kernel=kernel)
    X = rng.standard_normal((n, 2))
    X[: n // 10] *= 3
    return Sample(X, kernel=kernel)


def _moons(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    y = np.where(np.arange(n) < 2 * n // 5, 1.0, -1.0)
    angle = rng.uniform(0, np.pi, n)
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    lower = np.column_stack([1 - np.cos(angle), 0.4 - np.sin(angle)])
    return np.where(y[:, None] > 0, upper, lower) + 0.15 * rng.standard_normal((n, 2)), y
