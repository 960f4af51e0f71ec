"""Every result that is a table: a sequence, a DataFrame, dicts for JSON, a table in a
notebook.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from theorex_lab import Hit, Hits, Lab, Settings
from theorex_lab.eval.datasets.recorded_runs import LocalRuns, TaskRun
from theorex_lab.eval.metrics.access import Tuning
from theorex_lab.eval.metrics.access_log import AccessLog
from theorex_lab.eval.metrics.failures import FailureScores, FixEffect
from theorex_lab.eval.metrics.fitting import Fit, LawScore
from theorex_lab.eval.replay.decay_replay import replay_log
from theorex_lab.eval.replay.event_log import EventLog
from theorex_lab.memory.rows import MOST_SHOWN, Rows

LOG = EventLog.of(
    AccessLog.of(
        [(day * 86_400_000_000, f"f{day % 3}", None, False) for day in range(30)]
    )
)
FIT = Fit(
    "recency", "recency", {}, {"recency": LawScore(0.5, 0.4, 0.6, 0.7)}, 6, 3, 7.0
)
HALVES = np.array([0.0, 1.0])
RUN = TaskRun("task-1", "code", 1, "model", True, 10.0, None, "4", None, 0)
RESULTS: dict[str, Callable[[], Rows[Any]]] = {
    "hits": lambda: Hits(
        "cache", (Hit("1", "observation", "<b>", "main", 0.5, "", 0),)
    ),
    "fit": lambda: FIT,
    "tuning": lambda: Tuning(FIT),
    "replay": lambda: replay_log(LOG, Settings()),
    "failures": lambda: FailureScores(
        "all", 2, {"find_decisive": (HALVES, HALVES)}, 0, HALVES, HALVES
    ),
    "fixes": lambda: FixEffect(
        np.array([HALVES, HALVES]), np.array([HALVES, 0 * HALVES]), 0
    ),
    "runs": lambda: LocalRuns({"date": "2026-01-01T00:00:00Z"}, (RUN,)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_a_sequence_a_frame_dicts_and_a_table(name: str) -> None:
    result = RESULTS[name]()
    dicts = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert len(result) == len(result.frame) == len(dicts) == len(list(result)) > 0
    assert list(result.frame.columns) == list(dicts[0])
    assert result[0] in result[:1]
    assert "\n" not in repr(result)
    html = result._repr_html_()
    assert "<table" in html
    assert "<b>" not in html


def test_rows_are_computed_once() -> None:
    calls = []

    class Computed(Rows[dict[str, Any]]):
        def _records(self) -> list[dict[str, Any]]:
            calls.append(1)
            return [{"n": n} for n in range(2 * MOST_SHOWN)]

    rows = Computed()
    assert [rows[k]["n"] for k in range(len(rows))] == list(range(2 * MOST_SHOWN))
    assert rows._repr_html_().count("<tr>") <= MOST_SHOWN + 2, (
        "the middle of a long table is left out"
    )
    assert calls == [1]


def test_a_search_imports_no_pandas(tmp_path: Any) -> None:
    with Lab(tmp_path) as lab:
        lab.agent("main").write("caches go stale")
    program = (
        f"import sys; from theorex_lab import Lab; hits = Lab({str(tmp_path)!r}).search('caches'); "
        "assert len(hits) and hits.to_dict() and repr(hits); sys.exit('pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
