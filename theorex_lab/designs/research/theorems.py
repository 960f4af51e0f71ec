"""Hold the graph of theorems, over all sessions.

It says which theorem uses, generalizes, specializes or contradicts which.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core import light_json
from theorex_lab.core.clock import to_datetime
from theorex_lab.core.errors import AlreadyThere, InvalidInput
from theorex_lab.core.ids import check_agent, check_session, derived_event_id
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.designs.research import GENERAL, RELATIONS
from theorex_lab.designs.research.items import checked_domain
from theorex_lab.designs.research.records import (
    checked_source,
    chosen_domain,
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
_NODE_MEMBERS = (
    "node_id",
    "theorem_name",
    "formal_statement",
    "domain",
    "session_id",
    "tags",
)
_ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(
    1, dtype=np.int64
)  # bits of each byte
# The relation whose links, turned round, say the same.
IMPLIES = "generalizes"
_OPPOSITES = {"generalizes": "specializes", "specializes": "generalizes"}


@dataclass(frozen=True)
class KnowledgeNode:
    """Hold a theorem.

    Attributes:
        node_id: The id of its event.
        theorem_name: Its name.
        formal_statement: What it says.
        domain: The domain that it belongs to.
        session_id: The session that proved it.
        tags: Its tags.
        created_at: When it was told.
        distance: In links, from what is asked for.
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
        """Return the node as JSON values."""
        return with_iso_times(asdict(self))


class Theorems(View):
    """Hold theorems, a row each, and their links.

    What leads to an unknown theorem is left out.

    Attributes:
        told: JSON of each theorem.
        rows: The numbers of its name, domain and project.
        links: The rows at the ends, and the relation (number in RELATIONS).
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
        name = self.names.number(body["theorem_name"])
        self.rows.add(name=name, domain=domain, project=project)
        members = {name: body[name] for name in _NODE_MEMBERS}
        members["created_at"] = event.at
        self.told.append(json.dumps(members))

    def _theorem_link(self, event: Event) -> None:
        start = self.ids.find(event.body["from_id"])
        end = self.ids.find(event.body["to_id"])
        if start is None or end is None:
            return
        relation = RELATIONS.index(event.body["relation"])
        self.links.add(start=start, end=end, relation=relation)

    def node(self, row: int) -> KnowledgeNode:
        """Return the theorem in a row."""
        (node,) = self.nodes([row])
        return node

    def nodes(self, rows: Iterable[int], distance: int = 0) -> list[KnowledgeNode]:
        """Return the theorems in these rows, all as far from what is asked for."""
        # One list is parsed in two thirds of the time that its texts take one by one.
        texts = ",".join([self.told[row] for row in rows])
        nodes = []
        for members in light_json.loads(f"[{texts}]"):
            members["created_at"] = to_datetime(members["created_at"])
            members["distance"] = distance
            nodes.append(KnowledgeNode(**members))
        return nodes

    def chosen(self, home: Home, domain: str | None = None) -> Ints:
        """Return the rows of the home's projects or of none, of a domain or of any."""
        is_chosen = np.ones(len(self.rows), bool)
        if home.projects is not None:
            projects = self.projects.numbers("", *home.projects)
            is_chosen &= np.isin(self.rows["project"], projects)
        if domain is not None:
            domains = self.domains.numbers(domain)
            is_chosen &= np.isin(self.rows["domain"], domains)
        return np.flatnonzero(is_chosen)

    def neighbours(self, rows: Ints) -> Ints:
        """Return the rows that are linked with these, either way.

        They come row by row, each in the order in which the links were told.
        """
        size = (len(self.rows), len(self.links))
        if self._joined != size:
            self._join()
            self._joined = size
        offsets, near = self._near
        counts = offsets[rows + 1] - offsets[rows]
        # The positions in `near` of each row's neighbours, one row after the other.
        starts = np.repeat(offsets[rows], counts)
        n_before = np.cumsum(counts) - counts
        positions = np.arange(counts.sum())
        within = positions - np.repeat(n_before, counts)
        linked: Ints = near[starts + within]
        return linked

    def _join(self) -> None:
        """List the neighbours of each row, one row after the other."""
        starts = self.links["start"].astype(np.int64)
        ends = self.links["end"].astype(np.int64)
        # Each link twice, once from either end.
        from_rows = np.stack([starts, ends], 1).ravel()
        to_rows = np.stack([ends, starts], 1).ravel()
        counts = np.bincount(from_rows, minlength=len(self.rows))
        offsets = np.append(0, np.cumsum(counts))
        by_row = np.argsort(from_rows, kind="stable")
        self._near = (offsets, to_rows[by_row])

    def _after_load(self) -> None:
        self._joined = (-1, -1)


