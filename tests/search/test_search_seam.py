"""Search over the items of a design that the rooms below know nothing of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pytest
from conftest import NOW, Meanings, Run

from theorex_lab import (
    Design,
    Event,
    FixedClock,
    InvalidInput,
    Lab,
    installed,
    new_event,
)
from theorex_lab.journal import event as events_module
from theorex_lab.journal.event import register_kinds
from theorex_lab.memory.contract import ItemKind, ItemText
from theorex_lab.search.index import ItemIndex, item_index


def _notes(event: Event) -> Iterator[ItemText]:
    for item_id, text in event.body["notes"]:
        yield ItemText(
            item_id, text, tuple(event.body.get("tags", ())), f"note {item_id}"
        )


def _named(name: str) -> Callable[[Event], Iterable[str]]:
    return lambda event: event.body.get(name, ())


NOTE = ItemKind(
    "note",
    {"toy_note": _notes},
    hides={"toy_note": _named("replaces"), "toy_change": _named("hides")},
    sleeps={"toy_change": _named("sleeps")},
    wakes={"toy_change": _named("wakes")},
)
TOY = Design("toy", kinds={"toy_note": 1, "toy_change": 1}, items=(NOTE,))


pytestmark = pytest.mark.usefixtures("forgets_kinds")


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., Lab]]:
    labs: list[Lab] = []

    def open_lab(*designs: Design) -> Lab:
        labs.append(
            Lab(
                tmp_path / "home",
                clock=FixedClock(NOW),
                embedder=Meanings(),
                designs=[*installed(), *designs],
            )
        )
        return labs[-1]

    yield open_lab
    for lab in labs:
        lab.close()


def note(
    lab: Lab, *notes: tuple[str, str], agent: str = "main", replaces: Sequence[str] = ()
) -> str:
    event = new_event(
        "toy_note",
        {"notes": notes, "replaces": replaces, "tags": ["toy"]},
        agent=agent,
        at=NOW,
    )
    lab.journal.append([event])
    return event.id


def change(lab: Lab, agent: str = "main", **named: Sequence[str]) -> None:
    lab.journal.append([new_event("toy_change", {**named}, agent=agent, at=NOW)])


def found(lab: Lab, **details: object) -> list[tuple[str, str]]:
    return sorted(
        (hit.id, hit.text) for hit in lab.search("ferry", kinds=["note"], **details)
    )  # type: ignore[arg-type]


FERRY = ("n1", "the ferry leaves at noon")
PORT = ("007", "a ferry port")


def test_a_designs_items_are_found_beside_the_others(
    opened: Callable[..., Lab],
) -> None:
    lab = opened(TOY)
    note(lab, FERRY, PORT)
    written = lab.agent("main").write("the ferry was late")
    assert {hit.kind for hit in lab.search("ferry")} == {"note", "observation"}
    every = ["note", "observation", "concept"]
    assert {hit.kind for hit in lab.search("ferry", kinds=every)} == set(every)
    assert found(lab) == sorted([FERRY, PORT]) == found(lab, tag="toy", agents=["main"])
    assert found(lab, agents=["sage"]) == []
    hits = lab.agent("main").search("ferry", kinds=["observation"])
    assert [(hit.kind, hit.id) for hit in hits] == [("observation", written.event_id)]
    assert {
        hit.kind for hit in lab.search("ferry", kinds=["note", "concept"], spread=True)
    } == {"note", "concept"}
    assert lab.searcher.vectors.embed_pending() == 0, "the searches did it"
    assert lab.searcher.vectors.coverage() == {
        "covered": 3,
        "queued": 0,
    }, "texts have vectors, labels have none"
    told = [(hit.text, hit.subject) for hit in lab.search("noon", kinds=["note"])]
    assert told == [(FERRY[1], "note n1")], "any design says what its items are about"


def test_items_sleep_wake_and_are_hidden_for_good(opened: Callable[..., Lab]) -> None:
    lab = opened(TOY)
    note(lab, FERRY, PORT)
    change(lab, sleeps=["n1", "nobody"])
    assert found(lab) == [PORT]
    assert found(lab, cold=True) == sorted([FERRY, PORT])
    change(
        lab, agent="sage", wakes=["n1"], hides=["007"]
    )  # of items that are another's
    assert found(lab) == [PORT]
    change(lab, wakes=["n1"])
    assert found(lab) == sorted([FERRY, PORT])
    change(lab, hides=["007"])
    change(lab, wakes=["007"])
    assert found(lab) == [FERRY] == found(lab, cold=True)
    note(lab, ("n1", "the ferry leaves at one"), replaces=["n1"])
    assert found(lab) == [("n1", "the ferry leaves at one")]
    assert lab.verify().ok


def test_what_was_hidden_or_sleeps_survives_a_snapshot(
    opened: Callable[..., Lab], folds: list[int]
) -> None:
    lab = opened(TOY)
    note(lab, FERRY, PORT, ("n3", "a ferry that sinks"))
    change(lab, sleeps=["n1"], hides=["n3"])
    assert lab.views.snapshot(lab.views.get(lab.home.item_view))
    folds.clear()
    other = opened(TOY)
    assert found(other) == [PORT]
    assert folds == []
    change(other, wakes=["n1"], hides=["007"])
    assert found(other) == [FERRY]
    assert folds == [1]
    assert other.verify().ok


def test_an_erased_item_is_gone_with_its_vector(opened: Callable[..., Lab]) -> None:
    lab = opened(TOY)
    note(lab, FERRY)
    gone = note(lab, PORT)
    assert lab.searcher.vectors.embed_pending() == 2
    assert len(found(lab)) == 2
    assert len(lab.searcher.vectors.cache) == 2
    lab.erase(ids=[gone])
    assert found(lab) == [FERRY]
    assert len(lab.searcher.vectors.cache) == 1
    assert lab.verify().ok


@pytest.fixture
def folds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many events each fold of the index is given."""
    counted: list[int] = []
    real = ItemIndex.apply
    monkeypatch.setattr(
        ItemIndex,
        "apply",
        lambda view, events: (counted.append(len(events)), real(view, events))[1],
    )
    return counted


