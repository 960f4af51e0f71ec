"""Damaged lines and unclear times of transcripts: what can be read comes in, and what
was guessed is said.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import transcripts as made
from conftest import Run
from hypothesis import given
from hypothesis import strategies as st
from transcripts import CLOCK, claude, told, write

from theorex_lab import Lab
from theorex_lab.core.clock import to_microseconds
from theorex_lab.files.formats.flat_files import read_lines
from theorex_lab.files.transcripts.folders import SourceLine, rows_of
from theorex_lab.files.transcripts.messages import read_time, time_of

TIMES = [
    ("A", "2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z", ""),
    ("earlier", "2026-03-01T09:00:00Z", "2026-03-01T09:00:00Z", "backwards"),
    ("future", "2031-01-01T00:00:00Z", "2026-03-01T09:00:00Z", "future"),
    ("none", None, "2026-03-01T09:00:00Z", "neighbour"),
    ("words", "yesterday evening", "2026-03-01T09:00:00Z", "neighbour"),
    ("milliseconds", 1_772_359_200_000, "2026-03-01T10:00:00Z", "number"),
    ("seconds", 1_772_359_200.5, "2026-03-01T10:00:00.5Z", "number"),
    ("text", "1772359200000000", "2026-03-01T10:00:00Z", "number"),
    ("leap", "2026-03-01T10:59:60Z", "2026-03-01T11:00:00Z", "leap_second"),
    (
        "offset",
        "2026-03-01T16:30:30.123456789+05:30",
        "2026-03-01T11:00:30.123456Z",
        "",
    ),
]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=CLOCK) as lab:
        yield lab


def test_each_time_is_read_or_guessed_and_what_was_guessed_is_counted(
    tmp_path: Path, lab: Lab
) -> None:
    rows = [
        {**claude("user", number, name), "timestamp": stated}
        for number, (name, stated, _, _) in enumerate(TIMES, 1)
    ]
    report = lab.import_transcripts(write(tmp_path / "x.jsonl", rows))
    assert {event.body["text"]: event.at for event in lab.journal.tail(0)} == {
        name: to_microseconds(at) for name, _, at, _ in TIMES
    }
    assert report.guessed == {
        "backwards": 1,
        "future": 1,
        "neighbour": 2,
        "number": 3,
        "leap_second": 1,
    }
    assert lab.import_transcripts(tmp_path / "x.jsonl").guessed == {}


def test_a_copied_file_without_times_says_that_its_own_was_taken(
    tmp_path: Path, run: Run
) -> None:
    file = write(
        tmp_path / "x.jsonl", [{**claude("user", 1, "Hello there"), "timestamp": None}]
    )
    os.utime(file, (1_700_000_000, 1_700_000_000))
    copy = Path(shutil.copy(file, tmp_path / "copy.jsonl"))
    assert run("import", "--transcripts", str(copy), "--json", "--dry-run").json[
        "guessed"
    ] == {"file": 1}
    assert (
        "1 times missing, also in neighbouring lines: the file's"
        in run("import", "--transcripts", str(copy)).out
    )


def test_sessions_that_interleave_do_not_run_backwards(
    tmp_path: Path, lab: Lab
) -> None:
    rows = [
        {
            "session": session,
            "hook_event_name": "UserPromptSubmit",
            "at": made.at(second),
            "prompt": f"p{second}",
        }
        for session, second in (("a", 300), ("b", 10), ("a", 400), ("b", 20))
    ]
    assert lab.import_transcripts(write(tmp_path / "x.jsonl", rows)).guessed == {}


@pytest.mark.parametrize(
    "stated",
    [
        True,
        0,
        -1,
        7,
        10**30,
        10**400,
        math.nan,
        math.inf,
        "1" * 30,
        "2026-03-01T10:61:60Z",
    ],
)
def test_what_is_no_time_is_none(stated: object) -> None:
    assert time_of(stated) is None


@given(
    st.integers(100_000_000, 99_999_999_999),
    st.sampled_from([1, 1_000, 1_000_000, 1_000_000_000]),
)
def test_a_number_is_read_by_its_size(seconds: int, parts: int) -> None:
    found = read_time(seconds * parts)
    assert found is not None
    assert (found.at, found.guess) == (seconds * 1_000_000, "number")


def test_objects_on_one_line_behind_zeros_and_marks_are_all_read(
    tmp_path: Path, lab: Lab
) -> None:
    first, second, third, fourth = (
        made.lines([claude("user", number, f"p{number}")]).strip()
        for number in range(4)
    )
    content = (
        f"\ufeff{first}\n{second}{third}\n   \n\0\0\0\n\0\0{fourth}\0\n{first}garbage\n"
    )
    report = lab.import_transcripts(write(tmp_path / "x.jsonl", content))
    assert told(lab) == [("prompt", f"p{number}") for number in range(4)]
    assert (report.already, report.unread) == (1, 2)
    assert report.problems == [
        "x.jsonl:4: the line holds bytes that are 0 and nothing else: what it held is lost",
        "x.jsonl:6: not JSON, or nested too deeply",
    ]


def test_objects_without_ids_on_one_line_are_different_ones(
    tmp_path: Path, lab: Lab
) -> None:
    rows = [
        {
            name: value
            for name, value in claude("user", 1, "go on").items()
            if name != "uuid"
        }
    ] * 2
    lab.import_transcripts(
        write(tmp_path / "x.jsonl", made.lines(rows).replace("\n", "") + "\n")
    )
    assert len(told(lab)) == 2


def test_halves_of_signs_come_in_readable(tmp_path: Path, lab: Lab) -> None:
    rows = [
        claude("assistant", 1, made.call("t1", "Bash", {"command": "cat build.log"})),
        claude(
            "user",
            2,
            made.answer("t1", "build ok \ud83d\u2026 rest of the log", failed=True),
        ),
        claude("user", 3, "The pier light \ud83d must stay green"),
    ]
    file = write(tmp_path / "x.jsonl", rows)
    assert lab.import_transcripts(file).events == 2
    assert lab.import_transcripts(file).already == 2
    assert told(lab) == [
        ("tool_used", "Bash"),
        ("prompt", "The pier light ? must stay green"),
    ]


def test_exported_lines_are_read_as_transcripts_are(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes(
        b'\xef\xbb\xbf{"a": 1}\n\0{"a": 2}{"a": 3}\n\n\0\0\n{"a": 4}{"b"\n'
    )
    problems: list[str] = []
    assert [row["a"] for _, row in read_lines(file, problems)] == [1, 2, 3, 4]
    assert [problem[:3] for problem in problems] == [":4:", ":5:"]


_OBJECTS = st.dictionaries(
    st.text(max_size=3),
    st.integers() | st.text('{}[]"\\\0\ufeff a', max_size=8),
    max_size=3,
)


@given(
    st.lists(_OBJECTS, max_size=5),
    st.lists(st.sampled_from(["", " ", "\0", "\t\0 "]), min_size=6, max_size=6),
)
def test_every_object_on_a_line_is_read(
    objects: list[made.Row], between: list[str]
) -> None:
    parts = [
        f"{blank}{made.lines([row]).strip()}"
        for blank, row in zip(between, objects, strict=False)
    ]
    content = ("".join(parts) + between[-1] + "\n").encode()
    if objects:
        assert list(rows_of(SourceLine(1, content, whole=True))) == objects
