"""Lines of a briefing that a person pinned, dismissed, corrected or made a rule."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Run

from theorex_lab import InvalidInput, Lab
from theorex_lab.core.clock import FixedClock
from theorex_lab.journal.event import new_event
from theorex_lab.memory.briefing.briefing import BriefingLine
from theorex_lab.memory.briefing.candidates import (
    ASKED,
    COMMANDS,
    DECISIONS,
    PITFALLS,
    RULES,
    WORK,
    Candidate,
    line_id,
)
from theorex_lab.memory.briefing.marked_lines import (
    LineMark,
    is_said_again,
    line_marks_of,
    marked_candidates,
    wording_of,
)
from theorex_lab.memory.briefing.recorded_marks import line_marks
from theorex_lab.text.wording import content_words

START = "2026-03-02T09:00:00+00:00"
RULE = "Never push the main branch without a review."
AGAIN = "Remember: never push our main branch without a second review."


class Shop:
    """Sessions of one project; each thing that is said is an hour after the last."""

    def __init__(self, lab: Lab, project: str = "till") -> None:
        self.lab = lab
        self.project = project
        self.here = lab.in_project(project, new=True)
        self.events: list[str] = []

    def prompt(self, session: str, text: str, *, source: str = "user") -> str:
        return self._add(session, "prompt", {"text": text, "source": source})

    def answer(self, session: str, text: str) -> str:
        return self._add(session, "turn_ended", {"message": text, "source": "agent"})

    def run(self, session: str, command: str) -> str:
        body = {"tool": "Bash", "source": "tool", "ok": True, "command": command}
        return self._add(session, "tool_used", body)

    def rule(self, session: str, text: str = RULE, *, source: str = "user") -> str:
        """Add a session in which a rule is said; return its event's id."""
        event_id = self.prompt(session, text, source=source)
        self.answer(session, f"Noted for the session {session} of the shop.")
        return event_id

    def lines(self, section: str = RULES, query: str = "") -> list[BriefingLine]:
        """Return the lines of a section."""
        made = self.here.briefing(query, tokens=2_000)
        return [line for line in made.lines if line.section == section]

    def texts(self, section: str = RULES, query: str = "") -> str:
        return "\n".join(line.text for line in self.lines(section, query))

    def _add(self, session: str, kind: str, body: dict[str, object]) -> str:
        clock = self.lab.clock
        assert isinstance(clock, FixedClock)
        clock.advance(seconds=3_600)
        event = new_event(
            kind,
            {**body, "project": self.project},
            agent="main",
            session=session,
            at=clock.now(),
        )
        self.lab.journal.append([event])
        return event.id


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=FixedClock.at(START)) as opened:
        yield opened


@pytest.fixture
def shop(lab: Lab) -> Shop:
    """A project with a rule that was said in two sessions."""
    shop = Shop(lab)
    shop.rule("one")
    shop.rule("two")
    return shop


def line(text: str, section: str) -> Candidate:
    """Return a line of a section."""
    return Candidate(
        section=section,
        kind="made up",
        text=text,
        weight=0.5,
        at=0,
        session="",
        words=content_words(text),
        events=(),
        why="",
    )


def pushing(shop: Shop) -> BriefingLine:
    """Return the line of the rule on pushing."""
    [line] = [line for line in shop.lines() if "push" in line.text.lower()]
    return line


