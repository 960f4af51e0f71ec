"""What a fact and a note in a file must hold, what is wrong with one that does not, and how an older one is brought up to date."""

import json
from collections.abc import Container, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from theorex_lab.designs.facts import ABSTRACTIONS, CATEGORIES, NOTE_CATEGORIES
from theorex_lab.designs.facts.notes import STATUSES
from theorex_lab.errors import InvalidInput
from theorex_lab.exchange import schema
from theorex_lab.journal.foreign import read_file
from theorex_lab.memory.observation import check_tags
from theorex_lab.project import check_project

MOST_ACCESSES = 1_000  # that are taken from a file
_CONFIDENCE = 0.7  # of facts from before confidence was noted
_PATTERNS = ("preference", "relationship")  # categories whose facts were patterns before abstractions were noted


def _whole_time(stated: Any) -> Any:
    """A day stands for its beginning in UTC."""
    return f"{stated}T00:00:00Z" if isinstance(stated, str) and len(stated) == len("2026-01-31") else stated


def _among(names: Sequence[str]) -> FieldInfo:
    return _like(f"^({'|'.join(names)})$", f"one of {', '.join(names)}")


def _like(pattern: str, what: str) -> FieldInfo:
    found: FieldInfo = Field(pattern=pattern, description=what)
    return found


_Day = Field(description="a day, or an ISO 8601 time with an offset")
_Time = Annotated[schema.Time | None, BeforeValidator(_whole_time), _Day]
_Text = Annotated[str, _like(r"(?s)^.{0,500}$", "a text of up to 500 characters")]
_Ids = Annotated[list[str], Field(default_factory=list, description="a list of ids")]
_Tags = Annotated[list[str], AfterValidator(check_tags), Field(description="a list of up to 32 texts")]


class _Record(schema.FileRecord):
    model_config = ConfigDict(alias_generator=to_camel)
    project: Annotated[str, AfterValidator(check_project), Field(description="a project")] = ""


class FactRecord(_Record):
    """A fact of items.json, of the second version."""

    id: Annotated[str, _like(r"^[a-z0-9][a-z0-9-]{0,63}-\d{1,9}$", "a name and a number, such as ann-001")]
    fact: Annotated[str, _like(r"(?s)^.{1,500}$", "a text of 1 to 500 characters")]
    category: Annotated[str, _among(CATEGORIES)] = "context"
    confidence: schema.Share
    abstraction_level: Annotated[str, _among(ABSTRACTIONS)]
    tags: _Tags
    timestamp: _Time = None
    status: Annotated[str, _among(("active", "superseded"))] = "active"
    superseded_by: schema.Text = ""
    superseded_at: _Time = None
    supersedes: _Ids
    access_count: Annotated[int, schema.whole(0)] = 0
    last_accessed: _Time = None
    valid_from: _Time = None
    valid_to: _Time = None
    source: schema.Text = ""


class NoteRecord(_Record):
    """A note of ops/observations or ops/tensions."""

    id: Annotated[str, _like(r"^(obs|tension)-\d{1,9}$", "such as obs-0001 or tension-0001")]
    observation: _Text = ""
    tension: _Text = ""
    category: schema.Text = ""
    status: Annotated[str, _among(STATUSES)] = "pending"
    fact_refs: _Ids
    fact: schema.Text = ""
    created_at: _Time = None
    updated_at: _Time = None
    agent: schema.Agent = "main"

    @property
    def noted(self) -> str:
        """The category of an observation; Engram's code calls `pattern` what its description calls quality."""
        return self.category if self.category in NOTE_CATEGORIES else "quality"


def read_marked_json(path: Path) -> tuple[Any, bool]:
    """What a JSON file holds, and whether it begins with a byte order mark. Raises InvalidInput where it is no JSON."""
    content = read_file(path)
    try:
        return json.loads(content.decode("utf-8-sig")), content.startswith(b"\xef\xbb\xbf")
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"not JSON: {error}") from error


def facts_in(document: Any) -> tuple[list[Any], bool]:
    """The records of an items.json, and whether it is a bare list, as the first version was. Raises InvalidInput for neither."""
    found = document.get("facts", document.get("items")) if isinstance(document, dict) else document
    if not isinstance(found, list):
        raise InvalidInput('got no facts; allowed is a list, or an object with the list "facts"')
    return found, document is found


def upgraded(record: dict[str, Any]) -> dict[str, Any]:
    """The record of a fact as the second version has it: with confidence, abstractionLevel and tags where it lacks them."""
    abstraction = "pattern" if record.get("category") in _PATTERNS else "episode"
    new = {"confidence": _CONFIDENCE, "abstractionLevel": abstraction, "tags": list[str]()}
    return {**record, **{key: value for key, value in new.items() if record.get(key) is None}}


def free_like(stated: str, *taken: Container[str]) -> str:
    """The first id with another number, as wide as that of the one that is given, which none of these holds.

    >>> free_like("ann-001", {"ann-001", "ann-002"}, ["ann-003"])
    'ann-004'
    """
    name, _, digits = stated.rpartition("-")
    numbered = (f"{name}-{number:0{len(digits)}d}" for number in count(1))
    return next(id for id in numbered if not any(id in known for known in taken))


def chain_problems(successors: Mapping[str, str], known: Container[str] = ()) -> dict[str, str]:
    """What is wrong with chains of facts, by a fact's id; each has a successor, '' for none. known: ids beside these."""
    found = {}
    for fact_id, successor in successors.items():
        if successor and successor not in successors and successor not in known:
            found[fact_id] = f"supersededBy is {successor!r}, which is no fact that is there"
        members, at = [fact_id], successor
        while at and at not in members:
            members.append(at)
            at = successors.get(at, "")
        if at == fact_id == min(members):
            found[fact_id] = f"the chain {' → '.join([*members, fact_id])} is a circle"
    return found
