"""Random samples with several kernels, for the referee and the tests."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count

import numpy as np

from formulations.kernel_learning.cone import is_semidefinite
from formulations.kernel_learning.span import Span
from kopt import Sample
from kopt.kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial

# No size is a power of 2: where n is 4, a dual with n / 4, or with 2 for n / 2, would be as good as the right one.
SIZES = (7, 9, 6, 11)
CHOICES: tuple[dict[str, Kernel], ...] = (
    {"linear": Linear(), "gaussian": Gaussian(sigma=1.3), "polynomial": Polynomial(degree=2, R=0.7)},
    {"narrow": Gaussian(sigma=0.6), "wide": Gaussian(sigma=2.1), "laplacian": Laplacian(sigma=1.1)},
    {"linear": 0.4 * Linear(), "quadratic": Polynomial(degree=2, R=0.0), "wide": Gaussian(sigma=1.7)},
)


# For programs over matrices of twice the order.
SMALL_SIZES = (5, 7)


def several_kernels(rng: np.random.Generator, sizes: Sequence[int] = SIZES) -> Iterator[Sample]:
    """Points away from the origin with one decimal, unequal classes that overlap, three kernels."""
    for i in count():
        n = sizes[i % len(sizes)]
        X = np.round(rng.standard_normal((n, 3)) * [1.0, 1.4, 0.6] + [0.5, -0.3, 0.2], 1)
        y = np.full(n, -1.0)
        y[np.argsort(X @ [0.8, 0.6, 0.0])[-int(0.45 * n) :]] = 1.0
        if i % 2:
            y = np.roll(y, 1)
        yield Sample(X, y, kernel=dict(CHOICES[i % len(CHOICES)]))


def partly_labelled(rng: np.random.Generator) -> Iterator[Sample]:
    """The same with the label 0 on every third point: test points, among the others."""
    for sample in several_kernels(rng):
        yield sample.relabelled(np.where(np.arange(sample.n) % 3 == 1, 0.0, sample.y))


def levelled(sample: Sample) -> Sample:
    """The same with every kernel divided by about the mean of k(x, x)."""
    kernels = {name: float(f"{1 / np.mean(gram.diagonal):.2g}") * gram.kernel for name, gram in sample.grams.items()}
    return Sample(sample.X, sample.y, kernel=kernels)


def one_weight_0(samples: Iterable[Sample], span_of: Callable[[Sample], Span]) -> Iterator[Sample]:
    """Samples on which some non-negative weight is 0, so that its multiplier is not."""
    for sample in samples:
        span = span_of(sample)
        if np.any(span.nearest_cone_point(span.inverse @ span.a) == 0):
            yield sample


def not_semidefinite(samples: Iterable[Sample], span_of: Callable[[Sample], Span]) -> Iterator[Sample]:
    """Samples on which the most aligned of all combinations is not semi-definite, so that the multiplier Z is not 0."""
    for sample in samples:
        span = span_of(sample)
        K = sample.stacked_grams @ span.solve(span.a)
        if not is_semidefinite(K.reshape(sample.n, sample.n), rounding=1e-2):
            yield sample
