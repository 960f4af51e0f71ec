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
    remembered,
    spoken,
    telling,
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
    """Return the day of a moment (µs UTC).

    >>> day_of(0)
    '1970-01-01'
    """
    return to_iso(at)[:10]


def _heard_from(agent: str, trust: int) -> tuple[str, int] | None:
    return None if trust >= TRUST["agent"] else (agent, trust)


def _cut(text: str, tokens: int) -> str:
    """Return a text in one line, cut where the budget of tokens is small."""
    return one_line(text, _LONGEST if tokens >= _WHOLE_FROM else 2 * tokens)


def rule_lines(home: Home, request: ContextRequest) -> Iterator[ContextLine]:
    """Yield the rules that stand, in the user's words, with how often and when they
    were given.
    """
    for rule in standing_rules(home, request.now):
        often = f"said on {rule.days} days, last " if rule.days > 1 else ""
        items = tuple(sentence.item for sentence in reversed(rule.said))
        yield ContextLine(
            RULE,
            rule.last.agent,
            f"{rule.last.text} ({often}{day_of(rule.last.at)})",
            None,
            items,
            tuple(map(sentences.holder_of, items)),
            f"a directive of the user's, standing {rule.last.standing:.2f}, given on"
            f" {rule.days} days",
        )


def fix_lines(home: Home, request: ContextRequest) -> list[ContextLine]:
    """Return what turned a failing check green, the newest first: of the home's
    project, or of none.
    """
    now = request.now
    newest: dict[str, Event] = {}  # by text
    for event in home.journal.tail(0, kinds=["fixed"]):
        is_inside = not home.project or event.body["project"] in ("", home.project)
        if event.at <= now and is_inside:
            newest[event.body["text"]] = event
    names = said.names_now_in(home, now) if newest else {}
    fixes = sorted(newest.values(), key=lambda event: -event.at)
    return [_fix(event, now, names) for event in fixes[:_MOST_FIXES]]


def _fix(event: Event, now: int, names: Mapping[str, str]) -> ContextLine:
    age = age_in_words((now - event.at) / MICROSECONDS_PER_DAY)
    text = f"{digests.text_now(event, names)} ({age})"
    heard_from = _heard_from(event.agent, TRUST[event.body["source"]])
    why = f"{event.body['family']} failed and passed in one session"
    return ContextLine(
        FIXED_KIND,
        event.agent,
        one_line(text, _LONGEST),
        heard_from,
        (event.id,),
        (),
        why,
    )


