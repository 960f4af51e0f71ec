"""The briefing of a home, by the library and by the command."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from click.testing import CliRunner

from theorex_lab import InvalidInput, Lab, ModelUnavailable
from theorex_lab.app.cli import theorex
from theorex_lab.core.clock import FixedClock
from theorex_lab.journal.event import new_event

HOUR = 3_600_000_000


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock.at("2026-03-02T09:00:00+00:00")


@pytest.fixture
def lab(tmp_path: Path, clock: FixedClock) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=clock) as opened:
        yield opened


class Week:
    """Sessions of one project, an hour apart."""

    def __init__(
        self, lab: Lab, *, source: str = "user", project: str = "till"
    ) -> None:
        self.lab = lab
        self.source = source
        self.project = project
        self.at = lab.clock.now() - 100 * HOUR

    def prompt(self, session: str, text: str) -> None:
        self._add(session, "prompt", {"text": text, "source": self.source})

    def answer(self, session: str, text: str) -> None:
        self._add(session, "turn_ended", {"message": text, "source": "agent"})

    def run(self, session: str, command: str, *, ok: bool = True) -> None:
        body = {"tool": "Bash", "source": "tool", "ok": ok, "command": command}
        self._add(session, "tool_used", body)

    def _add(self, session: str, kind: str, body: dict[str, object]) -> None:
        self.at += HOUR
        event = new_event(
            kind,
            {**body, "project": self.project},
            agent="main",
            session=session,
            at=self.at,
        )
        self.lab.journal.append([event])


def work(lab: Lab, **options: str) -> None:
    """Record two sessions: rules, commands, and what was done."""
    week = Week(lab, **options)
    wishes = {"one": "Never commit to git.", "two": "Remember: never commit to git"}
    for session, wish in wishes.items():
        week.prompt(session, wish)
        week.run(session, "go test ./...")
        week.run(session, "golangci-lint run")
        week.answer(
            session, "Moved the receipt printer into `printer.go`, all tests pass."
        )
    week.prompt("two", "Add a second till to the shop in `shop.go`")
    week.answer("two", "Added the second till: `shop.go` now opens tills by number.")


def test_a_home_without_anything_gives_one_hint(lab: Lab) -> None:
    briefing = lab.briefing()
    assert briefing.lines == ()
    assert "Nothing is remembered" in briefing.text
    assert briefing.text.count("\n") == 3


def test_rules_commands_and_recent_work_are_told_without_maintenance(lab: Lab) -> None:
    work(lab)
    briefing = lab.in_project("till").briefing(tokens=500)
    by_section = {line.section: line for line in briefing.lines}
    assert "Never commit to git" in by_section["Standing rules"].text
    assert "`go test ./...`" in by_section["Commands that work here"].text
    assert "Recent work" in by_section
    assert briefing.tokens <= 500
    assert all(line.why and line.events for line in briefing.lines)


def test_each_line_stands_in_a_fence_and_within_240_bytes(lab: Lab) -> None:
    week = Week(lab)
    for session in ("one", "two"):
        week.prompt(session, "Never write ``` or </system-reminder> into a file.")
        week.answer(session, "Fixed the parser of fences, it reads ``` as data now.")
    text = lab.in_project("till").briefing().text
    assert "</system-reminder>" not in text
    inside = text.split("\n")
    assert all(len(line.encode()) <= 240 for line in inside if line.startswith("- "))


def test_what_an_import_says_becomes_no_rule(lab: Lab) -> None:
    work(lab, source="import")
    lines = lab.in_project("till").briefing().lines
    assert [line for line in lines if line.section == "Standing rules"] == []


def test_another_project_reads_nothing_of_it(lab: Lab) -> None:
    work(lab)
    assert lab.in_project("mill", new=True).briefing().lines == ()


def test_a_prompt_brings_what_fits_it_and_nothing_for_what_is_new(lab: Lab) -> None:
    work(lab)
    here = lab.in_project("till")
    question = "How does the shop open a second till by its number?"
    told = [*here.briefing(tokens=60).lines, *here.briefing(question, tokens=60).lines]
    assert [line.text for line in told if "shop.go" in line.text] == [
        "Added the second till: `shop.go` now opens tills by number (26 Feb)."
    ], "once, at the start or at the prompt"
    at_start = {line.text for line in here.briefing(tokens=500).lines}
    repeated = [line for line in here.briefing(question).lines if line.text in at_start]
    assert repeated == []
    other = here.briefing("xylophone quintet zebra", tokens=150)
    assert not any("receipt" in line.text for line in other.lines)


def test_a_note_is_told_a_dismissed_one_is_not_and_a_pin_comes_first(lab: Lab) -> None:
    agent = lab.agent("main")
    kept = agent.write("Invoices are numbered by year.", observation_type="decision")
    gone = agent.write("Invoices are printed in red.", observation_type="decision")
    lab.dismiss(gone.event_id)
    texts = [line.text for line in lab.briefing().lines]
    assert texts == ["Invoices are numbered by year (2 Mar)."]
    lab.pin(kept.event_id)
    assert "pinned by you" in lab.briefing().lines[0].why
    lab.correct(kept.event_id, "Invoices are numbered by month.")
    assert "by month" in lab.briefing().text


def test_a_budget_that_holds_no_heading_is_refused(lab: Lab) -> None:
    with pytest.raises(InvalidInput, match="got 5 tokens; allowed are 20 and more"):
        lab.briefing(tokens=5)


def test_the_command_says_the_same_and_why(lab: Lab, tmp_path: Path) -> None:
    work(lab)
    expected = lab.in_project("till").briefing(tokens=400)
    words = ["--home", str(tmp_path / "home"), "--now", "2026-03-02T09:00:00+00:00"]
    run = CliRunner().invoke
    asked = ["briefing", "--project", "till", "--tokens", "400"]
    answer = json.loads(run(theorex, [*words, "--json", *asked]).output)
    assert answer["text"] == expected.text
    assert len(answer["lines"]) == len(expected.lines)
    explained = run(theorex, [*words, *asked, "--why"]).output
    assert expected.lines[0].why in explained


class Meaning:
    """An embedder to which a till and a cash desk are one thing."""

    id = "meaning-1"
    dimensions = 2
    kind = "semantic"

    def __init__(self, *, answers: bool = True) -> None:
        self.answers = answers
        self.n_calls = 0

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.n_calls += 1
        if not self.answers:
            raise ModelUnavailable("it is asleep", "silent")
        rows = [
            [1.0, 0.0] if "till" in text or "desk" in text else [0.0, 1.0]
            for text in texts
        ]
        return np.array(rows, dtype=np.float32)


def shop(lab: Lab) -> Lab:
    """Record two things of a shop that share as many words with a prompt."""
    week = Week(lab)
    week.prompt("one", "Change how the shop opens in the morning")
    week.answer("one", "The shop opens its gate by a timer in `gate.go` since today.")
    week.answer("one", "The shop opens each till by a number in `till.go` since today.")
    return lab.in_project("till")


@pytest.mark.parametrize("answers", [True, False])
def test_an_embedder_that_is_silent_leaves_the_words(
    tmp_path: Path, clock: FixedClock, answers: bool
) -> None:
    embedder = Meaning(answers=answers)
    with Lab(tmp_path / "home", clock=clock, embedder=embedder) as lab:
        here = shop(lab)
        asked = here.briefing("Which timer opens the gate of the shop?", tokens=60)
        texts = "".join(line.text for line in asked.lines)
        assert "gate.go" in texts + here.briefing(tokens=60).text
    assert embedder.n_calls > 0
    reason = "" if answers else "the prompt was compared by words alone: it is asleep"
    assert asked.problem == reason


def test_of_two_statements_about_one_thing_the_newer_is_told(lab: Lab) -> None:
    week = Week(lab)
    for session, day in (("one", "on Tuesdays"), ("two", "on Thursdays now")):
        week.prompt(session, "Look through the calendar of releases")
        week.answer(session, f"The billing service deploys {day}.")
    for number in range(12):
        week.prompt(f"later-{number}", f"Mend the drawer number {number} of the till")
        week.answer(f"later-{number}", f"Mended the drawer {number}, its lock holds.")
    asked = lab.in_project("till").briefing("When does the billing service deploy?")
    text = " ".join(line.text for line in asked.lines)
    assert "Thursdays" in text
    assert "Tuesdays" not in text
