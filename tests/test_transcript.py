"""Last messages of turns from a transcript: matched by time, once, masked, erased with their turn, and no more than kept."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, Run

from theorex_lab import FixedClock, Lab
from theorex_lab.clock import to_iso
from theorex_lab.config import check_settings
from theorex_lab.designs.theorex.design import DESIGN as THEOREX_DESIGN
from theorex_lab.designs.theorex.flash import Flash
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory import transcript
from theorex_lab.memory.transcript import TAIL_BYTES, keep_messages

SECOND = 1_000_000
BEGIN = NOW - 3_600 * SECOND


def turn(seconds: int, *, message: str = "", subagent: bool = False, session: str = "s") -> Event:
    body = {"message": message, "source": "agent", "subagent": subagent, "project": "shop-1a2b3c4d"}
    return new_event("turn_ended", body, agent="main", session=session, at=BEGIN + seconds * SECOND)


def line(seconds: int, text: object, **members: object) -> str:
    content = [{"type": "text", "text": text}, {"type": "tool_use", "name": "Bash", "input": {}}]
    entry = {
        "type": "assistant",
        "timestamp": to_iso(BEGIN + seconds * SECOND),
        "sessionId": "s",
        "isSidechain": False,
        "message": {"role": "assistant", "content": content},
    }
    return json.dumps({**entry, **members})


@pytest.fixture
def lab(tmp_path: Path) -> Any:
    with Lab(tmp_path / "home", clock=FixedClock(NOW)) as lab:
        yield lab


def messages(lab: Lab) -> list[tuple[str, str]]:
    """Which turn has which message."""
    return [(e.body["turn"], e.body["text"]) for e in lab.journal.tail(0, kinds=["turn_message"])]


def test_each_turn_without_a_message_gets_the_last_before_its_end(lab: Lab, tmp_path: Path) -> None:
    turns = [turn(10), turn(20, message="known"), turn(25, subagent=True), turn(30), turn(40), turn(50, session="t")]
    lab.journal.append(turns)
    file = tmp_path / "s.jsonl"
    lines = [
        line(1, "I look first"), line(9, "The TTL was wrong; password=hunter2"), "{broken", "[]", "null", "\xff" * 9,
        line(15, "of the second"), line(24, "The jitter was missing"), line(25, "a helper's", isSidechain=True),
        line(26, "", message={"content": []}), line(27, "an error", isApiErrorMessage=True), line(28, "x", sessionId="other"),
        line(29, "x", type="user"), line(29, "x", timestamp="yesterday"), line(29, "x", timestamp=None), line(29, ["x"]),
        line(45, "after the last turn"),
    ]  # fmt: skip
    file.write_text("\n".join(lines))
    assert keep_messages(lab.home, file, agent="main", session="s") == 2
    first, _, _, third, *_ = turns
    expected = [(first.id, "The TTL was wrong; password=[masked]"), (third.id, "The jitter was missing")]
    assert messages(lab) == expected
    event = lab.journal.tail(0, kinds=["turn_message"]).__iter__().__next__()
    assert (event.at, event.session, event.lineage) == (first.at, "s", (first.id,))
    assert (event.body["source"], event.body["project"]) == ("agent", "shop-1a2b3c4d")
    assert keep_messages(lab.home, file, agent="main", session="s") == 0
    assert messages(lab) == expected
    assert str(tmp_path / "s.jsonl").encode() not in (lab.folder / "theorex.db").read_bytes()


def test_a_message_may_be_a_plain_text_and_is_cut(lab: Lab, tmp_path: Path) -> None:
    lab.journal.append([turn(10)])
    (tmp_path / "s").write_text(line(5, "", message={"content": "é" * 9_000}))
    keep_messages(lab.home, tmp_path / "s", agent="main", session="s")
    assert messages(lab)[0][1] == "é" * 3_999 + "…"


def test_only_the_end_of_a_long_transcript_is_read(lab: Lab, tmp_path: Path) -> None:
    lab.journal.append([turn(10), turn(20)])
    file = tmp_path / "s.jsonl"
    file.write_text(f"{line(5, 'far back')}\n{'x' * TAIL_BYTES}\n{line(15, 'at the end')}\n")
    assert keep_messages(lab.home, file, agent="main", session="s") == 1
    assert [text for _, text in messages(lab)] == ["at the end"]


def test_what_is_no_transcript_is_no_error(lab: Lab, tmp_path: Path) -> None:
    lab.journal.append([turn(10)])
    good = tmp_path / "good"
    good.write_text(line(5, "secret of another"))
    (tmp_path / "link").symlink_to(good)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "binary").write_bytes(os.urandom(5_000))
    (tmp_path / "deep").write_text("[" * 200_000)
    for name in ("missing", "link", "pipe", "binary", "deep", "", "a\0b", "x" * 5_000):
        assert keep_messages(lab.home, tmp_path / name, agent="main", session="s") == 0
    assert messages(lab) == []


def test_the_setting_switches_it_off(tmp_path: Path) -> None:
    file = tmp_path / "s"
    file.write_text(line(5, "x"))
    with Lab(tmp_path / "home", clock=FixedClock(NOW), settings=check_settings({"keepMessages": False})) as lab:
        lab.journal.append([turn(10)])
        assert keep_messages(lab.home, file, agent="main", session="s") == 0


def test_erasing_the_turn_erases_its_message(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = turn(10), turn(20)
    lab.journal.append(ended)
    file = tmp_path / "s"
    file.write_text(f"{line(5, 'The zebra crossed')}\n{line(15, 'Another')}")
    made = transcript._message_event

    def late(event: Event, text: str) -> Event:
        if event.id == ended[1].id:
            lab.erase(ids=[event.id])
        return made(event, text)

    monkeypatch.setattr(transcript, "_message_event", late)
    assert keep_messages(lab.home, file, agent="main", session="s") == 1
    assert len(lab.erase(ids=[ended[0].id])) == 2
    assert messages(lab) == []
    assert lab.verify().ok
    assert keep_messages(lab.home, file, agent="main", session="s") == 0


def test_a_message_is_kept_and_goes_nowhere_in_theorex(tmp_path: Path) -> None:
    with Lab(tmp_path / "home", clock=FixedClock(NOW), designs=[THEOREX_DESIGN]) as lab:
        lab.journal.append([turn(10), turn(20, message="Fixed: always run the zebra gateway as root")])
        (tmp_path / "s").write_text(line(5, "Fixed: always run the zebra gateway as root"))
        assert keep_messages(lab.home, tmp_path / "s", agent="main", session="s") == 1
        assert lab.theorex.flush("s") == (0, 0)
        assert lab.views.get(Flash).pending("main", "s") == []
        lab.nightly()
        assert not lab.search("zebra gateway")
        assert "zebra" not in lab.context_file.read_text()
        assert {event.kind for event in lab.journal.tail(0)} <= {
            "lease",
            "turn_ended",
            "turn_message",
            "nightly",
            "policy",
            "gated",
        }


def test_the_flush_of_a_session_takes_its_transcript(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "s"
    file.write_text(line(5, "The TTL was wrong"))
    with Lab(tmp_path / "home", clock=FixedClock(NOW)) as lab:
        lab.journal.append([turn(10)])
    assert run("flush", "--session", "s", "--transcript", str(file), "--json").json["sessions"] == 1
    assert run("flush", "--session", "s", "--transcript", str(tmp_path / "missing")).code == 0
    refused = run("flush", "--transcript", str(file))
    assert (refused.code, "--session" in refused.err) == (1, True)
    with Lab(tmp_path / "home", clock=FixedClock(NOW)) as lab:
        assert [text for _, text in messages(lab)] == ["The TTL was wrong"]
