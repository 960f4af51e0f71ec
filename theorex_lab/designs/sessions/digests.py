"""A session in short: asked, edited, failed, committed, ended, left open; each part
taken whole from what was captured.

Commands that check work (tests, builds, linters) are among it: which failed, and what
turned them from red to green.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from theorex_lab.core.ids import derived_event_id
from theorex_lab.designs.sessions.renamed import followed
from theorex_lab.designs.sessions.said import MessageStore, edited, read, shortest_ends
from theorex_lab.designs.sessions.sentences import sentences_in
from theorex_lab.journal.base import append_once
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.checks import error_of, family_of, has_failed
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import TRUST
from theorex_lab.text.paths import quoted_path


class Check(NamedTuple):
    """A check that was run: its event's place among the session's, its command's
    family, and whether it passed.

    error: its class where it failed, else ''.
    """

    place: int
    family: str
    passed: bool
    error: str


class FixedFailure(NamedTuple):
    """From red to green: a check's family, the class of its error, the files edited
    between, and the events of it all.
    """

    family: str
    error: str
    files: tuple[str, ...]
    events: tuple[Event, ...]


def checks_in(events: Sequence[Event]) -> Iterator[Check]:
    """The checks of a session, in order: one whose end is not known is left out."""
    for place, event in enumerate(events):
        if event.kind == "tool_used" and (
            family := family_of(event.body.get("command", ""))
        ):
            failed = has_failed(event)
            if failed is not None:
                yield Check(
                    place,
                    family,
                    not failed,
                    error_of(event.body.get("response", "")) if failed else "",
                )


def fixed_in(events: Sequence[Event]) -> Iterator[FixedFailure]:
    """Each failure of a family of checks that later passed in the session, with edits
    of files between.
    """
    red: dict[str, Check] = {}
    for check in checks_in(events):
        if not check.passed:
            red.setdefault(check.family, check)
        elif failed := red.pop(check.family, None):
            between = [
                event
                for event in events[failed.place : check.place]
                if event.kind == "tool_used"
            ]
            edits = [event for event in between if edited(event)]
            if edits:
                files = tuple(
                    dict.fromkeys(path for event in edits for path in edited(event))
                )
                yield FixedFailure(
                    check.family,
                    failed.error,
                    files,
                    (events[failed.place], *edits, events[check.place]),
                )


MESSAGES = ("turn_ended", "turn_message")
READ_KINDS = ("prompt", "tool_used", *MESSAGES)
MOST_FILES = 12
_ENDED, _OPEN = 3, 3  # sentences of each part
_COMMIT = re.compile(
    r"\bgit commit\b.*?-m\s+(?:\"\$\(cat <<'?EOF'?\s*)?[\"']?([^\"'\n]{8,200})", re.S
)
# Words of a sentence that says what is left to do.
_LEFT_OPEN = re.compile(
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
_ABOUT_FIX = re.compile(
    r"\b(?:fix\w*|caus\w+|because|issue|problem|bug|wrong|missing|instead|needed)\b",
    re.I,
)
_HEARD, _FILES = (
    20,
    4,
    # sentences after a fix among which the one about it is sought; files that its text
    # names
)
_ALL_GONE = "files that are gone"
_HOUR = 3_600_000_000  # µs


def digest_of(events: Sequence[Event]) -> dict[str, Any] | None:
    """The digest of a session's captures, in order; None where nothing was asked or
    done.

    {asked, ended, open: [[sentence, event id]], edited: {path: times}, read: files,
    checks: {family: how it went}, commits: [text], events: [ids], first_at, last_at:
    µs, source: the least trusted that spoke}
    """
    prompts = [event for event in events if event.kind == "prompt"]
    messages = [
        event
        for event in events
        if event.kind in MESSAGES and not event.body.get("subagent")
    ]
    tools = [event for event in events if event.kind == "tool_used"]
    edits = Counter(path for event in tools for path in edited(event))
    asked = _first(prompts[:2], 2) + _first(prompts[-1:] if len(prompts) > 2 else [], 1)
    ended = _first(messages[-1:], _ENDED)
    if not (asked or ended or edits):
        return None
    used = [event_id for _, event_id in asked + ended]
    matches = (
        (_COMMIT.search(event.body.get("command", "")), event.id) for event in tools
    )
    commits = [(found[1].strip(), event_id) for found, event_id in matches if found][
        -3:
    ]
    last = [
        (found.text, event.id)
        for event in messages[-1:]
        for found in sentences_in(event)
    ]
    used += [
        *(event.id for event in tools if edited(event)),
        *(made for _, made in commits),
    ]
    return {
        "asked": asked,
        "ended": ended,
        "open": [
            pair for pair in last if _LEFT_OPEN.search(pair[0]) and pair not in ended
        ][:_OPEN],
        "edited": dict(edits.most_common(MOST_FILES)),
        "read": len({path for event in tools for path in read(event)} - edits.keys()),
        "checks": _checks(events),
        "commits": [text for text, _ in commits],
        "events": list(dict.fromkeys(used)),
        "first_at": events[0].at,
        "last_at": events[-1].at,
        "source": _least_trusted(events),
    }


def _least_trusted(events: Iterable[Event]) -> str:
    """The source that is trusted least of those who spoke; what tools did counts as
    their agent's, unless it was imported.
    """
    sources = {
        event.body.get("source", "import")
        for event in events
        if not event.body.get("subagent")
    }
    return min(
        ["agent" if source == "tool" else source for source in sources],
        key=TRUST.__getitem__,
        default="agent",
    )


def _first(events: Iterable[Event], most: int) -> list[tuple[str, str]]:
    """The first sentences of these events, each with the id of its event."""
    return [
        (said.text, event.id)
        for event in events
        for said in sentences_in(event)
        if said.own
    ][:most]


def _checks(events: Sequence[Event]) -> dict[str, str]:
    """By family of checks: passed, failed, or failed and then passed, with how often it
    failed.
    """
    ways: dict[str, list[bool]] = {}
    for check in checks_in(events):
        ways.setdefault(check.family, []).append(check.passed)
    ends = {
        family: "then passed" if way[-1] else "at last too"
        for family, way in ways.items()
    }
    told = {
        family: f"failed {way.count(False)} times, {ends[family]}"
        for family, way in ways.items()
    }
    return {
        family: "passed" if all(way) else told[family] for family, way in ways.items()
    }


def in_words(digest: dict[str, Any]) -> list[str]:
    """A digest as sentences for a reader."""
    asked, ended, left = (
        [text for text, _ in digest[part]] for part in ("asked", "ended", "open")
    )
    checks = "; ".join(f"{family} {how}" for family, how in digest["checks"].items())
    parts = {
        "Asked": " ".join(asked),
        "Edited": edited_in_words(digest["edited"]),
        "Checked": checks,
        "Committed": "; ".join(digest["commits"]),
        "Ended with": " ".join(ended),
        "Left open": " ".join(left),
    }
    return [f"{name}: {text}" for name, text in parts.items() if text]


def edited_in_words(edited: Mapping[str, int]) -> str:
    """The files that were edited, by the shortest ends of their paths, with how often."""
    ends = shortest_ends(edited)
    files = (
        quoted_path(ends[path]) + (f" ({times} times)" if times > 1 else "")
        for path, times in edited.items()
    )
    return ", ".join(files)


def text_now(event: Event, names: Mapping[str, str]) -> str:
    """The text of a session in short or of a fix, with its files as they are called
    now; names: as `names_now_in` has them.
    """
    body = event.body
    text: str = body["text"]
    if event.kind == "digest":
        before = f"Edited: {edited_in_words(body['edited'])}"
        left = followed(body["edited"], names)
        after = f"Edited: {edited_in_words(left) if left else _ALL_GONE}"
    else:
        before = f"after edits of {_fixed_files(body['files'])}"
        left = followed(dict.fromkeys(body["files"], 1), names)
        after = f"after edits of {_fixed_files(list(left)) if left else _ALL_GONE}"
    return text.replace(before, after, 1)


def _fixed_files(paths: Sequence[str]) -> str:
    ends = list(shortest_ends(paths).values())[:_FILES]
    return ", ".join(map(quoted_path, ends))


def captures_of(home: Home, agent: str, session: str) -> list[Event]:
    """What was captured of a session in the home's project or in none, in order."""
    with home.views.reading(MessageStore) as view:
        row = view.sessions.find(f"{agent}/{session}")
        if row is None:
            return []
        first = int(view.ends["first_seq"][row])
        last = int(view.ends["last_seq"][row])
    found = home.journal.tail(
        first - 1, kinds=READ_KINDS, projects=home.projects, upto=last
    )
    return [
        event for event in found if event.session == session and event.agent == agent
    ]


