"""Tell whether a statement takes back an older one without giving it a new wording.

"The port of the till was changed from 80 to 90" takes back what says that it is 80;
"`size` is no longer written by the import" takes back "the import writes `size`".
"""

import re

from theorex_lab.designs.facts import statement_cues as cues
from theorex_lab.memory.claims import denies
from theorex_lab.text.wording import content_words, specifics

_NO_LONGER = re.compile(r"\bno longer\b", re.I)
# What a statement has that takes back facts of other things than its own.
TAKING_BACK = re.compile(r"\bno longer\b|\binstead of\b", re.I)
_INSTEAD = re.compile(r"\bis (?:now )?`[^`]+` instead of (?P<old>`[^`]+`)")
_HAS = re.compile(r"\s+(?:has|have)\b", re.I)
_SIGNS = "`\"'()"


def gives_up_value(newer: str, older: str) -> bool:
    """Return whether a change names as its old value what an older fact states.

    Both are about the same thing.

    >>> gives_up_value("The port was changed from `80` to `90`", "It listens on `80`")
    True
    """
    change = cues.TOLD_CHANGE.fullmatch(newer)
    if change is None or change["old"] is None:
        return False
    old = change["old"].strip(_SIGNS)
    new = change["value"].strip(_SIGNS)
    if not old or _names(older, new) or denies(older):
        return False
    return _names(older, old)


def replaces_thing(newer: str, older: str) -> bool:
    """Return whether a thing is named in whose place another one is now.

    >>> replaces_thing(
    ...     "The status endpoint is `GET /b` instead of `GET /a`", "`GET /a` polls a task"
    ... )
    True
    """
    match = _INSTEAD.search(newer)
    return match is not None and older.startswith(match["old"])


def takes_back(newer: str, older: str) -> bool:
    """Return whether a thing no longer does what an older fact says of it.

    The older fact says so of that thing, by its exact name, in other words.

    >>> takes_back(
    ...     "`size` is no longer written on the import", "The import sets `size` when known"
    ... )
    True
    """
    match = _NO_LONGER.search(newer)
    main_part, _, _ = older.partition("(")
    if match is None or denies(main_part):
        return False
    names = specifics(newer[: match.start()])
    if not names or not all(_names(older, name.strip(_SIGNS)) for name in names):
        return False
    ended = newer[match.end() :]
    if _HAS.match(ended):
        # What it has no longer is told in the same words where it was told.
        return False
    return not content_words(ended).isdisjoint(content_words(older))


def _names(text: str, name: str) -> bool:
    """Return whether a text has a name as a word of its own."""
    return re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w/-]|\.\w)", text) is not None
