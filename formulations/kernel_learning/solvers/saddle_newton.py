"""The Newton systems of saddle points over weights: the factorisation of H, and the small system around it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from formulations.kernel_learning.solvers.saddle_program import SaddleProgram, Sums
from formulations.kernel_learning.solvers.weighted_grams import times

Vector = np.ndarray
Matrix = np.ndarray

#: Added to the diagonal that is factorised, relative to that of the matrices, and per row.
PROXIMAL, ROUNDING = 1e-12, 1e-15
#: So many times that is added once more, one after the other, where a factor does not exist.
MORE = (0.0, 1e3, 1e6)
#: Points to which no variable belongs do not move.
FIXED = 1e200
#: A small system of equations is regularised by this part of its diagonal.
TINY = 1e-15


@dataclass(frozen=True, eq=False)
class Iterate:
    """z and theta, their multipliers, and what follows from z.

    nu, tau   the multipliers of the rows and of the bound on the weights
    x, s      distances of z to lower and upper bounds, and their multipliers; 1 and 0 where there is no bound
    w         the multipliers of theta >= 0
    V, q      K_k e and e'K_k e
    """

    z: Vector
    nu: Vector
    theta: Vector
    tau: float
    x: Matrix
    s: Matrix
    w: Vector
    V: Matrix
    q: Vector


@dataclass(frozen=True, eq=False)
class Residuals:
    """What is missing to the equations, under the names of the variables that will make up for it."""

    z: Vector
    nu: Vector
    theta: Vector
    tau: float


@dataclass(frozen=True, eq=False)
class Direction:
    """The changes of the parts of an iterate in one step."""

    z: Vector
    nu: Vector
    theta: Vector
    tau: float
    x: Matrix
    s: Matrix
    w: Vector


class SaddleNewton:
    """The Newton system at an iterate, factorised."""

    def __init__(self, program: SaddleProgram, bounded: np.ndarray, at: Iterate, residuals: Residuals) -> None:
        self.program, self.bounded, self.at, self.residuals = program, bounded, at, residuals
        p, m = program.p, len(at.theta)
        self.newton = Newton(program, at.theta, program.shift + np.sum(at.s / at.x, axis=0))
        self.W = np.vstack([program.gathered(at.V), program.B])
        self.X = self.newton.solve(np.ascontiguousarray(self.W.T))
        # the second derivative of theta^p, by which tau bends the bound on the weights
        self.bend = p * (p - 1) * at.theta ** (p - 2) if p > 1 else np.zeros(m)
        M = times(self.W, self.X)
        M[np.arange(m), np.arange(m)] += at.w / at.theta + max(at.tau, 0.0) * self.bend
        border = np.append(p * at.theta ** (p - 1), np.zeros(len(program.c)))
        diagonal = np.diag(M)
        diagonal = np.where(diagonal > 0, diagonal, 1.0)
        self.scale = 1 / np.sqrt(np.append(diagonal, np.sum(border**2 / diagonal)))
        full = np.block([[M, border[:, None]], [border, np.zeros((1, 1))]])
        self.small = self.scale[:, None] * full * self.scale + TINY * np.diag(np.append(np.ones(len(M)), -1.0))

    def direction(self, target: float, ahead: Direction | None = None, length: float = 1.0) -> Direction:
        """The way to products of this size; its second-order part from one that has been taken for a trial."""
        at, missing, m = self.at, self.residuals, len(self.at.theta)
        products, of_weights = target - at.x * at.s, target - at.theta * at.w
        slope, lengths = missing.z, missing.theta
        if ahead is not None:
            products, of_weights = products - length * ahead.x * ahead.s, of_weights - length * ahead.theta * ahead.w
            e = self.program.spread(ahead.z)
            images = self.program.grams.images(e)
            slope = slope - length * self.program.gathered(times(ahead.theta, images))
            lengths = lengths - length * (times(images, e) / 2 - ahead.tau * self.bend * ahead.theta)
        pull = np.where(self.bounded, products / at.x, 0.0)
        first = self.newton.solve((slope + pull[0] - pull[1])[:, None])[:, 0]
        right = np.append(times(self.W, first) - np.append(lengths - of_weights / at.theta, missing.nu), missing.tau)
        y = self.scale * np.linalg.solve(self.small, self.scale * right)
        z, theta = first - times(self.X, y[:-1]), y[:m]
        x = np.where(self.bounded, [z, -z], 0.0)
        s = np.where(self.bounded, pull - at.s / at.x * x, 0.0)
        return Direction(z, y[m:-1], theta, float(y[-1]), x, s, (of_weights - at.w * theta) / at.theta)


class Newton:
    """H = D + J'G J factorised, with G = sum_k theta_k K_k and a diagonal D >= 0.

    With T_j = sum_i a_i^2 / D_i over the variables of point j, and omega_i = a_i^2 / (D_i T_j),

        H z = f   where   (G + T^-1) e = m,   m_j = sum_i omega_i f_i / a_i,

        a_i z_i = omega_i e_j + a_i^2 / D_i (f_i / a_i - m_j).

    The last bracket vanishes where i is alone with its point; among several it is a sum over the others, free of
    cancellation: the entries of D differ by many orders of magnitude.
    """

    def __init__(self, program: SaddleProgram, theta: Vector, D: Vector) -> None:
        grams = program.grams
        small = (PROXIMAL + ROUNDING * grams.n) * float(theta @ grams.diagonals.mean(axis=1))
        self.used, self.alone = np.flatnonzero(program.owner >= 0), np.flatnonzero(program.owner < 0)
        self.owner, self.a = program.owner[self.used], program.a[self.used]
        self.D = D[self.alone] + small
        self.parts = self.a**2 / (D[self.used] + small * self.a**2)
        T = np.bincount(self.owner, self.parts, minlength=grams.n)
        self.inverse = np.divide(1.0, T, out=np.full(grams.n, FIXED), where=T > 0)
        self.omega = self.parts * self.inverse[self.owner]
        self.pairs = np.searchsorted(self.used, program.pairs)
        self.factor = self._factorised(grams, theta, small)

    def _factorised(self, grams: Sums, theta: Vector, small: float) -> Matrix:
        for more in MORE:
            M = grams.lower_sum(theta)
            M[np.diag_indices(grams.n)] += self.inverse + more * small
            factor, missing = dpotrf(M.T, lower=0, overwrite_a=1, clean=0)
            if not missing:
                return np.asarray(factor)
        raise np.linalg.LinAlgError("The matrix of the Newton system is not positive definite.")

    def solve(self, f: Matrix) -> Matrix:
        """H^-1 f, for several columns f."""
        z, targets = np.empty_like(f), f[self.used] / self.a[:, None]
        z[self.alone] = f[self.alone] / self.D[:, None]
        means = np.zeros((len(self.inverse), f.shape[1]))
        np.add.at(means, self.owner, self.omega[:, None] * targets)
        e, _ = dpotrs(self.factor, means, lower=0)
        moves, (i, j) = self.omega[:, None] * e[self.owner], self.pairs
        np.add.at(moves, i, (self.parts[i] * self.omega[j])[:, None] * (targets[i] - targets[j]))
        z[self.used] = moves / self.a[:, None]
        return z
