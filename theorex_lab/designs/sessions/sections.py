"""What comes back of sessions.

It is lines of contexts, what a question gets, and reminders for prompts. Standing rules
are what a user told an agent to do always or never, counted when repeated, gone when
reversed.
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
_MOST_SESSIONS = 3  # that are tried for one to sum up
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
    if trust >= TRUST["agent"]:
        return None
    return agent, trust


def _cut(text: str, tokens: int) -> str:
    """Return a text in one line, cut where the budget of tokens is small."""
    n_characters = _LONGEST
    if tokens < _WHOLE_FROM:
        n_characters = 2 * tokens
    return one_line(text, n_characters)


def rule_lines(home: Home, request: ContextRequest) -> Iterator[ContextLine]:
    """Yield the rules that stand, in the user's words.

    Each line says how often and when its rule was given.
    """
    for rule in standing_rules(home, request.now):
        last = rule.last
        n_days = rule.days
        often = ""
        if n_days > 1:
            often = f"said on {n_days} days, last "
        items = [sentence.item for sentence in reversed(rule.said)]
        event_ids = [sentences.holder_of(item) for item in items]
        yield ContextLine(
            RULE,
            last.agent,
            f"{last.text} ({often}{day_of(last.at)})",
            None,
            tuple(items),
            tuple(event_ids),
            f"a directive of the user's, standing {last.standing:.2f}, given on"
            f" {n_days} days",
        )


def fix_lines(home: Home, request: ContextRequest) -> list[ContextLine]:
    """Return what turned a failing check green, the newest first.

    It is of the home's project, or of none.
    """
    now = request.now
    newest: dict[str, Event] = {}  # by text
    for event in home.journal.tail(0, kinds=["fixed"]):
        body = event.body
        if event.at > now:
            continue
        if home.project and body["project"] not in ("", home.project):
            continue
        newest[body["text"]] = event
    names: Mapping[str, str] = {}
    if newest:
        names = said.names_now_in(home, now)
    fixes = sorted(newest.values(), key=lambda event: -event.at)
    return [_fix(event, now, names) for event in fixes[:_MOST_FIXES]]


def _fix(event: Event, now: int, names: Mapping[str, str]) -> ContextLine:
    days = (now - event.at) / MICROSECONDS_PER_DAY
    text = f"{digests.text_now(event, names)} ({age_in_words(days)})"
    body = event.body
    heard_from = _heard_from(event.agent, TRUST[body["source"]])
    why = f"{body['family']} failed and passed in one session"
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
    names = said.names_now_in(home, request.now)
    edits = followed(digest["edited"], names)
    first, *others = digests.in_words({**digest, "edited": edits}) or [""]
    tenth = request.tokens // 10
    longest = min(_LONGEST, max(_SHORTEST, tenth))
    heard_from = _heard_from(agent, TRUST[digest["source"]])
    event_ids = tuple(digest["events"])
    why = f"the last session of the project, {session}"
    day = day_of(digest["last_at"])
    lines = []
    for part in [f"{day}. {first}", *others]:
        text = _cut(one_line(part, longest), request.tokens)
        lines.append(ContextLine(LAST, agent, text, heard_from, (), event_ids, why))
    return lines


def _last_sessions(home: Home, now: int) -> list[tuple[str, str]]:
    """Return agent and session of the project's last three sessions, the latest first."""
    with home.views.reading(said.MessageStore) as view:
        ends = view.ends
        is_inside = view.of_project(ends["project"], home.projects)
        is_past = ends["last_at"] <= now
        rows = np.flatnonzero(is_inside & is_past)
        latest_first = np.argsort(-ends["last_at"][rows], kind="stable")
        latest = rows[latest_first[:_MOST_SESSIONS]]
        names = [view.sessions[row] for row in latest.tolist()]
    pairs = []
    for name in names:
        agent, _, session = name.partition("/")
        pairs.append((agent, session))
    return pairs


