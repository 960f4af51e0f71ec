"""Hold the causal graph: attempts and how they were closed, the genes and capsules that
are known.
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
from theorex_lab.memory.contract import Home
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
    """Hold a row an attempt, and a row a gene or a capsule, in the order of their telling.

    Attributes:
        rows: seq: of the attempt (0 where only its outcome is known). agent: the number of
            a name. closed: also of what only a file tells.
        assets: The JSON of each gene or capsule as it was told, one after the other.
        known: By id, the index in `assets` of the last, whether it is a gene, its project
            (number of a name), and whether it is trusted.
        lived: Outcomes that are trusted, in order: seq, gene (number, -1 without), score,
            and whether it failed.
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
        waiting = np.flatnonzero(~self.rows["closed"])
        waiting = waiting[np.argsort(self.rows["seq"][waiting], kind="stable")]
        agents = self.rows["agent"][waiting]
        self._open = {}
        for row, agent in zip(waiting.tolist(), agents.tolist(), strict=True):
            self._open.setdefault(agent, []).append(row)

    def _row(self, event: Event) -> int | None:
        """Return the row of an action.

        None for what a file tells of one that is known: it tells nothing of what was tried
        here.
        """
        row = self.actions.number(event.body["action"]["id"])
        if row == len(self.rows):
            return self.rows.add(agent=self.agents.number(event.agent))
        return None if _foreign(event) else row

    def _attempt(self, event: Event) -> None:
        row = self._row(event)
        if row is None:
            return
        is_closed = self.rows["closed"][row] or _foreign(event)
        self.rows.put(row, seq=event.seq, closed=is_closed)
        if not is_closed:
            agent = int(self.rows["agent"][row])
            self._open.setdefault(agent, []).append(row)

    def _attempt_closed(self, event: Event) -> None:
        row = self._row(event)
        if row is None:
            return
        self.rows.put(row, closed=True)
        waiting = self._open.get(int(self.rows["agent"][row]), [])
        if row in waiting:
            waiting.remove(row)
        if _trusted(event) and event.body["outcome"]["status"] in (SUCCESS, FAILED):
            self._lived(event)

    def _lived(self, event: Event) -> None:
        """Take in an outcome that is trusted."""
        outcome = event.body["outcome"]
        gene = (event.body.get("gene") or {}).get("id")
        self.lived.add(
            seq=event.seq,
            gene=self.genes.number(gene) if gene else -1,
            score=outcome["score"] or 0.0,
            failed=outcome["status"] == FAILED,
        )

    def _asset(self, event: Event) -> None:
        number = self.ids.number(event.body["asset"]["id"])
        if number == len(self.known):
            self.known.add()
        project = self.projects.number(event.body.get("project", ""))
        gene = event.body["asset"]["type"] == "Gene"
        self.known.put(
            number,
            place=len(self.assets),
            gene=gene,
            project=project,
            own=_trusted(event),
        )
        self.assets.append(json.dumps(event.body["asset"], separators=(",", ":")))

    def attempt(self, row: int) -> RecordedAttempt:
        """Return the attempt in a row."""
        return RecordedAttempt(
            self.actions[row], int(self.rows["seq"][row]), not self.rows["closed"][row]
        )

    def last_open(self, agent: str) -> RecordedAttempt | None:
        """Return the attempt of an agent that was told last and is open; None without one."""
        number = self.agents.find(agent)
        waiting = self._open.get(-1 if number is None else number)
        return self.attempt(waiting[-1]) if waiting else None


def _foreign(event: Event) -> bool:
    """Return whether only a file tells it, which anybody may have made."""
    return bool(event.body.get("source") == "import")


def _trusted(event: Event) -> bool:
    """Return whether an event is more than an import's or a tool's word."""
    return TRUST[event.body["source"]] >= TRUST["model"]


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
        last_rows = range(max(0, n_actions - _NEAREST_AMONG), n_actions)
        candidates = [view.actions[row] for row in last_rows]
    near = get_close_matches(action_id, candidates, n=1, cutoff=0.5)
    allowed = f"one that `attempt` gave{', such as ' + near[0] if near else ''}"
    raise InvalidInput(f"got the action {action_id!r:.100}; allowed is {allowed}")


def open_attempts(home: Home, agent: str | None = None) -> list[RecordedAttempt]:
    """Return the attempts without an outcome, in the order in which they were told.

    They are those of an agent or of all.
    """
    with home.views.reading(Graph) as view:
        rows = np.flatnonzero(~view.rows["closed"])
        agents = view.rows["agent"][rows]
        return [
            view.attempt(row)
            for row, number in zip(rows.tolist(), agents.tolist(), strict=True)
            if agent in (None, view.agents[number])
        ]


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
        is_chosen = (view.known["gene"] == genes) & (view.known["own"] | (not own))
        if home.projects is not None:
            is_chosen &= np.isin(
                view.known["project"], view.projects.numbers("", *home.projects)
            )
        numbers = view.known["place"][is_chosen].tolist()
        return [json.loads(view.assets[number]) for number in numbers]


def own_assets(home: Home, ids: Iterable[str]) -> set[str]:
    """Return those of these ids under which a trusted gene or capsule is known."""
    trusted_ids = set[str]()
    with home.views.reading(Graph) as view:
        for asset in ids:
            number = view.ids.find(asset)
            if number is not None and view.known["own"][number]:
                trusted_ids.add(asset)
    return trusted_ids


def agents_of(home: Home) -> list[str]:
    """Return who tried something."""
    with home.views.reading(Graph) as view:
        return list(view.agents)


def status(home: Home, _agent: str | None) -> dict[str, Any]:
    """Return how many attempts, open ones, genes and capsules there are."""
    view = home.views.get(Graph)
    is_closed = view.rows["closed"]
    is_gene = view.known["gene"]
    return {
        "causal": {
            "attempts": len(is_closed),
            "open": int((~is_closed).sum()),
            "genes": int(is_gene.sum()),
            "capsules": int((~is_gene).sum()),
        }
    }
