"""Watch an agent, and learn from its outcomes.

When an agent's context fills up, one summary of its session is written. Drift is how
many of the concepts that its moments anchor are still ACTIVE. What succeeded is
reinforced; what failed is written as a thing to avoid.

The checks of a session form a chain: the event of check k has an id made of the
session's name and k. So processes that check at the same time take different steps, and
only one of them finds that a summary is due.

The memory's part of the acceptance test is law, half-life and MILD threshold. They are
judged on recorded outcomes, each at its own time. An outcome needs its concepts.
`needed_next` says how high the first of them ranked within the briefing's budget, by
what the journal held before the outcome. The score is the mean of that, with (1 + score
of the outcome) / 2 as weight. A policy that forgets what later outcomes needed scores
lower, and one that lists everything gains nothing, since the budget is the same for
all. It does not measure sentences of fixes (they have their own part of the budget),
what flush and graduation would have taken in under other thresholds (the intake is as
recorded), ACTIVE against MILD, or speed.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.errors import AlreadyThere, InvalidInput
from theorex_lab.core.ids import check_agent, check_session, derived_event_id
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.settings import Settings
from theorex_lab.designs.theorex import axon, flash, lifecycle, stages
from theorex_lab.designs.theorex.axon import Axon, Floats, Ints
from theorex_lab.designs.theorex.declarations import MEMORY_SETTINGS
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
from theorex_lab.journal.event import RAW_KINDS, Body, Event, new_event
from theorex_lab.journal.view import Views, fold_into
from theorex_lab.memory.contract import Home, Proposal
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
from theorex_lab.text.extract import Mention, extract
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
    """The result of a check of how full a context is.

    Attributes:
        fired: Whether a summary was due.
        context_pct: How full the context is, in percent.
        calls: Since the summary before, or since the session began.
        written: The summary's event id; None where none was due, and where the session
            has no events to sum up.
        estimated: Whether the percentage is an estimate.
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
    """Note how full a session's context is, and sum the session up where that is due.

    Summing up is due from contextAlertPct on, the first time at once and then each time
    contextCooldownCalls have passed. A call is a tool call that was recorded or a
    check; where every call is checked these are the same ones, so that the larger
    number holds.

    Args:
        home: Where the session was captured.
        session: The session's id.
        context_pct: How full the context is, 0..100; None: it is estimated.
        agent: Whose session it is.

    Raises:
        InvalidInput: Something is outside the rules.
    """
    check_agent(agent)
    if not check_session(session):
        raise InvalidInput("got no session; name the session whose context is checked")
    if context_pct is not None and not 0 <= context_pct <= 100:
        raise InvalidInput(
            f"got a context of {context_pct} percent; allowed is 0 to 100"
        )
    while True:
        # Where another process made this check of the chain, the next one sees its
        # result.
        with suppress(AlreadyThere):
            return _check(home, agent, session, context_pct)


def check_turns(
    home: Home, session: str, *, agent: str = "main"
) -> ContextCheck | None:
    """Do `check_context` for a session with events that were not flushed.

    It is done where the session's turns tell how large its transcript is.
    """
    with home.views.reading(Flash) as view:
        pending = view.pending(check_agent(agent), session)
    if not pending:
        return None
    _, transcript_bytes = _estimate(home, session, agent)
    if transcript_bytes <= 0:
        return None
    return check_context(home, session, agent=agent)


def _estimate(
    home: Home,
    session: str,
    agent: str,
) -> tuple[float, int]:
    """Estimate how full a session's context is from what was captured of it.

    The estimate is by what its transcript has grown, where turns ended with its size
    known, else by the captured texts; both since the context was last summarized, and
    four bytes a token.

    Returns:
        The percentage (0..100) of contextWindowTokens, and how many bytes the
        transcript has, 0 where that is not known.
    """
    bytes_before = 0  # of the transcript when the context was last summarized
    transcript_bytes = 0
    text_bytes = 0
    for event in home.journal.tail(0, kinds=RAW_KINDS):
        if (event.agent, event.session) != (agent, session):
            continue
        if event.kind == "compacting":
            bytes_before = transcript_bytes
            text_bytes = 0
        size = event.body.get("transcript_bytes")
        if isinstance(size, int) and size >= 0:
            transcript_bytes = size
        text = event.body.get("message", "")
        if event.kind in Flash.kinds:
            text = text_of(event.body)
        text_bytes += len(text.encode())
    grown_bytes = text_bytes
    if transcript_bytes:
        grown_bytes = max(transcript_bytes - bytes_before, 0)
    tokens = grown_bytes / _BYTES_PER_TOKEN
    percent = 100.0 * tokens / home.settings.context_window_tokens
    return round(min(100.0, percent), 1), transcript_bytes


