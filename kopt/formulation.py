"""The declaration of a kernel machine: primal, dual, recovery and claims, and nothing else."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, dataclass_transform

import cvxpy as cp
import numpy as np

from kopt.claim import Claim
from kopt.errors import DeclarationError, InputError, NoDual, NotLearnt
from kopt.kernels import Kernel
from kopt.locations import BriefTraceback, FaultsOf, method_with_place
from kopt.parameters import fraction, nonnegative, parameter, positive
from kopt.point import Point
from kopt.program import Program
from kopt.sample import Sample
from kopt.task import Task
from kopt.views import ExplicitView, ProductView, View


@dataclass(frozen=True)
class Reference:
    """Where a formulation stands: a text and an item in it."""

    text: str
    item: str

    def __str__(self) -> str:
        return f"{self.text}, {self.item}"


@dataclass_transform(
    frozen_default=True, kw_only_default=True, field_specifiers=(positive, nonnegative, fraction, parameter)
)
class Formulation:
    r"""A kernel machine, declared. Subclass it in one file; nothing needs to be registered.

    Parameters are fields with a domain (`C: float = positive(default=1.0)`). `primal` is required; the rest is
    optional, and every verb of kopt does what it can with what is there:

    dual       lets the dual side be solved, and gives a lower bound on the optimum
    recover    a primal point from the dual variables alone, by a rule that always works; without it kopt solves the
               stationarity condition for the weight vectors and optimises the other variables
    requires   refuses a sample on which the machine is not defined, before any solver runs
    claims     what the theory says about the optimum, checked on every answer
    instances  random instances for the referee, where those for the task do not fit
    repair     feasible dual variables near given ones, where the feasible set is more than a polyhedron
    decision   the function that the machine learns; by default <w, phi(x)> + b
    learnt_kernel   the kernel that the machine learns, where it learns one
    alignment_target   what a learnt kernel is to align with, where that is not y
    to_scikit_learn, from_scikit_learn   the same machine there, and its conventions
    """

    reference: ClassVar[Reference | None] = None
    task: ClassVar[Task] = Task.OTHER

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclass(frozen=True, kw_only=True)(cls)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            if "domain" in field.metadata:
                field.metadata["domain"].check(field.name, getattr(self, field.name))

    def primal(self, s: View) -> Program:
        """The primal program on a sample."""
        raise DeclarationError(
            f"{type(self).__name__} declares no primal.", "Define `def primal(self, s): return Program(...)`."
        )

    def dual(self, s: View) -> Program | None:
        """The dual program on a sample; None where none is known yet."""
        return None

    def recover(self, s: View, dual: Point) -> Mapping[str, Any] | None:
        """A primal point from the dual variables; it should be feasible whenever the dual point is."""
        return None

    def repair(self, s: View, dual: Point) -> Mapping[str, Any] | None:
        """Feasible dual variables near the given ones; None for the nearest point of a polyhedron."""
        return None

    def requires(self, s: Sample) -> None:
        """Refuse a sample on which the machine is not defined (raise InputError)."""

    def claims(self, s: View, primal: Point, dual: Point) -> Iterable[Claim]:
        """What the theory says about the optimum."""
        return ()

    def decision(self, s: Any, primal: Point) -> np.ndarray:
        """The learnt function on the points of s, which may be new ones."""
        if "w" not in primal and type(self).learnt_kernel is not Formulation.learnt_kernel:
            raise InputError(
                f"{type(self).__name__} learns a kernel, and no function of the points.",
                "Use the kernel in another formulation: kopt.Sample(X, y, kernel=solution.kernel).",
            )
        if "w" not in primal:
            raise DeclarationError(
                f"{type(self).__name__} has no weight vector named w.", "Define `def decision(self, s, primal)`."
            )
        return np.asarray(primal.w.values + primal.get("b", 0.0))

    def learnt_kernel(self, s: Sample, primal: Point) -> Kernel:
        """The kernel that the machine learns: it evaluates on new points, and any formulation can use it."""
        raise NotLearnt(
            f"{type(self).__name__} learns no kernel.",
            "Use a formulation that learns one, or define `def learnt_kernel(self, s, primal)`.",
        )

    def scale(self, s: View) -> float | None:
        """What a gap is compared with, where the terms of the primal objective may cancel; None for their sum."""
        return None

    def alignment_target(self, s: Sample) -> np.ndarray | None:
        """The numbers t for which A(K, tt') says how good a learnt kernel is; NaN at points that do not count."""
        return None if s.y is None else np.asarray(s.y)

    def to_scikit_learn(self, s: Sample) -> Any:
        """The estimator of scikit-learn that solves this problem, not fitted, for a precomputed kernel."""
        raise InputError(
            f"{type(self).__name__} names no estimator of scikit-learn.", "Define `def to_scikit_learn(self, s)`."
        )

    @classmethod
    def from_scikit_learn(cls, fitted: Any, s: Sample) -> tuple[Formulation, dict[str, Any]]:
        """This machine with the parameters of a fitted estimator, and the estimator's answer in its variables."""
        raise InputError(
            f"{cls.__name__} does not know how to read the answer of {type(fitted).__name__}.",
            "Define the classmethod `from_scikit_learn(cls, fitted, s)`.",
        )

    def explain_infeasible(self, s: View, ray: Point) -> tuple[str, str] | None:
        """What a proof of infeasibility means for this machine, and what to do; None for the general words."""
        return None

    @classmethod
    def instances(cls, rng: np.random.Generator) -> Iterator[tuple[Formulation, Sample]] | None:
        """Random instances for the referee, (formulation, sample) pairs; None for those that fit the task.

        Needed where a machine asks for more than its task says: several kernels, ranks, points that are no vectors.
        """
        return None

    def check(self, sample: Sample) -> None:
        """Refuse what this machine cannot be solved on, before any solver runs."""
        self.task.check(sample.y)
        with FaultsOf(self, "requires"):
            self.requires(sample)
        for gram in sample.grams.values():
            if not gram.kernel.positive_semidefinite:
                _ = gram.dense  # formed and diagnosed once; an indefinite matrix is refused here
        view = ProductView(sample)
        pair = Pair(self, view, view)
        if not view.uses_costs and np.any(sample.costs != 1.0):
            raise InputError(
                f"The sample has costs per point, but {type(self).__name__} makes no use of them.",
                "Leave the costs out, or choose a formulation with a cost on errors.",
            )
        pair.check()

    def problem(self, sample: Sample, side: str = "primal") -> cp.Problem:
        """The plain CVXPY problem of one side.

        >>> # SoftMargin(C=1.0).problem(sample, side="dual").solve()
        """
        if side not in ("primal", "dual"):
            raise InputError(f"The side is {side!r}.", 'Choose "primal" or "dual".')
        with BriefTraceback():
            program = (primal_of if side == "primal" else dual_of)(self, ExplicitView(sample))
        if program is None:
            raise NoDual(type(self).__name__, 'Choose side="primal", or declare it.')
        return program.problem()


def primal_of(formulation: Formulation, view: View) -> Program:
    """The primal as declared."""
    with FaultsOf(formulation, "primal"):
        program = formulation.primal(view)
    return _owned(formulation, "primal", program)


def dual_of(formulation: Formulation, view: View) -> Program | None:
    """The dual as declared; None where there is none."""
    with FaultsOf(formulation, "dual"):
        program = formulation.dual(view)
    return None if program is None else _owned(formulation, "dual", program)


def _owned(formulation: Formulation, side: str, program: object) -> Program:
    if not isinstance(program, Program):
        raise DeclarationError(
            f"{method_with_place(formulation, side)} returned {type(program).__name__}.",
            "Return a kopt.Program(objective, {...}).",
        )
    program.owner = type(formulation).__name__
    return program


class Pair:
    """The two programs of a formulation on one sample, and the names that tie them together."""

    def __init__(self, formulation: Formulation, primal_view: View, dual_view: View) -> None:
        self.primal = primal_of(formulation, primal_view)
        self.dual = dual_of(formulation, dual_view)

    def check(self) -> None:
        """Refuse variables without names, constraints without multipliers, names that tie nothing together.

        Where the two sides disagree, the message gives the place of the dual, which is derived from the primal.
        """
        for program in (self.primal, self.dual):
            if program is not None:
                _ = program.variables, program.cones, program.domain_cones
        if self.primal.domain or self.primal.multipliers:
            raise DeclarationError(
                f"{self.primal.where} the primal has domain= or multipliers=, which belong to a dual.",
                "Name each constraint of a primal by its multiplier.",
            )
        clash = set(self.primal.variables) & set(self.primal.cones)
        if clash:
            raise DeclarationError(
                f"{self.primal.where} a primal variable and a multiplier are both named {min(clash)!r}.",
                "Give each a name of its own.",
            )
        if self.dual is None:
            return
        if self.dual.sign == self.primal.sign:
            verb = "minimise" if self.primal.sign > 0 else "maximise"
            raise DeclarationError(
                f"{self.dual.where} both the primal and the dual {verb}.",
                "The dual of a minimisation is a maximisation.",
            )
        known = {**self.dual.variables, **self.dual.multipliers}
        for name, cone in self.primal.cones.items():
            if name not in known:
                raise DeclarationError(
                    f"{self.dual.where} the primal constraint {name!r} has no multiplier in the dual.",
                    f"Name a dual variable {name!r}, or give it in multipliers={{{name!r}: ...}}.",
                )
            if known[name].shape != cone.residual.shape:
                raise DeclarationError(
                    f"{self.dual.where} the primal constraint {name!r} has shape {cone.residual.shape}, "
                    f"but its multiplier has shape {known[name].shape}.",
                    "Give both the same shape.",
                )
        for name, cone in self.dual.cones.items():
            variable = self.primal.variables.get(name)
            if variable is None:
                raise DeclarationError(
                    f"{self.dual.where} the dual constraint {name!r} is named after no primal variable.",
                    "Name it after the variable whose multiplier it carries, or list it in domain=[...].",
                )
            if variable.shape != cone.residual.shape:
                raise DeclarationError(
                    f"{self.dual.where} the dual constraint {name!r} has shape {cone.residual.shape}, "
                    f"but the primal variable has shape {variable.shape}.",
                    "Give both the same shape.",
                )
        for name in self.dual.multipliers:
            if name not in self.primal.cones:
                raise DeclarationError(
                    f"{self.dual.where} the multiplier {name!r} belongs to no primal constraint.",
                    f"The primal constraints are: {', '.join(self.primal.cones)}.",
                )


def check_arguments(formulation: object, sample: object) -> None:
    """Refuse what is no formulation or no sample, and a sample on which the formulation is not defined."""
    if not isinstance(formulation, Formulation):
        what = formulation.__name__ if isinstance(formulation, type) else type(formulation).__name__
        remedy = f"Make one: {what}(...)." if isinstance(formulation, type) else "Give an instance of a Formulation."
        raise InputError(f"The first argument is {what}, which is not a formulation with its parameters.", remedy)
    if not isinstance(sample, Sample):
        raise InputError(
            f"The second argument is of type {type(sample).__name__}.", "Wrap the data: kopt.Sample(X, y, kernel=...)."
        )
    formulation.check(sample)
