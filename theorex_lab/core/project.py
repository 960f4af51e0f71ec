"""Which project a folder belongs to, by what the file system says of it.

Standard library only; paths are texts.

A folder belongs to the nearest repository at or above it. What lies in a folder may
come from anybody, so a `.git` that leads to another place joins nothing unless that
place names the folder in turn. A path tells whose machine it is, so the name is what is
kept of it.
"""

from __future__ import annotations

import os
import stat
import sys

from theorex_lab.core.ids import check_name

# Type checkers take it for true; `typing` would cost every hook 5 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

# Patterns are compiled where they are used: the hook does without them.
_NAME = r"[A-Za-z0-9._-]{0,64}"
_NAME_SIGNS = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
)
_WINDOWS_FOLDER = r"[A-Za-z]:[\\/]|\\\\[^\\/]"
_NAME_CHARACTERS = 40
_LARGEST_POINTER_BYTES = 8_192
_LARGEST_CONFIG_BYTES = 1 << 18
_GIT = ".git"
# A pipe that lies in a file's place is opened without waiting.
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)


class Repository(tuple[str, str]):
    """What a checkout is of: a tuple of `root` and `git`.

    It is written out, since `namedtuple` compiles a function, which would cost every
    hook .3 ms.
    """

    __slots__ = ()

    def __new__(cls, root: str, git: str) -> Self:
        """Make one of its two members."""
        return tuple.__new__(cls, (root, git))

    @property
    def root(self) -> str:
        """Return the project's folder, of a worktree its main repository's."""
        return self[0]

    @property
    def git(self) -> str:
        """Return the git directory that all worktrees share.

        It is '' where the folder has none that names it.
        """
        return self[1]


def is_windows_folder(folder: str) -> bool:
    r"""Return whether a text is an absolute folder of Windows.

    It is one with a drive, or one on a server.

    >>> is_windows_folder("C:\\Users\\me"), is_windows_folder(r"\\server\share")
    (True, True)
    >>> is_windows_folder("/srv")
    False
    """
    import re

    return re.match(_WINDOWS_FOLDER, folder) is not None


def is_folder_name(folder: object) -> bool:
    """Return whether it is the absolute path of a folder, here or on Windows."""
    if not isinstance(folder, str) or "\0" in folder:
        return False
    return os.path.isabs(folder) or is_windows_folder(folder)


def checkout_root(folder: str) -> str:
    """Return the nearest git root at or above a folder; the folder without one.

    The root of a worktree is its own. Paths from here are the same in every worktree of
    a project. A `.git` folder without a HEAD is no repository: it marks a root only
    where none is above. A folder of Windows that is read elsewhere is its own root.
    """
    if not os.path.isabs(folder) and is_windows_folder(folder):
        return _windows_path(folder)
    start_folder = os.path.realpath(folder)
    folder = start_folder
    nearest = ""
    while True:
        entry = os.path.join(folder, _GIT)
        is_root = _marks_root(entry)
        if is_root:
            return folder
        if is_root is not None and not nearest:
            nearest = folder
        above = os.path.dirname(folder)
        if above == folder:
            return nearest or start_folder
        folder = above


def repository_of(checkout: str) -> Repository:
    """Return what a checkout is of.

    Args:
        checkout: The root of the checkout, as `checkout_root` gives it.
    """
    entry = os.path.join(checkout, _GIT)
    try:
        mode = os.lstat(entry).st_mode
    except (OSError, ValueError):
        return Repository(checkout, "")
    if stat.S_ISDIR(mode):
        if not _has_head(entry):
            return Repository(checkout, "")
        return Repository(checkout, entry)
    return _proved(checkout, entry)


def project_of(folder: object) -> str:
    r"""Return the project of an agent's working folder, by its path alone.

    It is the name of the nearest git root (of a worktree its main repository's; else of
    the folder) and, after a dash, eight digits of the hash of its path. What a home
    calls the project of a folder is told by `journal.identity`: there a project keeps
    its name where its folder is moved.

    Args:
        folder: The folder; for what is no absolute path, '' is returned.

    >>> project_of("/srv/no such shop")
    'no-such-shop-1043a0d1'
    >>> project_of("C:\\Users\\me\\shop")
    'shop-95d9ea02'
    >>> project_of(None), project_of("shop")
    ('', '')
    """
    if not isinstance(folder, str) or not is_folder_name(folder):
        return ""
    return project_at(checkout_root(folder))


