"""Bodies that are not what their kinds say: refused at every door, and set aside where
an older release let them in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, Run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from notes_design import NOTES

from theorex_lab import Event, FixedClock, InvalidInput, Lab, installed, new_event
from theorex_lab.core.ids import derived_event_id
from theorex_lab.core.project import check_project
from theorex_lab.designs.theorex import KINDS as THEOREX_KINDS
from theorex_lab.evolution.audit import audit
from theorex_lab.journal import shapes
from theorex_lab.journal.event import FIELDS, VERSIONS, body_problem, readable
from theorex_lab.journal.kinds import PROJECT, SOURCE
from theorex_lab.journal.sqlite.inserting import INSERT
from theorex_lab.journal.stored import checksum
from theorex_lab.memory.decay import COUNT_HALF_LIVES_DAYS, Tier
from theorex_lab.memory.observation import TRUST

# A whole body of each kind, as real operations wrote them.
BODIES: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "golden" / "bodies.json").read_text()
)
WRONG = (
    None,
    "text",
    7,
    -1,
    2**70,
    0.5,
    float("inf"),
    True,
    [],
    [3],
    ["a"],
    {},
    {"a": []},
    [[]],
    [{}],
)
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


def changed(
    body: dict[str, Any], path: tuple[Any, ...], value: object
) -> dict[str, Any]:
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
    lab.briefing()
    lab.briefing("how do we mend the cache?")
    lab.status()
    lab.maintain(reviewer="heuristic")
    audit(lab.home)
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
    assert tiers.test({name: [7] for name in Tier.__members__})
    assert not tiers.test({"WARM": [7]})
    assert (
        THEOREX_KINDS["imported"]
        .fields["decayed"]
        .test([0.0] * len(COUNT_HALF_LIVES_DAYS))
    )
    for name in ("", "shop-0a1b", "a" * 64, "a" * 65, "a/b", "..", "a b", "ä"):
        try:
            allowed = check_project(name) == name
        except InvalidInput:
            allowed = False
        assert PROJECT.test(name) == allowed


@pytest.mark.parametrize("kind", sorted(BODIES))
def test_a_body_without_a_needed_field_is_refused_with_what_is_allowed(
    lab: Lab, kind: str
) -> None:
    needed = [
        name
        for name in FIELDS[kind]
        if isinstance(name, str) and not name.endswith("?")
    ]
    for name in needed:
        body = changed(BODIES[kind], (name,), DROPPED)
        event = new_event(kind, body, agent="main", at=NOW)
        with pytest.raises(
            InvalidInput,
            match=rf"kind '{kind}' in which the field '{name}' is missing; allowed is",
        ):
            lab.journal.append([event])
        with (
            pytest.raises(InvalidInput, match="is missing"),
            lab.journal.exclusive() as append,
        ):
            append(event)
    assert lab.journal.last_seq() == 0


def test_whatever_append_takes_every_read_can_bear(tmp_path: Path) -> None:
    with Lab(tmp_path / "home", clock=FixedClock(NOW)) as lab:
        lab.agent("main").write("The TTL prevents cache stampedes")
        assert lab.home.designs
        taken = 0
        for kind in sorted(BODIES):
            for body in mutations(kind):
                try:
                    lab.journal.append(
                        [new_event(kind, body, agent="main", at=NOW, session="s")]
                    )
                    taken += 1
                except InvalidInput:
                    continue
        use(lab)
        assert taken > 100
        report = lab.verify()
        assert (report.ok, report.problems) == (True, [])
        lab.export_files(tmp_path / "files")
        assert lab.bad_events() == []


def bad_bodies() -> Iterator[tuple[str, object]]:
    """Of each kind some bodies that are not what it says."""
    for kind in sorted(BODIES):
        bad = [body for body in mutations(kind) if body_problem(kind, body)]
        for body in bad[:: max(1, len(bad) // 6)]:
            yield kind, body
        yield kind, []
        yield kind, None
        yield kind, {"v": "new"}
        yield kind, {"v": 0}


def test_every_read_bears_events_that_say_the_same_twice(lab: Lab) -> None:
    for _ in range(2):
        for kind, body in BODIES.items():
            stored(
                lab, kind, body, derived_event_id(kind, str(lab.journal.last_seq()), 0)
            )
    use(lab)
    report = lab.verify()
    assert (report.ok, report.problems) == (True, [])
    task = BODIES["task_submitted"]["task_id"]
    assert [each.id for each in lab.tasks.tasks(BODIES["task_submitted"]["to"])].count(
        task
    ) <= 1


def test_what_an_older_release_let_in_is_set_aside_and_told(
    lab: Lab, tmp_path: Path
) -> None:
    lab.agent("main").write("The TTL prevents cache stampedes")
    bad = list(bad_bodies())
    ids = [derived_event_id("bad", number) for number in range(len(bad))]
    for event_id, (kind, body) in zip(ids, bad, strict=True):
        stored(lab, kind, body, event_id)
    use(lab)
    lab.export_files(tmp_path / "files")
    told = lab.bad_events()
    assert [event.id for event in told] == ids
    assert [event.kind for event in told] == [kind for kind, _ in bad]
    assert all(event.why and event.do == f"theorex erase {event.id}" for event in told)
    assert list(lab.journal.tail(0, kinds=["pinned", "fact", "acted"])) == []
    assert [
        event.set_aside != "" for event in lab.journal.read(ids=ids, erased=True)
    ] == [True] * len(ids)
    assert lab.journal.read(ids=ids) == []
    report = lab.verify()
    assert not report.ok
    assert report.bad_events == told
    assert all(columns == [] for columns in report.views.values())
    assert len(lab.status()["bad_events"]) == len(ids)
    lab.erase(ids=ids)
    assert lab.bad_events() == []
    assert lab.verify().ok


@pytest.fixture
def with_bad(lab: Lab) -> str:
    """A home with one event that is set aside; its id."""
    lab.agent("main").write("The TTL prevents cache stampedes")
    stored(lab, "pinned", {"v": 1}, derived_event_id("bad"))
    return derived_event_id("bad")


def test_commands_name_what_is_set_aside_until_it_is_erased(
    lab: Lab, with_bad: str, run: Run, tmp_path: Path
) -> None:
    told = {
        "seq": 2,
        "id": with_bad,
        "kind": "pinned",
        "why": "the field 'item' is missing; allowed is a text that is not empty",
        "do": f"theorex erase {with_bad}",
    }
    for command in (("status",), ("verify",), ("verify", "--salvage")):
        assert run(*command, "--json").json["bad_events"] == [told], command
    assert run("backup", str(tmp_path / "b.db"), "--json").json["bad_events"] == 1
    findings = run("doctor", "--json").json["findings"]
    [found] = [finding for finding in findings if finding["what"] == "event"]
    assert (found["level"], found["do"]) == ("problem", told["do"])
    run("erase", with_bad)
    assert run("verify", "--json").json["bad_events"] == []
    assert run("status", "--json").json["bad_events"] == []


def test_an_event_of_a_later_kind_may_rest_on_one_that_was_set_aside(
    lab: Lab, with_bad: str
) -> None:
    event = new_event(
        "prompt", {**BODIES["prompt"], "v": 2}, agent="main", at=NOW, lineage=[with_bad]
    )
    lab.journal.append([event])
    use(lab)
    assert lab.erase(ids=[with_bad]) == [with_bad, event.id]
    assert lab.verify().ok


def test_old_bodies_that_no_upcaster_can_read_are_set_aside() -> None:
    old = Event(1, "e", NOW, "main", "", "trace_ended", (), {"v": 1, "attempts": [3]})
    assert "its version 1 cannot be read" in readable(old).set_aside
    assert readable(old._replace(body={"v": 1})).erased


def test_a_kind_without_declared_fields_takes_objects_alone_and_a_fold_leaves_out_what_it_raises_on(
    tmp_path: Path, forgets_kinds: None
) -> None:
    with Lab(
        tmp_path / "home", clock=FixedClock(NOW), designs=(*installed(), NOTES)
    ) as lab:
        notes = lab.design("notes")
        notes.write("cache", "It has a TTL of a day.")
        lab.journal.append(
            [new_event("note_slept", {"what": "?"}, agent="main", at=NOW)]
        )
        with pytest.raises(
            InvalidInput, match="the body is \\[\\]; allowed is an object"
        ):
            lab.journal.append([Event(0, "e", NOW, "main", "", "note_slept", (), [])])  # type: ignore[arg-type]
        notes.write("lamp", "It is green.")
        assert {hit.kind for hit in lab.search("TTL day")} == {"note"}
        lab.search("lamp green")
        [bad] = lab.bad_events()
        assert (bad.seq, bad.kind) == (2, "note_slept")
        assert "cannot take it in: KeyError" in bad.why
        report = lab.verify()
        assert report.bad_events == [bad]
        assert all(columns == [] for columns in report.views.values())
        lab.views.snapshot(lab.views.get(lab.home.item_view))
    with Lab(
        tmp_path / "home", clock=FixedClock(NOW), designs=(*installed(), NOTES)
    ) as lab:
        assert lab.bad_events() == [bad], "a snapshot keeps what its fold left out"
        lab.erase(ids=[bad.id])
        assert lab.bad_events() == []
        assert lab.verify().ok


@pytest.mark.parametrize(
    "text", ['{"v":2,"text":"\\ud800","source":"user"}', "[" * 5_000 + "]" * 5_000]
)
def test_a_body_that_cannot_be_written_again_is_set_aside(lab: Lab, text: str) -> None:
    fields = ("odd", NOW, "main", "s", "prompt", "[]", text)
    with lab.journal.writing() as connection:  # type: ignore[attr-defined]
        connection.execute(INSERT, (None, *fields, checksum(*fields)))
    use(lab)
    assert [event.id for event in lab.bad_events()] == ["odd"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_any_value_at_any_place_is_refused_or_readable(
    lab: Lab, data: st.DataObject
) -> None:
    kind = data.draw(st.sampled_from(sorted(BODIES)))
    path = data.draw(
        st.sampled_from(
            [path for path in places(BODIES[kind]) if path != ("v",)] or [("more",)]
        )
    )
    event = new_event(kind, BODIES[kind], agent="main", at=NOW)
    value = data.draw(json_values)
    try:
        event = event._replace(body=changed(BODIES[kind], path, value))
        lab.journal.append([event])
    except (InvalidInput, ValueError):
        return
    lab.search("cache")
    lab.briefing()
    assert lab.verify().problems == []


def test_a_body_that_is_nested_too_deeply_is_refused_with_what_is_allowed() -> None:
    nested: list[Any] = []
    for _ in range(900):
        nested = [nested]
    body = {"text": "x", "source": "user", "more": nested}
    with pytest.raises(InvalidInput, match="some 400 levels"):
        new_event("prompt", body, agent="main", at=NOW)


@pytest.mark.parametrize("value", ["a text", True, None])
def test_a_sound_value_of_several_shapes_makes_no_message(
    value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To say of each shape that it is not the one costs more than the check."""
    made: list[object] = []
    monkeypatch.setattr(shapes, "_wrong", lambda *said: made.append(said) or "wrong")
    problem_of = shapes.body_check({"field": ([int], str, bool, None)})
    assert problem_of({"field": value}) == ""
    assert made == []
    assert problem_of({"field": 1.5}) == "wrong"
