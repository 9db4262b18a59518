"""A claimed dual beside the derived one, term by term and constraint by constraint.

Both are taken as functions of the claimed variables z, which stand for multipliers: terms are told apart by their
values at random z, affine constraints by their rows, other constraints by the points that they forbid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from kopt.cones import Cone, Free, NonNegative
from kopt.derive.derivation import Unconfirmed
from kopt.derive.dual import Dual, Eliminated, raw_dual
from kopt.derive.evaluate import Absent, Evaluation
from kopt.derive.forms import LinearForm, Term
from kopt.derive.monomial import negated
from kopt.derive.pieces import Piece
from kopt.derive.reading import Reading, read_program
from kopt.derive.simplify import simplified
from kopt.derive.trace import Ledger, TracingView, traced
from kopt.derive.writing import Writing, total_of
from kopt.formulation import Formulation, primal_of
from kopt.gradients import affine_parts
from kopt.referee.conditions import Condition, Role, condition
from kopt.referee.evidence import gathered
from kopt.referee.factors import named_number
from kopt.referee.instances import Instance, numbers_of
from kopt.referee.judge import judged
from kopt.referee.region import Region, parallel
from kopt.referee.trial import Trial
from kopt.referee.verdict import Judgement
from kopt.referee.words import Words
from kopt.show.formula import Formula
from kopt.show.mathematics import text
from kopt.show.verdict import comparison_table
from kopt.views import ExplicitView, ProductView

SAME = "same"
MISSING = "missing in the claim"
SUPERFLUOUS = "only in the claim"
IDLE = ", of no effect on this instance"
# Values and rows that agree to this are the same.
AGREES = 1e-8
CORNERS = 10
MIXTURES = 20
# Sums of at most so many terms are tried on either side, where there are few terms.
LARGEST_SUM = 4
FEW = 8
# Curved constraints are compared along rays through the points, in steps of a tenth.
STRETCHES = 1.1 ** np.arange(-25.0, 26.0)


@dataclass(frozen=True)
class Row:
    """A part of the derived dual beside the part of the claimed one that corresponds to it.

    part      "objective", the primal variable whose constraint it is, "domain", or "multiplier" for an eliminated one
    derived   in the words of the derivation; empty where nothing corresponds
    claimed   in the words of the declaration; empty where nothing corresponds
    note      "same", or what differs
    """

    part: str
    derived: str
    claimed: str
    note: str

    @property
    def same(self) -> bool:
        """Whether the two say the same."""
        return self.note.startswith(SAME)


@dataclass(frozen=True)
class Comparison:
    """A claimed dual beside the derived one."""

    rows: tuple[Row, ...]

    @property
    def same(self) -> bool:
        """Whether every part is the same."""
        return all(row.same for row in self.rows)

    @property
    def differences(self) -> tuple[Row, ...]:
        """The rows that differ."""
        return tuple(row for row in self.rows if not row.same)

    def __str__(self) -> str:
        return comparison_table(self)

    __repr__ = __str__


def compared(instance: Instance, plain: bool = False, seed: int = 0) -> Comparison:
    """The dual that a formulation declares beside the one derived from its primal, on one instance.

    plain   whether the primal is a program without a sample

    Costs per point are left out where nothing differs without them. Raises `CannotDerive` where there is no derived
    dual, and `Unconfirmed` where the referee does not call it exact on the instance.

    >>> from formulations.regression import Ridge
    >>> from kopt import Sample
    >>> sample = Sample(np.array([[0.0], [1.0], [3.0]]), np.array([1.0, 0.5, 2.0]))
    >>> for row in compared(Instance(Ridge(ridge=0.7), sample)).rows:
    ...     print(f"{row.note}: {row.derived} | {row.claimed}")
    same: -sum_i y_i beta_i | -y @ beta
    same: -1/(4 ridge) sum_ij beta_i beta_j k(x_i, x_j) | -1/(4 ridge) * ||sum_i (beta)_i phi(x_i)||^2
    same: -1/4 sum_i beta_i^2 | -0.25 * sum(beta^2)
    """
    sample = instance.sample
    if plain or not np.any(sample.costs != 1):
        return _Pair(instance, plain, seed).comparison()
    bare = replace(instance, sample=sample.relabelled(sample.y, costs=None))
    comparison = _Pair(bare, plain, seed).comparison()
    return comparison if not comparison.same else _Pair(instance, plain, seed).comparison()


@dataclass(frozen=True)
class _Part:
    """A term of the derived objective: a linear form, or what a primal variable left.

    value   of the bound on the primal as a minimisation
    """

    value: cp.Expression
    form: LinearForm | None = None
    piece: Piece | None = None


@dataclass(frozen=True, eq=False)
class _Constraint:
    """A constraint of either dual on z.

    name       the primal variable that is its multiplier, or nothing
    affine     its rows; None where it is curved in z
    violated   whether a point violates it
    """

    name: str
    text: str
    affine: Condition | None
    violated: Callable[[np.ndarray], bool]

    @property
    def part(self) -> str:
        return self.name or "domain"


class _Named(Words):
    """Parameters by their names even where they are short numbers such as 7.8, as on the derived side."""

    def number(self, value: float) -> str:
        """The parameter that is this number, unless it is a multiple of 1/8, which anybody may have written."""
        own = (name for name, number in self.numbers.items() if number == value and not (8 * value).is_integer())
        return next(own, None) or super().number(value)


class _Pair:
    """The two duals on one instance."""

    def __init__(self, instance: Instance, plain: bool, seed: int) -> None:
        self.trial = Trial(instance, np.random.default_rng(seed))
        self.claimed = self.trial.claimed
        self.words = _Named(instance.sample, self.claimed.view, numbers_of(instance.formulation))
        reading = _reading(instance, plain)
        self.dual = simplified(raw_dual(reading))
        if set(self.dual.eliminated) & set(self.claimed.variables):
            self.dual = raw_dual(reading)  # the claim keeps a multiplier that a person would eliminate
        self.write = Writing(reading)
        self.view = ExplicitView(instance.sample)
        _confirm(instance, self.dual)
        self.program = self.dual.program(self.view)
        self.variables = {name: cp.Variable(m.shape, name=name) for name, m in self.dual.variables.items()}
        self.letters = _letters(instance, reading)
        self.derived = list(self._derived_constraints())
        self.points = self._points(equalities=False), self._points(equalities=True)

    def comparison(self) -> Comparison:
        """The rows: terms of the objective, constraints, eliminated multipliers."""
        stated = list(self._claimed_constraints())
        sets = _Sets(self.derived, stated, _Points(self.points[1], self.trial.unit), self.words)
        return Comparison((*self._objective(), *sets.rows(), *self._multipliers()))

    # The objective

    def _objective(self) -> Iterator[Row]:
        parts = self._parts()
        names = [self.words.term(term) for term in self.claimed.terms]
        missing: list[_Part] = []
        superfluous: list[str] = []
        for left, right, coefficients in matched(*(self._values(parts, points) for points in self.points)):
            derived, stated = [parts[k] for k in left], [names[k] for k in right]
            if not derived or not stated:
                missing += derived
                superfluous += stated
                continue
            single = [text(self._written([part])) for part in derived] if len(right) == 1 else stated
            note = _said(coefficients, single, len(right) == 1, self.words)
            yield Row("objective", text(self._written(derived)), " + ".join(stated).replace("+ -", "- "), note)
        yield from (Row("objective", text(formula), "", MISSING) for formula in self._formulas(missing))
        yield from (Row("objective", "", name, SUPERFLUOUS) for name in superfluous)

    def _parts(self) -> list[_Part]:
        forms = [_Part(form.expression(self.variables), form=form) for form in _split(self.dual.linear, self.letters)]
        pieces = [piece for piece in self.dual.pieces.values() if not piece.is_zero]
        return [*forms, *(_Part(-piece.negative(self.view, self.variables), piece=piece) for piece in pieces)]

    def _written(self, parts: Sequence[_Part]) -> Formula:
        return total_of(self._formulas(parts))

    def _formulas(self, parts: Sequence[_Part]) -> list[Formula]:
        """Terms of the derived objective in the sense of the primal, those of linear forms put together."""
        forms = [part.form for part in parts if part.form is not None]
        terms = self.write.form_terms(sum(forms[1:], forms[0])) if forms else []
        terms += [self.write.piece(part.piece) for part in parts if part.piece is not None]
        return terms if self.claimed.sign > 0 else [negated(term) for term in terms]

    def _values(self, parts: Sequence[_Part], points: Sequence[np.ndarray]) -> Values:
        """The terms of both at the multipliers that points stand for.

        A few points where one of them has no value are left out; a term without values at most of them matches nothing.
        """
        ours = np.empty((len(points), len(parts)))
        theirs = np.empty((len(points), len(self.claimed.terms)))
        for k, z in enumerate(points):
            self._bind(self.variables, z)
            ours[k] = [float(part.value.value) for part in parts]
            theirs[k] = self.claimed.values(z)
        finite = np.isfinite(ours).all(axis=1) & np.isfinite(theirs).all(axis=1)
        return Values(ours[finite], theirs[finite]) if 2 * np.sum(finite) > len(points) else Values(ours, theirs)

    def _bind(self, variables: dict[str, cp.Variable], z: np.ndarray) -> None:
        multipliers = self.claimed.multipliers(z)
        for name, variable in variables.items():
            block = multipliers[self.trial.lagrangian.slices[name]]
            variable.save_value(block.reshape(variable.shape, order="F"))

    # Constraints

    def _derived_constraints(self) -> Iterator[_Constraint]:
        dual, write = self.dual, self.write
        named = {name: write.equality(form) for name, form in dual.equalities.items()}
        named |= {b.about: write.bound(b) for b in dual.bounds if b.named}
        unnamed = [write.bound(b) for b in dual.bounds if not b.named]
        unnamed += [write.ball(ball) for ball in dual.balls]
        unnamed += [write.vanishing(image) for image in dual.vanishing]
        written = [text(formula) for formula in (*named.values(), *unnamed)]
        written += [f"{text(write.multiplier(name))} >= 0" for name, m in dual.variables.items() if m.signed]
        cones = [*self.program.cones.values(), *self.program.domain_cones.values()]
        names = [*self.program.cones, *[""] * len(self.program.domain)]
        for name, words, cone in zip(names, written, cones, strict=True):
            yield _Constraint(name, words, self._rows(cone), self._violated(cone, self.program.variables))

    def _rows(self, cone: Cone) -> Condition | None:
        """An affine constraint on multipliers as one on z."""
        L, variables = self.trial.lagrangian, self.program.variables
        used = {v.name() for v in cone.residual.variables()}
        straight = isinstance(cone, Free | NonNegative) and cone.residual.is_affine()
        if not straight or not used <= set(L.slices) or used & set(self.claimed.bent):
            return None
        jacobian, offset = affine_parts(cone.residual)
        rows = np.zeros((offset.size, L.width))
        for name in used:
            block = jacobian.get(variables[name].id)
            if block is not None:
                rows[:, L.slices[name]] = sp.csr_array(block).toarray()
        found = condition("", Role.STATIONARITY, isinstance(cone, Free), rows, offset)
        return found.after(self.claimed.map.matrix, self.claimed.map.offset)

    def _violated(self, cone: Cone, variables: dict[str, cp.Variable]) -> Callable[[np.ndarray], bool]:
        def violated(z: np.ndarray) -> bool:
            self._bind(variables, z)
            return _missed(cone)

        return violated

    def _claimed_constraints(self) -> Iterator[_Constraint]:
        claimed = self.claimed
        affine = {each.about: each for each in claimed.conditions}
        program = claimed.program
        constraints = [*program.constraints.values(), *program.domain]
        names = [*program.constraints, *[""] * len(program.domain)]
        for label, name, constraint in zip(claimed.labels, names, constraints, strict=True):
            yield _Constraint(name, self.words.text(constraint), affine.get(label), self._claimed_violated(label))

    def _claimed_violated(self, label: str) -> Callable[[np.ndarray], bool]:
        def violated(z: np.ndarray) -> bool:
            for variable, value in zip(self.claimed.explicit.values(), self.claimed.by_name(z).values(), strict=True):
                variable.save_value(value)
            return _missed(self.claimed.curved[label])

        return violated

    def _points(self, equalities: bool) -> list[np.ndarray]:
        """Points that the derived dual allows, or all of it but its equalities: nearest to random ones, and mixed."""
        rng, unit = self.trial.rng, self.trial.unit
        affine = [each.affine for each in self.derived if each.affine is not None]
        if self.claimed.bent:
            affine += self.claimed.conditions
        region = Region([each for each in affine if equalities or not each.equality], unit)
        drawn = [10 ** rng.uniform(-1.5, 1.0) * unit * rng.normal(0.5, 1.0, len(unit)) for _ in range(CORNERS)]
        corners = [z for z in map(region.nearest, drawn) if z is not None] or drawn
        weights = rng.dirichlet(np.full(len(corners), 0.5), MIXTURES)
        return [*corners, *(weights @ np.array(corners))]

    # Eliminated multipliers

    def _multipliers(self) -> Iterator[Row]:
        """What each eliminated multiplier is said to be."""
        for name, each in self.dual.eliminated.items():
            derived = f"{text(self.write.multiplier(name))} = {text(_eliminated(self.write, each))}"
            stated = f"{name} = {self.words.text(self.claimed.source(name))}"
            values = [(self._derived_multiplier(name, z), self._claimed_multiplier(name, z)) for z in self.points[1]]
            ours, theirs = (np.concatenate(side) for side in zip(*values, strict=True))
            yield Row("multiplier", derived, stated, _proportion_said(ours, theirs, self._size, self.words))

    @property
    def _size(self) -> float:
        """The size of multipliers."""
        return max(float(np.max(np.abs(self.claimed.multipliers(z)))) for z in self.points[1])

    def _derived_multiplier(self, name: str, z: np.ndarray) -> np.ndarray:
        self._bind(self.program.variables, z)
        return np.asarray(self.program.multipliers[name].value, dtype=float).ravel(order="F")

    def _claimed_multiplier(self, name: str, z: np.ndarray) -> np.ndarray:
        return self.claimed.multipliers(z)[self.trial.lagrangian.slices[name]]


class _Sets:
    """The constraints of both duals, matched."""

    def __init__(
        self, derived: Sequence[_Constraint], claimed: Sequence[_Constraint], points: _Points, words: Words
    ) -> None:
        self.derived, self.claimed, self.points, self.words = derived, claimed, points, words

    def rows(self) -> Iterator[Row]:
        """The derived constraints in their order, then those that only the claim has."""
        left, right = list(self.derived), list(self.claimed)
        found: dict[_Constraint, Row] = {}
        for paired in (self._is_same, self._has_its_name, self._is_parallel):
            for one in list(left):
                other = next((each for each in _by_name(one, right) if paired(one, each)), None)
                if other is not None:
                    note = SAME if paired == self._is_same else self._difference(one, other)
                    found[one] = Row(one.part, one.text, other.text, note)
                    left.remove(one)
                    right.remove(other)
        for one in left:
            note = f"{SAME}: follows from the claim" if self._follows(one, self.claimed) else MISSING
            found[one] = Row(one.part, one.text, "", note)
        yield from (found[one] for one in self.derived)
        for other in right:
            note = f"{SAME}: follows from the derived ones" if self._follows(other, self.derived) else SUPERFLUOUS
            yield Row(other.part, "", other.text, note)

    def _is_same(self, one: _Constraint, other: _Constraint) -> bool:
        if one.affine is not None and other.affine is not None:
            return one.affine.equality == other.affine.equality and self._same_rows(one.affine, other.affine)
        forbidden = self.points.forbidden(one)
        return 0 < np.mean(forbidden) < 1 and bool(np.array_equal(forbidden, self.points.forbidden(other)))

    def _same_rows(self, one: Condition, other: Condition) -> bool:
        ours, theirs = self.points.normal_form(one), self.points.normal_form(other)
        apart = np.max(np.abs(ours[:, None, :] - theirs[None, :, :]), axis=2) > AGREES
        return not apart.all(axis=0).any() and not apart.all(axis=1).any()

    def _has_its_name(self, one: _Constraint, other: _Constraint) -> bool:
        return bool(one.name) and one.name == other.name

    def _is_parallel(self, one: _Constraint, other: _Constraint) -> bool:
        return self._factors(one, other) is not None

    def _factors(self, one: _Constraint, other: _Constraint) -> np.ndarray | None:
        """The numbers by which the rows of the one have to be multiplied to give those of the other, offsets apart."""
        if one.affine is None or other.affine is None or one.affine.rows.shape != other.affine.rows.shape:
            return None
        unit = self.points.unit
        factors = [parallel(b * unit, a * unit) for a, b in zip(one.affine.rows, other.affine.rows, strict=True)]
        known = np.array([factor for factor in factors if factor is not None])
        return known if len(known) == len(factors) and (np.all(known > 0) or np.all(known < 0)) else None

    def _difference(self, one: _Constraint, other: _Constraint) -> str:
        equivalent = self._follows(one, self.claimed) and self._follows(other, self.derived)
        factors = self._factors(one, other)
        if factors is None or one.affine is None or other.affine is None:
            return f"{SAME}: the two are equivalent" if equivalent else "claimed has other coefficients"
        # Whether another bound matters may depend on the parameters, so it is a difference all the same.
        return self._row_by_row(one.affine, other.affine, factors) + (IDLE if equivalent else "")

    def _row_by_row(self, one: Condition, other: Condition, factors: np.ndarray) -> str:
        """How two constraints with the same left-hand sides differ."""
        if one.equality != other.equality:
            return f"claimed is an {'equality' if other.equality else 'inequality'}"
        if not one.equality and np.all(factors < 0):
            return "claimed is the other way round"
        return self._bounds_said(-one.offset, -other.offset / factors)

    def _bounds_said(self, derived: np.ndarray, claimed: np.ndarray) -> str:
        """How two right-hand sides of the same rows differ."""
        if not derived.all():
            return "claimed bound differs" if derived.any() else "claimed bound is not 0"
        ratio = claimed / derived
        if np.ptp(ratio) <= AGREES * abs(ratio[0]):
            return times_said("claimed bound", float(ratio[0]), self.words)
        for name, vector in self.words.vectors.items():
            if len(vector) == len(ratio) and np.allclose(ratio, vector, rtol=AGREES, atol=0):
                return f"claimed bound is {name}_i times it"
        return "claimed bound differs"

    def _follows(self, one: _Constraint, others: Sequence[_Constraint]) -> bool:
        """Whether no point that the others allow violates it."""
        affine = [each.affine for each in others if each.affine is not None]
        if one.affine is not None and self.points.follows(one.affine, affine):
            return True
        if one.affine is not None and len(affine) == len(others):
            return False
        allowed = ~np.any([np.zeros(self.points.count, dtype=bool), *map(self.points.forbidden, others)], axis=0)
        return bool(allowed.any()) and not self.points.forbidden(one)[allowed].any()


class _Points:
    """Points at which constraints are compared: feasible ones, and their multiples."""

    def __init__(self, points: Sequence[np.ndarray], unit: np.ndarray) -> None:
        self.unit = unit
        self.tried = [stretch * z for z in points[:CORNERS] for stretch in STRETCHES]
        self.count = len(self.tried)
        self._known: dict[_Constraint, np.ndarray] = {}

    def forbidden(self, constraint: _Constraint) -> np.ndarray:
        """Which of the points a constraint forbids."""
        if constraint not in self._known:
            self._known[constraint] = np.array([self._forbids(constraint, z) for z in self.tried])
        return self._known[constraint]

    def _forbids(self, constraint: _Constraint, z: np.ndarray) -> bool:
        if constraint.affine is None:
            return constraint.violated(z)
        missed = constraint.affine.violation(z, like=float(np.max(self.unit)))
        return bool(np.max(missed, initial=0.0) > AGREES)

    def normal_form(self, affine: Condition) -> np.ndarray:
        """Rows and offsets in units of z, up to a positive factor; for an equality, up to any."""
        rows = np.column_stack([affine.rows * self.unit, affine.offset])
        largest = np.argmax(np.abs(rows[:, :-1]), axis=1)
        scale = rows[np.arange(len(rows)), largest]
        scale = scale if affine.equality else np.abs(scale)
        return rows / np.where(scale == 0, 1.0, scale)[:, None]

    def follows(self, affine: Condition, others: Sequence[Condition]) -> bool:
        """Whether every row holds wherever the others do, by linear programs."""
        region = Region(others, self.unit)
        for row, offset in zip(affine.rows, affine.offset, strict=True):
            for sign in (1.0, -1.0) if affine.equality else (1.0,):
                z = region.furthest(sign * row) if row.any() else np.zeros(len(row))
                if z is None or sign * (row @ z + offset) > 1e-6 * (np.abs(row) @ self.unit + abs(offset)):
                    return False
        return True


@dataclass(frozen=True)
class Values:
    """Terms of the derived and of the claimed objective at some points: a row for each point."""

    ours: np.ndarray
    theirs: np.ndarray


# Derived terms, claimed terms, and the coefficients that tie them: None where they are equal, none where nothing does.
Match = tuple[list[int], list[int], np.ndarray | None]


def matched(free: Values, feasible: Values) -> list[Match]:
    """The terms of two objectives, matched.

    free       values at points that need not satisfy the equalities of the dual
    feasible   values at points that do, where terms are equal that differ elsewhere

    First equal terms and sums, then multiples, then terms that are combinations of several others. What is left stands
    alone, but for two terms of which each is the last of its side: they stand together. Terms of one side that cancel
    are left out.

    >>> x, y = np.array([1.0, 2.0, 4.0, 3.0]), np.array([1.0, -1.0, 0.5, 2.0])
    >>> values = Values(np.stack([x, y, x * y], axis=1), np.stack([x + y, x * y / 2, x**3], axis=1))
    >>> matched(values, values)
    [([0, 1], [0], None), ([2], [1], array([0.5])), ([], [2], None)]
    """
    matching = _Matching(free.ours.shape[1], free.theirs.shape[1])
    matching.take_equal(free)
    if not matching.take_rest(feasible):
        for values in (free, feasible):
            matching.take_equal(values)
            matching.take_multiples(values)
            matching.take_combinations(values)
    return matching.matches()


class _Matching:
    """What is matched so far, and the indices of what is left on either side."""

    def __init__(self, left: int, right: int) -> None:
        self.left, self.right = list(range(left)), list(range(right))
        self.found: list[Match] = []

    def take_equal(self, values: Values) -> None:
        """Equal terms, then equal sums."""
        while equal := next(_equal_sums(values, self.left, self.right), None):
            self._take(*equal, None)

    def take_rest(self, values: Values) -> bool:
        """All that is left, if it is the same on both sides."""
        same = _are_equal(values, self.left, self.right)
        if same:
            self._take(self.left, self.right, None)
        return same

    def take_multiples(self, values: Values) -> None:
        """Claimed terms that are multiples of derived ones."""
        for k in list(self.right):
            for one in list(self.left):
                fit = _combination(values.theirs[:, k], values.ours[:, [one]])
                if fit is not None:
                    self._take([one], [k], fit)
                    break

    def take_combinations(self, values: Values) -> None:
        """Terms of either side that are combinations of several of the other."""
        for k in list(self.right):
            fit = _combination(values.theirs[:, k], values.ours[:, self.left])
            if fit is not None:
                self._take([one for one, each in zip(self.left, fit, strict=True) if each], [k], fit[fit != 0])
        for k in list(self.left):
            fit = _combination(values.ours[:, k], values.theirs[:, self.right])
            if fit is not None:
                self._take([k], [one for one, each in zip(self.right, fit, strict=True) if each], fit[fit != 0])

    def matches(self) -> list[Match]:
        """All matches in the order of the derived terms."""
        if len(self.left) == len(self.right) == 1:
            self._take(self.left, self.right, np.zeros(0))
        alone: list[Match] = [([k], [], None) for k in self.left]
        alone += [([], [k], None) for k in self.right]
        return sorted([*self.found, *alone], key=lambda each: (not each[0], each[0] or each[1]))

    def _take(self, left: Sequence[int], right: Sequence[int], coefficients: np.ndarray | None) -> None:
        if left and right:
            self.found.append((list(left), list(right), coefficients))
        self.left = [k for k in self.left if k not in left]
        self.right = [k for k in self.right if k not in right]


def _equal_sums(values: Values, left: Sequence[int], right: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Sums of some of both sides that are equal, the shortest first; the empty sum is 0."""
    most = LARGEST_SUM if max(len(left), len(right)) <= FEW else 1
    sizes = [(a, b) for a in range(most + 1) for b in range(most + 1) if a + b]
    for a, b in sorted(sizes, key=sum):
        for some in map(list, combinations(left, a)):
            yield from ((some, list(others)) for others in combinations(right, b) if _are_equal(values, some, others))


