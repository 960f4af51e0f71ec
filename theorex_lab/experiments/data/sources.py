"""What a simulation's file holds, how it is read, and where packaged data is found."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, ConfigDict, Field

from theorex_lab.clock import EARLIEST, LATEST
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data import recorded_lines
from theorex_lab.ids import check_agent, check_session

SourceKind = Literal["commit", "tool", "failure", "fix", "decision", "fact"]
KINDS: tuple[str, ...] = get_args(SourceKind)
DATA_VARIABLE = "THEOREX_DATA"
_MARK, _FILE_VERSION = {"simulation": True}, 1
_PACKAGE = Path(__file__).resolve().parents[2]
_FOLDERS = (_PACKAGE.parent / "datasets", _PACKAGE / "_share" / "datasets")
_Text = Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Activity:
    """One thing that an agent did.

    at: microseconds UTC.  agent, session: who, and in which sitting.  kind: one of KINDS.  text: what was done or noted.
    files: (status A, M or D; path) of a commit, 1 to 20, a rename being a D and an A; empty for the other kinds.
    success: of a tool call (also a failed one), a failure (False) or a fix (False: it did not hold); else None.
    topic: what the work was on.  tags: `trace_fix` on a fix; `cause:<name>` shared by a failure and its fixes.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    at: Annotated[int, Field(ge=EARLIEST, le=LATEST)]
    agent: Annotated[str, AfterValidator(check_agent)]
    session: Annotated[str, AfterValidator(check_session)]
    kind: SourceKind
    text: _Text
    files: tuple[tuple[Annotated[str, Field(pattern="^[AMD]$")], _Text], ...]
    success: bool | None
    topic: _Text
    tags: tuple[str, ...]


def load(path: str | Path) -> list[Activity]:
    """The activities of a simulation's file, in the order of time.

    Raises InvalidInput for a file that cannot be read or is no simulation, and for the damaged lines, each with its
    number and the reason; NewerVersion for a file of a newer release.
    """
    _, activities = recorded_lines.read_lines(path, Activity, _MARK, _FILE_VERSION)
    early = [number for number, (before, after) in enumerate(pairwise(activities), start=3) if after.at < before.at]
    if early:
        raise recorded_lines.damaged(path, [f"line {number}: earlier than the line before" for number in early])
    return activities


def read_header(path: str | Path, **mark: str) -> dict[str, Any]:
    """The header of a simulation's file: simulation (True), seed, days, version, and `mark`. Raises as `load` does."""
    return recorded_lines.read_header(path, _MARK | mark, _FILE_VERSION)


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
    for folder in _FOLDERS:
        if (folder / name).is_file():
            return folder / name
    raise InvalidInput(f"got the packaged file {name!r}; it is neither in {_FOLDERS[0]} nor in {_FOLDERS[1]}")


def data_folder() -> Path | None:
    """The user's own data folder, named by the environment variable THEOREX_DATA; None where that is not set.

    Raises InvalidInput where it is set to something that is no folder.
    """
    if not (given := os.environ.get(DATA_VARIABLE, "")):
        return None
    folder = Path(given).expanduser()
    if not folder.is_dir():
        raise InvalidInput(f"{DATA_VARIABLE} is {given!r}, which does not exist as a folder; create, mend or unset it")
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
    if header := _simulation_header(source):
        which = f"{source.name}, seed {header.get('seed')}, {header.get('days')} days"
        return f"Data: a simulation of {header.get('of', 'a small team of agents')} ({which}), not recorded work."
    if source.resolve().parent in _FOLDERS:
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
