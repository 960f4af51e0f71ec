"""The graph of theorems: which uses, generalizes, specializes or contradicts which,
over all sessions.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import to_datetime
from theorex_lab.core.errors import AlreadyThere, InvalidInput
from theorex_lab.core.ids import check_agent, check_session, derived_event_id
from theorex_lab.designs.research import GENERAL, RELATIONS
from theorex_lab.designs.research.items import checked_domain
from theorex_lab.designs.research.records import (
    checked_source,
    domain_of,
    with_iso_times,
)
from theorex_lab.journal.columns import Names, Strings, Table
from theorex_lab.journal.event import Event, new_event
from theorex_lab.journal.view import View
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import check_tags, check_text
from theorex_lab.text.line import folded
from theorex_lab.text.redact.redaction_scope import kept_text

if TYPE_CHECKING:
    import networkx as nx

Ints = NDArray[np.int64]
Bits = NDArray[np.uint8]
UNCONDITIONAL = "unconditional"  # the tag of what follows from anything
_NAME_CHARACTERS = 200
_NEAREST_AMONG = 2_000
_ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(
    1, dtype=np.int64
)  # bits of each byte
_IMPLIES = {
    "generalizes": False,
    "specializes": True,
}  # whether a link is turned round to say what follows from what


@dataclass(frozen=True)
class KnowledgeNode:
    """A theorem. session_id: of the session that proved it.  distance: in links, from
    what is asked for.
    """

    node_id: str
    theorem_name: str
    formal_statement: str
    domain: str
    session_id: str
    tags: list[str]
    created_at: datetime
    distance: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The node as JSON values."""
        return with_iso_times(asdict(self))


class Theorems(View):
    """Theorems, a row each, and their links. told: JSON of each.  rows: domain,
    project, name (numbers).

    links: the rows at the ends, and the relation (number in RELATIONS); what leads to
    an unknown theorem is left out.
    """

    name = "research_theorems"
    code = 1
    kinds = ("theorem", "theorem_link")

    def __init__(self) -> None:
        super().__init__()
        self.ids = Names()
        self.names = Names()
        self.domains = Names()
        self.projects = Names()
        self.told = Strings()
        self.rows = Table(name="i4", domain="i4", project="i4")
        self.links = Table(start="i4", end="i4", relation="i1")
        self._near: tuple[Ints, Ints] = np.zeros(1, np.int64), np.zeros(0, np.int64)
        self._joined = (-1, -1)  # of how many theorems and links the neighbours are

    def _theorem(self, event: Event) -> None:
        body = event.body
        if self.ids.number(body["node_id"]) < len(self.rows):
            return
        project = self.projects.number(body.get("project", ""))
        domain = self.domains.number(body["domain"])
        self.rows.add(
            name=self.names.number(body["theorem_name"]), domain=domain, project=project
        )
        members = (
            "node_id",
            "theorem_name",
            "formal_statement",
            "domain",
            "session_id",
            "tags",
        )
        self.told.append(
            json.dumps(
                {**{name: body[name] for name in members}, "created_at": event.at}
            )
        )

    def _theorem_link(self, event: Event) -> None:
        ends = self.ids.find(event.body["from_id"]), self.ids.find(event.body["to_id"])
        if None not in ends:
            self.links.add(
                start=ends[0],
                end=ends[1],
                relation=RELATIONS.index(event.body["relation"]),
            )

    def node(self, row: int, distance: int = 0) -> KnowledgeNode:
        """The theorem in a row."""
        told = json.loads(self.told[row])
        return KnowledgeNode(
            **{**told, "created_at": to_datetime(told["created_at"])}, distance=distance
        )

    def chosen(self, home: Home, domain: str | None = None) -> Ints:
        """The rows of the home's projects or of none, of a domain or of any."""
        kept = np.ones(len(self.rows), bool)
        if home.projects is not None:
            kept &= np.isin(
                self.rows["project"], self.projects.numbers("", *home.projects)
            )
        if domain is not None:
            kept &= np.isin(self.rows["domain"], self.domains.numbers(domain))
        return np.flatnonzero(kept)

    def neighbours(self, rows: Ints) -> Ints:
        """The rows that are linked with these, either way: row by row, each in the
        order in which the links were told.
        """
        if self._joined != (size := (len(self.rows), len(self.links))):
            starts, ends = (
                self.links[name].astype(np.int64) for name in ("start", "end")
            )
            own = np.stack([starts, ends], 1).ravel()
            other = np.stack([ends, starts], 1).ravel()
            offsets = np.append(
                0, np.cumsum(np.bincount(own, minlength=len(self.rows)))
            )
            self._near = (offsets, other[np.argsort(own, kind="stable")])
            self._joined = size
        offsets, near = self._near
        counts = offsets[rows + 1] - offsets[rows]
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        found: Ints = near[np.repeat(offsets[rows], counts) + within]
        return found

    def _after_load(self) -> None:
        self._joined = (-1, -1)


