"""Write facts.

A duplicate is not kept twice, what a fact replaces gives way, and what contradicts
becomes a tension.

The words that are handed in, entities among them, and the way in which content may flow
are checked first.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import SCANNER, check_agent
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.designs.facts import (
    ABSTRACTIONS,
    CATEGORIES,
    TEXT_OF,
    superseding,
)
from theorex_lab.designs.facts.facts import (
    Fact,
    Facts,
    Scope,
    fact_by_id,
    form_number,
)
from theorex_lab.designs.facts.given_up import (
    TAKING_BACK,
    gives_up_value,
    replaces_thing,
    takes_back,
)
from theorex_lab.designs.facts.note_view import tension_event
from theorex_lab.designs.facts.pairs import (
    CONTRADICTS,
    contradiction,
    likeness,
    same_fact,
    signed_tokens,
)
from theorex_lab.designs.facts.parts import (
    PART_CHARACTERS,
    fact_parts,
    gives_property_anew,
    says_again,
)
from theorex_lab.designs.facts.reported_changes import GONE
from theorex_lab.designs.facts.settings import FactSettings, fact_settings
from theorex_lab.designs.facts.words import check_word
from theorex_lab.journal.event import Body, Event, new_event
from theorex_lab.memory.assertions import as_statement
from theorex_lab.memory.claims import read_claim
from theorex_lab.memory.contract import DesignApi, Home
from theorex_lab.memory.distinct_things import hold_side_by_side
from theorex_lab.memory.observation import TRUST, check_tags, check_text
from theorex_lab.memory.superseding import gives_new_value
from theorex_lab.text.directives import directive_of, reverses
from theorex_lab.text.line import folded
from theorex_lab.text.redact.redaction_scope import kept_text
from theorex_lab.text.spoken import Span
from theorex_lab.text.wording import specifics

DESCRIPTION_CHARACTERS = 500
_FEWEST_SHARED = 2  # words of two values that tell the same attribute
_RESTATED = 0.6  # share of the shorter value that both have
_COMPARED = 64  # newest facts of an entity whose values a new one is compared with
_PLAIN_WORDS = 16  # of a sentence that is read well
# What proposes or directs rather than states.
_DIRECTIVE = lazy_pattern(
    r"\b(?:let's|instead of|rather than|always|never|please|must)\b|^\W*(?:don't|do"
    r" not)\b",
    re.I,
)
# What negates half of what a directive negates.
_LIMITED = lazy_pattern(r"\b(?:without|unless|before|only|until)\b", re.I)
_PRONOUNS = frozenset("it this that they these those there he she what".split())
_KIND_NAMED = lazy_pattern(
    r"\b(?:favou?rite|preferred|as (?:an?|the|his|her|my|their|our)|for"
    r" (?:the|\w+ing))\b",
    re.I,
)


@dataclass(frozen=True)
class NewFact:
    """A fact to be written. Times: µs UTC, or None.

    Attributes:
        abstraction: episode, pattern or principle.
        source: Who it is from, a key of `TRUST`.
        origin: Where it is from.
        supersedes: Ids of the facts that it replaces, beside those that the rules find.
        at: When it was learnt; None is now.
        event_id: Of a fact that may be written again without being there twice.
        noted: The id of the note that says it in these words.
        attribute: What it says of its entity; '' where its words are to be read for it.
        value: What it says the attribute is.
    """

    entity: str
    text: str
    category: str = "context"
    confidence: float = 0.8
    abstraction: str = "episode"
    tags: Sequence[str] = ()
    source: str = "agent"
    origin: str = ""
    supersedes: Sequence[str] = ()
    valid_from: int | None = None
    valid_to: int | None = None
    lineage: Sequence[str] = ()
    at: int | None = None
    event_id: str | None = None
    noted: str = ""
    agent: str = "main"
    project: str = ""
    attribute: str = ""
    value: str = ""


class FactWriteResult(NamedTuple):
    """What became of a fact.

    Attributes:
        id: Its own, or of the fact that says the same already.
        action: written, duplicate, near_duplicate, superseded (it stands in the place
            of `of`), or tension (it was written, and may not hold beside `of`).
        tension: The id of that note.
        likeness: To the near duplicate, 0..1.
    """

    id: str
    action: str
    of: tuple[str, ...] = ()
    tension: str | None = None
    likeness: float | None = None
    event_id: str | None = None


def write_fact(home: Home, new: NewFact, *, semantic: bool = True) -> FactWriteResult:
    """Write a fact in one transaction.

    An exact duplicate is looked for first, then what it replaces or contradicts, then a
    near duplicate. What an agent or a user said is never replaced by what a model, a
    tool or an import says: that becomes a tension.

    Args:
        home: Where it is written.
        new: The fact.
        semantic: Whether a fact that is nearly the same is left out.

    Raises:
        InvalidInput: Something is outside the rules.
    """
    body = _body(home, new)
    check_flow(home, new.lineage, "notes")
    home.views.get(Facts)  # what can be read before others wait
    with home.journal.exclusive() as append, home.views.reading(Facts) as view:
        result = _decide(
            view, fact_settings(home), body, semantic=semantic, explicit=new.supersedes
        )
        if result.action in ("duplicate", "near_duplicate"):
            return result
        fact_id = view.next_id(body["entity"])
        body["fact_id"] = fact_id
        body["supersedes"] = list(result.of) if result.action == "superseded" else []
        at = home.clock.now() if new.at is None else new.at
        fact = new_event(
            "fact",
            body,
            agent=new.agent,
            at=at,
            lineage=new.lineage,
            event_id=new.event_id,
        )
        append(fact)
        tension_id = None
        if result.action == "superseded":
            why = "it was written in their place"
            _replace(view, append, result.of, fact_id, why, at, fact.id)
        elif result.action == "tension":
            tension = tension_event(
                home.in_project(new.project),
                [*result.of, fact_id],
                at=at,
                agent=new.agent,
                source=body["source"],
                lineage=[fact.id],
            )
            append(tension)
            tension_id = tension.body["note_id"]
    return result._replace(id=fact_id, tension=tension_id, event_id=fact.id)


def supersede(
    home: Home, old: str, by: str = "", *, why: str = "", vouched: bool = False
) -> None:
    """Let a fact stand in the place of another, or with '' let that one end.

    What a model, a tool or an import says never replaces what an agent or a user said,
    unless someone trusts it expressly.

    Args:
        home: Where the facts are.
        old: The id of the fact that ends.
        by: The id of the fact in its place; '' for none.
        why: The reason, in words.
        vouched: Whether someone trusts the fact in its place expressly.

    Raises:
        InvalidInput: That cannot be.
    """
    with home.journal.exclusive() as append, home.views.reading(Facts) as view:
        fact = fact_by_id(home, old)
        successor = fact_by_id(home, by) if by else None
        if not fact.active:
            raise InvalidInput(
                f"got {old}, which {fact.superseded_by or 'nothing'} replaced; allowed"
                " is an active one"
            )
        if successor is not None:
            _check_successor(fact, successor, vouched=vouched)
        event_id = successor.event_id if successor else fact.event_id
        _replace(view, append, [old], by, why, home.clock.now(), event_id)


def _check_successor(fact: Fact, successor: Fact, *, vouched: bool) -> None:
    """Raise InvalidInput where a fact cannot stand in the place of another."""
    if successor.id == fact.id or not successor.active:
        raise InvalidInput(
            f"got {successor.id} for {fact.id}; allowed is another fact, an active one:"
            " chains have no circle"
        )
    if not vouched and TRUST[successor.source] < TRUST["agent"] <= TRUST[fact.source]:
        raise InvalidInput(
            f"got {successor.id}, from a source {successor.source}, against {fact.id},"
            f" from {fact.source}; allowed is an agent's or a user's word: note a"
            " tension, and accept it"
        )


def undo_supersede(home: Home, old: str) -> None:
    """Let a fact hold again that another stood in the place of.

    Raises:
        InvalidInput: The fact is active.
    """
    fact = fact_by_id(home, old)
    if fact.active:
        raise InvalidInput(
            f"got {old}, which is active; allowed is a fact that was superseded"
        )
    body = {
        "facts": [old],
        "by": fact.superseded_by,
        "why": "undone",
        "undo": True,
        "project": fact.project,
    }
    DesignApi(home).append(
        "fact_superseded", body, agent=fact.agent, lineage=[fact.event_id]
    )


def archive_entity(home: Home, entity: str) -> str:
    """Move the facts of an entity to archives/; return its new path.

    Raises:
        InvalidInput: There is nothing, or all is there.
    """
    old = check_entity(entity)
    new = f"archives/{old.partition('/')[2]}"
    with home.views.reading(Facts) as view:
        if not len(view.rows(old)) or old == new:
            raise InvalidInput(
                f"got the entity {entity!r}; allowed is one with facts, outside"
                " archives/"
            )
    body = {"entity": old, "to": new, "project": ""}
    DesignApi(home).append("entity_archived", body, agent=SCANNER)
    return new


def note_access(home: Home, *fact_ids: str) -> int:
    """Count a use of these facts; return of how many.

    Raises:
        InvalidInput: An id is unknown; none is counted then.
    """
    ids = [fact_by_id(home, fact_id).id for fact_id in dict.fromkeys(fact_ids)]
    if ids:
        body = {"facts": ids, "project": home.project}
        DesignApi(home).append("facts_accessed", body, agent=SCANNER)
    return len(ids)


def _replace(
    view: Facts,
    append: Callable[[Event], int],
    old: Sequence[str],
    by: str,
    why: str,
    at: int,
    lineage: str,
) -> None:
    """Append that facts hold no more.

    There is an event for each agent who wrote some of them, since search archives items
    agent by agent.
    """
    by_agent: dict[str, list[str]] = {}
    for fact_id in old:
        row = view.ids.find(fact_id)
        assert row is not None
        agent = view.agents[int(view.facts["agent"][row])]
        by_agent.setdefault(agent, []).append(fact_id)
    for agent, ids in by_agent.items():
        body = {"facts": ids, "by": by, "why": why, "undo": False}
        event = new_event(
            "fact_superseded", body, agent=agent, lineage=[lineage], at=at
        )
        append(event)


def _body(home: Home, new: NewFact) -> Body:
    """Return the body of a fact's event, all of it checked."""
    check_agent(new.agent)
    text = kept_text(check_text(new.text, home.settings.max_text_bytes))
    if len(text) > DESCRIPTION_CHARACTERS:
        raise InvalidInput(
            f"got {len(text)} characters; allowed are up to {DESCRIPTION_CHARACTERS}:"
            " write its parts"
        )
    check_word("category", new.category, CATEGORIES)
    check_word("abstraction", new.abstraction, ABSTRACTIONS)
    check_word("source", new.source, tuple(TRUST))
    if not _is_share(new.confidence):
        raise InvalidInput(f"got the confidence {new.confidence!r}; allowed are 0 to 1")
    begins = new.valid_from
    ends = new.valid_to
    if begins is not None and ends is not None and begins >= ends:
        raise InvalidInput(
            f"got {to_iso(begins)} to {to_iso(ends)}; allowed is a beginning before"
            " the end"
        )
    entity = check_entity(new.entity)
    attribute, value = _attribute_and_value(entity, text, new)
    return {
        "entity": entity,
        "text": text,
        "category": new.category,
        "confidence": float(new.confidence),
        "abstraction": new.abstraction,
        "tags": check_tags(new.tags),
        "source": new.source,
        "origin": kept_text(new.origin[:200]),
        "valid_from": begins,
        "valid_to": ends,
        "project": new.project,
        "noted": new.noted,
        "attribute": attribute,
        "value": value,
    }


