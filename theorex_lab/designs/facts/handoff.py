"""Read and write what a phase of the heartbeat hands over: a block of lines.

A model may have written it, so it is read strictly, and no part of it is ever run:

    === HB-EXTRACT HANDOFF ===
    Status: ok
    Summary: extracted 3 facts from 2026-02-24.md (L47->L89)
    Stats: {"facts_written": 3, "new_watermark": "L89"}
    Alerts: []
    === END ===
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.sections import read_sections
from theorex_lab.files.formats.flat_files import parse_object
from theorex_lab.text.line import one_line

HANDOFF_PHASES = ("extract", "synthesis", "domains")
# What is read of a text; a block that begins later is none.
MOST_HANDOFF_CHARACTERS = 262_144
_MOST_ITEMS = 50
_ITEM_CHARACTERS = 500
_STATS_CHARACTERS = 10_000
_SHOWN = 80
_MOST_VALUE = 2_000  # characters of a value that fills a template
_LISTS = (
    "observations",
    "tensions",
    "alerts",
)
_BEGIN = lazy_pattern(r"^=== HB-([A-Z]{1,32}) HANDOFF ===[ \t]*$", re.M)
_END = lazy_pattern(r"^=== (?:END|HB-[A-Z]{1,32} HANDOFF) ===[ \t]*$", re.M)
_FIELD = lazy_pattern(
    r"^[ \t]*(status|summary|stats|observations|flags|tensions|alerts):", re.M | re.I
)
_SLOT = lazy_pattern(r"\{([A-Z]+)\}")
_NOTHING = ("", "none", "-", "[]")
_WATERMARK = lazy_pattern(r"L?([0-9]{1,18})")


class Handoff(NamedTuple):
    """What a phase hands over.

    Attributes:
        status: ok or error.
        problem: Why it counts as an error although it may say otherwise; '' where it is
            sound.
    """

    phase: str = ""
    status: str = "error"
    summary: str = ""
    stats: Mapping[str, Any] = {}
    observations: Sequence[str] = ()
    tensions: Sequence[str] = ()
    alerts: Sequence[str] = ()
    problem: str = ""

    def to_block(self) -> str:
        """Return the block, as the document prints it."""
        lines = [
            f"=== HB-{self.phase.upper()} HANDOFF ===",
            f"Status: {self.status}",
            f"Summary: {self.summary}",
            f"Stats: {json.dumps(self.stats, ensure_ascii=False)}",
        ]
        for title, items in (
            ("Observations", self.observations),
            ("Tensions", self.tensions),
        ):
            if items:
                lines.append(f"{title}:")
                lines += _listed(items)
        # The document prints an empty list so.
        alerts = "Alerts: []"
        if self.alerts:
            alerts = "Alerts:"
        lines.append(alerts)
        lines += _listed(self.alerts)
        lines.append("=== END ===")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the block as JSON holds it."""
        members = self._asdict()
        for name in _LISTS:
            items = members[name]
            members[name] = list(items)
        return members


def read_handoff(text: str) -> Handoff | None:
    r"""Return the first block of a text, None where there is none.

    What cannot be read makes it an error, and never an empty success.

    >>> broken = '=== HB-EXTRACT HANDOFF ===\nStatus: ok\nStats: {"facts_written": 2'
    >>> read_handoff(f"{broken}\n=== END ===").status
    'error'
    """
    text = text[:MOST_HANDOFF_CHARACTERS]
    begin = _BEGIN.search(text)
    if begin is None:
        return None
    end = _END.search(text, begin.end())
    phase = begin[1].lower()
    if end is None or "END" not in end[0]:
        return Handoff(
            phase, problem="got a block without its line === END ===; it was cut off"
        )
    return _read_block(phase, text[begin.end() : end.start()])


def _read_block(phase: str, block: str) -> Handoff:
    """Return what the lines of a block say."""
    _, *parts = _FIELD.split(block)
    names: list[str] = []
    fields: dict[str, str] = {}
    for stated, value in zip(parts[::2], parts[1::2], strict=True):
        name = stated.lower()
        # The published scripts call observations so.
        if name == "flags":
            name = "observations"
        names.append(name)
        fields[name] = value.strip()
    problems = _problems_of(names, fields)
    status = fields.get("status", "").lower()
    if problems:
        status = "error"
    summary = fields.get("summary", "")
    stats = _stats(fields.get("stats", ""))
    return Handoff(
        phase,
        status,
        one_line(summary, _ITEM_CHARACTERS),
        stats or {},
        observations=_items(fields.get("observations", "")),
        tensions=_items(fields.get("tensions", "")),
        alerts=_items(fields.get("alerts", "")),
        problem="; ".join(problems),
    )