def keep_digest(home: Home, agent: str, session: str) -> bool:
    """Append the digest of a session and what it turned from red to green; False where
    nothing came since the last one.

    A session that went from one project to another has one of each.
    """
    parts: dict[str, list[Event]] = {}
    for event in captures_of(home, agent, session):
        parts.setdefault(event.body.get("project", ""), []).append(event)
    return (
        sum(
            _keep(home, agent, session, project, events)
            for project, events in parts.items()
        )
        > 0
    )


def _keep(
    home: Home, agent: str, session: str, project: str, events: Sequence[Event]
) -> bool:
    body = digest_of(events)
    if body is None:
        return False
    upto = events[-1].seq
    at = min(home.clock.now(), events[-1].at)
    lineage = body.pop("events")
    body |= {"text": " ".join(in_words(body)), "upto": upto, "project": project}
    # The id is made of the seq alone, since a session's id may be a secret that is
    # erased.
    made = derived_event_id("digest", upto)
    digest = new_event(
        "digest",
        body,
        agent=agent,
        session=session,
        lineage=lineage,
        at=at,
        event_id=made,
    )
    found = {
        derived_event_id("fixed", fixed.events[-1].id): fixed
        for fixed in fixed_in(events)
    }
    known = {event.id for event in home.journal.read(ids=list(found))}
    fixes = [
        _fix_event(made, found[made], events, project)
        for made in found
        if made not in known
    ]
    return append_once(home.journal, [digest, *fixes])


