"""`kopt list`: the formulations that are installed."""

from __future__ import annotations

import argparse
import inspect
from typing import Any

from kopt.cli.exit import Exit
from kopt.discovery import discover
from kopt.show.library import library_table


def add_to(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("list", help="list the formulations that are installed")
    parser.add_argument(
        "--markdown",
        action="store_true",
        help="as a table with the classes of both programs, solvers and claims, each read off an instance",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Name, task and first line of each; or the whole table."""
    formulations = discover()
    if options.markdown:
        for line in library_table(formulations):
            print(line, flush=True)
        return Exit.GOOD
    width = max(len(formulation.__name__) for formulation in formulations)
    for formulation in formulations:
        summary = (inspect.getdoc(formulation) or "").split("\n")[0]
        print(f"{formulation.__name__:<{width}} {formulation.task.value:<18} {summary}")
    return Exit.GOOD
