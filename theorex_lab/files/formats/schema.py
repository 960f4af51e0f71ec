"""What a record of a file must hold, as pydantic models.

The module also words the errors for records that do not hold it.

Imported only where files are read: pydantic takes longer to load than most commands
take to run.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from theorex_lab.core.clock import EARLIEST, LATEST, to_microseconds
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import (
    CONCEPT_BITS,
    UUID,
    check_agent,
    check_session,
    derived_event_id,
)

LARGEST = 2**62
_DIGITS = re.compile(r"[0-9]{1,16}")


class FileRecord(BaseModel):
    """A record of a file.

    Nothing in it is turned into another type, and members that nobody knows are passed
    over.
    """

    model_config = ConfigDict(strict=True, extra="ignore", populate_by_name=True)

    def given(self, name: str, default: Any = None) -> Any:
        """Return the member as the file has it; `default` where it is missing."""
        return getattr(self, name) if name in self.model_fields_set else default


Model = TypeVar("Model", bound=FileRecord)


def within(
    low: float,
    high: float,
    noun: str = "number",
) -> FieldInfo:
    """Return the bounds of a number, with their wording.

    Args:
        low: The least that is allowed.
        high: The most that is allowed.
        noun: What the number is called in an error.
    """
    bounds: FieldInfo = Field(
        ge=low, le=high, description=f"a {noun} from {low} to {high}"
    )
    return bounds


def whole(low: int, high: int = LARGEST) -> FieldInfo:
    """Return the bounds of a whole number, with their wording."""
    return within(low, high, "whole number")


def _time(stated: Any) -> int:
    """Return µs UTC of an ISO 8601 time with an offset.

    Raises:
        ValueError: For anything else.
    """
    at = to_microseconds(stated) if isinstance(stated, str) else None
    if at is None or not EARLIEST <= at <= LATEST:
        raise ValueError
    return at


def _time_or_earliest(stated: Any) -> int:
    """Return a time as `_time` does, but the year 1 for what cannot be read."""
    try:
        return _time(stated)
    except ValueError:
        return EARLIEST


Text = Annotated[str, Field(description="text")]
Truth = Annotated[bool, Field(description="true or false")]
# Empty where it is missing.
Items = Annotated[list[Any], Field(default_factory=list, description="a list")]
Share = Annotated[int | float, within(0, 1)]
_ISO = Field(description="an ISO 8601 time with an offset, of the years 1 to 9999")
Time = Annotated[int, BeforeValidator(_time), _ISO]
TimeOrEarliest = Annotated[int, BeforeValidator(_time_or_earliest)]
Agent = Annotated[
    str, BeforeValidator(check_agent), Field(description="the id of an agent")
]
Session = Annotated[
    str, BeforeValidator(check_session), Field(description="the id of a session")
]
EventId = Annotated[
    str, Field(pattern=UUID, description="the id of an event, a UUID in lower case")
]
EventIds = Annotated[
    list[EventId], Field(default_factory=list, description="a list of event ids")
]


class TimedRecord(FileRecord):
    """A record that says when something was, and whose it is.

    Its `id` may be of another system.
    """

    id: Any = None
    timestamp: Time
    agent_id: Agent = "main"


def _concept_id(stated: Any) -> int:
    """Return a concept's id, a number or its digits.

    Raises:
        ValueError: For anything else.
    """
    digits = str(stated)
    if isinstance(stated, bool) or not _DIGITS.fullmatch(digits):
        raise ValueError
    number = int(digits)
    if number >= 2**CONCEPT_BITS:
        raise ValueError
    return number


_ID = Field(description=f"a whole number below 2^{CONCEPT_BITS}, or its digits")
_IDS: Any = Field(
    default_factory=list,
    description="a list of concept ids, whole numbers below 2^53 or their digits",
)
ConceptId = Annotated[int, BeforeValidator(_concept_id), _ID]
ConceptIds = Annotated[list[ConceptId], _IDS]


def event_id_of(stated: Any, *parts: object) -> str:
    """Return the id that a file states where that is an event's.

    Else it is one derived from `parts`.
    """
    if re.fullmatch(UUID, str(stated)):
        return str(stated)
    return derived_event_id(*parts)


def checked(model: type[Model], record: Any) -> Model:
    """Return the record as the model has it.

    Raises:
        InvalidInput: For another record; it names the first member that is wrong.

    >>> class Vote(FileRecord):
    ...     score: Share
    >>> checked(Vote, {"score": 0.5, "mood": "sour"}).score
    0.5
    >>> checked(Vote, {"score": True})
    Traceback (most recent call last):
    theorex_lab.core.errors.InvalidInput: score is True; allowed is a number from 0 to 1
    """
    try:
        return model.model_validate(record)
    except ValidationError as error:
        first_problem = dict(error.errors(include_url=False)[0])
        raise InvalidInput(_sentence(model, record, first_problem)) from error


def _sentence(
    model: type[FileRecord],
    record: Any,
    problem: Mapping[str, Any],
) -> str:
    """Return what pydantic found wrong with a record, in the words of this toolkit."""
    cause = problem.get("ctx", {}).get("error")
    if isinstance(cause, InvalidInput):
        return str(cause)
    if not problem["loc"]:
        return f"got a {type(record).__name__}; allowed is a JSON object"
    name = str(problem["loc"][0])
    if problem["type"] == "string_unicode":
        return f"{name} has half a surrogate pair; allowed is whole Unicode text"
    fields = {field.alias or key: field for key, field in model.model_fields.items()}
    allowed = fields[name].description
    return f"{name} is {record.get(name)!r:.80}; allowed is {allowed}"
