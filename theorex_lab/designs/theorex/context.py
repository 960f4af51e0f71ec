"""What an agent is given of Theorex: concepts and sentences in the boot context, before a call, and while a session runs."""

from collections.abc import Sequence

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.config import Settings
from theorex_lab.design import Line, Wanted
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.flash import Flash
from theorex_lab.designs.theorex.items import TITLES
from theorex_lab.designs.theorex.moments import Moment, recent_moments
from theorex_lab.designs.theorex.scores import Chosen, scores_of
from theorex_lab.designs.theorex.sentences import plain, sentences
from theorex_lab.designs.theorex.shared import SharedWeb, shared_concepts
from theorex_lab.designs.theorex.short_term import ShortTerm
from theorex_lab.home import Home
from theorex_lab.memory import context
from theorex_lab.memory.context import NOTICE, ChosenLines, Context, as_markdown, escape, items_of
from theorex_lab.memory.decay import Tier
from theorex_lab.memory.filling import CONCEPT, Room, age_in_words, count_tokens, trusted_first
from theorex_lab.memory.marks import as_marked
from theorex_lab.memory.observation import TRUST
from theorex_lab.text.line import one_line
from theorex_lab.text.paths import shown_path

# Tokens and items of the context that a model is given.
BUDGETS = {
    "ministral-3b": (4_096, 15), "qwen3-32b": (6_144, 25), "claude-sonnet": (16_000, 60), "claude-opus": (20_000, 80),
    "default": (4_096, 20),
}  # fmt: skip
_RECENT, _MOMENT = "recent", "moment"
_FLASH_FIXES, _FLASH_ACTIVE, _FLASH_RECENT = 5, 10, 5
_REFS_SHOWN = 5


def sentence_lines(home: Home, wanted: Wanted) -> list[Line]:
    """Fixes, then what to avoid: of the home's project, or of none."""
    with home.views.reading(Axon) as axon:
        return sentences(axon, home.journal, wanted.now, home.settings, home.projects)


def concept_lines(home: Home, wanted: Wanted) -> list[Line]:
    """The concepts of each agent that were mentioned in the home's project, or in none, hottest first."""
    with home.views.reading(Axon) as axon:
        return _concepts(axon, wanted.now, home.settings, home.projects)


def _concepts(
    axon: Axon, now: int, settings: Settings, projects: Chosen, agents: Chosen = None,
    tiers: Sequence[Tier] = (Tier.ACTIVE, Tier.MILD),
) -> list[Line]:  # fmt: skip
    """A line a concept: ACTIVE ones, then MILD ones, hottest first."""
    current = scores_of(axon, now, settings, agents=agents, among=axon.within(projects))
    lines: list[Line] = []
    for tier in tiers:
        for position in current.order[current.tier[current.order] == tier].tolist():
            row = int(current.rows[position])
            numbers = {name: int(axon.concepts[name][row]) for name in ("concept_id", "count", "last_seen", "trust")}
            lines.append(_line(axon.agents[int(axon.concepts["agent"][row])], axon.surfaces[row], now, **numbers))
    return lines


def _line(agent: str, label: str, now: int, *, concept_id: int, count: int, last_seen: int, trust: int) -> Line:
    """`label _(age, xN)_`, the times above 3 only; what is not trusted goes into a fence and needs no mark-up."""
    age = age_in_words((now - last_seen) / MICROSECONDS_PER_DAY)
    return context.marked_up(CONCEPT, agent, label, f"{age}, x{count}" if count > 3 else age, trust, (str(concept_id),))


