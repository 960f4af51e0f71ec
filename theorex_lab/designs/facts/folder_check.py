"""Check an Engram folder, mend it where it lies, bring it to version two, or make one.

A file is replaced as a whole, and what it held first is kept beside it. A record that
cannot be mended is reported and stays where it is.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from theorex_lab.core.errors import FilesThere, InvalidInput
from theorex_lab.core.files import write_atomically, writing
from theorex_lab.core.sections import read_sections
from theorex_lab.designs.facts import domains, handoff
from theorex_lab.designs.facts.facts import check_home, facts_of, split_id
from theorex_lab.designs.facts.folder_json import (
    BYTE_ORDER_MARK,
    MOST_RECORDS,
    OLD_CONFIDENCE,
    FactsDocument,
    chain_problems,
    decoded,
    entity_at,
    facts_document,
    free_id,
    in_json,
    parsed,
    read_bounded,
    renamed_members,
    upgraded,
)
from theorex_lab.designs.facts.folder_records import (
    FolderFact,
    FolderNote,
    member_problems,
)
from theorex_lab.designs.facts.writing import undo_supersede
from theorex_lab.files.formats.flat_files import without_nulls
from theorex_lab.memory.contract import Home

# The end of the name of a file as it was before it was mended.
BEFORE = ".before"
FOLDERS = (
    "life/people",
    "life/projects",
    "life/archives",
    "memory/agent-main/main",
    "memory/domains",
    "ops/observations",
    "ops/tensions",
    "references",
)
_SELF_FILES = ("MEMORY.md", "SOUL.md")
_INDEXED = {"observations": "obs", "tensions": "tension"}
_DECODER = json.JSONDecoder()
_SHOWN_IDS = 20
_ADVICE = "allow writing there, or work on a copy of the folder"


@dataclass
class FolderCheck:
    """What was read of a folder, and what became of it.

    Attributes:
        files: How many files were read.
        facts: How many facts they hold.
        problems: What is wrong and was not mended.
        mended: What was mended, or brought to version two.
        written: The files that were written.
    """

    files: int = 0
    facts: int = 0
    problems: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return dict(vars(self))


def check_folder(folder: Path, *, fix: bool = False) -> FolderCheck:
    """Check the facts, the notes, the domains and the folders of an Engram folder.

    Args:
        folder: The folder that life/ is in.
        fix: Mend what can be: a byte order mark, a bare list, members that are missing
            or out of range, an id that is there twice, a file that was cut off, an
            index that lacks notes, and folders and files that are missing.

    Raises:
        InvalidInput: There is no life/.
        StorageError: A file cannot be written.
    """
    check = _check_facts(
        folder,
        _MENDS,
        writes=fix,
    )
    _check_notes(
        folder,
        check,
        fix=fix,
    )
    _check_domains(
        folder,
        check,
        fix=fix,
    )
    for name in FOLDERS[:-1]:
        if not (folder / name).is_dir():
            _note(
                check,
                f"{name}/ is missing",
                fix=fix,
            )
            if fix:
                _make_folder(folder, name)
    return check


def migrate_folder(folder: Path) -> FolderCheck:
    """Bring every items.json of a folder to version two, bare and wrapped alike.

    Facts get confidence .7, tags [], and abstractionLevel pattern where they are
    preferences or relationships, else episode, where they lack them. Nothing else
    changes.

    Raises:
        InvalidInput: There is no life/.
        StorageError: A file cannot be written.
    """
    return _check_facts(
        folder,
        {},
        writes=True,
    )


def mend_home(home: Home) -> FolderCheck:
    """Open the circles in the chains of the facts here; the newest fact then holds.

    Nothing is deleted.
    """
    check = FolderCheck()
    facts = {fact.id: fact for fact in facts_of(home, active=None)}
    successors = {fact.id: fact.superseded_by for fact in facts.values()}
    for fact_id in chain_problems(successors):
        members = [fact_id]
        while successors.get(members[-1], fact_id) not in ("", *members):
            members.append(successors[members[-1]])
        if successors.get(members[-1]) != fact_id:
            continue
        newest = max(members, key=lambda member: (facts[member].at, member))
        undo_supersede(home, newest)
        check.mended.append(f"{newest} holds again: its chain was a circle")
    after = check_chains(home)
    check.facts = after.facts
    check.problems = after.problems
    return check


def check_chains(home: Home) -> FolderCheck:
    """Check the chains of the facts here: they have no gap and no circle."""
    chains = check_home(home)
    return FolderCheck(facts=chains.facts, problems=chains.problems)


def init_folder(folder: Path) -> dict[str, list[str]]:
    """Make an Engram folder; nothing that is there is changed.

    Returns:
        The names that were made, and those that were there.

    Raises:
        StorageError: Something cannot be made.
    """
    made: list[str] = []
    old: list[str] = []
    for name in FOLDERS:
        is_there = (folder / name).is_dir()
        (old if is_there else made).append(name)
        _make_folder(folder, name)
    for name, text in _first_files().items():
        is_there = (folder / name).exists()
        (old if is_there else made).append(name)
        if not is_there:
            with writing(folder / name, "choose another folder"):
                write_atomically(folder / name, text.encode())
    return {"made": made, "kept": old}


def _first_files() -> dict[str, str]:
    """Return the texts of the files that a new folder has."""
    texts = read_sections(handoff.__file__, "templates.txt")
    files = {}
    for name in _SELF_FILES:
        title = name.removesuffix(".md")
        files[name] = f"# {title}\n\n{texts[name]}\n"
    for phase, name in handoff.template_names().items():
        files[f"references/{name}"] = handoff.template(phase)
    return files


def _make_folder(folder: Path, name: str) -> None:
    path = folder / name
    _check_target(folder, path)
    try:
        with writing(path, "choose another folder"):
            path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise FilesThere(f"got {path}, which is a file; move it away") from error


def _check_target(folder: Path, path: Path) -> None:
    """Raise InvalidInput for a path that a link in the folder leads out of it."""
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InvalidInput(
            f"got {path}, which a link leads out of the folder; allowed are files of its"
            " own: remove the link"
        )


def _note(
    check: FolderCheck,
    problem: str,
    *,
    fix: bool,
) -> None:
    """Note what is mended now, or what is wrong."""
    (check.mended if fix else check.problems).append(problem)


# Facts


def _within_share(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return min(max(value, 0), 1) if is_number else OLD_CONFIDENCE


def _texts(value: Any) -> list[str]:
    texts = value if isinstance(value, list) else []
    return [text for text in texts if isinstance(text, str)]


# By member: what a value that is not allowed becomes.
_MENDS: Mapping[str, Callable[[Any], Any]] = {
    "confidence": _within_share,
    "category": lambda _value: "context",
    "abstractionLevel": lambda _value: "episode",
    "tags": _texts,
    "supersedes": _texts,
    "accessCount": lambda _value: 0,
    "status": lambda _value: "active",
}


def _check_facts(
    folder: Path,
    mends: Mapping[str, Callable[[Any], Any]],
    *,
    writes: bool,
) -> FolderCheck:
    """Check each items.json; write those that were mended."""
    files = sorted(folder.glob("life/*/*/items.json"))
    if not files and not (folder / "life").is_dir():
        raise InvalidInput(
            f"got {folder}, which holds no life/; allowed is the folder that life/ is"
            " in: `theorex facts init` makes one"
        )
    check = FolderCheck()
    links: dict[str, str] = {}
    for file in files:
        _FactsFile(
            folder,
            file,
            check,
            links,
            mends,
            writes,
        ).run()
    for fact_id, problem in chain_problems(links).items():
        check.problems.append(f"{fact_id}: {problem}")
    return check


@dataclass
class _FactsFile:
    """One items.json that is checked.

    Attributes:
        links: The fact in the place of each fact that was read so far, by its id.
        mends: What a value that is not allowed becomes; empty where only what is
            missing is added.
    """

    folder: Path
    file: Path
    check: FolderCheck
    links: dict[str, str]
    mends: Mapping[str, Callable[[Any], Any]]
    writes: bool
    changes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The file's name in the folder."""
        return self.file.relative_to(self.folder).as_posix()

    def run(self) -> None:
        """Check it, and write it where something was mended."""
        try:
            document = self._document()
        except InvalidInput as error:
            self.check.problems.append(f"{self.name}: {error}")
            return
        self.check.files += 1
        for change in self.changes:
            _note(
                self.check,
                f"{self.name}: {change}",
                fix=self.writes,
            )
        if self.writes and self.changes:
            _rewrite(self.file, document)
            self.check.written.append(self.name)

    def _document(self) -> Any:
        """Return what the file is to hold."""
        content = read_bounded(self.folder, self.file)
        text = decoded(content)
        if content.startswith(BYTE_ORDER_MARK):
            self.changes.append("it begins with a byte order mark")
        document = self._parsed(text)
        parts = facts_document(document)
        entity = entity_at(self.file.absolute().parts, document)
        if not parts.member:
            self.changes.append("it is a bare list")
            head = {"entityId": entity, "schemaVersion": 2, "facts": []}
            parts = FactsDocument(
                parts.records,
                head,
                "facts",
            )
        self.check.facts += len(parts.records)
        taken = set[str]()
        for record in parts.records:
            if isinstance(record, dict):
                taken.add(str(record.get("id")))
        slug = entity.partition("/")[2]
        records = []
        for number, record in enumerate(parts.records, 1):
            records.append(
                self._mended(
                    f"fact {number}",
                    record,
                    slug,
                    taken,
                )
            )
        return parts.with_records(records)

    def _parsed(self, text: str) -> Any:
        """Return the document; of a file that was cut off the facts that are whole."""
        try:
            return parsed(text)
        except InvalidInput as error:
            if not self.mends:
                raise
            records = list(_whole_records(text))
            if not records:
                raise
            self.changes.append(
                f"{error}; {len(records)} facts of it are whole, and stand in its place"
            )
            return records

    def _mended(
        self,
        where: str,
        record: Any,
        slug: str,
        taken: set[str],
    ) -> Any:
        """Return a record with what could be mended of it."""
        if not isinstance(record, dict):
            self._report(where, "it is no object")
            return record
        if self.mends:
            record = renamed_members(record)
        members = upgraded(record)
        self._note_lacking(
            where,
            record,
            members,
        )
        problems = member_problems(FolderFact, without_nulls(members))
        for name, problem in problems.items():
            if not self._mend(
                members,
                name,
                slug,
                taken,
            ):
                self._report(where, problem)
            elif name == "id":
                self.changes.append(f"{where}: {problem}; it gets {members['id']}")
            else:
                self.changes.append(f"{where}: {problem}")
        self._check_id(
            where,
            members,
            taken,
        )
        return members

    def _note_lacking(
        self,
        where: str,
        record: Mapping[str, Any],
        members: Mapping[str, Any],
    ) -> None:
        """Note which members a record lacked."""
        lacking = []
        for name, value in members.items():
            if record.get(name) is None and value is not None:
                lacking.append(name)
        if lacking:
            self.changes.append(f"{where}: it lacks {', '.join(lacking)}")

    def _mend(
        self,
        members: dict[str, Any],
        name: str,
        slug: str,
        taken: set[str],
    ) -> bool:
        """Mend a member of a record; return whether that can be done."""
        if name in self.mends:
            mend = self.mends[name]
            members[name] = mend(members[name])
            return True
        if name == "id" and self.mends:
            members["id"] = free_id(
                f"{slug}-001",
                taken,
                self.links,
            )
            return True
        return False

    def _check_id(
        self,
        where: str,
        members: dict[str, Any],
        taken: set[str],
    ) -> None:
        """Give a record another id where another fact has its own."""
        fact_id = str(members.get("id"))
        if fact_id in self.links:
            new = free_id(
                fact_id,
                taken,
                self.links,
            )
            problem = f"{where}: the id {fact_id} is there twice"
            if self.mends:
                self.changes.append(f"{problem}; this one gets {new}")
                members["id"] = new
            else:
                self.check.problems.append(f"{self.name}: {problem}")
        successor = members.get("supersededBy")
        self.links[str(members.get("id"))] = str(successor or "")

    def _report(
        self,
        where: str,
        problem: str,
    ) -> None:
        self.check.problems.append(f"{self.name}: {where}: {problem}")


