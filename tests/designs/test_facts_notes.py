"""Notes of the work, tensions between facts, MEMORY.md and SOUL.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import NOW, Run
from faults import quick_context

from theorex_lab import FixedClock, InvalidInput, Lab
from theorex_lab.designs.facts import note_view, notes
from theorex_lab.designs.facts.writing import check_flow


@pytest.fixture
def lab(tmp_path: Path):
    with Lab(tmp_path / "home", clock=FixedClock(NOW)) as made:
        _ = made.facts
        yield made


def later(lab: Lab, **by: float) -> None:
    lab.clock.advance(**by)  # type: ignore[attr-defined]


def texts(lab: Lab) -> list[str]:
    return [fact.text for fact in lab.facts.list()]


# Notes


def test_a_note_is_kept_once_and_a_repetition_names_the_first(lab: Lab) -> None:
    first = notes.observe(
        lab.home, "The extraction missed facts of the meeting", "friction"
    )
    again = notes.observe(
        lab.home, "The extraction missed some facts of the meeting", "surprise"
    )
    other = notes.observe(lab.home, "Reviews were quick today", "quality")
    assert (first, again, other) == (
        ("obs-0001", ""),
        ("", "obs-0001"),
        ("obs-0002", ""),
    )
    assert [note.category for note in note_view.notes_of(lab.home, "pending")] == [
        "friction",
        "quality",
    ]


def test_novelty_is_above_seven_tenths_of_the_words_of_the_last_twenty_open_notes(
    lab: Lab,
) -> None:
    words = "one two three four five six seven eight nine ten".split()
    notes.observe(lab.home, " ".join(words))
    assert (
        notes.observe(lab.home, " ".join(words[:7])).repeats == ""
    )  # 7 of 10 is not above .7
    assert (
        notes.observe(lab.home, " ".join(words[:8])).repeats == "obs-0001"
    )  # 8 of 10 is
    for number in range(20):
        notes.observe(lab.home, f"alpha{number} beta{number} gamma{number}")
    assert notes.observe(lab.home, " ".join(words)).repeats == ""
    notes.review(lab.home, "obs-0022", "archive")
    assert notes.observe(lab.home, "alpha19 beta19 gamma19").repeats == ""


@pytest.mark.parametrize(
    ("text", "category", "source", "said"),
    [
        ("x" * 501, "friction", "agent", "501 characters"),
        ("a note", "joy", "agent", "friction, surprise, quality"),
        ("", "friction", "agent", "empty"),
        ("a note", "friction", "nobody", "source"),
    ],
)
def test_a_note_outside_the_rules_is_refused(
    lab: Lab, text: str, category: str, source: str, said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        notes.observe(lab.home, text, category, source=source)
    assert note_view.notes_of(lab.home) == []


def test_a_secret_in_a_note_is_masked(lab: Lab) -> None:
    notes.observe(lab.home, "The login with password=hunter2hunter2 was refused")
    assert "hunter2" not in note_view.note_by_id(lab.home, "obs-0001").text


def test_a_promoted_note_becomes_a_fact_with_lineage_and_undoing_takes_it_back(
    lab: Lab,
) -> None:
    notes.observe(lab.home, "Reviews find more before lunch", "quality", source="model")
    found = notes.review(
        lab.home,
        "obs-0001",
        "promote",
        entity="projects/parser",
        abstraction="principle",
    )
    fact = lab.facts.show(found.fact)
    assert (found.status, fact.text, fact.abstraction, fact.source) == (
        "promoted",
        "Reviews find more before lunch",
        "principle",
        "model",
    )
    (event,) = lab.journal.read(ids=[fact.event_id])
    assert event.lineage == (found.event_id,)
    with pytest.raises(InvalidInput, match=r"promoted, .*allowed: undo"):
        notes.review(lab.home, "obs-0001", "archive")
    assert (notes.review(lab.home, "obs-0001", "undo").status, texts(lab)) == (
        "pending",
        [],
    )
    assert (
        notes.review(lab.home, "obs-0001", "promote", entity="projects/parser").status
        == "promoted"
    )
    assert texts(lab) == ["Reviews find more before lunch"]


def test_promoting_needs_an_entity_and_an_unknown_note_is_named(lab: Lab) -> None:
    notes.observe(lab.home, "Reviews find more before lunch")
    with pytest.raises(InvalidInput, match="people/NAME"):
        notes.review(lab.home, "obs-0001", "promote")
    with pytest.raises(InvalidInput, match="pattern, principle"):
        notes.review(
            lab.home,
            "obs-0001",
            "promote",
            entity="projects/parser",
            abstraction="episode",
        )
    with pytest.raises(InvalidInput, match="obs-0009"):
        notes.review(lab.home, "obs-0009", "archive")
    with pytest.raises(InvalidInput, match="promote, resolve, archive"):
        notes.review(lab.home, "obs-0001", "accept")
    assert note_view.note_by_id(lab.home, "obs-0001").status == "pending"


def test_an_accepted_tension_leaves_the_newer_fact_and_a_rejected_one_both(
    lab: Lab,
) -> None:
    for text in ("Tea is served at four", "Lunch is at noon", "The office has a cat"):
        lab.facts.write("projects/office", text)
        later(lab, seconds=60)
    assert notes.note_tension(lab.home, "office-002", "office-001").id == "tension-0001"
    assert (
        notes.note_tension(lab.home, "office-001", "office-002").repeats
        == "tension-0001"
    )
    notes.review(lab.home, "tension-0001", "accept")
    assert texts(lab) == ["Lunch is at noon", "The office has a cat"]
    assert lab.facts.show("office-001").superseded_by == "office-002"
    notes.review(lab.home, "tension-0001", "undo")
    assert len(texts(lab)) == 3
    assert notes.review(lab.home, "tension-0001", "reject").status == "resolved"
    notes.review(lab.home, "tension-0001", "undo")
    assert (len(texts(lab)), note_view.note_by_id(lab.home, "tension-0001").status) == (
        3,
        "pending",
    )


def test_a_tension_is_of_two_facts_that_are_there(lab: Lab) -> None:
    lab.facts.write("projects/office", "Tea is served at four")
    for pair in (("office-001", "office-002"), ("office-001", "office-001")):
        with pytest.raises(InvalidInput):
            notes.note_tension(lab.home, *pair)
    assert note_view.notes_of(lab.home) == []


def test_too_many_pending_notes_or_tensions_give_an_alert(lab: Lab) -> None:
    for number in range(20):
        notes.observe(lab.home, f"alpha{number} beta{number} gamma{number}")
    assert notes.alerts(lab.home) == []
    notes.observe(lab.home, "one more of them")
    assert notes.alerts(lab.home) == [
        "21 observations are pending, more than 20: review them"
    ]


def test_the_sixth_pending_tension_gives_an_alert(lab: Lab) -> None:
    for number in range(6):
        for town in ("Bath", "York"):
            lab.facts.write(f"people/p{number}", f"Has a house in {town}")
    alerts = []
    for number in range(6):
        notes.note_tension(lab.home, f"p{number}-001", f"p{number}-002")
        alerts.append(notes.alerts(lab.home))
    assert alerts[:5] == [[]] * 5
    assert alerts[5] == ["6 tensions are pending, more than 5: review them"]
    assert alerts[5][0] in lab.facts.beat().alerts
    notes.review(lab.home, "tension-0001", "reject")
    assert notes.alerts(lab.home) == []


def test_a_note_of_another_project_is_not_shown(tmp_path: Path) -> None:
    for project in ("shop", "parser"):
        with Lab(tmp_path / "home", clock=FixedClock(NOW), project=project) as lab:
            _ = lab.facts
            notes.observe(lab.home, f"The build of {project} is slow")
            assert [note.project for note in note_view.notes_of(lab.home)] == [project]
    with Lab(tmp_path / "home", clock=FixedClock(NOW)) as lab:
        assert [note.id for note in note_view.notes_of(lab.facts.home)] == [
            "obs-0001",
            "obs-0002",
        ]
        assert lab.verify().ok


def _observe(folder: str, worker: int) -> None:
    with Lab(folder) as lab:
        for number in range(5):
            notes.observe(
                lab.facts.home, f"word{worker}x{number} term{worker}y{number}"
            )


def test_two_processes_never_give_two_notes_one_id(tmp_path: Path) -> None:
    with Lab(tmp_path / "home") as lab:
        _ = lab.facts
    context = quick_context()
    workers = [
        context.Process(target=_observe, args=(str(tmp_path / "home"), worker))
        for worker in range(2)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    with Lab(tmp_path / "home") as lab:
        assert [note.id for note in note_view.notes_of(lab.facts.home)] == [
            f"obs-{n:04d}" for n in range(1, 11)
        ]


# MEMORY.md and SOUL.md


def test_lines_are_added_promoted_and_taken_out(lab: Lab) -> None:
    fact = lab.facts.write("people/ann", "Lives in York", source="user")
    notes.add_line(lab.home, "MEMORY", "Tests run with uv")
    promoted = notes.add_line(lab.home, "MEMORY", fact=fact.id)
    assert promoted.lineage == (fact.event_id,)
    assert (
        notes.document(lab.home, "MEMORY")
        == "# MEMORY\n\n- Tests run with uv\n- ann: Lives in York\n"
    )
    notes.add_line(lab.home, "MEMORY", "Tests run with uv", undo=True)
    assert notes.self_lines(lab.home, "MEMORY") == ["ann: Lives in York"]
    assert notes.document(lab.home, "SOUL") == ""


def test_content_flows_one_way(lab: Lab) -> None:
    own = notes.add_line(lab.home, "SOUL", "Be brief")
    fact = lab.facts.write("people/ann", "Lives in York")
    for lineage, into in (
        ([own.id], "notes"),
        ([own.id], "ops"),
        ([fact.event_id], "ops"),
    ):
        with pytest.raises(InvalidInput, match="ops → notes → self"):
            check_flow(lab.home, lineage, into)
    with pytest.raises(InvalidInput, match="ops → notes → self"):
        notes.observe(lab.home, "Be brief, it says", lineage=[own.id])
    check_flow(lab.home, [fact.event_id], "self")


@pytest.mark.parametrize(
    "given",
    [
        {"text": "", "fact": ""},
        {"text": "a", "fact": "ann-001"},
        {"fact": "ann-009"},
        {"text": "a", "undo": True},
    ],
)
def test_a_line_outside_the_rules_is_refused(lab: Lab, given: dict[str, str]) -> None:
    lab.facts.write("people/ann", "Lives in York")
    with pytest.raises(InvalidInput):
        notes.add_line(lab.home, "MEMORY", **given)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="MEMORY, SOUL"):
        notes.add_line(lab.home, "DIARY", "a line")
    assert notes.self_lines(lab.home, "MEMORY") == []


# Commands


def test_the_commands_of_notes(run: Run) -> None:
    assert run(
        "facts",
        "observe",
        "--text",
        "The build is slow",
        "--category",
        "friction",
        "--json",
    ).json == {
        "id": "obs-0001",
        "repeats": "",
    }
    assert (
        run("facts", "observe", "--text", "The build is slow").out
        == "not kept: it repeats obs-0001\n"
    )
    assert (
        run("facts", "notes", "--json").json["notes"][0]["observation"]
        == "The build is slow"
    )
    assert (
        run("facts", "review", "obs-0001", "promote", "--entity", "projects/shop").out
        == "obs-0001 promoted: shop-001\n"
    )
    run("facts", "write", "--entity", "projects/shop", "--fact", "Lunch is at noon")
    assert (
        run("facts", "memory-tension", "--fact1", "shop-001", "--fact2", "shop-002").out
        == "tension-0001\n"
    )
    assert "tension-0001  pending" in run("facts", "tension").out
    assert (
        run("facts", "review", "tension-0001", "accept", "--json").json["fact"]
        == "shop-002"
    )
    refused = run("facts", "review", "obs-0009", "archive")
    assert (refused.code, "obs-0009" in refused.err) == (1, True)


def test_the_commands_of_self(run: Run, tmp_path: Path) -> None:
    run("facts", "self", "add", "--file", "SOUL", "--text", "Be brief")
    run("facts", "self", "render", str(tmp_path / "out"))
    assert (tmp_path / "out" / "SOUL.md").read_text() == "# SOUL\n\n- Be brief\n"