def _are_equal(values: Values, left: Sequence[int], right: Sequence[int]) -> bool:
    ours, theirs = values.ours[:, list(left)], values.theirs[:, list(right)]
    apart = np.linalg.norm(ours.sum(axis=1) - theirs.sum(axis=1))
    return bool(apart <= AGREES * (np.linalg.norm(ours) + np.linalg.norm(theirs)))


def _combination(values: np.ndarray, others: np.ndarray) -> np.ndarray | None:
    """The coefficients with which a term is a combination of others that are independent; None where it is none."""
    size = np.linalg.norm(others, axis=0)
    if not others.size or not size.all() or not values.any() or not np.isfinite([*size, *values]).all():
        return None
    coefficients, _, rank, _ = np.linalg.lstsq(others / size, values, rcond=None)
    coefficients[np.abs(coefficients) <= AGREES * np.linalg.norm(values)] = 0.0
    apart = np.linalg.norm(others / size @ coefficients - values)
    fits = rank == others.shape[1] and apart <= AGREES * np.linalg.norm(values)
    return np.asarray(coefficients / size) if fits else None


def _said(fit: np.ndarray | None, names: Sequence[str], of_derived: bool, words: Words) -> str:
    """What a match means: the claimed term is a combination of derived ones with these names, or the reverse."""
    if fit is None:
        return SAME
    if not len(fit):
        return "claimed is no multiple of it"
    if np.ptp(fit) <= AGREES * abs(fit[0]):
        return times_said("claimed", float(fit[0] if of_derived else 1 / fit[0]), words)
    parts = [f"{number(f, words)} times {name}" for f, name in zip(fit, names, strict=True) if abs(f - 1) > AGREES]
    return f"{'claimed' if of_derived else 'derived'} has {' and '.join(parts)}"