def _whole_records(text: str) -> Iterator[dict[str, Any]]:
    """Yield the facts of a list that was cut off, up to the first that is not whole."""
    start = text.find("[")
    offset = text.find("{", start) if start >= 0 else -1
    n_records = 0
    while offset >= 0 and n_records < MOST_RECORDS:
        try:
            record, end = _DECODER.raw_decode(text, offset)
        except (ValueError, RecursionError):
            return
        if isinstance(record, dict):
            yield record
            n_records += 1
        offset = text.find("{", end)


def _rewrite(file: Path, document: Any) -> None:
    """Replace a file as a whole; what it held first is kept beside it."""
    before = file.with_name(f"{file.name}{BEFORE}")
    with writing(file, _ADVICE):
        if file.exists() and not before.exists():
            write_atomically(before, file.read_bytes())
        write_atomically(file, f"{in_json(document)}\n".encode())


# Notes and domains


def _check_notes(
    folder: Path,
    check: FolderCheck,
    *,
    fix: bool,
) -> None:
    """Check each note, and whether the indexes list them all."""
    for name, prefix in _INDEXED.items():
        note_ids = []
        for file in sorted((folder / "ops" / name).glob(f"{prefix}-*.json")):
            file_name = file.relative_to(folder).as_posix()
            try:
                raw = without_nulls(parsed(decoded(read_bounded(folder, file))))
                problems = member_problems(FolderNote, raw)
                note_ids.append(str(raw.get("id")))
            except InvalidInput as error:
                problems = {"": str(error)}
            check.files += 1
            for problem in problems.values():
                check.problems.append(f"{file_name}: {problem}")
        if note_ids:
            _check_index(
                folder,
                name,
                note_ids,
                check,
                fix=fix,
            )