def test_a_design_that_has_no_events_yet_leaves_snapshots_in_use(
    opened: Callable[..., Lab], folds: list[int]
) -> None:
    lab = opened()
    for number in range(5):
        lab.agent("main").write(f"ferry {number}")
    assert lab.views.snapshot(lab.views.get(lab.home.item_view))
    folds.clear()
    with_toy = opened(TOY)
    assert len(with_toy.search("ferry", kinds=["observation"])) == 5
    assert folds == []
    note(with_toy, FERRY)
    assert found(with_toy) == [FERRY]
    assert folds == [1], "what came since"
    assert with_toy.verify().ok


def test_a_snapshot_without_a_designs_events_is_passed_over(
    opened: Callable[..., Lab], folds: list[int]
) -> None:
    lab = opened(TOY)
    note(lab, FERRY)
    lab.agent("main").write("the ferry was late")
    without = opened()
    assert without.views.snapshot(without.views.get(without.home.item_view))
    folds.clear()
    assert found(opened(TOY)) == [FERRY]
    assert folds == [2]


def test_a_snapshot_with_the_items_of_a_design_that_left_is_passed_over(
    opened: Callable[..., Lab], folds: list[int]
) -> None:
    lab = opened(TOY)
    note(lab, FERRY)
    lab.agent("main").write("the boat was late")
    assert lab.views.snapshot(lab.views.get(lab.home.item_view))
    folds.clear()
    without = opened()
    assert [hit.kind for hit in without.search("ferry")] == []
    assert folds == [1]
    assert without.verify().ok


def test_a_kind_that_reads_events_otherwise_folds_them_anew(
    opened: Callable[..., Lab], folds: list[int]
) -> None:
    """The kinds of events are the same: who reads them is not."""
    lab = opened()
    lab.agent("main").write("the ferry was late")
    assert lab.views.snapshot(lab.views.get(lab.home.item_view))
    folds.clear()
    shout = ItemKind(
        "note",
        {"observation": lambda event: [ItemText(event.id, event.body["text"].upper())]},
    )
    louder = opened(Design("toy", items=(shout,)))
    assert [hit.text for hit in louder.search("ferry", kinds=["note"])] == [
        "THE FERRY WAS LATE"
    ]
    assert folds == [1]


def test_the_index_is_the_same_however_events_are_cut_and_designs_named(
    opened: Callable[..., Lab],
) -> None:
    lab = opened(TOY)
    for step in (FERRY, PORT):
        note(lab, step)
        found(lab)
        change(lab, sleeps=[step[0]])
        found(lab)
    assert lab.verify().ok
    turned = Lab(lab.folder / "other", designs=[TOY, *installed()])
    assert (
        turned.home.item_view
        is lab.home.item_view
        is item_index(lab.home.item_view.items, "items")
    )
    turned.close()


def test_a_kind_of_item_that_nobody_has_is_refused(
    opened: Callable[..., Lab], run: Run
) -> None:
    with pytest.raises(
        InvalidInput,
        match=(
            r"'nite'; allowed are observation, sentence, session, fix, concept, moment,"
            r" fact, strategy, constraint, gene, capsule, attempt, insight, theorem,"
            r" record, skill, entity, graph_observation, graph_relation, memory_file,"
            r" note, correction, section, symbol; 'note' is"
        ),
    ):
        opened(TOY).search("ferry", kinds=["nite"])
    assert run("write", "the ferry was late").code == 0
    assert [
        hit["kind"]
        for hit in run("search", "ferry", "--kind", "observation", "--json").json[
            "hits"
        ]
    ] == ["observation"]
    assert (
        len(
            run(
                "search",
                "ferry",
                "--kind",
                "observation",
                "--kind",
                "concept",
                "--json",
            ).json["hits"]
        )
        > 1
    )
    refused = run("search", "ferry", "--kind", "concepts")
    assert refused.code != 0
    assert "'concept' is nearest" in refused.err


def test_kinds_of_events_are_registered_with_one_version() -> None:
    assert "toy_note" not in events_module.VERSIONS
    register_kinds(
        {"toy_note": 2}, {("toy_note", 1): lambda body: {"notes": body["texts"]}}
    )
    old = Event(1, "e", NOW, "main", "", "toy_note", (), {"v": 1, "texts": []})
    assert events_module.upcast(old).body == {"v": 2, "notes": []}
    with pytest.raises(
        InvalidInput, match="got version 1 of the event kind 'toy_note'; allowed is 2"
    ):
        register_kinds({"toy_new": 1, "toy_note": 1})
    assert "toy_new" not in events_module.VERSIONS
    with pytest.raises(InvalidInput, match="nothing that reads version 1"):
        register_kinds({"toy_new": 2})


def test_two_designs_with_one_kind_of_item_are_refused(
    opened: Callable[..., Lab],
) -> None:
    lab = opened(TOY, Design("other", items=(ItemKind("note", {}),)))
    with pytest.raises(InvalidInput, match="got two designs with 'note'"):
        lab.search("ferry")


def test_a_lab_writes_events_of_a_design_before_it_is_asked_for(
    opened: Callable[..., Lab],
) -> None:
    with pytest.raises(InvalidInput, match="toy_note"):
        new_event("toy_note", {}, agent="main", at=NOW)
    opened(TOY)
    assert new_event("toy_note", {}, agent="main", at=NOW).body == {"v": 1}
