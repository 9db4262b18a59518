"""Wrong formulations made mechanically out of right ones: the primal stays, one part of the claim about it changes.

Nothing here knows a formulation by name, and nothing here knows whether a mutant is really wrong (dropping a
constraint that follows from the others changes nothing): that is decided by `tests.oracle`.
"""

from __future__ import annotations

import copy
import dataclasses
import numbers
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.constraints.constraint import Constraint
from cvxpy.constraints.nonpos import Inequality
from cvxpy.constraints.zero import Equality

from kopt import Combination, Formulation, Program, Sample, Task
from kopt.cones import Cone, Free, NonNegative, SecondOrder, Semidefinite, cone_of
from kopt.gram import Gram
from kopt.kernels import Precomputed
from kopt.referee.instances import numbers_of
from kopt.referee.verdict import Fault, Kind, Verdict
from kopt.referee.words import Words
from kopt.views import ProductView

CONTROL = "control"
OF_THE_OBJECTIVE = (Kind.WRONG_COEFFICIENT, Kind.WRONG_TERM, Kind.MISSING_TERM)
OF_ABSENT_TERMS = (Kind.WRONG_TERM, Kind.MISSING_TERM)

Change = Callable[[Program], Program]
# A named constraint of a program by its name, one in `domain=` by its position.
Slot = str | int


@dataclass(frozen=True)
class Prototype:
    """A formulation with parameters and a sample, on which its parts can be counted and their texts read."""

    formulation: Formulation
    sample: Sample


@dataclass(frozen=True)
class Part:
    """What was mutated, by everything that a fault can call it.

    names       names of dual constraints, multipliers and primal variables, texts of constraints in `domain=`
    terms       texts of terms of the dual objective, without their numbers
    absent      whether the objective lacks something, so that there may be no term to point at
    recovered   recovered primal variables
    """

    names: frozenset[str] = frozenset()
    terms: frozenset[str] = frozenset()
    absent: bool = False
    recovered: frozenset[str] = frozenset()

    def is_named_by(self, fault: Fault) -> bool:
        """The rule of what counts as locating a mutation.

        - A term: a fault of the objective whose `where` is the text of that term (its numbers apart, which are the
          instance's). A dropped term is no longer there to be pointed at, and one in which K or y was changed can be
          repaired by another term beside it: there, any missing or wrong term will do.
        - A constraint: a fault whose `where` is the name of the constraint (the primal variable) or its text, or the
          multiplier to which it belongs: mu and xi for alpha <= C, where mu = C - alpha; alpha for alpha >= 0.
        - An eliminated multiplier: a fault whose `where` is its name.
        - A recovered variable: a fault of the recovery whose `where` is its name.
        - What changes several parts at once, such as 1/C for C, is located by naming any of them.
        """
        if fault.kind is Kind.WRONG_RECOVERY:
            return fault.where in self.recovered
        if fault.kind in OF_THE_OBJECTIVE:
            texts = tuple(text for text in self.terms if text)
            named = skeleton(fault.where).endswith(texts)  # a coefficient such as 1/(2 C) may come first
            return named or (self.absent and fault.kind in OF_ABSENT_TERMS)
        return fault.where in self.names or skeleton(fault.where) in {skeleton(name) for name in self.names}

    def __or__(self, other: Part) -> Part:
        return Part(
            self.names | other.names,
            self.terms | other.terms,
            self.absent or other.absent,
            self.recovered | other.recovered,
        )


@dataclass(frozen=True)
class Mutant:
    """A formulation with one part changed.

    label   what was changed, in words
    kind    what was changed, as a heading
    cls     the changed formulation, with the parameters of the original
    part    how a fault can name it
    """

    label: str
    kind: str
    cls: type[Formulation]
    part: Part

    def located(self, verdict: Verdict) -> bool:
        """Whether some fault names the mutated part."""
        return any(self.part.is_named_by(fault) for fault in verdict.faults)


def skeleton(text: str) -> str:
    """A text without its numbers, and without the signs and operators that come and go with them.

    >>> skeleton("-0.5 * ||sum_i (y * alpha)_i phi(x_i)||^2"), skeleton("alpha <= [0.25 1.5e-05 ...")
    ('||sum_i(y*alpha)_iphi(x_i)||^', 'alpha<=')
    """
    bare = re.sub(r"(?<![A-Za-z_])[-+]?\d+(\.\d*)?(e[-+]?\d+)?", "", text)
    return re.sub(r"^[-*]+|[*+]+$", "", re.sub(r"[\s\[\].]", "", bare))


