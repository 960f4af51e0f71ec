"""A week of a small project, taken from an agent's hooks on a fresh home: what each
session is told of those before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from theorex_lab import FixedClock, Lab
from theorex_lab.app import hook
from theorex_lab.app.cli import theorex
from theorex_lab.core.clock import to_iso
from theorex_lab.core.project import project_of
from theorex_lab.memory.briefing.briefing import Briefing
from theorex_lab.store.lifecycle import SessionHome

MONDAY = "2026-03-02T08:00:00+00:00"
RULES = "Standing rules"
COMMANDS = "Commands that work here"
WORK = "Recent work"
PITFALLS = "Known pitfalls"


class Week:
    """An agent's sessions in a bakery's repository, as its program tells them.

    Attributes:
        clock: The time of the next event; each takes a minute.
        flushed: The sessions at whose end a flush was started.
        told: What the session after each one was given at its start, by its name.
    """

    def __init__(self, home: Path, folder: Path) -> None:
        self.home = home
        self.folder = folder
        self.clock = FixedClock.at(MONDAY)
        self.flushed = list[str]()
        self.told = dict[str, Briefing]()
        self._session = ""

    def fire(self, name: str, **members: Any) -> None:
        """Hand one event to the hook."""
        event = {
            "hook_event_name": name,
            "session_id": self._session,
            "transcript_path": "",
            "cwd": str(self.folder),
            **members,
        }
        assert hook.take(json.dumps(event).encode(), str(self.home)) == ""
        self.clock.advance(seconds=60)

    def begin(self, session: str, *, day: int) -> None:
        self._session = session
        self.clock = FixedClock.at(MONDAY)
        self.clock.advance(days=day)
        self.fire("SessionStart", source="startup")

    def prompt(self, text: str) -> None:
        self.fire("UserPromptSubmit", prompt=text)

    def answer(self, text: str) -> None:
        self.fire("Stop", stop_hook_active=False, last_assistant_message=text)

    def shell(self, command: str, output: str = "", *, error: str = "") -> None:
        """Run a command; one with an error failed."""
        members: dict[str, Any] = {
            "tool_name": "Bash",
            "tool_input": {"command": command, "description": "Run it"},
        }
        if error:
            self.fire("PostToolUseFailure", **members, error=error, is_interrupt=False)
            return
        response = {"stdout": output, "stderr": "", "interrupted": False}
        self.fire("PostToolUse", **members, tool_response=response)

    def read(self, file: str) -> None:
        path = str(self.folder / file)
        self.fire(
            "PostToolUse",
            tool_name="Read",
            tool_input={"file_path": path},
            tool_response={"type": "text", "file": {"filePath": path}},
        )

    def edit(self, file: str) -> None:
        path = str(self.folder / file)
        self.fire(
            "PostToolUse",
            tool_name="Edit",
            tool_input={"file_path": path, "old_string": "a", "new_string": "b"},
            tool_response={"filePath": path},
        )

    def end(self) -> None:
        """End the session, and do what the process does that its end starts."""
        self.fire("SessionEnd", reason="prompt_input_exit")
        assert self.flushed[-1] == self._session
        self.command("tiers", "flush", "--session", self._session, "--agent", "main")
        self.told[self._session] = self.briefing()

    def command(self, *words: str) -> str:
        """Run a command of `theorex` on the home now; return what it printed."""
        now = to_iso(self.clock.now())
        options = ["--home", str(self.home), "--now", now]
        ended = CliRunner().invoke(theorex, [*options, *words])
        assert ended.exit_code == 0, ended.output
        return ended.output

    def briefing(self, query: str | None = None, *, tokens: int = 500) -> Briefing:
        """What the project's next session is given."""
        project = project_of(str(self.folder))
        with Lab(self.home, project=project, clock=self.clock) as lab:
            return lab.briefing(query, tokens=tokens)


def monday(week: Week) -> None:
    """Orders get lost; the first test command is the wrong one; the user corrects."""
    week.begin("importer", day=0)
    week.prompt(
        "The importer loses orders that have no postcode. Find out why and fix it."
    )
    week.read("bakery/importer.py")
    week.shell(
        "python -m pytest -q",
        error="Exit code 1\n/usr/bin/python: No module named pytest",
    )
    week.shell("uv run pytest -q", error="Exit code 1\n1 failed, 13 passed in 2.10s")
    week.edit("bakery/importer.py")
    week.shell("uv run pytest -q", "14 passed in 2.05s")
    week.shell("git commit -am 'Keep orders without a postcode'", "1 file changed")
    week.answer("I fixed the importer and committed the change.")
    week.prompt("No, never commit to git yourself. I commit by hand.")
    week.shell("git reset --soft HEAD~1")
    week.answer(
        "The importer lost orders without a postcode because `parse_row` returned early"
        " on an empty field. It now keeps the row and sets the postcode to None in"
        " `bakery/importer.py`. All 14 tests pass, and nothing is committed."
    )
    week.end()


def tuesday(week: Week) -> None:
    """A feature, of which a part is left open."""
    week.begin("totals", day=1)
    week.prompt("Add a CSV export of the daily totals to the report module")
    week.read("bakery/report.py")
    week.edit("bakery/report.py")
    week.shell("uv run pytest -q", "17 passed in 2.31s")
    week.answer(
        "Added `export_totals` to `bakery/report.py`: it writes one row a day with the"
        " sum of its orders. Refunds are not yet subtracted from the exported totals."
        " I have not committed anything, as you asked."
    )
    week.end()


