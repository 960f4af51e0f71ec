"""The places of a briefing: files that work returns to, and what was said of places."""

from __future__ import annotations

from theorex_lab.memory.briefing.candidates import PLACES, Candidate, fits_a_line
from theorex_lab.memory.briefing.places import place_candidates, steps_of_edits
from theorex_lab.memory.briefing.session_log import Message, Session, ToolUse
from theorex_lab.memory.file_order import WorkStep, order_of_files
from theorex_lab.text.statements import statements_in

DAY = 86_400_000_000
NOW = 40 * DAY


def _tool(at: int, session: str, command: str = "", *edits: str) -> ToolUse:
    name = f"{session}-{at}"
    return ToolUse(at, name, session, "Bash", command, "", True, (), edits, True)


def _message(at: int, session: str, text: str) -> Message:
    statements = tuple(statements_in(text))
    return Message(at, f"{session}-m{at}", session, text, statements, False, True)


def _session(number: int, *steps: ToolUse | Message) -> Session:
    return Session(f"s{number}", number * DAY, number * DAY + 1, steps)


def _edits(number: int, *paths: str, command: str = "") -> Session:
    return _session(number, _tool(number * DAY, f"s{number}", command, *paths))


def _texts(candidates: list[Candidate]) -> str:
    return "\n".join(candidate.text for candidate in candidates)


def test_files_that_change_together_are_one_line() -> None:
    sessions = [_edits(n, "spi/provider.go", "p/a/w.go", "p/b/w.go") for n in (1, 2, 3)]
    sessions += [_edits(n, "docs/notes.md") for n in (4, 5, 6)]
    sessions.append(_edits(7, "spi/provider.go"))
    text = _texts(place_candidates(sessions, NOW))
    assert "`spi/provider.go`: edited in 4 sessions" in text
    assert "together with `p/*/w.go` in 3 of 4" in text


def test_a_file_is_named_with_the_symbols_of_messages() -> None:
    text = "The warning comes from CheckLogin in utils.go."
    sessions = [_edits(1, "cmd/utils.go"), _edits(2, "cmd/utils.go")]
    sessions += [_session(n, _message(n * DAY, f"s{n}", text)) for n in (3, 4)]
    assert "`cmd/utils.go` (`CheckLogin`)" in _texts(place_candidates(sessions, NOW))


def test_removed_files_are_not_named_and_moved_ones_by_their_new_name() -> None:
    sessions = [_edits(n, "old.py", "gone.py") for n in (1, 2)]
    sessions.append(_edits(3, command="git mv old.py new.py && rm gone.py"))
    text = _texts(place_candidates(sessions, NOW))
    assert "`new.py`" in text
    assert "old.py" not in text
    assert "gone.py" not in text


def test_what_sessions_at_one_time_did_is_taken_in_the_order_of_time() -> None:
    edited_at_both_ends = _session(
        1,
        _tool(DAY, "s1", "", "a.py"),
        _tool(DAY + 40, "s1", "", "a.py"),
    )
    moved_meanwhile = Session(
        "s2",
        DAY + 10,
        DAY + 30,
        (
            _tool(DAY + 10, "s2", "git mv a.py b.py"),
            _tool(DAY + 20, "s2", "", "b.py"),
            _tool(DAY + 30, "s2", "rm c.py"),
        ),
    )
    removed_before = _session(0, _tool(5, "s0", "", "c.py"))
    sessions = [removed_before, edited_at_both_ends, moved_meanwhile]
    # The move takes the first edit of a.py along, and the last one is of a new file.
    expected = [
        WorkStep(DAY + 20, frozenset({"b.py"})),
        WorkStep(DAY + 40, frozenset({"a.py", "b.py"})),
    ]
    assert steps_of_edits(sessions) == expected
    assert steps_of_edits(sessions[::-1]) == expected


def test_of_two_changes_at_one_time_that_of_the_session_named_first_is_taken_first() -> (
    None
):
    moving = _session(1, _tool(DAY, "s1", "mv a.py b.py"))
    editing = _session(1, _tool(DAY, "s2", "", "a.py"))
    assert [step.changed for step in steps_of_edits([moving, editing])] == [{"a.py"}]
    assert [step.changed for step in steps_of_edits([editing, moving])] == [{"b.py"}]


def test_a_file_that_does_not_exist_is_not_named() -> None:
    sessions = [_edits(n, "a.py", "b.py") for n in (1, 2)]
    places = place_candidates(sessions, NOW, exists=lambda path: path == "a.py")
    assert "b.py" not in _texts(places)
    assert "a.py" in _texts(places)


def test_of_two_places_of_one_thing_the_newer_is_given() -> None:
    sessions = [
        _session(1, _message(DAY, "s1", "The watch command lives in cmd/main.go.")),
        _session(2, _message(2 * DAY, "s2", "The watch command lives in cmd/w.go.")),
    ]
    text = _texts(place_candidates(sessions, NOW))
    assert "cmd/w.go" in text
    assert "cmd/main.go" not in text


def test_there_are_at_most_eight_places_and_each_fits_a_line() -> None:
    paths = [f"folder{number}/file{number}.py" for number in range(40)]
    sessions = [_edits(n, *paths) for n in (1, 2, 3)]
    places = place_candidates(sessions, NOW)
    assert 0 < len(places) <= 8
    for place in places:
        assert place.section == PLACES
        assert fits_a_line(place.text)
        assert 0 <= place.weight <= 1
        assert place.text.count("`") <= 2 * 4


def test_without_sessions_there_is_no_place() -> None:
    assert place_candidates([], NOW) == []


def test_the_order_of_places_is_that_of_the_files() -> None:
    """One session more does not outweigh that the work is elsewhere by now."""
    sessions = [_edits(n, "old/a.py", "old/b.py") for n in (1, 2, 3, 4)]
    sessions += [_edits(n, "new/c.py", "new/d.py") for n in (36, 37, 38)]
    sessions += [_edits(n, f"other{n}.py") for n in range(5, 36)]
    sessions.sort(key=lambda session: session.start)
    candidates = place_candidates(sessions, NOW)
    texts = [candidate.text for candidate in candidates]
    assert texts[0].startswith("`new/c.py`")
    order = order_of_files(steps_of_edits(sessions), NOW)
    assert order.paths[:2] == ("new/c.py", "new/d.py")


def test_a_file_that_a_program_writes_is_no_place() -> None:
    sessions = [_edits(n, "uv.lock", "a.py") for n in (1, 2, 3)]
    sessions += [_edits(n, "b.py") for n in (4, 5, 6)]
    text = _texts(place_candidates(sessions, NOW))
    assert "`a.py`" in text
    assert "uv.lock" not in text


def test_the_weights_of_places_do_not_hang_on_their_order() -> None:
    sessions = [_edits(n, "a.py", "b.py") for n in (1, 2, 3, 4)]
    sessions += [_edits(n, "c.py", "d.py") for n in (5, 6)]
    candidates = place_candidates(sessions, NOW)
    weights = [candidate.weight for candidate in candidates]
    assert weights == sorted(weights, reverse=True)
    assert 0 < weights[-1] <= weights[0] <= 0.25
