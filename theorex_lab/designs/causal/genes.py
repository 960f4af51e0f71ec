"""Genes and capsules: recorded, marked by what came of them, distilled from successes, and taken from outside as candidates.

What they tell to do is data: it is shown, and never done.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from theorex_lab.clock import MICROSECONDS_PER_DAY, to_iso
from theorex_lab.designs.causal import SIGNAL_KEY
from theorex_lab.designs.causal.capture import asset_event, asset_id, checked_id, document_form
from theorex_lab.designs.causal.graph import Graph, assets_of
from theorex_lab.designs.causal.items import causal_settings
from theorex_lab.designs.causal.keys import ERROR_SIGNAL, checked_signals, normalized_signals, stable_hash, trimmed
from theorex_lab.designs.causal.personality import CATEGORIES, adapt_personality
from theorex_lab.designs.causal.selector import DISTILLED
from theorex_lab.errors import InvalidInput
from theorex_lab.home import Home
from theorex_lab.ids import check_agent
from theorex_lab.journal.event import Event
from theorex_lab.memory.evidence import evidence_view
from theorex_lab.memory.observation import TRUST

Asset = dict[str, Any]
TYPES = ("Gene", "Capsule")
_TEXTS = ("signals_match", "trigger", "strategy", "preconditions", "validation")  # lists of texts, or one text
_ASSET_CHARACTERS, _MOST_TEXTS = 64_000, 64
_NEW, _REINFORCED, _FAILED, _MOST_BOOST = 0.1, 0.05, -0.1, 0.5
_FEWEST, _GOOD_SCORE, _MOST_READ, _MOST_STEPS = 10, 0.7, 500, 12
_TASK_LIKENESS, _ANY_LIKENESS = 0.15, 1e-6


def record_gene(home: Home, gene: Mapping[str, Any], *, source: str = "agent", agent: str = "main") -> Asset:
    """Record a gene as it is from now on; returns it with its asset_id. One that is known just so is not recorded again.

    Raises InvalidInput as `checked_asset`, for another source than those of `TRUST`, and for the id of a capsule.
    """
    return _record(home, checked_asset(gene, "Gene"), home.project, source, agent)


def record_capsule(home: Home, capsule: Mapping[str, Any], *, source: str = "agent", agent: str = "main") -> Asset:
    """Record a capsule, as `record_gene` does a gene."""
    return _record(home, checked_asset(capsule, "Capsule"), home.project, source, agent)


def checked_asset(asset: Mapping[str, Any], kind: str) -> Asset:
    """A gene or a capsule with its type, without its asset_id. Members that are not known stay as they are.

    Raises InvalidInput for another type or category, an id as `capture.checked_id`, lists that hold other things than up to 64
    texts, a confidence outside 0..1, and what is no JSON of up to 64,000 characters.
    """
    if asset.get("type", kind) != kind or asset.get("category") not in (None, *CATEGORIES):
        got = f"got a {kind} of the type {asset.get('type')!r:.60} and the category {asset.get('category')!r:.60}"
        raise InvalidInput(f"{got}; allowed are {kind}, and {', '.join(CATEGORIES)} or none")
    found = {**asset, "type": kind, "id": checked_id(kind.lower(), asset.get("id"))}
    found.pop("asset_id", None)
    for name in _TEXTS:
        value = found.get(name, [])
        listed = isinstance(value, list | tuple) and len(value) <= _MOST_TEXTS
        if not isinstance(value, str) and not (listed and all(isinstance(text, str) for text in value)):
            raise InvalidInput(f"got {name}={value!r:.100}; allowed are a text, or a list of up to {_MOST_TEXTS} texts")
        if name in found and name != "strategy":
            found[name] = [value] if isinstance(value, str) else list(value)
    if not 0 <= _number(found.get("confidence", 0.0)) <= 1:
        raise InvalidInput(f"got the confidence {found['confidence']!r:.60}; allowed is a number from 0 to 1")
    try:
        size = len(json.dumps(found, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"got a {kind} that is no JSON ({error}); allowed are texts, finite numbers, lists and objects"
        ) from error
    if size > _ASSET_CHARACTERS:
        raise InvalidInput(f"got a {kind} of {size:,} characters; allowed are {_ASSET_CHARACTERS:,}")
    return found


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else -1.0


def _record(home: Home, asset: Asset, project: str, source: str, agent: str, lineage: Sequence[str] = ()) -> Asset:
    if source not in TRUST:
        raise InvalidInput(f"got the source {source!r}; allowed are {', '.join(TRUST)}")
    event = asset_event(
        asset, source=source, project=project, agent=check_agent(agent), at=home.clock.now(), lineage=lineage)  # fmt: skip
    told, made = event.body["asset"], event.body["asset_id"]
    with home.views.reading(Graph) as view:
        number = view.ids.find(told["id"])
        if number is not None and (view.known["gene"][number] == (told["type"] == "Capsule")):
            raise InvalidInput(
                f"got the id {told['id']!r} for a {told['type']}, which one of the other type has; give it one of its own"
            )
        same = number is not None and made == asset_id(json.loads(view.assets[int(view.known["place"][number])]))
        known = (
            same and bool(view.known["own"][number]) and view.projects[int(view.known["project"][number])] == project
        )
    if not known:
        home.journal.append([event])
    return {**told, "asset_id": made}


def record_external_candidate(home: Home, asset: Mapping[str, Any], *, agent: str = "main") -> dict[str, Any] | None:
    """Record a gene or a capsule that comes from outside; returns the event in the document's form, None without a type or an id.

    It is kept as content that is trusted least, with the status external_candidate, a capsule at its confidence times the
    setting externalConfidence; it is no evidence, selected by nobody and never done. Raises InvalidInput as `checked_asset`,
    and where its asset_id is not the hash of its content.
    """
    if not asset.get("type") or not asset.get("id"):
        return None
    if asset["type"] not in TYPES:
        raise InvalidInput(f"got an asset of the type {asset['type']!r:.60}; allowed are {' and '.join(TYPES)}")
    content = checked_asset(asset, asset["type"])
    if (said := asset.get("asset_id")) is not None and said != (made := asset_id(asset)):
        raise InvalidInput(
            f"got the asset_id {said!r:.80} for content of {made}; allowed is what was not changed on its way"
        )
    candidate, now = None, home.clock.now()
    if content["type"] == "Capsule":
        content["confidence"] = round(content.get("confidence", 0.0) * causal_settings(home).external_confidence, 6)
        candidate = {name: content.get(name) for name in ("trigger", "gene", "confidence")}
    before = content.get("a2a")
    content["a2a"] = {**(before if isinstance(before, Mapping) else {}), "status": "external_candidate"}
    body = {
        "external": {"source": "external", "received_at": f"{to_iso(now)[:-4]}Z"}, "candidate": candidate,
        "asset": {"type": content["type"], "id": content["id"]}, "content": content, "source": "import"}  # fmt: skip
    from theorex_lab.designs.causal.face import Causal

    return document_form(Causal(home).append("external_candidate", body, agent=check_agent(agent)))


def marks_after(outcomes: Iterable[tuple[str, bool]]) -> list[dict[str, Any]]:
    """Epigenetic marks by outcomes in order, each an environment and whether it succeeded there: what a gene's score there gains.

    The first success gives .1, further ones .05; a failure takes .1; all within -.5 to .5.

    >>> marks_after([("linux", True), ("linux", True), ("", False)])
    [{'context': 'linux', 'boost': 0.15}, {'context': '', 'boost': -0.1}]
    """
    found: dict[str, float] = {}
    for context, success in outcomes:
        change = _FAILED if not success else _REINFORCED if context in found else _NEW
        found[context] = round(min(_MOST_BOOST, max(-_MOST_BOOST, found.get(context, 0.0) + change)), 6)
    return [{"context": context, "boost": boost} for context, boost in found.items()]


def mark_genes(home: Home) -> int:
    """Record the genes whose marks changed by outcomes since; returns how many. Marks of environments not seen here stay."""
    with home.views.reading(Graph) as view:
        outcomes: dict[str, list[tuple[str, bool]]] = {}
        columns = (view.lived[name].tolist() for name in ("gene", "environment", "failed"))
        for gene, place, failed in zip(*columns, strict=True):
            if gene >= 0:
                outcomes.setdefault(view.genes[gene], []).append((view.environments[place], not failed))
        known = {gene["id"]: gene for gene in assets_of(home, own=True)}
        projects = {gene: view.projects[int(view.known["project"][view.ids.find(gene)])] for gene in known}
    changed = 0
    for gene in known.keys() & outcomes.keys():
        before = [mark for mark in known[gene].get("epigenetic_marks") or () if isinstance(mark, dict)]
        here = marks_after(outcomes[gene])
        seen = {mark["context"] for mark in here}
        marks = [*(mark for mark in before if mark.get("context") not in seen), *here]
        if marks != before:
            _record(home, {**known[gene], "epigenetic_marks": marks}, projects[gene], "model", "main")
            changed += 1
    return changed


def task_match(home: Home, signals: Sequence[str]) -> float:
    """How well what succeeded here fits a task with these signals, 0..1.

    .6 of the success rate under signals alike from .15 (Laplace), and .4 of the share of the signals under which anything succeeded.
    """
    parts, prefix = set(normalized_signals(checked_signals(signals))), f"causal/{SIGNAL_KEY}"
    if not parts:
        return 0.0
    with home.views.reading(evidence_view(home)) as evidence:
        table = evidence.table
        runs = table.runs(table.alike(prefix, parts, _TASK_LIKENESS)[0])
        known = [table.runs(table.alike(prefix, {part}, _ANY_LIKENESS)[0]).successes.sum() > 0 for part in parts]
    rate = (runs.successes.sum() + 1) / (runs.n.sum() + 2) if len(runs.n) else 0.0
    return float(0.6 * rate + 0.4 * sum(known) / len(parts))


def distill(home: Home, *, agent: str = "main") -> list[Asset]:
    """Make a gene of what ten or more successes of a score from .7 share: signals of half of them, and steps of their genes.

    Of each project by itself, of its successes since the last gene that was distilled there, a day later at the earliest.
    """
    with home.views.reading(Graph) as view:
        good = view.lived["seq"][(view.lived["score"] >= _GOOD_SCORE) & ~view.lived["failed"]]
        seqs = good[-_MOST_READ:].tolist()
    if len(seqs) < _FEWEST:
        return []
    groups: dict[str, list[Event]] = {}
    for event in home.journal.read(seqs=seqs):
        if home.projects is None or event.body.get("project", "") in ("", *home.projects):
            groups.setdefault(event.body.get("project", ""), []).append(event)
    return [
        gene
        for project, events in groups.items()
        for gene in _distilled(home.in_project(project), project, events, agent)
    ]


def _distilled(home: Home, project: str, events: Sequence[Event], agent: str) -> Iterator[Asset]:
    genes, now = {gene["id"]: gene for gene in assets_of(home, own=True)}, home.clock.now()
    last = max(
        (_number(gene.get("distilled_at")) for name, gene in genes.items() if name.startswith(DISTILLED)), default=0.0
    )
    fresh = [event for event in events if event.at > last]
    if now - last < MICROSECONDS_PER_DAY or len(fresh) < _FEWEST:
        return
    told = {event.id: set(map(trimmed, event.body["signal"]["signals"])) for event in fresh}
    for anchor, n in Counter(signal for signals in told.values() for signal in signals).most_common():
        if n < _FEWEST:
            return
        members = [event for event in fresh if anchor in told[event.id]]
        used = [genes.get((event.body["gene"] or {}).get("id"), {}) for event in members]
        matched = [signal for signal in _shared(told[event.id] for event in members) if _is_word(signal)]
        steps = _shared(_steps_of(gene) for gene in used)[:_MOST_STEPS]
        if matched and steps:
            category = Counter(gene.get("category") or "repair" for gene in used).most_common(1)[0][0]
            made = {
                "type": "Gene",
                "id": DISTILLED + stable_hash("\n".join([*matched, "", *steps])),
                "category": category,
            }
            made |= {
                "signals_match": matched[:_MOST_TEXTS],
                "strategy": steps,
                "distilled_at": now,
                "distilled_from": len(members),
            }
            yield _record(home, made, project, "model", agent, [event.id for event in members][-_MOST_TEXTS:])
            return


def _shared(found: Iterable[Iterable[str]]) -> list[str]:
    """What is in at least half of these, the most common first."""
    sets = [list(dict.fromkeys(texts)) for texts in found]
    counted = Counter(text for texts in sets for text in texts)
    return [text for text, n in counted.most_common() if 2 * n >= len(sets)]


def _is_word(signal: str) -> bool:
    return bool(signal) and "|" not in signal and not signal.startswith(("/", ERROR_SIGNAL))


def _steps_of(gene: Mapping[str, Any]) -> list[str]:
    strategy = gene.get("strategy") or []
    return [strategy] if isinstance(strategy, str) else list(strategy)


def tend_at_night(home: Home, _agent: str | None) -> str:
    """Mark genes by their outcomes, distill successes, adapt the personality to the outcomes since; a step of the night."""
    whole = home.in_project("")
    marked, made, turns = mark_genes(whole), distill(whole), len(home.views.get(Graph).states)
    adapt_personality(whole)
    adapted = len(home.views.get(Graph).states) > turns
    return f"{marked} genes marked, {len(made)} distilled{', the personality adapted' if adapted else ''}"
