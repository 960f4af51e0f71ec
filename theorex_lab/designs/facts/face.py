"""Serve `lab.facts`: facts written, replaced, listed, summed up; notes of the work,
channels.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from theorex_lab.core.files import write_atomically
from theorex_lab.designs.facts import channels, heartbeat, signals, writing
from theorex_lab.designs.facts import notes as work
from theorex_lab.designs.facts.facts import Fact, chain_of, fact_by_id, facts_of
from theorex_lab.designs.facts.settings import fact_settings
from theorex_lab.designs.facts.summaries import moment, summary, tier
from theorex_lab.memory.contract import DesignApi, on_home


class FactsMemory(DesignApi):
    """Facts in one home.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     _ = lab.facts.write("people/ann", "Lives in Bath")
    ...     moved = lab.facts.write("people/ann", "Ann moved to York")
    ...     (
    ...         (moved.action, moved.of),
    ...         [fact.text for fact in lab.facts.list("people/ann")],
    ...     )
    (('superseded', ('ann-001',)), ['Ann moved to York'])

    What is no method of its own does what the function that it names does, in the
    face's home.

    >>> with Lab.temporary() as lab:
    ...     noted = lab.facts.observe("The build is slow", "friction")
    ...     again = lab.facts.observe("The build is so slow", "friction")
    >>> noted.id, again.repeats
    ('obs-0001', 'obs-0001')
    """

    signal = staticmethod(signals.signal_of)
    show = on_home(fact_by_id)
    chain = on_home(chain_of)
    supersede = on_home(writing.supersede)
    undo_supersede = on_home(writing.undo_supersede)
    archive = on_home(writing.archive_entity)
    extract = on_home(heartbeat.extract_new)
    add_channel = on_home(channels.add_channel)
    contradict = on_home(work.contradicting)
    access = on_home(writing.note_access)
    observe = on_home(work.observe)
    note_tension = on_home(work.note_tension)
    notes = on_home(work.notes_of)
    review = on_home(work.review)
    alerts = on_home(work.alerts)
    add_line = on_home(work.add_line)
    lines = on_home(work.self_lines)
    beat = on_home(heartbeat.beat)

    def write(
        self, entity: str, text: str, *, semantic: bool = True, **members: Any
    ) -> writing.FactWriteResult:
        """Write a fact; `members` are the other members of `writing.NewFact`.

        It raises as `writing.write_fact`.
        """
        path = writing.check_entity(entity)
        if "project" not in members:
            members["project"] = channels.scope_of(self.home, path)
        for name in ("valid_from", "valid_to"):
            if name in members:
                members[name] = moment(members[name], fact_settings(self.home))
        new = writing.NewFact(entity, text, **members)
        return writing.write_fact(self.home, new, semantic=semantic)

    def list(
        self,
        entity: str | None = None,
        *,
        as_of: int | str | None = None,
        active: bool | None = True,
    ) -> list[Fact]:
        """Return facts, as of a time (µs UTC or ISO); see `facts.facts_of`."""
        at = moment(as_of, fact_settings(self.home))
        path = None if entity is None else writing.check_entity(entity)
        return facts_of(self.home, path, as_of=at, active=active)

    def tier(self, fact: Fact) -> str:
        """Return hot, warm or cold; see `summaries.tier`."""
        return tier(fact, self.home.clock.now(), fact_settings(self.home))

    def summary(self, entity: str) -> str:
        """Return the page of an entity; see `summaries.summary`."""
        path = writing.check_entity(entity)
        facts = facts_of(self.home, path)
        return summary(path, facts, self.home.clock.now(), fact_settings(self.home))

    def render(self, folder: str | Path) -> Sequence[Path]:
        """Write life/ENTITY/summary.md of every entity below a folder; return the files.

        Raises:
            StorageError: A file cannot be written.
        """
        files = []
        facts = facts_of(self.home, active=None)
        for entity in dict.fromkeys(fact.entity for fact in facts):
            file = Path(folder) / "life" / entity / "summary.md"
            write_atomically(file, self.summary(entity).encode())
            files.append(file)
        return files
