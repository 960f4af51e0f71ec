"""What watches an agent: when its context fills up, what its session was about is written down as one summary; and drift.

Drift: how many of the concepts that an agent's moments anchor are still ACTIVE.

The checks of a session form a chain: the event of check k has an id made of the session's name and k. So of processes
that check at once each takes another step, and only one of them finds that a summary is due.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.designs.theorex.axon import Axon, Ints
from theorex_lab.designs.theorex.flash import Flash, text_of
from theorex_lab.designs.theorex.scores import scores_of
from theorex_lab.errors import AlreadyThere, InvalidInput
from theorex_lab.evolution.policy import numbered_events
from theorex_lab.home import Home
from theorex_lab.ids import check_agent, check_session, derived_event_id
from theorex_lab.journal.event import RAW_KINDS, Event, new_event
from theorex_lab.memory.decay import Tier
from theorex_lab.memory.observation import Entry, new_observation
from theorex_lab.search.items import MOMENT_TYPE
from theorex_lab.text.extract import extract
from theorex_lab.text.line import one_line

SUMMARY_TYPE = "summary"
_MOST_EVENTS = 200  # a summary reads the newest events, at most so many
_TOOLS_NAMED, _CONCEPTS_NAMED = 5, 8
_PROMPT_CHARACTERS, _BYTES_PER_TOKEN = 200, 4
_CHECKS = "context checked"  # what the ids of a session's checks begin with
DRIFTING_BELOW, RECOVERING_FROM = 0.5, 0.7
DRIFTING, RECOVERING, STABLE = "drifting", "recovering", "stable"


@dataclass(frozen=True)
class Checked:
    """What a check found: whether a summary was due, how full the context is (percent), and what was written.

    calls: since the summary before, or since the session began.  written: the summary's event id; None where none was
    due, and where the session has no events to sum up.  estimated: the percentage is an estimate.
    """

    fired: bool
    context_pct: float
    calls: int
    written: str | None
    estimated: bool = False

    to_dict = asdict  # as JSON holds it


def check_context(home: Home, session: str, context_pct: float | None = None, *, agent: str = "main") -> Checked:
    """Note how full a session's context is (0..100; None: estimated), and sum the session up where that is due.

    It is due from contextAlertPct on, the first time at once and then each time contextCooldownCalls have passed. A
    call is a tool call that was recorded or a check; where every call is checked these are the same ones, so that the
    larger number holds. Raises InvalidInput for anything outside the rules.
    """
    check_agent(agent)
    if not check_session(session):
        raise InvalidInput("got no session; name the session whose context is checked")
    if context_pct is not None and not 0 <= context_pct <= 100:
        raise InvalidInput(f"got a context of {context_pct} percent; allowed is 0 to 100")
    while True:
        try:
            return _check(home, home.clock.now(), agent, session, context_pct)
        except AlreadyThere:
            continue  # another process made this check of the chain; the next one sees what it found


def check_turns(home: Home, session: str, *, agent: str = "main") -> Checked | None:
    """`check_context` for a session with events that were not flushed, where its turns tell how large its transcript is."""
    with home.views.reading(Flash) as flash:
        waiting = flash.pending(check_agent(agent), session)
    known = waiting and _estimate(home, session, agent)[1] > 0
    return check_context(home, session, agent=agent) if known else None


def _estimate(home: Home, session: str, agent: str) -> tuple[float, int]:
    """How full a session's context is, in percent (0..100) of contextWindowTokens, estimated from what was captured of it.

    By what its transcript has grown, where turns ended with its size known, else by the captured texts; both since the
    context was last summarized, and four bytes a token. Then how large the transcript is, 0 where that is not known.
    """
    base = size = texts = 0
    for event in home.journal.tail(0, kinds=RAW_KINDS):
        if (event.agent, event.session) != (agent, session):
            continue
        if event.kind == "compacting":
            base, texts = size, 0
        known = event.body.get("transcript_bytes")
        size = known if isinstance(known, int) and known >= 0 else size
        said = text_of(event.body) if event.kind in Flash.kinds else event.body.get("message", "")
        texts += len(said.encode())
    tokens = (max(size - base, 0) if size else texts) / _BYTES_PER_TOKEN
    return round(min(100.0, 100.0 * tokens / home.settings.context_window_tokens), 1), size


def _check(home: Home, now: int, agent: str, session: str, stated_pct: float | None) -> Checked:
    estimated = stated_pct is None
    context_pct = _estimate(home, session, agent)[0] if stated_pct is None else float(stated_pct)
    made = [*numbered_events(home.journal, _CHECKS, agent, session)]
    before = made[-1].body if made and not made[-1].erased else {}
    fired_before = before.get("fired_seq")  # up to where the last summary reaches
    with home.views.reading(Flash) as flash:
        seqs = [seq for seq in flash.pending(agent, session) if seq > (fired_before or 0)]
    events = home.journal.read(seqs=seqs)
    checks = before.get("checks", 0) + 1
    calls = max(checks, sum(event.kind == "tool_used" for event in events))
    due = fired_before is None or calls >= home.settings.context_cooldown_calls
    fired = context_pct >= home.settings.context_alert_pct and due
    summary = _summary(home, events, now, agent, session, context_pct) if fired and events else None
    body = {
        "context_pct": context_pct, "calls": calls, "fired": fired, "written": None if summary is None else summary.id,
        "checks": 0 if fired else checks, "fired_seq": max(seqs, default=fired_before or 0) if fired else fired_before,
        "project": home.project, **({"estimated": True} if estimated else {})}  # fmt: skip
    event_id = derived_event_id(_CHECKS, agent, session, len(made) + 1)
    done = new_event("context_checked", body, agent=agent, session=session, at=now, event_id=event_id)
    home.journal.append([done] if summary is None else [summary, done])
    return Checked(fired, context_pct, calls, body["written"], estimated)


def _summary(home: Home, events: Sequence[Event], now: int, agent: str, session: str, context_pct: float) -> Event:
    """What the session was about, by counting: its tools, its concepts, and what was asked last."""
    newest = events[-_MOST_EVENTS:]
    tools = Counter(event.body["tool"] for event in events if event.kind == "tool_used")
    prompts = [event.body["text"] for event in newest if event.kind == "prompt"]
    found = [mention for event in newest for mention in extract(text_of(event.body).replace("\0", " "))]
    surfaces = {mention.concept_id: mention.surface for mention in reversed(found)}
    concepts = Counter(mention.concept_id for mention in found)
    parts = [f"Session {session} filled {context_pct:g} % of its context in {tools.total()} tool calls"]
    if tools:
        parts.append("tools: " + ", ".join(f"{one_line(name, 40)} {n}" for name, n in tools.most_common(_TOOLS_NAMED)))
    if concepts:
        parts.append("about: " + ", ".join(surfaces[number] for number, _ in concepts.most_common(_CONCEPTS_NAMED)))
    if prompts:
        parts.append(f"asked last: {one_line(prompts[-1].replace(chr(0), ' '), _PROMPT_CHARACTERS)}")
    entry = Entry("; ".join(parts), agent, now, SUMMARY_TYPE, "tool", (), session, home.project)
    event, _ = new_observation(entry, home.settings, now)
    # The words of the summary itself are no concepts of the session.
    own = [concept for concept in event.body["concepts"] if concept[0] in concepts]
    return event._replace(body={**event.body, "concepts": own}, lineage=tuple(taken.id for taken in events))


@dataclass(frozen=True)
class Drift:
    """How an agent's anchors stand: coverage = active / anchors (1 without any), and the state that follows from it.

    left: labels of the anchors that were ACTIVE at some time in the window and are no longer.
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

    An anchor that the window has seen was ACTIVE in it, since it is so when it is seen; any other was as its numbers,
    unchanged since, stood when the window began.
    """
    now, settings = home.clock.now(), home.settings
    window = round(settings.drift_window_days * MICROSECONDS_PER_DAY)
    with home.views.reading(Axon) as axon:
        names = {int(axon.concepts["concept_id"][row]): axon.labels[row] for row in _anchors(axon, check_agent(agent))}
        current, earlier = (scores_of(axon, at, settings, agents=[agent]) for at in (now, now - window))
        active = _ids(axon, current.rows[current.tier == Tier.ACTIVE]) & names.keys()
        # By importance, since what sleeps now did not always.
        once = _ids(axon, earlier.rows[earlier.importance >= settings.active_threshold]) & names.keys()
    coverage = len(active) / len(names) if names else 1.0
    left = sorted(names[number] for number in once - active)
    return Drift(agent, coverage, state_of(coverage, bool(left)), len(names), len(active), left)


def state_of(coverage: float, has_left: bool) -> str:
    """drifting below .5; recovering from .7 while an anchor has left ACTIVE; else stable.

    >>> state_of(0.4, True), state_of(0.7, True), state_of(0.6, True), state_of(1.0, False)
    ('drifting', 'recovering', 'stable', 'stable')
    """
    if coverage < DRIFTING_BELOW:
        return DRIFTING
    return RECOVERING if has_left and coverage >= RECOVERING_FROM else STABLE


def _anchors(axon: Axon, agent: str) -> list[int]:
    """Rows of the concepts that the agent's moments mention, also of those that were pruned."""
    table = axon.observations
    moments = (table["type"] == axon.types.find(MOMENT_TYPE)) & (table["agent"] == axon.agents.find(agent))
    rows: list[int] = np.unique(axon.mentions["concept"][moments[axon.mentions["observation"]]]).tolist()
    return rows


def _ids(axon: Axon, rows: Ints) -> set[int]:
    return set(axon.concepts["concept_id"][rows].tolist())
