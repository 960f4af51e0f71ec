"""Outcomes and moments in files, which come back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_exchange import export, home, take

from theorex_lab import InvalidInput
from theorex_lab.evolution.outcomes import OutcomeLog
from theorex_lab.files.formats.home_files import OWN, layouts


@pytest.fixture
def worked(tmp_path: Path) -> Path:
    """The exported history of two agents, in the folder `out`: outcomes and a moment."""
    with home(tmp_path / "home") as lab:
        log = OutcomeLog(lab.home)
        log.record(
            "sage", "raised the TTL", "still stale", success=False, explicit_score=0.1
        )
        log.record("sage", "cleared the disk", "it was full again", success=False)
        lab.agent("main").write(
            "The cache was mended in Berlin", observation_type="moment", session="s1"
        )
        export(lab, tmp_path / "out")
    return tmp_path / "out"


def test_a_moment_of_the_original_system(tmp_path: Path) -> None:
    number = "0b54a4c6-55a4-4d14-9b3e-000000000001"
    at = "2026-02-27T10:00:00.000Z"
    document = {
        "id": number,
        "timestamp": at,
        "story": "The cache was mended in Berlin",
        "code_refs": ["cache.py:1"],
        "concept_ids": [7],
    }
    (tmp_path / "theirs" / "moments").mkdir(parents=True)
    (tmp_path / "theirs" / f"moments/{number}.json").write_text(
        json.dumps(document, indent=2)
    )
    with home(tmp_path / "home") as lab:
        reports = take(lab, tmp_path / "theirs", trusted=True)
        assert [(report.imported, len(report.problems)) for report in reports] == [
            (1, 0)
        ]
        assert [
            (hit.text, hit.kind) for hit in lab.search("Berlin", kinds=["moment"])
        ] == [(document["story"], "moment")]


def test_a_moment_alone_keeps_what_it_tells(worked: Path, tmp_path: Path) -> None:
    with home(tmp_path / "home") as lab:
        (expected,) = lab.journal.tail(0, kinds=["observation"])
    (document,) = (worked / "moments").iterdir()
    for name in (f"moments/{document.name}", "."):
        with home(tmp_path / f"other{len(name)}") as lab:
            take(lab, worked / name, trusted=True)
            (event,) = (each for each in lab.journal.tail(0) if each.id == expected.id)
            assert (event.at, event.body["text"], event.body["type"]) == (
                expected.at,
                expected.body["text"],
                "moment",
            )
            assert expected.body["text"] in [
                hit.text for hit in lab.search("Berlin", agents=["main"]).hits
            ]
            assert (
                event.session,
                "berlin" in {concept[1] for concept in event.body["concepts"]},
            ) == ("s1", True)


def test_every_layout_is_in_one_table(tmp_path: Path) -> None:
    with home(tmp_path / "home") as lab:
        assert OWN in layouts(lab.home)
        with pytest.raises(InvalidInput) as refused:
            take(lab, tmp_path / "nowhere")
        assert all(
            name in str(refused.value)
            for name in ("outcomes/*.json", "axon.json", "traces/*.json")
        )
