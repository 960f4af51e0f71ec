"""The index of what prompts bring: who writes it, who reads it, and what it survives."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab import Lab
from theorex_lab.core.clock import FixedClock
from theorex_lab.journal.erasing import ErasedPart, EraseSelection
from theorex_lab.journal.event import new_event
from theorex_lab.journal.sqlite.erase import erase_part
from theorex_lab.memory.briefing import prompt_index
from theorex_lab.memory.briefing.candidates import ASKED, Candidate
from theorex_lab.memory.briefing.index_file import (
    INDEX_FILE,
    note_lines_given,
    note_text_given,
    prompt_index_at,
)
from theorex_lab.memory.briefing.prompt_index import (
    index_of,
    remove_erased_projects,
    write_prompt_index,
)
from theorex_lab.memory.briefing.prompt_lines import (
    SECTION,
    PromptLine,
    _chosen,
    _PassageRow,
    lines_for_prompt,
    prompt_text,
    room_for_lines,
    words_of_line,
)
from theorex_lab.memory.briefing.prompt_words import own_and_pasted, words_in
from theorex_lab.memory.briefing.selection import choose
from theorex_lab.memory.briefing.session_log import recorded_sessions
from theorex_lab.text.line import count_tokens

HOUR = 3_600_000_000
PROMPT = "Why does the exporter write its archives in chunks?"
SAID = {
    "exporter": "The exporter writes archives in chunks because memory is short.",
    "parser": "The parser rejects tabs since the grammar has only spaces.",
    "scheduler": "The scheduler sleeps until the next job instead of polling.",
    "mailer": "The mailer retries three times because the relay is slow.",
}


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    clock = FixedClock.at("2026-03-02T09:00:00+00:00")
    with Lab(tmp_path / "home", clock=clock) as opened:
        yield opened


def _say(
    lab: Lab,
    session: str,
    prompt: str,
    message: str,
    *,
    project: str = "shop",
) -> None:
    """Record what a user asked, and what the agent answered."""
    at = lab.clock.now() - 400 * HOUR + lab.journal.last_seq() * HOUR
    prompt_body = {"text": prompt, "source": "user", "project": project}
    answer_body = {"message": message, "source": "agent", "project": project}
    for kind, body in (("prompt", prompt_body), ("turn_ended", answer_body)):
        event = new_event(kind, body, agent="main", session=session, at=at)
        lab.journal.append([event])
        at += HOUR // 2


def _work(lab: Lab, project: str = "shop") -> None:
    for subject, message in SAID.items():
        prompt = f"Improve the {subject} of the tool"
        _say(lab, f"{project}-{subject}", prompt, message, project=project)


def _file(lab: Lab) -> Path:
    return lab.home.folder / INDEX_FILE


def _lines(
    lab: Lab,
    prompt: str = PROMPT,
    *,
    project: str = "shop",
    tokens: int = 400,
    session: str = "",
) -> list[PromptLine]:
    """Return what the hook would bring."""
    with prompt_index_at(str(_file(lab))) as index:
        return lines_for_prompt(
            index,
            project,
            prompt,
            lab.clock.now(),
            tokens=tokens,
            session=session,
        )


def test_a_written_index_brings_what_fits(lab: Lab) -> None:
    _work(lab)

    assert write_prompt_index(lab.home) >= 1

    lines = _lines(lab)
    assert lines[0].text == (
        "The exporter writes archives in chunks because memory is short (13 Feb)."
    )
    assert lines[0].section == SECTION == ASKED
    assert '"chunks"' in lines[0].why
    assert lines[0].session == "shop-exporter"
    [event] = lines[0].events
    [said] = [item for item in lab.journal.tail(0) if item.id == event]
    assert said.body["message"] == SAID["exporter"]


def test_a_project_that_did_not_move_is_left_alone(lab: Lab) -> None:
    _work(lab)
    write_prompt_index(lab.home, ["shop"])
    assert write_prompt_index(lab.home, ["shop"]) == 0

    _say(lab, "b", "Look at the other mill", "The mill grinds oats.", project="mill")
    assert write_prompt_index(lab.home, ["shop"]) == 0

    _say(
        lab,
        "new",
        "Look at the exporter",
        "The exporter flushes its chunks every second.",
    )
    assert write_prompt_index(lab.home, ["shop"]) == 1
    assert any("flushes" in line.text for line in _lines(lab, tokens=2_000))


def test_lines_of_another_project_are_never_given(lab: Lab) -> None:
    _work(lab, "shop")
    _say(
        lab,
        "other",
        "Improve the exporter of archives",
        "The exporter of the mill writes archives to a tape in chunks.",
        project="mill",
    )
    write_prompt_index(lab.home)

    assert not any("tape" in line.text for line in _lines(lab, project="shop"))
    assert any("tape" in line.text for line in _lines(lab, project="mill"))
    assert _lines(lab, project="unknown") == []
    assert _lines(lab, project="") == []


def test_what_a_session_was_given_before_is_left_out(lab: Lab) -> None:
    _work(lab)
    write_prompt_index(lab.home)
    now = lab.clock.now()
    first = _lines(lab, session="now")
    assert first
    with prompt_index_at(str(_file(lab))) as index:
        given_now = {line.id: line.words for line in first}
        note_lines_given(index, "now", given_now, now)

    assert _lines(lab, session="now") == []
    assert [line.id for line in _lines(lab, session="b")] == [line.id for line in first]
    with prompt_index_at(str(_file(lab))) as index:
        note_lines_given(index, "now", {}, now, afresh=True)
    assert [line.id for line in _lines(lab, session="now")] == [
        line.id for line in first
    ]


def test_what_the_start_gave_in_other_words_is_left_out(lab: Lab) -> None:
    _work(lab)
    write_prompt_index(lab.home)
    start = f"# Briefing\n\nRecent work:\n- {SAID['exporter']}\n"
    with prompt_index_at(str(_file(lab))) as index:
        note_text_given(index, "now", start, lab.clock.now())

    texts = [line.text for line in _lines(lab, session="now")]
    assert not any("in chunks" in text for text in texts)


@pytest.mark.parametrize("tokens", [20, 60, 150, 500])
def test_the_budget_is_kept(lab: Lab, tokens: int) -> None:
    for number in range(12):
        message = f"The exporter writes part{number} to disk{number} without a copy."
        _say(lab, f"s{number}", f"Improve number {number} of the tool", message)
    for number in range(80):
        message = f"The lamp number {number} hangs in the room number {number + 1}."
        _say(lab, f"t{number}", f"Hang the lamp number {number}", message)
    write_prompt_index(lab.home)

    lines = _lines(lab, tokens=tokens)

    text = "".join(f"- {line.text}\n" for line in lines)
    assert count_tokens(f"{SECTION}:\n{text}") <= tokens or not lines
    smaller = {line.id for line in _lines(lab, tokens=tokens // 2)}
    if tokens in (150, 500):
        assert smaller
    assert smaller <= {line.id for line in lines} or tokens == 500


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                "a lamp|the red door|a door|two windows|one gate".split("|")
            ),
            st.floats(0, 1),
            st.integers(0, 60),
        ),
        max_size=25,
    ),
    st.sampled_from([30, 150, 200, 500, 700]),
)
def test_lines_are_chosen_as_those_of_a_start_are(
    drawn: Sequence[tuple[str, float, int]], tokens: int
) -> None:
    rows: list[_PassageRow] = []
    candidates: list[Candidate] = []
    for number, (what, weight, length) in enumerate(drawn):
        text = f"{what} of house {number % 7} {'x' * length} stands open (2 Mar)."
        words = words_of_line(text)
        row = _PassageRow(
            (number, str(number), text, 0, "s", "e", 0, "", " ".join(words), "")
        )
        row.weight = weight
        rows.append(row)
        candidates.append(
            Candidate(ASKED, "passage", text, weight, 0, "s", words, ("e",), "w")
        )

    chosen = [row.text for row in _chosen(rows, tokens, [])]

    expected = choose(candidates, tokens, whole_budget=True)
    assert chosen == [line.text for line in expected]


@pytest.mark.parametrize("damage", [b"not a database at all" * 500, b""])
def test_a_broken_index_is_rebuilt(lab: Lab, damage: bytes) -> None:
    _work(lab)
    write_prompt_index(lab.home)
    texts = [line.text for line in _lines(lab)]
    _file(lab).write_bytes(damage)

    write_prompt_index(lab.home)

    assert [line.text for line in _lines(lab)] == texts


def test_an_index_of_another_layout_is_refused_and_rebuilt(lab: Lab) -> None:
    _work(lab)
    write_prompt_index(lab.home)
    connection = sqlite3.connect(_file(lab))
    connection.execute("PRAGMA user_version = 4711")
    connection.close()

    with pytest.raises(sqlite3.DatabaseError, match="another layout"):
        _lines(lab)
    write_prompt_index(lab.home)
    assert _lines(lab)


def test_only_its_owner_may_read_the_index(lab: Lab) -> None:
    _work(lab)
    write_prompt_index(lab.home)

    assert _file(lab).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("tokens", [40, 60, 90])
def test_the_hook_and_the_library_give_the_same_text(lab: Lab, tokens: int) -> None:
    _work(lab)
    here = lab.in_project("shop")

    briefing = here.briefing(PROMPT, tokens=tokens)

    start = here.briefing(tokens=tokens).text
    with prompt_index_at(str(_file(lab))) as index:
        note_text_given(index, "now", start, lab.clock.now())
    lines = _lines(lab, tokens=room_for_lines(tokens), session="now")
    assert lines
    assert [line.text for line in lines] == [line.text for line in briefing.lines]
    assert [line.why for line in lines] == [line.why for line in briefing.lines]
    assert prompt_text(lines) == briefing.text
    assert briefing.tokens <= tokens


def test_a_crash_while_writing_leaves_what_was_there(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    _work(lab)
    write_prompt_index(lab.home)
    before = [line.text for line in _lines(lab)]
    _say(
        lab,
        "new",
        "Look at the exporter",
        "The exporter flushes its chunks every second.",
    )

    class PowerCut(Exception):
        pass

    def cut(*_: object) -> None:
        raise PowerCut

    with monkeypatch.context() as broken:
        broken.setattr(prompt_index, "_session_rows", cut)
        with pytest.raises(PowerCut):
            write_prompt_index(lab.home)

    assert [line.text for line in _lines(lab)] == before
    assert write_prompt_index(lab.home) == 1


def test_removal_leaves_no_file_of_the_index(lab: Lab) -> None:
    _work(lab)
    write_prompt_index(lab.home)
    with prompt_index_at(str(_file(lab))) as index:
        note_lines_given(index, "now", {"line": frozenset({"word"})}, lab.clock.now())
        remove_erased_projects(lab.home, ErasedPart([]))

    assert [*lab.home.folder.glob(f"{INDEX_FILE}*")] == []


SECRET = "Zanzibar"


def _two_projects(lab: Lab) -> str:
    """Write the index of two projects; return the event of one that is to be erased."""
    _work(lab, "shop")
    _work(lab, "mill")
    _say(lab, "s-vault", "Where is it?", f"The {SECRET} vault opens at six in summer.")
    write_prompt_index(lab.home)
    assert _holding(lab)
    [event_id] = [event.id for event in lab.journal.tail(0) if SECRET in str(event)]
    return event_id


def _holding(lab: Lab) -> list[Path]:
    """Return the files of the home that hold the secret in any case."""
    files = [path for path in lab.folder.rglob("*") if path.is_file()]
    return [path for path in files if SECRET.lower().encode() in _lowered(path)]


def _lowered(path: Path) -> bytes:
    return path.read_bytes().lower()


def _projects_written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows with each project that is written to an index."""
    projects: list[str] = []
    insert = prompt_index._insert_project

    def insert_noted(
        index: sqlite3.Connection,
        name: str,
        head: int,
        content: prompt_index._Content,
    ) -> None:
        projects.append(name)
        insert(index, name, head, content)

    monkeypatch.setattr(prompt_index, "_insert_project", insert_noted)
    return projects


