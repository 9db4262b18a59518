"""Cutting planes for combinations of kernels that have to be positive semi-definite."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from formulations.kernel_learning.cone import inside, is_semidefinite
from formulations.kernel_learning.span import Span
from kopt.solvers import Problem, RawAnswer, Solver
from kopt.views import ProductView, View

# Eigenvectors that are cut off at a time, and the fraction of the smallest eigenvalue that is worth a cut.
AT_ONCE = 6
WORTH = 0.05
MOST_ROUNDS = 200


class EigenvalueCuts(Solver):
    name = "EIGENVALUE_CUTS"

    def accepts(self, problem):
        from formulations.kernel_learning.semidefinite_alignment import SemidefiniteAlignment
        return None if isinstance(problem.formulation, SemidefiniteAlignment) else "no"

    def place(self, problem):
        return -1.0, "faster"

    def solve(self, problem: Problem) -> RawAnswer:
        s = ProductView(problem.sample)
        span = Span.plain(s)
        safe = inside(s)
        K0 = s.mixture(safe)
        start = span.inverse @ span.a
        V = np.zeros((s.n, 0))
        G = np.zeros((len(span.a), 0))
        weights = np.zeros(0)
        for round_ in range(MOST_ROUNDS):
            A = -(span.inverse @ G)
            size = np.linalg.norm(A, axis=0)
            weights = nnls(A / size, start)[0] / size if G.shape[1] else np.zeros(0)
            f = start + span.inverse @ (G @ weights)
            mu = span.inverse.T @ f
            upper = np.linalg.norm(f)
            K = s.mixture(mu)
            values, vectors = np.linalg.eigh(K)
            few = np.flatnonzero(values < min(0, WORTH * values[0]))[:AT_ONCE]
            v = vectors[:, few]
            gains = np.einsum("ij,ij->j", v, K0 @ v)
            t = np.max(-values[few] / gains, initial=0.0)
            raised = mu + t * safe
            lower = span.a @ raised / np.linalg.norm(span.F @ raised)
            print(round_, upper, lower, values[0], len(few), t)
            if upper - lower <= 0.1*problem.tolerance * upper:
                break
            V = np.hstack([V, v])
            G = np.hstack([G, np.array([np.einsum("ij,ij->j", v, s.gram(k) @ v) for k in s.kernels])])
        root = V * np.sqrt(weights)
        return RawAnswer("converged", {"Z": root @ root.T})
