"""Lines in the form in which Claude Code hands events to a hook, as a program may have kept them, or made them of others.

Members beside the hook's: `session` and `at` for the session and the time, `agent_text` for a turn's last message, `reads`
and `edits` for the project's paths, from its root.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from theorex_lab.ingest.said import Row, Utterance, own_words

_TIMES = ("at", "timestamp", "captured_at")
_TAKEN = "SessionStart UserPromptSubmit PostToolUse PostToolUseFailure Stop SubagentStop PreCompact SessionEnd".split()


class HookForm:
    """Reads lines of many sessions; `stem` is that of lines that name none."""

    name = "hook"

    def __init__(self, stem: str, words: Callable[[Sequence[str]], str] = own_words) -> None:
        """words: what of a prompt is kept; a published log is measured with all of it, which takes `"".join`."""
        self._stem, self._words = stem, words
        self._folders: dict[str, object] = {}
        self._lines = Counter[str]()

    @staticmethod
    def reads(row: Row) -> bool:
        """Whether a line is of this form."""
        return isinstance(row.get("hook_event_name"), str)

    def feed(self, row: Row, number: int, size: int) -> Iterator[Utterance]:  # noqa: ARG002
        """See `Reader`."""
        session = row.get("session", row.get("session_id"))
        session = session if isinstance(session, str) else self._stem
        self._lines[session] += 1
        if row.get("hook_event_name") not in _TAKEN:
            return
        cwd = self._folders[session] = row.get("cwd") or self._folders.get(session)
        if row["hook_event_name"] == "UserPromptSubmit":
            asked = row.get("prompt")
            row["prompt"] = self._words([asked]) if isinstance(asked, str) else ""
            if not row["prompt"]:
                return
        if "agent_text" in row:
            row["last_assistant_message"] = row["agent_text"]
        at = next((row[name] for name in _TIMES if name in row), None)
        yield Utterance(row, session, str(row.get("tool_use_id") or self._lines[session]), at, cwd)

    def end(self) -> Iterator[Utterance]:
        """See `Reader`: each line stands for itself."""
        yield from ()
