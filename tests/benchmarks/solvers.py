"""kopt's fast solvers against LIBSVM, oneDAL and CVXPY, at the same certified gap.

    python -m tests.benchmarks.solvers                        every case, figures in tests/benchmarks/solvers.json
    python -m tests.benchmarks.solvers moons "mc 10k"         the cases whose names contain one of these words
    python -m tests.benchmarks.solvers --reuse                without searching again for the competitors' tolerances
    python -m tests.benchmarks.solvers --scale 0.02 digits    fewer points, to try it out; nothing written by default
    python -m tests.benchmarks.solvers --markdown FILE        the table of a file that is there
    python -m tests.benchmarks.solvers --list                 the names of the cases

kopt's time is that of the whole call of kopt.solve on a fresh sample, its certificate included; a competitor's is that
of its fit alone, at the loosest tolerance whose answer is certified at the same relative gap.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from pathlib import Path
from typing import Any

from tests.benchmarks.threads import THREADS, limit_onedal, limit_threads

FIGURES = Path(__file__).with_suffix(".json")


def parsed(words: list[str] | None = None) -> argparse.Namespace:
    """The arguments of the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="parts of the names of cases; all cases where not given")
    parser.add_argument("--repeat", type=int, default=5, help="timings of which the median is taken")
    parser.add_argument("--json", type=Path, help=f"where the figures go; {FIGURES.name} beside this file at scale 1")
    parser.add_argument("--scale", type=float, default=1.0, help="what every number of points is multiplied by")
    parser.add_argument("--reuse", action="store_true", help="take the competitors' tolerances from the file")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="print the table of a file and measure nothing")
    parser.add_argument("--list", action="store_true", help="print the names of the cases and measure nothing")
    arguments = parser.parse_args(words)
    if arguments.json is None and arguments.scale == 1:
        arguments.json = FIGURES
    if arguments.repeat < 1 or not 0 < arguments.scale <= 1:
        parser.error("--repeat has to be at least 1 and --scale in (0, 1].")
    return arguments


def rules(repeat: int) -> dict[str, Any]:
    """How it was measured, for the file and the table."""
    from tests.benchmarks.competitors import CACHE_MB
    from tests.benchmarks.session import SLOW

    return {
        "threads": THREADS,
        "repeat": repeat,
        "once_beyond_seconds": SLOW,
        "cache_MB": CACHE_MB,
        "sentences": [
            "The gap is (P - D) / |P|, certified by kopt in double precision for everybody's answer, rounding added.",
            "kopt's time is the whole call on a fresh sample, Gram matrix and certificate included; a competitor's is "
            f"its fit alone with a cache of {CACHE_MB} MB.",
            "LIBSVM and oneDAL have the loosest of the tolerances 1e-1, 3e-2, 1e-2, ... whose answer reaches the gap; "
            "where none does, the loosest within a tenth of their best gap. kopt is asked for the gap, or for a third "
            "or a tenth of it where that leaves more than the gap.",
        ],
    }


def measure(arguments: argparse.Namespace) -> int:
    """Run the cases one after the other; a failure is recorded, and the next one has its turn."""
    from tests.benchmarks.cases import chosen
    from tests.benchmarks.document import Document
    from tests.benchmarks.report import text
    from tests.benchmarks.session import Session

    cases, failures = chosen(arguments.words), 0
    limit_onedal()
    document = Document.begin(
        arguments.json, arguments.scale, rules(arguments.repeat), keep=bool(arguments.words), reuse=arguments.reuse
    )
    session = Session(document, arguments.scale, arguments.repeat, arguments.reuse)
    for case in cases:
        print(case.name, file=sys.stderr, flush=True)
        record = _attempt(lambda case=case: case.run(session))
        failures += "error" in record
        document.figures["cases"][case.name] = record
        document.save()
    print(text(document.figures))
    return int(failures > 0)


def _attempt(run: Any) -> dict[str, Any]:
    try:
        return run()
    except Exception as error:  # one failure must not cost the figures of the others
        print(traceback.format_exc(), file=sys.stderr, flush=True)
        return {"error": f"{type(error).__name__}: {error}"}


def main(words: list[str] | None = None) -> int:
    arguments = parsed(words)
    limit_threads()
    if arguments.markdown is not None:
        from tests.benchmarks.document import read
        from tests.benchmarks.report import markdown

        print(markdown(read(arguments.markdown)))
        return 0
    if arguments.list:
        from tests.benchmarks.cases import CASES

        print("\n".join(case.name for case in CASES))
        return 0
    return measure(arguments)


if __name__ == "__main__":
    sys.exit(main())
