"""Find, check and download the files of the public data sets.

Their JSON is read into types here too.

A file is taken from `$THEOREX_DATA/<set>/`, else from the user's cache, which is laid
out alike, else it is downloaded from its repository at the pinned commit. Its sha256 is
checked every time before anything reads it.
"""

import gzip
import hashlib
import io
import shutil
import tarfile
import warnings
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from theorex_lab.core.errors import InvalidInput, StorageError
from theorex_lab.core.files import write_atomically, writing
from theorex_lab.eval.datasets.dataset_table import DataFile, DatasetInfo
from theorex_lab.eval.datasets.sources import DATA_VARIABLE, data_folder

TIMEOUT_SECONDS = (5, 30)  # to connect, and between two pieces of an answer
_CHUNK_BYTES = 65_536
SHOWN_CHARACTERS = 60
T = TypeVar("T")


class FileContent(NamedTuple):
    """The uncompressed bytes of a file, and its place for messages.

    The place is a path, or an archive's path and a member.
    """

    place: str
    data: bytes


class LicenceNotice(UserWarning):
    """A set's licence does not allow commercial use.

    It is given once a process for each such set.
    """


_noticed: set[str] = set()


def cache_folder() -> Path:
    """Return the user's cache of downloaded sets.

    It is laid out like the folder that THEOREX_DATA names.
    """
    import pooch  # type: ignore[import-untyped]

    return Path(pooch.os_cache("theorex_lab"))


def read_files(info: DatasetInfo) -> dict[str, FileContent]:
    """Return every file of a set by its name, checked.

    What is in neither folder is downloaded into the cache. A set that is not for
    commercial use is warned of once, with LicenceNotice.

    Raises:
        InvalidInput: A file in the user's own folder, or one just downloaded, has
            another sha256 than the set's, or cannot be unpacked.
        StorageError: A file is nowhere and cannot be downloaded or kept.
    """
    if info.research_only and info.name not in _noticed:
        _noticed.add(info.name)
        warnings.warn(
            f"{info.name}: {info.licence}; for research use only",
            LicenceNotice,
            stacklevel=2,
        )
    return {file.name: read_data_file(info, file) for file in info.files}


def _no_step() -> None:
    """Take that an address was downloaded."""


def read_data_file(
    info: DatasetInfo, file: DataFile, *, step: Callable[[], object] = _no_step
) -> FileContent:
    """Return one file of a set, checked; it is downloaded where it is in no folder.

    Args:
        info: The set.
        file: The file.
        step: Is called after each address that was downloaded.

    Raises:
        InvalidInput: As `read_files`.
        StorageError: As `read_files`.
    """
    user_folder = data_folder()
    cached = cache_folder() / info.name / file.name
    if user_folder and (path := _present(user_folder / info.name / file.name)):
        return _checked_content(path, file)
    if path := _present(cached):
        with suppress(InvalidInput):
            return _checked_content(path, file)
        path.unlink(
            missing_ok=True
        )  # damaged, or of another release's commit: a cache may be renewed
    return _downloaded(info, file, cached, step)


def is_at_hand(info: DatasetInfo, file: DataFile) -> bool:
    """Return whether a file of a set can be read without a download.

    A damaged file in the cache cannot, since it is downloaded again. A file in the
    user's own folder counts as it is: whoever reads it is told of damage.

    Raises:
        InvalidInput: What THEOREX_DATA names is no folder.
    """
    user_folder = data_folder()
    if user_folder and _present(user_folder / info.name / file.name):
        return True
    path = _present(cache_folder() / info.name / file.name)
    if path is None:
        return False
    with suppress(InvalidInput):
        _checked_content(path, file)
        return True
    return False


def _present(path: Path) -> Path | None:
    """Return the file itself, or the same with a further .gz."""
    return next(
        (file for file in (path, path.with_name(path.name + ".gz")) if file.is_file()),
        None,
    )


def _checked_content(path: Path, file: DataFile) -> FileContent:
    try:
        data = path.read_bytes()
        content = FileContent(
            str(path), gzip.decompress(data) if path.suffix == ".gz" else data
        )
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInput(
            f"{path} cannot be read: {error}; replace it, or remove it to have it"
            " downloaded"
        ) from error
    _check(content, file)
    return content


def _check(content: FileContent, file: DataFile) -> None:
    """Check that the content is the file's.

    Raises:
        InvalidInput: It is not.
    """
    got = (
        _member_digest(content)
        if file.members
        else hashlib.sha256(content.data).hexdigest()
    )
    if got != file.sha256:
        subject = (
            "the list of its members" if file.members else "its uncompressed bytes"
        )
        expected = (
            f"{content.place}: the sha256 of {subject} is expected to be {file.sha256}, got"
            f" {got}"
        )
        raise InvalidInput(
            f"{expected}; replace the file by the unchanged one, or remove it to have"
            " it downloaded"
        )


def _member_digest(archive: FileContent) -> str:
    listed = [
        f"{hashlib.sha256(member.data).hexdigest()}  {name}\n"
        for name, member in members_of(archive).items()
    ]
    return hashlib.sha256("".join(listed).encode()).hexdigest()


