"""Sessions: what coding sessions leave behind.

It is the user's rules, files, digests and fixes, read from captures by rules. Our own
design beside the published ones, and the one whose sections the context shows where no
other is named.
"""

from theorex_lab.journal.kinds import PROJECT, SOURCE
from theorex_lab.journal.shapes import COUNT, SEQ, TIME, Kind, row

_ABOUT = {"text": str, "source": SOURCE, "project": PROJECT}
# A sentence, and the id of the event that holds it.
_SENTENCE = row(str, str)
KINDS = {
    "digest": Kind(
        1,
        "a session in short, up to a seq: what was asked, edited and checked, how it"
        " ended, what is left open",
        {
            "upto": SEQ,
            "asked": [_SENTENCE],
            "ended": [_SENTENCE],
            "open": [_SENTENCE],
            "edited": {str: COUNT},
            "read?": COUNT,
            "checks": {str: str},
            "commits": [str],
            "first_at?": TIME,
            "last_at?": TIME,
            **_ABOUT,
        },
        paths="edited",
    ),
    "fixed": Kind(
        1,
        "a check that failed and passed in one session, and what was edited in between",
        {"family": str, "error": str, "files": [str], **_ABOUT},
        paths="files",
    ),
}
