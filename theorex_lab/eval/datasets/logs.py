"""Recorded logs by the name of their data set: the events that a memory lives through,
as they would have been captured live.

Readers of data sets record into a `Recorder`, with ids that two loads agree on.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from theorex_lab.core.clock import LATEST, to_microseconds
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import derived_event_id, session_of
from theorex_lab.core.settings import Settings
from theorex_lab.eval.adapters.protocol import EvalLog, EvalQuery, SessionLine
from theorex_lab.eval.datasets.dataset_files import read_files
from theorex_lab.eval.datasets.dataset_table import DATASETS
from theorex_lab.eval.datasets.sources import damaged, packaged, read_header
from theorex_lab.evolution.outcomes import outcome_event
from theorex_lab.files.transcripts.captures import Captures, TimedCapture, told
from theorex_lab.files.transcripts.folders import Transcript, lines_of, opened
from theorex_lab.files.transcripts.importing import FORMS, read_transcripts
from theorex_lab.files.transcripts.messages import HookForm
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.hook_payloads import BODIES
from theorex_lab.memory.observation import (
    DEFAULT_TYPE,
    ObservationEntry,
    new_observation,
)
from theorex_lab.text.paths import is_project_path
from theorex_lab.text.redact.redaction_scope import door

Given = Mapping[str, Any]  # what a hook was given
Parts = Iterable[
    tuple[str, Callable[[], EvalLog]]
]  # the name of each log, and what makes it

SECOND = 1_000_000
MINUTE = 60_000_000
# Sets that do not say when: their logs begin here.
UNDATED = to_microseconds("2024-01-01T00:00:00Z")
_SETTINGS = Settings()


def informative(answer: str, question: str = "") -> tuple[str, ...]:
    """The words of an answer that tell something: of four letters, or with a digit,
    which the question does not say.

    >>> informative("on 7 May 2023, in the Blue Mill", "Which mill?")
    ('2023', 'Blue')
    """
    said = question.casefold()
    words = dict.fromkeys(re.findall(r"\w+(?:[-'.:/]\w+)*", answer))
    long = (
        word
        for word in words
        if len(word) > 3 or (len(word) > 1 and any(sign.isdigit() for sign in word))
    )
    return tuple(word for word in long if word.casefold() not in said)


def session_line(
    at: int,
    session: str,
    hook: Given,
    reads: Iterable[str] = (),
    edits: Iterable[str] = (),
) -> SessionLine:
    """What a hook was given, as a line of a session."""
    given = hook.get("tool_input")
    inputs = " ".join(
        filter(None, map(_text, given.values() if isinstance(given, dict) else [given]))
    )
    said, answered = (
        _text(hook.get(name)) for name in ("prompt", "last_assistant_message")
    )
    return SessionLine(at, session, said, answered, inputs, tuple(reads), tuple(edits))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


class Recorder:
    """A log that grows. A key names what is captured within the log; ids are made of
    both.
    """

    def __init__(self, name: str) -> None:
        self.name, self.project = name, name.partition("/")[0]
        self.events = list[Event]()
        self.probes = list[EvalQuery]()
        self.lines = list[SessionLine]()

    def id(self, key: object) -> str:
        """The id of the event of this key."""
        return derived_event_id("log", self.name, key)

    def ids(self, keys: Iterable[object]) -> frozenset[str]:
        """The ids of the events of these keys that were captured."""
        return frozenset(
            {event.id for event in self.events} & {self.id(key) for key in keys}
        )

    def probe(
        self,
        at: int,
        query: str,
        answers: Iterable[object],
        words: tuple[str, ...] = (),
        stale: Iterable[object] = (),
    ) -> None:
        """Something is asked that the events of the keys `answers` answer, and those of
        `stale` no longer.
        """
        self.probes.append(
            EvalQuery(at, query, self.ids(answers), words, self.ids(stale))
        )

    def wrote(
        self,
        key: object,
        at: int,
        text: str,
        *,
        agent: str = "main",
        source: str = "user",
        session: str = "",
        kind: str = DEFAULT_TYPE,
    ) -> None:
        """A text was written into the memory; nothing where it is blank."""
        if text.strip():
            with door():
                entry = ObservationEntry(
                    text, agent, at, kind, source, (), session, self.project
                )
                self._add(key, new_observation(entry, _SETTINGS, at)[0])

    def asked(self, key: object, at: int, text: str, *, session: str) -> None:
        """A person asked something of an agent."""
        self.hook("UserPromptSubmit", key, at, {"prompt": text}, session=session)

    def answered(
        self, key: object, at: int, text: str, *, agent: str = "main", session: str
    ) -> None:
        """An agent ended its turn with a message."""
        self.hook(
            "Stop",
            key,
            at,
            {"last_assistant_message": text},
            agent=agent,
            session=session,
        )

    def used(
        self,
        key: object,
        at: int,
        tool: str,
        given: dict[str, Any],
        response: str | None,
        *,
        session: str,
        agent: str = "main",
        ok: bool = True,
        edits: Iterable[str] = (),
    ) -> None:
        """An agent used a tool, which did its work or failed; edits: paths from the
        project's root that it wrote to.
        """
        said = {
            "tool_name": tool,
            "tool_input": given,
            "tool_response" if ok else "error": response,
        }
        name = "PostToolUse" if ok else "PostToolUseFailure"
        self.hook(name, key, at, said, agent=agent, session=session, edits=tuple(edits))

    def came_out(
        self,
        key: object,
        at: int,
        decision: str,
        result: str,
        *,
        success: bool,
        session: str,
    ) -> None:
        """How a run ended, as its surroundings judged it."""
        by: dict[str, Any] = {
            "agent": "main",
            "session": session,
            "source": "tool",
            "project": self.project,
        }
        with door():
            event = outcome_event(
                decision=decision,
                result=result,
                success=success,
                settings=_SETTINGS,
                at=at,
                **by,
            )
        self._add(key, event)

    def log(self) -> EvalLog:
        """What was captured, in the order of time."""
        in_time = attrgetter("at")
        return EvalLog(
            self.name,
            sorted(self.events, key=in_time),
            sorted(self.probes, key=in_time),
            self.lines,
        )

    def hook(
        self,
        name: str,
        key: object,
        at: int,
        given: Given,
        *,
        agent: str = "main",
        session: str,
        reads: tuple[str, ...] = (),
        edits: tuple[str, ...] = (),
    ) -> None:
        """What a coding agent's hook of this name was given; reads, edits: paths from
        the project's root.
        """
        self.lines.append(session_line(at, session, given, reads, edits))
        if name not in BODIES:
            return
        kind, body_of = BODIES[name]
        with door():
            body = {
                **body_of({"hook_event_name": name, **given}),
                "project": self.project,
            }
        body.pop("trace_id", None)  # of the process that reads the set
        if reads or edits:
            uses = {"read": reads, "edited": edits}
            body["paths"] = {
                use: list(filter(is_project_path, paths)) for use, paths in uses.items()
            }
        self._add(key, new_event(kind, body, agent=agent, session=session, at=at))

    def _add(self, key: object, event: Event) -> None:
        self.events.append(event._replace(id=self.id(key)))


def part(
    name: str, fill: Callable[..., None], *given: Any
) -> tuple[str, Callable[[], EvalLog]]:
    """The name of a log, and what makes it: `fill` records into it what is given."""

    def make() -> EvalLog:
        log = Recorder(name)
        fill(log, *given)
        return log.log()

    return name, make


def load_logs(name: str) -> list[EvalLog]:
    """The logs of a data set, each `set/part` where it has several, or one of these
    parts alone; of a git repository, or of transcripts of coding agents (one log a
    project), by their path, or as `git:PATH`, `transcripts:PATH`.

    Raises InvalidInput for an unknown name, and what the reader of the set raises.
    """
    parts, wanted = _parts(name)
    known = dict(parts)
    if wanted and wanted not in known:
        raise InvalidInput(f"got the log {name!r}; allowed are {', '.join(known)}")
    return [make() for part, make in known.items() if wanted in ("", part)]


def _parts(name: str) -> tuple[Parts, str]:
    """What makes the logs that a name may stand for, and which of them is wanted ('' is
    all).
    """
    chosen, colon, path = name.partition(":")
    if colon and chosen in GIVEN:
        return GIVEN[chosen](Path(path).expanduser()), ""
    chosen = name.partition("/")[0]
    if chosen in LOGS:
        return LOGS[chosen](), "" if chosen == name else name
    place = Path(name).expanduser()
    if (place / ".git").exists():
        return GIVEN["git"](place), ""
    if place.exists():
        return GIVEN["transcripts"](place), ""
    known = ", ".join([*LOGS, *(f"{set_name}:PATH" for set_name in GIVEN)])
    raise InvalidInput(
        f"got the log {name!r}; allowed are {known}, or the path of a git repository or"
        " of transcripts"
    )


def _coding_sessions() -> Parts:
    """A year of a coding agent's sessions on one project."""
    file = read_files(DATASETS["coding_sessions"])["getspecstory.jsonl"].place
    yield "coding_sessions", partial(hook_form_log, "coding_sessions", Path(file))


