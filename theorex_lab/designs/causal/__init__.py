"""Declare the events of causal memory, as the GEP memory graph has it.

They say which signals were there, what was tried about them, and what came of it.
"""

from typing import Any

from theorex_lab.journal.kinds import PROJECT, SOURCE
from theorex_lab.journal.shapes import AMOUNT, FILLED, SHARE, Kind

# Signals: their key, as they were given, and the normal form of the first error.
_SIGNAL = {"key": str, "signals": [str], "error_signature?": (str, None)}
# What was observed, by name.
_OBSERVED = ({str: (str, float, bool, None)}, None)
# `line`: as a file of the memory graph has it, where it came from one.
_ABOUT = {
    "source": SOURCE,
    "project?": PROJECT,
    "line?": ({str: object}, None),
}
_ACTION: dict[str, Any] = {
    "drift?": bool,
    "selected_by?": str,
    "selector?": ({str: object}, None),
}
_TRIED: dict[str, Any] = {
    "signal": _SIGNAL,
    "mutation?": ({str: object}, None),
    "personality?": ({"key": str, "state": {str: object}}, None),
    "gene?": ({"id": FILLED, "category?": object}, None),
    "action": {**_ACTION, "id?": FILLED},
    "capsules?": ({"used?": [str]}, None),
    "hypothesis?": ({"id?": str}, None),
    "cause?": str,
    "told?": str,
    **_ABOUT,
}
# An attempt has the id of its action.
_ATTEMPT: dict[str, Any] = {**_TRIED, "action": {**_ACTION, "id": FILLED}}
# What is done, in steps or in one text.
_STEPS = ([str], str, {str: object}, None)
_ASSET = {
    "type": str,
    "id": FILLED,
    "strategy?": _STEPS,
    "summary?": _STEPS,
    "content?": _STEPS,
    "signals_match?": [str],
    "distilled_in?": (str, None),
}
_USED = (AMOUNT, None)
KINDS = {
    "signal_snapshot": Kind(
        1,
        "the signals that were there",
        {"signal": _SIGNAL, "observed?": _OBSERVED, **_ABOUT},
    ),
    "hypothesis": Kind(
        1,
        "what is expected of a gene before it is tried",
        {
            **_TRIED,
            "hypothesis": {
                "id": FILLED,
                "text": str,
                "predicted_outcome?": ({str: object}, None),
            },
            "had_error?": bool,
            "observed?": _OBSERVED,
        },
    ),
    "attempt": Kind(
        1,
        "a gene is tried; `cause`: the event of the failure that it answers, where it"
        " was captured, and `told`: both in words",
        {**_ATTEMPT, "had_error": bool, "observed?": _OBSERVED},
    ),
    "attempt_closed": Kind(
        1,
        "what came of an attempt: the attempt's members, and outcome, confidence,"
        " baseline; latency_ms, tokens, cost",
        {
            **_ATTEMPT,
            "outcome": {
                "status": str,
                "score": (SHARE, None),
                "note?": str,
                "observed?": ({str: object}, None),
            },
            "observed?": _OBSERVED,
            "confidence?": ({str: object}, None),
            "baseline?": _OBSERVED,
            "latency_ms?": _USED,
            "tokens?": _USED,
            "cost?": _USED,
        },
    ),
    "external_candidate": Kind(
        1,
        "what others offer: external, asset, candidate; never counted as evidence",
        {
            "external?": object,
            "asset?": object,
            "candidate?": object,
            "content?": object,
            "source?": SOURCE,
            "project?": PROJECT,
            "line?": ({str: object}, None),
        },
    ),
    "asset": Kind(
        1,
        "a gene or a capsule as it is now: asset {type, id, …}, asset_id, the hash of"
        " its content",
        {"asset": _ASSET, "asset_id?": str, **_ABOUT},
    ),
    "personality": Kind(
        1,
        "parameters as they are now: state {…}, why",
        {"state": {str: object}, "why?": str, **_ABOUT},
    ),
    "graph_kept": Kind(
        1,
        "what a file of the memory graph says and no other event does, as it was read",
        {
            "file": str,
            "record": {str: object},
            "source": SOURCE,
            "project": PROJECT,
        },
    ),
}
# Before the key of signals, under which outcomes are evidence of a gene.
SIGNAL_KEY = "signal:"
SIGNALS = f"causal/{SIGNAL_KEY}"  # as the table of evidence has it
SUCCESS = "success"
FAILED = "failed"
