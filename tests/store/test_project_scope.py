"""Two projects in one home: what is given back is of this project or of none, and each
act can be narrowed to one.
"""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import DAY, NOW, THEOREX_SHOWN, Run, observation

from theorex_lab import (
    Event,
    FixedClock,
    Home,
    InvalidInput,
    Lab,
    StorageError,
    new_event,
)
from theorex_lab.app.server.mcp import build_server
from theorex_lab.core.ids import concept_id
from theorex_lab.core.project import checkout_root, project_of, repository_of
from theorex_lab.core.settings import check_settings
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.journal.erasing import select
from theorex_lab.journal.event import upcast
from theorex_lab.journal.identity import project_in
from theorex_lab.journal.sqlite.store import SqliteJournal, in_file
from theorex_lab.memory.contract import DesignApi
from theorex_lab.memory.projects import find_project, known_projects
from theorex_lab.memory.retrieval_log import note_recalled

SHOP = "shop-11111111"
MILL = "mill-22222222"
OTHER_SHOP = "shop-33333333"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(
        tmp_path / "home", clock=FixedClock(NOW), settings=check_settings(THEOREX_SHOWN)
    ) as lab:
        yield lab


@pytest.fixture
def shop(lab: Lab) -> Lab:
    return lab.in_project(SHOP, new=True)


@pytest.fixture
def mill(lab: Lab) -> Lab:
    return lab.in_project(MILL, new=True)


def texts(lab: Lab, query: str, **how: Any) -> set[str]:
    return {
        hit.text
        for hit in lab.search(query, kinds=how.pop("kinds", ["observation"]), **how)
    }


def kept(lab: Lab, kind: str) -> list[Event]:
    return list(lab.journal.tail(0, kinds=[kind]))


def raw(number: int, project: str, *, session: str) -> Event:
    body: dict[str, Any] = {
        "tool": "Bash",
        "input": f'{{"command":"grind flour {number}"}}',
        "response": "ok",
        "source": "tool",
    }
    body |= {
        "project": project,
        "ok": True,
        "paths": {"read": [], "edited": []},
        "command": f"grind flour {number}",
    }
    return new_event(
        "tool_used", body, agent="main", session=session, at=NOW - 9 * DAY + number
    )


def test_search_gives_what_is_of_the_project_or_of_none(
    lab: Lab, shop: Lab, mill: Lab
) -> None:
    shop.agent("main").write("The till rounds prices up")
    mill.agent("main").write("The miller rounds prices down")
    lab.agent("main").write("Everybody rounds prices somehow")
    assert texts(shop, "rounds prices") == {
        "The till rounds prices up",
        "Everybody rounds prices somehow",
    }
    assert texts(mill, "rounds prices") == {
        "The miller rounds prices down",
        "Everybody rounds prices somehow",
    }
    assert (
        len(texts(lab, "rounds prices"))
        == len(texts(shop, "rounds prices", all_projects=True))
        == 3
    )
    assert {event.body["project"] for event in kept(lab, "observation")} == {
        SHOP,
        MILL,
        "",
    }


def test_a_concept_that_is_named_again_is_of_both_projects_and_without_one_of_all(
    lab: Lab, shop: Lab, mill: Lab
) -> None:
    def concepts(here: Lab) -> set[str]:
        return texts(here, "cash drawer", kinds=["concept"])

    shop.journal.append([_observation("one", SHOP, "cash drawer")])
    assert (concepts(shop), concepts(mill)) == ({"cash drawer"}, set())
    shop.journal.append(
        [
            _observation("two", MILL, "cash drawer"),
            _observation("again", MILL, "cash drawer"),
        ]
    )
    assert concepts(mill) == {"cash drawer"}
    assert concepts(lab.in_project("yard-44444444", new=True)) == set()
    shop.journal.append([_observation("three", "", "cash drawer")])
    assert concepts(lab.in_project("yard-44444444", new=True)) == {"cash drawer"}
    # Read from snapshots, the pairs go on where they were.
    for view in (Axon, lab.home.item_view, lab.home.label_view):
        assert lab.views.snapshot(lab.views.get(view))
    with Lab(lab.folder, clock=lab.clock, project=MILL) as later:
        later.journal.append(
            [
                _observation("four", SHOP, "cash drawer"),
                _observation("five", SHOP, "new ledger"),
            ]
        )
        assert texts(later, "new ledger", kinds=["concept"]) == set()
        assert texts(later, "cash drawer", kinds=["concept"]) == {"cash drawer"}
        index = later.views.get(later.home.label_view)
        pairs = list(
            zip(
                index.located["document"].tolist(),
                index.located["project"].tolist(),
                strict=True,
            )
        )
        assert len(pairs) == len(set(pairs))
        assert later.verify().ok


