"""Bring a home and the journal that it shares with other machines up to date.

Events of the spool are forwarded; erasures, merges of projects and the policy in force
come back. Every step may be killed and is repeated by the next run.
"""

import shutil
from collections.abc import Sequence
from typing import Any, NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.files import told
from theorex_lab.core.ids import SCANNER
from theorex_lab.evolution.acceptance import policies
from theorex_lab.evolution.briefing import save_again
from theorex_lab.evolution.view_sharing import pull_views_at_joining
from theorex_lab.journal.erasing import ErasedPart, EraseSelection
from theorex_lab.journal.spool import Pulled, SpooledJournal
from theorex_lab.journal.sqlite.archive import erase_from_segments
from theorex_lab.journal.sqlite.erase import erase_as_noted, wipe
from theorex_lab.memory.briefing.prompt_index import write_prompt_index
from theorex_lab.memory.contract import Home
from theorex_lab.memory.erased_texts import forget_erased
from theorex_lab.memory.merge_hints import MergeHint, merge_hints, note_roots_of
from theorex_lab.memory.policy_file import remove_policy, write_policy
from theorex_lab.memory.projects import project_rows


class SyncReport(NamedTuple):
    """What a sync did.

    Attributes:
        sent: How many events arrived in the shared journal.
        erased: How many events were erased there by others, or by a command here.
        merged: How many merges of projects came from other machines.
        policy: The number of the policy in force, None for none.
        hints: Pairs of projects that may be one.
        refused: Why the shared journal cannot keep events of the spool, by their ids.
            They stay in the spool, and are read on no machine.
    """

    sent: int
    erased: int
    merged: int
    policy: int | None
    hints: list[MergeHint]
    refused: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON holds it."""
        hints = [hint._asdict() for hint in self.hints]
        return {**self._asdict(), "hints": hints}


def is_shared(home: Home) -> bool:
    """Return whether the home's journal is shared with other machines."""
    return isinstance(home.journal, SpooledJournal)


def spooled_journal(home: Home) -> SpooledJournal:
    """Return the journal of a home that shares it.

    Raises:
        InvalidInput: The home has a journal of its own.
    """
    if isinstance(home.journal, SpooledJournal):
        return home.journal
    raise InvalidInput(
        f"got the home {home.folder}, which shares no journal; set journalUrl with"
        " `theorex config journalUrl URL` first"
    )


def sync(home: Home) -> SyncReport:
    """Forward what waits in the spool, and take in what other machines decided.

    Args:
        home: The home.

    Raises:
        InvalidInput: The home has a journal of its own.
        StorageError: The shared journal cannot be reached, or a file not be written.
            What was done before that stays, and the next run goes on from there.
    """
    journal = spooled_journal(home)
    sent_before = journal.n_sent
    note_roots_of(journal)
    is_joining = not journal.is_joined()
    first = _take_in(home, journal)
    journal.forward()
    if is_joining:
        pull_views_at_joining(home, journal)
    second = _take_in(home, journal)
    policy = _take_policy(home)
    hints = merge_hints(journal, project_rows(home.in_project("")))
    erased_ids = first.erased_ids | second.erased_ids
    n_merges = first.merges + second.merges
    n_sent = journal.n_sent - sent_before
    return SyncReport(
        sent=n_sent,
        erased=len(erased_ids),
        merged=n_merges,
        policy=policy,
        hints=hints,
        refused=journal.refused(),
    )


def sync_if_shared(home: Home) -> SyncReport | None:
    """Sync a home that shares a journal; None for one that has its own.

    Raises:
        StorageError: As `sync`.
    """
    return sync(home) if is_shared(home) else None


def erase_everywhere(home: Home, selection: EraseSelection) -> list[str]:
    """Erase in the shared journal, and at once in all that this home made of it.

    Other machines erase their own at their next sync.

    Returns:
        The ids of the erased events.

    Raises:
        InvalidInput: As `journal.erasing.select`.
        StorageError: The shared journal cannot be reached; or something could not be
            removed here: repeating the command, or a sync, removes it.
    """
    journal = spooled_journal(home)
    journal.forward()
    try:
        erased_ids = journal.erase_shared(selection, agent=SCANNER)
    finally:  # also where the server could not wipe what it had erased
        _take_in(home, journal)
    unsent_ids = journal.reached_refused(selection)
    if unsent_ids:
        _forget(home, journal, unsent_ids)
    return [*erased_ids, *unsent_ids]


def _take_in(home: Home, journal: SpooledJournal) -> Pulled:
    """Carry out what the shared journal erased and merged, and note that it is done."""
    if not journal.is_joined():
        _remove_caches(home)
    pulled = journal.pull()
    if pulled.erased_ids:
        _forget(home, journal, sorted(pulled.erased_ids))
    if pulled.merges:
        home.views.remove_reached()
        save_again(home)
    if pulled.erased_ids or pulled.merges:
        write_prompt_index(home)
    journal.note_pulled(pulled)
    return pulled


def _forget(home: Home, journal: SpooledJournal, ids: Sequence[str]) -> None:
    """Leave no byte of erased events in the home."""
    spool = journal.local
    erase_as_noted(spool, ids, agent=SCANNER, at=home.clock.now())
    forget_erased(home, ErasedPart(list(ids)))
    spool.forget_places()
    erase_from_segments(spool)
    wipe(spool)
    spool.keep_places()


def _remove_caches(home: Home) -> None:
    """Remove what was made of another journal, whose seqs mean other events."""
    with told(f"cannot remove what lies in {home.views.folder}"):
        for path in sorted(home.views.folder.glob("*/*")):
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != "lock":
                path.unlink(missing_ok=True)
    forget_erased(home, ErasedPart([]))


def _take_policy(home: Home) -> int | None:
    """Put the newest policy of the shared journal in force here; return its number."""
    kept_policies = policies(home.journal)
    if not kept_policies:
        remove_policy(home.folder)
        home.take_policy()
        return None
    newest = kept_policies[-1]
    write_policy(home.folder, newest.number, newest.settings)
    home.take_policy()
    return newest.number
