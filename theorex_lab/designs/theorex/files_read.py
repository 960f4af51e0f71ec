"""What exchange files say, checked and turned into events.

They are our own files, and those of the original system. A reader yields pairs of an
event and the number of records that it stands for; what it cannot read it notes in
`problems` and passes over. Events have ids derived from their content, or those of the
file, so that reading a file twice imports it once.
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
    ImportRemark,
    Lines,
    each_noted,
    without_nulls,
)
from theorex_lab.files.formats.reports import ImportOptions, Read
from theorex_lab.journal.event import Body, Event, encode, new_event
from theorex_lab.memory.decay import COUNT_HALF_LIVES_DAYS, LINK_FIRST, LINK_STEP, Tier
from theorex_lab.memory.observation import (
    DEFAULT_TYPE,
    FIX_TYPE,
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
    project: records.Project = ""
    refused: schema.ConceptIds


def axon_events(
    graph: FlatRecord, agent: str, importing: ImportOptions, problems: list[str]
) -> Read:
    """Yield the concepts and links of one agent's graph.

    A concept whose time cannot be read is kept as last seen in the year 1, where it
    scores 0, and is noted.

    Args:
        graph: The document of the file.
        agent: Whose graph it is.
        importing: How the file is imported.
        problems: What cannot be read is noted there.
    """
    importing = replace(importing, agent=agent)
    id_of: dict[str, int] = {}  # by key of a node
    ids: set[int] = set()
    nodes = each_noted(
        problems, _numbered("node", graph["nodes"]), _node_body, importing
    )
    for position, (key, body) in nodes:
        concept_id = body["concepts"][0][0]
        problem = _node_problem(body, importing, is_repeated=concept_id in ids)
        if problem:
            problems.append(ImportRemark(f": {position}: {problem}"))
        ids.add(concept_id)
        id_of[key] = concept_id
        yield imported(importing, "imported", body, agent), 1
    edges = each_noted(
        problems, _numbered("edge", graph["edges"]), _links, id_of, importing
    )
    links = []
    for _, agent_links in edges:
        links += [link for _, link in agent_links[:1]]
    graduated = _graduated(graph, problems)
    for number, part in enumerate(_parts(links) or [[]]):
        body = {"links": part, "graduated": [] if number else graduated}
        yield imported(importing, "imported_links", body, agent), len(part)


def _node_problem(body: Body, importing: ImportOptions, *, is_repeated: bool) -> str:
    """Return what is to be noted of a node that is imported all the same, or ''."""
    label = body["concepts"][0][1]
    if is_repeated:
        return f"the concept {label!r} is that of an earlier node"
    if body["last_seen"] == EARLIEST:
        return f"the time of {label!r} cannot be read; it is kept, and scores 0"
    if body["last_seen"] > importing.latest:
        return f"the time of {label!r} is ahead of the clock; the clock's is taken"
    return ""


def _graduated(graph: FlatRecord, problems: list[str]) -> list[list[int]]:
    """Return each graduated concept of an agent's graph with when it graduated."""
    attributes = each_noted(
        problems,
        [("graduated", graph["attributes"])],
        partial(schema.checked, _Attributes),
    )
    graduated = []
    for _, checked in attributes:
        for concept_id, at in checked.graduated.items():
            graduated.append([concept_id, at])
    return graduated


