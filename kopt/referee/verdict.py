"""What the referee says: a judgement, typed faults, and counter-examples that a person can check by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kopt.errors import KoptError
from kopt.show.verdict import verdict_dict, verdict_html, verdict_tree

if TYPE_CHECKING:
    from kopt.derive.compare import Comparison


class Judgement(Enum):
    """Whether the claimed dual is the dual; each value is the sentence that says so."""

    EXACT = "The claimed dual is the dual function, on its whole domain."
    SCALED = "The claimed dual is exact for a multiple of the primal, or with rescaled multipliers."
    RESTRICTED = "The claimed feasible set is smaller than the dual's, but the optimum was the same on every instance."
    WRONG = "The claimed dual is not the dual."
    UNDECIDED = "The evidence does not suffice to decide."

    @property
    def word(self) -> str:
        """The judgement as one word in small letters."""
        return self.name.lower()


class Kind(Enum):
    """The kinds of faults, in words."""

    WRONG_COEFFICIENT = "wrong coefficient"
    MISSING_TERM = "missing term"
    WRONG_TERM = "wrong term"
    WRONG_OBJECTIVE = "wrong objective"
    MISSING_CONSTRAINT = "missing constraint"
    MISSING_BOUND = "missing bound"
    WRONG_BOUND = "wrong bound"
    SUPERFLUOUS_CONSTRAINT = "superfluous constraint"
    WRONG_RECOVERY = "wrong recovery"
    WRONG_ELIMINATED_MULTIPLIER = "wrong eliminated multiplier"
    WRONG_NAMED_MULTIPLIER = "wrong named multiplier"
    DUALITY_GAP = "duality gap"
    NOT_CONVEX = "primal not convex as declared"
    UNBOUNDED_PRIMAL = "primal unbounded"
    INFEASIBLE_PRIMAL = "primal infeasible"


@dataclass(frozen=True)
class CounterExample:
    """One instance and one point at which the claim fails, small enough to check by hand.

    parameters   of the formulation
    grams        the Gram matrix of each kernel, by name; "K" where there is only one
    y, costs     as in the sample; None where they play no part
    point        the dual variables, by name
    claimed      what the declaration says at this point: a value, or nan where it forbids the point
    true         what the Lagrangian says: its minimum, -inf where it has none (the maximum where the primal maximises)
    extremum     "minimum" or "maximum"
    """

    parameters: Mapping[str, Any]
    grams: Mapping[str, np.ndarray]
    y: np.ndarray | None
    costs: np.ndarray | None
    point: Mapping[str, np.ndarray]
    claimed: float
    true: float
    extremum: str = "minimum"


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong.

    kind      what kind of thing
    where     the part of the declaration: the text of a term of the dual objective, or the name of a dual constraint
              (the text of one in `domain=`), of a multiplier, or of a recovered primal variable
    what      what is wrong, with the number
    why       how that follows from the Lagrangian
    fix       what to write instead
    factor    for a coefficient or a bound: what it has to be multiplied by, as an expression of the parameters where
              a simple one fits ("1/2", "1/C", "1/(nu l)"), otherwise as a number
    example   a point where it shows; None where no point does
    """

    kind: Kind
    where: str
    what: str
    why: str
    fix: str
    factor: str | None = None
    example: CounterExample | None = None


@dataclass(frozen=True, repr=False)
class Verdict:
    """The answer of `kopt.referee`.

    name            of the formulation
    judgement       exact, scaled, restricted, wrong or undecided
    instances       how many were tried
    points          how many dual points were compared with the Lagrangian
    discrepancy     the largest |claimed - true| found, relative to the terms of the claimed objective; inf where the
                    one is finite and the other is not
    factor          for a scaled dual: the multiple, in words
    faults          what is wrong; what a restricted or scaled dual differs in
    notes           what was not tested, and why
    seconds         how long it took
    """

    name: str
    judgement: Judgement
    instances: int
    points: int
    discrepancy: float
    factor: str | None
    faults: tuple[Fault, ...]
    notes: tuple[str, ...]
    seconds: float
    _compare: Callable[[], Comparison] | None = field(default=None, compare=False)

    @property
    def accepts(self) -> bool:
        """Whether the dual is exact, scaled or restricted."""
        return self.judgement in (Judgement.EXACT, Judgement.SCALED, Judgement.RESTRICTED)

    @property
    def comparison(self) -> Comparison | None:
        """The claimed dual beside the one that `kopt.derive` derives; None where it derives none.

        It is made when it is first asked for. Verdicts that are not exact print it.
        """
        return self._compared[0]

    @property
    def no_comparison(self) -> str:
        """Why there is no comparison; empty where there is one."""
        return self._compared[1]

    @cached_property
    def _compared(self) -> tuple[Comparison | None, str]:
        if self._compare is None:
            return None, ""
        try:
            return self._compare(), ""
        except KoptError as error:
            return None, str(error)
        except Exception as error:  # a verdict can be printed whatever happens beside it
            return None, f"The comparison itself failed with {type(error).__name__}: {error}."

    def __getstate__(self) -> dict[str, Any]:
        """A comparison travels where it was made; what would make one holds the data and the class, and stays."""
        return {**vars(self), "_compare": None}

    def as_dict(self) -> dict[str, Any]:
        """The verdict as plain data for `json.dumps`; numbers that are not finite are "inf", "-inf", "nan"."""
        return verdict_dict(self)

    def __str__(self) -> str:
        return verdict_tree(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return verdict_html(self)
