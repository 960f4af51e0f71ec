"""Find the lines of earlier sessions that a prompt should be answered with.

What was said is searched with BM25 by the prompt's words and, with less weight, by the
words of the sessions that are nearest to it. A passage weighs more if it is recent, of
a session like the prompt, and a statement of the kind that helps.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.journal.event import Event
from theorex_lab.memory.briefing.candidates import (
    ASKED,
    Candidate,
    dated,
    fits_a_line,
    short_date,
)
from theorex_lab.memory.briefing.cards import (
    branch_of,
    card_candidates,
    latest_first,
    session_numbers,
    telling_numbers,
    weighted_sum,
)
from theorex_lab.memory.briefing.line_features import (
    has_open_subject,
    is_process,
    is_question,
    is_usable,
    line_features_of,
    standing_alone,
    windows,
)
from theorex_lab.memory.briefing.session_log import (
    Message,
    Prompt,
    Session,
    sessions_of,
)
from theorex_lab.memory.superseding import DatedStatement, superseded
from theorex_lab.text.statements import Statement
from theorex_lab.text.wording import (
    STOP_WORDS,
    content_words,
    numbers_of,
    overlap,
    stem,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# Texts -> how like each is to the prompt: its cosine, -1..1.
Similarity = Callable[[Sequence[str]], Floats]

# The parameters of BM25: how soon a longer passage loses. A word counts once, so there
# is no other one.
LENGTH_NORMALIZATION = 0.5
# The weight of a prompt's word, of one that was pasted into it, and of one that only
# the nearest sessions have: more where the prompt itself says little.
_OWN_WORD = 1.0
_PASTED_WORD = 0.3
_WIDENING_WORD = 0.2
_WIDENING_WORD_OF_SHORT = 0.4
_SHORT_PROMPT_WORDS = 4
# A prompt of so few own words says nothing by itself; it means the last session.
_BARE_PROMPT_WORDS = 3
_FEWEST_WORDS_OF_A_SUBJECT = 2
_NEAREST_SESSIONS = 3
# What makes a session like a prompt: shared words, the same number, the same files, and
# being the last one.
_LIKE_WORDS = 6.0
_LIKE_NUMBER = 4.0
_MOST_LIKE_FILES = 3
_LIKE_LAST = 1.0
_LIKE_LAST_IF_BARE = 4.0
_LIKENESS_HALF_LIFE_DAYS = 30
# Score times (0.4 + 0.25 recency of weeks + 0.35 recency of days).
_LONG_HALF_LIFE_DAYS = 45
_SHORT_HALF_LIFE_DAYS = 7
_SIMILARITY_STRENGTH = 2.0
_MOST_REPLACED = 120  # best passages, of which a newer one may replace an older
_MOST_COMPARED = 150  # passages that `similarity` is asked for
_MOST_CANDIDATES = 120
_MOST_LOOKED_AT = 400
# A prompt's words that a passage shares have to be informative: in all as much as this
# many words that nothing else has.
_LEAST_INFORMATION = 0.6
_STRONG_INFORMATION = 2.0
_WORDS_IN_A_REASON = 3
_SAME_LINE = 0.62
_FEWEST_SAME_WORDS = 3
_LINES_OF_THE_NEAREST_CARD = 2
_LONGEST_READ = 1_500
_LONGEST_PASTED_LINE = 300

# How much each feature of a passage speaks for it, as an exponent.
WEIGHTS: Mapping[str, float] = {
    "process": -0.8,
    "meta": -1.0,
    "praise": -0.9,
    "why": 0.3,
    "factual": 0.15,
    "decide": 0.25,
    "done": 0.1,
    "code": 0.1,
    "short": -0.5,
    "pronoun": -0.3,
    "user": 0.2,
    "line_number": -0.4,
    "automatic": -0.3,
}

_ADDRESS = re.compile(r"https?://\S*?([\w-]+)/?(?=[\s)>\]]|$)")
_LONG_PATH = re.compile(r"(?<![\w.])(?:[\w.@~-]*/){2,}([\w.@-]+)")
_FILE = re.compile(r"[\w@.+\-/\[\]()~%]*\.[A-Za-z]\w{0,7}\b")
# What may be a name made of several words, what makes it one, and its words.
_RUN = re.compile(r"[\w./\-]+")
_MARK_OF_A_COMPOUND = re.compile(r"\w[._/\-]+\w|[a-z][A-Z]")
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SHORTEST_PART = 3
# What English drops: the tail of a word that says nothing by itself.
_CONTRACTION = re.compile(r"\b\w+n['’]t\b|['’](?:s|ll|ve|re|d|m)\b", re.I)
# A variable of an editor, which stands for what the reader does not see.
_EDITOR_VARIABLE = re.compile(r"(?<!\w)#[a-z]+[A-Z]\w*")
# Says that the prompt goes on with what was done before. English.
_CONTINUING = re.compile(
    r"^\W*(?:(?:ok|okay|so|now|please|let['’]?s)\W+)*"
    r"(?:continue|proceed|resume|go on|carry on|keep going|pick up|finish)\b"
    r"|\b(?:where (?:we|you|i) (?:left|stopped)|previous session|last (?:session|time)"
    r"|earlier session|still (?:open|failing|broken))\b",
    re.I,
)
_NOT_SEARCHED = ("noise", "interrupt")
_NOT_OF_A_SUBJECT = ("noise", "interrupt", "standing")
_USERS_WORDS = ("own", "repeated")
# What was pasted into a prompt is said by nobody in the project.
_NOBODYS_WORDS = ("template", "standing", "quoted")
# How a line begins that holds the user's words.
_SPEAKER = {"own": "Asked: ", "repeated": "Asked: "}
_SUBJECT_WORDS = ("own", "repeated", "plan", "slash")


@dataclass(frozen=True, slots=True)
class Passage:
    """A statement of an earlier session, with the next ones while a line holds them.

    Attributes:
        text: The text, with its subject, without its date.
        at: When it was said (µs UTC).
        session: The session.
        event: The event that it is of.
        terms: What it is searched by: its content words and parts of its names.
        features: By name what speaks for it and against it.
        is_users: Whether the user said it.
    """

    text: str
    at: int
    session: str
    event: str
    terms: frozenset[str]
    features: Mapping[str, float]
    is_users: bool


@dataclass(frozen=True, slots=True)
class _Profile:
    """What a session was about.

    Attributes:
        terms: The words of its prompts, and parts of their names.
        numbers: The issues and pull requests that its prompts name.
        files: The names of the files that it read or edited, in lower case.
        branch: The branch that it worked on, '' for a usual one or none.
    """

    terms: frozenset[str]
    numbers: frozenset[str]
    files: frozenset[str]
    branch: str


@dataclass(frozen=True, slots=True)
class _Query:
    """What is searched for a prompt.

    Attributes:
        weights: Its words, and how much each counts.
        n_own_words: How many of them the user wrote.
        numbers: The issues and pull requests that it names.
        files: The names of the files that it names, in lower case.
        text: The prompt.
        spellings: Its words as they are spelt in it.
    """

    weights: Mapping[str, float]
    n_own_words: int
    numbers: frozenset[str]
    files: frozenset[str]
    text: str
    spellings: Mapping[str, str]

    @property
    def is_bare(self) -> bool:
        """Whether the prompt says little by itself."""
        return self.n_own_words <= _BARE_PROMPT_WORDS

    @property
    def says_nothing(self) -> bool:
        """Whether the prompt has no subject but the last session."""
        return self.n_own_words < _FEWEST_WORDS_OF_A_SUBJECT


class PassageIndex:
    """What earlier sessions said, made searchable once, for many prompts."""

    def __init__(self, sessions: Sequence[Session]) -> None:
        self._sessions = latest_first(sessions)
        self._profiles = [_profile(session) for session in self._sessions]
        self._passages = list(_passages(self._sessions))
        self._postings = _postings(self._passages)
        self._rarity = _rarity(self._postings, len(self._passages))
        # How informative a word is that nothing else has.
        self._top_rarity = _rarity_of_a_word(1, max(1, len(self._passages)))
        self._length_norm = _length_norm(self._passages)
        numbers = {session.id: n for n, session in enumerate(self._sessions)}
        self._session_of = np.array(
            [numbers[passage.session] for passage in self._passages], dtype=np.int64
        )
        self._times = np.array(
            [passage.at for passage in self._passages], dtype=np.float64
        )
        qualities = [weighted_sum(item.features, WEIGHTS) for item in self._passages]
        self._qualities = np.exp(np.array(qualities, dtype=np.float64))

    def __len__(self) -> int:
        """Return how many passages there are."""
        return len(self._passages)

    def candidates(
        self, prompt: str, now: int, *, similarity: Similarity | None = None
    ) -> list[Candidate]:
        """Return the lines that fit a prompt, best first.

        Args:
            prompt: The prompt.
            now: The time of the prompt (µs UTC).
            similarity: Texts -> how like each is to the prompt, its cosine; it moves
                what shares the meaning up.

        Returns:
            The state of the work that the prompt goes on with, then passages; nothing
            where nothing fits.
        """
        if not self._passages:
            return []
        query = _query(prompt)
        likeness = self._likeness(query, now)
        nearest = np.argsort(-likeness, kind="stable")[:_NEAREST_SESSIONS]
        lines = self._nearest_card(query, int(nearest[0]), now)
        scores, information = self._scores(
            query,
            likeness,
            nearest,
            now,
        )
        order = np.argsort(-scores, kind="stable")[:_MOST_COMPARED]
        order = order[scores[order] > 0]
        if similarity is not None and len(order):
            scores[order] *= self._boost(order, similarity)
            order = order[np.argsort(-scores[order], kind="stable")]
        order = order[:_MOST_LOOKED_AT]
        passages = list(
            self._lines(
                query,
                order,
                scores,
                information,
                lines,
            )
        )
        passages.sort(key=lambda line: -line.weight)
        return [*lines, *passages][:_MOST_CANDIDATES]

    def _likeness(self, query: _Query, now: int) -> Floats:
        """Return how like each session is to a prompt; the latest session is first."""
        total = sum(
            self._rarity.get(word, 0.0) * weight
            for word, weight in query.weights.items()
        )
        likeness = np.zeros(len(self._sessions))
        for number, profile in enumerate(self._profiles):
            shared = 0.0
            for word, weight in query.weights.items():
                if word in profile.terms:
                    shared += self._rarity.get(word, 0.0) * weight
            value = _LIKE_WORDS * shared / (total or 1.0)
            if query.numbers & profile.numbers:
                value += _LIKE_NUMBER
            value += min(_MOST_LIKE_FILES, len(query.files & profile.files))
            age_days = (now - self._sessions[number].end) / MICROSECONDS_PER_DAY
            recency = 0.5 ** (age_days / _LIKENESS_HALF_LIFE_DAYS)
            likeness[number] = value * (0.5 + 0.5 * recency)
        likeness[0] += _LIKE_LAST_IF_BARE if query.is_bare else _LIKE_LAST
        return likeness

    def _scores(
        self, query: _Query, likeness: Floats, nearest: Integers, now: int
    ) -> tuple[Floats, Floats]:
        """Return the score of every passage, and how much of the query it shares.

        Args:
            query: What is searched.
            likeness: How like each session is to the prompt.
            nearest: The sessions that are most like it.
            now: The time of the prompt (µs UTC).

        Returns:
            The scores, and the summed rarity of the prompt's own words in a passage.
        """
        information = self._sums(query.weights)
        matches = information + self._sums(self._widening(query, nearest))
        matches *= self._length_norm
        age_days = (now - self._times) / MICROSECONDS_PER_DAY
        recency = 0.4 + 0.25 * 0.5 ** (age_days / _LONG_HALF_LIFE_DAYS)
        recency += 0.35 * 0.5 ** (age_days / _SHORT_HALF_LIFE_DAYS)
        shares = likeness / (likeness.max() or 1.0)
        like = 0.6 + 0.6 * shares[self._session_of]
        fits = information >= _LEAST_INFORMATION * self._top_rarity
        takes_last = query.says_nothing or (query.is_bare and not fits.any())
        fits |= self._of_the_subject(query, nearest, takes_last=takes_last)
        return matches * recency * like * self._qualities * fits, information

    def _of_the_subject(
        self, query: _Query, nearest: Integers, *, takes_last: bool
    ) -> NDArray[np.bool_]:
        """Return which passages need no word of the prompt, since their session fits.

        Args:
            query: What is searched.
            nearest: The sessions that are most like the prompt.
            takes_last: Whether the prompt means the last session; one that is about
                the same number fits as well.
        """
        numbers: list[int] = []
        if takes_last:
            numbers.append(int(nearest[0]))
        for number in nearest:
            if query.numbers & self._profiles[number].numbers:
                numbers.append(int(number))
        return np.isin(self._session_of, numbers)

    def _widening(self, query: _Query, nearest: Integers) -> dict[str, float]:
        """Return the words of the nearest sessions that a prompt has not."""
        weight = _WIDENING_WORD
        if query.n_own_words <= _SHORT_PROMPT_WORDS:
            weight = _WIDENING_WORD_OF_SHORT
        n_sessions: Counter[str] = Counter()
        for number in nearest:
            n_sessions.update(self._profiles[number].terms)
        return {
            word: weight * count
            for word, count in n_sessions.items()
            if word not in query.weights
        }

    def _sums(self, weights: Mapping[str, float]) -> Floats:
        """Return for every passage the rarity of the words that it shares, weighted_sum."""
        sums = np.zeros(len(self._passages))
        for word, weight in weights.items():
            holders = self._postings.get(word)
            if holders is not None:
                sums[holders] += weight * self._rarity[word]
        return sums

    def _boost(self, order: Integers, similarity: Similarity) -> Floats:
        """Return by how much the meaning of the best passages changes their scores."""
        texts = [self._passages[number].text for number in order]
        cosines = np.asarray(similarity(texts), dtype=np.float64)
        return np.exp(_SIMILARITY_STRENGTH * cosines)

    def _nearest_card(
        self,
        query: _Query,
        nearest: int,
        now: int,
    ) -> list[Candidate]:
        """Return the first lines on the session that a prompt goes on with, if any."""
        profile = self._profiles[nearest]
        reason = _continuation(query, profile)
        if not reason:
            return []
        session = self._sessions[nearest]
        card = card_candidates(
            session,
            self._sessions,
            now,
            ASKED,
        )
        lines: list[Candidate] = []
        for line in card[:_LINES_OF_THE_NEAREST_CARD]:
            weight = 1.0 - 0.02 * len(lines)
            lines.append(_reweighed(line, weight, f"{line.why}; {reason}"))
        return lines

    def _lines(
        self,
        query: _Query,
        order: Integers,
        scores: Floats,
        information: Floats,
        earlier: Sequence[Candidate],
    ) -> Iterator[Candidate]:
        """Yield the passages as lines, best first, each matter once.

        Args:
            query: What is searched.
            order: The numbers of the passages, best first.
            scores: The score of every passage.
            information: How much of the prompt's own words every passage shares.
            earlier: The lines that are there already.
        """
        shown = [line.words for line in earlier]
        if len(order) == 0:
            return
        best = float(scores[order[0]])
        shared = float(information[order].max()) / self._top_rarity
        # How sure it is that the best line is about what the prompt is about.
        fit = min(1.0, max(_LEAST_INFORMATION, shared) / _STRONG_INFORMATION)
        for number in self._still_standing(order):
            passage = self._passages[number]
            text = dated(passage.text, passage.at)
            words = content_words(passage.text)
            if not fits_a_line(text) or _repeats(words, shown):
                continue
            shown.append(words)
            yield Candidate(
                section=ASKED,
                kind="passage",
                text=text,
                weight=float(scores[number]) / best * fit,
                at=passage.at,
                session=passage.session,
                words=words,
                events=(passage.event,),
                why=self._why(query, passage),
                features={**passage.features, "score": float(scores[number])},
            )

    def _still_standing(self, order: Integers) -> list[int]:
        """Return the numbers of passages that no newer one of the best replaces."""
        numbers: list[int] = order.tolist()
        compared = numbers[:_MOST_REPLACED]
        statements: list[DatedStatement] = []
        for number in compared:
            passage = self._passages[number]
            statements.append(DatedStatement(passage.text, passage.at))
        standing: list[int] = []
        for number, newer in zip(compared, superseded(statements), strict=True):
            if newer is None:
                standing.append(number)
        return standing + numbers[_MOST_REPLACED:]

    def _why(self, query: _Query, passage: Passage) -> str:
        """Return in plain words why a passage fits a prompt."""
        speaker = "the user" if passage.is_users else "the agent"
        source = f"{speaker} said it in the session of {short_date(passage.at)}"
        shared = [word for word in query.weights if word in passage.terms]
        shared.sort(key=lambda word: -self._rarity[word] * query.weights[word])
        if not shared:
            return f"{source}, which is about the same"
        spelt = [
            query.spellings.get(word, word) for word in shared[:_WORDS_IN_A_REASON]
        ]
        named = ", ".join(f'"{word}"' for word in spelt)
        return f"{source}; like the prompt, it speaks of {named}"


def passage_candidates(
    sessions: Sequence[Session],
    prompt: str,
    now: int,
    *,
    similarity: Similarity | None = None,
) -> list[Candidate]:
    """Return the lines of earlier sessions that fit a prompt, best first.

    Args:
        sessions: The sessions before the prompt's. For many prompts over the same ones,
            make a `PassageIndex` of them once.
        prompt: The prompt.
        now: The time of the prompt (µs UTC).
        similarity: Texts -> how like each is to the prompt, its cosine.
    """
    return PassageIndex(sessions).candidates(prompt, now, similarity=similarity)


def search_terms(text: str) -> frozenset[str]:
    """Return what a text is searched by: its words, and the words in its names.

    >>> sorted(search_terms("Set `maxRetries` in http_client.py"))
    ['client', 'http', 'http_client.py', 'max', 'maxretry', 'retry', 'set']
    """
    plain_text = _CONTRACTION.sub(" ", text)
    terms = set(content_words(plain_text))
    for run in _RUN.findall(plain_text):
        if _MARK_OF_A_COMPOUND.search(run):
            terms.update(_stems_of_parts(run))
    return frozenset(terms)


def _stems_of_parts(name: str) -> Iterator[str]:
    """Yield the stems of the words that a name is made of."""
    for part in _PART.findall(name):
        if len(part) >= _SHORTEST_PART and part.lower() not in STOP_WORDS:
            yield stem(part)


def _query(prompt: str) -> _Query:
    """Return what is searched for a prompt."""
    prompt = _EDITOR_VARIABLE.sub(" ", prompt)
    own_text = " ".join(_own_statements(prompt)) or prompt[:_LONGEST_READ]
    own_terms = search_terms(_with_last_parts(own_text))
    weights = dict.fromkeys(sorted(own_terms), _OWN_WORD)
    for line in prompt.splitlines():
        pasted = search_terms(_with_last_parts(line[:_LONGEST_PASTED_LINE]))
        for word in sorted(pasted):
            weights.setdefault(word, _PASTED_WORD)
    return _Query(
        weights=weights,
        n_own_words=len(own_terms),
        numbers=telling_numbers(numbers_of(prompt[:_LONGEST_READ])),
        files=_file_names(_FILE.findall(prompt)),
        text=prompt,
        spellings=_spellings(prompt),
    )


def _spellings(prompt: str) -> dict[str, str]:
    """Return the words of a prompt as they are spelt in it, by their stems."""
    spellings: dict[str, str] = {}
    for run in _RUN.findall(prompt):
        word = run.strip("./-")
        spellings.setdefault(stem(word), word)
        for part in _PART.findall(word):
            spellings.setdefault(stem(part), part)
    return spellings


def _own_statements(prompt: str) -> list[str]:
    """Return the statements of a prompt that are the user's own words."""
    body = {"text": prompt, "source": "user"}
    event = Event(
        0,
        "",
        0,
        "",
        "",
        "prompt",
        (),
        body,
    )
    statements: list[str] = []
    for session in sessions_of([event]):
        for sent in session.prompts:
            for statement, words_of in sent.statements:
                if words_of == "own":
                    statements.append(statement.text)
    return statements


