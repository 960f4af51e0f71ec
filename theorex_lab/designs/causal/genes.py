"""Choose genes for signals, and keep genes and capsules.

Genes and capsules are recorded, marked by their outcomes, and distilled from successes.
The choice is among genes whose patterns fit the signals: by evidence, or by chance under
drift. What a gene says to do is data: it is shown, and never done.
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
from theorex_lab.designs.causal.advice import (
    get_advice,
    is_banned,
    known_gene_ids,
    records,
)
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
from theorex_lab.designs.causal.personalities import adapt_personality
from theorex_lab.designs.causal.settings import causal_settings
from theorex_lab.journal.event import Event
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
    """Hold a gene that was chosen.

    Attributes:
        selected: The gene; None where none fits and may be tried.
        alternatives: The next ones, best first.
        selected_by: selector; memory_graph+selector, where it is the one that advice
            prefers; selector+drift, where it was drawn.
        drift: Whether drift was on.
        intensity: How strong drift was, 0..1.
        banned: Ids that were left out.
        why: What is to be said of it.
    """

    selected: Gene | None
    alternatives: list[Gene]
    selected_by: str
    drift: bool
    intensity: float
    banned: frozenset[str]
    why: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON holds it, and `record_attempt` takes it as its selector.

        Genes stand there by their ids.
        """
        members = dict(vars(self))
        members["selected"] = self.selected["id"] if self.selected else None
        members["alternatives"] = [gene["id"] for gene in self.alternatives]
        members["banned"] = sorted(self.banned)
        return members


class Matcher:
    """Try patterns against signals.

    Attributes:
        signals: The signals.
        notes: Which patterns were left aside, and why.
    """

    def __init__(self, signals: Iterable[str]) -> None:
        self.signals = list(signals)
        self.notes = list[str]()
        self._lower = [signal.lower() for signal in self.signals]
        self._left = _STEPS_OF_ALL
        self._known = dict[str, bool]()

    def hits(self, pattern: str) -> bool:
        r"""Return whether a signal fits a pattern.

        A pattern is a regular expression as `/…/flags`, one of several words as `a|b`,
        or a word. Case counts in the first alone.

        >>> matcher = Matcher(["errsig:TypeError: undefined"])
        >>> [
        ...     matcher.hits(pattern)
        ...     for pattern in (
        ...         "typeerror",
        ...         "timeout|undefined",
        ...         r"/type\w+/i",
        ...         "/type/",
        ...         "/(a+)+b/",
        ...     )
        ... ]
        [True, True, True, False, False]
        >>> matcher.notes
        ['/(a+)+b/: a group is repeated, or looks around']
        """
        if pattern not in self._known:
            self._known[pattern] = self._matches(pattern)
        return self._known[pattern]

    def _matches(self, pattern: str) -> bool:
        """Return whether a signal fits a pattern that was not tried yet."""
        match = _REGEX.fullmatch(pattern[: 2 * _PATTERN_CHARACTERS])
        if match is None:
            return self._holds(pattern)
        regex, flags = match.groups()
        return self._fits(pattern, regex, flags)

    def _holds(self, pattern: str) -> bool:
        """Return whether a signal holds one of the words of a pattern."""
        parts = pattern[:_PATTERN_CHARACTERS].split("|")
        for part in parts:
            word = part.strip().lower()
            if word and self._has_word(word):
                return True
        return False

    def _has_word(self, word: str) -> bool:
        """Return whether a signal holds a word in lower case."""
        return any(word in signal for signal in self._lower)

    def _fits(self, pattern: str, regex: str, flags: str) -> bool:
        """Return whether a signal fits a regular expression.

        One that may need too many steps, or is none, is noted and fits nothing.
        """
        texts = [signal[:_TEXT_CHARACTERS] for signal in self.signals]
        try:
            n_steps = sum(_steps(regex, flags, len(text)) for text in texts)
            if n_steps > self._left:
                raise InvalidInput("it may need too many steps")
            self._left -= n_steps
            options = re.NOFLAG
            for flag in flags:
                options |= _FLAGS[flag]
            compiled = re.compile(regex, options)
        except (InvalidInput, re.error, OverflowError) as error:
            if len(self.notes) < _MOST_NOTES:
                self.notes.append(f"{pattern[:80]}: {error}")
            return False
        return any(compiled.search(text) for text in texts)


