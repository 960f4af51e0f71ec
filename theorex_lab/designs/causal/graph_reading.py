"""Read the files of a memory graph, whoever wrote them.

A file is somebody's: its lines are checked one by one. A line that cannot be an event
is reported and kept as it stands, so that it is written again. A line that is no JSON
is reported.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from theorex_lab.core.clock import to_microseconds
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_agent, derived_event_id
from theorex_lab.designs.causal.capture import EVENT_TYPE, asset_id, checked_id
from theorex_lab.designs.causal.genes import checked_asset
from theorex_lab.designs.causal.graph import Graph
from theorex_lab.designs.causal.graph_files import (
    ASSET_FILES,
    DERIVED_KINDS,
    GRAPH_FILE,
    KEPT_KIND,
    LINE_KINDS,
    STATE_FILE,
    JsonObject,
    asset_document,
    state_document,
)
from theorex_lab.designs.causal.graph_members import (
    check_plain,
    checked_object,
    event_members,
)
from theorex_lab.files.formats.flat_files import (
    ImportRemark,
    append_new,
    parse_object,
    read_lines,
)
from theorex_lab.files.formats.foreign import read_file
from theorex_lab.files.formats.reports import ImportOptions, Reports, each_file
from theorex_lab.journal.event import Body, Event, check_event, encode, new_event
from theorex_lab.memory.contract import Home
from theorex_lab.text.redact.redaction_scope import kept_value

# The file that `theorex export` writes for the design.
RECORDS_FILE = "causal.jsonl"
_FILE_NAMES = (GRAPH_FILE, *ASSET_FILES, STATE_FILE)
_MOST_FILE_BYTES = 256 * 1024 * 1024
_MOST_LINE_BYTES = 512_000
# An id that was drawn by chance: no step of a home takes the same.
_DRAWN_ID = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
)
_CLOSED = LINE_KINDS["outcome"]
# An event with the number of records that it stands for.
Placed = Iterator[tuple[Event, int]]


class _Line(NamedTuple):
    """Hold a line that can be an event.

    Attributes:
        number: Its number in the file.
        id: Its id.
        kind: The kind of the event.
        at: When it was, in µs UTC.
        record: The line, its secrets masked.
    """

    number: int
    id: str
    kind: str
    at: int
    record: JsonObject


def import_graph(
    home: Home, path: Path, *, agent: str = "main", trusted: bool = False
) -> Reports:
    """Take in the files of a folder, or one file; what is here stays as it is.

    Args:
        home: Where they are taken in.
        path: The folder, or a file by one of the document's names.
        agent: Whose the records are.
        trusted: Whether the files are one's own. Otherwise all is an import's word: it
            is no evidence, and closes no attempt of the home.

    Returns:
        What became of each file.

    Raises:
        InvalidInput: The agent is outside the rule, or there is no such file.
        StorageError: A file cannot be read, or the disk is full.
    """
    _ = home.designs  # the designs bring the kinds of events
    options = ImportOptions(
        home.settings, home.clock.now(), check_agent(agent), trusted=trusted
    )

    def take(file: Path, problems: list[str]) -> tuple[int, int]:
        return _FileReading(home, options, problems).take(file)

    return each_file(path, _files_in(path), take)


def graph_files_at(path: Path) -> list[Path]:
    """Return the files of a memory graph in a folder, or the file itself.

    There are none in a folder that holds the design's records, which tell the same.
    A single file of lines is one where it has the document's name.
    """
    if not path.is_dir():
        return [path] if path.name in _FILE_NAMES and path.is_file() else []
    if (path / RECORDS_FILE).exists():
        return []
    return [path / name for name in _FILE_NAMES if (path / name).is_file()]


def _files_in(path: Path) -> list[Path]:
    """Return the files of a memory graph in a folder, or the file itself.

    Raises:
        InvalidInput: There is none.
    """
    files = [path]
    if path.is_dir():
        files = [path / name for name in _FILE_NAMES if (path / name).is_file()]
    is_known = bool(files) and all(_reader_name(file) for file in files)
    if not is_known:
        allowed = ", ".join(_FILE_NAMES)
        raise InvalidInput(
            f"got {path}; allowed is a folder with one of {allowed}, or such a file"
        )
    return files


def _reader_name(file: Path) -> str:
    """Return the document's name of a file; '' for another file."""
    if file.name in (*ASSET_FILES, STATE_FILE):
        return file.name
    return GRAPH_FILE if file.suffix == ".jsonl" else ""


