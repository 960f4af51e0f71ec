"""Redaction: texts, paths and names of events become tokens that nobody can compute back without the key.

A token has as many small letters as the text, yet at least six: of shorter ones two would soon be the same, and the
length of a short word tells much. Within one key equal texts give equal tokens, so that counts, links and repeats stay.
Kept are numbers, truth values, times and what is listed here: names of members and words of closed lists. What is not
listed is replaced, whatever it is. Ids of concepts and of derived events are hashes of what they stand for, which could
be tried out: they are replaced by others, with the key. Ids that were drawn by chance stay.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from collections.abc import Container, Iterable
from typing import Any

from theorex_lab.config_record import to_camel
from theorex_lab.design import Design
from theorex_lab.evolution.policy import POLICY_SETTINGS
from theorex_lab.ids import CONCEPT_BITS, SCANNER, UUID, derived_event_id
from theorex_lab.journal.event import VERSIONS, Body, Event
from theorex_lab.memory.decay import LAWS, Tier
from theorex_lab.memory.observation import TRUST, TYPES

_SHORTEST_TOKEN = 6
_LETTERS = bytes(ord("a") + byte % 26 for byte in range(256))
_DIGITS = re.compile(r"[0-9]{1,16}")
_EVENT_ID = re.compile(UUID)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_TIERS = frozenset(Tier.__members__)
_CLOSED = {
    ("gated", "decision"): "accept refuse hold", ("gated", "part"): "memory routing", ("compacting", "trigger"): "manual auto",
    ("task_ended", "state"): "completed failed",
    ("recalled", "how"): "session_start search flash_inject boot_aware mcp_search mcp_boot_inject mcp_context",
}  # fmt: skip
# Values of closed lists, by kind and member; those of every kind under ''.
_WORDS: dict[tuple[str, str], Container[str]] = {
    ("", "source"): TRUST, ("", "heard"): TRUST, ("", "decay_law"): LAWS, ("", "tier"): _TIERS,
    ("observation", "type"): TYPES, ("heard", "kind"): VERSIONS,
    **{key: words.split() for key, words in _CLOSED.items()},
}  # fmt: skip
# Members that hold ids of concepts: alone, or as the first so many of a row.
_CONCEPTS = {"concepts": 1, "refused": 0} | dict.fromkeys(_TIERS, 0)
_MEMBERS = frozenset(
    (
        "v erased text type source tags extractor sentiment weight refs counted tool input response paths trace_id project ok "
        "score policy count trust said tier ids first_seqs events lost before segments name sha256 "
        "task query_type model reasons context_pct query_tokens outcome_id owner lock lost_after_seconds success unavailable "
        "tokens latency_ms cost error attempts task_id step to payload result attempt worker lease_until state decision "
        "explicit thumbs judge answer at decided_at reason fix_description decisive_step confidence failure_class model_used "
        "from n observation_id problem reply reviewer agent number settings metrics parent part "
        "after proposed margin evidence against steps seconds detail decay_law "
        "decay_params half_life_days fix_half_life_days active_threshold mild_threshold "
        "read edited command message subagent turn how query items item undo trigger kind id"
    ).split()
) | {*map(to_camel, POLICY_SETTINGS)}


class Redactor:
    """Replaces what events tell by tokens; with the same seed by the same ones, which then whoever knows it can try out."""

    def __init__(self, seed: str | None = None, designs: Iterable[Design] = ()) -> None:
        parts = [design.events for design in designs]
        self._words = _WORDS | {key: words for part in parts for key, words in part.words.items()}
        self._concepts = _CONCEPTS | {name: count for part in parts for name, count in part.concepts.items()}
        self._members = _MEMBERS.union(self._concepts, *(part.members for part in parts))
        self._key = os.urandom(32) if seed is None else hashlib.sha256(seed.encode()).digest()

    def event(self, event: Event) -> Event:
        """The event without what it tells in words; seq, kind, time and numbers stay."""
        return event._replace(
            id=self.event_id(event.id),
            agent=event.agent if event.agent == SCANNER else self.token(event.agent),
            session=self.token(event.session),
            lineage=tuple(map(self.event_id, event.lineage)),
            body=self._body(event.kind, event.body),
        )

    def _body(self, kind: str, body: Body) -> Body:
        """A body without words; what another home said is redacted as what it was."""
        shown: Body = self._value(kind, "", body)
        if kind == "heard" and isinstance(said := body.get("said"), dict):
            shown["said"] = self._body(str(body.get("kind")), said)
        return shown

    def token(self, text: str) -> str:
        """Small letters in the place of a text; '' stays.

        >>> redactor = Redactor("a seed")
        >>> redactor.token("parser.py") == redactor.token("parser.py") != redactor.token("parser.rs")
        True
        """
        if not text:
            return ""
        length = max(len(text), _SHORTEST_TOKEN)
        return hashlib.shake_256(self._hash("text", text)).digest(length).translate(_LETTERS).decode()

    def event_id(self, event_id: str) -> str:
        """The id, where it was drawn by chance; another for one that was derived from what it stands for."""
        return event_id if event_id[14:15] == "7" else derived_event_id(self._hash("event", event_id).hex())

    def _hash(self, what: str, value: object) -> bytes:
        return hmac.digest(self._key, f"{what}\x1f{value}".encode(errors="surrogatepass"), "sha256")

    def _concept(self, concept: int) -> int:
        return int.from_bytes(self._hash("concept", concept)[:8], "big") >> (64 - CONCEPT_BITS)

    def _value(self, kind: str, name: str, value: Any) -> Any:
        """What stands in the place of a value of the member `name`."""
        if isinstance(value, str):
            return self._text(kind, name, value)
        if isinstance(value, dict):
            return {
                self._member(key): self._value(kind, self._below(name, key), member) for key, member in value.items()
            }
        if isinstance(value, list):
            return [self._item(kind, name, element) for element in value]
        return self._concept(value) if name == "concept_id" and type(value) is int else value

    def _item(self, kind: str, name: str, value: Any) -> Any:
        """What stands in the place of a value in a list."""
        ids = self._concepts.get(name)
        if ids is not None and type(value) is int:
            return self._concept(value)
        if ids is not None and isinstance(value, list):
            return [
                *(self._item(kind, name, element) for element in value[:ids]),
                *(self._value(kind, "", element) for element in value[ids:]),
            ]
        return self._value(kind, name, value)

    def _text(self, kind: str, name: str, text: str) -> str:
        if text in self._words.get((kind, name), self._words.get(("", name), ())):
            return text
        if (name == "item" or (kind, name) == ("recalled", "items")) and _DIGITS.fullmatch(text):
            return str(self._concept(int(text)))
        if name.endswith("_at") and _TIME.fullmatch(text):
            return text
        return self.event_id(text) if _EVENT_ID.fullmatch(text) and text[14] in "78" else self.token(text)

    def _member(self, key: str) -> str:
        return key if key in self._members or key in VERSIONS or key == SCANNER else self.token(key)

    def _below(self, name: str, key: str) -> str:
        """What a member of an object counts as: objects by agent or tier below a list of concepts hold such lists too."""
        return key if name not in self._concepts or key == "concept_id" or key in self._concepts else name