def test_an_erasure_writes_only_the_projects_that_it_reached(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    event_id = _two_projects(lab)
    projects = _projects_written(monkeypatch)
    before = [line.text for line in _lines(lab, project="mill")]

    lab.erase(ids=[event_id])

    assert projects == ["shop"]
    assert _holding(lab) == []
    assert [line.text for line in _lines(lab, project="mill")] == before
    assert write_prompt_index(lab.home) == 0


def test_an_erasure_makes_no_index_where_there_was_none(lab: Lab) -> None:
    event_id = _two_projects(lab)
    remove_erased_projects(lab.home, ErasedPart([]))

    lab.erase(ids=[event_id])

    assert not _file(lab).exists()


def test_what_is_of_no_project_is_removed_from_every_project(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    _two_projects(lab)
    lab.agent("main").write(f"The {SECRET} vault is of no project.")
    write_prompt_index(lab.home)
    projects = _projects_written(monkeypatch)

    lab.erase(match=SECRET)

    assert {"shop", "mill"} <= {*projects}
    assert _holding(lab) == []


@pytest.mark.parametrize("ending", ["repeated", "another erasure", "next writing"])
def test_an_erasure_killed_before_the_index_is_ended_by_whoever_comes_next(
    lab: Lab, ending: str
) -> None:
    event_id = _two_projects(lab)
    erase_part(lab.journal, EraseSelection([event_id]), agent="a", at=lab.clock.now())

    if ending == "repeated":
        lab.erase(ids=[event_id])
    elif ending == "another erasure":
        mill = [
            event for event in lab.journal.tail(0) if event.session == "mill-mailer"
        ]
        lab.erase(ids=[mill[0].id])
    else:
        write_prompt_index(lab.home)

    if ending != "next writing":
        assert _holding(lab) == []
    if _file(lab).exists():
        lines = _lines(lab, f"When does the {SECRET} vault open?")
        assert not [line for line in lines if SECRET in line.text]


def test_an_erasure_killed_while_it_deletes_from_the_index_is_ended_by_a_repetition(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    event_id = _two_projects(lab)

    def killed(_index: sqlite3.Connection) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(prompt_index, "_empty_log", killed)
        with pytest.raises(KeyboardInterrupt):
            lab.erase(ids=[event_id])

    lab.erase(ids=[event_id])

    assert _holding(lab) == []


def test_an_index_that_another_process_reads_is_removed_as_a_whole(lab: Lab) -> None:
    event_id = _two_projects(lab)
    with prompt_index_at(str(_file(lab))) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM passages").fetchone()

        lab.erase(ids=[event_id])

        assert _holding(lab) == []


def test_old_bytes_in_the_free_room_of_an_index_are_wiped(lab: Lab) -> None:
    event_id = _two_projects(lab)
    # An earlier release deleted without overwriting.
    with sqlite3.connect(_file(lab)) as index:
        index.execute("PRAGMA secure_delete = OFF")
        index.execute("DELETE FROM cards")
        index.execute("DELETE FROM passages")
    index.close()

    lab.erase(ids=[event_id])

    assert _holding(lab) == []


def test_what_was_dismissed_is_not_given(lab: Lab) -> None:
    _work(lab)
    write_prompt_index(lab.home)
    dismissed = _lines(lab)[0]

    lab.dismiss(dismissed.id)

    write_prompt_index(lab.home)
    assert dismissed.id not in [line.id for line in _lines(lab)]
    assert dismissed.text not in [line.text for line in _lines(lab)]


HOSTILE = {
    "quotes": "exporter\" OR '1'='1' -- \"",
    "operators": "exporter NEAR(archive, 3) AND NOT chunks* ^memory : {a b} + -",
    "nuls": "exporter\x00 archives\x00\x00 in\x00chunks",
    "surrogates": "exporter \udcff\ud800 archives in chunks",
    "long": "exporter archives " + "x y" * 350_000,
    "many words": " ".join(f"exporter{number}" for number in range(100_000)),
    "one word": "x" * 1_000_000,
    "signs": "/" * 500_000 + "#" * 500_000,
    "lines": "```\n" * 250_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_prompt_is_safe_and_fast(lab: Lab, name: str) -> None:
    _work(lab)
    write_prompt_index(lab.home)

    start = time.process_time()
    lines = _lines(lab, HOSTILE[name], session="now")

    assert time.process_time() - start < 0.25
    assert all("\n" not in line.text for line in lines)
    if name in ("quotes", "operators", "nuls"):
        assert any("exporter" in line.text for line in lines)


@given(st.text(max_size=300))
def test_any_prompt_divides_into_own_and_pasted(prompt: str) -> None:
    own, pasted = own_and_pasted(prompt)
    for text in (own, pasted):
        words, parts = words_in(text)
        assert not any(" " in word or "\n" in word for word in words | parts)


def test_what_is_pasted_counts_less_than_the_own_words() -> None:
    prompt = (
        "The mailer is slow, look at the log:\n"
        "```\nparser: rejected tabs in grammar\n```\n"
        "> the scheduler sleeps\n"
    )

    own, pasted = own_and_pasted(prompt)

    assert own == "The mailer is slow, look at the log:"
    assert "parser" in pasted
    assert "scheduler" in pasted


def test_the_reader_imports_the_standard_library_alone() -> None:
    code = (
        "import sys, theorex_lab.memory.briefing.prompt_lines;"
        "print(*{'numpy','pathlib','dataclasses','typing','click'} & {*sys.modules})"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == ""


def test_the_index_in_memory_holds_the_same(lab: Lab) -> None:
    _work(lab)
    write_prompt_index(lab.home, ["shop"])
    now = lab.clock.now()
    sessions = recorded_sessions(lab.in_project("shop").home, now)

    lines = lines_for_prompt(index_of(sessions), "", PROMPT, now, tokens=400)

    assert [line.id for line in lines] == [line.id for line in _lines(lab)]


def test_a_prompt_that_only_goes_on_means_the_last_session(lab: Lab) -> None:
    """An earlier session that speaks of going on is not meant by it."""
    _say(
        lab,
        "old",
        "Let the importer continue after a broken row.",
        "The importer continues after a broken row and counts them.",
    )
    _say(
        lab,
        "last",
        "Split the invoice renderer into two modules.",
        "The invoice renderer is split into layout.py and drawing.py.",
    )
    write_prompt_index(lab.home)
    assert {line.session for line in _lines(lab, "continue")} == {"last"}
    assert {line.session for line in _lines(lab, "OK, please go on")} == {"last"}
