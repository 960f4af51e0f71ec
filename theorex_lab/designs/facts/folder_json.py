"""Read the JSON of Engram's files, and write it.

Files may be anybody's. Their size is bounded, and a link out of the folder is refused.
"""

import json
from collections.abc import Container, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.facts.writing import check_entity
from theorex_lab.files.formats.foreign import check_inside, open_file

MOST_FILE_BYTES = 16_777_216
MOST_RECORDS = 100_000  # of one file
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
OLD_CONFIDENCE = 0.7  # of facts from before confidence was noted
# Categories whose facts were patterns before abstractions were noted.
_PATTERNS = ("preference", "relationship")


def read_bounded(root: Path, file: Path) -> bytes:
    """Return the bytes of a file of a folder.

    Raises:
        InvalidInput: It is larger than is read, or a link takes it from elsewhere.
        StorageError: It cannot be read.
    """
    check_inside(root, file)
    with open_file(file) as opened:
        content = opened.read(MOST_FILE_BYTES + 1)
    if len(content) > MOST_FILE_BYTES:
        raise InvalidInput(
            f"got a file of more than {MOST_FILE_BYTES} bytes; allowed are up to that:"
            " split it"
        )
    return content


def decoded(content: bytes) -> str:
    """Return the text of a file, without its byte order mark.

    Raises:
        InvalidInput: It is not UTF-8.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"not UTF-8: {error}; save it as UTF-8") from error


def parsed(text: str) -> Any:
    """Return what a JSON text holds.

    Raises:
        InvalidInput: It is no JSON.
    """
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"not JSON: {error}; mend it by hand") from error


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def in_json(value: object) -> str:
    """Return a value as these files have it: indented, in plain letters."""
    return json.dumps(
        value,
        ensure_ascii=False,
        indent=2,
    )


class FactsDocument(NamedTuple):
    """What an items.json holds.

    Attributes:
        records: The facts, as they stand there.
        head: The other members of the object; empty for a bare list.
        member: The member that the facts are in; '' for a bare list.
    """

    records: list[Any]
    head: dict[str, Any]
    member: str

    def with_records(self, records: list[Any]) -> Any:
        """Return the document with other records, in the shape that it has."""
        if not self.member:
            return records
        document = {}
        for name, value in self.head.items():
            document[name] = records if name == self.member else value
        return document


def facts_document(document: Any) -> FactsDocument:
    """Return the parts of an items.json.

    Version one was a bare list, version two is an object with the list `facts`.

    Raises:
        InvalidInput: It is neither.
    """
    if isinstance(document, list):
        return _bounded(
            FactsDocument(
                document,
                {},
                "",
            )
        )
    if isinstance(document, dict):
        for member in ("facts", "items"):
            records = document.get(member)
            if isinstance(records, list):
                return _bounded(
                    FactsDocument(
                        records,
                        document,
                        member,
                    )
                )
    raise InvalidInput(
        'got no facts; allowed is a list, or an object with the list "facts"'
    )


def _bounded(document: FactsDocument) -> FactsDocument:
    if len(document.records) > MOST_RECORDS:
        raise InvalidInput(
            f"got {len(document.records)} facts; allowed are up to {MOST_RECORDS} a file"
        )
    return document


def entity_at(path: Sequence[str], document: Any) -> str:
    """Return the entity that an items.json is of.

    Args:
        path: The names of its folders and of the file.
        document: What it holds, which may name the entity itself.

    Raises:
        InvalidInput: It is none.
    """
    if len(path) > 3 and path[-4] == "life":
        return check_entity("/".join(path[-3:-1]))
    stated = ""
    if isinstance(document, dict):
        stated = str(document.get("entity") or document.get("entityId") or "")
    return check_entity(stated)


def upgraded(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a fact in the second version.

    It gets confidence .7, tags [] and an abstractionLevel (pattern where it is a
    preference or a relationship, else episode), where it lacks them.
    """
    is_pattern = record.get("category") in _PATTERNS
    new: dict[str, Any] = {
        "confidence": OLD_CONFIDENCE,
        "abstractionLevel": "pattern" if is_pattern else "episode",
        "tags": [],
    }
    lacking = {name: value for name, value in new.items() if record.get(name) is None}
    return {**record, **lacking}


def renamed_members(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record in which what older files call otherwise has its name.

    >>> renamed_members({"text": "Likes tea", "createdAt": "2026-02-08"})
    {'fact': 'Likes tea', 'timestamp': '2026-02-08'}
    """
    members = dict(record)
    for old, new in (("text", "fact"), ("createdAt", "timestamp")):
        if new not in members and old in members:
            members[new] = members.pop(old)
    return members


def free_id(stated: str, *taken: Container[str]) -> str:
    """Return the first id with another number that none of these holds.

    The number is as wide as that of the id that is given.

    >>> free_id("ann-001", {"ann-001", "ann-002"}, ["ann-003"])
    'ann-004'
    """
    name, _, digits = stated.rpartition("-")
    for number in count(1):
        candidate = f"{name}-{number:0{len(digits)}d}"
        if not any(candidate in ids for ids in taken):
            return candidate
    raise AssertionError("there is always a free number")


def chain_problems(
    successors: Mapping[str, str], other_ids: Container[str] = ()
) -> dict[str, str]:
    """Return what is wrong with chains of facts, by a fact's id.

    Args:
        successors: The id of the fact in its place by each fact's id; '' for none.
        other_ids: Ids of further facts that are there.
    """
    problems: dict[str, str] = {}
    for fact_id, successor in successors.items():
        if successor and successor not in successors and successor not in other_ids:
            problems[fact_id] = (
                f"supersededBy is {successor!r:.90}, which is no fact that is there"
            )
        circle = _circle_from(fact_id, successors)
        if circle:
            steps = " → ".join([*circle, fact_id])
            problems[fact_id] = f"the chain {steps} is a circle"
    return problems


def _circle_from(fact_id: str, successors: Mapping[str, str]) -> list[str]:
    """Return the circle that a fact is the first of, by its id; else nothing."""
    members = {fact_id: True}
    successor = successors[fact_id]
    while successor and successor not in members:
        members[successor] = True
        successor = successors.get(successor, "")
    return [*members] if successor == fact_id == min(members) else []
