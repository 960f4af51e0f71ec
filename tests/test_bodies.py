"""Bodies that are not what their kinds say: refused at every door, and set aside where an older release let them in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, Run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from notes_design import NOTES

from theorex_lab import FixedClock, InvalidInput, Lab
from theorex_lab.designs import installed
from theorex_lab.designs.theorex import KINDS as THEOREX_KINDS
from theorex_lab.ids import derived_event_id
from theorex_lab.journal.event import (
    FIELDS,
    VERSIONS,
    Event,
    body_problem,
    encode,
    new_event,
    readable,
    register_kinds,
)
from theorex_lab.journal.kinds import PROJECT, SOURCE
from theorex_lab.journal.sqlite.store import INSERT, checksum
from theorex_lab.memory.decay import COUNT_HALF_LIVES_DAYS, Tier
from theorex_lab.memory.observation import TRUST
from theorex_lab.project import check_project

# A whole body of each kind, as real operations wrote them.
BODIES: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "golden" / "bodies.json").read_text())
WRONG = (None, "text", 7, -1, 2**70, 0.5, float("inf"), True, [], [3], ["a"], {}, {"a": []}, [[]], [{}])
DROPPED = object()


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of every member of a body, however deep."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield (*path, name)
            yield from places(inner, (*path, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield (*path, number)
            yield from places(inner, (*path, number))


def changed(body: dict[str, Any], path: tuple[Any, ...], value: object) -> dict[str, Any]:
    """A copy of a body with another value at a place, or without one."""
    copy: dict[str, Any] = json.loads(json.dumps(body))
    holder: Any = copy
    for step in path[:-1]:
        holder = holder[step]
    if value is DROPPED:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return copy


def mutations(kind: str) -> Iterator[dict[str, Any]]:
    """Bodies of a kind with one member missing, or of another type, and an empty one."""
    yield {"v": VERSIONS[kind]}
    for path in places(BODIES[kind]):
        if path != ("v",):
            yield changed(BODIES[kind], path, DROPPED)
            for value in WRONG:
                yield changed(BODIES[kind], path, value)


def stored(lab: Lab, kind: str, body: object, event_id: str) -> None:
    """Write an event past every check, as an older release did."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    fields = (event_id, NOW, "main", "s", kind, "[]", text)
    with lab.journal.writing() as connection:  # type: ignore[attr-defined]
        connection.execute(INSERT, (None, *fields, checksum(*fields)))


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=FixedClock(NOW)) as opened:
        assert opened.home.designs
        yield opened


def use(lab: Lab) -> None:
    """Ask a home for everything that reads its events."""
    lab.search("cache stampede", limit=5)
    lab.context()
    lab.context("how do we mend the cache?")
    lab.status()
    lab.nightly(reviewer="heuristic")
    list(lab.audit())
    lab.theorex.axon()
    lab.trace_stats()
    lab.matrix()
    lab.outcomes.outcomes()
    lab.tasks.tasks("main")
    lab.search("cache", kinds=None, spread=True)


def test_every_kind_declares_its_fields_and_has_a_sample(lab: Lab) -> None:
    known = {kind for design in installed() for kind in design.kinds} | set(FIELDS)
    assert known == set(BODIES)
    for kind, body in BODIES.items():
        assert body_problem(kind, body) == ""


def test_the_declarations_say_what_other_modules_say() -> None:
    assert all(SOURCE.test(source) for source in TRUST)
    assert not SOURCE.test("nobody")
    tiers = THEOREX_KINDS["scan"].fields["tiers"][str]
    assert {name.removesuffix("?") for name in tiers} == set(Tier.__members__)
    assert THEOREX_KINDS["imported"].fields["decayed"].test([0.0] * len(COUNT_HALF_LIVES_DAYS))
    for name in ("", "shop-0a1b", "a" * 64, "a" * 65, "a/b", "..", "a b", "ä"):
        try:
            allowed = check_project(name) == name
        except InvalidInput:
            allowed = False
        assert PROJECT.test(name) == allowed


@pytest.mark.parametrize("kind", sorted(BODIES))
def test_a_body_without_a_needed_field_is_refused_with_what_is_allowed(lab: Lab, kind: str) -> None:
    needed = [name for name in FIELDS[kind] if isinstance(name, str) and not name.endswith("?")]
    for name in needed:
        body = changed(BODIES[kind], (name,), DROPPED)
        event = new_event(kind, body, agent="main", at=NOW)
        with pytest.raises(InvalidInput, match=rf"kind '{kind}' in which the field '{name}' is missing; allowed is"):
            lab.journal.append([event])
        with pytest.raises(InvalidInput, match="is missing"), lab.journal.exclusive() as append:
            append(event)
    assert lab.journal.last_seq() == 0


def test_whatever_append_takes_every_read_can_bear(tmp_path: Path) -> None:
    problems = []
    with Lab(tmp_path / "home", clock=FixedClock(NOW)) as lab:
        lab.agent("main").write("The TTL prevents cache stampedes")
        assert lab.home.designs
        taken = 0
        for kind in sorted(BODIES):
            for body in mutations(kind):
                try:
                    lab.journal.append([new_event(kind, body, agent="main", at=NOW, session="s")])
                    taken += 1
                except InvalidInput as error:
                    assert kind in str(error) or "cannot be stored" in str(error)
            try:
                use(lab)
            except Exception as error:  # noqa: BLE001 - which kind it was is told
                problems.append(f"{kind}: {error!r}")
                break
        assert problems == []
        assert taken > 100
        report = lab.verify()
        assert (report.ok, report.problems) == (True, [])
        lab.export_files(tmp_path / "files")
        assert lab.bad_events() == []
