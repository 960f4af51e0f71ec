"""Insights: what sessions taught, by domain; each is an event, and a session is given
those that fit what it is about.

What says the same is kept once; what says much of the same is linked, or merged where a
model is set. What was replaced is not given any more, and stays in the journal.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import MICROSECONDS_PER_DAY, to_datetime
from theorex_lab.core.errors import InvalidInput, ModelUnavailable
from theorex_lab.core.ids import derived_event_id
from theorex_lab.core.sections import read_sections
from theorex_lab.designs.research import CATEGORIES, GENERAL
from theorex_lab.designs.research.items import checked_domain, domain_slug, insight_text
from theorex_lab.designs.research.records import checked_source, domain_of
from theorex_lab.designs.research.settings import research_settings
from theorex_lab.journal.base import append_once
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Event, new_event
from theorex_lab.journal.view import View
from theorex_lab.memory.briefing.token_budget import count_tokens
from theorex_lab.memory.contract import DesignApi, Home
from theorex_lab.memory.observation import TRUST, check_text
from theorex_lab.memory.retrieval_log import note_recalled
from theorex_lab.memory.retrieve import Searcher
from theorex_lab.search.lexical import tokenize
from theorex_lab.text.line import NOTICE, fence, folded, one_line
from theorex_lab.text.redact.redaction_scope import kept_text

_ASKED = read_sections(__file__, "prompts.txt")
_TITLE_CHARACTERS = 200
_CONTENT_CHARACTERS = 8_000
_ANSWER_TOKENS = 1_024
_MOST_ALIKE = 5
_MOST_HITS = 100
_SECONDS = 5.0
_TAG = re.compile(r"<(/?memories)")
_OPENED = r"< \1"


Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Insight:
    """What a session taught. fingerprint: of its words.  like: ids of insights that say
    much of the same.
    """

    insight_id: str
    category: str
    title: str
    content: str
    confidence: float
    domain: str
    session_id: str
    fingerprint: str
    source: str
    agent: str
    created_at: datetime
    like: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Title and content in one."""
        return insight_text(self.title, self.content)

    @property
    def trusted(self) -> bool:
        """Whether it is an agent's or a person's own word."""
        return TRUST[self.source] >= TRUST["agent"]


class Insights(View):
    """Insights, a row each: seq, domain (its folder's name) and project (numbers of
    names), confidence, own; gone: another stands for it.

    words: (row, word) of every word of each, by which those alike are found.
    """

    name = "research_insights"
    code = 1
    kinds = ("insight",)

    def __init__(self) -> None:
        super().__init__()
        self.ids, self.domains, self.projects, self.agents, self.vocabulary = (
            Names() for _ in range(5)
        )
        self.categories = Names()
        self.rows = Table(
            seq="i8",
            domain="i4",
            project="i4",
            agent="i4",
            category="i4",
            confidence="f8",
            words="i4",
            gone="?",
        )
        self.words = Table(row="i4", word="i4")

    def _insight(self, event: Event) -> None:
        body = event.body
        row = self.ids.number(event.id)
        found = distinct_words(insight_text(body["title"], body["content"]))
        self.rows.add(
            seq=event.seq,
            domain=self.domains.number(domain_slug(body["domain"])),
            confidence=body["confidence"],
            words=len(found),
            project=self.projects.number(body.get("project", "")),
            agent=self.agents.number(event.agent),
            category=self.categories.number(body["category"]),
        )
        self.words.extend(
            ("row", "word"), [(row, self.vocabulary.number(word)) for word in found]
        )
        for old in body.get("replaces", ()):
            if (number := self.ids.find(old)) is not None:
                self.rows.put(number, gone=True)

    def chosen(
        self, home: Home, domain: str | None = None, category: str | None = None
    ) -> Rows:
        """The rows that are there, of the home's projects or of none, of a domain and a
        category or of any, the oldest first.
        """
        kept = ~self.rows["gone"]
        if home.projects is not None:
            kept &= np.isin(
                self.rows["project"], self.projects.numbers("", *home.projects)
            )
        if domain is not None:
            kept &= np.isin(
                self.rows["domain"], self.domains.numbers(domain_slug(domain))
            )
        if category is not None:
            kept &= np.isin(self.rows["category"], self.categories.numbers(category))
        return np.flatnonzero(kept)

    def overlap(self, words: Sequence[str], rows: Rows) -> dict[str, float]:
        """By id, the share of these words that an insight among the rows holds: |old ∩
        new| / |new|.
        """
        held = np.isin(self.words["word"], self.vocabulary.numbers(*words))
        shared = np.bincount(self.words["row"][held], minlength=len(self.rows))
        return (
            {self.ids[row]: float(shared[row] / len(words)) for row in rows.tolist()}
            if words
            else {}
        )


