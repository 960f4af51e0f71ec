"""Serve the part of `lab.facts` that is of domains, hand-offs and folders."""

from pathlib import Path
from typing import Any, NamedTuple

from theorex_lab.designs.facts import (
    domains,
    duplicates,
    folder_check,
    handoff_taking,
    heartbeat,
)
from theorex_lab.designs.facts import handoff as blocks
from theorex_lab.designs.facts.files import domain_documents, write_documents
from theorex_lab.designs.facts.folder_read import import_domains
from theorex_lab.designs.facts.kept_files import with_last_line_ended
from theorex_lab.designs.facts.weekly import WeeklyPage, weekly_page
from theorex_lab.designs.facts.words import check_word
from theorex_lab.files.formats.reports import Reports
from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import DesignApi, on_home


class WaitingCaptures(NamedTuple):
    """Captures that no extraction has read.

    Attributes:
        notes: The oldest of them, each as {seq, timestamp, speaker, text}.
        waiting: How many wait in all.
    """

    notes: list[dict[str, Any]]
    waiting: int


class DomainMethods(DesignApi):
    """Domains, hand-offs and Engram folders, as the command line has them.

    A subagent asks for a decision, and the main agent takes it.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     _ = lab.facts.add_domain("digest", description="Daily digest")
    ...     _ = lab.facts.propose("digest", "skip adverts")
    ...     [proposal] = lab.facts.scan_domains().proposals
    ...     _ = lab.facts.judge_proposal("digest", proposal.id, accept=True)
    ...     "- skip adverts" in lab.facts.domain("digest").files["decisions"]
    True

    What a subagent hands over moves the watermark, forwards alone.

    >>> with Lab.temporary() as lab:
    ...     _ = lab.agent("main").write("Remember: the depot closes at noon")
    ...     block = lab.facts.run_phase("extract")
    ...     taken = lab.facts.take_handoff(block.to_block())
    ...     block.stats["facts_written"], taken["moved"]
    (1, True)
    """

    domain = on_home(domains.domain_called)
    pause_domain = on_home(domains.pause_domain)
    propose = on_home(domains.propose)
    judge_proposal = on_home(domains.judge_proposal)
    scan_domains = on_home(domains.scan_domains)
    run_phase = on_home(heartbeat.run_phase)
    read_handoff = staticmethod(blocks.read_handoff)
    dedup = on_home(duplicates.seed)
    duplicate_of = on_home(duplicates.duplicate_of)
    init_folder = staticmethod(folder_check.init_folder)
    migrate_folder = staticmethod(folder_check.migrate_folder)

    def add_domain(
        self,
        name: str,
        *,
        description: str = "",
        type: str = domains.DOMAIN_TYPES[0],
        entity: str = "",
        interval: float = 0,
        agent: str = "main",
    ) -> Event:
        """Add a domain: the rules, the state and the log that a subagent works from.

        Args:
            name: Its name, of a-z 0-9 -.
            description: What it is for.
            type: cron-task, or dev-project, which needs an entity.
            entity: The entity of a dev-project, such as projects/engram.
            interval: Minutes between two runs; 0: it has none.
            agent: Who adds it.

        Raises:
            InvalidInput: It is there already, or something is outside the rules.
        """
        about = domains.DomainFacts(type, description, entity, interval)
        return domains.add_domain(self.home, name, about, agent)

    def list_domains(self) -> list[domains.Domain]:
        """Return the domains of the home's project or of none."""
        return [*domains.domains_of(self.home).values()]

    def write_domain(
        self,
        name: str,
        file: str,
        text: str,
        *,
        append: bool = False,
        by: str = "main",
        source: str = "agent",
        agent: str = "main",
    ) -> Event:
        """Write a file of a domain.

        Args:
            name: The domain.
            file: decisions, workflow, status or changelog.
            text: What is written; a line of the changelog gets its time.
            append: Add to the end; a line of the changelog is always added.
            by: main or subagent; a subagent writes status and changelog alone.
            source: Who it is from, a key of `TRUST`.
            agent: Who writes.

        Raises:
            InvalidInput: Something is outside the rules.
        """
        written = domains.DomainText(text=text, append=append, by=by, source=source)
        return domains.write_domain(self.home, name, file, written, agent=agent)

    def render_domains(self, folder: str | Path) -> dict[str, int]:
        """Write memory/domains/ below a folder; return how many files of each kind.

        Raises:
            StorageError: A file cannot be written.
        """
        documents = with_last_line_ended(domain_documents(self.home))
        return dict(write_documents(Path(folder), documents).files)

    def import_domains(
        self, folder: str | Path, *, trusted: bool = False, agent: str = "main"
    ) -> Reports:
        """Read the domain files below a folder, which were edited by hand.

        Args:
            folder: What memory/domains/ is in.
            trusted: You have read them: subagents obey them.
            agent: Who reads them.

        Raises:
            InvalidInput: They are not trusted, or there is none.
        """
        return import_domains(self.home, Path(folder), agent=agent, trusted=trusted)

    def take_handoff(self, block: str | blocks.Handoff) -> dict[str, Any]:
        """Take over what a sound hand-off block says; no part of it is ever run.

        Args:
            block: The block, or a text that has one.

        Returns:
            {watermark: where it stands, moved: whether it moved, notes: ids}; {} where
            there is no block, or it tells of an error.

        Raises:
            InvalidInput: The watermark is none, or past what is there.
        """
        handoff = blocks.read_handoff(block) if isinstance(block, str) else block
        if handoff is None or handoff.status == "error":
            return {}
        return handoff_taking.take_handoff(self.home, handoff)

    def handoff_template(
        self, phase: str, *, folder: str | Path | None = None, filled: bool = True
    ) -> str:
        """Return what a subagent is told that does a phase.

        Args:
            phase: extract, synthesis or domains.
            folder: The folder of your own templates; None: those that ship.
            filled: Fill the names in braces.

        Raises:
            InvalidInput: There is no such phase or template.
        """
        check_word("phase", phase, blocks.HANDOFF_PHASES)
        if folder is None:
            text = blocks.template(phase)
        else:
            text = handoff_taking.template_from(Path(folder), phase)
        if not filled:
            return text
        values = handoff_taking.phase_values(self.home)
        return blocks.filled_template(text, values)

    def waiting_captures(self, limit: int = 100) -> WaitingCaptures:
        """Return the captures that no extraction has read, the oldest first."""
        return WaitingCaptures(*handoff_taking.waiting_notes(self.home, limit))

    def weekly_page(self, entity: str, day: str = "") -> WeeklyPage:
        """Return the page of an entity as a heartbeat wrote it in the week of a day.

        Args:
            entity: Whose page.
            day: A day of the week, such as 2026-03-02; '': the last one.

        Raises:
            InvalidInput: There is no such page.
        """
        return weekly_page(self.home, entity, day)

    def validate(
        self, folder: str | Path | None = None, *, fix: bool = False
    ) -> folder_check.FolderCheck:
        """Check an Engram folder, or the chains of the memory.

        Args:
            folder: The folder that life/ is in; None: the memory is checked.
            fix: Mend what can be.

        Raises:
            InvalidInput: The folder has no life/.
        """
        if folder is not None:
            return folder_check.check_folder(Path(folder), fix=fix)
        if fix:
            return folder_check.mend_home(self.home)
        return folder_check.check_chains(self.home)
