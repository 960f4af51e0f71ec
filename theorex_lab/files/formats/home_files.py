"""A home in files: what each layout writes of it, and back.

A layout is a design's, or the substrate's own.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import InvalidInput, StorageError
from theorex_lab.core.files import writing
from theorex_lab.core.ids import check_agent
from theorex_lab.core.settings import Settings
from theorex_lab.dispatch.traces import Traces, trace, trace_events
from theorex_lab.evolution.outcomes import OutcomeLog
from theorex_lab.files.formats import flat_files as flat
from theorex_lab.files.formats.design_records import record_layout
from theorex_lab.files.formats.folder_lock import export_folder
from theorex_lab.files.formats.foreign import read_file
from theorex_lab.files.formats.reports import (
    Exported,
    ImportOptions,
    Read,
    Reports,
    file_name,
    read_group,
    refuse_to_replace,
)
from theorex_lab.journal.event import Event, encode
from theorex_lab.journal.view import Views
from theorex_lab.memory.contract import FileLayout, Home
from theorex_lab.memory.retrieve import Searcher
from theorex_lab.text.redact.redaction_scope import door, kept_value


def layouts(home: Home) -> list[FileLayout]:
    """Return all layouts, in the order in which they are read.

    What others refer to comes first: the designs' files, the home's own, the designs'
    records, and at last the files that tell again what records tell.
    """
    designs_files = list[FileLayout]()
    for design in home.designs:
        designs_files += design.files
    first = [layout for layout in designs_files if not layout.is_copy]
    copies = [layout for layout in designs_files if layout.is_copy]
    return [*first, OWN, *_record_layouts(home), *copies]


def _record_layouts(home: Home) -> list[FileLayout]:
    """Return the layouts of the designs' records."""
    return [
        record_layout(design) for design in home.designs if design.records is not None
    ]


def layouts_of(home: Home, path: Path) -> list[FileLayout]:
    """Return the layouts that have files at the path.

    For a folder these are all layouts. For a file it is one: the home's own, else that of
    a design's records, else that of the last design that knows it.
    """
    if path.is_dir():
        return [layout for layout in layouts(home) if layout.files_of(path)]
    candidates = [OWN, *_record_layouts(home)]
    for design in reversed(home.designs):
        candidates += design.files
    for layout in candidates:
        if layout.files_of(path):
            return [layout]
    return []


def places_of(home: Home) -> list[tuple[FileLayout, Path]]:
    """Return each layout with each of the places that it has beside the home.

    Places where nothing is are among them.
    """
    layout_paths = []
    for layout in layouts(home):
        if layout.places is not None:
            layout_paths += [(layout, path) for path in layout.places(home.settings)]
    return layout_paths


def export_home(
    home: Home,
    searcher: Searcher,
    folder: Path | None,
    *,
    agent: str | None = None,
    replace: bool = False,
) -> Exported:
    """Write the files of every layout, each design's and the home's own.

    A trace that was erased, or the outcome, has no file; one of an earlier export stays
    in the folder. It is no backup: the prompts and tool calls, tasks, policies,
    reviews, pins and the like are not in it. What is of any project is written.

    Args:
        home: The home.
        searcher: Its searcher.
        folder: Where to write. None writes to the original system's places, and
            outcomes to the setting outcomesDir.
        agent: The agent whose files are taken; None for all.
        replace: Replace what is there.

    Returns:
        The folder, and the number of lines of each file.

    Raises:
        FilesThere: For a folder that is not empty, or where a file would be replaced at
            those places, unless `replace` is given. Nothing was written then.
        StorageError: Where a file cannot be written, or another export writes into the
            folder now.
    """
    if folder is None:
        if not replace:
            refuse_to_replace(_files_in_places(home, agent))
        reports = [
            layout.export_places(home, agent=agent)
            for layout in layouts(home)
            if layout.export_places is not None
        ]
    else:
        reports = _reports_of_folder(home, searcher, folder, agent, replace=replace)
    counts: dict[str, int] = {}
    for report in reports:
        counts.update(report.files)
    return Exported(reports[0].folder, counts)


