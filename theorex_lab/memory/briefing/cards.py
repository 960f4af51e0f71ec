"""Say where the work stands: a card of lines for each of the latest sessions.

A card tells what was asked first and last, what was interrupted, what the agent
concluded, how the tests stand, and what is left open. Something open disappears once
a later session did it.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.remembering import remembered
from theorex_lab.memory.briefing.candidates import (
    WORK,
    Candidate,
    dated,
    fits_a_line,
    short_date,
)
from theorex_lab.memory.briefing.line_features import (
    cleaned,
    has_cue,
    has_open_subject,
    has_words,
    is_process,
    is_question,
    is_usable,
    line_features_of,
    says_what,
    standing_alone,
    with_capital,
)
from theorex_lab.memory.briefing.session_log import (
    Message,
    Prompt,
    Session,
    ToolUse,
)
from theorex_lab.text.caseless import CaselessTest
from theorex_lab.text.statements import Statement
from theorex_lab.text.wording import content_words, numbers_of, overlap

MOST_SESSIONS = 6
MOST_LINES_OF_A_CARD = 16
# Of how many last messages a card tells; of the latest session's more.
_MESSAGES_OF_THE_LATEST = 26
_MESSAGES_OF_A_SESSION = 8
_PROMPTS_OF_A_SESSION = 13
_STATEMENTS_OF_A_PROMPT = 4
_RECENCY_HALF_LIFE_DAYS = 7
_FURTHEST_BACK = 8
_LAST_POSITION = 10
_FIRST_STATEMENTS = 2
_MOST_SHARED_WORDS = 3
# Prompts that are not a wish of the user's.
_NOT_A_REQUEST = ("noise", "interrupt", "standing")
_NO_TITLE = ("noise", "interrupt", "standing", "summary")
# Whose words in a prompt may be shown as the user's.
_USERS_OWN = ("own", "slash", "plan")
_SHORTEST_REQUEST = 20
_SHORTEST_TITLE = 15
_LONGEST_REQUEST = 220
_LONGEST_JOINED = 190  # bytes of several wishes in one line
# Cues of what is no conclusion, and those of which a conclusion has at least one.
_NOT_ABOUT_THE_WORK = ("praise", "meta")
_ABOUT_THE_WORK = ("done", "tests", "open", "why", "factual", "decide")
# How the line of a wish begins.
REQUESTED = "Asked"
INTERRUPTED = "Interrupted, not done"
UNANSWERED = "Asked last, not answered"
# A line that repeats so much of a better one is left out.
_SAME_LINE = 0.62
_FEWEST_SAME_WORDS = 3
# Kinds of lines that disappear once they are done.
_UNDONE = ("open", "interrupted")
# An open item is done by a later statement that shares so many of its words.
_SAME_MATTER = 0.6

# How much each feature of a line speaks for it; measured over starts of sessions.
WEIGHTS: Mapping[str, float] = {
    "process": -1.2,
    "meta": -1.0,
    "done": 1.0,
    "tests": 0.3,
    "open": 0.5,
    "why": 0.5,
    "factual": 0.1,
    "decide": 0.4,
    "praise": -0.8,
    "pronoun": -0.5,
    "code": 0.25,
    "line_number": -0.7,
    "bullet": -0.1,
    "back": -0.35,
    "position": -0.6,
    "among_first": 0.4,
    "among_last": 0.1,
    "shared": 0.3,
    "rank": -0.9,
    "asked": 0.2,
    "asked_last": 0.8,
    "interrupted": 1.0,
    "recency": 0.5,
    "short": -0.4,
    "asked_first": 0.3,
    "failing": 1.5,
}
# The score at which a line is as likely wanted as not, and the weight it cannot pass.
_EVEN_SCORE = 2.6
_HIGHEST_WEIGHT = 0.6

# Answers to the agent that ask for nothing of their own. English.
_GO_AHEAD = lazy_pattern(
    r"^(?:yes|yup|yep|ok|okay|go ahead|do it|continue|proceed|sure|good|great|thanks"
    r"|thank you|please|no|nice|perfect|try again|done|fixed|looks good|lgtm|commit"
    r"|push|and push|y)\b[\s,.!]*(?:\w+[\s,.!]*){0,4}$",
    re.I,
)
# Politeness before a wish: "Can you please add …?" asks for what follows.
_POLITE = lazy_pattern(
    r"^(?:(?:can|could|would|will) you(?: please)?|please|pls)[,:]?\s+", re.I
)
# What a user says before the wish itself.
_INTERJECTION = lazy_pattern(
    r"^(?:(?:ok|okay|hi|hey|hello|so|and|now|also|great|thanks|thank you|u+h+|h+m+|umm+"
    r"|no|nope|yes|yep|yeah|y|wait|actually|alright|right|perfect|nice|cool)"
    r"(?:[,.!:;]+\s*|\s+(?=(?:no|yes|ok|please|can you|could you|let['’]?s)\b)))+",
    re.I,
)
# Goes on with a wish instead of being one.
_CONTINUATION = lazy_pattern(
    r"^(?:for (?:example|instance)|e\.g|i\.e|because|see|re:|that way|otherwise)\b",
    re.I,
)
# Words that point to what a reader of the line does not see.
_POINTING = lazy_pattern(r"\b(?:this|thats?|these|those|same|above|below|here)\b", re.I)
_FEWEST_WORDS_OF_A_WISH = 3
_MOST_WORDS_OF_AN_ITEM = 6
_FEWEST_WORDS_IF_POINTING = 5
# Git says on which branch one is, or is told to change it.
_ON_A_BRANCH = lazy_pattern(
    r"^On branch ([\w#./-]{3,60})$|^\* ([\w#./-]{3,60})$"
    r"|Switched to (?:a new )?branch '([\w#./-]{3,60})'",
    re.M,
)
# Each match of it has one of these.
_SIGNS_OF_A_BRANCH = ("On branch ", "* ", "Switched to ")
_CHECKED_OUT = lazy_pattern(
    r"git (?:checkout -[bB]|switch -[cC]|switch) ([\w#./-]{3,60})(?=\s|$)"
)
# The user or the agent names the branch, which has a sign that no usual word has.
_BRANCH_IN_WORDS = lazy_pattern(
    r"\b(?:on|the|this|current) branch (?:is )?[`'\"]?(\w+[-/#_][\w#./-]{1,60}\w)"
    r"|[`'\"](\w+[-/#_][\w#./-]{1,60}\w)[`'\"] (?:branch\b|\(HEAD\))"
    r"|\bHEAD \([`'\"]?(\w+[-/#_][\w#./-]{1,60}\w)[`'\"]?\)",
    re.I,
)
_USUAL_BRANCHES = frozenset({"main", "master", "dev", "develop", "trunk"})
_PLAN_WORD = lazy_pattern(r"^(?:the )?(?:implementation )?plan\s*[:—–-]\s*", re.I)
# The characters of a prompt or message in which its numbers and branches are sought.
_LONGEST_READ = 1_500
_BARE_NUMBER = lazy_pattern(r"(?<![\w.#/-])#?(\d{1,5})\b(?![.\w])")
_SLASH_WITH_NUMBER = lazy_pattern(r"^/\S+(?:\s+\S+){0,12}")
# A command that runs tests, by a word of it.
_TESTING = lazy_pattern(
    r"(?:^|[\s/:])(?:test|tests|pytest|jest|vitest|mocha|rspec|ctest|unittest|tox)\b"
)
_LONGEST_COMMAND = 80
# Each wish is looked at for the card, for what is unfinished, and for what was done.
_REMEMBERED_TEXTS = 1 << 12


@dataclass(frozen=True, slots=True)
class CardLine:
    """One line of a session's card.

    Attributes:
        kind: 'asked', 'interrupted', 'done', 'open' or 'tests'.
        text: What it says, without its date.
        at: When that was said (µs UTC).
        session: The session.
        event: The event that says it.
        words: Its content words, with those of its heading.
        features: By name what speaks for it and against it.
    """

    kind: str
    text: str
    at: int
    session: str
    event: str
    words: frozenset[str]
    features: Mapping[str, float]

    @property
    def weight(self) -> float:
        """Return how much the line is worth, 0..1."""
        score = weighted_sum(self.features, WEIGHTS)
        return _HIGHEST_WEIGHT / (1 + math.exp(_EVEN_SCORE - score))


def weighted_sum(features: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the sum of the features, each times its weight; 0 for one without."""
    score = 0.0
    for name, value in features.items():
        if value:  # few features of a line are not 0
            score += weights.get(name, 0.0) * value
    return score


