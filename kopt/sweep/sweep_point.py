"""One point of a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from kopt.errors import KoptError
from kopt.solution import Solution

Parameters = Mapping[str, Any]

#: The columns of the table after the parameters, and how each is written.
COLUMNS = {
    "value": "{:.9g}",
    "relative_gap": "{:.1e}",
    "holds": "{}",
    "support_vectors": "{}",
    "seconds": "{:.2f}",
    "method": "{}",
}


@dataclass(frozen=True, eq=False)
class SweepPoint:
    """One point of a sweep: `parameters, solution = point`; where it failed the solution is None and error says why."""

    parameters: Parameters
    solution: Solution | None
    error: KoptError | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter((self.parameters, self.solution))

    def row(self, tolerance: float) -> dict[str, Any]:
        """The point as a row of a table; None for what is not known."""
        solution, error = self.solution, None if self.error is None else str(self.error)
        numbers = dict.fromkeys(COLUMNS) if solution is None else _numbers(solution, tolerance)
        return {**self.parameters, **numbers, "error": error}


def _numbers(solution: Solution, tolerance: float) -> dict[str, Any]:
    return {
        "value": solution.value,
        "relative_gap": _gap(solution),
        "holds": solution.certificate.holds(tolerance),
        "support_vectors": len(solution.certificate.support_vectors),
        "seconds": sum(attempt.seconds for attempt in solution.attempts),
        "method": solution.method,
    }


def _gap(solution: Solution) -> float:
    certificate = solution.certificate
    return certificate.bounds.relative_gap if certificate.bounds.known else certificate.as_given.gap.relative


def equations(parameters: Parameters) -> list[str]:
    """Such as: C = 0.3, kernel__sigma = 1."""
    return [f"{name} = {text(value)}" for name, value in parameters.items()]


def text(value: Any) -> str:
    """A parameter's value, a number to six digits."""
    return f"{value:.6g}" if isinstance(value, Real) else str(value)
