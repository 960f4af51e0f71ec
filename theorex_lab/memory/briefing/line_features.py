"""Weigh a statement by what it is like, and word it so that it stands alone.

The cues are English. They stand in one table, so that another language can be added
beside it.
"""

import re
import string
from collections.abc import Iterator, Sequence
from functools import cache

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.remembering import remembered
from theorex_lab.memory.briefing.prompt_words import GENERIC_WORDS
from theorex_lab.text.caseless import CaselessTest, lower_case
from theorex_lab.text.statements import Statement
from theorex_lab.text.wording import content_words

# A statement of fewer signs or words says too little; a longer one leaves no room for
# its date.
SHORTEST_LINE = 24
LONGEST_LINE = 225
FEWEST_WORDS = 4
# The share of letters and spaces below which a text is a log, a path or code.
LEAST_LETTERS = 0.62
# Up to how many bytes a statement takes the next ones of its paragraph along.
WINDOW_BYTES = 170
_NEXT_STATEMENTS = 2
_LONGEST_SUBJECT = 70
_LONG_TEXT = 160
_SHORT_TEXT = 50
_MOST_CODE_SPANS = 3

# Feature -> what marks it in a text. They are of English and of coding work in general.
CUES = {
    # The agent announces what it does next.
    "process": lazy_pattern(
        r"^(?:let me|let['’]s|i['’]?ll|i will|i['’]?m (?:(?:also|now|just) )?\w+ing"
        r"|i (?:also |now )?(?:need|want|plan|have|intend) to|i should"
        r"|i can|now i|next,? i|here['’]?s|here is|here are|perfect|great"
        r"|excellent|good|sure|okay|ok|now let|looking at|based on|first,? (?:let|i)"
        r"|to (?:fix|do|implement) this|i see|i understand|you['’]?re right"
        r"|understood|absolutely|of course|i (?:now )?have (?:a|the)"
        r" (?:complete|full|clear) picture|got it)\b",
        re.I,
    ),
    # It speaks of its answer instead of the work.
    "meta": lazy_pattern(
        r"\b(?:no (?:code )?changes (?:were )?(?:needed|made|required)|comprehensive"
        r"|summary of (?:changes|what)|as follows|would you like|let me know|feel free"
        r"|happy to|want me to|shall i|if you(?:'d| would) (?:like|prefer)|code review"
        r"|line[- ]by[- ]line|observation|looks good|well[- ]structured"
        r"|well[- ]designed|good practice|best practice)\b",
        re.I,
    ),
    # A change is reported.
    "done": lazy_pattern(
        r"\b(?:added|implemented|fixed|created|updated|removed|deleted|renamed|moved"
        r"|replaced|refactored|changed|extracted|merged|resolved|migrated|introduced"
        r"|converted|rewrote|dropped|now (?:uses?|returns?|shows?|supports?|handles?"
        r"|works?|runs?|has|is|are)|is now|are now|done|complete[d]?|reworked|split"
        r"|switched|reviewed|wired|shipped)\b",
        re.I,
    ),
    # It says how tests, build or lint stand.
    "tests": lazy_pattern(
        r"\b(?:tests? (?:all )?pass(?:es|ed|ing)?|all (?:\d+ )?tests"
        r"|\d+ (?:pass|fail)\w*|0 issues|lint\w* (?:is )?(?:clean|passes)"
        r"|build (?:passes|succeeds|clean))\b",
        re.I,
    ),
    # Something is left to do.
    "open": lazy_pattern(
        r"\b(?:todo|not (?:yet|done|implemented|merged|tested|committed)"
        r"|remain(?:s|ing)|left (?:open|to do|out)"
        r"|next (?:step|up|chunk|phase|is)|still (?:needs?|open|to|fails?|failing"
        r"|missing|pending|requires?)|follow[- ]?up|pending|blocked|deferred|later"
        r"|unresolved|needs? (?:a )?decision|waiting|uncommitted|open question)\b",
        re.I,
    ),
    # A cause or a reason is given.
    "why": lazy_pattern(
        r"\b(?:because|since|root cause"
        r"|the (?:issue|problem|cause|reason|culprit|bug) (?:is|was)|due to|so that"
        r"|otherwise|which (?:means|caused)|caused by|the fix)\b",
        re.I,
    ),
    # It says how something is.
    "factual": lazy_pattern(
        r"\b(?:is|are|has|have|lives?|uses?|returns?|contains?|requires?|expects?"
        r"|supports?|stores?|located|means|default(?:s)?|only|always|never)\b",
        re.I,
    ),
    # Something was chosen over something else.
    "decide": lazy_pattern(
        r"\b(?:decided|decision|chose|chosen|agreed"
        r"|we(?:'ll| will)? (?:keep|use|go with|drop|stick)|instead of|rather than"
        r"|keep(?:ing)?|dropp(?:ed|ing)|reject(?:ed)?|prefer(?:red)?|on purpose"
        r"|deliberate(?:ly)?|intentional(?:ly)?|trade-?off|by design)\b",
        re.I,
    ),
    # It praises.
    "praise": lazy_pattern(
        r"^(?:✅|👍|⭐|🎉)|\b(?:perfect|excellent|great (?:job|question|work)|nice"
        r"|clean and|good (?:catch|question|addition))\b",
        re.I,
    ),
    # Its subject is in the sentence before.
    "pronoun": lazy_pattern(
        r"^(?:it|this|that|these|those|they|he|she|which|so|and|but|also|then"
        r"|the (?:above|latter|former)|both|one|same|yes|no)\b",
        re.I,
    ),
    # It counts lines, which have moved since.
    "line_number": lazy_pattern(r"\blines? \d+|:\d+\b|^\d+;|^l\d+", re.I),
}

