"""Read recorded logs by the name of their data set.

They hold the events that are replayed to a memory, as hooks would have captured them.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from theorex_lab.core.clock import LATEST
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import session_of
from theorex_lab.core.progress import working
from theorex_lab.eval.adapters.protocol import EvalLog, SessionLine
from theorex_lab.eval.datasets.dataset_files import is_at_hand, read_files
from theorex_lab.eval.datasets.dataset_table import DATASETS, SESSION_NEEDS
from theorex_lab.eval.datasets.log_sets.memories import memory
from theorex_lab.eval.datasets.log_sets.runs import (
    git,
    reflexion_alfworld,
    simulated_team,
    taubench_airline,
    whoandwhen,
)
from theorex_lab.eval.datasets.log_sets.said import (
    fact_updates,
    locomo,
    precisionmembench,
    qmsum,
)
from theorex_lab.eval.datasets.log_sets.simulated_questions import simulated_questions
from theorex_lab.eval.datasets.needs_rows import (
    LogNeeds,
    read_needs,
    touched_files_of,
)
from theorex_lab.eval.datasets.rebuilt_logs import rebuild_log
from theorex_lab.eval.datasets.recorder import Parts, session_line
from theorex_lab.eval.datasets.sources import (
    damaged,
    data_folder,
    packaged,
    read_header,
)
from theorex_lab.files.isolated.process import ReaderProcess
from theorex_lab.files.transcripts.captures import Captures, TimedCapture
from theorex_lab.files.transcripts.importing import FORMS, read_transcripts
from theorex_lab.files.transcripts.records import ReadRequest, TranscriptReading
from theorex_lab.journal.event import Event


def load_logs(name: str) -> list[EvalLog]:
    """Return the logs of a data set, each `set/part` where it has several.

    Args:
        name: A data set, or one part of it alone; the path of a git repository; that of
            transcripts of coding agents, which give one log a project; or
            `memory:PATH`, the folder, file or database of another memory. The first
            two may also be written as `git:PATH` or `transcripts:PATH`.

    Returns:
        The logs, their events in the order of time. Each has its questions (`probes`)
        or its sessions' lines, where the set has such.

    Raises:
        InvalidInput: The name is unknown, or the data is not as it should be; whatever
            else the reader of the set raises.
    """
    parts, log_name = _parts(name)
    makers = dict(parts)
    if log_name and log_name not in makers:
        raise InvalidInput(f"got the log {name!r}; allowed are {', '.join(makers)}")
    logs: list[EvalLog] = []
    for part, make in makers.items():
        if log_name in ("", part):
            with working(f"reads the log {part}"):
                logs.append(make())
    return logs


def _parts(name: str) -> tuple[Parts, str]:
    """Return what makes the logs that a name may stand for, and the wanted part.

    The part is '' for all of them.
    """
    prefix, colon, path = name.partition(":")
    if colon and prefix in GIVEN:
        return GIVEN[prefix](Path(path).expanduser()), ""
    prefix = name.partition("/")[0]
    if prefix in LOGS:
        return LOGS[prefix](), "" if prefix == name else name
    folder = Path(name).expanduser()
    if (folder / ".git").exists():
        return GIVEN["git"](folder), ""
    if folder.exists():
        return GIVEN["transcripts"](folder), ""
    allowed = ", ".join([*LOGS, *(f"{set_name}:PATH" for set_name in GIVEN)])
    raise InvalidInput(
        f"got the log {name!r}; allowed are {allowed}, or the path of a git repository or"
        " of transcripts"
    )


def _coding_sessions() -> Parts:
    """Return a year of a coding agent's sessions on one project.

    They are the recorded ones where their file is at hand, else rebuilt.
    """
    info = DATASETS["coding_sessions"]
    if all(is_at_hand(info, file) for file in info.files):
        path = Path(read_files(info)["getspecstory.jsonl"].place)
    else:
        path = rebuild_log(info)
    yield "coding_sessions", partial(_log_with_needs, "coding_sessions", path)


def _log_with_needs(name: str, path: Path) -> EvalLog:
    """Return the log of a project, with what its sessions needed where that is known.

    The needs are those of the same project in the folder that THEOREX_DATA names.

    Raises:
        InvalidInput: Lines cannot be read, or rows of needs are damaged.
    """
    log = hook_form_log(name, path)
    folder = data_folder()
    if folder is None:
        return log
    project = path.name.partition(".")[0]
    needs_file = folder / SESSION_NEEDS.name / f"{project}.jsonl"
    if not needs_file.is_file():
        return log
    needs = LogNeeds(read_needs(needs_file), touched_files_of(path))
    return replace(log, needs=needs)


def _simulated_sessions() -> Parts:
    """Return the packaged simulation of coding sessions: made up, not recorded."""
    yield (
        "simulated_sessions",
        partial(simulated_sessions_log, packaged("simulated_sessions.jsonl.gz")),
    )


def simulated_sessions_log(path: Path) -> EvalLog:
    """Return the log of a file of simulated coding sessions.

    Raises:
        InvalidInput: The header is another, or lines are damaged.
    """
    read_header(path, of="coding sessions")
    return hook_form_log("simulated_sessions", path)


def hook_form_log(name: str, path: Path) -> EvalLog:
    """Return the log of lines in a coding agent's hook form, with whole prompts.

    Raises:
        InvalidInput: Lines cannot be read.
    """
    captures = Captures(LATEST, name, trusted=True)
    problems = list[str]()
    rows = list[tuple[TimedCapture, Event | None]]()
    with ReaderProcess() as process:
        reading = TranscriptReading(process, path, ReadRequest(log_name=name))
        try:
            reading.begin()
            for row in reading.captures(
                lambda number, why: problems.append(f"line {number}: {why}")
            ):
                rows.append((row, captures.event("hook", row)))
        except EOFError as error:
            problems.append(str(error))
    if problems:
        raise damaged(path, problems)
    return log_of(name, rows)


def transcripts(path: Path) -> Parts:
    """Return a log for each project; prompts are the user's word.

    Raises:
        InvalidInput: No transcript is found.
    """
    rows_by_project: dict[str, list[tuple[TimedCapture, Event | None]]] = defaultdict(
        list
    )
    for row, event, name in read_transcripts(path):
        rows_by_project[name].append((row, event))
    if not rows_by_project:
        raise InvalidInput(
            f"got {path}, in which no transcript was found; allowed are {FORMS}; give"
            " another memory's folder or file as memory:PATH"
        )
    return [
        (name, partial(log_of, name, rows)) for name, rows in rows_by_project.items()
    ]


def log_of(name: str, rows: list[tuple[TimedCapture, Event | None]]) -> EvalLog:
    """Return the log of what transcripts told of one project.

    It has the captures of that project, in order of time.
    """
    rows.sort(key=lambda row: row[0].at)
    return EvalLog(
        name, [event for _, event in rows if event], (), [_line(*row) for row in rows]
    )


def _line(row: TimedCapture, event: Event | None) -> SessionLine:
    paths = event.body.get("paths", {}) if event else {}
    session = session_of(row.said.session)
    return session_line(
        row.at,
        session,
        row.said.hook,
        reads=paths.get("read", ()),
        edits=paths.get("edited", ()),
    )


LOGS: dict[str, Callable[[], Parts]] = {
    "coding_sessions": _coding_sessions,
    "locomo": locomo,
    "qmsum": qmsum,
    "fact_updates": fact_updates,
    "precisionmembench": precisionmembench,
    "taubench_airline": taubench_airline,
    "reflexion_alfworld": reflexion_alfworld,
    "whoandwhen": whoandwhen,
    "simulated_team": simulated_team,
    "simulated_sessions": _simulated_sessions,
    "simulated_questions": simulated_questions,
}
# What a user has.
GIVEN: dict[str, Callable[[Path], Parts]] = {
    "git": git,
    "transcripts": transcripts,
    "memory": memory,
}
