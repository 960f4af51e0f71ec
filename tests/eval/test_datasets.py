"""Public data sets: found in the user's folder, the cache or the net, checked, and read
into what experiments need.
"""

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
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from theorex_lab.eval.datasets import dataset_files, recorded_runs, sources
from theorex_lab.eval.datasets import parsing as runs
from theorex_lab.eval.datasets.dataset_files import FileContent, members_of, read_files
from theorex_lab.eval.datasets.dataset_table import DATASETS, DataFile, DatasetInfo
from theorex_lab.eval.datasets.logs import LOGS

needs_data = pytest.mark.skipif(
    not os.environ.get(sources.DATA_VARIABLE),
    reason=f"{sources.DATA_VARIABLE} names no folder with the public sets",
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
LISTED = "".join(
    f"{hashlib.sha256(MEMBERS[name]).hexdigest()}  {name}\n" for name in sorted(MEMBERS)
)
FAKE = DatasetInfo(
    name="fake",
    repository="owner/repo",
    commit="c" * 40,
    licence="none",
    files=(
        DataFile(
            "plain.txt", "data/A&B/plain text.txt", hashlib.sha256(TEXT).hexdigest()
        ),
        DataFile(
            "packed.tar",
            "data/runs",
            hashlib.sha256(LISTED.encode()).hexdigest(),
            tuple(MEMBERS),
        ),
    ),
)


class Server:
    """A web server on loopback: `answers` maps a path to (status, body, length
    announced), `asked` lists requests.
    """

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

    def serve(
        self, path: str, body: bytes, *, status: int = 200, length: int | None = None
    ) -> None:
        self.answers[path] = (status, body, len(body) if length is None else length)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    served = Server()
    thread = threading.Thread(
        target=served.http.serve_forever, kwargs={"poll_interval": 0.01}
    )
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
    assert {
        name: each.data for name, each in members_of(first["packed.tar"]).items()
    } == MEMBERS
    assert sorted(path.name for path in (cache / "fake").iterdir()) == [
        "packed.tar",
        "plain.txt",
    ]
    assert len(server.asked) == 3
    assert read_files(server.info) == first
    assert len(server.asked) == 3


@pytest.mark.parametrize("packed", [False, True])
def test_own_folder_plain_or_gzipped_comes_first(
    server: Server, own: Path, packed: bool
) -> None:
    if packed:
        (own / "plain.txt").unlink()
        (own / "plain.txt.gz").write_bytes(gzip.compress(TEXT))
    files = read_files(server.info)
    assert files["plain.txt"].data == TEXT
    assert files["plain.txt"].place == str(
        own / ("plain.txt.gz" if packed else "plain.txt")
    )
    assert server.asked == []


def test_archive_may_be_packed_in_any_way(server: Server, own: Path) -> None:
    (own / "packed.tar.gz").unlink()
    (own / "packed.tar").write_bytes(archive(dict(reversed(MEMBERS.items()))))
    assert list(members_of(read_files(server.info)["packed.tar"])) == sorted(MEMBERS)
    assert server.asked == []


def test_what_the_own_folder_lacks_comes_from_elsewhere(
    server: Server, own: Path, cache: Path
) -> None:
    (own / "plain.txt").unlink()
    assert read_files(server.info)["plain.txt"].place == str(
        cache / "fake" / "plain.txt"
    )
    assert len(server.asked) == 1


def test_damaged_cache_is_renewed(server: Server, cache: Path) -> None:
    read_files(server.info)
    (cache / "fake" / "plain.txt").write_bytes(b"damaged")
    assert read_files(server.info)["plain.txt"].data == TEXT
    assert (cache / "fake" / "plain.txt").read_bytes() == TEXT


def test_import_loads_no_downloader_and_no_tables() -> None:
    code = (
        "import sys, theorex_lab.eval.datasets.recorded_runs; print({'pooch', 'requests',"
        " 'pandas', 'yaml'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


def test_cache_folder_is_the_users() -> None:
    assert "theorex_lab" in dataset_files.cache_folder().parts


def test_table_is_complete() -> None:
    for name, info in DATASETS.items():
        assert info.name == name
        assert re.fullmatch(r"[\w.-]+/[\w.-]+|-", info.repository)
        assert re.fullmatch(r"[0-9a-f]{40}|-", info.commit)
        assert info.licence
        assert info.counts
        assert info.about
        assert info.scores
        assert info.size_bytes > 0
        for file in info.files:
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
            assert file.path
            assert file.name.endswith(".tar") == bool(file.members)
    fetched = {
        name.removeprefix("fetch_")
        for name in vars(recorded_runs)
        if name.startswith("fetch_")
    }
    pairs = {"stsb", "sick", "fever_symmetric"}
    graphs = {"equational_theories", "pfr_blueprint", "metamath_ql"}
    others = pairs | graphs | {"session_needs"}
    public = {name for name in LOGS if not name.startswith("simulated_")}
    assert fetched | public | others == {*DATASETS}


def test_address_of_a_member() -> None:
    info = DATASETS["whoandwhen"]
    assert (
        info.address(info.files[0], "7.json")
        == "https://raw.githubusercontent.com/mingyin1/Agents_Failure_Attribution/"
        "3d9d568840f004b389638f97adf3e0ab8b5a9514/Who%26When/Algorithm-Generated/7.json"
    )


def test_load_simulated_team_is_the_packaged_file() -> None:
    assert recorded_runs.load_simulated_team() == sources.load(
        sources.packaged("simulated_team.jsonl.gz")
    )


def test_reflections_belong_to_the_trial_they_were_written_after() -> None:
    def trial(*memory: str, success: bool) -> bytes:
        return (
            f'[{{"name": "env_0", "memory": {list(memory)}, "is_success":'
            f" {str(success).lower()}}}]".replace("'", '"').encode()
        )

    names = [
        f"reflexion_run_logs/env_results_trial_{number}.json" for number in range(3)
    ]
    texts = [
        trial("one", success=False),
        trial("one", "two", success=False),
        trial("one", "two", success=True),
    ]
    members = {
        name: FileContent(name, text) for name, text in zip(names, texts, strict=True)
    }
    base = "base_run_logs/env_results_trial_0.json"
    found = runs.reflexion(
        members | {base: FileContent(base, trial(success=False))}, "L"
    )
    assert found.reflections == (
        runs.Reflection(0, 0, "one"),
        runs.Reflection(0, 1, "two"),
    )
    assert found.success.tolist() == [[False], [False], [True]]


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
    mmlu = table[table.benchmark == "mmlu"]
    gsm8k = table[table.benchmark == "gsm8k"]
    assert ((mmlu.weak_correct | mmlu.strong_correct).mean() * 100).round(2) == 85.86
    return {
        "mmlu_questions": len(mmlu),
        "mmlu_subjects": mmlu.subject.nunique(),
        "mmlu_weak_correct": mmlu.weak_correct.sum(),
        "mmlu_strong_correct": mmlu.strong_correct.sum(),
        "gsm8k_questions": len(gsm8k),
        "gsm8k_weak_correct": gsm8k.weak_correct.sum(),
        "gsm8k_strong_correct": gsm8k.strong_correct.sum(),
    }


def counts_of_taubench(found: runs.TauBench) -> dict[str, float]:
    assert found.rewards.mean(axis=0).round(2).tolist() == [0.42, 0.44, 0.40, 0.42]
    assert sum(len(run.actions) for run in found.runs) == 1164
    assert all(
        action.result is not None for run in found.runs for action in run.actions
    )
    tasks, trials = found.rewards.shape
    return {
        "runs": len(found.runs),
        "tasks": tasks,
        "trials": trials,
        "successes": int(found.rewards.sum()),
    }


def counts_of_whoandwhen(found: runs.WhoAndWhen) -> dict[str, float]:
    assert [run.id for run in found.runs] == [str(number) for number in range(1, 127)]
    assert np.mean([len(run.steps) for run in found.runs]).round(1) == 8.7
    off = sum(
        run.steps[run.mistake_step].agent != run.mistake_agent for run in found.runs
    )
    return {"runs": len(found.runs), "label_not_on_step": off}


def test_a_step_without_a_name_is_of_its_role() -> None:
    """A role may also tell to whom it speaks."""
    history = [
        {"role": role, "content": "c"}
        for role in (
            "human",
            "Orchestrator (thought)",
            "Orchestrator (-> WebSurfer)",
            "WebSurfer",
        )
    ]
    labels = {"mistake_agent": "WebSurfer", "mistake_step": "3", "mistake_reason": "r"}
    run = {
        "question_ID": "q",
        "question": "q",
        "ground_truth": "g",
        "level": 1,
        "history": history,
        **labels,
    }
    (read,) = runs.whoandwhen(
        {"1.json": FileContent("p:1.json", json.dumps(run).encode())}, "MIT"
    ).runs
    assert [step.agent for step in read.steps] == [
        "human",
        "Orchestrator",
        "Orchestrator",
        "WebSurfer",
    ]
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
    assert not any(
        found.success[each.after_trial, each.environment] for each in found.reflections
    )
    return {
        "environments": len(found.environments),
        "trials": len(found.success),
        "base_trials": len(found.base_success),
        "reflections": len(found.reflections),
    }


COUNTS: dict[str, Callable[[Any], dict[str, float]]] = {
    "llmrouter": counts_of_llmrouter,
    "routellm": counts_of_routellm,
    "taubench_airline": counts_of_taubench,
    "whoandwhen": counts_of_whoandwhen,
    "reflexion_alfworld": counts_of_reflexion,
}


@needs_data
@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_those_published(name: str) -> None:
    found = getattr(recorded_runs, f"fetch_{name}")()
    assert COUNTS[name](found) == DATASETS[name].counts
    assert DATASETS[name].licence == (
        found.attrs["licence"] if hasattr(found, "attrs") else found.licence
    )
