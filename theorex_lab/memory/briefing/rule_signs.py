"""Weigh the signs for and against a sentence being a standing rule.

A sign is a number by name; `WEIGHTS` says what it adds. Standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.remembering import remembered
from theorex_lab.memory.briefing import rule_cues as cues
from theorex_lab.memory.briefing.rule_wording import is_objection
from theorex_lab.text.caseless import CaselessTest, lower_case
from theorex_lab.text.wording import specifics

# What each feature adds to the log odds that a maintainer keeps the rule.
WEIGHTS: Mapping[str, float] = {
    "wish": 0.6,
    "every_time": 1.0,
    "negative": 0.5,
    "ought": 0.4,
    "practice": 0.9,
    "specific": -0.35,
    "name": -0.35,
    "role": 1.0,
    "task": -1.3,
    "deictic": -0.5,
    "long": -0.6,
    "short": -0.3,
    "pronoun": -0.8,
    "objection": -0.5,
    "correction": 0.6,
    "recorded": 1.6,
    "obeyed": 1.1,
    "reported": 1.7,
    "interrupted": 0.3,
    "standing": 3.0,
    "template": -0.6,
    "unasked": -1.0,
    "repeated": -0.2,
    "summary": 1.4,
    "reminder": 0.6,
}
_SHORTEST_WORDING = 10
_MANY_WORDS = 28
_FEW_WORDS = 5
_MOST_PRACTICES = 3  # more words of practice do not make a rule more general
_PRACTICE_POWER = 0.8
_SURELY_OF_PRODUCT = 1.5  # more than the generality of one word of practice
_MOST_SPECIFICS = 3
# Names in a rule that has no word of practice; with more it is of the work at hand.
_MOST_OF_PRACTICE = 2
# A third of the sentences of users and agents come again.
_REMEMBERED_TEXTS = 1 << 13
# What is quoted within a sentence is another's.
_QUOTATION = lazy_pattern(r"[\"“][^\"”]{5,}[\"”]")
# A capitalised word within a sentence: mostly the name of a product or a part of it.
_NAME = lazy_pattern(r"(?<=[a-z,] )(?:[A-Z][a-z]+)\b")


def score_of(signs: Mapping[str, float]) -> float:
    """Return the sum of signs, each with its weight."""
    score = 0.0
    for name, value in signs.items():
        score += WEIGHTS.get(name, 0.0) * value
    return score


@remembered(_REMEMBERED_TEXTS)
def wish_signs(wording: str) -> Mapping[str, float]:
    """Return the signs for and against a rule that its wording holds."""
    n_specifics = len(specifics(wording))
    wording = _QUOTATION.sub(" ", wording)
    lower = lower_case(wording)
    n_words = len(wording.split())
    n_names = len(_NAME.findall(wording))
    every_time = _has(cues.EVERY_TIME, wording, lower)
    task = 0.0
    if not every_time:
        task = max(
            _has(cues.TASK, wording, lower), _has(cues.SECOND_TASK, wording, lower)
        )
    wish = 0.0
    if not task and _begins_as_wish(wording, lower):
        wish = 1.0
    signs = {
        "wish": wish,
        "every_time": every_time,
        "negative": _has(cues.NEGATION, wording, lower),
        "contrast": _has(cues.CONTRAST, wording, lower),
        "universal": _has(cues.MANNER, wording, lower),
        "ought": _has(cues.OUGHT, wording, lower),
        "practice": _generality(wording, lower),
        "specific": float(min(n_specifics, _MOST_SPECIFICS)),
        "name": float(min(n_names, _MOST_SPECIFICS)),
        "role": _has(cues.ROLE, wording, lower),
        "task": task,
        "product": _of_product(wording),
        "deictic": _has(cues.DEICTIC, wording, lower),
        "long": float(n_words > _MANY_WORDS),
        "short": float(n_words < _FEW_WORDS),
        "pronoun": _has(cues.BEGINS_WITH_PRONOUN, wording, lower),
        "objection": float(is_objection(wording)),
    }
    return MappingProxyType(signs)


def _has(cue: CaselessTest, wording: str, lower: str | None) -> float:
    """Return 1 where a wording holds a cue, otherwise 0; `lower` as `is_in` takes it."""
    return float(cue.is_in(wording, lower))


def _of_product(wording: str) -> float:
    """Return how surely a wish is about what the product does; 0 for another one.

    "Make sure that rows …" names what rows do, and one word of practice is no rule yet.
    """
    match = cues.PRODUCT_WISH.match(wording)
    if match is None:
        return 0.0
    return _SURELY_OF_PRODUCT if match["sure"] else 1.0


def _generality(wording: str, lower: str | None) -> float:
    """Return how much a wording speaks of how any work is done."""
    if lower is None:
        practices = set()
        for practice in cues.PRACTICE.findall(wording):
            practices.add(practice.lower())
    else:
        practices = set(cues.PRACTICE_IN_LOWER_CASE.findall(lower))
    n_practices = min(len(practices), _MOST_PRACTICES)
    return math.pow(n_practices, _PRACTICE_POWER)


def _begins_as_wish(wording: str, lower: str | None) -> bool:
    """Return whether a sentence begins with a verb that says how to work."""
    if cues.WISH.is_in(wording, lower):
        return True
    is_either = cues.WISH_OR_TASK.is_in(wording, lower)
    return is_either and cues.MANNER.is_in(wording, lower)


def states_a_wish(wording: str, signs: Mapping[str, float], sentence: str) -> bool:
    """Return whether a sentence says how work is to be done.

    Args:
        wording: The sentence as a rule.
        signs: The signs of that.
        sentence: The sentence as it was said.
    """
    if len(wording) < _SHORTEST_WORDING or not _is_of_work(signs):
        return False
    if _is_beside_the_point(wording, signs):
        return False
    if signs["objection"]:
        return not signs["deictic"]
    if sentence.rstrip().endswith("?"):
        return bool(signs["wish"])
    if signs["wish"] or signs["ought"] or signs["role"]:
        return True
    # "Run the linter after every change", but not "The root is always set".
    return bool(signs["every_time"]) and cues.TASK.is_in(wording)


def _is_of_work(signs: Mapping[str, float]) -> bool:
    """Return whether a sentence speaks of how work is done, or holds for ever."""
    if signs["task"]:
        return False
    if signs["product"] > signs["practice"] + signs["every_time"]:
        return False
    if signs["practice"]:
        return True
    if signs["product"] or signs["specific"] > _MOST_OF_PRACTICE:
        return False
    return bool(signs["wish"]) and bool(signs["every_time"] or signs["contrast"])


def _is_beside_the_point(wording: str, signs: Mapping[str, float]) -> bool:
    """Return whether a sentence is small talk, or does not stand alone."""
    if cues.SMALL_TALK.is_in(wording) or cues.WITHOUT_REFERENT.is_in(wording):
        return True
    if signs["pronoun"] and not signs["every_time"]:
        return True
    return cues.RECORD_REQUEST.is_in(wording) and cues.TASK.is_in(wording)
