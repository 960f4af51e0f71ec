"""Export to files and import from them.

The files have the original system's layouts, and our own sentences beside them:

    agents/<agent>/axon.json     concepts and links of an agent, as Graphology exports a
                                 graph
    shared-axon.json             the shared web in the same shape, with what each agent
                                 contributed
    observations.jsonl           every sentence as it was written moments/<id>.json
    those of them that are moments short-term/YYYY-MM-DD.jsonl  what flushes kept on
    that day; stm.jsonl: of the last
                                 fourteen days
    SHARED_CONTEXT.md            the context as it is now; it is not read back

Whatever is imported has the source `import`: a file that anybody may have edited raises
no trust. For your own backups `trusted` keeps the sources that the file names. Without
it mentions are not distinguished by who made them either, so that a concept of the
shared web weighs by all of them.

An axon states numbers, it does not add: where the home knows a concept or link already,
the larger number stays, so that no backup is counted twice. Sentences of an agent whose
axon.json lies beside them are therefore not counted again; without it, they count as
when they were written.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import MICROSECONDS_PER_DAY, to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_agent
from theorex_lab.core.settings import Settings
from theorex_lab.designs.theorex.axon import NODE_TYPE, Axon
from theorex_lab.designs.theorex.scores import scores_of
from theorex_lab.designs.theorex.stages import (
    RETENTION_DAYS,
    SharedConcept,
    SharedWeb,
    ShortTerm,
    counted_upto,
    shared_concepts,
)
from theorex_lab.files.formats import flat_files as flat
from theorex_lab.files.formats.flat_files import FlatRecord
from theorex_lab.files.formats.foreign import read_file
from theorex_lab.files.formats.reports import (
    Exported,
    ImportOptions,
    Reports,
    each_file,
    file_name,
    portable,
)
from theorex_lab.journal.columns import Table
from theorex_lab.journal.event import Body
from theorex_lab.memory.briefing.briefing import make_briefing
from theorex_lab.memory.briefing.briefing_file import CONTEXT_FILE
from theorex_lab.memory.contract import Home
from theorex_lab.memory.decay import Tier, stored_link_strength
from theorex_lab.memory.observation import TRUST
from theorex_lab.search.items import MOMENT_TYPE

_DIGITS = 6  # decimal places of values that every export recomputes
# The name of each level of trust; of two names the one that may come from anybody's
# file.
SOURCES = {number: name for name, number in reversed(TRUST.items())}


class ExportSource(NamedTuple):
    """What an export reads.

    Attributes:
        axon: The concepts; the locks of all three views are held.
        shared: The shared web.
        short_term: The short-term memory.
        home: The home of the views.
        now: The present (µs).
        agents: Whose memory it is.
    """

    axon: Axon
    shared: SharedWeb
    short_term: ShortTerm
    home: Home
    now: int
    agents: list[str]

    @property
    def owners(self) -> list[str]:
        """Those of the agents who have an axon."""
        axon_agents = self.axon.agents
        return [name for name in self.agents if axon_agents.find(name) is not None]


def axon_nodes(memory: ExportSource, agent: str) -> Iterator[FlatRecord]:
    """Yield a node a living concept of the agent, in the axon's order.

    Weight and tier are those of the present. `scanned_tier` is the tier that the last
    scan noted, `decayed_counts` stand at `last_seen`.
    """
    axon = memory.axon
    current = scores_of(axon, memory.now, memory.home.settings, agents=[agent])
    rows = current.rows.tolist()
    concepts = zip(rows, _records_of(axon.concepts, rows), strict=True)
    for position, (row, concept) in enumerate(concepts):
        count = concept["count"]
        importance = float(current.importance[position])
        tier = Tier(int(current.tier[position]))
        sentiment = concept["sentiment_sum"] / max(count, 1)
        attributes = {
            "canonical_form": axon.labels[row],
            "surface_form": axon.surfaces[row],
            "concept_id": concept["concept_id"],
            "node_type": axon.node_types[concept["node_type"]],
            "observation_type": axon.types[concept["type"]],
            "importance_weight": round(importance, _DIGITS),
            "relevance_tier": tier.name,
            "frequency_count": count,
            "last_seen": to_iso(concept["last_seen"]),
            "sentiment": round(sentiment, _DIGITS),
            "agent_id": agent,
            "source_weight": concept["source_weight"],
            "first_seen": to_iso(concept["first_seen"]),
            "fix_count": concept["fix_count"],
            "sentiment_sum": concept["sentiment_sum"],
            "trust": SOURCES[concept["trust"]],
            "scanned_tier": Tier(concept["tier"]).name,
            "decayed_counts": concept["decayed"],
            **_speakers(concept),
        }
        yield {"key": str(concept["concept_id"]), "attributes": attributes}


def _records_of(table: Table, rows: list[int]) -> Iterator[FlatRecord]:
    """Yield the values of each of these rows of a table, by the names of its columns."""
    columns: dict[str, list[Any]] = {}
    for name, column in table.columns("").items():
        columns[name[1:]] = column[rows].tolist()
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def _speakers(concept: FlatRecord) -> FlatRecord:
    """Return who said a concept: the levels of trust, and the owner's own numbers.

    It is empty where all of its mentions are the owner's own, or all a stranger's.
    """
    is_affirmed = concept["affirmed"] >= 0
    has_both = is_affirmed and concept["heard"] >= 0
    if concept["refused"] < 0 and not has_both:
        return {}
    levels: FlatRecord = {}
    for name in ("affirmed", "refused", "heard"):
        levels[name] = SOURCES.get(concept[name])
    if is_affirmed:
        levels["count"] = concept["own_count"]
        levels["fix_count"] = concept["own_fix_count"]
        levels["first_seen"] = to_iso(concept["own_first_seen"])
        levels["last_seen"] = to_iso(concept["own_last_seen"])
    return {"said": levels}


def axon_edges(axon: Axon, agent: str) -> Iterator[FlatRecord]:
    """Yield an edge a present link between the agent's concepts, in the axon's order."""
    links = axon.links
    ids = axon.concepts["concept_id"]
    is_agents = axon.concepts["agent"][links["a"]] == axon.agents.find(agent)
    is_present = links["count"] > 0
    for row in np.flatnonzero(is_agents & is_present).tolist():
        source = int(ids[links["a"][row]])
        target = int(ids[links["b"][row]])
        count = int(links["count"][row])
        last_seen = int(links["last_seen"][row])
        yield _edge(source, target, count, last_seen)


def _edge(
    source: int,
    target: int,
    count: int,
    last_seen: int,
    contributions: list[FlatRecord] | None = None,
) -> FlatRecord:
    """Return a link as an edge; one of the shared web has contributions."""
    strength = float(stored_link_strength(count))
    attributes: FlatRecord = {"strength": round(strength, _DIGITS)}
    attributes |= _link_numbers(count, last_seen)
    if contributions is not None:
        attributes["contributions"] = contributions
    return {
        "key": f"{source}-{target}",
        "source": str(source),
        "target": str(target),
        "attributes": attributes,
    }


def _link_numbers(count: int, last_seen: int) -> FlatRecord:
    return {
        "co_occurrence_count": count,
        "last_co_occurrence": to_iso(last_seen),
    }


def shared_nodes(memory: ExportSource) -> Iterator[FlatRecord]:
    """Yield a node a concept of the shared web, in order of concept_id.

    Each has what each agent contributed. A contribution is `forgotten` where its
    agent's axon holds the concept no more; a concept that all have forgotten has no
    text. Of several contributions the one of the highest source weight speaks, of equal
    ones the latest.
    """
    axon = memory.axon
    shared = memory.shared
    web = shared_concepts(axon, shared, memory.now, memory.home.settings)
    web_concept_of = {concept.concept_id: concept for concept in web}
    contributions: dict[int, list[FlatRecord]] = {}
    speakers: dict[int, _Speaker] = {}
    table = shared.concepts
    rows = _rows_of_agents(shared, table["agent"], memory.agents)
    for record in _records_of(table, rows):
        agent = shared.agents[record["agent"]]
        concept_id = record["concept_id"]
        contribution = _contribution(record, agent)
        row = axon.row(agent, concept_id)
        if row is None:
            contribution["forgotten"] = True
        else:
            speaker = _Speaker(
                record["source_weight"],
                record["last_seen"],
                agent,
                row,
            )
            greatest = speakers.get(concept_id, speaker)
            speakers[concept_id] = max(speaker, greatest)
        contributions.setdefault(concept_id, []).append(contribution)
    for concept_id in sorted(contributions):
        attributes: FlatRecord = {
            "concept_id": concept_id,
            "node_type": NODE_TYPE,
        }
        if concept_id in speakers:
            speaker = speakers[concept_id]
            concept = web_concept_of[concept_id]
            attributes |= _spoken_attributes(axon, speaker, concept)
        by_agent = sorted(contributions[concept_id], key=itemgetter("agent_id"))
        attributes["contributions"] = by_agent
        yield {"key": str(concept_id), "attributes": attributes}


class _Speaker(NamedTuple):
    """An agent whose numbers may speak for a concept of the shared web.

    The greatest of several does.

    Attributes:
        source_weight: How much the agent's word weighs.
        last_seen: When (µs) the agent mentioned it last.
        agent: The agent's name.
        row: The row of its concept in the axon.
    """

    source_weight: float
    last_seen: int
    agent: str
    row: int


def _contribution(record: FlatRecord, agent: str) -> FlatRecord:
    return {
        "agent_id": agent,
        "frequency_count": record["count"],
        "fix_count": record["fix_count"],
        "first_seen": to_iso(record["first_seen"]),
        "last_seen": to_iso(record["last_seen"]),
        "trust": SOURCES[record["trust"]],
        "source_weight": record["source_weight"],
    }


def _spoken_attributes(
    axon: Axon, speaker: _Speaker, concept: SharedConcept
) -> FlatRecord:
    """Return what a shared node says of its concept beside the contributions."""
    node_type = int(axon.concepts["node_type"][speaker.row])
    return {
        "canonical_form": axon.labels[speaker.row],
        "node_type": axon.node_types[node_type],
        "surface_form": axon.surfaces[speaker.row],
        "importance_weight": round(concept.importance, _DIGITS),
        "relevance_tier": concept.tier,
        "frequency_count": concept.count,
        "last_seen": to_iso(concept.last_seen),
        "agent_id": speaker.agent,
        "source_weight": speaker.source_weight,
    }


def shared_edges(memory: ExportSource) -> Iterator[FlatRecord]:
    """Yield an edge a link of the shared web, in the order of the ends.

    Each has what each agent contributed.
    """
    shared = memory.shared
    table = shared.links
    contributions: dict[tuple[int, int], list[tuple[str, int, int]]] = {}
    rows = _rows_of_agents(shared, table["agent"], memory.agents)
    for record in _records_of(table, rows):
        agent = shared.agents[record["agent"]]
        contribution = (agent, record["count"], record["last_seen"])
        ends = (record["a"], record["b"])
        contributions.setdefault(ends, []).append(contribution)
    for source, target in sorted(contributions):
        parts: list[FlatRecord] = []
        total = 0
        times: list[int] = []
        for agent, count, at in sorted(contributions[source, target]):
            parts.append({"agent_id": agent, **_link_numbers(count, at)})
            total += count
            times.append(at)
        yield _edge(source, target, total, max(times), parts)


def _rows_of_agents(
    view: SharedWeb | ShortTerm, column: NDArray[Any], agents: list[str]
) -> list[int]:
    numbers = view.agents.numbers(*agents)
    is_agents = np.isin(column, numbers)
    rows: list[int] = np.flatnonzero(is_agents).tolist()
    return rows


def short_term_days(memory: ExportSource) -> dict[str, list[int]]:
    """Return the seqs of the events that were kept on each day.

    Returns:
        By day (YYYY-MM-DD) the seqs, both in order.
    """
    table = memory.short_term.records
    rows = _rows_of_agents(memory.short_term, table["agent"], memory.agents)
    days = table["at"][rows] // MICROSECONDS_PER_DAY
    seqs = table["seq"][rows]
    seqs_by_day = {}
    for day in np.unique(days):
        start = int(day) * MICROSECONDS_PER_DAY
        name = to_iso(start)[:10]
        day_seqs = seqs[days == day]
        seqs_by_day[name] = np.unique(day_seqs).tolist()
    return seqs_by_day


def short_term_records(
    memory: ExportSource, seqs: list[int], *, recent: bool = False
) -> Iterator[FlatRecord]:
    """Yield a record a concept of each event.

    Where `recent`, they are only of the last fourteen days.
    """
    oldest = memory.now - RETENTION_DAYS * MICROSECONDS_PER_DAY
    for event in memory.home.journal.read(seqs=seqs):
        if recent and not oldest <= event.at <= memory.now:
            continue
        timestamp = to_iso(event.at)
        body = event.body
        more = _optional_members(body)
        for position, concept in enumerate(body["concepts"]):
            concept_id, label, surface, count = concept
            yield {
                "id": f"{event.id}:{position}",
                "concept_id": concept_id,
                "surface_form": surface,
                "canonical_form": label,
                "composite_score": body["score"],
                "source_weight": body["weight"],
                "timestamp": timestamp,
                "date": timestamp[:10],
                "agent_id": event.agent,
                "session_id": event.session,
                "frequency_count": count,
                "source": body["source"],
                **more,
            }


def observation_records(
    memory: ExportSource, only: str | None = None
) -> Iterator[FlatRecord]:
    """Yield whole sentences, of one type or of all, in journal order.

    `faded` are those of its concepts that were pruned.
    """
    names = set(memory.agents)
    faded = _faded_concepts(memory.axon)
    upto = memory.axon.seq
    for event in memory.home.journal.tail(0, kinds=["observation"], upto=upto):
        body = event.body
        if event.agent not in names:
            continue
        if only not in (None, body["type"]):
            continue
        record = {
            "id": event.id,
            "timestamp": to_iso(event.at),
            "agent_id": event.agent,
            "session_id": event.session,
            "observation_type": body["type"],
            "text": body["text"],
            "tags": body["tags"],
            "source": body["source"],
            "source_weight": body["weight"],
            "sentiment": body["sentiment"],
            "extractor": body.get("extractor", ""),
            "concepts": body["concepts"],
            "faded": faded.get(event.seq, []),
            "lineage": list(event.lineage),
        }
        record |= _optional_members(body)
        yield record


def _optional_members(body: Body) -> FlatRecord:
    """Return what a record has of a body where that has it."""
    members = {}
    for name in ("refused", "project"):
        if body.get(name):
            members[name] = body[name]
    return members


def _faded_concepts(axon: Axon) -> dict[int, list[int]]:
    """Return, by the seq of an observation, the ids of its concepts that were pruned."""
    mentioned = axon.mentions["concept"]
    is_gone = ~axon.concepts["alive"][mentioned]
    observations = axon.mentions["observation"][is_gone]
    seqs = axon.observations["seq"][observations]
    ids = axon.concepts["concept_id"][mentioned[is_gone]]
    faded: dict[int, list[int]] = {}
    for seq, concept_id in zip(seqs.tolist(), ids.tolist(), strict=True):
        faded.setdefault(seq, []).append(concept_id)
    return faded


def moment_document(record: FlatRecord) -> FlatRecord:
    """Return a moment as a document.

    It has `story` in place of the sentence's text, and its concepts' ids.
    """
    document = {name: value for name, value in record.items() if name != "text"}
    document["story"] = record["text"]
    document["concept_ids"] = [concept[0] for concept in record["concepts"]]
    return document


AXON = "axon.json"
SHARED = "shared-axon.json"
STM = "stm.jsonl"
OBSERVATIONS = "observations.jsonl"
MOMENTS = "moments"
SHORT_TERM = "short-term"
_AXONS = (AXON, f"agents/*/{AXON}", f"agents/*/theorex/{AXON}", f"*/theorex/{AXON}")


def export_files(
    home: Home, _searcher: object, folder: Path, *, agent: str | None = None
) -> Exported:
    """Write the memory of all agents, or of one, into a folder.

    Each file is replaced as a whole. Of one agent neither the context nor others'
    contributions are written. Other files in the folder are left alone.

    Args:
        home: Whose memory it is.
        folder: Where the files go.
        agent: Whose memory is written; None: all agents'.

    Raises:
        InvalidInput: The agent's name is outside the rule.
        StorageError: A file cannot be written.
    """
    exported = Exported(folder)
    with _memory(home, agent) as memory:
        for owner in memory.owners:
            name = f"agents/{portable(owner)}/{AXON}"
            exported.files[name] = _write_axon(memory, owner, folder / name)
        exported.files[SHARED] = _write_shared(memory, folder / SHARED)
        exported.write(OBSERVATIONS, observation_records(memory))
        moments = map(moment_document, observation_records(memory, MOMENT_TYPE))
        named_moments = ((file_name(moment["id"]), moment) for moment in moments)
        exported.write_each(MOMENTS, named_moments)
        days = short_term_days(memory)
        for day, seqs in days.items():
            name = f"{SHORT_TERM}/{day}.jsonl"
            exported.write(name, short_term_records(memory, seqs))
        exported.write(STM, _recent_records(memory, days.values()))
    if agent is None:
        briefing = make_briefing(home, tokens=home.settings.context_tokens)
        lines = briefing.text.splitlines()
        n_lines = flat.write_lines(folder / CONTEXT_FILE, lines)
        exported.files[CONTEXT_FILE] = n_lines
    return exported


def _recent_records(
    memory: ExportSource, days: Iterable[list[int]]
) -> Iterator[FlatRecord]:
    """Yield the short-term records of the last fourteen days."""
    for seqs in days:
        yield from short_term_records(memory, seqs, recent=True)


def export_places(home: Home, *, agent: str | None = None) -> Exported:
    """Write what the original system reads where it looks for it.

    It reads axons and the shared axon. The places are the settings agentAxonDir and
    sharedAxonPath. Each file is replaced.

    Raises:
        StorageError: A file cannot be written.
    """
    exported = Exported(places(home.settings)[0])
    with _memory(home, agent) as memory:
        for path, write in _writers(memory).items():
            exported.files[str(path)] = write(path)
    return exported


def in_places(home: Home, *, agent: str | None = None) -> list[Path]:
    """Return the files that `export_places` writes."""
    with _memory(home, agent) as memory:
        return [*_writers(memory)]


def _writers(memory: ExportSource) -> dict[Path, Callable[[Path], int]]:
    """Return each file where the original system looks for it, with what writes it."""
    folder, web = places(memory.home.settings)
    writers: dict[Path, Callable[[Path], int]] = {}
    for owner in memory.owners:
        path = folder / owner / "theorex" / AXON
        writers[path] = partial(_write_axon, memory, owner)
    writers[web] = partial(_write_shared, memory)
    return writers


def places(settings: Settings) -> list[Path]:
    """Return where the original system keeps its memory, by the settings.

    Files that do not exist are among the paths.
    """
    return [settings.path(name) for name in ("agent_axon_dir", "shared_axon_path")]


@contextmanager
def _memory(home: Home, agent: str | None) -> Iterator[ExportSource]:
    """Yield the memory of all agents, or of one, which stays as it is meanwhile."""
    axon = home.views.get(Axon)
    shared = home.views.get(SharedWeb)
    short_term = home.views.get(ShortTerm)
    with axon.lock, shared.lock, short_term.lock:
        if agent is None:
            agents = [*axon.agents, *shared.agents, *short_term.agents]
        else:
            agents = [check_agent(agent)]
        distinct = list(dict.fromkeys(agents))
        now = home.clock.now()
        yield ExportSource(axon, shared, short_term, home, now, distinct)


def _write_axon(memory: ExportSource, agent: str, path: Path) -> int:
    """Write an agent's graph.

    It says whose it is, and up to when each graduated concept's records were counted.
    """
    upto: dict[str, str] = {}
    for concept_id, at in counted_upto(memory.short_term, agent).items():
        upto[str(concept_id)] = to_iso(at)
    attributes = {"agent_id": agent, "graduated": dict(sorted(upto.items()))}
    nodes = axon_nodes(memory, agent)
    edges = axon_edges(memory.axon, agent)
    return flat.write_graph(path, attributes, nodes, edges)


def _write_shared(memory: ExportSource, path: Path) -> int:
    return flat.write_graph(path, {}, shared_nodes(memory), shared_edges(memory))


def import_files(
    home: Home, _: object, path: Path, *, agent: str = "main", trusted: bool = False
) -> Reports:
    """Import a folder as `export_files` writes it, or as the original system does.

    A single file of either can be imported too. Each file is one transaction: after a
    crash there are whole files, and repeating does the rest. What is damaged is
    reported by line, the good lines are imported; a damaged JSON document is reported,
    and the other files are imported.

    Args:
        home: Where the memory goes.
        path: The folder, or the file.
        agent: Who has the records that name nobody.
        trusted: Whether the sources that the files name are kept.

    Raises:
        StorageError: The disk is full.
    """
    importing = ImportOptions(
        home.settings, home.clock.now(), check_agent(agent), trusted
    )
    axon_owners: set[str] = set()  # agents whose axon came along
    import_file = partial(_import_file, home, importing, axon_owners)
    return each_file(path, files_of(path), import_file)


def files_of(path: Path) -> list[Path]:
    """Return the files of memory below a folder, in the order in which they are needed.

    A file is its own. What has a file's name and is none is among them: whoever reads
    it refuses it.
    """
    if path.is_file():
        return [path]
    files: list[Path] = []
    for pattern in _AXONS:
        files += sorted(path.glob(pattern))
    files += [path / OBSERVATIONS, path / SHARED]
    if not (path / OBSERVATIONS).exists():
        files += sorted(path.glob(f"{MOMENTS}/*.json"))
    files += sorted(path.glob(f"{SHORT_TERM}/*.jsonl"))
    files.append(path / STM)
    return [file for file in files if file.exists()]


def _import_file(
    home: Home,
    importing: ImportOptions,
    axon_owners: set[str],
    file: Path,
    problems: list[str],
) -> tuple[int, int]:
    """Import one file; what cannot be read is noted."""
    from theorex_lab.designs.theorex import files_read as reading

    kind = _kind(file)
    if kind == AXON:
        graph = flat.read_graph(file)
        owner = check_agent(
            _folder_agent(file) or graph["attributes"].get("agent_id", importing.agent)
        )
        events = reading.axon_events(graph, owner, importing, problems)
        counts = flat.append_new(home.journal, events)
        axon_owners.add(owner)
        return counts
    if kind == SHARED:
        graph = flat.read_graph(file)
        events = reading.shared_events(graph, _held(home), importing, problems)
    elif kind == STM:
        lines = flat.read_lines(file, problems)
        events = reading.short_term_events(lines, importing, problems)
    else:
        lines = _moment(file) if kind == MOMENTS else flat.read_lines(file, problems)
        events = reading.observation_events(lines, axon_owners, importing, problems)
    return flat.append_new(home.journal, events)


def _moment(file: Path) -> flat.Lines:
    """Yield the sentence that a moment's document states."""
    document = flat.parse_object(read_file(file))
    sentence = {
        **document,
        "text": document.get("story", ""),
        "observation_type": MOMENT_TYPE,
    }
    yield 1, sentence


