"""Genes and capsules: chosen for signals, recorded, marked by what came of them,
distilled from successes.

Chosen are those whose patterns fit the signals, by what is known of them, or drawn by
drift. What genes tell to do is data: it is shown, and never done.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_agent
from theorex_lab.designs.causal import FAILED, SIGNALS
from theorex_lab.designs.causal.advice import get_advice, is_banned, records
from theorex_lab.designs.causal.capture import (
    CATEGORIES,
    asset_event,
    asset_id,
    at_most,
    checked_fraction,
    checked_id,
    number_of,
)
from theorex_lab.designs.causal.graph import Graph, assets_of
from theorex_lab.designs.causal.items import gene_text
from theorex_lab.designs.causal.keys import (
    ERROR_SIGNAL,
    checked_signals,
    normalized_signals,
    stable_hash,
    trimmed,
)
from theorex_lab.designs.causal.settings import causal_settings
from theorex_lab.memory.contract import Home
from theorex_lab.memory.evidence import evidence_view
from theorex_lab.memory.intervals import wilson_of_one
from theorex_lab.memory.observation import TRUST

Gene = Mapping[str, Any]
DISTILLED = "gene_distilled_"
_DISTILLED_WEIGHT = 0.8
MOST_BOOST = 0.5
_MOST_PATTERNS = 64
_MOST_ALTERNATIVES = 4
_MOST_NOTES = 8
_OVERLAP = 0.6
_FAILURES = 2
_EXPLICIT_DRIFT = 0.3
_DRIFT_OF_ONE = 0.7
# A regex comes from whoever told the gene: it is tried where it needs few steps at the
# worst, and no groups repeat.
_REGEX = re.compile(r"/(.+)/([a-z]*)", re.S)
_PATTERN_CHARACTERS = 400
_TEXT_CHARACTERS = 200
_STEPS_OF_ALL = 5e7
_STRANGE = re.compile(r"\\[1-9]|\[\^?\[|--|&&|~~|\|\|")
_ONE_SIGN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.S)
_REFUSED = re.compile(r"\(\?(?!:)|\)(?:[*+{]|\?[*+{])")
_FLAGS = {"i": re.I, "m": re.M, "s": re.S, "g": re.NOFLAG, "u": re.NOFLAG}


@dataclass(frozen=True)
class GeneSelection:
    """A gene that was chosen. selected: None where none fits and may be tried.
    alternatives: the next ones, best first.

    selected_by: selector; memory_graph+selector, where it is the one that advice
    prefers; selector+drift, where it was drawn.  drift: whether drift was on.
    intensity: of drift, 0..1.  banned: ids that were left out.  why: what is to be said
    of it.
    """

    selected: Gene | None
    alternatives: list[Gene]
    selected_by: str
    drift: bool
    intensity: float
    banned: frozenset[str]
    why: list[str]

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it, and `record_attempt` takes it as its selector: genes by
        their ids.
        """
        ids = [gene["id"] for gene in self.alternatives]
        chosen = self.selected["id"] if self.selected else None
        return {
            **vars(self),
            "selected": chosen,
            "alternatives": ids,
            "banned": sorted(self.banned),
        }


class Matcher:
    """Signals against which patterns are tried; `notes` says which patterns were left
    aside, and why.
    """

    def __init__(self, signals: Iterable[str]) -> None:
        self.signals = list(signals)
        self.notes = list[str]()
        self._lower = [signal.lower() for signal in self.signals]
        self._left = _STEPS_OF_ALL
        self._known = dict[str, bool]()

    def hits(self, pattern: str) -> bool:
        """Whether a signal fits: a regular expression as `/…/flags`, one of several
        words as `a|b`, or a word; case counts in the first alone.

        >>> matcher = Matcher(["errsig:TypeError: undefined"])
        >>> [
        ...     matcher.hits(pattern)
        ...     for pattern in (
        ...         "typeerror",
        ...         "timeout|undefined",
        ...         r"/type\\w+/i",
        ...         "/type/",
        ...         "/(a+)+b/",
        ...     )
        ... ]
        [True, True, True, False, False]
        >>> matcher.notes
        ['/(a+)+b/: a group is repeated, or looks around']
        """
        if pattern not in self._known:
            regex = _REGEX.fullmatch(pattern[: 2 * _PATTERN_CHARACTERS])
            self._known[pattern] = (
                self._fits(pattern, *regex.groups()) if regex else self._holds(pattern)
            )
        return self._known[pattern]

    def _holds(self, pattern: str) -> bool:
        words = [
            word.strip().lower() for word in pattern[:_PATTERN_CHARACTERS].split("|")
        ]
        return any(word in signal for word in words if word for signal in self._lower)

    def _fits(self, pattern: str, regex: str, flags: str) -> bool:
        texts = [signal[:_TEXT_CHARACTERS] for signal in self.signals]
        try:
            if (
                steps := sum(_steps(regex, flags, len(text)) for text in texts)
            ) > self._left:
                raise InvalidInput("it may need too many steps")
            self._left -= steps
            compiled = re.compile(
                regex, sum((_FLAGS[flag] for flag in set(flags)), re.NOFLAG)
            )
        except (InvalidInput, re.error, OverflowError) as error:
            self.notes += (
                [f"{pattern[:80]}: {error}"] if len(self.notes) < _MOST_NOTES else []
            )
            return False
        return any(compiled.search(text) for text in texts)


