"""Cut long texts and values for a preview, masked before they are cut.

Standard library only, since the hook does it for every event.
"""

from theorex_lab.core import light_json as json
from theorex_lab.text.redact.hints import MASK
from theorex_lab.text.redact.masking import (
    is_secret_member,
    mask,
    note_masked,
)
from theorex_lab.text.visible import visible

_DEEPEST = 32
# How much further than a preview reaches its text is read, so that a secret at the cut
# is seen as one: to the end of a
# line, and further where the end of a private key may follow, since that tells of the
# lines before it.
_LOOKAHEAD_CHARACTERS = 512
_LONGEST_LINE_CHARACTERS = 2_048
_LONGEST_KEY_CHARACTERS = 8_192


def preview(value: object, limit: int) -> str:
    """Return at most `limit` characters of a text, or of a value's compact JSON.

    It is masked before it is cut.

    >>> preview({"user": 1, "password": "hunter2"}, 40), preview("far too long", 5)
    ('{"user":1,"password":"[masked]"}', 'far …')
    """
    if value is None:
        return ""
    if isinstance(value, str):
        text = masked_start(value, limit)
    else:
        trimmed = _trimmed(value, budget=[limit], depth=0)
        text = json.dumps(trimmed, ensure_ascii=False)
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    # A lone surrogate, which the journal refuses, becomes ?.
    kept_text = text
    if not text.isascii():
        kept_text = text.encode("utf-8", "replace").decode()
    note_masked(kept_text)
    return kept_text


def _trimmed(value: object, budget: list[int], depth: int) -> object:
    """Return the value masked, with no more of it than a preview can show.

    Args:
        value: A JSON value.
        budget: How many characters are left, as its one entry, which is lowered.
        depth: How many lists and objects stand around the value.
    """
    budget[0] -= 1
    if depth > _DEEPEST:
        return "…"
    if isinstance(value, str):
        limit = max(budget[0], 1)
        text = masked_start(value, limit)
        budget[0] -= len(text)
        return text
    if isinstance(value, list):
        return _trimmed_list(value, budget, depth)
    if isinstance(value, dict):
        return _trimmed_object(value, budget, depth)
    return value


def _trimmed_list(values: list[object], budget: list[int], depth: int) -> list[object]:
    """Return the first entries of a list, each trimmed; see `_trimmed`."""
    entries: list[object] = []
    for value in values:
        if budget[0] <= 0:
            break
        entries.append(_trimmed(value, budget, depth + 1))
    return entries


def _trimmed_object(
    value: dict[str, object],
    budget: list[int],
    depth: int,
) -> dict[str, object]:
    """Return the first members of an object, each trimmed; see `_trimmed`."""
    members: dict[str, object] = {}
    for key, member in value.items():
        if budget[0] <= 0:
            break
        name = str(_trimmed(key, budget, depth))
        if is_secret_member(key, value):
            members[name] = MASK
        else:
            members[name] = _trimmed(member, budget, depth + 1)
    return members


def masked_start(text: str, limit: int) -> str:
    """Return the masked text, or a start of it that is longer than `limit`.

    No secret at the end of the start can reach into what a preview shows.
    """
    # Hidden characters go first, so that none splits a secret's name.
    size = limit + _LOOKAHEAD_CHARACTERS
    if len(text) <= size:
        return mask(visible(text))
    while True:
        end = text.find("\n", size, size + _LONGEST_LINE_CHARACTERS)
        if end < 0:
            end = size + _LONGEST_LINE_CHARACTERS
        if text.find("PRIVATE KEY", end, end + _LONGEST_KEY_CHARACTERS) >= 0:
            end += _LONGEST_KEY_CHARACTERS
        masked = mask(visible(text[:end]))
        if end >= len(text):
            return masked
        if len(masked) >= limit + _LOOKAHEAD_CHARACTERS // 2:
            return masked[: limit + 1]
        size *= 4
