"""Random instances on which a wrong dual cannot hide.

No parameter is 1, classes are unbalanced, most kernels have a diagonal that varies, every other instance has costs
per point, and parameters lie near the limits of where the machine is defined. Samples are small, for counter-examples
that can be worked through by hand.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from kopt.errors import DeclarationError, InputError
from kopt.formulation import Formulation, primal_of
from kopt.kernels import Gaussian, Linear, Polynomial
from kopt.locations import FaultsOf, method_with_place
from kopt.sample import Sample
from kopt.task import Task
from kopt.views import ProductView

# None of them is a number that factors are made of, such as 4.
SIZES = (5, 7, 6, 9, 10, 11)
KERNELS = (Linear(), 0.3 * Linear() + Gaussian(sigma=0.9), Polynomial(degree=2, R=0.7), Gaussian(sigma=1.3))
# A sample that is larger is judged on random parts of it.
LARGEST = 16
DRAWS = 60
# Of so many parameters with which the formulation is defined, two instances out of three take the most extreme.
CHOICE = 6


@dataclasses.dataclass(frozen=True)
class Instance:
    """A formulation with its parameters, and a sample."""

    formulation: Formulation
    sample: Sample

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters by name."""
        return {f.name: getattr(self.formulation, f.name) for f in dataclasses.fields(self.formulation)}  # type: ignore[arg-type]

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers of which a factor may be made: parameters, and l, the number of points."""
        return {**numbers_of(self.formulation), "l": float(self.sample.n)}


def numbers_of(formulation: Formulation) -> dict[str, float]:
    """The parameters that are numbers, those of its loss included, and the complements of those that are fractions."""
    numbers = _numbers(formulation)
    return {**numbers, **{f"(1 - {name})": 1 - value for name, value in numbers.items() if 0 < value < 1}}


def _numbers(declared: Any) -> dict[str, float]:
    values = {field.name: getattr(declared, field.name) for field in dataclasses.fields(declared)}
    numbers = {}
    for value in filter(_has_fields, values.values()):
        numbers.update(_numbers(value))
    own = {name: value for name, value in values.items() if isinstance(value, int | float)}
    return numbers | {name: float(value) for name, value in own.items() if not isinstance(value, bool)}


def _has_fields(value: Any) -> bool:
    """Whether a parameter is an object with parameters of its own, as a loss is."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def random_instances(
    formulation: Formulation | type[Formulation], count: int, seed: int, sample: Sample | None = None
) -> Iterator[Instance]:
    """At most `count` instances of a formulation: its own, those on a given sample, or random ones for its task."""
    rng = np.random.default_rng(seed)
    cls = formulation if isinstance(formulation, type) else type(formulation)
    if sample is None:
        with FaultsOf(cls, "instances"):
            own = cls.instances(rng)
        if own is not None:
            yield from _own(cls, own, count)
            return
    refusals: list[InputError] = []
    drawn = 0
    for i in range(count):
        found = _defined(formulation, sample, i, rng, refusals)
        if found is not None:
            drawn += 1
            yield found
    if not drawn:
        raise InputError(
            f"{cls.__name__} is defined on no random instance ({refusals[-1].what})",
            "Give a sample, or define a classmethod `instances(cls, rng)` that yields (formulation, sample) pairs.",
        )


def _own(cls: type[Formulation], own: Iterator[Any], count: int) -> Iterator[Instance]:
    """The instances that a formulation brings itself."""
    for i in range(count):
        with FaultsOf(cls, "instances"):
            pair = next(own, None)
        if pair is None and i > 0:
            return
        if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], Formulation)):
            raise DeclarationError(
                f"{method_with_place(cls, 'instances')} yields {pair!r:.60}.", "Yield pairs (formulation, sample)."
            )
        pair[0].check(pair[1])
        yield Instance(*pair)