def mutants(cls: type[Formulation], prototypes: Sequence[Prototype]) -> list[Mutant]:
    """Every mutant of a formulation, the control first.

    prototypes   instances of it; on one of them a mutation must change something, or it is not a mutant
    """
    makers = (control, terms, constraints, spurious, eliminated, recovery, views, parameters)
    return [mutant for make in makers for mutant in make(cls, prototypes)]


def control(cls: type[Formulation], prototypes: Sequence[Prototype]) -> Iterator[Mutant]:
    """The formulation itself, taken apart and put together again."""
    yield Mutant(f"{cls.__name__}: nothing changed", CONTROL, with_dual(cls, lambda program: program), Part())


def with_dual(cls: type[Formulation], change: Change) -> type[Formulation]:
    """A subclass whose dual is changed."""
    return subclass(cls, dual=lambda self, s: change(cls.dual(self, s)))


def subclass(cls: type[Formulation], **methods: Any) -> type[Formulation]:
    """A formulation with the parameters of another and some of its methods replaced."""
    return type(cls.__name__, (cls,), {"__module__": cls.__module__, "__doc__": cls.__doc__, **methods})


# The dual objective.


def additive_terms(expression: cp.Expression, factor: float = 1.0) -> list[tuple[float, cp.Expression]]:
    """The terms of a sum, through negations and factors that are numbers: each its factor and what is multiplied."""
    args = expression.args
    match expression:
        case AddExpression():
            return [term for part in args for term in additive_terms(part, factor)]
        case NegExpression():
            return additive_terms(args[0], -factor)
        case DivExpression() if _is_number(args[1]):
            return additive_terms(args[0], factor / float(args[1].value))
        case MulExpression() | multiply() if _is_number(args[0]) and args[1].shape == expression.shape:
            return additive_terms(args[1], factor * float(args[0].value))
        case MulExpression() | multiply() if _is_number(args[1]) and args[0].shape == expression.shape:
            return additive_terms(args[0], factor * float(args[1].value))
    return [(factor, expression)]


def _is_number(expression: cp.Expression) -> bool:
    return expression.is_constant() and expression.is_scalar()


TERM_FACTORS = {"dropped": 0.0, "doubled": 2.0, "halved": 0.5, "with its sign flipped": -1.0}


def terms(cls: type[Formulation], prototypes: Sequence[Prototype]) -> Iterator[Mutant]:
    """Each term of the dual objective times 0, 2, 1/2 and -1."""
    for index in range(len(additive_terms(dual_of(cls, prototypes[0]).objective.expr))):
        part = Part(terms=frozenset(text for p in prototypes for text in term_texts(cls, p, [index])))
        for words, factor in TERM_FACTORS.items():
            label = f"{cls.__name__}: term {index + 1} of the dual objective {words}"
            mutated = with_dual(cls, _term_times(index, factor))
            yield Mutant(label, f"term {words}", mutated, dataclasses.replace(part, absent=factor == 0))


def _term_times(index: int, factor: float) -> Change:
    def change(program: Program) -> Program:
        parts = additive_terms(program.objective.expr)
        parts[index] = (factor * parts[index][0], parts[index][1])
        kept = [number * part for number, part in parts if number] or [cp.Constant(0.0)]
        return rebuilt(program, objective=type(program.objective)(sum(kept[1:], start=kept[0])))

    return change


def rebuilt(program: Program, **changed: Any) -> Program:
    """A program with some of its parts replaced."""
    whole = {
        "objective": program.objective,
        "constraints": program.constraints,
        "domain": program.domain,
        "multipliers": program.multipliers,
    } | changed
    return Program(whole.pop("objective"), whole.pop("constraints"), **whole)


def dual_of(cls: type[Formulation], prototype: Prototype, view: ProductView | None = None) -> Program:
    """The dual that a class declares, at the parameters and the sample of a prototype."""
    formulation = cls(**{f.name: getattr(prototype.formulation, f.name) for f in dataclasses.fields(cls)})
    program = formulation.dual(view or ProductView(prototype.sample))
    assert program is not None, f"{cls.__name__} declares no dual"
    return program


def term_texts(cls: type[Formulation], prototype: Prototype, indices: Sequence[int]) -> Iterator[str]:
    """The texts of some terms of the dual objective, without numbers."""
    view = ProductView(prototype.sample)
    parts = additive_terms(dual_of(cls, prototype, view).objective.expr)
    words = Words(prototype.sample, view, numbers_of(prototype.formulation))
    for index in indices:
        yield skeleton(words.text(parts[index][1]))