# The same as "process", within a sentence.
_ANNOUNCEMENT = lazy_pattern(
    r"\b(?:i['’]?ll|let me|i will|i['’]?m going to|i should|i['’]?m about to"
    r"|the user (?:has requested|has asked|is asking))\b",
    re.I,
)

_QUESTION = lazy_pattern(
    r"^(?:why|what|how|who|where|when|which|is|are|does|did|has|should|shall)\b"
    r"[^.!:]*$|\?$|\?\s*[)\"']$"
    r"|[,–—-] (?:will|does|is|are|can|should|would) (?:it|this|that|they|we|you)\b[^.]*$",
    re.I,
)

# A heading that begins so names a part of an answer and not a subject.
_PART_OF_AN_ANSWER = lazy_pattern(
    r"(?:summary|changes?|what|key|files?|notes?|example|usage|result|overview|here"
    r"|details?|the|now|this|before|after|steps?|implementation|done|solution|phase"
    r"|option|todo|fix|features?|benefits?|improvements?|tests?|lines?|we|i|you|in"
    r"|updates?|updated|conclusion|next|how|why|observations?)\b",
    re.I,
)
# How a text begins that was cut from a longer one, within a list or a code span.
_CUT_START = lazy_pattern(r"[`*\"'\s]*[,;:)\]}]")
# A line needs other words than these.
_GENERIC = content_words(" ".join(GENERIC_WORDS))
_FEWEST_TELLING_WORDS = 2
# What an agent calls a stretch of its own thought: "Checking the main file".
_THOUGHT = lazy_pattern(r"[A-Z][a-z]+ing\s+\S")
# Words that begin a sentence, or a further thought, where a title runs into it
# without a space: "Evaluating the loaderRemoved the old one".
_GLUED = lazy_pattern(
    r"(?<=[a-z0-9)])(?=`|(?:[A-Z][a-z]+(?:ing|ed)|Full|Add|Fix|Use|Update|Remove|Set|Run|Make"
    r"|Move|Replace|The|This|That|There|These|It|We|You|Your|I|Yes|No|Now|All|Both"
    r"|Let|Here|To|In|On|For|With|If|As|Got|Done|Rewrote|Built|Kept|Made"
    r")(?:['’]\w+)?[\s.,:;!])"
)
_GLUED_AT_THE_END = lazy_pattern(r"(?<=[a-z0-9)`][.!])[A-Z][a-z]+ing\s[^.!?]*$")
_FEWEST_GLUED_PARTS = 2
# Ticks, warning signs, and the number an item has in its list.
_LIST_SIGNS = lazy_pattern(
    r"^(?:[^\w\s`\"'(\[/@.#$~<-]+\s*|\(\d{1,3}\)\s+|\d{1,2}[.)]\s+)+"
)
# Ties a statement to the one before it.
_CONNECTIVE = lazy_pattern(
    r"(?:meanwhile|however|additionally|in addition|finally|furthermore|moreover"
    r"|overall|in short|in summary|to summari[sz]e|specifically|also|therefore|thus"
    r"|note|as a result|consequently|that said|for now|currently)[,:]\s+",
    re.I,
)
# A word that says that something is done, before what it is.
_DONE_FIRST = lazy_pattern(
    r"(?:all )?(?:done|fixed|complete|completed|finished|implemented|fully done)"
    r"(?:\.|!|:|\s+[—–-])\s+(?=\S)",
    re.I,
)
# A line of settings: "description: Use this …".
_KEY = lazy_pattern(r"[a-z_]{2,}: ")
_CODE_SPAN = lazy_pattern(r"`[^`]+`")
# A run of signs that may be a name, and what makes it one: a file, a path, code.
_RUN = lazy_pattern(r"[\w@.+\-/\[\]()~%$:]+")
_MARK_OF_A_NAME = lazy_pattern(r"[a-z0-9][A-Z]|_|/|\w\.\w|::")
# What a program shows at its prompt: which key does what.
_SCREEN_TEXT = lazy_pattern(
    r"\W*(?:press|hit|type)\s+(?:ctrl|cmd|control|command|enter|return|esc|any key"
    r"|[\"'`]?\w[\"'`]?\s)",
    re.I,
)
_LETTERS = f"{string.ascii_letters} ".encode()
_NO_LETTER = lazy_pattern(r"[^\w ]|[\d_]")
_PLAIN_WORD = lazy_pattern(r"[^\W\d_]{2,}")
_FEWEST_NAMES_OF_A_WALL = 3
_SENTENCE_ENDS = (".", "!", "?")
# The index of prompts, the cards and the briefing look at the same statements.
_REMEMBERED_TEXTS = 1 << 14


