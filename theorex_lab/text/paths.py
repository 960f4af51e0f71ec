"""Keep paths of a project in events, whatever their characters, and show them.

A path is the text of somebody: its name may be a sentence, break a line or hide
characters. An event keeps it whole. What is shown is one token on one line. Standard
library only, since each tool call waits for it.
"""

from __future__ import annotations

import os

# what type checkers take for true
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PATH_BYTES = 4_096  # of a path from the project's root, as git takes them
SHOWN_CHARACTERS = 120
_LONGEST = 4 * PATH_BYTES  # of a path with the folders above the project
# What is shown as it is: no blank, quote or sign that ends a list, and nothing of HTML.
_PLAIN = r"[\w.@+/:()\[\]~%=-]+"
# Characters that count as printable and that nobody sees: fillers, joiners, selectors
# of variants, an empty Braille cell.
_UNSEEN = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
)
_ESCAPED_SIGNS = {
    '"': '\\"',
    "\\": "\\\\",
    "`": "\\u0060",
    "<": "\\u003c",
    ">": "\\u003e",
    "…": "\\u2026",
}
# How a path begins that is absolute, or of a home or a host.
_ELSEWHERE_STARTS = (
    "/",
    "~/",
    "~\\",
    "\\\\",
    "file:/",
)
# What follows a path that is whole, or its end.
_AFTER_PATH = frozenset("\"'`;&|)") | {""}
_BLANK = "\\u0020"
_MOST_BLANKS = 3  # of a name that is no sentence
# Compiled where it is used: the hook does without it.
_SURROGATE = r"(?i)\\ud[89a-f][0-9a-f]{2}"
_CUT = "…"
# One of these, or a slash at the start of a word, is in every path that leads far.
_FAR_STARTS = ("~", "../", ":/", ":\\")
_NAME_ENDS = frozenset("_.@+:/~)]}-") | {""}
# Compiled where it is used: the hook does without it.
_ROOT = r"(?:(?:file:)?/|~|[A-Za-z]:[\\/]|(?:[\w.@+-]+/)*\.\./)"
_JOINED = r"[\w.@+:/~)\]}-]"
_REST = r"""(?:\\.|(?<=/)\([^\s"'()]*\)|[^\s"'`,;|&<>()\\])*"""
_FAR = rf"(?<!{_JOINED}){_ROOT}{_REST}"
# The same of a text without these. Its first sign is found without a try of each place.
_OTHER_ROOTS = ("../", ":/", ":\\")
_FAR_FROM_SIGN = rf"[/~](?<!{_JOINED}[/~]){_REST}"
# A whole word in quotes, which may hold blanks; not the command that a shell is given
# after -c.
_FAR_QUOTED = r"""(?<!c )(["'])(?:(?:file:)?/|~/|[A-Za-z]:[\\/]|\.\./)[^"'\n]*\1"""


def project_path(path: object, folder: object = "") -> str:
    r"""Return the path relative to `folder`, as an event keeps it.

    A path outside of the project is ''.

    The path is kept character by character, after ./ where it would read like a path of
    a home or a drive. One that is no text in UTF-8 is kept as a JSON string, in quotes,
    with each byte that is none as the surrogate that Python has for it; `named_path`
    gives it back.

    >>> (
    ...     project_path("/home/me/shop/my notes/plan b.md", "/home/me/shop"),
    ...     project_path("/etc/passwd"),
    ... )
    ('my notes/plan b.md', '')
    >>> (
    ...     project_path("/home/me/shop/~/a.md", "/home/me/shop"),
    ...     project_path("~/a.md", "/home/me/shop"),
    ... )
    ('./~/a.md', '')
    >>> project_path("caf" + chr(0xDCE9) + ".txt")
    '"caf\\udce9.txt"'
    """
    if not isinstance(path, str):
        return ""
    if len(path) > _LONGEST or "\0" in path:
        return ""
    if path.startswith("/"):
        path = _relative_path(path, folder)
    if not path or leads_elsewhere(path) or _leads_upward(path):
        return ""
    content = path.encode("utf-8", "replace")
    if len(content) > PATH_BYTES:
        return ""
    return kept_path(path)


def _leads_upward(path: str) -> bool:
    """Return whether a path has a part that leads to the folder above."""
    if ".." not in path:
        return False
    with_slashes = path.replace("\\", "/")
    return ".." in with_slashes.split("/")


def _relative_path(path: str, folder: object) -> str:
    """Return an absolute path relative to an absolute folder, '' where it is outside.

    A name of the project that reads like a home or a drive comes after ./. Without an
    absolute folder the path stays as it is.
    """
    if not isinstance(folder, str) or not folder.startswith("/"):
        return path
    folder_start = os.path.normpath(folder).rstrip("/") + "/"
    path = os.path.normpath(path)
    if not path.startswith(folder_start):
        return ""
    path = path.removeprefix(folder_start)
    if leads_elsewhere(path):
        return f"./{path}"
    return path


