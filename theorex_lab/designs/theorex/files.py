"""Export to files and import from them: the original system's layouts, and our own
sentences beside them.

agents/<agent>/axon.json      concepts and links of an agent, as Graphology exports a
graph shared-axon.json              the shared web in the same shape, with what each
agent contributed observations.jsonl            every sentence as it was written
moments/<id>.json             those of them that are moments short-term/YYYY-MM-DD.jsonl
what flushes kept on that day; stm.jsonl: of the last fourteen days SHARED_CONTEXT.md
the context as it is now; it is not read back

Whatever is imported has the source `import`: no trust rises through a file that anybody
may have edited. For one's own backups `trust_own` keeps the sources that the file
names. An axon states numbers, it does not add: where the home knows a concept or link
already, the larger number stays, so that no backup is counted twice. Sentences of an
agent whose axon.json lies beside them are therefore not counted again; without it, they
count as when they were written.
"""

from collections.abc import Callable, Iterator
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
    SharedWeb,
    ShortTerm,
    counted_upto,
    shared_concepts,
)
from theorex_lab.evolution.briefing import boot_context
from theorex_lab.files.formats import flat_files as flat
from theorex_lab.files.formats.flat_files import FlatRecord
from theorex_lab.files.formats.foreign import read_file
from theorex_lab.files.formats.reports import (
    Exported,
    ImportOptions,
    Read,
    Reports,
    each_file,
    file_name,
    portable,
)
from theorex_lab.journal.columns import Table
from theorex_lab.memory.briefing.context_file import CONTEXT_FILE
from theorex_lab.memory.contract import Home
from theorex_lab.memory.decay import Tier, stored_link_strength
from theorex_lab.memory.observation import TRUST
from theorex_lab.search.items import MOMENT_TYPE

_DIGITS = 6  # decimal places of values that every export recomputes
# The name of each level of trust; of two names the one that may come from anybody's
# file.
SOURCES = {number: name for name, number in reversed(TRUST.items())}


