"""Moments: stories worth keeping with the places in code they tell of. They are listed by their time and never fade."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from theorex_lab.errors import InvalidInput
from theorex_lab.home import Home
from theorex_lab.journal.base import Journal
from theorex_lab.memory.observation import TRUST, Entry, Written, new_observation
from theorex_lab.search.items import MOMENT_TYPE
from theorex_lab.text.doors import door, kept_text
from theorex_lab.text.visible import visible

if TYPE_CHECKING:
    from theorex_lab.designs.theorex.axon import Axon

MAX_REFS, MAX_REF_CHARACTERS = 1_000, 1_024


@dataclass(frozen=True)
class Moment:
    """One moment; `at` in µs UTC, `source` a key of TRUST, `refs` as `file` or `file:line`."""

    id: str
    at: int
    story: str
    source: str
    refs: tuple[str, ...]


def write_moment(home: Home, story: str, *, agent: str = "main", refs: Sequence[str] = (), session: str = "",
                 source: str = "agent", keep_secrets: bool = False) -> Written:  # fmt: skip
    """Write a moment: an observation of type `moment` whose body holds `refs` too; its concepts are the agent's anchors.

    Raises InvalidInput for anything outside the rules, and then nothing was written.
    """
    entry = Entry(story, agent, None, MOMENT_TYPE, source, (), session, home.project)
    with door(keep_secrets=keep_secrets) as here:
        event, mentions = new_observation(entry, home.settings, home.clock.now())
        places = [kept_text(ref) for ref in check_refs(refs)]
    home.journal.append([event._replace(body={**event.body, "refs": places})])
    return Written(event.id, [mention.label for mention in mentions], here.masked, here.keeps_secrets)


def check_refs(refs: Sequence[str]) -> list[str]:
    """The references without repetition. Raises InvalidInput for too many, and for one that is no plain line of text.

    >>> check_refs(["cache.py:12", "cache.py:12"])
    ['cache.py:12']
    """
    if not isinstance(refs, list | tuple) or len(refs) > MAX_REFS:
        raise InvalidInput(f"got the references {refs!r:.80}; allowed is a list of up to {MAX_REFS}")
    for ref in refs:
        if not isinstance(ref, str) or not ref.isprintable() or not 0 < len(ref.strip()) <= MAX_REF_CHARACTERS:
            allowed = f"a file or file:line of 1 to {MAX_REF_CHARACTERS} characters on one line"
            raise InvalidInput(f"got the reference {ref!r:.80}; allowed is {allowed}")
    return list(dict.fromkeys(map(visible, refs)))


def recent_moments(axon: Axon, journal: Journal, *, agent: str, limit: int = 5,
                   projects: Sequence[str] | None = None) -> list[Moment]:  # fmt: skip
    """The agent's newest moments, newest first, whatever became of their concepts; hearsay after its own.

    `projects`: of these or of none; None: of all.
    """
    import numpy as np

    table = axon.observations
    mine = (table["type"] == axon.types.find(MOMENT_TYPE)) & (table["agent"] == axon.agents.find(agent))
    rows = np.flatnonzero(mine & axon.observed_within(projects))
    own = table["trust"][rows] >= TRUST["agent"]
    newest = rows[np.lexsort((rows, table["at"][rows], own))][::-1][:limit]
    seqs = table["seq"][newest].tolist()
    chosen = sorted(journal.read(seqs=seqs), key=lambda event: seqs.index(event.seq))
    told = ((event, event.body) for event in chosen)
    return [Moment(one.id, one.at, body["text"], body["source"], tuple(body.get("refs", ()))) for one, body in told]
