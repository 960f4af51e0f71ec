"""Export to files and import from them: the original system's layouts, and our own sentences and vectors beside them.

agents/<agent>/axon.json      concepts and links of an agent, as Graphology exports a graph
shared-axon.json              the shared web in the same shape, with what each agent contributed
observations.jsonl            every sentence as it was written
moments/<id>.json             those of them that are moments, with the places they tell of
short-term/YYYY-MM-DD.jsonl   what flushes kept on that day; stm.jsonl: of the last fourteen days
embeddings.jsonl              vectors of the embedder in use; they are not read back, each home makes its own
SHARED_CONTEXT.md             the context as it is now; it is not read back
cold-store.db                 of the original system, which keeps there what sleeps; our axon.json holds that too

Whatever is imported has the source `import`: no trust rises through a file that anybody may have edited. For one's
own backups `trust_own` keeps the sources that the file names. An axon states numbers, it does not add: where the home
knows a concept or link already, the larger number stays, so that no backup is counted twice. Sentences of an agent
whose axon.json lies beside them are therefore not counted again; without it, they count as when they were written.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from theorex_lab.config import Settings
from theorex_lab.designs.theorex import exchange_write as writing
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.shared import SharedWeb
from theorex_lab.designs.theorex.short_term import ShortTerm
from theorex_lab.errors import InvalidInput, ModelUnavailable
from theorex_lab.evolution.boot import boot_context
from theorex_lab.exchange import flat_files as flat
from theorex_lab.exchange.files import Exported, Importing, Read, Reports, each_file, file_name, portable
from theorex_lab.home import Home
from theorex_lab.ids import check_agent
from theorex_lab.journal.foreign import read_file
from theorex_lab.memory.context_file import CONTEXT_FILE
from theorex_lab.memory.retrieve import Searcher
from theorex_lab.search.items import MOMENT_TYPE

AXON, SHARED, STM = "axon.json", "shared-axon.json", "stm.jsonl"
OBSERVATIONS, MOMENTS = "observations.jsonl", "moments"
EMBEDDINGS, SHORT_TERM, COLD = "embeddings.jsonl", "short-term", "cold-store.db"
_AXONS = (AXON, f"agents/*/{AXON}", f"agents/*/theorex/{AXON}", f"*/theorex/{AXON}")


def export_files(home: Home, searcher: Searcher, folder: Path, *, agent: str | None = None) -> Exported:
    """Write the memory of all agents, or of one, into `folder`; each file is replaced as a whole.

    Of one agent neither the context nor others' contributions are written. Other files in the folder are left alone.
    Vectors are left out, with a note, where their embedder does not answer. Raises InvalidInput for a name outside
    the rule, StorageError where a file cannot be written.
    """
    done = Exported(folder)
    with _memory(home, agent) as memory:
        for owner in memory.owners:
            name = f"agents/{portable(owner)}/{AXON}"
            done.files[name] = _write_axon(memory, owner, folder / name)
        done.files[SHARED] = _write_shared(memory, folder / SHARED)
        done.write(OBSERVATIONS, writing.observation_records(memory))
        moments = map(writing.moment_document, writing.observation_records(memory, MOMENT_TYPE))
        done.write_each(MOMENTS, ((file_name(moment["id"]), moment) for moment in moments))
        days = writing.short_term_days(memory)
        for day, seqs in days.items():
            done.write(f"{SHORT_TERM}/{day}.jsonl", writing.short_term_records(memory, seqs))
        recent = (record for seqs in days.values() for record in writing.short_term_records(memory, seqs, recent=True))
        done.write(STM, recent)
    try:
        done.files[EMBEDDINGS] = flat.write_lines(folder / EMBEDDINGS, writing.vector_lines(searcher, memory.agents))
    except ModelUnavailable as error:
        done.notes.append(f"{EMBEDDINGS} was not written: {error}")
    if agent is None:
        done.files[CONTEXT_FILE] = flat.write_lines(folder / CONTEXT_FILE, boot_context(home).text.splitlines())
    return done


def export_places(home: Home, *, agent: str | None = None) -> Exported:
    """Write what the original system reads where it looks for it: axons, the shared axon, and what sleeps.

    The places are the settings agentAxonDir, sharedAxonPath and coldStorePath. Each file is replaced; raises StorageError
    where one cannot be written.
    """
    done = Exported(places(home.settings)[0])
    with _memory(home, agent) as memory:
        done.files = {str(path): write(path) for path, write in _placed(memory).items()}
    return done


def in_places(home: Home, *, agent: str | None = None) -> list[Path]:
    """The files that `export_places` writes."""
    with _memory(home, agent) as memory:
        return [*_placed(memory)]


def _placed(memory: writing.WrittenMemory) -> dict[Path, Callable[[Path], int]]:
    """Each file where the original system looks for it, with what writes it."""
    folder, web, cold = places(memory.settings)
    axons = {folder / owner / "theorex" / AXON: partial(_write_axon, memory, owner) for owner in memory.owners}
    sleeping = partial(flat.write_cold, records=writing.cold_nodes(memory))
    return {**axons, web: partial(_write_shared, memory), cold: sleeping}


def places(settings: Settings) -> list[Path]:
    """Where the original system keeps its memory, by the settings; also what is not there."""
    return [settings.path(name) for name in ("agent_axon_dir", "shared_axon_path", "cold_store_path")]


@contextmanager
def _memory(home: Home, agent: str | None) -> Iterator[writing.WrittenMemory]:
    """The memory of all agents, or of one, which stays as it is meanwhile."""
    axon, shared, short_term = home.views.get(Axon), home.views.get(SharedWeb), home.views.get(ShortTerm)
    with axon.lock, shared.lock, short_term.lock:
        agents = [*axon.agents, *shared.agents, *short_term.agents] if agent is None else [check_agent(agent)]
        now, known = home.clock.now(), list(dict.fromkeys(agents))
        yield writing.WrittenMemory(axon, shared, short_term, home.journal, home.settings, now, known)


def _write_axon(memory: writing.WrittenMemory, agent: str, path: Path) -> int:
    nodes, edges = writing.axon_nodes(memory, agent), writing.axon_edges(memory.axon, agent)
    return flat.write_graph(path, writing.axon_attributes(agent, memory.short_term), nodes, edges)


def _write_shared(memory: writing.WrittenMemory, path: Path) -> int:
    return flat.write_graph(path, {}, writing.shared_nodes(memory), writing.shared_edges(memory))


def import_files(home: Home, _: object, path: Path, *, agent: str = "main", trust_own: bool = False) -> Reports:
    """Import a folder as `export_files` writes it, or the original system's, or one file of either.

    `agent` has the records that name nobody. Each file is one transaction:
    after a crash there are whole files, and repeating does the rest. What is damaged is reported by line, the good
    lines are imported; a damaged JSON document is reported, and the other files are imported. Raises StorageError on a
    full disk.
    """
    how = Importing(home.settings, home.clock.now(), check_agent(agent), trust_own)
    stated: set[str] = set()  # agents whose axon came along
    return each_file(path, files_of(path), partial(_import_file, home, how, stated))


def files_of(path: Path) -> list[Path]:
    """The files of memory below a folder, in the order in which they need each other; a file is its own.

    Also what has a file's name and is none, which whoever reads it refuses.
    """
    if path.is_file():
        return [path]
    axons = [file for pattern in _AXONS for file in sorted(path.glob(pattern))]
    days = sorted(path.glob(f"{SHORT_TERM}/*.jsonl"))
    moments = [] if (path / OBSERVATIONS).exists() else sorted(path.glob(f"{MOMENTS}/*.json"))
    first, last = ([path / name for name in names] for names in ((OBSERVATIONS, SHARED, COLD), (STM,)))
    return [file for file in [*axons, *first, *moments, *days, *last] if file.exists()]


def _import_file(home: Home, how: Importing, stated: set[str], file: Path, problems: list[str]) -> tuple[int, int]:
    """Import one file; what cannot be read is noted."""
    from theorex_lab.designs.theorex import exchange_read as reading

    kind = _kind(file)
    if kind == AXON:
        graph = flat.read_graph(file)
        owner = check_agent(_folder_agent(file) or graph["attributes"].get("agent_id", how.agent))
        done = flat.append_new(home.journal, reading.axon_events(graph, owner, how, problems))
        stated.add(owner)
        return done
    readers: dict[str, Callable[[], Read]] = {
        SHARED: lambda: reading.shared_events(flat.read_graph(file), _held(home), how, problems),
        COLD: lambda: reading.cold_events(flat.read_cold(file, problems), _held(home), how, problems),
        MOMENTS: lambda: reading.observation_events(_moment(file), stated, how, problems),
        OBSERVATIONS: lambda: reading.observation_events(flat.read_lines(file, problems), stated, how, problems),
        STM: lambda: reading.short_term_events(flat.read_lines(file, problems), how, problems),
    }
    return flat.append_new(home.journal, readers[kind]())


def _moment(file: Path) -> flat.Lines:
    """The sentence that a moment's document states."""
    document = flat.parse_object(read_file(file))
    named = {"text": document.get("story", ""), "refs": document.get("code_refs", []), "observation_type": MOMENT_TYPE}
    yield 1, {**document, **named}


