"""Score what a context would have been worth to the next coding session.

The scores are of files, edits, terms, repeats and waste; no judge is needed. A session
is scored from the sixth on, against what was recorded before its first line, in any
session. A context is a text; what stands beyond its budget of bytes is not read.

* file: the share of the files that the session reads or edits, of those known before,
  that the context names: by the whole path, or by an end of it (at a /) that no other
  known file has; one that is not plain in quotes, or alone on a line. Case and
  Markdown's backslashes do not count.
* edit: the same of the files that it edits.
* term: the share, weighted by idf, of the session's informative terms that the context
  holds. A term is a word of at least four characters in its prompts or in the last
  messages of its turns, which occurs before in at most a fifth of the sessions. After
  the first prompt the terms of that prompt do not count.
* repeat: of the session's directives (sentences of later prompts that say always,
  never, don't, instead, …) that share three informative terms and half of their idf
  with a directive given before, the share whose common terms the context holds to 70 %:
  what the user had to say again.
* waste: the share of the context's words, by length, that the session never uses.
* mean: the mean of file, edit and term.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from theorex_lab.eval.adapters.protocol import EvalLog, SessionLine
from theorex_lab.text.paths import read_shown_path

FIRST_SESSIONS = 5  # these are only history
_RARE_SHARE = 0.2  # of the sessions so far, for a term to be informative
_SHARED_TERMS = 3
_SHARED_IDF = 0.5
_HELD_IDF = 0.7
_BYTES_PER_TOKEN = 4
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]{3,}")
_TOKEN = re.compile(r"[\w@.+\-/\[\]()~%]+")
# As `shown_path` shows a path that is not plain.
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\(?:["\\/bfnrt]|u[0-9a-f]{4}))+"')
_ESCAPED = re.compile(r"\\([\\`*_\[\]<>#|~!])")
_ESCAPED_WORD = re.compile(r"\\([_*`])")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_SENTENCE_CHARACTERS = range(15, 401)
_DIRECTIVE = re.compile(
    r"(?i)\b(always|never|don'?t|do not|instead|must|should|shouldn'?t|make"
    r" sure|ensure|remember|prefer|stop|only"
    r"|rather than|not supposed)\b"
)


@lru_cache(1 << 18)
def words(text: str) -> frozenset[str]:
    """Return the words of at least four characters, in lower case.

    >>> sorted(words("Use the TTL cache, always."))
    ['always', 'cache']
    """
    return frozenset(word.lower() for word in _WORD.findall(text))


@lru_cache(1 << 17)
def sentences(text: str) -> tuple[str, ...]:
    """Return sentences and lines of 15 to 400 characters."""
    parts = [part.strip() for part in _SENTENCE.split(text)]
    return tuple(part for part in parts if len(part) in _SENTENCE_CHARACTERS)


def ends_of(path: str) -> list[str]:
    """Return a path and its ends after a /, the longest first."""
    ends = [path]
    rest = path
    while "/" in rest:
        rest = rest.partition("/")[2]
        ends.append(rest)
    return ends


class PathEnds:
    """Which file an end of a path stands for, at any time while files became known.

    An end begins at a /, whatever its case.

    >>> ends = PathEnds(["a/x.py", "b/x.py"])
    >>> (
    ...     ends.file("x.py"),
    ...     ends.file("B/x.py"),
    ...     ends.file("y.py"),
    ...     ends.file("x.py", known=1),
    ... )
    ('', 'b/x.py', None, 'a/x.py')
    """

    def __init__(self, paths: Iterable[str] = ()) -> None:
        # By end: (number of the file, what it stands for then).
        self._meant: dict[str, list[tuple[int, str]]] = defaultdict(list)
        # In the order in which they were first touched.
        self.known: dict[str, None] = {}
        for path in paths:
            self.add(path)

    def add(self, path: str) -> None:
        """Make a file known, unless it is."""
        if path in self.known:
            return
        whole = path.lower()
        number = len(self.known)
        for end in ends_of(whole):
            meant = self._meant[end]
            is_unique = end == whole or not meant
            meant.append((number, path if is_unique else ""))
        self.known[path] = None

    def file(self, end: str, known: int | None = None) -> str | None:
        """Return the file that an end stood for among the first `known`.

        It is '' where it stood for several, None for none.
        """
        file = None
        for number, path in self._meant.get(end.lower(), ()):
            if known is not None and number >= known:
                break
            file = path
        return file


def shortest_end(path: str, ends: PathEnds) -> str:
    """Return the shortest end of a path that stands for it alone.

    >>> shortest_end("a/x.py", PathEnds(["a/x.py", "b/x.py", "b/y.py"]))
    'a/x.py'
    """
    for end in reversed(ends_of(path)):
        if ends.file(end) == path:
            return end
    return path


@dataclass(frozen=True, eq=False)
class Scene:
    """A session to be scored: when it starts, its first prompt, and what it will need.

    Attributes:
        at: When it starts, in µs UTC.
        ends: The ends of files, the first `known` of them known before.
        files: Of the known files those that it will touch.
        edits: Of the known files those that it will edit.
        terms: Its informative terms with their idf.
        repeats: Of each repeated directive, the common terms with their idf.
        used: The words that it uses in prompts, last messages and inputs of tools.
    """

    session: str
    at: int
    prompt: str
    ends: PathEnds
    known: int
    files: frozenset[str]
    edits: frozenset[str]
    terms: Mapping[str, float]
    repeats: tuple[Mapping[str, float], ...]
    used: frozenset[str]

    def terms_wanted(self, *, after_prompt: bool) -> dict[str, float]:
        """Return the terms that count with their idf.

        Args:
            after_prompt: The terms of the first prompt do not count.
        """
        excluded: frozenset[str] = frozenset()
        if after_prompt:
            excluded = words(self.prompt)
        wanted = {}
        for word, weight in self.terms.items():
            if word not in excluded:
                wanted[word] = weight
        return wanted

    def named(self, text: str) -> set[str]:
        """Return the known files that a text names."""
        plain_text = _ESCAPED.sub(r"\1", text).lower()
        files: set[str | None] = set()
        for token in set(_TOKEN.findall(plain_text)):
            files.add(self._file(token))
        for end in _quoted_ends(text):
            files.add(self.ends.file(end, self.known))
        for path in self.files:
            if " " in path and path.lower() in plain_text:
                files.add(path)
        return {file for file in files if file}

    def _file(self, token: str) -> str | None:
        """Return the known file that a word of a text names."""
        file = self.ends.file(token, self.known)
        if file is None:
            token = token.strip(".()[]~%:").removeprefix("./")
            file = self.ends.file(token, self.known)
        if not file and "/" in token:
            file = self._inner_file(token)
        return file

    def _inner_file(self, token: str) -> str | None:
        """Return the file that an end of a path stands for, the longest end first.

        A checkout's folder may stand before the path.
        """
        for end in ends_of(token)[1:-1]:
            file = self.ends.file(end, self.known)
            if file is not None:
                return file
        return None

    def score(
        self, text: str, tokens: int, *, after_prompt: bool = False
    ) -> dict[str, float]:
        """Return the scores of a context; NaN where the session asks for nothing such.

        Args:
            text: The context.
            tokens: The budget; what stands beyond it is not read.
            after_prompt: The context is given after the first prompt, not at the
                start.
        """
        within_budget = text.encode()[: _BYTES_PER_TOKEN * tokens]
        text = within_budget.decode("utf-8", "ignore")
        named = self.named(text)
        context_words = words(_ESCAPED_WORD.sub(r"\1", text))
        wanted = self.terms_wanted(after_prompt=after_prompt)
        n_named_files = len(named & self.files)
        n_named_edits = len(named & self.edits)
        shares = {
            "file": share(n_named_files, len(self.files)),
            "edit": share(n_named_edits, len(self.edits)),
            "term": _held(wanted, context_words),
        }
        asked_for = []
        for value in shares.values():
            if not math.isnan(value):
                asked_for.append(value)
        repeats: list[float] = []
        for common in self.repeats:
            is_held = _held(common, context_words) >= _HELD_IDF
            repeats.append(float(is_held))
        n_tokens = math.ceil(len(text.encode()) / _BYTES_PER_TOKEN)
        return {
            **shares,
            "mean": _mean(asked_for),
            "repeat": _mean(repeats),
            "waste": self._waste(text),
            "tokens": float(n_tokens),
        }

    def _waste(self, text: str) -> float:
        """Return the share of a text's words, by length, that a session never uses."""
        n_letters = 0
        n_useful = 0
        for word in _WORD.findall(text):
            lower = word.lower()
            n_letters += len(lower)
            if lower in self.used:
                n_useful += len(lower)
        return 1 - share(n_useful, n_letters)


