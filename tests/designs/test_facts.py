"""Facts: written once, replaced in chains, listed as of a time, trusted by who said
them; channels keep to themselves.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import DAY, NOW, Run
from faults import quick_context
from hypothesis import given, settings
from hypothesis import strategies as st

from theorex_lab import ConfigError, FixedClock, InvalidInput, Lab
from theorex_lab.designs.facts.facts import Facts
from theorex_lab.designs.facts.settings import FactSettings
from theorex_lab.designs.facts.summaries import tier


@pytest.fixture
def lab(tmp_path: Path):
    clock = FixedClock(NOW)
    with Lab(tmp_path / "home", clock=clock) as made:
        yield made


def test_an_exact_duplicate_is_not_written_again_within_an_entity(lab: Lab) -> None:
    first = lab.facts.write(
        "people/ann", "Prefers Bun over Node.js", category="preference"
    )
    again = lab.facts.write(
        "people/ann", "prefers bun over  NodeJS!", category="preference"
    )
    other = lab.facts.write("people/bob", "Prefers Bun over Node.js")
    assert (first.id, first.action) == ("ann-001", "written")
    assert (again.id, again.action) == ("ann-001", "duplicate")
    assert (other.id, other.action) == ("bob-001", "written")
    assert len(lab.facts.list()) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Writes C++", "Writes C"),
        ("Runs v1.2", "Runs v12"),
        ("It is at -5", "It is at 5"),
    ],
)
def test_signs_that_carry_meaning_make_another_fact(
    lab: Lab, one: str, other: str
) -> None:
    lab.facts.write("projects/shop", one)
    assert lab.facts.write("projects/shop", other).action not in (
        "duplicate",
        "near_duplicate",
    )


def test_a_reversal_replaces_what_it_reverses_and_is_never_a_near_duplicate(
    lab: Lab,
) -> None:
    lab.facts.write("people/ann", "Uses Bun")
    found = lab.facts.write("people/ann", "No longer uses Bun")
    assert (found.action, found.of) == ("superseded", ("ann-001",))
    assert [fact.text for fact in lab.facts.list("people/ann")] == [
        "No longer uses Bun"
    ]


def test_chains_are_complete_and_only_the_last_holds(lab: Lab) -> None:
    for town in ("Bath", "York", "Leeds"):
        lab.facts.write("people/ann", f"Lives in {town}")
    assert [fact.text for fact in lab.facts.list()] == ["Lives in Leeds"]
    chain = lab.facts.chain("ann-002")
    assert [(fact.id, fact.superseded_by, fact.active) for fact in chain] == [
        ("ann-001", "ann-002", False),
        ("ann-002", "ann-003", False),
        ("ann-003", "", True),
    ]
    assert chain[2].supersedes == ("ann-002",)


def test_many_values_stand_side_by_side(lab: Lab) -> None:
    for language in ("Welsh", "Greek", "Dutch"):
        lab.facts.write("people/ann", f"Speaks {language}")
    assert len(lab.facts.list()) == 3


def test_what_was_believed_then(lab: Lab) -> None:
    lab.facts.write("people/ann", "Lives in Bath")
    lab.clock.microseconds += 10 * DAY
    lab.facts.write("people/ann", "Lives in York")
    then = lab.facts.list(as_of=NOW + 5 * DAY)
    assert [(fact.text, fact.active) for fact in then] == [("Lives in Bath", True)]
    assert [fact.text for fact in lab.facts.list(as_of=NOW + 10 * DAY)] == [
        "Lives in York"
    ]
    assert lab.facts.list(as_of=NOW - DAY) == []


def test_a_time_of_truth_is_kept_through_supersede(lab: Lab) -> None:
    lab.facts.write(
        "people/ann", "Works at Acme", valid_from="2026-01-01", valid_to="2026-06-01"
    )
    lab.facts.write("people/ann", "Works at Initech", valid_from="2026-06-01")
    old, new = lab.facts.chain("ann-001")
    assert old.to_dict()["validTo"].startswith("2026-06-01")
    assert new.to_dict()["validFrom"].startswith("2026-06-01")
    with pytest.raises(InvalidInput, match="before the end"):
        lab.facts.write(
            "people/ann", "x y", valid_from="2026-06-01", valid_to="2026-01-01"
        )


def test_a_tool_never_replaces_what_a_user_said(lab: Lab) -> None:
    lab.facts.write("people/ann", "Lives in Bath", source="user")
    poison = lab.facts.write("people/ann", "Now lives in Moscow", source="tool")
    assert (poison.action, poison.of) == ("tension", ("ann-001",))
    assert poison.tension
    assert lab.facts.show("ann-001").active
    with pytest.raises(InvalidInput, match="source tool, against ann-001"):
        lab.facts.supersede("ann-001", poison.id)
    again = lab.facts.write(
        "people/ann", "Lives in Rome", source="tool", supersedes=["ann-001"]
    )
    assert again.action == "tension"
    assert lab.facts.show("ann-001").active


def test_superseded_facts_sleep_in_search_and_wake_when_it_is_undone(lab: Lab) -> None:
    lab.facts.write("people/ann", "Lives in Bath", agent="sage")
    lab.facts.write("people/ann", "Lives in York", agent="main")
    found = lambda: {  # noqa: E731
        hit.id for hit in lab.search("where does ann live", kinds=["fact"])
    }
    assert found() == {"ann-002"}
    lab.facts.undo_supersede("ann-001")
    assert found() == {"ann-001", "ann-002"}


def test_supersede_by_hand_keeps_chains_without_circles(lab: Lab) -> None:
    for text in ("Likes tea", "Owns a dog", "Plays chess"):
        lab.facts.write("people/ann", text)
    lab.facts.supersede("ann-001", "ann-002", why="taste")
    for old, new in (
        ("ann-001", "ann-003"),
        ("ann-002", "ann-002"),
        ("ann-002", "ann-001"),
    ):
        with pytest.raises(InvalidInput, match="allowed is"):
            lab.facts.supersede(old, new)
    lab.facts.supersede("ann-003")
    assert [fact.id for fact in lab.facts.list()] == ["ann-002"]


def test_archived_entities_keep_their_facts_and_ids(lab: Lab) -> None:
    lab.facts.write("projects/shop", "Ships on Friday")
    assert lab.facts.archive("projects/shop") == "archives/shop"
    assert [fact.entity for fact in lab.facts.list()] == ["archives/shop"]
    assert lab.facts.write("people/shop", "Is a person").id == "shop-002"


@pytest.mark.parametrize(
    ("days", "confidence", "accesses", "expected"),
    [
        (7, 0.8, 0, "hot"),
        (8, 0.8, 0, "warm"),
        (30, 0.8, 0, "warm"),
        (31, 0.8, 0, "cold"),
        (14, 0.4, 0, "warm"),
        (15, 0.4, 0, "cold"),
        (200, 0.8, 10, "warm"),
        (200, 0.4, 9, "cold"),
        (200, 0.4, 10, "warm"),  # use speaks louder than doubt
        (-3, 0.8, 0, "hot"),
    ],
)
def test_tiers(
    lab: Lab, days: int, confidence: float, accesses: int, expected: str
) -> None:
    lab.facts.write("people/ann", "Likes tea", confidence=confidence)
    fact = lab.facts.show("ann-001")._replace(access_count=accesses)
    assert tier(fact, NOW + days * DAY, FactSettings()) == expected


def test_a_page_holds_what_is_hot_and_warm_and_the_principles(lab: Lab) -> None:
    lab.facts.write("people/ann", "Never deploys on Friday", abstraction="principle")
    lab.facts.write("people/ann", "Went to a fair")
    lab.clock.microseconds += 40 * DAY
    lab.facts.write("people/ann", "Lives in York")
    page = lab.facts.summary("people/ann")
    assert (
        page.index("Current (Hot)")
        < page.index("Lives in York (")
        < page.index("Enduring (Principles)")
    )
    assert "Never deploys on Friday (" in page
    assert "fair" not in page
    assert "1 hot, 0 warm, 2 cold" in page


@pytest.mark.parametrize(
    "entity",
    [
        "people/../x",
        "../../etc",
        "people/",
        "things/x",
        "people/-x",
        "people/a/b",
        "C:\\people\\ann",
    ],
)
def test_an_entity_outside_the_rule_is_refused_and_nothing_is_written(
    lab: Lab, entity: str
) -> None:
    with pytest.raises(InvalidInput, match="people/NAME"):
        lab.facts.write(entity, "x y")
    assert lab.journal.last_seq() == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"confidence": 1.2},
        {"confidence": float("nan")},
        {"category": "x"},
        {"abstraction": "x"},
        {"source": "x"},
        {"supersedes": ["ann-009"]},
    ],
)
def test_what_is_outside_the_rules_is_refused(
    lab: Lab, wrong: dict[str, object]
) -> None:
    with pytest.raises(InvalidInput, match="allowed"):
        lab.facts.write("people/ann", "Likes tea", **wrong)
    with pytest.raises(InvalidInput, match="up to 500"):
        lab.facts.write("people/ann", "tea " * 200)
    assert lab.facts.list() == []


def test_days_are_of_the_time_zone_that_is_set(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.facts.write("people/ann", "Lives in Bath")  # at 09:00 UTC
    monkeypatch.setenv("ENGRAM_TZ", "Europe/Moscow")
    assert len(lab.facts.list(as_of="2026-03-01T12:00:00")) == 1
    monkeypatch.setenv("ENGRAM_TZ", "America/New_York")
    assert lab.facts.list(as_of="2026-03-01T03:59:00") == []
    monkeypatch.setenv("ENGRAM_TZ", "Nowhere/Town")
    with pytest.raises(ConfigError, match="Nowhere/Town"):
        lab.facts.list(as_of="2026-03-01")


def _write_many(home: str, name: str) -> None:
    with Lab(home, clock=FixedClock(NOW)) as lab:
        for number in range(10):
            lab.facts.write(
                "people/ann", f"Owns the {name} boat number {number * 7919}"
            )


def test_processes_that_write_at_once_give_each_fact_an_id_of_its_own(
    tmp_path: Path,
) -> None:
    context = quick_context()
    jobs = [
        context.Process(target=_write_many, args=(str(tmp_path), name))
        for name in ("red", "blue", "green")
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(120)
    with Lab(tmp_path) as lab:
        ids = [fact.id for fact in lab.facts.list(active=None)]
        assert len(ids) == len(set(ids)) == 30
        assert lab.verify().ok


def test_extraction_reads_each_capture_once(lab: Lab) -> None:
    lab.agent("main").write("I prefer tabs over spaces.", source="user")
    first = lab.facts.extract()
    again = lab.facts.extract()
    assert (first.facts, again.captures) == (1, 0)
    fact = lab.facts.list("people/user")[0]
    assert (fact.category, fact.source, fact.confidence) == ("preference", "user", 0.88)
    lab.agent("main").write("The sky has grey clouds.", source="user")
    assert lab.facts.extract().facts == 0


def test_a_fact_is_erased_with_the_capture_that_it_was_made_of(lab: Lab) -> None:
    written = lab.agent("main").write("I prefer tabs over spaces.", source="user")
    lab.facts.extract()
    lab.erase(ids=[written.event_id])
    assert lab.facts.list(active=None) == []
    assert lab.verify().ok


def test_sound_after_a_snapshot(lab: Lab, tmp_path: Path) -> None:
    for town in ("Bath", "York"):
        lab.facts.write("people/ann", f"Lives in {town}")
    lab.facts.access("ann-002", "ann-002")
    lab.views.snapshot(lab.views.get(Facts))
    with Lab(tmp_path / "home", clock=lab.clock) as other:
        assert [fact.to_dict() for fact in other.facts.list(active=None)] == [
            fact.to_dict() for fact in lab.facts.list(active=None)
        ]
        assert other.facts.write("people/ann", "Lives in Leeds").of == ("ann-002",)
        assert other.facts.show("ann-002").access_count == 1


_SAID = [
    "I prefer tabs over spaces.",
    "We decided to use Postgres for orders.",
    "My name is Zoe Quine.",
    "Always run the gherkin tests before lunch.",
    "The walrus cache broke again today.",
    "I love Kyrgyz felt carpets.",
]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["telegram-1", "discord-2", "telegram-3"]),
            st.sampled_from(_SAID),
        ),
        min_size=1,
        max_size=6,
    )
)
@settings(max_examples=15)
def test_what_is_said_in_one_channel_reaches_another_only_as_a_fact(
    said: list[tuple[str, str]],
) -> None:
    """telegram-3 is a group: not even facts leave it."""
    with Lab.temporary(clock=FixedClock(NOW)) as lab:
        for platform, number, group in (
            ("telegram", "1", False),
            ("discord", "2", False),
            ("telegram", "3", True),
        ):
            lab.facts.add_channel(platform, number, group=group)
        for channel, text in said:
            lab.in_project(channel, new=True).agent("main").write(text, source="user")
        lab.facts.extract()
        lab.maintain()
        for own in ("telegram-1", "discord-2", "telegram-3", "shop"):
            inside = lab.in_project(own, new=True)
            words = {text for channel, text in said if channel == own}
            allowed = words | {
                fact.text for fact in lab.facts.list() if fact.project in ("", own)
            }
            notes = inside.search(
                "tabs Postgres Zoe gherkin walrus felt carpets",
                limit=100,
                all_projects=True,
            )
            assert {hit.text.partition(": ")[2] or hit.text for hit in notes} <= allowed
            foreign = {text for channel, text in said if channel != own} - words
            context = inside.briefing(tokens=4_000).text + str(
                [
                    hit.text
                    for hit in inside.search(
                        "tabs postgres felt", kinds=["concept"], limit=50
                    )
                ]
            )
            assert not [text for text in foreign if text in context]
            lab.in_project(own, new=True)
        assert not [
            fact for fact in lab.facts.list() if fact.project not in ("", "telegram-3")
        ]


def test_the_command_line(run: Run) -> None:
    assert run("facts", "signal", "--text", "Actually, I prefer tabs", "--json").json[
        "categories"
    ] == [
        "correction",
        "preference",
    ]
    first = run(
        "facts", "write", "--entity", "people/ann", "--fact", "Lives in Bath", "--json"
    ).json
    assert (first["id"], first["action"]) == ("ann-001", "written")
    second = run(
        "facts",
        "write",
        "--entity",
        "people/ann",
        "--fact",
        "Now lives in York",
        "--category",
        "correction",
        "--json",
    ).json
    assert (second["action"], second["of"]) == ("superseded", ["ann-001"])
    listed = run("facts", "list", "--json").json["facts"]
    assert [(fact["id"], fact["status"], fact["tier"]) for fact in listed] == [
        ("ann-002", "active", "hot")
    ]
    assert run("facts", "list", "--as-of", "1999-01-01", "--json").json == {"facts": []}
    assert [
        link["id"] for link in run("facts", "show", "ann-001", "--json").json["chain"]
    ] == ["ann-001", "ann-002"]
    undone = run("facts", "supersede", "ann-001", "--undo", "--json").json
    assert undone == {"id": "ann-001", "status": "active", "supersededBy": None}
    added = run(
        "facts", "add-session", "--platform", "telegram", "--id", "123", "--json"
    ).json
    assert (added["channel"], added["added"]) == ("telegram-123", True)
    wrong = run("facts", "show", "ann-01")
    assert wrong.code == 1
    assert "nearest is ann-001" in wrong.err


def test_status_audit_and_the_briefing_tell_of_facts(run: Run) -> None:
    run("facts", "write", "--entity", "people/ann", "--fact", "Lives in Bath")
    run("facts", "write", "--entity", "people/ann", "--fact", "Lives in York")
    assert run("status", "--json").json["facts"] == {
        "active": 1,
        "superseded": 1,
        "entities": 1,
        "channels": 0,
    }
    (entry,) = [
        row
        for row in run("audit", "--json").json["entries"]
        if row["kind"] == "fact_superseded"
    ]
    assert entry["detail"]["by"] == "ann-002"
    run("config", "activeDesigns", '["facts"]')
    shown = run("briefing").out
    assert "\nDecisions:\n" in shown
    assert "Lives in York (" in shown
    assert "Bath" not in shown


def test_a_tension_that_a_person_accepts_lets_the_newer_word_stand(lab: Lab) -> None:
    lab.facts.write("people/ann", "Lives in Bath", source="user")
    heard = lab.facts.write("people/ann", "Now lives in Rome", source="tool")
    assert heard.tension is not None
    lab.facts.review(heard.tension, "accept")
    assert [fact.text for fact in lab.facts.list()] == ["Now lives in Rome"]
    lab.facts.review(heard.tension, "undo")
    assert lab.facts.show("ann-001").active


def test_a_directive_ends_nothing(lab: Lab) -> None:
    for text in (
        "Never use floats for money.",
        "Always use a ring buffer instead of a list.",
        "Let's use a list now.",
    ):
        assert (
            lab.facts.write("people/user", text, category="preference").action
            == "written"
        )


def test_what_a_group_says_means_nothing_for_what_others_know(lab: Lab) -> None:
    lab.facts.add_channel("telegram", "9", group=True)
    group = lab.in_project("telegram-9", new=True)
    shop = lab.in_project("shop", new=True)
    first = group.facts.write("people/ann", "Prefers tea")
    shop.facts.write("people/ann", "Lives in Bath")
    assert group.facts.write("people/ann", "Now lives in Rome").action == "written"
    assert lab.facts.write("people/ann", "prefers tea").action == "written", (
        "elsewhere nobody has heard it"
    )
    assert [fact.text for fact in shop.facts.list()] == ["Lives in Bath", "prefers tea"]
    assert {fact.project for fact in group.facts.list()} == {"telegram-9", ""}
    assert lab.facts.show(first.id).project == "telegram-9"
    shop.facts.write("projects/shop", "Ships on Friday")
    assert lab.in_project("mill", new=True).facts.list("projects/shop") == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Fixed the login bug", "Fixed the logout bug"),
        ("Finished the thesis", "Finished the race"),
        ("Wrote the parser", "Wrote the lexer"),
        ("Ann wrote the parser", "Ann wrote the lexer"),
        ("Reads a book on Rust", "Reads a book on Go"),
        ("Visited the museum in Rome", "Visited the museum in Paris"),
        ("Bought a red car", "Bought a blue car"),
    ],
)
def test_what_happened_stands_beside_what_happened_before(
    lab: Lab, first: str, second: str
) -> None:
    lab.facts.write("people/ann", first)
    assert lab.facts.write("people/ann", second).action == "written"
    assert (
        lab.facts.show("ann-002").attribute
        == second.removeprefix("Ann ").split()[0].lower()
    )


def test_a_pattern_is_on_the_page_while_it_is_warm_and_a_principle_always(
    lab: Lab,
) -> None:
    texts = {
        "episode": "Went to a fair",
        "pattern": "Asks for small commits",
        "principle": "Never deploys on Friday",
    }
    for abstraction, text in texts.items():
        lab.facts.write("people/ann", text, abstraction=abstraction)
    shown = []
    for days in (7, 30, 31):
        lab.clock.microseconds = NOW + days * DAY
        page = lab.facts.summary("people/ann")
        shown.append([name for name, text in texts.items() if f"- {text} (" in page])
    assert shown == [[*texts], [*texts], ["principle"]]


def test_a_use_counts_from_its_day_and_ten_keep_a_fact_warm(lab: Lab) -> None:
    lab.facts.write("people/ann", "Likes tea", confidence=0.4)
    lab.clock.microseconds += 40 * DAY
    assert lab.facts.tier(lab.facts.show("ann-001")) == "cold"
    for _ in range(10):
        lab.facts.access("ann-001")
    assert lab.facts.tier(lab.facts.show("ann-001")) == "hot"
    lab.clock.microseconds += 400 * DAY
    fact = lab.facts.show("ann-001")
    assert (fact.access_count, lab.facts.tier(fact)) == (10, "warm")


def test_contradictions_are_looked_for_across_entities_people_included(
    lab: Lab,
) -> None:
    lab.facts.write("people/ann", "The parser team uses Postgres for tests")
    lab.facts.write("people/ben", "The parser team no longer uses Postgres for tests")
    lab.facts.write("projects/mill", "Grinds wheat at night")
    assert lab.facts.contradict() == []
    (pair,) = lab.facts.contradict(cross_entity=True)
    assert pair["facts"] == ["ann-001", "ben-001"]
    assert pair["shared"] >= 2
    assert pair["jaccard"] >= 0.3
    (same,) = lab.facts.contradict("people/ben", cross_entity=True)
    assert same == pair
    assert lab.facts.contradict("projects/mill", cross_entity=True) == []


def test_the_command_shows_a_contradiction_across_entities(run: Run) -> None:
    write = ("facts", "memory-write", "--entity")
    run(*write, "people/ann", "--fact", "The parser team uses Postgres for tests")
    run(*write, "people/ben", "--fact", "The parser team never uses Postgres for tests")
    assert "no two facts" in run("facts", "memory-contradict").out
    shown = run("facts", "memory-contradict", "--cross-entity").out
    assert "never uses Postgres" in shown
