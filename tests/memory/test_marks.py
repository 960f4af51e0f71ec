"""What a person says of single items: pinned, dismissed, corrected; in the briefing, in
search, in files and commands.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import DAY, NOW, Meanings, Run

from theorex_lab import (
    ContextLine,
    Event,
    FixedClock,
    InvalidInput,
    Lab,
    ObservationEntry,
    new_event,
)
from theorex_lab.core.ids import concept_id
from theorex_lab.memory.annotations import Marks, marked
from theorex_lab.memory.context_served import recalled_event
from theorex_lab.memory.projects import known_projects

FIX = "trace_fix: raise the pool size to forty connections"
SHOWN_FIX = "raise the pool size to forty connections (1 Mar)."  # as a briefing says it
NEW = "Raise the pool size to sixty connections."
SHOWN_NEW = "Raise the pool size to sixty connections (1 Mar)."


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=FixedClock(NOW), embedder=Meanings()) as lab:
        yield lab


@pytest.fixture
def fix(lab: Lab) -> str:
    return lab.agent("main").write(FIX, observation_type="trace_fix").event_id


def found(lab: Lab, query: str = "pool size", **how: bool) -> list[tuple[str, str]]:
    return [(hit.kind, hit.text) for hit in lab.search(query, **how)]


class TestMarkedLines:
    LINES = (
        ContextLine("fix", "main", "one", None, ("1",)),
        ContextLine("fix", "main", "two", ("a", 0), ("2", "3")),
    )

    def marks(self, *said: tuple[str, str, bool]) -> Marks:
        marks = Marks()
        events = [
            new_event(
                kind,
                {"item": item, "undo": undo, "text": f"new {item}"},
                agent="main",
                at=0,
            )._replace(seq=seq)
            for seq, (kind, item, undo) in enumerate(said, 1)
        ]
        for event in events:
            marks.apply([event])
        whole = Marks()
        whole.apply(events)
        assert all(
            (marks.columns()[name] == column).all()
            for name, column in whole.columns().items()
        )
        return marks

    def test_a_pinned_line_comes_first_and_the_others_keep_their_order(self) -> None:
        assert marked(self.LINES, self.marks(("pinned", "3", False))) == [
            *reversed(self.LINES)
        ]
        assert marked(
            self.LINES, self.marks(("pinned", "3", False), ("pinned", "3", True))
        ) == [*self.LINES]

    def test_a_line_that_shows_a_dismissed_item_is_left_out(self) -> None:
        assert marked(self.LINES, self.marks(("dismissed", "3", False))) == [
            self.LINES[0]
        ]
        assert (
            len(
                marked(
                    self.LINES,
                    self.marks(("dismissed", "3", False), ("dismissed", "3", True)),
                )
            )
            == 2
        )

    def test_a_corrected_line_says_the_new_text_once_as_the_persons_own(self) -> None:
        twice = [*self.LINES, self.LINES[1]]
        shown = marked(twice, self.marks(("corrected", "2", False)), shown=str.upper)
        assert shown == [
            self.LINES[0],
            ContextLine("fix", "main", "NEW 2", None, ("2", "3"), statement="new 2"),
        ]
        assert marked(
            self.LINES, self.marks(("corrected", "2", False), ("corrected", "2", True))
        ) == [*self.LINES]

    def test_the_last_word_holds(self) -> None:
        assert (
            self.marks(("pinned", "1", False), ("dismissed", "1", False)).pinned == []
        )
        assert (
            self.marks(("dismissed", "1", False), ("pinned", "1", False)).dismissed
            == []
        )
        assert self.marks(
            ("dismissed", "1", False), ("pinned", "1", True)
        ).dismissed == ["1"]
        assert (
            self.marks(("dismissed", "1", False), ("corrected", "1", False)).dismissed
            == []
        )
        assert self.marks(
            ("pinned", "1", False), ("corrected", "1", False)
        ).corrected == {"1": "new 1"}


def shown(lab: Lab, **how: int) -> list[tuple[str, str]]:
    """The lines of a briefing, each with the title of its section."""
    return [(line.section, line.text) for line in lab.briefing(**how).lines]


def test_what_is_pinned_is_given_also_where_nothing_offers_it_and_the_budget_is_small(
    lab: Lab,
) -> None:
    for number in range(60):
        lab.agent("main").write(
            f"trace_fix: fix number {number} of the harbour crane",
            observation_type="trace_fix",
        )
    heard = lab.agent("main").write("The harbour opens at six.", source="tool").event_id
    long_ago = NOW - 400 * DAY
    [written] = lab.write_all(
        [ObservationEntry("The lamp is green.", "main", long_ago)]
    )
    own = written.event_id
    before = lab.briefing(tokens=100)
    assert before.lines
    assert {heard, own}.isdisjoint(before.items)
    lab.pin(heard)
    lab.pin(own)
    pinned = {line.id: line for line in lab.briefing(tokens=100).lines}
    assert {heard, own} <= pinned.keys()
    assert pinned[heard].section == "Decisions", "what a tool said becomes no rule"
    assert pinned[heard].text == "The harbour opens at six (1 Mar)."
    assert all(pinned[item].why.endswith("pinned by you") for item in (heard, own))
    lab.pin(heard, undo=True)
    assert heard not in lab.briefing(tokens=2_000).items


def test_what_is_dismissed_comes_back_only_to_a_search_that_asks_for_it(
    lab: Lab, fix: str
) -> None:
    def given() -> tuple[str, ...]:
        return (
            lab.briefing().text,
            str(lab.theorex.boot_aware("claude-sonnet", agent="main")),
            str(lab.theorex.flash_inject("s", agent="main")),
        )

    assert all("raise the pool size" in text for text in given())
    assert lab.dismiss(fix) == fix
    assert not any("raise the pool size" in text for text in given())
    assert (found(lab), found(lab, cold=True)) == ([], [("observation", FIX)])
    lab.dismiss(fix, undo=True)
    assert all("raise the pool size" in text for text in given())
    assert found(lab) == [("observation", FIX)]
    assert lab.verify().ok


def test_a_correction_stands_in_the_place_of_the_text(lab: Lab, fix: str) -> None:
    assert shown(lab) == [("Known pitfalls", SHOWN_FIX)]
    lab.correct(fix, NEW)
    assert shown(lab) == [("Known pitfalls", SHOWN_NEW)]
    assert found(lab, cold=True) == [("correction", NEW)]
    assert [hit.id for hit in lab.search("pool size", kinds=["correction"])] == [fix]
    lab.correct(fix, "Close idle connections of the pool.")
    assert found(lab, cold=True) == [
        ("correction", "Close idle connections of the pool.")
    ]
    lab.dismiss(fix)
    assert found(lab) == []
    lab.correct(fix, undo=True)
    assert found(lab, cold=True) == [("observation", FIX)]
    assert (found(lab), shown(lab)) == ([], []), "it is still dismissed"
    lab.dismiss(fix, undo=True)
    assert shown(lab) == [("Known pitfalls", SHOWN_FIX)]
    assert lab.verify().ok
    with pytest.raises(InvalidInput, match="empty text"):
        lab.correct(fix, " ")


def test_a_correction_of_what_was_heard_is_trusted(lab: Lab) -> None:
    heard = (
        lab.agent("main")
        .write(FIX, observation_type="trace_fix", source="import")
        .event_id
    )
    assert shown(lab) == [], "what an import says stands in no briefing"
    assert found(lab) == [("observation", FIX)]
    lab.correct(heard, NEW)
    assert shown(lab) == [("Known pitfalls", SHOWN_NEW)]
    lab.correct(heard, undo=True)
    assert shown(lab) == []


def test_a_concept_is_marked_for_all_who_have_it(lab: Lab) -> None:
    for agent in ("main", "sage"):
        lab.agent(agent).write("the pool size is forty")
    number = str(concept_id("pool size"))

    def listed(agent: str) -> str:
        return str(lab.theorex.boot_aware("claude-sonnet", agent=agent))

    assert all("pool size" in listed(agent) for agent in ("main", "sage"))
    lab.dismiss(number)
    assert not any("pool size" in listed(agent) for agent in ("main", "sage"))
    assert [hit.id for hit in lab.search("pool", kinds=["concept"])] == []
    assert len(lab.search("pool", kinds=["concept"], cold=True)) == 2
    lab.correct(number, "*pool* size")
    assert listed("main").count("\\*pool\\* size") == 1, "signs of Markdown are escaped"
    assert lab.verify().ok


def test_an_id_may_be_shortened_and_an_unknown_one_names_the_nearest(
    lab: Lab, fix: str
) -> None:
    lab.clock.advance(days=400)  # type: ignore[attr-defined]
    other = lab.agent("main").write("another sentence").event_id
    assert lab.pin(fix[:10]) == fix
    with pytest.raises(InvalidInput, match=r"with which \d items begin; give more of"):
        lab.pin("0")
    with pytest.raises(InvalidInput, match=f"the nearest that is known is {fix}"):
        lab.pin(f"{fix[:12]}zz")
    with pytest.raises(InvalidInput, match=f"the nearest that is known is {other}"):
        lab.dismiss(f"{other[:12]}zz")
    lab.outcomes.record("main", "raised it", "it burst", success=False)
    [failed] = [line for line in lab.briefing().lines if "it burst" in line.text]
    assert failed.id not in (fix, other)
    assert failed.id not in [hit.id for hit in lab.search("burst", cold=True)]
    assert lab.dismiss(failed.id) == failed.id, (
        "a line of a briefing that search does not find"
    )
    assert "it burst" not in lab.briefing().text


def test_a_correction_is_of_the_items_project(lab: Lab) -> None:
    there = lab.in_project("shop-11111111", new=True)
    fix = there.agent("main").write(FIX, observation_type="trace_fix").event_id
    lab.correct(fix, NEW)
    lab.pin(fix)
    assert SHOWN_NEW in there.briefing().text
    other = lab.in_project("bank-22222222", new=True)
    assert "sixty" not in other.briefing().text
    assert [*other.search("pool size")] == []
    assert [hit.text for hit in there.search("pool size")] == [NEW]
    general = lab.agent("main").write("The pool is never drained.").event_id
    there.correct(general, "The pool is drained on Sundays.")
    assert [hit.text for hit in other.search("pool drained")] == [
        "The pool is drained on Sundays."
    ]
    assert known_projects(lab.home) == ["shop-11111111"]


def test_an_erasure_takes_what_was_said_of_it_along(lab: Lab, fix: str) -> None:
    lab.pin(fix)
    lab.correct(fix, NEW)
    lab.save_briefing()
    lab.views.snapshot(lab.views.get(Marks))
    assert len(lab.erase(ids=[fix])) == 3
    assert (
        found(lab, cold=True),
        lab.views.get(Marks).pinned,
        lab.views.get(Marks).corrected,
    ) == ([], [], {})
    left = b"".join(
        path.read_bytes() for path in lab.folder.rglob("*") if path.is_file()
    )
    assert b"sixty connections" not in left
    assert lab.verify().ok


def test_an_erased_correction_gives_the_text_back(lab: Lab, fix: str) -> None:
    lab.correct(fix, NEW)
    lab.erase(match="sixty")
    assert found(lab) == [("observation", FIX)]
    assert shown(lab) == [("Known pitfalls", SHOWN_FIX)]


def test_briefings_that_lie_there_are_written_again(lab: Lab, fix: str) -> None:
    lab.save_briefing()
    lab.in_project("shop-11111111", new=True).save_briefing()
    files = [lab.context_file, lab.folder / "contexts" / "shop-11111111.md"]
    assert all(SHOWN_FIX in file.read_text() for file in files)
    lab.dismiss(fix)
    assert not any("raise the pool" in file.read_text() for file in files)


def test_the_commands(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def line() -> dict[str, Any]:
        [only] = run("briefing", "--json").json["lines"]
        return dict(only)

    fix = run("write", FIX, "--type", "trace_fix", "--json").json["event_id"]
    text = run("briefing", "--json").json["text"]
    assert text.startswith("# Briefing\n")
    first = line()
    assert first["text"].startswith("raise the pool size to forty connections (")
    assert (first["id"], first["section"], first["why"], first["events"]) == (
        fix,
        "Known pitfalls",
        "it was written down as a fix",
        [fix],
    )
    assert run("correct", fix, *NEW.split(), "--json").json == {"item": fix}
    run("pin", fix)
    corrected = line()
    assert corrected["text"].startswith("Raise the pool size to sixty connections (")
    assert corrected["why"] == (
        "it was written down as a fix, pinned by you, in your words, pinned by you"
    )
    assert (corrected["events"][0], len(corrected["events"])) == (fix, 2)
    assert fix in run("briefing", "--why").out
    for words in (
        ["pin", "--undo", fix],
        ["dismiss", fix],
        ["dismiss", fix, "--undo"],
        ["correct", fix, "--undo"],
    ):
        assert run(*words).out.startswith(fix)
    assert line() == first
    assert run("correct", fix).code == run("correct", fix, "x", "--undo").code == 2
    ended = run("pin", "nonsense", "--json")
    assert (ended.code, "the nearest that is known is" in ended.json["error"]) == (
        1,
        True,
    )


def test_given_says_how_much_of_what_was_given_was_used(
    run: Run, tmp_path: Path
) -> None:
    with Lab(tmp_path / "home") as lab:
        now = lab.clock.now()
        main = lab.agent("main")
        texts = (
            "The parser of invoices lives in src/invoice.py.",
            "Deploy on Tuesdays.",
            "The lamp is green.",
        )
        items = [main.write(text).event_id for text in texts]
        lab.journal.append(
            [
                recalled_event(
                    "session_start",
                    items=items,
                    tokens=30,
                    agent="main",
                    session="s",
                    at=now,
                ),
                new_event(
                    "prompt",
                    {"text": "when do we deploy?", "source": "user"},
                    agent="main",
                    session="other",
                    at=now,
                ),
                new_event(
                    "tool_used",
                    {
                        "tool": "Edit",
                        "input": "",
                        "response": "the lamp is green",
                        "paths": {"edited": ["lib/invoice.py"]},
                        "source": "tool",
                    },
                    agent="main",
                    session="s",
                    at=now,
                ),
                new_event(
                    "prompt",
                    {"text": "Let us deploy, it is Tuesday", "source": "user"},
                    agent="main",
                    session="s",
                    at=now,
                ),
            ]
        )
    given = run("briefing", "--given", "--all-projects", "--json").json
    assert (given["given"], given["used"]) == (3, 2), (
        "the file was touched, the deploy was spoken of, the lamp was not"
    )
    assert [
        (row["how"], row["session"], row["items"], row["used"])
        for row in given["before"]
    ] == [("session_start", "s", 3, 2)]
    assert (
        "of 3 lines given in known sessions 2 were used then"
        in run("briefing", "--given", "--all-projects").out
    )


def test_given_counts_the_use_of_lines_that_sessions_give(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def said(kind: str, session: str, words: dict[str, Any], hours_ago: int) -> Event:
        body = {**words, "project": "till"}
        at = lab.clock.now() - hours_ago * 3_600_000_000
        return new_event(kind, body, agent="main", session=session, at=at)

    def command(line: str) -> dict[str, Any]:
        return {"tool": "Bash", "source": "tool", "ok": True, "command": line}

    with Lab(tmp_path / "home") as lab:
        for session, hours_ago in (("one", 9), ("two", 8)):
            wish = {"text": "Never push to the main branch.", "source": "user"}
            lab.journal.append(
                [
                    said("prompt", session, wish, hours_ago),
                    said("tool_used", session, command("go test ./..."), hours_ago),
                ]
            )
        lab.outcomes.record("main", "Publish it", "The feed broke", success=False)
        items = lab.in_project("till").briefing().items
        assert len(items) == 3
        recalled = recalled_event(
            "session_start",
            items=items,
            tokens=60,
            agent="main",
            session="three",
            at=lab.clock.now(),
            project="till",
        )
        lab.journal.append([recalled])
        lab.journal.append([said("tool_used", "three", command("go test ./..."), 0)])
    given = run("briefing", "--given", "--project", "till", "--json").json
    assert (given["given"], given["used"]) == (3, 1), "the command was run again"
    with Lab(tmp_path / "home") as lab:
        answer = {"message": "The feed broke as I published it.", "source": "agent"}
        lab.journal.append([said("turn_ended", "three", answer, 0)])
    given = run("briefing", "--given", "--project", "till", "--json").json
    assert (given["given"], given["used"]) == (3, 2), "and the failure was spoken of"


def test_a_pinned_item_says_what_it_says_now(lab: Lab, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    file = folder / "notes.md"
    (folder / "other.md").write_text("# Door\nThe door is shut.\n")

    def ingested(text: str, *, trusted: bool) -> str:
        file.write_text(f"# Lamp\n{text}\n")
        lab.ingest(folder, trusted=trusted)
        [hit] = lab.search("lamp", kinds=["section"])
        return hit.id

    section = ingested("The lamp is red.", trusted=True)
    lab.pin(section)
    assert shown(lab) == [("Decisions", "Lamp The lamp is red (1 Mar).")]
    assert ingested("The lamp is green.", trusted=True) == section
    assert shown(lab) == [("Decisions", "Lamp The lamp is green (1 Mar).")]
    assert ingested("The lamp is blue.", trusted=False) == section
    assert shown(lab) == [], "nobody vouched for the new words"
    assert ingested("The lamp is white.", trusted=True) == section
    file.write_text("# Window\nThe window is open.\n")
    lab.ingest(folder, trusted=True)
    assert shown(lab) == [], "the text is no more"
