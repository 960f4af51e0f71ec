"""When a call that has no END is given up as lost.

A START names its owner: machine, container, boot and process.

- The owner is of this machine and an earlier boot, or of this container and its process is gone, or another has its
  number now: the call is lost.
- The owner is of another machine or container, whose processes nobody can see from here: the call is lost once
  `lost_after_seconds` have passed since its START. The START states them: ten times what the call may take at most,
  and an hour at least, since clocks differ and machines sleep.
- Nobody is named, as in a trace that was imported: the call is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from theorex_lab.dispatch.bus import End, Start
from theorex_lab.dispatch.process import lives
from theorex_lab.ids import derived_event_id
from theorex_lab.journal.base import Journal, append_once
from theorex_lab.journal.event import Event

if TYPE_CHECKING:
    from theorex_lab.journal.view import Views

LOST = "the process ended during the call"
OUT_OF_SIGHT = "no end came, and nobody here can see the process that made the call"
_LONGEST_TIMES, _SHORTEST_SECONDS = 10.0, 3_600.0


def lost_after_seconds(longest_seconds: float) -> float:
    """How long after its START a call is waited for that nobody can see, where it takes `longest_seconds` at most.

    >>> lost_after_seconds(30), lost_after_seconds(1_800)
    (3600.0, 18000.0)
    """
    return max(_SHORTEST_SECONDS, _LONGEST_TIMES * longest_seconds)


def close_lost(views: Views, at: int) -> list[str]:
    """Close the open traces that are lost by the rule above; returns their ids, in the order of their STARTs. `at`: µs UTC."""
    from theorex_lab.dispatch.traces import Traces, open_traces

    with views.reading(Traces) as view:
        trace_ids = open_traces(view)
    starts = views.journal.read(ids=[derived_event_id("trace started", trace_id) for trace_id in trace_ids])
    given_up = [(start, problem) for start in starts if (problem := _given_up(start, at))]
    return [start.body["trace_id"] for start, problem in given_up if _close(views.journal, start, at, problem)]


def _given_up(start: Event, at: int) -> str:
    """Why the call is lost, '' where it is not."""
    owner = start.body.get("owner")
    alive = lives(owner) if isinstance(owner, dict) else False
    if alive is None:
        return OUT_OF_SIGHT if (at - start.at) / 1e6 > start.body["lost_after_seconds"] else ""
    return "" if alive else LOST


def _close(journal: Journal, started: Event, at: int, problem: str) -> bool:
    """Append the END of a lost trace; False where it has ended meanwhile."""
    body = started.body
    start = Start(body["trace_id"], started.agent, started.at, "", body["query_type"], session=started.session)
    end = End(start.trace_id, at, success=False, model=body["model"] or "", error=problem, lost=True)
    return append_once(journal, [end.event(start)])
