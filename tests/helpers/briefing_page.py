"""Fill docs/briefing.md with briefings as they are printed now.

    python tests/helpers/briefing_page.py docs/briefing.md

A comment such as `<!-- briefing: simulated_sessions 51 prompt 500 -->` says which one
stands below it: of which packaged log, before which of its sessions (from 0), at its
start or at its first prompt, and within how many tokens.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from theorex_lab.eval import load_logs
from theorex_lab.journal.event import Event
from theorex_lab.memory.briefing.compose import compose

_BLOCK = re.compile(
    r"<!-- briefing: (?P<log>\w+) (?P<session>\d+) (?P<when>start|prompt)"
    r" (?P<tokens>\d+) -->\n\n(?:```text\n(?P<text>.*?)```\n)?",
    re.DOTALL,
)


@cache
def sessions_of_log(name: str) -> list[list[Event]]:
    """Return the events of a packaged log, session by session, in order of time."""
    (log,) = load_logs(name)
    sessions: dict[str, list[Event]] = {}
    for event in log.events:
        sessions.setdefault(event.session, []).append(event)
    return list(sessions.values())


def printed(name: str, number: int, when: str, tokens: int) -> str:
    """Return the briefing before a session of a log, as text.

    Args:
        name: The log.
        number: The session's number, from 0.
        when: start, or prompt for the session's first prompt.
        tokens: The budget.
    """
    sessions = sessions_of_log(name)
    session = sessions[number]
    before = [event for earlier in sessions[:number] for event in earlier]
    before = [event for event in before if event.at < session[0].at]
    query = first_prompt(session) if when == "prompt" else ""
    return compose(before, session[0].at, query=query, tokens=tokens)


def first_prompt(session: Sequence[Event]) -> str:
    """Return what a session was asked first."""
    return next(event.body["text"] for event in session if event.kind == "prompt")


def blocks(page: str) -> list[tuple[str, str]]:
    """Return of each comment of a page the text below it, and the text that is due."""
    return [(match["text"] or "", _due(match)) for match in _BLOCK.finditer(page)]


def filled(page: str) -> str:
    """Return a page with the briefings that its comments name."""

    def with_text(match: re.Match[str]) -> str:
        comment, _, _ = match[0].partition("\n")
        gap = "\n" if match["text"] is None else ""
        return f"{comment}\n\n```text\n{_due(match)}```\n{gap}"

    return _BLOCK.sub(with_text, page)


def _due(match: re.Match[str]) -> str:
    return printed(
        match["log"], int(match["session"]), match["when"], int(match["tokens"])
    )


def main() -> None:
    """Fill the page that the command line names."""
    file = Path(sys.argv[1])
    file.write_text(filled(file.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
