"""Leave out what a user said of how to work and took back later.

A later word takes a rule back that says the contrary on the same subject, or puts
something else in its place. Only a user's own word does so, never an agent's. Standard
library only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.memory.briefing.rule_sayings import Saying, Source
from theorex_lab.text.directives import Directive, directive_of, reverses
from theorex_lab.text.spoken import Span

# What a saying says of when it holds. English.
_CONDITION = lazy_pattern(
    r"\b(?:when|whenever|if|while|during|unless|in case|as long as)\b", re.I
)
# What says that something is done otherwise than before. English.
_CHANGE = lazy_pattern(
    r"\b(?:from now on|instead of|in place of|no longer|not? .{0,40}any ?more|rather than"
    r"|switch(?:ed)? (?:back )?to|stop \w+ing|(?:forget|drop|ignore) (?:that|the|my) rule"
    r"|changed? my mind|after all|going forward)\b",
    re.I,
)
# Whose words may take a rule back.
_USERS: frozenset[Source] = frozenset({"own", "repeated"})
_Reversal = tuple[Saying, Directive]


def standing_sayings(
    sayings: Sequence[Saying], later: Sequence[Saying] = ()
) -> list[Saying]:
    """Return the sayings that no later one of the user's takes back.

    Args:
        sayings: What may state a rule.
        later: Sayings of elsewhere that may take these back too.
    """
    by_stem: dict[str, list[_Reversal]] = defaultdict(list)
    for reversal in [*_reversing(sayings), *_reversing(later)]:
        _, reversing = reversal
        stems = reversing.subject | reversing.replaces
        for stem in stems:
            by_stem[stem].append(reversal)
    if not by_stem:
        return list(sayings)
    standing: list[Saying] = []
    for saying in sayings:
        directive = _directive(saying)
        if directive is None or not _is_taken_back(saying, directive, by_stem):
            standing.append(saying)
    return standing


def _reversing(sayings: Sequence[Saying]) -> list[_Reversal]:
    """Return the sayings that may take a rule back, each as a directive.

    They are the user's own, hold beyond the moment and say a change. Few say one, and
    every other saying is compared with each of them.
    """
    reversing: list[_Reversal] = []
    for saying in sayings:
        if saying.source not in _USERS or not _says_a_change(saying):
            continue
        directive = _directive(saying)
        if directive is not None and directive.stands:
            reversing.append((saying, directive))
    return reversing


def _directive(saying: Saying) -> Directive | None:
    """Return what a saying tells an agent to do; None for no directive."""
    text = saying.text
    sentence = Span(0, len(text), text)
    return directive_of(sentence)


def _is_taken_back(
    saying: Saying,
    directive: Directive,
    by_stem: dict[str, list[_Reversal]],
) -> bool:
    """Return whether a later directive on one of its words takes a saying back."""
    for stem in directive.subject:
        for later, later_directive in by_stem.get(stem, ()):
            if later.at <= saying.at or not reverses(later_directive, directive):
                continue
            if _is_as_general(later, saying):
                return True
    return False


def _says_a_change(later: Saying) -> bool:
    """Return whether a saying says that something is done otherwise than before.

    Two wordings of one rule may look like contraries: "never add one unasked", "always
    ask before you add one".
    """
    return _CHANGE.search(later.text) is not None


def _is_as_general(later: Saying, saying: Saying) -> bool:
    """Return whether a later saying holds wherever an earlier one does.

    What holds under a condition takes back nothing that holds without one.
    """
    is_conditional = _CONDITION.search(later.text) is not None
    return not is_conditional or _CONDITION.search(saying.text) is not None
