"""Hold what sessions taught as insights, by domain.

Each is an event, and a session is given those that fit what it is about.

What says the same is kept once; what says much of the same is linked, or merged where a
model is set. What was replaced is not given any more, and stays in the journal.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import MICROSECONDS_PER_DAY, to_datetime
from theorex_lab.core.errors import InvalidInput, ModelUnavailable
from theorex_lab.core.ids import derived_event_id
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.sections import read_sections
from theorex_lab.designs.research import CATEGORIES
from theorex_lab.designs.research.items import domain_slug, insight_text
from theorex_lab.designs.research.records import checked_source, chosen_domain
from theorex_lab.designs.research.settings import research_settings
from theorex_lab.journal.base import append_once
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Event, new_event
from theorex_lab.journal.view import View
from theorex_lab.memory.briefing.token_budget import count_tokens
from theorex_lab.memory.contract import DesignApi, Home
from theorex_lab.memory.observation import TRUST, check_text
from theorex_lab.search.lexical import tokenize
from theorex_lab.text.line import fence, folded, one_line
from theorex_lab.text.redact.redaction_scope import kept_text

_PROMPTS = read_sections(__file__, "prompts.txt")
_TITLE_CHARACTERS = 200
_CONTENT_CHARACTERS = 8_000
_ANSWER_TOKENS = 1_024
_MOST_ALIKE = 5
_MOST_HITS = 100
_SECONDS = 5.0
_MEMBERS = (
    "category",
    "title",
    "content",
    "confidence",
    "domain",
    "session_id",
    "fingerprint",
    "source",
)


Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Insight:
    """Hold what a session taught.

    Attributes:
        insight_id: The id of its event.
        category: One of CATEGORIES.
        title: What it is about; '' without one.
        content: The insight in words.
        confidence: From 0 to 1.
        domain: The domain that it belongs to.
        session_id: The session that taught it.
        fingerprint: Of its words.
        source: Whose word it is.
        agent: Who left it.
        created_at: When.
        like: Ids of insights that say much of the same.
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
        """Return title and content in one."""
        return insight_text(self.title, self.content)

    @property
    def trusted(self) -> bool:
        """Return whether it is an agent's or a person's own word."""
        return TRUST[self.source] >= TRUST["agent"]


class Insights(View):
    """Hold insights, a row each.

    Attributes:
        rows: seq; the numbers of its domain (the name of a folder), project, agent and
            category; confidence; words: how many distinct ones; gone: whether another
            stands for it.
        words: (row, word) of every word of each, by which those alike are found.
    """

    name = "research_insights"
    code = 1
    kinds = ("insight",)

    def __init__(self) -> None:
        super().__init__()
        self.ids = Names()
        self.domains = Names()
        self.projects = Names()
        self.agents = Names()
        self.vocabulary = Names()
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
        text = insight_text(body["title"], body["content"])
        words = distinct_words(text)
        domain = domain_slug(body["domain"])
        project = body.get("project", "")
        self.rows.add(
            seq=event.seq,
            domain=self.domains.number(domain),
            confidence=body["confidence"],
            words=len(words),
            project=self.projects.number(project),
            agent=self.agents.number(event.agent),
            category=self.categories.number(body["category"]),
        )
        word_rows = [(row, self.vocabulary.number(word)) for word in words]
        self.words.extend(("row", "word"), word_rows)
        for replaced_id in body.get("replaces", ()):
            number = self.ids.find(replaced_id)
            if number is not None:
                self.rows.put(number, gone=True)

    def chosen(
        self, home: Home, domain: str | None = None, category: str | None = None
    ) -> Rows:
        """Return the rows that stand, the oldest first.

        They are of the home's projects or of none.

        Args:
            home: Whose projects count.
            domain: Only of this domain; default: of any.
            category: Only of this category; default: of any.
        """
        is_chosen = ~self.rows["gone"]
        if home.projects is not None:
            projects = self.projects.numbers("", *home.projects)
            is_chosen &= np.isin(self.rows["project"], projects)
        if domain is not None:
            domains = self.domains.numbers(domain_slug(domain))
            is_chosen &= np.isin(self.rows["domain"], domains)
        if category is not None:
            categories = self.categories.numbers(category)
            is_chosen &= np.isin(self.rows["category"], categories)
        return np.flatnonzero(is_chosen)

    def overlap(self, words: Sequence[str], rows: Rows) -> dict[str, float]:
        """Return, by id, the share of these words that each insight in the rows holds.

        It is |old ∩ new| / |new|; nothing is alike without words.

        Args:
            words: Distinct words.
            rows: The rows of the insights.
        """
        if not words:
            return {}
        numbers = self.vocabulary.numbers(*words)
        is_shared = np.isin(self.words["word"], numbers)
        n_shared = np.bincount(self.words["row"][is_shared], minlength=len(self.rows))
        shares = {}
        for row in rows.tolist():
            insight_id = self.ids[row]
            shares[insight_id] = float(n_shared[row] / len(words))
        return shares


