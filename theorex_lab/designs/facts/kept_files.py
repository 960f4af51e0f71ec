"""Keep the files of a folder as they were read, and write them back.

An import makes facts and notes of what a file says. What it says beside that (unknown
members, the order of members, headings, records that could not be read) has no place
in the memory. So the text of each file is kept too, and an export writes it again with
what has changed since. The text is derived from the facts that were read from it: where
one of these is erased, the text goes with it.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.facts.channels import open_projects
from theorex_lab.designs.facts.folder_json import (
    FactsDocument,
    facts_document,
    in_json,
    parsed,
)
from theorex_lab.memory.contract import Home

# The pattern of its path, its path in the folder, its text.
FolderFile = tuple[str, str, str]
_SEGMENT = r"[^/\\\x00-\x1f:]{1,120}"
_KEPT_PATH = re.compile(
    rf"(?:life/{_SEGMENT}/{_SEGMENT}|memory(?:/{_SEGMENT}){{0,4}}"
    rf"|ops/(?:observations|tensions))/{_SEGMENT}\.(?:json|md)|(?:MEMORY|SOUL)\.md"
)
# The end of the name of a file that could not be read, where another stands at its path.
UNREAD = ".unread"
# What may change of a fact, or of a note, after it was written.
_FACT_STORY = (
    "status",
    "supersededBy",
    "supersededAt",
    "supersedes",
    "accessCount",
    "lastAccessed",
)
_NOTE_STORY = ("status", "fact", "updatedAt")


class KeptFile(NamedTuple):
    """A file as it was read.

    Attributes:
        path: Its path in the folder, with slashes.
        ours: The path at which the toolkit itself would write what it says.
        text: The whole text.
        digest: The digest of what the toolkit would have written there, '' for nothing.
        ids: The ids that its records have here, by those that they have in it.
        lines: The lines that its notes are here, of the page of a day.
        is_read: Whether it could be read.
    """

    path: str
    ours: str
    text: str
    digest: str
    ids: Mapping[str, str]
    lines: tuple[str, ...]
    is_read: bool


def page_digest(text: str) -> str:
    """Return the digest of a text, whether its last line is ended or not."""
    content = text.rstrip("\n").encode("utf-8", "surrogatepass")
    return sha256(content).hexdigest()


def with_last_line_ended(files: Iterable[FolderFile]) -> Iterator[FolderFile]:
    """Yield files, each with a line break at its end."""
    for pattern, path, text in files:
        ended = text.removesuffix("\n")
        yield pattern, path, f"{ended}\n"


def check_kept_path(path: str) -> str:
    """Return a path that stays inside of an Engram folder.

    Raises:
        InvalidInput: It does not.

    >>> check_kept_path("life/people/ann/items.json")
    'life/people/ann/items.json'
    """
    parts = path.split("/")
    if _KEPT_PATH.fullmatch(path) is None or "." in parts or ".." in parts:
        raise InvalidInput(
            f"got the path {path!r:.100}; allowed are files below life/, memory/ and"
            " ops/, MEMORY.md and SOUL.md"
        )
    return path


def kept_files(home: Home) -> dict[str, KeptFile]:
    """Return the files that were read, each as it was read last, by their paths."""
    files: dict[str, KeptFile] = {}
    for event in home.journal.tail(
        0, kinds=["file_kept"], projects=open_projects(home)
    ):
        body = event.body
        files[body["path"]] = KeptFile(
            body["path"],
            body["ours"],
            body["text"],
            body["digest"],
            body["ids"],
            tuple(body["lines"]),
            body["is_read"],
        )
    return files


def with_kept(home: Home, files: Iterable[FolderFile]) -> Iterator[FolderFile]:
    """Yield the files of an export, each as it was read where it still says the same.

    A file that holds nothing for the memory comes last, as it stood.
    """
    by_ours: dict[str, list[KeptFile]] = {}
    for original in kept_files(home).values():
        by_ours.setdefault(original.ours, []).append(original)
    for pattern, path, text in with_last_line_ended(files):
        originals = by_ours.pop(path, [])
        if not originals:
            yield pattern, path, text
        for number, original in enumerate(originals):
            computed = (pattern, path, text)
            yield from _with_original(
                original,
                computed,
                is_first=number == 0,
            )
    for originals in by_ours.values():
        yield from _left_alone(originals)


def _with_original(
    original: KeptFile,
    computed: FolderFile,
    *,
    is_first: bool,
) -> Iterator[FolderFile]:
    """Yield a file as it was read, or beside it where it could not be."""
    pattern, _, text = computed
    if original.is_read:
        yield (
            pattern,
            original.path,
            _restored(
                original,
                text,
                is_first=is_first,
            ),
        )
        return
    yield computed
    yield pattern, f"{original.path}{UNREAD}", original.text


def _left_alone(originals: Iterable[KeptFile]) -> Iterator[FolderFile]:
    """Yield the files at whose places the memory has nothing to say."""
    for original in originals:
        # An entity that had facts, and has none any more, was archived.
        if not original.digest or _is_day(original.path):
            yield _pattern_of(original.path), original.path, original.text


def _pattern_of(path: str) -> str:
    """Return how a report names the files of a folder."""
    folder, _, name = path.rpartition("/")
    suffix = name.rpartition(".")[2]
    return f"{folder}/*.{suffix}" if folder else path


def _restored(
    file: KeptFile,
    text: str,
    *,
    is_first: bool,
) -> str:
    """Return the text of a file that was read, with what has changed since."""
    name = file.path.rpartition("/")[2]
    if name == "items.json":
        return _with_story(
            file,
            text,
            _facts_now,
        )
    if file.path.startswith("ops/") and name != "index.json":
        return _with_story(
            file,
            text,
            _note_now,
        )
    if name == "registry.json":
        return _with_story(
            file,
            text,
            _domains_now,
        )
    if file.lines or _is_day(file.path):
        return _day_now(
            file,
            text,
            is_first=is_first,
        )
    return file.text if file.digest == page_digest(text) else text


def _is_day(path: str) -> bool:
    return path.startswith("memory/") and not path.startswith("memory/domains/")


def _with_story(
    file: KeptFile,
    text: str,
    now: Callable[[KeptFile, Any, Any], Any],
) -> str:
    """Return a JSON file as it was read, where it says what is true now; else renewed."""
    original = parsed(file.text)
    document = now(
        file,
        original,
        parsed(text),
    )
    if document == original:
        return file.text
    return f"{in_json(document)}\n"


def _facts_now(
    file: KeptFile,
    original: Any,
    computed: Any,
) -> Any:
    """Return an items.json with what became of its facts, and those that are new."""
    document: FactsDocument = facts_document(original)
    facts = {fact["id"]: fact for fact in computed["facts"]}
    records: list[Any] = []
    written = set[str]()
    for record in document.records:
        fact_id = _id_here(file, record)
        if fact_id in facts:
            written.add(fact_id)
            record = _fact_now(
                file,
                record,
                facts[fact_id],
            )
        records.append(record)
    records += [fact for fact_id, fact in facts.items() if fact_id not in written]
    return document.with_records(records)


def _id_here(file: KeptFile, record: Any) -> str:
    """Return the id that a record has here; '' for one that was not read."""
    if not isinstance(record, dict):
        return ""
    return file.ids.get(str(record.get("id")), "")


def _fact_now(
    file: KeptFile,
    record: dict[str, Any],
    fact: Mapping[str, Any],
) -> dict[str, Any]:
    members = _told_on(
        record,
        fact,
        _FACT_STORY,
    )
    if members["id"] != fact["id"]:
        members["id"] = fact["id"]
    for name in ("supersededBy", "supersedes"):
        members |= {name: _ids_now(file, members[name])} if name in members else {}
    return members


def _ids_now(file: KeptFile, stated: Any) -> Any:
    """Return the ids that stated ones have here."""
    if isinstance(stated, list):
        return [file.ids.get(str(fact_id), fact_id) for fact_id in stated]
    return file.ids.get(str(stated), stated)


def _told_on(
    record: Mapping[str, Any],
    now: Mapping[str, Any],
    story: Iterable[str],
) -> dict[str, Any]:
    """Return a record with what may have changed of it, where its status did.

    A count of uses only grows.
    """
    members = dict(record)
    was = record.get("status") or "active"
    if record.get("accessCount", 0) != now.get("accessCount", 0):
        _count_uses(members, now)
    if was == now["status"]:
        return members
    for name in story:
        value = now.get(name)
        if value or name in members:
            members[name] = value
    return members


def _count_uses(members: dict[str, Any], now: Mapping[str, Any]) -> None:
    """Take over the count of uses where it is higher."""
    stated = members.get("accessCount")
    before = stated if isinstance(stated, int) else 0
    if now.get("accessCount", 0) > before:
        members["accessCount"] = now["accessCount"]
        members["lastAccessed"] = now["lastAccessed"]


def _note_now(
    _file: KeptFile,
    original: Any,
    computed: Any,
) -> Any:
    """Return a note with what became of it."""
    if not isinstance(original, dict):
        return computed
    was = original.get("status") or "pending"
    if was == computed["status"]:
        return original
    return _told_on(
        original,
        computed,
        _NOTE_STORY,
    )


def _domains_now(
    _file: KeptFile,
    original: Any,
    computed: Any,
) -> Any:
    """Return a registry with what the domains are said to be now."""
    listed = original.get("domains") if isinstance(original, dict) else None
    if not isinstance(listed, dict):
        return computed
    domains = dict(listed)
    for name, members in computed["domains"].items():
        stated = listed.get(name)
        if not isinstance(stated, dict):
            domains[name] = members
            continue
        changed = {}
        for member, value in members.items():
            if member in stated or (value and member != "project"):
                changed[member] = value
        domains[name] = {**stated, **changed}
    return {**original, "domains": domains}


def _day_now(
    file: KeptFile,
    text: str,
    *,
    is_first: bool,
) -> str:
    """Return the page of a day with the lines that came to it since."""
    if not is_first:
        return file.text
    lines_of_page = Counter(file.lines)
    section = ""
    page = file.text.removesuffix("\n").split("\n")
    for line in text.split("\n"):
        if line.startswith("## "):
            section = line
        elif line.startswith("- ") and lines_of_page[line] > 0:
            lines_of_page[line] -= 1
        elif line.startswith("- "):
            _add_line(
                page,
                section,
                line,
            )
    restored = "\n".join(page)
    return f"{restored}\n" if file.text.endswith("\n") else restored


def _add_line(
    page: list[str],
    section: str,
    line: str,
) -> None:
    """Put a line at the end of its section, which is made where it is not there."""
    if section not in page:
        page += ["", section, "", line]
        return
    end = page.index(section) + 1
    while end < len(page) and not page[end].startswith("## "):
        end += 1
    while not page[end - 1].strip():
        end -= 1
    if page[end - 1] == section:
        page.insert(end, "")
        end += 1
    page.insert(end, line)
