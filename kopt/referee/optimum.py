"""Both sides solved on one instance: strong duality, the recovered primal point, the solver's own multipliers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np

from kopt.combination import Combination
from kopt.errors import KoptError
from kopt.formulation import Formulation, dual_of, primal_of
from kopt.program import Program
from kopt.referee.finding import Finding, Sentences
from kopt.referee.pointwise import Comparison
from kopt.referee.quiet import status_of
from kopt.referee.trial import Trial
from kopt.referee.verdict import Kind
from kopt.solvers import solve
from kopt.verify.certificate import TOLERANCE, certify
from kopt.verify.conditions import Conditions
from kopt.verify.recovery import by_rule
from kopt.views import ExplicitView, ProductView

# Tighter than this CLARABEL calls good answers inaccurate.
OPTIONS: dict[str, Any] = {"tol_gap_abs": 1e-15, "tol_gap_rel": 1e-9, "tol_feas": 1e-9, "max_iter": 400}
NOT_CONVEX = "not convex"
# Solvers stop at gaps of about 1e-8, and recovery rules take roots of them.
ATTAINED = 1e-4
# Dual points that solvers call optimal are off by this part of their entries.
INEXACT = 1e-5
# Optima that differ by this do not differ by a solver's error.
FAR_OFF = 1e-3
# What an optimum counts for at least, relative to the terms at other points.
CANCELLED = 1e-2


@dataclass(frozen=True)
class Side:
    """One side as a solver left it: its status, its value in the user's sense, its program."""

    status: str
    value: float
    program: Program

    @property
    def solved(self) -> bool:
        """Whether the solver claims an optimum."""
        return self.status == cp.OPTIMAL

    @property
    def proved(self) -> bool:
        """Whether the solver claims that there is no optimum."""
        return self.status in (cp.INFEASIBLE, cp.UNBOUNDED)


@dataclass(frozen=True)
class Optimum:
    """The two sides of a trial, solved.

    z           the dual point, where there is one
    elsewhere   the size of the terms at other points, which counts where they cancel at the optimum
    """

    trial: Trial
    primal: Side
    dual: Side
    z: np.ndarray | None
    elsewhere: float = 0.0

    @property
    def scale(self) -> float:
        """What two optima are compared with: the claimed terms at the optimum and the primal's value."""
        own = abs(self.primal.value) if self.primal.solved else 0.0
        if self.z is not None:
            terms = np.abs(self.trial.claimed.values(self.z))
            own += float(np.sum(terms)) if np.isfinite(terms).all() else abs(self.dual.value)
        return max(own, CANCELLED * self.elsewhere)

    def beside(self, comparison: Comparison) -> Optimum:
        """The same with the size of the terms at the points of a comparison."""
        known = comparison.size[comparison.known]
        return replace(self, elsewhere=float(np.median(known)) if len(known) else 0.0)

    @property
    def compared(self) -> bool:
        """Whether both sides have an optimum, or one has and the other provably has none."""
        return (self.primal.solved and (self.dual.solved or self.dual.proved)) or (
            self.dual.solved and self.primal.proved
        )

    @property
    def not_convex(self) -> bool:
        """Whether a side cannot be handed to a solver as written."""
        return NOT_CONVEX in (self.primal.status, self.dual.status)

    @property
    def attained(self) -> bool:
        """Whether both sides have the same optimum."""
        same = abs(self.primal.value - self.dual.value) <= ATTAINED * self.scale
        return self.primal.solved and self.dual.solved and bool(same)


def solve_both(trial: Trial) -> Optimum:
    """Solve the two declared programs as they stand, by CVXPY."""
    formulation, sample = trial.instance.formulation, trial.sample
    primal = _solved(primal_of(formulation, ExplicitView(sample)))
    dual_program = dual_of(formulation, ExplicitView(sample))
    assert dual_program is not None
    dual = _solved(dual_program)
    if not dual.solved:
        return Optimum(trial, primal, dual, None)
    values = dual.program.variables
    parts = [values[n].value if n in values else np.zeros(v.shape) for n, v in trial.claimed.variables.items()]
    return Optimum(trial, primal, dual, np.concatenate([np.ravel(part, order="F") for part in parts]))