def distinct_words(text: str) -> list[str]:
    """Return the stems of a text's words, each once, without stop words."""
    words = dict.fromkeys(tokenize(text))
    return list(words)


def fingerprint_of(title: str, content: str) -> str:
    """Return the first 16 hexadecimal digits of SHA-256 over title and content.

    They are taken in lower case, trimmed.

    >>> fingerprint_of("Use Hoeffding", "It gives the rate.") == fingerprint_of(
    ...     "use hoeffding", "IT GIVES THE RATE. "
    ... )
    True
    """
    text = f"{title}{content}".strip().lower()
    return sha256(text.encode()).hexdigest()[:16]


def add_insight(
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
) -> Insight | None:
    """Keep an insight; return it as it is known then.

    What says the same is there already. What says much of the same is linked with it,
    or merged with it by the setting's model.

    Args:
        home: Where it is kept.
        category: One of CATEGORIES.
        title: What it is about; '' without one.
        content: The insight in words.
        confidence: From 0 to 1.
        domain: What it belongs to; '' is the session's domain, else `general`.
        session_id: The session that taught it.
        agent: Who leaves it.
        source: Whose word it is.
        lineage: Ids of the events that it rests on.
        replaces: Ids of insights that it stands for from now on.

    Returns:
        The insight, or None where its confidence is below the setting
        insightConfidence.

    Raises:
        InvalidInput: As `insight_events` raises it.
    """

    def id_and_events() -> tuple[str, list[Event]]:
        return insight_events(
            home,
            category,
            title,
            content,
            confidence=confidence,
            domain=domain,
            session_id=session_id,
            agent=agent,
            source=source,
            lineage=lineage,
            replaces=replaces,
        )

    insight_id, events = id_and_events()
    if events and not append_once(home.journal, events):
        # Another process said the same just now.
        insight_id, _ = id_and_events()
    if not insight_id:
        return None
    return insight_by_id(home, insight_id)


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
    """Return the id under which an insight is known, and the events that tell it.

    There are no events where the insight is there already.

    Args:
        home: Where it is kept.
        category: One of CATEGORIES.
        title: What it is about; '' without one.
        content: The insight in words.
        confidence: From 0 to 1.
        domain: What it belongs to; '' is the session's domain, else `general`.
        session_id: The session that taught it.
        agent: Who leaves it.
        source: Whose word it is.
        lineage: Ids of the events that it rests on.
        replaces: Ids of insights that it stands for from now on.
        at: When, in µs UTC; default: now.

    Returns:
        The id and the events; ('', []) where the confidence is too low to be kept.

    Raises:
        InvalidInput: The category, the confidence or a text is outside the rules.
    """
    if category not in CATEGORIES:
        raise InvalidInput(
            f"got the category {category!r:.60}; allowed are {', '.join(CATEGORIES)}"
        )
    confidence = checked_confidence(confidence)
    title = _checked_title(title)
    content = kept_text(check_text(content, home.settings.max_text_bytes)).strip()
    content = content[:_CONTENT_CHARACTERS]
    domain = chosen_domain(home, domain, session_id)
    settings = research_settings(home)
    if confidence < settings.insight_confidence:
        return "", []
    fingerprint = fingerprint_of(title, content)
    identity = ("insight", home.project, domain_slug(domain), fingerprint)
    insight_id = derived_event_id(*identity)
    if replaces and stands_for(home, insight_id) in replaces:  # in the same words
        insight_id = derived_event_id(*identity, category, confidence)
    if home.journal.read(ids=[insight_id]):
        return stands_for(home, insight_id), []
    body = {
        "category": category,
        "title": title,
        "content": content,
        "confidence": confidence,
        "domain": domain,
        "session_id": session_id,
        "fingerprint": fingerprint,
        "source": checked_source(source),
        "project": home.project,
        "replaces": [*replaces],
    }
    alike = _alike(home, body, settings.duplicate_overlap)
    body["like"] = [like_id for like_id in alike if like_id not in replaces]
    event = new_event(
        "insight",
        body,
        agent=agent,
        session=session_id,
        lineage=lineage,
        event_id=insight_id,
        at=home.clock.now() if at is None else at,
    )
    merged = _merged(home, event)
    if merged is None:
        return insight_id, [event]
    return merged.id, [event, merged]


