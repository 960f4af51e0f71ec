"""No journal keeps a secret: whatever place of an event it is in, appending masks it."""

from __future__ import annotations

import copy
import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from secret_lines import VENDORS, drawn, filled

import theorex_lab
from theorex_lab import Event, FixedClock, InvalidInput, Lab, new_event
from theorex_lab.app import hook
from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import FIELDS, VERSIONS, body_problem
from theorex_lab.journal.redaction import kept_event
from theorex_lab.journal.replayed import ReplayedJournal
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.text.redact.hints import MASK
from theorex_lab.text.redact.masking import mask
from theorex_lab.text.redact.redaction_scope import door, kept_id, kept_path

NOW = 1_772_355_600_000_000
BODIES: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "golden" / "bodies.json").read_text()
)
KEY = "gh" + "p_" + drawn("a", 36, "masked events")
SMALL_KEY = "np" + "m_" + drawn("l", 36, "masked events")  # fits an agent's name
PASSWORD = drawn("l", 14, "masked events")


@pytest.fixture(autouse=True, scope="module")
def _all_kinds() -> None:
    """Make the kinds of the designs known."""
    with Lab.temporary() as lab:
        assert lab.home.designs


def members_of(value: Any) -> list[tuple[Any, Any]]:
    """The members of a list or an object, and where they stand in it."""
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, list) else []


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of every text of a body, however deep."""
    if isinstance(value, str):
        yield path
    for name, member in members_of(value):
        yield from leaves(member, (*path, name))


def objects(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of every object of a body, the body itself too."""
    if isinstance(value, dict):
        yield path
    for name, member in members_of(value):
        yield from objects(member, (*path, name))


def reached(body: Any, path: tuple[Any, ...]) -> Any:
    """What stands at a place of a body."""
    for name in path:
        body = body[name]
    return body


def with_secrets(kind: str) -> Iterator[dict[str, Any]]:
    """The bodies of a kind with a secret in one place each, as far as it allows any."""
    whole = BODIES[kind]
    for path in leaves(whole):
        body = copy.deepcopy(whole)
        before = reached(body, path)
        for text in (f"{before} {KEY}", KEY, f"password={PASSWORD}"):
            reached(body, path[:-1])[path[-1]] = text
            if not body_problem(kind, body):
                yield copy.deepcopy(body)
    for path in objects(whole):
        body = copy.deepcopy(whole)
        reached(body, path)[KEY] = 1
        reached(body, path)["note"] = {"deep": [[{"password": PASSWORD}, KEY]]}
        if not body_problem(kind, body):
            yield body


def held_by(folder: Path, *secrets: str) -> list[str]:
    """The files below a folder that hold one of the secrets."""
    return [
        file.name
        for file in sorted(folder.rglob("*"))
        if file.is_file()
        for secret in secrets
        if secret.encode() in file.read_bytes()
    ]


def journals(folder: Path) -> list[Journal]:
    """One journal of each sort."""
    clock = FixedClock(NOW)
    return [SqliteJournal(folder / "theorex.db", clock=clock), ReplayedJournal(clock)]


@pytest.mark.parametrize("kind", sorted(BODIES))
def test_no_place_of_a_body_keeps_a_secret(kind: str, tmp_path: Path) -> None:
    bodies = list(with_secrets(kind))
    assert bodies, "each body allows other members"
    for journal in journals(tmp_path):
        events = [new_event(kind, body, agent="main", at=NOW) for body in bodies]
        seqs = journal.append(events)
        for event in journal.read(seqs=seqs, erased=True):
            assert not event.set_aside
            text = json.dumps(event.body)
            assert KEY not in text
            assert PASSWORD not in text
        # The log of writes is looked at before it is folded into the database.
        assert held_by(tmp_path, KEY, PASSWORD) == []
        journal.close()
        assert held_by(tmp_path, KEY, PASSWORD) == []


@pytest.mark.parametrize("kind", sorted(BODIES))
def test_a_body_without_secrets_is_kept_as_it_is(kind: str) -> None:
    event = new_event(kind, BODIES[kind], agent="main", session="s-1", at=NOW)
    assert kept_event(event)[0] == event


@pytest.mark.parametrize("kind", sorted(BODIES))
def test_masking_twice_is_masking_once(kind: str) -> None:
    for body in with_secrets(kind):
        masked_event, text = kept_event(new_event(kind, body, agent="main", at=NOW))
        assert kept_event(masked_event) == (masked_event, text)


def test_a_secret_in_a_name_becomes_the_same_hash_each_time(tmp_path: Path) -> None:
    names = [SMALL_KEY, SMALL_KEY, SMALL_KEY[:-1] + "0", "main"]
    for journal in journals(tmp_path):
        for index, name in enumerate(names):
            event = Event(
                0,
                f"id-{index}",
                NOW,
                name,
                name,
                "prompt",
                (),
                {"v": 2, "text": "x", "source": "user", "project": name},
            )
            journal.append([event])
        first, second, third, plain = journal.tail(0)
        assert first.agent == first.session == first.body["project"]
        assert first.agent.startswith("hash-")
        assert first[3:5] == second[3:5]
        assert first.agent != third.agent
        assert (plain.agent, plain.session, plain.body["project"]) == ("main",) * 3
        journal.close()
    assert held_by(tmp_path, SMALL_KEY) == []


