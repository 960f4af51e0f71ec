"""EventLog sets: what a simulation's file holds, how it is written and read, and where packaged data is found."""

from __future__ import annotations

import gzip
import json
import os
import struct
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from theorex_lab.clock import EARLIEST, LATEST
from theorex_lab.errors import InvalidInput, NewerVersion, StorageError
from theorex_lab.ids import check_agent, check_session
from theorex_lab.journal.files import write_atomically

Kind = Literal["commit", "tool", "failure", "fix", "decision", "fact"]
KINDS: tuple[str, ...] = get_args(Kind)
FILE_VERSION = 1
DATA_VARIABLE = "THEOREX_DATA"
_PACKAGE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Activity:
    """One thing that an agent did.

    at: microseconds UTC.  agent, session: who, and in which sitting.  kind: one of KINDS.  text: what was done or noted.
    files: (status A, M or D; path) of a commit, 1 to 20, a rename being a D and an A; empty for the other kinds.
    success: of a tool call (also a failed one), a failure (False) or a fix (False: it did not hold); else None.
    topic: what the work was on.  tags: `trace_fix` on a fix; `cause:<name>` shared by a failure and its fixes.
    """

    at: int
    agent: str
    session: str
    kind: Kind
    text: str
    files: tuple[tuple[str, str], ...]
    success: bool | None
    topic: str
    tags: tuple[str, ...]


def save(activities: Sequence[Activity], path: str | Path, *, seed: int, days: int) -> None:
    """Write activities as gzipped JSON Lines, the first line being a header; the same bytes on every machine.

    The gzip blocks are stored and not compressed, because builds of zlib compress differently.
    Raises StorageError where the file cannot be written.
    """
    header = {"simulation": True, "seed": seed, "days": days, "version": FILE_VERSION}
    lines = [header, *(asdict(activity) for activity in activities)]
    text = "".join(json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=True) + "\n" for line in lines)
    try:
        write_atomically(Path(path), _stored_gzip(text.encode("ascii")))
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error}; allowed is a file in a folder that exists") from error


def _stored_gzip(data: bytes) -> bytes:
    """RFC 1952 and RFC 1951 (3.2.4) with stored blocks: no time, no file name, operating system unknown."""
    parts = [b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"]
    for first in range(0, len(data), 65_535):
        block = data[first : first + 65_535]
        parts += [struct.pack("<BHH", first + 65_535 >= len(data), len(block), len(block) ^ 0xFFFF), block]
    return b"".join([*parts, struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)])


def load(path: str | Path) -> list[Activity]:
    """The activities of a file that `save` wrote, in the order of time.

    Raises InvalidInput for a file that cannot be read or is no simulation, and for the damaged lines, each with its
    number and the reason; NewerVersion for a file of a newer release.
    """
    lines = _read_lines(Path(path))
    read_header(path, lines)
    activities, wrong = [], []
    for number, line in enumerate(lines[1:], start=2):
        try:
            activities.append(_activity(json.loads(line)))
            if len(activities) > 1 and activities[-1].at < activities[-2].at:
                wrong.append(f"line {number}: earlier than the line before")
        except (ValueError, RecursionError) as error:
            wrong.append(f"line {number}: {error}")
    if wrong:
        more = f"; and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        raise InvalidInput(
            f"{path} has {len(wrong)} damaged lines; restore or regenerate it: {'; '.join(wrong[:5])}{more}"
        )
    return activities


def read_header(path: str | Path, lines: Sequence[str] | None = None) -> dict[str, Any]:
    """The header of a simulation's file: simulation (True), seed, days and version. Raises as `load` does."""
    lines = _read_lines(Path(path)) if lines is None else lines
    try:
        header = json.loads(lines[0])
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path}: line 1: {error}; allowed is the header of a simulation") from error
    if not isinstance(header, dict) or header.get("simulation") is not True or type(header.get("version")) is not int:
        raise InvalidInput(
            f"{path}: line 1 is not the header of a simulation, such as {{'simulation': true, 'version': 1}}"
        )
    if header["version"] > FILE_VERSION:
        raise NewerVersion(
            f"{path} has version {header['version']}; this release reads up to {FILE_VERSION}: upgrade it"
        )
    return header


