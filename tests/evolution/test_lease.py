"""The lease: one holder at a time, also of several processes; what was killed is taken
over at once on its machine, and on others after its expiry.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import NOW
from faults import documented, forked, opened, quick_folder
from test_maintenance import fill

from theorex_lab import FixedClock, Lab, new_event
from theorex_lab.core.errors import ServerAway
from theorex_lab.core.ids import derived_event_id
from theorex_lab.evolution.lease import Lease, LeaseLost, lease_holder, leased

SECOND = 1_000_000
LENGTH = 600 * SECOND
needs_fork = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="needs processes that are forked"
)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with opened(tmp_path / "home") as made:
        yield made


def _clock(lab: Lab) -> FixedClock:
    assert isinstance(lab.clock, FixedClock)
    return lab.clock


def _kinds(lab: Lab, after: int = 0) -> list[str]:
    return [event.kind for event in lab.journal.tail(after)]


def test_of_two_one_holds_it_until_it_is_given_back(lab: Lab) -> None:
    one = Lease(lab.home, "nightly")
    other = Lease(lab.home, "heartbeat")
    assert (one.take(), other.take()) == (True, False)
    assert other.holder == lease_holder(lab.home) == (one.owner, NOW + LENGTH)
    assert len(_kinds(lab)) == 1, "who is refused appends nothing"
    one.release()
    one.release()
    assert lease_holder(lab.home) is None
    assert other.take()
    assert len(_kinds(lab)) == 3


def test_a_lease_that_has_expired_is_taken_over_and_its_owner_stops(lab: Lab) -> None:
    one = Lease(lab.home, "nightly")
    other = Lease(lab.home, "heartbeat")
    assert one.take()
    _clock(lab).advance(seconds=599)
    assert not other.take()
    _clock(lab).advance(seconds=1)
    assert other.take()
    seq = lab.journal.last_seq()
    for act in (
        one.renew,
        lambda: one.append([new_event("lost", {}, agent="main", at=NOW)]),
    ):
        with pytest.raises(
            LeaseLost, match=f"held by {other.owner} until .*appends nothing more"
        ):
            act()
    one.release()
    assert lab.journal.last_seq() == seq
    assert other.held


def test_a_lease_that_is_renewed_does_not_expire(lab: Lab) -> None:
    one = Lease(lab.home, "nightly")
    other = Lease(lab.home, "heartbeat")
    assert one.take()
    for _ in range(20):
        _clock(lab).advance(seconds=300)
        one.renew()
        assert not other.take()
    seq = lab.journal.last_seq()
    one.renew()
    assert lab.journal.last_seq() == seq, "one that has just begun is not renewed"


def test_a_long_step_keeps_the_lease_from_a_thread(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as lab:
        lab.settings = lab.settings.replaced(
            lease_seconds=0.03
        )  # no user may set it so short
        with leased(lab.home, "nightly") as lease:
            for _ in range(200):
                _clock(lab).advance(seconds=0.02)
                if len(_kinds(lab)) > 2:
                    break
                signal.sigtimedwait([], 0.01)
            assert len(_kinds(lab)) > 2
        assert lease.holder is None
        assert lease_holder(lab.home) is None


def test_a_clock_that_was_set_back_keeps_nobody_out_for_long(lab: Lab) -> None:
    """What was taken ten hours ahead would hold for ten hours; it is over once it would
    last twice its length from now.
    """
    assert Lease(lab.home, "nightly").take()
    other = Lease(lab.home, "heartbeat")
    _clock(lab).advance(seconds=-600)
    assert not other.take(), "as long as the clock may have been set right by a little"
    _clock(lab).advance(seconds=-1)
    assert other.take()


def test_erased_or_unknown_leases_hold_nobody(lab: Lab) -> None:
    assert Lease(lab.home, "nightly").take()
    lab.erase(ids=[derived_event_id("lease", 1)])
    assert lease_holder(lab.home) is None
    assert Lease(lab.home, "nightly").take()
    assert lab.verify().ok


def test_the_newest_lease_is_found_among_many(lab: Lab) -> None:
    for number in range(1, 70):
        assert lease_holder(lab.home) is None
        lease = Lease(lab.home, f"n{number}")
        assert lease.take()
        holder = lease_holder(lab.home)
        assert holder is not None
        assert holder.what == f"n{number}"
        lease.release()
    events = list(lab.journal.tail(0, kinds=["lease"]))
    assert [event.id for event in events] == [
        derived_event_id("lease", number) for number in range(1, 139)
    ]


@needs_fork
def test_of_processes_that_ask_at_once_one_gets_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    opened(home).close()
    answers, answering = os.pipe()
    waiting, ending = os.pipe()
    children = []
    for _ in range(6):
        child = os.fork()
        if child == 0:
            try:
                os.close(ending)
                with opened(home) as lab:
                    is_taken = Lease(lab.home, "nightly").take()
                os.write(answering, b"+" if is_taken else b"-")
                os.read(waiting, 1)  # all of them live until each has asked
            finally:
                os._exit(0)
        children.append(child)
    os.close(answering)
    answered = b""
    while len(answered) < len(children) and (part := os.read(answers, 1)):
        answered += part
    os.close(ending)
    for child in children:
        os.waitpid(child, 0)
    for descriptor in (answers, waiting):
        os.close(descriptor)
    assert sorted(answered) == sorted(b"+-----")


def kill_a_maintenance(home: Path) -> None:
    """Let a process of its own be killed while it holds the lease of a home."""

    def killed() -> None:
        with documented(home) as lab, leased(lab.home, "nightly"):
            os.kill(os.getpid(), signal.SIGKILL)

    assert forked(killed) == -signal.SIGKILL


@needs_fork
def test_on_its_own_machine_the_maintenance_that_was_killed_keeps_nobody_out(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    with documented(home) as lab:
        fill(lab)
    kill_a_maintenance(home)
    with documented(home) as lab:
        report = lab.maintain(reviewer="heuristic")
        assert (report.ran, report.ok) == (True, True)
    assert [*(home / "leases").iterdir()] == []


@needs_fork
def test_the_maintenance_that_was_killed_elsewhere_keeps_others_out_until_its_expiry(
    tmp_path: Path,
) -> None:
    """A copy of the home, with its files, is as one on another machine."""
    original = tmp_path / "original"
    with documented(original) as lab:
        fill(lab)
    kill_a_maintenance(original)
    home = tmp_path / "home"
    shutil.copytree(original, home)
    with documented(home) as lab:
        report = lab.maintain(reviewer="heuristic")
        assert (report.ran, report.steps) == (False, [])
        assert report.holder is not None
        assert (report.holder.what, report.holder.expires_at) == (
            "maintenance",
            NOW + LENGTH,
        )
    with documented(home, at=NOW + LENGTH) as lab:
        report = lab.maintain(reviewer="heuristic")
        assert (report.ran, report.ok) == (True, True)


@needs_fork
def test_a_lease_that_a_living_process_holds_is_not_taken_over(lab: Lab) -> None:
    holding = Lease(lab.home, "nightly")
    assert holding.take()
    folder = lab.home.folder

    def ask() -> None:
        with opened(folder) as other:
            assert not Lease(other.home, "nightly").take()

    assert forked(ask) == 0
    assert len([*(folder / "leases").iterdir()]) == 1


def test_a_lease_that_could_not_be_given_back_is_free_on_its_machine(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it is after a maintenance that lost its server."""
    first = Lease(lab.home, "nightly")
    assert first.take()
    with monkeypatch.context() as patch:
        patch.setattr(type(lab.journal), "exclusive", _refuse)
        with pytest.raises(ServerAway):
            first.release()
    second = Lease(lab.home, "nightly")
    assert second.take()
    with pytest.raises(LeaseLost):
        first.renew()


def _refuse(_journal: object) -> object:
    raise ServerAway("the server cannot be reached")


def test_the_maintenance_that_lost_its_lease_stops_and_appends_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from theorex_lab.evolution import maintenance

    def overtaken(home: object) -> list[object]:
        _clock(lab).advance(seconds=600)
        assert Lease(lab.home, "heartbeat").take()
        seqs.append(lab.journal.last_seq())
        return []

    seqs: list[int] = []
    with documented(tmp_path / "home") as lab:
        fill(lab)
        monkeypatch.setattr(maintenance, "gate", overtaken)
        with pytest.raises(
            LeaseLost, match="maintenance/.* has lost the lease .*held by heartbeat/"
        ):
            lab.maintain(reviewer="heuristic")
        assert lab.journal.last_seq() == seqs[0]