def work_candidates(sessions: Sequence[Session], now: int) -> list[Candidate]:
    """Return the lines on where the work stands, the latest session's first.

    Args:
        sessions: The sessions of the project.
        now: The time of the briefing (µs UTC); what is older weighs less.

    Returns:
        The lines of the cards of the latest sessions that say something, best first
        within a session.
    """
    candidates: list[Candidate] = []
    rank = 0
    for session in latest_first(sessions):
        lines = card_of(session, sessions, now, rank=rank)
        if not lines:
            continue
        candidates.extend(_candidate(line, WORK) for line in lines)
        rank += 1
        if rank == MOST_SESSIONS:
            break
    return candidates


def card_of(
    session: Session,
    sessions: Sequence[Session],
    now: int,
    *,
    rank: int = 0,
) -> list[CardLine]:
    """Return the lines of a session's card, best first.

    Args:
        session: The session.
        sessions: All sessions of the project; a later one may have done what this one
            left open.
        now: The time of the briefing (µs UTC).
        rank: How many sessions with a card are later.
    """
    lines = [line for line in _lines_of(session, now, rank) if _is_whole(line)]
    reports = Reports(_later_ones(session, sessions, lines))
    return _card_of_lines(lines, session, reports, MOST_LINES_OF_A_CARD)