def _with_last_parts(text: str) -> str:
    """Return a text whose addresses and long paths are cut to their last part."""
    return _LONG_PATH.sub(r"\1", _ADDRESS.sub(r"\1", text))


def _file_names(paths: Iterable[str]) -> frozenset[str]:
    """Return the names of files without their folders, in lower case."""
    return frozenset(path.rpartition("/")[2].lower() for path in paths)


def _profile(session: Session) -> _Profile:
    """Return what a session was about."""
    terms: set[str] = set()
    for prompt in session.prompts:
        if prompt.kind in _NOT_OF_A_SUBJECT:
            continue
        for statement, words_of in prompt.statements:
            if words_of in _SUBJECT_WORDS:
                terms |= search_terms(statement.text)
    paths: list[str] = []
    for tool in session.tools:
        paths.extend(tool.reads)
        paths.extend(tool.edits)
    return _Profile(
        terms=frozenset(terms),
        numbers=session_numbers(session),
        files=_file_names(paths),
        branch=branch_of(session),
    )


def _passages(sessions: Iterable[Session]) -> Iterator[Passage]:
    """Yield what the sessions said that may be a line."""
    for session in sessions:
        for step in session.steps:
            if isinstance(step, Message):
                yield from _message_passages(step)
            elif isinstance(step, Prompt) and step.kind not in _NOT_SEARCHED:
                yield from _prompt_passages(step)


