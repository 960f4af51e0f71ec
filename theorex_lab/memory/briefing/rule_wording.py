"""Reword what a user wrote so that it reads as a standing rule.

"you missed this part: never use grep" becomes "Never use grep". An objection that is
a question becomes a statement: "why are you editing the lock file?" becomes "The user
objects to editing the lock file". Nothing is added but the subject. English; standard
library only.
"""

from __future__ import annotations

import re

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.remembering import remembered
from theorex_lab.memory.briefing.rule_cues import OBEYED, RULE_FILE
from theorex_lab.text.caseless import CaselessTest

# What stands before a wish and is no part of it; stripped again and again.
_LEAD_INS = (
    lazy_pattern(
        r"""
        (?: no+ | nope | yes | yeah | yep | ok | okay | k | also | and | but | so | wait
          | hmm+ | um+ | uh+ | well | actually | again | please | pls | oh | hey | dude
          | stop | whoa(?:[ ]buddy)? | man | great | good | right | now | then | note | important
          | remember | in[ ]general | generally | from[ ]now[ ]on | going[ ]forward
        ) \b (?: \s* [,;:.!…]+ \s* | \s+ (?=please\b|also\b|from[ ]now|make|never|always) )
        """,
        re.I | re.VERBOSE,
    ),
    lazy_pattern(r"go ahead[.,;]\s+|stop,\s+|just\s+", re.I),
    lazy_pattern(r"(?:and|also|please|but|so|now|lets|let's) +", re.I),
    lazy_pattern(r"you (?:missed|forgot)(?: this(?: part)?)?:\s*>?\s*", re.I),
    lazy_pattern(r"\(?\d{1,2}[.)]\s+|[>*•–-]\s+"),
    lazy_pattern(r"(?:be sure|make sure|remember|you (?:have|need)) to +", re.I),
    lazy_pattern(r"(?:mention|note|state|specify|remember) that +", re.I),
    lazy_pattern(
        r"re:? [\w ]{3,30}, (?:they|agents?|you) should (?:just |always )?", re.I
    ),
    lazy_pattern(r"i (?:want|need|expect|would like|'d like) you to +", re.I),
)

# A request to record a wish, up to the wish itself.
_REQUEST = lazy_pattern(
    rf"""
    ^ (?: (?:is[ ]there[ ]a[ ]way|can|could|how[ ](?:can|do|might))[ ](?:you|we|i)
        (?:[ ]can)? [ ] )?
    (?:think[ ]about[ ]how[ ]you[ ]can[ ])?
    (?: make | create | add | write | record | document | save | put | update | adjust
      | include | improve | change | enhance )
    (?:[ ]sure)?
    \b [^.?!;:]{{0,80}}? {RULE_FILE} (?:[ ](?:file|doc|document|section))?
    [^.?!;:]{{0,50}}?
    (?: [ ](?:that|which|to|so[ ]that|so|and)
        [ ](?:agents?[ ]|you[ ]|we[ ]|it[ ])? (?:always[ ])?
        (?: specif(?:y|ies) | states? | says? | mentions? | ensures? | requires?
          | enforces? | knows? | make(?:s)?[ ]sure | remembers? | explains?
          | record(?:s)?(?:[ ]what[ ]we[ ](?:just[ ])?learn(?:ed|t))? )
        [ ] (?:re[ ]|about[ ]|regarding[ ]|that[ ]|to[ ]|you[ ]|agents?[ ]|we[ ])*
      | [ ](?:to|so[ ]that[ ](?:you|agents|we))[ ](?=never|always|not\b|avoid|only|prefer)
      | [ ](?:about|regarding)[ ](?=\w+ing\b)
    )
    """,
    re.I | re.VERBOSE,
)
# "record this as a global rule": the wish is the sentence before it.
_RECORD_THIS = lazy_pattern(
    r"[.,;]?\s*(?:and\s+)?(?:please\s+)?(?:record|document|save|remember|note) "
    r"(?:this|that|it)\b.*$",
    re.I,
)
_RECORDS_THIS = CaselessTest(_RECORD_THIS)
# "when fixing a bug to first always create a test".
_WHEN_TO = lazy_pattern(
    r"^(when(?:ever)? [^,]{3,60}?) to (?=(?:first|always|never)\b)", re.I
)
# A mention of a rule file at the end: "…, see errors.mdc".
_END_MENTION = lazy_pattern(
    r"[\s?.!,]*(?:according to|as per|per|following|see)?\s*"
    r"@(?:[\w.-]+/)*([\w-]+\.mdc|[A-Z]{4,}\.md)\s*[?.!]*$"
)
_ENDS_OPEN = lazy_pattern(r"\b(?:in|of|by|with|from|to|at|the|using|use)$", re.I)
_DOUBT = lazy_pattern(
    r"[,.]?\s*(?:though|right|no|yeah|yes|pls|please|ok|okay)?\s*[?!.…]+$", re.I
)
_ENDS_OF_DOUBT = ("?", "!", ".", "…")
_ASIDE = lazy_pattern(
    r"[\s,]*\b(?:think carefully|be specific|explain in details?|again|just now)$",
    re.I,
)

