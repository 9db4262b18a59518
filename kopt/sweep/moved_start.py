"""The start of a problem from the solution of its neighbour."""

from __future__ import annotations

from typing import Any

import numpy as np

from kopt.formulation import Formulation, dual_of
from kopt.polyhedra import feasible_polyhedron, split
from kopt.sample import Sample
from kopt.solution import Solution
from kopt.solvers.problem import Problem
from kopt.views import ProductView

#: A variable so close to its bound, relative to it, is at the bound.
AT_BOUND = 1e-9

Box = tuple[np.ndarray, np.ndarray]


def moved_start(previous: Solution, problem: Problem) -> dict[str, Any] | None:
    """The dual variables of a solution, moved to where another problem of the same kind probably has its own.

    A variable at a bound moves with it, the others stay where they are:

        z_i = u_new_i  where  |z_i - u_old_i| <= 1e-9 |u_old_i|,   and so for the lower bounds;   then into the new box

    Rows such as sum_i y_i alpha_i = 0 are left to the solver, which repairs any start. None where the variables are
    not the same; where the dual's feasible set is not a box with a few rows, the variables as they are.

    >>> import kopt
    >>> [SoftMargin] = [f for f in kopt.discover() if f.__name__ == "SoftMargin"]
    >>> sample = kopt.Sample([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1])
    >>> previous = kopt.solve(SoftMargin(C=0.3), sample, method="DENSE")
    >>> moved_start(previous, Problem(SoftMargin(C=0.5), sample))["alpha"].round(6).tolist()
    [0.122222, 0.5, 0.5, 0.122222]
    """
    before, after = _boxes(previous.formulation, previous.sample), _boxes(problem.formulation, problem.sample)
    if before is None or after is None:
        return dict(previous.dual)
    start = {}
    for name, box in after.items():
        z = np.asarray(previous.dual.get(name, np.nan))
        if name not in before or not z.shape == box[0].shape == before[name][0].shape or not np.isfinite(z).all():
            return None
        start[name] = _moved(z, before[name], box)
    return start


def _boxes(formulation: Formulation, sample: Sample) -> dict[str, Box] | None:
    """The bounds on the dual variables by name; None where there is no such thing."""
    view = ProductView(sample)
    dual = dual_of(formulation, view)
    if dual is None:
        return None
    variables = {name: variable for name, variable in dual.variables.items() if variable.id not in view.leaves}
    polyhedron = feasible_polyhedron(dual, variables)
    if polyhedron is None:
        return None
    lower, upper = (split(bound, variables) for bound in polyhedron.box)
    return {name: (lower[name], upper[name]) for name in variables}


def _moved(z: np.ndarray, before: Box, after: Box) -> np.ndarray:
    moved = z
    for old, new in zip(before, after, strict=True):
        there = np.isfinite(old) & np.isfinite(new) & (np.abs(z - old) <= AT_BOUND * np.abs(old))
        moved = np.where(there, new, moved)
    return np.clip(moved, *after)
