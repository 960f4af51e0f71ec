"""An observation: a text checked, its concepts extracted, ready to be appended."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from theorex_lab.core.clock import to_microseconds
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.project import check_project
from theorex_lab.core.settings import Settings
from theorex_lab.journal.event import Body, Event, new_event
from theorex_lab.memory.contract import Home
from theorex_lab.text.redact.redaction_scope import door, kept_text
from theorex_lab.text.visible import visible

if TYPE_CHECKING:
    from theorex_lab.text.extract import Mention

# Where a text came from, and how far it is trusted: user > agent > model > tool =
# import.
TRUST = {"import": 0, "tool": 0, "model": 1, "agent": 2, "user": 3}
DEFAULT_TYPE = "discovery"
FIX_TYPE = "trace_fix"
# what lost: found by its words, but it makes none of its concepts more important
AVOID_TYPE = "avoid"
# The types that have a meaning here, or are usual; any other word is allowed too.
TYPES = (
    "decision",
    DEFAULT_TYPE,
    FIX_TYPE,
    AVOID_TYPE,
    *"change feature moment summary graduated".split(),
)
_TYPE = re.compile(r"[a-z][a-z0-9_]{0,31}")
_MAX_TAGS = 32
_MAX_TAG_CHARACTERS = 64


@dataclass(frozen=True)
class ObservationEntry:
    """A text to be written, and when, by whom and from where it came.

    `at`: an aware datetime, ISO text or microseconds UTC; None is now. `source`: a key
    of TRUST. `project`: '' is none, or where it is written, the home's.
    """

    text: str
    agent: str
    at: int | str | datetime | None = None
    observation_type: str = DEFAULT_TYPE
    source: str = "agent"
    tags: Sequence[str] = ()
    session: str = ""
    project: str = ""


class WrittenObservation(NamedTuple):
    """What a write left in the journal."""

    event_id: str
    concepts: list[str]  # canonical forms
    masked: int = 0  # secrets that were taken out of the text
    kept_secrets: bool = False  # whether the call asked for them to stay


def check_text(text: str, max_bytes: int) -> str:
    """Return `text` without hidden characters; raise InvalidInput where it is none,
    blank, too long, or cannot be kept.

    >>> check_text("cache stampede", 65_536)
    'cache stampede'
    """
    if not isinstance(text, str):
        raise InvalidInput(f"got a {type(text).__name__} to write; allowed is text")
    text = visible(text)
    if not text.strip():
        raise InvalidInput("got an empty text; write a sentence")
    if "\0" in text:
        raise InvalidInput(
            f"got a NUL byte at position {text.index(chr(0))} of the text; allowed is"
            " text without it"
        )
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        at = error.start
        raise InvalidInput(
            f"got half a surrogate pair at position {at}; allowed is whole Unicode text"
        ) from error
    if size > max_bytes:
        allowed = (
            f"up to {max_bytes} (setting maxTextBytes): cut it, or write its parts"
        )
        raise InvalidInput(f"got a text of {size} bytes; allowed are {allowed}")
    return text


def new_observation(
    entry: ObservationEntry, settings: Settings, now: int
) -> tuple[Event, list[Mention]]:
    """The event of one observation, its secrets masked, and the concepts found in its
    text.

    `now` (µs UTC) is when it happened where the entry does not say. Raises InvalidInput
    for anything outside the rules.
    """
    from theorex_lab.text.corroboration import refused_concepts
    from theorex_lab.text.extract import (
        EXTRACTOR_VERSION,
        extract,
        sentiment,
    )  # the views that read do without

    source = entry.source
    at = entry.at
    text = check_text(entry.text, settings.max_text_bytes)
    if not isinstance(kind := entry.observation_type, str) or not _TYPE.fullmatch(kind):
        raise InvalidInput(
            f"got the observation type {kind!r}; allowed are 1 to 32 of a-z 0-9 _, a"
            " letter first"
        )
    if source not in TRUST:
        raise InvalidInput(f"got the source {source!r}; allowed are {', '.join(TRUST)}")
    text = kept_text(text)
    # A fix is usually announced as one; the announcement is no concept.
    mentions = (
        []
        if entry.observation_type == AVOID_TYPE
        else extract(text.removeprefix(f"{FIX_TYPE}:"))
    )
    tags = [kept_text(tag) for tag in check_tags(entry.tags)]
    concepts = [
        [mention.concept_id, mention.label, mention.surface, mention.count]
        for mention in mentions
    ]
    body: Body = {
        "text": text,
        "type": entry.observation_type,
        "source": source,
        "tags": tags,
        "concepts": concepts,
    }
    body |= {"extractor": EXTRACTOR_VERSION, "sentiment": sentiment(text)}
    body |= {
        "weight": settings.source_weight(entry.agent),
        "project": check_project(entry.project),
    }
    if TRUST[source] >= TRUST["agent"] and (
        refused := refused_concepts(text, mentions)
    ):
        body["refused"] = refused
    moment = now if at is None else at if isinstance(at, int) else to_microseconds(at)
    return (
        new_event(
            "observation", body, agent=entry.agent, session=entry.session, at=moment
        ),
        mentions,
    )


def observed(
    entry: ObservationEntry, settings: Settings, now: int
) -> tuple[Event, WrittenObservation]:
    """The event of one observation, and what is told of it once it is appended; as
    `new_observation`.
    """
    with door() as here:
        event, mentions = new_observation(entry, settings, now)
    return event, WrittenObservation(
        event.id,
        [mention.label for mention in mentions],
        here.masked,
        here.keeps_secrets,
    )


def write_all(
    home: Home, entries: Sequence[ObservationEntry], *, imported: bool = False
) -> list[WrittenObservation]:
    """Write many texts in one transaction: all or none. An import may bear dates of the
    future.

    They are on disk when this returns. Raises InvalidInput, and then nothing was
    written.
    """
    now = home.clock.now()
    located = (
        entry if entry.project else replace(entry, project=home.project)
        for entry in entries
    )
    made = [observed(entry, home.settings, now) for entry in located]
    home.journal.append([event for event, _ in made], allow_future=imported)
    return [written for _, written in made]


def check_tags(tags: Sequence[str]) -> list[str]:
    """The tags without repetition. Raises InvalidInput where they are too many, too
    long or no texts.

    >>> check_tags(["deploy", "deploy"])
    ['deploy']
    """
    if isinstance(tags, str) or len(tags) > _MAX_TAGS:
        raise InvalidInput(
            f"got the tags {tags!r}; allowed is a list of up to {_MAX_TAGS}"
        )
    checked = [check_text(tag, 4 * _MAX_TAG_CHARACTERS) for tag in tags]
    for tag in checked:
        if len(tag) > _MAX_TAG_CHARACTERS or tag != tag.strip():
            allowed = (
                f"up to {_MAX_TAG_CHARACTERS} characters without space at the ends"
            )
            raise InvalidInput(f"got the tag {tag!r}; allowed are {allowed}")
    return list(dict.fromkeys(checked))


def common_project(events: Iterable[Event]) -> str:
    """The project that all of these events are of; '' where they are of several, or one
    of them is of none.
    """
    found = {str(event.body.get("project", "")) for event in events}
    return found.pop() if len(found) == 1 else ""


def owner_of(event: Event) -> str:
    """Who said it: the agent, or the agent and the kind of source that it had it from."""
    source = event.body["source"]
    return event.agent if TRUST[source] >= TRUST["agent"] else f"{event.agent}/{source}"
