"""Serve `lab.facts`.

It has facts written, replaced, listed and summed up; notes of the work; channels;
domains, hand-offs and folders.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from theorex_lab.core.files import write_atomically
from theorex_lab.core.files import writing as writing_file
from theorex_lab.designs.facts import channels, heartbeat, signals, writing
from theorex_lab.designs.facts import notes as work
from theorex_lab.designs.facts.domain_face import DomainMethods
from theorex_lab.designs.facts.facts import Fact, chain_of, fact_by_id, facts_of
from theorex_lab.designs.facts.note_view import notes_of
from theorex_lab.designs.facts.settings import fact_settings
from theorex_lab.designs.facts.summaries import moment, summary, tier
from theorex_lab.memory.contract import on_home


class FactOptions(TypedDict, total=False):
    """What may be said of a fact besides its entity, its text and when it is true.

    The members and their defaults are those of `designs.facts.writing.NewFact`.
    """

    category: str
    confidence: float
    abstraction: str
    tags: Sequence[str]
    source: str
    origin: str
    supersedes: Sequence[str]
    lineage: Sequence[str]
    at: int | None
    event_id: str | None
    noted: str
    agent: str
    attribute: str
    value: str


class FactsMemory(DomainMethods):
    """Facts in one home; domains, hand-offs and folders are in `DomainMethods`.

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
    notes = on_home(notes_of)
    review = on_home(work.review)
    alerts = on_home(work.alerts)
    add_line = on_home(work.add_line)
    lines = on_home(work.self_lines)
    beat = on_home(heartbeat.beat)

    def write(
        self,
        entity: str,
        text: str,
        *,
        semantic: bool = True,
        valid_from: int | str | None = None,
        valid_to: int | str | None = None,
        project: str | None = None,
        **options: Unpack[FactOptions],
    ) -> writing.FactWriteResult:
        """Write a fact.

        Args:
            entity: Whom or what it is about, such as people/ann.
            text: The fact, up to 500 characters.
            semantic: Whether a fact that is nearly the same is left out.
            valid_from: Since when it is true, µs UTC or ISO; None: not known.
            valid_to: Until when, in the same way.
            project: What it stays in; None: what the entity's facts stay in.
            **options: What else is said of it; see `FactOptions`.

        Returns:
            What became of it.

        Raises:
            InvalidInput: Something is outside the rules.
        """
        path = writing.check_entity(entity)
        if project is None:
            project = channels.scope_of(self.home, path)
        settings = fact_settings(self.home)
        new = writing.NewFact(
            entity,
            text,
            valid_from=moment(valid_from, settings),
            valid_to=moment(valid_to, settings),
            project=project,
            **options,
        )
        return writing.write_fact(self.home, new, semantic=semantic)

    def list(
        self,
        entity: str | None = None,
        *,
        as_of: int | str | None = None,
        active: bool | None = True,
    ) -> list[Fact]:
        """Return facts; see `designs.facts.facts.facts_of`.

        Args:
            entity: Whom or what they are about; None: all.
            as_of: A time, µs UTC or ISO: what was believed then; None: now.
            active: Whether they hold; None: either.

        Raises:
            InvalidInput: The entity or the time is none.
        """
        at = moment(as_of, fact_settings(self.home))
        path = None
        if entity is not None:
            path = writing.check_entity(entity)
        return facts_of(self.home, path, as_of=at, active=active)

    def tier(self, fact: Fact) -> str:
        """Return hot, warm or cold; see `designs.facts.summaries.tier`."""
        now = self.home.clock.now()
        return tier(fact, now, fact_settings(self.home))

    def summary(self, entity: str) -> str:
        """Return the page of an entity; see `designs.facts.summaries.summary`.

        Raises:
            InvalidInput: It is no path of an entity.
        """
        path = writing.check_entity(entity)
        facts = facts_of(self.home, path)
        now = self.home.clock.now()
        return summary(path, facts, now, fact_settings(self.home))

    def render(self, folder: str | Path) -> Sequence[Path]:
        """Write life/ENTITY/summary.md of every entity below a folder; return the files.

        Raises:
            StorageError: A file cannot be written.
        """
        files = []
        facts = facts_of(self.home, active=None)
        entities = dict.fromkeys(fact.entity for fact in facts)
        life = Path(folder) / "life"
        for entity in entities:
            file = life / entity / "summary.md"
            page = self.summary(entity)
            with writing_file(file, "choose another folder"):
                file.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(file, page.encode())
            files.append(file)
        return files
