"""Folders of facts before they are taken in, and the memory itself: what is wrong, what can be mended, what is there twice."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from theorex_lab.designs.facts import ABSTRACTIONS, CATEGORIES, checks, sameness, tree_read, tree_records, tree_write
from theorex_lab.designs.facts.facts import Fact, facts_of
from theorex_lab.errors import InvalidInput
from theorex_lab.exchange.flat_files import without_nulls
from theorex_lab.exchange.schema import problems
from theorex_lab.home import Home
from theorex_lab.journal.files import write_atomically, writing
from theorex_lab.journal.foreign import check_inside, read_file
from theorex_lab.text.sections import read_sections

BACKUP = ".before"  # of a file that is rewritten: the first such copy is kept
_FOLDERS = ("life/people", "life/projects", "life/archives", "memory/domains", "ops/observations", "ops/tensions")
# What stands in the place of a member that is wrong; of any other nobody can tell.
_MENDS: Mapping[str, Callable[[Any], Any]] = {
    "confidence": lambda given: min(max(float(given), 0.0), 1.0) if isinstance(given, int | float) and given == given else 0.7,
    "category": lambda given: given.lower() if str(given).lower() in CATEGORIES else "context",
    "abstractionLevel": lambda given: given.lower() if str(given).lower() in ABSTRACTIONS else "episode",
    "tags": lambda given: [tag.strip() for tag in given if isinstance(tag, str) and 0 < len(tag.strip()) <= 64][:32] if isinstance(given, list) else [],
    "accessCount": lambda _: 0}  # fmt: skip


@dataclass
class TreeCheck:
    """How many files and facts were read, what is wrong still, what was mended or brought up to date, and which files were written."""

    files: int = 0
    facts: int = 0
    problems: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)


def check_tree(folder: Path, *, fix: bool = False) -> TreeCheck:
    """Check every items.json below a folder: JSON, members, ids, chains. fix: mend what can be, a copy of each file first.

    Mended are a byte order mark, a bare list, members that are missing or out of range, and an id that is there twice. Raises
    InvalidInput where there is no items.json, StorageError where one cannot be written.
    """
    return _each_file(folder, _MENDS, write=fix)


def migrate_tree(folder: Path) -> TreeCheck:
    """Bring every items.json below a folder to the second version, bare lists and wrapped ones alike, a copy of each first.

    Facts get confidence .7, tags [], and abstractionLevel pattern where they are preferences or relationships, else episode,
    where they lack them; nothing else changes. Raises as `check_tree`.
    """
    return _each_file(folder, {}, write=True)


def check_home(home: Home) -> TreeCheck:
    """Check that the chains of the facts here are complete and without a circle."""
    facts = facts_of(home, active=None)
    links = {fact.id: fact.superseded_by for fact in facts}
    found = [f"{fact_id}: {problem}" for fact_id, problem in tree_records.chain_problems(links).items()]
    lost = [(fact.id, old) for fact in facts for old in fact.supersedes if old not in links]
    found += [f"{fact_id}: it supersedes {old!r}, which is no fact that is there" for fact_id, old in lost]
    return TreeCheck(0, len(facts), found)


def duplicates(home: Home) -> tuple[int, list[list[str]]]:
    """How many different hashes the active facts have within their entities, and the ids of those that say exactly the same."""
    groups: dict[tuple[str, str], list[list[Fact]]] = defaultdict(list)
    for fact in facts_of(home):
        alike = groups[fact.entity, sameness.fact_hash(fact.text)]
        same = next((group for group in alike if sameness.same_fact(group[0].text, fact.text)), None)
        alike.append([fact]) if same is None else same.append(fact)
    return len(groups), [[fact.id for fact in group] for alike in groups.values() for group in alike if len(group) > 1]


def duplicate_of(home: Home, entity: str, text: str) -> dict[str, Any]:
    """The hash of a text, and the id of the entity's active fact that says exactly the same, or None."""
    same = (fact.id for fact in facts_of(home, checks.check_entity(entity)) if sameness.same_fact(fact.text, text))
    return {"hash": sameness.fact_hash(text), "duplicate": next(same, None)}


