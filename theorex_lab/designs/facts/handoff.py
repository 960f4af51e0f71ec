"""What a phase of the heartbeat hands over: a block of lines that it prints, read strictly, since a model may have written it.

=== HB-EXTRACT HANDOFF ===
Status: ok
Summary: 2 facts of 14 captures
Stats: {"facts_written": 2, "new_watermark": 89}
Alerts: none
=== END ===
"""

import json
import re
from typing import Any, NamedTuple

from theorex_lab.errors import InvalidInput
from theorex_lab.exchange.flat_files import parse_object
from theorex_lab.text.line import one_line

PHASES = ("extract", "synthesis", "domains")
MOST_CHARACTERS = 262_144  # of what is read; a block that begins later is none
_MOST_ITEMS, _ITEM_CHARACTERS, _STATS_CHARACTERS = 50, 500, 10_000
_LISTS = ("observations", "tensions", "alerts")
_BEGIN = re.compile(r"^=== HB-([A-Z]{1,32}) HANDOFF ===[ \t]*$", re.M)
_END = re.compile(r"^=== (?:END|HB-[A-Z]{1,32} HANDOFF) ===[ \t]*$", re.M)
_FIELD = re.compile(r"^[ \t]*(status|summary|stats|observations|flags|tensions|alerts):", re.M | re.I)
_NOTHING = ("", "none", "-", "[]")


class Handoff(NamedTuple):
    """What a phase handed over. problem: why it counts as an error although it may say otherwise; '' where it is sound."""

    phase: str = ""
    status: str = "error"
    summary: str = ""
    stats: dict[str, Any] = {}  # noqa: RUF012 - never changed
    observations: tuple[str, ...] = ()
    tensions: tuple[str, ...] = ()
    alerts: tuple[str, ...] = ()
    problem: str = ""

    def __str__(self) -> str:
        """The block."""
        told = {name.title(): "".join(f"\n- {item}" for item in getattr(self, name)) or " none" for name in _LISTS}
        lines = [f"Status: {self.status}", f"Summary: {self.summary}", f"Stats: {json.dumps(self.stats)}"]
        lines += [f"{name}:{items}" for name, items in told.items()]
        return "\n".join([f"=== HB-{self.phase.upper()} HANDOFF ===", *lines, "=== END ==="])


def read_handoff(text: str) -> Handoff | None:
    """The first block of a text, None where there is none. What cannot be read makes it an error, never an empty success.

    >>> read_handoff('=== HB-EXTRACT HANDOFF ===\\nStatus: ok\\nStats: {"facts_written": 2\\n=== END ===').status
    'error'
    """
    begin = _BEGIN.search(text[:MOST_CHARACTERS])
    if begin is None:
        return None
    end = _END.search(text[:MOST_CHARACTERS], begin.end())
    phase = begin[1].lower()
    if end is None or "END" not in end[0]:
        return Handoff(phase, problem="got a block without its line === END ===; it was cut off")
    _, *parts = _FIELD.split(text[begin.end() : end.start()])
    names = [name.lower().replace("flags", "observations") for name in parts[::2]]
    fields = dict(zip(names, map(str.strip, parts[1::2]), strict=True))
    problems = [f"got {name} twice; allowed is once" for name in fields if names.count(name) > 1]
    status = fields.get("status", "").lower()
    if status not in ("ok", "error"):
        problems.append(f"got the status {one_line(status, 40)!r}; allowed are ok and error")
    stats = _stats(fields.get("stats", ""))
    if stats is None and (status == "ok" or "stats" in fields):
        problems.append(f"got the stats {one_line(fields.get('stats', ''), 80)!r}; allowed is a JSON object on a line")
    lists = {name: _items(fields.get(name, "")) for name in _LISTS}
    summary = one_line(fields.get("summary", ""), _ITEM_CHARACTERS)
    return Handoff(phase, "error" if problems else status, summary, stats or {}, **lists, problem="; ".join(problems))


def _stats(line: str) -> dict[str, Any] | None:
    try:
        is_line = len(line) <= _STATS_CHARACTERS and "\n" not in line
        return parse_object(line.encode(errors="replace")) if is_line else None
    except InvalidInput:
        return None


def _items(text: str) -> tuple[str, ...]:
    items = (one_line(line.strip().removeprefix("-"), _ITEM_CHARACTERS) for line in text.splitlines())
    return tuple(item for item in items if item.lower() not in _NOTHING)[:_MOST_ITEMS]
