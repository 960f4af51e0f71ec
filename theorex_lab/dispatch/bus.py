"""A call of a model as messages START, TOOL and END of one trace id.

Each comes with the event that it is kept as.
"""

import re

from theorex_lab.core.ids import check_name, derived_event_id
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.dispatch.llm import Attempt
from theorex_lab.journal.event import Body, Event, new_event, paths_by_use
from theorex_lab.text.redact.redaction_scope import kept_text
from theorex_lab.text.visible import visible

TASK_CHARACTERS = 4_000
RESPONSE_CHARACTERS = 2_000
ERROR_CHARACTERS = 1_000
# How much further than a preview reaches its text is read, so that a secret at the cut
# is seen as one.
_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_LOOKAHEAD_CHARACTERS = 8_192
_TOOL_CHARACTERS = {"tool": 128, "input": 300, "response": 500}


@dataclass(frozen=True)
class CallStart:
    """A model is about to be called.

    Attributes:
        at: µs UTC.
        model: The first choice.
        owner: Whose call it is, as in `dispatch.worker.close_lost`; None for nobody's.
        lost_after_seconds: When it is given up where nobody can see the owner.
    """

    trace_id: str
    agent: str
    at: int
    task: str
    query_type: str
    model: str = ""
    session: str = ""
    tags: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    context_pct: float = 0.0
    query_tokens: int = 0
    outcome_id: str | None = None
    owner: Body | None = None
    lost_after_seconds: float = 0.0
    project: str = ""

    @property
    def event_id(self) -> str:
        """Return the id of its event: a trace starts once."""
        return derived_event_id("trace started", self.trace_id)

    @property
    def all_tags(self) -> list[str]:
        """Return the query type, then the other tags."""
        return list(dict.fromkeys([self.query_type, *self.tags]))

    def event(self) -> Event:
        """Return the `trace_started` event."""
        body = {
            name: value
            for name, value in vars(self).items()
            if name not in ("agent", "session", "at")
        }
        body["task"] = preview(self.task, TASK_CHARACTERS)
        body["tags"] = self.all_tags
        body["reasons"] = list(self.reasons)
        return new_event(
            "trace_started",
            body,
            agent=self.agent,
            session=self.session,
            at=self.at,
            event_id=self.event_id,
        )


@dataclass(frozen=True)
class ToolCall:
    """A tool was used during a call.

    `input` and `response` are stored as previews of 300 and 500 characters.
    """

    trace_id: str
    at: int
    tool: str
    input: str = ""
    response: str = ""

    def event(self, start: CallStart) -> Event:
        """Return the `tool_used` event, as the hook would write it, with its trace."""
        body: Body = {
            name: preview(getattr(self, name), limit)
            for name, limit in _TOOL_CHARACTERS.items()
        }
        body |= {
            "source": "tool",
            "ok": None,
            "paths": paths_by_use(self.tool, ()),
            "command": "",
            "project": start.project,
            "trace_id": self.trace_id,
        }
        return new_event(
            "tool_used",
            body,
            agent=start.agent,
            session=start.session,
            at=self.at,
            lineage=[start.event_id],
        )


@dataclass(frozen=True)
class CallEnd:
    """How a call went.

    Attributes:
        model: Which answered, else the last that was tried.
        latency_ms: None where none answered.
        unavailable: No answer came from any model, so that nothing can be learnt of
            their answers.
        kept: Events that are appended together with this one, or not at all.
    """

    trace_id: str
    at: int
    success: bool
    model: str = ""
    tokens: int | None = None
    latency_ms: float | None = None
    error: str | None = None
    response: str = ""
    attempts: tuple[Attempt, ...] = ()
    lost: bool = False
    kept: tuple[Event, ...] = ()
    unavailable: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    @property
    def event_id(self) -> str:
        """Return the id of its event: a trace ends once."""
        return derived_event_id("trace ended", self.trace_id)

    def event(self, start: CallStart) -> Event:
        """Return the `trace_ended` event."""
        body = {
            name: value
            for name, value in vars(self).items()
            if name not in ("at", "kept")
        }
        body["query_type"] = start.query_type
        body["outcome_id"] = start.outcome_id
        body["error"] = _error(self.error)
        body["response"] = preview(self.response, RESPONSE_CHARACTERS)
        body["attempts"] = [
            {**vars(attempt), "error": _error(attempt.error)}
            for attempt in self.attempts
        ]
        return new_event(
            "trace_ended",
            body,
            agent=start.agent,
            session=start.session,
            at=self.at,
            lineage=[start.event_id],
            event_id=self.event_id,
        )


def check_trace_id(trace_id: str, what: str = "trace") -> str:
    """Return the id, or raise InvalidInput where it is outside the rule.

    Args:
        trace_id: The id.
        what: What it is the id of, in an error.

    >>> check_trace_id("run-7:a")
    'run-7:a'
    """
    return check_name(trace_id, _ID, f"{what} id", "1 to 128 of A-Z a-z 0-9 . _ : -")


def clean(text: str) -> str:
    r"""Return the text without hidden characters, and with ? for what cannot be stored.

    That is NUL, and halves of surrogate pairs.

    >>> clean("four\0letters")
    'four?letters'
    """
    return visible(text).replace("\0", "?").encode("utf-8", "replace").decode()


def preview(text: str, limit: int) -> str:
    """Return at most `limit` characters of a text, … at its cut.

    Secrets and what cannot be stored are taken out.

    >>> preview("four letters", 6)
    'four …'
    """
    text = kept_text(text[: limit + _LOOKAHEAD_CHARACTERS])
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return clean(text)


def _error(error: str | None) -> str | None:
    return None if error is None else preview(error, ERROR_CHARACTERS)
