"""Read rows of MemoryAgentBench's Conflict_Resolution, which FactConsolidation is.

A row has a long text of numbered facts, of which later ones correct earlier ones,
questions about what holds at the end, and the answers that are accepted. The file is
Conflict_Resolution-00000-of-00001.parquet of the data set ai-hyz/MemoryAgentBench at
Hugging Face. The same rows may be given as JSON or as JSON lines.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from theorex_lab.core.errors import InvalidInput

SUFFIXES = (".parquet", ".json", ".jsonl")
_NUMBERED_LINE = re.compile(r"\s*(\d{1,9})[.:)]\s+(\S.*)")
_NUMBER = re.compile(r"(?<!\S)(\d{1,9})\.\s+")
_FEWEST_NUMBERED = 0.5  # the share of the lines that have a number


class FactQuestion(NamedTuple):
    """A question about facts.

    Attributes:
        text: The question.
        answers: What is accepted: one of them suffices.
    """

    text: str
    answers: tuple[str, ...]


class FactRow(NamedTuple):
    """One collection of facts with its questions.

    Attributes:
        source: What the row is called, such as "factconsolidation_sh_6k".
        facts: The statements; a later one corrects an earlier one.
        questions: Questions about what holds at the end.
    """

    source: str
    facts: tuple[str, ...]
    questions: tuple[FactQuestion, ...]


class FactRows(NamedTuple):
    """The rows of a file.

    Attributes:
        rows: Those that could be read.
        damaged: For each other row what is wrong with it.
    """

    rows: tuple[FactRow, ...]
    damaged: tuple[str, ...]


def read_fact_rows(path: str | Path) -> FactRows:
    """Return the rows of a file.

    Args:
        path: A file .parquet, .json (a list of rows) or .jsonl (a row a line). Parquet
            needs the extra `parquet`.

    Raises:
        InvalidInput: The file is missing, of another kind or damaged as a whole,
            pyarrow is not installed, or no row can be read.
    """
    file = Path(path)
    if file.suffix not in SUFFIXES:
        raise InvalidInput(
            f"got {file.name!r}; allowed is a file .parquet, .json or .jsonl"
        )
    if not file.is_file():
        raise InvalidInput(
            f"got {str(path)!r}, which is no file; download"
            " Conflict_Resolution-00000-of-00001.parquet of ai-hyz/MemoryAgentBench"
            " from Hugging Face"
        )
    read = _parquet_rows if file.suffix == ".parquet" else _json_rows
    rows = fact_rows(read(file))
    if not rows.rows:
        problems = "; ".join(rows.damaged[:3]) or "it has no row"
        raise InvalidInput(
            f"got {file.name!r} without a row that can be read: {problems}"
        )
    return rows


def fact_rows(raw_rows: Iterable[object]) -> FactRows:
    """Return rows in the form of the published ones, read.

    >>> fact_rows(
    ...     [
    ...         {
    ...             "context": ["0. Ann is in Bath.", "1. Ann is in York."],
    ...             "questions": ["Where is Ann?"],
    ...             "answers": [["York"]],
    ...         }
    ...     ]
    ... ).rows[0].facts
    ('Ann is in Bath.', 'Ann is in York.')
    """
    rows: list[FactRow] = []
    damaged: list[str] = []
    for number, raw_row in enumerate(
        raw_rows,
        1,
    ):
        try:
            rows.append(
                _row(
                    raw_row,
                    number,
                )
            )
        except _Damaged as error:
            damaged.append(f"row {number}: {error}")
    return FactRows(
        tuple(rows),
        tuple(damaged),
    )


class _Damaged(Exception):
    """A row lacks what is needed of it."""


def _parquet_rows(file: Path) -> list[object]:
    """Return the rows of a Parquet file as plain objects."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise InvalidInput(
            f"got {file.name!r}, but pyarrow is not installed; install it: pip install"
            ' "theorex-lab[parquet]", or give the rows as .json or .jsonl'
        ) from error
    try:
        rows: list[object] = parquet.read_table(file).to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise InvalidInput(
            f"got {file.name!r}, which is no Parquet file ({error!s:.80}); download it"
            " again"
        ) from error
    return rows


def _json_rows(file: Path) -> list[object]:
    """Return the rows of a file of JSON or of JSON lines."""
    try:
        text = file.read_text("utf-8")
        if file.suffix == ".jsonl":
            lines = text.splitlines()
            return [json.loads(line) for line in lines if line.strip()]
        content = json.loads(text)
    except ValueError as error:
        raise InvalidInput(
            f"got {file.name!r}, which is not valid JSON ({error!s:.80}); allowed is a"
            " list of rows in .json, or a row a line in .jsonl"
        ) from error
    if isinstance(
        content,
        dict,
    ):
        content = content.get(
            "rows",
            content.get(
                "data",
                [content],
            ),
        )
    if not isinstance(
        content,
        list,
    ):
        raise InvalidInput(f"got {file.name!r}; allowed is a list of rows")
    return content