_OBJECTION = lazy_pattern(
    r"""^ why [ ] (?:are|were|do|would) [ ] (?:you|we) [ ] (?:keep[ ])?
        (?P<gerund>\w+ing) \b (?P<rest>.*) $""",
    re.I | re.VERBOSE,
)
_OBJECTION_OF_PAST = lazy_pattern(
    r"^why (?:did|do|would) (?:you|we) (?:start|keep|begin)? ?"
    r"(?!have|need|care|see|even|think|want)"
    r"(?P<verb>[a-z]+)\b(?P<rest>.*)$",
    re.I,
)
_EXPECTATION = lazy_pattern(
    r"^why (?:did ?n[o'’]?t|didnt|don'?t|aren'?t|arent|weren'?t) (?:you|we) "
    r"(?P<wish>.+)$",
    re.I,
)
_TOO_MANY = lazy_pattern(r"^why so (?P<what>many|much)\b(?P<rest>.*)$", re.I)
_DONE_WRONG = lazy_pattern(
    r"^you (?:just |also )?(?P<past>[a-z]+ed|made|put|wrote|ran)\b(?P<rest>.*)$",
    re.I,
)
_NOT_DONE = lazy_pattern(
    r"^you (?:did ?n[o'’]?t|forgot to|failed to) (?P<wish>.+)$", re.I
)
_NOT_DOING = lazy_pattern(
    r"^you(?:'?re| are) not (?P<gerund>\w+ing)\b(?P<rest>.*)$", re.I
)
_OUGHT = lazy_pattern(
    r"^you (?P<modal>should(?: not|n'?t)?|must(?: not)?|are to|need to) ", re.I
)
_USER_WILL = lazy_pattern(r"^i(?:'?ll| will| do)(?: always)? (?P<base>[a-z]+)\b", re.I)
_USER_DOES = lazy_pattern(
    r"^i (?P<verb>prefer|expect|want|use|make|made|decide|always|never|test|run|commit)"
    r"\b",
    re.I,
)
# Contractions that were typed without their apostrophe.
_APOSTROPHE = lazy_pattern(
    r"(?<![@/\w-])(do|does|did|is|are|was|were|have|has|should|would|could|wo|ca)nt"
    r"(?![\w./-])",
    re.I,
)

_IRREGULAR_GERUNDS = {
    "made": "making",
    "put": "putting",
    "wrote": "writing",
    "ran": "running",
}
# Verbs that double their last letter, or that are not regular otherwise.
_GERUNDS = {
    "run": "running",
    "put": "putting",
    "get": "getting",
    "set": "setting",
    "stop": "stopping",
    "skip": "skipping",
    "drop": "dropping",
    "commit": "committing",
    "begin": "beginning",
    "cut": "cutting",
}
_BASES = {
    "using": "use",
    "running": "run",
    "making": "make",
    "writing": "write",
    "creating": "create",
    "adding": "add",
    "keeping": "keep",
    "following": "follow",
    "asking": "ask",
    "putting": "put",
    "working": "work",
    "stopping": "stop",
    "committing": "commit",
    "testing": "test",
}
_THIRD_PERSON = {"do": "does", "have": "has", "go": "goes", "fix": "fixes"}
_SHOUTED = 0.6  # share of capitals from which a sentence is shouted
# A third of the sentences of users and agents come again.
_REMEMBERED_TEXTS = 1 << 13


