"""One instance: the Lagrangian, the claimed dual, their two sets of dual points, and points to compare them at."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from kopt.cones import Free, NonNegative, SecondOrder
from kopt.referee.claimed import AffineMap, Claimed
from kopt.referee.conditions import Condition, is_complete, true_conditions
from kopt.referee.instances import Instance
from kopt.referee.lagrangian import Minimum, lagrangian_of
from kopt.referee.region import Region
from kopt.referee.verdict import CounterExample
from kopt.referee.words import Words

NEAREST = 12
MIXED = 20
# Where a solver has to be called at each point.
FEW_NEAREST = 8
FEW_MIXED = 6
INWARDS = 1e-4
IN_CONE = 1e-7
EXPONENTS = np.arange(-8.0, 9.0)


class Trial:
    """A claimed dual and the Lagrangian on one instance.

    map   from z to the multipliers: as claimed, or repaired where an eliminated multiplier turned out wrong
    """

    def __init__(self, instance: Instance, rng: np.random.Generator, multiple: float = 1.0) -> None:
        self.instance = instance
        self.sample = instance.sample
        self.rng = rng
        self.multiple = multiple
        self.lagrangian = lagrangian_of(instance.formulation, instance.sample)
        self.claimed = Claimed(instance.formulation, instance.sample, self.lagrangian)
        self.map = AffineMap(multiple * self.claimed.map.matrix, multiple * self.claimed.map.offset)
        self.true_conditions = true_conditions(self.lagrangian)
        self.complete = is_complete(self.lagrangian)

    @property
    def words(self) -> Words:
        """Texts for this sample."""
        return self.claimed.words

    @property
    def demanded(self) -> list[Condition]:
        """What the Lagrangian demands of z, as far as the multipliers are affine in it."""
        bent = np.zeros(self.lagrangian.width, dtype=bool)
        for name in self.claimed.bent:
            bent[self.lagrangian.slices[name]] = True
        conditions = []
        for each in self.true_conditions:
            straight = ~np.any(each.rows[:, bent] != 0, axis=1)
            if straight.any():
                part = Condition(
                    each.about,
                    each.role,
                    each.equality,
                    each.rows[straight],
                    each.offset[straight],
                    each.size[straight],
                )
                conditions.append(part.after(self.map.matrix, self.map.offset))
        return conditions

    @cached_property
    def unit(self) -> np.ndarray:
        """The size of each entry of z: from the offsets of the conditions, or where the objective's terms balance."""
        conditions = [*self.claimed.conditions, *self.demanded]
        rows = np.vstack([np.zeros((0, self.claimed.width)), *(c.rows for c in conditions)])
        offset = np.abs(np.concatenate([np.zeros(0), *(c.offset for c in conditions)]))
        sizes = []
        for columns in self.claimed.columns.values():
            largest = np.max(np.abs(rows[:, columns]), axis=1, initial=0.0)
            used = (largest > 0) & (offset > 0)
            sizes.append(float(np.median(offset[used] / largest[used])) if used.any() else np.nan)
        known = [size for size in sizes if np.isfinite(size)]
        default = float(np.median(known)) if known else self.balance
        filled = [size if np.isfinite(size) else default for size in sizes]
        return np.repeat(filled, [v.size for v in self.claimed.variables.values()])

    @cached_property
    def balance(self) -> float:
        """The size of z at which the smallest term of the claimed objective has the largest share."""
        direction = np.abs(self.rng.standard_normal(self.claimed.width)) + 0.1
        shares = []
        for exponent in EXPONENTS:
            terms = np.abs(self.claimed.values(10.0**exponent * direction))
            terms = terms[terms > 0]
            shares.append(np.min(terms) / np.sum(terms) if len(terms) and np.isfinite(terms).all() else 0.0)
        best = np.flatnonzero(np.array(shares) >= np.max(shares) / 2)
        return float(10.0 ** EXPONENTS[best[np.argmin(np.abs(EXPONENTS[best]))]])

    @cached_property
    def claimed_region(self) -> Region:
        """The points that the claimed dual allows."""
        return Region(self.claimed.conditions, self.unit, self.curved_constraints())

    @cached_property
    def is_empty(self) -> bool:
        """Whether the claimed dual allows no point at all."""
        return self.claimed_region.nearest(np.zeros(self.claimed.width)) is None

    @cached_property
    def common_region(self) -> Region:
        """The points that the claimed dual allows and at which the Lagrangian may be bounded."""
        return Region([*self.claimed.conditions, *self.demanded], self.unit, self.curved_constraints(true=True))

    def curved_constraints(self, true: bool = False, leaving_out: str = "") -> tuple[cp.Expression, list[Any]] | None:
        """The claimed constraints that are not affine, but for one, with the multipliers' cones if asked."""
        program = self.claimed.in_coordinates
        constraints = [*program.constraints.values(), *program.domain]
        labelled = dict(zip(self.claimed.labels, constraints, strict=True))
        found = [labelled[label] for label in self.claimed.curved if label != leaving_out]
        z = self.stacked
        if true:
            found += self.cone_constraints(z, self.map)
        return (z, found) if found or self.symmetric else None

    @property
    def stacked(self) -> cp.Expression:
        """z as a CVXPY expression of the dual variables."""
        return cp.hstack([cp.vec(v, order="F") for v in self.claimed.explicit.values()])

    @property
    def symmetric(self) -> bool:
        """Whether a dual variable is a symmetric matrix."""
        return any(v.attributes["symmetric"] for v in self.claimed.explicit.values())

    def cone_constraints(self, z: cp.Expression, to_multipliers: AffineMap) -> list[Any]:
        """That the multipliers lie in their cones, where these are not orthants."""
        constraints = []
        for name, cone in self.lagrangian.cones.items():
            if isinstance(cone, Free | NonNegative) or name in self.claimed.bent:
                continue
            place = self.lagrangian.slices[name]
            block = to_multipliers.matrix[place] @ z + to_multipliers.offset[place]
            if isinstance(cone, SecondOrder):
                stacked = cp.reshape(block, (cone.residual.shape[0], -1), order="F")
                constraints.append(cp.SOC(stacked[0], stacked[1:]))
            else:
                constraints.append(cp.reshape(block, cone.residual.shape, order="F") >> 0)
        return constraints

    def multipliers(self, z: np.ndarray) -> np.ndarray:
        """The multipliers that z stands for."""
        m = self.map(z)
        if self.claimed.bent:
            claimed = self.multiple * self.claimed.multipliers(z)
            for name in self.claimed.bent:
                place = self.lagrangian.slices[name]
                m[place] = claimed[place]
        return m

    def in_cones(self, m: np.ndarray) -> bool:
        """Whether multipliers lie in their cones, up to what a solver misses."""
        for name, cone in self.lagrangian.cones.items():
            block = m[self.lagrangian.slices[name]].reshape(cone.residual.shape, order="F")
            if not cone.multiplier_violation(block) <= IN_CONE * float(np.max(np.abs(m))):
                return False
        return True

    @property
    def own(self) -> bool:
        """Whether every dual variable is a multiplier itself."""
        return all(n in self.lagrangian.cones and not self.claimed.eliminated(n) for n in self.claimed.variables)

    @property
    def certain(self) -> bool:
        """Whether the feasible sets can be compared completely, by linear programs."""
        return self.complete and self.own and self.claimed_region.curved is None

    def minimum(self, z: np.ndarray) -> Minimum:
        """The minimum of the Lagrangian at the multipliers that z stands for."""
        return self.lagrangian.minimise(self.multipliers(z))

    def unbounded_at(self, z: np.ndarray) -> tuple[float, float]:
        """The claimed value at a point, and the true one where the Lagrangian is unbounded, in the user's sense."""
        sign = self.claimed.sign
        return sign * float(np.sum(self.claimed.values(z))), -sign * np.inf

    def points(self, region: Region, optimum: np.ndarray | None = None) -> list[np.ndarray]:
        """Points of a region: on its faces, near 0 in the balance of the terms, near the optimum, and mixtures."""
        found = []
        slow = self.lagrangian.remainder is not None
        for i in range(FEW_NEAREST if slow else NEAREST):
            spread = self.unit * [1.0, 3.0, 0.3][i % 3] if i % 4 else np.full_like(self.unit, self.balance)
            start = spread * self.rng.standard_normal(len(self.unit)) * (self.rng.random(len(self.unit)) < 0.8)
            nearest = region.nearest(np.abs(start) if i % 2 else start)
            if nearest is not None:
                found.append(nearest)
        if optimum is not None:
            found.extend(point for point in [region.nearest(optimum)] if point is not None)
        if not found:
            return []
        if region.curved is not None:  # a solver's points miss curved boundaries by its tolerance
            found = [point + INWARDS * (np.mean(found, axis=0) - point) for point in found]
        weights = self.rng.dirichlet(np.full(len(found), 0.4), size=FEW_MIXED if slow else MIXED)
        return [*found, *(weights @ np.array(found))]

    def example(self, z: np.ndarray, claimed: float, true: float) -> CounterExample:
        """A counter-example at a point."""
        grams = {name: gram.dense for name, gram in self.sample.grams.items() if gram.dense.any()}
        return CounterExample(
            parameters=self.instance.parameters,
            grams=dict(zip(["K"], grams.values(), strict=True)) if len(grams) == 1 else grams,
            y=self.sample.y,
            costs=self.sample.costs if np.any(self.sample.costs != 1.0) else None,
            point=self.claimed.by_name(z),
            claimed=claimed,
            true=true,
            extremum="minimum" if self.claimed.sign > 0 else "maximum",
        )
