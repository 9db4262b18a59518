"""What the solvers here ask of a formulation: whoever defines these methods is solved by them, whatever the class."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

from formulations.kernel_learning.completion import Completion
from formulations.kernel_learning.masters import Master
from formulations.kernel_learning.span import Span
from kopt import Formulation, View


@runtime_checkable
class StatesItsAnswer(Protocol):
    """A formula for the dual variables: `ClosedForm`."""

    def closed_form(self, s: View) -> Mapping[str, Any]:
        """The dual variables."""


@runtime_checkable
class AlignsInSpan(Protocol):
    """An alignment over weights mu >= 0, whose dual has their multipliers nu alone: `NonNegativeLeastSquares`."""

    def span(self, s: View) -> Span:
        """The kernels and the target as vectors."""


@runtime_checkable
class Cuttable(Protocol):
    """A problem over weights mu of any sign whose combination K is positive semi-definite: `EigenvalueCuts`."""

    def master(self, s: View) -> Master | str:
        """The problem over the weights without the matrix inequality; the reason where nothing bounds them."""

    def with_multiplier(self, s: View, Z: np.ndarray, value: float) -> Mapping[str, Any]:
        """The dual variables that belong to the multiplier Z of the matrix inequality, and to the value."""


@runtime_checkable
class LearnsWeights(Protocol):
    """A machine that learns weights mu >= 0 with ||(r_k mu_k)||_p <= c: `SaddlePoint` and `WeightDescent`.

    r_k is the mean of k_k(x, x) over the points. The dual has the variables of the machine for one kernel.
    """

    def machine(self) -> Formulation:
        """The machine for one kernel."""

    @property
    def c(self) -> float:
        """The bound on the weights."""

    @property
    def p(self) -> float:
        """Of the norm that is bounded, 1 at least."""


@runtime_checkable
class LearnsCombination(Protocol):
    """A machine that learns weights mu of any sign, K positive semi-definite and tr K <= c l: `KernelGeneration`.

    The primal has the variables mu, f and t: the scores f = K e without offset, and their squared length t = e'K e,
    for e = J z with z and J from the dual of the machine for one kernel.
    """

    def machine(self) -> Formulation:
        """The machine for one kernel."""

    @property
    def c(self) -> float:
        """The bound on the trace of K, for each point."""

    def completion(self, s: View) -> Completion:
        """The other variables of the primal, for given scores."""

    def with_multipliers(self, s: View, dual: Mapping[str, Any], Z: np.ndarray, tau: float) -> Mapping[str, Any]:
        """The dual variables that belong to those of the machine, and to the multipliers of K and of its trace."""


def lacking(formulation: object, contract: type) -> str:
    """What a formulation lacks of a contract that it does not fulfil, in words.

    >>> lacking(object(), Cuttable)
    'the formulation has no `master(s)` and no `with_multiplier(s, Z, value)`'
    """
    named = {name: member for name, member in vars(contract).items() if not name.startswith("_")}
    missing = [_shown(name, member) for name, member in named.items() if getattr(formulation, name, None) is None]
    return f"the formulation has {' and '.join(f'no `{each}`' for each in missing)}"


def _shown(name: str, member: object) -> str:
    """A method with its arguments, and a property by its name."""
    if not inspect.isfunction(member):
        return name
    return f"{name}({', '.join(list(inspect.signature(member).parameters)[1:])})"


def machine_of(learner: LearnsWeights | LearnsCombination) -> Formulation | str:
    """The machine for one kernel, or in words why there is none."""
    if not callable(learner.machine):
        return f"`machine` is {learner.machine!r}, and not a method"
    found: object = learner.machine()
    return found if isinstance(found, Formulation) else f"`machine()` returns {found!r}, and not a formulation"
