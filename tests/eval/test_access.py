"""Access logs from files, git and the journal, and what tuning hands back."""

from __future__ import annotations

import gzip
import json
import subprocess
import tracemalloc
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab import InvalidInput
from theorex_lab.core.clock import to_microseconds
from theorex_lab.eval.metrics.access import (
    Access,
    Commit,
    Tuning,
    from_git,
    from_git_touches,
    from_jsonl,
    git_commits,
    load_log,
    log_of_commits,
    tune,
)
from theorex_lab.eval.metrics.access_log import AccessLog
from theorex_lab.eval.metrics.fitting import Fit, LawScore

TOUCHES = (
    "\x01bbb 1700000600\n\nM\tsrc/a.py\nD\tsrc/b\tc.py\n\x01aaa"
    " 1700000000\n\nA\tsrc/a.py\nA\tsrc/b\tc.py\nA\tREADME\n"
)


def accesses(log: AccessLog) -> list[tuple[int, str, int, bool]]:
    columns = zip(
        log.time.tolist(),
        log.item.tolist(),
        log.event.tolist(),
        log.deleted.tolist(),
        strict=True,
    )
    return [
        (time // 1_000_000, log.items[item], event, deleted)
        for time, item, event, deleted in columns
    ]


def test_git_touches_plain_and_gzipped(tmp_path: Path) -> None:
    plain = tmp_path / "touches.log"
    packed = tmp_path / "touches.log.gz"
    plain.write_text(TOUCHES)
    packed.write_bytes(gzip.compress(TOUCHES.encode()))
    expected = [
        (1700000000, "src/a.py", 0, False),
        (1700000000, "src/b\tc.py", 0, False),
        (1700000000, "README", 0, False),
        (1700000600, "src/a.py", 1, False),
        (1700000600, "src/b\tc.py", 1, True),
    ]
    for file in (plain, packed):
        log = load_log(file)
        assert accesses(log) == expected
        assert log.of_files
    assert accesses(from_git_touches(plain)) == expected


def test_jsonl_is_read(tmp_path: Path) -> None:
    rows = [
        {"time": "2026-01-01T01:00:00+01:00", "item": "a", "event": "x"},
        {"time": 1767225600, "item": "naïve, quoted", "event": "x"},
        {"time": "1767225660.5", "item": "a", "deleted": True},
    ]
    jsonl = tmp_path / "log.jsonl"
    jsonl.write_text(
        "".join(json.dumps(row) + "\n\n" for row in rows), encoding="utf-8"
    )
    expected = [
        (1767225600, "a", 0, False),
        (1767225600, "naïve, quoted", 0, False),
        (1767225660, "a", 1, True),
    ]
    assert accesses(from_jsonl(jsonl)) == accesses(load_log(jsonl)) == expected
    assert from_jsonl(jsonl).time[0] == to_microseconds("2026-01-01T00:00:00Z")


def git(folder: Path, *arguments: str, at: int = 1_700_000_000) -> None:
    author = [
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@example.org",
        "-c",
        "commit.gpgsign=false",
    ]
    environment = {
        "GIT_COMMITTER_DATE": f"{at} +0000",
        "GIT_AUTHOR_DATE": f"{at} +0000",
        "PATH": "/usr/bin:/bin:/usr/local/bin",
    }
    subprocess.run(
        ["git", "-C", str(folder), *author, *arguments],
        check=True,
        capture_output=True,
        env=environment,
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    for name in ("plain.py", 'odd "name"\twith\nlines é.txt'):
        (tmp_path / name).write_text("1")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "First: ünicode")
    git(
        tmp_path,
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "Nothing touched",
        at=1_700_000_050,
    )
    (tmp_path / "plain.py").unlink()
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "Drop plain", at=1_700_000_100)
    return tmp_path


def test_git_commits_oldest_first_with_odd_names(repository: Path) -> None:
    commits = git_commits(repository)
    assert [commit.subject for commit in commits] == [
        "First: ünicode",
        "Nothing touched",
        "Drop plain",
    ]
    assert [commit.at for commit in commits] == [
        second * 1_000_000 for second in (1_700_000_000, 1_700_000_050, 1_700_000_100)
    ]
    assert sorted(commits[0].files) == [
        ("A", 'odd "name"\twith\nlines é.txt'),
        ("A", "plain.py"),
    ]
    assert commits[1].files == []
    assert commits[2].files == [("D", "plain.py")]
    assert git_commits(repository, limit=1) == commits[2:]


def test_git_log_is_that_of_its_commits(repository: Path) -> None:
    log = from_git(repository)
    assert (
        accesses(log)
        == accesses(log_of_commits(git_commits(repository)))
        == accesses(load_log(repository))
    )
    assert log.n_events == 2
    assert accesses(log)[-1] == (1_700_000_100, "plain.py", 1, True)


def test_commits_given_by_hand() -> None:
    log = log_of_commits([Commit("x", 5_000_000, "s", (("M", "a/b"), ("D", "c")))])
    assert accesses(log) == [(5, "a/b", 0, False), (5, "c", 0, True)]


def test_rows_of_one_event_share_its_earliest_time_and_touch_an_item_once() -> None:
    log = AccessLog.of(
        [
            (7, "a", "e", False),
            (5, "b", "e", False),
            (6, "c", None, False),
            (8, "a", "e", True),
        ]
    )
    assert accesses(AccessLog.of([])) == []
    assert log.time.tolist() == [5, 5, 6]
    assert [log.items[i] for i in log.item] == ["a", "b", "c"]
    assert log.deleted.tolist() == [True, False, False]


