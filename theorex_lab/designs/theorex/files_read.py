"""What exchange files say, checked and turned into events: our own files, and those of
the original system.

A reader yields pairs of an event and the number of records that it stands for; what it
cannot read it notes in `problems` and passes over. Events have ids derived from their
content, or those of the file, so that reading a file twice imports it once.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import groupby
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from theorex_lab.core.clock import EARLIEST
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import UUID, check_agent, derived_event_id
from theorex_lab.core.settings import Settings
from theorex_lab.designs.theorex.axon import NODE_TYPE
from theorex_lab.files.formats import records, schema
from theorex_lab.files.formats.flat_files import (
    FlatRecord,
    Lines,
    each_noted,
    without_nulls,
)
from theorex_lab.files.formats.reports import ImportOptions, Read
from theorex_lab.journal.event import Body, Event, encode, new_event
from theorex_lab.memory.decay import COUNT_HALF_LIVES_DAYS, LINK_FIRST, LINK_STEP, Tier
from theorex_lab.memory.observation import (
    DEFAULT_TYPE,
    TRUST,
    ObservationEntry,
    new_observation,
)

_ANY_SEQ = 2**62
AT_ONCE = 1_000  # links, or contributions, of one event

_SENTIMENTS = {"positive": 0.5, "neutral": 0.0, "negative": -0.5}


@lru_cache(maxsize=64)
def _checked_type(observation_type: str) -> str:
    new_observation(
        ObservationEntry("-", "main", observation_type=observation_type), Settings(), 0
    )
    return observation_type


_Decayed = Annotated[int | float, schema.within(0, schema.LARGEST)]
_SUM = Field(
    ge=-schema.LARGEST,
    le=schema.LARGEST,
    description="a number from -frequency_count to frequency_count",
)
_HALF_LIVES = len(COUNT_HALF_LIVES_DAYS)
_DECAYED = Field(
    min_length=_HALF_LIVES,
    max_length=_HALF_LIVES,
    description=f"a list of {_HALF_LIVES} numbers from 0",
)


class _Numbered(schema.FileRecord):
    concept_id: schema.ConceptId


class _Stated(schema.FileRecord):
    """The numbers of a concept, in an axon or the shared web."""

    frequency_count: records.Count = 1
    last_seen: schema.TimeOrEarliest = EARLIEST
    first_seen: schema.TimeOrEarliest = EARLIEST
    fix_count: Annotated[int, schema.whole(0)] = 0
    source_weight: schema.Share = 0
    sentiment_tier: schema.Text = "neutral"
    sentiment: records.Tone = 0
    sentiment_sum: Annotated[int | float, _SUM] = 0
    observation_type: Annotated[schema.Text, AfterValidator(_checked_type)] = (
        DEFAULT_TYPE
    )
    node_type: Annotated[schema.Text, AfterValidator(_checked_type)] = NODE_TYPE
    scanned_tier: schema.Text = Tier.NEUTRAL.name
    relevance_tier: schema.Text = Tier.NEUTRAL.name
    decayed_counts: Annotated[list[_Decayed], _DECAYED] = Field([])


class _Own(schema.FileRecord):
    """The numbers of the owner's own mentions of a concept."""

    count: Annotated[int, schema.whole(0)]
    fix_count: Annotated[int, schema.whole(0)]
    first_seen: schema.Time
    last_seen: schema.Time


_Level = Annotated[
    Literal["import", "tool", "model", "agent", "user"] | None,
    Field(description=", ".join(TRUST)),
]


class _Levels(schema.FileRecord):
    affirmed: _Level = None
    refused: _Level = None
    heard: _Level = None


class _Link(schema.FileRecord):
    strength: schema.Share = LINK_FIRST
    co_occurrence_count: records.Count = 1
    last_co_occurrence: schema.TimeOrEarliest = EARLIEST


class _Attributes(schema.FileRecord):
    """Attributes of an agent's graph."""

    graduated: dict[schema.ConceptId, schema.Time] = Field(
        default={}, description="an object of concepts and times"
    )


class _Sentence(schema.TimedRecord, records.Sentence):
    session_id: schema.Text = ""
    type: schema.Text = Field(DEFAULT_TYPE, alias="observation_type")
    weight: schema.Share = Field(0, alias="source_weight")
    lineage: schema.EventIds
    refused: schema.ConceptIds
    faded: schema.ConceptIds


