"""The kinds of events that the journal knows of itself.

Each says what an event tells, and what its body holds. A design declares its own in the
same form, see `theorex_lab.memory.contract.Design.kinds`. Kinds and fields keep their
names for ever; where a field is new, or means something else, the version is raised and
`journal.event.UPCASTERS` has what reads the older one. A field is needed where those
who write it always write it and a reader takes it for granted, else it ends with `?`.
Standard library only, and cheap to import: agents start a process for every event.
"""

from __future__ import annotations

from theorex_lab.journal.shapes import (
    AMOUNT,
    COUNT,
    FILLED,
    SHARE,
    TIME,
    FieldRule,
    Kind,
    one_of,
    row,
)

# Whose words something is: the keys of `memory.observation.TRUST`.
SOURCE = one_of("import", "tool", "model", "agent", "user")
_PROJECT_CHARACTERS = 64
_PROJECT_SIGNS = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
)


def _is_project(name: str) -> bool:
    """Return whether a text may name a project, as `core.project` has it.

    Files are named by it.
    """
    if name == "":
        return True
    return len(name) <= _PROJECT_CHARACTERS and _PROJECT_SIGNS.issuperset(name)


PROJECT = FieldRule(str, "up to 64 of A-Z a-z 0-9 . _ -", _is_project)
# A concept in a text: its id, its label, the words that it had there, and how often.
CONCEPT = row(int, str, str, COUNT)
# A score, None where it was not given.
_SCORE = (SHARE, None)
# An amount, None where it is not known.
_KNOWN = (AMOUNT, None)
_TEXT_OR_NONE = (str, None)
# A number of a file system, None where there was none to ask.
_NUMBER_OR_NONE = (int, None)
# How one model of a chain did: see `dispatch.llm.Attempt`.
_ATTEMPT = {
    "model": str,
    "success": bool,
    "latency_ms": _KNOWN,
    "tokens": _KNOWN,
    "cost": _KNOWN,
    "error?": _TEXT_OR_NONE,
    "unavailable?": bool,
    "prompt_tokens?": _KNOWN,
    "completion_tokens?": _KNOWN,
}
# Of a part of a document: its id, kind, name and text, the number of its line, and
# links: how, and to what.
_PART = row(str, str, str, str, int, [row(str, str)])
# What a person says of an item, or of a line of a briefing. A line has its section and
# its words with it, by which it is known again; an item the line that it makes.
_ITEM_MARK = {
    "item": FILLED,
    "undo": bool,
    "source?": SOURCE,
    "project?": PROJECT,
    "line?": {"section": FILLED, "text": FILLED},
    "item_text?": str,
}