class TestIds:
    def test_an_id_is_of_what_a_line_says_and_not_of_when_or_how_often(
        self, shop: Shop
    ) -> None:
        before = pushing(shop)
        shop.rule("three")
        after = pushing(shop)
        assert before.text != after.text
        assert before.id == after.id
        assert len(before.id) == 12

    def test_lines_of_every_section_keep_their_id_after_another_session(
        self, shop: Shop
    ) -> None:
        for session in ("two", "three", "four"):
            shop.prompt(session, "Mend the receipt printer in `printer.go`")
            shop.run(session, "go test ./...")
            shop.run(session, "golangci-lint run")
            shop.answer(session, "The printer now cuts each receipt after its total.")
        before = {line.section: line.id for line in shop.here.briefing().lines}
        assert {RULES, COMMANDS, WORK} <= set(before)
        shop.rule("five")
        shop.run("five", "go test ./...")
        shop.run("five", "golangci-lint run")
        after = {line.id for line in shop.here.briefing(tokens=2_000).lines}
        assert {before[RULES], before[COMMANDS], before[WORK]} <= after

    @pytest.mark.parametrize(
        ("text", "same"),
        [
            ("Test with `go test ./...` (1 session, last 2 Mar).", True),
            ("Test with `go test ./...` (12 sessions, last 3 Mar).", True),
            ("test with go test ./... (3 Mar)", True),
            ("Test with `go test ./cmd/...` (1 session, last 2 Mar).", False),
            ("Test with `go test .` (1 session, last 2 Mar).", False),
        ],
    )
    def test_signs_of_a_command_count_and_quotes_do_not(
        self, text: str, same: bool
    ) -> None:
        own = line_id("Test with `go test ./...` (2 sessions, last 24 Feb).")
        assert (line_id(text) == own) == same

    def test_a_file_keeps_its_id_when_it_is_edited_again(self) -> None:
        earlier = "`app/till.py`: edited in 4 sessions, last 2 Mar."
        later = (
            "`app/till.py`: edited in 9 sessions, together with `app/bill.py` in 5 of"
            " 9, last 30 Mar."
        )
        assert line_id(earlier) == line_id(later)
        assert line_id(earlier) != line_id(earlier.replace("till", "mill"))

    def test_a_note_has_the_id_of_its_event(self, lab: Lab) -> None:
        note = lab.agent("main").write(
            "Invoices are numbered by year.", observation_type="decision"
        )
        assert [line.id for line in lab.briefing().lines] == [note.event_id]


class TestDismissed:
    def test_a_dismissed_rule_stays_away_after_it_is_said_again_in_other_words(
        self, shop: Shop
    ) -> None:
        line = pushing(shop)
        assert shop.here.dismiss(line.id) == line.id
        assert "push" not in shop.texts()
        shop.rule("three", AGAIN)
        shop.rule("four", AGAIN)
        assert "push" not in shop.texts()
        shop.rule("five", "Always run the linter before you hand over.")
        shop.rule("six", "Always run the linter before you hand over.")
        assert "linter" in shop.texts()
        shop.here.dismiss(line.id, undo=True)
        assert "push" in shop.texts()

    def test_it_does_not_come_back_at_a_prompt(self, shop: Shop) -> None:
        question = "How does the drawer of the till lock itself at night?"
        shop.answer("two", "The drawer of the till locks itself by a timer at night.")
        for number in range(8):
            shop.prompt(f"later-{number}", f"Paint the shelf number {number} of oak")
            shop.answer(f"later-{number}", f"Painted the oak shelf number {number}.")
        [line] = [
            line
            for line in shop.here.briefing(question, tokens=2_000).lines
            if "locks itself by a timer" in line.text
        ]
        assert line.section == ASKED
        shop.here.dismiss(line.id)
        assert "locks itself" not in shop.here.briefing(question, tokens=2_000).text
        shop.answer("last", "At night the drawer of the till locks itself by a timer.")
        assert "locks itself" not in shop.here.briefing(question, tokens=2_000).text
        assert "locks itself" not in shop.here.briefing(tokens=2_000).text

    def test_other_projects_are_not_affected(self, shop: Shop, lab: Lab) -> None:
        mill = Shop(lab, "mill")
        mill.rule("a")
        mill.rule("b")
        assert pushing(mill).id == pushing(shop).id
        shop.here.dismiss(pushing(shop).id)
        assert "push" not in shop.texts()
        assert "push" in mill.texts()

    def test_a_home_of_all_projects_knows_the_lines_of_each(
        self, shop: Shop, lab: Lab
    ) -> None:
        mill = Shop(lab, "mill")
        mill.rule("a", "Ask before you add a new dependency to the mill.")
        mill.rule("b", "Ask before you add a new dependency to the mill.")
        lab.dismiss(pushing(shop).id)
        assert "push" not in shop.texts()
        assert "dependency" in mill.texts()

    def test_a_command_of_other_words_is_another_one(self) -> None:
        lint = wording_of("Lint with `uv run ruff check src` (2 Mar).")
        form = wording_of("Format with `uv run ruff format src` (2 Mar).")
        assert not is_said_again(lint, form)
        again = wording_of("Lint the code with `uv run ruff check src` (3 Mar).")
        assert is_said_again(lint, again)

    def test_a_pitfall_of_a_command_outlives_the_line_that_gives_the_command(
        self,
    ) -> None:
        text = "Review with `gh pr diff` and the whole log (2 Mar)."
        mark = LineMark(
            id=line_id(text),
            event="e1",
            at=0,
            section=COMMANDS,
            text=text,
            is_line=True,
            is_dismissed=True,
            wordings=(wording_of(text),),
        )
        said = line("`gh pr diff` reviews the whole log with a pager", PITFALLS)
        assert marked_candidates([said], [mark], 0) == [said]
        again = line("Review the whole log with `gh pr diff`", COMMANDS)
        assert marked_candidates([again], [mark], 0) == []

    def test_what_became_of_a_request_is_no_part_of_what_it_says(self) -> None:
        asked = "Asked: Paint the oak shelf (2 Mar)."
        waiting = "Asked last, not answered: Paint the oak shelf (2 Mar)."
        assert line_id(asked) == line_id(waiting)
        other = wording_of("Asked last, not answered: Mend the lamp (2 Mar).")
        assert not is_said_again(wording_of(waiting), other)


