"""What several test files share: a fixed time, and bodies of observations made without
the extractor.
"""

from __future__ import annotations

import gc
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import hypothesis
import pytest
from cheap_forks import gather_before_forks

from theorex_lab import (
    Event,
    FixedClock,
    HashedNgramEmbedder,
    Lab,
    installed,
    new_event,
)
from theorex_lab.core.collector import collector_paused
from theorex_lab.core.ids import concept_id
from theorex_lab.journal.event import FIELDS, UPCASTERS, VERSIONS
from theorex_lab.journal.snapshot import drop_snapshots
from theorex_lab.journal.sqlite import erase as erasing
from theorex_lab.journal.sqlite.store import SqliteJournal

if TYPE_CHECKING:
    from postgres_server import PostgresServer
    from shared_logs import SharedLogs

    from theorex_lab.memory.contract import Design

# The gate draws the same examples each time, so that it says yes or no of the change
# alone; runs by hand explore. No
# example has a time limit: on a busy machine that would say something of the machine.
hypothesis.settings.register_profile("gate", derandomize=True, deadline=None)
hypothesis.settings.register_profile("explore", deadline=None)
hypothesis.settings.load_profile(
    "gate" if os.environ.get("THEOREX_REQUIRE_ALL") else "explore"
)

TESTS = Path(__file__).parent
# Every test reads these modules or starts processes that do. Without compiled modules
# each process compiles them again, which costs more than most tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
FOLDER_IN_MEMORY = Path("/dev/shm")
FEWEST_BYTES_FREE = 4 << 30


def holds_tests(folder: Path) -> bool:
    """Return whether tests may lie in a folder: it has room, and programs run there."""
    if not os.access(folder, os.W_OK):
        return False
    disk = os.statvfs(folder)
    runs_programs = not disk.f_flag & os.ST_NOEXEC
    return runs_programs and disk.f_bavail * disk.f_frsize >= FEWEST_BYTES_FREE


# Thousands of small homes are made and synced. All calls of the system are the same in
# memory; a disk alone makes them wait. Who names a folder has it.
if holds_tests(FOLDER_IN_MEMORY):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(FOLDER_IN_MEMORY))
    # So are those that a property's examples make, and the package while it measures.
    if "TMPDIR" not in os.environ:
        tempfile.tempdir = str(FOLDER_IN_MEMORY)
DAY = 86_400_000_000
NOW = FixedClock.at("2026-03-01T09:00:00Z").now()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Give a lab of an empty home, at NOW."""
    with Lab(tmp_path / "home", clock=FixedClock(NOW)) as opened:
        yield opened


@pytest.fixture(scope="session")
def logs_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> SharedLogs:
    """Give the logs of public sets that a test of this run has read."""
    from shared_logs import SharedLogs

    folder = tmp_path_factory.getbasetemp()
    # The processes of one run have folders beside each other.
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    return SharedLogs(folder / "logs")


@pytest.fixture(scope="module")
def shared_logs(logs_of_this_run: SharedLogs) -> Iterator[None]:
    """Read each log of a public set once a run rather than once a test."""
    from shared_logs import reading_once

    with reading_once(logs_of_this_run):
        yield


@pytest.fixture(scope="module", autouse=True)
def _readers_go_on(request: pytest.FixtureRequest) -> Iterator[None]:
    """A run takes over the process in which the run before it read files.

    Tests of faults, and those of that process itself, start one for each run.
    """
    is_fresh = request.node.get_closest_marker("fresh_readers") is not None
    if is_fresh or request.path.name.startswith("test_faults_"):
        yield
        return
    from spare_readers import shared_readers

    with shared_readers():
        yield


def observation(
    text: str,
    *,
    labels: Sequence[str] = (),
    agent: str = "main",
    at: int = NOW,
    observation_type: str = "discovery",
    source: str = "agent",
    tags: Sequence[str] = (),
    lineage: Sequence[str] = (),
    event_id: str | None = None,
) -> Event:
    """An observation event whose concepts are given rather than extracted."""
    body = {
        "text": text,
        "type": observation_type,
        "source": source,
        "tags": list(tags),
        "concepts": [[concept_id(label), label, label.title(), 1] for label in labels],
        "extractor": 1,
        "sentiment": 0.0,
        "weight": 0.7,
    }
    return new_event(
        "observation", body, agent=agent, at=at, lineage=lineage, event_id=event_id
    )


class Meanings(HashedNgramEmbedder):
    """Vectors without a model, which are taken for those of meanings: kept, and asked
    in a search.
    """

    kind = "semantic"

    def __init__(self, dimensions: int = 256) -> None:
        super().__init__(dimensions)
        self.id = f"meanings-{dimensions}"


class Ended(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ended]


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a repository of ninety commits, for commands to work in.

    Each briefing reads the commits of where it works: here there are thousands.
    """
    from first_day import make_repository

    folder = tmp_path_factory.mktemp("repository") / "shop"
    make_repository(folder, environment={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull})
    return folder


