"""What was said in sessions: whole sentences of prompts, last messages and notes, and the words of each session."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.designs.sessions.sentences import TEXT_OF, said_in, sentences_in, words
from theorex_lab.journal.columns import Names, Strings, Table
from theorex_lab.journal.event import Body, Event
from theorex_lab.journal.view import View
from theorex_lab.memory.observation import AVOID_TYPE, FIX_TYPE, TRUST

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Said(View):
    """Sentences, one row each, and the words of each session.

    sentences: seq and number (of the sentence in its event), at (µs), text, project, session, agent (numbers of names),
    trust, user (1 for what a user said), own (0 for what may be pasted), written (1 for a note that was written to be kept), standing and worth (0..1).  events: of each
    sentence the id of its event.  first_word: of each text where its words begin in `held`.  used:
    session, project, word, each triple once.  ends: of each session project, first_at, last_at (µs), first_seq, last_seq, and the seq
    up to which it was digested.
    """

    name = "said"
    code = 1
    kinds = (*TEXT_OF, "tool_used", "digest")

    def __init__(self) -> None:
        super().__init__()
        self.projects, self.sessions, self.agents, self.words = Names(), Names(), Names(), Names()
        self.texts, self.events = Names(), Strings()
        self.sentences = Table(
            seq="i8", number="i4", at="i8", text="i4", project="i4", session="i4", agent="i4", trust="i1", user="i1",
            own="i1", written="i1", standing="f4", worth="f4",
        )  # fmt: skip
        self.first_word, self.held = Table(place="i8"), Table(word="i4")
        self.used = Table(session="i4", project="i4", word="i4")
        self.ends = Table(project="i4", first_at="i8", last_at="i8", first_seq="i8", last_seq="i8", digested="i8")
        self._used: set[tuple[int, ...]] = set()

    def _after_load(self) -> None:
        self._used = set(zip(*(self.used[name].tolist() for name in ("session", "project", "word")), strict=True))

    def fold(self, events: Sequence[Event]) -> None:
        """Take in what was said, and which words tools were given."""
        for event in events:
            if event.kind == "digest":
                row = self.sessions.find(f"{event.agent}/{event.session}")
                if row is not None:
                    self.ends["digested"][row] = max(int(self.ends["digested"][row]), event.body["upto"])
                continue
            session = self._session(event)
            if event.kind == "tool_used":
                paths = (path for used in (event.body.get("paths") or {}).values() for path in used)
                self._use(session, event, words(" ".join([event.body.get("command", ""), *paths])))
            elif event.kind in TEXT_OF and event.body.get("type") not in (FIX_TYPE, AVOID_TYPE):
                self._use(session, event, words(said_in(event)))
                self._keep(event, session)

    def _session(self, event: Event) -> int:
        """The row of the event's session: what is of no session is one of its own a day."""
        name = event.session or str(event.at // MICROSECONDS_PER_DAY)
        row = self.sessions.number(f"{event.agent}/{name}")
        if row == len(self.ends):
            self.ends.add(first_at=event.at, first_seq=event.seq)
        if project := self._project(event.body):
            self.ends["project"][row] = project
        self.ends["last_at"][row] = max(int(self.ends["last_at"][row]), event.at)
        self.ends["last_seq"][row] = event.seq
        return row

    def _project(self, body: Body) -> int:
        """The number of a project from 1 on; 0 for what is of none."""
        return self.projects.number(body["project"]) + 1 if body.get("project") else 0

    def _use(self, session: int, event: Event, found: Iterable[str]) -> None:
        project = self._project(event.body)
        new = [use for word in sorted(found) if (use := (session, project, self.words.number(word))) not in self._used]
        self._used.update(new)
        self.used.extend(("session", "project", "word"), new)

    def _keep(self, event: Event, session: int) -> None:
        body = event.body
        owner, project = self.agents.number(event.agent), self._project(body)
        for found in sentences_in(event):
            self.sentences.add(
                seq=event.seq, number=found.number, at=event.at, text=self._text(found.text), agent=owner,
                session=session, project=project, trust=TRUST.get(body.get("source", ""), 0), user=body.get("source") == "user",
                own=found.own, written=event.kind == "observation", standing=found.standing, worth=found.worth,
            )  # fmt: skip
            self.events.append(event.id)

    def _text(self, text: str) -> int:
        """The number of a text, whose words are noted when it is new."""
        number = self.texts.number(text)
        if number == len(self.first_word):
            self.first_word.extend(("place",), [(len(self.held),)])
            self.held.extend(("word",), [(self.words.number(word),) for word in sorted(words(text))])
        return number

    def of_project(self, numbers: NDArray[np.int32], projects: Sequence[str] | None) -> NDArray[np.bool_]:
        """Which of these numbers of projects are of `projects` or of none; None: all."""
        if projects is None:
            return np.ones(len(numbers), np.bool_)
        known = [number + 1 for name in projects if (number := self.projects.find(name)) is not None]
        return np.isin(numbers, [0, *known])

    def words_of(self, texts: Ints) -> tuple[Ints, Ints]:
        """The words of these texts in one row, and where those of each begin."""
        place = self.first_word["place"]
        starts, counts = place[texts], np.append(place[1:], len(self.held))[texts] - place[texts]
        first = np.cumsum(counts) - counts
        picked = np.repeat(starts - first, counts) + np.arange(int(counts.sum()))
        return self.held["word"][picked].astype(np.int64), first


class WordWeights(NamedTuple):
    """By number of a word: idf, 0 where it is in more than a fifth of the sessions, and live, how lately it was in use."""

    idf: Floats
    live: Floats


def word_weights(view: Said, projects: Sequence[str] | None, now: int) -> WordWeights:
    """What the words of sessions tell, of these projects (None: all), at a time (µs)."""
    mine = view.of_project(view.ends["project"], projects) & (view.ends["first_at"] <= now)
    kept = mine[view.used["session"]] & view.of_project(view.used["project"], projects)
    word, session = view.used["word"][kept], view.used["session"][kept]
    count = np.bincount(word, minlength=len(view.words))
    total = int(mine.sum())
    rare = (count > 0) & (count <= max(1.0, 0.2 * total))
    idf = np.where(rare, np.log(max(total, 2) / np.maximum(count, 1)), 0.0)
    age = np.maximum(now - view.ends["last_at"], 0) / MICROSECONDS_PER_DAY
    return WordWeights(idf, np.bincount(word, (age[session] + 0.5) ** -0.5, len(view.words)).astype(np.float64))