# The dual constraints.


def slots(program: Program) -> dict[Slot, Constraint]:
    """All constraints of a program."""
    return {**program.constraints, **dict(enumerate(program.domain))}


def with_constraint(program: Program, slot: Slot, constraint: Constraint | None) -> Program:
    """A program with one constraint replaced, or dropped."""
    kept = {key: c if key != slot else constraint for key, c in slots(program).items()}
    return rebuilt(
        program,
        constraints={key: c for key, c in kept.items() if isinstance(key, str) and c is not None},
        domain=[c for key, c in kept.items() if isinstance(key, int) and c is not None],
    )


def constraint_of(kind: type[Cone], residual: cp.Expression) -> Constraint:
    """The constraint with a given residual, in the convention of `kopt.cones`."""
    if kind is Free:
        return residual == 0
    if kind is Semidefinite:
        return residual << 0
    if kind is SecondOrder:
        return cp.SOC(-residual[0], -residual[1:])
    return residual <= 0


def at_zero(expression: cp.Expression) -> np.ndarray:
    """The constant of an expression: its value where all variables are 0."""
    return evaluated(expression, {v: np.zeros(v.shape) for v in expression.variables()})


def evaluated(expression: cp.Expression, values: Mapping[cp.Variable, np.ndarray]) -> np.ndarray:
    """The value of an expression, the values of its variables left as they were."""
    saved = [(variable, variable.value) for variable in values]
    for variable, value in values.items():
        variable.save_value(value)
    with np.errstate(all="ignore"):
        result = np.asarray(expression.value, dtype=float)
    for variable, value in saved:
        variable.save_value(value)
    return result


def side_doubled(constraint: Constraint) -> Constraint:
    """lhs <= rhs with the constant of rhs - lhs doubled."""
    cone = cone_of(constraint)
    return constraint_of(type(cone), cone.residual + at_zero(cone.residual))


def as_equality(constraint: Constraint) -> Constraint:
    """The same two sides with == between them."""
    if isinstance(constraint, Inequality):
        return Equality(*constraint.args)
    return cone_of(constraint).residual == 0


def has_side(constraint: Constraint) -> bool:
    """Whether there is a constant to double."""
    constant = at_zero(cone_of(constraint).residual)
    return bool(np.isfinite(constant).all() and np.any(constant != 0))


def constraint_mutations(constraint: Constraint) -> Iterator[tuple[str, Callable[[Constraint], Constraint | None]]]:
    """What can be done to a constraint, and in which words."""
    cone = cone_of(constraint)
    yield "dropped", lambda _: None
    if has_side(constraint):
        yield "with its right-hand side doubled", side_doubled
    if isinstance(cone, NonNegative) and cone.residual.is_affine():
        yield "turned into an equality", as_equality
    if isinstance(cone, Free):
        yield "turned into <=", lambda c: cone_of(c).residual <= 0
        yield "turned into >=", lambda c: cone_of(c).residual >= 0


def constraints(cls: type[Formulation], prototypes: Sequence[Prototype]) -> Iterator[Mutant]:
    """Each constraint dropped, its right-hand side doubled, its relation changed."""
    for slot, constraint in slots(dual_of(cls, prototypes[0])).items():
        part = part_of_slot(cls, prototypes[0], slot)
        named = f"the dual constraint {slot}" if isinstance(slot, str) else f"the domain constraint {shown(constraint)}"
        for words, change in constraint_mutations(constraint):
            mutated = with_dual(cls, _constraint_changed(slot, change))
            own = part if words == "dropped" else part | texts_of_domain(mutated, prototypes, slot)
            yield Mutant(f"{cls.__name__}: {named} {words}", f"constraint {words}", mutated, own)


def _constraint_changed(slot: Slot, change: Callable[[Constraint], Constraint | None]) -> Change:
    return lambda program: with_constraint(program, slot, change(slots(program)[slot]))


def shown(constraint: Constraint) -> str:
    """A constraint in one short line."""
    return re.sub(r"\s+", " ", str(constraint))[:40]


def domain_texts(cls: type[Formulation], prototype: Prototype) -> list[str]:
    """The constraints in `domain=` as a verdict shows them."""
    view = ProductView(prototype.sample)
    words = Words(prototype.sample, view, numbers_of(prototype.formulation))
    return [words.text(each) for each in dual_of(cls, prototype, view).domain]


