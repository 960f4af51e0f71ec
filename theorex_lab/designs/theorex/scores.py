"""How an agent's concepts stand now: their scores and tiers, and the two policies that
act on them, scan and prune.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import to_datetime
from theorex_lab.core.ids import SCANNER
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

    rows: of the axon's concepts.  raw: orders them.  importance: 0..1, decides the
    tier.  tier: codes of Tier; a sleeping concept stays SLEEPING.  among_equals: count,
    last_seen and concept_id, which order equal raw scores.
    """

    rows: Ints
    raw: Floats
    importance: Floats
    tier: NDArray[np.int8]
    among_equals: tuple[Ints, Ints, Ints]

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """Positions in `rows`, best first; sorted when first asked for, since a scan
        asks for none.
        """
        return decay.rank_order(self.raw, *self.among_equals)

    def counts(self) -> dict[str, int]:
        """How many concepts are in each tier."""
        found = np.bincount(self.tier, minlength=len(Tier))
        return {tier.name: int(found[tier]) for tier in Tier}

    def take(self, positions: NDArray[np.intp]) -> "Scores":
        """Those at these positions in `rows`."""
        columns: Any = {
            name: getattr(self, name)[positions]
            for name in ("rows", "raw", "importance", "tier")
        }
        equals: Any = tuple(column[positions] for column in self.among_equals)
        return Scores(**columns, among_equals=equals)


def law_of(settings: Settings) -> Law:
    """The decay law that the settings name. Raises InvalidInput for an unknown law or a
    parameter out of range.
    """
    known = getattr(decay.LAWS.get(settings.decay_law), "parameters", {})
    half_life = (
        {"half_life_days": settings.half_life_days} if "half_life_days" in known else {}
    )
    return decay.make_law(settings.decay_law, **half_life | dict(settings.decay_params))


def items_of(axon: Axon, now: int, settings: Settings) -> Items:
    """What the laws read, for every row of the axon's concepts."""
    counts = axon.concept_counts
    links = axon.link_counts
    present, strength = links.present(now, settings.half_life_days)
    linked = decay.link_columns(
        len(axon.concepts), links.first[present], links.second[present], strength
    )
    only_fixes = axon.concepts["fix_count"] == axon.concepts["count"]
    own = counts.columns(now) | {
        "half_life_cap_days": np.where(only_fixes, settings.fix_half_life_days, np.inf)
    }
    return Items.of(**own, link_strength=linked[0], mean_link_strength=linked[1])


def scores_of(
    axon: Axon,
    now: int,
    settings: Settings,
    *,
    agents: Chosen = None,
    among: Mask | None = None,
) -> Scores:
    """Scores and tiers of the living concepts of these agents, or of all, at `now`
    (µs); of those in the mask `among`.
    """
    rows = axon.rows_of(agents, among)
    law = law_of(settings)
    table = axon.concepts
    items = items_of(axon, now, settings)
    raw = law.raw(items.take(rows) if len(rows) < len(items) else items)
    importance = law.importance(raw)
    tier = decay.tiers(importance, settings.active_threshold, settings.mild_threshold)
    tier[table["tier"][rows] == Tier.SLEEPING] = Tier.SLEEPING
    equals: Any = tuple(
        table[name][rows] for name in ("count", "last_seen", "concept_id")
    )
    return Scores(rows, raw, importance, tier, equals)


def spread_activation(
    axon: Axon, seeds: Ints, now: int, settings: Settings, *, hops: int = 2
) -> Floats:
    """Activation of every row of the axon's concepts: 1 at the seeds, and over each
    link times its present strength.

    Two hops; a row keeps the strongest activation that reaches it. Transient: it is
    computed for a query, never stored.
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
    """concept_id -> importance, 0..1, of the agent's concepts that are awake."""
    current = scores_of(axon, now, settings, agents=[agent])
    awake = current.tier != Tier.SLEEPING
    ids = axon.concepts["concept_id"][current.rows[awake]]
    return dict(zip(ids.tolist(), current.importance[awake].tolist(), strict=True))


class TierUpdate(NamedTuple):
    """What a scan found: concepts by tier after it, how many changed tier, fell asleep,
    and links dropped.
    """

    tiers: dict[str, int]
    changed: int
    slept: int
    links_dropped: int


def changes(event: Event | None) -> tuple[int, int, int]:
    """How many concepts a scan's event moved to another tier, how many of them to
    sleep, and how many links it dropped.
    """
    if event is None:
        return 0, 0, 0
    by_agent = event.body["tiers"].values()
    moved = sum(len(concepts) for tiers in by_agent for concepts in tiers.values())
    slept = sum(len(tiers.get("SLEEPING", ())) for tiers in by_agent)
    return (
        moved,
        slept,
        sum(len(pairs) for pairs in event.body["dropped_links"].values()),
    )


