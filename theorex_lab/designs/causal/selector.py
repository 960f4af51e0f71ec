"""Which gene to try: those whose patterns fit the signals, by what is known of them, or drawn by drift."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theorex_lab.designs.causal import FAILED
from theorex_lab.designs.causal.advice import get_advice
from theorex_lab.designs.causal.capture import checked_id
from theorex_lab.designs.causal.graph import assets_of
from theorex_lab.designs.causal.items import causal_settings
from theorex_lab.designs.causal.keys import checked_signals, normalized_signals
from theorex_lab.designs.causal.outcomes import at_most, number_of
from theorex_lab.errors import InvalidInput
from theorex_lab.home import Home

Gene = Mapping[str, Any]
DISTILLED = "gene_distilled_"
_DISTILLED_WEIGHT, MOST_BOOST = 0.8, 0.5
_MOST_PATTERNS, _MOST_ALTERNATIVES, _MOST_NOTES = 64, 4, 8
_OVERLAP, _FAILURES = 0.6, 2
_EXPLICIT_DRIFT, _DRIFT_OF_ONE = 0.3, 0.7
# A regex comes from whoever told the gene: it is tried where it needs few steps at the worst, and no groups repeat.
_REGEX, _PATTERN_CHARACTERS, _TEXT_CHARACTERS = re.compile(r"/(.+)/([a-z]*)", re.S), 400, 200
_STEPS_OF_ALL = 5e7
_STRANGE = re.compile(r"\\[1-9]|\[\^?\[|--|&&|~~|\|\|")
_ONE_SIGN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.S)
_REFUSED = re.compile(r"\(\?(?!:)|\)(?:[*+{]|\?[*+{])")
_FLAGS = {"i": re.I, "m": re.M, "s": re.S, "g": re.NOFLAG, "u": re.NOFLAG}


@dataclass(frozen=True)
class Selection:
    """A gene that was chosen. selected: None where none fits and may be tried.  alternatives: the next ones, best first.

    selected_by: selector; memory_graph+selector, where it is the one that advice prefers; selector+drift, where it was
    drawn.  drift: whether drift was on.  intensity: of drift, 0..1.  banned: ids that were left out.  why: what is to be said of it.
    """

    selected: Gene | None
    alternatives: list[Gene]
    selected_by: str
    drift: bool
    intensity: float
    banned: frozenset[str]
    why: list[str]

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it, and `record_attempt` takes it as its selector: genes by their ids."""
        ids = [gene["id"] for gene in self.alternatives]
        chosen = self.selected["id"] if self.selected else None
        return {**vars(self), "selected": chosen, "alternatives": ids, "banned": sorted(self.banned)}


class Matcher:
    """Signals against which patterns are tried; `notes` says which patterns were left aside, and why."""

    def __init__(self, signals: Iterable[str]) -> None:
        self.signals, self.notes = list(signals), list[str]()
        self._lower = [signal.lower() for signal in self.signals]
        self._left, self._known = _STEPS_OF_ALL, dict[str, bool]()

    def hits(self, pattern: str) -> bool:
        """Whether a signal fits: a regular expression as `/…/flags`, one of several words as `a|b`, or a word; case counts in the first alone.

        >>> matcher = Matcher(["errsig:TypeError: undefined"])
        >>> [matcher.hits(pattern) for pattern in ("typeerror", "timeout|undefined", r"/type\\w+/i", "/type/", "/(a+)+b/")]
        [True, True, True, False, False]
        >>> matcher.notes
        ['/(a+)+b/: a group is repeated, or looks around']
        """
        if pattern not in self._known:
            regex = _REGEX.fullmatch(pattern[: 2 * _PATTERN_CHARACTERS])
            self._known[pattern] = self._fits(pattern, *regex.groups()) if regex else self._holds(pattern)
        return self._known[pattern]

    def _holds(self, pattern: str) -> bool:
        words = [word.strip().lower() for word in pattern[:_PATTERN_CHARACTERS].split("|")]
        return any(word in signal for word in words if word for signal in self._lower)

    def _fits(self, pattern: str, regex: str, flags: str) -> bool:
        texts = [signal[:_TEXT_CHARACTERS] for signal in self.signals]
        try:
            if (steps := sum(_steps(regex, flags, len(text)) for text in texts)) > self._left:
                raise InvalidInput("it may need too many steps")
            self._left -= steps
            compiled = re.compile(regex, sum((_FLAGS[flag] for flag in set(flags)), re.NOFLAG))
        except (InvalidInput, re.error, OverflowError) as error:
            self.notes += [f"{pattern[:80]}: {error}"] if len(self.notes) < _MOST_NOTES else []
            return False
        return any(compiled.search(text) for text in texts)


def _steps(regex: str, flags: str, characters: int) -> float:
    """How many steps a search of a text may take at the worst. Raises InvalidInput for what is not tried at all."""
    if len(regex) > _PATTERN_CHARACTERS or not _FLAGS.keys() >= set(flags) or _STRANGE.search(regex):
        what = "other flags than imsgu, a reference to itself, or signs that are kept for sets"
        raise InvalidInput(f"it has over {_PATTERN_CHARACTERS} characters, {what}")
    plain = _ONE_SIGN.sub("x", regex)
    if _REFUSED.search(plain):
        raise InvalidInput("a group is repeated, or looks around")
    # Each repetition ends at any character after the one before; an option doubles the ways, a group has as many as alternatives.
    repeated, groups = len(re.findall(r"[*+{]", plain)) + 1, plain.count("(") + 1
    ways = 2.0 ** plain.count("?") * (plain.count("|") / groups + 1) ** groups
    return float((characters + len(regex)) ** repeated) / math.factorial(repeated) * ways