def _lines_of(session: Session, now: int, rank: int) -> list[CardLine]:
    """Return what a session's card is chosen from, best first."""
    lines = [*_request_lines(session), *_conclusions(session, rank)]
    lines.extend(_failing_tests(session))
    weighted = [_placed(line, now, rank) for line in lines]
    weighted.sort(key=lambda line: -line.weight)
    return weighted


def _card_of_lines(
    lines: Iterable[CardLine],
    session: Session,
    reports: Reports,
    most: int,
) -> list[CardLine]:
    """Return the first whole lines that are not done, each of which says something new.

    Most cards are full before all lines are looked at.
    """
    card: list[CardLine] = []
    for line in lines:
        if len(card) == most:
            break
        if not _is_whole(line) or _repeats(line, card):
            continue
        if not reports.was_done(line, session):
            card.append(line)
    return card


def _later_ones(
    session: Session,
    sessions: Sequence[Session],
    lines: Iterable[CardLine],
) -> list[Session]:
    """Return the sessions that may have done what lines of a session left open."""
    if not any(line.kind in _UNDONE for line in lines):
        return []
    return [other for other in sessions if other.end >= session.end]


def lines_at_the_end(session: Session) -> list[CardLine]:
    """Return what a session's card is chosen from at its end, best first."""
    return _lines_of(session, session.end, 0)


class CardReaders(NamedTuple):
    """What reads of one session that cards are made of.

    Attributes:
        lines: Returns what its card is chosen from at its end, best first.
        reports: Returns what it asked for and reported as done.
    """

    lines: Callable[[Session], Sequence[CardLine]]
    reports: Callable[[Session], Sequence[WorkReport]]