def _check(
    home: Home, agent: str, session: str, stated_pct: float | None
) -> ContextCheck:
    """Make the next check of a session's chain, and its summary where that is due.

    Raises:
        AlreadyThere: Another process made this check of the chain.
    """
    now = home.clock.now()
    settings = home.settings
    is_estimated = stated_pct is None
    if stated_pct is None:
        context_pct, _ = _estimate(home, session, agent)
    else:
        context_pct = float(stated_pct)
    earlier_checks = [*numbered_events(home.journal, _CHECKS, agent, session)]
    before = _last_body(earlier_checks)
    summed_up_to = before.get("fired_seq")
    seqs = _pending_after(home, agent, session, summed_up_to or 0)
    events = home.journal.read(seqs=seqs)
    checks = before.get("checks", 0) + 1
    calls = max(checks, _n_tool_calls(events))
    is_full = context_pct >= settings.context_alert_pct
    is_due = summed_up_to is None or calls >= settings.context_cooldown_calls
    fired = is_full and is_due
    summaries: list[Event] = []
    written = None
    if fired:
        checks = 0
        summed_up_to = max(seqs, default=summed_up_to or 0)
    if fired and events:
        summary = _summary(home, events, now, agent, session, context_pct)
        summaries.append(summary)
        written = summary.id
    body = {
        "context_pct": context_pct,
        "calls": calls,
        "fired": fired,
        "written": written,
        "checks": checks,
        "fired_seq": summed_up_to,
        "project": home.project,
    }
    if is_estimated:
        body["estimated"] = True
    number = len(earlier_checks) + 1
    check = new_event(
        "context_checked",
        body,
        agent=agent,
        session=session,
        at=now,
        event_id=derived_event_id(_CHECKS, agent, session, number),
    )
    home.journal.append([*summaries, check])
    return ContextCheck(fired, context_pct, calls, written, is_estimated)


def _n_tool_calls(events: Iterable[Event]) -> int:
    """Return how many of these events are tool calls."""
    return sum(event.kind == "tool_used" for event in events)


def _last_body(checks: Sequence[Event]) -> Body:
    """Return the body of the last check; {} where there is none, or it was erased."""
    if not checks or checks[-1].erased:
        return {}
    return checks[-1].body


def _pending_after(
    home: Home,
    agent: str,
    session: str,
    seq: int,
) -> list[int]:
    """Return the seqs after this one of the session's events that were not flushed."""
    with home.views.reading(Flash) as view:
        pending = view.pending(agent, session)
    return [later_seq for later_seq in pending if later_seq > seq]


def _summary(
    home: Home,
    events: Sequence[Event],
    now: int,
    agent: str,
    session: str,
    context_pct: float,
) -> Event:
    """Return the summary of a session, made by counting.

    It names its tools, its concepts, and what was asked last.
    """
    newest = events[-_MOST_EVENTS:]
    mentions: list[Mention] = []
    tools = Counter[str]()
    for event in newest:
        text = text_of(event.body).replace("\0", " ")
        mentions += extract(text)
    for event in events:
        if event.kind == "tool_used":
            tools[event.body["tool"]] += 1
    parts = [
        f"Session {session} filled {context_pct:g} % of its context in {tools.total()}"
        " tool calls"
    ]
    if tools:
        parts.append(f"tools: {_tools_in_words(tools)}")
    if mentions:
        parts.append(f"about: {_concepts_in_words(mentions)}")
    parts += _last_prompt_in_words(newest)
    entry = ObservationEntry(
        "; ".join(parts),
        agent,
        now,
        SUMMARY_TYPE,
        "tool",
        (),
        session,
        home.project,
    )
    summary, _ = new_observation(entry, home.settings, now)
    # The words of the summary itself are no concepts of the session.
    session_ids = {mention.concept_id for mention in mentions}
    concepts: list[Any] = []
    for concept in summary.body["concepts"]:
        concept_id = concept[0]
        if concept_id in session_ids:
            concepts.append(concept)
    body = {**summary.body, "concepts": concepts}
    lineage = tuple(event.id for event in events)
    return summary._replace(body=body, lineage=lineage)