def _checked_title(title: str) -> str:
    """Return a title on one line, secrets masked; '' for a blank one."""
    if not title.strip():
        return ""
    text = kept_text(check_text(title, 4 * _TITLE_CHARACTERS))
    return one_line(text, _TITLE_CHARACTERS)


def checked_confidence(confidence: Any) -> float:
    """Return a confidence from 0 to 1.

    Raises:
        InvalidInput: It is anything else.
    """
    is_truth_value = isinstance(confidence, bool)
    is_number = isinstance(confidence, int | float) and not is_truth_value
    if not is_number or not 0 <= confidence <= 1:
        raise InvalidInput(
            f"got the confidence {confidence!r:.60}; allowed is a number from 0 to 1"
        )
    return float(confidence)


def stands_for(home: Home, insight_id: str) -> str:
    """Return the id of the insight that stands for this one by now."""
    replaced_by = dict[str, str]()
    for event in home.journal.tail(0, kinds=["insight"]):
        replaced_by |= dict.fromkeys(event.body.get("replaces", ()), event.id)
    passed_ids = {insight_id}
    while True:
        insight_id = replaced_by.get(insight_id, insight_id)
        if insight_id in passed_ids:
            return insight_id
        passed_ids.add(insight_id)


def _alike(home: Home, body: dict[str, Any], overlap: float) -> list[str]:
    """Return the ids of insights that hold more than a share of the words, most first.

    They are of the same domain and category.
    """
    text = insight_text(body["title"], body["content"])
    words = distinct_words(text)
    with home.views.reading(Insights) as view:
        rows = view.chosen(home, body["domain"], body["category"])
        shares = view.overlap(words, rows)
    alike = [insight_id for insight_id, share in shares.items() if share > overlap]
    alike.sort(key=lambda insight_id: -shares[insight_id])
    return alike[:_MOST_ALIKE]


