"""The causal graph: attempts and how they were closed, the genes and capsules that are
known.
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
    """An attempt. action_id: its id.  seq: of the event that told it.  open: whether no
    outcome has closed it.
    """

    action_id: str
    seq: int
    open: bool


class Graph(View):
    """A row an attempt, and a row a gene or a capsule, in the order in which they were
    first told.

    rows: seq of the attempt (0 where only its outcome is known), agent (number of a
    name), closed (as is what only a file tells).  assets: the JSON of each as it was
    told, one after the other; known: of each id the place of the last, whether it is a
    gene, its project (number of a name), and whether it is trusted.  lived: outcomes
    that are trusted, in order: seq, gene (number, -1 without), score, and whether it
    failed.
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
        self._open: dict[
            int, list[int]
        ] = {}  # by agent, the rows that are open, the newest last

    def _after_load(self) -> None:
        waiting = np.flatnonzero(~self.rows["closed"])
        waiting = waiting[np.argsort(self.rows["seq"][waiting], kind="stable")]
        self._open = {}
        for row, agent in zip(
            waiting.tolist(), self.rows["agent"][waiting].tolist(), strict=True
        ):
            self._open.setdefault(agent, []).append(row)

    def _row(self, event: Event) -> int | None:
        """The row of an action; None for what a file tells of one that is known: it
        tells nothing of what was tried here.
        """
        row = self.actions.number(event.body["action"]["id"])
        if row == len(self.rows):
            return self.rows.add(agent=self.agents.number(event.agent))
        return None if _foreign(event) else row

    def _attempt(self, event: Event) -> None:
        if (row := self._row(event)) is not None:
            self.rows.put(
                row, seq=event.seq, closed=self.rows["closed"][row] or _foreign(event)
            )
            if not self.rows["closed"][row]:
                self._open.setdefault(int(self.rows["agent"][row]), []).append(row)

    def _attempt_closed(self, event: Event) -> None:
        if (row := self._row(event)) is None:
            return
        self.rows.put(row, closed=True)
        if row in (waiting := self._open.get(int(self.rows["agent"][row]), [])):
            waiting.remove(row)
        if _trusted(event) and event.body["outcome"]["status"] in (SUCCESS, FAILED):
            self._lived(event)

    def _lived(self, event: Event) -> None:
        body, said = event.body, event.body["outcome"]
        gene = (body.get("gene") or {}).get("id")
        score = said["score"] or 0.0
        number = self.genes.number(gene) if gene else -1
        self.lived.add(
            seq=event.seq, gene=number, score=score, failed=said["status"] == FAILED
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
        """The attempt in a row."""
        return RecordedAttempt(
            self.actions[row], int(self.rows["seq"][row]), not self.rows["closed"][row]
        )

    def last_open(self, agent: str) -> RecordedAttempt | None:
        """The attempt of an agent that was told last and is open; None without one."""
        number = self.agents.find(agent)
        waiting = self._open.get(-1 if number is None else number)
        return self.attempt(waiting[-1]) if waiting else None


def _foreign(event: Event) -> bool:
    """Whether only a file tells it, which anybody may have made."""
    return bool(event.body.get("source") == "import")


def _trusted(event: Event) -> bool:
    return TRUST[event.body["source"]] >= TRUST["model"]


def attempt_of(home: Home, action_id: str) -> RecordedAttempt:
    """The attempt of this action. Raises InvalidInput where there is none, naming the
    nearest.
    """
    with home.views.reading(Graph) as view:
        row = view.actions.find(action_id)
        if row is not None:
            return view.attempt(row)
        among = [
            view.actions[at]
            for at in range(
                max(0, len(view.actions) - _NEAREST_AMONG), len(view.actions)
            )
        ]
    near = get_close_matches(action_id, among, n=1, cutoff=0.5)
    allowed = f"one that `attempt` gave{', such as ' + near[0] if near else ''}"
    raise InvalidInput(f"got the action {action_id!r:.100}; allowed is {allowed}")


def open_attempts(home: Home, agent: str | None = None) -> list[RecordedAttempt]:
    """The attempts without an outcome, of an agent or of all, in the order in which
    they were told.
    """
    with home.views.reading(Graph) as view:
        found = np.flatnonzero(~view.rows["closed"])
        said = zip(found.tolist(), view.rows["agent"][found].tolist(), strict=True)
        return [
            view.attempt(row)
            for row, number in said
            if agent in (None, view.agents[number])
        ]


def assets_of(
    home: Home, *, genes: bool = True, own: bool = False
) -> list[dict[str, Any]]:
    """The genes (or else the capsules) of the home's project or of none, each as it was
    told last, in the order in which they came.

    own: only those that are trusted.
    """
    with home.views.reading(Graph) as view:
        wanted = (view.known["gene"] == genes) & (view.known["own"] | (not own))
        if home.projects is not None:
            wanted &= np.isin(
                view.known["project"], view.projects.numbers("", *home.projects)
            )
        return [
            json.loads(view.assets[place])
            for place in view.known["place"][wanted].tolist()
        ]


def own_assets(home: Home, ids: Iterable[str]) -> set[str]:
    """Those of these ids under which a gene or a capsule is known that is trusted."""
    with home.views.reading(Graph) as view:
        found = {
            named: row for named in ids if (row := view.ids.find(named)) is not None
        }
        return {named for named, row in found.items() if view.known["own"][row]}


def agents_of(home: Home) -> list[str]:
    """Who tried something."""
    with home.views.reading(Graph) as view:
        return list(view.agents)


def status(home: Home, _agent: str | None) -> dict[str, Any]:
    """How many attempts there are, how many of them are open, and how many genes and
    capsules are known.
    """
    view = home.views.get(Graph)
    tried = view.rows["closed"]
    assets = view.known["gene"]
    known = {"genes": int(assets.sum()), "capsules": int((~assets).sum())}
    return {"causal": {"attempts": len(tried), "open": int((~tried).sum()), **known}}
