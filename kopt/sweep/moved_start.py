"""The start of a problem from the solution of its neighbour."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from kopt.errors import InputError
from kopt.formulation import dual_of
from kopt.polyhedra import feasible_polyhedron, split
from kopt.quadratic import QuadraticProgram
from kopt.solvers.problem import Problem
from kopt.views import ProductView

#: A variable so close to its bound, relative to it, is at the bound.
AT_BOUND = 1e-9

Box = tuple[np.ndarray, np.ndarray]
Boxes = Mapping[str, Box]


def moved_start(dual: Mapping[str, Any], before: Boxes | None, after: Boxes | None) -> dict[str, Any] | None:
    """The dual variables of a solution, moved to where another problem of the same kind probably has its own.

    before, after   the bounds of both problems, see `boxes_of`

    A variable between two bounds stays at the same share of the way from one to the other, and so at its bound:

        z_i <- l_new_i + (u_new_i - l_new_i) (z_i - l_old_i) / (u_old_i - l_old_i)

    One with a single bound stays with it if it is there, |z_i - l_old_i| <= 1e-9 |l_old_i|, and otherwise where it is,
    if that is inside the new bounds.

    Rows such as sum_i y_i alpha_i = 0 are left to the solver, which repairs any start. None where the variables are
    not the same; where the dual's feasible set is not a box with a few rows, the variables as they are.

    >>> import kopt
    >>> [SoftMargin] = [f for f in kopt.discover() if f.__name__ == "SoftMargin"]
    >>> sample = kopt.Sample([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1])
    >>> before, after = (boxes_of(Problem(SoftMargin(C=C), sample)) for C in (0.3, 0.5))
    >>> dual = kopt.solve(SoftMargin(C=0.3), sample, method="DENSE").dual
    >>> moved_start(dual, before, after)["alpha"].round(6).tolist()
    [0.203704, 0.5, 0.5, 0.203704]
    """
    if before is None or after is None:
        return dict(dual)
    start = {}
    for name, box in after.items():
        z = np.asarray(dual.get(name, np.nan))
        if name not in before or not z.shape == box[0].shape == before[name][0].shape or not np.isfinite(z).all():
            return None
        start[name] = _moved(z, before[name], box)
    return start


def boxes_of(problem: Problem) -> Boxes | None:
    """The bounds on the dual variables by name; None where there is no such thing."""
    if isinstance(problem.quadratic, QuadraticProgram):
        variables, box = problem.quadratic.variables, problem.quadratic.feasible.box
    else:
        view = ProductView(problem.sample)
        dual = dual_of(problem.formulation, view)
        if dual is None:
            return None
        variables = {name: variable for name, variable in dual.variables.items() if variable.id not in view.leaves}
        polyhedron = None
        with suppress(InputError):  # an empty box: the solvers say better what is wrong
            polyhedron = feasible_polyhedron(dual, variables)
        if polyhedron is None:
            return None
        box = polyhedron.box
    lower, upper = (split(bound, variables) for bound in box)
    return {name: (lower[name], upper[name]) for name in variables}


def _moved(z: np.ndarray, before: Box, after: Box) -> np.ndarray:
    moved = np.array(z, dtype=float)
    inside = np.isfinite([*before, *after]).all(axis=0) & (before[0] < z) & (z < before[1])
    (lower, upper), (new_lower, new_upper) = ([bound[inside] for bound in box] for box in (before, after))
    moved[inside] = new_lower + (new_upper - new_lower) * ((z[inside] - lower) / (upper - lower))
    for old, new in zip(before, after, strict=True):
        there = np.isfinite(old) & np.isfinite(new) & (np.abs(z - old) <= AT_BOUND * np.abs(old))
        moved[there] = new[there]
    return np.clip(moved, *after)
