"""Logs of the public sets, read once for all tests of one run.

Reading a year of sessions costs seconds of processor time, and a dozen tests ask the same
log. What is kept lives as long as the run: a log that other code would read in another way
is read by that code.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

from theorex_lab.core.files import write_atomically
from theorex_lab.eval.adapters.protocol import EvalLog
from theorex_lab.eval.datasets import logs, session_needs
from theorex_lab.eval.datasets.sources import DATA_VARIABLE
from theorex_lab.eval.metrics import speech_acts

# Logs that a process holds. More of them make it large, and each process that a test forks
# off a large one costs a tenth of a second.
MOST_HELD = 12
# Sets whose logs take a second or more to make, or that many tests ask for.
SLOW_SETS = (
    "locomo",
    "qmsum",
    "simulated_questions",
    "simulated_team",
    "taubench_airline",
)


class SharedLogs:
    """Reads each log once, for this process and for the others of the same run.

    Attributes:
        folder: Where the logs are kept for the other processes.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._by_key: dict[str, EvalLog] = {}

    def get(self, key: str, read: Callable[[], EvalLog]) -> EvalLog:
        """Return the log of a key, read by `read` where no test has asked for it yet."""
        log = self._by_key.pop(key, None)
        if log is None:
            log = self._written(key) or self._kept(key, read())
        self._by_key[key] = log  # as the last one
        for oldest in list(self._by_key)[:-MOST_HELD]:
            del self._by_key[oldest]
        return log

    def _written(self, key: str) -> EvalLog | None:
        try:
            return pickle.loads(self._file(key).read_bytes())
        except FileNotFoundError:
            return None

    def _kept(self, key: str, log: EvalLog) -> EvalLog:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self._file(key), pickle.dumps(log))
        return log

    def _file(self, key: str) -> Path:
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()}.pickle"


@contextmanager
def reading_once(shared: SharedLogs) -> Iterator[None]:
    """Read each log of a public set once, as long as the block runs."""
    read_hook_form = logs.hook_form_log

    def hook_form_log(name: str, path: Path) -> EvalLog:
        if not path.is_file():
            return read_hook_form(name, path)
        state = path.stat()
        key = f"{name} {path} {state.st_size} {state.st_mtime_ns}"
        return shared.get(key, partial(read_hook_form, name, path))

    def parts_of(name: str, make_parts: Callable[[], logs.Parts]) -> logs.Parts:
        for part, make in make_parts():
            key = f"{name} {part} {os.environ.get(DATA_VARIABLE)}"
            yield part, partial(shared.get, key, make)

    sets = {name: partial(parts_of, name, logs.LOGS[name]) for name in SLOW_SETS}
    with (
        patch.object(logs, "hook_form_log", hook_form_log),
        patch.object(session_needs, "hook_form_log", hook_form_log),
        patch.object(speech_acts, "hook_form_log", hook_form_log),
        patch.dict(logs.LOGS, sets),
    ):
        yield