def last_lines(home: Home, request: ContextRequest) -> list[ContextLine]:
    """Return where the project's last session stopped."""
    for agent, session in _last_sessions(home, request.now):
        digest = digests.digest_of(digests.captures_of(home, agent, session))
        if digest is not None:
            break
    else:
        return []
    edits = followed(digest["edited"], said.names_now_in(home, request.now))
    first, *others = digests.in_words({**digest, "edited": edits}) or [""]
    longest = min(_LONGEST, max(_SHORTEST, request.tokens // 10))
    heard_from = _heard_from(agent, TRUST[digest["source"]])
    event_ids = tuple(digest["events"])
    why = f"the last session of the project, {session}"
    lines = []
    for text in [f"{day_of(digest['last_at'])}. {first}", *others]:
        text = _cut(one_line(text, longest), request.tokens)
        lines.append(ContextLine(LAST, agent, text, heard_from, (), event_ids, why))
    return lines


def _last_sessions(home: Home, now: int) -> list[tuple[str, str]]:
    """Return agent and session of the project's last three sessions, the latest first."""
    with home.views.reading(said.MessageStore) as view:
        ends = view.ends
        is_inside = view.of_project(ends["project"], home.projects)
        rows = np.flatnonzero(is_inside & (ends["last_at"] <= now))
        rows = rows[np.argsort(-ends["last_at"][rows], kind="stable")]
        names = [view.sessions[row] for row in rows[:3].tolist()]
    pairs = []
    for name in names:
        agent, _, session = name.partition("/")
        pairs.append((agent, session))
    return pairs


def spoken_lines(home: Home, request: ContextRequest) -> Iterator[ContextLine]:
    """Yield earlier sentences that tell most in the least room, with a query those
    first that fit it.
    """
    gone = taken_back(home, request.now)
    for sentence in telling(home, request.now, request.query):
        if sentence.text in gone:
            continue
        why = "rare words that are still in use"
        if sentence.standing:
            why += ", a directive"
        yield ContextLine(
            SAID,
            sentence.agent,
            _cut(sentence.text, request.tokens),
            _heard_from(sentence.agent, sentence.trust),
            (sentence.item,),
            (sentence.event,),
            why,
        )


def file_lines(home: Home, request: ContextRequest) -> Iterator[ContextLine]:
    """Yield the files that will probably be needed, by the shortest ends of their
    paths; by the paths where room is left over.

    A reader can open a path. A small budget is for a reader to whom room matters more.
    """
    files = said.needed_files(home, request.now, request.query)
    seqs = {file.last_seq for file in files}
    event_ids = {event.seq: event.id for event in home.journal.read(seqs=sorted(seqs))}
    for file in files:
        why = f"score {file.score:.3g}, touched {day_of(file.last_at)}"
        events = (event_ids[file.last_seq],)
        path = shown_path(file.path)
        is_whole = read_shown_path(path) is not None
        longer = path if is_whole and request.tokens >= _PATHS_FROM else ""
        name = quoted_path(file.end)
        yield ContextLine(FILE, "", name, None, (), events, why, longer)


def topic_lines(home: Home, request: ContextRequest) -> Iterator[ContextLine]:
    """Yield one line of what was talked of lately: rare words that are in use, never
    the most frequent.
    """
    most = min(_MOST_TOPICS, request.tokens // _TOKENS_PER_TOPIC)
    with home.views.reading(said.MessageStore) as view:
        weights = said.word_weights(view, home.projects, request.now)
        score = weights.idf * weights.live
        best = np.argsort(-score, kind="stable")[:most]
        names = [view.words[number] for number in best.tolist() if score[number] > 0]
    if names:
        why = "rare words that are in use"
        yield ContextLine(TOPIC, "", ", ".join(names), None, (), (), why)


def retrieve(
    home: Home, searcher: Searcher, query: str, now: int, tokens: int
) -> list[Item]:
    """Return what a query gets: the context made for it where sessions touched files,
    else what search finds, best first.
    """
    if len(home.views.get(said.FileTouches).rows):
        context = render(home, now, tokens=tokens, query=query)
        return [Item(text, events) for text, events in context.parts]
    hits = searcher.search(query, limit=_MOST_HITS)
    return [
        Item(hit.text, (event,)) for hit, event in zip(hits, hits.events, strict=True)
    ]


def session_reminders(home: Home) -> Iterator[Reminder]:
    """Yield of every project its rules, fixes, sessions in short, files with what was
    last done to them, and good sentences.
    """
    now = home.clock.now()
    good_sentences, projects = _good_sentences(home, now)
    rules = standing_rules(home.in_project(""), now)
    rule_items: set[str] = set()
    for rule in rules:
        rule_items.update(sentence.item for sentence in rule.said)
        yield from _rule_reminders(rule)
    for reminder in good_sentences:
        if reminder.id not in rule_items:
            yield reminder
    yield from _derived_reminders(home, now)
    yield from _files(home, sorted({"", *projects}), now)


def _good_sentences(home: Home, now: int) -> tuple[list[Reminder], list[str]]:
    """Return a reminder a sentence that is worth keeping, and the names of all
    projects.
    """
    reminders = []
    with home.views.reading(said.MessageStore) as view:
        texts = spoken(view, None, now)
        table = view.sentences
        projects = ["", *view.projects]
        is_good = table["worth"][texts.rows] >= KEPT
        is_good |= texts.days > 1
        is_good |= table["written"][texts.rows] > 0
        rows = texts.rows[is_good]
        columns = zip(
            rows.tolist(),
            texts.days[is_good].tolist(),
            table["project"][rows].tolist(),
            table["worth"][rows].tolist(),
            strict=True,
        )
        for row, days, project, worth in columns:
            sentence = remembered(view, row, days)
            reminder = Reminder(
                sentence.item,
                projects[project],
                "sentence",
                sentence.text,
                round(worth, 2),
                sentence.trust,
                (sentence.event,),
            )
            reminders.append(reminder)
    return reminders, projects


def _rule_reminders(rule: "StandingRule") -> Iterator[Reminder]:
    """Yield a reminder of a rule for each project in which it was given."""
    last = rule.last
    for project in sorted(rule.projects):
        item = f"{last.item}@{project}" if len(rule.projects) > 1 else last.item
        yield Reminder(
            item, project, "rule", last.text, _RULE, last.trust, (last.event,)
        )


def _derived_reminders(home: Home, now: int) -> Iterator[Reminder]:
    """Yield the fixes and the sessions in short, each as it was kept last."""
    events: dict[str, Event] = {}  # by id of the item
    for event in home.journal.tail(0, kinds=["fixed", "digest"]):
        item = digest_id(event) if event.kind == "digest" else event.id
        events[item] = event
    names_in: dict[str, Mapping[str, str]] = {"": {}}  # by project
    for item, event in events.items():
        project = event.body["project"]
        if project not in names_in:
            names_in[project] = said.names_now_in(home.in_project(project), now)
        kind = "session"
        weight = _SESSION
        if event.kind == "fixed":
            kind = "fix"
            weight = _FIX
        text = digests.text_now(event, names_in[project])
        trust = TRUST[event.body["source"]]
        yield Reminder(item, project, kind, text, weight, trust, (event.id,))


def _files(home: Home, projects: Sequence[str], now: int) -> Iterator[Reminder]:
    for project in filter(None, projects):
        for file in said.needed_files(home.in_project(project), now)[:_MOST_FILES]:
            age = age_in_words((now - file.last_at) / MICROSECONDS_PER_DAY)
            use = "edited" if file.edits else "read"
            text = f"{shown_path(file.path)}: {use}, last {age}"
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
    """A rule in the words in which it was last given.

    Attributes:
        directive: What it says to do or not to do.
        said: Each time that it was given, oldest first.
        projects: Where it was given.
        taken_back: The projects in which a later word took it back.
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
        most_in_same_words = max(sentence.days for sentence in self.said)
        last_days = {sentence.at // MICROSECONDS_PER_DAY for sentence in self.said}
        return max(most_in_same_words, len(last_days), 1)

    @property
    def is_personal(self) -> bool:
        """Whether it is about the person: given in two projects, and naming no file or
        command.
        """
        return len(self.projects - {""}) > 1 and not _LOCAL.search(self.last.text)

    def stands_in(self, project: str) -> bool:
        """Return whether it holds in a project, '' for any: given there or in none, or
        about the person, and not taken back.
        """
        if not project:
            return bool(self.projects) and "" not in self.taken_back
        if self.taken_back & {"", project}:
            return False
        return bool(self.projects & {"", project}) or self.is_personal

    def give(
        self, directive: Directive, sentence: RememberedSentence, project: str
    ) -> None:
        """Note that a sentence gave it in a project, '' for all."""
        self.directive = directive
        self.said.append(sentence)
        self.projects.add(project)
        if project:
            self.taken_back.discard(project)
        else:
            self.taken_back.clear()


def standing_rules(home: Home, now: int) -> list[StandingRule]:
    """Return the rules that stand: of the home's project and of none, then those about
    the person; often and lately given first.

    Only a user's own word makes a rule. One that a later word takes back is gone.
    """
    of_project = []
    about_person = []
    for rule in _all_rules(home, now):
        if not rule.stands_in(home.project):
            continue
        if not home.project or rule.projects & {"", home.project}:
            of_project.append(rule)
        else:
            about_person.append(rule)
    return [*_ranked(of_project), *_ranked(about_person)]


def taken_back(home: Home, now: int) -> set[str]:
    """Return the words of rules that stand no more in the home's project."""
    gone: set[str] = set()
    standing: set[str] = set()
    for rule in _all_rules(home, now):
        texts = {sentence.text for sentence in rule.said}
        if rule.stands_in(home.project):
            standing |= texts
        elif rule.taken_back:
            gone |= texts
    return gone - standing


def _all_rules(home: Home, now: int) -> list[StandingRule]:
    """Return the rules of all projects that are open, also those that were taken back."""
    with home.views.reading(MessageStore) as view:
        texts = spoken(view, None, now, by_users=True)
        table = view.sentences
        standing = table["standing"][texts.rows]
        is_convention = np.array(
            [_is_convention(view, row) for row in texts.rows.tolist()], bool
        )
        is_repeated_rule = (texts.days > 1) & (standing > 0)
        is_rule = standing >= STANDING
        is_rule |= (texts.days >= CONVENTION_DAYS) & is_convention
        is_rule |= is_repeated_rule
        rows = texts.rows[is_rule]
        days = texts.days[is_rule]
        order = np.lexsort((table["seq"][rows], table["at"][rows]))
        names = ["", *view.projects]
        closed = home.closed_projects
        sentences_in_time = []
        pairs = zip(rows[order].tolist(), days[order].tolist(), strict=True)
        for row, n_days in pairs:
            project = names[int(table["project"][row])]
            if project not in closed:
                sentences_in_time.append((remembered(view, row, n_days), project))
    return _merged(sentences_in_time)


def _is_convention(view: MessageStore, row: int) -> bool:
    """Return whether a sentence is long enough to say how something is done, and is no
    label or status line of what is pasted.
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


def _merged(
    sentences_in_time: Iterable[tuple[RememberedSentence, str]],
) -> list[StandingRule]:
    """Return the rules in order of their first word, each once, with where a later word
    took them back.

    Args:
        sentences_in_time: Each sentence that gives a rule or takes one back, with its
            project, oldest first.
    """
    rules: list[StandingRule] = []
    numbers_by_stem: dict[str, set[int]] = defaultdict(set)  # positions in `rules`
    for sentence, project in sentences_in_time:
        directive = _directive_of(sentence.text)
        rule_stems = directive.subject | directive.replaces
        near: set[int] = set()
        for stem in rule_stems:
            near |= numbers_by_stem[stem]
        number = _take_back_and_match(rules, sorted(near), directive, project)
        if number is None:
            number = len(rules)
            rules.append(StandingRule(directive, []))
        rules[number].give(directive, sentence, project)
        for stem in rule_stems:
            numbers_by_stem[stem].add(number)
    return rules


def _take_back_and_match(
    rules: Sequence[StandingRule],
    near: Iterable[int],
    directive: Directive,
    project: str,
) -> int | None:
    """Take back in a project the rules that a directive reverses; return the number of
    the first one that it repeats, None without one.

    near: numbers of the rules about the same.
    """
    repeated = None
    for number in near:
        rule = rules[number]
        if reverses(directive, rule.directive):
            rule.projects.discard(project)
            rule.taken_back.add(project)
        elif repeated is None and same_rule(directive, rule.directive):
            repeated = number
    return repeated


def _directive_of(text: str) -> Directive:
    """Return the directive that a sentence is; a convention is a rule to do it."""
    span = Span(0, len(text), text)
    directive = directive_of(span)
    if directive:
        return directive
    return Directive(span, "rule", "do", STANDING, stems(text))
