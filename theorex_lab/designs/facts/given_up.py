"""Tell whether a statement takes back an older one without giving it a new wording.

"The port of the till was changed from 80 to 90" takes back what says that it is 80;
"`size` is no longer written by the import" takes back "the import writes `size`".
"""

import re

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.designs.facts import statement_cues as cues
from theorex_lab.memory.claims import denies
from theorex_lab.text.wording import content_words, specifics

# What a statement has that takes back facts of other things than its own.
TAKING_BACK = lazy_pattern(
    r"\bno longer\b|\binstead of\b",
    re.I,
)
_NO_LONGER = lazy_pattern(
    r"(?P<subject>.*?)\bno longer\b(?P<ended>.*)",
    re.I,
)
_INSTEAD = lazy_pattern(
    r"\bis (?:now )?`[^`]+` instead of (?P<old>`[^`]+`)",
)
_HAS = lazy_pattern(
    r"\s+(?:has|have)\b",
    re.I,
)
_SIGNS = "`\"'()"


def gives_up_value(newer: str, older: str) -> bool:
    """Return whether a change names as its old value what an older fact states.

    Both are about the same thing.

    >>> gives_up_value("The port was changed from `80` to `90`", "It listens on `80`")
    True
    """
    change = cues.TOLD_CHANGE.fullmatch(newer)
    if change is None:
        return False
    if change["old"] is None:
        return False
    old_value = change["old"].strip(_SIGNS)
    new_value = change["value"].strip(_SIGNS)
    if not old_value:
        return False
    if denies(older):
        return False
    if _names(older, new_value):
        return False
    return _names(older, old_value)


def replaces_thing(newer: str, older: str) -> bool:
    """Return whether a thing is named in whose place another one is now.

    >>> replaces_thing(
    ...     "The status endpoint is `GET /b` instead of `GET /a`", "`GET /a` polls a task"
    ... )
    True
    """
    match = _INSTEAD.search(newer)
    if match is None:
        return False
    return older.startswith(match["old"])


def takes_back(newer: str, older: str) -> bool:
    """Return whether a thing no longer does what an older fact says of it.

    The older fact says so of that thing, by its exact name, in other words.

    >>> takes_back(
    ...     "`size` is no longer written on the import", "The import sets `size` when known"
    ... )
    True
    """
    match = _NO_LONGER.match(newer)
    if match is None:
        return False
    ended = match["ended"]
    if _HAS.match(ended):
        # What it has no longer is told in the same words where it was told.
        return False
    main_part, _, _ = older.partition("(")
    if denies(main_part):
        return False
    if not _names_all(older, specifics(match["subject"])):
        return False
    shared = content_words(ended) & content_words(older)
    return bool(shared)


def _names_all(text: str, names: list[str]) -> bool:
    """Return whether a text has all of some exact names, and there is one."""
    if not names:
        return False
    return all(_names(text, name.strip(_SIGNS)) for name in names)


def _names(text: str, name: str) -> bool:
    """Return whether a text has a name as a word of its own."""
    escaped = re.escape(name)
    match = re.search(
        rf"(?<![\w./-]){escaped}(?![\w/-]|\.\w)",
        text,
    )
    return match is not None
