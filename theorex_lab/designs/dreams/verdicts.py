"""Say how the work for a prompt came out, by what followed it in its session.

Five things tell it: a check that was run after the last edit, a commit, the user's next
words, the same request again, and that the user went on to another task. The user's words
count more than a check, and a check more than a commit; that the user went on counts
where nothing else tells. What nothing tells stays unknown. English: the words stand here.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.designs.dreams import Ended
from theorex_lab.designs.dreams.tasks import (
    SAME_WORDS,
    task_in_words,
    task_likeness,
    verb_kind,
)
from theorex_lab.journal.event import Event, tool_key
from theorex_lab.memory.briefing.command_roles import BUILD, LINT, TEST, role_of
from theorex_lab.memory.briefing.tool_failures import cut_commands
from theorex_lab.memory.checks import has_failed

Verdict = Literal["accepted", "corrected", ""]
# What a trajectory's outcome was read from; the names are stored.
TESTS = "tests"
COMMIT = "commit"
ACCEPTED = "accepted"
CORRECTED = "corrected"
ASKED_AGAIN = "asked again"
WENT_ON = "went on"
_CONFIDENCE = {
    ACCEPTED: 0.9,
    CORRECTED: 0.8,
    ASKED_AGAIN: 0.8,
    TESTS: 0.8,
    COMMIT: 0.7,
    WENT_ON: 0.6,
}
# What tells outcomes, as a listing counts it.
EVIDENCE_IN_WORDS = {
    TESTS: "by checks run afterwards",
    COMMIT: "by a commit",
    ACCEPTED: "accepted by the user",
    CORRECTED: "corrected by the user",
    ASKED_AGAIN: "asked for again",
    WENT_ON: "the user went on to another task",
}
# What a user asks for who is not content with what was done.
_DOUBTING_KINDS = frozenset(("fix", "check", "find"))
# Tools that edit, their names folded as `tool_key` does; some tell no path.
_EDITING = lazy_pattern(
    r"(?:multi|notebook)?edit|write|searchreplace|strreplace|applypatch|createfile"
)
_CHECKS = (TEST, LINT, BUILD)
# A long prompt that begins like an earlier one is likely sent by a program.
SHORTEST_STANDING = 60
STANDING_CHARACTERS = 200
_READ_CHARACTERS = 400
_FIRST_CHARACTERS = 120
# What opens an answer and says nothing of its own.
_OPENING = lazy_pattern(
    r"(?:(?:ok(?:ay)?|k|mmk+|hm+|uh+|ah|oh|well|so|hey|wait|actually|but|and|yes|yeah"
    r"|yep|yup|right)\b|[^\w❯])+",
    re.I,
)
_CORRECTS = lazy_pattern(
    r"""
      no(?:pe)?\b(?![ ](?:problem|worr|need|rush|more|idea)) | nah\b | wrong\b | incorrect
    | stop\b | revert\b | undo\b | try[ ](?:to[ ]\w+[ ].{0,30})?again | still\b
    | not[ ](?:what|quite|right|correct|exactly|that) | what[ ]the\b
    | (?:that|this|it)(?:'s|[ ]is|[ ]was)?[ ](?:still|not|wrong|incorrect|broken|isn'?t
        |is[ ]not|wasn'?t|doesn'?t|didn'?t|does[ ]not|did[ ]not|failed|fails|breaks)\b
    | (?:that|this|it)[ ]seems[ ](?:wrong|off|incorrect)
    | you[ ](?:forgot|missed|broke|removed|deleted|did[ ]?n[o']?t|did[ ]not|should[ ]not
        |shouldn'?t|were[ ]supposed|still|just[ ](?:broke|deleted|removed|nuked)
        |modified[ ]the[ ]wrong|are[ ]not|aren'?t)\b
    | why[ ](?:did|didn'?t|are|aren'?t|do|don'?t|would|is|isn'?t)[ ]
        (?:you|it|this|that|not)\b
    | did[ ]you[ ](?:forget|nuke|break|skip|miss|not)\b
    | don'?t[ ](?:do|tell|modify|change|edit|touch|remove)\b
    | i[ ](?:said|told|asked|meant|specifically|don'?t[ ](?:want|like|see)|dont[ ]see
        |didn'?t|still|can'?t|see[ ](?:an?[ ])?error)
    | there(?:'s|[ ]is)[ ](?:still|an?[ ]error) | (?:error|traceback|fatal|panic)\b
    | there[ ]are[ ]still | you[ ]should[ ]be\b | i'?m[ ](?:still|getting)\b
    """,
    re.I | re.VERBOSE,
)
_CORRECTS_ANYWHERE = lazy_pattern(
    r"""
    \b(?: (?:does|do|did|is|are|was)(?:n'?t|[ ]not)[ ](?:work(?:ing)?|correct|right|fix)
      | not[ ]working | still[ ](?:fail\w*|broken|see\w*|get\w*|there|wrong|has|shows?)
      | (?:is|are)[ ](?:broken|failing) | keeps?[ ]failing | seems[ ]wrong
      | you[ ](?:broke|forgot|missed) | not[ ]what[ ]i
    )\b
    """,
    re.I | re.VERBOSE,
)
_ACCEPTS = lazy_pattern(
    r"""
      great\b | perfect\w*\b | nice\b | awesome\b | excellent\b | cool\b | beautiful\w*\b
    | lovely\b | love[ ]it | good(?:[ ](?:job|work|stuff|catch))?(?:[.!,;]|$|[ ]now\b)
    | thanks\b | thank[ ]you\b | thx\b | lgtm\b | well[ ]done | fantastic\b | brilliant\b
    | (?:it|that|this)[ ](?:works|worked|looks[ ](?:good|great|right|nice)|did[ ]it)\b
    | (?:that|this|it)(?:'s|[ ]is)[ ](?:good|great|perfect|better|fine|correct|it)\b
    | looks[ ](?:good|great|right|nice) | works\b | working[ ]now | all[ ](?:good|set)
    | much[ ]better | (?:lets?[ ]|let's[ ]|please[ ]|now[ ]|go[ ]ahead[ ]and[ ])*
      (?:commit\b | push\b | (?:ship|merge|release|deploy)[ ](?:it|this|that|them)\b)
    | (?:lets?[ ]|let's[ ]|please[ ]|now[ ]|go[ ]ahead[ ]and[ ])*
      (?:create|open|make|prepare|generate)[ ](?:a[ ]|the[ ])?(?:pr\b|pull[ ]request)
    """,
    re.I | re.VERBOSE,
)
# Praise that goes on with "but" is none.
_RESERVATION = lazy_pattern(r"\bbut\b|\bexcept\b|\?\s*$", re.I)
_SLASH = lazy_pattern(r"\s*/\w")
# A file whose change makes no earlier check stale.
_PROSE_FILE = lazy_pattern(r"\.(?:md|mdc|mdx|txt|rst)$", re.I)
_COMMITS = ("git commit", "git merge --continue")


class InferredEnd(NamedTuple):
    """Hold how work came out, by what followed it.

    Attributes:
        outcome: How it came out; unknown where nothing tells.
        confidence: How sure that is, 0 to 1.
        evidence: What tells it; '' for nothing.
    """

    outcome: Ended
    confidence: float = 1.0
    evidence: str = ""


UNKNOWN_END = InferredEnd(Ended.UNKNOWN)


class _Traces(NamedTuple):
    """Hold what a session left of its work; each is a position, -1 for never.

    Attributes:
        edited: Of the last edit of code.
        changed: Of the last edit of any file, or commit.
        passed: Of the last check that passed.
        failed: Of the last check that failed.
        committed: Of the last commit.
    """

    edited: int = -1
    changed: int = -1
    passed: int = -1
    failed: int = -1
    committed: int = -1


def verdict_of_reply(text: str) -> Verdict:
    """Return whether a user's next words accept what was done, or correct it.

    >>> verdict_of_reply("great, now add a test"), verdict_of_reply("commit and push")
    ('accepted', 'accepted')
    >>> verdict_of_reply("no, use the other one"), verdict_of_reply("it still fails")
    ('corrected', 'corrected')
    >>> verdict_of_reply("continue"), verdict_of_reply("what is the status?")
    ('', '')
    """
    if _SLASH.match(text):
        return ""
    line = " ".join(text[:_READ_CHARACTERS].split())
    opening = _OPENING.match(line)
    start = opening.end() if opening else 0
    if _CORRECTS.match(line, start):
        return "corrected"
    first, _, _ = line[start:].partition(". ")
    if _CORRECTS_ANYWHERE.search(first[:_FIRST_CHARACTERS]):
        return "corrected"
    if _ACCEPTS.match(line, start) and not _RESERVATION.search(first):
        return "accepted"
    return ""


def is_asked_again(text: str, task: str) -> bool:
    """Return whether a prompt sets the task that was worked on once more."""
    again = task_in_words(text)
    return bool(again and task) and task_likeness(again, task) >= SAME_WORDS


def end_of(request: str, events: Iterable[Event]) -> InferredEnd:
    """Return how work came out by the calls and prompts of its session.

    Args:
        request: The prompt that set the task.
        events: The calls that were made for it and the prompts after it, in order.
    """
    verdict: str = ""
    said_at = -1
    traces = _Traces()
    has_gone_on = False
    for position, event in enumerate(events):
        if event.kind == "tool_used":
            traces = _with_call(traces, event, position)
            has_gone_on = False
        elif event.kind == "prompt":
            has_gone_on = _goes_on(event.body["text"])
            verdict_now = _said_of_work(event.body["text"], request)
            if verdict_now:
                verdict = verdict_now
                said_at = position
    if verdict == ACCEPTED:
        return _ended(ACCEPTED, Ended.SUCCESS)
    by_traces = _end_by_traces(traces, said_at)
    if verdict:
        return _end_after_verdict(verdict, by_traces, traces.changed > said_at)
    is_open = by_traces.outcome is Ended.UNKNOWN and traces.changed >= 0
    if is_open and has_gone_on:
        return _ended(WENT_ON, Ended.SUCCESS)
    return by_traces


def _end_after_verdict(
    verdict: str, by_traces: InferredEnd, has_changed: bool
) -> InferredEnd:
    """Return how work came out that the user did not accept.

    Args:
        verdict: What the user said.
        by_traces: How it came out by checks and commits after it.
        has_changed: Whether anything was changed after it.
    """
    if by_traces.outcome in (Ended.SUCCESS, Ended.FAILURE):
        return by_traces
    if has_changed:
        return _ended(verdict, Ended.PARTIAL)
    return _ended(verdict, Ended.FAILURE)


def _goes_on(text: str) -> bool:
    """Return whether a prompt sets another task that doubts nothing of the one before.

    A question is none, nor is a task to mend, check or find something.
    """
    task = task_in_words(text)
    if not task or text.rstrip().endswith("?"):
        return False
    return verb_kind(task) not in _DOUBTING_KINDS


def _said_of_work(text: str, request: str) -> str:
    """Return what a prompt says of the work before it; '' for nothing."""
    verdict = verdict_of_reply(text)
    if verdict:
        return verdict
    if len(text) >= SHORTEST_STANDING and _begins_alike(text, request):
        return ""
    task = task_in_words(request)
    return ASKED_AGAIN if is_asked_again(text, task) else ""


def _begins_alike(text: str, other: str) -> bool:
    return text[:STANDING_CHARACTERS] == other[:STANDING_CHARACTERS]


def _ended(evidence: str, outcome: Ended) -> InferredEnd:
    return InferredEnd(outcome, _CONFIDENCE[evidence], evidence)


def _end_by_traces(traces: _Traces, since: int) -> InferredEnd:
    """Return how work came out by checks and commits after a position."""
    last_check = max(traces.passed, traces.failed)
    is_fresh = last_check > max(traces.edited, since)
    has_committed = traces.committed > since
    if is_fresh and traces.failed < last_check:
        return _ended(TESTS, Ended.SUCCESS)
    if is_fresh and traces.committed > last_check:
        return _ended(TESTS, Ended.PARTIAL)
    if is_fresh:
        return _ended(TESTS, Ended.FAILURE)
    if has_committed:
        return _ended(COMMIT, Ended.SUCCESS)
    return UNKNOWN_END


def _with_call(traces: _Traces, event: Event, position: int) -> _Traces:
    """Return the traces with those of one more call."""
    has_broken = has_failed(event)
    command = event.body.get("command", "")
    if not has_broken:
        traces = _with_edits(traces, event, position)
    if not command or has_broken is None:
        return traces
    if any(_is_check(command)):
        name = "failed" if has_broken else "passed"
        traces = traces._replace(**{name: position})
    if _commits_now(command, has_broken):
        return traces._replace(committed=position, changed=position)
    return traces


def _with_edits(traces: _Traces, event: Event, position: int) -> _Traces:
    """Return the traces with the edits of a call."""
    paths = event.body.get("paths") or {}
    edited = list(paths.get("edited") or ())
    if not edited and not _EDITING.match(tool_key(event.body["tool"])):
        return traces
    traces = traces._replace(changed=position)
    if not edited:
        return traces
    only_prose = all(map(_PROSE_FILE.search, edited))
    return traces if only_prose else traces._replace(edited=position)


def _commits_now(command: str, has_broken: bool) -> bool:
    return not has_broken and _has_committed(command)


def _is_check(command: str) -> Iterator[bool]:
    """Yield of each command of a line whether it checks the work."""
    for simple in cut_commands(command):
        yield role_of(simple.words) in _CHECKS


def _has_committed(command: str) -> bool:
    """Return whether a line commits."""
    for simple in cut_commands(command):
        line = " ".join(simple.words)
        if line.startswith(_COMMITS):
            return True
    return False
