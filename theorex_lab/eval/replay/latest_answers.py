"""Give the latest answer again where a home is asked the same.

A memory is asked within one budget after the other. What is found and what is offered do
not depend on the budget, so that they are looked for once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

from theorex_lab.eval.replay.spared_time import seconds_used, spare
from theorex_lab.memory.retrieve import Hits, Searcher

Answer = TypeVar("Answer")


class LatestAnswer(Generic[Answer]):
    """Keeps the answer to the latest question, and no earlier one.

    What it took to make it counts again each time that it is given, see `spared_time`.

    >>> latest = LatestAnswer()
    >>> latest.of("port", lambda: 8080), latest.of("port", lambda: 9090)
    (8080, 8080)
    >>> latest.of("host", lambda: "till"), latest.of("port", lambda: 9090)
    ('till', 9090)
    """

    def __init__(self) -> None:
        self._kept: tuple[Any, Answer, float] | None = None

    def of(self, question: Any, make: Callable[[], Answer]) -> Answer:
        """Return the answer to a question.

        Args:
            question: All that the answer depends on.
            make: Makes the answer. It is not called where the question is the latest.
        """
        if self._kept is not None and self._kept[0] == question:
            _, answer, seconds = self._kept
            spare(seconds)
            return answer
        begun = seconds_used()
        answer = make()
        self._kept = (question, answer, seconds_used() - begun)
        return answer

    def forget(self) -> None:
        """Make the next answer anew, whatever the question is."""
        self._kept = None


class RepeatedSearch:
    """Searches a home, and gives the latest hits again where the same is searched.

    All else that designs ask of a searcher is the searcher's.
    """

    def __init__(
        self, searcher: Searcher, latest: LatestAnswer[Hits], state: Any
    ) -> None:
        """Take what searches.

        Args:
            searcher: What searches the home.
            latest: The hits of the latest search.
            state: All that hits depend on beside the search.
        """
        self._searcher = searcher
        self._latest = latest
        self._state = state

    def search(self, query: str, **options: Any) -> Hits:
        """Return the hits, see `Searcher.search`."""
        question = (self._state, query, options)
        return self._latest.of(
            question, partial(self._searcher.search, query, **options)
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._searcher, name)
