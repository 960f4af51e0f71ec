"""Cues by which a sentence shows what it does, such as asking, telling or deciding.

One table a language; a cue counts where the pattern of any language matches. Another
language is added as another table with the same names: a cue that it lacks may be left
out. Patterns are tried on the sentence in lower case, `openings` at its
beginning, after what leads in ("ok, now please …").
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from theorex_lab.core.patterns import lazy_pattern


@dataclass(frozen=True, slots=True)
class CueTable:
    """The cues of a language.

    Attributes:
        lead_in: What may stand before the words that tell what a sentence does.
        openings: Cue → pattern at the beginning, after the lead-in.
        anywhere: Cue → pattern that may stand anywhere.
    """

    lead_in: re.Pattern[str]
    openings: Mapping[str, re.Pattern[str]]
    anywhere: Mapping[str, re.Pattern[str]]


# Verbs of work on code, in the form in which work is asked for.
_ENGLISH_VERBS = """
abort accept add address adjust align allow analyze append apply archive ask assess
avoid bring build bump bypass cache call cancel capture change check choose clarify
clean cleanup clear clone collect combine comment commit compare compile complete
condense conduct configure confirm consider consolidate continue control convert copy
count cover create debug define delete demonstrate deploy describe design diagnose
disable discard display document download drop edit emphasize enable ensure enter
examine exclude execute expand explain export expose extend extract fetch figure fill
filter find finish fix follow format generate get give go group guard handle hide
identify ignore implement import improve include increase initialize insert inspect
install integrate introduce investigate invoke keep kill launch leave limit link list
load log look maintain mark match mention merge migrate modify move name normalize note
notice open optimize organize output parse pass perform pick plan prepare preserve
prevent print process produce propose provide pull push put read rebase rebuild recap
record reduce redesign refactor refer reference reinforce reject release remember remove
rename render reorder replace report require reset resolve respect respond restart
restore retain return reuse revert review rework rewrite roll run save scan search see
send separate set show simplify skip sort source specify split stage start stash stop
store suggest summarise summarize support switch sync tackle take tell test think track
treat trigger trim try turn understand unify update upgrade upload use validate verify
wait walk watch work wrap write
""".split()
_ENGLISH_IRREGULAR_PASTS = """
began brought built chose cut did drew found gave got had hid hit kept left made meant
met put ran read rebuilt rewrote saw sent set shown split took told took understood went
withdrew wrote
""".split()


def _any_of(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=lambda word: (-len(word), word)))


def _past_of(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in "aeou":
        return verb[:-1] + "ied"
    return verb + "ed"


def _third_person_of(verb: str) -> str:
    if verb.endswith(("s", "sh", "ch", "x", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2] not in "aeou":
        return verb[:-1] + "ies"
    return verb + "s"


def _gerund_of(verb: str) -> str:
    return verb.removesuffix("e") + "ing"


def _patterns(sources: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    return {cue: lazy_pattern(source) for cue, source in sources.items()}


_IMPERATIVE = _any_of(_ENGLISH_VERBS)
_PAST = _any_of([*map(_past_of, _ENGLISH_VERBS), *_ENGLISH_IRREGULAR_PASTS])
_THIRD_PERSON = _any_of(map(_third_person_of, _ENGLISH_VERBS))
_GERUND = _any_of(map(_gerund_of, _ENGLISH_VERBS))

ENGLISH = CueTable(
    lead_in=lazy_pattern(
        r"(?:"
        r"(?:@\S+|\#[a-z]+)(?:\ \(\d+-\d+\))?"
        r"|ok(?:ay)?|m+k|yes|yep|yup|yeah|no|now|also|then|and|so|but|please|pls|just"
        r"|actually|btw|well|hmm+|uh+|great|good|perfect|right|first|finally|next"
        r"|instead|additionally|for (?:now|starters)|go ahead and|go ahead|you can"
        r"|this time|at least|ah|oh"
        r")(?:[\s,.!:;…-]+|$)"
    ),
    openings=_patterns(
        {
            "begins with a command": rf"(?:(?:{_IMPERATIVE})\b(?!:)|/[a-z][\w:-]+(?:\s|$))",
            "begins with what was done": rf"(?:\w+ly )?(?:\w+ed|{_PAST})\b",
            "begins with what it does": rf"(?:{_THIRD_PERSON})\b",
            "begins with doing": rf"(?:{_GERUND})\b",
            "begins with let's": r"let'?s\b|let us\b|we(?:'re going to| will|'ll)\b",
            "announces a step": (
                r"(?:now |next |then )?(?:let me|i'?ll|i will|i'?m (?:going|about)"
                r"|i'?m (?:\w+ing)|i’(?:ll|m))\b"
            ),
            "speaks of own work": (
                r"(?:i|we)(?:'ve| have|’ve)\b|(?:i|we) (?:just |also |did |successfully )?"
                rf"(?:\w+ed|{_PAST}|did)\b"
            ),
            "asks what or why": (
                r"(?:what|why|how|where|which|when|who)(?:'?s)?\b(?!ever)"
            ),
            "asks whether": (
                r"(?:do|does|did|is|are|was|were|can|could|should|would|will|has|have"
                r"|had|isn't|aren't|doesn't|don't|can't|shouldn't)n?t?"
                r" (?:i|you|we|they|it|he|this|that|these|there|the|our|any|all|its)\b"
            ),
            "asks a favour": r"(?:can|could|would|will) (?:you|we)\b",
            "makes sure": r"(?:make sure|ensure|be sure|remember to)\b",
            "wants": (
                r"(?:i|we)(?:'d| really| would)* (?:want|need|like|prefer|meant?)\b"
                r"|need (?:you|to)\b"
            ),
            "forbids": r"(?:do not|don'?t|never|no need|stop|avoid|let's not)\b",
            "points at something": r"(?:it|this|that|these|those|they)\b(?:'s)?",
            "speaks of a thing": r"(?:the|a|an|each|all|both|every|there|some|most)\b",
            "tells you what you did": (
                r"you(?:'re| are| were| just| did| didn'?t| modified| left| missed"
                r"| removed| forgot)\b"
            ),
            "tells what was met": (
                r"(?:there (?:is|are|was|were|seems?)|looks like|still|getting"
                r"|you(?:'re| are| were| just| did| left| missed| forgot| modified)"
                r"|i(?:'m)? (?:just )?(?:see|seeing|got|get|noticed?|noticing|ran|had|tried"
                r"|checked)"
                r"|(?:it|this|that|the \S+) (?:still|does ?n'?o?t|is ?n'?o?t|says|seems"
                r"|appears|is being|shows|won't|can't))\b"
            ),
            "has a condition": r"(?:if|when|whenever|once|for|with|without)\b",
            "agrees or apologizes": (
                r"(?:yes,? )?(?:you(?:'|’)re (?:absolutely |completely )?(?:right|welcome)"
                r"|i apologi|sorry|thank|i see\b|i understand)"
            ),
            "says here is": r"here(?:'s|’s| is| are)\b",
            "is about no thing": r"no\b|none\b|nothing\b",
        }
    ),
    anywhere=_patterns(
        {
            "always or never": r"\b(?:always|never|whenever|any ?more|ever)\b",
            "for the future": (
                r"\b(?:from now on|going forward|every ?time|each time|next time"
                r"|(?:in|for) (?:the |all )?future|as a (?:\w+ )?rule|by convention"
                r"|in (?:all|any) cases?|at all times|(?:never|ever) again)\b"
            ),
            "asks for a rule": (
                r"\b(?:add|make|create|write|update|adjust|record|document|mention|save)\b"
                r".{0,60}\b(?:rules?|instructions|preferences?|conventions?)\b"
            ),
            "speaks of rules": (
                r"\b(?:rules?|preferences?|conventions?|guidelines?|principles?"
                r"|polic(?:y|ies)|instructions)\b"
            ),
            "has a duty": (
                r"\b(?:must|should|shouldn'?t|has to|have to|needs? to|supposed to)\b"
            ),
            "has a strong duty": r"\b(?:must|top priority|do not|only ever)\b",
            "is for now": r"\b(?:for now|right now|this time|temporar\w+|again|first)\b",
            "sets one against another": (
                r"\b(?:instead of|rather than|instead|over|versus|vs)\b|[,—-] ?not\b"
            ),
            "names a choice": (
                r"\b(?:options?|go(?:ing)? with|stick w\w*|decid\w+|decision|chose"
                r"|choose|opt(?:ed)?|proceed w\w*|approach|alternative|prefer\w*"
                r"|recommend\w*|strategy|hybrid|verdict|better|best)\b"
            ),
            "says what is not wanted": (
                r"\b(?:don'?t|do not|doesn't|not) (?:really |ever )?(?:want|need|care)\b"
                r"|\b(?:is not|isn't|not) (?:a goal|worth|needed|necessary)\b"
            ),
            "gives a reason": (
                r"\b(?:because|since|so that|due to|'?cause|cuz|bc|as it|therefore)\b"
            ),
            "tells a good result": (
                r"\b(?:pass(?:es|ed|ing)?|no (?:\w+ ){0,2}(?:errors?|issues|changes"
                r"|updates?)|clean|green|success(?:ful)?(?:ly)?|complete[d]?|verified"
                r"|up to date|in place|working (?:now|correctly))\b|✅|✓"
            ),
            "tells what became": (
                r"\b(?:has|have|had|was|were) (?:also |now |all |both )?(?:been )?"
                rf"(?:\w+ed|{_PAST})\b|\bnow (?:also |correctly )?\w+s\b"
            ),
            "tells of trouble": (
                r"\b(?:errors?|erroring|fail\w*|broken?|crash\w*|wrong|bugs?|timed out"
                r"|missing|incorrect|outdated|stuck|lame|wtf|spam|garbage|duplicates?)\b"
            ),
            "says that something is not": (
                r"\b(?:doesn'?t|don'?t|isn'?t|aren'?t|didn'?t|wasn'?t|won'?t|can'?t"
                r"|cannot|hasn'?t|not|still)\b"
            ),
            "names a cause": (
                r"\b(?:issue|problem|reason|cause|bug|fix) (?:is|was)\b|\broot cause\b"
                r"|\b(?:this|that|it)(?:'s| is| was)? (?:means|because|cause)\b"
            ),
            "says what something does": (
                rf"\b(?:it|that|which|this|bot|command|function|code) (?:{_THIRD_PERSON})\b"
                r"|\b(?:is|are) (?:a|an|the|only|already|still|never)\b"
            ),
            "says what will happen": r"\b(?:will|would|can|could|may|might)\b",
            "guesses": (
                r"\b(?:presumably|maybe|perhaps|seems?|probably|i think|wondering|likely)\b"
            ),
            "offers or asks back": (
                r"\b(?:would you like|let me know|do you want|tell me if|your call)\b"
            ),
            "praises": (
                r"\b(?:thanks|thank you|great|perfect|excellent|awesome|good (?:job|work)"
                r"|nice|well done|sorry|apologi[sz]e)\b"
            ),
            "asks inside": (
                r"\bwhy\b|\b(?:was|is) (?:that|this|it) (?:correct|right)\b"
                r"|\b(?:did|do) you\b|\bhow (?:does|do|can|would|is)\b"
            ),
            "announces a step inside": r"\blet me\b|\bi'll\b",
            "announces a summary": (
                r"\b(?:summary|here'?s what|here is what|the changes|full picture"
                r"|analysis|explanation|updated response|corrected)\b[^:]*[:.]$"
            ),
            "speaks to you": r"\b(?:you|your)\b",
            "speaks of us": r"\b(?:i|we|our|us|my)\b",
            "has a question inside": r"\b(?:right|no|yes|correct|huh|what about)\?",
            "names a task": r"\b(?:task|plan|issue|obs|step|phase|chunk)s? ?#?\d+",
            "asks for a change": (
                r"\b(?:fix (?:it|this|that|them)|change (?:it|this)|update|implement"
                r"|and (?:" + _IMPERATIVE + r"))\b"
            ),
        }
    ),
)

CUES_BY_LANGUAGE: dict[str, CueTable] = {"en": ENGLISH}
