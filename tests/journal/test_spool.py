"""Events wait in the spool of a machine and arrive in the shared journal, each once."""

from __future__ import annotations

import itertools
import random
import shutil
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
import writing_processes
from conftest import NOW, observation
from faults import quick_context
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from postgres_server import PostgresServer, running_server, server_program
from shared_file import SharedFile, spooled
from writing_processes import acknowledged_ids, write_to_spool

from theorex_lab import Event, FixedClock, StorageError, new_event
from theorex_lab.journal import spool as spooling
from theorex_lab.journal.erasing import EraseSelection
from theorex_lab.journal.opened import open_home_journal
from theorex_lab.journal.shared_postgres import connected_to
from theorex_lab.journal.spool import SharedJournal, SpooledJournal
from theorex_lab.journal.sqlite.erase import erase_chosen
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.journal.view import differing_columns, fold_into
from theorex_lab.memory.annotations import Marks
from theorex_lab.memory.projects import Projects

CLOCK = FixedClock(NOW)
SENT_BY_EACH = 1_000


class Team:
    """Two machines and what they share.

    Attributes:
        shared: The shared journal, without a spool.
        connections: How often a machine has connected.
        is_away: Whether the server is away.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shared = SharedFile(folder / "shared.db", CLOCK)
        self.connections = 0
        self.is_away = False

    def connect(self) -> SharedJournal:
        if self.is_away:
            raise StorageError("the server is away")
        self.connections += 1
        return SharedFile(self.folder / "shared.db", CLOCK)

    def machine(self, name: str) -> SpooledJournal:
        home = self.folder / name
        home.mkdir(exist_ok=True)
        return SpooledJournal(
            SqliteJournal(home / "theorex.db", clock=CLOCK), self.connect
        )

    def ids(self) -> list[str]:
        return [event.id for event in self.shared.journal.tail(0)]


class TeamOnPostgres(Team):
    """The same with a PostgreSQL server."""

    def __init__(self, folder: Path, url: str) -> None:
        self.url = url
        self.folder = folder
        self.connections = 0
        self.is_away = False
        self.shared = connected_to(url, folder, clock=CLOCK)  # type: ignore[assignment]

    def connect(self) -> SharedJournal:
        self.connections += 1
        return connected_to(self.url, self.folder / "server", clock=CLOCK)


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    made = Team(tmp_path)
    yield made
    made.shared.journal.close()


def said(number: int, project: str = "") -> Event:
    event = observation(f"text {number}")
    return event._replace(body={**event.body, "project": project})


def test_what_is_captured_asks_no_server(team: Team) -> None:
    machine = team.machine("a")
    machine.append([said(1)])
    assert team.connections == 0
    assert machine.n_waiting() == 1


def test_whoever_reads_finds_what_was_captured_here_before(team: Team) -> None:
    machine = team.machine("a")
    event = said(1)
    machine.append([event])
    assert [each.id for each in machine.tail(0)] == [event.id]
    assert machine.n_waiting() == 0
    assert team.ids() == [event.id]


def test_what_is_decided_goes_to_the_shared_journal_at_once(team: Team) -> None:
    machine = team.machine("a")
    machine.append([said(1)])
    fact = new_event("dismissed", {"item": "x", "undo": False}, agent="main", at=NOW)
    assert machine.append([fact]) == [2]
    assert machine.local.last_seq() == 1
    with machine.exclusive() as append:
        assert machine.last_seq() == 2
        machine.append([said(2)])
        append(fact._replace(id="another"))
        assert machine.last_seq() == 3
    assert machine.last_seq() == 4


def test_a_server_that_is_away_stops_reading_and_says_what_waits(team: Team) -> None:
    team.is_away = True
    machine = team.machine("a")
    machine.append([said(1), said(2)])
    with pytest.raises(StorageError, match="2 events wait in") as caught:
        machine.last_seq()
    assert "the server is away" in str(caught.value)
    assert "theorex sync" in str(caught.value)
    team.is_away = False
    assert machine.last_seq() == 2


@pytest.mark.parametrize("step", ["append_rows", "write_mark"])
def test_a_forwarding_that_was_killed_is_repeated_and_nothing_arrives_twice(
    team: Team, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    monkeypatch.setattr(spooling, "_BATCH_ROWS", 3)
    machine = team.machine("a")
    events = [said(number) for number in range(10)]
    machine.append(events)
    where = SharedFile if step == "append_rows" else spooling
    done = getattr(where, step)
    calls = 0

    def killed_at_times(*arguments: object) -> object:
        nonlocal calls
        calls += 1
        result = done(*arguments)
        if calls % 2:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(where, step, killed_at_times)
    n_killed = 0
    while machine.n_waiting():
        try:
            machine.forward()
        except KeyboardInterrupt:
            n_killed += 1
    assert n_killed >= 2
    assert team.ids() == [event.id for event in events]


def test_a_damaged_mark_only_sends_again(team: Team) -> None:
    machine = team.machine("a")
    machine.append([said(1)])
    machine.forward()
    (team.folder / "a" / spooling.SENT_FILE).write_text("{", encoding="utf-8")
    again = team.machine("a")
    assert again.forward() == 0
    assert len(team.ids()) == 1


def test_what_a_restored_server_lost_is_sent_again_from_every_spool(
    team: Team,
) -> None:
    first, second = team.machine("a"), team.machine("b")
    secret = said(9)
    first.append([said(1), secret])
    first.forward()
    first.close()
    team.shared.journal.close()
    copy = team.folder / "copy.db"
    shutil.copy(team.folder / "shared.db", copy)
    first.append([said(2)])
    second.append([said(3)])
    first.forward()
    second.forward()
    assert len(team.ids()) == 4
    chosen = EraseSelection(ids=[secret.id])
    first.connected.erase(chosen, agent="main", at=NOW)
    first.note_pulled(first.pull())
    for machine in (first, second):
        machine.close()
    team.shared.journal.close()
    for file in team.folder.glob("shared.db*"):
        file.unlink()
    for file in team.folder.glob("theorex.db-last"):
        file.unlink()
    shutil.copy(copy, team.folder / "shared.db")
    team.shared = SharedFile(team.folder / "shared.db", CLOCK)
    assert len(team.ids()) == 2
    assert team.machine("a").forward() == 1
    assert team.machine("b").forward() == 1
    texts = [
        event.body["text"]
        for event in team.shared.journal.tail(0, kinds=["observation"])
    ]
    assert texts == ["text 1", "text 2", "text 3"], "and what was erased is so again"


def test_what_was_erased_in_the_spool_is_erased_in_the_shared_journal(
    team: Team,
) -> None:
    machine = team.machine("a")
    sent, waiting = said(1), said(2)
    machine.append([sent])
    machine.forward()
    machine.append([waiting])
    chosen = EraseSelection(ids=[sent.id, waiting.id])
    erase_chosen(machine.local, chosen, agent="main", at=NOW)
    machine.forward()
    journal = team.shared.journal
    (erased,) = journal.read(ids=[sent.id, waiting.id], erased=True)
    assert (erased.id, erased.erased) == (sent.id, True)
    assert [event.body["ids"] for event in journal.tail(0)] == [[sent.id]]
    assert b"text 1" not in (team.folder / "shared.db").read_bytes()


def test_an_erasure_reaches_what_another_machine_derived(team: Team) -> None:
    first, second = team.machine("a"), team.machine("b")
    source = said(1)
    derived = said(2)._replace(lineage=(source.id,))
    unsent = said(3)._replace(lineage=(derived.id,))
    other = said(4)
    first.append([source])
    first.forward()
    second.append([derived])
    second.forward()
    second.append([unsent, other])
    chosen = EraseSelection(ids=[source.id])
    erased = first.connected.erase(chosen, agent="main", at=NOW)
    assert erased.ids == [source.id, derived.id]
    pulled = second.pull()
    second.note_pulled(pulled)
    assert pulled.erased_ids == {source.id, derived.id}
    assert [event.id for event in second.local.tail(0, kinds=["observation"])] == [
        other.id
    ]
    second.forward()
    left = team.shared.journal.tail(0, kinds=["observation"])
    assert [event.id for event in left] == [other.id]


def test_what_was_derived_and_sent_before_the_erasure_came_is_erased_there(
    team: Team,
) -> None:
    first, second = team.machine("a"), team.machine("b")
    source = said(1)
    first.append([source])
    first.forward()
    chosen = EraseSelection(ids=[source.id])
    first.connected.erase(chosen, agent="main", at=NOW)
    second.append([said(2)._replace(lineage=(source.id,))])
    second.forward()
    second.note_pulled(second.pull())
    second.forward()
    assert [*team.shared.journal.tail(0, kinds=["observation"])] == []


def test_a_lease_of_one_home_is_no_lease_of_all(team: Team) -> None:
    machine = team.machine("a")
    body = {"owner": "x", "expires_at": NOW, "released": False}
    machine.local.append([new_event("lease", body, agent="system", at=NOW)])
    machine.forward()
    assert team.ids() == []


STEPS = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from(["write", "mark", "sync"])),
    max_size=14,
)


@settings(
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=STEPS)
def test_any_order_of_writes_and_syncs_folds_to_the_same_columns(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
) -> None:
    _check_order(Team(tmp_path_factory.mktemp("team")), steps)


@settings(
    max_examples=10,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=STEPS)
def test_any_order_folds_to_the_same_columns_on_postgresql(
    tmp_path_factory: pytest.TempPathFactory,
    postgres_server: PostgresServer,
    steps: list[tuple[str, str]],
) -> None:
    url = postgres_server.new_database()
    _check_order(TeamOnPostgres(tmp_path_factory.mktemp("team"), url), steps)


def _check_order(team: Team, steps: list[tuple[str, str]]) -> None:
    """Take the steps, and compare views of each machine with those of a file."""
    machines = {name: team.machine(name) for name in "ab"}
    written: list[str] = []
    for number, (name, step) in enumerate(steps):
        machine = machines[name]
        if step == "write":
            event = said(number, project=f"p-{number % 3}")
            machine.append([event])
            written.append(event.id)
        elif step == "mark" and written:
            body = {"item": written[-1], "undo": False}
            machine.append([new_event("dismissed", body, agent="main", at=NOW)])
        else:
            machine.forward()
    for machine in machines.values():
        machine.forward()
    ids = team.ids()
    assert sorted(each for each in ids if each in written) == sorted(written)
    assert len(set(ids)) == len(ids) == team.shared.journal.last_seq()
    alone = SqliteJournal(team.folder / "alone" / "theorex.db", clock=CLOCK)
    alone.append([*team.shared.journal.tail(0)])
    for kind in (Projects, Marks):
        expected = kind()
        fold_into(expected, alone, alone.last_seq())
        for machine in machines.values():
            view = kind()
            fold_into(view, machine, machine.last_seq())
            assert differing_columns(view, expected) == []
    for machine in machines.values():
        machine.close()
    team.shared.journal.close()


def test_eight_processes_through_two_spools_arrive_gapless_and_once(
    team: Team,
) -> None:
    n_each = 1_000
    read: list[Event] = []
    is_over = threading.Event()

    def follow() -> None:
        reader = SharedFile(team.folder / "shared.db")
        while True:
            ended = is_over.is_set()
            after = read[-1].seq if read else 0
            read.extend(reader.journal.tail(after))
            if ended:
                break
            is_over.wait(0.01)
        reader.journal.close()

    follower = threading.Thread(target=follow)
    follower.start()
    context = writing_processes.context()
    processes = []
    for number in range(8):
        home = "ab"[number % 2]
        (team.folder / home).mkdir(exist_ok=True)
        arguments = (team.folder, home, str(number), n_each)
        process = context.Process(target=write_to_spool, args=arguments)
        process.start()
        processes.append(process)
    acknowledged: list[str] = []
    for number, process in enumerate(processes):
        process.join()
        acknowledged += acknowledged_ids(team.folder, str(number))
        assert process.exitcode == 0
    for name in "ab":
        team.machine(name).forward()
    is_over.set()
    follower.join()
    assert len(acknowledged) == 8 * n_each
    assert [event.seq for event in read] == [*range(1, 8 * n_each + 1)]
    assert sorted(event.id for event in read) == sorted(acknowledged)


def _send(home: Path, url: str, writer: int, acknowledging: Connection) -> None:
    """Append events, and send the id of each that the journal acknowledged."""
    journal = open_home_journal(home, url=url)
    assert isinstance(journal, SpooledJournal)
    for number in range(SENT_BY_EACH):
        event = observation(f"{writer} {number}", at=number)
        journal.append([event])
        acknowledging.send(event.id)
        if number % 20 == 10:
            try:
                journal.forward()
            except StorageError:
                journal.close()


def _received(acknowledged: Connection) -> Iterator[str]:
    """Yield what a process sends until it ends."""
    while True:
        try:
            yield acknowledged.recv()
        except EOFError:
            return


@pytest.mark.parametrize("stops", [False, True], ids=["running", "stopped"])
def test_eight_processes_reach_a_postgresql_server_once_each(
    tmp_path: Path, stops: bool
) -> None:
    """Also one that is stopped at once while they send, and started again."""
    pytest.importorskip("psycopg", reason="needs the extra `postgres`")
    if server_program("initdb") is None:
        pytest.skip("needs PostgreSQL's initdb, which Debian's postgresql has")
    context = quick_context()
    with running_server() as server:
        url = server.new_database()
        senders = []
        for number in range(8):
            home = tmp_path / "ab"[number % 2]
            home.mkdir(exist_ok=True)
            receiving, sending = context.Pipe(duplex=False)
            arguments = (home, url, number, sending)
            process = context.Process(target=_send, args=arguments)
            process.start()
            sending.close()
            senders.append((process, _received(receiving)))
        acknowledged: list[str] = []
        if stops:
            _, first = senders[0]
            acknowledged += itertools.islice(first, 200)
            server.stop("immediate")
            acknowledged += itertools.islice(first, 100)
            server.start()
        for process, ids in senders:
            acknowledged += ids
            process.join()
            assert process.exitcode == 0
        for name in "ab":
            journal = open_home_journal(tmp_path / name, url=url)
            assert isinstance(journal, SpooledJournal)
            journal.forward()
            assert journal.n_waiting() == 0
            events = [*journal.tail(0)]
            journal.close()
    assert len(acknowledged) == 8 * SENT_BY_EACH
    assert [event.seq for event in events] == [*range(1, 8 * SENT_BY_EACH + 1)]
    assert sorted(event.id for event in events) == sorted(acknowledged)


def test_a_journal_of_its_own_is_the_journal_of_its_machine(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "theorex.db", clock=CLOCK)
    assert journal.local is journal
    machine = spooled(tmp_path, tmp_path / "shared.db", CLOCK)
    assert machine.local is not machine


def test_what_postgresql_cannot_keep_stops_nothing_else(
    tmp_path: Path, postgres_url: str
) -> None:
    team = TeamOnPostgres(tmp_path, postgres_url)
    machine = team.machine("till")
    digits = random.Random(0).getrandbits(36_000)
    long_id = f"{digits:x}"
    machine.append([said(0), said(1)._replace(id=long_id), said(2), said(3)])
    machine.append([said(4)._replace(id="a\0b")])

    assert machine.forward() == 3
    assert [event.body["text"] for event in machine.tail(0)] == [
        "text 0",
        "text 2",
        "text 3",
    ]
    assert set(machine.refused()) == {long_id, "a\0b"}
    assert all("PostgreSQL keeps no such" in why for why in machine.refused().values())
    machine.append([said(5)])
    assert machine.forward() == 1
    machine.close()
    team.shared.journal.close()
