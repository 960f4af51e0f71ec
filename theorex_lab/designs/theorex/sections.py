"""What comes back to an agent: contexts and their sentences.

The sentences are fixes and what to avoid. A person can trust those that are untrusted.
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
from theorex_lab.designs.theorex.rendering import (
    ChosenLines,
    Context,
    as_markdown,
    items_of,
    listed,
    marked_up,
    sections_of,
)
from theorex_lab.designs.theorex.scores import Chosen, law_of, scores_of
from theorex_lab.designs.theorex.stages import SharedWeb, ShortTerm, shared_concepts
from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import Event, new_event
from theorex_lab.journal.view import Views
from theorex_lab.memory.annotations import as_marked
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
from theorex_lab.text.line import NOTICE, escape, fence, folded, one_line

# Tokens and items of the context that a model is given.
BUDGETS = {
    "ministral-3b": (4_096, 15),
    "qwen3-32b": (6_144, 25),
    "claude-sonnet": (16_000, 60),
    "claude-opus": (20_000, 80),
    "default": (4_096, 20),
}
_SELDOM = 3  # mentions, up to which their number is not shown
_RECENT = "recent"
_SHOWN = (Tier.ACTIVE, Tier.MILD)
_FLASH_FIXES = 5
_FLASH_ACTIVE = 10
_FLASH_RECENT = 5
# of the end of an id, which differs from event to event where the beginnings are times
_SHORT_CHARACTERS = 8


def concept_lines(home: Home, request: ContextRequest) -> list[ContextLine]:
    """Return the concepts of each agent, hottest first.

    They were mentioned in the home's project, or in none.
    """
    with home.views.reading(Axon) as axon:
        return _concepts(axon, home, request.now)


def _concepts(
    axon: Axon,
    home: Home,
    now: int,
    agents: Chosen = None,
    tiers_listed: Sequence[Tier] = _SHOWN,
) -> list[ContextLine]:
    """Return a line a concept: by tier in the order of `tiers_listed`, hottest first."""
    current = scores_of(
        axon,
        now,
        home.settings,
        agents=agents,
        among=axon.within(home.projects),
    )
    table = axon.concepts
    rows_in_order = current.rows[current.order]
    tiers_in_order = current.tier[current.order]
    lines: list[ContextLine] = []
    for tier in tiers_listed:
        rows_of_tier = rows_in_order[tiers_in_order == tier]
        for row in rows_of_tier.tolist():
            line = _concept_line(
                axon.agents[int(table["agent"][row])],
                axon.surfaces[row],
                now,
                concept_id=int(table["concept_id"][row]),
                count=int(table["count"][row]),
                last_seen=int(table["last_seen"][row]),
                trust=int(table["trust"][row]),
            )
            lines.append(line)
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
    """Return `label _(age, xN)_`, the times above 3 only.

    What is not trusted goes into a fence and needs no mark-up.
    """
    days = (now - last_seen) / MICROSECONDS_PER_DAY
    note = age_in_words(days)
    if count > _SELDOM:
        note = f"{note}, x{count}"
    items = (str(concept_id),)
    return marked_up(CONCEPT, agent, label, note=note, trust=trust, items=items)


def render_for_model(
    home: Home, model: str = "default", *, agent: str = "main"
) -> Context:
    """Render fixes and the agent's own and the shared concepts within a model's budget.

    The first line is `[Boot: name | budget: Bt | concepts: n]`. What is rendered is of
    the home's project or of none. Budgets (tokens, items) are those of BUDGETS; a model
    that is not in it has the default's. Sentences may take half of the budget. Untrusted
    text may take a quarter of the tokens; it is left out first, then the coldest.

    Args:
        home: Whose memory it is.
        model: The model's name.
        agent: Whose concepts come first.
    """
    budget, most = BUDGETS.get(model, BUDGETS["default"])
    now = home.clock.now()
    request = ContextRequest(now, budget)
    sentences = as_marked(home, sentence_lines(home, request))
    all_concepts = _own_and_shared(home, now, check_agent(agent))
    concepts = as_marked(home, all_concepts, as_markdown)
    start = f"[Boot: {escape(model)} | budget: {budget}t | concepts: "
    head_tokens = count_tokens(f"{start}{most}]\n{NOTICE}\n") + 16
    room = TokenBudget(budget, used=head_tokens)
    chosen = _take_sentences(room, sentences, most // 2)
    left = most - len(chosen.lines)
    concept_lines = room.take(concepts, headings=False, most=left)
    left -= len(concept_lines)
    concept_lines += room.take_hearsay(concepts, headings=False, most=left)
    lines = [f"{start}{len(concept_lines)}]", NOTICE, *sections_of(chosen)]
    if concept_lines and chosen.lines:
        lines.append("")
    text = "\n".join([*lines, *listed(concept_lines), ""])
    owners = {line.owner for line in concept_lines}
    return Context(
        text,
        len(concept_lines),
        chosen.fixes,
        len(owners),
        count_tokens(text),
        items_of([*chosen.lines, *concept_lines]),
    )


def _own_and_shared(home: Home, now: int, agent: str) -> list[ContextLine]:
    with home.views.reading(Axon) as axon, home.views.reading(SharedWeb) as shared:
        lines = _concepts(axon, home, now, [agent])
        agent_rows = axon.rows_of([agent], axon.within(home.projects)).tolist()
        agent_surfaces = {axon.surfaces[row] for row in agent_rows}
        shared_web = shared_concepts(axon, shared, now, home.settings)
    for concept in shared_web:
        if concept.text in agent_surfaces:
            continue
        if Tier[concept.tier] < Tier.MILD:
            continue
        line = _concept_line(
            concept.agent,
            concept.text,
            now,
            concept_id=concept.concept_id,
            count=concept.count,
            last_seen=concept.last_seen,
            trust=concept.trust,
        )
        lines.append(line)
    return lines


def _take_sentences(
    room: TokenBudget, sentences: Sequence[ContextLine], most: int
) -> ChosenLines:
    """Take up to `most` sentences that have room, in half of what is left.

    Unverified ones are to have room in the part that is for them.
    """
    trusted = room.take(sentences, at_most=room.left // 2, most=most)
    unverified = room.take_hearsay(sentences, most=most - len(trusted))
    return ChosenLines(trusted, unverified, TITLES)


def render_flash(home: Home, session: str, *, agent: str = "main") -> Context:
    """Render what a running session knows.

    It is fixes, up to ten ACTIVE concepts, and the last five that flushes kept. All of
    it is of the home's project or of none. How much of the session itself waits to be
    flushed stands in the first line. All of it is data.

    Args:
        home: Whose memory it is.
        session: The session's id.
        agent: Whose session it is.
    """
    now = home.clock.now()
    budget, _ = BUDGETS["default"]
    with home.views.reading(Axon) as axon, home.views.reading(ShortTerm) as short_term:
        active = _concepts(axon, home, now, [check_agent(agent)], [Tier.ACTIVE])
        recent = _kept_last(short_term, now, agent, home.projects)
    with home.views.reading(Flash) as flash:
        n_pending = len(flash.pending(agent, session))
    request = ContextRequest(now, budget)
    fixes = as_marked(home, sentence_lines(home, request))
    shown = trusted_first(active)[:_FLASH_ACTIVE]
    shown += trusted_first(recent)[:_FLASH_RECENT]
    candidates = as_marked(home, shown, as_markdown)
    texts = [
        f"[Session: {escape(session)} | agent: {agent} | events not flushed:"
        f" {n_pending}]",
        NOTICE,
    ]
    room = TokenBudget(budget, used=count_tokens("\n".join(texts)))
    sentences = _take_sentences(room, fixes, _FLASH_FIXES)
    chosen = {*room.take(candidates), *room.take_hearsay(candidates)}
    chosen_lines = [line for line in candidates if line in chosen]
    active_lines = [line for line in chosen_lines if line.kind == CONCEPT]
    recent_lines = [line for line in chosen_lines if line.kind == _RECENT]
    texts += sections_of(sentences)
    if active_lines:
        texts += ["## Active", *listed(active_lines)]
    if recent_lines:
        texts.append("## Lately")
        texts += fence([line.text for line in recent_lines], "short-term")
    text = "\n".join(texts) + "\n"
    return Context(
        text,
        len(active_lines),
        sentences.fixes,
        1,
        count_tokens(text),
        items_of([*sentences.lines, *active_lines, *recent_lines]),
    )


def _kept_last(
    short_term: ShortTerm, now: int, agent: str, projects: Sequence[str] | None
) -> list[ContextLine]:
    """Return the labels that flushes kept, newest first.

    Each stands once, as far trusted as it ever was.
    """
    table = short_term.records
    trust_of: dict[str, int] = {}
    item_of: dict[str, str] = {}
    rows = short_term.window(now, agent=agent, projects=projects)
    newest_first = rows[::-1].tolist()
    for row in newest_first:
        surface = int(table["surface"][row])
        label = short_term.labels[surface]
        item_of.setdefault(label, str(table["concept_id"][row]))
        trust = int(table["trust"][row])
        trust_of[label] = max(trust_of.get(label, 0), trust)
    lines = []
    for label, item in item_of.items():
        trust = trust_of[label]
        untrusted_source = None
        if trust < TRUST["agent"]:
            untrusted_source = (agent, trust)
        text = one_line(label)
        line = ContextLine(_RECENT, agent, text, untrusted_source, (item,))
        lines.append(line)
    return lines


def sentence_lines(home: Home, request: ContextRequest) -> list[ContextLine]:
    """Return the fixes, then what to avoid, newest first.

    They are those ACTIVE or MILD by their own age, of the home's project or of none. Of
    what to avoid the newest of an agent's tag. What is unverified comes last, each with
    the id by which a person trusts it. No sentence comes twice: what is unverified
    never stands in the place of the owner's own words, nor beside them.
    """
    now = request.now
    events: list[Event] = []
    with home.views.reading(Axon) as axon:
        among = axon.observed_within(home.projects)
        for kind in TITLES:
            events += _of_type(axon, home, now, kind, among)
    unverified_ids = [event.id for event in events if is_untrusted(event)]
    confirmed_ids = confirmed(home.journal, unverified_ids)
    subjects = _subjects(home.journal, events)
    pairs: list[tuple[Event, ContextLine]] = []
    for event in events:
        is_confirmed = event.id in confirmed_ids
        line = _sentence_line(event, now, is_confirmed)
        if event.id in subjects:
            subject = subjects[event.id]
            statement = f"{subject}: {line.statement}"
            line = line._replace(statement=statement)
        pairs.append((event, line))
    newest: dict[Hashable, tuple[str, ContextLine]] = {}
    for event, line in sorted(pairs, key=lambda pair: not pair[1].trusted):
        key = dedup_key(event, is_unverified=not line.trusted)
        text = without_type(one_line(event.body["text"]))
        newest.setdefault(key, (text, line))
    lines: dict[str, ContextLine] = {}
    for text, line in newest.values():
        lines.setdefault(text, line)
    return list(lines.values())


def _subjects(journal: Journal, events: Sequence[Event]) -> dict[str, str]:
    """Return by id of a fix what had been decided when it failed that it mends.

    It is known of those fixes that a review made of an outcome.
    """
    fixes: dict[str, str] = {}
    for event in events:
        is_fix = event.body["type"] == FIX_TYPE
        if is_fix and event.lineage:
            fixes[event.id] = event.lineage[0]
    decisions: dict[str, str] = {}
    outcome_ids = list(set(fixes.values()))
    for source in journal.read(ids=outcome_ids):
        if source.kind == "outcome":
            decision = folded(source.body["decision"])
            decisions[source.id] = decision.rstrip(".:")
    subjects: dict[str, str] = {}
    for fix_id, outcome_id in fixes.items():
        if outcome_id in decisions:
            subjects[fix_id] = decisions[outcome_id]
    return subjects


def _of_type(
    axon: Axon, home: Home, now: int, observation_type: str, among: Mask
) -> list[Event]:
    """Return the observations of a type that are ACTIVE or MILD by age, newest first."""
    table = axon.observations
    settings = home.settings
    is_of_type = table["type"] == axon.types.find(observation_type)
    rows = np.flatnonzero(is_of_type & among)
    law = law_of(settings)
    half_life_cap = math.inf
    if observation_type == FIX_TYPE:
        half_life_cap = settings.fix_half_life_days
    age = (now - table["at"][rows]) / MICROSECONDS_PER_DAY
    items = Items.of(age, half_life_cap_days=half_life_cap)
    importance = law.importance(law.raw(items))
    tier = tiers(importance, settings.active_threshold, settings.mild_threshold)
    rows = rows[tier >= Tier.MILD]
    newest_first = np.argsort(-table["at"][rows], kind="stable")
    rows = rows[newest_first]
    seqs = table["seq"][rows].tolist()
    by_seq = {event.seq: event for event in home.journal.read(seqs=seqs)}
    return [by_seq[seq] for seq in seqs if seq in by_seq]


def _sentence_line(event: Event, now: int, is_confirmed: bool) -> ContextLine:
    owner = owner_of(event)
    note = age_in_words((now - event.at) / MICROSECONDS_PER_DAY)
    untrusted_source = None
    if is_confirmed:
        owner = f"{owner},trusted"
    elif is_untrusted(event):
        note = f"{note}, id {event.id[-_SHORT_CHARACTERS:]}"
        untrusted_source = (event.agent, TRUST[event.body["source"]])
    text = f"{one_line(event.body['text'])} ({note})"
    whole_text = folded(event.body["text"])
    return ContextLine(
        event.body["type"],
        owner,
        text,
        untrusted_source,
        (event.id,),
        statement=without_type(whole_text),
        at=event.at,
        confirmed=is_confirmed,
    )


def is_untrusted(event: Event) -> bool:
    """Return whether a sentence holds the words of a tool, an import or a model.

    What to avoid is put together by a rule from the owner's own outcomes, and says only
    what those say.
    """
    source = event.body["source"]
    if event.body["type"] == AVOID_TYPE and source == "model" and event.lineage:
        return False
    return TRUST[source] < TRUST["agent"]


def dedup_key(event: Event, *, is_unverified: bool) -> Hashable:
    """Return the key under which only the newest sentence is kept.

    It is the sentence's text, or the agent and tags of an anti-pattern. Unverified
    anti-patterns have keys of their own.
    """
    tags = event.body["tags"] if event.body["type"] == AVOID_TYPE else ()
    if not tags:
        return without_type(event.body["text"])
    return (is_unverified, event.agent, *tags)


def without_type(text: str) -> str:
    """Return a sentence without its type in front.

    Two sentences with the same form say the same.

    Args:
        text: The sentence, with or without its type.

    >>> without_type("trace_fix:  shorten the TTL") == without_type("shorten the TTL")
    True
    """
    return " ".join(text.removeprefix(f"{FIX_TYPE}:").split())


class TrustedFix(NamedTuple):
    """A fix that a person trusts.

    Attributes:
        observation_id: The id of its observation.
        text: Its text.
    """

    observation_id: str
    text: str


def trust_fix(home: Home, observation_id: str) -> TrustedFix:
    """Note that a person trusts a fix, or a sentence on what to avoid.

    Repeating it changes nothing.

    Args:
        home: Where it was written.
        observation_id: Its id, or the end of it that a context shows.

    Raises:
        InvalidInput: The id names none of them, several, or one that was erased.
    """
    event = _sentence_by_id(home.views, observation_id)
    confirmation = new_event(
        "confirmed",
        {"observation_id": event.id},
        agent=event.agent,
        session=event.session,
        at=home.clock.now(),
        lineage=[event.id],
        event_id=derived_event_id("confirmed", event.id),
    )
    # It may have been trusted before.
    with suppress(AlreadyThere), home.journal.exclusive() as append:
        if not home.journal.read(ids=[event.id]):
            raise InvalidInput(
                f"{event.id} was erased meanwhile; nothing is left to trust"
            )
        append(confirmation)
    return TrustedFix(event.id, event.body["text"])


def confirmed(journal: Journal, observation_ids: Sequence[str]) -> set[str]:
    """Return those of these observations that a person trusts.

    Args:
        journal: The journal that they are in.
        observation_ids: The ids of the observations.
    """
    by_id = {
        derived_event_id("confirmed", observation_id): observation_id
        for observation_id in observation_ids
    }
    return {by_id[event.id] for event in journal.read(ids=list(by_id))}


def fix_id(home: Home, observation_id: str) -> str:
    """Return the whole id of a fix, or of what to avoid; "" where it is neither.

    Args:
        home: Where it was written.
        observation_id: Its id, or the end of it that a context shows.
    """
    matches = _sentences_by_id(home.views, observation_id)
    if len(matches) != 1:
        return ""
    return matches[0].id


def _sentences_by_id(views: Views, observation_id: str) -> list[Event]:
    """Return the fixes, and what to avoid, whose ids are this or end so."""
    is_end = (
        isinstance(observation_id, str) and len(observation_id) >= _SHORT_CHARACTERS
    )
    if not is_end:
        return []
    with views.reading(Axon) as axon:
        types = axon.types.numbers(FIX_TYPE, AVOID_TYPE)
        is_sentence = np.isin(axon.observations["type"], types)
        seqs = axon.observations["seq"][is_sentence].tolist()
    events = views.journal.read(seqs=seqs)
    return [event for event in events if event.id.endswith(observation_id)]


def _sentence_by_id(views: Views, observation_id: str) -> Event:
    """Return the fix or what to avoid that an id, or the end of one, names."""
    matches = _sentences_by_id(views, observation_id)
    if len(matches) == 1:
        return matches[0]
    problem = "which is no fix that is remembered"
    if matches:
        problem = f"which is the end of {len(matches)} ids"
    raise InvalidInput(
        f"got the id {observation_id!r:.80}, {problem}; allowed is the whole id of a"
        f" fix, or its last {_SHORT_CHARACTERS} characters, as the context and"
        " `theorex review --json` show them"
    )
