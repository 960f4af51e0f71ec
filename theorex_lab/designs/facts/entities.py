"""Entities: whom or what facts are about, as a path of two parts: people/ann, projects/parser, archives/old-parser."""

import re
import unicodedata

from theorex_lab.errors import InvalidInput

SPACES = ("people", "projects", "archives")
_LATIN = "a b v g d e e zh z i y k l m n o p r s t u f kh ts ch sh shch  y  e yu ya"
_CYRILLIC = dict(zip("абвгдеёжзийклмнопрстуфхцчшщъыьэюя", _LATIN.split(" "), strict=True))
_PATH = re.compile(rf"(?:life/)?({'|'.join(SPACES)})/([a-z0-9][a-z0-9-]{{0,63}})/?")


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
