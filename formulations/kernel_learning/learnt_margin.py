"""What the machines share that learn non-negative weights of kernels together with a margin."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.kernel_learning.completion import Completion
from formulations.kernel_learning.directions import Shares
from formulations.kernel_learning.traces import check_traces
from kopt import Claim, Combination, Domain, Point, Sample, View, at_most, equal, parameter
from kopt.kernels import Kernel

# The dual norm is that of p / (p - 1) = 51 for p = 1.02: the 51st powers of lengths are still numbers.
NORMS = Domain("1, or a number from 1.02 to 1000", lambda value: value == 1 or 1.02 <= value <= 1000, (1.05, 4.0))


def norm_of_weights(default: float = 1.0) -> Any:
    """The parameter p of the norm that bounds the weights."""
    return parameter(NORMS, default)


@dataclass(frozen=True)
class Weights:
    """The weights mu >= 0 with sum_k (r_k mu_k)^p <= c^p, r_k the mean of k_k(x, x) over the points.

    With p = 1 the trace of the combination is bounded: the mean of k(x, x) is at most c. The dual norm of
    q_k / r_k, with p* = p / (p - 1), is the largest mu' q for weights of size 1.
    """

    s: Any
    p: float
    c: float

    @property
    def r(self) -> np.ndarray:
        """The mean squared lengths of the points."""
        return np.array([np.mean(self.s.diagonal(name)) for name in self.s.kernels])

    def vectors(self) -> dict[str, Any]:
        """A weight vector in the feature space of each kernel."""
        return {name: self.s.weight(f"w[{name}]", kernel=name) for name in self.s.kernels}

    def variable(self) -> cp.Variable:
        """The weights, as a variable."""
        return cp.Variable(len(self.s.kernels), name="mu")

    def constraints(self, mu: cp.Variable) -> dict[str, Any]:
        """The bound on the weights, and their signs."""
        size = self.r @ mu if self.p == 1 else cp.sum(cp.power(cp.multiply(self.r, mu), self.p, approx=False))
        return {"tau": size <= self.c**self.p, "nu": mu >= 0}

    def length(self, e: cp.Expression) -> cp.Expression:
        """1/2 max mu' q over the weights, q_k the squared length of sum_i e_i phi_k(x_i)."""
        return self.c / 2 * self._dual_size(self._shares(e))

    def multipliers(self, e: cp.Expression) -> dict[str, Any]:
        """Of the bound and of the signs, where mu is at that maximum."""
        shares = self._shares(e)
        tau = self.c ** (1 - self.p) / (2 * self.p) * self._dual_size(shares)
        nu = cp.multiply(self.r, tau - shares / 2) if self.p == 1 else np.zeros(len(self.r))
        return {"tau": tau, "nu": nu}

    def _shares(self, e: cp.Expression) -> cp.Expression:
        """q_k / r_k."""
        q = cp.hstack([self.s.combination(e, kernel=name).norm_squared for name in self.s.kernels])
        return cp.multiply(1 / self.r, q)

    def _dual_size(self, shares: cp.Expression) -> cp.Expression:
        return cp.max(shares) if self.p == 1 else cp.pnorm(shares, self.p / (self.p - 1), approx=False)

    def images(self, e: np.ndarray) -> Images:
        """The vectors sum_i e_i phi_k(x_i), for numbers e."""
        return Images([self.s.combination(e, kernel=name) for name in self.s.kernels])

    def best(self, q: np.ndarray) -> np.ndarray:
        """The weights with the largest mu' q, where there is one such: for p > 1."""
        shares = q / self.r
        if not shares.any():
            return np.full(len(q), self.c / (self.r * len(q) ** (1 / self.p)))
        powers = (shares / shares.max()) ** (1 / (self.p - 1))
        return np.asarray(self.c * powers / np.sum(powers**self.p) ** (1 / self.p) / self.r)


