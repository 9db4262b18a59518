"""`kopt list`: the formulations that are installed."""

from __future__ import annotations

import argparse
import inspect
from typing import Any

from kopt.cli.exit import Exit
from kopt.discovery import discover


def add_to(commands: Any) -> None:
    """Declare the command."""
    commands.add_parser("list", help="list the formulations that are installed").set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Name, task and first line of each."""
    for formulation in discover():
        summary = (inspect.getdoc(formulation) or "").split("\n")[0]
        print(f"{formulation.__name__:<24} {formulation.task.value:<18} {summary}")
    return Exit.GOOD
