"""What a question or a prompt gets of sessions: by search where nothing is known of files, and few good reminders."""

from collections.abc import Iterator, Sequence

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.design import Item, Reminder
from theorex_lab.designs.sessions.files import Touches, needed_files
from theorex_lab.designs.sessions.items import digest_id
from theorex_lab.designs.sessions.rules import standing_rules
from theorex_lab.designs.sessions.said import Said
from theorex_lab.designs.sessions.telling import spoken, told
from theorex_lab.home import Home
from theorex_lab.memory.context import render
from theorex_lab.memory.filling import age_in_words
from theorex_lab.memory.observation import TRUST
from theorex_lab.memory.retrieve import Searcher
from theorex_lab.text.worth import KEPT

_MOST_HITS = 100
_MOST_FILES = 300  # of a project, that a prompt may be reminded of
# How much more than a sentence a reminder of each kind weighs.
_RULE, _FIX, _SESSION, _FILE = 3.0, 2.0, 0.5, 1.0


def retrieve(home: Home, searcher: Searcher, query: str, now: int, tokens: int) -> list[Item]:
    """What a query gets: the context made for it where sessions touched files, else what search finds, best first."""
    if len(home.views.get(Touches).rows):
        return [Item(text, events) for text, events in render(home, now, tokens=tokens, query=query).parts]
    hits = searcher.search(query, limit=_MOST_HITS)
    return [Item(hit.text, (event,)) for hit, event in zip(hits, hits.events, strict=True)]


def session_reminders(home: Home) -> Iterator[Reminder]:
    """Of every project its rules, fixes, sessions in short, files with what was last done to them, and good sentences."""
    now = home.clock.now()
    with home.views.reading(Said) as view:
        found = spoken(view, None, now)
        table, names = view.sentences, ["", *view.projects]
        kept = (table["worth"][found.rows] >= KEPT) | (found.days > 1) | (table["written"][found.rows] > 0)
        projects, worth = (table[name][found.rows[kept]].tolist() for name in ("project", "worth"))
        pairs = zip(found.rows[kept].tolist(), found.days[kept].tolist(), strict=True)
        sentences = [*zip((told(view, row, days) for row, days in pairs), projects, worth, strict=True)]
    rules = standing_rules(home.in_project(""), now)
    given = {sentence.item for rule in rules for sentence in rule.said}
    for rule in rules:
        last = rule.last
        for project in sorted(rule.projects):
            item = f"{last.item}@{project}" if len(rule.projects) > 1 else last.item
            yield Reminder(item, project, "rule", last.text, _RULE, last.trust, (last.event,))
    for said, number, weight in sentences:
        if said.item not in given:
            yield Reminder(said.item, names[number], "sentence", said.text, round(weight, 2), said.trust, (said.event,))
    derived = home.journal.tail(0, kinds=["fixed", "digest"])
    for item, event in {digest_id(event) if event.kind == "digest" else event.id: event for event in derived}.items():
        kind, weight = ("fix", _FIX) if event.kind == "fixed" else ("session", _SESSION)
        body = event.body
        yield Reminder(item, body["project"], kind, body["text"], weight, TRUST[body["source"]], (event.id,))
    yield from _files(home, sorted(set(names)), now)


def _files(home: Home, projects: Sequence[str], now: int) -> Iterator[Reminder]:
    for project in filter(None, projects):
        for file in needed_files(home.in_project(project), now)[:_MOST_FILES]:
            age = age_in_words((now - file.last_at) / MICROSECONDS_PER_DAY)
            text = f"{file.path}: {'edited' if file.edits else 'read'}, last {age}"
            yield Reminder(f"{project}:{file.path}", project, "file", text, _FILE, TRUST["agent"])
