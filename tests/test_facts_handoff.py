"""What a phase hands over: read strictly, the first block alone; what cannot be read is an error and never an empty success."""

from __future__ import annotations

import io
import json
import sys
import time
from pathlib import Path

import pytest
from conftest import Run
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab.designs.facts.handoff import MOST_CHARACTERS, PHASES, Handoff, read_handoff
from theorex_lab.text.visible import visible

STATS = '{"facts_written": 2, "new_watermark": 89}'


def block(*lines: str, phase: str = "EXTRACT", end: str = "=== END ===") -> str:
    return "\n".join([f"=== HB-{phase} HANDOFF ===", *lines, end])


def sound(*more: str) -> str:
    return block("Status: ok", "Summary: 2 facts of 14 captures", f"Stats: {STATS}", *more)


def test_a_sound_block_is_read_whole() -> None:
    found = read_handoff(
        "I have read the notes.\n\n"
        + sound(
            "Observations:",
            "- the notes of Monday repeat",
            "Tensions: none",
            "Alerts:",
            "- two notes are dated ahead",
            "",
        )
        + "\nThat is all."
    )
    assert found == Handoff(
        "extract", "ok", "2 facts of 14 captures", json.loads(STATS), ("the notes of Monday repeat",), (), ("two notes are dated ahead",)
    )  # fmt: skip


def test_the_first_block_alone_counts() -> None:
    found = read_handoff(sound() + "\n" + block("Status: error", "Stats: {}", phase="DOMAINS"))
    assert found is not None
    assert (found.phase, found.status, found.stats) == ("extract", "ok", json.loads(STATS))


def test_flags_are_observations_and_case_does_not_matter() -> None:
    found = read_handoff(block("STATUS: OK", "stats: {}", "Flags: one of them", phase="SYNTHESIS"))
    assert found is not None
    assert (found.status, found.observations) == ("ok", ("one of them",))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (block("Status: ok", 'Stats: {"facts_written": 2'), "got the stats"),
        (block("Status: ok", 'Stats: {"facts_written":\n 2}'), "got the stats"),
        (block("Status: ok", 'Stats: {"facts_written": NaN}'), "got the stats"),
        (block("Status: ok", "Stats: [2]"), "got the stats"),
        (block("Status: ok", "Stats: " + "[" * 5_000), "got the stats"),
        (block("Status: ok", f'Stats: {{"text": "{"x" * 20_000}"}}'), "got the stats"),
        (block("Status: ok", "Summary: it went well"), "got the stats ''"),
        (block(f"Stats: {STATS}"), "got the status ''; allowed are ok and error"),
        (block("Status: fine", f"Stats: {STATS}"), "got the status 'fine'"),
        (block("Status: error", "Status: ok", f"Stats: {STATS}"), "got status twice"),
        (block("Status: ok", f"Stats: {STATS}", end=""), "it was cut off"),
        (block("Status: ok", f"Stats: {STATS}", end="") + "\n" + sound(), "it was cut off"),
        (block("Status: ok", f"Stats: {STATS}", "Alerts:", *["- x" * 500] * 500), "it was cut off"),
    ],
)
def test_what_cannot_be_read_is_an_error(text: str, problem: str) -> None:
    found = read_handoff(text)
    assert found is not None
    assert found.status == "error"
    assert problem in found.problem


def test_an_error_needs_no_stats() -> None:
    assert read_handoff(block("Status: error", "Summary: the disk is full")) == Handoff(
        "extract", "error", "the disk is full"
    )


def test_without_a_block_there_is_none() -> None:
    for text in (
        "",
        "done",
        "=== HANDOFF ===",
        "x=== HB-EXTRACT HANDOFF ===\n=== END ===",
        " " * MOST_CHARACTERS + sound(),
    ):
        assert read_handoff(text) is None


def test_texts_are_cut_to_one_line_without_control_characters() -> None:
    found = read_handoff(
        block("Status: ok", "Stats: {}", "Summary: " + "x" * 9_000, "Alerts:", "- \x1b[31mred\x07", *["- a"] * 900)
    )
    assert found is not None
    assert len(found.summary) <= 500
    assert found.alerts[0] == "[31mred"
    assert len(found.alerts) == 50


_TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp", "Z", "C"]), min_size=1, max_size=40).filter(
    lambda text: (
        text.lower() not in ("none", "[]") and not text.startswith("-") and ":" not in text and visible(text) == text
    )
)


@given(
    st.sampled_from(PHASES), _TEXTS, st.dictionaries(_TEXTS, st.integers()), st.lists(_TEXTS, max_size=5), st.lists(_TEXTS, max_size=5)
)  # fmt: skip
def test_what_is_written_is_read_again(
    phase: str, summary: str, stats: dict[str, int], tensions: list[str], alerts: list[str]
) -> None:
    handed = Handoff(phase, "ok", summary, stats, (), tuple(tensions), tuple(alerts))
    assert read_handoff(str(handed)) == handed


@given(st.text(max_size=2_000))
def test_no_text_breaks_the_reader(text: str) -> None:
    read_handoff(text)
    found = read_handoff(block(*text.split("\n")))
    assert found is not None


def test_hostile_texts_are_read_in_no_time() -> None:
    started = time.process_time()
    for part in ("=== HB-", "=== HB-EXTRACT HANDOFF ===\n", "Status:", "=" * 9 + "\n", "- \n", " \t"):
        read_handoff(part * (MOST_CHARACTERS // len(part)))
        read_handoff(block(part * 20_000))
    assert time.process_time() - started < 5


# The commands


def _given(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_the_command_that_parses(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _given(monkeypatch, sound())
    ended = run("fact", "handoff", "parse", "--json")
    assert (ended.code, ended.json["found"], ended.json["stats"]) == (0, True, json.loads(STATS))
    assert ended.json.keys() >= {"phase", "status", "summary", "observations", "tensions", "alerts", "problem"}
    _given(monkeypatch, "nothing of the kind")
    assert (run("fact", "handoff", "parse", "--json").code, run("fact", "handoff", "parse").code) == (0, 0)
    file = tmp_path / "handoff.txt"
    for text, code in (
        (block("Status: ok", "Stats: {"), 1),
        (block("Status: error"), 1),
        (sound("Alerts:", "- look here"), 2),
    ):
        file.write_text(text)
        assert run("fact", "handoff", "parse", "--file", str(file)).code == code
    assert "look here" in run("fact", "handoff", "parse", "--file", str(file)).out
    assert run("fact", "handoff", "parse", "--file", str(tmp_path / "none.txt")).code == 2
    file.write_bytes(b"\xff\xfe" + sound().encode())
    assert run("fact", "handoff", "parse", "--file", str(file)).code == 0


def test_no_text_of_a_hand_off_is_run(run: Run, tmp_path: Path) -> None:
    file, made = tmp_path / "handoff.txt", tmp_path / "made"
    order = f"$(touch {made}); `touch {made}`; touch {made}"
    file.write_text(block("Status: ok", f"Summary: {order}", "Stats: {}", "Alerts:", f"- {order}"))
    assert run("fact", "handoff", "parse", "--file", str(file)).code == 2
    assert not made.exists()


@pytest.mark.parametrize("phase", PHASES)
def test_a_template_ends_with_a_block_that_can_be_read(run: Run, phase: str) -> None:
    text = run("fact", "handoff", "template", phase, "--json").json["text"]
    found = read_handoff(text)
    assert found is not None
    assert (found.phase, found.status) == (phase, "ok")
    assert text.endswith("=== END ===")
    assert run("fact", "handoff", "template", "dreams").code == 2
