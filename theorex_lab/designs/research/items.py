"""Say what the research tiers have in search.

It also says what outcomes of skills are evidence of. Records, theorems, insights and
skills are found by their words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
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
    slug = re.sub(r"\W+", "_", domain.lower())
    slug = slug.strip("_")[:_DOMAIN_CHARACTERS]
    return slug.strip("_") or GENERAL


def record_id_of(project: str, key: str) -> str:
    """Return the id of the record with this key in a project.

    A key has one record, whoever writes it and however often.
    """
    digest = _digest(encode([project, key]))
    return f"rec_{digest}"


def skill_id_of(name: str) -> str:
    """Return the id of the skill of this name."""
    digest = _digest(name)
    return f"skill_{digest}"


def _digest(text: str) -> str:
    """Return the first 24 hexadecimal digits of SHA-256 of a text."""
    return sha256(text.encode()).hexdigest()[:24]


def _record(event: Event) -> Iterable[ItemText]:
    body = event.body
    value = body["value"]
    if not isinstance(value, str):
        value = encode({"": value})[4:-1]  # the JSON of the value alone
    value = value[:_RECORD_CHARACTERS]
    text = f"{body['key']}: {value}"
    tags = tuple(body["tags"])
    yield ItemText(body["record_id"], text, tags)


def _theorem(event: Event) -> Iterable[ItemText]:
    body = event.body
    text = f"{body['theorem_name']}: {body['formal_statement']}"
    tags = tuple(body["tags"])
    yield ItemText(body["node_id"], text, tags)


def insight_text(title: str, content: str) -> str:
    """Return an insight in words.

    It has its title, unless the content says it, and its content.

    >>> insight_text("Use Hoeffding", "It gives the rate.")
    'Use Hoeffding: It gives the rate.'
    """
    if title in content:
        return content
    return f"{title}: {content}"


def _insight(event: Event) -> Iterable[ItemText]:
    body = event.body
    text = insight_text(body["title"], body["content"])
    yield ItemText(event.id, text, subject=body["domain"])


def _skill(event: Event) -> Iterable[ItemText]:
    body = event.body
    skill_id = skill_id_of(body["name"])
    text = f"{body['name']}: {body['description']}"
    tags = tuple(body["tags"])
    yield ItemText(skill_id, text, tags)


def _record_ids(event: Event) -> Iterable[str]:
    return (event.body["record_id"],)


def _replaced_insights(event: Event) -> Iterable[str]:
    replaced_ids: Iterable[str] = event.body.get("replaces", ())
    return replaced_ids


def _skill_ids(event: Event) -> Iterable[str]:
    return (skill_id_of(event.body["name"]),)


RECORD = ItemKind(
    "record",
    {"record": _record},
    hides={
        "record": _record_ids,
        "record_deleted": _record_ids,
    },
)
THEOREM = ItemKind("theorem", {"theorem": _theorem})
INSIGHT = ItemKind(
    "insight",
    {"insight": _insight},
    hides={"insight": _replaced_insights},
)
SKILL = ItemKind(
    "skill",
    {"skill": _skill},
    hides={"skill": _skill_ids},
)


def skill_runs(event: Event) -> Iterable[EvidenceRun]:
    """Yield what a session's outcome tells of a skill that it was given.

    It tells it in the session's domain, and wherever the skill was given.
    """
    body = event.body
    if body["source"] == "import":
        return
    skill_id = skill_id_of(body["name"])
    domain_key = SKILL_KEY + body["domain"]
    for key in (domain_key, OPTION_KEY):
        yield EvidenceRun(key, skill_id, body["success"])


def checked_domain(domain: str) -> str:
    """Return a domain as it is kept.

    Raises:
        InvalidInput: It is not one line of up to 200 characters.
    """
    is_line = isinstance(domain, str) and "\n" not in domain and "\0" not in domain
    if not is_line or len(domain) > _DOMAIN_LINE_CHARACTERS:
        raise InvalidInput(
            f"got the domain {domain!r:.100}; allowed is one line of up to 200"
            " characters"
        )
    return domain.strip()
