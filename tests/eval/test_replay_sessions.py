"""Sessions lived again: what was given at each start, what was then needed, and what is
refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from compared_logs import Remembers, asked_log, worked_log

from theorex_lab import InvalidInput, Item
from theorex_lab.eval.metrics.compare import compare
from theorex_lab.eval.replay.sessions import replay_sessions


def test_a_row_a_session_says_what_was_given_and_what_was_needed() -> None:
    replayed = replay_sessions(worked_log(), design="recent_files", tokens=100)
    assert [row.session for row in replayed] == ["s5", "s6", "s7", "s8"]
    row = replayed[0]
    assert row.prompt.startswith("Mend the ffffff")
    assert row.needed == row.edits == ("src/eeeeeeee.py",), (
        "the other file was not known before"
    )
    assert row.named == ("src/eeeeeeee.py",)
    assert "eeeeeeee.py" in row.given
    assert (row.share, row.recent_files, row.nothing) == (1.0, 1.0, 0.0)
    assert replayed.frame.columns.tolist() == list(row._fields)
    assert replayed.by_day["sessions"].tolist() == [1, 1, 1, 1]
    assert replayed.by_day["named"].sum() == 4
    assert replayed.of == 4


def test_the_briefing_of_the_sessions_says_which_places_were_edited() -> None:
    replayed = replay_sessions(worked_log(), tokens=100)
    assert "edited in 5 sessions, last 5 Mar" in replayed[0].given
    assert "edited in 6 sessions, last 6 Mar" in replayed[1].given
    assert all(row.recent_files == 1.0 for row in replayed)
    assert len(replayed[0].given.splitlines()) == 1, "a line for what was edited"


def test_the_figures_are_those_of_a_comparison() -> None:
    log = worked_log()
    replayed = replay_sessions(log, tokens=150, also=[500])
    compared = compare(
        [log],
        ["sessions", "recent_files", "nothing"],
        budgets=(150, 500),
        progress=False,
    )
    for tokens in (150, 500):
        for name, found in replayed.values(tokens).items():
            assert found == compared.value(name, "inject", tokens, "file")
    assert replayed.gain() == compared.difference(
        "sessions", "recent_files", mode="inject", budget=150, score="file"
    )


def test_the_last_sessions_alone_are_asked_about() -> None:
    whole = replay_sessions(worked_log())
    last = replay_sessions(worked_log(), last=2)
    assert [*last] == [*whole][-2:]
    assert last.values()["sessions"].n == 2
    assert last.of == 4


def test_a_memory_of_ones_own_and_a_baseline_are_replayed() -> None:
    assert replay_sessions(worked_log(), design=Remembers).design == "Remembers"
    alone = replay_sessions(worked_log(), design="recent_files")
    assert alone.gain().value == 0.0
    assert all(row.share == row.recent_files for row in alone)


def test_the_picture_has_a_line_for_each() -> None:
    ax = replay_sessions(worked_log()).plot()
    assert {line.get_label() for line in ax.get_lines()} >= {
        "sessions, mean so far",
        "recent files, mean so far",
    }


class Broken(Remembers):
    def inject(self, now: int, tokens: int) -> Sequence[Item]:
        raise ValueError("no memory today")


def test_what_cannot_be_replayed_is_refused() -> None:
    with pytest.raises(InvalidInput, match="more than 5 sessions"):
        replay_sessions(asked_log())
    for wrong in ({"tokens": 0}, {"last": 0}, {"also": (-1,)}):
        with pytest.raises(InvalidInput, match="whole numbers from 1"):
            replay_sessions(worked_log(), **wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="no memory today"):
        replay_sessions(worked_log(), design=Broken)
    with pytest.raises(InvalidInput, match="got the memory"):
        replay_sessions(worked_log(), design="sesions")
    assert not math.isnan(replay_sessions(worked_log())[0].share)
