"""A checked proof that a primal has no feasible point: a ray of its dual."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

import numpy as np
import scipy.sparse as sp

from kopt.errors import Infeasible
from kopt.formulation import Formulation
from kopt.locations import FaultsOf
from kopt.point import Point
from kopt.projection import Polyhedron, project
from kopt.quadratic import QuadraticProgram
from kopt.sample import Sample
from kopt.solvers.dense import LARGE, minimise
from kopt.solvers.problem import Problem
from kopt.views import ProductView

# The length left along the ray, relative to what it would be without cancellation: the root of the rounding in c' K c,
# or the rounding of coordinates where the kernel has them.
FLAT = 1e-7
FLAT_IN_COORDINATES = 1e-12


def prove_infeasible(problem: Problem) -> None:
    """Raise Infeasible if the dual grows without bound along a ray; return if no such ray is found.

    A ray d satisfies the homogeneous constraints of the dual, the objective grows along it, and the kernel terms
    vanish on it. It is found by minimising them, and checked with products by K alone.
    """
    program = problem.quadratic
    if isinstance(program, str):
        return
    cone = _recession(program.feasible)
    # Along a ray nothing moves that is bounded or that the shift bends, and what moves has to grow the objective.
    movable = np.isinf(cone.box).any(axis=0) & (program.shift == 0)
    size = program.linear.size
    if not program.linear[movable].any() or size > LARGE or 8 * size**2 > problem.sample.budget:
        return
    P, _ = program.dense()
    P /= np.trace(P) or 1.0
    growing = _growing(cone, program.linear)
    z, _ = minimise(P, np.zeros(program.linear.size), growing)
    for candidate in _polished(z, P, growing) if np.isfinite(z).all() else ():
        ray = project(candidate, cone).point
        growth = -float(program.linear @ ray)
        if growth > 0 and _is_flat(program, ray):
            _refuse(problem.formulation, problem.sample, Point(program.by_name(ray / growth)))


def _refuse(formulation: Formulation, sample: Sample, point: Point) -> NoReturn:
    with FaultsOf(formulation, "explain_infeasible"):
        what, remedy = formulation.explain_infeasible(ProductView(sample), point) or (
            f"The primal of {formulation!r} has no feasible point: its dual grows without bound along a ray.",
            "Relax a constraint, for example with slack variables.",
        )
    raise Infeasible(what, remedy, point)


def _polished(z: np.ndarray, P: np.ndarray, growing: Polyhedron) -> Iterator[np.ndarray]:
    """The ray of an interior point method, moved as little as possible to P d = 0 on its support, then as it is."""
    rows, sides = growing.A.toarray(), np.asarray(growing.b)
    for threshold in (1e-3, 1e-5):
        support = np.flatnonzero(np.abs(z) > threshold * np.abs(z).max())
        M = np.vstack([P[np.ix_(support, support)], rows[:, support]])
        right = np.concatenate([np.zeros(len(support)), sides])
        candidate = np.zeros_like(z)
        candidate[support] = z[support] + np.linalg.lstsq(M, right - M @ z[support], rcond=None)[0]
        yield candidate
    yield z


def _recession(polyhedron: Polyhedron) -> Polyhedron:
    """The directions in which a polyhedron extends to infinity."""
    lower, upper = (np.where(np.isfinite(bound), 0.0, bound) for bound in polyhedron.box)
    b, h = np.zeros(np.size(polyhedron.b)), np.zeros(np.size(polyhedron.h))
    return Polyhedron(lower, upper, polyhedron.A, b, polyhedron.G, h)


def _growing(cone: Polyhedron, linear: np.ndarray) -> Polyhedron:
    """The directions along which the dual objective grows at rate 1."""
    rows = sp.csr_array(-linear[None, :])
    A = rows if cone.A is None else sp.vstack([cone.A, rows], format="csr")
    return Polyhedron(*cone.box, A, [*np.asarray(cone.b), 1.0], cone.G, cone.h)


def _is_flat(program: QuadraticProgram, ray: np.ndarray) -> bool:
    """Whether every quadratic term vanishes on a ray, up to the rounding of K."""
    if np.any(program.shift * ray):
        return False
    for term in program.terms:
        c = term.J @ ray
        flat = FLAT if term.gram.features is None else FLAT_IN_COORDINATES
        if term.gram.norm_squared(c) > (flat * term.gram.uncancelled(c)) ** 2:
            return False
    return True