def _merged(home: Home, new: Event) -> Event | None:
    """Return what a model makes of a new insight and the one that is most like it.

    The merged insight stands in the place of both. None where the model says that they
    differ, or where there is nothing to ask.
    """
    nearest = home.journal.read(ids=new.body["like"][:1])
    if not (nearest and research_settings(home).model):
        return None
    old = nearest[0]
    texts = []
    for event in (old, new):
        text = insight_text(event.body["title"], event.body["content"])
        texts.append(folded(text))
    lines = [_PROMPTS["merge"], *fence(texts, "insights")]
    answer = ask_model(home, "\n".join(lines))
    if not answer or answer.strip().upper().startswith("DIFFERENT"):
        return None
    title = new.body["title"]
    content = kept_text(one_line(answer, _CONTENT_CHARACTERS))
    body = {
        **new.body,
        "content": content,
        "fingerprint": fingerprint_of(title, content),
        "source": _least_trusted("model", old.body["source"], new.body["source"]),
        "like": [],
        "replaces": [old.id, new.id],
    }
    merged_id = derived_event_id(
        "insight", home.project, domain_slug(body["domain"]), body["fingerprint"]
    )
    return new_event(
        "insight",
        body,
        agent=new.agent,
        session=new.session,
        lineage=[old.id, new.id],
        at=new.at,
        event_id=merged_id,
    )


def _least_trusted(*sources: str) -> str:
    """Return the source that is trusted least; of equals the first."""
    return min(sources, key=lambda source: TRUST[source])


def ask_model(home: Home, prompt: str) -> str | None:
    """Return what the model of the setting `model` answers.

    A model that costs is asked as long as a day's answers are within the setting
    nightTokens. What each answer took is an event.

    Returns:
        The answer; None without a model, or where it does not answer: rules decide
        then.

    Raises:
        ConfigError: The model is not configured.
    """
    from theorex_lab.dispatch.llm import client_for

    model = research_settings(home).model
    if not model:
        return None
    options = home.settings.models.get(model)
    if options and options.cost_per_million_tokens and not _affordable(home, prompt):
        return None
    try:
        with client_for(model, home.settings) as client:
            answer = client.complete(prompt, temperature=0.0, max_tokens=_ANSWER_TOKENS)
    except ModelUnavailable:
        return None
    n_tokens = answer.tokens
    if n_tokens is None:
        n_tokens = count_tokens(prompt + answer.text)
    DesignApi(home).append(
        "model_asked", {"model": model, "tokens": n_tokens, "source": "agent"}
    )
    return answer.text


def _affordable(home: Home, prompt: str) -> bool:
    """Return whether a model that costs may be asked this.

    What it answered within the last day, and this, has to be within the setting.
    """
    since = home.clock.now() - MICROSECONDS_PER_DAY
    n_spent = 0
    for event in home.journal.tail(0, kinds=["model_asked"]):
        if event.at > since:
            n_spent += event.body["tokens"]
    n_needed = n_spent + count_tokens(prompt) + _ANSWER_TOKENS
    return n_needed <= research_settings(home).night_tokens


def insights_of(
    home: Home, domain: str | None = None, category: str | None = None
) -> list[Insight]:
    """Return the insights that stand, the oldest first.

    Args:
        home: Where they are kept.
        domain: Only of this domain; default: of any.
        category: Only of this category; default: of any.
    """
    with home.views.reading(Insights) as view:
        rows = view.chosen(home, domain, category)
        seqs = view.rows["seq"][rows].tolist()
    return _insights_at(home, seqs)


def _insights_at(home: Home, seqs: Iterable[int]) -> list[Insight]:
    """Return the insights that these events tell, the oldest first."""
    events = home.journal.read(seqs=list(seqs))
    return [_insight(event) for event in events]


def insight_by_id(home: Home, insight_id: str) -> Insight | None:
    """Return the insight of this id; None where none of it stands."""
    with home.views.reading(Insights) as view:
        row = view.ids.find(insight_id)
        if row is None or row not in view.chosen(home):
            return None
        seq = int(view.rows["seq"][row])
    for event in home.journal.read(seqs=[seq]):
        return _insight(event)
    return None


def _insight(event: Event) -> Insight:
    """Return the insight that an event tells."""
    members = {name: event.body[name] for name in _MEMBERS}
    return Insight(
        event.id,
        **members,
        agent=event.agent,
        created_at=to_datetime(event.at),
        like=tuple(event.body.get("like", ())),
    )


