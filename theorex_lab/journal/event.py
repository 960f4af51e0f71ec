"""Events: what the journal holds.

This says also how a body is written down, and how an old body becomes a current one.
"""

from __future__ import annotations

from collections import namedtuple
from functools import lru_cache

from theorex_lab.core import light_json as json
from theorex_lab.core.errors import InvalidInput, NewerVersion
from theorex_lab.core.ids import check_agent, check_session, new_event_id
from theorex_lab.journal.kinds import KINDS
from theorex_lab.journal.shapes import Kind, body_check
from theorex_lab.text.redact.redaction_scope import kept_id
from theorex_lab.text.visible import visible_value

# what type checkers take for true; `typing` and its NamedTuple would cost every hook 7
# ms
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, NamedTuple

    Body = dict[str, Any]

    class _EventFields(NamedTuple):
        seq: int
        id: str
        at: int
        agent: str
        session: str
        kind: str
        lineage: tuple[str, ...]
        body: Body

else:
    Body = dict
    _EventFields = namedtuple("_Fields", "seq id at agent session kind lineage body")

# The version of each kind's body that this release writes; a design makes its own
# known. A kind that is not listed is skipped by every view.
VERSIONS = {kind: declared.version for kind, declared in KINDS.items()}
# Kind -> what its bodies hold, as a `journal.shapes.Kind` declares it. A kind that is
# not listed may hold anything.
FIELDS = {kind: declared.fields for kind, declared in KINDS.items()}
# Kind -> the check of its bodies, made when the first of them is checked.
_CHECKS: dict[str, Callable[[Any], str]] = {}
# What a function raises that reads a body which is not what it should be.
BAD_BODY_ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
# What hooks append as it happens; once flushed it may be archived.
RAW_KINDS = (
    "tool_used",
    "prompt",
    "turn_ended",
    "turn_message",
    "compacting",
    "session_ended",
    "recalled",
)
# The member of a body that holds paths, which are kept character by character.
_PATHS_IN = {kind: declared.paths for kind, declared in KINDS.items() if declared.paths}
_MOST_TOOLS = 256  # whose names are remembered as they are folded
# The tools whose paths were written to; the names are folded as `tool_key` does.
_EDITING = frozenset(
    (
        "edit write multiedit notebookedit applypatch searchreplace writefile editfile"
        " createfile movefile renamefile replace replaceregex replacecontent"
        " replacesymbolbody insertaftersymbol insertbeforesymbol createtextfile"
        " strreplace editblock appendfile"
    ).split()
)


def _owner_out_of_sight(body: Body) -> Body:
    """Forget which lock file an owner has, as version 1 named it.

    On which machine the file was, nobody can tell any more.
    """
    owner = None
    if body.get("owner"):
        owner = {"lock": body["owner"]}
    return {**body, "owner": owner, "lost_after_seconds": 86_400.0}


@lru_cache(_MOST_TOOLS)
def tool_key(tool: str) -> str:
    """Return what agents' names for a tool have in common.

    That is the name without its server, signs between words, and capitals.

    >>> (
    ...     tool_key("MultiEdit"),
    ...     tool_key("apply_patch"),
    ...     tool_key("mcp__files__write_file"),
    ... )
    ('multiedit', 'applypatch', 'writefile')
    """
    return tool.rpartition("__")[2].replace("_", "").replace("-", "").lower()


def paths_by_use(tool: str, paths: Sequence[str]) -> dict[str, list[str]]:
    """Return the paths of a tool call by what the tool does to them.

    They are under `read` or, where the tool writes to them, under `edited`.

    >>> paths_by_use("Write", ["a.py"])
    {'read': [], 'edited': ['a.py']}
    """
    if tool_key(tool) in _EDITING:
        return {"read": [], "edited": list(paths)}
    return {"read": list(paths), "edited": []}


