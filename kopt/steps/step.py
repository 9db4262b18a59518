"""Single lines of a dual derivation, checked at random points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints.constraint import Constraint

from kopt.errors import DeclarationError, InputError
from kopt.gradients import restored
from kopt.show import html
from kopt.show.text import Branch, tree
from kopt.steps.allowed import stacked
from kopt.steps.derivation import TOLERANCE, Derivation, value_of
from kopt.steps.mending import SAME, Table, constants
from kopt.steps.notation import affine, factor, shown, text

# Points at which each line is tried; a fit uses as many again for each term.
POINTS = 6
# Up to this size of a variable its stationary point is worked out, when the claimed one is wrong.
MOST_ENTRIES = 40


@dataclass(frozen=True)
class Line:
    """One line of a derivation.

    claimed       what it says
    holds         whether that is true
    what          what is wrong, with the number; empty where it holds, as are the next two
    why           how that follows from L
    fix           what to write instead
    discrepancy   the largest one found, relative to the terms or derivatives that should cancel
    """

    claimed: str
    holds: bool
    what: str = ""
    why: str = ""
    fix: str = ""
    discrepancy: float = 0.0


@dataclass(frozen=True, repr=False)
class Step:
    """The lines of one step of a derivation; it is true in a condition if all of them hold."""

    lines: tuple[Line, ...]

    @property
    def holds(self) -> bool:
        """Whether every line holds."""
        return all(line.holds for line in self.lines)

    @property
    def failures(self) -> tuple[Line, ...]:
        """The lines that do not hold."""
        return tuple(line for line in self.lines if not line.holds)

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return tree(self._headline, [(f"{_mark(line)} {line.claimed}", _remarks(line)) for line in self.lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = [(_mark(line), html.code(line.claimed), _remarks_html(line)) for line in self.lines]
        tone = html.Tone.GOOD if self.holds else html.Tone.BAD
        return str(html.block(html.badge(self._headline, tone), html.table(rows)))

    @property
    def _headline(self) -> str:
        worst = max(line.discrepancy for line in self.lines)
        if self.holds:
            return f"step holds (largest relative discrepancy {worst:.1e})"
        return f"step DOES NOT HOLD: {len(self.failures)} of {len(self.lines)} lines fail"


def check_step(
    L: cp.Expression,
    *,
    stationarity: Mapping[cp.Variable, Any] | None = None,
    conditions: Sequence[Constraint] = (),
    gives: Any = None,
    over: Sequence[cp.Variable] | None = None,
    seed: int = 0,
) -> Step:
    r"""Check lines of a derivation: from the Lagrangian L to what is left when its primal variables are gone.

    stationarity   "dL/dw = 0 gives w = ...": claimed expressions by variable. Several are substituted together.
    conditions     "dL/db = 0 demands ...": affine equalities in the multipliers. L has to be affine in the variables
                   that no claim mentions, with a slope that vanishes under the conditions, and each condition has to
                   be demanded by one of them. Inequalities are not judged: they say where points are drawn.
    gives          "then L = ...": the claimed value of L after the substitution, under the conditions.
    over           the variables over which L is minimised. Where it is not given, they are those claimed, and those
                   that no claim, condition or `gives` mentions, apart from multipliers that have not come up yet.
    seed           of the random points

    Nothing is done symbolically: each line is tried at random points of all variables, off any optimum; data of a dozen
    points are enough, and quick. The values of the variables are left as they were. Those that are tried are
    positive unless the conditions leave no room for that; write `conditions=[..., beta <= 0]` to try other signs.
    Name arrays to see their names in the report: `X = cp.Constant(X, name="X")`.

    Ridge regression, with L = lambda <w, w> + <xi, xi> + sum_i alpha_i (y_i - <w, x_i> - xi_i) and a factor forgotten:

    >>> X, y = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 1.0]]), np.array([1.0, 2.0, -1.0])
    >>> w, xi, alpha = cp.Variable(2, name="w"), cp.Variable(3, name="xi"), cp.Variable(3, name="alpha")
    >>> L = 3.0 * cp.sum_squares(w) + cp.sum_squares(xi) + alpha @ (y - X @ w - xi)
    >>> print(check_step(L, stationarity={w: X.T @ alpha / 3.0, xi: alpha / 2}).failures[0].fix)
    Multiply the claimed w by 1/2.
    >>> step = check_step(
    ...     L,
    ...     stationarity={w: X.T @ alpha / 6.0, xi: alpha / 2},
    ...     gives=y @ alpha - cp.sum_squares(X.T @ alpha) / 12.0 - cp.sum_squares(alpha) / 4,
    ... )
    >>> step.holds
    True
    """
    if stationarity is not None and not isinstance(stationarity, Mapping):
        raise DeclarationError(
            f"stationarity= is of type {type(stationarity).__name__}.",
            "Give the claimed expressions by variable: stationarity={w: X.T @ alpha}.",
        )
    if isinstance(conditions, Constraint):
        raise DeclarationError("conditions= is a single constraint.", "Give a list: conditions=[y @ alpha == 0].")
    if isinstance(over, cp.Variable):
        raise DeclarationError("over= is a single variable.", f"Give a list: over=[{over.name()}].")
    conditions = list(conditions)
    if not stationarity and not conditions and gives is None:
        raise InputError(
            "Nothing is claimed about L.", "Give at least one of stationarity={...}, conditions=[...] and gives=..."
        )
    derivation = Derivation(L, stationarity or {}, conditions, gives, over, seed)
    with restored(derivation.variables):
        return Step(tuple(_lines(derivation, slopes=bool(conditions or over or gives is not None))))


def _lines(d: Derivation, slopes: bool) -> Iterator[Line]:
    claims = [_claim_line(d, variable, claimed) for variable, claimed in d.claims]
    yield from claims
    yield from (_slope_line(d, v) for v in d.bound if slopes)
    if d.conditions:
        holding = [v for (v, _), line in zip(d.claims, claims, strict=True) if line.holds]
        yield from _condition_lines(d, holding)
    if d.gives is not None:
        yield from map(_unsolved_line, d.curved)
        yield _gives_line(d, d.gives, [line for line in claims if not line.holds])


def _claim_line(d: Derivation, variable: cp.Variable, claimed: cp.Expression) -> Line:
    name = variable.name()
    said = f"dL/d{name} = 0 at {name} = {text(claimed)}"
    worst, slope = d.largest_slope(variable, POINTS)
    if worst <= TOLERANCE:
        return Line(said, True, discrepancy=worst)
    entry = int(np.argmax(np.abs(slope)))
    what = f"At the claimed {name} the derivative of L in {_entry(variable, entry)} is {slope[entry]:.4g}."
    return Line(said, False, what, *_mended_claim(d, variable, claimed), discrepancy=worst)


def _mended_claim(d: Derivation, variable: cp.Variable, claimed: cp.Expression) -> tuple[str, str]:
    """Why a claim does not hold, and what to write."""
    name = variable.name()
    if d.is_affine_in(variable):
        return (
            f"L is affine in {name}, with slope {_slope(d, variable, 0)}: no value of {name} makes that 0.",
            f"If another variable demands {name} = ..., say so in conditions=[{name} == ...].",
        )
    if not _is_quadratic(d, variable):
        return f"L is not quadratic in {name}; only the derivative was tested.", f"Solve dL/d{name} = 0 again."
    times = _common_factor(d, variable, claimed)
    if times is not None:
        return f"The stationary point is {times} times the claimed one.", f"Multiply the claimed {name} by {times}."
    if variable.size > MOST_ENTRIES:
        return f"The stationary point is no multiple of the claimed {name}.", f"Solve dL/d{name} = 0 again."
    pairs = []
    for _ in range(2):
        d.draw()
        pairs.append((np.array(variable.value), _stationary(d, variable)))
    entries = [np.divide(true, x, out=np.full(x.shape, np.nan), where=x != 0) for x, true in pairs]
    if np.allclose(entries[0], entries[1], rtol=TOLERANCE**0.5, atol=TOLERANCE):
        return (
            "The stationary point is the claimed one with each entry multiplied by a factor of its own.",
            f"Multiply the claimed {name}, entry by entry, by {shown(entries[0], most=8)}.",
        )
    x, true = pairs[-1]
    return (
        f"At {d.point()} the claimed {name} is {shown(x)}, and L is stationary at {shown(true)}.",
        f"Solve dL/d{name} = 0 again: no common factor mends the claim.",
    )


def _is_quadratic(d: Derivation, variable: cp.Variable) -> bool:
    """Whether the gradient is affine along the claimed value."""
    d.draw()
    zero, once, twice = (_gradient_at(d, variable, k * variable.value) for k in range(3))
    size = np.max(np.abs([zero, once, twice]))
    return bool(np.max(np.abs(zero - 2 * once + twice)) <= TOLERANCE * size)


def _gradient_at(d: Derivation, variable: cp.Variable, value: np.ndarray) -> np.ndarray:
    with restored([variable]):
        variable.save_value(value)
        return d.gradient(variable)


def _common_factor(d: Derivation, variable: cp.Variable, claimed: cp.Expression) -> str | None:
    """The factor t with gradient(t * claimed) = 0, from gradient(0) + t * (gradient(claimed) - gradient(0)) = 0."""
    scalars = [v for v in d.rest if v.size == 1]
    factors, values = [], []
    for _ in range(POINTS):
        d.draw()
        zero = _gradient_at(d, variable, 0 * variable.value)
        change = d.gradient(variable) - zero
        factors.append(-float(change @ zero) / float(change @ change) if change.any() else np.nan)
        if not np.max(np.abs(zero + factors[-1] * change)) <= TOLERANCE * np.max(np.abs(change)):
            return None
        values.append([float(v.value) for v in scalars])
    by_name = {v.name(): [row[i] for row in values] for i, v in enumerate(scalars)}
    return factor(factors, by_name, constants([d.L, claimed]))


def _stationary(d: Derivation, variable: cp.Variable) -> np.ndarray:
    """The stationary point of a quadratic function, by its Hessian."""
    zero = _gradient_at(d, variable, 0 * variable.value)
    units = (unit.reshape(variable.shape, order="F") for unit in np.eye(variable.size))
    hessian = np.array([_gradient_at(d, variable, unit) - zero for unit in units])
    return np.asarray(np.linalg.lstsq(hessian.T, -zero, rcond=None)[0].reshape(variable.shape, order="F"))


def _slope_line(d: Derivation, variable: cp.Variable) -> Line:
    name = variable.name()
    said = f"dL/d{name} = 0" + (" under the conditions" if d.conditions else "")
    worst, slope = d.largest_slope(variable, POINTS)
    if worst <= TOLERANCE:
        return Line(said, True, discrepancy=worst)
    entry = int(np.argmax(np.abs(slope)))
    unless = "which your conditions do not make 0" if d.conditions else "which no condition makes 0"
    return Line(
        said,
        False,
        f"L is affine in {_entry(variable, entry)} with slope {_slope(d, variable, entry)}, {unless}.",
        f"Where that is not 0, L is unbounded below in {name}.",
        f"Add the condition that it is 0, or claim nothing about {name}: name the other variables in over=[...].",
        worst,
    )


def _entry(variable: cp.Variable, entry: int) -> str:
    index = ", ".join(str(i) for i in np.unravel_index(entry, variable.shape, order="F"))
    return f"{variable.name()}[{index}]" if index else str(variable.name())


def _slope(d: Derivation, variable: cp.Variable, entry: int) -> str:
    """One entry of a slope as a function of the multipliers, or as a number where it is not affine in them."""
    d.draw()
    row = d.row([variable], np.eye(variable.size)[entry]) / d.units()
    offsets = []
    for _ in range(2):
        d.draw()
        slope = float(d.gradient(variable)[entry])
        offsets.append(slope - float(row @ stacked(d.rest)))
    if not abs(offsets[0] - offsets[1]) <= TOLERANCE * (1 + np.max(np.abs(offsets))):
        return f"{shown(slope)} (at {d.point()})"
    ends = np.cumsum([v.size for v in d.rest])[:-1]
    parts = zip(d.rest, np.split(row, ends), strict=True) if d.rest else ()
    return affine({v.name(): part.reshape(v.shape, order="F") for v, part in parts}, offsets[0])


def _condition_lines(d: Derivation, holding: Sequence[cp.Variable]) -> Iterator[Line]:
    """A condition is demanded if it holds wherever the slopes vanish, and claims hold that need conditions."""
    demanding = d.bound
    worst = _violations(d, demanding)
    if max(worst) > TOLERANCE:
        demanding = [*d.bound, *(v for v in holding if _needs_conditions(d, v))]
        worst = _violations(d, demanding)
    names = " and ".join(v.name() for v in demanding)
    what, fix = "It is not demanded by any variable.", "Leave it out, or correct it."
    if not demanding:
        why = "L is stationary in every variable over which it is minimised, with or without conditions."
    elif np.isinf(worst).any():
        what, fix = f"No multipliers were found for which L is stationary in {names}.", "Check the signs in L."
        why = f"The derivative of L in {names} keeps away from 0."
    else:
        why = f"At {d.point()} L is stationary in {names}, and the condition does not hold."
    for (condition, _), ratio in zip(d.conditions, worst, strict=True):
        said = f"{text(condition)} is demanded"
        yield Line(said, True, discrepancy=ratio) if ratio <= TOLERANCE else Line(said, False, what, why, fix, ratio)


def _violations(d: Derivation, demanding: Sequence[cp.Variable]) -> list[float]:
    """How far each condition is from holding at a point where L is stationary in some variables."""
    d.draw()
    d.wander()
    settled = not demanding or d.settle(demanding)
    return [d.residual_ratio(residual) if settled else np.inf for _, residual in d.conditions]


def _needs_conditions(d: Derivation, variable: cp.Variable) -> bool:
    d.draw()
    d.wander()
    return not d.slope_ratio(variable) <= TOLERANCE


def _unsolved_line(variable: cp.Variable) -> Line:
    name = variable.name()
    return Line(
        f"{name} is gone from L",
        False,
        f"L is not affine in {name}, and no stationary point is claimed for it.",
        f"L depends on {name} until its minimiser is substituted.",
        f"Add stationarity={{{name}: ...}}, or keep {name} in gives=.",
        np.inf,
    )


def _gives_line(d: Derivation, gives: cp.Expression, failed: Sequence[Line]) -> Line:
    kept = {v.id for v in gives.variables()}

    def go() -> None:
        d.draw()
        for variable in d.bound:  # a slope that does not vanish has a line of its own
            if variable.id not in kept:
                variable.save_value(np.zeros(variable.shape))

    said = f"L = {text(gives)}" + (" after the substitution" if d.claims else "")
    table = Table.at(go, POINTS, gives, d.L, [v for v in d.rest if v.size == 1])
    if table.discrepancy <= SAME:
        return Line(said, True, discrepancy=table.discrepancy)
    if failed:
        lines = "; ".join(line.claimed for line in failed)
        why, fix = f"L was evaluated at the claimed points, although this fails: {lines}.", "Correct that first."
    else:
        why = "L was evaluated at the claimed points." if d.claims else "L was evaluated as it stands."
        fix = table.remedy() or "Substitute again: neither factors on its terms nor one more term of L mend it."
    what = f"At {d.point()} L is {value_of(d.L):.6g}, and the claimed expression is {value_of(gives):.6g}."
    return Line(said, False, what, why, fix, table.discrepancy)


def _mark(line: Line) -> str:
    return "ok" if line.holds else "x "


def _remarks(line: Line) -> list[Branch]:
    said = (("what", line.what), ("why", line.why), ("fix", line.fix))
    return [(f"{label}: {sentence}", []) for label, sentence in said if sentence]


def _remarks_html(line: Line) -> html.Html:
    return html.Html("".join(html.element("div", remark) for remark, _ in _remarks(line)))
