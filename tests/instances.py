"""Generated instances: for any formulation, samples of its task and parameters of its domains, all by seed.

Nothing here knows a formulation by name. An instance must be able to tell a wrong factor from a right one, so no
parameter is 1, classes are unbalanced, sizes share no divisor, and most kernels have a diagonal that varies.
"""

import dataclasses
import warnings
from collections.abc import Iterator
from functools import cache
from itertools import islice

import cvxpy as cp
import numpy as np

import kopt
from kopt import Sample, Task
from kopt.kernels import Gaussian, Linear, Polynomial
from kopt.parameters import FRACTION, NONNEGATIVE, POSITIVE
from kopt.views import ProductView
from tests.tolerances import VANISHING

FORMULATIONS = kopt.discover()
BY_NAME = {cls.__name__: cls for cls in FORMULATIONS}
KERNELS = {
    "linear": Linear(),
    "gaussian": Gaussian(sigma=1.3),
    "polynomial": Polynomial(degree=2, R=0.7),
    "sum": 0.3 * Linear() + Gaussian(sigma=0.9),
}
# Of full rank, so that multipliers are unique; the diagonal of the second varies.
FULL_RANK = ("gaussian", "sum")
SIZES = (17, 23, 31)
# Separable classes come last: they are for machines that are not defined, or only trivially so, on overlapping ones.
OVERLAPS = (1.0, 0.5, 0.0)
DRAWS_PER_OVERLAP = 12


@dataclasses.dataclass(frozen=True)
class Instance:
    """A formulation with its parameters and a sample; `optimum` is plain CVXPY's word, from the primal."""

    formulation: kopt.Formulation
    sample: Sample
    optimum: float


@cache
def instance(name: str, kernel: str, seed: int) -> Instance:
    """An instance of a formulation that has a solution, and one that is not trivially 0.

    Odd seeds have random costs per point, where the formulation makes use of them. A formulation that brings its own
    instances is taken at its word; its kernels are then its own too.
    """
    cls = BY_NAME[name]
    rng = np.random.default_rng([seed, *map(ord, name + kernel)])
    own = cls.instances(rng)
    if own is not None:
        return first_solvable(own)
    n = SIZES[(seed + list(KERNELS).index(kernel)) % len(SIZES)]
    costs = rng.uniform(0.4, 2.5, n) if seed % 2 else None
    for overlap in OVERLAPS:
        X, y = data(cls.task, n, overlap, rng)
        for _ in range(DRAWS_PER_OVERLAP):
            formulation = draw_parameters(cls, rng)
            sample = Sample(X, y, kernel=KERNELS[kernel], costs=costs)
            if not uses_costs(formulation, sample):
                sample = Sample(X, y, kernel=KERNELS[kernel])
            if not accepts(formulation, sample):
                continue
            primal = formulation.problem(sample, "primal")
            optimum = plainly_solved(primal)
            if optimum is not None and not trivial(primal, sample):
                return Instance(formulation, sample, optimum)
    raise AssertionError(f"No instance of {name} with the {kernel} kernel and seed {seed} has a solution.")


def first_solvable(own: Iterator[tuple[kopt.Formulation, Sample]]) -> Instance:
    """The first of a formulation's own instances whose optimum is there and not 0."""
    for formulation, sample in islice(own, DRAWS_PER_OVERLAP):
        primal = formulation.problem(sample, "primal")
        optimum = plainly_solved(primal)
        if optimum is not None and not trivial(primal, sample):
            return Instance(formulation, sample, optimum)
    raise AssertionError(f"None of the first {DRAWS_PER_OVERLAP} instances has a solution.")