def texts_of_domain(cls: type[Formulation], prototypes: Sequence[Prototype], slot: Slot) -> Part:
    """The text of one constraint in `domain=`."""
    found = set()
    for prototype in prototypes:
        texts = domain_texts(cls, prototype)
        if isinstance(slot, int) and slot < len(texts):
            found.add(texts[slot])
    return Part(names=frozenset(found))


def part_of_slot(cls: type[Formulation], prototype: Prototype, slot: Slot) -> Part:
    """A constraint by its name or text, the multiplier that it keeps in its cone, and what that one is about."""
    program = dual_of(cls, prototype)
    primal = prototype.formulation.primal(ProductView(prototype.sample))
    names = {slot} if isinstance(slot, str) else {domain_texts(cls, prototype)[slot]}
    for name, multiplier in {**program.variables, **program.multipliers}.items():
        if name in primal.cones and opposite(cone_of(slots(program)[slot]).residual, multiplier):
            names.add(name)
            about = primal.constraints[name].variables()
            names |= {about[0].name()} if len(about) == 1 else set()
    return Part(names=frozenset(names))


def opposite(residual: cp.Expression, multiplier: cp.Expression) -> bool:
    """Whether one expression is a negative multiple of another."""
    if residual.shape != multiplier.shape:
        return False
    rng = np.random.default_rng(5)
    variables = {v.id: v for v in [*residual.variables(), *multiplier.variables()]}
    points = [{v: rng.uniform(0.5, 1.5, v.shape) for v in variables.values()} for _ in range(3)]
    r, m = (np.array([evaluated(e, point) for point in points]).ravel() for e in (residual, multiplier))
    return bool(r @ m < 0 and np.allclose(r * (m @ m), (r @ m) * m, atol=1e-9 * np.max(np.abs(r)) * (m @ m)))


def spurious(cls: type[Formulation], prototypes: Sequence[Prototype]) -> Iterator[Mutant]:
    """z >= 0 and z <= 0 for each dual variable without a sign; a tighter copy of each inequality that has a side."""
    program = dual_of(cls, prototypes[0])
    made: list[tuple[str, Change]] = []
    for name in unsigned(cls, prototypes[0]):
        made.append((f"{name} >= 0", _added(lambda p, name=name: p.variables[name] >= 0)))
        made.append((f"{name} <= 0", _added(lambda p, name=name: p.variables[name] <= 0)))
    for slot, constraint in slots(program).items():
        if isinstance(cone_of(constraint), NonNegative) and has_side(constraint):
            tighter = _added(lambda p, slot=slot: tightened(slots(p)[slot]))
            made.append((f"a tighter copy of {slot if isinstance(slot, str) else shown(constraint)}", tighter))
    for words, change in made:
        mutated = with_dual(cls, change)
        part = texts_of_domain(mutated, prototypes, len(program.domain))
        yield Mutant(f"{cls.__name__}: {words} added", "spurious constraint", mutated, part)


def unsigned(cls: type[Formulation], prototype: Prototype) -> list[str]:
    """The dual variables of which no constraint is a sign."""
    view = ProductView(prototype.sample)
    program = dual_of(cls, prototype, view)
    plain = {name: v for name, v in program.variables.items() if v.id not in view.leaves}
    residuals = [cone_of(c).residual for c in slots(program).values() if isinstance(cone_of(c), NonNegative)]
    return [name for name, v in plain.items() if not any(opposite(r, v) or opposite(-r, v) for r in residuals)]


def tightened(constraint: Constraint) -> Constraint:
    """residual <= 0 with its constant moved by half of its size."""
    residual = cone_of(constraint).residual
    return residual + np.abs(at_zero(residual)) / 2 <= 0


def _added(make: Callable[[Program], Constraint]) -> Change:
    return lambda program: rebuilt(program, domain=[*program.domain, make(program)])


# Multipliers and recovery.


def eliminated(cls: type[Formulation], prototypes: Sequence[Prototype]) -> Iterator[Mutant]:
    """Each eliminated multiplier doubled, its sign flipped, its constant dropped, raised by 1."""
    for name, expression in dual_of(cls, prototypes[0]).multipliers.items():
        changes: dict[str, Callable[[cp.Expression], cp.Expression]] = {
            "doubled": lambda e: 2 * e,
            "with its sign flipped": lambda e: -e,
            "raised by 1": lambda e: e + 1,
        }
        if np.any(at_zero(expression)):
            changes["without its constant"] = lambda e: e - at_zero(e)
        for words, change in changes.items():
            mutated = with_dual(cls, _multiplier_changed(name, change))
            label = f"{cls.__name__}: the eliminated multiplier {name} {words}"
            yield Mutant(label, "eliminated multiplier", mutated, Part(names=frozenset({name})))


