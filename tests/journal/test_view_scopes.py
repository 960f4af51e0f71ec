"""A view of a project is a fold of that project's events and of those of none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from theorex_lab import Event, FixedClock, Lab, new_event
from theorex_lab.designs.sessions.said import FileTouches, names_now_in, needed_files
from theorex_lab.journal import directed, view
from theorex_lab.journal.snapshot import ErasureReader, Erasures, scope_digest
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.journal.view import (
    NO_SCOPE,
    PROJECT_SCOPE,
    View,
    differing_columns,
    verify,
)
from theorex_lab.journal.view_scopes import ProjectViews, views_of_project
from theorex_lab.memory.annotations import Marks
from theorex_lab.memory.session_list import SessionList

NOW = 1_770_000_000_000_000
SECOND = 1_000_000
PROJECTS = ("", "till", "shop")
SCOPED: tuple[type[View], ...] = (FileTouches, SessionList)
COMMANDS = ("cat app/a.py", "git mv app/a.py app/b.py", "rm app/b.py")


def event_of(kind: str, project: str, number: int) -> Event:
    """Return a prompt, or a call that edits, moves or removes files."""
    body: dict[str, object] = {"text": f"look at {project} {number}", "source": "user"}
    if kind == "tool_used":
        command = COMMANDS[number % len(COMMANDS)]
        paths = {"read": ["app/c.py"], "edited": ["app/a.py"]}
        body = {
            "tool": "Bash",
            "source": "tool",
            "command": command,
            "input": command,
            "ok": number % 4 != 0,
            "paths": paths,
        }
    if project:
        body["project"] = project
    session = f"s{number // 6}"
    at = NOW + number * SECOND
    return new_event(kind, body, agent="main", session=session, at=at)


def events_of(count: int, *, after: int = 0) -> list[Event]:
    events = []
    for number in range(after, after + count):
        kind = ("prompt", "tool_used")[number % 2]
        events.append(event_of(kind, PROJECTS[number % 3], number))
    return events


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=FixedClock(NOW + 10**12)) as opened:
        opened.journal.append(events_of(36))
        yield opened


def fresh_fold(lab: Lab, kind: type[View], project: str) -> View:
    """Return a view folded from nothing of the events that are of a project or none."""
    fresh = kind()
    names = [*lab.journal.places().names_of(project), ""]
    for event in lab.journal.tail(0, kinds=kind.kinds, projects=names):
        fresh.apply([event])
    return fresh


def assert_equal_to_fresh_folds(lab: Lab) -> None:
    for project in ("till", "shop"):
        views = views_of_project(lab.views, project)
        for kind in SCOPED:
            fresh = fresh_fold(lab, kind, project)
            assert differing_columns(views.get(kind), fresh) == []


def test_views_of_a_project_hold_its_events_and_those_of_none(lab: Lab) -> None:
    assert_equal_to_fresh_folds(lab)
    till = lab.in_project("till").views
    assert set(till.get(SessionList).projects) == {"till", ""}
    assert set(lab.views.get(SessionList).projects) == {"till", "shop", ""}
    lab.journal.append(events_of(12, after=36))
    assert_equal_to_fresh_folds(lab)


def test_a_view_without_a_scope_is_that_of_the_home(lab: Lab) -> None:
    till = lab.in_project("till")
    assert Marks.scope != PROJECT_SCOPE
    assert till.views.get(Marks) is lab.views.get(Marks)
    assert till.views.get(SessionList) is not lab.views.get(SessionList)
    assert lab.in_project("till").views is till.views
    assert till.in_project("").views is lab.views
    assert till.in_project("shop").views.whole is lab.views


def test_snapshots_are_those_of_the_scope(lab: Lab, tmp_path: Path) -> None:
    for project in ("till", "shop"):
        views = views_of_project(lab.views, project)
        for kind in SCOPED:
            assert views.snapshot(views.get(kind))
    folders = {path.name for path in lab.views.folder.glob("*@*")}
    scope = scope_digest(("till", ""))
    assert {f"touches@{scope}", f"session_list@{scope}"} < folders
    assert not any("till" in folder for folder in folders)
    with Lab(tmp_path / "home", clock=lab.clock) as other:
        assert_equal_to_fresh_folds(other)
        views = views_of_project(other.views, "till")
        assert views.n_behind(SessionList) == 0
        assert other.views.n_behind(SessionList) == 36


def test_a_reopened_project_reads_no_event_again(lab: Lab, tmp_path: Path) -> None:
    views = views_of_project(lab.views, "till")
    views.snapshot(views.get(SessionList))
    decoded: Counter[str] = Counter()
    of_row = SqliteJournal._decoded

    def counted(journal: SqliteJournal, row: tuple[Any, ...]) -> Event:
        decoded[row[5]] += 1
        return of_row(journal, row)

    with (
        Lab(tmp_path / "home", clock=lab.clock) as other,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(SqliteJournal, "_decoded", counted)
        views_of_project(other.views, "till").get(SessionList)
    assert not decoded


def test_an_erasure_removes_the_snapshots_of_every_scope(lab: Lab) -> None:
    erased = [event.id for event in lab.journal.tail(0, projects=["shop"])]
    for project in ("till", "shop"):
        views = views_of_project(lab.views, project)
        for kind in SCOPED:
            views.snapshot(views.get(kind))
    assert list(lab.views.folder.glob("*@*/*/manifest.json"))
    lab.in_project("till").erase(ids=erased)
    for path in lab.views.folder.rglob("*.npy"):
        assert b"shop" not in path.read_bytes()
    assert_equal_to_fresh_folds(lab)


def test_a_merge_gives_a_project_what_was_of_the_other(lab: Lab) -> None:
    assert_equal_to_fresh_folds(lab)
    lab.merge_projects("shop", "till")
    till = lab.in_project("till").views
    for kind in SCOPED:
        fresh = fresh_fold(lab, kind, "till")
        assert differing_columns(till.get(kind), fresh) == []
    assert int(till.get(SessionList).rows["events"].sum()) == 36


def test_what_is_known_of_files_is_that_of_the_whole_home(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both folds give the files of a project alike."""
    now = NOW + 10**9

    def told_of_files() -> list[object]:
        answers: list[object] = []
        for project in ("till", "shop"):
            home = lab.in_project(project).home
            answers.append(needed_files(home, now))
            answers.append(needed_files(home, now, "c.py"))
            answers.append(names_now_in(home, now))
        return answers

    scoped = told_of_files()
    assert any(scoped)
    monkeypatch.setattr(FileTouches, "scope", NO_SCOPE)
    assert told_of_files() == scoped


