"""`kopt errata`: what the texts print wrongly, with the evidence computed on the spot."""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kopt.cli.exit import Exit
from kopt.cli.progress import Progress
from kopt.discovery import offered_classes
from kopt.erratum import Erratum, Evidence
from kopt.errors import InputError
from kopt.show.table import row, shares

HEADER = ("text", "place", "printed", "correct", "evidence")
WEIGHTS = (3, 3, 5, 5, 7)
EXIT_CODES = """\
exit code:
  0    every print is refuted, and every correction holds
  1    the evidence for an erratum fails
  2    the input is refused
  130  interrupted; what was finished is shown
"""


@dataclass(frozen=True)
class Finding:
    """An erratum with its evidence."""

    erratum: Erratum
    evidence: Evidence

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of its row, under the header."""
        erratum, evidence = self.erratum, self.evidence
        doubt = "" if evidence.convicts else "EVIDENCE FAILS: "
        place = (erratum.reference.text, erratum.reference.item)
        return (*place, erratum.printed, erratum.correct, doubt + evidence.words)

    def as_dict(self) -> dict[str, Any]:
        """The erratum and its evidence as plain data."""
        known = {"name": type(self.erratum).__name__, **dict(zip(HEADER, self.cells, strict=True))}
        return {**known, "refuted": self.evidence.refuted, "supported": self.evidence.supported}


def add_to(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "errata",
        help="list claims that are wrong as the texts print them, with the evidence computed",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="only errata whose text, place or name has all of these"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document, a list, and nothing else")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compute the evidence one by one; what was finished is shown even where it is interrupted."""
    errata = chosen(options.words)
    widths = shares(min(200, max(100, shutil.get_terminal_size().columns)), WEIGHTS)
    if not options.json:
        print(row(HEADER, widths), flush=True)
    found: list[Finding] = []
    with contextlib.suppress(KeyboardInterrupt):
        for finding in _judged(errata):
            found.append(finding)
            if not options.json:
                print(f"\n{row(finding.cells, widths)}", flush=True)
    if options.json:
        print(json.dumps([finding.as_dict() for finding in found], indent=2))
    if len(found) < len(errata):
        print(f"kopt: interrupted, {len(errata) - len(found)} of {len(errata)} errata not judged", file=sys.stderr)
        return Exit.INTERRUPTED
    failed = sum(not finding.evidence.convicts for finding in found)
    if not options.json:
        print(f"\n{len(found)} errata, {failed} without evidence")
    return Exit.BAD if failed else Exit.GOOD


def chosen(words: list[str]) -> list[type[Erratum]]:
    """The installed errata that have all of the words in them; every one where there are no words."""
    found = offered_classes("kopt.errata", Erratum)  # type: ignore[type-abstract]
    errata = sorted(found, key=lambda cls: (cls.reference.text, cls.__module__))
    if not words:
        return errata
    named = [cls for cls in errata if all(w.lower() in f"{cls.reference} {cls.__name__}".lower() for w in words)]
    if not named:
        raise InputError(
            f"There is no erratum with {' and '.join(words)} in it.", "Leave the word out to see them all."
        )
    return named


def _judged(errata: list[type[Erratum]]) -> Iterator[Finding]:
    progress = Progress(sys.stderr)
    for i, cls in enumerate(errata, start=1):
        progress.show(f"computing {i}/{len(errata)} {cls.__name__} ...")
        try:
            erratum = cls()
            evidence = erratum.evidence()
        finally:
            progress.clear()
        yield Finding(erratum, evidence)
