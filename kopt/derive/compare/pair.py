"""The claimed and the derived dual on one instance."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from kopt.derive.compare.comparison import NamedWords
from kopt.derive.compare.confirm import confirmed
from kopt.derive.compare.constraints import Constraint
from kopt.derive.document import Document
from kopt.derive.dual import raw_dual
from kopt.derive.numbers import Numbers, constants_of
from kopt.derive.reading import read_program
from kopt.derive.simplify import simplified
from kopt.derive.trace import Ledger, TracingView, traced
from kopt.formulation import primal_of
from kopt.referee.conditions import Condition
from kopt.referee.instances import Instance, numbers_of
from kopt.referee.region import Region
from kopt.referee.trial import Trial
from kopt.show.mathematics import text
from kopt.views import ProductView

# Letters for the costs per point; the first that is free is taken.
COSTS = ("c", "p", "kappa", "cost")
DRAWS = 20
# Curved constraints are compared along rays through some of the points, in steps of a tenth.
RAYS = 10
STRETCHES = 1.1 ** np.arange(-25.0, 26.0)


class Pair:
    """Both duals as functions of z, the claimed variables.

    claimed, derived   as the referee reads them
    document           the derived dual as it is written, with the numbers of its letters
    free, feasible     points that the derived dual allows, without its equalities and with them
    """

    def __init__(self, instance: Instance, plain: bool, seed: int) -> None:
        self.trial = Trial(instance, np.random.default_rng(seed))
        self.claimed, self.unit = self.trial.claimed, self.trial.unit
        self.words = NamedWords(instance.sample, self.claimed.view, numbers_of(instance.formulation))
        self.document, constants = _written(self.trial, plain)
        self.derived = confirmed(instance, self.document, constants)
        self.numbers = Numbers(self.document, constants)
        places = map(self.trial.lagrangian.slices.__getitem__, self.derived.variables)
        self._places = np.concatenate([np.arange(place.start, place.stop) for place in places])
        conditions = [each for each in map(self._on_z, self.derived.conditions) if each is not None]
        conditions += self.claimed.conditions if self.claimed.bent else []
        self.free = self._points([each for each in conditions if not each.equality])
        self.feasible = self._points(conditions)
        self._rays = [stretch * z for z in self.feasible[:RAYS] for stretch in STRETCHES]

    def inside(self, z: np.ndarray) -> np.ndarray:
        """The variables of the derived dual."""
        return self.claimed.multipliers(z)[self._places]

    def bind(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """The variables of the derived dual by name, and set to these values."""
        values = self.derived.by_name(self.inside(z))
        for name, variable in self.derived.explicit.items():
            variable.save_value(values[name])
        return values

    def derived_constraints(self) -> Iterator[Constraint]:
        """Those with a name first, as in the program."""
        affine = {each.about: self._on_z(each) for each in self.derived.conditions}
        lines = sorted(self.document.dual_lines, key=lambda line: not line.named)
        for label, line in zip(self.derived.labels, lines, strict=True):
            name, violation = line.about if line.named else "", partial(self._derived_violation, label)
            yield Constraint(name, text(line.relation), affine.get(label), violation, self._rays)

    def claimed_constraints(self) -> Iterator[Constraint]:
        """In the order of the declaration."""
        affine = {each.about: each for each in self.claimed.conditions}
        program = self.claimed.program
        constraints = [*program.constraints.items(), *(("", each) for each in program.domain)]
        for label, (name, constraint) in zip(self.claimed.labels, constraints, strict=True):
            violation = partial(self.claimed.violation, label, unit=self.unit)
            yield Constraint(name, self.words.text(constraint), affine.get(label), violation, self._rays)

    def _derived_violation(self, label: str, z: np.ndarray) -> float:
        return self.derived.violation(label, self.inside(z), self.unit)

    def _on_z(self, condition: Condition) -> Condition | None:
        """A condition on the variables of the derived dual as one on z; None where they are not affine in z."""
        columns = self.derived.columns
        if any(condition.rows[:, columns[name]].any() for name in self.claimed.bent if name in columns):
            return None
        return condition.after(self.claimed.map.matrix[self._places], self.claimed.map.offset[self._places])

    def _points(self, conditions: list[Condition]) -> list[np.ndarray]:
        """Points of a region; any points where it has none."""
        found = self.trial.points(Region(conditions, self.unit))
        return found or list(self.unit * self.trial.rng.normal(0.5, 1.0, (DRAWS, len(self.unit))))


def _written(trial: Trial, plain: bool) -> tuple[Document, dict[str, Any]]:
    """The derivation on an instance, and the numbers that its letters stand for."""
    formulation, sample, ledger = trial.instance.formulation, trial.sample, Ledger()
    if plain:
        reading = read_program(primal_of(formulation, ProductView(sample)), ledger)
        constants: dict[str, Any] = {}
    else:
        primal = trial.lagrangian.primal
        taken = {*primal.variables, *primal.constraints, *vars(formulation)}
        letter = next(each for each in COSTS if each not in taken)
        view = TracingView(sample, ledger, letter if np.any(sample.costs != 1) else "")
        reading = read_program(primal_of(traced(formulation, ledger), view), ledger, view)
        constants = constants_of(formulation, sample, view.letters)
    dual = simplified(raw_dual(reading))
    if not dual.eliminated.keys().isdisjoint(trial.claimed.variables):
        dual = raw_dual(reading)  # the claim keeps a multiplier that a person would eliminate
    return Document(reading, raw_dual(reading), dual), constants
