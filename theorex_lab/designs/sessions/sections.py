"""What comes back of sessions: lines of contexts, what a question gets, and reminders
for prompts.

Standing rules are what a user told an agent to do always or never, counted when
repeated, gone when reversed.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from theorex_lab.core.clock import MICROSECONDS_PER_DAY, to_iso
from theorex_lab.designs.sessions import (
    FILE,
    LAST,
    RULE,
    SAID,
    TOPIC,
    digests,
    said,
    sentences,
)
from theorex_lab.designs.sessions.items import digest_id
from theorex_lab.designs.sessions.renamed import followed
from theorex_lab.designs.sessions.said import (
    MessageStore,
    RememberedSentence,
    spoken,
    telling,
    told,
)
from theorex_lab.journal.event import Event
from theorex_lab.memory.briefing.context import render
from theorex_lab.memory.briefing.token_budget import age_in_words
from theorex_lab.memory.contract import (
    FIXED_KIND,
    ContextLine,
    ContextRequest,
    Home,
    Item,
    Reminder,
)
from theorex_lab.memory.observation import TRUST
from theorex_lab.memory.retrieve import Searcher
from theorex_lab.text.directives import (
    STANDING,
    Directive,
    directive_of,
    reverses,
    same_rule,
    stems,
)
from theorex_lab.text.line import one_line
from theorex_lab.text.paths import quoted_path, read_shown_path, shown_path
from theorex_lab.text.spoken import KEPT, Span

_MOST_FIXES = 20
_MOST_TOPICS = 60
_TOKENS_PER_TOPIC = 100
# Characters of a fix, and of a part of the last session in a great and in a small
# budget.
_LONGEST = 400
_SHORTEST = 120
# tokens; below, a line is cut to two characters a token, since a whole one may have no
# room
_WHOLE_FROM = 150
_PATHS_FROM = 1_000  # tokens of a budget from which files may stand by their paths
_MOST_HITS = 100
_MOST_FILES = 300  # of a project, that a prompt may be reminded of
# How much more than a sentence a reminder of each kind weighs.
_RULE = 3.0
_FIX = 2.0
_SESSION = 0.5
_FILE = 1.0


def day_of(at: int) -> str:
    """The day of a moment (µs UTC).

    >>> day_of(0)
    '1970-01-01'
    """
    return to_iso(at)[:10]


def _heard_from(agent: str, trust: int) -> tuple[str, int] | None:
    return None if trust >= TRUST["agent"] else (agent, trust)


def _cut(text: str, wanted: ContextRequest) -> str:
    return one_line(
        text, _LONGEST if wanted.tokens >= _WHOLE_FROM else 2 * wanted.tokens
    )


def rule_lines(home: Home, wanted: ContextRequest) -> Iterator[ContextLine]:
    """The rules that stand, in the user's words, with how often and when they were
    given.
    """
    for rule in standing_rules(home, wanted.now):
        often = f"said on {rule.days} days, last " if rule.days > 1 else ""
        items = tuple(sentence.item for sentence in reversed(rule.said))
        text = f"{rule.last.text} ({often}{day_of(rule.last.at)})"
        why = (
            f"a directive of the user's, standing {rule.last.standing:.2f}, given on"
            f" {rule.days} days"
        )
        yield ContextLine(
            RULE,
            rule.last.agent,
            text,
            None,
            items,
            tuple(map(sentences.holder_of, items)),
            why,
        )


def fix_lines(home: Home, wanted: ContextRequest) -> list[ContextLine]:
    """What turned a failing check green, the newest first: of the home's project, or of
    none.
    """
    events = [
        event
        for event in home.journal.tail(0, kinds=["fixed"])
        if event.at <= wanted.now
    ]
    own = [
        event
        for event in events
        if not home.project or event.body["project"] in ("", home.project)
    ]
    newest = {event.body["text"]: event for event in own}
    names = said.names_now_in(home, wanted.now) if newest else {}
    return [
        _fix(event, wanted.now, names)
        for event in sorted(newest.values(), key=lambda event: -event.at)[:_MOST_FIXES]
    ]


def _fix(event: Event, now: int, names: Mapping[str, str]) -> ContextLine:
    text = (
        f"{digests.text_now(event, names)}"
        f" ({age_in_words((now - event.at) / MICROSECONDS_PER_DAY)})"
    )
    heard = _heard_from(event.agent, TRUST[event.body["source"]])
    why = f"{event.body['family']} failed and passed in one session"
    return ContextLine(
        FIXED_KIND, event.agent, one_line(text, _LONGEST), heard, (event.id,), (), why
    )


def last_lines(home: Home, wanted: ContextRequest) -> list[ContextLine]:
    """Where the project's last session stopped."""
    with home.views.reading(said.MessageStore) as view:
        mine = view.of_project(view.ends["project"], home.projects) & (
            view.ends["last_at"] <= wanted.now
        )
        order = np.flatnonzero(mine)[
            np.argsort(-view.ends["last_at"][mine], kind="stable")
        ]
        names = [view.sessions[row].partition("/") for row in order[:3].tolist()]
    for agent, _, session in names:
        digest = digests.digest_of(digests.captures_of(home, agent, session))
        if digest is not None:
            heard = _heard_from(agent, TRUST[digest["source"]])
            events = tuple(digest["events"])
            why = f"the last session of the project, {session}"
            edits = followed(digest["edited"], said.names_now_in(home, wanted.now))
            first, *others = digests.in_words({**digest, "edited": edits}) or [""]
            longest = min(_LONGEST, max(_SHORTEST, wanted.tokens // 10))
            texts = [f"{day_of(digest['last_at'])}. {first}", *others]
            return [
                ContextLine(
                    LAST,
                    agent,
                    _cut(one_line(text, longest), wanted),
                    heard,
                    (),
                    events,
                    why,
                )
                for text in texts
            ]
    return []


def spoken_lines(home: Home, wanted: ContextRequest) -> Iterator[ContextLine]:
    """Earlier sentences that tell most in the least room, with a query those first that
    fit it.
    """
    gone = taken_back(home, wanted.now)
    for sentence in telling(home, wanted.now, wanted.query):
        if sentence.text in gone:
            continue
        why = "rare words that are still in use" + (
            ", a directive" if sentence.standing else ""
        )
        text = _cut(sentence.text, wanted)
        heard = _heard_from(sentence.agent, sentence.trust)
        yield ContextLine(
            SAID, sentence.agent, text, heard, (sentence.item,), (sentence.event,), why
        )


def file_lines(home: Home, wanted: ContextRequest) -> Iterator[ContextLine]:
    """The files that will probably be needed, by the shortest ends of their paths; by
    the paths where room is left over.

    A reader can open a path. A small budget is for a reader to whom room matters more.
    """
    files = said.needed_files(home, wanted.now, wanted.query)
    events = {
        event.seq: (event.id,)
        for event in home.journal.read(seqs=sorted({file.last_seq for file in files}))
    }
    for file in files:
        why = f"score {file.score:.3g}, touched {day_of(file.last_at)}"
        path = shown_path(file.path)
        is_whole = read_shown_path(path) is not None
        longer = path if is_whole and wanted.tokens >= _PATHS_FROM else ""
        yield ContextLine(
            FILE,
            "",
            quoted_path(file.end),
            None,
            (),
            events[file.last_seq],
            why,
            longer,
        )


def topic_lines(home: Home, wanted: ContextRequest) -> Iterator[ContextLine]:
    """One line of what was talked of lately: rare words that are in use, never the most
    frequent.
    """
    with home.views.reading(said.MessageStore) as view:
        weights = said.word_weights(view, home.projects, wanted.now)
        score = weights.idf * weights.live
        best = np.argsort(-score, kind="stable")[
            : min(_MOST_TOPICS, wanted.tokens // _TOKENS_PER_TOPIC)
        ]
        names = [view.words[number] for number in best.tolist() if score[number] > 0]
    if names:
        yield ContextLine(
            TOPIC, "", ", ".join(names), None, (), (), "rare words that are in use"
        )


def retrieve(
    home: Home, searcher: Searcher, query: str, now: int, tokens: int
) -> list[Item]:
    """What a query gets: the context made for it where sessions touched files, else
    what search finds, best first.
    """
    if len(home.views.get(said.FileTouches).rows):
        return [
            Item(text, events)
            for text, events in render(home, now, tokens=tokens, query=query).parts
        ]
    hits = searcher.search(query, limit=_MOST_HITS)
    return [
        Item(hit.text, (event,)) for hit, event in zip(hits, hits.events, strict=True)
    ]


def session_reminders(home: Home) -> Iterator[Reminder]:
    """Of every project its rules, fixes, sessions in short, files with what was last
    done to them, and good sentences.
    """
    now = home.clock.now()
    with home.views.reading(said.MessageStore) as view:
        found = spoken(view, None, now)
        table = view.sentences
        names = ["", *view.projects]
        kept = (
            (table["worth"][found.rows] >= KEPT)
            | (found.days > 1)
            | (table["written"][found.rows] > 0)
        )
        projects, worth = (
            table[name][found.rows[kept]].tolist() for name in ("project", "worth")
        )
        pairs = zip(found.rows[kept].tolist(), found.days[kept].tolist(), strict=True)
        kept_sentences = [
            *zip(
                (told(view, row, days) for row, days in pairs),
                projects,
                worth,
                strict=True,
            )
        ]
    rules = standing_rules(home.in_project(""), now)
    given = {sentence.item for rule in rules for sentence in rule.said}
    for rule in rules:
        last = rule.last
        for project in sorted(rule.projects):
            item = f"{last.item}@{project}" if len(rule.projects) > 1 else last.item
            yield Reminder(
                item, project, "rule", last.text, _RULE, last.trust, (last.event,)
            )
    for sentence, number, weight in kept_sentences:
        if sentence.item not in given:
            text = sentence.text
            trust = sentence.trust
            rests_on = (sentence.event,)
            yield Reminder(
                sentence.item,
                names[number],
                "sentence",
                text,
                round(weight, 2),
                trust,
                rests_on,
            )
    derived = home.journal.tail(0, kinds=["fixed", "digest"])
    names_now: dict[str, Mapping[str, str]] = {}
    for item, event in {
        digest_id(event) if event.kind == "digest" else event.id: event
        for event in derived
    }.items():
        kind, weight = ("fix", _FIX) if event.kind == "fixed" else ("session", _SESSION)
        body, project = event.body, event.body["project"]
        if project not in names_now:
            names_now[project] = (
                said.names_now_in(home.in_project(project), now) if project else {}
            )
        text = digests.text_now(event, names_now[project])
        yield Reminder(
            item, project, kind, text, weight, TRUST[body["source"]], (event.id,)
        )
    yield from _files(home, sorted(set(names)), now)


def _files(home: Home, projects: Sequence[str], now: int) -> Iterator[Reminder]:
    for project in filter(None, projects):
        for file in said.needed_files(home.in_project(project), now)[:_MOST_FILES]:
            age = age_in_words((now - file.last_at) / MICROSECONDS_PER_DAY)
            text = (
                f"{shown_path(file.path)}: {'edited' if file.edits else 'read'}, last"
                f" {age}"
            )
            yield Reminder(
                f"{project}:{file.path}", project, "file", text, _FILE, TRUST["agent"]
            )


CONVENTION_DAYS = (
    3  # on which a user says the very same, so that it is a rule whatever its words
)
_CONVENTION_WORDS = 6
_LABEL = re.compile(
    r"[\w /-]{1,40}:\s|.*[\[(](?:\d+/\d+|\d+ ?%|skipped|done|ok)[\])]\W*$", re.I
)
# What names a file, a command or a place: such a rule belongs to its project.
_LOCAL = re.compile(r"[`/\\$_]|\w\.\w|(?:^|\s)--?\w|\d")


@dataclass
class StandingRule:
    """A rule in the words in which it was last given. said: each time that it was,
    oldest first.  projects: where.

    taken_back: projects in which a later word took it back.
    """

    directive: Directive
    said: list[RememberedSentence]
    projects: set[str] = field(default_factory=set)
    taken_back: set[str] = field(default_factory=set)

    @property
    def last(self) -> RememberedSentence:
        """Where it was given last."""
        return self.said[-1]

    @property
    def days(self) -> int:
        """On how many days it was given, in the same words or in others."""
        return max(
            *(told.days for told in self.said),
            len({told.at // MICROSECONDS_PER_DAY for told in self.said}),
            1,
        )

    @property
    def is_personal(self) -> bool:
        """Whether it is about the person: given in two projects, and naming no file or
        command.
        """
        return len(self.projects - {""}) > 1 and not _LOCAL.search(self.last.text)

    def stands_in(self, project: str) -> bool:
        """Whether it holds in a project, '' for any: given there or in none, or about
        the person, and not taken back.
        """
        if not project:
            return bool(self.projects) and "" not in self.taken_back
        return bool(
            self.projects & {"", project} or self.is_personal
        ) and not self.taken_back & {"", project}


def standing_rules(home: Home, now: int) -> list[StandingRule]:
    """The rules that stand: of the home's project and of none, then those about the
    person; often and lately given first.

    Only a user's own word makes a rule. One that a later word takes back is gone.
    """
    rules = [rule for rule in _given(home, now) if rule.stands_in(home.project)]
    own = [
        rule for rule in rules if not home.project or rule.projects & {"", home.project}
    ]
    return [*_ranked(own), *_ranked(rule for rule in rules if rule not in own)]


def taken_back(home: Home, now: int) -> set[str]:
    """The words of rules that stand no more in the home's project."""
    rules = _given(home, now)
    gone = [
        rule for rule in rules if rule.taken_back and not rule.stands_in(home.project)
    ]
    standing = [rule for rule in rules if rule.stands_in(home.project)]
    lost, held = (
        {sentence.text for rule in part for sentence in rule.said}
        for part in (gone, standing)
    )
    return lost - held


def _given(home: Home, now: int) -> list[StandingRule]:
    with home.views.reading(MessageStore) as view:
        found = spoken(view, None, now, by_users=True)
        table = view.sentences
        standing = table["standing"][found.rows]
        long = np.array(
            [_is_convention(view, row) for row in found.rows.tolist()], bool
        )
        again = ((found.days >= CONVENTION_DAYS) & long) | (
            (found.days > 1) & (standing > 0)
        )
        kept = (standing >= STANDING) | again
        rows = found.rows[kept]
        days = found.days[kept]
        order = np.lexsort((table["seq"][rows], table["at"][rows]))
        names = ["", *view.projects]
        closed = home.closed_projects
        ordered = zip(rows[order].tolist(), days[order].tolist(), strict=True)
        placed = (
            (told(view, row, n), names[int(table["project"][row])])
            for row, n in ordered
        )
        return _merged(
            [(said, project) for said, project in placed if project not in closed]
        )


def _is_convention(view: MessageStore, row: int) -> bool:
    """Whether a sentence is long enough to say how something is done, and is no label
    or status line of what is pasted.
    """
    text = view.texts[int(view.sentences["text"][row])]
    return (
        len(text.split()) >= _CONVENTION_WORDS
        and text.lstrip("*_\"'`“«")[:1].isalpha()
        and not _LABEL.match(text)
    )


def _ranked(rules: Iterable[StandingRule]) -> list[StandingRule]:
    return sorted(
        rules, key=lambda rule: (-min(rule.days, 4), -rule.last.standing, -rule.last.at)
    )


def _merged(given: Iterable[tuple[RememberedSentence, str]]) -> list[StandingRule]:
    """The rules in order of their first word, each once, with where a later word took
    them back.
    """
    rules: dict[int, StandingRule] = {}
    about: dict[str, set[int]] = defaultdict(set)  # by stem of a subject
    for number, (sentence, project) in enumerate(given):
        span = Span(0, len(sentence.text), sentence.text)
        new = directive_of(span) or Directive(
            span, "rule", "do", STANDING, stems(sentence.text)
        )
        near = sorted({n for stem in new.subject | new.replaces for n in about[stem]})
        against = {n for n in near if reverses(new, rules[n].directive)}
        for n in against:
            rules[n].projects.discard(project)
            rules[n].taken_back.add(project)
        again = next(
            (
                n
                for n in near
                if n not in against and same_rule(new, rules[n].directive)
            ),
            number,
        )
        rule = rules.setdefault(again, StandingRule(new, []))
        rule.directive = new
        rule.said.append(sentence)
        rule.projects.add(project)
        rule.taken_back -= {project} if project else rule.taken_back
        for stem in new.subject | new.replaces:
            about[stem].add(again)
    return list(rules.values())
