"""Tell what a sentence of a session does: whether it asks, tells, decides or thanks.

A multinomial logistic regression over readable cues: how the sentence begins, which
words it has, how it is written, who speaks and where it stands. The cues are in
`speech_act_cues.py`, the weights in `speech_acts.json`, which
`theorex eval speech-acts --fit` makes again. Standard library only.

Labels:
    rule: A lasting wish about how work is done.
    task: What is to be done now.
    question: What is asked, without asking for work.
    report: What was done or seen, or is under way.
    decision: A choice between ways, with or without its reason.
    fact: How something is.
    small_talk: Thanks, praise, agreement, apologies, and what only leads on.
    pasted: Logs, code, quoted text and templates.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.patterns import lazy_pattern

if TYPE_CHECKING:
    from theorex_lab.text.speech_act_cues import CueTable

Label = Literal[
    "rule",
    "task",
    "question",
    "report",
    "decision",
    "fact",
    "small_talk",
    "pasted",
]
Speaker = Literal["user", "agent"]
LABELS: tuple[Label, ...] = get_args(Label)
SPEAKERS: tuple[Speaker, ...] = get_args(Speaker)

_WEIGHTS_FILE = "speech_acts.json"
# More characters than these show nothing more of what a sentence does.
_READ_CHARACTERS = 600
# Lead-ins that are taken off a beginning: "ok, now please …" has three.
_LEAD_INS = 5

# Where a statement stands in its message, and how many words it has: (below, feature).
_POSITIONS = (
    (1, "stands first"),
    (4, "stands near the beginning"),
    (10, "stands further on"),
    (math.inf, "stands far on"),
)
_LENGTHS = (
    (4, "has up to three words"),
    (9, "has up to eight words"),
    (21, "has up to twenty words"),
    (41, "has up to forty words"),
    (math.inf, "has more than forty words"),
)
# How a sentence is written, in any language.
_FORMS = {
    "ends in a question mark": lazy_pattern(r"\?[\"')\s!]*$"),
    "has a question mark inside": lazy_pattern(r"\?\s+\S"),
    "ends in a colon": lazy_pattern(r":$"),
    "ends in an exclamation mark": lazy_pattern(r"!$"),
    "ends in a full stop": lazy_pattern(r"\.$"),
    "begins in lower case": lazy_pattern(r"^[^\W\d_A-ZА-ЯЄІЇҐÀ-Þ]"),
    "begins with code": lazy_pattern(r"^`"),
    "begins with a sign": lazy_pattern(r"^[^\w`@#/(\"'“\[<]"),
    "begins with a number": lazy_pattern(r"^[(#]*\d"),
    "begins with a name and a colon": lazy_pattern(r"^`?[\w./ ()-]{2,40}`?: "),
    "begins with a name and a dash": lazy_pattern(r"^.{2,60}? [—–-] "),
    "is a slash command": lazy_pattern(r"^/[A-Za-z][\w:-]*(?:\s|$)"),
    "is only a reference": lazy_pattern(
        r"^(?:ref:)?[@#]\S+(?: \(\d+-\d+\)| [@#]\S+)*$"
    ),
    "has a reference": lazy_pattern(r"@[\w./-]+"),
    "has cells of a table": lazy_pattern(r"; "),
    "has code": lazy_pattern(r"`"),
    "has a key of JSON": lazy_pattern(r"[\"'][\w -]+[\"']\s*:"),
    "has a call or an operator": lazy_pattern(r"\w\(\)|:=|=>|==|&&|\|\||\) \{|</?\w+>"),
    "has a word in capitals": lazy_pattern(r"\b[A-Z]{3,}\b"),
    "has a place in a file": lazy_pattern(r"\b[Ll]ines? \d+|\w+\.\w+:\d+|\bL\d+"),
    "has a link": lazy_pattern(r"https?://"),
    "has words in quotes": lazy_pattern(r"[\"“][^\"”]{2,80}[\"”]"),
}
# What stands before the statement itself: "`main.py` — added …", "Tests: all pass".
_LABEL = lazy_pattern(r".{2,80}?(?: [—–-]|[:;]) ")
_SIGN = lazy_pattern(r"[^\w\s.,'’`?!-]")
_WORD = lazy_pattern(r"[^\W\d_][\w'’]*")
_MANY_SIGNS = 0.08  # share of the characters
_MOST_SIGNS = 0.16


class SpeechAct(NamedTuple):
    """What a sentence does.

    Attributes:
        label: The likeliest label.
        probability: How likely it is, from 0 to 1.
    """

    label: Label
    probability: float


class Model(NamedTuple):
    """The weights of the regression.

    Attributes:
        labels: The labels, in the order of the weights.
        weights: Feature → its weight for each label.
    """

    labels: tuple[Label, ...]
    weights: Mapping[str, tuple[float, ...]]


def classify_sentence(
    sentence: str,
    *,
    speaker: Speaker,
    after: str = "",
    position: int = 0,
    in_quote: bool = False,
) -> SpeechAct:
    """Tell what a sentence does.

    >>> classify_sentence("From now on, never push to main.", speaker="user").label
    'rule'
    >>> classify_sentence("All tests pass.", speaker="agent").label
    'report'

    Args:
        sentence: One statement, without markup but for code spans.
        speaker: Who says it.
        after: What came before its message in the session: `start`, `agent`, `tool`,
            `prompt`, `slash` or `interrupt`; '' where that is unknown.
        position: The number of the statement in its message, from 0.
        in_quote: Whether it is known not to be the speaker's own words.

    Raises:
        InvalidInput: The speaker is another, or the position is below 0.
    """
    features = cue_features(
        sentence, speaker=speaker, after=after, position=position, in_quote=in_quote
    )
    return likeliest_of(features, packaged_model())


def cue_features(
    sentence: str,
    *,
    speaker: Speaker,
    after: str = "",
    position: int = 0,
    in_quote: bool = False,
) -> dict[str, float]:
    """Return the features of a sentence, each with its value.

    The arguments are those of `classify_sentence`. Features that do not hold are left out. A cue
    counts for every speaker, and once more for this one: "Add …" asks for work where a
    user says it, and often tells of a plan where an agent does.

    Raises:
        InvalidInput: The speaker is another, or the position is below 0.
    """
    if speaker not in SPEAKERS:
        raise InvalidInput(
            f"got the speaker {speaker!r}; allowed are {', '.join(SPEAKERS)}"
        )
    if position < 0:
        raise InvalidInput(f"got the position {position}; allowed is 0 or more")
    text = " ".join(sentence[:_READ_CHARACTERS].split())
    cues = [
        *_cues_of_words(text.lower()),
        *_cues_of_form(text),
        _first_below(_POSITIONS, position),
    ]
    if in_quote:
        cues.append("is quoted")
    if after:
        cues.append(f"comes after {after}")
    features = {"always": 1.0, f"{speaker}: always": 1.0}
    for cue in cues:
        features[cue] = 1.0
        features[f"{speaker}: {cue}"] = 1.0
    return features


def likeliest_of(features: Mapping[str, float], model: Model) -> SpeechAct:
    """Return the likeliest label of features by a model."""
    probabilities = probabilities_of(features, model)
    likeliest = max(range(len(probabilities)), key=probabilities.__getitem__)
    return SpeechAct(model.labels[likeliest], probabilities[likeliest])


def probabilities_of(features: Mapping[str, float], model: Model) -> list[float]:
    """Return how likely each label of a model is, in its order."""
    scores = [0.0] * len(model.labels)
    for feature, value in features.items():
        for number, weight in enumerate(model.weights.get(feature, ())):
            scores[number] += weight * value
    highest = max(scores)
    odds = [math.exp(score - highest) for score in scores]
    total = sum(odds)
    return [share / total for share in odds]


@cache
def packaged_model() -> Model:
    """Return the model of the package, read when it is first asked for."""
    path = os.path.join(os.path.dirname(__file__), _WEIGHTS_FILE)
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    weights = {
        feature: tuple(by_label) for feature, by_label in content["weights"].items()
    }
    return Model(tuple(content["labels"]), weights)


def _cues_of_words(text: str) -> list[str]:
    """Return the cues of a sentence's words, in any of the languages."""
    from theorex_lab.text.speech_act_cues import CUES_BY_LANGUAGE

    cues: set[str] = set()
    for table in CUES_BY_LANGUAGE.values():
        opening = _without_lead_in(text, table)
        if opening != text:
            cues.add("has a lead-in")
        cues.update(_opening_cues(opening, table))
        for cue, pattern in table.anywhere.items():
            if pattern.search(text):
                cues.add(cue)
    return sorted(cues)


