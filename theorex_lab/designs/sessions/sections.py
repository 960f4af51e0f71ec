"""What comes back of sessions: lines of contexts, what a question gets, and reminders for prompts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from theorex_lab.clock import MICROSECONDS_PER_DAY, to_iso
from theorex_lab.design import FIXED_KIND, Item, Line, Reminder, Wanted
from theorex_lab.designs.sessions import FILE, FOLDER, LAST, RULE, SAID, TOPIC, digests, rules, said, sentences
from theorex_lab.designs.sessions.items import digest_id
from theorex_lab.designs.sessions.rules import standing_rules
from theorex_lab.designs.sessions.said import spoken, telling, told
from theorex_lab.home import Home
from theorex_lab.journal.event import Event
from theorex_lab.memory.context import render
from theorex_lab.memory.filling import age_in_words
from theorex_lab.memory.observation import TRUST
from theorex_lab.memory.retrieve import Searcher
from theorex_lab.text.line import one_line
from theorex_lab.text.spoken import KEPT

_MOST_FIXES, _MOST_TOPICS, _TOKENS_PER_TOPIC = 20, 60, 100
# From this budget on files stand in their folders, with what was last done to them.
_FOLDERS_FROM = 12_000
# Characters of a fix, and of a part of the last session in a great and in a small budget.
_LONGEST, _SHORTEST = 400, 120
_WHOLE_FROM = 150  # tokens; below, a line is cut to two characters a token, since a whole one may have no room
_MOST_HITS = 100
_MOST_FILES = 300  # of a project, that a prompt may be reminded of
# How much more than a sentence a reminder of each kind weighs.
_RULE, _FIX, _SESSION, _FILE = 3.0, 2.0, 0.5, 1.0


def day_of(at: int) -> str:
    """The day of a moment (µs UTC).

    >>> day_of(0)
    '1970-01-01'
    """
    return to_iso(at)[:10]


def _heard_from(agent: str, trust: int) -> tuple[str, int] | None:
    return None if trust >= TRUST["agent"] else (agent, trust)


def _cut(text: str, wanted: Wanted) -> str:
    return one_line(text, _LONGEST if wanted.tokens >= _WHOLE_FROM else 2 * wanted.tokens)


def rule_lines(home: Home, wanted: Wanted) -> Iterator[Line]:
    """The rules that stand, in the user's words, with how often and when they were given."""
    for rule in rules.standing_rules(home, wanted.now):
        often = f"said on {rule.days} days, last " if rule.days > 1 else ""
        items = tuple(sentence.item for sentence in reversed(rule.said))
        text = f"{rule.last.text} ({often}{day_of(rule.last.at)})"
        why = f"a directive of the user's, standing {rule.last.standing:.2f}, given on {rule.days} days"
        yield Line(RULE, rule.last.agent, text, None, items, tuple(map(sentences.holder_of, items)), why)


def fix_lines(home: Home, wanted: Wanted) -> list[Line]:
    """What turned a failing check green, the newest first: of the home's project, or of none."""
    events = [event for event in home.journal.tail(0, kinds=["fixed"]) if event.at <= wanted.now]
    own = [event for event in events if not home.project or event.body["project"] in ("", home.project)]
    newest = {event.body["text"]: event for event in own}
    return [_fix(event, wanted.now) for event in sorted(newest.values(), key=lambda event: -event.at)[:_MOST_FIXES]]


def _fix(event: Event, now: int) -> Line:
    text = f"{event.body['text']} ({age_in_words((now - event.at) / MICROSECONDS_PER_DAY)})"
    heard = _heard_from(event.agent, TRUST[event.body["source"]])
    why = f"{event.body['family']} failed and passed in one session"
    return Line(FIXED_KIND, event.agent, one_line(text, _LONGEST), heard, (event.id,), (), why)