def _quoted_ends(text: str) -> set[str]:
    """Return what a text names in quotes, or alone on a line, that is no plain word."""
    ends: set[str | None] = set()
    ends.update(line.strip() for line in text.splitlines())
    for token in _QUOTED.findall(text):
        ends.add(read_shown_path(token))
    return {end for end in ends if end and not _TOKEN.fullmatch(end)}


def share(part: float, whole: float) -> float:
    """Return the share that a part is of the whole; NaN where there is none."""
    if not whole:
        return math.nan
    return part / whole


def _mean(values: Sequence[float]) -> float:
    """Return the mean, NaN of no values."""
    return share(sum(values), len(values))


def _held(weights: Mapping[str, float], context_words: frozenset[str]) -> float:
    """Return the share of the weights whose words a context holds."""
    # Exact sums: words stand in the order of their hashes, which differs from process
    # to process.
    held_words = weights.keys() & context_words
    held = math.fsum(weights[word] for word in held_words)
    total = math.fsum(weights.values())
    return share(held, total)


@lru_cache(2)
def scenes(log: EvalLog) -> Sequence[Scene]:
    """Return the sessions of a log that are scored, in the order of their starts.

    There are none where the log has five sessions or fewer.
    """
    # The sort is stable: lines of one time stay in the order of the log.
    lines = sorted(log.lines, key=lambda line: line.at)
    by_session: dict[str, list[SessionLine]] = defaultdict(list)
    for line in lines:
        by_session[line.session].append(line)

    def start_of(session: str) -> tuple[int, str]:
        first_line = by_session[session][0]
        return first_line.at, session

    past = _Past()
    n_past = 0
    scored_sessions = []
    for session in sorted(by_session, key=start_of)[FIRST_SESSIONS:]:
        session_lines = by_session[session]
        while lines[n_past].at < session_lines[0].at:
            past.add(lines[n_past])
            n_past += 1
        scored_sessions.append(past.scene(session, session_lines))
    return scored_sessions


