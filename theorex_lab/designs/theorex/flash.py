"""Flash: what a running session has done and heard, told apart by who said it, and
scored against what the agent knows.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.journal.base import Journal
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Body, Event
from theorex_lab.journal.view import View
from theorex_lab.memory.contract import Home
from theorex_lab.text.paths import shown_path, without_far_paths

if TYPE_CHECKING:
    from theorex_lab.text.extract import Mention

MAX_EVENTS = 50
MAX_TOKENS = 4_000
_CHARACTERS_PER_TOKEN = 4
_NEW_SHARE_WEIGHT = 0.5
# Members of a tool's input in which an agent says what it does; the others may hold
# anything it has read.
_MEMBER = re.compile(r'"(command|file_path|path|notebook_path)":"((?:\\.|[^"\\])*)"?')
# Names of members, escapes and signs of JSON, whole or cut: no word of what is said.
_FORM = re.compile(r'"[^"\\\n]{1,64}"\s*:|\\(?:u[0-9a-fA-F]{4}|[nrtbf/\\"])|[{}\[\]"]')
_BROKEN_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?…?$")


class Flash(View):
    """The events of each session that were not flushed yet.

    Attributes:
        events: The columns seq, agent and session.
    """

    name = "flash"
    code = 1
    kinds = ("tool_used", "prompt", "flushed")

    def __init__(self) -> None:
        super().__init__()
        self.agents = Names()
        self.sessions = Names()
        self.events = Table(seq="i8", agent="i4", session="i4")

    def apply(self, events: Sequence[Event]) -> None:
        """Take in tool events and prompts; a flush takes out those of its session up to
        its seq.
        """
        table = self.events
        new = list[tuple[int, int, int]]()
        for event in events:
            agent = self.agents.number(event.agent)
            session = self.sessions.number(event.session)
            if event.kind == "flushed":
                table.extend(("seq", "agent", "session"), new)
                new.clear()
                gone = (
                    (table["agent"] == agent)
                    & (table["session"] == session)
                    & (table["seq"] <= event.body["upto"])
                )
                table.keep(~gone)
            else:
                new.append((event.seq, agent, session))
        table.extend(("seq", "agent", "session"), new)

    def pending(self, agent: str, session: str) -> list[int]:
        """Return the seqs of the agent's events in the session that were not flushed,
        in order.
        """
        is_agents = self.events["agent"] == self.agents.find(agent)
        is_sessions = self.events["session"] == self.sessions.find(session)
        seqs: list[int] = self.events["seq"][is_agents & is_sessions].tolist()
        return seqs

    def waiting(self, home: Home, agent: str) -> list[tuple[str, int]]:
        """Return the sessions that wait for a flush, each with the time (µs) of its
        latest event; in a project those with events of it.
        """
        with self.lock:
            is_agents = self.events["agent"] == self.agents.find(agent)
            numbers = np.unique(self.events["session"][is_agents]).tolist()
            names = [self.sessions[number] for number in numbers]
            pending = {name: self.pending(agent, name) for name in names}
        sessions = []
        for name, seqs in pending.items():
            events = home.journal.read(seqs=seqs)
            projects = {event.body.get("project") for event in events}
            if events and (home.project == "" or home.project in projects):
                sessions.append((name, max(event.at for event in events)))
        return sessions


class ScoredEvent(NamedTuple):
    """An event with its flash score.

    Attributes:
        event: The event.
        concepts: The concepts found in it.
        score: Its flash score, 0..1.
        by_source: The concepts by who said them.
    """

    event: Event
    concepts: tuple[Mention, ...]
    score: float
    by_source: tuple[tuple[str, tuple[Mention, ...]], ...] = ()

    @property
    def tokens(self) -> float:
        """Length of what the event says, a token counted as four characters."""
        return len(text_of(self.event.body)) / _CHARACTERS_PER_TOKEN


def text_of(body: Body) -> str:
    """Return what an event says: the prompt, or what was done with a tool and what it
    answered.
    """
    return "\n".join(part.text for part in sourced_texts(body))


def score(
    event: Event, importance: Mapping[int, float], source_weight: float
) -> ScoredEvent:
    """Return the event with its concepts and its flash score.

    The score is min(1, source weight × best importance among its known concepts + .5 ×
    share of its concepts that are new). An event without concepts scores 0.

    Args:
        event: A prompt or a tool call.
        importance: concept_id -> importance of the agent's concepts.
        source_weight: How much what the agent says weighs, 0..1.
    """
    # Imported here: a search, which asks for the design, extracts nothing.
    from theorex_lab.text.extract import extract

    parts = []
    for part in sourced_texts(event.body):
        mentions = tuple(extract(part.text.replace("\0", " ")))
        parts.append((part.source, mentions))
    by_id: dict[int, Mention] = {}
    for _, mentions in reversed(parts):
        for mention in mentions:
            by_id[mention.concept_id] = mention
    concepts = tuple(by_id.values())
    if not concepts:
        return ScoredEvent(event, (), 0.0)
    known_importance = [
        importance[mention.concept_id]
        for mention in concepts
        if mention.concept_id in importance
    ]
    new_share = (len(concepts) - len(known_importance)) / len(concepts)
    best = source_weight * max(known_importance, default=0.0)
    best += _NEW_SHARE_WEIGHT * new_share
    return ScoredEvent(event, concepts, min(1.0, best), tuple(parts))


def echoed(scored: Sequence[ScoredEvent], weight: float) -> list[ScoredEvent]:
    """Return the scores of a session's events, each with weight × the share of its
    concepts that other events name too, up to 1.

    Where nothing is known yet, it is this that tells one event from another.
    """
    n_events: Counter[int] = Counter()  # by concept
    for scored_event in scored:
        n_events.update(concept.concept_id for concept in scored_event.concepts)
    result = []
    for scored_event in scored:
        concepts = scored_event.concepts
        n_repeated = sum(n_events[concept.concept_id] > 1 for concept in concepts)
        share = n_repeated / max(1, len(concepts))
        total = min(1.0, scored_event.score + weight * share)
        result.append(scored_event._replace(score=total))
    return result


def keep_best(
    scored: Iterable[ScoredEvent],
    *,
    max_events: int = MAX_EVENTS,
    max_tokens: int = MAX_TOKENS,
) -> list[ScoredEvent]:
    """Return what a session's flash holds after these events came one by one, in their
    order.

    When it is full the lowest score leaves first, of equal ones the oldest; so an
    incoming lower score does not enter. At least one stays, however long it is.
    """
    held = list[ScoredEvent]()
    tokens = 0.0
    for incoming in scored:
        held.append(incoming)
        tokens += incoming.tokens
        while len(held) > 1 and (len(held) > max_events or tokens > max_tokens):
            lowest = min(range(len(held)), key=lambda position: held[position].score)
            tokens -= held.pop(lowest).tokens
    return held


def held_by_day(scored: Iterable[ScoredEvent]) -> list[ScoredEvent]:
    """Return what is held of a session: each UTC day has a flash of its own, so that no
    day crowds out another.
    """

    def day_of(scored_event: ScoredEvent) -> int:
        return scored_event.event.at // MICROSECONDS_PER_DAY

    held: list[ScoredEvent] = []
    for _, day in groupby(scored, key=day_of):
        held += keep_best(day)
    return held


def flushed_upto(journal: Journal) -> dict[tuple[str, str], int]:
    """Return (agent, session) → the seq up to which its events were flushed, of the
    sessions that ever were.
    """
    upto: dict[tuple[str, str], int] = {}
    for event in journal.tail(0, kinds=["flushed"]):
        key = event.agent, event.session
        upto[key] = max(upto.get(key, 0), event.body["upto"])
    return upto


class SourcedText(NamedTuple):
    """A text and how far it is trusted: `source` is a key of TRUST."""

    source: str
    text: str


def sourced_texts(body: Body) -> list[SourcedText]:
    """Return what an event says, by who said it.

    A prompt has one text. A tool call has what the agent did, then all else.

    >>> sourced_texts(
    ...     {
    ...         "input": '{"command":"make test","note":"x"}',
    ...         "response": "ok",
    ...         "source": "tool",
    ...     }
    ... )  # doctest: +NORMALIZE_WHITESPACE
    [SourcedText(source='agent', text='make test'),
     SourcedText(source='tool', text='x\\nok')]
    """
    source = str(body["source"])
    if "text" in body:
        return [SourcedText(source, str(body["text"]))]
    tool_input = str(body.get("input", ""))
    response = str(body.get("response", ""))
    action = tool_input
    rest = ""
    if tool_input.startswith(("{", "[")):
        action, rest = _agent_words(tool_input)
    agent_texts = [*filter(None, map(shown_path, _paths_of(body)))]
    agent_texts.append(without_far_paths(action))
    other_text = without_far_paths(f"{_values(rest)}\n{_values(response)}")
    if source != "tool":  # a whole event that came from elsewhere
        return [SourcedText(source, "\n".join([*agent_texts, other_text]).strip())]
    parts = (
        SourcedText("agent", "\n".join(filter(None, agent_texts)).strip()),
        SourcedText("tool", other_text.strip()),
    )
    return [part for part in parts if part.text]


def _paths_of(body: Body) -> list[str]:
    """Return the paths that a tool call used, in the order of its uses."""
    uses = body.get("paths")
    paths: list[str] = []
    if isinstance(uses, dict):
        for used_paths in uses.values():
            paths += used_paths
    return paths


def _values(text: str) -> str:
    """Return what the values of a text in JSON say; any other text as it is."""
    if not text.startswith(("{", "[", ",")):
        return text
    return " ".join(_FORM.sub(" ", text).split()).strip(" ,")


def _agent_words(tool_input: str) -> tuple[str, str]:
    """Return the command and the project's paths of an input in JSON, and what is left
    of it. The input may be cut.
    """
    words = []
    for name, value in _MEMBER.findall(tool_input):
        text = _unescaped(value)
        words.append(text if name == "command" else shown_path(text))
    return "\n".join(filter(None, words)), _MEMBER.sub("", tool_input)


def _unescaped(value: str) -> str:
    try:
        return str(json.loads(f'"{_BROKEN_ESCAPE.sub("", value)}"', strict=False))
    except ValueError:
        return value
