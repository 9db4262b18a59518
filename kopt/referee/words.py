"""Expressions and affine conditions in the words of a paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import cvxpy as cp
import numpy as np

from kopt.referee.factors import named_number
from kopt.sample import Sample
from kopt.show.expression import Writer
from kopt.terms import Term
from kopt.views import ProductView
from kopt.views.products import ProductCombination

SHOWN = 6


class Words(Writer):
    """Names for the numbers and vectors of one sample, and the texts that use them."""

    def __init__(
        self, sample: Sample, view: ProductView | None = None, numbers: Mapping[str, float] | None = None
    ) -> None:
        self.view = view
        self.numbers = {**(numbers or {}), "l": float(sample.n)}
        self.vectors: dict[str, np.ndarray] = {}
        if sample.y is not None:
            self.vectors["y"] = np.asarray(sample.y)
        self.vectors["c"] = sample.costs
        self.vectors["1/c"] = 1 / sample.costs
        self.vectors["diag(K)"] = sample.gram().diagonal

    def term(self, term: Term) -> str:
        """A term with its coefficient."""
        return self._times(term.coefficient, self.text(term.expression))

    def variable(self, variable: cp.Variable) -> str:
        """A dual variable by its name; what stands for a vector in feature space, in the words of a paper."""
        vector = self.view.leaves.get(variable.id) if self.view is not None else None
        if vector is None:
            return super().variable(variable)
        name = vector.name
        if isinstance(vector, ProductCombination):
            name = f"sum_i ({self.text(vector.coefficients)})_i phi(x_i)"
        for quotient in vector.quotients:
            if quotient.leaf is variable:
                return f"||{name}||^2 / ({self.text(quotient.t)})"
        if variable is vector.values:
            return f"<{name}, phi(x_i)>"
        return f"||{name}||^2" if variable is vector.norm_squared else f"||{name}||"

    def array(self, value: np.ndarray) -> str:
        """A multiple of a vector of the sample by its name."""
        for name, vector in self.vectors.items():
            factor = proportion(value, vector)
            if factor is not None:
                return self._times(factor, name)
        return super().array(value)

    def _times(self, factor: float, text: str) -> str:
        if abs(factor) == 1:
            return text if factor > 0 else f"-{text}"
        return f"{self.number(factor)} * {text}"

    def relation(self, blocks: Mapping[str, np.ndarray], offset: np.ndarray, equality: bool, index: int) -> str:
        """blocks @ variables + offset = 0, or <= 0: one text for all rows where one fits, else the row of an index."""
        parts = self._for_all_rows(blocks, len(offset))
        constant = self._number_of_all(offset) if parts else None
        if parts is None or constant is None:
            rows = {name: block[index] for name, block in blocks.items()}
            parts = [part for name, row in rows.items() for part in self._summed(name, row)]
            constant = (float(offset[index]), "")
        turned = parts[0][0] < 0 if parts else False
        relation = "=" if equality else ">=" if turned else "<="
        sign = -1.0 if turned else 1.0
        left = _joined([(sign * factor, text) for factor, text in parts])
        number, suffix = constant
        right = self.number(-sign * number)
        return f"{left or '0'} {relation} {f'{right} {suffix}' if suffix and number else right}"

    def _for_all_rows(self, blocks: Mapping[str, np.ndarray], rows: int) -> list[tuple[float, str]] | None:
        """The terms as functions of the row i, where every row has the same."""
        parts: list[tuple[float, str]] = []
        for name, block in blocks.items():
            if not block.any():
                continue
            diagonal = np.diag(block) if block.shape == (rows, rows) else np.zeros(0)
            if rows > 1 and len(diagonal) and np.array_equal(block, diagonal[0] * np.eye(rows)):
                parts.append((float(diagonal[0]), f"{name}_i"))
            elif rows == 1:
                parts += self._summed(name, block[0])
            else:
                return None
        return parts

    def _number_of_all(self, offset: np.ndarray) -> tuple[float, str] | None:
        """The offset of every row: a number, or a number times a vector of the sample."""
        if np.all(offset == offset[0]):
            return float(offset[0]), ""
        for name, vector in self.vectors.items():
            factor = proportion(offset, vector)
            if factor is not None:
                return factor, f"{name}_i"
        return None

    def number(self, value: float) -> str:
        """A number, as an expression of the parameters where a simple one is this very number."""
        if float(f"{value:.2g}") == value or (8 * value).is_integer():  # short enough to be somebody's own
            return f"{value + 0.0:g}"
        return named_number(value, self.numbers) or f"{value:.6g}"

    def affine(self, coefficients: Mapping[str, np.ndarray], constant: float) -> str:
        """sum over the variables of <coefficients, variable> + constant, for one condition."""
        parts = [part for name, row in coefficients.items() for part in self._summed(name, row)]
        text = _joined(parts)
        if not constant and parts:
            return text
        number = self.number(constant)
        return f"{number} + {text}".replace("+ -", "- ") if parts else number

    def _summed(self, name: str, row: np.ndarray) -> list[tuple[float, str]]:
        """<row, variable> as a factor and a text, nothing where the row is 0."""
        used = np.flatnonzero(row)
        if not len(used):
            return []
        if len(used) == 1 and row.size > 1:
            return [(float(row[used[0]]), f"{name}_{used[0]}")]
        if row.size == 1:
            return [(float(row[0]), name)]
        if np.all(row == row[0]):
            return [(float(row[0]), f"sum_i {name}_i")]
        for vector, values in self.vectors.items():
            factor = proportion(row, values)
            if factor is not None:
                return [(factor, f"sum_i {vector}_i {name}_i".replace("diag(K)_i", "k(x_i, x_i)"))]
        shown = ", ".join(f"{entry:.4g}" for entry in row[:SHOWN])
        return [(1.0, f"<({shown}{', ...' if row.size > SHOWN else ''}), {name}>")]


def proportion(value: np.ndarray, vector: np.ndarray) -> float | None:
    """The factor by which a vector that is not constant has to be multiplied to give a value; None if there is none."""
    if value.shape != vector.shape or np.all(vector == vector.flat[0]):
        return None
    factor = float(np.sum(value * vector) / np.sum(vector * vector))
    close = np.allclose(value, factor * vector, rtol=0, atol=1e-9 * float(np.max(np.abs(value))))
    return factor if close and factor else None


def _joined(parts: Sequence[tuple[float, str]]) -> str:
    return " + ".join(_product(factor, text) for factor, text in parts).replace("+ -", "- ")


def _product(factor: float, text: Any) -> str:
    if factor == 1:
        return str(text)
    if factor == -1:
        return f"-{text}"
    return f"{factor:.6g} * {text}"
