"""Tasks, policies, reviews, outcomes and moments in files: what comes back as it was, and what as history only."""

from __future__ import annotations

import json
import re
import stat
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from conftest import DAY, NOW, erase, observation
from faults import tool_event
from test_exchange import export, home, records, take

from theorex_lab import InvalidInput, Lab
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.moments import recent_moments, write_moment
from theorex_lab.dispatch.tasks import TaskBoard
from theorex_lab.evolution.cases import Case, ReviewVerdict
from theorex_lab.evolution.failures import review_failures
from theorex_lab.evolution.outcomes import OutcomeLog
from theorex_lab.evolution.policy import policies, policy_settings, snapshot
from theorex_lab.exchange.home_files import OWN, layouts
from theorex_lab.ids import derived_event_id
from theorex_lab.journal.sqlite.erase import EraseSelection, erase_chosen

FILES = ("tasks.jsonl", "policies.jsonl", "reviews.jsonl", "outcomes.jsonl")
HISTORY = FILES[:3]
DOCUMENTS = ("flash/*.json", "a2a/*/*.json", "policy-snapshots/*.json", "moments/*.json")


class Reviewer:
    """Says something of use about one failure, and nothing about another."""

    def review(self, case: Case) -> ReviewVerdict:
        if "disk" in case.outcome.decision:
            return ReviewVerdict(0.0, "", "small", problem="the reply holds no JSON object", reply="Hm.")
        return ReviewVerdict(0.8, "Ask for a longer lease before the work begins.", "small", 1, "other")


@pytest.fixture
def worked(tmp_path: Path) -> Path:
    """The exported history of two agents, in the folder `out`: tasks in every state, policies, reviews, moments."""
    with home(tmp_path / "home") as lab:
        board = TaskBoard(lab.home)
        board.send("main", "sage", "summary", {"of": "the week", "pages": [1, 2.5, None]})
        done = board.send("sage", "main", "mend", "the cache")
        claimed = board.claim("main", worker="main-1")
        assert claimed is not None
        board.complete(claimed.id, {"mended": True}, worker="main-1")
        board.send("main", "main", "look", None)
        held = board.claim("main", lease_seconds=60)
        assert held is not None
        board.renew(held.id)
        assert done == claimed.id
        log = OutcomeLog(lab.home)
        log.record("sage", "raised the TTL", "still stale", success=False, explicit_score=0.1)
        log.record("sage", "cleared the disk", "it was full again", success=False)
        review_failures(lab.home, Reviewer())
        snapshot(lab.journal, policy_settings(lab.settings), at=NOW, reason="first")
        snapshot(lab.journal, {**policy_settings(lab.settings), "halfLifeDays": 7.0}, at=NOW, metrics={"recall": 0.5})
        write_moment(lab.home, "The cache was mended in Berlin", refs=["cache.py:12", "ttl.py"], session="s1")
        export(lab, tmp_path / "out")
    return tmp_path / "out"


def texts(folder: Path, names: tuple[str, ...] = FILES) -> dict[str, str]:
    return {name: (folder / name).read_text() for name in names}


def tasks(lab: Lab) -> list[dict[str, Any]]:
    return [task.as_dict() for agent in ("main", "sage") for task in TaskBoard(lab.home).tasks(agent)]


def waiting(lab: Lab) -> list[str]:
    return [each.decision for each in OutcomeLog(lab.home).queue()]


