"""Search over what is remembered: whose, how, and what happens when the embedder is
silent.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from conftest import NOW, observation

from benchmarks.measure import DIMENSIONS, GivenVectors
from theorex_lab import (
    FixedClock,
    HashedNgramEmbedder,
    InvalidInput,
    Lab,
    ModelUnavailable,
    Settings,
)
from theorex_lab.core.settings import check_settings
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.memory import embedded
from theorex_lab.search.blend import WEIGHTS, weights_for
from theorex_lab.search.embed import HttpEmbedder, OnnxEmbedder


@pytest.fixture
def lab(clock: FixedClock) -> Iterator[Lab]:
    with Lab.temporary(clock=clock, embedder=HashedNgramEmbedder()) as lab:
        yield lab


class Synonyms:
    """An embedder that knows which words mean the same, and counts what it is asked."""

    id = "synonyms"
    dimensions = 3
    kind = "semantic"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.silent = False

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        if self.silent:
            raise ModelUnavailable("the model sleeps")
        self.asked += texts
        rows = [
            [1, 0, 0] if "car" in text or "automobile" in text else [0, 1, 0]
            for text in texts
        ]
        return np.array(rows, np.float32)


def test_hits_name_the_event_or_the_concept(lab: Lab) -> None:
    written = lab.agent("main").write(
        "TTL invalidation prevents cache stampedes", observation_type="decision"
    )
    (text,) = lab.agent("main").search("stampede")
    assert (text.kind, text.text) == (
        "observation",
        "TTL invalidation prevents cache stampedes",
    )
    assert (text.id, text.timestamp) == (written.event_id, lab.clock.now())
    hits = lab.agent("main").search("stampede", kinds=["concept", "observation"])
    assert {(hit.kind, hit.text) for hit in hits[:2]} == {
        ("observation", "TTL invalidation prevents cache stampedes"),
        ("concept", "cache stampede"),
    }
    concept = next(hit for hit in hits if hit.kind == "concept")
    assert (
        lab.agent("main").axon.graph().nodes[int(concept.id)]["canonical_form"]
        == "cache stampede"
    )
    assert list(hits.frame.columns) == [
        "id",
        "kind",
        "text",
        "agent",
        "score",
        "subject",
        "timestamp",
        "replaced_at",
    ]
    assert (
        "&lt;" in lab.search("stampede <b>", limit=1)._repr_html_()
        or "<table" in hits._repr_html_()
    )
    assert [hit.score for hit in hits] == sorted(
        (hit.score for hit in hits), reverse=True
    )


def test_a_hit_says_what_it_is_about(lab: Lab) -> None:
    text = "The nightly job failed (again). Redis eviction dropped its lock! Retry at noon."
    written = lab.agent("main").write(text)
    (hit,) = lab.search("redis")
    assert hit.subject == ", ".join(written.concepts)
    (named,) = lab.search("redis eviction", kinds=["concept"], limit=1)
    assert (named.text, named.subject) == (
        "redis eviction",
        "Redis eviction dropped its lock!",
    )
    lab.agent("main").write("So Redis eviction is off now.")
    assert [
        hit.subject for hit in lab.search("redis eviction", kinds=["concept"], limit=1)
    ] == [named.subject]
    lab.journal.append([observation("nothing is named in the orchard")])
    assert lab.search("orchard")[0].subject == ""
    lab.erase(ids=[written.event_id])
    (later,) = lab.search("redis eviction", kinds=["concept"], limit=1)
    assert later.subject == "So Redis eviction is off now."


def test_an_agent_never_finds_what_another_keeps(lab: Lab) -> None:
    lab.agent("main").write("the vault code is in the blue folder")
    lab.agent("sage").write("the blue whale is large")
    assert {
        hit.agent for hit in lab.agent("sage").search("blue folder vault", limit=100)
    } == {"sage"}
    assert {hit.agent for hit in lab.search("blue")} == {"main", "sage"}
    assert list(lab.agent("nobody").search("blue")) == []


def test_a_write_of_another_process_is_found_at_once(lab: Lab) -> None:
    lab.search("anything")
    with Lab(lab.folder, clock=lab.clock, embedder=HashedNgramEmbedder()) as other:
        other.agent("main").write("a quokka appeared")
    assert lab.search("quokka")[0].text in ("a quokka appeared", "quokka")


@pytest.mark.parametrize("asked_for", ["the query", "what is pending"])
def test_an_erasure_while_the_embedder_works_leaves_every_vector_with_its_text(
    tmp_path: Path, asked_for: str
) -> None:
    class Interrupted(Synonyms):
        """Another process erases the first document while this one waits for vectors."""

        erases = False

        def embed(self, texts: Sequence[str]) -> np.ndarray:
            if self.erases and (texts == ["automobile"]) == (asked_for == "the query"):
                self.erases = False
                with Lab(tmp_path, clock=FixedClock(NOW), embedder=Synonyms()) as other:
                    assert other.erase(match="secret")
            return super().embed(texts)

    embedder = Interrupted()
    with Lab(tmp_path, clock=FixedClock(NOW), embedder=embedder) as lab:
        for text in ("a secret garden", "a red car", "a tall tree"):
            lab.agent("main").write(text)
        lab.searcher.vectors.embed_pending()
        for text in ("a blue car", "a small tree"):
            lab.agent("main").write(text)
        embedder.erases = True
        first = {hit.text for hit in lab.search("automobile")}
        assert "a red car" in first
        assert lab.searcher.vectors.embed_pending() == 0, "the search did it"
        assert {hit.text for hit in lab.search("automobile")} == {
            "a blue car",
            "a red car",
        }
        assert lab.searcher.vectors.coverage()["queued"] == 0
        assert lab.verify().ok


def test_tags_and_limits(lab: Lab) -> None:
    for number in range(30):
        lab.agent("main").write(
            f"deploy number {number} went well",
            tags=["even" if number % 2 == 0 else "odd"],
        )
    hits = lab.search("deploy", tag="even", limit=20)
    assert len(hits) == 15
    assert all(int(hit.text.split()[2]) % 2 == 0 for hit in hits)
    assert len(lab.search("deploy", limit=3)) == 3
    assert list(lab.search("deploy", tag="unknown")) == []
    for limit in (0, 1001, True, 2.5):
        with pytest.raises(InvalidInput, match="allowed are 1 to 1000"):
            lab.search("deploy", limit=limit)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="empty text"):
        lab.search("  ")


def test_what_sleeps_is_found_only_when_asked_for(lab: Lab, clock: FixedClock) -> None:
    lab.journal.append(
        [observation("the flux capacitor is broken", labels=["flux capacitor"])]
    )
    lab.journal.append(
        [
            observation(
                "the flux is measured", labels=["flux capacitor", "meter"], agent="sage"
            )
        ]
    )
    clock.advance(days=40)
    lab.theorex.scan(agents=["main"])
    assert {hit.agent for hit in lab.search("flux capacitor")} == {"sage"}
    cold = lab.agent("main").search("flux capacitor", cold=True)
    assert {hit.text for hit in cold} == {"the flux capacitor is broken"}
    assert {hit.agent for hit in lab.search("flux capacitor", kinds=["concept"])} == {
        "sage"
    }
    assert (
        len(lab.agent("main").search("flux capacitor", kinds=["concept"], cold=True))
        == 1
    )
    lab.journal.append(
        [observation("flux again", labels=["flux capacitor"], at=clock.now())]
    )
    both = ["concept", "observation"]
    assert len(lab.agent("main").search("flux", kinds=both)) == 3, (
        "awake again: both texts and the concept"
    )


def test_a_text_is_awake_while_one_of_its_concepts_is(
    lab: Lab, clock: FixedClock
) -> None:
    lab.journal.append([observation("alpha and beta", labels=["alpha", "beta"])])
    clock.advance(days=40)
    lab.journal.append([observation("beta lives", labels=["beta"], at=clock.now())])
    lab.theorex.scan()
    assert {hit.text for hit in lab.search("alpha")} == {"alpha and beta"}


def test_vectors_find_what_words_do_not(clock: FixedClock) -> None:
    embedder = Synonyms()
    with Lab.temporary(clock=clock, embedder=embedder) as lab:
        lab.journal.append(
            [observation("my automobile is red"), observation("nothing else")]
        )
        assert lab.searcher.vectors.embed_pending() == 2
        assert [hit.text for hit in lab.search("car")] == ["my automobile is red"]
        asked = len(embedder.asked)
        lab.search("a car")
        assert embedder.asked[asked:] == ["a car"], (
            "only the query: vectors of texts are kept"
        )
        assert lab.searcher.vectors.coverage() == {"covered": 2, "queued": 0}
    with Lab.temporary(clock=clock, embedder=embedder, fusion="reciprocal_rank") as lab:
        lab.journal.append(
            [observation("my automobile is red"), observation("car parks")]
        )
        lab.searcher.vectors.embed_pending()
        assert lab.search("car")[0].text == "car parks"


def test_a_silent_embedder_leaves_the_order_of_the_words(
    clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "_FEW_TEXTS", 0)
    embedder = Synonyms()
    embedder.silent = True
    with Lab.temporary(clock=clock, embedder=embedder) as lab:
        lab.journal.append(
            [observation("my automobile is red"), observation("the car is blue")]
        )
        hits = lab.search("car")
        assert [hit.text for hit in hits] == ["the car is blue"]
        assert hits.notes == ("by words alone: the model sleeps",)
        with pytest.raises(ModelUnavailable, match="the model sleeps"):
            lab.searcher.vectors.embed_pending()
        embedder.silent = False
        hits = lab.search("car")
        assert hits.notes == (
            "0 of 2 texts have vectors; `theorex embed` makes the others",
        )
        assert not {"vector", "passage_vector"} & hits.why[0].keys(), (
            "what nobody knows takes nothing off"
        )
        assert lab.searcher.vectors.embed_pending(limit=1) == 1
        assert lab.search("car").notes == (
            "1 of 2 texts have vectors; `theorex embed` makes the others",
        )
        assert embedder.asked[1] == "the car is blue", "the newest first"
        assert lab.searcher.vectors.embed_pending() == 1
        hits = lab.search("car")
        assert (len(hits), hits.notes) == (2, ())
        assert {"words", "vector"} <= hits.why[0].keys()


def test_an_embedder_that_knows_spelling_alone_queues_and_embeds_nothing(
    lab: Lab,
) -> None:
    lab.agent("main").write("caches go stale")
    assert lab.searcher.vectors.coverage() == {"covered": 0, "queued": 0}
    assert lab.searcher.vectors.embed_pending() == 0
    assert "knows spelling, not meaning" in lab.searcher.vectors.no_vectors
    hits = lab.search("stale caches")
    assert (len(hits), hits.notes) == (1, ())
    assert "vector" not in hits.why[0]
    with Lab.temporary(embedder=Synonyms()) as other:
        assert other.searcher.vectors.no_vectors == ""


@pytest.fixture
def hanging_port() -> Iterator[int]:
    """A server that accepts and says nothing."""
    server = socket.create_server(("127.0.0.1", 0))
    accepted: list[socket.socket] = []

    def accept() -> None:
        while True:
            try:
                accepted.append(server.accept()[0])
            except OSError:
                return

    thread = threading.Thread(target=accept)
    thread.start()
    yield server.getsockname()[1]
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join()
    for connection in accepted:
        connection.close()


class Unloaded(OnnxEmbedder):
    """A local model that counts what it is asked, and is taken for one that is not in
    memory.
    """

    def __init__(self) -> None:
        super().__init__(Path("no model"), Path("no tokenizer"))
        self.id = "unloaded"
        self.asked = list[str]()
        self._dimensions = DIMENSIONS

    def _vectors(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        return GivenVectors().embed(texts)


@pytest.fixture
def unloaded(clock: FixedClock) -> Iterator[Lab]:
    with Lab.temporary(clock=clock, embedder=Unloaded()) as lab:
        for text in (
            "the cache went stale at noon",
            "a cold start took a minute",
            "the stamp of a letter",
        ):
            lab.agent("main").write(text)
        lab.searcher.vectors.embed_pending()
        lab.chosen_embedder[0].asked.clear()
        yield lab


def test_auto_loads_no_model_where_a_text_holds_the_words(unloaded: Lab) -> None:
    asked = unloaded.chosen_embedder[0].asked
    hits = unloaded.search("stale cache", vectors="auto")
    assert hits[0].text == "the cache went stale at noon"
    assert asked == []
    assert hits.why[0]["vector"] > 0, (
        "the vector of what the words find stands in for the query's"
    )
    for query in ("stale milk of the mountain cows", "nothing of this is remembered"):
        unloaded.search(query, vectors="auto")
    assert asked == ["stale milk of the mountain cows", "nothing of this is remembered"]


def test_never_loads_no_model_and_a_process_that_lives_on_always_does(
    unloaded: Lab,
) -> None:
    asked = unloaded.chosen_embedder[0].asked
    assert (
        unloaded.search("stale milk of the mountain cows", vectors="never").notes == ()
    )
    unloaded.settings = check_settings({"searchVectors": "never"})
    unloaded.search("stale milk of the mountain cows")
    assert asked == []
    unloaded.search("stale cache", vectors="always")
    unloaded.settings = check_settings({"searchVectors": "auto"})
    unloaded.search("a stale cache")
    assert asked == ["stale cache", "a stale cache"]


def test_a_model_in_memory_is_asked_at_once_and_one_of_unknown_size_not_before(
    unloaded: Lab, clock: FixedClock
) -> None:
    embedder = unloaded.chosen_embedder[0]
    vars(embedder)["_session"] = object()
    unloaded.search("stale cache", vectors="auto")
    assert embedder.asked == ["stale cache"]
    with Lab.temporary(
        clock=clock, embedder=HttpEmbedder("http://127.0.0.1:9", "m")
    ) as lab:
        lab.agent("main").write("the cache went stale at noon")
        assert "dimensions" in lab.searcher.vectors.told()


def test_a_backlog_is_embedded_within_a_time_and_told(unloaded: Lab) -> None:
    unloaded.journal.append(
        [observation(f"text {number} of a queue") for number in range(70)]
    )
    vectors = unloaded.searcher.vectors
    assert vectors.told() == "3 of 73 texts embedded"
    assert vectors.embed_pending(seconds=0) == 0
    assert vectors.embed_some(60) == ""
    assert vectors.told() == "73 of 73 texts embedded"
    assert unloaded.chosen_embedder[0].asked[0] == "text 69 of a queue", (
        "the newest first"
    )


@pytest.mark.parametrize("state", ["refused", "hanging"])
def test_a_search_with_a_broken_endpoint_goes_on_after_the_wait_of_the_settings(
    tmp_path: Path, hanging_port: int, state: str
) -> None:
    port = hanging_port if state == "hanging" else 9
    settings: Settings = check_settings({"lmStudioUrl": f"http://127.0.0.1:{port}"})
    with Lab(tmp_path, clock=FixedClock(NOW), settings=settings) as lab:
        assert lab.settings.search_timeout_seconds == 2
        lab.agent("main").write("caches go stale")
        started = time.monotonic()
        hits = lab.search("stale cache")
        # A busy machine is slow, but what hangs here hangs for ever.
        assert time.monotonic() - started < 60
        assert hits[0].text == "caches go stale"
        assert "by words alone" in hits.notes[0]
        assert lab.status()["embedder"]["reason"].startswith("configured endpoint")


@pytest.mark.parametrize(
    ("key", "said"),
    [(None, "is not set"), ("two words", "holds more than visible ASCII")],
)
def test_a_search_goes_on_by_words_where_the_endpoint_has_no_usable_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str | None, said: str
) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    if key is not None:
        monkeypatch.setenv("SOME_KEY", key)
    settings = check_settings(
        {"lmStudioUrl": "http://127.0.0.1:9", "lmStudioApiKeyEnv": "SOME_KEY"}
    )
    with Lab(tmp_path, clock=FixedClock(NOW), settings=settings) as lab:
        lab.agent("main").write("caches go stale")
        hits = lab.search("stale cache")
        assert hits[0].text == "caches go stale"
        (note,) = hits.notes
        assert note.startswith("by words alone: ")
        assert f"$SOME_KEY, which {said}" in note


def test_erased_texts_are_not_found_and_leave_no_bytes(lab: Lab) -> None:
    lab.agent("main").write("the launch code is swordfish-7741")
    lab.agent("main").write("nothing of interest")
    lab.search("launch")
    lab.save_briefing()
    assert lab.views.snapshot(lab.views.get(Axon))
    assert len(lab.erase(match="swordfish-7741")) == 1
    assert not [
        hit for hit in lab.search("swordfish launch code") if "swordfish" in hit.text
    ]
    for file in lab.folder.rglob("*"):
        if file.is_file():
            assert b"swordfish" not in file.read_bytes().lower(), file
    assert lab.verify().ok


def test_hits_say_which_signals_found_them(tmp_path: Path) -> None:
    with Lab(tmp_path, settings=Settings(fusion="reciprocal_rank")) as lab:
        main = lab.agent("main")
        main.write("Redis eviction dropped the lock")
        main.write("The lock of the till is new")
        lab.searcher.vectors.embed_pending()
        by_rank = lab.search("redis eviction")
        assert by_rank.signals[0] == ("words", "meaning")
        lab.settings = Settings()
        spread = lab.search("redis eviction", spread=True)
        assert spread.signals == (("words", "meaning"), ("links",))
        assert str(spread).splitlines()[1].endswith("  (links)")


def test_meaning_counts_more_for_code() -> None:
    columns = {"words": np.zeros(1), "vector": np.zeros(1)}
    assert weights_for(columns, None)["vector"] == WEIGHTS["vector"]
    assert weights_for(columns, None, of_code=True)["vector"] > WEIGHTS["vector"]
    assert weights_for(columns, {"vector": 0.2}, of_code=True)["vector"] == 0.2
    del columns["vector"]
    assert weights_for(columns, None, of_code=True) == weights_for(columns, None)
