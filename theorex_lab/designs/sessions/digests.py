"""A session in short: asked, edited, failed, committed, ended, left open.

Each part is taken whole from what was captured. Commands that check work (tests,
builds, linters) are among it: which failed, and what turned them from red to green.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import itemgetter
from typing import Any, NamedTuple

from theorex_lab.core.ids import derived_event_id
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.designs.sessions.said import edited, read, shortest_ends
from theorex_lab.designs.sessions.sentences import spans_of_event, speaker
from theorex_lab.designs.sessions.session_ends import SessionEnds
from theorex_lab.journal.base import append_each_once, append_once
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.checks import error_of, family_of, has_failed
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import TRUST
from theorex_lab.text.paths import quoted_path
from theorex_lab.text.spoken import worth


class Check(NamedTuple):
    """A check that was run.

    Attributes:
        position: The position of its event among the session's.
        family: The family of its command.
        passed: Whether it passed.
        error: The class of its error where it failed, else ''.
    """

    position: int
    family: str
    passed: bool
    error: str


class FixedFailure(NamedTuple):
    """A check that failed and later passed.

    Attributes:
        family: The check's family.
        error: The class of its error.
        files: The files edited between.
        events: The events of it all: the failure, the edits, the check that passed.
    """

    family: str
    error: str
    files: tuple[str, ...]
    events: tuple[Event, ...]


def checks_in(events: Sequence[Event]) -> Iterator[Check]:
    """Yield the checks of a session, in order: one whose end is not known is left out."""
    for position, event in enumerate(events):
        if event.kind != "tool_used":
            continue
        family = family_of(event.body.get("command", ""))
        if not family:
            continue
        failed = has_failed(event)
        if failed is None:
            continue
        error = ""
        if failed:
            response = event.body.get("response", "")
            error = error_of(response)
        yield Check(position, family, not failed, error)


def fixed_in(events: Sequence[Event]) -> Iterator[FixedFailure]:
    """Yield each failure of a family of checks that later passed in the session.

    Files were edited between the two.
    """
    first_failure: dict[str, Check] = {}  # by family, since it last passed
    for check in checks_in(events):
        if not check.passed:
            first_failure.setdefault(check.family, check)
            continue
        failure = first_failure.pop(check.family, None)
        if failure is None:
            continue
        failing_event = events[failure.position]
        passing_event = events[check.position]
        between = events[failure.position : check.position]
        edits = _edits_in(between)
        if edits:
            yield FixedFailure(
                check.family,
                failure.error,
                tuple(_edited_files(edits)),
                (failing_event, *edits, passing_event),
            )


def _edits_in(events: Iterable[Event]) -> list[Event]:
    """Return the tool calls that edited files."""
    edits: list[Event] = []
    for event in events:
        if event.kind == "tool_used" and edited(event):
            edits.append(event)
    return edits


def _edited_files(events: Iterable[Event]) -> Counter[str]:
    """Return how often each file was edited, in the order of their first edits."""
    files = Counter[str]()
    for event in events:
        files.update(edited(event))
    return files


MESSAGES = ("turn_ended", "turn_message")
READ_KINDS = ("prompt", "tool_used", *MESSAGES)
MOST_FILES = 12
# Sentences of each part.
_ENDED = 3
_OPEN = 3
_COMMIT = lazy_pattern(
    r"\bgit commit\b.*?-m\s+(?:\"\$\(cat <<'?EOF'?\s*)?[\"']?([^\"'\n]{8,200})", re.S
)
# Words of a sentence that says what is left to do.
_LEFT_OPEN = lazy_pattern(
    r"""
    \b(?:
          next
        | todo
        | remaining
        | remains
        | still
        | left[ ]to
        | not[ ]yet
        | follow-?up
        | later
        | open[ ]question
        | unresolved
        | would[ ]you[ ]like
        | should[ ]I
        | want[ ]me[ ]to
        | дальше
        | осталось
        | ещё[ ]не
        | потом
    )\b
    """,
    re.I | re.VERBOSE,
)
_ABOUT_FIX = lazy_pattern(
    r"\b(?:fix\w*|caus\w+|because|issue|problem|bug|wrong|missing|instead|needed)\b",
    re.I,
)
_MOST_SENTENCES = 20  # sentences after a fix among which the one about it is sought
_MOST_FILES_NAMED = 4  # that the text of a fix names
_HOUR = 3_600_000_000  # µs
# After so many captures, the digests of idle sessions are appended together.
_CAPTURES_AT_ONCE = 500


def digest_of(events: Sequence[Event]) -> dict[str, Any] | None:
    """Return the digest of a session's captures, which are in order.

    Returns:
        None where nothing was asked or done, else {asked, ended, open: [[sentence,
        event id]], edited: {path: times}, read: files, checks: {family: how it went},
        commits: [text], events: [ids], first_at, last_at: µs, source: the least trusted
        that spoke}.
    """
    tools = [event for event in events if event.kind == "tool_used"]
    last_message = _last_message(events)
    edits = _edited_files(tools)
    requests = _requests(events)
    endings = _first_sentences(last_message, _ENDED)
    if not requests and not endings and not edits:
        return None
    commits = _commits(tools)[-3:]
    return {
        "asked": requests,
        "ended": endings,
        "open": _left_open(last_message, endings),
        "edited": dict(edits.most_common(MOST_FILES)),
        "read": len(_read_files(tools) - edits.keys()),
        "checks": _checks(events),
        "commits": [text for text, _ in commits],
        "events": _event_ids([*requests, *endings], tools, commits),
        "first_at": events[0].at,
        "last_at": events[-1].at,
        "source": _least_trusted(events),
    }


def _last_message(events: Iterable[Event]) -> list[Event]:
    """Return the last message of the session's own agent, in a list; [] without one."""
    last: list[Event] = []
    for event in events:
        if event.kind in MESSAGES and not event.body.get("subagent"):
            last = [event]
    return last


