"""A maintenance killed at the changes that it makes: run again, it ends where an undisturbed
one ends.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW
from faults import VIEWS, boundaries, documented, files, forked, quick_folder
from killed_homes import every, killed_homes
from small_process import in_small_process
from test_failures import traced
from test_gate import _lab, _new
from test_maintenance import STEPS, fill

from theorex_lab import Event, Home, Lab
from theorex_lab.core.settings import load_settings
from theorex_lab.designs.theorex import upkeep
from theorex_lab.eval.replay.design_systems import PUBLISHED
from theorex_lab.evolution import maintenance as maintenance_module
from theorex_lab.evolution.acceptance import policies, policy_settings, rollback
from theorex_lab.evolution.cases import FailureCase, ReviewVerdict
from theorex_lab.evolution.failures import HeuristicReviewer
from theorex_lab.evolution.lease import Lease
from theorex_lab.journal.event import encode

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="needs processes that are forked"
)
FURTHER_KILLS = 4


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


def _maintain(lab: Lab) -> None:
    lab.settings = load_settings(lab.config_file)
    report = lab.maintain(reviewer="heuristic", designs=PUBLISHED)
    assert report.ok, report


def _trace_of_the_failure(lab: Lab) -> None:
    """A run that rules can read, so that the maintenance's review has a fix to write."""
    failure = lab.outcomes.queue()[-1]
    traced(
        lab,
        failure.outcome_id,
        ("Bash", "make publish", "bash: make: command not found"),
    )


class _Anybody(Lease):
    """A lease that everyone has."""

    held = True

    def renew(self) -> None:
        pass

    def append(self, events: Sequence[Event]) -> None:
        self.home.journal.append(events, allow_future=True)


@contextmanager
def _unleased(home: Home, what: str) -> Iterator[Lease]:
    yield _Anybody(home, what)


def _propose_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut down what may be proposed, since the maintenance is run a hundred times."""
    monkeypatch.setattr(upkeep, "LAW_NAMES", ("product",))
    monkeypatch.setattr(upkeep, "MILD_THRESHOLDS", (0.3,))


@pytest.fixture
def template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which every step of the maintenance has something to do, the gate's being to
    accept a policy.
    """
    _propose_little(monkeypatch)
    home = tmp_path / "template"
    with _lab(
        home, _new, days=10, mentions=4, halfLifeDays=1_000.0, acceptanceMinSamples=2
    ) as lab:
        fill(lab)
        _trace_of_the_failure(lab)
    return home


def _state(home: Path) -> dict[str, Any]:
    """All that a home holds: events and columns, with each event's id, which chance may
    have drawn, told by its place.
    """
    with documented(home) as lab:
        report = lab.verify()
        assert report.ok, report.problems
        events = [*lab.journal.tail(0)]
        numbers = {event.id: f"event {event.seq}" for event in events}
        outlines = []
        for event in events:
            body = event.body
            if event.kind in (
                "lease",
                "dream",
            ):  # its owner is a process; of what a killed cycle made no other tells
                continue
            if (
                event.kind == "nightly"
            ):  # what was done already is no more told by the second run
                body = {"steps": [[step["name"], step["ok"]] for step in body["steps"]]}
            if event.kind == "extracted":
                body = {"captures": body["captures"]}
            text = encode(
                [event.kind, event.agent, event.session, event.at, event.lineage, body]
            )
            for event_id in (*event.lineage, str(event.body.get("observation_id"))):
                text = text.replace(event_id, numbers.get(event_id, event_id))
            outlines.append(text)
        columns = {
            f"{kind.name}.{name}": (array.dtype.str, array.shape, array.tobytes())
            for kind in VIEWS
            for name, array in lab.views.get(kind).columns().items()
            # Numbers of ids, which chance has drawn; and cycles, of which a killed one
            # leaves no mark.
            if (kind.name, name) != ("items", "documents.item")
            and not name.startswith("cycles.")
        }
    config, context = (
        (home / name).read_bytes() for name in ("config.json", "SHARED_CONTEXT.md")
    )
    told = re.sub(
        rb", id [0-9a-f]{8}\)", b")", context
    )  # of a fix, whose id chance has drawn
    return {"events": outlines, **columns, "config": config, "context": told}


