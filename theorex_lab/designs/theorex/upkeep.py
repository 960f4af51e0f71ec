"""What watches an agent, and what is learnt from its outcomes.

When its context fills up, what its session was about is written down as one summary.
Drift is how many of the concepts that its moments anchor are still ACTIVE. What won is
said again, what lost is written as a thing to avoid.

The checks of a session form a chain: the event of check k has an id made of the
session's name and k. So of processes that check at once each takes another step, and
only one of them finds that a summary is due.

The gate's part for the memory is law, half-life and MILD threshold, judged on recorded
outcomes, each at its own time. An outcome needs its concepts. At its time, with nothing
folded but what the journal held before it, `needed_next` says how high the foremost of
them ranked within the boot context's budget. The score is the mean of that, with (1 +
score of the outcome) / 2 as weight. A policy that forgets what later outcomes needed
scores lower, and one that lists everything gains nothing, since the budget is the same
for all. Not measured: sentences of fixes (they have a part of the budget of their own),
what flush and graduation would have taken in under other thresholds (the intake is as
recorded), ACTIVE against MILD, speed.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.errors import AlreadyThere, InvalidInput
from theorex_lab.core.ids import check_agent, check_session, derived_event_id
from theorex_lab.core.settings import Settings
from theorex_lab.designs.theorex import axon, flash, lifecycle, stages
from theorex_lab.designs.theorex.axon import Axon, Floats, Ints
from theorex_lab.designs.theorex.design import MEMORY_SETTINGS
from theorex_lab.designs.theorex.flash import Flash, text_of
from theorex_lab.designs.theorex.scores import scores_of
from theorex_lab.evolution.acceptance import (
    MOST_RECORDS,
    best_of,
    candidates_of,
    gain_stands_out,
    halves,
    numbered_events,
)
from theorex_lab.evolution.maintenance import for_each_agent, in_turn
from theorex_lab.evolution.outcomes import Outcomes
from theorex_lab.evolution.review import TagRate, look_back, rows_between, rows_by_tag
from theorex_lab.journal.base import Journal, append_once
from theorex_lab.journal.event import RAW_KINDS, Event, new_event
from theorex_lab.journal.view import Views, fold_into
from theorex_lab.memory.contract import Home, Proposal, Reminder
from theorex_lab.memory.decay import LAWS, PRODUCT_HALF_LIVES_DAYS, Tier
from theorex_lab.memory.next_use import (
    Candidates,
    NeedRanks,
    line_tokens,
    name_bytes,
    needed_next,
)
from theorex_lab.memory.observation import (
    AVOID_TYPE,
    TRUST,
    ObservationEntry,
    common_project,
    new_observation,
)
from theorex_lab.search.items import MOMENT_TYPE
from theorex_lab.text.extract import extract
from theorex_lab.text.line import one_line

SUMMARY_TYPE = "summary"
_MOST_EVENTS = 200  # a summary reads the newest events, at most so many
_TOOLS_NAMED = 5
_CONCEPTS_NAMED = 8
_PROMPT_CHARACTERS = 200
_BYTES_PER_TOKEN = 4
_CHECKS = "context checked"  # what the ids of a session's checks begin with
DRIFTING_BELOW = 0.5
RECOVERING_FROM = 0.7


@dataclass(frozen=True)
class ContextCheck:
    """What a check found: whether a summary was due, how full the context is (percent),
    and what was written.

    calls: since the summary before, or since the session began.  written: the summary's
    event id; None where none was due, and where the session has no events to sum up.
    estimated: the percentage is an estimate.
    """

    fired: bool
    context_pct: float
    calls: int
    written: str | None
    estimated: bool = False

    to_dict = asdict  # as JSON holds it


def check_context(
    home: Home, session: str, context_pct: float | None = None, *, agent: str = "main"
) -> ContextCheck:
    """Note how full a session's context is (0..100; None: estimated), and sum the
    session up where that is due.

    It is due from contextAlertPct on, the first time at once and then each time
    contextCooldownCalls have passed. A call is a tool call that was recorded or a
    check; where every call is checked these are the same ones, so that the larger
    number holds. Raises InvalidInput for anything outside the rules.
    """
    check_agent(agent)
    if not check_session(session):
        raise InvalidInput("got no session; name the session whose context is checked")
    if context_pct is not None and not 0 <= context_pct <= 100:
        raise InvalidInput(
            f"got a context of {context_pct} percent; allowed is 0 to 100"
        )
    while True:
        with suppress(
            AlreadyThere
            # another process made this check of the chain; the next one sees what it found
        ):
            return _check(home, home.clock.now(), agent, session, context_pct)


def check_turns(
    home: Home, session: str, *, agent: str = "main"
) -> ContextCheck | None:
    """`check_context` for a session with events that were not flushed, where its turns
    tell how large its transcript is.
    """
    with home.views.reading(Flash) as flash:
        waiting = flash.pending(check_agent(agent), session)
    known = waiting and _estimate(home, session, agent)[1] > 0
    return check_context(home, session, agent=agent) if known else None


def _estimate(home: Home, session: str, agent: str) -> tuple[float, int]:
    """How full a session's context is, in percent (0..100) of contextWindowTokens,
    estimated from what was captured of it.

    By what its transcript has grown, where turns ended with its size known, else by the
    captured texts; both since the context was last summarized, and four bytes a token.
    Then how large the transcript is, 0 where that is not known.
    """
    base = size = texts = 0
    for event in home.journal.tail(0, kinds=RAW_KINDS):
        if (event.agent, event.session) != (agent, session):
            continue
        if event.kind == "compacting":
            base = size
            texts = 0
        known = event.body.get("transcript_bytes")
        size = known if isinstance(known, int) and known >= 0 else size
        said = (
            text_of(event.body)
            if event.kind in Flash.kinds
            else event.body.get("message", "")
        )
        texts += len(said.encode())
    tokens = (max(size - base, 0) if size else texts) / _BYTES_PER_TOKEN
    return (
        round(min(100.0, 100.0 * tokens / home.settings.context_window_tokens), 1),
        size,
    )


def _check(
    home: Home, now: int, agent: str, session: str, stated_pct: float | None
) -> ContextCheck:
    estimated = stated_pct is None
    context_pct = (
        _estimate(home, session, agent)[0] if stated_pct is None else float(stated_pct)
    )
    made = [*numbered_events(home.journal, _CHECKS, agent, session)]
    before = made[-1].body if made and not made[-1].erased else {}
    fired_before = before.get("fired_seq")  # up to where the last summary reaches
    with home.views.reading(Flash) as flash:
        seqs = [
            seq for seq in flash.pending(agent, session) if seq > (fired_before or 0)
        ]
    events = home.journal.read(seqs=seqs)
    checks = before.get("checks", 0) + 1
    calls = max(checks, sum(event.kind == "tool_used" for event in events))
    due = fired_before is None or calls >= home.settings.context_cooldown_calls
    fired = context_pct >= home.settings.context_alert_pct and due
    summary = (
        _summary(home, events, now, agent, session, context_pct)
        if fired and events
        else None
    )
    body = {
        "context_pct": context_pct,
        "calls": calls,
        "fired": fired,
        "written": None if summary is None else summary.id,
        "checks": 0 if fired else checks,
        "fired_seq": max(seqs, default=fired_before or 0) if fired else fired_before,
        "project": home.project,
        **({"estimated": True} if estimated else {}),
    }
    event_id = derived_event_id(_CHECKS, agent, session, len(made) + 1)
    done = new_event(
        "context_checked", body, agent=agent, session=session, at=now, event_id=event_id
    )
    home.journal.append([done] if summary is None else [summary, done])
    return ContextCheck(fired, context_pct, calls, body["written"], estimated)


def _summary(
    home: Home,
    events: Sequence[Event],
    now: int,
    agent: str,
    session: str,
    context_pct: float,
) -> Event:
    """What the session was about, by counting: its tools, its concepts, and what was
    asked last.
    """
    newest = events[-_MOST_EVENTS:]
    tools = Counter(event.body["tool"] for event in events if event.kind == "tool_used")
    prompts = [event.body["text"] for event in newest if event.kind == "prompt"]
    found = [
        mention
        for event in newest
        for mention in extract(text_of(event.body).replace("\0", " "))
    ]
    surfaces = {mention.concept_id: mention.surface for mention in reversed(found)}
    concepts = Counter(mention.concept_id for mention in found)
    parts = [
        f"Session {session} filled {context_pct:g} % of its context in {tools.total()}"
        " tool calls"
    ]
    if tools:
        parts.append(
            "tools: "
            + ", ".join(
                f"{one_line(name, 40)} {n}"
                for name, n in tools.most_common(_TOOLS_NAMED)
            )
        )
    if concepts:
        parts.append(
            "about: "
            + ", ".join(
                surfaces[number] for number, _ in concepts.most_common(_CONCEPTS_NAMED)
            )
        )
    if prompts:
        parts.append(
            "asked last:"
            f" {one_line(prompts[-1].replace(chr(0), ' '), _PROMPT_CHARACTERS)}"
        )
    entry = ObservationEntry(
        "; ".join(parts), agent, now, SUMMARY_TYPE, "tool", (), session, home.project
    )
    event, _ = new_observation(entry, home.settings, now)
    # The words of the summary itself are no concepts of the session.
    own = [concept for concept in event.body["concepts"] if concept[0] in concepts]
    return event._replace(
        body={**event.body, "concepts": own},
        lineage=tuple(taken.id for taken in events),
    )


@dataclass(frozen=True)
class Drift:
    """How an agent's anchors stand: coverage = active / anchors (1 without any), and
    the state that follows from it.

    left: labels of the anchors that were ACTIVE at some time in the window and are no
    longer.
    """

    agent: str
    coverage: float
    state: str
    anchors: int
    active: int
    left: list[str]

    to_dict = asdict  # as JSON holds it


def drift(home: Home, *, agent: str = "main") -> Drift:
    """The drift of an agent now, over the setting driftWindowDays.

    An anchor that the window has seen was ACTIVE in it, since it is so when it is seen;
    any other was as its numbers, unchanged since, stood when the window began.
    """
    now = home.clock.now()
    settings = home.settings
    window = round(settings.drift_window_days * MICROSECONDS_PER_DAY)
    with home.views.reading(Axon) as axon:
        table = axon.observations
        owner = axon.agents.find(check_agent(agent))
        ids = axon.concepts["concept_id"]
        moments = (table["type"] == axon.types.find(MOMENT_TYPE)) & (
            table["agent"] == owner
        )
        anchors = axon.mentions["concept"][
            moments[axon.mentions["observation"]]
        ]  # also those that were pruned
        names = {int(ids[row]): axon.labels[row] for row in anchors.tolist()}
        current, earlier = (
            scores_of(axon, at, settings, agents=[agent]) for at in (now, now - window)
        )
        active = names.keys() & ids[current.rows[current.tier == Tier.ACTIVE]].tolist()
        # By importance, since what sleeps now did not always.
        once = (
            names.keys()
            & ids[
                earlier.rows[earlier.importance >= settings.active_threshold]
            ].tolist()
        )
    coverage = len(active) / len(names) if names else 1.0
    left = sorted(names[number] for number in once - active)
    return Drift(
        agent, coverage, state_of(coverage, bool(left)), len(names), len(active), left
    )


def state_of(coverage: float, has_left: bool) -> str:
    """drifting below .5; recovering from .7 while an anchor has left ACTIVE; else
    stable.

    >>> (
    ...     state_of(0.4, True),
    ...     state_of(0.7, True),
    ...     state_of(0.6, True),
    ...     state_of(1.0, False),
    ... )
    ('drifting', 'recovering', 'stable', 'stable')
    """
    if coverage < DRIFTING_BELOW:
        return "drifting"
    return "recovering" if has_left and coverage >= RECOVERING_FROM else "stable"


# What may be proposed.
LAW_NAMES = ("product", "weighted_sum", "recency", "power", "frequency")
MILD_THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
# Bounds on the work of one night: records of each half, and concepts scored over all of
# them.
FEWEST_RECORDS = 20
MOST_SCORED = 1_000_000


def propose(home: Home, turned_down: frozenset[str] = frozenset()) -> Proposal:
    """The law, half-life and MILD threshold that served the earlier outcomes best,
    scored on the later ones.
    """
    earlier, later = halves(needs(home.views), _most_records(home.views))
    if len(later) < home.settings.gate_min_samples:
        return Proposal({}, None, None, len(later))
    candidates = candidates_of(
        home.settings, _changes(home.settings), MEMORY_SETTINGS, turned_down
    )
    replay = MemoryReplay(home.journal, context_tokens=home.settings.context_tokens)
    scores = replay.scores(earlier, [policy for _, policy in candidates])
    best = best_of(weighted_mean(scores, earlier)[0], candidates)
    changes, chosen = candidates[
        best if gain_stands_out(scores[best] - scores[0]) else 0
    ]
    (before, after), n = weighted_mean(
        replay.scores(later, [home.settings, chosen]), later
    )
    return Proposal(changes, float(before), float(after), n)


def score(home: Home) -> dict[str, float | int]:
    """{score, n} of the settings on the later half of the outcomes."""
    _, later = halves(needs(home.views), _most_records(home.views))
    replay = MemoryReplay(home.journal, context_tokens=home.settings.context_tokens)
    mean, n = weighted_mean(replay.scores(later, [home.settings]), later)
    return {"score": float(mean[0]), "n": n}


class OutcomeNeed(NamedTuple):
    """What one outcome needed: its place and time (µs) in the journal, its concepts and
    its weight.
    """

    seq: int
    at: int
    concepts: Ints
    weight: float


def needs(views: Views) -> list[OutcomeNeed]:
    """What each recorded outcome needed, oldest first; those without concepts are left
    out.
    """
    with views.reading(Outcomes) as view:
        rows = view.select()
        columns = (
            view.rows["seq"][rows],
            view.rows["at"][rows],
            (1.0 + view.scores()[rows]) / 2.0,
        )
        known = {
            seq: told
            for seq, *told in zip(*(column.tolist() for column in columns), strict=True)
        }
    concepts = {
        event.seq: event.body["concepts"]
        for event in views.journal.read(seqs=list(known))
    }
    found = {
        seq: np.unique(np.array(named, np.int64))
        for seq, named in concepts.items()
        if named
    }
    return [
        OutcomeNeed(seq, known[seq][0], named, known[seq][1])
        for seq, named in found.items()
    ]


class _Untouched(Axon):
    """The axon without what scans and prunes of the policies of that time put away."""

    def fold(self, events: Sequence[Event]) -> None:
        """See View."""
        super().fold([event for event in events if event.kind not in ("scan", "prune")])


class MemoryReplay:
    """The memory as it was at one outcome after the other; the journal is folded once,
    forwards.
    """

    def __init__(self, journal: Journal, *, context_tokens: int) -> None:
        self._journal = journal
        self._axon = _Untouched()
        self._context_tokens = context_tokens
        self._tokens: list[int] = []

    def scores(
        self, needed: Sequence[OutcomeNeed], policies: Sequence[Settings]
    ) -> Floats:
        """`needed_next` of each need under each policy, 0..1, shape (policies, needs).

        NaN where no concept of a need was known by then. `needed` are in order, after
        those asked about before.
        """
        scores = np.full((len(policies), len(needed)), np.nan)
        for column, need in enumerate(needed):
            fold_into(self._axon, self._journal, need.seq - 1)
            known = np.flatnonzero(
                np.isin(
                    self._axon.concepts["concept_id"][self._axon.rows_of()],
                    need.concepts,
                )
            )
            # Policies that differ in their thresholds alone rank alike, and ranking is
            # what takes time.
            ranked: dict[object, tuple[NeedRanks, Floats]] = {}
            for row, policy in enumerate(policies if len(known) else ()):
                days = policy.half_life_days, policy.fix_half_life_days
                same = policy.decay_law, *policy.decay_params.items(), *days
                standing, importance = ranked.get(same) or ranked.setdefault(
                    same, self._ranked(known, need.at, policy)
                )
                scores[row, column] = standing.score(importance, policy.mild_threshold)
        return scores

    def _ranked(
        self, known: Ints, now: int, policy: Settings
    ) -> tuple[NeedRanks, Floats]:
        current = scores_of(self._axon, now, policy)
        count, last, ids = current.among_equals
        candidates = Candidates(
            current.raw, count, last, ids, self._line_tokens(current.rows)
        )
        return needed_next(candidates, known, self._context_tokens), current.importance

    def _line_tokens(self, rows: Ints) -> Ints:
        surfaces = self._axon.surfaces
        self._tokens += [
            line_tokens(name_bytes(surfaces[row]))
            for row in range(len(self._tokens), len(surfaces))
        ]
        return np.array(self._tokens, np.int64)[rows]


def weighted_mean(scores: Floats, needed: Sequence[OutcomeNeed]) -> tuple[Floats, int]:
    """Each policy's mean score over the needs that were known, and how many those are;
    0 where there are none.

    >>> need = OutcomeNeed(1, 0, np.array([1]), 0.5)
    >>> mean, n = weighted_mean(np.array([[1.0, np.nan], [0.0, np.nan]]), [need, need])
    >>> mean.tolist(), n
    ([1.0, 0.0], 1)
    """
    known = ~np.isnan(scores).any(axis=0)
    weights = np.array([need.weight for need in needed])[known]
    if not known.any():
        return np.zeros(len(scores)), 0
    return scores[:, known] @ weights / weights.sum(), int(known.sum())


def _changes(settings: Settings) -> list[dict[str, Any]]:
    days = [{"halfLifeDays": half_life} for half_life in PRODUCT_HALF_LIVES_DAYS]
    changes = list[dict[str, Any]]()
    mild = [
        {"mildThreshold": threshold}
        for threshold in MILD_THRESHOLDS
        if threshold <= settings.active_threshold
    ]
    for name in LAW_NAMES:
        own = days if "half_life_days" in LAWS[name].parameters else [{}]
        changes += (
            {"decayLaw": name, "decayParams": {}, **least, **life}
            for life, least in product(own, mild)
        )
    return changes


def _most_records(views: Views) -> int:
    return max(
        FEWEST_RECORDS,
        min(MOST_RECORDS, MOST_SCORED // max(len(views.get(Axon).concepts), 1)),
    )


def evidence(home: Home) -> list[Any]:
    """What the records come to: another outcome, or another score of one, makes it
    another.
    """
    return [[need.seq, round(need.weight, 9)] for need in needs(home.views)]


WON_TYPE = "feature"
WORDS_CHARACTERS = 300  # of a decision, and of a result, as they are quoted
_MOST_DAYS = 3_650


class RefinementResult(NamedTuple):
    """What one refinement looked at and wrote: tags that won and lost, and ids of the
    observations made of them.

    since, until: the window, µs UTC.  Without observations nothing was written.
    """

    agent: str
    since: int
    until: int
    won: list[TagRate]
    lost: list[TagRate]
    observations: list[str]

    def to_dict(self) -> dict[str, Any]:
        """The refinement as its event holds it."""
        tags = {
            name: [[tag.tag, tag.n, round(tag.rate, 6)] for tag in getattr(self, name)]
            for name in ("won", "lost")
        }
        return {
            "agent": self.agent,
            "since": self.since,
            "until": self.until,
            **tags,
            "observations": self.observations,
        }


def refine(
    home: Home, *, agent: str = "main", days: float | None = None
) -> RefinementResult:
    """Act on the win rates of the last `days` (default: the setting evolveWindowDays)
    of an agent's outcomes.

    Of each top tag the best success is written as an observation of type `feature`,
    whose concepts gain by it; of each weak tag the worst failure as one of type
    `avoid`, which has no concepts, so that none is heard of more often. A tag that
    nothing was decided about since it was last written is passed over: repeating
    changes nothing. The evidence `tag/<tag>` of what lost has fallen with each failure;
    see `Outcomes.evidence`. Raises InvalidInput for an agent or a number of days
    outside the rules.
    """
    until = home.clock.now()
    days = home.settings.evolve_window_days if days is None else days
    if not 0 < days <= _MOST_DAYS:
        raise InvalidInput(
            f"got {days} days to look back on; allowed is above 0 to {_MOST_DAYS}"
        )
    since = until - round(days * MICROSECONDS_PER_DAY)
    with home.views.reading(Outcomes) as outcomes:
        review = look_back(outcomes, agent=check_agent(agent), since=since, until=until)
        rows = rows_between(outcomes, agent=agent, since=since, until=until)
        last = int(outcomes.rows["decided"][rows].max()) if len(rows) else 0
        own = rows_by_tag(outcomes, rows)
        tags = [
            *((tag, True) for tag in review.top),
            *((tag, False) for tag in review.weak),
        ]
        chosen = [_choice(outcomes, agent, tag, own[tag.tag], won) for tag, won in tags]
    known = {
        event.id
        for event in home.journal.read(
            ids=[choice.event_id for choice in chosen], erased=True
        )
    }
    made = (
        _observation(home, agent, choice, until)
        for choice in chosen
        if choice.event_id not in known
    )
    events = [event for event in made if event is not None]
    refined = RefinementResult(
        agent, since, until, review.top, review.weak, [event.id for event in events]
    )
    if not events:
        return refined
    body = refined.to_dict()
    event_id = derived_event_id("refined", agent, last)
    done = new_event(
        "refined",
        body,
        agent=agent,
        at=until,
        lineage=refined.observations,
        event_id=event_id,
    )
    # Another process may have refined this very window, or outcomes that were erased
    # stood in it.
    return (
        refined
        if append_once(home.journal, [*events, done])
        else refined._replace(observations=[])
    )


class _Choice(NamedTuple):
    """A tag that stands out: its outcomes' seqs, that of the one to quote, and the id
    of what is written of it.
    """

    tag: TagRate
    won: bool
    seqs: list[int]
    quoted: int
    event_id: str


def _choice(view: Outcomes, agent: str, tag: TagRate, own: Ints, won: bool) -> _Choice:
    decisive = own[view.rows["success"][own] == won]
    scores = view.scores()[decisive]
    # The best success or the worst failure, the latest of equals.
    best = decisive[
        np.lexsort((np.arange(len(decisive)), scores if won else -scores))[-1]
    ]
    seqs = view.rows["seq"]
    event_id = (
        "refined tag",
        agent,
        tag.tag,
        won,
        int(view.rows["decided"][own].max()),
    )
    return _Choice(
        tag, won, seqs[own].tolist(), int(seqs[best]), derived_event_id(*event_id)
    )


def _observation(home: Home, agent: str, choice: _Choice, at: int) -> Event | None:
    """What is written of a tag; None where one of its outcomes was erased meanwhile."""
    outcomes = {event.seq: event for event in home.journal.read(seqs=choice.seqs)}
    if len(outcomes) < len(choice.seqs):
        return None
    tag = choice.tag
    quoted = outcomes[choice.quoted].body
    told = (tag.tag, quoted["decision"], quoted["result"])
    won = round(tag.n * tag.rate)
    name, decision, result = (one_line(text, WORDS_CHARACTERS) for text in told)
    text = (
        f"Avoid for {name} ({tag.n - won} of {tag.n} failed): {decision}. It ended"
        f" with: {result}"
    )
    if choice.won:
        text = f"What won for {name} ({won} of {tag.n}): {decision}"
    # A summary is trusted no further than a model, and than the least of what it was
    # made from.
    source = min(
        ("model", *(event.body["source"] for event in outcomes.values())),
        key=lambda name: TRUST[name],
    )
    kind = WON_TYPE if choice.won else AVOID_TYPE
    project = common_project(outcomes.values())
    event, _ = new_observation(
        ObservationEntry(text, agent, at, kind, source, [tag.tag], project=project),
        home.settings,
        at,
    )
    return event._replace(
        id=choice.event_id, lineage=tuple(outcome.id for outcome in outcomes.values())
    )


def agents_of(home: Home) -> Iterable[str]:
    """Who has written, or had a session kept."""
    for view in (home.views.get(axon.Axon), home.views.get(stages.ShortTerm)):
        with view.lock:
            yield from view.agents


def flush_all(home: Home, agent: str | None) -> str:
    """Flush what no session adds to any more."""
    names = [agent] if agent is not None else list(home.views.get(flash.Flash).agents)
    done = [
        session
        for flushed in in_turn(names, partial(lifecycle.flush_idle, home))
        for session in flushed
    ]
    return (
        f"{sum(session.kept for session in done)} events kept,"
        f" {sum(session.discarded for session in done)} let go"
    )


def refine_all(home: Home, agent: str | None) -> str:
    """Write what stands out of many outcomes."""
    done = for_each_agent(home, agent, lambda name: refine(home, agent=name))
    return (
        f"{sum(len(refinement.observations) for refinement in done)} observations"
        " written"
    )


def scan_all(home: Home, agent: str | None) -> str:
    """Recompute tiers; put faded concepts to sleep."""
    found = lifecycle.scan(home, agents=None if agent is None else [agent])
    return (
        f"{found.changed} concepts changed tier, {found.slept} fell asleep,"
        f" {found.links_dropped} links dropped"
    )


def graduate_all(home: Home, agent: str | None) -> str:
    """Take into the axon what was kept on enough days."""
    return (
        f"{sum(map(len, for_each_agent(home, agent, lambda name: _graduate_one(home, name))))}"
        " concepts graduated"
    )


def _graduate_one(home: Home, agent: str) -> list[str]:
    labels = lifecycle.graduate(home, agent=agent)
    if (
        labels
    ):  # what is new has its tier tonight, so that a second night finds nothing to do
        lifecycle.scan(home, agents=[agent])
    return labels


def promote_all(home: Home, agent: str | None) -> str:
    """Give concepts to the shared web."""
    done = for_each_agent(home, agent, lambda name: lifecycle.promote(home, agent=name))
    concepts, links = (
        sum(getattr(promotion, name) for promotion in done)
        for name in ("concepts", "links")
    )
    return f"{concepts} concepts, {links} links promoted"


def reminders(home: Home) -> Iterable[Reminder]:
    """The sentences that were written, where no other design has something to be
    reminded of.
    """
    if any(
        design.reminders is not None and design.name != "theorex"
        for design in home.designs
    ):
        return
    now = home.clock.now()
    for event in home.journal.tail(0, kinds=["observation"]):
        body = event.body
        days = max(now - event.at, 0) / MICROSECONDS_PER_DAY
        trust = TRUST[body["source"]]
        weight = round((1 + days) ** -0.3, 2)
        yield Reminder(
            event.id,
            body.get("project", ""),
            body["type"],
            body["text"],
            weight,
            trust,
            (event.id,),
        )
