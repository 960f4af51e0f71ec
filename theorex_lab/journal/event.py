"""Events: what the journal holds.

This says also how a body is written down, and how an old body becomes a current one.
"""

from __future__ import annotations

import json
from collections import namedtuple

from theorex_lab.core.errors import InvalidInput, NewerVersion
from theorex_lab.core.ids import check_agent, check_session, new_event_id
from theorex_lab.journal.kinds import KINDS
from theorex_lab.journal.shapes import Kind, body_check
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
# known. A kind that is not listed is
# skipped by every view.
VERSIONS = {kind: declared.version for kind, declared in KINDS.items()}
# Kind -> what its bodies hold, as a `shapes.Kind` declares it. A kind that is not
# listed may hold anything.
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
    owner = {"lock": body["owner"]} if body.get("owner") else None
    return {**body, "owner": owner, "lost_after_seconds": 86_400.0}


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
    writes = tool_key(tool) in _EDITING
    return {
        "read": [] if writes else list(paths),
        "edited": list(paths) if writes else [],
    }


def _tool_without_result(body: Body) -> Body:
    """Say of a tool call of version 1 that its result is open, and sort its paths.

    Version 1 did not say whether the tool did its work, nor which of its paths it wrote
    to.
    """
    paths = paths_by_use(str(body.get("tool", "")), body.get("paths", ()))
    return {**body, "ok": None, "paths": paths, "command": "", "project": ""}


_OF_NO_PROJECT_YET = "-00000000"  # as `identity.unseen_project` ends
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
    ...     "http://127.0.0.1:1/v1/chat/completions did not answer: ConnectError refused"
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
    failed = [
        not attempt["success"] and tells_no_answer(attempt.get("error"))
        for attempt in body["attempts"]
    ]
    attempts = [
        {**old, "unavailable": lost}
        for old, lost in zip(body["attempts"], failed, strict=True)
    ]
    silent = all(failed) if failed else tells_no_answer(body.get("error"))
    return {
        **body,
        "attempts": attempts,
        "unavailable": silent and not (body["success"] or body["lost"]),
    }


def _tokens_in_one(body: Body) -> Body:
    """Version 2 stated the tokens of prompt and answer in one sum."""
    apart = {"prompt_tokens": None, "completion_tokens": None}
    return {
        **body,
        **apart,
        "attempts": [{**each, **apart} for each in body["attempts"]],
    }


def _segments_without_hash(body: Body) -> Body:
    return {
        **body,
        "segments": [
            {name: old[name] for name in ("name", "events")} for old in body["segments"]
        ],
    }


def without_project(body: Body) -> Body:
    """In the version before, nobody noted in which project it happened."""
    return {**body, "project": ""}