def test_trusted_history_comes_back_as_it_was(worked: Path, tmp_path: Path) -> None:
    with home(tmp_path / "home") as lab:
        expected = tasks(lab), policies(lab.journal), waiting(lab), OutcomeLog(lab.home).outcomes()
    assert {task["state"] for task in expected[0]} == {"submitted", "working", "completed"}
    assert expected[2] == ["cleared the disk"]
    with home(tmp_path / "other") as lab:
        in_force = lab.settings
        reports = take(lab, worked, trust_own=True)
        assert [report.problems for report in reports if report.problems] == []
        assert (tasks(lab), policies(lab.journal), waiting(lab), OutcomeLog(lab.home).outcomes()) == expected
        assert (lab.settings, lab.home.config_file.exists()) == (in_force, False), "no policy comes into force"
        assert TaskBoard(lab.home).claim("sage") is not None
        assert review_failures(lab.home, Reviewer())[0].problem is not None
        assert lab.verify().ok
    with home(tmp_path / "third") as lab:
        take(lab, worked, trust_own=True)
        last = lab.journal.last_seq()
        assert sum(report.imported for report in take(lab, worked, trust_own=True)) == 0
        assert lab.journal.last_seq() == last
        export(lab, tmp_path / "again")
    assert texts(tmp_path / "again") == texts(worked)
    assert all(texts(worked).values())


def test_documents_alone_come_back_as_they_were(worked: Path, tmp_path: Path) -> None:
    with home(tmp_path / "home") as lab:
        lab.journal.append([tool_event("the session cache"), tool_event("its ttl", agent="sage", source="model")])
        lab.nightly(reviewer="heuristic")
        expected = sorted(tasks(lab), key=itemgetter("id")), policies(lab.journal)
        export(lab, tmp_path / "out")
    kept = {}
    for path in [*DOCUMENTS, "evolution.jsonl"]:
        kept |= {each.relative_to(worked): each.read_text() for each in worked.glob(path)}
    assert {path.parts[0] for path in kept} == {"flash", "a2a", "policy-snapshots", "moments", "evolution.jsonl"}
    for path, text in kept.items():
        (tmp_path / "few" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "few" / path).write_text(text)
    with home(tmp_path / "other") as lab:
        for _ in range(2):
            reports = take(lab, tmp_path / "few", trust_own=True)
            assert [report.problems for report in reports if report.problems] == []
        assert sum(report.imported for report in reports) == 0
        assert (sorted(tasks(lab), key=itemgetter("id")), policies(lab.journal)) == expected
        assert lab.theorex.sessions(agent="sage") == ["s1"]
        export(lab, tmp_path / "again")
        night = json.loads((tmp_path / "again" / "evolution.jsonl").read_text())
        assert (night["fixes"], [step["name"] for step in night["steps"]][:2]) == (0, ["judge", "review"])
        assert night["time"] == night["timestamp"]
        assert [each["part"] for each in night["gate"]] == ["memory"]
    again = {path: (tmp_path / "again" / path).read_text() for path in kept}
    scores = re.compile(r'"significance_score":[\d.]+')  # here the axon is another
    assert {path: scores.sub("", text) for path, text in again.items()} == {
        path: scores.sub("", text) for path, text in kept.items()
    }
    with home(tmp_path / "third") as lab:
        take(lab, tmp_path / "few")
        assert (tasks(lab), policies(lab.journal)) == ([], [])
        assert {each.body["source"] for each in lab.journal.tail(0, kinds=["tool_used"])} == {"import"}
        assert lab.verify().ok