def times_said(what: str, factor: float, words: Words) -> str:
    """That something is a multiple of what it should be."""
    if abs(factor - 1) <= AGREES:
        return SAME
    if abs(factor + 1) <= AGREES:
        return f"{what} has the opposite sign"
    return f"{what} is {number(factor, words)} {'of' if 0 < factor < 1 else 'times'} it"


def number(value: float, words: Words) -> str:
    """A number, as an expression of the parameters where a simple one fits."""
    return named_number(value, words.numbers) or f"{value:.4g}"


def _reading(instance: Instance, plain: bool) -> Reading:
    formulation, ledger = instance.formulation, Ledger()
    if plain:
        return read_program(primal_of(formulation, ProductView(instance.sample)), ledger)
    view = TracingView(instance.sample, ledger, "c" if np.any(instance.sample.costs != 1) else "")
    return read_program(primal_of(traced(formulation, ledger), view), ledger, view)


def _confirm(instance: Instance, dual: Dual) -> None:
    """Refuse a derived dual that the referee does not call exact on the very instance."""
    given = instance.formulation
    # The recovery is the author's, and no part of the dual.
    body = {"dual": lambda self, s: dual.program(s), "recover": Formulation.recover, "__module__": __name__}
    derived = type(type(given).__name__, (type(given),), body)(**vars(given))
    judgement, _ = judged(gathered([Trial(replace(instance, formulation=derived), np.random.default_rng(0))]))
    if judgement is not Judgement.EXACT:
        raise Unconfirmed(
            f"The referee calls the derived dual {judgement.word}, not exact.",
            "Report the primal: this is a fault of kopt.derive.",
        )