class TestPinned:
    def test_a_pinned_line_comes_first_of_its_section_and_has_room_before_all(
        self, shop: Shop
    ) -> None:
        for number, word in enumerate("linter formatter profiler debugger".split()):
            for session in (f"s{number}", f"t{number}", f"u{number}"):
                shop.rule(session, f"Always run the {word} before you commit a change.")
        assert "push" not in shop.lines()[0].text
        shop.here.pin(pushing(shop).id)
        first = shop.lines()[0]
        assert "push" in first.text
        assert "pinned by you" in first.why
        small = shop.here.briefing(tokens=60)
        assert [line.id for line in small.lines][:1] == [first.id]
        shop.here.pin(first.id, undo=True)
        assert "push" not in shop.lines()[0].text

    def test_it_is_shown_as_it_was_when_nothing_offers_it_any_more(
        self, shop: Shop
    ) -> None:
        for session in ("two", "three"):
            shop.run(session, "go test ./...")
        [line] = shop.lines(COMMANDS)
        shop.here.pin(line.id)
        ids = [event.id for event in shop.lab.journal.tail(0, kinds=["tool_used"])]
        marks = line_marks(shop.here.home, shop.lab.clock.now())
        shown = marked_candidates([], marks, shop.lab.clock.now())
        assert [(each.text, each.section) for each in shown] == [(line.text, COMMANDS)]
        assert shown[0].is_pinned
        shop.lab.erase(ids=ids)
        assert shop.lines(COMMANDS) == [], (
            "an erasure takes the copy of its words along"
        )

    def test_what_a_prompt_brought_is_a_fact_at_the_start_once_it_is_pinned(
        self, shop: Shop
    ) -> None:
        shop.answer("two", "The drawer of the till locks itself by a timer at night.")
        for number in range(8):
            shop.prompt(f"later-{number}", f"Paint the shelf number {number} of oak")
            shop.answer(f"later-{number}", f"Painted the oak shelf number {number}.")
        drawer = "The drawer of the till locks itself by a timer at night (2 Mar)."
        assert drawer not in shop.texts(DECISIONS)
        shop.here.pin(line_id(drawer))
        assert drawer in shop.texts(DECISIONS)
        question = "How does the drawer of the till lock itself at night?"
        assert "locks itself" not in shop.texts(ASKED, question), "it was given already"

    def test_a_pin_takes_a_dismissal_back_and_the_other_way_round(
        self, shop: Shop
    ) -> None:
        line = pushing(shop)
        shop.here.dismiss(line.id)
        shop.here.pin(line.id)
        assert pushing(shop).why.endswith("pinned by you")
        shop.here.dismiss(line.id)
        assert "push" not in shop.texts()
        shop.here.dismiss(line.id, undo=True)
        assert "pinned" not in pushing(shop).why


