"""A user's words: what a program put beside them is cut, and a tag that they only
mention is theirs.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hostile_times import is_within
from hypothesis import example, given
from hypothesis import strategies as st
from transcripts import CLOCK, claude, told, write

from theorex_lab import Lab
from theorex_lab.files.ingest.words import own_words
from theorex_lab.text.spoken import sentences_of

MENTIONS = [
    (
        "The closing tag </system-reminder> leaks into my renderer output; please"
        " escape it before printing"
    ),
    (
        "Why does <command-name> appear in my export? Keep only the args and never drop"
        " the rest of the line"
    ),
    "Caveat: this one is mine. Please keep port 9443 for the proxy",
    "Caveat:\nThe messages below are mine",
    "<system-reminder> leaks into the page",
    "<command-name>, <command-args> and </command-args> stay raw",
    "</system-reminder> at the start",
    "Why is <system-reminder>be brief</system-reminder> shown?",
    'It prints "<bash-stdout>x</bash-stdout>" twice',
    "`<system-reminder>x</system-reminder>` is what I see",
    "I see\n```\n<system-reminder>\nx\n</system-reminder>\n```\nin the log",
    "I see\n~~~xml\n<system-reminder>x</system-reminder>\n~~~",
    "> <system-reminder>x</system-reminder>\n\nwho wrote that?",
    "Fix it\n<system-reminder>\nis never closed",
    "Render <Skill attr='1'/> and <user_info/> inline",
    "[Request interrupted by user for tool use] is printed twice, fix that",
    (
        "This session is being continued from a previous conversation, so read NOTES.md"
        " first"
    ),
    "# AGENTS.md instructions for the new service\nplease write them",
    "The heading ## My request for Codex: is doubled",
    "a < b and c > d, <b>bold</b> too",
]


@pytest.mark.parametrize("text", MENTIONS)
def test_a_prompt_that_mentions_a_programs_marks_keeps_its_words(text: str) -> None:
    assert own_words([text]) == text


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("<system-reminder>\nx\n</system-reminder>\nFix it", "Fix it"),
        ("Fix it\n<system-reminder>x</system-reminder>", "Fix it"),
        (
            "Fix it\n  <SYSTEM-Reminder kind='a' n=1>\nx\n</system-reminder >\nnow",
            "Fix it\n  \nnow",
        ),
        (
            "A\n<system-reminder>a<system-reminder>b</system-reminder>c</system-reminder>\nB",
            "A\n\nB",
        ),
        (
            (
                "A\n<system-reminder>\nends with <system-reminder>"
                " here\n</system-reminder>\nB"
            ),
            "A\n\nB",
        ),
        ("A\n<system-reminder/>\nB", "A\n\nB"),
        (
            "<command-message>x</command-message> <command-name>/x</command-name>\nB",
            "B",
        ),
        (
            "<system-reminder>an open fence\n```\n</system-reminder>\nFix `it`",
            "Fix `it`",
        ),
        (
            (
                "Fix it <ide_selection>a\nb</ide_selection>"
                " <ide_opened_file>c</ide_opened_file>\nnow"
            ),
            "Fix it  \nnow",
        ),
        ("<system-reminder>\nthe message ends here", ""),
        (
            (
                "<task-notification>\nx\n</task-notification>\nFull transcript"
                " available at: /tmp/a.output"
            ),
            "",
        ),
        ("<system-reminder>\nthe file has </system-reminder>\nin it", "in it"),
        (
            "<system-reminder>x</system-reminder>\nEscape </system-reminder>",
            "Escape </system-reminder>",
        ),
        (
            (
                "Fix it\n<skill>x</skill><system-reminder>has <system-reminder> in"
                " it</system-reminder>\nnow"
            ),
            "Fix it\n\nnow",
        ),
        ("Fix it\n[Pasted text #1] <system-reminder>x</system-reminder>", "Fix it"),
    ],
)
def test_balanced_elements_at_the_start_of_a_line_are_the_programs(
    written: str, words: str
) -> None:
    assert own_words([written]) == words


def test_a_block_of_its_own_is_the_programs_from_its_first_sign_to_its_last() -> None:
    reminder = "<system-reminder>x</system-reminder>\nevil</system-reminder>"
    assert (
        own_words([reminder, "Escape </system-reminder>"])
        == "Escape </system-reminder>"
    )


def test_what_is_said_behind_a_mention_is_still_a_sentence_of_the_user() -> None:
    spans = sentences_of(
        "Why does <command-name> appear? Always keep the rest of the line.", by="user"
    )
    assert spans[-1].text == "Always keep the rest of the line."
    assert (
        sentences_of("<command-name>x\nAlways keep the rest of the line.", by="user")
        == []
    )


def test_prompts_with_mentions_are_imported_whole(tmp_path: Path) -> None:
    rows = [claude("user", second, text) for second, text in enumerate(MENTIONS, 1)]
    with Lab(tmp_path / "home", clock=CLOCK) as lab:
        lab.import_transcripts(write(tmp_path / "x.jsonl", rows))
        assert told(lab) == [("prompt", text) for text in MENTIONS]


_NAMES = st.sampled_from(
    ["system-reminder", "command-name", "ide_selection", "bash-stdout", "Skill"]
)
_MENTIONED = st.builds(
    "{1}{0}{2}".format,
    _NAMES,
    st.sampled_from(["<", "</"]),
    st.sampled_from([">", "/>", " a='b'>"]),
)
_WORDS = st.sampled_from(
    ["fix", "the", "Caveat:", "a < b", "`x`", "日本", "\ud83d", "-", "  ", "?"]
)
# A word comes first: what starts a line or stands in the editor's place at its end may
# be the program's.
_LINES = st.builds(
    "word {} end".format, st.lists(_WORDS | _MENTIONED, max_size=8).map(" ".join)
)
_INSIDE = st.sampled_from(
    ["", "x", "\nbe brief\n", "\n```\n", "<b>bold</b>", "- one\n- two"]
)


@st.composite
def _elements(draw: st.DrawFn) -> str:
    name = draw(_NAMES)
    inside = draw(_INSIDE)
    if draw(st.booleans()):
        inside = f"<{name}>{inside}</{name}>"
    return f"<{name}>{inside}</{name.upper() if draw(st.booleans()) else name}>"


@given(
    st.lists(
        st.tuples(_LINES, st.lists(_elements(), max_size=2)), min_size=1, max_size=5
    )
)
def test_words_around_elements_come_out_exactly(
    lines: list[tuple[str, list[str]]],
) -> None:
    written = "\n".join("".join([*elements, line]) for line, elements in lines)
    words = "\n".join(line for line, _ in lines)
    assert own_words([words]) == words
    assert own_words([written]) == words


@example(
    "fix\n<skill>x</skill><system-reminder><system-reminder><system-reminder>"
    "</system-reminder></system-reminder>"
)
@example("fix\n[Pasted text #1]<system-reminder/>`")
@given(
    st.text("<>/`~\n abc", max_size=200)
    | st.lists(_MENTIONED | _elements() | _WORDS | st.just("\n")).map("".join)
)
def test_words_are_a_part_of_what_was_written_and_hold_no_more(written: str) -> None:
    words = own_words([written])
    rest = iter(written)
    assert all(sign in rest for sign in words)
    assert own_words([words]) in words


@pytest.mark.parametrize(
    "piece",
    [
        "<system-reminder>",
        "</system-reminder>",
        "\n<skill>",
        "<skill></skill>",
        "```\n",
        "\n<ide_selection></ide_selection> ",
        "x <ide_selection></ide_selection>",
        "<skill ",
        "\n<skill/>",
        "<skill><skill></skill>",
        "\n<skill></skill><skill><skill></skill>",
        " ",
        "[Pasted text #1] ",
    ],
)
def test_hostile_prompts_take_linear_time(piece: str) -> None:
    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        began = time.process_time()
        own_words([text])
        own_words([f"x{text}", text])
        return time.process_time() - began

    assert is_within(seconds, 400_000, 6)
