"""The cost of an inner product."""

from functools import reduce
from operator import add

import numpy as np

from kopt import Claim, Reference, WrongStatement, equal


class CostOfAnInnerProduct(WrongStatement):
    """There are d products and d - 1 sums; the example before this one counts them correctly for d = 2."""

    reference = Reference("6.867 lectures 7-8", "Section 6.2, second example")
    printed = "<x, z> in d dimensions takes d - 1 multiplications"
    correct = "it takes d multiplications, and d - 1 additions"

    def claims(self) -> tuple[Claim, Claim]:
        """The products counted in seven dimensions."""
        products: list[float] = []

        def times(a: float, b: float) -> float:
            products.append(a * b)
            return products[-1]

        d = 7
        reduce(add, map(times, *np.random.default_rng(0).normal(size=(2, d))))
        return (
            equal("multiplications = d - 1", len(products), d - 1),
            equal("multiplications = d", len(products), d),
        )