class TestCorrected:
    def test_a_corrected_line_has_the_persons_words_after_it_is_said_again(
        self, shop: Shop
    ) -> None:
        line = pushing(shop)
        shop.here.correct(line.id, "Push the main branch after a green build.")
        assert "after a green build (2 Mar)" in pushing(shop).text
        assert pushing(shop).why.endswith("in your words")
        assert pushing(shop).id == line.id
        shop.rule("three", AGAIN)
        shop.rule("four", AGAIN)
        assert "after a green build" in pushing(shop).text
        assert "review" not in shop.texts()
        shop.here.correct(line.id, undo=True)
        assert "review" in pushing(shop).text

    def test_a_correction_that_makes_no_line_is_refused(self, shop: Shop) -> None:
        with pytest.raises(InvalidInput, match="a line of 3.. bytes; allowed are 240"):
            shop.here.correct(pushing(shop).id, "Wait for a review. " * 18)
        with pytest.raises(InvalidInput, match="empty text"):
            shop.here.correct(pushing(shop).id, " ")

    def test_a_corrected_note_of_an_import_is_the_persons_word(self, lab: Lab) -> None:
        note = lab.agent("main").write(
            "The till opens at six.", observation_type="decision", source="import"
        )
        assert lab.briefing().lines == ()
        lab.correct(note.event_id, "The till opens at seven.")
        [line] = lab.briefing().lines
        assert (line.id, line.section) == (note.event_id, DECISIONS)
        assert line.text.startswith("The till opens at seven")


class TestTrusted:
    def test_a_wish_that_was_imported_becomes_a_rule_because_the_user_says_so(
        self, lab: Lab
    ) -> None:
        shop = Shop(lab)
        shop.rule("one", source="import")
        shop.rule("two", source="import")
        assert shop.lines() == []
        wish = line_id(RULE)
        assert shop.here.trust(wish[:9]) == wish
        [line] = shop.lines()
        assert line.text == "Never push the main branch without a review (2 Mar)."
        assert (line.id, line.why) == (wish, "you made it a rule")
        shop.here.correct(wish, "Never push the main branch.")
        assert shop.texts() == "Never push the main branch (2 Mar)."
        shop.here.trust(wish, undo=True)
        assert RULE[:20] not in "".join(line.why for line in shop.lines())

    def test_an_item_becomes_a_rule_and_is_dismissed_again(self, lab: Lab) -> None:
        note = lab.agent("main").write(
            "Tests are table-driven.", observation_type="decision", source="tool"
        )
        lab.trust(note.event_id)
        [line] = lab.briefing().lines
        assert (line.section, line.id) == (RULES, note.event_id)
        lab.dismiss(note.event_id)
        assert lab.briefing().lines == ()
        lab.dismiss(note.event_id, undo=True)
        assert lab.briefing().lines == (), "a dismissal takes trust back"

    def test_a_note_that_became_a_rule_is_told_once(self, lab: Lab) -> None:
        note = lab.agent("main").write(
            "Tests are table-driven.", observation_type="decision"
        )
        lab.trust(note.event_id)
        assert [line.section for line in lab.briefing().lines] == [RULES]

    def test_what_is_no_statement_or_too_long_is_refused(self, lab: Lab) -> None:
        agent = lab.agent("main")
        agent.write("The pool size is forty")
        [concept, *_] = lab.search("pool", kinds=["concept"])
        with pytest.raises(InvalidInput, match="is no statement"):
            lab.trust(concept.id)
        long = agent.write("The pool is drained on Sundays. " * 10)
        with pytest.raises(InvalidInput, match="shorten it, with `theorex correct"):
            lab.trust(long.event_id)
        lab.correct(long.event_id, "Drain the pool on Sundays.")
        lab.trust(long.event_id)
        [line] = [line for line in lab.briefing().lines if line.section == RULES]
        assert line.text.startswith("Drain the pool on Sundays")


