"""The knowledge graph of the reference memory server, over the journal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from faults import opened

from theorex_lab import InvalidInput, Lab, ObservationEntry
from theorex_lab.designs.dropin.graph import (
    EntityTexts,
    NewEntity,
    NewRelation,
    graph_document,
)
from theorex_lab.designs.dropin.graph_view import GraphEntries
from theorex_lab.journal.event import new_event
from theorex_lab.journal.view import differing_columns, fold_into
from theorex_lab.text.redact.hints import MASK

ANN = NewEntity("Ann_Lee", "person", ["Speaks fluent Spanish", "Keeps the till"])
TILL = NewEntity("till", "program", ["listens on port 8080"])
WROTE = NewRelation("Ann_Lee", "till", "wrote")
SECRET = "token=abc123def456"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with opened(tmp_path / "home") as lab:
        yield lab


@pytest.fixture
def kept(lab: Lab) -> Any:
    """The design, with a graph of two entities."""
    design = lab.design("dropin")
    design.create_entities([ANN, TILL])
    design.create_relations([WROTE])
    return design


def texts(lab: Lab, query: str, **options: Any) -> list[str]:
    return [hit.text for hit in lab.search(query, **options)]


def test_a_graph_is_given_back_word_by_word(kept: Any) -> None:
    assert graph_document(kept.read_graph()) == {
        "entities": [
            {
                "name": "Ann_Lee",
                "entityType": "person",
                "observations": ["Speaks fluent Spanish", "Keeps the till"],
            },
            {
                "name": "till",
                "entityType": "program",
                "observations": ["listens on port 8080"],
            },
        ],
        "relations": [{"from": "Ann_Lee", "to": "till", "relationType": "wrote"}],
    }


def test_what_is_there_is_not_made_again(lab: Lab, kept: Any) -> None:
    before = lab.journal.last_seq()
    assert kept.create_entities([NewEntity("till", "shop", ["other"])]) == []
    assert kept.create_relations([WROTE]) == []
    assert kept.add_observations([EntityTexts("till", TILL.observations)]) == [
        EntityTexts("till", [])
    ]
    assert lab.journal.last_seq() == before


def test_one_call_makes_each_entity_and_relation_once(kept: Any) -> None:
    twice = [NewEntity("shelf", "thing"), NewEntity("shelf", "other")]
    assert [entity.entity_type for entity in kept.create_entities(twice)] == ["thing"]
    beside = NewRelation("shelf", "till", "stands_beside")
    assert len(kept.create_relations([beside, beside])) == 1


def test_an_observation_of_nobody_is_refused_and_nothing_is_written(
    lab: Lab, kept: Any
) -> None:
    before = lab.journal.last_seq()
    additions = [EntityTexts("till", ["rounds half up"]), EntityTexts("bob", ["sings"])]
    with pytest.raises(InvalidInput, match="'bob'.*create_entities"):
        kept.add_observations(additions)
    assert lab.journal.last_seq() == before
    assert kept.read_graph().entities["till"].texts() == ["listens on port 8080"]


@pytest.mark.parametrize("name", ["", " ", "a" * 501, "a\0b", "\ud800", 7, None])
def test_a_name_outside_the_rules_is_refused(lab: Lab, kept: Any, name: Any) -> None:
    before = lab.journal.last_seq()
    with pytest.raises(InvalidInput):
        kept.create_entities([NewEntity(name, "thing")])
    with pytest.raises(InvalidInput):
        kept.create_relations([NewRelation("till", name, "has")])
    with pytest.raises(InvalidInput):
        kept.delete_entities([name])
    assert lab.journal.last_seq() == before


def test_deleting_an_entity_deletes_what_was_said_of_it(lab: Lab, kept: Any) -> None:
    assert "Ann Lee: Speaks fluent Spanish" in texts(lab, "who speaks spanish")
    assert kept.delete_entities(["Ann_Lee", "nobody"]) == 1
    graph = kept.read_graph()
    assert list(graph.entities) == ["till"]
    assert graph.relations == []
    assert texts(lab, "who speaks spanish") == []
    assert "Ann" not in str(texts(lab, "who wrote the till"))
    assert "Spanish" not in lab.briefing(tokens=500).text
    # It is history until it is erased.
    assert any("Spanish" in str(event.body) for event in lab.journal.tail(0))


def test_an_entity_that_comes_again_begins_anew(kept: Any) -> None:
    kept.delete_entities(["Ann_Lee"])
    kept.create_entities([NewEntity("Ann_Lee", "customer")])
    assert kept.read_graph().entities["Ann_Lee"].texts() == []


def test_observations_and_relations_are_deleted_by_their_words(
    lab: Lab, kept: Any
) -> None:
    gone = [EntityTexts("Ann_Lee", ["Keeps the till", "no such"]), EntityTexts("x", [])]
    assert kept.delete_observations(gone) == 1
    assert kept.delete_relations([WROTE, NewRelation("a", "b", "c")]) == 1
    assert kept.read_graph().entities["Ann_Lee"].texts() == ["Speaks fluent Spanish"]
    assert kept.read_graph().relations == []
    assert "Ann Lee: Keeps the till" not in texts(lab, "who keeps the till")
    before = lab.journal.last_seq()
    assert kept.delete_observations(gone) == 0
    assert lab.journal.last_seq() == before


def test_a_search_gives_what_holds_the_query_else_what_fits_it(kept: Any) -> None:
    assert list(kept.search_nodes("SPANISH").entities) == ["Ann_Lee"]
    assert list(kept.search_nodes("program").entities) == ["till"]
    assert list(kept.search_nodes("").entities) == ["Ann_Lee", "till"]
    question = kept.search_nodes("which port is listened on")
    assert next(iter(question.entities)) == "till"
    assert [relation.key for relation in question.relations] == [WROTE]
    assert kept.search_nodes("zebra crossing").entities == {}


def test_nodes_come_with_their_relations(kept: Any) -> None:
    kept.create_entities([NewEntity("shelf", "thing")])
    assert kept.open_nodes(["shelf", "nobody"]).relations == []
    (leads_to_it,) = kept.open_nodes(["till"]).relations
    assert leads_to_it.key == WROTE
    both = kept.open_nodes(["till", "Ann_Lee"])
    assert [relation.key for relation in both.relations] == [WROTE]


def test_a_graph_is_a_multigraph_of_networkx(kept: Any) -> None:
    graph = kept.read_graph().to_networkx()
    assert graph.nodes["till"]["observations"] == ["listens on port 8080"]
    assert list(graph.edges(keys=True)) == [("Ann_Lee", "till", "wrote")]


def test_search_and_briefing_have_what_an_agent_kept(lab: Lab, kept: Any) -> None:
    assert "till: listens on port 8080" in texts(lab, "on which port is the till")
    assert "Ann Lee wrote till" in texts(lab, "who wrote the till")
    briefing = lab.briefing(tokens=500).text
    assert "till: listens on port 8080" in briefing
    assert "Ann Lee: Speaks fluent Spanish" in briefing


def test_agents_have_graphs_of_their_own(lab: Lab, kept: Any) -> None:
    assert kept.read_graph("bob").entities == {}
    kept.create_entities([NewEntity("till", "shop", ["closes at six"])], "bob")
    assert kept.read_graph("bob").entities["till"].texts() == ["closes at six"]
    assert kept.delete_entities(["till"], "bob") == 1
    assert "till" in kept.read_graph().entities
    assert "closes at six" not in str(texts(lab, "closing", agents=["main"]))
    bobs = lab.as_read_by("bob")
    assert list(bobs.design("dropin").read_graph().entities) == []
    assert "8080" not in bobs.briefing(tokens=500).text


def test_projects_have_graphs_of_their_own(lab: Lab) -> None:
    first = lab.in_project("shop-00000001", new=True)
    second = lab.in_project("park-00000002", new=True)
    first.design("dropin").create_entities([TILL])
    assert second.design("dropin").read_graph().entities == {}
    assert lab.design("dropin").read_graph().entities == {}
    assert "8080" in first.briefing(tokens=500).text
    assert "8080" not in second.briefing(tokens=500).text
    assert texts(second, "on which port is the till") == []


def test_a_search_of_one_graph_is_not_crowded_by_those_of_projects(lab: Lab) -> None:
    shop = lab.in_project("shop-11111111", new=True).design("dropin")
    jars = [NewEntity(f"jar {n}", "jar", ["stands by the door"]) for n in range(40)]
    shop.create_entities(jars)
    design = lab.design("dropin")
    design.create_entities([NewEntity("kettle", "pot", ["waits near a door at night"])])
    fits = design.search_nodes("what stands by the door")
    assert list(fits.entities) == ["kettle"]


def test_no_secret_is_kept_and_names_with_one_are_met_again(
    lab: Lab, kept: Any
) -> None:
    kept.create_entities([NewEntity(SECRET, "key", [f"use {SECRET}"])])
    assert SECRET not in str([event.body for event in lab.journal.tail(0)])
    assert kept.open_nodes([SECRET]).entities
    assert MASK in kept.read_graph().entities[f"token={MASK}"].texts()[0]
    assert kept.delete_entities([SECRET]) == 1


def test_what_is_erased_is_gone_with_all_that_names_it(lab: Lab, kept: Any) -> None:
    entity = kept.read_graph().entities["Ann_Lee"].event_id
    erased = lab.erase(ids=[entity])
    assert len(erased) == 4  # the entity, two observations, the relation
    assert list(kept.read_graph().entities) == ["till"]
    lab.close()
    for file in sorted(lab.folder.rglob("*")):
        assert not file.is_file() or b"fluent Spanish" not in file.read_bytes(), file


def test_a_view_is_the_same_however_it_is_folded(lab: Lab, kept: Any) -> None:
    kept.delete_entities(["till"])
    kept.create_entities([NewEntity("till", "program", ["anew"])])
    view = GraphEntries()
    for upto in range(1, lab.journal.last_seq() + 1):
        fold_into(view, lab.journal, upto)
    assert differing_columns(lab.views.get(GraphEntries), view) == []
    assert lab.verify().ok


def test_a_snapshot_gives_the_same_graph(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as lab:
        design = lab.design("dropin")
        design.create_entities([ANN, TILL])
        before = graph_document(design.read_graph())
        assert lab.views.snapshot(lab.views.get(GraphEntries))
    with opened(tmp_path / "home") as lab:
        design = lab.design("dropin")
        assert graph_document(design.read_graph()) == before
        assert design.add_observations([EntityTexts("till", ["rounds"])])[0].texts


def test_an_export_gives_the_graph_to_another_home(
    lab: Lab, kept: Any, tmp_path: Path
) -> None:
    kept.delete_observations([EntityTexts("Ann_Lee", ["Keeps the till"])])
    lab.export_files(tmp_path / "out")
    with opened(tmp_path / "trusting") as other:
        other.import_files(tmp_path / "out", trusted=True)
        graph = other.design("dropin").read_graph()
        assert graph_document(graph) == graph_document(kept.read_graph())
    with opened(tmp_path / "wary") as other:
        other.import_files(tmp_path / "out")
        # Its readers are told no sources, so nothing untrusted is in a graph.
        assert other.design("dropin").read_graph().entities == {}
        assert "8080" not in other.briefing(tokens=500).text
        hits = other.search("on which port is the till")
        assert "till: listens on port 8080" in [hit.text for hit in hits]


def test_a_strangers_file_deletes_nothing_here(
    lab: Lab, kept: Any, tmp_path: Path
) -> None:
    lab.export_files(tmp_path / "mine")
    kept.delete_entities(["till"])
    lab.export_files(tmp_path / "out")
    with opened(tmp_path / "other") as other:
        other.import_files(tmp_path / "mine", trusted=True)
        before = graph_document(other.design("dropin").read_graph())
        other.import_files(tmp_path / "out")
        assert graph_document(other.design("dropin").read_graph()) == before


def test_the_next_agent_finds_it_beside_what_was_written_otherwise(
    lab: Lab, kept: Any
) -> None:
    lab.write_all([ObservationEntry("The till is painted green", "main")])
    hits = {hit.kind for hit in lab.search("till")}
    assert {"graph_observation", "graph_relation", "observation"} <= hits


def test_what_an_import_brings_again_is_deleted_with_what_is_there(
    lab: Lab, kept: Any, tmp_path: Path
) -> None:
    lab.export_files(tmp_path / "out")
    with opened(tmp_path / "other") as other:
        design = other.design("dropin")
        design.create_entities([ANN._replace(observations=["Plays chess"])])
        design.create_relations([WROTE])
        other.import_files(tmp_path / "out", trusted=True)
        graph = design.read_graph()
        assert len(graph.relations) == 2
        assert len(graph_document(graph)["relations"]) == 1
        assert design.delete_entities(["Ann_Lee"]) == 1
        assert list(design.read_graph().entities) == ["till"]
        assert design.read_graph().relations == []
        assert not {"Ann_Lee: Plays chess", "Ann Lee"} & set(texts(other, "Ann Lee"))


def test_a_deletion_that_is_trusted_less_than_an_agent_deletes_nothing(
    lab: Lab, kept: Any
) -> None:
    before = graph_document(kept.read_graph())
    entity = kept.read_graph().entities["till"]
    body = {"ids": [entity.event_id], "project": ""}
    for source in ("tool", "import"):
        event = new_event(
            "graph_removed",
            {**body, "source": source},
            agent="main",
            at=lab.home.clock.now(),
        )
        lab.journal.append([event])
    assert graph_document(kept.read_graph()) == before
    assert lab.verify().ok


@pytest.mark.usefixtures("kept")
def test_a_deletion_that_is_trusted_less_hides_nothing_from_searches(lab: Lab) -> None:
    (before,) = lab.search("fluent Spanish", kinds=["graph_observation"])
    body = {"ids": [before.id], "source": "import"}
    lab.journal.append(
        [new_event("graph_removed", body, agent="main", at=lab.clock.now())]
    )
    (after,) = lab.search("fluent Spanish", kinds=["graph_observation"])
    assert after.id == before.id