def test_a_home_whose_project_is_set_later_reads_the_views_of_that_one(
    lab: Lab,
) -> None:
    assert lab.home.views is lab.views
    lab.home.project = "till"
    assert set(lab.home.views.get(SessionList).projects) == {"till", ""}
    lab.home.project = "shop"
    assert set(lab.home.views.get(SessionList).projects) == {"shop", ""}


def test_verify_compares_the_views_of_the_project(lab: Lab) -> None:
    till = lab.in_project("till")
    assert till.verify().ok
    till.views.get(SessionList).rows["events"][0] += 1
    verification = verify(till.views, SCOPED)
    assert verification.views["session_list"] == ["rows.events"]
    assert lab.verify().ok, "the view of the whole home is sound"


def test_only_the_last_projects_stay_open(lab: Lab) -> None:
    first = views_of_project(lab.views, "till")
    for number in range(20):
        views_of_project(lab.views, f"project {number}")
    assert len(lab.views.scopes) == 8
    assert isinstance(first, ProjectViews)
    assert views_of_project(lab.views, "till") is not first


def test_what_was_folded_is_saved_for_other_processes(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.views.snapshot_after_events = 30
    views = views_of_project(lab.views, "till")
    assert not list(lab.views.folder.glob("*/*-*"))
    for kind in SCOPED:
        lab.views.get(kind, upto=0)
        views.get(kind, upto=0)
    assert lab.views.save_grown() == 0, "what is not folded yet is not saved"
    lab.journal.append(events_of(12, after=36))
    for opened in (lab.views, views):
        opened.snapshot_after_events = 49
        for kind in SCOPED:
            opened.get(kind)
        opened.snapshot_after_events = 48
    monkeypatch.setattr(view, "_BYTES_OF_A_FOLD", 0)
    assert lab.views.save_grown() == 0, "they are too large for what they spare"
    monkeypatch.undo()
    assert lab.views.save_grown() == 4
    assert lab.views.save_grown() == 0
    lab.journal.append(events_of(12, after=48))
    assert lab.views.save_grown() == 0, "little came since"
    with Lab(tmp_path / "home", clock=lab.clock) as other:
        scoped = views_of_project(other.views, "till")
        assert scoped.n_behind(SessionList) == other.views.n_behind(FileTouches) == 12
        assert_equal_to_fresh_folds(other)


def test_a_view_is_let_go_where_its_snapshot_gives_it_again(lab: Lab) -> None:
    lab.views.snapshot_after_events = 30
    project_views = views_of_project(lab.views, "till")
    for views in (lab.views, project_views):
        for kind in SCOPED:
            views.get(kind)
    before = lab.views.get(FileTouches)
    project_views.snapshot_after_events = 1_000  # than which too little was folded
    assert lab.views.let_go() == 4, "two with a snapshot, two that are soon folded"
    assert lab.views.let_go() == 0
    assert lab.views.n_behind(FileTouches) == 0, "its snapshot is at hand"
    again = lab.views.get(FileTouches)
    assert again is not before
    assert_equal_to_fresh_folds(lab)


def test_a_view_that_would_be_folded_anew_is_not_let_go(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.views.snapshot_after_events = 1_000
    opened = lab.views.get(FileTouches)
    lab.views.snapshot_after_events = 30
    monkeypatch.setattr(view, "_BYTES_OF_A_FOLD", 0)
    assert lab.views.let_go() == 0
    assert lab.views.get(FileTouches) is opened


def test_a_slow_fold_is_saved_where_that_is_little_to_write(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.views.snapshot_after_events = 10
    lab.views.get(SessionList)
    seqs = [36]

    def saved_after(count: int) -> bool:
        lab.journal.append(events_of(count, after=lab.journal.last_seq()))
        lab.views.get(SessionList)
        folders = lab.views.folder.glob("session_list/*-*")
        newest = max(int(path.name.rpartition("-")[2]) for path in folders)
        seqs.append(newest)
        return seqs[-1] > seqs[-2]

    assert not saved_after(11), "less than a third came"
    monkeypatch.setattr(view, "_SLOW_FOLD_EVENTS", 11)
    monkeypatch.setattr(view, "_BYTES_AN_EVENT", 1)
    assert not saved_after(0), "it is too large"
    monkeypatch.setattr(view, "_BYTES_AN_EVENT", 1 << 14)
    assert saved_after(1)
    assert not saved_after(10), "they are folded at once"


def test_erasures_are_read_once_and_as_they_are(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = ErasureReader(lab.journal)
    stretches: list[int] = []
    tail = SqliteJournal.tail

    def counted(journal: SqliteJournal, after: int, **options: Any) -> Iterator[Event]:
        stretches.append(after)
        return tail(journal, after, **options)

    def erased_after(seq: int) -> list[str] | None:
        ids = reader.after(seq).erased_ids(seq)
        assert ids == Erasures.after(lab.journal, seq).erased_ids(seq)
        return ids

    ids = [event.id for event in lab.journal.tail(0)]
    assert erased_after(20) == []
    lab.erase(ids=ids[:1])
    lab.journal.append(events_of(6, after=36))
    assert erased_after(20) == erased_after(30) == erased_after(0) == ids[:1]
    last = lab.journal.last_seq()
    assert erased_after(last) == erased_after(last + 5) == []
    with Lab(tmp_path / "home", clock=lab.clock) as other:
        other.erase(ids=ids[1:2])
    assert erased_after(last) == ids[1:2]
    assert erased_after(10) == ids[:2]
    with monkeypatch.context() as patch:
        patch.setattr(SqliteJournal, "tail", counted)
        for seq in (10, 30, last):
            reader.after(seq)
    assert set(stretches) <= {lab.journal.last_seq()}
    lab.merge_projects("shop", "till")
    assert erased_after(10) is None


def test_another_journal_in_the_same_place_has_its_own_erasures(lab: Lab) -> None:
    reader = ErasureReader(lab.journal)
    lab.erase(ids=[event.id for event in lab.journal.tail(0, upto=1)])
    assert reader.after(0).erased_ids(0)
    with Lab.temporary() as other:
        other.journal.append(events_of(50))
        reader._journal = other.journal
        assert reader.after(0).erased_ids(0) == []


@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    drawn=st.lists(
        st.tuples(st.sampled_from(["prompt", "tool_used"]), st.sampled_from(PROJECTS)),
        max_size=30,
    ),
    cut=st.integers(0, 30),
    by_directory=st.booleans(),
)
def test_any_project_equals_the_fold_of_its_events(
    tmp_path_factory: pytest.TempPathFactory,
    drawn: list[tuple[str, str]],
    cut: int,
    by_directory: bool,
) -> None:
    events = []
    for number, (kind, project) in enumerate(drawn):
        events.append(event_of(kind, project, number))
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        if by_directory:
            patch.setattr(directed, "FEWEST_EVENTS", 1)
            patch.setattr(directed, "_MOST_SHARE", 1.0)
        with Lab(folder, clock=FixedClock(NOW + 10**12)) as lab:
            lab.journal.append(events[:cut])
            assert_equal_to_fresh_folds(lab)
            lab.journal.append(events[cut:])
            assert_equal_to_fresh_folds(lab)