def _kind(file: Path) -> str:
    """Return which of the files it is, by its name, else by what is in it.

    Raises:
        InvalidInput: Neither says so.
    """
    kind = _kind_by_name(file) or _kind_by_records(file)
    if kind:
        return kind
    allowed = f"{AXON}, {SHARED}, {OBSERVATIONS}, {STM}, or a file with such lines"
    raise InvalidInput(
        f"got the file {file.name}, in which nothing is known; allowed are {allowed}"
    )


def _kind_by_name(file: Path) -> str:
    if (file.parent.name, file.suffix) == (SHORT_TERM, ".jsonl"):
        return STM
    if (file.parent.name, file.suffix) == (MOMENTS, ".json"):
        return MOMENTS
    if file.name in (AXON, SHARED, OBSERVATIONS, STM):
        return file.name
    if file.suffix == ".json":
        return SHARED if "shared" in file.name else AXON
    return ""


def _kind_by_records(file: Path) -> str:
    """Return the kind of the first record that has a member by which kinds differ."""
    for _, record in flat.read_lines(file, []):
        if "text" in record:
            return OBSERVATIONS
        if "composite_score" in record:
            return STM
    return ""


def _folder_agent(file: Path) -> str | None:
    """Return whose axon it is by its folders.

    They are agents/<agent>/axon.json, or <agent>/theorex/axon.json.
    """
    parts = file.absolute().parts[:-1]
    if parts[-1] == "theorex" and len(parts) > 2:
        return parts[-2]
    if len(parts) > 1 and parts[-2] == "agents":
        return parts[-1].removeprefix("_").removesuffix("_")
    return None


def _held(home: Home) -> Callable[[str, int], bool]:
    """Return what tells whether an agent's axon has a concept."""
    axon = home.views.get(Axon)

    def is_held(agent: str, concept_id: int) -> bool:
        with axon.lock:
            return axon.row(agent, concept_id) is not None

    return is_held