def _solved(program: Program) -> Side:
    problem = program.problem()
    if not problem.is_dcp():
        return Side(NOT_CONVEX, np.nan, program)
    status = status_of(problem, **OPTIONS)
    value = float(problem.value) if problem.value is not None else np.nan
    return Side(status, value, program)


def is_confirmed(optimum: Optimum) -> bool:
    """Whether the two optima differ by far more than solvers err, and another solver says so too."""
    if not (optimum.primal.solved and optimum.dual.solved):
        return True  # one side is proved to have none
    if abs(optimum.primal.value - optimum.dual.value) <= FAR_OFF * optimum.scale:
        return False
    for side in (optimum.primal, optimum.dual):
        values = [_value_by(solver, side.program) for solver in (cp.ECOS, cp.SCS)]
        if not any(abs(value - side.value) <= FAR_OFF / 3 * optimum.scale for value in values):
            return False
    return True


def _value_by(solver: str, program: Program) -> float:
    problem = program.problem()
    return float(problem.value) if status_of(problem, solver) == cp.OPTIMAL else np.nan


def lost(optimum: Optimum) -> Finding:
    """The claimed dual has another optimum than the primal."""
    trial, primal, dual = optimum.trial, optimum.primal, optimum.dual
    shown = f"{dual.value:.6g}" if dual.solved else dual.status

    def say(_: str) -> Sentences:
        return (
            f"The optimum of the dual is {shown}, that of the primal is {primal.value:.6g}.",
            "The claimed dual is not the dual function on its whole domain, and the optimum shows it.",
            "Mend the other faults first; where there is none, a constraint or a map to the multipliers is too narrow.",
        )

    point = optimum.z
    return Finding(Kind.DUALITY_GAP, "objective", trial, say, None, point, dual.value, primal.value)


def wrong_recovery(optimum: Optimum) -> Iterator[Finding]:
    """Recovered primal variables that belong to no optimal point, where the recovered point is not optimal itself."""
    trial = optimum.trial
    formulation = trial.instance.formulation
    if type(formulation).recover is Formulation.recover or optimum.z is None or not optimum.attained:
        return
    recovered = _recovered(trial, optimum.z)
    if recovered is None or _is_optimal(optimum, recovered):
        return
    z = _certified(trial, optimum.z)
    if z is None:
        return  # a rule cannot be blamed for what an inexact dual point does to it
    point = _recovered(trial, z)
    if point is None or _is_optimal(optimum, point):
        return
    best = {name: _best_with(optimum, name, value) for name, value in point.items()}
    allowed, sign = ATTAINED * optimum.scale, trial.claimed.sign
    worse = {n: np.inf if value is None else sign * (value - optimum.primal.value) for n, value in best.items()}
    if min(worse.values(), default=0.0) < -allowed:
        return  # what was taken for the optimum is none
    losing = {name: best[name] for name, loss in worse.items() if loss > allowed}
    guilty = {name: value for name, value in losing.items() if not _depends_on_the_error(optimum, name, z, value)}
    if losing and not guilty:
        return
    for name, value in (guilty or {", ".join(point) or "nothing": None}).items():
        yield _recovery(optimum, z, name, value)


def _recovered(trial: Trial, z: np.ndarray) -> dict[str, Any] | None:
    """The primal point of the formulation's own rule; None where it has none, nothing where it refuses the numbers."""
    conditions = Conditions(trial.instance.formulation, trial.sample)
    dual = trial.claimed.by_name(z)
    conditions.bind_dual(dual, {})
    return by_rule(trial.instance.formulation, conditions, dual)


def _certified(trial: Trial, z: np.ndarray) -> np.ndarray | None:
    """A dual point that is optimal by a certificate in which the rule plays no part: z, or what other solvers find."""
    cls = type(trial.instance.formulation)
    without_rule = type(cls.__name__, (cls,), {"recover": Formulation.recover})(**trial.instance.parameters)
    if certify(without_rule, trial.sample, trial.claimed.by_name(z)).holds(TOLERANCE):
        return z
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the certificate is looked at
            solution = solve(without_rule, trial.sample, side="dual")
    except KoptError:
        return None
    if not solution.certificate.holds(TOLERANCE):
        return None
    return np.concatenate([np.ravel(solution.dual[name], order="F") for name in trial.claimed.variables])