def _observation(text: str, project: str, *labels: str, **more: Any) -> Event:
    event = observation(text, labels=labels, **more)
    return event._replace(body={**event.body, "project": project})


def test_memory_of_older_releases_is_found_in_every_project(
    lab: Lab, shop: Lab
) -> None:
    old = observation("The old till jams", labels=["old till"])
    body = {key: value for key, value in old.body.items() if key != "project"}
    lab.journal.append([old._replace(body={**body, "v": 1})])
    assert kept(lab, "observation")[0].body["project"] == ""
    assert texts(shop, "old till") == {"The old till jams"}
    assert [line.text for line in shop.briefing().lines] == [
        "The old till jams (1 Mar)."
    ]


def test_what_a_design_appends_is_of_the_project_of_its_home(
    lab: Lab, shop: Lab
) -> None:
    def appended(here: Lab, **body: str) -> str | None:
        event = DesignApi(here.home, lambda: here.searcher).append(
            "prompt", {"text": "grind", "source": "user", **body}
        )
        return kept(here, "prompt")[-1].body.get("project") if event.seq else None

    assert (appended(shop), appended(shop, project=MILL)) == (SHOP, MILL)
    assert appended(lab) in (None, "")


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        ("observation", 1),
        ("outcome", 1),
        ("short_term", 1),
        ("graduated", 1),
        ("context_checked", 1),
        ("task_submitted", 1),
        ("trace_started", 2),
    ],
)
def test_bodies_of_older_releases_are_of_no_project(kind: str, version: int) -> None:
    old = new_event(kind, {"said": "as before"}, agent="main", at=NOW)
    old = old._replace(body={**old.body, "v": version})
    assert upcast(old).body == {"v": version + 1, "said": "as before", "project": ""}


def test_activation_reaches_nothing_of_another_project(lab: Lab, shop: Lab) -> None:
    lab.journal.append(
        [
            _observation("the first", SHOP, "cash drawer", "brass till"),
            _observation("the second", MILL, "cash drawer", "mill wheel"),
        ]
    )
    assert texts(lab, "first drawer") == texts(shop, "first drawer") == {"the first"}
    assert texts(lab, "first drawer", spread=True) == {"the first", "the second"}
    assert texts(shop, "first drawer", spread=True) == {"the first"}


def test_shared_concepts_are_found_everywhere(lab: Lab, shop: Lab, mill: Lab) -> None:
    lab.journal.append([_observation("till", SHOP, "brass till")])
    assert lab.theorex.promote(force=[concept_id("brass till")]).concepts == 1
    lab.journal.append([_observation("scale", SHOP, "iron scale")])
    assert texts(mill, "brass till iron scale", agents=["main"], kinds=["concept"]) == {
        "brass till"
    }
    assert texts(mill, "brass till iron scale", kinds=["concept"]) == {"brass till"}
    given = mill.theorex.boot_aware()
    assert "Brass Till" in given.text
    assert "Iron Scale" not in given.text
    assert given.items == (str(concept_id("brass till")),)


def test_a_briefing_tells_the_project_and_what_is_of_none_and_names_its_items(
    lab: Lab, shop: Lab, mill: Lab
) -> None:
    fix = shop.agent("main").write(
        "trace_fix: restart the till before noon", observation_type="trace_fix"
    )
    mill.agent("main").write("trace_fix: oil the wheel", observation_type="trace_fix")
    failed = shop.outcomes.record(
        "main", "open the drawer", "it jammed", success=False, explicit_score=0.0
    )
    mill.outcomes.record(
        "main", "turn the wheel", "it broke", success=False, explicit_score=0.0
    )
    note = lab.agent("main").write("The keys hang in the hall.")
    told = shop.briefing()
    assert "restart the till" in told.text
    assert "it jammed" in told.text
    assert "wheel" not in told.text
    assert set(told.items) == {fix.event_id, failed.outcome_id, note.event_id}
    assert len(told.items) == len(told.lines) == 3
    assert "wheel" in lab.briefing().text