def distinct_words(text: str) -> list[str]:
    """The stems of a text's words, each once, without stop words."""
    return list(dict.fromkeys(tokenize(text)))


def fingerprint_of(title: str, content: str) -> str:
    """The first 16 hexadecimal digits of SHA-256 over title and content in lower case,
    trimmed.

    >>> fingerprint_of("Use Hoeffding", "It gives the rate.") == fingerprint_of(
    ...     "use hoeffding", "IT GIVES THE RATE. "
    ... )
    True
    """
    return sha256((title + content).strip().lower().encode()).hexdigest()[:16]


def add_insight(
    home: Home, category: str, title: str, content: str, **about: Any
) -> Insight | None:
    """Keep an insight; returns it as it is known then, None where its confidence is
    below the setting insightConfidence.

    about: confidence (.8), domain, session_id, agent, source, lineage, replaces. What
    says the same is there already; what says much of the same is linked with it, or
    merged with it by the setting's model. Raises InvalidInput as `insight_events`.
    """
    known, events = insight_events(home, category, title, content, **about)
    if events and not append_once(
        home.journal, events
    ):  # another process said the same just now
        known, _ = insight_events(home, category, title, content, **about)
    return (
        next(
            (insight for insight in insights_of(home) if insight.insight_id == known),
            None,
        )
        if known
        else None
    )


def insight_events(
    home: Home,
    category: str,
    title: str,
    content: str,
    *,
    confidence: float = 0.8,
    domain: str = "",
    session_id: str = "",
    agent: str = "main",
    source: str = "agent",
    lineage: Sequence[str] = (),
    replaces: Sequence[str] = (),
    at: int | None = None,
) -> tuple[str, list[Event]]:
    """The id under which an insight is known, and what is to be appended for it:
    nothing where it is there already.

    ('', []) where its confidence is too low to be kept. domain: '' is the session's,
    else `general`.  at: µs UTC, now. Raises InvalidInput for another category, a
    confidence outside 0..1, and texts outside the rules.
    """
    if category not in CATEGORIES:
        raise InvalidInput(
            f"got the category {category!r:.60}; allowed are {', '.join(CATEGORIES)}"
        )
    sure = checked_confidence(confidence)
    title = (
        one_line(kept_text(check_text(title, 4 * _TITLE_CHARACTERS)), _TITLE_CHARACTERS)
        if title.strip()
        else ""
    )
    content = kept_text(check_text(content, home.settings.max_text_bytes)).strip()[
        :_CONTENT_CHARACTERS
    ]
    where = checked_domain(domain) or domain_of(home, session_id) or GENERAL
    settings = research_settings(home)
    if sure < settings.insight_confidence:
        return "", []
    made = fingerprint_of(title, content)
    body = {
        "category": category,
        "title": title,
        "content": content,
        "confidence": sure,
    }
    of = (home.project, domain_slug(where), made)
    known = derived_event_id("insight", *of)
    if replaces and stands_for(home, known) in replaces:  # in the same words
        known = derived_event_id("insight", *of, category, sure)
    if home.journal.read(ids=[known]):
        return stands_for(home, known), []
    body |= {
        "domain": where,
        "session_id": session_id,
        "fingerprint": made,
        "source": checked_source(source),
    }
    body |= {"project": home.project, "replaces": [*replaces]}
    body["like"] = [
        one
        for one in _alike(home, body, settings.duplicate_overlap)
        if one not in replaces
    ]
    event = new_event(
        "insight",
        body,
        agent=agent,
        session=session_id,
        lineage=lineage,
        event_id=known,
        at=home.clock.now() if at is None else at,
    )
    merged = _merged(home, event)
    return (merged.id, [event, merged]) if merged else (known, [event])


def checked_confidence(confidence: Any) -> float:
    """A confidence of 0 to 1. Raises InvalidInput for anything else, with the reason."""
    if (
        isinstance(confidence, bool)
        or not isinstance(confidence, int | float)
        or not 0 <= confidence <= 1
    ):
        raise InvalidInput(
            f"got the confidence {confidence!r:.60}; allowed is a number from 0 to 1"
        )
    return float(confidence)


def stands_for(home: Home, known: str) -> str:
    """The insight that stands for one by now."""
    replaced = {
        old: event.id
        for event in home.journal.tail(0, kinds=["insight"])
        for old in event.body.get("replaces", ())
    }
    seen = {known}
    while (known := replaced.get(known, known)) not in seen:
        seen.add(known)
    return known


