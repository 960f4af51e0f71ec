"""Statements in whose place a newer one stands, and those that stand side by side."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theorex_lab.memory.superseding import DatedStatement, superseded

needs_data = pytest.mark.skipif(
    "THEOREX_DATA" not in os.environ, reason="THEOREX_DATA names no folder"
)

REPLACED = [
    ("The team deploys on Tuesdays", "The team deploys on Thursdays now"),
    ("The server uses Postgres 14", "The server uses Postgres 15"),
    ("The server runs Postgres 14", "The server was upgraded to Postgres 15"),
    ("`sync` has three paths in main.go", "`sync` has four paths in main.go"),
    ("The timeout is 30 seconds", "The timeout is 60 seconds because CI is slow"),
    ("The timeout is 30s", "Raised the timeout to 2 minutes"),
    ("The auth warning is in utils.go", "The auth warning is in auth.go"),
    ("The config lives in conf/a.toml", "The config has moved to conf/b.toml"),
    ("The config lives in conf/a.toml", "We moved the config to conf/b.toml"),
    ("Use npm for installing", "Use pnpm instead of npm for installing"),
    ("We use npm", "We switched from npm to pnpm"),
    ("Never commit", "You can commit now"),
    ("The default branch is main", "The default branch is dev"),
    ("PR 168 is open", "PR 168 is merged"),
    ("Tests are green", "Tests are red"),
    ("The CLI supports Windows", "The CLI no longer supports Windows"),
    ("Don't push to main", "Push to main from now on"),
    ("Releases happen on Monday at 09:00", "Releases happen on Monday at 11:30"),
    ("The watcher is called FSWatcher", "The watcher was renamed to DirWatcher"),
    ("The chief executive of Orla is Ann Lee.", "Bo Kim runs Orla as its CEO."),
    ("The dev server listens on port 8080", "The dev server is on 9090 now, not 8080"),
    ("The service runs on port 8080", "We moved the service to 9090, not 8080"),
    ("port 8080", "9090 now, not 8080"),
    ("The director of Salt Glass is Ann Lee", "The director of Salt Glass is Bo Kim"),
    ("Ann Lee's spouse is Bo Kim", "Ann Lee's spouse is Cy Frost"),
    ("Salt Glass was performed by Ann Lee", "Salt Glass was performed by Bo Kim"),
    ("Ann Lee died in the city of Leeds", "Ann Lee died in the city of Turin"),
    (
        "Ann Lee plays the position of goalkeeper",
        "Ann Lee plays the position of forward",
    ),
    (
        "The type of music that Ann Lee plays is jazz",
        "The type of music that Ann Lee plays is folk music",
    ),
    ("port 8080", "The till listens on port 9090 now, not 8080"),
    ("Run the linter on the project", "Please run the linter on the whole project"),
]
SIDE_BY_SIDE = [
    ("The director of Salt Glass is Ann Lee", "The director of Dust is Bo Kim"),
    ("Ann Lee's child is Bo Kim", "Ann Lee's child is Cy Frost"),
    (
        "Ann Lee speaks the language of Welsh",
        "Ann Lee speaks the language of Thai",
    ),
    ("The fix was written by Ann", "The fix was written by Bo"),
    ("The test of the parser is slow", "The test of the parser is red"),
    ("The problem of the till is rounding", "The problem of the till is latency"),
    ("The bug is associated with caching", "The bug is associated with login"),
    ("Is the director of Salt Glass Ann?", "The director of Salt Glass is Bo Kim"),
    ("The kiosk listens on port 8080", "The till is on 9090 now, not 8080"),
    ("The kiosk listens on port 8080", "9090 now, not 8080"),
    ("The build failed on port 8080", "The build was moved to 9090, not 8080"),
    ("timeout 8080", "The till listens on port 9090 now, not 8080"),
    ("The dev server listens on port 80", "The dev server is on 9090 now, not 8080"),
    ("Server db-1 runs Postgres 14", "Server db-2 runs Postgres 14"),
    ("Her phone is a Pixel 8", "His phone is a Pixel 8"),
    ("The left motor draws 4 amps", "The right motor draws 5 amps"),
    ("Python 3.11 is installed here", "Python 3.12 is installed here"),
    ("The Monday backup goes to tape", "The Friday backup goes to disk"),
    ("Tests pass in the auth module", "Tests pass in the sync module"),
    ("Fixed the lint errors in main.go", "Fixed the lint errors in sync.go"),
    ("The API returns 404 for missing users", "The API returns 401 for bad tokens"),
    ("main.go handles flags", "main.go handles signals"),
    ("The CLI supports Python 3.11", "The CLI supports Python 3.12"),
    ("PR 168 fixes issue 12", "PR 168 fixes issue 13"),
    ("Never commit without asking", "Never push without asking"),
    ("The hook works in Docker", "The hook works in Linux"),
    ("The build took 3 minutes", "The build took 5 minutes"),
    ("Do not add comments", "Add comments to exported functions"),
    ("It is in main.go", "It is in utils.go"),
    ("Use 4 spaces in Python", "Use 2 spaces in YAML"),
    ("The proxy uses port 80 in staging", "The proxy uses port 81 in production"),
    ("If `main` exists, it is used", "If `main` does not exist, `dev` is used"),
    ("Line 12: added an import", "Line 48: added a flag"),
    ("Is the linter clean?", "The linter is clean."),
    ("`dry=true`, `json=true` is an error", "`dry=true`, `xml=true` is an error"),
    (
        "The morning shift starts with a daily stand-up in the main meeting room",
        "The evening shift starts with a daily stand-up in the main meeting room",
    ),
]


def _dated(*texts: str) -> list[DatedStatement]:
    return [DatedStatement(text, at) for at, text in enumerate(texts)]


def _standing(statements: list[DatedStatement]) -> list[DatedStatement]:
    replaced_by = superseded(statements)
    return [
        statement
        for statement, newer in zip(statements, replaced_by, strict=True)
        if newer is None
    ]


@pytest.mark.parametrize(("older", "newer"), REPLACED)
def test_a_newer_value_of_the_same_attribute_is_given(older: str, newer: str) -> None:
    assert superseded(_dated(older, newer)) == [1, None]


@pytest.mark.parametrize(("older", "newer"), SIDE_BY_SIDE)
def test_statements_about_different_things_stand_side_by_side(
    older: str, newer: str
) -> None:
    assert superseded(_dated(older, newer)) == [None, None]
    assert superseded(_dated(newer, older)) == [None, None]


def test_a_statement_without_a_subject_is_about_its_heading() -> None:
    statements = [
        DatedStatement("uses Postgres 14", 1, "db-1"),
        DatedStatement("uses Postgres 14", 2, "db-2"),
        DatedStatement("uses Postgres 15", 3, "db-1"),
    ]
    assert superseded(statements) == [2, None, None]


def test_a_value_that_comes_back_is_given_in_its_newest_wording() -> None:
    statements = _dated(
        "We deploy on Tuesdays", "We deploy on Thursdays", "We deploy on Tuesdays"
    )
    assert superseded(statements) == [2, 2, None]


def test_no_statement_replaces_none() -> None:
    assert superseded([]) == []
    assert superseded(_dated("", "", "word")) == [1, None, None]


ATTRIBUTES = {
    "deploys on {}": ("Mondays", "Tuesdays", "Fridays"),
    "listens on port {}": ("8080", "8081", "9090"),
    "lives in {}": ("conf/a.toml", "conf/b.toml", "etc/c.toml"),
    "has {} paths": ("3", "four", "11"),
}
claims = st.tuples(
    st.sampled_from(("proxy-1", "proxy-2", "db-1", "web")),
    st.sampled_from(sorted(ATTRIBUTES)),
    st.integers(0, 2),
)


def _stated(claim: tuple[str, str, int], at: int) -> DatedStatement:
    subject, attribute, number = claim
    value = ATTRIBUTES[attribute][number]
    return DatedStatement(f"The {subject} {attribute.format(value)}.", at)


@settings(max_examples=60, deadline=None)
@given(st.lists(claims, max_size=12))
def test_of_each_attribute_of_each_subject_the_newest_statement_stands(
    stated: list[tuple[str, str, int]],
) -> None:
    newest = {
        (subject, attribute): at for at, (subject, attribute, _) in enumerate(stated)
    }
    statements = [_stated(claim, at) for at, claim in enumerate(stated)]
    times = [statement.at for statement in _standing(statements)]
    assert times == sorted(newest.values())


@settings(max_examples=60, deadline=None)
@given(st.lists(claims, max_size=12), st.randoms(use_true_random=False))
def test_the_order_in_which_statements_come_changes_nothing(
    stated: list[tuple[str, str, int]], random: object
) -> None:
    statements = [_stated(claim, at) for at, claim in enumerate(stated)]
    shuffled = list(statements)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    by_time = sorted(_standing(shuffled), key=lambda statement: statement.at)
    assert by_time == _standing(statements)


sentences = st.sampled_from([text for pair in REPLACED + SIDE_BY_SIDE for text in pair])


@settings(max_examples=60, deadline=None)
@given(st.lists(sentences, max_size=15))
def test_what_stands_is_not_replaced_when_it_is_judged_again(texts: list[str]) -> None:
    standing = _standing(_dated(*texts))
    assert _standing(standing) == standing
    assert bool(standing) == bool(texts)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=60), max_size=8))
def test_any_text_is_judged_and_the_newest_stands(texts: list[str]) -> None:
    replaced_by = superseded(_dated(*texts))
    assert len(replaced_by) == len(texts)
    for at, newer in enumerate(replaced_by):
        assert newer is None or newer > at
    assert not texts or replaced_by[-1] is None


@needs_data
def test_of_updated_facts_what_holds_is_kept_and_what_is_stale_is_dropped() -> None:
    path = Path(os.environ["THEOREX_DATA"]) / "fact_updates" / "facts-1k.jsonl.gz"
    statements: list[DatedStatement] = []
    positions: dict[int, int] = {}
    probes: list[dict[str, list[int]]] = []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            if "probe" in entry:
                probes.append(entry["probe"])
                continue
            positions[entry["fact"]["n"]] = len(statements)
            text = entry["fact"]["text"]
            statements.append(DatedStatement(text, entry["fact"]["n"]))
    replaced_by = superseded(statements)
    is_kept = [
        replaced_by[positions[n]] is None for probe in probes for n in probe["evidence"]
    ]
    is_dropped = [
        replaced_by[positions[n]] is not None
        for probe in probes
        for n in probe["stale"]
    ]
    kept = sum(is_kept) / len(is_kept)
    dropped = sum(is_dropped) / len(is_dropped)
    assert kept >= 0.99
    assert dropped >= 0.9