def _letters(instance: Instance, reading: Reading) -> dict[str, dict[tuple[float, ...], Any]]:
    """The values of the letters in coefficients, by index."""
    sample = instance.sample
    vectors = {"y": sample.y, "c": sample.costs, "phi": sample.gram().factor, **reading.names.given}
    letters = {name: _by_index(value) for name, value in vectors.items() if value is not None}
    return letters | {name: {(): value} for name, value in instance.numbers.items()}


def _by_index(values: np.ndarray) -> dict[tuple[float, ...], Any]:
    return {(): values} if np.ndim(values) == 0 else {(k,): value for k, value in enumerate(values)}


def _split(linear: LinearForm, letters: dict[str, dict[tuple[float, ...], Any]]) -> Iterator[LinearForm]:
    """The terms of a linear form, each by itself where the letters tell the numbers of each."""
    for name, matrix in linear.matrices.items():
        terms = [term for term in linear.terms if term.multiplier == name]
        rows = [_row(term, letters, matrix.shape[1]) for term in terms] if len(terms) > 1 else [matrix.toarray()]
        whole = sum(row for row in rows if row is not None)
        if any(row is None for row in rows) or not np.allclose(whole, matrix.toarray(), rtol=AGREES, atol=0):
            yield LinearForm("", tuple(terms), {name: matrix}, np.zeros(1))
        else:
            for term, row in zip(terms, rows, strict=True):
                yield LinearForm("", (term,), {name: sp.csr_array(row)}, np.zeros(1))
    constants = tuple(term for term in linear.terms if term.multiplier is None)
    if linear.offset.any():
        yield LinearForm("", constants, {}, linear.offset)


