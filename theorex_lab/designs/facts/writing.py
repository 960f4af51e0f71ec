"""Writing facts: duplicates are not kept twice, what a fact replaces gives way, and
what contradicts becomes a tension.

What is asked of words that are handed in, entities among them, and which way content
may flow, is checked first.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import SCANNER, check_agent
from theorex_lab.designs.facts import ABSTRACTIONS, CATEGORIES, statements, superseding
from theorex_lab.designs.facts.facts import Facts, fact_by_id, form_number
from theorex_lab.designs.facts.note_view import tension_event
from theorex_lab.designs.facts.pairs import (
    CONTRADICTS,
    contradiction,
    likeness,
    same_fact,
    signed_tokens,
)
from theorex_lab.designs.facts.settings import FactSettings, fact_settings
from theorex_lab.journal.event import Body, Event, new_event
from theorex_lab.memory.contract import DesignApi, Home
from theorex_lab.memory.observation import TRUST, check_tags, check_text
from theorex_lab.text.directives import directive_of, reverses
from theorex_lab.text.line import folded
from theorex_lab.text.redact.redaction_scope import kept_text
from theorex_lab.text.spoken import Span

DESCRIPTION_CHARACTERS = 500
_PLAIN_WORDS = 16  # of a sentence that is read well
# What proposes or directs rather than states.
_DIRECTIVE = re.compile(
    r"\b(?:let's|instead of|rather than|always|never|please|must)\b|^\W*(?:don't|do"
    r" not)\b",
    re.I,
)
_LIMITED = re.compile(
    r"\b(?:without|unless|before|only|until)\b", re.I
)  # negates half of what a directive negates
_PRONOUNS = frozenset("it this that they these those there he she what".split())
_KIND_NAMED = re.compile(
    r"\b(?:favou?rite|preferred|as (?:an?|the|his|her|my|their|our)|for"
    r" (?:the|\w+ing))\b",
    re.I,
)


@dataclass(frozen=True)
class NewFact:
    """A fact to be written. Times: µs UTC, or None.

    abstraction: episode, pattern or principle.  source: who it is from, a key of
    `TRUST`.  origin: where it is from. supersedes: ids of the facts that it replaces,
    beside those that are found.  at: when it was learnt, None is now. event_id: of a
    fact that may be written again without being there twice.  noted: the id of the note
    that says it in these words.
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


class FactWriteResult(NamedTuple):
    """What became of a fact. id: its own, or of the fact that says the same already.

    action: written, duplicate, near_duplicate, superseded (it stands in the place of
    `of`), or tension (it was written, and may not hold beside `of`).  tension: the id
    of that note.  likeness: 0..1, to the near duplicate.
    """

    id: str
    action: str
    of: tuple[str, ...] = ()
    tension: str | None = None
    likeness: float | None = None
    event_id: str | None = None


def write_fact(home: Home, new: NewFact, *, semantic: bool = True) -> FactWriteResult:
    """Write a fact in one transaction: exact duplicate → what it replaces or
    contradicts → near duplicate → written.

    semantic: whether a fact that is nearly the same is left out. What an agent or a
    user said is never replaced by what a model, a tool or an import says: that becomes
    a tension. Raises InvalidInput for what is outside the rules.
    """
    body = _body(home, new)
    check_flow(home, new.lineage, "notes")
    home.views.get(Facts)  # what can be read before others wait
    with home.journal.exclusive() as append, home.views.reading(Facts) as view:
        found = _decide(
            view, fact_settings(home), body, semantic=semantic, explicit=new.supersedes
        )
        if found.action in ("duplicate", "near_duplicate"):
            return found
        body["fact_id"] = fact_id = view.next_id(body["entity"])
        body["supersedes"] = [*found.of] if found.action == "superseded" else []
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
        tension = None
        if found.action == "superseded":
            _replace(
                view,
                append,
                found.of,
                fact_id,
                "it was written in their place",
                at,
                fact.id,
            )
        elif found.action == "tension":
            place = home.in_project(new.project)
            facts = [*found.of, fact_id]
            noted = tension_event(
                place,
                facts,
                at=at,
                agent=new.agent,
                source=body["source"],
                lineage=[fact.id],
            )
            append(noted)
            tension = noted.body["note_id"]
    return found._replace(id=fact_id, tension=tension, event_id=fact.id)


