"""Export and import: what was exported comes back the same, whoever wrote the files and
whatever interrupts.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import DAY, NOW, Meanings, observation
from faults import forked
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_views import AGENTS, LABELS, streams

from theorex_lab import (
    Event,
    FixedClock,
    InvalidInput,
    Lab,
    Settings,
    StorageError,
    new_event,
)
from theorex_lab.core.clock import to_microseconds
from theorex_lab.core.ids import concept_id, derived_event_id
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.stages import SharedWeb, ShortTerm
from theorex_lab.dispatch.traces import Traces, trace
from theorex_lab.evolution.outcomes import OutcomeLog
from theorex_lab.files.formats import flat_files
from theorex_lab.files.formats.home_files import export_home, import_home
from theorex_lab.files.formats.reports import Exported, FileReport
from theorex_lab.journal.sqlite import store
from theorex_lab.memory.decay import Tier
from theorex_lab.memory.evidence import EvidenceView

CONTEXT = "SHARED_CONTEXT.md"
TRUSTED, TIER = 9, 10  # positions in what `state` says of a concept
WITHOUT_SOURCE = ("trust", "said", "source")


@contextmanager
def home(folder: Path) -> Iterator[Lab]:
    own = Settings(
        active_designs=["theorex"]
    )  # what other designs show comes back with a file of events
    with Lab(folder, clock=FixedClock(NOW), embedder=Meanings(16), settings=own) as lab:
        yield lab


def export(lab: Lab, folder: Path, **options: Any) -> Exported:
    return export_home(lab.home, lab.searcher, folder, **{"replace": True, **options})


def take(lab: Lab, path: Path, **options: Any) -> list[FileReport]:
    return import_home(lab.home, lambda: lab.searcher, path, **options)


def contents(folder: Path) -> dict[str, str]:
    """Every file below the folder; of the context, whose sections of equal rank may
    change places, the sorted lines.
    """
    files = {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }
    return {
        name: "\n".join(sorted(text.split("\n"))) if name == CONTEXT else text
        for name, text in files.items()
    }


def state(lab: Lab) -> dict[str, Any]:
    """What the views know, by name instead of by row, and without seqs."""
    axon, shared, short = (lab.views.get(kind) for kind in (Axon, SharedWeb, ShortTerm))
    table = axon.concepts
    links = axon.links
    columns = (
        "count",
        "fix_count",
        "first_seen",
        "last_seen",
        "source_weight",
        "sentiment_sum",
        "trust",
        "tier",
    )

    def name(row: int) -> tuple[str, int]:
        return axon.agents[table["agent"][row]], int(table["concept_id"][row])

    def contributed(agent: str) -> tuple[dict[Any, Any], ...]:
        return shared.contributed(agent), shared.contributed_links(agent)

    ids = {event.seq: event.id for event in lab.journal.tail(0)}
    _, asleep = axon.asleep()
    facts = axon.observations
    records = short.records
    return {
        "concepts": {
            name(row): [
                axon.labels[row],
                axon.surfaces[row],
                axon.types[table["type"][row]],
                *(table[column][row].item() for column in columns),
                *table["decayed"][row].tolist(),
            ]
            for row in axon.rows_of().tolist()
        },
        "links": {
            (*name(links["a"][row]), name(links["b"][row])[1]): (
                links["count"][row].item(),
                links["last_seen"][row].item(),
            )
            for row in np.flatnonzero(links["count"] > 0).tolist()
        },
        "observations": {
            ids[facts["seq"][row]]: (
                facts["at"][row].item(),
                axon.agents[facts["agent"][row]],
                axon.types[facts["type"][row]],
                facts["trust"][row].item(),
            )
            for row in range(len(facts))
        },
        "asleep": {ids[facts["seq"][row]] for row in asleep.tolist()},
        "shared": {
            agent: given for agent in shared.agents if any(given := contributed(agent))
        },
        "short_term": sorted(
            (
                records["at"][row].item(),
                ids[records["seq"][row]],
                short.agents[records["agent"][row]],
                short.sessions[records["session"][row]],
                short.labels[records["label"][row]],
                records["count"][row].item(),
                records["score"][row].item(),
                records["trust"][row].item(),
            )
            for row in range(len(records))
        ),
        "runs": runs(lab),
    }


def heard(found: dict[str, Any]) -> dict[str, Any]:
    """Runs with all their evidence as it is after an import without trust, under keys
    of its own.
    """
    cells = {
        (f"heard/{key.removeprefix('heard/')}", *more) for key, *more in found["cells"]
    }
    return {**found, "cells": sorted(cells)}


def runs(lab: Lab) -> dict[str, Any]:
    """Traces, outcomes but for their reviews, and the cells of the matrix."""
    cells = lab.views.get(EvidenceView).table.cells()
    columns = (
        cells.n,
        cells.successes,
        cells.latency_ms,
        cells.tokens,
        cells.cost,
        cells.last,
    )
    return {
        "traces": {name: trace(lab.views, name) for name in lab.views.get(Traces).ids},
        "outcomes": {
            each.outcome_id: replace(each, reviewed=False)
            for each in OutcomeLog(lab.home).outcomes()
        },
        "cells": sorted(
            (key, option, *(repr(column[row].item()) for column in columns))
            for row, (key, option) in enumerate(
                zip(cells.keys, cells.options, strict=True)
            )
        ),
    }


def recorded(stream: list[Event]) -> list[Event]:
    """The stream as a home records it: ids of its own, a START and an END a trace, no
    latency where nobody answered.
    """
    started: dict[str, Event] = {}
    ended: set[str] = set()
    found = []
    for event in stream:
        body = dict(event.body)
        if body.get("outcome_id"):
            body["outcome_id"] = derived_event_id("outcome", body["outcome_id"])
        if event.kind == "outcome":
            event = event._replace(id=derived_event_id("outcome", event.id))
        elif event.kind == "reviewed":
            body = {
                "v": 1,
                "outcome_id": derived_event_id("outcome", body["outcome_id"]),
                "trace_id": None,
                "score": 0.5,
                "fix_description": "Retry.",
                "decisive_step": None,
                "failure_class": "other",
                "model_used": "small",
                "observation_id": derived_event_id("fix", event.id),
            }
        elif event.kind == "trace_started":
            if body["trace_id"] in started:
                continue
            event = started[body["trace_id"]] = event._replace(
                id=derived_event_id("trace started", body["trace_id"])
            )
        elif event.kind == "trace_ended":
            if body["trace_id"] not in started or body["trace_id"] in ended:
                continue
            ended.add(body["trace_id"])
            agent = started[body["trace_id"]].agent
            made = derived_event_id("trace ended", body["trace_id"])
            event = event._replace(id=made, agent=agent)
            if not body["success"]:
                body["latency_ms"] = None
                body["attempts"] = [
                    {**each, "latency_ms": None} for each in body["attempts"]
                ]
        found.append(event._replace(body=body))
    return found


def kept(labels: list[str], agent: str, day: int, score: float, source: str) -> Event:
    body = {
        "concepts": [[concept_id(label), label, label.title(), 2] for label in labels],
        "score": score,
        "source": source,
        "weight": 0.7,
    }
    return new_event("short_term", body, agent=agent, session="s-1", at=NOW - day * DAY)


def graduation(label: str, agent: str, source: str) -> Event:
    body = {
        "concept_id": concept_id(label),
        "label": label,
        "surface": label,
        "times": [NOW - 8 * DAY, NOW - 3 * DAY],
        "counts": [2, 1],
        "days": [1],
        "upto": NOW - 3 * DAY,
        "source": source,
        "weight": 0.6,
    }
    return new_event("graduated", body, agent=agent, at=NOW)


labels = st.lists(st.sampled_from(LABELS), min_size=1, max_size=3, unique=True)
sources = st.sampled_from(["user", "agent", "tool", "import"])
kepts = st.builds(
    kept,
    labels,
    st.sampled_from(AGENTS),
    st.integers(0, 30),
    st.sampled_from([0.0, 0.25, 1.0]),
    sources,
)
graduations = st.builds(
    graduation, st.sampled_from(LABELS), st.sampled_from(AGENTS), sources
)
extras = st.lists(st.one_of(kepts, graduations), max_size=10)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    stream=streams,
    extra=extras,
    promoting=st.lists(st.sampled_from(AGENTS), unique=True),
    own=st.booleans(),
)
def test_what_was_exported_comes_back_the_same(
    tmp_path_factory,
    stream: list[Event],
    extra: list[Event],
    promoting: list[str],
    own: bool,
) -> None:
    root = tmp_path_factory.mktemp("exchange")
    stream = recorded(stream)
    with home(root / "first") as lab:
        half = len(stream) // 2
        lab.journal.append([*stream[:half], *extra])
        for agent in promoting:
            lab.theorex.promote(agent=agent)
        lab.journal.append(stream[half:])
        export(lab, root / "out")
        before = state(lab)
    with home(root / "second") as lab:
        reports = take(lab, root / "out", trusted=own)
        problems = [problem for report in reports for problem in report.problems]
        assert [
            problem for problem in problems if own or "--trusted alone" not in problem
        ] == []
        after = state(lab)
        repeated = take(lab, root / "out", trusted=own)
        assert sum(report.imported for report in repeated) == 0
        assert [each.skipped for each in repeated] == [
            each.imported + each.skipped for each in reports
        ]
        assert state(lab) == after
        export(lab, root / "again")
        assert lab.verify().ok
    if own:
        assert contents(root / "again") == contents(root / "out")
        assert after == before
    else:
        mixed = mixed_concepts(root / "out")
        again = without_sources(root / "again", mixed)
        assert again == without_sources(root / "out", mixed)
        assert heard(after["runs"]) == heard(before["runs"])
        assert {row[TRUSTED] for row in after["concepts"].values()} <= {0}, (
            "nothing is trusted"
        )
        assert {
            row[-1] for row in [*after["observations"].values(), *after["short_term"]]
        } <= {0}


def mixed_concepts(folder: Path) -> set[tuple[str, str]]:
    """Return agent and key of every concept of which the files tell the agent's own
    mentions from those of strangers.
    """
    mixed = set()
    for path in folder.glob("agents/*/axon.json"):
        for node in json.loads(path.read_text())["nodes"]:
            levels = node["attributes"].get("said", {})
            if levels.get("affirmed") and levels.get("heard"):
                mixed.add((node["attributes"]["agent_id"], node["key"]))
    return mixed


def without_sources(folder: Path, mixed: set[tuple[str, str]]) -> dict[str, Any]:
    """Return every file but the context without what says who said it.

    Without trust nobody's mentions are told apart, and a concept of the shared web
    weighs by all of them instead of by its agents' own. The weights of those that an
    agent contributed whose mentions are `mixed` are therefore left out too.
    """

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: strip(each)
                for key, each in value.items()
                if key not in WITHOUT_SOURCE
            }
        return [strip(each) for each in value] if isinstance(value, list) else value

    files = {name: text for name, text in contents(folder).items() if name != CONTEXT}
    stripped = {
        name: strip(json.loads(text))
        if name.endswith(".json")
        else [strip(json.loads(line)) for line in text.splitlines()]
        for name, text in files.items()
    }
    for node in stripped.get("shared-axon.json", {"nodes": []})["nodes"]:
        attributes = node["attributes"]
        if any(
            (contribution["agent_id"], node["key"]) in mixed
            for contribution in attributes["contributions"]
        ):
            attributes.pop("importance_weight", None)
            attributes.pop("relevance_tier", None)
    return stripped


def shared_weights(folder: Path) -> list[tuple[int, str]]:
    """Return how often each concept of the shared web was mentioned, and its tier."""
    nodes = json.loads((folder / "shared-axon.json").read_text())["nodes"]
    return [
        (node["attributes"]["frequency_count"], node["attributes"]["relevance_tier"])
        for node in nodes
    ]


def test_a_shared_concept_weighs_by_its_agents_own_mentions_only_with_trust(
    tmp_path: Path,
) -> None:
    mentions = [
        observation("the cache was stale", labels=["cache"], source=source, at=at)
        for source, at in (("agent", NOW - 20 * DAY), ("tool", NOW))
    ]
    with home(tmp_path / "home") as lab:
        lab.journal.append(mentions)
        lab.theorex.promote(agent="main")
        export(lab, tmp_path / "out")
    with home(tmp_path / "trusting") as lab:
        take(lab, tmp_path / "out", trusted=True)
        export(lab, tmp_path / "trusted")
    with home(tmp_path / "doubting") as lab:
        take(lab, tmp_path / "out")
        export(lab, tmp_path / "doubted")
    assert shared_weights(tmp_path / "out") == [(1, "MILD")]
    assert shared_weights(tmp_path / "trusted") == [(1, "MILD")]
    assert shared_weights(tmp_path / "doubted") == [(1, "ACTIVE")], (
        "whose mentions they were is not known, and the tool's was the last"
    )


@pytest.fixture
def team(tmp_path: Path) -> Path:
    """The exported memory of two agents, in the folder `out`."""
    with home(tmp_path / "home") as lab:
        lab.agent("main").write(
            "TTL invalidation prevents cache stampedes",
            observation_type="decision",
            tags=["x"],
        )
        lab.agent("main").write(
            "trace_fix: Postgres needs a longer lease", observation_type="trace_fix"
        )
        lab.agent("sage").write(
            "Postgres in Berlin crashed",
            source="user",
            at="2026-02-01T00:00:00Z",
            session="s 1"[:1],
        )
        lab.journal.append(
            [
                kept(["cache stampede", "lease"], "sage", day, 0.75, "tool")
                for day in (1, 1, 14, 15)
            ]
        )
        lab.theorex.promote(agent="main")
        export(lab, tmp_path / "out")
    return tmp_path / "out"


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_layout_and_the_fields(team: Path) -> None:
    assert sorted(contents(team)) == [
        CONTEXT,
        "agents/main/axon.json",
        "agents/sage/axon.json",
        "observations.jsonl",
        "shared-axon.json",
        "short-term/2026-02-14.jsonl",
        "short-term/2026-02-15.jsonl",
        "short-term/2026-02-28.jsonl",
        "stm.jsonl",
    ]
    axon = json.loads((team / "agents/main/axon.json").read_text())
    assert axon["options"] == {
        "type": "undirected",
        "multi": False,
        "allowSelfLoops": False,
    }
    node = next(
        node
        for node in axon["nodes"]
        if node["attributes"]["canonical_form"] == "ttl invalidation"
    )
    assert node["key"] == str(concept_id("ttl invalidation"))
    stated = {
        "surface_form": "TTL invalidation",
        "concept_id": concept_id("ttl invalidation"),
        "node_type": "concept",
        "observation_type": "decision",
        "importance_weight": 1.0,
        "relevance_tier": "ACTIVE",
        "frequency_count": 1,
        "last_seen": "2026-03-01T09:00:00.000000Z",
        "agent_id": "main",
        "source_weight": 0.7,
        "trust": "agent",
    }
    assert stated.items() <= node["attributes"].items()
    edge = axon["edges"][0]["attributes"]
    assert (edge["strength"], edge["co_occurrence_count"]) == (0.1, 1)
    assert len(records(team / "stm.jsonl")) == 6, (
        "exactly fourteen days stay, and nothing older"
    )
    assert set(records(team / "stm.jsonl")[0]) == {
        "id",
        "concept_id",
        "surface_form",
        "canonical_form",
        "composite_score",
        "source_weight",
        "timestamp",
        "date",
        "agent_id",
        "session_id",
        "frequency_count",
        "source",
    }
    assert [each["text"] for each in records(team / "observations.jsonl")][
        1
    ].startswith("trace_fix: ")


def test_one_agent_is_exported_without_the_others(team: Path, tmp_path: Path) -> None:
    with home(tmp_path / "home") as lab:
        done = export(lab, tmp_path / "one", agent="sage")
        with pytest.raises(InvalidInput, match="'../x'"):
            export(lab, tmp_path / "other", agent="../x")
    assert not (tmp_path / "other").exists()
    assert "agents/main/axon.json" not in done.files
    texts = "".join(contents(tmp_path / "one").values())
    assert "Berlin" in texts
    assert "invalidation" not in texts
    assert "main" not in texts


def test_sentences_alone_count_as_when_they_were_written(
    team: Path, tmp_path: Path
) -> None:
    with home(tmp_path / "home") as lab:
        expected = state(lab)["concepts"]
    with home(tmp_path / "other") as lab:
        take(lab, team / "observations.jsonl", trusted=True)
        assert state(lab)["concepts"] == expected
        take(lab, team, trusted=True)
        assert state(lab)["concepts"] == expected, (
            "the axon states numbers, it does not add"
        )


def test_a_file_never_lowers_what_is_known(team: Path, tmp_path: Path) -> None:
    with home(tmp_path / "home") as lab:
        for _ in range(3):
            lab.agent("main").write(
                "TTL invalidation prevents cache stampedes", source="user"
            )
        lab.theorex.promote(agent="main")
        before = state(lab)
        take(lab, team)
        assert state(lab) == before


def test_a_sleeping_concept_stays_asleep_and_wakes_when_it_was_seen_since(
    team: Path, tmp_path: Path
) -> None:
    path = team / "agents/main/axon.json"
    path.write_text(
        path.read_text().replace(
            '"scanned_tier":"NEUTRAL"', '"scanned_tier":"SLEEPING"'
        )
    )
    with home(tmp_path / "other") as lab:
        take(lab, team)
        assert {
            row[TIER] for row in state(lab)["concepts"].values() if row[2] == "decision"
        } == {Tier.SLEEPING}
        assert lab.search("stampedes", agents=["main"]).hits == ()
        path.write_text(
            path.read_text()
            .replace("SLEEPING", "MILD")
            .replace("2026-03-01", "2026-03-02")
        )
        take(lab, path)
        assert {
            row[TIER] for row in state(lab)["concepts"].values() if row[2] == "decision"
        } == {Tier.MILD}


def original(tmp_path: Path) -> Path:
    """Files as the original system writes them: no canonical form, ids of its own,
    words for sentiments.
    """

    def node(surface: str, **attributes: Any) -> dict[str, Any]:
        number = sum(map(ord, surface)) * 7_919
        fields = {
            "concept_id": number,
            "surface_form": surface,
            "importance_weight": 1,
            "relevance_tier": "ACTIVE",
            "sentiment_tier": "neutral",
            "last_seen": "2026-02-20T10:00:00.000Z",
            "frequency_count": 1,
            "source_weight": 0.8,
            "agent_id": "main",
            "node_type": "concept",
            "observation_type": "decision",
            "archive_id": None,
        }
        return {"key": str(number), "attributes": fields | attributes}

    nodes = [
        node("cache stampedes", frequency_count=7, sentiment_tier="negative"),
        node("Postgres", sentiment_tier="positive", relevance_tier="SLEEPING"),
        node("timeline", last_seen="yesterday, I think"),
        node("???", frequency_count="many"),
    ]
    edge = {
        "key": "e",
        "source": nodes[0]["key"],
        "target": nodes[1]["key"],
        "attributes": {
            "strength": 0.35,
            "last_co_occurrence": "2026-02-20T10:00:00.000Z",
        },
    }
    graph = {
        "options": {"type": "undirected"},
        "attributes": {},
        "nodes": nodes,
        "edges": [edge],
    }
    folder = tmp_path / "agents" / "sage" / "theorex"
    folder.mkdir(parents=True)
    (folder / "axon.json").write_text(json.dumps(graph, indent=2))
    stm = {
        "id": "d2c",
        "concept_id": 12,
        "surface_form": "cache stampedes",
        "composite_score": 0.9,
        "source_weight": 0.7,
        "timestamp": "2026-02-27T10:00:00.000Z",
        "date": "2026-02-27",
    }
    (tmp_path / "stm.jsonl").write_text(json.dumps(stm) + "\n")
    return tmp_path


def test_files_of_the_original_system(tmp_path: Path) -> None:
    folder = original(tmp_path / "theirs")
    with home(tmp_path / "home") as lab:
        axon, stm = take(lab, folder, agent="scout")
        concepts = state(lab)["concepts"]
        links = state(lab)["links"]
        short_term = state(lab)["short_term"]
    assert (axon.file, axon.imported, stm.imported) == (
        "agents/sage/theorex/axon.json",
        4,
        1,
    )
    stampede = ("sage", concept_id("cache stampede"))
    postgres = ("sage", concept_id("postgres"))
    assert concepts[stampede][:5] == [
        "cache stampede",
        "cache stampedes",
        "decision",
        7,
        0,
    ]
    assert (concepts[stampede][7], concepts[stampede][8]) == (0.8, -3.5)
    assert concepts[postgres][8:11] == [0.5, 0, Tier.SLEEPING]
    at = to_microseconds("2026-02-20T10:00:00Z")
    assert list(links.values()) == [(6, at)]
    assert len(axon.problems) == 2
    assert axon.problems[0].startswith(
        "agents/sage/theorex/axon.json: node 2: the time of 'timeline' cannot be read"
    )
    assert "node 3: frequency_count is 'many'" in axon.problems[1]
    assert short_term[0][2:5] == ("scout", "", "cache stampede")


def test_an_unreadable_time_scores_zero_until_the_concept_is_seen_again(
    tmp_path: Path,
) -> None:
    folder = original(tmp_path / "theirs")
    with home(tmp_path / "home") as lab:
        take(lab, folder)
        frame = lab.theorex.axon().frame().set_index("canonical_form")
        assert frame.loc["timeline", "importance_weight"] == 0
        lab.journal.append([observation("seen", labels=["timeline"], agent="sage")])
        assert (
            lab.theorex.axon()
            .frame()
            .set_index("canonical_form")
            .loc["timeline", "importance_weight"]
            == 1
        )


def test_a_shared_axon_of_the_original_system_can_be_asked(tmp_path: Path) -> None:
    source = original(tmp_path / "theirs") / "agents" / "sage" / "theorex" / "axon.json"
    file = tmp_path / "shared-axon.json"
    file.write_text(source.read_text())
    from theorex_lab.designs.theorex.stages import shared_concepts

    with home(tmp_path / "home") as lab:
        (report,) = take(lab, file)
        axon = lab.views.get(Axon)
        shared = lab.views.get(SharedWeb)
        found = {
            each.text: each for each in shared_concepts(axon, shared, NOW, lab.settings)
        }
        assert (found["cache stampedes"].count, found["cache stampedes"].agent) == (
            7,
            "main",
        )
        assert report.imported == 4
        assert take(lab, file)[0].imported == 0


def test_a_file_under_another_name_is_known_by_what_is_in_it(
    team: Path, tmp_path: Path
) -> None:
    for name, imported in (("observations", 3), ("stm", 6)):
        moved = (team / f"{name}.jsonl").rename(tmp_path / f"backup-{name}.jsonl")
        with home(tmp_path / f"home-{name}") as lab:
            assert take(lab, moved)[0].imported == imported


@pytest.mark.parametrize(
    ("step", "calls"), [("insert", 0), ("insert", 5), ("insert", 16), ("open_file", 2)]
)
def test_an_import_that_is_killed_is_completed_by_repeating_it(
    team: Path, tmp_path: Path, step: str, calls: int
) -> None:
    module = store if step == "insert" else flat_files
    genuine = getattr(module, step)
    numbers = itertools.count()

    def dying(*arguments: object, **options: object) -> object:
        if next(numbers) == calls:
            os.kill(os.getpid(), signal.SIGKILL)
        return genuine(*arguments, **options)

    def take_and_die() -> None:
        setattr(module, step, dying)
        with home(tmp_path / "other") as lab:
            take(lab, team, trusted=True)

    assert forked(take_and_die) == -signal.SIGKILL
    with home(tmp_path / "undisturbed") as lab:
        take(lab, team, trusted=True)
        expected = state(lab)
        whole = written(lab)
    with home(tmp_path / "other") as lab:
        parts = written(lab)
        take(lab, team, trusted=True)
        assert state(lab) == expected
        assert lab.verify().ok
        export(lab, tmp_path / "again")
    assert contents(tmp_path / "again") == contents(team)
    assert parts.items() <= whole.items(), "a file is there as a whole or not at all"
    assert (calls == 0) == (not parts)


def written(lab: Lab) -> Counter[tuple[str, str, int]]:
    """How many events came from each file: no two files have the same kind, agent and
    day.
    """
    return Counter(
        (event.kind, event.agent, event.at // DAY * (event.kind == "short_term"))
        for event in lab.journal.tail(0)
    )


def test_a_failing_import_leaves_nothing_of_its_file(
    team: Path, tmp_path: Path, monkeypatch
) -> None:
    genuine = store.insert
    monkeypatch.setattr(store, "insert", _failing(genuine, after=2))
    with home(tmp_path / "other") as lab:
        with pytest.raises(OSError, match="No space"):
            take(lab, team)
        assert lab.journal.last_seq() == 0


def _failing(genuine: Callable[..., Any], after: int) -> Callable[..., Any]:
    calls = iter(range(after))

    def fail(*args: Any, **kwargs: Any) -> Any:
        if next(calls, None) is None:
            raise OSError(28, "No space left on device")
        return genuine(*args, **kwargs)

    return fail


@pytest.mark.parametrize("after", [0, 1, 4])
def test_a_full_disk_leaves_the_old_files_whole(
    team: Path, tmp_path: Path, monkeypatch, after: int
) -> None:
    before = contents(team)
    with home(tmp_path / "home") as lab:
        lab.agent("main").write("one more decision about leases")
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", _failing(os.fsync, after))
            with pytest.raises(
                StorageError, match=r"cannot be written: No space.*make room"
            ):
                export(lab, team)
        disturbed = contents(team)
        assert not [
            name for name in disturbed if name.rpartition("/")[2].startswith(".")
        ], "no draft is left"
        changed = {name for name in before if disturbed[name] != before[name]}
        assert changed <= {"agents/main/axon.json", "shared-axon.json"}
        export(lab, team)
        assert "leases" in contents(team)["observations.jsonl"]


def run(tmp_path: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON of one command in a process of its own."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "theorex_lab",
            "--json",
            "--now",
            "2026-03-01T09:00:00Z",
            *arguments,
        ],
        env={**os.environ, "THEOREX_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, json.loads(done.stdout)


def test_the_commands(team: Path, tmp_path: Path) -> None:
    code, result = run(tmp_path, "export", str(tmp_path / "cli"), "--agent", "sage")
    assert (code, result["files"]["observations.jsonl"]) == (0, 1)
    code, result = run(tmp_path, "import", str(team))
    assert (code, result["files"][2]["file"], result["files"][2]["skipped"]) == (
        0,
        "observations.jsonl",
        3,
    )
    records_read = result["imported"] + result["skipped"]
    code, result = run(tmp_path, "import", str(team))
    assert (code, result["imported"], result["skipped"]) == (0, 0, records_read)
    (team / "stm.jsonl").write_text("{\n")
    code, result = run(tmp_path, "import", str(team), "--strict")
    assert code == 1
    assert result["error"].startswith("stm.jsonl:1: not JSON")
    problems = {
        each["file"]: each["problems"] for each in result["files"] if each["problems"]
    }
    assert problems["stm.jsonl"] == [result["error"].partition("; ")[0]]
    assert run(tmp_path, "archive", "--before", "2026-02-01") == (
        0,
        {"events": 0, "segments": []},
    )
    assert run(tmp_path, "archive", "--before", "soon")[0] == 1


def test_a_node_keeps_the_types_that_its_file_states(tmp_path: Path) -> None:
    folder = original(tmp_path / "theirs")
    file = folder / "agents" / "sage" / "theorex" / "axon.json"
    graph = json.loads(file.read_text())
    graph["nodes"][0]["attributes"] |= {
        "node_type": "code_function",
        "observation_type": "trace_fix",
    }
    file.write_text(json.dumps(graph))
    with home(tmp_path / "home") as lab:
        take(lab, folder)
        lab.agent("sage").write("cache stampedes were seen again")
        lab.theorex.promote(agent="sage", force=[concept_id("cache stampede")])
        export(lab, tmp_path / "out")
        frame = lab.theorex.axon().frame().set_index("canonical_form")
        assert frame["node_type"].to_dict() == {
            "cache stampede": "code_function",
            "postgres": "concept",
            "timeline": "concept",
        }
        assert lab.verify().ok
    with home(tmp_path / "second") as lab:
        take(lab, tmp_path / "out", trusted=True)
        export(lab, tmp_path / "again")
    assert contents(tmp_path / "again") == contents(tmp_path / "out")
    nodes = json.loads(
        (tmp_path / "out" / "agents" / "sage" / "axon.json").read_text()
    )["nodes"]
    stated = {
        node["attributes"]["canonical_form"]: node["attributes"]["node_type"]
        for node in nodes
    }
    assert stated["cache stampede"] == "code_function"
    shared = json.loads((tmp_path / "out" / "shared-axon.json").read_text())["nodes"]
    assert "code_function" in [node["attributes"]["node_type"] for node in shared]
