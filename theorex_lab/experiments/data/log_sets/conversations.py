"""Long conversations with questions and the turns that answer them.

Each turn is captured as it was said: by people among themselves as an observation of a person's, by a person to an
assistant as a prompt, by an assistant as the last message of its turn. Questions are asked once all was said.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data.dataset_files import Content, read_files
from theorex_lab.experiments.data.dataset_table import DATASETS
from theorex_lab.experiments.data.log_sets import recorder
from theorex_lab.experiments.data.log_sets.recorder import UNDATED, Parts, Recorder, informative, moment, part
from theorex_lab.experiments.data.parsing.fields import read_json, read_json_lines

_SESSION, _TURN = re.compile(r"session_(\d{1,4})\Z", re.ASCII), re.compile(r"D\d+:\d+", re.ASCII)
_ADVERSARIAL = 5  # questions of LoCoMo about what was never said
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else str(value))]


def _numbered_sessions(fields: Any) -> Any:
    """The members session_1, session_2, … of a conversation as one, each with its time."""
    talk = fields.get("conversation") if isinstance(fields, dict) else None
    if not isinstance(talk, dict):
        return fields
    numbers = sorted(int(match[1]) for match in map(_SESSION.match, talk) if match)
    sessions = [(talk.get(f"session_{number}_date_time", ""), talk[f"session_{number}"]) for number in numbers]
    return {**fields, "sessions": sessions}


class _Said(BaseModel):
    dia_id: str
    speaker: str
    text: Text = ""


class _Question(BaseModel):
    question: str
    evidence: list[str]
    answer: Text = ""
    category: int = 0


class _Talk(BaseModel):
    sessions: list[tuple[str, list[_Said]]]
    qa: list[_Question]
    sample_id: str = ""


_NumberedTalk = Annotated[_Talk, BeforeValidator(_numbered_sessions)]


def locomo(*, unanswerable: bool = False) -> Parts:
    """LoCoMo: ten conversations of two people over months; questions about what was never said are left out unless asked for."""
    talks: list[_Talk] = read_json(read_files(DATASETS["locomo"])["locomo10.json"], list[_NumberedTalk])
    return [part(f"locomo/{talk.sample_id}", _talk, talk, unanswerable) for talk in talks]


def _talk(log: Recorder, talk: _Talk, unanswerable: bool = False) -> None:
    for number, (began, turns) in enumerate(talk.sessions, start=1):
        for place, turn in enumerate(turns):
            at = moment(began) + place * recorder.SECOND
            log.wrote(turn.dia_id, at, f"{turn.speaker}: {turn.text}", session=f"s{number}")
    last = max(event.at for event in log.events) + 1
    for asked in talk.qa:
        turns = [turn for given in asked.evidence for turn in _TURN.findall(given)]
        if log.ids(turns) and (unanswerable or asked.category != _ADVERSARIAL):
            log.probe(last, asked.question, turns, informative(asked.answer, asked.question))


class _Spoken(BaseModel):
    speaker: str
    content: str


class _Query(BaseModel):
    query: str
    relevant_text_span: list[tuple[int, int]]


class _Meeting(BaseModel):
    meeting_transcripts: list[_Spoken]
    specific_query_list: list[_Query]


def qmsum() -> Parts:
    """QMSum: 35 real meetings; queries about a part of one, and the turns that people marked. When is not known.

    The answers are summaries in words of their own, so that no words are asked for.
    """
    meetings = read_json_lines(read_files(DATASETS["qmsum"])["val.jsonl"], _Meeting)
    return [part(f"qmsum/{number}", _meeting, meeting) for number, meeting in enumerate(meetings)]


def _meeting(log: Recorder, meeting: _Meeting) -> None:
    for number, turn in enumerate(meeting.meeting_transcripts):
        log.wrote(number, UNDATED + number * 5 * recorder.SECOND, f"{turn.speaker}: {turn.content}", session="meeting")
    for asked in meeting.specific_query_list:
        spoken = (turn for first, last in asked.relevant_text_span for turn in range(first, last + 1))
        log.probe(UNDATED + MICROSECONDS_PER_DAY, asked.query, spoken)


class _Turn(BaseModel):
    role: Literal["user", "assistant"]
    content: Text
    has_answer: bool | None = None


class _Instance(BaseModel):
    question_id: str
    question: str
    answer: Text
    question_date: str
    haystack_session_ids: list[str]
    haystack_dates: list[str]
    haystack_sessions: list[list[_Turn]]


def longmemeval(path: Path) -> Parts:
    """LongMemEval: a file longmemeval_….json; a log for each question. Those without an answer (`_abs`) are left out."""
    for asked in read_json(content(path), list[_Instance]):
        if not asked.question_id.endswith("_abs"):
            yield part(f"longmemeval/{asked.question_id}", _haystack, asked)


def _haystack(log: Recorder, asked: _Instance) -> None:
    evidence: list[str] = []
    sessions = zip(asked.haystack_dates, asked.haystack_session_ids, asked.haystack_sessions, strict=True)
    for place, (date, _, turns) in enumerate(sessions):
        for number, turn in enumerate(turns):
            key = f"{place}:{number}"
            _chat(log, key, moment(date) + number * recorder.SECOND, turn.role, turn.content, f"s{place}")
            evidence += [key] if turn.has_answer else []
    log.probe(moment(asked.question_date), asked.question, evidence, informative(asked.answer, asked.question))


def _chat(log: Recorder, key: object, at: int, role: str, text: str, session: str) -> None:
    if text.strip():
        (log.asked if role == "user" else log.answered)(key, at, text, session=session)


def content(file: Path) -> Content:
    try:
        return Content(str(file), file.read_bytes())
    except OSError as error:
        raise InvalidInput(f"got {file}, which cannot be read: {error.strerror}; give the set's file") from error