def test_a_running_session_is_told_of_its_project(
    lab: Lab, shop: Lab, mill: Lab
) -> None:
    for here, label in ((shop, "brass till"), (mill, "mill wheel")):
        body = {
            "concepts": [[concept_id(label), label, label.title(), 1]],
            "score": 0.9,
            "source": "agent",
            "weight": 0.7,
        }
        event = new_event(
            "short_term",
            {**body, "project": here.home.project},
            agent="main",
            at=NOW - DAY,
        )
        lab.journal.append([event, _observation(label, here.home.project, label)])
    told = shop.theorex.flash_context("s")
    assert "Brass Till" in told.text
    assert "Mill Wheel" not in told.text
    assert told.items == (str(concept_id("brass till")),)
    assert "Mill Wheel" in lab.theorex.flash_inject("s")


def test_what_is_derived_is_of_the_project_that_it_rests_on(lab: Lab) -> None:
    lab.journal.append([raw(1, SHOP, session="s"), raw(2, MILL, session="t")])
    assert (lab.in_project(SHOP).theorex.sessions(), lab.theorex.sessions()) == (
        ["s"],
        ["s", "t"],
    )
    for session in lab.theorex.sessions():
        lab.theorex.flush(session)
    assert {event.body["project"] for event in kept(lab, "short_term")} == {SHOP, MILL}
    failed = lab.in_project(SHOP).outcomes.record(
        "main", "pay by card", "the card was refused", success=False
    )
    lab.review_failures(reviewer="heuristic")
    fixes = [
        event
        for event in kept(lab, "observation")
        if failed.outcome_id in event.lineage
    ]
    assert {event.body["project"] for event in fixes} <= {SHOP}


def test_a_graduate_of_two_projects_is_of_none(lab: Lab, shop: Lab) -> None:
    label = "flour price"
    body = {
        "concepts": [[concept_id(label), label, label.title(), 1]],
        "score": 1.0,
        "source": "agent",
        "weight": 0.7,
    }
    days = [
        new_event(
            "short_term",
            {**body, "project": MILL if day == 3 else SHOP},
            agent="main",
            at=NOW - day * DAY,
        )
        for day in range(8)
    ]
    lab.journal.append(days[::-1])
    assert shop.theorex.graduate() == []
    assert lab.theorex.graduate() == [label]
    assert kept(lab, "graduated")[0].body["project"] == ""


def test_looking_after_one_project_leaves_the_others_alone(lab: Lab, shop: Lab) -> None:
    old = NOW - 900 * DAY
    lab.journal.append(
        [
            _observation("a", SHOP, "brass till", "cash drawer", at=old),
            _observation("b", MILL, "mill wheel", "cash drawer", at=old),
            _observation("c", "", "old barn", at=old),
        ]
    )
    assert shop.theorex.scan().slept == 1
    assert shop.theorex.prune() == 0  # it sleeps
    assert lab.theorex.scan().slept == 3
    labels = dict(enumerate(lab.views.get(Axon).labels))
    first = kept(lab, "scan")[0].body["tiers"]["main"]["SLEEPING"]
    assert first == [concept_id("brass till")], labels
    with pytest.raises(InvalidInput, match="which main has no concept of"):
        shop.theorex.promote(force=[concept_id("mill wheel")])


def test_a_project_is_called_by_its_name_where_only_one_has_it(lab: Lab) -> None:
    with pytest.raises(InvalidInput, match="no project is known yet"):
        find_project(lab.home, "shop")
    lab.journal.append([_observation("a", SHOP), _observation("b", MILL, at=NOW + 1)])
    assert known_projects(lab.home) == [MILL, SHOP]
    assert (find_project(lab.home, "shop"), find_project(lab.home, SHOP)) == (
        SHOP,
        SHOP,
    )
    lab.journal.append([_observation("c", OTHER_SHOP)])
    with pytest.raises(
        InvalidInput,
        match=rf"'shop', as which {SHOP}, {OTHER_SHOP} are known; name one of these",
    ):
        find_project(lab.home, "shop")
    with pytest.raises(
        InvalidInput, match="got the project 'mil'; the nearest that is known is 'mill'"
    ):
        find_project(lab.home, "mil")
    with pytest.raises(InvalidInput, match="got the project 'a b'"):
        Home(lab.folder, journal=lab.journal, project="a b")