KINDS = {
    "observation": Kind(
        2,
        "a text that was written, with the concepts extracted from it",
        {
            "text": str,
            "type": str,
            "source": SOURCE,
            "tags": [str],
            "concepts": [CONCEPT],
            "sentiment": float,
            "weight": AMOUNT,
            "project?": PROJECT,
            "extractor?": object,
            "refused?": [int],
            "counted?": bool,
            "faded?": [int],
        },
    ),
    "tool_used": Kind(
        2,
        "a tool call of an agent: name, previews of input and response, ok, paths,"
        " command, where it began or what it moved, project",
        {
            "tool": str,
            "source": SOURCE,
            "input?": str,
            "response?": str,
            "ok?": (bool, None),
            "command?": str,
            "paths?": {"read?": [str], "edited?": [str]},
            "folder?": str,
            "moves?": [[str]],
            "project?": PROJECT,
            "trace_id?": str,
            "subagent?": bool,
        },
        paths="paths",
    ),
    "prompt": Kind(
        2,
        "what a person asked of an agent, in which project",
        {"text": str, "source": SOURCE, "project?": PROJECT, "subagent?": bool},
    ),
    "turn_ended": Kind(
        2,
        "the agent, or one that it had started, finished an answer; its last message",
        {
            "message": str,
            "source": SOURCE,
            "subagent?": bool,
            "project?": PROJECT,
            "transcript_bytes?": (COUNT, None),
        },
    ),
    "turn_message": Kind(
        1,
        "the last message of a turn whose end did not hold it, as a transcript has it",
        {"text": str, "turn?": str, "source": SOURCE, "project?": PROJECT},
    ),
    "compacting": Kind(
        1,
        "the agent is about to summarize what it has in its context",
        {"trigger?": str, "project?": PROJECT, "source?": SOURCE},
    ),
    "session_ended": Kind(
        2,
        "the session is over; its tool events may be processed",
        {"project?": PROJECT, "source?": SOURCE},
    ),
    "recalled": Kind(
        1,
        "what of the memory was given to an agent: how, for which query, which items,"
        " how many tokens",
        {
            "how": str,
            "query?": str,
            "items": [str],
            "tokens": COUNT,
            "project?": PROJECT,
        },
    ),
    "card_rewritten": Kind(
        1,
        "a model worded lines of a session's card: which event and text each line"
        " has that it was shown, and of its answer what held and why the rest did not",
        {
            "model": FILLED,
            "source": SOURCE,
            "asked": [row(FILLED, FILLED)],
            "lines": [{"of": [COUNT], "text": FILLED}],
            "refused": [str],
            "tokens": COUNT,
            "project?": PROJECT,
        },
    ),
    "document": Kind(
        1,
        "a file that was taken in: its parts and links, those that they replace, where"
        " it was moved from",
        {
            "file": str,
            "hash": str,
            "parts": [_PART],
            "gone": [str],
            "source": SOURCE,
            "project?": PROJECT,
            "moved_from?": str,
        },
    ),
    "pinned": Kind(
        1,
        "a person wants an item or a line to come first; with `undo`, no longer",
        _ITEM_MARK,
    ),
    "dismissed": Kind(
        1, "a person wants an item to come back no more; with `undo`, again", _ITEM_MARK
    ),
    "corrected": Kind(
        1,
        "a person's text in the place of an item's; with `undo`, the item's own again",
        {**_ITEM_MARK, "text?": str},
    ),
    "trusted": Kind(
        1,
        "a person makes a statement a standing rule of theirs; with `undo`, no longer",
        _ITEM_MARK,
    ),
    "erasure": Kind(
        2,
        "ids of the events whose bodies were erased, and of each kind the lowest seq"
        " among them",
        {"ids": [str], "first_seqs?": ({str: COUNT}, None)},
    ),
    "lost": Kind(1, "stands where a salvage found no sound event", {}),
    "salvaged": Kind(
        1,
        "what a salvage kept and lost of a damaged journal, as ranges of seqs",
        {
            "events": COUNT,
            "lost": [row(COUNT, COUNT)],
            "set_aside?": str,
            "problems?": [str],
        },
    ),
    "archived": Kind(
        2,
        "raw events whose bodies were moved into segment files",
        {"before": int, "events": COUNT, "segments": [{"name": str, "events": COUNT}]},
    ),
    "trace_started": Kind(
        3,
        "a model is about to be called: trace_id, task, route, owner process,"
        " outcome_id, project",
        {
            "trace_id": FILLED,
            "task": str,
            "query_type": str,
            "model": _TEXT_OR_NONE,
            "tags": [str],
            "reasons": [str],
            "context_pct?": AMOUNT,
            "query_tokens?": COUNT,
            "outcome_id": _TEXT_OR_NONE,
            "owner": ({"lock?": object}, None),
            "lost_after_seconds?": AMOUNT,
            "project?": PROJECT,
            "source?": SOURCE,
        },
    ),
    "trace_ended": Kind(
        3,
        "how that call went, or that its process died: success, model, tokens by part,"
        " latency, attempts",
        {
            "trace_id": FILLED,
            "success": bool,
            "lost": bool,
            "model?": str,
            "tokens?": _KNOWN,
            "prompt_tokens?": _KNOWN,
            "completion_tokens?": _KNOWN,
            "latency_ms?": _KNOWN,
            "error?": _TEXT_OR_NONE,
            "response?": str,
            "attempts": [_ATTEMPT],
            "unavailable?": bool,
            "query_type": str,
            "outcome_id?": _TEXT_OR_NONE,
            "source?": SOURCE,
        },
    ),
    "task_submitted": Kind(
        2,
        "an agent asks another for work",
        {
            "task_id": FILLED,
            "step": COUNT,
            "from": str,
            "to": str,
            "type": str,
            "payload": object,
            "project?": PROJECT,
        },
    ),
    "task_claimed": Kind(
        1,
        "a worker took a task, for as long as its lease lasts",
        {
            "task_id": FILLED,
            "step": COUNT,
            "worker": str,
            "attempt": COUNT,
            "lease_until": TIME,
        },
    ),
    "task_ended": Kind(
        1,
        "a task was completed, or failed",
        {
            "task_id": FILLED,
            "step": COUNT,
            "worker": str,
            "state": one_of("completed", "failed"),
            "result": object,
        },
    ),
    "outcome": Kind(
        2,
        "how something that an agent decided went, with the scores that were given at"
        " once",
        {
            "decision": str,
            "result": str,
            "success": bool,
            "tags": [str],
            "concepts": [int],
            "source": SOURCE,
            "explicit?": _SCORE,
            "thumbs?": _SCORE,
            "judge?": _SCORE,
            "project?": PROJECT,
            "trace_id?": _TEXT_OR_NONE,
            "decided_at?": _TEXT_OR_NONE,
            "answer?": {"query_type": str, "model": str, "at": int},
            "reviewed?": bool,
        },
    ),
    "outcome_scored": Kind(
        1,
        "a later score of an outcome: a judge's, or a person's correction",
        {
            "outcome_id": FILLED,
            "success?": (bool, None),
            "explicit?": _SCORE,
            "thumbs?": _SCORE,
            "judge?": _SCORE,
            "reason?": _TEXT_OR_NONE,
            "model?": _TEXT_OR_NONE,
        },
    ),
    "reviewed": Kind(
        2,
        "a failure was reviewed: decisive step and how sure, class, fix, and the"
        " observation that holds it",
        {
            "outcome_id": FILLED,
            "trace_id?": _TEXT_OR_NONE,
            "score?": float,
            "confidence?": _SCORE,
            "fix_description?": str,
            "decisive_step?": (int, None),
            "failure_class?": str,
            "model_used?": str,
            "observation_id?": _TEXT_OR_NONE,
        },
    ),
    "review_failed": Kind(
        2,
        "a reviewer did not answer, or said nothing that could be used; the failure"
        " waits for others",
        {
            "outcome_id": FILLED,
            "trace_id?": _TEXT_OR_NONE,
            "model_used": str,
            "problem": str,
            "reply": str,
            "reviewer": str,
        },
    ),
    "policy": Kind(
        1,
        "a policy was kept whole: its number, settings and metrics",
        {
            "number": COUNT,
            "settings": {str: object},
            "metrics": {str: object},
            "reason": str,
            "parent": (COUNT, None),
        },
    ),
    "gated": Kind(
        1,
        "a proposed policy was accepted, refused or held, on these scores",
        {
            "number": COUNT,
            "part": str,
            "decision": one_of("accept", "refuse", "hold"),
            "before": (float, None),
            "after": (float, None),
            "n": COUNT,
            "proposed": {str: object},
            "margin": float,
            "policy": (COUNT, None),
            "evidence": str,
            "against": str,
            "result": str,
        },
    ),
    "heard": Kind(
        1,
        "what another home's file tells of its tasks, policies or reviews: history,"
        " which no view takes in",
        {},
    ),
    "lease": Kind(
        1,
        "who tends the home, and until when: taken, renewed or, with `released`, given"
        " back",
        {"owner": str, "expires_at": TIME, "released": bool},
    ),
    "project_bound": Kind(
        1,
        "a project's id was bound to a place: its folder, its git directory with device"
        " and inode, when it was made",
        {
            "project": PROJECT,
            "path": str,
            "git": str,
            "device?": _NUMBER_OR_NONE,
            "inode?": _NUMBER_OR_NONE,
            "born?": _NUMBER_OR_NONE,
            "folder?": _NUMBER_OR_NONE,
        },
    ),
    "project_roots": Kind(
        1,
        "the first commits of a project's repository, by which another project may be"
        " the same one's",
        {"project": PROJECT, "roots": [str]},
    ),
    "projects_merged": Kind(
        1,
        "all that is of the project `from` is of another one",
        {"project": PROJECT, "from": PROJECT},
    ),
    "nightly": Kind(
        2,
        "the steps of one maintenance and how each ended, how many fixes it wrote, what"
        " the acceptance test decided",
        {
            "steps": [{"name": str, "ok": bool, "seconds": AMOUNT, "detail": str}],
            "fixes": (COUNT, None),
            "gate": [{str: object}],
            # The seq of the newest event when it began.
            "upto?": COUNT,
            # Which evening of the past it was, the last seq that was captured by then,
            # and how many events were appended with it, right before it.
            "replayed?": {
                "day": int,
                "is_quiet": bool,
                "upto": COUNT,
                "events": COUNT,
            },
        },
    ),
}
