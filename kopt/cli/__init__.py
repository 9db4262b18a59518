"""The command line: one file per command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from kopt.cli import derive, errata, example, listing, referee
from kopt.cli.exit import Exit
from kopt.errors import KoptError

COMMANDS = (referee, derive, example, listing, errata)

DESCRIPTION = "Kernel machines declared as a primal and a dual: refereed, solved and certified."
SHORT_HELP = f"""\
{DESCRIPTION}

  kopt referee machine.py    is my dual the dual of my primal? (runs the file, as any import does)
  kopt referee               the same question about every installed formulation
  kopt derive machine.py     what is the dual of my primal? with the derivation, as text or as LaTeX
  kopt example SoftMargin    solve and certify a formulation on a built-in sample
  kopt list                  what is installed
  kopt errata                claims that are wrong as the texts print them, with the evidence computed

`kopt --help` and `kopt referee --help` say more."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and tell the shell how it ended."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except KoptError as error:
        print(f"kopt: {error}", file=sys.stderr)
        return Exit.REFUSED
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # Whoever reads (`| head`) has had enough; nothing may be flushed to them at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.BROKEN_PIPE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="kopt", description=DESCRIPTION)
    parser.set_defaults(run=_short_help)
    commands = parser.add_subparsers(title="commands")
    for command in COMMANDS:
        command.add_to(commands)
    return parser


def _short_help(options: argparse.Namespace) -> int:
    print(SHORT_HELP)
    return Exit.GOOD
