"""Wrong usages of the command line and of Python.

Each ends in one line that says what was got, what is allowed, and what to do.
"""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conftest import Run

from theorex_lab import HashedNgramEmbedder, Lab
from theorex_lab.core.errors import TheorexError

FAILED, WRONG_USAGE = 1, 2


class Usage(NamedTuple):
    """A wrong usage of the command line.

    Attributes:
        arguments: What stands behind `theorex`.
        code: The exit code.
        got: What the message says of what was given.
        allowed: What it says is allowed, or why it is refused.
        advice: What it says of what to do.
    """

    arguments: str
    code: int
    got: str
    allowed: str
    advice: str


class Folder(NamedTuple):
    """Where the wrong usages are tried: files by their names, and ids that exist."""

    path: Path
    first_id: str


@pytest.fixture
def folder(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Give a working folder with files of each wrong kind, and a home of two texts."""
    place = tmp_path / "place"
    (place / "plain").mkdir(parents=True)
    (place / "full").mkdir()
    (place / "full" / "kept.txt").write_text("kept")
    (place / "notes.txt").write_text("no transcript, no backup")
    (place / "broken.json").write_text("{")
    subprocess.run(["git", "init", "-q", "empty"], cwd=place, check=True)
    monkeypatch.chdir(place)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("THEOREX_DATA", raising=False)
    written = [run("write", text, "--json").json for text in ("one text", "another")]
    return Folder(place, written[0]["event_id"])


# The help of the command that is wrong, which a message of wrong usage names.
HELP = "--help` says more"

USAGES = [
    # commands and options
    Usage("wrte x", 2, "got the command 'wrte'", "'write'", "`theorex commands`"),
    Usage("research theorem ad", 2, "'ad'", "nearest is 'add'", "`theorex commands`"),
    Usage("gate", 2, "`theorex gate`", "is now", "`theorex policy --test`"),
    Usage("home salvage", 2, "salvage`", "is now", "`theorex verify --salvage`"),
    Usage(
        "memory-write",
        2,
        "`theorex memory-write`",
        "is now",
        "`theorex facts memory-write`",
    ),
    Usage("search x --limt 3", 2, "got the option --limt", "nearest is --limit", HELP),
    Usage("policy --zzzz", 2, "got the option --zzzz", "--snapshot", HELP),
    Usage("search x --limit", 2, "got --limit without a value", "--limit VALUE", HELP),
    Usage("search x --why=yes", 2, "got --why with a value", "takes none", HELP),
    Usage("maintain now", 2, "got 'now'", "more than the command takes", HELP),
    Usage("maintain --design fact", 1, "got the design 'fact'", "allowed are", ""),
    Usage("import notes.txt --design facts", 2, "--design", "with --replay", HELP),
    Usage("write", 2, "TEXT is missing", "theorex write [OPTIONS] TEXT", HELP),
    Usage("pin", 2, "ID is missing", "theorex pin [OPTIONS] ID", HELP),
    Usage("archive", 2, "--before is missing", "give it as --before DATE", HELP),
    Usage("eval", 2, "PART is missing", "allowed are routing, failures", HELP),
    Usage("eval laws", 2, "PART: got 'laws'", "allowed are routing, failures", HELP),
    Usage("search x --agent a --all-agents", 2, "--agent", "Give one of", HELP),
    Usage("search x --project p --all-projects", 2, "--project", "Give one of", HELP),
    Usage("briefing --given --why", 2, "--given", "alone, or with --limit", HELP),
    Usage("policy --test --snapshot", 2, "--test", "Give one of", HELP),
    Usage("correct 01", 2, "TEXT", "Give one of TEXT and --undo", HELP),
    # numbers
    Usage("search x --limit -1", 2, "--limit: got -1", "from 1 to 1000", HELP),
    Usage("search x --limit many", 2, "got 'many'", "a whole number from 1", HELP),
    Usage("briefing --tokens -5", 2, "--tokens: got -5", "of at least 0", HELP),
    Usage("matrix --half-life 0", 2, "--half-life: got 0", "above 0 and up to", HELP),
    Usage(
        "matrix --half-life nan", 2, "--half-life: got nan", "a number above 0", HELP
    ),
    Usage("serve --port 99999", 2, "--port: got 99999", "from 0 to 65535", HELP),
    Usage("lab --port web", 2, "--port: got 'web'", "from 1 to 65535", HELP),
    Usage("policy --rollback 5", 1, "policy number 5", "allowed", "policy --snapshot`"),
    # times
    Usage("write x --now noon", 1, "time 'noon'", "ISO 8601", "such as 2026-"),
    Usage("write x --now 2026-01-01", 1, "2026-01-01 without", "offset", "add one"),
    Usage("audit --since noon", 1, "time 'noon'", "ISO 8601", "such as 2026-"),
    Usage("archive --before noon", 1, "time 'noon'", "ISO 8601", "such as 2026-"),
    Usage(
        *("import --transcripts notes.txt --since noon", 1),
        *("time 'noon'", "ISO 8601", "such as 2026-"),
    ),
    Usage(
        *("maintain --schedule cron --at 25:00", 2),
        *("--at: got '25:00'", "00:00 to 23:59", HELP),
    ),
    # names and ids
    Usage("search x --agent ../x", 1, "agent id '../x'", "1 to 64", "starting with"),
    Usage("search x --project shop", 1, "project 'shop'", "project", "leave it out"),
    Usage("search x --project ''", 2, "empty name", "a project's name or folder", HELP),
    Usage("projects merge a b", 1, "project 'a'", "project", "`theorex projects`"),
    Usage("search x --kind axon", 1, "kind 'axon'", "observation, sentence", "nearest"),
    Usage("search x --vectors no", 2, "got 'no'", "auto, always, never", HELP),
    Usage("audit --kind nothing", 1, "kind 'nothing'", "allowed are", "pin, dismiss"),
    Usage("pin zzz", 1, "id 'zzz'", "nearest", "`theorex search`"),
    Usage("pin 0", 1, "id '0'", "2 items begin", "give more of"),
    Usage("dismiss zzz", 1, "id 'zzz'", "nearest", "`theorex briefing --why`"),
    Usage("trust zzz", 1, "id 'zzz'", "nearest", "`theorex search`"),
    Usage("traces zzz", 1, "trace id 'zzz'", "no traces yet", "`theorex dispatch`"),
    Usage(
        *("tiers a2a-complete zzz", 1),
        *("task id 'zzz'", "not known", "`theorex tiers a2a-tasks`"),
    ),
    Usage("tiers a2a-tasks --state lost", 2, "got 'lost'", "submitted, working", HELP),
    Usage(
        "facts show zzz", 1, "fact 'zzz'", "allowed is the id", "`theorex facts list`"
    ),
    Usage(
        *("causal close --action zzz", 1),
        *("action 'zzz'", "allowed is one that", "`theorex causal attempt`"),
    ),
    Usage(
        *("research recall zzz", 1),
        *("key 'zzz'", "nothing is kept", "`theorex research recall --prefix ''`"),
    ),
    # designs, data sets, logs and laws
    Usage(
        *("compare --log simulated_sessions --design best", 1),
        *("memory 'best'", "allowed are sessions", "module:Name"),
    ),
    Usage(
        *("compare --log simulated_sessions --design shop:Best", 1),
        *("'shop:Best'", "No module named", "give module:Name"),
    ),
    Usage(
        *("compare --log simulated_sessions --design bm25 --baseline best", 1),
        *("baseline 'best'", "allowed is one of", "bm25"),
    ),
    Usage(
        *("compare --log simulated_sessions --design bm25 --budgets few", 1),
        *("budgets 'few'", "whole numbers", "as 500,2000"),
    ),
    Usage("compare --log zzz --design bm25", 1, "log 'zzz'", "allowed are", "git:PATH"),
    Usage("eval routing --dataset zzz", 1, "set 'zzz'", "allowed are", "llmrouter"),
    Usage("eval retrieval --dataset zzz", 1, "set 'zzz'", "allowed are", "locomo"),
    Usage("tune --log zzz", 1, "log zzz", "format", "name one of"),
    Usage("tune --log plain", 1, "'plain'", "no git repository", "give one that does"),
    Usage("tune --log empty", 1, "'empty'", "no commit", "give one that has"),
    Usage("tour --repo plain", 1, "'plain'", "no git repository", "give one that does"),
    Usage("tour --repo zzz", 1, "repository zzz", "no folder", "give one that holds"),
    # settings
    Usage("config colour", 1, "setting 'colour'", "the nearest is", "`theorex config`"),
    Usage("config colour red", 1, "key 'colour'", "the nearest is", "`theorex config`"),
    Usage(
        "config halfLifeDays 0", 1, "halfLifeDays is 0", "above 0 to 36500", "number"
    ),
    Usage("config halfLifeDays soon", 1, "soon", "allowed is JSON", "halfLifeDays"),
    Usage("config decayLaw lunar", 1, "'lunar'", "allowed are constant", "recency"),
    Usage("search x --preset best", 1, "preset 'best'", "allowed are", "none"),
    # files and folders
    Usage("restore notes.txt", 1, "notes.txt", "is no backup", "`theorex backup FILE`"),
    Usage("restore zzz", 1, "zzz", "is no file", "`theorex backup FILE`"),
    Usage("backup notes.txt", 1, "notes.txt is there", "another name", "--replace"),
    Usage("export full", 1, "full/kept.txt", "there already", "into an empty folder"),
    Usage(
        "import zzz", 1, "got zzz", "it is no file", "give a folder that was exported"
    ),
    Usage("import notes.txt", 1, "notes.txt", "allowed are", "observations.jsonl"),
    Usage(
        *("import --transcripts notes.txt", 1),
        *("got notes.txt", "allowed are Claude Code's .jsonl", "rollout-*.jsonl"),
    ),
    Usage(
        "import --transcripts zzz", 1, "got zzz", "no file or folder", "a transcript"
    ),
    Usage("ingest zzz", 1, "'zzz'", "no file or folder", "give those that are there"),
    Usage("ingest plain --kind audio", 2, "got 'audio'", "document, code, image", HELP),
    Usage("ingest broken.json", 1, "broken.json", "allowed are .md", ".pdf"),
    Usage(
        *("install-hooks --yes --settings broken.json", 1),
        *("broken.json", "not JSON", "repair it first"),
    ),
    Usage("install-hooks --yes --settings full", 1, "full", "directory", "--settings"),
    Usage("lab --folder notes.txt", 1, "notes.txt", "cannot be written", "--folder"),
    Usage("status --home notes.txt", 1, "the home notes.txt", "a folder", "--home"),
    Usage("write x --home /dev/null/x", 1, "/dev/null/x", "home", "--home"),
    Usage("write x --home /proc/x", 1, "/proc/x", "that can be written", "--home"),
    # what is not there yet, or not enough
    Usage("erase", 1, "nothing to erase by", "give event ids", "a text to match"),
    Usage("erase zzz", 1, "event id 'zzz'", "nothing was erased", "`theorex search`"),
    Usage(
        "dispatch x", 1, "no model is configured", "add one", "`theorex config models"
    ),
    Usage("outcome --decision d", 2, "--decision", "one of --success and --fail", HELP),
    Usage(
        *("outcome --trace-id zzz --result r --fail", 1),
        *("trace id 'zzz'", "no traces yet", "`theorex dispatch`"),
    ),
    Usage("search ''", 1, "got an empty text", "", "write a sentence"),
    Usage("serve --host 0.0.0.0", 1, "host '0.0.0.0'", "127.0.0.1", "--allow-remote"),
]


def words_of(usage: str) -> list[str]:
    """Return the arguments of a command line, as a shell splits them."""
    return [word.strip("'") for word in usage.split()]


def says(message: str, usage: Usage) -> bool:
    """Return whether a message says all that the row asks for."""
    return all(part in message for part in (usage.got, usage.allowed, usage.advice))


def is_one_line(text: str) -> bool:
    return text.startswith("Error: ") and text.count("\n") == 1 and text.endswith("\n")


@pytest.mark.parametrize("usage", USAGES, ids=lambda usage: usage.arguments)
def test_a_wrong_usage_is_told_in_one_line(
    run: Run, folder: Folder, usage: Usage
) -> None:
    ended = run(*words_of(usage.arguments))
    assert (ended.code, ended.out) == (usage.code, "")
    assert is_one_line(ended.err), ended.err
    assert says(ended.err, usage), ended.err


@pytest.mark.parametrize("usage", USAGES, ids=lambda usage: usage.arguments)
def test_with_json_it_is_one_object(run: Run, folder: Folder, usage: Usage) -> None:
    ended = run("--json", *words_of(usage.arguments))
    assert ended.code == usage.code
    assert says(ended.json["error"], usage), ended.out
    assert ended.err == f"Error: {ended.json['error']}\n"


def test_there_are_many_rows_and_none_twice() -> None:
    arguments = [usage.arguments for usage in USAGES]
    assert len(set(arguments)) == len(arguments) >= 40


def test_a_group_without_a_command_shows_its_help(run: Run) -> None:
    ended = run("facts")
    assert ended.code == WRONG_USAGE
    assert "Commands:" in ended.out + ended.err
    assert (
        "got no command; allowed are signal, write"
        in run("facts", "--json").json["error"]
    )


@contextmanager
def used_port() -> Iterator[int]:
    """Give the number of a port that a program listens on."""
    with closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_a_port_in_use_is_named_with_the_option(
    run: Run, folder: Folder, command: str
) -> None:
    with used_port() as port:
        ended = run(command, "--port", str(port))
    assert ended.code == FAILED
    assert is_one_line(ended.err), ended.err
    assert f"port {port}" in ended.err
    assert "choose another with --port" in ended.err


def test_a_home_of_a_newer_release_is_left_alone(run: Run, folder: Folder) -> None:
    database = Path(os.environ["THEOREX_HOME"]) / "theorex.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA user_version = 99")
    for arguments in (["status"], ["write", "x"], ["search", "text"]):
        ended = run(*arguments)
        assert ended.code == FAILED
        assert is_one_line(ended.err), ended.err
        assert "99" in ended.err
        assert "newer" in ended.err


class Misuse(NamedTuple):
    """A wrong usage in Python, by its name, with words of the error."""

    name: str
    call: Callable[[Lab], Any]
    words: tuple[str, ...]


class NoEmbedder:
    """An object that is no embedder."""


MISUSES = [
    Misuse("agent", lambda lab: lab.agent("../x"), ("agent id '../x'", "allowed are")),
    Misuse("limit", lambda lab: lab.search("x", limit=-1), ("limit -1", "1 to 1000")),
    Misuse("limit type", lambda lab: lab.search("x", limit="3"), ("'3'", "allowed")),
    Misuse("kind", lambda lab: lab.search("x", kinds=["axon"]), ("'axon'", "allowed")),
    Misuse("text", lambda lab: lab.agent("main").write(""), ("empty text", "write")),
    Misuse(
        "type",
        lambda lab: lab.agent("main").write("x", observation_type="No Type"),
        ("'No Type'", "allowed are"),
    ),
    Misuse("pin", lambda lab: lab.pin("zzz"), ("id 'zzz'", "nearest")),
    Misuse(
        "erase", lambda lab: lab.erase(ids=["zzz"]), ("'zzz'", "nothing was erased")
    ),
    Misuse("tokens", lambda lab: lab.briefing(tokens=-1), ("-1", "allowed")),
    Misuse(
        "embedder",
        lambda lab: Lab(lab.folder, embedder=NoEmbedder()),  # type: ignore[arg-type]
        ("NoEmbedder", "embed"),
    ),
    Misuse(
        "embedder class",
        lambda lab: Lab(lab.folder, embedder=HashedNgramEmbedder),  # type: ignore[arg-type]
        ("the class HashedNgramEmbedder",),
    ),
    Misuse("setting", lambda _: Lab.temporary(colour="red"), ("colour", "nearest")),
    Misuse("value", lambda _: Lab.temporary(half_life_days=0), ("is 0", "above 0")),
]


@pytest.mark.parametrize("misuse", MISUSES, ids=lambda misuse: misuse.name)
def test_a_wrong_usage_in_python_says_what_is_allowed(lab: Lab, misuse: Misuse) -> None:
    lab.agent("main").write("a text")
    with pytest.raises(TheorexError) as raised:
        misuse.call(lab)
    message = str(raised.value)
    for words in misuse.words:
        assert words in message, message
    assert "\n" not in message
    assert json.loads(json.dumps(message)) == message
