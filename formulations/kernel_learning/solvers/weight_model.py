"""A quadratic model of a machine in the weights of its kernels, and the coefficients that go with the best ones."""

from __future__ import annotations

import numpy as np

from formulations.kernel_learning.solvers.best_shares import best_shares
from formulations.kernel_learning.solvers.weighted_machine import Tried, Vector, WeightedMachine
from kopt.gram.columns import Columns
from kopt.solvers.cholesky import solved_in_place

#: The share of the budget that the matrix between the coefficients that may move can take.
SHARE = 0.5
#: Added to the diagonal of that matrix, relative to it and per row; more where it is not definite.
ROUNDING, MORE, MOST = 1e-14, 100.0, 1e-4


def model_step(machine: WeightedMachine, at: Tried) -> tuple[Vector, Vector]:
    r"""The best weights in the model at a point, and the coefficients predicted for them.

    With F the coefficients that may move, V_k = (K_k c)_F, A = (sum_k mu_k K_k + shift)_FF, and P the inverse of A on
    the directions that keep the sums, c moves by d = -P (slope + V' dmu) with the weights, and the objective is, up to
    third order,

        (q/2 - V P slope)' mu - 1/2 dmu' V P V' dmu + constant.
    """
    p, weights = machine.program, machine.weights
    F = _moving(machine, at)
    if len(F) == 0:
        return weights.best(at.q), at.c
    V = at.images[:, p.points[F]]
    slope = at.slope[F] + p.width[F] * np.sign(at.c[F])
    solved = _keeping_sums(machine, at, F, np.column_stack([slope, V.T]))
    d, PV = -solved[:, 0], solved[:, 1:]
    unit = weights.unit
    H = V @ PV * np.outer(unit, unit)
    mu = unit * best_shares((at.q / 2 + V @ d) * unit, (H + H.T) / 2, at.mu / unit, weights.p)
    c = at.c.copy()
    c[F] = np.clip(c[F] + d - PV @ (mu - at.mu), p.lower[F], p.upper[F])
    return mu, c


def _moving(machine: WeightedMachine, at: Tried) -> np.ndarray:
    """Coefficients between their bounds, or at one from which their slope takes them away; some, where they are many.

    Those left out are taken to be fixed: the model then has too little curvature, and the step is not as good.
    """
    p = machine.program
    inside = (p.lower < at.c) & (at.c < p.upper) & ((at.c != 0) | (p.width == 0))
    leaving = np.where(at.c <= p.lower, at.slope < 0, (at.c >= p.upper) & (at.slope > 0)) & (p.width == 0)
    F = np.flatnonzero(inside | leaving)
    most = int(np.sqrt(SHARE * machine.sample.budget / 8))
    return F if len(F) <= most else np.sort(np.random.default_rng(0).permutation(F)[:most])


def _keeping_sums(machine: WeightedMachine, at: Tried, F: np.ndarray, B: np.ndarray) -> np.ndarray:
    """P B = A^-1 (B - E y), with E the groups of F and y such that the sums E' P B vanish."""
    p = machine.program
    E = (p.group[F][:, None] == np.arange(len(p.totals))).astype(float)
    E = E[:, E.any(axis=0)]
    solved = _solved(machine, at, F, np.hstack([B, E]))
    PB, AE = np.split(solved, [B.shape[1]], axis=1)
    return PB - AE @ np.linalg.solve(E.T @ AE, E.T @ PB) if E.size else PB


def _solved(machine: WeightedMachine, at: Tried, F: np.ndarray, B: np.ndarray) -> np.ndarray:
    p = machine.program
    ridge, diagonal = ROUNDING, at.gram.diagonal[p.points[F]] + p.shift[F]
    while True:
        A = Columns(at.gram).block(p.points[F], single=False)
        A = A if A.flags.writeable else A.copy()
        A[np.diag_indices(len(F))] += p.shift[F] + ridge * len(F) * float(np.mean(diagonal))
        try:
            return solved_in_place(A, B)
        except np.linalg.LinAlgError:
            if ridge > MOST:
                raise
            ridge *= MORE