def _tool_without_result(body: Body) -> Body:
    """Say of a tool call of version 1 that its result is open, and sort its paths.

    Version 1 did not say whether the tool did its work, nor which of its paths it wrote
    to.
    """
    paths = paths_by_use(str(body.get("tool", "")), body.get("paths", ()))
    return {**body, "ok": None, "paths": paths, "command": "", "project": ""}


_OF_NO_PROJECT_YET = "-00000000"  # as `journal.identity.unseen_project` ends
# How this toolkit said, before attempts were marked, that no answer came from a
# language model: a regular expression.
_NO_ANSWER = (
    r"no model that fits has a url;[ ]|[^;]* has no url; set models\.|[^;]* takes its"
    r" key from \$|got the model '"
    r"|got the [^;]* model url '|\S+ (?:did not answer: |gave no whole reply within"
    r" |answered in the encoding[ ]"
    r"|answered with (?:the status \d{3}\b|redirects, |something other than a chat"
    r" completion: |broken "
    r"|\w+ that is cut off))"
)


def tells_no_answer(error: str | None) -> bool:
    """Return whether the error of an attempt says that no answer came.

    The error is in this toolkit's own words.

    >>> tells_no_answer(
    ...     "http://127.0.0.1:1/v1/chat/completions did not answer: ConnectError"
    ... )
    True
    >>> (
    ...     tells_no_answer(
    ...         "http://127.0.0.1:1/v1/chat/completions answered with an empty text"
    ...     ),
    ...     tells_no_answer(None),
    ... )
    (False, False)
    """
    import re

    return error is not None and re.match(_NO_ANSWER, error) is not None


def _no_answer_apart(body: Body) -> Body:
    """Mark the attempts that got no answer, which version 1 did not mark.

    Version 1 told a call without any answer from one that failed by the words of its
    errors alone.
    """
    attempts = []
    for attempt in body["attempts"]:
        is_silent = not attempt["success"] and tells_no_answer(attempt.get("error"))
        attempts.append({**attempt, "unavailable": is_silent})
    if attempts:
        nobody_answered = all(attempt["unavailable"] for attempt in attempts)
    else:
        nobody_answered = tells_no_answer(body.get("error"))
    is_over = body["success"] or body["lost"]
    return {
        **body,
        "attempts": attempts,
        "unavailable": nobody_answered and not is_over,
    }


def _tokens_in_one(body: Body) -> Body:
    """Say that the tokens of prompt and answer are not known one by one.

    Version 2 stated them in one sum.
    """
    apart = {"prompt_tokens": None, "completion_tokens": None}
    attempts = [{**attempt, **apart} for attempt in body["attempts"]]
    return {**body, **apart, "attempts": attempts}


def _segments_without_hash(body: Body) -> Body:
    """Leave the name and the number of events of each segment.

    Version 1 had also a hash of its content.
    """
    segments = []
    for segment in body["segments"]:
        segments.append({"name": segment["name"], "events": segment["events"]})
    return {**body, "segments": segments}


def without_project(body: Body) -> Body:
    """Name no project: in the version before, nobody noted where it happened."""
    return {**body, "project": ""}


def _erasure_of_anything(body: Body) -> Body:
    """Leave open what an erasure reached: it may be any event before it."""
    return {**body, "first_seqs": None}


def _maintenance_in_words(body: Body) -> Body:
    """Leave open what maintenance said of fixes and of the acceptance test.

    It stands in the words of its steps alone.
    """
    return {**body, "fixes": None, "gate": []}


def _turn_without_message(body: Body) -> Body:
    """Name no message of a turn's end, and the agent itself as its source."""
    return {
        **body,
        "message": "",
        "source": "agent",
        "subagent": False,
        "project": "",
    }


def _reviewer_by_model(body: Body) -> Body:
    """Name the reviewer of a review that failed.

    The model alone was named, `unavailable` where none had answered: then nobody has
    tried.
    """
    reviewer = body["model_used"]
    if reviewer == "unavailable":
        reviewer = ""
    return {**body, "reviewer": reviewer}