def match_score(gene: Gene, matcher: Matcher) -> float:
    """How many of a gene's patterns fit, .8 of it for a distilled one; with its boost where any does."""
    hits = sum(map(matcher.hits, list(dict.fromkeys(texts_in(gene, "signals_match")))[:_MOST_PATTERNS]))
    weight = _DISTILLED_WEIGHT if gene["id"].startswith(DISTILLED) else 1.0
    return max(0.01, hits * weight + boost_of(gene)) if hits else 0.0


def texts_in(asset: Mapping[str, Any], name: str) -> list[str]:
    """The texts in a member of an asset, which is a text or a list; another value has none."""
    value = asset.get(name)
    found = value if isinstance(value, list | tuple) else [value]
    return [text for text in found if isinstance(text, str)]


def boost_of(gene: Gene) -> float:
    """What a gene's epigenetic marks add to its score, -.5 to .5: those of the context '', others are another's.

    >>> boost_of({"epigenetic_marks": [{"context": "", "boost": 0.1}, {"context": "linux", "boost": 0.3}]})
    0.1
    """
    own = [mark for mark in marks_in(gene) if mark.get("context") == ""]
    return at_most(sum(number_of(mark, "boost") or 0.0 for mark in own), MOST_BOOST)


def marks_in(gene: Gene) -> list[Mapping[str, Any]]:
    """The epigenetic marks of a gene."""
    marks = gene.get("epigenetic_marks")
    return [mark for mark in marks if isinstance(mark, Mapping)] if isinstance(marks, list | tuple) else []


def overlap(wanted: Iterable[str], there: Iterable[str]) -> float:
    """The share of signals that are there, 0..1; 0 where none is wanted.

    >>> overlap(["log_error", "slow"], ["slow"])
    0.5
    """
    parts = set(normalized_signals(wanted))
    return len(parts.intersection(normalized_signals(there))) / len(parts) if parts else 0.0


def failed_genes(capsules: Iterable[Mapping[str, Any]], signals: Sequence[str]) -> frozenset[str]:
    """The genes of two or more capsules that failed under signals which have .6 or more of these."""
    failed = [it for it in capsules if isinstance(said := it.get("outcome"), Mapping) and said.get("status") == FAILED]
    found = Counter(str(it.get("gene")) for it in failed if overlap(signals, texts_in(it, "trigger")) >= _OVERLAP)
    return frozenset(gene for gene, failures in found.items() if failures >= _FAILURES)


def drift_intensity(genes: int, *, explicit: bool) -> float:
    """How strongly chance rules among so many genes, 0..1: 1/√N, and .3 more where drift is on; .7 for one gene.

    >>> drift_intensity(4, explicit=False), drift_intensity(4, explicit=True), drift_intensity(1, explicit=True)
    (0.5, 0.8, 0.7)
    """
    if explicit and genes <= 1:
        return _DRIFT_OF_ONE
    return min(1.0, 1.0 / math.sqrt(max(genes, 1)) + (_EXPLICIT_DRIFT if explicit else 0.0))


def select_gene(home: Home, signals: Sequence[str], genes: Sequence[Gene] | None = None, *, drift_enabled: bool = False,
                seed: int | np.random.Generator = 0) -> Selection:  # fmt: skip
    """Choose the gene to try for signals, among these or those that are known.

    Only genes whose patterns fit can be chosen: the one of them that advice prefers, else the one with the most patterns that
    fit, drawn among equals. What advice bans, or two failed capsules, is left out however few genes there are. With drift on,
    here or in the settings, bans are left aside, and the gene is drawn among the best, as many as the intensity says.
    Raises InvalidInput as `get_advice`, and for a gene without an id.
    """
    given = checked_signals(signals)
    pool = {checked_id("gene", gene.get("id")): gene for gene in (assets_of(home) if genes is None else genes)}
    drift, matcher = drift_enabled or causal_settings(home).drift, Matcher(given)
    scores = {name: score for name, gene in pool.items() if (score := match_score(gene, matcher))}
    advice = get_advice(home, given, list(scores), drift)
    failed = frozenset() if drift else failed_genes(assets_of(home, genes=False, own=True), given)
    banned = advice.banned_gene_ids | (failed & scores.keys())
    preferred = None if advice.preferred_gene_id in banned else advice.preferred_gene_id
    order = sorted(scores.keys() - banned, key=lambda name: (name != preferred, -scores[name], name))
    intensity = drift_intensity(len(pool), explicit=drift)
    among = order[: max(2, math.ceil(len(order) * intensity))]
    if not drift:  # chance decides between equals alone
        among = order[:1] if preferred else [name for name in among if scores[name] == scores[among[0]]]
    told = [*advice.explanation, *matcher.notes]
    if not among:
        return Selection(None, [], "selector", drift, intensity, banned, [*told, "no gene fits that may be tried"])
    chosen = among[int(np.random.default_rng(seed).integers(len(among)))]
    by = "selector+drift" if drift else "memory_graph+selector" if preferred else "selector"
    others = [pool[name] for name in order if name != chosen][:_MOST_ALTERNATIVES]
    return Selection(pool[chosen], others, by, drift, intensity, banned, told)
