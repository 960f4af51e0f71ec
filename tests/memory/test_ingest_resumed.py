"""A session that is resumed or forked repeats what was told: each event comes in once,
in whatever order files come.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import transcripts as made
from hypothesis import given, settings
from hypothesis import strategies as st
from transcripts import CLOCK, CWD, captures, write

from theorex_lab import FixedClock, Lab, new_event
from theorex_lab.core.clock import to_microseconds
from theorex_lab.core.ids import derived_event_id
from theorex_lab.memory.hook_payloads import BODIES

OLD = [
    made.claude("user", 1, "Set the anchor timeout to ninety", sessionId="old"),
    made.claude(
        "assistant",
        2,
        made.call("t1", "Read", {"file_path": "a.py"}),
        sessionId="old",
        stop="tool_use",
    ),
    made.claude("user", 3, made.answer("t1", "x = 1"), sessionId="old"),
    made.claude(
        "assistant",
        4,
        [{"type": "text", "text": "Done, ninety."}],
        sessionId="old",
        stop="end_turn",
    ),
]
NEW = [
    *({**row, "sessionId": "new"} for row in OLD),
    made.claude("user", 60, "Now also the rope timeout", sessionId="new"),
]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=CLOCK) as lab:
        yield lab


def sessions(lab: Lab) -> list[str]:
    return [event.session for event in lab.journal.tail(0)]


def without_sessions(lab: Lab) -> list[tuple[object, ...]]:
    return sorted(
        (kind, at, body, number) for kind, _, at, body, number in captures(lab)
    )


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_what_a_resumed_session_repeats_is_kept_once_with_its_first_session(
    lab: Lab, tmp_path: Path, names: tuple[str, str]
) -> None:
    write(tmp_path / "t" / f"{names[0]}.jsonl", OLD)
    write(tmp_path / "t" / "deep" / f"{names[1]}.jsonl", NEW)
    report = lab.import_transcripts(tmp_path / "t")
    assert (report.events, report.replayed, report.already, report.problems) == (
        4,
        3,
        0,
        [],
    )
    assert sessions(lab) == ["old", "old", "old", "new"]
    again = lab.import_transcripts(tmp_path / "t")
    assert (again.events, again.already + again.replayed) == (0, 7)


def test_the_session_that_is_resumed_may_come_in_later(
    lab: Lab, tmp_path: Path
) -> None:
    lab.import_transcripts(write(tmp_path / "new.jsonl", NEW))
    before = captures(lab)
    report = lab.import_transcripts(write(tmp_path / "old.jsonl", OLD))
    assert (report.events, report.replayed) == (0, 3)
    assert captures(lab) == before


def test_a_fork_that_names_its_origin_tells_what_the_origin_tells(
    lab: Lab, tmp_path: Path
) -> None:
    fork = [
        {
            **row,
            "sessionId": "fork",
            "uuid": f"f{row['uuid']}",
            "forkedFrom": {"sessionId": "old", "messageUuid": row["uuid"]},
        }
        for row in OLD
    ]
    own = made.claude("user", 70, "Another way", sessionId="fork")
    lab.import_transcripts(write(tmp_path / "fork.jsonl", [*fork, own]))
    assert sessions(lab) == ["old", "old", "old", "fork"]
    assert lab.import_transcripts(write(tmp_path / "old.jsonl", OLD)).events == 0


@pytest.mark.parametrize(
    "other",
    [
        {"timestamp": made.at(50)},
        {"message": {"role": "user", "content": "Set it to ten"}},
        {"uuid": "u99"},
    ],
)
def test_an_event_with_another_id_time_or_content_is_another_one(
    lab: Lab, tmp_path: Path, other: made.Row
) -> None:
    lab.import_transcripts(write(tmp_path / "x.jsonl", [OLD[0], {**OLD[0], **other}]))
    assert len(sessions(lab)) == 2


def test_events_without_ids_are_those_of_their_session(
    lab: Lab, tmp_path: Path
) -> None:
    rows = [
        {name: value for name, value in row.items() if name != "uuid"}
        for row in (OLD[0], NEW[0])
    ]
    file = write(tmp_path / "x.jsonl", rows)
    assert lab.import_transcripts(file).events == 2
    assert lab.import_transcripts(file).already == 2


def test_what_a_former_release_imported_is_not_doubled(
    lab: Lab, tmp_path: Path
) -> None:
    body = BODIES["UserPromptSubmit"][1]({"prompt": "words that were cut", "cwd": CWD})
    former = derived_event_id("transcript", "claude", "old", "prompt u1")
    lab.journal.append(
        [
            new_event(
                "prompt",
                body,
                agent="main",
                session="old",
                at=CLOCK.now(),
                event_id=former,
            )
        ]
    )
    report = lab.import_transcripts(write(tmp_path / "old.jsonl", OLD))
    assert (report.events, report.already) == (2, 1)


@pytest.mark.parametrize("names", [["new"], ["old", "new"], ["new", "old"]])
def test_what_the_hook_recorded_live_is_not_told_again_by_a_resumed_session(
    lab: Lab, tmp_path: Path, names: list[str]
) -> None:
    for row, name, text in (
        (OLD[0], "UserPromptSubmit", OLD[0]["message"]["content"]),
        (OLD[3], "Stop", "Done, ninety."),
    ):
        kind, body_of = BODIES[name]
        body = body_of(
            {
                "hook_event_name": name,
                "prompt": text,
                "last_assistant_message": text,
                "cwd": CWD,
            }
        )
        at = to_microseconds(row["timestamp"]) + 300_000
        lab.journal.append([new_event(kind, body, agent="main", session="old", at=at)])
    for name in names:
        lab.import_transcripts(
            write(tmp_path / f"{name}.jsonl", OLD if name == "old" else NEW)
        )
    assert len(sessions(lab)) == 4
    lab.import_transcripts(tmp_path)
    assert len(sessions(lab)) == 4


def test_an_equal_prompt_of_a_session_that_the_hook_did_not_see_comes_in(
    lab: Lab, tmp_path: Path
) -> None:
    body = BODIES["UserPromptSubmit"][1]({"prompt": "go on", "cwd": CWD})
    at = to_microseconds(made.at(1))
    lab.journal.append([new_event("prompt", body, agent="main", session="a", at=at)])
    rows = [
        made.claude("user", 120, "go on", sessionId="b"),
        made.claude("user", 1, "go on", sessionId="b", cwd="/srv/other"),
    ]
    assert lab.import_transcripts(write(tmp_path / "b.jsonl", rows)).events == 2


_STEPS = st.lists(
    st.tuples(st.sampled_from(["ask", "answer", "resume", "fork"]), st.integers(0, 3)),
    min_size=1,
    max_size=14,
)
_DAMAGE = ["{broken\n", "\0\0\n", "[1]\n", '{"a":1}{"b"\n', "\n"]


def grown(steps: list[tuple[str, int]]) -> list[list[made.Row]]:
    """Sessions that go on, are resumed, or are forked from an earlier place, each in a
    file of its own.
    """
    files: list[list[made.Row]] = [[]]
    for second, (step, which) in enumerate(steps, 1):
        rows = files[which % len(files)]
        session = f"s{which % len(files)}"
        if step in ("resume", "fork"):
            kept = rows if step == "resume" else rows[: len(rows) // 2]
            files.append([{**row, "sessionId": f"s{len(files)}"} for row in kept])
        elif step == "ask":
            rows.append(
                made.claude("user", second, f"Prompt {second % 3}", sessionId=session)
            )
        else:
            text = [{"type": "text", "text": f"Answer {second % 3}"}]
            rows.append(
                made.claude(
                    "assistant", second, text, sessionId=session, stop="end_turn"
                )
            )
    return files


@settings(max_examples=25, deadline=None)
@given(
    steps=_STEPS, damage=st.lists(st.sampled_from(_DAMAGE), max_size=4), data=st.data()
)
def test_resumed_and_damaged_transcripts_come_in_once_in_any_order(
    steps: list[tuple[str, int]],
    damage: list[str],
    data: st.DataObject,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("grown")
    files = [rows for rows in grown(steps) if rows]
    if not files:
        return
    contents = [[json.dumps(row) + "\n" for row in rows] for rows in files]
    for line in damage:
        lines = data.draw(st.sampled_from(contents))
        lines.insert(data.draw(st.integers(1, len(lines))), line)
    places = [
        write(folder / "t" / f"{number}.jsonl", "".join(lines))
        for number, lines in enumerate(contents)
    ]
    distinct = {(row["uuid"], row["timestamp"]) for rows in files for row in rows}
    order = data.draw(st.permutations(places))
    with (
        Lab(folder / "all", clock=CLOCK) as together,
        Lab(folder / "each", clock=FixedClock(CLOCK.now())) as apart,
    ):
        report = together.import_transcripts(folder / "t")
        came_in = sum(map(len, files))
        assert report.events == len(distinct)
        assert (
            report.events
            + report.already
            + report.replayed
            + report.skipped
            + report.earlier
            == came_in
        )
        assert report.unread == sum(line != "\n" for line in damage)
        for place in [*order, *order[:1]]:
            apart.import_transcripts(place)
        assert without_sessions(apart) == without_sessions(together)
        before = captures(together)
        assert together.import_transcripts(folder / "t").events == 0
        assert captures(together) == before
