"""Flash: what a running session has done and what it was given.

Each event is kept by who said it, and scored against what the agent knows.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.remembering import remembered
from theorex_lab.journal.base import Journal
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Body, Event
from theorex_lab.journal.heads import Heads
from theorex_lab.journal.view import View
from theorex_lab.memory.contract import Home
from theorex_lab.text.paths import shown_path, without_far_paths

if TYPE_CHECKING:
    from theorex_lab.text.extract import Mention

MAX_EVENTS = 50
MAX_TOKENS = 4_000
_COLUMNS = ("seq", "at", "agent", "session", "project")  # of an event
_SESSION_BITS = 32  # of a number that tells agent and session
_CHARACTERS_PER_TOKEN = 4
_NEW_SHARE_WEIGHT = 0.5
# Members of a tool's input in which an agent says what it does; the others may hold
# anything it has read.
_MEMBER = lazy_pattern(r'"(command|file_path|path|notebook_path)":"((?:\\.|[^"\\])*)"?')
# Names of members, escapes and signs of JSON, whole or cut: no word of what is said.
_FORM = lazy_pattern(
    r'"[^"\\\n]{1,64}"\s*:|\\(?:u[0-9a-fA-F]{4}|[nrtbf/\\"])|[{}\[\]"]'
)
_JSON = json.JSONDecoder(strict=False)  # texts hold line breaks as they are
_BROKEN_ESCAPE = lazy_pattern(r"\\(?:u[0-9a-fA-F]{0,3})?…?$")


def _group_of(event: Event) -> tuple[bool, str, str, str]:
    """Return what events have alike that the fold of `Flash` takes in together.

    It is whether they are flushes, and their agent, session and project.
    """
    is_flush = event.kind == "flushed"
    project = event.body.get("project", "")
    return (
        is_flush,
        event.agent,
        event.session,
        project,
    )


def _key(agent: Any, session: Any) -> Any:
    """Return one number for an agent and a session, or an array of them for arrays."""
    return (agent << _SESSION_BITS) + session


class Flash(View):
    """The events of each session that were not flushed yet.

    Attributes:
        events: The columns seq, at (µs UTC), agent, session and project.
    """

    name = "flash"
    code = 2
    reads_outlines = True
    reads_heads = True
    whole_kinds = ("flushed",)
    kinds = ("tool_used", "prompt", "flushed")

    def __init__(self) -> None:
        super().__init__()
        self.agents = Names()
        self.sessions = Names()
        self.projects = Names()
        self.events = Table(
            seq="i8",
            at="i8",
            agent="i4",
            session="i4",
            project="i4",
        )

    def apply(self, events: Sequence[Event]) -> None:
        """Take in tool events and prompts.

        A flush takes out those of its session up to its seq.
        """
        new = list[tuple[int, ...]]()
        flushed_upto: dict[tuple[int, int], int] = {}  # by agent and session
        for names, group in groupby(events, _group_of):
            is_flush, agent_name, session_name, project_name = names
            agent = self.agents.number(agent_name)
            session = self.sessions.number(session_name)
            if is_flush:
                # What came after a flush stays, whatever seq it names.
                uptos = [min(event.body["upto"], event.seq) for event in group]
                before = flushed_upto.get((agent, session), 0)
                flushed_upto[agent, session] = max(before, *uptos)
            else:
                project = self.projects.number(project_name)
                for event in group:
                    row = (
                        event.seq,
                        event.at,
                        agent,
                        session,
                        project,
                    )
                    new.append(row)
        self.events.extend(_COLUMNS, new)
        if flushed_upto:
            self._take_out(flushed_upto)

    def _take_out(self, flushed_upto: Mapping[tuple[int, int], int]) -> None:
        """Take out the events of sessions up to seqs, all in one pass.

        Args:
            flushed_upto: The seqs, by the numbers of the agent and the session.
        """
        table = self.events
        sessions = sorted(flushed_upto)
        flushed_keys = np.array(
            [_key(*session) for session in sessions],
            np.int64,
        )
        uptos = np.array(
            [flushed_upto[session] for session in sessions],
            np.int64,
        )
        agents = table["agent"].astype(np.int64)
        keys = _key(agents, table["session"])
        # Where the key of each event stands, or would stand, among the flushed.
        positions = np.searchsorted(flushed_keys, keys)
        positions = np.minimum(positions, len(flushed_keys) - 1)
        is_of_flush = flushed_keys[positions] == keys
        is_before = table["seq"] <= uptos[positions]
        is_flushed = is_of_flush & is_before
        table.keep(~is_flushed)

    def apply_heads(self, heads: Heads) -> None:
        """Take in tool events and prompts by their heads."""
        agents = heads.agent.numbers_in(self.agents)
        sessions = heads.session.numbers_in(self.sessions)
        projects = heads.project.numbers_in(self.projects)
        where = self.events.grow(len(heads.seq))
        self.events.put(
            where,
            seq=heads.seq,
            at=heads.at,
            agent=agents,
            session=sessions,
            project=projects,
        )

    def pending(self, agent: str, session: str) -> list[int]:
        """Return the seqs of a session's events that were not flushed, in order."""
        is_agents = self.events["agent"] == self.agents.find(agent)
        is_sessions = self.events["session"] == self.sessions.find(session)
        is_pending = is_agents & is_sessions
        seqs: list[int] = self.events["seq"][is_pending].tolist()
        return seqs

    def pending_by_session(self, agent: str) -> dict[str, list[int]]:
        """Return what `pending` returns of each session of an agent that has any."""
        is_agents = self.events["agent"] == self.agents.find(agent)
        sessions = self.events["session"][is_agents]
        seqs = self.events["seq"][is_agents]
        names = list(self.sessions)
        seqs_of: dict[str, list[int]] = {}
        for session, seq in zip(
            sessions.tolist(),
            seqs.tolist(),
            strict=True,
        ):
            name = names[session]
            seqs_of.setdefault(name, []).append(seq)
        return seqs_of

    def waiting(self, home: Home, agent: str) -> list[tuple[str, int]]:
        """Return the sessions that wait for a flush.

        In a project they are those with events of it.

        Returns:
            The name of each, and the time (µs) of its latest event.
        """
        with self.lock:
            number = self.agents.find(agent)
            is_agents = self.events["agent"] == number
            session = self.events["session"][is_agents]
            last_at = np.zeros(len(self.sessions), np.int64)
            np.maximum.at(last_at, session, self.events["at"][is_agents])
            names = list(self.sessions)
            rows = self._waiting_rows(home, is_agents)
            return [(names[row], int(last_at[row])) for row in rows.tolist()]

    def n_waiting(self, home: Home, agent: str) -> int:
        """Return how many sessions `waiting` returns."""
        with self.lock:
            is_agents = self.events["agent"] == self.agents.find(agent)
            return len(self._waiting_rows(home, is_agents))

    def _waiting_rows(
        self, home: Home, is_agents: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Return the numbers of the sessions of an agent's events that wait."""
        is_waiting = is_agents
        if home.project:
            of_project = self.projects.find(home.project)
            is_waiting = is_agents & (self.events["project"] == of_project)
        has_waiting = np.zeros(len(self.sessions), np.bool_)
        has_waiting[self.events["session"][is_waiting]] = True
        return np.flatnonzero(has_waiting)


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
        text = text_of(self.event.body)
        return len(text) / _CHARACTERS_PER_TOKEN


def text_of(body: Body) -> str:
    """Return what an event says.

    It is the prompt, or what was done with a tool and what it answered.
    """
    texts = [part.text for part in sourced_texts(body)]
    return "\n".join(texts)


def score(
    event: Event,
    importance: Mapping[int, float],
    source_weight: float,
    *,
    vocabulary: Collection[int] = (),
) -> ScoredEvent:
    """Return the event with its concepts and its flash score.

    The score is min(1, source weight × best importance among its known concepts + .5 ×
    share of its concepts that are new). An event without concepts scores 0.

    Args:
        event: A prompt or a tool call.
        importance: concept_id -> importance of the agent's concepts.
        source_weight: How much what the agent says weighs, 0..1.
        vocabulary: The ids of the concepts that people said. Where there are any, a tool
            call has no others but the paths that it used, and none of its answer.
    """
    parts = _mentions_by_source(event, vocabulary)
    by_id: dict[int, Mention] = {}
    for _, mentions in reversed(parts):
        for mention in mentions:
            by_id[mention.concept_id] = mention
    concepts = tuple(by_id.values())
    if not concepts:
        return ScoredEvent(event, (), 0.0)
    best_importance = 0.0
    n_new = 0
    for mention in concepts:
        concept_id = mention.concept_id
        if concept_id in importance:
            best_importance = max(best_importance, importance[concept_id])
        else:
            n_new += 1
    new_share = n_new / len(concepts)
    total = source_weight * best_importance
    total += _NEW_SHARE_WEIGHT * new_share
    return ScoredEvent(event, concepts, min(1.0, total), tuple(parts))


def _mentions_by_source(
    event: Event, vocabulary: Collection[int]
) -> list[tuple[str, tuple[Mention, ...]]]:
    """Return the concepts of an event by who said them; see `score`."""
    # Imported here: a search, which asks for the design, extracts nothing.
    from theorex_lab.text.extract import extract, extract_among

    is_narrowed = bool(vocabulary) and event.kind == "tool_used"
    paths: set[str] = set()
    if is_narrowed:
        for path in _paths_of(event.body):
            shown = shown_path(path)
            paths.add(shown)
    parts = []
    for part in sourced_texts(event.body):
        if is_narrowed and part.source == "tool":
            continue
        text = part.text.replace("\0", " ")
        if not is_narrowed:
            parts.append((part.source, tuple(extract(text))))
            continue
        mentions = extract_among(text, vocabulary, paths)
        parts.append((part.source, tuple(mentions)))
    return parts


def is_of_person(body: Body) -> bool:
    """Return whether a capture is what a person asked, not an agent of another."""
    return "text" in body and not body.get("subagent")


def asked_in(events: Iterable[Event]) -> set[int]:
    """Return the ids of the concepts that people said in these captures."""
    from theorex_lab.text.extract import extract
    from theorex_lab.text.subjects import own_concepts

    concept_ids: set[int] = set()
    for event in events:
        if is_of_person(event.body):
            text = str(event.body["text"]).replace("\0", " ")
            mentions = extract(text)
            own_ids = own_concepts(text, mentions)
            concept_ids.update(own_ids)
    return concept_ids


def echoed(scored: Sequence[ScoredEvent], weight: float) -> list[ScoredEvent]:
    """Return the scores of a session's events, raised by what other events repeat.

    To each is added weight × the share of its concepts that other events name too; the
    sum is up to 1. Where nothing is known yet, it is this that tells one event from
    another.
    """
    n_events: Counter[int] = Counter()  # by concept
    for scored_event in scored:
        n_events.update(concept.concept_id for concept in scored_event.concepts)
    result = []
    for scored_event in scored:
        concepts = scored_event.concepts
        n_repeated = 0
        for concept in concepts:
            if n_events[concept.concept_id] > 1:
                n_repeated += 1
        share = n_repeated / max(1, len(concepts))
        total = scored_event.score + weight * share
        result.append(scored_event._replace(score=min(1.0, total)))
    return result


def keep_best(
    scored: Iterable[ScoredEvent],
    *,
    max_events: int = MAX_EVENTS,
    max_tokens: int = MAX_TOKENS,
) -> list[ScoredEvent]:
    """Return what a session's flash holds after these events came, in their order.

    They come one by one. When it is full the lowest score leaves first, of equal ones
    the oldest; so an incoming lower score does not enter. At least one stays, however
    long it is.

    Args:
        scored: The events.
        max_events: How many it may hold.
        max_tokens: How many tokens they may have.
    """
    held = list[ScoredEvent]()
    held_tokens = list[float]()
    tokens = 0.0
    for incoming in scored:
        held.append(incoming)
        held_tokens.append(incoming.tokens)
        tokens += held_tokens[-1]
        while len(held) > 1:
            is_full = len(held) > max_events or tokens > max_tokens
            if not is_full:
                break
            scores = [scored_event.score for scored_event in held]
            position = scores.index(min(scores))
            held.pop(position)
            tokens -= held_tokens.pop(position)
    return held


def held_by_day(scored: Iterable[ScoredEvent]) -> list[ScoredEvent]:
    """Return what is held of a session.

    Each UTC day has a flash of its own, so that no day crowds out another.
    """

    def day_of(scored_event: ScoredEvent) -> int:
        return scored_event.event.at // MICROSECONDS_PER_DAY

    held: list[ScoredEvent] = []
    for _, day in groupby(scored, key=day_of):
        held += keep_best(day)
    return held


def flushed_upto(journal: Journal) -> dict[tuple[str, str], int]:
    """Return of each flushed session the seq up to which its events were flushed.

    Returns:
        The seqs by (agent, session); a session that was never flushed has none.
    """
    seqs: dict[tuple[str, str], int] = {}
    for event in journal.tail(0, kinds=["flushed"]):
        key = (event.agent, event.session)
        flushed_before = seqs.get(key, 0)
        seqs[key] = max(flushed_before, event.body["upto"])
    return seqs


class SourcedText(NamedTuple):
    """A text and how far it is trusted: `source` is a key of TRUST."""

    source: str
    text: str


def sourced_texts(body: Body) -> list[SourcedText]:
    r"""Return what an event says, by who said it.

    A prompt has one text. A tool call has what the agent did, then all else.

    >>> sourced_texts(
    ...     {
    ...         "input": '{"command":"make test","note":"x"}',
    ...         "response": "ok",
    ...         "source": "tool",
    ...     }
    ... )  # doctest: +NORMALIZE_WHITESPACE
    [SourcedText(source='agent', text='make test'),
     SourcedText(source='tool', text='x\nok')]
    """
    source = str(body["source"])
    if "text" in body:
        return [SourcedText(source, str(body["text"]))]
    tool_input = str(body.get("input", ""))
    response = str(body.get("response", ""))
    paths = tuple(_paths_of(body))
    return list(_tool_texts(source, tool_input, response, paths))


# A flush looks several times at the events of one session.
@remembered(1 << 11)
def _tool_texts(
    source: str,
    tool_input: str,
    response: str,
    paths: tuple[str, ...],
) -> tuple[SourcedText, ...]:
    """Return what a tool call says, as `sourced_texts`.

    Args:
        source: Where the event came from.
        tool_input: What the tool was given, perhaps cut JSON.
        response: What it answered.
        paths: The project's paths that it used.
    """
    action = tool_input
    rest = ""
    if tool_input.startswith(("{", "[")):
        action, rest = _agent_words(tool_input)
    shown_paths = [shown_path(path) for path in paths]
    agent_texts = [path for path in shown_paths if path]
    agent_texts.append(without_far_paths(action))
    other_text = without_far_paths(f"{_values(rest)}\n{_values(response)}")
    if source != "tool":  # a whole event that came from elsewhere
        whole_text = "\n".join([*agent_texts, other_text])
        return (SourcedText(source, whole_text.strip()),)
    agent_text = "\n".join(filter(None, agent_texts))
    parts = (
        SourcedText("agent", agent_text.strip()),
        SourcedText("tool", other_text.strip()),
    )
    return tuple(part for part in parts if part.text)


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
    words = _FORM.sub(" ", text).split()
    return " ".join(words).strip(" ,")


def _agent_words(tool_input: str) -> tuple[str, str]:
    """Return what an agent says in an input in JSON, and what is left of it.

    It says the command and the project's paths. The input may be cut.
    """
    texts: list[str] = []
    for name, value in _MEMBER.findall(tool_input):
        text = _unescaped(value)
        if name != "command":
            text = shown_path(text)
        if text:
            texts.append(text)
    rest = _MEMBER.sub("", tool_input)
    return "\n".join(texts), rest


def _unescaped(value: str) -> str:
    whole = _BROKEN_ESCAPE.sub("", value)
    if "\\" not in whole:
        return whole
    try:
        return str(_JSON.decode(f'"{whole}"'))
    except ValueError:
        return value
