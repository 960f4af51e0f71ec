"""Files that are broken, too large, hostile or no files; a disk that fills, a process
that dies, two runs at once.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import threading
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from faults import boundaries, forked, opened, quick_folder
from ingested import folder, found, notebook, page, pdf
from killed_homes import every, killed_homes
from test_faults_disk import files_of_at_most

from theorex_lab import InvalidInput, Lab, StorageError
from theorex_lab.files.isolated.limits import FileNotRead, ReadLimits
from theorex_lab.files.isolated.process import ReaderProcess
from theorex_lab.memory.documents import Documents

needs_fork = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="needs processes that are forked"
)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with opened(tmp_path / "home") as lab:
        yield lab


def zeros(size: int, block: int = 1 << 24) -> bytes:
    """What unpacks to as many zeros as this, a multiple of the block, packed without
    packing more than a block.
    """
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(bytes(block)) + packer.flush(zlib.Z_FULL_FLUSH)
    check = (size % 65_521) << 16 | 1
    return (
        b"\x78\xda" + packed * (size // block) + b"\x03\x00" + check.to_bytes(4, "big")
    )


def bombed() -> bytes:
    """A PDF of some megabytes whose page unpacks to 4 GiB."""
    stream = zeros(1 << 32)
    head = b"<< /Length %d /Filter /FlateDecode >>" % len(stream)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        (
            b"<< /Type /Page /Parent 2 0 R /Resources << >> /MediaBox [0 0 9 9]"
            b" /Contents 4 0 R >>"
        ),
        head + b"\nstream\n" + stream + b"\nendstream",
    ]
    written = b"%PDF-1.4\n"
    places = list[int]()
    for number, content in enumerate(objects, start=1):
        places.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = (
        b"xref\n0 5\n0000000000 65535 f \n%strailer\n<< /Size 5 /Root 1 0 R"
        b" >>\nstartxref\n%d\n%%%%EOF"
    )
    return written + end % (table, len(written))


def locked() -> bytes:
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(PdfReader(io.BytesIO(pdf(page("private")))))
    written = io.BytesIO()
    writer.encrypt("word", algorithm="RC4-128")
    writer.write(written)
    return written.getvalue()


def zipped() -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("a.html", "<p>lamp</p>")
    return written.getvalue()


REFUSED: dict[str, tuple[str, Any, str]] = {
    "a bomb": ("a.pdf", bombed, "it is no PDF that can be read"),
    "half a PDF": ("a.pdf", lambda: pdf(page("lamp"))[:400], "it is no PDF"),
    "no PDF": ("a.pdf", lambda: b"lamp", "it is no PDF that can be read"),
    "a locked PDF": ("a.pdf", locked, "it is locked by a password"),
    "a binary": (
        "a.md",
        lambda: bytes(range(256)) * 50,
        "it holds bytes that no text has; is it another kind of file?",
    ),
    "a picture with the name of a text": (
        "a.txt",
        lambda: b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(40)) * 9,
        "it holds bytes that no text has",
    ),
    "a packed file": (
        "a.html",
        zipped,
        "it holds bytes that no text has; is it another kind of file?",
    ),
    "a deep notebook": (
        "a.ipynb",
        lambda: b'{"cells":' * 100_000,
        "it is no notebook: it is nested too deep",
    ),
    "another thing in JSON": (
        "a.ipynb",
        lambda: b'{"cellar": []}',
        "it is no notebook: it has no list of cells",
    ),
    "cells that are none": (
        "a.ipynb",
        lambda: b'{"cells": [1, null]}',
        "none of its 2 cells can be read (cell 1: it is a number)",
    ),
    "a source that is none": (
        "a.ipynb",
        lambda: notebook(("code", 1)).encode(),
        "its only cell cannot be read (cell 1: its source is a number)",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_told_and_the_others_come_in(
    name: str, lab: Lab, tmp_path: Path
) -> None:
    file, content, why = REFUSED[name]
    given = folder(tmp_path / "docs", {file: "", "b.md": "lamp", "c.html": "<p>door"})
    (given / file).unlink()
    lab.ingest(given)
    last = lab.journal.last_seq()
    folder(given, {file: content()})
    for _ in ("once", "again"):
        report = lab.ingest(given)
        assert (report.unchanged, len(report.problems)) == (2, 1), report
        assert f"/{file}: " in report.problems[0]
        assert why in report.problems[0]
        assert lab.journal.last_seq() == last
    assert lab.verify().ok


def test_a_file_that_breaks_later_keeps_what_was_read_of_it(
    lab: Lab, tmp_path: Path
) -> None:
    given = folder(tmp_path / "docs", {"a.md": "lamp"})
    lab.ingest(given)
    folder(given, {"a.md": b"door\0\1\2\3\4\5\6"})
    assert len(lab.ingest(given).problems) == 1
    assert {text for _, text in found(lab, "lamp door")} == {"lamp"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.html", "<div>" * 20_000 + "lamp"),
        ("a.html", "<b>" * 3_000 + "lamp" + "<p" * 100),
        ("a.md", ">" * 50_000 + " lamp"),
        ("a.md", "[" * 20_000 + " lamp"),
        ("a.md", "- " * 20_000 + " lamp"),
        ("a.ipynb", notebook(("code", "lamp \ud800"))),
        ("a.rst", "* " * 100 + "lamp"),
    ],
    ids=lambda value: value[:5],
)
def test_deep_and_odd_texts_are_read_all_the_same(
    name: str, content: str, lab: Lab, tmp_path: Path
) -> None:
    report = lab.ingest(folder(tmp_path / "docs", {name: content}))
    assert (report.new, report.problems) == (1, [])
    assert found(lab, "lamp")
    assert lab.verify().ok


def test_a_file_is_refused_by_its_size_before_it_is_read(tmp_path: Path) -> None:
    given = folder(
        tmp_path / "docs",
        {
            "a.md": "x" * 2_000,
            "b.md": "lamp" + "x" * 2_044,
            "huge.md": "",
            "huge.pdf": "",
        },
    )
    for name in ("huge.md", "huge.pdf"):
        with (given / name).open("r+b") as file:
            file.truncate(1 << 30)
    with opened(tmp_path / "home", ingestMaxBytes=2_047) as lab:
        report = lab.ingest(given)
        assert report.new == 1
        assert [problem.partition("/")[2] for problem in report.problems] == [
            f"{name}: it has {size} bytes; allowed are 2,047 (setting ingestMaxBytes)"
            for name, size in (
                ("b.md", "2,048"),
                ("huge.md", "1,073,741,824"),
                ("huge.pdf", "1,073,741,824"),
            )
        ]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with a name")
def test_pipes_and_devices_are_no_files(lab: Lab, tmp_path: Path) -> None:
    given = folder(tmp_path / "docs", {"a.md": "lamp"})
    os.mkfifo(given / "pipe.md")
    report = lab.ingest(given)
    assert (report.files, report.new, report.problems) == (1, 1, [])
    for path in (given / "pipe.md", Path("/dev/zero")):
        report = lab.ingest(path)
        assert report.new == 0
        assert len(report.problems) == 1, "it is told, and nothing waits for a writer"
    (given / "link.md").symlink_to("/dev/zero")
    report = lab.ingest(given / "link.md")
    assert (report.new, len(report.problems)) == (0, 1)


def chatty(suffix: str, content: bytes) -> str:
    """A parser that says more than a pipe holds, on both of its channels."""
    for channel in (sys.stdout, sys.stderr):
        print(suffix * 100_000, file=channel)
    return f"{len(content)} bytes"


def silent_end(suffix: str, content: bytes) -> None:
    """A parser that takes the process with it."""
    os._exit(int(suffix))


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process apart finds the functions of this file."""
    monkeypatch.setenv("PYTHONPATH", ":".join(path for path in sys.path if path))