def _problems_of(names: Sequence[str], fields: Mapping[str, str]) -> list[str]:
    """Return what is wrong with the fields of a block.

    Args:
        names: The names of the fields, as they stand there.
        fields: The values by name.
    """
    problems = []
    for name in fields:
        if names.count(name) > 1:
            problems.append(f"got {name} twice; allowed is once")
    status = fields.get("status", "").lower()
    if status not in ("ok", "error"):
        shown = one_line(status, _SHOWN)
        problems.append(f"got the status {shown!r}; allowed are ok and error")
    stats = fields.get("stats", "")
    needs_stats = status == "ok" or "stats" in fields
    if needs_stats and _stats(stats) is None:
        shown = one_line(stats, _SHOWN)
        problems.append(
            f"got the stats {shown!r}; allowed is a JSON object on one line"
        )
    return problems


def _stats(line: str) -> dict[str, Any] | None:
    """Return the JSON object on a line; None where there is none."""
    if len(line) > _STATS_CHARACTERS or "\n" in line:
        return None
    try:
        return parse_object(line.encode(errors="replace"))
    except InvalidInput:
        return None


def _items(text: str) -> tuple[str, ...]:
    """Return the items of a list: lines, or a JSON list of texts on one line."""
    lines = _json_texts(text)
    if lines is None:
        lines = text.splitlines()
    items: list[str] = []
    for line in lines:
        stripped = line.strip()
        stripped = stripped.removeprefix("-")
        item = one_line(stripped, _ITEM_CHARACTERS)
        if item.lower() in _NOTHING:
            continue
        items.append(item)
    return tuple(items[:_MOST_ITEMS])


def _listed(items: Sequence[str]) -> list[str]:
    """Return items as lines of a list."""
    return [f"- {item}" for item in items]


def _json_texts(text: str) -> list[str] | None:
    """Return the texts of a JSON list; None where it is no such list."""
    if not text.startswith("[") or len(text) > _STATS_CHARACTERS:
        return None
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return [str(value) for value in values]


def watermark_of(handoff: Handoff) -> int:
    """Return the watermark of a block, `L89` as the document prints it or 89.

    Raises:
        InvalidInput: It has none.

    >>> watermark_of(Handoff(stats={"new_watermark": "L89"}))
    89
    """
    stated = handoff.stats.get("new_watermark")
    match = _WATERMARK.fullmatch(str(stated))
    if match is None or isinstance(stated, bool):
        raise InvalidInput(
            f"got new_watermark {stated!r:.40}; allowed is a number, such as 89 or L89"
        )
    return int(match[1])


def template_names() -> dict[str, str]:
    """Return the file of each phase's template, as the document names it."""
    names = {}
    for phase in HANDOFF_PHASES:
        title = phase.upper()
        names[phase] = f"HB-{title}.md"
    return names


def template(phase: str) -> str:
    """Return what an agent is told that does a phase, with its slots in braces."""
    texts = read_sections(__file__, "templates.txt")
    stats: dict[str, str] = {}
    for line in texts["stats"].splitlines():
        name, _, members = line.partition(": ")
        stats[name] = members
    block = texts["handoff"]
    block = block.replace("{PHASE}", phase.upper())
    block = block.replace("{STATS}", stats[phase])
    return f"{texts[phase]}\n\n{block}\n"


def filled_template(text: str, values: Mapping[str, str]) -> str:
    """Return a template with the values in its slots, each on one line.

    A slot that no value is for stays.

    >>> filled_template("Read from {WATERMARK}.", {"WATERMARK": "47"})
    'Read from 47.'
    """

    def value_of(slot: re.Match[str]) -> str:
        value = values.get(slot[1])
        if value is None:
            return slot[0]
        return one_line(value, _MOST_VALUE)

    return _SLOT.sub(value_of, text)