def _simulated_sessions() -> Parts:
    """The packaged simulation of coding sessions: made up, not recorded."""
    yield (
        "simulated_sessions",
        partial(simulated_sessions_log, packaged("simulated_sessions.jsonl.gz")),
    )


def simulated_sessions_log(path: Path) -> EvalLog:
    """Of a file of simulated coding sessions. Raises InvalidInput for another header,
    and for lines that are damaged.
    """
    read_header(path, of="coding sessions")
    return hook_form_log("simulated_sessions", path)


def hook_form_log(name: str, path: Path) -> EvalLog:
    """Of lines in a coding agent's hook form, with whole prompts. Raises InvalidInput
    where lines cannot be read.
    """
    captures = Captures(LATEST, name, trust_own=True)
    wrong = list[str]()
    with opened(path) as (content, _):
        found = Transcript(HookForm(name, words="".join), lines_of(content))
        rows = told(
            found,
            0,
            lambda _: True,
            lambda number, why: wrong.append(f"line {number}: {why}"),
        )
        log = log_of(name, [(row, captures.event("hook", row)) for row in rows])
    if wrong:
        raise damaged(path, wrong)
    return log


def transcripts(path: Path) -> Parts:
    """A log for each project; prompts are the user's word. Raises InvalidInput where no
    transcript is found.
    """
    found: dict[str, list[tuple[TimedCapture, Event | None]]] = defaultdict(list)
    for row, event, name in read_transcripts(path):
        found[name].append((row, event))
    if not found:
        raise InvalidInput(
            f"got {path}, in which no transcript was found; allowed are {FORMS}"
        )
    return [(name, partial(log_of, name, rows)) for name, rows in found.items()]


