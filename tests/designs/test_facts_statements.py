"""What a statement says of its subject, and which earlier ones it replaces, ends,
repeats or adds to.
"""

from __future__ import annotations

import os
import random

import pytest

from theorex_lab import InvalidInput
from theorex_lab.designs.facts import superseding
from theorex_lab.designs.facts.pairs import (
    fact_hash,
    normal_form,
    same_fact,
    signed_tokens,
)
from theorex_lab.designs.facts.superseding import Superseding
from theorex_lab.eval.metrics.labelled import score_fact_updates
from theorex_lab.eval.metrics.retrieval import kept_embedder
from theorex_lab.memory.assertions import cue_of, read_assertion
from theorex_lab.memory.distinct_things import hold_side_by_side

needs_data = pytest.mark.skipif(
    not os.environ.get("THEOREX_DATA"), reason="THEOREX_DATA names no folder"
)


@pytest.mark.parametrize(
    ("text", "subject", "value"),
    [
        ("The author of Misery is Stephen King.", "misery", "stephen king"),
        ("Stephen King wrote Misery.", "misery", "stephen king"),
        (
            "Ellie Kemper is a citizen of United States of America.",
            "ellie kemper",
            "united states of america",
        ),
        ("The university where Bob Dylan was educated is Yale.", "bob dylan", "yale"),
        ("The type of music that Pink Floyd plays is jazz.", "pink floyd", "jazz"),
        ("Tom Brady plays the position of midfielder.", "tom brady", "midfielder"),
        ("Google was founded by Larry Page.", "google", "larry page"),
        ("Chris Pratt's child is Bob Pratt.", "chris pratt", "bob pratt"),
        ("Lyon is located in the continent of Europe.", "lyon", "europe"),
        ("User prefers dark mode.", "user", "dark mode"),
        ("billing-api listens on port 8080.", "billing-api", "8080"),
    ],
)
def test_subject_and_value_are_found(text: str, subject: str, value: str) -> None:
    assert read_assertion(text)[0] == subject
    assert read_assertion(text).value == value


def test_cues_end_replace_and_add() -> None:
    assert cue_of("Ann does not work for Acme any more")[0] == "ends"
    assert cue_of("Ann now works for Acme")[0] == "replaces"
    assert cue_of("Ann also speaks Welsh")[0] == "adds"
    assert cue_of("Ann speaks Welsh") == ("", "Ann speaks Welsh")


@pytest.mark.parametrize(
    "text",
    ["", "   ", "...", "?!", "42", "один", "a" * 10_000, "the the the", "is", "'s 's"],
)
def test_what_states_nothing_is_read_without_an_error(text: str) -> None:
    facts = Superseding()
    facts.add("1", text)
    assert not facts.add("2", "Ann lives in Bath.").replaced
    assert "2" in facts.active()


def test_relations_that_hold_many_values_are_added_to() -> None:
    facts = Superseding()
    for id, text in enumerate(
        ["Ann speaks Welsh.", "Ann is fluent in Greek.", "Ann no longer speaks Welsh."]
    ):
        judged = facts.add(str(id), text)
    assert judged.ends == ("0",)
    assert facts.active() == ["1"]


def test_an_end_is_kept_while_nothing_else_holds() -> None:
    facts = Superseding()
    facts.add("0", "Ann works for Acme.")
    assert facts.add("1", "Ann has left Acme.").ends == ("0",)
    assert facts.active() == ["1"]


def test_look_alike_subjects_are_kept_apart() -> None:
    facts = Superseding()
    for id, text in enumerate(
        [
            "cache-api runs version 1.2.3.",
            "cache-api-v2 runs version 2.0.0.",
            "Ann Lee lives in Bath.",
        ]
    ):
        facts.add(str(id), text)
    assert not facts.judge("Bob Lee lives in York.").replaced
    assert facts.judge("The release of cache-api is 1.2.4.").supersedes == ("0",)


def test_preferences_of_different_kinds_stand_beside_each_other() -> None:
    facts = Superseding()
    facts.add("0", "Ann prefers tabs.")
    assert facts.add("1", "Ann prefers dark mode.").adds_to == ("0",)
    facts.add("2", "Ann's editor of choice is Vim.")
    assert facts.add("3", "Ann's favourite editor is Helix.").supersedes == ("2",)


def test_what_a_relation_holds_is_learned_from_statements() -> None:
    facts = Superseding()
    texts = [
        "Ann mentors Bob.",
        "Ann also mentors Carl.",
        "Dora mentors Emil.",
        "Dora also mentors Fay.",
        "Gus mentors Hal.",
    ]
    for id, text in enumerate(texts):
        facts.add(str(id), text)
    assert facts.add("9", "Gus mentors Ida.").adds_to == ("4",)


def test_judging_changes_nothing() -> None:
    facts = Superseding()
    facts.add("0", "Ann lives in Bath.")
    assert facts.judge("Ann lives in York.") == facts.judge("Ann lives in York.")
    assert facts.active() == ["0"]
    facts.remove("never added")
    assert facts.active() == ["0"]


