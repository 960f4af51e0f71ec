"""Hold the causal graph.

It has the attempts and how they were closed, and the genes and capsules that are known.
"""

import json
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.causal import FAILED, SUCCESS
from theorex_lab.journal.columns import Names, Strings, Table
from theorex_lab.journal.event import Event
from theorex_lab.journal.view import View
from theorex_lab.memory.contract import Holding, Home
from theorex_lab.memory.observation import TRUST

_NEAREST_AMONG = 2_000


class RecordedAttempt(NamedTuple):
    """Hold an attempt.

    Attributes:
        action_id: Its id.
        seq: The seq of the event that told it.
        open: Whether no outcome has closed it.
    """

    action_id: str
    seq: int
    open: bool


class Graph(View):
    """Hold a row an attempt, and a row a gene or a capsule.

    They stand in the order of their telling.

    Attributes:
        rows: seq: of the attempt (0 where only its outcome is known). agent: the number
            of a name. closed: also of what only a file tells.
        assets: The JSON of each gene or capsule as it was told, one after the other.
        known: By id, the index in `assets` of the last, whether it is a gene, its
            project (number of a name), and whether it is trusted.
        lived: Outcomes that are trusted, in order: seq, gene (number, -1 without),
            score, and whether it failed.
    """

    name = "causal_graph"
    code = 3
    kinds = ("attempt", "attempt_closed", "asset")

    def __init__(self) -> None:
        super().__init__()
        self.actions = Names()
        self.agents = Names()
        self.ids = Names()
        self.projects = Names()
        self.genes = Names()
        self.assets = Strings()
        self.rows = Table(seq="i8", agent="i4", closed="?")
        self.known = Table(place="i8", gene="?", project="i4", own="?")
        self.lived = Table(seq="i8", gene="i4", failed="?", score="f8")
        # By agent, the rows that are open, the newest last.
        self._open: dict[int, list[int]] = {}

    def _after_load(self) -> None:
        is_open = ~self.rows["closed"]
        waiting = np.flatnonzero(is_open)
        seqs = self.rows["seq"][waiting]
        by_seq = np.argsort(seqs, kind="stable")
        waiting = waiting[by_seq]
        agents = self.rows["agent"][waiting]
        self._open = {}
        for row, agent in zip(waiting.tolist(), agents.tolist(), strict=True):
            rows_of_agent = self._open.setdefault(agent, [])
            rows_of_agent.append(row)

    def _row(self, event: Event) -> int | None:
        """Return the row of an action.

        None for what a file tells of one that is known: it tells nothing of what was
        tried here.
        """
        action_id = event.body["action"]["id"]
        row = self.actions.number(action_id)
        is_new = row == len(self.rows)
        if is_new:
            agent = self.agents.number(event.agent)
            return self.rows.add(agent=agent)
        if _foreign(event):
            return None
        return row

    def _attempt(self, event: Event) -> None:
        row = self._row(event)
        if row is None:
            return
        is_closed = self.rows["closed"][row] or _foreign(event)
        self.rows.put(row, seq=event.seq, closed=is_closed)
        if not is_closed:
            agent = int(self.rows["agent"][row])
            rows_of_agent = self._open.setdefault(agent, [])
            rows_of_agent.append(row)

    def _attempt_closed(self, event: Event) -> None:
        row = self._row(event)
        if row is None:
            return
        self.rows.put(row, closed=True)
        agent = int(self.rows["agent"][row])
        waiting = self._open.get(agent, [])
        if row in waiting:
            waiting.remove(row)
        if not _trusted(event):
            return
        status = event.body["outcome"]["status"]
        if status in (SUCCESS, FAILED):
            self._lived(event)

    def _lived(self, event: Event) -> None:
        """Take in an outcome that is trusted."""
        outcome = event.body["outcome"]
        gene = event.body.get("gene") or {}
        gene_id = gene.get("id")
        gene_number = -1
        if gene_id:
            gene_number = self.genes.number(gene_id)
        self.lived.add(
            seq=event.seq,
            gene=gene_number,
            score=outcome["score"] or 0.0,
            failed=outcome["status"] == FAILED,
        )

    def _asset(self, event: Event) -> None:
        asset = event.body["asset"]
        number = self.ids.number(asset["id"])
        is_new = number == len(self.known)
        if is_new:
            self.known.add()
        project = event.body.get("project", "")
        self.known.put(
            number,
            place=len(self.assets),
            gene=asset["type"] == "Gene",
            project=self.projects.number(project),
            own=_trusted(event),
        )
        text = json.dumps(asset, separators=(",", ":"))
        self.assets.append(text)

    def attempt(self, row: int) -> RecordedAttempt:
        """Return the attempt in a row."""
        seq = int(self.rows["seq"][row])
        is_closed = self.rows["closed"][row]
        return RecordedAttempt(
            action_id=self.actions[row],
            seq=seq,
            open=not is_closed,
        )

    def last_open(self, agent: str) -> RecordedAttempt | None:
        """Return the open attempt of an agent that was told last; None without one."""
        number = self.agents.find(agent)
        if number is None:
            return None
        waiting = self._open.get(number)
        if not waiting:
            return None
        return self.attempt(waiting[-1])