def _review_uncalibrated(body: Body) -> Body:
    """Leave open how sure a review is.

    What the rules gave was the score, and not calibrated.
    """
    return {**body, "confidence": None}


# (kind, v) -> the function that turns a body of version v into one of version v + 1.
UPCASTERS: dict[tuple[str, int], Callable[[Body], Body]] = {
    ("archived", 1): _segments_without_hash,
    ("erasure", 1): _erasure_of_anything,
    ("nightly", 1): _maintenance_in_words,
    ("observation", 1): without_project,
    ("outcome", 1): without_project,
    ("prompt", 1): without_project,
    ("review_failed", 1): _reviewer_by_model,
    ("reviewed", 1): _review_uncalibrated,
    ("session_ended", 1): without_project,
    ("task_submitted", 1): without_project,
    ("tool_used", 1): _tool_without_result,
    ("trace_ended", 1): _no_answer_apart,
    ("trace_ended", 2): _tokens_in_one,
    ("trace_started", 1): _owner_out_of_sight,
    ("trace_started", 2): without_project,
    ("turn_ended", 1): _turn_without_message,
}


def register_kinds(
    kinds: Mapping[str, int | Kind],
    upcasters: Mapping[tuple[str, int], Callable[[Body], Body]] | None = None,
) -> None:
    """Make kinds of events known for as long as the process lives.

    Args:
        kinds: Each kind with a `Kind`, by which its bodies are checked from then on, or
            with the version that is written alone: then they may hold anything.
        upcasters: By kind and version, as in UPCASTERS.

    Raises:
        InvalidInput: A kind is known with another version, or an older version of it
            could not be read. Then none of the kinds becomes known.

    >>> register_kinds({"policy": 1})
    >>> register_kinds({"policy": 2})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    theorex_lab.core.errors.InvalidInput: got version 2 of the event kind 'policy'; ...
    """
    all_upcasters = {**(upcasters or {}), **UPCASTERS}
    versions: dict[str, int] = {}
    for kind, declared in kinds.items():
        version = declared.version if isinstance(declared, Kind) else declared
        versions[kind] = version
        _refuse_other_version(kind, version)
        _refuse_unread_version(kind, version, all_upcasters)
    for kind, declared in kinds.items():
        if isinstance(declared, Kind):
            _declare(kind, declared)
    VERSIONS.update(versions)
    UPCASTERS.update(all_upcasters)


def undeclared_kinds() -> set[str]:
    """Return the known kinds that declare no fields, whose bodies may hold anything."""
    return VERSIONS.keys() - FIELDS.keys()


def _refuse_other_version(kind: str, version: int) -> None:
    """Raise InvalidInput where a kind is known with another version."""
    current = VERSIONS.get(kind, version)
    if current != version:
        got = f"got version {version} of the event kind {kind!r}"
        raise InvalidInput(f"{got}; allowed is {current}, which is known already")


def _refuse_unread_version(
    kind: str,
    version: int,
    upcasters: Mapping[tuple[str, int], Callable[[Body], Body]],
) -> None:
    """Raise InvalidInput where an older version of a kind could not be read."""
    for step in range(1, version):
        if (kind, step) not in upcasters:
            got = (
                f"got the event kind {kind!r} in version {version}, and nothing that"
                f" reads version {step}"
            )
            raise InvalidInput(f"{got}; give an upcaster for each older version")


def _declare(kind: str, declared: Kind) -> None:
    """Make known what the bodies of a kind hold."""
    if FIELDS.get(kind) is declared.fields:
        return
    FIELDS[kind] = declared.fields
    if declared.paths:
        _PATHS_IN[kind] = declared.paths
    _CHECKS.pop(kind, None)