def _row(term: Term, letters: dict[str, dict[tuple[float, ...], Any]], size: int) -> np.ndarray | None:
    """The numbers of sum_i monomial_i multiplier_i; None where a letter has no value."""
    formula = term.monomial.formula()
    try:
        return np.array([[Evaluation(letters).value(formula, {term.letter: k}) for k in range(size)]], dtype=float)
    except (Absent, KeyError):
        return None


def _missed(cone: Cone) -> bool:
    residual = np.asarray(cone.residual.value, dtype=float)
    parts = [np.asarray(part.value, dtype=float) for part in (cone.residual, *cone.residual.args)]
    size = max(float(np.max(np.abs(part), initial=0.0)) for part in parts)
    return not cone.violation(residual) <= AGREES * size


def _eliminated(write: Writing, each: Eliminated) -> Formula:
    if each.form is not None:
        return write.form(each.form)
    assert each.lengths is not None
    factor, root = write.root(each.lengths.slopes)
    return (each.lengths.name * factor).formula(root)


def _by_name(one: _Constraint, others: Iterable[_Constraint]) -> list[_Constraint]:
    """Those with the same name first."""
    return sorted(others, key=lambda other: other.name != one.name)


def _proportion_said(ours: np.ndarray, theirs: np.ndarray, size: float, words: Words) -> str:
    """How two multipliers differ, in units in which multipliers are of a given size."""
    if np.max(np.abs(ours - theirs)) <= AGREES * size:
        return SAME
    fit = _combination(theirs, ours[:, None])
    return "claimed differs" if fit is None else times_said("claimed", float(fit[0]), words)
