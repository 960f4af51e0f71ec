"""What failed lately and was not reviewed yet, in the words of who recorded it, as lines of a context."""

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.design import Line, Section, Wanted
from theorex_lab.evolution.outcomes import Outcomes
from theorex_lab.home import Home
from theorex_lab.journal.event import Event
from theorex_lab.memory.filling import age_in_words
from theorex_lab.memory.observation import TRUST, owner_of
from theorex_lab.text.line import LINE_CHARACTERS, one_line

FAILURE = "failure"  # the kind of a line that tells of a failure
AGE_DAYS, MOST_FAILURES = 7, 10
_DECISION_CHARACTERS = LINE_CHARACTERS // 2


def what_failed(home: Home, wanted: Wanted) -> list[Line]:
    """The failures of the last seven days that wait for a review at that time, newest first, each once, ten at most.

    Of the home's project, or of none.

    One that a later outcome calls a success is none.
    """
    view, now = home.views.get(Outcomes), wanted.now
    with view.lock:
        rows = view.queue(threshold=home.settings.review_threshold)
        at = view.rows["at"][rows]
        recent = (at >= now - AGE_DAYS * MICROSECONDS_PER_DAY) & (at <= now)
        seqs = view.rows["seq"][rows[recent]].tolist()
    found = home.journal.read(seqs=seqs)
    failed = [event for event in found if not home.project or event.body.get("project", "") in ("", home.project)]
    once: dict[tuple[str, ...], Event] = {}
    for event in sorted(failed, key=lambda event: (event.at, event.seq), reverse=True):
        once.setdefault((event.agent, *(event.body[name] for name in ("source", "decision", "result"))), event)
    trusted = [event for event in once.values() if _is_trusted(event)][:MOST_FAILURES]
    heard = [event for event in once.values() if not _is_trusted(event)][:MOST_FAILURES]
    return [_line(event, now) for event in [*trusted, *heard]]


def _is_trusted(event: Event) -> bool:
    return TRUST[event.body["source"]] >= TRUST["agent"]


def _line(event: Event, now: int) -> Line:
    body = event.body
    decision = one_line(body["decision"]).rstrip(".")
    if len(decision) > _DECISION_CHARACTERS:
        decision = decision[:_DECISION_CHARACTERS].rstrip() + "…"
    text = one_line(f"{decision}. It ended with: {body['result']}")
    age = age_in_words((now - event.at) / MICROSECONDS_PER_DAY)
    heard_from = None if _is_trusted(event) else (event.agent, TRUST[body["source"]])
    return Line(FAILURE, owner_of(event), f"{text} ({age})", heard_from, (event.id,))


WHAT_FAILED = Section(what_failed, {FAILURE: "What failed"})