def _message_passages(message: Message) -> Iterator[Passage]:
    """Yield what an agent said, each statement with its neighbours."""
    for statement, text in windows(message.statements):
        if has_open_subject(text):
            continue
        if is_usable(statement.text) and not is_process(statement.text):
            features = line_features_of(statement, is_users=False)
            features["automatic"] = float(message.is_automatic)
            yield _passage(
                message,
                statement,
                text,
                features,
            )


def _prompt_passages(prompt: Prompt) -> Iterator[Passage]:
    """Yield what the user said, and the summaries and plans that were handed on."""
    for statement, words_of in prompt.statements:
        if words_of in _NOBODYS_WORDS or not is_usable(statement.text):
            continue
        if is_question(statement.text):
            continue
        if words_of not in _USERS_WORDS and is_process(statement.text):
            continue
        features = line_features_of(statement, is_users=True)
        text = _SPEAKER.get(words_of, "") + standing_alone(statement)
        yield _passage(
            prompt,
            statement,
            text,
            features,
        )


def _passage(
    step: Prompt | Message,
    statement: Statement,
    text: str,
    features: Mapping[str, float],
) -> Passage:
    """Return a passage of a prompt or a message."""
    return Passage(
        text=text,
        at=step.at,
        session=step.session,
        event=step.event,
        terms=search_terms(f"{text} {statement.heading}"),
        features=features,
        is_users=isinstance(step, Prompt),
    )