class Event(_EventFields):
    """One event.

    Attributes:
        seq: The order in the journal, from 1 (0 before it was appended).
        id: UUIDv7, unique.
        at: Microseconds UTC.
        agent: Who it belongs to.
        session: '' where there is none.
        kind: A key of VERSIONS.
        lineage: The ids of the events that it was derived from.
        body: JSON, with its version `v`.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     _ = lab.agent("main").write("The till rounds half up")
    ...     [(event.seq, event.agent) for event in lab.journal.tail(0)]
    [(1, 'main')]
    """

    __slots__ = ()

    @property
    def erased(self) -> bool:
        """Whether nothing can be read from the body.

        It was erased, and then holds only `erased` and a hash that nobody can compute
        again; or it was set aside.
        """
        return "erased" in self.body

    @property
    def set_aside(self) -> str:
        """Why the body is not what its kind says, '' where it is.

        Readers are given nothing of a body that is set aside.
        """
        return str(self.body.get("set_aside", "")) if self.erased else ""


_STUB_MEMBERS = {"v", "archived", "sha256"}


def segment_of(body: Body) -> str | None:
    """Return the segment file that a body was moved to; None for a whole body.

    A body that was moved is only a stub here.
    """
    if body.keys() == _STUB_MEMBERS:
        return str(body["archived"])
    return None


def new_event(
    kind: str,
    body: Body,
    *,
    agent: str,
    at: int,
    session: str = "",
    lineage: Sequence[str] = (),
    event_id: str | None = None,
) -> Event:
    """Return an event that is ready to be appended.

    Its body gets the current version of its kind, and loses hidden characters, but for
    those of paths. What its names and its body have of secrets is masked: of the names
    here, of the body when it is appended, see `journal.redaction`.

    Args:
        kind: The kind.
        body: What the event says.
        agent: The agent whose event it is.
        at: When it happened (µs UTC).
        session: The agent's session, '' for none.
        lineage: The ids of the events that it was derived from.
        event_id: The id, None for a new one.

    Raises:
        InvalidInput: The agent or session is outside the rules, or this release does
            not write the kind.

    >>> new_event("erasure", {"ids": []}, agent="main", at=0).body
    {'v': 2, 'ids': []}
    """
    if kind not in VERSIONS:
        raise InvalidInput(
            f"got the event kind {kind!r}; allowed are {', '.join(sorted(VERSIONS))}"
        )
    agent = kept_id(check_agent(agent))
    session = kept_id(check_session(session))
    content = {"v": VERSIONS[kind], **_visible_body(kind, body)}
    member = _PATHS_IN.get(kind)
    if member in body:
        content[member] = body[member]
    project = str(content.get("project", ""))
    if project.endswith(_OF_NO_PROJECT_YET):
        content["project"] = ""
    return Event(
        seq=0,
        id=event_id or new_event_id(at),
        at=at,
        agent=agent,
        session=session,
        kind=kind,
        lineage=tuple(lineage),
        body=content,
    )


def _visible_body(kind: str, body: Body) -> Body:
    """Return a body without hidden characters.

    Raises:
        InvalidInput: It is nested too deeply, or holds itself.
    """
    try:
        visible_body: Body = visible_value(body)
    except RecursionError as error:
        raise InvalidInput(
            f"got a body of the kind {kind!r} that is nested too deeply or holds itself;"
            " allowed are some 400 levels of lists and objects: put what is deeper into"
            " a text"
        ) from error
    return visible_body


