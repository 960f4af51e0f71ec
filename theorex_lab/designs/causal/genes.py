"""Genes and capsules: recorded, marked by what came of them, distilled from successes, and taken from outside as candidates.

What they tell to do is data: it is shown, and never done.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.designs.causal import SIGNAL_KEY
from theorex_lab.designs.causal.advice import is_banned, records
from theorex_lab.designs.causal.capture import asset_event, asset_id, checked_fraction, checked_id
from theorex_lab.designs.causal.graph import Graph, assets_of
from theorex_lab.designs.causal.items import causal_settings, gene_text
from theorex_lab.designs.causal.keys import ERROR_SIGNAL, checked_signals, normalized_signals, stable_hash, trimmed
from theorex_lab.designs.causal.outcomes import CATEGORIES, at_most, number_of
from theorex_lab.designs.causal.selector import DISTILLED, MOST_BOOST, marks_in, texts_in
from theorex_lab.errors import InvalidInput
from theorex_lab.home import Home
from theorex_lab.ids import check_agent
from theorex_lab.memory.evidence import evidence_view
from theorex_lab.memory.intervals import wilson_of_one
from theorex_lab.memory.observation import TRUST

Asset = dict[str, Any]
TYPES = ("Gene", "Capsule")
_TEXTS = {"signals_match", "trigger", "strategy", "preconditions", "validation"}
_ASSET_CHARACTERS, _MOST_TEXTS = 64_000, 64
_NEW, _REINFORCED, _FAILED = 0.1, 0.05, -0.1
_FEWEST, _GOOD_SCORE, _MOST_READ, _MOST_STEPS = 10, 0.7, 500, 12
_TASK_LIKENESS, _ANY_LIKENESS = 0.15, 1e-6


def checked_asset(asset: Mapping[str, Any], kind: str = "") -> Asset:
    """A gene or a capsule with its type, without its asset_id. Members that are not known stay as they are.

    Raises InvalidInput for another type or category, an id as `capture.checked_id`, a list that holds other things than up to 64
    texts, a confidence outside 0..1, and what is no JSON of up to 64,000 characters.
    """
    found = {"type": kind, **asset, "id": checked_id("asset", asset.get("id"))}
    found.pop("asset_id", None)
    allowed = "; allowed is a Gene or a Capsule in JSON of up to 64,000 characters, with lists of up to 64 texts"
    if found["type"] not in ((kind,) if kind else TYPES) or found.get("category") not in (None, *CATEGORIES):
        raise InvalidInput(f"got the type {found['type']!r:.60}, category {found.get('category')!r:.60}{allowed}")
    for name in found.keys() & _TEXTS:
        given, texts = found[name], texts_in(found, name)
        if len(texts) > _MOST_TEXTS or texts != (list(given) if isinstance(given, list | tuple) else [given]):
            raise InvalidInput(f"got {name}={given!r:.100}{allowed}")
        found[name] = texts
    checked_fraction("confidence", found.get("confidence", 0.0))
    try:
        size = len(json.dumps(found, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"got an asset that is no JSON ({error}){allowed}") from error
    if size > _ASSET_CHARACTERS:
        raise InvalidInput(f"got {size:,} characters{allowed}")
    return found


def record_gene(home: Home, gene: Mapping[str, Any], *, source: str = "agent", agent: str = "main") -> Asset:
    """Record a gene as it is from now on; returns it with its asset_id. One that is known just so is not recorded again.

    Raises InvalidInput as `checked_asset`, for another source than those of `TRUST`, and for the id of a capsule.
    """
    return _record(home, checked_asset(gene, "Gene"), home.project, source, agent)


def record_capsule(home: Home, capsule: Mapping[str, Any], *, source: str = "agent", agent: str = "main") -> Asset:
    """Record a capsule, as `record_gene` does a gene."""
    return _record(home, checked_asset(capsule, "Capsule"), home.project, source, agent)


def _record(home: Home, asset: Asset, project: str, source: str, agent: str, lineage: Sequence[str] = ()) -> Asset:
    if source not in TRUST:
        raise InvalidInput(f"got the source {source!r}; allowed are {', '.join(TRUST)}")
    now = home.clock.now()
    event = asset_event(asset, source=source, project=project, agent=check_agent(agent), at=now, lineage=lineage)
    told, made = event.body["asset"], event.body["asset_id"]
    with home.views.reading(Graph) as view:
        if (number := view.ids.find(told["id"])) is not None:
            old, own = json.loads(view.assets[int(view.known["place"][number])]), view.known["own"][number]
            if old["type"] != told["type"]:
                other = f"got the id {told['id']!r}, which a {old['type']} has"
                raise InvalidInput(f"{other}; give the {told['type']} one of its own")
            if own and asset_id(old) == made and view.projects[int(view.known["project"][number])] == project:
                return {**told, "asset_id": made}
    home.journal.append([event])
    return {**told, "asset_id": made}


def boost_after(outcomes: Iterable[bool]) -> float:
    """What a gene's score gains by its outcomes in order: the first success gives .1, further ones .05, a failure takes .1.

    >>> boost_after([True, True, False])
    0.05
    """
    boost = 0.0
    for place, success in enumerate(outcomes):
        change = _FAILED if not success else _REINFORCED if place else _NEW
        boost = round(at_most(boost + change, MOST_BOOST), 6)
    return boost


def mark_genes(home: Home) -> int:
    """Record the genes whose mark changed by outcomes since; returns how many. Marks of other contexts than '' stay."""
    with home.views.reading(Graph) as view:
        lived, failed = view.lived["gene"], view.lived["failed"]
        outcomes = {name: ~failed[lived == number] for number, name in enumerate(view.genes)}
        known = [gene for gene in assets_of(home, own=True) if gene["id"] in outcomes]
        projects = [view.projects[int(view.known["project"][view.ids.numbers(gene["id"])[0]])] for gene in known]
    changed = 0
    for gene, project in zip(known, projects, strict=True):
        mark, before = {"context": "", "boost": boost_after(outcomes[gene["id"]].tolist())}, marks_in(gene)
        if mark not in before:
            others = [other for other in before if other.get("context") != ""]
            _record(home, {**gene, "epigenetic_marks": [*others, mark]}, project, "model", "main")
            changed += 1
    return changed


def gene_rows(home: Home, signals: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Of each known gene its id, category and strategy, and what came of it under signals, or of all: n, successes, banned.

    low, high: the interval of its success rate (Wilson, 95 %).
    """
    genes, settings = {gene["id"]: gene for gene in assets_of(home)}, causal_settings(home)
    with home.views.reading(evidence_view(home)) as evidence:
        known = records(evidence.table, checked_signals(signals), list(genes), settings, home.clock.now())
    rows = []
    for gene, found in known.items():
        n = found.n if signals else found.prior_attempts
        successes = found.successes if signals else round(found.prior_rate * (n + 2) - 1) if n else 0
        named = {"id": gene, "category": genes[gene].get("category"), "strategy": gene_text(genes[gene])}
        low, high = wilson_of_one(successes, n)
        banned = bool(signals) and is_banned(found, settings)
        rows.append({**named, "n": n, "successes": successes, "low": low, "high": high, "banned": banned})
    return rows