def _reports_of_folder(
    home: Home, searcher: Searcher, folder: Path, agent: str | None, *, replace: bool
) -> list[Exported]:
    """Let each layout write into a folder, which no other export writes into."""
    if agent is not None:
        check_agent(agent)  # before a folder is made for it
    _refuse_filled(folder, replace=replace)
    with writing(folder, "give another folder"), export_folder(folder):
        _refuse_filled(folder, replace=replace)
        return [
            layout.export(home, searcher, folder, agent=agent)
            for layout in layouts(home)
            if layout.export is not None
        ]


def _refuse_filled(folder: Path, *, replace: bool) -> None:
    """Raise FilesThere for a folder that is not empty, unless that is allowed."""
    if not replace and folder.is_dir():
        refuse_to_replace(sorted(folder.iterdir()))


def _files_in_places(home: Home, agent: str | None) -> Iterator[Path]:
    """Yield the files that an export without a folder writes."""
    for layout in layouts(home):
        if layout.export_places is not None:
            yield from layout.in_places(home, agent=agent)


def import_home(
    home: Home,
    searcher: Callable[[], Searcher],
    path: Path | None,
    *,
    agent: str = "main",
    trusted: bool = False,
    keep_secrets: bool = False,
) -> Reports:
    """Import the files that any layout has at the path.

    Concepts and texts come first, then runs, then what designs know, since each may
    refer to those before it. A damaged file is reported and the others are imported.

    Args:
        home: The home.
        searcher: Returns its searcher.
        path: A folder or one file. None imports from those of the original system's
            places that are there: the settings agentAxonDir, sharedAxonPath and
            outcomesDir.
        agent: Whose the records are that name nobody.
        trusted: Keep the sources that the files state; otherwise all has the source
            `import`.
        keep_secrets: Do not mask what looks like a secret.

    Returns:
        What became of each file.

    Raises:
        InvalidInput: Where there is nothing that can be imported.
    """
    check_agent(agent)
    if path is None:
        layout_paths = [
            (layout, layout_path)
            for layout, layout_path in places_of(home)
            if layout_path.exists()
        ]
    else:
        layout_paths = [(layout, path) for layout in layouts_of(home, path)]
    reports: Reports = []
    with door(keep_secrets=keep_secrets):
        for layout, layout_path in layout_paths:
            reports += layout.take(
                home,
                searcher,
                layout_path,
                agent=agent,
                trusted=trusted,
            )
    if not reports:
        raise _nothing_at(home, path)
    return reports


def _nothing_at(home: Home, path: Path | None) -> InvalidInput:
    """Return the error of a path where nothing can be imported."""
    if path is None:
        looked = ", ".join(str(layout_path) for _, layout_path in places_of(home))
        return InvalidInput(
            f"got no path, and nothing is in {looked}; give a folder that was exported, or one file"
        )
    file_names = ", ".join(layout.names for layout in layouts(home) if layout.names)
    wrong = (
        f"where nothing can be taken in: it is no file and holds none of {file_names}"
    )
    return InvalidInput(
        f"got {path}, {wrong}; give a folder that was exported, or one such file"
    )


TRACES = "traces"
OUTCOMES = "outcomes"
Links = dict[str, str]  # by the id of a trace, the event of the outcome that names it


def export_runs(
    home: Home,
    _searcher: object,
    folder: Path,
    *,
    agent: str | None = None,
) -> Exported:
    """Write a file a trace and an outcome into `folder`.

    Args:
        home: The home.
        folder: The folder.
        agent: Whose, None for all agents'.

    Raises:
        StorageError: Where one cannot be written.
    """
    exported = Exported(folder)
    exported.write_each(TRACES, _named(_trace_records(home.views, agent)))
    exported.write_each(OUTCOMES, _named(_outcome_records(home, agent)))
    return exported