def data(task: Task, n: int, overlap: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray | None]:
    """Points in space away from the origin; about a third of them positive, four unequal ranks, or noisy targets."""
    X = rng.standard_normal((n, 3)) * [1.0, 1.4, 0.6] + [0.5, -0.3, 0.2]
    direction = np.array([0.8, 0.6, 0.0])
    if task is Task.NOVELTY:
        return X, None
    height = X @ direction
    if task is Task.REGRESSION:
        return X, np.sin(height) + 0.4 * height + 0.7 + 0.3 * rng.standard_normal(n)
    if task is Task.RANKING:
        return ranked(X, height, overlap, rng)
    y = np.where(height > np.quantile(height, 0.64), 1.0, -1.0)
    if overlap == 0:
        return X + 0.3 * y[:, None] * direction, y
    flipped = rng.choice(n, size=max(2, round(0.15 * overlap * n)), replace=False)
    y[flipped] *= -1
    return X, y


def ranked(
    X: np.ndarray, height: np.ndarray, overlap: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Ranks by height, each with a point at least; some points change places unless the ranks are kept apart."""
    n = len(X)
    y = np.empty(n)
    y[np.argsort(height)] = np.searchsorted([0.2, 0.45, 0.75], (np.arange(n) + 0.5) / n) + 1.0
    if overlap == 0:
        return X + 0.3 * y[:, None] * [0.8, 0.6, 0.0], y
    moved = rng.choice(n, size=max(2, round(0.2 * overlap * n)), replace=False)
    y[moved] = y[np.roll(moved, 1)]
    return X, y


def draw_parameters(cls: type[kopt.Formulation], rng: np.random.Generator) -> kopt.Formulation:
    """A member of a family of formulations, each parameter drawn from its domain and different from 1."""
    draws = {
        POSITIVE: lambda: float(np.exp(rng.uniform(np.log(0.02), np.log(12.0)))),
        NONNEGATIVE: lambda: float(rng.uniform(0.02, 0.5)),
        FRACTION: lambda: float(rng.uniform(0.08, 0.92)),
    }
    domains = {field.name: field.metadata["domain"] for field in dataclasses.fields(cls) if "domain" in field.metadata}
    return cls(**{name: draws[d]() if d in draws else d.draw(rng) for name, d in domains.items()})


def parameters(formulation: kopt.Formulation) -> dict[str, float]:
    """The parameters of a formulation by name."""
    return {field.name: getattr(formulation, field.name) for field in dataclasses.fields(formulation)}


def uses_costs(formulation: kopt.Formulation, sample: Sample) -> bool:
    """Whether the primal asks for the costs per point."""
    view = ProductView(sample)
    formulation.primal(view)
    return view.uses_costs


def accepts(formulation: kopt.Formulation, sample: Sample) -> bool:
    """Whether a formulation is defined on a sample."""
    try:
        formulation.check(sample)
    except kopt.InputError:
        return False
    return True


def plainly_solved(problem: cp.Problem) -> float | None:
    """The value of a plain problem, None where the solver finds none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            problem.solve(solver=cp.CLARABEL)
        except cp.error.SolverError:  # on some semi-definite programs it gives up
            return None
    return float(problem.value) if problem.status in ("optimal", "optimal_inaccurate") else None


def trivial(solved: cp.Problem, sample: Sample) -> bool:
    """Whether the optimum of a solved primal is 0, or a bound on the norm of its weight vector has no price.

    In both cases the weight vector is not unique or not determined by the multipliers; these optima have tests of
    their own.
    """
    curved = [constraint for constraint in solved.constraints if not constraint.expr.is_affine()]
    unpriced = any(np.sum(constraint.dual_value) <= VANISHING for constraint in curved)
    return unpriced or vanishes(float(solved.value), sample)


def vanishes(optimum: float, sample: Sample) -> bool:
    """Whether an optimum is 0, measured by the size of the kernel."""
    size = float(np.mean(sample.gram().diagonal))
    return abs(optimum) <= VANISHING * min(size, np.sqrt(size))


def permuted(sample: Sample, order: np.ndarray) -> Sample:
    """The same points in another order."""
    return sample.taking(order)


def variable_names(problem: cp.Problem) -> list[str]:
    """The names of the variables of a plain problem, in order."""
    return [variable.name() for variable in problem.variables()]
