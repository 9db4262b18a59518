"""Sets of weights of kernels, as numbers: a bound on their norm, and what is best within it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.kernel_learning.solvers.contracts import LearnsWeights
from kopt import Sample

Vector = np.ndarray


def even_shares(m: int, p: float) -> Vector:
    """The x with ||x||_p = 1 whose m entries are the same."""
    return np.full(m, m ** (-1 / p))


def largest_gain(gains: Vector, p: float) -> float:
    """max x'gains over x >= 0 with ||x||_p <= 1: the norm in p* = p / (p - 1) of what is positive of the gains.

    >>> largest_gain(np.array([3.0, -1.0, 4.0]), p=2.0), largest_gain(np.array([3.0, 4.0]), p=1.0)
    (5.0, 4.0)
    """
    largest = float(np.max(gains))
    if p == 1 or largest <= 0:
        return max(largest, 0.0)
    return largest * float(np.sum((np.maximum(gains, 0.0) / largest) ** (p / (p - 1)))) ** (1 - 1 / p)


@dataclass(frozen=True, eq=False)
class WeightSet:
    """Weights mu >= 0 of some kernels with ||(r_k mu_k)||_p <= c, r_k > 0 the mean of k_k(x, x) over the points."""

    r: Vector
    c: float
    p: float

    @classmethod
    def of(cls, learner: LearnsWeights, sample: Sample) -> WeightSet | str:
        """The weights of the kernels of a sample; the reason where one of them would not be bounded."""
        r = np.array([float(gram.diagonal.mean()) for gram in sample.grams.values()])
        vanishing = [name for name, mean in zip(sample.grams, r, strict=True) if not mean > 0]
        if vanishing:
            return f"the kernel {vanishing[0]!r} vanishes on all points"
        return cls(r, float(learner.c), float(learner.p))

    @property
    def unit(self) -> Vector:
        """c / r_k: the weights are x_k unit_k for shares x >= 0 with ||x||_p <= 1."""
        return self.c / self.r

    @property
    def even(self) -> Vector:
        """The same share for each kernel."""
        return self.unit * even_shares(len(self.r), self.p)

    def best(self, q: Vector) -> Vector:
        """The weights with the largest mu' q; with p = 1 those of one kernel."""
        gains = q * self.unit
        if not np.max(gains) > 0:
            return self.even
        if self.p == 1:
            return np.asarray(self.unit * (np.arange(len(q)) == np.argmax(gains)))
        shares = (np.maximum(gains, 0.0) / gains.max()) ** (1 / (self.p - 1))
        return np.asarray(self.unit * shares / np.sum(shares**self.p) ** (1 / self.p))