def _depends_on_the_error(optimum: Optimum, name: str, z: np.ndarray, best: float | None) -> bool:
    """Whether the loss of a recovered variable changes noticeably when the dual point moves by a solver's error.

    Then the rule is not to blame. A rule that is well-conditioned is judged as ever: its loss changes by no more than
    that error.
    """
    inexact = z * (1 + INEXACT * (-1.0) ** np.arange(len(z)))
    beside = (_recovered(optimum.trial, inexact) or {}).get(name)
    value = None if beside is None else _best_with(optimum, name, beside)
    if best is None or value is None:
        return (value is None) != (best is None)
    return abs(value - best) > INEXACT / ATTAINED * abs(best - optimum.primal.value)


def _is_optimal(optimum: Optimum, point: Mapping[str, Any]) -> bool:
    if not point:
        return False
    view = ProductView(optimum.trial.sample)
    program = primal_of(optimum.trial.instance.formulation, view)
    view.bind(program.variables, point)
    value = float(program.objective.value)
    feasible = all(_satisfied(cone) for cone in program.cones.values())
    return feasible and abs(value - optimum.primal.value) <= ATTAINED * optimum.scale


def _satisfied(cone: Any) -> bool:
    residual = np.asarray(cone.residual.value, dtype=float)
    parts = [np.abs(np.asarray(arg.value, dtype=float)).max(initial=0.0) for arg in cone.residual.args] or [1.0]
    return bool(cone.violation(residual) <= ATTAINED * max(parts))


def _best_with(optimum: Optimum, name: str, value: Any) -> float | None:
    """The optimum of the primal with one variable held at its recovered value; None where there is none."""
    view = ExplicitView(optimum.trial.sample)
    program = primal_of(optimum.trial.instance.formulation, view)
    if isinstance(value, Combination):
        value = value.gram.factor.T @ value.coefficients if value.gram.factor.shape[1] else np.zeros(1)
    variable = program.variables[name]
    number = np.asarray(value, dtype=float)
    if not np.isfinite(number).all():
        return None
    held = variable == np.reshape(number, variable.shape)
    problem = cp.Problem(program.objective, [*program.constraints.values(), held])
    status = status_of(problem, **OPTIONS)
    return float(problem.value) if status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE) else None


def _recovery(optimum: Optimum, z: np.ndarray, name: str, best: float | None) -> Finding:
    reached = "no feasible point has it" if best is None else f"the best point that has it has the value {best:.6g}"

    def say(_: str) -> Sentences:
        return (
            f"The recovered {name} belongs to no optimal point.",
            f"At the optimal dual point shown, recover gives a {name} with which {reached}, "
            f"while the optimum is {optimum.primal.value:.6g}.",
            f"Correct the rule for {name} in recover.",
        )

    value = np.nan if best is None else best
    return Finding(Kind.WRONG_RECOVERY, name, optimum.trial, say, None, z, value, optimum.primal.value)


def multipliers_agree(optimum: Optimum) -> bool | None:
    """Whether the multipliers that the solver of the primal returns are feasible and optimal in the claimed dual.

    Where they are unique they are then the dual's own optimum. None where the dual has other variables.
    """
    trial = optimum.trial
    L, claimed = trial.lagrangian, trial.claimed
    if not optimum.attained or not all(n in L.cones and not claimed.eliminated(n) for n in claimed.variables):
        return None
    program = optimum.primal.program
    parts = [program.cones[n].from_cvxpy(program.constraints[n].dual_value) for n in claimed.variables]
    z = np.concatenate([np.ravel(part, order="F") for part in parts])
    size = max(float(np.max(np.abs(z))), float(np.min(trial.unit)))
    feasible = all(np.all(c.violation(z, like=size) <= ATTAINED) for c in claimed.conditions)
    value = trial.claimed.sign * float(np.sum(claimed.values(z)))
    return feasible and abs(value - optimum.primal.value) <= ATTAINED * optimum.scale
