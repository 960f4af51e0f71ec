"""Read recorded files, and find where data is.

Recorded files are gzipped JSON Lines, a header and then records of one type; a
simulation's are alike.
"""

import gzip
import json
import os
import zlib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError

from theorex_lab.core.clock import EARLIEST, LATEST
from theorex_lab.core.errors import InvalidInput, NewerVersion
from theorex_lab.core.ids import check_agent, check_session

SourceKind = Literal["commit", "tool", "failure", "fix", "decision", "fact"]
KINDS: tuple[str, ...] = get_args(SourceKind)
DATA_VARIABLE = "THEOREX_DATA"
_MARK = {"simulation": True}
_FILE_VERSION = 1
_PACKAGE = Path(__file__).resolve().parents[2]
_FOLDERS = (
    _PACKAGE.parent / "datasets",
    _PACKAGE / "_share" / "datasets",
)
_SHOWN_DAMAGES = 5
T = TypeVar("T")
_Text = Annotated[str, Field(min_length=1)]
_Time = Annotated[int, Field(ge=EARLIEST, le=LATEST)]
_Agent = Annotated[str, AfterValidator(check_agent)]
_Session = Annotated[str, AfterValidator(check_session)]
_Status = Annotated[str, Field(pattern="^[AMD]$")]


@dataclass(frozen=True, slots=True)
class Activity:
    """One thing that an agent did.

    Attributes:
        at: When it was, in µs UTC.
        agent: Who did it.
        session: In which sitting.
        kind: One of KINDS.
        text: What was done or noted.
        files: (status A, M or D; path) of a commit, 1 to 20, a rename being a D and an
            A; empty for the other kinds.
        success: Of a tool call (also a failed one), a failure (False) or a fix (False:
            it did not hold); else None.
        topic: What the work was on.
        tags: `trace_fix` on a fix; `cause:<name>` shared by a failure and its fixes.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    at: _Time
    agent: _Agent
    session: _Session
    kind: SourceKind
    text: _Text
    files: tuple[tuple[_Status, _Text], ...]
    success: bool | None
    topic: _Text
    tags: tuple[str, ...]


def load(path: str | Path) -> list[Activity]:
    """Return the activities of a simulation's file, in the order of time.

    Raises:
        InvalidInput: The file cannot be read or is no simulation, or lines are damaged;
            each is named with its number and the reason.
        NewerVersion: The file is of a newer release.
    """
    _, activities = read_lines(path, Activity, _MARK, _FILE_VERSION)
    wrong = []
    for number, (before, after) in enumerate(pairwise(activities), start=3):
        if after.at < before.at:
            wrong.append(f"line {number}: earlier than the line before")
    if wrong:
        raise damaged(path, wrong)
    return activities


def read_header(path: str | Path, *, of: str | None = None) -> dict[str, Any]:
    """Return the header of a simulation's file.

    It has simulation (True), seed, days, version, and `of` where that is given.

    Args:
        path: The file.
        of: What the simulation must be of.

    Raises:
        InvalidInput: As `load` does.
    """
    mark: dict[str, Any] = dict(_MARK)
    if of is not None:
        mark["of"] = of
    first_line = _read(path)[0]
    return _header(path, first_line, mark, _FILE_VERSION)


def packaged(name: str) -> Path:
    """Return the path of a recorded file that comes with the project.

    It lies in the repository's datasets/, or in the package.

    Args:
        name: The name of the file, without a folder.

    Raises:
        InvalidInput: The name is a path, or the file is in neither place.

    >>> packaged("simulated_team.jsonl.gz").name
    'simulated_team.jsonl.gz'
    """
    got = f"got the packaged file {name!r}"
    if (
        not isinstance(name, str)
        or not name
        or name in (".", "..")
        or set(name) & set("/\\:\0")
    ):
        raise InvalidInput(
            f"{got}; allowed is a plain file name such as simulated_team.jsonl.gz"
        )
    for folder in _FOLDERS:
        if (folder / name).is_file():
            return folder / name
    in_repository, in_package = _FOLDERS
    raise InvalidInput(f"{got}; it is neither in {in_repository} nor in {in_package}")


def data_folder() -> Path | None:
    """Return the user's own data folder; None where it is not set.

    The environment variable THEOREX_DATA names it.

    Returns:
        The folder, which exists.

    Raises:
        InvalidInput: The variable is set to something that is no folder.
    """
    value = os.environ.get(DATA_VARIABLE, "")
    if not value:
        return None
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise InvalidInput(
            f"{DATA_VARIABLE} is {value!r}, which does not exist as a folder; create,"
            " mend or unset it"
        )
    return folder


def describe_source(path: str | Path) -> str:
    """Return one sentence that names the data at `path`.

    It is a simulation (so its header says), packaged, or the user's own.

    Raises:
        InvalidInput: There is nothing at `path`.

    >>> describe_source(packaged("simulated_team.jsonl.gz"))[:48]
    'Data: a simulation of a small team of agents (si'
    """
    source = Path(path)
    if not source.exists():
        raise InvalidInput(
            f"got the data {source}, which does not exist; give a file or a folder that"
            " does"
        )
    header = _simulation_header(source)
    if header:
        subject = header.get("of", "a small team of agents")
        seed = header.get("seed")
        days = header.get("days")
        return (
            f"Data: a simulation of {subject}"
            f" ({source.name}, seed {seed}, {days} days), not recorded work."
        )
    resolved = source.resolve()
    if resolved.parent in _FOLDERS:
        return f"Data: {source.name}, recorded and packaged by the project."
    folder = data_folder()
    if folder and resolved.is_relative_to(folder.resolve()):
        return f"Data: your own, {source} in the folder that {DATA_VARIABLE} names."
    return f"Data: {source}, chosen by you."


def is_simulation(path: str | Path) -> bool:
    """Return whether a file says of itself that it is a simulation.

    >>> is_simulation(packaged("simulated_team.jsonl.gz")), is_simulation("nowhere")
    (True, False)
    """
    return bool(_simulation_header(Path(path)))


def _simulation_header(path: Path) -> dict[str, Any] | None:
    """Return the header where the file begins as a simulation's, else None."""
    if not path.is_file() or not path.name.endswith(".jsonl.gz"):
        return None
    try:
        return read_header(path)
    except InvalidInput:
        return None


