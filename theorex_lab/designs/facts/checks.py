"""What is asked of words that were handed in, and which way content may flow."""

from collections.abc import Collection, Sequence

from theorex_lab.errors import InvalidInput
from theorex_lab.home import Home
from theorex_lab.memory.observation import TRUST, check_text
from theorex_lab.text.doors import kept_text
from theorex_lab.text.line import folded

SPACES = ("ops", "notes", "self")  # daily notes and notes of the work; facts; MEMORY.md and SOUL.md
_SPACE_OF = {"self_added": "self", "fact": "notes"}  # by kind of event; any other is of ops


def one_of(what: str, given: str, allowed: Collection[str], advice: str = "") -> str:
    """Return what was given, or raise InvalidInput where it is none of these.

    >>> one_of("type", "cron-task", ["cron-task", "dev-project"])
    'cron-task'
    """
    if given not in allowed:
        raise InvalidInput(f"got the {what} {given!r:.100}; allowed: {', '.join(allowed) or 'none'}{advice}")
    return given


def check_line(home: Home, text: str, source: str, most_characters: int | None = None) -> str:
    """A text on one line, without secrets. Raises InvalidInput for one that is empty or too long, or an unknown source."""
    one_of("source", source, TRUST)
    text = kept_text(folded(check_text(text, home.settings.max_text_bytes)))
    if most_characters is not None and len(text) > most_characters:
        raise InvalidInput(f"got a text of {len(text)} characters; allowed are up to {most_characters}: shorten it")
    return text


def check_flow(home: Home, lineage: Sequence[str], into: str) -> None:
    """Raise InvalidInput where what is written into a space (of `SPACES`) rests on an event of a later one.

    Content flows one way: from notes of the work to facts, and from facts to MEMORY.md and SOUL.md.
    """
    for event in home.journal.read(ids=list(lineage)):
        space = _SPACE_OF.get(event.kind, "ops")
        if SPACES.index(space) > SPACES.index(into):
            raise InvalidInput(f"got a text of {space} for {into}; allowed is {' → '.join(SPACES)}: use own words")