@remembered(_REMEMBERED_TEXTS)
def standing_wording(text: str) -> str:
    """Return a wish as a standing rule, its subject or verb first.

    Args:
        text: One sentence of a user.

    Returns:
        The rule without a full stop; '' where nothing is left.

    >>> standing_wording("you missed this part: never use grep.")
    'Never use grep'
    >>> standing_wording("why are you editing the lock file, not the manifest?")
    'The user objects to editing the lock file, not the manifest'
    >>> standing_wording("create a rule that specifies that tests must be small")
    'Tests must be small'
    """
    sentence = without_shouting(" ".join(text.split()))
    if "nt" in sentence.lower():
        sentence = _APOSTROPHE.sub(r"\1n't", sentence)
    sentence = _without_lead_ins(sentence)
    sentence, rule_file = _apart_from_rule_file(sentence)
    if sentence.endswith(_ENDS_OF_DOUBT):
        sentence = _DOUBT.sub("", sentence)
    sentence = sentence.rstrip(" .,;:")
    sentence = _ASIDE.sub("", sentence).rstrip(" .,;:?!")
    sentence = _as_statement(sentence)
    if rule_file and sentence:
        sentence = f"{sentence} ({rule_file})"
    return _capitalised(sentence)


def is_objection(wording: str) -> bool:
    """Return whether a wording was made of an objection, not of a wish."""
    return wording.startswith(("The user objects to", "The user expects:"))


def _without_lead_ins(sentence: str) -> str:
    """Strip what stands before the wish."""
    before = ""
    while before != sentence:
        before = sentence
        for pattern in _LEAD_INS:
            match = pattern.match(sentence)
            if match:
                sentence = sentence[match.end() :]
        match = _REQUEST.match(sentence)
        if match:
            sentence = sentence[match.end() :]
    if _RECORDS_THIS.is_in(sentence):
        sentence = _RECORD_THIS.sub("", sentence)
    sentence = _WHEN_TO.sub(r"\1, ", sentence)
    return _with_base_verb(sentence)


def _with_base_verb(sentence: str) -> str:
    """Turn "using jq" into "use jq"."""
    first, separator, rest = sentence.partition(" ")
    base = _BASES.get(first.lower())
    if base is None:
        return sentence
    return f"{base}{separator}{rest}"


def _apart_from_rule_file(sentence: str) -> tuple[str, str]:
    """Return a sentence without the rule file named at its end, and that file."""
    if "@" not in sentence:
        return sentence, ""
    match = _END_MENTION.search(sentence)
    if match is None or match.start() == 0:
        return sentence, ""
    before = sentence[: match.start()]
    if _ENDS_OPEN.search(before):
        return f"{before} {match[1]}", ""
    return before, match[1]


def _as_statement(sentence: str) -> str:
    """Turn an objection, or a word of the user about themself, into a statement."""
    for pattern, reword in _REWORDINGS:
        match = pattern.match(sentence)
        if match:
            return reword(match)
    return sentence


def _objects_to_gerund(match: re.Match[str]) -> str:
    return f"The user objects to {match['gerund'].lower()}{match['rest']}"


def _objects_to_base(match: re.Match[str]) -> str:
    return f"The user objects to {_gerund_of(match['verb'].lower())}{match['rest']}"


def _objects_to_past(match: re.Match[str]) -> str:
    return (
        f"The user objects to {_gerund_of_past(match['past'].lower())}{match['rest']}"
    )


def _objects_to_many(match: re.Match[str]) -> str:
    return f"The user objects to so {match['what'].lower()}{match['rest']}"


def _objects_to_not_doing(match: re.Match[str]) -> str:
    return f"The user objects to not {match['gerund'].lower()}{match['rest']}"


def _expects(match: re.Match[str]) -> str:
    return f"The user expects: {_with_base_verb(match['wish'])}"


def _agent_ought(match: re.Match[str]) -> str:
    return f"You {match['modal'].lower()} {match.string[match.end() :]}"


def _user_will(match: re.Match[str]) -> str:
    base = match["base"].lower()
    verb = _THIRD_PERSON.get(base, f"{base}s")
    return f"The user {verb}{match.string[match.end() :]}"