def line_features_of(statement: Statement, *, is_users: bool) -> dict[str, float]:
    """Return what a statement is like, as numbers that weights can be given to.

    Args:
        statement: The statement, with its heading.
        is_users: Whether the user wrote it, and not an agent.

    Returns:
        1.0 or 0.0 for every cue of `CUES`, and what its form is like.
    """
    text = statement.text
    features = _cues_in(text).copy()
    code_spans = len(_CODE_SPAN.findall(text))
    features["code"] = float(min(_MOST_CODE_SPANS, code_spans))
    features["bullet"] = float(statement.is_bullet)
    features["heading"] = float(bool(statement.heading))
    features["long"] = float(len(text) > _LONG_TEXT)
    features["short"] = float(len(text) < _SHORT_TEXT)
    features["user"] = float(is_users)
    return features


@remembered(_REMEMBERED_TEXTS)
def _cues_in(text: str) -> dict[str, float]:
    """Return every cue, with 1.0 where the text has it, else 0.0.

    The answer is remembered: whoever changes it makes a copy.
    """
    lower = lower_case(text)
    tests = _cue_tests()
    return {cue: float(test.is_in(text, lower)) for cue, test in tests.items()}


@cache
def _cue_tests() -> dict[str, CaselessTest]:
    """Return by cue what tells whether a text has it; made at the first use."""
    return {cue: CaselessTest(pattern) for cue, pattern in CUES.items()}