def log_of(name: str, rows: list[tuple[TimedCapture, Event | None]]) -> EvalLog:
    """What transcripts told of one project, with the captures of it, in order of time."""
    rows.sort(key=lambda row: row[0].at)
    return EvalLog(
        name, [event for _, event in rows if event], (), [_line(*row) for row in rows]
    )


def _line(row: TimedCapture, event: Event | None) -> SessionLine:
    paths = event.body.get("paths", {}) if event else {}
    session = session_of(row.said.session)
    return session_line(
        row.at, session, row.said.hook, paths.get("read", ()), paths.get("edited", ())
    )


def _locomo() -> Parts:
    from theorex_lab.eval.datasets.log_sets.said import locomo

    return locomo()


def _qmsum() -> Parts:
    from theorex_lab.eval.datasets.log_sets.said import qmsum

    return qmsum()


def _fact_updates() -> Parts:
    from theorex_lab.eval.datasets.log_sets.said import fact_updates

    return fact_updates()


def _precisionmembench() -> Parts:
    from theorex_lab.eval.datasets.log_sets.said import precisionmembench

    return precisionmembench()


def _taubench_airline() -> Parts:
    from theorex_lab.eval.datasets.log_sets.runs import taubench_airline

    return taubench_airline()


def _reflexion_alfworld() -> Parts:
    from theorex_lab.eval.datasets.log_sets.runs import reflexion_alfworld

    return reflexion_alfworld()


def _whoandwhen() -> Parts:
    from theorex_lab.eval.datasets.log_sets.runs import whoandwhen

    return whoandwhen()


def _simulated_team() -> Parts:
    from theorex_lab.eval.datasets.log_sets.runs import simulated_team

    return simulated_team()


def _git(path: Path) -> Parts:
    from theorex_lab.eval.datasets.log_sets.runs import git

    return git(path)


LOGS: dict[str, Callable[[], Parts]] = {
    "coding_sessions": _coding_sessions,
    "locomo": _locomo,
    "qmsum": _qmsum,
    "fact_updates": _fact_updates,
    "precisionmembench": _precisionmembench,
    "taubench_airline": _taubench_airline,
    "reflexion_alfworld": _reflexion_alfworld,
    "whoandwhen": _whoandwhen,
    "simulated_team": _simulated_team,
    "simulated_sessions": _simulated_sessions,
}
# What a user has.
GIVEN: dict[str, Callable[[Path], Parts]] = {"git": _git, "transcripts": transcripts}