def _opening_cues(opening: str, table: CueTable) -> list[str]:
    """Return the cues at the beginning, and at that of what follows a name there."""
    starts = [0]
    name = _LABEL.match(opening)
    if name:
        starts.append(name.end())
    cues: list[str] = []
    for start in starts:
        for cue, pattern in table.openings.items():
            if pattern.match(opening, start):
                cues.append(cue)
    return cues


def _without_lead_in(text: str, table: CueTable) -> str:
    for _ in range(_LEAD_INS):
        lead_in = table.lead_in.match(text)
        if lead_in is None or lead_in.end() == len(text):
            break
        text = text[lead_in.end() :]
    return text


def _cues_of_form(text: str) -> list[str]:
    """Return the cues of how a sentence is written."""
    cues = [cue for cue, pattern in _FORMS.items() if pattern.search(text)]
    cues.append(_first_below(_LENGTHS, len(_WORD.findall(text))))
    share_of_signs = len(_SIGN.findall(text)) / max(len(text), 1)
    if share_of_signs > _MANY_SIGNS:
        cues.append("has many signs")
    if share_of_signs > _MOST_SIGNS:
        cues.append("is mostly signs")
    return cues


def _first_below(steps: tuple[tuple[float, str], ...], number: int) -> str:
    """Return the feature of the first step that a number is below."""
    return next(feature for below, feature in steps if number < below)
