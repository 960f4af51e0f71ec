"""Long conversations with questions and the turns that answer them.

Each turn is captured as it was said: by people among themselves as an observation of a person's, by a person to an
assistant as a prompt, by an assistant as the last message of its turn. Questions are asked once all was said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data.dataset_files import DATASETS, Content, read_files, read_json, read_json_lines
from theorex_lab.experiments.data.log_sets import recorder
from theorex_lab.experiments.data.log_sets.recorder import UNDATED, Parts, Recorder, informative, moment, part

_SESSION, _TURN = re.compile(r"session_(\d{1,4})\Z", re.ASCII), re.compile(r"D\d+:\d+", re.ASCII)
_ADVERSARIAL = 5  # questions of LoCoMo about what was never said
_INDEX = re.compile(r"\s*->->[\s\d,]*\Z")
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else str(value))]


def _numbered_sessions(fields: Any) -> Any:
    """The members session_1, session_2, … as one: of a conversation, or of the chat itself; each with its time."""
    talk = fields.get("conversation", fields) if isinstance(fields, dict) else None
    if not isinstance(talk, dict):
        return fields
    numbers = sorted(int(match[1]) for match in map(_SESSION.match, talk) if match)
    sessions = [(talk.get(f"session_{number}_date_time", ""), talk[f"session_{number}"]) for number in numbers]
    return {**fields, "sessions": sessions}


class _Said(BaseModel):
    dia_id: str
    speaker: str
    text: Annotated[Text, Field(default="", validation_alias=AliasChoices("text", "clean_text"))]
    date_time: str = ""


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


def realtalk(path: Path) -> Parts:
    """REALTALK: a file `Chat_….json` of real messages of two people, or a folder of such files."""
    for file in _files(path, "Chat_*.json"):
        yield part(f"realtalk/{file.stem}", _talk, read_json(content(file), _NumberedTalk))


def _talk(log: Recorder, talk: _Talk, unanswerable: bool = False) -> None:
    for number, (began, turns) in enumerate(talk.sessions, start=1):
        for place, turn in enumerate(turns):
            at = moment(turn.date_time) if turn.date_time else moment(began) + place * recorder.SECOND
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


class _Asked(BaseModel):
    question: str
    answer: Text = ""
    source_chat_ids: Any = None


def beam(path: Path) -> Parts:
    """BEAM: the folder of a chat, with chat.json and probing_questions, or one that holds such folders.

    A question without turns that answer it (abstention) is left out; of an updated fact, the turn that said it first is
    stale.
    """
    folder = path.parent if path.is_file() else path
    for file in _files(path, "**/chat.json"):
        name = f"beam/{file.parent.relative_to(folder).as_posix() or file.parent.name}".removesuffix("/.")
        yield part(name, _beam, file, file.parent / "probing_questions" / "probing_questions.json")


def _beam(log: Recorder, file: Path, questions: Path) -> None:
    at, session = UNDATED, 0
    messages = _found(read_json(content(file), list[Any]), lambda given: isinstance(given, dict) and "role" in given)
    for message in messages:
        if anchor := message.get("time_anchor"):
            at, session = max(at, moment(str(anchor))) if session else moment(str(anchor)), session + 1
        at += recorder.MINUTE
        text = _INDEX.sub("", str(message.get("content", "")))
        _chat(log, message.get("id"), at, str(message["role"]), text, f"s{session}")
    for asked in (asked for kind in read_json(content(questions), dict[str, list[_Asked]]).values() for asked in kind):
        sources = asked.source_chat_ids
        stale = _numbers(sources.get("original_info", []) if isinstance(sources, dict) else [])
        evidence = _numbers(sources) - stale
        if log.ids(evidence):
            log.probe(at + recorder.MINUTE, asked.question, evidence, informative(asked.answer, asked.question), stale)


def _found(given: Any, wanted: Callable[[Any], bool]) -> Iterator[Any]:
    """What is wanted, wherever it stands in lists and objects (batches, plans, turns), in its order."""
    if wanted(given):
        yield given
    elif isinstance(given, dict | list):
        for inner in given.values() if isinstance(given, dict) else given:
            yield from _found(inner, wanted)


def _numbers(given: Any) -> set[int]:
    return {*_found(given, lambda inner: isinstance(inner, int))}


def _files(path: Path, pattern: str) -> list[Path]:
    if not (found := [path] if path.is_file() else sorted(path.glob(pattern))):
        raise InvalidInput(f"got {path}; allowed is a file, or a folder that holds {pattern}")
    return found


def content(file: Path) -> Content:
    try:
        return Content(str(file), file.read_bytes())
    except OSError as error:
        raise InvalidInput(f"got {file}, which cannot be read: {error.strerror}; give the set's file") from error
