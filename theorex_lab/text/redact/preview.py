"""Starts of long texts and values, masked before they are cut. Standard library only,
since the hook asks it of every event.
"""

_DEEPEST = 32
# How much further than a preview reaches its text is read, so that a secret at the cut
# is seen as one: to the end of a
# line, and further where the end of a private key may follow, since that tells of the
# lines before it.
_LOOKAHEAD_CHARACTERS = 512
_LONGEST_LINE_CHARACTERS = 2_048
_LONGEST_KEY_CHARACTERS = 8_192


def preview(value: object, limit: int) -> str:
    """At most `limit` characters of a text or, of any other value, of its compact JSON;
    masked before it is cut.

    >>> preview({"user": 1, "password": "hunter2"}, 40), preview("far too long", 5)
    ('{"user":1,"password":"[masked]"}', 'far …')
    """
    if value is None:
        return ""
    if isinstance(value, str):
        text = masked_start(value, limit)
    else:
        import json

        text = json.dumps(
            _trimmed(value, [limit], 0), ensure_ascii=False, separators=(",", ":")
        )
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return text.encode(
        "utf-8", "replace"
    ).decode()  # a lone surrogate, which the journal refuses, becomes ?


def _trimmed(value: object, budget: list[int], depth: int) -> object:
    """The value masked, with no more of it than the characters in `budget[0]` can show."""
    budget[0] -= 1
    if depth > _DEEPEST:
        return "…"
    if isinstance(value, str):
        text = masked_start(value, max(budget[0], 1))
        budget[0] -= len(text)
        return text
    if isinstance(value, list):
        items: list[object] = []
        for item in value:
            if budget[0] <= 0:
                break
            items.append(_trimmed(item, budget, depth + 1))
        return items
    if isinstance(value, dict):
        from theorex_lab.text.redact.hints import MASK
        from theorex_lab.text.redact.masking import is_secret_member

        members: dict[str, object] = {}
        for key, item in value.items():
            if budget[0] <= 0:
                break
            name = str(_trimmed(key, budget, depth))
            members[name] = (
                MASK
                if is_secret_member(key, item)
                else _trimmed(item, budget, depth + 1)
            )
        return members
    return value


def masked_start(text: str, limit: int) -> str:
    """The masked text, or a start of it longer than `limit` that no secret at its end
    can reach into.
    """
    from theorex_lab.text.redact.masking import mask
    from theorex_lab.text.visible import (
        visible,
    )  # first, so that no hidden character splits a secret's name

    size = limit + _LOOKAHEAD_CHARACTERS
    if len(text) <= size:
        return mask(visible(text))
    while True:
        end = text.find("\n", size, size + _LONGEST_LINE_CHARACTERS)
        end = size + _LONGEST_LINE_CHARACTERS if end < 0 else end
        if text.find("PRIVATE KEY", end, end + _LONGEST_KEY_CHARACTERS) >= 0:
            end += _LONGEST_KEY_CHARACTERS
        masked = mask(visible(text[:end]))
        if end >= len(text):
            return masked
        if len(masked) >= limit + _LOOKAHEAD_CHARACTERS // 2:
            return masked[: limit + 1]
        size *= 4
