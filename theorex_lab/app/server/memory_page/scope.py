"""Which projects a request of the page is about, and what its errors say."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, ParamSpec, TypeVar

from pydantic import Field

from theorex_lab.app.server.scoped import is_the_owners
from theorex_lab.core.errors import InvalidInput, TheorexError
from theorex_lab.memory.contract import RouteRefused
from theorex_lab.memory.projects import find_project
from theorex_lab.store.lab import Lab

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

Project = Annotated[
    str,
    Field(
        description="The project's id or name; leave it out for all that are open.",
        max_length=64,
    ),
]
Offset = Annotated[int, Field(description="How many to pass over.", ge=0, le=100_000)]
Limit = Annotated[int, Field(description="How many at most.", ge=1, le=50)]
EventIds = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=64)]],
    Field(description="The ids of events.", min_length=1, max_length=5_000),
]
ItemId = Annotated[
    str,
    Field(
        description="The id of a line or an item, or the beginning that it alone has.",
        min_length=1,
        max_length=128,
    ),
]


def in_scope(lab: Lab, project: str) -> Lab:
    """Return the lab for the project that a request names, '' for all that are open.

    Raises:
        InvalidInput: No project is called so, or the server is for another one.
    """
    own_project = lab.home.project
    if not project:
        return lab
    name = find_project(lab.home, project, folders=False)
    if own_project and name != own_project:
        raise InvalidInput(
            f"got the project {name}; this server is for {own_project} alone: start"
            " `theorex serve` without --project for all"
        )
    return lab.in_project(name)


def shown_projects(lab: Lab) -> list[str] | None:
    """Return the projects whose events a lab may show, '' among them; None for all.

    Projects that were merged into the lab's own are among them.
    """
    if not lab.home.project:
        return None
    return [*lab.journal.places().names_of(lab.home.project), ""]


def tells_the_owner(
    run: Callable[Arguments, Answer],
) -> Callable[Arguments, Answer]:
    """Return a route's function that says what is wrong with the memory in words.

    Other routes hide it from their callers. Who uses the page owns the memory.
    """

    @wraps(run)
    def told_run(*arguments: Arguments.args, **options: Arguments.kwargs) -> Answer:
        try:
            return run(*arguments, **options)
        except TheorexError as error:
            if is_the_owners(error):
                raise RouteRefused(503, str(error)) from error
            raise

    return told_run


def row_schema(properties: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the JSON schema of a list of objects, whose members are all there.

    Args:
        properties: The schema of each member, which may be the name of its type.
        names: The members that may be absent.
    """
    return {"type": "array", "items": object_schema(properties, *names)}


def object_schema(properties: dict[str, Any], *absent: str) -> dict[str, Any]:
    """Return the JSON schema of an object, as `row_schema` has it."""
    members: dict[str, Any] = {}
    for name, schema in properties.items():
        members[name] = {"type": schema} if isinstance(schema, str) else schema
    required = [name for name in members if name not in absent]
    return {"type": "object", "properties": members, "required": required}


TEXTS = {"type": "array", "items": {"type": "string"}}
TIME = {"type": "string", "format": "date-time"}