def cards_of(
    sessions: Sequence[Session],
    section: str,
    *,
    most_lines: int = MOST_LINES_OF_A_CARD,
    readers: CardReaders | None = None,
) -> list[list[Candidate]]:
    """Return the card of each session as it would be read at the session's end.

    What a later session did is not open in it.

    Args:
        sessions: The sessions of a project.
        section: The section of a briefing that the lines are for.
        most_lines: How many lines a card has at most.
        readers: What reads each session; None for what remembers nothing.
    """
    read = readers or CardReaders(lines_at_the_end, reports_of)
    reports = Reports(sessions, read.reports)
    cards: list[list[Candidate]] = []
    for session in sessions:
        lines = read.lines(session)
        card = _card_of_lines(lines, session, reports, most_lines)
        cards.append([_candidate(line, section) for line in card])
    return cards


def latest_first(sessions: Sequence[Session]) -> list[Session]:
    """Return the sessions, the one that ended last first."""
    return sorted(sessions, key=lambda session: -session.end)


def title_of(session: Session) -> tuple[str, Prompt | None]:
    """Return what a session was asked first, and the prompt that asks it.

    Returns:
        A slash command with what follows it, or the first statement of the user's that
        says something; '' and None where nothing does.
    """
    for prompt in session.prompts:
        if prompt.kind in _NO_TITLE:
            continue
        if prompt.kind == "slash":
            return _slash_command(prompt.text), prompt
        if prompt.kind == "plan":
            return _plan_title(prompt), prompt
        text = _first_request(prompt)
        if text:
            return text, prompt
    return "", None


def branch_of(session: Session) -> str:
    """Return the branch that a session worked on last, '' for a usual one or none."""
    branch = ""
    for step in session.steps:
        names = _branches_in(step)
        if names:
            branch = names[-1]
    if branch in _USUAL_BRANCHES:
        return ""
    return branch


def _branches_in(step: Prompt | Message | ToolUse) -> list[str]:
    """Return the branches that a step says to be on, in order."""
    matches: list[Any] = []
    if not isinstance(step, ToolUse):
        beginning = step.text[:_LONGEST_READ]
        if _branch_in_words_test().is_in(beginning):
            matches = _BRANCH_IN_WORDS.findall(beginning)
        return ["".join(match) for match in matches]
    if "git " in step.command:
        matches = _CHECKED_OUT.findall(step.command)
    if any(sign in step.response for sign in _SIGNS_OF_A_BRANCH):
        matches.extend(_ON_A_BRANCH.findall(step.response))
    return ["".join(match) for match in matches]


@cache
def _branch_in_words_test() -> CaselessTest:
    """Return what tells whether a branch is named in words; made at the first use."""
    return CaselessTest(_BRANCH_IN_WORDS)


def session_numbers(session: Session) -> frozenset[str]:
    """Return the numbers of issues and pull requests that a session's prompts name."""
    numbers: set[str] = set()
    for prompt in session.prompts:
        if prompt.kind in _NOT_A_REQUEST:
            continue
        numbers |= numbers_of(prompt.text[:_LONGEST_READ])
        if prompt.kind == "slash":
            numbers |= _numbers_after_a_slash_command(prompt.text)
    return telling_numbers(numbers)


def telling_numbers(numbers: Iterable[str]) -> frozenset[str]:
    """Return the numbers that name one thing; a single digit often counts steps."""
    return frozenset(number for number in numbers if len(number) > 1)


def _numbers_after_a_slash_command(text: str) -> frozenset[str]:
    """Return the numbers that a slash command is given, as in "/review 177"."""
    arguments = _slash_command(text).partition(" ")[2]
    return frozenset(_BARE_NUMBER.findall(arguments))


def requests_in(prompt: Prompt) -> list[str]:
    """Return the wishes in a prompt, in the user's own words, as whole lines."""
    requests: list[str] = []
    for statement, words_of in prompt.statements:
        if words_of not in _USERS_OWN or _is_item_of_a_form(statement):
            continue
        text = wish_in(statement.text)
        if len(text) >= _SHORTEST_REQUEST:
            requests.append(text)
    return requests


