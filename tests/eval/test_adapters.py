"""Memories of others behind the four methods: one contract for all, and what each does."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import DAY, NOW

from theorex_lab import HashedNgramEmbedder, InvalidInput, new_event
from theorex_lab.core.clock import to_iso
from theorex_lab.eval import EvalLog, compare
from theorex_lab.eval.adapters import named, stored_texts
from theorex_lab.eval.adapters.mcp_server import read_server_file
from theorex_lab.eval.replay.baselines import memory_named
from theorex_lab.journal.event import Event
from theorex_lab.text.line import BYTES_PER_TOKEN

SERVER = Path(__file__).parents[1] / "helpers" / "memory_server.py"
SERVER_FILE = f"""
command = ['{sys.executable}', '{SERVER}']
env = {{ NOTES = '{{folder}}' }}
[write]
tool = "keep"
arguments = {{ note = "{{text}}", number = "{{number}}" }}
[search]
tool = "look"
arguments = {{ words = "{{query}}", most = "{{limit}}" }}
"""
SAID = (
    "The port of the till is 8080.",
    "Receipts are printed in two columns.",
    "The nightly job counts the shelves.",
)
# Each of these comes with an extra. `.ci/run` installs them for this file alone.
PACKAGES = {
    "chroma": "chromadb",
    "mem0": "mem0",
    "langgraph": "langgraph",
    "graphiti": "graphiti_core",
}
INSTALLED = [name for name in PACKAGES if importlib.util.find_spec(PACKAGES[name])]
STORES = ("fts5", "rank_bm25", "full_history", "mcp", *INSTALLED)


def events(*texts: str, at: int = NOW) -> list[Event]:
    return [
        new_event("prompt", {"text": text}, agent="main", session="s1", at=at + number)
        for number, text in enumerate(texts)
    ]


@pytest.fixture(autouse=True)
def _without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors are of character n-grams, so that no test waits for a model."""
    monkeypatch.setattr(stored_texts, "bundled_embedder", lambda: None)


def memory_of(name: str, folder: Path) -> Any:
    """Return the memory of a store; the file of an MCP server lies in the folder."""
    if name == "mcp":
        (folder / "server.toml").write_text(SERVER_FILE)
        name = f"mcp:{folder / 'server.toml'}"
    maker = memory_named(name)
    return maker()


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[[str], Any]]:
    made: list[Any] = []

    def memory(name: str) -> Any:
        made.append(memory_of(name, tmp_path))
        return made[-1]

    yield memory
    for memory_made in made:
        memory_made.close()