def _multiplier_changed(name: str, change: Callable[[cp.Expression], cp.Expression]) -> Change:
    return lambda p: rebuilt(p, multipliers={**p.multipliers, name: change(p.multipliers[name])})


def shifted_by_its_size(value: Any) -> Any:
    """A number or an array moved as far as it is large."""
    size = float(np.max(np.abs(value), initial=0.0))
    return np.asarray(value) + (size or 1.0)


def recovery(cls: type[Formulation], prototypes: Sequence[Prototype]) -> Iterator[Mutant]:
    """Each recovered variable doubled, its sign flipped, and, where it is a number, shifted by its size."""
    if cls.recover is Formulation.recover:
        return
    primal = prototypes[0].formulation.primal(view := ProductView(prototypes[0].sample))
    names = [*view.weights, *(name for name, v in primal.variables.items() if v.id not in view.leaves)]
    for name in names:
        changes: dict[str, Callable[[Any], Any]] = {
            "doubled": lambda value: 2 * value,
            "with its sign flipped": lambda value: -1 * value,
        }
        if name not in view.weights:
            changes["shifted by its size"] = shifted_by_its_size
        for words, change in changes.items():
            mutated = subclass(cls, recover=_recovery_changed(cls, name, change))
            part = Part(recovered=frozenset({name}))
            yield Mutant(f"{cls.__name__}: the recovered {name} {words}", "recovery", mutated, part)


def _recovery_changed(cls: type[Formulation], name: str, change: Callable[[Any], Any]) -> Callable[..., Any]:
    def recover(self: Formulation, s: Any, dual: Any) -> Mapping[str, Any] | None:
        point = cls.recover(self, s, dual)
        return None if point is None else {**point, name: _changed(point[name], change)}

    return recover


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    return change(value if isinstance(value, Combination) else np.asarray(value, dtype=float))


# The kernel, the labels, the size and the parameters, all in the dual alone.


class OtherView:
    """A view of which something is changed; everything else is the view's own."""

    def __init__(self, view: Any) -> None:
        self._view = view

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)


class WithoutLabels(OtherView):
    """Combinations whose coefficients carry a label y_i lose it, because y_i^2 = 1."""

    def combination(self, coefficients: Any, kernel: str | None = None, rows: Any = None) -> Any:
        y = self._view.y if rows is None else self._view.y[rows]
        if coefficients.ndim > 1:
            y = np.tile(y[:, None], (1, coefficients.shape[1]))
        product = cp.multiply if isinstance(coefficients, cp.Expression) else np.multiply
        return self._view.combination(product(y, coefficients), kernel, rows)


class EnlargedKernel(OtherView):
    """K + I in place of K in combinations."""

    def combination(self, coefficients: Any, kernel: str | None = None, rows: Any = None) -> Any:
        gram = enlarged(self._view.sample.gram(kernel))
        if isinstance(coefficients, cp.Expression):
            return self._view._symbolic_combination(gram, coefficients, rows)
        return self._view.numeric(gram, coefficients, rows)


@lru_cache(maxsize=256)
def enlarged(gram: Gram) -> Gram:
    """K + I."""
    return Gram(Precomputed(gram.dense + np.eye(gram.n)), np.arange(gram.n))


class InverseSize(OtherView):
    """1/n in place of n in arithmetic; as a shape, n stays n."""

    @property
    def n(self) -> Any:
        return Reciprocal(self._view.n)


class Reciprocal:
    """A whole number that calculates with its reciprocal.

    >>> n = Reciprocal(4)
    >>> cp.Variable(n).shape, 0.5 * n, 1 / n, (np.ones(2) / n).tolist()
    ((4,), 0.125, 4.0, [4.0, 4.0])
    >>> str(cp.sum(cp.Variable(n, name="x")) / n)
    'Sum(x, None, False) / 0.25'
    """

    # Arrays leave the arithmetic to this class.
    __array_ufunc__ = None

    def __init__(self, n: int) -> None:
        self._n = n

    def __index__(self) -> int:
        return self._n

    def __int__(self) -> int:
        return self._n

    def __float__(self) -> float:
        return 1 / self._n

    def __mul__(self, other: Any) -> Any:
        return other / float(self._n)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return 1 / (float(self._n) * other)

    def __rtruediv__(self, other: Any) -> Any:
        return other * float(self._n)

    def __add__(self, other: Any) -> Any:
        return float(self) + other

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return float(self) - other

    def __rsub__(self, other: Any) -> Any:
        return other - float(self)

    def __pow__(self, power: Any) -> Any:
        return float(self) ** power

    def __eq__(self, other: object) -> bool:
        return other == self._n

    def __lt__(self, other: Any) -> bool:
        return self._n < other

    def __le__(self, other: Any) -> bool:
        return self._n <= other

    def __gt__(self, other: Any) -> bool:
        return self._n > other

    def __ge__(self, other: Any) -> bool:
        return self._n >= other

    def __hash__(self) -> int:
        return hash(self._n)


