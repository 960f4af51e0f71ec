"""The list of recorded sessions: what it counts, and what it leaves out."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from conftest import DAY, NOW
from page_memory import BANK, BANK_RULE, RULE, SHOP, fail, happened, said, session

from theorex_lab import Event, Lab
from theorex_lab.memory.session_list import SessionList, SessionRow


def rows(lab: Lab, projects: Sequence[str] | None = None) -> list[SessionRow]:
    with lab.views.reading(SessionList) as view:
        return [view.session_row(row) for row in view.of_projects(projects)]


def touched(session: str, ok: bool | None, **paths: list[str]) -> Event:
    return happened(
        "tool_used",
        session=session,
        project=SHOP,
        at=NOW,
        tool="Edit",
        source="tool",
        ok=ok,
        paths=paths,
    )


def test_a_session_is_a_row_with_its_first_own_prompt(lab: Lab) -> None:
    reminder = said("<system-reminder>Be brief", session="one", at=NOW - DAY)
    events = [reminder, *session("one", RULE, "Fix the till.")]
    lab.journal.append(events)
    [row] = rows(lab)
    assert (row.agent, row.session, row.project) == ("main", "one", SHOP)
    assert (row.events, row.prompts) == (7, 3)
    assert lab.journal.read(seqs=[row.first_prompt])[0].body["text"] == RULE
    assert (row.first_at, row.last_at) == (events[0].at, events[-1].at)


def test_sessions_come_with_the_one_that_began_last_first(lab: Lab) -> None:
    lab.journal.append(
        [
            *session("new", RULE, day=1),
            *session("old", RULE, day=5),
            *session("other", BANK_RULE, project=BANK, day=3),
        ]
    )
    assert [row.session for row in rows(lab)] == ["new", "other", "old"]
    assert [row.session for row in rows(lab, [SHOP])] == ["new", "old"]
    assert rows(lab, ["nowhere"]) == []


def test_edited_files_come_first_and_each_once(lab: Lab) -> None:
    lab.journal.append(
        [
            touched("one", True, read=["a.py", "b.py"]),
            touched("one", True, edited=["b.py"], read=["a.py"]),
            touched("one", False, edited=["c.py"]),
        ]
    )
    [row] = rows(lab)
    assert (row.files, row.edited) == (("b.py", "a.py", "c.py"), 1)


def test_what_has_no_session_is_of_its_day_and_calls_of_models_are_none(
    lab: Lab,
) -> None:
    lab.journal.append([said(RULE, session="")])
    fail(lab)  # with a tool call of a dispatched task
    assert [(row.session, row.events) for row in rows(lab)] == [("2026-03-01", 1)]


def test_what_was_erased_is_in_no_session(lab: Lab) -> None:
    lab.journal.append(session("one", RULE, "Fix the till."))
    with lab.views.reading(SessionList) as view:
        (first, *_) = view.seqs_of("main", "one", None)
        assert view.seqs_of("main", "one", [BANK]) == []
        assert view.seqs_of("nobody", "one", None) == []
    (prompt,) = lab.journal.read(seqs=[first])
    lab.erase(ids=[prompt.id])
    [row] = rows(lab)
    assert (row.prompts, row.events) == (1, 5)
    assert lab.journal.read(seqs=[row.first_prompt])[0].body["text"] == "Fix the till."


@pytest.mark.parametrize("n_first", [0, 1, 4])
def test_the_list_is_the_same_however_it_was_read(lab: Lab, n_first: int) -> None:
    events = session("one", RULE, "Fix the till.")
    if n_first:
        lab.journal.append(events[:n_first])
        rows(lab)
        with lab.views.reading(SessionList) as view:
            lab.views.snapshot(view)
    lab.journal.append(events[n_first:])
    assert lab.verify().ok
    with Lab(lab.folder, clock=lab.clock) as again:
        assert rows(again) == rows(lab)
