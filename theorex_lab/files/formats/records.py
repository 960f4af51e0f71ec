"""What a record of a file must hold, and the event that it becomes.

A record is a line of events, a trace, an outcome or a sentence.
"""

from contextlib import suppress
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import concept_id
from theorex_lab.core.project import check_project
from theorex_lab.dispatch.bus import CallEnd, CallStart, ToolCall, check_trace_id, clean
from theorex_lab.dispatch.llm import Attempt
from theorex_lab.evolution.outcomes import check_score, outcome_event
from theorex_lab.files.formats import schema
from theorex_lab.files.formats.flat_files import FlatRecord, without_nulls
from theorex_lab.files.formats.reports import ImportOptions
from theorex_lab.journal.event import Event, encode, tells_no_answer
from theorex_lab.memory.observation import (
    DEFAULT_TYPE,
    ObservationEntry,
    check_tags,
    check_text,
    new_observation,
)
from theorex_lab.text.extract import extract
from theorex_lab.text.redact.redaction_scope import kept_text

LABEL_CHARACTERS = 128
TOOL_SESSION = "import:traces"
_MODEL_BYTES = 1_024
_ROW = ("concept_id", "canonical_form", "surface_form", "count")

Count = Annotated[int, schema.whole(1)]
Tone = Annotated[int | float, schema.within(-1, 1)]
Kept = Annotated[schema.Text, AfterValidator(kept_text)]
Project = Annotated[
    schema.Text, AfterValidator(lambda text: check_project(kept_text(text)))
]
_Model = Annotated[
    schema.Text, AfterValidator(lambda text: text and check_text(text, _MODEL_BYTES))
]
# None is what stands for a missing member; nulls are taken out before.
_Amount = Annotated[int | float | None, schema.within(0, schema.LARGEST)]
_Count = Annotated[int | None, schema.whole(0)]
_Error = Annotated[str | None, Field(description="text")]
_Row = Annotated[list[Any], Field(min_length=4, max_length=4)]
_TraceId = Annotated[str, BeforeValidator(check_trace_id)]


class NamedConcept(schema.FileRecord):
    """What names a concept."""

    canonical_form: schema.Text = ""
    surface_form: schema.Text = ""


class StatedRecord(schema.FileRecord):
    """A record of a design, which is an entry of another home's journal."""

    kind: schema.Text
    id: schema.EventId
    timestamp: schema.Time
    agent_id: schema.Agent = "main"
    session_id: schema.Session = ""
    lineage: schema.EventIds
    body: dict[str, Any] = Field(description="an object")


class _Mention(NamedConcept):
    concept_id: schema.ConceptId
    count: Count


class Sentence(schema.FileRecord):
    """A text, and the concepts in it, where these come along."""

    text: Any = ""
    type: schema.Text = DEFAULT_TYPE
    tags: schema.Items
    weight: schema.Share = 1.0
    concepts: list[_Row] = Field(
        [], description="a list of [id, canonical form, surface form, count]"
    )
    sentiment: Tone = 0.0
    extractor: Count = 1
    project: Project = ""


class _Outcome(schema.TimedRecord):
    """A file of an outcome."""

    timestamp: schema.Time = 0
    decision: schema.Text = ""
    result: schema.Text = ""
    success: schema.Truth
    tags: schema.Items
    explicit: Any = Field(None, alias="explicit_score")
    judge: Any = Field(None, alias="judge_score")
    thumbs_up: schema.Truth = False
    concept_ids: schema.Items
    decided_at: schema.Time = 0
    session_id: schema.Text = ""
    reviewed: schema.Truth = False


class _Concepts(schema.FileRecord):
    concept_ids: list[schema.ConceptId]


class _Trace(schema.FileRecord):
    """A file of a trace."""

    trace_id: _TraceId = Field("", alias="id", validate_default=True)
    agent_id: schema.Agent = "main"
    start_time: schema.Time
    task: schema.Text = ""
    query_type: Kept = "general"
    model: _Model = ""
    tags: schema.Items
    reasons: Annotated[
        list[str], Field(default_factory=list, description="a list of texts")
    ]
    context_pct: Annotated[int | float, schema.within(0, 100)] = 0.0
    query_tokens: Annotated[int, schema.whole(0)] = 0
    session_id: schema.Text = ""
    outcome_id: Any = None
    events: schema.Items


class _Attempt(schema.FileRecord):
    """How one model did."""

    model: _Model = ""
    success: schema.Truth
    latency_ms: _Amount = None
    cost: _Amount = None
    tokens: _Count = None
    prompt_tokens: _Count = None
    completion_tokens: _Count = None
    error: _Error = None
    unavailable: schema.Truth = False

    def attempt(self, *, lost: bool = False) -> Attempt:
        """Return how the model did.

        One that failed has no latency, whatever the file says: it would seem the
        fastest.

        Args:
            lost: The process ended during the call, so that the model did not answer.
        """
        success = self.success and not lost
        unavailable = (
            self.given("unavailable", tells_no_answer(self.error)) and not success
        )
        latency_ms = self.latency_ms if success else None
        prompt = self.prompt_tokens
        completion = self.completion_tokens
        tokens = self.tokens
        if tokens is None and prompt is not None and completion is not None:
            tokens = prompt + completion
        return Attempt(
            self.model,
            success,
            latency_ms,
            tokens,
            self.cost,
            self.error,
            unavailable,
            prompt,
            completion,
        )


