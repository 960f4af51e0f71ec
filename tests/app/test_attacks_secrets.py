"""Secrets at every door: what must be masked, what must stay, the time that takes, and
the way round it.
"""

from __future__ import annotations

import io
import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from secret_lines import HARMLESS, LINES, VENDORS, drawn, encoded, filled, parted

from theorex_lab import Lab
from theorex_lab.app import hook
from theorex_lab.app.cli import theorex
from theorex_lab.core.settings import PUBLISHED_MODELS
from theorex_lab.dispatch.llm import ChainAnswer
from theorex_lab.dispatch.worker import Dispatcher, DispatchTask
from theorex_lab.files.formats.home_files import export_home, import_home
from theorex_lab.journal.event import encode
from theorex_lab.text.redact import (
    secret_names,
    secret_programs,
    secret_vendors,
    secret_words,
)
from theorex_lab.text.redact.hints import HINTS, MASK
from theorex_lab.text.redact.masking import mask, masked_value
from theorex_lab.text.redact.redaction_scope import door, kept_text, kept_value

SECRET_LINES = LINES.strip("\n").split("\n")
HARMLESS_LINES = HARMLESS.strip("\n").split("\n")
# A password that no shape gives away, and a key that its prefix does.
PASSWORD = drawn("l", 10, "password")
KEY = "gh" + "p_" + drawn("a", 36, "key")
SENTENCE = f"the deploy password is {PASSWORD} and the key {KEY} goes with it"
CLEAN = f"the deploy password is {MASK} and the key {MASK} goes with it"


def test_the_tables_are_large() -> None:
    assert len(VENDORS) + len(SECRET_LINES) >= 200
    assert len(HARMLESS_LINES) >= 150


@pytest.mark.parametrize("token", VENDORS)
def test_keys_of_vendors_are_masked(token: str) -> None:
    secret = filled(token)
    for before, after in (
        ("use ", " for it"),
        ('"', '"'),
        ("line\\n", "\\nline"),
        ("(", ")"),
        ("x%3D", "&y=1"),
    ):
        masked = mask(before + secret + after)
        assert secret not in masked
        assert masked.startswith(before)
        assert masked.endswith(after)


@pytest.mark.parametrize("line", SECRET_LINES)
def test_secrets_are_masked_and_what_stands_around_them_stays(line: str) -> None:
    whole, secrets, around = parted(line)
    masked = mask(whole)
    assert masked == MASK.join(around)
    assert mask(masked) == masked
    assert all(secret not in masked for secret in secrets)


@pytest.mark.parametrize("line", SECRET_LINES)
def test_the_base64_and_the_hex_of_a_secret_are_masked(line: str) -> None:
    whole = parted(line)[0]
    for hidden in (encoded(whole), whole.encode().hex()):
        assert mask(f"see {hidden} there") == f"see {MASK} there"


@pytest.mark.parametrize("line", HARMLESS_LINES)
def test_harmless_lines_stay_as_they_are(line: str) -> None:
    assert mask(line) == line
    assert mask(f"  {line}\n") == f"  {line}\n"


def test_a_base64_of_a_harmless_text_stays() -> None:
    text = f"see {encoded('caches go stale when nobody invalidates them')} there"
    assert mask(text) == text


def test_no_hint_of_a_table_is_missed_by_the_first_look() -> None:
    hints = {
        prefix.lower() for prefixes, _ in secret_vendors.PREFIXED for prefix in prefixes
    } - {"sk"}
    for row, _ in secret_vendors.FORMATS:
        hints |= {*row} - {"sig", "machine", "default", "response=", "signature"}
    # `pass` stands beside a sign, `de passe` after `mot`: the first look has them so.
    hints = (hints | {*secret_words.PROSE_HINTS}) - {"pass", "de passe"}
    assert [hint for hint in hints if not any(first in hint for first in HINTS)] == []
    assert all(len(hints) == 1 for hints, _ in secret_names.NAMES)
    assert secret_programs.COMMANDS


def test_json_members_are_masked_by_their_names() -> None:
    value = {
        "user": "bob",
        "password": PASSWORD,
        "deep": [{"apiKey": "x1y2z3", "n": 3}],
        "said": SENTENCE,
    }
    assert masked_value(value) == {
        "user": "bob",
        "password": MASK,
        "deep": [{"apiKey": MASK, "n": 3}],
        "said": CLEAN,
    }


