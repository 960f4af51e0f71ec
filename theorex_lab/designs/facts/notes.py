"""Notes of the work: what rubbed, surprised or was done well, and facts that may not
both hold; reviewed one by one.

Beside them, pairs of active facts that nobody has noted yet and that may not hold side
by side. MEMORY.md and SOUL.md are lines that were chosen to be known always, a person's
or an agent's own, or promoted facts.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from typing import Any, NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.facts import NOTE_CATEGORIES, STATUSES, items, writing
from theorex_lab.designs.facts.facts import Fact, fact_by_id, facts_of
from theorex_lab.designs.facts.note_view import (
    TENSION,
    Note,
    Notes,
    next_id,
    tension_event,
)
from theorex_lab.designs.facts.pairs import SharedWords, contradiction, normal_form
from theorex_lab.designs.facts.settings import fact_settings
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.contract import DesignApi, Home
from theorex_lab.memory.observation import TRUST

# What a verdict makes of a note. `accept` and `reject` are for tensions; `promote` and
# `resolve` for the others.
VERDICTS = {
    "promote": "promoted",
    "resolve": "resolved",
    "accept": "resolved",
    "reject": "resolved",
    "archive": "archived",
    "undo": "pending",
}
_LOOKED_AT = 20  # open notes that a new one is compared with
_REPEATS_ABOVE = 0.7  # Jaccard likeness of their words


class NoteResult(NamedTuple):
    """What became of a note: its id and '', or '' and the id of the open one that it
    repeats.
    """

    id: str
    repeats: str = ""


def notes_of(
    home: Home, status: str | None = None, *, tensions: bool | None = None
) -> list[Note]:
    """Notes of the home's project or of none, in the order in which they were written;
    of one status, or of all.

    tensions: these alone, those that are none, or with None both. Raises InvalidInput
    for a status that there is not.
    """
    wanted = (
        STATUSES
        if status is None
        else (writing.check_word("status", status, STATUSES),)
    )
    with home.views.reading(Notes) as view:
        found = [view.note(row) for row in range(len(view.notes))]
    projects = (
        [note.project for note in found]
        if home.projects is None
        else ["", *home.projects]
    )
    found = [
        note for note in found if note.status in wanted and note.project in projects
    ]
    return [note for note in found if tensions in (None, note.category == TENSION)]


def note_by_id(home: Home, note_id: str) -> Note:
    """The note of this id. Raises InvalidInput where there is none."""
    found = {note.id: note for note in notes_of(home)}
    return found[writing.check_word("note", note_id, found)]


def observe(
    home: Home,
    text: str,
    category: str = "friction",
    *,
    source: str = "agent",
    agent: str = "main",
    lineage: Sequence[str] = (),
) -> NoteResult:
    """Note how the work goes, in up to 500 characters. What repeats one of the last
    twenty open notes is not kept.

    It repeats one where the Jaccard likeness of their words is above .7. lineage: ids
    of the events that it rests on, none of MEMORY.md or SOUL.md. Raises InvalidInput
    for what is outside the rules.
    """
    writing.check_word("category", category, NOTE_CATEGORIES)
    writing.check_flow(home, lineage, "ops")
    text = writing.check_line(home, text, source, writing.DESCRIPTION_CHARACTERS)
    body = {"text": text, "category": category, "source": source}
    with home.journal.exclusive() as append:
        if repeated := _repeated(home, body["text"]):
            return NoteResult("", repeated)
        body |= {"note_id": next_id(home, "obs"), "project": home.project}
        append(
            new_event(
                "friction_noted",
                body,
                agent=agent,
                at=home.clock.now(),
                lineage=lineage,
            )
        )
    return NoteResult(body["note_id"])


def note_tension(
    home: Home,
    first: str,
    second: str,
    text: str = "",
    *,
    source: str = "agent",
    agent: str = "main",
) -> NoteResult:
    """Note that two facts, by their ids, may not both hold; not where the same is open
    of them already.

    Raises InvalidInput for a fact that is not there, or twice the same.
    """
    facts = [fact_by_id(home, fact_id) for fact_id in (first, second)]
    if first == second:
        raise InvalidInput(
            f"got the fact {first} twice; allowed are two facts that may not both hold"
        )
    text = text and writing.check_line(
        home, text, source, writing.DESCRIPTION_CHARACTERS
    )
    given: dict[str, Any] = {
        "at": home.clock.now(),
        "agent": agent,
        "source": source,
        "text": text,
    }
    with home.journal.exclusive() as append:
        if repeated := _repeated(home, text, {first, second}):
            return NoteResult("", repeated)
        append(
            event := tension_event(
                home,
                [first, second],
                lineage=[fact.event_id for fact in facts],
                **given,
            )
        )
    return NoteResult(event.body["note_id"])


def review(
    home: Home,
    note_id: str,
    verdict: str,
    *,
    entity: str = "",
    abstraction: str = "pattern",
    agent: str = "main",
) -> Note:
    """Say what becomes of a note: promote, archive or resolve, of a tension accept,
    reject or archive; then undo.

    promote: it becomes a fact of the entity, a pattern or a principle, as far trusted
    as the note.  accept: the newest fact of a tension stands in the place of the
    others.  reject: all stay.  undo: it is pending again, and what the review did is
    taken back. Raises InvalidInput for a verdict that it cannot have now.
    """
    note = note_by_id(home, note_id)
    allowed = (
        ["accept", "reject", "archive"]
        if note.facts
        else ["promote", "resolve", "archive"]
    )
    allowed = allowed if note.status == "pending" else ["undo"]
    writing.check_word(
        f"verdict on {note.id}, which is {note.status},", verdict, allowed
    )
    fact = ""
    if verdict == "promote":
        fact = _promoted(home, note, entity, abstraction, agent)
    elif verdict == "accept":
        fact = _accepted(home, note)
    elif verdict == "undo":
        _take_back(home, note)
    body = {
        "note_id": note.id,
        "status": VERDICTS[verdict],
        "fact": fact,
        "undo": verdict == "undo",
    }
    DesignApi(home).append(
        "note_reviewed",
        {**body, "project": note.project},
        agent=agent,
        lineage=[note.event_id],
    )
    return note_by_id(home, note_id)


def alerts(home: Home) -> list[str]:
    """A sentence where more notes, or more tensions, are pending than the settings
    allow.
    """
    settings = fact_settings(home)
    told = (
        (False, "observations", settings.observation_alerts),
        (True, "tensions", settings.tension_alerts),
    )
    counts = [
        (len(notes_of(home, "pending", tensions=tensions)), what, most)
        for tensions, what, most in told
    ]
    return [
        f"{n} {what} are pending, more than {most}: review them"
        for n, what, most in counts
        if n > most
    ]


def _repeated(home: Home, text: str, facts: Set[str] = frozenset()) -> str:
    """The id of the open note, or with facts the open tension, that a text repeats; ''
    for none.
    """
    words = set(normal_form(text).split()) or {text}
    for note in notes_of(home, "pending", tensions=bool(facts))[-_LOOKED_AT:]:
        others = set(normal_form(note.text).split()) or {note.text}
        if (facts and facts == {*note.facts}) or len(
            words & others
        ) > _REPEATS_ABOVE * len(words | others):
            return note.id
    return ""


def _promoted(home: Home, note: Note, entity: str, abstraction: str, agent: str) -> str:
    """The id of the fact that a note becomes, or of the one that says the same: a crash
    after it leaves nothing twice.
    """
    writing.check_word("abstraction", abstraction, ("pattern", "principle"))
    new = writing.NewFact(
        entity,
        note.text,
        abstraction=abstraction,
        source=note.source,
        origin=note.id,
        lineage=[note.event_id],
        agent=agent,
        project=note.project,
    )
    return writing.write_fact(home, new, semantic=False).id


def _accepted(home: Home, note: Note) -> str:
    """Let the newest fact of a tension stand in the place of the others; returns its
    id.
    """
    facts = sorted(
        (fact_by_id(home, fact_id) for fact_id in note.facts),
        key=lambda fact: (fact.at, fact.id),
    )
    for older in facts[:-1]:
        if older.active:
            writing.supersede(
                home,
                older.id,
                facts[-1].id,
                why=f"{note.id} was accepted",
                vouched=True,
            )
    return facts[-1].id


def _take_back(home: Home, note: Note) -> None:
    if note.status == "promoted" and fact_by_id(home, note.fact).active:
        writing.supersede(home, note.fact, why=f"the promotion of {note.id} was undone")
    for fact_id in note.facts:
        if note.fact and fact_by_id(home, fact_id).superseded_by == note.fact:
            writing.undo_supersede(home, fact_id)


_NEAREST = 20


def contradicting(
    home: Home,
    entity: str | None = None,
    *,
    cross_entity: bool = False,
    limit: int = 20,
) -> list[dict[str, Any]]:
    """Pairs of active facts that share two words and three tenths of their words, what
    speaks most for a contradiction first.

    entity: pairs with a fact of this one, None is of any.  cross_entity: with facts of
    other entities too, people included. [{facts: ids, texts, shared: words, jaccard,
    contradiction: 0..1}]
    """
    entity = None if entity is None else writing.check_entity(entity)
    groups: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts_of(home, None if cross_entity else entity):
        groups["" if cross_entity else fact.entity].append(fact)
    pairs = [pair for group in groups.values() for pair in _pairs(group, entity)]
    return sorted(
        pairs,
        key=lambda pair: (-pair["contradiction"], -pair["jaccard"], pair["facts"]),
    )[:limit]


def _pairs(facts: list[Fact], entity: str | None) -> Iterator[dict[str, Any]]:
    earlier = SharedWords()
    by_id = dict[str, Fact]()
    for fact in facts:
        for other_id, jaccard, shared in earlier.near(fact.text, _NEAREST):
            other = by_id[other_id]
            if entity in (None, fact.entity, other.entity):
                yield {
                    "facts": [other.id, fact.id],
                    "texts": [other.text, fact.text],
                    "shared": shared,
                    "jaccard": round(jaccard, 3),
                    "contradiction": round(contradiction(other.text, fact.text), 3),
                }
        earlier.add(fact.id, fact.text)
        by_id[fact.id] = fact


FILES = ("MEMORY", "SOUL")
_MARKDOWN = (
    "#",
    "- ",
    "* ",
    "+ ",
    ">",
    "|",
    "```",
    " ",
    "\t",
)  # a line that begins so is shown as it is


def add_line(
    home: Home,
    file: str,
    text: str = "",
    *,
    fact: str = "",
    undo: bool = False,
    source: str = "agent",
    agent: str = "main",
) -> Event:
    """Add a line to MEMORY or SOUL: a text, or that of a fact, which this promotes.
    undo: take it out again.

    Raises InvalidInput for another file, for both or neither of text and fact, and
    where the line is there already, or with `undo` is not.
    """
    if bool(text) == bool(fact):
        raise InvalidInput(
            f"got {'both' if fact else 'neither'} of a text and a fact; allowed is one of them"
        )
    promoted = fact_by_id(home, fact) if fact else None
    text = writing.check_line(
        home,
        items.told_of(promoted.entity, promoted.text) if promoted else text,
        source,
    )
    if (text in self_lines(home, file)) != undo:
        raise InvalidInput(
            f"got {text!r:.80}, which {file}.md {'does not have' if undo else 'has already'}"
        )
    body = {"file": file, "text": text, "undo": undo, "source": source}
    if promoted is not None:
        body["source"] = min(source, promoted.source, key=TRUST.__getitem__)
    return DesignApi(home).append(
        "self_added", body, agent=agent, lineage=[promoted.event_id] if promoted else []
    )


def self_lines(home: Home, file: str, *, agent: str | None = None) -> list[str]:
    """The lines of MEMORY or SOUL, of all agents or of one, in the order in which they
    were added.
    """
    writing.check_word("file", file, FILES)
    lines: dict[str, None] = {}
    for event in home.journal.tail(0, kinds=["self_added"], projects=home.projects):
        if event.body["file"] == file and agent in (None, event.agent):
            lines.pop(event.body["text"], None)
            lines |= {} if event.body["undo"] else {event.body["text"]: None}
    return list(lines)


def document(home: Home, file: str, *, agent: str | None = None) -> str:
    """MEMORY.md or SOUL.md as Markdown; '' where it has no line."""
    lines = self_lines(home, file, agent=agent)
    shown = [line if line.startswith(_MARKDOWN) else f"- {line}" for line in lines]
    text = "\n".join(f"\n{line}\n" if line.startswith("#") else line for line in shown)
    return f"# {file}\n\n{text.strip()}\n" if lines else ""