def _steps(regex: str, flags: str, characters: int) -> float:
    """Return how many steps a search of a text may take at the worst.

    Args:
        regex: The regular expression.
        flags: Its flags.
        characters: How long the text is.

    Raises:
        InvalidInput: The expression is not tried at all.
        OverflowError: The number is too large for a float.
    """
    is_long = len(regex) > _PATTERN_CHARACTERS
    has_other_flags = not _FLAGS.keys() >= set(flags)
    if is_long or has_other_flags or _STRANGE.search(regex):
        raise InvalidInput(
            f"it has over {_PATTERN_CHARACTERS} characters, other flags than imsgu, a"
            " reference to itself, or signs that are kept for sets"
        )
    plain = _ONE_SIGN.sub("x", regex)
    if _REFUSED.search(plain):
        raise InvalidInput("a group is repeated, or looks around")
    # An option doubles the ways to match, a group has as many as alternatives.
    n_options = plain.count("?")
    n_groups = plain.count("(") + 1
    alternatives = plain.count("|") / n_groups + 1
    ways = 2.0**n_options * alternatives**n_groups
    # Each repetition ends at any character after the one before.
    n_repeated = len(re.findall(r"[*+{]", plain)) + 1
    n_places = float((characters + len(regex)) ** n_repeated)
    return n_places / math.factorial(n_repeated) * ways


def match_score(gene: Gene, matcher: Matcher) -> float:
    """Return how many of a gene's patterns fit, with its boost where any does.

    A distilled gene has .8 of it.

    Args:
        gene: The gene.
        matcher: Holds the signals.
    """
    distinct = dict.fromkeys(texts_in(gene, "signals_match"))
    patterns = list(distinct)[:_MOST_PATTERNS]
    n_hits = sum(map(matcher.hits, patterns))
    if not n_hits:
        return 0.0
    weight = 1.0
    if gene["id"].startswith(DISTILLED):
        weight = _DISTILLED_WEIGHT
    score = n_hits * weight + boost_of(gene)
    return max(0.01, score)


def texts_in(asset: Mapping[str, Any], name: str) -> list[str]:
    """Return the texts in a member of an asset, which is a text or a list.

    Another value has none.
    """
    value = asset.get(name)
    items = [value]
    if isinstance(value, list | tuple):
        items = list(value)
    return [text for text in items if isinstance(text, str)]


