"""Write the page of a tour: one file that loads nothing and sends nothing."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from string import Template

from theorex_lab.eval.tour.tables import TourTable, day
from theorex_lab.memory.briefing.briefing import Briefing

_FOLDER = Path(__file__).parent
_CODE = re.compile("`([^`]+)`")


def tour_page(
    source: str,
    briefing: Briefing,
    tables: Iterable[TourTable],
    pictures: Mapping[str, str],
    now: int,
) -> str:
    """Return the page; every text of a history is escaped.

    Args:
        source: Where the tour's history came from, in words.
        briefing: What the next session would read.
        tables: What was found.
        pictures: By caption the pictures, as PNG files in base64.
        now: The present of the tour (µs UTC).
    """
    script = (_FOLDER / "page.js").read_text(encoding="utf-8")
    style = (_FOLDER / "page.css").read_text(encoding="utf-8")
    page = Template((_FOLDER / "page.html").read_text(encoding="utf-8"))
    return page.substitute(
        style_hash=_hash_for_policy(style),
        script_hash=_hash_for_policy(script),
        style=style,
        script=script,
        source=escape(source),
        day=day(now),
        pictures="".join(map(_figure, pictures, pictures.values())),
        briefing=_briefing(briefing),
        tokens=briefing.tokens,
        tables="".join(map(_section, tables)),
    )


def _hash_for_policy(text: str) -> str:
    """Return the hash by which a Content-Security-Policy allows a text of the page."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _figure(caption: str, picture: str) -> str:
    text = escape(caption)
    return (
        f'<figure><img alt="{text}" src="data:image/png;base64,{picture}">'
        f"<figcaption>{text}</figcaption></figure>"
    )


def _briefing(briefing: Briefing) -> str:
    """Return the lines of a briefing by section, each with why it is there."""
    if not briefing.lines:
        return f"<p>{escape(briefing.problem or 'The history tells too little.')}</p>"
    reasons = {line.why for line in briefing.lines}
    shared = f"<p>{escape(reasons.pop())}</p>" if len(reasons) == 1 else ""
    sections: list[str] = [shared]
    for title, lines in groupby(briefing.lines, key=lambda line: line.section):
        items = "".join(_line(line.text, "" if shared else line.why) for line in lines)
        sections.append(f"<h3>{escape(title)}</h3><ul>{items}</ul>")
    return "".join(sections)


def _line(text: str, why: str) -> str:
    """Return a line of the briefing, with why it is there where that is said of it."""
    reason = f"<small>{_with_code(why)}</small>" if why else ""
    return f"<li>{_with_code(text)}{reason}</li>"


def _with_code(text: str) -> str:
    """Return a text whose spans in backquotes are set as code.

    >>> _with_code("Run `a < b` now")
    'Run <code>a &lt; b</code> now'
    """
    return _CODE.sub(r"<code>\1</code>", escape(text))


def _section(table: TourTable) -> str:
    """Return a table with its heading."""
    if not table.rows and not table.nothing:
        return ""
    heading = f"<h2>{escape(table.title)}</h2>"
    if not table.rows:
        return f"<section>{heading}<p>{escape(table.nothing)}</p></section>"
    return (
        f"<section>{heading}<p>{_with_code(table.lead)}</p>"
        f'<div class="wide"><table><caption>{escape(table.title)}</caption>'
        f"<thead><tr>{_head(table)}</tr></thead>"
        f"<tbody>{''.join(map(_row, table.rows))}</tbody></table></div></section>"
    )


def _head(table: TourTable) -> str:
    """Return the headings; those of numbers stand over numbers."""
    cells = zip(table.columns, table.rows[0], strict=True)
    return "".join(
        f'<th scope="col"{_class_of(value)}><button type="button">{escape(name)}'
        "</button></th>"
        for name, value in cells
    )


def _row(row: Sequence[str | int]) -> str:
    return f"<tr>{''.join(map(_cell, row))}</tr>"


def _cell(value: str | int) -> str:
    text = f"{value:,}" if isinstance(value, int) else _with_code(value)
    return f'<td{_class_of(value)} data-value="{escape(str(value))}">{text}</td>'


def _class_of(value: str | int) -> str:
    return ' class="number"' if isinstance(value, int) else ""
