"""Keep what a comparison has finished in a folder, so that a run goes on where one ended.

Each trial has a file of its own, written whole or not at all. Its name is a hash of all
that the trial depends on: the log, the memory with its code, and the plan. A file that is
torn or of something else is told, and its trial is done again.

Processes get references to logs: a file, and the hash of its bytes. A file that changed
is refused before it is read as a log.
"""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

import theorex_lab
from theorex_lab.core.errors import InvalidInput, StorageError
from theorex_lab.core.files import write_atomically, writing
from theorex_lab.eval.adapters.protocol import EvalLog
from theorex_lab.eval.replay.baselines import Memory

_VERSION = 1
# A worker gets the trials of one log one after the other; two are read for `shuffled`.
_LOGS_AT_ONCE = 2
_CHARACTERS = 40


class LogReference(NamedTuple):
    """Where a log is, for processes that replay it.

    Attributes:
        name: The name of the log.
        file: The file that holds it.
        digest: The SHA-256 of the file's bytes.
        content: A hash of what the log says, the same in every run.
        has_needs: Whether readers wrote down what its sessions needed to know.
    """

    name: str
    file: str
    digest: str
    content: str
    has_needs: bool

    def read(self) -> EvalLog:
        """Return the log.

        Raises:
            InvalidInput: The file changed since it was written.
            StorageError: The file is gone.
        """
        return _log_of(self)


@lru_cache(maxsize=_LOGS_AT_ONCE)
def _log_of(reference: LogReference) -> EvalLog:
    try:
        data = Path(reference.file).read_bytes()
    except OSError as error:
        raise StorageError(
            f"cannot read the log {reference.name} of this comparison ({error}); run it"
            " again"
        ) from error
    # Only then is it unpickled: what others put there is never run.
    if hashlib.sha256(data).hexdigest() != reference.digest:
        raise InvalidInput(
            f"got {reference.file}, which changed since the log {reference.name} was"
            " written to it; run the comparison again"
        )
    log: EvalLog = pickle.loads(data)
    return log


def write_log(log: EvalLog, folder: Path) -> LogReference:
    """Write a log for the processes that replay it.

    Args:
        log: The log.
        folder: An existing folder.

    Raises:
        StorageError: The file cannot be written.
    """
    data = pickle.dumps(log)
    digest = hashlib.sha256(data).hexdigest()
    file = folder / f"{digest[:_CHARACTERS]}.log"
    with writing(file, "give another folder"):
        write_atomically(file, data)
    return LogReference(
        log.name, str(file), digest, content_hash(log), log.needs is not None
    )


def content_hash(log: EvalLog) -> str:
    """Return a hash of all that a log says: events, questions, lines and needs.

    >>> content_hash(EvalLog("a", [])) == content_hash(EvalLog("a", []))
    True
    >>> content_hash(EvalLog("a", [])) == content_hash(EvalLog("b", []))
    False
    """
    digest = hashlib.sha256(log.name.encode())
    for part in (log.events, log.probes, log.lines):
        digest.update(b"\0")
        for row in part:
            digest.update(_json(row))
    digest.update(_json(repr(log.needs)))
    return digest.hexdigest()


def _json(value: Any) -> bytes:
    """Return JSON in which the same value is always the same bytes."""
    text = json.dumps(value, sort_keys=True, default=_sorted, ensure_ascii=True)
    return text.encode()


def _sorted(value: Any) -> Any:
    """Return a set as a list; any other value as it is shown."""
    if isinstance(value, set | frozenset):
        return sorted(value)
    return repr(value)


def file_key(*parts: str) -> str:
    """Return the name of a file, a hash of what its content depends on.

    >>> file_key("log", "bm25") == file_key("log", "bm25")
    True
    >>> file_key("log", "bm25") == file_key("logbm25")
    False
    """
    return hashlib.sha256(_json([_VERSION, *parts])).hexdigest()[:_CHARACTERS]


def memory_code(memory: Memory) -> str:
    """Return a hash of the code that a memory runs: of this package, and of its module.

    What a module of one's own imports from elsewhere is not looked at.
    """
    module = ""
    if isinstance(memory, str):
        module = memory.partition(":")[0] if ":" in memory else ""
    else:
        module = getattr(memory, "__module__", "") or type(memory).__module__
    digest = hashlib.sha256(package_code().encode())
    if isinstance(memory, str) and not module:
        digest.update(memory.encode())
    for file in _source_of(module):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _source_of(module: str) -> Iterable[Path]:
    """Return the file of a module, where it has one outside this package."""
    is_ours = module.partition(".")[0] == theorex_lab.__name__
    if not module or is_ours:
        return ()
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        return ()
    if spec is None or not spec.origin or not Path(spec.origin).is_file():
        return ()
    return (Path(spec.origin),)


@cache
def package_code() -> str:
    """Return a hash of the source of this package."""
    folder = Path(theorex_lab.__file__).parent
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(file.relative_to(folder).as_posix().encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


class TrialFolder:
    """The folder of a comparison: its trials, a file each.

    Attributes:
        folder: The folder, which is made where it is missing.
        problems: What was wrong with files that were passed over.
    """

    def __init__(self, folder: Path) -> None:
        """Make the folder.

        Raises:
            StorageError: It cannot be made.
        """
        self.folder = folder
        self.problems: list[str] = []
        with writing(folder, "give another folder"):
            self._trials.mkdir(parents=True, exist_ok=True)

    @property
    def _trials(self) -> Path:
        return self.folder / "trials"

    def read(self, key: str, adapter: TypeAdapter[Any]) -> Any:
        """Return what was finished under a key; None where there is nothing sound."""
        file = self._file(key)
        try:
            kept_file = json.loads(file.read_bytes())
            return adapter.validate_python(kept_file["result"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, ValidationError, OSError) as error:
            reason = str(error).splitlines()[0]
            self.problems.append(f"{file} is no trial ({reason}); it was done again")
            return None

    def write(self, key: str, result: Any, adapter: TypeAdapter[Any]) -> None:
        """Keep what was finished under a key.

        Raises:
            StorageError: The file cannot be written.
        """
        values = json.loads(adapter.dump_json(result))
        data = json.dumps({"version": _VERSION, "key": key, "result": values})
        file = self._file(key)
        with writing(file, "give another folder"):
            write_atomically(file, data.encode())

    def _file(self, key: str) -> Path:
        return self._trials / f"{key}.json"
