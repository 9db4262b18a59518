"""A machine for one kernel on weighted sums of several, solved for given weights, and how far these are from best."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from formulations.kernel_learning.solvers.weight_set import WeightSet
from kopt import Formulation
from kopt.gram import Gram
from kopt.gram.gram import MANY_ENTRIES
from kopt.gram.mixture import Mixture
from kopt.separable import SeparableProgram
from kopt.solvers import Problem, Watch
from kopt.solvers.descent import UNBOUNDED, Descent

Vector = np.ndarray


@dataclass(frozen=True, eq=False)
class Tried:
    """Weights mu and coefficients c, in the units of a program that is minimised over c and maximised over mu.

    gram        sum_k mu_k K_k
    images, q   K_k c and c' K_k c
    slope       of the objective in c without its terms width |c|, less the multipliers of the sums
    inner_gap   how far c may be from the best for these weights
    lower       a bound on the optimum for these weights: one on the optimum for the best weights as well
    upper       the objective at the best weights for c: a bound on the optimum for the best weights
    recovered   the gap at the weights that a certificate derives from c: the best for q where these are unique, and
                otherwise some that are at least as good as mu
    """

    mu: Vector
    c: Vector
    gram: Mixture
    images: Vector
    q: Vector
    slope: Vector
    inner_gap: float
    lower: float
    upper: float
    recovered: float

    @property
    def gap(self) -> float:
        """How far c and the weights may be from the best."""
        return self.upper - self.lower

    def relative(self, gap: float) -> float:
        """A gap over the size of the objective."""
        size = abs(self.lower)
        return gap / size if size > 0 else np.inf if gap > 0 else 0.0


class WeightedMachine:
    """The dual of a machine with sum_k mu_k K_k in place of K, read off its declaration once for all weights."""

    def __init__(self, machine: Formulation, problem: Problem, weights: WeightSet) -> None:
        inner = Problem(machine, problem.sample)
        assert isinstance(inner.separable, SeparableProgram)
        self.grams = tuple(problem.sample.grams.values())
        self.machine, self.sample, self.weights, self.program = machine, problem.sample, weights, inner.separable

    def point(self, mu: Vector, c: Vector) -> Tried:
        """What is known about given weights and coefficients, after these are made feasible to rounding."""
        c = self.program.of_dual(self.program.feasible_dual(c))
        return self._measured(self._descent(mu, 1.0), mu, c)

    def solved(self, mu: Vector, near: Tried | None, tolerance: float) -> Tried | None:
        """The machine for some weights, solved from a point on; None where it is unbounded."""
        descent = self._descent(mu, tolerance)
        if near is None:
            descent.begin(None)
        else:
            descent.c, descent.f = near.c.copy(), mu @ near.images
        if descent.run() == UNBOUNDED:
            return None
        if not descent.exact:
            descent.refresh()
        return self._measured(descent, mu, descent.c)

    def _descent(self, mu: Vector, tolerance: float) -> Descent:
        program = replace(self.program, gram=Mixture(mu, self.grams))
        inner = Problem(self.machine, self.sample, tolerance=min(tolerance, 0.5), watch=Watch())
        descent = Descent(program, inner)
        descent.hand_over = False
        return descent

    def _measured(self, descent: Descent, mu: Vector, c: Vector) -> Tried:
        p, weights = self.program, self.weights
        coefficients = p.coefficients(c)
        images = np.stack([_product(gram, coefficients) for gram in self.grams])
        q = images @ coefficients
        best = weights.best(q)
        descent.c, descent.exact, descent.f = c, True, best @ images
        recovered = descent.state().gap if weights.p > 1 else np.inf
        descent.f = mu @ images
        state = descent.state()
        slope = p.slope(descent.f, c) - (descent.rho[p.group] if len(p.totals) else 0.0)
        lower, upper = state.value - state.gap, state.value + float((best - mu) @ q) / 2
        recovered = min(recovered, upper - lower) if weights.p == 1 else recovered
        gram = descent.program.gram
        assert isinstance(gram, Mixture)
        return Tried(mu, c, gram, images, q, slope, state.gap, lower, upper, recovered)


def _product(gram: Gram, c: Vector) -> Vector:
    """K c, in compiled code where there is no matrix: it has been loaded already, for decomposition."""
    support = np.flatnonzero(c)
    if "dense" in vars(gram) or gram.n * len(support) > MANY_ENTRIES or gram.features is not None or gram.fused is None:
        return gram.product(c)
    return np.asarray(gram.fused.product(support, c[support]))
