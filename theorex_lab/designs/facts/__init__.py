"""Facts with supersede chains, contradictions, and a heartbeat, as Engram keeps them."""

from theorex_lab.text.sections import read_sections

CATEGORIES = ("relationship", "milestone", "status", "preference", "context", "decision", "correction")
ABSTRACTIONS = ("episode", "pattern", "principle")
NOTE_CATEGORIES = ("friction", "surprise", "quality")
# Kind of an event -> the version of its body that is written.
_ROWS = (line.split(" ", 2) for line in read_sections(__file__, "kinds.txt")["kinds"].split("\n"))
KINDS = {kind: int(version) for kind, version, _ in _ROWS}