PIECES = [
    "--token ",
    "password is ",
    "A",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "QUJD",
    " aGVsbG8gd29ybGQ= ",
    "\"'",
    "'\"\\",
    "curl -u ",
    "mysql -p",
    "echo a |",
    "the password for a ",
    "seed phrase abandon ",
    "cookie: a=b;",
    "<password>",
    "<key>",
    'name="password" value=',
    "machine a login b ",
    "docker login ",
    "0123456789abcdef",
    "\\n",
    "$6$a$",
    "&key=a1",
    "x.x/hooks/",
    'password,"',
    "set TOKEN ",
    "пароль ",
    "AKIAAAAAAAAAAAAAAAAA ",
    "%3D",
    "TOKEN_",
    "TOKEN=",
    "net use ",
    "https://user:",
    "https://a@",
    "credentials: a:",
    "password (",
    "Private-Lines: 1 ",
    "1. abc ",
    "token: a.",
    "_pass: ",
    "secret'] ",
]


LEAST_BOUND = 0.15  # in seconds


@pytest.mark.parametrize("piece", PIECES)
def test_the_time_grows_with_the_length_alone(piece: str) -> None:
    """Twice the text takes about twice the time; a bound far above that tells a square
    from a line.
    """

    def seconds(length: int) -> float:
        text = "token=eyJ --token '-----END sk- ://a:" + (piece * length)[:length]
        begin = time.process_time()
        mask(text)
        return time.process_time() - begin

    seconds(2_000)
    # Below what the bound is at least, the shorter text need not be timed.
    if seconds(40_000) < LEAST_BOUND:
        return
    short = min(seconds(20_000) for _ in range(3))
    long = min(seconds(40_000) for _ in range(3))
    assert long < 2.5 * short + LEAST_BOUND


# Doors


def stored(lab: Lab) -> str:
    return "\n".join(encode(event.body) for event in lab.journal.tail(0))


def assert_clean(lab: Lab) -> None:
    text = stored(lab)
    assert PASSWORD not in text
    assert KEY not in text
    assert MASK in text
    assert "deploy" in text


@pytest.fixture
def lab() -> Any:
    with Lab.temporary() as made:
        yield made


def test_a_write_is_masked_and_says_so(lab: Lab) -> None:
    written = lab.agent("main").write(SENTENCE, tags=[f"t {KEY}"])
    assert (written.masked, written.kept_secrets) == (3, False)
    assert_clean(lab)
    (event,) = lab.journal.tail(0)
    assert event.body["text"] == CLEAN
    assert not [each for each in written.concepts if PASSWORD in each]


def test_a_write_keeps_secrets_on_request(lab: Lab) -> None:
    written = lab.agent("main").write(SENTENCE, keep_secrets=True)
    assert (written.masked, written.kept_secrets) == (0, True)
    assert SENTENCE in stored(lab)
    assert lab.agent("main").write(SENTENCE).masked == 2


def test_moments_outcomes_and_tasks_are_masked(lab: Lab) -> None:
    lab.agent("main").write(SENTENCE, observation_type="moment")
    done = lab.outcomes.record("main", SENTENCE, SENTENCE, success=True)
    lab.outcomes.correct(done.outcome_id, judge_score=0.5, reason=SENTENCE)
    task_id = lab.tasks.send(
        "main", "sage", "deploy", {"password": PASSWORD, "how": SENTENCE}
    )
    lab.tasks.claim("sage")
    lab.tasks.complete(task_id, SENTENCE)
    assert_clean(lab)


def test_moments_outcomes_and_tasks_keep_secrets_on_request(lab: Lab) -> None:
    lab.agent("main").write(SENTENCE, observation_type="moment", keep_secrets=True)
    assert (
        lab.outcomes.record(
            "main", SENTENCE, "it went well", success=True, keep_secrets=True
        ).decision
        == SENTENCE
    )
    task_id = lab.tasks.send("main", "sage", "deploy", SENTENCE, keep_secrets=True)
    assert lab.tasks.task(task_id).payload == SENTENCE
    assert stored(lab).count(KEY) >= 3


@pytest.mark.parametrize("keep", [False, True])
def test_a_dispatched_task_is_sent_as_it_is_kept(lab: Lab, keep: bool) -> None:
    sent: list[str] = []

    def ask(names: Any, prompt: str, settings: Any) -> ChainAnswer:
        sent.append(prompt)
        return ChainAnswer(None, [])

    lab.settings = lab.settings.replaced(
        models={
            k: v.replaced(url="http://127.0.0.1:9/v1")
            for k, v in PUBLISHED_MODELS.items()
        }
    )
    dispatcher = Dispatcher(lab.home, ask=ask)
    dispatcher.dispatch(DispatchTask("1", "main", SENTENCE, keep_secrets=keep))
    dispatcher.dispatch(DispatchTask("2", "main", SENTENCE, keep_secrets=keep))
    dispatcher.close()
    assert sent == [SENTENCE if keep else CLEAN] * 2
    assert (KEY in stored(lab)) is keep