def _is_item_of_a_form(statement: Statement) -> bool:
    """Return whether a statement is a short item of a list that a line introduces.

    "Any gotchas" says nothing without the line above it.
    """
    if not (statement.is_bullet and statement.after_colon):
        return False
    return len(statement.text.split()) <= _MOST_WORDS_OF_AN_ITEM


@remembered(_REMEMBERED_TEXTS)
def wish_in(text: str) -> str:
    """Return the wish in a sentence of the user's, '' where it holds none.

    >>> wish_in("Can you please split the loader into two modules?")
    'Split the loader into two modules'
    >>> wish_in("why is the loader so slow?"), wish_in("yes, go ahead")
    ('', '')
    """
    wish = cleaned(text)
    if _GO_AHEAD.match(wish):
        return ""
    wish = with_capital(_INTERJECTION.sub("", wish, count=1))
    polite = _POLITE.match(wish)
    if polite:
        wish = with_capital(wish[polite.end() :].rstrip(" ?"))
    wish = wish.rstrip(" ,;")
    if is_question(wish) or _CONTINUATION.match(wish) or wish.endswith(":"):
        return ""
    if len(wish) > _LONGEST_REQUEST or not has_words(wish):
        return ""
    if not _says_enough(wish) or not says_what(wish):
        return ""
    return wish


def _says_enough(wish: str) -> bool:
    """Return whether a wish has the words by which one knows what it is about."""
    n_words = len(content_words(wish))
    if _POINTING.search(wish):
        return n_words >= _FEWEST_WORDS_IF_POINTING
    return n_words >= _FEWEST_WORDS_OF_A_WISH


def _first_request(prompt: Prompt) -> str:
    """Return the first wish in a prompt that is long enough for a title."""
    for statement, words_of in prompt.statements:
        if _is_item_of_a_form(statement):
            continue
        if words_of in (*_USERS_OWN, "repeated", "template"):
            text = wish_in(statement.text)
            if len(text) >= _SHORTEST_TITLE:
                return text
    return ""


def _plan_title(prompt: Prompt) -> str:
    """Return what the plan that a prompt hands on is called, '' for one without."""
    for statement, _ in prompt.statements:
        heading = _PLAN_WORD.sub("", cleaned(statement.heading))
        if len(content_words(heading)) >= _FEWEST_WORDS_OF_A_WISH:
            return f"Implement the plan: {heading}"
    return ""


def _slash_command(text: str) -> str:
    """Return a slash command with the few words after it, on one line."""
    line = text.strip().splitlines()[0]
    match = _SLASH_WITH_NUMBER.match(" ".join(line.split()))
    if match is None:
        return ""
    return match[0]


def _request_lines(session: Session) -> Iterator[CardLine]:
    """Yield what was asked: the title, the last wishes, and what was interrupted.

    A wish that is the title comes twice; of lines that say the same one is shown.
    """
    title, titled = title_of(session)
    unfinished, how = _unfinished_prompt(session)
    if titled is not None and title:
        label = how if titled == unfinished else REQUESTED
        yield _title_line(session, title, titled, label)
    prompts = [step for step in session.prompts if step.kind not in _NOT_A_REQUEST]
    last_prompts = prompts[-_PROMPTS_OF_A_SESSION:]
    for number, prompt in enumerate(reversed(last_prompts)):
        wishes = requests_in(prompt)[:_STATEMENTS_OF_A_PROMPT]
        label = REQUESTED
        if prompt == unfinished:
            label = how
            wishes = _in_one_line(wishes)
        for position, text in enumerate(wishes):
            yield _request_line(
                prompt,
                text,
                back=number,
                position=position,
                is_first=prompt == prompts[0],
                label=label,
            )


def _in_one_line(wishes: Sequence[str]) -> list[str]:
    """Return the wishes of one prompt as a single line, as many as it has room for."""
    joined = ""
    for wish in wishes:
        longer = f"{joined.rstrip('.')}; {wish}" if joined else wish
        if len(longer.encode()) > _LONGEST_JOINED:
            break
        joined = longer
    return [joined] if joined else []


