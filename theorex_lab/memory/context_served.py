"""What of the memory was given to an agent, as an event.

Standard library only: the hook says it too.
"""

import os
import zlib
from collections.abc import Iterable, Sequence

from theorex_lab.core import light_json as json
from theorex_lab.journal.event import Event, new_event

QUERY_CHARACTERS = 500
_LARGEST_NOTE_BYTES = 1 << 20


def recalled_event(
    how: str,
    *,
    query: str = "",
    items: Iterable[str] = (),
    tokens: int = 0,
    project: str = "",
    at: int,
    agent: str,
    session: str = "",
) -> Event:
    """Return an event `recalled`: what was given to an agent.

    It counts nowhere as a mention.

    Args:
        how: By which door, as "session_start".
        query: What was asked, '' for nothing; it is masked and cut to 500 characters.
        items: Ids of what was given, as far as they are known.
        tokens: How long it was.
        project: The project.
        at: The time (µs UTC).
        agent: The agent.
        session: The agent's session, '' for none.

    Raises:
        InvalidInput: The agent or the session is outside the rules.

    >>> recalled_event("session_start", tokens=12, agent="main", at=0).body["how"]
    'session_start'
    """
    from theorex_lab.text.redact.preview import preview

    body = {
        "how": how,
        "query": preview(query, QUERY_CHARACTERS),
        "items": list(items),
        "tokens": tokens,
        "project": project,
    }
    return new_event("recalled", body, at=at, agent=agent, session=session)


def note_of(file: str) -> str:
    """Return the path of the note that says what a rendered briefing shows."""
    folder, name = os.path.split(file)
    return os.path.join(folder, f".{name}.items.json")


def note_text(text: bytes, items: Sequence[str], tokens: int) -> bytes:
    """Return the note for a briefing of this text.

    It holds the text's size and checksum, its tokens and the ids of its items.
    """
    note = {
        "bytes": len(text),
        "crc32": zlib.crc32(text),
        "tokens": tokens,
        "items": list(items),
    }
    return json.dumps(note).encode()


def given_of(file: str, text: bytes) -> tuple[list[str], int]:
    """Return the items in the text of a briefing's file, and the tokens of the text.

    The items are given by their ids. Both come from the note beside the file.

    Where the note is missing, broken or of another text, there are no ids, and the
    tokens are estimated.
    """
    try:
        with open(note_of(file), "rb") as opened:
            note = json.loads(opened.read(_LARGEST_NOTE_BYTES))
        if (note["bytes"], note["crc32"]) == (len(text), zlib.crc32(text)):
            items = [item for item in note["items"] if isinstance(item, str)]
            return items, int(note["tokens"])
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        pass  # the text was shown all the same
    from theorex_lab.text.line import BYTES_PER_TOKEN

    return [], -(-len(text) // BYTES_PER_TOKEN)
