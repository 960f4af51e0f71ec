"""The learning loop: what a session that is over leaves as insights, skills and
statistics, in one transaction.

A session is read from a state that says what was proved and what failed, or, by rules,
from what hooks captured of it. A model may extract insights in the place of rules; its
answer is read strictly, or not at all.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_session, derived_event_id
from theorex_lab.core.sections import read_sections
from theorex_lab.designs.research import CATEGORIES, GENERAL
from theorex_lab.designs.research.insights import ask_model, insight_events, insights_of
from theorex_lab.designs.research.items import checked_domain, domain_slug, skill_id_of
from theorex_lab.designs.research.records import domain_of
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
from theorex_lab.memory.checks import error_of, family_of, has_failed
from theorex_lab.memory.contract import Home
from theorex_lab.text.directives import directives
from theorex_lab.text.line import fence, one_line
from theorex_lab.text.paths import kept_path, named_path, quoted_path
from theorex_lab.text.spoken import sentences_of

_TEXTS = read_sections(__file__, "prompts.txt")
# Words of a cause, in what an agent says of what it found.
_CAUSE = re.compile(
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
_LEANS = re.compile(
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
_NAMES = re.compile(
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
_TITLE = 80
_HOUR = 3_600_000_000
_MOST_LISTED = 1_000
_MOST_CHARACTERS = 20_000
_FEWEST_WORDS = 3


class InsightDraft(NamedTuple):
    """An insight to be. source: whose words it is told in.  events: that it rests on."""

    category: str
    title: str
    content: str
    confidence: float
    source: str = "agent"
    events: tuple[str, ...] = ()


class Pattern(NamedTuple):
    """Calls that led to something that held. of: what.  calls: in words, in their
    order.
    """

    of: str
    calls: tuple[str, ...]
    events: tuple[str, ...] = ()


_Read = tuple[list[InsightDraft], list[str], list[str], list[Pattern], bool | None]


@dataclass(frozen=True)
class RunState:
    """How a session of proving went, as a theory_state.json says it; what it does not
    say is empty.

    proven_lemmas: {id, statement, confidence?, tool_calls?}.  failed_attempts:
    {lemma_id, failure_reason, approach?}.
    """

    domain: str = ""
    status: str = ""
    conjecture: str = ""
    proven_lemmas: tuple[Mapping[str, Any], ...] = ()
    failed_attempts: tuple[Mapping[str, Any], ...] = ()
    open_goals: tuple[str, ...] = ()

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> "RunState":
        """The state that a JSON object says; unknown members count for nothing. Raises
        InvalidInput where one has another form.
        """
        lists = {
            name: _listed(told, name)
            for name in ("proven_lemmas", "failed_attempts", "open_goals")
        }
        texts = {
            name: told.get(name) or "" for name in ("domain", "status", "conjecture")
        }
        if any(
            not isinstance(text, str) or len(text) > _MOST_CHARACTERS
            for text in texts.values()
        ):
            raise InvalidInput(
                f"got {texts!r:.200}; allowed are texts of up to {_MOST_CHARACTERS:,}"
                " characters"
            )
        goals = tuple(_said(goal, "statement") for goal in lists.pop("open_goals"))
        lemmas, attempts = (
            tuple(map(_object, lists[name]))
            for name in ("proven_lemmas", "failed_attempts")
        )
        return cls(
            texts["domain"],
            texts["status"],
            texts["conjecture"],
            lemmas,
            attempts,
            goals,
        )


def _listed(told: Mapping[str, Any], name: str) -> list[Any]:
    found = told.get(name) or []
    if isinstance(found, Mapping):  # by id
        found = [{"id": key, **_object(value)} for key, value in found.items()]
    if not isinstance(found, list) or len(found) > _MOST_LISTED:
        raise InvalidInput(
            f"got {name}={found!r:.100}; allowed is a list of up to {_MOST_LISTED:,}"
        )
    return found


def _object(value: Any) -> Mapping[str, Any]:
    return (
        value
        if isinstance(value, Mapping)
        else {"statement": str(value), "failure_reason": str(value)}
    )


def _said(value: Any, *names: str) -> str:
    """The first of these members that says something, or the text itself, on one line."""
    found = (
        next((value[name] for name in names if value.get(name)), "")
        if isinstance(value, Mapping)
        else value
    )
    return one_line(str(found), _MOST_CHARACTERS)


def read_state(path: Path) -> RunState:
    """The state in a file. Raises InvalidInput for one that holds none, StorageError
    for one that cannot be read.
    """
    return RunState.of(parse_object(read_file(path)))


def _of_state(state: RunState, source: str, sure: float) -> _Read:
    """Of a state the drafts, what failed, what was proved, the calls that led to lemmas
    this sure, and whether it succeeded.
    """
    proved = [_said(lemma, "statement", "name", "id") for lemma in state.proven_lemmas]
    failures = list(
        dict.fromkeys(_failure(attempt) for attempt in state.failed_attempts)
    )
    failed = list(
        {failure[:_SAME]: compressed(failure) for failure in failures[::-1]}.values()
    )[::-1]
    drafts = [
        InsightDraft(
            "domain_knowledge",
            _name(lemma),
            f"Proved: {text[:_LEMMA_CHARACTERS]}",
            _sure(lemma),
            source,
        )
        for lemma, text in zip(state.proven_lemmas[:_LEMMAS], proved, strict=False)
    ]
    drafts += [
        InsightDraft("pitfalls", "", failure[:_FAILURE_CHARACTERS], 0.8, source)
        for failure in failed[:_FAILURES]
    ]
    goals = [
        *state.open_goals[:_FAILURES],
        *(
            [state.conjecture]
            if state.conjecture and _went(state.status) is not True
            else []
        ),
    ]
    drafts += [
        InsightDraft(
            "open_problems",
            "",
            f"Not proved yet: {goal[:_CONJECTURE_CHARACTERS]}",
            0.8,
            source,
        )
        for goal in goals
    ]
    patterns = [
        Pattern(_name(lemma), tuple(map(_called, _listed(lemma, "tool_calls"))))
        for lemma in state.proven_lemmas
        if lemma.get("confidence") is None or _sure(lemma) >= sure
    ]
    return drafts, failed, proved, patterns, _went(state.status)


def _failure(attempt: Mapping[str, Any]) -> str:
    approach = _said(attempt, "approach")
    reason = _said(attempt, "failure_reason", "reason", "error", "statement")
    return (
        f"{_said(attempt, 'lemma_id', 'id') or 'an attempt'}:"
        f" {approach + ' failed: ' if approach else ''}{reason}"
    )


def compressed(text: str) -> str:
    """A text of more than 300 characters as its first 200 and its last 80.

    >>> len(compressed("x" * 1000))
    285
    """
    return text if len(text) <= _LONG else f"{text[:_HEAD]} ... {text[-_TAIL:]}"


def _name(lemma: Mapping[str, Any]) -> str:
    return _said(lemma, "name", "id")[:_TITLE]


def _sure(lemma: Mapping[str, Any]) -> float:
    given = lemma.get("confidence")
    return (
        float(given)
        if isinstance(given, int | float)
        and not isinstance(given, bool)
        and 0 <= given <= 1
        else 0.8
    )


def _called(call: Any) -> str:
    return _said(call, "tool", "name", "action")[:_LEMMA_CHARACTERS]


def _went(status: str) -> bool | None:
    """Whether a session succeeded, by its status; None where that is not said."""
    return (
        True
        if status.lower() in _SUCCEEDED
        else False
        if status.lower() in _FAILED
        else None
    )


def _of_events(events: Sequence[Event]) -> _Read:
    """As `_of_state`, of what hooks captured of a session."""
    fixed, broken = _checks(events)
    drafts = [*_rules(events), *(draft for _, draft in fixed)]
    told = " ".join(draft.content for draft in drafts)
    drafts += [draft for draft in _findings(events) if draft.content not in told]
    for family, event in list(broken.items())[-1:]:
        still = (
            f"`{family}` still failed with {error_of(event.body.get('response', ''))}"
            " when the session ended."
        )
        drafts.append(
            InsightDraft("open_problems", family, still, 0.7, "agent", (event.id,))
        )
    checks = [
        event
        for event in events
        if event.kind == "tool_used" and family_of(event.body.get("command", ""))
    ]
    passed = [not failed for failed in map(has_failed, checks) if failed is not None]
    ends = [
        event.body["success"]
        for event in events
        if event.kind == "outcome" and isinstance(event.body.get("success"), bool)
    ]
    went: bool | None = ends[-1] if ends else passed[-1] if passed else None
    failures = [draft.content for draft in drafts if draft.category == "pitfalls"]
    return drafts, failures, [], [pattern for pattern, _ in fixed], went


def _checks(
    events: Sequence[Event],
) -> tuple[list[tuple[Pattern, InsightDraft]], dict[str, Event]]:
    """The checks that failed and passed after edits, each with the calls between and
    the draft of it; and those still failing.
    """
    red = dict[str, tuple[int, Event]]()
    fixed = list[tuple[Pattern, InsightDraft]]()
    for place, event in enumerate(events):
        family = (
            family_of(event.body.get("command", ""))
            if event.kind == "tool_used"
            else ""
        )
        failed = has_failed(event) if family else None
        if failed:
            red.setdefault(family, (place, event))
        elif failed is False and family in red:
            start, first = red.pop(family)
            between = [
                one
                for one in events[start + 1 : place]
                if one.kind == "tool_used" and not has_failed(one)
            ]
            edits = [one for one in between if _edited(one)]
            if edits:
                pattern = Pattern(
                    family,
                    (*_calls(between), f"run {family}"),
                    (first.id, *(one.id for one in edits), event.id),
                )
                fixed.append(
                    (
                        pattern,
                        _fix(
                            family, first, edits, _heard(events[place:]), pattern.events
                        ),
                    )
                )
    return fixed, {family: event for family, (_, event) in red.items()}


def _edited(event: Event) -> list[str]:
    return list((event.body.get("paths") or {}).get("edited") or ())


def _name_of(path: str) -> str:
    """The last name of a path, as it is shown."""
    return quoted_path(kept_path(named_path(path).rpartition("/")[2]))


def _calls(events: Sequence[Event]) -> list[str]:
    """Calls in words: the tool and the files, nothing of what it printed."""
    told = []
    for event in events[:_MOST_CALLS]:
        paths = event.body.get("paths") or {}
        touched = [*(paths.get("edited") or ()), *(paths.get("read") or ())][
            :_MOST_FILES
        ]
        files = ", ".join(map(_name_of, touched))
        done = files or event.body.get("command", "")
        told.append(one_line(f"{event.body['tool']} {done}".strip(), _LEMMA_CHARACTERS))
    return list(dict.fromkeys(told))


def _heard(events: Sequence[Event]) -> tuple[str, str]:
    """What the agent said next of a cause, and the event that holds it; ('', '') where
    it said nothing of it.
    """
    for event in events:
        if event.kind == "turn_ended" and not event.body.get("subagent"):
            said = next(
                (
                    _plain(span.text)
                    for span in sentences_of(event.body["message"])
                    if _CAUSE.search(span.text)
                ),
                "",
            )
            return (said, event.id) if said else ("", "")
    return "", ""


def _fix(
    family: str,
    failed: Event,
    edits: Sequence[Event],
    heard: tuple[str, str],
    events: tuple[str, ...],
) -> InsightDraft:
    files = list(
        dict.fromkeys(_name_of(path) for event in edits for path in _edited(event))
    )
    more = f" and {len(files) - _MOST_FILES} more" if len(files) > _MOST_FILES else ""
    error = error_of(failed.body.get("response", ""))
    told = (
        f"`{family}` failed with {error}; it passed after edits to"
        f" {', '.join(files[:_MOST_FILES])}{more}. {heard[0]}".strip()
    )
    named = (*events, heard[1]) if heard[1] else events
    return InsightDraft(
        "pitfalls" if heard[0] else "proof_strategy",
        family,
        told,
        0.8 if heard[0] else 0.5,
        "agent",
        named,
    )


def _rules(events: Sequence[Event]) -> Iterator[InsightDraft]:
    """What the person ruled for good."""
    for event in events:
        if event.kind == "prompt" and event.body.get("source") == "user":
            for found in directives(event.body["text"]):
                if (
                    found.stands
                    and len(found.subject) >= _FEWEST_WORDS
                    and not _LEANS.match(found.span.text)
                ):
                    yield InsightDraft(
                        "domain_knowledge",
                        "",
                        one_line(found.span.text, _LONG),
                        0.9,
                        "user",
                        (event.id,),
                    )


def _findings(events: Sequence[Event]) -> Iterator[InsightDraft]:
    """What the agent found out: sentences of a cause that name what they are about."""
    for event in events:
        if event.kind == "turn_ended" and not event.body.get("subagent"):
            for span in sentences_of(event.body["message"]):
                if (
                    _CAUSE.search(span.text)
                    and _NAMES.search(span.text)
                    and not span.text.rstrip().endswith("?")
                ):
                    yield InsightDraft(
                        "domain_knowledge",
                        "",
                        _plain(span.text),
                        0.6,
                        "agent",
                        (event.id,),
                    )


def _plain(text: str) -> str:
    """A sentence without stars and on one line."""
    return one_line(text.replace("**", ""), 400)


def _few(drafts: Iterable[InsightDraft]) -> list[InsightDraft]:
    """The first five by confidence, each text once."""
    distinct = {draft.content.lower(): draft for draft in drafts}.values()
    return sorted(distinct, key=lambda draft: -draft.confidence)[:_MOST_DRAFTS]


def _by_model(
    home: Home, drafts: Sequence[InsightDraft], conjecture: str
) -> list[InsightDraft]:
    """What a model makes of them, where one is set and answers with nothing but
    insights; else as they are.
    """
    told = [
        json.dumps(
            {"category": draft.category, "text": draft.content}, ensure_ascii=False
        )
        for draft in drafts
    ]
    asked = [
        _TEXTS["extract"],
        *fence([*told, conjecture[:_CONJECTURE_CHARACTERS]], "session"),
    ]
    answer = ask_model(home, "\n".join(asked)) if drafts else None
    lines = [line for line in (answer or "").splitlines() if line.strip()]
    events = tuple(dict.fromkeys(event for draft in drafts for event in draft.events))
    least = "import" if any(draft.source == "import" for draft in drafts) else "model"
    try:
        found = [
            _drafted(json.loads(line), least, events) for line in lines[:_MOST_DRAFTS]
        ]
    except (ValueError, TypeError, KeyError, RecursionError):
        return list(drafts)
    return found or list(drafts)


def _drafted(told: Any, source: str, events: tuple[str, ...]) -> InsightDraft:
    category, title, content, sure = (
        told[name] for name in ("category", "title", "content", "confidence")
    )
    if category not in CATEGORIES or not (
        isinstance(title, str) and isinstance(content, str) and content.strip()
    ):
        raise ValueError(f"got {told!r:.100}")
    return InsightDraft(
        category,
        one_line(title, _TITLE),
        one_line(content, 400),
        min(max(float(sure), 0.0), 1.0),
        source,
        events,
    )


class SessionProgress(View):
    """Sessions, a row each: seq of the first capture since they were learnt from (0:
    none), of the last, and its time (µs).

    given: seq of the first time since then that the session was given something (0:
    none).
    """

    name = "research_runs"
    code = 1
    kinds = (*_READ_KINDS, "post_run")

    def __init__(self) -> None:
        super().__init__()
        self.sessions = Names()
        self.rows = Table(first="i8", last="i8", at="i8", given="i8")

    def apply(self, events: Sequence[Event]) -> None:
        """Take in captures, and what was learnt from."""
        for event in events:
            if not event.session:
                continue
            if (row := self.sessions.number(f"{event.agent}/{event.session}")) == len(
                self.rows
            ):
                self.rows.add()
            first = int(self.rows["first"][row])
            given = int(self.rows["given"][row])
            if event.kind == "post_run":
                upto = event.body["upto"]
                self.rows.put(
                    row,
                    first=0 if self.rows["last"][row] <= upto else upto + 1,
                    given=0,
                )
            elif event.kind == "recalled":
                self.rows.put(row, given=given or event.seq)
            else:
                self.rows.put(
                    row, first=first or event.seq, last=event.seq, at=event.at
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
    """Learn from a session that is over: statistics of the skills that it was given,
    insights, skills, patterns of calls.

    state: what it proved and where it failed; without one it is read from what was
    captured of it since it was last learnt from. status: such as proved or failed.
    Returns {session_id, status, stats, insights, skills, patterns}: ids and names of
    what is new. All of it is one transaction, and repeating it changes nothing. Raises
    InvalidInput for a session that nobody knows.
    """
    known = RunState.of(state) if isinstance(state, Mapping) else state
    events = _events(home, agent, check_session(session_id))
    if not events and known is None:
        if session_id and _seen(home, agent, session_id):
            return {
                "session_id": session_id,
                "status": status or "",
                "stats": [],
                "insights": [],
                "skills": [],
                "patterns": [],
            }
        raise InvalidInput(
            f"got the session {session_id!r} of {agent}; nothing was captured of it:"
            " give a state, or its name"
        )
    sure = research_settings(home).pattern_confidence
    drafts, failed, done, patterns, went = (
        _of_events(events) if known is None else _of_state(known, source, sure)
    )
    went = went if status is None else _went(status)
    learnt = _Learnt(
        home,
        session_id,
        agent,
        source,
        (known.domain if known else "") or domain,
        events,
    )
    learnt.statistics(went)
    for draft in _by_model(
        home,
        _few(drafts) if known is None else drafts,
        known.conjecture if known else "",
    ):
        learnt.insight(draft)
    learnt.lessons(failed, done, drafts)
    for pattern in patterns:
        learnt.pattern(pattern)
    return learnt.keep(
        status
        or (known.status if known else "")
        or {True: "success", False: "failed", None: ""}[went]
    )


class _Learnt:
    """What one session leaves, until it is kept as one."""

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
        self.domain = checked_domain(domain) or domain_of(home, session) or GENERAL
        self.events, self.at = (
            dict[str, Event](),
            events[-1].at if events else home.clock.now(),
        )
        self.told: dict[str, list[str]] = {
            "stats": [],
            "insights": [],
            "skills": [],
            "patterns": [],
        }

    def statistics(self, went: bool | None) -> None:
        """How the session went, of each skill that it was given."""
        given = {
            item
            for event in self.read
            if event.kind == "recalled"
            for item in event.body["items"]
        }
        if went is None or not given:
            return
        with self.home.views.reading(Skills) as view:
            names = {
                name
                for known in view.names
                if skill_id_of(name := known.partition("\0")[2]) in given
            }
        for name in sorted(names):
            made = skill_outcome_event(
                self.home,
                name,
                went,
                session_id=self.session,
                domain=self.domain,
                agent=self.agent,
            )
            if not self.home.journal.read(ids=[made.id]):
                self.events[made.id] = made
                self.told["stats"].append(name)

    def insight(self, draft: InsightDraft) -> None:
        """Keep an insight, unless it is there."""
        about: dict[str, Any] = {
            "confidence": draft.confidence,
            "domain": self.domain,
            "session_id": self.session,
        }
        about |= {
            "agent": self.agent,
            "source": draft.source,
            "lineage": draft.events,
            "at": self.at,
        }
        if draft.title and draft.category in (
            "pitfalls",
            "proof_strategy",
        ):  # what was open is so no longer
            waiting = insights_of(self.home, self.domain, "open_problems")
            about["replaces"] = [
                one.insight_id
                for one in waiting
                if one.title == draft.title and one.trusted
            ]
        known, events = insight_events(
            self.home, draft.category, draft.title, draft.content, **about
        )
        if events:
            self.events |= {event.id: event for event in events}
            self.told["insights"].append(known)

    def lessons(
        self, failed: Sequence[str], done: Sequence[str], drafts: Sequence[InsightDraft]
    ) -> None:
        """Distill a skill of many failures or successes; it rests on all that the
        drafts do.
        """
        if (
            len(failed) >= self.settings.distill_failures
            or len(done) >= self.settings.distill_successes
        ):
            lines = [f"- Failed: {compressed(text)}" for text in failed[:_EVIDENCE]]
            lines += [f"- Worked: {text}" for text in done[:_EVIDENCE]]
            told = f"What failed and what worked in {self.domain}"
            rests = list(
                dict.fromkeys(event for draft in drafts for event in draft.events)
            )
            self._skill(
                "skills",
                f"lessons-{domain_slug(self.domain).replace('_', '-')}",
                told,
                "\n".join(lines),
                rests,
            )

    def pattern(self, pattern: Pattern) -> None:
        """Keep calls that led to something that held as a skill."""
        if len(pattern.calls) >= self.settings.pattern_calls:
            body = "\n".join(
                f"{number}. {call}"
                for number, call in enumerate(pattern.calls[:_MOST_CALLS], 1)
            )
            slug = (
                re.sub(r"[^a-z0-9]+", "-", pattern.of.lower()).strip("-")[:40]
                or "calls"
            )
            told = f"The calls after which {pattern.of} succeeded"
            self._skill("patterns", f"tool-pattern-{slug}", told, body, pattern.events)

    def _skill(
        self, kind: str, name: str, description: str, body: str, lineage: Sequence[str]
    ) -> None:
        about: dict[str, Any] = {
            "agent": self.agent,
            "source": self.source,
            "lineage": lineage,
            "at": self.at,
        }
        made = skill_event(
            self.home, name.strip("-"), description, body, origin="distilled", **about
        )
        if not is_known(self.home, made):
            self.events[made.id] = made
            self.told[kind].append(made.body["name"])

    def keep(self, status: str) -> dict[str, Any]:
        """Append all of it as one, unless that was done already."""
        last = max((event.seq for event in self.read), default=0)
        made = derived_event_id(
            "post_run",
            self.home.project,
            self.agent,
            self.session,
            last,
            sorted(self.events),
        )
        body: dict[str, Any] = {
            "session_id": self.session,
            "status": one_line(status, 40),
            "domain": self.domain,
            "upto": last,
        }
        body |= {
            "learnt": {name: len(found) for name, found in self.told.items()},
            "source": "agent",
            "project": self.home.project,
        }
        event = new_event(
            "post_run",
            body,
            agent=self.agent,
            session=self.session,
            at=self.home.clock.now(),
            event_id=made,
        )
        if not append_once(self.home.journal, [*self.events.values(), event]):
            self.told = {name: [] for name in self.told}
        return {"session_id": self.session, "status": body["status"], **self.told}


def _seen(home: Home, agent: str, session: str) -> bool:
    with home.views.reading(SessionProgress) as view:
        return view.sessions.find(f"{agent}/{session}") is not None


def _events(home: Home, agent: str, session: str) -> list[Event]:
    """What was captured of a session since it was last learnt from."""
    with home.views.reading(SessionProgress) as view:
        row = view.sessions.find(f"{agent}/{session}")
        first, last, given = (
            (0, 0, 0)
            if row is None
            else (int(view.rows[name][row]) for name in ("first", "last", "given"))
        )
    if not first:
        return []
    found = home.journal.tail(
        min(first, given or first) - 1, kinds=_READ_KINDS, upto=last
    )
    return [
        event for event in found if (event.agent, event.session) == (agent, session)
    ]


class ToolPatternExtractor:
    """Patterns of calls as skills, of a session in a home."""

    def __init__(self, home: Home, agent: str = "main") -> None:
        self.home = home
        self.agent = agent

    def extract_and_save(self, session_id: str) -> list[Skill]:
        """Keep the calls that led to what holds as skills; returns those that are new.
        Raises InvalidInput as `post_run`.
        """
        found = post_run(self.home, session_id, agent=self.agent)
        return [skill_named(self.home, name) for name in found["patterns"]]


def learn_of_session(home: Home, agent: str, session: str) -> None:
    """Learn from a session that ended, where there is something to learn from."""
    if _events(home, agent, session):
        post_run(_where(home, agent, session), session, agent=agent)


def learn_at_night(home: Home, agent: str | None) -> str:
    """Learn from the sessions without a capture for flushIdleHours; a step of the
    night.
    """
    idle_since = home.clock.now() - round(home.settings.flush_idle_hours * _HOUR)
    with home.views.reading(SessionProgress) as view:
        rows = np.flatnonzero(
            (view.rows["first"] > 0) & (view.rows["at"] <= idle_since)
        )
        over = [tuple(view.sessions[row].split("/", 1)) for row in rows.tolist()]
    done = [
        post_run(_where(home, who, session), session, agent=who)
        for who, session in over
        if agent in (None, who)
    ]
    count = {
        name: sum(len(found[name]) for found in done)
        for name in ("insights", "skills", "patterns")
    }
    return (
        f"{len(done)} sessions: {', '.join(f'{n} {name}' for name, n in count.items())}"
    )


def _where(home: Home, agent: str, session: str) -> Home:
    """The home, in the project that a session was about."""
    projects = {
        str(event.body.get("project", "")) for event in _events(home, agent, session)
    }
    return home.in_project(projects.pop()) if len(projects) == 1 else home