def encode(value: object) -> str:
    """Return compact JSON in UTF-8 text.

    Raises:
        InvalidInput: JSON or UTF-8 cannot hold the value (NaN, lone surrogates).
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        if not text.isascii():
            text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        allowed = "JSON values without NaN, in text without lone surrogates"
        raise InvalidInput(
            f"the event cannot be stored: {error}; allowed are {allowed}"
        ) from error
    return text


def upcast(event: Event) -> Event:
    """Return the event with its body at this release's version.

    An erased or unknown one is returned as it is.

    Raises:
        NewerVersion: A newer release wrote it.
    """
    current = VERSIONS.get(event.kind)
    version = event.body.get("v", 1)
    if version == current or current is None or event.erased:
        return event
    if version > current:
        what = (
            f"event {event.id} ({event.kind}) has version {version}, this release reads"
            f" up to {current}"
        )
        raise NewerVersion(f"{what}; install the release that wrote it, or a later one")
    body = event.body
    for step in range(version, current):
        body = {**UPCASTERS[event.kind, step](body), "v": step + 1}
    return event._replace(body=body)


def body_problem(kind: str, body: object) -> str:
    """Return what is wrong with a body of the version that this release writes.

    It is '' where nothing is wrong.

    >>> body_problem("salvaged", {"lost": []})
    "the field 'events' is missing; allowed is a whole number from 0"
    """
    if not isinstance(body, dict):
        return f"the body is {body!r:.60}; allowed is an object"
    check = _CHECKS.get(kind)
    if check is None:
        check = _new_check(kind)
    return check(body)


def _new_check(kind: str) -> Callable[[Any], str]:
    """Make the check of the bodies of a kind, and keep it."""
    fields = FIELDS.get(kind, {})
    check = body_check(fields)
    _CHECKS[kind] = check
    return check


def readable(event: Event) -> Event:
    """Return the event as readers are given it.

    Its body is at this release's version, and set aside where it is not what its kind
    says. An erased one, or one of an unknown kind, comes as it is, where its body is an
    object.

    Raises:
        NewerVersion: A newer release wrote it.

    >>> event = readable(Event(7, "e", 0, "main", "", "lost", (), []))
    >>> event.erased, event.set_aside
    (True, 'the body is []; allowed is an object')
    """
    body: object = event.body
    if not isinstance(body, dict):
        return _aside(event, body_problem(event.kind, body))
    if "erased" in body:
        return event
    version = body.get("v", 1)
    if type(version) is not int or version < 1:
        return _aside(
            event, f"the field 'v' is {version!r:.60}; allowed is a whole number from 1"
        )
    if version != VERSIONS.get(event.kind):
        try:
            event = upcast(event)
        except BAD_BODY_ERRORS as error:
            cause = f"{type(error).__name__}: {error}"
            return _aside(event, f"its version {version} cannot be read: {cause:.100}")
    check = _CHECKS.get(event.kind)
    if check is None:
        check = _new_check(event.kind)
    problem = check(event.body)
    return _aside(event, problem) if problem else event


# What is left of a body that was erased, by this release and by the first ones.
_ERASED_FORMS = ({"erased", "hmac_sha256"}, {"erased", "sha256"})


def check_event(event: Event) -> None:
    """Refuse an event before it is appended.

    Raises:
        InvalidInput: Its body is not what its kind says.
    """
    if event.kind not in VERSIONS or _is_sound(event):
        return
    body: object = event.body
    problem = ""
    if isinstance(body, dict) and "erased" in body:
        if body.keys() not in _ERASED_FORMS:
            problem = "the field 'erased' is there; allowed is none of this name"
    else:
        problem = _unlike_its_kind(event)
        if problem:
            # What JSON writes as a text or a number may be an object of another type
            # here.
            as_read = json.loads(encode(body))
            problem = _unlike_its_kind(event._replace(body=as_read))
    if problem:
        got = f"got an event of the kind {event.kind!r} in which {problem}"
        raise InvalidInput(f"{got}; nothing was written")


def _is_sound(event: Event) -> bool:
    """Return whether a body is one of this release that its kind's check has passed.

    Of any other one `readable` says more.
    """
    body: object = event.body
    if not isinstance(body, dict) or "erased" in body:
        return False
    version = body.get("v")
    if type(version) is not int or version != VERSIONS[event.kind]:
        return False
    check = _CHECKS.get(event.kind)
    return check is not None and not check(body)


def _unlike_its_kind(event: Event) -> str:
    """Return in what a body is not what its kind says, '' where it is."""
    as_given = readable(event)
    return "" if as_given is event else as_given.set_aside


def _aside(event: Event, problem: str) -> Event:
    """Return the event with nothing in its body but why it was set aside."""
    return event._replace(body={"erased": 0, "set_aside": problem})