def _title_line(session: Session, title: str, prompt: Prompt, label: str) -> CardLine:
    """Return the line of what a session was asked first, with its branch and number."""
    prompts = [step for step in session.prompts if step.kind not in _NOT_A_REQUEST]
    back = len(prompts) - 1 - prompts.index(prompt)
    return _request_line(
        prompt,
        title + _place_of_work(session, title),
        back=min(back, 1),
        position=0,
        is_first=True,
        label=label,
    )


def _place_of_work(session: Session, title: str) -> str:
    """Return the branch and number of a session that its title does not name."""
    additions: list[str] = []
    branch = branch_of(session)
    if branch and branch not in title:
        additions.append(f"branch {branch}")
    numbers = sorted(session_numbers(session), key=int)
    if len(numbers) == 1 and numbers[0] not in title:
        additions.append(f"#{numbers[0]}")
    if not additions:
        return ""
    return f" [{', '.join(additions)}]"


def _request_line(
    prompt: Prompt,
    text: str,
    *,
    back: int,
    position: int,
    is_first: bool,
    label: str,
) -> CardLine:
    """Return the line of one wish.

    Args:
        prompt: The prompt that holds it.
        text: Its words.
        back: How many later prompts the session has.
        position: How many wishes stand before it in the prompt.
        is_first: Whether it is of the session's first prompt.
        label: How the line begins.
    """
    statement = Statement(text, "", False, 0, 0, False, False)
    features = line_features_of(statement, is_users=True)
    # These cues are of agents' reports; a wish has such words for other reasons.
    features["process"] = 0.0
    features["asked"] = 1.0
    features["asked_first"] = float(is_first)
    features["asked_last"] = float(back == 0)
    features["interrupted"] = float(label != REQUESTED)
    features["back"] = float(min(_FURTHEST_BACK, back))
    features["position"] = min(_LAST_POSITION, position) / _LAST_POSITION
    features["among_first"] = float(position < _FIRST_STATEMENTS)
    return CardLine(
        kind="asked" if label == REQUESTED else "interrupted",
        text=f"{label}: {text}",
        at=prompt.at,
        session=prompt.session,
        event=prompt.event,
        words=content_words(text),
        features=features,
    )


def _unfinished_prompt(session: Session) -> tuple[Prompt | None, str]:
    """Return the prompt that the session left undone, and how a line says so.

    Returns:
        The last wish that was stopped, with nothing said after that; or the last one,
        if the session ends with it. None and '' where every wish was answered.
    """
    wish: Prompt | None = None
    stopped: Prompt | None = None
    is_last_step = False
    for step in session.steps:
        if isinstance(step, Prompt):
            if step.kind == "interrupt":
                stopped = wish
            elif step.kind not in _NO_TITLE and _holds_a_wish(step):
                wish = step
                is_last_step = True
        elif isinstance(step, Message):
            stopped = None
            is_last_step = False
        else:
            is_last_step = False
    if stopped is not None and stopped is wish:
        return stopped, INTERRUPTED
    if is_last_step:
        return wish, UNANSWERED
    return None, ""


def _holds_a_wish(prompt: Prompt) -> bool:
    """Return whether a prompt asks for something."""
    return prompt.kind == "slash" or bool(requests_in(prompt))


def _conclusions(session: Session, rank: int) -> Iterator[CardLine]:
    """Yield what the last messages of a session say, with its features."""
    messages = [step for step in session.messages if not step.is_automatic]
    if not messages:
        messages = session.messages
    n_messages = _MESSAGES_OF_A_SESSION
    if rank == 0:
        n_messages = _MESSAGES_OF_THE_LATEST
    wished = _wished_words(session)
    for back, message in enumerate(reversed(messages[-n_messages:])):
        for position, statement in enumerate(message.statements):
            if not is_usable(statement.text):
                continue
            yield _conclusion(message, statement, position, back, wished)


