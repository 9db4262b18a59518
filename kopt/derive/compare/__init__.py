"""A claimed dual beside the derived one, term by term and constraint by constraint.

Both are taken as functions of the claimed variables z, which stand for multipliers: terms are told apart by their
values at random z, affine constraints by their rows, other constraints by the points that they forbid.
"""

from kopt.derive.compare.beside import compared
from kopt.derive.compare.comparison import Comparison, Row

__all__ = ["Comparison", "Row", "compared"]
