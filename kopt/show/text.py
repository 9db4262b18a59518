"""Certificates and solutions as a small tree of text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kopt.claim import Claim
    from kopt.verify.bounds import Bounds
    from kopt.verify.certificate import Certificate
    from kopt.verify.record import Record

Branch = tuple[str, "list[Branch]"]


def tree(title: str, branches: Iterable[Branch]) -> str:
    """A title and its branches, drawn with lines.

    >>> print(tree("certificate", [("gap", []), ("claims", [("one", [])])]))
    certificate
    ├─ gap
    └─ claims
       └─ one
    """
    lines = [title]
    branches = list(branches)
    for i, (text, below) in enumerate(branches):
        last = i == len(branches) - 1
        head, *rest = tree(text, below).splitlines()
        lines.append(("└─ " if last else "├─ ") + head)
        lines.extend(("   " if last else "│  ") + line for line in rest)
    return "\n".join(lines)


def certificate_tree(certificate: Certificate, tolerance: float) -> str:
    """A certificate: verdict, bounds, residuals by block, points, claims."""
    return tree(_verdict(certificate, tolerance), _branches(certificate, tolerance))


def _branches(certificate: Certificate, tolerance: float) -> list[Branch]:
    """The branches of a certificate."""
    record = certificate.as_given
    branches: list[Branch] = [
        (_bounds(certificate.bounds), [(note, []) for note in certificate.bounds.notes]),
        (
            f"as given: primal {record.primal_value:.10g}, dual {record.dual_value:.10g}",
            [*_blocks(record, tolerance), *((note, []) for note in record.notes)],
        ),
    ]
    branches += [(f"points by {name}: {points}", []) for name, points in certificate.points.items()]
    if certificate.claims:
        branches.append(("claims", _claims(certificate.claims, tolerance)))
    return branches


def claims_tree(title: str, claims: Iterable[Claim], tolerance: float) -> str:
    """Statements of the theory under a title."""
    return tree(title, _claims(claims, tolerance))


def _claims(claims: Iterable[Claim], tolerance: float) -> list[Branch]:
    return [(_claim(claim, tolerance), []) for claim in claims]


def _verdict(certificate: Certificate, tolerance: float) -> str:
    name = repr(certificate.formulation)
    worst = certificate.as_given.worst
    if certificate.holds(tolerance):
        return f"certificate of {name}: holds to {tolerance:g} (worst relative residual {worst:.1e})"
    if not certificate.bounds.consistent:
        return f"certificate of {name}: REFUSED, the lower bound exceeds the upper one: the declaration is wrong"
    failures = certificate.as_given.failures(tolerance)
    if not failures:
        return f"certificate of {name}: DOES NOT HOLD to {tolerance:g} (the optimum is not where the answer says)"
    block, which, residual = failures[0]
    place = block if block == which else f"{block}, {which}"
    return f"certificate of {name}: DOES NOT HOLD to {tolerance:g} ({place}: {residual.relative:.1e})"


def _bounds(bounds: Bounds) -> str:
    if not np.isfinite(bounds.lower) and not np.isfinite(bounds.upper):
        return "optimum not enclosed"
    moved = f"dual variables moved by {bounds.relative_moved:.1e} relative"
    gap = f"relative gap {bounds.relative_gap:.1e}"
    return f"optimum in [{bounds.lower:.10g}, {bounds.upper:.10g}], {gap}, {moved}"


def _blocks(record: Record, tolerance: float) -> list[Branch]:
    branches: list[Branch] = []
    for block, residuals in record.blocks.items():
        bad = {name: r for name, r in residuals.items() if not r.relative <= tolerance}
        worst = max((r.relative for r in residuals.values()), default=0.0)
        mark = "x" if bad else "ok"
        details: list[Branch] = [
            (f"{name}: relative {r.relative:.1e}, absolute {r.absolute:.1e}", []) for name, r in bad.items()
        ]
        absolute = max((r.absolute for r in residuals.values()), default=0.0)
        branches.append((f"{mark:<2} {block}: relative {worst:.1e}, absolute {absolute:.1e}", details))
    return branches


def _claim(claim: Claim, tolerance: float) -> str:
    mark = "ok" if claim.holds(tolerance) else "x"
    return f"{mark:<2} {claim}"
