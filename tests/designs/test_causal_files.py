"""The files of a memory graph: what goes in comes out equal, and the other way."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from faults import together

from tests.conftest import Run
from theorex_lab import FixedClock, InvalidInput, Lab
from theorex_lab.designs.causal.capture import asset_id
from theorex_lab.designs.causal.graph_files import (
    ASSET_FILES,
    GRAPH_FILE,
    NARRATIVE_FILE,
    STATE_FILE,
    export_graph,
    scope_folder,
)
from theorex_lab.designs.causal.graph_reading import import_graph
from theorex_lab.designs.causal.keys import compute_signal_key, stable_hash
from theorex_lab.files.formats.reports import FileReport

AT = "2026-03-10T00:00:00Z"
ERROR = ["log_error", "errsig:TypeError: Cannot read x.js:10 at 0xFF"]
GENE = {"id": "gene_gep_repair", "category": "repair"}
STATE = {"rigor": 0.8, "risk_tolerance": 0.3}
SIGNAL = {
    "key": compute_signal_key(ERROR),
    "signals": ERROR,
    "error_signature": "typeerror: cannot read x.js:<n> at <hex>",
}
OBSERVED = {
    "agent": "main",
    "system_health": "Uptime: 12.3h | Node: v18.0.0",
    "recent_error_count": 5,
    "scan_ms": 1234,
    "evidence": {"today_log_tail": "one\ntwo"},
}
TRIED: dict[str, Any] = {
    "signal": SIGNAL,
    "mutation": {"id": "mut_1", "category": "repair", "risk_level": "low"},
    "personality": {"key": "rigor0.8_risk0.3", "state": STATE},
    "gene": GENE,
    "action": {"drift": False, "selected_by": "selector", "selector": {"why": []}},
    "capsules": {"used": ["capsule_123"]},
}
ACTION = {**TRIED["action"], "id": "act_1773059696002_2d"}


def line(kind: str, second: int, **members: Any) -> dict[str, Any]:
    return {
        "type": "MemoryGraphEvent",
        "kind": kind,
        "id": f"mge_177305969{second}000_{kind[:3]}{second}",
        "ts": f"2026-03-09T12:34:{second:02d}.789Z",
        **members,
    }


def document_lines() -> list[dict[str, Any]]:
    """One cycle as the document prints it: signal, hypothesis, attempt, outcome."""
    hypothesis = {
        "id": "hyp_1678901234567_abc123",
        "text": "Given signal_key=… selecting gene=gene_gep_repair",
        "predicted_outcome": {"status": None, "score": None},
    }
    outcome = {
        "status": "success",
        "score": 0.85,
        "note": "error_cleared|heuristic_delta",
        "observed": {"current_signals": []},
    }
    closing = line(
        "outcome",
        4,
        **{**TRIED, "action": {"id": ACTION["id"]}},
        outcome=outcome,
        confidence={"half_life_days": 30},
        observed={**OBSERVED, "recent_error_count": 0},
        baseline=OBSERVED,
    )
    stats = {"success": 1, "fail": 0, "attempts": 1, "p": 2 / 3, "decay_weight": 1}
    derived = {"gene": GENE, "stats": stats}
    derived["derived_from"] = {"outcome_event_id": closing["id"]}
    return [
        line("signal", 1, signal=SIGNAL, observed=OBSERVED),
        line("hypothesis", 2, **TRIED, hypothesis=hypothesis, observed=OBSERVED),
        line(
            "attempt",
            3,
            **{**TRIED, "action": ACTION},
            hypothesis={"id": hypothesis["id"]},
            observed=OBSERVED,
        ),
        closing,
        line("confidence_edge", 5, **derived),
        line("confidence_gene_outcome", 6, **derived),
        line(
            "external_candidate",
            7,
            external={"source": "external", "received_at": "2026-03-09T12:34:07.789Z"},
            asset={"type": "Capsule", "id": "capsule_far"},
            candidate={"trigger": ["log_error"], "gene": "gene_x", "confidence": 0.54},
        ),
    ]


def document_state(**members: Any) -> dict[str, Any]:
    last_action = {
        "action_id": ACTION["id"],
        "signal_key": SIGNAL["key"],
        "signals": ERROR,
        "gene_id": GENE["id"],
        "had_error": True,
        "created_at": "2026-03-09T12:34:03.789Z",
        "outcome_recorded": True,
        "outcome_recorded_at": "2026-03-09T12:34:04.789Z",
        "baseline_observed": OBSERVED,
    }
    return {"last_action": {**last_action, **members}}


def document_genes() -> dict[str, Any]:
    gene = {
        "type": "Gene",
        **GENE,
        "signals_match": ["error", "exception"],
        "preconditions": ["signals contain an error"],
        "strategy": ["Read the log", "Change the smallest thing"],
        "constraints": {"max_files": 12, "forbidden_paths": [".git"]},
        "validation": ["node -e 'process.exit(0)'"],
    }
    return {"version": 1, "genes": [{**gene, "asset_id": asset_id(gene)}]}


def document_capsules() -> dict[str, Any]:
    capsule = {
        "type": "Capsule",
        "schema_version": "1.5.0",
        "id": "capsule_123",
        "trigger": ["log_error"],
        "gene": GENE["id"],
        "summary": "It was mended",
        "confidence": 0.85,
        "blast_radius": {"files": 1, "lines": 2},
        "outcome": {"status": "success", "score": 0.85},
    }
    return {"version": 1, "note": "kept by hand", "capsules": [capsule]}


def write_folder(folder: Path) -> Path:
    folder.mkdir()
    write_graph(folder / GRAPH_FILE, *document_lines())
    for name, document in (
        ("genes.json", document_genes()),
        ("capsules.json", document_capsules()),
        (STATE_FILE, document_state()),
    ):
        (folder / name).write_text(json.dumps(document))
    return folder


def write_graph(file: Path, *lines: object) -> Path:
    texts = [each if isinstance(each, str) else json.dumps(each) for each in lines]
    file.write_text("\n".join(texts) + "\n")
    return file


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in file.read_text().splitlines()]


def problems_of(reports: list[FileReport]) -> list[str]:
    return [problem for report in reports for problem in report.problems]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[], Lab]]:
    """Makes empty homes whose clocks stand at the same time."""
    labs: list[Lab] = []

    def make() -> Lab:
        labs.append(Lab(tmp_path / f"home-{len(labs)}", clock=FixedClock.at(AT)))
        return labs[-1]

    yield make
    for lab in labs:
        lab.close()


def test_files_made_after_the_document_come_out_equal(
    opened: Callable[[], Lab], tmp_path: Path
) -> None:
    lab = opened()
    folder = write_folder(tmp_path / "in")
    reports = import_graph(lab.home, folder, trusted=True)
    assert problems_of(reports) == []
    export_graph(lab.home, tmp_path / "out")
    assert lines_of(tmp_path / "out" / GRAPH_FILE) == document_lines()
    for name in (*ASSET_FILES, STATE_FILE):
        given = json.loads((tmp_path / "out" / name).read_text())
        assert given == json.loads((folder / name).read_text())
    assert "gene\\_gep\\_repair" in (tmp_path / "out" / NARRATIVE_FILE).read_text()
    assert lab.verify().ok


def test_what_came_in_is_advised_selected_and_closed(
    opened: Callable[[], Lab], tmp_path: Path
) -> None:
    lab = opened()
    import_graph(lab.home, write_folder(tmp_path / "in"), trusted=True)
    assert lab.causal.get_advice(ERROR, [GENE["id"]]).preferred_gene_id == GENE["id"]
    selected = lab.causal.select_gene(ERROR).selected
    assert selected is not None
    assert selected["id"] == GENE["id"]
    assert lab.causal.open_attempts() == []
    lab.causal.record_attempt(ERROR, GENE)
    export_graph(lab.home, tmp_path / "out")
    state = json.loads((tmp_path / "out" / STATE_FILE).read_text())
    assert state["last_action"]["outcome_recorded"] is False
    assert state["last_action"]["action_id"] != ACTION["id"]


def test_an_attempt_that_is_open_there_is_closed_here(
    opened: Callable[[], Lab], tmp_path: Path
) -> None:
    lab = opened()
    write_graph(tmp_path / GRAPH_FILE, *document_lines()[:3])
    state = document_state(outcome_recorded=False, outcome_recorded_at=None)
    (tmp_path / STATE_FILE).write_text(json.dumps(state))
    import_graph(lab.home, tmp_path, trusted=True)
    outcome = lab.causal.record_outcome_from_state([])
    assert outcome is not None
    assert outcome["action"]["id"] == ACTION["id"]
    assert outcome["outcome"]["note"] == "error_cleared|heuristic_delta"


def test_without_trust_nothing_is_evidence_and_nothing_is_closed(
    opened: Callable[[], Lab], tmp_path: Path
) -> None:
    lab = opened()
    own = lab.causal.record_attempt(ERROR, GENE)
    lie = {**document_lines()[3], "action": {"id": own.id}}
    folder = write_folder(tmp_path / "in")
    write_graph(folder / GRAPH_FILE, *document_lines(), lie)
    problems = problems_of(import_graph(lab.home, folder))
    assert len(problems) == 1
    assert "--trusted alone" in problems[0]
    assert [attempt.action_id for attempt in lab.causal.open_attempts()] == [own.id]
    assert lab.causal.get_advice(ERROR, [GENE["id"]]).preferred_gene_id is None
    export_graph(lab.home, tmp_path / "out")
    written = lines_of(tmp_path / "out" / GRAPH_FILE)
    assert written[1:] == [*document_lines(), lie]


def test_importing_twice_is_importing_once_trusted_or_not(
    opened: Callable[[], Lab], tmp_path: Path
) -> None:
    folder = write_folder(tmp_path / "in")
    for first, second in ((False, False), (True, True), (True, False)):
        lab = opened()
        import_graph(lab.home, folder, trusted=first)
        seq = lab.journal.last_seq()
        again = import_graph(lab.home, folder, trusted=second)
        assert sum(report.imported for report in again) == 0
        assert lab.journal.last_seq() == seq


def live_two_cycles(lab: Lab) -> None:
    lab.causal.record_gene({**GENE, "strategy": ["look", "mend"]})
    lab.causal.record_capsule({"id": "capsule_a", "gene": GENE["id"], "summary": "ok"})
    for status in ("success", "failed"):
        lab.causal.record_signal_snapshot(ERROR, {"recent_error_count": 2})
        expected = lab.causal.record_hypothesis(ERROR, GENE)
        done = lab.causal.record_attempt(ERROR, GENE, hypothesis_id=expected.id)
        lab.clock.advance(seconds=60)  # type: ignore[attr-defined]
        lab.causal.close(done.id, status, cost=0.5)
    lab.causal.record_attempt(ERROR, GENE)


def test_what_goes_out_comes_back_the_same(
    opened: Callable[[], Lab], tmp_path: Path
) -> None:
    lab, other = opened(), opened()
    live_two_cycles(lab)
    other.clock.advance(seconds=120)  # type: ignore[attr-defined]
    export_graph(lab.home, tmp_path / "out")
    assert problems_of(import_graph(other.home, tmp_path / "out", trusted=True)) == []
    export_graph(other.home, tmp_path / "again")
    names = (GRAPH_FILE, *ASSET_FILES, STATE_FILE, NARRATIVE_FILE)
    for name in names:
        expected = (tmp_path / "out" / name).read_bytes()
        assert (tmp_path / "again" / name).read_bytes() == expected
    assert other.causal.get_advice(ERROR, [GENE["id"]]).scores == pytest.approx(
        lab.causal.get_advice(ERROR, [GENE["id"]]).scores, rel=1e-3
    )
    # Where it is its own, nothing of it is new.
    for trusted in (True, False):
        reports = import_graph(lab.home, tmp_path / "out", trusted=trusted)
        assert sum(report.imported for report in reports) == 0


def test_each_outcome_is_followed_by_what_it_makes_of_the_confidence(
    opened: Callable[[], Lab], tmp_path: Path
) -> None:
    lab = opened()
    live_two_cycles(lab)
    export_graph(lab.home, tmp_path / "out")
    lines = lines_of(tmp_path / "out" / GRAPH_FILE)
    cycle = "signal hypothesis attempt outcome confidence_edge confidence_gene_outcome"
    assert [each["kind"] for each in lines] == [*cycle.split() * 2, "attempt"]
    stats = lines[-2]["stats"]
    assert (stats["success"], stats["fail"], stats["attempts"]) == (1, 1, 2)
    assert (stats["p"], stats["half_life_days"]) == (0.5, 45)
    assert lines[-2]["derived_from"] == {"outcome_event_id": lines[-4]["id"]}


def test_lines_that_are_no_events_are_reported_and_written_again(
    opened: Callable[[], Lab], tmp_path: Path
) -> None:
    lab = opened()
    lines = document_lines()
    strange = [
        {"type": "EvolutionEvent", "id": "evt_1"},
        {**lines[0], "id": "mge_other", "ts": "yesterday"},
        {**lines[3], "id": "mge_again"},
        {**lines[2], "id": "mge_noid", "action": {"drift": True}},
        {**lines[0], "id": "mge_cyrillic", "signal": {"signals": "log_error"}},
    ]
    torn = json.dumps(lines[1])[:100]
    file = write_graph(tmp_path / GRAPH_FILE, *lines, *strange, torn)
    problems = problems_of(import_graph(lab.home, file, trusted=True))
    assert len(problems) == len(strange) + 1
    assert "not JSON" in problems[0] or "not JSON" in problems[-1]
    assert any("an outcome of its action, is there above" in each for each in problems)
    export_graph(lab.home, tmp_path / "out")
    assert lines_of(tmp_path / "out" / GRAPH_FILE) == [*lines, *strange]
    assert lab.verify().ok


def nested(levels: int) -> Any:
    return {"a": nested(levels - 1)} if levels else 1


HOSTILE: dict[str, Callable[[dict[str, Any]], object]] = {
    "too deep for any reader": lambda bad: (
        json.dumps(bad)[:-1] + ',"x":' + "[" * 100_000 + "]" * 100_000 + "}"
    ),
    "deep": lambda bad: {**bad, "action": {**bad["action"], "selector": nested(40)}},
    "long": lambda bad: {**bad, "x": "y" * 600_000},
    "nan": lambda bad: json.dumps(bad)[:-1] + ',"cost":NaN}',
    "infinite": lambda bad: json.dumps(bad)[:-1] + ',"cost":1e999}',
    "huge": lambda bad: {**bad, "latency_ms": 10**300},
    "negative": lambda bad: {**bad, "tokens": -1},
    "a huge state": lambda bad: {**bad, "personality": {"state": {"rigor": 10**400}}},
    "look-alike gene": lambda bad: {**bad, "gene": {"id": "gene_r\u0435pair"}},
    "control characters": lambda bad: {**bad, "gene": {"id": "gene\x1b[2J"}},
    "an id that is a list": lambda bad: {**bad, "id": ["x"]},
    "too many signals": lambda bad: {**bad, "signal": {"signals": ["a"] * 10_000}},
    "a score of 2": lambda bad: {**bad, "outcome": {"status": "success", "score": 2}},
    "an outcome that is a text": lambda bad: {**bad, "outcome": "success"},
    "a kind that is a list": lambda bad: {**bad, "kind": []},
    "a time without offset": lambda bad: {**bad, "ts": "2026-03-09T12:34:56"},
    "a list": lambda bad: [bad],
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("trusted", [True, False])
def test_a_hostile_line_is_named_and_the_others_come_in(
    opened: Callable[[], Lab], tmp_path: Path, name: str, trusted: bool
) -> None:
    lab = opened()
    lines = document_lines()
    bad = {**lines[3], "id": "mge_bad", "action": {"id": "act_bad"}}
    file = write_graph(tmp_path / GRAPH_FILE, lines[0], HOSTILE[name](bad), lines[6])
    problems = problems_of(import_graph(lab.home, file, trusted=trusted))
    assert problems
    assert all(problem.startswith(f"{GRAPH_FILE}:2: ") for problem in problems)
    kinds = [event.kind for event in lab.journal.tail(0)]
    assert kinds.count("signal_snapshot") == kinds.count("external_candidate") == 1
    assert "attempt_closed" not in kinds
    assert lab.verify().ok


def test_secrets_of_a_file_are_masked(
    opened: Callable[[], Lab], tmp_path: Path
) -> None:
    lab = opened()
    tail = {"today_log_tail": "password=hunter2secret refused"}
    lines = [{**document_lines()[0], "observed": {"evidence": tail}}]
    import_graph(lab.home, write_graph(tmp_path / GRAPH_FILE, *lines), trusted=True)
    stored = "".join(json.dumps(event.body) for event in lab.journal.tail(0))
    assert "hunter2secret" not in stored
    assert "[masked]" in stored


def test_a_time_ahead_of_the_clock_is_not_believed(
    opened: Callable[[], Lab], tmp_path: Path
) -> None:
    lab = opened()
    late = {**document_lines()[3], "ts": "2126-01-01T00:00:00.000Z"}
    file = write_graph(tmp_path / GRAPH_FILE, late)
    problems = problems_of(import_graph(lab.home, file, trusted=True))
    assert problems == [
        f"{GRAPH_FILE}:1: the time is ahead of the clock; the clock's is taken"
    ]
    assert max(event.at for event in lab.journal.tail(0)) <= lab.clock.now()


def test_assets_come_in_as_objects_and_as_lists_and_replace_nothing(
    opened: Callable[[], Lab], tmp_path: Path
) -> None:
    lab = opened()
    lab.causal.record_gene({"id": "gene_mine", "strategy": ["look first"]})
    genes = [
        {"type": "Gene", "id": "gene_mine", "strategy": ["rm -rf /"]},
        {"type": "Gene", "id": "gene_new", "strategy": ["mend"]},
        {"type": "Gene", "id": "gene_n\u0435w"},
        7,
        {"type": "Skill", "id": "x"},
    ]
    (tmp_path / "genes.json").write_text(json.dumps(genes))
    (report,) = import_graph(lab.home, tmp_path, trusted=True)
    assert (report.imported, len(report.problems)) == (1, 4)
    assert "gene_mine is here already in another form" in "\n".join(report.problems)
    assert [gene["id"] for gene in lab.causal.genes()] == ["gene_mine", "gene_new"]
    assert lab.causal.genes()[0]["strategy"] == ["look first"]


def test_a_gene_that_is_marked_here_is_written_with_its_mark(
    opened: Callable[[], Lab], tmp_path: Path
) -> None:
    lab = opened()
    import_graph(lab.home, write_folder(tmp_path / "in"), trusted=True)
    assert lab.causal.mark_genes() == 1
    export_graph(lab.home, tmp_path / "out")
    (gene,) = json.loads((tmp_path / "out" / "genes.json").read_text())["genes"]
    (before,) = document_genes()["genes"]
    assert gene.pop("epigenetic_marks") == [{"context": "", "boost": 0.1}]
    assert gene.pop("asset_id") != before.pop("asset_id")
    assert gene == before


def test_what_is_no_file_of_a_memory_graph_is_refused(
    opened: Callable[[], Lab], tmp_path: Path
) -> None:
    lab = opened()
    for path in (tmp_path / "nothing.json", tmp_path):
        with pytest.raises(InvalidInput, match="allowed is a folder with one of"):
            import_graph(lab.home, path)
    (tmp_path / "genes.json").write_text('{"version": 1, "genes": [{"type": "Ge')
    (problem,) = problems_of(import_graph(lab.home, tmp_path))
    assert "not JSON" in problem


def test_erased_lines_are_not_written_and_do_not_come_back(
    opened: Callable[[], Lab], tmp_path: Path
) -> None:
    lab = opened()
    file = write_graph(tmp_path / GRAPH_FILE, *document_lines()[:2])
    import_graph(lab.home, file, trusted=True)
    first = next(iter(lab.journal.tail(0, kinds=["signal_snapshot"])))
    lab.erase(ids=[first.id])
    import_graph(lab.home, file, trusted=True)
    export_graph(lab.home, tmp_path / "out")
    assert lines_of(tmp_path / "out" / GRAPH_FILE) == document_lines()[1:2]


# Errors with the hashes that the document's program gives to them.
HASHES = {
    "TypeError: undefined": "93145a81",
    "TypeError: Cannot read /home/u/x.js:10 at 0xFF": "def81a01",
    "C:\\Users\\x\\f.js failed 12 times at 0x1F": "621eb8b3",
    "n/a ratio 3/4 line12 v18": "d7484b80",
    "héllo 日本 7": "df054a34",
}


def test_keys_of_another_program_are_the_keys_here(
    opened: Callable[[], Lab], tmp_path: Path
) -> None:
    lab = opened()
    lines = []
    for second, (error, hashed) in enumerate(HASHES.items()):
        signal = {
            "key": f"errsig_norm:{hashed}|log_error",
            "signals": ["log_error", f"errsig:{error}"],
            "error_signature": error.lower(),
        }
        lines.append(line("signal", second, signal=signal, observed=None))
    file = write_graph(tmp_path / GRAPH_FILE, *lines)
    assert problems_of(import_graph(lab.home, file, trusted=True)) == []
    keys = [event.body["signal"]["key"] for event in lab.journal.tail(0)]
    assert keys == [each["signal"]["key"] for each in lines]
    export_graph(lab.home, tmp_path / "out")
    assert lines_of(tmp_path / "out" / GRAPH_FILE) == lines
    assert [stable_hash(text) for text in ("", "a", "é", "日")] == [
        "811c9dc5",
        "e40c292c",
        "6c0b6c44",
        "609a9a60",
    ]


def test_a_torn_last_line_is_reported_and_loses_nothing_else(
    opened: Callable[[], Lab], tmp_path: Path
) -> None:
    lab = opened()
    folder = write_folder(tmp_path / "in")
    with (folder / GRAPH_FILE).open("a") as file:
        file.write(json.dumps(document_lines()[0])[:70])
    (problem,) = problems_of(import_graph(lab.home, folder, trusted=True))
    assert problem.startswith(f"{GRAPH_FILE}:8: ")
    export_graph(lab.home, tmp_path / "out")
    assert lines_of(tmp_path / "out" / GRAPH_FILE) == document_lines()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that are forked")
def test_two_processes_that_import_at_once_import_once(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "in")
    place = tmp_path / "home"

    def take_in() -> None:
        with Lab(place, clock=FixedClock.at(AT)) as lab:
            import_graph(lab.home, folder, trusted=True)

    assert together(take_in, take_in) == [0, 0]
    with Lab(place, clock=FixedClock.at(AT)) as lab:
        assert lab.verify().ok
        export_graph(lab.home, tmp_path / "out")
        genes = lab.causal.genes()
    assert [gene["id"] for gene in genes] == [GENE["id"]]
    written = lines_of(tmp_path / "out" / GRAPH_FILE)
    # The lines of the two may stand between one another.
    assert sorted(written, key=lambda each: each["ts"]) == document_lines()


def test_the_files_of_a_session_have_their_folder(tmp_path: Path) -> None:
    scopes = tmp_path / "scopes"
    assert scope_folder(tmp_path, "night shift/7") == scopes / "night_shift_7"
    assert scope_folder(tmp_path, "x" * 300) == scopes / ("x" * 128)
    for refused in ("", " ", ".", "..", "../../etc", "a..b"):
        with pytest.raises(InvalidInput, match="allowed is the name of a session"):
            scope_folder(tmp_path, refused)


def test_a_session_is_exported_and_imported_by_its_name(
    run: Run, tmp_path: Path
) -> None:
    run("causal", "snapshot", "--signals", "log_error")
    out = str(tmp_path / "out")
    assert run("causal", "export", out, "--scope", "night 7").code == 0
    assert (tmp_path / "out" / "scopes" / "night_7" / GRAPH_FILE).is_file()
    ended = run("causal", "import", out, "--scope", "night 7", "--json")
    assert ended.json["skipped"] == 1
    refused = run("causal", "export", out, "--scope", "../x")
    assert refused.code == 1
    assert "allowed is the name of a session" in refused.err