def boost_of(gene: Gene) -> float:
    """Return what a gene's epigenetic marks add to its score, -.5 to .5.

    Those of the context '' count; others are another's.

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
    boosts = []
    for mark in marks_in(gene):
        if mark.get("context") == "":
            boosts.append(number_of(mark, "boost") or 0.0)
    return at_most(sum(boosts), MOST_BOOST)


def marks_in(gene: Gene) -> list[Mapping[str, Any]]:
    """Return the epigenetic marks of a gene."""
    marks = gene.get("epigenetic_marks")
    if not isinstance(marks, list | tuple):
        return []
    return [mark for mark in marks if isinstance(mark, Mapping)]


def signal_overlap(signals: Iterable[str], others: Iterable[str]) -> float:
    """Return the share of signals that are among others, 0..1; 0 without signals.

    Args:
        signals: The signals.
        others: The signals among which they may be.

    >>> signal_overlap(["log_error", "slow"], ["slow"])
    0.5
    """
    parts = set(normalized_signals(signals))
    if not parts:
        return 0.0
    shared = parts.intersection(normalized_signals(others))
    return len(shared) / len(parts)


def failed_genes(
    capsules: Iterable[Mapping[str, Any]], signals: Sequence[str]
) -> frozenset[str]:
    """Return the genes of two or more capsules that failed under signals like these.

    Those signals have .6 or more of these.

    Args:
        capsules: The capsules, with outcome, trigger and gene.
        signals: The signals.
    """
    n_failures = Counter[str]()
    for capsule in capsules:
        outcome = capsule.get("outcome")
        if not isinstance(outcome, Mapping) or outcome.get("status") != FAILED:
            continue
        trigger = texts_in(capsule, "trigger")
        if signal_overlap(signals, trigger) >= _OVERLAP:
            gene = str(capsule.get("gene"))
            n_failures[gene] += 1
    return frozenset(gene for gene, n in n_failures.items() if n >= _FAILURES)


def drift_intensity(genes: int, *, explicit: bool) -> float:
    """Return how strongly chance rules among so many genes, 0..1.

    It is 1/√N, and .3 more where drift is on; .7 for one gene.

    Args:
        genes: How many there are.
        explicit: Whether drift is on.

    >>> (
    ...     drift_intensity(4, explicit=False),
    ...     drift_intensity(4, explicit=True),
    ...     drift_intensity(1, explicit=True),
    ... )
    (0.5, 0.8, 0.7)
    """
    if explicit and genes <= 1:
        return _DRIFT_OF_ONE
    intensity = 1.0 / math.sqrt(max(genes, 1))
    if explicit:
        intensity += _EXPLICIT_DRIFT
    return min(1.0, intensity)


def select_gene(
    home: Home,
    signals: Sequence[str],
    genes: Sequence[Gene] | None = None,
    *,
    drift_enabled: bool = False,
    seed: int | np.random.Generator = 0,
) -> GeneSelection:
    """Choose the gene to try for signals.

    Only genes whose patterns fit can be chosen: the one of them that advice prefers,
    else the one with the most patterns that fit, drawn among equals. What advice bans,
    or two failed capsules, is left out however few genes there are. With drift on, bans
    are left aside, and the gene is drawn among the best, as many as the intensity says.

    Args:
        home: Where the evidence is.
        signals: The signals.
        genes: The genes to choose among; default: those that are trusted.
        drift_enabled: Whether drift is on; the settings may say so too.
        seed: Of the draw.

    Raises:
        InvalidInput: As `get_advice` raises it, and for a gene without an id.
    """
    checked = checked_signals(signals)
    pool = _gene_pool(assets_of(home, own=True) if genes is None else genes)
    drift = drift_enabled or causal_settings(home).drift
    matcher = Matcher(checked)
    scores = _match_scores(pool, matcher)
    advice = get_advice(home, checked, list(scores), drift)
    banned = advice.banned_gene_ids
    if not drift:
        capsules = assets_of(home, genes=False, own=True)
        banned |= failed_genes(capsules, checked) & scores.keys()
    preferred = advice.preferred_gene_id
    if preferred in banned:
        preferred = None

    def best_first(name: str) -> tuple[bool, float, str]:
        return name != preferred, -scores[name], name

    order = sorted(scores.keys() - banned, key=best_first)
    intensity = drift_intensity(len(pool), explicit=drift)
    if drift:
        selected_by = "selector+drift"
        n_best = max(2, math.ceil(len(order) * intensity))
        candidates = order[:n_best]
    elif preferred:
        selected_by = "memory_graph+selector"
        candidates = order[:1]
    else:
        selected_by = "selector"
        candidates = _equals_of_first(order, scores, intensity)
    why = [*advice.explanation, *matcher.notes]
    if not candidates:
        why.append("no gene fits that may be tried")
        return GeneSelection(None, [], "selector", drift, intensity, banned, why)
    generator = np.random.default_rng(seed)
    number = int(generator.integers(len(candidates)))
    chosen = candidates[number]
    others = [pool[name] for name in order if name != chosen]
    return GeneSelection(
        selected=pool[chosen],
        alternatives=others[:_MOST_ALTERNATIVES],
        selected_by=selected_by,
        drift=drift,
        intensity=intensity,
        banned=banned,
        why=why,
    )


def _equals_of_first(
    order: Sequence[str], scores: Mapping[str, float], intensity: float
) -> list[str]:
    """Return the genes between which chance decides without drift.

    They are those among the best, as many as the intensity says, with the score of the
    first.
    """
    n_best = max(2, math.ceil(len(order) * intensity))
    best = order[:n_best]
    if not best:
        return []
    first_score = scores[best[0]]
    return [name for name in best if scores[name] == first_score]


def _gene_pool(genes: Iterable[Gene]) -> dict[str, Gene]:
    """Return genes by their ids.

    Raises:
        InvalidInput: An id is one that `designs.causal.capture.checked_id` refuses.
    """
    pool = {}
    for gene in genes:
        gene_id = checked_id("gene", gene.get("id"))
        pool[gene_id] = gene
    return pool


def _match_scores(pool: Mapping[str, Gene], matcher: Matcher) -> dict[str, float]:
    """Return the scores of the genes that fit at all."""
    scores = {}
    for name, gene in pool.items():
        score = match_score(gene, matcher)
        if score:
            scores[name] = score
    return scores


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
    """Return a gene or a capsule with its type, without its asset_id.

    Members that are not known stay as they are.

    Args:
        asset: The gene or the capsule.
        kind: The type that it has to have; '': either.

    Raises:
        InvalidInput: It has another type or category, an id that
            `designs.causal.capture.checked_id` refuses, a list that holds other things
            than up to 64 texts, a confidence outside 0..1, or it is no JSON of up to
            64,000 characters.
    """
    checked = {"type": kind, **asset, "id": checked_id("asset", asset.get("id"))}
    checked.pop("asset_id", None)
    allowed = (
        "; allowed is a Gene or a Capsule in JSON of up to 64,000 characters, with"
        " lists of up to 64 texts"
    )
    types = (kind,) if kind else TYPES
    category = checked.get("category")
    if checked["type"] not in types or category not in (None, *CATEGORIES):
        raise InvalidInput(
            f"got the type {checked['type']!r:.60}, category {category!r:.60}{allowed}"
        )
    for name in checked.keys() & _TEXTS:
        value = checked[name]
        items = list(value) if isinstance(value, list | tuple) else [value]
        texts = texts_in(checked, name)
        if len(texts) > _MOST_TEXTS or texts != items:
            raise InvalidInput(f"got {name}={value!r:.100}{allowed}")
        checked[name] = texts
    confidence = checked.get("confidence", 0.0)
    checked_fraction("confidence", confidence)
    try:
        size = len(json.dumps(checked, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"got an asset that is no JSON ({error}){allowed}"
        ) from error
    if size > _ASSET_CHARACTERS:
        raise InvalidInput(f"got {size:,} characters{allowed}")
    return checked


def record_gene(
    home: Home, gene: Mapping[str, Any], *, source: str = "agent", agent: str = "main"
) -> Asset:
    """Record a gene as it is from now on; return it with its asset_id.

    One that is known just so is not recorded again.

    Args:
        home: Where it is kept.
        gene: The gene, as `checked_asset` takes it.
        source: Whose word it is, a key of `TRUST`.
        agent: Who records it.

    Raises:
        InvalidInput: As `checked_asset` raises it, for another source than those of
            `TRUST`, and for the id of a capsule.
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
    """Record an asset in a project, unless it is known just so.

    Raises:
        InvalidInput: As `record_gene` raises it.
    """
    if source not in TRUST:
        raise InvalidInput(f"got the source {source!r}; allowed are {', '.join(TRUST)}")
    event = asset_event(
        asset,
        source=source,
        project=project,
        agent=check_agent(agent),
        at=home.clock.now(),
        lineage=lineage,
    )
    masked = event.body["asset"]
    recorded = {**masked, "asset_id": event.body["asset_id"]}
    with home.views.reading(Graph) as view:
        number = view.ids.find(masked["id"])
        if number is not None:
            index = int(view.known["place"][number])
            old = json.loads(view.assets[index])
            is_trusted = view.known["own"][number]
            old_project = _project_of(view, number)
            if old["type"] != masked["type"]:
                other = f"got the id {masked['id']!r}, which a {old['type']} has"
                raise InvalidInput(f"{other}; give the {masked['type']} one of its own")
            is_same = asset_id(old) == recorded["asset_id"] and old_project == project
            if is_trusted and is_same:
                return recorded
    home.journal.append([event])
    return recorded


