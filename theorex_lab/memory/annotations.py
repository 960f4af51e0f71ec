"""Annotations of single items by a person.

They say: this first, this no more, this in other words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nlargest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.errors import InvalidInput
from theorex_lab.journal.columns import Names, Strings, Table
from theorex_lab.journal.event import Event, new_event
from theorex_lab.journal.view import View
from theorex_lab.memory.briefing.candidates import dated, fits_a_line
from theorex_lab.memory.contract import ContextLine, Home
from theorex_lab.memory.observation import check_text
from theorex_lab.search.items import CORRECTION, MARKS, ItemText
from theorex_lab.text.line import folded, one_line
from theorex_lab.text.redact.redaction_scope import kept_text

if TYPE_CHECKING:
    from theorex_lab.search.index import ItemIndex

Integers = NDArray[np.int64]
_MOST_NEAREST = 3  # ids that an error names


class Marks(View):
    """Items that a person marked.

    A correction, a pin or trust takes a dismissal back. A dismissal takes a pin back.
    What was made a rule, and lines of a briefing, are read by `briefing.marked_lines`.

    Attributes:
        items: The ids of the items.
        texts: The texts of corrections.
        rows: By item, whether it is pinned or dismissed, and which of `texts`, from 1,
            is its correction (0: none).
    """

    name = "marks"
    code = 2
    kinds = MARKS

    def __init__(self) -> None:
        super().__init__()
        self.items = Names()
        self.texts = Strings()
        self.rows = Table(pinned="?", dismissed="?", text="i8")

    def apply(self, events: Sequence[Event]) -> None:
        """Add what a person says of each item, in order."""
        for event in events:
            row = self.items.number(event.body["item"])
            undo = event.body["undo"]
            n_new = len(self.items) - len(self.rows)
            self.rows.grow(n_new)
            dismisses = event.kind == "dismissed"
            if event.kind == "corrected":
                self.texts.append(event.body.get("text", ""))
                number = 0 if undo else len(self.texts)
                self.rows["text"][row] = number
            elif event.kind == "pinned":
                self.rows["pinned"][row] = not undo
            elif dismisses and not undo:
                self.rows["pinned"][row] = False
            if dismisses or not undo:
                self.rows["dismissed"][row] = dismisses and not undo

    @property
    def pinned(self) -> list[str]:
        """The pinned items, the first that was ever marked first."""
        return self._items_with("pinned")

    @property
    def dismissed(self) -> list[str]:
        """The dismissed items."""
        return self._items_with("dismissed")

    def _items_with(self, column: str) -> list[str]:
        """Return the items for which a column is true, in the order of their rows."""
        rows = np.flatnonzero(self.rows[column])
        return [self.items[row] for row in rows.tolist()]

    @property
    def corrected(self) -> dict[str, str]:
        """The corrected items, each with the text that is in force."""
        corrections: dict[str, str] = {}
        numbers = self.rows["text"].tolist()
        for item, number in zip(self.items, numbers, strict=True):
            if number:
                corrections[item] = self.texts[number - 1]
        return corrections


def marked(
    lines: Iterable[ContextLine],
    marks: Marks,
    *,
    shown: Callable[[str], str] = one_line,
) -> list[ContextLine]:
    """Return the lines as a person wants them.

    Pinned lines come first, corrected ones in the new words, and none shows a dismissed
    item.

    A corrected line is the person's own word, so it is trusted. An item's correction
    is shown once.

    Args:
        lines: The lines.
        marks: What the person says of items.
        shown: Makes a line's text of a correction.
    """
    pinned = {*marks.pinned}
    dismissed = {*marks.dismissed}
    corrections = marks.corrected
    shown_items = set[str]()
    marked_lines: list[ContextLine] = []
    for line in lines:
        if dismissed.intersection(line.items):
            continue
        corrected_items = [item for item in line.items if item in corrections]
        corrected = dict.fromkeys(corrected_items)
        if not corrected:
            marked_lines.append(line)
            continue
        if shown_items.issuperset(corrected):
            continue
        shown_items.update(corrected)
        texts = [shown(corrections[item]) for item in corrected]
        statements = [one_line(corrections[item]) for item in corrected]
        new_line = line._replace(
            text=" ".join(texts),
            statement=" ".join(statements),
            untrusted_source=None,
            automatic=False,
        )
        marked_lines.append(new_line)
    return sorted(marked_lines, key=lambda line: pinned.isdisjoint(line.items))


def as_marked(
    home: Home, lines: Iterable[ContextLine], shown: Callable[[str], str] = one_line
) -> list[ContextLine]:
    """Return the lines as `marked` does by the marks of a home."""
    with home.views.reading(Marks) as marks:
        return marked(lines, marks, shown=shown)


class ItemState(NamedTuple):
    """An item.

    Attributes:
        id: Its id.
        text: Its own text, '' for what search does not know.
        projects: The projects that it was named in.
        events: The events of its texts.
        label: Whether it is a name that many events have.
        hidden: Whether its design superseded it.
    """

    id: str
    text: str
    projects: set[str]
    events: list[Event]
    label: bool
    hidden: bool


def known_item(home: Home, item: str) -> ItemState | None:
    """Return the item with this whole id, as search or a briefing gives it.

    The id may be that of an event, where the event's line was given under it. None
    stands for an id that nothing has.
    """
    projects = set[str]()
    event_seqs = set[int]()
    label = False
    hidden = False
    for index in (home.views.get(home.item_view), home.views.get(home.label_view)):
        with index.lock:
            documents = index.rows_of(item)
            hidden |= _is_superseded(index, documents)
            if not hidden:
                # Another text may stand for a hidden one under its id.
                documents = documents[~index.documents["hidden"][documents]]
            projects |= _projects_of(index, documents)
            seqs = index.documents["seq"][documents]
            event_seqs.update(seqs.tolist())
            if index.name == "labels" and len(documents):
                label = True
    if event_seqs:
        events = home.journal.read(seqs=sorted(event_seqs))
    else:
        events = home.journal.read(ids=[item])
    if not events:
        return None
    text = _text_of(home, events, item)
    if not projects:
        projects = {event.body.get("project", "") for event in events}
    return ItemState(item, text, projects, events, label, hidden)


def _is_superseded(index: ItemIndex, documents: Integers) -> bool:
    """Return whether every text of an item is hidden.

    A person's correction is no text of it.
    """
    is_correction = index.of_kinds([CORRECTION.name])[documents]
    texts = documents[~is_correction]
    is_hidden = index.documents["hidden"][texts]
    return bool(is_hidden.any() and is_hidden.all())


def _projects_of(index: ItemIndex, documents: Integers) -> set[str]:
    """Return the projects in which these documents were named."""
    is_of_them = np.isin(index.located["document"], documents)
    numbers = index.located["project"][is_of_them].tolist()
    return {index.projects[number] for number in numbers}


def _text_of(home: Home, events: Iterable[Event], item_id: str) -> str:
    """Return the first text of an item that these events hold, '' for none."""
    for item in _items_in(home, events):
        if item.item_id == item_id:
            return item.text
    return ""


def whole_id(home: Home, given: str, also: Iterable[str] = ()) -> str:
    """Return the only id that begins so, of an item or of those given.

    Args:
        home: The home.
        given: The beginning of an id.
        also: Ids beside those that search knows.

    Raises:
        InvalidInput: Nothing has the id (the message names the nearest), or several
            begin with it.
    """
    items = _items_in(home, home.journal.tail(0))
    ids = {item.item_id for item in items}
    all_ids = sorted(ids.union(also))
    candidates = _ids_beginning(all_ids, given)
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise InvalidInput(
            f"got the id {given!r}, with which {len(candidates)} items begin; give more"
            f" of {', '.join(candidates[:3])}"
        )
    raise InvalidInput(
        f"got the id {given!r:.100}; {_nearest_ids(all_ids, given)}: `theorex search`"
        " and `theorex briefing --why` show ids"
    )


def _ids_beginning(ids: Sequence[str], start: str) -> list[str]:
    """Return the sorted ids that begin so.

    The sentences of the first one's event are left out.
    """
    if not start:
        return []
    matches = [item_id for item_id in ids if item_id.startswith(start)]
    if not matches:
        return []
    sentence_start = f"{matches[0]}."
    return [item_id for item_id in matches if not item_id.startswith(sentence_start)]


def _nearest_ids(ids: Sequence[str], text: str) -> str:
    """Return in words which ids have the longest beginnings in common with a text."""

    def common_length(item_id: str) -> int:
        return sum(item_id.startswith(text[:end]) for end in range(len(text)))

    nearest = nlargest(_MOST_NEAREST, ids, key=common_length)
    if not nearest:
        return "nothing is remembered yet"
    in_words = f"the nearest that is known is {nearest[0]}"
    if len(nearest) > 1:
        in_words += f", then {' and '.join(nearest[1:])}"
    return in_words


def mark(
    home: Home, kind: str, item: ItemState, *, text: str = "", undo: bool = False
) -> None:
    """Append what a person says of an item, an event for each agent whose it is.

    The events are erased where the item's own text is.

    Raises:
        InvalidInput: The text must not be kept.
    """
    project = ""
    if len(item.projects) == 1:
        project = next(iter(item.projects))
    body: dict[str, Any] = {
        "item": item.id,
        "undo": undo,
        "source": "user",
        "project": project,
    }
    if kind == "corrected" and not undo:
        body["text"] = kept_text(check_text(text, home.settings.max_text_bytes))
    lineage: list[str] = []
    if not item.label:
        body["item_text"] = line_of_item(item)
        lineage = [event.id for event in item.events if event.kind not in MARKS]
    now = home.clock.now()
    agents = dict.fromkeys(event.agent for event in item.events)
    new_events = []
    for agent in agents:
        event = new_event(
            kind,
            body,
            agent=agent,
            at=now,
            lineage=lineage,
        )
        new_events.append(event)
    home.journal.append(new_events)


def line_of_item(item: ItemState) -> str:
    """Return the line of a briefing that an item makes, '' where it is none."""
    if not item.text:
        return ""
    text = dated(folded(item.text), item.events[0].at)
    return text if fits_a_line(text) else ""


def _items_in(home: Home, events: Iterable[Event]) -> Iterator[ItemText]:
    """Yield the items of events, as the kinds of items of both indexes read them."""
    readers = [kind.texts for kind in (*home.item_view.items, *home.label_view.items)]
    for event in events:
        for reader in readers:
            if event.kind in reader:
                yield from reader[event.kind](event)