def project_at(checkout: str) -> str:
    """Return the project of a checkout by its path alone.

    Args:
        checkout: The root of the checkout, as `checkout_root` gives it.
    """
    return project_by_path(repository_of(checkout).root)


def project_by_path(root: str) -> str:
    """Return the project of a project's folder by its path alone."""
    name = name_of(root)
    digits = _sha256(os.fsencode(root))
    return f"{name}-{digits[:8]}"


def name_of(root: str) -> str:
    r"""Return what people call the project in a folder.

    >>> name_of("/srv/shop.git"), name_of("D:\\shop"), name_of("/")
    ('shop', 'shop', 'root')
    """
    path = root
    if not os.path.isabs(root):  # of Windows
        path = root.replace("\\", "/")
    path = path.rstrip("/")
    last = os.path.basename(path).removesuffix(_GIT)
    # A run of signs that no name has becomes one dash, for which a blank stands here.
    name = "".join(sign if sign in _NAME_SIGNS else " " for sign in last)
    while "  " in name:
        name = name.replace("  ", " ")
    name = name.replace(" ", "-")[:_NAME_CHARACTERS]
    return name.strip("-") or "root"


def check_project(project: str) -> str:
    """Return `project` where it is within the rule; '' is no project.

    Raises:
        InvalidInput: It is outside the rule.
    """
    import re

    pattern = re.compile(_NAME)
    allowed = "up to 64 of A-Z a-z 0-9 . _ -, or a folder"
    return check_name(project, pattern, "project", allowed)


def _windows_path(folder: str) -> str:
    """Return the folder in one spelling.

    That is without dots, with backslashes, its drive in upper case.
    """
    import ntpath

    path = ntpath.normpath(folder)
    return path[:1].upper() + path[1:]


def _sha256(content: bytes) -> str:
    """Return the SHA-256 in hexadecimal digits, from the C module alone.

    Importing `hashlib` would cost every hook 5 ms.
    """
    try:
        module_name = "_sha2" if sys.version_info >= (3, 12) else "_sha256"
        sha256 = __import__(module_name).sha256
    except ImportError:  # another Python than CPython
        from hashlib import sha256
    digits: str = sha256(content).hexdigest()
    return digits


def _marks_root(entry: str) -> bool | None:
    """Return whether a `.git` makes its folder a root.

    Returns:
        None where there is no such entry, or it is neither file nor folder.
    """
    try:
        mode = os.stat(entry).st_mode
    except (OSError, ValueError):
        return None
    if stat.S_ISDIR(mode):
        return _has_head(entry)
    return True if stat.S_ISREG(mode) else None


def _has_head(git: str) -> bool:
    return os.path.lexists(os.path.join(git, "HEAD"))


def _proved(checkout: str, entry: str) -> Repository:
    """Return what a checkout is of whose `.git` is a file or link.

    It is of the place that the `.git` leads to only where that is proved. Anybody can
    write a `.git` that leads to another repository. So either that repository's entry
    of a worktree names this `.git`, or the git directory lies in the checkout and is no
    other one's, or its settings name the checkout.
    """
    target = _leads_to(entry)
    if not target or not _has_head(target):
        return Repository(checkout, "")
    shared = _shared_by_worktree(target)
    if shared and _names_back(target, entry):
        return Repository(_main_folder(shared), shared)
    if _lies_inside(target, checkout) or _configured_worktree(target) == checkout:
        return Repository(checkout, target)
    return Repository(checkout, "")


def _leads_to(entry: str) -> str:
    """Return the folder that a `.git` leads to, without links; '' for none."""
    if os.path.isdir(entry):
        return os.path.realpath(entry)
    pointer = _line_of(entry)
    if not pointer.startswith("gitdir:"):
        return ""
    path = pointer.removeprefix("gitdir:").strip()
    if not path:
        return ""
    folder = os.path.dirname(entry)
    return os.path.realpath(os.path.join(folder, path))