def _kind(file: Path) -> str:
    """Which of the files it is, by its name, else by what is in it."""
    placed = {(SHORT_TERM, ".jsonl"): STM, (MOMENTS, ".json"): MOMENTS}.get((file.parent.name, file.suffix))
    named = file.name if file.name in (AXON, SHARED, OBSERVATIONS, STM) else ""
    formed = {".db": COLD, ".json": SHARED if "shared" in file.name else AXON}.get(file.suffix)
    kinds = {"text": OBSERVATIONS, "composite_score": STM}
    found = (kind for _, record in flat.read_lines(file, []) for key, kind in kinds.items() if key in record)
    if kind := placed or named or formed or next(found, None):
        return kind
    allowed = f"{AXON}, {SHARED}, {OBSERVATIONS}, {STM}, or a file with such lines"
    raise InvalidInput(f"got the file {file.name}, in which nothing is known; allowed are {allowed}")


def _folder_agent(file: Path) -> str | None:
    """Whose axon it is by its folders: agents/<agent>/axon.json, or <agent>/theorex/axon.json."""
    parts = file.absolute().parts[:-1]
    if parts[-1] == "theorex" and len(parts) > 2:
        return parts[-2]
    return parts[-1].removeprefix("_").removesuffix("_") if len(parts) > 1 and parts[-2] == "agents" else None


def _held(home: Home) -> Callable[[str, int], bool]:
    """Tells whether an agent's axon has a concept."""
    axon = home.views.get(Axon)

    def held(agent: str, concept: int) -> bool:
        with axon.lock:
            return axon.row(agent, concept) is not None

    return held
