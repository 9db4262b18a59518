"""Weights of kernels where directions in the feature spaces are given: in shares, and in coordinates of their span."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from formulations.kernel_learning.least_hinges import least_hinges
from formulations.kernel_learning.masters import TIGHT

# What Clarabel is asked for; the certificate says what it is worth.
INTERIOR = 1e-12


@dataclass(frozen=True)
class Directions(ABC):
    """Numbers x that say what the weights are; the subclasses say which x there are.

    y        the labels
    values   F, n x m: the scores are F x + b
    q        the squared length is q'x
    """

    y: np.ndarray
    values: np.ndarray
    q: np.ndarray

    @property
    def margins(self) -> np.ndarray:
        """y_i (F x + b) as rows for (x, b)."""
        return np.hstack([self.y[:, None] * self.values, self.y[:, None]])

    @abstractmethod
    def least_slacks(self, price: np.ndarray, power: Literal[1, 2] = 1) -> np.ndarray:
        """The x that minimises 1/2 q'x + sum_i price_i xi_i over x, b and xi >= 0 with margins + xi >= 1.

        With the power 2 it is 1/2 sum_i price_i xi_i^2.
        """

    def largest_margin(self) -> np.ndarray:
        """The x with the largest of the smallest margins: a linear program."""
        n, m = self.values.shape
        rows = sp.csr_array(np.hstack([self.margins, -np.ones((n, 1))]))
        return self._linear(np.append(np.zeros(m + 1), -1.0), rows, np.zeros(n), (None, None))

    @abstractmethod
    def _linear(self, cost: np.ndarray, rows: Any, at_least: np.ndarray, rest: tuple[float | None, None]) -> np.ndarray:
        """The x with the least cost'(x, b, z) s.t. rows (x, b, z) >= at_least, z within the bounds `rest`."""


@dataclass(frozen=True)
class Shares(Directions):
    """x >= 0 with sum_k x_k = 1."""

    def least_slacks(self, price: np.ndarray, power: Literal[1, 2] = 1) -> np.ndarray:
        """In time proportional to the number of points."""
        return least_hinges(self.y, self.values, self.q / 2, price, power)

    def _linear(self, cost: np.ndarray, rows: Any, at_least: np.ndarray, rest: tuple[float | None, None]) -> np.ndarray:
        m = len(self.q)
        found = _best(cost, rows, at_least, np.ones(m), [(0.0, None)] * m, rest)
        return np.full(m, 1 / m) if found is None else found


@dataclass(frozen=True)
class Coordinates(Directions):
    """x with r'x = 1, -1 <= x <= 1 and G x >= 0.

    inside   an x that is allowed
    """

    r: np.ndarray
    G: np.ndarray
    inside: np.ndarray

    def least_slacks(self, price: np.ndarray, power: Literal[1, 2] = 1) -> np.ndarray:
        """A linear program, or a quadratic one."""
        if power == 2:
            return self._quadratic(price)
        n = len(self.y)
        rows = sp.hstack([sp.csr_array(self.margins), sp.eye_array(n)])
        return self._linear(np.concatenate([self.q / 2, [0.0], price]), rows, np.ones(n), (0.0, None))

    def _linear(self, cost: np.ndarray, rows: Any, at_least: np.ndarray, rest: tuple[float | None, None]) -> np.ndarray:
        m = len(self.q)
        G = sp.csr_array(np.hstack([self.G, np.zeros((len(self.G), len(cost) - m))]))
        both, limits = sp.vstack([rows, G], format="csr"), np.concatenate([at_least, np.zeros(len(self.G))])
        found = _best(cost, both, limits, self.r, [(-1.0, 1.0)] * m, rest)
        return self.inside if found is None else found

    def _quadratic(self, price: np.ndarray) -> np.ndarray:
        """By an interior point method, in the variables (x, b, xi)."""
        n, m = self.values.shape
        unit = float(max(np.max(np.abs(self.q)), np.max(price)))
        small = np.vstack([self.G, np.eye(m), -np.eye(m)])
        rows = sp.vstack(
            [
                sp.csc_array(np.concatenate([self.r, np.zeros(1 + n)])[None]),
                -sp.hstack([sp.csc_array(self.margins), sp.eye_array(n)]),
                -sp.csc_array(np.hstack([small, np.zeros((len(small), 1 + n))])),
            ],
            format="csc",
        )
        P = sp.diags_array(np.concatenate([np.zeros(m + 1), price / unit]), format="csc")
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = INTERIOR
        answer = clarabel.DefaultSolver(
            sp.csc_matrix(P),
            np.concatenate([self.q / 2 / unit, np.zeros(1 + n)]),
            sp.csc_matrix(rows),
            np.concatenate([[1.0], -np.ones(n), np.zeros(len(self.G)), np.ones(2 * m)]),
            [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n + len(small))],
            settings,
        ).solve()
        x = np.array(answer.x)[:m]
        return x if np.isfinite(x).all() else self.inside


def _best(
    cost: np.ndarray,
    rows: Any,
    at_least: np.ndarray,
    r: np.ndarray,
    bounds: list[tuple[float, float | None]],
    rest: tuple[float | None, None],
) -> np.ndarray | None:
    """The x with the least cost'(x, b, z) s.t. rows (x, b, z) >= at_least and r'x = 1; None where there is none."""
    others = len(cost) - len(r)
    answer = linprog(
        cost / (float(np.max(np.abs(cost))) or 1.0),
        A_ub=-rows,
        b_ub=-at_least,
        A_eq=sp.csr_array(np.concatenate([r, np.zeros(others)])[None]),
        b_eq=[1.0],
        bounds=[*bounds, (None, None), *[rest] * (others - 1)],
        options=TIGHT,
    )
    return None if answer.x is None else np.asarray(answer.x[: len(r)])
