"""Shorten exact names: paths, commands and addresses, to what tells them apart."""

import re
from collections.abc import Sequence

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.designs.facts import statement_cues as cues

_FILE_ENDING = lazy_pattern(r"\.[a-z]{1,5}$")
# Files that stand in many folders: the folder tells which one is meant.
_COMMON_FILES = lazy_pattern(
    r"(?:index|main|mod|lib|__init__|readme|types|utils|config|test|package)\b",
    re.I,
)
_PLACEHOLDER = lazy_pattern(
    r"""
    \s*
    (?: <[^<>]*>
      | \[[^\[\]]*\]
      | --?[\w-]+=?\S*
    )
    """,
    re.VERBOSE,
)
_SPACED_PLACEHOLDER = lazy_pattern(r"\s+[<\[].*")
_METHOD = lazy_pattern(r"^(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\s+")
_PATH_PARAMETER = lazy_pattern(r"/?\{[^{}]*\}|/?:\w+|/?<[^<>]*>")
_EXPRESSION = lazy_pattern(r"[=|{}]|\(.")
_IDENTIFIER = lazy_pattern(r"[^\W\d][\w.-]*\w")
_POSSESSIVE_END = lazy_pattern(r"['’]s$")
_AROUND_A_NAME = "`'’*_()"
_TEST = lazy_pattern(r"[Tt]est_?[A-Z_]|.*[._]test\.")
_LETTER = lazy_pattern(r"[^\W\d_]")


def exact_name_in(words: Sequence[str]) -> str:
    """Return the exact name among words, shortened; '' for none.

    >>> exact_name_in(["`src/shop/till.py`"]), exact_name_in(["`shop list <name>`"])
    ('till.py', 'shop list')
    """
    for word in words:
        if not cues.EXACT_NAME.search(word):
            continue
        bare = word.strip(_AROUND_A_NAME)
        name = _POSSESSIVE_END.sub("", bare).strip("`")
        if name.strip(".-"):
            return _shortened(name)
    return ""


def tells_which(name: str) -> bool:
    """Return whether an exact name is of something of the project, and no test.

    >>> tells_which("till.py"), tells_which("grep -r"), tells_which("TestTill")
    (True, False, False)
    """
    lower = name.lower()
    first_word, _, _ = lower.partition(" ")
    if lower in cues.NO_NAMES or first_word in cues.GENERAL_TOOLS:
        return False
    if _TEST.match(name):
        return False
    letters = _LETTER.findall(name)
    return len(letters) > 1


def _shortened(name: str) -> str:
    """Return a name without methods, parameters, placeholders and folders."""
    name = _METHOD.sub("", name)
    path = name.strip("\"'")
    if path.startswith("/"):
        path = _SPACED_PLACEHOLDER.sub("", path)
        return _PATH_PARAMETER.sub("", path)
    if _EXPRESSION.search(name):
        identifier = _IDENTIFIER.search(name)
        return identifier[0] if identifier else ""
    if " " in name:
        bare = _PLACEHOLDER.sub("", name)
        return bare.strip() or name
    return _short_path(name)


def _short_path(name: str) -> str:
    """Return a path without its folders, but for the last one of a common file."""
    trimmed = name.strip("/.")
    parts = [part for part in trimmed.split("/") if part]
    if len(parts) < 2:
        return name
    *_, folder, file_name = parts
    if not _FILE_ENDING.search(file_name):
        return name
    if _COMMON_FILES.match(file_name):
        return f"{folder}/{file_name}"
    return file_name