def has_cue(text: str, cue: str) -> bool:
    """Return whether a text has one of the cues of `CUES`.

    >>> has_cue("Added the loader.", "done"), has_cue("Added the loader.", "open")
    (True, False)
    """
    return _cue_tests()[cue].is_in(text)


@remembered(_REMEMBERED_TEXTS)
def is_usable(text: str) -> bool:
    """Return whether a text may be a line: a whole statement in words.

    >>> is_usable("The cache is dropped when the branch changes.")
    True
    >>> is_usable("The following files changed:"), is_usable("Is the cache dropped?")
    (False, False)
    >>> is_usable("`, `vendor` and binary files are left out by the watcher")
    False
    """
    if not SHORTEST_LINE <= len(text) <= LONGEST_LINE:
        return False
    if len(text.split()) < FEWEST_WORDS:
        return False
    if text.rstrip().endswith((":", "?")) or is_title_of_thought(text):
        return False
    if text.count("`") % 2 or _KEY.match(text) or _CUT_START.match(text):
        return False
    if _SCREEN_TEXT.match(text):
        return False
    return has_words(text) and not is_wall_of_names(text)


def says_what(text: str) -> bool:
    """Return whether a text says what it is about, besides that work was done.

    >>> says_what("The retry of uploads works."), says_what("All files are updated now.")
    (True, False)
    """
    telling_words = content_words(text) - _GENERIC
    return len(telling_words) >= _FEWEST_TELLING_WORDS


def has_words(text: str) -> bool:
    """Return whether a text is mostly letters, as no log and no code is."""
    if text.isascii():
        n_letters = len(text) - len(text.encode().translate(None, _LETTERS))
    else:
        n_letters = len(text) - len(_NO_LETTER.findall(text))
    return n_letters > LEAST_LETTERS * max(1, len(text))


def is_wall_of_names(text: str) -> bool:
    """Return whether a text names more files and identifiers than it has words.

    >>> is_wall_of_names("a.py, b.py, c.py, d.py: done")
    True
    """
    without_code, n_names = _CODE_SPAN.subn(" ", text)
    n_words = 0
    for run in _RUN.findall(without_code):
        if run.isalpha() and (run.islower() or run.istitle()):
            n_words += len(run) > 1  # most runs, which need no pattern
        elif _MARK_OF_A_NAME.search(run):
            n_names += 1
        else:
            n_words += len(_PLAIN_WORD.findall(run))
    return n_names >= _FEWEST_NAMES_OF_A_WALL and n_names > n_words


def is_title_of_thought(text: str) -> bool:
    """Return whether a text is no sentence but what an agent calls a thought.

    >>> is_title_of_thought("Checking the main file")
    True
    >>> is_title_of_thought("Checking the main file is not enough.")
    False
    """
    return bool(_THOUGHT.match(text)) and not text.endswith(_SENTENCE_ENDS)


def without_glued_title(text: str) -> str:
    """Return a text without the titles of thoughts that run into its sentence.

    >>> without_glued_title("Evaluating the loaderChecking testsRemoved the old one.")
    'Removed the old one.'
    >>> without_glued_title("Adding processSession to the loader helped.")
    'Adding processSession to the loader helped.'
    >>> without_glued_title("The loader is gone.Checking the tests")
    'The loader is gone.'
    """
    text = _GLUED_AT_THE_END.sub("", text)
    while _THOUGHT.match(text):
        parts = _GLUED.split(text, maxsplit=1)
        if len(parts) < _FEWEST_GLUED_PARTS:
            break
        text = parts[1]
    return text


