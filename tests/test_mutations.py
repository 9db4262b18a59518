"""The verifier under mutation: every wrong answer is refused, in the block that names the fault.

A correct answer to each formulation is taken apart into all its numbers (primal variables, weight vectors as
representer coefficients, multipliers), one of them is made wrong, and the record of the answer *as given* must fail
where the fault is, and nowhere that the fault cannot reach. Which constraints and variables a number reaches is read
off the two programs; whether a mutant is wrong at all is decided by `Coordinates`, without the verifier.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import kopt
from kopt.cones import Cone, Free, NonNegative, Semidefinite
from kopt.formulation import Pair
from kopt.gradients import affine_parts
from kopt.polyhedra import feasible_polyhedron, nearby_point, split
from kopt.verify.conditions import Conditions
from kopt.verify.first_order import kinked_variables
from kopt.verify.measure import measure
from kopt.verify.record import Record
from kopt.views import ExplicitView, ProductView
from tests.instances import BY_NAME as FORMULATIONS
from tests.instances import KERNELS, instance

REFUSED_AT = 1e-6
# An answer whose violations and gap are below this, relative, is optimal for the independent check.
LUCKY = 1e-9
# A slack or multiplier below this, relative to the terms beside it, is 0 as far as a mutation can tell.
VANISHING = 1e-4
# How far from the optimum a point called near is, relative, and the gap that it may have at most.
NEAR, NEAR_GAP = 1e-4, 1e-2
# Seeds that are tried for an instance with slacks of every kind.
SEEDS = range(3, 15)
# By this a vector that is 0 is divided instead of by 0.
TINY = 1e-300

Answer = dict[str, np.ndarray]
Place = tuple[str, str]


class Structure:
    """Which names meet in which constraint: read off the declaration, before anything is evaluated."""

    def __init__(self, formulation: kopt.Formulation, sample: kopt.Sample) -> None:
        self.primal_view, self.dual_view = ProductView(sample), ProductView(sample)
        pair = Pair(formulation, self.primal_view, self.dual_view)
        assert pair.dual is not None, "mutations of a primal without a dual are tested apart"
        self.primal, self.dual = pair.primal, pair.dual
        self.cones: Mapping[str, Cone] = self.primal.cones
        self.dual_cones: Mapping[str, Cone] = {**self.dual.cones, **self.dual.domain_cones}
        self.weights = list(self.primal_view.weights)
        leaves = self.primal_view.leaves
        self.plain = {name: v for name, v in self.primal.variables.items() if v.id not in leaves}
        self.dual_variables = [name for name, v in self.dual.variables.items() if v.id not in self.dual_view.leaves]
        assert set(self.dual_variables) <= set(self.cones), "each dual variable is taken to be a multiplier"
        self.eliminated = list(self.dual.multipliers)
        self.equalities = [name for name, cone in self.dual_cones.items() if isinstance(cone, Free)]

    def names_in(self, expression: cp.Expression) -> set[str]:
        """The plain variables and weight vectors of a primal expression."""
        leaves = self.primal_view.leaves
        return {leaves[v.id].name if v.id in leaves else v.name() for v in expression.variables()}

    @cached_property
    def affine(self) -> dict[str, tuple[dict[int, sp.csr_array], np.ndarray]]:
        """Jacobian and offset of the primal constraints that are affine."""
        return {name: affine_parts(c.residual) for name, c in self.cones.items() if c.residual.is_affine()}

    def slopes(self, constraint: str, variable: cp.Variable) -> sp.csr_array:
        """The Jacobian of a primal constraint in a variable; where it is curved, of ones."""
        shape = (self.cones[constraint].residual.size, variable.size)
        if constraint not in self.affine:
            return sp.csr_array(np.ones(shape))
        return self.affine[constraint][0].get(variable.id, sp.csr_array(shape))

    def reached_by(self, variable: str, entry: int | None = None) -> list[str]:
        """The primal constraints in which a weight vector or variable occurs, or one entry of a variable does."""
        reached = [name for name, cone in self.cones.items() if variable in self.names_in(cone.residual)]
        if entry is None or variable in self.weights:
            return reached
        return [name for name in reached if self.slopes(name, self.plain[variable])[:, [entry]].count_nonzero()]

    def curved_in(self, variable: str) -> bool:
        """Whether the Lagrangian's gradient in a variable changes with it: for a vector, where its norm is used."""
        expressions = [self.primal.objective.expr, *(cone.residual for cone in self.cones.values())]
        if variable in self.weights:
            _, *norms = self.primal_view.weights[variable].leaves
            used = {v.id for expression in expressions for v in expression.variables()}
            return any(norm.id in used for norm in norms)
        return any(not e.is_affine() and variable in self.names_in(e) for e in expressions)

    @cached_property
    def slacks(self) -> dict[str, float]:
        """The vectors that loosen every constraint in which they occur, and in which direction they do.

        Residuals, means, values and thresholds are no slacks: an equality defines them, or they loosen one
        constraint and tighten another.
        """
        slacks = {}
        for name, variable in self.plain.items():
            met = [self.cones[c] for c in self.reached_by(name)]
            if variable.size == 1 or not all(isinstance(c, NonNegative) and c.residual.is_affine() for c in met):
                continue
            signs = {sign for c in self.reached_by(name) for sign in np.sign(self.slopes(c, variable).data)}
            if len(signs) == 1:
                slacks[name] = -signs.pop()
        return slacks

    @property
    def others(self) -> list[str]:
        """The plain variables that are no slacks."""
        return [name for name in self.plain if name not in self.slacks]

    def own_bounds(self, slack: str) -> list[str]:
        """The constraints on a slack alone, such as xi >= 0."""
        return [c for c in self.reached_by(slack) if self.names_in(self.cones[c].residual) == {slack}]

    def neutral(self, slack: str) -> np.ndarray:
        """The value of a slack that loosens nothing: its bound, or 0 where it has none."""
        for bound in self.own_bounds(slack):
            jacobian, offset = self.affine[bound]
            return -offset / jacobian[self.plain[slack].id].diagonal()
        return np.zeros(self.plain[slack].size)

    @cached_property
    def kinked(self) -> set[Place]:
        """Variables under an atom with a kink have no gradient; L(x, multipliers) - dual value stands for it."""
        expressions = [self.primal.objective.expr, *(cone.residual for cone in self.cones.values())]
        ids = set().union(*map(kinked_variables, expressions))
        return {("stationarity", name) for name, v in self.primal.variables.items() if v.id in ids}

    def places_of_variable(self, variable: str) -> set[Place]:
        """Where a wrong primal variable can show."""
        places = {(block, c) for c in self.reached_by(variable) for block in ("primal feasibility", "complementarity")}
        if self.curved_in(variable):
            places |= {("stationarity", variable)}
        # The slopes of <w, w> / t change with both. Beyond its domain the objective is infinite, and with it what
        # everything is compared with.
        if variable in {*self.divided, *self.divided.values()}:
            places |= {("stationarity", name) for name in {*self.divided, *self.divided.values()}}
            places |= {("complementarity", c) for c in self.cones}
        if variable in self.names_in(self.primal.objective.expr) | set(self.divided.values()):
            places |= {("gap", "gap")}
        return places

    @cached_property
    def divided(self) -> dict[str, str]:
        """The weight vectors whose squared norm is divided by a variable, and by which."""
        return {name: q.entry[0].name() for name, w in self.primal_view.weights.items() for q in w.quotients}

    def stationarity(self, multiplier: str, entries: np.ndarray | None = None) -> set[Place]:
        """The variables that a multiplier meets, or that the given entries of it meet."""
        residual = self.cones[multiplier].residual
        met = residual.variables()
        if entries is not None:
            met = [v for v in met if self.slopes(multiplier, v)[np.atleast_1d(entries)].count_nonzero()]
        return {("stationarity", name) for v in met for name in self.names_in(v)}

    def places_of_multiplier(self, multiplier: str) -> set[Place]:
        """Where a wrong multiplier can show."""
        places = self.stationarity(multiplier)
        places |= {("stationarity", t) for w, t in self.divided.items() if ("stationarity", w) in places}
        places |= {("complementarity", multiplier), ("dual feasibility", f"multiplier {multiplier}")}
        if multiplier in self.dual_variables:
            places |= {("dual feasibility", name) for name in self.dual_cones}
            places |= {("gap", "gap")}
        return places

    def entries_of_row(self, row: str) -> Iterator[tuple[str, np.ndarray]]:
        """The dual variables in an equality of the dual, and which of their entries occur there."""
        slopes, _ = affine_parts(self.dual_cones[row].residual)
        for name in self.dual_variables:
            variable = self.dual.variables[name]
            matrix = slopes.get(variable.id)
            if matrix is not None:
                yield name, np.reshape(np.abs(matrix).sum(axis=0) > 0, variable.shape, order="F")

    def signed(self) -> list[str]:
        return [name for name, cone in self.cones.items() if isinstance(cone, NonNegative)]