@pytest.mark.usefixtures("beside")
def test_a_parser_that_talks_does_not_block_and_one_that_dies_is_started_again() -> (
    None
):
    with ReaderProcess() as process:
        assert process.call(chatty, ".x", content=b"12345") == "5 bytes"
        with pytest.raises(FileNotRead, match=r"its reader crashed \(exit code 3\)"):
            process.call(silent_end, "3", content=b"x" * 1_000_000)
        assert process.call(chatty, ".x", content=b"") == "0 bytes"


def endless(suffix: str, content: bytes) -> None:
    """A parser that waits for what never comes."""
    threading.Event().wait()


@pytest.mark.usefixtures("beside")
def test_a_parser_that_hangs_is_ended() -> None:
    limits = ReadLimits(seconds=0.5)
    with ReaderProcess(limits) as process:
        with pytest.raises(FileNotRead, match=r"left out: took more than 0.5 s"):
            process.call(endless, "", content=b"")
        assert process.call(chatty, ".x", content=b"") == "0 bytes"


def test_without_the_extra_a_command_says_what_to_install(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = folder(tmp_path / "docs", {"z.md": "lamp", ".gitignore": "lamp"})
    monkeypatch.setitem(sys.modules, "pathspec", None)
    ended = run("ingest", str(given))
    assert ended.code == 1
    assert "needs the package pathspec" in ended.err
    assert 'pip install "theorex-lab[ingest]"' in ended.err
    monkeypatch.delitem(sys.modules, "pathspec")
    assert run("ingest", str(given)).code == 0


@pytest.mark.parametrize(
    ("package", "file"),
    [
        ("markdown_it", "a.md"),
        ("pypdf", "a.pdf"),
        ("bs4", "a.html"),
        ("docutils", "a.rst"),
    ],
)
def test_nor_is_it_found_by_the_process_apart(
    package: str, file: str, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = (
        f"raise ModuleNotFoundError(\"No module named '{package}'\", name='{package}')"
    )
    monkeypatch.setenv(
        "PYTHONPATH", str(folder(tmp_path / "first", {f"{package}.py": missing}))
    )
    with pytest.raises(
        InvalidInput,
        match=rf"docs', which needs the package {package}; install it: pip install",
    ):
        lab.ingest(folder(tmp_path / "docs", {file: "lamp"}))
    assert lab.journal.last_seq() == 0


# Disks, deaths, two at once


SIZES = (
    0,
    60_000,
    150_000,
    10_000_000,
)  # bytes that a file may have; the last are enough


def names(lab: Lab) -> dict[str, str]:
    """The files that are known, by name, each with the hash of its content; the memory
    must verify.
    """
    assert lab.verify().ok
    with lab.views.reading(Documents) as view:
        return {
            name.partition("/")[2]: known.digest
            for name, known in view.known("main", "").items()
        }


def lamps(root: Path, count: int) -> Path:
    return folder(
        root,
        {
            f"{number}.md": f"lamp {number} " + "word " * 2_000
            for number in range(count)
        },
    )


@needs_fork
def test_a_disk_that_fills_half_way_and_then_has_room(tmp_path: Path) -> None:
    given = lamps(tmp_path / "docs", 20)
    with opened(tmp_path / "expected") as lab:
        lab.ingest(given)
        expected = names(lab)
    done = []
    for size in SIZES:
        home = tmp_path / f"home-{size}"
        with opened(home) as lab:
            lab.agent("main").write("the lamp is lit")

        def full(home: Path = home, size: int = size) -> None:
            with opened(home) as lab:
                lab.views  # noqa: B018
                with files_of_at_most(size):
                    if size == SIZES[-1]:
                        lab.ingest(given)
                    else:
                        with pytest.raises(StorageError, match="make room"):
                            lab.ingest(given)

        assert forked(full) == 0
        with opened(home) as lab:
            assert lab.verify().ok
            done.append(len(names(lab)))
            report = lab.ingest(given)
            assert (report.new, report.unchanged) == (20 - done[-1], done[-1])
            assert names(lab) == expected
            assert lab.verify().ok
    assert done[0] == 0
    assert 0 < done[2] < 20, "some were kept before the disk was full"
    assert done[3] == 20


@needs_fork
def test_killed_at_any_point_a_run_that_is_repeated_does_the_rest(
    tmp_path: Path,
) -> None:
    given = folder(
        tmp_path / "docs", {f"{number}.md": f"lamp {number}" for number in range(4)}
    )
    template = tmp_path / "template"
    with opened(template) as lab:
        lab.ingest(given)
        (given / "0.md").write_text("lamp 0, another")
        (given / "1.md").rename(given / "moved.md")
        (given / "2.md").unlink()
        folder(given, {"new.md": "lamp 5"})

    def step(lab: Lab) -> None:
        lab.ingest(given, sync=True)

    passed = boundaries(template, tmp_path, step)
    with opened(shutil.copytree(template, tmp_path / "expected")) as lab:
        step(lab)
        expected = names(lab)
        texts = found(lab, "lamp")
        events = [(event.kind, event.body) for event in lab.journal.tail(0)]
    assert sorted(expected) == ["0.md", "3.md", "moved.md", "new.md"]
    assert len(passed) > 8
    for killed in killed_homes(template, tmp_path, step, every(passed)):
        with opened(killed.home) as lab:
            assert lab.verify().ok
            step(lab)
            assert (names(lab), found(lab, "lamp")) == (expected, texts), (
                killed.boundaries
            )
            assert sorted(
                map(str, ((event.kind, event.body) for event in lab.journal.tail(0)))
            ) == sorted(map(str, events))


TWICE = """
import sys
from theorex_lab import Lab
with Lab(sys.argv[1]) as lab:
    print("ready", flush=True)
    sys.stdin.readline()
    report = lab.ingest(sys.argv[2])
    print(report.new, report.unchanged, len(report.problems))
"""


def test_two_runs_at_once_take_each_file_once(tmp_path: Path) -> None:
    given = lamps(tmp_path / "docs", 60)
    home = tmp_path / "home"
    how: dict[str, Any] = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "text": True,
    }
    command = [sys.executable, "-c", TWICE, str(home), str(given)]
    with (
        subprocess.Popen(command, **how) as first,
        subprocess.Popen(command, **how) as second,
    ):
        for process in (first, second):
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in (first, second):
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        said = [
            [int(count) for count in process.communicate()[0].split()]
            for process in (first, second)
        ]
    assert sum(new for new, _, _ in said) == 60
    assert [new + unchanged for new, unchanged, _ in said] == [60, 60]
    assert [problems for *_, problems in said] == [0, 0]
    with Lab(home) as lab:
        assert len(list(lab.journal.tail(0, kinds=["document"]))) == 60
        assert len(names(lab)) == 60
        assert lab.verify().ok
