"""Read the packaged simulation of questions: made up, not recorded.

Twelve conversations of an invented team, and questions of seven kinds, each of which is
hard for another way of searching.
"""

from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, RootModel

from theorex_lab.core.clock import EARLIEST, LATEST
from theorex_lab.eval.datasets.recorder import Parts, Recorder, part
from theorex_lab.eval.datasets.sources import packaged, read_lines

_HEADER = {"simulation": True, "of": "questions"}
_VERSION = 1
# By kind of question, what makes it hard.
KIND_REASONS = {
    "same words": "other texts have the words too, without an answer",
    "two words": "two words say little about what is meant",
    "other words": "no word in common: only meaning helps",
    "a neighbour": "the words stand in the turn before the answer",
    "a mark": "names that differ in a letter, and stand in other texts too",
    "changed": "older texts repeat the words of the question",
    "no answer": "nothing that was said answers it",
}


class _Turn(BaseModel):
    """A text that somebody of the team says."""

    model_config = ConfigDict(extra="forbid")

    id: int
    at: Annotated[int, Field(ge=EARLIEST, le=LATEST)]
    project: str
    session: str
    text: str


class _KindQuestion(BaseModel):
    """A question, the texts that answer it, and those that do so no longer."""

    model_config = ConfigDict(extra="forbid")

    project: str
    kind: str
    question: str
    answers: list[int]
    stale: list[int]


class _Row(RootModel[_Turn | _KindQuestion]):
    """A line of the file."""


def simulated_questions() -> Parts:
    """Return a log for each of the conversations, which the package brings."""
    return questions_of(packaged("simulated_questions.jsonl.gz"))


def questions_of(path: Path) -> Parts:
    """Return a log for each conversation of a file of simulated questions.

    Raises:
        InvalidInput: The header is another, or lines are damaged.
    """
    _, lines = read_lines(path, _Row, _HEADER, _VERSION)
    by_project: dict[str, list[_Turn | _KindQuestion]] = {}
    for line in lines:
        by_project.setdefault(line.root.project, []).append(line.root)
    for project, of_project in by_project.items():
        name = f"simulated_questions/{project}"
        yield part(name, partial(_conversation, rows=of_project))


def _conversation(log: Recorder, rows: list[_Turn | _KindQuestion]) -> None:
    """Record what was said, and ask the questions at the end."""
    turns = [row for row in rows if isinstance(row, _Turn)]
    for turn in turns:
        log.wrote(turn.id, turn.at, turn.text, session=turn.session)
    last = max(turn.at for turn in turns) + 1
    for row in rows:
        if isinstance(row, _KindQuestion):
            log.probe(last, row.question, row.answers, stale=row.stale, kind=row.kind)
