"""Which statements of a capture the heartbeat keeps as facts, and about whom or what."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from theorex_lab import FixedClock, HashedNgramEmbedder, Lab, new_event
from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.designs.facts.facts import Fact
from theorex_lab.designs.facts.subjects import Subject, subject_named

DAY = MICROSECONDS_PER_DAY
START = FixedClock.at("2026-01-05T09:00:00Z").now()

# What an agent says at the end of a turn -> the entity and the words that are kept.
KEPT = [
    ("The till rounds each line.", "till", "The till rounds each line"),
    ("`till.py` contains the rounding of prices.", "till-py", ""),
    ("The `shop sync` command uploads every receipt at night.", "shop-sync", ""),
    ("The default port of the till is 8080.", "till", ""),
    ("The till's timeout is 30 seconds in `till.toml`.", "till", ""),
    (
        "`POST /orders/{id}` - Create an order with its lines",
        "orders",
        "`POST /orders/{id}` creates an order with its lines",
    ),
    (
        "`stock.go`: reads the stock from `stock.db`",
        "stock-go",
        "`stock.go` reads the stock from `stock.db`",
    ),
    ("`StockReader` returns the items in the order of their shelf.", "stockreader", ""),
    ("Receipts are stored in `data/receipts/`.", "receipt", ""),
    ("The order service listens on port 9090.", "order-service", ""),
    ("The project uses pnpm with Node 22.", "shop", ""),
    ("We use pnpm for all packages.", "shop", ""),
    ("Ann owns the parser of the shop.", "ann", ""),
    ("The cashier approves refunds over 50 euros.", "cashier", ""),
    ("The `orders` table has a column `paid_at`.", "orders", ""),
    ("`--dry-run` prints the plan without writing `stock.db`.", "dry-run", ""),
    ("The price cache lives in `~/.cache/shop`.", "price-cache", ""),
    ("`src/shop/index.ts` exports the parser of receipts.", "shop-index-ts", ""),
    ("`MAX_JOBS` controls how many imports run at once.", "max-jobs", ""),
    ("The nightly backup requires the `stock:read` scope.", "nightly-backup", ""),
    (
        "Note that the receipt printer runs on a Raspberry Pi.",
        "receipt-printer",
        "The receipt printer runs on a Raspberry Pi",
    ),
    ("`parse_price` accepts a comma or a dot.", "parse-price", ""),
    (
        "The stock server now correctly returns JSON with two decimals.",
        "stock-server",
        "The stock server returns JSON with two decimals",
    ),
    (
        "Renamed `stock.go` to `shelf.go`.",
        "stock-go",
        "`stock.go` was renamed to `shelf.go`",
    ),
    ("`readStock` moved to `shop/reading.go`.", "readstock", ""),
    (
        "Added the `--all` flag to the `shop list` command.",
        "shop-list",
        "The `shop list` command has the `--all` flag",
    ),
    (
        "Removed the `port` parameter from `serve`.",
        "serve",
        "`serve` no longer has the `port` parameter",
    ),
    ("`serve` no longer binds to `0.0.0.0`.", "serve", ""),
    (
        "`till.toml` - Changed the rounding mode from `half` to `even`.",
        "till-toml",
        "The rounding mode in `till.toml` was changed from `half` to `even`",
    ),
    (
        "Database name: `stock2` (was `stock`)",
        "database-name",
        "The database name was changed from `stock` to `stock2`",
    ),
    ("Readers without a card get `Refused`.", "reader", ""),
    ("The till no longer writes `till.log`.", "till", ""),
    ("The shop's testing convention prefers `pytest`.", "shop", ""),
    ("The receipt CLI prints `total` last.", "receipt-cli", ""),
    (
        "`Till` - has a special case for refunds over 50 euros",
        "till",
        "`Till` has a special case for refunds over 50 euros",
    ),
    ("The Postgres schema has `orders` and `lines`.", "postgres-schema", ""),
    (
        "`Till.close` writes the total to `till.log` (`till.py:40-52`).",
        "till-close",
        "`Till.close` writes the total to `till.log`",
    ),
]

REFUSED = [
    "That seems wrong.",
    "This is stored in `data/receipts/`.",
    "It listens on port 9090.",
    "`Till`'s internal indexes on `receipts(name, day)`.",
    "The fix uses a second cache.",
    "The second approach stores receipts in `b.db`.",
    "All tests pass now.",
    "The order service is still broken on port 9090.",
    "Should the till round each line?",
    "Let me check how the till rounds each line.",
    "I'll move the receipts to `data/`.",
    "Next, the till needs a second port.",
    "The till should listen on port 9090.",
    "The till could read `till.toml` first.",
    "You can start the till with `shop run`.",
    "Please run `shop sync` after the import.",
    "The code is clean and well structured.",
    "`till.py` is a good place for the rounding.",
    "12 tests fail in `till_test.py`.",
    "The branch is three commits ahead of `main`.",
    "The till probably rounds each line.",
    "The import was slow because of `stock.db`.",
    "`grep` prints the lines that match a pattern.",
    "Done.",
    "Here is the summary of the till:",
    "Added tests and updated the docs.",
    "The following files use `till.toml`.",
    "The error message names the wrong shelf.",
    "`TestTill_Rounds` checks the total of two lines.",
    "`till.py:40` is where the total is lost, but nobody reads it.",
    "Phase 2 stores receipts in `data/`.",
    "Inline keyboard buttons for navigation in `till.py`",
    "Database tables created (`orders`, `lines`).",
    "`shelves`: file patterns to which the rules apply",
    "`till.py`: call site passes `&url`.",
    "`POST /orders` - Create a new order",
    "`update_order` modifies existing orders.",
    "`get` gets an order by its ID.",
    "Empty receipts return `Nothing`.",
    "The rounding fix is in `till.py`.",
    "`parse_price` was removed.",
    "Moved `till.py` to prevent a circle with `shop.py`.",
    "Replaced all `print()` calls with `log.info()`.",
    "The till cannot tell customers the hour.",
    "Model decides when to call `remember`.",
]

WISHES = [
    (
        "when working with json outputs, never use grep, but rather jq.",
        "When working with json outputs, never use grep, but rather jq",
    ),
    (
        "Always run the linter before you commit.",
        "Always run the linter before you commit",
    ),
    ("Remember to run the linter.", "Run the linter"),
    (
        "from now on, never ask me before running the tests",
        "Never ask the user before running the tests",
    ),
    ("I prefer tabs over spaces.", "The user prefers tabs over spaces"),
]
NO_WISHES = [
    "no, that's too much.",
    "you didn't update the worklog",
    "yes, go ahead and do so",
    "never do it like this again",
    "think about how you can update the rule to make sure you always do this",
    "always do that first",
    "i asked you to create a task, not to start with it.",
    "change the import to never wait for the stock",
]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    clock = FixedClock(START)
    with Lab(tmp_path / "home", clock=clock, embedder=HashedNgramEmbedder()) as made:
        yield made


def _say(lab: Lab, text: str, *, kind: str, day: int = 0) -> None:
    """Append what was said in the project shop on a day, and read it for facts."""
    source = "user" if kind == "prompt" else "agent"
    body: dict[str, object] = {"text": text, "source": source, "project": "shop"}
    if kind == "turn_ended":
        body = {
            "message": text,
            "source": source,
            "project": "shop",
            "subagent": False,
        }
    assert isinstance(lab.clock, FixedClock)
    lab.clock.microseconds = START + day * DAY
    event = new_event(kind, body, agent="main", session=f"s{day}", at=START + day * DAY)
    lab.journal.append([event])
    lab.facts.extract()


def _active(lab: Lab) -> list[Fact]:
    return [fact for fact in lab.facts.list() if fact.active]


@pytest.mark.parametrize(("sentence", "slug", "words"), KEPT)
def test_a_statement_that_stands_alone_is_a_fact_of_what_it_names(
    lab: Lab, sentence: str, slug: str, words: str
) -> None:
    _say(lab, sentence, kind="turn_ended")
    (fact,) = _active(lab)
    assert fact.entity.partition("/")[2] == slug
    assert fact.text == (words or sentence.rstrip("."))
    assert (fact.source, fact.project, fact.at) == ("agent", "shop", START)


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_needs_its_conversation_or_passes_is_no_fact(
    lab: Lab, sentence: str
) -> None:
    _say(lab, sentence, kind="turn_ended")
    assert _active(lab) == []


@pytest.mark.parametrize(("sentence", "words"), WISHES)
def test_a_standing_wish_is_a_preference_of_the_user_in_words_that_stand_alone(
    lab: Lab, sentence: str, words: str
) -> None:
    _say(lab, sentence, kind="prompt")
    (fact,) = _active(lab)
    assert (fact.entity, fact.category, fact.text) == (
        "people/user",
        "preference",
        words,
    )


@pytest.mark.parametrize("sentence", NO_WISHES)
def test_a_complaint_or_a_request_is_no_preference(lab: Lab, sentence: str) -> None:
    _say(lab, sentence, kind="prompt")
    assert _active(lab) == []


def test_a_transcript_of_another_name_makes_no_entity(lab: Lab) -> None:
    _say(lab, "yes implement it. The till rounds each line.", kind="turn_ended")
    assert [fact.entity for fact in _active(lab)] == ["projects/till"]


def test_what_stands_under_a_heading_of_plans_is_no_fact(lab: Lab) -> None:
    text = (
        "## Next steps\n- `till.py` reads the port of `till.toml`\n\n"
        "## Files\n- `shelf.py` reads the shelves of `shelf.toml`"
    )
    _say(lab, text, kind="turn_ended")
    assert [fact.entity for fact in _active(lab)] == ["projects/shelf-py"]


# Day -> what an agent says, what it replaces.
YEAR = [
    (0, "The till listens on port 8080.", ""),
    (3, "Receipts live in `data/receipts`.", ""),
    (9, "The default timeout of the order service is 30 seconds.", ""),
    (20, "`stock list` prints all items with their shelf.", ""),
    (34, "The till listens on port 9090.", "The till listens on port 8080"),
    (41, "The `shop list` command has the `--all` flag.", ""),
    (60, "Receipts live in `archive/receipts`.", "Receipts live in `data/receipts`"),
    (
        75,
        "The default timeout of the order service is 45 seconds.",
        "The default timeout of the order service is 30 seconds",
    ),
    (
        90,
        "`stock list` prints all items with their shelf and price.",
        "`stock list` prints all items with their shelf",
    ),
    (
        120,
        "Removed the `--all` flag from the `shop list` command.",
        "The `shop list` command has the `--all` flag",
    ),
    (150, "`parse_price` accepts a comma or a dot.", ""),
    (180, "The till listens on port 9443.", "The till listens on port 9090"),
    (200, "Removed `parse_price`.", "`parse_price` accepts a comma or a dot"),
    (240, "The label printer runs on port 7000.", ""),
    (
        300,
        "The default timeout of the order service is 60 seconds.",
        "The default timeout of the order service is 45 seconds",
    ),
    (330, "The label printer moved to `10.0.0.7`.", ""),
    (364, "Receipts live in `s3/receipts`.", "Receipts live in `archive/receipts`"),
]


def test_updates_of_a_year_supersede_and_nothing_is_deleted(lab: Lab) -> None:
    for day, sentence, _ in YEAR:
        _say(lab, sentence, kind="turn_ended", day=day)
    facts = {fact.id: fact for fact in lab.facts.list(active=None)}
    replaced = {
        fact.text: facts[fact.superseded_by].at
        for fact in facts.values()
        if fact.superseded_by
    }
    expected = {old: START + day * DAY for day, _, old in YEAR if old}
    assert replaced == expected
    assert len(facts) == len(YEAR)
    assert lab.verify().ok


def test_what_was_believed_on_a_day_of_the_year_is_still_known(lab: Lab) -> None:
    for day, sentence, _ in YEAR[:8]:
        _say(lab, sentence, kind="turn_ended", day=day)
    march = "2026-02-07T12:00:00Z"
    before = {fact.text for fact in lab.facts.list("projects/till", as_of=march)}
    assert before == {"The till listens on port 8080"}


# What is said first, what is said later, and whether that takes the first one's place.
TAKEN_BACK = [
    (
        "`stock.py` sets `shelf_size` on each import.",
        "`shelf_size` is no longer written on the import.",
        True,
    ),
    (
        "`stock.py` sets `shelf_size` on each import.",
        "`shelf_name` is no longer written on the import.",
        False,
    ),
    (
        "`GET /runs/{id}` polls for the state of an import.",
        "The polling endpoint is now `GET /imports/{id}` instead of `GET /runs/{id}`.",
        True,
    ),
    (
        "`parse_price` accepts a comma or a dot.",
        "The till calls `read_price` instead of `parse_price`.",
        False,
    ),
    (
        "The rounding mode in `till.toml` is `half`.",
        "`till.toml` - Changed the rounding mode from `half` to `even`.",
        True,
    ),
]


@pytest.mark.parametrize(("first", "later", "is_taken_back"), TAKEN_BACK)
def test_what_is_no_longer_so_gives_way_whatever_words_say_it(
    lab: Lab, first: str, later: str, is_taken_back: bool
) -> None:
    _say(lab, first, kind="turn_ended")
    _say(lab, later, kind="turn_ended", day=7)
    older, newer = sorted(lab.facts.list(active=None), key=lambda fact: fact.at)
    assert older.superseded_by == (newer.id if is_taken_back else "")


@pytest.mark.parametrize(
    ("phrase", "predicate", "subject"),
    [
        ("The default port of the till", "is 8080", Subject("till", "thing")),
        ("The till's owner", "is Ann", Subject("till", "thing")),
        ("Our project", "uses pnpm", Subject("", "project")),
        ("Ben Ode", "maintains the parser", Subject("Ben Ode", "person")),
        ("The treasurer", "approves refunds", Subject("treasurer", "person")),
        ("`lib/a/index.ts`", "exports b", Subject("a/index.ts", "thing")),
        ("`GET /orders/{id}`", "returns b", Subject("/orders", "thing")),
        ("The second option", "is `b`", None),
        ("The function that reads it", "is `b`", None),
        ("Everything", "is stored in `b`", None),
        ("HEAD", "points to `b`", None),
    ],
)
def test_a_subject_is_what_its_phrase_names(
    phrase: str, predicate: str, subject: Subject | None
) -> None:
    assert subject_named(phrase, predicate) == subject


# What is said of what -> its attribute and its value.
PARTS = [
    ("The order service listens on port 9090.", "listens on", "port 9090"),
    ("The default port of the till is 8080.", "default port", "8080"),
    ("The till's timeout was raised to 30 seconds.", "timeout", "30 seconds"),
    ("Renamed `stock.go` to `shelf.go`.", "renamed to", "`shelf.go`"),
    ("Receipts are stored in `data/receipts/`.", "are stored in", "`data/receipts/`"),
    ("`serve` calls `bind(host, port)`.", "calls", "`bind(host, port)`"),
    ("`Till` doesn't quietly drop rows.", "doesn't drop", "rows"),
]


@pytest.mark.parametrize(("sentence", "attribute", "value"), PARTS)
def test_a_fact_has_an_attribute_and_a_value(
    lab: Lab, sentence: str, attribute: str, value: str
) -> None:
    _say(lab, sentence, kind="turn_ended")
    (fact,) = _active(lab)
    assert (fact.attribute, fact.value) == (attribute, value)
    document = fact.to_dict()
    assert (document["attribute"], document["value"]) == (attribute, value)


@pytest.mark.parametrize(
    ("sentence", "category"),
    [
        ("My name is Ann and I work at the mill.", "relationship"),
        ("Always run the linter before you commit.", "preference"),
        ("I prefer tabs over spaces.", "preference"),
        ("We decided to store receipts in SQLite.", "decision"),
    ],
)
def test_what_a_message_signals_becomes_a_category_of_facts(
    lab: Lab, sentence: str, category: str
) -> None:
    _say(lab, sentence, kind="prompt")
    assert [fact.category for fact in _active(lab)] == [category]


def test_a_wish_is_what_its_person_wants(lab: Lab) -> None:
    _say(lab, "Always run the linter before you commit.", kind="prompt")
    (fact,) = _active(lab)
    assert (fact.attribute, fact.value) == ("wants", fact.text)


def test_another_value_of_a_property_replaces_the_last_however_it_is_worded(
    lab: Lab,
) -> None:
    _say(lab, "The default port of the till is 8080.", kind="turn_ended")
    _say(lab, "The maintainer of the till is Ann.", kind="turn_ended", day=1)
    _say(lab, "The till's default port is 9090.", kind="turn_ended", day=2)
    texts = [fact.text for fact in _active(lab)]
    assert texts == [
        "The maintainer of the till is Ann",
        "The till's default port is 9090",
    ]


def test_a_fact_of_an_older_release_has_neither_attribute_nor_value(lab: Lab) -> None:
    _say(lab, "The till listens on port 9090.", kind="turn_ended")
    (written,) = lab.journal.tail(0, kinds=["fact"])
    body = {**written.body, "fact_id": "till-007", "text": "The till is red"}
    del body["attribute"], body["value"], body["v"]
    lab.journal.append([new_event("fact", body, agent="main", at=START)])
    fact = lab.facts.show("till-007")
    assert (fact.attribute, fact.value) == ("", "")
    assert fact.to_dict()["attribute"] is None