class _Kept(schema.TimedRecord):
    """A record of the short-term memory."""

    session_id: schema.Session = ""
    frequency_count: records.Count = 1
    composite_score: schema.Share
    source_weight: schema.Share = 0


def axon_events(
    graph: FlatRecord, agent: str, how: ImportOptions, problems: list[str]
) -> Read:
    """Concepts and links of one agent's graph.

    A concept whose time cannot be read is kept as last seen in the year 1, where it
    scores 0, and is noted.
    """
    how = replace(how, agent=agent)
    concepts: dict[str, int] = {}
    seen: set[int] = set()
    for where, (key, body) in each_noted(
        problems, _placed("node", graph["nodes"]), _node_stated, how
    ):
        concept = body["concepts"][0]
        if concept[0] in seen:
            problems.append(
                f": {where}: the concept {concept[1]!r} is that of an earlier node"
            )
        elif body["last_seen"] == EARLIEST:
            problems.append(
                f": {where}: the time of {concept[1]!r} cannot be read; it is kept, and scores 0"
            )
        elif body["last_seen"] > how.latest:
            problems.append(
                f": {where}: the time of {concept[1]!r} is ahead of the clock; the clock's is taken"
            )
        seen.add(concept[0])
        concepts[key] = concept[0]
        yield imported(how, "imported", body, agent), 1
    given = each_noted(problems, _placed("edge", graph["edges"]), _links, concepts, how)
    links = [link for _, found in given for _, link in found[:1]]
    noted = each_noted(
        problems,
        [("graduated", graph["attributes"])],
        partial(schema.checked, _Attributes),
    )
    graduated = [[*pair] for _, stated in noted for pair in stated.graduated.items()]
    for number, part in enumerate(_parts(links) or [[]]):
        body = {"links": part, "graduated": [] if number else graduated}
        yield imported(how, "imported_links", body, agent), len(part)


def shared_events(
    graph: FlatRecord,
    held: Callable[[str, int], bool],
    how: ImportOptions,
    problems: list[str],
) -> Read:
    """What each agent contributed to the shared web.

    `held` tells whether an agent's axon has a concept. One that it lacks enters it too,
    unless the file says that the agent has forgotten it: the shared web has no texts of
    its own.
    """
    ids: dict[str, int] = {}
    told: dict[tuple[str, str], list[Any]] = {}  # by agent and part of the web
    for _, (key, contributions) in each_noted(
        problems, _placed("node", graph["nodes"]), _given, how
    ):
        for agent, given, body in contributions:
            ids[key] = given["concept_id"]
            told.setdefault((agent, "concepts"), []).append(given)
            if body is not None and not held(agent, given["concept_id"]):
                yield imported(how, "imported", body, agent), 0
    for _, given_links in each_noted(
        problems, _placed("edge", graph["edges"]), _links, ids, how
    ):
        for agent, (one, other, *numbers) in given_links:
            told.setdefault((agent, "links"), []).append(
                [*sorted((one, other)), *numbers]
            )
    for (agent, name), rows in told.items():
        for part in _parts(rows):
            yield (
                imported(
                    how,
                    "imported_shared",
                    {"concepts": [], "links": [], name: part},
                    agent,
                ),
                len(part),
            )


def _parts(rows: list[Any]) -> list[list[Any]]:
    return [rows[start : start + AT_ONCE] for start in range(0, len(rows), AT_ONCE)]


def observation_events(
    lines: Lines, stated: Collection[str], how: ImportOptions, problems: list[str]
) -> Read:
    """Whole sentences. Those of agents in `stated`, whose axon was imported too, are
    not counted a second time.
    """
    for number, event in each_noted(problems, lines, _observation, stated, how):
        yield how.believed(event, problems, number), 1


def short_term_events(lines: Lines, how: ImportOptions, problems: list[str]) -> Read:
    """What flushes kept. Records of one event, which follow one another, become that
    event again.
    """
    kept = (found for _, found in each_noted(problems, lines, _kept, how))
    together = groupby(
        kept,
        key=lambda record: (record[0], {**record[1], "concepts": None}, *record[2:]),
    )
    for (event_id, shared, agent, session, at), group in together:
        concepts = [concept for record in group for concept in record[1]["concepts"]]
        body = {**shared, "concepts": concepts}
        believed = min(at, how.latest)
        made = event_id or derived_event_id(
            "short_term", agent, session, at, encode(body)
        )
        yield (
            new_event(
                "short_term",
                body,
                agent=agent,
                session=session,
                at=believed,
                event_id=made,
            ),
            len(concepts),
        )