def _steps(regex: str, flags: str, characters: int) -> float:
    """How many steps a search of a text may take at the worst. Raises InvalidInput for
    what is not tried at all.
    """
    if (
        len(regex) > _PATTERN_CHARACTERS
        or not _FLAGS.keys() >= set(flags)
        or _STRANGE.search(regex)
    ):
        what = (
            "other flags than imsgu, a reference to itself, or signs that are kept for"
            " sets"
        )
        raise InvalidInput(f"it has over {_PATTERN_CHARACTERS} characters, {what}")
    plain = _ONE_SIGN.sub("x", regex)
    if _REFUSED.search(plain):
        raise InvalidInput("a group is repeated, or looks around")
    # Each repetition ends at any character after the one before; an option doubles the
    # ways, a group has as many as alternatives.
    repeated = len(re.findall(r"[*+{]", plain)) + 1
    groups = plain.count("(") + 1
    ways = 2.0 ** plain.count("?") * (plain.count("|") / groups + 1) ** groups
    return (
        float((characters + len(regex)) ** repeated) / math.factorial(repeated) * ways
    )


def match_score(gene: Gene, matcher: Matcher) -> float:
    """How many of a gene's patterns fit, .8 of it for a distilled one; with its boost
    where any does.
    """
    hits = sum(
        map(
            matcher.hits,
            list(dict.fromkeys(texts_in(gene, "signals_match")))[:_MOST_PATTERNS],
        )
    )
    weight = _DISTILLED_WEIGHT if gene["id"].startswith(DISTILLED) else 1.0
    return max(0.01, hits * weight + boost_of(gene)) if hits else 0.0


def texts_in(asset: Mapping[str, Any], name: str) -> list[str]:
    """The texts in a member of an asset, which is a text or a list; another value has
    none.
    """
    value = asset.get(name)
    found = value if isinstance(value, list | tuple) else [value]
    return [text for text in found if isinstance(text, str)]


def boost_of(gene: Gene) -> float:
    """What a gene's epigenetic marks add to its score, -.5 to .5: those of the context
    '', others are another's.

    >>> boost_of(
    ...     {
    ...         "epigenetic_marks": [
    ...             {"context": "", "boost": 0.1},
    ...             {"context": "linux", "boost": 0.3},
    ...         ]
    ...     }
    ... )
    0.1
    """
    own = [mark for mark in marks_in(gene) if mark.get("context") == ""]
    return at_most(sum(number_of(mark, "boost") or 0.0 for mark in own), MOST_BOOST)


def marks_in(gene: Gene) -> list[Mapping[str, Any]]:
    """The epigenetic marks of a gene."""
    marks = gene.get("epigenetic_marks")
    return (
        [mark for mark in marks if isinstance(mark, Mapping)]
        if isinstance(marks, list | tuple)
        else []
    )


def overlap(wanted: Iterable[str], there: Iterable[str]) -> float:
    """The share of signals that are there, 0..1; 0 where none is wanted.

    >>> overlap(["log_error", "slow"], ["slow"])
    0.5
    """
    parts = set(normalized_signals(wanted))
    return (
        len(parts.intersection(normalized_signals(there))) / len(parts)
        if parts
        else 0.0
    )


def failed_genes(
    capsules: Iterable[Mapping[str, Any]], signals: Sequence[str]
) -> frozenset[str]:
    """The genes of two or more capsules that failed under signals which have .6 or more
    of these.
    """
    failed = [
        it
        for it in capsules
        if isinstance(said := it.get("outcome"), Mapping)
        and said.get("status") == FAILED
    ]
    found = Counter(
        str(it.get("gene"))
        for it in failed
        if overlap(signals, texts_in(it, "trigger")) >= _OVERLAP
    )
    return frozenset(gene for gene, failures in found.items() if failures >= _FAILURES)


