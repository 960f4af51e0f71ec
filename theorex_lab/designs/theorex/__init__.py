"""Theorex: concepts with counts that fade, a life cycle from flash to the shared web, and what watches it."""

from theorex_lab.journal.event import register_kinds, without_project
from theorex_lab.text.sections import read_sections

# Kind of an event -> the version of its body that is written.
_ROWS = (line.split(" ", 2) for line in read_sections(__file__, "kinds.txt")["kinds"].split("\n"))
KINDS = {kind: int(version) for kind, version, _ in _ROWS}
UPCASTERS = {(kind, 1): without_project for kind in ("short_term", "graduated", "context_checked")}
register_kinds(KINDS, UPCASTERS)