def _placed(what: str, items: list[Any]) -> Iterator[tuple[str, Any]]:
    return ((f"{what} {number}", item) for number, item in enumerate(items))


def _node_stated(node: Any, how: ImportOptions) -> tuple[str, Body]:
    """The key of a node, and the body of its concept."""
    body = _stated(_attributes(node), how)  # refuses what is no object
    return str(node.get("key")), body


def _stated(attributes: FlatRecord, how: ImportOptions) -> Body:
    """The body of one concept: its numbers as the file has them, and the most likely
    ones for those it lacks.
    """
    concept = records.concept_of(attributes, how)
    stated = schema.checked(_Stated, attributes)
    count = stated.frequency_count
    kind = stated.observation_type
    tone = _SENTIMENTS.get(stated.sentiment_tier, 0.0)
    total = stated.given("sentiment_sum", stated.given("sentiment", tone) * count)
    if not -count <= total <= count:
        raise InvalidInput(
            f"sentiment_sum is {total!r}; allowed is {_SUM.description}, which is {count}"
        )
    return {
        "concepts": [[*concept, count]],
        "type": kind,
        **({} if stated.node_type == NODE_TYPE else {"node_type": stated.node_type}),
        "source": how.source(attributes, "trust"),
        "tier": _tier(stated),
        "last_seen": stated.last_seen,
        "first_seen": stated.given("first_seen", stated.last_seen),
        "fix_count": stated.given("fix_count", count if kind == "trace_fix" else 0),
        "source_weight": stated.given(
            "source_weight", how.settings.source_weight(how.agent)
        ),
        "sentiment_sum": total,
        # Where the file has none, every mention counts as the last one.
        "decayed": stated.given("decayed_counts", [float(count)] * _HALF_LIVES),
        **(
            _said(attributes["said"], count)
            if how.trust_own and attributes.get("said")
            else {}
        ),
    }


def _said(stated: Any, count: int) -> Body:
    """Levels of trust of who said a concept, and the numbers of the owner's own
    mentions, of `count` in all.
    """
    record = without_nulls(stated)
    said = schema.checked(_Levels, record).model_dump()
    if said["affirmed"] is not None:
        own = schema.checked(_Own, record)
        said |= own.model_dump() | {
            name: min(getattr(own, name), count) for name in ("count", "fix_count")
        }
    return {"said": said}


def _tier(stated: _Stated) -> str:
    tier: str = stated.given("scanned_tier", stated.relevance_tier)
    if tier not in Tier.__members__:
        raise InvalidInput(
            f"the tier is {tier!r}; allowed are {', '.join(Tier.__members__)}"
        )
    return tier


def _links(
    edge: Any, ids: dict[str, int], how: ImportOptions
) -> list[tuple[str, list[int]]]:
    """The agents of an edge, each with [one end, the other, count, last_seen]; a
    missing count is that which gives the strength.
    """
    attributes = _attributes(edge)
    one, other = (ids.get(str(edge.get(name))) for name in ("source", "target"))
    if one is None or other is None or one == other:
        ends = f"{edge.get('source')!r} and {edge.get('target')!r}"
        raise InvalidInput(f"got ends {ends}; allowed are two nodes of the file")
    found = []
    for contribution in _contributions(attributes):
        link = schema.checked(_Link, contribution)
        likely = max(1, round((link.strength - LINK_FIRST) / LINK_STEP) + 1)
        numbers = [link.given("co_occurrence_count", likely), link.last_co_occurrence]
        found.append(
            (
                check_agent(contribution.get("agent_id", how.agent)),
                [one, other, *numbers],
            )
        )
    return found