def test_an_erasure_by_project_takes_what_else_is_given_too(lab: Lab) -> None:
    events = [
        _observation("the till key", SHOP),
        _observation("the mill key", MILL),
        _observation("sage's key", SHOP, agent="sage"),
        raw(1, SHOP, session="shift-7"),
        raw(2, MILL, session="shift-7"),
        new_event(
            "session_ended",
            {"source": "agent"},
            agent="main",
            session="shift-7",
            at=NOW - 9 * DAY + 3,
        ),
    ]
    lab.journal.append(events)
    journal = in_file(lab.journal)
    assert select(journal, project=SHOP, match="key") == [events[0].id, events[2].id]
    assert select(journal, project=SHOP, match="key", agent="sage") == [events[2].id]
    assert select(journal, project=SHOP, ids=[events[1].id]) == []
    assert lab.archive(NOW, project=SHOP).events == 1
    assert lab.archive(NOW).events == 2
    assert select(journal, project=SHOP, match="flour") == [events[3].id]
    assert select(journal, project=SHOP, match="shift-7") == [events[3].id]
    lab.in_project(SHOP).save_briefing()
    assert lab.erase(project=SHOP) == [events[0].id, events[2].id, events[3].id]
    assert known_projects(lab.home) == [MILL]
    assert not list((lab.folder / "contexts").glob("*"))
    assert lab.verify().ok


def test_the_contexts_of_projects_are_files_of_the_home(
    lab: Lab, shop: Lab, mill: Lab, tmp_path: Path
) -> None:
    shop.agent("main").write("The till rounds prices up")
    mill.agent("main").write("The miller rounds prices down")
    shop.save_briefing(tmp_path / "given.md")
    file = lab.folder / "contexts" / f"{SHOP}.md"
    assert file.read_text() == (tmp_path / "given.md").read_text()
    if os.name != "nt":
        assert [stat.S_IMODE(each.stat().st_mode) for each in (file, file.parent)] == [
            0o600,
            0o700,
        ]
    lab.save_briefing()
    assert not (lab.folder / "contexts" / f"{MILL}.md").exists()
    assert lab.maintain().steps[-1].detail.endswith(", and for 2 project(s)")
    assert "iller" in (lab.folder / "contexts" / f"{MILL}.md").read_text()
    assert "iller" not in file.read_text()
    everything = lab.context_file.read_text()
    assert "rounds prices" in everything  # of the shop
    assert "miller" in everything
    lab.agent("main").write("The weather rounds nothing")
    shop.save_briefing(tmp_path / "given.md")
    assert "weather" in file.read_text()
    assert "iller" not in file.read_text()