def thursday(week: Week) -> None:
    """The open part is done."""
    week.begin("refunds", day=3)
    week.prompt(
        "Subtract the refunds from the exported totals now. Never commit to git."
    )
    week.edit("bakery/report.py")
    week.shell("uv run ruff check .", "All checks passed!")
    week.shell("uv run pytest -q", "19 passed in 2.40s")
    week.answer(
        "Refunds are now subtracted from the exported totals in `export_totals`. Two"
        " tests for negative days were added to `tests/test_report.py`."
    )
    week.end()


def friday(week: Week) -> None:
    """Another subject, with a decision."""
    week.begin("ovens", day=4)
    week.prompt("Plan the ovens by the hour in which bread has to be ready")
    week.edit("bakery/ovens.py")
    week.shell("uv run ruff check .", "All checks passed!")
    week.shell("uv run pytest -q", "23 passed in 2.62s")
    week.answer(
        "Added `plan_ovens` in `bakery/ovens.py`, which fills each oven backwards from"
        " the hour of delivery. The cleaning hour of the ovens is still missing from the"
        " plan."
    )
    week.end()


def sunday(week: Week) -> None:
    """The last session is stopped before its wish is met."""
    week.begin("labels", day=6)
    week.prompt("Print the allergens on the labels of all mixed boxes")
    week.read("bakery/labels.py")
    week.prompt("[Request interrupted by user]")
    week.end()


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Week]:
    """The whole week, taken once."""
    folder = tmp_path_factory.mktemp("work") / "bakery"
    (folder / ".git").mkdir(parents=True)
    made = Week(folder.parent / "home", folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("THEOREX_AGENT", raising=False)
        patch.chdir(folder)
        patch.setattr(SessionHome, "now", lambda _: made.clock.now())
        patch.setattr(
            hook, "start_flush", lambda _home, _agent, name: made.flushed.append(name)
        )
        patch.setattr(hook, "start_rendering", lambda *_: None)
        made.told[""] = made.briefing()
        for day in (monday, tuesday, thursday, friday, sunday):
            day(made)
        yield made


def lines_of(briefing: Briefing, section: str) -> list[str]:
    return [line.text for line in briefing.lines if line.section == section]


def test_the_first_session_is_told_nothing(week: Week) -> None:
    assert week.told[""].lines == ()


def test_the_second_session_knows_the_rule_the_command_and_what_was_done(
    week: Week,
) -> None:
    told = week.told["importer"]
    assert any("never commit" in text.lower() for text in lines_of(told, RULES))
    assert any("`uv run pytest -q`" in text for text in lines_of(told, COMMANDS))
    assert not any("python -m" in text for text in lines_of(told, COMMANDS))
    assert "parse_row" in " ".join(lines_of(told, WORK))


def test_a_command_that_failed_is_told_with_what_helped(week: Week) -> None:
    [cured] = lines_of(week.told["ovens"], PITFALLS)
    assert cured.startswith("`python -m pytest -q` fails")
    assert "No module named pytest" in cured
    assert "`uv run pytest -q` worked" in cured


def test_what_the_last_session_left_open_is_told_until_a_later_one_did_it(
    week: Week,
) -> None:
    work = " ".join(lines_of(week.told["totals"], WORK))
    assert "export_totals" in work
    assert "Refunds are not yet subtracted" in work
    work = " ".join(lines_of(week.told["refunds"], WORK))
    assert "Refunds are now subtracted" in work
    assert "not yet subtracted" not in work


@pytest.mark.parametrize(
    ("after", "done", "left_open"),
    [
        ("importer", "parse_row", ""),
        ("totals", "export_totals", "not yet subtracted"),
        ("refunds", "now subtracted", ""),
        ("ovens", "plan_ovens", "cleaning hour"),
        ("labels", "", "Interrupted, not done: Print the allergens"),
    ],
)
def test_every_later_session_is_told_the_rule_and_the_last_work(
    week: Week, after: str, done: str, left_open: str
) -> None:
    told = week.told[after]
    work = " ".join(lines_of(told, WORK))
    assert any("never commit" in text.lower() for text in lines_of(told, RULES))
    assert any("`uv run pytest -q`" in text for text in lines_of(told, COMMANDS))
    assert done in work
    assert left_open in work
    assert told.tokens <= 500
    assert len({line.text for line in told.lines}) == len(told.lines)
    assert all(line.events and line.why for line in told.lines)


def test_a_prompt_about_the_first_session_brings_its_conclusion(week: Week) -> None:
    question = "Why did the importer lose orders without a postcode?"
    asked = week.briefing(question, tokens=150)
    assert "parse_row" not in week.briefing(tokens=150).text
    assert "parse_row" in asked.text
    assert asked.tokens <= 150
    words = ["briefing", "--query", question, "--tokens", "150"]
    assert json.loads(week.command("--json", *words))["text"] == asked.text
    other = week.briefing("Which violin suits a beginner?", tokens=150)
    assert "parse_row" not in other.text


def test_another_project_is_told_nothing_of_it(week: Week) -> None:
    garage = week.folder.parent / "garage"
    (garage / ".git").mkdir(parents=True)
    with Lab(week.home, project=project_of(str(garage)), clock=week.clock) as lab:
        assert lab.briefing().lines == ()
