"""Domains and hand-off blocks: what a subagent that forgets everything works from, and
what it hands back.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import NOW, Run
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab import FixedClock, InvalidInput, Lab
from theorex_lab.core.clock import MICROSECONDS_PER_DAY as DAY
from theorex_lab.designs.facts.domains import (
    DomainFacts,
    DomainText,
    add_domain,
    domain_called,
    judge_proposal,
    pause_domain,
    propose,
    scan_domains,
    write_domain,
)
from theorex_lab.designs.facts.files import ROTATED_LINES, domain_documents
from theorex_lab.designs.facts.handoff import (
    HANDOFF_PHASES,
    MOST_HANDOFF_CHARACTERS,
    Handoff,
    read_handoff,
)

# As the document prints it.
BLOCK = """=== HB-EXTRACT HANDOFF ===
Status: ok
Summary: extracted 3 facts from 2026-02-24.md (L47->L89)
Stats: {"facts_written": 3, "new_watermark": "L89"}
Alerts: []
=== END ===
"""


def opened(folder: Path) -> Lab:
    lab = Lab(folder, clock=FixedClock(NOW))
    _ = lab.facts
    return lab


def block(*lines: str, end: str = "=== END ===") -> str:
    return "\n".join(["=== HB-EXTRACT HANDOFF ===", *lines, end])


# Domains


def test_the_documents_commands_add_domains(run: Run) -> None:
    digest = run(
        *"facts add-domain --domain digest --description".split(),
        "Daily digest",
        "--json",
    )
    assert (digest.code, digest.json["type"]) == (0, "cron-task")
    engram = run(
        *"facts add-domain --domain engram --type dev-project".split(),
        *"--kg-entity projects/engram --description".split(),
        "Memory skill",
        "--json",
    )
    assert engram.json["entity"] == "projects/engram"
    listed = run("facts", "domain", "list", "--json").json["domains"]
    assert [(row["name"], row["stale"]) for row in listed] == [
        ("digest", False),
        ("engram", False),
    ]
    again = run("facts", "add-domain", "--domain", "digest")
    assert (again.code, "which is there already" in again.err) == (1, True)
    alone = run("facts", "add-domain", "--domain", "x", "--type", "dev-project")
    assert "add --kg-entity projects/NAME" in alone.err
    named = run("facts", "add-domain", "--domain", "../x")
    assert "allowed are 1 to 64 of a-z 0-9 -" in named.err


def test_a_domain_is_five_files_in_the_documents_places(
    run: Run, tmp_path: Path
) -> None:
    run("facts", "add-domain", "--domain", "digest")
    run("facts", "domain", "write", "digest", "workflow", "--text", "1. Read the feeds")
    run("facts", "domain", "render", str(tmp_path / "out"))
    folder = tmp_path / "out" / "memory" / "domains" / "digest"
    assert sorted(file.name for file in folder.iterdir()) == [
        "changelog.md",
        "decisions.md",
        "status.md",
        "workflow.md",
    ]
    assert (folder / "workflow.md").read_text() == "1. Read the feeds\n"


def test_a_long_changelog_goes_to_archives(tmp_path: Path) -> None:
    with opened(tmp_path) as lab:
        add_domain(lab.home, "digest", DomainFacts())
        lines = "\n".join(f"- ran {number}" for number in range(ROTATED_LINES + 5))
        # All at once, as an import does it.
        body = {"domain": "digest", "file": "changelog", "text": lines}
        lab.facts.append("domain_written", body)
        files = {path: text for _, path, text in domain_documents(lab.home)}
    archived = files["memory/domains/digest/archives/changelog-0001.md"]
    assert len(archived.split("\n")) == ROTATED_LINES
    assert files["memory/domains/digest/changelog.md"].split("\n")[-1] == "- ran 1004"
    assert f"{archived}\n{files['memory/domains/digest/changelog.md']}" == lines


def test_a_subagent_writes_status_and_changelog_alone(tmp_path: Path) -> None:
    with opened(tmp_path) as lab:
        add_domain(lab.home, "digest", DomainFacts())
        for file in ("status", "changelog"):
            written = DomainText(text="Ran well", by="subagent")
            write_domain(lab.home, "digest", file, written)
        for file in ("decisions", "workflow"):
            written = DomainText(text="Do as I say", by="subagent")
            with pytest.raises(InvalidInput, match="allowed are status and changelog"):
                write_domain(lab.home, "digest", file, written)
        asks = DomainText(text="PROPOSAL: Ten items", by="subagent", append=True)
        write_domain(lab.home, "digest", "decisions", asks)
        replaces = DomainText(text="PROPOSAL: Ten items", by="subagent")
        with pytest.raises(InvalidInput, match="allowed are status and changelog"):
            write_domain(lab.home, "digest", "decisions", replaces)
        assert [each.text for each in scan_domains(lab.home).proposals] == ["Ten items"]


def test_a_proposal_reaches_the_main_agent_and_becomes_a_decision(
    tmp_path: Path,
) -> None:
    with opened(tmp_path) as lab:
        about = DomainFacts("dev-project", "Shop", "projects/shop")
        add_domain(lab.home, "shop", about)
        propose(lab.home, "shop", "Open at eight")
        propose(lab.home, "shop", "Close at noon")
        first, second = scan_domains(lab.home).proposals
        report = lab.facts.beat()
        assert f"shop proposes ({first.id}): Open at eight" in report.alerts
        judge_proposal(lab.home, "shop", first.id, accept=True)
        judge_proposal(lab.home, "shop", second.id, accept=False)
        assert scan_domains(lab.home).proposals == []
        assert domain_called(lab.home, "shop").files["decisions"] == (
            "# shop: decisions\n\n- Open at eight"
        )
        (fact,) = lab.facts.list("projects/shop")
        assert (fact.text, fact.category) == ("Open at eight", "decision")
        # The same words have their verdict.
        propose(lab.home, "shop", "Close at noon")
        assert scan_domains(lab.home).proposals == []


def test_a_domain_is_stale_after_two_intervals_or_a_week(tmp_path: Path) -> None:
    with opened(tmp_path) as lab:
        add_domain(lab.home, "hourly", DomainFacts(interval=60))
        add_domain(lab.home, "other", DomainFacts())
        add_domain(lab.home, "resting", DomainFacts(interval=60))
        pause_domain(lab.home, "resting")
        stale = []
        for days in (0.08, 0.1, 7, 7.1):
            lab.clock.at = NOW  # type: ignore[attr-defined]
            now = NOW + int(days * DAY)
            names = [
                name
                for name in ("hourly", "other", "resting")
                if domain_called(lab.home, name).is_stale(now)
            ]
            stale.append(names)
    assert stale == [[], ["hourly"], ["hourly"], ["hourly", "other"]]


def test_the_golden_body_of_an_older_release_breaks_no_domain(tmp_path: Path) -> None:
    with opened(tmp_path) as lab:
        body = {"domain": "garden", "file": "plants.md", "text": "Roses"}
        lab.facts.append("domain_written", body)
        lab.facts.append("domain_written", {})
        assert domain_called(lab.home, "garden").files == {}
        assert scan_domains(lab.home).domains == 1


# Hand-off blocks


def test_the_documents_block_is_read_and_written_equal() -> None:
    handed = read_handoff(f"I have read the notes.\n\n{BLOCK}That is all.\n")
    assert handed == Handoff(
        "extract",
        "ok",
        "extracted 3 facts from 2026-02-24.md (L47->L89)",
        {"facts_written": 3, "new_watermark": "L89"},
    )
    assert handed.to_block() == BLOCK.removesuffix("\n")


def test_alerts_are_read_from_lines_and_from_a_list() -> None:
    for alerts in ('Alerts: ["a b", "c"]', "Alerts:\n- a b\n- c", "Alerts: a b\nc"):
        handed = read_handoff(block("Status: ok", "Stats: {}", alerts))
        assert handed is not None
        assert tuple(handed.alerts) == ("a b", "c")


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
        (block("Stats: {}"), "got the status ''; allowed are ok and error"),
        (block("Status: error", "Status: ok", "Stats: {}"), "got status twice"),
        (block("Status: ok", "Stats: {}", end=""), "it was cut off"),
        (block("Status: ok", "Stats: {}", end="") + "\n" + BLOCK, "it was cut off"),
    ],
)
def test_what_cannot_be_read_is_an_error(text: str, problem: str) -> None:
    handed = read_handoff(text)
    assert handed is not None
    assert handed.status == "error"
    assert problem in handed.problem


def test_without_a_block_there_is_none() -> None:
    far = " " * MOST_HANDOFF_CHARACTERS + BLOCK
    for text in ("", "done", "=== HANDOFF ===", far):
        assert read_handoff(text) is None


@given(st.text(max_size=2_000))
def test_no_text_breaks_the_reader(text: str) -> None:
    read_handoff(text)
    assert read_handoff(block(*text.split("\n"))) is not None


def test_the_command_reads_a_block_and_keeps_its_watermark_forwards_alone(
    run: Run, tmp_path: Path
) -> None:
    for number in range(5):
        run("write", f"The till rounds each line, case {number}")
    file = tmp_path / "block.txt"
    parse = ("facts", "handoff", "parse", "--file", str(file), "--json")
    file.write_text(BLOCK)
    only_read = run(*parse)
    assert (only_read.code, only_read.json["kept"]) == (0, {})
    too_far = run(*parse, "--keep")
    assert (too_far.code, "nothing is kept" in too_far.err) == (1, True)
    waiting = run("facts", "handoff", "notes", "--json").json["notes"]
    third = waiting[2]["seq"]
    moved = []
    for number in (third, third - 1):
        file.write_text(BLOCK.replace("L89", f"L{number}"))
        moved.append(run(*parse, "--keep").json["kept"])
    assert moved == [
        {"watermark": third, "moved": True, "notes": []},
        {"watermark": third, "moved": False, "notes": []},
    ]
    waiting = run("facts", "handoff", "notes", "--json").json["notes"]
    assert [note["text"][-1] for note in waiting] == ["3", "4"]


def test_exit_codes_tell_errors_and_alerts_and_nothing_of_a_block_is_run(
    run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "block.txt"
    made = tmp_path / "made"
    order = f"$(touch {made}); `touch {made}`"
    for text, code in (
        (block("Status: ok", "Stats: {"), 1),
        (block("Status: error"), 1),
        ("nothing of the kind", 0),
        (
            block(
                "Status: ok", f"Summary: {order}", "Stats: {}", f"Alerts:\n- {order}"
            ),
            2,
        ),
    ):
        file.write_text(text)
        assert run("facts", "handoff", "parse", "--file", str(file)).code == code
    assert not made.exists()


@pytest.mark.parametrize("phase", HANDOFF_PHASES)
def test_a_template_is_filled_and_ends_with_a_block_that_can_be_read(
    run: Run, tmp_path: Path, phase: str
) -> None:
    run("facts", "add-domain", "--domain", "digest")
    run("facts", "write", "--entity", "people/ann", "--fact", "Lives in Bath")
    run("facts", "init", str(tmp_path / "w"))
    folder = str(tmp_path / "w" / "references")
    now = ("--now", "2026-03-02T09:00:00Z")
    template = (*now, "facts", "handoff", "template", phase, "--json")
    text = run(*template).json["text"]
    handed = read_handoff(text)
    assert handed is not None
    assert (handed.phase, handed.status) == (phase, "ok")
    own = run(*template, "--from", folder).json["text"]
    assert own.rstrip() == text.rstrip()
    raw = run(*template, "--raw").json["text"]
    slot = {
        "extract": ("{WATERMARK}", "L0"),
        "synthesis": ("{ENTITIES}", "people/ann"),
        "domains": ("{DOMAINS}", "digest"),
    }[phase]
    assert (slot[0] in raw, slot[0] in text, slot[1] in text) == (True, False, True)


@pytest.mark.parametrize("phase", HANDOFF_PHASES)
def test_a_phase_that_is_run_alone_hands_over_a_block(
    run: Run, tmp_path: Path, phase: str
) -> None:
    run("write", "We decided to use uv", "--type", "decision")
    done = run("facts", "handoff", "run", phase)
    handed = read_handoff(done.out)
    assert handed is not None
    assert (handed.phase, handed.status) == (phase, "ok")
    if phase != "extract":
        return
    assert handed.stats["facts_written"] == 1
    # Only whoever reads the block moves the watermark.
    assert run("facts", "handoff", "notes", "--json").json["waiting"] == 1
    file = tmp_path / "block.txt"
    file.write_text(done.out)
    run("facts", "handoff", "parse", "--keep", "--file", str(file))
    assert run("facts", "handoff", "notes", "--json").json["waiting"] == 0


# The weekly page


def test_the_weekly_page_is_kept_as_text_and_goes_with_what_it_shows(
    tmp_path: Path, run: Run
) -> None:
    home = ("--home", str(tmp_path / "home"))
    # A Sunday, then two Mondays.
    write = ("facts", "write", "--entity", "people/ann", "--fact")
    run(*home, "--now", "2026-03-01T09:00:00Z", *write, "Lives in Bath")
    run(*home, "--now", "2026-03-02T09:00:00Z", "facts", "heartbeat", "--once")
    run(*home, "--now", "2026-03-04T09:00:00Z", *write, "Prefers tea over coffee")
    run(*home, "--now", "2026-03-09T09:00:00Z", "facts", "heartbeat", "--once")
    summary = ("facts", "summary", "people/ann", "--json")
    last = run(*home, *summary, "--week").json
    first = run(*home, *summary, "--week", "2026-03-05").json
    assert (first["week"], last["week"]) == ("2026-03-02", "2026-03-09")
    assert first["text"].startswith("# ann\n\nLives in Bath.\n\n## Current (Hot)")
    assert "## This Week\n\n- New: ann-001\n" in first["text"]
    assert "tea" not in first["text"]
    assert "## This Week\n\n- New: ann-002\n" in last["text"]
    assert "tea" in last["text"]
    missing = run(*home, *summary, "--week", "2026-01-01")
    assert "the weeks of people/ann are 2026-03-02, 2026-03-09" in missing.err
    assert "allowed is a day" in run(*home, *summary, "--week", "soon").err
    facts = run(*home, "facts", "show", "ann-001", "--json").json
    run(*home, "erase", facts["fact"]["event"])
    gone = run(*home, *summary, "--week")
    assert (gone.code, "Bath" in gone.out + gone.err) == (1, False)


def test_the_weekly_page_tells_what_was_replaced_and_what_lies_idle(
    tmp_path: Path, run: Run
) -> None:
    home = ("--home", str(tmp_path / "home"))
    write = ("facts", "write", "--entity", "people/ann", "--fact")
    run(*home, "--now", "2026-03-03T09:00:00Z", *write, "Lives in Bath")
    moved = ("Ann moved to York", "--supersedes", "ann-001")
    run(*home, "--now", "2026-03-04T09:00:00Z", *write, *moved)
    pages = []
    for day in ("2026-03-09", "2026-03-16", "2026-05-04"):
        run(*home, "--now", f"{day}T09:00:00Z", "facts", "heartbeat", "--once")
        page = run(*home, "facts", "summary", "people/ann", "--week", day)
        pages.append(page.out)
    changed = (
        "- Changed: Ann moved to York (2026-03-04, ann-002); before: Lives in Bath"
    )
    assert changed in pages[0]
    assert "Nothing is new, and nothing was replaced." in pages[1]
    assert "Nothing of it was used since 2026-03-04" in pages[2]


# The three options


def test_notes_and_tensions_are_written_as_the_document_prints_it(run: Run) -> None:
    observe = ("facts", "memory-observe", "--observation")
    for text, category in (
        ("KG extraction missed facts", "friction"),
        ("Code quality improved", "quality"),
        ("Unexpected behavior", "surprise"),
    ):
        assert run(*observe, text, "--category", category).code == 0
    for text in ("Lives in Bath", "Lives in York with a cat"):
        run("facts", "write", "--entity", "people/sergey", "--fact", text)
    tension = (
        "facts",
        "memory-tension",
        "--tension",
        "Two facts contradict each other",
    )
    noted = run(*tension, "--fact1", "sergey-001", "--fact2", "sergey-002")
    assert noted.out == "tension-0001\n"
    alone = run(*tension, "--fact1", "sergey-001")
    assert (alone.code, "A tension is between two facts" in alone.err) == (2, True)
    assert run("facts", "notes", "--json").json["notes"][3]["factRefs"] == [
        "sergey-001",
        "sergey-002",
    ]


def test_seed_counts_the_hashes_of_the_facts(run: Run) -> None:
    for text in ("Writes C++", "Writes C", "Sings"):
        run(*"facts write --no-semantic-check --entity people/ann --fact".split(), text)
    run("facts", "write", "--entity", "people/bob", "--fact", "Sings")
    seeded = run("facts", "memory-dedup", "--seed", "--json").json
    assert seeded == {"seeded": 4, "entities": 2, "hashes": 2, "duplicates": []}
    assert run("facts", "memory-dedup", "--seed", "3", "--json").json == seeded
    wrong = run("facts", "memory-dedup", "--seed", "none")
    assert "allowed is a number from 1 to 100000" in wrong.err
    dedup = ("facts", "memory-dedup", "--entity", "people/ann", "--fact")
    known = run(*dedup, "writes c++!", "--json").json
    assert (known["duplicate"], known["id"], known["existingEntity"]) == (
        True,
        "ann-001",
        "people/ann",
    )
    new = run(*dedup, "Prefers Bun over Node.js", "--json").json
    assert (new["duplicate"], new["hash"]) == (
        False,
        "5c0358310212f74509d237555eff74935c804f6cb6424728570e09f5f58564d7",
    )
    assert run("facts", "memory-dedup", "--fact", "x").code == 2


def test_bodies_of_domains_and_weeks_are_json(tmp_path: Path) -> None:
    with opened(tmp_path) as lab:
        add_domain(lab.home, "digest", DomainFacts())
        (event,) = lab.journal.tail(0, kinds=["domain_written"])
    assert json.loads(json.dumps(event.body))["made"] is True
