"""The briefing of a home: what an agent reads at a session's start and at a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from theorex_lab.core.errors import InvalidInput, ModelUnavailable, TheorexError
from theorex_lab.core.git_repository import NoCommit, NoRepository
from theorex_lab.core.lazy import LazyModule
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.readable import Report
from theorex_lab.memory.briefing.candidates import Candidate
from theorex_lab.memory.briefing.design_lines import design_candidates
from theorex_lab.memory.briefing.kept_start import RecordedStart
from theorex_lab.memory.briefing.marked_lines import marked_candidates
from theorex_lab.memory.briefing.notes import note_candidates
from theorex_lab.memory.briefing.personal_rules import personal_rule_candidates
from theorex_lab.memory.briefing.prompt_lines import (
    PromptLine,
    lines_for_prompt,
    prompt_text,
    room_for_lines,
    words_of_line,
)
from theorex_lab.memory.briefing.recorded_marks import line_marks
from theorex_lab.memory.briefing.rendered_text import (
    HINT_TEXT,
    heading_of,
    rendered_text,
    tokens_for_lines,
)
from theorex_lab.memory.briefing.rewritten_cards import with_rewritten_cards
from theorex_lab.memory.briefing.selection import choose
from theorex_lab.memory.contract import Home
from theorex_lab.text.line import count_tokens

# Of what only a prompt needs, or a project without sessions.
if TYPE_CHECKING:
    from theorex_lab.memory.briefing import prompt_index, repository
else:
    prompt_index = LazyModule("theorex_lab.memory.briefing.prompt_index")
    repository = LazyModule("theorex_lab.memory.briefing.repository")

DEFAULT_TOKENS = 500
FEWEST_TOKENS = 20
_QUERY_CHARACTERS = 700  # of a prompt, that are compared by meaning


@dataclass(frozen=True, repr=False)
class BriefingLine(Report):
    """One line of a briefing.

    Attributes:
        id: By what a person pins, dismisses, corrects or trusts it.
        section: The title of its section.
        text: The line.
        why: Why it is there, in words.
        timestamp: When what it says was last said or done (µs UTC).
        events: The ids of the events that it rests on.
    """

    id: str
    section: str
    text: str
    why: str
    timestamp: int
    events: tuple[str, ...]

    def _facts(self) -> tuple[str, ...]:
        return (self.section, repr(self.text))

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Briefing:
    """What an agent reads.

    Attributes:
        text: The Markdown text; the recalled lines stand in a fence.
        lines: Its lines, in their order.
        tokens: How many tokens the text has.
        problem: Why a prompt was compared by words alone where the home's embedder
            knows meaning, or why the git history could not be read; '' where nothing
            was wrong.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     text = "The till rounds half up"
    ...     _ = lab.agent("main").write(text, observation_type="decision")
    ...     briefing = lab.briefing()
    >>> [line.section for line in briefing.lines]
    ['Decisions']
    """

    text: str
    lines: tuple[BriefingLine, ...]
    tokens: int
    problem: str = ""

    @property
    def items(self) -> tuple[str, ...]:
        """The ids of its lines."""
        return tuple(line.id for line in self.lines)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Briefing({len(self.lines)} lines, {self.tokens} tokens)"

    def _repr_markdown_(self) -> str:
        return self.text


def make_briefing(
    home: Home,
    *,
    query: str = "",
    tokens: int = DEFAULT_TOKENS,
    folder: str | Path | None = None,
) -> Briefing:
    """Return what a session of the home's project would be given now.

    A project without a recorded session starts with what its git history tells.

    Args:
        home: The home. With a project, the briefing holds memory of the project and memory
            without one.
        query: A prompt. With one, the briefing holds only what the prompt adds to that
            of the session's start.
        tokens: The budget, heading included; from 20.
        folder: A folder of the project, whose git history is read; None is the last one
            that the journal knows, '' is none.

    Raises:
        InvalidInput: The budget is too small.
    """
    if tokens < FEWEST_TOKENS:
        raise InvalidInput(f"got {tokens} tokens; allowed are {FEWEST_TOKENS} and more")
    now = home.clock.now()
    start = RecordedStart(home, now)
    from_git: list[Candidate] = []
    problem = ""
    if not start.has_sessions and not query:
        from_git, problem = _from_git(home, folder, now)
    heading = heading_of(tokens, now, has_sessions=not from_git)
    left = tokens_for_lines(tokens, heading)
    candidates = [
        *with_rewritten_cards(home, start.lines, now),
        *personal_rule_candidates(home, lambda: start.sayings, now),
        *note_candidates(home, now),
        *design_candidates(home, now),
        *from_git,
    ]
    marks = line_marks(home, now)
    at_start = choose(marked_candidates(candidates, marks, now), left)
    if query:
        return _prompt_briefing(home, query, now, tokens, at_start)
    if not at_start:
        return _empty(problem)
    return _rendered(heading, at_start, problem)


def _prompt_briefing(
    home: Home,
    query: str,
    now: int,
    tokens: int,
    at_start: Sequence[Candidate],
) -> Briefing:
    """Return what a prompt brings beside the start's lines, as the agent's hook does.

    Args:
        home: The home.
        query: The prompt.
        now: The time (µs UTC).
        tokens: The budget, heading included.
        at_start: What the session's start gives.
    """
    meaning = _Meaning(home, query)
    with prompt_index.fresh_prompt_index(home) as index:
        chosen = lines_for_prompt(
            index,
            home.project,
            query,
            now,
            tokens=room_for_lines(tokens),
            shown=[words_of_line(line.text) for line in at_start],
            similarity=meaning.similarity if meaning.is_known else None,
        )
    if not chosen:
        if home.journal.last_seq():
            return Briefing("", (), 0, meaning.problem)
        return _empty(meaning.problem)
    text = prompt_text(chosen)
    lines = tuple(_line(line) for line in chosen)
    return Briefing(text, lines, count_tokens(text), meaning.problem)


def briefing_of_repository(
    folder: str | Path,
    now: int,
    *,
    tokens: int = DEFAULT_TOKENS,
    in_haste: bool = True,
) -> Briefing:
    """Return what the git history of a folder tells, without a home.

    Args:
        folder: The folder.
        now: The time of the briefing (µs UTC).
        tokens: The budget, heading included; from 20.
        in_haste: Whether somebody waits for it, as a session that starts does.

    Returns:
        The briefing; one without lines where the folder has no history.
    """
    heading = heading_of(tokens, now, has_sessions=False)
    candidates, problem = _history_of(folder, now, in_haste=in_haste)
    chosen = choose(candidates, tokens_for_lines(tokens, heading))
    if not chosen:
        return Briefing("", (), 0, problem)
    return _rendered(heading, chosen, problem)


def _rendered(
    heading: Sequence[str],
    chosen: Sequence[Candidate],
    problem: str,
) -> Briefing:
    """Return the briefing of these lines, which stand in a fence under the heading."""
    text = rendered_text(heading, chosen)
    lines = tuple(_line(candidate) for candidate in chosen)
    return Briefing(text, lines, count_tokens(text), problem)


def _from_git(
    home: Home, folder: str | Path | None, now: int
) -> tuple[list[Candidate], str]:
    """Return what the git history of the project tells, and why it could not be read.

    A folder without a repository, or with one without commits, is no problem.
    """
    if folder is None:
        folder = _known_folder(home)
    if not str(folder):
        return [], ""
    return _history_of(folder, now)


def _history_of(
    folder: str | Path, now: int, *, in_haste: bool = True
) -> tuple[list[Candidate], str]:
    """Return what the git history of a folder tells, and why it could not be read."""
    try:
        candidates = repository.repository_candidates(folder, now, in_haste=in_haste)
    except (NoRepository, NoCommit):
        return [], ""
    except (TheorexError, OSError) as error:
        return [], f"the git history was not read: {error}"
    return candidates, ""


def _known_folder(home: Home) -> str:
    """Return the last folder of the home's project that is there; '' without one."""
    paths = home.journal.local.places().paths_of(home.project)
    for path in reversed(paths):
        if Path(path).is_dir():
            return path
    return ""