def test_ids_and_digests_are_no_secrets() -> None:
    ids = [
        "019ca8a0-3e80-7da8-a564-cddd3c101525",
        "sha256:" + drawn("h", 64, "digest"),
        drawn("h", 40, "commit"),
        "hash-" + drawn("h", 32, "session"),
        "shop-" + drawn("h", 8, "project"),
        "toolu_01" + drawn("a", 22, "call"),
        "call_" + drawn("a", 24, "call"),
        "msg_01" + drawn("a", 22, "message"),
        "chatcmpl-" + drawn("a", 29, "answer"),
        "req_011" + drawn("a", 21, "request"),
        "gene_seen_" + drawn("h", 8, "gene"),
    ]
    for name in ids:
        assert kept_id(name) == name
        assert mask(f'"{name}", ({name})') == f'"{name}", ({name})'


def test_the_folder_of_a_project_stays_apart_from_another(tmp_path: Path) -> None:
    folders = [tmp_path / f"{KEY}{end}" for end in "12"]
    paths = [kept_path(str(folder)) for folder in folders]
    assert len(set(paths)) == 2
    assert [kept_path(path) for path in paths] == paths
    assert all(KEY not in path for path in paths)


def test_what_was_masked_is_counted(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "theorex.db", clock=FixedClock(NOW))
    body = {"text": f"{KEY} and password={PASSWORD}", "source": "user"}
    with door() as scope:
        journal.append([new_event("prompt", body, agent="main", at=NOW)])
    journal.close()
    assert scope.masked == 2


def test_secrets_stay_on_request_alone(tmp_path: Path) -> None:
    for journal in journals(tmp_path):
        event = new_event(
            "prompt", {"text": KEY, "source": "user"}, agent="main", at=NOW
        )
        with door(keep_secrets=True):
            journal.append([event])
        journal.append([event._replace(id="other")])
        texts = [event.body["text"] for event in journal.tail(0)]
        assert texts == [KEY, MASK]
        journal.close()


def test_two_names_that_are_masked_alike_are_both_kept() -> None:
    payload = {KEY: "first", SMALL_KEY: "second", f"{MASK} 2": "third"}
    body = {**BODIES["task_submitted"], "payload": payload}
    event = kept_event(new_event("task_submitted", body, agent="main", at=NOW))[0]
    assert sorted(event.body["payload"].values()) == ["first", "second", "third"]


def test_a_body_that_holds_itself_is_refused(tmp_path: Path) -> None:
    payload: dict[str, Any] = {"text": KEY}
    payload["again"] = payload
    event = Event(
        0,
        "id-1",
        NOW,
        "main",
        "",
        "task_submitted",
        (),
        {**BODIES["task_submitted"], "payload": payload},
    )
    for journal in journals(tmp_path):
        with pytest.raises(InvalidInput):
            journal.append([event])
        journal.close()


@settings(max_examples=150, deadline=None)
@given(
    token=st.sampled_from([filled(token) for token in VENDORS]),
    depth=st.integers(0, 90),
    before=st.sampled_from(["", "see ", "x=", '{"a": "', "\u200b"]),
)
def test_a_secret_is_masked_at_any_depth(token: str, depth: int, before: str) -> None:
    payload: Any = before + token
    for level in range(depth):
        payload = [payload] if level % 2 else {"a": payload}
    body = {**BODIES["task_submitted"], "payload": payload}
    event = Event(0, "id-1", NOW, "main", "", "task_submitted", (), body)
    assert token not in kept_event(event)[1]


HINTED = {"password": PASSWORD}  # another member of the same event


def kept_member(member: dict[str, Any], *, beside: dict[str, Any]) -> Any:
    """What a journal keeps of an object in an event, with another object beside it."""
    body = {**BODIES["prompt"], "report": {"first": member, "other": beside}}
    event = new_event("prompt", body, agent="main", at=NOW)
    kept, _ = kept_event(event)
    return kept.body["report"]["first"]


@pytest.mark.parametrize("name", ["pass", "PASS", "Pass"])
@pytest.mark.parametrize("beside", [{}, {"n": 1}, HINTED])
@pytest.mark.parametrize(
    "value",
    ["hunter2hunter2", "hunter2", "s3cr3t!", "Tr0ub4dor&3", "c@rrot", PASSWORD],
)
def test_a_member_pass_is_masked_whatever_stands_beside_it(
    name: str, value: str, beside: dict[str, Any]
) -> None:
    assert kept_member({name: value}, beside=beside) == {name: MASK}


@pytest.mark.parametrize("beside", [{}, {"n": 1}, HINTED])
@pytest.mark.parametrize(
    "value",
    [
        True,
        False,
        None,
        0,
        12,
        1_772_355_600_000,
        0.97,
        "12",
        "12/12",
        "95%",
        "yes",
        "first",
        "integration-tests",
        "unit-and-integration-tests",
        "test_login_works_2",
        "build-1234",
        "phase2",
        "2026-01-02",
        "tests/unit/test_a.py",
        "3 of 3 passed",
        "${PASS}",
        ["first", "second"],
    ],
)
def test_a_report_of_tests_stays_readable(value: Any, beside: dict[str, Any]) -> None:
    member = {"pass": value, "fail": 0}
    assert kept_member(member, beside=beside) == member


