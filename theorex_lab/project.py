"""Which project a folder belongs to, told by a short name and a hash. Standard library only; paths are texts.

A path tells whose machine it is, so the name is what is kept of it.
"""

import os
import re
import sys

from theorex_lab.ids import check_name

_NAME = r"[A-Za-z0-9._-]{0,64}"  # compiled where it is used: the hook does without it
_NAME_CHARACTERS = 40
_LARGEST_GIT_FILE_BYTES = 8_192
_WORKTREES = "/.git/worktrees/"


def _repository_root(place: str) -> str:
    git = os.path.join(place, ".git")
    return (_main_repository(git) if os.path.isfile(git) else "") or place


def checkout_root(folder: str) -> str:
    """The nearest git root at or above a folder, of a worktree its own; the folder itself without one.

    Paths from here are the same in every worktree of a project.
    """
    folder = place = os.path.realpath(folder)
    while not os.path.exists(os.path.join(place, ".git")):
        if (above := os.path.dirname(place)) == place:
            return folder
        place = above
    return place


def project_of(folder: object) -> str:
    """The project of an agent's working folder; '' where that is no absolute path.

    It is the name of the nearest git root (of a worktree its main repository's; else of the folder) and, after a dash, eight digits of the hash of its path: two
    repositories of one name are two projects.

    >>> project_of("/srv/no such shop")
    'no-such-shop-1043a0d1'
    >>> project_of(None), project_of("shop")
    ('', '')
    """
    if not isinstance(folder, str) or not os.path.isabs(folder) or "\0" in folder:
        return ""
    return project_at(checkout_root(folder))


def project_at(checkout: str) -> str:
    """The project of a checkout, by its root as `checkout_root` gives it."""
    root = _repository_root(checkout)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(root))[:_NAME_CHARACTERS].strip("-") or "root"
    return f"{name}-{_sha256(os.fsencode(root))[:8]}"


def check_project(project: str) -> str:
    """Return `project`, '' for none, or raise InvalidInput where it is outside the rule."""
    return check_name(project, re.compile(_NAME), "project", "up to 64 of A-Z a-z 0-9 . _ -, or a folder")


def _sha256(content: bytes) -> str:
    """The hash in hexadecimal digits, from the C module alone: importing `hashlib` would cost every hook 5 ms."""
    try:
        sha256 = __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256").sha256
    except ImportError:  # another Python than CPython
        from hashlib import sha256
    digits: str = sha256(content).hexdigest()
    return digits


def _main_repository(git_file: str) -> str:
    """The folder of the repository that a worktree's `.git` file leads to; '' where it leads to none, as a submodule's."""
    try:
        with open(git_file, "rb") as file:
            given = os.fsdecode(file.read(_LARGEST_GIT_FILE_BYTES)).strip()
    except OSError:  # what cannot be read leads nowhere; the folder that holds it is a root all the same
        return ""
    if not given.startswith("gitdir:") or "\0" in given:
        return ""
    leads_to = os.path.realpath(os.path.join(os.path.dirname(git_file), given.removeprefix("gitdir:").strip()))
    main, found, _ = leads_to.replace(os.sep, "/").rpartition(_WORKTREES)
    return main if found else ""