def task_match(home: Home, signals: Sequence[str]) -> float:
    """How well what succeeded here fits a task with these signals, 0..1; 0 without signals.

    .6 of the success rate under signals alike from .15 (Laplace), and .4 of the share of the signals under which anything succeeded.
    """
    parts, prefix = set(normalized_signals(checked_signals(signals))), f"causal/{SIGNAL_KEY}"
    with home.views.reading(evidence_view(home)) as evidence:
        table = evidence.table
        runs = table.runs(table.alike(prefix, parts, _TASK_LIKENESS)[0])
        known = [table.runs(table.alike(prefix, {part}, _ANY_LIKENESS)[0]).successes.any() for part in parts]
    rate = (runs.successes.sum() + 1) / (runs.n.sum() + 2) if len(runs.n) else 0.0
    return float(0.6 * rate + 0.4 * sum(known) / max(len(parts), 1))


def distill(home: Home, *, agent: str = "main") -> Asset | None:
    """Make a gene of what ten or more successes of a score from .7 share: signals of half of them, and steps of their genes.

    Of the home's project, of its successes since the last gene that was distilled there, a day later at the earliest;
    None where there are too few, or they share nothing.
    """
    genes, now, project = {gene["id"]: gene for gene in assets_of(home, own=True)}, home.clock.now(), home.project
    made_here = [gene for gene in genes.values() if gene.get("distilled_in") == project]
    last = max((number_of(gene, "distilled_at") or 0.0 for gene in made_here), default=0.0)
    with home.views.reading(Graph) as view:
        good = view.lived["seq"][(view.lived["score"] >= _GOOD_SCORE) & ~view.lived["failed"]][-_MOST_READ:].tolist()
    if now - last < MICROSECONDS_PER_DAY:
        return None
    read = home.journal.read(seqs=good)
    here = [event for event in read if event.at > last and event.body.get("project", "") == project]
    signals = [set(map(trimmed, event.body["signal"]["signals"])) for event in here]
    used = [genes.get((event.body["gene"] or {}).get("id"), {}) for event in here]
    steps = _shared(texts_in(gene, "strategy") for gene in used)[:_MOST_STEPS]
    matched = [signal for signal in _shared(signals) if _is_word(signal)][:_MOST_TEXTS]
    if len(here) < _FEWEST or not (matched and steps):
        return None
    named = DISTILLED + stable_hash("\n".join([project, *matched, "", *steps]))
    made: Asset = {"type": "Gene", "id": named, "signals_match": matched, "strategy": steps}
    made |= {"category": used[0].get("category"), "distilled_at": now, "distilled_in": project}
    return _record(home, made, project, "model", agent, [event.id for event in here][-_MOST_TEXTS:])


def _shared(found: Iterable[Iterable[str]]) -> list[str]:
    """What is in at least half of these, the most common first."""
    sets = [dict.fromkeys(texts) for texts in found]
    return [text for text, n in Counter(text for texts in sets for text in texts).most_common() if 2 * n >= len(sets)]


def _is_word(signal: str) -> bool:
    return bool(signal) and "|" not in signal and not signal.startswith(("/", ERROR_SIGNAL))


def tend_at_night(home: Home, _agent: str | None) -> str:
    """Mark genes by their outcomes and distill successes; a step of the night."""
    whole = home.in_project("")
    with whole.views.reading(Graph) as view:
        projects = list(view.projects)
    marked, made = mark_genes(whole), [distill(home.in_project(project)) for project in projects]
    return f"{marked} genes marked, {len(made) - made.count(None)} distilled"
