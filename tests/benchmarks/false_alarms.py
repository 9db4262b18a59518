"""No false alarm: the referee on every formulation, twenty random instances for each of three seeds.

`python -m tests.benchmarks.false_alarms` prints the verdicts and the largest discrepancy of each.
"""

import sys

from kopt.referee import Judgement, referee
from tests.instances import FORMULATIONS

INSTANCES, SEEDS = 20, (0, 1, 2)


def main(names: list[str]) -> int:
    alarms = 0
    for cls in FORMULATIONS:
        if names and cls.__name__ not in names:
            continue
        verdicts = [referee(cls, instances=INSTANCES, seed=seed) for seed in SEEDS]
        alarms += sum(verdict.judgement is not Judgement.EXACT for verdict in verdicts)
        words = ", ".join(verdict.judgement.word for verdict in verdicts)
        worst, seconds = max(v.discrepancy for v in verdicts), sum(v.seconds for v in verdicts)
        print(f"{cls.__name__:<32} {words:<24} largest discrepancy {worst:.1e}, {seconds:.1f} s", flush=True)
    print(f"{alarms} alarms")
    return int(alarms > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
