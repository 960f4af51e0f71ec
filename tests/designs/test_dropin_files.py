"""The six commands of Anthropic's memory tool, over the journal."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest
from faults import at_once, opened, quick_context

from theorex_lab import InvalidInput, Lab
from theorex_lab.designs.dropin.file_paths import RefusedPath, checked_path
from theorex_lab.designs.dropin.file_texts import file_lines, shown_file, with_insertion
from theorex_lab.designs.dropin.file_view import MemoryFiles
from theorex_lab.designs.dropin.memory_tool import MemoryTool, MemoryToolResult
from theorex_lab.designs.dropin.passages import file_passages
from theorex_lab.journal.view import differing_columns, fold_into
from theorex_lab.text.redact.hints import MASK

NOTES = "# Till\n\nThe till rounds half up.\n\n- listens on port 8080\n"
PATH = "/memories/till.md"
N_WRITERS = 8
N_WRITES = 6


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with opened(tmp_path / "home") as lab:
        yield lab


@pytest.fixture
def tool(lab: Lab) -> MemoryTool:
    return tool_of(lab)


def tool_of(lab: Lab, agent: str = "main") -> MemoryTool:
    made: MemoryTool = lab.design("dropin").memory_tool(agent)
    return made


def run(tool: MemoryTool, command: str, **members: Any) -> MemoryToolResult:
    return tool.run({"command": command, **members})


def text_of(tool: MemoryTool, path: str = PATH) -> str:
    """The lines of a file as view shows them, without their numbers."""
    shown = tool.view(path).split("\n")[1:]
    return "\n".join(line.partition("\t")[2] for line in shown)


# The six commands


def test_a_file_is_created_and_viewed_with_its_numbers(tool: MemoryTool) -> None:
    created = run(tool, "create", path=PATH, file_text=NOTES)
    assert created == (f"File created successfully at: {PATH}", False)
    assert run(tool, "view", path=PATH).text == (
        f"Here's the content of {PATH} with line numbers:\n"
        "     1\t# Till\n     2\t\n     3\tThe till rounds half up.\n     4\t\n"
        "     5\t- listens on port 8080"
    )


def test_a_part_of_a_file_is_viewed(tool: MemoryTool) -> None:
    tool.create(PATH, "a\nb\nc\n")
    assert tool.view(PATH, [2, 3]).endswith("numbers:\n     2\tb\n     3\tc")
    assert tool.view(PATH, [3, -1]).endswith("numbers:\n     3\tc")
    assert tool.view(PATH, [1, 99]).count("\t") == 3
    for wrong in ([0, 1], [4, 5], [3, 2], [1], [1, 2, 3], ["1", 2], "12", [True, 2]):
        refused = run(tool, "view", path=PATH, view_range=wrong)
        assert refused.is_error
        assert "view_range" in refused.text


def test_an_empty_file_is_a_file(tool: MemoryTool) -> None:
    tool.create(PATH, "")
    assert tool.view(PATH) == f"Here's the content of {PATH} with line numbers:"
    tool.insert(PATH, 0, "first")
    assert text_of(tool) == "first"


def test_a_folder_is_shown_two_levels_deep_without_what_is_hidden(
    tool: MemoryTool,
) -> None:
    for path in ("a/b/c.md", "a/d.md", ".hidden/e.md", "node_modules/f.md", "g.md"):
        tool.create(f"/memories/{path}", "1234")
    heading = (
        "Here're the files and directories up to 2 levels deep in {},"
        " excluding hidden items and node_modules:"
    )
    assert tool.view("/memories/") == (
        f"{heading.format('/memories')}\n20B\t/memories\n8B\t/memories/a/\n"
        "4B\t/memories/a/b/\n4B\t/memories/a/d.md\n4B\t/memories/g.md"
    )
    assert "4B\t/memories/a/b/c.md" in tool.view("/memories/a")


def test_the_root_is_there_before_any_file(tool: MemoryTool) -> None:
    assert tool.view("/memories").endswith("\n0B\t/memories")


def test_a_text_is_replaced_where_it_is_unique(tool: MemoryTool) -> None:
    tool.create(PATH, NOTES)
    edited = run(tool, "str_replace", path=PATH, old_str="8080", new_str="9090")
    assert edited.text.startswith("The memory file has been edited.\n     1\t# Till")
    assert "     5\t- listens on port 9090" in edited.text
    missing = run(tool, "str_replace", path=PATH, old_str="8080", new_str="1")
    assert missing == (
        f"No replacement was performed, old_str `8080` did not appear verbatim in"
        f" {PATH}.",
        True,
    )
    twice = run(tool, "str_replace", path=PATH, old_str="ll", new_str="l")
    assert twice == (
        "No replacement was performed. Multiple occurrences of old_str `ll` in lines:"
        " 1, 3. Please ensure it is unique",
        True,
    )
    assert run(tool, "str_replace", path=PATH, old_str="", new_str="x").is_error
    assert run(tool, "str_replace", path=PATH, old_str="\n- listens on port 9090").text
    assert text_of(tool) == "# Till\n\nThe till rounds half up.\n"


@pytest.mark.parametrize(
    ("text", "after", "new", "expected"),
    [
        ("a\nb\n", 0, "x\n", "x\na\nb\n"),
        ("a\nb\n", 1, "x", "a\nx\nb\n"),
        ("a\nb\n", 2, "x\ny\n", "a\nb\nx\ny\n"),
        ("a\nb", 2, "x", "a\nb\nx"),
        ("a\nb", 0, "x\n", "x\na\nb"),
        ("a\nb", 2, "x\n", "a\nb\nx\n"),
        ("", 0, "x", "x"),
        ("\n", 1, "x", "\nx\n"),
        ("a\n", 1, "", "a\n\n"),
    ],
)
def test_lines_are_inserted(text: str, after: int, new: str, expected: str) -> None:
    assert with_insertion(text, after, new).text == expected


def test_an_insertion_outside_the_file_is_refused(tool: MemoryTool) -> None:
    tool.create(PATH, "a\nb\n")
    assert run(tool, "insert", path=PATH, insert_line=2, insert_text="c").text == (
        f"The file {PATH} has been edited."
    )
    for wrong in (-1, 4, 1.5, "1", True):
        refused = run(tool, "insert", path=PATH, insert_line=wrong, insert_text="c")
        assert refused.is_error
        assert refused.text.endswith("within the range of lines of the file: [0, 3]"), (
            refused
        )
    assert text_of(tool) == "a\nb\nc"


def test_files_and_folders_are_deleted(lab: Lab, tool: MemoryTool) -> None:
    tool.create(PATH, NOTES)
    tool.create("/memories/a/b.md", "bees")
    tool.create("/memories/ab.md", "not in the folder a")
    assert run(tool, "delete", path="/memories/a").text == (
        "Successfully deleted /memories/a"
    )
    tool.delete(PATH)
    assert list(lab.views.get(MemoryFiles).tree("main", "")) == ["/memories/ab.md"]
    assert not list(lab.search("which port does the till listen on"))
    assert "rounds half up" not in lab.briefing(tokens=500).text
    assert run(tool, "delete", path=PATH) == (
        f"Error: The path {PATH} does not exist",
        True,
    )
    assert run(tool, "delete", path="/memories").is_error


def test_files_and_folders_are_renamed(lab: Lab, tool: MemoryTool) -> None:
    tool.create("/memories/a/b/till.md", NOTES)
    tool.create("/memories/a/c.md", "sea")
    moved = run(tool, "rename", old_path="/memories/a", new_path="/memories/x/y")
    assert moved.text == "Successfully renamed /memories/a to /memories/x/y"
    tree = lab.views.get(MemoryFiles).tree("main", "")
    assert list(tree) == ["/memories/x/y/b/till.md", "/memories/x/y/c.md"]
    (hit,) = lab.search("which port does it listen on", limit=1)
    assert hit.subject == "/memories/x/y/b/till.md › Till"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("/memories/no.md", "/memories/n.md", "does not exist"),
        ("/memories/a", "/memories/b.md", "destination /memories/b.md already exists"),
        ("/memories/b.md", "/memories/a", "destination /memories/a already exists"),
        ("/memories/b.md", "/memories/b.md", "already exists"),
        ("/memories/a", "/memories/a/c", "cannot be moved into itself"),
        ("/memories/a", "/memories/b.md/c", "is a file, not a folder"),
        ("/memories/a", "/memories", "already exists"),
        ("/memories", "/memories/c", "cannot be deleted or renamed"),
        ("/memories/a", "/etc/a", "below /memories"),
    ],
)
def test_a_renaming_that_would_lose_something_is_refused(
    lab: Lab, tool: MemoryTool, old: str, new: str, why: str
) -> None:
    tool.create("/memories/a/x.md", "x")
    tool.create("/memories/b.md", "b")
    before = lab.journal.last_seq()
    refused = run(tool, "rename", old_path=old, new_path=new)
    assert refused.is_error
    assert why in refused.text
    assert lab.journal.last_seq() == before


def test_nothing_is_created_over_what_is_there(lab: Lab, tool: MemoryTool) -> None:
    tool.create("/memories/a/x.md", "x")
    before = lab.journal.last_seq()
    for path, why in (
        ("/memories/a/x.md", "Error: File /memories/a/x.md already exists"),
        ("/memories/a", "Error: File /memories/a already exists"),
        ("/memories", "Error: File /memories already exists"),
        ("/memories/a/x.md/y", "Error: /memories/a/x.md is a file, not a folder"),
    ):
        assert run(tool, "create", path=path, file_text="y") == (why, True)
    assert lab.journal.last_seq() == before


def test_what_is_missing_is_said_as_documented(tool: MemoryTool) -> None:
    path = "/memories/no.md"
    assert run(tool, "view", path=path).text == (
        f"The path {path} does not exist. Please provide a valid path."
    )
    assert run(tool, "str_replace", path=path, old_str="a", new_str="b").text == (
        f"Error: The path {path} does not exist. Please provide a valid path."
    )
    assert run(tool, "insert", path=path, insert_line=0, insert_text="a").text == (
        f"Error: The path {path} does not exist"
    )


@pytest.mark.parametrize(
    "command",
    [
        None,
        [],
        "view",
        {},
        {"command": "exec", "path": PATH},
        {"command": ["view"], "path": PATH},
        {"command": "run"},
        {"command": "_tree"},
        {"command": "view"},
        {"command": "view", "path": 7},
        {"command": "create", "path": PATH},
        {"command": "create", "path": PATH, "file_text": 7},
        {"command": "create", "path": PATH, "file_text": "a\0b"},
        {"command": "create", "path": PATH, "file_text": "\ud800"},
        {"command": "create", "path": PATH, "file_text": "a" * 70_000},
        {"command": "create", "path": PATH, "file_text": " " * 70_000},
        {"command": "str_replace", "path": "/memories/is.md", "old_str": 7},
        {
            "command": "insert",
            "path": "/memories/is.md",
            "insert_line": 0,
            "insert_text": ["a"],
        },
        {
            "command": "insert",
            "path": "/memories/is.md",
            "insert_line": 0,
            "insert_text": "a\0",
        },
        {"command": "rename", "old_path": "/memories/is.md"},
    ],
)
def test_a_command_outside_the_rules_is_answered_as_an_error(
    lab: Lab, tool: MemoryTool, command: Any
) -> None:
    tool.create("/memories/is.md", "is")
    before = lab.journal.last_seq()
    result = tool.run(command)
    assert result.is_error
    assert result.text
    assert lab.journal.last_seq() == before


def test_an_answer_is_a_block_of_the_next_message(tool: MemoryTool) -> None:
    assert tool.definition() == {"type": "memory_20250818", "name": "memory"}
    refused = tool.answer("toolu_1", {"command": "view", "path": "/etc/passwd"})
    assert refused["type"] == "tool_result"
    assert refused["tool_use_id"] == "toolu_1"
    assert refused["is_error"]
    seen = tool.answer("toolu_2", {"command": "view", "path": "/memories"})
    assert not seen["is_error"]


def test_a_file_of_too_many_lines_is_not_shown() -> None:
    with pytest.raises(InvalidInput, match="maximum line limit of 999,999 lines"):
        shown_file(PATH, "\n" * 1_000_000)


# Paths


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "memories/a",
        "/etc/passwd",
        "/memoriesa",
        "/memories/../etc/passwd",
        "/memories/a/../../etc",
        "/memories/..",
        "/memories/./a",
        "/memories//a",
        "/memories/a//",
        "/memories/ /a",
        "/memories/.. /a",
        "/memories/%2e%2e/etc/passwd",
        "/memories/%2E%2e%2fetc",
        "/memories/%252e%252e/etc",
        "/memories/%25252e%25252e%25252fetc",
        "/memories/..%2fetc",
        "/memories/..%5cetc",
        "/memories/..\\etc",
        "/memories/a\\b",
        "/memories/a\0.md",
        "/memories/a%00.md",
        "/memories/a\n.md",
        "/memories/a\x7f.md",
        "/memories/a\u2028b",
        "/memories/\u2025/etc",
        "/memories/\uff0e\uff0e/etc",
        "/memories/.\u200b./etc",
        "/memories/\ud800",
        "\uff0fmemories/a",
        "%2fmemories/a",
        "/memories%2f..%2fetc",
        "file:///memories/a",
        "~/memories/a",
        "C:/memories/a",
        "/memories/" + "a" * 256,
        "/memories/" + "é" * 128,
        "/memories/" + "/".join("abcdefghijklmnopqrstuvwxyzabcdefgh"),
        "/memories/" + "a/" * 2_000,
        "/memories/" + "%25" * 300 + "2e",
    ],
)
def test_a_path_that_may_lead_out_is_refused(
    lab: Lab, tool: MemoryTool, path: str
) -> None:
    tool.create("/memories/is.md", "is")
    with pytest.raises(RefusedPath):
        checked_path(path)
    before = lab.journal.last_seq()
    for command, members in (
        ("view", {"path": path}),
        ("create", {"path": path, "file_text": "x"}),
        ("str_replace", {"path": path, "old_str": "x", "new_str": "y"}),
        ("insert", {"path": path, "insert_line": 0, "insert_text": "y"}),
        ("delete", {"path": path}),
        ("rename", {"old_path": path, "new_path": "/memories/x"}),
        ("rename", {"old_path": "/memories/is.md", "new_path": path}),
    ):
        assert run(tool, command, **members).is_error, command
    assert lab.journal.last_seq() == before


@pytest.mark.parametrize(
    "name",
    ["a b.md", "100%.md", "a%20b.md", "..a", "a..", "…", "é.md", "日記.md", "-rf"],
)
def test_a_plain_name_is_kept_as_it_is(tool: MemoryTool, name: str) -> None:
    path = f"/memories/{name}"
    tool.create(path, "x")
    assert checked_path(path) == path
    assert text_of(tool, path) == "x"


def test_random_paths_never_lead_out() -> None:
    draw = random.Random(20250818)
    parts = ["..", ".", "%2e", "%2E%2e", "/", "%2f", "\\", "a", "memories", "\0", " "]
    n_accepted = 0
    for _ in range(5_000):
        path = "/memories/" + "".join(draw.choices(parts, k=draw.randint(1, 8)))
        try:
            checked = checked_path(path)
        except RefusedPath:
            continue
        n_accepted += 1
        resolved = os.path.normpath(checked)
        assert resolved == checked
        assert resolved == "/memories" or resolved.startswith("/memories/")
    assert n_accepted > 100


def test_no_file_of_the_machine_is_touched(lab: Lab, tmp_path: Path) -> None:
    link = tmp_path / "memories"
    link.symlink_to("/etc")
    tool = tool_of(lab)
    tool.create("/memories/passwd", "mine")
    assert text_of(tool, "/memories/passwd") == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "memories"]


# What others read


def test_search_and_briefing_read_the_passages(lab: Lab, tool: MemoryTool) -> None:
    tool.create(PATH, NOTES)
    (hit, *_) = lab.search("which port does the till listen on")
    assert (hit.text, hit.subject) == ("listens on port 8080", f"{PATH} › Till")
    assert "The till rounds half up" in lab.briefing(tokens=500).text
    tool.str_replace(PATH, "8080", "9090")
    texts = [hit.text for hit in lab.search("which port does the till listen on")]
    assert "listens on port 9090" in texts
    assert "listens on port 8080" not in texts


def test_a_passage_that_stays_keeps_its_id(lab: Lab, tool: MemoryTool) -> None:
    tool.create(PATH, NOTES)
    (hit,) = lab.search("rounds half up", limit=1)
    lab.pin(hit.id)
    tool.insert(PATH, 0, "A first line.\n")
    tool.str_replace(PATH, "8080", "9090")
    (again,) = lab.search("rounds half up", limit=1)
    assert again.id == hit.id
    (*_, newest) = lab.journal.tail(0, kinds=["memory_file"])
    assert len(newest.body["added"]) == len(newest.body["gone"]) == 1


def test_a_passage_that_stands_twice_is_two(lab: Lab, tool: MemoryTool) -> None:
    tool.create(PATH, "- buy nails\n- buy nails\n")
    tool.str_replace(PATH, "- buy nails\n- buy", "- buy")
    hits = [hit.text for hit in lab.search("buy nails")]
    assert hits == ["buy nails"]


def test_files_and_lists_are_cut_into_passages() -> None:
    text = (
        "intro line\ngoes on\n\n## Ports ##\n1. web 80\n2) db 5432\n   and more\n"
        "- [x] done\n---\n```sh\nrun it\n```\n* \n"
    )
    passages = file_passages(text)
    assert [passage.text for passage in passages] == [
        "intro line goes on",
        "web 80",
        "db 5432 and more",
        "done",
        "run it",
    ]
    assert {passage.heading for passage in passages[1:]} == {"Ports"}


def test_agents_and_projects_have_trees_of_their_own(lab: Lab) -> None:
    shop = lab.in_project("shop-00000001", new=True)
    tool_of(lab).create(PATH, "a green shelf")
    tool_of(lab, "bob").create(PATH, "a blue shelf")
    tool_of(shop).create(PATH, "a red shelf")
    assert text_of(tool_of(lab)) == "a green shelf"
    assert text_of(tool_of(lab, "bob")) == "a blue shelf"
    assert text_of(tool_of(shop)) == "a red shelf"
    tool_of(shop).delete(PATH)
    assert text_of(tool_of(lab)) == "a green shelf"
    hits = lab.search("which shelf", agents=["main"])
    assert [hit.text for hit in hits] == ["a green shelf"]
    assert (
        tool_of(lab.as_read_by("bob")).run({"command": "view", "path": PATH}).is_error
    )


def test_secrets_are_masked_and_that_is_said(lab: Lab, tool: MemoryTool) -> None:
    created = tool.create(PATH, "use token=abc123def456\n")
    assert "1 secret(s) masked" in created
    assert text_of(tool) == f"use token={MASK}"
    tool.str_replace(PATH, "use", "password: hunter2secret, use")
    tool.insert(PATH, 0, "api_key=zzz999yyy888")
    kept = str([event.body for event in lab.journal.tail(0)])
    for secret in ("abc123def456", "hunter2secret", "zzz999yyy888"):
        assert secret not in kept


def test_an_erased_version_takes_all_later_ones_with_it(
    lab: Lab, tool: MemoryTool
) -> None:
    tool.create(PATH, NOTES)
    tool.str_replace(PATH, "8080", "9090")
    tool.rename(PATH, "/memories/b.md")
    (first, *_) = lab.journal.tail(0, kinds=["memory_file"])
    assert len(lab.erase(ids=[first.id])) == 3
    assert tool.view("/memories").endswith("\n0B\t/memories")
    lab.close()
    for file in sorted(lab.folder.rglob("*")):
        assert not file.is_file() or b"rounds half up" not in file.read_bytes(), file


def test_an_erased_last_version_gives_the_one_before(
    lab: Lab, tool: MemoryTool
) -> None:
    tool.create(PATH, NOTES)
    tool.str_replace(PATH, "8080", "9090")
    (*_, last) = lab.journal.tail(0, kinds=["memory_file"])
    lab.erase(ids=[last.id])
    assert "8080" in text_of(tool)
    texts = [hit.text for hit in lab.search("which port does the till listen on")]
    assert "listens on port 8080" in texts
    assert lab.verify().ok


def test_a_view_is_the_same_however_it_is_folded(lab: Lab, tool: MemoryTool) -> None:
    tool.create(PATH, NOTES)
    tool.rename(PATH, "/memories/b.md")
    tool.create(PATH, "anew")
    view = MemoryFiles()
    for upto in range(1, lab.journal.last_seq() + 1):
        fold_into(view, lab.journal, upto)
    assert differing_columns(lab.views.get(MemoryFiles), view) == []
    assert lab.verify().ok


def test_an_export_gives_the_files_to_another_home(
    lab: Lab, tool: MemoryTool, tmp_path: Path
) -> None:
    tool.create(PATH, NOTES)
    tool.str_replace(PATH, "8080", "9090")
    tool.create("/memories/gone.md", "gone")
    tool.delete("/memories/gone.md")
    lab.export_files(tmp_path / "out")
    with opened(tmp_path / "trusting") as other:
        other.import_files(tmp_path / "out", trusted=True)
        assert tool_of(other).view(PATH) == tool.view(PATH)
        assert "gone" not in tool_of(other).view("/memories")
    with opened(tmp_path / "wary") as other:
        tool_of(other).create(PATH, "a painted shelf")
        other.import_files(tmp_path / "out")
        assert text_of(tool_of(other)) == "a painted shelf"
        assert "half up" not in other.briefing(tokens=500).text
        assert [hit.text for hit in other.search("shelf")] == ["a painted shelf"]


def test_editing_a_file_again_and_again_makes_no_word_common(
    lab: Lab, tool: MemoryTool
) -> None:
    for number in range(10):
        tool.create(f"/memories/{number}.md", f"shelf {number} holds jars")
    tool.create(PATH, "the kettle is 0")
    for number in range(20):
        tool.str_replace(PATH, f"kettle is {number}", f"kettle is {number + 1}")
    (hit, *_) = lab.search("which of the jars has the kettle")
    assert hit.text == "the kettle is 20"
    assert len(lab.search("kettle")) == 1


# Many processes

WRITER = """
import sys
from theorex_lab import Lab
home, number, n_writes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with Lab(home) as lab:
    tool = lab.design("dropin").memory_tool()
    print("ready", flush=True)
    sys.stdin.readline()
    for write in range(n_writes):
        line = f"writer {number} line {write}"
        tool.insert("/memories/shared.md", 0, line + "\\n")
        tool.create(f"/memories/own/{number}-{write}.md", line)
        print(line, flush=True)