# (kind, v) -> the function that turns a body of version v into one of version v + 1.
UPCASTERS: dict[tuple[str, int], Callable[[Body], Body]] = {
    ("erasure", 1): lambda body: {
        **body,
        "first_seqs": None,
    },  # it may have reached any event before it
    ("tool_used", 1): _tool_without_result,
    # What it said of fixes and of the gate stands in the words of its steps alone.
    ("nightly", 1): lambda body: {**body, "fixes": None, "gate": []},
    ("turn_ended", 1): lambda body: {
        **body,
        "message": "",
        "source": "agent",
        "subagent": False,
        "project": "",
    },
    ("trace_started", 1): _owner_out_of_sight,
    ("trace_started", 2): without_project,
    **{
        (kind, 1): without_project
        for kind in "prompt session_ended observation task_submitted outcome".split()
    },
    # The model alone was named, `unavailable` where none had answered: then nobody has
    # tried.
    ("review_failed", 1): lambda body: {
        **body,
        "reviewer": "" if (by := body["model_used"]) == "unavailable" else by,
    },
    ("reviewed", 1): lambda body: {
        **body,
        "confidence": None,
    },  # what the rules gave was the score, and not calibrated
    ("trace_ended", 1): _no_answer_apart,
    ("trace_ended", 2): _tokens_in_one,
    ("archived", 1): _segments_without_hash,
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
        if (known := VERSIONS.get(kind, version)) != version:
            got = f"got version {version} of the event kind {kind!r}"
            raise InvalidInput(f"{got}; allowed is {known}, which is known already")
        if lacking := [
            step for step in range(1, version) if (kind, step) not in all_upcasters
        ]:
            got = (
                f"got the event kind {kind!r} in version {version}, and nothing that"
                f" reads version {lacking[0]}"
            )
            raise InvalidInput(f"{got}; give an upcaster for each older version")
    for kind, declared in kinds.items():
        if isinstance(declared, Kind) and FIELDS.get(kind) is not declared.fields:
            FIELDS[kind] = declared.fields
            if declared.paths:
                _PATHS_IN[kind] = declared.paths
            _CHECKS.pop(kind, None)
    VERSIONS.update(versions)
    UPCASTERS.update(all_upcasters)


class Event(_EventFields):
    """One event.

    seq: the order in the journal, from 1 (0 before it was appended).  id: UUIDv7,
    unique. at: microseconds UTC.  agent: who it belongs to.  session: '' where there is
    none. kind: a key of VERSIONS.  lineage: ids of the events it was derived from.
    body: JSON, with its version `v`.
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


def segment_of(body: Body) -> str | None:
    """Return the segment file that a body was moved to; None for a whole body.

    A body that was moved is only a stub here.
    """
    return str(body["archived"]) if body.keys() == {"v", "archived", "sha256"} else None


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
    those of paths.

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
    who = check_agent(agent), check_session(session)
    content = {"v": VERSIONS[kind], **visible_value(body)}
    if (member := _PATHS_IN.get(kind)) in body:
        content[member] = body[member]
    if str(content.get("project", "")).endswith(_OF_NO_PROJECT_YET):
        content["project"] = ""
    return Event(
        0, event_id or new_event_id(at), at, *who, kind, tuple(lineage), content
    )


def encode(value: object) -> str:
    """Compact JSON in UTF-8 text.

    Raises InvalidInput for what JSON or UTF-8 cannot hold (NaN, lone surrogates).
    """
    try:
        text = json.dumps(
            value, ensure_ascii=False, separators=(",", ":"), allow_nan=False
        )
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
    if (check := _CHECKS.get(kind)) is None:
        check = _CHECKS[kind] = body_check(FIELDS.get(kind, {}))
    return check(body)


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
            told = f"{type(error).__name__}: {error}"
            return _aside(event, f"its version {version} cannot be read: {told:.100}")
    check = _CHECKS.get(event.kind)
    problem = (
        body_problem(event.kind, event.body) if check is None else check(event.body)
    )
    return _aside(event, problem) if problem else event


# What is left of a body that was erased, by this release and by the first ones.
_ERASED_FORMS = ({"erased", "hmac_sha256"}, {"erased", "sha256"})


def check_event(event: Event) -> None:
    """Refuse an event before it is appended.

    Raises:
        InvalidInput: Its body is not what its kind says.
    """
    if event.kind not in VERSIONS:
        return
    body: object = event.body
    if isinstance(body, dict) and "erased" in body:
        problem = (
            ""
            if body.keys() in _ERASED_FORMS
            else "the field 'erased' is there; allowed is none of this name"
        )
    else:
        problem = readable(event).set_aside
        if problem:
            # What JSON writes as a text or a number may be an object of another type
            # here.
            as_read = json.loads(encode(body))
            problem = readable(event._replace(body=as_read)).set_aside
    if problem:
        got = f"got an event of the kind {event.kind!r} in which {problem}"
        raise InvalidInput(f"{got}; nothing was written")


def _aside(event: Event, problem: str) -> Event:
    """The event with nothing in its body but why it was set aside."""
    return event._replace(body={"erased": 0, "set_aside": problem})
