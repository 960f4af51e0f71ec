"""What was said: long conversations with questions and the turns that answer them; statements that later ones correct.

Each turn is captured as it was said: by people among themselves as an observation of a person's, by a person to an
assistant as a prompt, by an assistant as the last message of its turn. Questions are asked once all was said.
What is asked of statements must find the one that holds now.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field

from theorex_lab.clock import MICROSECONDS_PER_DAY, to_microseconds
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data.dataset_files import DATASETS, Content, read_files, read_json, read_json_lines
from theorex_lab.experiments.data.logs import MINUTE, SECOND, UNDATED, Parts, Recorder, informative, moment, part

_SESSION, _TURN = re.compile(r"session_(\d{1,4})\Z", re.ASCII), re.compile(r"D\d+:\d+", re.ASCII)
_ADVERSARIAL = 5  # questions of LoCoMo about what was never said
_INDEX = re.compile(r"\s*->->[\s\d,]*\Z")
_STATEMENT = re.compile(r"(?m)^(\d+)\. (.+?)\.?\s*$")
_EVERY = 15 * MINUTE  # between two statements
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
            at = moment(turn.date_time) if turn.date_time else moment(began) + place * SECOND
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
        log.wrote(number, UNDATED + number * 5 * SECOND, f"{turn.speaker}: {turn.content}", session="meeting")
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
            _chat(log, key, moment(date) + number * SECOND, turn.role, turn.content, f"s{place}")
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
        at += MINUTE
        text = _INDEX.sub("", str(message.get("content", "")))
        _chat(log, message.get("id"), at, str(message["role"]), text, f"s{session}")
    for asked in (asked for kind in read_json(content(questions), dict[str, list[_Asked]]).values() for asked in kind):
        sources = asked.source_chat_ids
        stale = _numbers(sources.get("original_info", []) if isinstance(sources, dict) else [])
        evidence = _numbers(sources) - stale
        if log.ids(evidence):
            log.probe(at + MINUTE, asked.question, evidence, informative(asked.answer, asked.question), stale)


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


class _Fact(BaseModel):
    n: int
    text: str


class _AskedOfFacts(BaseModel):
    question: str
    answers: list[str]
    evidence: list[int]
    stale: list[int]


class _Row(BaseModel):
    fact: _Fact | None = None
    probe: _AskedOfFacts | None = None


def fact_updates() -> Parts:
    """Invented statements, a quarter of an hour apart: 1,000 and 8,000, with 150 and 1,200 questions at the end."""
    for file, text in read_files(DATASETS["fact_updates"]).items():
        yield part(f"fact_updates/{file.removeprefix('facts-').removesuffix('.jsonl')}", _facts, text)


def _facts(log: Recorder, text: Content) -> None:
    rows = read_json_lines(text, _Row)
    facts = [row.fact for row in rows if row.fact]
    for fact in facts:
        log.wrote(fact.n, UNDATED + fact.n * _EVERY, fact.text)
    last = UNDATED + (len(facts) + 1) * _EVERY
    for asked in (row.probe for row in rows if row.probe):
        log.probe(last, asked.question, asked.evidence, tuple(asked.answers), asked.stale)


class _Belief(BaseModel):
    id: Annotated[str, Field(alias="_id")]
    user_id: str
    canonical_name: str
    aliases: list[str]
    content: str
    why_it_matters: str
    pinned: bool
    created_at: str


class _Returned(BaseModel):
    must: Annotated[list[str], Field(alias="mustInclude", default_factory=list)]
    only: Annotated[list[str] | None, Field(alias="shouldOnlyInclude", default=None)]
    never: Annotated[list[str], Field(alias="mustExclude", default_factory=list)]


class _Case(BaseModel):
    query: str
    expect: dict[str, _Returned]  # by part, such as pinnedFacts and relevantBeliefs
    user: Annotated[str, Field(alias="userId", default="")]


def precisionmembench(*, searched: bool = False) -> Parts:
    """precisionMemBench: 35 beliefs of a person, and what must come back for each of its cases and what must not.

    Where a case lists all that is relevant, every other belief is stale but the pinned ones, which may always stand
    there. searched: only what search must find counts as wanted, not what stands in every context. The one case of a user
    without beliefs is left out: nobody tells a memory here who asks.
    """
    files = read_files(DATASETS["precisionmembench"])
    beliefs, cases = files["beliefs.seed.json"], files["retrieval.cases.json"]
    yield part("precisionmembench", _beliefs, beliefs, cases, searched)


def _beliefs(log: Recorder, beliefs: Content, cases: Content, searched: bool = False) -> None:
    known = read_json(beliefs, list[_Belief])
    for number, belief in enumerate(known):
        named = ", ".join([belief.canonical_name, *belief.aliases])
        text = f"{named}: {belief.content} {belief.why_it_matters}"
        agent = "main" if belief.user_id == "test-user" else belief.user_id
        log.wrote(belief.id, to_microseconds(belief.created_at) + number, text, agent=agent)
    last, loose = max(event.at for event in log.events) + 1, {belief.id for belief in known if not belief.pinned}
    for case in read_json(cases, list[_Case]):
        if not case.user:
            relevant = case.expect.get("relevantBeliefs")
            parts = [relevant] if searched and relevant else [] if searched else case.expect.values()
            wanted = {belief for part in parts for belief in [*part.must, *(part.only or ())]}
            never = {belief for part in parts for belief in part.never}
            never |= loose if relevant and relevant.only is not None else set()
            log.probe(last, case.query, wanted, (), never - wanted)


class _About(BaseModel):
    source: str = ""


class _Context(BaseModel):
    context: str
    questions: list[str]
    answers: list[list[str]]
    metadata: _About = _About()


def factconsolidation(path: Path) -> Parts:
    """FactConsolidation of MemoryAgentBench: a JSON list of rows of its split Conflict_Resolution (context, questions, …).

    Statements are numbered, and of two that differ in their end alone the later holds. The set names no evidence: it is
    the last statement that ends with the answer and begins as the question asks; questions over several statements
    (`_mh_`) have words alone.
    """
    for number, row in enumerate(read_json(content(path), list[_Context])):
        yield part(f"factconsolidation/{row.metadata.source or number}", _consolidation, row)


def _consolidation(log: Recorder, row: _Context) -> None:
    stated = [(int(number), text) for number, text in _STATEMENT.findall(row.context)]
    for number, text in stated:
        log.wrote(number, UNDATED + number * _EVERY, f"{text}.")
    last = UNDATED + (stated[-1][0] + 1) * _EVERY
    for question, answers in zip(row.questions, row.answers, strict=True):
        right, stale = ([], []) if "_mh_" in log.name else _told(stated, question, answers)
        log.probe(last, question, right, tuple(answers[:1]), stale)


def _told(stated: Sequence[tuple[int, str]], question: str, answers: Sequence[str]) -> tuple[list[int], list[int]]:
    """The statement that answers a question, and those that begin like it and end otherwise."""
    begun: dict[str, list[int]] = defaultdict(list)
    for number, text in stated:
        if end := next((answer for answer in answers if text.endswith(f" {answer}")), ""):
            begun[text.removesuffix(end)].append(number)
    shared = {start: len({*informative(start)} - {*informative(start, question)}) for start in begun}
    best = max(begun, key=lambda start: (shared[start], begun[start][-1]), default="")
    if not shared.get(best):
        return [], []
    return begun[best][-1:], [number for number, text in stated if text.startswith(best) and number not in begun[best]]