def add_theorem(
    home: Home,
    theorem_name: str,
    formal_statement: str,
    domain: str = "",
    *,
    session_id: str = "",
    tags: Sequence[str] | None = None,
    agent: str = "main",
    source: str = "agent",
) -> KnowledgeNode:
    """Keep a theorem that was proved; the same one again is the one that is there.

    Args:
        home: Where it is kept.
        theorem_name: Its name.
        formal_statement: What it says.
        domain: What it belongs to; '' is the session's domain, else `general`.
        session_id: The session that proved it.
        tags: Its tags.
        agent: Who tells it.
        source: Whose word it is.

    Raises:
        InvalidInput: A text is outside the rules, or the name stands for another
            statement in its domain.
    """
    event = theorem_event(
        home,
        theorem_name,
        formal_statement,
        chosen_domain(home, domain, session_id),
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
    """Return the event of a theorem.

    Its id is that of its name in its domain and project.

    Args:
        home: Whose project it belongs to.
        name: Its name.
        statement: What it says.
        domain: What it belongs to.
        session_id: The session that proved it.
        tags: Its tags.
        agent: Who tells it.
        source: Whose word it is.
        at: When, in µs UTC; default: now.

    Raises:
        InvalidInput: As `add_theorem` raises it.
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


def check_same(recorded: Sequence[Event], event: Event) -> None:
    """Raise an error where a theorem differs from the one that is recorded.

    Args:
        recorded: The theorem under the event's id; none where it was erased, which is
            refused as well.
        event: The theorem that is told now.

    Raises:
        InvalidInput: It differs.
    """
    name = event.body["theorem_name"]
    if not recorded:
        raise InvalidInput(
            f"got the theorem {name!r}, which was erased; give it another name"
        )
    old_statement = folded(recorded[0].body["formal_statement"])
    new_statement = folded(event.body["formal_statement"])
    if old_statement != new_statement:
        raise InvalidInput(
            f"got {name!r} as {new_statement[:_NAME_CHARACTERS]!r}; in its domain it is"
            f" {old_statement[:_NAME_CHARACTERS]!r}: give it another name or domain"
        )


def theorem_named(
    home: Home, id_or_name: str, domain: str | None = None
) -> KnowledgeNode:
    """Return the theorem of this id or name.

    Args:
        home: Where it is kept.
        id_or_name: Its id or its name.
        domain: Only of this domain; default: of any.

    Raises:
        InvalidInput: There is none, or there are several. The nearest is told.
    """
    with home.views.reading(Theorems) as view:
        return view.node(_row(home, view, id_or_name, domain))


def _row(
    home: Home,
    view: Theorems,
    id_or_name: str,
    domain: str | None = None,
) -> int:
    """Return the row of the theorem of this id or name.

    Raises:
        InvalidInput: As `theorem_named` raises it.
    """
    rows = view.chosen(home, domain)
    row = view.ids.find(id_or_name)
    if row is not None:
        position = np.searchsorted(rows, row) % len(rows)
        if rows[position] == row:
            return row
    name_number = view.names.find(id_or_name)
    if name_number is None:
        name_number = -1
    has_name = view.rows["name"][rows] == name_number
    matches = rows[has_name].tolist()
    if len(matches) == 1:
        return int(matches[0])
    if matches:
        ids = []
        for match in matches[:5]:
            number = int(view.rows["domain"][match])
            ids.append(f"{view.ids[match]} ({view.domains[number]})")
        raise InvalidInput(
            f"got {id_or_name!r}, which several domains have; give the id:"
            f" {', '.join(ids)}"
        )
    last_rows = rows[-_NEAREST_AMONG:]
    numbers = view.rows["name"][last_rows].tolist()
    names = [view.names[number] for number in numbers]
    near = get_close_matches(id_or_name, names, n=1, cutoff=0.4)
    example = f", such as {near[0]}" if near else ""
    raise InvalidInput(
        f"got the theorem {id_or_name!r:.100}; allowed is the id or the name of"
        f" one{example}"
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
    """Say how one theorem belongs to another; return whether that is new.

    Args:
        home: Where it is kept.
        from_id: The id or the name of the first theorem.
        to_id: The id or the name of the second.
        relation: Whether the first uses, generalizes, specializes or contradicts it.
        agent: Who tells it.
        source: Whose word it is.

    Raises:
        InvalidInput: There is no such relation, or a theorem is unknown.
    """
    start = theorem_named(home, from_id).node_id
    end = theorem_named(home, to_id).node_id
    event = link_event(home, start, end, relation, agent=agent, source=source)
    try:
        home.journal.append([event])
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
    """Return the event of a link between ids; the same link has the same id.

    Args:
        home: Whose project it belongs to.
        start: The id of the first theorem.
        end: The id of the second.
        relation: One of RELATIONS.
        agent: Who tells it.
        source: Whose word it is.

    Raises:
        InvalidInput: There is no such relation.
    """
    body = {
        "from_id": start,
        "to_id": end,
        "relation": checked_relation(relation),
        "source": checked_source(source),
        "project": home.project,
    }
    return new_event(
        "theorem_link",
        body,
        agent=check_agent(agent),
        at=home.clock.now(),
        event_id=derived_event_id("theorem_link", start, end, relation),
        lineage=[start, end],
    )


def checked_relation(relation: str) -> str:
    """Return one of RELATIONS.

    Raises:
        InvalidInput: It is another.
    """
    if relation not in RELATIONS:
        raise InvalidInput(
            f"got the relation {relation!r:.60}; allowed are {', '.join(RELATIONS)}"
        )
    return relation


def find_related_theorems(
    home: Home, node_id: str, depth: int = 2
) -> list[KnowledgeNode]:
    """Return the theorems within so many links of one, breadth first, without it.

    Links count whatever their kind and direction.

    Args:
        home: Where they are kept.
        node_id: The id or the name of the theorem.
        depth: How many links away.

    Raises:
        InvalidInput: The theorem is unknown, or the depth is negative.
    """
    if depth < 0:
        raise InvalidInput(f"got the depth {depth}; allowed are whole numbers from 0")
    with home.views.reading(Theorems) as view:
        start = _row(home, view, node_id)
        is_open = np.zeros(len(view.rows), bool)
        is_open[view.chosen(home)] = True
        is_open[start] = False
        nodes = []
        level = np.array([start])
        for distance in range(1, depth + 1):
            near = view.neighbours(level)
            near = near[is_open[near]]
            # Each once, in the order in which it was reached.
            _, first_positions = np.unique(near, return_index=True)
            level = near[np.sort(first_positions)]
            is_open[level] = False
            nodes += view.nodes(level.tolist(), distance)
            if not len(level):
                break
        return nodes


def to_networkx(home: Home, domain: str | None = None) -> nx.MultiDiGraph:
    """Return the graph, with the members of nodes and the relation of links.

    Several links between two theorems stay several.
    """
    import networkx as nx

    graph = nx.MultiDiGraph()
    with home.views.reading(Theorems) as view:
        rows = view.chosen(home, domain)
        for node in view.nodes(rows.tolist()):
            members = node.to_dict()
            del members["distance"]
            graph.add_node(members.pop("node_id"), **members)
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
    """Return both ends and the relation of the links between these rows."""
    is_inside = np.zeros(len(view.rows) + 1, bool)
    is_inside[rows] = True
    starts = view.links["start"].astype(np.int64)
    ends = view.links["end"].astype(np.int64)
    relations = view.links["relation"].astype(np.int64)
    both_inside = is_inside[starts] & is_inside[ends]
    return starts[both_inside], ends[both_inside], relations[both_inside]


class Closure(NamedTuple):
    """Hold what follows from what.

    Attributes:
        nodes: How many theorems there are.
        edges: How many links between distinct theorems.
        relation: The relation whose links were followed.
        pairs: How many pairs the reflexive and transitive closure has.
        seconds: How long computing it took.
        reached: (nodes, nodes / 8) bits, a row the theorems that follow from one
            (big-endian, see numpy.packbits).
        names: The names of the nodes.
    """

    nodes: int
    edges: int
    pairs: int
    seconds: float
    reached: Bits
    names: Sequence[str]
    relation: str = IMPLIES


def closure_of(
    home: Home, relation: str | None = None, domain: str | None = None
) -> Closure:
    """Return the closure of a relation.

    What specializes another is generalized by it. What has the tag `unconditional`
    follows from anything.

    Args:
        home: Where the theorems are.
        relation: One of RELATIONS; default: the one that most of the links have.
        domain: Only of this domain; default: of any.

    Raises:
        InvalidInput: There is no such relation.
    """
    if relation is not None:
        checked_relation(relation)
    with home.views.reading(Theorems) as view:
        rows = view.chosen(home, domain)
        starts, ends, relations = _links(view, rows)
        nodes = view.nodes(rows.tolist())
    if relation is None:
        relation = _commonest(relations)
    is_chosen = relations == RELATIONS.index(relation)
    is_turned = np.zeros(len(relations), bool)
    opposite = _OPPOSITES.get(relation)
    unconditional: list[int] = []
    if opposite is not None:
        is_turned = relations == RELATIONS.index(opposite)
        is_chosen |= is_turned
        unconditional = [
            number for number, node in enumerate(nodes) if UNCONDITIONAL in node.tags
        ]
    from_rows = np.where(is_turned, ends, starts)[is_chosen]
    to_rows = np.where(is_turned, starts, ends)[is_chosen]
    numbers = np.zeros(int(rows.max(initial=-1)) + 1, np.int64)
    numbers[rows] = np.arange(len(rows))
    closure = closed(
        [node.theorem_name for node in nodes],
        numbers[from_rows],
        numbers[to_rows],
        unconditional,
    )
    return closure._replace(relation=relation)


def _commonest(relations: Ints) -> str:
    """Return the relation that most links have, and implication where there are none.

    What specializes another is generalized by it, so both count as one.
    """
    counts = np.bincount(relations, minlength=len(RELATIONS))
    implies = RELATIONS.index(IMPLIES)
    is_implied = RELATIONS.index("specializes")
    counts[implies] += counts[is_implied]
    if not counts.any():
        return IMPLIES
    most = int(counts.argmax())
    return RELATIONS[most]


def closed(
    names: Sequence[str], starts: Ints, ends: Ints, unconditional: Sequence[int] = ()
) -> Closure:
    """Return the closure of links between numbered nodes.

    It is computed by sets of bits, from the last strongly connected component to the
    first.

    Args:
        names: The names of the nodes.
        starts: The nodes at which the links start.
        ends: The nodes at which they end.
        unconditional: The nodes that follow from any.

    >>> closed("abc", np.array([0, 1]), np.array([1, 2])).pairs
    6
    """
    import networkx as nx

    begun = time.perf_counter()
    n_nodes = len(names)
    pairs = np.unique(np.stack([starts, ends], 1)[starts != ends], axis=0)
    graph = nx.DiGraph(map(tuple, pairs.tolist()))
    graph.add_nodes_from(range(n_nodes))
    reached = np.packbits(np.eye(n_nodes, dtype=bool), axis=1)
    for number in unconditional:
        reached[:, number // 8] |= 128 >> number % 8
    successors = {node: list(graph.successors(node)) for node in graph}
    # What a component leads to comes before it.
    for component in nx.strongly_connected_components(graph):
        members = list(component)
        sources = members.copy()
        for node in members:
            sources += successors[node]
        reached[members] = np.bitwise_or.reduce(reached[sources], axis=0)
    if unconditional:  # what follows from these follows from all
        reached |= np.bitwise_or.reduce(reached[list(unconditional)], axis=0)
    return Closure(
        nodes=n_nodes,
        edges=len(pairs),
        pairs=int(_ONES[reached].sum()),
        seconds=time.perf_counter() - begun,
        reached=reached,
        names=names,
    )


def cycles(home: Home, domain: str | None = None) -> list[list[str]]:
    """Return the groups of theorems that use each other in a circle, by name.

    A theorem that uses itself is one too.
    """
    import networkx as nx

    with home.views.reading(Theorems) as view:
        rows = view.chosen(home, domain)
        starts, ends, relations = _links(view, rows)
        is_use = relations == RELATIONS.index("uses")
        users = starts[is_use].tolist()
        premises = ends[is_use].tolist()
        graph = nx.DiGraph(zip(users, premises, strict=True))
        circles = []
        for group in nx.strongly_connected_components(graph):
            first = next(iter(group))
            is_circle = len(group) > 1 or graph.has_edge(first, first)
            if not is_circle:
                continue
            numbers = view.rows["name"][list(group)].tolist()
            names = [view.names[number] for number in numbers]
            circles.append(sorted(names))
    return sorted(circles)


def import_theorems(
    home: Home,
    nodes: Iterable[tuple[str, str, Sequence[str]]],
    links: Iterable[tuple[str, str, str]],
    *,
    domain: str = "",
    source: str = "import",
    agent: str = "main",
) -> dict[str, Any]:
    """Take in theorems and links of a domain, in one transaction; twice is once.

    Args:
        home: Where they are kept.
        nodes: Name, statement and tags of each theorem.
        links: Name, name and relation of each link.
        domain: What they belong to; '' is `general`.
        source: Whose word they are.
        agent: Who takes them in.

    Returns:
        How many theorems and links were new and how many were known, and the names of
        conflicts (another statement stands under the name) and of what links name and
        nobody told; the problems are the theorems whose texts are outside the rules.

    Raises:
        InvalidInput: A relation is outside the rules. Nothing was taken in.
    """
    domain = checked_domain(domain) or GENERAL
    theorems = dict[str, Event]()
    ids = dict[str, str]()
    problems = list[str]()
    for name, statement, tags in nodes:
        try:
            event = theorem_event(
                home, name, statement, domain, tags=tags, source=source, agent=agent
            )
            _check_is_new(event, theorems)
        except InvalidInput as error:
            problems.append(f"{name:.80} was left out: {error}")
            continue
        ids[name] = event.id
        ids[event.body["theorem_name"]] = event.id
        theorems[event.id] = event
    named_links = list(links)
    link_events = {}
    for start, end, relation in named_links:
        if start in ids and end in ids:
            event = link_event(
                home, ids[start], ids[end], relation, source=source, agent=agent
            )
            link_events[event.id] = event
    recorded = _recorded(home, theorems)
    recorded_links = _recorded(home, link_events)
    new_theorems = _without(theorems, recorded)
    new_links = _without(link_events, recorded_links)
    home.journal.append([*new_theorems, *new_links])
    return {
        "theorems": len(new_theorems),
        "links": len(new_links),
        "known": len(recorded) + len(recorded_links),
        "conflicts": _conflicts(recorded, theorems),
        "unresolved": _unknown_names(named_links, ids),
        "problems": problems,
    }


def _check_is_new(event: Event, theorems: dict[str, Event]) -> None:
    """Raise InvalidInput for a theorem whose name another one has."""
    if event.id in theorems:
        raise InvalidInput("another theorem has this name")


def _without(events: dict[str, Event], ids: dict[str, Event]) -> list[Event]:
    """Return the events whose ids are none of these."""
    new_events = []
    for key, event in events.items():
        if key not in ids:
            new_events.append(event)
    return new_events


def _unknown_names(
    links: Iterable[tuple[str, str, str]], ids: dict[str, str]
) -> list[str]:
    """Return the names at the ends of links that have no id, each once."""
    names = dict[str, None]()
    for start, end, _ in links:
        for name in (start, end):
            if name not in ids:
                names[name] = None
    return list(names)


def _recorded(home: Home, ids: Iterable[str]) -> dict[str, Event]:
    """Return the events of these ids that are recorded, by their ids."""
    return {event.id: event for event in home.journal.read(ids=list(ids))}


def _conflicts(recorded: dict[str, Event], theorems: dict[str, Event]) -> list[str]:
    """Return the names of recorded theorems that are told otherwise now."""
    names = []
    for key, event in recorded.items():
        old_statement = folded(event.body["formal_statement"])
        new_statement = folded(theorems[key].body["formal_statement"])
        if old_statement != new_statement:
            names.append(event.body["theorem_name"])
    return names
