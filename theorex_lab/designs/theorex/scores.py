"""How an agent's concepts stand now.

It is their scores and tiers, and the two policies that act on them, scan and prune.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import to_datetime
from theorex_lab.core.ids import SCANNER
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.settings import Settings
from theorex_lab.designs.theorex.axon import Axon, Floats, Ints, Mask
from theorex_lab.journal.columns import Strings
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory import decay
from theorex_lab.memory.decay import Items, Law, Tier

Chosen = Sequence[str] | None  # names; None: all


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of concepts at one moment, row by row.

    Attributes:
        rows: Rows of the axon's concepts.
        raw: What orders them.
        importance: 0..1, decides the tier.
        tier: Codes of Tier; a sleeping concept stays SLEEPING.
        among_equals: Count, last_seen and concept_id, which order equal raw scores.
    """

    rows: Ints
    raw: Floats
    importance: Floats
    tier: NDArray[np.int8]
    among_equals: tuple[Ints, Ints, Ints]

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """Positions in `rows`, best first.

        They are sorted when first asked for, since a scan asks for none.
        """
        return decay.rank_order(self.raw, *self.among_equals)

    def counts(self) -> dict[str, int]:
        """Return how many concepts are in each tier."""
        n_concepts = np.bincount(self.tier, minlength=len(Tier))
        return {tier.name: int(n_concepts[tier]) for tier in Tier}

    def take(self, positions: NDArray[np.intp]) -> "Scores":
        """Return the scores of the concepts at these positions in `rows`."""
        count, last_seen, concept_id = self.among_equals
        return Scores(
            self.rows[positions],
            self.raw[positions],
            self.importance[positions],
            self.tier[positions],
            (count[positions], last_seen[positions], concept_id[positions]),
        )


def law_of(settings: Settings) -> Law:
    """Return the decay law that the settings name.

    Raises:
        InvalidInput: The law is unknown, or a parameter is out of range.
    """
    law = decay.LAWS.get(settings.decay_law)
    parameters: dict[str, Any] = {}
    if "half_life_days" in getattr(law, "parameters", {}):
        parameters["half_life_days"] = settings.half_life_days
    parameters |= dict(settings.decay_params)
    return decay.make_law(settings.decay_law, **parameters)


def items_of(axon: Axon, now: int, settings: Settings) -> Items:
    """Return what the laws read, for every row of the axon's concepts.

    Args:
        axon: The concepts of all agents.
        now: The time for which they are read (µs UTC).
        settings: The half-lives.
    """
    links = axon.link_counts
    present, strength = links.present(now, settings.half_life_days)
    link_strength, mean_link_strength = decay.link_columns(
        len(axon.concepts),
        links.first[present],
        links.second[present],
        strength,
    )
    only_fixes = axon.concepts["fix_count"] == axon.concepts["count"]
    cap = np.where(only_fixes, settings.fix_half_life_days, np.inf)
    columns = axon.concept_counts.columns(now)
    columns |= {"half_life_cap_days": cap}
    return Items.of(
        **columns,
        link_strength=link_strength,
        mean_link_strength=mean_link_strength,
    )


def scores_of(
    axon: Axon,
    now: int,
    settings: Settings,
    *,
    agents: Chosen = None,
    among: Mask | None = None,
) -> Scores:
    """Return the scores and tiers of the living concepts at `now` (µs).

    Args:
        axon: The concepts of all agents.
        now: The moment (µs) at which they are scored.
        settings: The decay law and the thresholds.
        agents: Those whose concepts are scored; None: all.
        among: A mask of the rows that are scored; None: all.
    """
    rows = axon.rows_of(agents, among)
    law = law_of(settings)
    table = axon.concepts
    items = items_of(axon, now, settings)
    if len(rows) < len(items):
        items = items.take(rows)
    raw = law.raw(items)
    importance = law.importance(raw)
    tier = decay.tiers(importance, settings.active_threshold, settings.mild_threshold)
    tier[table["tier"][rows] == Tier.SLEEPING] = Tier.SLEEPING
    among_equals: Any = (
        table["count"][rows],
        table["last_seen"][rows],
        table["concept_id"][rows],
    )
    return Scores(rows, raw, importance, tier, among_equals)


def spread_activation(
    axon: Axon, seeds: Ints, now: int, settings: Settings, *, hops: int = 2
) -> Floats:
    """Return the activation of every row of the axon's concepts.

    It is 1 at the seeds, and over each link times its present strength. A row keeps the
    strongest activation that reaches it. It is computed for a query, never stored.

    Args:
        axon: The concepts and links.
        seeds: The rows that it starts from.
        now: The moment (µs) at which the links have their strength.
        settings: The half-life of links.
        hops: Over how many links it goes.
    """
    activation = np.zeros(len(axon.concepts))
    activation[seeds] = 1.0
    links, strength = axon.link_counts.present(now, settings.half_life_days)
    a = axon.links["a"][links]
    b = axon.links["b"][links]
    for _ in range(hops):
        reached = activation.copy()
        np.maximum.at(reached, a, activation[b] * strength)
        np.maximum.at(reached, b, activation[a] * strength)
        activation = reached
    return activation