def supersede(
    home: Home, old: str, by: str = "", *, why: str = "", vouched: bool = False
) -> None:
    """Let a fact stand in the place of another, or with '' let that one end. Raises
    InvalidInput where that cannot be.

    What a model, a tool or an import says never replaces what an agent or a user said,
    unless someone has `vouched` for it.
    """
    with home.journal.exclusive() as append, home.views.reading(Facts) as view:
        fact = fact_by_id(home, old)
        successor = fact_by_id(home, by) if by else None
        if not fact.active:
            raise InvalidInput(
                f"got {old}, which {fact.superseded_by or 'nothing'} replaced; allowed"
                " is an active one"
            )
        if successor is not None and (successor.id == old or not successor.active):
            raise InvalidInput(
                f"got {by} for {old}; allowed is another fact, an active one: chains"
                " have no circle"
            )
        source = successor.source if successor else "agent"
        if not vouched and TRUST[source] < TRUST["agent"] <= TRUST[fact.source]:
            told = f"{by}, from a source {source}, against {old}, from {fact.source}"
            raise InvalidInput(
                f"got {told}; allowed is an agent's or a user's word: note a tension,"
                " and accept it"
            )
        _replace(
            view,
            append,
            [old],
            by,
            why,
            home.clock.now(),
            successor.event_id if successor else fact.event_id,
        )


def undo_supersede(home: Home, old: str) -> None:
    """Let a fact hold again that another stood in the place of. Raises InvalidInput for
    one that is active.
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
    """Move what is known of an entity to archives/; returns its new path. Raises
    InvalidInput where there is nothing, or all is there.
    """
    old = check_entity(entity)
    new = f"archives/{old.partition('/')[2]}"
    with home.views.reading(Facts) as view:
        if not len(view.rows(old)) or old == new:
            raise InvalidInput(
                f"got the entity {entity!r}; allowed is one with facts, outside"
                " archives/"
            )
    DesignApi(home).append(
        "entity_archived", {"entity": old, "to": new, "project": ""}, agent=SCANNER
    )
    return new


def note_access(home: Home, *fact_ids: str) -> int:
    """Count a use of these facts; returns of how many. Raises InvalidInput for an
    unknown id, and counts none.
    """
    known = [fact_by_id(home, fact_id).id for fact_id in dict.fromkeys(fact_ids)]
    if known:
        DesignApi(home).append(
            "facts_accessed", {"facts": known, "project": home.project}, agent=SCANNER
        )
    return len(known)


def _replace(
    view: Facts,
    append: Callable[[Event], int],
    old: Sequence[str],
    by: str,
    why: str,
    at: int,
    lineage: str,
) -> None:
    """Say that facts hold no more: an event for each agent who wrote some of them,
    since it is theirs that search puts to sleep.
    """
    by_agent: dict[str, list[str]] = {}
    for fact_id in old:
        row = view.ids.find(fact_id)
        assert row is not None
        by_agent.setdefault(view.agents[int(view.facts["agent"][row])], []).append(
            fact_id
        )
    for agent, ids in by_agent.items():
        body = {"facts": ids, "by": by, "why": why, "undo": False}
        append(
            new_event("fact_superseded", body, agent=agent, lineage=[lineage], at=at)
        )


def _body(home: Home, new: NewFact) -> Body:
    """The body of a fact's event, all of it checked."""
    check_agent(new.agent)
    text = kept_text(check_text(new.text, home.settings.max_text_bytes))
    if len(text) > DESCRIPTION_CHARACTERS:
        raise InvalidInput(
            f"got {len(text)} characters; allowed are up to {DESCRIPTION_CHARACTERS}:"
            " write its parts"
        )
    for name, allowed in {
        "category": CATEGORIES,
        "abstraction": ABSTRACTIONS,
        "source": (*TRUST,),
    }.items():
        check_word(name, getattr(new, name), allowed)
    if (
        isinstance(new.confidence, bool)
        or not isinstance(new.confidence, int | float)
        or not 0 <= new.confidence <= 1
    ):
        raise InvalidInput(f"got the confidence {new.confidence!r}; allowed are 0 to 1")
    begins = new.valid_from
    ends = new.valid_to
    if begins is not None and ends is not None and begins >= ends:
        raise InvalidInput(
            f"got {to_iso(begins)} to {to_iso(ends)}; allowed is a beginning before"
            " the end"
        )
    return {
        "entity": check_entity(new.entity),
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
    }


