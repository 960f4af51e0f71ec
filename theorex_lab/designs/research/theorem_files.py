"""The files that theorems are read from: folders, archives, and their texts.

Nothing is extracted to disk, and nothing is read beyond what such a file may hold, or
outside of the folder.
"""

import gzip
import io
import posixpath
import re
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO
from zlib import error as zlib_error

from theorex_lab.core.errors import InvalidInput, StorageError
from theorex_lab.files.formats.foreign import check_inside, open_file
from theorex_lab.text.encoding import decode_bytes

_MOST_BYTES = 1 << 26  # of one file, unpacked
_MOST_ALL_BYTES = 1 << 28  # of all files of a folder
_MOST_FILES = 2_000
_INPUT_ENCODING = re.compile(rb"\\usepackage\s*\[([A-Za-z0-9-]{1,20})\]\s*\{inputenc\}")
# How LaTeX calls the encodings that Python calls otherwise.
_ENCODINGS = {
    "latin1": "latin-1",
    "latin2": "iso8859-2",
    "latin9": "iso8859-15",
    "ansinew": "cp1252",
    "applemac": "mac-roman",
    "utf8": "utf-8",
    "utf8x": "utf-8",
}


def file_bytes(path: Path) -> bytes:
    """Return what a file holds, unpacked where it ends in .gz.

    Raises:
        InvalidInput: It is damaged or too large.
        StorageError: It cannot be read.
    """
    with open_file(path) as file:
        if path.name.endswith((".gz", ".tgz")):
            return _bytes(gzip.GzipFile(fileobj=file), path)
        return _bytes(file, path)


def _bytes(file: IO[bytes] | gzip.GzipFile, path: Path | str) -> bytes:
    try:
        data = file.read(_MOST_BYTES + 1)
    except (OSError, EOFError, zlib_error) as error:
        raise InvalidInput(
            f"got {path}, which is damaged ({error}); give a whole file"
        ) from error
    if len(data) > _MOST_BYTES:
        raise InvalidInput(
            f"got {path}, which holds more than {_MOST_BYTES:,} bytes; give its parts"
        )
    return data


def document_text(content: bytes, name: str, problems: list[str]) -> str:
    r"""Return the text of a file, with \n at the end of its lines.

    Args:
        content: What the file holds.
        name: Its name.
        problems: Is added to: what is to be said of its encoding.

    Raises:
        InvalidInput: It is no text.
    """
    match = _INPUT_ENCODING.search(content)
    named = match[1].decode().casefold() if match else ""
    decoded = decode_bytes(content, _ENCODINGS.get(named, named))
    if not decoded.is_text:
        raise InvalidInput(f"got {name}, which is no text; give the source")
    if decoded.problem:
        problems.append(f"{name}: {decoded.problem}")
    return decoded.text.replace("\r\n", "\n").replace("\r", "\n")


class TextFolder:
    """The texts of a folder; a link that leads out of it is not followed.

    Attributes:
        problems: What could not be read.
    """

    def __init__(self, folder: Path) -> None:
        self.problems = list[str]()
        self._folder = folder
        self._texts = dict[str, str | None]()
        self._n_bytes = 0

    def names(self, endings: tuple[str, ...]) -> list[str]:
        """Return the names of the files with these endings, without hidden ones."""
        names = []
        for path in sorted(self._folder.rglob("*")):
            relative = path.relative_to(self._folder)
            is_hidden = any(part.startswith(".") for part in relative.parts)
            if path.name.endswith(endings) and not is_hidden and path.is_file():
                names.append(relative.as_posix())
        n_more = len(names) - _MOST_FILES
        if n_more > 0:
            self.problems.append(
                f"{n_more:,} files were left out: a folder may hold {_MOST_FILES:,};"
                " give its parts"
            )
        return names[:_MOST_FILES]

    def read(self, names: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield the name and the text of each file that can be read."""
        for name in names:
            text = self.text(name)
            if text is not None:
                yield name, text

    def text(self, name: str) -> str | None:
        """Return the text of a file of the folder; None where there is none."""
        if name not in self._texts:
            self._texts[name] = self._read(name)
        return self._texts[name]

    def _read(self, name: str) -> str | None:
        path = self._folder / name
        try:
            if not path.is_file():
                return None
            check_inside(self._folder, path)
            if self._n_bytes > _MOST_ALL_BYTES:
                raise InvalidInput(
                    f"the files hold more than {_MOST_ALL_BYTES:,} bytes; give parts"
                )
            content = file_bytes(path)
            self._n_bytes += len(content)
            return document_text(content, name, self.problems)
        except (InvalidInput, StorageError, OSError, ValueError) as error:
            self.problems.append(f"{name} was left out: {error}")
            return None


class TexArchive:
    """The texts of an archive; what it says of folders and links counts for nothing.

    Attributes:
        problems: What could not be read.
    """

    def __init__(self, path: Path) -> None:
        self.problems = list[str]()
        self._contents = dict[str, bytes]()
        data = io.BytesIO(file_bytes(path))
        try:
            with tarfile.open(fileobj=data) as archive:
                self._read(archive)
        except (tarfile.TarError, EOFError, ValueError) as error:
            raise InvalidInput(
                f"got {path}, which is no archive ({error}); give a .tar.gz of .tex"
                " files"
            ) from error

    def _read(self, archive: tarfile.TarFile) -> None:
        n_more = 0
        for member in archive:
            if not member.isfile():
                continue
            if len(self._contents) == _MOST_FILES:
                n_more += 1
                continue
            file = archive.extractfile(member)
            if file is not None:
                name = posixpath.normpath(member.name).lstrip("/")
                self._contents[name] = _bytes(file, member.name)
        if n_more:
            self.problems.append(
                f"{n_more:,} files were left out: an archive may hold {_MOST_FILES:,};"
                " give its parts"
            )

    def read(self, endings: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """Yield the name and the text of each file with these endings, in order."""
        for name in self._contents:
            if name.endswith(endings):
                text = self.text(name)
                if text is not None:
                    yield name, text

    def text(self, name: str) -> str | None:
        """Return the text of a file; None where there is none."""
        content = self._contents.get(name)
        if content is None:
            return None
        try:
            return document_text(content, name, self.problems)
        except InvalidInput as error:
            self.problems.append(f"{name} was left out: {error}")
            return None