def render_for_model(home: Home, model: str, *, agent: str) -> Context:
    """Fixes and the agent's own and the shared concepts within a model's budget: `[Boot: name | budget: Bt | concepts: n]` first.

    Of the home's project or of none. Budgets (tokens, items) are those of BUDGETS; a model that is not in it has the
    default's. Sentences may take half of the budget. Hearsay is left out first (at most a quarter of the tokens is for
    it), then the coldest.
    """
    budget, most = BUDGETS.get(model, BUDGETS["default"])
    axon, shared, now = home.views.get(Axon), home.views.get(SharedWeb), home.clock.now()
    with axon.lock, shared.lock:
        said = sentences(axon, home.journal, now, home.settings, home.projects)
        lines = _own_and_shared(axon, shared, now, home, agent)
    said, lines = as_marked(home, said), as_marked(home, lines, as_markdown)
    name = escape(model)
    room = Room(budget, used=count_tokens(f"[Boot: {name} | budget: {budget}t | concepts: {most}]\n{NOTICE}\n") + 16)
    told = _take_sentences(room, said, most // 2)
    left = most - len(told.lines)
    kept = room.take(lines, headings=False, most=left)
    kept += room.take_hearsay(lines, headings=False, most=left - len(kept))
    gap = [""] if kept and told.lines else []
    head = [f"[Boot: {name} | budget: {budget}t | concepts: {len(kept)}]", NOTICE]
    text = "\n".join([*head, *context.sections_of(told), *gap, *context.listed(kept), ""])
    owners = len({line.owner for line in kept})
    return Context(text, len(kept), told.fixes, owners, count_tokens(text), items_of([*told.lines, *kept]))


def _own_and_shared(axon: Axon, shared: SharedWeb, now: int, home: Home, agent: str) -> list[Line]:
    lines = _concepts(axon, now, home.settings, home.projects, [agent])
    own = {axon.surfaces[row] for row in axon.rows_of([agent], axon.within(home.projects)).tolist()}
    for concept in shared_concepts(axon, shared, now, home.settings):
        if concept.text not in own and Tier[concept.tier] >= Tier.MILD:
            numbers = {name: getattr(concept, name) for name in ("concept_id", "count", "last_seen", "trust")}
            lines.append(_line(concept.agent, concept.text, now, **numbers))
    return lines


def _take_sentences(room: Room, said: Sequence[Line], most: int) -> ChosenLines:
    """Up to `most` sentences that have room, in half of what is left; what was only heard in the part that is its own."""
    told = room.take(said, at_most=room.left // 2, most=most)
    return ChosenLines(told, room.take_hearsay(said, most=most - len(told)), [], TITLES)


def render_flash(home: Home, session: str, *, agent: str) -> Context:
    """What a running session knows: fixes, up to ten ACTIVE concepts, the last five that flushes kept, and five moments.

    All of it is of the home's project or of none. How much of the session itself waits to be flushed stands in the first
    line. All of it is data; a moment that says what a fix says is left out.
    """
    axon, flash, short_term = home.views.get(Axon), home.views.get(Flash), home.views.get(ShortTerm)
    now, projects = home.clock.now(), home.projects
    with axon.lock, flash.lock, short_term.lock:
        fixes = sentences(axon, home.journal, now, home.settings, projects)
        moments = recent_moments(axon, home.journal, agent=agent, projects=projects)
        active = _concepts(axon, now, home.settings, projects, [agent], [Tier.ACTIVE])
        recent = _kept_last(short_term, now, agent, projects)
        waiting = len(flash.pending(agent, session))
    fixes = as_marked(home, fixes)
    new = [moment for moment in moments if not any(_says(line, moment.story) for line in fixes)]
    said = [*trusted_first(active)[:_FLASH_ACTIVE], *trusted_first(recent)[:_FLASH_RECENT]]
    said = as_marked(home, [*said, *(_moment_line(agent, moment, now) for moment in new)], as_markdown)
    lines = [f"[Session: {escape(session)} | agent: {agent} | events not flushed: {waiting}]", NOTICE]
    room = Room(BUDGETS["default"][0], used=count_tokens("\n".join(lines)))
    told = _take_sentences(room, fixes, _FLASH_FIXES)
    taken = {*room.take(said), *room.take_hearsay(said)}
    lines += context.sections_of(told)
    shown = list(told.lines)
    for kind, title in ((CONCEPT, "Active"), (_RECENT, "Lately"), (_MOMENT, "Moments")):
        kept = [line for line in said if line in taken and line.kind == kind]
        shown += kept
        if kept:
            texts = [line.text for line in kept]
            lines += [f"## {title}", *(context.fence(texts, "short-term") if kind == _RECENT else context.listed(kept))]
    text = "\n".join(lines) + "\n"
    concepts = sum(line.kind == CONCEPT for line in shown)
    return Context(text, concepts, told.fixes, 1, count_tokens(text), items_of(shown))


def _kept_last(short_term: ShortTerm, now: int, agent: str, projects: Sequence[str] | None) -> list[Line]:
    """The labels that flushes kept, newest first, each once and as far trusted as it ever was."""
    table = short_term.records
    trust: dict[str, tuple[int, str]] = {}
    for row in short_term.window(now, agent=agent, projects=projects)[::-1].tolist():
        label = short_term.labels[int(table["surface"][row])]
        highest, item = trust.get(label, (0, str(table["concept_id"][row])))
        trust[label] = max(highest, int(table["trust"][row])), item
    heard = {label: None if level >= TRUST["agent"] else (agent, level) for label, (level, _) in trust.items()}
    return [Line(_RECENT, agent, one_line(label), heard[label], (item,)) for label, (_, item) in trust.items()]


def _says(line: Line, text: str) -> bool:
    return plain(line.text).startswith(f"{plain(one_line(text))} (")


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