class _Past:
    """What was recorded so far, grown line by line."""

    def __init__(self) -> None:
        self.ends = PathEnds()
        self.directives = list[frozenset[str]]()
        # The words of each session, and the number of sessions with each word.
        self.session_words: dict[str, set[str]] = defaultdict(set)
        self.sessions_with: Counter[str] = Counter()

    def add(self, line: SessionLine) -> None:
        """Take in a line of a session."""
        for path in (*line.reads, *line.edits):
            self.ends.add(path)
        text = line.prompt or line.message or line.inputs
        if text:
            session_words = self.session_words[line.session]
            new_words = words(text) - session_words
            session_words |= new_words
            self.sessions_with.update(new_words)
        for sentence in _directives(line.prompt):
            self.directives.append(words(sentence))

    def scene(self, name: str, lines: Sequence[SessionLine]) -> Scene:
        """Return the session of these lines, to be scored against the past."""
        idf = self._idf()
        prompts = [line.prompt for line in lines if line.prompt]
        talk_words: set[str] = set()
        used: set[str] = set()
        reads: set[str] = set()
        edits: set[str] = set()
        for line in lines:
            talk_words |= words(line.prompt) | words(line.message)
            used |= words(line.inputs)
            reads.update(line.reads)
            edits.update(line.edits)
        known_files = self.ends.known.keys()
        return Scene(
            session=name,
            at=lines[0].at,
            prompt=prompts[0] if prompts else "",
            ends=self.ends,
            known=len(known_files),
            files=frozenset((reads | edits) & known_files),
            edits=frozenset(edits & known_files),
            terms={word: idf[word] for word in talk_words if word in idf},
            repeats=tuple(self._repeats(prompts[1:], idf)),
            used=frozenset(talk_words | used),
        )

    def _idf(self) -> dict[str, float]:
        """Return the idf of each word that few enough sessions hold."""
        n_sessions = len(self.session_words)
        most = max(1.0, _RARE_SHARE * n_sessions)
        idf = {}
        for word, n_with in self.sessions_with.items():
            if n_with <= most:
                idf[word] = math.log(n_sessions / n_with)
        return idf

    def _repeats(
        self, prompts: Sequence[str], idf: Mapping[str, float]
    ) -> Iterator[dict[str, float]]:
        """Yield the terms that each repeated directive shares with an earlier one."""
        for prompt in prompts:
            for sentence in _directives(prompt):
                terms = {word for word in words(sentence) if word in idf}
                best = self._most_similar(terms, idf)
                common_idf = math.fsum(best.values())
                own_idf = math.fsum(idf[word] for word in terms)
                is_enough = common_idf >= _SHARED_IDF * own_idf
                if is_enough and len(best) >= _SHARED_TERMS:
                    yield best

    def _most_similar(
        self, terms: set[str], idf: Mapping[str, float]
    ) -> dict[str, float]:
        """Return the terms in common with the most similar earlier directive."""
        most_similar: dict[str, float] = {}
        highest = -math.inf
        for earlier in self.directives:
            common = {word: idf[word] for word in terms & earlier}
            total = math.fsum(common.values())
            if total > highest:
                highest = total
                most_similar = common
        return most_similar


def _directives(prompt: str) -> list[str]:
    """Return the sentences of a prompt that say what to do always, never, instead.

    Other such words count too.
    """
    if not prompt:
        return []
    return [sentence for sentence in sentences(prompt) if _DIRECTIVE.search(sentence)]