def _wished_words(session: Session) -> frozenset[str]:
    """Return the content words of what the user wrote himself in a session."""
    words: set[str] = set()
    for prompt in session.prompts:
        for statement, words_of in prompt.statements:
            if words_of == "own":
                words |= content_words(statement.text)
    return frozenset(words)


def _conclusion(
    message: Message,
    statement: Statement,
    position: int,
    back: int,
    wished: frozenset[str],
) -> CardLine:
    """Return the line of one statement of an agent's.

    Args:
        message: The message that holds it.
        statement: The statement.
        position: How many statements of the message stand before it.
        back: How many later messages the session has.
        wished: The content words of the session's prompts.
    """
    n_statements = len(message.statements)
    words = content_words(statement.text)
    features = line_features_of(statement, is_users=False)
    features["back"] = float(min(_FURTHEST_BACK, back))
    features["position"] = min(_LAST_POSITION, position) / _LAST_POSITION
    features["among_first"] = float(position < _FIRST_STATEMENTS)
    features["among_last"] = float(position >= n_statements - _FIRST_STATEMENTS)
    features["shared"] = float(min(_MOST_SHARED_WORDS, len(words & wished)))
    kind = "done"
    if features["open"] and not features["done"]:
        kind = "open"
    elif features["tests"]:
        kind = "tests"
    return CardLine(
        kind,
        standing_alone(statement),
        message.at,
        message.session,
        message.event,
        words | content_words(statement.heading),
        features,
    )


def _failing_tests(session: Session) -> Iterator[CardLine]:
    """Yield a line where the tests that a session ran last failed."""
    last: ToolUse | None = None
    for tool in session.tools:
        if tool.ok is not None and _TESTING.search(tool.command):
            last = tool
    if last is None or last.ok:
        return
    command = " ".join(last.command.split())
    if len(command) > _LONGEST_COMMAND or "`" in command:
        return
    features = {"tests": 1.0, "failing": 1.0}
    text = f"The tests that ran last failed: `{command}`"
    words = content_words(text)
    yield CardLine("tests", text, last.at, last.session, last.event, words, features)


def _placed(line: CardLine, now: int, rank: int) -> CardLine:
    """Return a line with how old it is, and how many sessions are later."""
    age_days = (now - line.at) / MICROSECONDS_PER_DAY
    recency = 0.5 ** (age_days / _RECENCY_HALF_LIFE_DAYS)
    features = {**line.features, "recency": recency, "rank": float(rank)}
    return replace(line, features=features)


def _is_whole(line: CardLine) -> bool:
    """Return whether a line is a whole statement that stands alone."""
    if not fits_a_line(dated(line.text, line.at)):
        return False
    if line.kind in ("asked", "interrupted") or line.features.get("failing"):
        return True
    if is_process(line.text) or not _is_about_the_work(line):
        return False
    return is_usable(line.text) and not has_open_subject(line.text)


def _is_about_the_work(line: CardLine) -> bool:
    """Return whether a statement of an agent's says what came of the work."""
    if any(has_cue(line.text, cue) for cue in _NOT_ABOUT_THE_WORK):
        return False
    if not any(line.features[cue] for cue in _ABOUT_THE_WORK):
        return False
    return line.kind == "tests" or says_what(line.text)


def _repeats(line: CardLine, card: Sequence[CardLine]) -> bool:
    """Return whether a better line of the card says the same."""
    return any(_says_the_same(line.words, other.words) for other in card)


def _says_the_same(words: frozenset[str], others: frozenset[str]) -> bool:
    """Return whether two lines share so many words that one of them is enough."""
    if len(words & others) < _FEWEST_SAME_WORDS:
        return words == others
    return overlap(words, others) > _SAME_LINE


@dataclass(frozen=True, slots=True)
class WorkReport:
    """What a session asked for or reported as done, by its words.

    A wish that a later session repeats is that session's, so wishes are among reports.

    Attributes:
        at: When that was said (µs UTC).
        is_wish: Whether it was asked for.
        words: Its content words.
    """

    at: int
    is_wish: bool
    words: frozenset[str]


