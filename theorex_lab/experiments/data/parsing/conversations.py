"""Long conversations with questions and the turns that answer them: LoCoMo and QMSum."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from theorex_lab.clock import to_microseconds
from theorex_lab.experiments.data.dataset_files import Content
from theorex_lab.experiments.data.parsing.fields import Record, json_line_records, json_records, refused

if TYPE_CHECKING:
    import pandas as pd

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_SESSION = re.compile(r"session_(\d{1,4})\Z", re.ASCII)
MONTHS = "January February March April May June July August September October November December".split()
_TIME = re.compile(r"(\d{1,2}):(\d{2}) ([ap]m) on (\d{1,2}) ([A-Z][a-z]+), (\d{4})\Z", re.ASCII)
_AUDITED = re.compile(r"locomo_(\d{1,4})_qa(\d{1,6})\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Turn:
    """id: such as "D1:3", unique in its conversation.  session: from 1.  at: of the session, microseconds, its
    wall-clock time taken as UTC.  image_caption: of the picture shared with the turn, made by a model."""

    id: str
    session: int
    speaker: str
    text: str
    at: int
    image_caption: str | None


@dataclass(frozen=True, slots=True)
class Question:
    """category: a value of CATEGORIES.  answer: None for most adversarial ones.  adversarial_answer: the wrong answer
    that is invited.  evidence: ids of turns that exist.  unresolved: evidence as given that names no turn."""

    text: str
    category: str
    answer: str | None
    adversarial_answer: str | None
    evidence: tuple[str, ...]
    unresolved: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """speakers: the two names.  turns: in order of the sessions."""

    id: str
    speakers: tuple[str, str]
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Locomo:
    """audit: a third party's corrections, a row a question; columns conversation and question (positions, from 0),
    error_type, correct_evidence (tuple of turn ids), correct_answer, reasoning."""

    conversations: tuple[Conversation, ...]
    audit: pd.DataFrame
    licence: str


def locomo(files: Mapping[str, Content], licence: str) -> Locomo:
    """Of the conversations and the audit."""
    conversations = tuple(_conversation(sample) for sample in json_records(files["locomo10.json"]))
    return Locomo(conversations, _audit(files["locomo_audit_errors.json"], conversations), licence)


def _conversation(sample: Record) -> Conversation:
    talk = sample.record("conversation")
    numbers = sorted(int(match[1]) for match in map(_SESSION.match, talk.fields) if match)
    turns = tuple(turn for number in numbers for turn in _session(talk, number))
    ids = {turn.id for turn in turns}
    if len(ids) < len(turns):
        raise refused(talk.place, f"{len(turns) - len(ids)} turns with an id used before", "a dia_id for each turn")
    return Conversation(
        id=sample.text("sample_id"),
        speakers=(talk.text("speaker_a"), talk.text("speaker_b")),
        turns=turns,
        questions=tuple(_question(each, ids) for each in sample.records("qa")),
    )


def _session(talk: Record, number: int) -> list[Turn]:
    name = f"session_{number}_date_time"
    at = _session_time(f"{talk.place}: {name}", talk.text(name))
    return [
        Turn(
            each.text("dia_id"), number, each.text("speaker"), each.text("text"), at, each.optional_text("blip_caption")
        )
        for each in talk.records(f"session_{number}")
    ]


def _session_time(place: str, given: str) -> int:
    """Microseconds. Not strptime, whose names of months follow the locale."""
    match = _TIME.match(given)
    try:
        hour, minute, half, day, month, year = match.groups() if match else ("",) * 6
        if not 1 <= int(hour) <= 12:
            raise ValueError(hour)
        hours = int(hour) % 12 + (12 if half == "pm" else 0)
        return to_microseconds(datetime(int(year), MONTHS.index(month) + 1, int(day), hours, int(minute), tzinfo=UTC))
    except ValueError as error:
        raise refused(place, given, "a time such as '1:56 pm on 8 May, 2023'") from error


def _question(given: Record, ids: set[str]) -> Question:
    category = given.whole("category")
    if category not in CATEGORIES:
        raise refused(f"{given.place}: category", category, "a whole number from 1 to 5")
    evidence = given.texts("evidence")
    return Question(
        text=given.text("question"),
        category=CATEGORIES[category],
        answer=given.optional_text("answer"),
        adversarial_answer=given.optional_text("adversarial_answer"),
        evidence=tuple(each for each in evidence if each in ids),
        unresolved=tuple(each for each in evidence if each not in ids),
    )


def _audit(content: Content, conversations: tuple[Conversation, ...]) -> pd.DataFrame:
    import pandas as pd

    rows: list[tuple[Any, ...]] = []
    for note in json_records(content):
        match = _AUDITED.match(note.text("question_id"))
        place = (int(match[1]), int(match[2])) if match else (-1, -1)
        if not 0 <= place[0] < len(conversations) or place[1] >= len(conversations[place[0]].questions):
            raise refused(f"{note.place}: question_id", note.text("question_id"), "the place of a question")
        described = (note.text("error_type"), note.texts("correct_evidence"))
        rows.append((*place, *described, note.text("correct_answer"), note.text("reasoning")))
    columns = ["conversation", "question", "error_type", "correct_evidence", "correct_answer", "reasoning"]
    return pd.DataFrame(rows, columns=columns)


@dataclass(frozen=True, slots=True)
class MeetingTurn:
    """What one speaker said."""

    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class MeetingQuery:
    """spans: (first, last) positions of the turns that answer it, both included; none for a query about the whole."""

    text: str
    answer: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Meeting:
    """queries: about a part of the meeting.  general_queries: about the whole.  topics: (name, spans) marked by people."""

    turns: tuple[MeetingTurn, ...]
    queries: tuple[MeetingQuery, ...]
    general_queries: tuple[MeetingQuery, ...]
    topics: tuple[tuple[str, tuple[tuple[int, int], ...]], ...]


@dataclass(frozen=True)
class Qmsum:
    """Real meetings, transcribed, with queries and their evidence marked by people."""

    meetings: tuple[Meeting, ...]
    licence: str


def qmsum(content: Content, licence: str) -> Qmsum:
    """Of JSON Lines, a meeting each."""
    return Qmsum(tuple(_meeting(each) for each in json_line_records(content)), licence)


def _meeting(given: Record) -> Meeting:
    turns = tuple(
        MeetingTurn(each.text("speaker"), each.text("content")) for each in given.records("meeting_transcripts")
    )
    return Meeting(
        turns=turns,
        queries=tuple(
            MeetingQuery(each.text("query"), each.text("answer"), _spans(each, len(turns)))
            for each in given.records("specific_query_list")
        ),
        general_queries=tuple(
            MeetingQuery(each.text("query"), each.text("answer"), ()) for each in given.records("general_query_list")
        ),
        topics=tuple((each.text("topic"), _spans(each, len(turns))) for each in given.records("topic_list")),
    )


def _spans(given: Record, n_turns: int) -> tuple[tuple[int, int], ...]:
    spans = []
    for span in given.items("relevant_text_span"):
        whole = (
            isinstance(span, list)
            and len(span) == 2
            and all(str(each).isascii() and str(each).isdigit() for each in span)
        )
        first, last = map(int, span) if whole else (1, 0)
        if not 0 <= first <= last < n_turns:
            raise refused(f"{given.place}: relevant_text_span", span, f"[first, last] turn within 0 to {n_turns - 1}")
        spans.append((first, last))
    return tuple(spans)
