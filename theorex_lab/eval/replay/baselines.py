"""Name the memories that can be compared.

They are baselines so plain that a design must be worth more, designs, and one's own.
Each is driven through the four methods of an `eval.adapters.protocol.MemoryDesign`:
observe, consolidate, inject, retrieve. Lists of files hold one path a line.
"""

import heapq
import math
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from theorex_lab.core.clock import FixedClock
from theorex_lab.core.errors import InvalidInput, ModelUnavailable
from theorex_lab.core.imports import import_string
from theorex_lab.core.settings import Settings
from theorex_lab.designs import installed
from theorex_lab.eval.adapters.named import adapter_named
from theorex_lab.eval.adapters.named import names as adapter_names
from theorex_lab.eval.adapters.protocol import EvalQuery, MemoryDesign
from theorex_lab.eval.datasets.design_texts import (
    as_observation,
    design_words,
    is_of_a_design,
)
from theorex_lab.eval.metrics.sessions import (
    PathEnds,
    Scene,
    sentences,
    shortest_end,
    words,
)
from theorex_lab.eval.replay.latest_answers import LatestAnswer, RepeatedSearch
from theorex_lab.eval.replay.repeated_vectors import repeating_model
from theorex_lab.journal.event import Event
from theorex_lab.memory.briefing.candidates import Candidate
from theorex_lab.memory.briefing.compose import kept_start_candidates
from theorex_lab.memory.briefing.design_lines import design_candidates
from theorex_lab.memory.briefing.notes import note_candidates
from theorex_lab.memory.briefing.selection import choose
from theorex_lab.memory.briefing.session_log import recorded_sessions
from theorex_lab.memory.briefing.token_budget import items_within
from theorex_lab.memory.contract import Design, Item, item_kinds
from theorex_lab.memory.retrieve import Hits
from theorex_lab.search.embed import Embedder
from theorex_lab.search.items import OBSERVATION
from theorex_lab.store.lab import Lab
from theorex_lab.text.line import BYTES_PER_TOKEN, one_line

PROMPT_CHARACTERS = 600
_EDIT_WEIGHT = 2.0  # what was edited stands before what was read
_MOST_LINES = 3_000  # that the oracle chooses from
_SPOKEN = ("prompt", "turn_ended")
_MOST_HITS = 100
# The members of an event's body that hold its text, by its kind.
_TEXT_MEMBERS = {
    "tool_used": ("command", "input"),
    "turn_ended": ("message",),
}
Memory = str | Design | Callable[[], MemoryDesign]


def text_of(event: Event) -> str:
    """Return what an event says in words, '' where it says nothing."""
    if is_of_a_design(event):
        return design_words(event)
    body = event.body
    members = _TEXT_MEMBERS.get(event.kind, ("text", "decision"))
    text = next((body[name] for name in members if body.get(name)), "")
    return text if isinstance(text, str) else ""


