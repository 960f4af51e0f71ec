r"""The files of a LaTeX document: which one an `\input` means.

A file is looked for beside the root document, beside the file that includes it, and in
the folder that is read; never outside of it.
"""

import posixpath
import re
from collections.abc import Callable, Iterable

from theorex_lab.core.errors import InvalidInput, StorageError
from theorex_lab.designs.research.tex_tokens import TexText, TexToken

# Each command, and how many arguments name its file.
_INCLUDES = {
    "input": 1,
    "include": 1,
    "subfile": 1,
    "subfileinclude": 1,
    "subfileonly": 1,
    "InputIfFileExists": 1,
    "import": 2,
    "subimport": 2,
    "includefrom": 2,
    "subincludefrom": 2,
    "inputfrom": 2,
    "subinputfrom": 2,
}
_PACKAGES = {
    "usepackage": ".sty",
    "RequirePackage": ".sty",
    "documentclass": ".cls",
    "LoadClass": ".cls",
}
INCLUDING_WORDS = frozenset([*_INCLUDES, *_PACKAGES])
_BARE_NAME = re.compile(r"[ \t]*([^\s{}\\%#]{1,255})")
TEX_ENDINGS = (".tex", ".ltx", ".latex")
FindText = Callable[[str], str | None]


class FileReference:
    """A file that another one includes.

    Attributes:
        name: How it is named there.
        ending: The ending that its name may lack.
        end: Where the command ends.
    """

    def __init__(self, name: str, ending: str, end: int) -> None:
        self.name = name
        self.ending = ending
        self.end = end

    @property
    def is_readable(self) -> bool:
        """Return whether the name is one, and no macro's argument."""
        return bool(self.name) and not set(self.name) & set("#\\{}\n\0")


def file_references(tex: TexText, token: TexToken) -> list[FileReference]:
    """Return the files that a token includes, none where it includes none."""
    word = token.word.rstrip("*")
    if word in _PACKAGES:
        return _package_references(tex, token, _PACKAGES[word])
    if word not in _INCLUDES:
        return []
    names = []
    end = token.end
    for _ in range(_INCLUDES[word]):
        argument = tex.argument(end)
        if argument is None:
            break
        names.append(argument.text.strip().strip('"'))
        end = argument.end
    if not names and word == "input":
        bare = _BARE_NAME.match(tex.text, end)
        if bare is not None:
            names.append(bare[1])
            end = bare.end()
    name = posixpath.join(*names) if names else ""
    return [FileReference(name, ".tex", end)]


def _package_references(
    tex: TexText, token: TexToken, ending: str
) -> list[FileReference]:
    options = tex.option(token.end)
    argument = tex.argument(options.end if options else token.end)
    if argument is None:
        return []
    references = []
    for name in argument.text.split(","):
        references.append(FileReference(name.strip(), ending, argument.end))
    return references


class TexLibrary:
    """The files of a document, each cut into tokens once.

    Attributes:
        listed: The names of the files that are read whether they are included or not.
    """

    def __init__(
        self, texts: Iterable[tuple[str, str]], find: FindText | None = None
    ) -> None:
        self._texts = dict[str, TexText]()
        self._find = find
        self._absent = set[str]()
        self._by_last_name = dict[str, list[str]]()
        self.listed = list[str]()
        for name, text in texts:
            if name in self._texts:
                continue
            self._texts[name] = TexText(name, text)
            self.listed.append(name)
            last_name = posixpath.basename(name)
            self._by_last_name.setdefault(last_name, []).append(name)

    def __getitem__(self, name: str) -> TexText:
        return self._texts[name]

    def names(self) -> list[str]:
        """Return the names of all files that are known by now."""
        return list(self._texts)

    def resolved(self, reference: FileReference, file: str, root: str) -> str:
        """Return the name of the file that another one includes; '' for none.

        Args:
            reference: What includes it.
            file: The file that includes it.
            root: The document that this file belongs to.
        """
        for name in _candidates(reference, file, root):
            if self._has(name):
                return name
        last_name = posixpath.basename(reference.name)
        # The folder may be a part of the document's, as its folder of chapters.
        for name in (last_name, last_name + reference.ending):
            homonyms = self._by_last_name.get(name, [])
            if len(homonyms) == 1:
                return homonyms[0]
        return ""

    def _has(self, name: str) -> bool:
        """Return whether there is a file; it is read where it is not yet."""
        if name in self._texts:
            return True
        if self._find is None or name in self._absent:
            return False
        try:
            text = self._find(name)
        except (InvalidInput, StorageError):
            text = None
        if text is None:
            self._absent.add(name)
            return False
        self._texts[name] = TexText(name, text)
        return True


def leads_outside(reference: FileReference, file: str, root: str) -> bool:
    """Return whether a name means a file outside of the folder, wherever it begins."""
    return not _candidates(reference, file, root)


def _candidates(reference: FileReference, file: str, root: str) -> list[str]:
    """Return the names that a file may have in the folder, none that leads outside."""
    if not reference.is_readable or posixpath.isabs(reference.name):
        return []
    bases = dict.fromkeys((posixpath.dirname(root), posixpath.dirname(file), ""))
    names = dict[str, None]()
    for base in bases:
        path = posixpath.normpath(posixpath.join(base, reference.name))
        if path.startswith("..") or ":" in path:
            continue
        if not path.endswith(reference.ending):
            names[path + reference.ending] = None
        names[path] = None
    return list(names)