def _row(
    raw_row: object,
    number: int,
) -> FactRow:
    """Return a row, read.

    Raises:
        _Damaged: It has no facts or no questions with answers.
    """
    if not isinstance(
        raw_row,
        Mapping,
    ):
        raise _Damaged(f"it is {type(raw_row).__name__}, not an object")
    facts = tuple(numbered_facts(_context(raw_row.get("context"))))
    if not facts:
        raise _Damaged("its context has no fact")
    texts = _texts(
        raw_row.get("questions"),
        "questions",
    )
    answers = _answers(raw_row.get("answers"))
    if len(texts) != len(answers):
        raise _Damaged(f"it has {len(texts)} questions and {len(answers)} answers")
    if not texts:
        raise _Damaged("it has no question")
    questions: list[FactQuestion] = []
    for text, accepted in zip(
        texts,
        answers,
        strict=True,
    ):
        if not accepted:
            raise _Damaged(f"the question {text!r:.60} has no answer")
        questions.append(
            FactQuestion(
                text,
                accepted,
            )
        )
    return FactRow(
        _source(
            raw_row,
            number,
        ),
        facts,
        tuple(questions),
    )


def _context(value: object) -> str:
    """Return the text of the facts."""
    if isinstance(
        value,
        str,
    ):
        return value
    return "\n".join(
        _texts(
            value,
            "context",
        )
    )


def _plain(value: object) -> object:
    """Return an array as a list."""
    to_list = getattr(
        value,
        "tolist",
        None,
    )
    return to_list() if callable(to_list) else value


def _texts(
    value: object,
    member: str,
) -> list[str]:
    """Return a list of texts; one text stands for a list of itself.

    Raises:
        _Damaged: It is something else.
    """
    plain = _plain(value)
    if isinstance(
        plain,
        str,
    ):
        return [plain]
    if not isinstance(
        plain,
        Sequence,
    ):
        raise _Damaged(f"its {member} are {type(plain).__name__}, not a list of texts")
    texts: list[str] = []
    for item in plain:
        if isinstance(
            item,
            bool,
        ) or not isinstance(
            item,
            str | int | float,
        ):
            raise _Damaged(f"its {member} hold {type(item).__name__}, not a text")
        texts.append(str(item))
    return texts


def _answers(value: object) -> list[tuple[str, ...]]:
    """Return what is accepted for each question: several texts, or one."""
    plain = _plain(value)
    if not isinstance(
        plain,
        Sequence,
    ) or isinstance(
        plain,
        str,
    ):
        raise _Damaged(f"its answers are {type(plain).__name__}, not a list")
    answers: list[tuple[str, ...]] = []
    for item in plain:
        accepted = [
            text
            for text in _texts(
                item,
                "answers",
            )
            if text.strip()
        ]
        answers.append(tuple(accepted))
    return answers


def _source(
    raw_row: Mapping[str, Any],
    number: int,
) -> str:
    """Return what a row is called."""
    metadata = raw_row.get("metadata")
    if isinstance(
        metadata,
        str,
    ) and metadata.startswith("{"):
        try:
            metadata = json.loads(metadata)
        except ValueError:
            metadata = None
    for holder in (metadata, raw_row):
        source = (
            holder.get("source")
            if isinstance(
                holder,
                Mapping,
            )
            else None
        )
        if (
            isinstance(
                source,
                str,
            )
            and source
        ):
            return source
    return f"row {number}"


def numbered_facts(context: str) -> list[str]:
    """Return the facts of a text, in the order of their numbers.

    Lines without a number are left out where most lines have one. Where no numbers
    stand at all, every line is a fact.

    >>> numbered_facts("Here are facts: 0. Ann is in Bath. 1. Bo is 7. years old.")
    ['Ann is in Bath.', 'Bo is 7. years old.']
    """
    lines = [line.strip() for line in context.splitlines() if line.strip()]
    numbered = _numbered(lines)
    n_expected = _FEWEST_NUMBERED * (len(lines) - 1)
    if len(numbered) < max(n_expected, 2):
        texts = list(_counted(context))
        return texts or [text for _, text in numbered] or lines
    numbers = {number for number, _ in numbered}
    if len(numbers) == len(numbered):
        numbered.sort()
    return [text for _, text in numbered]


def _numbered(lines: Iterable[str]) -> list[tuple[int, str]]:
    """Return the lines that have a number, each with its number."""
    numbered: list[tuple[int, str]] = []
    for line in lines:
        match = _NUMBERED_LINE.fullmatch(line)
        if match:
            numbered.append((int(match[1]), match[2].strip()))
    return numbered


def _counted(context: str) -> Iterator[str]:
    """Yield the facts of a text that has them behind each other, by their numbers."""
    matches = list(_NUMBER.finditer(context))
    starts: list[re.Match[str]] = []
    for match in matches:
        number = int(match[1])
        follows = bool(starts) and number == int(starts[-1][1]) + 1
        if follows or (not starts and number in (0, 1)):
            starts.append(match)
    if not starts:
        return
    ends = [match.start() for match in starts[1:]]
    for match, end in zip(
        starts,
        [*ends, len(context)],
        strict=True,
    ):
        text = context[match.end() : end].strip()
        if text:
            yield text
