"""The quick start of the published engine runs as it is written, with rules or with a model of one's own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from theorex_lab.cte import (
    BaseLLMProvider,
    CognitiveTrajectoryEngine,
    CognitiveVM,
    CTEConfig,
    DreamConfig,
    HierarchyLevel,
    InstructionParser,
    ISAConfig,
    MigrationTransform,
    RouterConfig,
    RouterPath,
    get_registry,
)
from theorex_lab.designs.dreams.items import dream_settings
from theorex_lab.errors import InvalidInput


class Marking(BaseLLMProvider):
    async def complete(self, prompt: str, system: str = "") -> str:  # noqa: ARG002
        return "MARK_CRITICAL t 0\nMARK_CRITICAL t 1\nMARK_NOISE t 2\nHALT"


@pytest.mark.parametrize("llm", [None, Marking()])
def test_the_quick_start_runs_as_it_is_written(tmp_path: Path, llm: BaseLLMProvider | None) -> None:
    async def main() -> list[str]:
        cte = CognitiveTrajectoryEngine(llm=llm, db_path=str(tmp_path / "memory.db"))
        with cte.session("build auth system") as logger, logger.trace(HierarchyLevel.TACTICAL, "implement JWT") as ctx:
            ctx.action("research", "Read RFC 7519", result="Understood claims")
            ctx.action("code", "Write jwt_utils.py", result="200 lines")
            ctx.action("test", "Run pytest", result="8/8 passing")
        journal = await cte.dream()
        assert (journal.nodes_created, journal.constraints_extracted) == (1, 0)
        decision = cte.query("how to implement JWT authentication?")
        assert decision.path == RouterPath.MEMORY_TRAVERSAL
        state, steps = cte.begin_traversal(decision.entry_point), []
        while True:
            child, state = cte.next_step(state)
            if child is None:
                break
            steps.append(f"Step {child.step_index}: {child.action} -> {child.result}")
        cte.close()
        return steps

    steps = asyncio.run(main())
    assert steps[:2] == ["Step 0: Read RFC 7519 -> Understood claims", "Step 1: Write jwt_utils.py -> 200 lines"]
    assert len(steps) == (3 if llm is None else 2)


def test_the_instruction_set_is_used_as_it_is_written() -> None:
    program = InstructionParser().parse(
        'BUILD_PARENT "deploy database" "Strategy for Docker Postgres deployment" 0.9\n'
        'BUILD_CHILD $LAST_PARENT 0 "Pull image" "docker pull postgres:15" "Image downloaded"\nHALT\n'
    )
    result = CognitiveVM().execute(program)
    assert (len(result.built_parents), len(result.built_children), result.instructions_executed) == (1, 1, 3)
    assert get_registry().all_versions() == ["1.0"]
    assert get_registry().supports("1.0")


def test_a_migration_enriches_what_was_dreamt_before(tmp_path: Path) -> None:
    class AddRiskAssessment(MigrationTransform):
        from_version, to_version = "1.0", "2.0"

        async def transform(self, node, children, llm):  # noqa: ARG002
            node.content += "\n[risk_level: high]"
            return node, children

    async def main() -> str:
        cte = CognitiveTrajectoryEngine(db_path=str(tmp_path / "memory.db"))
        with cte.session("refund a customer") as log, log.trace() as ctx:
            ctx.action("", "find the charge")
            ctx.action("", "refund it")
        await cte.dream()
        cte.register_migration(AddRiskAssessment())
        await cte.dream()
        found = cte.query("refund a customer").entry_point
        cte.close()
        assert found is not None
        return f"{found.isa_version} {found.content.strip()}"

    assert asyncio.run(main()) == "2.0 [risk_level: high]"


def test_settings_keep_their_names(tmp_path: Path) -> None:
    config = CTEConfig(
        db_path=str(tmp_path / "memory.db"), dream=DreamConfig(merge_similarity_threshold=0.9),
        router=RouterConfig(top_k=3), isa=ISAConfig(max_instructions=7, enable_fallback=True),
    )  # fmt: skip
    cte = CognitiveTrajectoryEngine(config=config)
    settings = dream_settings(cte.lab.home)
    cte.close()
    assert (settings.merge_similarity, settings.recall_top, settings.isa_max_instructions) == (0.9, 3, 7)
    with pytest.raises(InvalidInput, match="merge_at"):
        CTEConfig(dream={"merge_at": 1})
