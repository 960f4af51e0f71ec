"""The mask: what looks like a secret in a text becomes `[masked]`. Standard library only.

A hook starts for every tool call, so one look for HINTS decides whether the tables of secrets are loaded at all, and a
pattern is compiled once one of its own hints is there.
"""

from __future__ import annotations

from theorex_lab.text.sections import read_sections

TYPE_CHECKING = False  # what type checkers take for true; importing `typing` for it would cost every start 5 ms
if TYPE_CHECKING:
    from typing import Any

MASK = "[masked]"
_DEEPEST = 64
_SHORTEST_ENCODED_CHARACTERS = 20
# One of these is in every text that holds a secret, in lower case.
HINTS = tuple(read_sections(__file__, "secret_hints.txt")["hints"].replace("\n", "").split("|"))
_PARTING = str.maketrans(dict.fromkeys("\"'`,;:()[]{}<>.|\\", " "))


def mask(text: str) -> str:
    """The text with what looks like a secret replaced by `[masked]`.

    Known by their shape are the keys of common providers, tokens, hashes and private keys (also without their end or
    their beginning), passwords in addresses and headers; by their name, the values of a password, a token, a secret or
    a key, in code, settings, command lines and sentences of some languages; and the base64 or hex of a text that holds
    one of these. Takes time linear in the length.

    >>> mask("export API_KEY=3x4mpl3 && git clone https://me:hunter2@example.org/a.git")
    'export API_KEY=[masked] && git clone https://me:[masked]@example.org/a.git'
    >>> mask("the token budget is 2000, the password policy is in the wiki")
    'the token budget is 2000, the password policy is in the wiki'
    """
    text = _mask_plain(text)
    if any(len(word) >= _SHORTEST_ENCODED_CHARACTERS and _is_drawn(word) for word in text.translate(_PARTING).split()):
        from theorex_lab.text.secret_blocks import mask_encoded

        text = mask_encoded(text, _mask_plain)
    return text


def _is_drawn(word: str) -> bool:
    """Whether a long word may be base64 or hex; paths and names are in lower case and have other signs."""
    return word.isalnum() or not word.islower()


def _mask_plain(text: str) -> str:
    lowered = text.lower()
    return _mask_hinted(text, lowered) if any(hint in lowered for hint in HINTS) else text


def _mask_hinted(text: str, lowered: str) -> str:
    from theorex_lab.text.secret_blocks import mask_blocks, mask_near_ids
    from theorex_lab.text.secret_commands import mask_commands
    from theorex_lab.text.secret_formats import mask_formats
    from theorex_lab.text.secret_names import mask_names
    from theorex_lab.text.secret_prose import mask_logins, mask_prose

    text = mask_near_ids(mask_blocks(text))
    for mask_kind in (mask_formats, mask_commands, mask_logins, mask_names, mask_prose):
        text = mask_kind(text, lowered)
    return text


def is_secret_member(key: str, value: object) -> bool:
    """Whether a member of a JSON object is a secret by its name.

    >>> is_secret_member("dbPassword", "x"), is_secret_member("max_tokens", 4096)
    (True, False)
    """
    lowered = key.lower()
    if lowered != "pass" and not any(hint in lowered for hint in HINTS):
        return False
    from theorex_lab.text.secret_names import is_secret_member as named

    return named(key, value)


def masked_value(value: Any, depth: int = 0) -> Any:
    """A JSON value with its texts masked, and whole members that are secrets by their names.

    >>> masked_value({"password": "x", "said": ["token=abc123def"]})
    {'password': '[masked]', 'said': ['token=[masked]']}
    """
    if isinstance(value, str):
        return mask(value)
    if depth > _DEEPEST:
        return value
    if isinstance(value, list | tuple):
        return [masked_value(entry, depth + 1) for entry in value]
    if isinstance(value, dict):
        return {
            (mask(key) if isinstance(key, str) else key): MASK
            if isinstance(key, str) and is_secret_member(key, member)
            else masked_value(member, depth + 1)
            for key, member in value.items()
        }
    return value
