"""Which paths may be shown: those of the project. Standard library only, since the hook asks it of every tool call."""

import os
import re

PATH_CHARACTERS = 120
# No blank and no sign of a shell or of Markdown: a name that could be read as a sentence is not shown.
_PLAIN = re.compile(r"[\w.@+/:-]+")
# Compiled where it is used: the hook does without it.
_FAR = r"""(?<![\w.@+:/~-])(?:(?:file:)?/|~|[A-Za-z]:[\\/]|(?:[\w.@+-]+/)*\.\./)[^\s"'`,;|&<>()]*"""


def shown_path(path: object, folder: object = "") -> str:
    """The path relative to `folder`, where it lies in it and is at most 120 plain characters; else ''.

    >>> shown_path("/home/me/shop/src/cache.py", "/home/me/shop"), shown_path("src/cache.py:12"), shown_path("/etc/passwd")
    ('src/cache.py', 'src/cache.py:12', '')
    """
    if not isinstance(path, str) or len(path) > 4_096:
        return ""
    if path.startswith("/") and isinstance(folder, str) and folder.startswith("/"):
        inside = os.path.normpath(folder).rstrip("/") + "/"
        path = os.path.normpath(path)
        path = path[len(inside) :] if path.startswith(inside) else ""
    plain = _PLAIN.fullmatch(path) and len(path) <= PATH_CHARACTERS
    return path if plain and path[0] not in "/:" and ".." not in path.split("/") else ""


def without_far_paths(text: str) -> str:
    """The text without the paths in it that lead out of the project, or may: absolute ones, of a home, or upward.

    >>> without_far_paths("cat src/a.py /etc/passwd ~/.ssh/key ../b.py and/or")
    'cat src/a.py    and/or'
    """
    # Each of them has one of these signs; most commands have none, and need no pattern.
    return re.sub(_FAR, "", text) if any(sign in text for sign in "/~\\") else text