def fit_of(law: str, **params: float) -> Fit:
    scores = {
        law: LawScore(0.5, 0.4, 0.55, 0.6),
        "recency": LawScore(0.4, 0.3, 0.45, 0.5),
    }
    return Fit(law, law, params, scores, n_train=20, n_scored=10, horizon_days=3.0)


def test_settings_to_adopt() -> None:
    product = Tuning(fit_of("product", half_life_days=7.0))
    assert product.config_lines() == {
        "decayLaw": "product",
        "decayParams": {},
        "halfLifeDays": 7.0,
    }
    assert product.law.params == {"half_life_days": 7.0}
    power = Tuning(fit_of("power", exponent=0.4))
    assert power.config_lines() == {
        "decayLaw": "power",
        "decayParams": {"exponent": 0.4},
    }
    assert json.loads(json.dumps(power.result()))["scores"]["power"]["mrr"] == 0.5


def test_tuning_draws_every_law_and_marks_the_chosen() -> None:
    tuning = Tuning(fit_of("product", half_life_days=7.0))
    figure, given = plt.subplots()
    ax = tuning.plot(given)
    assert ax is given
    texts = [label.get_text() for label in ax.get_yticklabels()]
    assert texts == [
        "product (chosen)  0.500",
        "recency  0.400",
    ], "best on top, the chosen one named"
    own = tuning.plot()
    assert own is not given
    plt.close(figure)
    plt.close(own.figure)
    assert "product" in tuning._repr_html_()
    assert repr(tuning).startswith("Tuning(Fit(product")


def test_tune_fits_a_log() -> None:
    random = np.random.default_rng(0)
    log = AccessLog.of(
        [
            (day * 86_400_000_000, f"f{min(random.geometric(0.3), 9)}", None, False)
            for day in range(40)
        ]
    )
    tuning = tune(log, seed=3)
    asked = len(log.item) - len(log.items)
    assert (tuning.fit.n_train, tuning.fit.n_scored) == (asked - asked // 3, asked // 3)
    assert tuning.config_lines()["decayLaw"] == tuning.law.name
    assert tuning.law.params == tuning.fit.params


def by_hand(rows: list[Access]) -> list[tuple[int, str, int, bool]]:
    """What `AccessLog.of` makes of rows: time, item, event and whether deleted."""
    events: dict[object, tuple[list[int], dict[str, bool]]] = {}
    for number, (time, item, event, deleted) in enumerate(rows):
        times, touched = events.setdefault(
            (number,) if event is None else event, ([], {})
        )
        times.append(time)
        touched[item] = deleted
    ordered = sorted(events.values(), key=lambda entry: min(entry[0]))
    return [
        (min(times), item, number, deleted)
        for number, (times, touched) in enumerate(ordered)
        for item, deleted in touched.items()
    ]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 5),
            st.sampled_from("abcd"),
            st.one_of(st.none(), st.sampled_from("xyz"), st.integers(0, 2)),
            st.booleans(),
        ),
        max_size=30,
    )
)
def test_rows_in_any_order_become_events_in_order(rows: list[Access]) -> None:
    log = AccessLog.of(iter(rows))
    expected = by_hand(rows)
    found = zip(
        log.time.tolist(),
        [log.items[n] for n in log.item],
        log.event.tolist(),
        log.deleted.tolist(),
        strict=True,
    )
    assert list(found) == expected
    assert list(log.items) == list(dict.fromkeys(item for _, item, _, _ in expected)), (
        "in the order of first access"
    )


def test_a_long_log_is_read_row_by_row() -> None:
    """Rows are never held as tuples: the columns take some 32 bytes a row, and sorting
    them a few times that.
    """
    n = 100_000
    tracemalloc.start()
    try:
        log = AccessLog.of(
            (number * 1_000, f"item {number % 1_000}", None, False)
            for number in range(n)
        )
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert log.n_events == n
    assert peak_bytes < 250 * n


def test_sessions_are_a_log_of_the_files_of_each_turn(tmp_path: Path) -> None:
    def line(at: str, event: str, **fields: Any) -> str:
        return json.dumps(
            {
                "session": "s1",
                "at": f"2026-01-01T00:0{at}:00Z",
                "hook_event_name": event,
                **fields,
            }
        )

    lines = [
        line("0", "SessionStart", agent="a", cwd="/w"),
        line("1", "UserPromptSubmit", prompt="Mend the cache"),
    ]
    for at, path in (("2", "a.py"), ("3", "b.py")):
        lines.append(
            line(
                at,
                "PostToolUse",
                tool_name="Read",
                tool_input={"file_path": path},
                reads=[path],
                edits=[],
            )
        )
    lines.append(line("4", "UserPromptSubmit", prompt="Now the tests"))
    lines.append(
        line(
            "5",
            "PostToolUse",
            tool_name="Edit",
            tool_input={"file_path": "a.py"},
            reads=[],
            edits=["a.py"],
        )
    )
    file = tmp_path / "sessions.jsonl"
    file.write_text("\n".join(lines) + "\n")
    log = load_log(file, "sessions")
    assert log.n_events == 2, "a turn is an event"
    assert [log.items[item].rpartition("/")[2] for item in log.item] == [
        "a.py",
        "b.py",
        "a.py",
    ]
    assert log.of_files, "its items are files"


def test_a_name_that_is_no_log_names_what_is() -> None:
    with pytest.raises(
        InvalidInput,
        match="sessions; of recorded sessions, transcripts or one of coding_sessions",
    ):
        load_log("nosuch")