def _foreign(event: Event) -> bool:
    """Return whether only a file tells it, which anybody may have made."""
    return bool(event.body.get("source") == "import")


def _trusted(event: Event) -> bool:
    """Return whether an event is more than an import's or a tool's word."""
    trust = TRUST[event.body["source"]]
    return trust >= TRUST["model"]


def attempt_of(home: Home, action_id: str) -> RecordedAttempt:
    """Return the attempt of this action.

    Raises:
        InvalidInput: There is none. The nearest is told.
    """
    with home.views.reading(Graph) as view:
        row = view.actions.find(action_id)
        if row is not None:
            return view.attempt(row)
        n_actions = len(view.actions)
        first_row = max(0, n_actions - _NEAREST_AMONG)
        last_rows = range(first_row, n_actions)
        candidates = [view.actions[row] for row in last_rows]
    near = get_close_matches(action_id, candidates, n=1, cutoff=0.5)
    allowed = "one that `theorex causal attempt` gave"
    if near:
        allowed += f", such as {near[0]}"
    raise InvalidInput(f"got the action {action_id!r:.100}; allowed is {allowed}")


def open_attempts(home: Home, agent: str | None = None) -> list[RecordedAttempt]:
    """Return the attempts without an outcome, in the order in which they were told.

    They are those of an agent or of all.
    """
    attempts = []
    with home.views.reading(Graph) as view:
        is_open = ~view.rows["closed"]
        rows = np.flatnonzero(is_open)
        agents = view.rows["agent"][rows]
        for row, number in zip(rows.tolist(), agents.tolist(), strict=True):
            if agent is None or agent == view.agents[number]:
                attempt = view.attempt(row)
                attempts.append(attempt)
    return attempts


def assets_of(
    home: Home, *, genes: bool = True, own: bool = False
) -> list[dict[str, Any]]:
    """Return the genes of the home's project or of none, each as it was told last.

    They stand in the order in which they came.

    Args:
        home: Where they are kept.
        genes: Return the genes; otherwise the capsules.
        own: Only those that are trusted.
    """
    with home.views.reading(Graph) as view:
        is_chosen = view.known["gene"] == genes
        if own:
            is_chosen &= view.known["own"]
        if home.projects is not None:
            projects = view.projects.numbers("", *home.projects)
            is_chosen &= np.isin(view.known["project"], projects)
        indexes = view.known["place"][is_chosen]
        assets = []
        for index in indexes.tolist():
            asset = json.loads(view.assets[index])
            assets.append(asset)
        return assets


def own_assets(home: Home, ids: Iterable[str]) -> set[str]:
    """Return those of these ids under which a trusted gene or capsule is known."""
    trusted_ids = set()
    with home.views.reading(Graph) as view:
        for asset in ids:
            number = view.ids.find(asset)
            if number is None:
                continue
            is_trusted = view.known["own"][number]
            if is_trusted:
                trusted_ids.add(asset)
    return trusted_ids


def agents_of(home: Home) -> list[str]:
    """Return who tried something."""
    with home.views.reading(Graph) as view:
        return list(view.agents)


def causal_holdings(home: Home, agent: str | None) -> list[Holding]:
    """Return how many fix templates and attempts there are, and which have no result."""
    status_members = status(home, agent)
    counts = status_members["causal"]
    return [
        Holding("fix templates", counts["genes"]),
        Holding("attempts", counts["attempts"]),
        Holding("attempts without a result", counts["open"], "theorex causal close"),
    ]


def status(home: Home, _agent: str | None) -> dict[str, Any]:
    """Return how many attempts, open ones, genes and capsules there are."""
    view = home.views.get(Graph)
    is_closed = view.rows["closed"]
    is_open = ~is_closed
    is_gene = view.known["gene"]
    is_capsule = ~is_gene
    n_attempts = len(is_closed)
    return {
        "causal": {
            "attempts": n_attempts,
            "open": int(is_open.sum()),
            "genes": int(is_gene.sum()),
            "capsules": int(is_capsule.sum()),
        }
    }
