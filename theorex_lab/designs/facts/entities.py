"""Entities: whom or what facts are about, as a path of two parts: people/ann, projects/parser, archives/old-parser."""

from __future__ import annotations

import re
import unicodedata

from theorex_lab.errors import InvalidInput

SPACES = ("people", "projects", "archives")
_PATH = re.compile(rf"(?:life/)?({'|'.join(SPACES)})/([a-z0-9][a-z0-9-]{{0,63}})/?")


def check_entity(path: str) -> str:
    """An entity's path in its one form, slashes of Windows turned. Raises InvalidInput for any other path.

    >>> check_entity("people\\\\ann")
    'people/ann'
    """
    found = _PATH.fullmatch(path.replace("\\", "/").lower()) if isinstance(path, str) else None
    if found is None:
        raise InvalidInput(
            f"got the entity {path!r}; allowed are {', '.join(SPACES)}, a slash, and 1 to 64 of a-z 0-9 -, not first: people/ann"
        )
    return f"{found[1]}/{found[2]}"


def slug_of(name: str) -> str:
    """A name as an entity's last part; 'unnamed' where no letter or digit of it is left.

    >>> slug_of("Ann O'Neil"), slug_of("Zoë")
    ('ann-o-neil', 'zoe')
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower() or name.lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:64].strip("-") or "unnamed"
