"""What a lab gives as `lab.facts`: facts written, replaced, listed, summed up; channels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from theorex_lab.design import later
from theorex_lab.designs.facts import writing
from theorex_lab.designs.facts.channels import add_channel
from theorex_lab.designs.facts.contradictions import contradicting
from theorex_lab.designs.facts.entities import check_entity
from theorex_lab.designs.facts.extracting import extract_new
from theorex_lab.designs.facts.facts import Fact, chain_of, fact_by_id, facts_of
from theorex_lab.designs.facts.items import fact_settings
from theorex_lab.designs.facts.signals import signal_of
from theorex_lab.designs.facts.summaries import moment, summary, tier
from theorex_lab.designs.facts.work_face import WorkFace, on_home
from theorex_lab.designs.facts.writing import NewFact, Wrote, write_fact
from theorex_lab.journal.files import write_atomically


class FactsMemory(WorkFace):
    """Facts in one home.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     _ = lab.facts.write("people/ann", "Lives in Bath")
    ...     moved = lab.facts.write("people/ann", "Ann moved to York")
    ...     (moved.action, moved.of), [fact.text for fact in lab.facts.list("people/ann")]
    (('superseded', ('ann-001',)), ['Ann moved to York'])
    """

    signal = staticmethod(signal_of)
    show = on_home(fact_by_id)
    chain = on_home(chain_of)
    supersede = on_home(writing.supersede)
    undo_supersede = on_home(writing.undo_supersede)
    archive = on_home(writing.archive_entity)
    extract = on_home(extract_new)
    add_channel = on_home(add_channel)
    beat = on_home(later("theorex_lab.designs.facts.heartbeat:beat"))

    def write(self, entity: str, text: str, *, semantic: bool = True, **given: Any) -> Wrote:
        """Write a fact; `given` are the other members of `writing.NewFact`. Raises as `writing.write_fact`."""
        given.setdefault("project", self.home.project)
        for name in {"valid_from", "valid_to"} & given.keys():
            given[name] = moment(given[name], fact_settings(self.home))
        return write_fact(self.home, NewFact(entity, text, **given), semantic=semantic)

    def list(
        self, entity: str | None = None, *, as_of: int | str | None = None, active: bool | None = True
    ) -> list[Fact]:
        """Facts, as of a time (µs UTC or ISO) where one is given; see `facts.facts_of`."""
        at = moment(as_of, fact_settings(self.home))
        return facts_of(self.home, None if entity is None else check_entity(entity), as_of=at, active=active)

    def contradict(
        self, entity: str | None = None, *, cross_entity: bool = False, limit: int = 20
    ) -> Sequence[dict[str, Any]]:
        """Pairs of facts that may not hold side by side; see `contradictions.contradicting`."""
        path = None if entity is None else check_entity(entity)
        return contradicting(self.home, path, cross_entity=cross_entity, limit=limit)

    def access(self, *fact_ids: str) -> int:
        """Count a use of facts; see `writing.note_access`."""
        return writing.note_access(self.home, fact_ids)

    def tier(self, fact: Fact) -> str:
        """hot, warm or cold; see `summaries.tier`."""
        return tier(fact, self.home.clock.now(), fact_settings(self.home))

    def summary(self, entity: str) -> str:
        """The page of an entity; see `summaries.summary`."""
        path = check_entity(entity)
        return summary(path, facts_of(self.home, path), self.home.clock.now(), fact_settings(self.home))

    def render(self, folder: str | Path) -> Sequence[Path]:
        """Write life/ENTITY/summary.md of every entity below a folder; returns the files. Raises StorageError where it cannot."""
        files = []
        for entity in dict.fromkeys(fact.entity for fact in facts_of(self.home, active=None)):
            file = Path(folder) / "life" / entity / "summary.md"
            write_atomically(file, self.summary(entity).encode())
            files.append(file)
        return files
