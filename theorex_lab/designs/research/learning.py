"""Learn from a session that is over.

It leaves insights, skills and statistics, in one transaction.

A session is read from a state that says what was proved and what failed, or, by rules,
from what hooks captured of it. A model may extract insights in the place of rules; its
answer is read strictly, or not at all.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_session, derived_event_id
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.sections import read_sections
from theorex_lab.designs.research import CATEGORIES, GENERAL
from theorex_lab.designs.research.insights import (
    Insight,
    ask_model,
    insight_events,
    insights_of,
)
from theorex_lab.designs.research.items import domain_slug, skill_id_of
from theorex_lab.designs.research.records import chosen_domain
from theorex_lab.designs.research.settings import research_settings
from theorex_lab.designs.research.skills import (
    Skill,
    Skills,
    is_known,
    skill_event,
    skill_named,
    skill_outcome_event,
)
from theorex_lab.files.formats.flat_files import parse_object
from theorex_lab.files.formats.foreign import read_file
from theorex_lab.journal.base import append_once
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Event, new_event
from theorex_lab.journal.view import View
from theorex_lab.memory.briefing.rule_signs import states_a_wish, wish_signs
from theorex_lab.memory.checks import error_of, family_of, has_failed
from theorex_lab.memory.contract import Home
from theorex_lab.text.directives import Directive, directives
from theorex_lab.text.line import fence, one_line
from theorex_lab.text.paths import kept_path, named_path, quoted_path
from theorex_lab.text.spoken import sentences_of

_TEXTS = read_sections(__file__, "prompts.txt")
# Words of a cause, in what an agent says of what it found.
_CAUSE = lazy_pattern(
    r"""
        \b(?:
              root[ ]cause
            | the[ ](?:problem|issue|cause|bug|reason|culprit)[ ](?:is|was|were)
            | turn(?:s|ed)[ ]out
            | (?:is|was|are|were)[ ](?:caused|due)[ ](?:by|to)
            | (?:fails?|failed|failing|broke|breaks|happens|happened)[ ]because
            | which[ ](?:causes|caused|means|meant)[ ]that
            | the[ ]fix[ ](?:is|was)
        )\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
