"""What the research tiers have in search, the evidence that skills yield, and the
settings of the design.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from hashlib import sha256

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.research import GENERAL, SKILL_KEY
from theorex_lab.journal.event import Event, encode
from theorex_lab.memory.contract import OPTION_KEY, EvidenceRun, ItemKind, ItemText

_DOMAIN_CHARACTERS = 30
_DOMAIN_LINE_CHARACTERS = 200
_RECORD_CHARACTERS = 2_000  # of a record that are searched


def domain_slug(domain: str) -> str:
    """Return the name of a domain's folder; `general` without a domain.

    It is in lower case, `_` for what is no word, of up to 30 characters.

    >>> domain_slug("Concentration bounds!"), domain_slug("")
    ('concentration_bounds', 'general')
    """
    slug = re.sub(r"\W+", "_", domain.lower()).strip("_")
    return slug[:_DOMAIN_CHARACTERS].strip("_") or GENERAL


def record_id_of(project: str, key: str) -> str:
    """Return the id of the record with this key in a project.

    A key has one record, whoever writes it and however often.
    """
    return f"rec_{sha256(encode([project, key]).encode()).hexdigest()[:24]}"


def skill_id_of(name: str) -> str:
    """Return the id of the skill of this name."""
    return f"skill_{sha256(name.encode()).hexdigest()[:24]}"


def _record(event: Event) -> Iterable[ItemText]:
    body = event.body
    value = body["value"]
    if not isinstance(value, str):
        value = encode({"": value})[4:-1]  # the JSON of the value alone
    text = f"{body['key']}: {value[:_RECORD_CHARACTERS]}"
    yield ItemText(body["record_id"], text, tuple(body["tags"]))


def _theorem(event: Event) -> Iterable[ItemText]:
    body = event.body
    yield ItemText(
        body["node_id"],
        f"{body['theorem_name']}: {body['formal_statement']}",
        tuple(body["tags"]),
    )


def insight_text(title: str, content: str) -> str:
    """Return an insight in words: its title, unless the content says it, and its content.

    >>> insight_text("Use Hoeffding", "It gives the rate.")
    'Use Hoeffding: It gives the rate.'
    """
    return content if title in content else f"{title}: {content}"


def _insight(event: Event) -> Iterable[ItemText]:
    body = event.body
    yield ItemText(
        event.id, insight_text(body["title"], body["content"]), about=body["domain"]
    )


def _skill(event: Event) -> Iterable[ItemText]:
    body = event.body
    yield ItemText(
        skill_id_of(body["name"]),
        f"{body['name']}: {body['description']}",
        tuple(body["tags"]),
    )


def _ids(name: str) -> Callable[[Event], Iterable[str]]:
    return lambda event: (event.body[name],)


RECORD = ItemKind(
    "record",
    {"record": _record},
    hides={"record": _ids("record_id"), "record_deleted": _ids("record_id")},
)
THEOREM = ItemKind("theorem", {"theorem": _theorem})
INSIGHT = ItemKind(
    "insight",
    {"insight": _insight},
    hides={"insight": lambda event: event.body.get("replaces", ())},
)
SKILL = ItemKind(
    "skill",
    {"skill": _skill},
    hides={"skill": lambda event: (skill_id_of(event.body["name"]),)},
)


def skill_runs(event: Event) -> Iterable[EvidenceRun]:
    """Yield what a session's outcome tells of a skill that it was given.

    It tells it in the session's domain, and wherever the skill was given.
    """
    body = event.body
    if body["source"] != "import":
        for key in (SKILL_KEY + body["domain"], OPTION_KEY):
            yield EvidenceRun(key, skill_id_of(body["name"]), body["success"])


def checked_domain(domain: str) -> str:
    """Return a domain as it is kept.

    Raises:
        InvalidInput: It is not one line of up to 200 characters.
    """
    is_line = isinstance(domain, str) and "\n" not in domain and "\0" not in domain
    if not is_line or len(domain) > _DOMAIN_LINE_CHARACTERS:
        raise InvalidInput(
            f"got the domain {domain!r:.100}; allowed is one line of up to 200 characters"
        )
    return domain.strip()