def _given(
    node: Any, how: ImportOptions
) -> tuple[str, list[tuple[str, Body, Body | None]]]:
    """The key of a node; per contribution its agent, its numbers, and the concept's
    body where the agent still holds it.
    """
    attributes = _attributes(node)
    named = "canonical_form" in attributes or "surface_form" in attributes
    number = (
        records.concept_of(attributes, how)[0]
        if named
        else schema.checked(_Numbered, attributes).concept_id
    )
    found: list[tuple[str, Body, Body | None]] = []
    for contribution in _contributions(attributes):
        agent = check_agent(contribution.get("agent_id", how.agent))
        own = replace(how, agent=agent)
        body = _stated({**attributes, **contribution}, own) if named else None
        numbers = body or _stated({**contribution, "canonical_form": "-"}, own)
        given = {
            "concept_id": number,
            "count": numbers["concepts"][0][3],
            "trust": TRUST[numbers["source"]],
        }
        given |= {
            name: numbers[name]
            for name in ("fix_count", "first_seen", "last_seen", "source_weight")
        }
        found.append((agent, given, None if contribution.get("forgotten") else body))
    return str(node.get("key")), found


def _contributions(attributes: FlatRecord) -> list[FlatRecord]:
    """What each agent gave; a file of the original system has one, that of the node's
    agent.
    """
    stated = attributes.get("contributions", [attributes])
    if not isinstance(stated, list) or not all(
        isinstance(contribution, dict) for contribution in stated
    ):
        raise InvalidInput(
            "contributions is no list of objects; allowed is one object an agent"
        )
    return stated


def _observation(
    record: FlatRecord, counted: Collection[str], how: ImportOptions
) -> Event:
    stated = schema.checked(_Sentence, record)
    at = stated.timestamp
    agent = stated.given("agent_id", how.agent)
    made = records.observation_of(
        stated, how, agent, at, stated.session_id, how.source(record, "source")
    )
    body = made.body
    if stated.refused:
        body["refused"] = stated.refused
    if agent in counted:
        body |= {"counted": False, "faded": stated.faded}
    event_id = schema.event_id_of(stated.id, "observation", agent, at, encode(body))
    return made._replace(id=event_id, lineage=tuple(stated.lineage))


def _kept(record: FlatRecord, how: ImportOptions) -> tuple[str, Body, str, str, int]:
    """Event id ('' where the file has none of ours), body, agent, session and time of
    one short-term record.
    """
    concept = records.concept_of(record, how)
    stated = schema.checked(_Kept, record)
    agent = stated.given("agent_id", how.agent)
    body = {
        "concepts": [[*concept, stated.frequency_count]],
        "score": stated.composite_score,
        "source": how.source(record, "source"),
        "weight": stated.given("source_weight", how.settings.source_weight(agent)),
    }
    event = new_event(
        "short_term", body, agent=agent, session=stated.session_id, at=stated.timestamp
    )
    own = str(stated.id).rpartition(":")[0]
    return (
        own if re.fullmatch(UUID, own) else "",
        event.body,
        agent,
        event.session,
        event.at,
    )


def _attributes(item: Any) -> FlatRecord:
    attributes = item.get("attributes", {}) if isinstance(item, dict) else None
    if not isinstance(attributes, dict):
        raise InvalidInput(f"got {item!r:.80}; allowed is an object with attributes")
    return attributes


def settled(captures: Sequence[Event]) -> list[Event]:
    """The mark that captures from files wait for no flush: what one kept of them is in
    the short-term files.
    """
    made = derived_event_id("flushed", *(event.id for event in captures))
    first = captures[0]
    whose = {"agent": first.agent, "session": first.session}
    return [
        new_event("flushed", {"upto": _ANY_SEQ}, **whose, at=first.at, event_id=made)
    ]


def imported(how: ImportOptions, kind: str, body: Body, agent: str) -> Event:
    """An event whose id is derived from what it says, in which no time is ahead of the
    clock.
    """
    made = derived_event_id(kind, agent, encode(body))
    return new_event(
        kind, _not_after(how.latest, body), agent=agent, at=how.now, event_id=made
    )


def _not_after(latest: int, value: Any, key: str = "") -> Any:
    """A body in which no time is later than `latest` (µs).

    Times stand under last_seen and first_seen, and at the end of links and of graduated
    concepts.
    """
    if isinstance(value, dict):
        return {name: _not_after(latest, part, name) for name, part in value.items()}
    if key in ("links", "graduated"):
        return [[*row[:-1], min(row[-1], latest)] for row in value]
    if key == "concepts":  # those of the shared web are objects, others hold no times
        return [
            _not_after(latest, element) if isinstance(element, dict) else element
            for element in value
        ]
    return min(value, latest) if key in ("last_seen", "first_seen") else value