@dataclass(frozen=True)
class Images:
    """The vectors v_k = sum_i e_i phi_k(x_i), one in the feature space of each kernel."""

    vectors: list[Combination]

    @property
    def q(self) -> np.ndarray:
        """Their squared lengths."""
        return np.array([v.norm_squared for v in self.vectors])

    @property
    def values(self) -> np.ndarray:
        """<v_k, phi_k(x_i)>, a column for each kernel."""
        return np.column_stack([v.values for v in self.vectors])

    def in_shares(self, y: np.ndarray, units: np.ndarray) -> Shares:
        """The weights as shares x >= 0 that sum to 1, mu_k = x_k units_k."""
        return Shares(y, self.values * units, self.q * units)

    def weighted(self, names: Iterable[str], mu: np.ndarray) -> dict[str, Combination]:
        """w_k = mu_k v_k."""
        return {f"w[{name}]": float(m) * v for name, m, v in zip(names, mu, self.vectors, strict=True)}


class LearntMargin(ABC):
    """A machine with a margin that learns non-negative weights of kernels: all but its two programs."""

    c: float
    p: float

    @abstractmethod
    def completion(self, s: Any) -> Completion:
        """What belongs to given directions."""

    def _weights(self, s: Any) -> Weights:
        """The set of weights."""
        return Weights(s, self.p, self.c)

    def requires(self, s: Sample) -> None:
        """Every kernel must have a trace to be measured by."""
        check_traces(s)

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w_k = mu_k sum_i y_i alpha_i phi_k(x_i); mu, b and the slacks are the best for these directions."""
        weights, completion = self._weights(s), self.completion(s)
        images = weights.images(s.y * dual.alpha)
        mu = weights.best(images.q) if self.p > 1 else self._best(s, images, weights.c / weights.r, completion)
        factor, rest = completion.rest(images.values @ mu)
        return {**images.weighted(s.kernels, factor * mu), "mu": mu, **rest}

    @staticmethod
    def _best(s: View, images: Images, units: np.ndarray, completion: Completion) -> np.ndarray:
        shares = np.maximum(completion.weights(images.in_shares(s.y, units)), 0.0)
        return shares / shares.sum() * units

    def decision(self, s: Any, primal: Point) -> np.ndarray:
        """sum_k <w_k, phi_k(x)> + b."""
        return scores(primal) + primal.b

    def learnt_kernel(self, s: Sample, primal: Point) -> Kernel:
        """sum_k mu_k k_k."""
        return s.combined(primal.mu)


def scores(primal: Point) -> np.ndarray:
    """sum_k <w_k, phi_k(x)>, on the sample or on new points."""
    return np.asarray(sum(value.values for name, value in primal.items() if name.startswith("w[")))


def spent_length(primal: Point) -> float:
    """sum_k <w_k, w_k> / mu_k, where 0/0 counts as 0."""
    squares = np.array([value.norm_squared for name, value in primal.items() if name.startswith("w[")])
    return float(np.sum(np.divide(squares, primal.mu, out=np.zeros_like(squares), where=squares > 0)))


def weight_claims(weights: Weights, primal: Point, dual: Point, e: np.ndarray) -> Iterator[Claim]:
    """The bound on the weights is used up; the lengths of the learnt machine; only the longest vectors count."""
    q = weights.images(e).q
    scale = max(float(np.sum(np.abs(e))), float(np.max(weights.c * q / weights.r)))
    size = float(np.sum((weights.r * primal.mu) ** weights.p)) ** (1 / weights.p)
    yield at_most("||(r_k mu_k)||_p <= c", size, weights.c)
    learnt = float(primal.mu @ q)
    yield equal("sum ||w_k||^2 / mu_k = alpha' G alpha for the learnt kernel", spent_length(primal), learnt, scale)
    if weights.p == 1:
        missing = np.max(q / weights.r) - q / weights.r
        lost = float(weights.r * primal.mu @ missing)
        yield equal("mu_k > 0 only where q_k / r_k is largest", lost, 0.0, scale)
