"""Say which data sets there are, which are at hand, and download one.

`theorex data list` and `theorex data get NAME` say and do the same in a shell.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from theorex_lab.core.errors import InvalidInput, StorageError
from theorex_lab.core.progress import bar
from theorex_lab.eval.datasets import dataset_files
from theorex_lab.eval.datasets.dataset_files import (
    LicenceNotice,
    is_at_hand,
    read_data_file,
)
from theorex_lab.eval.datasets.dataset_table import (
    DATASETS,
    PACKAGED,
    PACKAGED_LICENCE,
    DatasetInfo,
)
from theorex_lab.eval.datasets.rebuilt_logs import rebuild_log, rebuilt_file, unread_of
from theorex_lab.eval.datasets.sources import DATA_VARIABLE, data_folder, packaged
from theorex_lab.memory.rows import Rows

IS_PACKAGED = "packaged"
IN_DATA_FOLDER = f"${DATA_VARIABLE}"
IN_CACHE = "cache"
NOT_HERE = "not here"


class DataSetRow(NamedTuple):
    """A data set, and where it is.

    Attributes:
        name: Its name.
        place: Where it is: packaged, $THEOREX_DATA, cache or not here.
        bytes: The size of its files, unpacked.
        about: What it is.
        licence: Its licence in words.
        research_only: Whether the licence does not allow commercial use.
        repository: Where it was published, "-" for nowhere.
        commit: The commit that is read, "-" for none.
        command: The command that downloads it; "" where it is here, or has no public
            address.
    """

    name: str
    place: str
    bytes: int
    about: str
    licence: str
    research_only: bool
    repository: str
    commit: str
    command: str


class DataSets(Rows[DataSetRow]):
    """The packaged and the public data sets, in that order."""

    row_class = DataSetRow


class DataFileState(NamedTuple):
    """A file of a set that was asked for.

    Attributes:
        name: Its name.
        bytes: Its size, unpacked.
        state: `there`, or by this call `downloaded`, or `rebuilt` from transcripts.
        path: Where it is.
        unread: At how many places what it is made of could not be read; its header
            lists them.
    """

    name: str
    bytes: int
    state: str
    path: str
    unread: int = 0


@dataclass(frozen=True)
class DataSetFiles:
    """A set that is at hand, with its files.

    Attributes:
        name: The name of the set.
        licence: Its licence in words.
        research_only: Whether the licence does not allow commercial use.
        repository: Where it was published, "-" for nowhere.
        commit: The commit that was read, "-" for none.
        files: The files.
    """

    name: str
    licence: str
    research_only: bool
    repository: str
    commit: str
    files: tuple[DataFileState, ...]


def list_data() -> DataSets:
    """Return all data sets, and where each is.

    Nothing is downloaded.

    Raises:
        InvalidInput: What THEOREX_DATA names is no folder.
    """
    return DataSets([*_packaged_rows(), *map(_public_row, DATASETS.values())])


def available(name: str) -> bool:
    """Return whether a data set can be read now, without a download.

    A packaged set is always available. A public set is available where each of its
    files is in the folder that THEOREX_DATA names, or in the cache that
    `theorex data get NAME` fills.

    Args:
        name: A data set that `theorex data list` shows.

    Raises:
        InvalidInput: No set has the name, or what THEOREX_DATA names is no folder.

    >>> available("simulated_sessions")
    True
    """
    return _place_of(name) != NOT_HERE


def get_data(name: str, *, progress: bool | None = None) -> DataSetFiles:
    """Return the files of a data set, and download those that are not at hand.

    A download that was broken off goes on where it stopped. Every file is checked.

    Args:
        name: A data set that `theorex data list` shows.
        progress: Show a bar; None in a terminal or notebook.

    Raises:
        InvalidInput: No set has the name, or a file is not the published one.
        StorageError: A file cannot be downloaded or kept, or has no public address.
    """
    if name in PACKAGED:
        return _packaged_files(name)
    info = _public_info(name)
    if info.transcripts is not None and not _has_files(info):
        return _data_set_files(info, [_rebuilt_state(info, progress)])
    states = []
    n_addresses = sum(len(file.members) or 1 for file in info.files)
    progress_bar = bar(n_addresses, unit="file", what=name, progress=progress)
    with closing(progress_bar), warnings.catch_warnings():
        warnings.simplefilter("ignore", LicenceNotice)  # the caller gets the licence
        for file in info.files:
            state = "there" if is_at_hand(info, file) else "downloaded"
            content = read_data_file(info, file, step=lambda: progress_bar.update(1))
            size = len(content.data)
            states.append(DataFileState(file.name, size, state, content.place))
    return _data_set_files(info, states)


def _rebuilt_state(info: DatasetInfo, progress: bool | None) -> DataFileState:
    """Return the file of a log that is rebuilt where it was not yet."""
    state = "rebuilt" if rebuilt_file(info) is None else "there"
    path = rebuild_log(info, progress=progress)
    size = path.stat().st_size
    return DataFileState(path.name, size, state, str(path), unread_of(path))


def _data_set_files(info: DatasetInfo, states: list[DataFileState]) -> DataSetFiles:
    return DataSetFiles(
        info.name,
        info.licence,
        info.research_only,
        info.repository,
        info.commit,
        tuple(states),
    )


def _has_files(info: DatasetInfo) -> bool:
    return all(is_at_hand(info, file) for file in info.files)


def data_set_folder(name: str) -> Path:
    """Return the folder that holds all files of a public data set.

    Nothing is downloaded.

    Args:
        name: A data set that `theorex data list` shows.

    Raises:
        InvalidInput: No public set has the name.
        StorageError: The set is not at hand; the message names the command.
    """
    info = _public_info(name)
    user_folder = data_folder()
    folders = (
        [dataset_files.cache_folder()]
        if user_folder is None
        else [user_folder, dataset_files.cache_folder()]
    )
    for folder in folders:
        files = [folder / name / file.name for file in info.files]
        if all(_is_there(file) for file in files):
            return folder / name
    raise StorageError(
        f"the data set {name} is not on this machine; `theorex data get {name}`"
        f" downloads it, or set {DATA_VARIABLE} to a folder that holds {name}"
    )


def _is_there(file: Path) -> bool:
    return file.is_file() or file.with_name(f"{file.name}.gz").is_file()


def _public_info(name: str) -> DatasetInfo:
    """Return what the table says of a public set.

    Raises:
        InvalidInput: No set has the name.
    """
    if name in DATASETS:
        return DATASETS[name]
    raise InvalidInput(
        f"got the data set {name!r}; allowed are {', '.join(DATASETS)};"
        " `theorex data list` shows them"
    )


def _place_of(name: str) -> str:
    """Return where a set is, as the list says it."""
    if name in PACKAGED:
        return IS_PACKAGED
    info = _public_info(name)
    if not _has_files(info):
        return NOT_HERE if rebuilt_file(info) is None else IN_CACHE
    folder = _first_folder(info)
    return IN_CACHE if folder.parent == dataset_files.cache_folder() else IN_DATA_FOLDER


def _first_folder(info: DatasetInfo) -> Path:
    """Return the user's own folder of a set where it holds any file, else the cache's."""
    user_folder = data_folder()
    if user_folder is not None:
        folder = user_folder / info.name
        if any(_is_there(folder / file.name) for file in info.files):
            return folder
    return dataset_files.cache_folder() / info.name


def _packaged_rows() -> Iterator[DataSetRow]:
    for info in PACKAGED.values():
        size = packaged(info.file).stat().st_size
        yield DataSetRow(
            info.name,
            IS_PACKAGED,
            size,
            info.about,
            PACKAGED_LICENCE,
            False,
            "-",
            "-",
            "",
        )


def _public_row(info: DatasetInfo) -> DataSetRow:
    where = _place_of(info.name)
    can_get = where == NOT_HERE and info.is_public
    return DataSetRow(
        info.name,
        where,
        info.size_bytes,
        info.about,
        info.licence,
        info.research_only,
        info.repository,
        info.commit,
        f"theorex data get {info.name}" if can_get else "",
    )


def _packaged_files(name: str) -> DataSetFiles:
    """Return the one file of a packaged set."""
    path = packaged(PACKAGED[name].file)
    state = DataFileState(path.name, path.stat().st_size, "there", str(path))
    return DataSetFiles(name, PACKAGED_LICENCE, False, "-", "-", (state,))