def add_theorem(
    home: Home,
    theorem_name: str,
    formal_statement: str,
    domain: str = "",
    session_id: str = "",
    tags: Sequence[str] | None = None,
    *,
    agent: str = "main",
    source: str = "agent",
) -> KnowledgeNode:
    """Keep a theorem that was proved; the same one again is the one that is there.

    domain: '' is the session's, else `general`. Raises InvalidInput for texts outside
    the rules, and for a name that stands for another statement in its domain.
    """
    event = theorem_event(
        home,
        theorem_name,
        formal_statement,
        checked_domain(domain) or domain_of(home, session_id) or GENERAL,
        session_id=session_id,
        tags=tags or (),
        agent=agent,
        source=source,
    )
    try:
        home.journal.append([event])
    except AlreadyThere:
        check_same(home.journal.read(ids=[event.id]), event)
    with home.views.reading(Theorems) as view:
        return view.node(view.ids.numbers(event.id)[0])


def theorem_event(
    home: Home,
    name: str,
    statement: str,
    domain: str,
    *,
    session_id: str = "",
    tags: Sequence[str] = (),
    agent: str = "main",
    source: str = "agent",
    at: int | None = None,
) -> Event:
    """The event of a theorem; its id is that of its name in its domain and project.
    Raises InvalidInput as `add_theorem`.
    """
    name = folded(kept_text(check_text(name, home.settings.max_text_bytes)))
    if len(name) > _NAME_CHARACTERS:
        raise InvalidInput(
            f"got the name {name!r:.100}; allowed are up to {_NAME_CHARACTERS}"
            " characters"
        )
    statement = kept_text(check_text(statement, home.settings.max_text_bytes)).strip()
    node_id = derived_event_id("theorem", home.project, domain, name)
    body = {
        "tags": check_tags(tags),
        "node_id": node_id,
        "theorem_name": name,
        "formal_statement": statement,
    }
    body |= {
        "domain": domain,
        "project": home.project,
        "session_id": check_session(session_id),
        "source": checked_source(source),
    }
    return new_event(
        "theorem",
        body,
        agent=check_agent(agent),
        session=session_id,
        event_id=node_id,
        at=home.clock.now() if at is None else at,
    )


def check_same(known: Sequence[Event], event: Event) -> None:
    """Raise InvalidInput where the theorem that is known under an event's id says
    something else, or was erased (nothing is known).
    """
    name = event.body["theorem_name"]
    if not known:
        raise InvalidInput(
            f"got the theorem {name!r}, which was erased; give it another name"
        )
    there, given = (
        folded(one.body["formal_statement"])[:_NAME_CHARACTERS]
        for one in (known[0], event)
    )
    if folded(known[0].body["formal_statement"]) != folded(
        event.body["formal_statement"]
    ):
        raise InvalidInput(
            f"got {name!r} as {given!r}; in its domain it is {there!r}: give it another"
            " name or domain"
        )


def theorem_named(home: Home, named: str, domain: str | None = None) -> KnowledgeNode:
    """The theorem of this id or name. Raises InvalidInput where there is none, naming
    the nearest, and where there are several.
    """
    with home.views.reading(Theorems) as view:
        return view.node(_row(home, view, named, domain))


def _row(home: Home, view: Theorems, named: str, domain: str | None = None) -> int:
    rows = view.chosen(home, domain)
    number = view.names.find(named)
    if (row := view.ids.find(named)) is not None and rows[
        np.searchsorted(rows, row) % len(rows)
    ] == row:
        return row
    found = rows[view.rows["name"][rows] == (-1 if number is None else number)].tolist()
    if len(found) == 1:
        return int(found[0])
    if found:
        ids = ", ".join(
            f"{view.ids[row]} ({view.domains[int(view.rows['domain'][row])]})"
            for row in found[:5]
        )
        raise InvalidInput(
            f"got {named!r}, which several domains have; give the id: {ids}"
        )
    near = get_close_matches(
        named,
        [view.names[int(view.rows["name"][row])] for row in rows[-_NEAREST_AMONG:]],
        n=1,
        cutoff=0.4,
    )
    raise InvalidInput(
        f"got the theorem {named!r:.100}; allowed is the id or the name of"
        f" one{', such as ' + near[0] if near else ''}"
    )