def drift_intensity(genes: int, *, explicit: bool) -> float:
    """How strongly chance rules among so many genes, 0..1: 1/√N, and .3 more where
    drift is on; .7 for one gene.

    >>> (
    ...     drift_intensity(4, explicit=False),
    ...     drift_intensity(4, explicit=True),
    ...     drift_intensity(1, explicit=True),
    ... )
    (0.5, 0.8, 0.7)
    """
    if explicit and genes <= 1:
        return _DRIFT_OF_ONE
    return min(
        1.0, 1.0 / math.sqrt(max(genes, 1)) + (_EXPLICIT_DRIFT if explicit else 0.0)
    )


def select_gene(
    home: Home,
    signals: Sequence[str],
    genes: Sequence[Gene] | None = None,
    *,
    drift_enabled: bool = False,
    seed: int | np.random.Generator = 0,
) -> GeneSelection:
    """Choose the gene to try for signals, among these or those that are known.

    Only genes whose patterns fit can be chosen: the one of them that advice prefers,
    else the one with the most patterns that fit, drawn among equals. What advice bans,
    or two failed capsules, is left out however few genes there are. With drift on, here
    or in the settings, bans are left aside, and the gene is drawn among the best, as
    many as the intensity says. Raises InvalidInput as `get_advice`, and for a gene
    without an id.
    """
    given = checked_signals(signals)
    pool = {
        checked_id("gene", gene.get("id")): gene
        for gene in (assets_of(home) if genes is None else genes)
    }
    drift = drift_enabled or causal_settings(home).drift
    matcher = Matcher(given)
    scores = {
        name: score
        for name, gene in pool.items()
        if (score := match_score(gene, matcher))
    }
    advice = get_advice(home, given, list(scores), drift)
    failed = (
        frozenset()
        if drift
        else failed_genes(assets_of(home, genes=False, own=True), given)
    )
    banned = advice.banned_gene_ids | (failed & scores.keys())
    preferred = None if advice.preferred_gene_id in banned else advice.preferred_gene_id
    order = sorted(
        scores.keys() - banned,
        key=lambda name: (name != preferred, -scores[name], name),
    )
    intensity = drift_intensity(len(pool), explicit=drift)
    among = order[: max(2, math.ceil(len(order) * intensity))]
    if not drift:  # chance decides between equals alone
        among = (
            order[:1]
            if preferred
            else [name for name in among if scores[name] == scores[among[0]]]
        )
    told = [*advice.explanation, *matcher.notes]
    if not among:
        return GeneSelection(
            None,
            [],
            "selector",
            drift,
            intensity,
            banned,
            [*told, "no gene fits that may be tried"],
        )
    chosen = among[int(np.random.default_rng(seed).integers(len(among)))]
    by = (
        "selector+drift"
        if drift
        else "memory_graph+selector"
        if preferred
        else "selector"
    )
    others = [pool[name] for name in order if name != chosen][:_MOST_ALTERNATIVES]
    return GeneSelection(pool[chosen], others, by, drift, intensity, banned, told)


Asset = dict[str, Any]
TYPES = ("Gene", "Capsule")
_TEXTS = {"signals_match", "trigger", "strategy", "preconditions", "validation"}
_ASSET_CHARACTERS = 64_000
_MOST_TEXTS = 64
_NEW = 0.1
_REINFORCED = 0.05
_FAILED = -0.1
_FEWEST = 10
_GOOD_SCORE = 0.7
_MOST_READ = 500
_MOST_STEPS = 12
_TASK_LIKENESS = 0.15
_ANY_LIKENESS = 1e-6


