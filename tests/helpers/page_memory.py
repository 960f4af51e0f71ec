"""A memory for the tests of its page: two projects, hostile texts, a failure with a trace."""

from __future__ import annotations

from typing import Any

from conftest import DAY, NOW, observation

from theorex_lab import Event, Lab, new_event
from theorex_lab.dispatch.bus import CallEnd, CallStart, ToolCall

PAGE_TOKEN = "the-token-of-the-home-s-owner-for-tests"
OWNER = {"Authorization": f"Bearer {PAGE_TOKEN}"}
SHOP = "shop-0a1b2c3d"
BANK = "bank-0a1b2c3d"
RULE = "Always run the tests before you commit."
BANK_RULE = "Never print the balance of a customer."
# Markup, the end of a script, marks that turn the direction, a line without a space.
HOSTILE = (
    "Always escape <img src=x onerror=alert(1)></script><script>alert(2)</script>"
    " and \u202eevil\u202c text."
)
LONG = "Always keep " + "w" * 400
DECISION = "deploy the billing service"


def happened(kind: str, *, session: str, project: str, at: int, **body: Any) -> Event:
    return new_event(
        kind, {**body, "project": project}, agent="main", session=session, at=at
    )


def said(text: str, *, session: str, project: str = SHOP, at: int = NOW) -> Event:
    return happened(
        "prompt", session=session, project=project, at=at, text=text, source="user"
    )


def session(name: str, *prompts: str, project: str = SHOP, day: int = 1) -> list[Event]:
    """Prompts, each with an edit and the agent's last message."""
    events: list[Event] = []
    place: dict[str, Any] = {"session": name, "project": project}
    for number, prompt in enumerate(prompts):
        at = NOW - day * DAY + number * 1_000_000
        events.append(said(prompt, at=at, **place))
        events.append(
            happened(
                "tool_used",
                at=at + 1,
                tool="Edit",
                source="tool",
                input="",
                response="ok",
                ok=True,
                paths={"edited": [f"app/{name}.py"], "read": ["README.md"]},
                **place,
            )
        )
        message = f"Done with {prompt}"
        events.append(
            happened("turn_ended", at=at + 2, message=message, source="agent", **place)
        )
    return events


def remember(lab: Lab) -> str:
    """Fill a home; return the id of its failure, which waits."""
    lab.journal.append(
        [
            *session("one", RULE, "Fix the till.", day=3),
            *session("two", RULE, HOSTILE, day=2),
            *session("three", LONG, HOSTILE, day=1),
            *session("four", BANK_RULE, BANK_RULE, project=BANK, day=4),
            observation("The vault has two keys.", labels=["vault", "key"]),
            observation(f"A page said: {HOSTILE}", labels=["page"], source="tool"),
        ]
    )
    return fail(lab)


def fail(lab: Lab, decision: str = DECISION) -> str:
    """Record a failure with a trace in which a call failed; return its id."""
    outcome = lab.outcomes.record(
        "main", decision, "the old prices were still shown", success=False
    )
    trace_id = f"t-{outcome.outcome_id}"
    start = CallStart(
        trace_id,
        "main",
        NOW,
        "bring the new prices to production",
        "general",
        "qwen",
        outcome_id=outcome.outcome_id,
    )
    tool = ToolCall(trace_id, NOW, "python", "print(total)", "NameError: total")
    end = CallEnd(
        trace_id,
        NOW,
        success=True,
        model="qwen",
        tokens=41,
        latency_ms=120.0,
        response="It is deployed.",
    )
    lab.journal.append([start.event(), tool.event(start), end.event(start)])
    return outcome.outcome_id
