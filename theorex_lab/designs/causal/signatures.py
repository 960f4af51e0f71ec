"""Say an error without what changes from time to time.

Two errors that differ in an id, a hash, a time, a duration, a port, an address, the
number of a line or a temporary path are one signature.
"""

import re

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.designs.causal.volatile_parts import without_volatile_parts
from theorex_lab.text.line import one_line

_SIGNATURE_CHARACTERS = 200
_WORDS_CHARACTERS = 110
_ESCAPES = lazy_pattern(r"\x1b\[[\d;]*[A-Za-z]")
_TEMPORARY = lazy_pattern(
    r"(?:/private)?/(?:tmp|var/folders|var/tmp|dev/shm)/[^\s:'\"),]*"
    r"|\btmp\.\w+|\b[a-z]:\\(?:[^\\\s]+\\){1,6}te?mp\\[^\s:'\"),]*",
    re.I,
)
_REPLACED = (
    (lazy_pattern(r"\b(localhost|[\w-]+(?:\.[\w-]+)+):\d{2,5}\b(?!:)"), r"\1:<port>"),
    (lazy_pattern(r"\bport \d{2,5}\b", re.I), "port <port>"),
    (lazy_pattern(r"\b0x[0-9a-f]+\b", re.I), "<address>"),
    (lazy_pattern(r"(?<=\w):\d+(?::\d+)?(?=\D|$)"), ""),
    (lazy_pattern(r"\((\d+),(\d+)\)"), ""),
    (lazy_pattern(r"\b(line|column|col) \d+\b", re.I), r"\1 <n>"),
    (lazy_pattern(r"(?<![\w.#])\d+(?:[.,]\d+)*\b(?!\.\w)"), "<n>"),
)
# How long a test took, behind its name.
_LAST_DURATION = lazy_pattern(r"(?<=\w)\s+[(\[]<duration>[)\]]$")
# Complaints of an agent's own tools, which tell nothing of the project's work.
_AGENTS_OWN = lazy_pattern(
    r"""
      doesn't[ ]want[ ]to | user[ ](?:rejected|denied|declined) | has[ ]not[ ]been[ ]read
    | string[ ]to[ ]replace | file[ ]has[ ]been[ ](?:modified|unexpectedly)
    | no[ ]changes[ ]to[ ]make | old_string | InputValidationError | cancelled
    | file[ ]does[ ]not[ ]exist | permission[ ]to[ ]use | was[ ]interrupted
    | request[ ]interrupted | sibling[ ]tool[ ]call | requested[ ]permissions
    | exceeds[ ]maximum[ ]allowed
    """,
    re.I | re.VERBOSE,
)
_PLACE_BEFORE = lazy_pattern(
    r"^(?:\(eval\):(?:<n>:)?\s*|(?:/bin/)?(?:ba|z|da)?sh: (?:line <n>: )?"
    r"|[\w./@+<>-]+\.\w+(?:\(<n>,<n>\))?\s?:?(?:\s-)?\s+(?=\S)|[*•-]\s+|error:\s+)+",
    re.I,
)
_FAILED_TEST = lazy_pattern(r"(?:--- FAIL: |FAILED |✗ |\(fail\) ).*|Test \".*")
_MARK = lazy_pattern(r"<\w+>")
_WORD = lazy_pattern(r"[^\W\d_]{2,}")
_FEWEST_WORDS = 2
_QUOTED = lazy_pattern(r"\"[^\"]*\"|'[^']*'|`[^`]*`")
# A name of the code, such as TestSync; the name of an error's class tells its kind.
_NAME_OF_CODE = lazy_pattern(
    r"""
    (?<![\w.<])\*?(?:\w+\.)*
    (?:[A-Za-z\d]*[a-z\d][A-Z]\w* | (?<=\.)[A-Z]\w+)
    (?<!Error)(?<!Exception)(?<!Warning)\b(?![(\w])
    """,
    re.VERBOSE,
)
_FILE = lazy_pattern(
    r"(?<![\w<])[\w./@+-]*/[\w./@+-]+|\b[\w-]+\.(?:go|py|ts|tsx|js|json|mod)\b"
)


def error_signature_of(text: str) -> str:
    """Return an error as one line, without what changes from time to time.

    >>> error_signature_of("dial tcp 10.0.0.1:5432: refused after 12.5ms")
    'dial tcp <address>: refused after <duration>'
    >>> error_signature_of("--- FAIL: TestSync (0.31s)")
    '--- FAIL: TestSync'
    >>> error_signature_of("src/a.ts:12:5 - error TS2304: no name 'x'")
    "src/a.ts - error TS2304: no name 'x'"
    """
    line = " ".join(_ESCAPES.sub("", text).split())
    line = _TEMPORARY.sub("<path>", line)
    line = without_volatile_parts(line)
    for pattern, replacement in _REPLACED:
        line = pattern.sub(replacement, line)
    line = _LAST_DURATION.sub("", line)
    return one_line(line.strip(), _SIGNATURE_CHARACTERS)


def error_words(signature: str) -> str:
    """Return a signature as it is shown: short, and whole at its end."""
    text = signature.strip().rstrip(".:;,")
    if len(text) <= _WORDS_CHARACTERS:
        return text
    start, _, _ = text[:_WORDS_CHARACTERS].rpartition(" ")
    return f"{start} …"


def is_of_agents_tool(signature: str) -> bool:
    """Return whether an agent's own tool complained, not the project's work."""
    return _AGENTS_OWN.search(signature) is not None


def error_kind_of(signature: str) -> str:
    """Return what kind of error a signature is: without places, names and quotations.

    It is '' where nothing but these is left.

    >>> error_kind_of("pkg/x.go: File is not properly formatted (gofmt)")
    'File is not properly formatted (gofmt)'
    >>> error_kind_of("x.go: var jsonOutput is unused (unused)")
    'var … is unused (unused)'
    >>> error_kind_of("--- FAIL: TestSync")
    'a failed test'
    """
    if _FAILED_TEST.match(signature):
        return "a failed test"
    text = _PLACE_BEFORE.sub("", signature)
    text = _QUOTED.sub("…", text)
    text = _FILE.sub("<path>", text)
    text = _NAME_OF_CODE.sub("…", text)
    words = _WORD.findall(_MARK.sub("", text))
    return error_words(text) if len(words) >= _FEWEST_WORDS else ""
