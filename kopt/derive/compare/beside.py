"""The claimed dual beside the derived one, on one instance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from kopt.derive.compare.comparison import AGREES, SAME, Comparison, Row
from kopt.derive.compare.constraints import Constraints
from kopt.derive.compare.matching import combination
from kopt.derive.compare.objective import Objective
from kopt.derive.compare.pair import Pair
from kopt.referee.instances import Instance
from kopt.show.mathematics import text


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
    if not plain and np.any(sample.costs != 1):
        bare = replace(instance, sample=sample.relabelled(sample.y, costs=None))
        comparison = _comparison(Pair(bare, plain, seed))
        if not comparison.same:
            return comparison
    return _comparison(Pair(instance, plain, seed))


def _comparison(pair: Pair) -> Comparison:
    """The rows: terms of the objective, constraints, eliminated multipliers."""
    derived, claimed = list(pair.derived_constraints()), list(pair.claimed_constraints())
    constraints = Constraints(derived, claimed, pair.unit, pair.words)
    return Comparison((*Objective(pair).rows(), *constraints.rows(), *_multipliers(pair)))


def _multipliers(pair: Pair) -> Iterator[Row]:
    """What each eliminated multiplier is said to be."""
    theirs = np.array([pair.claimed.multipliers(z) for z in pair.feasible])
    ours = np.array([pair.derived.multipliers(pair.inside(z)) for z in pair.feasible])
    for name, formula in pair.document.eliminated.items():
        place = pair.trial.lagrangian.slices[name]
        derived = f"{text(pair.document.write.multiplier(name))} = {text(formula)}"
        claimed = f"{name} = {pair.words.text(pair.claimed.source(name))}"
        apart = np.max(np.abs(ours - theirs)[:, place])
        fit = combination(theirs[:, place].ravel(), ours[:, place].reshape(-1, 1))
        note = "claimed differs" if fit is None else pair.words.multiple("claimed", float(fit[0]))
        yield Row("multiplier", derived, claimed, SAME if apart <= AGREES * np.max(np.abs(theirs)) else note)
