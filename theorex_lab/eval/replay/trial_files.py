"""Keep what a comparison has finished in a folder, so that a run goes on where one ended.

Each trial has a file of its own, written whole or not at all. Its name is a hash of all
that the trial depends on: the log, the memory with its code, and the plan. A file that is
torn or of something else is told, and its trial is done again.

Processes get references to logs: a file, and the hash of its bytes. A file that changed
is refused before it is read as a log.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pickle
import sys
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

import theorex_lab
from theorex_lab.core.errors import InvalidInput, StorageError
from theorex_lab.core.files import told, write_atomically, writing
from theorex_lab.eval.adapters.named import ADAPTERS
from theorex_lab.eval.adapters.protocol import EvalLog
from theorex_lab.eval.replay.baselines import Memory

_VERSION = 3
# A worker gets the trials of one log one after the other; two are read for `shuffled`.
_LOGS_AT_ONCE = 2
_CHARACTERS = 40
NOT_KEPT = (
    "what it depends on cannot be read from a file; a class that is named module:Name"
    " is kept"
)


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

    def read(self) -> Any:
        """Return the log.

        Raises:
            InvalidInput: The file changed since it was written.
            StorageError: The file is gone.
        """
        return _log_of(self)


@lru_cache(maxsize=_LOGS_AT_ONCE)
def _log_of(reference: LogReference) -> Any:
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
    return pickle.loads(data)


def write_log(log: EvalLog, folder: Path) -> LogReference:
    """Write a log for the processes that replay it.

    Args:
        log: The log.
        folder: An existing folder.

    Raises:
        StorageError: The file cannot be written.
    """
    content = content_hash(log)
    return write_source(
        log, log.name, folder, content=content, has_needs=log.needs is not None
    )


def write_source(
    source: object, name: str, folder: Path, *, content: str, has_needs: bool = False
) -> LogReference:
    """Write what processes read, a log of events or of accesses.

    Args:
        source: The log.
        name: Its name.
        folder: An existing folder.
        content: A hash of what it says.
        has_needs: Whether it holds needs of sessions.

    Raises:
        StorageError: The file cannot be written.
    """
    data = pickle.dumps(source)
    digest = hashlib.sha256(data).hexdigest()
    file = folder / f"{digest[:_CHARACTERS]}.log"
    with writing(file, "give another folder"):
        write_atomically(file, data)
    return LogReference(name, str(file), digest, content, has_needs)


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
    digest.update(b"\0")
    digest.update(_json(log.needs))
    return digest.hexdigest()


def _json(value: Any) -> bytes:
    """Return JSON in which the same value is always the same bytes."""
    text = json.dumps(value, sort_keys=True, default=_sorted, ensure_ascii=True)
    return text.encode()


def _sorted(value: Any) -> Any:
    """Return a set as a sorted list, a dataclass by its fields, another as it is shown.

    The text of a set is another one in each process, so no set is shown as it is.
    """
    if isinstance(value, set | frozenset):
        return sorted(value)
    if dataclasses.is_dataclass(value):
        members = dict[str, Any]()
        for field in dataclasses.fields(value):
            members[field.name] = getattr(value, field.name)
        return members
    return repr(value)


def file_key(*parts: str) -> str:
    """Return the name of a file, a hash of what its content depends on.

    >>> file_key("log", "bm25") == file_key("log", "bm25")
    True
    >>> file_key("log", "bm25") == file_key("logbm25")
    False
    """
    return hashlib.sha256(_json([_VERSION, *parts])).hexdigest()[:_CHARACTERS]


def memory_code(memory: Memory | Callable[[], Any]) -> str | None:
    """Return a hash of what a memory is: its name, this package, and its own module.

    What a module of one's own imports from elsewhere is not looked at, nor the program
    that an MCP server runs.

    Returns:
        The hash; None where two memories cannot be distinguished: for an object, a
        function or class that is in no module's file under its name (of a notebook, a
        lambda), and a memory that reads files which may change.
    """
    name = memory if isinstance(memory, str) else _importable_name(memory)
    files = None if name is None else _files_behind(name)
    if name is None or files is None:
        return None
    digest = hashlib.sha256(package_code().encode())
    digest.update(name.encode())
    for file in files:
        with told(f"cannot read {file}", "give a file that can be read"):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _files_behind(name: str) -> Iterable[Path] | None:
    """Return the files that a memory of this name is; None where they may change.

    Args:
        name: The name of a memory, or `module:Name`.
    """
    prefix, _, rest = name.partition(":")
    adapter = ADAPTERS.get(prefix)
    if adapter is None:
        module = prefix if rest else ""
        return _source_of(module)
    if prefix == "mcp":
        server = Path(rest)
        return (server.expanduser(),)
    return None if adapter.takes else ()


def _importable_name(memory: Any) -> str | None:
    """Return module:Name of a class or function; None where that is not what it is."""
    module = getattr(memory, "__module__", "")
    name = getattr(memory, "__qualname__", "")
    if module == "__main__":
        return None
    loaded = sys.modules.get(module)
    if getattr(loaded, name, None) is not memory:
        return None
    if _is_ours(module) or _source_of(module):
        return f"{module}:{name}"
    return None


def _is_ours(module: str) -> bool:
    room, _, _ = module.partition(".")
    return room == theorex_lab.__name__


def _source_of(module: str) -> Iterable[Path]:
    """Return the file of a module, where it has one outside this package."""
    if not module or _is_ours(module):
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


def _check_head(kept_file: Any, key: str) -> None:
    """Raise ValueError unless a file is of this version and of this key."""
    version = kept_file["version"]
    if version != _VERSION:
        raise ValueError(f"version {version!r}, allowed is {_VERSION}")
    kept_key = kept_file["key"]
    if kept_key != key:
        raise ValueError(f"it is the trial {kept_key!r}")


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

    def add_problem(self, problem: str) -> None:
        """Tell a problem, once."""
        if problem not in self.problems:
            self.problems.append(problem)

    def read(self, key: str, adapter: TypeAdapter[Any]) -> Any:
        """Return what was finished under a key; None where there is nothing sound."""
        file = self._file(key)
        try:
            kept_file = json.loads(file.read_bytes())
            _check_head(kept_file, key)
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
        # As Python values, so that NaN and half a letter stay what they are.
        values = adapter.dump_python(result, mode="json")
        data = json.dumps({"version": _VERSION, "key": key, "result": values})
        file = self._file(key)
        with writing(file, "give another folder"):
            write_atomically(file, data.encode())

    def _file(self, key: str) -> Path:
        return self._trials / f"{key}.json"