class Baseline:
    """Remembers every event as it is, and gives nothing.

    A subclass says in which order its items are given.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []

    def observe(self, events: Sequence[Event]) -> None:
        """Keep them."""
        self.events += events

    def consolidate(self, now: int) -> None:
        """Do nothing: a baseline has no maintenance."""

    def items(
        self,
        now: int,
        query: str,
        tokens: int,
    ) -> Iterable[Item]:
        """Return what is worth giving, best first.

        Args:
            now: The present, in µs UTC.
            query: What is asked; '' at a session's start.
            tokens: The budget, in tokens.
        """
        return ()

    def inject(self, now: int, tokens: int) -> Sequence[Item]:
        """Return the first items within the budget."""
        return self.retrieve("", now, tokens)

    def retrieve(
        self,
        query: str,
        now: int,
        tokens: int,
    ) -> Sequence[Item]:
        """Return the first items for the query within the budget."""
        return items_within(self.items(now, query, tokens), tokens, 0)

    def said(self, *kinds: str, characters: int = PROMPT_CHARACTERS) -> Iterator[Item]:
        """Yield the texts of these kinds of events, newest first, each once.

        Without kinds, the texts of all events are given.
        """
        texts = set()
        for event in reversed(self.events):
            if kinds and event.kind not in kinds:
                continue
            text = one_line(text_of(event), characters)
            if text and text not in texts:
                texts.add(text)
                yield Item(text, (event.id,))


class LastPrompts(Baseline):
    """Gives what was asked last."""

    def items(
        self,
        now: int,
        query: str,
        tokens: int,
    ) -> Iterable[Item]:
        """Return the prompts, the newest first."""
        return self.said("prompt")


class Files(Baseline):
    """Gives known files, those touched last first.

    short: as the shortest end that stands for each alone.
    """

    def __init__(self, *, short: bool = False) -> None:
        super().__init__()
        self.short = short
        self._ends = PathEnds()
        self.touched = defaultdict[str, list[Event]](list)

    def observe(self, events: Sequence[Event]) -> None:
        """Take in which files the events touch."""
        super().observe(events)
        for event in events:
            for path, _ in paths_of(event):
                self.touched[path].append(event)
                self._ends.add(path)

    def items(
        self,
        now: int,
        query: str,
        tokens: int,
    ) -> Iterable[Item]:
        """Return the files, the one touched last first."""

        def minus_last_touch(path: str) -> int:
            return -self.touched[path][-1].at

        for path in sorted(self.touched, key=minus_last_touch):
            ids = dict.fromkeys(event.id for event in self.touched[path])
            name = path
            if self.short:
                name = shortest_end(path, self._ends)
            yield Item(name, tuple(ids))


def paths_of(event: Event) -> list[tuple[str, float]]:
    """Return the files that a tool call touched, each with its weight."""
    paths = event.body.get("paths") if event.kind == "tool_used" else None
    if not isinstance(paths, dict):
        return []
    weighted = [(path, 1.0) for path in paths["read"]]
    weighted += [(path, _EDIT_WEIGHT) for path in paths["edited"]]
    return weighted


class LastSession(Baseline):
    """Gives the files and prompts of the session that spoke last."""

    def items(
        self,
        now: int,
        query: str,
        tokens: int,
    ) -> Iterable[Item]:
        """Return what was said in the last session."""
        last = ""
        if self.events:
            last = max(self.events, key=lambda event: event.at).session
        files: dict[str, Item] = {}
        prompts: list[Item] = []
        for event in reversed(self.events):
            if event.session != last:
                continue
            for path, _ in sorted(paths_of(event), key=lambda touch: -touch[1]):
                files.setdefault(path, Item(path, (event.id,)))
            if event.kind == "prompt":
                text = one_line(text_of(event), PROMPT_CHARACTERS)
                prompts.append(Item(text, (event.id,)))
        return [*files.values(), *prompts]


class Bm25(Baseline):
    """Gives the texts that share most with the query, by Okapi BM25 (k1 1.2, b .75).

    A word counts once a text.
    """

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str, Item] = {}  # the text said last at the end
        self._ranked: tuple[tuple[str, int], list[Item]] = ("", 0), []
        self._texts_with = Counter[str]()
        self._words = dict[str, frozenset[str]]()

    def observe(self, events: Sequence[Event]) -> None:
        """Take in the texts of the events, and the words of each."""
        super().observe(events)
        for event in events:
            text = one_line(text_of(event), PROMPT_CHARACTERS)
            if text:
                self.texts.pop(text, None)
                self.texts[text] = Item(text, (event.id,))

    def rank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return how similar each text is to the query; at 0 it is not given."""
        for text in texts:
            if text not in self._words:
                self._words[text] = words(text)
                self._texts_with.update(self._words[text])
        n_texts = len(self._words)
        mean_length = max(1.0, self._texts_with.total() / max(1, n_texts))
        idf = {}
        for word in words(query):
            n_with = self._texts_with[word]
            idf[word] = math.log(1 + (n_texts - n_with + 0.5) / (n_with + 0.5))
        similarities = []
        for text in texts:
            text_words = self._words[text]
            shared = math.fsum(idf[word] for word in idf.keys() & text_words)
            length = 1 + 1.2 * (0.25 + 0.75 * len(text_words) / mean_length)
            similarities.append(shared * 2.2 / length)
        return similarities

    def items(
        self,
        now: int,
        query: str,
        tokens: int,
    ) -> Iterable[Item]:
        """Return the texts that share words with the query, best first."""
        if not query.strip():
            return ()
        request = (query, len(self.events))
        former_request, former_items = self._ranked
        if request == former_request:
            return former_items
        newest = list(self.texts.values())[::-1]
        texts = [item.text for item in newest]
        similarity = np.asarray(self.rank(query, texts), float)
        order = np.argsort(-similarity, kind="stable")
        items = [newest[row] for row in order if similarity[row] > 0]
        self._ranked = (request, items)
        return items