def test_the_maintenance_renders_for_the_projects_that_were_active_last(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("theorex_lab.evolution.maintenance._MOST_PROJECTS", 1)
    lab.journal.append([_observation("a", SHOP), _observation("b", MILL, at=NOW - 1)])
    assert lab.maintain().steps[-1].detail.endswith(", and for 1 project(s)")
    assert sorted(each.name for each in (lab.folder / "contexts").glob("*.md")) == [
        f"{SHOP}.md",
    ]


def test_what_is_given_is_noted_and_never_fails_for_that(
    lab: Lab, shop: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (
        note_recalled(
            shop.home,
            "search",
            query="token=abc123def",
            items=["1"],
            tokens=3,
            agent="main",
        )
        == ""
    )
    (event,) = kept(lab, "recalled")
    assert event.body == {
        "v": 1,
        "how": "search",
        "query": "token=[masked]",
        "items": ["1"],
        "tokens": 3,
        "project": SHOP,
    }

    def full(*_: object, **__: object) -> list[int]:
        raise StorageError("the disk is full")

    monkeypatch.setattr(SqliteJournal, "append", full)
    assert (
        note_recalled(shop.home, "search", agent="main")
        == "what was given is not noted: the disk is full"
    )


def test_the_server_takes_a_project_by_its_name(lab: Lab, shop: Lab, mill: Lab) -> None:
    shop.agent("main").write("The till rounds prices up")
    mill.agent("main").write("The miller rounds prices down")
    server = build_server(lab)

    def call(tool: str, **given: Any) -> Any:
        return asyncio.run(server.call_tool(tool, given)).structured_content

    assert (
        len(
            [
                hit
                for hit in call("search", query="rounds prices")["hits"]
                if hit["kind"] == "observation"
            ]
        )
        == 2
    )
    found = call("search", query="rounds prices", project="shop")["hits"]
    assert [hit["text"] for hit in found if hit["kind"] == "observation"] == [
        "The till rounds prices up"
    ]
    assert call("status", project="shop")["events"] == 1
    assert "iller" not in call("boot-inject", project=SHOP)["text"]
    call("write", text="A new yard", project="yard-44444444")
    assert "yard-44444444" in known_projects(lab.home)
    context = asyncio.run(_text_of(server, "theorex://project/mill/context"))
    assert "iller" in context
    assert "till" not in context
    given = [
        (event.body["how"], event.body["project"], event.body["query"])
        for event in kept(lab, "recalled")
    ]
    assert given == [
        ("mcp_search", "", "rounds prices"),
        ("mcp_search", SHOP, "rounds prices"),
        ("mcp_boot_inject", SHOP, ""),
        ("mcp_context", MILL, ""),
    ]


async def _text_of(server: Any, address: str) -> str:
    return "".join(str(part.content) for part in await server.read_resource(address))


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Two repositories, the second with a folder inside."""
    made = tmp_path / "shop", tmp_path / "mill"
    for each in made:
        (each / ".git").mkdir(parents=True)
    (made[1] / "wheel").mkdir()
    return made


def test_commands_take_the_project_of_the_folder_they_are_called_in(
    run: Run,
    home: Callable[..., Path],
    folders: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    home(**THEOREX_SHOWN)
    shop, mill = folders
    monkeypatch.chdir(shop)
    run("write", "The till rounds prices up")
    monkeypatch.chdir(mill / "wheel")
    run("write", "The miller rounds prices down")

    def found(*more: str) -> set[str]:
        hits = run(
            "search", "--json", "--kind", "observation", *more, "rounds prices"
        ).json["hits"]
        return {"till" if "till" in hit["text"] else "miller" for hit in hits}

    assert found() == {"miller"}
    assert found("--all-projects") == {"till", "miller"}
    for name in ("shop", project_of(str(shop)), str(shop), "../../shop"):
        assert found("--project", name) == {"till"}
    ended = run("search", "--json", "--project", "shpo", "prices")
    assert (
        ended.code,
        "the nearest that is known is 'shop'" in ended.json["error"],
    ) == (1, True)
    assert run("search", "--project", "shop", "--all-projects", "prices").code == 2
    assert run("search", "--project", "", "prices").code == 2
    # What keeps the memory in order is for all of it.
    assert run("status", "--json").json["observations"] == 2
    assert run("status", "--json", "--project", "shop").json["observations"] == 1
    assert run("verify", "--json", "--project", "shop").json["events"] == 1
    assert run("briefing", "--save").code == 0
    text = (tmp_path / "home" / "contexts" / f"{project_of(str(mill))}.md").read_text()
    assert "iller" in text
    assert "till" not in text
    run("maintain", "--project", "shop")
    assert (tmp_path / "home" / "contexts" / f"{project_of(str(shop))}.md").exists()
    assert len(run("erase", "--json", "--project", "shop").json["erased"]) == 1
    assert found("--all-projects") == {"miller"}


def test_a_command_notes_what_it_gives_to_an_agent_that_is_named(
    run: Run, home: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home(**THEOREX_SHOWN)
    run("write", "The till rounds prices up")
    run("search", "prices")
    run("search", "--agent", "main", "prices")
    monkeypatch.setenv("THEOREX_AGENT", "main")
    run("search", "prices")
    run("tiers", "flash-inject", "--session", "s1")
    run("tiers", "boot-aware", "--model", "claude-sonnet")
    before = run("status", "--json").json
    with Lab(tmp_path / "home") as lab:
        events = kept(lab, "recalled")
        assert [event.body["how"] for event in events] == [
            "search",
            "search",
            "flash_inject",
            "boot_aware",
        ]
        assert all(event.body["items"] and event.body["tokens"] for event in events)
        here = repository_of(checkout_root(str(Path.cwd())))
        own = project_in(lab.journal, here, bind=False)
        assert {event.body["project"] for event in events} == {own}
        assert [event.session for event in events] == ["", "", "s1", ""]
    assert (before["observations"], before["events"]) == (
        1,
        5,
    )  # to be given something is no mention of it


def test_a_search_for_an_agent_goes_on_where_nothing_can_be_noted(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("write", "The till rounds prices up")
    run("embed")

    def full(*_: object, **__: object) -> list[int]:
        raise StorageError("the disk is full")

    monkeypatch.setattr(SqliteJournal, "append", full)
    ended = run("search", "--json", "--agent", "main", "prices")
    assert (ended.code, ended.json["notes"]) == (
        0,
        ["what was given is not noted: the disk is full"],
    )
    assert ended.json["hits"]
    ended = run("tiers", "boot-aware", "--agent", "main")
    assert (ended.code, "not noted: the disk is full" in ended.err) == (0, True)


def test_a_folder_that_is_gone_is_of_no_project(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    ended = run("write", "--json", "The till rounds prices up")
    monkeypatch.chdir(tmp_path)
    with Lab(tmp_path / "home") as lab:
        assert [event.body["project"] for event in kept(lab, "observation")] == [""], (
            json.dumps(ended.out)
        )
