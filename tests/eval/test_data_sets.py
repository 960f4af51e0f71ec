"""What the data sets' list says, and what a download does: no network is used."""

from __future__ import annotations

import hashlib
import socket
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Run
from data_page import MARK, PAGE, cards
from test_datasets import (
    MEMBERS,
    Server,
    cache,  # noqa: F401 - a fixture
    own,  # noqa: F401 - a fixture
    server,  # noqa: F401 - a fixture
)

from theorex_lab import InvalidInput, StorageError
from theorex_lab.eval import available, get_data, list_data
from theorex_lab.eval.datasets import data_sets
from theorex_lab.eval.datasets.dataset_table import DATASETS, PACKAGED, DatasetInfo

RUNS = f"/owner/repo/{'c' * 40}/data/runs"
PLAIN = f"/owner/repo/{'c' * 40}/data/A%26B/plain%20text.txt"


@pytest.fixture
def fake(
    server: Server,  # noqa: F811
    cache: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> DatasetInfo:
    """One made-up set in place of the public ones, served on this machine."""
    info = replace(server.info, about="a made-up set", size_bytes=1_500)
    monkeypatch.setattr(data_sets, "DATASETS", {"fake": info})
    return info


def asked_addresses(server: Server) -> list[str]:  # noqa: F811
    """Return what was asked for since the last call."""
    asked = [*server.asked]
    server.asked.clear()
    return asked


def test_the_list_has_every_packaged_and_public_set(cache: Path) -> None:  # noqa: F811
    rows = list_data()
    assert [row.name for row in rows] == [*PACKAGED, *DATASETS]
    places = {row.name: row.place for row in rows}
    assert {places[name] for name in PACKAGED} == {"packaged"}
    assert {places[name] for name in DATASETS} == {"not here"}
    assert not cache.exists()
    commands = {row.name: row.command for row in rows}
    assert commands["locomo"] == "theorex data get locomo"
    assert commands["fact_updates"] == ""
    assert {row.name for row in rows if row.research_only} == {"locomo", "stsb", "sick"}


def test_every_packaged_set_has_its_file() -> None:
    for row in list_data():
        if row.place == "packaged":
            (file,) = get_data(row.name).files
            assert (file.state, file.bytes) == ("there", row.bytes)
            assert Path(file.path).is_file()


def test_a_set_is_available_once_it_was_downloaded(fake: DatasetInfo) -> None:
    assert not available(fake.name)
    assert [file.state for file in get_data(fake.name).files] == ["downloaded"] * 2
    assert available(fake.name)
    assert list_data()[-1].place == "cache"
    assert list_data()[-1].command == ""


def test_a_second_download_asks_for_nothing(
    fake: DatasetInfo,
    server: Server,  # noqa: F811
) -> None:
    get_data(fake.name)
    assert len(asked_addresses(server)) == 3
    again = get_data(fake.name)
    assert [file.state for file in again.files] == ["there", "there"]
    assert asked_addresses(server) == []


def test_a_set_in_the_users_folder_is_available_and_named_so(
    fake: DatasetInfo,
    own: Path,  # noqa: F811
    server: Server,  # noqa: F811
) -> None:
    assert available(fake.name)
    assert list_data()[-1].place == "$THEOREX_DATA"
    assert data_sets.data_set_folder(fake.name) == own
    assert server.asked == []


def test_a_damaged_file_in_the_cache_is_not_available_and_is_renewed(
    fake: DatasetInfo,
    cache: Path,  # noqa: F811
) -> None:
    get_data(fake.name)
    (cache / "fake" / "plain.txt").write_bytes(b"damaged")
    assert not available(fake.name)
    states = [file.state for file in get_data(fake.name).files]
    assert states == ["downloaded", "there"]
    assert available(fake.name)


def test_a_download_that_broke_off_goes_on_where_it_stopped(
    fake: DatasetInfo,
    server: Server,  # noqa: F811
    cache: Path,  # noqa: F811
) -> None:
    first, second = MEMBERS
    server.serve(f"{RUNS}/{second}", b"", status=503)
    with pytest.raises(StorageError, match=f"{second}.*503"):
        get_data(fake.name)
    assert asked_addresses(server) == [PLAIN, f"{RUNS}/{first}", f"{RUNS}/{second}"]
    server.serve(f"{RUNS}/{second}", MEMBERS[second])
    get_data(fake.name)
    assert asked_addresses(server) == [f"{RUNS}/{second}"]
    names = sorted(path.name for path in (cache / "fake").iterdir())
    assert names == ["packed.tar", "plain.txt"]


def test_wrong_bytes_name_the_address_and_both_sums_and_are_not_kept(
    fake: DatasetInfo,
    server: Server,  # noqa: F811
    cache: Path,  # noqa: F811
) -> None:
    server.serve(PLAIN, b"another text")
    with pytest.raises(InvalidInput) as caught:
        get_data(fake.name)
    message = str(caught.value)
    assert server.url + PLAIN in message
    assert fake.files[0].sha256 in message
    assert hashlib.sha256(b"another text").hexdigest() in message
    assert [path for path in cache.rglob("*") if path.is_file()] == []


def test_the_bar_counts_every_address(
    fake: DatasetInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    totals = []
    steps = []

    class Bar:
        def update(self, n_units: int) -> None:
            steps.append(n_units)

        def close(self) -> None:
            steps.append("closed")

    def watched(total: int, **_: object) -> Bar:
        totals.append(total)
        return Bar()

    monkeypatch.setattr(data_sets, "bar", watched)
    get_data(fake.name)
    assert totals == [3]
    assert steps == [1, 1, 1, "closed"]


def test_the_licence_comes_back_instead_of_as_a_warning(
    fake: DatasetInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    restricted = replace(fake, licence="CC BY-NC 4.0 (non-commercial)")
    monkeypatch.setattr(data_sets, "DATASETS", {"fake": restricted})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data_set = get_data("fake")
    assert data_set.research_only
    assert data_set.licence == restricted.licence


def test_an_unknown_name_is_answered_with_the_names_and_the_command() -> None:
    with pytest.raises(InvalidInput, match=r"'nope'.*locomo.*`theorex data list`"):
        available("nope")
    with pytest.raises(InvalidInput, match="'nope'"):
        get_data("nope")


def test_the_folder_of_a_set_that_is_not_here_is_answered_with_the_command(
    fake: DatasetInfo,
) -> None:
    with pytest.raises(StorageError, match=f"theorex data get {fake.name}"):
        data_sets.data_set_folder(fake.name)


def test_the_commands_show_what_is_here_and_what_was_downloaded(
    run: Run, fake: DatasetInfo
) -> None:
    before = run("data", "list").out
    assert "not here" in before
    assert "`theorex data get NAME` downloads" in before
    first = run("data", "get", fake.name)
    assert (first.code, first.out.count("downloaded: ")) == (0, 2)
    assert f"from github.com/{fake.repository} at {fake.commit[:12]}" in first.out
    second = run("data", "get", fake.name)
    assert (second.code, second.out.count("was here already: ")) == (0, 2)
    assert "not here" not in run("data", "list").out


def test_the_command_fails_with_the_address_and_what_to_do_without_a_network(
    run: Run, fake: DatasetInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:  # bound but not listening: connections are refused
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        offline = replace(fake, base_url=address)
        monkeypatch.setattr(data_sets, "DATASETS", {"fake": offline})
        ended = run("data", "get", "fake")
    assert ended.code == 1
    for words in (address + PLAIN, "is there a network?", "THEOREX_DATA"):
        assert words in ended.err


def test_a_set_without_an_address_says_so(run: Run, cache: Path) -> None:  # noqa: F811
    ended = run("data", "get", "fact_updates")
    assert ended.code == 1
    assert "no public address" in ended.err
    shown = run("data", "list").out
    assert "MIT; made by a program, all names invented; has no public address" in shown


def test_the_page_has_the_cards_that_the_tables_tell() -> None:
    _, _, written = PAGE.read_text(encoding="utf-8").partition(MARK)
    assert written.strip() == cards().strip(), "run tests/helpers/data_page.py"
