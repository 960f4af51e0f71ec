"""What comes back to an agent: contexts, their sentences (fixes and what to avoid), and
a person's word for those that were only heard.
"""

import math
from collections.abc import Hashable, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.errors import AlreadyThere, InvalidInput
from theorex_lab.core.ids import check_agent, derived_event_id
from theorex_lab.designs.theorex.axon import Axon, Mask
from theorex_lab.designs.theorex.flash import Flash
from theorex_lab.designs.theorex.items import TITLES
from theorex_lab.designs.theorex.scores import Chosen, law_of, scores_of
from theorex_lab.designs.theorex.stages import SharedWeb, ShortTerm, shared_concepts
from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import Event, new_event
from theorex_lab.journal.view import Views
from theorex_lab.memory.annotations import as_marked
from theorex_lab.memory.briefing.context import (
    ChosenLines,
    Context,
    as_markdown,
    items_of,
    listed,
    marked_up,
    sections_of,
)
from theorex_lab.memory.briefing.token_budget import (
    CONCEPT,
    TokenBudget,
    age_in_words,
    count_tokens,
    trusted_first,
)
from theorex_lab.memory.contract import ContextLine, ContextRequest, Home
from theorex_lab.memory.decay import Items, Tier, tiers
from theorex_lab.memory.observation import AVOID_TYPE, FIX_TYPE, TRUST, owner_of
from theorex_lab.text.line import NOTICE, escape, fence, one_line

# Tokens and items of the context that a model is given.
BUDGETS = {
    "ministral-3b": (4_096, 15),
    "qwen3-32b": (6_144, 25),
    "claude-sonnet": (16_000, 60),
    "claude-opus": (20_000, 80),
    "default": (4_096, 20),
}
_RECENT = "recent"
_SHOWN = (Tier.ACTIVE, Tier.MILD)
_FLASH_FIXES = 5
_FLASH_ACTIVE = 10
_FLASH_RECENT = 5
# of the end of an id, which differs from event to event where the beginnings are times
_SHORT_CHARACTERS = 8


def concept_lines(home: Home, wanted: ContextRequest) -> list[ContextLine]:
    """The concepts of each agent that were mentioned in the home's project, or in none,
    hottest first.
    """
    with home.views.reading(Axon) as axon:
        return _concepts(axon, home, wanted.now)


def _concepts(
    axon: Axon,
    home: Home,
    now: int,
    agents: Chosen = None,
    shown: Sequence[Tier] = _SHOWN,
) -> list[ContextLine]:
    """A line a concept: ACTIVE ones, then MILD ones, hottest first."""
    current = scores_of(
        axon, now, home.settings, agents=agents, among=axon.within(home.projects)
    )
    lines: list[ContextLine] = []
    for tier in shown:
        for position in current.order[current.tier[current.order] == tier].tolist():
            row = int(current.rows[position])
            numbers = {
                name: int(axon.concepts[name][row])
                for name in ("concept_id", "count", "last_seen", "trust")
            }
            agent = axon.agents[int(axon.concepts["agent"][row])]
            lines.append(_concept_line(agent, axon.surfaces[row], now, **numbers))
    return lines


def _concept_line(
    agent: str,
    label: str,
    now: int,
    *,
    concept_id: int,
    count: int,
    last_seen: int,
    trust: int,
) -> ContextLine:
    """`label _(age, xN)_`, the times above 3 only; what is not trusted goes into a
    fence and needs no mark-up.
    """
    age = age_in_words((now - last_seen) / MICROSECONDS_PER_DAY)
    return marked_up(
        CONCEPT,
        agent,
        label,
        f"{age}, x{count}" if count > 3 else age,
        trust,
        (str(concept_id),),
    )


