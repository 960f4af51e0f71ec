"""Hold the columns of strategies."""

import json
from typing import NamedTuple

import numpy as np

from theorex_lab.designs.dreams import STATED
from theorex_lab.designs.dreams.chosen_rows import Projects, rows_in
from theorex_lab.journal.columns import Names, Strings, Table
from theorex_lab.journal.event import Event
from theorex_lab.journal.view import View


class Constraint(NamedTuple):
    """Hold what is not to be done again.

    Attributes:
        source: Whose words they are, a key of `TRUST`.
        event: The event that has it.
        at: In µs UTC.
    """

    id: str
    text: str
    fault: str
    source: str
    trajectory: str
    event: str
    at: int


class EdgeRow(NamedTuple):
    """Hold an edge of the graph.

    The id of a step is its strategy's, a dot and its number from 0.
    """

    edge_id: str
    source: str
    target: str
    type: str
    weight: float = 1.0


def edge_row(source: str, target: str, kind: str, weight: float = 1.0) -> EdgeRow:
    """Return an edge with the id that its ends and its type give."""
    edge_id = f"{source}>{target}>{kind}"
    return EdgeRow(edge_id, source, target, str(kind), weight)


class Strategies(View):
    """Hold a row a strategy, in the order in which they were made.

    Attributes:
        rows: created_at, updated_at (µs), agent, project, domain (numbers of names),
            state (number of its last text), accesses, `asleep` (pruned), absorbed_by
            (row + 1, 0 for none).
        states: As JSON.
        events: The last of each state.
        links: In the order in which they were told, as JSON in `edges`.
        constraints: In the order in which they were told, as JSON in `told`.
        cycles: seqs of dreams.
    """

    name = "strategies"
    code = 2
    kinds = (*STATED, "strategy_linked", "constraint", "dream", "recalled")

    def __init__(self) -> None:
        super().__init__()
        self.ids = Names()
        self.agents = Names()
        self.projects = Names()
        self.domains = Names()
        self.states = Strings()
        self.events = Strings()
        self.told = Strings()
        self.link_ids = Names()
        self.rows = Table(
            created_at="i8",
            updated_at="i8",
            agent="i4",
            project="i4",
            domain="i4",
            state="i4",
            accesses="i8",
            asleep="?",
            absorbed_by="i4",
        )
        self.links = Table(source="i4", target="i4")
        self.edges = Strings()
        self.constraints = Table(row="i4")
        self.cycles = Table(seq="i8", traces="i8")

    def _strategy(self, event: Event) -> None:
        strategy_id = event.body["strategy_id"]
        if self.ids.find(strategy_id) is not None:
            return
        self.ids.number(strategy_id)
        self.rows.add(
            created_at=event.at,
            state=-1,
            agent=self.agents.number(event.agent),
            project=self.projects.number(event.body["project"]),
        )
        self._put_state(event)

    def _put_state(self, event: Event) -> int | None:
        """Take in the state of an event.

        Return the row of its strategy, if there is one.
        """
        row = self.ids.find(event.body["strategy_id"])
        if row is None:
            return None
        state = event.body["state"]
        if state:
            self.rows.put(
                row,
                state=len(self.states),
                updated_at=event.at,
                domain=self.domains.number(state["domain"]),
            )
            text = json.dumps(state, separators=(",", ":"))
            self.states.append(text)
            self.events.append(event.id)
        return row

    _strategy_migrated = _put_state

    def _strategy_merged(self, event: Event) -> None:
        row = self._put_state(event)
        absorbed = self.ids.find(event.body["absorbed"])
        if row is None or absorbed is None:
            return
        heir = 0 if event.body["undo"] else row + 1
        self.rows.put(absorbed, absorbed_by=heir)

    def _strategy_compacted(self, event: Event) -> None:
        row = self._put_state(event)
        pruned = event.body["pruned"]
        undo = event.body["undo"]
        if row is not None and (pruned or undo):
            self.rows.put(row, asleep=pruned and not undo)

    def _strategy_linked(self, event: Event) -> None:
        body = event.body
        edge = edge_row(
            body["from_id"],
            body["to_id"],
            body["type"],
            body["weight"],
        )
        source = self.ids.find(edge.source)
        target = self.ids.find(edge.target)
        if source is None or target is None:
            return
        if self.link_ids.find(edge.edge_id) is None:
            self.link_ids.number(edge.edge_id)
            self.links.add(source=source, target=target)
            self.edges.append(json.dumps(edge))

    def _constraint(self, event: Event) -> None:
        body = event.body
        row = self.ids.find(body["strategy_id"])
        if row is None:
            return
        self.constraints.add(row=row)
        constraint = Constraint(
            body["constraint_id"],
            body["text"],
            body["fault"],
            body["source"],
            body["trajectory"],
            event.id,
            event.at,
        )
        self.told.append(json.dumps(constraint))

    def _dream(self, event: Event) -> None:
        self.cycles.add(seq=event.seq, traces=event.body["traces_processed"])

    def _recalled(self, event: Event) -> None:
        for item in event.body["items"]:
            row = self.ids.find(item)
            if row is not None:
                self.rows["accesses"][row] += 1

    def chosen(
        self,
        *,
        domain: str | None = None,
        active: bool | None = True,
        projects: Projects = None,
    ) -> list[int]:
        """Return rows in their order; `active`: neither pruned nor merged into another."""
        mask = np.ones(len(self.rows), np.bool_)
        if active is not None:
            stands_alone = self.rows["absorbed_by"] == 0
            is_active = stands_alone & ~self.rows["asleep"]
            mask = is_active == active
        return rows_in(self, mask, domain, projects)
