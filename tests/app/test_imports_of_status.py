"""What `theorex status` imports: what its numbers are made of, and nothing that writes."""

import subprocess
import sys
from pathlib import Path

SHOW_MODULES = """
import sys
from theorex_lab import Lab
with Lab(sys.argv[1]) as lab:
    lab.status()
    lab.spool_status()
print(*sorted(sys.modules))
"""
NOT_NEEDED = {
    "theorex_lab.designs.causal.experience",
    "theorex_lab.designs.causal.filling",
    "theorex_lab.designs.causal.personalities",
    "theorex_lab.designs.dreams.strategies",
    "theorex_lab.designs.dreams.trajectories",
    "theorex_lab.designs.dropin.graph_view",
    "theorex_lab.designs.facts.extraction",
    "theorex_lab.designs.facts.heartbeat",
    "theorex_lab.designs.facts.notes",
    "theorex_lab.designs.facts.pairs",
    "theorex_lab.designs.facts.writing",
    "theorex_lab.designs.research.learning",
    "theorex_lab.designs.theorex.stages",
    "theorex_lab.designs.sessions.digests",
    "theorex_lab.designs.sessions.said",
    "theorex_lab.dispatch.tasks",
    "theorex_lab.dispatch.traces",
    "theorex_lab.evolution.view_sharing",
    "theorex_lab.memory.briefing.session_log",
    "theorex_lab.journal.spool",
    "theorex_lab.memory.claims",
    "theorex_lab.memory.retrieve",
    "theorex_lab.routing.recall",
    "theorex_lab.search.index",
    "theorex_lab.text.extract",
    "theorex_lab.text.speech_acts",
}


def test_a_status_imports_nothing_that_searches_or_reads_texts(
    tmp_path: Path,
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", SHOW_MODULES, str(tmp_path / "home")],
        capture_output=True,
        text=True,
        check=True,
    )
    modules = set(ended.stdout.split())
    assert "theorex_lab.designs.facts.facts" in modules
    assert not modules & NOT_NEEDED