class ExportSource(NamedTuple):
    """What an export reads: views whose locks are held, their home, the present (µs),
    and whose memory it is.
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
        return [name for name in self.agents if self.axon.agents.find(name) is not None]


def axon_nodes(memory: ExportSource, agent: str) -> Iterator[FlatRecord]:
    """A node a living concept of the agent, in the axon's order; weight and tier are
    those of the present.

    `scanned_tier` is the tier that the last scan noted, `decayed_counts` stand at
    `last_seen`.
    """
    axon = memory.axon
    current = scores_of(axon, memory.now, memory.home.settings, agents=[agent])
    rows = current.rows.tolist()
    for position, (row, told) in enumerate(
        zip(rows, _told(axon.concepts, rows), strict=True)
    ):
        attributes = {
            "canonical_form": axon.labels[row],
            "surface_form": axon.surfaces[row],
            "concept_id": told["concept_id"],
            "node_type": axon.node_types[told["node_type"]],
            "observation_type": axon.types[told["type"]],
            "importance_weight": round(float(current.importance[position]), _DIGITS),
            "relevance_tier": Tier(int(current.tier[position])).name,
            "frequency_count": told["count"],
            "last_seen": to_iso(told["last_seen"]),
            "sentiment": round(told["sentiment_sum"] / max(told["count"], 1), _DIGITS),
            "agent_id": agent,
            "source_weight": told["source_weight"],
            "first_seen": to_iso(told["first_seen"]),
            "fix_count": told["fix_count"],
            "sentiment_sum": told["sentiment_sum"],
            "trust": SOURCES[told["trust"]],
            "scanned_tier": Tier(told["tier"]).name,
            "decayed_counts": told["decayed"],
            **_said(told),
        }
        yield {"key": str(told["concept_id"]), "attributes": attributes}


def _told(table: Table, rows: list[int]) -> Iterator[FlatRecord]:
    """The values of each of these rows of a table, by the names of its columns."""
    columns = {
        name[1:]: column[rows].tolist() for name, column in table.columns("").items()
    }
    return (
        dict(zip(columns, values, strict=True))
        for values in zip(*columns.values(), strict=True)
    )


def _said(told: FlatRecord) -> FlatRecord:
    """Who said a concept, where not all of its mentions are the owner's own, or all a
    stranger's: levels of trust, own numbers.
    """
    if told["refused"] < 0 and (told["affirmed"] < 0 or told["heard"] < 0):
        return {}
    own: FlatRecord = {
        name: SOURCES.get(told[name]) for name in ("affirmed", "refused", "heard")
    }
    if told["affirmed"] >= 0:
        own |= {name: told[f"own_{name}"] for name in ("count", "fix_count")}
        own |= {
            name: to_iso(told[f"own_{name}"]) for name in ("first_seen", "last_seen")
        }
    return {"said": own}


def axon_edges(axon: Axon, agent: str) -> Iterator[FlatRecord]:
    """An edge a present link between the agent's concepts, in the axon's order."""
    links = axon.links
    ids = axon.concepts["concept_id"]
    mine = axon.concepts["agent"][links["a"]] == axon.agents.find(agent)
    for row in np.flatnonzero(mine & (links["count"] > 0)).tolist():
        ends = int(ids[links["a"][row]]), int(ids[links["b"][row]])
        yield _edge(*ends, int(links["count"][row]), int(links["last_seen"][row]))


def _edge(
    source: int, target: int, count: int, last_seen: int, **more: Any
) -> FlatRecord:
    strength = round(float(stored_link_strength(count)), _DIGITS)
    attributes = {"strength": strength, **_stated(count, last_seen), **more}
    return {
        "key": f"{source}-{target}",
        "source": str(source),
        "target": str(target),
        "attributes": attributes,
    }


def _stated(count: int, last_seen: int) -> FlatRecord:
    return {"co_occurrence_count": count, "last_co_occurrence": to_iso(last_seen)}


def shared_nodes(memory: ExportSource) -> Iterator[FlatRecord]:
    """A node a concept of the shared web with what each agent contributed.

    A contribution is `forgotten` where its agent's axon holds the concept no more; a
    concept that all have forgotten has no text. In order of concept_id. Of several
    contributions the one of the highest source weight speaks, of equal ones the latest.
    """
    axon, shared, table = memory.axon, memory.shared, memory.shared.concepts
    every = shared_concepts(axon, shared, memory.now, memory.home.settings)
    summed = {concept.concept_id: concept for concept in every}
    given: dict[int, list[FlatRecord]] = {}
    spoken: dict[int, tuple[Any, ...]] = {}
    for told in _told(table, _rows_of_agents(shared, table["agent"], memory.agents)):
        agent = shared.agents[told["agent"]]
        concept = told["concept_id"]
        known = axon.row(agent, concept)
        contribution = {
            "agent_id": agent,
            "frequency_count": told["count"],
            "fix_count": told["fix_count"],
            "first_seen": to_iso(told["first_seen"]),
            "last_seen": to_iso(told["last_seen"]),
            "trust": SOURCES[told["trust"]],
            "source_weight": told["source_weight"],
        }
        given.setdefault(concept, []).append(
            contribution | ({"forgotten": True} if known is None else {})
        )
        if known is not None:
            claim = (told["source_weight"], told["last_seen"], agent, known)
            spoken[concept] = max(claim, spoken.get(concept, claim))
    for concept, contributions in sorted(given.items()):
        attributes: FlatRecord = {"concept_id": concept, "node_type": NODE_TYPE}
        if concept in spoken:
            weight, _, agent, known = spoken[concept]
            numbers = summed[concept]
            node_type = axon.node_types[int(axon.concepts["node_type"][known])]
            attributes |= {
                "canonical_form": axon.labels[known],
                "node_type": node_type,
                "surface_form": axon.surfaces[known],
                "importance_weight": round(numbers.importance, _DIGITS),
                "relevance_tier": numbers.tier,
                "frequency_count": numbers.count,
                "last_seen": to_iso(numbers.last_seen),
                "agent_id": agent,
                "source_weight": weight,
            }
        attributes["contributions"] = sorted(contributions, key=itemgetter("agent_id"))
        yield {"key": str(concept), "attributes": attributes}


def shared_edges(memory: ExportSource) -> Iterator[FlatRecord]:
    """An edge a link of the shared web with what each agent contributed, in order of
    its ends.
    """
    shared, table = memory.shared, memory.shared.links
    given: dict[tuple[int, int], list[tuple[str, int, int]]] = {}
    for told in _told(table, _rows_of_agents(shared, table["agent"], memory.agents)):
        contribution = shared.agents[told["agent"]], told["count"], told["last_seen"]
        given.setdefault((told["a"], told["b"]), []).append(contribution)
    for ends, found in sorted(given.items()):
        parts = [
            {"agent_id": agent, **_stated(count, at)}
            for agent, count, at in sorted(found)
        ]
        yield _edge(
            *ends,
            sum(count for _, count, _ in found),
            max(at for *_, at in found),
            contributions=parts,
        )


def _rows_of_agents(
    view: SharedWeb | ShortTerm, column: NDArray[Any], agents: list[str]
) -> list[int]:
    rows: list[int] = np.flatnonzero(
        np.isin(column, view.agents.numbers(*agents))
    ).tolist()
    return rows


def short_term_days(memory: ExportSource) -> dict[str, list[int]]:
    """day (YYYY-MM-DD) -> seqs of the events that were kept on it, both in order."""
    table = memory.short_term.records
    mine = _rows_of_agents(memory.short_term, table["agent"], memory.agents)
    days = table["at"][mine] // MICROSECONDS_PER_DAY
    seqs = table["seq"][mine]
    midnights = {
        int(day) * MICROSECONDS_PER_DAY: np.unique(seqs[days == day]).tolist()
        for day in np.unique(days)
    }
    return {to_iso(at)[:10]: found for at, found in midnights.items()}


def short_term_records(
    memory: ExportSource, seqs: list[int], *, recent: bool = False
) -> Iterator[FlatRecord]:
    """A record a concept of each event; where `recent`, only of the last fourteen days."""
    oldest = memory.now - RETENTION_DAYS * MICROSECONDS_PER_DAY
    for event in memory.home.journal.read(seqs=seqs):
        moment = to_iso(event.at)
        body = event.body
        told = (
            body["concepts"] if not recent or oldest <= event.at <= memory.now else ()
        )
        for position, (number, label, surface, count) in enumerate(told):
            yield {
                "id": f"{event.id}:{position}",
                "concept_id": number,
                "surface_form": surface,
                "canonical_form": label,
                "composite_score": body["score"],
                "source_weight": body["weight"],
                "timestamp": moment,
                "date": moment[:10],
                "agent_id": event.agent,
                "session_id": event.session,
                "frequency_count": count,
                "source": body["source"],
            }


def observation_records(
    memory: ExportSource, only: str | None = None
) -> Iterator[FlatRecord]:
    """Whole sentences, of one type or of all, in journal order. `faded` are those of
    its concepts that were pruned.
    """
    axon = memory.axon
    names = set(memory.agents)
    gone = ~axon.concepts["alive"][axon.mentions["concept"]]
    seqs = axon.observations["seq"][axon.mentions["observation"][gone]].tolist()
    faded: dict[int, list[int]] = {}
    for seq, row in zip(seqs, axon.mentions["concept"][gone].tolist(), strict=True):
        faded.setdefault(seq, []).append(int(axon.concepts["concept_id"][row]))
    for event in memory.home.journal.tail(0, kinds=["observation"], upto=axon.seq):
        body = event.body
        if event.agent in names and only in (None, body["type"]):
            yield {
                "id": event.id,
                "timestamp": to_iso(event.at),
                "agent_id": event.agent,
                "session_id": event.session,
                "observation_type": body["type"],
                **{name: body[name] for name in ("text", "tags", "source")},
                "source_weight": body["weight"],
                "sentiment": body["sentiment"],
                "extractor": body.get("extractor", ""),
                "concepts": body["concepts"],
                "faded": faded.get(event.seq, []),
                "lineage": list(event.lineage),
                **{
                    name: body[name]
                    for name in ("refused", "project")
                    if body.get(name)
                },
            }


def moment_document(record: FlatRecord) -> FlatRecord:
    """A moment as a document: `story` in place of the sentence's text, and its
    concepts' ids.
    """
    kept = {name: value for name, value in record.items() if name != "text"}
    ids = [concept[0] for concept in record["concepts"]]
    return {**kept, "story": record["text"], "concept_ids": ids}


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
    """Write the memory of all agents, or of one, into `folder`; each file is replaced
    as a whole.

    Of one agent neither the context nor others' contributions are written. Other files
    in the folder are left alone. Raises InvalidInput for a name outside the rule,
    StorageError where a file cannot be written.
    """
    done = Exported(folder)
    with _memory(home, agent) as memory:
        for owner in memory.owners:
            name = f"agents/{portable(owner)}/{AXON}"
            done.files[name] = _write_axon(memory, owner, folder / name)
        done.files[SHARED] = _write_shared(memory, folder / SHARED)
        done.write(OBSERVATIONS, observation_records(memory))
        moments = map(moment_document, observation_records(memory, MOMENT_TYPE))
        done.write_each(
            MOMENTS, ((file_name(moment["id"]), moment) for moment in moments)
        )
        days = short_term_days(memory)
        for day, seqs in days.items():
            done.write(f"{SHORT_TERM}/{day}.jsonl", short_term_records(memory, seqs))
        recent = (
            record
            for seqs in days.values()
            for record in short_term_records(memory, seqs, recent=True)
        )
        done.write(STM, recent)
    if agent is None:
        done.files[CONTEXT_FILE] = flat.write_lines(
            folder / CONTEXT_FILE, boot_context(home).text.splitlines()
        )
    return done


def export_places(home: Home, *, agent: str | None = None) -> Exported:
    """Write what the original system reads where it looks for it: axons, and the shared
    axon.

    The places are the settings agentAxonDir and sharedAxonPath. Each file is replaced;
    raises StorageError where one cannot be written.
    """
    done = Exported(places(home.settings)[0])
    with _memory(home, agent) as memory:
        done.files = {str(path): write(path) for path, write in _placed(memory).items()}
    return done


def in_places(home: Home, *, agent: str | None = None) -> list[Path]:
    """The files that `export_places` writes."""
    with _memory(home, agent) as memory:
        return [*_placed(memory)]


def _placed(memory: ExportSource) -> dict[Path, Callable[[Path], int]]:
    """Each file where the original system looks for it, with what writes it."""
    folder, web = places(memory.home.settings)
    axons = {
        folder / owner / "theorex" / AXON: partial(_write_axon, memory, owner)
        for owner in memory.owners
    }
    return {**axons, web: partial(_write_shared, memory)}


def places(settings: Settings) -> list[Path]:
    """Where the original system keeps its memory, by the settings; also what is not
    there.
    """
    return [settings.path(name) for name in ("agent_axon_dir", "shared_axon_path")]


@contextmanager
def _memory(home: Home, agent: str | None) -> Iterator[ExportSource]:
    """The memory of all agents, or of one, which stays as it is meanwhile."""
    axon = home.views.get(Axon)
    shared = home.views.get(SharedWeb)
    short_term = home.views.get(ShortTerm)
    with axon.lock, shared.lock, short_term.lock:
        agents = (
            [*axon.agents, *shared.agents, *short_term.agents]
            if agent is None
            else [check_agent(agent)]
        )
        now = home.clock.now()
        known = list(dict.fromkeys(agents))
        yield ExportSource(axon, shared, short_term, home, now, known)


def _write_axon(memory: ExportSource, agent: str, path: Path) -> int:
    """Write an agent's graph: whose it is, and up to when each graduated concept's
    records were counted.
    """
    upto = sorted(
        (str(concept), to_iso(at))
        for concept, at in counted_upto(memory.short_term, agent).items()
    )
    attributes = {"agent_id": agent, "graduated": dict(upto)}
    return flat.write_graph(
        path, attributes, axon_nodes(memory, agent), axon_edges(memory.axon, agent)
    )


def _write_shared(memory: ExportSource, path: Path) -> int:
    return flat.write_graph(path, {}, shared_nodes(memory), shared_edges(memory))


def import_files(
    home: Home, _: object, path: Path, *, agent: str = "main", trust_own: bool = False
) -> Reports:
    """Import a folder as `export_files` writes it, or the original system's, or one
    file of either.

    `agent` has the records that name nobody. Each file is one transaction: after a
    crash there are whole files, and repeating does the rest. What is damaged is
    reported by line, the good lines are imported; a damaged JSON document is reported,
    and the other files are imported. Raises StorageError on a full disk.
    """
    how = ImportOptions(home.settings, home.clock.now(), check_agent(agent), trust_own)
    stated: set[str] = set()  # agents whose axon came along
    return each_file(path, files_of(path), partial(_import_file, home, how, stated))


def files_of(path: Path) -> list[Path]:
    """The files of memory below a folder, in the order in which they need each other; a
    file is its own.

    Also what has a file's name and is none, which whoever reads it refuses.
    """
    if path.is_file():
        return [path]
    axons = [file for pattern in _AXONS for file in sorted(path.glob(pattern))]
    days = sorted(path.glob(f"{SHORT_TERM}/*.jsonl"))
    moments = (
        [] if (path / OBSERVATIONS).exists() else sorted(path.glob(f"{MOMENTS}/*.json"))
    )
    found = [*axons, path / OBSERVATIONS, path / SHARED, *moments, *days, path / STM]
    return [file for file in found if file.exists()]


def _import_file(
    home: Home, how: ImportOptions, stated: set[str], file: Path, problems: list[str]
) -> tuple[int, int]:
    """Import one file; what cannot be read is noted."""
    from theorex_lab.designs.theorex import files_read as reading

    kind = _kind(file)
    if kind == AXON:
        graph = flat.read_graph(file)
        owner = check_agent(
            _folder_agent(file) or graph["attributes"].get("agent_id", how.agent)
        )
        done = flat.append_new(
            home.journal, reading.axon_events(graph, owner, how, problems)
        )
        stated.add(owner)
        return done
    readers: dict[str, Callable[[], Read]] = {
        SHARED: lambda: reading.shared_events(
            flat.read_graph(file), _held(home), how, problems
        ),
        MOMENTS: lambda: reading.observation_events(
            _moment(file), stated, how, problems
        ),
        OBSERVATIONS: lambda: reading.observation_events(
            flat.read_lines(file, problems), stated, how, problems
        ),
        STM: lambda: reading.short_term_events(
            flat.read_lines(file, problems), how, problems
        ),
    }
    return flat.append_new(home.journal, readers[kind]())


def _moment(file: Path) -> flat.Lines:
    """The sentence that a moment's document states."""
    document = flat.parse_object(read_file(file))
    yield (
        1,
        {
            **document,
            "text": document.get("story", ""),
            "observation_type": MOMENT_TYPE,
        },
    )