def scan(
    axon: Axon,
    now: int,
    settings: Settings,
    *,
    agents: Chosen = None,
    among: Mask | None = None,
) -> Event | None:
    """The event of one scan: tier changes, and links grown too weak; None where nothing
    changes.

    What is LESS and was not seen for `sleep_after_days` goes to sleep. A second scan at
    the same time finds nothing.
    """
    current = scores_of(axon, now, settings, agents=agents, among=among)
    rows = current.rows
    tier = current.tier.copy()
    tier[
        (tier == Tier.LESS)
        & (axon.concept_counts.age_days(now, rows) >= settings.sleep_after_days)
    ] = Tier.SLEEPING
    changed = np.flatnonzero(tier != axon.concepts["tier"][rows])
    by_agent: dict[str, dict[str, list[int]]] = {}
    for agent, of_agent in _by_agent(axon, rows[changed]):
        codes = tier[changed[of_agent]]
        ids = axon.concepts["concept_id"][rows[changed[of_agent]]]
        by_agent[agent] = {
            Tier(code).name: ids[codes == code].tolist()
            for code in np.unique(codes).tolist()
        }
    dropped = _weak_links(
        axon, axon.link_counts.strengths(now, settings.half_life_days), rows
    )
    body = {"tiers": by_agent, "dropped_links": dropped, "policy": policy(settings)}
    return (
        new_event("scan", body, agent=SCANNER, at=now) if by_agent or dropped else None
    )


def prune(
    axon: Axon,
    now: int,
    settings: Settings,
    *,
    agents: Chosen = None,
    among: Mask | None = None,
) -> Event | None:
    """The event of one prune: the LESS concepts unseen for more than
    `prune_threshold_days`; None where there are none.

    The event is their archive: it holds what each of them was, and the texts that
    mention them stay in the journal.
    """
    current = scores_of(axon, now, settings, agents=agents, among=among)
    age = axon.concept_counts.age_days(now, current.rows)
    rows = current.rows[
        (current.tier == Tier.LESS) & (age > settings.prune_threshold_days)
    ]
    names = ("concept_id", "count", "first_seen", "last_seen")
    table = axon.concepts
    owned = [
        (agent, rows[of_agent].tolist()) for agent, of_agent in _by_agent(axon, rows)
    ]
    by_agent = {
        agent: [{name: table[name][row].item() for name in names} for row in own]
        for agent, own in owned
    }
    body = {"concepts": by_agent, "policy": policy(settings)}
    return new_event("prune", body, agent=SCANNER, at=now) if by_agent else None


def policy(settings: Settings) -> dict[str, Any]:
    """The settings that decided, as they are noted beside a decision."""
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
    """agent -> pairs of concept ids: the links of these concepts that are still there
    and too weak to stay.
    """
    among = np.zeros(len(axon.concepts), bool)
    among[rows] = True
    weak = np.flatnonzero((strengths == 0) & (axon.links["count"] > 0))
    ends = np.stack([axon.links["a"][weak], axon.links["b"][weak]], axis=1)
    ends = ends[among[ends[:, 0]]]
    pairs = axon.concepts["concept_id"][ends]
    return {
        agent: pairs[of_agent].tolist()
        for agent, of_agent in _by_agent(axon, ends[:, 0])
    }


def _by_agent(axon: Axon, rows: NDArray[Any]) -> Iterator[tuple[str, NDArray[np.intp]]]:
    """(agent, positions in `rows` of its concepts), agents in the order in which they
    first wrote.
    """
    numbers = axon.concepts["agent"][rows]
    for number in np.unique(numbers).tolist():
        yield axon.agents[number], np.flatnonzero(numbers == number)


def frame(axon: Axon, current: Scores) -> Any:
    """A pandas DataFrame of the concepts, best first: one row a concept, times as UTC
    timestamps.
    """
    import pandas as pd

    best = current.take(current.order)
    rows = best.rows
    table: Any = {
        name[1:]: column[rows] for name, column in axon.concepts.columns("").items()
    }

    def named(texts: Strings, numbers: Ints) -> list[str]:
        return [texts[number] for number in numbers.tolist()]

    return pd.DataFrame(
        {
            "concept_id": table["concept_id"],
            "agent_id": named(axon.agents, table["agent"]),
            "canonical_form": named(axon.labels, rows),
            "surface_form": named(axon.surfaces, rows),
            "node_type": named(axon.node_types, table["node_type"]),
            "relevance_tier": [Tier(code).name for code in best.tier.tolist()],
            "importance_weight": best.importance,
            "raw": best.raw,
            "frequency_count": table["count"],
            **{
                name: [to_datetime(at) for at in table[name].tolist()]
                for name in ("first_seen", "last_seen")
            },
            "observation_type": named(axon.types, table["type"]),
            "sentiment": table["sentiment_sum"] / np.maximum(table["count"], 1),
            "source_weight": table["source_weight"],
        }
    )


def graph(axon: Axon, current: Scores, now: int, settings: Settings) -> Any:
    """A networkx Graph: nodes by concept_id with the columns of `frame`, edges with
    stored and present strength.

    Agents who know the same concept have a node each: (agent, concept_id) where several
    agents are asked for.
    """
    import networkx as nx

    result = nx.Graph()
    shown = frame(axon, current)
    several = shown["agent_id"].nunique() > 1
    names = (
        zip(shown["agent_id"], shown["concept_id"], strict=True)
        if several
        else shown["concept_id"]
    )
    name_of = dict(zip(current.rows[current.order].tolist(), names, strict=True))
    result.add_nodes_from(zip(name_of.values(), shown.to_dict("records"), strict=True))
    links, present = axon.link_counts.present(now, settings.half_life_days)
    stored = decay.stored_link_strength(axon.links["count"][links])
    columns = (axon.links["a"][links], axon.links["b"][links], present, stored)
    for one, other, *strengths in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        if one in name_of and other in name_of:
            ends = name_of[one], name_of[other]
            result.add_edge(*ends, strength=strengths[0], stored_strength=strengths[1])
    return result
