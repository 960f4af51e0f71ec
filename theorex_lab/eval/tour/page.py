"""Write the page of a tour: one file that loads nothing and sends nothing."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from html import escape
from itertools import groupby
from pathlib import Path
from string import Template

from theorex_lab.eval.tour.tables import Cells, TourTable, day
from theorex_lab.memory.briefing.briefing import Briefing, BriefingLine

_FOLDER = Path(__file__).parent
_CODE = re.compile("`([^`]+)`")


def tour_page(
    source: str,
    briefing: Briefing,
    tables: Iterable[TourTable],
    *,
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
    script = _read("page.js")
    style = _read("page.css")
    page = Template(_read("page.html"))
    figures = [_figure(caption, data) for caption, data in pictures.items()]
    sections = [_section(table) for table in tables]
    return page.substitute(
        style_hash=_hash_for_policy(style),
        script_hash=_hash_for_policy(script),
        style=style,
        script=script,
        source=escape(source),
        day=day(now),
        pictures="".join(figures),
        briefing=_briefing(briefing),
        tokens=briefing.tokens,
        tables="".join(sections),
    )


def _read(name: str) -> str:
    """Return a file that lies beside this module."""
    file = _FOLDER / name
    return file.read_text(encoding="utf-8")


def _hash_for_policy(text: str) -> str:
    """Return the hash by which a Content-Security-Policy allows a text of the page."""
    digest = hashlib.sha256(text.encode()).digest()
    encoded = base64.b64encode(digest)
    return f"sha256-{encoded.decode()}"


def _figure(caption: str, picture: str) -> str:
    """Return a picture with its caption."""
    text = escape(caption)
    source = f"data:image/png;base64,{picture}"
    image = f'<img alt="{text}" src="{source}">'
    return f"<figure>{image}<figcaption>{text}</figcaption></figure>"


def _briefing(briefing: Briefing) -> str:
    """Return the lines of a briefing by section, each with why it is there.

    A reason that all of them share is said once.
    """
    if not briefing.lines:
        problem = briefing.problem or "The history tells too little."
        return f"<p>{escape(problem)}</p>"
    reasons = {line.why for line in briefing.lines}
    is_shared = len(reasons) == 1
    parts: list[str] = []
    if is_shared:
        parts.append(f"<p>{escape(reasons.pop())}</p>")
    for title, lines in groupby(briefing.lines, key=_section_of):
        parts.append(f"<h3>{escape(title)}</h3><ul>")
        for line in lines:
            reason = "" if is_shared else line.why
            parts.append(_line(line.text, reason))
        parts.append("</ul>")
    return "".join(parts)


def _section_of(line: BriefingLine) -> str:
    return line.section


def _line(text: str, why: str) -> str:
    """Return a line of the briefing, with why it is there where that is said of it."""
    content = _with_code(text)
    if why:
        content += f"<small>{_with_code(why)}</small>"
    return f"<li>{content}</li>"


def _with_code(text: str) -> str:
    """Return a text whose spans in backquotes are set as code.

    >>> _with_code("Run `a < b` now")
    'Run <code>a &lt; b</code> now'
    """
    return _CODE.sub(r"<code>\1</code>", escape(text))


def _section(table: TourTable) -> str:
    """Return a table with its heading; '' where there is nothing to say."""
    parts = [f"<h2>{escape(table.title)}</h2>"]
    if table.rows:
        parts.append(f"<p>{_with_code(table.lead)}</p>")
        parts.append(_table(table))
    elif table.nothing:
        parts.append(f"<p>{escape(table.nothing)}</p>")
    else:
        return ""
    content = "".join(parts)
    return f"<section>{content}</section>"


def _table(table: TourTable) -> str:
    """Return the rows of a table under the headings that sort them."""
    rows = [_row(row) for row in table.rows]
    parts = [
        '<div class="wide"><table>',
        f"<caption>{escape(table.title)}</caption>",
        f"<thead><tr>{_head(table)}</tr></thead>",
        "<tbody>",
        *rows,
        "</tbody></table></div>",
    ]
    return "".join(parts)


def _head(table: TourTable) -> str:
    """Return the headings; those of numbers stand over numbers."""
    cells: list[str] = []
    for name, value in zip(table.columns, table.rows[0], strict=True):
        button = f'<button type="button">{escape(name)}</button>'
        cells.append(f'<th scope="col"{_class_of(value)}>{button}</th>')
    return "".join(cells)


def _row(row: Cells) -> str:
    """Return a row; each cell holds the value that it is sorted by."""
    cells: list[str] = []
    for value in row:
        sorted_by = escape(str(value))
        attributes = f'{_class_of(value)} data-value="{sorted_by}"'
        cells.append(f"<td{attributes}>{_shown(value)}</td>")
    content = "".join(cells)
    return f"<tr>{content}</tr>"


def _shown(value: str | int) -> str:
    """Return a value as a cell shows it."""
    if isinstance(value, int):
        return f"{value:,}"
    return _with_code(value)


def _class_of(value: str | int) -> str:
    if isinstance(value, int):
        return ' class="number"'
    return ""