def leads_elsewhere(path: str) -> bool:
    """Return whether a path is absolute, or of a home, a drive or a host.

    None of them is in a project.

    >>> (
    ...     leads_elsewhere("~/.ssh/key"),
    ...     leads_elsewhere("C:/x"),
    ...     leads_elsewhere("~notes.md"),
    ... )
    (True, True, False)
    """
    if path == "~" or path.startswith(_ELSEWHERE_STARTS):
        return True
    if path[1:3] not in (":/", ":\\"):
        return False
    drive = path[0]
    return drive.isalpha() and drive.isascii()


def kept_path(path: str) -> str:
    """Return a path, or an end of one, as an event keeps it; see `project_path`."""
    if not _is_quoted(path) and not _has_surrogate(path):
        return path
    import json

    return json.dumps(path)


def _has_surrogate(path: str) -> bool:
    """Return whether a path has half of a surrogate pair, which is no UTF-8."""
    if path.isascii():
        return False
    return any("\ud800" <= char <= "\udfff" for char in path)


def _is_quoted(path: str) -> bool:
    """Return whether a path is a JSON string with a surrogate in it."""
    if len(path) < 2:
        return False
    is_in_quotes = path.startswith('"') and path.endswith('"')
    if not is_in_quotes:
        return False
    import re

    return re.search(_SURROGATE, path) is not None


def named_path(path: str) -> str:
    r"""Return the path as its file system has it, by what an event keeps.

    `os.fsencode` gives its bytes.

    >>> (
    ...     named_path('"caf\\udce9.txt"') == "caf" + chr(0xDCE9) + ".txt",
    ...     named_path('"a".txt'),
    ... )
    (True, '"a".txt')
    """
    if not _is_quoted(path):
        return path
    import json

    try:
        return str(json.loads(path))
    except ValueError:
        return path


def is_project_path(path: object) -> bool:
    """Return whether a value is a path of a project as an event keeps it.

    >>> is_project_path("my notes/b.md"), is_project_path("../b.md"), is_project_path(3)
    (True, False, False)
    """
    if not isinstance(path, str) or not path:
        return False
    name = named_path(path)
    return project_path(name) == path


def shown_path(path: object, folder: object = "") -> str:
    r"""Return a path of an event, or another of the project in `folder`, as one token.

    The token is on one line; '' stands for a path outside of the project.

    Plain signs stay as they are. Any other path is a JSON string in which what nobody
    sees is escaped. Blanks are escaped too where there are so many that the path could
    be a sentence. Of more than 120 characters the middle is left out, with … in its
    place.

    >>> (
    ...     shown_path("src/cache.py:12"),
    ...     shown_path("app/(shop)/[slug]/page.tsx"),
    ...     shown_path("/etc/passwd"),
    ... )
    ('src/cache.py:12', 'app/(shop)/[slug]/page.tsx', '')
    >>> print(
    ...     shown_path("my notes/plan b.md"),
    ...     shown_path("a" + chr(10) + chr(0x202E) + "b"),
    ... )
    "my notes/plan b.md" "a\n\u202eb"
    """
    if not isinstance(path, str):
        return ""
    name = named_path(path)
    event_path = project_path(name, folder)
    if not event_path:
        return ""
    return quoted_path(event_path)


def quoted_path(path: str) -> str:
    r"""Return a path of an event, or an end of one, as one token on one line.

    The token has at most 120 characters; see `shown_path`.

    >>> quoted_path("it's.md"), quoted_path("a" * 50 + "/" + "b" * 100)[36:44]
    ('"it\'s.md"', 'aaaa…bbb')
    """
    path = named_path(path)
    if _is_plain(path):
        signs = _shortened(list(path), SHOWN_CHARACTERS)
        return "".join(signs)
    signs = _escaped_signs(path)
    signs = _shortened(signs, SHOWN_CHARACTERS - 2)
    return f'"{"".join(signs)}"'


def _is_plain(path: str) -> bool:
    """Return whether a path is shown as it is."""
    import re

    if re.fullmatch(_PLAIN, path) is None or "](" in path:
        return False
    return _UNSEEN.isdisjoint(path)


def _escaped_signs(path: str) -> list[str]:
    """Return the signs of a path as a JSON string has them.

    A blank after a blank is escaped, or each blank where there are many.
    """
    has_many_blanks = path.count(" ") > _MOST_BLANKS
    signs: list[str] = []
    last_char = ""
    for char in path:
        is_blank_escaped = has_many_blanks or last_char == " "
        if char == " " and is_blank_escaped:
            signs.append(_BLANK)
        elif char in _ESCAPED_SIGNS:
            signs.append(_ESCAPED_SIGNS[char])
        elif _is_seen(char):
            signs.append(char)
        else:
            import json

            quoted = json.dumps(char)
            signs.append(quoted[1:-1])
        last_char = char
    return signs


def _is_seen(char: str) -> bool:
    """Return whether a person sees a character."""
    if not char.isprintable():
        return False
    if char.isascii():
        return True
    from theorex_lab.text.visible import visible

    return char not in _UNSEEN and visible(char) == char