def _attribute_and_value(entity: str, text: str, new: NewFact) -> tuple[str, str]:
    """Return what a fact says of its entity: as stated, or as its words are read."""
    if new.attribute:
        attribute = kept_text(new.attribute[:PART_CHARACTERS])
        return attribute, kept_text(new.value[:PART_CHARACTERS])
    parts = fact_parts(entity, text)
    return parts.attribute, parts.value


def _is_share(value: object) -> bool:
    """Return whether a value is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= 1


def _decide(
    view: Facts,
    settings: FactSettings,
    body: Body,
    *,
    semantic: bool,
    explicit: Sequence[str],
) -> FactWriteResult:
    """Return what is to become of a fact, by the active facts of its entity."""
    entity = body["entity"]
    scope = (entity, body["project"])
    text = body["text"]
    duplicate = _exact_duplicate(view, scope, text)
    if duplicate:
        return FactWriteResult(duplicate, "duplicate", (duplicate,), likeness=1.0)
    explicit_ids = [_active_id(view, fact_id) for fact_id in explicit]
    statement = as_statement(entity, text)
    statements_of_scope = view.comparing(scope)[0]
    judged = statements_of_scope.judge(statement)
    is_loose = _is_loose(judged, body)
    replaced = dict.fromkeys(explicit_ids)
    if not is_loose:
        replaced.update(dict.fromkeys(_replaced_ids(judged)))
    replaced.update(dict.fromkeys(_outdated_ids(view, scope, body)))
    if replaced:
        return _replacement(view, replaced, body["source"])
    near: list[tuple[str, str]] = []
    if semantic:
        near += _about_the_same(view.near(scope, text), text, entity)
    doubtful = _doubtful_ids(near, judged, body, is_loose=is_loose)
    if doubtful:
        return FactWriteResult("", "tension", doubtful)
    near_duplicate = _near_duplicate(near, text, settings)
    if near_duplicate is not None:
        return near_duplicate
    return FactWriteResult("", "written")


def facts_side_by_side(entity: str, text: str, other: str) -> bool:
    """Return whether two facts of an entity are of different things or events.

    >>> facts_side_by_side("people/ann", "Met Captain Bo", "Met Captain Cy")
    True
    >>> facts_side_by_side("people/ann", "Lives in Bath", "Lives in York")
    False
    """
    if hold_side_by_side(text, other):
        return True
    return hold_side_by_side(as_statement(entity, text), as_statement(entity, other))


def _about_the_same(
    near: Iterable[tuple[str, str]], text: str, entity: str
) -> list[tuple[str, str]]:
    """Return the ids and texts of the facts that do not hold beside one anyway."""
    same: list[tuple[str, str]] = []
    for fact_id, other in near:
        if not facts_side_by_side(entity, text, other):
            same.append((fact_id, other))
    return same


def _doubtful_ids(
    near: Iterable[tuple[str, str]],
    judged: superseding.Judgement,
    body: Body,
    *,
    is_loose: bool,
) -> tuple[str, ...]:
    """Return the facts that may not hold beside a new one."""
    ids: list[str] = []
    if not is_loose:
        ids += judged.contradicts
    is_read = _is_read(body) and judged.statement.cue != "ends"
    if not is_read:
        ids += _clashing_ids(near, body["text"], judged)
    return tuple(dict.fromkeys(ids))


def _replacement(view: Facts, replaced: Iterable[str], source: str) -> FactWriteResult:
    """Return the result for a fact that replaces others, or may not do so."""
    ids = tuple(replaced)
    guarded = [old for old in ids if _is_guarded(view, old, source)]
    if guarded:
        return FactWriteResult("", "tension", tuple(guarded))
    return FactWriteResult("", "superseded", ids)


def _is_read(body: Body) -> bool:
    """Return whether a fact about a thing was read from a capture.

    Nobody wrote it as a fact, so that only a plain new value ends an older one.
    """
    return body["origin"] in TEXT_OF and body["entity"].startswith("projects/")


def _outdated_ids(view: Facts, scope: Scope, body: Body) -> list[str]:
    """Return the newest facts of a scope that a new one makes out of date.

    It gives another value to their attribute, says of it more or less than they do, or
    says that the thing itself is gone.
    """
    text = body["text"]
    is_read = _is_read(body)
    is_gone = is_read and GONE.fullmatch(text) is not None
    entity, _ = scope
    ids: list[str] = []
    for row in view.active_in(scope).tolist()[-_COMPARED:]:
        older = view.texts[row]
        if is_gone:
            ids.append(view.ids[row])
        elif facts_side_by_side(entity, text, older):
            continue
        elif _is_outdated(entity, text, older, is_read=is_read):
            ids.append(view.ids[row])
    if is_read:
        ids += _taken_back_ids(view, scope, text)
    return ids


def _is_outdated(entity: str, text: str, older: str, *, is_read: bool) -> bool:
    """Return whether a fact gives an older one's attribute another value.

    One that was read also takes the place of what says more or less of the attribute.
    """
    if _gives_value_anew(text, older):
        return True
    parts = fact_parts(entity, text)
    older_parts = fact_parts(entity, older)
    if gives_property_anew(parts, older_parts):
        return True
    return is_read and (says_again(parts, older_parts) or _restates(text, older))


def _gives_value_anew(newer: str, older: str) -> bool:
    """Return whether a statement gives another value, or names the old one as such."""
    return gives_new_value(newer, older) or gives_up_value(newer, older)


def _taken_back_ids(view: Facts, scope: Scope, text: str) -> list[str]:
    """Return the facts of a project that are of what is no longer so, or replaced."""
    if not TAKING_BACK.search(text):
        return []
    _, project = scope
    ids: list[str] = []
    for row in view.active_of_project(project).tolist():
        older = view.texts[row]
        if takes_back(text, older) or replaces_thing(text, older):
            ids.append(view.ids[row])
    return ids


def _restates(newer: str, older: str) -> bool:
    """Return whether a statement tells the same attribute of a thing in other words."""
    new = read_claim(newer)
    old = read_claim(older)
    if new is None or old is None or new.is_negative != old.is_negative:
        return False
    if (new.subject, new.attribute) != (old.subject, old.attribute):
        return False
    new_names = set(specifics(newer))
    old_names = set(specifics(older))
    if new_names - old_names and old_names - new_names:
        return False
    shared = set(new.value) & set(old.value)
    n_smaller = min(len(set(new.value)), len(set(old.value)))
    return len(shared) >= _FEWEST_SHARED and len(shared) >= _RESTATED * n_smaller


def _clashing_ids(
    near: Iterable[tuple[str, str]], text: str, judged: superseding.Judgement
) -> list[str]:
    """Return the facts near a text that may not hold beside it.

    What one may have many of, or what is plainly said of the same, stands side by side.
    """
    ids: list[str] = []
    for fact_id, other in near:
        if fact_id not in judged.adds_to and _clash(other, text):
            ids.append(fact_id)
    return ids


def _exact_duplicate(view: Facts, scope: Scope, text: str) -> str:
    """Return the id of the active fact that says exactly the same, or ''."""
    rows = view.active_in(scope)
    same_digest = rows[view.facts["digest"][rows] == form_number(text)]
    for row in same_digest.tolist():
        if same_fact(view.texts[row], text):
            return view.ids[row]
    return ""


def _replaced_ids(judged: superseding.Judgement) -> list[str]:
    """Return what a fact replaces by its subject and relation.

    What is said to replace another replaces also what says the same.
    """
    ids = [*judged.supersedes, *judged.ends]
    if judged.statement.cue:
        ids += judged.duplicates
    return ids


def _is_guarded(view: Facts, fact_id: str, source: str) -> bool:
    """Return whether a fact is an agent's or a user's, and the new one's source is not."""
    return TRUST[source] < TRUST["agent"] <= view.trust_of(fact_id)


