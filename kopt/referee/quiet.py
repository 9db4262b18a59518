"""A solver run whose word is only looked at."""

from __future__ import annotations

import warnings
from typing import Any

import cvxpy as cp


def status_of(problem: cp.Problem, solver: str = cp.CLARABEL, **options: Any) -> str:
    """Solve a problem without warnings, and return the solver's status; "failed" where it gave up or refused it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem.solve(solver=solver, **options)
    except (cp.error.SolverError, cp.error.DCPError, ValueError):  # CVXPY refuses data by a ValueError
        return "failed"
    return str(problem.status)