def _shortened(signs: list[str], room: int) -> list[str]:
    """Return the signs, with the mark of a cut for their middle where they are too long.

    Args:
        signs: The signs of a path.
        room: How many characters they may have.
    """
    if sum(map(len, signs)) <= room:
        return signs
    head_room = room // 3
    tail_room = room - head_room - len(_CUT)
    head = _first_signs(signs, head_room)
    tail = _first_signs(reversed(signs), tail_room)
    return [*head, _CUT, *reversed(tail)]


def _first_signs(signs: Iterable[str], room: int) -> list[str]:
    """Return the first signs, as many as have room."""
    first_signs: list[str] = []
    for sign in signs:
        if len(sign) > room:
            break
        first_signs.append(sign)
        room -= len(sign)
    return first_signs


def read_shown_path(shown: str) -> str | None:
    """Return the path that was shown as this; None where its middle was left out.

    >>> (
    ...     read_shown_path('"my notes/plan b.md"'),
    ...     read_shown_path("src/a.py"),
    ...     read_shown_path("src/a…b.py"),
    ... )
    ('my notes/plan b.md', 'src/a.py', None)
    """
    if _CUT in shown:
        return None
    if not shown.startswith('"'):
        return shown
    import json

    return str(json.loads(shown))


def without_root_path(text: str, root: str) -> str:
    """Return a command with the paths below a root cut to what follows the root.

    A dot stands for the root itself.

    >>> without_root_path("cd /srv/shop && ls /srv/shop/src /srv/shopping", "/srv/shop")
    'cd . && ls src /srv/shopping'
    """
    if root not in text:
        return text
    text = _each_root(text, root, _below_root)
    return _each_root(text, root, _whole_root)


def _each_root(
    text: str, root: str, ending: Callable[[str, int], tuple[int, str] | None]
) -> str:
    """Return a text in which another stands for the root wherever it is a path.

    It is written without a pattern, since most commands begin with `cd ROOT`.

    Args:
        text: The text.
        root: The root.
        ending: Returns where the path of the root ends that goes up to a place in the
            text, and what stands for it; None where it stays.
    """
    parts: list[str] = []
    copied = 0  # characters of the text
    start = text.find(root)
    while start >= 0:
        sign_before = text[start - 1 : start]  # '' at the beginning
        replacement = None
        if not _joins(sign_before, "_.@+:/~-"):
            replacement = ending(text, start + len(root))
        end = start + 1
        if replacement is not None:
            end, instead = replacement
            unchanged = text[copied:start]
            parts.append(unchanged)
            parts.append(instead)
            copied = end
        start = text.find(root, end)
    parts.append(text[copied:])
    return "".join(parts)


def _below_root(text: str, end: int) -> tuple[int, str] | None:
    """Leave nothing of a root before a path below it; see `_each_root`."""
    if not text.startswith("/", end):
        return None
    end += 1
    following = text[end : end + 1]
    if following in _AFTER_PATH or following.isspace():
        return None
    return end, ""


def _whole_root(text: str, end: int) -> tuple[int, str] | None:
    """Put a dot for a root that is the whole path; see `_each_root`."""
    if text.startswith("/", end):
        end += 1
    following = text[end : end + 1]
    if _joins(following, "_.@+/-"):
        return None
    return end, "."


def _joins(sign: str, signs: str) -> bool:
    """Return whether a sign beside a path belongs to it: a letter, a digit, or these."""
    if not sign:
        return False
    return sign.isalnum() or sign in signs


def _may_lead_far(text: str) -> bool:
    """Return whether a command may have a path that leads out of the project.

    One begins at ~, at a drive, at .. or at a slash that follows no sign of a name. Most
    commands have none, and need no pattern.
    """
    if any(start in text for start in _FAR_STARTS):
        return True
    at = text.find("/")
    while at >= 0:
        before = text[at - 1 : at]
        if not before.isalnum() and before not in _NAME_ENDS:
            return True
        at = text.find("/", at + 1)
    return text.startswith("/")


def without_far_paths(text: str) -> str:
    r"""Return the text without the paths that lead out of the project, or may.

    Those are absolute paths, paths of a home and paths that lead upward.

    >>> without_far_paths(
    ...     "cat src/a.py /etc/passwd ~/.ssh/key ../b.py and/or app/(shop)/[slug]/page.tsx"
    ... )
    'cat src/a.py    and/or app/(shop)/[slug]/page.tsx'
    >>> without_far_paths("cp '/home/me/my plan.md' /home/me/my\\ plan.md notes")
    "cp ''  notes"
    """
    if not _may_lead_far(text):
        return text
    import re

    if "'" in text or '"' in text:
        text = re.sub(_FAR_QUOTED, r"\1\1", text)
    has_other_roots = any(root in text for root in _OTHER_ROOTS)
    far = _FAR if has_other_roots else _FAR_FROM_SIGN
    return re.sub(far, "", text)
