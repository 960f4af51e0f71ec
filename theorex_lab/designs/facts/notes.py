"""Note how the work goes, and facts that may not both hold; each note is reviewed.

Beside them, pairs of active facts that nobody has noted yet and that may not hold side
by side. MEMORY.md and SOUL.md are lines that were chosen to be known always, a person's
or an agent's own, or promoted facts.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.lazy import LazyModule
from theorex_lab.designs.facts import NOTE_CATEGORIES, items
from theorex_lab.designs.facts.facts import Fact, fact_by_id, facts_of
from theorex_lab.designs.facts.note_view import (
    Note,
    next_id,
    note_by_id,
    notes_of,
    tension_event,
)
from theorex_lab.designs.facts.pairs import SharedWords, contradiction, normal_form
from theorex_lab.designs.facts.settings import fact_settings
from theorex_lab.designs.facts.words import check_word
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.contract import DesignApi, Home
from theorex_lab.memory.observation import TRUST

if TYPE_CHECKING:
    from theorex_lab.designs.facts import writing
else:
    writing = LazyModule("theorex_lab.designs.facts.writing")

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
    """What became of a note.

    It is its id and '', or '' and the id of the open one that it repeats.
    """

    id: str
    repeats: str = ""


def observe(
    home: Home,
    text: str,
    category: str = "friction",
    *,
    source: str = "agent",
    agent: str = "main",
    lineage: Sequence[str] = (),
) -> NoteResult:
    """Note how the work goes, in up to 500 characters.

    What repeats one of the last twenty open notes is not kept. It repeats one where the
    Jaccard likeness of their words is above .7.

    Args:
        home: Where it is noted.
        text: The note.
        category: friction, surprise or quality.
        source: Who it is from, a key of `TRUST`.
        agent: Whose note it is.
        lineage: Ids of the events that it rests on, none of MEMORY.md or SOUL.md.

    Raises:
        InvalidInput: Something is outside the rules.
    """
    check_word("category", category, NOTE_CATEGORIES)
    writing.check_flow(home, lineage, "ops")
    text = writing.check_line(home, text, source, writing.DESCRIPTION_CHARACTERS)
    with home.journal.exclusive() as append:
        repeated_id = _repeated(home, text)
        if repeated_id:
            return NoteResult("", repeated_id)
        body = {
            "text": text,
            "category": category,
            "source": source,
            "note_id": next_id(home, "obs"),
            "project": home.project,
        }
        event = new_event(
            "friction_noted", body, agent=agent, at=home.clock.now(), lineage=lineage
        )
        append(event)
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
    """Note that two facts, by their ids, may not both hold.

    It is not noted where the same is open of them already.

    Args:
        home: Where the facts are.
        first: The id of a fact.
        second: The id of the other.
        text: What is the matter, in words.
        source: Who says so, a key of `TRUST`.
        agent: Whose note it is.

    Raises:
        InvalidInput: A fact does not exist, or both are the same.
    """
    facts = [fact_by_id(home, fact_id) for fact_id in (first, second)]
    if first == second:
        raise InvalidInput(
            f"got the fact {first} twice; allowed are two facts that may not both hold"
        )
    if text:
        text = writing.check_line(home, text, source, writing.DESCRIPTION_CHARACTERS)
    at = home.clock.now()
    with home.journal.exclusive() as append:
        repeated_id = _repeated(home, text, {first, second})
        if repeated_id:
            return NoteResult("", repeated_id)
        event = tension_event(
            home,
            [first, second],
            at=at,
            agent=agent,
            source=source,
            lineage=[fact.event_id for fact in facts],
            text=text,
        )
        append(event)
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
    """Decide what becomes of a note, and return it.

    With promote it becomes a fact of the entity, as far trusted as the note. With
    accept the newest fact of a tension stands in the place of the others; with reject
    all stay. With undo the note is pending again, and what the review did is taken
    back.

    Args:
        home: Where the note is.
        note_id: Its id.
        verdict: promote, archive or resolve; of a tension accept, reject or archive;
            then undo.
        entity: Whom or what the fact is about that it becomes.
        abstraction: What the fact is: pattern or principle.
        agent: Who decides.

    Raises:
        InvalidInput: The note cannot have this verdict now.
    """
    note = note_by_id(home, note_id)
    name = f"verdict on {note.id}, which is {note.status},"
    check_word(name, verdict, _allowed_verdicts(note))
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
        "project": note.project,
    }
    DesignApi(home).append("note_reviewed", body, agent=agent, lineage=[note.event_id])
    return note_by_id(home, note_id)


def _allowed_verdicts(note: Note) -> list[str]:
    """Return the verdicts that a note may have now."""
    if note.status != "pending":
        return ["undo"]
    if note.facts:
        return ["accept", "reject", "archive"]
    return ["promote", "resolve", "archive"]


def alerts(home: Home) -> list[str]:
    """Return a sentence where more notes, or more tensions, are pending than allowed.

    The settings say how many are allowed.
    """
    settings = fact_settings(home)
    n_notes = len(notes_of(home, "pending", tensions=False))
    n_tensions = len(notes_of(home, "pending", tensions=True))
    counts = (
        (n_notes, "observations", settings.observation_alerts),
        (n_tensions, "tensions", settings.tension_alerts),
    )
    return [
        f"{n} {name} are pending, more than {most}: review them"
        for n, name, most in counts
        if n > most
    ]


def _repeated(home: Home, text: str, facts: Set[str] = frozenset()) -> str:
    """Return the id of the open note, or with facts the open tension, that is repeated.

    It is '' for none.
    """
    words = _words(text)
    for note in notes_of(home, "pending", tensions=bool(facts))[-_LOOKED_AT:]:
        if facts and facts == {*note.facts}:
            return note.id
        other_words = _words(note.text)
        if len(words & other_words) > _REPEATS_ABOVE * len(words | other_words):
            return note.id
    return ""


def _words(text: str) -> set[str]:
    return set(normal_form(text).split()) or {text}


def _promoted(home: Home, note: Note, entity: str, abstraction: str, agent: str) -> str:
    """Return the id of the fact that a note becomes, or of the one that says the same.

    A crash after it leaves nothing twice.
    """
    check_word("abstraction", abstraction, ("pattern", "principle"))
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
    """Let the newest fact of a tension stand in the place of the others; return its id."""
    facts = [fact_by_id(home, fact_id) for fact_id in note.facts]
    facts.sort(key=lambda fact: (fact.at, fact.id))
    newest = facts[-1]
    for fact in facts[:-1]:
        if fact.active:
            why = f"{note.id} was accepted"
            writing.supersede(home, fact.id, newest.id, why=why, vouched=True)
    return newest.id


def _take_back(home: Home, note: Note) -> None:
    """Undo what the review of a note did to facts."""
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
    """Return pairs of active facts that share two words and three tenths of their words.

    Args:
        home: Whose facts they are.
        entity: Pairs with a fact of this one; None is of any.
        cross_entity: With facts of other entities too, people included.
        limit: How many at most.

    Returns:
        [{facts: ids, texts, shared: words, jaccard, contradiction: 0..1}], what speaks
        most for a contradiction first.
    """
    entity = None if entity is None else writing.check_entity(entity)
    groups: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts_of(home, None if cross_entity else entity):
        groups["" if cross_entity else fact.entity].append(fact)
    pairs: list[dict[str, Any]] = []
    for group in groups.values():
        pairs += _pairs(group, entity)
    pairs.sort(
        key=lambda pair: (-pair["contradiction"], -pair["jaccard"], pair["facts"])
    )
    return pairs[:limit]


def _pairs(facts: list[Fact], entity: str | None) -> Iterator[dict[str, Any]]:
    earlier = SharedWords()
    by_id = dict[str, Fact]()
    for fact in facts:
        for other_id, jaccard, shared in earlier.near(fact.text, _NEAREST):
            other = by_id[other_id]
            if writing.facts_side_by_side(fact.entity, fact.text, other.text):
                continue
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
# A line that begins so is shown as it is.
_MARKDOWN = ("#", "- ", "* ", "+ ", ">", "|", "```", " ", "\t")


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

    Args:
        home: Whose line it is.
        file: MEMORY or SOUL.
        text: The line; '' with a fact.
        fact: The id of the fact; '' with a text.
        undo: Whether the line is taken out again.
        source: Who it is from, a key of `TRUST`.
        agent: Whose line it is.

    Raises:
        InvalidInput: The file is another, both or neither of text and fact is there,
            the line is in the file already, or with `undo` is not.
    """
    if bool(text) == bool(fact):
        n_texts = "both" if fact else "neither"
        raise InvalidInput(
            f"got {n_texts} of a text and a fact; allowed is one of them"
        )
    lineage: list[str] = []
    promoted = fact_by_id(home, fact) if fact else None
    if promoted is not None:
        text = items.told_of(promoted.entity, promoted.text)
        lineage = [promoted.event_id]
    text = writing.check_line(home, text, source)
    if (text in self_lines(home, file)) != undo:
        state = "does not have" if undo else "has already"
        raise InvalidInput(f"got {text!r:.80}, which {file}.md {state}")
    if promoted is not None:
        source = min(source, promoted.source, key=TRUST.__getitem__)
    body = {"file": file, "text": text, "undo": undo, "source": source}
    return DesignApi(home).append("self_added", body, agent=agent, lineage=lineage)


def self_lines(home: Home, file: str, *, agent: str | None = None) -> list[str]:
    """Return the lines of MEMORY or SOUL, in the order in which they were added.

    They are of all agents or of one.
    """
    check_word("file", file, FILES)
    lines: dict[str, None] = {}
    for event in home.journal.tail(0, kinds=["self_added"], projects=home.projects):
        if event.body["file"] != file or agent not in (None, event.agent):
            continue
        lines.pop(event.body["text"], None)
        if not event.body["undo"]:
            lines[event.body["text"]] = None
    return list(lines)


def document(home: Home, file: str, *, agent: str | None = None) -> str:
    """Return MEMORY.md or SOUL.md as Markdown; '' where it has no line."""
    lines = self_lines(home, file, agent=agent)
    if not lines:
        return ""
    parts: list[str] = []
    for line in lines:
        if line.startswith("#"):
            parts.append(f"\n{line}\n")
        elif line.startswith(_MARKDOWN):
            parts.append(line)
        else:
            parts.append(f"- {line}")
    text = "\n".join(parts).strip()
    return f"# {file}\n\n{text}\n"
