"""The files that a coding agent reads at its start: rules and notes in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.git_repository import GitRepository, NoRepository
from theorex_lab.eval.adapters.stored_texts import StoredTexts
from theorex_lab.memory.briefing.token_budget import items_within
from theorex_lab.memory.contract import Item
from theorex_lab.text.line import one_line

_NAMES = frozenset({"CLAUDE.md", "AGENTS.md", "GEMINI.md", "MEMORY.md"})
_FOLDERS = frozenset({"memory", ".memory", "memories"})
_MOST_BYTES = 1_000_000
_LINE_CHARACTERS = 600


class AgentFiles(StoredTexts):
    """Gives the lines of an agent's files, from the first on, whatever is asked.

    They are CLAUDE.md, AGENTS.md, GEMINI.md and MEMORY.md at any depth of a folder, and
    Markdown in a folder `memory`. In a git repository a moment sees the files as they
    were committed before it; elsewhere it sees them as they are, which may be more than
    anybody knew then. A line rests on no event, so that scores by events say nothing of
    it.

    Raises:
        InvalidInput: There is no such folder.
    """

    _repository: GitRepository | None

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise InvalidInput(f"got {folder}, which is no folder; give a project's")
        super().__init__()
        self._root = folder
        try:
            self._repository = GitRepository.at(folder)
        except NoRepository:
            self._repository = None
        # The commit that was read last, and its lines.
        self._commit = ""
        self._lines_then: list[str] = []

    def add(self, texts: Sequence[str], at: Sequence[int]) -> None:
        """Pass over them: the files are what is remembered."""

    def inject(self, now: int, tokens: int) -> Sequence[Item]:
        """Return the lines of the files as they were."""
        lines = self._lines(now)
        items = map(Item, lines)
        return items_within(items, tokens, 0)

    def retrieve(self, query: str, now: int, tokens: int) -> Sequence[Item]:
        """Return the same, since an agent has read them by then."""
        return self.inject(now, tokens)

    def _lines(self, now: int) -> list[str]:
        if self._repository is None:
            return list(self._lines_now())
        before = f"--before={to_iso(now)}"
        output = self._repository.run("rev-list", "-1", before, "HEAD")
        commit = output.decode().strip()
        if commit != self._commit:
            self._commit = commit
            lines = self._lines_of(self._repository, commit)
            self._lines_then = list(lines)
        return self._lines_then if commit else []

    def _lines_now(self) -> Iterator[str]:
        files = self._root.rglob("*.md")
        for file in sorted(files):
            path = file.relative_to(self._root)
            if not is_read_by_agents(path.as_posix()):
                continue
            with file.open("rb") as opened:
                content = opened.read(_MOST_BYTES)
            yield from _lines_in(content)

    def _lines_of(self, repository: GitRepository, commit: str) -> Iterator[str]:
        output = repository.run(
            "ls-tree",
            "-r",
            "-z",
            "--name-only",
            commit,
        )
        paths = output.decode(errors="replace")
        for path in paths.split("\0"):
            if not is_read_by_agents(path):
                continue
            name = f"{commit}:{path}"
            result = repository.attempt("cat-file", "blob", name)
            content = result.output[:_MOST_BYTES]
            yield from _lines_in(content)


def is_read_by_agents(name: str) -> bool:
    """Return whether a coding agent reads a file at its start, by its path.

    >>> is_read_by_agents("docs/CLAUDE.md"), is_read_by_agents("memory/till.md")
    (True, True)
    >>> is_read_by_agents("README.md")
    False
    """
    path = PurePosixPath(name)
    if path.name in _NAMES:
        return True
    folders = path.parts[:-1]
    if path.suffix != ".md":
        return False
    return not _FOLDERS.isdisjoint(folders)


def _lines_in(content: bytes) -> Iterator[str]:
    """Yield the lines that say something."""
    text = content.decode(errors="replace")
    for line in text.splitlines():
        shown = one_line(line, _LINE_CHARACTERS)
        if shown:
            yield shown
