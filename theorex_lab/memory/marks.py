"""What a person says of single items: this first, this no more, this in other words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from theorex_lab.design import Line
from theorex_lab.errors import InvalidInput
from theorex_lab.home import Home
from theorex_lab.journal.columns import Names, Strings, Table
from theorex_lab.journal.event import Event, new_event
from theorex_lab.journal.view import View
from theorex_lab.memory.observation import TRUST, check_text, owner_of
from theorex_lab.search.index import ItemIndex
from theorex_lab.search.items import MARKS
from theorex_lab.text.doors import kept_text
from theorex_lab.text.line import one_line

PINNED = "pinned"  # the kind of a line for a pinned item that no design shows by itself


class Marks(View):
    """Items that a person marked: whether each is pinned or dismissed, and which of `texts`, from 1, is its correction (0: none).

    A correction or a pin takes a dismissal back, a dismissal a pin.
    """

    name = "marks"
    code = 1
    kinds = MARKS

    def __init__(self) -> None:
        super().__init__()
        self.items, self.texts = Names(), Strings()
        self.rows = Table(pinned="?", dismissed="?", text="i8")

    def fold(self, events: Sequence[Event]) -> None:
        """Take in what was said of each item, in order."""
        for event in events:
            row, undo = self.items.number(event.body["item"]), event.body["undo"]
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
        return [self.items[row] for row in np.flatnonzero(self.rows["dismissed"]).tolist()]

    @property
    def corrected(self) -> dict[str, str]:
        """The corrected items, each with the text that is in force."""
        texts = self.rows["text"].tolist()
        return {item: self.texts[text - 1] for item, text in zip(self.items, texts, strict=True) if text}


def marked(lines: Iterable[Line], marks: Marks, *, shown: Callable[[str], str] = one_line) -> list[Line]:
    """The lines as a person wants them: pinned first, corrected in the new words, none that shows a dismissed item.

    A corrected line is the person's own word, so trusted; an item's correction stands there once. shown: how a text
    becomes a line's.
    """
    pinned, dismissed, corrected, said = {*marks.pinned}, {*marks.dismissed}, marks.corrected, set[str]()
    kept: list[Line] = []
    for line in lines:
        new = dict.fromkeys(item for item in line.items if item in corrected)
        if dismissed.intersection(line.items) or (new and said.issuperset(new)):
            continue
        said.update(new)
        text = " ".join(shown(corrected[item]) for item in new)
        kept.append(line._replace(text=text, heard_from=None) if new else line)
    return sorted(kept, key=lambda line: pinned.isdisjoint(line.items))


def as_marked(home: Home, lines: Iterable[Line], shown: Callable[[str], str] = one_line) -> list[Line]:
    """The lines as `marked` gives them by the marks of a home."""
    marks = home.views.get(Marks)
    with marks.lock:
        return marked(lines, marks, shown=shown)


def pinned_lines(home: Home, lines: Iterable[Line]) -> list[Line]:
    """Lines for the pinned items that none of these lines shows: of the home's project, or of none."""
    marks, there, made = home.views.get(Marks), {item for line in lines for item in line.items}, []
    with marks.lock:
        items = [item for item in marks.pinned if item not in there]
    for item, found in ((item, text_of(home, item)) for item in items):
        if found is not None:
            text, event = found
            event = event._replace(body={"source": "agent"} | event.body)
            level = TRUST[event.body["source"]]
            heard_from = None if level >= TRUST["agent"] else (event.agent, level)
            made.append(Line(PINNED, owner_of(event), one_line(text), heard_from, (item,)))
    return made


def text_of(home: Home, item: str) -> tuple[str, Event] | None:
    """The text of an item that is not hidden, and the event that holds it; None for one of another project."""
    for index in _indexes(home):
        with index.lock:
            rows = index.rows_of(item)
            allowed = index.allowed(projects=home.projects) & ~index.hidden
            for row in rows[allowed[rows]].tolist():
                events = home.journal.read(seqs=[int(index.documents["seq"][row])])
                found = index.item_of(row, events[0]) if events else None
                if found is not None:
                    return found.text, events[0]
    return None


class KnownItem(NamedTuple):
    """An item: whose it is, the project that it was named in ('' for none or several), the events that hold its texts.

    lineage: those of the events that go with the item when they are erased; a label has none, since many name it.
    """

    id: str
    agents: tuple[str, ...]
    project: str
    events: tuple[str, ...]
    lineage: tuple[str, ...]


def known_item(home: Home, item: str) -> KnownItem | None:
    """The item with this whole id, as search or a context gives it; an event's id where its line was given as that."""
    projects, seqs, is_label = set[str](), set[int](), False
    for index in _indexes(home):
        with index.lock:
            rows = index.rows_of(item)
            numbers = index.located["project"][np.isin(index.located["document"], rows)].tolist()
            projects.update(index.projects[number] for number in numbers)
            seqs.update(index.documents["seq"][rows].tolist())
            is_label |= len(rows) > 0 and index.name == "labels"
    events = home.journal.read(seqs=sorted(seqs)) if seqs else home.journal.read(ids=[item])
    projects = projects or {event.body.get("project", "") for event in events}
    agents, ids = tuple(dict.fromkeys(event.agent for event in events)), tuple(event.id for event in events)
    held = () if is_label else tuple(event.id for event in events if event.kind not in MARKS)
    return KnownItem(item, agents, projects.pop() if len(projects) == 1 else "", ids, held) if events else None


def find_item(home: Home, given: str, also: Callable[[], Iterable[str]] = tuple) -> KnownItem:
    """The item of this id, or of the only one that begins so, among all that search knows and what `also` gives.

    Raises InvalidInput for an id that nothing has, naming the nearest, and for one that several begin with.
    """
    if given and (found := known_item(home, given)) is not None:
        return found
    known = {*_all_ids(home), *also()}
    begin = sorted(item for item in known if given and item.startswith(given))
    if len(begin) == 1 and (found := known_item(home, begin[0])) is not None:
        return found
    if begin:
        said = f"got the id {given!r}, as which {len(begin)} items begin"
        raise InvalidInput(f"{said}; say more of {', '.join(begin[:3])}")
    nearest = max(sorted(known), key=lambda item: _same_start(item, given), default="")
    near = f"the nearest that is known is {nearest}" if nearest else "nothing is remembered yet"
    raise InvalidInput(f"got the id {given!r:.100}; {near}: `theorex search` and `memory context --why` show ids")


def mark(home: Home, kind: str, item: KnownItem, *, text: str = "", undo: bool = False) -> None:
    """Append what a person says of an item, an event for each agent whose it is.

    Raises InvalidInput for a text that must not be kept.
    """
    body = {"item": item.id, "undo": undo, "source": "user", "project": item.project}
    if kind == "corrected" and not undo:
        body["text"] = kept_text(check_text(text, home.settings.max_text_bytes))
    now = home.clock.now()
    events = [new_event(kind, body, agent=agent, at=now, lineage=item.lineage) for agent in item.agents]
    home.journal.append(events)


def _indexes(home: Home) -> list[ItemIndex]:
    return [home.views.get(home.item_view), home.views.get(home.label_view)]


def _all_ids(home: Home) -> Iterator[str]:
    for index in _indexes(home):
        for event in home.journal.tail(0, kinds=list(index.readers)):
            for kind in index.readers[event.kind]:
                if event.kind in kind.texts:
                    yield from (item.item_id for item in kind.texts[event.kind](event))


def _same_start(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
