"""Hold channels: chats that keep to themselves.

Each is a project of its own whose notes reach no other, only facts do.
"""

from collections.abc import Sequence
from typing import Any

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import SCANNER, derived_event_id
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.journal.base import append_once
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Event, new_event
from theorex_lab.journal.view import View
from theorex_lab.memory.contract import Home

_PLATFORM = lazy_pattern(r"[a-z][a-z0-9]{0,31}")
_ID = lazy_pattern(r"[A-Za-z0-9._-]{1,31}")


class Channels(View):
    """The channels that were added, and which are groups."""

    name = "channels"
    code = 1
    kinds = ("channel_added",)

    def __init__(self) -> None:
        super().__init__()
        self.names = Names()
        self.groups = Table(group="i1")

    def apply(self, events: Sequence[Event]) -> None:
        """Take in channels; one that is added again is as it was said last."""
        for event in events:
            row = self.names.number(event.body["channel"])
            if row == len(self.groups):
                self.groups.grow(1)
            self.groups.put(row, group=event.body["group"])

    def is_group(self, project: str) -> bool | None:
        """Return whether a project is a group's channel; None where it is none."""
        row = self.names.find(project)
        return None if row is None else bool(self.groups["group"][row])


def add_channel(
    home: Home, platform: str, id: str, *, group: bool = False
) -> dict[str, Any]:
    """Make a chat a channel of its own, named `platform-id`.

    `theorex --project platform-id …` writes and reads in it. Adding it again changes
    nothing but whether it is a group.

    Args:
        home: Where the channel is.
        platform: Where the chat is.
        id: The chat's id there.
        group: Whether more than two take part, so that its facts stay in it.

    Raises:
        InvalidInput: A name is outside the rules.
    """
    if not _PLATFORM.fullmatch(platform) or not _ID.fullmatch(id.removeprefix("-")):
        allowed = "a-z 0-9 for a platform, and up to 31 of A-Z a-z 0-9 . _ - for an id"
        raise InvalidInput(
            f"got the platform {platform!r} and the id {id!r}; allowed are {allowed}"
        )
    channel = f"{platform}-{id.removeprefix('-')}"
    with home.views.reading(Channels) as view:
        was_group = view.is_group(channel)
    body = {
        "platform": platform,
        "id": id,
        "channel": channel,
        "group": group,
        "project": channel,
    }
    if was_group is not group:
        event_id = derived_event_id("channel", channel, group, home.journal.last_seq())
        event = new_event(
            "channel_added", body, agent=SCANNER, at=home.clock.now(), event_id=event_id
        )
        append_once(home.journal, [event])
    return {**body, "added": was_group is None}


def scope_of(home: Home, entity: str) -> str:
    """Return the project of a fact that is written here.

    A group's facts stay in it. What is known of people is known everywhere.
    """
    with home.views.reading(Channels) as view:
        group = view.is_group(home.project)
    if group or (group is None and not entity.startswith("people/")):
        return home.project
    return ""


def silos(home: Home) -> frozenset[str]:
    """Return the projects that are channels."""
    with home.views.reading(Channels) as view:
        return frozenset(view.names)


def open_projects(home: Home) -> tuple[str, ...] | None:
    """Return the projects whose events are read: the home's own and none.

    None stands for all projects.
    """
    project = home.project
    if project:
        return ("", project)
    return None