def _shared_by_worktree(target: str) -> str:
    """Return the git directory that has `target` among its worktrees.

    That is told by where `target` lies. What `commondir` says in it is not asked:
    whoever made the worktree's folder may have written anything there.

    Returns:
        The git directory; '' where `target` is no worktree's.
    """
    above = os.path.dirname(target)
    shared = os.path.dirname(above)
    is_worktree = os.path.basename(above) == "worktrees"
    if is_worktree and _has_head(shared):
        return shared
    return ""


def _names_back(target: str, entry: str) -> bool:
    """Return whether a worktree's folder in its repository names this very `.git`."""
    path = _line_of(os.path.join(target, "gitdir"))
    if not path:
        return False
    entry_path = os.path.join(target, path)
    folder, name = os.path.split(entry_path)
    # The last part is not followed: a link to another checkout's `.git` is not that
    # `.git`.
    return os.path.join(os.path.realpath(folder), name) == entry


def _lies_inside(target: str, checkout: str) -> bool:
    """Return whether a git directory lies in the checkout.

    It does not where it lies in another checkout within this one.
    """
    inside = checkout.rstrip(os.sep) + os.sep
    folder = os.path.dirname(target)
    while folder.startswith(inside):
        if os.path.lexists(os.path.join(folder, _GIT)):
            return False
        folder = os.path.dirname(folder)
    return folder == checkout


def _main_folder(git: str) -> str:
    """Return the folder of the project that has this git directory.

    For a bare repository without such a folder it is the git directory.
    """
    folder = os.path.dirname(git)
    if os.path.basename(git) == _GIT:
        return folder
    worktree = _configured_worktree(git)
    if worktree and _leads_back(worktree, git):
        return worktree
    while not os.path.lexists(os.path.join(folder, _GIT)):
        above = os.path.dirname(folder)
        if above == folder:
            return git
        folder = above
    return folder if _leads_back(folder, git) else git


def _leads_back(folder: str, git: str) -> bool:
    """Return whether the `.git` of a folder leads to this git directory."""
    entry = os.path.join(folder, _GIT)
    return _leads_to(entry) == git


def _configured_worktree(git: str) -> str:
    """Return the checkout that a git directory's own settings name, without links.

    Returns:
        The checkout; '' where the settings name none.
    """
    path = ""
    for file in ("config", "config.worktree"):
        path = _setting_in(os.path.join(git, file)) or path
    if not path:
        return ""
    return os.path.realpath(os.path.join(git, path))


def _setting_in(file: str) -> str:
    """Return what `core.worktree` is in a file of git's settings."""
    section = ""
    value = ""
    for line in _text_of(file, _LARGEST_CONFIG_BYTES).splitlines():
        setting = line.strip()
        if setting.startswith("["):
            header, _, setting = setting[1:].partition("]")
            section = header.strip().lower()
        name, _, text = setting.partition("=")
        if section == "core" and name.strip().lower() == "worktree":
            value = text.strip()
    is_quoted = value.startswith('"') and value.endswith('"')
    if len(value) > 1 and is_quoted:
        quoted = value[1:-1]
        import re

        return re.sub(r"\\(.)", r"\1", quoted)
    return value


def _line_of(file: str) -> str:
    """Return the one line of a small file.

    Returns:
        The line; '' where the file cannot be read or is not of that form.
    """
    text = _text_of(file, _LARGEST_POINTER_BYTES).strip()
    return "" if "\n" in text else text


def _text_of(file: str, most_bytes: int) -> str:
    """Return the text of a small file.

    Returns:
        The text; '' where there is no file, it cannot be read, is larger, or holds a
            NUL.
    """
    try:
        handle = os.open(file, os.O_RDONLY | _NO_WAIT)
    except (OSError, ValueError):
        return ""
    try:
        is_file = stat.S_ISREG(os.fstat(handle).st_mode)
        content = os.read(handle, most_bytes + 1) if is_file else b""
    except OSError:
        return ""
    finally:
        os.close(handle)
    if len(content) > most_bytes or b"\0" in content:
        return ""
    return os.fsdecode(content)