def _decide(
    view: Facts,
    settings: FactSettings,
    body: Body,
    *,
    semantic: bool,
    explicit: Sequence[str],
) -> FactWriteResult:
    """What is to become of a fact, by the active facts of its entity."""
    scope = (body["entity"], body["project"])
    text = body["text"]
    rows = view.active_in(scope)
    for row in rows[view.facts["digest"][rows] == form_number(text)].tolist():
        if same_fact(view.texts[row], text):
            return FactWriteResult(
                view.ids[row], "duplicate", (view.ids[row],), likeness=1.0
            )
    asked = [_known(view, fact_id) for fact_id in explicit]
    judged = view.comparing(scope)[0].judge(statements.as_statement(scope[0], text))
    # By subject and relation; what is said to replace another replaces also what says
    # the same.
    found = [
        *judged.supersedes,
        *judged.ends,
        *(judged.duplicates if judged.statement.cue else ()),
    ]
    replaced = dict.fromkeys([*asked, *(() if _is_loose(judged, body) else found)])
    guarded = [
        old
        for old in replaced
        if TRUST[body["source"]] < TRUST["agent"] <= view.trust_of(old)
    ]
    if guarded:
        return FactWriteResult("", "tension", tuple(guarded))
    if replaced:
        return FactWriteResult("", "superseded", tuple(replaced))
    near = view.near(scope, text) if semantic else []
    doubtful = [fact_id for fact_id, other in near if _clash(other, text)]
    # What one may have many of, or what is plainly said of the same, stands side by
    # side.
    near_by = () if _is_loose(judged, body) else judged.contradicts
    doubtful = [
        *dict.fromkeys([*near_by, *(id for id in doubtful if id not in judged.adds_to)])
    ]
    if doubtful:
        return FactWriteResult("", "tension", tuple(doubtful))
    for fact_id, other in near:
        alike = likeness(other, text)
        if alike >= settings.near_duplicate_threshold and _signs(other) == _signs(text):
            return FactWriteResult(
                fact_id, "near_duplicate", (fact_id,), likeness=round(alike, 3)
            )
    return FactWriteResult("", "written")


def _known(view: Facts, fact_id: str) -> str:
    """The id of an active fact that is to be replaced. Raises InvalidInput for any
    other.
    """
    row = view.ids.find(fact_id)
    if row is None or view.facts["superseded_at"][row]:
        raise InvalidInput(
            f"got {fact_id!r} to supersede; allowed is the id of an active fact"
        )
    return fact_id


def _is_loose(judged: superseding.Judgement, body: Body) -> bool:
    """Whether a fact is no ground to think that another ended: of its entity, or of
    "it", something that one may have many of.

    "Ann is a nurse" and "Ann loves art" hold beside "Ann is tired" and "Ann loves tea".
    Only of what one is known to have once, or of a kind that is named ("favourite
    editor"), something gives way unasked; and never to a long or a proposing sentence,
    which the rules read badly.
    """
    new = judged.statement
    own = new.subject in _PRONOUNS or new.subject in body["entity"].replace("-", " ")
    many = not new.holds or (
        new.holds == "open" and not _KIND_NAMED.search(body["text"])
    )
    rambles = len(body["text"].split()) > _PLAIN_WORDS or _DIRECTIVE.search(
        body["text"]
    )
    return bool(rambles) or (own and many and new.cue not in ("ends", "replaces"))


