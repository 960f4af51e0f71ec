"""Declare the events of research tiers, as EurekaClaw has them.

There are episodes, records by key, a graph of theorems, insights by domain, and skills.
"""

from theorex_lab.journal.kinds import PROJECT, SOURCE
from theorex_lab.journal.shapes import (
    AMOUNT,
    COUNT,
    FILLED,
    SEQ,
    SHARE,
    TIME,
    Kind,
    one_of,
)

CATEGORIES = ("domain_knowledge", "proof_strategy", "open_problems", "pitfalls")
RELATIONS = ("uses", "generalizes", "specializes", "contradicts")
ORIGINS = ("seed", "distilled", "manual")  # where a skill came from
GENERAL = "general"  # the domain of what names none
# Before the name of a skill, under which its outcomes are evidence.
SKILL_KEY = "skill:"
_ABOUT = {"source?": SOURCE, "project?": PROJECT}
_SAID = {**_ABOUT, "source": SOURCE}
_SAID.pop("source?")
KINDS = {
    "episode": Kind(
        1,
        "what an agent of a session did, in a line",
        {"agent_role": str, "content": str, "metadata": {str: object}, **_SAID},
    ),
    "session_begun": Kind(
        1,
        "what the session is about; what it leaves stands there",
        {"domain": str, **_ABOUT},
    ),
    "record": Kind(
        1,
        "what is kept under a key; an imported one says when it was first written",
        {
            "record_id": str,
            "key": FILLED,
            "value": object,
            "tags": [str],
            "source_session": str,
            "created_at?": TIME,
            **_SAID,
        },
    ),
    "record_deleted": Kind(
        1, "a key holds nothing any more", {"record_id": str, "key": FILLED, **_ABOUT}
    ),
    "theorem": Kind(
        1,
        "a theorem that was proved",
        {
            "node_id": FILLED,
            "theorem_name": str,
            "formal_statement": str,
            "domain": str,
            "session_id": str,
            "tags": [str],
            **_SAID,
        },
    ),
    "theorem_link": Kind(
        1,
        "how one theorem belongs to another",
        {"from_id": FILLED, "to_id": FILLED, "relation": one_of(*RELATIONS), **_ABOUT},
    ),
    "insight": Kind(
        1,
        "an insight; `replaces`: ids of those that it stands for from now on; `like`:"
        " ids of those that say much of the same",
        {
            "category": one_of(*CATEGORIES),
            "title": str,
            "content": str,
            "confidence": SHARE,
            "domain": str,
            "session_id": str,
            "fingerprint": str,
            "replaces?": [str],
            "like?": [str],
            **_SAID,
        },
    ),
    "skill": Kind(
        1,
        "a skill as it is from now on; `stats`: what an import said of it",
        {
            "name": FILLED,
            "version": str,
            "description": str,
            "body": str,
            "tags": [str],
            "agent_roles": [str],
            "pipeline_stages": [str],
            "origin": one_of(*ORIGINS),
            "stats?": ({"success_rate": SHARE, "usage_count": COUNT}, None),
            **_SAID,
        },
    ),
    "skill_outcome": Kind(
        1,
        "how a session went in which the skill was given",
        {"name": FILLED, "success": bool, "domain": str, "session_id?": str, **_SAID},
    ),
    "post_run": Kind(
        1,
        "what was learnt of a session: numbers by name",
        {
            "session_id": str,
            "status": str,
            "domain": str,
            "upto": SEQ,
            "learnt": {str: COUNT},
            **_SAID,
        },
    ),
    "model_asked": Kind(
        1, "what an answer of a model took", {"model": str, "tokens": AMOUNT, **_ABOUT}
    ),
}
