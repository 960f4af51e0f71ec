"""Export to files and import from them: the original system's layouts, and our own sentences and vectors beside them.

agents/<agent>/axon.json      concepts and links of an agent, as Graphology exports a graph
shared-axon.json              the shared web in the same shape, with what each agent contributed
observations.jsonl            every sentence as it was written
moments/<id>.json             those of them that are moments, with the places they tell of
short-term/YYYY-MM-DD.jsonl   what flushes kept on that day; stm.jsonl: of the last fourteen days
embeddings.jsonl              vectors of the embedder in use
SHARED_CONTEXT.md             the context as it is now; it is not read back
cold-store.db                 of the original system, which keeps there what sleeps; our axon.json holds that too

Whatever is imported has the source `import`: no trust rises through a file that anybody may have edited. For one's
own backups `trust_own` keeps the sources that the file names. An axon states numbers, it does not add: where the home
knows a concept or link already, the larger number stays, so that no backup is counted twice. Sentences of an agent
whose axon.json lies beside them therefore count nothing anew; alone, they count as when they were written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from theorex_lab.config import Settings
from theorex_lab.designs.theorex import exchange_write as writing
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.items import MOMENT_TYPE
from theorex_lab.designs.theorex.shared import SharedWeb
from theorex_lab.designs.theorex.short_term import ShortTerm
from theorex_lab.errors import InvalidInput, ModelUnavailable
from theorex_lab.evolution.boot import boot_context
from theorex_lab.exchange.files import Exported, FileReport, portable
from theorex_lab.exchange.flat_files import (
    Appended,
    Record,
    append_new,
    parse_object,
    read_cold,
    read_graph,
    read_lines,
    write_cold,
    write_graph,
    write_lines,
)
from theorex_lab.exchange.importing import Importing
from theorex_lab.exchange.problems import merged
from theorex_lab.exchange.runs import file_name
from theorex_lab.home import Home
from theorex_lab.ids import check_agent
from theorex_lab.journal.event import encode
from theorex_lab.journal.foreign import check_inside, read_file
from theorex_lab.journal.view import Views
from theorex_lab.memory.context_file import CONTEXT_FILE
from theorex_lab.memory.retrieve import Searcher
from theorex_lab.search.vectors import KEY_BYTES

AXON, SHARED, STM = "axon.json", "shared-axon.json", "stm.jsonl"
OBSERVATIONS, MOMENTS = "observations.jsonl", "moments"
EMBEDDINGS, SHORT_TERM, COLD = "embeddings.jsonl", "short-term", "cold-store.db"
_AXONS = (AXON, f"agents/*/{AXON}", f"agents/*/theorex/{AXON}", f"*/theorex/{AXON}")
_VECTORS_AT_ONCE = 1_000
Vector = NDArray[np.float32]


def export_files(home: Home, searcher: Searcher, folder: Path, *, agent: str | None = None) -> Exported:
    """Write the memory of all agents, or of one, into `folder`; each file is replaced as a whole.

    Of one agent neither the context nor others' contributions are written. Other files in the folder are left alone.
    Vectors are left out, with a note, where their embedder does not answer. Raises InvalidInput for a name outside
    the rule, StorageError where a file cannot be written.
    """
    axon, shared, short_term = home.views.get(Axon), home.views.get(SharedWeb), home.views.get(ShortTerm)
    now, done = home.clock.now(), Exported(folder)
    with ExitStack() as locks:
        for view in (axon, shared, short_term):
            locks.enter_context(view.lock)
        agents = _agents(axon, shared, short_term, agent)
        for name in _with_axon(axon, agents):
            path = folder / "agents" / portable(name) / AXON
            done.files[f"agents/{portable(name)}/{AXON}"] = _write_axon(
                axon, short_term, home.settings, now, name, path
            )
        done.files[SHARED] = _write_shared(axon, shared, home.settings, now, agents, folder / SHARED)
        sentences = partial(writing.observation_records, axon, home.journal, axon.seq, agents)
        done.files[OBSERVATIONS] = write_lines(folder / OBSERVATIONS, map(encode, sentences()))
        for record in sentences(MOMENT_TYPE):
            write_lines(folder / MOMENTS / file_name(record["id"]), [encode(writing.moment_document(record))])
            done.files[f"{MOMENTS}/*.json"] = done.files.get(f"{MOMENTS}/*.json", 0) + 1
        _export_short_term(home.views, short_term, now, agents, done)
    _export_vectors(searcher, agents, done)
    if agent is None:
        text = boot_context(home).text
        done.files[CONTEXT_FILE] = write_lines(folder / CONTEXT_FILE, text.splitlines())
    return done


def export_places(home: Home, *, agent: str | None = None) -> Exported:
    """Write what the original system reads where it looks for it: axons, the shared axon, and what sleeps.

    The places are the settings agentAxonDir, sharedAxonPath and coldStorePath. Each file is replaced; raises StorageError
    where one cannot be written.
    """
    axon, shared, short_term = home.views.get(Axon), home.views.get(SharedWeb), home.views.get(ShortTerm)
    folder, web, cold = places(home.settings)
    now, done = home.clock.now(), Exported(folder)
    with axon.lock, shared.lock, short_term.lock:
        agents = _agents(axon, shared, short_term, agent)
        axons = {name: _place(folder, name) for name in _with_axon(axon, agents)}
        for name, path in axons.items():
            done.files[str(path)] = _write_axon(axon, short_term, home.settings, now, name, path)
        done.files[str(web)] = _write_shared(axon, shared, home.settings, now, agents, web)
        done.files[str(cold)] = write_cold(cold, writing.cold_nodes(axon, now, home.settings, axons))
    return done


def in_places(home: Home, *, agent: str | None = None) -> list[Path]:
    """The files that `export_places` writes."""
    axon, shared, short_term = home.views.get(Axon), home.views.get(SharedWeb), home.views.get(ShortTerm)
    folder, *others = places(home.settings)
    with axon.lock, shared.lock, short_term.lock:
        return [*(_place(folder, each) for each in _with_axon(axon, _agents(axon, shared, short_term, agent))), *others]


def _place(folder: Path, agent: str) -> Path:
    return folder / agent / "theorex" / AXON


def places(settings: Settings) -> list[Path]:
    """Where the original system keeps its memory, by the settings; also what is not there."""
    return [settings.path(name) for name in ("agent_axon_dir", "shared_axon_path", "cold_store_path")]


def _agents(axon: Axon, shared: SharedWeb, short_term: ShortTerm, agent: str | None) -> list[str]:
    """All agents of the memory, or the one that is named."""
    if agent is not None:
        return [check_agent(agent)]
    return list(dict.fromkeys([*axon.agents, *shared.agents, *short_term.agents]))


def _with_axon(axon: Axon, agents: list[str]) -> list[str]:
    return [name for name in agents if axon.agents.find(name) is not None]


def _write_axon(axon: Axon, short_term: ShortTerm, settings: Settings, now: int, agent: str, path: Path) -> int:
    return write_graph(
        path,
        writing.axon_attributes(agent, short_term),
        writing.axon_nodes(axon, now, settings, agent),
        writing.axon_edges(axon, agent),
    )


def _write_shared(axon: Axon, shared: SharedWeb, settings: Settings, now: int, agents: list[str], path: Path) -> int:
    return write_graph(
        path, {}, writing.shared_nodes(axon, shared, now, settings, agents), writing.shared_edges(shared, agents)
    )


def _export_short_term(views: Views, short_term: ShortTerm, now: int, agents: list[str], done: Exported) -> None:
    days = writing.short_term_days(short_term, agents)
    for day, seqs in days.items():
        name = f"{SHORT_TERM}/{day}.jsonl"
        done.files[name] = write_lines(done.folder / name, map(encode, writing.short_term_records(views.journal, seqs)))
    recent = (
        encode(record) for seqs in days.values() for record in writing.short_term_records(views.journal, seqs, now)
    )
    done.files[STM] = write_lines(done.folder / STM, recent)


def _export_vectors(searcher: Searcher, agents: list[str], done: Exported) -> None:
    try:
        done.files[EMBEDDINGS] = write_lines(done.folder / EMBEDDINGS, writing.vector_lines(searcher, agents))
    except ModelUnavailable as error:
        done.notes.append(f"{EMBEDDINGS} was not written: {error}")


def import_files(
    home: Home, searcher: Callable[[], Searcher], path: Path, *, agent: str = "main", trust_own: bool = False
) -> list[FileReport]:
    """Import a folder as `export_files` writes it, or the original system's, or one file of either.

    `agent` has the records that name nobody; `searcher` is asked for where there are vectors. Each file is one transaction:
    after a crash there are whole files, and repeating does the rest. What is damaged is reported by line, the good
    lines are imported; a damaged JSON document is reported, and the other files are imported. Raises StorageError on a
    full disk.
    """
    how = Importing(home.settings, home.clock.now(), check_agent(agent), trust_own)
    stated: set[str] = set()  # agents whose axon came along
    reports = []
    for file in files_of(path):
        report = FileReport(str(file.relative_to(path)) if path.is_dir() else file.name)
        try:
            if path.is_dir():
                check_inside(path, file)
            done = _import_file(file, path, how, stated, home.views, searcher, report.problems)
            report.imported, report.skipped = done
        except InvalidInput as error:
            report.problems.append(f": {error}")
        report.problems = merged(report.file + problem for problem in report.problems)
        reports.append(report)
    return reports


def files_of(path: Path) -> list[Path]:
    """The files of memory below a folder, in the order in which they need each other; a file is its own.

    Also what has a file's name and is none, which whoever reads it refuses.
    """
    if path.is_file():
        return [path]
    axons = [file for pattern in _AXONS for file in sorted(path.glob(pattern))]
    days = sorted(path.glob(f"{SHORT_TERM}/*.jsonl"))
    moments = [] if (path / OBSERVATIONS).exists() else sorted(path.glob(f"{MOMENTS}/*.json"))
    first, last = ([path / name for name in names] for names in ((OBSERVATIONS, SHARED, COLD), (STM, EMBEDDINGS)))
    return [file for file in [*axons, *first, *moments, *days, *last] if file.exists()]


def _import_file(
    file: Path,
    path: Path,
    how: Importing,
    stated: set[str],
    views: Views,
    searcher: Callable[[], Searcher],
    problems: list[str],
) -> Appended:
    """Import one file. What cannot be read is noted in `problems`, each from the place on: ":12: reason"."""
    from theorex_lab.designs.theorex import exchange_read as reading

    kind = _kind(file)
    if kind == EMBEDDINGS:
        return _import_vectors(file, searcher(), problems)
    if kind in (AXON, SHARED):
        graph = read_graph(file)
        if kind == SHARED:
            return append_new(views.journal, reading.shared_events(graph, _holder(views), how, problems))
        owner = check_agent(_folder_agent(file) or graph["attributes"].get("agent_id", how.agent))
        done = append_new(views.journal, reading.axon_events(graph, owner, how, problems))
        if path.is_dir():
            stated.add(owner)
        return done
    if kind == COLD:
        return append_new(views.journal, reading.cold_events(read_cold(file), _holder(views), how, problems))
    lines: Iterable[tuple[int, Record | InvalidInput]] = read_lines(file)
    if kind == MOMENTS:
        lines = [(1, reading.moment_record(parse_object(read_file(file))))]
    if kind in (OBSERVATIONS, MOMENTS):
        return append_new(views.journal, reading.observation_events(lines, stated, how, problems))
    return append_new(views.journal, reading.short_term_events(lines, how, problems))


def _kind(file: Path) -> str:
    """Which of the files it is, by its name, else by what is in it."""
    if file.parent.name == SHORT_TERM and file.suffix == ".jsonl":
        return STM
    if file.parent.name == MOMENTS and file.suffix == ".json":
        return MOMENTS
    if file.name in (AXON, SHARED, OBSERVATIONS, STM, EMBEDDINGS):
        return file.name
    if file.suffix == ".db":
        return COLD
    if file.suffix == ".json":
        return SHARED if "shared" in file.name else AXON
    for _, record in read_lines(file):
        if isinstance(record, InvalidInput):
            continue
        kinds = {"vector": EMBEDDINGS, "text": OBSERVATIONS, "composite_score": STM}
        for key, kind in kinds.items():
            if key in record:
                return kind
    raise InvalidInput(
        f"got the file {file.name}, in which nothing is known; allowed are {AXON}, {SHARED}, {OBSERVATIONS}, {STM}, "
        f"{EMBEDDINGS}, or a file with such lines"
    )


def _folder_agent(file: Path) -> str | None:
    """Whose axon it is by its folders: agents/<agent>/axon.json, or <agent>/theorex/axon.json."""
    parts = file.absolute().parts[:-1]
    if parts[-1] == "theorex" and len(parts) > 2:
        return parts[-2]
    return parts[-1].removeprefix("_").removesuffix("_") if len(parts) > 1 and parts[-2] == "agents" else None


def _holder(views: Views) -> Callable[[str, int], bool]:
    """Tells whether an agent's axon has a concept."""
    axon = views.get(Axon)
    return partial(_holds, axon)