@pytest.fixture
def run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    repository: Path,
) -> Run:
    """Run a command in this process, in a home of its own and a small repository."""
    from theorex_lab.app import cli

    monkeypatch.chdir(repository)
    monkeypatch.setenv("THEOREX_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("THEOREX_AGENT", raising=False)

    def run(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["theorex", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        return Ended(int(ended.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture
def home(tmp_path: Path) -> Callable[..., Path]:
    """Makes the home of the commands, with these settings."""

    def make(**settings: Any) -> Path:
        path = tmp_path / "home"
        path.mkdir()
        (path / "config.json").write_text(json.dumps(settings))
        return path

    return make


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture
def journal(tmp_path: Path, clock: FixedClock) -> Iterator[SqliteJournal]:
    journal = SqliteJournal(tmp_path / "home" / "theorex.db", clock=clock)
    yield journal
    journal.close()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """Give a PostgreSQL server that lives as long as the run."""
    from postgres_server import running_server, server_program

    pytest.importorskip("psycopg", reason="needs the extra `postgres`")
    if server_program("initdb") is None:
        pytest.skip("needs PostgreSQL's initdb, which Debian's postgresql has")
    with running_server() as server:
        yield server


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Give the variables by which notebooks of a file get copies of one kernel."""
    from notebook_outputs import environment
    from warm_kernels import warm_kernels

    home = tmp_path_factory.mktemp("kernels-home")
    folder = tmp_path_factory.mktemp("kernels")
    with warm_kernels(folder, environment(home)) as variables:
        yield variables


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> str:
    """Give the URL of an empty database."""
    return postgres_server.new_database()


def slow_files() -> set[Path]:
    """Return the test files that `-m quick` leaves out."""
    names = (TESTS / "slow_files.txt").read_text(encoding="utf-8").split()
    return {TESTS / name for name in names}


SLOW_FILES = slow_files()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import nothing that `-m quick` leaves out: to collect all takes longer than it.

    It is asked of what is below this folder alone: `pytest_configure` sees to the rest.
    """
    if config.option.markexpr != "quick" or collection_path.is_dir():
        return None
    is_test = collection_path.name.startswith("test_")
    return True if not is_test or collection_path in SLOW_FILES else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Search for no garbage while tests are collected, and none among them later.

    What is imported lives until the end. Each search in a test would look at all of it.
    """
    with collector_paused():
        yield
    gc.freeze()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what belongs to `-m quick`: functions of files that are not listed as slow."""
    if isinstance(item, pytest.Function) and item.path not in SLOW_FILES:
        item.add_marker("quick")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks that this file reads; look for quick tests here alone."""
    everywhere = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if config.option.markexpr == "quick" and everywhere:
        config.args = [str(TESTS)]
    gather_before_forks()
    # Processes get files in the order of items, not first those with many tests: a
    # notebook is one test, and a file of words has hundreds.
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False
    config.addinivalue_line(
        "markers",
        "fresh_readers: each run of this file starts a process to read files, as it"
        " does for a user.",
    )
    config.addinivalue_line(
        "markers",
        "runs_notebook(name): runs every cell of a notebook in JupyterLab, on the data"
        " of this machine, accepts no error and no warning, and compares what it prints"
        " where it reads none of that data.",
    )


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Put slow files first, and leave out runs of notebooks that another test repeats.

    Whatever is left at the end is short, so that no process waits long for another.
    A test in a browser runs a notebook on the data of this machine, and compares what it
    prints where it reads none of $THEOREX_DATA. Tests in tests/docs run and compare all
    others on the packaged data. So nbmake runs, beside these, those that read
    $THEOREX_DATA and that no browser runs.
    """
    in_browser = {
        mark.args[0]
        for item in items
        for mark in item.iter_markers("runs_notebook")
        if has_browser()
    }
    comparisons = {
        item.callspec.params["path"]: item
        for item in items
        if isinstance(item, pytest.Function)
        and item.path.name.startswith("test_outputs_of_")
    }
    repeated = [
        item
        for path, item in comparisons.items()
        if path.name in in_browser and not reads_data(path)
    ]
    repeated += [
        item
        for item in items
        if item.path.suffix == ".ipynb"
        and item.path in comparisons
        and (item.path.name in in_browser or not reads_data(item.path))
    ]
    config.hook.pytest_deselected(items=repeated)
    items[:] = [item for item in items if item not in repeated]
    items.sort(key=lambda item: 0 if is_slow(item.path) else 1)


def is_slow(path: Path) -> bool:
    """Return whether a file is a notebook, or listed as slow."""
    return path.suffix == ".ipynb" or path in SLOW_FILES


def has_browser() -> bool:
    """Return whether tests in a browser run here rather than being skipped."""
    return bool(shutil.which("chromium")) and find_spec("playwright") is not None


def reads_data(notebook: Path) -> bool:
    """Return whether a notebook would read public data that is on this machine.

    Its first cell names the variable, or its code asks for a set.
    """
    first, *cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    asks = re.search(r"\b(?:available|data_folder)\(", "".join(map("".join, code)))
    names = "THEOREX_DATA" in "".join(first["source"])
    return bool(os.environ.get("THEOREX_DATA")) and (names or asks is not None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Iterator[None]:
    """Where data and browser are supplied, a skipped test is a failure: nothing may
    drop out unseen.
    """
    report = yield
    if (
        report.skipped
        and not hasattr(report, "wasxfail")
        and os.environ.get("THEOREX_REQUIRE_ALL")
    ):
        report.outcome = "failed"
        report.longrepr = f"skipped although everything is required: {report.longrepr}"
    return report


@pytest.fixture
def forgets_kinds() -> Iterator[None]:
    """Kinds of events that a test registers are forgotten after it."""
    tables: tuple[dict[Any, Any], ...] = (VERSIONS, UPCASTERS, FIELDS)
    before = [table.copy() for table in tables]
    yield
    for table, known in zip(tables, before, strict=True):
        table.clear()
        table.update(known)


@pytest.fixture(scope="session")
def installed_designs() -> tuple[Design, ...]:
    """Give the designs that are installed: to look for those of others reads the folders
    of all packages.
    """
    return installed()


@pytest.fixture
def every_design_active(
    monkeypatch: pytest.MonkeyPatch, installed_designs: tuple[Design, ...]
) -> None:
    """Every design takes part where the settings name none.

    It is for tests of what designs do, whether or not they do it by default.
    """
    for design in installed_designs:
        monkeypatch.setitem(vars(design), "active_by_default", True)


@pytest.fixture(autouse=True)
def _designs_are_tested_active(request: pytest.FixtureRequest) -> None:
    """Every design takes part in the tests of designs."""
    if "designs" in request.path.relative_to(TESTS).parts:
        request.getfixturevalue("every_design_active")


# A home whose context shows Theorex's own sections, as keyword arguments of its
# settings.
THEOREX_SHOWN: dict[str, Any] = {"activeDesigns": ["theorex"]}
# Graduation as the published description has it: on seven days in a row.
SEVEN_DAYS: dict[str, Any] = {"graduationDays": 7, "graduationWindowDays": 7}
# What makes a home give and graduate as the document on Theorex says: its own context,
# a week of days in a row, no echo.
AS_DOCUMENTED: dict[str, Any] = {
    "active_designs": ["theorex"],
    "graduation_days": 7,
    "graduation_window_days": 7,
    "flash_echo_weight": 0.0,
}


def erase(journal: SqliteJournal, ids: Sequence[str], *, agent: str, at: int) -> None:
    """Erase exactly these events, without those derived from them, and wipe the old
    bytes.
    """
    with journal.writing() as connection:
        erasing._erase(connection, ids, agent=agent, at=at)
    erasing.wipe(journal)


def drop_views(lab: Any) -> None:
    """Let a lab forget every view and its snapshots."""
    whole = lab.views.whole
    for views in (whole, *whole.scopes.values()):
        views._open.clear()
    drop_snapshots(whole.folder)