def _clash(old: str, new: str) -> bool:
    """Whether two facts may not both hold; two directives only where one takes the
    other back, plainly.
    """
    if not (_DIRECTIVE.search(old) and _DIRECTIVE.search(new)):
        return contradiction(old, new) >= CONTRADICTS
    one, other = (directive_of(Span(0, len(text), text)) for text in (old, new))
    plain = not any(_LIMITED.search(text) for text in (old, new))
    return plain and one is not None and other is not None and reverses(other, one)


def _signs(text: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Its signed tokens; its numbers, and its capitalized words after the first. Two
    facts differ where these do.
    """
    named = (
        word
        for at, word in enumerate(text.split())
        if word[:1].isdigit() or (at and word[:1].isupper())
    )
    return signed_tokens(text), frozenset(word.strip(".,;:!?") for word in named)


SPACES = (
    "ops",
    "notes",
    "self",
)  # daily notes and notes of the work; facts; MEMORY.md and SOUL.md
_SPACE_OF = {
    "self_added": "self",
    "fact": "notes",
}  # by kind of event; any other is of ops
_LATIN = "a b v g d e e zh z i y k l m n o p r s t u f kh ts ch sh shch  y  e yu ya"
_CYRILLIC = dict(
    zip("абвгдеёжзийклмнопрстуфхцчшщъыьэюя", _LATIN.split(" "), strict=True)
)
_PATH = re.compile(r"(?:life/)?(people|projects|archives)/([a-z0-9][a-z0-9-]{0,63})/?")


def check_word(what: str, given: str, allowed: Collection[str]) -> str:
    """Return what was given, or raise InvalidInput where it is none of these.

    >>> check_word("type", "cron-task", ["cron-task", "dev-project"])
    'cron-task'
    """
    if given not in allowed:
        raise InvalidInput(
            f"got the {what} {given!r:.100}; allowed: {', '.join(allowed) or 'none'}"
        )
    return given


def check_line(
    home: Home, text: str, source: str, most_characters: int | None = None
) -> str:
    """A text on one line, without secrets. Raises InvalidInput for one that is empty or
    too long, or an unknown source.
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
    """Raise InvalidInput where what is written into a space (of `SPACES`) rests on an
    event of a later one.

    Content flows one way: from notes of the work to facts, and from facts to MEMORY.md
    and SOUL.md.
    """
    for event in home.journal.read(ids=list(lineage)):
        space = _SPACE_OF.get(event.kind, "ops")
        if SPACES.index(space) > SPACES.index(into):
            raise InvalidInput(
                f"got a text of {space} for {into}; allowed is {' → '.join(SPACES)}:"
                " use own words"
            )


def check_entity(path: str) -> str:
    """An entity's path in its one form, slashes of Windows turned. Raises InvalidInput
    for any other path.

    >>> check_entity("people\\\\ann")
    'people/ann'
    """
    found = (
        _PATH.fullmatch(path.replace("\\", "/").lower())
        if isinstance(path, str)
        else None
    )
    if found is None:
        allowed = (
            "people/NAME, projects/NAME and archives/NAME, a NAME of 1 to 64 of a-z 0-9"
            " -, the first no -"
        )
        raise InvalidInput(f"got the entity {path!r}; allowed are {allowed}")
    return f"{found[1]}/{found[2]}"


def slug_of(name: str) -> str:
    """A name as an entity's last part; 'unnamed' where no Latin or Russian letter and
    no digit is in it.

    >>> slug_of("Ann O'Neil"), slug_of("Zoë"), slug_of("Женя Щукин")
    ('ann-o-neil', 'zoe', 'zhenya-shchukin')
    """
    latin = "".join(
        _CYRILLIC.get(sign, sign) for sign in unicodedata.normalize("NFC", name).lower()
    )
    plain = unicodedata.normalize("NFKD", latin).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:64].strip("-") or "unnamed"