def _alike(home: Home, body: dict[str, Any], overlap: float) -> list[str]:
    """The ids of the insights of the same domain and category that hold more than a
    share of the words, most first.
    """
    words = distinct_words(insight_text(body["title"], body["content"]))
    with home.views.reading(Insights) as view:
        found = view.overlap(words, view.chosen(home, body["domain"], body["category"]))
    alike = sorted(
        (one for one, share in found.items() if share > overlap),
        key=lambda one: -found[one],
    )
    return alike[:_MOST_ALIKE]


def _merged(home: Home, new: Event) -> Event | None:
    """What a model makes of a new insight and the one that is most like it, in the
    place of both; None where it says they differ.
    """
    olds = home.journal.read(ids=new.body["like"][:1])
    if not (olds and research_settings(home).model):
        return None
    texts = [
        folded(insight_text(event.body["title"], event.body["content"]))
        for event in (*olds, new)
    ]
    answer = ask_model(home, "\n".join([_ASKED["merge"], *fence(texts, "insights")]))
    if not answer or answer.strip().upper().startswith("DIFFERENT"):
        return None
    content = kept_text(one_line(answer, _CONTENT_CHARACTERS))
    trust = [TRUST[event.body["source"]] for event in (*olds, new)]
    least = min((*olds, new), key=lambda event: TRUST[event.body["source"]]).body[
        "source"
    ]
    source = "model" if min(trust) >= TRUST["model"] else least
    title = new.body["title"]
    body = {
        **new.body,
        "content": content,
        "fingerprint": fingerprint_of(title, content),
        "source": source,
        "like": [],
        "replaces": [olds[0].id, new.id],
    }
    made = derived_event_id(
        "insight", home.project, domain_slug(body["domain"]), body["fingerprint"]
    )
    return new_event(
        "insight",
        body,
        agent=new.agent,
        session=new.session,
        lineage=[olds[0].id, new.id],
        at=new.at,
        event_id=made,
    )


def ask_model(home: Home, prompt: str) -> str | None:
    """What the model of the setting `model` answers; None without one, or where it does
    not answer: rules decide then.

    One that costs is asked as long as a day's answers are within the setting
    nightTokens; what each took is an event. Raises ConfigError for a model that is not
    configured.
    """
    from theorex_lab.dispatch.llm import client_for

    settings, models = research_settings(home), home.settings.models
    if not (name := settings.model) or (
        name in models
        and models[name].cost_per_million_tokens
        and not _affordable(home, prompt)
    ):
        return None
    try:
        with client_for(name, home.settings) as client:
            answer = client.complete(prompt, temperature=0.0, max_tokens=_ANSWER_TOKENS)
    except ModelUnavailable:
        return None
    spent = (
        count_tokens(prompt + answer.text) if answer.tokens is None else answer.tokens
    )
    DesignApi(home).append(
        "model_asked", {"model": name, "tokens": spent, "source": "agent"}
    )
    return answer.text


def _affordable(home: Home, prompt: str) -> bool:
    """Whether a model that costs may be asked this: what it answered within the last
    day, and this, is within the setting.
    """
    since = home.clock.now() - MICROSECONDS_PER_DAY
    spent = sum(
        event.body["tokens"]
        for event in home.journal.tail(0, kinds=["model_asked"])
        if event.at > since
    )
    return bool(
        spent + count_tokens(prompt) + _ANSWER_TOKENS
        <= research_settings(home).night_tokens
    )


def insights_of(
    home: Home, domain: str | None = None, category: str | None = None
) -> list[Insight]:
    """The insights that stand, of a domain and a category or of any, the oldest first."""
    with home.views.reading(Insights) as view:
        seqs = view.rows["seq"][view.chosen(home, domain, category)].tolist()
    return [_insight(event) for event in home.journal.read(seqs=seqs)]


def _insight(event: Event) -> Insight:
    body = event.body
    names = (
        "category",
        "title",
        "content",
        "confidence",
        "domain",
        "session_id",
        "fingerprint",
        "source",
    )
    told = {name: body[name] for name in names}
    return Insight(
        event.id,
        **told,
        agent=event.agent,
        created_at=to_datetime(event.at),
        like=tuple(body.get("like", ())),
    )


