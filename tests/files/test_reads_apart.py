"""Files of others are read in a process apart: one that hangs its reader, fills the
memory or ends the process is left out by name, and the others come in.
"""

from __future__ import annotations

import ast
import contextlib
import gzip
import json
import math
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import hostile_readers as hostile
import pytest
from ingested import folder, notebook, page, pdf

import theorex_lab
from theorex_lab import InvalidInput, Lab, Settings
from theorex_lab.core import processes
from theorex_lab.files.ingest.code import CODE, read_symbols
from theorex_lab.files.ingest.text import DOCUMENTS, read_document
from theorex_lab.files.isolated import process as process_module
from theorex_lab.files.isolated.limits import FileNotRead, ReadLimits
from theorex_lab.files.isolated.process import ReaderProcess
from theorex_lab.files.isolated.readers import full_name_of, patience_of

pytestmark = pytest.mark.fresh_readers

PACKAGE = Path(theorex_lab.__file__).parent
HELPERS = str(Path(hostile.__file__).parent)
MIB = 1 << 20

# Who else may read packed files or parse, and why that is safe in this process.
PARSERS = (
    "PIL",
    "av",
    "bs4",
    "bz2",
    "docutils",
    "gzip",
    "html.parser",
    "lzma",
    "markdown_it",
    "nbformat",
    "pypdf",
    "pytesseract",
    "tarfile",
    "tree_sitter",
    "xml",
    "yaml",
    "zipfile",
)
PARSED_HERE = {
    "journal/segments.py": "the home's own archive",
    "files/isolated/limits.py": "unpacks within the limits",
    "designs/research/theorem_files.py": "opens what read_theorems reads, in its process",
    "files/ingest/code_queries.py": "names types of what read_symbols reads",
    "designs/research/files.py": "YAML of 20,000 characters without references",
    "eval/datasets/dataset_files.py": "public data, by their checksums",
    "eval/datasets/rebuilt_logs.py": "logs that this package wrote",
    "eval/datasets/routing_sets.py": "packaged data",
    "eval/datasets/sources.py": "packaged data",
    "eval/widgets/explorer.py": "draws a picture and reads none",
}
# Functions by which transcripts are parsed, called by these modules alone.
PARSE_TRANSCRIPTS = (
    "timed_captures",
    "transcript",
    "lines_of",
    "rows_of",
    "opened",
    "session_parts",
)
TRANSCRIPTS_PARSED_IN = {
    "files/transcripts/captures.py",
    "files/transcripts/folders.py",
    "files/transcripts/records.py",
    "eval/datasets/needs_rows.py",  # public data, for measuring
    "eval/datasets/rebuilt_logs.py",  # of a repository that is named for measuring
}


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process apart finds the functions of `hostile_readers`."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([HELPERS, str(PACKAGE.parent)]))


def lab_with(home: Path, **settings: Any) -> Lab:
    return Lab(home, settings=Settings(**settings))


# The one place


