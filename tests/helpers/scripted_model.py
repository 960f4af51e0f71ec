"""A model whose answers are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from theorex_lab import ModelUnavailable
from theorex_lab.dispatch.llm import Completion


class ScriptedModel:
    """A model that answers from a list, or as a function of the prompt says; `asked`
    are the prompts so far.
    """

    def __init__(self, answers: Sequence[str] | Callable[[str], str]) -> None:
        self._answers = answers
        self.asked = list[str]()

    def __call__(self, prompt: str) -> Completion:
        """The next answer. Raises ModelUnavailable for an empty one, or where the list
        is at its end.
        """
        self.asked.append(prompt)
        said = (
            self._answers(prompt)
            if callable(self._answers)
            else "".join(self._answers[len(self.asked) - 1 :][:1])
        )
        if not said:
            raise ModelUnavailable("the script has no answer", "silent")
        return Completion(said, "scripted", None, None, 0.0)
