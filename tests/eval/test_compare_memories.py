"""What another memory holds is a log: each published system's files are compared."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from theorex_lab import FixedClock, InvalidInput, Lab
from theorex_lab.designs.dreams.sqlite_tables import TABLES
from theorex_lab.eval.adapters.protocol import EvalLog
from theorex_lab.eval.datasets.log_sets import memories
from theorex_lab.eval.datasets.logs import load_logs
from theorex_lab.eval.metrics.compare import compare

AT = "2025-03-01T10:00:00Z"
READ_AT = "2025-07-01T10:00:00Z"
PUBLISHED = ("theorex", "facts", "dreams", "causal", "research")


def write(path: Path, document: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        document if isinstance(document, str) else json.dumps(document), "utf-8"
    )


def engram_folder(folder: Path) -> Path:
    def record(number: int, text: str, **more: Any) -> dict[str, Any]:
        return {
            "id": f"depot-{number:03d}",
            "fact": text,
            "category": "status",
            "confidence": 0.9,
            "abstractionLevel": "pattern",
            "tags": [],
            "timestamp": "2025-03-01",
            "status": "active",
            **more,
        }

    items = [
        record(
            1,
            "The northern depot is supplied from Rotterdam harbour",
            status="superseded",
            supersededBy="depot-002",
        ),
        record(2, "The northern depot is supplied from Antwerp harbour"),
        record(3, "Drivers report their mileage every Thursday evening"),
    ]
    write(folder / "life/projects/depot/items.json", {"facts": items})
    return folder


def graph_folder(folder: Path) -> Path:
    genes = [
        {
            "type": "Gene",
            "id": "gene_repair_cache",
            "category": "repair",
            "signals_match": ["log_error", "stale cache"],
            "strategy": [
                "Delete the compiled templates before restarting",
                "Verify that the checksum matches",
            ],
        }
    ]
    write(folder / "genes.json", {"version": 1, "genes": genes})
    return folder


def dream_database(folder: Path) -> Path:
    path = folder / "memory.db"
    folder.mkdir(parents=True, exist_ok=True)
    row = {
        "node_id": "p-1",
        "hierarchy_level": 3,
        "content": "",
        "summary": "Rotate the signing keys, restart the gateway, verify old tokens fail",
        "confidence": 0.9,
        "access_count": 0,
        "goal": "Rotate the signing keys of the gateway",
        "outcome": "success",
        "trigger_goals": "[]",
        "negative_constraints": "[]",
        "child_node_ids": "[]",
        "success_count": 2,
        "failure_count": 0,
        "version": 1,
        "isa_version": "1.0",
        "domain": "default",
        "created_at": AT,
        "updated_at": AT,
    }
    with closing(sqlite3.connect(path)) as database, database:
        for table, columns in TABLES.items():
            names = ", ".join(column.name for column in columns)
            database.execute(f"CREATE TABLE {table} ({names})")
        places = ", ".join(f":{name}" for name in row)
        database.execute(
            f"INSERT INTO parent_nodes ({', '.join(row)}) VALUES ({places})", row
        )
    return path


def research_folder(folder: Path) -> Path:
    text = (
        "---\ncategory: pitfalls\ntitle: Rademacher bound\ndomain: bandits\n"
        f"confidence: 0.80\ncreated_at: {AT}\n---\n\n# Rademacher bound\n\n"
        "Bounding the regret through Rademacher complexity loses a logarithmic factor\n"
    )
    write(folder / "memories/bandits/20250301_rademacher_bound.md", text)
    return folder


def theorex_folder(folder: Path) -> Path:
    story = "Invalidating cached sessions by their lifetime prevents request stampedes"
    moment = {
        "id": "7f1c1a52-0d7e-4a63-9a38-0a8c8b1d2e11",
        "timestamp": AT,
        "story": story,
        "code_refs": [],
        "concept_ids": [],
    }
    write(folder / f"moments/{moment['id']}.json", moment)
    return folder


SYSTEMS = {
    "theorex": theorex_folder,
    "facts": engram_folder,
    "dreams": dream_database,
    "causal": graph_folder,
    "research": research_folder,
}


def log_of(path: Path) -> EvalLog:
    (log,) = load_logs(f"memory:{path}")
    return log


@pytest.fixture
def _read_in_summer(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an import dates by the clock comes four months after the memory itself.

    Each night between is replayed. By the clock of this machine these would be more
    from day to day.
    """
    in_summer = partial(Lab, clock=FixedClock.at(READ_AT))
    monkeypatch.setattr(memories, "Lab", in_summer)


@pytest.mark.usefixtures("_read_in_summer")
@pytest.mark.parametrize("name", SYSTEMS)
def test_what_a_system_left_is_compared_with_all_designs(
    name: str, tmp_path: Path
) -> None:
    log = log_of(SYSTEMS[name](tmp_path / "left"))
    assert log.probes
    compared = compare([log], [*PUBLISHED, "bm25", "nothing"], budgets=(500,))
    assert not any(trial.problems for trial in compared.trials)
    scores = {
        design: compared.value(design, "retrieve", 500, "evidence_recall").value
        for design in compared.designs
    }
    assert scores[name] == scores["bm25"] == 1, scores
    assert scores["nothing"] == 0
    # The others know none of its kinds, and have its texts all the same.
    others = [scores[design] for design in PUBLISHED if design != name]
    assert max(others) == 1, scores


def test_what_was_replaced_is_stale_and_not_asked_for(tmp_path: Path) -> None:
    log = log_of(engram_folder(tmp_path / "left"))
    texts = {event.id: event.body.get("text", "") for event in log.events}
    stale = [
        (texts[old], {texts[answer] for answer in probe.answers})
        for probe in log.probes
        for old in probe.stale
    ]
    assert stale == [
        (
            "The northern depot is supplied from Rotterdam harbour",
            {"The northern depot is supplied from Antwerp harbour"},
        )
    ]
    assert len(log.probes) == 2


def test_two_readings_agree_and_questions_come_after_the_last_event(
    tmp_path: Path,
) -> None:
    folder = engram_folder(tmp_path / "left")
    first, second = log_of(folder), log_of(folder)
    assert [event.id for event in first.events] == [event.id for event in second.events]
    assert [probe.query for probe in first.probes] == [
        probe.query for probe in second.probes
    ]
    assert all(probe.at > first.events[-1].at for probe in first.probes)


def test_a_path_that_holds_no_memory_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "notes.txt", "nothing of a memory")
    with pytest.raises(InvalidInput):
        load_logs(f"memory:{tmp_path / 'notes.txt'}")
    with pytest.raises(InvalidInput, match="memory:PATH"):
        load_logs(str(tmp_path))


def test_records_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    folder = engram_folder(tmp_path / "left")
    items = folder / "life/projects/depot/items.json"
    document = json.loads(items.read_text("utf-8"))
    document["facts"].append({"id": "depot-004", "fact": 7})
    write(items, document)
    with pytest.warns(UserWarning, match="1 records of .* are left out: .*items.json"):
        log = log_of(folder)
    assert len(log.probes) == 2
