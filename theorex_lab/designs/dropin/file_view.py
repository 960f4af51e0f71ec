"""Fold the events of memory files into the trees of files that agents have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Event
from theorex_lab.journal.view import View
from theorex_lab.memory.observation import TRUST

_BETWEEN = "\0"  # neither an agent, a project nor a path holds it


class MemoryFileEntry(NamedTuple):
    """A file in a tree.

    Attributes:
        path: Its path.
        seq: The seq of the event that holds its text.
        size: Bytes of its text.
    """

    path: str
    seq: int
    size: int


class MemoryFiles(View):
    """The files that are there, by agent, project and path.

    What is trusted less than an agent is no file of a tree, since its readers are told
    no sources.

    Attributes:
        rows: tree (a number of `trees`), seq, 0 where the file was deleted, and size.
    """

    name = "memory_files"
    code = 1
    kinds = ("memory_file", "memory_file_removed")

    def __init__(self) -> None:
        super().__init__()
        self.trees = Names()
        self.files = Names()
        self.rows = Table(
            tree="i4",
            seq="i8",
            size="i8",
        )

    def _memory_file(self, event: Event) -> None:
        text = event.body["text"].encode()
        self._put(
            event,
            event.seq,
            len(text),
        )

    def _memory_file_removed(self, event: Event) -> None:
        self._put(event, 0, 0)

    def _put(self, event: Event, seq: int, size: int) -> None:
        """Set the state of a file."""
        body = event.body
        source = body["source"]
        if TRUST[source] < TRUST["agent"]:
            return
        tree = _tree(event.agent, body.get("project", ""))
        file_name = f"{tree}{_BETWEEN}{body['path']}"
        row = self.files.number(file_name)
        if row == len(self.rows):
            number = self.trees.number(tree)
            self.rows.add(tree=number)
        self.rows.put(
            row,
            seq=seq,
            size=size,
        )

    def owners(self, projects: Sequence[str] | None = None) -> list[tuple[str, str]]:
        """Return whose trees there are: each agent and project, once.

        Args:
            projects: Only those of these projects and of none; None for all.
        """
        owners: list[tuple[str, str]] = []
        for tree in self.trees:
            agent, _, project = tree.partition(_BETWEEN)
            is_of_projects = projects is None or project in ("", *projects)
            if is_of_projects:
                owner = (agent, project)
                owners.append(owner)
        return owners

    def tree(self, agent: str, project: str) -> dict[str, MemoryFileEntry]:
        """Return the files of an agent in a project by their paths, in their order.

        Args:
            agent: The agent.
            project: The id of the project, '' for none.
        """
        number = self.trees.find(_tree(agent, project))
        if number is None:
            return {}
        is_of_tree = self.rows["tree"] == number
        is_present = self.rows["seq"] > 0
        rows = np.flatnonzero(is_of_tree & is_present)
        entries = [self._entry(row) for row in rows.tolist()]
        entries.sort()
        return {entry.path: entry for entry in entries}

    def _entry(self, row: int) -> MemoryFileEntry:
        """Return the file in a row."""
        _, _, path = self.files[row].rpartition(_BETWEEN)
        seq = self.rows["seq"][row]
        size = self.rows["size"][row]
        return MemoryFileEntry(
            path,
            int(seq),
            int(size),
        )


def _tree(agent: str, project: str) -> str:
    """Return the name of a tree of files."""
    return f"{agent}{_BETWEEN}{project}"