def ranked(
    home: Home, query: str, domain: str | None = None
) -> list[tuple[Insight, float | None]]:
    """Return the insights that may be given, by likeness to a query times confidence.

    By the setting `rankBy`: search, words and vectors together; cosine, vectors alone,
    from the setting similarityFloor on. Without a query, or where nothing has vectors,
    the newest come first.

    Args:
        home: Where they are kept.
        query: What is asked.
        domain: Only of this domain; default: of any.

    Returns:
        Each insight with its likeness; None where the newest come first.
    """
    seq_by_id = _seqs_of_sure(home, domain)
    likeness = None
    if query.strip() and seq_by_id:
        likeness = _likeness(home, query, list(seq_by_id))
    if likeness is None:
        insights = _insights_at(home, seq_by_id.values())
        return [(insight, None) for insight in reversed(insights)]
    seqs = [seq_by_id[insight_id] for insight_id in likeness]
    by_id = {insight.insight_id: insight for insight in _insights_at(home, seqs)}

    def best_first(insight_id: str) -> float:
        confidence = by_id[insight_id].confidence
        return -likeness[insight_id] * confidence

    ranking = list[tuple[Insight, float | None]]()
    standing_ids = [insight_id for insight_id in likeness if insight_id in by_id]
    for insight_id in sorted(standing_ids, key=best_first):
        ranking.append((by_id[insight_id], likeness[insight_id]))
    return ranking


def _seqs_of_sure(home: Home, domain: str | None) -> dict[str, int]:
    """Return, by id, the seqs of insights that are sure enough, the oldest first."""
    least = research_settings(home).insight_confidence
    with home.views.reading(Insights) as view:
        rows = view.chosen(home, domain)
        is_sure = view.rows["confidence"][rows] >= least
        sure_rows = rows[is_sure]
        seqs = view.rows["seq"][sure_rows].tolist()
        ids = [view.ids[row] for row in sure_rows.tolist()]
    return dict(zip(ids, seqs, strict=True))


def _likeness(home: Home, query: str, ids: Sequence[str]) -> dict[str, float] | None:
    """Return, by id, how like those of these insights are that fit a query.

    None where likeness is by vectors, and nothing has any.
    """
    from theorex_lab.memory.retrieve import Searcher

    settings = research_settings(home)
    searcher = Searcher(home)
    if settings.rank_by == "search":
        hits = searcher.search(
            query, kinds=("insight",), limit=_MOST_HITS, projects=home.projects
        )
        allowed_ids = set(ids)
        return {hit.id: hit.score for hit in hits if hit.id in allowed_ids}
    cosines = searcher.vectors.likeness(query, [*ids], seconds=_SECONDS)
    if cosines is None:
        return None
    likeness = {}
    for insight_id, cosine in cosines.items():
        if cosine >= settings.similarity_floor:
            likeness[insight_id] = cosine
    return likeness


def distinct(
    insights: Iterable[tuple[Insight, float | None]],
) -> Iterator[tuple[Insight, float | None]]:
    """Yield insights in their order, of the newest none that repeats one before.

    What fits a query stays, even where it says much of the same.
    """
    passed_ids = set[str]()
    alike_ids = set[str]()
    for insight, likeness in insights:
        names_one = not passed_ids.isdisjoint(insight.like)
        is_named = insight.insight_id in alike_ids
        repeats = names_one or is_named
        if likeness is not None or not repeats:
            passed_ids.add(insight.insight_id)
            alike_ids.update(insight.like)
            yield insight, likeness


def agents_of(home: Home) -> list[str]:
    """Return who left an insight."""
    with home.views.reading(Insights) as view:
        return list(view.agents)


def insight_counts(home: Home) -> dict[str, int]:
    """Return how many insights of each category stand."""
    with home.views.reading(Insights) as view:
        rows = view.chosen(home)
        numbers = view.rows["category"][rows].tolist()
        counts = Counter(view.categories[number] for number in numbers)
    return {category: counts[category] for category in CATEGORIES}
