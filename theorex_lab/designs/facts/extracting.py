"""Facts from what was captured: sentences of people and agents that signal something worth keeping, at flush and night."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from theorex_lab.designs.facts import checks, signals, writing
from theorex_lab.designs.facts.channels import Channels
from theorex_lab.designs.facts.facts import Facts
from theorex_lab.errors import AlreadyThere
from theorex_lab.home import Home
from theorex_lab.ids import SCANNER, derived_event_id
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.observation import AVOID_TYPE, FIX_TYPE
from theorex_lab.search.index import SPEAKER
from theorex_lab.search.items import MOMENT_TYPE

TEXT_OF = {"prompt": "text", "observation": "text"}
# Of several categories that a sentence signals, the first of these is the fact's.
_ORDER = ("correction", "decision", "preference", "instruction", "identity", "milestone")
_OF_THE_PERSON = frozenset(("preference", "instruction", "identity"))
_LOCAL = re.compile(r"[`/\\$_]|\w\.\w|(?:^|\s)--?\w|\d")  # names a file, a command or a place: of its project
_DERIVED = frozenset((FIX_TYPE, AVOID_TYPE, MOMENT_TYPE, "summary", "graduated"))


class Extracted(NamedTuple):
    """What was read of the captures up to seq `upto`: facts written, those of them that replaced others or are in tension."""

    upto: int
    captures: int = 0
    facts: int = 0
    superseded: int = 0
    tensions: int = 0


def watermark(home: Home) -> int:
    """The seq up to which captures were read for facts; the highest, since it only goes forwards."""
    with home.views.reading(Facts) as view:
        return int(view.marks["upto"].max(initial=0))


def keep_watermark(home: Home, found: Extracted) -> bool:
    """Append how far captures were read; False where that was kept already. It only goes forwards."""
    with home.journal.exclusive() as append:
        if not found.captures or found.upto <= watermark(home):
            return False
        append(new_event("extracted", found._asdict(), agent=SCANNER, at=home.clock.now()))
    return True


def extract_facts(home: Home, upto: int | None = None) -> Extracted:
    """Write the facts of the captures after the watermark, up to seq `upto`; repeating it writes nothing twice.

    The watermark stays: whoever is content with the result keeps it, see `keep_watermark`.
    """
    whole = home.in_project("")
    last = whole.journal.last_seq() if upto is None else upto
    counted, captures = Counter[str](), 0
    for event in whole.journal.tail(watermark(home), kinds=list(TEXT_OF), upto=last):
        captures += 1
        for new in facts_said(whole, event):
            try:
                counted[writing.write_fact(whole, new).action] += 1
            except AlreadyThere:  # it was read before a process was stopped, and has been replaced since
                counted["again"] += 1
    written = counted["written"] + counted["superseded"] + counted["tension"]
    return Extracted(last, captures, written, counted["superseded"], counted["tension"])


def extract_new(home: Home, *_: str) -> Extracted:
    """Read what came since, and keep how far that is; where an agent's session ends, what waits of others too."""
    found = extract_facts(home)
    keep_watermark(home, found)
    return found


def facts_said(home: Home, event: Event) -> Iterator[writing.NewFact]:
    """The facts that a capture states, each of whom or what it is about."""
    body = event.body
    if body.get("subagent") or body.get("type") in _DERIVED:
        return
    text, by_user = str(body.get(TEXT_OF[event.kind], "")), body.get("source") == "user"
    speaker = SPEAKER.match(text) if event.kind == "observation" else None
    who = speaker[1] if speaker else "user" if by_user else event.agent
    said = text[speaker.end() :] if speaker else text
    for number, found in enumerate(signals.facts_in(said, "user" if by_user else "agent")):
        category = min(found.categories, key=_ORDER.index)
        entity, project = _about(home, body.get("project", ""), who, category, found.sentence)
        yield writing.NewFact(
            entity, found.sentence, signals.FACT_CATEGORY.get(category, category), found.confidence, "pattern" if category in _OF_THE_PERSON else "episode",
            source=body.get("source", "import"), origin=event.kind, lineage=(event.id,), at=min(event.at, home.clock.now()),
            event_id=derived_event_id("fact", event.id, number), agent=event.agent, project=project,
            noted=event.id if event.kind == "observation" else "")  # fmt: skip


def _about(home: Home, project: str, who: str, category: str, text: str) -> tuple[str, str]:
    """Whom or what a sentence is about, and the project that it stays in: '' for what is known everywhere.

    What is said in a group stays there; in a chat of two, it is about the person.
    """
    with home.views.reading(Channels) as channels:
        group = channels.is_group(project)
    person = f"people/{checks.slug_of(who)}"
    if group is not None:
        return person, project if group else ""
    if project and category not in _OF_THE_PERSON and who in ("user", "main"):
        return f"projects/{checks.slug_of(re.sub(r'-[0-9a-f]{8}$', '', project))}", project
    return person, project if _LOCAL.search(text) else ""
