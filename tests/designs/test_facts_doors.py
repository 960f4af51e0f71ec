"""What the commands of domains, hand-offs and folders do, Python does too; and what an
Engram folder brought in is compared with other designs.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import NOW, Run

from theorex_lab import FixedClock, InvalidInput, Lab
from theorex_lab.eval import EvalLog, EvalQuery, compare


def opened(folder: Path) -> Lab:
    return Lab(folder, clock=FixedClock(NOW))


def test_a_domain_is_added_written_and_judged_in_python(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as lab:
        facts = lab.facts
        facts.add_domain(
            "engram",
            description="Memory skill",
            type="dev-project",
            entity="projects/engram",
        )
        facts.write_domain("engram", "status", "All well", by="subagent")
        facts.propose("engram", "drop old builds")
        with pytest.raises(InvalidInput, match="from a subagent"):
            facts.write_domain("engram", "workflow", "Mine", by="subagent")
        (proposal,) = facts.scan_domains().proposals
        facts.judge_proposal("engram", proposal.id, accept=True)
        assert facts.scan_domains().proposals == []
        assert [domain.name for domain in facts.list_domains()] == ["engram"]
        (fact,) = facts.list("projects/engram")
        assert (fact.text, fact.category) == ("drop old builds", "decision")
        facts.pause_domain("engram")
        assert facts.domain("engram").about.paused


def test_domain_files_are_written_edited_and_read_in_python(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as lab:
        lab.facts.add_domain("digest", description="Daily digest")
        written = lab.facts.render_domains(tmp_path)
        file = tmp_path / "memory/domains/digest/decisions.md"
        assert written["memory/domains/*/*.md"] == 3
        file.write_text("- At most ten items\n", encoding="utf-8")
        with pytest.raises(InvalidInput, match="subagents obey"):
            lab.facts.import_domains(tmp_path)
        lab.facts.import_domains(tmp_path, trusted=True)
        assert lab.facts.domain("digest").files["decisions"] == "- At most ten items"


def test_a_phase_is_handed_over_in_python(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as lab:
        lab.agent("main").write("Remember: the depot closes at noon", source="user")
        waiting = lab.facts.waiting_captures()
        assert (len(waiting.notes), waiting.waiting) == (1, 1)
        assert "L0" in lab.facts.handoff_template("extract")
        assert "{WATERMARK}" in lab.facts.handoff_template("extract", filled=False)
        block = lab.facts.run_phase("extract").to_block()
        assert lab.facts.take_handoff(f"Done.\n{block}")["moved"]
        assert not lab.facts.take_handoff(block)["moved"]
        assert lab.facts.waiting_captures().waiting == 0
        assert lab.facts.take_handoff("no block") == {}
        failed = block.replace("Status: ok", "Status: error")
        assert lab.facts.take_handoff(failed) == {}


@pytest.mark.parametrize("method", ["run_phase", "handoff_template"])
def test_an_unknown_phase_is_named_with_those_that_are(
    tmp_path: Path, method: str
) -> None:
    with (
        opened(tmp_path) as lab,
        pytest.raises(InvalidInput, match=r"'dream'.*extract"),
    ):
        getattr(lab.facts, method)("dream")


def test_a_folder_is_made_checked_and_brought_up_in_python(tmp_path: Path) -> None:
    folder = tmp_path / "engram"
    with opened(tmp_path / "home") as lab:
        assert "life/people" in lab.facts.init_folder(folder)["made"]
        page = folder / "life/people/ann/items.json"
        page.parent.mkdir()
        page.write_text('[{"id": "ann-001", "fact": "Lives in Bath"}]')
        assert lab.facts.validate(folder).problems
        assert lab.facts.migrate_folder(folder).facts == 1
        lab.facts.validate(folder, fix=True)
        assert lab.facts.validate(folder).problems == []
        lab.facts.write("people/ben", "Lives in York")
        assert lab.facts.validate().facts == 1
        assert lab.facts.validate(fix=True).mended == []
        assert lab.facts.dedup()["seeded"] == 1
        assert lab.facts.duplicate_of("people/ben", "lives in york!")["duplicate"]


def test_a_fact_of_a_channel_is_used_and_ended_by_its_project(run: Run) -> None:
    chat = ("--project", "telegram-77")
    run("facts", "add-session", "--platform", "telegram", "--id", "77", "--group")
    fact = ("--entity", "people/ann", "--fact", "Lives in Bath")
    assert "ann-001" in run("facts", "write", *fact, *chat).out
    assert run("facts", "access", "--id", "ann-001").code == 1
    assert "1 facts" in run("facts", "access", "--id", "ann-001", *chat).out
    ended = run("facts", "supersede", "ann-001", "--why", "she moved", *chat)
    assert "[superseded]" in ended.out
    assert "no facts" in run("facts", "list", *chat).out


def test_a_fact_is_found_by_its_tag(tmp_path: Path) -> None:
    with opened(tmp_path) as lab:
        lab.facts.write("people/ann", "Prefers the green tram", tags=["commuting"])
        lab.facts.write("people/ben", "Prefers the red tram")
        tagged = lab.search("tram", kinds=["fact"], tag="commuting")
        assert [hit.text for hit in tagged] == ["ann: Prefers the green tram"]


def test_what_a_folder_brought_in_is_compared_with_other_designs(
    tmp_path: Path,
) -> None:
    page = tmp_path / "engram/life/people/sergey/items.json"
    page.parent.mkdir(parents=True)
    page.write_text(
        '[{"id": "sergey-001", "fact": "Lives in Tbilisi", "category": "status",'
        ' "timestamp": "2026-02-08"}]'
    )
    with opened(tmp_path / "home") as lab:
        lab.import_files(tmp_path / "engram", trusted=True)
        events = sorted(lab.journal.tail(0), key=lambda event: event.at)
        answer = lab.facts.show("sergey-001").event_id
    query = EvalQuery(events[-1].at + 1, "Where does Sergey live?", frozenset({answer}))
    compared = compare(
        [EvalLog("engram", events, [query])],
        ["facts", "theorex", "nothing"],
        budgets=(500,),
        progress=False,
    )
    recall = {
        name: compared.value(name, "retrieve", 500, "evidence_recall").value
        for name in ("facts", "theorex", "nothing")
    }
    assert recall == {"facts": 1.0, "theorex": 1.0, "nothing": 0.0}
    assert not any(trial.problems for trial in compared.trials)
