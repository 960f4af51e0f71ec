"""What a person says of single items: this first, this no more, this in other words."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from theorex_lab.core.errors import InvalidInput
from theorex_lab.journal.columns import Names, Strings, Table
from theorex_lab.journal.event import Event, new_event
from theorex_lab.journal.view import View
from theorex_lab.memory.contract import ContextLine, Home
from theorex_lab.memory.observation import TRUST, check_text
from theorex_lab.search.items import CORRECTION, MARKS, ItemText
from theorex_lab.text.line import one_line
from theorex_lab.text.redact.redaction_scope import kept_text

PINNED = "pinned"  # the kind of a line for a pinned item that no design shows by itself


class Marks(View):
    """Items that a person marked: whether each is pinned or dismissed, and which of
    `texts`, from 1, is its correction (0: none).

    A correction or a pin takes a dismissal back, a dismissal a pin.
    """

    name = "marks"
    code = 1
    kinds = MARKS

    def __init__(self) -> None:
        super().__init__()
        self.items = Names()
        self.texts = Strings()
        self.rows = Table(pinned="?", dismissed="?", text="i8")

    def apply(self, events: Sequence[Event]) -> None:
        """Take in what was said of each item, in order."""
        for event in events:
            row = self.items.number(event.body["item"])
            undo = event.body["undo"]
            self.rows.grow(len(self.items) - len(self.rows))
            if event.kind == "corrected":
                self.texts.append(event.body.get("text", ""))
                self.rows["text"][row] = 0 if undo else len(self.texts)
            elif event.kind == "pinned" or not undo:
                self.rows["pinned"][row] = event.kind == "pinned" and not undo
            if event.kind == "dismissed" or not undo:
                self.rows["dismissed"][row] = event.kind == "dismissed" and not undo

    @property
    def pinned(self) -> list[str]:
        """The pinned items, the first that was ever marked first."""
        return [self.items[row] for row in np.flatnonzero(self.rows["pinned"]).tolist()]

    @property
    def dismissed(self) -> list[str]:
        """The dismissed items."""
        return [
            self.items[row] for row in np.flatnonzero(self.rows["dismissed"]).tolist()
        ]

    @property
    def corrected(self) -> dict[str, str]:
        """The corrected items, each with the text that is in force."""
        texts = self.rows["text"].tolist()
        return {
            item: self.texts[text - 1]
            for item, text in zip(self.items, texts, strict=True)
            if text
        }


def marked(
    lines: Iterable[ContextLine],
    marks: Marks,
    *,
    shown: Callable[[str], str] = one_line,
) -> list[ContextLine]:
    """The lines as a person wants them: pinned first, corrected in the new words, none
    that shows a dismissed item.

    A corrected line is the person's own word, so trusted; an item's correction stands
    there once. shown: how a text becomes a line's.
    """
    pinned = {*marks.pinned}
    dismissed = {*marks.dismissed}
    corrected = marks.corrected
    said = set[str]()
    kept: list[ContextLine] = []
    for line in lines:
        new = dict.fromkeys(item for item in line.items if item in corrected)
        if dismissed.intersection(line.items) or (new and said.issuperset(new)):
            continue
        said.update(new)
        text = " ".join(shown(corrected[item]) for item in new)
        kept.append(line._replace(text=text, heard_from=None) if new else line)
    return sorted(kept, key=lambda line: pinned.isdisjoint(line.items))


def as_marked(
    home: Home, lines: Iterable[ContextLine], shown: Callable[[str], str] = one_line
) -> list[ContextLine]:
    """The lines as `marked` gives them by the marks of a home."""
    with home.views.reading(Marks) as marks:
        return marked(lines, marks, shown=shown)


def pinned_lines(home: Home, lines: Iterable[ContextLine]) -> list[ContextLine]:
    """Lines for the pinned items that none of these lines shows: of the home's project,
    or of none; no superseded ones.
    """
    marks = home.views.get(Marks)
    there = {item for line in lines for item in line.items}
    made = []
    with marks.lock:
        items = [item for item in marks.pinned if item not in there]
    for known in filter(None, (known_item(home, item) for item in items)):
        if (
            known.text
            and not known.hidden
            and (not home.project or known.projects & {"", home.project})
        ):
            agent = known.events[0].agent
            source = known.events[0].body.get("source", "agent")
            trusted = TRUST[source] >= TRUST["agent"]
            owner, heard_from = (
                (agent, None)
                if trusted
                else (f"{agent}/{source}", (agent, TRUST[source]))
            )
            made.append(
                ContextLine(
                    PINNED, owner, one_line(known.text), heard_from, (known.id,)
                )
            )
    return made


class ItemState(NamedTuple):
    """An item: its own text ('' for what search does not know), the projects that it
    was named in, the events of its texts.

    label: whether it is a name, of which many events tell.  hidden: whether its design
    superseded it.
    """

    id: str
    text: str
    projects: set[str]
    events: list[Event]
    label: bool
    hidden: bool


def known_item(home: Home, item: str) -> ItemState | None:
    """The item with this whole id, as search or a context gives it; an event's id where
    its line was given as that.
    """
    projects = set[str]()
    seqs = set[int]()
    label = False
    hidden = False
    for index in (home.views.get(home.item_view), home.views.get(home.label_view)):
        with index.lock:
            rows = index.rows_of(item)
            gone = index.documents["hidden"][rows]
            own = ~index.of_kinds([CORRECTION.name])[rows]
            hidden |= bool(gone[own].any() and gone[own].all())
            rows = (
                rows if hidden else rows[~gone]
            )  # another text may stand for a hidden one under its id
            numbers = index.located["project"][
                np.isin(index.located["document"], rows)
            ].tolist()
            projects.update(index.projects[number] for number in numbers)
            seqs.update(index.documents["seq"][rows].tolist())
            label |= len(rows) > 0 and index.name == "labels"
    events = (
        home.journal.read(seqs=sorted(seqs)) if seqs else home.journal.read(ids=[item])
    )
    text = next(
        (each.text for each in _items_in(home, events) if each.item_id == item), ""
    )
    projects = projects or {event.body.get("project", "") for event in events}
    return ItemState(item, text, projects, events, label, hidden) if events else None


def find_item(
    home: Home, given: str, also: Callable[[], Iterable[str]] = tuple
) -> ItemState:
    """The item of this id, or of the only one that begins so, among all that search
    knows and what `also` gives.

    Raises InvalidInput for an id that nothing has, naming the nearest, and for one that
    several begin with.
    """
    if given and (found := known_item(home, given)) is not None:
        return found
    known = sorted(
        {*(item.item_id for item in _items_in(home, home.journal.tail(0))), *also()}
    )
    begin = [item for item in known if given and item.startswith(given)]
    begin = [
        item
        for item in begin
        if item == begin[0] or not item.startswith(f"{begin[0]}.")
    ]  # no event's sentence
    if len(begin) == 1 and (found := known_item(home, begin[0])) is not None:
        return found
    if begin:
        said = f"got the id {given!r}, as which {len(begin)} items begin"
        raise InvalidInput(f"{said}; say more of {', '.join(begin[:3])}")
    nearest = max(
        known,
        key=lambda item: sum(item.startswith(given[:end]) for end in range(len(given))),
        default="",
    )
    near = (
        f"the nearest that is known is {nearest}"
        if nearest
        else "nothing is remembered yet"
    )
    raise InvalidInput(
        f"got the id {given!r:.100}; {near}: `theorex search` and `memory context --why` show ids"
    )


def mark(
    home: Home, kind: str, item: ItemState, *, text: str = "", undo: bool = False
) -> None:
    """Append what a person says of an item, an event for each agent whose it is; it
    goes where an item's own text is erased.

    Raises InvalidInput for a text that must not be kept.
    """
    project = "" if len(item.projects) > 1 else next(iter(item.projects))
    body = {"item": item.id, "undo": undo, "source": "user", "project": project}
    if kind == "corrected" and not undo:
        body["text"] = kept_text(check_text(text, home.settings.max_text_bytes))
    lineage = [
        event.id for event in item.events if event.kind not in MARKS and not item.label
    ]
    now = home.clock.now()
    agents = dict.fromkeys(event.agent for event in item.events)
    home.journal.append(
        [
            new_event(kind, body, agent=agent, at=now, lineage=lineage)
            for agent in agents
        ]
    )


def _items_in(home: Home, events: Iterable[Event]) -> Iterator[ItemText]:
    readers = [kind.texts for kind in (*home.item_view.items, *home.label_view.items)]
    return (
        item
        for event in events
        for read in readers
        if event.kind in read
        for item in read[event.kind](event)
    )
