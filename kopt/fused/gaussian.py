"""Gaussian kernel values that are used as soon as they are computed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kopt.fused.exponential import exp32, exp64
from kopt.fused.threads import over_ranges

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Columns worked on at a time: four rows of them and four features stay in the first-level cache.
SINGLE_WIDTH, DOUBLE_WIDTH = 512, 256
#: Rows are worked on four at a time; missing ones have the coefficient 0.
ROWS = 4
#: From this many features on, products of matrices by BLAS are faster than the loops here.
WIDE = 96
#: Entries of K that BLAS prepares at a time.
TILE = 2**19

INEXACT = {"contract", "nnan", "ninf", "nsz", "reassoc"}


class FusedGaussian:
    """K_ij = exp(<v_i, v_j> - |v_i|^2 / 2 - |v_j|^2 / 2), v the centred points in units of sigma.

    `add` is in single precision, sums of four entries apart, which are added up in double; `product` is in double.

    >>> K = FusedGaussian(np.array([[0.0], [1.0], [3.0]]))
    >>> K.product(np.array([0, 2]), np.array([1.0, -1.0])).round(4).tolist()
    [0.9889, 0.4712, -0.9889]
    """

    def __init__(self, V: NDArray[np.float64]) -> None:
        self.V = np.ascontiguousarray(V)
        self.half = np.einsum("ij,ij->i", V, V) / 2
        self.V32, self.half32 = self.V.astype(np.float32), self.half.astype(np.float32)
        self.wide = V.shape[1] >= WIDE
        if not self.wide:
            self.Vt, self.Vt32 = np.ascontiguousarray(self.V.T), np.ascontiguousarray(self.V32.T)

    @property
    def single_error(self) -> float:
        """The typical error of an entry in single precision: that of its exponent, and of exp."""
        return float(np.finfo(np.float32).eps) * (1.0 + float(self.half.mean()))

    def product(self, where: Indices, c: Vector) -> Vector:
        """sum_j c_j K_ij over the j in `where`, for every i."""
        out = np.zeros(len(self.V))
        if self.wide:
            self._by_tiles(self.V, self.half, where, c, out, _exponentials64)
        else:
            U, half, coefficients = _padded(self.V[where], self.half[where], c)
            over_ranges(lambda a, b: _add64(U, half, coefficients, self.Vt, self.half, a, b, out), len(out))
        return out

    def add(self, where: Indices, c: Vector, out: Vector) -> None:
        """Add sum_j c_j K_ij over the j in `where` to out_i, entries in single precision."""
        c32 = c.astype(np.float32)
        if self.wide:
            self._by_tiles(self.V32, self.half32, where, c32, out, _exponentials32)
            return
        U, half, coefficients = _padded(self.V32[where], self.half32[where], c32)
        over_ranges(lambda a, b: _add32(U, half, coefficients, self.Vt32, self.half32, a, b, out), len(out))

    def block(self, where: Indices, out: NDArray[Any]) -> NDArray[Any]:
        """The matrix between some points, in the precision of the memory that is given for it."""
        single = out.dtype == np.float32
        V, half = (self.V32[where], self.half32[where]) if single else (self.V[where], self.half[where])
        if self.wide:
            np.matmul(V, V.T, out=out)
            exponentials = _exponentials32 if single else _exponentials64
            over_ranges(lambda a, b: exponentials(out[a:b], half[a:b], half), len(out))
        else:
            U, half_u, _ = _padded(V, half, half)
            Vt, values = np.ascontiguousarray(V.T), _block32 if single else _block64
            over_ranges(lambda a, b: values(U, half_u, Vt, half, a, b, out), len(out))
        return out

    def _by_tiles(self, V: Any, half: Any, where: Indices, c: Any, out: Vector, exponentials: Any) -> None:
        U, half_u = V[where], half[where]
        height = max(64, TILE // max(1, len(where)))
        tile = np.empty((min(height, len(V)), len(where)), dtype=V.dtype)
        for start in range(0, len(V), height):
            stop = min(start + height, len(V))
            K = np.matmul(V[start:stop], U.T, out=tile[: stop - start])
            h = half[start:stop]
            over_ranges(lambda a, b, K=K, h=h: exponentials(K[a:b], h[a:b], half_u), len(K))  # type: ignore[misc]
            out[start:stop] += K @ c


def _padded(U: Any, half: Any, c: Any) -> tuple[Any, Any, Any]:
    missing = -len(c) % ROWS
    if not missing:
        return U, half, c
    zeros = np.zeros(missing, dtype=c.dtype)
    return np.vstack([U, np.zeros((missing, U.shape[1]), dtype=U.dtype)]), np.append(half, zeros), np.append(c, zeros)


@njit(fastmath=INEXACT, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _exponents(U: Any, half_u: Any, r: int, Vt: Any, half: Any, a: int, w: int, e: Any) -> None:
    """e[k, i] = <u_k, v_i> - |u_k|^2 / 2 - |v_i|^2 / 2 for four rows k from r on and w columns i from a on."""
    e0, e1, e2, e3 = e[0], e[1], e[2], e[3]
    u0, u1, u2, u3 = U[r], U[r + 1], U[r + 2], U[r + 3]
    h0, h1, h2, h3 = half_u[r], half_u[r + 1], half_u[r + 2], half_u[r + 3]
    h = half[a : a + w]
    for i in range(w):
        e0[i] = -(h0 + h[i])
        e1[i] = -(h1 + h[i])
        e2[i] = -(h2 + h[i])
        e3[i] = -(h3 + h[i])
    d = Vt.shape[0]
    f = 0
    while f + 4 <= d:
        v0, v1, v2, v3 = Vt[f, a : a + w], Vt[f + 1, a : a + w], Vt[f + 2, a : a + w], Vt[f + 3, a : a + w]
        p0, p1, p2, p3 = u0[f], u0[f + 1], u0[f + 2], u0[f + 3]
        q0, q1, q2, q3 = u1[f], u1[f + 1], u1[f + 2], u1[f + 3]
        s0, s1, s2, s3 = u2[f], u2[f + 1], u2[f + 2], u2[f + 3]
        t0, t1, t2, t3 = u3[f], u3[f + 1], u3[f + 2], u3[f + 3]
        for i in range(w):
            x0, x1, x2, x3 = v0[i], v1[i], v2[i], v3[i]
            e0[i] += p0 * x0 + p1 * x1 + p2 * x2 + p3 * x3
            e1[i] += q0 * x0 + q1 * x1 + q2 * x2 + q3 * x3
            e2[i] += s0 * x0 + s1 * x1 + s2 * x2 + s3 * x3
            e3[i] += t0 * x0 + t1 * x1 + t2 * x2 + t3 * x3
        f += 4
    while f < d:
        v = Vt[f, a : a + w]
        p, q, s, t = u0[f], u1[f], u2[f], u3[f]
        for i in range(w):
            x = v[i]
            e0[i] += p * x
            e1[i] += q * x
            e2[i] += s * x
            e3[i] += t * x
        f += 1


@njit(fastmath=INEXACT, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _add32(U: Any, half_u: Any, c: Any, Vt: Any, half: Any, start: int, stop: int, out: Any) -> None:
    e = np.empty((ROWS, SINGLE_WIDTH), np.float32)
    e0, e1, e2, e3 = e[0], e[1], e[2], e[3]
    four = np.empty(SINGLE_WIDTH, np.float32)
    for a in range(start, stop, SINGLE_WIDTH):
        w = min(SINGLE_WIDTH, stop - a)
        o = out[a : a + w]
        for r in range(0, len(c), ROWS):
            _exponents(U, half_u, r, Vt, half, a, w, e)
            c0, c1, c2, c3 = c[r], c[r + 1], c[r + 2], c[r + 3]
            # Two loops: one with both precisions would be vectorised for the wider only.
            for i in range(w):
                four[i] = c0 * exp32(e0[i]) + c1 * exp32(e1[i]) + c2 * exp32(e2[i]) + c3 * exp32(e3[i])
            for i in range(w):
                o[i] += four[i]


@njit(fastmath=INEXACT, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _add64(U: Any, half_u: Any, c: Any, Vt: Any, half: Any, start: int, stop: int, out: Any) -> None:
    e = np.empty((ROWS, DOUBLE_WIDTH), np.float64)
    e0, e1, e2, e3 = e[0], e[1], e[2], e[3]
    for a in range(start, stop, DOUBLE_WIDTH):
        w = min(DOUBLE_WIDTH, stop - a)
        o = out[a : a + w]
        for r in range(0, len(c), ROWS):
            _exponents(U, half_u, r, Vt, half, a, w, e)
            c0, c1, c2, c3 = c[r], c[r + 1], c[r + 2], c[r + 3]
            for i in range(w):
                o[i] += c0 * exp64(e0[i]) + c1 * exp64(e1[i]) + c2 * exp64(e2[i]) + c3 * exp64(e3[i])


@njit(fastmath=INEXACT, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _block32(U: Any, half_u: Any, Vt: Any, half: Any, start: int, stop: int, out: Any) -> None:
    e = np.empty((ROWS, SINGLE_WIDTH), np.float32)
    for r in range(start, stop, ROWS):
        for a in range(0, len(half), SINGLE_WIDTH):
            w = min(SINGLE_WIDTH, len(half) - a)
            _exponents(U, half_u, r, Vt, half, a, w, e)
            for k in range(min(ROWS, stop - r)):
                row, exponents = out[r + k, a : a + w], e[k]
                for i in range(w):
                    row[i] = exp32(exponents[i])


@njit(fastmath=INEXACT, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _block64(U: Any, half_u: Any, Vt: Any, half: Any, start: int, stop: int, out: Any) -> None:
    e = np.empty((ROWS, DOUBLE_WIDTH), np.float64)
    for r in range(start, stop, ROWS):
        for a in range(0, len(half), DOUBLE_WIDTH):
            w = min(DOUBLE_WIDTH, len(half) - a)
            _exponents(U, half_u, r, Vt, half, a, w, e)
            for k in range(min(ROWS, stop - r)):
                row, exponents = out[r + k, a : a + w], e[k]
                for i in range(w):
                    row[i] = exp64(exponents[i])


@njit(fastmath=INEXACT, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _exponentials32(K: Any, half_rows: Any, half_columns: Any) -> None:
    for r in range(len(K)):
        row, h = K[r], half_rows[r]
        for i in range(len(row)):
            row[i] = exp32(row[i] - (h + half_columns[i]))


@njit(fastmath=INEXACT, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _exponentials64(K: Any, half_rows: Any, half_columns: Any) -> None:
    for r in range(len(K)):
        row, h = K[r], half_rows[r]
        for i in range(len(row)):
            row[i] = exp64(row[i] - (h + half_columns[i]))