def _last_prompt_in_words(events: Sequence[Event]) -> list[str]:
    """Return what was asked last, in a list; [] where nothing was."""
    for event in reversed(events):
        if event.kind == "prompt":
            prompt = event.body["text"].replace("\0", " ")
            return [f"asked last: {one_line(prompt, _PROMPT_CHARACTERS)}"]
    return []


def _concepts_in_words(mentions: Sequence[Mention]) -> str:
    """Return the concepts that were mentioned most, each as it was first written."""
    counts = Counter(mention.concept_id for mention in mentions)
    surfaces = {mention.concept_id: mention.surface for mention in reversed(mentions)}
    most_named = counts.most_common(_CONCEPTS_NAMED)
    return ", ".join(surfaces[concept_id] for concept_id, _ in most_named)


def _tools_in_words(tools: Counter[str]) -> str:
    """Return the names of the tools that were called most, each with how often."""
    parts: list[str] = []
    for name, n_calls in tools.most_common(_TOOLS_NAMED):
        short_name = one_line(name, 40)
        parts.append(f"{short_name} {n_calls}")
    return ", ".join(parts)


@dataclass(frozen=True)
class Drift:
    """How an agent's anchors stand.

    Attributes:
        agent: Whose they are.
        coverage: active / anchors, 1 without any.
        state: What follows from the coverage.
        anchors: How many there are.
        active: How many of them are ACTIVE.
        left: Labels of the anchors that were ACTIVE at some time in the window and are
            no longer.
    """

    agent: str
    coverage: float
    state: str
    anchors: int
    active: int
    left: list[str]

    to_dict = asdict  # as JSON holds it


def drift(
    home: Home,
    *,
    agent: str = "main",
) -> Drift:
    """Return the drift of an agent now, over the setting driftWindowDays.

    An anchor that the window has seen was ACTIVE in it, since it is so when it is seen;
    any other was as its numbers, unchanged since, stood when the window began.
    """
    now = home.clock.now()
    settings = home.settings
    window = round(settings.drift_window_days * MICROSECONDS_PER_DAY)
    with home.views.reading(Axon) as axon:
        names = _anchors(axon, check_agent(agent))
        ids = axon.concepts["concept_id"]
        current = scores_of(axon, now, settings, agents=[agent])
        earlier = scores_of(axon, now - window, settings, agents=[agent])
        active_rows = current.rows[current.tier == Tier.ACTIVE]
        active = names.keys() & ids[active_rows].tolist()
        # By importance, since what sleeps now did not always.
        was_active = earlier.importance >= settings.active_threshold
        once_active_rows = earlier.rows[was_active]
        once_active = names.keys() & ids[once_active_rows].tolist()
    coverage = 1.0
    if names:
        coverage = len(active) / len(names)
    left = sorted(names[concept_id] for concept_id in once_active - active)
    state = state_of(coverage, bool(left))
    return Drift(agent, coverage, state, len(names), len(active), left)


def _anchors(axon: Axon, agent: str) -> dict[int, str]:
    """Return the concepts of an agent's moments, also those that were pruned.

    Returns:
        Their labels by concept_id.
    """
    table = axon.observations
    is_moment = table["type"] == axon.types.find(MOMENT_TYPE)
    is_agents = table["agent"] == axon.agents.find(agent)
    is_agents_moment = is_moment & is_agents
    is_anchor = is_agents_moment[axon.mentions["observation"]]
    anchors = axon.mentions["concept"][is_anchor]
    ids = axon.concepts["concept_id"]
    return {int(ids[row]): axon.labels[row] for row in anchors.tolist()}


