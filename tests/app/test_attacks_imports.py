"""Files from strangers: made-up runs, labels and times, links out of a folder, names of
devices, reports without end.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import DAY, NOW, Run, observation
from test_exchange import export, home, take

from theorex_lab import Lab
from theorex_lab.core.clock import to_iso
from theorex_lab.core.settings import PUBLISHED_MODELS
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.files import _folder_agent
from theorex_lab.files.formats.flat_files import MOST_SHOWN, merged
from theorex_lab.files.formats.reports import file_name, portable

MINUTE = DAY // 1_440
AHEAD = NOW + 10 * 365 * DAY


def made_up(
    folder: Path, model: str = "ministral-3b", runs: int = 5, **more: Any
) -> Path:
    """Runs that never were, by which `model` is the best."""
    (folder / "traces").mkdir(parents=True)
    for number in range(runs):
        trace = {
            "id": f"{model}-{number}",
            "agent_id": "main",
            "model": model,
            "tags": ["code"],
            "success": True,
            "latency_ms": 1,
            "start_time": to_iso(NOW - DAY),
            "end_time": to_iso(NOW - DAY + 1_000),
            "total_tokens": 1,
            **more,
        }
        (folder / "traces" / f"{model}-{number}.json").write_text(json.dumps(trace))
    return folder


@pytest.mark.parametrize("trusted", [False, True])
def test_imported_runs_route_only_where_they_are_trusted(
    tmp_path: Path, trusted: bool
) -> None:
    with home(tmp_path / "home") as lab:
        lab.settings = lab.settings.replaced(roles=[], models=PUBLISHED_MODELS)
        before = lab.route("debug this function").model
        assert before != "ministral-3b"
        (report,) = take(lab, made_up(tmp_path / "given"), trusted=trusted)
        assert (report.imported, report.problems) == (5, [])
        assert (lab.route("debug this function").model == "ministral-3b") is trusted
        own, heard = (
            [
                (cell.n, cell.success_rate)
                for cell in found
                if (cell.query_type, cell.model) == ("code", "ministral-3b")
            ]
            for found in (lab.matrix(), lab.matrix(untrusted=True))
        )
        assert bool(own) is trusted
        assert heard == ([] if trusted else [(5, 1.0)])
        assert lab.trace_stats().to_dict()[0]["n"] == 5
        assert lab.verify().ok


def test_a_file_does_not_trust_itself(tmp_path: Path) -> None:
    with home(tmp_path / "home") as lab:
        take(lab, made_up(tmp_path / "given", source="user"))
        assert len(lab.matrix()) == 0


def test_the_matrix_shows_them_apart(run: Run, tmp_path: Path) -> None:
    assert run("import", str(made_up(tmp_path / "given"))).code == 0
    shown = run("matrix", "--json").json
    assert (shown["cells"], [cell["model"] for cell in shown["untrusted"]]) == (
        [],
        ["ministral-3b"],
    )
    assert "imported without --trusted, not used:" in run("matrix").out


def node(label: str, **more: Any) -> dict[str, Any]:
    attributes = {
        "canonical_form": label,
        "surface_form": label,
        "last_seen": to_iso(NOW),
        **more,
    }
    return {"key": label, "attributes": attributes}


def axon(folder: Path, *nodes: dict[str, Any], edges: tuple[Any, ...] = ()) -> Path:
    folder.mkdir()
    (folder / "axon.json").write_text(
        json.dumps({"attributes": {}, "nodes": nodes, "edges": edges})
    )
    return folder


def test_a_label_is_no_essay(tmp_path: Path) -> None:
    given = axon(
        tmp_path / "given",
        node("x" * 15_000),
        node("y" * 129),
        node("z" * 128),
        node("a", surface_form="b" * 129),
    )
    text = {
        "text": "a sentence",
        "timestamp": to_iso(NOW),
        "concepts": [[0, "w" * 300, "w" * 300, 1], [0, "queue", "queue", 1]],
    }
    (given / "observations.jsonl").write_text(json.dumps(text))
    with home(tmp_path / "home") as lab:
        reports = take(lab, given)
        assert [report.imported for report in reports] == [1, 1]
        assert "a label of 15000 characters, 'xxx" in reports[0].problems[0]
        assert "allowed are up to 128" in reports[0].problems[0]
        labels = list(lab.views.get(Axon).labels)
        assert max(map(len, labels)) == 128
        (kept,) = lab.journal.tail(0, kinds=["observation"])
        assert (
            kept.body["text"],
            [concept[1] for concept in kept.body["concepts"]],
        ) == ("a sentence", ["queue"])


def test_nothing_was_seen_after_now(tmp_path: Path) -> None:
    link = {
        "source": "queue",
        "target": "cache",
        "attributes": {"last_co_occurrence": to_iso(AHEAD)},
    }
    given = axon(
        tmp_path / "given",
        node("queue", last_seen=to_iso(AHEAD)),
        node("cache", first_seen=to_iso(AHEAD), last_seen=to_iso(NOW + 6 * MINUTE)),
        node("lamp", last_seen=to_iso(NOW + 5 * MINUTE)),
        edges=(link,),
    )
    lines = [
        {
            "id": observation("x").id,
            "text": "the lamp is out",
            "timestamp": to_iso(AHEAD),
            "agent_id": "sage",
        }
    ]
    (given / "observations.jsonl").write_text("\n".join(map(json.dumps, lines)))
    shared = {"nodes": [node("tower", last_seen=to_iso(AHEAD))], "edges": []}
    (given / "shared-axon.json").write_text(json.dumps(shared))
    kept = {"canonical_form": "gate", "composite_score": 1, "timestamp": to_iso(AHEAD)}
    (given / "stm.jsonl").write_text(json.dumps(kept))
    with home(tmp_path / "home") as lab:
        reports = take(lab, given)
        assert sum(report.imported for report in reports) >= 6
        view = lab.views.get(Axon)
        assert len(view.concepts) >= 5
        for column in ("last_seen", "first_seen"):
            assert view.concepts[column].max() <= NOW + 5 * MINUTE
        assert view.links["last_seen"].max() <= NOW + 5 * MINUTE
        assert max(event.at for event in lab.journal.tail(0)) <= NOW + 5 * MINUTE
        assert [
            ("'queue' is ahead of the clock" in text) for text in reports[0].problems
        ] == [True, False]
        last = lab.journal.last_seq()
        lab.clock.advance(days=1)
        assert sum(report.imported for report in take(lab, given)) == 0, (
            "what was imported once is known, whatever its time"
        )
        assert lab.journal.last_seq() == last


def test_where_nothing_could_be_taken_the_exit_code_says_so(
    run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "observations.jsonl"
    file.write_text("no json\n" * 3)
    ended = run("import", str(file), "--json")
    assert (ended.code, ended.json["imported"]) == (1, 0)
    assert ended.json["error"].endswith("(and 2 more like it)")
    file.write_text(
        "no json\n"
        + json.dumps({"text": "the lamp is out", "timestamp": "2026-01-01T00:00:00Z"})
    )
    for imported in (1, 0):  # the second time it is there already
        ended = run("import", str(file), "--json")
        assert (ended.code, ended.json["imported"]) == (0, imported)
    file.write_text("")
    assert run("import", str(file)).code == 0, "nothing was refused"


def test_equal_problems_are_one_line(tmp_path: Path) -> None:
    file = tmp_path / "observations.jsonl"
    wrong = json.dumps({"text": "x", "timestamp": "soon"})
    # Far more than are ever shown; more would be counted likewise.
    file.write_text(f"{wrong}\n" * 20_000)
    with home(tmp_path / "home") as lab:
        (report,) = take(lab, file)
    assert (report.imported, len(report.problems)) == (0, 1)
    assert report.problems[0].startswith("observations.jsonl:1: ")
    assert report.problems[0].endswith("(and 19999 more like it)")


def test_problems_that_differ_are_told_up_to_a_number() -> None:
    found = merged(
        f"stm.jsonl:{number}: agent_id is 'a{number}'" for number in range(1_000)
    )
    assert len(found) == MOST_SHOWN + 1
    assert found[-1] == "900 more problems, of 900 other kinds"


@pytest.mark.parametrize(
    "name", ["observations.jsonl", "axon.json", "traces/a.json", "outcomes/a.json"]
)
def test_a_link_does_not_bring_in_what_lies_outside(tmp_path: Path, name: str) -> None:
    given = tmp_path / "given"
    outside = tmp_path / "outside.json"
    outside.write_text(
        json.dumps({"text": "the private diary", "timestamp": to_iso(NOW)})
    )
    (given / name).parent.mkdir(parents=True)
    (given / name).symlink_to(outside)
    with home(tmp_path / "home") as lab:
        (report,) = take(lab, given)
        assert report.imported == 0
        assert "a link takes from outside of the folder" in report.problems[0]
        assert lab.journal.last_seq() == 0


def test_a_folder_behind_a_link_neither_but_the_folder_itself_may_be_one(
    tmp_path: Path,
) -> None:
    made_up(tmp_path / "elsewhere")
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "traces").symlink_to(tmp_path / "elsewhere" / "traces")
    (tmp_path / "named").symlink_to(tmp_path / "elsewhere")
    with home(tmp_path / "home") as lab:
        (report,) = take(lab, tmp_path / "given")
        assert (report.imported, len(report.problems)) == (0, 1)
        assert take(lab, tmp_path / "named")[0].imported == 5


def names(lab: Lab) -> set[str]:
    return set(lab.agents())


def test_names_of_devices_are_carried_by_other_names(tmp_path: Path) -> None:
    agents = ["con", "nul.txt", "com1", "a.", "console", "main"]
    with home(tmp_path / "home") as lab:
        lab.journal.append(
            [observation("x", labels=["queue"], agent=agent) for agent in agents]
        )
        export(lab, tmp_path / "out")
    folders = {path.name for path in (tmp_path / "out" / "agents").iterdir()}
    assert folders == {"_con_", "_nul.txt_", "_com1_", "_a._", "console", "main"}
    assert {
        _folder_agent(tmp_path / "agents" / portable(agent) / "axon.json")
        for agent in agents
    } == set(agents)
    with home(tmp_path / "other") as lab:
        assert [
            report.problems for report in take(lab, tmp_path / "out") if report.problems
        ] == []
        assert names(lab) == set(agents)
    assert file_name("con") != "con.json"
