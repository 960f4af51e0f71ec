"""Read what was said: long conversations, and statements that change.

The conversations come with questions and the turns that answer them; later statements
correct earlier ones. Each turn is captured as it was said, as an observation of a
person's. Questions are asked once all was said. What is asked of statements must find
the one that holds now.
"""

import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from theorex_lab.core.clock import MICROSECONDS_PER_DAY, to_microseconds
from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.datasets.dataset_files import (
    FileContent,
    read_files,
    read_json,
    read_json_lines,
)
from theorex_lab.eval.datasets.dataset_table import DATASETS
from theorex_lab.eval.datasets.recorder import (
    MINUTE,
    SECOND,
    UNDATED,
    Parts,
    Recorder,
    informative,
    part,
)

_SESSION = re.compile(r"session_(\d{1,4})\Z", re.ASCII)
_TURN = re.compile(r"D\d+:\d+", re.ASCII)
_MOMENT = re.compile(
    r"(\d\d?):(\d\d) ([ap])m on (\d\d?) ([A-Z][a-z]+), (\d{4})\Z", re.ASCII
)
_MONTHS = (
    "January February March April May June July August September October November"
    " December".split()
)
_ADVERSARIAL = 5  # questions of LoCoMo about what was never said
_EVERY = 15 * MINUTE  # between two statements
Text = Annotated[
    str, BeforeValidator(lambda value: "" if value is None else str(value))
]


def _numbered_sessions(fields: Any) -> Any:
    """Return the members session_1, session_2, … of a conversation as one.

    Each comes with its time.
    """
    talk = fields.get("conversation") if isinstance(fields, dict) else None
    if not isinstance(talk, dict):
        return fields
    numbers = sorted(int(match[1]) for match in map(_SESSION.match, talk) if match)
    sessions = [
        (talk.get(f"session_{number}_date_time", ""), talk[f"session_{number}"])
        for number in numbers
    ]
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
    """Return LoCoMo: ten conversations of two people over months.

    Args:
        unanswerable: Questions about what was never said are asked too.
    """
    talks: list[_Talk] = read_json(
        read_files(DATASETS["locomo"])["locomo10.json"], list[_NumberedTalk]
    )
    return [
        part(f"locomo/{talk.sample_id}", _talk, talk, unanswerable) for talk in talks
    ]


def moment(text: str) -> int:
    """Return the microseconds of a time as LoCoMo writes it.

    It is taken as UTC, whatever the machine's locale.

    >>> from theorex_lab.core.clock import to_iso
    >>> to_iso(moment("1:56 pm on 8 May, 2023"))
    '2023-05-08T13:56:00.000000Z'
    """
    if not (match := _MOMENT.match(text)) or match[5] not in _MONTHS:
        raise InvalidInput(
            f"got the time {text!r}; allowed are times such as '1:56 pm on 8 May, 2023'"
        )
    hour, minute, half, day, month, year = match.groups()
    date = f"{year}-{_MONTHS.index(month) + 1:02}-{int(day):02}"
    return to_microseconds(
        f"{date}T{int(hour) % 12 + 12 * (half == 'p'):02}:{minute}:00Z"
    )


def _talk(
    log: Recorder,
    talk: _Talk,
    unanswerable: bool = False,
) -> None:
    """Record a conversation, and ask its questions at the end."""
    for number, (began, turns) in enumerate(talk.sessions, start=1):
        for position, turn in enumerate(turns):
            at = moment(began) + position * SECOND
            text = f"{turn.speaker}: {turn.text}"
            log.wrote(
                turn.dia_id,
                at,
                text,
                session=f"s{number}",
            )
    last = max(event.at for event in log.events) + 1
    for question in talk.qa:
        evidence: list[str] = []
        for text in question.evidence:
            evidence += _TURN.findall(text)
        is_answerable = question.category != _ADVERSARIAL
        if log.ids(evidence) and (unanswerable or is_answerable):
            answer_words = informative(question.answer, question.question)
            log.probe(last, question.question, evidence, words=answer_words)


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
    """Return QMSum: 35 real meetings.

    Queries ask about a part of one, for the turns that people marked. The time of a
    meeting is not known. The answers are summaries in words of their own, so that no
    words are asked for.
    """
    meetings = read_json_lines(read_files(DATASETS["qmsum"])["val.jsonl"], _Meeting)
    return [
        part(f"qmsum/{number}", _meeting, meeting)
        for number, meeting in enumerate(meetings)
    ]


