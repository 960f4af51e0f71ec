"""What designs know comes back from an export whole: facts, strategies, attempts, genes,
insights and the rest, with their times, agents, projects and sources.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, Meanings, Run

import theorex_lab
from theorex_lab import FixedClock, Lab
from theorex_lab.designs.causal.capture import document_form
from theorex_lab.designs.dreams.trajectories import Trajectory
from theorex_lab.designs.facts import notes
from theorex_lab.eval.datasets.sources import packaged
from theorex_lab.files.formats.reports import FileReport

Listings = dict[str, Any]
SIGNALS = ["log_error", "errsig:TypeError: undefined"]
DONE = [
    {"action": "make(target='all')", "ok": True},
    {"action": "upload(place='web')", "ok": True},
]


def opened(folder: Path, at: int = NOW, **options: Any) -> Lab:
    lab = Lab(folder, clock=FixedClock(at), **options)
    _ = lab.facts  # the designs' kinds become known
    return lab


def later(lab: Lab, *, hours: float) -> None:
    lab.clock.advance(seconds=3600 * hours)  # type: ignore[attr-defined]


def fill_facts(lab: Lab) -> None:
    for text in ("Lives in Bath", "Ann moved to York", "Prefers tea"):
        lab.facts.write("people/ann", text, source="user", tags=["home"])
        later(lab, hours=0.025)
    lab.facts.access("ann-002")
    lab.facts.access("ann-002")
    lab.facts.write("projects/shop", "Opens at nine", valid_from="2026-01-01T00:00:00Z")
    lab.facts.write("projects/old", "Was sold", project="shop-1", agent="sage")
    lab.facts.archive("projects/old")
    lab.facts.write("people/ann", "Prefers tea to coffee", supersedes=["ann-003"])
    lab.facts.undo_supersede("ann-003")
    lab.facts.add_channel("telegram", "77", group=True)
    lab.facts.observe("The till is slow", agent="sage")
    lab.facts.observe("Reviews were quick", "quality")
    lab.facts.observe("Orders wait in the morning", "surprise")
    lab.facts.review("obs-0002", "archive")
    lab.facts.review("obs-0003", "promote", entity="projects/shop")
    lab.facts.note_tension("ann-002", "ann-003")
    lab.facts.review("tension-0001", "accept")
    lab.facts.add_line("MEMORY", "Ann owns the shop", source="user")
    lab.facts.add_line("SOUL", "Be brief")
    lab.facts.add_line("SOUL", "Be loud")
    lab.facts.add_line("SOUL", "Be loud", undo=True)


def facts_listings(lab: Lab) -> Listings:
    return {
        "facts": lab.facts.list(active=None),
        "before": lab.facts.list(active=None, as_of=NOW + 100_000_000),
        "chain": lab.facts.chain("ann-002"),
        "notes": lab.facts.notes(),
        "lines": {file: lab.facts.lines(file) for file in notes.FILES},
        "channels": [
            (event.at, event.body)
            for event in lab.journal.tail(0, kinds=["channel_added"])
        ],
        "alerts": lab.facts.alerts(),
        "summary": lab.facts.summary("people/ann"),
    }


def fill_dreams(lab: Lab) -> None:
    lab.dreams.capture("deploy the site", DONE, tags=["web"], source="user")
    lab.dreams.dream()
    later(lab, hours=1)
    lab.dreams.capture("deploy the site", DONE, agent="sage")
    lab.in_project("shop", new=True).dreams.capture(
        "mend the till", DONE, domain="shop"
    )
    lab.dreams.capture(
        "paint the fence",
        [{"action": "brush(colour='red')", "ok": False, "result": "it rained"}],
        outcome="failure",
        fault="timeout",
    )
    lab.dreams.dream()
    later(lab, hours=1)
    (strategy, *_) = lab.dreams.strategies()
    recalled = {"how": "search", "items": [strategy.id, "other"], "tokens": 3}
    lab.dreams.append("recalled", {**recalled, "query": "deploy"}, session="s1")
    with lab.dreams.session("build the shop") as log, log.trace(3, "lay bricks") as at:
        at.action("a wall", "lay(brick=1)", "laid", ok=True)


def dreams_listings(lab: Lab) -> Listings:
    strategies = lab.dreams.strategies(active=None)
    edges = {strategy.id: lab.dreams.edges(strategy.id) for strategy in strategies}
    trajectories = [
        (trajectory_members(each), each.actions) for each in lab.dreams.trajectories()
    ]
    return {
        "strategies": strategies,
        "edges": edges,
        "trajectories": trajectories,
        "stats": lab.dreams.stats(),
        "domains": lab.dreams.domains(),
    }


def trajectory_members(trajectory: Trajectory) -> Listings:
    """Its members but for the number of its last entry in the journal."""
    members = dict(vars(trajectory))
    del members["upto"]
    return members


def fill_causal(lab: Lab) -> None:
    gene = {
        "id": "gene_repair",
        "category": "repair",
        "signals_match": ["log_error"],
        "strategy": ["look at the log"],
    }
    lab.causal.record_gene(gene)
    lab.in_project("shop", new=True).causal.record_gene({**gene, "id": "gene_shop"})
    lab.causal.record_capsule({"id": "capsule_1", "summary": "It helped"})
    lab.causal.record_signal_snapshot(SIGNALS, {"recent_error_count": 2})
    lab.causal.record_hypothesis(SIGNALS, gene)
    for success in (True, False, True):
        action = lab.causal.record_attempt(SIGNALS, gene, agent="sage").id
        later(lab, hours=0.1)
        outcome = "success" if success else "failed"
        lab.causal.close(action, outcome, latency_ms=4.0, agent="sage")
    lab.causal.record_attempt(SIGNALS, gene)
    lab.causal.mark_genes()
    state = {"rigor": 0.7, "risk_tolerance": 0.3}
    lab.causal.append("personality", {"state": state, "source": "agent"})
    lab.causal.append("external_candidate", {"asset": gene, "source": "import"})


def causal_listings(lab: Lab) -> Listings:
    kinds = ["signal_snapshot", "hypothesis", "attempt", "attempt_closed"]
    return {
        "genes": lab.causal.genes(),
        "capsules": lab.causal.capsules(),
        "graph": [document_form(event) for event in lab.journal.tail(0, kinds=kinds)],
        "open": [attempt.action_id for attempt in lab.causal.open_attempts()],
        "advice": lab.causal.get_advice(SIGNALS, lab.causal.genes()),
        "others": [
            (event.id, event.body)
            for event in lab.journal.tail(
                0, kinds=["personality", "external_candidate"]
            )
        ],
    }


def fill_research(lab: Lab) -> None:
    research = lab.research
    research.begin_session("s1", "concentration")
    research.log_event("theory", "tried Hoeffding", {"tool": "search"}, session="s1")
    research.remember("failed.bounds", ["Hoeffding"], tags=["bounds"])
    research.remember("failed.bounds", ["Hoeffding", "Markov"], tags=["bounds"])
    research.remember("gone", 1)
    research.delete("gone")
    later(lab, hours=24)
    lab.in_project("shop", new=True).research.remember("failed.bounds", {"a": 1})
    research.add_theorem("A", "a", "tails", tags=["one"], session_id="s1")
    research.add_theorem("B", "b", "tails", agent="sage", source="user")
    research.link_theorems("A", "B", "uses")
    first = research.add_insight(
        "pitfalls", "Union bound", "It costs a logarithm.", source="user"
    )
    assert first is not None
    research.add_insight(
        "pitfalls",
        "Union bound",
        "It costs a logarithm of the number of events.",
        replaces=[first.insight_id],
        session_id="s1",
    )
    research.add_insight("open_problems", "", "Is it tight?", domain="tails")
    shop = lab.in_project("shop")
    shop.research.add_insight("domain_knowledge", "Till", "It rounds half up.")
    shop.research.record_skill("nets", "How a net is built", "Take a maximal set.")
    research.record_skill("plots", "How to plot", "Draw it.", tags=["figures"])
    for number, success in enumerate((True, False, True)):
        research.update_stats("plots", success, session_id=f"s{number}")
    state = {"domain": "tails", "status": "failed", "failed_attempts": []}
    research.post_run("s9", state)


def research_listings(lab: Lab) -> Listings:
    research = lab.research
    graph = research.to_networkx()
    shop = lab.in_project("shop", new=True).research
    return {
        "insights": research.insights(),
        "records": research.all_records(),
        "shop": (shop.recall("failed.bounds"), shop.skills(), shop.insights()),
        "skills": research.skills(),
        "theorems": (list(graph.nodes(data=True)), list(graph.edges(data=True))),
        "episodes": [
            entry
            for entry in research.search_events()
            if entry.metadata == {"tool": "search"}
        ],
        "domain": research.domain_of("s1"),
        "runs": [event.body for event in lab.journal.tail(0, kinds=["post_run"])],
    }


def fill_theorex(lab: Lab) -> None:
    agent = lab.agent("main")
    agent.write("The cache stampede froze the checkout page", source="user")
    agent.write("We decided to lock the cache", observation_type="decision")
    later(lab, hours=2)
    fix = agent.write(
        "Rounding belongs into the till",
        observation_type="trace_fix",
        source="import",
    )
    lab.trust(fix.event_id)
    agent.write("A till drawer opened by itself", observation_type="moment")
    shop = lab.in_project("shop", new=True)
    shop.agent("sage").write("The checkout page reads the cache")
    lab.end_session()


def theorex_listings(lab: Lab) -> Listings:
    observations = lab.journal.tail(0, kinds=["observation"])
    return {
        "observations": [
            (event.id, event.at, event.agent, event.body["text"], event.body["source"])
            for event in observations
        ],
        "concepts": lab.design("theorex").axon().frame().to_dict("records"),
        "trusted": [event.id for event in lab.journal.tail(0, kinds=["confirmed"])],
    }


Fill = Callable[[Lab], None]
Listing = Callable[[Lab], Listings]
DESIGNS: dict[str, tuple[Fill, Listing]] = {
    "facts": (fill_facts, facts_listings),
    "dreams": (fill_dreams, dreams_listings),
    "causal": (fill_causal, causal_listings),
    "research": (fill_research, research_listings),
    "theorex": (fill_theorex, theorex_listings),
}


@pytest.fixture(params=sorted(DESIGNS))
def design(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def exported_files(folder: Path) -> dict[str, Any]:
    """The files of an export but for those of captures, which an export does not hold,
    and of vectors, which each home makes; of records all but the lineage.
    """
    files: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        is_index = name.endswith("_index.json")
        is_day = name.startswith("memory/") and name.endswith(".md")
        if not path.is_file() or is_index or is_day or name == "SHARED_CONTEXT.md":
            continue
        text = path.read_text(encoding="utf-8")
        files[name] = text
        if name.removesuffix(".jsonl") in (*DESIGNS, "sessions"):
            records = [json.loads(line) for line in text.splitlines()]
            for record in records:
                del record["lineage"]
            files[name] = records
    return files


def by_file(reports: list[FileReport]) -> dict[str, FileReport]:
    return {report.file: report for report in reports}


def problems_of(reports: list[FileReport]) -> list[str]:
    return [problem for report in reports for problem in report.problems]


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def write_records(file: Path, *records: Any) -> Path:
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file


def test_what_a_design_knows_comes_back_field_by_field(
    design: str, tmp_path: Path
) -> None:
    fill, listings = DESIGNS[design]
    with opened(tmp_path / "one") as lab:
        fill(lab)
        now = lab.clock.now()
        before = listings(lab)
        lab.export_files(tmp_path / "a")
    with opened(tmp_path / "two", now) as lab:
        reports = lab.import_files(tmp_path / "a", trusted=True)
        assert problems_of(reports) == []
        assert listings(lab) == before
        again = lab.import_files(tmp_path / "a", trusted=True)
        assert sum(report.imported for report in again) == 0
        lab.export_files(tmp_path / "b")
    with opened(tmp_path / "two", now) as lab:
        assert listings(lab) == before
    first = exported_files(tmp_path / "a")
    assert exported_files(tmp_path / "b") == first
    assert f"{design}.jsonl" in first


def test_without_trust_all_of_it_is_untrusted_and_the_rest_is_the_same(
    design: str, tmp_path: Path
) -> None:
    fill, _ = DESIGNS[design]
    with opened(tmp_path / "one") as lab:
        fill(lab)
        now = lab.clock.now()
        lab.export_files(tmp_path / "a")
    with opened(tmp_path / "two", now) as lab:
        reports = lab.import_files(tmp_path / "a")
        lab.export_files(tmp_path / "b")
        again = lab.import_files(tmp_path / "a")
    first = lines_of(tmp_path / "a" / f"{design}.jsonl")
    name = f"{design}.jsonl"
    refused = problems_of([by_file(reports)[name]])
    assert sum(report.imported for report in again) == 0
    second = {
        record["id"]: record
        for record in (lines_of(tmp_path / "b" / name) if design != "theorex" else [])
    }
    left_out = [record for record in first if record["id"] not in second]
    assert {record["kind"] for record in left_out} == NEEDS_TRUST[design]
    assert all("come in with --trusted alone" in problem for problem in refused)
    assert len(refused) == len(NEEDS_TRUST[design])
    for record in first:
        if record["id"] in second:
            assert untrusted(record) == without_numbers(second[record["id"]])


NEEDS_TRUST = {
    "facts": {"entity_archived", "channel_added", "self_added"},
    "dreams": set(),
    "causal": {"personality"},
    "research": {"skill_outcome"},
    "theorex": {"confirmed"},
}


def without_numbers(record: dict[str, Any]) -> dict[str, Any]:
    """A record but for its lineage, and the numbers of entries."""
    body = {**record["body"]}
    body.pop("upto", None)
    return {**record, "body": body, "lineage": []}


def untrusted(record: dict[str, Any]) -> dict[str, Any]:
    """A record as it is after an import without trust."""
    record = without_numbers(record)
    body = record["body"]
    if "source" in body or record["kind"] in ("acted", "trajectory_ended"):
        body["source"] = "import"
    if body.get("state", {}).get("source"):
        body["state"] = {**body["state"], "source": "import"}
    return record


def some_sessions(file: Path) -> Path:
    """The first of the simulated sessions that come with the package."""
    with gzip.open(packaged("simulated_sessions.jsonl.gz"), "rt") as lines:
        file.write_text("".join(islice(lines, 450)))
    return file


@pytest.mark.usefixtures("every_design_active")
def test_maintenance_after_an_import_makes_nothing_of_it_twice(tmp_path: Path) -> None:
    end = FixedClock.at("2026-04-01T00:00:00Z").now()
    log = some_sessions(tmp_path / "sessions.jsonl")
    with opened(tmp_path / "one", end, embedder=Meanings(16)) as lab:
        lab.import_transcripts(log, project="sim", trusted=True)
        lab.maintain()
        before = all_listings(lab)
        lab.export_files(tmp_path / "a")
    assert before["facts"]
    assert before["genes"]
    assert before["strategies"]
    assert before["insights"]
    with opened(tmp_path / "two", end, embedder=Meanings(16)) as lab:
        reports = lab.import_files(tmp_path / "a", trusted=True)
        assert problems_of(reports) == []
        unlinked = by_file(reports)["facts.jsonl"].unlinked
        assert unlinked >= len(before["facts"])  # the prompts that they were read from
        assert all_listings(lab) == before
        lab.export_files(tmp_path / "b")
        lab.maintain()
        assert all_listings(lab) == before
    assert exported_files(tmp_path / "b") == exported_files(tmp_path / "a")


def all_listings(lab: Lab) -> Listings:
    """What the designs list that they read from captures."""
    digests = lab.journal.tail(0, kinds=["digest", "fixed"])
    return {
        "facts": lab.facts.list(active=None),
        "notes": lab.facts.notes(),
        "strategies": lab.dreams.strategies(active=None),
        "genes": lab.causal.genes(),
        "graph": causal_listings(lab)["graph"],
        "insights": lab.research.insights(),
        "skills": lab.research.skills(),
        "sessions": [(event.id, event.at, event.body["text"]) for event in digests],
    }


def test_a_home_that_has_what_records_rest_on_keeps_the_references(
    tmp_path: Path,
) -> None:
    with opened(tmp_path / "one") as lab:
        lab.agent("main").write("We decided to use uv", observation_type="decision")
        lab.facts.extract()
        (fact,) = lab.facts.list()
        (lineage,) = [event.lineage for event in lab.journal.read(ids=[fact.event_id])]
        lab.export_files(tmp_path / "a")
    with opened(tmp_path / "two") as lab:
        reports = lab.import_files(tmp_path / "a", trusted=True)
        (event,) = lab.journal.read(ids=[fact.event_id])
        assert event.lineage == lineage
        assert sum(report.unlinked for report in reports) == 0
    with opened(tmp_path / "three") as lab:
        (report,) = lab.import_files(tmp_path / "a" / "facts.jsonl", trusted=True)
        (event,) = lab.journal.read(ids=[fact.event_id])
        assert (event.lineage, report.unlinked) == ((), 1)
        assert lab.facts.list() == [fact]


def test_what_rests_on_something_erased_here_does_not_come_back(tmp_path: Path) -> None:
    with opened(tmp_path / "one") as lab:
        written = lab.agent("main").write(
            "We decided to use uv", observation_type="decision"
        )
        lab.export_files(tmp_path / "before")
        lab.facts.extract()
        lab.export_files(tmp_path / "a")
        lab.facts.write("people/ann", "Lives in Bath")
    with opened(tmp_path / "two") as lab:
        lab.import_files(tmp_path / "before", trusted=True)
        lab.erase(ids=[written.event_id])
        reports = lab.import_files(tmp_path / "a", trusted=True)
        assert "it rests on what was erased here" in problems_of(reports)[0]
        assert lab.facts.list() == []


def test_a_fact_whose_id_is_taken_gets_the_next_and_what_speaks_of_it_follows(
    tmp_path: Path,
) -> None:
    with opened(tmp_path / "one") as lab:
        lab.facts.write("people/ann", "Lives in Bath")
        lab.facts.write("people/ann", "Ann moved to York")
        lab.facts.note_tension("ann-001", "ann-002", "which town?")
        lab.export_files(tmp_path / "a")
        lab.facts.access("ann-002")
        lab.export_files(tmp_path / "later")
    with opened(tmp_path / "two") as lab:
        lab.facts.write("people/ann", "Ann sings")
        lab.facts.observe("The till is slow")
        lab.import_files(tmp_path / "a")
        lab.import_files(tmp_path / "later")
        facts = {fact.id: fact for fact in lab.facts.list(active=None)}
        (tension,) = [note for note in lab.facts.notes() if note.facts]
    assert {name: fact.text for name, fact in facts.items()} == {
        "ann-001": "Ann sings",
        "ann-002": "Lives in Bath",
        "ann-003": "Ann moved to York",
    }
    assert facts["ann-002"].superseded_by == "ann-003"
    assert facts["ann-003"].supersedes == ("ann-002",)
    assert facts["ann-003"].access_count == 1
    assert facts["ann-001"].active
    assert (tension.id, tension.facts) == ("tension-0001", ("ann-002", "ann-003"))


def stranger_edits(folder: Path, *records: dict[str, Any]) -> Path:
    """Records that a stranger adds to an export."""
    for number, record in enumerate(records):
        made = {
            "id": f"00000000-0000-7000-8000-{number:012d}",
            "timestamp": "2026-02-01T00:00:00Z",
            "agent_id": "main",
            **record,
        }
        (design,) = [
            name for name, kinds in KINDS_OF.items() if record["kind"] in kinds
        ]
        file = folder / f"{design}.jsonl"
        old = file.read_text() if file.exists() else ""
        file.write_text(old + json.dumps(made) + "\n")
    return folder


KINDS_OF = {
    "facts": {"fact", "fact_superseded", "note_reviewed", "friction_noted"},
    "causal": {"asset", "attempt_closed"},
    "research": {"skill", "record", "record_deleted", "insight"},
    "dreams": {"strategy_compacted", "constraint"},
}


def test_a_strangers_file_changes_nothing_that_is_ones_own(tmp_path: Path) -> None:
    with opened(tmp_path / "one") as lab:
        fill_facts(lab)
        fill_causal(lab)
        fill_research(lab)
        fill_dreams(lab)
        now = lab.clock.now()
        before = own_listings(lab)
        lab.export_files(tmp_path / "a")
        (strategy, *_) = lab.dreams.strategies()
        insight = lab.research.insights()[-1]
        record = lab.research.record_of("failed.bounds")
        (waiting,) = lab.causal.open_attempts()
        assert record is not None
        gene = {"type": "Gene", "id": "gene_repair", "strategy": ["rm -rf /"]}
        closed = {
            "signal": {"key": "k", "signals": ["k"]},
            "action": {"id": waiting.action_id},
            "outcome": {"status": "failed", "score": 0.0},
            "source": "user",
        }
        skill = {
            "name": "plots",
            "version": "2",
            "description": "How to plot",
            "body": "rm -rf /",
            "tags": [],
            "agent_roles": [],
            "pipeline_stages": [],
            "origin": "manual",
            "source": "user",
        }
        kept = {
            "record_id": record.record_id,
            "key": "failed.bounds",
            "value": "mine",
            "tags": [],
            "source_session": "",
            "source": "user",
        }
        told = {
            "category": "pitfalls",
            "title": "",
            "content": "There are no bounds.",
            "confidence": 0.9,
            "domain": "general",
            "session_id": "",
            "fingerprint": "0",
            "replaces": [insight.insight_id],
            "source": "user",
        }
        ended = {"facts": ["ann-002"], "by": "", "why": "so", "undo": False}
        review = {
            "note_id": "obs-0001",
            "status": "archived",
            "fact": "",
            "undo": False,
        }
        pruned = {
            "strategy_id": strategy.id,
            "project": "",
            "state": strategy.state(),
            "source": "user",
            "pruned": True,
            "undo": False,
        }
        folder = stranger_edits(
            tmp_path / "a",
            {"kind": "fact_superseded", "body": ended},
            {"kind": "note_reviewed", "body": review},
            {"kind": "asset", "body": {"asset": gene, "source": "user"}},
            {"kind": "attempt_closed", "body": closed},
            {"kind": "skill", "body": skill},
            {"kind": "record", "body": kept},
            {
                "kind": "record_deleted",
                "body": {"record_id": record.record_id, "key": "failed.bounds"},
            },
            {"kind": "insight", "body": told},
            {"kind": "strategy_compacted", "body": pruned},
        )
    with opened(tmp_path / "one", now) as lab:
        reports = lab.import_files(folder)
        after = own_listings(lab)
        assert before.pop("insights") == [
            each for each in after.pop("insights") if each.source != "import"
        ]
        assert after == before
        assert sum(report.imported for report in reports) == 1  # the insight
        problems = "\n".join(problems_of(reports))
        assert "is here already, and not from a file" in problems
        assert "did not come in with this file" in problems


def own_listings(lab: Lab) -> Listings:
    return {
        "facts": lab.facts.list(active=None),
        "notes": lab.facts.notes(),
        "genes": lab.causal.genes(),
        "open": lab.causal.open_attempts(),
        "skills": lab.research.skills(),
        "records": lab.research.all_records(),
        "insights": lab.research.insights(),
        "strategies": lab.dreams.strategies(active=None),
    }


def test_with_trust_what_is_here_under_the_same_id_stays_as_it_is(
    tmp_path: Path,
) -> None:
    gene = {"id": "gene_repair", "category": "repair", "strategy": ["look"]}
    with opened(tmp_path / "one") as lab:
        lab.causal.record_gene(gene)
        lab.causal.record_gene({**gene, "id": "gene_other"})
        lab.export_files(tmp_path / "a")
    with opened(tmp_path / "two") as lab:
        lab.causal.record_gene({**gene, "strategy": ["look twice"]})
        (report,) = lab.import_files(tmp_path / "a" / "causal.jsonl", trusted=True)
        steps = {each["id"]: each["strategy"] for each in lab.causal.genes()}
    assert steps == {"gene_repair": ["look twice"], "gene_other": ["look"]}
    assert report.problems == [
        "causal.jsonl:1: a gene or capsule of its id is here already, and stays as it is"
    ]


def fact_record(**changes: Any) -> dict[str, Any]:
    body = {
        "fact_id": "ann-001",
        "entity": "people/ann",
        "text": "Lives in Bath",
        "category": "context",
        "confidence": 0.8,
        "abstraction": "episode",
        "tags": [],
        "source": "user",
        "origin": "",
        "supersedes": [],
        "valid_from": None,
        "valid_to": None,
    }
    record = {
        "kind": "fact",
        "id": "00000000-0000-7000-8000-000000000001",
        "timestamp": "2026-02-01T00:00:00Z",
        "agent_id": "main",
        "session_id": "",
        "lineage": [],
        "body": body,
    }
    for name, value in changes.items():
        part = body if name in body else record
        part[name] = value
    return record


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"kind": "asset"}, "kind is 'asset'; allowed are fact, fact_superseded"),
        ({"kind": 3}, "kind is 3; allowed is text"),
        ({"id": "ann-001"}, "id is 'ann-001'; allowed is the id of an event"),
        ({"timestamp": "yesterday"}, "allowed is ISO 8601 with an offset"),
        ({"agent_id": "A B"}, "got the agent id 'A B'"),
        ({"session_id": "a\nb"}, "got the session id 'a\\nb'"),
        ({"lineage": ["x"]}, "lineage is ['x']; allowed is a list of event ids"),
        ({"body": []}, "body is []; allowed is an object"),
        ({"body": {"erased": 1}}, "body has the member erased"),
        ({"body": {"v": 99}}, "install the release that wrote it"),
        ({"body": {"v": 1}}, "the field 'fact_id' is missing"),
        ({"category": "gossip"}, "the field 'category' is 'gossip'; allowed is"),
        ({"source": "god"}, "the field 'source' is 'god'; allowed is 'import' or"),
        ({"fact_id": "../x-1"}, "fact_id is '../x-1'; allowed are a-z 0-9 -"),
        ({"entity": "../etc"}, "got the entity '../etc'; allowed are people/NAME"),
        ({"text": "x" * 501}, "got a text of 501 characters; allowed are up to 500"),
        ({"text": ""}, "got"),
        ({"confidence": 1e999}, "not JSON"),
    ],
)
def test_a_damaged_record_is_named_and_the_good_ones_come_in(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    good = fact_record(id="00000000-0000-7000-8000-000000000002", fact_id="ann-002")
    file = write_records(tmp_path / "facts.jsonl", fact_record(**changes), good)
    file.write_text("{torn\n" + file.read_text())
    with opened(tmp_path / "home") as lab:
        (report,) = lab.import_files(file, trusted=True)
        assert [fact.id for fact in lab.facts.list()] == ["ann-002"]
    assert report.imported == 1
    assert "facts.jsonl:1: not JSON" in report.problems[0]
    if reason != "not JSON":
        assert "facts.jsonl:2:" in report.problems[1]
        assert reason in report.problems[1]


@pytest.mark.parametrize(
    ("design", "kind", "body", "reason"),
    [
        (
            "facts",
            "friction_noted",
            {
                "note_id": "../n-1",
                "category": "friction",
                "text": "x",
                "source": "user",
            },
            "note_id is '../n-1'",
        ),
        (
            "causal",
            "asset",
            {"asset": {"type": "Gene", "id": "g\u0007"}, "source": "user"},
            "the id of the gene or capsule is",
        ),
        (
            "causal",
            "asset",
            {"asset": {"type": "Spell", "id": "g"}, "source": "user"},
            "got the type 'Spell'",
        ),
        (
            "research",
            "theorem",
            {
                "node_id": "n",
                "theorem_name": "A",
                "formal_statement": "a",
                "domain": "",
                "session_id": "",
                "tags": [],
                "source": "user",
            },
            "node_id is 'n'; allowed is the id of the record",
        ),
        (
            "research",
            "skill",
            {
                "name": "../nets",
                "version": "1",
                "description": "d",
                "body": "b",
                "tags": [],
                "agent_roles": [],
                "pipeline_stages": [],
                "origin": "manual",
                "source": "user",
            },
            "name is '../nets'; allowed are 1 to 64 of a-z 0-9 - _",
        ),
        (
            "research",
            "record",
            {
                "record_id": "r",
                "key": "k",
                "value": 1,
                "tags": [],
                "source_session": "",
                "source": "user",
            },
            "record_id is 'r'; allowed is that of its key and project",
        ),
    ],
)
def test_ids_by_which_files_are_named_are_checked(
    tmp_path: Path, design: str, kind: str, body: dict[str, Any], reason: str
) -> None:
    record = {**fact_record(), "kind": kind, "body": body}
    file = write_records(tmp_path / f"{design}.jsonl", record)
    with opened(tmp_path / "home") as lab:
        (report,) = lab.import_files(file, trusted=True)
        assert list(lab.journal.tail(0)) == []
    (problem,) = report.problems
    assert reason in problem


def test_secrets_in_records_are_masked_unless_they_are_kept(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    record = fact_record(text=f"The token is {secret}")
    file = write_records(tmp_path / "facts.jsonl", record)
    with opened(tmp_path / "one") as lab:
        lab.import_files(file)
        (masked,) = lab.facts.list()
    with opened(tmp_path / "two") as lab:
        lab.import_files(file, keep_secrets=True)
        (fact,) = lab.facts.list()
    assert secret not in masked.text
    assert secret in fact.text


def test_a_time_ahead_of_the_clock_is_not_believed(tmp_path: Path) -> None:
    file = write_records(
        tmp_path / "facts.jsonl", fact_record(timestamp="2030-01-01T00:00:00Z")
    )
    with opened(tmp_path / "home") as lab:
        (report,) = lab.import_files(file)
        (fact,) = lab.facts.list()
        assert fact.at < NOW + 3_600_000_000
    assert "ahead of the clock" in report.problems[0]


def test_numbers_of_entries_follow_the_lines_of_the_file(tmp_path: Path) -> None:
    """What came late is waiting in the second home as in the first."""
    with opened(tmp_path / "one") as lab:
        lab.dreams.capture("deploy the site", DONE)
        lab.dreams.dream()
        lab.dreams.capture("mend the till", DONE)
        waiting = [each.goal for each in lab.dreams.trajectories(waiting=True)]
        lab.export_files(tmp_path / "a")
        (strategy,) = lab.journal.tail(0, kinds=["strategy"])
    assert waiting == ["mend the till"]
    records = lines_of(tmp_path / "a" / "dreams.jsonl")
    (number,) = [
        record["body"]["upto"] for record in records if record["kind"] == "strategy"
    ]
    kinds = [record["kind"] for record in records]
    assert number == kinds.index("strategy")
    assert strategy.body["upto"] == number
    with opened(tmp_path / "two") as lab:
        for count in range(20):
            lab.agent("main").write(f"Note {count}")
        lab.import_files(tmp_path / "a", trusted=True)
        assert [each.goal for each in lab.dreams.trajectories(waiting=True)] == waiting
        (strategy,) = lab.journal.tail(0, kinds=["strategy"])
        assert strategy.body["upto"] == strategy.seq - 1
        assert lab.dreams.dream().traces_processed == 1


def test_one_agents_records_are_exported_alone(tmp_path: Path) -> None:
    with opened(tmp_path / "one") as lab:
        lab.facts.write("people/ann", "Lives in Bath", agent="sage")
        lab.facts.write("people/bob", "Lives in York")
        lab.export_files(tmp_path / "a", agent="sage")
    (record,) = lines_of(tmp_path / "a" / "facts.jsonl")
    assert record["agent_id"] == "sage"


def test_erased_records_are_not_exported(tmp_path: Path) -> None:
    with opened(tmp_path / "one") as lab:
        lab.facts.write("people/ann", "Lives in Bath")
        lab.facts.write("people/bob", "Lives in York")
        (ann, _) = lab.facts.list()
        lab.erase(ids=[ann.event_id])
        lab.export_files(tmp_path / "a")
    assert "Bath" not in (tmp_path / "a" / "facts.jsonl").read_text()
    assert len(lines_of(tmp_path / "a" / "facts.jsonl")) == 1


def test_a_crash_leaves_nothing_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from theorex_lab.files.formats.design_records import RecordReading

    records = [
        fact_record(
            id=f"00000000-0000-7000-8000-{number:012d}", fact_id=f"ann-{number}"
        )
        for number in range(1, 4)
    ]
    file = write_records(tmp_path / "facts.jsonl", *records)
    note_seq = RecordReading._note_seq

    def fail(self: RecordReading, where: int | str, seq: int) -> None:
        if where == 3:
            raise OSError("no space left")
        note_seq(self, where, seq)

    with opened(tmp_path / "home") as lab:
        monkeypatch.setattr(RecordReading, "_note_seq", fail)
        with pytest.raises(OSError, match="no space left"):
            lab.import_files(file)
        assert lab.journal.last_seq() == 0
        monkeypatch.undo()
        (report,) = lab.import_files(file)
    assert report.imported == 3


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    outside = write_records(tmp_path / "outside.jsonl", fact_record())
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "facts.jsonl").symlink_to(outside)
    with opened(tmp_path / "home") as lab:
        (report,) = lab.import_files(folder)
        assert lab.facts.list() == []
    assert len(report.problems) == 1


def test_the_commands(tmp_path: Path, run: Run) -> None:
    with opened(tmp_path / "one") as lab:
        lab.agent("main").write("We decided to use uv", observation_type="decision")
        lab.facts.extract()
    folder = str(tmp_path / "a")
    home = ["--home", str(tmp_path / "one")]
    exported = run(*home, "export", folder)
    assert "1  facts.jsonl" in exported.out
    other = ["--home", str(tmp_path / "two")]
    imported = run(*other, "import", f"{folder}/facts.jsonl", "--trusted")
    assert (
        "1 new, 0 there already  facts.jsonl (1 references to what is not here were"
        " left out)" in imported.out
    )
    listed = run(*other, "--json", "facts", "list")
    assert "We decided to use uv" in listed.out


# What may stand in a file of records, with the number of records that it counts for.
DAMAGE = [
    (b"{broken", 1),
    (b"[1, 2]", 1),
    (b"\0\0\0\0", 1),
    (b'{"type": "hologram"}', 1),
    (b'{"a": 1} {"b": 2}', 2),
    (b"\xff\xfe", 1),
    (b"  ", 0),
]


def test_each_record_of_a_file_is_imported_skipped_or_left_out(
    design: str, tmp_path: Path
) -> None:
    with opened(tmp_path / "a") as lab:
        DESIGNS[design][0](lab)
        lab.export_files(tmp_path / "files")
    file = tmp_path / "files" / f"{design}.jsonl"
    lines = file.read_bytes().splitlines()
    damaged = [line for line, _ in DAMAGE]
    n_damaged = sum(count for _, count in DAMAGE)
    file.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join([*damaged, *lines, *damaged]))
    with opened(tmp_path / "b") as lab:
        first = by_file(lab.import_files(tmp_path / "files", trusted=True))
        again = by_file(lab.import_files(tmp_path / "files", trusted=True))
    report = first[file.name]
    assert report.imported + report.skipped == len(lines)
    assert report.left_out == 2 * n_damaged
    assert again[file.name].skipped == len(lines)
    for each in (*first.values(), *again.values()):
        assert bool(each.problems) == bool(each.left_out + each.changed)


def test_every_importer_counts_what_it_leaves_out() -> None:
    importers = set()
    package = Path(theorex_lab.__file__).parent
    for path in package.rglob("*.py"):
        code = path.read_text(encoding="utf-8")
        if " FileReport(" in code and path.name != "reports.py":
            importers.add(path.name)
            assert code.count(" FileReport(") == code.count(".keep_problems(")
        assert "problems = merged(" not in code or path.name in MERGED_ELSEWHERE
    assert importers == {"bus_events.py", "sqlite_import.py"}, (
        "an importer of its own ends with FileReport.keep_problems, and is named here"
    )


MERGED_ELSEWHERE = {"reports.py", "importing.py"}  # the second counts by itself
