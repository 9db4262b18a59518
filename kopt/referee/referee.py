"""The referee: is the claimed dual the dual of the primal, and if not, where is the fault?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import numpy as np

from kopt.errors import InputError
from kopt.formulation import Formulation
from kopt.locations import BriefTraceback
from kopt.program import Program
from kopt.referee.evidence import gathered
from kopt.referee.instances import Instance, random_instances
from kopt.referee.judge import judged, merged
from kopt.referee.trial import Trial
from kopt.referee.verdict import Verdict
from kopt.sample import Sample
from kopt.views import View

Side = Program | Callable[[View], Program]


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

    formulation   a class, or an instance whose fields without a domain are kept; its parameters are drawn at random
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
        if formulation is None:
            whole = _inline(primal, dual, sample)
            return _verdict(whole, [Instance(whole, sample or _NOTHING)], seed)
        _check(formulation, instances)
        return _verdict(formulation, random_instances(formulation, instances, seed, sample), seed)


def _verdict(formulation: Formulation | type[Formulation], instances: Iterable[Instance], seed: int) -> Verdict:
    start = time.perf_counter()
    trials = [Trial(each, np.random.default_rng([seed, i])) for i, each in enumerate(instances)]
    evidence = gathered(trials)
    judgement, factor = judged(evidence)
    return Verdict(
        name=_class(formulation).__name__,
        judgement=judgement,
        instances=len(trials),
        points=sum(c.compared for c in evidence.comparisons),
        discrepancy=evidence.discrepancy,
        factor=factor,
        faults=tuple(merged(evidence.findings)),
        notes=tuple(evidence.notes),
        seconds=time.perf_counter() - start,
    )


_NOTHING = Sample(np.zeros((1, 1)))


def _inline(primal: Side | None, dual: Side | None, sample: Sample | None) -> Formulation:
    """A formulation made of two programs."""
    if primal is None or dual is None:
        raise InputError(
            "There is neither a formulation nor a primal with a dual.",
            "Give kopt.referee(formulation), or kopt.referee(primal=..., dual=..., sample=...).",
        )
    if sample is None and not (isinstance(primal, Program) and isinstance(dual, Program)):
        raise InputError(
            "The primal or the dual is a function of a sample, but there is no sample.", "Give sample=kopt.Sample(...)."
        )
    sides = {
        name: (lambda self, s, side=side: side) if isinstance(side, Program) else (lambda self, s, side=side: side(s))
        for name, side in (("primal", primal), ("dual", dual))
    }
    inline = type("Inline", (Formulation,), sides)()
    inline.check(sample or _NOTHING)
    return inline


def _class(formulation: Formulation | type[Formulation]) -> type[Formulation]:
    return formulation if isinstance(formulation, type) else type(formulation)


def _check(formulation: Formulation | type[Formulation], instances: int) -> None:
    if not issubclass(_class(formulation), Formulation):
        raise InputError(
            f"The first argument is of type {_class(formulation).__name__}, which is no formulation.",
            "Give a Formulation, or primal=... and dual=....",
        )
    if instances < 1:
        raise InputError(f"The number of instances is {instances}.", "Try at least one.")