def _user_does(match: re.Match[str]) -> str:
    verb = match["verb"].lower()
    rest = match.string[match.end() :]
    if verb in {"made", "make"} and rest.lower().startswith(" decisions"):
        return f"The user makes the{rest}"
    if verb not in {"made", "always", "never"}:
        verb += "s"
    return f"The user {verb}{rest}"


_REWORDINGS = (
    (_OBJECTION, _objects_to_gerund),
    (_EXPECTATION, _expects),
    (_TOO_MANY, _objects_to_many),
    (_OBJECTION_OF_PAST, _objects_to_base),
    (_NOT_DONE, _expects),
    (_NOT_DOING, _objects_to_not_doing),
    (_OUGHT, _agent_ought),
    (_DONE_WRONG, _objects_to_past),
    (_USER_WILL, _user_will),
    (_USER_DOES, _user_does),
)


def _gerund_of(base: str) -> str:
    """Return the form in -ing of a verb: "make" gives "making"."""
    if base.endswith("ing"):
        return base
    if base in _GERUNDS:
        return _GERUNDS[base]
    if base.endswith("e") and not base.endswith("ee"):
        return f"{base[:-1]}ing"
    return f"{base}ing"


def _gerund_of_past(past: str) -> str:
    """Return the form in -ing of a past form: "modified" gives "modifying"."""
    if past in _IRREGULAR_GERUNDS:
        return _IRREGULAR_GERUNDS[past]
    if past.endswith("ied"):
        return f"{past[:-3]}ying"
    return f"{past.removesuffix('ed')}ing"


def without_shouting(sentence: str) -> str:
    """Return a sentence that is nearly all capitals in small letters.

    >>> without_shouting("YOU ARE TO ASK ME!")
    'you are to ask me!'
    """
    letters = [letter for letter in sentence if letter.isalpha()]
    capitals = [letter for letter in letters if letter.isupper()]
    if len(capitals) < _SHOUTED * len(letters) or len(sentence.split()) < 3:
        return sentence
    return re.sub(r"\bi\b", "I", sentence.lower())


def _capitalised(sentence: str) -> str:
    """Return a sentence with a capital first letter, unless it begins with a name."""
    first = sentence.partition(" ")[0]
    is_name = any(mark in first for mark in "`./_@")
    if is_name or not sentence:
        return sentence
    return sentence[0].upper() + sentence[1:]


# An agent's report of a rule that it wrote down, up to what the rule says.
_REPORT = lazy_pattern(
    rf"""
    ^ (?: (?:i|we) (?:'ve|'ll|[ ]have|[ ]will)? [ ] )? (?:also[ ]|now[ ])?
    (?: created? | added? | updated? | recorded? | documented? | established?
      | strengthened? | extended? ) [ ]
    (?P<what> [^.?!:;]{{0,60}}? {RULE_FILE}
      (?: [ ](?:in|to)[ ](?:the|your|our)[ ](?:\w+[ ])?(?:instructions|rules|guidelines)
        | [ ](?:called|named|at|in)[ ]["'`]?[\w./-]+["'`]?
        | [ ]and[ ][`\w./-]+ )? )
    [ ] (?P<link> to | that | which | about ) [ ] (?P<norm> .+ ) $
    """,
    re.I | re.VERBOSE,
)
_NORM_VERB = lazy_pattern(
    r"(?:explicitly )?(?P<verb>enforc|establish|requir|specif|prevent|forbid|prohibit"
    r"|ensur|emphasi[sz]|stat|mak|say)(?P<end>es|e|ies|y|s|)\b(?P<rest>.*)$",
    re.I,
)
_ARTICLE = lazy_pattern(r"^(?:an?|the|new|global|\s)+", re.I)
_AGENTS_WISH = lazy_pattern(r"^(?:never|always)\b", re.I)


