"""What an agent is given of its sessions: rules, fixes, where the last one stopped, sentences, files, topics."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from theorex_lab.clock import MICROSECONDS_PER_DAY, to_iso
from theorex_lab.design import FIXED_KIND, Line, Wanted
from theorex_lab.designs.sessions import FILE, FOLDER, LAST, RULE, SAID, TOPIC, digests, rules, said, sentences
from theorex_lab.designs.sessions.files import NeededFile, needed_files
from theorex_lab.designs.sessions.telling import telling
from theorex_lab.home import Home
from theorex_lab.journal.event import Event
from theorex_lab.memory.filling import age_in_words
from theorex_lab.memory.observation import TRUST
from theorex_lab.text.line import one_line

_MOST_FIXES, _MOST_TOPICS, _TOKENS_PER_TOPIC = 20, 60, 100
# From this budget on files stand in their folders, with what was last done to them.
_FOLDERS_FROM = 12_000
# Characters of a fix, and of a part of the last session in a great and in a small budget.
_LONGEST, _SHORTEST = 400, 120
_WHOLE_FROM = 150  # tokens; below, a line is cut to two characters a token, since a whole one may have no room


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
    for told in telling(home, wanted.now, wanted.query):
        if told.text in gone:
            continue
        why = "rare words that are still in use" + (", a directive" if told.standing else "")
        text, heard = _cut(told.text, wanted), _heard_from(told.agent, told.trust)
        yield Line(SAID, told.agent, text, heard, (told.item,), (told.event,), why)


def file_lines(home: Home, wanted: Wanted) -> Iterator[Line]:
    """The files that will probably be needed, by the shortest ends of their paths; grouped by folder where room is."""
    files = needed_files(home, wanted.now, wanted.query)
    events = {event.seq: (event.id,) for event in home.journal.read(seqs=sorted({file.last_seq for file in files}))}
    if wanted.tokens >= _FOLDERS_FROM:
        yield from _by_folder(files, events, wanted.now)
        return
    for file in files:
        why = f"score {file.score:.3g}, touched {day_of(file.last_at)}"
        yield Line(FILE, "", file.end, None, (), events[file.last_seq], why)


def _by_folder(files: Iterable[NeededFile], events: Mapping[int, tuple[str, ...]], now: int) -> Iterator[Line]:
    folders: dict[str, list[NeededFile]] = {}
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
