"""Public data sets: found in the user's folder, the cache or the net, checked, and read into what experiments need."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from theorex_lab.clock import MICROSECONDS_PER_DAY, to_iso
from theorex_lab.experiments.data import dataset_files, datasets, sources
from theorex_lab.experiments.data.dataset_files import Content, DataFile, DatasetInfo, members_of, read_files
from theorex_lab.experiments.data.datasets import DATASETS, LicenceNotice
from theorex_lab.experiments.data.parsing import conversations, graphs, pairs, runs, touches
from theorex_lab.experiments.scores.access import from_git_touches

needs_data = pytest.mark.skipif(
    not os.environ.get(sources.DATA_VARIABLE), reason=f"{sources.DATA_VARIABLE} names no folder with the public sets"
)


def archive(members: dict[str, bytes], mode: str = "w") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as opened:  # type: ignore[call-overload]
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            opened.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


TEXT = "straße 1\nstraße 2\n".encode() * 500
MEMBERS = {"b/2.json": b"[2]", "a/1.json": b"[1]"}
LISTED = "".join(f"{hashlib.sha256(MEMBERS[name]).hexdigest()}  {name}\n" for name in sorted(MEMBERS))
FAKE = DatasetInfo(
    name="fake",
    repository="owner/repo",
    commit="c" * 40,
    licence="none",
    commercial_use=True,
    files=(
        DataFile("plain.txt", "data/A&B/plain text.txt", hashlib.sha256(TEXT).hexdigest()),
        DataFile("packed.tar", "data/runs", hashlib.sha256(LISTED.encode()).hexdigest(), tuple(MEMBERS)),
    ),
)


class Server:
    """A web server on loopback: `answers` maps a path to (status, body, length announced), `asked` lists requests."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answers: dict[str, tuple[int, bytes, int]] = {}
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append(self.path)
                status, body, length = server.answers.get(self.path, (404, b"", 0))
                self.send_response(status)
                self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.info = replace(FAKE, base_url=self.url)
        base = f"/owner/repo/{FAKE.commit}"
        self.serve(f"{base}/data/A%26B/plain%20text.txt", TEXT)
        for name, data in MEMBERS.items():
            self.serve(f"{base}/data/runs/{name}", data)

    def serve(self, path: str, body: bytes, *, status: int = 200, length: int | None = None) -> None:
        self.answers[path] = (status, body, len(body) if length is None else length)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    served = Server()
    thread = threading.Thread(target=served.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield served
    served.http.shutdown()
    served.http.server_close()
    thread.join()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no folder of the user's own."""
    monkeypatch.delenv(sources.DATA_VARIABLE, raising=False)
    monkeypatch.setattr(dataset_files, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def own(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The fake set in the user's own folder, one file gzipped."""
    folder = tmp_path / "own" / "fake"
    folder.mkdir(parents=True)
    (folder / "plain.txt").write_bytes(TEXT)
    (folder / "packed.tar.gz").write_bytes(archive(MEMBERS, "w:gz"))
    monkeypatch.setenv(sources.DATA_VARIABLE, str(folder.parent))
    return folder


def test_downloads_checks_and_keeps(server: Server, cache: Path) -> None:
    first = read_files(server.info)
    assert first["plain.txt"].data == TEXT
    assert {name: each.data for name, each in members_of(first["packed.tar"]).items()} == MEMBERS
    assert sorted(path.name for path in (cache / "fake").iterdir()) == ["packed.tar", "plain.txt"]
    assert len(server.asked) == 3
    assert read_files(server.info) == first
    assert len(server.asked) == 3


@pytest.mark.parametrize("packed", [False, True])
def test_own_folder_plain_or_gzipped_comes_first(server: Server, own: Path, packed: bool) -> None:
    if packed:
        (own / "plain.txt").unlink()
        (own / "plain.txt.gz").write_bytes(gzip.compress(TEXT))
    files = read_files(server.info)
    assert files["plain.txt"].data == TEXT
    assert files["plain.txt"].place == str(own / ("plain.txt.gz" if packed else "plain.txt"))
    assert server.asked == []


def test_archive_may_be_packed_in_any_way(server: Server, own: Path) -> None:
    (own / "packed.tar.gz").unlink()
    (own / "packed.tar").write_bytes(archive(dict(reversed(MEMBERS.items()))))
    assert list(members_of(read_files(server.info)["packed.tar"])) == sorted(MEMBERS)
    assert server.asked == []


def test_what_the_own_folder_lacks_comes_from_elsewhere(server: Server, own: Path, cache: Path) -> None:
    (own / "plain.txt").unlink()
    assert read_files(server.info)["plain.txt"].place == str(cache / "fake" / "plain.txt")
    assert len(server.asked) == 1


def test_damaged_cache_is_renewed(server: Server, cache: Path) -> None:
    read_files(server.info)
    (cache / "fake" / "plain.txt").write_bytes(b"damaged")
    assert read_files(server.info)["plain.txt"].data == TEXT
    assert (cache / "fake" / "plain.txt").read_bytes() == TEXT


def test_a_check_is_remembered_until_the_file_changes(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []
    check = dataset_files._check
    monkeypatch.setattr(
        dataset_files, "_check", lambda content, file: (checked.append(file.name), check(content, file))
    )
    read_files(FAKE)
    read_files(FAKE)
    assert checked == ["plain.txt", "packed.tar"]
    os.utime(own / "plain.txt", ns=(1, 1))
    read_files(FAKE)
    assert checked == ["plain.txt", "packed.tar", "plain.txt"]


def test_import_loads_no_downloader_and_no_tables() -> None:
    code = "import sys, theorex_lab.experiments.data.datasets; print({'pooch', 'requests', 'pandas', 'yaml'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_cache_folder_is_the_users() -> None:
    assert "theorex_lab" in dataset_files.cache_folder().parts


def test_table_is_complete() -> None:
    for name, info in DATASETS.items():
        assert info.name == name
        assert callable(getattr(datasets, f"fetch_{name}"))
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", info.repository)
        assert re.fullmatch(r"[0-9a-f]{40}", info.commit)
        assert info.licence
        assert info.counts
        for file in info.files:
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
            assert bool(file.path) != bool(file.derived_by)
            assert file.name.endswith(".tar") == bool(file.members)
    assert {name for name, info in DATASETS.items() if not info.commercial_use} == {"locomo", "sick", "stsb"}
    assert sorted(f"fetch_{name}" for name in DATASETS) == [
        each for each in datasets.__all__ if each.startswith("fetch")
    ]


def test_address_of_a_member() -> None:
    info = DATASETS["whoandwhen"]
    assert info.address(info.files[0], "7.json") == (
        "https://raw.githubusercontent.com/mingyin1/Agents_Failure_Attribution/"
        "3d9d568840f004b389638f97adf3e0ab8b5a9514/Who%26When/Algorithm-Generated/7.json"
    )


def test_describe() -> None:
    table = datasets.describe().set_index("name")
    assert list(table.columns) == ["licence", "commercial_use", "repository", "commit", "files", "derived", "counts"]
    assert len(table) == len(DATASETS)
    assert table.loc["routellm", "files"] == 60
    assert table.index[table.derived].tolist() == ["git_touches_helm", "git_touches_pfr"]


def test_load_simulated_team_is_the_packaged_file() -> None:
    assert datasets.load_simulated_team() == sources.load(sources.packaged("simulated_team.jsonl.gz"))


def test_licence_notice_once_and_at_the_caller(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"A cat.,A dog.,1.5\n"
    file = DataFile("stsb-en-dev.csv", "x.csv", hashlib.sha256(data).hexdigest())
    monkeypatch.setitem(DATASETS, "stsb", replace(DATASETS["stsb"], files=(file,)))
    monkeypatch.setattr(datasets, "_noticed", set())
    (own.parent / "stsb").mkdir()
    (own.parent / "stsb" / file.name).write_bytes(data)
    with pytest.warns(LicenceNotice, match="stsb: .*research use") as caught:
        table = datasets.fetch_stsb()
    assert [Path(each.filename) for each in caught] == [Path(__file__)]
    assert table.attrs == {"dataset": "stsb", "licence": DATASETS["stsb"].licence}
    assert datasets.fetch_stsb().equals(table)


LOCOMO = b"""[{"sample_id": "conv-1", "conversation": {"speaker_a": "Ann", "speaker_b": "Bob",
"session_2_date_time": "12:09 am on 13 September, 2023", "session_2": [{"speaker": "Bob", "dia_id": "D2:1", "text": "Hm"}],
"session_1_date_time": "1:56 pm on 8 May, 2023", "session_3_date_time": "no session",
"session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "Hi", "blip_caption": "a dog"}]},
"qa": [{"question": "When?", "answer": 2022, "evidence": ["D1:1", "D8:6; D9:17"], "category": 2}]}]"""
AUDIT = b"""[{"question_id": "locomo_0_qa0", "error_type": "X", "correct_evidence": ["D2:1"], "correct_answer": "2021",
"reasoning": "so"}]"""


def test_locomo_sessions_in_order_times_and_evidence() -> None:
    files = {"locomo10.json": Content("a", LOCOMO), "locomo_audit_errors.json": Content("b", AUDIT)}
    found = conversations.locomo(files, "NC")
    (talk,) = found.conversations
    assert [(turn.id, to_iso(turn.at), turn.image_caption) for turn in talk.turns] == [
        ("D1:1", "2023-05-08T13:56:00.000000Z", "a dog"),
        ("D2:1", "2023-09-13T00:09:00.000000Z", None),
    ]
    (question,) = talk.questions
    assert (question.answer, question.category) == ("2022", "temporal")
    assert (question.evidence, question.unresolved) == (("D1:1",), ("D8:6; D9:17",))
    assert found.audit.correct_evidence.tolist() == [("D2:1",)]


def test_blueprint_proofs_comments_and_owners() -> None:
    text = rb"""\begin{lemma}[A title]\label{a}\uses{b, eq}\lean{A.b, A.c}\leanok x \end{lemma}
\begin{proof}\uses{b} % \uses{nowhere}
because \end{proof}
\begin{definition}\label{b} 10\% \label{eq}\end{definition}"""
    found = graphs.blueprint({"c.tex": Content("c.tex", text)}, "L")
    lemma, definition = found.nodes
    assert (lemma.title, lemma.uses, lemma.proof_uses) == ("A title", ("b", "eq"), ("b",))
    assert (lemma.lean, lemma.formalised, definition.formalised) == (("A.b", "A.c"), True, False)
    assert "10\\%" in definition.statement
    assert found.owner == {"a": 0, "b": 1, "eq": 1}


def test_metamath_scopes_and_uses() -> None:
    text = rb"""$c |- $. wa $a wff ( a ) $. ${ x.1 $e |- a $. $( An axiom
 of two lines. $) ax $a |- b $. $} ${ y.1 $e |- d $. th $p |- c $= ( wa y.1 ax ) ABC $. $}"""
    axiom, theorem = graphs.metamath(Content("q.mm", text), "L").assertions
    assert axiom == graphs.Assertion("ax", True, "b", ("a",), "An axiom of two lines.", ())
    assert theorem == graphs.Assertion("th", False, "c", ("d",), "", ("ax",))


def test_reflections_belong_to_the_trial_they_were_written_after() -> None:
    def trial(*memory: str, success: bool) -> bytes:
        return f'[{{"name": "env_0", "memory": {list(memory)}, "is_success": {str(success).lower()}}}]'.replace(
            "'", '"'
        ).encode()

    names = [f"reflexion_run_logs/env_results_trial_{number}.json" for number in range(3)]
    texts = [trial("one", success=False), trial("one", "two", success=False), trial("one", "two", success=True)]
    members = {name: Content(name, text) for name, text in zip(names, texts, strict=True)}
    base = "base_run_logs/env_results_trial_0.json"
    found = runs.reflexion(members | {base: Content(base, trial(success=False))}, "L")
    assert found.reflections == (runs.Reflection(0, 0, "one"), runs.Reflection(0, 1, "two"))
    assert found.success.tolist() == [[False], [False], [True]]


def test_sick_reads_quotes_and_both_line_ends_as_they_are() -> None:
    head = "\t".join(pairs.SICK_COLUMNS)
    text = f'{head}\r\n7\tA "cat\tA dog\t3.5\tNEUTRAL\r\n'.encode()
    assert pairs.sick({"test": Content("t", text)}).values.tolist() == [["test", 7, 'A "cat', "A dog", 3.5, "NEUTRAL"]]


def counts_of_touches(found: touches.GitTouches) -> dict[str, float]:
    statuses = Counter(status for commit in found.commits for status, _ in commit.files)
    span = found.commits[-1].at - found.commits[0].at
    return {
        "commits": len(found.commits),
        "touches": sum(statuses.values()),
        "paths": len(found.log.items),
        "days": round(span / MICROSECONDS_PER_DAY),
        "added": statuses["A"],
        "modified": statuses["M"],
        "deleted": statuses["D"],
    }


def counts_of_locomo(found: conversations.Locomo) -> dict[str, float]:
    questions = [question for talk in found.conversations for question in talk.questions]
    turns = [(talk.id, turn) for talk in found.conversations for turn in talk.turns]
    by_category = {"single-hop": 841, "multi-hop": 282, "temporal": 321, "open-domain": 96, "adversarial": 446}
    assert Counter(question.category for question in questions) == by_category
    assert sum(len(question.unresolved) for question in questions) == 9
    return {
        "conversations": len(found.conversations),
        "sessions": len({(talk, turn.session) for talk, turn in turns}),
        "turns": len(turns),
        "questions": len(questions),
        "with_evidence": sum(bool(question.evidence) for question in questions),
        "audit_notes": len(found.audit),
    }


def counts_of_qmsum(found: conversations.Qmsum) -> dict[str, float]:
    queries = [query for meeting in found.meetings for query in meeting.queries]
    return {
        "meetings": len(found.meetings),
        "turns": sum(len(meeting.turns) for meeting in found.meetings),
        "queries": len(queries),
        "spans": sum(len(query.spans) for query in queries),
        "general_queries": sum(len(meeting.general_queries) for meeting in found.meetings),
    }


def counts_of_llmrouter(found: Any) -> dict[str, float]:
    assert found.test.scores.mean(axis=0).max().round(3) == 0.563
    assert found.test.scores.max(axis=1).mean().round(3) == 0.743
    assert found.prices.model.tolist() == list(found.models)
    return {
        "models": found.train.scores.shape[1],
        "train_queries": len(found.train.queries),
        "train_tasks": found.train.queries.task.nunique(),
        "test_queries": len(found.test.scores),
        "test_tasks": found.test.queries.task.nunique(),
    }


def counts_of_routellm(table: Any) -> dict[str, float]:
    mmlu, gsm8k = table[table.benchmark == "mmlu"], table[table.benchmark == "gsm8k"]
    assert ((mmlu.weak_correct | mmlu.strong_correct).mean() * 100).round(2) == 85.86
    assert gsm8k.contaminated.sum() == 12
    assert gsm8k.weak_response.str.len().min() > 0
    return {
        "mmlu_questions": len(mmlu),
        "mmlu_subjects": mmlu.subject.nunique(),
        "mmlu_weak_correct": mmlu.weak_correct.sum(),
        "mmlu_strong_correct": mmlu.strong_correct.sum(),
        "gsm8k_questions": len(gsm8k),
        "gsm8k_weak_correct": gsm8k.weak_correct.sum(),
        "gsm8k_strong_correct": gsm8k.strong_correct.sum(),
    }


def counts_of_aider(table: Any) -> dict[str, float]:
    polyglot = table[table.board == "polyglot"]
    assert polyglot.test_cases.median() == 225
    assert polyglot.pass_rate_2.between(0, 100).all()
    assert polyglot.seconds_per_case.notna().all()
    assert (polyglot.total_cost_usd > 0).sum() == 51
    return dict(table.board.value_counts())


def counts_of_taubench(found: runs.TauBench) -> dict[str, float]:
    assert found.rewards.mean(axis=0).round(2).tolist() == [0.42, 0.44, 0.40, 0.42]
    assert sum(len(run.actions) for run in found.runs) == 1164
    assert all(action.result is not None for run in found.runs for action in run.actions)
    tasks, trials = found.rewards.shape
    return {"runs": len(found.runs), "tasks": tasks, "trials": trials, "successes": int(found.rewards.sum())}


def counts_of_whoandwhen(found: runs.WhoAndWhen) -> dict[str, float]:
    assert [run.id for run in found.runs] == [str(number) for number in range(1, 127)]
    assert np.mean([len(run.steps) for run in found.runs]).round(1) == 8.7
    off = sum(run.steps[run.mistake_step].agent != run.mistake_agent for run in found.runs)
    return {"runs": len(found.runs), "label_not_on_step": off}


def test_a_step_without_a_name_is_of_its_role() -> None:
    """A role may also tell to whom it speaks."""
    history = [
        {"role": role, "content": "c"}
        for role in ("human", "Orchestrator (thought)", "Orchestrator (-> WebSurfer)", "WebSurfer")
    ]
    labels = {"mistake_agent": "WebSurfer", "mistake_step": "3", "mistake_reason": "r"}
    run = {"question_ID": "q", "question": "q", "ground_truth": "g", "level": 1, "history": history, **labels}
    (read,) = runs.whoandwhen({"1.json": Content("p:1.json", json.dumps(run).encode())}, "MIT").runs
    assert [step.agent for step in read.steps] == ["human", "Orchestrator", "Orchestrator", "WebSurfer"]
    assert (read.level, read.agents) == ("1", {})


def counts_of_reflexion(found: runs.Reflexion) -> dict[str, float]:
    assert found.success.sum(axis=1).tolist() == [
        84,
        103,
        111,
        113,
        117,
        118,
        123,
        126,
        128,
        129,
        130,
        130,
        131,
        133,
        134,
    ]
    assert found.base_success.sum(axis=1).tolist() == [84, 94, 97, 98, 100, 101, 101]
    assert not any(found.success[each.after_trial, each.environment] for each in found.reflections)
    return {
        "environments": len(found.environments),
        "trials": len(found.success),
        "base_trials": len(found.base_success),
        "reflections": len(found.reflections),
    }


def counts_of_sick(table: Any) -> dict[str, float]:
    return dict(table.split.value_counts()) | {"contradictions": (table.judgement == "CONTRADICTION").sum()}


def counts_of_fever(table: Any) -> dict[str, float]:
    return {
        "pairs": len(table),
        "refuted": table.refuted.sum(),
        "claims": table.claim.nunique(),
        "evidence_sentences": table.evidence.nunique(),
    }


def closure_size(n_laws: int, implications: np.ndarray[Any, Any]) -> int:
    """Pairs (law, what follows from it), itself included, by sets of bits over the condensed graph."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n_laws))
    graph.add_edges_from(implications.tolist())
    graph.add_edges_from((law, 0) for law in range(n_laws))
    condensed = nx.condensation(graph)
    reached: dict[int, int] = {}
    total = 0
    for component in reversed(list(nx.topological_sort(condensed))):
        members = condensed.nodes[component]["members"]
        bits = sum(1 << law for law in members)
        for below in condensed.successors(component):
            bits |= reached[below]
        reached[component] = bits
        total += len(members) * bits.bit_count()
    return total


def counts_of_theories(found: graphs.EquationalTheories) -> dict[str, float]:
    assert found.laws[3] == "x = x ◇ y"
    assert found.duals[0].tolist() == [3, 4]
    return {
        "laws": len(found.laws),
        "implications": len(found.implications),
        "facts": len(found.facts),
        "duals": len(found.duals),
        "closure": closure_size(len(found.laws), found.implications),
    }


def counts_of_blueprint(found: graphs.Blueprint) -> dict[str, float]:
    kinds = {"lemma": 145, "definition": 30, "corollary": 18, "theorem": 15, "proposition": 10}
    assert Counter(node.kind for node in found.nodes) == kinds
    return {
        "files": len(DATASETS["pfr_blueprint"].files[0].members),
        "nodes": len(found.nodes),
        "labels_of_nodes": len(found.owner),
        "uses": sum(len(node.uses) + len(node.proof_uses) for node in found.nodes),
    }


def counts_of_metamath(found: graphs.Metamath) -> dict[str, float]:
    theorems = [each for each in found.assertions if not each.axiom]
    used = {label for each in theorems for label in each.uses}
    assert all(each.comment for each in theorems)
    return {
        "theorems": len(theorems),
        "axioms": len(found.assertions) - len(theorems),
        "uses": sum(len(each.uses) for each in theorems),
        "never_used": sum(each.label not in used for each in theorems),
    }


COUNTS: dict[str, Callable[[Any], dict[str, float]]] = {
    "git_touches_helm": counts_of_touches,
    "git_touches_pfr": counts_of_touches,
    "locomo": counts_of_locomo,
    "qmsum": counts_of_qmsum,
    "llmrouter": counts_of_llmrouter,
    "routellm": counts_of_routellm,
    "aider_leaderboards": counts_of_aider,
    "taubench_airline": counts_of_taubench,
    "whoandwhen": counts_of_whoandwhen,
    "reflexion_alfworld": counts_of_reflexion,
    "stsb": lambda table: {"pairs": len(table), "similar": (table.similarity >= 4).sum()},
    "sick": counts_of_sick,
    "fever_symmetric": counts_of_fever,
    "equational_theories": counts_of_theories,
    "pfr_blueprint": counts_of_blueprint,
    "metamath_ql": counts_of_metamath,
}


@needs_data
@pytest.mark.parametrize("name", DATASETS)
def test_counts_are_those_published(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LicenceNotice)
        found = getattr(datasets, f"fetch_{name}")()
    assert COUNTS[name](found) == DATASETS[name].counts
    assert DATASETS[name].licence == (found.attrs["licence"] if hasattr(found, "attrs") else found.licence)


@needs_data
def test_touches_give_the_log_that_the_general_reader_gives() -> None:
    """Up to the order of commits of one second, where the one further down in the file is the older."""
    ours = datasets.fetch_git_touches_pfr().log
    theirs = from_git_touches(read_files(DATASETS["git_touches_pfr"])["touches.log"].place)
    rows = [
        sorted(zip(log.time.tolist(), (log.items[item] for item in log.item), log.deleted.tolist(), strict=True))
        for log in (ours, theirs)
    ]
    assert rows[0] == rows[1]
    assert ours.n_events == theirs.n_events
    assert ours.group is not None
