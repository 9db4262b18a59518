"""What the machines share that learn weights of any sign of kernels together with a margin."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.kernel_learning.completion import Completion
from formulations.kernel_learning.cone import forms, is_semidefinite, most_negative, of_trace, semidefinite_near
from formulations.kernel_learning.directions import Coordinates
from formulations.kernel_learning.free_weights import FreeWeights
from formulations.kernel_learning.span import Span
from formulations.kernel_learning.traces import check_traces
from kopt import Claim, Point, Sample, View, at_most, equal
from kopt.kernels import Kernel
from kopt.polyhedra import nearby_point
from kopt.projection import Polyhedron

MOST_ROUNDS = 60


def bordered(K: Any, f: Any, t: Any) -> cp.Expression:
    """[[K, f], [f', t]]."""
    n = f.shape[0]
    corner = cp.reshape(t, (1, 1), order="F")
    return cp.bmat([[K, cp.reshape(f, (n, 1), order="F")], [cp.reshape(f, (1, n), order="F"), corner]])


class SemidefiniteMargin(ABC):
    """A machine with a margin that learns weights of any sign: all but its two programs.

    At the optimum f = K(mu) v and t = v' K(mu) v with v_i = y_i alpha_i, because the blocks [[K, f], [f', t]] and
    V are orthogonal.
    """

    c: float

    @abstractmethod
    def completion(self, s: Any) -> Completion:
        """What belongs to given directions."""

    def requires(self, s: Sample) -> None:
        """Every kernel must have a trace to be measured by."""
        check_traces(s)

    def _variables(self, s: View) -> tuple[cp.Variable, cp.Variable, cp.Variable, cp.Variable]:
        """Weights, scores without offset, their squared length, and the offset."""
        return (
            FreeWeights(s).variable(),
            cp.Variable(s.n, name="f"),
            cp.Variable(name="t"),
            cp.Variable(name="b"),
        )

    def _constraints(self, s: View, mu: cp.Variable, f: cp.Variable, t: cp.Variable) -> dict[str, Any]:
        """The trace is bounded, K is positive semi-definite, and t >= f' K^-1 f."""
        weights = FreeWeights(s)
        return {"tau": weights.traces @ mu <= self.c * s.n, "V": bordered(weights.mixture(mu), f, t) >> 0}

    def _multipliers(self, s: View) -> tuple[cp.Variable, cp.Variable, cp.Variable]:
        """Of the margins, of the semi-definite constraint, and of the bound on the trace."""
        order = len(s.y) + 1
        V = cp.Variable((order, order), name="V", symmetric=True)
        return cp.Variable(s.n, name="alpha"), V, cp.Variable(name="tau")

    def _stationarity(self, s: View, alpha: cp.Variable, V: cp.Variable, tau: cp.Variable) -> dict[str, Any]:
        """The Lagrangian is affine in the weights, in the scores, in t and in b."""
        weights = FreeWeights(s)
        return {
            "mu": weights.against(V[:-1, :-1]) == tau * weights.traces,
            "f": V[:-1, -1] + V[-1, :-1] == cp.multiply(-s.y, alpha),
            "t": V[-1, -1] == 0.5,
            "b": s.y @ alpha == 0,
        }

    def with_multipliers(self, s: View, dual: Mapping[str, Any], Z: np.ndarray, tau: float) -> dict[str, object]:
        """The dual variables that belong to alpha and to the multipliers of a semi-definite K and of its trace."""
        v = s.y * dual["alpha"]
        V = np.block([[Z + np.outer(v, v) / 2, -v[:, None] / 2], [-v / 2, np.full((1, 1), 0.5)]])
        return {**dual, "V": V, "tau": tau}

    def repair(self, s: View, dual: Point) -> dict[str, object]:
        """alpha in its polyhedron; Omega - vv'/2 positive semi-definite, and the products that tau demands.

        Adding delta I to Omega and delta to tau changes no product's excess, and reaches the cone from anywhere.
        """
        polyhedron = Polyhedron(np.zeros(s.n), np.full(s.n, 1.0) * self.completion(s).upper, s.y[None], [0.0])
        alpha = nearby_point(dual.alpha, polyhedron)
        v, tau = s.y * alpha, float(dual.tau)
        half = np.outer(v, v) / 2
        demanded = tau * FreeWeights(s).traces - FreeWeights(s).against(half)
        rest, shift = semidefinite_near(s, dual.V[:-1, :-1] - half, demanded)
        Omega = rest + half + shift * np.eye(s.n)
        V = np.block([[Omega, -v[:, None] / 2], [-v / 2, np.full((1, 1), 0.5)]])
        return {"alpha": alpha, "V": V, "tau": tau + shift}

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """f = K v, where mu, b and the slacks are the best with K positive semi-definite."""
        v, completion = s.y * dual.alpha, self.completion(s)
        mu = of_trace(s, self._best(s, v, completion), self.c * s.n)
        K = s.mixture(mu)
        f = K @ v
        factor, rest = completion.rest(f)
        return {"mu": mu, "f": factor * f, "t": factor**2 * float(v @ f), **rest}

    def _best(self, s: View, v: np.ndarray, completion: Completion) -> np.ndarray:
        """Eigenvectors of negative eigenvalues are cut off until none is left.

        The coordinates x belong to an orthonormal basis of the span of the kernels. A positive semi-definite matrix
        of trace 1 has no norm above 1, so they lie between -1 and 1 from the beginning.
        """
        size, basis, weights = self.c * s.n, Span.free(s).inverse, FreeWeights(s)
        images = np.column_stack([s.gram(name) @ v for name in s.kernels]) @ basis.T * size
        even = np.linalg.lstsq(basis.T, weights.even / np.count_nonzero(weights.even), rcond=None)[0]
        r = basis @ weights.traces
        nothing = np.zeros((0, len(basis)))
        directions = Coordinates(s.y, images, v @ images, r, G=nothing, inside=even / (r @ even))
        for _ in range(MOST_ROUNDS):
            x = completion.weights(directions)
            mu = basis.T @ x * size
            K = s.mixture(mu)
            if is_semidefinite(K):
                break
            rows = forms(s, most_negative(K)).T @ basis.T
            rows /= np.max(np.abs(rows), axis=1, keepdims=True)
            if np.min(rows @ x) >= -completion.missed:
                break
            directions = replace(directions, G=np.vstack([directions.G, rows]))
        return mu

    def decision(self, s: Any, primal: Point) -> np.ndarray:
        """sum_i y_i alpha_i k(x_i, x) + b for the learnt k; f + b on the sample.

        K is singular as a rule, so that f alone does not say how it continues: the multipliers do.
        """
        if isinstance(s, View):
            return np.asarray(primal.f + primal.b)
        v, names, mu = s.sample.y * s.dual.alpha, s.sample.kernels, FreeWeights(s.sample).only(primal.mu)
        seen = (m * s.combination(v, kernel=name).values for name, m in zip(names, mu, strict=True) if m)
        return np.asarray(sum(seen, start=np.zeros(s.n)) + primal.b)

    def learnt_kernel(self, s: Sample, primal: Point) -> Kernel:
        """sum_k mu_k k_k."""
        return FreeWeights(s).combined(primal.mu)

    def _common_claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The trace is used up, and its price is half of t; no kernel alone does better; V is orthogonal."""
        v, weights = s.y * dual.alpha, FreeWeights(s)
        spent, total = self.c * s.n * dual.tau, float(np.sum(np.abs(dual.alpha)))
        q = np.array([s.combination(v, kernel=name).norm_squared for name in s.kernels])
        yield equal("tr K = c l", weights.traces @ primal.mu, self.c * s.n)
        yield equal("c l tau = t / 2", spent, primal.t / 2, scale=total)
        alone = self.c * s.n / 2 * float(np.max(weights.even * q))
        yield at_most("1/2 alpha' G alpha of every single kernel of this trace <= c l tau", alone, spent, scale=total)
        lost = weights.against(dual.V[:-1, :-1]) @ primal.mu - v @ primal.f + primal.t / 2
        yield equal("<V, [[K, f], [f', t]]> = 0", lost, 0.0, scale=total)