# Wordings of our own, other than any set's: (one value?, the wordings).
WORDINGS = {
    "doctor": (True, ["{s}'s dentist is {o}.", "The dentist of {s} is {o}."]),
    "home": (
        True,
        [
            "{s} has moved to {o}.",
            "{s} is now living in {o}.",
            "The current address of {s} is {o}.",
        ],
    ),
    "wife": (
        True,
        [
            "{s} is married to {o}.",
            "{s}'s spouse is {o}.",
            "The husband of {s} is {o}.",
        ],
    ),
    "boss": (
        True,
        [
            "{o} manages {s}.",
            "{s} is headed by {o}.",
            "The director of {s} is {o}.",
            "{o} is the president of {s}.",
        ],
    ),
    "author": (
        True,
        ["{o} wrote {s}.", "{s} was written by {o}.", "The author of {s} is {o}."],
    ),
    "friend": (False, ["{s} is a friend of {o}.", "{s} knows {o}."]),
    "club": (False, ["{s} is a member of {o}.", "{s} joined {o}."]),
}


def carried_over(statements: int, seed: int) -> tuple[float, float]:
    """Precision and recall of what is superseded, of statements in WORDINGS."""
    rng = random.Random(seed)
    held = {}
    facts = Superseding()
    names = [
        f"{first} {last}"
        for first in ("Zora", "Milo", "Runa", "Pavo")
        for last in ("Quist", "Brandt", "Okafor", "Ilves", "Sato")
    ]
    gone: set[str] = set()
    for number in range(statements):
        relation = rng.choice(sorted(WORDINGS))
        one, wordings = WORDINGS[relation]
        subject, value = rng.sample(names, 2)
        of = held.setdefault((subject, relation), {})
        if value in of.values():
            continue
        if one:
            gone.update(of)
            of.clear()
        of[str(number)] = value
        facts.add(str(number), rng.choice(wordings).format(s=subject, o=value))
    told = {id for of in held.values() for id in of} | gone
    found = told - set(facts.active())
    return len(found & gone) / len(found), len(found & gone) / len(gone)


def test_other_wordings_carry_over() -> None:
    precision, recall = carried_over(600, seed=3)
    assert precision >= 0.95
    assert recall >= 0.9


@pytest.mark.parametrize("n_statements", [500, 2_000])
def test_a_statement_costs_the_same_among_many(
    monkeypatch: pytest.MonkeyPatch, n_statements: int
) -> None:
    facts = Superseding()
    for number in range(n_statements):
        facts.add(
            str(number), f"User {'likes' if number % 2 else 'finished'} thing-{number}."
        )
    compared: list[str] = []

    def compare(text: str, other: str) -> bool:
        compared.append(other)
        return hold_side_by_side(text, other)

    monkeypatch.setattr(superseding, "hold_side_by_side", compare)
    facts.judge("User finished thing-x.")
    assert 0 < len(compared) <= 64
    compared.clear()
    facts.judge("Team-1 lives in Bath.")
    assert compared == []


def test_golden_hash_of_the_normal_form() -> None:
    assert normal_form("Prefers Bun over Node.js") == "prefers bun over nodejs"
    assert (
        fact_hash("Prefers Bun over Node.js")
        == "5c0358310212f74509d237555eff74935c804f6cb6424728570e09f5f58564d7"
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Writes C++", "Writes C"),
        ("Runs v1.2", "Runs v12"),
        ("It is -5 outside", "It is 5 outside"),
        ("Knows C#", "Knows C"),
        ("At 1.5 GB", "At 15 GB"),
        ("Grew 50%", "Grew 50"),
        ("!!!", "???"),
        ("Costs −5", "Costs 5"),
    ],
)
def test_signs_that_carry_meaning_keep_facts_apart(one: str, other: str) -> None:
    assert not same_fact(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Likes tea.", "likes  TEA!"),
        ("Prefers Node.js", "prefers nodejs"),
        ("Uses v1.2.", "uses v1.2"),
        ("???", "???"),
        ("At -5", "at −5"),
    ],
)
def test_the_same_fact_in_other_signs_is_a_duplicate(one: str, other: str) -> None:
    assert same_fact(one, other)
    assert signed_tokens(one) == signed_tokens(other)


@needs_data
def test_what_holds_now_is_found_first() -> None:
    result = score_fact_updates("1k")
    own = result["metrics"]
    others = result["baselines"]
    assert result["n"] == 150
    assert own["stale_first"] <= 0.03
    assert own["many_in_ten"] >= 0.95
    assert own["right_first"] > max(row["right_first"] for row in others.values())
    assert own["right_first_ci_low"] <= own["right_first"] <= own["right_first_ci_high"]
    if kept_embedder().kind == "semantic":
        assert own["right_first"] >= 0.85


def test_another_log_is_refused() -> None:
    with pytest.raises(InvalidInput, match="allowed are"):
        score_fact_updates("nowhere")
