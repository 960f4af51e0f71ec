"""Events that every briefing asks for are read once, and never kept past an erasure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from theorex_lab import Lab
from theorex_lab.core.clock import FixedClock
from theorex_lab.journal import directed
from theorex_lab.journal.base import Journal
from theorex_lab.memory.briefing import kept_events
from theorex_lab.memory.briefing.kept_events import has_events, newest_events
from theorex_lab.search.embed import HashedNgramEmbedder

KINDS = ["observation"]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    clock = FixedClock.at("2026-03-02T09:00:00+00:00")
    embedder = HashedNgramEmbedder()
    with Lab(tmp_path / "home", clock=clock, embedder=embedder) as opened:
        yield opened


def texts(lab: Lab, most: int | None = None) -> list[str]:
    return [event.body["text"] for event in newest_events(lab.home, KINDS, most=most)]


def count_tails(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """From which seqs the journal is read from now on."""
    starts: list[int] = []
    tail = journal.tail

    def counted(after: int, **options: Any) -> Any:
        starts.append(after)
        return tail(after, **options)

    monkeypatch.setattr(journal, "tail", counted)
    return starts


def test_new_events_come_behind_those_that_were_read(lab: Lab) -> None:
    lab.agent("main").write("The till rounds half up")
    assert texts(lab) == ["The till rounds half up"]
    lab.agent("main").write("The till prints twice")
    assert texts(lab) == ["The till rounds half up", "The till prints twice"]
    assert texts(lab, most=1) == ["The till prints twice"]


def test_the_events_of_few_earlier_projects_are_kept(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_events, "_MOST_KEPT_EVENTS", 1)
    lab.agent("main").write("The till rounds half up")
    for project in ("shop", "attic", "yard"):
        assert len(newest_events(lab.home.in_project(project), KINDS)) == 1
    kept_queries = kept_events._kept[lab.home.journal]
    projects = [query.projects for query in kept_queries]
    assert projects == [("attic", ""), ("yard", "")]
    newest_events(lab.home.in_project("attic"), KINDS)
    newest_events(lab.home.in_project("shop"), KINDS)
    projects = [query.projects for query in kept_queries]
    assert projects == [("attic", ""), ("shop", "")]


def test_nothing_is_read_again_where_nothing_was_appended(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.agent("main").write("The till rounds half up")
    before = texts(lab)
    has_events(lab.home, ["document"])
    starts = count_tails(lab.home.journal, monkeypatch)
    assert texts(lab) == before
    assert not has_events(lab.home, ["document"])
    assert starts == []


def test_only_what_was_appended_is_read(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.agent("main").write("The till rounds half up")
    texts(lab)
    last_seq = lab.home.journal.last_seq()
    lab.agent("main").write("The till prints twice")
    starts = count_tails(lab.home.journal, monkeypatch)
    assert len(texts(lab)) == 2
    assert set(starts) == {last_seq}


def test_what_is_erased_is_kept_no_longer(lab: Lab) -> None:
    event_id = lab.agent("main").write("The till rounds half up").event_id
    lab.agent("main").write("The till prints twice")
    assert len(texts(lab)) == 2
    lab.erase(ids=[event_id])
    assert texts(lab) == ["The till prints twice"]


def test_the_last_event_of_a_kind_is_missed_after_its_erasure(lab: Lab) -> None:
    assert not has_events(lab.home, KINDS)
    event_id = lab.agent("main").write("The till rounds half up").event_id
    assert has_events(lab.home, KINDS)
    lab.erase(ids=[event_id])
    assert not has_events(lab.home, KINDS)


def test_in_a_large_journal_only_the_newest_are_read(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directed, "FEWEST_EVENTS", 1)
    shop = lab.in_project("shop", new=True)
    bank = lab.in_project("bank", new=True)
    writers = (lab.agent("main"), shop.agent("main"), bank.agent("main"))
    results = [writers[number % 3].write(f"Note {number}") for number in range(30)]
    lab.erase(ids=[results[27].event_id])
    n_read = count_read(shop.home.journal, monkeypatch)
    wanted = ["Note 22", "Note 24", "Note 25", "Note 28"]
    assert texts(shop, most=4) == wanted
    assert sum(n_read) <= 6
    assert texts(shop, most=100)[-4:] == wanted
    assert len(texts(shop, most=100)) == 19


def count_read(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many events are read by their seqs from now on, at a time."""
    counts: list[int] = []
    read = journal.read

    def counted(**options: Any) -> Any:
        counts.append(len(options.get("seqs", ())))
        return read(**options)

    monkeypatch.setattr(journal, "read", counted)
    return counts


def test_events_of_a_project_and_of_none_are_returned(lab: Lab) -> None:
    lab.agent("main").write("Of no project")
    shop = lab.in_project("shop", new=True)
    shop.agent("main").write("Of the shop")
    lab.in_project("bank", new=True).agent("main").write("Of the bank")
    assert texts(shop) == ["Of no project", "Of the shop"]
    assert len(texts(lab)) == 3