class Shuffled(Baseline):
    """Gives the newest files and texts of another log.

    It shows how much of a score any memory of some work would get. What it gives rests
    on no event of the log that is asked about.
    """

    def __init__(self, other: Sequence[Event] = ()) -> None:
        super().__init__()
        self._other = other
        self._taken = 0

    def observe(self, events: Sequence[Event]) -> None:
        """Remember as many events of the other log in their place."""
        self.events += self._other[self._taken : self._taken + len(events)]
        self._taken += len(events)

    def items(
        self,
        now: int,
        query: str,
        tokens: int,
    ) -> Iterable[Item]:
        """Return the files and texts of the other log, the newest first."""
        tokens_of_texts = tokens // 3
        messages = self.said("prompt", "observation", "turn_ended")
        texts = items_within(messages, tokens_of_texts, 0)
        files = Files(short=True)
        files.observe(self.events)
        newest_files = files.items(now, "", tokens)
        paths = items_within(newest_files, tokens - tokens_of_texts, 0)
        return [Item(item.text) for item in [*paths, *texts]]


class OracleLines(Baseline):
    """Gives the lines that hold most of what is needed later: an upper bound with hindsight.

    They are lines that were said. No memory can exceed it by much.
    """

    def __init__(self) -> None:
        super().__init__()
        self._spoken = list[Item]()
        self._target: Scene | EvalQuery | None = None

    def observe(self, events: Sequence[Event]) -> None:
        """Take in events."""
        super().observe(events)
        self._spoken += [_item_of(event) for event in events if event.kind in _SPOKEN]

    def reveal(self, target: Scene | EvalQuery) -> None:
        """Tell it what it will be scored on next."""
        self._target = target

    def items(
        self,
        now: int,
        query: str,
        tokens: int,
    ) -> Iterable[Item]:
        """Return the lines that hold most of what will be needed."""
        if isinstance(self._target, Scene):
            spoken = reversed(self._spoken)
            return _best_lines(self._target, spoken, after_prompt=bool(query))
        if self._target is None:
            return ()
        answers = self._target.answers
        return (_item_of(event) for event in self.events if event.id in answers)


def _item_of(event: Event) -> Item:
    """Return the text of an event, resting on it."""
    return Item(text_of(event), (event.id,))


class _Line(NamedTuple):
    """A line that the oracle may give, and the paths and terms that it holds."""

    item: Item
    needs: frozenset[str]