@in_small_process
def test_the_maintenance_that_was_killed_is_made_good_by_the_next(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The steps are what is compared: the lease, which a killed maintenance leaves, is given
    to everyone (see test_lease).
    """
    _propose_little(monkeypatch)
    monkeypatch.setattr(maintenance_module, "leased", _unleased)
    undisturbed = shutil.copytree(template, tmp_path / "undisturbed")
    with documented(undisturbed) as lab:
        _maintain(lab)
        kinds = {event.kind for event in lab.journal.tail(0)}
        assert {
            "reviewed",
            "refined",
            "policy",
            "gated",
            "graduated",
            "scan",
            "promoted",
            "nightly",
        } <= kinds
    expected = _state(undisturbed)
    passed = boundaries(template, tmp_path, _maintain)
    commits = [number for number, name in enumerate(passed, 1) if name == "COMMIT"]
    renames = [
        number for number, name in enumerate(passed, 1) if name.startswith("os.rename")
    ]
    # Before each transaction, which is after the one before it; before and after each
    # file that is replaced; at the end;
    # and at as many others as there is time for.
    numbers = {*commits, *renames, *(number + 1 for number in renames), len(passed)}
    others = [number for number in range(1, len(passed) + 1) if number not in numbers]
    numbers |= set(others[:: max(1, len(others) // FURTHER_KILLS)])
    assert len(commits) >= len(STEPS)
    places = {number: passed[number - 1] for number in sorted(numbers)}
    for killed in killed_homes(template, tmp_path, _maintain, places):
        with documented(killed.home) as lab:
            _maintain(lab)
        assert _state(killed.home) == expected, killed.boundaries
        # But for drafts that the killed process left, and the note of what was checked
        # of config.json.
        left = {
            each
            for each in files(killed.home) ^ files(undisturbed)
            if not each.startswith(
                (
                    ".SHARED_",
                    "..SHARED_",
                    ".config",
                    "contexts/.none.md.",
                    "contexts/..none.md.",
                )
            )
        }
        assert not left


def test_a_rollback_that_was_killed_is_made_good_by_repeating_it(
    template: Path, tmp_path: Path
) -> None:
    def back(lab: Lab) -> None:
        rollback(lab.journal, load_settings(lab.config_file), lab.folder, 1, at=NOW)

    with documented(template) as lab:
        _maintain(lab)
        assert len(policies(lab.journal)) == 2
        old = policies(lab.journal)[0]
    undisturbed = shutil.copytree(template, tmp_path / "undisturbed")
    with documented(undisturbed) as lab:
        back(lab)
    expected = _state(undisturbed)
    passed = boundaries(template, tmp_path, back)
    for killed in killed_homes(template, tmp_path, back, every(passed)):
        with documented(killed.home) as lab:
            back(lab)
            assert policy_settings(load_settings(lab.config_file)) == old.settings
        assert _state(killed.home) == expected, killed.boundaries


def test_two_runs_at_once_are_one(template: Path, tmp_path: Path) -> None:
    """While one process is in the middle of its maintenance another tries: each step is taken
    once.
    """
    home = shutil.copytree(template, tmp_path / "home")
    undisturbed = shutil.copytree(template, tmp_path / "undisturbed")
    with documented(undisturbed) as lab:
        _maintain(lab)
    ran = []

    class Overtaken(HeuristicReviewer):
        def review(self, case: FailureCase) -> ReviewVerdict:
            def other() -> None:
                with documented(home) as second:
                    report = second.maintain(reviewer="heuristic")
                    assert (report.ran, report.steps) == (False, [])

            assert forked(other) == 0
            ran.append(case.outcome.outcome_id)
            return super().review(case)

    with documented(home) as lab:
        lab.settings = load_settings(lab.config_file)
        report = lab.maintain(reviewer=Overtaken(), designs=PUBLISHED)
        assert (report.ran, report.ok, len(ran) > 0) == (True, True, True)
    assert _state(home) == _state(undisturbed)
