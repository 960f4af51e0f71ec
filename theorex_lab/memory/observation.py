"""Make observations.

A text is checked, its concepts are extracted, and the event is ready to be appended.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from theorex_lab.core.clock import to_microseconds
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.patterns import lazy_pattern
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
_TYPE = lazy_pattern(r"[a-z][a-z0-9_]{0,31}")
_MAX_TAGS = 32
_MAX_TAG_CHARACTERS = 64


@dataclass(frozen=True)
class ObservationEntry:
    """A text to be written.

    Attributes:
        text: The text.
        agent: Whose it is.
        at: When it happened: an aware datetime, ISO text or microseconds UTC; None is
            now.
        observation_type: Its type.
        source: Where it came from, a key of TRUST.
        tags: Its tags.
        session: The session.
        project: The project; '' is none, or where it is written, the home's.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     entry = ObservationEntry("The till rounds half up", "main", tags=["till"])
    ...     len(lab.write_all([entry]))
    1
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
    """What a write left in the journal.

    Attributes:
        event_id: The id of the event.
        concepts: The concepts in their canonical forms.
        masked: How many secrets were taken out of the text.
        kept_secrets: Whether the call asked for them to stay.
    """

    event_id: str
    concepts: list[str]
    masked: int = 0
    kept_secrets: bool = False


def check_text(text: str, max_bytes: int) -> str:
    """Return `text` without hidden characters.

    Raises:
        InvalidInput: It is no text, blank, too long, or cannot be kept.

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
    """Return the event of one observation, and the concepts in its text.

    The text's secrets are masked.

    Args:
        entry: What is written.
        settings: The settings.
        now: When it happened where the entry does not say (µs UTC).

    Raises:
        InvalidInput: Something is outside the rules.
    """
    # The views that read do without these.
    from theorex_lab.text.corroboration import refused_concepts
    from theorex_lab.text.extract import EXTRACTOR_VERSION, extract, sentiment

    text = check_text(entry.text, settings.max_text_bytes)
    _check_type_and_source(entry)
    text = kept_text(text)
    mentions: list[Mention] = []
    if entry.observation_type != AVOID_TYPE:
        # A fix is usually announced as one; the announcement is no concept.
        mentions = extract(text.removeprefix(f"{FIX_TYPE}:"))
    concepts = [
        [mention.concept_id, mention.label, mention.surface, mention.count]
        for mention in mentions
    ]
    body: Body = {
        "text": text,
        "type": entry.observation_type,
        "source": entry.source,
        "tags": [kept_text(tag) for tag in check_tags(entry.tags)],
        "concepts": concepts,
        "extractor": EXTRACTOR_VERSION,
        "sentiment": sentiment(text),
        "weight": settings.source_weight(entry.agent),
        "project": check_project(entry.project),
    }
    if TRUST[entry.source] >= TRUST["agent"]:
        refused = refused_concepts(text, mentions)
        if refused:
            body["refused"] = refused
    event = new_event(
        "observation",
        body,
        agent=entry.agent,
        session=entry.session,
        at=_time_of(entry, now),
    )
    return event, mentions


def _check_type_and_source(entry: ObservationEntry) -> None:
    """Raise InvalidInput for a type or a source outside the rules."""
    kind = entry.observation_type
    if not isinstance(kind, str) or not _TYPE.fullmatch(kind):
        raise InvalidInput(
            f"got the observation type {kind!r}; allowed are 1 to 32 of a-z 0-9 _, a"
            " letter first"
        )
    if entry.source not in TRUST:
        raise InvalidInput(
            f"got the source {entry.source!r}; allowed are {', '.join(TRUST)}"
        )


def _time_of(entry: ObservationEntry, now: int) -> int:
    """Return when an entry happened (µs UTC)."""
    if entry.at is None:
        return now
    if isinstance(entry.at, int):
        return entry.at
    return to_microseconds(entry.at)


def observed(
    entry: ObservationEntry, settings: Settings, now: int
) -> tuple[Event, WrittenObservation]:
    """Return the event of one observation, and what a write of it leaves.

    As `new_observation`.
    """
    with door() as redaction:
        event, mentions = new_observation(entry, settings, now)
    return event, WrittenObservation(
        event.id,
        [mention.label for mention in mentions],
        redaction.masked,
        redaction.keeps_secrets,
    )


def write_all(
    home: Home, entries: Sequence[ObservationEntry], *, imported: bool = False
) -> list[WrittenObservation]:
    """Write many texts in one transaction: all or none.

    They are on disk when this returns.

    Args:
        home: The home.
        entries: The texts.
        imported: Whether they may have dates of the future.

    Raises:
        InvalidInput: Something is outside the rules; then nothing was written.
    """
    now = home.clock.now()
    events = []
    written = []
    for entry in entries:
        if not entry.project:
            entry = replace(entry, project=home.project)
        event, observation = observed(entry, home.settings, now)
        events.append(event)
        written.append(observation)
    home.journal.append(events, allow_future=imported)
    return written


def check_tags(tags: Sequence[str]) -> list[str]:
    """Return the tags without repetition.

    Raises:
        InvalidInput: They are too many, too long or no texts.

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
    """Return the project that all of these events are of.

    It is '' where they are of several, or one of them is of none.
    """
    projects = {str(event.body.get("project", "")) for event in events}
    return projects.pop() if len(projects) == 1 else ""


def owner_of(event: Event) -> str:
    """Return who said it.

    It is the agent, or the agent and the kind of source that it had it from.
    """
    source = event.body["source"]
    if TRUST[source] >= TRUST["agent"]:
        return event.agent
    return f"{event.agent}/{source}"