def test_an_import_is_masked(lab: Lab, tmp_path: Path) -> None:
    with Lab.temporary() as other:
        other.agent("main").write(SENTENCE, keep_secrets=True)
        other.outcomes.record(
            "main", SENTENCE, SENTENCE, success=False, keep_secrets=True
        )
        export_home(other.home, other.searcher, tmp_path / "out")
    for file in (*tmp_path.rglob("*axon.json"), *tmp_path.rglob("S*.md")):
        file.unlink()  # a concept that is a secret in itself is known by nothing
    assert KEY in (tmp_path / "out" / "observations.jsonl").read_text()
    import_home(lab.home, lambda: lab.searcher, tmp_path / "out")
    assert_clean(lab)
    with Lab.temporary() as third:
        import_home(
            third.home, lambda: third.searcher, tmp_path / "out", keep_secrets=True
        )
        assert KEY in stored(third)


def test_an_imported_trace_is_masked(lab: Lab, tmp_path: Path) -> None:
    record = {
        "id": "run-1",
        "agent_id": "main",
        "start_time": "2026-03-01T09:00:00Z",
        "end_time": "2026-03-01T09:00:01Z",
        "success": True,
        "task": SENTENCE,
        "model": "m",
        "response": SENTENCE,
        "events": [{"tool": "Bash", "input": {"password": PASSWORD, "a": SENTENCE}}],
    }
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "run-1.json").write_text(json.dumps(record))
    import_home(lab.home, lambda: lab.searcher, tmp_path)
    assert_clean(lab)


def test_a_hook_masks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEOREX_HOME", str(tmp_path))
    event = {
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": SENTENCE, "password": PASSWORD},
        "tool_response": SENTENCE,
    }
    monkeypatch.setattr(
        sys, "stdin", SimpleNamespace(buffer=io.BytesIO(json.dumps(event).encode()))
    )
    hook.run()
    with Lab(tmp_path) as made:
        assert_clean(made)


COMMANDS = [
    ["write", SENTENCE],
    ["tiers", "moment", SENTENCE],
    ["outcome", "--decision", SENTENCE, "--result", "well", "--success"],
    ["tiers", "a2a-send", "--to", "sage", "--type", "deploy", SENTENCE],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_command_says_what_it_masked_or_kept(
    command: list[str], tmp_path: Path
) -> None:
    def run(*more: str) -> str:
        done = CliRunner().invoke(
            theorex, [*command, *more, "--home", str(tmp_path / "home")], obj={}
        )
        assert done.exit_code == 0, done.output
        return done.output

    assert json.loads(run("--json"))["masked"] == 2
    assert "(2 secrets were masked)" in run()
    with Lab(tmp_path / "home") as made:
        assert_clean(made)
    told = json.loads(run("--json", "--keep-secrets"))
    assert told["kept_secrets"] is True
    assert "masked" not in told
    with Lab(tmp_path / "home") as made:
        assert KEY in stored(made)


def test_a_command_without_secrets_says_nothing_of_them(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        theorex, ["write", "caches go stale", "--json", "--home", str(tmp_path)], obj={}
    )
    assert json.loads(done.output).keys() == {"event_id", "concepts"}


def test_a_door_within_a_door_counts_for_both_and_keeps_what_the_outer_keeps() -> None:
    with door() as outer, door() as inner:
        assert kept_text(f"token={KEY}") == f"token={MASK}"
    assert (outer.masked, inner.masked) == (1, 1)
    with door(keep_secrets=True), door() as inner:
        assert kept_value({"password": PASSWORD}) == {"password": PASSWORD}
    assert inner.keeps_secrets


def test_a_secret_split_by_what_nobody_sees_is_masked(lab: Lab) -> None:
    hidden = chr(0x200B)
    secret = "gh" + "p_" + hidden + "a1B2c3D4e5F6g7H8i9" + hidden + "J0k1L2m3N4o5P6q7"
    lab.agent("main").write(f"the build uses {secret} to push")
    stored = [
        event.body["text"] for event in lab.journal.tail(0, kinds=["observation"])
    ]
    assert stored == ["the build uses [masked] to push"]
