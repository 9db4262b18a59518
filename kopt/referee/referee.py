"""The referee: is the claimed dual the dual of the primal, and if not, where is the fault?"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from kopt.errors import InputError
from kopt.formulation import Formulation
from kopt.gradients import restored
from kopt.locations import BriefTraceback
from kopt.program import Program
from kopt.referee.evidence import gathered
from kopt.referee.instances import Instance, random_instances
from kopt.referee.judge import judged, merged
from kopt.referee.trial import Trial
from kopt.referee.verdict import Judgement, Verdict
from kopt.sample import Sample
from kopt.views import View

if TYPE_CHECKING:
    from kopt.derive.compare import Comparison

Side = Program | Callable[[View], Program]
# On at most so many instances a claimed dual is put beside the derived one.
COMPARED = 3


def referee(
    formulation: Formulation | type[Formulation] | None = None,
    sample: Sample | None = None,
    *,
    primal: Side | None = None,
    dual: Side | None = None,
    instances: int = 8,
    seed: int = 0,
) -> Verdict:
    """Whether the declared dual is the dual of the declared primal; if not, what is wrong and where.

    formulation   a class, whose parameters are drawn at random; or an instance, whose own parameters are tried first
                  and whose fields without a domain are kept
    sample        data to judge it on, or on random parts of; random samples for its task where none is given
    primal, dual  instead of a formulation: two programs, or two functions of the sample's view that return them
    instances     how many are tried
    seed          of everything random: the same seed gives the same verdict

    At random points of the claimed feasible set the Lagrangian L(x, multipliers) is minimised over the primal
    variables x and compared with the claimed objective; the claimed feasible set is compared with the set of points
    at which that minimum exists; and where the optimum can be computed, both sides are.

    >>> import cvxpy as cp, kopt
    >>> x, a = cp.Variable(name="x"), cp.Variable(name="a")
    >>> primal = kopt.Program(cp.Minimize(cp.square(x)), {"a": x >= 3})
    >>> dual = kopt.Program(cp.Maximize(3 * a - cp.square(a) / 4), domain=[a >= 0])
    >>> referee(primal=primal, dual=dual).judgement.name
    'EXACT'
    >>> verdict = referee(primal=primal, dual=kopt.Program(cp.Maximize(3 * a - cp.square(a)), domain=[a >= 0]))
    >>> print(verdict.faults[0].fix)
    Multiply -a^2 by 1/4.
    """
    with BriefTraceback(), np.errstate(all="ignore"):
        _check(formulation, sample, primal, dual, instances, seed)
        if formulation is not None:
            return _verdict(formulation, list(random_instances(formulation, instances, seed, sample)), seed)
        whole = _inline(primal, dual, sample)
        given = [side for side in (primal, dual) if isinstance(side, Program)]
        with restored(v for side in given for v in side.variables.values()):
            return _verdict(whole, [Instance(whole, sample or _NOTHING)], seed, given, plain=sample is None)


def _verdict(
    formulation: Formulation | type[Formulation],
    instances: Sequence[Instance],
    seed: int,
    given: Sequence[Program] = (),
    plain: bool = False,
) -> Verdict:
    start = time.perf_counter()
    trials = [Trial(each, np.random.default_rng([seed, i])) for i, each in enumerate(instances)]
    evidence = gathered(trials)
    judgement, factor = judged(evidence)
    return Verdict(
        name=(formulation if isinstance(formulation, type) else type(formulation)).__name__,
        judgement=judgement,
        instances=len(trials),
        points=sum(c.compared for c in evidence.comparisons),
        discrepancy=evidence.discrepancy,
        factor=factor,
        faults=tuple(merged(evidence.findings)),
        notes=tuple(evidence.notes),
        seconds=time.perf_counter() - start,
        _compare=partial(_compared, _to_compare(instances, judgement), given, plain),
    )


def _to_compare(instances: Sequence[Instance], judgement: Judgement) -> list[Instance]:
    """Large instances; several where something is wrong, because a bound may be idle on one of them."""
    by_size = sorted(instances, key=lambda each: -each.sample.n)
    return by_size[: 1 if judgement is Judgement.EXACT else COMPARED]


def _compared(instances: Sequence[Instance], given: Sequence[Program], plain: bool) -> Comparison:
    """The claimed dual beside the derived one, on the first instance on which they differ, or else on the first.

    Programs that the user holds keep their values.
    """
    # kopt.derive imports the referee: it is imported here when a comparison is asked for, not before.
    from kopt.derive.compare import compared

    with np.errstate(all="ignore"), restored(v for side in given for v in side.variables.values()):
        comparisons = [compared(instances[0], plain)]
        while comparisons[-1].same and len(comparisons) < len(instances):
            comparisons.append(compared(instances[len(comparisons)], plain))
        return comparisons[0] if comparisons[-1].same else comparisons[-1]


_NOTHING = Sample(np.zeros((1, 1)))


def _inline(primal: Side | None, dual: Side | None, sample: Sample | None) -> Formulation:
    """A formulation made of two programs."""
    sides = {
        name: (lambda self, s, side=side: side) if isinstance(side, Program) else (lambda self, s, side=side: side(s))
        for name, side in (("primal", primal), ("dual", dual))
    }
    inline = type("Inline", (Formulation,), sides)()
    inline.check(sample or _NOTHING)
    return inline


def _check(formulation: object, sample: object, primal: object, dual: object, instances: object, seed: object) -> None:
    """Refuse arguments that are not what they should be."""
    if sample is not None and not isinstance(sample, Sample):
        raise InputError(f"The sample is of type {type(sample).__name__}.", "Wrap the data: kopt.Sample(X, y, ...).")
    for name, value, least in (("instances", instances, 1), ("seed", seed, 0)):
        if not isinstance(value, int) or value < least:
            raise InputError(f"{name} is {value!r}.", f"Give a whole number of at least {least}.")
    if formulation is not None:
        _check_formulation(formulation, primal, dual)
    elif primal is None or dual is None:
        raise InputError(
            "There is neither a formulation nor a primal with a dual.",
            "Give kopt.referee(formulation), or kopt.referee(primal=..., dual=..., sample=...).",
        )
    else:
        _check_sides({"primal": primal, "dual": dual}, sample)


def _check_formulation(formulation: object, primal: object, dual: object) -> None:
    cls = formulation if isinstance(formulation, type) else type(formulation)
    if not issubclass(cls, Formulation) or cls is Formulation:
        raise InputError(
            f"The first argument is {cls.__name__}, which declares no machine.",
            "Give a subclass of kopt.Formulation, or primal=... and dual=....",
        )
    if primal is not None or dual is not None:
        raise InputError("There is a formulation, and a primal or a dual beside it.", "Give the one or the other.")


def _check_sides(sides: dict[str, object], sample: object) -> None:
    for name, side in sides.items():
        if not isinstance(side, Program) and not callable(side):
            raise InputError(
                f"The {name} is of type {type(side).__name__}.", "Give a kopt.Program, or a function that returns one."
            )
        if callable(side) and sample is None:
            raise InputError(
                f"The {name} is a function of a sample, but there is no sample.", "Give sample=kopt.Sample(...)."
            )