def _read_lines(path: Path) -> list[str]:
    try:
        return gzip.decompress(path.read_bytes()).decode("utf-8").removesuffix("\n").split("\n")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read as gzipped JSON Lines: {error}; restore or regenerate it") from error


def _activity(line: Any) -> Activity:
    """One line as an activity. Raises ValueError naming the first field that is wrong."""
    names = Activity.__slots__
    if not isinstance(line, dict) or sorted(line) != sorted(names):
        raise ValueError(f"allowed is an object with exactly {', '.join(sorted(names))}")
    files, tags, success = line["files"], line["tags"], line["success"]
    pairs = isinstance(files, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in files)
    rules: dict[str, bool] = {
        "at (whole microseconds, years 1 to 9999)": type(line["at"]) is int and EARLIEST <= line["at"] <= LATEST,
        f"kind ({', '.join(KINDS)})": line["kind"] in KINDS,
        "text and topic (text)": all(isinstance(line[name], str) and line[name] for name in ("text", "topic")),
        "success (true, false or null)": success is None or isinstance(success, bool),
        "tags (texts)": isinstance(tags, list) and all(isinstance(tag, str) for tag in tags),
        "files (pairs of A, M or D and a path)": pairs
        and all(status in ("A", "M", "D") and isinstance(path, str) and path for status, path in files),
    }
    wrong = [rule for rule, holds in rules.items() if not holds]
    if wrong:
        raise ValueError(f"wrong are {'; '.join(wrong)}")
    check_agent(line["agent"])
    check_session(line["session"])
    return Activity(**line | {"files": tuple((status, path) for status, path in files), "tags": tuple(tags)})


def packaged(name: str) -> Path:
    """The path of a recorded file that comes with the project: in the repository's datasets/, or in the package.

    Raises InvalidInput for a name that is a path, and for a file that is in neither place.

    >>> packaged("simulated_team.jsonl.gz").name
    'simulated_team.jsonl.gz'
    """
    if not isinstance(name, str) or not name or name in (".", "..") or set(name) & set("/\\:\0"):
        raise InvalidInput(
            f"got the packaged file {name!r}; allowed is a plain file name such as simulated_team.jsonl.gz"
        )
    folders = (_PACKAGE.parent / "datasets", _PACKAGE / "_share" / "datasets")
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    raise InvalidInput(f"got the packaged file {name!r}; it is neither in {folders[0]} nor in {folders[1]}")


def data_folder() -> Path | None:
    """The user's own data folder, named by the environment variable THEOREX_DATA; None where that is not set.

    Raises InvalidInput where it is set to something that is no folder.
    """
    given = os.environ.get(DATA_VARIABLE, "")
    if not given:
        return None
    folder = Path(given).expanduser()
    if not folder.is_dir():
        raise InvalidInput(
            f"{DATA_VARIABLE} is {given!r}, which does not exist as a folder; create it, correct it, or unset {DATA_VARIABLE}"
        )
    return folder


def describe_source(path: str | Path) -> str:
    """One sentence that names the data at `path`: a simulation (so its header says), packaged, or the user's own.

    Raises InvalidInput where there is nothing at `path`.

    >>> describe_source(packaged("simulated_team.jsonl.gz"))
    'Data: a simulation of a small team of agents (simulated_team.jsonl.gz, seed 7, 180 days), not recorded work.'
    """
    source = Path(path)
    if not source.exists():
        raise InvalidInput(f"got the data {source}, which does not exist; give a file or a folder that does")
    header = _simulation_header(source)
    if header:
        which = f"{source.name}, seed {header.get('seed')}, {header.get('days')} days"
        return f"Data: a simulation of a small team of agents ({which}), not recorded work."
    if source.resolve().parent in (_PACKAGE.parent / "datasets", _PACKAGE / "_share" / "datasets"):
        return f"Data: {source.name}, recorded and packaged by the project."
    folder = data_folder()
    if folder and source.resolve().is_relative_to(folder.resolve()):
        return f"Data: your own, {source} in the folder that {DATA_VARIABLE} names."
    return f"Data: {source}, chosen by you."


def _simulation_header(path: Path) -> dict[str, Any] | None:
    """The header where the file begins as a simulation's; None for anything else."""
    if not path.is_file() or not path.name.endswith(".jsonl.gz"):
        return None
    try:
        return read_header(path)
    except InvalidInput:
        return None
