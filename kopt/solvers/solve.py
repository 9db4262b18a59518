"""Solve one side of a formulation, and certify what came back."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kopt.claim import Claim
from kopt.errors import InputError, NoDual, SolverError
from kopt.formulation import Formulation, check_arguments, dual_of
from kopt.locations import BriefTraceback
from kopt.sample import Sample
from kopt.solution import Attempt, Solution
from kopt.solvers.choice import candidates
from kopt.solvers.infeasibility import prove_infeasible
from kopt.solvers.problem import Problem
from kopt.solvers.solver import INTERRUPTED, RawAnswer, Solver
from kopt.verify.certificate import TOLERANCE, Certificate, certify
from kopt.views import ProductView
from kopt.views.products import fitting
from kopt.watch import Progress, Watch


class CertificateWarning(UserWarning):
    """An answer was returned whose certificate does not hold."""


def solve(
    formulation: Formulation,
    sample: Sample,
    side: str | None = None,
    method: str = "auto",
    *,
    tolerance: float = TOLERANCE,
    start: Solution | Mapping[str, Any] | None = None,
    callback: Callable[[Progress], object] | None = None,
    progress: bool | None = None,
) -> Solution:
    """The solution of a formulation on a sample, with its certificate.

    side     "dual" or "primal"; where none is named, the dual if there is one, and the primal if that fails
    method   "auto" starts with CLARABEL for few points, with DENSE, a dense quadratic programming solver, for some
             hundreds, and with DECOMPOSITION for more (LINEAR_SYSTEM and BLOCKS where these fit better), and goes on
             to others while the certificate does not hold; solution.attempts says why. A name (these, LOW_RANK, or any
             solver that CVXPY has installed) means that method alone

    tolerance   the relative gap at which fast methods stop, and to which the certificate has to hold
    start       a solution, or dual variables by name, to begin at, for methods that can use one
    callback    called with a Progress after each iteration of a method that reports them; solution.history keeps them
    progress    whether one line on stderr shows how far it is: None on a terminal or in a notebook once a second has
                passed, True always, False never

    Ctrl-C ends the work; the solution is then the best answer so far, of the methods before or of one that reports
    its progress.

    >>> import kopt
    >>> from kopt.examples import example
    >>> [SoftMargin] = [f for f in kopt.discover() if f.__name__ == "SoftMargin"]
    >>> solve(SoftMargin(C=1.0), example(SoftMargin.task)).certificate.holds(1e-6)
    True
    """
    with BriefTraceback(), Watch(callback, progress) as watch:
        check_arguments(formulation, sample)
        problem = Problem(formulation, sample, "dual", tolerance, None, watch)
        problem = problem if start is None else problem.beginning_at(_start_values(start, problem))
        solution = best_answer(problem, side, method)
    if not solution.certificate.holds(tolerance):
        subject = f"The best answer found, of {solution.method},"
        warnings.warn(doubt(solution.certificate, subject, tolerance), CertificateWarning, stacklevel=2)
    return solution


def best_answer(problem: Problem, side: str | None, method: str) -> Solution:
    """As `solve`, for a sample that has been checked already, and without a warning.

    It is the first answer whose certificate holds, or else the one with the smallest residuals.

    >>> import kopt
    >>> from kopt.examples import example
    >>> [SoftMargin] = [f for f in kopt.discover() if f.__name__ == "SoftMargin"]
    >>> best_answer(Problem(SoftMargin(), example(SoftMargin.task)), None, "DENSE").certificate.holds(1e-6)
    True
    """
    formulation, sample = problem.formulation, problem.sample
    attempts: list[Attempt] = []
    best: tuple[Certificate, Attempt, tuple[Claim, ...]] | None = None
    try:
        for tried, solver, reason in _tries(problem, side, method):
            try:
                answer, seconds = _timed(solver, tried)
            except InputError as refusal:
                if best is None:
                    raise
                attempts.append(Attempt(solver.name, tried.side, f"refused: {refusal.what}", 0.0, np.inf, reason))
                continue
            certificate, interrupted = _judged(formulation, sample, answer)
            worst = np.inf if certificate is None else certificate.worst
            attempts.append(Attempt(solver.name, tried.side, answer.status, seconds, worst, reason))
            if certificate is not None and (best is None or worst < best[1].worst):
                best = certificate, attempts[-1], answer.claims
            if certificate is not None and (interrupted or certificate.holds(problem.tolerance)):
                break
            if len(attempts) == 1:
                prove_infeasible(problem)
    except KeyboardInterrupt:  # of a later method: what there is already is not thrown away
        if best is None:
            raise
    if best is None:
        raise SolverError(
            f"No solver returned an answer for {formulation!r} ({_words(attempts)}).",
            "Check the scale of the data and the parameters, whether the problem has a solution at all, or name "
            "another method.",
        )
    certificate, attempt, claims = best
    history = tuple(problem.watch.history)
    return Solution(formulation, sample, attempt.side, attempt.method, tuple(attempts), certificate, claims, history)


def _tries(problem: Problem, side: str | None, method: str) -> Iterator[tuple[Problem, Solver, str]]:
    """Sides and solvers in the order in which they are tried, and why."""
    formulation, sample = problem.formulation, problem.sample
    if side not in (None, "primal", "dual"):
        raise InputError(f"The side is {side!r}.", 'Choose "primal" or "dual".')
    declared = dual_of(formulation, ProductView(sample)) is not None
    if side == "dual" and not declared:
        raise NoDual(type(formulation).__name__, 'Choose side="primal", or declare it.')
    primal = replace(problem, side="primal")
    first = problem if declared and side != "primal" else primal
    yield from ((first, *choice) for choice in candidates(first, method))
    if side is None and method == "auto" and first is problem:
        yield from ((primal, *choice) for choice in candidates(primal, method))


def _timed(solver: Solver, problem: Problem) -> tuple[RawAnswer, float]:
    problem.watch.begin(solver.name)
    start = time.perf_counter()
    answer = solver.solve(problem)
    return answer, time.perf_counter() - start


def _judged(formulation: Formulation, sample: Sample, answer: RawAnswer) -> tuple[Certificate | None, bool]:
    """The certificate, and whether there was an interrupt: before the certificate that ends the method only."""
    if not answer.values or not all(np.isfinite(value).all() for value in answer.values.values()):
        return None, False
    try:
        return certify(formulation, sample, answer.values), answer.status == INTERRUPTED
    except KeyboardInterrupt:
        return certify(formulation, sample, answer.values), True


def _start_values(start: Solution | Mapping[str, Any], problem: Problem) -> dict[str, Any] | None:
    """The values of the dual variables to begin at; None for duals that no method begins at."""
    program = problem.quadratic
    if isinstance(program, str):
        return None
    if not isinstance(start, Solution | Mapping):
        raise InputError(
            f"The start is of type {type(start).__name__}.", 'Give a solution, or values by name: {"alpha": ...}.'
        )
    known = ", ".join(program.variables)
    given = start.dual if isinstance(start, Solution) else start
    wrong = [] if isinstance(start, Solution) else [name for name in given if name not in program.variables]
    missing = [name for name in program.variables if name not in given]
    if wrong or missing:
        what = f"names {wrong[0]!r}, which is no variable of the dual" if wrong else f"has no value for {missing[0]}"
        raise InputError(f"The start {what}.", f"Give values for {known}.")
    values = {name: fitting(name, given[name], variable.shape) for name, variable in program.variables.items()}
    for name, value in values.items():
        if not np.isfinite(value).all():
            raise InputError(
                f"The start has {np.sum(~np.isfinite(value))} values of {name} that are not finite.",
                "Start from a solution on the same sample, or give finite dual variables by name.",
            )
    return values


def _words(attempts: list[Attempt]) -> str:
    return ", ".join(f"{attempt.method} said {attempt.status}" for attempt in attempts)


def doubt(certificate: Certificate, subject: str, tolerance: float = TOLERANCE) -> str:
    """What a certificate that does not hold says about an answer, in two sentences."""
    failures = certificate.as_given.failures(tolerance)
    bounds = certificate.bounds
    if not bounds.consistent:
        return (
            f"The lower bound exceeds the upper one by {-bounds.relative_gap:.1e} relative. The dual or the recovery "
            "of this formulation is wrong."
        )
    if not failures:
        return (
            f"{subject} satisfies every condition, but the optimum is only known to lie in "
            f"[{bounds.lower:.9g}, {bounds.upper:.9g}]. Scale the data, or take the bounds for what they say."
        )
    block, name, residual = failures[0]
    return (
        f"{subject} has a certificate that does not hold: {block}, {name} is "
        f"{residual.relative:.1e} relative. Try another method or a larger tolerance, or rescale the problem; "
        "solution.certificate.bounds say what is known about the optimum."
    )