def shared_events(
    graph: FlatRecord,
    is_held: Callable[[str, int], bool],
    importing: ImportOptions,
    problems: list[str],
) -> Read:
    """Yield what each agent contributed to the shared web.

    A concept that its agent's axon lacks enters it too, unless the file says that the
    agent has forgotten it: the shared web has no texts of its own.

    Args:
        graph: The shared web of a file.
        is_held: Tells whether an agent's axon has a concept.
        importing: Whose the file is, and how far it is trusted.
        problems: What cannot be read is noted here.
    """
    id_of: dict[str, int] = {}  # by key of a node
    rows_of: dict[tuple[str, str], list[Any]] = {}  # by agent and part of the web
    nodes = each_noted(
        problems, _numbered("node", graph["nodes"]), _node_contributions, importing
    )
    for _, (key, contributions) in nodes:
        for agent, numbers, body in contributions:
            concept_id = numbers["concept_id"]
            id_of[key] = concept_id
            rows = rows_of.setdefault((agent, "concepts"), [])
            rows.append(numbers)
            if body is not None and not is_held(agent, concept_id):
                yield imported(importing, "imported", body, agent), 0
    edges = each_noted(
        problems, _numbered("edge", graph["edges"]), _links, id_of, importing
    )
    for _, agent_links in edges:
        for agent, (first_id, second_id, count, last_seen) in agent_links:
            ends = sorted((first_id, second_id))
            rows = rows_of.setdefault((agent, "links"), [])
            rows.append([*ends, count, last_seen])
    yield from _shared_parts(rows_of, importing)


def _shared_parts(
    rows_of: dict[tuple[str, str], list[Any]], importing: ImportOptions
) -> Read:
    """Yield the rows of each agent and part of the shared web, so many in one event."""
    for (agent, name), rows in rows_of.items():
        for part in _parts(rows):
            body = {"concepts": [], "links": [], name: part}
            yield imported(importing, "imported_shared", body, agent), len(part)


def _parts(rows: list[Any]) -> list[list[Any]]:
    return [rows[start : start + AT_ONCE] for start in range(0, len(rows), AT_ONCE)]


def observation_events(
    lines: Lines,
    axon_owners: Collection[str],
    importing: ImportOptions,
    problems: list[str],
) -> Read:
    """Yield whole sentences.

    Args:
        lines: The lines of the file.
        axon_owners: The agents whose axon was imported too: their sentences are not
            counted a second time.
        importing: How the file is imported.
        problems: What cannot be read is noted there.
    """
    observations = each_noted(problems, lines, _observation, axon_owners, importing)
    for number, event in observations:
        yield importing.believed(event, problems, number), 1


def short_term_events(
    lines: Lines, importing: ImportOptions, problems: list[str]
) -> Read:
    """Yield what flushes kept.

    Records of one event, which follow one another, become that event again.

    Args:
        lines: The lines of the file.
        importing: How the file is imported.
        problems: What cannot be read is noted there.
    """
    noted = each_noted(problems, lines, _short_term_record, importing)
    records_of_file = (record for _, record in noted)
    for key, group in groupby(records_of_file, key=_shared_by_event):
        event_id, shared, agent, session, at = key
        concepts: list[Any] = []
        for _, record_body, *_ in group:
            concepts += record_body["concepts"]
        body = {**shared, "concepts": concepts}
        if not event_id:
            event_id = derived_event_id("short_term", agent, session, at, encode(body))
        event = new_event(
            "short_term",
            body,
            agent=agent,
            session=session,
            at=min(at, importing.latest),
            event_id=event_id,
        )
        yield event, len(concepts)


def _shared_by_event(
    record: tuple[str, Body, str, str, int],
) -> tuple[str, Body, str, str, int]:
    """Return what the records of one event have in common: all but their concepts."""
    event_id, body, agent, session, at = record
    return event_id, {**body, "concepts": None}, agent, session, at


def _numbered(name: str, items: list[Any]) -> Iterator[tuple[str, Any]]:
    """Yield each item with its position in words: `node 3`."""
    return ((f"{name} {number}", item) for number, item in enumerate(items))


def _node_body(node: Any, importing: ImportOptions) -> tuple[str, Body]:
    """Return the key of a node, and the body of its concept."""
    body = _concept_body(_attributes(node), importing)  # refuses what is no object
    return str(node.get("key")), body