def _requests(events: Iterable[Event]) -> list[tuple[str, str]]:
    """Return what was asked first, and last: sentences, each with the id of its event."""
    prompts = [event for event in events if event.kind == "prompt"]
    requests = _first_sentences(prompts[:2], 2)
    if len(prompts) > 2:
        requests += _first_sentences(prompts[-1:], 1)
    return requests


def _read_files(tools: Iterable[Event]) -> set[str]:
    files: set[str] = set()
    for event in tools:
        files.update(read(event))
    return files


def _event_ids(
    sentences: Iterable[tuple[str, str]],
    tools: Iterable[Event],
    commits: Iterable[tuple[str, str]],
) -> list[str]:
    """Return the ids of the events that a digest rests on, each once."""
    ids = [event_id for _, event_id in sentences]
    ids += [event.id for event in tools if edited(event)]
    ids += [event_id for _, event_id in commits]
    return list(dict.fromkeys(ids))


def _commits(tools: Iterable[Event]) -> list[tuple[str, str]]:
    """Return the message of each commit, with the id of its event."""
    commits = []
    for event in tools:
        command = event.body.get("command", "")
        match = _COMMIT.search(command)
        if match:
            message = match[1].strip()
            commits.append((message, event.id))
    return commits


def _left_open(
    messages: Iterable[Event], ended: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return the sentences that say what is left to do, each with the id of its event.

    Those among `ended` are left out.
    """
    left = []
    for event in messages:
        for sentence in spans_of_event(event):
            if not _LEFT_OPEN.search(sentence.text):
                continue
            pair = (sentence.text, event.id)
            if pair not in ended:
                left.append(pair)
    return left[:_OPEN]


def _least_trusted(events: Iterable[Event]) -> str:
    """Return the source that is trusted least of those who spoke.

    What tools did counts as their agent's, unless it was imported.
    """
    sources = set[str]()
    for event in events:
        body = event.body
        if not body.get("subagent"):
            sources.add(body.get("source", "import"))
    if "tool" in sources:
        sources.remove("tool")
        sources.add("agent")
    return min(sources, key=TRUST.__getitem__, default="agent")


def _first_sentences(events: Iterable[Event], most: int) -> list[tuple[str, str]]:
    """Return the first sentences of events that are surely their speakers' own.

    Each stands with the id of its event.
    """
    pairs: list[tuple[str, str]] = []
    for event in events:
        for sentence in spans_of_event(event):
            if sentence.own:
                pairs.append((sentence.text, event.id))
    return pairs[:most]


def _checks(events: Sequence[Event]) -> dict[str, str]:
    """Return by family of checks how it went.

    It passed, failed, or failed and then passed, with how often it failed.
    """
    results_of: dict[str, list[bool]] = {}
    for check in checks_in(events):
        results = results_of.setdefault(check.family, [])
        results.append(check.passed)
    checks: dict[str, str] = {}
    for family, results in results_of.items():
        checks[family] = _results_in_words(results)
    return checks


def _results_in_words(results: Sequence[bool]) -> str:
    if all(results):
        return "passed"
    end = "then passed" if results[-1] else "at last too"
    return f"failed {results.count(False)} times, {end}"


def in_words(digest: dict[str, Any]) -> list[str]:
    """Return a digest as sentences for a reader."""
    checks = [f"{family} {result}" for family, result in digest["checks"].items()]
    parts = {
        "Asked": _joined_texts(digest["asked"]),
        "Edited": edited_in_words(digest["edited"]),
        "Checked": "; ".join(checks),
        "Committed": "; ".join(digest["commits"]),
        "Ended with": _joined_texts(digest["ended"]),
        "Left open": _joined_texts(digest["open"]),
    }
    return [f"{name}: {text}" for name, text in parts.items() if text]


def _joined_texts(pairs: Iterable[tuple[str, str]]) -> str:
    return " ".join(text for text, _ in pairs)


def edited_in_words(edited: Mapping[str, int]) -> str:
    """Return the files that were edited, with how often, in words.

    They stand by the shortest ends of their paths.
    """
    ends = shortest_ends(edited)
    files = []
    for path, times in edited.items():
        name = quoted_path(ends[path])
        if times > 1:
            name = f"{name} ({times} times)"
        files.append(name)
    return ", ".join(files)


def _fixed_files(paths: Sequence[str]) -> str:
    ends = list(shortest_ends(paths).values())[:_MOST_FILES_NAMED]
    return ", ".join(map(quoted_path, ends))


class _Stretch(NamedTuple):
    """Where a session is in the journal: its agent, its id, its first and last seq."""

    agent: str
    session: str
    first_seq: int
    last_seq: int


def _stretch(view: SessionEnds, row: int) -> _Stretch:
    """Return where the session of a row is."""
    agent, _, session = view.sessions[row].partition("/")
    first_seq = int(view.ends["first_seq"][row])
    return _Stretch(agent, session, first_seq, int(view.ends["last_seq"][row]))


def captures_of(home: Home, agent: str, session: str) -> list[Event]:
    """Return what was captured of a session in the home's project or in none, in order."""
    with home.views.reading(SessionEnds) as view:
        row = view.sessions.find(f"{agent}/{session}")
        if row is None:
            return []
        stretch = _stretch(view, row)
    return _captures_in(home, stretch)


def _captures_in(home: Home, stretch: _Stretch) -> list[Event]:
    """Return what `captures_of` returns of the session of a stretch."""
    events = home.journal.tail(
        stretch.first_seq - 1,
        kinds=READ_KINDS,
        projects=home.projects,
        upto=stretch.last_seq,
    )
    return [
        event
        for event in events
        if event.session == stretch.session and event.agent == stretch.agent
    ]


def keep_digest(home: Home, agent: str, session: str) -> bool:
    """Append the digest of a session and what it turned from red to green.

    A session that went from one project to another has one of each.

    Args:
        home: Where the session was captured.
        agent: Whose session it is.
        session: Its id.

    Returns:
        False where nothing came since the last digest.
    """
    has_kept = False
    for step in _steps(home, captures_of(home, agent, session)):
        if append_once(home.journal, step):
            has_kept = True
    return has_kept


def _steps(home: Home, captures: Iterable[Event]) -> list[list[Event]]:
    """Return what a session's captures come to in each project, to be appended."""
    events_of: dict[str, list[Event]] = {}  # by project
    for event in captures:
        events_of.setdefault(event.body.get("project", ""), []).append(event)
    steps = []
    for project, events in events_of.items():
        step = _step(home, project, events)
        if step:
            steps.append(step)
    return steps


def _step(home: Home, project: str, events: Sequence[Event]) -> list[Event]:
    """Return the digest and the fixes of a session's events in one project."""
    body = digest_of(events)
    if body is None:
        return []
    last = events[-1]
    lineage = body.pop("events")
    body |= {"text": " ".join(in_words(body)), "upto": last.seq, "project": project}
    digest = new_event(
        "digest",
        body,
        agent=last.agent,
        session=last.session,
        lineage=lineage,
        at=min(home.clock.now(), last.at),
        # The id is made of the last event's alone, since a session's id may be a secret
        # that is erased.
        event_id=derived_event_id("digest", last.id),
    )
    failures = {
        derived_event_id("fixed", failure.events[-1].id): failure
        for failure in fixed_in(events)
    }
    written_ids = {event.id for event in home.journal.read(ids=list(failures))}
    fixes = [
        _fix_event(event_id, failure, events, project)
        for event_id, failure in failures.items()
        if event_id not in written_ids
    ]
    return [digest, *fixes]


def digest_idle(home: Home, agent: str | None) -> str:
    """Keep the digests of sessions without an event for sessionIdleHours.

    It is a step of maintenance. Several sessions are appended in one transaction.
    """
    n_digests = 0
    steps_of_sessions: list[list[list[Event]]] = []
    n_captures = 0
    for stretch in _waiting_stretches(home, agent):
        captures = _captures_in(home, stretch)
        steps_of_sessions.append(_steps(home, captures))
        n_captures += len(captures)
        if n_captures >= _CAPTURES_AT_ONCE:
            n_digests += _append_digests(home, steps_of_sessions)
            steps_of_sessions.clear()
            n_captures = 0
    n_digests += _append_digests(home, steps_of_sessions)
    return f"{n_digests} sessions in short"


def _waiting_stretches(home: Home, agent: str | None) -> list[_Stretch]:
    """Return where the sessions are that are to be put in short, of an agent or all."""
    idle_since = home.clock.now() - round(home.settings.session_idle_hours * _HOUR)
    with home.views.reading(SessionEnds) as view:
        ends = view.ends
        is_waiting = ends["last_seq"] > ends["digested"]
        is_waiting &= ends["last_at"] <= idle_since
        is_waiting &= view.of_project(ends["project"], home.projects)
        rows = is_waiting.nonzero()[0].tolist()
        stretches = [_stretch(view, row) for row in rows]
    return [stretch for stretch in stretches if agent in (None, stretch.agent)]


def _append_digests(home: Home, steps_of_sessions: Sequence[list[list[Event]]]) -> int:
    """Append the steps of sessions; return of how many sessions one was appended."""
    steps = list(chain.from_iterable(steps_of_sessions))
    are_appended = iter(append_each_once(home.journal, steps))
    n_appended = 0
    for steps_of_session in steps_of_sessions:
        of_session = list(islice(are_appended, len(steps_of_session)))
        n_appended += any(of_session)
    return n_appended


def _fix_event(
    event_id: str, failure: FixedFailure, events: Sequence[Event], project: str
) -> Event:
    """Return the event of what turned a check from red to green.

    It is in the words of its family and class, and of who said something of it.
    """
    green = failure.events[-1]
    rests_on = list(failure.events)
    end = "."
    explanation = _explanation(green, events)
    if explanation is not None:
        sentence, event = explanation
        rests_on.append(event)
        end = f": {sentence}"
    files = _fixed_files(failure.files)
    body = {
        "family": failure.family,
        "error": failure.error,
        "files": list(failure.files[:MOST_FILES]),
        "project": project,
        "text": (
            f"{failure.family} failed with {failure.error} and passed after edits of"
            f" {files}{end}"
        ),
        "source": _least_trusted(rests_on),
    }
    return new_event(
        "fixed",
        body,
        agent=green.agent,
        session=green.session,
        lineage=[event.id for event in rests_on],
        at=green.at,
        event_id=event_id,
    )


def _explanation(green: Event, events: Iterable[Event]) -> tuple[str, Event] | None:
    """Return the sentence about a fix that is worth most, with its event.

    It is of the first ones after the fix; None where there is none.
    """
    about_fix: list[tuple[float, str, Event]] = []
    for text, event in islice(_sentences_after(green, events), _MOST_SENTENCES):
        if _ABOUT_FIX.search(text):
            value = worth(text, speaker(event.body))
            about_fix.append((value, text, event))
    if not about_fix:
        return None
    _, text, event = max(about_fix, key=itemgetter(0))
    return text, event


def _sentences_after(
    green: Event, events: Iterable[Event]
) -> Iterator[tuple[str, Event]]:
    """Yield what was said after a fix, sentence by sentence, each with its event."""
    for event in events:
        if event.seq > green.seq and event.kind in MESSAGES:
            for sentence in spans_of_event(event):
                yield sentence.text, event


def agents_of(home: Home) -> list[str]:
    """Return who has said something in a session, or done something there."""
    with home.views.reading(SessionEnds) as view:
        return list(dict.fromkeys(name.partition("/")[0] for name in view.sessions))