@pytest.mark.parametrize("user", ["user", "Username", "login", "email", "account"])
def test_a_word_is_a_password_beside_a_user(user: str) -> None:
    member = {user: "bob", "pass": "swordfish"}
    assert kept_member(member, beside={}) == {user: "bob", "pass": MASK}


def test_a_text_that_is_the_word_pass_was_seen_before_its_member() -> None:
    """A text without a hint is noted as plain, and is not looked at again."""
    assert mask("pass") == "pass"
    assert kept_member({"state": "pass"}, beside={}) == {"state": "pass"}
    assert kept_member({"pass": "hunter2hunter2"}, beside={}) == {"pass": MASK}


def test_a_hidden_character_splits_no_secret() -> None:
    text = f"{KEY[:20]}\u200b{KEY[20:]}"
    body = {
        "tool": "Read",
        "source": "tool",
        "paths": {"read": [f"a/{text}", "b\u200bc"], "edited": []},
    }
    event = kept_event(new_event("tool_used", body, agent="main", at=NOW))[0]
    assert event.body["paths"]["read"] == [f"a/{MASK}", "b\u200bc"]


@pytest.mark.parametrize(
    "name", ["UserPromptSubmit", "PostToolUse", "Stop", "PreCompact", "SessionEnd"]
)
def test_the_hook_leaves_no_secret_in_any_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    folder = tmp_path / f"work-{KEY}"
    folder.mkdir()
    monkeypatch.setenv("THEOREX_HOME", str(home))
    monkeypatch.setenv("THEOREX_AGENT", SMALL_KEY)
    monkeypatch.setattr(hook, "start_flush", lambda *_: None)
    payload = {
        "hook_event_name": name,
        "session_id": KEY,
        "cwd": str(folder),
        "tool_name": f"Bash {KEY}",
        "tool_input": {"file_path": str(folder / f"{KEY}.py"), KEY: KEY},
        "tool_response": {"stdout": f"password={PASSWORD}", "deep": [[KEY]]},
        "prompt": f"use {KEY} and password={PASSWORD}",
        "last_assistant_message": f"done with {KEY}",
        "trigger": KEY,
        "reason": KEY,
        KEY: KEY,
    }
    data = json.dumps(payload).encode()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    hook.run()
    assert held_by(home, KEY, SMALL_KEY, PASSWORD) == []
    journal = SqliteJournal(home / "theorex.db")
    kinds = [event.kind for event in journal.tail(0)]
    journal.close()
    assert kinds, "the event was taken"
    assert not (home / "hook.log").exists()


def test_what_an_agent_with_a_secret_name_writes_is_found_by_it(tmp_path: Path) -> None:
    with Lab(tmp_path) as lab:
        agent = lab.agent(SMALL_KEY)
        agent.write("The till rounds half up")
        assert [hit.text for hit in agent.search("till")] == ["The till rounds half up"]
    assert held_by(tmp_path, SMALL_KEY) == []


def test_declared_fields_are_no_secrets_by_their_names() -> None:
    assert set(FIELDS) <= set(VERSIONS)
    for kind, body in BODIES.items():
        event = new_event(kind, body, agent="main", at=NOW)
        assert kept_event(event)[0].body.keys() == event.body.keys()


def test_nothing_writes_into_the_journal_round_append() -> None:
    """Rows are inserted by `inserting.insert`, which masks, and where a backup or a
    salvage puts rows back as they were; they are changed where they are erased or
    archived.
    """
    package = Path(theorex_lab.__file__).parent
    writers = {}
    for file in package.rglob("*.py"):
        text = file.read_text()
        n_inserts = len(re.findall(r"execute(?:many)?\(\s*INSERT\b", text))
        n_inserts += len(re.findall("INSERT (?:OR \\w+ )?INTO events", text))
        n_updates = text.count("UPDATE events")
        if n_inserts or n_updates:
            name = file.relative_to(package).as_posix()
            writers[name] = (n_inserts, n_updates)
    assert writers == {
        "journal/postgres/erase.py": (0, 1),
        "journal/postgres/rows.py": (1, 0),
        "journal/sqlite/archive.py": (0, 1),
        "journal/sqlite/erase.py": (0, 1),
        "journal/sqlite/inserting.py": (2, 0),
        "journal/sqlite/replace.py": (1, 0),
    }


@pytest.mark.parametrize("start", [0, 4, 9, 14, 19, 24])
def test_an_id_is_no_key_of_a_vendor(start: int) -> None:
    digits = "4b1d"  # with which keys of a vendor begin
    id = "019effab-26f1-70ff-befe-bafb22298ff2"
    with_digits = id[:start] + digits + id[start + len(digits) :]
    assert mask(with_digits) == with_digits
    assert mask(f'["{with_digits}"]') == f'["{with_digits}"]'
