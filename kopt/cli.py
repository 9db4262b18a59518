"""The command line: solve and certify a built-in example, list what is installed."""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Sequence

from kopt.discovery import discover
from kopt.errors import InputError, KoptError
from kopt.examples import example
from kopt.formulation import Formulation
from kopt.solvers import solve
from kopt.verify.certificate import TOLERANCE

# What `kopt` shows when nothing is named.
SHOWN = "SoftMargin"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 if it succeeded, 1 if a certificate does not hold, 2 if the input is refused."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        return int(options.run(options))
    except KoptError as error:
        print(f"kopt: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="kopt", description="Kernel machines, solved and certified.")
    parser.set_defaults(run=_example, formulation=SHOWN, side=None, method="auto")
    commands = parser.add_subparsers(title="commands")
    shown = commands.add_parser("example", help="solve and certify a formulation on a built-in sample for its task")
    shown.add_argument("formulation", nargs="?", default=SHOWN, help="name of a formulation (see `kopt list`)")
    shown.add_argument("--side", choices=("primal", "dual"), help="the side to solve")
    shown.add_argument("--method", default="auto", help="the solver, such as CLARABEL, DENSE, OSQP, SCS, ECOS")
    shown.set_defaults(run=_example)
    listed = commands.add_parser("list", help="list the formulations that are installed")
    listed.set_defaults(run=_list)
    return parser


def _example(options: argparse.Namespace) -> int:
    formulation = _named(options.formulation)()
    solution = solve(formulation, example(formulation.task), side=options.side, method=options.method)
    print(f"{formulation!r} on {solution.sample!r}, {formulation.reference}")
    print(solution)
    return 0 if solution.certificate.holds(TOLERANCE) else 1


def _list(options: argparse.Namespace) -> int:
    for formulation in discover():
        summary = (inspect.getdoc(formulation) or "").split("\n")[0]
        print(f"{formulation.__name__:<24} {formulation.task.value:<18} {summary}")
    return 0


def _named(name: str) -> type[Formulation]:
    found = {formulation.__name__: formulation for formulation in discover()}
    if name not in found:
        raise InputError(f"There is no formulation named {name!r}.", f"Known are: {', '.join(sorted(found))}.")
    return found[name]