def state_of(coverage: float, has_left: bool) -> str:
    """Return the state: drifting, recovering or stable.

    It is drifting below .5, recovering from .7 on while an anchor has left ACTIVE, else
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
    if has_left and coverage >= RECOVERING_FROM:
        return "recovering"
    return "stable"


# What may be proposed.
LAW_NAMES = ("product", "weighted_sum", "recency", "power", "frequency")
MILD_THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
# Bounds on the work of one run of the maintenance: records of each half, and concepts
# scored over all of them.
FEWEST_RECORDS = 20
MOST_SCORED = 1_000_000


def propose(home: Home, turned_down: frozenset[str] = frozenset()) -> Proposal:
    """Return the settings that served the earlier outcomes best.

    They are the law, the half-life and the MILD threshold, scored on the later
    outcomes.
    """
    earlier, later = halves(needs(home.views), _most_records(home.views))
    if len(later) < home.settings.acceptance_min_samples:
        return Proposal({}, None, None, len(later))
    candidates = candidates_of(
        home.settings, _changes(home.settings), MEMORY_SETTINGS, turned_down
    )
    replay = MemoryReplay(home.journal, context_tokens=home.settings.context_tokens)
    scores = replay.scores(earlier, [policy for _, policy in candidates])
    mean_scores, _ = weighted_mean(scores, earlier)
    best = best_of(mean_scores, candidates)
    if not gain_stands_out(scores[best] - scores[0]):
        best = 0
    changes, policy = candidates[best]
    later_scores = replay.scores(later, [home.settings, policy])
    (before, after), n = weighted_mean(later_scores, later)
    return Proposal(changes, float(before), float(after), n)


def score(home: Home) -> dict[str, float | int]:
    """Return {score, n} of the settings on the later half of the outcomes."""
    _, later = halves(needs(home.views), _most_records(home.views))
    replay = MemoryReplay(home.journal, context_tokens=home.settings.context_tokens)
    mean, n = weighted_mean(replay.scores(later, [home.settings]), later)
    return {"score": float(mean[0]), "n": n}


class OutcomeNeed(NamedTuple):
    """What one outcome needed.

    Attributes:
        seq: Its position in the journal.
        at: Its time (µs).
        concepts: The ids of its concepts.
        weight: (1 + score of the outcome) / 2.
    """

    seq: int
    at: int
    concepts: Ints
    weight: float


def needs(views: Views) -> list[OutcomeNeed]:
    """Return what each recorded outcome needed, oldest first.

    Those without concepts are left out.
    """
    with views.reading(Outcomes) as view:
        rows = view.select()
        seqs = view.rows["seq"][rows].tolist()
        times = view.rows["at"][rows].tolist()
        outcome_scores = view.scores()[rows]
        weights = ((1.0 + outcome_scores) / 2.0).tolist()
    time_of = dict(zip(seqs, times, strict=True))
    weight_of = dict(zip(seqs, weights, strict=True))
    result = []
    for event in views.journal.read(seqs=list(time_of)):
        concept_ids = event.body["concepts"]
        if concept_ids:
            concepts = np.unique(np.array(concept_ids, np.int64))
            need = OutcomeNeed(
                event.seq,
                time_of[event.seq],
                concepts,
                weight_of[event.seq],
            )
            result.append(need)
    return result


class _Untouched(Axon):
    """The axon without what scans and prunes of the policies of that time put away."""

    def apply(self, events: Sequence[Event]) -> None:
        """See View."""
        lasting = [event for event in events if event.kind not in ("scan", "prune")]
        super().apply(lasting)


class MemoryReplay:
    """The memory as it was at one outcome after the other.

    The journal is folded once, forwards.
    """

    def __init__(self, journal: Journal, *, context_tokens: int) -> None:
        self._journal = journal
        self._axon = _Untouched()
        self._context_tokens = context_tokens
        self._tokens: list[int] = []

    def scores(
        self, needed: Sequence[OutcomeNeed], policies: Sequence[Settings]
    ) -> Floats:
        """Return `needed_next` of each need under each policy.

        The needs are in order, after those asked about before.

        Returns:
            An array of shape (policies, needs), 0..1; NaN where no concept of a need
            was known by then.
        """
        scores = np.full((len(policies), len(needed)), np.nan)
        for column, need in enumerate(needed):
            fold_into(self._axon, self._journal, need.seq - 1)
            living = self._axon.rows_of()
            ids = self._axon.concepts["concept_id"][living]
            is_needed = np.isin(ids, need.concepts)
            positions = np.flatnonzero(is_needed)
            if len(positions):
                scores[:, column] = self._need_scores(need, positions, policies)
        return scores

    def _need_scores(
        self, need: OutcomeNeed, positions: Ints, policies: Sequence[Settings]
    ) -> list[float]:
        """Return the score of one need under each policy.

        Policies that differ in their thresholds alone rank alike, and ranking is what
        takes time.
        """
        rankings: dict[object, tuple[NeedRanks, Floats]] = {}
        scores = []
        for policy in policies:
            key = (
                policy.decay_law,
                *policy.decay_params.items(),
                policy.half_life_days,
                policy.fix_half_life_days,
            )
            if key not in rankings:
                rankings[key] = self._ranked(positions, need.at, policy)
            ranks, importance = rankings[key]
            scores.append(ranks.score(importance, policy.mild_threshold))
        return scores

    def _ranked(
        self, positions: Ints, now: int, policy: Settings
    ) -> tuple[NeedRanks, Floats]:
        current = scores_of(self._axon, now, policy)
        count, last, ids = current.among_equals
        tokens = self._line_tokens(current.rows)
        candidates = Candidates(current.raw, count, last, ids, tokens)
        ranks = needed_next(candidates, positions, self._context_tokens)
        return ranks, current.importance

    def _line_tokens(self, rows: Ints) -> Ints:
        surfaces = self._axon.surfaces
        for row in range(len(self._tokens), len(surfaces)):
            n_bytes = name_bytes(surfaces[row])
            self._tokens.append(line_tokens(n_bytes))
        return np.array(self._tokens, np.int64)[rows]


def weighted_mean(scores: Floats, needed: Sequence[OutcomeNeed]) -> tuple[Floats, int]:
    """Return each policy's mean score over the needs that were known, and their number.

    A mean is 0 where there are none.

    >>> need = OutcomeNeed(1, 0, np.array([1]), 0.5)
    >>> mean, n = weighted_mean(np.array([[1.0, np.nan], [0.0, np.nan]]), [need, need])
    >>> mean.tolist(), n
    ([1.0, 0.0], 1)
    """
    is_known = ~np.isnan(scores).any(axis=0)
    if not is_known.any():
        return np.zeros(len(scores)), 0
    all_weights = np.array([need.weight for need in needed])
    weights = all_weights[is_known]
    mean = scores[:, is_known] @ weights / weights.sum()
    return mean, int(is_known.sum())


def _changes(settings: Settings) -> list[dict[str, Any]]:
    """Return the changes of settings that may be proposed.

    They are each law with each half-life that it has, and each MILD threshold.
    """
    half_lives = [{"halfLifeDays": days} for days in PRODUCT_HALF_LIVES_DAYS]
    thresholds = [
        {"mildThreshold": threshold}
        for threshold in MILD_THRESHOLDS
        if threshold <= settings.active_threshold
    ]
    changes = list[dict[str, Any]]()
    for name in LAW_NAMES:
        has_half_life = "half_life_days" in LAWS[name].parameters
        law_half_lives = half_lives if has_half_life else [{}]
        for half_life, threshold in product(law_half_lives, thresholds):
            law = {"decayLaw": name, "decayParams": {}}
            changes.append({**law, **threshold, **half_life})
    return changes


def _most_records(views: Views) -> int:
    n_concepts = max(len(views.get(Axon).concepts), 1)
    most = min(MOST_RECORDS, MOST_SCORED // n_concepts)
    return max(FEWEST_RECORDS, most)


def evidence(home: Home) -> list[Any]:
    """Return what the records come to.

    Another outcome, or another score of one, makes it another.
    """
    return [[need.seq, round(need.weight, 9)] for need in needs(home.views)]


WON_TYPE = "feature"
WORDS_CHARACTERS = 300  # of a decision, and of a result, as they are quoted
_MOST_DAYS = 3_650


class RefinementResult(NamedTuple):
    """What one refinement looked at and wrote.

    Without observations nothing was written.

    Attributes:
        agent: Whose outcomes they are.
        since: The start of the window, µs UTC.
        until: The end of the window, µs UTC.
        won: The tags that won.
        lost: The tags that lost.
        observations: The ids of the observations made of them.
    """

    agent: str
    since: int
    until: int
    won: list[TagRate]
    lost: list[TagRate]
    observations: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return the refinement as its event holds it."""
        return {
            "agent": self.agent,
            "since": self.since,
            "until": self.until,
            "won": _tag_rows(self.won),
            "lost": _tag_rows(self.lost),
            "observations": self.observations,
        }