def link_theorems(
    home: Home,
    from_id: str,
    to_id: str,
    relation: str = "uses",
    *,
    agent: str = "main",
    source: str = "agent",
) -> bool:
    """Say that one theorem uses another, or generalizes, specializes or contradicts it;
    whether that is new.

    Ids or names. Raises InvalidInput for another relation and for an unknown theorem.
    """
    start, end = (theorem_named(home, named).node_id for named in (from_id, to_id))
    try:
        home.journal.append(
            [link_event(home, start, end, relation, agent=agent, source=source)]
        )
    except AlreadyThere:
        return False
    return True


def link_event(
    home: Home,
    start: str,
    end: str,
    relation: str,
    *,
    agent: str = "main",
    source: str = "agent",
) -> Event:
    """The event of a link between ids; the same link has the same id. Raises
    InvalidInput for another relation.
    """
    body = {
        "from_id": start,
        "to_id": end,
        "relation": checked_relation(relation),
        "source": checked_source(source),
    }
    made = derived_event_id("theorem_link", start, end, relation)
    now = home.clock.now()
    body["project"] = home.project
    return new_event(
        "theorem_link",
        body,
        agent=check_agent(agent),
        at=now,
        event_id=made,
        lineage=[start, end],
    )


def checked_relation(relation: str) -> str:
    """One of RELATIONS. Raises InvalidInput for another."""
    if relation not in RELATIONS:
        raise InvalidInput(
            f"got the relation {relation!r:.60}; allowed are {', '.join(RELATIONS)}"
        )
    return relation


def find_related_theorems(
    home: Home, node_id: str, depth: int = 2
) -> list[KnowledgeNode]:
    """The theorems within so many links of one (id or name), of any kind and direction,
    breadth first, without it.

    Raises InvalidInput for an unknown theorem or a negative depth.
    """
    if depth < 0:
        raise InvalidInput(f"got the depth {depth}; allowed are whole numbers from 0")
    with home.views.reading(Theorems) as view:
        start = _row(home, view, node_id)
        allowed = np.zeros(len(view.rows), bool)
        allowed[view.chosen(home)] = True
        allowed[start], found, level = False, list[KnowledgeNode](), np.array([start])
        for distance in range(1, depth + 1):
            near = view.neighbours(level)
            near = near[allowed[near]]
            level = near[np.sort(np.unique(near, return_index=True)[1])]
            allowed[level] = False
            found += [view.node(row, distance) for row in level.tolist()]
            if not len(level):
                break
        return found


def to_networkx(home: Home, domain: str | None = None) -> nx.MultiDiGraph:
    """The graph, with the members of nodes and the relation of links; several links
    between two theorems stay several.
    """
    import networkx as nx

    graph = nx.MultiDiGraph()
    with home.views.reading(Theorems) as view:
        rows = view.chosen(home, domain)
        for row in rows.tolist():
            told = view.node(row).to_dict()
            graph.add_node(
                told.pop("node_id"),
                **{name: value for name, value in told.items() if name != "distance"},
            )
        starts, ends, relations = _links(view, rows)
        for start, end, number in zip(
            starts.tolist(), ends.tolist(), relations.tolist(), strict=True
        ):
            relation = RELATIONS[number]
            graph.add_edge(
                view.ids[start], view.ids[end], key=relation, relation=relation
            )
    return graph


def _links(view: Theorems, rows: Ints) -> tuple[Ints, Ints, Ints]:
    """Of the links between these rows, both ends and the relation."""
    inside = np.zeros(len(view.rows) + 1, bool)
    inside[rows] = True
    starts, ends = (view.links[name].astype(np.int64) for name in ("start", "end"))
    kept = inside[starts] & inside[ends]
    return starts[kept], ends[kept], view.links["relation"][kept].astype(np.int64)


class Closure(NamedTuple):
    """What follows from what. edges: links between distinct theorems.  pairs: of the
    reflexive and transitive closure.

    seconds: of computing it.  reached: (nodes, nodes / 8) bits, a row the theorems that
    follow from one (big-endian, see numpy.packbits).  names: of the nodes.
    """

    nodes: int
    edges: int
    pairs: int
    seconds: float
    reached: Bits
    names: Sequence[str]


def closure_of(
    home: Home, relation: str = "generalizes", domain: str | None = None
) -> Closure:
    """The closure of a relation; what specializes another is generalized by it. What
    has the tag `unconditional` follows from anything.

    Raises InvalidInput for another relation.
    """
    checked_relation(relation)
    with home.views.reading(Theorems) as view:
        rows = view.chosen(home, domain)
        starts, ends, relations = _links(view, rows)
        nodes = [view.node(row) for row in rows.tolist()]
    kept = relations == RELATIONS.index(relation)
    turned = np.zeros(len(relations), bool)
    if relation in _IMPLIES:
        other = RELATIONS.index(
            "specializes" if relation == "generalizes" else "generalizes"
        )
        turned = relations == other
        kept |= turned
    starts, ends = (
        np.where(turned, ends, starts)[kept],
        np.where(turned, starts, ends)[kept],
    )
    place = np.zeros(int(rows.max(initial=-1)) + 1, np.int64)
    place[rows] = np.arange(len(rows))
    free = [
        number
        for number, node in enumerate(nodes)
        if UNCONDITIONAL in node.tags and relation in _IMPLIES
    ]
    return closed(
        [node.theorem_name for node in nodes], place[starts], place[ends], free
    )


