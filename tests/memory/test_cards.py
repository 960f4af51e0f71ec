"""Cards of sessions: what was asked, done, interrupted and left open."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.journal.event import Event
from theorex_lab.memory.briefing.candidates import WORK, Candidate, fits_a_line
from theorex_lab.memory.briefing.cards import (
    MOST_SESSIONS,
    branch_of,
    session_numbers,
    title_of,
    wish_in,
    work_candidates,
)
from theorex_lab.memory.briefing.line_features import (
    is_usable,
    without_glued_title,
)
from theorex_lab.memory.briefing.session_log import Session, sessions_of

START = 1_740_400_000_000_000  # 24 February 2025
MINUTE = 60_000_000


class Log:
    """Collects events a minute apart."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def _add(self, session: str, kind: str, body: dict) -> None:
        number = len(self.events)
        at = START + number * MINUTE
        self.events.append(
            Event(number, f"event-{number}", at, "agent", session, kind, (), body)
        )

    def prompt(self, text: str, session: str = "s1") -> None:
        self._add(session, "prompt", {"text": text, "source": "user"})

    def message(self, text: str, session: str = "s1") -> None:
        self._add(session, "turn_ended", {"message": text, "source": "agent"})

    def tool(
        self, command: str, response: str = "", ok: bool = True, session: str = "s1"
    ) -> None:
        body = {
            "tool": "Bash",
            "command": command,
            "response": response,
            "ok": ok,
            "source": "tool",
        }
        self._add(session, "tool_used", body)

    @property
    def now(self) -> int:
        return START + len(self.events) * MINUTE

    def sessions(self) -> list[Session]:
        return sessions_of(self.events)

    def lines(self) -> list[Candidate]:
        return work_candidates(self.sessions(), self.now)

    def texts(self) -> list[str]:
        return [line.text for line in self.lines()]


@pytest.fixture
def log() -> Log:
    return Log()


def test_a_card_says_what_was_asked_and_what_was_done(log: Log) -> None:
    log.prompt("Move the session cache out of the loader into its own module")
    log.message("Moved the session cache into `cache.py`, and the loader imports it.")

    lines = log.lines()

    assert {line.section for line in lines} == {WORK}
    assert [line.kind for line in lines] == ["asked", "done"] or [
        line.kind for line in lines
    ] == ["done", "asked"]
    assert sorted(line.text for line in lines) == [
        "Asked: Move the session cache out of the loader into its own module (24 Feb).",
        "Moved the session cache into `cache.py`, and the loader imports it (24 Feb).",
    ]
    assert {line.events for line in lines} == {("event-0",), ("event-1",)}


def test_an_interrupted_request_is_told_as_not_done(log: Log) -> None:
    log.prompt("Move statistics.json into the folder of the command line")
    log.message("I'll move the statistics file to the new location.")
    log.prompt("[Request interrupted by user]")

    assert log.texts() == [
        "Interrupted, not done: Move statistics.json into the folder of the command"
        " line (24 Feb)."
    ]


def test_a_request_that_was_answered_after_an_interrupt_is_not_told_as_open(
    log: Log,
) -> None:
    log.prompt("Move statistics.json into the folder of the command line")
    log.prompt("[Request interrupted by user]")
    log.prompt("Rename the statistics module to counters everywhere")
    log.message("Renamed the statistics module to `counters` in all its callers.")

    assert not any(line.kind == "interrupted" for line in log.lines())


def test_a_later_session_that_did_it_removes_an_interrupted_request(log: Log) -> None:
    log.prompt("Move statistics.json into the folder of the command line")
    log.prompt("[Request interrupted by user]")
    log.prompt("Look after the statistics file of the tool again", "s2")
    log.message("Moved `statistics.json` into the command line folder.", "s2")

    assert not any("Interrupted" in text for text in log.texts())


def test_what_is_open_stays_until_a_later_session_reports_it_done(log: Log) -> None:
    log.prompt("Write the tests of the export command of the tool")
    log.message("The export command still needs a test for empty archives.")
    assert [line.kind for line in log.lines() if "empty" in line.text] == ["open"]

    log.prompt("Finish what the export command needs for its tests", "s2")
    log.message("Added the test of the export command for empty archives.", "s2")

    assert not any("still needs" in text for text in log.texts())


def test_process_talk_questions_and_praise_are_left_out(log: Log) -> None:
    log.prompt("Split the loader module into a reader and a cache please")
    log.message(
        "Let me look at the loader module first.\n\n"
        "Shall the cache be removed from the loader?\n\n"
        "Excellent work, the loader is a clean and fine module.\n\n"
        "After that, I'll fix the imports of the loader.\n\n"
        "The loader is split, and `cache.py` holds the cache."
    )

    assert [line.text for line in log.lines() if line.kind != "asked"] == [
        "The loader is split, and `cache.py` holds the cache (24 Feb)."
    ]


def test_a_list_item_takes_its_subject_along(log: Log) -> None:
    log.prompt("Make the watcher of the provider more robust please")
    log.message("## Droid watcher\n\n- Removed the polling loop of one second\n")

    assert "Droid watcher: Removed the polling loop of one second (24 Feb)." in (
        log.texts()
    )


def test_a_slash_command_is_told_with_its_number_and_branch(log: Log) -> None:
    log.tool("git status", "On branch feat/sync-stats\nnothing to commit")
    log.prompt("/pr-review 177")
    log.message("The collector is created for every session, which was changed.")
    [session] = log.sessions()

    assert title_of(session)[0] == "/pr-review 177"
    assert branch_of(session) == "feat/sync-stats"
    assert session_numbers(session) == {"177"}
    assert "Asked: /pr-review 177 [branch feat/sync-stats] (24 Feb)." in log.texts()