def report_wording(text: str) -> str:
    """Return the rule that an agent's report says was written down; '' for none.

    >>> report_wording("Added a global rule about using `jq` instead of `grep`.")
    'Use `jq` instead of `grep`'
    >>> report_wording("I've created a rule at `a.mdc` that requires a failing test.")
    'The rule at `a.mdc` requires a failing test'
    """
    sentence = " ".join(text.split()).rstrip(" .!")
    if sentence.endswith(":"):
        return ""
    if _AGENTS_WISH.match(sentence):
        return _capitalised(sentence)
    match = _REPORT.match(sentence)
    if match is None:
        return ""
    norm = match["norm"]
    if match["link"].lower() == "about":
        based = _with_base_verb(norm)
        return _capitalised(based) if based != norm else ""
    direct = _direct_wording(norm)
    if direct:
        return f"{direct} (recorded in {_recorded_in(match['what'])})"
    verb = _NORM_VERB.match(norm)
    if verb is None:
        return ""
    return _rule_says(_ARTICLE.sub("", match["what"]), verb)


# What a rule brings about, up to the wish itself: "that ensures agents always …".
_BRINGS_ABOUT = lazy_pattern(
    r"(?:explicitly )?(?:prevents?|forbids?|prohibits?|avoids?|stops?)"
    r" (?:agents? |you |us )?(?:from )?(?P<gerund>\w+ing\b.*)$"
    r"|(?:explicitly )?(?:ensures?|makes? sure|requires?|states?|says?|specif(?:y|ies)"
    r"|enforces?) (?:that )?(?:agents?|you|we) (?:will |must |should )?"
    r"(?P<wish>(?:always|never|only) .+)$"
    r"|(?:explicitly )?(?:establish|enforce)(?:e?s)? (?:the )?(?:best )?practice of"
    r" (?P<practice>\w+ing\b.*)$",
    re.I,
)
_FOR_THE_FUTURE = lazy_pattern(r" (?:in the future|from now on|going forward)$", re.I)


def _direct_wording(norm: str) -> str:
    """Return the wish that a rule brings about, as a wish; '' where it has none.

    "Prevents littering the root" becomes "Avoid littering the root".
    """
    match = _BRINGS_ABOUT.match(norm)
    if match is None:
        return ""
    wish = match["wish"] or ""
    if match["gerund"]:
        wish = f"avoid {match['gerund']}"
    elif match["practice"]:
        wish = _with_base_verb(match["practice"])
    return _capitalised(_FOR_THE_FUTURE.sub("", wish))


def _recorded_in(what: str) -> str:
    """Return where a rule was written down: "the rule file at `x.mdc`"."""
    bare = _ARTICLE.sub("", what).strip()
    bare = re.sub(r"^rules? (?:in|to) (?:the|your|our) ", "", bare)
    return bare if bare.startswith("`") else f"the {bare}"


def _rule_says(what: str, verb: re.Match[str]) -> str:
    """Return "The rule enforces …"; rules in the plural get the verb in the plural."""
    end = verb["end"]
    head = re.split(r" (?:at|in|called|named) ", what, maxsplit=1)[0]
    is_plural = bool(re.search(r"\band\b|instructions|rules\b", head, re.I))
    if is_plural:
        end = {"es": "e", "ies": "y", "s": ""}.get(end, end)
    else:
        end = {"e": "es", "y": "ies", "": "es"}.get(end, end)
    if not is_plural and verb["verb"].lower() in {"prevent", "forbid", "prohibit"}:
        end = "s"
    return f"The {what} {verb['verb'].lower()}{end}{verb['rest']}"


_SECOND_PERSON = lazy_pattern(r"\byour\b", re.I)
OBEYED_MARK = "Agents report: "


def obedience_wording(text: str) -> str:
    """Return how an agent says that it keeps a rule, told of a third person.

    >>> obedience_wording("Nothing committed, per your git rules.")
    "Agents report: nothing committed, per the user's git rules"

    What stands behind a dash tells how things are at that moment, so it is cut.

    >>> obedience_wording("Per your git rules I've made no commits — they are yours.")
    "Agents report: per the user's git rules I've made no commits"
    """
    head = text.split(" — ", 1)[0]
    if OBEYED.is_in(head):
        text = head
    if text.startswith("(") and ")" not in text:
        text = text[1:]
    sentence = _SECOND_PERSON.sub("the user's", " ".join(text.split())).rstrip(" .!")
    first, separator, rest = sentence.partition(" ")
    if first not in ("I", "I've") and first[1:].islower():
        first = first.lower()
    return f"{OBEYED_MARK}{first}{separator}{rest}"