def _kind(file: Path) -> str:
    """Which of the files it is, by its name, else by what is in it."""
    placed = {(SHORT_TERM, ".jsonl"): STM, (MOMENTS, ".json"): MOMENTS}.get(
        (file.parent.name, file.suffix)
    )
    named = file.name if file.name in (AXON, SHARED, OBSERVATIONS, STM) else ""
    formed = {".json": SHARED if "shared" in file.name else AXON}.get(file.suffix)
    kinds = {"text": OBSERVATIONS, "composite_score": STM}
    found = (
        kind
        for _, record in flat.read_lines(file, [])
        for key, kind in kinds.items()
        if key in record
    )
    if kind := placed or named or formed or next(found, None):
        return kind
    allowed = f"{AXON}, {SHARED}, {OBSERVATIONS}, {STM}, or a file with such lines"
    raise InvalidInput(
        f"got the file {file.name}, in which nothing is known; allowed are {allowed}"
    )


def _folder_agent(file: Path) -> str | None:
    """Whose axon it is by its folders: agents/<agent>/axon.json, or
    <agent>/theorex/axon.json.
    """
    parts = file.absolute().parts[:-1]
    if parts[-1] == "theorex" and len(parts) > 2:
        return parts[-2]
    return (
        parts[-1].removeprefix("_").removesuffix("_")
        if len(parts) > 1 and parts[-2] == "agents"
        else None
    )


def _held(home: Home) -> Callable[[str, int], bool]:
    """Tells whether an agent's axon has a concept."""
    axon = home.views.get(Axon)

    def held(agent: str, concept: int) -> bool:
        with axon.lock:
            return axon.row(agent, concept) is not None

    return held
