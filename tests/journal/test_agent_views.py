"""A view of an agent is a fold of what that agent may read, and keeps snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from theorex_lab import Event, FixedClock, Lab, new_event
from theorex_lab.core.ids import SCANNER
from theorex_lab.designs.sessions.said import FileTouches
from theorex_lab.evolution.maintained import CaptureTimes, MaintenanceReports
from theorex_lab.journal import directed
from theorex_lab.journal.agent_journal import AgentJournal
from theorex_lab.journal.directory import directory_view
from theorex_lab.journal.erasing import EraseSelection, erasable
from theorex_lab.journal.kept_results import ResultQuery, keep_result, kept_result
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.journal.view import View, Views, differing_columns, fold_into, verify
from theorex_lab.journal.view_scopes import AgentViews, views_of_project
from theorex_lab.memory.session_list import SessionList

NOW = 1_770_000_000_000_000
SECOND = 1_000_000
AGENTS = ("alice", "bob", SCANNER)
PROJECTS = ("", "till", "shop")
KINDS = ("prompt", "tool_used", "pinned")
CLOCK = FixedClock(NOW + 10**12)


def event_of(kind: str, agent: str, project: str, number: int) -> Event:
    """Return a prompt, a tool call, or a mark of the owner, which all may read."""
    bodies: dict[str, dict[str, Any]] = {
        "prompt": {"text": f"look at {agent} {number}", "source": "user"},
        "tool_used": {
            "tool": "Edit",
            "source": "tool",
            "input": f"{agent}.py",
            "paths": {"read": ["c.py"], "edited": [f"{agent}.py"]},
        },
        "pinned": {"item": f"item {number}", "undo": False},
    }
    body = bodies[kind]
    if project and kind != "pinned":
        body = {**body, "project": project}
    session = f"{agent}-{number // 6}"
    at = NOW + number * SECOND
    return new_event(kind, body, agent=agent, session=session, at=at)


def events_of(count: int, *, after: int = 0, most_of: str = "") -> list[Event]:
    """Return events of all agents, kinds and projects, or all but a few of one agent."""
    events: list[Event] = []
    for number in range(after, after + count):
        agent = AGENTS[number // 3 % 3]
        if most_of and number % 20:
            agent = most_of
        kind = KINDS[number % 3]
        project = PROJECTS[number // 2 % 3]
        events.append(event_of(kind, agent, project, number))
    return events


@pytest.fixture(params=["looked through", "by the directory"])
def lab(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Lab]:
    if request.param == "by the directory":
        monkeypatch.setattr(directed, "FEWEST_EVENTS", 1)
        monkeypatch.setattr(directed, "_MOST_SHARE", 1.0)
    with opened(tmp_path) as lab:
        lab.journal.append(events_of(60))
        yield lab


def opened(folder: Path) -> Lab:
    return Lab(folder / "home", clock=CLOCK)


def views_of(lab: Lab, agent: str) -> AgentViews:
    views = lab.as_read_by(agent).views.whole
    assert isinstance(views, AgentViews)
    return views


def all_kinds(lab: Lab) -> list[type[View]]:
    return [*lab._views(), directory_view(), FileTouches, SessionList]


def fresh_fold(lab: Lab, kind: type[View], agent: str) -> View:
    """Return a view folded from nothing, one event after the other is looked at."""
    open_kinds = views_of(lab, agent).agent_journal.open_kinds
    view = kind()
    events = lab.journal.tail(0, kinds=kind.kinds, erased=kind.takes_unreadable)
    for event in events:
        if event.agent == agent or event.kind in open_kinds:
            view.apply([event])
    return view


def assert_equal_to_fresh_folds(lab: Lab, agents: tuple[str, ...] = AGENTS) -> None:
    for agent in agents:
        views = views_of(lab, agent)
        for kind in all_kinds(lab):
            fresh = fresh_fold(lab, kind, agent)
            assert differing_columns(views.get(kind), fresh) == [], (agent, kind.name)


def write_snapshots(lab: Lab, agents: tuple[str, ...] = AGENTS) -> None:
    for agent in agents:
        views = views_of(lab, agent)
        for kind in all_kinds(lab):
            assert views.snapshot(views.get(kind))


def agents_folders(lab: Lab) -> list[Path]:
    return sorted(lab.views.folder.glob("*@agent-*/*-*"))


def bytes_of_snapshots(lab: Lab) -> bytes:
    return b"".join(path.read_bytes() for path in lab.views.folder.rglob("*.npy"))


def test_views_of_an_agent_hold_what_it_may_read(lab: Lab) -> None:
    assert_equal_to_fresh_folds(lab)
    bobs = views_of(lab, "bob").get(SessionList)
    assert {name.partition("-")[0] for name in bobs.sessions} == {"bob"}
    lab.journal.append(events_of(30, after=60))
    assert_equal_to_fresh_folds(lab)


def test_views_of_what_all_may_read_are_those_of_the_home(lab: Lab) -> None:
    bobs = views_of(lab, "bob")
    reports = bobs.get(MaintenanceReports)
    assert reports is lab.views.get(MaintenanceReports)
    assert bobs.n_behind(MaintenanceReports) == 0
    assert bobs.snapshot(reports)
    assert agents_folders(lab) == []
    assert bobs.get(CaptureTimes) is not lab.views.get(CaptureTimes)


def test_opened_together_they_are_the_same(lab: Lab) -> None:
    bobs = views_of(lab, "bob")
    bobs.open_together(all_kinds(lab))
    assert_equal_to_fresh_folds(lab, ("bob",))


def test_a_project_of_an_agent_has_its_own_events_there(lab: Lab) -> None:
    bobs = lab.in_project("till").as_read_by("bob").views
    assert bobs is views_of_project(views_of(lab, "bob"), "till")
    for kind in (FileTouches, SessionList):
        fresh = kind()
        for event in lab.journal.tail(0, kinds=kind.kinds, projects=["till", ""]):
            if event.agent == "bob":
                fresh.apply([event])
        assert differing_columns(bobs.get(kind), fresh) == []


def test_snapshots_are_those_of_the_agent(lab: Lab, tmp_path: Path) -> None:
    write_snapshots(lab)
    names = {path.parent.name for path in agents_folders(lab)}
    scopes = {views_of(lab, agent).scope_of(None) for agent in AGENTS}
    assert len(scopes) == len(AGENTS)
    assert {f"session_list@{scope}" for scope in scopes} < names
    for agent in AGENTS:
        assert not any(agent in name.replace("agent-", "") for name in names)
    with opened(tmp_path) as other:
        assert views_of(other, "bob").n_behind(SessionList) == 0
        assert_equal_to_fresh_folds(other)


def test_a_reopened_view_reads_no_event_again(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_snapshots(lab, ("bob",))
    with opened(tmp_path) as other:
        bobs = views_of(other, "bob")
        monkeypatch.setattr(SqliteJournal, "_decoded", None)
        for kind in (SessionList, FileTouches, CaptureTimes):
            assert bobs.get(kind).seq == 60


def test_the_directory_spares_an_agent_what_others_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directed, "FEWEST_EVENTS", 1)
    decoded: list[str] = []
    of_row = SqliteJournal._decoded

    def counted(journal: SqliteJournal, row: tuple[Any, ...]) -> Event:
        decoded.append(row[3])
        return of_row(journal, row)

    with opened(tmp_path) as lab:
        lab.journal.append(events_of(600, most_of="alice"))
        lab.views.get(directory_view())
        monkeypatch.setattr(SqliteJournal, "_decoded", counted)
        bobs = views_of(lab, "bob")
        for kind in (SessionList, FileTouches):
            bobs.get(kind)
    assert set(decoded) == {"bob"}
    assert len(decoded) <= 2 * 10


def test_what_others_write_is_no_reason_for_a_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directed, "FEWEST_EVENTS", 1)
    (tmp_path / "home").mkdir()
    config = tmp_path / "home" / "config.json"
    config.write_text('{"snapshotAfterEvents": 150}', encoding="utf-8")
    with opened(tmp_path) as lab:
        lab.journal.append(events_of(300, most_of="alice"))
        for agent in ("alice", "bob"):
            views_of(lab, agent).get(SessionList)
        alices = views_of(lab, "alice").scope_of(None)
        folders = {path.parent.name for path in agents_folders(lab)}
        assert f"session_list@{alices}" in folders
        assert all(name.endswith(alices) for name in folders)


def test_an_erasure_leaves_nothing_in_the_snapshots_of_an_agent(
    lab: Lab, tmp_path: Path
) -> None:
    write_snapshots(lab)
    assert b"bob.py" in bytes_of_snapshots(lab)
    is_bobs = [event for event in lab.journal.tail(0) if event.agent == "bob"]
    lab.erase(ids=[event.id for event in is_bobs if event.kind == "tool_used"])
    assert b"bob.py" not in bytes_of_snapshots(lab)
    assert_equal_to_fresh_folds(lab)
    with opened(tmp_path) as other:
        assert_equal_to_fresh_folds(other)


def test_snapshots_of_every_agent_are_looked_at_for_what_was_erased(lab: Lab) -> None:
    write_snapshots(lab)
    events = lab.journal.tail(0, kinds=["tool_used"])
    bobs = [event.id for event in events if event.agent == "bob"]
    selection = EraseSelection(ids=bobs)
    erasable(lab.journal).erase_part(selection, agent=SCANNER, at=NOW)
    assert b"bob.py" in bytes_of_snapshots(lab)
    views_of(lab, "alice").remove_reached()
    assert b"bob.py" not in bytes_of_snapshots(lab)


def test_what_another_process_appends_and_erases_is_taken_in(
    lab: Lab, tmp_path: Path
) -> None:
    assert_equal_to_fresh_folds(lab)
    with opened(tmp_path) as other:
        write_snapshots(other, ("bob",))
        other.journal.append(events_of(30, after=60))
    assert_equal_to_fresh_folds(lab)
    with opened(tmp_path) as other:
        prompts = other.journal.tail(0, kinds=["prompt"])
        other.erase(ids=[event.id for event in prompts if event.agent == "bob"])
    assert_equal_to_fresh_folds(lab)


def test_a_merge_of_projects_reaches_the_views_of_an_agent(lab: Lab) -> None:
    write_snapshots(lab)
    bobs = lab.in_project("till").as_read_by("bob").views
    assert bobs.snapshot(bobs.get(SessionList))
    lab.merge_projects("shop", "till")
    assert_equal_to_fresh_folds(lab)
    bobs = lab.in_project("till").as_read_by("bob").views
    bobs_events = [
        event
        for event in lab.journal.tail(0, kinds=["prompt", "tool_used"])
        if event.agent == "bob"
    ]
    assert int(bobs.get(SessionList).rows["events"].sum()) == len(bobs_events)


def test_other_shared_kinds_have_other_snapshots(lab: Lab) -> None:
    views = [
        AgentViews(lab.views, "bob", shared_kinds) for shared_kinds in ((), ("prompt",))
    ]
    for each in views:
        each.snapshot(each.get(SessionList))
    first, second = (each.get(SessionList) for each in views)
    assert differing_columns(first, second)
    assert views[0].scope_of(None) != views[1].scope_of(None)


def test_an_agents_home_read_by_another_agent_has_a_scope_of_its_own(lab: Lab) -> None:
    nested = lab.as_read_by("bob").as_read_by("alice")
    assert list(nested.journal.tail(0, kinds=["prompt"])) == []
    alices = lab.as_read_by("alice")
    assert list(alices.journal.tail(0, kinds=["prompt"]))
    assert nested.views.whole.scope_of(None) != alices.views.whole.scope_of(None)


def test_results_kept_of_an_agent_are_its_own(lab: Lab) -> None:
    query = ResultQuery("told", 1, ("prompt",), ("till", ""))
    last = lab.journal.last_seq()
    for agent in ("alice", "bob"):
        assert keep_result(views_of(lab, agent), query, last, f"of {agent}")
    till = views_of_project(views_of(lab, "bob"), "till")
    assert kept_result(till, query, last) == "of bob"
    assert kept_result(views_of(lab, "alice"), query, last) == "of alice"
    assert kept_result(lab.views, query, last) is None


def test_verify_compares_the_views_of_an_agent(lab: Lab) -> None:
    bobs = views_of(lab, "bob")
    bobs.get(SessionList).rows["events"][0] += 1
    assert verify(bobs, [SessionList]).views["session_list"] == ["rows.events"]
    assert verify(lab.views, [SessionList]).ok


def test_the_directory_tells_whether_others_wrote(lab: Lab, tmp_path: Path) -> None:
    journals = [
        AgentJournal(lab.journal, "bob"),
        AgentJournal(lab.journal, "bob", directory=lab.views.directory),
    ]
    assert [each.hides_any() for each in journals] == [True, True]
    others = [event.id for event in lab.journal.tail(0) if event.agent == "alice"]
    lab.erase(ids=others)
    for directory in (None, lab.views.directory):
        journal = AgentJournal(lab.journal, "bob", directory=directory)
        assert not journal.hides_any()
        with opened(tmp_path) as other:
            note = event_of("prompt", "alice", "", lab.journal.last_seq())
            other.journal.append([note])
        assert journal.hides_any()
        lab.erase(ids=[note.id])


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    drawn=st.lists(
        st.tuples(
            st.sampled_from(KINDS), st.sampled_from(AGENTS), st.sampled_from(PROJECTS)
        ),
        min_size=2,
        max_size=30,
    ),
    cut=st.integers(0, 30),
    erased=st.sets(st.integers(0, 29), max_size=3),
    is_directed=st.booleans(),
)
def test_any_agent_equals_the_fold_of_its_events(
    tmp_path_factory: pytest.TempPathFactory,
    drawn: list[tuple[str, str, str]],
    cut: int,
    erased: set[int],
    is_directed: bool,
) -> None:
    events = [event_of(*parts, number) for number, parts in enumerate(drawn)]
    kinds: tuple[type[View], ...] = (SessionList, CaptureTimes, directory_view())
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch, Lab(folder, clock=CLOCK) as lab:
        if is_directed:
            patch.setattr(directed, "FEWEST_EVENTS", 1)
            patch.setattr(directed, "_MOST_SHARE", 1.0)
        views = AgentViews(lab.views, "bob")
        for part in (events[:cut], events[cut:]):
            if part:
                lab.journal.append(part)
            assert_is_fold_of(views, lab, kinds)
            for kind in kinds:
                views.snapshot(views.get(kind))
        ids = [events[number].id for number in erased if number < len(events)]
        if ids:
            lab.erase(ids=ids)
        assert_is_fold_of(views, lab, kinds)
        reopened = AgentViews(Views(lab.journal, lab.views.folder), "bob")
        assert_is_fold_of(reopened, lab, kinds)


def assert_is_fold_of(
    views: AgentViews, lab: Lab, kinds: tuple[type[View], ...]
) -> None:
    for kind in kinds:
        view = views.get(kind)
        fresh = kind()
        fold_into(fresh, AgentJournal(lab.journal, "bob"), view.seq)
        assert differing_columns(view, fresh) == []