class Coordinates:
    """Both programs in coordinates of feature space, evaluated by CVXPY: whether an answer is optimal.

    Nothing of the verifier is used, neither its view of the sample nor its cones, residuals and scales.
    """

    def __init__(self, formulation: kopt.Formulation, sample: kopt.Sample) -> None:
        self.view = ExplicitView(sample)
        self.primal = formulation.primal(self.view)
        self.dual = formulation.dual(ExplicitView(sample))

    def error(self, answer: Mapping[str, np.ndarray]) -> float:
        """The largest of violations, gap and inconsistency of the eliminated multipliers, in units of the optimum."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._error(answer)

    def _error(self, answer: Mapping[str, np.ndarray]) -> float:
        for name, variable in self.primal.variables.items():
            weight = self.view.weights.get(name)
            value = answer[name] if weight is None else weight.gram.factor.T @ answer[name]
            variable.save_value(np.reshape(value, variable.shape))
        for t in (t for weight in self.view.weights.values() for t in weight.divisors):
            [variable] = t.variables()  # 0/0 is 0
            variable.save_value(np.where(variable.value == 0, TINY, variable.value))
        for name, variable in self.dual.variables.items():
            variable.save_value(np.reshape(answer[name], variable.shape))
        primal, dual = float(self.primal.objective.value), float(self.dual.objective.value)
        errors = [abs(primal - dual) / max(abs(primal), abs(dual), 1e-3)]
        for program in (self.primal, self.dual):
            errors += [np.max(c.violation()) for c in (*program.constraints.values(), *program.domain)]
        for name, expression in self.dual.multipliers.items():
            if name in answer:
                follows = np.reshape(expression.value, np.shape(answer[name]))
                off = np.abs(answer[name] - follows) * self._determined(name)
                errors.append(np.max(off) / max(1.0, np.max(np.abs(follows))))
        return float(np.max(errors))

    def _determined(self, name: str) -> Any:
        """Where a multiplier follows from the others: not that of t >= 0 at 0/0, where the quotient says so as well."""
        divisors = {v.id for weight in self.view.weights.values() for t in weight.divisors for v in t.variables()}
        variables = self.primal.constraints[name].variables()
        if len(variables) == 1 and variables[0].id in divisors and self.primal.constraints[name].shape:
            return variables[0].value > TINY
        return True


def tight(problem: cp.Problem) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # CVXPY: may be inaccurate; both sides are compared instead
        tolerances = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
        return float(problem.solve(solver="CLARABEL", **tolerances))


def taken_apart(certificate: kopt.Certificate) -> Answer:
    """Every number of an answer, under the names that `verify` takes."""
    values = {**certificate.primal, **certificate.dual}
    return {
        name: np.array(value.coefficients if isinstance(value, kopt.Combination) else value, dtype=float)
        for name, value in values.items()
    }


@dataclass(frozen=True)
class Case:
    formulation: kopt.Formulation
    sample: kopt.Sample
    answer: Answer

    @cached_property
    def structure(self) -> Structure:
        return Structure(self.formulation, self.sample)

    @cached_property
    def coordinates(self) -> Coordinates:
        return Coordinates(self.formulation, self.sample)

    @cached_property
    def conditions(self) -> Conditions:
        return Conditions(self.formulation, self.sample)

    def record(self, answer: Answer) -> Record:
        """The record of a complete answer as given, as in its certificate, without the work for bounds and claims."""
        conditions = self.conditions
        dual = {name: answer[name] for name in conditions.dual_names if name in answer}
        with np.errstate(all="ignore"):
            conditions.bind_dual(dual, {name: v for name, v in answer.items() if name in self.structure.cones})
            conditions.bind_primal({name: answer[name] for name in conditions.primal_names})
            return measure(conditions)

    def unit(self, variable: str) -> float:
        """The size of the terms beside which a primal variable stands in its constraints."""
        s = self.structure
        s.primal_view.bind(s.primal.variables, self.answer)
        sizes = []
        for slopes, offset in (s.affine[name] for name in s.reached_by(variable) if name in s.affine):
            values = {v.id: np.abs(v.value).ravel(order="F") for v in s.primal.variables.values()}
            sizes.append(np.max(np.abs(offset) + sum(np.abs(slope) @ values[v] for v, slope in slopes.items())))
        return float(max(sizes))

    def multiplier_unit(self, name: str) -> float:
        """The size of a multiplier, or of all of them where it vanishes."""
        largest = max(np.max(np.abs(self.answer[each])) for each in self.structure.cones)
        own = np.max(np.abs(self.answer[name]))
        return float(own if own > VANISHING * largest else largest)

    def vanishes(self, multiplier: str) -> bool:
        """Whether a multiplier is 0, such as that of a margin's sign where the margin is positive."""
        return bool(np.max(np.abs(self.answer[multiplier])) <= VANISHING * self.multiplier_unit(multiplier))

    @property
    def free(self) -> set[Place]:
        """Vectors that are 0 and divided by 0: every slope is stationary there, up to a condition on the divisor."""
        return {("stationarity", w) for w in self.structure.divided if self.is_zero(w)}

    def is_zero(self, weight: str) -> bool:
        """Whether a weight vector is 0, beside the others."""
        return bool(np.max(np.abs(self.answer[weight])) <= VANISHING * self.largest_weight)

    @property
    def largest_weight(self) -> float:
        """The largest coefficient of all weight vectors."""
        return max(float(np.max(np.abs(self.answer[name]))) for name in self.structure.weights)

    @property
    def dual_variables(self) -> list[str]:
        """The dual variables that are not 0: a factor changes nothing in the others."""
        return [name for name in self.structure.dual_variables if not self.vanishes(name)]

    def slack(self, name: str) -> np.ndarray:
        """By how much a slack loosens its constraints."""
        s = self.structure
        return s.slacks[name] * (self.answer[name] - s.neutral(name))

    @cached_property
    def condition(self) -> float:
        """kappa = sum_i |q_i| ||phi(x_i)|| / ||sum_i q_i phi(x_i)||, where the multipliers pull a vector by q.

        1 where the norm of no vector is used: no vector then follows from the multipliers.
        """
        s, kappas = self.structure, [1.0]
        for name, weight in s.primal_view.weights.items():
            pulls = [(s.slopes(c, weight.values).T, self.answer[c].ravel(order="F")) for c in s.affine]
            lengths = np.sqrt(weight.gram.diagonal)[weight.seen]
            uncancelled = sum(lengths @ (np.abs(slopes) @ np.abs(multiplier)) for slopes, multiplier in pulls)
            pull = weight.spread(sum(slopes @ multiplier for slopes, multiplier in pulls))
            if s.curved_in(name):
                kappas.append(uncancelled / np.sqrt(weight.gram.norm_squared(pull)))
        return float(max(kappas))

    @property
    def near(self) -> float:
        """A relative error of the multipliers after which the gap is at most 2 near kappa^2 <= NEAR_GAP.

        To first order, an error of size t moves w by t kappa ||w|| at most, and the margin of x_i by that times
        ||phi(x_i)||. Where every margin has to be 1, w is lengthened by as much, relative, and ||w||^2 grows by twice
        that: by 2 t kappa^2, because ||w||^2 = sum_i alpha_i makes kappa the mean of ||w|| ||phi(x_i)||. Other machines
        pay less: for a slack its price, for a quadratic term the square of the error.
        """
        return min(NEAR, NEAR_GAP / (2 * self.condition**2))

    @property
    def telling(self) -> bool:
        """Whether slacks of every kind occur."""
        return all(np.max(self.slack(name)) > VANISHING * self.unit(name) for name in self.structure.slacks)

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(7)


