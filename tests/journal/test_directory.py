"""The directory of a journal gives what looking through the journal gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from theorex_lab import Event, FixedClock, Lab, new_event
from theorex_lab.journal import directed
from theorex_lab.journal.directory import EventDirectory, directory_view
from theorex_lab.journal.head_page import HeadPage
from theorex_lab.journal.snapshot import open_snapshots
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.journal.view import differing_columns, fold_into
from theorex_lab.memory.projects import known_projects

NOW = 1_770_000_000_000_000
SECOND = 1_000_000
PROJECTS = ("", "till", "shop", "attic")
KINDS = ("prompt", "tool_used", "pinned")


@pytest.fixture(autouse=True)
def small_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the directory serve journals of a few events."""
    monkeypatch.setattr(directed, "FEWEST_EVENTS", 1)
    monkeypatch.setattr(directed, "_MOST_SHARE", 1.0)


def event_of(kind: str, project: str, number: int) -> Event:
    bodies: dict[str, dict[str, Any]] = {
        "prompt": {"text": f"look at {project} {number}", "source": "user"},
        "tool_used": {"tool": "Read", "source": "tool", "input": "a.py"},
        "pinned": {"item": f"item {number}", "undo": False},
    }
    body = bodies[kind]
    if project:
        body = {**body, "project": project}
    return new_event(kind, body, agent="main", session="s", at=NOW + number * SECOND)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=FixedClock(NOW + 10**12)) as opened:
        yield opened


def filled(lab: Lab, count: int = 60) -> list[str]:
    """Append events of every kind and project, and return their ids."""
    events = []
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        project = PROJECTS[number % len(PROJECTS)]
        events.append(event_of(kind, project, number))
    lab.journal.append(events)
    return [event.id for event in events]


def assert_is_as_folded_from_nothing(lab: Lab) -> None:
    directory = lab.home.views.get(directory_view())
    fresh = directory_view()()
    fold_into(fresh, lab.journal, directory.seq)
    assert differing_columns(directory, fresh) == []


