"""What was tried and what came of it, in words: the last outcomes, of a size that is never exceeded."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from theorex_lab.clock import to_iso
from theorex_lab.designs.causal import FAILED, SUCCESS
from theorex_lab.errors import InvalidInput
from theorex_lab.home import Home
from theorex_lab.journal.event import Event
from theorex_lab.text.line import NOTICE, escape, one_line

MOST_CHARACTERS, SUMMARY_CHARACTERS, SUMMARY_ENTRIES = 12_000, 4_000, 8
_TITLE = f"# What was tried\n\n{NOTICE}\n"
_MOST_ENTRIES = 400  # an entry has at least thirty characters
_WINDOW = 4_000  # seqs that are read at first
_SIGNALS, _WORD_CHARACTERS = 6, 80
_CAME = {SUCCESS: "succeeded", FAILED: "failed"}


def narrative(home: Home, *, agent: str | None = None, entries: int = _MOST_ENTRIES,
              characters: int = MOST_CHARACTERS) -> str:  # fmt: skip
    """The last outcomes in Markdown, of an agent or of all, the newest last; the oldest are left out until it is short enough.

    What was stored stands on lines of its own with its signs escaped. '' where nothing was tried, or where nothing fits.
    Raises InvalidInput for fewer than 0 entries or characters.
    """
    if entries < 0 or characters < 0:
        raise InvalidInput(f"got {entries} entries of {characters} characters; allowed are whole numbers from 0")
    told, room = list[str](), characters - len(_TITLE)
    for event in _newest(home, agent):
        line = _entry(event)
        room -= len(line)
        if room < 0 or len(told) == entries:
            break
        told.append(line)
    return _TITLE + "".join(reversed(told)) if told else ""


def last_of_narrative(home: Home, *, agent: str | None = None, characters: int = SUMMARY_CHARACTERS) -> str:
    """The last eight entries of the narrative, or as many of them as fit."""
    return narrative(home, agent=agent, entries=SUMMARY_ENTRIES, characters=characters)


def _newest(home: Home, agent: str | None) -> Iterator[Event]:
    """The outcomes of the home's project or of none, the newest first; no more of the journal is read than is asked for."""
    upto, window = home.journal.last_seq(), _WINDOW
    projects = None if home.projects is None else ("", *home.projects)
    while upto > 0:
        found = home.journal.tail(max(0, upto - window), kinds=["attempt_closed"], upto=upto, projects=projects)
        yield from reversed([event for event in found if agent in (None, event.agent)])
        upto, window = upto - window, 2 * window


def _entry(event: Event) -> str:
    body = event.body
    outcome, gene, mutation = (body.get(name) or {} for name in ("outcome", "gene", "mutation"))
    lines = [
        f"\n### {to_iso(event.at)[:16].replace('T', ' ')} UTC{' (told by a file)' if body['source'] == 'import' else ''}\n",
        f"- Signals: {_signals(body['signal']['signals'])}", f"- Tried: {_parts(gene, 'id', 'category') or 'no gene'}",
        f"- Mutation: {_parts(mutation, 'category', 'risk_level')}{' risk' if mutation.get('risk_level') else ''}" if mutation else "",
        f"- It {_CAME.get(outcome['status'], 'came out as ' + _word(outcome['status']))}: {_parts(outcome, 'note', 'score')}"]  # fmt: skip
    return "\n".join(filter(None, lines)) + "\n"


def _parts(told: Mapping[str, Any], *names: str) -> str:
    return ", ".join([_word(told[name]) for name in names if told.get(name) is not None])


def _signals(given: Sequence[str]) -> str:
    told = [_word(one) for one in given[:_SIGNALS]]
    more = f" and {len(given) - _SIGNALS} more" if len(given) > _SIGNALS else ""
    return (", ".join(told) or "none") + more


def _word(value: object) -> str:
    return escape(one_line(str(value), _WORD_CHARACTERS))
