"""What an agent is given of Theorex: concepts and sentences in the boot context, before a call, and while a session runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.config import Settings
from theorex_lab.design import Line
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.flash import Flash
from theorex_lab.designs.theorex.scores import scores_of
from theorex_lab.designs.theorex.sentences import sentences
from theorex_lab.designs.theorex.shared import SharedWeb, shared_concepts
from theorex_lab.designs.theorex.short_term import ShortTerm
from theorex_lab.home import Home
from theorex_lab.memory.context import NOTICE, Context, escape, fence, items_of, listed, marked_up
from theorex_lab.memory.decay import Tier
from theorex_lab.memory.filling import CONCEPT, Room, age_in_words, count_tokens, trusted_first
from theorex_lab.memory.observation import TRUST
from theorex_lab.text.line import one_line
from theorex_lab.text.paths import shown_path

if TYPE_CHECKING:
    from theorex_lab.designs.theorex.moments import Moment

# Tokens and items of the context that a model is given.
BUDGETS = {
    "ministral-3b": (4_096, 15),
    "qwen3-32b": (6_144, 25),
    "claude-sonnet": (16_000, 60),
    "claude-opus": (20_000, 80),
    "default": (4_096, 20),
}
_RECENT, _MOMENT = "recent", "moment"
_FLASH_ACTIVE, _FLASH_RECENT = 10, 5
_REFS_SHOWN = 5


def sentence_lines(home: Home, now: int) -> list[Line]:
    """Fixes, then what to avoid: of the home's project, or of none."""
    axon = home.views.get(Axon)
    with axon.lock:
        return sentences(axon, home.journal, now, home.settings, home.projects)


def concept_lines(home: Home, now: int) -> list[Line]:
    """The concepts of each agent that were mentioned in the home's project, or in none, hottest first."""
    axon = home.views.get(Axon)
    with axon.lock:
        return _concepts(axon, now, home.settings, projects=home.projects)


def _concepts(
    axon: Axon,
    now: int,
    settings: Settings,
    *,
    agents: Sequence[str] | None = None,
    projects: Sequence[str] | None = None,
    lowest: Tier = Tier.MILD,
) -> list[Line]:
    """A line a concept: ACTIVE ones, then MILD ones, hottest first."""
    current = scores_of(axon, now, settings, agents=agents, among=axon.within(projects))
    lines: list[Line] = []
    for tier in (Tier.ACTIVE, Tier.MILD):
        if tier < lowest:
            continue
        for position in current.order[current.tier[current.order] == tier].tolist():
            row = int(current.rows[position])
            numbers = {name: int(axon.concepts[name][row]) for name in ("concept_id", "count", "last_seen", "trust")}
            lines.append(_line(axon.agents[int(axon.concepts["agent"][row])], axon.surfaces[row], now, **numbers))
    return lines


def _line(agent: str, label: str, now: int, *, concept_id: int, count: int, last_seen: int, trust: int) -> Line:
    """`label _(age, xN)_`, the times above 3 only; what is not trusted goes into a fence and needs no mark-up."""
    age = age_in_words((now - last_seen) / MICROSECONDS_PER_DAY)
    return marked_up(CONCEPT, agent, label, f"{age}, x{count}" if count > 3 else age, trust, (str(concept_id),))


def render_for_model(
    axon: Axon,
    shared: SharedWeb,
    now: int,
    settings: Settings,
    *,
    model: str,
    agent: str,
    projects: Sequence[str] | None = None,
) -> Context:
    """The agent's own (of these projects or of none) and the shared concepts within a model's budget: `[Boot: name | budget: Bt | concepts: n]` first.

    Budgets (tokens, items) are those of BUDGETS; a model that is not in it has the default's. Hearsay is left out first
    (at most a quarter of the tokens is for it), then the coldest.
    """
    budget, most = BUDGETS.get(model, BUDGETS["default"])
    lines = _concepts(axon, now, settings, agents=[agent], projects=projects)
    own = {axon.surfaces[row] for row in axon.rows_of([agent], axon.within(projects)).tolist()}
    for each in shared_concepts(axon, shared, now, settings):
        if each.text not in own and Tier[each.tier] >= Tier.MILD:
            lines.append(
                _line(
                    each.agent,
                    each.text,
                    now,
                    concept_id=each.concept_id,
                    count=each.count,
                    last_seen=each.last_seen,
                    trust=each.trust,
                )
            )
    name = escape(model)
    room = Room(budget, used=count_tokens(f"[Boot: {name} | budget: {budget}t | concepts: {most}]\n{NOTICE}\n") + 16)
    kept = room.take(lines, headings=False, most=most)
    kept += room.take_hearsay(lines, headings=False, most=most - len(kept))
    text = "\n".join([f"[Boot: {name} | budget: {budget}t | concepts: {len(kept)}]", NOTICE, *listed(kept)]) + "\n"
    return Context(text, len(kept), 0, len({line.owner for line in kept}), count_tokens(text), items_of(kept))


