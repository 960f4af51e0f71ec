"""Lines of a briefing that the memory designs of a home offer.

A design says with its sections which kinds of its lines are whole statements, under
which title they stand, and what they are worth. The module also offers the summaries of
sessions, and lines on ingested files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.memory.annotations import Marks, as_marked
from theorex_lab.memory.briefing.candidates import Candidate, dated, fits_a_line
from theorex_lab.memory.briefing.kept_events import has_events
from theorex_lab.memory.briefing.standing import standing_lines
from theorex_lab.memory.contract import (
    FIXED_KIND,
    BriefingPart,
    ContextLine,
    ContextRequest,
    Design,
    Home,
    Section,
)
from theorex_lab.memory.documents import DOCUMENTS, SUMMARY
from theorex_lab.memory.evidence import success_of
from theorex_lab.memory.observation import FIX_TYPE
from theorex_lab.memory.replaced_texts import StoredText
from theorex_lab.text.line import folded
from theorex_lab.text.wording import content_words, specifics

# What a line is worth whatever its kind and age: one that a person confirmed at least
# this much, one that a person pinned this much.
_CONFIRMED_WEIGHT = 0.9
_PINNED_WEIGHT = 1.0
# How often a fix helped that was given to nobody yet.
_UNPROVEN = 0.5
# The tokens that a design is told it has. It offers as much as it would for these.
_OFFERED_TOKENS = 2_000
# From how many words that a line shares with a prompt it fits it; a path, a name in code
# or a number that both name exactly is enough.
_SHARED_WORDS = 2
# The share of its weight that a line keeps which shares just enough with a prompt. It
# keeps all of it where it shares as many words as `_MANY_SHARED`.
_LEAST_FIT = 0.5
_MANY_SHARED = 6


def design_candidates(
    home: Home, now: int, *, query: str = "", automatic: bool = False
) -> list[Candidate]:
    """Return what the designs of a home say, as lines of a briefing.

    Untrusted lines are left out, and those that are no whole statement that fits on a
    line. What a person dismissed is left out, what was corrected has the new words, and
    what was pinned or confirmed is worth most. A fix is worth the more the oftener it
    helped where it was given.

    Args:
        home: The home. One of a project gives what is of it or of none.
        now: The time of the briefing (µs UTC).
        query: What is asked; with one only what fits it is returned.
        automatic: Whether every design offers also what it learnt of recorded sessions
            by itself, and not only those that are active.
    """
    request = ContextRequest(now, _OFFERED_TOKENS, query)
    pinned = _pinned(home)
    candidates: list[Candidate] = []
    statements: list[StoredText] = []
    designs = home.designs if automatic else home.active
    offered: list[tuple[ContextLine, BriefingPart]] = []
    for design, line, part in _trusted_lines(home, request):
        is_pinned = not pinned.isdisjoint(line.items)
        if not line.automatic or is_pinned or design in designs:
            offered.append((line, part))
    for line, part in _by_success(home, offered):
        is_pinned = not pinned.isdisjoint(line.items)
        candidate = _candidate(line, part, now, is_pinned=is_pinned)
        if fits_a_line(candidate.text):
            candidates.append(candidate)
            statements.append(_stored_text(line, is_vouched=is_pinned))
    standing = standing_lines(candidates, statements)
    if query:
        return list(_fitting(standing, query))
    return standing


def _stored_text(line: ContextLine, *, is_vouched: bool) -> StoredText:
    """Return a design's line as it is compared with newer ones.

    What a person pinned or confirmed gives way to such a line alone.
    """
    return StoredText(
        folded(line.statement),
        line.at,
        trust=int(is_vouched or line.confirmed),
    )


def _trusted_lines(
    home: Home, request: ContextRequest
) -> Iterator[tuple[Design | None, ContextLine, BriefingPart]]:
    """Yield the trusted statements, as a person marked them, and where each stands.

    With each stands the design that offers it, None for what no design does.
    """
    for design, section in _sections(home):
        lines = section.lines(home, request)
        statements = [line for line in lines if line.statement]
        for line in as_marked(home, statements):
            part = section.briefing.get(line.kind)
            if part is not None and line.trusted:
                yield design, line, part


def _by_success(
    home: Home, pairs: Sequence[tuple[ContextLine, BriefingPart]]
) -> Iterator[tuple[ContextLine, BriefingPart]]:
    """Yield the lines, fixes with a weight by how often each helped.

    One that always helps is worth one and a half of an unproven one, one that never
    does half of it.
    """
    fixes: set[str] = set()
    for line, _ in pairs:
        if line.items and line.kind in (FIXED_KIND, FIX_TYPE):
            fixes.add(line.items[0])
    successes = success_of(home, fixes) if fixes else {}
    for line, part in pairs:
        success = _UNPROVEN
        if line.items and line.items[0] in fixes:
            success = successes.get(line.items[0], _UNPROVEN)
        weight = min(1.0, part.weight * (success - _UNPROVEN + 1.0))
        yield line, part._replace(weight=weight)


def _sections(home: Home) -> Iterator[tuple[Design | None, Section]]:
    """Yield the sections that offer a briefing something, and whose each is.

    A design that is not active is asked only where something was recorded of it.
    """
    yield None, SUMMARY
    yield None, DOCUMENTS
    active = home.active
    for design in home.designs:
        if design in active or _has_records(home, design):
            for section in design.sections:
                yield design, section


def _has_records(home: Home, design: Design) -> bool:
    """Return whether there is any event of a design's own kinds.

    One without kinds of its own may have some.
    """
    if not design.sections or not design.kinds:
        return bool(design.sections)
    return has_events(home, tuple(design.kinds))


def _pinned(home: Home) -> frozenset[str]:
    """Return the ids of the items that a person pinned."""
    marks = home.views.get(Marks)
    with marks.lock:
        return frozenset(marks.pinned)


def _candidate(
    line: ContextLine, part: BriefingPart, now: int, *, is_pinned: bool
) -> Candidate:
    """Return the line of a briefing that says what a design's line says."""
    recency = 1.0
    text = folded(line.statement)
    words = content_words(text)
    if line.at:
        age_days = (now - line.at) / MICROSECONDS_PER_DAY
        recency = 0.5 ** (max(age_days, 0.0) / part.half_life_days)
        text = dated(text, line.at)
    weight = part.weight * recency
    why = part.why
    if line.confirmed:
        weight = max(weight, _CONFIRMED_WEIGHT)
        why += ", confirmed by you"
    if is_pinned:
        weight = _PINNED_WEIGHT
        why += ", pinned by you"
    return Candidate(
        section=part.section,
        kind=line.kind,
        text=text,
        weight=weight,
        at=line.at,
        session="",
        words=words,
        events=line.events or line.items,
        why=why,
        features={
            "recency": recency,
            "vouched": float(line.confirmed),
            "pinned": float(is_pinned),
        },
        own_id=line.items[0] if line.items else "",
        is_pinned=is_pinned,
    )


def _fitting(candidates: Iterable[Candidate], query: str) -> Iterator[Candidate]:
    """Yield the lines that share telling words with a prompt, weighed by how many."""
    query_words = content_words(query)
    query_names = frozenset(specifics(query))
    for candidate in candidates:
        n_shared = len(candidate.words & query_words)
        names_the_same = not query_names.isdisjoint(specifics(candidate.text))
        if n_shared < _SHARED_WORDS and not names_the_same:
            continue
        fit = min(1.0, n_shared / _MANY_SHARED)
        share = _LEAST_FIT + (1.0 - _LEAST_FIT) * fit
        yield replace(
            candidate,
            weight=candidate.weight * share,
            why=f"{candidate.why}; {_shared(candidate.words & query_words)}",
        )


def _shared(words: Iterable[str]) -> str:
    return f"it shares with the prompt: {', '.join(sorted(words))}"