def export_outcomes(home: Home, *, agent: str | None = None) -> Exported:
    """Write a file an outcome where the setting outcomesDir says.

    Args:
        home: The home.
        agent: Whose, None for all agents'.

    Raises:
        StorageError: Where one cannot be written.
    """
    exported = Exported(home.settings.path("outcomes_dir"))
    records = _named(_outcome_records(home, agent))
    exported.write_each("", records, f"{exported.folder}/*.json")
    return exported


def outcomes_in_places(home: Home, *, agent: str | None = None) -> list[Path]:
    """Return the files that `export_outcomes` writes."""
    folder = home.settings.path("outcomes_dir")
    outcomes = OutcomeLog(home).outcomes(agent=agent)
    return [folder / file_name(outcome.outcome_id) for outcome in outcomes]


def places(settings: Settings) -> list[Path]:
    """Return where outcomes are kept beside the home, by the settings.

    Where nothing is, it is returned too.
    """
    return [settings.path("outcomes_dir")]


def _named(records: Iterable[flat.FlatRecord]) -> Iterator[tuple[str, flat.FlatRecord]]:
    return ((file_name(record["id"]), record) for record in records)


def _trace_records(views: Views, agent: str | None) -> Iterator[flat.FlatRecord]:
    """Yield a record of each trace, but for what was erased.

    The record holds what `trace` returns, and what a new START needs.
    """
    for trace_id in dict.fromkeys(_trace_ids(views, agent)):
        steps, tools = trace_events(views, trace_id)
        if not steps or any(event.erased for event in steps):
            continue
        start = steps[0]
        record = flat.without_nulls(trace(views, trace_id).to_dict())
        record["session_id"] = start.session
        record["context_pct"] = start.body.get("context_pct", 0)
        record["query_tokens"] = start.body.get("query_tokens", 0)
        record["source"] = start.body.get("source", "model")
        record["events"] = [_tool_record(event) for event in tools]
        yield record


def _trace_ids(views: Views, agent: str | None) -> list[str]:
    """Return the ids of an agent's traces, or of all."""
    view = views.get(Traces)
    trace_ids = list[str]()
    with view.lock:
        owners = view.traces["agent"].tolist()
        for row, owner in enumerate(owners):
            if agent in (None, view.agents[owner]):
                trace_ids.append(view.ids[row])
    return trace_ids


def _tool_record(event: Event) -> flat.FlatRecord:
    body = event.body
    return {
        "id": event.id,
        "tool": body.get("tool", ""),
        "input": body.get("input", ""),
        "response": body.get("response", ""),
        "source": body.get("source", ""),
        "at": to_iso(event.at),
    }


def _outcome_records(home: Home, agent: str | None) -> Iterator[flat.FlatRecord]:
    for outcome in OutcomeLog(home).outcomes(agent=agent):
        (event,) = home.journal.read(ids=[outcome.outcome_id])
        fields = flat.without_nulls(outcome.to_dict())
        named = {
            "id": fields.pop("id"),
            "timestamp": fields.pop("timestamp"),
            "session_id": fields.pop("session"),
        }
        if not fields["reviewed"]:
            del fields["reviewed"]
        del fields["outcome_id"]
        yield {
            **named,
            **fields,
            "source": event.body.get("source", "agent"),
        }


def run_files(path: Path) -> list[Path]:
    """Return files of outcomes, then of traces, in a folder or the one that is given.

    A folder of outcomes alone is one too.
    """
    if path.is_file():
        return [path] if _kind(path) is not None else []
    outcome_files = sorted(path.glob(f"{OUTCOMES}/*.json"))
    trace_files = sorted(path.glob(f"{TRACES}/*.json"))
    return outcome_files + trace_files


