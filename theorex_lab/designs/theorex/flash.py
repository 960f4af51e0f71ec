"""Flash: what a running session has done and heard, told apart by who said it, and
scored against what the agent knows.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby
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
    """The events of each session that were not flushed yet: seq, agent, session."""

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
        """Seqs of the agent's events in the session that were not flushed, in order."""
        mask = self.events["agent"] == self.agents.find(agent)
        found: list[int] = self.events["seq"][
            mask & (self.events["session"] == self.sessions.find(session))
        ].tolist()
        return found

    def waiting(self, home: Home, agent: str) -> list[tuple[str, int]]:
        """The sessions that wait for a flush, each with the time (µs) of its latest
        event; in a project those with events of it.
        """
        with self.lock:
            open_here = np.unique(
                self.events["session"][self.events["agent"] == self.agents.find(agent)]
            ).tolist()
            pending = {
                self.sessions[number]: self.pending(agent, self.sessions[number])
                for number in open_here
            }
        found = []
        for name, seqs in pending.items():
            events = home.journal.read(seqs=seqs)
            if events and home.project in (
                "",
                *(event.body.get("project") for event in events),
            ):
                found.append((name, max(event.at for event in events)))
        return found


class ScoredEvent(NamedTuple):
    """An event with the concepts found in it, its flash score, 0..1, and the concepts
    by who said them.
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
    """What an event says: the prompt, or what was done with a tool and what it
    answered.
    """
    return "\n".join(part.text for part in said(body))


def score(
    event: Event, importance: Mapping[int, float], source_weight: float
) -> ScoredEvent:
    """min(1, source weight × best importance among its known concepts + .5 × share of
    its concepts that are new).

    `importance`: concept_id -> importance of the agent's concepts. An event without
    concepts scores 0.
    """
    from theorex_lab.text.extract import (
        extract,
    )  # a search, which asks for the design, extracts nothing

    parts = tuple(
        (part.source, tuple(extract(part.text.replace("\0", " "))))
        for part in said(event.body)
    )
    concepts = tuple(
        {
            concept.concept_id: concept
            for _, found in reversed(parts)
            for concept in found
        }.values()
    )
    if not concepts:
        return ScoredEvent(event, (), 0.0)
    known = [
        importance[mention.concept_id]
        for mention in concepts
        if mention.concept_id in importance
    ]
    best = source_weight * max(known, default=0.0) + _NEW_SHARE_WEIGHT * (
        (len(concepts) - len(known)) / len(concepts)
    )
    return ScoredEvent(event, concepts, min(1.0, best), parts)


def echoed(scored: Sequence[ScoredEvent], weight: float) -> list[ScoredEvent]:
    """The scores of a session's events, each with weight × the share of its concepts
    that other events name too, up to 1.

    Where nothing is known yet, it is this that tells one event from another.
    """
    ids = [[concept.concept_id for concept in one.concepts] for one in scored]
    named = Counter(chain.from_iterable(ids))
    shares = (
        sum(named[number] > 1 for number in own) / max(1, len(own)) for own in ids
    )
    return [
        one._replace(score=min(1.0, one.score + weight * share))
        for one, share in zip(scored, shares, strict=True)
    ]


def keep_best(
    scored: Iterable[ScoredEvent],
    *,
    max_events: int = MAX_EVENTS,
    max_tokens: int = MAX_TOKENS,
) -> list[ScoredEvent]:
    """What a session's flash holds after these events came one by one, in their order.

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
    """What is held of a session: each UTC day has a flash of its own, so that no day
    crowds out another.
    """
    days = groupby(
        scored, key=lambda one_scored: one_scored.event.at // MICROSECONDS_PER_DAY
    )
    return [one_scored for _, day in days for one_scored in keep_best(day)]


def flushed_upto(journal: Journal) -> dict[tuple[str, str], int]:
    """(agent, session) → the seq up to which its events were flushed, of the sessions
    that ever were.
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


def said(body: Body) -> list[SourcedText]:
    """What an event says, by who said it: a prompt alone; of a tool call what the agent
    did, then all else.

    >>> said(
    ...     {
    ...         "input": '{"command":"make test","note":"x"}',
    ...         "response": "ok",
    ...         "source": "tool",
    ...     }
    ... )
    [SaidText(source='agent', text='make test'), SaidText(source='tool', text='x\\nok')]
    """
    source = str(body["source"])
    given = str(body.get("input", ""))
    answer = str(body.get("response", ""))
    if "text" in body:
        return [SourcedText(source, str(body["text"]))]
    done, rest = (given, "") if not given.startswith(("{", "[")) else _own_words(given)
    uses = body.get("paths")
    paths = (
        [path for found in uses.values() for path in found]
        if isinstance(uses, dict)
        else []
    )
    own = [*filter(None, map(shown_path, paths)), without_far_paths(done)]
    heard = without_far_paths(f"{_values(rest)}\n{_values(answer)}")
    if source != "tool":  # a whole event that came from elsewhere
        return [SourcedText(source, "\n".join([*own, heard]).strip())]
    parts = (
        SourcedText("agent", "\n".join(filter(None, own)).strip()),
        SourcedText("tool", heard.strip()),
    )
    return [part for part in parts if part.text]


def _values(given: str) -> str:
    """What the values of a text in JSON say; any other text as it is."""
    return (
        " ".join(_FORM.sub(" ", given).split()).strip(" ,")
        if given.startswith(("{", "[", ","))
        else given
    )


def _own_words(given: str) -> tuple[str, str]:
    """The command and the project's paths of an input in JSON, which may be cut; and
    what is left of it.
    """
    words = []
    for name, value in _MEMBER.findall(given):
        text = _unescaped(value)
        words.append(text if name == "command" else shown_path(text))
    return "\n".join(filter(None, words)), _MEMBER.sub("", given)


def _unescaped(value: str) -> str:
    try:
        return str(json.loads(f'"{_BROKEN_ESCAPE.sub("", value)}"', strict=False))
    except ValueError:
        return value
