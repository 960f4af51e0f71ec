"""The models that review and judge, asked in turn; one that keeps silent is left alone for the rest of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any

from theorex_lab.evolution.cases import PROBLEM_CHARACTERS
from theorex_lab.text.line import one_line

if TYPE_CHECKING:
    from theorex_lab.config import Settings
    from theorex_lab.dispatch.llm import ChainAnswer

MOST_SILENCES = 2
_SILENT = f"silent {MOST_SILENCES} times in a row in this run"
NOBODY_ASKED = f"nobody was asked: each model of the setting reviewers was {_SILENT}, or none is named"


class Panel:
    """Asks the models of the setting `reviewers` in their order, each for reviewTimeoutSeconds at most.

    A model that refused the connection, broke it, was busy or took too long two times in a row is not asked again by
    this panel: what hangs once hangs for each of a hundred failures.

    >>> from theorex_lab.config import Settings
    >>> Panel(Settings(reviewers=[]))("Why?").attempts
    []
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._silences: Counter[str] = Counter()

    @property
    def names(self) -> tuple[str, ...]:
        """The models that are asked, in their order."""
        return tuple(self._settings.reviewers)

    def without(self, names: Collection[str]) -> Callable[[str], ChainAnswer]:
        """The panel without these models."""
        return partial(self, skipped=names)

    def __call__(
        self, prompt: str, json_schema: dict[str, Any] | None = None, *, skipped: Collection[str] = ()
    ) -> ChainAnswer:
        """The answer of the first that gives one; see `dispatch.llm.ask`. Without any attempt nobody was asked."""
        from theorex_lab.dispatch.llm import ask

        settings = self._settings
        names = [name for name in self.names if self._silences[name] < MOST_SILENCES and name not in skipped]
        seconds = settings.review_timeout_seconds
        answer = ask(names, prompt, settings, json_schema=json_schema, timeout_seconds=seconds)
        for attempt in answer.attempts:
            silent = answer.kinds.get(attempt.model) in ("silent", "busy")
            self._silences[attempt.model] = self._silences[attempt.model] + 1 if silent else 0
        return answer


def why_none(answer: ChainAnswer) -> str:
    """Why an answer holds no completion: what each model did, on one line."""
    tried = "; ".join(f"{attempt.model}: {attempt.error}" for attempt in answer.attempts)
    return one_line(tried, PROBLEM_CHARACTERS) or NOBODY_ASKED