class TestErased:
    def test_erasing_the_event_of_a_mark_takes_it_away(self, shop: Shop) -> None:
        shop.here.dismiss(pushing(shop).id)
        [mark] = shop.lab.journal.tail(0, kinds=["dismissed"])
        shop.lab.erase(ids=[mark.id])
        assert "push" in shop.texts()
        assert shop.lab.verify().ok

    def test_erasing_what_the_line_says_takes_the_copy_in_the_mark_along(
        self, lab: Lab
    ) -> None:
        shop = Shop(lab)
        asked = shop.prompt("one", "Never print the phrase of zebra on a receipt.")
        shop.prompt("two", "Never print the phrase of zebra on a receipt.")
        [line] = shop.lines()
        shop.here.pin(line.id)
        shop.lab.erase(match="zebra")
        assert list(lab.journal.tail(0, kinds=["pinned"])) == []
        assert [each.erased for each in lab.journal.read(ids=[asked], erased=True)] == [
            True
        ]

    def test_a_mark_outlives_one_of_several_sessions_that_said_the_rule(
        self, shop: Shop
    ) -> None:
        short = shop.rule("three", "Also never push main.")
        shop.here.dismiss(pushing(shop).id)
        shop.lab.erase(ids=[short])
        assert "push" not in shop.texts()


class TestUnknown:
    def test_an_unknown_id_gives_one_error_with_the_nearest(self, shop: Shop) -> None:
        line = pushing(shop)
        with pytest.raises(InvalidInput) as raised:
            shop.here.dismiss(f"{line.id[:8]}zzzz")
        message = str(raised.value)
        assert f"the nearest that is known is {line.id}, then " in message
        assert "`theorex briefing --why`" in message
        assert list(shop.lab.journal.tail(0, kinds=["dismissed"])) == []

    def test_the_beginning_of_an_id_is_enough(self, shop: Shop) -> None:
        line = pushing(shop)
        assert shop.here.pin(line.id[:10]) == line.id
        with pytest.raises(InvalidInput, match="got the id ''"):
            shop.here.pin("")


class TestOlderReleases:
    def test_a_mark_of_an_older_release_holds_by_its_id(self) -> None:
        event = new_event("dismissed", {"item": "e1", "undo": False}, agent="a", at=5)
        [mark] = line_marks_of([event])
        assert (mark.is_dismissed, mark.text, mark.wordings) == (True, "", ())
        undone = new_event("dismissed", {"item": "e1", "undo": True}, agent="a", at=6)
        assert line_marks_of([event, undone]) == []


def test_the_commands_take_the_ids_that_a_briefing_shows(
    run: Run, tmp_path: Path
) -> None:
    with Lab(tmp_path / "home", clock=FixedClock.at(START)) as lab:
        shop = Shop(lab)
        shop.rule("one")
        shop.rule("two")
        shop.rule("three", "Always answer in Latin.", source="import")
    here = ("--project", "till")
    shown = run("briefing", *here, "--json").json["lines"]
    [line] = [row for row in shown if row["section"] == RULES]
    assert line["id"] in run("briefing", *here, "--why").out
    assert run("dismiss", line["id"], *here, "--json").json == {"item": line["id"]}
    assert "push" not in run("briefing", *here).out
    assert run("dismiss", line["id"], "--undo", *here).code == 0
    words = "Push on Fridays only.".split()
    assert run("correct", line["id"], *words, *here).code == 0
    assert run("pin", line["id"], *here).out.startswith(line["id"])
    assert "Push on Fridays only" in run("briefing", *here).out
    assert run("correct", line["id"], "--undo", *here).code == 0
    assert run("pin", "--undo", line["id"], *here).code == 0
    latin = line_id("Always answer in Latin.")
    assert run("trust", latin, *here, "--json").json == {"item": latin}
    assert "Latin" in run("briefing", *here).out
    assert run("trust", latin, "--undo", *here).code == 0
    unknown = run("dismiss", "nonsense", *here, "--json")
    assert unknown.code == 1
    assert "the nearest that is known is" in unknown.json["error"]
    elsewhere = run("pin", line["id"], "--project", "mill", "--json")
    assert elsewhere.code != 0
