"""Versions of the instruction set, what carries strategies between them, the opcodes
that read the memory, and their commands.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import NOW, Meanings
from theorex_lab import FixedClock, InvalidInput, Lab
from theorex_lab.designs.dreams import opcodes
from theorex_lab.designs.dreams.isa import parse, run, serialize
from theorex_lab.designs.dreams.migration import UNASSESSED, MigrationTransform
from theorex_lab.designs.dreams.opcodes import (
    ISAVersionRegistry,
    Opcode,
    get_registry,
)
from theorex_lab.designs.dreams.providers import ScriptedProvider

DONE = [
    {"action": "make(target='all')", "reasoning": "to build", "ok": True},
    {"action": "upload(place='web')", "reasoning": "to ship", "ok": True},
]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=FixedClock(NOW), embedder=Meanings()) as opened:
        yield opened


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> ISAVersionRegistry:
    """The versions of this process, as they are for one test."""
    own = ISAVersionRegistry()
    monkeypatch.setattr(opcodes, "_REGISTRY", own)
    return own


def test_the_registry_answers_as_the_document_prints() -> None:
    registry = get_registry()
    assert registry.current() == "1.0"
    assert registry.all_versions() == ["1.0"]
    assert registry.supports("1.0")
    assert not registry.supports("2.0")
    assert registry.get("1.0") == set(Opcode.__members__)
    assert {"HALT", "MEM_PTR", "BUILD_PARENT"} <= registry.get("1.0")


def test_a_version_restricts_to_its_own_opcodes() -> None:
    versions = ISAVersionRegistry()
    versions.register("0.9", ["NOP", "HALT"])
    versions.register("0.10", ["YIELD"])
    assert versions.all_versions() == ["0.9", "0.10", "1.0"]
    program = parse("YIELD a\nnop", "0.9", registry=versions)
    assert [each.opcode for each in program.instructions] == [Opcode.NOP]
    assert program.isa_version == "0.9"
    assert program.warnings == ("L1: unknown opcode 'YIELD' in version 0.9",)
    assert parse("NOP", registry=versions).isa_version == "1.0"
    versions.register("2.0", ["HALT"])
    assert parse("NOP", registry=versions).instructions == ()
    assert run(parse("HALT", registry=versions)).isa_version == "2.0"


@pytest.mark.parametrize("version", ["0.1", "", "1", "newest"])
def test_an_unknown_version_is_refused_with_those_that_are_known(version: str) -> None:
    with pytest.raises(InvalidInput, match=r"allowed are latest, 1\.0"):
        parse("NOP", version)


def test_wrong_versions_are_not_registered() -> None:
    versions = ISAVersionRegistry()
    with pytest.raises(InvalidInput, match="numbers with dots"):
        versions.register("two", ["NOP"])
    with pytest.raises(InvalidInput, match="'JUMP'"):
        versions.register("2.0", ["JUMP"])
    with pytest.raises(InvalidInput, match="next number"):
        versions.register("1.0", ["NOP"])


def test_a_program_comes_back_as_it_was() -> None:
    text = 'BUILD_PARENT "go on" "a \\"b\\"" 0.9\nBUILD_CHILD $LAST_PARENT 0 a b c\n'
    program = parse(text)
    assert parse(serialize(program)) == program


def test_the_six_opcodes_read_the_memory(lab: Lab) -> None:
    lab.dreams.capture("deploy the site", DONE)
    lab.dreams.dream()
    (found,) = lab.dreams.strategies()
    seq = lab.journal.last_seq()
    text = f"""
        MEM_PTR "deploy the site"
        MEM_READ {found.id}
        MEM_NEXT {found.id}.0
        MEM_PREV {found.id}.1
        MEM_NEXT {found.id}.1
        MEM_PARENT {found.id}.1
        MEM_READ {found.id}.0
        MEM_JMP {found.id}
        YIELD "all read"
        HALT"""
    done = lab.dreams.run_program(text)
    assert done.errors == []
    assert [read.value for read in done.memory_reads] == [
        found.id,
        found.summary,
        f"{found.id}.1",
        f"{found.id}.0",
        "",
        found.id,
        "to build",
        found.id,
    ]
    assert (done.accumulator, done.output) == (found.id, ["all read"])
    assert done.side_effects[0] == f'L2: MEM_PTR "deploy the site" -> {found.id}'
    assert lab.journal.last_seq() == seq


def test_what_is_not_there_is_rejected_and_the_rest_runs(lab: Lab) -> None:
    lab.dreams.capture("deploy the site", DONE)
    lab.dreams.dream()
    (found,) = lab.dreams.strategies()
    done = lab.dreams.run_program(
        f"MEM_READ st-none\nMEM_NEXT {found.id}.9\nMEM_JMP {found.id}.0\n"
        'MEM_PTR "something else altogether"'
    )
    assert [error.partition(":")[0] for error in done.errors] == ["L1", "L2"]
    assert [read.value for read in done.memory_reads] == [f"{found.id}.0", ""]


class AddRiskAssessment(MigrationTransform):
    """1.0 to 2.0, as the document prints it."""

    from_version = "1.0"
    to_version = "2.0"

    async def transform(
        self, node: Any, children: list[Any], llm: Any
    ) -> tuple[Any, list[Any]]:
        assessment = await llm.complete(f"Assess risk for: {node.goal}...")
        node.content += f"\n[risk_level: {assessment}]"
        for child in children:
            child.reasoning += " (checked)"
        return node, children


class Third(MigrationTransform):
    """2.0 to 3.0, in place."""

    from_version = "2.0"
    to_version = "3.0"
    wrong: Any = 7

    def transform(self, node: Any, children: list[Any], llm: Any) -> None:
        node.confidence = 0.5 if self.wrong is None else self.wrong


def migrated(lab: Lab) -> list[dict[str, Any]]:
    events = lab.journal.tail(0, kinds=["strategy_migrated"])
    return [event.body for event in events]


def test_transforms_chain_and_a_failed_one_is_tagged_and_tried_again(lab: Lab) -> None:
    lab.dreams.capture("refund a charge", DONE)
    lab.dreams.dream()
    third = Third()
    lab.dreams.register_migration(AddRiskAssessment())
    lab.dreams.register_migration(third)
    report = lab.dreams.dream()
    (found,) = lab.dreams.strategies()
    assert (report.nodes_migrated, found.isa_version) == (0, "1.0")
    assert found.tags == (UNASSESSED,)
    assert "no model dreams here" in report.phase_log[1]
    lab.dreams.dream()
    assert len(migrated(lab)) == 1, "the same failure is not told twice"
    provider = ScriptedProvider(["low"])
    report = lab.dreams.dream(provider)
    (found,) = lab.dreams.strategies()
    assert (report.nodes_migrated, found.isa_version) == (1, "2.0")
    assert "Assess risk for: refund a charge" in provider.prompts[0]
    assert found.content == "\n[risk_level: low]"
    assert found.steps[0].reasoning == "to build (checked)"
    assert "outside 0..1" in report.phase_log[1]
    third.wrong = None
    report = lab.dreams.dream(provider)
    (found,) = lab.dreams.strategies()
    assert (found.isa_version, found.tags, found.confidence) == ("3.0", (), 0.5)
    assert report.phase_log[0].startswith(
        "migration: 1 strategies migrated, 1 enriched"
    )
    assert [body["ok"] for body in migrated(lab)] == [False, True, False, True]


@pytest.mark.parametrize("wrong", ["x", None, float("nan"), -1])
def test_what_a_transform_gives_is_checked(lab: Lab, wrong: Any) -> None:
    class Wrong(MigrationTransform):
        from_version = "1.0"
        to_version = "2.0"

        def transform(self, node: Any, children: list[Any], llm: Any) -> None:
            node.confidence = wrong

    lab.dreams.capture("refund a charge", DONE)
    lab.dreams.dream()
    lab.dreams.register_migration(Wrong())
    assert lab.dreams.dream().nodes_migrated == 0
    (found,) = lab.dreams.strategies()
    assert (found.isa_version, found.tags) == ("1.0", (UNASSESSED,))


def test_a_transform_that_leads_nowhere_is_refused(lab: Lab) -> None:
    class Back(Third):
        from_version = "2.0"
        to_version = "1.0"

    for wrong in (Back(), object()):
        with pytest.raises(InvalidInput, match="later than its from_version"):
            lab.dreams.register_migration(wrong)  # type: ignore[arg-type]
    lab.dreams.register_migration(Third())
    with pytest.raises(InvalidInput, match=r"one from each version"):
        lab.dreams.register_migration(Third())


def test_what_no_transform_takes_is_stamped_with_the_present_version(
    lab: Lab, registry: ISAVersionRegistry
) -> None:
    lab.dreams.capture("deploy the site", DONE)
    lab.dreams.dream()
    lab.dreams.capture("mend the till", DONE)
    registry.register("2.0", registry.get("1.0"))
    report = lab.dreams.dream()
    assert (report.nodes_migrated, report.traces_migrated) == (1, 1)
    assert report.phase_log[0] == (
        "migration: 1 strategies migrated, 0 enriched, 1 trajectories migrated"
    )
    assert {each.isa_version for each in lab.dreams.strategies()} == {"2.0"}
    again = lab.dreams.dream()
    assert again.phase_log[0].startswith("curation")
    lab.dreams.capture("sweep", DONE)
    lab.dreams.capture("mop", DONE, isa_version="1.0")
    versions = [each.isa_version for each in lab.dreams.trajectories()]
    assert versions == ["1.0", "1.0", "2.0", "1.0"]
    assert lab.dreams.stats()["isa_version"] == "2.0"
    with pytest.raises(InvalidInput, match="latest, 1.0, 2.0"):
        lab.dreams.capture("mop", DONE, isa_version="9.9")