"""


def writer(home: Path, number: int, n_writes: int) -> subprocess.Popen[str]:
    """A process that writes once it is told to."""
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(home), str(number), str(n_writes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def begin(process: subprocess.Popen[str]) -> None:
    """Let a process write when it is ready."""
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def write_lines(home: Path, number: int, all_ready: Barrier) -> None:
    """Write into a shared file and into own ones, once all are ready."""
    with Lab(home) as lab:
        tool = tool_of(lab)
        all_ready.wait()
        for write in range(N_WRITES):
            line = f"writer {number} line {write}"
            tool.insert("/memories/shared.md", 0, line + "\n")
            tool.create(f"/memories/own/{number}-{write}.md", line)


def test_eight_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with opened(home) as lab:
        tool_of(lab).create("/memories/shared.md", "")
    all_ready = quick_context().Barrier(N_WRITERS, timeout=300)
    writers = [(home, number, all_ready) for number in range(N_WRITERS)]
    assert at_once(write_lines, *writers) == [0] * N_WRITERS
    expected = {
        f"writer {number} line {write}"
        for number in range(N_WRITERS)
        for write in range(N_WRITES)
    }
    with opened(home) as lab:
        tool = tool_of(lab)
        assert sorted(text_of(tool, "/memories/shared.md").split("\n")) == sorted(
            expected
        )
        files = lab.views.get(MemoryFiles).tree("main", "")
        assert len(files) == len(expected) + 1
        assert lab.verify().ok


def test_a_writer_that_is_killed_leaves_a_whole_journal(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with opened(home) as lab:
        tool_of(lab).create("/memories/shared.md", "")
    acknowledged: list[str] = []
    for number, n_lines in enumerate((1, 2, 4)):
        process = writer(home, number, 1_000)
        begin(process)
        assert process.stdout is not None
        for _ in range(n_lines):
            acknowledged.append(process.stdout.readline().strip())
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
    with opened(home) as lab:
        tool = tool_of(lab)
        lines = file_lines(text_of(tool, "/memories/shared.md"))
        assert set(acknowledged) <= set(lines)
        assert len(set(lines)) == len(lines)
        assert lab.verify().ok
        assert tool.insert("/memories/shared.md", 0, "goes on")


KEY = "sk_live_" + 12 * "a1b2"


@pytest.mark.parametrize(
    "command",
    [
        {"command": KEY},
        {"command": "view", "path": f"/etc/{KEY}"},
        {"command": "view", "path": f"/memories/../{KEY}"},
        {"command": "view", "path": {"name": KEY}},
        {"command": "view", "path": PATH, "view_range": [KEY, 1]},
        {"command": "insert", "path": PATH, "insert_line": KEY, "insert_text": "x"},
        {"command": "str_replace", "path": PATH, "old_str": [KEY]},
        {"command": "str_replace", "path": PATH, "old_str": KEY},
    ],
)
def test_an_error_repeats_no_secret(tool: MemoryTool, command: dict[str, Any]) -> None:
    tool.create(PATH, NOTES)
    refused = tool.run(command)
    assert refused.is_error
    assert "a1b2" not in refused.text


def test_an_edit_that_makes_a_secret_shows_it_masked(tool: MemoryTool) -> None:
    tool.create(PATH, "use sk_live_X\n")
    edited = tool.str_replace(PATH, "X", 12 * "a1b2")
    assert "1 secret(s) masked" in edited
    assert edited.endswith(f"\tuse {MASK}")
    assert text_of(tool) == f"use {MASK}"


def test_an_answer_can_be_sent_whatever_the_model_wrote(tool: MemoryTool) -> None:
    tool.create(PATH, NOTES)
    refused = run(tool, "str_replace", path=PATH, old_str="half \ud800")
    assert refused.is_error
    assert "half ?" in refused.text
    assert refused.text.encode()


def test_a_folder_with_a_secret_in_its_name_is_one_folder(tool: MemoryTool) -> None:
    folder = f"/memories/{KEY}"
    tool.create(f"{folder}/a.md", "a")
    tool.create(f"{folder}/b.md", "b")
    shown = tool.view(folder)
    assert KEY not in shown
    assert [row.rpartition("/")[2] for row in shown.splitlines()[2:]] == [
        "a.md",
        "b.md",
    ]
    tool.rename(folder, "/memories/plain")
    tool.delete("/memories/plain")
    assert tool.view("/memories").endswith("\n0B\t/memories")