class _FileReading:
    """Read one file.

    Attributes:
        n_known: How many of its records are here already, beside those that have the
            id of an event that is here.
    """

    def __init__(self, home: Home, options: ImportOptions, problems: list[str]) -> None:
        self.home = home
        self.options = options
        self.problems = problems
        self.n_known = 0
        self.about = {
            "source": "agent" if options.trusted else "import",
            "project": home.project,
        }
        # By the id of a line, the id of its event.
        self._event_ids: dict[str, str] = {}
        self._action_events: dict[str, str] = {}
        self._seen: set[str] = set()

    def take(self, file: Path) -> tuple[int, int]:
        """Take in the file; return how many records were new, and how many known."""
        size = file.stat().st_size if file.is_file() else 0
        if size > _MOST_FILE_BYTES:
            raise InvalidInput(
                f"got {size:,} bytes; allowed are {_MOST_FILE_BYTES:,}; split the file"
            )
        name = _reader_name(file)
        if name == GRAPH_FILE:
            events = self._graph(file)
        elif name == STATE_FILE:
            events = self._state(file)
        else:
            events = self._assets(file, name)
        n_new, n_known = append_new(self.home.journal, events)
        return n_new, n_known + self.n_known

    def _note(self, where: int | str, problem: object) -> None:
        prefix = f":{where}:" if isinstance(where, int) else f": {where}:"
        self.problems.append(f"{prefix} {problem}")

    def _graph(self, file: Path) -> Placed:
        """Yield the events of the lines of a memory graph."""
        for where, record in read_lines(file, self.problems):
            number = int(where)
            event = self._event_of_line(number, record)
            if event is not None:
                yield event, 1

    def _event_of_line(self, number: int, record: JsonObject) -> Event | None:
        """Return the event of a line; None where it is here, or is refused."""
        try:
            check_plain(record)
            _check_line_size(record)
        except InvalidInput as error:
            self._note(number, error)
            return None
        masked: JsonObject = kept_value(record)
        try:
            if record.get("kind") in DERIVED_KINDS:
                return self._derived(number, masked)
            line = self._checked_line(number, record, masked)
            return self._event(line)
        except InvalidInput as error:
            self._note(number, f"{error}; the line is kept as it stands")
            return self._kept(GRAPH_FILE, masked, number)

    def _checked_line(
        self, number: int, record: JsonObject, masked: JsonObject
    ) -> _Line:
        """Return a line whose type, kind, id and time are right."""
        kind = record.get("kind")
        is_graph_line = record.get("type") == EVENT_TYPE and isinstance(kind, str)
        if not is_graph_line or kind not in LINE_KINDS:
            kinds = ", ".join([*LINE_KINDS, *DERIVED_KINDS])
            raise InvalidInput(
                f"got the type {record.get('type')!r:.60} and the kind {kind!r:.60};"
                f" allowed are {EVENT_TYPE} and {kinds}"
            )
        ts = record.get("ts")
        if not isinstance(ts, str):
            raise InvalidInput(f"ts is {ts!r:.80}; allowed is an ISO 8601 time")
        line_id = checked_id("line", record.get("id"))
        at = to_microseconds(ts)
        if at > self.options.latest:
            remark = "the time is ahead of the clock; the clock's is taken"
            self.problems.append(ImportRemark(f":{number}: {remark}"))
            at = self.options.now
        return _Line(number, line_id, LINE_KINDS[kind], at, masked)

    def _event(self, line: _Line) -> Event | None:
        """Return the event of a line; None where it is here under another id."""
        members = event_members(self.home, line.record, line.kind)
        if not self.options.trusted:
            members.pop("cause", None)  # it would answer for a failure of this home
        action_id = str((members.get("action") or {}).get("id", ""))
        event_id = self._event_id(line, action_id)
        self._event_ids[line.id] = event_id
        if event_id in self._seen:
            raise InvalidInput("the line, or an outcome of its action, is there above")
        self._seen.add(event_id)
        if line.kind == _CLOSED and self._is_closing_here(line, action_id):
            self.n_known += 1
            return None
        lineage = []
        if line.kind == "attempt":
            self._action_events[action_id] = event_id
        elif line.kind == _CLOSED and action_id in self._action_events:
            lineage.append(self._action_events[action_id])
        body = {**members, **self.about, "line": line.record}
        if line.kind == "external_candidate":
            body["source"] = "import"
        event = new_event(
            line.kind,
            body,
            agent=self.options.agent,
            lineage=lineage,
            at=line.at,
            event_id=event_id,
        )
        check_event(event)
        return event

    def _event_id(self, line: _Line, action_id: str) -> str:
        """Return the id of the event of a line.

        Elsewhere other lines of the same millisecond may have the same id.
        """
        if line.kind == _CLOSED and self.options.trusted:
            return derived_event_id(_CLOSED, action_id)
        return _id_of_line(line)

    def _is_closing_here(self, line: _Line, action_id: str) -> bool:
        """Return whether this outcome came in already, trusted or not."""
        ids = [_id_of_line(line), derived_event_id(_CLOSED, action_id)]
        for event in self.home.journal.read(ids=ids, erased=True):
            if event.erased or event.id == line.id:
                return True
            if event.body.get("line") == line.record:
                return True
        return False

    def _derived(self, number: int, record: JsonObject) -> Event | None:
        """Return the event that keeps a line of confidence.

        None where the line is made of an outcome of this home: it is made again.
        """
        derived_from = record.get("derived_from")
        line_id = ""
        if isinstance(derived_from, dict):
            line_id = str(derived_from.get("outcome_event_id"))
        ids = [line_id, self._event_ids.get(line_id, line_id)]
        for outcome in self.home.journal.read(ids=ids):
            if "line" not in outcome.body:
                self.n_known += 1
                return None
        return self._kept(GRAPH_FILE, record, number)

    def _kept(self, file: str, record: JsonObject, where: int | str) -> Event:
        """Return the event that keeps what no other event says."""
        return new_event(
            KEPT_KIND,
            {"file": file, "record": record, **self.about},
            agent=self.options.agent,
            at=self.options.now,
            event_id=derived_event_id(KEPT_KIND, file, where, encode(record)),
        )

    def _state(self, file: Path) -> Placed:
        """Yield the event that keeps a state which the memory does not tell itself."""
        state = _document(file)
        if not self.options.trusted:
            raise InvalidInput(
                "the state says which attempt is closed next; it comes in with"
                " --trusted alone"
            )
        masked = kept_value(state)
        if masked == state_document(self.home):
            self.n_known += 1
            return
        yield self._kept(file.name, masked, "state"), 1

    def _assets(self, file: Path, name: str) -> Placed:
        """Yield the events of the genes or capsules that a file lists."""
        document = _document(file, list_name=name.removesuffix(".json"))
        assets = document.pop(name.removesuffix(".json"), None)
        if not isinstance(assets, list):
            raise InvalidInput(
                f"got no list of {name.removesuffix('.json')}; allowed is an object"
                " with such a list, or the list"
            )
        hashes = self._known_assets()
        about = asset_document(self.home, name)
        del about[name.removesuffix(".json")]
        masked = kept_value(document)
        if masked and masked != about:
            yield self._kept(name, masked, "document"), 1
        for number, asset in enumerate(assets, 1):
            try:
                event = self._asset(asset, ASSET_FILES[name], hashes)
            except InvalidInput as error:
                self._note(f"{name.removesuffix('.json')}:{number}", error)
                continue
            if event is not None:
                yield event, 1

    def _known_assets(self) -> dict[str, str]:
        """Return the hashes of the assets that stay as they are, by their ids.

        What comes from one's own file takes the place of what an import only told.
        """
        hashes = {}
        with self.home.views.reading(Graph) as view:
            for number, name in enumerate(view.ids):
                is_own = bool(view.known["own"][number])
                if is_own or not self.options.trusted:
                    index = int(view.known["place"][number])
                    hashes[name] = asset_id(json.loads(view.assets[index]))
        return hashes

    def _asset(
        self, record: object, asset_type: str, hashes: dict[str, str]
    ) -> Event | None:
        """Return the event of an asset; None where it is known just so."""
        check_plain(record)
        line: JsonObject = kept_value(checked_object(record))
        asset = checked_asset(line, asset_type)
        content_id = asset_id(asset)
        known_id = hashes.get(asset["id"])
        if known_id == content_id:
            self.n_known += 1
            return None
        if known_id is not None:
            raise InvalidInput(
                f"{asset['id']} is here already in another form, and stays as it is"
            )
        hashes[asset["id"]] = content_id
        body: Body = {"asset": asset, **self.about, "line": line}
        if "asset_id" in line:
            body["asset_id"] = content_id
        event = new_event(
            "asset",
            body,
            agent=self.options.agent,
            at=self.options.now,
            event_id=derived_event_id(
                "asset of a file", self.about["source"], content_id
            ),
        )
        check_event(event)
        return event


def _id_of_line(line: _Line) -> str:
    """Return the id of a line's event: its own where it was drawn by chance."""
    if _DRAWN_ID.fullmatch(line.id):
        return line.id
    return derived_event_id("memory graph", line.id, encode(line.record))


def _check_line_size(record: JsonObject) -> None:
    """Raise an error for a line that is longer than any of use."""
    size = len(encode(record).encode("utf-8", "surrogatepass"))
    if size > _MOST_LINE_BYTES:
        raise InvalidInput(
            f"got a line of {size:,} bytes; allowed are {_MOST_LINE_BYTES:,}"
        )


def _document(file: Path, list_name: str = "") -> JsonObject:
    """Return the object in a file.

    Args:
        file: The file.
        list_name: The member that a bare list becomes; '': none is allowed.
    """
    content = read_file(file).removeprefix(b"\xef\xbb\xbf").strip()
    if list_name and content.startswith(b"["):
        content = b'{"%b":%b}' % (list_name.encode(), content)
    document = parse_object(content)
    check_plain({name: value for name, value in document.items() if name != list_name})
    return document
