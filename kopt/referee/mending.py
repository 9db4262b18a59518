"""What has to be changed in a sum so that it equals a given expression."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.binary_operators import MulExpression, multiply
from cvxpy.atoms.affine.sum import Sum

from kopt.referee.derivation import TOLERANCE, value_of
from kopt.referee.notation import factor, number, text
from kopt.referee.terms import Term, additive_terms


class Mending:
    """An expression, the terms that are claimed to make it up, and the values of all of them at several points.

    go        goes to the next random point
    scalars   the scalar variables, powers of which may be missing from a term
    """

    def __init__(
        self, true: cp.Expression, claimed: cp.Expression, scalars: list[cp.Variable], points: int, go: Callable[[], None]
    ) -> None:
        self.terms, self.own = list(_merged(claimed)), [Term(1.0, cp.Constant(1.0)), *_distributed(true)]
        self.numbers = sorted({abs(float(c.value)) for e in (true, claimed) for c in e.constants() if c.size == 1})
        rows = []
        for _ in range(points + 2 * len(self.terms)):
            go()
            rows.append([value_of(true), *(_value(t) for t in [*self.terms, *self.own]), *map(value_of, scalars)])
        table = np.array(rows).T
        self.true, self.columns, self.candidates, values = np.split(table, np.cumsum([1, len(self.terms), len(self.own)]))
        ...
