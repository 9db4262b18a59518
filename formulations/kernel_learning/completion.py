"""The rest of a primal point where directions in the feature spaces are given: weights of kernels, offset, slacks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from formulations.classification.margins import best_offset
from formulations.kernel_learning.least_hinges import least_hinges

# What HiGHS and Clarabel are asked for; the certificate says what it is worth.
SIMPLEX = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
INTERIOR = 1e-12


@dataclass(frozen=True)
class Directions:
    """Weights in coordinates x, so that r'x = 1, lower <= x <= 1 and G x >= 0.

    y        the labels
    values   F, n x m: the scores are F x + b
    q        the squared length is q'x
    G        rows, none where the bounds say it all
    inside   an x that is allowed
    """

    y: np.ndarray
    values: np.ndarray
    q: np.ndarray
    r: np.ndarray
    lower: float
    G: np.ndarray
    inside: np.ndarray

    @property
    def plain(self) -> bool:
        """Whether x >= 0 and sum x = 1 is all."""
        return self.lower == 0 and len(self.G) == 0 and bool(np.all(self.r == 1))

    @property
    def margins(self) -> np.ndarray:
        """y_i (F x + b) as rows for (x, b)."""
        return np.hstack([self.y[:, None] * self.values, self.y[:, None]])

    def linear(self, cost: np.ndarray, rows: Any, at_least: np.ndarray, rest: tuple[float | None, None]) -> np.ndarray:
        """The x with the least cost'(x, b, z) s.t. rows (x, b, z) >= at_least, z within the bounds `rest`."""
        m, others = len(self.q), len(cost) - len(self.q)
        G = sp.csr_array(np.hstack([self.G, np.zeros((len(self.G), others))]))
        unit = float(np.max(np.abs(cost))) or 1.0
        answer = linprog(
            cost / unit,
            A_ub=-sp.vstack([rows, G], format="csr"),
            b_ub=-np.concatenate([at_least, np.zeros(len(self.G))]),
            A_eq=sp.csr_array(np.concatenate([self.r, np.zeros(others)])[None]),
            b_eq=[1.0],
            bounds=[(self.lower, 1.0 if self.lower else None)] * m + [(None, None)] + [rest] * (others - 1),
            options=SIMPLEX,
        )
        return self.inside if answer.x is None else np.asarray(answer.x[:m])

    def quadratic(self, weights: np.ndarray) -> np.ndarray:
        """The x that minimises 1/2 q'x + 1/2 sum_i weights_i xi_i^2, margins + xi >= 1: by an interior point method."""
        n, m = self.values.shape
        unit = float(max(np.max(np.abs(self.q)), np.max(weights)))
        box = np.eye(m) if not self.lower else np.vstack([np.eye(m), -np.eye(m)])
        small = np.vstack([self.G, box])
        rows = sp.vstack(
            [
                sp.csc_array(np.concatenate([self.r, np.zeros(1 + n)])[None]),
                -sp.hstack([sp.csc_array(self.margins), sp.eye_array(n)]),
                -sp.csc_array(np.hstack([small, np.zeros((len(small), 1 + n))])),
            ],
            format="csc",
        )
        least = np.concatenate([np.zeros(len(self.G)), np.full(m, self.lower), np.full(len(box) - m, -1.0)])
        P = sp.diags_array(np.concatenate([np.zeros(m + 1), weights / unit]), format="csc")
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = INTERIOR
        answer = clarabel.DefaultSolver(
            sp.csc_matrix(P),
            np.concatenate([self.q / 2 / unit, np.zeros(1 + n)]),
            sp.csc_matrix(rows),
            np.concatenate([[1.0], -np.ones(n), -least]),
            [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n + len(small))],
            settings,
        ).solve()
        x, price = np.array(answer.x)[:m], np.array(answer.z)[1 + n + len(self.G) :][:m]
        if not np.isfinite(x).all():
            return self.inside
        # Of two numbers whose product vanishes the smaller one is 0.
        return x if self.lower else np.where(x > price, x, 0.0)


class Completion(ABC):
    """How a machine completes directions: by the best weights, and for given scores by the best offset and slacks.

    upper    the largest multipliers
    missed   by so much the best weights may miss a row
    """

    upper: Any = np.inf
    missed: ClassVar[float] = 1e-9

    @abstractmethod
    def weights(self, directions: Directions) -> np.ndarray:
        """The best coordinates x."""

    @abstractmethod
    def rest(self, f: np.ndarray) -> tuple[float, dict[str, Any]]:
        """By what to multiply scores without offset, and the offset and the slacks that belong to the product."""


@dataclass(frozen=True)
class Hinges(Completion):
    """Slacks that cost `price` each."""

    y: np.ndarray
    price: np.ndarray

    @property
    def upper(self) -> Any:
        """The largest multipliers."""
        return self.price

    def weights(self, directions: Directions) -> np.ndarray:
        """Minimise 1/2 q'x + sum_i price_i xi_i: a linear program."""
        if directions.plain:
            return least_hinges(self.y, directions.values, directions.q / 2, self.price)
        n = len(self.y)
        rows = sp.hstack([sp.csr_array(directions.margins), sp.eye_array(n)])
        cost = np.concatenate([directions.q / 2, [0.0], self.price])
        return directions.linear(cost, rows, np.ones(n), (0.0, None))

    def rest(self, f: np.ndarray) -> tuple[float, dict[str, Any]]:
        """The offset minimises the sum of the slacks."""
        b = best_offset(self.y, f, self.price)
        return 1.0, {"b": b, "xi": np.maximum(0.0, 1 - self.y * (f + b))}


@dataclass(frozen=True)
class SquaredHinges(Completion):
    """Slacks whose squares cost half of `price` each."""

    missed = INTERIOR

    y: np.ndarray
    price: np.ndarray

    def weights(self, directions: Directions) -> np.ndarray:
        """Minimise 1/2 q'x + 1/2 sum_i price_i xi_i^2: a quadratic program."""
        if directions.plain:
            return least_hinges(self.y, directions.values, directions.q / 2, self.price, power=2)
        return directions.quadratic(self.price)

    def rest(self, f: np.ndarray) -> tuple[float, dict[str, Any]]:
        """The offset minimises the sum of the squared slacks."""
        b = best_offset(self.y, f, self.price, power=2)
        return 1.0, {"b": b, "xi": np.maximum(0.0, 1 - self.y * (f + b))}


@dataclass(frozen=True)
class NoSlack(Completion):
    """Functional margins of 1 at least."""

    y: np.ndarray

    def weights(self, directions: Directions) -> np.ndarray:
        """Maximise the smallest margin: a linear program. Where the multipliers are optimal, that margin is 1."""
        n, m = directions.values.shape
        rows = sp.csr_array(np.hstack([directions.margins, -np.ones((n, 1))]))
        return directions.linear(np.append(np.zeros(m + 1), -1.0), rows, np.zeros(n), (None, None))

    def rest(self, f: np.ndarray) -> tuple[float, dict[str, Any]]:
        """The offset halfway between the classes, scaled to functional margin 1; as it is where nothing separates."""
        nearest_plus, nearest_minus = f[self.y > 0].min(), f[self.y < 0].max()
        margin, b = (nearest_plus - nearest_minus) / 2, -(nearest_plus + nearest_minus) / 2
        return (1 / margin, {"b": b / margin}) if margin > 0 else (1.0, {"b": b})