def digest_idle(home: Home, agent: str | None) -> str:
    """Keep the digests of sessions without an event for flushIdleHours; a step of the
    night.
    """
    view = home.views.get(MessageStore)
    idle_since = home.clock.now() - round(home.settings.flush_idle_hours * _HOUR)
    with view.lock:
        ends = view.ends
        waiting = (ends["last_seq"] > ends["digested"]) & (
            ends["last_at"] <= idle_since
        )
        waiting &= view.of_project(ends["project"], home.projects)
        names = [
            view.sessions[row].partition("/") for row in waiting.nonzero()[0].tolist()
        ]
    done = sum(
        keep_digest(home, name, session)
        for name, _, session in names
        if agent in (None, name)
    )
    return f"{done} sessions in short"


def _fix_event(
    made: str, fixed: FixedFailure, events: Sequence[Event], project: str
) -> Event:
    """What turned a check from red to green, in the words of its family and class, and
    of who said something of it.
    """
    green = fixed.events[-1]
    messages = (
        event for event in events if event.seq > green.seq and event.kind in MESSAGES
    )
    said = [
        (sentence.worth, sentence.text, event)
        for event in messages
        for sentence in sentences_in(event)
    ][:_HEARD]
    best = max(
        [found for found in said if _ABOUT_FIX.search(found[1])],
        key=lambda found: found[0],
        default=None,
    )
    rests_on = [*fixed.events, *([best[2]] if best else [])]
    told = f": {best[1]}" if best else "."
    files = _fixed_files(fixed.files)
    body = {
        "family": fixed.family,
        "error": fixed.error,
        "files": list(fixed.files[:MOST_FILES]),
        "project": project,
        "text": f"{fixed.family} failed with {fixed.error} and passed after edits of {files}{told}",
        "source": _least_trusted(rests_on),
    }
    whose = {"agent": green.agent, "session": green.session}
    lineage = [event.id for event in rests_on]
    return new_event(
        "fixed", body, **whose, lineage=lineage, at=green.at, event_id=made
    )


def agents_of(home: Home) -> list[str]:
    """Who has said something in a session, or done something there."""
    with home.views.reading(MessageStore) as view:
        return list(dict.fromkeys(name.partition("/")[0] for name in view.sessions))
