"""New points that are known by their values under several precomputed kernels."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from kopt.errors import InputError
from kopt.kernels.points import Matrix


class CrossMatrices:
    """For each named kernel the matrix K(new, train): one row for each new point, the same points in all of them.

    It has a length and slices as other points have; a precomputed kernel takes the matrix that has its name.

    >>> points = CrossMatrices({"a": [[1.0, 0.5], [0.0, 0.2]], "b": [[2.0, 0.0], [1.0, 1.0]]})
    >>> len(points), points[1:].matrices["b"].tolist()
    (2, [[1.0, 1.0]])
    """

    # Its rows are no points of another kernel.
    __iter__ = None

    def __init__(self, matrices: Mapping[Any, Any]) -> None:
        self.matrices = {name: _matrix(name, values) for name, values in matrices.items()}
        rows = {name: len(matrix) for name, matrix in self.matrices.items()}
        if len(set(rows.values())) > 1:
            listed = ", ".join(f"{name!r} {count}" for name, count in rows.items())
            raise InputError(
                f"The cross matrices have different numbers of rows: {listed}.",
                "Give one matrix for each kernel, with one row for each new point in all of them.",
            )
        if not any(rows.values()):
            raise InputError(
                f"The mapping has {len(rows)} cross matrices, and no new point.",
                "Give at least one row for each kernel.",
            )

    def __len__(self) -> int:
        return len(next(iter(self.matrices.values())))

    def __getitem__(self, rows: Any) -> "CrossMatrices":
        return CrossMatrices({name: matrix[rows] for name, matrix in self.matrices.items()})

    def of(self, name: Any) -> Matrix:
        """The matrix of one kernel."""
        if name in self.matrices:
            return self.matrices[name]
        known = ", ".join(repr(each) for each in self.matrices)
        if name is None:
            raise InputError(
                f"There are cross matrices named {known}, but the precomputed kernel has no name.",
                "Name it, as in Precomputed(K, name='a') or Sample.from_gram({'a': K}), or give its matrix alone.",
            )
        raise InputError(
            f"There is no cross matrix for the kernel {name!r}, only for {known}.",
            f"Add K(new, train) of that kernel to the mapping, under the name {name!r}.",
        )


def _matrix(name: Any, values: Any) -> Matrix:
    try:
        matrix = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"The cross matrix {name!r} is not a matrix of real numbers.", "Give K(new, train) as a 2-D array."
        ) from None
    if matrix.ndim != 2:
        raise InputError(
            f"The cross matrix {name!r} is {matrix.ndim}-D with shape {matrix.shape}.",
            "Give K(new, train), with one row for each new and one column for each training point.",
        )
    return matrix