def test_tests_that_failed_last_are_told(log: Log) -> None:
    log.prompt("Make the parser accept empty lines everywhere")
    log.tool("pytest -q", ok=True)
    log.tool("pytest -q tests/test_parser.py", ok=False)
    log.message("The parser now accepts empty lines.")

    lines = [line for line in log.lines() if line.kind == "tests"]

    assert [line.text for line in lines] == [
        "The tests that ran last failed: `pytest -q tests/test_parser.py` (24 Feb)."
    ]


def test_pasted_lines_are_not_the_users_wishes(log: Log) -> None:
    log.prompt(
        "Find out why the export of the archive breaks\n\n"
        "here is the output:\n"
        "Please add the missing index file to the archive\n"
    )
    log.message("The export broke because the index was written too late.")

    assert not any("missing index" in text for text in log.texts())


def test_only_the_latest_sessions_have_a_card(log: Log) -> None:
    for number in range(MOST_SESSIONS + 3):
        session = f"s{number}"
        log.prompt(f"Write chapter{number} of the handbook for editors", session)
        log.message(f"Added chapter{number} to the handbook for editors.", session)

    sessions = {line.session for line in log.lines()}

    assert len(sessions) == MOST_SESSIONS
    assert "s0" not in sessions


def test_weights_are_fractions_that_fall_with_age(log: Log) -> None:
    log.prompt("Move the session cache out of the loader into its own module")
    log.message("Moved the session cache into `cache.py`, and the loader imports it.")

    today = work_candidates(log.sessions(), log.now)
    later = work_candidates(log.sessions(), log.now + 60 * MICROSECONDS_PER_DAY)

    assert all(0 < line.weight <= 1 for line in today)
    assert max(line.weight for line in later) < max(line.weight for line in today)


def test_a_log_without_sessions_has_no_cards() -> None:
    assert work_candidates([], START) == []


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("uhh no, keep the old loader as it is", "Keep the old loader as it is"),
        (
            "Can you split the loader into modules?",
            "Split the loader into modules",
        ),
        ("why is the loader so slow?", ""),
        ("For example, the loader reads the file twice", ""),
        ("See the same debug log", ""),
        ("yes, go ahead", ""),
    ],
)
def test_a_wish_is_the_users_words_without_small_talk(text: str, wish: str) -> None:
    assert wish_in(text) == wish


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "Evaluating persona loader adjustmentsRemoved the block from the file.",
            "Removed the block from the file.",
        ),
        (
            "Verifying the time in the prompt`PersonaLoader.get` ignores arguments.",
            "`PersonaLoader.get` ignores arguments.",
        ),
        (
            "The roles differ in storage.Updating message metadata handling",
            "The roles differ in storage.",
        ),
        (
            "Adding processSession to the loader made it faster.",
            "Adding processSession to the loader made it faster.",
        ),
    ],
)
def test_titles_that_run_into_a_sentence_are_dropped(text: str, sentence: str) -> None:
    assert without_glued_title(text) == sentence


@pytest.mark.parametrize(
    "text",
    [
        "Investigating the concurrency of the database",
        "a.py, b.py, c.py and d/e.py",
        "Is the cache dropped when the branch changes?",
        "2025-02-24 10:00:01.123 [42] {}; => 0x7f",
        "Too short",
    ],
)
def test_fragments_walls_questions_and_logs_are_no_lines(text: str) -> None:
    assert not is_usable(text)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["prompt", "message", "tool"]), st.text(max_size=300)
        ),
        max_size=12,
    )
)
def test_every_line_is_one_short_dated_line_whatever_was_said(
    steps: list[tuple[str, str]],
) -> None:
    log = Log()
    for kind, text in steps:
        getattr(log, kind)(text)

    lines = log.lines()

    for line in lines:
        assert fits_a_line(line.text)
        assert line.text.splitlines() == [line.text]
        assert line.text.endswith("(24 Feb).")
        assert line.why
    for better, worse in pairwise(lines):
        assert better.session != worse.session or better.weight >= worse.weight


def texts_of(log: Log) -> list[str]:
    """Return the lines on the work."""
    return [line.text for line in work_candidates(sessions_of(log.events), START)]


def test_the_wishes_of_an_unanswered_prompt_are_one_line():
    log = Log()
    log.prompt("Add an export of invoices to PDF")
    log.message("Added the export of invoices to PDF in billing.")
    log.prompt("Drop the draft table of orders. Rename the column for taxes.")
    [line] = [text for text in texts_of(log) if text.startswith("Asked last")]
    assert "Drop the draft table of orders; Rename the column for taxes" in line


def test_a_report_that_names_nothing_is_no_line():
    log = Log()
    log.prompt("Add retries to the upload client")
    log.message(
        "All three files have been updated. Done — the upload client retries with a"
        " growing delay.\n\ndescription: Added for when tasks are implemented."
    )
    texts = " ".join(texts_of(log))
    assert "three files" not in texts
    assert "description" not in texts
    assert "The upload client retries with a growing delay (24 Feb)." in texts


def test_an_item_of_a_form_is_no_wish():
    log = Log()
    log.prompt(
        "Write down what was learnt about invoices:\n- Any gotchas discovered\n"
        "- Dependencies or relationships affected"
    )
    log.message("Added the notes on invoices to the handbook.")
    assert not any("relationships" in text for text in texts_of(log))