def spoken_lines(home: Home, request: ContextRequest) -> Iterator[ContextLine]:
    """Yield earlier sentences that tell most in the least room.

    With a query those come first that fit it.
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
    """Yield the files that will probably be needed.

    They stand by the shortest ends of their paths; by the paths where room is left
    over. A reader can open a path. A small budget is for a reader to whom room matters
    more.
    """
    files = said.needed_files(home, request.now, request.query)
    seqs = {file.last_seq for file in files}
    last_events = home.journal.read(seqs=sorted(seqs))
    event_ids = {event.seq: event.id for event in last_events}
    has_room = request.tokens >= _PATHS_FROM
    for file in files:
        why = f"score {file.score:.3g}, touched {day_of(file.last_at)}"
        events = (event_ids[file.last_seq],)
        path = shown_path(file.path)
        is_whole = read_shown_path(path) is not None
        longer = ""
        if is_whole and has_room:
            longer = path
        name = quoted_path(file.end)
        yield ContextLine(FILE, "", name, None, (), events, why, longer)


def topic_lines(home: Home, request: ContextRequest) -> Iterator[ContextLine]:
    """Yield one line of what was talked of lately.

    It has rare words that are in use, never the most frequent.
    """
    most = min(_MOST_TOPICS, request.tokens // _TOKENS_PER_TOPIC)
    with home.views.reading(said.MessageStore) as view:
        weights = said.word_weights(view, home.projects, request.now)
        score = weights.idf * weights.live
        best_first = np.argsort(-score, kind="stable")
        best = best_first[:most]
        scored = best[score[best] > 0]
        names = [view.words[number] for number in scored.tolist()]
    if names:
        why = "rare words that are in use"
        yield ContextLine(TOPIC, "", ", ".join(names), None, (), (), why)


def retrieve(
    home: Home, searcher: Searcher, query: str, *, now: int, tokens: int
) -> list[Item]:
    """Return what a query gets, best first.

    It is the context made for it where sessions touched files, else what search finds.

    Args:
        home: Whose sessions they are.
        searcher: What searches the home.
        query: What is asked.
        now: The time of the query, µs UTC.
        tokens: The budget of the context.
    """
    if len(home.views.get(said.FileTouches).rows):
        context = render(home, now, tokens=tokens, query=query)
        return [Item(text, events) for text, events in context.parts]
    hits = searcher.search(query, limit=_MOST_HITS)
    hits_and_events = zip(hits, hits.events, strict=True)
    return [Item(hit.text, (event,)) for hit, event in hits_and_events]


def session_reminders(home: Home) -> Iterator[Reminder]:
    """Yield what the prompts of every project may be reminded of.

    It is rules, fixes, sessions in short, files with what was last done to them, and
    good sentences.
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
    """Return reminders of the sentences that are worth keeping.

    Returns:
        The reminders, one a sentence, and the names of all projects.
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
    has_several = len(rule.projects) > 1
    for project in sorted(rule.projects):
        item = last.item
        if has_several:
            item = f"{item}@{project}"
        yield Reminder(
            item,
            project,
            "rule",
            last.text,
            _RULE,
            last.trust,
            (last.event,),
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
        files = said.needed_files(home.in_project(project), now)
        for file in files[:_MOST_FILES]:
            days = (now - file.last_at) / MICROSECONDS_PER_DAY
            use = "edited" if file.edits else "read"
            path = shown_path(file.path)
            yield Reminder(
                f"{project}:{file.path}",
                project,
                "file",
                f"{path}: {use}, last {age_in_words(days)}",
                _FILE,
                TRUST["agent"],
            )


# On which a user says the very same, so that it is a rule whatever its words.
CONVENTION_DAYS = 3
_MOST_DAYS = 4  # that count in the order of rules
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
        """Whether it is about the person.

        Such a rule was given in two projects, and names no file or command.
        """
        named_projects = self.projects - {""}
        if len(named_projects) < 2:
            return False
        return _LOCAL.search(self.last.text) is None

    def stands_in(self, project: str) -> bool:
        """Return whether it holds in a project, '' for any.

        It was given there or in none, or is about the person, and was not taken back.
        """
        if not project:
            return bool(self.projects) and "" not in self.taken_back
        if self.taken_back & {"", project}:
            return False
        if self.projects & {"", project}:
            return True
        return self.is_personal

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
    """Return the rules that stand, often and lately given first.

    Those of the home's project and of none come before those about the person. Only a
    user's own word makes a rule. One that a later word takes back is gone.
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
        conventions = [_is_convention(view, row) for row in texts.rows.tolist()]
        is_convention = np.array(conventions, bool)
        is_often_said = texts.days >= CONVENTION_DAYS
        is_repeated = texts.days > 1
        is_rule = standing >= STANDING
        is_rule |= is_often_said & is_convention
        is_rule |= is_repeated & (standing > 0)
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
    """Return whether a sentence may say how something is done.

    It is long enough, and no label or status line of what is pasted.
    """
    text = view.texts[int(view.sentences["text"][row])]
    if len(text.split()) < _CONVENTION_WORDS:
        return False
    without_marks = text.lstrip("*_\"'`“«")
    if not without_marks[:1].isalpha():
        return False
    return _LABEL.match(text) is None


def _ranked(rules: Iterable[StandingRule]) -> list[StandingRule]:
    return sorted(rules, key=_rank)


def _rank(rule: StandingRule) -> tuple[int, float, int]:
    """Return the place of a rule: often given, then firm, then late ones come first."""
    n_days = min(rule.days, _MOST_DAYS)
    last = rule.last
    return -n_days, -last.standing, -last.at


def _merged(
    sentences_in_time: Iterable[tuple[RememberedSentence, str]],
) -> list[StandingRule]:
    """Return the rules in the order in which they were first given, each once.

    Each knows where a later word took it back.

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
    """Take back in a project the rules that a directive reverses.

    Args:
        rules: All rules.
        near: The numbers of the rules about the same.
        directive: What was said.
        project: Where it was said.

    Returns:
        The number of the first rule that the directive repeats; None without one.
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