def _holds(axon: Axon, agent: str, concept: int) -> bool:
    with axon.lock:
        return axon.row(agent, concept) is not None


def _import_vectors(file: Path, searcher: Searcher, problems: list[str]) -> Appended:
    """Vectors of the embedder in use enter the cache; those of another are passed over, they cannot be compared."""
    new = known = foreign = 0
    for batch in _batches(file, problems):
        sound: dict[bytes, Vector] = {}
        for number, record in batch:
            if record.get("embedder") != searcher.embedder.id:
                foreign += 1
                continue
            found = _vector(record, searcher.cache.dimensions)
            if isinstance(found, str):
                problems.append(f":{number}: {found}")
                continue
            known += found[0] in sound
            sound[found[0]] = found[1]
        if sound:
            held = int(searcher.cache.get(list(sound))[0].sum())
            searcher.cache.add(list(sound), np.stack(list(sound.values())))
            known, new = known + held, new + len(sound) - held
    if foreign:
        problems.append(f": {foreign} vectors are not of {searcher.embedder.id}, the embedder in use; passed over")
    return Appended(new, known)


def _batches(file: Path, problems: list[str]) -> Iterator[list[tuple[int, Record]]]:
    """The sound lines of a file with their numbers, a thousand at once."""
    batch: list[tuple[int, Record]] = []
    for number, record in read_lines(file):
        if isinstance(record, InvalidInput):
            problems.append(f":{number}: {record}")
            continue
        batch.append((number, record))
        if len(batch) == _VECTORS_AT_ONCE:
            yield batch
            batch = []
    yield batch


def _vector(record: Record, dimensions: int) -> tuple[bytes, Vector] | str:
    """The key and the vector of a line, or what is wrong with it."""
    try:
        key = bytes.fromhex(record["text_hash"])
        vector = np.array(record["vector"], np.float32)
    except (KeyError, TypeError, ValueError) as error:
        return f"got no text_hash of hexadecimal digits with a vector of numbers ({error})"
    length = float(np.linalg.norm(vector))
    if len(key) != KEY_BYTES or vector.shape != (dimensions,) or not (abs(length - 1) < 1e-3 or length == 0):
        return (
            f"got a hash of {len(key)} bytes and a vector {vector.shape} of length {length:.3g}; allowed are {KEY_BYTES} "
            f"bytes, {dimensions} numbers, length 1 or 0"
        )
    return key, vector