def members_of(archive: FileContent) -> dict[str, FileContent]:
    """Return the files in a .tar, by name and in the order of their names.

    Raises:
        InvalidInput: The bytes are no such archive.
    """
    members = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(archive.data), mode="r:") as tar:
            for member in tar.getmembers():
                if content := tar.extractfile(member) if member.isfile() else None:
                    members[member.name] = FileContent(
                        f"{archive.place}:{member.name}", content.read()
                    )
    except (tarfile.TarError, EOFError) as error:
        raise InvalidInput(
            f"{archive.place} is no readable tar: {error}; replace it by the unchanged"
            " file"
        ) from error
    return dict(sorted(members.items()))


def _downloaded(
    info: DatasetInfo,
    file: DataFile,
    cached: Path,
    step: Callable[[], object],
) -> FileContent:
    """Return a file that is downloaded, checked, and then kept.

    A file that is not the right one never enters the cache.
    """
    ways = (
        f"set {DATA_VARIABLE} to a folder that holds {info.name}/{file.name} (or"
        f" {file.name}.gz)"
    )
    if file.path == "-":
        raise StorageError(
            f"{info.name}/{file.name} is not there, and has no public address to be"
            f" downloaded; {ways}"
        )
    address = info.address(file) + "/" * bool(file.members)
    with writing(cached, f"make room or allow it, or {ways}"):
        cached.parent.mkdir(parents=True, exist_ok=True)
        if file.members:
            parts = cached.with_name(f".{file.name}.parts")
            data = _packed(_downloaded_members(info, file, parts, step))
            # Checked or not, they are done: a wrong one must not come back.
            shutil.rmtree(parts, ignore_errors=True)
        else:
            data = _get(address, ways)
            step()
        _check(FileContent(address, data), file)
        write_atomically(cached, data)
    return FileContent(str(cached), data)


def _downloaded_members(
    info: DatasetInfo,
    file: DataFile,
    folder: Path,
    step: Callable[[], object],
) -> dict[str, bytes]:
    """Return the members of a file, by name.

    Each is kept in the folder once it is there, so that a download which was broken off
    goes on where it stopped.
    """
    ways = f"set {DATA_VARIABLE} to a folder that holds {info.name}/{file.name}"
    members = {}
    for name in file.members:
        part = folder / hashlib.sha256(name.encode()).hexdigest()
        if not part.is_file():
            content = _get(info.address(file, name), ways)
            folder.mkdir(parents=True, exist_ok=True)
            write_atomically(part, content)
        members[name] = part.read_bytes()
        step()
    return members


def _get(address: str, ways: str) -> bytes:
    import pooch

    received = io.BytesIO()
    # Read at once, so that a refused answer leaves no open connection behind; the files
    # have a few megabytes.
    download = pooch.HTTPDownloader(
        timeout=TIMEOUT_SECONDS, chunk_size=_CHUNK_BYTES, stream=False
    )
    try:
        download(address, received, None)
    except (
        OSError
    ) as error:  # the base of every error of the requests library that pooch calls
        raise StorageError(
            f"{address} could not be downloaded: {_reason(error)}; call again later, or"
            f" {ways}"
        ) from error
    return received.getvalue()


def _reason(error: OSError) -> str:
    """Return in few words why a download failed."""
    import requests

    if isinstance(error, requests.Timeout):
        return "the host was silent for too long, and the call timed out"
    if isinstance(error, requests.HTTPError):
        return str(error).partition(" for url")[0]
    if isinstance(error, requests.ConnectionError):
        return "the host cannot be reached, or the connection broke off; is there a network?"
    return str(error)


def _packed(members: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


def refused(
    subject: str,
    got: object,
    allowed: str,
) -> InvalidInput:
    """Return the error for something at `place`; the caller raises it.

    >>> refused("a.json: item 3", 7, "allowed is a text")
    InvalidInput('a.json: item 3: got 7; allowed is a text; replace the file by the unchanged one')
    """
    value = repr(got)
    if len(value) > SHOWN_CHARACTERS:
        value = value[:SHOWN_CHARACTERS] + "…"
    return InvalidInput(
        f"{subject}: got {value}; {allowed}; replace the file by the unchanged one"
    )


def read_json(content: FileContent, kind: type[T]) -> T:
    """Return the content as JSON of this type.

    Raises:
        InvalidInput: A value is not as the type says; the first is named.

    >>> read_json(FileContent("a.json", b'{"reward": 1}'), dict[str, float])
    {'reward': 1.0}
    """
    return _checked(content.place, TypeAdapter(kind).validate_json, content.data)


def read_json_lines(content: FileContent, kind: type[T]) -> list[T]:
    """Return the content as JSON Lines of this type each; blank lines are passed over.

    Raises as `read_json`.
    """
    read = TypeAdapter(kind).validate_json
    lines = enumerate(content.data.split(b"\n"), start=1)
    return [
        _checked(f"{content.place}, line {number}", read, line)
        for number, line in lines
        if line.strip()
    ]


def _checked(
    subject: str,
    validate: Callable[[Any], T],
    value: object,
) -> T:
    try:
        return validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise refused(
            ": ".join(map(str, (subject, *first["loc"]))), first["input"], first["msg"]
        ) from error