def ranked(
    home: Home, query: str, domain: str | None = None
) -> list[tuple[Insight, float | None]]:
    """The insights that may be given, by likeness to what is asked times confidence,
    with the likeness; None where newest comes first.

    By the setting `rankBy`: search, words and vectors together; cosine, vectors alone,
    from the setting similarityFloor on. Without a query, or where nothing has vectors,
    the newest come first.
    """
    settings = research_settings(home)
    sure = [
        one
        for one in insights_of(home, domain)
        if one.confidence >= settings.insight_confidence
    ]
    newest: list[tuple[Insight, float | None]] = [(one, None) for one in sure[::-1]]
    if not query.strip() or not sure:
        return newest
    by_id = {one.insight_id: one for one in sure}
    searcher = Searcher(home)
    found: dict[str, float] | None
    if settings.rank_by == "search":
        hits = searcher.search(
            query, kinds=("insight",), limit=_MOST_HITS, projects=home.projects
        )
        found = {hit.id: hit.score for hit in hits if hit.id in by_id}
    elif (
        found := searcher.vectors.likeness(query, [*by_id], seconds=_SECONDS)
    ) is None:
        return newest
    else:
        found = {
            one: cosine
            for one, cosine in found.items()
            if cosine >= settings.similarity_floor
        }
    order = sorted(found, key=lambda one: -found[one] * by_id[one].confidence)
    return [(by_id[one], found[one]) for one in order]


def distinct(
    found: Iterable[tuple[Insight, float | None]],
) -> Iterator[tuple[Insight, float | None]]:
    """Those in their order; of the newest none that says much of the same as one
    before, while what fits a query stays.
    """
    given = set[str]()
    alike = set[str]()
    for insight, likeness in found:
        if likeness is not None or (
            insight.insight_id not in alike and given.isdisjoint(insight.like)
        ):
            given.add(insight.insight_id)
            alike.update(insight.like)
            yield insight, likeness


def load_for_injection(
    home: Home,
    domain: str | None = None,
    k: int | None = None,
    query: str = "",
    *,
    tokens: int = 2_000,
    agent: str = "main",
    session: str = "",
) -> str:
    """The insights of a domain (None: of all) that fit what a session is about, whole
    ones within a budget, in <memories>; '' for none.

    k: how many at most, default the setting injectK. Without a query one is given of
    those that say much of the same. That they were given is noted, so that their use
    can be counted. Raises InvalidInput for a negative k.
    """
    most = research_settings(home).inject_k if k is None else k
    if most < 0:
        raise InvalidInput(f"got k={k}; allowed are whole numbers from 0")
    lines = ["<memories>", NOTICE]
    given = list[Insight]()
    left = tokens - count_tokens(f"<memories>\n{NOTICE}\n</memories>")
    for insight, _ in distinct(ranked(home, query, domain)):
        shown = _shown(insight)
        size = count_tokens("\n".join(shown) + "\n")
        if len(given) < most and size <= left:
            lines = lines + shown
            left = left - size
            given.append(insight)
    if not given:
        return ""
    text = "\n".join([*lines, "</memories>"])
    ids = [one.insight_id for one in given]
    note_recalled(
        home,
        "injection",
        query=query,
        items=ids,
        tokens=count_tokens(text),
        agent=agent,
        session=session,
    )
    return text


def _shown(insight: Insight) -> list[str]:
    """An insight for a prompt, on a line that closes nothing; in a fence where it is
    not an agent's or a person's own word.
    """
    line = (
        f"- {insight.category}: {_TAG.sub(_OPENED, folded(insight.text))}"
        f" ({insight.created_at:%Y-%m-%d})"
    )
    return (
        [line]
        if insight.trusted
        else fence([line], f"{insight.agent}/{insight.source}")
    )


def agents_of(home: Home) -> list[str]:
    """Who left an insight."""
    with home.views.reading(Insights) as view:
        return list(view.agents)


def insight_counts(home: Home) -> dict[str, int]:
    """How many insights of each category stand."""
    with home.views.reading(Insights) as view:
        rows = view.chosen(home)
        told = Counter(
            view.categories[number] for number in view.rows["category"][rows].tolist()
        )
    return {category: told[category] for category in CATEGORIES}


def status(home: Home, _agent: str | None) -> dict[str, Any]:
    """How many insights, records, theorems and skills there are."""
    from theorex_lab.designs.research.records import all_records
    from theorex_lab.designs.research.skills import Skills
    from theorex_lab.designs.research.theorems import Theorems

    known = {
        "theorems": len(home.views.get(Theorems).ids),
        "skills": len(home.views.get(Skills).names),
    }
    return {
        "research": {
            "insights": sum(insight_counts(home).values()),
            "records": len(all_records(home)),
            **known,
        }
    }
