"""Make and check identifiers.

Ids of events are ordered by time, ids of concepts are stable hashes, and names of
agents are checked. hashlib is imported where it is used: the hook starts for every tool
call and hashes nothing.
"""

from __future__ import annotations

import os
from functools import lru_cache

from theorex_lab.core.errors import InvalidInput

TYPE_CHECKING = False  # what type checkers take for true
if TYPE_CHECKING:
    import re

# Sets of signs, since a hook checks both names and would wait for `re`.
_AGENT_STARTS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_AGENT_SIGNS = _AGENT_STARTS | frozenset("._-")
_LONGEST_AGENT = 64
_SESSION_SIGNS = _AGENT_SIGNS | frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ:")
_LONGEST_SESSION = 128
# Names come again and again; those that were checked last are remembered.
_MOST_NAMES = 1_024
# Of any version, in lower case.
UUID = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
# The integers that a JSON reader holding numbers as doubles keeps exact.
CONCEPT_BITS = 53
# The agent in whose name the decisions of maintenance are noted.
SCANNER = "theorex"
# Of a UUID: bits of the time, and the random bits after the version and the variant.
_TIME_BITS = 48
_RANDOM_A_BITS = 12
_RANDOM_B_BITS = 62
_VERSION_7 = 0x7
_VARIANT = 0b10


def new_event_id(at_microseconds: int) -> str:
    """Return a new UUIDv7 (RFC 9562) for an event.

    It has 48 bits of the event's own time in milliseconds, then 74 random bits. The
    random bits come from the operating system, whatever seed an experiment uses, so
    that two processes never make the same id.

    Args:
        at_microseconds: The time of the event, in microseconds since 1970. A time
            before 1970 counts as 1970 here.
    """
    milliseconds = max(at_microseconds, 0) // 1000
    milliseconds = min(milliseconds, _mask(_TIME_BITS))
    drawn = int.from_bytes(os.urandom(10), "big")
    random_a = drawn >> _RANDOM_B_BITS & _mask(_RANDOM_A_BITS)
    random_b = drawn & _mask(_RANDOM_B_BITS)
    value = milliseconds
    value = value << 4 | _VERSION_7
    value = value << _RANDOM_A_BITS | random_a
    value = value << 2 | _VARIANT
    value = value << _RANDOM_B_BITS | random_b
    return _with_dashes(f"{value:032x}")


def _mask(n_bits: int) -> int:
    """Return the largest number of so many bits."""
    return (1 << n_bits) - 1


def _with_dashes(digits: str) -> str:
    """Return 32 hexadecimal digits as a UUID is written."""
    groups = (
        digits[:8],
        digits[8:12],
        digits[12:16],
        digits[16:20],
        digits[20:32],
    )
    return "-".join(groups)


def drawn_digits() -> str:
    """Return eight hexadecimal digits from the operating system, never all 0.

    They distinguish two projects of one name.
    """
    drawn = os.urandom(4)
    while not any(drawn):
        drawn = os.urandom(4)
    return drawn.hex()


def derived_event_id(*parts: object) -> str:
    """Return a UUIDv8 (RFC 9562) that is the same for the same parts.

    A step that two processes may take at once gives its event such an id: only one of
    them is appended.
    """
    from hashlib import sha256

    text = "\x1f".join(map(str, parts))
    digits = sha256(text.encode()).hexdigest()
    time_like = f"{digits[:8]}-{digits[8:12]}"
    # The version is 8; the variant of RFC 9562 is one of 8, 9, a and b.
    return f"{time_like}-8{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"


def concept_id(canonical_form: str) -> int:
    """Return the stable 53-bit id of a concept.

    It is the first bits of SHA-256 over the concept's canonical form.

    >>> concept_id("cache stampede") == concept_id("cache stampede") < 2**53
    True
    """
    import hashlib

    content = canonical_form.encode()
    digest = hashlib.sha256(content).digest()
    first_bits = int.from_bytes(digest[:8], "big")
    return first_bits >> (64 - CONCEPT_BITS)


def check_name(name: str, pattern: re.Pattern[str], what: str, allowed: str) -> str:
    """Return `name` where it fits the pattern.

    Args:
        name: The name.
        pattern: What the whole name must match.
        what: What the name is, for the error.
        allowed: What is allowed, for the error.

    Raises:
        InvalidInput: The name is no text, or does not fit the pattern.
    """
    if not isinstance(name, str) or not pattern.fullmatch(name):
        raise InvalidInput(f"got the {what} {name!r}; allowed are {allowed}")
    return name


def check_agent(agent: str) -> str:
    """Return `agent` where it is within the rule.

    Raises:
        InvalidInput: It is outside the rule.

    >>> check_agent("qwen-sage")
    'qwen-sage'
    """
    allowed = "1 to 64 of a-z 0-9 . _ - starting with a letter or digit, without '..'"
    if not _is_agent(agent):
        raise InvalidInput(f"got the agent id {agent!r}; allowed are {allowed}")
    return agent


def _is_agent(name: object) -> bool:
    """Return whether a value is within the rule for the names of agents."""
    if not isinstance(name, str):
        return False
    return _is_name_of_agent(name)


@lru_cache(_MOST_NAMES)
def _is_name_of_agent(name: str) -> bool:
    """Return whether a text is within the rule for the names of agents."""
    if not 1 <= len(name) <= _LONGEST_AGENT:
        return False
    if name[0] not in _AGENT_STARTS:
        return False
    if ".." in name:
        return False
    return _AGENT_SIGNS.issuperset(name)


def check_session(session: str) -> str:
    """Return `session` where it is within the rule; '' is no session.

    Raises:
        InvalidInput: It is outside the rule.
    """
    allowed = "up to 128 of A-Z a-z 0-9 . _ : -"
    if not _is_session(session):
        raise InvalidInput(f"got the session id {session!r}; allowed are {allowed}")
    return session


def _is_session(name: object) -> bool:
    """Return whether a value is within the rule for the ids of sessions."""
    if not isinstance(name, str):
        return False
    return _is_id_of_session(name)


@lru_cache(_MOST_NAMES)
def _is_id_of_session(name: str) -> bool:
    """Return whether a text is within the rule for the ids of sessions."""
    if len(name) > _LONGEST_SESSION:
        return False
    return _SESSION_SIGNS.issuperset(name)


def session_of(given: object) -> str:
    """Return the id of a session as an agent's program names it.

    An id that the journal does not allow becomes a hash, the same each time.

    >>> session_of(None), session_of("s-1"), session_of("a b")
    ('', 's-1', 'hash-5e229e245c3e525283e65ec4998d643f')
    """
    if given is None:
        return ""
    if _is_session(given):
        return str(given)
    try:
        return check_session(given)  # type: ignore[arg-type]
    except InvalidInput:
        import hashlib
        import json

        content = json.dumps(given, sort_keys=True).encode()
        digits = hashlib.sha256(content).hexdigest()
        return f"hash-{digits[:32]}"
