"""What is asked of words that are handed in, entities among them, and which way content may flow."""

import re
import unicodedata
from collections.abc import Collection, Sequence

from theorex_lab.errors import InvalidInput
from theorex_lab.home import Home
from theorex_lab.memory.observation import TRUST, check_text
from theorex_lab.text.doors import kept_text
from theorex_lab.text.line import folded

SPACES = ("ops", "notes", "self")  # daily notes and notes of the work; facts; MEMORY.md and SOUL.md
_SPACE_OF = {"self_added": "self", "fact": "notes"}  # by kind of event; any other is of ops
_LATIN = "a b v g d e e zh z i y k l m n o p r s t u f kh ts ch sh shch  y  e yu ya"
_CYRILLIC = dict(zip("абвгдеёжзийклмнопрстуфхцчшщъыьэюя", _LATIN.split(" "), strict=True))
_PATH = re.compile(r"(?:life/)?(people|projects|archives)/([a-z0-9][a-z0-9-]{0,63})/?")


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


def check_entity(path: str) -> str:
    """An entity's path in its one form, slashes of Windows turned. Raises InvalidInput for any other path.

    >>> check_entity("people\\\\ann")
    'people/ann'
    """
    found = _PATH.fullmatch(path.replace("\\", "/").lower()) if isinstance(path, str) else None
    if found is None:
        allowed = "people/NAME, projects/NAME and archives/NAME, a NAME of 1 to 64 of a-z 0-9 -, the first no -"
        raise InvalidInput(f"got the entity {path!r}; allowed are {allowed}")
    return f"{found[1]}/{found[2]}"


def slug_of(name: str) -> str:
    """A name as an entity's last part; 'unnamed' where no Latin or Russian letter and no digit is in it.

    >>> slug_of("Ann O'Neil"), slug_of("Zoë"), slug_of("Женя Щукин")
    ('ann-o-neil', 'zoe', 'zhenya-shchukin')
    """
    latin = "".join(_CYRILLIC.get(sign, sign) for sign in unicodedata.normalize("NFC", name).lower())
    plain = unicodedata.normalize("NFKD", latin).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:64].strip("-") or "unnamed"