def _best_lines(
    scene: Scene, spoken: Iterable[Item], *, after_prompt: bool
) -> Iterator[Item]:
    """Yield paths and sentences, always the one that holds most of what is needed.

    What a line holds counts by its length: a short line stands before a long one.
    """
    weights_left = _weights(scene, after_prompt=after_prompt)

    def loss(line: _Line) -> float:
        weight = math.fsum(weights_left.get(need, 0.0) for need in line.needs)
        n_bytes = len(line.item.text.encode()) + 1
        return -weight / n_bytes

    wanted = scene.terms_wanted(after_prompt=after_prompt)
    lines = _lines(scene, spoken, wanted)
    scored_lines = ((loss(line), number, line) for number, line in enumerate(lines))
    pool = heapq.nsmallest(_MOST_LINES, scored_lines)
    while pool:
        former_loss, number, line = heapq.heappop(pool)
        current_loss = loss(line)
        if current_loss > former_loss:  # what it holds was given meanwhile
            if current_loss:
                heapq.heappush(pool, (current_loss, number, line))
            continue
        yield line.item
        for need in line.needs:
            weights_left.pop(need, None)


def _weights(scene: Scene, *, after_prompt: bool) -> dict[str, float]:
    """Return how much each term and each file of a session counts."""
    terms = scene.terms_wanted(after_prompt=after_prompt)
    total = math.fsum(terms.values()) or 1.0
    weights = {word: weight / total for word, weight in terms.items()}
    for path in scene.files:
        weights[path] = 1 / len(scene.files)
        if path in scene.edits:
            weights[path] += 1 / len(scene.edits)
    return weights


def _lines(
    scene: Scene, spoken: Iterable[Item], terms: Mapping[str, float]
) -> list[_Line]:
    """Return the needed files and the sentences of two terms or more, each once."""
    lines: dict[str, _Line] = {}
    for path in sorted(scene.files):
        lines[path] = _Line(Item(path), frozenset([path]))
    wanted = frozenset(terms)
    for item in spoken:
        for sentence in sentences(item.text):
            held_terms = words(sentence) & wanted
            if len(held_terms) > 1 and sentence not in lines:
                lines[sentence] = _Line(Item(sentence, item.events), held_terms)
    return list(lines.values())


BASELINES: dict[str, Callable[[], Baseline]] = {
    "nothing": Baseline,
    "last_session": LastSession,
    "last_prompts": LastPrompts,
    "recent_files": Files,
    "short_files": partial(Files, short=True),
    "bm25": Bm25,
    "shuffled": Shuffled,
    "oracle_lines": OracleLines,
}


