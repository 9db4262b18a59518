"""`kopt derive`: the dual of a primal, with its derivation."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from kopt.cli.exit import Exit
from kopt.cli.progress import Progress
from kopt.cli.targets import resolved
from kopt.derive import Derivation, derive
from kopt.errors import KoptError
from kopt.formulation import Formulation

DESCRIPTION = """\
Derive the dual of a primal and write the derivation out: Lagrangian, stationarity, substitution, dual, KKT conditions,
recovery. A dual that is declared plays no part; `kopt referee` compares with it.

Reading a .py file, a folder or a module runs it, as any import does: give only what you would run.
"""
EXIT_CODES = """\
exit code:
  0    every dual is derived, and exact by the referee
  2    the input is refused, or a dual cannot be derived; it says why, and the others are shown
  130  interrupted
"""


def add_to(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "derive",
        help="derive the duals of primals, and write the derivations out",
        description=DESCRIPTION,
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "targets",
        nargs="+",
        metavar="TARGET",
        help="an installed formulation, a .py file, a folder or a module",
    )
    parser.add_argument("--latex", action="store_true", help="print a fragment of LaTeX, and nothing else")
    parser.add_argument("--costs", action="store_true", help="write costs per point out")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Derive the targets one by one; those that are refused do not keep the others from being shown."""
    # What a user's file prints when it runs must not end up in the LaTeX.
    with contextlib.redirect_stdout(sys.stderr) if options.latex else contextlib.nullcontext():
        formulations = resolved(options.targets)
    refused = False
    shown = 0
    for formulation, outcome in _derived(formulations, options):
        if isinstance(outcome, KoptError):
            refused = True
            print(f"kopt: {formulation.__name__}: {outcome}", file=sys.stderr)
        else:
            print("\n" * (shown > 0) + _text(outcome, options.latex), flush=True)
            shown += 1
    return Exit.REFUSED if refused else Exit.GOOD


def _derived(
    formulations: Sequence[type[Formulation]], options: argparse.Namespace
) -> Iterator[tuple[type[Formulation], Derivation | KoptError]]:
    progress = Progress(sys.stderr)
    for i, formulation in enumerate(formulations, start=1):
        progress.show(f"deriving {i}/{len(formulations)} {formulation.__name__} ...")
        outcome: Derivation | KoptError
        try:
            outcome = derive(formulation, costs=options.costs)
        except KoptError as error:
            outcome = error
        finally:
            progress.clear()
        yield formulation, outcome


def _text(derivation: Derivation, latex: bool) -> str:
    return f"% {derivation.name}\n{derivation.latex()}" if latex else str(derivation)