def assert_gives_what_the_journal_gives(lab: Lab) -> None:
    journal = lab.journal
    last = journal.last_seq()
    for kinds in (["prompt"], ["tool_used", "pinned"], ["nightly"]):
        for projects in (None, ("till",), ("shop", ""), ("nowhere",)):
            for after, upto in ((0, last), (last // 3, last), (5, last // 2)):
                expected = journal.tail(
                    after, kinds=kinds, projects=projects, upto=upto
                )
                read = lab.home.views.events(
                    kinds, projects=projects, after=after, upto=upto
                )
                assert list(read) == list(expected)


def test_events_of_projects_and_kinds_are_those_of_the_journal(lab: Lab) -> None:
    filled(lab)
    assert_gives_what_the_journal_gives(lab)
    lab.journal.append([event_of("prompt", "till", 100)])
    assert_gives_what_the_journal_gives(lab)


def test_only_the_wanted_events_are_decoded(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(lab)
    lab.home.views.get(directory_view())
    decoded: Counter[str] = Counter()
    of_row = SqliteJournal._decoded

    def counted(journal: SqliteJournal, row: tuple[Any, ...]) -> Event:
        decoded[row[5]] += 1
        return of_row(journal, row)

    monkeypatch.setattr(SqliteJournal, "_decoded", counted)
    events = list(lab.home.views.events(["prompt"], projects=("till",)))
    # Those of no project are looked at too: an erased one is of no known project.
    assert decoded == {"prompt": 10}
    assert len(events) == 5


def test_a_kind_that_nobody_declared_is_looked_for_in_the_journal(lab: Lab) -> None:
    filled(lab)
    lab.home.views.get(directory_view())
    foreign = new_event("lost", {}, agent="main", at=NOW)._replace(kind="of_nobody")
    lab.journal.append([foreign])
    read = list(lab.home.views.events(["of_nobody"]))
    assert [event.kind for event in read] == ["of_nobody"]


def test_what_was_erased_is_forgotten_and_not_folded_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(lab)
    kind = directory_view()
    lab.home.views.snapshot(lab.home.views.get(kind))
    attic = [event.id for event in lab.journal.tail(0, projects=["attic"])]
    folded: list[int] = []
    take_page = kind.take_page

    def counted(view: EventDirectory, page: HeadPage) -> None:
        folded.append(len(page.seqs))
        take_page(view, page)

    monkeypatch.setattr(kind, "take_page", counted)
    lab.erase(ids=attic)
    directory = lab.home.views.get(kind)
    assert "attic" not in list(directory.projects)
    # The erasure alone was appended.
    assert sum(folded) == 1
    monkeypatch.undo()
    assert_is_as_folded_from_nothing(lab)
    snapshots = list(open_snapshots(lab.home.views.folder / kind.name, kind.code))
    assert snapshots, "a new snapshot stands in the place of those that were removed"
    for snapshot in snapshots:
        assert b"attic" not in bytes(snapshot.columns["projects.blob"])


def test_a_snapshot_from_before_an_erasure_by_another_process_is_cleared(
    tmp_path: Path,
) -> None:
    clock = FixedClock(NOW + 10**12)
    with Lab(tmp_path, clock=clock) as lab:
        filled(lab)
        till = [event.id for event in lab.journal.tail(0, projects=["till"])]
        lab.home.views.get(directory_view())
        with Lab(tmp_path, clock=clock) as other:
            other.erase(ids=till)
        assert_is_as_folded_from_nothing(lab)
        assert "till" not in list(lab.home.views.get(directory_view()).projects)


def test_a_merge_of_projects_gives_the_events_to_the_other_one(lab: Lab) -> None:
    filled(lab)
    lab.home.views.get(directory_view())
    lab.merge_projects("shop", "till")
    assert_is_as_folded_from_nothing(lab)
    assert_gives_what_the_journal_gives(lab)
    events = list(lab.home.views.events(["prompt"], projects=("till",)))
    assert len(events) == 10


def test_the_directory_is_opened_with_the_projects_in_one_pass(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(lab)
    passes: list[int] = []
    head_pages = SqliteJournal.head_pages

    def counted(journal: SqliteJournal, after: int, **options: Any) -> Any:
        passes.append(after)
        return head_pages(journal, after, **options)

    monkeypatch.setattr(SqliteJournal, "head_pages", counted)
    monkeypatch.delattr(SqliteJournal, "outlines")
    assert set(known_projects(lab.home)) == {"till", "shop", "attic"}
    lab.home.views.get(directory_view())
    assert passes == [0]


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_forgetting_equals_a_fold_from_nothing(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    drawn = data.draw(
        st.lists(
            st.tuples(st.sampled_from(KINDS), st.sampled_from(PROJECTS)),
            min_size=1,
            max_size=30,
        )
    )
    folder = tmp_path_factory.mktemp("home")
    with Lab(folder, clock=FixedClock(NOW + 10**12)) as lab:
        events = []
        for number, (kind, project) in enumerate(drawn):
            events.append(event_of(kind, project, number))
        lab.journal.append(events)
        cuts = sorted(data.draw(st.sets(st.integers(0, len(events)), max_size=3)))
        directory = directory_view()()
        for _, upto in pairwise([0, *cuts, len(events)]):
            fold_into(directory, lab.journal, upto)
        ids = data.draw(st.sets(st.sampled_from([event.id for event in events])))
        if ids:
            lab.erase(ids=sorted(ids))
        erased = lab.journal.read(ids=sorted(ids), erased=True)
        directory.forget([event.seq for event in erased])
        fresh = directory_view()()
        fold_into(fresh, lab.journal, directory.seq)
        assert differing_columns(directory, fresh) == []
        assert np.all(np.diff(fresh.rows["seq"]) > 0)