def render_for_model(
    home: Home, model: str = "default", *, agent: str = "main"
) -> Context:
    """Fixes and the agent's own and the shared concepts within a model's budget:
    `[Boot: name | budget: Bt | concepts: n]` first.

    Of the home's project or of none. Budgets (tokens, items) are those of BUDGETS; a
    model that is not in it has the default's. Sentences may take half of the budget.
    Hearsay is left out first (at most a quarter of the tokens is for it), then the
    coldest.
    """
    budget, most = BUDGETS.get(model, BUDGETS["default"])
    now = home.clock.now()
    said = as_marked(home, sentence_lines(home, ContextRequest(now, budget)))
    lines = as_marked(home, _own_and_shared(home, now, check_agent(agent)), as_markdown)
    name = escape(model)
    room = TokenBudget(
        budget,
        used=count_tokens(
            f"[Boot: {name} | budget: {budget}t | concepts: {most}]\n{NOTICE}\n"
        )
        + 16,
    )
    told = _take_sentences(room, said, most // 2)
    left = most - len(told.lines)
    kept = room.take(lines, headings=False, most=left)
    kept += room.take_hearsay(lines, headings=False, most=left - len(kept))
    gap = [""] if kept and told.lines else []
    head = [f"[Boot: {name} | budget: {budget}t | concepts: {len(kept)}]", NOTICE]
    text = "\n".join([*head, *sections_of(told), *gap, *listed(kept), ""])
    owners = len({line.owner for line in kept})
    return Context(
        text,
        len(kept),
        told.fixes,
        owners,
        count_tokens(text),
        items_of([*told.lines, *kept]),
    )


def _own_and_shared(home: Home, now: int, agent: str) -> list[ContextLine]:
    with home.views.reading(Axon) as axon, home.views.reading(SharedWeb) as shared:
        lines = _concepts(axon, home, now, [agent])
        own = {
            axon.surfaces[row]
            for row in axon.rows_of([agent], axon.within(home.projects)).tolist()
        }
        given = shared_concepts(axon, shared, now, home.settings)
    for concept in given:
        if concept.text not in own and Tier[concept.tier] >= Tier.MILD:
            numbers = {
                name: getattr(concept, name)
                for name in ("concept_id", "count", "last_seen", "trust")
            }
            lines.append(_concept_line(concept.agent, concept.text, now, **numbers))
    return lines


def _take_sentences(
    room: TokenBudget, said: Sequence[ContextLine], most: int
) -> ChosenLines:
    """Up to `most` sentences that have room, in half of what is left; what was only
    heard in the part that is its own.
    """
    told = room.take(said, at_most=room.left // 2, most=most)
    return ChosenLines(told, room.take_hearsay(said, most=most - len(told)), [], TITLES)


def render_flash(home: Home, session: str, *, agent: str = "main") -> Context:
    """What a running session knows: fixes, up to ten ACTIVE concepts, and the last five
    that flushes kept.

    All of it is of the home's project or of none. How much of the session itself waits
    to be flushed stands in the first line. All of it is data.
    """
    now = home.clock.now()
    with home.views.reading(Axon) as axon, home.views.reading(ShortTerm) as short_term:
        active = _concepts(axon, home, now, [check_agent(agent)], [Tier.ACTIVE])
        recent = _kept_last(short_term, now, agent, home.projects)
    with home.views.reading(Flash) as flash:
        waiting = len(flash.pending(agent, session))
    fixes = as_marked(
        home, sentence_lines(home, ContextRequest(now, BUDGETS["default"][0]))
    )
    said = as_marked(
        home,
        trusted_first(active)[:_FLASH_ACTIVE] + trusted_first(recent)[:_FLASH_RECENT],
        as_markdown,
    )
    lines = [
        f"[Session: {escape(session)} | agent: {agent} | events not flushed: {waiting}]",
        NOTICE,
    ]
    room = TokenBudget(BUDGETS["default"][0], used=count_tokens("\n".join(lines)))
    told = _take_sentences(room, fixes, _FLASH_FIXES)
    taken = {*room.take(said), *room.take_hearsay(said)}
    lines += sections_of(told)
    shown = list(told.lines)
    for kind, title in ((CONCEPT, "Active"), (_RECENT, "Lately")):
        if kept := [line for line in said if line in taken and line.kind == kind]:
            shown += kept
            texts = [line.text for line in kept]
            lines += [
                f"## {title}",
                *(fence(texts, "short-term") if kind == _RECENT else listed(kept)),
            ]
    text = "\n".join(lines) + "\n"
    concepts = sum(line.kind == CONCEPT for line in shown)
    return Context(text, concepts, told.fixes, 1, count_tokens(text), items_of(shown))


def _kept_last(
    short_term: ShortTerm, now: int, agent: str, projects: Sequence[str] | None
) -> list[ContextLine]:
    """The labels that flushes kept, newest first, each once and as far trusted as it
    ever was.
    """
    table = short_term.records
    trust: dict[str, tuple[int, str]] = {}
    for row in short_term.window(now, agent=agent, projects=projects)[::-1].tolist():
        label = short_term.labels[int(table["surface"][row])]
        highest, item = trust.get(label, (0, str(table["concept_id"][row])))
        trust[label] = max(highest, int(table["trust"][row])), item
    heard = {
        label: None if level >= TRUST["agent"] else (agent, level)
        for label, (level, _) in trust.items()
    }
    return [
        ContextLine(_RECENT, agent, one_line(label), heard[label], (item,))
        for label, (_, item) in trust.items()
    ]


def sentence_lines(home: Home, wanted: ContextRequest) -> list[ContextLine]:
    """Fixes, then what to avoid: those ACTIVE or MILD by their own age, newest first;
    of the home's project or of none.

    Of what to avoid the newest of an agent's tag. What was heard comes last, each with
    the id by which a person confirms it. No sentence comes twice: what was heard never
    stands in the place of the owner's own words, nor beside them.
    """
    with home.views.reading(Axon) as axon:
        among = axon.observed_within(home.projects)
        events = [
            event
            for kind in TITLES
            for event in _of_type(axon, home, wanted.now, kind, among)
        ]
    said = confirmed(home.journal, [event.id for event in events if is_heard(event)])
    told = [
        (event, _sentence_line(event, wanted.now, event.id in said)) for event in events
    ]
    kept: dict[Hashable, tuple[str, ContextLine]] = {}
    for event, line in sorted(told, key=lambda pair: not pair[1].trusted):
        kept.setdefault(
            dedup_key(event, heard=not line.trusted),
            (plain(one_line(event.body["text"])), line),
        )
    lines: dict[str, ContextLine] = {}
    for text, line in kept.values():
        lines.setdefault(text, line)
    return list(lines.values())


def _of_type(axon: Axon, home: Home, now: int, wanted: str, among: Mask) -> list[Event]:
    table = axon.observations
    settings = home.settings
    rows = np.flatnonzero((table["type"] == axon.types.find(wanted)) & among)
    law = law_of(settings)
    age = (now - table["at"][rows]) / MICROSECONDS_PER_DAY
    items = Items.of(
        age,
        half_life_cap_days=settings.fix_half_life_days
        if wanted == FIX_TYPE
        else math.inf,
    )
    present = (
        tiers(
            law.importance(law.raw(items)),
            settings.active_threshold,
            settings.mild_threshold,
        )
        >= Tier.MILD
    )
    rows = rows[present][np.argsort(-table["at"][rows[present]], kind="stable")]
    by_seq = {
        event.seq: event
        for event in home.journal.read(seqs=table["seq"][rows].tolist())
    }
    return [by_seq[seq] for seq in table["seq"][rows].tolist() if seq in by_seq]


def _sentence_line(event: Event, now: int, is_confirmed: bool) -> ContextLine:
    owner = f"{owner_of(event)},confirmed" if is_confirmed else owner_of(event)
    heard = is_heard(event) and not is_confirmed
    age = age_in_words((now - event.at) / MICROSECONDS_PER_DAY)
    told = f"{age}, id {event.id[-_SHORT_CHARACTERS:]}" if heard else age
    heard_from = (event.agent, TRUST[event.body["source"]]) if heard else None
    return ContextLine(
        event.body["type"],
        owner,
        f"{one_line(event.body['text'])} ({told})",
        heard_from,
        (event.id,),
    )


def is_heard(event: Event) -> bool:
    """Whether a sentence holds the words of a tool, an import or a model.

    What to avoid is put together by a rule from the owner's own outcomes, and says only
    what those say.
    """
    source = event.body["source"]
    if event.body["type"] == AVOID_TYPE and source == "model" and event.lineage:
        return False
    return TRUST[source] < TRUST["agent"]


def dedup_key(event: Event, *, heard: bool) -> Hashable:
    """The key under which only the newest sentence is kept: its text, or the agent and
    tags of an anti-pattern.

    heard: not verified; such sentences have keys of their own.
    """
    tags = event.body["tags"] if event.body["type"] == AVOID_TYPE else ()
    return (heard, event.agent, *tags) if tags else plain(event.body["text"])


def plain(text: str) -> str:
    """A sentence without its type in front, by which two are told to say the same.

    >>> plain("trace_fix:  shorten the TTL") == plain("shorten the TTL")
    True
    """
    return " ".join(text.removeprefix(f"{FIX_TYPE}:").split())


class TrustedFix(NamedTuple):
    """What was confirmed: the observation, and its text."""

    observation_id: str
    text: str


def confirm(home: Home, observation_id: str) -> TrustedFix:
    """Note that a person vouches for a fix, or for what to avoid, named by its id or
    the end of it that a context shows.

    Repeating it changes nothing. Raises InvalidInput for an id that names none of them,
    several, or one that was erased.
    """
    event = _named(home.views, observation_id)
    body = {"observation_id": event.id}
    now = home.clock.now()
    made = derived_event_id("confirmed", event.id)
    whose = {"agent": event.agent, "session": event.session}
    done = new_event(
        "confirmed", body, **whose, at=now, lineage=[event.id], event_id=made
    )
    with (
        suppress(AlreadyThere),
        home.journal.exclusive() as append,
    ):  # it may have been confirmed before
        if not home.journal.read(ids=[event.id]):
            raise InvalidInput(
                f"{event.id} was erased meanwhile; nothing is left to confirm"
            )
        append(done)
    return TrustedFix(event.id, event.body["text"])


def confirmed(journal: Journal, observation_ids: Sequence[str]) -> set[str]:
    """Those of these observations that a person has confirmed."""
    by_id = {
        derived_event_id("confirmed", observation_id): observation_id
        for observation_id in observation_ids
    }
    return {by_id[event.id] for event in journal.read(ids=list(by_id))}


def _named(views: Views, observation_id: str) -> Event:
    with views.reading(Axon) as axon:
        kinds = np.isin(
            axon.observations["type"], axon.types.numbers(FIX_TYPE, AVOID_TYPE)
        )
        seqs = axon.observations["seq"][kinds].tolist()
    ends = isinstance(observation_id, str) and len(observation_id) >= _SHORT_CHARACTERS
    found = [
        event
        for event in views.journal.read(seqs=seqs)
        if ends and event.id.endswith(observation_id)
    ]
    if len(found) != 1:
        what = (
            f"which is the end of {len(found)} ids"
            if found
            else "which is no fix that is remembered"
        )
        allowed = f"the whole id of a fix, or its last {_SHORT_CHARACTERS} characters"
        shown = "as the context and `theorex trace-review --json` show them"
        raise InvalidInput(
            f"got the id {observation_id!r:.80}, {what}; allowed is {allowed}, {shown}"
        )
    return found[0]