def modules(words: Iterable[str]) -> Iterator[tuple[str, ast.Module]]:
    """The modules that hold one of these words."""
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})")
    for file in sorted(PACKAGE.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if pattern.search(text):
            yield file.relative_to(PACKAGE).as_posix(), ast.parse(text)


def marked() -> Iterator[str]:
    """The modules and names of the functions that `reads_apart` marks."""
    for name, tree in modules(["reads_apart"]):
        module = f"theorex_lab.{name.removesuffix('.py').replace('/', '.')}"
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and any(
                map(is_mark, node.decorator_list)
            ):
                yield f"{module}:{node.name}"


def is_mark(decorator: ast.expr) -> bool:
    return ast.unparse(decorator).startswith("reads_apart(")


def imported(tree: ast.Module) -> set[str]:
    names = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def taken(tree: ast.Module) -> set[str]:
    """The names that a module takes from those that read."""
    names = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(READING):
            names |= {alias.name for alias in node.names}
    return names


def called(tree: ast.Module) -> set[str]:
    names = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            names.add(getattr(function, "id", getattr(function, "attr", "")))
    return names


READERS = {*marked()}
READING = (
    *{place.partition(":")[0] for place in READERS},
    "theorex_lab.files.transcripts.captures",
    "theorex_lab.files.transcripts.specstory",
)


def is_parser(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in PARSERS)


def test_what_parses_files_is_imported_by_the_readers_alone() -> None:
    readers = {
        f"{place.partition(':')[0].removeprefix('theorex_lab.').replace('.', '/')}.py"
        for place in READERS
    }
    parsing = {
        name for name, tree in modules(PARSERS) if any(map(is_parser, imported(tree)))
    }
    assert parsing - readers == PARSED_HERE.keys()


def test_a_reader_is_called_by_the_process_apart_alone() -> None:
    names = {place.partition(":")[2] for place in READERS} | {*PARSE_TRANSCRIPTS}
    callers = {
        name for name, tree in modules(names) if called(tree) & names & taken(tree)
    }
    assert callers == TRANSCRIPTS_PARSED_IN


def test_readers_are_functions_and_others_of_the_package_are_refused() -> None:
    for place in READERS:
        module, _, name = place.partition(":")
        function = getattr(import_module(module), name)
        assert full_name_of(function) == place
        assert patience_of(function) >= 1
    with (
        ReaderProcess() as process,
        pytest.raises(ValueError, match=r"is not marked; mark it with reads_apart"),
    ):
        process.call(processes.root_folder)


def test_every_reader_of_files_names_a_marked_function() -> None:
    for reader in (DOCUMENTS, CODE):
        assert f"{reader.read.__module__}:{reader.read.__name__}" in READERS


# Limits


LIMITS = ReadLimits(seconds=0.3, memory_bytes=512 * MIB, output_bytes=MIB)
LEFT_OUT: list[tuple[Callable[..., Any], str]] = [
    (hostile.hang, r"left out: took more than 0.3 s \(setting readSeconds\)"),
    (hostile.work_for_ever, r"left out: took more than 0.3 s \(setting readSeconds\)"),
    (hostile.want_memory, r"left out: needed more than 512 MiB of memory"),
    (hostile.give_much, r"left out: gives more than 1 MiB"),
    (hostile.crash, r"left out: its reader crashed \(signal 11\)"),
    (hostile.leave, r"left out: its reader crashed \(exit code 3\)"),
    (hostile.stop, r"left out: its reader crashed \(exit code 1\)"),
]


@pytest.mark.usefixtures("beside")
def test_one_that_takes_too_much_is_left_out_and_the_next_is_read() -> None:
    with ReaderProcess(LIMITS) as process:
        for function, says in LEFT_OUT:
            with pytest.raises(FileNotRead, match=says):
                process.call(function, content=b"x")
            assert process.call(hostile.echo, content=b"next") == "next"
        with pytest.raises(InvalidInput, match="it is broken: no such page"):
            process.call(hostile.fail, content=b"")
        assert process.call(hostile.echo, content=b"next") == "next"


@pytest.mark.usefixtures("beside")
def test_what_comes_before_an_error_or_a_hang_is_given() -> None:
    with ReaderProcess(LIMITS) as process:
        values = process.each(hostile.fail_late, "a", "b")
        assert [next(values), next(values)] == ["a", "b"]
        with pytest.raises(InvalidInput, match="no such page"):
            next(values)
        values = process.each(hostile.hang_late, "c", "d")
        assert [next(values)[0], next(values)[0]] == ["c", "d"]
        with pytest.raises(FileNotRead, match="took more than"):
            next(values)
        # One that is left before its end has no part in the next.
        assert next(process.each(hostile.echo_each, "e", "f")) == "e"
        assert list(process.each(hostile.echo_each, "g")) == ["g"]


@pytest.mark.usefixtures("beside")
def test_runs_in_several_threads_have_a_process_each_and_leave_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = list[Any]()

    def start(module: str) -> Any:
        started.append(processes.start_python(module))
        return started[-1]

    monkeypatch.setattr(process_module, "start_python", start)
    values = dict[int, list[str]]()

    def run(number: int) -> None:
        with ReaderProcess(LIMITS) as process:
            values[number] = [
                process.call(hostile.echo, content=b"%d %d" % (number, position))
                for position in range(20)
            ]

    threads = [threading.Thread(target=run, args=[number]) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(3):
        assert values[number] == [f"{number} {position}" for position in range(20)]
    assert len(started) == 3
    assert all(process.poll() is not None for process in started)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")
def test_a_killed_run_leaves_no_process_behind() -> None:
    program = (
        "import hostile_readers\n"
        "from theorex_lab.files.isolated.process import ReaderProcess\n"
        "process = ReaderProcess()\n"
        "process.call(hostile_readers.echo, content=b'')\n"
        "print(process._process.pid, flush=True)\n"
        "process.call(hostile_readers.hang, content=b'')\n"
    )
    path = os.pathsep.join([HELPERS, str(PACKAGE.parent)])
    run = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert run.stdout is not None
    reader = os.pidfd_open(int(run.stdout.readline()))
    run.send_signal(signal.SIGKILL)
    run.wait()
    run.stdout.close()
    ended, _, _ = select.select([reader], [], [], 60)
    os.close(reader)
    assert ended == [reader]


# Each reader


WORDS = "lamp " * 3_000
MANY_FUNCTIONS = "\n".join(f"def f{number}(): g()" for number in range(200))
GIVE_MUCH: dict[str, str | bytes] = {
    "a.md": f"# Lamp\n\n{WORDS}",
    "a.txt": WORDS,
    "a.rst": f"Lamp\n====\n\n{WORDS}",
    "a.html": f"<h1>Lamp</h1><p>{WORDS}</p>",
    "a.ipynb": notebook(("markdown", WORDS)),
    "a.pdf": pdf(page(*["lamp " * 10] * 60)),
}


@pytest.mark.parametrize("name", GIVE_MUCH)
def test_a_document_that_gives_too_much_is_left_out(name: str, tmp_path: Path) -> None:
    docs = folder(tmp_path / "docs", {name: GIVE_MUCH[name], "z.md": "# Next\n\nlamp"})
    with lab_with(tmp_path / "home", read_output_bytes=2_048) as lab:
        report = lab.ingest(docs, progress=False)
    (problem,) = report.problems
    assert f"{name}: left out: gives more than 2048 bytes" in problem
    assert (report.files, report.new) == (2, 1)


def test_source_code_that_gives_too_much_is_left_out(tmp_path: Path) -> None:
    code = folder(tmp_path / "code", {"a.py": MANY_FUNCTIONS, "z.py": "def f(): g()"})
    with lab_with(tmp_path / "home", read_output_bytes=2_048) as lab:
        report = lab.ingest(code, reader=CODE, progress=False)
    (problem,) = report.problems
    assert "a.py: left out: gives more than 2048 bytes" in problem
    assert report.new == 1


def test_source_code_whose_parser_takes_too_long_is_left_out(tmp_path: Path) -> None:
    """The time of the parser itself grows with the square of such a file."""
    code = folder(
        tmp_path / "code", {"a.js": "/** a\n" * 200_000, "z.py": "def f(): g()"}
    )
    with lab_with(tmp_path / "home", read_seconds=0.5) as lab:
        report = lab.ingest(code, reader=CODE, progress=False)
    (problem,) = report.problems
    assert "a.js: left out: took more than 0.5 s (setting readSeconds)" in problem
    assert report.new == 1


PROMPT = {
    "type": "user",
    "sessionId": "a",
    "uuid": "1",
    "timestamp": "2026-01-02T03:04:05Z",
    "message": {"role": "user", "content": "Mend the lamp"},
}
NEXT = {**PROMPT, "sessionId": "b", "timestamp": "2026-01-03T03:04:05Z"}
LINE = json.dumps(PROMPT).encode() + b"\n"
LONG = {**PROMPT, "uuid": "2", "message": {"role": "user", "content": "x" * 9_999}}
HOSTILE_TRANSCRIPTS: list[tuple[bytes, dict[str, Any], str]] = [
    (
        gzip.compress(LINE + b"0\n" * 20_000_000, 1),
        {"read_seconds": 1.0},
        "took more than 1 s",
    ),
    (
        gzip.compress(LINE + b"\n" * 3 * MIB),
        {"read_unpacked_bytes": MIB},
        "unpacks to more than 1 MiB",
    ),
    (
        LINE + json.dumps(LONG).encode() + b"\n" + LINE,
        {"read_output_bytes": 2_048},
        "gives more than 2048 bytes",
    ),
]


@pytest.mark.parametrize("hostile_file", HOSTILE_TRANSCRIPTS, ids=lambda case: case[2])
def test_a_transcript_that_takes_too_much_is_left_from_there_on(
    hostile_file: tuple[bytes, dict[str, Any], str], tmp_path: Path
) -> None:
    content, settings, says = hostile_file
    name = "a.jsonl.gz" if content[:2] == b"\x1f\x8b" else "a.jsonl"
    logs = folder(tmp_path / "t", {name: content, "z.jsonl": json.dumps(NEXT)})
    with lab_with(tmp_path / "home", **settings) as lab:
        report = lab.import_transcripts(logs, progress=False)
    assert report.files == 2
    assert report.sessions >= 1, "the file after it is read"
    assert any(
        f"{name}:0: cannot be read further: left out: {says}" in problem
        for problem in report.problems
    )


def test_a_packed_transcript_of_empty_lines_is_read_at_once(tmp_path: Path) -> None:
    content = gzip.compress(LINE + b"\n" * 64 * MIB + json.dumps(NEXT).encode(), 1)
    logs = folder(tmp_path / "t", {"a.jsonl.gz": content})
    with Lab(tmp_path / "home") as lab:
        report = lab.import_transcripts(logs, progress=False)
    assert (report.events, report.problems) == (2, [])


def test_lines_that_nest_deeply_are_reported_and_the_next_is_read(
    tmp_path: Path,
) -> None:
    """Also those that the process apart could just read, and no process after it."""
    lines = []
    for depth in (50, 490, 900, 100_000):
        start = json.dumps({**PROMPT, "uuid": f"nested {depth}"})[:-1]
        lines.append(f'{start}, "x": {"[" * depth}{"]" * depth}}}')
    lines.append(json.dumps(NEXT))
    logs = folder(tmp_path / "t", {"a.jsonl": "\n".join(lines)})
    with Lab(tmp_path / "home") as lab:
        report = lab.import_transcripts(logs, progress=False)
    assert (report.events, report.unread) == (2, 3)
    assert report.problems == [
        "a.jsonl:2: not JSON, or nested too deeply (and 2 more like it)"
    ]


def test_an_import_counts_every_line_that_cannot_be_read(tmp_path: Path) -> None:
    content = LINE + b"0\n" * 10_500
    logs = folder(tmp_path / "t", {"a.jsonl": content})
    with Lab(tmp_path / "home") as lab:
        report = lab.import_transcripts(logs, progress=False)
    assert (report.events, report.unread) == (1, 10_500)


# Growth


def seconds_for(name: str, content: bytes) -> float:
    """How long a document takes to read, of this process's time: the best of three."""
    best = math.inf
    for _ in range(3):
        start = time.process_time()
        with contextlib.suppress(InvalidInput):
            read_document(name, name, content)
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize("name", ["a.md", "a.txt"])
@pytest.mark.parametrize(
    "sign", ["[", "(", "<", "`", "![", "\n", "> ", "- a\n  ", "# a\n", "a ", "[a]: "]
)
def test_the_time_for_a_document_grows_with_its_length(name: str, sign: str) -> None:
    """Four times the length would take sixteen times as long if it were its square."""
    n_signs = 12_000 // len(sign)
    short = seconds_for(name, sign.encode() * n_signs)
    long = seconds_for(name, sign.encode() * 4 * n_signs)
    assert long < 8 * short + 0.1


@pytest.mark.parametrize(
    "sign", ["(", "[", "{", "<", "'", "#a\n", "f(", "function a(){", "/*"]
)
@pytest.mark.parametrize("name", ["a.py", "a.js", "a.rs"])
def test_source_code_of_one_sign_is_read_or_refused_at_once(
    name: str, sign: str
) -> None:
    start = time.process_time()
    with contextlib.suppress(InvalidInput):
        read_symbols(name, name, sign.encode() * (60_000 // len(sign)))
    assert time.process_time() - start < 4, "a hundred thousand once took 7 seconds"


# Doors


def test_a_script_without_a_guard_may_ingest_and_import(tmp_path: Path) -> None:
    docs = folder(
        tmp_path,
        {
            "docs/a.md": "# Lamp\n\nIt is green.",
            "t/a.jsonl": json.dumps(PROMPT),
            "run.py": (
                "from theorex_lab import Lab\n"
                "lab = Lab('home')\n"
                "print(lab.ingest('docs', progress=False).new)\n"
                "print(lab.import_transcripts('t', progress=False).events)\n"
            ),
        },
    )
    path = str(PACKAGE.parent)
    ended = subprocess.run(
        [sys.executable, "run.py"],
        cwd=docs,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert ended.stdout.split() == ["1", "1"]


def test_a_playlist_that_is_called_a_film_is_not_followed(tmp_path: Path) -> None:
    pytest.importorskip("av")
    from theorex_lab.files.ingest.media import videos

    playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:///etc/hostname\n"
    films = folder(
        tmp_path / "films", {"a.mp4": playlist, "b.mkv": "ffconcat version 1"}
    )
    with Lab(tmp_path / "home") as lab:
        report = lab.ingest(films, reader=videos(lab.home), progress=False)
    assert report.new == 0
    assert len(report.problems) == 2
    for problem in report.problems:
        assert "it does not begin as a film does" in problem