def _project_of(view: Graph, number: int) -> str:
    """Return the project of the asset of a number."""
    project = int(view.known["project"][number])
    return view.projects[project]


def boost_after(outcomes: Iterable[bool]) -> float:
    """Return what a gene's score gains by its outcomes in order.

    The first success gives .1, further ones .05, a failure takes .1.

    >>> boost_after([True, True, False])
    0.05
    """
    boost = 0.0
    for index, success in enumerate(outcomes):
        if not success:
            change = _FAILED
        elif index:
            change = _REINFORCED
        else:
            change = _NEW
        boost = round(at_most(boost + change, MOST_BOOST), 6)
    return boost


def mark_genes(home: Home) -> int:
    """Record the genes whose mark changed by outcomes since; return how many.

    Marks of other contexts than '' stay.
    """
    with home.views.reading(Graph) as view:
        gene_numbers = view.lived["gene"]
        succeeded = ~view.lived["failed"]
        outcomes = {}
        for number, name in enumerate(view.genes):
            outcomes[name] = succeeded[gene_numbers == number]
        genes = [gene for gene in assets_of(home, own=True) if gene["id"] in outcomes]
        projects = []
        for gene in genes:
            asset_number = view.ids.numbers(gene["id"])[0]
            projects.append(_project_of(view, asset_number))
    n_changed = 0
    for gene, project in zip(genes, projects, strict=True):
        boost = boost_after(outcomes[gene["id"]].tolist())
        mark = {"context": "", "boost": boost}
        old_marks = marks_in(gene)
        if mark not in old_marks:
            others = [other for other in old_marks if other.get("context") != ""]
            marked = {**gene, "epigenetic_marks": [*others, mark]}
            _record(home, marked, project, "model", "main")
            n_changed += 1
    return n_changed