def _meeting(log: Recorder, meeting: _Meeting) -> None:
    """Record a meeting, and ask its queries a day later."""
    for number, turn in enumerate(meeting.meeting_transcripts):
        at = UNDATED + number * 5 * SECOND
        log.wrote(
            number,
            at,
            f"{turn.speaker}: {turn.content}",
            session="meeting",
        )
    for query in meeting.specific_query_list:
        turns: list[int] = []
        for first, last in query.relevant_text_span:
            turns += range(first, last + 1)
        log.probe(UNDATED + MICROSECONDS_PER_DAY, query.query, turns)


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
    """Return invented statements, a quarter of an hour apart.

    There are 1,000 and 8,000 of them, with 150 and 1,200 questions at the end.
    """
    for file, text in read_files(DATASETS["fact_updates"]).items():
        yield part(
            f"fact_updates/{file.removeprefix('facts-').removesuffix('.jsonl')}",
            _facts,
            text,
        )


def _facts(log: Recorder, text: FileContent) -> None:
    """Record the statements of a file, and ask its questions at the end."""
    rows = read_json_lines(text, _Row)
    facts = [row.fact for row in rows if row.fact]
    for fact in facts:
        log.wrote(
            fact.n,
            UNDATED + fact.n * _EVERY,
            fact.text,
        )
    last = UNDATED + (len(facts) + 1) * _EVERY
    for row in rows:
        question = row.probe
        if question:
            log.probe(
                last,
                question.question,
                question.evidence,
                words=tuple(question.answers),
                stale=question.stale,
            )


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
    """Return precisionMemBench: 35 beliefs of a person, and its cases.

    A case says what must come back and what must not. Where it lists all that is
    relevant, every other belief is stale but the pinned ones, which may always stand
    there. The one case of a user without beliefs is left out: nobody tells a memory
    here who asks.

    Args:
        searched: Only what search must find counts as wanted, not what stands in every
            context.
    """
    files = read_files(DATASETS["precisionmembench"])
    beliefs = files["beliefs.seed.json"]
    cases = files["retrieval.cases.json"]
    yield part("precisionmembench", _beliefs, beliefs, cases, searched)


def _beliefs(
    log: Recorder, beliefs: FileContent, cases: FileContent, searched: bool = False
) -> None:
    """Record the beliefs, and ask its cases of them."""
    all_beliefs = read_json(beliefs, list[_Belief])
    for number, belief in enumerate(all_beliefs):
        _write_belief(log, number, belief)
    last = max(event.at for event in log.events) + 1
    unpinned_ids = {belief.id for belief in all_beliefs if not belief.pinned}
    for case in read_json(cases, list[_Case]):
        if case.user:
            continue
        answers, stale = _expected_ids(case, searched)
        relevant = case.expect.get("relevantBeliefs")
        if relevant and relevant.only is not None:
            stale |= unpinned_ids
        log.probe(last, case.query, answers, stale=stale - answers)


def _write_belief(
    log: Recorder,
    number: int,
    belief: _Belief,
) -> None:
    """Record a belief under its names; of equal times the number decides."""
    names = ", ".join([belief.canonical_name, *belief.aliases])
    text = f"{names}: {belief.content} {belief.why_it_matters}"
    agent = "main" if belief.user_id == "test-user" else belief.user_id
    at = to_microseconds(belief.created_at) + number
    log.wrote(belief.id, at, text, agent=agent)


def _expected_ids(case: _Case, searched: bool) -> tuple[set[str], set[str]]:
    """Return the ids that a case wants, and those that it must not get."""
    answers: set[str] = set()
    stale: set[str] = set()
    for expected in _expected_parts(case, searched):
        answers.update(expected.must)
        answers.update(expected.only or ())
        stale.update(expected.never)
    return answers, stale


def _expected_parts(case: _Case, searched: bool) -> list[_Returned]:
    """Return the parts of a context that count, with `searched` those of a search."""
    if not searched:
        return list(case.expect.values())
    relevant = case.expect.get("relevantBeliefs")
    return [relevant] if relevant else []
