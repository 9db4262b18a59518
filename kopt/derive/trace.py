"""Numbers and arrays that remember what they are called: a primal built from them can be written out.

A declaration is ordinary Python. Run with a `TracingView`, and with parameters that are `TracedNumber`s, it meets
numbers that behave as usual and note in a `Ledger` how each was made: `self.C / s.n` is then known as C/l, and an
array that went into a CVXPY expression is found again by its contents.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Self

import cvxpy as cp
import numpy as np

from kopt.derive.monomial import ONE, Monomial, number
from kopt.losses import Loss
from kopt.sample import Sample
from kopt.show.formula import Kernel, Name, Over, Words
from kopt.show.mathematics import text
from kopt.views import ProductView
from kopt.views.products import ProductVector

# What the same number differs by, relatively, when it is computed in two ways.
LAST_DIGITS = 1e-14


class Ledger:
    """What the numbers and arrays of one trace are called, found by their contents."""

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[int, ...], bytes], Monomial] = {}
        #: What a loss of the declaration wrote, by the id of the expression: a factor, the loss, its argument.
        self.losses: dict[int, tuple[float, Loss, cp.Expression]] = {}

    def note(self, value: Any, monomial: Monomial) -> None:
        """Remember how a number or an array came about; the first name stays.

        Numbers such as 2 or 1/4 are not remembered: somebody may have written them as they are.
        """
        if not _is_anybodys(value):
            self._known.setdefault(_key(value), monomial)

    def near(self, value: float) -> Monomial | None:
        """What a number is called that was computed in another way, and so differs in its last digits."""
        for (shape, digits), monomial in self._known.items() if value else ():
            ratio = 0.0 if shape else float(np.frombuffer(digits)[0]) / value
            if abs(abs(ratio) - 1) <= LAST_DIGITS:
                return monomial if ratio > 0 else -monomial
        return None

    def name_of(self, value: Any) -> Monomial | None:
        """What a number or an array is called; None for an array that nobody named."""
        array = np.asarray(value, dtype=float)
        known = self._known.get(_key(array))
        if known is not None:
            return known
        negative = self._known.get(_key(-array))
        if negative is not None:
            return -negative
        if array.size and np.all(array == array.flat[0]):
            return Monomial.constant(float(array.flat[0])) if array.ndim == 0 else self.name_of(array.flat[0])
        return None


def _is_anybodys(value: Any) -> bool:
    array = np.asarray(value, dtype=float)
    if not array.size or np.any(array != array.flat[0]):
        return False
    simple = number(float(array.flat[0]))
    return isinstance(simple, Fraction) and abs(simple.numerator) < 5


def _key(value: Any) -> tuple[tuple[int, ...], bytes]:
    array = np.ascontiguousarray(np.asarray(value, dtype=float) + 0.0)
    return np.shape(value), array.tobytes()


class TracedNumber(float):
    """A float with a name."""

    monomial: Monomial
    ledger: Ledger

    def __new__(cls, value: float, monomial: Monomial, ledger: Ledger) -> Self:
        """The number, noted in the ledger."""
        self = super().__new__(cls, value)
        self.monomial, self.ledger = monomial, ledger
        ledger.note(float(value), monomial)
        return self


class TracedCount(int):
    """A whole number with a name, such as the number of points."""

    monomial: Monomial
    ledger: Ledger

    def __new__(cls, value: int, monomial: Monomial, ledger: Ledger) -> Self:
        """The number, noted in the ledger."""
        self = super().__new__(cls, value)
        self.monomial, self.ledger = monomial, ledger
        ledger.note(float(value), monomial)
        return self


class TracedArray(np.ndarray):
    """An array whose entries have a name, such as y_i."""

    monomial: Monomial
    ledger: Ledger

    @classmethod
    def made(cls, value: np.ndarray, monomial: Monomial, ledger: Ledger) -> TracedArray:
        """A copy of an array, with a name."""
        self = np.array(value).view(cls)
        self.monomial, self.ledger = monomial, ledger
        ledger.note(value, monomial)
        return self

    def __array_finalize__(self, parent: Any) -> None:
        """Parts and copies of an array are called as it is: y_i stays y_i, for the points that are left."""
        if isinstance(parent, TracedArray) and hasattr(parent, "monomial"):
            self.monomial, self.ledger = parent.monomial, parent.ledger
            if self.size < parent.size and self.ndim == 1:
                self.ledger.note(np.asarray(self), self.monomial)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """The same as for plain arrays, with a name where the operation has one."""
        if any(isinstance(each, cp.Expression) for each in inputs):
            return NotImplemented
        plain = [each.view(np.ndarray) if isinstance(each, TracedArray) else each for each in inputs]
        if "out" in kwargs:
            kwargs["out"] = tuple(o.view(np.ndarray) if isinstance(o, TracedArray) else o for o in kwargs["out"])
        result = getattr(ufunc, method)(*plain, **kwargs)
        if method == "reduce" and ufunc is np.add and np.ndim(result) == 0:
            return TracedNumber(float(result), total(self.monomial), self.ledger)
        if method != "__call__" or kwargs or not isinstance(result, np.ndarray):
            return result
        monomial = _named(ufunc, [name_of(each) for each in inputs])
        return result if monomial is None else TracedArray.made(result, monomial, self.ledger)


def total(monomial: Monomial) -> Monomial:
    """sum_i of a monomial: l times it where it does not depend on i."""
    outer, inner = monomial.split()
    if not inner.powers:
        return outer * Monomial.of(Name("l"))
    formula = inner.formula()
    if isinstance(formula, Words):
        return outer * Monomial.of(Over(ONE.formula(), ("i",), formula.text[1:-1]))
    return outer * Monomial.of(Over(formula, ("i",)))


def name_of(value: Any) -> Monomial | None:
    """What a number or an array of a trace is called."""
    monomial = getattr(value, "monomial", None)
    if isinstance(monomial, Monomial):
        return monomial
    array = np.asarray(value)
    return Monomial.constant(float(array)) if array.ndim == 0 and array.dtype.kind in "fiub" else None


def _compared(sign: str) -> Callable[[Monomial, Monomial], Monomial]:
    return lambda a, b: Monomial.of(Words(f"[{text(a.formula())} {sign} {text(b.formula())}]"))


_OPERATIONS: dict[Any, Callable[..., Monomial]] = {
    np.add: lambda a, b: a + b,
    np.subtract: lambda a, b: a - b,
    np.multiply: lambda a, b: a * b,
    np.divide: lambda a, b: a / b,
    np.negative: lambda a: -a,
    np.positive: lambda a: a,
    np.power: lambda a, b: a ** _exponent(b),
    np.square: lambda a: a ** Fraction(2),
    np.sqrt: lambda a: a ** Fraction(1, 2),
    np.reciprocal: lambda a: a ** Fraction(-1),
    np.greater: _compared(">"),
    np.less: _compared("<"),
    np.greater_equal: _compared(">="),
    np.less_equal: _compared("<="),
    np.equal: _compared("="),
    np.not_equal: _compared("!="),
}


class Unnamed(Exception):
    """An operation whose result has no short name."""


def _exponent(monomial: Monomial) -> Fraction | float:
    if monomial.powers:
        raise Unnamed
    return monomial.number


def _named(ufunc: Any, names: list[Monomial | None]) -> Monomial | None:
    if ufunc not in _OPERATIONS or any(name is None for name in names):
        return None
    try:
        return _OPERATIONS[ufunc](*names)
    except Unnamed:
        return None


def _arithmetic(name: str, ufunc: Any, reflected: bool) -> Callable[[Any, Any], Any]:
    def operation(self: Any, other: Any) -> Any:
        base = int if isinstance(self, TracedCount) and isinstance(other, int) else float
        result = getattr(base, name)(base(self), other)
        if result is NotImplemented or isinstance(result, complex):
            return result
        operands = [name_of(other), name_of(self)] if reflected else [name_of(self), name_of(other)]
        monomial = _named(ufunc, operands)
        if monomial is None:
            return result
        made = TracedCount if isinstance(result, int) else TracedNumber
        return made(result, monomial, self.ledger)

    return operation


for _name, _ufunc in {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.divide,
    "pow": np.power,
}.items():
    for _class in (TracedNumber, TracedCount):
        setattr(_class, f"__{_name}__", _arithmetic(f"__{_name}__", _ufunc, reflected=False))
        setattr(_class, f"__r{_name}__", _arithmetic(f"__r{_name}__", _ufunc, reflected=True))
for _class in (TracedNumber, TracedCount):
    _class.__neg__ = lambda self: -1 * self  # type: ignore[method-assign]


class TracingView(ProductView):
    """A sample whose numbers have names, for reading a declaration.

    costs       the letter of the costs per point; nothing where they are all 1
    kernel_of   the kernel of each weight vector, as declared
    """

    def __init__(self, sample: Sample, ledger: Ledger, costs: str = "c") -> None:
        super().__init__(sample)
        self.ledger = ledger
        self.kernel_of: dict[str, str | None] = {}
        #: The numbers that the declaration names itself, and the costs.
        self.letters: dict[str, np.ndarray] = {}
        self.n = TracedCount(sample.n, Monomial.of(Name("l")), ledger)
        if sample.y is not None:
            self.y = TracedArray.made(sample.y, Monomial.of(Name("y", ("i",))), ledger)
        self._costs = Monomial.of(Name(costs, ("i",))) if costs else ONE
        if costs:
            self.letters[costs] = sample.costs

    @property
    def costs(self) -> np.ndarray:
        """Cost per point, c_i."""
        return TracedArray.made(super().costs, self._costs, self.ledger)

    def diagonal(self, kernel: str | None = None) -> np.ndarray:
        """The numbers k(x_i, x_i)."""
        return TracedArray.made(
            super().diagonal(kernel), Monomial.of(Kernel("i", "i", self.letter(kernel))), self.ledger
        )

    def gram(self, kernel: str | None = None) -> np.ndarray:
        """The matrix K."""
        matrix = super().gram(kernel)
        self.ledger.note(matrix, Monomial.of(Name(f"K_{self.letter(kernel)}" if self.letter(kernel) else "K")))
        return matrix

    def letter(self, kernel: str | None) -> str:
        """What a kernel is called: nothing where there is only one."""
        return "" if len(self.sample.grams) == 1 else kernel or next(iter(self.sample.grams))

    def named(self, letter: str, values: Any) -> Any:
        """A number, or numbers with one for each point, under a letter of their own."""
        self.letters[letter] = np.asarray(values, dtype=float)
        if not self.letters[letter].ndim:
            return TracedNumber(float(values), Monomial.of(Name(letter)), self.ledger)
        return TracedArray.made(np.asarray(values, dtype=float), Monomial.of(Name(letter, ("i",))), self.ledger)

    def weight(
        self, name: str, kernel: str | None = None, rows: Any = None, outputs: int | None = None
    ) -> ProductVector:
        """A free vector, whose kernel is remembered."""
        self.kernel_of[name] = kernel
        return super().weight(name, kernel, rows, outputs)


def _noting(loss: Loss, ledger: Ledger) -> type[Loss]:
    """The class of a loss that notes what it writes, so that it is known again."""
    cls = type(loss)

    def expression(self: Loss, t: cp.Expression) -> cp.Expression:
        written = cls.expression(self, t)
        ledger.losses[written.id] = (1.0, loss, t)
        return written

    return type(cls.__name__, (cls,), {"expression": expression, "__module__": cls.__module__})


def traced(declared: Any, ledger: Ledger) -> Any:
    """A formulation, or a part of one such as its loss, with parameters that remember their names."""
    twin = copy.copy(declared)
    for field in dataclasses.fields(declared):
        value = getattr(declared, field.name)
        if isinstance(value, float | int) and not isinstance(value, bool):
            value = TracedNumber(float(value), Monomial.of(Name(field.name)), ledger)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            value = traced(value, ledger)
            if isinstance(value, Loss):
                object.__setattr__(value, "__class__", _noting(getattr(declared, field.name), ledger))
        object.__setattr__(twin, field.name, value)
    return twin
