"""Turns of a session that another form of its transcript has told.

A session may lie on disk twice: as its agent wrote it, and as SpecStory wrote it down in
Markdown. A turn is the same where its prompt has the same words at the same time in the
same session: all that follows until the next prompt belongs to it.
"""

from collections import defaultdict
from typing import NamedTuple

from theorex_lab.core.ids import session_of
from theorex_lab.files.transcripts.captures import Captures, TimedCapture
from theorex_lab.journal.base import Journal

_PROMPT = "UserPromptSubmit"
_MICROSECONDS_PER_SECOND = 1_000_000
_DERIVED = "8"  # the version in the id of an event that was imported


class _ToldPrompt(NamedTuple):
    """A prompt that came in, or will.

    Attributes:
        at: When, in µs UTC.
        text: A hash of its words.
        event_id: The id of its event.
        form: The form of its transcript, '' where the journal holds it.
    """

    at: int
    text: int
    event_id: str
    form: str


class RetoldTurns:
    """Finds the turns that a transcript of another form has told.

    Args:
        journal: Holds what came in before.
    """

    def __init__(self, journal: Journal) -> None:
        self._prompts: dict[tuple[str, int], list[_ToldPrompt]] = defaultdict(list)
        self._is_retold: dict[str, bool] = {}  # by session of the file that is read
        self._forms: dict[str, set[str]] = defaultdict(set)
        self._matched: set[str] = set()
        for event in journal.tail(0, kinds=["prompt"]):
            if event.session and event.id[14] == _DERIVED:
                text = hash(str(event.body.get("text")))
                self._add(event.session, _ToldPrompt(event.at, text, event.id, ""))

    def begin_file(self) -> None:
        """Note that what follows is of another file."""
        self._is_retold.clear()

    def holds(
        self,
        form: str,
        capture: TimedCapture,
        captures: Captures,
    ) -> bool:
        """Return whether another form has told the turn that a capture belongs to.

        Args:
            form: The form of the capture's transcript.
            capture: What is told; the captures of a file come in order.
            captures: Makes its event.
        """
        session = session_of(capture.said.session)
        name = capture.said.hook["hook_event_name"]
        if name == _PROMPT:
            is_retold = self._has_prompt(session, form, capture, captures)
            self._is_retold[session] = is_retold
        return self._is_retold.get(session, False)

    def doubled_sessions(self) -> list[str]:
        """Return the sessions of several forms in which no prompt is the same."""
        doubled = []
        for session, forms in self._forms.items():
            if len(forms) > 1 and session not in self._matched:
                doubled.append(session)
        return sorted(doubled)

    def _has_prompt(
        self,
        session: str,
        form: str,
        capture: TimedCapture,
        captures: Captures,
    ) -> bool:
        """Return whether another form has told this prompt; else it is noted."""
        self._forms[session].add(form)
        near = self._near(session, capture.at)
        others = [prompt for prompt in near if prompt.form != form]
        if others and _is_one_of(others, form, capture, captures):
            self._matched.add(session)
            return True
        text = hash(capture.said.hook["prompt"])
        event_id = captures.id_of(form, capture)
        prompt = _ToldPrompt(
            capture.at,
            text,
            event_id,
            form,
        )
        self._add(session, prompt)
        return False

    def _near(
        self,
        session: str,
        at: int,
    ) -> list[_ToldPrompt]:
        """Return the prompts of a session that lie within a second of a time."""
        second = at // _MICROSECONDS_PER_SECOND
        near = []
        for offset in (-1, 0, 1):
            for prompt in self._prompts.get((session, second + offset), ()):
                if abs(prompt.at - at) < _MICROSECONDS_PER_SECOND:
                    near.append(prompt)
        return near

    def _add(
        self,
        session: str,
        prompt: _ToldPrompt,
    ) -> None:
        second = prompt.at // _MICROSECONDS_PER_SECOND
        self._prompts[session, second].append(prompt)


def _is_one_of(
    prompts: list[_ToldPrompt],
    form: str,
    capture: TimedCapture,
    captures: Captures,
) -> bool:
    """Return whether a prompt of another form has the words of this one.

    It is false where this form has told it in a former import.
    """
    own_ids = {
        captures.id_of(form, capture),
        captures.session_id_of(form, capture),
    }
    told_ids = {prompt.event_id for prompt in prompts}
    if not own_ids.isdisjoint(told_ids):
        return False
    texts = {hash(capture.said.hook["prompt"])}
    event = captures.event(form, capture)
    if event is not None:
        # The journal holds its words masked.
        texts.add(hash(event.body["text"]))
    told_texts = {prompt.text for prompt in prompts}
    return not texts.isdisjoint(told_texts)