def importance_by_concept(
    axon: Axon, now: int, settings: Settings, *, agent: str
) -> dict[int, float]:
    """Return concept_id -> importance, 0..1, of the agent's concepts that are awake."""
    current = scores_of(axon, now, settings, agents=[agent])
    awake = current.tier != Tier.SLEEPING
    awake_rows = current.rows[awake]
    ids = axon.concepts["concept_id"][awake_rows].tolist()
    importance = current.importance[awake].tolist()
    return dict(zip(ids, importance, strict=True))


class TierUpdate(NamedTuple):
    """The result of a scan.

    Attributes:
        tiers: How many concepts are in each tier after it.
        changed: How many changed tier.
        slept: How many were archived.
        links_dropped: How many links were dropped.
    """

    tiers: dict[str, int]
    changed: int
    slept: int
    links_dropped: int


def changes(event: Event | None) -> tuple[int, int, int]:
    """Return what a scan's event changed.

    Returns:
        How many concepts it moved to another tier, how many of them to sleep, and how
        many links it dropped.
    """
    if event is None:
        return 0, 0, 0
    n_moved = 0
    n_slept = 0
    n_dropped = 0
    for concepts_by_tier in event.body["tiers"].values():
        for concepts in concepts_by_tier.values():
            n_moved += len(concepts)
        n_slept += len(concepts_by_tier.get("SLEEPING", ()))
    for pairs in event.body["dropped_links"].values():
        n_dropped += len(pairs)
    return n_moved, n_slept, n_dropped


def scan(
    axon: Axon,
    now: int,
    settings: Settings,
    *,
    agents: Chosen = None,
    among: Mask | None = None,
) -> Event | None:
    """Return the event of one scan: tier changes, and links grown too weak.

    It is None where nothing changes. What is LESS and was not seen for
    `sleep_after_days` goes to sleep. A second scan at the same time finds nothing.

    Args:
        axon: The concepts of all agents.
        now: When (µs) it is scanned.
        settings: The decay law and the thresholds.
        agents: Those whose concepts are scanned; None: all.
        among: A mask of the rows that are scanned; None: all.
    """
    current = scores_of(axon, now, settings, agents=agents, among=among)
    rows = current.rows
    tier = current.tier.copy()
    age = axon.concept_counts.age_days(now, rows)
    is_old = age >= settings.sleep_after_days
    is_less = tier == Tier.LESS
    tier[is_less & is_old] = Tier.SLEEPING
    tier_before = axon.concepts["tier"][rows]
    changed = np.flatnonzero(tier != tier_before)
    changed_rows = rows[changed]
    changed_tier = tier[changed]
    tiers_by_agent: dict[str, dict[str, list[int]]] = {}
    for agent, positions in _by_agent(axon, changed_rows):
        codes = changed_tier[positions]
        ids = axon.concepts["concept_id"][changed_rows[positions]]
        ids_by_tier: dict[str, list[int]] = {}
        for code in np.unique(codes).tolist():
            name = Tier(code).name
            ids_by_tier[name] = ids[codes == code].tolist()
        tiers_by_agent[agent] = ids_by_tier
    strengths = axon.link_counts.strengths(now, settings.half_life_days)
    dropped_links = _weak_links(axon, strengths, rows)
    if not tiers_by_agent and not dropped_links:
        return None
    body = {
        "tiers": tiers_by_agent,
        "dropped_links": dropped_links,
        "policy": policy(settings),
    }
    return new_event("scan", body, agent=SCANNER, at=now)


def prune(
    axon: Axon,
    now: int,
    settings: Settings,
    *,
    agents: Chosen = None,
    among: Mask | None = None,
) -> Event | None:
    """Return the event of one prune; None where nothing is pruned.

    Pruned are the LESS concepts unseen for more than `prune_threshold_days`. The event
    is their archive: it holds what each of them was, and the texts that mention them
    stay in the journal.

    Args:
        axon: The concepts of all agents.
        now: When (µs) it is pruned.
        settings: The decay law and the thresholds.
        agents: Those whose concepts are pruned; None: all.
        among: A mask of the rows that may be pruned; None: all.
    """
    current = scores_of(axon, now, settings, agents=agents, among=among)
    age = axon.concept_counts.age_days(now, current.rows)
    is_old = age > settings.prune_threshold_days
    is_less = current.tier == Tier.LESS
    rows = current.rows[is_less & is_old]
    concepts_by_agent: dict[str, list[dict[str, int]]] = {}
    for agent, positions in _by_agent(axon, rows):
        concepts_by_agent[agent] = _archived_concepts(axon, rows[positions])
    if not concepts_by_agent:
        return None
    body = {"concepts": concepts_by_agent, "policy": policy(settings)}
    return new_event("prune", body, agent=SCANNER, at=now)