class _Meaning:
    """Compares texts with a prompt by the vectors of the home's embedder.

    Attributes:
        problem: Why the embedder did not answer, '' as long as it does.
    """

    def __init__(self, home: Home, query: str) -> None:
        self._embedder, _ = home.chosen_embedder
        self._query = query[:_QUERY_CHARACTERS]
        self.problem = ""

    @property
    def is_known(self) -> bool:
        """Whether the embedder knows meaning, and not spelling alone."""
        return self._embedder.kind == "semantic"

    def similarity(self, texts: Sequence[str]) -> list[float]:
        """Return the cosine of each text to the prompt; zeros without an answer."""
        try:
            vectors = self._embedder.embed([self._query, *texts])
        except ModelUnavailable as error:
            self.problem = f"the prompt was compared by words alone: {error}"
            return [0.0] * len(texts)
        cosines: list[float] = (vectors[1:] @ vectors[0]).tolist()
        return cosines


def _empty(problem: str) -> Briefing:
    """Return a briefing without lines: one hint."""
    return Briefing(HINT_TEXT, (), count_tokens(HINT_TEXT), problem)


def _line(candidate: Candidate | PromptLine) -> BriefingLine:
    return BriefingLine(
        id=candidate.id,
        section=candidate.section,
        text=candidate.text,
        why=candidate.why,
        timestamp=candidate.at,
        events=candidate.events,
    )