class _End(_Attempt):
    end_time: schema.Time
    tokens: _Count = Field(None, alias="total_tokens")
    response: schema.Text = ""
    lost: schema.Truth = False
    attempts: schema.Items


class _Tool(schema.FileRecord):
    id: Any = None
    at: schema.Time = 0
    tool: schema.Text = ""
    tool_name: schema.Text = ""


def concept_of(record: FlatRecord, options: ImportOptions) -> tuple[int, str, str]:
    """Return the id, canonical and surface form of a record's concept.

    The id is that of the canonical form, which comes from the surface form where it is
    missing.

    Raises:
        InvalidInput: For a record outside the rules.
    """
    named = schema.checked(NamedConcept, record)
    label = kept_text(named.canonical_form)
    stated_surface = kept_text(named.given("surface_form", label))
    surface = _checked_label(stated_surface, options)
    if "canonical_form" not in record:
        label = _canonical(surface)
    label = _checked_label(label, options)
    # The surface form is what is shown, also once others speak of the concept: a
    # strange file must not choose it freely.
    if not options.trusted:
        plain = " ".join(surface.lower().split())
        if label not in (plain, _canonical(surface)):
            surface = label
    return concept_id(label), label, surface


def _checked_label(label: str, options: ImportOptions) -> str:
    label = check_text(label, options.settings.max_text_bytes)
    if len(label) > LABEL_CHARACTERS:
        description = f"a label of {len(label)} characters, {label[:32]!r}…"
        raise InvalidInput(f"got {description}; allowed are up to {LABEL_CHARACTERS}")
    return label


def _canonical(surface: str) -> str:
    """Return the canonical form of a concept's surface form.

    It is what the extractor makes of the whole, else its lower case.

    >>> _canonical("cache stampedes")
    'cache stampede'
    """
    words = " ".join(surface.split())
    # The article keeps a leading noun from being taken for a verb.
    mentions = extract(f"the {words}")
    is_whole = len(mentions) == 1 and mentions[0].surface == words
    return mentions[0].label if is_whole else words.lower()


def observation_of(
    stated: Sentence,
    options: ImportOptions,
    *,
    agent: str,
    at: int,
    session: str,
    source: str,
) -> Event:
    """Return the event of a sentence.

    Args:
        stated: The sentence as its file has it.
        options: How to read it.
        agent: Whose it is.
        at: When it was said, in µs UTC.
        session: The session that it belongs to, '' for none.
        source: Whose word it is.

    Raises:
        InvalidInput: For a sentence outside the rules.
    """
    stated_text = check_text(stated.text, options.settings.max_text_bytes)
    text = kept_text(stated_text)
    has_concepts = "concepts" in stated.model_fields_set
    if text != stated_text:
        has_concepts = False  # they may be of its secrets
    entry = ObservationEntry(
        "-" if has_concepts else text,
        agent,
        at,
        stated.type,
        source,
        stated.tags,
        session,
        stated.project,
    )
    observation, _ = new_observation(entry, options.settings, options.now)
    body = {
        **observation.body,
        "text": text,
        "weight": stated.given("weight", observation.body["weight"]),
    }
    if has_concepts:
        body["concepts"] = _mentions(stated.concepts, options)
        body["sentiment"] = stated.sentiment
        body["extractor"] = stated.given("extractor", body["extractor"])
    return observation._replace(body=body)


def _mentions(rows: list[list[Any]], options: ImportOptions) -> list[list[Any]]:
    """Return the concepts of a sentence, each with its count."""
    by_id: dict[int, list[Any]] = {}
    for row in rows:
        record = dict(zip(_ROW, row, strict=True))
        stated = schema.checked(_Mention, record)
        if max(len(stated.canonical_form), len(stated.surface_form)) > LABEL_CHARACTERS:
            continue  # the sentence is kept, and found by its words
        concept = concept_of(record, options)
        by_id[concept[0]] = [*concept, stated.count]
    return list(by_id.values())


def _start_of(
    stated: _Trace,
    options: ImportOptions,
    outcome_id: str | None,
) -> CallStart:
    """Return the START of a trace, completed by what its END says.

    Raises:
        InvalidInput: For tags outside the rules.
    """
    first_tag = stated.tags[0] if stated.tags else "general"
    stated_type = stated.given("query_type", first_tag)
    (query_type,) = check_tags([stated_type])
    tags = check_tags([tag for tag in stated.tags if tag != query_type])
    reasons = [kept_text(clean(reason)) for reason in stated.reasons]
    return CallStart(
        stated.trace_id,
        stated.given("agent_id", options.agent),
        stated.start_time,
        stated.task,
        query_type,
        stated.model,
        stated.session_id,
        tuple(map(kept_text, tags)),
        tuple(reasons),
        stated.context_pct,
        stated.query_tokens,
        outcome_id,
    )


