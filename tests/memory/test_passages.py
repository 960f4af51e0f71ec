"""Passages: lines of earlier sessions that fit a prompt."""

import sqlite3
import time
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab.core.remembering import forget_texts
from theorex_lab.journal.event import Event
from theorex_lab.memory.briefing import compose, prompt_index
from theorex_lab.memory.briefing.candidates import ASKED, Candidate, fits_a_line
from theorex_lab.memory.briefing.prompt_index import index_of, kept_index_of
from theorex_lab.memory.briefing.prompt_lines import PromptLine, lines_for_prompt
from theorex_lab.memory.briefing.session_log import Session, sessions_of

START = 1_740_400_000_000_000  # 24 February 2025
HOUR = 3_600_000_000
SUBJECTS = (
    ("exporter", "The exporter writes archives in chunks because memory is short."),
    ("parser", "The parser rejects tabs since the grammar has only spaces."),
    ("scheduler", "The scheduler sleeps until the next job instead of polling."),
    ("mailer", "The mailer retries three times because the relay is slow."),
)


def _event(number: int, session: str, kind: str, body: dict) -> Event:
    at = START + number * HOUR
    return Event(number, f"event-{number}", at, "agent", session, kind, (), body)


def _events(turns: Sequence[tuple[str, str, str]]) -> list[Event]:
    """Return the events of turns: session, prompt, message."""
    events: list[Event] = []
    for session, prompt, message in turns:
        body = {"text": prompt, "source": "user"}
        events.append(_event(len(events), session, "prompt", body))
        body = {"message": message, "source": "agent"}
        events.append(_event(len(events), session, "turn_ended", body))
    return events


def _log(turns: Sequence[tuple[str, str, str]]) -> list[Session]:
    """Return sessions of turns: session, prompt, message."""
    return sessions_of(_events(turns))