def read_lines(
    path: str | Path,
    record: type[T],
    mark: dict[str, Any],
    version: int,
) -> tuple[dict[str, Any], list[T]]:
    """Return the header, which holds `mark`, and the records of such a file.

    Raises:
        InvalidInput: The file cannot be read or has another header, or lines are
            damaged; each is named with its number and the reason.
        NewerVersion: The file is of a newer release than `version`.
    """
    lines = _read(path)
    header = _header(path, lines[0], mark, version)
    adapter = TypeAdapter(record)
    records = []
    wrong = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            records.append(adapter.validate_json(line, strict=True))
        except ValidationError as error:
            wrong.append(f"line {number}: {_told(error)}")
    if wrong:
        raise damaged(path, wrong)
    return header, records


def damaged(path: str | Path, wrong: list[str]) -> InvalidInput:
    """Return the error that names the first few damaged lines; the caller raises it."""
    more = ""
    if len(wrong) > _SHOWN_DAMAGES:
        more = f"; and {len(wrong) - _SHOWN_DAMAGES} more"
    first_problems = "; ".join(wrong[:_SHOWN_DAMAGES])
    return InvalidInput(
        f"{path} has {len(wrong)} damaged lines; restore it or make it again:"
        f" {first_problems}{more}"
    )


def _read(path: str | Path) -> list[str]:
    try:
        content = gzip.decompress(Path(path).read_bytes())
        text = content.decode("utf-8")
        return text.removesuffix("\n").split("\n")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{path} cannot be read as recorded lines: {error}; restore it or make it"
            " again"
        ) from error


def _header(
    path: str | Path,
    line: str,
    mark: dict[str, Any],
    version: int,
) -> dict[str, Any]:
    """Return the header in a line.

    Raises:
        InvalidInput: It is no header with this mark and a version.
        NewerVersion: Its version is above this one.
    """
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        header = None
    if (
        not isinstance(header, dict)
        or type(header.get("version")) is not int
        or not mark.items() <= header.items()
    ):
        raise InvalidInput(
            f"{path}: got line 1 {line:.60}; allowed is a header with {mark} and a"
            " version"
        )
    if header["version"] > version:
        raise NewerVersion(
            f"{path} has version {header['version']}; this release reads up to"
            f" {version}: upgrade it"
        )
    return header


def _told(error: ValidationError) -> str:
    """Return in words where the first error is, and what it is."""
    first = error.errors(include_url=False)[0]
    parts = [*first["loc"], first["msg"]]
    return ": ".join(str(part) for part in parts)