def _near_duplicate(
    near: Iterable[tuple[str, str]], text: str, settings: FactSettings
) -> FactWriteResult | None:
    """Return the result for a text that says nearly the same as a fact, or None."""
    for fact_id, other in near:
        alike = likeness(other, text)
        if alike < settings.near_duplicate_threshold:
            continue
        if _signs(other) == _signs(text):
            return FactWriteResult(
                fact_id, "near_duplicate", (fact_id,), likeness=round(alike, 3)
            )
    return None


def _active_id(view: Facts, fact_id: str) -> str:
    """Return the id of an active fact that is to be replaced.

    Raises:
        InvalidInput: There is no such active fact.
    """
    row = view.ids.find(fact_id)
    if row is None or view.facts["superseded_at"][row]:
        raise InvalidInput(
            f"got {fact_id!r} to supersede; allowed is the id of an active fact"
        )
    return fact_id


def _is_loose(judged: superseding.Judgement, body: Body) -> bool:
    """Return whether a fact is no ground to think that another ended.

    It states of its entity, or of "it", something that one may have many of. "Ann is a
    nurse" and "Ann loves art" hold beside "Ann is tired" and "Ann loves tea". Only of
    what one is known to have once, or of a kind that is named ("favourite editor"),
    something gives way unasked; and never to a long or a proposing sentence, which the
    rules read badly.
    """
    statement = judged.statement
    text = body["text"]
    if _is_read(body) and statement.cue != "ends":
        return True
    if len(text.split()) > _PLAIN_WORDS or _DIRECTIVE.search(text):
        return True
    if statement.cue in ("ends", "replaces"):
        return False
    if not _is_about_entity(statement.subject, body["entity"]):
        return False
    if not statement.holds:
        return True
    return statement.holds == "open" and not _KIND_NAMED.search(text)


