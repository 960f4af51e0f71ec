"""The files of causal memory: what others wrote comes in, what is here goes out and comes back, and nothing hostile does harm."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from theorex_lab import Lab
from theorex_lab.clock import FixedClock
from theorex_lab.designs.causal.files import export_graph, import_graph, named_places
from theorex_lab.designs.causal.keys import compute_signal_key
from theorex_lab.designs.causal.narrative import last_of_narrative, narrative
from theorex_lab.errors import InvalidInput
from theorex_lab.exchange.files import FileReport
from theorex_lab.memory.evidence import evidence_view

GOLDEN = Path(__file__).parent / "golden" / "memory_graph.jsonl"
ERROR = ["log_error", "errsig:TypeError: Cannot read /srv/app/x.js:10 at 0xFF"]
TUNING = ["perf_bottleneck", " user_feature_request "]
AT = "2026-03-10T00:00:00Z"
FILES = ("memory_graph.jsonl", "genes.json", "capsules.json", "evolution_narrative.md")
VARIABLES = ("EVOLUTION_DIR", "MEMORY_DIR", "MEMORY_GRAPH_PATH", "EVOLVER_SESSION_SCOPE")


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Lab]]:
    """Makes empty homes whose clocks stand at the same time."""
    labs: list[Lab] = []
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)

    def make() -> Lab:
        labs.append(Lab(tmp_path / f"home-{len(labs)}", clock=FixedClock.at(AT)))
        return labs[-1]

    yield make
    for lab in labs:
        lab.close()


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def golden() -> list[dict[str, Any]]:
    return lines_of(GOLDEN)


def written(folder: Path, *lines: object) -> Path:
    """A file of these lines: texts and bytes as they are, others as JSON."""
    file = folder / "memory_graph.jsonl"
    made = [
        line if isinstance(line, bytes) else (line if isinstance(line, str) else json.dumps(line)).encode()
        for line in lines
    ]
    file.write_bytes(b"\n".join(made) + b"\n")
    return file


def taken(lab: Lab, path: Path, **how: Any) -> FileReport:
    (report,) = import_graph(lab.home, None, path, **how)
    return report


def evidence(lab: Lab) -> list[tuple[str, str, float, float, int]]:
    with lab.home.views.reading(evidence_view(lab.home)) as view:
        cells = view.table.cells("causal/")
    return sorted(
        zip(cells.keys, cells.options, cells.n.tolist(), cells.successes.tolist(), cells.last.tolist(), strict=True)
    )


def test_a_graph_of_another_system_comes_in_with_its_ids_keys_and_times(
    opened: Callable[[], Lab], tmp_path: Path
) -> None:
    lab = opened()
    report = taken(lab, GOLDEN, trust_own=True)
    assert (report.imported, report.skipped, report.problems) == (7, 0, [])
    assert [row[:4] for row in evidence(lab)] == [
        ("causal/option", "gene_repair", 1.0, 1.0), ("causal/option", "gene_tune", 1.0, 0.0),
        (f"causal/signal:{compute_signal_key(ERROR)}", "gene_repair", 1.0, 1.0),
        (f"causal/signal:{compute_signal_key(TUNING)}", "gene_tune", 1.0, 0.0)]  # fmt: skip
    assert lab.causal.get_advice(ERROR, ["gene_tune", "gene_repair"]).preferred_gene_id == "gene_repair"
    assert lab.causal.open_attempts() == []
    export_graph(lab.home, None, tmp_path / "out")
    before, after = golden(), lines_of(tmp_path / "out" / FILES[0])
    named = [line for line in after if not line["kind"].startswith("confidence")]
    there = [line for line in before if not line["kind"].startswith("confidence")]
    for name in ("id", "ts", "kind", "signal", "gene", "outcome", "hypothesis", "capsules"):
        assert [line.get(name) for line in named] == [line.get(name) for line in there]
    assert (
        taken(lab, GOLDEN, trust_own=True).imported
        == taken(lab, tmp_path / "out" / FILES[0], trust_own=True).imported
        == 0
    )
    assert lab.verify().ok


def test_tails_of_logs_and_secrets_stay_outside(opened: Callable[[], Lab], tmp_path: Path) -> None:
    lab, line = opened(), golden()[0]
    line["signal"] = {"key": "", "signals": ["errsig:password=hunter2secret refused"]}
    taken(lab, written(tmp_path, *golden(), {**line, "id": "mge_other"}))
    stored = "".join(json.dumps(event.body) for event in lab.journal.tail(0))
    assert "abc123secretvalue99" not in stored
    assert "tail" not in stored
    assert "hunter2secret" not in stored
    assert "[masked]" in stored


def test_what_a_file_tells_is_no_evidence_and_closes_no_attempt_of_ones_own(
    opened: Callable[[], Lab], tmp_path: Path
) -> None:
    lab = opened()
    assert taken(lab, GOLDEN).imported == 7
    assert evidence(lab) == []
    assert lab.causal.record_outcome_from_state([]) is None  # an attempt that only a file tells is not open here
    own = lab.causal.record_attempt(ERROR, {"id": "gene_repair"})
    lie = {**golden()[3], "id": "mge_lie", "action": {"id": own.id}}
    lie["outcome"] = {**lie["outcome"], "status": "failed"}
    assert taken(lab, written(tmp_path, lie, {**golden()[2], "id": "mge_too", "action": {"id": own.id}})).imported == 2
    assert [attempt.action_id for attempt in lab.causal.open_attempts()] == [own.id]
    closed = lab.causal.close(own.id, "success")
    assert closed["outcome"]["status"] == "success"
    assert {row[:4] for row in evidence(lab)} >= {("causal/option", "gene_repair", 1.0, 1.0)}


def test_torn_doubled_and_strange_lines_lose_nothing_else(opened: Callable[[], Lab], tmp_path: Path) -> None:
    lab, lines = opened(), golden()
    whole = [json.dumps(line, separators=(",", ":")) for line in lines]
    again = {**lines[3], "id": "mge_again", "ts": "2026-03-09T14:00:00.000Z"}
    shared = [
        {**lines[0], "signal": {"key": name, "signals": [name]}} for name in ("a", "b")
    ]  # one id, of one millisecond
    file = written(
        tmp_path, whole[0][:150] + whole[1], whole[0], *whole[2:], whole[2], again, {"type": "Gene", "id": "g"}, "", *shared,
        {**lines[0], "id": "mge_key", "signal": {"key": "forged", "signals": ["log_error"]}}, whole[0][:100],
    )  # fmt: skip
    report = taken(lab, file, trust_own=True)
    assert report.imported == 7 + 3
    told = "\n".join(report.problems)
    assert "memory_graph.jsonl:1: not JSON" in told
    assert ":10: the line, or an outcome of its action, is there above (and 1 more like it)" in told
    assert ":12: got type 'Gene' and kind None" in told
    assert ":16: the key is not that of the signals" in told
    assert "not JSON" in report.problems[-1] or ":17: not JSON" in told
    assert sum(row[2] for row in evidence(lab) if row[0] == "causal/option") == 2
    assert taken(lab, file, trust_own=True).imported == 0
    assert lab.verify().ok


def nested(levels: int) -> Any:
    return {"a": nested(levels - 1)} if levels else 1


HOSTILE: dict[str, Callable[[dict[str, Any]], object]] = {
    "not utf-8": lambda line: json.dumps(line).encode() + b"\xff\xfe",
    "too deep for any reader": lambda line: json.dumps(line)[:-1] + ',"x":' + "[" * 100_000 + "]" * 100_000 + "}",
    "deep": lambda line: {**line, "action": {**line["action"], "selector": nested(40)}},
    "long": lambda line: {**line, "mutation": None, "action": {**line["action"], "selector": {"a": "x" * 600_000}}},
    "nan": lambda line: json.dumps(line)[:-1] + ',"cost":NaN}',
    "infinite": lambda line: json.dumps(line)[:-1] + ',"cost":1e999}',
    "huge": lambda line: {**line, "latency_ms": 10**300},
    "huge in a state": lambda line: {**line, "personality": {"state": {"rigor": 10**400}}},
    "negative": lambda line: {**line, "tokens": -1},
    "half a letter": lambda line: json.dumps(line).replace("error_cleared", "\\ud800"),
    "look-alike gene": lambda line: {**line, "gene": {"id": "gene_r\u0435pair"}},
    "control characters": lambda line: {**line, "gene": {"id": "gene\x1b[2J"}},
    "an id that is a list": lambda line: {**line, "id": ["x"]},
    "an action without id": lambda line: {**line, "action": {"drift": True}},
    "no signals": lambda line: {**line, "signal": {"key": "log_error"}},
    "signals that are no texts": lambda line: {**line, "signal": {"signals": [{"a": 1}]}},
    "too many signals": lambda line: {**line, "signal": {"signals": ["a"] * 10_000}},
    "a score of 2": lambda line: {**line, "outcome": {"status": "success", "score": 2}},
    "an outcome that is a text": lambda line: {**line, "outcome": "success"},
    "a kind that is a list": lambda line: {**line, "kind": []},
    "a time without offset": lambda line: {**line, "ts": "2026-03-09T12:34:56"},
    "a time that is a number": lambda line: {**line, "ts": 1e12},
    "a cause that is a list": lambda line: {**line, "cause": []},
    "a list": lambda line: [line],
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("trust_own", [True, False])
def test_a_hostile_line_is_named_and_the_others_come_in(
    opened: Callable[[], Lab], tmp_path: Path, name: str, trust_own: bool
) -> None:
    lab, sound = opened(), golden()
    bad = {**sound[3], "id": "mge_bad", "action": {"id": "act_bad"}}
    report = taken(lab, written(tmp_path, sound[0], HOSTILE[name](bad), *sound[6:]), trust_own=trust_own)
    assert report.imported == 4
    assert report.problems
    assert all(problem.startswith("memory_graph.jsonl:2: ") for problem in report.problems)
    assert lab.verify().ok
    lab.causal.get_advice(ERROR, ["gene_tune"])
    narrative(lab.home)


def test_a_time_ahead_of_the_clock_is_not_believed(opened: Callable[[], Lab], tmp_path: Path) -> None:
    lab = opened()
    report = taken(lab, written(tmp_path, {**golden()[3], "ts": "2126-01-01T00:00:00.000Z"}), trust_own=True)
    assert report.problems == ["memory_graph.jsonl:1: the time is ahead of the clock; the clock's is taken"]
    assert lab.causal.get_advice(ERROR, ["gene_repair"]).scores["gene_repair"] < 0.8


SIGNALS = st.lists(
    st.sampled_from([*ERROR, *TUNING, "errsig:token=abc123secretvalue99 refused", "é|日", ""]), max_size=3
)
GENES = st.sampled_from(["gene_a", "gene_b", None])
STEPS = st.tuples(SIGNALS, GENES, st.sampled_from(["success", "failed", "read", "open"]), SIGNALS, st.integers(0, 3))


def lived(lab: Lab, steps: list[Any]) -> None:
    for number, (signals, gene, came, after, days) in enumerate(steps):
        causal, agent = lab.causal, f"agent-{number % 2}"
        chosen = {"id": gene, "category": "repair"} if gene else None
        about: dict[str, Any] = {
            "mutation": {"category": "repair"} if number % 2 else None, "personality_state": {"rigor": 0.5} if number % 3 else None,
            "selector": {"why": ["é", 1.5]}, "drift_enabled": bool(number % 2), "agent": agent}  # fmt: skip
        causal.record_signal_snapshot(signals, {"recent_error_count": number, "health": "ok"}, agent=agent)
        hypothesis = causal.record_hypothesis(signals, chosen, **about)
        done = causal.record_attempt(signals, chosen, hypothesis_id=hypothesis.id, **about)
        lab.clock.advance(days=days)  # type: ignore[attr-defined]
        if came == "read":
            causal.record_outcome_from_state(after, {"recent_error_count": 1}, agent=agent, cost=0.5)
        elif came != "open":
            causal.close(done.id, came, agent=agent, signals=after, latency_ms=7)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, max_size=6))
def test_what_goes_out_comes_back_the_same(steps: list[Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("files")
    with Lab(folder / "a", clock=FixedClock.at(AT)) as lab, Lab(folder / "b", clock=lab.clock) as other:
        lived(lab, steps)
        lab.causal.record_gene({"id": "gene_a", "category": "repair", "strategy": ["look", "mend"], "confidence": 1.0})
        lab.causal.record_capsule(
            {"id": "capsule_a", "gene": "gene_a", "trigger": ["log_error"], "summary": "it was mended"}
        )
        export_graph(lab.home, None, folder / "out")
        reports = import_graph(other.home, None, folder / "out", trust_own=True)
        assert not [problem for report in reports for problem in report.problems]
        assert evidence(other) == evidence(lab)
        for signals in (ERROR, TUNING, []):
            among = ["gene_a", "gene_b"]
            assert other.causal.get_advice(signals, among) == lab.causal.get_advice(signals, among)
        export_graph(other.home, None, folder / "again")
        for name in FILES:
            assert (folder / "again" / name).read_bytes() == (folder / "out" / name).read_bytes()
        for home in (lab.home, other.home):  # whose it is, and where it came in already
            assert [report.imported for report in import_graph(home, None, folder / "out", trust_own=True)] == [0, 0, 0]


def test_each_outcome_is_followed_by_what_it_makes_of_the_confidence(opened: Callable[[], Lab], tmp_path: Path) -> None:
    lab = opened()
    for status, signals in (("success", ERROR), ("failed", ERROR), ("success", TUNING)):
        lab.causal.close(lab.causal.record_attempt(signals, {"id": "gene_a"}).id, status)
    export_graph(lab.home, None, tmp_path / "out")
    lines = lines_of(tmp_path / "out" / FILES[0])
    assert [line["kind"] for line in lines] == ["attempt", "outcome", "confidence_edge", "confidence_gene_outcome"] * 3
    told = [
        (line["kind"][11:], *(line["stats"][name] for name in ("success", "fail", "attempts", "half_life_days")))
        for line in lines
        if "stats" in line
    ]
    assert told == [
        ("edge", 1, 0, 1, 30), ("gene_outcome", 1, 0, 1, 45), ("edge", 1, 1, 2, 30), ("gene_outcome", 1, 1, 2, 45),
        ("edge", 1, 0, 1, 30), ("gene_outcome", 2, 1, 3, 45)]  # fmt: skip
    last = lines[-1]
    assert last["stats"]["p"] == last["stats"]["value"] == 3 / 5
    assert last["derived_from"] == {"outcome_event_id": lines[-3]["id"]}
    assert (last["stats"]["updated_at"], last["stats"]["decay_weight"]) == ("2026-03-10T00:00:00.000Z", 1)
    assert lines[-2]["edge"] == {"signal_key": compute_signal_key(TUNING), "gene_id": "gene_a"}


def test_genes_come_in_as_objects_and_as_lists_and_replace_nothing(opened: Callable[[], Lab], tmp_path: Path) -> None:
    lab = opened()
    mine = lab.causal.record_gene({"id": "gene_mine", "strategy": ["look first"]})
    foreign = [
        {"type": "Gene", "id": "gene_mine", "strategy": ["rm -rf /"]}, {"type": "Gene", "id": "gene_new", "strategy": ["mend"]},
        {"type": "Gene", "id": "gene_n\u0435w"}, 7, {"type": "Skill", "id": "x"}]  # fmt: skip
    (tmp_path / "genes.json").write_text(json.dumps({"version": 1, "genes": foreign}))
    (tmp_path / "capsules.json").write_text(
        json.dumps([{"type": "Capsule", "id": "capsule_1", "summary": "it went well"}])
    )
    for new in (1, 0):
        genes, capsules = import_graph(lab.home, None, tmp_path, trust_own=True)
        assert (genes.imported, capsules.imported, len(genes.problems)) == (new, new, 4)
    told = "\n".join(genes.problems)
    assert "gene_mine is here already in another form, and stays as it is" in told
    assert "genes.json: genes:3: got the" in told
    assert [gene["id"] for gene in lab.causal.genes()] == ["gene_mine", "gene_new"]
    assert lab.causal.genes()[0]["strategy"] == mine["strategy"]
    assert lab.causal.capsules()[0]["summary"] == "it went well"
    (tmp_path / "genes.json").write_text('{"version": 1, "genes": [{"type": "Ge')
    assert "not JSON" in import_graph(lab.home, None, tmp_path)[0].problems[0]


def told_at_length(lab: Lab, count: int, text: str) -> None:
    for number in range(count):
        done = lab.causal.record_attempt([f"{number} {text}", text], {"id": f"gene_{number}", "category": "repair"})
        lab.causal.close(done.id, "success", note=text)


NASTY = "</script><img src=x>\n\n# heading\n```\n[link](http://x) | *bold* \x1b[2J \u202e" * 20


@pytest.mark.parametrize("text", ["plain", NASTY, "日" * 900])
def test_the_narrative_never_exceeds_its_size_and_drops_the_oldest(opened: Callable[[], Lab], text: str) -> None:
    lab = opened()
    assert narrative(lab.home) == last_of_narrative(lab.home) == ""
    told_at_length(lab, 130, text)
    whole, short = narrative(lab.home), last_of_narrative(lab.home)
    assert 11_000 < len(whole) <= 12_000
    assert len(short) <= 4_000
    assert "129" in whole
    assert "- Tried: gene\\_0," not in whole
    assert short.count("\n### ") <= 8
    assert whole.endswith(short[short.index("\n### ") :])
    for limit in (0, 1, 90, 100, 333, 1_000):
        assert len(narrative(lab.home, characters=limit)) <= limit
    with pytest.raises(InvalidInput, match="got -1 entries"):
        narrative(lab.home, entries=-1)


def test_nothing_that_was_stored_becomes_markup(opened: Callable[[], Lab]) -> None:
    lab = opened()
    told_at_length(lab, 3, NASTY)
    lines = narrative(lab.home).splitlines()
    assert {line.split(" ")[0] for line in lines} <= {"#", ">", "###", "-", ""}
    assert len([line for line in lines if line.startswith("# ")]) == 1
    body = re.sub(r"\\.", "", "\n".join(line for line in lines if line.startswith("- ")))
    assert not [sign for sign in "<>[]`|*\x1b\u202e" if sign in body]


def test_the_narrative_is_of_one_agent_and_of_the_project(opened: Callable[[], Lab]) -> None:
    lab = opened()
    for agent, gene in (("a", "gene_a"), ("b", "gene_b")):
        lab.causal.close(lab.causal.record_attempt(ERROR, {"id": gene}, agent=agent).id, "failed", agent=agent)
    assert "gene\\_b" not in narrative(lab.home, agent="a")
    here = lab.home.in_project("shop")
    here_lab = type(lab.causal)(here)
    here_lab.close(here_lab.record_attempt(ERROR, {"id": "gene_c"}).id, "failed")
    assert "gene\\_c" not in narrative(lab.home.in_project("other"))
    assert "gene\\_c" in narrative(here)


@pytest.mark.parametrize(
    ("variables", "graph"),
    [
        ({}, None),
        ({"MEMORY_DIR": "/m"}, "/m/evolution/memory_graph.jsonl"),
        ({"MEMORY_DIR": "/m", "EVOLUTION_DIR": "/e"}, "/e/memory_graph.jsonl"),
        ({"EVOLUTION_DIR": "/e", "MEMORY_GRAPH_PATH": "/g/x.jsonl"}, "/g/x.jsonl"),
        ({"EVOLUTION_DIR": "/e", "EVOLVER_SESSION_SCOPE": "a b/c"}, "/e/scopes/a_b_c/memory_graph.jsonl"),
        ({"EVOLUTION_DIR": "/e", "EVOLVER_SESSION_SCOPE": "x" * 300}, f"/e/scopes/{'x' * 128}/memory_graph.jsonl"),
    ],
)
def test_places_by_the_environment(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], graph: str | None
) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert named_places().get(FILES[0]) == (graph and Path(graph))


@pytest.mark.parametrize("scope", ["..", "../up", "a..b", "."])
def test_a_scope_that_leads_elsewhere_is_refused(monkeypatch: pytest.MonkeyPatch, scope: str) -> None:
    monkeypatch.setenv("EVOLUTION_DIR", "/e")
    monkeypatch.setenv("EVOLVER_SESSION_SCOPE", scope)
    with pytest.raises(InvalidInput, match="got EVOLVER_SESSION_SCOPE="):
        named_places()


def test_without_a_path_files_go_to_and_come_from_their_places(
    opened: Callable[[], Lab], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, other = opened(), opened()
    monkeypatch.setenv("MEMORY_DIR", str(tmp_path / "memory"))
    for home in (lab, other):
        (home.home.folder / "config.json").write_text(json.dumps({"agentAxonDir": str(tmp_path / "axons")}))
    told_at_length(lab, 2, "plain")
    from theorex_lab.designs.causal.files import export_named, named_files

    assert set(named_files(lab.home)) == {tmp_path / "memory" / "evolution" / name for name in FILES}
    assert named_files(other.home) == []
    assert export_named(other.home).files == {}
    assert export_named(lab.home).files[str(tmp_path / "memory" / "evolution" / FILES[0])] == 8
    reports = other.import_files(trust_own=True)
    assert sum(report.imported for report in reports) == 4
    assert evidence(other) == evidence(lab)


def test_commands(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    told = run("causal", "import", str(GOLDEN), "--trust-own", "--json", "--now", AT)
    assert (told.code, json.loads(told.out)["imported"]) == (0, 7)
    assert "gene\\_tune" in run("causal", "narrative").out
    told = run("causal", "narrative", "--summary", "--characters", "300", "--json")
    assert json.loads(told.out)["characters"] <= 300
    out = str(tmp_path / "out")
    assert run("causal", "export", out).code == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == set(FILES)
    assert run("causal", "export", out).code == 1
    assert run("causal", "export", out, "--replace").code == 0
    assert json.loads(run("causal", "import", out, "--json").out)["imported"] == 0
    refused = run("causal", "import", str(tmp_path))
    assert (refused.code, "name such files" in refused.err) == (1, True)
    assert run("export", str(tmp_path / "all")).code == 0
    assert set(FILES) <= {path.name for path in (tmp_path / "all").iterdir()}


def test_signals_with_secrets_are_advised_as_they_were_recorded(opened: Callable[[], Lab]) -> None:
    lab, signals = opened(), ["errsig:login with password=hunter2secret refused"]
    done = lab.causal.record_attempt(signals, {"id": "gene_login"})
    lab.causal.close(done.id, "success")
    advice = lab.causal.get_advice(signals, ["gene_login"])
    assert advice.signal_key == done.signal_key
    assert advice.scores["gene_login"] > 2 / 3  # not by what the gene did elsewhere alone


@pytest.mark.parametrize("amount", [10**400, float("inf"), float("nan"), -1, True])
def test_an_amount_that_no_sum_holds_is_refused(opened: Callable[[], Lab], amount: float) -> None:
    lab = opened()
    done = lab.causal.record_attempt(ERROR, {"id": "gene_a"})
    with pytest.raises(InvalidInput, match="got latency_ms="):
        lab.causal.close(done.id, "success", latency_ms=amount)
    assert lab.causal.get_advice(ERROR, ["gene_a"]).preferred_gene_id is None
