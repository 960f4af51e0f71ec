"""Name the task of a prompt in words, and say whether two tasks are of one kind.

A task is a verb and its object, such as "Fix the login". References to one time only
("#004", "this", "@file") and politeness are no part of it. What only carries a
conversation on, such as "continue" or "what is the status", names no task. English: the
words stand in this module.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.text.line import one_line
from theorex_lab.text.statements import sentences_in
from theorex_lab.text.wording import STOP_WORDS, content_words, overlap, stem

_READ_CHARACTERS = 3_000
_SENTENCES = 3  # among which the task is sought
_MOST_WORDS = 10
_TASK_CHARACTERS = 90
_LEAD_INS = 8
_FEWEST_OBJECT_WORDS = 1
# How sure it must be that a sentence without a known verb asks for work.
_SURELY_A_TASK = 0.7
_FEWEST_WORDS_WITHOUT_VERB = 2
SAME_WORDS = 0.99
ALIKE_WORDS = 0.5
ALIKE_STEPS = 0.4

# Verbs that ask for work, by what they come to.
_VERBS_BY_KIND = {
    "create": "create make add write generate draft produce introduce append insert",
    "change": "update change modify edit adjust improve tweak revise set extend"
    " expand rework reword",
    "fix": "fix resolve repair debug correct address handle reconcile",
    "remove": "remove delete drop strip",
    "clean": "clean tidy simplify condense deduplicate dedupe",
    "run": "run execute rerun",
    "check": "check verify validate audit examine inspect review analyze analyse"
    " investigate research compare profile measure test benchmark",
    "work": "work",
    "build": "implement build develop finish complete",
    "restructure": "refactor restructure reorganize reorganise rewrite split extract"
    " separate consolidate combine inline",
    "move": "move rename relocate port migrate convert translate replace swap",
    "release": "release publish deploy ship tag",
    "install": "install upgrade bump configure enable disable initialize initialise"
    " start setup integrate connect hook wire",
    "document": "document record log annotate",
    "style": "format lint style align center colour color",
    "version": "merge rebase restore cherry-pick pull sync",
    "plan": "plan design prepare outline",
    "speed": "optimize optimise cache parallelize parallelise reduce speed",
    "support": "support allow ensure expose hide display parse",
    "find": "find locate identify search",
}
_KIND_BY_VERB: dict[str, str] = {}
for _kind, _verbs in _VERBS_BY_KIND.items():
    _KIND_BY_VERB.update(dict.fromkeys(_verbs.split(), _kind))
# What a program sends as a prompt of its own, and what is no request.
_NO_REQUEST = lazy_pattern(
    r"""
      \[Request[ ]interrupted | <local-command | <command- | <bash- | <task-not
    | <system-reminder | Caveat:[ ]The[ ]messages | \[Image | \[object[ ]Object
    | This[ ]session[ ]is[ ]being[ ]continued | undefined$ | [❯$%>]
    """,
    re.I | re.VERBOSE,
)
_SLASH = lazy_pattern(r"/([A-Za-z][\w:-]*)(?=\s|$)")
# How a plan is handed on: its title says the task.
_PLAN = lazy_pattern(
    r"implement the following plan:?\s*#+\s*(?:plan:\s*)?(?:feat\S*:\s*)?([^\n]+)", re.I
)
_LEAD_IN = lazy_pattern(
    r"""
    (?:
        ok(?:ay)? | k | mmk+ | yes | yep | yup | yeah | sure | no | nope | great | good
      | nice | perfect | cool | thanks | thank[ ]you | alright | right | well | hey | hi
      | hello | hmm+ | uh+ | so | now | next | then | also | first(?:ly)? | second(?:ly)?
      | finally | lastly | again | just | please | kindly | simply | quickly | carefully
      | actually | instead | let'?s | lets | let[ ]us | lemme | and | but
      | (?:can|could|would|will)[ ]you | you[ ](?:can|should|must|need[ ]to|may)
      | i(?:'d|[ ]would)[ ]like[ ](?:you[ ])?to | i[ ](?:want|need)[ ](?:you[ ])?to
      | we[ ](?:need|have|want|should|must|ought)(?:[ ]to)? | i[ ]think[ ]we[ ]should
      | go[ ]ahead | go[ ]on | try(?:[ ]to)? | help[ ]me(?:[ ]to)? | want[ ]to
      | your[ ](?:task|job)[ ]is[ ]to | time[ ]to | be[ ]sure[ ]to | make[ ]sure[ ]to
      | start[ ](?:by|with) | get[ ]started | proceed[ ]to | want[ ]you[ ]to
      | continue(?=[ ](?:work|implement|fix|test|the[ ]\w+ing)) | keep(?=[ ]work)
      | start(?=[ ]\w+ing\b) | begin(?=[ ]\w+ing\b) | finish(?=[ ]\w+ing\b)
    )
    \b[\s,.:!;…-]* | [^\w`"'/@#(\[]+ | \d{1,2}[.)]\s+ | [-*•]\s+
    """,
    re.I | re.VERBOSE,
)
# References to what is there this once.
_TRACKED_KINDS = (
    "task",
    "issue",
    "ticket",
    "pr",
    "pull request",
    "bug",
    "story",
    "phase",
    "step",
    "chunk",
    "milestone",
    "session",
    "finding",
    "item",
    "comment",
    "todo",
)
_TRACKED = lazy_pattern(
    rf"""
    \b(?P<a>the[ ]|a[ ]|an[ ])?(?P<kind>{"|".join(_TRACKED_KINDS).replace(" ", "[ ]")})s?
      [ ]?(?:\#|no\.?[ ]?)?(?:[A-Z]{{1,6}}-)?\d(?:[\w.\-]*\w)?
    """,
    re.I | re.VERBOSE,
)
_NUMBERED = lazy_pattern(r"(?<![\w&])#\d(?:[\w.\-]*\w)?|(?<!\w)\b[A-Z]{2,6}-\d+\b")
_DIGIT = lazy_pattern(r"\d")
_MENTION = lazy_pattern(r"(?<!\w)@[\w./\-]+(?:\s?\(\d+-\d+\))?")
_ADDRESS = lazy_pattern(r"https?://\S+|\b[0-9a-f]{7,40}\b(?<![a-z]{7})")
_FAR_PATH = lazy_pattern(r"(?<![\w.])(?:~|\.\.)?/(?:[\w.@-]+/)+[\w.@-]*")
_QUOTED = lazy_pattern(r"\"[^\"]*\"|“[^”]*”")
_AMOUNT = lazy_pattern(r"(?:\s+to)?\s+[vV]?\d[\d.,/+x-]*(?=\s|$)")
_MAKE_SURE = lazy_pattern(r"make sure\b(?: that\b)?", re.I)
_THIS = lazy_pattern(r"\b(?:this|that|these|those)\b(?= [\w`-])", re.I)
_TIME_WORD_LIST = (
    "again",
    "now",
    "here",
    "too",
    "as well",
    "please",
    "first",
    "for me",
    "yourself",
    "ourselves",
    "everywhere",
)
_TIME_WORDS = lazy_pattern(rf"\b(?:{'|'.join(_TIME_WORD_LIST)})\b", re.I)
# A path of several folders that is long, or names a day.
_LONG_PATH = lazy_pattern(r"[\w.@-]+(?:/[\w.@-]+){2,}")
_DAY = lazy_pattern(r"\d{4}-\d\d-\d\d")
_LONGEST_PATH = 40
# Where what is to be done ends, and how or why begins.
_CLAUSE = lazy_pattern(
    r"""
      [;:\n(\[—–?!,]|\.(?=\s|$)|[ ]-[ ]|[ ]\[
    | [ ](?:so[ ]that|because|which|that|in[ ]order[ ]to|and[ ]then|making[ ]sure|when
        |where|since|if|but|as[ ](?:you|we|it|described)|using[ ]the[ ]following
        |based[ ]on|according[ ]to|make[ ]sure|ensuring|while|until|unless|like[ ]this
        |instead[ ]of|rather[ ]than|without|whether|how|why|what|ensure|made|we|you|i|I
        |they|we'[rv]e|you'[rv]e|i'[vm]e?|it'?s|called|named|carefully|in[ ]whichever)\b
    | [ ](?:and|then)[ ](?=(?:then[ ]|also[ ]|\w+ly[ ])?[a-z]+\b)
    | [ ]to[ ](?!(?:the|a|an|our|my|your|its|their|all|each|every|main|master|origin)\b
        |[`A-Z\d])
    """,
    re.VERBOSE,
)
_AND_VERB = lazy_pattern(r"[ ](?:and|then)[ ](?:then[ ]|also[ ]|\w+ly[ ])?([a-z]+)\b")
_ENUMERATION = lazy_pattern(r"[ ](?:and|then)[ ]")
_PRONOUNS = frozenset(
    """
    it this that these those them they him her everything anything something all both
    one ones thing things stuff so me us you we i there here same rest others other
    changes change work
    """.split()
)
# Verbs that ask for words or for nothing of its own, and words that are no verbs.
_NO_WORK = frozenset(
    """
    look read see tell explain show give describe propose summarize summarise say think
    know understand remember note consider continue proceed try keep stay stop wait ask
    answer let use do be have get take bring come put leave commit push switch restart
    don't dont didn't doesn't can't what's that's it's i'm i'll i've we're we'll you're
    there's never always only actually maybe also phase line option step part task issue
    yes no both none all some many seems looks call suggest figure turn provide
    what why how when where which who whose and or but with from into about since
    after before because once unless while though ran went got saw did made took had
    was were tried found looked
    """.split()
)
# An order as English has it: a verb in its plain form, and what it is done to.
_IMPERATIVE = lazy_pattern(
    r"[A-Za-z]{3,}(?<!s)(?<!ed)(?<!ing) (?:the|a|an|all|our|my|your|every|each|its|their)\b"
)
_BARE_PRONOUNS = frozenset("it them him her both w/ with".split())
_THIN = frozenset("new existing current proper first following a an the".split())
_TAIL = lazy_pattern(
    r"(?:\s+(?:to|in|on|of|for|from|with|by|at|into|via|per|and|or|the|a|an|see|is|are"
    r"|our|my|this|that|these|those|about|as|such|it|then|accordingly|thus far|so far"
    r"|just|all|detailed|though|completely|entirely|fully|properly)|[\s,.:;'\"/-]+)+$",
    re.I,
)
# A second verb whose object is no part of the clause.
_BARE_VERB_AT_END = lazy_pattern(
    r"(?<=\w) and (?:use|pass|return|show|give|see|resume|make|put|let|call|apply)"
    r"(?: (?:the|a|an|it))?$"
)
_WORK_ON = lazy_pattern(r"(?:working|work)(?: \w+ly)? on\b|(?:working|work)$", re.I)
_WORK_ON_TRACKED = lazy_pattern(
    r"(?:start|begin|finish|complete|execute)\w*(?: on| with)?"
    r" (an? (?:task|issue|ticket|phase|step|chunk|milestone|story))\b",
    re.I,
)
_WORD = lazy_pattern(r"[^\W_][\w'./`-]*")


@lru_cache(1 << 13)
def task_in_words(text: str) -> str:
    """Return the task that a prompt sets: a verb and its object; '' for none.

    >>> task_in_words("ok, please go ahead and fix the login form, it hangs")
    'Fix the login form'
    >>> task_in_words("continue working on task 022"), task_in_words("/review 154")
    ('Work on a task', 'Run /review')
    >>> task_in_words("create a task to add a `push` command. commit it")
    'Create a task'
    >>> task_in_words("continue"), task_in_words("what's the status of #012?")
    ('', '')
    """
    read = text[:_READ_CHARACTERS].strip()
    slash = _SLASH.match(read)
    if slash:
        return f"Run /{slash[1]}"
    if _NO_REQUEST.match(read):
        return ""
    plan = _PLAN.match(read)
    if plan:
        return _named(plan[1]) or "Implement a plan"
    for sentence in _first_sentences(read):
        name = _named(sentence)
        if name:
            return name
    return ""


def _first_sentences(text: str) -> Iterator[str]:
    """Yield the first sentences of a text, line by line."""
    n_sentences = 0
    for line in text.splitlines():
        for sentence in sentences_in(line.strip()):
            if n_sentences == _SENTENCES:
                return
            n_sentences += 1
            yield sentence


def _named(sentence: str) -> str:
    """Return the task of a sentence; '' where it sets none."""
    rest = _without_lead_in(_without_references(sentence))
    words = _WORD.findall(rest)
    if not words:
        return ""
    verb = words[0].lower()
    has_verb = verb in _KIND_BY_VERB or verb == "working"
    if has_verb:
        return _verb_and_object(rest)
    if not _asks_for_work(verb, rest, sentence):
        return ""
    clause = _clause(rest)
    if len(content_words(clause)) < _FEWEST_WORDS_WITHOUT_VERB:
        return ""
    return _capital(_THIS.sub("the", clause))


def _asks_for_work(verb: str, text: str, sentence: str) -> bool:
    """Return whether a sentence asks for work with a verb that stands in no table."""
    from theorex_lab.text.speech_acts import classify_sentence

    is_question = sentence.rstrip().endswith("?")
    if is_question or verb in _NO_WORK or verb in STOP_WORDS:
        return False
    if _IMPERATIVE.match(text):
        return True
    if text.isascii():
        return False
    act = classify_sentence(text, speaker="user", after="agent")
    return act.label == "task" and act.probability >= _SURELY_A_TASK


def _without_lead_in(text: str) -> str:
    """Return a text without politeness and what only leads on."""
    rest = text.strip()
    for _ in range(_LEAD_INS):
        lead_in = _LEAD_IN.match(rest)
        if lead_in is None or lead_in.end() == len(rest):
            break
        rest = rest[lead_in.end() :]
    return rest


def _without_references(text: str) -> str:
    """Return a text without what it names of this one time.

    An expression is tried only where the signs or words are that it cannot match
    without, which is seldom.
    """
    text = _mentions_named(text)
    text = _numbers_named(text)
    text = _QUOTED.sub("", text)
    if _may_hold(text, _TIME_WORD_LIST):
        text = _TIME_WORDS.sub("", text)
    text = _MAKE_SURE.sub("ensure", text)
    if _DIGIT.search(text):
        text = _AMOUNT.sub("", text)
    return " ".join(text.split())


def _numbers_named(text: str) -> str:
    """Return a text without numbers of tasks, addresses and paths of this one time."""
    has_digit = _DIGIT.search(text) is not None
    if has_digit and _may_hold(text, _TRACKED_KINDS):
        text = _TRACKED.sub(_tracked_kind, text)
    if has_digit or "/" in text:
        text = _ADDRESS.sub("", text)
    if "/" in text:
        text = _FAR_PATH.sub("", text)
        text = _LONG_PATH.sub(_short_path, text)
    if has_digit and ("#" in text or "-" in text):
        text = _NUMBERED.sub("", text)
    return text


def _may_hold(text: str, words: tuple[str, ...]) -> bool:
    """Return whether a text may hold one of the words, in any case.

    Only of ASCII lower case is all that an expression knows of cases.
    """
    if not text.isascii():
        return True
    lowered = text.lower()
    return any(word in lowered for word in words)


def _short_path(path: re.Match[str]) -> str:
    """Return a path as it is; for one that is long or of one day "file"."""
    is_of_once = len(path[0]) > _LONGEST_PATH or _DAY.search(path[0])
    return "file" if is_of_once else path[0]


def _mentions_named(text: str) -> str:
    """Return a text whose mentions of files are names, or gone where words stay."""
    if "@" not in text and text == " ".join(text.split()):
        return text
    without = " ".join(_MENTION.sub(" ", text).split())
    words = [word for word in _WORD.findall(without) if word.lower() not in _PRONOUNS]
    if len(words) > 1 + _FEWEST_OBJECT_WORDS:
        return without
    return _MENTION.sub(_base_name, text)


def _base_name(mention: re.Match[str]) -> str:
    path, _, _ = mention[0].removeprefix("@").partition(" ")
    name = path.rstrip("/.").rpartition("/")[2]
    return f"`{name}`" if name else ""


def _tracked_kind(match: re.Match[str]) -> str:
    """Return "a task" for "task 022", and alike for what else is numbered."""
    kind = match["kind"].lower()
    if kind == "pr":
        kind = "PR"
    article = "an" if kind[0] in "aeiou" else "a"
    return f"{article} {kind}"


def _verb_and_object(text: str) -> str:
    """Return the clause that a verb begins; '' where it has no object of its own."""
    clause = _clause(text)
    tracked = _WORK_ON_TRACKED.match(clause)
    if tracked:
        return f"Work on {tracked[1].lower()}"
    work = _WORK_ON.match(clause)
    if work:
        target = clause[work.end() :].strip()
        clause = f"work on {target or 'a task'}"
    if not _has_object(clause):
        return ""
    return _capital(_THIS.sub("the", clause))


def _has_object(clause: str) -> bool:
    """Return whether the verb of a clause has an object that is no mere pronoun."""
    _, *objects = _WORD.findall(clause) or [""]
    if objects and objects[0].lower() in _BARE_PRONOUNS:
        return False
    nouns = [word for word in objects if word.lower() not in _PRONOUNS]
    if any(word.startswith(("`", "PR")) for word in nouns):
        return True
    return bool(content_words(" ".join(nouns)) - {"on"})


def _clause(text: str) -> str:
    """Return the first clause of a text, in at most ten words."""
    end = len(text)
    for match in _CLAUSE.finditer(text, 1):
        if _goes_on(text, match):
            continue
        end = match.start()
        break
    words = text[:end].split()[:_MOST_WORDS]
    words_left = [word for word in words if word not in ("new", "existing")]
    clause = one_line(" ".join(words_left), _TASK_CHARACTERS)
    if clause.count("`") % 2:
        clause, _, _ = clause.rpartition("`")
    return _TAIL.sub("", _BARE_VERB_AT_END.sub("", clause))


def _goes_on(text: str, match: re.Match[str]) -> bool:
    """Return whether a clause goes on after what may end it.

    Two objects, or a sign in a code span, end none.
    """
    if text.count("`", 0, match.start()) % 2:
        return True
    if not _ENUMERATION.fullmatch(match[0]):
        return False
    following = _AND_VERB.match(text, match.start())
    if following is None:
        return True
    return following[1] not in _KIND_BY_VERB


def _capital(text: str) -> str:
    """Return a text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def verb_kind(task: str) -> str:
    """Return what kind of work the verb of a task asks for.

    >>> verb_kind("Write a test"), verb_kind("Add a test")
    ('create', 'create')
    """
    first, _, _ = task.partition(" ")
    verb = first.lower()
    return _KIND_BY_VERB.get(verb, verb)


def task_likeness(task: str, other: str) -> float:
    """Return how far two tasks are of one kind by their words, from 0 to 1.

    >>> task_likeness("Write a new test", "Add tests")
    1.0
    >>> task_likeness("Write a test", "Remove the test")
    0.0
    """
    if verb_kind(task) != verb_kind(other):
        return 0.0
    words = _object_words(task)
    other_words = _object_words(other)
    if words == other_words:
        return 1.0
    if not words or not other_words:
        return 0.0
    shared = len(words & other_words)
    return min(overlap(words, other_words), shared / max(len(words), len(other_words)))


@lru_cache(1 << 13)
def _object_words(task: str) -> frozenset[str]:
    """Return the stems of the words that say what a task is about."""
    _, _, rest = task.partition(" ")
    words = content_words(rest) or {stem(word) for word in _WORD.findall(rest)}
    return frozenset(words) - {stem(word) for word in _THIN}


def is_same_task(
    task: str, other: str, steps: frozenset[str], other_steps: frozenset[str]
) -> bool:
    """Return whether two tasks are of one kind, by their names and kinds of steps.

    The same words are enough where a step is shared; fewer words need more steps.

    Args:
        task: The name of one task.
        other: The name of the other.
        steps: The kinds of steps of one.
        other_steps: The kinds of steps of the other.

    >>> steps = frozenset({"edit .go", "test"})
    >>> is_same_task("Fix the login", "Fix the login", steps, frozenset({"test"}))
    True
    >>> is_same_task("Fix the login", "Fix the logout", steps, steps)
    False
    """
    likeness = task_likeness(task, other)
    if likeness < ALIKE_WORDS:
        return False
    n_fewer = max(1, min(len(steps), len(other_steps)))
    shared = len(steps & other_steps) / n_fewer
    if likeness >= SAME_WORDS:
        return shared > 0
    return shared >= ALIKE_STEPS
