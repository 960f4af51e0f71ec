"""The first search over a few memories, before anything else has made vectors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import NOW

from theorex_lab import FixedClock, Lab
from theorex_lab.memory import embedded

# What a person wrote down, and how somebody asks for it later, in other words.
MEMORIES = {
    "We chose PostgreSQL over MySQL because of its JSON support": (
        "which relational database do we run"
    ),
    "The deploy script only works while the VPN is connected": (
        "why can't I ship to production from home"
    ),
    "Anna signs off every release before it goes to customers": (
        "who has to approve a new version"
    ),
    "Unit tests live next to the module, integration tests in a folder of their own": (
        "where do I put a new test"
    ),
    "Invoices are rounded to whole cents only after tax is added": (
        "at which step do we round amounts on a bill"
    ),
    "The mobile app keeps its login for thirty days": (
        "how long does a user stay signed in on the phone"
    ),
    "Passwords are hashed with argon2, never with md5": (
        "which algorithm protects user credentials"
    ),
    "Backups are copied to another region every night at two": (
        "when is the data saved elsewhere"
    ),
    "The search page became slow because the title column had no index": (
        "what made looking for articles take so long"
    ),
    "Feature flags are switched off by default in staging": (
        "are experimental toggles enabled on the test system"
    ),
    "The payment provider retries a webhook up to five times": (
        "how often is a failed callback from billing sent again"
    ),
    "Log lines must not contain e-mail addresses": (
        "what personal data is forbidden in the logs"
    ),
    "Images are resized in the browser before the upload": (
        "do pictures get smaller before they are sent to us"
    ),
    "The nightly job was moved to Kubernetes since cron lost its errors": (
        "why don't we use crontab any more"
    ),
    "Customers in Norway see prices without value added tax": (
        "for which country do we leave out VAT"
    ),
}
ENOUGH = 12


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path, clock=FixedClock(NOW)) as opened:
        agent = opened.agent("main")
        for text in MEMORIES:
            agent.write(text)
        yield opened


def test_paraphrased_questions_find_what_was_written(lab: Lab) -> None:
    answered: list[str] = []
    for text, question in MEMORIES.items():
        if text in [hit.text for hit in lab.search(question, limit=3)]:
            answered.append(question)
    assert len(answered) >= ENOUGH, set(MEMORIES.values()) - set(answered)


def test_the_first_search_makes_the_vectors_that_it_misses(lab: Lab) -> None:
    assert lab.searcher.vectors.coverage()["covered"] == 0
    hits = lab.search("database")
    assert "PostgreSQL" in hits[0].text
    assert hits.notes == ()
    assert lab.searcher.vectors.coverage() == {"covered": len(MEMORIES), "queued": 0}


def test_where_many_vectors_are_missing_words_answer_and_the_command_is_named(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "_FEW_TEXTS", len(MEMORIES) - 1)
    hits = lab.search("PostgreSQL")
    assert "PostgreSQL" in hits[0].text
    [note] = hits.notes
    assert note == "0 of 15 texts have vectors; `theorex embed` makes the others"