def checked_asset(asset: Mapping[str, Any], kind: str = "") -> Asset:
    """A gene or a capsule with its type, without its asset_id. Members that are not
    known stay as they are.

    Raises InvalidInput for another type or category, an id as `capture.checked_id`, a
    list that holds other things than up to 64 texts, a confidence outside 0..1, and
    what is no JSON of up to 64,000 characters.
    """
    found = {"type": kind, **asset, "id": checked_id("asset", asset.get("id"))}
    found.pop("asset_id", None)
    allowed = (
        "; allowed is a Gene or a Capsule in JSON of up to 64,000 characters, with"
        " lists of up to 64 texts"
    )
    if found["type"] not in ((kind,) if kind else TYPES) or found.get(
        "category"
    ) not in (None, *CATEGORIES):
        raise InvalidInput(
            f"got the type {found['type']!r:.60}, category"
            f" {found.get('category')!r:.60}{allowed}"
        )
    for name in found.keys() & _TEXTS:
        given = found[name]
        texts = texts_in(found, name)
        if len(texts) > _MOST_TEXTS or texts != (
            list(given) if isinstance(given, list | tuple) else [given]
        ):
            raise InvalidInput(f"got {name}={given!r:.100}{allowed}")
        found[name] = texts
    checked_fraction("confidence", found.get("confidence", 0.0))
    try:
        size = len(json.dumps(found, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"got an asset that is no JSON ({error}){allowed}"
        ) from error
    if size > _ASSET_CHARACTERS:
        raise InvalidInput(f"got {size:,} characters{allowed}")
    return found


def record_gene(
    home: Home, gene: Mapping[str, Any], *, source: str = "agent", agent: str = "main"
) -> Asset:
    """Record a gene as it is from now on; returns it with its asset_id. One that is
    known just so is not recorded again.

    Raises InvalidInput as `checked_asset`, for another source than those of `TRUST`,
    and for the id of a capsule.
    """
    return _record(home, checked_asset(gene, "Gene"), home.project, source, agent)


def record_capsule(
    home: Home,
    capsule: Mapping[str, Any],
    *,
    source: str = "agent",
    agent: str = "main",
) -> Asset:
    """Record a capsule, as `record_gene` does a gene."""
    return _record(home, checked_asset(capsule, "Capsule"), home.project, source, agent)


def _record(
    home: Home,
    asset: Asset,
    project: str,
    source: str,
    agent: str,
    lineage: Sequence[str] = (),
) -> Asset:
    if source not in TRUST:
        raise InvalidInput(f"got the source {source!r}; allowed are {', '.join(TRUST)}")
    now = home.clock.now()
    event = asset_event(
        asset,
        source=source,
        project=project,
        agent=check_agent(agent),
        at=now,
        lineage=lineage,
    )
    told = event.body["asset"]
    made = event.body["asset_id"]
    with home.views.reading(Graph) as view:
        if (number := view.ids.find(told["id"])) is not None:
            old = json.loads(view.assets[int(view.known["place"][number])])
            own = view.known["own"][number]
            if old["type"] != told["type"]:
                other = f"got the id {told['id']!r}, which a {old['type']} has"
                raise InvalidInput(f"{other}; give the {told['type']} one of its own")
            if (
                own
                and asset_id(old) == made
                and view.projects[int(view.known["project"][number])] == project
            ):
                return {**told, "asset_id": made}
    home.journal.append([event])
    return {**told, "asset_id": made}


def boost_after(outcomes: Iterable[bool]) -> float:
    """What a gene's score gains by its outcomes in order: the first success gives .1,
    further ones .05, a failure takes .1.

    >>> boost_after([True, True, False])
    0.05
    """
    boost = 0.0
    for place, success in enumerate(outcomes):
        change = _FAILED if not success else _REINFORCED if place else _NEW
        boost = round(at_most(boost + change, MOST_BOOST), 6)
    return boost


def mark_genes(home: Home) -> int:
    """Record the genes whose mark changed by outcomes since; returns how many. Marks of
    other contexts than '' stay.
    """
    with home.views.reading(Graph) as view:
        lived, failed = view.lived["gene"], view.lived["failed"]
        outcomes = {
            name: ~failed[lived == number] for number, name in enumerate(view.genes)
        }
        known = [gene for gene in assets_of(home, own=True) if gene["id"] in outcomes]
        projects = [
            view.projects[int(view.known["project"][view.ids.numbers(gene["id"])[0]])]
            for gene in known
        ]
    changed = 0
    for gene, project in zip(known, projects, strict=True):
        mark = {"context": "", "boost": boost_after(outcomes[gene["id"]].tolist())}
        before = marks_in(gene)
        if mark not in before:
            others = [other for other in before if other.get("context") != ""]
            _record(
                home,
                {**gene, "epigenetic_marks": [*others, mark]},
                project,
                "model",
                "main",
            )
            changed += 1
    return changed


def gene_rows(home: Home, signals: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Of each known gene its id, category and strategy, and what came of it under
    signals, or of all: n, successes, banned.

    low, high: the interval of its success rate (Wilson, 95 %).
    """
    genes = {gene["id"]: gene for gene in assets_of(home)}
    settings = causal_settings(home)
    with home.views.reading(evidence_view(home)) as evidence:
        known = records(
            evidence.table,
            checked_signals(signals),
            list(genes),
            settings,
            home.clock.now(),
        )
    rows = []
    for gene, found in known.items():
        n = found.n if signals else found.prior_attempts
        successes = (
            found.successes
            if signals
            else round(found.prior_rate * (n + 2) - 1)
            if n
            else 0
        )
        named = {
            "id": gene,
            "category": genes[gene].get("category"),
            "strategy": gene_text(genes[gene]),
        }
        low, high = wilson_of_one(successes, n)
        banned = bool(signals) and is_banned(found, settings)
        rows.append(
            {
                **named,
                "n": n,
                "successes": successes,
                "low": low,
                "high": high,
                "banned": banned,
            }
        )
    return rows


def task_match(home: Home, signals: Sequence[str]) -> float:
    """How well what succeeded here fits a task with these signals, 0..1; 0 without
    signals.

    .6 of the success rate under signals alike from .15 (Laplace), and .4 of the share
    of the signals under which anything succeeded.
    """
    parts = set(normalized_signals(checked_signals(signals)))
    with home.views.reading(evidence_view(home)) as evidence:
        table = evidence.table
        runs = table.runs(table.alike(SIGNALS, parts, _TASK_LIKENESS)[0])
        known = [
            table.runs(table.alike(SIGNALS, {part}, _ANY_LIKENESS)[0]).successes.any()
            for part in parts
        ]
    rate = (runs.successes.sum() + 1) / (runs.n.sum() + 2) if len(runs.n) else 0.0
    return float(0.6 * rate + 0.4 * sum(known) / max(len(parts), 1))


def distill(home: Home, *, agent: str = "main") -> Asset | None:
    """Make a gene of what ten or more successes of a score from .7 share: signals of
    half of them, and steps of their genes.

    Of the home's project, of its successes since the last gene that was distilled
    there, a day later at the earliest; None where there are too few, or they share
    nothing.
    """
    genes = {gene["id"]: gene for gene in assets_of(home, own=True)}
    now = home.clock.now()
    project = home.project
    made_here = [gene for gene in genes.values() if gene.get("distilled_in") == project]
    last = max(
        (number_of(gene, "distilled_at") or 0.0 for gene in made_here), default=0.0
    )
    with home.views.reading(Graph) as view:
        good = view.lived["seq"][
            (view.lived["score"] >= _GOOD_SCORE) & ~view.lived["failed"]
        ][-_MOST_READ:].tolist()
    if now - last < MICROSECONDS_PER_DAY:
        return None
    read = home.journal.read(seqs=good)
    here = [
        event
        for event in read
        if event.at > last and event.body.get("project", "") == project
    ]
    signals = [set(map(trimmed, event.body["signal"]["signals"])) for event in here]
    used = [genes.get((event.body.get("gene") or {}).get("id"), {}) for event in here]
    steps = _shared(texts_in(gene, "strategy") for gene in used)[:_MOST_STEPS]
    matched = [signal for signal in _shared(signals) if _is_word(signal)][:_MOST_TEXTS]
    if len(here) < _FEWEST or not (matched and steps):
        return None
    named = DISTILLED + stable_hash("\n".join([project, *matched, "", *steps]))
    made: Asset = {
        "type": "Gene",
        "id": named,
        "signals_match": matched,
        "strategy": steps,
    }
    made |= {
        "category": used[0].get("category"),
        "distilled_at": now,
        "distilled_in": project,
    }
    return _record(
        home, made, project, "model", agent, [event.id for event in here][-_MOST_TEXTS:]
    )


def _shared(found: Iterable[Iterable[str]]) -> list[str]:
    """What is in at least half of these, the most common first."""
    sets = [dict.fromkeys(texts) for texts in found]
    return [
        text
        for text, n in Counter(text for texts in sets for text in texts).most_common()
        if 2 * n >= len(sets)
    ]


def _is_word(signal: str) -> bool:
    return (
        bool(signal)
        and "|" not in signal
        and not signal.startswith(("/", ERROR_SIGNAL))
    )


def tend_at_night(home: Home, _agent: str | None) -> str:
    """Mark genes by their outcomes and distill successes; a step of the night."""
    whole = home.in_project("")
    with whole.views.reading(Graph) as view:
        projects = list(view.projects)
    marked = mark_genes(whole)
    made = [distill(home.in_project(project)) for project in projects]
    return f"{marked} genes marked, {len(made) - made.count(None)} distilled"
