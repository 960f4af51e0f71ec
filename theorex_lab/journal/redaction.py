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
from theorex_lab.text.redact.masking import (
    mask,
    masked_value,
    may_hold_secret,
    names_pass,
    not_looked_at_lately,
    note_plain,
    was_masked,
)
from theorex_lab.text.redact.redaction_scope import count_masked, kept_id, secrets_stay
from theorex_lab.text.visible import visible

# what type checkers take for true; `typing` would cost every hook 7 ms
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from theorex_lab.journal.event import Body, Event

_LISTS = (list, tuple)
_UUID_SIGNS = "0123456789abcdef-"
_UUID_LENGTH = 36


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
    if secrets_stay():
        return event, text
    if _is_plain(event):
        return event, text
    try:
        body = _kept_body(event)
        is_clean = body == event.body
    except RecursionError as error:
        raise InvalidInput(
            f"got an event of the kind {event.kind!r} that is nested too deeply; nothing"
            " was written"
        ) from error
    masked_event = event._replace(
        id=kept_id(event.id),
        agent=kept_id(event.agent),
        session=kept_id(event.session),
        lineage=tuple(map(kept_id, event.lineage)),
        body=body,
    )
    if is_clean and masked_event[:7] == event[:7]:
        return event, text
    kept_text = encode(masked_event.body)
    count_masked(f"{event.agent} {event.session} {text}", kept_text)
    check_event(masked_event)
    return masked_event, kept_text


def _is_plain(event: Event) -> bool:
    """Return whether an event shows no hint of a secret; note its texts as plain then."""
    texts = [event.agent, event.session, *event.lineage, *_texts_in(event)]
    if not _is_drawn(event.id):
        texts.append(event.id)
    if names_pass(texts):
        return False
    new_texts = not_looked_at_lately(texts)
    if not new_texts:
        return True
    if may_hold_secret(visible(" ".join(new_texts))):
        return False
    note_plain(new_texts)
    return True


def _is_drawn(event_id: str) -> bool:
    """Return whether an id is made of the digits of a UUID alone.

    Such an id holds no secret, and some of them look like the start of one.
    """
    return len(event_id) == _UUID_LENGTH and not event_id.strip(_UUID_SIGNS)


def _texts_in(event: Event) -> list[str]:
    """Return the texts and the names in an event's body, at any depth.

    The names of members that its kind declares are left out: those stay as they are,
    and one of them, `tokens`, looks like a secret's.
    """
    texts: list[str] = []
    declared_names = _declared_names(event.kind)
    if not declared_names.issuperset(event.body):
        texts += filter(_is_text, event.body.keys() - declared_names)
    open_parts: list[Any] = [event.body.values()]
    while open_parts:
        for part in open_parts.pop():
            if isinstance(part, str):
                texts.append(part)
            elif isinstance(part, dict):
                texts += filter(_is_text, part)
                open_parts.append(part.values())
            elif isinstance(part, _LISTS):
                open_parts.append(part)
    return texts


def _declared_names(kind: str) -> frozenset[str]:
    """Return the names of the members that a kind declares, by its fields of now."""
    fields = FIELDS.get(kind, {})
    remembered = _NAMES_BY_KIND.get(kind)
    if remembered is None or remembered[0] is not fields:
        names = [field.removesuffix("?") for field in fields]
        remembered = (fields, frozenset((*fields, *names)))
        _NAMES_BY_KIND[kind] = remembered
    return remembered[1]


# By kind, its fields and the names of its members.
_NAMES_BY_KIND: dict[str, tuple[object, frozenset[str]]] = {}


def _is_text(name: object) -> bool:
    """Return whether a name of a member is a text."""
    return isinstance(name, str)


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
    path, which is masked_event character by character.
    """
    if was_masked(text):
        return text
    shown = visible(text)
    masked = mask(shown)
    return text if masked == shown else masked
