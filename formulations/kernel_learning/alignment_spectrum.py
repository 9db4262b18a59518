"""The eigenvectors of a kernel kept, and its eigenvalues chosen for the largest alignment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.kernel_learning.instances import several_kernels
from formulations.kernel_learning.span import ROUNDING, check_target
from kopt import Claim, Formulation, InputError, Point, Program, Reference, Sample, Task, View, at_most, equal
from kopt.kernels import Kernel, Polynomial, Reweighted

# Eigenvectors of smaller eigenvalues, relative to the largest, are rounding, and cannot be evaluated on new points.
SMALLEST = 1e-10


class AlignmentSpectrum(Formulation):
    r"""Eigenvalues mu_i >= 0 for the eigenvectors v_i of a kernel, with the largest alignment of sum_i mu_i v_i v_i'.

    Primal   max   sum_i mu_i a_i
             s.t.  sum_i mu_i^2 <= 1                                            : lambda
                   mu_i >= 0                                                    : nu_i
    Dual     min   || s ||,  s = a + nu
             s.t.  nu_i >= 0

    a_i = (v_i' y)^2 / ||y||^2 >= 0: the shortest vector s >= a is a itself, the optimum is ||a||, and mu is a / ||a||.
    Only eigenvectors of positive eigenvalues lambda_i can be evaluated on new points; the learnt kernel is
    sum_i mu_i v_i(x) v_i(z) with v_i(x) = sum_j k(x, x_j) v_ij / lambda_i. Eigenvectors of a multiple eigenvalue are
    determined up to rotations only, and the optimum depends on the choice: one of them is taken in the direction of the
    projection of y, which is best, and is unique.

    >>> import kopt
    >>> from kopt.kernels import Gaussian
    >>> sample = kopt.Sample([[-1.0], [0.5], [1.0]], [-1, 1, 1], kernel=Gaussian(sigma=1.0))
    >>> solution = kopt.solve(AlignmentSpectrum(), sample)
    >>> round(kopt.alignment(sample.gram().dense, sample.y), 4), round(solution.value, 4), solution.kernel
    (0.5847, 0.7263, Reweighted(Gaussian(sigma=1.0), 3 eigenvalues))
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Section 3.4.2, Definition 3.20")
    task = Task.OTHER

    def requires(self, s: Sample) -> None:
        """One kernel; it and the target must not vanish, and have to do with each other."""
        check_target(s.y)
        if len(s.grams) > 1:
            raise InputError(
                f"The sample has {len(s.grams)} kernels, and the eigenvalues of one are learnt.",
                f"Give one of them, as in sample.under(sample.kernels[{next(iter(s.grams))!r}]), or learn weights for "
                "all with Alignment.",
            )
        if not np.any(s.gram().diagonal):
            raise InputError(
                f"The kernel is 0 on all {s.n} points, so that no eigenvalue is positive.",
                "Choose a kernel that tells the points apart.",
            )
        largest = float(np.max(Spectrum.of(s).a))
        if largest <= ROUNDING:
            raise InputError(
                f"The largest alignment of an eigenvector with the target is {largest:.1g}: no combination has any.",
                "Choose a kernel that tells points of different targets apart.",
            )

    def primal(self, s: View) -> Program:
        """The inner product with the target, of a matrix of length 1."""
        a = Spectrum.of(s.sample).a
        mu = cp.Variable(len(a), name="mu")
        return Program(cp.Maximize(a @ mu), {"lambda": cp.sum_squares(mu) <= 1, "nu": mu >= 0})

    def dual(self, s: View) -> Program:
        """The length of the shortest vector above a."""
        a = Spectrum.of(s.sample).a
        nu = cp.Variable(len(a), name="nu")
        length = cp.norm(a + nu)
        return Program(cp.Minimize(length), domain=[nu >= 0], multipliers={"lambda": length / 2})

    def closed_form(self, s: View) -> dict[str, object]:
        """nu = 0: no vector above a is shorter than a."""
        return {"nu": np.zeros_like(Spectrum.of(s.sample).a)}

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """mu is the direction of s."""
        above = np.maximum(Spectrum.of(s.sample).a + dual.nu, 0.0)
        length = np.linalg.norm(above)
        return {"mu": above / length if length > 0 else above}

    def learnt_kernel(self, s: Sample, primal: Point) -> Kernel:
        """The kernel with the new eigenvalues."""
        spectrum, gram = Spectrum.of(s), s.gram()
        return Reweighted(gram.kernel, gram.X, spectrum.V, spectrum.values, np.maximum(primal.mu, 0.0))

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The closed form; the alignment is at least that of the kernel as it was."""
        spectrum = Spectrum.of(s.sample)
        a, old = spectrum.a, spectrum.values
        value, best = float(a @ primal.mu), float(np.linalg.norm(a))
        yield equal("the optimum is ||a||", value, best, scale=1.0)
        yield equal("||a|| mu = a", np.max(np.abs(best * primal.mu - a)), 0.0, scale=1.0)
        yield at_most("the alignment of the kernel itself <= the optimum", a @ old / np.linalg.norm(old), value, 1.0)

    @classmethod
    def instances(cls, rng: np.random.Generator) -> Iterator[tuple[Formulation, Sample]]:
        """Fewer eigenvalues than points, and labels."""
        for sample in several_kernels(rng, (11, 13, 17)):
            yield cls(), Sample(sample.X, sample.y, kernel=Polynomial(degree=2, R=round(rng.uniform(0.3, 2), 1)))


@dataclass(frozen=True)
class Spectrum:
    """Positive eigenvalues of a kernel matrix, the largest first, eigenvectors v_i, and a_i = (v_i'y)^2 / ||y||^2."""

    values: np.ndarray
    V: np.ndarray
    a: np.ndarray

    @classmethod
    def of(cls, s: Any) -> Spectrum:
        """The spectrum of the kernel of a sample."""
        factor = s.gram().factor
        squares = np.sum(factor**2, axis=0)
        order = np.argsort(squares)[::-1]
        order = order[squares[order] > SMALLEST * squares[order[0]]]
        values, V = squares[order], factor[:, order] / np.sqrt(squares[order])
        for group in np.split(np.arange(len(values)), np.flatnonzero(-np.diff(values) > SMALLEST * values[0]) + 1):
            V[:, group] = _with_first_towards(s.y, V[:, group])
        return cls(values, V, (V.T @ s.y) ** 2 / (s.y @ s.y))


def _with_first_towards(y: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Orthonormal vectors rotated until the first alone has an inner product with y."""
    seen = V.T @ y
    if V.shape[1] == 1 or not seen.any():
        return V
    rotation, _ = np.linalg.qr(np.column_stack([seen, np.eye(len(seen))]))
    return np.asarray(V @ rotation)