def test_documents_of_the_original_system(tmp_path: Path) -> None:
    number, at = "0b54a4c6-55a4-4d14-9b3e-000000000001", "2026-02-27T10:00:00.000Z"
    documents = {
        "flash/s1.json": {
            "session_id": "s1",
            "events": [{"tool_name": "Bash", "tool_input_preview": "make test", "tool_response_preview": "ok",
                        "timestamp": at, "significance_score": 1.0}],
        },
        f"a2a/sage/{number}.json": {
            "id": number, "from_agent": "main", "to_agent": "sage", "task_type": "mend", "payload": {"what": "cache"},
            "status": "completed", "submitted_at": at, "completed_at": at, "result": "done",
        },
        "policy-snapshots/1.json": {"version": 1, "timestamp": at, "metrics": {"recall": 0.5}, "config_hash": "x"},
        f"moments/{number}.json": {
            "id": number, "timestamp": at, "story": "The cache was mended in Berlin", "code_refs": ["cache.py:1"],
            "concept_ids": [7],
        },
    }  # fmt: skip
    for name, document in documents.items():
        (tmp_path / "theirs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "theirs" / name).write_text(json.dumps(document, indent=2))
    with home(tmp_path / "home") as lab:
        reports = take(lab, tmp_path / "theirs", trust_own=True)
        assert [(report.imported, len(report.problems)) for report in reports] == [(1, 0), (3, 0), (0, 1), (1, 0)]
        (task,) = tasks(lab)
        assert (task["state"], task["result"], task["payload"]) == ("completed", "done", {"what": "cache"})
        assert policies(lab.journal) == [], "it names no settings"
        assert lab.theorex.sessions() == ["s1"]
        assert "The cache was mended in Berlin [cache.py:1]" in lab.theorex.flash_inject("s1")
        (tmp_path / "theirs" / f"a2a/sage/{number}.json").write_text("{")
        (report,) = take(lab, tmp_path / "theirs" / f"a2a/sage/{number}.json")
        assert report.problems[0].startswith(f"a2a/{number}.json: not JSON")


def test_of_strangers_history_is_left_out(worked: Path, tmp_path: Path) -> None:
    with home(tmp_path / "other") as lab:
        reports = {report.file: report for report in take(lab, worked)}
        assert all("--trust-own alone" in reports[name].problems[0] for name in HISTORY if records(worked / name))
        take(lab, worked)
        assert (tasks(lab), policies(lab.journal), TaskBoard(lab.home).claim("sage")) == ([], [], None)
        assert waiting(lab) == ["raised the TTL", "cleared the disk"], "nothing counts as reviewed"
        assert {event.body["source"] for event in lab.journal.tail(0, kinds=["observation", "outcome"])} == {"import"}
        assert lab.verify().ok


def test_a_moment_alone_keeps_what_it_tells(worked: Path, tmp_path: Path) -> None:
    with home(tmp_path / "home") as lab:
        (expected,) = recent_moments(lab.views.get(Axon), lab.journal, agent="main")
    (document,) = (worked / "moments").iterdir()
    for name in (f"moments/{document.name}", "."):
        with home(tmp_path / f"other{len(name)}") as lab:
            take(lab, worked / name, trust_own=True)
            (moment,) = recent_moments(lab.views.get(Axon), lab.journal, agent="main")
            assert moment == expected
            assert expected.story in [hit.text for hit in lab.search("Berlin", agents=["main"]).hits]
            (event,) = (each for each in lab.journal.tail(0) if each.id == moment.id)
            assert (event.session, "berlin" in {concept[1] for concept in event.body["concepts"]}) == ("s1", True)


def test_outcomes_as_lines_are_those_of_their_files(worked: Path, tmp_path: Path) -> None:
    lines = {line["id"]: line for line in records(worked / "outcomes.jsonl")}
    assert lines == {path.stem: json.loads(path.read_text()) for path in (worked / "outcomes").iterdir()}
    moved = (worked / "outcomes.jsonl").rename(tmp_path / "how-it-went.jsonl")
    with home(tmp_path / "other") as lab:
        (report,) = take(lab, moved)
        assert (report.file, report.imported) == ("how-it-went.jsonl", 2)
        moved.write_text('{"decision": 7, "success": true}\n[\n' + moved.read_text())
        (report,) = take(lab, moved)
        assert (report.imported, report.skipped) == (0, 2)
        assert report.problems[0].startswith("how-it-went.jsonl:1: decision is 7")
        assert report.problems[1].startswith("how-it-went.jsonl:2: not JSON")


def test_files_of_one_agent_and_their_permissions(worked: Path, tmp_path: Path) -> None:
    assert {stat.S_IMODE((worked / name).stat().st_mode) for name in FILES} == {0o600}
    with home(tmp_path / "home") as lab:
        export(lab, tmp_path / "sage", agent="sage")
        export(lab, tmp_path / "main", agent="main")
    assert [line["kind"] for line in records(tmp_path / "sage" / "tasks.jsonl")] == ["task_submitted"]
    assert [line["kind"] for line in records(tmp_path / "sage" / "reviews.jsonl")] == ["reviewed", "review_failed"]
    assert {line["to"] for line in records(tmp_path / "main" / "tasks.jsonl") if "to" in line} == {"main"}
    assert (records(tmp_path / "main" / "reviews.jsonl"), records(tmp_path / "sage" / "policies.jsonl")) == ([], [])


def test_what_was_erased_stays_out(worked: Path, tmp_path: Path) -> None:
    with home(tmp_path / "home") as lab:
        done = next(task for task in tasks(lab) if task["state"] == "completed")
        erase(lab.journal, [derived_event_id("task", done["id"], 2)], agent="main", at=NOW)
        (second,) = (policy for policy in policies(lab.journal) if policy.number == 2)
        erase(lab.journal, [second.event_id], agent="main", at=NOW)
        erase_chosen(lab.journal, EraseSelection(agent="sage"), agent="main", at=NOW)
        snapshot(lab.journal, policy_settings(lab.settings), at=NOW, reason="third")
        export(lab, tmp_path / "again")
    assert '"sage"' not in "".join(texts(tmp_path / "again").values()), "a task for who is gone names nobody else"
    assert [line["type"] for line in records(tmp_path / "again" / "tasks.jsonl") if "type" in line] == ["look"]
    assert [line["number"] for line in records(tmp_path / "again" / "policies.jsonl")] == [1, 3]
    with home(tmp_path / "other") as lab:
        take(lab, tmp_path / "again", trust_own=True)
        assert [policy.number for policy in policies(lab.journal)] == [1]
        assert [policy.number for policy in policies(lab.journal)] == [1], "none after a gap"
        assert snapshot(lab.journal, policy_settings(lab.settings), at=NOW).number == 2


def _line(kind: str, worked: Path) -> dict[str, Any]:
    return next(line for name in HISTORY for line in records(worked / name) if line["kind"] == kind)


@pytest.mark.parametrize(
    ("kind", "change", "reason"),
    [
        ("task_submitted", {"kind": "erasure"}, "kind is 'erasure'; allowed is"),
        ("task_submitted", {"id": "x"}, "id is 'x'"),
        ("task_submitted", {"id": observation("x").id}, "which follows from what the line says"),
        ("task_submitted", {"v": 99}, "version 99"),
        ("task_submitted", {"v": 0}, "v is 0"),
        ("task_submitted", {"timestamp": "soon"}, "'soon'"),
        ("task_submitted", {"agent_id": "../x"}, "'../x'"),
        ("task_submitted", {"to": "A B"}, "'A B'"),
        ("task_submitted", {"type": "a b"}, "task type 'a b'"),
        ("task_submitted", {"step": 1}, "step is 1"),
        ("task_submitted", {"payload": "x" * 200_000}, "payload of 200002 bytes"),
        ("task_submitted", {"payload": json.loads("[" * 80 + "]" * 80)}, "nested deeper than 64"),
        ("task_submitted", {"session_id": "a b"}, "session id"),
        ("task_submitted", {"lineage": ["x"]}, "lineage is ['x']"),
        ("task_submitted", {"source": "user"}, "source is 'user'; allowed is import, or none"),
        ("task_submitted", {"source": "import"}, "another home told it of others"),
        ("task_claimed", {"attempt": 2**31}, "attempt is 2147483648"),
        ("task_claimed", {"lease_until": 10**30}, "lease_until is 1000"),
        ("task_claimed", {"worker": "a b"}, "worker 'a b'"),
        ("task_ended", {"state": "working"}, "state is 'working'; allowed is completed or failed"),
        ("policy", {"number": 0}, "number is 0"),
        ("policy", {"number": 7}, "which follows"),
        ("policy", {"settings": {"halfLifeDays": -1}}, "halfLifeDays"),
        ("policy", {"settings": {"god": 1}}, "god"),
        ("policy", {"reason": "x" * 501}, "text of up to 500"),
        ("reviewed", {"score": 2}, "score is 2; allowed is a number from 0 to 1"),
        ("reviewed", {"outcome_id": "o1"}, "outcome_id is 'o1'"),
        ("reviewed", {"fix_description": None}, "fix_description is None"),
        ("review_failed", {"reply": 7}, "reply is 7"),
        ("review_failed", {"v": 1, "model_used": []}, "model_used is []"),
    ],
)
def test_a_damaged_line_is_named_and_the_others_are_kept(
    worked: Path, tmp_path: Path, kind: str, change: dict[str, Any], reason: str
) -> None:
    good = _line("policy", worked)
    file = tmp_path / "given.jsonl"
    lines = [json.dumps(good), json.dumps({**_line(kind, worked), **change}), '{"kind": []}', "{"]
    file.write_text("\n".join(lines))
    with home(tmp_path / "other") as lab:
        (report,) = take(lab, file, trust_own=True)
        assert (report.imported, len(report.problems)) == (1, 3)
        assert report.problems[0].startswith("given.jsonl:2: ")
        assert reason in report.problems[0]
        assert lab.verify().ok


def test_older_versions_are_read_and_half_a_body_is_named(worked: Path, tmp_path: Path) -> None:
    line = _line("review_failed", worked)
    old = {key: value for key, value in line.items() if key != "reviewer"} | {"v": 1}
    file = tmp_path / "reviews.jsonl"
    file.write_text(
        json.dumps(old) + "\n" + json.dumps({key: old[key] for key in ("id", "kind", "timestamp", "agent_id", "v")})
    )
    with home(tmp_path / "other") as lab:
        (report,) = take(lab, file, trust_own=True)
        assert "version 1 that cannot be read as version 2" in report.problems[0]
        (event,) = lab.journal.tail(0)
        assert event.body == {name: line[name] for name in event.body}


def test_what_is_here_stays_and_times_ahead_are_cut(worked: Path, tmp_path: Path) -> None:
    with home(tmp_path / "other") as lab:
        snapshot(lab.journal, policy_settings(lab.settings), at=NOW, reason="mine")
        (report,) = take(lab, worked / "policies.jsonl", trust_own=True)
        assert (report.imported, "another policy is here" in report.problems[0]) == (1, True)
        assert [policy.reason for policy in policies(lab.journal)] == ["mine", ""]
    ahead = {**_line("policy", worked), "timestamp": "2036-01-01T00:00:00Z"}
    file = tmp_path / "policies.jsonl"
    file.write_text(json.dumps({**ahead, "reason": "token=abc123def456"}))
    with home(tmp_path / "third") as lab:
        (report,) = take(lab, file, trust_own=True)
        assert "ahead of the clock" in report.problems[0]
        (event,) = lab.journal.tail(0)
        assert (event.at <= NOW + 300_000_000, event.body["reason"]) == (True, "token=[masked]")


def test_links_out_of_the_folder_bring_nothing(worked: Path, tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    for name in FILES:
        (tmp_path / "given" / name).symlink_to(worked / name)
    with home(tmp_path / "other") as lab:
        reports = take(lab, tmp_path / "given", trust_own=True)
        assert [(report.imported, "outside of the folder" in report.problems[0]) for report in reports] == [
            (0, True)
        ] * len(FILES)
        assert lab.journal.last_seq() == 0


def test_every_layout_is_in_one_table(tmp_path: Path) -> None:
    with home(tmp_path / "home") as lab:
        assert layouts(lab.home)[-len(OWN) :] == [*OWN]
        with pytest.raises(InvalidInput) as refused:
            take(lab, tmp_path / "nowhere")
        assert all(name in str(refused.value) for name in (*FILES, "axon.json", "traces/*.json"))


def test_a_file_of_a_session_holds_what_its_flash_holds(tmp_path: Path) -> None:
    """Fifty events of a day at most; another day has a flash of its own."""
    days = (0,) * 60 + (1,) * 3
    with home(tmp_path / "home") as lab:
        lab.journal.append([tool_event("the session cache", at=NOW - (1 - day) * DAY) for day in days])
        export(lab, tmp_path / "out")
    events = json.loads((tmp_path / "out" / "flash" / "s1.json").read_text())["events"]
    assert len(events) == 50 + 3