def _concept_body(attributes: FlatRecord, importing: ImportOptions) -> Body:
    """Return the body of one concept.

    It has the numbers of the file, and the most likely ones for those it lacks.
    """
    concept = records.concept_of(attributes, importing)
    numbers = schema.checked(_Stated, attributes)
    count = numbers.frequency_count
    kind = numbers.observation_type
    tone = _SENTIMENTS.get(numbers.sentiment_tier, 0.0)
    mean = numbers.given("sentiment", tone)
    total = numbers.given("sentiment_sum", mean * count)
    if not -count <= total <= count:
        raise InvalidInput(
            f"sentiment_sum is {total!r}; allowed is {_SUM.description}, which is {count}"
        )
    body: Body = {"concepts": [[*concept, count]], "type": kind}
    if numbers.node_type != NODE_TYPE:
        body["node_type"] = numbers.node_type
    body["source"] = importing.source(attributes, "trust")
    body["tier"] = _tier(numbers)
    body["last_seen"] = numbers.last_seen
    body["first_seen"] = numbers.given("first_seen", numbers.last_seen)
    likely_fixes = count if kind == FIX_TYPE else 0
    body["fix_count"] = numbers.given("fix_count", likely_fixes)
    agent_weight = importing.settings.source_weight(importing.agent)
    body["source_weight"] = numbers.given("source_weight", agent_weight)
    body["sentiment_sum"] = total
    # Where the file has none, every mention counts as the last one.
    all_as_last = [float(count)] * _HALF_LIVES
    body["decayed"] = numbers.given("decayed_counts", all_as_last)
    if importing.trusted and attributes.get("said"):
        body["said"] = _speakers(attributes["said"], count)
    return body


def _speakers(record: Any, count: int) -> Body:
    """Return who said a concept that has `count` mentions in all.

    It is the levels of trust, and the numbers of the owner's own mentions.
    """
    record = without_nulls(record)
    levels = schema.checked(_Levels, record).model_dump()
    if levels["affirmed"] is not None:
        numbers = schema.checked(_Own, record)
        levels |= numbers.model_dump()
        levels["count"] = min(numbers.count, count)
        levels["fix_count"] = min(numbers.fix_count, count)
    return levels


def _tier(numbers: _Stated) -> str:
    tier: str = numbers.given("scanned_tier", numbers.relevance_tier)
    if tier not in Tier.__members__:
        raise InvalidInput(
            f"the tier is {tier!r}; allowed are {', '.join(Tier.__members__)}"
        )
    return tier


def _links(
    edge: Any, id_of: dict[str, int], importing: ImportOptions
) -> list[tuple[str, list[int]]]:
    """Return the agents of an edge, each with [first id, second id, count, last_seen].

    A missing count is that which gives the strength.
    """
    attributes = _attributes(edge)
    first_id = id_of.get(str(edge.get("source")))
    second_id = id_of.get(str(edge.get("target")))
    if first_id is None or second_id is None or first_id == second_id:
        ends = f"{edge.get('source')!r} and {edge.get('target')!r}"
        raise InvalidInput(f"got ends {ends}; allowed are two nodes of the file")
    links = []
    for contribution in _contributions(attributes):
        link = schema.checked(_Link, contribution)
        n_steps = round((link.strength - LINK_FIRST) / LINK_STEP)
        likely = max(1, n_steps + 1)
        count = link.given("co_occurrence_count", likely)
        numbers = [first_id, second_id, count, link.last_co_occurrence]
        agent = check_agent(contribution.get("agent_id", importing.agent))
        links.append((agent, numbers))
    return links


def _node_contributions(
    node: Any, importing: ImportOptions
) -> tuple[str, list[tuple[str, Body, Body | None]]]:
    """Return the key of a node, and its contributions.

    Each of these has its agent, its numbers, and the concept's body where the agent
    still holds it.
    """
    attributes = _attributes(node)
    has_text = "canonical_form" in attributes or "surface_form" in attributes
    if has_text:
        concept_id = records.concept_of(attributes, importing)[0]
    else:
        concept_id = schema.checked(_Numbered, attributes).concept_id
    contributions: list[tuple[str, Body, Body | None]] = []
    for contribution in _contributions(attributes):
        agent = check_agent(contribution.get("agent_id", importing.agent))
        of_agent = replace(importing, agent=agent)
        body = None
        if has_text:
            body = _concept_body({**attributes, **contribution}, of_agent)
            numbers = body
        else:
            numbers = _concept_body({**contribution, "canonical_form": "-"}, of_agent)
        contributed = {
            "concept_id": concept_id,
            "count": numbers["concepts"][0][3],
            "trust": TRUST[numbers["source"]],
            "fix_count": numbers["fix_count"],
            "first_seen": numbers["first_seen"],
            "last_seen": numbers["last_seen"],
            "source_weight": numbers["source_weight"],
        }
        if contribution.get("forgotten"):
            body = None
        contributions.append((agent, contributed, body))
    return str(node.get("key")), contributions


