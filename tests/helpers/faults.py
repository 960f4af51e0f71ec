"""What the tests of faults share: homes at each step of the life cycle, and children
that die or run out of room.
"""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any

from conftest import AS_DOCUMENTED, DAY, NOW, observation

from theorex_lab import (
    Event,
    FixedClock,
    HashedNgramEmbedder,
    Lab,
    View,
    installed,
    new_event,
)
from theorex_lab.core.light_sqlite import sqlite3 as light_sqlite
from theorex_lab.core.settings import check_settings
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.flash import Flash
from theorex_lab.designs.theorex.stages import SharedWeb, ShortTerm
from theorex_lab.dispatch.tasks import Tasks
from theorex_lab.dispatch.traces import Traces
from theorex_lab.evolution.outcomes import Outcomes
from theorex_lab.memory.contract import item_view
from theorex_lab.memory.evidence import EvidenceView

Step = Callable[[Lab], object]
Opening = Callable[[Path], AbstractContextManager[Lab]]
ITEMS = item_view(installed())
VIEWS: tuple[type[View], ...] = (
    Axon,
    ITEMS,
    Flash,
    ShortTerm,
    SharedWeb,
    Traces,
    EvidenceView,
    Tasks,
    Outcomes,
)
_CHANGING = ("BEGIN", "INSERT", "UPDATE", "COMMIT", "VACUUM", "PRAGMA wal_checkpoint")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_FILE_EVENTS = (
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.link",
    "os.truncate",
)


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder in memory where there is one, since these tests write thousands of
    files.
    """
    memory = Path("/dev/shm")
    usable = memory.is_dir() and os.access(memory, os.W_OK)
    with tempfile.TemporaryDirectory(
        prefix="theorex-faults-", dir=memory if usable else None
    ) as folder:
        yield Path(folder)


def opened(home: Path, *, at: int = NOW, **settings: Any) -> Lab:
    """The home with the clock standing at `at` and the embedder that needs no model."""
    return Lab(
        home,
        clock=FixedClock(at),
        settings=check_settings(settings),
        embedder=HashedNgramEmbedder(),
    )


def documented(home: Path, *, at: int = NOW, **settings: Any) -> Lab:
    """As `opened`, with a context and a graduation as the document on Theorex has them."""
    return opened(home, at=at, **{**AS_DOCUMENTED, **settings})


def tool_event(
    text: str,
    *,
    at: int = NOW,
    agent: str = "main",
    session: str = "s1",
    source: str = "tool",
) -> Event:
    """What the hook appends after a tool call."""
    body = {"tool": "Bash", "input": "", "response": text, "source": source}
    return new_event("tool_used", body, agent=agent, session=session, at=at)


def fill(lab: Lab) -> None:
    """Two agents with observations and links, six flushed days, a seventh that waits,
    and an old context file.
    """
    events = [
        observation("x", labels=["cache", "ttl"]),
        observation("y", labels=["cache", "queue"], agent="sage"),
    ]
    events += [observation("old", labels=["fax", "telex"], at=NOW - 45 * DAY)]
    events += [observation("older", labels=["pager", "modem"], at=NOW - 30 * DAY)]
    events += [
        observation(
            "trace_fix: shorten the TTL", labels=["ttl"], observation_type="trace_fix"
        )
    ]
    lab.journal.append(events)
    lab.save_briefing()
    note = "The gateway keeps its certificate in the vault."
    lab.journal.append([observation(note)])
    for day in range(6, -1, -1):
        text = "the upload worker met a database deadlock"
        lab.journal.append([tool_event(text, at=NOW - day * DAY, session=f"d{day}")])
        if day:
            lab.theorex.flush(f"d{day}")
    lab.journal.append(
        [
            tool_event("ok", session="d0"),
            tool_event("the gateway lost its certificate", session="d0"),
        ]
    )


STEPS: dict[str, Callable[[Lab], object]] = {
    "flush": lambda lab: lab.theorex.flush("d0"),
    "graduate": lambda lab: lab.theorex.graduate(),
    "promote": lambda lab: lab.theorex.promote(),
    "prune": lambda lab: lab.theorex.prune(),
    "scan": lambda lab: lab.theorex.scan(),
    "save_briefing": lambda lab: lab.save_briefing(),
    "snapshot": lambda lab: lab.views.snapshot(lab.views.get(Flash)),
}


def homes_before_each_step(folder: Path) -> dict[str, Path]:
    """A home for each of STEPS, in which the steps before it are done."""
    found = {}
    home = folder / "filled"
    with documented(home) as lab:
        fill(lab)
    for name, step in STEPS.items():
        found[name] = home
        home = shutil.copytree(home, folder / f"after-{name}")
        with documented(home) as lab:
            step(lab)
    found["end"] = home
    return found


def state(home: Path) -> dict[str, Any]:
    """All that a home holds: its events without ids, every view's columns, the context
    file. It must verify.
    """
    with documented(home) as lab:
        report = lab.verify()
        assert report.ok, report.problems
        events = [
            (e.kind, e.agent, e.session, e.at, e.lineage, e.body)
            for e in lab.journal.tail(0)
        ]
        columns = {
            f"{kind.name}.{name}": (array.dtype.str, array.shape, array.tobytes())
            for kind in VIEWS
            for name, array in lab.views.get(kind).columns().items()
            if (kind.name, name)
            != ("items", "documents.item")  # numbers of ids, which chance has drawn
        }
        context = lab.context_file.read_bytes() if lab.context_file.exists() else None
    return {"events": events, **columns, "context": context}


def files(home: Path) -> set[str]:
    """Names of the home's files, without those that SQLite keeps while the journal is
    open.
    """
    found = {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}
    return {name for name in found if not name.endswith(("-wal", "-shm"))}


def forked(run: Callable[[], object]) -> int:
    """Run something in a child process; its exit code, negative where a signal ended
    it.
    """
    child = os.fork()
    if child == 0:
        code = 1
        try:
            run()
            code = 0
        # The child must end here whatever happens: above it stands a copy of the test
        # run.
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def quick_context() -> BaseContext:
    """Return how processes are started that only have to be several.

    They are copies of this one where the system has copies: another process would read
    all modules of a test again, which takes longer than the test.
    """
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    return multiprocessing.get_context(method)


def together(*runs: Callable[[], object]) -> list[int]:
    """Run each in a process of its own, started at one moment; their exit codes."""
    reading, writing = os.pipe()
    children = []
    for run in runs:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.close(writing)
                os.read(reading, 1)  # ends when the parent closes its side
                run()
                code = 0
            except BaseException:
                traceback.print_exc()  # else nobody would learn why it failed
                raise
            finally:
                os._exit(code)
        children.append(child)
    os.close(reading)
    os.close(writing)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def at_once(
    run: Callable[..., object], *arguments: tuple[object, ...]
) -> list[int | None]:
    """Call a function in several processes at once, each with arguments of its own.

    It returns their exit codes.
    """
    context = quick_context()
    processes = [context.Process(target=run, args=each) for each in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return [process.exitcode for process in processes]


class Boundaries:
    """Notes each change that this process is about to make to a home, and kills it at
    the chosen one, from 1 on.

    At another one it may wait for whoever looks at the home meanwhile.
    """

    def __init__(
        self,
        home: Path,
        kill_at: int = 0,
        *,
        wait_at: int = 0,
        wait: Callable[[], None] | None = None,
    ) -> None:
        self.home = str(home)
        self.kill_at = kill_at
        self.wait_at = wait_at
        self.wait = wait
        self.passed: list[str] = []
        self._fsync = os.fsync
        self._connect = sqlite3.connect

    def install(self) -> None:
        """For the rest of this process's life; to be used in a child."""
        sys.addaudithook(self._audited)
        os.fsync = self._synced
        sqlite3.connect = self._connected
        light_sqlite.connect = self._connected  # the journal's

    def reach(self, name: str) -> None:
        """One boundary; the process ends here when it is the chosen one."""
        self.passed.append(name)
        if self.wait is not None and len(self.passed) == self.wait_at:
            self.wait()
        if len(self.passed) == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def _audited(self, event: str, arguments: Sequence[Any]) -> None:
        # A module that is imported for the first time is written down, but only once.
        if event in _FILE_EVENTS and "__pycache__" not in str(arguments[0]):
            self.reach(f"{event} {Path(str(arguments[0])).name}")
        elif (
            event == "open"
            and str(arguments[0]).startswith(self.home)
            and arguments[2] & _WRITING
        ):
            self.reach(f"open {Path(str(arguments[0])).name}")

    def _connected(self, *arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = self._connect(*arguments, **options)
        connection.set_trace_callback(self._traced)
        return connection

    def _traced(self, statement: str) -> None:
        if statement.startswith(_CHANGING):
            self.reach(statement.split("(")[0])

    def _synced(self, handle: int) -> None:
        self.reach("fsync")
        self._fsync(handle)


def boundaries(
    template: Path, folder: Path, step: Step, *, opening: Opening = documented
) -> list[str]:
    """Names of the boundaries that a step passes, the last one being its end, found by
    doing it once in a child.
    """
    home = shutil.copytree(template, folder / "counted")
    noted = folder / "boundaries.json"

    def run() -> None:
        seen = Boundaries(home)
        seen.install()
        with opening(home) as lab:
            step(lab)
            seen.reach("end")
            noted.write_text(json.dumps(seen.passed))

    assert forked(run) == 0
    shutil.rmtree(home)
    return list(json.loads(noted.read_text()))


def killed_at(number: int, template: Path, folder: Path, step: Step) -> Path:
    """A copy of the template in which the step was killed at its boundary of this
    number, from 1 on.
    """
    home = shutil.copytree(template, folder / f"killed-{number}")

    def run() -> None:
        seen = Boundaries(home, number)
        seen.install()
        with documented(home) as lab:
            step(lab)
            seen.reach("end")

    assert forked(run) == -signal.SIGKILL
    return home


def holding(home: Path, *texts: str) -> list[str]:
    """Names of the home's files that hold one of these texts, in whatever case, in
    UTF-8 or UTF-16, also compressed.
    """
    needles = [
        text.lower().encode(coding)
        for text in texts
        for coding in ("utf-8", "utf-16-le")
    ]
    found = []
    for path in sorted(path for path in home.rglob("*") if path.is_file()):
        content = path.read_bytes()
        content += gzip.decompress(content) if content.startswith(b"\x1f\x8b") else b""
        if any(needle in content.lower() for needle in needles):
            found.append(str(path.relative_to(home)))
    return found


def checkpoint(home: Path) -> None:
    """Empty the write-ahead log, as the last process to close a journal does."""
    connection = sqlite3.connect(home / "theorex.db")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
