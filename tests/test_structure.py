"""What speed and upkeep rest on: what is imported when, what a write touches, what the
package exports.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import observation

import theorex_lab
from theorex_lab import Lab

ROOT = Path(__file__).parents[1]
HEAVY = (
    "numpy",
    "pandas",
    "networkx",
    "matplotlib",
    "scipy",
    "onnxruntime",
    "hnswlib",
    "ipywidgets",
    "httpx",
)


def _imported(code: str) -> set[str]:
    program = f"{code}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_the_package_imports_nothing_heavy() -> None:
    modules = _imported("import theorex_lab")
    assert not modules & {*HEAVY, "pydantic", "sqlite3", "click"}


def test_a_write_opens_no_view_and_imports_no_numpy(tmp_path: Path) -> None:
    modules = _imported(
        "from theorex_lab import Lab\nlab ="
        f" Lab({str(tmp_path)!r})\nlab.agent('main').write('caches go stale')\nassert"
        " '_whole_views' not in vars(lab.home)"
    )
    assert not modules & set(HEAVY)
    assert {path.name for path in tmp_path.iterdir()} <= {
        "theorex.db",
        "theorex.db-last",
        "theorex.db-wal",
        "theorex.db-shm",
    }


def test_help_imports_no_command(tmp_path: Path) -> None:
    modules = _imported(
        "import sys\nsys.argv = ['theorex', '--help']\nfrom theorex_lab.app"
        " import cli\ntry:\n    cli.main()\nexcept SystemExit: pass"
    )
    assert not modules & {
        *HEAVY,
        "pydantic",
        "theorex_lab.app.cli.memory",
        "theorex_lab.store.lab",
    }


def test_a_command_opens_only_the_views_that_it_names(tmp_path: Path) -> None:
    with Lab(tmp_path) as lab:
        lab.agent("main").write("caches go stale")
        lab.theorex.scan()
        assert [view.name for view in lab.views._open.values()] == ["axon"]


@pytest.mark.skipif(
    not Path("/proc/self/io").exists(), reason="counts system calls through /proc"
)
def test_a_write_costs_the_same_in_a_large_memory(tmp_path: Path) -> None:
    """Bytes written for one event do not grow with the journal, and nothing but the
    journal is written.
    """

    def written() -> int:
        lines = Path("/proc/self/io").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("wchar")))

    with Lab(tmp_path) as lab:
        main = lab.agent("main")
        costs = []
        for size in (10, 5_000):
            lab.journal.append(
                [
                    observation(f"text {size} {n}", labels=[f"c {n}"])
                    for n in range(size)
                ]
            )
            lab.journal.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
            before = written()
            for _ in range(20):
                main.write("caches go stale")
            costs.append((written() - before) / 20)
    assert costs[1] < 1.5 * costs[0] + 8_192


def test_the_exported_names() -> None:
    assert theorex_lab.__all__ == [
        "Agent",
        "AlreadyThere",
        "Briefing",
        "Clock",
        "ConfigError",
        "ContextLine",
        "CorruptJournal",
        "Design",
        "Embedder",
        "Event",
        "FixedClock",
        "HashedNgramEmbedder",
        "Hit",
        "Hits",
        "Home",
        "InvalidInput",
        "Item",
        "ItemKind",
        "Lab",
        "Law",
        "ModelUnavailable",
        "ObservationEntry",
        "Section",
        "Settings",
        "StorageError",
        "TheorexError",
        "View",
        "installed",
        "make_law",
        "new_event",
    ]
    assert len(theorex_lab.__all__) <= 30
    for name in theorex_lab.__all__:
        assert getattr(theorex_lab, name).__doc__
    with pytest.raises(AttributeError, match="has no 'nothing'"):
        theorex_lab.nothing  # noqa: B018


def test_no_lock_file_and_no_model_weights_are_tracked() -> None:
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    assert "uv.lock" not in tracked
    assert all(
        Path(name).suffix not in {".onnx", ".gguf", ".bin", ".parquet"}
        for name in tracked
    )
