"""The stages before and behind the axon: short-term memory, and the shared web.

What flushes kept over the last fourteen days, and which concepts graduate from it; then
what agents have given of their concepts to all. The shared web has ids and numbers; the
labels stay in the axon.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import derived_event_id
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.settings import Settings
from theorex_lab.designs.theorex.axon import Axon, Ints, Mask
from theorex_lab.designs.theorex.flash import ScoredEvent, is_of_person, sourced_texts
from theorex_lab.designs.theorex.scores import items_of, law_of, policy, scores_of
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Event, encode, new_event
from theorex_lab.journal.view import View
from theorex_lab.memory.decay import Items, Tier, rank_order, tiers
from theorex_lab.memory.observation import TRUST, common_project
from theorex_lab.text.corroboration import is_worded, refused_concepts
from theorex_lab.text.subjects import may_be_subject, opening_words, own_concepts

if TYPE_CHECKING:
    from theorex_lab.text.extract import Mention

RETENTION_DAYS = 14


class ShortTerm(View):
    """Records: one row an event kept and a concept in it.

    Attributes:
        records: The columns seq (of the short_term event), at (µs, of the event it came
            from), agent, session, concept_id, label and surface (numbers of texts),
            count, score (0..1), trust, project ('' for none), asked (whether a person
            said it).
        graduated: The columns agent, concept_id, upto (µs): records up to there were
            counted when the concept graduated.
    """

    name = "short_term"
    code = 5
    kinds = ("short_term", "graduated", "imported_links")

    def __init__(self) -> None:
        super().__init__()
        self.agents = Names()
        self.sessions = Names()
        self.labels = Names()
        self.projects = Names()
        self.records = Table(
            seq="i8",
            at="i8",
            agent="i4",
            session="i4",
            concept_id="i8",
            label="i4",
            surface="i4",
            count="i8",
            score="f8",
            trust="i1",
            project="i4",
            asked="i1",
        )
        self.graduated = Table(agent="i4", concept_id="i8", upto="i8")

    def _short_term(self, event: Event) -> None:
        body = event.body
        trust = TRUST[body["source"]]
        columns = {
            "seq": event.seq,
            "at": event.at,
            "agent": self.agents.number(event.agent),
            "score": body["score"],
            "session": self.sessions.number(event.session),
            "project": self.projects.number(body.get("project", "")),
        }
        # What was only said to be refused is believed no more than what a model says.
        refused = body.get("refused", ())
        asked = body.get("asked", ())
        refused_trust = min(trust, TRUST["model"])
        for concept_id, label, surface, count in body["concepts"]:
            self.records.add(
                concept_id=concept_id,
                count=count,
                trust=refused_trust if concept_id in refused else trust,
                label=self.labels.number(label),
                surface=self.labels.number(surface),
                asked=concept_id in asked,
                **columns,
            )

    def _graduated(self, event: Event) -> None:
        body = event.body
        pairs = body.get("graduated", [])
        if event.kind == "graduated":
            pairs = [[body["concept_id"], body["upto"]]]
        for concept_id, upto in pairs:
            self.graduated.add(
                agent=self.agents.number(event.agent), concept_id=concept_id, upto=upto
            )

    _imported_links = _graduated

    def asked(self, agent: str) -> set[int]:
        """Return the ids of the concepts that people said to an agent."""
        rows = self._asked_rows(agent)
        concept_ids = self.records["concept_id"][rows]
        return set(concept_ids.tolist())

    def opening_words(self, agent: str) -> frozenset[str]:
        """Return the words that open phrases of those who speak with an agent."""
        rows = self._asked_rows(agent)
        numbers = np.unique(self.records["label"][rows])
        labels = map(self.labels.__getitem__, numbers.tolist())
        return opening_words(labels)

    def _asked_rows(self, agent: str) -> Ints:
        """Return the rows of what people said to an agent."""
        table = self.records
        number = self.agents.find(agent)
        is_asked = table["asked"] > 0
        is_asked &= table["agent"] == number
        return np.flatnonzero(is_asked)

    def window(
        self, now: int, *, agent: str, projects: Sequence[str] | None = None
    ) -> Ints:
        """Return the rows of the agent's records of the last fourteen days, in order.

        A record of exactly fourteen days ago stays.

        Args:
            now: The moment (µs) at which the window ends.
            agent: Whose records they are.
            projects: The records are of these or of none; None: of all.
        """
        table = self.records
        oldest = now - RETENTION_DAYS * MICROSECONDS_PER_DAY
        is_inside = table["at"] >= oldest
        if projects is not None:
            numbers = self.projects.numbers("", *projects)
            is_inside &= np.isin(table["project"], numbers)
        is_inside &= table["at"] <= now
        is_inside &= table["agent"] == self.agents.find(agent)
        rows = np.flatnonzero(is_inside)
        in_time = np.argsort(table["at"][rows], kind="stable")
        return rows[in_time]


def asked_ids(events: Iterable[Event]) -> set[int]:
    """Return the ids of the concepts that people said, in events of short-term memory.

    They are those that `ShortTerm.asked` has when the events are folded.
    """
    concept_ids: set[int] = set()
    for event in events:
        concept_ids.update(event.body.get("asked", ()))
    return concept_ids


def short_term_events(scored: ScoredEvent, weight: float) -> list[Event]:
    """Return the events that keep what one scored event was about.

    There is one for each who said it; the event itself stays. Their ids follow from
    that of their origin, so that nothing is kept twice.
    """
    origin = scored.event
    texts = {part.source: part.text for part in sourced_texts(origin.body)}
    sources = [(source, mentions) for source, mentions in scored.by_source if mentions]
    events = []
    for number, (source, mentions) in enumerate(sources):
        body = {
            "concepts": [_concept_of(mention) for mention in mentions],
            "score": round(scored.score, 6),
            "source": source,
            "weight": weight,
            "project": origin.body.get("project", ""),
        }
        body |= _said_of(origin, source, texts[source], mentions)
        id_parts: list[Any] = [origin.id]
        if number > 0:
            id_parts.append(number)
        short_term_event = new_event(
            "short_term",
            body,
            agent=origin.agent,
            session=origin.session,
            at=origin.at,
            lineage=[origin.id],
            event_id=derived_event_id("short_term", *id_parts),
        )
        events.append(short_term_event)
    return events


def _said_of(
    origin: Event, source: str, text: str, mentions: Sequence["Mention"]
) -> dict[str, list[int]]:
    """Return which of the mentions a person said, and which were said to be refused."""
    members: dict[str, list[int]] = {}
    if is_of_person(origin.body):
        prompt = text.replace("\0", " ")
        asked_ids = own_concepts(prompt, mentions)
        if asked_ids:
            members["asked"] = asked_ids
    trust = TRUST[source]
    if trust >= TRUST["agent"]:
        refused_ids = refused_concepts(text, mentions)
        if refused_ids:
            members["refused"] = refused_ids
    return members


def _concept_of(mention: "Mention") -> list[Any]:
    """Return a mention as an event holds it."""
    return [
        mention.concept_id,
        mention.label,
        mention.surface,
        mention.count,
    ]


class Graduate(NamedTuple):
    """A concept on its way into the axon.

    Attributes:
        concept_id: Its id.
        rows: The rows of the records that count.
        days: The days of its run, since 1970.
    """

    concept_id: int
    rows: Ints
    days: tuple[int, ...]


def graduates(
    view: ShortTerm, now: int, settings: Settings, *, agent: str
) -> list[Graduate]:
    """Return the agent's concepts that graduate.

    Their best score of the day reached the threshold on `graduation_days` UTC days
    within any `graduation_window_days`. The run lies anywhere in the last fourteen
    days; records that were counted at an earlier graduation do not count again.

    Where people speak with the agent, what they say tells what the work is about: then
    their words alone count, and words that are said of any work do not graduate. A tool
    call names hundreds of things that nobody cares about.

    Args:
        view: The short-term memory.
        now: The moment (µs) at which the fourteen days end.
        settings: The threshold and the numbers of days.
        agent: Whose concepts they are.
    """
    table = view.records
    rows = view.window(now, agent=agent)
    is_spoken_with = bool(view.asked(agent))
    if is_spoken_with:
        is_said = table["asked"][rows] > 0
        rows = rows[is_said]
        is_of_work = _is_subject_of(view, rows, agent)
        rows = rows[is_of_work]
    counted = counted_upto(view, agent)
    concept_of_row = table["concept_id"][rows]
    result = []
    for concept_id in _on_enough_days(view, rows, settings):
        concept_rows = rows[concept_of_row == concept_id]
        counted_until = counted.get(concept_id, _NEVER)
        is_new = table["at"][concept_rows] > counted_until
        new_rows = concept_rows[is_new]
        graduate = _graduate_of(view, concept_id, new_rows, settings)
        if graduate is not None:
            result.append(graduate)
    return result


def _is_subject_of(view: ShortTerm, rows: Ints, agent: str) -> Mask:
    """Return of each record whether its concept may be what the work is about."""
    openings = view.opening_words(agent)
    labels = view.records["label"][rows]
    subjects = []
    for number in np.unique(labels).tolist():
        label = view.labels[number]
        if may_be_subject(label, openings):
            subjects.append(number)
    return np.isin(labels, subjects)


def _on_enough_days(view: ShortTerm, rows: Ints, settings: Settings) -> list[int]:
    """Return the ids of the concepts with records on `graduation_days` days.

    Most have fewer, and need no closer look.
    """
    records = view.records
    days = records["at"][rows] // MICROSECONDS_PER_DAY
    ids = records["concept_id"][rows]
    pairs = set(
        zip(
            ids.tolist(),
            days.tolist(),
            strict=True,
        )
    )
    n_days = Counter(concept_id for concept_id, _ in pairs)
    enough_ids = []
    for concept_id, count in n_days.items():
        if count >= settings.graduation_days:
            enough_ids.append(concept_id)
    return sorted(enough_ids)


def _graduate_of(
    view: ShortTerm, concept_id: int, rows: Ints, settings: Settings
) -> Graduate | None:
    """Return the concept with the run of its records; None where they make none.

    The agent's own records are looked at first. So what it said for a week graduates
    with its own trust, although a tool said it too.
    """
    is_agents = view.records["trust"][rows] >= TRUST["agent"]
    for run_rows in (rows[is_agents], rows):
        run = _run_of(view, run_rows, settings)
        if run:
            return Graduate(concept_id, run_rows, run)
    return None


def _run_of(view: ShortTerm, rows: Ints, settings: Settings) -> tuple[int, ...]:
    is_good = view.records["score"][rows] >= settings.graduation_threshold
    good_rows = rows[is_good]
    times = view.records["at"][good_rows]
    days = np.unique(times // MICROSECONDS_PER_DAY)
    fewest = settings.graduation_days
    within = max(fewest, settings.graduation_window_days)
    return first_run(days.tolist(), fewest, within)


def counted_upto(view: ShortTerm, agent: str) -> dict[int, int]:
    """Return up to when an agent's records were counted as concepts graduated.

    Returns:
        By concept_id the time, µs.
    """
    is_agents = view.graduated["agent"] == view.agents.find(agent)
    times = view.graduated["upto"][is_agents].tolist()
    concept_ids = view.graduated["concept_id"][is_agents].tolist()
    # In the order of time, so that the latest graduation of a concept holds.
    pairs = sorted(zip(times, concept_ids, strict=True))
    return {concept_id: upto for upto, concept_id in pairs}


def first_run(days: Sequence[int], fewest: int, within: int) -> tuple[int, ...]:
    """Return the first stretch of days in which enough are close, as far as it goes.

    It is empty where there is none.

    Args:
        days: Days in order, by their numbers.
        fewest: How many are enough.
        within: Within how many days these are close.

    >>> first_run([1, 3, 4, 30], 3, 7), first_run([1, 3, 4], 3, 3)
    ((1, 3, 4), ())
    """
    starts: list[int] = []
    for start in range(len(days) - fewest + 1):
        end = start + fewest - 1
        if days[end] - days[start] < within:
            starts.append(start)
    if not starts:
        return ()
    first = starts[0]
    last = first
    while last + 1 in starts:
        last += 1
    return tuple(days[first : last + fewest])


def graduation_event(
    view: ShortTerm,
    graduate: Graduate,
    short_term_events: Sequence[Event],
    settings: Settings,
    *,
    agent: str,
    at: int,
) -> Event:
    """Return the event of one graduation.

    Args:
        view: The short-term memory that the concept graduates from.
        graduate: The concept, with the rows of its records.
        short_term_events: The events that those records come from.
        settings: Say how much the agent's word weighs.
        agent: Whose concept it is.
        at: When (µs) it graduates.
    """
    records = view.records
    rows = graduate.rows
    trust_names = {number: name for name, number in TRUST.items()}
    times = records["at"][rows].tolist()
    first_row = rows[0]
    label = int(records["label"][first_row])
    surface = int(records["surface"][first_row])
    least_trust = int(records["trust"][rows].min())
    body = {
        "concept_id": graduate.concept_id,
        "label": view.labels[label],
        "surface": view.labels[surface],
        "times": times,
        "counts": records["count"][rows].tolist(),
        "days": list(graduate.days),
        "upto": max(times),
        "source": trust_names[least_trust],
        "weight": settings.source_weight(agent),
        "project": common_project(short_term_events),
    }
    lineage = [event.id for event in short_term_events]
    return new_event("graduated", body, agent=agent, at=at, lineage=lineage)


_NEVER = -(2**62)  # µs; before every time
_KEYS = {"concepts": ("agent", "concept_id"), "links": ("agent", "a", "b")}
_NUMBERS = ("count", "fix_count", "first_seen", "last_seen", "trust")


class SharedWeb(View):
    """What each agent contributes, as it stood when last promoted.

    Setting it again changes nothing.

    Attributes:
        concepts: The columns agent, concept_id, count, fix_count, first_seen, last_seen
            (µs), trust, source_weight.
        links: The columns agent, a < b (concept ids), count of texts, last_seen (µs).
    """

    name = "shared"
    code = 2
    kinds = ("promoted", "imported_shared")

    def __init__(self) -> None:
        super().__init__()
        self.agents = Names()
        self.concepts = Table(
            agent="i4",
            concept_id="i8",
            count="i8",
            fix_count="i8",
            first_seen="i8",
            last_seen="i8",
            trust="i8",
            source_weight="f8",
        )
        self.links = Table(agent="i4", a="i8", b="i8", count="i8", last_seen="i8")
        self._rows: dict[str, dict[tuple[int, ...], int]] = {}  # by table and key

    def apply(self, events: Sequence[Event]) -> None:
        """Take in promotions: each sets its agent's contributions.

        Of what a file states the larger number stays.
        """
        for event in events:
            agent = self.agents.number(event.agent)
            from_file = event.kind == "imported_shared"
            for contribution in event.body["concepts"]:
                self._take_concept(agent, contribution, from_file=from_file)
            for link in event.body["links"]:
                self._take_link(agent, link, from_file=from_file)

    def _take_concept(
        self, agent: int, contribution: Mapping[str, Any], *, from_file: bool
    ) -> None:
        table = self.concepts
        row = self._row("concepts", agent, contribution["concept_id"])
        keeps_larger = from_file and table["count"][row] > 0
        for name in (*_NUMBERS, "source_weight"):
            values = table[name]
            value = contribution[name]
            if keeps_larger and name == "first_seen":
                value = min(values[row], value)
            elif keeps_larger:
                value = max(values[row], value)
            values[row] = value

    def _take_link(self, agent: int, link: Sequence[int], *, from_file: bool) -> None:
        first, second, count, last_seen = link
        row = self._row("links", agent, first, second)
        counts = self.links["count"]
        times = self.links["last_seen"]
        if from_file and counts[row] > 0:
            count = max(count, counts[row])
            last_seen = max(last_seen, times[row])
        counts[row] = count
        times[row] = last_seen

    def _after_load(self) -> None:
        self._rows = {}

    def contributed(self, agent: str) -> dict[int, tuple[int, ...]]:
        """Return what the agent gave.

        Returns:
            By concept_id (count, fix_count, first_seen, last_seen, trust).
        """
        is_agents = self.concepts["agent"] == self.agents.find(agent)
        ids = self.concepts["concept_id"][is_agents].tolist()
        columns = [self.concepts[name][is_agents].tolist() for name in _NUMBERS]
        numbers = zip(*columns, strict=True)
        return dict(zip(ids, numbers, strict=True))

    def contributed_links(self, agent: str) -> dict[tuple[int, int], tuple[int, int]]:
        """Return (a, b) -> (count, last_seen) of the links that the agent gave."""
        is_agents = self.links["agent"] == self.agents.find(agent)
        names = ("a", "b", "count", "last_seen")
        columns = [self.links[name][is_agents].tolist() for name in names]
        numbers_of: dict[tuple[int, int], tuple[int, int]] = {}
        for a, b, count, last_seen in zip(*columns, strict=True):
            numbers_of[a, b] = (count, last_seen)
        return numbers_of

    def _row(self, name: str, *key: int) -> int:
        """Return the row of a key in the table of this name.

        A new one gets its key here and its numbers afterwards.
        """
        table = vars(self)[name]
        columns = _KEYS[name]
        if name not in self._rows:
            key_columns = [table[column].tolist() for column in columns]
            keys = zip(*key_columns, strict=True)
            self._rows[name] = {row_key: row for row, row_key in enumerate(keys)}
        rows = self._rows[name]
        if key not in rows:
            new_rows = table.extend(columns, [key])
            rows[key] = new_rows.start
        return rows[key]


def promotion(
    axon: Axon,
    shared: SharedWeb,
    now: int,
    settings: Settings,
    *,
    agent: str,
    force: Collection[int] = (),
    among: Mask | None = None,
) -> Event | None:
    """Return the event of one agent's promotion.

    It is None where nothing changed since the last. Promoted are concepts whose
    importance is strictly above promotionThreshold, and those forced by concept_id,
    awake or asleep. Of what somebody below the trust of an agent said too, only what
    the agent affirmed is promoted, with the numbers of that. Links between two that
    were promoted now or before come along. Work grows with the agent's concepts and
    links.

    Args:
        axon: The concepts of all agents.
        shared: What agents have given before.
        now: When (µs) it is promoted.
        settings: The decay law and the thresholds.
        agent: Whose concepts they are.
        force: Ids of concepts that are promoted in any case.
        among: A mask of the rows that may be promoted; None: all.

    Raises:
        InvalidInput: A forced id is that of no concept of the agent.
    """
    current = scores_of(axon, now, settings, agents=[agent], among=among)
    current_ids = axon.concepts["concept_id"][current.rows]
    is_forced = np.isin(current_ids, list(force))
    unknown_ids = set(force).difference(current_ids[is_forced].tolist())
    if unknown_ids:
        names = ", ".join(map(str, sorted(unknown_ids)))
        raise InvalidInput(
            f"got the concept ids {names}, which {agent} has no concept of; allowed are"
            " the ids of concepts that its searches give"
        )
    is_important = current.importance > settings.promotion_threshold
    is_awake = current.tier != Tier.SLEEPING
    is_promoted = is_important & is_awake
    rows = current.rows[is_promoted | is_forced]
    before = shared.contributed(agent)
    promoted_ids = set(before)
    changed: list[dict[str, Any]] = []
    for contribution in _contributions(axon, rows):
        concept_id = contribution["concept_id"]
        promoted_ids.add(concept_id)
        if before.get(concept_id) != _numbers_of(contribution):
            changed.append(contribution)
    links = _changed_links(
        axon,
        shared,
        agent,
        current.rows,
        np.fromiter(promoted_ids, np.int64),
    )
    if not changed and not links:
        return None
    body = {"concepts": changed, "links": links, "policy": policy(settings)}
    event_id = derived_event_id("promoted", agent, shared.seq, encode([changed, links]))
    return new_event("promoted", body, agent=agent, at=now, event_id=event_id)


def _contributions(axon: Axon, rows: Ints) -> list[dict[str, Any]]:
    """Return what an agent gives of the concepts of these rows."""
    contributions = []
    hearsay = _hearsay(axon, rows).tolist()
    for row, is_hearsay in zip(rows.tolist(), hearsay, strict=True):
        contribution = _contribution(axon, row, affirmed_alone=is_hearsay)
        if contribution is not None:
            contributions.append(contribution)
    return contributions


def _numbers_of(contribution: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(contribution[name] for name in _NUMBERS)


def _hearsay(axon: Axon, rows: Ints) -> Mask:
    """Return whether somebody below the trust of an agent said the concepts of rows.

    It was said to this agent or to another.
    """
    ids = axon.concepts["concept_id"]
    is_untrusted = axon.concepts["heard"] >= 0
    is_living = axon.concepts["alive"]
    heard_ids = ids[is_untrusted & is_living]
    return np.isin(ids[rows], heard_ids)


def _contribution(
    axon: Axon, row: int, *, affirmed_alone: bool
) -> dict[str, Any] | None:
    """Return what an agent gives of a concept, None where it gives nothing.

    It gives all of its numbers, or with `affirmed_alone` those of the agent's own
    affirming mentions. Then it gives nothing where the agent did not say the concept
    other than to refuse it, or where the concept does not look like words.
    """
    table = axon.concepts
    columns = {name: name for name in _NUMBERS}
    if affirmed_alone:
        is_affirmed = table["affirmed"][row] >= 0
        if not is_affirmed:
            return None
        if not is_worded(axon.labels[row]):
            return None
        columns = {name: f"own_{name}" for name in _NUMBERS}
        columns["trust"] = "affirmed"
    numbers: dict[str, Any] = {}
    for name, column in columns.items():
        numbers[name] = int(table[column][row])
    return {
        "concept_id": int(table["concept_id"][row]),
        **numbers,
        "source_weight": float(table["source_weight"][row]),
    }


def _changed_links(
    axon: Axon, shared: SharedWeb, agent: str, agent_rows: Ints, promoted_ids: Ints
) -> list[list[int]]:
    """Return the agent's links between promoted concepts that are to be promoted.

    They are new, or have grown since they were promoted.
    """
    ids = axon.concepts["concept_id"]
    links = axon.links
    is_promoted = np.zeros(len(axon.concepts), bool)
    is_promoted[agent_rows] = np.isin(ids[agent_rows], promoted_ids)
    first = links["a"]
    second = links["b"]
    present = links["count"] > 0
    present = present & is_promoted[first] & is_promoted[second]
    first_ids = ids[first[present]]
    second_ids = ids[second[present]]
    end_ids = np.stack([first_ids, second_ids], axis=1)
    ends = np.sort(end_ids).tolist()
    counts = links["count"][present].tolist()
    times = links["last_seen"][present].tolist()
    before = shared.contributed_links(agent)
    changed: list[list[int]] = []
    for (a, b), count, at in zip(ends, counts, times, strict=True):
        if before.get((a, b)) != (count, at):
            changed.append([a, b, count, at])
    return changed


@dataclass(frozen=True)
class SharedConcept:
    """A concept of the shared web.

    It has the sum of the agents' own counts, and what the agent of highest weight says
    of it.
    """

    concept_id: int
    text: str
    count: int
    agent: str
    tier: str
    importance: float
    last_seen: int
    trust: int


def shared_concepts(
    axon: Axon, shared: SharedWeb, now: int, settings: Settings
) -> list[SharedConcept]:
    """Return the concepts of the shared web, best first.

    What was erased from every agent's axon has no label and is left out.

    Args:
        axon: The concepts of all agents.
        shared: What agents contribute.
        now: The moment (µs) at which they are scored.
        settings: The decay law and the thresholds.
    """
    table = shared.concepts
    agents = [shared.agents[number] for number in table["agent"].tolist()]
    positions = []  # contributions that are in their agent's axon
    axon_rows = []
    ids = table["concept_id"].tolist()
    for position, (agent, concept_id) in enumerate(zip(agents, ids, strict=True)):
        row = axon.row(agent, concept_id)
        if row is not None:
            positions.append(position)
            axon_rows.append(row)
    if not positions:
        return []
    living = np.array(positions, np.int64)
    rows = np.array(axon_rows, np.int64)
    law = law_of(settings)
    concept_ids, group = np.unique(table["concept_id"][living], return_inverse=True)
    # The contribution of the highest source weight speaks for its concept; of equal
    # ones the latest.
    times = table["last_seen"][living]
    weights = table["source_weight"][living]
    best = np.lexsort((times, weights, group))
    groups = np.arange(len(concept_ids))
    starts = np.searchsorted(group[best], groups)
    ends = np.append(starts[1:], len(best))
    speaker = best[ends - 1]
    speaker_rows = rows[speaker]
    speaker_positions = living[speaker]
    items = items_of(axon, now, settings).take(rows)
    items = _own_items(axon, items, rows, now)
    counts = table["count"][living]
    items = _joined(items.take(best), starts, counts[best])
    raw = law.raw(items)
    importance = law.importance(raw)
    tier = tiers(importance, settings.active_threshold, settings.mild_threshold)
    trusts = table["trust"][living]
    last_seen = np.maximum.reduceat(times[best], starts)
    trust = np.maximum.reduceat(trusts[best], starts)
    order = rank_order(raw, items.count, last_seen, concept_ids)
    concepts: list[SharedConcept] = []
    for position in order.tolist():
        concept = SharedConcept(
            concept_id=int(concept_ids[position]),
            text=axon.surfaces[int(speaker_rows[position])],
            count=int(items.count[position]),
            agent=agents[int(speaker_positions[position])],
            tier=Tier(int(tier[position])).name,
            importance=float(importance[position]),
            last_seen=int(last_seen[position]),
            trust=int(trust[position]),
        )
        concepts.append(concept)
    return concepts


def _own_items(axon: Axon, items: Items, rows: Ints, now: int) -> Items:
    """Return the items without what strangers' mentions brought in.

    They have the age and the share of the counts that the agents' own mentions have.
    """
    table = axon.concepts
    count = table["count"][rows]
    own_count = table["own_count"][rows]
    since_own = now - table["own_last_seen"][rows]
    own_age = since_own / MICROSECONDS_PER_DAY
    is_untrusted = table["heard"][rows] >= 0
    is_mixed = is_untrusted & (own_count > 0)
    own_share = own_count / np.maximum(count, 1)
    share = np.where(is_mixed, own_share, 1.0)
    return replace(
        items,
        age_days=np.where(is_mixed, own_age, items.age_days),
        decayed_counts=items.decayed_counts * share[:, None],
    )


def _joined(items: Items, starts: Ints, count: Ints) -> Items:
    """Return several agents' rows of a concept as one.

    Counts add up; the latest mention and the strongest links hold. The rows of a
    concept stand together, and begin at `starts`.
    """
    names = (
        "first_age_days",
        "link_strength",
        "mean_link_strength",
        "half_life_cap_days",
    )
    highest: dict[str, Any] = {}
    for name in names:
        highest[name] = np.maximum.reduceat(getattr(items, name), starts)
    decayed = np.add.reduceat(items.decayed_counts, starts)
    age = np.minimum.reduceat(items.age_days, starts)
    total = np.add.reduceat(count, starts)
    return Items.of(age, total, decayed_counts=decayed, **highest)
