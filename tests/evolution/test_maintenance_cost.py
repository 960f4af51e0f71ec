"""The first maintenance of recorded sessions reads each event and each text once."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from theorex_lab import Lab
from theorex_lab.core import remembering
from theorex_lab.core.clock import MICROSECONDS_PER_DAY, FixedClock
from theorex_lab.journal.event import new_event
from theorex_lab.journal.sqlite import store
from theorex_lab.memory.briefing.session_log import recorded_sessions
from theorex_lab.search.embed import HashedNgramEmbedder
from theorex_lab.text import extract as extracting

N_SESSIONS = 4


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    clock = FixedClock.at("2026-03-02T09:00:00+00:00")
    embedder = HashedNgramEmbedder()
    with Lab(tmp_path / "home", clock=clock, embedder=embedder) as opened:
        record_sessions(opened)
        yield opened


def record_sessions(lab: Lab) -> None:
    """Append some sessions of two days ago, each with a prompt, a call and a message."""
    at = lab.clock.now() - 2 * MICROSECONDS_PER_DAY
    events = []
    for number in range(N_SESSIONS):
        bodies = {
            "prompt": {"text": f"Add a retry number {number} to the upload worker"},
            "tool_used": {"tool": "Bash", "command": f"make test-{number}"},
            "turn_ended": {"message": f"Added the retry {number}; the tests pass."},
        }
        for step, (kind, body) in enumerate(bodies.items()):
            source = {"prompt": "user", "tool_used": "tool"}.get(kind, "agent")
            events.append(
                new_event(
                    kind,
                    {**body, "source": source, "project": "till"},
                    agent="main",
                    session=f"s{number}",
                    at=at + number * 1_000 + step,
                )
            )
    lab.journal.append(events)


def n_remembered() -> int:
    """How many results functions hold of texts."""
    return sum(cached.cache_info().currsize for cached in remembering._caches)


def test_no_event_is_decoded_twice(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    n_decoded: Counter[int] = Counter()
    as_written = store.SqliteJournal._as_written

    def counted(self: store.SqliteJournal, row: tuple[int, ...]) -> object:
        # Leases, and what is said of projects, are read by others too.
        if row[5] not in ("lease", "nightly", "project_seen"):
            n_decoded[row[0]] += 1
        return as_written(self, row)  # type: ignore[arg-type]

    monkeypatch.setattr(store.SqliteJournal, "_as_written", counted)
    assert lab.maintain(reviewer="heuristic", progress=False).ok
    assert len(n_decoded) > 3 * N_SESSIONS
    assert set(n_decoded.values()) == {1}


def test_no_text_is_analysed_twice(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    n_analysed: Counter[str] = Counter()
    tokens = extracting._tokens

    def counted(text: str) -> list[extracting._Token]:
        n_analysed[text] += 1
        return tokens(text)

    monkeypatch.setattr(extracting, "_tokens", counted)
    remembering.forget_texts()
    assert lab.maintain(reviewer="heuristic", progress=False).ok
    assert len(n_analysed) >= N_SESSIONS
    assert set(n_analysed.values()) == {1}


def test_nothing_is_remembered_of_texts_afterwards(lab: Lab) -> None:
    was_enabled = gc.isenabled()
    assert lab.maintain(reviewer="heuristic", progress=False).ok
    assert n_remembered() == 0
    assert gc.isenabled() is was_enabled


def test_an_erasure_forgets_what_is_remembered_of_texts(lab: Lab) -> None:
    extracting.extract("The secret of the northern depot")
    assert n_remembered() > 0
    lab.erase(match="upload")
    remembered_texts = extracting._remembered_mentions.cache_info().currsize
    assert remembered_texts == 0


def test_one_project_and_all_projects_share_the_same_sessions(lab: Lab) -> None:
    now = lab.clock.now()
    of_all = recorded_sessions(lab.home, now)
    of_project = recorded_sessions(lab.home.in_project("till"), now)
    of_another = recorded_sessions(lab.home.in_project("ledger"), now)
    assert len(of_all) == N_SESSIONS
    assert [id(session) for session in of_all] == list(map(id, of_project))
    assert of_another == []
    lab.erase(ids=[of_all[0].prompts[0].event])
    remaining = recorded_sessions(lab.home.in_project("till"), now)
    assert len(remaining[0].prompts) == 0