def import_runs(
    home: Home,
    _: object,
    path: Path,
    *,
    agent: str = "main",
    trusted: bool = False,
) -> Reports:
    """Import outcomes, and then traces, each in one transaction.

    A damaged file is reported. Traces that failed or were lost keep no latency. A
    trace of the original system belongs to the outcome that names it, where the two are
    imported together.

    Args:
        home: The home.
        path: A folder or one file.
        agent: Whose the records are that name nobody.
        trusted: As in `import_home`.

    Raises:
        StorageError: Where the events cannot be written.
    """
    options = ImportOptions(
        home.settings, home.clock.now(), check_agent(agent), trusted
    )
    by_kind: dict[str | None, list[Path]] = {}
    if path in places(home.settings):
        by_kind[OUTCOMES] = sorted(path.glob("*.json"))
    for file in run_files(path):
        by_kind.setdefault(_kind(file), []).append(file)
    # A call names its outcome at its start; so the outcomes are read first.
    links: Links = {}
    takers = {OUTCOMES: _import_outcomes, TRACES: _import_traces}
    reports: Reports = []
    for kind, take in takers.items():
        files = by_kind.get(kind)
        if not files:
            continue
        reader = partial(take, home, options, links)
        report = read_group(
            home.journal,
            files,
            path,
            name=_name(files),
            reader=reader,
        )
        reports.append(report)
    return reports


def _name(files: list[Path]) -> str:
    folder = files[0].parent.name
    name = files[0].name
    return f"{folder}/*.json" if len(files) > 1 else f"{folder}/{name}"


def _kind(file: Path) -> str | None:
    """Return whether a single file is an outcome or a trace; None for neither.

    It is so by its place, else by what is in it.
    """
    if file.suffix != ".json":
        return None
    if file.parent.name in (TRACES, OUTCOMES):
        return file.parent.name
    try:
        record = flat.parse_object(read_file(file))
    except (InvalidInput, StorageError):
        return None  # what is wrong with it is told by who reads it
    if "nodes" in record:  # a graph
        return None
    if "decision" in record:
        return OUTCOMES
    return TRACES if "start_time" in record else None


def _import_outcomes(
    _home: Home,
    options: ImportOptions,
    links: Links,
    lines: flat.Lines,
    problems: list[str],
) -> Read:
    from theorex_lab.files.formats.records import outcome_of

    convert = partial(outcome_of, options=options)
    noted = flat.each_noted(problems, lines, _read, convert)
    pairs = [pair for _, pair in noted]
    for record, event in sorted(pairs, key=lambda pair: pair[1].at):
        if "trace_id" in record:
            links[str(record["trace_id"])] = event.id
        yield event, 1


def _import_traces(
    home: Home,
    options: ImportOptions,
    links: Links,
    lines: flat.Lines,
    problems: list[str],
) -> Read:
    from theorex_lab.files.formats.records import trace_of

    def position(steps: list[Event]) -> tuple[int, bool, str]:
        # Of the calls made for an outcome the last one counts as its own: the one that
        # it names, among equal times.
        start = steps[0]
        trace_id = start.body["trace_id"]
        return start.at, trace_id in links, trace_id

    convert = partial(trace_of, options=options, links=links)
    noted = flat.each_noted(problems, lines, _read, convert)
    steps_of_traces = [steps for _, (_, steps) in noted]
    steps_of_traces.sort(key=position)
    for steps in steps_of_traces:
        for event in [*steps, *_settled(home, steps)]:
            yield event, int(event.kind == "trace_started")


def _read(
    document: flat.FlatRecord, convert: Callable[[flat.FlatRecord], flat.T]
) -> tuple[flat.FlatRecord, flat.T]:
    encode(document)  # refuses numbers and texts that no event can hold
    record = flat.without_nulls(kept_value(document))
    return record, convert(record)


def _settled(home: Home, steps: list[Event]) -> list[Event]:
    """Return what the designs append that wait for tool events.

    It is nothing where none of these is new.
    """
    tools = [event for event in steps if event.kind == "tool_used"]
    tool_ids = [event.id for event in tools]
    stored = home.journal.read(ids=tool_ids, erased=True)
    if len(stored) == len(set(tool_ids)):
        return []
    events = list[Event]()
    for design in home.designs:
        if design.events.settled is not None:
            events += design.events.settled(tools)
    return events


OWN = FileLayout(
    "traces/*.json, outcomes/*.json",
    export_runs,
    run_files,
    import_runs,
    places=places,
    export_places=export_outcomes,
    in_places=outcomes_in_places,
)