def reports_of(session: Session) -> list[WorkReport]:
    """Return what a session asked for and reported as done."""
    reports: list[WorkReport] = []
    for message in session.messages:
        for words in _changes_in(message):
            reports.append(WorkReport(message.at, False, words))
    for at, words in _wishes_of(session):
        reports.append(WorkReport(at, True, words))
    return reports


class Reports:
    """What sessions asked for and reported as done, found by its words."""

    def __init__(
        self,
        sessions: Iterable[Session],
        read: Callable[[Session], Iterable[WorkReport]] = reports_of,
    ) -> None:
        """Take in the reports of sessions.

        Args:
            sessions: The sessions.
            read: Returns the reports of one.
        """
        self._by_word: dict[str, list[tuple[WorkReport, Session]]] = defaultdict(list)
        for session in sessions:
            for report in read(session):
                report_of_session = (report, session)
                for word in report.words:
                    self._by_word[word].append(report_of_session)

    def was_done(self, line: CardLine, session: Session) -> bool:
        """Return whether a line is of something open that was done afterwards.

        Args:
            line: A line of the session's card.
            session: The session.
        """
        if line.kind not in _UNDONE:
            return False
        needed = max(_FEWEST_SAME_WORDS, math.ceil(_SAME_MATTER * len(line.words)))
        # Reports that share so many words share one of the rarest.
        rarest_first = sorted(line.words, key=self._frequency)
        n_rarest = max(0, len(rarest_first) - needed + 1)
        for word in rarest_first[:n_rarest]:
            for report, reporting in self._by_word.get(word, ()):
                if not _is_later(report, reporting, line, session):
                    continue
                if len(report.words & line.words) >= needed:
                    return True
        return False

    def _frequency(self, word: str) -> tuple[int, str]:
        return len(self._by_word.get(word, ())), word


def _is_later(
    report: WorkReport, reporting: Session, line: CardLine, session: Session
) -> bool:
    """Return whether a session's report may be of what a line of one left open."""
    if report.at <= line.at or reporting.end < session.end:
        return False
    return not report.is_wish or reporting is not session


def _changes_in(message: Message) -> Iterator[frozenset[str]]:
    """Yield the words of each change that a message reports as done."""
    for statement in message.statements:
        if _reports_a_change(statement.text):
            yield content_words(statement.text)


def _wishes_of(session: Session) -> Iterator[tuple[int, frozenset[str]]]:
    """Yield the time and the words of each wish of a session."""
    for prompt in session.prompts:
        if prompt.kind in _NOT_A_REQUEST:
            continue
        for wish in requests_in(prompt):
            yield prompt.at, content_words(wish)


def _reports_a_change(text: str) -> bool:
    """Return whether a text says that something was done, and nothing is left open."""
    return has_cue(text, "done") and not has_cue(text, "open")


def _candidate(line: CardLine, section: str) -> Candidate:
    """Return a line of a card as a candidate of a section."""
    return Candidate(
        section=section,
        kind=line.kind,
        text=dated(line.text, line.at),
        weight=line.weight,
        at=line.at,
        session=line.session,
        words=line.words,
        events=(line.event,),
        why=_why(line),
        features=line.features,
    )


def _why(line: CardLine) -> str:
    """Return in plain words why a line is on a card."""
    session = f"the session of {short_date(line.at)}"
    if line.kind == "interrupted":
        return f"{session} ended before this was done"
    if line.kind == "open":
        return f"{session} left this open, and no later one reports it done"
    if line.kind == "tests":
        return f"how the tests stood in {session}"
    if line.features.get("asked_last"):
        return f"what the user asked last in {session}"
    if line.features.get("asked_first"):
        return f"what the user asked first in {session}"
    if line.kind == "asked":
        return f"what the user asked in {session}"
    return f"what the agent concluded in {session}"
