"""Facts about different things stand side by side; updates of one thing replace it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from conftest import Run
from fact_pairs import side_by_side, updates
from hypothesis import given, settings
from hypothesis import strategies as st

from theorex_lab import Lab
from theorex_lab.designs.facts.writing import NewFact, write_fact
from theorex_lab.memory.contract import Home
from theorex_lab.memory.distinct_things import hold_side_by_side
from theorex_lab.memory.superseding import DatedStatement, superseded

IDENTIFIERS = [
    ("Server pg-1 runs Postgres 14", "Server pg-2 runs Postgres 14"),
    ("Server front-1 runs nginx 1.25", "Server front-2 runs nginx 1.25"),
    ("Order 5011 was sent to Lyon", "Order 5012 was sent to Lyon"),
    ("Room 3 has a projector", "Room 5 has a projector"),
    ("Ticket OPS-7 is blocked by legal", "Ticket OPS-8 is blocked by legal"),
    ("Branch release-4.1 is frozen", "Branch release-4.2 is frozen"),
    ("Invoice INV-2031-001 was paid", "Invoice INV-2031-002 was paid"),
    ("Node gpu-07 has 80 GB of memory", "Node gpu-08 has 80 GB of memory"),
    ("Flight XY117 leaves at 08:30", "Flight XY175 leaves at 08:30"),
    ("Port 9080 is used by the proxy", "Port 9081 is used by the proxy"),
    ("Endpoint /v1/users needs a token", "Endpoint /v2/users needs a token"),
    ("Her phone is a Pixel 8", "His phone is a Pixel 8"),
    ("The left motor draws 4 amps", "The right motor draws 4 amps"),
    (
        "The staging cluster uses version 1.29",
        "The production cluster uses version 1.29",
    ),
    (
        "The morning shift starts with a stand-up",
        "The evening shift starts with a stand-up",
    ),
    ("Shard A holds the users table", "Shard B holds the users table"),
    (
        "Python 3.11 is installed on the laptop",
        "Python 3.12 is installed on the laptop",
    ),
    ("The Monday backup goes to tape", "The Friday backup goes to tape"),
    ("Host us-east runs Kafka", "Host eu-west runs Kafka"),
    ("Paul uses vim", "Paula uses vim"),
]
OTHER_KINDS = [
    ("Luca likes tea", "Lucas likes tea"),
    ("Luca carries a bag", "Lucas carries a bag"),
    ("My car waits for a repair", "Your car waits for a repair"),
    ("Our office smells of paint", "Their office smells of paint"),
    ("Zephyr waits for an answer", "Boreas waits for an answer"),
    ("The kitchen sensor reports 20 degrees", "The garage sensor reports 20 degrees"),
    ("Mercury is hot", "Venus is hot"),
    ("COM1 is free", "COM2 is free"),
    ("The API server's timeout is 30 s", "The web server's timeout is 30 s"),
    ("eth0 has the address 10.0.0.1", "eth1 has the address 10.0.0.2"),
    ("Service billing-eu has 3 replicas", "Service billing-us has 4 replicas"),
    ("Mars has two moons", "Earth has one moon"),
    ("The first draft is due on Monday", "The second draft is due on Friday"),
    ("The CI job lint takes 2 minutes", "The CI job build takes 9 minutes"),
    ("README.md is in English", "README.de.md is in German"),
    ("Der linke Motor zieht 4 Ampere", "Der rechte Motor zieht 4 Ampere"),
    ("Auftrag 4711 ging nach Lyon", "Auftrag 4712 ging nach Lyon"),
    ("Le serveur db-1 utilise Postgres 14", "Le serveur db-2 utilise Postgres 14"),
    ("Сервер db-1 работает на Postgres 14", "Сервер db-2 работает на Postgres 14"),
    ("Комната 12 имеет проектор", "Комната 14 имеет проектор"),
    ("Левый мотор потребляет 4 ампера", "Правый мотор потребляет 4 ампера"),
    ("サーバー1はPostgresを使う", "サーバー2はPostgresを使う"),
    ("服务器 1 运行 Postgres 14", "服务器 2 运行 Postgres 14"),
    ("左边的电机消耗 4 安培", "右边的电机消耗 4 安培"),
    ("서버 1은 매일 재시작된다", "서버 2는 매일 재시작된다"),
    ("왼쪽 모터는 4 암페어를 쓴다", "오른쪽 모터는 4 암페어를 쓴다"),
    ("الخادم 1 يستخدم بوستغرس", "الخادم 2 يستخدم بوستغرس"),
    ("Met captain Ahab", "Met captain Bligh"),
    ("Ann met captain Ahab in Rome", "Ann met captain Bligh in Rome"),
    ("Fixed bug 12", "Fixed bug 13"),
    ("Visited Rome in May", "Visited Oslo in June"),
    ("PR 168 fixes issue 12", "PR 168 fixes issue 13"),
    ("Bought 3 apples on Monday", "Bought 5 apples on Friday"),
    ("Room 12 is the largest meeting room in Lyon", "Room 14 has a projector"),
    (
        "The DHCP lease of printer-1 ends on 3 May",
        "The DHCP lease of printer-2 ends on 5 May",
    ),
    ("The width is 12 cm", "The height is 14 cm"),
    ("The width in inches is 12", "The width in cm is 30"),
    ("Line 4 of the tram goes to the lake", "Line 5 of the tram goes to the lake"),
    ("Tab A shows orders", "Tab B shows orders"),
    ("User alice@example.org is an admin", "User bob@example.org is an admin"),
    ("Commit 3fa2c1 breaks the build", "Commit 9be0d4 breaks the build"),
    ("v1 of the API is deprecated", "v2 of the API is deprecated"),
    ("Table users has 5 columns", "Table orders has 9 columns"),
    ("In staging the proxy uses port 80", "In production the proxy uses port 81"),
    ("The proxy uses port 80 in staging", "The proxy uses port 81 in production"),
    ("Grandmother lives in Bath", "Grandfather lives in York"),
    ("Ann's sister is a nurse", "Ann's brother is a nurse"),
    ("The night shift has 3 nurses", "The day shift has 8 nurses"),
]
UPDATES = [
    ("The deadline is May 3", "The deadline is May 5"),
    ("The build takes 10 minutes", "The build takes 12 minutes now"),
    ("Ann lives in Bath", "Ann moved to York"),
    ("Ann works at Acme", "Ann no longer works at Acme"),
    ("Our office is in Berlin", "Our office has moved to Hamburg"),
    ("Server db-1 runs Postgres 14", "Server db-1 runs Postgres 15"),
    ("The till's port is 80", "The port of the till is 81"),
    ("The meeting is on Monday", "The meeting was moved to Tuesday"),
    ("The Monday meeting starts at 9:00", "The Monday meeting starts at 10:00"),
    ("The default branch is master", "The default branch is main"),
    ("Ann Lee is the CEO of Orla", "Bo Kim is the CEO of Orla"),
    ("The feature flag is on", "The feature flag is off"),
    ("Tests pass on Windows", "Tests do not pass on Windows"),
    ("Her phone is a Pixel 8", "Her phone is now a Pixel 9"),
    ("Room 12 has a projector", "Room 12 no longer has a projector"),
    ("Order 4711 was shipped to Lyon", "Order 4711 was shipped to Paris"),
    ("The timeout is 30 s", "Correction: the timeout is 60 s"),
    ("Flight BA117 leaves at 08:30", "Flight BA117 leaves at 09:15"),
]
EVENTS = [
    ("Met Captain Ahab", "Met Captain Bligh"),
    ("Called Bob on Monday", "Called Cy on Friday"),
    ("Bought a tent", "Bought a stove"),
]
STATES = [
    ("Lives in Bath", "Lives in York"),
    ("Works at Acme", "Moved to a job at Orla"),
    ("Married Bo Kim", "Never married Bo Kim"),
]


_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with Lab(tmp_path_factory.mktemp("facts")) as lab:
        yield lab.home


def _second_action(home: Home, older: str, newer: str, folder: str = "projects") -> str:
    """Return what becomes of a fact that is written after another one."""
    entity = f"{folder}/x{next(_NUMBERS)}"
    assert write_fact(home, NewFact(entity, older)).action == "written"
    return write_fact(home, NewFact(entity, newer)).action


@pytest.mark.parametrize(("older", "newer"), IDENTIFIERS + OTHER_KINDS)
def test_facts_of_different_things_are_all_written(
    home: Home, older: str, newer: str
) -> None:
    assert _second_action(home, older, newer) == "written"
    assert _second_action(home, newer, older) == "written"


@pytest.mark.parametrize(("older", "newer"), UPDATES)
def test_a_fact_of_the_same_thing_with_another_value_is_no_plain_addition(
    home: Home, older: str, newer: str
) -> None:
    assert _second_action(home, older, newer) in ("superseded", "tension")


@pytest.mark.parametrize(("older", "newer"), EVENTS)
def test_what_was_done_stays_done(home: Home, older: str, newer: str) -> None:
    assert _second_action(home, older, newer, "people") == "written"


@pytest.mark.parametrize(("older", "newer"), STATES)
def test_a_state_is_no_event(older: str, newer: str) -> None:
    assert not hold_side_by_side(f"Ann {newer}", f"Ann {older}")


def test_a_rewording_is_a_near_duplicate(home: Home) -> None:
    older = "The office of the team has a red door"
    assert _second_action(home, older, "The team's office has a red door") != "written"


@pytest.mark.parametrize("half", ["made", "held"])
def test_generated_facts_of_different_things_are_written(home: Home, half: str) -> None:
    pairs = side_by_side(half)
    actions = [_second_action(home, older, newer) for older, newer in pairs]
    assert actions.count("written") == len(pairs)


@pytest.mark.parametrize("half", ["made", "held"])
def test_generated_updates_replace_what_they_update(home: Home, half: str) -> None:
    pairs = updates(half)
    actions = [_second_action(home, older, newer) for older, newer in pairs]
    assert actions.count("superseded") == len(pairs)


def test_the_briefing_and_the_facts_judge_alike() -> None:
    for older, newer in IDENTIFIERS + side_by_side("made"):
        statements = [DatedStatement(older, 1), DatedStatement(newer, 2)]
        assert superseded(statements) == [None, None], (older, newer)


def test_pairs_of_different_things_are_not_shown_as_contradictions(run: Run) -> None:
    for text in ("Room 3 has 4 chairs", "Room 5 has 9 chairs"):
        written = run(
            "facts", "write", "--entity", "projects/x", "--fact", text, "--json"
        )
        assert written.json["action"] == "written"
    shown = run("facts", "contradict", "--entity", "projects/x", "--json").json
    assert shown["candidates"] == []


words = st.text(st.characters(codec="utf-8"), max_size=12)


@settings(max_examples=150, deadline=None)
@given(st.lists(words, max_size=6), st.lists(words, max_size=6))
def test_any_two_texts_are_judged_alike_in_both_orders(
    first: list[str], second: list[str]
) -> None:
    one = " ".join(first)
    other = " ".join(second)
    assert hold_side_by_side(one, other) == hold_side_by_side(other, one)
    assert not hold_side_by_side(one, one)


numbers = st.integers(1, 9999).map(str)
nouns = st.sampled_from(
    ["Order", "Room", "Ticket", "Gate", "Platform", "Case", "Auftrag", "Заказ"]
)


@settings(max_examples=100, deadline=None)
@given(nouns, numbers, numbers, st.sampled_from(["is blocked", "has a new display"]))
def test_a_numbered_thing_is_never_replaced_by_another_number(
    noun: str, first: str, second: str, predicate: str
) -> None:
    one = f"{noun} {first} {predicate}"
    other = f"{noun} {second} {predicate}"
    assert hold_side_by_side(one, other) == (first != second)