def _check_index(
    folder: Path,
    name: str,
    note_ids: list[str],
    check: FolderCheck,
    *,
    fix: bool,
) -> None:
    """Check that the index of notes lists these."""
    file = folder / "ops" / name / "index.json"
    file_name = file.relative_to(folder).as_posix()
    try:
        index = _read_index(folder, file)
    except InvalidInput as error:
        index = {}
        _note(
            check,
            f"{file_name}: {error}",
            fix=fix,
        )
    listed_ids = _listed_ids(index, name)
    missing = [note_id for note_id in note_ids if note_id not in listed_ids]
    if not missing:
        return
    shown = ", ".join(missing[:_SHOWN_IDS])
    _note(
        check,
        f"{file_name}: it lacks {shown}",
        fix=fix,
    )
    if not fix:
        return
    last = max(split_id(note_id)[1] for note_id in note_ids)
    all_ids = sorted({*listed_ids, *note_ids})
    _check_target(folder, file)
    _rewrite(file, {**index, name: all_ids, "lastId": last})
    check.written.append(file_name)


def _read_index(folder: Path, file: Path) -> dict[str, Any]:
    """Return the index of notes; {} where there is none."""
    if not file.is_file():
        return {}
    index = parsed(decoded(read_bounded(folder, file)))
    return index if isinstance(index, dict) else {}


def _listed_ids(index: Mapping[str, Any], name: str) -> set[str]:
    """Return the ids that an index lists."""
    note_ids = index.get(name)
    if not isinstance(note_ids, list):
        return set()
    return {str(note_id) for note_id in note_ids}


def _check_domains(
    folder: Path,
    check: FolderCheck,
    *,
    fix: bool,
) -> None:
    """Check the names of the domains, and make the files that they lack."""
    for path in sorted((folder / "memory" / "domains").glob("*/")):
        try:
            domains.check_domain(path.name, {})
        except InvalidInput as error:
            check.problems.append(f"memory/domains/{path.name}: {error}")
            continue
        for file in domains.NEEDED_FILES:
            target = path / f"{file}.md"
            if target.exists():
                continue
            _check_target(folder, target)
            file_name = f"memory/domains/{path.name}/{file}.md"
            _note(
                check,
                f"{file_name} is missing",
                fix=fix,
            )
            if fix:
                with writing(target, _ADVICE):
                    write_atomically(
                        target, domains.first_text(path.name, file).encode()
                    )
                check.written.append(file_name)