def closed(
    names: Sequence[str], starts: Ints, ends: Ints, unconditional: Sequence[int] = ()
) -> Closure:
    """The closure of links between numbered nodes, by sets of bits, from the last
    strongly connected component to the first.

    >>> closed("abc", np.array([0, 1]), np.array([1, 2])).pairs
    6
    """
    import networkx as nx

    begun = time.perf_counter()
    n = len(names)
    pairs = np.unique(np.stack([starts, ends], 1)[starts != ends], axis=0)
    graph = nx.DiGraph(map(tuple, pairs.tolist()))
    graph.add_nodes_from(range(n))
    reached = np.packbits(np.eye(n, dtype=bool), axis=1)
    for number in unconditional:
        reached[:, number // 8] |= 128 >> number % 8
    near: dict[int, list[int]] = {node: list(graph.successors(node)) for node in graph}
    for component in nx.strongly_connected_components(
        graph
    ):  # what a component leads to comes before it
        members = list(component)
        after = [end for node in members for end in near[node]]
        reached[members] = np.bitwise_or.reduce(reached[members + after], axis=0)
    if unconditional:  # what follows from these follows from all
        reached |= np.bitwise_or.reduce(reached[list(unconditional)], axis=0)
    return Closure(
        n,
        len(pairs),
        int(_ONES[reached].sum()),
        time.perf_counter() - begun,
        reached,
        names,
    )


def cycles(home: Home, domain: str | None = None) -> list[list[str]]:
    """The groups of theorems that use each other in a circle, by name; one that uses
    itself too.
    """
    import networkx as nx

    with home.views.reading(Theorems) as view:
        starts, ends, relations = _links(view, view.chosen(home, domain))
        uses = relations == RELATIONS.index("uses")
        graph = nx.DiGraph(zip(starts[uses].tolist(), ends[uses].tolist(), strict=True))
        groups = [
            group
            for group in nx.strongly_connected_components(graph)
            if len(group) > 1 or graph.has_edge(*[*group] * 2)
        ]
        return sorted(
            sorted(view.names[int(view.rows["name"][row])] for row in group)
            for group in groups
        )


def import_theorems(
    home: Home,
    nodes: Iterable[tuple[str, str, Sequence[str]]],
    links: Iterable[tuple[str, str, str]],
    *,
    domain: str = "",
    source: str = "import",
    agent: str = "main",
) -> dict[str, Any]:
    """Take in theorems (name, statement, tags) and links (name, name, relation) of a
    domain, in one transaction; twice is once.

    Returns how many theorems and links were new, how many were known, and the names of
    conflicts (another statement stands under the name) and of what links name and
    nobody told. Raises InvalidInput for texts and relations outside the rules; then
    nothing was taken in.
    """
    where = checked_domain(domain) or GENERAL
    about: dict[str, Any] = {"source": source, "agent": agent}
    made = {
        event.id: event
        for event in (
            theorem_event(home, *node[:2], where, tags=node[2], **about)
            for node in nodes
        )
    }
    known = {event.id: event for event in home.journal.read(ids=[*made])}
    conflicts = [
        event.body["theorem_name"]
        for key, event in known.items()
        if folded(event.body["formal_statement"])
        != folded(made[key].body["formal_statement"])
    ]
    ids = {event.body["theorem_name"]: key for key, event in made.items()}
    joined = dict[str, Event]()
    unresolved = dict[str, None]()
    for start, end, relation in links:
        lacking = [name for name in (start, end) if name not in ids]
        unresolved |= dict.fromkeys(lacking)
        if not lacking:
            event = link_event(home, ids[start], ids[end], relation, **about)
            joined[event.id] = event
    there = {event.id for event in home.journal.read(ids=[*joined])}
    new = [event for key, event in made.items() if key not in known]
    fresh = [event for key, event in joined.items() if key not in there]
    home.journal.append([*new, *fresh])
    counts = {
        "theorems": len(new),
        "links": len(fresh),
        "known": len(known) + len(there),
    }
    return {**counts, "conflicts": conflicts, "unresolved": list(unresolved)}