def init_tree(folder: Path) -> dict[str, list[str]]:
    """Make the folders, MEMORY.md and SOUL.md where they are not there yet; nothing is overwritten. {made, kept, hooks}

    hooks: what to enter into an agent's and the system's settings, a line each. Raises StorageError.
    """
    texts = read_sections(__file__, "tree.txt")
    made, kept = list[str](), list[str]()
    with writing(folder, "choose another folder"):
        for name in _FOLDERS:
            (kept if (folder / name).is_dir() else made).append(name)
            (folder / name).mkdir(parents=True, exist_ok=True)
        for name in ("MEMORY.md", "SOUL.md"):
            (kept if (folder / name).exists() else made).append(name)
            if name in made:
                write_atomically(folder / name, f"{texts[name]}\n".encode())
    return {"made": made, "kept": kept, "hooks": texts["hooks"].splitlines()}


def _each_file(folder: Path, mends: Mapping[str, Callable[[Any], Any]], *, write: bool) -> TreeCheck:
    done, links = TreeCheck(), dict[str, str]()
    files = sorted(folder.glob("life/*/*/items.json"))
    if not files and not (folder / "life").is_dir():
        raise InvalidInput(f"got {folder}, which holds no life/*/*/items.json; allowed is the folder that life/ is in")
    for file in files:
        name, said = file.relative_to(folder).as_posix(), list[str]()
        try:
            check_inside(folder, file)
            document = _mended_file(file, name, done, links, mends, said)
            if write and said:
                _rewrite(file, document)
                done.written.append(name)
        except InvalidInput as error:
            done.problems.append(f"{name}: {error}")
        (done.mended if write else done.problems).extend(f"{name}: {problem}" for problem in said)
    done.problems += [f"{fact_id}: {problem}" for fact_id, problem in tree_records.chain_problems(links).items()]
    return done


def _mended_file(file: Path, name: str, done: TreeCheck, links: dict[str, str],
                 mends: Mapping[str, Callable[[Any], Any]], said: list[str]) -> dict[str, Any]:  # fmt: skip
    """The document of a file as it is to be; what is mended is noted in `said`, what cannot be in the problems."""
    document, marked = tree_records.read_marked_json(file)
    records, bare = tree_records.facts_in(document)
    said += ["it begins with a byte order mark"] * marked + ["it is a bare list"] * bare
    taken = {str(record.get("id")) for record in records if isinstance(record, dict)}
    newer = []
    for number, record in enumerate(records, 1):
        known = isinstance(record, dict)
        found, mended, left = _mended(record, links, taken, mends) if known else (record, [], ["it is no object"])
        said += [f"fact {number}: {problem}" for problem in mended]
        done.problems += [f"{name}: fact {number}: {problem}" for problem in left]
        newer.append(found)
    done.files, done.facts = done.files + 1, done.facts + len(records)
    kept = {} if bare else {key: value for key, value in document.items() if key not in ("facts", "items")}
    return {**kept, **tree_write.wrapped(tree_read.entity_of(file, document), newer)}


def _mended(record: dict[str, Any], links: dict[str, str], taken: set[str],
            mends: Mapping[str, Callable[[Any], Any]]) -> tuple[dict[str, Any], list[str], list[str]]:  # fmt: skip
    """A record with what could be mended of it, what that was, and what could not; its link is taken down."""
    found = tree_records.upgraded(record)
    lacked = [key for key in found if record.get(key) is None and found[key] is not None]
    mended, left = [f"it lacks {', '.join(lacked)}"] * bool(lacked), list[str]()
    for key, sentence in problems(tree_records.FactRecord, without_nulls(found)).items():
        found |= {key: mends[key](found[key])} if key in mends else {}
        (mended if key in mends else left).append(sentence)
    if (fact_id := str(found.get("id"))) in links:
        new = tree_records.free_like(fact_id, taken, links)
        (mended if mends else left).append(f"the id {fact_id} is there twice; this one is to be {new}")
        found["id"] = new if mends else fact_id
    links[str(found.get("id"))] = str(found.get("supersededBy") or "")
    return found, mended, left


def _rewrite(file: Path, document: dict[str, Any]) -> None:
    """Replace a file as a whole; what it held first is kept beside it."""
    backup = file.with_name(file.name + BACKUP)
    with writing(file, "allow writing there, or work on a copy of the folder"):
        if not backup.exists():
            write_atomically(backup, read_file(file))
        write_atomically(file, f"{tree_write.in_json(document)}\n".encode())
