"""Mask the secrets of an event: no journal keeps one.

Every event passes here when it is appended, whichever door it came through. Masked are
the texts and the names in its body, at any depth, the agent, the session and the
project. Only a call that keeps secrets on request goes round it, see
`theorex_lab.text.redact.redaction_scope`. Standard library only, and quick where there
is nothing to mask: agents start a process for every event.
"""

from __future__ import annotations

from theorex_lab.core.errors import InvalidInput
from theorex_lab.journal.event import FIELDS, check_event, encode
from theorex_lab.journal.kinds import PROJECT
from theorex_lab.text.redact.masking import mask, masked_value, may_hold_secret
from theorex_lab.text.redact.redaction_scope import count_masked, current, kept_id
from theorex_lab.text.visible import visible

# what type checkers take for true; `typing` would cost every hook 7 ms
TYPE_CHECKING = False
if TYPE_CHECKING:
    from theorex_lab.journal.event import Body, Event


def kept_event(event: Event) -> tuple[Event, str]:
    """Return an event as a journal keeps it, and its body as it is written down.

    The same event gives the same result, and the result gives itself.

    Raises:
        InvalidInput: The body is not what its kind says, or JSON cannot hold it.

    >>> from theorex_lab.journal.event import new_event
    >>> body = {"text": "token=abc123def", "source": "user"}
    >>> kept_event(new_event("prompt", body, agent="main", at=0))[1]
    '{"v":2,"text":"token=[masked]","source":"user"}'
    """
    check_event(event)
    text = encode(event.body)
    if current().keeps_secrets:
        return event, text
    names = f"{event.id} {event.agent} {event.session} {' '.join(event.lineage)}"
    if not may_hold_secret(visible(f"{names} {text}")):
        return event, text
    try:
        body = _kept_body(event)
    except RecursionError as error:
        raise InvalidInput(
            f"got an event of the kind {event.kind!r} that is nested too deeply; nothing"
            " was written"
        ) from error
    kept = event._replace(
        id=kept_id(event.id),
        agent=kept_id(event.agent),
        session=kept_id(event.session),
        lineage=tuple(map(kept_id, event.lineage)),
        body=body,
    )
    kept_text = encode(kept.body)
    if kept_text == text and kept[:6] == event[:6] and kept.lineage == event.lineage:
        return event, text
    count_masked(f"{names} {text}", kept_text)
    check_event(kept)
    return kept, kept_text


def _kept_body(event: Event) -> Body:
    """Return the body with its texts masked.

    A member that its kind declares is no secret by its name.
    """
    fields = FIELDS.get(event.kind, {})
    declared: Body = {}
    others: Body = {}
    for name, member in event.body.items():
        shape = fields.get(name, fields.get(f"{name}?"))
        others[name] = member if shape is None else None
        if shape is PROJECT:
            declared[name] = kept_id(member)
        elif shape is not None:
            declared[name] = masked_value(member, _masked_text)
    masked: Body = masked_value(others, _masked_text)
    masked.update(declared)
    return masked


def _masked_text(text: str) -> str:
    """Return a text masked.

    What nobody sees in it goes where it splits a secret, and else stays: it may be a
    path, which is kept character by character.
    """
    shown = visible(text)
    masked = mask(shown)
    return text if masked == shown else masked
