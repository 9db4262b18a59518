"""`kopt example`: solve and certify a formulation on a built-in sample."""

from __future__ import annotations

import argparse
from typing import Any

from kopt.cli.exit import Exit
from kopt.cli.targets import named
from kopt.examples import example
from kopt.solvers import solve
from kopt.verify.certificate import TOLERANCE

SHOWN = "SoftMargin"


def add_to(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("example", help="solve and certify a formulation on a built-in sample for its task")
    parser.add_argument("formulation", nargs="?", default=SHOWN, help="name of a formulation (see `kopt list`)")
    parser.add_argument("--side", choices=("primal", "dual"), help="the side to solve")
    parser.add_argument("--method", default="auto", help="the solver, such as CLARABEL, DENSE, OSQP, SCS, ECOS")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """0 if the certificate holds, 1 if not."""
    formulation = named(options.formulation)()
    solution = solve(formulation, example(formulation.task), side=options.side, method=options.method)
    print(f"{formulation!r} on {solution.sample!r}, {formulation.reference}")
    print(solution)
    return Exit.GOOD if solution.certificate.holds(TOLERANCE) else Exit.BAD
