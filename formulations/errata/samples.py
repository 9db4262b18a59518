"""Seeded samples that several errata share."""

import numpy as np

from kopt import Sample
from kopt.kernels import Gaussian, Kernel


def two_classes(distance: float = 5.0, kernel: Kernel | None = None) -> Sample:
    """Two clouds of 6 and 14 points in the plane, their centres so far apart: separable at 5, overlapping at 1."""
    rng = np.random.default_rng(0)
    y = np.repeat([1.0, -1.0], [6, 14])
    X = rng.normal(size=(20, 2)) + np.outer(y, [0.4 * distance, 0.3 * distance]) + [0.5, -0.3]
    return Sample(X, y, kernel=kernel)


def classes_on_a_line() -> Sample:
    """Numbers in two classes that overlap: the only unit vectors are 1 and -1."""
    rng = np.random.default_rng(1)
    y = np.repeat([1.0, -1.0], [8, 12])
    return Sample(rng.normal(size=(20, 1)) + 0.7 * y[:, None], y)


def noisy_sine(kernel: Kernel | None = None) -> Sample:
    """Targets around a sine at 15 equally spaced points."""
    rng = np.random.default_rng(2)
    x = np.linspace(0.0, 6.0, 15)
    return Sample(x[:, None], np.sin(x) + 0.3 * rng.normal(size=15), kernel=kernel or Gaussian(sigma=0.3))


def three_ranks() -> Sample:
    """Three ranks that overlap."""
    rng = np.random.default_rng(2)
    y = np.repeat([1, 2, 3], [8, 6, 10])
    return Sample(rng.normal(size=(24, 3)) + 0.5 * y[:, None], y, kernel=Gaussian(sigma=2.0))


def far_and_near_the_origin() -> Sample:
    """The points 12 and 16, of different classes, with a constant feature 1: 4 apart, but nearly in one direction."""
    return Sample([[12.0, 1.0], [16.0, 1.0]], [-1, 1])
