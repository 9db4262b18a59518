"""The referee under mutation: how many wrong duals it refuses, and how many it can locate.

    python -m tests.benchmarks.mutations [names...] [--instances 8] [--seed 0] [--json FILE]

Every mutant of every discovered formulation is judged twice: by `tests.oracle`, which says whether it is different at
all, and by the referee. For comparison, the number of mutants that a check at the optimum of one instance would let
pass, which is a mean over the oracle's instances.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import kopt
from kopt import Formulation
from kopt.referee.referee import referee as kopt_referee
from kopt.referee.verdict import Judgement, Verdict
from tests.mutants import CONTROL, Mutant, Prototype, mutants
from tests.oracle import Oracle

# A check of the optimal value alone cannot see these at all.
BESIDE_THE_VALUE = ("eliminated multiplier", "recovery")
REFUSED_WITH_AN_ERROR, CRASHED = "error", "crash"

Referee = Callable[[type[Formulation]], Verdict]


@dataclass(frozen=True)
class Outcome:
    """What the oracle and the referee say of one mutant.

    different   the oracle's word; `restricted` if only by a smaller set with the same optimum
    judgement   the referee's word, "error" where it refuses the declaration, "crash" where it fails itself
    located     whether one of its faults names the mutated part
    at_optimum  the share of instances on which a check at the optimum alone would let it pass; None where not asked
    """

    formulation: str
    label: str
    kind: str
    different: bool
    restricted: bool
    judgement: str
    located: bool
    at_optimum: float | None
    faults: tuple[str, ...]
    seconds: float

    @property
    def refused(self) -> bool:
        """Whether it was not taken for exact, by a referee that did not fail."""
        return self.judgement not in (Judgement.EXACT.word, CRASHED)


def outcome(mutant: Mutant, oracle: Oracle, referee: Referee, at_optimum: bool = True) -> Outcome:
    """Both opinions of one mutant."""
    opinion = oracle.judge(mutant.cls)
    start = time.perf_counter()
    try:
        verdict = referee(mutant.cls)
    except kopt.KoptError as error:
        judgement, located, faults = REFUSED_WITH_AN_ERROR, False, (str(error),)
    except Exception as error:  # one failure must not end the benchmark; it counts as a survivor
        judgement, located, faults = CRASHED, False, (repr(error),)
    else:
        judgement, located = verdict.judgement.word, mutant.located(verdict)
        faults = tuple(f"{fault.kind.value}: {fault.where}" for fault in verdict.faults)
    seconds = time.perf_counter() - start
    passes = None
    if at_optimum and opinion.different:
        passes = 1.0 if mutant.kind in BESIDE_THE_VALUE else oracle.share_at_the_optimum(mutant.cls)
    return Outcome(
        oracle.cls.__name__,
        mutant.label,
        mutant.kind,
        opinion.different,
        opinion.restricted,
        judgement,
        located,
        passes,
        faults,
        seconds,
    )


def all_mutants(oracle: Oracle) -> list[Mutant]:
    """The mutants of the oracle's formulation; its first instances, with and without costs, are the prototypes."""
    prototypes = [Prototype(g.instance.formulation, g.instance.sample) for g in oracle.grounds[:2]]
    return mutants(oracle.cls, prototypes)


HEADER = f"{'':42} {'mutants':>8} {'different':>10} {'refused':>8} {'located':>8} {'at optimum':>11} {'seconds':>8}"


def row(name: str, outcomes: Sequence[Outcome]) -> str:
    """One line of the table."""
    different = [o for o in outcomes if o.different]
    refused, located = sum(o.refused for o in different), sum(o.located for o in different)
    at_optimum = sum(o.at_optimum or 0.0 for o in different)
    seconds = sum(o.seconds for o in outcomes)
    count = f"{len(outcomes):>8} {len(different):>10} {refused:>8} {located:>8}"
    return f"{name:42} {count} {at_optimum:>11.1f} {seconds:>8.1f}"


def table(outcomes: Sequence[Outcome]) -> str:
    """The tally by formulation, by kind and in total, without the controls."""
    counted = [o for o in outcomes if o.kind != CONTROL]
    lines = [HEADER]
    for group in ("formulation", "kind"):
        for name in dict.fromkeys(getattr(o, group) for o in counted):
            lines.append(row(name, [o for o in counted if getattr(o, group) == name]))
        lines.append("")
    lines.append(row("total", counted))
    words = [o.judgement for o in counted if o.different]
    lines.append("judged " + ", ".join(f"{word} {words.count(word)}" for word in dict.fromkeys(words)))
    named = [len(o.faults) for o in counted if o.different and o.refused]
    lines.append(f"{sum(named) / max(1, len(named)):.2f} faults named per refused mutant")
    lines.append(f"{sum(o.restricted for o in counted)} differ by a smaller set with the same optimum only")
    dual = [o for o in counted if o.at_optimum is not None and o.kind not in BESIDE_THE_VALUE]
    if dual:
        once, always = sum(o.at_optimum or 0.0 for o in dual), sum(o.at_optimum == 1 for o in dual)
        lines.append(
            f"of {len(dual)} with a wrong objective or set, a check at the optimum lets {once:.1f} pass on one"
        )
        lines.append(f"instance (the mean over the oracle's), {always} on every one of them")
    return "\n".join(lines)


def listed(outcomes: Sequence[Outcome]) -> str:
    """The mutants that were let pass or half pass, those that were not located, and those that are not different."""
    survivors = [o for o in outcomes if o.different and not o.refused]
    unlocated = [o for o in outcomes if o.different and o.refused and not o.located]
    equivalent = [o for o in outcomes if not o.different and o.kind != CONTROL]
    alarms = [o for o in equivalent if o.judgement == Judgement.WRONG.word]
    scaled = [o for o in outcomes if o.different and o.judgement == Judgement.SCALED.word]
    smaller = [o for o in outcomes if o.judgement == Judgement.RESTRICTED.word and not o.restricted]
    lines = []
    for heading, group in (
        ("survivors", survivors),
        ("not located", unlocated),
        ("judged scaled", scaled),
        ("judged restricted, although the optimum is another on some instance", smaller),
        ("equivalent by the oracle", equivalent),
        ("equivalent, but judged wrong", alarms),
    ):
        lines.append(f"{heading}: {len(group)}")
        lines += [f"  {o.label} [{o.judgement}] {'; '.join(o.faults) or '-'}" for o in group]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="formulations; all discovered ones where not given")
    parser.add_argument("--instances", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write every outcome to this file")
    arguments = parser.parse_args()

    def referee(cls: type[Formulation]) -> Verdict:
        return kopt_referee(cls, instances=arguments.instances, seed=arguments.seed)

    outcomes: list[Outcome] = []
    for cls in kopt.discover():
        if arguments.names and cls.__name__ not in arguments.names:
            continue
        oracle = Oracle(cls)
        found = [outcome(mutant, oracle, referee) for mutant in all_mutants(oracle)]
        control = next(o for o in found if o.kind == CONTROL).judgement
        original = referee(cls).judgement.word
        print(f"{cls.__name__}: {original}, its control {control}, {len(found) - 1} mutants", flush=True)
        outcomes += found
        if arguments.json:
            arguments.json.write_text(json.dumps([dataclasses.asdict(o) for o in outcomes], indent=1))
    print(table(outcomes))
    print(listed(outcomes))


if __name__ == "__main__":
    main()
