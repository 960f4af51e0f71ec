"""Say what the records of Engram's files must hold, as pydantic models."""

import re
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from theorex_lab.core.project import check_project
from theorex_lab.designs.facts import (
    ABSTRACTIONS,
    CATEGORIES,
    NOTE_CATEGORIES,
    STATUSES,
)
from theorex_lab.designs.facts.writing import DESCRIPTION_CHARACTERS
from theorex_lab.files.formats import schema
from theorex_lab.memory.observation import check_tags

_DAY_CHARACTERS = len("2026-01-31")
_ZONE = re.compile(r"(?:Z|[+-]\d\d:?\d\d)$")


def _with_zone(stated: Any) -> Any:
    """Return a time with its zone; a day stands for its beginning in UTC."""
    if not isinstance(stated, str):
        return stated
    if len(stated) == _DAY_CHARACTERS:
        return f"{stated}T00:00:00Z"
    return stated if _ZONE.search(stated) else f"{stated}Z"


def _like(pattern: str, says: str) -> FieldInfo:
    shape: FieldInfo = Field(pattern=pattern, description=says)
    return shape


def _among(names: Iterable[str]) -> FieldInfo:
    words = [*names]
    return _like(f"^({'|'.join(words)})$", f"one of {', '.join(words)}")


_Time = Annotated[
    schema.Time | None,
    BeforeValidator(_with_zone),
    Field(description="a day, or an ISO 8601 time"),
]
_Text = Annotated[
    str,
    _like(
        rf"(?s)^.{{0,{DESCRIPTION_CHARACTERS}}}$",
        f"a text of up to {DESCRIPTION_CHARACTERS} characters",
    ),
]
_Ids = Annotated[list[str], Field(default_factory=list, description="a list of ids")]
_Tags = Annotated[
    list[str],
    AfterValidator(check_tags),
    Field(default_factory=list, description="a list of up to 32 texts"),
]


class _Record(schema.FileRecord):
    model_config = ConfigDict(alias_generator=to_camel)
    project: Annotated[
        str, AfterValidator(check_project), Field(description="a project")
    ] = ""


class FolderFact(_Record):
    """A fact of an items.json, in the second version."""

    id: Annotated[
        str,
        _like(
            r"^[a-z0-9][a-z0-9-]{0,63}-[0-9]{1,9}$", "a name and a number, as ann-001"
        ),
    ]
    fact: Annotated[
        str,
        _like(
            rf"(?s)^.{{1,{DESCRIPTION_CHARACTERS}}}$",
            f"a text of 1 to {DESCRIPTION_CHARACTERS} characters",
        ),
    ]
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


class FolderNote(_Record):
    """A note of ops/observations or ops/tensions."""

    id: Annotated[
        str, _like(r"^(obs|tension)-[0-9]{1,9}$", "such as obs-0001 or tension-0001")
    ]
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
    def note_category(self) -> str:
        """The category of an observation.

        Engram's code calls `pattern` what its document calls quality.
        """
        return self.category if self.category in NOTE_CATEGORIES else "quality"


def member_problems(
    model: type[schema.FileRecord], record: dict[str, Any]
) -> dict[str, str]:
    """Return what is wrong with each member of a record, by its name.

    >>> member_problems(FolderNote, {"id": "obs-0001", "status": "open"})
    {'status': "status is 'open'; allowed is one of pending, promoted, archived, resolved"}
    """
    try:
        model.model_validate(record)
    except ValidationError as error:
        faults = error.errors(include_url=False)
    else:
        return {}
    allowed = {}
    for key, member in model.model_fields.items():
        allowed[member.alias or key] = member.description
    problems: dict[str, str] = {}
    for fault in faults:
        name = str(fault["loc"][0])
        value = record.get(name)
        problems.setdefault(
            name, f"{name} is {value!r:.80}; allowed is {allowed[name]}"
        )
    return problems
