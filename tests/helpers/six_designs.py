"""Make datasets/six_designs.json.gz: six designs and five baselines on ten data sets,
500 tokens, questions and sessions by number.

    THEOREX_DATA=… python tests/helpers/six_designs.py        (hours; one part a data set is
    kept in the folder `six_designs`)

What was said on the logs is not in the file: sessions and questions are numbered, and
problems told by their kind.
"""

import gzip
import math
import sys
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

from theorex_lab.eval.datasets.logs import load_logs
from theorex_lab.eval.metrics.compare import Comparison, compare
from theorex_lab.eval.replay.trials import ScoredAnswer, Trial

SETS = (
    "coding_sessions simulated_sessions simulated_team taubench_airline whoandwhen"
    " reflexion_alfworld fact_updates precisionmembench qmsum locomo"
).split()
MEMORIES = (
    "sessions theorex facts dreams causal research bm25 last_session recent_files"
    " short_files nothing".split()
)
SCORES = ("mean", "evidence_recall", "answer_words", "stale", "tokens")
FILE = Path(__file__).parents[2] / "datasets" / "six_designs.json.gz"


def numbered(trial: Trial) -> Trial:
    """The trial without a word of its log."""
    units: dict[str, str] = {}
    given = [
        ScoredAnswer(
            units.setdefault(one.unit, str(len(units))),
            one.mode,
            one.budget,
            {
                name: round(one.scores[name], 3)
                for name in SCORES
                if not math.isnan(one.scores.get(name, math.nan))
            },
        )
        for one in trial.given
        if one.budget == 500
    ]
    problems = {what.partition(":")[0]: count for what, count in trial.problems.items()}
    spent = {"all": round(sum(trial.cpu_seconds.values()), 2)}
    share = {n: round(s, 3) for n, s in trial.survivors.items()}
    return replace(
        trial,
        given=given,
        problems=problems,
        cpu_seconds=spent,
        sizes=trial.sizes[-1:],
        survivors=share,
    )


def main() -> None:
    """Compare on each data set, and write all of it as one file."""
    kept = Path("six_designs")
    kept.mkdir(exist_ok=True)
    for name in SETS:
        if not (part := kept / f"{name}.json").is_file():
            compare(load_logs(name), MEMORIES, budgets=(500,)).save(part)
    parts = [Comparison.load(kept / f"{name}.json") for name in SETS]
    trials = sorted(
        (numbered(trial) for part in parts for trial in part.trials),
        key=lambda trial: MEMORIES.index(trial.design),
    )
    data = TypeAdapter(Comparison).dump_json(Comparison(tuple(trials), parts[0].plan))
    FILE.write_bytes(gzip.compress(data, 9, mtime=0))
    sys.stdout.write(f"{FILE.name}: {len(trials)} trials\n")


if __name__ == "__main__":
    sys.exit(main())
