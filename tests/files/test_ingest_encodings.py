"""Texts in any encoding are read, and the report says what was guessed of them."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest
from conftest import Run
from hypothesis import given
from hypothesis import strategies as st
from ingested import folder, found, read

from theorex_lab import InvalidInput, Lab
from theorex_lab.files.ingest.decoding import decode

ENGLISH = "# The lighthouse\n\nThe keeper logs at dusk, and sleeps at dawn.\n"
GERMAN = "Die Schleuse öffnet früh; größere Schiffe müssen warten – täglich.\n"
RUSSIAN = "Привет, как дела? Это текст о маяке и гавани.\n"
CHINESE = "这是一个中文文本，用于测试。灯塔很高。\n"


@pytest.mark.parametrize("text", [ENGLISH, GERMAN, RUSSIAN, CHINESE, "lamp"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_is_no_guess(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == (text, [], 0)


@pytest.mark.parametrize("text", [ENGLISH, GERMAN, RUSSIAN, CHINESE, "lamp"])
@pytest.mark.parametrize(
    "encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
)
def test_a_wide_text_without_a_mark_is_guessed(text: str, encoding: str) -> None:
    if text == CHINESE and encoding.startswith("utf-16"):
        text += "\n" * 2
    note = f"read as {encoding.upper()}: a guess, it has no byte order mark"
    assert decode(text.encode(encoding)) == (text, [note], 0)


@pytest.mark.parametrize(
    ("text", "encoding", "name"),
    [
        (GERMAN, "cp1252", "windows-1252"),
        ("Zürich", "latin-1", "windows-1252"),
        ("“Café” costs 5€", "cp1252", "windows-1252"),
        (RUSSIAN, "cp1251", "windows-1251"),
        ("Zażółć gęślą jaźń, proszę bardzo.", "cp1250", "windows-1250"),
        ("これは日本語のテキストです。長い文章。", "shift_jis", "cp932"),
    ],
)
def test_another_encoding_is_guessed(text: str, encoding: str, name: str) -> None:
    assert decode(text.encode(encoding)) == (text, [f"read as {name}: a guess"], 0)


def test_an_encoding_that_the_text_names_is_no_guess() -> None:
    page = '<meta charset="iso-8859-2"><p>Zażółć'.encode("iso-8859-2")
    assert read("a.html", page)[0].text == "Zażółć"
    lines = ".. -*- coding: koi8-r -*-\n\nМаяк\n"
    assert decode(lines.encode("koi8-r")) == (lines, [], 0)
    japanese = "灯台は高い"
    content = japanese.encode("iso2022_jp")
    assert decode(content, "iso-2022-jp") == (japanese, [], 0)
    assert decode(b"plain", "no-such-encoding") == ("plain", [], 0)


def test_a_broken_byte_in_a_text_in_utf8_does_not_change_the_others() -> None:
    text, notes, _ = decode(GERMAN.encode() + b"\xfcber")
    assert text == f"{GERMAN}über"
    assert notes == ["1 byte that is no UTF-8 read as windows-1252: a guess"]


def test_control_characters_are_reported_and_the_text_is_kept(
    lab: Lab, tmp_path: Path
) -> None:
    given_folder = folder(
        tmp_path / "docs",
        {"a.md": b"# Ferry\n\nThe timetable \0 is kept\x01 in the \x02 office.\n"},
    )
    report = lab.ingest(given_folder)
    (problem,) = report.problems
    assert problem.endswith(
        "a.md: it has 3 control characters (U+0000, U+0001, U+0002);"
        " the text around is read"
    )
    ((_, text),) = found(lab, "timetable office")
    assert text.startswith("The timetable \ufffd is kept")


@pytest.mark.parametrize(
    "content",
    [
        bytes(range(256)) * 4,
        b"PK\x03\x04\x14\0\0\0\x08\0" + bytes(range(128, 256)) + bytes(30),
        b"\x7fELF\x02\x01\x01" + bytes(64),
        b"\0",
    ],
)
def test_what_is_no_text_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidInput, match="bytes that no text has"):
        decode(content)


@given(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Cn", "Co"]))
)
def test_a_text_in_utf8_is_never_guessed(text: str) -> None:
    decoded = decode(text.encode())
    assert decoded.notes == []
    assert len(decoded.text) + decoded.n_unseen == len(text)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    try:
        text, notes, _ = decode(content)
    except InvalidInput:
        return
    text.encode()
    assert "\0" not in text
    assert "\r" not in text
    try:
        content.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError:
        has_mark = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        is_named = b"coding" in content
        assert notes or has_mark or is_named


def test_a_guess_is_in_the_report_and_in_json(run: Run, tmp_path: Path) -> None:
    files = {f"{number}.txt": GERMAN.encode("cp1252") for number in range(4)}
    docs = folder(tmp_path / "docs", files)
    shown = run("ingest", str(docs))
    assert shown.code == 0
    assert "4 files (docs-" in shown.out
    assert "): read as windows-1252: a guess\n" in shown.out
    told = run("ingest", str(docs), "--agent", "sage", "--json").json
    assert len(told["problems"]) == 4
    assert all("read as windows-1252: a guess" in text for text in told["problems"])