def _ended(stated: _End, start: CallStart) -> CallEnd:
    """Return the END of a trace.

    Raises:
        InvalidInput: For an attempt outside the rules.
    """
    final = stated.attempt(lost=stated.lost)
    attempts = list[Attempt]()
    for item in stated.attempts:
        stated_attempt = schema.checked(_Attempt, without_nulls(item))
        attempts.append(stated_attempt.attempt())
    if "attempts" not in stated.model_fields_set and start.model and not stated.lost:
        attempts = [final]
    is_silent = all(attempt.unavailable for attempt in attempts or [final])
    if final.success or stated.lost:
        is_silent = False
    return CallEnd(
        start.trace_id,
        stated.end_time,
        final.success,
        start.model,
        final.tokens,
        final.latency_ms,
        final.error,
        stated.response,
        tuple(attempts),
        stated.lost,
        unavailable=is_silent,
        prompt_tokens=final.prompt_tokens,
        completion_tokens=final.completion_tokens,
    )


def outcome_of(record: FlatRecord, options: ImportOptions) -> Event:
    """Return the event of an outcome's file.

    Only concept ids of our own kind are taken. Other ids mean nothing here; then the
    concepts in the texts are taken.

    Raises:
        InvalidInput: For a record outside the rules.
    """
    stated = schema.checked(_Outcome, record)
    outcome = outcome_event(
        agent=stated.given("agent_id", options.agent),
        decision=stated.decision,
        result=stated.result,
        success=stated.success,
        settings=options.settings,
        at=stated.given("timestamp", options.now),
        tags=stated.tags,
        explicit_score=stated.explicit,
        session=stated.session_id,
        source=options.source(record, "source"),
    )
    body = {**outcome.body, "judge": check_score(stated.judge, "judge's score")}
    thumbs = stated.given("thumbs_up")
    if thumbs is not None:
        body["thumbs"] = float(thumbs)
    with suppress(InvalidInput):
        concepts = schema.checked(_Concepts, record)
        body["concepts"] = list(dict.fromkeys(concepts.concept_ids))
    if "decided_at" in stated.model_fields_set:
        body["decided_at"] = to_iso(stated.decided_at)
    if stated.reviewed:
        body["reviewed"] = True
    named = stated.given("id", encode(record))
    return outcome._replace(id=schema.event_id_of(named, "outcome", named), body=body)


def trace_of(
    record: FlatRecord,
    options: ImportOptions,
    links: dict[str, str],
) -> list[Event]:
    """Return START, tool events and END of a trace's file.

    Those of an open trace are without END.

    Args:
        record: The file.
        options: How to read it.
        links: By the id of a trace, the event of the outcome that names it.

    Raises:
        InvalidInput: For a record outside the rules.
    """
    stated = schema.checked(_Trace, record)
    source = {"source": options.source(record, "source", "model")}
    outcome_id = links.get(stated.trace_id)
    named = stated.given("outcome_id")
    if outcome_id is None and named is not None:
        outcome_id = schema.event_id_of(named, "outcome", named)
    start = _start_of(stated, options, outcome_id)
    steps = [with_members(start.event(), source)]
    for position, item in enumerate(stated.events):
        tool_record = without_nulls(item)
        steps.append(_tool(tool_record, start, position, options))
    if "end_time" in record or "success" in record:
        end = _ended(schema.checked(_End, record), start)
        steps.append(with_members(end.event(start), source))
    return steps


def with_members(event: Event, more: FlatRecord) -> Event:
    """Return the event with these members in its body."""
    return event._replace(body={**event.body, **more})


def _tool(
    record: FlatRecord,
    start: CallStart,
    position: int,
    options: ImportOptions,
) -> Event:
    """Return one tool event.

    Its members have our names, or those that a coding agent's hook gives.
    """
    stated = schema.checked(_Tool, record)
    texts = [_tool_text(record, key) for key in ("input", "response")]
    at = stated.given("at", start.at)
    name = stated.given("tool", stated.tool_name)
    use = ToolCall(start.trace_id, at, name, *texts)
    source = {"source": options.source(record, "source")}
    event = with_members(use.event(start), source)
    id_parts = ("tool used", start.trace_id, position)
    event_id = schema.event_id_of(stated.id, *id_parts)
    return event._replace(id=event_id, session=TOOL_SESSION)


def _tool_text(record: FlatRecord, key: str) -> str:
    """Return what a tool was given or answered, as text."""
    value = record.get(key, record.get(f"tool_{key}", ""))
    return value if isinstance(value, str) else encode(value)