def _defined(
    formulation: Formulation | type[Formulation],
    sample: Sample | None,
    i: int,
    rng: np.random.Generator,
    refusals: list[InputError],
) -> Instance | None:
    """An instance on which the formulation is defined, two out of three near the limits; None where there is none.

    A bound that binds only for small C, say, shows near the smallest C for which the machine is defined.
    """
    found: list[Instance] = []
    for k in range(DRAWS):
        as_given = i == k == 0 and not isinstance(formulation, type)
        drawn = formulation if as_given else drawn_parameters(formulation, rng)
        assert isinstance(drawn, Formulation)
        chosen = random_sample(drawn, i, rng) if sample is None else _part(sample, rng)
        try:
            drawn.check(chosen)
        except InputError as error:
            refusals.append(error)
            continue
        found.append(Instance(drawn, chosen))
        if len(found) == (CHOICE if i % 3 else 1) or not found[0].parameters:
            break
    if found:
        return min(found, key=_largeness if i % 3 == 1 else _smallness)
    return None


def _smallness(instance: Instance) -> float:
    return sum(value for value in instance.parameters.values() if isinstance(value, int | float))


def _largeness(instance: Instance) -> float:
    return -_smallness(instance)


def random_sample(formulation: Formulation, i: int, rng: np.random.Generator) -> Sample:
    """The i-th sample for the formulation's task, with costs per point where it makes use of them."""
    n = SIZES[i % len(SIZES)]
    X, y = _data(formulation.task, n, rng)
    kernel = KERNELS[i % len(KERNELS)]
    sample = Sample(X, y, kernel=kernel)
    if i % 2 == 0 or not uses_costs(formulation, sample):
        return sample
    return Sample(X, y, kernel=kernel, costs=np.round(rng.uniform(0.4, 2.5, n), 1))


def _data(task: Task, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray | None]:
    """Points with one decimal, away from the origin; less than half of them positive, unequal ranks, noisy targets."""
    X = np.round(rng.standard_normal((n, 3)) * [1.0, 1.4, 0.6] + [0.5, -0.3, 0.2], 1)
    height = X @ [0.8, 0.6, 0.0]
    if task is Task.CLASSIFICATION:
        y = np.full(n, -1.0)
        y[np.argsort(height)[-max(1, int(0.4 * n)) :]] = 1.0
        if rng.random() < 0.5:  # the classes overlap
            y = np.roll(y, 1)
        return X, y
    if task is Task.RANKING:
        shares = (0.25, 0.6) if n < 7 else (0.2, 0.4, 0.75)
        y = np.ones(n)
        for share in shares:
            y[np.argsort(height)[int(share * n) :]] += 1
        return X, np.roll(y, 1) if rng.random() < 0.5 else y
    if task is Task.NOVELTY:
        return X, None
    return X, np.round(np.sin(height) + 0.4 * height + 0.7 + 0.3 * rng.standard_normal(n), 1)


def _part(sample: Sample, rng: np.random.Generator) -> Sample:
    """The sample, or some of its points where it is large."""
    if sample.n <= LARGEST:
        return sample
    rows = np.sort(rng.choice(sample.n, size=int(rng.integers(7, LARGEST + 1)), replace=False))
    y = None if sample.y is None else sample.y[rows]
    if isinstance(sample.X, np.ndarray) and sample.X.ndim == 2:
        kernels = {name: gram.kernel for name, gram in sample.grams.items()}
        return Sample(sample.X[rows], y, kernel=kernels, costs=sample.costs[rows])
    grams = {name: gram.rows(rows)[:, rows] for name, gram in sample.grams.items()}
    return Sample.from_gram(grams, y, costs=sample.costs[rows])


def drawn_parameters(formulation: Formulation | type[Formulation], rng: np.random.Generator) -> Formulation:
    """The formulation with each parameter drawn from its domain, and so those of its loss; others stay as they are."""
    drawn = _drawn(formulation, rng)
    if isinstance(formulation, type):
        return formulation(**drawn)
    return dataclasses.replace(formulation, **drawn)  # type: ignore[type-var]


def _drawn(declared: Any, rng: np.random.Generator) -> dict[str, Any]:
    drawn = {}
    for field in dataclasses.fields(declared):
        value: Any = getattr(declared, field.name, None)  # of a class, the default
        if "domain" in field.metadata:
            drawn[field.name] = field.metadata["domain"].draw(rng)
        elif _has_fields(value):
            drawn[field.name] = dataclasses.replace(value, **_drawn(value, rng))
    return drawn


def uses_costs(formulation: Formulation, sample: Sample) -> bool:
    """Whether the primal asks for the costs per point."""
    view = ProductView(sample)
    primal_of(formulation, view)
    return view.uses_costs