# How a sentence begins that says nothing without what was said before it.
_LEANS = lazy_pattern(
    r"""
        (?:["'\W])*(?:(?:so|and|but|also|just|ok|okay|hmm+|no|yes|then)\b[\s,]*)*
        (?:
              (?:
                    that|this|it|these|those|they|each|one|he|she|here's|there
                  | can't|cannot|i|you|we
              )\b(?![ ](?:always|never|must|should|use|do[ ]not|don't))
            | the[ ]point\b|line[ ]\d
        )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NAMES = lazy_pattern(
    r"`[^`\s]{3,}`|\b[\w-]+(?:/[\w.-]+)+|\b\w+\.\w{1,5}\b|\b\w+[_A-Z]\w+\b"
)
_SUCCEEDED = ("proved", "success", "completed", "solved")
_FAILED = ("failed", "failure", "abandoned", "refuted")
_READ_KINDS = ("prompt", "tool_used", "turn_ended", "outcome", "episode", "recalled")
_LEMMAS = 8
_LEMMA_CHARACTERS = 120
_FAILURES = 5
_FAILURE_CHARACTERS = 100
_CONJECTURE_CHARACTERS = 300
_SAME = 80
_LONG = 300
_HEAD = 200
_TAIL = 80
_EVIDENCE = 5
_MOST_DRAFTS = 5
_MOST_CALLS = 10
_MOST_FILES = 3
# Not .txt: a file of requirements repairs a check.
_PROSE = (".md", ".mdc", ".mdx", ".rst")
_TITLE = 80
_HOUR = 3_600_000_000
_MOST_LISTED = 1_000
_MOST_CHARACTERS = 20_000
_FEWEST_WORDS = 3
_USUAL_CONFIDENCE = 0.8
_STATUS_OF = {True: "success", False: "failed", None: ""}


class InsightDraft(NamedTuple):
    """Hold an insight to be.

    Attributes:
        category: One of CATEGORIES.
        title: What it is about; '' without one.
        content: The insight in words.
        confidence: From 0 to 1.
        source: Whose words it is told in.
        events: Ids of the events that it rests on.
    """

    category: str
    title: str
    content: str
    confidence: float
    source: str = "agent"
    events: tuple[str, ...] = ()


class Pattern(NamedTuple):
    """Hold calls that led to something that held.

    Attributes:
        of: What they led to.
        calls: The calls in words, in their order.
        events: Ids of the events that tell them.
    """

    of: str
    calls: tuple[str, ...]
    events: tuple[str, ...] = ()


class SessionReading(NamedTuple):
    """Hold what was read of a session.

    Attributes:
        drafts: The insights to be.
        failures: What failed, in words.
        proofs: What was proved, in words.
        patterns: The calls that led to something that held.
        succeeded: How the session went; None where nothing says it.
    """

    drafts: list[InsightDraft]
    failures: list[str]
    proofs: list[str]
    patterns: list[Pattern]
    succeeded: bool | None


@dataclass(frozen=True)
class RunState:
    """Hold how a session of proving went, as a theory_state.json says it.

    What it does not say is empty.

    Attributes:
        domain: What the session was about.
        status: Such as proved or failed.
        conjecture: What was to be proved.
        proven_lemmas: {id, statement, confidence?, tool_calls?} of each.
        failed_attempts: {lemma_id, failure_reason, approach?} of each.
        open_goals: What is not proved yet.
    """

    domain: str = ""
    status: str = ""
    conjecture: str = ""
    proven_lemmas: tuple[Mapping[str, Any], ...] = ()
    failed_attempts: tuple[Mapping[str, Any], ...] = ()
    open_goals: tuple[str, ...] = ()

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> "RunState":
        """Return the state that a JSON object says; unknown members count for nothing.

        Raises:
            InvalidInput: A member has another form.
        """
        lists = {
            name: _listed(state, name)
            for name in ("proven_lemmas", "failed_attempts", "open_goals")
        }
        texts = {
            name: state.get(name) or "" for name in ("domain", "status", "conjecture")
        }
        if not all(_is_text(text) for text in texts.values()):
            raise InvalidInput(
                f"got {texts!r:.200}; allowed are texts of up to {_MOST_CHARACTERS:,}"
                " characters"
            )
        return cls(
            domain=texts["domain"],
            status=texts["status"],
            conjecture=texts["conjecture"],
            proven_lemmas=tuple(map(_object, lists["proven_lemmas"])),
            failed_attempts=tuple(map(_object, lists["failed_attempts"])),
            open_goals=tuple(
                _first_text(goal, "statement") for goal in lists["open_goals"]
            ),
        )


def _is_text(value: object) -> bool:
    """Return whether a member of a state is a text that is not too long."""
    return isinstance(value, str) and len(value) <= _MOST_CHARACTERS


def _listed(members: Mapping[str, Any], name: str) -> list[Any]:
    """Return the list in a member; an object there is a list of its values by id.

    Raises:
        InvalidInput: The member is no list, or too long a one.
    """
    items = members.get(name) or []
    if isinstance(items, Mapping):
        by_id = items
        items = []
        for key, value in by_id.items():
            items.append({"id": key, **_object(value)})
    if not isinstance(items, list) or len(items) > _MOST_LISTED:
        raise InvalidInput(
            f"got {name}={items!r:.100}; allowed is a list of up to {_MOST_LISTED:,}"
        )
    return items


def _object(value: Any) -> Mapping[str, Any]:
    """Return an object as it is; a text becomes a statement that is also a reason."""
    if isinstance(value, Mapping):
        return value
    return {"statement": str(value), "failure_reason": str(value)}


def _first_text(value: Any, *names: str) -> str:
    """Return the first of these members that says something, on one line.

    A value that is no object is the text itself.
    """
    text = value
    if isinstance(value, Mapping):
        text = ""
        for name in names:
            if value.get(name):
                text = value[name]
                break
    return one_line(str(text), _MOST_CHARACTERS)


def read_state(path: Path) -> RunState:
    """Return the state in a file.

    Raises:
        InvalidInput: The file holds no state.
        StorageError: The file cannot be read.
    """
    return RunState.of(parse_object(read_file(path)))


def _read_of_state(
    state: RunState, source: str, pattern_confidence: float
) -> SessionReading:
    """Return what a state says of its session.

    Args:
        state: How the session went.
        source: Whose words the drafts are told in.
        pattern_confidence: Lemmas from this confidence on have patterns of calls.
    """
    proofs = [
        _first_text(lemma, "statement", "name", "id") for lemma in state.proven_lemmas
    ]
    failures = _distinct_failures(state)
    succeeded = _succeeded(state.status)
    drafts = []
    for lemma, text in zip(state.proven_lemmas[:_LEMMAS], proofs, strict=False):
        lemma_text = f"Proved: {text[:_LEMMA_CHARACTERS]}"
        confidence = _confidence_of(lemma)
        draft = InsightDraft(
            "domain_knowledge",
            _name(lemma),
            lemma_text,
            confidence,
            source,
        )
        drafts.append(draft)
    for failure in failures[:_FAILURES]:
        failure_text = failure[:_FAILURE_CHARACTERS]
        draft = InsightDraft("pitfalls", "", failure_text, 0.8, source)
        drafts.append(draft)
    goals = list(state.open_goals[:_FAILURES])
    if state.conjecture and succeeded is not True:
        goals.append(state.conjecture)
    for goal in goals:
        goal_text = f"Not proved yet: {goal[:_CONJECTURE_CHARACTERS]}"
        draft = InsightDraft("open_problems", "", goal_text, 0.8, source)
        drafts.append(draft)
    patterns = _patterns(state, pattern_confidence)
    return SessionReading(drafts, failures, proofs, patterns, succeeded)


def _patterns(state: RunState, pattern_confidence: float) -> list[Pattern]:
    """Return the calls that led to the lemmas of a state.

    A lemma without a confidence counts, and one from this confidence on.
    """
    patterns = []
    for lemma in state.proven_lemmas:
        states_confidence = lemma.get("confidence") is not None
        if states_confidence and _confidence_of(lemma) < pattern_confidence:
            continue
        calls = map(_call_in_words, _listed(lemma, "tool_calls"))
        pattern = Pattern(_name(lemma), tuple(calls))
        patterns.append(pattern)
    return patterns


def _distinct_failures(state: RunState) -> list[str]:
    """Return the failures of a state, of those that begin alike the last one."""
    distinct = dict.fromkeys(map(_failure, state.failed_attempts))
    by_beginning: dict[str, str] = {}
    for failure in reversed(distinct):
        beginning = failure[:_SAME]
        by_beginning[beginning] = compressed(failure)
    return list(reversed(by_beginning.values()))


def _failure(attempt: Mapping[str, Any]) -> str:
    """Return a failed attempt in words: the lemma, the approach and the reason."""
    lemma = _first_text(attempt, "lemma_id", "id") or "an attempt"
    approach = _first_text(attempt, "approach")
    reason = _first_text(attempt, "failure_reason", "reason", "error", "statement")
    if approach:
        return f"{lemma}: {approach} failed: {reason}"
    return f"{lemma}: {reason}"


def compressed(text: str) -> str:
    """Return a text of more than 300 characters as its first 200 and its last 80.

    >>> len(compressed("x" * 1000))
    285
    """
    if len(text) <= _LONG:
        return text
    return f"{text[:_HEAD]} ... {text[-_TAIL:]}"


def _name(lemma: Mapping[str, Any]) -> str:
    """Return the name of a lemma, as a title."""
    return _first_text(lemma, "name", "id")[:_TITLE]


def _confidence_of(lemma: Mapping[str, Any]) -> float:
    """Return the confidence that a lemma states, .8 where it states none in 0..1."""
    confidence = lemma.get("confidence")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float):
        return _USUAL_CONFIDENCE
    if not 0 <= confidence <= 1:
        return _USUAL_CONFIDENCE
    return float(confidence)


def _call_in_words(call: Any) -> str:
    """Return the tool of a call that a state lists."""
    return _first_text(call, "tool", "name", "action")[:_LEMMA_CHARACTERS]


def _succeeded(status: str) -> bool | None:
    """Return whether a session succeeded, by its status; None where that is unsaid."""
    if status.lower() in _SUCCEEDED:
        return True
    if status.lower() in _FAILED:
        return False
    return None


def _read_of_events(events: Sequence[Event]) -> SessionReading:
    """Return what hooks captured of a session, read by rules."""
    repairs, failing = _checks(events)
    drafts = list(_rules(events))
    drafts += repairs
    contents = " ".join(draft.content for draft in drafts).casefold()
    for finding in _findings(events):
        if finding.content.casefold() not in contents:
            drafts.append(finding)
    last_failing = list(failing.items())[-1:]
    for family, event in last_failing:
        error = error_of(event.body.get("response", ""))
        draft = InsightDraft(
            "open_problems",
            family,
            f"`{family}` still failed with {error} when the session ended.",
            0.7,
            "agent",
            (event.id,),
        )
        drafts.append(draft)
    failures = [draft.content for draft in drafts if draft.category == "pitfalls"]
    return SessionReading(drafts, failures, [], [], _outcome_of(events))


def _outcome_of(events: Sequence[Event]) -> bool | None:
    """Return how a session went: as its last outcome says, else as its last check did.

    None where it has neither.
    """
    last_outcome: bool | None = None
    last_check: bool | None = None
    for event in events:
        if event.kind == "outcome":
            success = event.body.get("success")
            if isinstance(success, bool):
                last_outcome = success
        elif _check_family(event):
            failed = has_failed(event)
            if failed is not None:
                last_check = not failed
    return last_check if last_outcome is None else last_outcome


def _check_family(event: Event) -> str:
    """Return the kind of check that a call ran; '' for other events."""
    if event.kind != "tool_used":
        return ""
    return family_of(event.body.get("command", ""))


def _checks(
    events: Sequence[Event],
) -> tuple[list[InsightDraft], dict[str, Event]]:
    """Return the repairs of checks, and the checks that still fail.

    A check that failed and passed after edits was repaired. What still fails is listed
    by the kind of check, with the call that failed first.
    """
    first_failures = dict[str, int]()  # index of the call, by the kind of check
    repairs = []
    for index, event in enumerate(events):
        family = _check_family(event)
        failed = has_failed(event) if family else None
        if failed:
            first_failures.setdefault(family, index)
        elif failed is False and family in first_failures:
            start = first_failures.pop(family)
            repair = _repair(family, events, start, index)
            if repair is not None:
                repairs.append(repair)
    failing = {family: events[index] for family, index in first_failures.items()}
    return repairs, failing


def _repair(
    family: str, events: Sequence[Event], start: int, end: int
) -> InsightDraft | None:
    """Return the insight to be of a repair between two calls; None without an edit.

    Args:
        family: The kind of check.
        events: The events of the session.
        start: The index of the call that failed.
        end: The index of the call that passed.
    """
    failed = events[start]
    passed = events[end]
    edits = []
    for event in events[start + 1 : end]:
        is_call = event.kind == "tool_used" and not has_failed(event)
        if is_call and _edited(event):
            edits.append(event)
    if not edits:
        return None
    edit_ids = [edit.id for edit in edits]
    ids = (failed.id, *edit_ids, passed.id)
    cause = _cause_after(events[end:])
    return _fix(family, failed, edits, cause, ids)


def _edited(event: Event) -> list[str]:
    """Return the paths that a call edited, without prose, which repairs no check."""
    paths = event.body.get("paths") or {}
    edited = paths.get("edited") or ()
    return [path for path in edited if not path.lower().endswith(_PROSE)]


def _name_of(path: str) -> str:
    """Return the last name of a path, as it is shown."""
    _, _, name = named_path(path).rpartition("/")
    return quoted_path(kept_path(name))


def _cause_after(events: Sequence[Event]) -> tuple[str, str]:
    """Return the cause that the agent's next message names, and the event's id.

    ('', '') where that message names none.
    """
    messages = (
        event
        for event in events
        if event.kind == "turn_ended" and not event.body.get("subagent")
    )
    event = next(messages, None)
    if event is None:
        return "", ""
    cause = ""
    for span in sentences_of(event.body["message"]):
        if _CAUSE.search(span.text):
            cause = span.text
            break
    sentence = _plain(cause)
    if not sentence:
        return "", ""
    return sentence, event.id


def _fix(
    family: str,
    failed: Event,
    edits: Sequence[Event],
    cause: tuple[str, str],
    events: tuple[str, ...],
) -> InsightDraft:
    """Return the insight to be of a check that was repaired.

    Args:
        family: The kind of check.
        failed: The call that failed.
        edits: The calls that edited files before it passed.
        cause: The sentence that names the cause, and the id of its event.
        events: Ids of the events that tell the repair.
    """
    names: list[str] = []
    for edit in edits:
        names += map(_name_of, _edited(edit))
    files = list(dict.fromkeys(names))
    edited = ", ".join(files[:_MOST_FILES])
    n_more = len(files) - _MOST_FILES
    if n_more > 0:
        edited += f" and {n_more} more"
    error = error_of(failed.body.get("response", ""))
    sentence, sentence_id = cause
    content = (
        f"`{family}` failed with {error}; it passed after edits to {edited}. {sentence}"
    ).strip()
    if sentence:
        category = "pitfalls"
        confidence = 0.8
    else:
        category = "proof_strategy"
        confidence = 0.5
    lineage = (*events, sentence_id) if sentence_id else events
    return InsightDraft(category, family, content, confidence, "agent", lineage)


def _rules(events: Sequence[Event]) -> Iterator[InsightDraft]:
    """Yield what the person ruled for good."""
    for event in events:
        if event.kind != "prompt" or event.body.get("source") != "user":
            continue
        for rule in filter(_is_for_good, directives(event.body["text"])):
            yield InsightDraft(
                "domain_knowledge",
                "",
                one_line(rule.span.text, _LONG),
                0.9,
                "user",
                (event.id,),
            )


def _is_for_good(rule: Directive) -> bool:
    """Return whether a rule stands, and tells by itself what it is about.

    A request is done with once it is done, whatever it says of rules.
    """
    text = rule.span.text
    if not rule.stands or len(rule.subject) < _FEWEST_WORDS:
        return False
    if _LEANS.match(text):
        return False
    return states_a_wish(text, wish_signs(text), text)


def _findings(events: Sequence[Event]) -> Iterator[InsightDraft]:
    """Yield what the agent found out: sentences of a cause that name their subject."""
    for event in events:
        if event.kind != "turn_ended" or event.body.get("subagent"):
            continue
        for span in sentences_of(event.body["message"]):
            if _is_finding(span.text):
                yield InsightDraft(
                    "domain_knowledge",
                    "",
                    _plain(span.text),
                    0.6,
                    "agent",
                    (event.id,),
                )


def _is_finding(sentence: str) -> bool:
    """Return whether a sentence tells a cause, names a subject, and does not ask."""
    if not _CAUSE.search(sentence) or not _NAMES.search(sentence):
        return False
    return not sentence.rstrip().endswith("?")


def _plain(text: str) -> str:
    """Return a sentence without stars and on one line."""
    return one_line(text.replace("**", ""), 400)


def _few(drafts: Iterable[InsightDraft]) -> list[InsightDraft]:
    """Return the first five drafts by confidence, each text once."""
    by_text = {draft.content.lower(): draft for draft in drafts}
    ordered = sorted(by_text.values(), key=lambda draft: -draft.confidence)
    return ordered[:_MOST_DRAFTS]


def _by_model(
    home: Home, drafts: Sequence[InsightDraft], conjecture: str
) -> list[InsightDraft]:
    """Return what a model makes of drafts.

    The drafts stay as they are where no model is set, and where its answer holds
    anything but insights.
    """
    answer = None
    if drafts:
        prompt = _extraction_prompt(drafts, conjecture)
        answer = ask_model(home, prompt)
    if not answer:
        return list(drafts)
    lines = [line for line in answer.splitlines() if line.strip()]
    sources = {draft.source for draft in drafts}
    source = "import" if "import" in sources else "model"
    events = _lineage(drafts)
    extracted = []
    try:
        for line in lines[:_MOST_DRAFTS]:
            draft = _draft_of_answer(json.loads(line), source, events)
            extracted.append(draft)
    except (ValueError, TypeError, KeyError, RecursionError):
        return list(drafts)
    return extracted or list(drafts)


def _extraction_prompt(drafts: Sequence[InsightDraft], conjecture: str) -> str:
    """Return what a model is asked that extracts insights from drafts."""
    lines = []
    for draft in drafts:
        members = {"category": draft.category, "text": draft.content}
        line = json.dumps(members, ensure_ascii=False)
        lines.append(line)
    lines.append(conjecture[:_CONJECTURE_CHARACTERS])
    data = fence(lines, "session")
    return "\n".join([_TEXTS["extract"], *data])


def _lineage(drafts: Sequence[InsightDraft]) -> tuple[str, ...]:
    """Return the ids of the events that drafts rest on, each once."""
    ids: list[str] = []
    for draft in drafts:
        ids += draft.events
    return tuple(dict.fromkeys(ids))


def _draft_of_answer(answer: Any, source: str, events: tuple[str, ...]) -> InsightDraft:
    """Return the draft in one line of a model's answer.

    Raises:
        ValueError: A member has a value that is not allowed.
        TypeError: The line holds no object, or the confidence is no number.
        KeyError: A member is missing.
    """
    category = answer["category"]
    title = answer["title"]
    content = answer["content"]
    confidence = answer["confidence"]
    are_texts = isinstance(title, str) and isinstance(content, str)
    if category not in CATEGORIES or not are_texts or not content.strip():
        raise ValueError(f"got {answer!r:.100}")
    share = min(max(float(confidence), 0.0), 1.0)
    return InsightDraft(
        category,
        one_line(title, _TITLE),
        one_line(content, 400),
        share,
        source,
        events,
    )


def _group_of(event: Event) -> tuple[str, str, str]:
    """Return what events have alike that the fold of `SessionProgress` takes together.

    It is the kind, '' for a capture, and the agent and the session.
    """
    is_capture = event.kind not in ("post_run", "recalled")
    return "" if is_capture else event.kind, event.agent, event.session


class SessionProgress(View):
    """Hold how far each session was learnt from, a row each.

    Attributes:
        sessions: The agent and the name of each, with a slash between.
        rows: first, last: seqs of the first and of the last capture since the session
            was learnt from (0: none). at: the time of the last (µs). given: seq of the
            first time since then that the session was given something (0: none).
    """

    name = "research_runs"
    code = 1
    reads_outlines = True
    kinds = (*_READ_KINDS, "post_run")

    def __init__(self) -> None:
        super().__init__()
        self.sessions = Names()
        self.rows = Table(first="i8", last="i8", at="i8", given="i8")

    def apply(self, events: Sequence[Event]) -> None:
        """Take in captures, and what was learnt from.

        Captures that follow each other in a session are taken in together.
        """
        for (kind, agent, session), group in groupby(events, _group_of):
            if not session:
                continue
            row = self.sessions.number(f"{agent}/{session}")
            if row == len(self.rows):
                self.rows.add()
            if kind:
                for event in group:
                    self._take(row, event)
            else:
                self._take_captures(row, list(group))

    def _take(self, row: int, event: Event) -> None:
        """Take in that a session was given something, or was learnt from."""
        if event.kind == "recalled":
            first_recall = int(self.rows["given"][row])
            self.rows.put(row, given=first_recall or event.seq)
            return
        upto = event.body["upto"]
        is_done = self.rows["last"][row] <= upto
        first = 0 if is_done else upto + 1
        self.rows.put(row, first=first, given=0)

    def _take_captures(self, row: int, captures: Sequence[Event]) -> None:
        """Take in captures of a session."""
        first = int(self.rows["first"][row])
        self.rows.put(
            row,
            first=first or captures[0].seq,
            last=captures[-1].seq,
            at=captures[-1].at,
        )


def post_run(
    home: Home,
    session_id: str,
    state: RunState | Mapping[str, Any] | None = None,
    *,
    domain: str = "",
    status: str | None = None,
    agent: str = "main",
    source: str = "agent",
) -> dict[str, Any]:
    """Learn from a session that is over.

    It leaves statistics of the skills that it was given, insights, skills, and patterns
    of calls. All of it is one transaction, and repeating it changes nothing.

    Args:
        home: Where it is kept.
        session_id: The session.
        state: What it proved and where it failed. Without one it is read from what was
            captured of the session since it was last learnt from.
        domain: What it was about, where the state does not say it.
        status: Such as proved or failed; default: as the state or the events say.
        agent: Whose session it was.
        source: Whose words a state is.

    Returns:
        {session_id, status, stats, insights, skills, patterns}: ids and names of what
        is new.

    Raises:
        InvalidInput: Nobody knows the session.
    """
    run = RunState.of(state) if isinstance(state, Mapping) else state
    events = _events(home, agent, check_session(session_id))
    if run is None and not events:
        return _nothing_new(home, agent, session_id, status)
    if run is None:
        run = RunState()
        reading = _read_of_events(events)
        drafts = _few(reading.drafts)
    else:
        confidence = research_settings(home).pattern_confidence
        reading = _read_of_state(run, source, confidence)
        drafts = reading.drafts
    succeeded = reading.succeeded if status is None else _succeeded(status)
    learnt = _Learnt(home, session_id, agent, source, run.domain or domain, events)
    learnt.statistics(succeeded)
    learnt.insights(_by_model(home, drafts, run.conjecture))
    learnt.lessons(reading)
    learnt.patterns(reading.patterns)
    return learnt.keep(status or run.status or _STATUS_OF[succeeded])


def _nothing_new(
    home: Home, agent: str, session_id: str, status: str | None
) -> dict[str, Any]:
    """Return what a session leaves, when nothing was captured of it since.

    Raises:
        InvalidInput: Nothing was ever captured of it.
    """
    if not session_id or not _is_captured(home, agent, session_id):
        raise InvalidInput(
            f"got the session {session_id!r} of {agent}; nothing was captured of it:"
            " give a state, or its name"
        )
    return {
        "session_id": session_id,
        "status": status or "",
        "stats": [],
        "insights": [],
        "skills": [],
        "patterns": [],
    }


def _project_of(events: Iterable[Event]) -> str:
    """Return the project that most of a session's events name, '' for none."""
    n_events = Counter(event.body.get("project", "") for event in events)
    del n_events[""]
    return max(n_events, key=lambda project: n_events[project], default="")


class _Learnt:
    """Collect what one session leaves, until it is kept as one."""

    def __init__(
        self,
        home: Home,
        session: str,
        agent: str,
        source: str,
        domain: str,
        events: Sequence[Event],
    ) -> None:
        self.home = home
        self.session = session
        self.agent = agent
        self.source = source
        self.read = events
        self.settings = research_settings(home)
        self.domain = chosen_domain(
            home,
            domain,
            session,
            project=_project_of(events) or home.project,
        )
        self.events = dict[str, Event]()
        self.at = events[-1].at if events else home.clock.now()
        self.new: dict[str, list[str]] = {
            "stats": [],
            "insights": [],
            "skills": [],
            "patterns": [],
        }

    def statistics(self, succeeded: bool | None) -> None:
        """Say how the session went, of each skill that it was given."""
        if succeeded is None:
            return
        for name in self._skills_of_session():
            outcome = skill_outcome_event(
                self.home,
                name,
                succeeded,
                session_id=self.session,
                domain=self.domain,
                agent=self.agent,
            )
            if not self.home.journal.read(ids=[outcome.id]):
                self.events[outcome.id] = outcome
                self.new["stats"].append(name)

    def _skills_of_session(self) -> list[str]:
        """Return the names of the skills that the session was given, sorted."""
        item_ids = set()
        for event in self.read:
            if event.kind == "recalled":
                item_ids.update(event.body["items"])
        if not item_ids:
            return []
        names = set()
        with self.home.views.reading(Skills) as view:
            for entry in view.names:
                _, _, name = entry.partition("\0")
                if skill_id_of(name) in item_ids:
                    names.add(name)
        return sorted(names)

    def insights(self, drafts: Iterable[InsightDraft]) -> None:
        """Keep insights, unless they are there."""
        for draft in drafts:
            insight_id, events = insight_events(
                self.home,
                draft.category,
                draft.title,
                draft.content,
                confidence=draft.confidence,
                domain=self.domain,
                session_id=self.session,
                agent=self.agent,
                source=draft.source,
                lineage=draft.events,
                replaces=self._solved_by(draft),
                at=self.at,
            )
            if events:
                self.events |= {event.id: event for event in events}
                self.new["insights"].append(insight_id)

    def _open_problems(self) -> list[Insight]:
        """Return what is open in the session's domain.

        Sessions of older releases left it in the general domain.
        """
        domains = {domain_slug(self.domain), GENERAL}
        problems = []
        for problem in insights_of(self.home, None, "open_problems"):
            if domain_slug(problem.domain) in domains:
                problems.append(problem)
        return problems

    def _solved_by(self, draft: InsightDraft) -> list[str]:
        """Return the ids of the open problems that a draft with their title solves."""
        if not draft.title or draft.category not in ("pitfalls", "proof_strategy"):
            return []
        solved_ids = []
        for problem in self._open_problems():
            if problem.title == draft.title and problem.trusted:
                solved_ids.append(problem.insight_id)
        return solved_ids

    def lessons(self, reading: SessionReading) -> None:
        """Distill a skill of many failures or successes.

        It rests on all that the drafts do.
        """
        failures = reading.failures
        proofs = reading.proofs
        has_failures = len(failures) >= self.settings.distill_failures
        has_successes = len(proofs) >= self.settings.distill_successes
        if not has_failures and not has_successes:
            return
        lines = [f"- Failed: {compressed(text)}" for text in failures[:_EVIDENCE]]
        lines += [f"- Worked: {text}" for text in proofs[:_EVIDENCE]]
        slug = domain_slug(self.domain).replace("_", "-")
        self._skill(
            "skills",
            f"lessons-{slug}",
            f"What failed and what worked in {self.domain}",
            "\n".join(lines),
            list(_lineage(reading.drafts)),
        )

    def patterns(self, patterns: Iterable[Pattern]) -> None:
        """Keep calls that led to something that held as skills."""
        for pattern in patterns:
            if len(pattern.calls) < self.settings.pattern_calls:
                continue
            lines = []
            for number, call in enumerate(pattern.calls[:_MOST_CALLS], 1):
                lines.append(f"{number}. {call}")
            slug = re.sub(r"[^a-z0-9]+", "-", pattern.of.lower())
            slug = slug.strip("-")[:40]
            self._skill(
                "patterns",
                f"tool-pattern-{slug or 'calls'}",
                f"The calls after which {pattern.of} succeeded",
                "\n".join(lines),
                pattern.events,
            )

    def _skill(
        self, kind: str, name: str, description: str, body: str, lineage: Sequence[str]
    ) -> None:
        """Keep a distilled skill, unless it is known; it is listed under `kind`."""
        event = skill_event(
            self.home,
            name.strip("-"),
            description,
            body,
            origin="distilled",
            agent=self.agent,
            source=self.source,
            lineage=lineage,
            at=self.at,
        )
        if not is_known(self.home, event):
            self.events[event.id] = event
            self.new[kind].append(event.body["name"])

    def keep(self, status: str) -> dict[str, Any]:
        """Append all of it as one, unless that was done already."""
        last_seq = max((event.seq for event in self.read), default=0)
        event_id = derived_event_id(
            "post_run",
            self.home.project,
            self.agent,
            self.session,
            last_seq,
            sorted(self.events),
        )
        body: dict[str, Any] = {
            "session_id": self.session,
            "status": one_line(status, 40),
            "domain": self.domain,
            "upto": last_seq,
            "learnt": {kind: len(names) for kind, names in self.new.items()},
            "source": "agent",
            "project": self.home.project,
        }
        event = new_event(
            "post_run",
            body,
            agent=self.agent,
            session=self.session,
            at=self.home.clock.now(),
            event_id=event_id,
        )
        if not append_once(self.home.journal, [*self.events.values(), event]):
            self.new = {kind: [] for kind in self.new}
        return {"session_id": self.session, "status": body["status"], **self.new}


def _is_captured(home: Home, agent: str, session: str) -> bool:
    """Return whether anything was ever captured of a session."""
    with home.views.reading(SessionProgress) as view:
        return view.sessions.find(f"{agent}/{session}") is not None


def _events(home: Home, agent: str, session: str) -> list[Event]:
    """Return what was captured of a session since it was last learnt from."""
    with home.views.reading(SessionProgress) as view:
        row = view.sessions.find(f"{agent}/{session}")
        if row is None:
            return []
        first = int(view.rows["first"][row])
        last = int(view.rows["last"][row])
        first_recall = int(view.rows["given"][row])
    if not first:
        return []
    start = min(first, first_recall or first)
    events = []
    for event in home.journal.tail(start - 1, kinds=_READ_KINDS, upto=last):
        if event.agent == agent and event.session == session:
            events.append(event)
    return events


class ToolPatternExtractor:
    """Keep patterns of calls of a session in a home as skills."""

    def __init__(self, home: Home, agent: str = "main") -> None:
        self.home = home
        self.agent = agent

    def extract_and_save(self, session_id: str) -> list[Skill]:
        """Keep the calls that led to what holds as skills; return those that are new.

        Raises:
            InvalidInput: As `post_run` raises it.
        """
        summary = post_run(self.home, session_id, agent=self.agent)
        return [skill_named(self.home, name) for name in summary["patterns"]]


def learn_of_session(home: Home, agent: str, session: str) -> None:
    """Learn from a session that ended, where there is something to learn from."""
    if _events(home, agent, session):
        post_run(_where(home, agent, session), session, agent=agent)


def unlearnt_sessions(home: Home, agent: str | None) -> list[str]:
    """Return the sessions of an agent, or of all, that nothing was learnt from yet."""
    sessions = []
    with home.views.reading(SessionProgress) as view:
        rows = np.flatnonzero(view.rows["first"] > 0)
        for row in rows.tolist():
            owner, _, session = view.sessions[row].partition("/")
            if agent in (None, owner):
                sessions.append(session)
    return sessions


def learn_in_maintenance(home: Home, agent: str | None) -> str:
    """Learn from the sessions without a capture for sessionIdleHours.

    It is a step of maintenance.
    """
    idle_for = round(home.settings.session_idle_hours * _HOUR)
    idle_since = home.clock.now() - idle_for
    with home.views.reading(SessionProgress) as view:
        is_pending = view.rows["first"] > 0
        is_idle = view.rows["at"] <= idle_since
        rows = np.flatnonzero(is_pending & is_idle)
        idle = [view.sessions[row] for row in rows.tolist()]
    summaries = []
    for name in idle:
        owner, _, session = name.partition("/")
        if agent in (None, owner):
            project = _where(home, owner, session)
            summaries.append(post_run(project, session, agent=owner))
    counts = []
    for name in ("insights", "skills", "patterns"):
        n_new = sum(len(summary[name]) for summary in summaries)
        counts.append(f"{n_new} {name}")
    return f"{len(summaries)} sessions: {', '.join(counts)}"


def _where(home: Home, agent: str, session: str) -> Home:
    """Return the home, in the project that a session was about."""
    projects = {
        str(event.body.get("project", "")) for event in _events(home, agent, session)
    }
    return home.in_project(projects.pop()) if len(projects) == 1 else home