def render_flash(
    axon: Axon,
    flash: Flash,
    short_term: ShortTerm,
    now: int,
    settings: Settings,
    *,
    agent: str,
    session: str,
    moments: Sequence[Moment] = (),
    projects: Sequence[str] | None = None,
) -> Context:
    """What a running session knows: up to ten ACTIVE concepts, the last five that flushes kept, and these moments.

    Concepts and what flushes kept are of these projects or of none.
    How much of the session itself waits to be flushed stands in the first line. All of it is data.
    """
    table = short_term.records
    rows = short_term.window(now, agent=agent, projects=projects)[::-1]
    trust: dict[str, tuple[int, str]] = {}
    for row in rows.tolist():
        label = short_term.labels[int(table["surface"][row])]
        highest, item = trust.get(label, (0, str(table["concept_id"][row])))
        trust[label] = max(highest, int(table["trust"][row])), item
    recent = [
        Line(_RECENT, agent, *_heard_label(agent, label, highest), (item,)) for label, (highest, item) in trust.items()
    ]
    active = _concepts(axon, now, settings, agents=[agent], projects=projects, lowest=Tier.ACTIVE)
    said = [
        *trusted_first(active)[:_FLASH_ACTIVE],
        *trusted_first(recent)[:_FLASH_RECENT],
        *(_moment_line(agent, each, now) for each in moments),
    ]
    waiting = len(flash.pending(agent, session))
    lines = [f"[Session: {escape(session)} | agent: {agent} | events not flushed: {waiting}]", NOTICE]
    room = Room(BUDGETS["default"][0], used=count_tokens("\n".join(lines)))
    taken = {*room.take(said), *room.take_hearsay(said)}
    kept = {
        kind: [line for line in said if line in taken and line.kind == kind] for kind in (CONCEPT, _RECENT, _MOMENT)
    }
    if kept[CONCEPT]:
        lines += ["## Active", *listed(kept[CONCEPT])]
    if kept[_RECENT]:
        lines += ["## Lately", *fence([line.text for line in kept[_RECENT]], "short-term")]
    if kept[_MOMENT]:
        lines += ["## Moments", *listed(kept[_MOMENT])]
    text = "\n".join(lines) + "\n"
    shown = [line for of_kind in kept.values() for line in of_kind]
    return Context(text, len(kept[CONCEPT]), 0, 1, count_tokens(text), items_of(shown))


def _heard_label(agent: str, label: str, trust: int) -> tuple[str, tuple[str, int] | None]:
    return one_line(label), None if trust >= TRUST["agent"] else (agent, trust)


def _moment_line(agent: str, moment: Moment, now: int) -> Line:
    """`story [refs] _(age)_`, the story cut, at most five references: those to places of the project alone."""
    story = one_line(moment.story)
    shown = [ref for ref in moment.refs if shown_path(ref)]
    more = ["…"] if len(shown) > _REFS_SHOWN else []
    text = f"{story} [{', '.join([*shown[:_REFS_SHOWN], *more])}]" if shown else story
    age = age_in_words((now - moment.at) / MICROSECONDS_PER_DAY)
    trusted = TRUST[moment.source] >= TRUST["agent"]
    heard_from = None if trusted else (agent, TRUST[moment.source])
    return Line(_MOMENT, agent, f"{escape(text)} _({age})_" if trusted else f"{text} ({age})", heard_from, (moment.id,))
