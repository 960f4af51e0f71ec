"""Rebuild a log from the transcripts that were published in a repository.

The recorded log was made from them by another program, and has no public address. What
is rebuilt here holds the same sessions under the same ids, in the same form: prompts,
tools, and the last message of each turn, masked and cut at the same lengths. It is not
byte for byte the same, so figures on it are its own.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path, PurePosixPath

from theorex_lab.core.clock import LATEST, to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.files import write_atomically, writing
from theorex_lab.core.git_download import download_commit
from theorex_lab.core.progress import bar
from theorex_lab.eval.datasets import dataset_files
from theorex_lab.eval.datasets.dataset_table import DatasetInfo
from theorex_lab.files.transcripts.captures import TimedCapture, timed_captures
from theorex_lab.files.transcripts.folders import SourceLine, Transcript
from theorex_lab.files.transcripts.messages import Row
from theorex_lab.files.transcripts.specstory import (
    SessionPart,
    SpecStory,
    command_in,
    session_parts,
)
from theorex_lab.text.redact.masking import mask

# Grows where the reader of transcripts tells something else: then logs are rebuilt.
_VERSION = 2
_SESSION_DIGITS = 12
_PROMPT_CHARACTERS = 6_000
_MESSAGE_CHARACTERS = 4_000
_RESPONSE_CHARACTERS = 1_200
_READ_CHARACTERS = 300
_HOME = re.compile(r"(?<![\w.])/(?:Users|home)/[\w.-]+")
_INPUT_MEMBERS = ("file_path", "command", "description", "query", "pattern", "path")


def rebuilt_file(info: DatasetInfo) -> Path | None:
    """Return the rebuilt log of a set in the cache; None where there is none."""
    if info.transcripts is None:
        return None
    path = dataset_files.cache_folder() / info.name / info.transcripts.name
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            header = json.loads(lines.readline())
    except (OSError, EOFError, ValueError):
        return None
    is_current = isinstance(header, dict) and header.get("rebuilt") == _header(info)
    return path if is_current else None


def unread_of(path: Path) -> int:
    """Return of how many places a rebuilt log says that they could not be read.

    Args:
        path: The log, as `rebuild_log` gives it.
    """
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        header = json.loads(lines.readline())
    return len(header["unread"])


def rebuild_log(info: DatasetInfo, *, progress: bool | None = None) -> Path:
    """Return the rebuilt log of a set, from the cache or from its repository.

    Args:
        info: The set; it has transcripts.
        progress: Show a bar; None in a terminal or notebook.

    Raises:
        StorageError: The repository cannot be downloaded, or the log cannot be kept.
        InvalidInput: The commit has no transcripts there.
    """
    path = rebuilt_file(info)
    if path is not None:
        return path
    assert info.transcripts is not None
    address = f"{info.transcripts.host}/{info.repository}"
    files = download_commit(address, info.commit, info.transcripts.folders)
    transcripts = {}
    for name, data in files.items():
        if name.lower().endswith(".md"):
            transcripts[name] = data
    if not transcripts:
        folders = ", ".join(info.transcripts.folders)
        raise InvalidInput(
            f"{address} at {info.commit} has no transcripts in {folders}; allowed are"
            " SpecStory's .md files; report this"
        )
    _, _, repository_name = info.repository.rpartition("/")
    reading = _Rebuilding(repository_name)
    rows = _rows_of_all(transcripts, reading, progress=progress)
    header = {"rebuilt": _header(info), "unread": reading.unread}
    lines = [json.dumps(header, ensure_ascii=False)]
    for row in rows:
        line = json.dumps(row, ensure_ascii=False)
        lines.append(line)
    text = "\n".join(lines) + "\n"
    content = text.encode("utf-8", "replace")
    path = dataset_files.cache_folder() / info.name / info.transcripts.name
    with writing(path, "make room or allow it"):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, gzip.compress(content, mtime=0))
    return path


def _header(info: DatasetInfo) -> Row:
    """Return what a rebuilt log is of."""
    return {
        "repository": info.repository,
        "commit": info.commit,
        "version": _VERSION,
    }


def _rows_of_all(
    transcripts: dict[str, bytes],
    reading: _Rebuilding,
    *,
    progress: bool | None,
) -> list[Row]:
    """Return the rows of all sessions, in the order in which they began."""
    sessions: list[list[Row]] = []
    n_files = len(transcripts)
    progress_bar = bar(n_files, unit="file", what="transcripts", progress=progress)
    with closing(progress_bar):
        for name in sorted(transcripts):
            rows = reading.rows_of(name, transcripts[name])
            if rows:
                sessions.append(rows)
            progress_bar.update(1)
    sessions.sort(key=_begin_of)
    all_rows: list[Row] = []
    for rows in sessions:
        all_rows += rows
    return all_rows


def _begin_of(rows: list[Row]) -> tuple[str, str]:
    """Return when a session began, and its id."""
    first_row = rows[0]
    return first_row["at"], first_row["session"]


class _Rebuilding:
    """Reads transcripts one by one; a session may stand in two of them.

    Attributes:
        unread: What could not be read to its end, a line each: file, line and why.

    Args:
        repository_name: The name of the repository.
    """

    def __init__(self, repository_name: str) -> None:
        self._root = Path("/", repository_name)
        # What was told already, by session and own id.
        self._ids: set[tuple[str, str]] = set()
        self.unread: list[str] = []

    def rows_of(self, name: str, data: bytes) -> list[Row]:
        """Return the rows of a transcript, none where it tells nothing new.

        Args:
            name: Its path in the repository.
            data: Its content.
        """
        project, _, _ = f"/{name}".partition("/.specstory/")
        inside = project.strip("/")
        text = data.decode("utf-8-sig", "replace")
        agent = ""
        lines = []
        parts = list(session_parts(text, self._root / name, inside=inside))
        _show_commands(parts)
        for part in parts:
            if part.problem:
                self.unread.append(f"{name}:{part.line}: {part.problem}")
            agent = agent or part.row.get("agent", "")
            if not part.row.get("helper"):  # what sub-agents do is left out
                line = SourceLine(part.line, b"", True, part.row)
                lines.append(line)
        stem = PurePosixPath(name).stem
        rows = []
        began_at = 0
        for capture in self._new_captures(name, stem, lines):
            # Some programs state one time for all prompts, before the session's.
            began_at = began_at or capture.at
            at = max(capture.at, began_at)
            row = _row(capture._replace(at=at), agent, inside)
            rows.append(row)
        names = {row["hook_event_name"] for row in rows}
        if names <= {"SessionStart"}:
            return []
        end = _start_of(rows[-1])
        end["hook_event_name"] = "SessionEnd"
        return [*rows, end]

    def _new_captures(
        self,
        name: str,
        stem: str,
        lines: list[SourceLine],
    ) -> Iterator[TimedCapture]:
        """Yield what a transcript tells and no other one before it."""

        def note(line: int | str, why: str) -> None:
            self.unread.append(f"{name}:{line}: {why}")

        transcript = Transcript(SpecStory(stem), iter(lines))
        captures = timed_captures(
            transcript,
            0,
            is_over=lambda _: True,
            problem=note,
        )
        for capture in captures:
            key = (capture.said.session, capture.said.own)
            if key not in self._ids:
                self._ids.add(key)
                yield capture


def _show_commands(parts: list[SessionPart]) -> None:
    """Make commands and their texts prompts, as the recorded log has them.

    A command that stands for no text, such as `/exit`, stays none.
    """
    for part, following in pairwise(parts):
        if following.row.get("is_expansion"):
            following.row["kind"] = "prompt"
            command = command_in(part.row.get("text", ""))
            if command:
                part.row["text"] = command


def _start_of(row: Row) -> Row:
    return {"session": row["session"], "at": row["at"]}


def _row(capture: TimedCapture, agent: str, project: str) -> Row:
    """Return what a transcript tells as a line of the recorded log."""
    hook = capture.said.hook
    name = hook["hook_event_name"]
    session = hashlib.sha256(capture.said.session.encode()).hexdigest()
    row: Row = {
        "session": session[:_SESSION_DIGITS],
        "at": to_iso(min(capture.at, LATEST)),
        "hook_event_name": name,
    }
    if name == "SessionStart":
        row["agent"] = agent
        row["cwd"] = project or "."
    elif name == "UserPromptSubmit":
        row["prompt"] = _clean(hook["prompt"], _PROMPT_CHARACTERS)
    elif name == "Stop":
        row["agent_text"] = _clean(hook["last_assistant_message"], _MESSAGE_CHARACTERS)
    else:
        row.update(_tool_members(hook))
    return row


def _tool_members(hook: Row) -> Row:
    """Return what a line holds of a call."""
    longest = _READ_CHARACTERS if hook["reads"] else _RESPONSE_CHARACTERS
    tool_input = {
        name: _clean(str(value), _RESPONSE_CHARACTERS)
        for name, value in hook["tool_input"].items()
        if name in _INPUT_MEMBERS
    }
    members: Row = {"tool_name": hook["tool_name"], "tool_input": tool_input}
    answer = "error" if "error" in hook else "tool_response"
    members[answer] = _clean(hook[answer], longest)
    for name in ("reads", "edits"):
        if hook[name]:
            members[name] = hook[name]
    return members


def _clean(text: str, longest: int) -> str:
    """Return a text cut, without secrets and home folders."""
    start = text[: 2 * longest]
    masked = mask(_HOME.sub("~", start))
    return masked[:longest]