@pytest.fixture(scope="module", params=STORES)
def asked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    """Give a memory that tests only ask: to start a server takes a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_texts, "bundled_embedder", lambda: None)
        with closing(
            memory_of(request.param, tmp_path_factory.mktemp("asked"))
        ) as memory:
            memory.observe(events(*SAID, "It says {query} and {folder} in braces."))
            yield memory


# The contract


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", STORES)
def test_what_was_said_comes_back_with_its_event(
    make: Callable[[str], Any], name: str
) -> None:
    memory = make(name)
    assert list(memory.retrieve("port of the till", NOW, 500)) == []
    said = events(*SAID)
    memory.observe(said[:2])
    memory.observe(said[2:])
    memory.consolidate(NOW)
    items = memory.retrieve("port of the till", NOW, 500)
    (port,) = [item for item in items if "8080" in item.text]
    assert port.text == SAID[0]
    assert port.events == (said[0].id,)
    assert {source for item in items for source in item.events} <= {
        event.id for event in said
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", STORES)
def test_a_budget_is_kept_and_a_text_said_again_comes_once(
    make: Callable[[str], Any], name: str
) -> None:
    memory = make(name)
    said = events(*SAID, SAID[0])
    memory.observe(said)
    for tokens in (0, 1, 8, 9, 40):
        for items in (
            memory.retrieve("the till", NOW, tokens),
            memory.inject(NOW, tokens),
        ):
            assert sum(len(item.text.encode()) + 1 for item in items) <= (
                BYTES_PER_TOKEN * tokens
            )
            assert len({item.text for item in items}) == len(items)
    again = [
        item for item in memory.retrieve("the till", NOW, 500) if item.text == SAID[0]
    ]
    assert [item.events for item in again] == [(said[3].id,)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "query", ["", "  \n", '"', "a OR", "{folder}", "near(", "*", "\0"]
)
def test_no_query_is_an_error(asked: Any, query: str) -> None:
    asked.retrieve(query, NOW, 100)


@pytest.mark.filterwarnings("ignore")
def test_memories_of_others_are_compared_on_one_log() -> None:
    from theorex_lab.eval import EvalQuery

    said = events(*SAID)
    questions = [
        EvalQuery(NOW + DAY, "Which port has the till?", frozenset({said[0].id})),
        EvalQuery(NOW + DAY, "Which columns have receipts?", frozenset({said[1].id})),
    ]
    log = EvalLog("made", said, questions)
    memories = ["fts5", "rank_bm25", *INSTALLED, "full_history"]
    compared = compare([log], memories, budgets=(60,), progress=False)
    assert compared.designs == memories
    for name in compared.designs:
        assert compared.value(name, "retrieve", 60, "evidence_recall").value == 1


def test_the_packages_are_there_where_they_are_required() -> None:
    if os.environ.get("THEOREX_REQUIRE_PEERS"):
        assert list(PACKAGES) == INSTALLED


# Names


@pytest.mark.parametrize("name", ["mcp", "files", "claude_mem:", "fts5:x", "chroma:"])
def test_a_name_with_too_little_or_too_much_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="give "):
        memory_named(name)


def test_an_unknown_name_is_told_all_that_there_are() -> None:
    with pytest.raises(InvalidInput, match="claude_mem:claude-mem.db"):
        memory_named("chromadb")


def test_a_package_that_is_missing_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "chromadb", None)
    with pytest.raises(InvalidInput, match=r"pip install 'theorex-lab\[chroma\]'"):
        memory_named("chroma")()


def test_nothing_is_imported_before_it_is_asked_for() -> None:
    code = (
        "import sys; from theorex_lab.eval.replay.baselines import memory_named\n"
        "memory_named('mem0'); memory_named('chroma'); memory_named('langgraph')\n"
        "print([name for name in ('mem0', 'chromadb', 'langgraph', 'mcp') if name in"
        " sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_every_adapter_is_where_its_name_says() -> None:
    folder = Path(named.__file__).parent
    for adapter in named.ADAPTERS.values():
        file = folder / f"{adapter.module}.py"
        assert file.is_file()
        assert f"class {adapter.name}(" in file.read_text(encoding="utf-8")


# A server


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("command = 1", "cannot be read|command is 1"),
        ("x = [", "cannot be read"),
        ("command = ['x']\n[write]\ntool = 't'\n", "search|arguments"),
        (SERVER_FILE.replace("command =", "other ="), "one of command and url"),
        (f"url = 'http://localhost:1'\n{SERVER_FILE}", "one of command and url"),
        (SERVER_FILE.replace('tool = "keep"', "tool = 3"), "tool is 3"),
    ],
)
def test_a_file_of_a_server_that_is_wrong_is_named(
    tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "server.toml"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=message) as raised:
        read_server_file(file)
    assert str(file) in str(raised.value)


def test_a_tool_that_refuses_is_told(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text(SERVER_FILE.replace('"{number}"', '"none"'))
    memory: Any = memory_named(f"mcp:{file}")()
    with closing(memory), pytest.raises(InvalidInput, match="the tool keep"):
        memory.observe(events(*SAID))


# Files


def write(folder: Path, files: dict[str, str]) -> None:
    for place, text in files.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text)


def test_files_are_read_as_they_were_committed_before_the_moment(
    tmp_path: Path,
) -> None:
    git = shutil.which("git")
    assert git

    def run(*words: str, at: int = NOW) -> None:
        stamp = to_iso(at)
        settings = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run(
            [git, *settings, *words],
            cwd=tmp_path,
            check=True,
            capture_output=True,
            env={"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp, "PATH": ""},
        )

    run("init", "-q")
    write(tmp_path, {"CLAUDE.md": "# Rules\n\nCount twice.\n", "README.md": "No rule."})
    run("add", ".")
    run("commit", "-qm", "one", at=NOW - 2 * DAY)
    write(tmp_path, {"CLAUDE.md": "Count thrice.\n", "memory/till.md": "Cents.\n"})
    run("add", ".")
    run("commit", "-qm", "two", at=NOW - DAY // 2)
    write(tmp_path, {"CLAUDE.md": "Not committed.\n"})
    memory: Any = memory_named(f"files:{tmp_path}")()
    with closing(memory):

        def lines(now: int) -> list[str]:
            return [item.text for item in memory.inject(now, 500)]

        assert lines(NOW - 3 * DAY) == []
        assert lines(NOW - DAY) == ["# Rules", "Count twice."]
        assert lines(NOW) == ["Count thrice.", "Cents."]
        assert [item.text for item in memory.retrieve("till", NOW, 4)] == [
            "Count thrice."
        ]


def test_files_outside_a_repository_are_read_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    write(
        tmp_path / "p", {"AGENTS.md": "Run the tests.\n\0\n", "a/MEMORY.md": "Cents."}
    )
    memory: Any = memory_named(f"files:{tmp_path / 'p'}")()
    with closing(memory):
        texts = [item.text for item in memory.inject(NOW, 500)]
    assert "Run the tests." in texts
    assert "Cents." in texts
    with pytest.raises(InvalidInput, match="no folder"):
        memory_named(f"files:{tmp_path / 'nowhere'}")()


# claude-mem


def claude_mem(file: Path) -> Path:
    milliseconds = NOW // 1_000
    with closing(sqlite3.connect(file)) as database, database:
        database.executescript(
            """
            CREATE TABLE observations (id INTEGER PRIMARY KEY, project TEXT, text TEXT,
                title TEXT, subtitle TEXT, narrative TEXT, created_at_epoch INTEGER);
            CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, request TEXT,
                learned TEXT, completed TEXT, next_steps TEXT, created_at_epoch INTEGER);
            """
        )
        database.execute(
            "INSERT INTO observations (title, narrative, created_at_epoch) VALUES"
            " ('Port', 'The till listens on 8080', ?)",
            (milliseconds - 20,),
        )
        for number in range(9):
            database.execute(
                "INSERT INTO observations (title, created_at_epoch) VALUES (?, ?)",
                (f"Shelf {number}", milliseconds + 10 + number),
            )
        database.execute(
            "INSERT INTO session_summaries (request, learned, created_at_epoch) VALUES"
            " ('Receipts', 'They have two columns', ?)",
            (milliseconds - 10,),
        )
    return file


def test_claude_mem_gives_what_it_kept_before_and_is_not_changed(
    tmp_path: Path,
) -> None:
    file = claude_mem(tmp_path / "claude-mem.db")
    before = file.read_bytes()
    memory: Any = memory_named(f"claude_mem:{file}")()
    with closing(memory):
        memory.observe(events(*SAID))
        port, receipts = (
            "Port · The till listens on 8080",
            "Receipts · They have two columns",
        )
        assert [item.text for item in memory.inject(NOW, 500)] == [receipts, port]
        assert [item.text for item in memory.inject(NOW - 15_000, 500)] == [port]
        later = NOW + DAY
        assert [item.text for item in memory.retrieve("8080 till", later, 500)] == [
            port
        ]
        assert memory.retrieve(" ", NOW, 500) == ()
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    (tmp_path / "other.db").write_bytes(b"no database")
    with pytest.raises(InvalidInput, match="no database of claude-mem"):
        memory_named(f"claude_mem:{tmp_path / 'other.db'}")()


def test_every_embedder_may_be_given() -> None:
    embedder = HashedNgramEmbedder()
    assert stored_texts.given_embedder(embedder) is embedder
    assert stored_texts.given_embedder(None).kind == embedder.kind
