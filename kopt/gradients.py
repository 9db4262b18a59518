"""Values and gradients of CVXPY expressions, and the parts of affine ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp


def gradients_of(expression: cp.Expression) -> dict[cp.Variable, Any]:
    """CVXPY's gradient by variable; None where it has none, at this point or for this atom."""
    try:
        with np.errstate(all="ignore"):
            return dict(expression.grad)
    except (NotImplementedError, TypeError, ValueError):  # atoms without a gradient, or outside their domain
        return dict.fromkeys(expression.variables())


def affine_parts(expression: cp.Expression) -> tuple[dict[int, sp.csr_array], np.ndarray]:
    """The Jacobian of an affine expression by variable id (entries x variable size), and its value at 0."""
    with restored(expression.variables()):
        for variable in expression.variables():
            variable.save_value(np.zeros(variable.shape))
        offset = np.asarray(expression.value, dtype=float).ravel(order="F")
        jacobian = {
            v.id: sp.csr_array(np.atleast_2d(g) if np.isscalar(g) else g).T.tocsr() for v, g in expression.grad.items()
        }
    return jacobian, offset


@contextmanager
def restored(variables: Iterable[cp.Variable]) -> Iterator[None]:
    """Give the variables back the values that they had."""
    saved = [(v, v.value) for v in variables]
    try:
        yield
    finally:
        for variable, value in saved:
            variable.save_value(value)