def _turns_about(subjects: Sequence[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """Return a session for each subject."""
    turns: list[tuple[str, str, str]] = []
    for subject, message in subjects:
        turns.append((subject, f"Improve the {subject} of the tool", message))
    return turns


@pytest.fixture
def sessions() -> list[Session]:
    return _log(_turns_about(SUBJECTS))


NOW = START + 1_000 * HOUR


def _lines(
    sessions: Sequence[Session],
    prompt: str,
    similarity: Callable[[Sequence[str]], Sequence[float]] | None = None,
) -> list[PromptLine]:
    """Return all lines that fit a prompt, whatever room they take."""
    index = index_of(sessions)
    return lines_for_prompt(
        index, "", prompt, NOW, tokens=100_000, similarity=similarity
    )


def test_a_prompt_finds_what_was_said_about_its_subject(
    sessions: list[Session],
) -> None:
    lines = _lines(sessions, "why does the parser not accept tabs")

    assert lines[0].text == (
        "The parser rejects tabs since the grammar has only spaces (24 Feb)."
    )
    assert lines[0].section == ASKED
    assert lines[0].session == "parser"
    assert '"parser"' in lines[0].why
    assert not any("mailer" in line.text for line in lines)


def test_nothing_is_returned_where_nothing_fits(sessions: list[Session]) -> None:
    prompt = "Translate the welcome page into Portuguese for visitors"

    assert _lines(sessions, prompt) == []


def test_an_empty_log_has_nothing_for_a_prompt() -> None:
    assert _lines([], "continue with the parser") == []


def test_a_bare_slash_command_takes_the_last_session(sessions: list[Session]) -> None:
    lines = _lines(sessions, "/review")

    assert lines
    assert {line.session for line in lines} == {"mailer"}


def test_a_prompt_that_goes_on_with_a_number_gets_its_state_first() -> None:
    sessions = _log(
        [
            (
                "first",
                "Work on issue #183, the watcher of the folder",
                "The watcher is replaced, but the manual test is not done yet.",
            ),
            (
                "second",
                "Improve the mailer of the tool",
                "The mailer retries three times because the relay is slow.",
            ),
        ]
    )

    lines = _lines(sessions, "Let's look at issue #183 again")

    assert lines[0].weight == 1.0
    assert {line.session for line in lines[:2]} == {"first"}
    assert "#183" in lines[0].why


def test_what_means_the_same_moves_up(sessions: list[Session]) -> None:
    prompt = "the tool should improve its parser, exporter, scheduler and mailer"

    def likes_the_scheduler(texts: Sequence[str]) -> list[float]:
        return [float("scheduler sleeps" in text) for text in texts]

    without = _lines(sessions, prompt)
    lines = _lines(sessions, prompt, similarity=likes_the_scheduler)

    texts = [line.text for line in without]
    boosted = [line.text for line in lines]
    [wanted] = [text for text in texts if "scheduler sleeps" in text]
    assert sorted(boosted) == sorted(texts)
    assert boosted.index(wanted) < texts.index(wanted)


def test_neighbouring_sentences_of_a_paragraph_come_together() -> None:
    sessions = _log(
        [
            (
                "only",
                "Explain the locking of the archive writer",
                "The archive writer takes a lock. Readers wait for it.\n\n"
                "Unrelated things follow in another paragraph here.",
            )
        ]
    )

    texts = [line.text for line in _lines(sessions, "archive writer and its lock")]

    assert "The archive writer takes a lock. Readers wait for it (24 Feb)." in texts


def test_what_the_user_asked_is_marked_as_such(sessions: list[Session]) -> None:
    lines = _lines(sessions, "improve the exporter of archives")

    prompts = [line for line in lines if "Improve" in line.text]
    assert all(line.text.startswith("Asked: ") for line in prompts)


def test_announcements_of_agents_are_no_passages() -> None:
    sessions = _log(
        [
            (
                "only",
                "Improve the parser of the tool",
                "Let me look at the parser of the grammar files.\n\n"
                "After that, I'll fix the parser of the grammar files.",
            )
        ]
    )

    lines = _lines(sessions, "fix the parser of grammar files")

    assert not any("grammar" in line.text for line in lines)


def test_weights_are_fractions_in_falling_order(sessions: list[Session]) -> None:
    lines = _lines(sessions, "parser, exporter and mailer of the tool")

    weights = [line.weight for line in lines]
    assert weights == sorted(weights, reverse=True)
    assert all(0 < weight <= 1 for weight in weights)


def test_an_index_answers_fast_over_many_statements() -> None:
    turns: list[tuple[str, str, str]] = []
    for number in range(150):
        sentences = [
            f"Part {number * 80 + n} of module{n} uses `helper_{number}` because of"
            f" rule{n}."
            for n in range(80)
        ]
        message = "\n\n".join(sentences)
        turns.append((f"s{number}", f"Describe module{number} of the tool", message))
    index = index_of(_log(turns))

    start = time.process_time()
    prompt = "Which rule7 does module7 with helper_7 have?"
    lines = lines_for_prompt(index, "", prompt, NOW, tokens=500)

    assert lines
    assert time.process_time() - start < 0.1


@given(st.text(max_size=400))
def test_every_line_is_one_short_line_whatever_the_prompt_is(prompt: str) -> None:
    sessions = _log([(name, f"Improve the {name}", text) for name, text in SUBJECTS])

    for line in _lines(sessions, prompt):
        assert fits_a_line(line.text)
        assert line.text.splitlines() == [line.text]
        assert line.why


def _rows(index: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of each table of an index, in their order."""
    rows: dict[str, list[tuple[object, ...]]] = {}
    for table in ("projects", "passages", "terms", "sessions", "cards"):
        rows[table] = index.execute(f"SELECT * FROM {table}").fetchall()
    return rows


def _design_line(text: str) -> Candidate:
    return Candidate(
        section=ASKED,
        kind="fact",
        text=text,
        weight=0.5,
        at=START,
        session="",
        words=frozenset(text.split()),
        events=("event-0",),
        why="a design learnt it",
    )


@pytest.mark.parametrize("text", ["", "The mailer speaks to a relay in Oslo."])
def test_a_kept_index_of_a_growing_log_is_made_as_one_of_the_whole_log(
    text: str,
) -> None:
    lines = [_design_line(text)] if text else []
    turns = _turns_about(SUBJECTS)
    for n_turns in range(len(turns) + 1):
        sessions = _log(turns[:n_turns])
        bare = _rows(kept_index_of(sessions))
        with_lines = _rows(kept_index_of(sessions, lines))

        assert bare == _rows(index_of(sessions))
        assert with_lines == _rows(index_of(sessions, lines))


def test_a_session_that_goes_on_is_read_again() -> None:
    turns = _turns_about(SUBJECTS)
    kept_index_of(_log(turns))
    sessions = _log([*turns, ("parser", "Improve it once more", SUBJECTS[0][1])])

    assert _rows(kept_index_of(sessions)) == _rows(index_of(sessions))


def test_each_session_of_a_growing_log_is_read_once() -> None:
    forget_texts()
    turns = _turns_about(SUBJECTS)
    for n_turns in range(1, len(turns) + 1):
        kept_index_of(_log(turns[:n_turns]))

    readers = prompt_index._READING_AGAIN
    assert readers.profile.cache_info().misses == len(turns)
    assert readers.passages.cache_info().misses == len(turns)


def test_nothing_is_kept_of_a_large_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_index, "MOST_KEPT_EVENTS", 1)
    forget_texts()
    sessions = _log(_turns_about(SUBJECTS))

    assert _rows(kept_index_of(sessions)) == _rows(index_of(sessions))
    assert prompt_index._READING_AGAIN.profile.cache_info().currsize == 0


def test_lines_of_a_start_are_made_once_for_all_that_is_composed_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times: list[int] = []
    make_candidates = compose.start_candidates

    def make_noted(sessions: Sequence[Session], now: int) -> list[Candidate]:
        times.append(now)
        return make_candidates(sessions, now)

    monkeypatch.setattr(compose, "start_candidates", make_noted)
    events = _events(_turns_about(SUBJECTS))
    line = _design_line("The mailer speaks to a relay in Oslo.")
    for now in (NOW, NOW + HOUR):
        for query in ("", "why does the parser not accept tabs"):
            compose.compose(events, now, query=query, tokens=500)
            compose.compose(events, now, query=query, tokens=500, further=[line])

    assert times == [NOW, NOW + HOUR]
