"""Runs in files: traces and outcomes, a file each, beside the files of memory.

traces/<name>.json      a call of a model from its START to its END, with its tool events
outcomes/<name>.json    how a decision went, with the scores as they stand now
outcomes.jsonl          the same outcomes, a line each

A name is the id, or a hash of it where the id is no plain file name; reading takes nothing from it. Whatever is
imported keeps its times and has the source `import`; traces of that source are evidence that is shown, by which nothing
is routed: that takes `trust_own`. What the journal holds already stays
as it is. Whether a failure was reviewed stands in reviews.jsonl, see `history`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from theorex_lab.clock import to_iso
from theorex_lab.config import Settings
from theorex_lab.dispatch.traces import Traces, trace, trace_events
from theorex_lab.errors import InvalidInput, StorageError
from theorex_lab.evolution.outcomes import Outcome, OutcomeLog
from theorex_lab.exchange.files import Exported, FileReport, is_device
from theorex_lab.exchange.flat_files import FlatRecord, append_new, first_record, read_lines, without_nulls, write_lines
from theorex_lab.exchange.importing import Importing
from theorex_lab.exchange.problems import each_noted, merged
from theorex_lab.home import Home
from theorex_lab.ids import check_agent
from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import Event, encode
from theorex_lab.journal.foreign import check_inside, read_file
from theorex_lab.journal.view import Views
from theorex_lab.text.doors import kept_value

TRACES, OUTCOMES, OUTCOME_LINES = "traces", "outcomes", "outcomes.jsonl"
# Neither what begins with a dot or differs only in case from another.
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
TOOL_SESSION = "import:traces"
T = TypeVar("T")


def export_runs(home: Home, _searcher: object, folder: Path, *, agent: str | None = None) -> Exported:
    """Write a file a trace and an outcome into `folder`, and the outcomes as lines. Raises StorageError."""
    done = Exported(folder)
    _write_runs(folder / TRACES, _trace_records(home.views, agent), f"{TRACES}/*.json", done)
    _write_runs(folder / OUTCOMES, _outcome_records(home, agent), f"{OUTCOMES}/*.json", done)
    done.files[OUTCOME_LINES] = write_lines(folder / OUTCOME_LINES, map(encode, _outcome_records(home, agent)))
    return done


def export_outcomes(home: Home, *, agent: str | None = None) -> Exported:
    """Write a file an outcome where the setting outcomesDir says. Raises StorageError."""
    (own,) = places(home.settings)
    done = Exported(own)
    _write_runs(own, _outcome_records(home, agent), f"{own}/*.json", done)
    return done


def outcomes_in_places(home: Home, *, agent: str | None = None) -> list[Path]:
    """The files that `export_outcomes` writes."""
    (own,) = places(home.settings)
    return [own / file_name(outcome.outcome_id) for outcome in OutcomeLog(home).outcomes(agent=agent)]


def places(settings: Settings) -> list[Path]:
    """Where outcomes are kept beside the home, by the settings; also where nothing is."""
    return [settings.path("outcomes_dir")]


def _write_runs(folder: Path, records: Iterator[FlatRecord], name: str, done: Exported) -> None:
    for record in records:
        write_lines(folder / file_name(record["id"]), [encode(record)])
        done.files[name] = done.files.get(name, 0) + 1


def file_name(run_id: str) -> str:
    """The name of a trace's or an outcome's file.

    >>> file_name("run-7"), file_name("../run")
    ('run-7.json', '5dc648769241816064b84cb4435542be.id.json')
    """
    if _PLAIN.fullmatch(run_id) and not is_device(run_id):
        return f"{run_id}.json"
    # No plain name holds a dot, so that a hash is never taken for one.
    return f"{sha256(run_id.encode()).hexdigest()[:32]}.id.json"


def _trace_records(views: Views, agent: str | None) -> Iterator[FlatRecord]:
    view = views.get(Traces)
    with view.lock:
        owners = view.traces["agent"].tolist()
        chosen = [view.ids[row] for row in range(len(owners)) if agent in (None, view.agents[owners[row]])]
    for trace_id in dict.fromkeys(chosen):
        record = _trace_record(views, trace_id)
        if record is not None:
            yield record


def _trace_record(views: Views, trace_id: str) -> FlatRecord | None:
    """What `trace` tells of it and what a new START needs; None where it was erased."""
    steps, tools = trace_events(views, trace_id)
    if not steps or any(event.erased for event in steps):
        return None
    start = steps[0]
    stated = {key: value for key, value in trace(views, trace_id).to_dict().items() if value is not None}
    return {
        **stated,
        "session_id": start.session,
        **{name: start.body[name] for name in ("context_pct", "query_tokens")},
        "source": start.body.get("source", "model"),
        "events": [_tool_record(event) for event in tools],
    }


def _tool_record(event: Event) -> FlatRecord:
    told = {name: event.body[name] for name in ("tool", "input", "response")}
    return {"id": event.id, **told, "at": to_iso(event.at), "source": event.body["source"]}


def _outcome_records(home: Home, agent: str | None) -> Iterator[FlatRecord]:
    for outcome in OutcomeLog(home).outcomes(agent=agent):
        yield _outcome_record(home.journal, outcome)


def _outcome_record(journal: Journal, outcome: Outcome) -> FlatRecord:
    record = outcome.to_dict()
    (event,) = journal.read(ids=[outcome.outcome_id])
    named = {"id": record.pop("id"), "timestamp": record.pop("at"), "session_id": record.pop("session")}
    del record["reviewed"], record["outcome_id"]
    stated = {key: value for key, value in record.items() if value is not None}
    return {**named, **stated, "source": event.body.get("source", "agent")}


def run_files(path: Path) -> list[Path]:
    """Files of outcomes, then of traces, in a folder or the one that is given; a folder of outcomes alone is one too."""
    if path.is_file():
        return [path] * (_kind(path) is not None)
    named = [*sorted(path.glob(f"{OUTCOMES}/*.json")), path / OUTCOME_LINES, *sorted(path.glob(f"{TRACES}/*.json"))]
    return [file for file in named if file.name != OUTCOME_LINES or file.exists()]


def import_runs(
    home: Home, _searcher: object, path: Path, *, agent: str = "main", trust_own: bool = False
) -> list[FileReport]:
    """Import outcomes, and then traces, each in one transaction; a damaged file is reported. Raises StorageError.

    Of traces that failed or were lost no latency is kept. A trace of the original system belongs to the outcome that
    names it, where the two are imported together.
    """
    how = Importing(home.settings, home.clock.now(), check_agent(agent), trust_own)
    by_kind: dict[str | None, list[Path]] = {}
    if path in places(home.settings):
        by_kind[OUTCOMES] = sorted(path.glob("*.json"))
    for file in run_files(path):
        by_kind.setdefault(_kind(file), []).append(file)
    # A call names its outcome at its start; so the outcomes are read first, and first the lines, which have an order.
    links: dict[str, str] = {}
    takers = {OUTCOME_LINES: _import_outcomes, OUTCOMES: _import_outcomes, TRACES: _import_traces}
    return [take(home, by_kind[kind], how, links, path) for kind, take in takers.items() if by_kind.get(kind)]


def _kind(file: Path) -> str | None:
    """Whether a single file is an outcome, outcomes as lines, or a trace, by its place, else by what is in it."""
    if file.suffix != ".json":
        known = file.name == OUTCOME_LINES or {"decision", "success"} <= first_record(file).keys()
        return OUTCOME_LINES if known else None
    if file.parent.name in (TRACES, OUTCOMES):
        return file.parent.name
    try:
        record = _document(file)
    except InvalidInput:
        return None  # what is wrong with it is told by who reads it
    kinds = {"nodes": None, "decision": OUTCOMES, "start_time": TRACES}
    return next((kind for key, kind in kinds.items() if isinstance(record, dict) and key in record), None)


def _import_outcomes(home: Home, files: list[Path], how: Importing, links: dict[str, str], path: Path) -> FileReport:
    from theorex_lab.exchange.records import outcome_of

    report = FileReport(_place(files))
    events = []
    for record, event in _read(files, lambda record: outcome_of(record, how), report, path):
        events.append((event, 1))
        if "trace_id" in record:
            links[str(record["trace_id"])] = event.id
    return _appended(home, events, report)


def _import_traces(home: Home, files: list[Path], how: Importing, links: dict[str, str], path: Path) -> FileReport:
    from theorex_lab.exchange.records import trace_of

    report = FileReport(_place(files))
    read = [steps for _, steps in _read(files, lambda record: trace_of(record, how, links), report, path)]
    # Of the calls made for an outcome the last one counts as its own: the one that it names, among equal times.
    read.sort(key=lambda steps: (steps[0].at, steps[0].body["trace_id"] in links, steps[0].body["trace_id"]))
    events = [
        (event, int(event.kind == "trace_started")) for steps in read for event in [*steps, *_settled(home, steps)]
    ]
    return _appended(home, events, report)


def _appended(home: Home, events: list[tuple[Event, int]], report: FileReport) -> FileReport:
    report.imported, report.skipped = append_new(home.journal, events)
    report.problems = merged(report.problems)
    return report


def _place(files: list[Path]) -> str:
    return f"{files[0].parent.name}/*.json" if len(files) > 1 else _named(files[0])


def _named(file: Path) -> str:
    return f"{file.parent.name}/{file.name}" if file.suffix == ".json" else file.name


def _read(
    files: list[Path], read: Callable[[FlatRecord], T], report: FileReport, path: Path
) -> Iterator[tuple[FlatRecord, T]]:
    """Each record of the files and what `read` makes of it; what is refused is noted with its place."""
    for file in files:
        problems: list[str] = []
        try:
            for _, found in each_noted(problems, _documents(file, path, problems), _record, read):
                yield found
        except InvalidInput as error:
            problems.append(f": {error}")
        report.problems += [_named(file) + problem for problem in problems]


def _record(document: Any, read: Callable[[FlatRecord], T]) -> tuple[FlatRecord, T]:
    encode(document)  # refuses numbers and texts that no event can hold
    record = without_nulls(kept_value(document))
    return record, read(record)


def _documents(file: Path, path: Path, problems: list[str]) -> Iterable[tuple[int | str, Any]]:
    """Each JSON value of a file with its place."""
    if path.is_dir() and (path != file.parent or file.name == OUTCOME_LINES):
        check_inside(path, file)
    return [("", _document(file))] if file.suffix == ".json" else read_lines(file, problems)


def _document(file: Path) -> Any:
    """The JSON value in a file. Raises InvalidInput for what is none."""
    try:
        return json.loads(read_file(file))
    except StorageError as error:
        raise InvalidInput(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"not JSON: {error}") from error


def _settled(home: Home, steps: list[Event]) -> list[Event]:
    """What the designs append that wait for tool events, where some of these are new."""
    tools = [event for event in steps if event.kind == "tool_used"]
    if len(home.journal.read(ids=[event.id for event in tools], erased=True)) == len({event.id for event in tools}):
        return []
    asked = (design.events.settled for design in home.designs)
    return [event for settled in asked if settled is not None for event in settled(tools)]