@cache
def case(name: str, kernel: str, side: str) -> Case:
    """The correct answer to the first instance that has something to drop in every slack."""
    for seed in SEEDS:
        given = instance(name, kernel, seed)
        structure = Structure(given.formulation, given.sample)
        if any(isinstance(cone, Semidefinite) for cone in structure.dual_cones.values()):
            # CLARABEL leaves 2e-6 in the multipliers on the dual side of a semi-definite pair, and 1e-11 on the other.
            side = "primal"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", kopt.CertificateWarning)  # judged by test_a_correct_answer_is_not_refused
            solution = kopt.solve(given.formulation, given.sample, side=side)
        found = Case(given.formulation, given.sample, taken_apart(solution.certificate))
        if found.telling:
            return found
    raise AssertionError(f"No instance of {name} with the {kernel} kernel has slacks of every kind.")


@dataclass(frozen=True)
class Mutant:
    """A wrong answer, and where it is wrong.

    every   each of these places must fail
    some    at least one of these must fail (where not empty)
    within  no other place may fail (where not None)
    """

    label: str
    answer: Answer
    every: frozenset[Place] = frozenset()
    some: frozenset[Place] = frozenset()
    within: frozenset[Place] | None = None


def mutated(case: Case, name: str, change: Callable[[np.ndarray], np.ndarray]) -> Answer:
    answer = dict(case.answer)
    answer[name] = change(np.array(answer[name]))
    return answer