def last_lines(home: Home, wanted: Wanted) -> list[Line]:
    """Where the project's last session stopped."""
    with home.views.reading(said.Said) as view:
        mine = view.of_project(view.ends["project"], home.projects) & (view.ends["last_at"] <= wanted.now)
        order = np.flatnonzero(mine)[np.argsort(-view.ends["last_at"][mine], kind="stable")]
        names = [view.sessions[row].partition("/") for row in order[:3].tolist()]
    for agent, _, session in names:
        digest = digests.digest_of(digests.captures_of(home, agent, session))
        if digest is not None:
            heard, events = _heard_from(agent, TRUST[digest["source"]]), tuple(digest["events"])
            why = f"the last session of the project, {session}"
            first, *others = digests.in_words(digest)
            longest = min(_LONGEST, max(_SHORTEST, wanted.tokens // 10))
            texts = [f"{day_of(digest['last_at'])}. {first}", *others]
            return [Line(LAST, agent, _cut(one_line(text, longest), wanted), heard, (), events, why) for text in texts]
    return []


def spoken_lines(home: Home, wanted: Wanted) -> Iterator[Line]:
    """Earlier sentences that tell most in the least room, with a query those first that fit it."""
    gone = rules.taken_back(home, wanted.now)
    for sentence in telling(home, wanted.now, wanted.query):
        if sentence.text in gone:
            continue
        why = "rare words that are still in use" + (", a directive" if sentence.standing else "")
        text, heard = _cut(sentence.text, wanted), _heard_from(sentence.agent, sentence.trust)
        yield Line(SAID, sentence.agent, text, heard, (sentence.item,), (sentence.event,), why)


def file_lines(home: Home, wanted: Wanted) -> Iterator[Line]:
    """The files that will probably be needed, by the shortest ends of their paths; grouped by folder where room is."""
    files = said.needed_files(home, wanted.now, wanted.query)
    events = {event.seq: (event.id,) for event in home.journal.read(seqs=sorted({file.last_seq for file in files}))}
    if wanted.tokens >= _FOLDERS_FROM:
        yield from _by_folder(files, events, wanted.now)
        return
    for file in files:
        why = f"score {file.score:.3g}, touched {day_of(file.last_at)}"
        yield Line(FILE, "", file.end, None, (), events[file.last_seq], why)


def _by_folder(files: Iterable[said.NeededFile], events: Mapping[int, tuple[str, ...]], now: int) -> Iterator[Line]:
    folders: dict[str, list[said.NeededFile]] = {}
    for file in files:
        folders.setdefault(file.path.rpartition("/")[0], []).append(file)
    for folder, held in folders.items():
        for start in range(0, len(held), 12):
            some = held[start : start + 12]
            age = age_in_words((now - max(file.last_at for file in some)) / MICROSECONDS_PER_DAY)
            edited = "edited" if any(file.edits for file in some) else "read"
            text = f"{folder or 'top'}/: {', '.join(file.end for file in some)} ({edited}, last {age})"
            rests_on = tuple(dict.fromkeys(event for file in some for event in events[file.last_seq]))
            yield Line(FOLDER, "", text, None, (), rests_on, f"scores from {some[0].score:.3g}")


def topic_lines(home: Home, wanted: Wanted) -> Iterator[Line]:
    """One line of what was talked of lately: rare words that are in use, never the most frequent."""
    with home.views.reading(said.Said) as view:
        weights = said.word_weights(view, home.projects, wanted.now)
        score = weights.idf * weights.live
        best = np.argsort(-score, kind="stable")[: min(_MOST_TOPICS, wanted.tokens // _TOKENS_PER_TOPIC)]
        names = [view.words[number] for number in best.tolist() if score[number] > 0]
    if names:
        yield Line(TOPIC, "", ", ".join(names), None, (), (), "rare words that are in use")


def retrieve(home: Home, searcher: Searcher, query: str, now: int, tokens: int) -> list[Item]:
    """What a query gets: the context made for it where sessions touched files, else what search finds, best first."""
    if len(home.views.get(said.Touches).rows):
        return [Item(text, events) for text, events in render(home, now, tokens=tokens, query=query).parts]
    hits = searcher.search(query, limit=_MOST_HITS)
    return [Item(hit.text, (event,)) for hit, event in zip(hits, hits.events, strict=True)]


def session_reminders(home: Home) -> Iterator[Reminder]:
    """Of every project its rules, fixes, sessions in short, files with what was last done to them, and good sentences."""
    now = home.clock.now()
    with home.views.reading(said.Said) as view:
        found = spoken(view, None, now)
        table, names = view.sentences, ["", *view.projects]
        kept = (table["worth"][found.rows] >= KEPT) | (found.days > 1) | (table["written"][found.rows] > 0)
        projects, worth = (table[name][found.rows[kept]].tolist() for name in ("project", "worth"))
        pairs = zip(found.rows[kept].tolist(), found.days[kept].tolist(), strict=True)
        kept_sentences = [*zip((told(view, row, days) for row, days in pairs), projects, worth, strict=True)]
    rules = standing_rules(home.in_project(""), now)
    given = {sentence.item for rule in rules for sentence in rule.said}
    for rule in rules:
        last = rule.last
        for project in sorted(rule.projects):
            item = f"{last.item}@{project}" if len(rule.projects) > 1 else last.item
            yield Reminder(item, project, "rule", last.text, _RULE, last.trust, (last.event,))
    for sentence, number, weight in kept_sentences:
        if sentence.item not in given:
            text, trust, rests_on = sentence.text, sentence.trust, (sentence.event,)
            yield Reminder(sentence.item, names[number], "sentence", text, round(weight, 2), trust, rests_on)
    derived = home.journal.tail(0, kinds=["fixed", "digest"])
    for item, event in {digest_id(event) if event.kind == "digest" else event.id: event for event in derived}.items():
        kind, weight = ("fix", _FIX) if event.kind == "fixed" else ("session", _SESSION)
        body = event.body
        yield Reminder(item, body["project"], kind, body["text"], weight, TRUST[body["source"]], (event.id,))
    yield from _files(home, sorted(set(names)), now)


def _files(home: Home, projects: Sequence[str], now: int) -> Iterator[Reminder]:
    for project in filter(None, projects):
        for file in said.needed_files(home.in_project(project), now)[:_MOST_FILES]:
            age = age_in_words((now - file.last_at) / MICROSECONDS_PER_DAY)
            text = f"{file.path}: {'edited' if file.edits else 'read'}, last {age}"
            yield Reminder(f"{project}:{file.path}", project, "file", text, _FILE, TRUST["agent"])