def _postings(passages: Sequence[Passage]) -> dict[str, Integers]:
    """Return for every word the numbers of the passages that have it."""
    holders: dict[str, list[int]] = defaultdict(list)
    for number, passage in enumerate(passages):
        for word in passage.terms:
            holders[word].append(number)
    return {word: np.array(numbers) for word, numbers in holders.items()}


def _rarity(postings: Mapping[str, Integers], n_passages: int) -> dict[str, float]:
    """Return how informative each word is: BM25's inverse document frequency."""
    rarity: dict[str, float] = {}
    for word, holders in postings.items():
        rarity[word] = _rarity_of_a_word(len(holders), n_passages)
    return rarity


def _rarity_of_a_word(n_holders: int, n_passages: int) -> float:
    """Return how informative a word is that so many of the passages have."""
    return math.log(1 + (n_passages - n_holders + 0.5) / (n_holders + 0.5))


def _length_norm(passages: Sequence[Passage]) -> Floats:
    """Return by how much the score of every passage shrinks for its length."""
    lengths = np.array([len(item.terms) for item in passages], dtype=np.float64)
    if len(lengths) == 0:
        return lengths
    relative = lengths / max(1.0, float(lengths.mean()))
    return np.asarray(1 / (1 - LENGTH_NORMALIZATION + LENGTH_NORMALIZATION * relative))


def _continuation(query: _Query, profile: _Profile) -> str:
    """Return why a prompt goes on with a session, in plain words; '' if it does not."""
    shared_numbers = sorted(query.numbers & profile.numbers)
    if shared_numbers:
        return f"the prompt is about #{shared_numbers[0]} too"
    if profile.branch and profile.branch in query.text:
        return f"the prompt is about the branch {profile.branch} too"
    if _CONTINUING.search(query.text[:_LONGEST_READ]):
        return "the prompt goes on with earlier work"
    return ""


def _reweighed(line: Candidate, weight: float, why: str) -> Candidate:
    """Return a candidate with another weight and reason."""
    return Candidate(
        section=line.section,
        kind=line.kind,
        text=line.text,
        weight=weight,
        at=line.at,
        session=line.session,
        words=line.words,
        events=line.events,
        why=why,
        features=line.features,
    )


def _repeats(words: frozenset[str], shown: Sequence[frozenset[str]]) -> bool:
    """Return whether a line that is shown already says the same."""
    for others in shown:
        if len(words & others) < _FEWEST_SAME_WORDS:
            continue
        if overlap(words, others) > _SAME_LINE:
            return True
    return False