def _tag_rows(tags: Iterable[TagRate]) -> list[list[Any]]:
    return [[tag.tag, tag.n, round(tag.rate, 6)] for tag in tags]


def refine(
    home: Home, *, agent: str = "main", days: float | None = None
) -> RefinementResult:
    """Act on the win rates of an agent's latest outcomes.

    Of each top tag the best success is written as an observation of type `feature`, whose
    concepts gain by it; of each weak tag the worst failure as one of type `avoid`,
    which has no concepts, so that none is mentioned more often. A tag that nothing was
    decided about since it was last written is passed over: repeating changes nothing.
    The evidence of a tag that lost has fallen with each failure.

    Args:
        home: Where the outcomes were recorded.
        agent: Whose outcomes they are.
        days: How many days are looked back on; None: the setting evolveWindowDays.

    Raises:
        InvalidInput: The agent or the number of days is outside the rules.
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
        last_decided = 0
        if len(rows):
            last_decided = int(outcomes.rows["decided"][rows].max())
        rows_of = rows_by_tag(outcomes, rows)
        choices: list[_Choice] = []
        for tag in review.top:
            choices.append(_choice(outcomes, agent, tag, rows_of[tag.tag], True))
        for tag in review.weak:
            choices.append(_choice(outcomes, agent, tag, rows_of[tag.tag], False))
    observations = _new_observations(home, agent, choices, until)
    refined = RefinementResult(
        agent,
        since,
        until,
        review.top,
        review.weak,
        [event.id for event in observations],
    )
    if not observations:
        return refined
    refined_event = new_event(
        "refined",
        refined.to_dict(),
        agent=agent,
        at=until,
        lineage=refined.observations,
        event_id=derived_event_id("refined", agent, last_decided),
    )
    if not append_once(home.journal, [*observations, refined_event]):
        # Another process refined this very window, or outcomes that were erased stood
        # in it.
        return refined._replace(observations=[])
    return refined


def _new_observations(
    home: Home, agent: str, choices: Sequence["_Choice"], at: int
) -> list[Event]:
    """Return what is written of these tags and was not written before."""
    choice_ids = [choice.event_id for choice in choices]
    written = home.journal.read(ids=choice_ids, erased=True)
    written_ids = {event.id for event in written}
    observations = []
    for choice in choices:
        if choice.event_id not in written_ids:
            observation = _observation(home, agent, choice, at)
            if observation is not None:
                observations.append(observation)
    return observations


class _Choice(NamedTuple):
    """A tag that stands out.

    Attributes:
        tag: The tag with its rate.
        won: Whether it won.
        seqs: The seqs of its outcomes.
        quoted: The seq of the outcome to quote.
        event_id: The id of what is written of it.
    """

    tag: TagRate
    won: bool
    seqs: list[int]
    quoted: int
    event_id: str


def _choice(view: Outcomes, agent: str, tag: TagRate, rows: Ints, won: bool) -> _Choice:
    """Return a tag with the best success or the worst failure of its outcomes.

    It is the latest of equals. The outcomes are those of `rows`.
    """
    decisive = rows[view.rows["success"][rows] == won]
    scores = view.scores()[decisive]
    merit = scores if won else -scores
    best = decisive[np.lexsort((np.arange(len(decisive)), merit))[-1]]
    seqs = view.rows["seq"]
    last_decided = int(view.rows["decided"][rows].max())
    event_id = derived_event_id("refined tag", agent, tag.tag, won, last_decided)
    return _Choice(tag, won, seqs[rows].tolist(), int(seqs[best]), event_id)


def _observation(home: Home, agent: str, choice: _Choice, at: int) -> Event | None:
    """Return what is written of a tag.

    It is None where one of its outcomes was erased meanwhile.
    """
    outcomes = home.journal.read(seqs=choice.seqs)
    outcome_of = {outcome.seq: outcome for outcome in outcomes}
    if len(outcome_of) < len(choice.seqs):
        return None
    tag = choice.tag
    quoted = outcome_of[choice.quoted].body
    n_won = round(tag.n * tag.rate)
    name = one_line(tag.tag, WORDS_CHARACTERS)
    decision = one_line(quoted["decision"], WORDS_CHARACTERS)
    result = one_line(quoted["result"], WORDS_CHARACTERS)
    if choice.won:
        kind = WON_TYPE
        text = f"What won for {name} ({n_won} of {tag.n}): {decision}"
    else:
        kind = AVOID_TYPE
        text = (
            f"Avoid for {name} ({tag.n - n_won} of {tag.n} failed): {decision}. It"
            f" ended with: {result}"
        )
    # A summary is trusted no further than a model, and than the least of what it was
    # made from.
    sources = ["model", *(outcome.body["source"] for outcome in outcome_of.values())]
    entry = ObservationEntry(
        text,
        agent,
        at,
        kind,
        min(sources, key=lambda source: TRUST[source]),
        [tag.tag],
        project=common_project(outcome_of.values()),
    )
    observation, _ = new_observation(entry, home.settings, at)
    lineage = tuple(outcome.id for outcome in outcome_of.values())
    return observation._replace(id=choice.event_id, lineage=lineage)


def agents_of(home: Home) -> Iterable[str]:
    """Yield who has written, or had a session kept."""
    for view in (home.views.get(axon.Axon), home.views.get(stages.ShortTerm)):
        with view.lock:
            yield from view.agents


def flush_all(home: Home, agent: str | None) -> str:
    """Flush what no session adds to any more."""
    names = [agent] if agent is not None else list(home.views.get(flash.Flash).agents)
    n_kept = 0
    n_discarded = 0
    for results in in_turn(names, partial(lifecycle.flush_idle, home)):
        n_kept += sum(result.kept for result in results)
        n_discarded += sum(result.discarded for result in results)
    return f"{n_kept} events kept, {n_discarded} let go"


def refine_all(home: Home, agent: str | None) -> str:
    """Write what stands out of many outcomes."""
    results = for_each_agent(home, agent, lambda name: refine(home, agent=name))
    n_observations = sum(len(result.observations) for result in results)
    return f"{n_observations} observations written"


def scan_all(home: Home, agent: str | None) -> str:
    """Recompute tiers; put faded concepts to sleep."""
    update = lifecycle.scan(home, agents=None if agent is None else [agent])
    return (
        f"{update.changed} concepts changed tier, {update.slept} archived,"
        f" {update.links_dropped} links dropped"
    )


def graduate_all(home: Home, agent: str | None) -> str:
    """Take into the axon what was kept on enough days."""
    labels = for_each_agent(home, agent, lambda name: _graduate_one(home, name))
    return f"{sum(map(len, labels))} concepts graduated"


def _graduate_one(home: Home, agent: str) -> list[str]:
    labels = lifecycle.graduate(home, agent=agent)
    if labels:
        # What is new has its tier by then, so that a second run finds nothing to do.
        lifecycle.scan(home, agents=[agent])
    return labels


def promote_all(home: Home, agent: str | None) -> str:
    """Give concepts to the shared web."""
    results = list(
        for_each_agent(home, agent, lambda name: lifecycle.promote(home, agent=name))
    )
    n_concepts = sum(result.concepts for result in results)
    n_links = sum(result.links for result in results)
    return f"{n_concepts} concepts, {n_links} links promoted"
