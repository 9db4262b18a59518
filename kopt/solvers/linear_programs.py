"""Linear programs over the feasible set of a dual: where to begin, and the best multipliers of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linprog

from kopt.projection import Polyhedron

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def sparse_point(feasible: Polyhedron) -> Vector:
    """A point with the least sum of absolute values, found as a vertex: almost all of its variables are at bounds.

    >>> sorted(sparse_point(Polyhedron(np.zeros(4), np.full(4, 0.5), np.ones((1, 4)), [1.0])).round(9).tolist())
    [0.0, 0.0, 0.5, 0.5]
    """
    lower, upper = feasible.box
    parts = sp.hstack([sp.eye_array(len(lower)), -sp.eye_array(len(lower))], format="csr")
    A, G = (None if rows is None else rows @ parts for rows in (feasible.A, feasible.G))
    least, most = np.concatenate([lower, -upper]), np.concatenate([upper, -lower])
    bounds = np.maximum(np.column_stack([least, most]), 0.0)
    found = _linear_program(np.ones(len(bounds)), A, feasible.b, G, feasible.h, bounds)
    return np.zeros(len(lower)) if found.x is None else np.subtract(*np.split(found.x, 2))


def best_multipliers(gradient: Vector, z: Vector, box: tuple[Vector, Vector], feasible: Polyhedron) -> Vector:
    """The multipliers of the rows with the smallest gap: those of the least gradient' d over the changes d of z.

    A bound that is infinite is taken to be as far away as the largest variable.
    """
    unit, far = float(np.max(np.abs(gradient))) or 1.0, float(np.max(np.abs(z))) or 1.0
    room = np.column_stack([np.where(np.isfinite(bound), bound - z, np.sign(bound) * far) for bound in box])
    _, right, equality = feasible.rows
    slack = None if feasible.G is None else np.maximum(0.0, right[~equality] - feasible.G @ z)
    found = _linear_program(gradient / unit, feasible.A, np.zeros(np.sum(equality)), feasible.G, slack, room)
    if found.x is None:
        return np.zeros(len(right))
    return -unit * np.concatenate([found.eqlin.marginals, found.ineqlin.marginals])


def _linear_program(cost: Vector, A: Any, b: Any, G: Any, h: Any, bounds: Matrix) -> Any:
    b, h = (None if rows is None else side for rows, side in ((A, b), (G, h)))
    # With thousands of variables in a few rows all of presolve is in vain, and takes longer than the simplex method.
    return linprog(cost, A_ub=G, b_ub=h, A_eq=A, b_eq=b, bounds=bounds, options={"presolve": False})