def gene_rows(home: Home, signals: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return of each known gene what came of it under signals, or of all.

    Returns:
        id, category, strategy, n, successes, ci_low, ci_high and banned of each. ci_low, ci_high
        are the interval of its success rate (Wilson, 95 %).
    """
    recorded = {gene["id"]: gene for gene in assets_of(home)}
    genes = {gene: recorded.get(gene, {}) for gene in known_gene_ids(home)}
    settings = causal_settings(home)
    with home.views.reading(evidence_view(home)) as evidence:
        by_gene = records(
            evidence.table,
            checked_signals(signals),
            list(genes),
            settings,
            now=home.clock.now(),
        )
    rows = []
    for gene, record in by_gene.items():
        if signals:
            n_tried = record.n
            successes = record.successes
        else:
            n_tried = record.prior_attempts
            successes = 0
            if n_tried:  # the rate is (successes + 1) / (n + 2)
                successes = round(record.prior_rate * (n_tried + 2) - 1)
        ci_low, ci_high = wilson_of_one(successes, n_tried)
        row = {
            "id": gene,
            "category": genes[gene].get("category"),
            "strategy": gene_text(genes[gene]),
            "n": n_tried,
            "successes": successes,
            "ci_low": ci_low,
            "ci_high": ci_high,
            "banned": bool(signals) and is_banned(record, settings),
        }
        rows.append(row)
    return rows


def task_match(home: Home, signals: Sequence[str]) -> float:
    """Return how well what succeeded here fits a task with these signals, 0..1.

    It is .6 of the success rate under signals alike from .15 (Laplace), and .4 of the
    share of the signals under which anything succeeded; 0 without signals.
    """
    parts = set(normalized_signals(checked_signals(signals)))
    n_helped = 0
    with home.views.reading(evidence_view(home)) as evidence:
        table = evidence.table
        rows, _ = table.alike(SIGNALS, parts, _TASK_LIKENESS)
        runs = table.runs(rows)
        for part in parts:
            rows_of_part, _ = table.alike(SIGNALS, {part}, _ANY_LIKENESS)
            runs_of_part = table.runs(rows_of_part)
            n_helped += int(runs_of_part.successes.any())
    rate = 0.0
    if len(runs.n):
        n_successes = runs.successes.sum()
        n_runs = runs.n.sum()
        rate = (n_successes + 1) / (n_runs + 2)
    n_parts = max(len(parts), 1)
    return float(0.6 * rate + 0.4 * n_helped / n_parts)


def distill(home: Home, *, agent: str = "main") -> Asset | None:
    """Make a gene of what ten or more successes of a score from .7 share.

    It has the signals of half of them, and steps of their genes. They are those of the
    home's project since the last gene that was distilled there, a day later at the
    earliest.

    Returns:
        The gene; None where there are too few successes, or they share nothing.
    """
    genes = {gene["id"]: gene for gene in assets_of(home, own=True)}
    now = home.clock.now()
    project = home.project
    last = _last_distilled(genes.values(), project)
    if now - last < MICROSECONDS_PER_DAY:
        return None
    successes = _good_outcomes(home, project, last)
    if len(successes) < _FEWEST:
        return None
    used = [_gene_used(event, genes) for event in successes]
    signals = _shared(map(_trimmed_signals, successes))
    words = list(filter(_is_word, signals))
    matched = words[:_MOST_TEXTS]
    steps = _shared(texts_in(gene, "strategy") for gene in used)[:_MOST_STEPS]
    if not matched or not steps:
        return None
    identity = "\n".join([project, *matched, "", *steps])
    made: Asset = {
        "type": "Gene",
        "id": DISTILLED + stable_hash(identity),
        "signals_match": matched,
        "strategy": steps,
        "category": used[0].get("category"),
        "distilled_at": now,
        "distilled_in": project,
    }
    lineage = [event.id for event in successes][-_MOST_TEXTS:]
    return _record(home, made, project, "model", agent, lineage)


def _last_distilled(genes: Iterable[Asset], project: str) -> float:
    """Return when a gene was last distilled in a project (µs); 0 for never."""
    last = 0.0
    for gene in genes:
        if gene.get("distilled_in") == project:
            last = max(last, number_of(gene, "distilled_at") or 0.0)
    return last


def _trimmed_signals(event: Event) -> set[str]:
    """Return the signals of an outcome, each once."""
    return set(map(trimmed, event.body["signal"]["signals"]))


def _good_outcomes(home: Home, project: str, since: float) -> list[Event]:
    """Return the last events that tell a success of a good score in a project.

    They are later than a time (µs UTC).
    """
    with home.views.reading(Graph) as view:
        has_good_score = view.lived["score"] >= _GOOD_SCORE
        is_good = has_good_score & ~view.lived["failed"]
        seqs = view.lived["seq"][is_good]
        last_seqs = seqs[-_MOST_READ:].tolist()
    outcomes = []
    for event in home.journal.read(seqs=last_seqs):
        is_here = event.body.get("project", "") == project
        if is_here and event.at > since:
            outcomes.append(event)
    return outcomes


def _gene_used(event: Event, genes: dict[Any, Asset]) -> Asset:
    """Return the gene that an outcome tells of; an empty one where it is unknown."""
    gene = event.body.get("gene") or {}
    return genes.get(gene.get("id"), {})


def _shared(collections: Iterable[Iterable[str]]) -> list[str]:
    """Return what is in at least half of these, the most common first."""
    counts = Counter[str]()
    n_collections = 0
    for texts in collections:
        counts.update(list(dict.fromkeys(texts)))
        n_collections += 1
    return [text for text, n in counts.most_common() if 2 * n >= n_collections]


def _is_word(signal: str) -> bool:
    """Return whether a signal is a word: no pattern, no error."""
    if not signal or "|" in signal:
        return False
    return not signal.startswith(("/", ERROR_SIGNAL))


def tend_in_maintenance(home: Home, _agent: str | None) -> str:
    """Mark genes and the personality by outcomes, and distill successes.

    It is a step of maintenance.
    """
    all_projects = home.in_project("")
    with all_projects.views.reading(Graph) as view:
        projects = list(view.projects)
    n_marked = mark_genes(all_projects)
    n_distilled = 0
    for project in projects:
        gene = distill(home.in_project(project))
        if gene is not None:
            n_distilled += 1
    adapt_personality(all_projects)
    return f"{n_marked} genes marked, {n_distilled} distilled"
