"""Whether a matrix can be a Gram matrix, with the numbers."""

from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import ArrayLike

from kopt.errors import InputError
from kopt.kernels.checks import ROUNDING, asymmetry, finite, square, symmetric
from kopt.kernels.points import Matrix


@dataclass(frozen=True)
class Diagnosis:
    """What the eigenvalues of the symmetric part of a matrix say; they are NaN when the matrix is not finite."""

    n: int
    finite: bool
    asymmetry: float
    smallest: float
    largest: float
    rank: int
    tolerance: float

    @property
    def positive_semidefinite(self) -> bool:
        """Whether no eigenvalue lies below -tolerance: negative by more than rounding explains."""
        return self.smallest >= -self.tolerance

    def __str__(self) -> str:
        """The diagnosis in a sentence."""
        if not self.finite:
            return f"K ({self.n} x {self.n}) has values that are not finite."
        verdict = "is" if self.positive_semidefinite else "is not"
        return (
            f"K ({self.n} x {self.n}) {verdict} positive semidefinite up to {self.tolerance:.1e}: eigenvalues from "
            f"{self.smallest:.4g} to {self.largest:.4g}, rank {self.rank}, asymmetry {self.asymmetry:.1e}."
        )


def diagnose(K: ArrayLike) -> Diagnosis:
    """Eigenvalues, rank and symmetry of a square matrix, whatever they are.

    The tolerance is 1e-10 times the largest |eigenvalue|; the rank counts the |eigenvalues| above
    n * eps times the largest.

    >>> print(diagnose([[0.0, 1.0], [1.0, 0.0]]))
    K (2 x 2) is not positive semidefinite up to 1.0e-10: eigenvalues from -1 to 1, rank 2, asymmetry 0.0e+00.
    """
    K = square(K)
    if not np.isfinite(K).all():
        return Diagnosis(len(K), finite=False, asymmetry=nan, smallest=nan, largest=nan, rank=0, tolerance=nan)
    values = np.linalg.eigvalsh((K + K.T) / 2)
    size = np.abs(values)
    return Diagnosis(
        n=len(K),
        finite=True,
        asymmetry=asymmetry(K)[0],
        smallest=float(values[0]),
        largest=float(values[-1]),
        rank=int((size > len(K) * np.finfo(np.float64).eps * size.max()).sum()),
        tolerance=float(ROUNDING * size.max()),
    )


def check_positive_semidefinite(K: ArrayLike, name: str = "K") -> Matrix:
    """K itself, when it is symmetric and positive semidefinite up to rounding.

    A Cholesky factor of K + shift I proves it; the eigenvalues are computed only when there is none. A refusal calls
    the matrix by its name.

    >>> check_positive_semidefinite([[1.0, 1.0], [1.0, 1.0]])
    array([[1., 1.],
           [1., 1.]])
    """
    K = symmetric(finite(square(K, name), name), name)
    if not _has_cholesky(K):
        diagnosis = diagnose(K)
        if not diagnosis.positive_semidefinite:
            raise InputError(
                f"{name} is not positive semidefinite: its smallest eigenvalue is {diagnosis.smallest:.4g}, "
                f"its largest {diagnosis.largest:.4g}.",
                'Choose another kernel, or change K with repair(K, how), where how is "clip", "shift" or "flip".',
            )
    return K


def _has_cholesky(K: Matrix) -> bool:
    shifted = K.copy()
    # Both are lower bounds of the largest |eigenvalue|, so the shift never exceeds the tolerance of the diagnosis.
    size = max(np.abs(K.diagonal()).max(), float(np.linalg.norm(K)) / np.sqrt(len(K)))
    np.fill_diagonal(shifted, K.diagonal() + ROUNDING * size)
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return True