class ReplayAdapter:
    """Designs in a home of their own, on a clock that stands where the log does.

    It is a `MemoryDesign`, and remembers what it observes as a home does. Maintenance
    runs the steps of the designs; it injects the lines of the context, and retrieves
    the hits of a search. The home is in a temporary folder, which is
    gone when it is closed.
    """

    def __init__(
        self,
        designs: Sequence[Design],
        *,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        """Make the home.

        It raises as `Lab` does.
        """
        self._clock = FixedClock(0)
        self._shown = set[str]()
        self._folder = tempfile.TemporaryDirectory(
            prefix="theorex-compare-", ignore_cleanup_errors=True
        )
        self.lab = Lab(
            Path(self._folder.name) / "home",
            clock=self._clock,
            designs=designs,
            settings=settings,
            embedder=embedder or repeating_model(settings or Settings()),
        )
        # The home as it is asked: of all projects, or of one.
        self._here = self.lab
        self._hits = LatestAnswer[Hits]()
        self._candidates = LatestAnswer[list[Candidate]]()
        self._evidence = LatestAnswer[dict[frozenset[str], tuple[str, ...]]]()

    def enter(self, project: str) -> None:
        """Answer from now on as in this project; '' is none."""
        self._here = self.lab.in_project(project) if project else self.lab

    def observe(self, events: Sequence[Event]) -> None:
        """Append what happened, in journal order.

        What another design's event says comes in as a text that was written then.

        Raises:
            InvalidInput: An event cannot be stored.
        """
        readable_events = []
        for event in events:
            readable = event
            if not self._reads(event):
                observation = as_observation(event)
                if observation is None:
                    continue
                readable = observation
            readable_events.append(readable)
        self.lab.journal.append(readable_events, allow_future=True)
        self._shown.update(event.id for event in readable_events)

    def _reads(self, event: Event) -> bool:
        """Whether the designs here read such an event.

        Designs have types of written texts of their own, which the others do not find.
        """
        designs = self.lab.home.designs
        if is_of_a_design(event):
            return any(event.kind in design.kinds for design in designs)
        if event.kind != OBSERVATION.name:
            return True
        for item_kind in item_kinds(designs):
            reader = item_kind.texts.get(event.kind)
            if reader is not None and not item_kind.label and any(reader(event)):
                return True
        return False

    def consolidate(self, now: int) -> None:
        """Run the steps of the designs for all agents, and embed what is queued.

        Args:
            now: The present, in µs UTC.
        """
        self._clock.microseconds = now
        for design in self.lab.home.designs:
            for step in design.steps:
                step.run(self.lab.home, None)
        with suppress(ModelUnavailable):  # then words decide, as in any home
            self.lab.searcher.vectors.embed_maintained()
        # New vectors change what is found, and are no events.
        self._hits.forget()

    def inject(self, now: int, tokens: int) -> list[Item]:
        """Return what the designs offer a session at `now` (µs UTC) within `tokens`.

        A design that retrieves from sessions offers what a briefing makes of them.
        """
        self._clock.microseconds = now
        candidates = self._candidates.of(
            self._state(now), partial(self._candidates_at, now)
        )
        lines = choose(candidates, tokens)
        return self._given([(line.text, line.events) for line in lines], tokens)

    def _candidates_at(self, now: int) -> list[Candidate]:
        """Return the lines of which a session at `now` (µs UTC) is offered some."""
        home = self._here.home
        candidates = design_candidates(home, now, automatic=True)
        if any(design.reads_sessions for design in home.designs):
            candidates += kept_start_candidates(recorded_sessions(home, now), now)
            candidates += note_candidates(home, now)
        return candidates

    def _state(self, now: int) -> tuple[int, int, str]:
        """Return what answers depend on beside the question: events, time, project."""
        return self.lab.journal.last_seq(), now, self._here.home.project

    def retrieve(
        self,
        query: str,
        now: int,
        tokens: int,
    ) -> list[Item]:
        """Return what a search finds, best first, as far as `tokens` reach.

        Args:
            query: What is searched for.
            now: The present, in µs UTC.
            tokens: The budget, in tokens.
        """
        self._clock.microseconds = now
        searcher = RepeatedSearch(self._here.searcher, self._hits, self._state(now))
        for design in self.lab.home.designs:
            if design.retrieve is not None:
                answers = design.retrieve(
                    self._here.home,
                    searcher,
                    query,
                    now,
                    tokens,
                )
                return self._given(answers, tokens)
        hits = searcher.search(
            query, limit=_MOST_HITS, projects=self._here.home.projects
        )
        texts = []
        for hit, event_id in zip(hits, hits.events, strict=True):
            texts.append((hit.text, [event_id]))
        return self._given(texts, tokens)

    def _given(
        self, texts: Iterable[tuple[str, Iterable[str]]], tokens: int
    ) -> list[Item]:
        """Return texts with the events that they rest on, as far as the tokens reach.

        Each text is a line.
        """
        items: list[Item] = []
        # The same events are asked for in each budget; they change with the journal.
        evidence = self._evidence.of(self.lab.journal.last_seq(), dict)
        bytes_left = BYTES_PER_TOKEN * tokens + 1  # no line break after the last
        for text, ids in texts:
            bytes_left -= len(text.encode()) + 1
            if bytes_left < 0:
                break
            event_ids = frozenset(ids)
            if event_ids not in evidence:
                evidence[event_ids] = self._observed(event_ids)
            items.append(Item(text, evidence[event_ids]))
        return items

    def _observed(self, ids: frozenset[str]) -> tuple[str, ...]:
        """Return the observed events that these events rest on.

        Ids of anything else rest on none.
        """
        observed_ids: dict[str, None] = {}
        pending_ids = set(ids)
        visited_ids = set[str]()
        while pending_ids:
            events = list(self.lab.journal.read(ids=sorted(pending_ids)))
            visited_ids |= pending_ids
            parent_ids = set[str]()
            for event in events:
                if event.id in self._shown:
                    observed_ids[event.id] = None
                else:
                    parent_ids.update(event.lineage)
            pending_ids = parent_ids - visited_ids
        return tuple(observed_ids)

    def size(self) -> int:
        """Return bytes of the home."""
        files = [file for file in self.lab.folder.rglob("*") if file.is_file()]
        return sum(file.stat().st_size for file in files)

    def close(self) -> None:
        """Close the home and remove it."""
        self.lab.close()
        self._folder.cleanup()


@dataclass(frozen=True)
class ReplayAdapterMaker:
    """Makes a fresh memory.

    It can be sent to another process as long as what it makes it of can.

    Attributes:
        memory: What is made: a name, a design, or a function that makes it.
        other: The events of another log, for `shuffled`.
        settings: Those of a design's home.
        embedder: That of a design's home.
    """

    memory: Memory
    other: tuple[Event, ...] = ()
    settings: Settings | None = None
    embedder: Embedder | None = None

    def __call__(self) -> MemoryDesign:
        """Return a memory without events.

        Raises:
            InvalidInput: The name is unknown.
        """
        memory: Any = self.memory
        if isinstance(memory, str):
            memory = memory_named(memory, self.other)
        if isinstance(memory, Design):
            return ReplayAdapter(
                [memory],
                settings=self.settings,
                embedder=self.embedder,
            )
        made: MemoryDesign = memory()
        return made


def names_of(memories: Sequence[Memory] | Mapping[str, Memory]) -> dict[str, Memory]:
    """Return each memory under its name.

    Raises:
        InvalidInput: A name is unknown, or two memories have one name.
    """
    if isinstance(memories, Mapping):
        pairs = list(memories.items())
    else:
        pairs = [(_name_of(memory), memory) for memory in memories]
    named: dict[str, Memory] = {}
    for name, memory in pairs:
        if name in named:
            raise InvalidInput(f"got {name} twice; allowed is each memory once")
        if isinstance(memory, str):
            memory_named(memory)
        named[name] = memory
    return named


def _name_of(memory: Memory) -> str:
    """Return the name of a memory: its `name`, or that of its class or function."""
    if isinstance(memory, str):
        return memory
    function_name = getattr(memory, "__name__", memory)
    return str(getattr(memory, "name", function_name))


def is_baseline(memory: Memory) -> bool:
    """Return whether a memory is one of the baselines, by its name.

    >>> is_baseline("bm25"), is_baseline("theorex")
    (True, False)
    """
    if not isinstance(memory, str):
        return False
    return memory == "shuffled" or memory in BASELINES


def memory_named(
    name: str, other: tuple[Event, ...] = ()
) -> Design | Callable[[], MemoryDesign]:
    """Return the baseline, adapter, design or class `module:Name` of this name.

    Raises:
        InvalidInput: There is none.
    """
    if name == "shuffled":
        return partial(Shuffled, other)
    if name in BASELINES:
        return BASELINES[name]
    adapter = adapter_named(name)
    if adapter is not None:
        return adapter
    designs = {design.name: design for design in installed()}
    if name not in designs and ":" not in name:
        allowed = ", ".join([*designs, *BASELINES, *adapter_names()])
        raise InvalidInput(
            f"got the memory {name!r}; allowed are {allowed}, or a class of yours as module:Name"
        )
    memory: Any = designs.get(name) or import_string(name)
    if not (isinstance(memory, Design) or callable(memory)):
        raise InvalidInput(
            f"got the memory {name!r}; allowed is a class of the four methods, or a Design"
        )
    return memory  # type: ignore[no-any-return]