numbers.Integral.register(Reciprocal)


def views(cls: type[Formulation], prototypes: Sequence[Prototype]) -> Iterator[Mutant]:
    """The labels dropped from quadratic forms, K + I for K, 1/n for n: each where it changes anything."""
    others: list[tuple[str, type[OtherView]]] = []
    if cls.task is Task.CLASSIFICATION:
        others.append(("y dropped from quadratic forms", WithoutLabels))
    others += [("K replaced by K + I", EnlargedKernel), ("n and 1/n exchanged", InverseSize)]
    for words, view in others:
        mutated = subclass(cls, dual=lambda self, s, view=view: cls.dual(self, view(s)))
        yield from _where_changed(cls, mutated, prototypes, words, words, absent=view is not InverseSize)


def parameters(cls: type[Formulation], prototypes: Sequence[Prototype]) -> Iterator[Mutant]:
    """Each parameter replaced by its reciprocal."""
    for field in dataclasses.fields(cls):
        if isinstance(getattr(prototypes[0].formulation, field.name), float):
            mutated = subclass(cls, dual=lambda self, s, name=field.name: cls.dual(with_inverse(self, name), s))
            words = f"{field.name} and 1/{field.name} exchanged"
            yield from _where_changed(cls, mutated, prototypes, words, "parameter and its inverse exchanged")


def with_inverse(formulation: Formulation, name: str) -> Formulation:
    """A copy with one parameter inverted, whether or not its domain allows that; 0 stays 0."""
    value = getattr(formulation, name)
    changed = copy.copy(formulation)
    object.__setattr__(changed, name, 1 / value if value else value)
    return changed


def _where_changed(
    cls: type[Formulation],
    mutated: type[Formulation],
    prototypes: Sequence[Prototype],
    words: str,
    kind: str,
    absent: bool = False,
) -> Iterator[Mutant]:
    part = Part()
    for prototype in prototypes:
        part |= changed_part(cls, mutated, prototype)
    if part != Part():
        part = dataclasses.replace(part, absent=absent and bool(part.terms))
        yield Mutant(f"{cls.__name__}: {words} in the dual", kind, mutated, part)


def changed_part(cls: type[Formulation], mutated: type[Formulation], prototype: Prototype) -> Part:
    """All parts in which two duals of the same structure differ, found by evaluating both."""
    before, after = (pieces(each, prototype) for each in (cls, mutated))
    part = Part()
    for key in before:
        if before[key].shape == after[key].shape and np.allclose(before[key], after[key], rtol=1e-9, atol=1e-12):
            continue
        what, slot = key
        if what == "term":
            part |= Part(terms=frozenset(term_texts(mutated, prototype, [slot])))
        elif what == "constraint":
            part |= part_of_slot(cls, prototype, slot) | texts_of_domain(mutated, [prototype], slot)
        else:
            part |= Part(names=frozenset({slot}))
    return part


def pieces(cls: type[Formulation], prototype: Prototype) -> dict[tuple[str, Any], np.ndarray]:
    """Every part of a dual, evaluated at one point that depends on nothing but the names of the variables."""
    view = ProductView(prototype.sample)
    program = dual_of(cls, prototype, view)
    values = {
        name: np.random.default_rng([*map(ord, name)]).uniform(0.5, 1.5, v.shape)
        for name, v in program.variables.items()
        if v.id not in view.leaves
    }
    view.bind(program.variables, values)
    expressions: dict[tuple[str, Any], cp.Expression] = {
        ("term", i): factor * part for i, (factor, part) in enumerate(additive_terms(program.objective.expr))
    }
    expressions |= {("constraint", slot): cone_of(c).residual for slot, c in slots(program).items()}
    expressions |= {("multiplier", name): e for name, e in program.multipliers.items()}
    return {key: np.asarray(expression.value, dtype=float) for key, expression in expressions.items()}