def _contributions(attributes: FlatRecord) -> list[FlatRecord]:
    """Return what each agent gave.

    A file of the original system has one contribution, that of the node's agent.
    """
    contributions = attributes.get("contributions", [attributes])
    is_valid = isinstance(contributions, list)
    if is_valid:
        is_valid = all(isinstance(item, dict) for item in contributions)
    if not is_valid:
        raise InvalidInput(
            "contributions is no list of objects; allowed is one object an agent"
        )
    objects: list[FlatRecord] = contributions
    return objects


def _observation(
    record: FlatRecord, axon_owners: Collection[str], importing: ImportOptions
) -> Event:
    sentence = schema.checked(_Sentence, record)
    at = sentence.timestamp
    agent = sentence.given("agent_id", importing.agent)
    source = importing.source(record, "source")
    event = records.observation_of(
        sentence,
        importing,
        agent=agent,
        at=at,
        session=sentence.session_id,
        source=source,
    )
    body = event.body
    if sentence.refused:
        body["refused"] = sentence.refused
    if agent in axon_owners:
        body |= {"counted": False, "faded": sentence.faded}
    event_id = schema.event_id_of(sentence.id, "observation", agent, at, encode(body))
    return event._replace(id=event_id, lineage=tuple(sentence.lineage))


def _short_term_record(
    record: FlatRecord, importing: ImportOptions
) -> tuple[str, Body, str, str, int]:
    """Return the event id, body, agent, session and time of one short-term record.

    The id is '' where the file has none of ours.
    """
    concept = records.concept_of(record, importing)
    checked = schema.checked(_Kept, record)
    agent = checked.given("agent_id", importing.agent)
    agent_weight = importing.settings.source_weight(agent)
    body = {
        "concepts": [[*concept, checked.frequency_count]],
        "score": checked.composite_score,
        "source": importing.source(record, "source"),
        "weight": checked.given("source_weight", agent_weight),
    }
    if checked.project:
        body["project"] = checked.project
    if checked.refused:
        body["refused"] = checked.refused
    event = new_event(
        "short_term",
        body,
        agent=agent,
        session=checked.session_id,
        at=checked.timestamp,
    )
    event_id, _, _ = str(checked.id).rpartition(":")
    if not re.fullmatch(UUID, event_id):
        event_id = ""
    return event_id, event.body, agent, event.session, event.at


def _attributes(item: Any) -> FlatRecord:
    attributes = None
    if isinstance(item, dict):
        attributes = item.get("attributes", {})
    if not isinstance(attributes, dict):
        raise InvalidInput(f"got {item!r:.80}; allowed is an object with attributes")
    return attributes


def settled(captures: Sequence[Event]) -> list[Event]:
    """Return the marks that captures from files wait for no flush.

    What a flush kept of them is in the short-term files.
    """
    first = captures[0]
    flushed = new_event(
        "flushed",
        {"upto": _ANY_SEQ},
        agent=first.agent,
        session=first.session,
        at=first.at,
        event_id=derived_event_id("flushed", *(event.id for event in captures)),
    )
    return [flushed]


def imported(importing: ImportOptions, kind: str, body: Body, agent: str) -> Event:
    """Return an event whose id is derived from what it says.

    No time in it is ahead of the clock.
    """
    event_id = derived_event_id(kind, agent, encode(body))
    body = _not_after(importing.latest, body)
    return new_event(kind, body, agent=agent, at=importing.now, event_id=event_id)


def _not_after(latest: int, value: Any, key: str = "") -> Any:
    """Return a body in which no time is later than `latest` (µs).

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
    if key in ("last_seen", "first_seen"):
        return min(value, latest)
    return value