def with_entry(index: int, change: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    def changed(values: np.ndarray) -> np.ndarray:
        values.flat[index] = change(values.flat[index])
        return values

    return changed


def feasible_or_complementary(case: Case, variable: str, entry: int | None = None) -> frozenset[Place]:
    reached = case.structure.reached_by(variable, entry)
    return frozenset((block, c) for c in reached for block in ("primal feasibility", "complementarity"))


def noise(case: Case, name: str, size: float) -> np.ndarray:
    """Factors near 1, by chance, none of them too near."""
    rng, shape = case.rng(), case.answer[name].shape
    return 1 + size * rng.choice([-1, 1], shape) * rng.uniform(0.5, 1.5, shape)


def dual_variable_noise(case: Case) -> Iterator[Mutant]:
    s = case.structure
    for name in case.dual_variables:
        factors = noise(case, name, 1e-3)
        changed = np.flatnonzero(np.abs(case.answer[name]) > VANISHING * case.multiplier_unit(name))
        # Noise is stationary in no direction, so that every variable that the changed entries meet must say so; where
        # the difference to the dual value stands for a gradient, only to second order.
        yield Mutant(
            f"{name} with relative noise 1e-3",
            mutated(case, name, lambda v, factors=factors: v * factors),
            every=frozenset(s.stationarity(name, changed) - s.kinked - case.free),
            within=frozenset(s.places_of_multiplier(name)),
        )


def dual_variable_entry(case: Case) -> Iterator[Mutant]:
    s = case.structure
    for name in s.dual_variables:
        unit = case.multiplier_unit(name)
        index = int(case.rng().integers(case.answer[name].size))
        yield Mutant(
            f"{name}[{index}] changed",
            mutated(case, name, with_entry(index, lambda v, unit=unit: v + 0.01 * unit)),
            every=frozenset(s.stationarity(name, index) - s.kinked - case.free),
            within=frozenset(s.places_of_multiplier(name)),
        )


def dual_variable_scaled(case: Case) -> Iterator[Mutant]:
    s = case.structure
    for name in case.dual_variables:
        yield Mutant(
            f"{name} times 1.01",
            mutated(case, name, lambda v: 1.01 * v),
            some=frozenset(s.stationarity(name)),
            within=frozenset(s.places_of_multiplier(name)),
        )


def dual_variable_followed(case: Case) -> Iterator[Mutant]:
    """Wrong dual variables to which the eliminated multipliers are consistent."""
    s = case.structure
    for name in case.dual_variables:
        factors = noise(case, name, 1e-3)
        answer = mutated(case, name, lambda v, factors=factors: v * factors)
        within = s.places_of_multiplier(name).union(*(s.places_of_multiplier(m) for m in s.eliminated))
        yield Mutant(
            f"{name} with noise, {', '.join(s.eliminated) or 'nothing'} left to follow",
            {key: value for key, value in answer.items() if key not in s.eliminated},
            every=frozenset({("stationarity", w) for w in s.weights} & s.stationarity(name)) - case.free,
            some=frozenset(s.stationarity(name)),
            within=frozenset(within),
        )


def row_broken(case: Case) -> Iterator[Mutant]:
    s = case.structure
    for row in s.equalities:
        sizes = {name: np.abs(case.answer[name]) * entries for name, entries in s.entries_of_row(row)}
        variable = max(sizes, key=lambda name: np.max(sizes[name]))
        index = int(np.argmax(sizes[variable]))
        # A row that carries no name of a variable is stationarity in a weight vector, in coordinates.
        named = {("stationarity", row)} if row in s.dual.cones else set()
        yield Mutant(
            f"the row of {row} broken",
            mutated(case, variable, with_entry(index, lambda v: 0.9 * v)),
            every=frozenset({("dual feasibility", row), *named}),
            within=frozenset(s.places_of_multiplier(variable)),
        )


def sign_flipped(case: Case) -> Iterator[Mutant]:
    s = case.structure
    for name in s.cones:
        if case.vanishes(name):
            continue
        index = int(np.argmax(np.abs(case.answer[name])))
        signed = name in s.signed()
        sign = {("dual feasibility", f"multiplier {name}")} if signed else s.stationarity(name, index)
        yield Mutant(
            f"sign of {name}[{index}] flipped",
            mutated(case, name, with_entry(index, lambda v: -v)),
            every=frozenset(sign),
            within=frozenset(s.places_of_multiplier(name)),
        )


def all_negated(case: Case) -> Iterator[Mutant]:
    s = case.structure
    answer = {name: -value if name in s.cones else value for name, value in case.answer.items()}
    signed = [name for name in s.signed() if not case.vanishes(name)]
    free = [name for name in s.cones if name not in s.signed()]
    # The gradient of the Lagrangian becomes twice that of the objective, which is 0 in the other variables.
    in_objective = {("stationarity", name) for name in s.names_in(s.primal.objective.expr)}
    every = {("dual feasibility", f"multiplier {name}") for name in signed}
    every |= in_objective.intersection(set().union(*(s.stationarity(name) for name in free)))
    yield Mutant("all multipliers negated", answer, frozenset(every))


def eliminated_inconsistent(case: Case) -> Iterator[Mutant]:
    s = case.structure
    for name in s.eliminated:
        index = int(np.argmin(case.answer[name]))
        unit = case.multiplier_unit(name)
        yield Mutant(
            f"{name}[{index}] inconsistent",
            mutated(case, name, with_entry(index, lambda v, unit=unit: v + 0.01 * unit)),
            every=frozenset(s.stationarity(name, index)),
            within=frozenset(s.places_of_multiplier(name)),
        )


def variable_shifted(case: Case) -> Iterator[Mutant]:
    """A wrong offset, radius, margin, threshold, residual or mean, in both directions."""
    s = case.structure
    for name in s.others:
        index = int(case.rng().integers(case.answer[name].size))
        step = 0.01 * case.unit(name)
        for sign in (1, -1):
            yield Mutant(
                f"{name}[{index}] shifted by {sign * 0.01:+g}",
                mutated(case, name, with_entry(index, lambda v, shift=sign * step: v + shift)),
                some=feasible_or_complementary(case, name, index),
                within=frozenset(s.places_of_variable(name)),
            )


def slack_dropped(case: Case) -> Iterator[Mutant]:
    s = case.structure
    for name in s.slacks:
        index, neutral = int(np.argmax(case.slack(name))), s.neutral(name)
        shared = [c for c in s.reached_by(name, index) if c not in s.own_bounds(name)]
        yield Mutant(
            f"{name}[{index}] dropped",
            mutated(case, name, with_entry(index, lambda _, value=neutral[index]: value)),
            every=frozenset(("primal feasibility", c) for c in shared),
            within=frozenset(s.places_of_variable(name)),
        )


def slack_negative(case: Case) -> Iterator[Mutant]:
    s = case.structure
    for name in s.slacks:
        alone = s.own_bounds(name)
        # Without a bound of its own a negative slack breaks the constraint that defines it.
        index = int(np.argmin(case.slack(name)) if alone else np.argmax(case.slack(name)))
        value = s.neutral(name)[index] - s.slacks[name] * 0.01 * np.max(case.slack(name))
        yield Mutant(
            f"{name}[{index}] negative",
            mutated(case, name, with_entry(index, lambda _, value=value: value)),
            every=frozenset(("primal feasibility", c) for c in (alone or s.reached_by(name, index))),
            within=frozenset(s.places_of_variable(name)),
        )


def wrong_weight(case: Case, name: str, label: str, change: Callable[[np.ndarray], np.ndarray]) -> Mutant:
    """Stationarity shows a wrong weight vector, or the constraints alone where its norm is not used."""
    s = case.structure
    curved = s.curved_in(name)
    return Mutant(
        label,
        mutated(case, name, change),
        every=frozenset({("stationarity", name)} if curved else ()),
        some=frozenset() if curved else feasible_or_complementary(case, name),
        within=frozenset(s.places_of_variable(name)),
    )


def weight_scaled(case: Case) -> Iterator[Mutant]:
    for name in case.structure.weights:
        if not case.is_zero(name):
            yield wrong_weight(case, name, f"{name} times 1.001", lambda v: 1.001 * v)


def weight_entry(case: Case) -> Iterator[Mutant]:
    for name in case.structure.weights:
        index = int(case.rng().integers(case.answer[name].size))
        size = float(np.max(np.abs(case.answer[name])))
        step = 0.01 * (case.largest_weight if case.is_zero(name) else size)
        change = with_entry(index, lambda v, step=step: v + step)
        yield wrong_weight(case, name, f"coefficient {index} of {name} changed", change)


def dual_variable_missing(case: Case) -> Iterator[Mutant]:
    s = case.structure
    for name in s.dual_variables:
        yield Mutant(
            f"{name} missing",
            {key: value for key, value in case.answer.items() if key != name},
            every=frozenset({("dual feasibility", f"multiplier {name}"), *s.stationarity(name)}),
        )


def not_a_number(case: Case) -> Iterator[Mutant]:
    s = case.structure
    for name in case.answer:
        if name in s.cones:
            every = {("dual feasibility", f"multiplier {name}"), ("complementarity", name), *s.stationarity(name, 0)}
        else:
            every = feasible_or_complementary(case, name, 0)
        answer = mutated(case, name, with_entry(0, lambda _: np.nan))
        yield Mutant(f"NaN in {name}", answer, frozenset(every))


def infinite(case: Case) -> Iterator[Mutant]:
    s = case.structure
    for i, name in enumerate(case.answer):
        # An infinite number may have the right sign: what it is multiplied with or added to shows it.
        every = s.stationarity(name, 0) if name in s.cones else {("complementarity", c) for c in s.reached_by(name, 0)}
        value = np.inf if i % 2 else -np.inf
        yield Mutant(f"{value} in {name}", mutated(case, name, with_entry(0, lambda _, v=value: v)), frozenset(every))


@dataclass(frozen=True)
class Needs:
    """What a machine must have for a mutation, and what is said of one that has none."""

    found: Callable[[Structure], object]
    without: str = ""


MUTATIONS: dict[Callable[[Case], Iterator[Mutant]], Needs] = {
    dual_variable_noise: Needs(lambda s: True),
    dual_variable_entry: Needs(lambda s: True),
    dual_variable_scaled: Needs(lambda s: True),
    dual_variable_followed: Needs(lambda s: True),
    row_broken: Needs(lambda s: s.equalities, "its dual has no equality to break"),
    sign_flipped: Needs(lambda s: True),
    all_negated: Needs(lambda s: True),
    eliminated_inconsistent: Needs(lambda s: s.eliminated, "its dual eliminates no multiplier"),
    variable_shifted: Needs(lambda s: s.others, "its primal has no variables but weight vectors and slacks"),
    slack_dropped: Needs(lambda s: s.slacks, "its primal has no slack variables"),
    slack_negative: Needs(lambda s: s.slacks, "its primal has no slack variables"),
    weight_scaled: Needs(lambda s: s.weights, "its primal has no weight vector"),
    weight_entry: Needs(lambda s: s.weights, "its primal has no weight vector"),
    dual_variable_missing: Needs(lambda s: True),
    not_a_number: Needs(lambda s: True),
    infinite: Needs(lambda s: True),
}


class Tally:
    tried: ClassVar[Counter[str]] = Counter()
    refused: ClassVar[Counter[str]] = Counter()
    located: ClassVar[Counter[str]] = Counter()
    lucky: ClassVar[Counter[str]] = Counter()


def judge(kind: str, case: Case, mutant: Mutant) -> str | None:
    """None if the mutant is refused in the right place or not wrong at all; otherwise what went wrong."""
    if all(np.isfinite(value).all() for value in mutant.answer.values()) and set(mutant.answer) == set(case.answer):
        error = case.coordinates.error(mutant.answer)
        if error <= LUCKY:
            Tally.tried[kind] += 1
            Tally.lucky[kind] += 1
            return None
    Tally.tried[kind] += 1
    failures = {(block, name) for block, name, _ in case.record(mutant.answer).failures(REFUSED_AT)}
    if not failures:
        return f"{mutant.label}: not refused"
    Tally.refused[kind] += 1
    if not mutant.every <= failures:
        return f"{mutant.label}: not located, {sorted(mutant.every - failures)} missing among {sorted(failures)}"
    if mutant.some and not mutant.some & failures:
        return f"{mutant.label}: not located, none of {sorted(mutant.some)} among {sorted(failures)}"
    if mutant.within is not None and not failures <= mutant.within:
        return f"{mutant.label}: blamed on {sorted(failures - mutant.within)}"
    Tally.located[kind] += 1
    return None


# Machines and mutations take turns, so that each meets both.
INSTANCES = [("gaussian", "dual"), ("linear", "primal")]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
@pytest.mark.parametrize("name", FORMULATIONS)
def test_a_mutant_is_refused_where_it_is_wrong(name, mutation):
    needs = MUTATIONS[mutation]
    if not needs.found(case(name, *INSTANCES[0]).structure):
        pytest.skip(f"{name}: {needs.without}")
    turn = list(FORMULATIONS).index(name) + list(MUTATIONS).index(mutation)
    kernel, side = INSTANCES[turn % len(INSTANCES)]
    correct = case(name, kernel, side)
    mutants = list(mutation(correct))
    objections = [f"{kernel}, {o}" for mutant in mutants if (o := judge(mutation.__name__, correct, mutant))]
    if not mutants and not correct.dual_variables:
        pytest.skip(f"{name}: all its dual variables are 0 at the optimum, and a factor changes nothing")
    assert mutants, "the instance offers nothing to mutate"
    assert not objections, "\n".join(objections)


@pytest.mark.parametrize("name", FORMULATIONS)
def test_the_record_is_that_of_the_certificate(name):
    """What `judge` looks at is what `kopt.verify` refuses, also where a number is missing or not finite."""
    correct = case(name, *INSTANCES[0])
    finite = dual_variable_noise if correct.dual_variables else dual_variable_entry
    for mutation in (finite, not_a_number, infinite):
        mutant = list(mutation(correct))[-1]
        certificate = kopt.verify(correct.formulation, correct.sample, mutant.answer)
        assert list(certificate.as_given) == list(correct.record(mutant.answer))
        assert not certificate.holds(REFUSED_AT)
        assert mutation is finite or certificate.as_given.worst == np.inf


@pytest.mark.parametrize(("kernel", "side"), INSTANCES)
@pytest.mark.parametrize("name", FORMULATIONS)
def test_a_correct_answer_is_not_refused(name, kernel, side):
    correct = case(name, kernel, side)
    certificate = kopt.verify(correct.formulation, correct.sample, correct.answer)
    assert certificate.holds(REFUSED_AT), str(certificate)
    assert correct.coordinates.error(correct.answer) <= 1e-5


def test_an_offset_moved_within_its_interval_is_still_right():
    """Luck, recognised without the verifier: all multipliers at their bound, so that b has an interval."""
    X = np.array([[-3.0], [-2.0], [2.0], [3.5]])
    y = np.array([-1.0, -1.0, 1.0, 1.0])
    C = 1e-3
    w = C * y @ X[:, 0]
    values = w * X[:, 0]
    objectives = []
    for b in (-0.3, 0.0, 0.2):
        xi = np.maximum(0.0, 1 - y * (values + b))
        objectives.append(0.5 * w**2 + C * xi.sum())
        answer = {"w": C * y, "b": b, "xi": xi, "alpha": np.full(4, C), "mu": np.zeros(4)}
        certificate = kopt.verify(FORMULATIONS["SoftMargin"](C=C), kopt.Sample(X, y), answer)
        assert certificate.holds(1e-12), str(certificate)
    assert np.ptp(objectives) <= 1e-15
    # Beyond the interval the same step is a fault.
    xi = np.maximum(0.0, 1 - y * (values + 1.5))
    outside = {"w": C * y, "b": 1.5, "xi": xi, "alpha": np.full(4, C), "mu": np.zeros(4)}
    failures = kopt.verify(FORMULATIONS["SoftMargin"](C=C), kopt.Sample(X, y), outside).as_given.failures(REFUSED_AT)
    assert ("complementarity", "alpha") in {(block, name) for block, name, _ in failures}


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
@pytest.mark.parametrize("name", ["UnitHardMargin", "UnitSoftMargin", "UnitNuSoftMargin"])
def test_an_optimum_with_a_vanishing_weight_vector_is_not_refused(name, kernel):
    """Every point carries both labels: w = 0 and lambda = 0 are optimal, and the optimum is 0, by hand."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(5, 2))
    sample = kopt.Sample(np.vstack([Z, Z]), np.repeat([1.0, -1.0], 5), kernel=KERNELS[kernel])
    weights = rng.uniform(0.5, 1.0, size=5)
    alpha = np.tile(weights / (2 * weights.sum()), 2)
    answer = {"w": np.zeros(10), "b": 0.0, "gamma": 0.0, "alpha": alpha, "lambda": 0.0}
    formulation = FORMULATIONS[name]()
    if name != "UnitHardMargin":
        bound = 1.0 if name == "UnitSoftMargin" else 1 / (0.5 * 10)
        answer |= {"xi": np.zeros(10), "mu": bound - alpha}
    certificate = kopt.verify(formulation, sample, answer)
    assert certificate.holds(REFUSED_AT), str(certificate)


def test_without_a_dual_a_missing_multiplier_counts_as_infinite():
    class PrimalOnly(FORMULATIONS["SoftMargin"]):
        def dual(self, s):
            return None

    correct = case("SoftMargin", "gaussian", "dual")
    formulation = PrimalOnly(C=correct.formulation.C)
    assert kopt.verify(formulation, correct.sample, correct.answer).holds(REFUSED_AT)
    for name in ("alpha", "mu"):
        answer = {key: value for key, value in correct.answer.items() if key != name}
        certificate = kopt.verify(formulation, correct.sample, answer)
        assert not certificate.holds(REFUSED_AT)
        assert certificate.as_given.dual_feasibility[f"multiplier {name}"].relative == np.inf
        assert certificate.as_given.complementarity[name].relative == np.inf


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", FORMULATIONS)
def test_dual_variables_alone_that_are_not_finite_are_refused_by_name(name, value):
    """Nothing can be recovered from them: either no certificate holds, or the refusal says which number it is."""
    correct = case(name, "gaussian", "dual")
    variables = correct.structure.dual_variables
    answer = {variable: np.array(correct.answer[variable]) for variable in variables}
    answer[variables[0]].flat[-1] = value
    blamed = []
    try:
        certificate = kopt.verify(correct.formulation, correct.sample, answer)
        blamed = [where for _, where, residual in certificate.as_given if residual.relative == np.inf]
        assert not certificate.holds(REFUSED_AT)
    except kopt.InputError as error:
        blamed = [error.what]
    assert any(variables[0] in where for where in blamed), blamed


LOOSE = {
    "SCS-1e-2-dual": ("SCS", "dual", {"eps": 1e-2}),
    "SCS-1e-3-primal": ("SCS", "primal", {"eps": 1e-3}),
    "OSQP-default-primal": ("OSQP", "primal", {"eps_abs": 1e-3, "eps_rel": 1e-3, "polishing": False}),
    "OSQP-25-iterations-dual": ("OSQP", "dual", {"max_iter": 25, "polishing": False}),
}


@pytest.mark.parametrize("loose", LOOSE)
@pytest.mark.parametrize("name", FORMULATIONS)
def test_a_loose_answer_of_a_solver_is_refused(name, loose):
    solver, side, options = LOOSE[loose]
    correct = case(name, "gaussian", "dual")
    problem = correct.formulation.problem(correct.sample, side)
    if solver == "OSQP" and not problem.is_qp():
        pytest.skip(f"OSQP solves quadratic programs only, and the {side} of {name} is none")
    if solver == "SCS" and not problem.constraints:
        pytest.skip(f"the {side} of {name} has no constraints, and SCS asks for a cone")
    structure = correct.structure
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # CVXPY: the solution may be inaccurate
        problem.solve(solver=solver, **options)
    answer = {}
    for variable in problem.variables():
        is_weight = side == "primal" and variable.name() in structure.weights
        gram = structure.primal_view.weights[variable.name()].gram if is_weight else None
        answer[variable.name()] = variable.value if gram is None else gram.coefficients(variable.value)
    if side == "primal":
        for (multiplier, cone), constraint in zip(structure.cones.items(), problem.constraints, strict=False):
            answer[multiplier] = cone.from_cvxpy(constraint.dual_value)
    completed = {**correct.answer, **answer}
    if side == "dual":  # what the solver did not say is right, so that the error is its own
        completed = {key: value for key, value in completed.items() if key not in structure.eliminated}
    error = correct.coordinates.error(completed)
    Tally.tried["loose"] += 1
    certificate = kopt.verify(correct.formulation, correct.sample, answer)
    if certificate.holds(REFUSED_AT):
        assert error <= 1e-6, f"accepted although its error is {error:.1e}\n{certificate}"
        Tally.lucky["loose"] += 1
    else:
        Tally.refused["loose"] += 1
        Tally.located["loose"] += 1
        assert error >= 1e-12, f"refused although its error is {error:.1e}\n{certificate}"


def dual_points(correct: Case) -> Iterator[tuple[str, Answer]]:
    """Dual variables of every kind; those named "feasible" are so by construction."""
    rng = correct.rng()
    s = correct.structure
    variables = {name: s.dual.variables[name] for name in s.dual_variables}
    best = np.concatenate([correct.answer[name].ravel(order="F") for name in variables])
    size = len(best)
    points = {
        "zeros": np.zeros(size),
        "huge": np.full(size, 1e12),
        "random signs": rng.standard_normal(size),
        "scale 1e6": 1e6 * rng.random(size),
        "one entry": np.eye(size)[size // 2],
        "near optimal": best * (1 + correct.near * rng.uniform(-1, 1, size)),
    }
    polyhedron = feasible_polyhedron(s.dual, variables)
    for factor in (1.0, 1e-3):
        anywhere = factor * np.max(np.abs(best)) * rng.random(size)
        if polyhedron is not None:
            points[f"feasible {factor:g}"] = nearby_point(anywhere, polyhedron)
            continue
        near = correct.formulation.repair(s.dual_view, kopt.Point(split(anywhere, variables)))
        points[f"feasible {factor:g}"] = np.concatenate([np.ravel(near[name], order="F") for name in variables])
    for label, point in points.items():
        yield label, split(point, variables)


def repaired(correct: Case, answer: Answer) -> np.ndarray:
    """Dual variables moved by the formulation's own rule, where the feasible set is no polyhedron."""
    moved = correct.formulation.repair(correct.structure.dual_view, kopt.Point(answer))
    return np.concatenate([np.ravel(moved[name], order="F") for name in answer])


@cache
def optimum(name: str, kernel: str, side: str) -> tuple[float, float]:
    """The tight values of both sides, the smaller first."""
    correct = case(name, kernel, side)
    values = [tight(correct.formulation.problem(correct.sample, each)) for each in ("primal", "dual")]
    assert np.ptp(values) <= 1e-7 * max(1.0, *np.abs(values))
    return min(values), max(values)


@pytest.mark.parametrize("name", FORMULATIONS)
def test_the_repaired_bounds_contain_the_optimum(name):
    kernel, side = INSTANCES[list(FORMULATIONS).index(name) % len(INSTANCES)]
    correct = case(name, kernel, side)
    below, above = optimum(name, kernel, side)
    accuracy = (above - below) + 1e-10 * max(1.0, abs(above))
    for label, answer in dual_points(correct):
        bounds = kopt.verify(correct.formulation, correct.sample, answer).bounds
        assert bounds.lower <= above + accuracy, f"{label}: {bounds} against {above!r}"
        assert bounds.upper >= below - accuracy, f"{label}: {bounds} against {below!r}"
        assert np.isfinite(bounds.lower if correct.structure.primal.sign > 0 else bounds.upper), f"{label}: {bounds}"
        for variable, value in answer.items():
            correct.coordinates.dual.variables[variable].save_value(value)
        program = correct.coordinates.dual
        violation = max((np.max(c.violation()) for c in (*program.constraints.values(), *program.domain)), default=0.0)
        size = max(1.0, *(np.max(np.abs(value)) for value in answer.values()))
        if label.startswith("feasible"):
            assert violation <= 1e-13 * size
            assert bounds.moved <= 1e-15 * size, f"{label}: {bounds}"
        elif violation > 1e-12 * size:
            assert bounds.moved > 0, f"{label}: {bounds}"
        if label == "near optimal":
            assert bounds.relative_gap <= 2 * correct.near * correct.condition**2, f"{label}: {bounds}"


def test_how_many_mutants_were_refused_and_located():
    if not Tally.tried:
        pytest.skip("no mutant was tried in this run")
    tried, refused, located, lucky = (
        sum(count.values()) for count in (Tally.tried, Tally.refused, Tally.located, Tally.lucky)
    )
    print(f"\n{tried} mutants tried, {lucky} of them right by luck, {refused} refused, {located} located")
    for kind in Tally.tried:
        print(f"  {kind}: {Tally.tried[kind]} tried, {Tally.lucky[kind]} lucky, {Tally.located[kind]} located")
    assert refused == tried - lucky
    assert located == refused
    assert lucky <= tried / 20