def _is_about_entity(subject: str, entity: str) -> bool:
    return subject in _PRONOUNS or subject in entity.replace("-", " ")


def _clash(old: str, new: str) -> bool:
    """Return whether two facts may not both hold.

    Two directives clash only where one takes the other back, plainly.
    """
    if not (_DIRECTIVE.search(old) and _DIRECTIVE.search(new)):
        return contradiction(old, new) >= CONTRADICTS
    if _LIMITED.search(old) or _LIMITED.search(new):
        return False
    old_directive = directive_of(Span(0, len(old), old))
    new_directive = directive_of(Span(0, len(new), new))
    if old_directive is None or new_directive is None:
        return False
    return reverses(new_directive, old_directive)


def _signs(text: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return what two facts that are the same have in common.

    It is the signed tokens; the numbers, and the capitalized words after the first.
    """
    words = set[str]()
    for index, word in enumerate(text.split()):
        if word[:1].isdigit() or (index and word[:1].isupper()):
            words.add(word.strip(".,;:!?"))
    return signed_tokens(text), frozenset(words)


# Daily notes and notes of the work; facts; MEMORY.md and SOUL.md.
SPACES = ("ops", "notes", "self")
# By kind of event; any other is of ops.
_SPACE_OF = {"self_added": "self", "fact": "notes"}
_LATIN = "a b v g d e e zh z i y k l m n o p r s t u f kh ts ch sh shch  y  e yu ya"
_CYRILLIC = dict(
    zip("абвгдеёжзийклмнопрстуфхцчшщъыьэюя", _LATIN.split(" "), strict=True)
)
_PATH = lazy_pattern(
    r"(?:life/)?(people|projects|archives)/([a-z0-9][a-z0-9-]{0,63})/?"
)


def check_line(
    home: Home, text: str, source: str, most_characters: int | None = None
) -> str:
    """Return a text on one line, without secrets.

    Args:
        home: Its settings bound how many bytes the text may have.
        text: The text.
        source: Who it is from, a key of `TRUST`.
        most_characters: How many characters it may have; None: any number.

    Raises:
        InvalidInput: The text is empty or too long, or the source is unknown.
    """
    check_word("source", source, TRUST)
    text = kept_text(folded(check_text(text, home.settings.max_text_bytes)))
    if most_characters is not None and len(text) > most_characters:
        raise InvalidInput(
            f"got a text of {len(text)} characters; allowed are up to"
            f" {most_characters}: shorten it"
        )
    return text


def check_flow(home: Home, lineage: Sequence[str], into: str) -> None:
    """Check that a text does not rest on an event of a later space than its own.

    Content flows one way: from notes of the work to facts, and from facts to MEMORY.md
    and SOUL.md.

    Args:
        home: Where the events are.
        lineage: The ids of the events that the text rests on.
        into: The space, of `SPACES`, that is written into.

    Raises:
        InvalidInput: The text is of a later space.
    """
    for event in home.journal.read(ids=list(lineage)):
        space = _SPACE_OF.get(event.kind, "ops")
        if SPACES.index(space) > SPACES.index(into):
            raise InvalidInput(
                f"got a text of {space} for {into}; allowed is {' → '.join(SPACES)}:"
                " use own words"
            )


def check_entity(path: str) -> str:
    r"""Return an entity's path in its one form, slashes of Windows turned.

    Raises:
        InvalidInput: It is no path of an entity.

    >>> check_entity("people\\ann")
    'people/ann'
    """
    match = None
    if isinstance(path, str):
        match = _PATH.fullmatch(path.replace("\\", "/").lower())
    if match is None:
        allowed = (
            "people/NAME, projects/NAME and archives/NAME, a NAME of 1 to 64 of a-z 0-9"
            " -, the first no -"
        )
        raise InvalidInput(f"got the entity {path!r}; allowed are {allowed}")
    return f"{match[1]}/{match[2]}"


def slug_of(name: str) -> str:
    """Return a name as an entity's last part.

    It is 'unnamed' where no Latin or Russian letter and no digit is in it.

    >>> slug_of("Ann O'Neil"), slug_of("Zoë"), slug_of("Женя Щукин")
    ('ann-o-neil', 'zoe', 'zhenya-shchukin')
    """
    lower = unicodedata.normalize("NFC", name).lower()
    latin = "".join(_CYRILLIC.get(sign, sign) for sign in lower)
    plain = unicodedata.normalize("NFKD", latin).encode("ascii", "ignore").decode()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    return slug[:64].strip("-") or "unnamed"