@remembered(_REMEMBERED_TEXTS)
def cleaned(text: str) -> str:
    """Return a statement's text without list signs, glued titles and connectives.

    >>> cleaned("2. Meanwhile, the old loader stays.")
    'The old loader stays.'
    >>> cleaned("Done — the loader is split.")
    'The loader is split.'
    """
    body = without_glued_title(_LIST_SIGNS.sub("", text.strip()))
    done_first = _DONE_FIRST.match(body)
    if done_first:
        body = with_capital(body[done_first.end() :])
    connective = _CONNECTIVE.match(body)
    if connective is None:
        return body
    return with_capital(body[connective.end() :])


def with_capital(text: str) -> str:
    """Return a text whose first letter is a capital."""
    return text[:1].upper() + text[1:]


def is_subject(heading: str) -> bool:
    """Return whether a heading says what the statements below it are about."""
    if not heading or len(heading) >= _LONGEST_SUBJECT:
        return False
    if _PART_OF_AN_ANSWER.match(heading) or _THOUGHT.match(heading):
        return False
    if is_process(heading) or _CUT_START.match(heading):
        return False
    return not heading.endswith("?") and heading.count("`") % 2 == 0


def standing_alone(statement: Statement) -> str:
    """Return a statement as a text that stands alone: with its subject if it needs it.

    Args:
        statement: The statement; one of a list, and one that begins with a pronoun,
            has its subject in the heading.

    Returns:
        The text, on one line.
    """
    text = cleaned(statement.text)
    needs_subject = statement.is_bullet or has_open_subject(text)
    if not needs_subject:
        return text
    heading = cleaned(statement.heading).rstrip(" :")
    if not is_subject(heading) or heading.lower() in text.lower():
        return text
    worded = f"{heading}: {text}"
    if len(worded.encode()) > LONGEST_LINE:
        return text
    return worded


@remembered(_REMEMBERED_TEXTS)
def is_process(text: str) -> bool:
    """Return whether an agent announces what it is about to do.

    >>> is_process("After that, I'll run the tests."), is_process("The tests pass.")
    (True, False)
    """
    return has_cue(text, "process") or _sentence_test("announcement").is_in(text)


def is_question(text: str) -> bool:
    """Return whether a text asks something, also without a question mark.

    >>> is_question("if the job fails, will it be logged")
    True
    >>> is_question("Is is a keyword. Keep it.")
    False
    """
    return _sentence_test("question").is_in(text)


@cache
def _sentence_test(name: str) -> CaselessTest:
    """Return what tells an announcement or a question; made at the first use."""
    patterns = {"announcement": _ANNOUNCEMENT, "question": _QUESTION}
    return CaselessTest(patterns[name])


def has_open_subject(text: str) -> bool:
    """Return whether a text begins with a word that stands for an earlier one."""
    return CUES["pronoun"].match(text) is not None


def windows(statements: Sequence[Statement]) -> Iterator[tuple[Statement, str]]:
    """Yield every statement with the text of it and of the next ones.

    The next ones are of the same paragraph, and there is room for them in a line.

    Args:
        statements: The statements of one message, in their order.
    """
    for number, statement in enumerate(statements):
        text = standing_alone(statement)
        for following in statements[number + 1 : number + 1 + _NEXT_STATEMENTS]:
            if not _are_neighbours(statement, following):
                break
            if not _may_follow(following.text):
                break
            joined = _joined(text, cleaned(following.text))
            if len(joined.encode()) > WINDOW_BYTES:
                break
            text = joined
        yield statement, text


def _may_follow(text: str) -> bool:
    """Return whether a statement may end a line: it leads to nothing further."""
    return not text.endswith((":", "?")) and not is_process(text)


def _are_neighbours(statement: Statement, following: Statement) -> bool:
    """Return whether two statements are of one paragraph below one heading."""
    if statement.paragraph != following.paragraph:
        return False
    return statement.heading == following.heading


def _joined(text: str, following: str) -> str:
    """Return two statements as one text."""
    if text.endswith(_SENTENCE_ENDS):
        return f"{text} {following}"
    return f"{text}; {following}"