def _archived_concepts(axon: Axon, rows: Ints) -> list[dict[str, int]]:
    """Return what a prune's event holds of the concepts of these rows."""
    names = ("concept_id", "count", "first_seen", "last_seen")
    concepts = []
    for row in rows.tolist():
        concepts.append({name: axon.concepts[name][row].item() for name in names})
    return concepts


def policy(settings: Settings) -> dict[str, Any]:
    """Return the settings that decided, as they are noted beside a decision."""
    names = (
        "decay_law",
        "decay_params",
        "half_life_days",
        "fix_half_life_days",
        "active_threshold",
        "mild_threshold",
        "sleep_after_days",
        "prune_threshold_days",
    )
    return {name: getattr(settings, name) for name in names}


def _weak_links(
    axon: Axon, strengths: Floats, rows: Ints
) -> dict[str, list[list[int]]]:
    """Return the links of these concepts that are too weak to stay.

    Links that were dropped already are left out.

    Returns:
        By agent the pairs of concept ids.
    """
    is_among = np.zeros(len(axon.concepts), bool)
    is_among[rows] = True
    links = axon.links
    is_present = links["count"] > 0
    weak = np.flatnonzero((strengths == 0) & is_present)
    ends = np.stack([links["a"][weak], links["b"][weak]], axis=1)
    first_is_among = is_among[ends[:, 0]]
    ends = ends[first_is_among]
    pairs = axon.concepts["concept_id"][ends]
    pairs_by_agent: dict[str, list[list[int]]] = {}
    for agent, positions in _by_agent(axon, ends[:, 0]):
        pairs_by_agent[agent] = pairs[positions].tolist()
    return pairs_by_agent


def _by_agent(axon: Axon, rows: NDArray[Any]) -> Iterator[tuple[str, NDArray[np.intp]]]:
    """Yield each agent, with the positions in `rows` of its concepts.

    The agents are in the order in which they first wrote.
    """
    numbers = axon.concepts["agent"][rows]
    for number in np.unique(numbers).tolist():
        yield axon.agents[number], np.flatnonzero(numbers == number)


def frame(axon: Axon, current: Scores) -> Any:
    """Return a pandas DataFrame of the concepts, best first.

    It has one row a concept, and times as UTC timestamps.
    """
    import pandas as pd

    best = current.take(current.order)
    rows = best.rows
    table: dict[str, NDArray[Any]] = {}
    for name, column in axon.concepts.columns("").items():
        table[name[1:]] = column[rows]

    def texts_at(texts: Strings, numbers: Ints) -> list[str]:
        return [texts[number] for number in numbers.tolist()]

    def timestamps(name: str) -> list[Any]:
        return [to_datetime(at) for at in table[name].tolist()]

    return pd.DataFrame(
        {
            "concept_id": table["concept_id"],
            "agent_id": texts_at(axon.agents, table["agent"]),
            "canonical_form": texts_at(axon.labels, rows),
            "surface_form": texts_at(axon.surfaces, rows),
            "node_type": texts_at(axon.node_types, table["node_type"]),
            "relevance_tier": [Tier(code).name for code in best.tier.tolist()],
            "importance_weight": best.importance,
            "raw_score": best.raw,
            "frequency_count": table["count"],
            "first_seen": timestamps("first_seen"),
            "last_seen": timestamps("last_seen"),
            "observation_type": texts_at(axon.types, table["type"]),
            "sentiment": table["sentiment_sum"] / np.maximum(table["count"], 1),
            "source_weight": table["source_weight"],
        }
    )


def graph(axon: Axon, current: Scores, now: int, settings: Settings) -> Any:
    """Return a networkx Graph of the concepts and their links.

    Nodes are by concept_id and have the columns of `frame`; edges have the stored and
    the present strength. Where the concepts are of several agents, a node's name is
    (agent, concept_id): agents who know the same concept have a node each.

    Args:
        axon: The concepts and links of all agents.
        current: The scores of the concepts that are nodes.
        now: The moment (µs) at which links have their present strength.
        settings: The half-life of links.
    """
    import networkx as nx

    result = nx.Graph()
    nodes = frame(axon, current)
    names = nodes["concept_id"]
    if nodes["agent_id"].nunique() > 1:
        names = zip(nodes["agent_id"], nodes["concept_id"], strict=True)
    best_first = current.rows[current.order].tolist()
    name_of = dict(zip(best_first, names, strict=True))
    records = nodes.to_dict("records")
    result.add_nodes_from(zip(name_of.values(), records, strict=True))
    links, strengths = axon.link_counts.present(now, settings.half_life_days)
    stored_strengths = decay.stored_link_strength(axon.links["count"][links])
    edges = zip(
        axon.links["a"][links].tolist(),
        axon.links["b"][links].tolist(),
        strengths.tolist(),
        stored_strengths.tolist(),
        strict=True,
    )
    for first, second, strength, stored_strength in edges:
        if first in name_of and second in name_of:
            result.add_edge(
                name_of[first],
                name_of[second],
                strength=strength,
                stored_strength=stored_strength,
            )
    return result
