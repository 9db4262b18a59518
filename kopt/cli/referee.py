"""`kopt referee`: is each declared dual the dual of its primal?"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from kopt.cli.exit import Exit
from kopt.cli.outcome import HEADER, Outcome
from kopt.cli.progress import Progress
from kopt.cli.targets import resolved
from kopt.errors import InputError, KoptError, NoDual
from kopt.formulation import Formulation
from kopt.referee.referee import referee
from kopt.show.verdict import counted

DESCRIPTION = """\
Judge whether each declared dual is the dual of its primal, at random points of random instances.

Reading a .py file, a folder or a module runs it, as any import does: give only what you would run.
"""
EXIT_CODES = """\
exit code:
  0    no dual is wrong or undecided
  1    a dual is wrong, or a declaration fails
  2    the input is refused
  3    none is wrong, but some are undecided
  130  interrupted; what was finished is shown
"""


def add_to(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "referee",
        help="judge whether declared duals are the duals of their primals",
        description=DESCRIPTION,
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TARGET",
        help="an installed formulation, a .py file, a folder or a module; all installed formulations without one",
    )
    parser.add_argument("--instances", type=int, default=8, metavar="N", help="random instances each (default: 8)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the random instances (default: 0)")
    parser.add_argument("--json", action="store_true", help="print one JSON document, a list, and nothing else")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Judge the targets one by one; what was finished is shown even where it is interrupted."""
    _check(options)
    # What a user's file prints when it runs must not end up in the document.
    with contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext():
        formulations = resolved(options.targets)
        outcomes = _shown(formulations, options)
    print(json.dumps([o.as_dict() for o in outcomes], indent=2, allow_nan=False) if options.json else _report(outcomes))
    missing = len(formulations) - len(outcomes)
    if missing:
        print(
            f"kopt: interrupted, {missing} of {counted(len(formulations), 'formulation')} not judged", file=sys.stderr
        )
        return Exit.INTERRUPTED
    return _exit_code(outcomes)


def _check(options: argparse.Namespace) -> None:
    if options.instances < 1:
        raise InputError(f"--instances is {options.instances}.", "Give a whole number of at least 1.")
    if options.seed < 0:
        raise InputError(f"--seed is {options.seed}.", "Give a whole number of at least 0.")


def _shown(formulations: Sequence[type[Formulation]], options: argparse.Namespace) -> list[Outcome]:
    """The outcomes, each with its row of the table as soon as it is known; the finished ones where interrupted."""
    outcomes: list[Outcome] = []
    width = max(len(HEADER[0]), *(len(formulation.__name__) for formulation in formulations))
    if not options.json:
        print(_line(HEADER, width), flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        for outcome in _judged(formulations, options):
            outcomes.append(outcome)
            if not options.json:
                print(_line(outcome.row(), width), flush=True)
    return outcomes


def _judged(formulations: Sequence[type[Formulation]], options: argparse.Namespace) -> Iterator[Outcome]:
    progress = Progress(sys.stderr)
    for i, formulation in enumerate(formulations, start=1):
        progress.show(f"refereeing {i}/{len(formulations)} {formulation.__name__} ...")
        try:
            outcome = _outcome(formulation, options)
        finally:
            progress.clear()
        yield outcome


def _outcome(formulation: type[Formulation], options: argparse.Namespace) -> Outcome:
    if formulation.dual is Formulation.dual:
        return Outcome(formulation)
    try:
        return Outcome(formulation, verdict=referee(formulation, instances=options.instances, seed=options.seed))
    except NoDual:
        return Outcome(formulation)
    except KoptError as error:
        return Outcome(formulation, error=error)
    except Exception as error:  # the others are still judged
        what = f"The referee itself failed with {type(error).__name__}: {error}."
        return Outcome(formulation, error=KoptError(what, "Report this with the file; the fault is kopt's own."))


def _report(outcomes: Sequence[Outcome]) -> str:
    """The tally, and the whole text of every verdict on which somebody has to act."""
    tally = ", ".join(f"{count} {word}" for word, count in Counter(outcome.word for outcome in outcomes).items())
    texts = [str(outcome) for outcome in outcomes if outcome.wrong or outcome.undecided]
    return "\n\n".join([f"\n{counted(len(outcomes), 'formulation')}: {tally or 'none judged'}", *texts])


def _exit_code(outcomes: Sequence[Outcome]) -> Exit:
    if any(outcome.wrong for outcome in outcomes):
        return Exit.BAD
    return Exit.UNDECIDED if any(outcome.undecided for outcome in outcomes) else Exit.GOOD


def _line(row: Sequence[str], width: int) -> str:
    """A row of the table; the width of the names is fixed before the first verdict is known."""
    name, word, *numbers, fault = row
    aligned = "  ".join(text.rjust(len(head)) for text, head in zip(numbers, HEADER[2:-1], strict=True))
    return f"{name:<{width}}  {word:<16}  {aligned}  {fault}".rstrip()
